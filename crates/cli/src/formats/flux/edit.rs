//! `scibin flux delete`: removes entries from an archive.

use std::io::Write;

use serde_json::json;

use super::patterns::Patterns;
use super::source::Source;
use super::{buffered, lock};
use crate::Verdict;
use crate::arguments::flux::Delete;
use crate::failure::Failure;
use crate::output::file::{self as output_file, is_standard};
use crate::output::{Output, count, print_json};

pub(super) fn delete(command: &Delete, output: Output) -> Result<Verdict, Failure> {
    let Delete { archive: path, patterns, dry_run, verbose, reading } = command;
    let _lock = if *dry_run { None } else { lock(path)? };
    let source = Source::of_file(path, reading)?;
    let form = source.form(true)?;
    let patterns = Patterns::new(patterns, &[]);
    let unwanted = |path: &str| patterns.select(path);
    // Find the entries to delete first, so that the file is not rewritten if no entry matches.
    let mut deleted = Vec::new();
    for raw in source.options.entries(&source.document).map_err(|error| source.failure(error))? {
        let raw = raw.map_err(|error| source.failure(error))?;
        let path = raw.path().map(|path| path.decode().into_owned());
        deleted.extend(path.filter(|path| unwanted(path)));
    }
    patterns.remark(output);
    if *verbose {
        for path in &deleted {
            output.say(path);
        }
    }
    if !dry_run && (!deleted.is_empty() || is_standard(path)) {
        let body = |out: &mut dyn Write| {
            buffered(out, form, |writer| {
                flux_archive::edit::delete(&source.document, &source.options, &unwanted, writer)
            })
        };
        output_file::write(path, true, body, |error| source.failure(error))?;
    }
    if output.json && !is_standard(path) {
        print_json(&json!({
            "file": path.display().to_string(), "deleted": deleted, "dry_run": dry_run,
        }))?;
    } else if !is_standard(path) {
        let entries = count(deleted.len(), "entry");
        let done = if *dry_run { "would be deleted" } else { "deleted" };
        output.result(&format_args!("{}: {entries} {done}", path.display()))?;
    }
    Ok(Verdict::Fine)
}
