//! Running jobs on several threads, and taking their results in order on the caller's thread.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use super::lock;
use crate::error::Result;

pub(super) fn in_order_here<J: Send, S: Send, T: Default + Send>(
    threads: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: &(impl Fn() -> S + Sync),
    work: &(impl Fn(&mut S, J, &mut T) -> Result<()> + Sync),
    mut take: impl FnMut(&mut T) -> Result<()>,
) -> Result<()> {
    let queue = Queue::new(jobs, threads);
    let states = Mutex::new(Vec::new());
    let run = || {
        let _stop = Stop { queue: &queue, only_in_panic: true };
        let kept = lock(&states).pop();
        let mut state = kept.unwrap_or_else(state);
        while let Some((index, job, mut result)) = queue.next_job() {
            let outcome = work(&mut state, job, &mut result).map(|()| result);
            queue.put(index, outcome);
        }
        lock(&states).push(state);
    };
    rayon::in_place_scope(|scope| {
        let _stop = Stop { queue: &queue, only_in_panic: false };
        loop {
            while queue.needs_worker() {
                scope.spawn(|_| run());
            }
            let Some(outcome) = queue.next_result() else { return Ok(()) };
            let mut result = outcome?;
            take(&mut result)?;
            queue.give_back(result);
        }
    })
}

/// The jobs and their results, which all threads share.
struct Queue<I, T> {
    state: Mutex<QueueState<I, T>>,
    /// Notified when a result becomes available, and when a worker thread ends.
    changed: Condvar,
    threads: usize,
}

struct QueueState<I, T> {
    jobs: I,
    /// Set to `true` when the jobs run out or one of them fails. No further jobs are handed out after
    /// that.
    finished: bool,
    /// The number of running worker threads. A worker ends when no jobs are left or there is no
    /// space for another result.
    working: usize,
    /// The index of the next job to hand out.
    next: usize,
    /// The index of the next result to take.
    first: usize,
    /// The number of results that have been taken and whose memory has been returned.
    done: usize,
    /// The results from `first` to `next`. A result is `None` while its job is in progress.
    results: VecDeque<Option<Result<T>>>,
    /// Taken results, whose memory is reused for new results.
    spare: Vec<T>,
    stopped: bool,
}

impl<I: Iterator, T: Default> Queue<I, T> {
    fn new(jobs: I, threads: usize) -> Self {
        let state = QueueState {
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

    /// Returns `true` if there may be another job, and there is space for its result.
    fn has_job(&self, state: &QueueState<I, T>) -> bool {
        let window = self.threads.saturating_mul(2);
        !state.finished && !state.stopped && state.next < state.done + window
    }

    /// Returns `true` if another worker should be started, and counts it as running.
    fn needs_worker(&self) -> bool {
        let mut state = lock(&self.state);
        // Each worker runs at least one job, so start no more workers than there is space for
        // results.
        let room = (state.done + 2 * self.threads).saturating_sub(state.next);
        let needs = state.working < self.threads.min(room) && self.has_job(&state);
        state.working += usize::from(needs);
        needs
    }

    /// Returns the index of the next job, the job, and memory for its result. Returns `None` if the
    /// worker should end.
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

    /// Stores the result of job `index`. After an error, no more jobs are handed out.
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
            // A thread of the pool must run jobs itself instead of waiting, because all other
            // threads of the pool may be busy.
            is_idle = rayon::yield_now() != Some(rayon::Yield::Executed);
        }
    }

    /// Keeps the memory of a taken result for reuse, and makes space for another result.
    fn give_back(&self, result: T) {
        let mut state = lock(&self.state);
        state.spare.push(result);
        state.done += 1;
    }
}

/// Stops the queue when dropped, so that no other thread waits for a thread that has ended. If
/// `only_in_panic` is set, the queue is stopped only during a panic.
struct Stop<'a, I, T> {
    queue: &'a Queue<I, T>,
    only_in_panic: bool,
}

impl<I, T> Drop for Stop<'_, I, T> {
    fn drop(&mut self) {
        lock(&self.queue.state).stopped |= !self.only_in_panic || thread::panicking();
        self.queue.changed.notify_all();
    }
}
