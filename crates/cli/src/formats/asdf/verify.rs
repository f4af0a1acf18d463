//! `scibin verify`: what is wrong with a file.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use asdf::{Asdf, ChecksumVerdict, Code, Diagnostic, Severity, tag};
use serde_json::{Value, json};

use super::blocks::all;
use super::info::diagnostics_json;
use crate::Verdict;
use crate::arguments::asdf::Reading;
use crate::failure::Failure;
use crate::output::{Output, one_line, print_json, size};
use crate::progress::Progress;

/// Something wrong, and where.
struct Problem {
    place: String,
    message: String,
}

impl Problem {
    fn new(place: impl Into<String>, message: &impl ToString) -> Self {
        Self { place: place.into(), message: message.to_string() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Errors of blocks and arrays name their place themselves.
        if !self.message.starts_with(&self.place) {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

pub(crate) fn verify(path: &Path, reading: &Reading, output: Output) -> Result<Verdict, Failure> {
    let file = super::open(path, reading)?;
    let mut problems = Vec::new();
    let checked = check_blocks(path, &file, output, &mut problems)?;
    check_tree(&file, &mut problems);
    // A block that cannot be read was found out above.
    let is_new = |diagnostic: &Diagnostic| {
        diagnostic.code.severity() == Severity::Damage && diagnostic.code != Code::BadBlock
    };
    let damage = file.diagnostics().into_iter().filter(is_new);
    problems.extend(damage.map(|diagnostic| Problem::new("layout", &diagnostic)));
    if output.json {
        print_json(&report(path, &file, &checked, &problems))?;
    } else {
        let mut out = io::stdout().lock();
        for problem in &problems {
            writeln!(out, "{}: {}", path.display(), one_line(&problem.to_string()))?;
        }
        if problems.is_empty() && !output.quiet {
            let bytes = checked.iter().map(|block| block.bytes).sum();
            writeln!(
                out,
                "{}: fine, {} blocks of {} checked",
                path.display(),
                checked.len(),
                size(bytes)
            )?;
            super::remark(path, &file, output);
        }
    }
    Ok(if problems.is_empty() { Verdict::Fine } else { Verdict::Found })
}

/// A block that was checked.
struct Checked {
    bytes: u64,
    checksum: &'static str,
}

/// Verifies checksums and decodes every block, several at a time.
fn check_blocks(
    path: &Path,
    file: &Asdf,
    output: Output,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Checked>, Failure> {
    let blocks = all(path, file)?;
    let sizes: Vec<u64> = blocks
        .iter()
        .map(|block| block.data_range().map_or(0, |range| range.end - range.start))
        .collect();
    let progress = Progress::new(sizes.iter().sum(), output.quiet);
    let verdicts =
        file.blocks().check_all(|index| progress.add(sizes.get(index).copied().unwrap_or(0)));
    let verdicts = verdicts.map_err(|error| Failure::asdf(path, error))?;
    let mut checked = Vec::with_capacity(verdicts.len());
    for (index, verdict) in verdicts.into_iter().enumerate() {
        let place = format!("block {index}");
        let checksum = match verdict {
            Ok(ChecksumVerdict::Absent) => "absent",
            Ok(ChecksumVerdict::Stored) => "stored",
            Ok(ChecksumVerdict::DecodedLegacy) => "decoded_legacy",
            Ok(_) => {
                problems.push(Problem::new(place, &"checksum does not match the data"));
                "mismatch"
            }
            Err(error) => {
                problems.push(Problem::new(place, &error));
                "error"
            }
        };
        checked.push(Checked { bytes: sizes.get(index).copied().unwrap_or(0), checksum });
    }
    Ok(checked)
}

/// The tree parses, its values are what their tags say, and each array lies in its block.
fn check_tree(file: &Asdf, problems: &mut Vec<Problem>) {
    let nodes = match file.nodes() {
        Ok(nodes) => nodes,
        Err(error) => return problems.push(Problem::new("tree", &error)),
    };
    for node in nodes {
        let outcome = match node.tag().and_then(tag::core_name) {
            Some("ndarray") => node.ndarray().map(drop),
            Some("complex") => node.complex().map(drop),
            Some("integer") => node.integer().map(drop),
            _ => node.value().map(drop),
        };
        if let Err(error) = outcome {
            problems.push(Problem::new("tree", &error));
        }
    }
}

fn report(path: &Path, file: &Asdf, checked: &[Checked], problems: &[Problem]) -> Value {
    let blocks: Vec<Value> = checked
        .iter()
        .enumerate()
        .map(|(index, block)| json!({"index": index, "bytes": block.bytes, "checksum": block.checksum}))
        .collect();
    let problems: Vec<Value> = problems
        .iter()
        .map(|problem| json!({"where": problem.place, "message": problem.message}))
        .collect();
    json!({
        "file": path.display().to_string(), "ok": problems.is_empty(), "problems": problems, "blocks": blocks,
        "diagnostics": diagnostics_json(file),
    })
}
