//! `scibin dudley get`, `dump` and `extract-layout`, and `scibin get`: print or extract the content
//! of files.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use dudley::array::{PrintStyle, Slice};
use dudley::file::FileBytes;
use dudley::index::CompiledLayout;
use dudley::place::Row;
use dudley::{Array, ErrorKind, File, OpenOptions, ParseOptions, Rules};
use serde_json::{Value, json};

use super::{parse, values};
use crate::Verdict;
use crate::arguments::GetRequest;
use crate::arguments::dudley::{Described, Dump, ExtractLayout, Instance, Order};
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::{self as output_file, is_standard};
use crate::output::html::Pictures;
use crate::output::print::Elements;
use crate::output::progress::Progress;
use crate::output::{Output, Sink, count, one_line, text_out};

/// The maximum number of unreadable rows for which `dump` prints the error.
const MAX_ERRORS: usize = 10;

/// Opens a file for reading. If a change to the file was interrupted, its bytes are read as they
/// were before the change.
pub(super) fn source(path: &Path) -> Result<FileBytes, Failure> {
    let opened = if is_standard(path) {
        input::source(path).map(FileBytes::new)
    } else {
        FileBytes::open(path)
    };
    opened.map_err(|error| Failure::other(name(path), error))
}

/// Opens a file with the given layout or, if no layout is given, with the appended layout.
pub(super) fn open(path: &Path, described: &Described, output: Output) -> Result<File, Failure> {
    open_with(path, &options(described, output)?, output)
}

/// Opens a file, and prints a warning if its appended layout contradicts the given layout, or
/// cannot be compared with it.
fn open_with(path: &Path, options: &OpenOptions, output: Output) -> Result<File, Failure> {
    let file = options.from_source(source(path)?).map_err(|error| Failure::dudley(path, error))?;
    match file.contradiction() {
        Ok(None) => {}
        Ok(Some(change)) => output.say(&format_args!(
            "warning: {}: the given layout contradicts the layout appended to the file: {change}",
            name(path)
        )),
        Err(error) => output.say(&format_args!(
            "warning: {}: the given layout cannot be compared with the layout appended to the file: {error}",
            name(path)
        )),
    }
    Ok(file)
}

/// Returns the options for opening a file with the given layout, parameters and byte order.
fn options(described: &Described, output: Output) -> Result<OpenOptions, Failure> {
    let mut rules = Rules::new();
    if let Some(order) = described.order {
        rules = rules.order(match order {
            Order::Little => dudley::Order::Little,
            Order::Big => dudley::Order::Big,
        });
    }
    if let Some(layout) = &described.layout {
        return described_by(layout, described, rules, output);
    }
    let values = described.params.params.iter().cloned().collect();
    Ok(OpenOptions::new().rules(rules.values(values)))
}

/// Returns `true` if the file is standard input and its data can be read in order, without copying
/// it to a temporary file first. This requires that the layout is in another file.
fn is_in_order(path: &Path, described: &Described, options: &OpenOptions) -> bool {
    let is_apart = described.layout.as_ref().is_some_and(|layout| !is_standard(layout));
    is_standard(path) && is_apart && options.reads_in_order()
}

/// Returns the options for opening a file with the given layout, which is either compiled or text.
/// If the layout is text, a compiled layout next to the text is preferred.
fn described_by(
    layout: &Path,
    described: &Described,
    rules: Rules,
    output: Output,
) -> Result<OpenOptions, Failure> {
    let is_compiled = layout.extension().is_some_and(|extension| extension == "dudx");
    let compiled = if is_compiled {
        CompiledLayout::open(layout).map(Some)
    } else if is_standard(layout) {
        Ok(None)
    } else {
        CompiledLayout::open_next_to(layout)
    };
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) if is_compiled => return Err(Failure::dudley(layout, error)),
        // If the compiled layout cannot be used, parse the text instead.
        Err(error) => {
            output.say(&format_args!("warning: {error}"));
            None
        }
    };
    let layout = match compiled {
        Some(compiled) if described.params.params.is_empty() => {
            return Ok(OpenOptions::new().rules(rules).compiled(compiled));
        }
        Some(compiled) => {
            compiled.parse(&ParseOptions::new()).map_err(|error| Failure::dudley(layout, error))?
        }
        None => parse(layout, &ParseOptions::new())?,
    };
    let values = values(&described.params, &[&layout])?;
    Ok(OpenOptions::new().rules(rules.values(values)).layout(Arc::new(layout)))
}

