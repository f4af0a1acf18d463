//! `scibin get`: prints a value from the JSON of an archive.

use std::io::Write;

use flux_archive::parse::value_at;

use super::source::Source;
use crate::Verdict;
use crate::arguments::GetRequest;
use crate::arguments::flux::Reading;
use crate::failure::{Failure, name};
use crate::output::{Output, text_out};

pub(crate) fn get(request: &GetRequest, output: Output) -> Result<Verdict, Failure> {
    let path = &request.file;
    if request.array.needs_array() {
        let message = "Flux archives do not contain arrays: `scibin flux cat` and \
                       `scibin flux extract` read their files";
        return Err(Failure::other(name(path), message));
    }
    let source = Source::of_file(path, &Reading::default())?;
    let pointer = request.pointer.as_deref().unwrap_or_default();
    let value = value_at(&source.document, pointer).map_err(|error| source.failure(error))?;
    let mut out = text_out();
    // Print a string without quotes, unless JSON is requested.
    match serde_json::from_str::<String>(value) {
        Ok(text) if !request.array.is_json(output.json) => writeln!(out, "{text}")?,
        _ => writeln!(out, "{value}")?,
    }
    out.flush()?;
    Ok(Verdict::Fine)
}
