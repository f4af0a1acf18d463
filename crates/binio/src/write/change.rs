//! An in-place change that is undone unless it is committed.

use std::ops::Range;

use super::journal::{self, Head};
use super::{Storage, WriteAt};
use crate::{Error, ReadAt, Result};

/// Maximum length in bytes of the witness: the last bytes of the untouched range, which identify
/// the file.
const WITNESS: u64 = 64 << 10;

/// A plan for an in-place change: the ranges it may overwrite, and the bytes that identify the file
/// if the change has to be undone.
///
/// The old content of the ranges is saved in the journal. Bytes after the end of the file need no
/// range, because undoing the change truncates the file.
#[derive(Clone, Debug)]
pub struct ChangePlan {
    overwrites: Vec<Range<u64>>,
    untouched: Range<u64>,
    marker: Range<u64>,
    marker_after: Vec<u8>,
}

impl ChangePlan {
    /// Creates a plan for a change that does not overwrite the range `untouched`. The last bytes of
    /// the range, up to 64 KiB, identify the file.
    pub fn new(untouched: Range<u64>) -> Self {
        Self { overwrites: Vec::new(), untouched, marker: 0..0, marker_after: Vec::new() }
    }

    /// Adds a range that may be overwritten, or removed by truncating the file.
    #[must_use]
    pub fn overwrite(mut self, range: Range<u64>) -> Self {
        self.overwrites.push(range);
        self
    }

    /// Sets the marker: bytes at `offset` that identify the file even though the change overwrites
    /// them, such as a header. `after` is their new content. At any time during the change, each
    /// byte of the marker must be either the old byte or the corresponding byte of `after`. The
    /// maximum length is 4096 bytes.
    #[must_use]
    pub fn marker(mut self, offset: u64, after: impl Into<Vec<u8>>) -> Self {
        self.marker_after = after.into();
        self.marker = offset..offset.saturating_add(self.marker_after.len() as u64);
        let marker = self.marker.clone();
        self.overwrite(marker)
    }

    /// Returns the ranges to save from a file of `len` bytes. They are sorted, end no later than
    /// `len`, and are neither empty nor overlapping.
    fn ranges(&self, len: u64) -> Vec<Range<u64>> {
        let clip = |range: &Range<u64>| range.start.min(len)..range.end.min(len);
        let mut ranges: Vec<_> = self.overwrites.iter().map(clip).collect();
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        ranges.dedup_by(|next, before| {
            let merges = next.start <= before.end;
            if merges {
                before.end = before.end.max(next.end);
            }
            merges
        });
        ranges
    }
}

/// An in-place change in progress. Write to it, then [`commit`](Self::commit) it. If it is dropped
/// without a commit, it is undone.
///
/// Only the ranges of the plan and bytes after the old end of the file can be written.
///
/// ```
/// use binio::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data");
/// std::fs::write(&path, b"version 1, data")?;
/// let lock = FileLock::acquire(&path)?;
/// lock.roll_back()?;
/// let mut storage = FileStorage::open(&lock)?;
/// let plan = ChangePlan::new(9..15).marker(0, *b"version 2");
/// let mut change = Change::begin(&mut storage, &plan)?;
/// change.write_all_at(b", more data", 15)?;
/// change.sync()?;
/// change.write_all_at(b"version 2", 0)?;
/// change.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"version 2, data, more data");
/// # Ok::<(), binio::Error>(())
/// ```
pub struct Change<'a> {
    storage: &'a mut dyn Storage,
    ranges: Vec<Range<u64>>,
    /// Offset and new content of the marker. The journal contains them from the start, so writing
    /// the marker needs no record.
    marker: (u64, Vec<u8>),
    old_len: u64,
    finished: bool,
}

impl std::fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change")
            .field("ranges", &self.ranges)
            .field("old_len", &self.old_len)
            .finish_non_exhaustive()
    }
}

