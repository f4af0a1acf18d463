//! Running jobs on several threads with bounded memory: independent jobs, and jobs whose results are taken in order.
//!
//! All threads belong to the caller's `rayon` pool: the pool in whose `install` a call is made, or the global pool.
//! With one thread, or without the feature `rayon`, everything runs on the caller's thread. No job waits for another,
//! so a pool of any size makes progress.
//!
//! Jobs are handed out in order, one at a time. If several jobs fail, the error of the first one is therefore known,
//! because all jobs before it were also handed out.

use crate::error::Result;

/// A number of threads that means all threads of the pool.
pub(crate) const ALL: usize = usize::MAX;

/// Returns the number of threads to use: at most `threads`, and at most as many as the pool has.
pub(crate) fn workers(threads: usize) -> usize {
    #[cfg(feature = "rayon")]
    if threads > 1 {
        return threads.min(rayon::current_num_threads());
    }
    threads.min(1)
}

/// Calls `work` with every job, on up to `threads` threads that each have their own state. Calls `take` with the
/// results on the caller's thread, one at a time, in the order of the jobs.
///
/// At most two results per thread exist at a time, including those in progress. The memory that
/// `take` leaves in a result is reused by another job. Returns the error of the first failed job,
/// after taking the results before it.
pub(crate) fn in_order<J: Send, S: Send, T: Default + Send>(
    threads: usize,
    mut jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J, &mut T) -> Result<()> + Sync,
    mut take: impl FnMut(&mut T) -> Result<()>,
) -> Result<()> {
    #[cfg(feature = "rayon")]
    if workers(threads) > 1 {
        return pool::in_order(workers(threads), jobs, &state, &work, take);
    }
    let _ = threads;
    let (mut state, mut result) = (state(), T::default());
    jobs.try_for_each(|job| {
        work(&mut state, job, &mut result)?;
        take(&mut result)
    })
}

/// Like [`in_order`], but for jobs without a result.
pub(crate) fn for_each<J: Send, S: Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J) -> Result<()> + Sync,
) -> Result<()> {
    in_order(threads, jobs, state, |state, job, (): &mut ()| work(state, job), |()| Ok(()))
}

#[cfg(feature = "rayon")]
mod pool {
    use std::collections::VecDeque;
    use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
    use std::thread;
    use std::time::Duration;

    use crate::error::Result;

    fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        // A lock is poisoned only if the caller's iterator has panicked. Ignoring that is safe: no thread uses the
        // iterator again, and the panic resumes once all threads have ended.
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_order<J: Send, S: Send, T: Default + Send>(
        threads: usize,
        jobs: impl Iterator<Item = J> + Send,
        state: &(impl Fn() -> S + Sync),
        work: &(impl Fn(&mut S, J, &mut T) -> Result<()> + Sync),
        mut take: impl FnMut(&mut T) -> Result<()>,
    ) -> Result<()> {
        let line = Line::new(jobs, threads);
        let states = Mutex::new(Vec::new());
        let run = || {
            let _stop = Stop { line: &line, only_in_panic: true };
            let kept = lock(&states).pop();
            let mut state = kept.unwrap_or_else(state);
            while let Some((index, job, mut result)) = line.next_job() {
                let outcome = work(&mut state, job, &mut result).map(|()| result);
                line.put(index, outcome);
            }
            lock(&states).push(state);
        };
        rayon::in_place_scope(|scope| {
            let _stop = Stop { line: &line, only_in_panic: false };
            loop {
                while line.needs_worker() {
                    scope.spawn(|_| run());
                }
                let Some(outcome) = line.next_result() else { return Ok(()) };
                let mut result = outcome?;
                take(&mut result)?;
                line.give_back(result);
            }
        })
    }

    /// The jobs and results that the threads share.
    struct Line<I, T> {
        state: Mutex<LineState<I, T>>,
        /// Signals that a result is available, or that no more results will follow.
        changed: Condvar,
        threads: usize,
    }

