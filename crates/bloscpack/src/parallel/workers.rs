//! Running jobs on several worker threads, which also take the results in order.
//!
//! After finishing a job, a worker takes all results that are next in order, unless another worker
//! is already taking results. For its next job, it can then usually reuse the memory of the last
//! result, while this memory is still in the cache of the processor core.

use std::collections::VecDeque;
use std::sync::Mutex;

use rayon::Scope;

use super::lock;
use crate::error::Result;

/// Runs `work` on every job, on up to `threads` threads, and `take` on the results in the order of
/// the jobs. At most `window` results exist at a time.
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

/// The queue of jobs, and the functions that the workers run.
struct Crew<I, T, S, State, Work, Take> {
    queue: Queue<I, T>,
    /// The states of workers that have ended, to be reused by new workers.
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
    /// Starts workers, up to the number of threads, as long as another worker would have a job.
    fn start_workers<'scope>(&'scope self, scope: &Scope<'scope>) {
        while self.queue.needs_worker() {
            scope.spawn(|scope| self.run(scope));
        }
    }

    /// Runs jobs and takes results until there are no more jobs, or no space for another result.
    fn run<'scope>(&'scope self, scope: &Scope<'scope>) {
        let kept = lock(&self.states).pop();
        let mut state = kept.unwrap_or_else(&self.state);
        while let Some((index, job, mut result)) = self.queue.next_job() {
            let outcome = (self.work)(&mut state, job, &mut result).map(|()| result);
            let mut taken = self.queue.put(index, outcome);
            while let Some(mut result) = taken {
                let outcome = lock(&self.take)(&mut result).map(|()| result);
                taken = self.queue.give_back(outcome);
                // Other workers may have ended for lack of space. Now there is space for a result
                // again.
                self.start_workers(scope);
            }
        }
        lock(&self.states).push(state);
    }
}

/// The jobs and their results, which all workers share.
struct Queue<I, T> {
    state: Mutex<QueueState<I, T>>,
    threads: usize,
    window: usize,
}

struct QueueState<I, T> {
    jobs: I,
    /// Set to `true` when the jobs run out, or after an error in a job or in `take`. No further jobs
    /// are handed out after that.
    finished: bool,
    /// The number of running workers. A worker ends when no jobs are left or there is no space for
    /// another result.
    working: usize,
    /// The index of the next result to take.
    first: usize,
    /// The results from `first` on. A result is `None` while its job is in progress.
    results: VecDeque<Option<Result<T>>>,
    /// Whether a worker is taking results. Remains `true` after an error, so that no more results
    /// are taken.
    is_taking: bool,
    /// Taken results, whose memory is reused for new results.
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

    /// Returns the number of results that there is still space for, or 0 if no more jobs will be
    /// handed out.
    fn free_space(&self, state: &QueueState<I, T>) -> usize {
        let used = state.results.len() + usize::from(state.is_taking);
        if state.finished { 0 } else { self.window.saturating_sub(used) }
    }

    /// Returns `true` if another worker should be started, and counts it as running.
    fn needs_worker(&self) -> bool {
        let mut state = lock(&self.state);
        // Each worker runs at least one job, so start no more workers than there is space for
        // results.
        let needs = state.working < self.threads.min(self.free_space(&state));
        state.working += usize::from(needs);
        needs
    }

    /// Returns the index of the next job, the job, and memory for its result. Returns `None` if the
    /// worker should end.
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

    /// Stores the result of job `index`. After an error, no more jobs are handed out. Returns the
    /// next result to take, or `None` if it is not available or another worker is taking results.
    fn put(&self, index: usize, result: Result<T>) -> Option<T> {
        let mut state = lock(&self.state);
        state.finished |= result.is_err();
        let place = index - state.first;
        if let Some(slot) = state.results.get_mut(place) {
            *slot = Some(result);
        }
        if state.is_taking { None } else { state.next_result() }
    }

    /// Called after a result has been taken. Keeps the memory of the result for reuse, or stores
    /// the error. Returns the next result to take, or `None` if it is not available or there was an
    /// error.
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
    /// Removes and returns the next result in order, for the current worker to take. Returns `None`
    /// if it is not available yet. If its job failed, stores the error and returns `None`.
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

    /// Stores the error to return, and stops handing out jobs and taking results.
    fn fail(&mut self, error: crate::Error) {
        self.finished = true;
        self.is_taking = true;
        self.error = Some(error);
    }
}
