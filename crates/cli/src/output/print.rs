//! Writing the elements of an array to standard output or to a file, in the requested form.

use std::io::{self, BufWriter, IsTerminal, Write};

use binio::array::{PrintStyle, Slice};
use serde_json::Value;

use crate::arguments::{Form, GetRequest};
use crate::failure::Failure;
use crate::output::{Output, Sink, file as output_file, picture, text_out};

type WritePart<'a, E> = dyn Fn(&[Slice], &mut dyn Write) -> Result<(), E> + 'a;
type Missing<'a, E> = dyn Fn(&[Slice]) -> Result<Option<Vec<bool>>, E> + 'a;

/// An array, represented by the functions that write it.
pub(crate) struct Elements<'a, E> {
    /// The type of the elements as JSON.
    pub(crate) dtype: Value,
    pub(crate) shape: &'a [u64],
    pub(crate) write: &'a dyn Fn(&mut dyn Write, PrintStyle) -> Result<(), E>,
    /// Writes the array as text, but only the first and last elements if it is large, like numpy.
    pub(crate) write_summary: &'a dyn Fn(&mut dyn Write) -> Result<(), E>,
    /// Writes the selected part of the array as a `.npy` file: first the header, then the elements
    /// in pieces. Without slices, writes the whole array.
    pub(crate) write_npy: &'a WritePart<'a, E>,
    /// Returns the mask of the selected elements in C order: `true` marks a missing element.
    /// Returns `None` if the array has no mask.
    pub(crate) missing: &'a Missing<'a, E>,
}

impl<E: From<io::Error>> Elements<'_, E> {
    /// Writes the array to the requested output. In text, each line contains the elements along
    /// the last axis, planes are separated by an empty line, and missing elements are `--`. In
    /// JSON, the array is an object with `dtype`, `shape` and `values`, and missing elements are
    /// `null`.
    pub(crate) fn write(
        &self,
        request: &GetRequest,
        output: Output,
        fail: impl Fn(E) -> Failure,
    ) -> Result<(), Failure> {
        if request.array.picture.is_wanted() {
            return picture::draw(self, request, fail);
        }
        let form = request.array.form(output.json);
        if let Some(target) = &request.array.output {
            let body = |out: &mut dyn Write| {
                let mut out = BufWriter::new(out);
                self.write_form(form, &mut out)?;
                Ok(out.flush()?)
            };
            return output_file::write(target, request.array.force, body, fail);
        }
        if matches!(form, Form::Npy | Form::Raw) {
            let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
            let written = self.write_form(form, &mut out);
            return out.finish(written, fail, Failure::from);
        }
        let mut out = Sink::new(text_out());
        let is_for_people =
            request.array.form.is_none() && !request.array.full && io::stdout().is_terminal();
        let written = if form == Form::Text && is_for_people {
            (self.write_summary)(&mut out)
        } else {
            self.write_form(form, &mut out)
        };
        out.finish(written, fail, Failure::from)
    }

    fn write_form(&self, form: Form, out: &mut dyn Write) -> Result<(), E> {
        match form {
            Form::Npy => (self.write_npy)(&[], out),
            Form::Raw => (self.write_npy)(&[], &mut Raw { out, is_past_header: false }),
            Form::Csv => (self.write)(out, PrintStyle::Csv),
            Form::Text => (self.write)(out, PrintStyle::Text),
            Form::Json => {
                let Self { dtype, shape, .. } = self;
                let prefix = format!("{{\"dtype\": {dtype}, \"shape\": {shape:?}, \"values\": ");
                (self.write)(&mut Prefixed { prefix: Some(prefix), out }, PrintStyle::Json)?;
                Ok(out.write_all(b"}\n")?)
            }
        }
    }
}

/// A writer that delays a prefix until the first bytes are written. If an error occurs before that,
/// the prefix is not written either.
struct Prefixed<'w> {
    prefix: Option<String>,
    out: &'w mut dyn Write,
}

impl Write for Prefixed<'_> {
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

/// A writer that discards the `.npy` header and passes on the elements. The first call to `write`
/// must contain exactly the header.
struct Raw<'w> {
    out: &'w mut dyn Write,
    is_past_header: bool,
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_past_header {
            return self.out.write(bytes);
        }
        self.is_past_header = true;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
