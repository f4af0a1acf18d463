//! The pool of threads that the extension uses.
//!
//! The pool can be used only in the process that created it, because threads do not survive a fork.
//! A forked child creates a pool of its own. It leaks the pool of its parent, because dropping the pool could wait
//! forever for a lock that a thread of the parent held during the fork.
//!
//! Entering the pool takes about 0.1 ms, so small pieces of work that do not use rayon run outside the pool.
//!
//! If the pool has only one thread, it is not used, and each call runs on the Python thread that made it. In the pool,
//! simultaneous calls, such as those from the tasks of a Dask worker, would have to wait for each other.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;

/// The environment variable that sets the number of threads.
const VARIABLE: &str = "SCIBIN_THREADS";

/// The minimum size in bytes of raw data that is read in the pool. The crates do not use rayon for
/// smaller reads.
pub(crate) const LARGE: u64 = 1 << 20;

struct Pool {
    process: u32,
    threads: ThreadPool,
}

/// The pool of this process. After a fork, this is the pool of the parent until the child first
/// needs a pool. No lock protects it, because another thread could hold the lock during a fork.
static POOL: ArcSwapOption<Pool> = ArcSwapOption::const_empty();

/// The number of threads set by [`set_threads`], or 0 if it has not been called.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// A pool that consists of the current thread. Rayon leaks it when the thread ends.
    static ALONE: OnceCell<ThreadPool> = const { OnceCell::new() };
}

/// Runs `work` in the pool. Must be called detached from the interpreter.
pub(crate) fn install<T, E>(work: impl FnOnce() -> Result<T, E> + Send) -> Result<T, Failure>
where
    T: Send,
    E: Send,
    Failure: From<E>,
{
    let pool = current()?;
    if pool.threads.current_num_threads() > 1 {
        return Ok(pool.threads.install(work)?);
    }
    ALONE.with(|alone| {
        let pool = if let Some(pool) = alone.get() {
            pool
        } else {
            let pool = build(ThreadPoolBuilder::new().num_threads(1).use_current_thread())?;
            alone.get_or_init(|| pool)
        };
        Ok(pool.install(work)?)
    })
}

/// Runs `work` in the pool if `in_pool` is `true`, and on the current thread otherwise.
pub(crate) fn install_if<T, E>(
    in_pool: bool,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure>
where
    T: Send,
    E: Send,
    Failure: From<E>,
{
    if in_pool { install(work) } else { Ok(work()?) }
}

fn current() -> Result<Arc<Pool>, Failure> {
    let process = std::process::id();
    match POOL.load_full() {
        Some(pool) if pool.process == process => Ok(pool),
        _ => replace(process),
    }
}

/// Creates a new pool, and replaces the current one with it.
fn replace(process: u32) -> Result<Arc<Pool>, Failure> {
    let threads = build(
        ThreadPoolBuilder::new()
            .num_threads(wanted()?)
            .thread_name(|index| format!("scibin-{index}")),
    )?;
    let pool = Arc::new(Pool { process, threads });
    let old = POOL.swap(Some(Arc::clone(&pool)));
    if let Some(old) = old.filter(|old| old.process != process) {
        std::mem::forget(old);
    }
    Ok(pool)
}

fn build(builder: ThreadPoolBuilder) -> Result<ThreadPool, Failure> {
    builder.build().map_err(|error| Failure::from(std::io::Error::other(error)))
}

/// Returns the number of threads that [`set_threads`] has set. If it has not been called, returns
/// the number in the environment variable or, if that is not set either, the number of processors.
fn wanted() -> Result<usize, Failure> {
    let set = THREADS.load(Ordering::Relaxed);
    if set > 0 {
        return Ok(set);
    }
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(std::thread::available_parallelism().map_or(1, Into::into));
    };
    let number = text.to_str().and_then(|text| text.trim().parse().ok());
    number.filter(|&number| number > 0).ok_or_else(|| {
        Failure::value(format!("{VARIABLE} is {text:?}: expected a positive integer"))
    })
}

/// Sets the number of threads that decode, compress and copy data in this process, and in processes forked from it.
/// Calls that are already running keep their threads.
#[pyfunction]
#[pyo3(signature = (number, /))]
pub(crate) fn set_threads(py: Python<'_>, number: i64) -> PyResult<()> {
    let number = usize::try_from(number).ok().filter(|&number| number > 0).ok_or_else(|| {
        PyValueError::new_err(format!("{number} threads: expected a positive number"))
    })?;
    THREADS.store(number, Ordering::Relaxed);
    py.detach(|| replace(std::process::id())).map_err(|failure| failure.raise(py, None))?;
    Ok(())
}

/// Returns the number of threads that decode, compress and copy data.
#[pyfunction]
pub(crate) fn threads(py: Python<'_>) -> PyResult<usize> {
    let pool = py.detach(current).map_err(|failure| failure.raise(py, None))?;
    Ok(pool.threads.current_num_threads())
}
