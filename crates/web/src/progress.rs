//! Reporting to the page how much of an array has been read.

use std::cell::RefCell;
use std::io::{self, Write};

use js_sys::Function;
use wasm_bindgen::JsValue;

/// The minimum number of bytes between two reports.
const STEP: u64 = 4 << 20;

thread_local! {
    static LISTENER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function that is called with the number of bytes read so far and the total number of
/// bytes.
pub(crate) fn listen(listener: Function) {
    LISTENER.set(Some(listener));
}

/// A counter that reports how many bytes of an array have been read.
pub(crate) struct Reporting {
    done: u64,
    total: u64,
    next: u64,
}

impl Reporting {
    pub(crate) fn new(total: u64) -> Self {
        Self { done: 0, total, next: STEP }
    }

    /// Returns a writer that passes bytes on to `out` and counts them.
    pub(crate) fn writer<'a, 'w>(&'a mut self, out: &'a mut (dyn Write + 'w)) -> Writer<'a, 'w> {
        Writer { reporting: self, out }
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers are floats in JavaScript")]
    fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        if self.done < self.next {
            return;
        }
        self.next = self.done + STEP;
        LISTENER.with_borrow(|listener| {
            if let Some(listener) = listener {
                let (done, total) = ((self.done as f64).into(), (self.total as f64).into());
                // Ignore errors, because the array can be read without reporting progress.
                let _ = listener.call2(&JsValue::NULL, &done, &total);
            }
        });
    }
}

/// A writer that passes bytes on to another writer, and counts them.
pub(crate) struct Writer<'a, 'w> {
    reporting: &'a mut Reporting,
    out: &'a mut (dyn Write + 'w),
}

impl Write for Writer<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.reporting.add(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
