//! Running work in the caller's `rayon` pool, or on a single thread without the feature `rayon`.

/// A progress function. Each call passes the number of bytes that were just processed. Any thread
/// may call it, even while another call is running.
pub type Progress<'p> = &'p (dyn Fn(u64) + Sync);

/// Calls the progress function, if there is one, with the number of bytes processed.
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

/// Calls `each` for every item, in parallel.
#[cfg(unix)]
pub(crate) fn for_each<T: Send>(items: &mut [T], each: impl Fn(&mut T) + Sync + Send) {
    #[cfg(feature = "rayon")]
    {
        use rayon::prelude::*;
        items.par_iter_mut().for_each(each);
    }
    #[cfg(not(feature = "rayon"))]
    items.iter_mut().for_each(each);
}

/// Calls `each` for every item, in parallel. Each call also receives a value created by `state`;
/// this value may be reused for later items on the same thread. Returns the results in the order of
/// the items. An error ends the work early, although other threads may still start a few items.
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

/// Calls `fill`, `process` and `take` for one batch after another, until `fill` returns `false` or
/// `take` fails. `process` runs in the pool. In the meantime, the calling thread passes the
/// previously processed batches to `take` in order, and calls `fill` for the next batches. Batches
/// are reused, so their memory is allocated only once. `fill` may be called again after it has
/// returned `false`, and must then return `false` again.
///
/// With one thread, the three functions are called in turn, always with the same batch.
#[cfg(unix)]
pub(crate) fn pipeline<C, B: Default + Send, E>(
    context: &mut C,
    mut fill: impl FnMut(&mut C, &mut B) -> bool,
    process: impl Fn(&mut B) + Sync,
    mut take: impl FnMut(&mut C, &mut B) -> Result<(), E>,
) -> Result<(), E> {
    #[cfg(feature = "rayon")]
    if threads() > 1 {
        /// The number of batches per thread that are processed at a time.
        const BATCHES: usize = 2;
        /// The number of batches grows with the number of threads, but only up to this number of
        /// threads. More batches would only wait for the calling thread, and need more memory.
        const THREADS: usize = 8;

        let process = &process;
        let len = BATCHES * threads().min(THREADS);
        let window = || -> Vec<B> { (0..len).map(|_| B::default()).collect() };
        let (mut next, mut ready) = (window(), window());
        let mut fill_all = |context: &mut C, batches: &mut [B]| {
            batches.iter_mut().map_while(|batch| fill(context, batch).then_some(())).count()
        };
        let (mut filled, mut processed) = (fill_all(context, &mut next), 0);
        while filled + processed > 0 {
            processed = rayon::in_place_scope(|scope| {
                for batch in &mut next[..filled] {
                    scope.spawn(move |_| process(batch));
                }
                for batch in &mut ready[..processed] {
                    take(context, batch)?;
                }
                Ok(fill_all(context, &mut ready))
            })?;
            std::mem::swap(&mut next, &mut ready);
            std::mem::swap(&mut filled, &mut processed);
        }
        return Ok(());
    }
    let mut batch = B::default();
    while fill(context, &mut batch) {
        process(&mut batch);
        take(context, &mut batch)?;
    }
    Ok(())
}

#[cfg(all(test, feature = "rayon", unix))]
mod tests {
    use super::*;

    #[test]
    fn batches_leave_the_pipeline_in_order_on_any_number_of_threads() {
        for threads in 1..4 {
            for most in [0, 1, 5, 100] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let run = || {
                    let mut context = (0, Vec::new());
                    let filled = pipeline(
                        &mut context,
                        |(next, _), batch: &mut u32| {
                            *next += 1;
                            *batch = *next;
                            *next <= most
                        },
                        |batch| *batch *= 10,
                        |(_, taken), batch| {
                            taken.push(*batch);
                            if *batch == 700 { Err(()) } else { Ok(()) }
                        },
                    );
                    (filled, context.1)
                };
                let (result, taken) = pool.install(run);
                assert_eq!(run().1, taken);
                assert_eq!(result.is_err(), most >= 70);
                let expected: Vec<_> = (1..=most.min(70)).map(|batch| batch * 10).collect();
                assert_eq!(taken, expected, "{threads} threads, {most} batches");
            }
        }
    }
}
