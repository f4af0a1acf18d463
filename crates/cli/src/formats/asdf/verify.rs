//! `scibin verify`: checks a file and reports its problems.

use std::io;
use std::path::Path;

use asdf::Asdf;
use asdf::block::ChecksumVerdict;
use asdf::inspect::{VerifyOptions, VerifyReport};
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::failure::{Failure, name};
use crate::hint;
use crate::output::progress::Progress;
use crate::output::{Output, count, diagnostic_lines, print_found, print_json, size};

pub(crate) fn verify(path: &Path, reading: &Reading, output: Output) -> Result<Verdict, Failure> {
    let file = super::open(path, reading)?;
    let report = check(path, &file, output)?;
    if output.json {
        print_json(&report_json(path, &report))?;
    } else {
        print(path, &report, output)?;
    }
    Ok(if report.passed() { Verdict::Fine } else { Verdict::Found })
}

/// Verifies a file, and shows a progress bar.
pub(super) fn check(path: &Path, file: &Asdf, output: Output) -> Result<VerifyReport, Failure> {
    let fail = |error| Failure::asdf(path, error);
    let mut total = 0;
    for block in file.blocks() {
        let range = block.map_err(fail)?.data_range();
        total += range.map_or(0, |range| range.end - range.start);
    }
    let progress = Progress::new(total, output.quiet);
    let add = |bytes| progress.add(bytes);
    file.verify(&VerifyOptions::new().progress(&add)).map_err(fail)
}

fn print(path: &Path, report: &VerifyReport, output: Output) -> io::Result<()> {
    for error in report.errors() {
        print_found(&name(path), error)?;
    }
    let is_intact = |verdict: &ChecksumVerdict| verdict.is_pass();
    if !report.blocks.iter().all(|block| block.checksum.as_ref().is_some_and(is_intact)) {
        output.hint(&hint::ASDF_REPAIR);
    }
    if report.passed() {
        let bytes = report.blocks.iter().map(|block| block.stored_len).sum();
        let blocks = count(report.blocks.len(), "block");
        let external = report.blocks.iter().filter(|block| block.path.is_some()).count();
        let external = match external {
            0 => String::new(),
            count => format!(", including {count} in other files"),
        };
        let (path, size) = (name(path), size(bytes));
        output.result(&format_args!("{path}: fine, {blocks} of {size} checked{external}"))?;
        for line in diagnostic_lines(&report.diagnostics) {
            output.remark(&format_args!("{path}: {line}"));
        }
    }
    Ok(())
}

pub(super) fn report_json(path: &Path, report: &VerifyReport) -> Value {
    let blocks = report.blocks.iter().map(|block| {
        let checksum = match block.checksum {
            Some(ChecksumVerdict::Absent) => "absent",
            Some(ChecksumVerdict::Stored) => "stored",
            Some(ChecksumVerdict::Decoded) => "decoded",
            Some(_) => "mismatch",
            None => "error",
        };
        let mut value =
            json!({"index": block.index, "bytes": block.stored_len, "checksum": checksum});
        if let Some(path) = &block.path {
            value["path"] = json!(path);
        }
        value
    });
    json!({
        "file": path.display().to_string(), "format": "asdf", "ok": report.passed(),
        "blocks": blocks.collect::<Value>(), "diagnostics": report.diagnostics,
    })
}