    struct LineState<I, T> {
        jobs: I,
        /// Whether all jobs have been handed out, or no more are needed.
        finished: bool,
        /// The number of working threads. A thread ends when there is no space for another result.
        working: usize,
        /// The index of the next job to hand out.
        next: usize,
        /// The index of the next result to take.
        first: usize,
        /// The number of results whose memory was returned.
        done: usize,
        /// The results from `first` to `next`; `None` while a job is in progress.
        results: VecDeque<Option<Result<T>>>,
        /// Memory to reuse.
        spare: Vec<T>,
        stopped: bool,
    }

    impl<I: Iterator, T: Default> Line<I, T> {
        fn new(jobs: I, threads: usize) -> Self {
            let state = LineState {
                jobs,
                finished: false,
                working: 0,
                next: 0,
                first: 0,
                done: 0,
                results: VecDeque::new(),
                spare: Vec::new(),
                stopped: false,
            };
            Self { state: Mutex::new(state), changed: Condvar::new(), threads }
        }

        /// Returns `true` if there is a job, and space for its result.
        fn has_job(&self, state: &LineState<I, T>) -> bool {
            let window = self.threads.saturating_mul(2);
            !state.finished && !state.stopped && state.next < state.done + window
        }

        /// Counts another thread as working, if there is work for it.
        fn needs_worker(&self) -> bool {
            let mut state = lock(&self.state);
            // Each working thread takes at least one of the jobs for which there is space.
            let room = (state.done + 2 * self.threads).saturating_sub(state.next);
            let needs = state.working < self.threads.min(room) && self.has_job(&state);
            state.working += usize::from(needs);
            needs
        }

        /// Returns the next job, its index, and memory for its result. Returns `None` if the thread
        /// should end.
        fn next_job(&self) -> Option<(usize, I::Item, T)> {
            let mut state = lock(&self.state);
            let job = if self.has_job(&state) { state.jobs.next() } else { None };
            let Some(job) = job else {
                state.finished |= self.has_job(&state);
                state.working -= 1;
                self.changed.notify_all();
                return None;
            };
            let index = state.next;
            state.next += 1;
            state.results.push_back(None);
            Some((index, job, state.spare.pop().unwrap_or_default()))
        }

        /// Stores a result. After an error, no more jobs are handed out.
        fn put(&self, index: usize, result: Result<T>) {
            let mut state = lock(&self.state);
            state.finished |= result.is_err();
            let place = index - state.first;
            if let Some(slot) = state.results.get_mut(place) {
                *slot = Some(result);
            }
            self.changed.notify_all();
        }

        /// Waits for the next result in order. Returns `None` after the last one.
        fn next_result(&self) -> Option<Result<T>> {
            let is_in_pool = rayon::current_thread_index().is_some();
            let mut is_idle = false;
            loop {
                let mut state = lock(&self.state);
                if let Some(result) = state.results.front_mut().and_then(Option::take) {
                    state.results.pop_front();
                    state.first += 1;
                    return Some(result);
                }
                if state.stopped || state.finished && state.results.is_empty() {
                    return None;
                }
                if !is_in_pool {
                    drop(self.changed.wait(state));
                    continue;
                }
                if is_idle {
                    drop(self.changed.wait_timeout(state, Duration::from_millis(1)));
                } else {
                    drop(state);
                }
                // A thread of the pool must help to run the jobs instead of waiting, because no
                // other thread may be free.
                is_idle = rayon::yield_now() != Some(rayon::Yield::Executed);
            }
        }

        /// Returns the memory of a result that was taken, which makes space for another.
        fn give_back(&self, result: T) {
            let mut state = lock(&self.state);
            state.spare.push(result);
            state.done += 1;
        }
    }