/// Prints or extracts the data at a path. Without a path, prints all rows.
pub(crate) fn get(
    request: &GetRequest,
    instance: &Instance,
    output: Output,
) -> Result<Verdict, Failure> {
    let Some(pointer) = &request.pointer else {
        let array = &request.array;
        if array.needs_array() || array.form.is_some() || instance.is_given() {
            let message = "expected the path of an item, because the given options apply to a \
                           single item";
            return Err(Failure::other(name(&request.file), message));
        }
        return dump(&Dump::of(request), output);
    };
    get_from(request, &instance.path(pointer), &Described::default(), output)
}

pub(super) fn get_from(
    request: &GetRequest,
    path: &str,
    described: &Described,
    output: Output,
) -> Result<Verdict, Failure> {
    let options = options(described, output)?;
    if is_in_order(&request.file, described, &options) {
        let mut outcome = None;
        let read = options.read_in_order(io::stdin(), Some(path), |file, _| {
            outcome = Some(get_of(file, request, path, output));
            Ok(ControlFlow::Break(()))
        });
        return outcome.unwrap_or_else(|| {
            let error = read.err().unwrap_or_else(|| {
                ErrorKind::NotData { path: path.to_owned(), what: "no stored item" }.into()
            });
            Err(Failure::dudley(&request.file, error))
        });
    }
    get_of(&open_with(&request.file, &options, output)?, request, path, output)
}

fn get_of(
    file: &File,
    request: &GetRequest,
    path: &str,
    output: Output,
) -> Result<Verdict, Failure> {
    match file.get(path) {
        Ok(array) => get_array(array, request, output),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotStrided { .. })
                && !request.array.needs_array()
                && file.instances(path).is_ok() =>
        {
            print_value(file, path, &request.file)
        }
        Err(error) => Err(Failure::dudley(&request.file, error)),
    }
}

fn get_array(mut array: Array, request: &GetRequest, output: Output) -> Result<Verdict, Failure> {
    let fail = |error| Failure::dudley(&request.file, dudley::Error::from(error));
    if let Some(text) = &request.array.slice {
        let invalid =
            |error: dudley::array::ElementsError| Failure::other("--slice", error.to_string());
        array = array.slice(&Slice::parse(text).map_err(invalid)?).map_err(invalid)?;
    }
    let array =
        dudley::file::for_numpy(&array).map_err(|error| Failure::dudley(&request.file, error))?;
    let is_quiet = output.quiet || request.array.output.is_none();
    let progress = Progress::new(array.len().saturating_mul(array.datatype().itemsize()), is_quiet);
    with_elements(&array, &progress, |elements| elements.write(request, output, fail))?;
    Ok(Verdict::Fine)
}

