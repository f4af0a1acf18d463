//! Prints the elements of an array, row by row or as nested JSON.

use std::io::{self, BufWriter, Write};

use binio::array::Style;
use serde_json::Value;

use crate::failure::Failure;
use crate::output::Sink;

/// Prints an array to standard output, by a function that writes its elements. Text: the last axis is
/// a line, planes are set apart by an empty line, missing elements are `--`. JSON: `{"dtype", "shape",
/// "values"}`, missing elements are `null`.
pub(crate) fn array<E>(
    dtype: &Value,
    shape: &[u64],
    json: bool,
    write: impl FnOnce(&mut dyn Write, Style) -> Result<(), E>,
    fail: impl FnOnce(E) -> Failure,
) -> Result<(), Failure> {
    let prefix = json.then(|| format!("{{\"dtype\": {dtype}, \"shape\": {shape:?}, \"values\": "));
    let out = BufWriter::new(io::stdout().lock());
    let mut out = Sink::new(Prefixed { prefix, out });
    let written = write(&mut out, if json { Style::Json } else { Style::Text });
    if json && written.is_ok() {
        out.write_all(b"}\n")?;
    }
    out.finish(written, fail, Failure::from)
}

/// A text before what is written, if anything is: what fails at once prints nothing.
struct Prefixed<W> {
    prefix: Option<String>,
    out: W,
}

impl<W: Write> Write for Prefixed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(prefix) = self.prefix.take() {
            self.out.write_all(prefix.as_bytes())?;
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
