//! `scibin dudley diff`: compares two layouts.

use std::io::{self, BufWriter, Write};

use dudley::ParseOptions;
use dudley::place::{Change, Comparison};
use serde_json::json;

use super::{parse, values};
use crate::Verdict;
use crate::arguments::dudley::Diff;
use crate::failure::{Failure, name};
use crate::output::file::is_standard;
use crate::output::{Output, one_line, print_json};

pub(super) fn diff(command: &Diff, output: Output) -> Result<Verdict, Failure> {
    let Diff { before, after, params, max_changes } = command;
    if is_standard(before) && is_standard(after) {
        return Err(Failure::other(
            "standard input",
            "only one of the two layouts can be standard input",
        ));
    }
    let options = ParseOptions::new();
    let names = [name(before), name(after)];
    let layout = |path| parse(path, &options).map_err(Failure::fatal);
    let layouts = [layout(before)?, layout(after)?];
    let given = values(params, &[&layouts[0], &layouts[1]])?;
    let given = Some(&given).filter(|_| !params.params.is_empty());
    let comparison = dudley::place::diff(&layouts[0], &layouts[1], given);
    let comparison = comparison.map_err(|error| Failure::dudley(before, error).fatal())?;
    let changes = comparison.changes();
    let shown = &changes[..changes.len().min(*max_changes)];
    let more = changes.len() - shown.len();
    if output.json {
        let mut report = json!({"changes": shown, "readable": comparison.keeps_files_readable()});
        if comparison.is_partial() {
            report["partial"] = true.into();
        }
        if more > 0 {
            report["more"] = more.into();
        }
        print_json(&report)?;
    } else if !output.quiet {
        print_changes(&comparison, shown, &names)?;
    }
    if more > 0 && (output.json || !output.quiet) {
        let all = changes.len();
        output.say(&format_args!(
            "only the first {max_changes} of {all} differences are printed; `--max-changes` raises the limit"
        ));
    }
    let is_same = changes.is_empty() && !comparison.is_partial();
    Ok(if is_same { Verdict::Fine } else { Verdict::Found })
}

fn print_changes(comparison: &Comparison, shown: &[Change], names: &[String; 2]) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if !comparison.changes().is_empty() {
        writeln!(out, "--- {}\n+++ {}", one_line(&names[0]), one_line(&names[1]))?;
    }
    for change in shown {
        writeln!(out, "{}", one_line(&change.to_string()))?;
    }
    if comparison.is_partial() {
        writeln!(
            out,
            "the layouts are too large to compare completely; some changes may not be shown"
        )?;
    }
    let verdict = if comparison.keeps_files_readable() {
        "files written with the first layout (-) can be read with the second (+)"
    } else if !comparison.breaks_files() {
        "it is unknown whether files written with the first layout (-) can be read with the second (+)"
    } else {
        "files written with the first layout (-) cannot be read with the second (+)"
    };
    writeln!(out, "{verdict}")?;
    out.flush()
}