/// Calls `body` with the [`Elements`] of an array: its type, its shape, and the functions that
/// write it.
fn with_elements<R>(
    array: &Array,
    progress: &Progress,
    body: impl FnOnce(&Elements<'_, binio::Error>) -> R,
) -> R {
    body(&Elements {
        dtype: array.datatype().descr_json(),
        shape: array.shape(),
        write: &|out, style| array.write_elements(out, style, None),
        write_summary: &|out| array.write_summary(out, None),
        write_npy: &|part, out| {
            array.slice(part)?.write_npy(&mut progress.writer(out), dudley::array::Order::C)
        },
        missing: &|_| Ok(None),
    })
}

/// Adds a thumbnail of every image in a native file to `pictures`.
pub(super) fn draw_images(path: &Path, pictures: &mut Pictures) -> Result<(), Failure> {
    let opened = OpenOptions::new().from_source(source(path)?);
    let file = opened.map_err(|error| Failure::dudley(path, error))?;
    for &row in file.table().rows() {
        let Ok(array) = file.array_of(row) else { continue };
        if array.shape().len() == 2 {
            let name = file.table().entry(row).path();
            with_elements(&array, &Progress::new(0, true), |elements| pictures.add(name, elements));
        }
    }
    Ok(())
}

/// Prints, as JSON, the value of an item whose instances differ in size.
fn print_value(file: &File, path: &str, of_file: &Path) -> Result<Verdict, Failure> {
    let mut out = Sink::new(text_out());
    let mut written = file.write_json(path, &mut out);
    if written.is_ok() {
        written = out.write_all(b"\n").map_err(|error| binio::Error::from(error).into());
    }
    let fail = |error| Failure::dudley(of_file, error);
    out.finish(written, fail, Failure::from).map(|()| Verdict::Fine)
}

/// Prints the readable rows with their values, and then the first errors in the unreadable rows.
pub(super) fn dump(command: &Dump, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    let options = options(&command.described, output)?;
    let mut dumped = Dumped::new(output.json, command.full);
    let stopped = if is_in_order(path, &command.described, &options) {
        let mut failed = None;
        let read = options.read_in_order(io::stdin(), None, |file, row| {
            failed = dumped.row(file, row).err();
            Ok(if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        });
        failed.map_or(Ok(()), Err)?;
        read.err()
    } else {
        let file = open_with(path, &options, output)?;
        for &row in file.table().rows() {
            dumped.row(&file, row)?;
        }
        file.stopped().cloned()
    };
    dumped.finish(path, stopped.as_ref(), output)
}

/// The output of `dump`, and the errors in the rows so far.
struct Dumped {
    out: Sink<Box<dyn Write>>,
    json: bool,
    /// Whether to print all elements of large arrays.
    full: bool,
    errors: Vec<dudley::Error>,
    /// The total number of errors. `errors` contains only the first ones.
    count: usize,
}

impl Dumped {
    fn new(json: bool, full: bool) -> Self {
        Self { out: Sink::new(Box::new(text_out())), json, full, errors: Vec::new(), count: 0 }
    }

    fn row(&mut self, file: &File, row: Row) -> Result<(), Failure> {
        let dumped = if self.json {
            dump_json(file, row, &mut self.out)
        } else {
            dump_text(file, row, self.full, &mut self.out)
        };
        if let Err(error) = dumped {
            if let Some(failed) = self.out.failed() {
                return Err(failed.into());
            }
            self.count += 1;
            if self.errors.len() < MAX_ERRORS {
                self.errors.push(error);
            }
        }
        Ok(())
    }

    fn finish(
        mut self,
        path: &Path,
        stopped: Option<&dudley::Error>,
        output: Output,
    ) -> Result<Verdict, Failure> {
        self.out.flush()?;
        let more = self.count - self.errors.len();
        let mut worst = Verdict::Fine;
        for error in self.errors.into_iter().chain(stopped.cloned()) {
            let is_io = error.io_error().is_some();
            let failure = Failure::dudley(path, error);
            failure.show(output);
            worst = worst.max(match failure.verdict() {
                // Treat a row that cannot be located in this file as a finding, not as a failure.
                Verdict::Failed if !is_io => Verdict::Found,
                verdict => verdict,
            });
        }
        if more > 0 {
            output.fail(&format_args!("{}: {}", name(path), count(more, "more error")));
        }
        Ok(worst)
    }
}

/// Returns the array of a row, or `None` if the row can be read but its instances differ in size.
/// Fails if the row cannot be read, so that callers find this out before they print anything.
fn readable(file: &File, row: Row) -> Result<Option<Array>, dudley::Error> {
    match file.array_of(row) {
        Ok(array) => Ok(Some(array)),
        Err(error) if !file.table().entry(row).is_indeterminate() => Err(error),
        Err(_) => file.write_row_json(row, &mut io::sink()).map(|()| None),
    }
}

fn of_output(error: io::Error) -> dudley::Error {
    binio::Error::from(error).into()
}

fn dump_json(file: &File, row: Row, out: &mut dyn Write) -> Result<(), dudley::Error> {
    let entry = file.table().entry(row);
    let array = readable(file, row)?;
    let shape = Value::from(&entry.shape()[..]);
    let head = json!({"path": entry.path(), "dtype": entry.dtype(), "shape": shape}).to_string();
    let head = head.strip_suffix('}').unwrap_or_default();
    write_text(out, &format!("{head},\"value\":")).map_err(of_output)?;
    match array {
        Some(array) => array.write_elements(out, PrintStyle::Json, None)?,
        None => file.write_row_json(row, out)?,
    }
    out.write_all(b"}\n").map_err(of_output)
}

fn dump_text(file: &File, row: Row, full: bool, out: &mut dyn Write) -> Result<(), dudley::Error> {
    let entry = file.table().entry(row);
    let array = readable(file, row)?;
    let dims: Vec<String> = entry.shape().iter().map(ToString::to_string).collect();
    let dims = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) };
    let (path, dtype) = (one_line(&entry.path()), one_line(&entry.dtype()));
    write!(out, "{path} = {dtype}{dims}").map_err(of_output)?;
    match array {
        Some(array) if array.shape().len() > 1 || array.len() > 10 => {
            out.write_all(b"\n").map_err(of_output)?;
            let mut out = Indented { out, at_start: true };
            if full {
                array.write_elements(&mut out, PrintStyle::Text, None)?;
            } else {
                array.write_summary(&mut out, None)?;
            }
        }
        Some(array) => {
            out.write_all(b"  ").map_err(of_output)?;
            array.write_summary(out, None)?;
            if array.is_empty() {
                out.write_all(b"\n").map_err(of_output)?;
            }
        }
        None => {
            out.write_all(b"  ").map_err(of_output)?;
            file.write_row_json(row, out)?;
            out.write_all(b"\n").map_err(of_output)?;
        }
    }
    Ok(())
}

