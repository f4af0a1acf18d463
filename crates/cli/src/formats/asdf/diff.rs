//! `scibin asdf diff`: compares the trees and arrays of two files.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;

use asdf::inspect::{Compare, Difference, DifferenceKind, Pattern};
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::asdf::Diff;
use crate::failure::{Failure, name};
use crate::output::file::is_standard;
use crate::output::{Output, one_line, print_json};

pub(super) fn diff(command: &Diff, output: Output) -> Result<Verdict, Failure> {
    // Status 1 means that the files differ, so bad data must cause status 2.
    compare(command, output).map_err(Failure::fatal)
}

fn compare(command: &Diff, output: Output) -> Result<Verdict, Failure> {
    let Diff { before, after, rtol, atol, ignore, all, max_changes, reading } = command;
    if is_standard(before) && is_standard(after) {
        let message = "only one of the two files can be standard input";
        return Err(Failure::other("standard input", message));
    }
    let mut compare = Compare::new().rtol(*rtol).atol(*atol);
    if !all {
        compare = compare.ignore_library();
    }
    for pattern in ignore {
        let pattern = Pattern::parse(pattern);
        compare =
            compare.ignore(pattern.map_err(|error| Failure::other("--ignore", error.to_string()))?);
    }
    let files = [super::open(before, reading)?, super::open(after, reading)?];
    let tree =
        |at: usize, path: &Path| files[at].tree().map_err(|error| Failure::asdf(path, error));
    let (first, second) = (tree(0, before)?, tree(1, after)?);
    let (mut shown, mut count) = (Vec::new(), 0);
    let compared = compare.run(first, second, &mut |difference| {
        count += 1;
        if shown.len() < *max_changes {
            shown.push(difference);
        }
        ControlFlow::Continue(())
    });
    let names = [name(before), name(after)];
    let more = count - shown.len();
    if output.json {
        let changes: Vec<Value> = shown.iter().map(change_json).collect();
        let mut report = json!({"changes": changes, "equal": count == 0 && compared.is_ok()});
        if more > 0 {
            report["more"] = more.into();
        }
        print_json(&report)?;
    } else if !output.quiet && count > 0 {
        let mut out = BufWriter::new(io::stdout().lock());
        writeln!(out, "--- {}\n+++ {}", one_line(&names[0]), one_line(&names[1]))?;
        for difference in &shown {
            writeln!(out, "{}", one_line(&difference.to_string()))?;
        }
        out.flush()?;
    }
    super::remark(before, &files[0], output);
    super::remark(after, &files[1], output);
    if more > 0 {
        output.remark(&format_args!(
            "only the first {max_changes} of {count} differences are printed; `--max-changes` raises the limit"
        ));
    }
    compared.map_err(|error| Failure::asdf(Path::new(&names.join(", ")), error))?;
    Ok(if count == 0 { Verdict::Fine } else { Verdict::Found })
}

fn change_json(difference: &Difference) -> Value {
    let pointer = &difference.pointer;
    let change = |change: &str, from: Value, to: Value| json!({"pointer": pointer, "change": change, "from": from, "to": to});
    match &difference.kind {
        DifferenceKind::Added(to) => change("added", Value::Null, json!(to)),
        DifferenceKind::Removed(from) => change("removed", json!(from), Value::Null),
        DifferenceKind::Value(from, to) => change("value", json!(from), json!(to)),
        DifferenceKind::Tag(from, to) => change("tag", json!(from), json!(to)),
        DifferenceKind::Datatype(from, to) => change("datatype", json!(from), json!(to)),
        DifferenceKind::Shape(from, to) => change("shape", json!(from), json!(to)),
        DifferenceKind::Elements(elements) => {
            let mut value = change("elements", json!(elements.from), json!(elements.to));
            value["first"] = json!(elements.first);
            value["count"] = elements.count.into();
            value["total"] = elements.total.into();
            value["largest"] = json!(elements.largest);
            value
        }
        _ => change("other", Value::Null, Value::Null),
    }
}
