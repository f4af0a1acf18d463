//! Work over threads with bounded memory: jobs that stand alone, and jobs whose results are taken in
//! order.
//!
//! Jobs are handed out in order, one at a time, so that when several fail the error of the first is
//! known: all jobs before it were handed out too. With one thread everything runs on the caller's.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{panic, thread};

use crate::error::{Error, Result};

/// As many threads as the machine runs at once.
pub(crate) fn available_threads() -> usize {
    thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that panics runs under these locks but a caller's iterator, which is then not used
    // any more, since the panic goes on when the threads are joined.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the threads of [`for_each`] share.
struct Shared<I> {
    jobs: I,
    next: usize,
    /// The first job that failed, of those that are done.
    failed: Option<(usize, Error)>,
}

/// Runs `work` on every job, with a state that each thread makes for itself. Gives the error of the
/// first job that failed.
pub(crate) fn for_each<J, S>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J) -> Result<()> + Sync,
) -> Result<()> {
    if threads <= 1 {
        let mut state = state();
        let mut jobs = jobs;
        return jobs.try_for_each(|job| work(&mut state, job));
    }
    let shared = Mutex::new(Shared { jobs, next: 0, failed: None });
    let run = || {
        let mut state = state();
        loop {
            let (index, job) = {
                let mut shared = lock(&shared);
                if shared.failed.is_some() {
                    return;
                }
                let Some(job) = shared.jobs.next() else { return };
                shared.next += 1;
                (shared.next, job)
            };
            if let Err(error) = work(&mut state, job) {
                let mut shared = lock(&shared);
                if shared.failed.as_ref().is_none_or(|(first, _)| index < *first) {
                    shared.failed = Some((index, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        // A thread that the system refuses is one less.
        let workers: Vec<_> = (1..threads).map_while(spawn).collect();
        run();
        join(workers);
    });
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    shared.failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// Runs `work` on every job over `threads`, with a state that each makes for itself, and `take` on
/// the results, one after another in the order of the jobs, on the caller's thread.
///
/// There are never more than two results a thread, those in work included; `take` leaves in a
/// result the memory that another job may use again. Gives the error of the first job that failed,
/// after the results before it were taken.
pub(crate) fn in_order<J: Send, S, T: Default + Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J, &mut T) -> Result<()> + Sync,
    mut take: impl FnMut(&mut T) -> Result<()>,
) -> Result<()> {
    if threads <= 1 {
        let (mut state, mut result) = (state(), T::default());
        let mut jobs = jobs;
        return jobs.try_for_each(|job| {
            work(&mut state, job, &mut result)?;
            take(&mut result)
        });
    }
    let line = Line::new(jobs, threads.saturating_mul(2));
    let run = || {
        let _stop = Stop { line: &line, only_in_panic: true };
        let mut state = state();
        while let Some((index, job, mut result)) = line.next_job() {
            let outcome = work(&mut state, job, &mut result).map(|()| result);
            line.put(index, outcome);
        }
    };
    thread::scope(|scope| {
        let stop = Stop { line: &line, only_in_panic: false };
        let mut workers = vec![thread::Builder::new().spawn_scoped(scope, run)?];
        // A thread that the system refuses is one less.
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        workers.extend((1..threads).map_while(spawn));
        let mut take_all = || {
            while let Some(outcome) = line.next_result() {
                let mut result = outcome?;
                take(&mut result)?;
                line.give_back(result);
            }
            Ok(())
        };
        let outcome = take_all();
        drop(stop);
        join(workers);
        outcome
    })
}

/// Waits until threads are gone. A scope alone waits for their work only, and what a thread has to
/// tidy up after that would go on when the caller believes that all is done.
fn join(workers: Vec<thread::ScopedJoinHandle<'_, ()>>) {
    for worker in workers {
        if let Err(panic) = worker.join() {
            panic::resume_unwind(panic);
        }
    }
}

/// Jobs and results between the threads.
struct Line<I, T> {
    state: Mutex<LineState<I, T>>,
    /// Something changed that a thread may wait for.
    changed: Condvar,
    window: usize,
}

struct LineState<I, T> {
    jobs: I,
    /// All jobs are handed out, or nobody wants more.
    finished: bool,
    /// Number of the job that is handed out next.
    next: usize,
    /// Number of the result that is taken next.
    first: usize,
    /// Results whose memory came back.
    done: usize,
    /// Results from `first` to `next`, where they are there.
    results: VecDeque<Option<Result<T>>>,
    /// Memory to use again.
    spare: Vec<T>,
    stopped: bool,
}

impl<I: Iterator, T: Default> Line<I, T> {
    fn new(jobs: I, window: usize) -> Self {
        let state = LineState {
            jobs,
            finished: false,
            next: 0,
            first: 0,
            done: 0,
            results: VecDeque::new(),
            spare: Vec::new(),
            stopped: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), window }
    }

    /// The next job, as soon as there is room for its result.
    fn next_job(&self) -> Option<(usize, I::Item, T)> {
        let mut state = lock(&self.state);
        loop {
            if state.finished || state.stopped {
                return None;
            }
            if state.next < state.done + self.window {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(job) = state.jobs.next() else {
            state.finished = true;
            self.changed.notify_all();
            return None;
        };
        let index = state.next;
        state.next += 1;
        state.results.push_back(None);
        Some((index, job, state.spare.pop().unwrap_or_default()))
    }

    /// Puts a result in its place. After an error no more jobs are handed out.
    fn put(&self, index: usize, result: Result<T>) {
        let mut state = lock(&self.state);
        state.finished |= result.is_err();
        let place = index - state.first;
        if let Some(slot) = state.results.get_mut(place) {
            *slot = Some(result);
        }
        self.changed.notify_all();
    }

    /// The next result in order, as soon as it is there; nothing after the last.
    fn next_result(&self) -> Option<Result<T>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(result) = state.results.front_mut().and_then(Option::take) {
                state.results.pop_front();
                state.first += 1;
                return Some(result);
            }
            if state.stopped || state.finished && state.results.is_empty() {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Memory of a result that was taken, and room for another.
    fn give_back(&self, result: T) {
        let mut state = lock(&self.state);
        state.spare.push(result);
        state.done += 1;
        self.changed.notify_all();
    }
}

/// Ends the line when it is dropped, so that nobody waits for a thread that is gone.
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::ErrorKind;

    fn failure(job: usize) -> crate::Error {
        ErrorKind::Damaged(job.to_string()).into()
    }

    /// Numbers that a slow early job and quick later ones would bring out of order.
    fn dawdle(job: usize) {
        thread::sleep(std::time::Duration::from_micros((job * 37 % 11) as u64 * 20));
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs_and_memory_comes_back() {
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
    fn error_of_the_first_job_that_fails_wins_after_the_results_before_it() {
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

            let work = |(): &mut (), job: usize| work(&mut (), job, &mut ());
            let outcome = for_each(threads, 0..100, || (), work);
            assert_eq!(outcome.unwrap_err().to_string(), "30");
        }
    }

    #[test]
    fn error_of_the_taker_stops_the_workers() {
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

    #[test]
    fn every_job_is_done_once() {
        for threads in [0, 1, 2, 7] {
            let sum = AtomicUsize::new(0);
            for_each(
                threads,
                1..=1000,
                || (),
                |(), job| {
                    sum.fetch_add(job, Ordering::Relaxed);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(sum.into_inner(), 500_500);
        }
    }

    #[test]
    fn no_jobs_are_no_work() {
        let none = std::iter::empty::<usize>;
        assert!(for_each(3, none(), || (), |(), _| Err(failure(0))).is_ok());
        let work = |(): &mut (), _, (): &mut ()| Err(failure(0));
        assert!(in_order(3, none(), || (), work, |()| Ok(())).is_ok());
    }

    #[test]
    fn panic_of_a_worker_or_the_taker_leaves_nobody_waiting() {
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
