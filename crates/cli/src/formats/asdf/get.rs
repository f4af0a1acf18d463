//! `scibin get`: one node as text or JSON, or one array as `.npy`.

use std::io::Write;

use asdf::ndarray::Slice;
use asdf::tree::Target;
use asdf::tree::json::Options;
use asdf::{NdArray, Node, Verify};

use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::arguments::{Form, GetRequest};
use crate::failure::Failure;
use crate::output::print::Elements;
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
                    let file = request.file.display();
                    output.say(&format_args!("{file}: {pointer}: {missing}"));
                    verdict = Verdict::Found;
                }
            }
            write_array(&array, request, output, fail)?;
        }
        Err(node) => {
            if request.array.slice.is_some() || request.array.output.is_some() {
                let place = format!("{} {}", request.file.display(), pointer);
                let message = "not an array; only arrays have slices and are written to files";
                return Err(Failure::other(place, message));
            }
            print_node(node, output, fail)?;
        }
    }
    super::remark(&request.file, &file, output);
    Ok(verdict)
}

/// The array that a pointer leads to, or else the node.
fn array_at<'a>(root: Node<'a>, pointer: &str) -> asdf::Result<Result<NdArray<'a>, Node<'a>>> {
    Ok(match root.find(pointer)? {
        Target::Node(node) if node.is_ndarray() => Ok(node.ndarray()?),
        Target::Node(node) => Err(node),
        Target::Array(array) => Ok(*array),
        _ => Err(root),
    })
}

/// The rows of an array that are in the file, and which are not.
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
    let message = format!("of {of}, {}..{} are in the file", rows.start, rows.end);
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
    let elements = Elements {
        dtype: array.datatype().descr_json(),
        shape: array.shape(),
        write: &|out, style| array.write_elements(out, style),
        write_summary: &|out| array.write_summary(out),
        write_npy: &|out| array.write_npy(&mut progress.writer(out)),
    };
    elements.write(request, output, fail)?;
    if array.is_masked() && matches!(form, Form::Npy | Form::Raw) {
        let file = request.file.display();
        output.remark(&format_args!("{file}: .npy has no masks: all elements were written"));
    }
    Ok(())
}

fn print_node(
    node: Node<'_>,
    output: Output,
    fail: impl Fn(asdf::Error) -> Failure,
) -> Result<(), Failure> {
    let mut out = Sink::new(text_out());
    let written = match node.text() {
        Some(text) if !output.json => {
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
