//! `scibin flux cat`: the content of files, or a range of it.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use flux_archive::Entry;
use flux_archive::store::BlobStore;

use super::source::Source;
use crate::Verdict;
use crate::arguments::bloscpack::Span;
use crate::arguments::flux::{Cat, One};
use crate::failure::Failure;
use crate::output::{Output, Sink};

pub(super) fn cat(command: &Cat, output: Output) -> Result<Verdict, Failure> {
    let (state, reading) = (command.state.clone(), command.reading.clone());
    let (archive, paths) = match (&state.statedir, command.operands.split_first()) {
        (None, Some((archive, paths))) => (Some(PathBuf::from(archive)), paths),
        _ => (None, &command.operands[..]),
    };
    if paths.is_empty() {
        return Err(Failure::other("PATH", "name a file of the archive"));
    }
    let source = Source::open(&One { archive, state, reading })?;
    let archive = source.parse()?;
    super::remark(&source.name, &archive, output);
    let store = source.stores(&command.stores)?;
    let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
    for path in paths {
        let Some(entry) = archive.get(path) else {
            let message = format!("{path:?} is not in the archive");
            return Err(Failure::other(source.name.display(), message));
        };
        let written = match command.range {
            None => entry.write_to(&store, &mut out),
            Some(range) => write_range(entry, range, &store, &mut out),
        };
        let name = PathBuf::from(format!("{}: {path}", source.name.display()));
        let fail = |error| Failure::flux(&name, error);
        out.finish(written, fail, Failure::from)?;
    }
    Ok(Verdict::Fine)
}

/// Writes the bytes of a range, as far as the file goes.
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
