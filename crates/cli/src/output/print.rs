//! Writes an array: its elements to standard output, or the array to a file, in the form that is asked
//! for.

use std::io::{self, BufWriter, IsTerminal, Write};

use binio::array::PrintStyle;
use serde_json::Value;

use crate::arguments::{Form, GetRequest};
use crate::failure::Failure;
use crate::output::file as output_file;
use crate::output::{Output, Sink, text_out};

/// An array, by the functions that write it.
pub(crate) struct Elements<'a, E> {
    /// The type of an element.
    pub(crate) dtype: Value,
    pub(crate) shape: &'a [u64],
    pub(crate) write: &'a dyn Fn(&mut dyn Write, PrintStyle) -> Result<(), E>,
    /// As numpy shows a large array: the first and the last elements.
    pub(crate) write_summary: &'a dyn Fn(&mut dyn Write) -> Result<(), E>,
    pub(crate) write_npy: &'a dyn Fn(&mut dyn Write) -> Result<(), E>,
}

impl<E: From<io::Error>> Elements<'_, E> {
    /// Writes the array to the output of the request. Text: the last axis is a line, planes are set apart by
    /// an empty line, missing elements are `--`. JSON: `{"dtype", "shape", "values"}`, missing elements are
    /// `null`.
    pub(crate) fn write(
        &self,
        request: &GetRequest,
        output: Output,
        fail: impl FnOnce(E) -> Failure,
    ) -> Result<(), Failure> {
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
            Form::Npy => (self.write_npy)(out),
            Form::Raw => (self.write_npy)(&mut Raw { out, is_past_header: false }),
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

/// A text before what is written, if anything is: what fails at once prints nothing.
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

/// The elements of a `.npy` file without its header, which is written first and in one piece.
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
