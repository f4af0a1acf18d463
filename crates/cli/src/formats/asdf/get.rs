//! `scibin get`: one node as text or JSON, or one array as `.npy`.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use asdf::json::Options;
use asdf::ndarray::Slice;
use asdf::{NdArray, Node, Verify};

use crate::Verdict;
use crate::arguments::GetRequest;
use crate::arguments::asdf::Reading;
use crate::failure::Failure;
use crate::goal;
use crate::output::{Output, Sink};
use crate::print;
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
    let file = options.open(&request.file).map_err(|error| Failure::asdf(&request.file, error))?;
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
        if let Some(target) = &request.output {
            write_npy(&array, target, request, output)?;
            if array.is_masked() {
                let file = request.file.display();
                output
                    .remark(&format_args!("{file}: .npy has no masks: all elements were written"));
            }
        } else {
            let dtype = array.datatype().descr_json();
            let write = |out: &mut dyn Write, style| array.write_elements(out, style);
            print::array(&dtype, array.shape(), output.json, write, fail)?;
        }
    } else {
        if request.slice.is_some() || request.output.is_some() {
            let place = format!("{} {}", request.file.display(), pointer);
            return Err(Failure::other(
                place,
                "not an array; only arrays have slices and .npy files",
            ));
        }
        print_node(node, request, output)?;
    }
    super::remark(&request.file, &file, output);
    Ok(Verdict::Fine)
}

fn write_npy(
    array: &NdArray<'_>,
    target: &Path,
    request: &GetRequest,
    output: Output,
) -> Result<(), Failure> {
    let progress =
        Progress::new(array.len().saturating_mul(array.datatype().itemsize()), output.quiet);
    goal::write(
        target,
        request.force,
        |out| array.write_npy(&mut progress.writer(out)),
        |error| Failure::asdf(&request.file, error),
    )
}

fn print_node(node: Node<'_>, request: &GetRequest, output: Output) -> Result<(), Failure> {
    let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
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
