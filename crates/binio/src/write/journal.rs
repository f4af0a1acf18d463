//! The journal of a change in place: what the file was, so that a change that was interrupted can be
//! undone.
//!
//! It lies beside the file while the file is being changed. Its name is that of the file and a suffix
//! that the format chooses:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic, `undolog2` |
//! | 8 | 4 | number of ranges |
//! | 12 | 4 | CRC-32 of the witness |
//! | 16 | 16 | witness: position and length of bytes that the change leaves alone |
//! | 32 | 8 | length of the file |
//! | 40 | 16 | marker: position and length, at most 4096, of bytes that may change |
//! | 56 | | the marker before the change |
//! | | | the marker after the change |
//! | | 16 each | ranges: position and length of bytes that the change may overwrite |
//! | | | the bytes of the ranges, as they were |
//! | | 4 | CRC-32 of all before |
//!
//! All numbers are little-endian, u32 and u64. The order of a change:
//!
//! 1. The journal is written, and it and its directory reach the disk. Until then the file is
//!    unchanged, so an incomplete journal means that nothing has changed.
//! 2. The file is changed and reaches the disk, in steps that the change chooses.
//! 3. The journal is removed.
//!
//! To undo is to write the saved bytes back, to cut the file to its old length, to wait for the disk,
//! and to remove the journal; if that is interrupted, it is done again. The journal is compared with
//! the file first: each byte of the marker has to be the old or the new one, and the witness has to be
//! unchanged. Otherwise somebody put another file in its place, which is left alone.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use super::{FileLock, FileStorage, Storage};
use crate::checksum::{Algorithm, Hasher};
use crate::number::ByteReader;
use crate::{Endian, Error, FileSource, ReadAt, Result};

const MAGIC: &[u8; 8] = b"undolog2";
/// Bytes of every journal before the content of the marker.
const FIXED: usize = 56;
const MAX_MARKER: u64 = 4096;
const CRC: usize = 4;
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// The state of a change in place that was not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pending {
    /// The journal is incomplete, so the file is unchanged.
    Unchanged,
    /// The file may be changed in part, and can be rolled back.
    Changed,
    /// The journal belongs to another file.
    Foreign,
}

/// Reports whether there is a journal beside a file: a change in place was interrupted, or is going
/// on.
pub fn pending(path: impl AsRef<std::path::Path>, suffix: &str) -> Result<Option<Pending>> {
    let Some((file, journal)) = open(path.as_ref(), suffix)? else { return Ok(None) };
    Ok(Some(match Journal::read(&journal)? {
        None => Pending::Unchanged,
        Some(journal) if journal.is_of(&file)? => Pending::Changed,
        Some(_) => Pending::Foreign,
    }))
}

/// Opens a file and its journal for reading; returns `None` without a journal.
pub(super) fn open(path: &Path, suffix: &str) -> Result<Option<(FileSource, FileSource)>> {
    // Beside the file itself, by whatever link it is reached.
    let path = if std::fs::symlink_metadata(path)?.is_symlink() {
        Cow::Owned(std::fs::canonicalize(path)?)
    } else {
        Cow::Borrowed(path)
    };
    let Some(journal) = open_journal(&path, suffix)? else { return Ok(None) };
    Ok(Some((FileSource::open(&path)?, journal)))
}

/// Opens a regular file and, if there is one, its journal for reading.
pub(super) fn open_both(path: &Path, suffix: &str) -> Result<(FileSource, Option<FileSource>)> {
    if let Some(file) = open_unlinked(path)? {
        return Ok((file, open_journal(path, suffix)?));
    }
    let path = std::fs::canonicalize(path)?;
    Ok((FileSource::open(&path)?, open_journal(&path, suffix)?))
}

fn open_journal(path: &Path, suffix: &str) -> Result<Option<FileSource>> {
    let path = super::file::journal_path(path, suffix);
    // Mostly there is none: an error that names it would be made for nothing.
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    match FileSource::open(path) {
        Ok(journal) => Ok(Some(journal)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a regular file; returns `None` for a link. One system call finds out both.
#[cfg(unix)]
fn open_unlinked(path: &Path) -> Result<Option<FileSource>> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    // A pipe is not waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    #[allow(clippy::cast_possible_wrap, reason = "the system takes flags as a signed integer")]
    let flags = flags.bits() as i32;
    match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => FileSource::regular(file).map(Some),
        Err(_) if std::fs::symlink_metadata(path)?.is_symlink() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn open_unlinked(path: &Path) -> Result<Option<FileSource>> {
    if std::fs::symlink_metadata(path)?.is_symlink() {
        return Ok(None);
    }
    FileSource::open(path).map(Some)
}

fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), crate::ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::NotFound)
}

