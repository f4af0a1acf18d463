//! `scibin dudley check` and `scibin verify`: report what is wrong with layouts and native files.

use std::path::Path;

use dudley::{Diagnostic, Severity, Source, VerifyOptions, VerifyReport};
use serde_json::json;

use super::{data, is_native, judging, name, read, show, show_all, verdict_of};
use crate::arguments::dudley::Check;
use crate::failure::Failure;
use crate::output::{Output, print_json};
use crate::{Verdict, each};

pub(super) fn check(command: &Check, output: Output) -> Result<Verdict, Failure> {
    let options = VerifyOptions::new().parse(judging(&command.judging)?);
    each(&command.layouts, output, |path| print(path, &of_layout(path, &options)?, output))
}

/// Checks a layout, or a native file with its layout.
pub(crate) fn verify(path: &Path, output: Output) -> Result<Verdict, Failure> {
    print(path, &report(path)?, output)
}

/// The report on a layout or a native file.
pub(super) fn report(path: &Path) -> Result<Result<VerifyReport, dudley::Error>, Failure> {
    let options = VerifyOptions::new().name(name(path));
    if !is_native(path)? {
        return of_layout(path, &options);
    }
    let file = data::source(path)?;
    Ok(dudley::verify(&file, &options))
}

fn of_layout(
    path: &Path,
    options: &VerifyOptions,
) -> Result<Result<VerifyReport, dudley::Error>, Failure> {
    let source = Source::decode_named(read(path)?, name(path));
    Ok(source.map(|source| options.verify_layout(source)))
}

fn print(
    path: &Path,
    report: &Result<VerifyReport, dudley::Error>,
    output: Output,
) -> Result<Verdict, Failure> {
    let name = name(path);
    let (found, source, verdict) = match report {
        Ok(report) => {
            (json!(report.diagnostics), Some(&report.source), verdict_on(&report.diagnostics))
        }
        Err(error) if error.diagnostics().is_some() => {
            (json!(error.diagnostics()), None, Verdict::Found)
        }
        Err(error) => {
            let found = json!([{"severity": "error", "message": error.to_string()}]);
            (found, None, verdict_of(error))
        }
    };
    let is_signature_only = report.as_ref().is_ok_and(VerifyReport::is_signature_only);
    if output.json {
        let errors = found.as_array().into_iter().flatten();
        let errors = errors.filter(|found| found["severity"] == "error").count();
        let mut object = json!({
            "file": name, "format": "dudley", "ok": verdict == Verdict::Fine, "errors": errors,
            "diagnostics": found,
        });
        if is_signature_only {
            object["checked"] = "signature".into();
        }
        print_json(&object)?;
        return Ok(verdict);
    }
    match (report, source) {
        (Ok(report), Some(source)) if verdict != Verdict::Fine || !output.quiet => {
            show_all(&report.diagnostics, source);
            let (errors, all) = (report.errors(), report.diagnostics.len());
            let rest = if is_signature_only {
                "; the layout is in another file, only the signature is checked"
            } else {
                ""
            };
            output.result(&format_args!(
                "{name}: {errors} errors, {} warnings and notes{rest}",
                all - errors
            ))?;
        }
        (Err(error), _) => show(error, &name),
        _ => {}
    }
    Ok(verdict)
}

/// The outcome of a command that found these diagnostics.
pub(super) fn verdict_on(found: &[Diagnostic]) -> Verdict {
    let is_error = |found: &Diagnostic| found.severity == Severity::Error;
    if found.iter().any(is_error) { Verdict::Found } else { Verdict::Fine }
}
