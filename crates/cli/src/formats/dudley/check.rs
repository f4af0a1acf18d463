//! `scibin dudley check` and `scibin verify`: check layouts and native files, and report their
//! problems.

use std::path::Path;

use dudley::Source;
use dudley::diagnostic::{Diagnostic, Severity};
use dudley::file::{VerifyOptions, VerifyReport};
use serde_json::{Value, json};

use super::{data, is_native, judging, read, show_all};
use crate::arguments::dudley::Check;
use crate::failure::{Failure, name};
use crate::output::{Output, count, print_json};
use crate::{Verdict, each};

pub(super) fn check(command: &Check, output: Output) -> Result<Verdict, Failure> {
    let options = VerifyOptions::new().parse(judging(&command.judging)?);
    each(&command.layouts, output, |path| print(path, &of_layout(path, &options)?, output))
}

/// Checks a layout, or a native file with its layout.
pub(crate) fn verify(path: &Path, output: Output) -> Result<Verdict, Failure> {
    print(path, &report(path)?, output)
}

/// Returns the report on a layout or a native file.
pub(super) fn report(path: &Path) -> Result<VerifyReport, Failure> {
    let options = VerifyOptions::new().name(name(path));
    if !is_native(path)? {
        return of_layout(path, &options);
    }
    let file = data::source(path)?;
    dudley::file::verify(&file, &options).map_err(|error| Failure::dudley(path, error))
}

fn of_layout(path: &Path, options: &VerifyOptions) -> Result<VerifyReport, Failure> {
    let source = Source::decode_named(read(path)?, name(path));
    let source = source.map_err(|error| Failure::dudley(path, error))?;
    Ok(options.verify_layout(source))
}

fn print(path: &Path, report: &VerifyReport, output: Output) -> Result<Verdict, Failure> {
    let name = name(path);
    let verdict = verdict_on(&report.diagnostics);
    let is_signature_only = report.is_signature_only();
    if output.json {
        print_json(&report_json(path, report))?;
        return Ok(verdict);
    }
    if verdict != Verdict::Fine || !output.quiet {
        show_all(&report.diagnostics, &report.source);
        let rest = if is_signature_only {
            "; the layout is in another file, so only the signature was checked"
        } else {
            ""
        };
        let errors = count(report.errors(), "error");
        let of = |severity| report.diagnostics.iter().filter(move |one| one.severity == severity);
        let warnings = count(of(Severity::Warning).count() as u64, "warning");
        let notes = count(of(Severity::Note).count() as u64, "note");
        output.result(&format_args!("{name}: {errors}, {warnings}, {notes}{rest}"))?;
    }
    Ok(verdict)
}

/// Returns the report on a layout or a native file as JSON.
pub(super) fn report_json(path: &Path, report: &VerifyReport) -> Value {
    let mut object = json!({
        "file": path.display().to_string(), "format": "dudley",
        "ok": verdict_on(&report.diagnostics) == Verdict::Fine,
        "errors": report.errors(), "diagnostics": report.diagnostics,
    });
    if report.is_signature_only() {
        object["checked"] = "signature".into();
    }
    object
}

/// Returns `Found` if the diagnostics include an error.
pub(super) fn verdict_on(found: &[Diagnostic]) -> Verdict {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    if found.iter().any(is_error) { Verdict::Found } else { Verdict::Fine }
}
