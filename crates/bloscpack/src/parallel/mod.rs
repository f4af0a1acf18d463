//! Running jobs on several threads with bounded memory. The jobs are independent, but their results
//! can be taken in order.
//!
//! All threads belong to the caller's `rayon` pool: the pool that runs the calling code or, outside
//! of any pool, the global one. With one thread, or without the feature `rayon`, everything runs on
//! the caller's thread. No job waits for another job, so a pool of any size makes progress. A job
//! may itself call these functions.
//!
//! Jobs are handed out in order, one at a time. If several jobs fail, the error of the first one in
//! this order is returned: all jobs before it were handed out as well, so an earlier failure cannot
//! go unnoticed.

#[cfg(feature = "rayon")]
mod caller;
#[cfg(feature = "rayon")]
mod workers;

#[cfg(feature = "rayon")]
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;

/// A thread count that stands for all threads of the pool.
pub(crate) const ALL: usize = usize::MAX;

/// Returns the number of threads to use: at most `threads`, and at most as many as the pool has.
pub(crate) fn workers(threads: usize) -> usize {
    #[cfg(feature = "rayon")]
    if threads > 1 {
        return threads.min(rayon::current_num_threads());
    }
    threads.min(1)
}

/// Runs `work` on every job, on up to `threads` threads, each with a state of its own. The same
/// threads run `take` on the results, one at a time and in the order of the jobs.
///
/// At most two results per thread exist at a time, including the results of jobs in progress. The
/// memory that `take` leaves in a result is reused for another result. If jobs fail, takes the
/// results before the first failed job, and then returns its error.
pub(crate) fn in_order<J: Send, S: Send, T: Default + Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J, &mut T) -> Result<()> + Sync,
    take: impl FnMut(&mut T) -> Result<()> + Send,
) -> Result<()> {
    #[cfg(feature = "rayon")]
    if workers(threads) > 1 {
        let threads = workers(threads);
        return workers::in_order(threads, 2 * threads, jobs, state, work, take);
    }
    let _ = threads;
    one_by_one(jobs, &state, &work, take)
}

/// Like [`in_order`], but runs `take` on the caller's thread, so `take` need not be [`Send`].
///
/// This is slower, because the results are not in the cache of the thread that takes them. On two
/// threads, packing in this way takes 1.2 times as much CPU time (example `bloscpack_tasks`, task
/// `pack_array`).
pub(crate) fn in_order_here<J: Send, S: Send, T: Default + Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J, &mut T) -> Result<()> + Sync,
    take: impl FnMut(&mut T) -> Result<()>,
) -> Result<()> {
    #[cfg(feature = "rayon")]
    if workers(threads) > 1 {
        return caller::in_order_here(workers(threads), jobs, &state, &work, take);
    }
    let _ = threads;
    one_by_one(jobs, &state, &work, take)
}

/// Like [`in_order`], but for jobs without a result.
pub(crate) fn for_each<J: Send, S: Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J) -> Result<()> + Sync,
) -> Result<()> {
    let work = |state: &mut S, job, (): &mut ()| work(state, job);
    #[cfg(feature = "rayon")]
    if workers(threads) > 1 {
        // Results take no memory here, so their number is not limited, and a slow job does not
        // delay other jobs.
        return workers::in_order(workers(threads), usize::MAX, jobs, state, work, |()| Ok(()));
    }
    let _ = threads;
    one_by_one(jobs, &state, &work, |()| Ok(()))
}

/// Runs `work` and then `take` for each job, on the caller's thread.
fn one_by_one<J, S, T: Default>(
    mut jobs: impl Iterator<Item = J>,
    state: &impl Fn() -> S,
    work: &impl Fn(&mut S, J, &mut T) -> Result<()>,
    mut take: impl FnMut(&mut T) -> Result<()>,
) -> Result<()> {
    let (mut state, mut result) = (state(), T::default());
    jobs.try_for_each(|job| {
        work(&mut state, job, &mut result)?;
        take(&mut result)
    })
}

