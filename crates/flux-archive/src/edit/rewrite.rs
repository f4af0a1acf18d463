//! Rewriting the entries whose content is moved, and copying the other entries. An entry that a
//! later entry replaces is left out.

use std::io::Write;

use serde::Serialize;

use crate::error::{Error, Failure, Result};
use crate::model::{Content, Entry, Profile};
use crate::parse::{OpenOptions, Report, decode};
use crate::write::Writer;

/// The result of moving content between an archive and a store.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct MoveReport {
    /// The number of files whose content was moved.
    pub files: u64,
    /// The total size in bytes of the files whose content was moved.
    pub bytes: u64,
    /// The files whose content could not be read or stored. Their entries are copied unchanged.
    pub failures: Vec<Failure>,
}

/// The result of processing an entry.
pub(super) enum Outcome {
    /// The content is not to be moved, so the entry must be copied.
    Stays,
    /// The content was moved, and the entry was written.
    Moved,
    /// The content could not be moved, and nothing was written, so the entry must be copied.
    Failed(Error),
}

/// Calls `change` for each entry that no later entry replaces. Copies the entry, unless `change`
/// has written it in another form.
pub(super) fn rewrite<W: Write>(
    document: &[u8],
    options: &OpenOptions,
    writer: &mut Writer<W>,
    mut change: impl FnMut(&Entry<'_>, &mut Writer<W>) -> Result<Outcome>,
) -> Result<MoveReport> {
    let superseded = options.superseded(document)?;
    let mut report = MoveReport::default();
    for raw in options.entries(document)? {
        let raw = raw?;
        if superseded.contains(&raw.index()) {
            continue;
        }
        let mut diagnostics = Report::new(Profile::Legacy, &options.limits, "");
        let Some(entry) = decode(&raw, options.profile, &options.limits, &mut diagnostics)? else {
            continue;
        };
        match change(&entry, writer)? {
            Outcome::Stays => writer.copy(&raw)?,
            Outcome::Moved => {
                report.files += 1;
                report.bytes += entry.len();
            }
            Outcome::Failed(error) => {
                report.failures.push(Failure { path: entry.path().to_string(), error });
                writer.copy(&raw)?;
            }
        }
    }
    Ok(report)
}

pub(super) fn with_content<'e>(entry: &Entry<'e>, content: Content<'e>) -> Entry<'e> {
    Entry { content, size: Some(entry.len()), ..entry.clone() }
}
