//! `scibin info`: summarises an archive.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use flux_archive::{Archive, Content, Entry, FileType, Form, HashType};
use serde_json::{Value, json};

use super::source::Source;
use super::verify;
use crate::Verdict;
use crate::arguments::flux::{One, Verifying};
use crate::failure::{Failure, name};
use crate::output::html::{Pictures, Report};
use crate::output::{Output, count, one_line, print_json, size};

/// The maximum number of entries listed in an HTML report.
const MAX_ENTRIES: usize = 10_000;

pub(crate) fn info(one: &One, output: Output) -> Result<Verdict, Failure> {
    let source = Source::open(one)?;
    let archive = source.parse()?;
    let summary = Summary::of(&archive);
    if output.json {
        print_json(&info_json(&source, &archive, &summary))?;
    } else {
        let mut out = BufWriter::new(io::stdout().lock());
        write_text(&mut out, &source, &archive, &summary)?;
        out.flush()?;
    }
    Ok(source.report_damage(output))
}

/// Returns the content of the HTML report on an archive. The files in the archive are listed, but not drawn.
pub(crate) fn report_on(path: &Path, output: Output) -> Result<Report, Failure> {
    let source = Source::open(&One::of(path))?;
    let archive = source.parse()?;
    let verified = verify::check(&source, &archive, &Verifying::default(), output)?;
    let line =
        |entry: &Entry<'_>| format!("{:>12}  {}", entry.len(), one_line(&entry.path().to_string()));
    let mut lines: Vec<String> = archive.entries().iter().take(MAX_ENTRIES).map(line).collect();
    let more = archive.entries().len().saturating_sub(MAX_ENTRIES);
    if more > 0 {
        lines.push(format!("... ({})", count(more as u64, "more entry")));
    }
    Ok(Report {
        info: info_json(&source, &archive, &Summary::of(&archive)),
        verification: verify::verification(&source, &verified)?,
        tree: Some(lines.join("\n")),
        pictures: Pictures::default(),
    })
}

fn info_json(source: &Source, archive: &Archive<'_>, summary: &Summary) -> Value {
    let mut value = summary.json();
    value["file"] = source.name.display().to_string().into();
    value["ok"] = source.damage_json().is_none().into();
    value["size"] = source.document.len().into();
    value["form"] = form_name(archive.form()).into();
    let found = archive.diagnostics().iter().map(|one| json!(one));
    value["diagnostics"] = found.chain(source.damage_json()).collect();
    value["more_diagnostics"] = archive.more_diagnostics().into();
    value
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Array => "array",
        Form::Dict => "dict",
        Form::Objects => "objects",
    }
}

/// A summary of an archive.
#[derive(Default)]
struct Summary {
    files: u64,
    directories: u64,
    links: u64,
    bytes: u64,
    /// The number of files and the number of bytes for each encoding.
    encodings: BTreeMap<&'static str, (u64, u64)>,
    regions: u64,
    /// The number of distinct blobs, and their total size in bytes, for each hash.
    blobs: BTreeMap<&'static str, (u64, u64)>,
}

impl Summary {
    fn of(archive: &Archive<'_>) -> Self {
        let mut summary = Self::default();
        let mut blobs = HashMap::new();
        for entry in archive.entries() {
            match entry.file_type() {
                FileType::Directory => summary.directories += 1,
                FileType::Symlink => summary.links += 1,
                FileType::Regular => {
                    summary.files += 1;
                    summary.bytes = summary.bytes.saturating_add(entry.len());
                    let encoding = match entry.content() {
                        Content::Json(_) => "json",
                        content => content.encoding().unwrap_or("empty"),
                    };
                    let (files, bytes) = summary.encodings.entry(encoding).or_default();
                    *files += 1;
                    *bytes = bytes.saturating_add(entry.len());
                }
            }
            summary.regions += entry.regions().len() as u64;
            blobs.extend(entry.regions().iter().map(|region| (region.blobref, region.size)));
        }
        for (blobref, size) in blobs {
            let (number, bytes) = summary.blobs.entry(HashType::name(blobref.hash())).or_default();
            *number += 1;
            *bytes = bytes.saturating_add(size);
        }
        summary
    }

    fn json(&self) -> Value {
        let table = |map: &BTreeMap<&'static str, (u64, u64)>, what: &str| -> Value {
            let row = |(name, (number, bytes)): (&&'static str, &(u64, u64))| {
                ((*name).to_owned(), json!({what: number, "bytes": bytes}))
            };
            Value::Object(map.iter().map(row).collect())
        };
        json!({
            "format": "flux", "entries": self.files + self.directories + self.links,
            "files": self.files, "directories": self.directories, "links": self.links,
            "bytes": self.bytes, "encodings": table(&self.encodings, "files"),
            "regions": self.regions, "blobs": table(&self.blobs, "blobs"),
        })
    }
}

fn write_text(
    out: &mut dyn Write,
    source: &Source,
    archive: &Archive<'_>,
    summary: &Summary,
) -> io::Result<()> {
    writeln!(out, "{}", name(&source.name))?;
    let form = match archive.form() {
        Form::Array => "an array",
        Form::Dict => "an object with paths as keys",
        Form::Objects => "consecutive objects",
    };
    let len = size(source.document.len() as u64);
    writeln!(out, "  format    Flux archive (RFC 37), {form}, {len}")?;
    let kinds =
        [(summary.files, "file"), (summary.directories, "directory"), (summary.links, "link")];
    let kinds = kinds.map(|(number, kind)| count(number, kind)).join(", ");
    writeln!(out, "  entries   {kinds}, {}", size(summary.bytes))?;
    for (line, (name, (files, bytes))) in summary.encodings.iter().enumerate() {
        let heading = if line == 0 { "content" } else { "" };
        writeln!(out, "  {heading:<8}  {name}: {}, {}", count(*files, "file"), size(*bytes))?;
    }
    for (line, (name, (blobs, bytes))) in summary.blobs.iter().enumerate() {
        let heading = if line == 0 { "blobs" } else { "" };
        writeln!(out, "  {heading:<8}  {name}: {}, {}", count(*blobs, "blob"), size(*bytes))?;
    }
    for line in super::summary(archive.diagnostics()) {
        writeln!(out, "  warning   {}", one_line(&line))?;
    }
    if archive.more_diagnostics() > 0 {
        let more = count(archive.more_diagnostics(), "more such warning");
        writeln!(out, "  warning   and {more}")?;
    }
    Ok(())
}
