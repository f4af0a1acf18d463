//! `scibin get`: one node as text or JSON, or one array as `.npy`.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use asdf::json::Options;
use asdf::ndarray::Slice;
use asdf::{NdArray, Node};
use binio::AtomicFile;

use super::print;
use crate::Verdict;
use crate::arguments::{NodeRequest, Reading};
use crate::failure::Failure;
use crate::output::{Output, Sink, say};
use crate::progress::Progress;

pub(crate) fn get(
    request: &NodeRequest,
    reading: &Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let file = super::open(&request.file, reading)?;
    let fail = |error| Failure::asdf(&request.file, error);
    let node = file.tree().and_then(|root| root.pointer(&request.pointer)).map_err(fail)?;
    if node.is_ndarray() {
        let mut array = node.ndarray().map_err(fail)?;
        if let Some(text) = &request.slice {
            let slices =
                Slice::parse(text).map_err(|error| Failure::other("--slice", error.to_string()))?;
            array = array.slice(&slices).map_err(fail)?;
        }
        match &request.output {
            Some(goal) => {
                write_npy(&array, goal, request, output)?;
                if array.is_masked() && !output.quiet {
                    let file = request.file.display();
                    say(&format_args!("{file}: .npy has no masks: all elements were written"));
                }
            }
            None => print::array(&array, output.json).map_err(|error| error.of(&request.file))?,
        }
    } else {
        if request.slice.is_some() || request.output.is_some() {
            let place = format!("{} {}", request.file.display(), request.pointer);
            return Err(Failure::other(
                place,
                "no array, and only arrays have slices and .npy files",
            ));
        }
        print_node(node, request, output)?;
    }
    super::remark(&request.file, &file, output);
    Ok(Verdict::Fine)
}

fn write_npy(
    array: &NdArray<'_>,
    goal: &Path,
    request: &NodeRequest,
    output: Output,
) -> Result<(), Failure> {
    let progress = Progress::new(array.len().saturating_mul(array.dtype().size()), output.quiet);
    if goal == Path::new("-") {
        let mut out = Sink::new(progress.writer(io::stdout().lock()));
        let written = array.write_npy(&mut out);
        return out.finish(written, &request.file, Failure::from);
    }
    let mut out = AtomicFile::create(goal)
        .map_err(|error| Failure::other(goal.display(), error.to_string()))?;
    let mut sink = Sink::new(progress.writer(&mut out));
    let written = array.write_npy(&mut sink);
    sink.finish(written, &request.file, |error| Failure::io(goal, error))?;
    out.commit().map_err(|error| Failure::other(goal.display(), error.to_string()))
}

fn print_node(node: Node<'_>, request: &NodeRequest, output: Output) -> Result<(), Failure> {
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
    out.finish(written, &request.file, Failure::from)
}