#[cfg(feature = "rayon")]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A lock is poisoned only if `take` or the iterator of the jobs has panicked. The queue is
    // consistent even then, `take` is not called again, and the panic resumes once all threads have
    // ended.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Calls [`in_order_here`] if `here` is `true`, and [`in_order`] otherwise.
    fn run<J: Send, T: Default + Send>(
        here: bool,
        threads: usize,
        jobs: impl Iterator<Item = J> + Send,
        work: impl Fn(&mut (), J, &mut T) -> Result<()> + Sync,
        take: impl FnMut(&mut T) -> Result<()> + Send,
    ) -> Result<()> {
        if here {
            in_order_here(threads, jobs, || (), work, take)
        } else {
            in_order(threads, jobs, || (), work, take)
        }
    }

    /// Returns each number of threads twice: once for [`in_order`], and once for [`in_order_here`].
    fn ways<const N: usize>(threads: [usize; N]) -> impl Iterator<Item = (bool, usize)> {
        [false, true].into_iter().flat_map(move |here| threads.map(|threads| (here, threads)))
    }

    #[test]
    fn results_arrive_in_job_order_and_their_memory_is_reused() {
        for (here, threads) in ways([0, 1, 2, 3, 8]) {
            let (made, mut taken) = (AtomicUsize::new(0), Vec::new());
            let work = |(): &mut (), job: usize, result: &mut Vec<usize>| {
                dawdle(job);
                made.fetch_add(usize::from(result.is_empty()), Ordering::Relaxed);
                *result = vec![job];
                Ok(())
            };
            let take = |result: &mut Vec<usize>| {
                taken.extend_from_slice(result);
                Ok(())
            };
            run(here, threads, 0..100, work, take).unwrap();
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
            assert!(made.into_inner() <= threads.max(1) * 2, "{threads} threads");
        }
    }

    #[test]
    fn the_error_of_the_first_failed_job_is_returned_after_all_earlier_results_are_taken() {
        for (here, threads) in ways([1, 2, 5]) {
            let mut taken = 0;
            let work = |(): &mut (), job: usize, (): &mut ()| {
                dawdle(job);
                if job >= 30 { Err(failure(job)) } else { Ok(()) }
            };
            let take = |(): &mut ()| {
                taken += 1;
                Ok(())
            };
            let outcome = run(here, threads, 0..100, work, take);
            assert_eq!((outcome.unwrap_err().to_string(), taken), ("30".to_owned(), 30));
        }
    }

    #[test]
    fn an_error_while_consuming_results_stops_the_workers() {
        for (here, threads) in ways([1, 2, 5]) {
            let worked = AtomicUsize::new(0);
            let work = |(): &mut (), _: usize, (): &mut ()| {
                worked.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            let outcome = run(here, threads, 0..1000, work, |()| Err(failure(7)));
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
            let run_all = || {
                for (here, threads) in ways([ALL]) {
                    let mut taken = Vec::new();
                    let take = |result: &mut usize| {
                        taken.push(*result);
                        Ok(())
                    };
                    run(here, threads, 0..50, work, take).unwrap();
                    assert_eq!(taken, (0..50).collect::<Vec<_>>());
                }
                for_each(ALL, 0..50, || (), |(), job| work(&mut (), job, &mut 0)).unwrap();
            };
            pool.install(run_all);
            // Also run everything four times at once, on the threads of the pool.
            pool.scope(|scope| (0..4).for_each(|_| scope.spawn(|_| run_all())));
        }
    }

    #[test]
    fn running_without_jobs_succeeds_and_does_no_work() {
        let none = std::iter::empty::<usize>;
        let work = |(): &mut (), _, (): &mut ()| Err(failure(0));
        for (here, threads) in ways([1, 3]) {
            assert!(run(here, threads, none(), work, |()| Ok(())).is_ok());
        }
    }

    #[test]
    fn a_panic_in_a_worker_or_while_taking_results_leaves_no_thread_waiting() {
        let panics = |here: bool, in_work: bool| {
            std::panic::catch_unwind(|| {
                let work = |(): &mut (), job: usize, (): &mut ()| {
                    assert!(!(in_work && job == 5), "meant");
                    Ok(())
                };
                let take = |(): &mut ()| {
                    assert!(in_work, "meant");
                    Ok(())
                };
                run(here, 2, 0..100, work, take)
            })
        };
        for here in [false, true] {
            assert!(panics(here, true).is_err());
            assert!(panics(here, false).is_err());
        }
    }

    #[test]
    fn jobs_that_run_nested_jobs_all_finish() {
        for threads in [1, 2, 5] {
            let done = AtomicUsize::new(0);
            let inner = |(): &mut (), job: usize| {
                dawdle(job);
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            let outer = |(): &mut (), _: usize, (): &mut ()| for_each(threads, 0..7, || (), inner);
            in_order(threads, 0..20, || (), outer, |()| Ok(())).unwrap();
            assert_eq!(done.into_inner(), 140);
        }
    }
}
