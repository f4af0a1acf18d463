//! `scibin get`: one node as text or JSON, or one array as `.npy`.

use std::io::Write;

use asdf::json::Options;
use asdf::ndarray::Slice;
use asdf::{NdArray, Node, Verify};

use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::arguments::{Form, GetRequest};
use crate::failure::Failure;
use crate::output::{Output, Sink, text_out};
use crate::print::Elements;
use crate::progress::Progress;

pub(crate) fn get(
    request: &GetRequest,
    no_verify: bool,
    reading: &Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let mut options = super::options(reading);
    if no_verify {
        options = options.verify(Verify::Never);
    } else if request.slice.is_none() && !reading.salvage {
        options = options.verify(Verify::OnRead);
    }
    let file = super::open_by(&options, &request.file)?;
    let fail = |error| Failure::asdf(&request.file, error);
    let pointer = request.pointer.as_deref().unwrap_or_default();
    let node = file.tree().and_then(|root| root.pointer(pointer)).map_err(fail)?;
    if node.is_ndarray() {
        let mut array = node.ndarray().map_err(fail)?;
        if let Some(text) = &request.slice {
            let slices =
                Slice::parse(text).map_err(|error| Failure::other("--slice", error.to_string()))?;
            array = array.slice(&slices).map_err(fail)?;
        }
        write_array(&array, request, output)?;
    } else {
        if request.slice.is_some() || request.output.is_some() {
            let place = format!("{} {}", request.file.display(), pointer);
            return Err(Failure::other(
                place,
                "not an array; only arrays have slices and are written to files",
            ));
        }
        print_node(node, request, output)?;
    }
    super::remark(&request.file, &file, output);
    Ok(Verdict::Fine)
}

fn write_array(array: &NdArray<'_>, request: &GetRequest, output: Output) -> Result<(), Failure> {
    let form = request.form(output.json);
    let is_quiet = output.quiet || request.output.is_none();
    let progress = Progress::new(array.len().saturating_mul(array.datatype().itemsize()), is_quiet);
    let elements = Elements {
        dtype: array.datatype().descr_json(),
        shape: array.shape(),
        write: &|out, style| array.write_elements(out, style),
        write_npy: &|out| array.write_npy(&mut progress.writer(out)),
    };
    elements.write(request, output, |error| Failure::asdf(&request.file, error))?;
    if array.is_masked() && matches!(form, Form::Npy | Form::Raw) {
        let file = request.file.display();
        output.remark(&format_args!("{file}: .npy has no masks: all elements were written"));
    }
    Ok(())
}

fn print_node(node: Node<'_>, request: &GetRequest, output: Output) -> Result<(), Failure> {
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
    out.finish(written, |error| Failure::asdf(&request.file, error), Failure::from)
}
