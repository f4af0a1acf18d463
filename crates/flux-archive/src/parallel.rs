//! Running work in the caller's `rayon` pool, or on a single thread without the feature `rayon`.

/// A progress function, which is called on any thread with the number of bytes processed since the
/// last call.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// Calls the progress function, if there is one, with a number of processed bytes.
pub(crate) fn report(progress: Option<Progress<'_>>, bytes: u64) {
    if let Some(progress) = progress {
        progress(bytes);
    }
}

/// Returns the number of threads in the pool, or 1 without the feature `rayon`.
pub(crate) fn threads() -> usize {
    #[cfg(feature = "rayon")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "rayon"))]
    1
}

/// Calls both functions, in parallel if a thread is free.
#[cfg(unix)]
pub(crate) fn join<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "rayon")]
    return rayon::join(first, second);
    #[cfg(not(feature = "rayon"))]
    (first(), second())
}

/// Calls `each` with every item, and with a state that is reused for other items on the same
/// thread. Returns the results in the order of the items. After an error, no further items are
/// started.
pub(crate) fn try_map<T: Sync, S, R: Send, E: Send>(
    items: &[T],
    state: impl Fn() -> S + Sync + Send,
    each: impl Fn(&mut S, &T) -> Result<R, E> + Sync + Send,
) -> Result<Vec<R>, E> {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        items.par_iter().map_init(state, each).collect()
    }
    #[cfg(not(feature = "rayon"))]
    {
        let mut state = state();
        items.iter().map(|item| each(&mut state, item)).collect()
    }
}
