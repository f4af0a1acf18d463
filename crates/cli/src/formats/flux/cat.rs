//! `scibin flux cat`: prints the content of files, or a range of bytes from each file.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use flux_archive::store::BlobStore;
use flux_archive::{Archive, ArchivePath, Entry, FileType};

use super::patterns::Patterns;
use super::source::Source;
use crate::Verdict;
use crate::arguments::bloscpack::Span;
use crate::arguments::flux::{Cat, One};
use crate::failure::{Failure, name};
use crate::output::{Output, Sink};

pub(super) fn cat(command: &Cat, output: Output) -> Result<Verdict, Failure> {
    let (state, reading) = (command.state.clone(), command.reading.clone());
    let mut paths = command.paths.clone();
    let mut archive = Some(command.archive.clone());
    if state.statedir.is_some() {
        let first = archive.take().map(|path| path.to_string_lossy().into_owned());
        paths.splice(0..0, first);
    }
    let source = Source::open(&One { archive, state, reading })?;
    let archive = source.parse()?;
    super::remark(&source.name, &archive, output);
    let store = source.stores(&command.stores)?;
    let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
    let mut found = false;
    for path in paths {
        for entry in chosen(&archive, &path, &command.exclude) {
            let written = match command.range {
                None => entry.write_to(&store, &mut out),
                Some(range) => write_range(entry, range, &store, &mut out),
            };
            let name = PathBuf::from(format!("{}: {}", name(&source.name), entry.path()));
            let fail = |error| Failure::flux(&name, error);
            out.finish(written, fail, Failure::from)?;
            found = true;
        }
        if !std::mem::take(&mut found) {
            let message = format!("{path:?} is not in the archive");
            return Err(Failure::other(name(&source.name), message));
        }
    }
    Ok(source.report_damage(output))
}

/// Returns the entry with the given path. If the path is a directory or does not exist, treats it
/// as a pattern instead: returns all regular files that match the pattern or are below a matching
/// directory, without the excluded files.
fn chosen<'e, 'a>(archive: &'e Archive<'a>, path: &str, exclude: &[String]) -> Vec<&'e Entry<'a>> {
    let normalised = ArchivePath::normalise(path).ok();
    let exact = normalised.and_then(|(path, _)| archive.get(path.as_str()));
    if let Some(entry) = exact.filter(|entry| entry.file_type() != FileType::Directory) {
        return vec![entry];
    }
    let wanted = [path.to_owned()];
    let patterns = Patterns::new(&wanted, exclude);
    let files = archive.entries().iter().filter(|entry| entry.file_type() == FileType::Regular);
    let files: Vec<_> = files.filter(|entry| patterns.select(entry.path().as_str())).collect();
    // If a directory contains no files, return the directory itself, so that writing it reports an
    // error.
    if files.is_empty() { exact.into_iter().collect() } else { files }
}

/// Writes the bytes of a file that are in a range. The range may extend beyond the end of the file.
fn write_range(
    entry: &Entry<'_>,
    range: Span,
    store: &dyn BlobStore,
    out: &mut dyn Write,
) -> flux_archive::Result<()> {
    let range = range.start..range.end.unwrap_or(u64::MAX);
    entry.reader(store)?.for_each_piece(range, |_, piece| {
        out.write_all(piece)?;
        Ok(true)
    })
}