impl<'a> Change<'a> {
    /// Begins a change by writing the old content of the plan's ranges to the journal. When this
    /// method returns, the journal is on disk.
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](crate::ErrorKind::Invalid) if the plan overwrites its own untouched
    /// range, if no bytes identify the file, if the marker is longer than 4096 bytes, or if there
    /// are more than 2^32 - 1 ranges. Fails with [`Truncated`](crate::ErrorKind::Truncated) if the
    /// marker extends past the end of the file.
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the file cannot be read, if the journal cannot be
    /// written, or if there is already a journal, which has to be [rolled
    /// back](super::FileLock::roll_back) first.
    pub fn begin(storage: &'a mut dyn Storage, plan: &ChangePlan) -> Result<Self> {
        let file = storage.file();
        let len = file.len();
        let untouched = plan.untouched.start.min(len)..plan.untouched.end.min(len);
        let witness = untouched.end.saturating_sub(WITNESS).max(untouched.start)..untouched.end;
        let ranges = plan.ranges(len);
        let overlaps =
            |range: &Range<u64>| range.start.max(untouched.start) < range.end.min(untouched.end);
        if ranges.iter().any(overlaps) {
            return Err(Error::invalid(
                "the change plan would overwrite bytes that it declares as untouched",
            ));
        }
        let mut marker_before = vec![0; plan.marker_after.len()];
        file.read_exact_at(&mut marker_before, plan.marker.start)?;
        if witness.is_empty() && marker_before.is_empty() {
            return Err(Error::invalid(
                "the change plan has no bytes that identify the file: declare an untouched range \
                 or a marker",
            ));
        }
        let head = Head {
            len,
            identity: storage.identity().unwrap_or_default(),
            witness_crc: journal::crc_of(file, &witness)?,
            witness,
            marker_offset: plan.marker.start,
            marker_before,
            marker_after: plan.marker_after.clone(),
            ranges: ranges.clone(),
        };
        journal::create(storage, &head)?;
        let marker = (plan.marker.start, plan.marker_after.clone());
        Ok(Self { storage, ranges, marker, old_len: len, finished: false })
    }

    /// Completes the change: waits until the file is on disk, removes the journal, and syncs the
    /// directory.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if one of these steps fails. If the file cannot be
    /// synced, the change is undone. If the journal cannot be removed, the change is undone now or
    /// when the file is next opened for writing. If only the directory cannot be synced, the change
    /// is complete but may still be undone after a crash.
    pub fn commit(mut self) -> Result<()> {
        // If the file cannot be synced, dropping the value undoes the change.
        self.sync()?;
        journal::end(self.storage)?;
        self.finished = true;
        Ok(())
    }

    /// Undoes the change.
    ///
    /// # Errors
    ///
    /// Same as [`journal::undo`]. If undoing fails, the change is undone when the file is next
    /// opened for writing.
    pub fn roll_back(mut self) -> Result<()> {
        self.finished = true;
        journal::undo(self.storage).map(drop)
    }

    /// Adds a record of the new bytes that are about to overwrite old bytes of the file. The new
    /// content of the marker needs no record. Undoing the change later uses the records to
    /// distinguish the changed file from another file with the same name.
    fn record(&mut self, offset: u64, data: &[u8]) -> Result<()> {
        let left = usize::try_from(self.old_len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let data = &data[..data.len().min(left)];
        let (start, marker) = &self.marker;
        let at = offset.checked_sub(*start).and_then(|at| usize::try_from(at).ok());
        let is_marker =
            at.and_then(|at| marker.get(at..)).is_some_and(|marker| marker.starts_with(data));
        if data.is_empty() || is_marker {
            return Ok(());
        }
        journal::record(self.storage, offset, data)
    }

    /// Fails unless every byte of `range` is in a range of the plan or after the old end of the
    /// file.
    fn check(&self, range: &Range<u64>) -> Result<()> {
        let mut start = range.start;
        for allowed in &self.ranges {
            if allowed.contains(&start) {
                start = allowed.end;
            }
        }
        if start < range.end.min(self.old_len) {
            return Err(Error::invalid(
                "the change plan does not allow this byte to be overwritten",
            ))
            .map_err(|error: Error| error.at(start));
        }
        Ok(())
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // If this fails, the change is undone when the file is next opened for writing.
            let _ = journal::undo(self.storage);
        }
    }
}

