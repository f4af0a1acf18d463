//! `scibin dudley fmt`: formats layouts.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use dudley::{ParseOptions, Source};
use serde_json::json;

use super::read;
use crate::arguments::dudley::Fmt;
use crate::failure::{Failure, name};
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, print_json};
use crate::{Verdict, each};

pub(super) fn fmt(command: &Fmt, output: Output) -> Result<Verdict, Failure> {
    each(&command.layouts, output, |path| one(path, command.check, output))
}

fn one(path: &Path, is_check: bool, output: Output) -> Result<Verdict, Failure> {
    // Reject anything but a regular file: nothing else can be replaced, and reading a pipe would
    // wait for its writer.
    if !is_standard(path) && fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Failure::other(path.display(), "not a regular file"));
    }
    let _lock = output_file::lock(path, !is_check)?;
    let (bytes, name) = (read(path)?, name(path));
    let source = Source::decode_named(&bytes, &*name);
    let formatted = source.and_then(|source| ParseOptions::new().format_source(source));
    let formatted = formatted.map_err(|error| Failure::dudley(path, error))?;
    let changed = formatted.as_bytes() != bytes;
    let mut json = json!({
        "file": path.display().to_string(), "format": "dudley", "ok": !(is_check && changed),
        "changed": changed, "diagnostics": [],
    });
    if is_check {
        if changed && !output.json {
            output.result(&format_args!("{name}: not formatted"))?;
        }
    } else if is_standard(path) {
        if output.json {
            json["text"] = formatted.into();
        } else {
            io::stdout().lock().write_all(formatted.as_bytes())?;
        }
    } else if changed {
        let body = |out: &mut dyn Write| out.write_all(formatted.as_bytes());
        output_file::write(path, true, body, |error| Failure::io(path, error))?;
        if !output.json {
            output.result(&format_args!("{name}: formatted"))?;
        }
    }
    if output.json {
        print_json(&json)?;
    }
    Ok(if is_check && changed { Verdict::Found } else { Verdict::Fine })
}
