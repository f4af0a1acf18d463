//! The threads of the extension.
//!
//! The pool belongs to the process that created it, because threads do not survive a fork. A forked child
//! creates its own pool, and leaks that of its parent: dropping it would wait for threads that do not exist.
//!
//! Entering the pool takes about 0.1 ms. Small work is therefore done without it, if it uses no rayon.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwapOption;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;

/// The environment variable with the number of threads.
const VARIABLE: &str = "SCIBIN_THREADS";

/// The size in bytes from which reading raw data is done in the pool. Below, the crates use no rayon.
pub(crate) const LARGE: u64 = 1 << 20;

struct Pool {
    process: u32,
    threads: ThreadPool,
}

/// The pool of this process, or that of the parent until the first use after a fork. Without a lock, which
/// another thread could hold during a fork.
static POOL: ArcSwapOption<Pool> = ArcSwapOption::const_empty();

/// The number of threads that [`set_threads`] has set, or 0.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` in the pool. Call it detached from the interpreter.
pub(crate) fn install<T, E>(work: impl FnOnce() -> Result<T, E> + Send) -> Result<T, Failure>
where
    T: Send,
    E: Send,
    Failure: From<E>,
{
    Ok(current()?.threads.install(work)?)
}

/// Runs `work` in the pool if it `pays`, and otherwise on this thread.
pub(crate) fn install_if<T, E>(
    pays: bool,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> Result<T, Failure>
where
    T: Send,
    E: Send,
    Failure: From<E>,
{
    if pays { install(work) } else { Ok(work()?) }
}

fn current() -> Result<Arc<Pool>, Failure> {
    let process = std::process::id();
    match POOL.load_full() {
        Some(pool) if pool.process == process => Ok(pool),
        _ => replace(process),
    }
}

/// Creates the pool of this process.
fn replace(process: u32) -> Result<Arc<Pool>, Failure> {
    let threads = ThreadPoolBuilder::new()
        .num_threads(wanted()?)
        .thread_name(|index| format!("scibin-{index}"))
        .build()
        .map_err(|error| Failure::from(std::io::Error::other(error)))?;
    let pool = Arc::new(Pool { process, threads });
    let old = POOL.swap(Some(Arc::clone(&pool)));
    if let Some(old) = old.filter(|old| old.process != process) {
        std::mem::forget(old);
    }
    Ok(pool)
}

/// Returns the number of threads to create.
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

/// Sets the number of threads that decode, compress and copy data in this process and in those forked from
/// it. Calls that are already running keep theirs.
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

/// Returns the number of threads.
#[pyfunction]
pub(crate) fn threads(py: Python<'_>) -> PyResult<usize> {
    let pool = py.detach(current).map_err(|failure| failure.raise(py, None))?;
    Ok(pool.threads.current_num_threads())
}