impl ReadAt for Change<'_> {
    fn len(&self) -> u64 {
        self.storage.file().len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.storage.file().read_exact_at(buf, offset)
    }

    fn gap_worth_reading(&self) -> u64 {
        self.storage.file().gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.storage.file().preferred_piece()
    }
}

impl WriteAt for Change<'_> {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        self.check(&(offset..offset.saturating_add(data.len() as u64)))?;
        self.record(offset, data)?;
        self.storage.file_mut().write_all_at(data, offset)
    }

    fn set_len(&mut self, len: u64) -> Result<()> {
        self.check(&(len..self.old_len))?;
        if len < self.old_len {
            journal::record(self.storage, len, &[])?;
        }
        self.storage.file_mut().set_len(len)
    }

    fn sync(&mut self) -> Result<()> {
        self.storage.file_mut().sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::MemoryStorage;

    fn plan() -> ChangePlan {
        ChangePlan::new(6..8).overwrite(2..4).overwrite(3..6).overwrite(8..20)
    }

    #[test]
    fn only_planned_ranges_and_bytes_after_the_end_can_be_written() {
        let mut storage = MemoryStorage::new(b"0123456789");
        let mut change = Change::begin(&mut storage, &plan()).unwrap();
        for (offset, len) in [(2, 4), (5, 1), (8, 2), (9, 7), (30, 5)] {
            change.write_all_at(&vec![b'x'; len], offset).unwrap();
        }
        for (offset, len) in [(0, 1), (1, 2), (5, 2), (5, 6), (7, 1)] {
            let error = change.write_all_at(&vec![b'x'; len], offset).unwrap_err();
            assert!(error.to_string().starts_with("the change plan does not allow"), "{error}");
        }
        change.set_len(8).unwrap();
        assert!(change.set_len(7).is_err());
        change.commit().unwrap();
        assert_eq!(storage.file_bytes(), b"01xxxx67");
        assert_eq!(storage.journal_bytes(), None);
    }

    #[test]
    fn dropping_a_change_without_commit_undoes_it() {
        let mut storage = MemoryStorage::new(b"0123456789");
        let mut change = Change::begin(&mut storage, &plan()).unwrap();
        change.write_all_at(b"xxxx", 2).unwrap();
        change.set_len(8).unwrap();
        assert_eq!(change.bytes_at(0, 8).unwrap(), &b"01xxxx67"[..]);
        drop(change);
        assert_eq!((storage.file_bytes(), storage.journal_bytes()), (&b"0123456789"[..], None));
        let change = Change::begin(&mut storage, &plan()).unwrap();
        change.roll_back().unwrap();
        assert_eq!((storage.file_bytes(), storage.journal_bytes()), (&b"0123456789"[..], None));
    }

    #[test]
    fn plans_that_contradict_themselves_or_cannot_identify_the_file_are_rejected() {
        let mut storage = MemoryStorage::new(b"0123456789");
        assert!(Change::begin(&mut storage, &ChangePlan::new(4..4).overwrite(0..10)).is_err());
        assert!(Change::begin(&mut storage, &ChangePlan::new(20..30)).is_err());
        let past_the_end = ChangePlan::new(0..4).marker(8, *b"abc");
        assert!(Change::begin(&mut storage, &past_the_end).is_err());
        assert!(Change::begin(&mut storage, &ChangePlan::new(0..4).overwrite(3..5)).is_err());
        assert!(storage.operations().is_empty());
    }
}
