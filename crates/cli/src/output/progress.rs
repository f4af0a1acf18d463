//! A progress bar for work that takes more than a second, shown only on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time after which the progress bar appears.
const DELAY: Duration = Duration::from_secs(1);

/// A counter of processed bytes, shown as a progress bar after the first second. Nothing is shown
/// if standard error is not a terminal, or if the output is quiet.
pub(crate) struct Progress {
    bar: ProgressBar,
    begin: Instant,
    shown: std::sync::atomic::AtomicBool,
}

impl Progress {
    pub(crate) fn new(bytes: u64, quiet: bool) -> Self {
        Self::with(Some(bytes), "{bar:32} {bytes}/{total_bytes} {bytes_per_sec} {eta}", quiet)
    }

    /// Returns a counter for an unknown number of bytes.
    pub(crate) fn endless(quiet: bool) -> Self {
        Self::with(None, "{spinner} {bytes} {bytes_per_sec}", quiet)
    }

    fn with(bytes: Option<u64>, template: &str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let silent = quiet || !io::stderr().is_terminal();
        Self { bar, begin: Instant::now(), shown: silent.into() }
    }

    pub(crate) fn add(&self, bytes: u64) {
        use std::sync::atomic::Ordering;
        self.bar.inc(bytes);
        if self.begin.elapsed() >= DELAY && !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Returns a writer that counts the bytes written through it.
    pub(crate) fn writer<W: Write>(&self, inner: W) -> ProgressWriter<'_, W> {
        ProgressWriter { inner, progress: self }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

pub(crate) struct ProgressWriter<'a, W> {
    inner: W,
    progress: &'a Progress,
}

impl<W: Write> Write for ProgressWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.progress.add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