    /// Stops handing out jobs when dropped, so that no thread waits for another one that has ended.
    struct Stop<'a, I, T> {
        line: &'a Line<I, T>,
        only_in_panic: bool,
    }

    impl<I, T> Drop for Stop<'_, I, T> {
        fn drop(&mut self) {
            lock(&self.line.state).stopped |= !self.only_in_panic || thread::panicking();
            self.line.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::ErrorKind;

    fn failure(job: usize) -> crate::Error {
        ErrorKind::Damaged(job.to_string()).into()
    }

    /// Sleeps for a time that varies between jobs, so that they finish out of order.
    fn dawdle(job: usize) {
        thread::sleep(std::time::Duration::from_micros((job * 37 % 11) as u64 * 20));
    }

    #[test]
    fn results_arrive_in_job_order_and_their_memory_is_reused() {
        for threads in [0, 1, 2, 3, 8] {
            let (made, mut taken) = (AtomicUsize::new(0), Vec::new());
            let work = |(): &mut (), job: usize, result: &mut Vec<usize>| {
                dawdle(job);
                made.fetch_add(usize::from(result.is_empty()), Ordering::Relaxed);
                *result = vec![job];
                Ok(())
            };
            in_order(
                threads,
                0..100,
                || (),
                work,
                |result| {
                    taken.extend_from_slice(result);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
            assert!(made.into_inner() <= threads.max(1) * 2, "{threads} threads");
        }
    }

    #[test]
    fn the_error_of_the_first_failed_job_is_returned_after_all_earlier_results_are_taken() {
        for threads in [1, 2, 5] {
            let mut taken = 0;
            let work = |(): &mut (), job: usize, (): &mut ()| {
                dawdle(job);
                if job >= 30 { Err(failure(job)) } else { Ok(()) }
            };
            let outcome = in_order(
                threads,
                0..100,
                || (),
                work,
                |()| {
                    taken += 1;
                    Ok(())
                },
            );
            assert_eq!((outcome.unwrap_err().to_string(), taken), ("30".to_owned(), 30));
        }
    }

    #[test]
    fn an_error_while_taking_results_stops_the_workers() {
        for threads in [1, 2, 5] {
            let worked = AtomicUsize::new(0);
            let work = |(): &mut (), _: usize, (): &mut ()| {
                worked.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            let outcome = in_order(threads, 0..1000, || (), work, |()| Err(failure(7)));
            assert_eq!(outcome.unwrap_err().to_string(), "7");
            assert!(worked.into_inner() <= threads * 2);
        }
    }

    #[cfg(feature = "rayon")]
    #[test]
    fn all_jobs_run_on_threads_of_the_current_pool() {
        for size in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(size)
                .thread_name(|_| "of the pool".to_owned())
                .build()
                .unwrap();
            let is_of_pool = || thread::current().name() == Some("of the pool");
            let work = |(): &mut (), job: usize, result: &mut usize| {
                assert!(is_of_pool());
                dawdle(job);
                *result = job;
                Ok(())
            };
            let run = || {
                let mut taken = Vec::new();
                let take = |result: &mut usize| {
                    taken.push(*result);
                    Ok(())
                };
                in_order(ALL, 0..50, || (), work, take).unwrap();
                assert_eq!(taken, (0..50).collect::<Vec<_>>());
                for_each(ALL, 0..50, || (), |(), job| work(&mut (), job, &mut 0)).unwrap();
            };
            pool.install(run);
            // Run several calls at a time, each of which waits in the pool.
            pool.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| run())));
        }
    }

    #[test]
    fn without_jobs_no_work_is_done() {
        let none = std::iter::empty::<usize>;
        let work = |(): &mut (), _, (): &mut ()| Err(failure(0));
        assert!(in_order(3, none(), || (), work, |()| Ok(())).is_ok());
    }

    #[test]
    fn a_panic_in_a_worker_or_while_taking_results_leaves_no_thread_waiting() {
        let panics = |in_work: bool| {
            std::panic::catch_unwind(|| {
                let work = |(): &mut (), job: usize, (): &mut ()| {
                    assert!(!(in_work && job == 5), "meant");
                    Ok(())
                };
                in_order(
                    2,
                    0..100,
                    || (),
                    work,
                    |()| {
                        assert!(in_work, "meant");
                        Ok(())
                    },
                )
            })
        };
        assert!(panics(true).is_err());
        assert!(panics(false).is_err());
    }
}
