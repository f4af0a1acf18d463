//! `scibin flux lint`: reports the deviations of an archive from RFC 37, and fixes them on request.

use std::io::{self, BufWriter, Write};

use flux_archive::edit::fix;
use flux_archive::{Form, Limits, Profile, Writer};
use serde_json::json;

use super::source::Source;
use super::{Untidy, lock};
use crate::Verdict;
use crate::arguments::flux::{Lint, Reading};
use crate::failure::{self, Failure};
use crate::interrupt::Spool;
use crate::output::file as output_file;
use crate::output::{Output, Sink, count, write_found, write_json};

/// The maximum number of diagnostics. Linting fails if there are more. A large archive may have
/// several diagnostics for every entry.
const MAX_DIAGNOSTICS: u64 = 1 << 20;

pub(super) fn lint(command: &Lint, output: Output) -> Result<Verdict, Failure> {
    // Without --profile, check the archive against RFC 37 itself.
    let profile = command.one.reading.profile.unwrap_or(Profile::Strict);
    let mut one = command.one.clone();
    one.reading.profile = Some(profile);
    let target = command.output.as_ref().or(one.archive.as_ref());
    let _lock = match target {
        Some(target) if command.fix => lock(target)?,
        _ => None,
    };
    let source = Source::open(&one)?;
    if !command.fix {
        return tell(&source, profile, None, output);
    }
    let Some(target) = target else {
        return Err(Failure::other(
            failure::name(&source.name),
            "cannot fix this archive in place: choose an output file with -o",
        ));
    };
    let in_place = command.output.is_none();
    let form = match source.form(in_place)? {
        Form::Dict => Form::Dict,
        // Convert consecutive objects, which RFC 37 does not allow, to an array.
        Form::Array | Form::Objects => Form::Array,
    };
    if !in_place {
        output_file::check(target, command.replacing.force)?;
    }
    let spool = Spool::new().map_err(|error| Failure::io(target, error))?;
    let mut writer = Writer::new(BufWriter::new(spool.as_file()), form);
    let fixed = fix(&source.document, &source.options, &mut writer);
    let fixed = fixed.map_err(|error| source.failure(error))?;
    writer.finish().map_err(|error| source.failure(error))?;

    let reading = Reading { profile: Some(profile), ..Reading::default() };
    let mut written = Source::of_file(spool.path(), &reading)?;
    written.name.clone_from(target);
    if !in_place || output_file::is_standard(target) || written.document != source.document {
        let body = |out: &mut dyn Write| out.write_all(&written.document);
        output_file::write(target, true, body, |error| Failure::io(target, error))?;
    }
    tell(&written, profile, Some(fixed), output)
}

/// Prints the diagnostics of an archive and, if `fixed` is given, the number of fixed entries.
/// Returns the outcome.
fn tell(
    source: &Source,
    profile: Profile,
    fixed: Option<u64>,
    output: Output,
) -> Result<Verdict, Failure> {
    let limits = Limits::default().max_diagnostics(MAX_DIAGNOSTICS);
    let options = source.options.clone().limits(limits);
    let name = failure::name(&source.name);
    // If standard output contains the archive, print the diagnostics on standard error.
    let taken = fixed.is_some() && output_file::is_standard(&source.name);
    let json = output.json && !taken;
    let head = json!({
        "file": source.name.display().to_string(), "format": "flux", "profile": profile.name(),
        "fixed": fixed,
    });
    let head = head.to_string();
    // The text to print before the next diagnostic.
    let mut before = format!("{},\"diagnostics\":[", head.trim_end_matches('}'));
    let mut untidy = Untidy::default();
    let mut out: Sink<Box<dyn Write>> = Sink::new(if json {
        Box::new(BufWriter::new(io::stdout().lock()))
    } else {
        Box::new(BufWriter::new(anstream::stdout().lock()))
    });
    // Print each diagnostic immediately, because there may be a million.
    let found = options.lint_each(&source.document, &mut |diagnostic| {
        if json {
            out.write_all(before.as_bytes())?;
            ",".clone_into(&mut before);
            write_json(&mut out, &json!(diagnostic))?;
        } else if untidy.take(diagnostic) {
            // Summarise the untidy paths on one line at the end.
        } else if taken {
            output.say(diagnostic);
        } else {
            write_found(&mut out, &name, diagnostic)?;
        }
        Ok(())
    });
    match untidy.line() {
        Some(line) if taken => output.say(&line),
        Some(line) => write_found(&mut out, &name, &line)?,
        None => {}
    }
    let is_begun = before == ",";
    if json && (found.is_ok() || is_begun) {
        let before = if is_begun { "" } else { &before };
        let failed = found.as_ref().err().map(|error| source.failure(error.clone()).diagnostic());
        let failed = failed.map_or_else(String::new, |failed| format!(",{failed}"));
        writeln!(out, "{before}{failed}],\"ok\":{}}}", matches!(found, Ok(0)))?;
    }
    let found = match out.finish(found, |error| source.failure(error), Failure::from) {
        // The JSON line already contains the failure, so print it only as a message.
        Err(failure) if json && is_begun && !failure.is_closed_pipe() => {
            output.fail(&failure);
            return Ok(failure.verdict());
        }
        found => found?,
    };
    if let (Some(fixed), false, false) = (fixed, output.json, taken) {
        output.result(&format_args!("{name}: {} fixed", count(fixed, "entry")))?;
    }
    Ok(if found == 0 { Verdict::Fine } else { Verdict::Found })
}