/// Locks a file and undoes a change in place that was interrupted. Returns whether there was one. The
/// file is then as it was before the change.
///
/// Fails with [`Invalid`](crate::ErrorKind::Invalid) if the journal belongs to another file, and with
/// [`Locked`](crate::ErrorKind::Locked) if the change is still going on.
pub fn roll_back(path: impl AsRef<std::path::Path>, suffix: &str) -> Result<bool> {
    let path = path.as_ref();
    // A file that cannot be locked is an error only if it must be locked.
    Ok(open(path, suffix)?.is_some() && FileLock::acquire(path)?.roll_back(suffix)?)
}

impl FileLock {
    /// Undoes a change in place that was interrupted, as [`roll_back`] does, for a file that is
    /// locked.
    pub fn roll_back(&self, suffix: &str) -> Result<bool> {
        // A file that cannot be written is an error only if it must be written.
        Ok(open(self.path(), suffix)?.is_some() && undo(&mut FileStorage::open(self, suffix)?)?)
    }
}

/// Undoes a change, and returns whether there was one.
pub fn undo(storage: &mut dyn Storage) -> Result<bool> {
    let Some(journal) = storage.journal() else { return Ok(false) };
    if let Some(journal) = Journal::read(journal)? {
        if !journal.is_of(storage.file())? {
            let message = "the journal beside the file belongs to another file: remove one of them";
            return Err(Error::invalid(message));
        }
        for (range, saved) in &journal.saved {
            for_pieces(range, |offset, piece| {
                let Some(journal) = storage.journal() else { return Ok(()) };
                journal.read_exact_at(piece, saved + (offset - range.start))?;
                storage.file_mut().write_all_at(piece, offset)
            })?;
        }
        storage.file_mut().set_len(journal.head.len)?;
        storage.file_mut().sync()?;
    }
    end(storage)?;
    Ok(true)
}

/// Writes the journal. When it returns, the file may be changed.
pub(super) fn create(storage: &mut dyn Storage, head: &Head) -> Result<()> {
    let bytes = head.encode()?;
    storage.create_journal()?;
    let written = write(storage, &bytes, &head.ranges);
    if written.is_err() {
        // Nothing has changed. If this fails too, an incomplete journal is left, which says so.
        let _ = end(storage);
    }
    written
}

fn write(storage: &mut dyn Storage, head: &[u8], ranges: &[Range<u64>]) -> Result<()> {
    let mut crc = Algorithm::Crc32.hasher();
    let mut end = 0;
    let mut append = |storage: &mut dyn Storage, bytes: &[u8]| {
        crc.update(bytes);
        let journal = storage.journal_mut().ok_or_else(missing)?;
        journal.write_all_at(bytes, end)?;
        end += bytes.len() as u64;
        Ok::<_, Error>(())
    };
    append(storage, head)?;
    for range in ranges {
        for_pieces(range, |offset, piece| {
            storage.file().read_exact_at(piece, offset)?;
            append(storage, piece)
        })?;
    }
    let journal = storage.journal_mut().ok_or_else(missing)?;
    journal.write_all_at(&stored(crc), end)?;
    journal.sync()?;
    storage.sync_directory()
}

fn missing() -> Error {
    std::io::Error::from(std::io::ErrorKind::NotFound).into()
}

/// Ends a change all of which is on the disk.
pub(super) fn end(storage: &mut dyn Storage) -> Result<()> {
    storage.remove_journal()?;
    storage.sync_directory()
}

/// What a journal holds before the saved bytes.
pub(super) struct Head {
    pub(super) witness: Range<u64>,
    pub(super) witness_crc: [u8; CRC],
    /// Length of the file before the change.
    pub(super) len: u64,
    pub(super) marker_offset: u64,
    pub(super) marker_before: Vec<u8>,
    pub(super) marker_after: Vec<u8>,
    pub(super) ranges: Vec<Range<u64>>,
}

impl Head {
    fn encode(&self) -> Result<Vec<u8>> {
        let marker_len = self.marker_after.len() as u64;
        if marker_len > MAX_MARKER {
            return Err(Error::invalid(format!("a marker of {marker_len} bytes, at most 4096")));
        }
        let count = u32::try_from(self.ranges.len());
        let count = count.map_err(|_| Error::invalid("too many ranges for a journal"))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(count.to_le_bytes());
        bytes.extend(self.witness_crc);
        let witness_len = self.witness.end - self.witness.start;
        let numbers = [self.witness.start, witness_len, self.len, self.marker_offset, marker_len];
        bytes.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        bytes.extend_from_slice(&self.marker_before);
        bytes.extend_from_slice(&self.marker_after);
        for range in &self.ranges {
            bytes.extend(range.start.to_le_bytes());
            bytes.extend((range.end - range.start).to_le_bytes());
        }
        Ok(bytes)
    }
}

/// A journal that is complete.
pub(super) struct Journal {
    pub(super) head: Head,
    /// The ranges and where their bytes begin in the journal, sorted and without overlaps.
    pub(super) saved: Vec<(Range<u64>, u64)>,
}

