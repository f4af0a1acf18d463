//! Running jobs on several threads, which also take the results.
//!
//! After finishing a job, a thread takes all results that are next in queue, unless another thread is already taking
//! results. It then usually reuses the memory of its own result for its next job, while it is still in its cache.

use std::collections::VecDeque;
use std::sync::Mutex;

use rayon::Scope;

use super::lock;
use crate::error::Result;

/// Runs `work` on every job on up to `threads` threads, and `take` on the results in the order of the jobs. At most
/// `window` results exist at a time.
pub(super) fn in_order<J: Send, S: Send, T: Default + Send>(
    threads: usize,
    window: usize,
    jobs: impl Iterator<Item = J> + Send,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, J, &mut T) -> Result<()> + Sync,
    take: impl FnMut(&mut T) -> Result<()> + Send,
) -> Result<()> {
    let queue = Queue::new(threads, window, jobs);
    let crew = Crew { queue, states: Mutex::new(Vec::new()), state, work, take: Mutex::new(take) };
    rayon::scope(|scope| crew.start_workers(scope));
    let error = lock(&crew.queue.state).error.take();
    error.map_or(Ok(()), Err)
}

/// The queue of jobs, and the functions that the threads run.
struct Crew<I, T, S, State, Work, Take> {
    queue: Queue<I, T>,
    /// The states of threads that have ended, to be reused.
    states: Mutex<Vec<S>>,
    state: State,
    work: Work,
    take: Mutex<Take>,
}

impl<I, T, S, State, Work, Take> Crew<I, T, S, State, Work, Take>
where
    I: Iterator<Item: Send> + Send,
    T: Default + Send,
    S: Send,
    State: Fn() -> S + Sync,
    Work: Fn(&mut S, I::Item, &mut T) -> Result<()> + Sync,
    Take: FnMut(&mut T) -> Result<()> + Send,
{
    /// Starts as many threads as there is work for.
    fn start_workers<'scope>(&'scope self, scope: &Scope<'scope>) {
        while self.queue.needs_worker() {
            scope.spawn(|scope| self.run(scope));
        }
    }

    /// Works until there are no more jobs, or no space for another result.
    fn run<'scope>(&'scope self, scope: &Scope<'scope>) {
        let kept = lock(&self.states).pop();
        let mut state = kept.unwrap_or_else(&self.state);
        while let Some((index, job, mut result)) = self.queue.next_job() {
            let outcome = (self.work)(&mut state, job, &mut result).map(|()| result);
            let mut taken = self.queue.put(index, outcome);
            while let Some(mut result) = taken {
                let outcome = lock(&self.take)(&mut result).map(|()| result);
                taken = self.queue.give_back(outcome);
                // The space may have been missing to other threads, which have ended.
                self.start_workers(scope);
            }
        }
        lock(&self.states).push(state);
    }
}

/// The jobs and results that the threads share.
struct Queue<I, T> {
    state: Mutex<QueueState<I, T>>,
    threads: usize,
    window: usize,
}

struct QueueState<I, T> {
    jobs: I,
    /// Whether all jobs are handed out, or no more are wanted.
    finished: bool,
    /// The number of working threads. A thread ends when there is no space for another result.
    working: usize,
    /// The index of the next result to take.
    first: usize,
    /// The results from `first` on; `None` while a job is in progress.
    results: VecDeque<Option<Result<T>>>,
    /// Whether a thread is taking results. After an error, no more results are taken.
    is_taking: bool,
    /// Memory to reuse.
    spare: Vec<T>,
    error: Option<crate::Error>,
}

impl<I: Iterator, T: Default> Queue<I, T> {
    fn new(threads: usize, window: usize, jobs: I) -> Self {
        let state = QueueState {
            jobs,
            finished: false,
            working: 0,
            first: 0,
            results: VecDeque::new(),
            is_taking: false,
            spare: Vec::new(),
            error: None,
        };
        Self { state: Mutex::new(state), threads, window }
    }

    /// Returns the number of results for which there is space, or 0 if there are no more jobs.
    fn free_space(&self, state: &QueueState<I, T>) -> usize {
        let used = state.results.len() + usize::from(state.is_taking);
        if state.finished { 0 } else { self.window.saturating_sub(used) }
    }

    /// Counts another thread as working, if there is work for it.
    fn needs_worker(&self) -> bool {
        let mut state = lock(&self.state);
        // Each thread that was started takes at least one of the jobs for which there is space.
        let needs = state.working < self.threads.min(self.free_space(&state));
        state.working += usize::from(needs);
        needs
    }

    /// Returns the next job, its index, and memory for its result. Returns `None` if the thread should end.
    fn next_job(&self) -> Option<(usize, I::Item, T)> {
        let mut state = lock(&self.state);
        let has_space = self.free_space(&state) > 0;
        let job = if has_space { state.jobs.next() } else { None };
        let Some(job) = job else {
            state.finished |= has_space;
            state.working -= 1;
            return None;
        };
        let index = state.first + state.results.len();
        state.results.push_back(None);
        Some((index, job, state.spare.pop().unwrap_or_default()))
    }

    /// Stores a result. After an error, no more jobs are handed out. Returns the next result to take, if there is one
    /// and no other thread is taking results.
    fn put(&self, index: usize, result: Result<T>) -> Option<T> {
        let mut state = lock(&self.state);
        state.finished |= result.is_err();
        let place = index - state.first;
        if let Some(slot) = state.results.get_mut(place) {
            *slot = Some(result);
        }
        if state.is_taking { None } else { state.next_result() }
    }

    /// Returns the memory of a result that was taken. Returns the next result to take, if there is one.
    fn give_back(&self, outcome: Result<T>) -> Option<T> {
        let mut state = lock(&self.state);
        state.is_taking = false;
        match outcome {
            Ok(result) => {
                state.spare.push(result);
                state.next_result()
            }
            Err(error) => {
                state.fail(error);
                None
            }
        }
    }
}

impl<I, T> QueueState<I, T> {
    /// Removes the next result in order, to be taken by the current thread.
    fn next_result(&mut self) -> Option<T> {
        let result = self.results.front_mut()?.take()?;
        self.results.pop_front();
        self.first += 1;
        match result {
            Ok(result) => {
                self.is_taking = true;
                Some(result)
            }
            Err(error) => {
                self.fail(error);
                None
            }
        }
    }

    /// Keeps the first error, and stops handing out jobs and taking results.
    fn fail(&mut self, error: crate::Error) {
        self.finished = true;
        self.is_taking = true;
        self.error = Some(error);
    }
}
