//! `scibin flux list`: lists the entries of an archive in the same format as `flux archive list`.

use std::io::{self, BufWriter, IsTerminal, Write};

use flux_archive::inspect::{INVALID_ENTRY, LongLine, truncate_line};
use flux_archive::parse::RawEntry;
use flux_archive::{FileType, Mode};
use serde_json::{Value, json};

use super::patterns::Patterns;
use super::source::Source;
use crate::Verdict;
use crate::arguments::flux::List;
use crate::failure::{Failure, name};
use crate::output::{Output, Sink, count, escape_controls, one_line, write_json};

/// The number of columns to which Flux shortens the lines of `list -l`.
const LONG_COLUMNS: usize = 119;

pub(super) fn list(command: &List, output: Output) -> Result<Verdict, Failure> {
    let (source, patterns) = Source::select(&command.selection)?;
    let patterns = Patterns::new(&patterns, &command.selection.exclude);
    let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
    let listing = Listing { command, output, terminal: io::stdout().is_terminal() };
    let listed = listing.write(&source, &patterns, &mut out);
    let replaced = out.finish(listed, |error| source.failure(error), Failure::from)?;
    patterns.remark(output);
    if replaced > 0 {
        let (name, entries) = (name(&source.name), count(replaced, "entry"));
        output.remark(&format_args!(
            "{name}: {entries} omitted because of later entries with the same path"
        ));
    }
    Ok(source.report_damage(output))
}

struct Listing<'l> {
    command: &'l List,
    output: Output,
    terminal: bool,
}

impl Listing<'_> {
    /// Lists the entries as they are in the JSON, so that even an archive that cannot be extracted
    /// can be listed. Returns the number of selected entries that are omitted because a later entry
    /// has the same path.
    fn write(
        &self,
        source: &Source,
        patterns: &Patterns<'_>,
        out: &mut dyn Write,
    ) -> flux_archive::Result<u64> {
        let (mut found, mut omitted) = (0_u64, 0);
        let json = self.output.json;
        let superseded = source.options.superseded(&source.document)?;
        out.write_all(if json { b"[" } else { b"" })?;
        for raw in source.options.entries(&source.document)? {
            let raw = raw?;
            let path = raw.path().map(|path| path.decode().into_owned());
            // Treat a missing path as empty, so that only patterns such as "*" match the entry.
            if !patterns.select(path.as_deref().unwrap_or_default()) {
                continue;
            }
            if superseded.contains(&raw.index()) {
                omitted += 1;
                continue;
            }
            if json {
                out.write_all(if found > 0 { b"," } else { b"" })?;
                write_json(out, &entry_json(&raw))?;
            } else {
                self.line(&raw, path.as_deref(), out)?;
            }
            found += 1;
        }
        out.write_all(if json { b"]\n" } else { b"" })?;
        Ok(omitted)
    }

    fn line(&self, raw: &RawEntry<'_>, path: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        let line = match LongLine::of(raw) {
            _ if self.command.raw => raw.json().to_owned(),
            Some(line) if self.command.long => line.to_string(),
            Some(_) => path.unwrap_or(INVALID_ENTRY).to_owned(),
            None => INVALID_ENTRY.to_owned(),
        };
        if !self.terminal {
            return writeln!(out, "{line}");
        }
        if self.command.raw {
            escape_controls(out, &line)?;
            return out.write_all(b"\n");
        }
        let line = one_line(&line);
        let columns = if self.command.long { LONG_COLUMNS } else { usize::MAX };
        writeln!(out, "{}", truncate_line(&line, columns))
    }
}

/// Returns the members of an entry as a JSON object, without the content of files. A missing member
/// is null, and so is a path, number or encoding of the wrong type.
fn entry_json(raw: &RawEntry<'_>) -> Value {
    let value = |name: &str| -> Value {
        raw.get(name).and_then(|value| serde_json::from_str(value.get()).ok()).unwrap_or_default()
    };
    let integer = |name: &str| Some(value(name)).filter(|value| value.is_i64() || value.is_u64());
    let mode = integer("mode");
    let known = mode.as_ref().and_then(Value::as_u64).and_then(|mode| u32::try_from(mode).ok());
    let known = known.and_then(Mode::from_u32).map(Mode::file_type);
    json!({
        "path": raw.path().map(|path| path.decode().into_owned()),
        "type": known.map(|known| known.to_string()),
        "mode": mode,
        "size": integer("size"),
        "mtime": integer("mtime"),
        "ctime": integer("ctime"),
        "encoding": Some(value("encoding")).filter(Value::is_string),
        "target": (known == Some(FileType::Symlink)).then(|| value("data")),
    })
}
