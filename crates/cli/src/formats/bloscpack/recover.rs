//! `scibin bloscpack recover`: saves the intact data of a damaged file in a valid file.

use std::io::{self, Write};

use bloscpack::journal::{self, Pending};
use bloscpack::repair::{Loss, RecoverOptions, recover as recover_to};
use serde_json::{Value, json};

use super::{remark, undo_interrupted};
use crate::Verdict;
use crate::arguments::bloscpack::Recover;
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, one_line, print_json, size};

pub(super) fn recover(command: &Recover, output: Output) -> Result<Verdict, Failure> {
    let (input, target) = (&command.input, &command.output);
    let fail = |error| Failure::bloscpack(input, error);
    let _lock = output_file::lock(target, command.replacing.force)?;
    // Do not roll back a change if the journal belongs to another file, because this would fail.
    if !is_standard(input) && journal::pending(input).map_err(fail)? != Some(Pending::Foreign) {
        undo_interrupted(input, output)?;
    }
    let source = input::source(input).map_err(|error| fail(error.into()))?;
    let options = RecoverOptions::new().skip_bad(command.skip_bad).fill_zeros(command.fill_zeros);
    let body = |out: &mut _| recover_to(&source, out, &options);
    let report = output_file::write_file(target, command.replacing.force, body, fail)?;
    if is_standard(target) {
        // Report the losses on standard error, because standard output contains the file.
        for loss in &report.lost {
            output.fail(&format_args!("{}: {}", name(input), loss_text(loss)));
        }
        remark(input, &report.diagnostics, output);
    } else if output.json {
        print_json(&json!({
            "file": input.display().to_string(), "output": target.display().to_string(),
            "chunks": report.kept, "nbytes": report.plain_len,
            "lost": report.lost.iter().map(loss_json).collect::<Value>(),
            "diagnostics": report.diagnostics,
        }))?;
    } else {
        let mut out = io::stdout().lock();
        for loss in &report.lost {
            writeln!(out, "{}: {}", name(input), one_line(&loss_text(loss)))?;
        }
        let (kept, len) = (count(report.kept, "chunk"), size(report.plain_len));
        output.result(&format_args!("{}: {kept} kept, {len}", target.display()))?;
        remark(input, &report.diagnostics, output);
    }
    Ok(if report.lost.is_empty() { Verdict::Fine } else { Verdict::Found })
}

fn loss_text(loss: &Loss) -> String {
    let (chunks, bytes) = (&loss.chunks, &loss.bytes);
    let zeros = match loss.zeros {
        0 => String::new(),
        zeros => format!(", replaced by {}", count(zeros, "zero")),
    };
    let (first, end) = (chunks.start, chunks.end);
    let which =
        if end - first == 1 { format!("chunk {first}") } else { format!("chunks {first}..{end}") };
    format!("lost {which}, bytes {}..{}{zeros}: {}", bytes.start, bytes.end, loss.reason)
}

fn loss_json(loss: &Loss) -> Value {
    json!({
        "chunks": [loss.chunks.start, loss.chunks.end],
        "bytes": [loss.bytes.start, loss.bytes.end],
        "zeros": loss.zeros,
        "message": loss.reason.to_string(),
    })
}
