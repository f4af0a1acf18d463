//! `scibin verify`: checks a file and reports its problems.

use std::io;
use std::path::Path;

use bloscpack::diagnostic::{Code, Diagnostic, Severity};
use bloscpack::{VerifyOptions, VerifyReport};
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::bloscpack::Verifying;
use crate::failure::{Failure, name};
use crate::hint;
use crate::output::progress::Progress;
use crate::output::{Output, count, print_found, print_json, size};

pub(crate) fn verify(path: &Path, how: Verifying, output: Output) -> Result<Verdict, Failure> {
    let checked = check(path, how, output);
    let Checked { report, len } = checked.map_err(|error| Failure::bloscpack(path, error))?;
    if output.json {
        print_json(&report_json(path, &report, len, !how.quick))?;
    } else {
        print(path, &report, len, output)?;
    }
    Ok(if report.passed() { Verdict::Fine } else { Verdict::Found })
}

/// Verifies a file completely, and returns the report as JSON.
pub(super) fn verification(path: &Path, output: Output) -> Result<Value, Failure> {
    let checked = check(path, Verifying::default(), output);
    let Checked { report, len } = checked.map_err(|error| Failure::bloscpack(path, error))?;
    Ok(report_json(path, &report, len, true))
}

fn report_json(path: &Path, report: &VerifyReport, len: u64, is_decoded: bool) -> Value {
    json!({
        "file": path.display().to_string(), "format": "bloscpack", "ok": report.passed(),
        "chunks": report.chunks, "nbytes": len, "decoded": is_decoded, "diagnostics": report.diagnostics,
    })
}

/// The result of verifying a file. `len` is the length of the data in bytes, or 0 if the file
/// cannot be opened.
struct Checked {
    report: VerifyReport,
    len: u64,
}

fn check(path: &Path, how: Verifying, output: Output) -> bloscpack::Result<Checked> {
    let opening = how.opening.options().ignore_metadata(true);
    let options = VerifyOptions::new().deep(!how.quick);
    let options = match how.threads.threads {
        Some(threads) => options.threads(threads.into()),
        None => options,
    };
    let file = match super::try_open(path, &opening) {
        Ok(file) => file,
        Err(error) => {
            let report = VerifyReport::of_opening(error)?;
            return Ok(Checked { report, len: 0 });
        }
    };
    let progress = Progress::new(file.len(), output.quiet);
    let add = |bytes| progress.add(bytes);
    let report = bloscpack::verify(&file, &options.progress(&add))?;
    Ok(Checked { report, len: file.len() })
}

/// Prints notes as remarks on standard error, and all other diagnostics on standard output.
fn print(path: &Path, report: &VerifyReport, len: u64, output: Output) -> io::Result<()> {
    let is_note = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Note;
    let (notes, damage): (Vec<_>, Vec<_>) = report.diagnostics.iter().partition(is_note);
    for diagnostic in &damage {
        print_found(&name(path), diagnostic)?;
    }
    let is_recoverable = |diagnostic: &&Diagnostic| {
        matches!(
            diagnostic.code,
            Code::BadChunk | Code::Truncated | Code::OffsetMismatch | Code::SizeMismatch
        )
    };
    if damage.iter().any(is_recoverable) {
        output.hint(&hint::BLOSCPACK_RECOVER);
    }
    if damage.is_empty() {
        let (file, chunks, len) = (name(path), count(report.chunks, "chunk"), size(len));
        output.result(&format_args!("{file}: fine, {chunks} of {len} checked"))?;
    }
    for note in notes {
        output.remark(&format_args!("{}: {note}", name(path)));
    }
    Ok(())
}
