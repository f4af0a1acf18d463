//! `scibin get`: prints or extracts the array, a part of it, or a value from the metadata.

use std::io::{self, Write};

use bloscpack::array::{Array, Slice};
use bloscpack::format::MetadataError;
use bloscpack::{ErrorKind, Reader, UnpackOptions};
use serde_json::Value;

use super::info::dtype_json;
use crate::Verdict;
use crate::arguments::GetRequest;
use crate::arguments::bloscpack::{Reading, Threads};
use crate::failure::{Failure, name};
use crate::output::print::Elements;
use crate::output::progress::Progress;
use crate::output::{Output, print_json, text_out};

pub(crate) fn get(
    request: &GetRequest,
    reading: Reading,
    output: Output,
) -> Result<Verdict, Failure> {
    let path = &request.file;
    let file = super::open(path, &reading.options())?;
    super::remark_damage(path, &file, output);
    let Some(pointer) = &request.pointer else {
        let array = file.array().map_err(|error| Failure::bloscpack(path, error))?;
        return get_array(&array, request, output);
    };
    if request.array.needs_array() {
        let message = "a pointer selects metadata: omit the pointer to get the array";
        return Err(Failure::other(name(path), message));
    }
    super::remark_rounded(path, &file, output);
    let value = metadata(&file).map_err(|error| Failure::bloscpack(path, error))?;
    let value = value.pointer(pointer).ok_or_else(|| missing(request, pointer))?;
    print_value(value, request.array.is_json(output.json))?;
    Ok(Verdict::Fine)
}

fn get_array(array: &Array<'_>, request: &GetRequest, output: Output) -> Result<Verdict, Failure> {
    let fail = |error| Failure::bloscpack(&request.file, error);
    let slices = request.array.slice.as_deref().map_or(Ok(Vec::new()), Slice::parse);
    let slices = slices.map_err(|error| Failure::other("--slice", error.to_string()))?;
    let array = array.slice(&slices).map_err(fail)?;
    let is_quiet = output.quiet || request.array.output.is_none();
    let progress = Progress::new(array.info().byte_size(), is_quiet);
    let add = |bytes| progress.add(bytes);
    let options = super::unpack::decoding(Threads::default()).progress(&add);
    with_elements(&array, &options, |elements| elements.write(request, output, fail))?;
    Ok(Verdict::Fine)
}

/// Calls `body` with the [`Elements`] of an array: its type, its shape, and the functions that
/// write it.
pub(super) fn with_elements<R>(
    array: &Array<'_>,
    options: &UnpackOptions<'_>,
    body: impl FnOnce(&Elements<'_, bloscpack::Error>) -> R,
) -> R {
    body(&Elements {
        dtype: dtype_json(array.datatype()),
        shape: array.shape(),
        write: &|out, style| array.write_elements(out, style),
        write_summary: &|out| array.write_summary(out),
        write_npy: &|part, out| array.slice(part)?.write_npy(out, options),
        missing: &|_| Ok(None),
    })
}

/// Returns the metadata as JSON. Fails if the file has no metadata.
pub(crate) fn metadata(file: &Reader) -> bloscpack::Result<Value> {
    match file.metadata()? {
        Some(metadata) => metadata.json(),
        None => Err(ErrorKind::Metadata(MetadataError::Absent).into()),
    }
}

fn missing(request: &GetRequest, pointer: &str) -> Failure {
    let place = format!("{} {pointer}", name(&request.file));
    Failure::other(place, "no metadata at this pointer")
}

/// Prints a value. A string is printed without quotes, unless JSON was requested.
pub(super) fn print_value(value: &Value, json: bool) -> io::Result<()> {
    match value {
        Value::String(text) if !json => {
            let mut out = text_out();
            writeln!(out, "{text}")?;
            out.flush()
        }
        _ => print_json(value),
    }
}