impl Journal {
    /// Reads a journal; returns `None` if it is incomplete. A complete one that is not understood is an
    /// error, since the file may be changed in part.
    pub(super) fn read(source: &(impl ReadAt + ?Sized)) -> Result<Option<Self>> {
        let Some(end) = source.len().checked_sub(CRC as u64).filter(|&end| end >= FIXED as u64)
        else {
            return Ok(None);
        };
        if crc_of(source, &(0..end))? != *source.bytes_at(end, CRC)? {
            return Ok(None);
        }
        Self::parse(&crate::Span::new(source, 0..end)?).map(Some)
    }

    /// Parses a journal without its CRC.
    fn parse(source: &dyn ReadAt) -> Result<Self> {
        let fixed = source.bytes_at(0, FIXED)?;
        let mut fields = ByteReader::new(&fixed);
        fields.magic(MAGIC)?;
        let count: u32 = fields.read(Endian::Little)?;
        let witness_crc = fields.array()?;
        let witness = range(&mut fields)?;
        let len = fields.read(Endian::Little)?;
        let marker = range(&mut fields)?;
        let marker_len = usize::try_from(marker.end - marker.start)
            .ok()
            .filter(|&len| len as u64 <= MAX_MARKER)
            .ok_or_else(|| Error::invalid("a marker that is too long"))?;

        let mut at = FIXED as u64;
        let mut take = |len: usize| {
            let bytes = source.bytes_at(at, len);
            at += len as u64;
            bytes
        };
        let marker_before = take(marker_len)?.to_vec();
        let marker_after = take(marker_len)?.to_vec();
        let table = take(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(16))?;
        let mut fields = ByteReader::new(&table);
        let mut saved = Vec::new();
        for _ in 0..count {
            let range = range(&mut fields)?;
            let start = at;
            at = at.checked_add(range.end - range.start).ok_or_else(endless)?;
            saved.push((range, start));
        }
        let is_whole = at == source.len() && saved.iter().all(|(range, _)| range.end <= len);
        saved.retain(|(range, _)| !range.is_empty());
        saved.sort_by_key(|(range, _)| range.start);
        if !is_whole || saved.windows(2).any(|pair| pair[0].0.end > pair[1].0.start) {
            return Err(Error::invalid("the ranges do not fit the journal"));
        }
        let ranges = saved.iter().map(|(range, _)| range.clone()).collect();
        let marker_offset = marker.start;
        let head =
            Head { witness, witness_crc, len, marker_offset, marker_before, marker_after, ranges };
        Ok(Self { head, saved })
    }

    /// Returns whether the file is the one that the journal belongs to, changed or not.
    pub(super) fn is_of(&self, file: &(impl ReadAt + ?Sized)) -> Result<bool> {
        let Head { witness, marker_offset, marker_before, marker_after, .. } = &self.head;
        let marker_end = marker_offset.saturating_add(marker_before.len() as u64);
        if file.len() < witness.end.max(marker_end) {
            return Ok(false);
        }
        let mut now = vec![0; marker_before.len()];
        file.read_exact_at(&mut now, *marker_offset)?;
        let mut either = marker_before.iter().zip(marker_after).zip(&now);
        Ok(either.all(|((before, after), now)| now == before || now == after)
            && crc_of(file, witness)? == self.head.witness_crc)
    }
}

/// A position and a length.
fn range(fields: &mut ByteReader<'_>) -> Result<Range<u64>> {
    let start: u64 = fields.read(Endian::Little)?;
    let len: u64 = fields.read(Endian::Little)?;
    Ok(start..start.checked_add(len).ok_or_else(endless)?)
}

fn endless() -> Error {
    Error::invalid("a range that ends after 2^64")
}

/// Calls `work` for each piece of a range, with its position and a buffer of its length.
fn for_pieces(
    range: &Range<u64>,
    mut work: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let len_of = |offset| usize::try_from(range.end - offset).unwrap_or(usize::MAX).min(PIECE);
    let mut offset = range.start;
    let mut buffer = vec![0; len_of(offset)];
    while offset < range.end {
        let piece = &mut buffer[..len_of(offset)];
        work(offset, piece)?;
        offset += piece.len() as u64;
    }
    Ok(())
}

/// CRC-32 of a part of a source, as the journal has it.
pub(super) fn crc_of(source: &(impl ReadAt + ?Sized), range: &Range<u64>) -> Result<[u8; CRC]> {
    let mut crc = Algorithm::Crc32.hasher();
    for piece in source.pieces(range.clone(), PIECE) {
        crc.update(&piece?);
    }
    Ok(stored(crc))
}

fn stored(crc: Hasher) -> [u8; CRC] {
    let mut bytes = [0; CRC];
    for (byte, printed) in bytes.iter_mut().zip(crc.finish().as_bytes().iter().rev()) {
        *byte = *printed;
    }
    bytes
}
