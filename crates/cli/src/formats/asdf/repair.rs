//! `scibin asdf repair`: salvages a valid file from a damaged one.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use asdf::ReadAt;
use asdf::save::repair::{Loss, RecoverOptions, RecoverReport, recover};
use binio::write::Discard;
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::asdf::RepairRequest;
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, one_line, print_json, size};

pub(super) fn repair(request: &RepairRequest, output: Output) -> Result<Verdict, Failure> {
    let RepairRequest { file: path, output: target, writing, externals } = request;
    let fail = |error| Failure::asdf(path, error);
    let _lock = super::lock(target, writing)?;
    let source = input::source(path).map_err(|error| fail(error.into()))?;
    let source: Arc<dyn ReadAt> = Arc::new(source);
    super::check_not_embedded(*externals)?;
    let mut options = RecoverOptions::new();
    if let Some((from, to)) = super::folders(path, target, *externals) {
        options = options.relocate(from, to);
    }
    output_file::check(target, writing.force)?;
    let report = if writing.dry_run {
        recover(source, Discard::default(), &options).map_err(fail)?
    } else {
        let body = |out: &mut _| recover(source, out, &options);
        output_file::write_file(target, writing.force, body, fail)?
    };
    if is_standard(target) && !writing.dry_run {
        // Report the losses on standard error, because standard output contains the file.
        for loss in &report.lost {
            output.fail(&format_args!("{}: {}", name(path), loss_text(loss)));
        }
    } else if output.json {
        let mut value = report_json(&report);
        value["file"] = json!(path.display().to_string());
        value["output"] = json!(target.display().to_string());
        value["dry_run"] = json!(writing.dry_run);
        print_json(&value)?;
    } else {
        print(path, target, &report, writing.dry_run, output)?;
    }
    Ok(if report.lost.is_empty() { Verdict::Fine } else { Verdict::Found })
}

fn print(
    path: &Path,
    target: &Path,
    report: &RecoverReport,
    dry_run: bool,
    output: Output,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for loss in &report.lost {
        writeln!(out, "{}: {}", name(path), one_line(&loss_text(loss)))?;
    }
    drop(out);
    for diagnostic in &report.diagnostics {
        output.remark(&format_args!("{}: {diagnostic}", name(path)));
    }
    for bytes in &report.removed {
        let (start, end) = (bytes.start, bytes.end);
        output.remark(&format_args!("{}: omitted bytes {start}..{end}", name(path)));
    }
    let would = if dry_run { " would be written" } else { "" };
    let (target, kept, len) =
        (output_file::name(target), count(report.kept, "block"), size(report.len));
    let damaged = match report.damaged {
        0 => String::new(),
        damaged => format!(", {damaged} damaged"),
    };
    let missing = missing_text(", ", report.missing_bytes());
    output.result(&format_args!("{target}: {len}{would}, {kept} kept{damaged}{missing}"))
}

fn loss_text(loss: &Loss) -> String {
    let arrays = match loss.pointers.as_slice() {
        [] => String::new(),
        pointers => format!(" (arrays: {})", pointers.join(", ")),
    };
    let missing = missing_text("; ", loss.missing);
    format!("lost: {}{missing}{arrays}", loss.reason)
}

/// Returns `separator` and the number of missing bytes as text, or an empty string if no bytes are
/// missing.
fn missing_text(separator: &str, bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        1 => format!("{separator}1 byte is missing"),
        _ => format!("{separator}{bytes} bytes are missing"),
    }
}

fn report_json(report: &RecoverReport) -> Value {
    let range = |bytes: &std::ops::Range<u64>| json!([bytes.start, bytes.end]);
    let loss = |loss: &Loss| {
        json!({
            "block": loss.block,
            "pointers": loss.pointers,
            "bytes": range(&loss.bytes),
            "missing": loss.missing,
            "message": loss.reason.to_string(),
        })
    };
    json!({
        "bytes": report.len,
        "blocks": report.kept,
        "damaged": report.damaged,
        "missing": report.missing_bytes(),
        "removed": report.removed.iter().map(range).collect::<Value>(),
        "lost": report.lost.iter().map(loss).collect::<Value>(),
        "diagnostics": report.diagnostics,
    })
}
