//! `scibin flux lint`: where an archive differs from RFC 37, and what can be fixed.

use std::io::{self, BufWriter, Write};

use flux_archive::{Form, Limits, Profile, Writer, fix};
use serde_json::json;

use super::count;
use super::source::Source;
use crate::Verdict;
use crate::arguments::flux::{Lint, Reading};
use crate::failure::Failure;
use crate::goal;
use crate::output::{Output, one_line, print_json};

/// Refused that are listed: one of each kind for each of very many entries.
const MAX_DIAGNOSTICS: u64 = 1 << 20;

pub(super) fn lint(command: &Lint, output: Output) -> Result<Verdict, Failure> {
    // Without --profile an archive is compared with RFC 37 itself.
    let profile = command.one.reading.profile.unwrap_or(Profile::Strict);
    let mut one = command.one.clone();
    one.reading.profile = Some(profile);
    let source = Source::open(&one)?;
    if !command.fix {
        return tell(&source, profile, None, output);
    }
    let Some(target) = command.output.as_ref().or(one.archive.as_ref()) else {
        return Err(Failure::other(source.name.display(), "name an output with -o"));
    };
    let in_place = command.output.is_none();
    let form = match source.form(in_place)? {
        Form::Dict => Form::Dict,
        // RFC 37 does not allow one object after the other.
        Form::Array | Form::Objects => Form::Array,
    };
    if !in_place {
        goal::check(target, command.replacing.force)?;
    }
    let spool = tempfile::NamedTempFile::new().map_err(|error| Failure::io(target, error))?;
    let mut writer = Writer::new(BufWriter::new(spool.as_file()), form);
    let fixed = fix(&source.document, &source.options, &mut writer);
    let fixed = fixed.map_err(|error| source.failure(error))?;
    writer.finish().map_err(|error| source.failure(error))?;

    let reading = Reading { profile: Some(profile), ..Reading::default() };
    let mut written = Source::of_file(spool.path(), &reading)?;
    written.name.clone_from(target);
    if !in_place || goal::is_standard(target) || written.document != source.document {
        let body = |out: &mut dyn Write| out.write_all(&written.document);
        goal::write(target, true, body, |error| Failure::io(target, error))?;
    }
    tell(&written, profile, Some(fixed), output)
}

/// Prints the remaining diagnostics, and how many entries were fixed.
fn tell(
    source: &Source,
    profile: Profile,
    fixed: Option<u64>,
    output: Output,
) -> Result<Verdict, Failure> {
    let limits = Limits::default().with_max_diagnostics(MAX_DIAGNOSTICS);
    let options = source.options.clone().limits(limits);
    let diagnostics = options.lint(&source.document).map_err(|error| source.failure(error))?;
    let name = source.name.display();
    // Standard output is the archive.
    let taken = fixed.is_some() && goal::is_standard(&source.name);
    if output.json && !taken {
        print_json(&json!({
            "file": name.to_string(), "profile": profile.name(), "fixed": fixed,
            "diagnostics": diagnostics,
        }))?;
    } else if taken {
        for diagnostic in &diagnostics {
            output.say(diagnostic);
        }
    } else {
        let mut out = io::BufWriter::new(io::stdout().lock());
        for diagnostic in &diagnostics {
            writeln!(out, "{name}: {}", one_line(&diagnostic.to_string()))?;
        }
        out.flush()?;
    }
    if let (Some(fixed), false, false) = (fixed, output.json, taken) {
        output.result(&format_args!("{name}: {} fixed", count(fixed, "entry")))?;
    }
    Ok(if diagnostics.is_empty() { Verdict::Fine } else { Verdict::Found })
}
