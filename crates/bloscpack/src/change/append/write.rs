//! Writing a planned append, atomically or in place.

use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;

use binio::ReadAt;
use binio::write::{AtomicFile, Change, ChangePlan, Storage, WriteAt};

use super::plan::Plan;
use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::write::chunk_encoder::Recipe;
use crate::write::container::{ContainerWriter, copy};
use crate::write::pack::store_chunks;
use crate::{Progress, Reader};

/// A planned append, with everything needed to write it.
pub(super) struct Job<'a> {
    pub(super) reader: &'a Reader,
    pub(super) plan: &'a Plan,
    pub(super) recipe: Recipe,
    pub(super) threads: usize,
    pub(super) source: &'a dyn ReadAt,
    pub(super) progress: Option<Progress<'a>>,
}

impl Job<'_> {
    /// Writes a new file, and replaces the old one with it.
    pub(super) fn run_atomically(&self, path: &Path) -> Result<()> {
        let old = File::open(path)?;
        let file = AtomicFile::create(path).map_err(Error::of_output)?;
        let file = self.write_to(file, |range, sink| copy(&old, range, sink))?;
        file.commit().map_err(Error::of_output)
    }

    /// Writes the new file to a sink. `copy` copies a range of the old file to the sink.
    pub(super) fn write_to<W: Write + Seek + Send>(
        &self,
        sink: W,
        copy: impl FnOnce(Range<u64>, &mut W) -> Result<()>,
    ) -> Result<W> {
        let Self { reader, plan, .. } = self;
        let old_section = reader.section()?;
        let section = plan.section.as_deref().unwrap_or(&old_section);
        let mut container = ContainerWriter::new(sink, plan.header.clone(), section)?;
        let digest = reader.header().checksum.len() as u64;
        let kept = &reader.chunks()[..plan.kept];
        let lens: Vec<u64> = kept.iter().map(|kept| u64::from(kept.ctbytes) + digest).collect();
        let start = reader.layout().data().start;
        let end = start + lens.iter().sum::<u64>();
        container.put_with(&lens, |sink| copy(start..end, sink))?;
        self.store(|stored| container.put(stored))?;
        container.finish(plan.header.chunk_size, plan.header.last_chunk)
    }

    /// Changes the file in place. If an operation fails, tries to roll the change back.
    pub(super) fn run_in_place(&self, storage: &mut dyn Storage) -> Result<()> {
        let Self { reader, plan, .. } = self;
        let layout = reader.layout();
        let kept_end = match layout.chunks().get(plan.kept) {
            Some(filled_up) => filled_up.offset,
            None => layout.data().end,
        };
        let place = InPlace {
            section: layout.metadata().filter(|_| plan.section.is_some()),
            entries: layout.offsets().map(|table| self.entries(table.start)),
            data: kept_end..layout.file_len(),
        };
        let header = plan.header.encode()?;
        let ranges = [place.section.clone(), place.entries.clone(), Some(place.data.clone())];
        let change = ChangePlan::new(layout.data().start..kept_end).marker(0, header);
        let change = ranges.into_iter().flatten().fold(change, ChangePlan::overwrite);
        let mut change = Change::begin(storage, &change)?;
        self.change(&mut change, &place, &header)?;
        Ok(change.commit()?)
    }

    /// Returns the file range of the table entries to change: the entries of the rewritten and new
    /// chunks or, if no offset was set before, the entries of all chunks.
    fn entries(&self, table: u64) -> Range<u64> {
        let is_set = self.reader.diagnostics().iter().all(|found| found.code != Code::OffsetsUnset);
        let first = if is_set { self.plan.kept as u64 } else { 0 };
        table + 8 * first..table + 8 * self.plan.nchunks()
    }

    /// Writes the chunks, then the metadata section and the table, and the header last. Until the
    /// header is written, the old header describes the file. The last chunk of the old file may be
    /// overwritten, but its bytes are in the journal. Finally, removes any bytes after the last
    /// chunk.
    fn change(&self, file: &mut dyn WriteAt, place: &InPlace, header: &[u8]) -> Result<()> {
        let chunks = self.reader.chunks();
        let mut offsets: Vec<u64> =
            chunks[..self.plan.kept].iter().map(|chunk| chunk.offset).collect();
        let mut position = place.data.start;
        self.store(|stored| {
            file.write_all_at(stored, position)?;
            offsets.push(position);
            position += stored.len() as u64;
            Ok(())
        })?;
        file.sync()?;
        if let Some((place, section)) = place.section.as_ref().zip(self.plan.section.as_ref()) {
            file.write_all_at(section, place.start)?;
        }
        if let Some(entries) = &place.entries {
            let all: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
            let len = usize::try_from(entries.end - entries.start).unwrap_or(usize::MAX);
            file.write_all_at(&all[all.len().saturating_sub(len)..], entries.start)?;
        }
        file.sync()?;
        file.write_all_at(header, 0)?;
        file.sync()?;
        Ok(file.set_len(position)?)
    }

    /// Compresses the filled-up chunk, if any, and the new chunks, and passes them to `put` in
    /// order.
    fn store(&self, put: impl FnMut(&[u8]) -> Result<()> + Send) -> Result<()> {
        let Self { plan, recipe, source, progress, .. } = *self;
        // The old data of the filled-up chunk precedes the data of the source.
        let head = plan.head.len() as u64;
        let store = |range: Range<u64>, read: &mut Vec<u8>, stored: &mut Vec<u8>| {
            let from = range.start.saturating_sub(head)..range.end - head;
            let len = from.end - from.start;
            if range.start >= head {
                recipe.store_from(source, from, read, stored)?;
            } else {
                read.clone_from(&plan.head);
                read.extend_from_slice(
                    &source.bytes_at(0, usize::try_from(len).unwrap_or(usize::MAX))?,
                );
                recipe.store(read, stored)?;
            }
            if let Some(progress) = progress {
                progress(len);
            }
            Ok(())
        };
        store_chunks(plan.chunking, self.threads, store, put)
    }
}

/// The ranges that the change overwrites in the file, apart from the header.
struct InPlace {
    section: Option<Range<u64>>,
    entries: Option<Range<u64>>,
    /// The range from the rewritten chunk to the end of the old file. If no chunk is rewritten, the
    /// range begins at the first new chunk.
    data: Range<u64>,
}