/// Writes JSON text, but escapes the control characters from U+007F to U+009F, as in the elements
/// of arrays.
fn write_text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    for character in text.chars() {
        match u32::from(character) {
            code @ 0x7f..=0x9f => write!(out, "\\u{code:04x}")?,
            _ => write!(out, "{character}")?,
        }
    }
    Ok(())
}

/// A writer that indents each line.
struct Indented<'w> {
    out: &'w mut dyn Write,
    at_start: bool,
}

impl Write for Indented<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.at_start && line != b"\n" {
                self.out.write_all(b"    ")?;
            }
            self.out.write_all(line)?;
            self.at_start = line.ends_with(b"\n");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Prints the text of an appended layout, or writes it to a file.
pub(super) fn extract_layout(command: &ExtractLayout, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    let _lock = match &command.output {
        Some(target) => output_file::lock(target, command.force)?,
        None => None,
    };
    let file = source(path)?;
    let text =
        dudley::file::appended_layout(&file).map_err(|error| Failure::dudley(path, error))?;
    let Some(target) = &command.output else {
        let mut out = BufWriter::new(io::stdout().lock());
        out.write_all(&text)?;
        return Ok(out.flush().map(|()| Verdict::Fine)?);
    };
    let body = |out: &mut dyn Write| out.write_all(&text);
    output_file::write(target, command.force, body, |error| Failure::io(target, error))?;
    super::report_size(target, text.len(), output)?;
    Ok(Verdict::Fine)
}
