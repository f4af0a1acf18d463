//! `scibin get`: prints a node as text or JSON, or writes an array, for example as `.npy`.

use std::io::{BufWriter, Write};

use asdf::ndarray::Slice;
use asdf::tree::Target;
use asdf::tree::json::Options;
use asdf::{NdArray, Node, Verify};

use super::arrays::with_elements;
use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::arguments::{ArrayOutput, Form, GetRequest};
use crate::failure::{Failure, name};
use crate::output::file as output_file;
use crate::output::progress::Progress;
use crate::output::{Output, Sink, text_out};

pub(crate) fn get(
    request: &GetRequest,
    no_verify: bool,
    reading: &Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let mut options = super::options(reading);
    if no_verify {
        options = options.verify(Verify::Never);
    } else if request.array.slice.is_none() && !reading.salvage {
        options = options.verify(Verify::OnRead);
    }
    let file = super::open_by(&options, &request.file)?;
    let pointer = request.pointer.as_deref().unwrap_or_default();
    let fail = |error| super::at_pointer(&request.file, pointer, error);
    let mut verdict = Verdict::Fine;
    match array_at(file.tree().map_err(fail)?, pointer).map_err(fail)? {
        Ok(mut array) => {
            if let Some(text) = &request.array.slice {
                let slices = Slice::parse(text)
                    .map_err(|error| Failure::other("--slice", error.to_string()))?;
                array = array.slice(&slices).map_err(fail)?;
            }
            if reading.salvage {
                let (part, missing) = available(&array).map_err(fail)?;
                array = part;
                if let Some(missing) = missing {
                    let file = name(&request.file);
                    output.say(&format_args!("{file}: {pointer}: {missing}"));
                    verdict = Verdict::Found;
                }
            }
            write_array(&array, request, output, fail)?;
        }
        Err(node) if node.is_table() && is_wanted_as_table(request) => {
            write_table(node, request, output, fail)?;
        }
        Err(node) => {
            if request.array.needs_array() {
                let place = format!("{} {}", name(&request.file), pointer);
                let message = if request.array.picture.is_wanted() {
                    "expected an array: only arrays can be drawn"
                } else {
                    "expected an array or a table: no other value can be sliced, written with -o, \
                     or printed as npy, csv or raw"
                };
                return Err(Failure::other(place, message));
            }
            print_node(node, request.array.is_json(output.json), fail)?;
        }
    }
    super::remark(&request.file, &file, output);
    Ok(verdict)
}

/// Returns the array at a pointer or, if the node is not an array, the node.
fn array_at<'a>(root: Node<'a>, pointer: &str) -> asdf::Result<Result<NdArray<'a>, Node<'a>>> {
    Ok(match root.find(pointer)? {
        Target::Node(node) if node.is_ndarray() => Ok(node.ndarray()?),
        Target::Node(node) => Err(node),
        Target::Array(array) => Ok(*array),
        _ => Err(root),
    })
}

/// Returns `true` if the options request the rows of a table rather than its node.
fn is_wanted_as_table(request: &GetRequest) -> bool {
    let ArrayOutput { slice, output, form, .. } = &request.array;
    slice.is_some() || output.is_some() || form.is_some()
}

fn write_table(
    node: Node<'_>,
    request: &GetRequest,
    output: Output,
    fail: impl Fn(asdf::Error) -> Failure,
) -> Result<(), Failure> {
    let mut table = node.table().map_err(&fail)?;
    if let Some(text) = &request.array.slice {
        let slices =
            Slice::parse(text).map_err(|error| Failure::other("--slice", error.to_string()))?;
        table = table.slice(&slices).map_err(|error| Failure::other("--slice", error))?;
    }
    let is_json = match (request.array.form(output.json), &request.array.output) {
        (Form::Csv, _) => false,
        (Form::Json, _) => true,
        (Form::Text, None) if request.array.form.is_none() => false,
        _ => {
            let message = "a table can only be written as CSV or JSON; a single column, such as \
                           POINTER/NAME, can be written in any form";
            return Err(Failure::other(name(&request.file), message));
        }
    };
    let write =
        |out: &mut dyn Write| if is_json { table.write_json(out) } else { table.write_csv(out) };
    if let Some(target) = &request.array.output {
        let body = |out: &mut dyn Write| {
            let mut out = BufWriter::new(out);
            write(&mut out)?;
            Ok(out.flush()?)
        };
        output_file::write(target, request.array.force, body, &fail)?;
    } else {
        let mut out = Sink::new(text_out());
        let written = write(&mut out);
        out.finish(written, &fail, Failure::from)?;
    }
    for column in table.omitted() {
        let file = name(&request.file);
        output.remark(&format_args!("{file}: omitted the column {column}, which is not an array"));
    }
    Ok(())
}

/// Returns the rows of an array that are present in the file, and a message if any rows are
/// missing.
fn available<'a>(array: &NdArray<'a>) -> asdf::Result<(NdArray<'a>, Option<String>)> {
    let rows = array.available()?;
    let count = array.shape().first().copied().unwrap_or(1);
    if rows == (0..count) {
        return Ok((array.clone(), None));
    }
    let position = |row| Some(i64::try_from(row).unwrap_or(i64::MAX));
    let slice = Slice::Range { start: position(rows.start), stop: position(rows.end), step: 1 };
    let part = if array.shape().is_empty() { array.clone() } else { array.slice(&[slice])? };
    let of = crate::output::count(count, "row");
    let message = format!("the file contains only rows {}..{} of {of}", rows.start, rows.end);
    Ok((part, Some(message)))
}

fn write_array(
    array: &NdArray<'_>,
    request: &GetRequest,
    output: Output,
    fail: impl Fn(asdf::Error) -> Failure,
) -> Result<(), Failure> {
    let form = request.array.form(output.json);
    let is_quiet = output.quiet || request.array.output.is_none();
    let progress = Progress::new(array.len().saturating_mul(array.datatype().itemsize()), is_quiet);
    with_elements(array, &progress, |elements| elements.write(request, output, fail))?;
    if array.is_masked() && matches!(form, Form::Npy | Form::Raw) {
        let file = name(&request.file);
        output.remark(&format_args!(
            "{file}: masked elements were written as well, because this form does not support masks"
        ));
    }
    Ok(())
}

fn print_node(
    node: Node<'_>,
    json: bool,
    fail: impl Fn(asdf::Error) -> Failure,
) -> Result<(), Failure> {
    let mut out = Sink::new(text_out());
    let written = match node.text() {
        Some(text) if !json => {
            out.write_all(text.as_bytes())?;
            Ok(())
        }
        _ => node.write_json(&mut out, &Options::default()),
    };
    if written.is_ok() {
        out.write_all(b"\n")?;
    }
    out.finish(written, fail, Failure::from)
}
