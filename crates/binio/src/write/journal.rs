//! Journals of in-place changes. A journal stores the old content of the file, so that an
//! interrupted change can be undone.
//!
//! While `FILE` is being changed, its journal is `FILE.undo-journal` in the same directory,
//! regardless of the format of the file:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic, `undolog3` |
//! | 8 | 4 | number of ranges |
//! | 12 | 4 | CRC-32 of the witness |
//! | 16 | 16 | witness: offset and length of bytes that the change does not touch |
//! | 32 | 8 | length of the file before the change |
//! | 40 | 16 | marker: offset and length (at most 4096) of identifying bytes that the change overwrites |
//! | 56 | 8 | inode number of the file, 0 if unknown |
//! | 64 | 8 | modification time of the file in nanoseconds since 1970, 0 if unknown |
//! | 72 | 8 | length of the journal up to its CRC |
//! | 80 | | the marker before the change |
//! | | | the marker after the change |
//! | | 16 each | ranges: offset and length of bytes that the change may overwrite |
//! | | | the old bytes of the ranges |
//! | | 4 | CRC-32 of all bytes above |
//! | | | records of the bytes that the change has written so far |
//!
//! Before saved bytes are overwritten, or removed by truncating the file, a record is added and
//! synced, unless the new bytes are the new content of the marker. A record has these fields:
//!
//! | size | field |
//! |---|---|
//! | 8 | offset of the bytes, or the new length of the file |
//! | 8 | number of bytes, 0 if the file is truncated |
//! | | the new bytes |
//! | 4 | CRC-32 of the record |
//!
//! All numbers are little-endian u32 or u64. A change has three steps:
//!
//! 1. The journal is written and synced, then its directory is synced. The file is unchanged until
//!    then, so an incomplete journal means that nothing has changed.
//! 2. The file is changed and synced, in as many steps as the change needs.
//! 3. The journal is removed.
//!
//! Undoing a change writes the saved bytes back, sets the file to its old length, syncs it, and
//! removes the journal. If undoing is interrupted, it can simply be repeated.
//!
//! The journal is first compared with the file, because a different file may now have the same
//! name. The journal belongs to the file only if all of these conditions hold:
//!
//! - The inode is the same, and the modification time is not earlier than in the journal. A value
//!   that is unknown is not compared.
//! - The file is long enough.
//! - The witness is unchanged.
//! - Each byte that the change may overwrite has its old value, or a value from a record or from
//!   the marker. After a truncation, it may also be zero.
//!
//! Otherwise the file is not touched. Journals of an older version have no records, so they are
//! never applied.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::{FileLock, FileStorage, Storage};
use crate::checksum::{Algorithm, Hasher};
use crate::number::ByteReader;
use crate::{Context, Endian, Error, FileSource, ReadAt, Result};

/// Suffix of journal file names, appended to the name of the file. It is the same for all formats,
/// because a file of one format may be replaced by a file of another.
pub const SUFFIX: &str = ".undo-journal";

const MAGIC: &[u8; 8] = b"undolog3";
/// Size in bytes of the fixed fields, which precede the marker.
const FIXED: usize = 80;
/// Offset of the field that contains the length of the journal.
const LEN_OFFSET: usize = 72;
/// Size in bytes of a record's header.
const RECORD: usize = 16;
const MAX_MARKER: u64 = 4096;
const CRC: usize = 4;
/// Maximum number of bytes copied at a time.
const PIECE: usize = 1 << 20;

/// The state of an unfinished in-place change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pending {
    /// The journal is incomplete, so the file is unchanged.
    Unchanged,
    /// The file may be partly changed, and the change can be rolled back.
    Changed,
    /// The journal belongs to another file.
    Foreign,
}

/// Returns the state of an unfinished in-place change, which was interrupted or is still in
/// progress. Returns `None` if the file has no journal.
///
/// # Errors
///
/// Fails with [`Io`](crate::ErrorKind::Io) if the file does not exist, or if the file or its
/// journal cannot be read. If there is a journal, also fails like [`FileSource::open`], for the
/// file and for the journal. Fails with [`Magic`](crate::ErrorKind::Magic) if the journal is
/// complete but has an unknown version, and with [`Invalid`](crate::ErrorKind::Invalid) or
/// [`Truncated`](crate::ErrorKind::Truncated) if its fields contradict each other.
pub fn pending(path: impl AsRef<Path>) -> Result<Option<Pending>> {
    let Some((file, journal)) = open(path.as_ref())? else { return Ok(None) };
    Ok(Some(match Journal::read(&journal)? {
        None => Pending::Unchanged,
        Some(read) if read.is_of(&file, &journal, Identity::of(&file.file))? => Pending::Changed,
        Some(_) => Pending::Foreign,
    }))
}

/// Returns the path of a file's journal.
pub(super) fn path_of(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(SUFFIX);
    path.into()
}

/// Opens a file and its journal for reading, or returns `None` if there is no journal.
pub(super) fn open(path: &Path) -> Result<Option<(FileSource, FileSource)>> {
    // Look for the journal next to the file itself, even if `path` is a symbolic link.
    let path = if std::fs::symlink_metadata(path)?.is_symlink() {
        Cow::Owned(std::fs::canonicalize(path)?)
    } else {
        Cow::Borrowed(path)
    };
    let Some(journal) = open_journal(&path)? else { return Ok(None) };
    Ok(Some((FileSource::open(&path)?, journal)))
}

/// Opens a regular file for reading, and its journal if there is one.
pub(super) fn open_both(path: &Path) -> Result<(FileSource, Option<FileSource>)> {
    if let Some(file) = open_unlinked(path)? {
        return Ok((file, open_journal(path)?));
    }
    let path = std::fs::canonicalize(path)?;
    Ok((FileSource::open(&path)?, open_journal(&path)?))
}

fn open_journal(path: &Path) -> Result<Option<FileSource>> {
    let path = path_of(path);
    // Usually there is no journal, so avoid the cost of building an error that contains the path.
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

/// Opens a regular file, or returns `None` for a symbolic link. Usually looks up the path only
/// once.
#[cfg(unix)]
fn open_unlinked(path: &Path) -> Result<Option<FileSource>> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    // If the file is a pipe, do not wait for its writer.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    #[allow(clippy::cast_possible_wrap, reason = "the system expects flags as a signed integer")]
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

/// Undoes an interrupted in-place change, so that the file is as it was before the change. If there
/// is a journal, locks the file and returns `true`.
///
/// # Errors
///
/// Same as [`pending`]. Also fails with [`ForeignJournal`](crate::ErrorKind::ForeignJournal) if the
/// journal belongs to another file, with [`Locked`](crate::ErrorKind::Locked) if the change is
/// still in progress, and with [`Io`](crate::ErrorKind::Io) if the file cannot be written.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    // Only lock the file if there is a change to undo. Without a journal, it is no error if the
    // file cannot be locked.
    Ok(open(path)?.is_some() && FileLock::acquire(path)?.roll_back()?)
}

/// Undoes an interrupted change of a file that is about to be replaced, so that its journal does
/// not remain next to the new file.
///
/// Fails if another process is changing the file, if the journal belongs to another file, or if
/// there is a journal but no file. In these cases, the bytes in the journal may still be needed, so
/// the user has to decide what to do with the journal.
pub(super) fn settle(target: &Path) -> Result<()> {
    let journal = path_of(target);
    if std::fs::symlink_metadata(&journal).is_err() {
        return Ok(());
    }
    if std::fs::symlink_metadata(target).is_ok() {
        return roll_back(target).map(drop);
    }
    let error = Error::new(crate::ErrorKind::ForeignJournal);
    Err(error.context(journal.display().to_string()))
}

impl FileLock {
    /// Like [`roll_back`], but for a file that is already locked.
    ///
    /// # Errors
    ///
    /// Same as [`roll_back`], except that it cannot fail with [`Locked`](crate::ErrorKind::Locked).
    pub fn roll_back(&self) -> Result<bool> {
        // Only open the file for writing if there is a change to undo. Without a journal, it is no
        // error if the file is read-only.
        if open(self.path())?.is_none() {
            return Ok(false);
        }
        let undone = undo(&mut FileStorage::open(self)?);
        undone.with_context(|| path_of(self.path()).display().to_string())
    }
}

/// Undoes a change and removes its journal. Returns `true` if there was a journal.
///
/// # Errors
///
/// Fails with [`ForeignJournal`](crate::ErrorKind::ForeignJournal) if the journal belongs to
/// another file. Fails with [`Magic`](crate::ErrorKind::Magic),
/// [`Invalid`](crate::ErrorKind::Invalid) or [`Truncated`](crate::ErrorKind::Truncated) if the
/// journal is invalid: see [`pending`]. Also fails if the storage cannot be read or written.
pub fn undo(storage: &mut dyn Storage) -> Result<bool> {
    let Some(journal) = storage.journal() else { return Ok(false) };
    if let Some(read) = Journal::read(journal)? {
        if !read.is_of(storage.file(), journal, storage.identity())? {
            return Err(Error::new(crate::ErrorKind::ForeignJournal));
        }
        for (range, saved) in &read.saved {
            for_pieces(range, |offset, piece| {
                let Some(journal) = storage.journal() else { return Ok(()) };
                journal.read_exact_at(piece, saved + (offset - range.start))?;
                storage.file_mut().write_all_at(piece, offset)
            })?;
        }
        storage.file_mut().set_len(read.head.len)?;
        storage.file_mut().sync()?;
    }
    end(storage)?;
    Ok(true)
}

/// Creates, writes and syncs the journal. The file may be changed once this function returns.
pub(super) fn create(storage: &mut dyn Storage, head: &Head) -> Result<()> {
    let bytes = head.encode()?;
    storage.create_journal()?;
    let written = write(storage, &bytes, &head.ranges);
    if written.is_err() {
        // The file is unchanged. If removing the journal fails too, the journal does no harm,
        // because it is incomplete or contains the same bytes as the file.
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

/// Adds a record of bytes that are about to overwrite saved ones, and syncs the journal. A record
/// without bytes means that the file is about to be truncated to `offset`.
pub(super) fn record(storage: &mut dyn Storage, offset: u64, data: &[u8]) -> Result<()> {
    let mut bytes = Vec::with_capacity(RECORD + data.len() + CRC);
    bytes.extend(offset.to_le_bytes());
    bytes.extend((data.len() as u64).to_le_bytes());
    bytes.extend_from_slice(data);
    let mut crc = Algorithm::Crc32.hasher();
    crc.update(&bytes);
    bytes.extend(stored(crc));
    let journal = storage.journal_mut().ok_or_else(missing)?;
    let end = journal.len();
    journal.write_all_at(&bytes, end)?;
    journal.sync()
}

fn missing() -> Error {
    std::io::Error::from(std::io::ErrorKind::NotFound).into()
}

/// Ends a change by removing its journal. All changes to the file must already be on disk.
pub(super) fn end(storage: &mut dyn Storage) -> Result<()> {
    storage.remove_journal()?;
    storage.sync_directory()
}

/// The part of a journal before the saved bytes.
pub(super) struct Head {
    pub(super) witness: Range<u64>,
    pub(super) witness_crc: [u8; CRC],
    /// Length of the file before the change.
    pub(super) len: u64,
    pub(super) identity: Identity,
    pub(super) marker_offset: u64,
    pub(super) marker_before: Vec<u8>,
    pub(super) marker_after: Vec<u8>,
    pub(super) ranges: Vec<Range<u64>>,
}

impl Head {
    fn encode(&self) -> Result<Vec<u8>> {
        let marker_len = self.marker_after.len() as u64;
        if marker_len > MAX_MARKER {
            return Err(Error::invalid(format!(
                "the marker has {marker_len} bytes, expected at most 4096"
            )));
        }
        let count = u32::try_from(self.ranges.len());
        let count = count.map_err(|_| {
            Error::invalid("the change has too many ranges for a journal, expected fewer than 2^32")
        })?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(count.to_le_bytes());
        bytes.extend(self.witness_crc);
        let witness_len = self.witness.end - self.witness.start;
        let numbers = [self.witness.start, witness_len, self.len, self.marker_offset, marker_len];
        bytes.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        bytes.extend(self.identity.inode.to_le_bytes());
        bytes.extend(self.identity.modified.to_le_bytes());
        let saved: u64 = self.ranges.iter().map(|range| range.end - range.start).sum();
        let len = FIXED as u64 + 2 * marker_len + 16 * u64::from(count) + saved;
        bytes.extend(len.to_le_bytes());
        bytes.extend_from_slice(&self.marker_before);
        bytes.extend_from_slice(&self.marker_after);
        for range in &self.ranges {
            bytes.extend(range.start.to_le_bytes());
            bytes.extend((range.end - range.start).to_le_bytes());
        }
        Ok(bytes)
    }
}

/// A complete journal.
pub(super) struct Journal {
    pub(super) head: Head,
    /// The saved ranges of the file, each with the offset of its bytes in the journal. They are
    /// sorted and do not overlap.
    pub(super) saved: Vec<(Range<u64>, u64)>,
    /// Ranges that the change has written or was about to write, each with the offset of the new
    /// bytes in the journal. An empty range means that the file was truncated to the start of the
    /// range.
    records: Vec<(Range<u64>, u64)>,
}

impl Journal {
    /// Reads a journal, or returns `None` if it is incomplete. Fails if it is complete but invalid
    /// or of an unknown version, since the file may then be partly changed.
    pub(super) fn read(source: &(impl ReadAt + ?Sized)) -> Result<Option<Self>> {
        if source.len() < FIXED as u64 {
            return Ok(None);
        }
        let head = source.bytes_at(0, FIXED)?;
        // Only this version has a length field at this offset. Assume that journals of other
        // versions end with their CRC.
        let end = if head.starts_with(MAGIC) {
            ByteReader::new(&head[LEN_OFFSET..]).read(Endian::Little)?
        } else {
            source.len().saturating_sub(CRC as u64)
        };
        let is_within =
            |end: &u64| end.checked_add(CRC as u64).is_some_and(|end| end <= source.len());
        let Some(end) = Some(end).filter(is_within) else { return Ok(None) };
        if crc_of(source, &(0..end))? != *source.bytes_at(end, CRC)? {
            return Ok(None);
        }
        let mut journal = Self::parse(&crate::Span::new(source, 0..end)?)?;
        journal.records = records(source, end + CRC as u64)?;
        Ok(Some(journal))
    }

    /// Parses a journal without its CRC and records.
    fn parse(source: &dyn ReadAt) -> Result<Self> {
        let fixed = source.bytes_at(0, FIXED)?;
        let mut fields = ByteReader::new(&fixed);
        fields.magic(MAGIC)?;
        let count: u32 = fields.read(Endian::Little)?;
        let witness_crc = fields.array()?;
        let witness = range(&mut fields)?;
        let len = fields.read(Endian::Little)?;
        let marker = range(&mut fields)?;
        let inode = fields.read(Endian::Little)?;
        let identity = Identity { inode, modified: fields.read(Endian::Little)? };
        let marker_len = usize::try_from(marker.end - marker.start)
            .ok()
            .filter(|&len| len as u64 <= MAX_MARKER)
            .ok_or_else(|| Error::invalid("the marker in the journal is longer than 4096 bytes"))?;

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
            return Err(Error::invalid(
                "the ranges in the journal overlap, extend past the end of the file, or do not match \
                 the length of the journal",
            ));
        }
        let ranges = saved.iter().map(|(range, _)| range.clone()).collect();
        let marker_offset = marker.start;
        let head = Head {
            witness,
            witness_crc,
            len,
            identity,
            marker_offset,
            marker_before,
            marker_after,
            ranges,
        };
        Ok(Self { head, saved, records: Vec::new() })
    }

    /// Returns `true` if the journal belongs to the file, regardless of whether the file has
    /// already been changed. `identity` is `None` if it is unknown.
    pub(super) fn is_of(
        &self,
        file: &(impl ReadAt + ?Sized),
        journal: &(impl ReadAt + ?Sized),
        identity: Option<Identity>,
    ) -> Result<bool> {
        let Head { witness, marker_offset, marker_before, marker_after, .. } = &self.head;
        let marker_end = marker_offset.saturating_add(marker_before.len() as u64);
        let is_same = identity.is_none_or(|now| self.head.identity.may_become(now));
        if !is_same || file.len() < witness.end.max(marker_end) {
            return Ok(false);
        }
        let mut now = vec![0; marker_before.len()];
        file.read_exact_at(&mut now, *marker_offset)?;
        let mut either = marker_before.iter().zip(marker_after).zip(&now);
        Ok(either.all(|((before, after), now)| now == before || now == after)
            && crc_of(file, witness)? == self.head.witness_crc
            && self.explains(file, journal)?)
    }

    /// Returns `true` if the change can account for every difference between the file and the saved
    /// bytes.
    fn explains(
        &self,
        file: &(impl ReadAt + ?Sized),
        journal: &(impl ReadAt + ?Sized),
    ) -> Result<bool> {
        let cuts = self.records.iter().filter(|(range, _)| range.is_empty());
        let shortest = cuts.map(|(range, _)| range.start).min().unwrap_or(u64::MAX);
        let end = file.len();
        if end < self.head.len.min(shortest) {
            return Ok(false);
        }
        let mut is_explained = true;
        for (range, saved) in &self.saved {
            let present = range.start..range.end.min(end);
            for_pieces(&present, |offset, now| {
                if !is_explained {
                    return Ok(());
                }
                file.read_exact_at(now, offset)?;
                let at = saved + (offset - range.start);
                let mut before = vec![0; now.len()];
                journal.read_exact_at(&mut before, at)?;
                let mut differs: Vec<bool> =
                    before.iter().zip(&*now).map(|(before, now)| before != now).collect();
                if differs.contains(&true) {
                    self.explain(offset, now, journal, &mut differs)?;
                    // A file that was truncated and has grown again may contain zeros in the gap.
                    let mut bytes = (offset..).zip(&*now).zip(&differs);
                    is_explained =
                        bytes.all(|((at, now), differs)| !differs || (at >= shortest && *now == 0));
                }
                Ok(())
            })?;
        }
        Ok(is_explained)
    }

    /// Clears the `differs` flag of each byte that equals the byte at the same offset in the marker
    /// or in a record. `now` contains the bytes of the file from `offset` onwards.
    fn explain(
        &self,
        offset: u64,
        now: &[u8],
        journal: &(impl ReadAt + ?Sized),
        differs: &mut [bool],
    ) -> Result<()> {
        let mut clear = |start: u64, new: &[u8]| {
            let bytes = (start..).zip(new);
            for (at, new) in bytes {
                // The conversion cannot fail, because `at` is within the piece.
                let at = usize::try_from(at - offset).unwrap_or(usize::MAX);
                if now.get(at) == Some(new) {
                    differs[at] = false;
                }
            }
        };
        let piece = offset..offset + now.len() as u64;
        let common = |range: &Range<u64>| {
            let start = range.start.max(piece.start);
            start..range.end.min(piece.end).max(start)
        };
        let marker_start = self.head.marker_offset;
        let marker = common(&(marker_start..marker_start + self.head.marker_after.len() as u64));
        let part = [marker.start, marker.end]
            .map(|at| usize::try_from(at.saturating_sub(marker_start)).unwrap_or(usize::MAX));
        clear(marker.start, self.head.marker_after.get(part[0]..part[1]).unwrap_or_default());
        for (range, start) in &self.records {
            let part = common(range);
            let len = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
            if len > 0 {
                clear(part.start, &journal.bytes_at(start + (part.start - range.start), len)?);
            }
        }
        Ok(())
    }
}

/// Reads all complete records from offset `at` onwards. Bytes of an incomplete record, or of any
/// record after it, were never written to the file.
fn records(source: &(impl ReadAt + ?Sized), mut at: u64) -> Result<Vec<(Range<u64>, u64)>> {
    let mut records = Vec::new();
    while source.len() - at >= (RECORD + CRC) as u64 {
        let head = source.bytes_at(at, RECORD)?;
        let Ok(range) = range(&mut ByteReader::new(&head)) else { break };
        let data = at + RECORD as u64;
        let Some(end) = data.checked_add(range.end - range.start) else { break };
        if end.checked_add(CRC as u64).is_none_or(|end| end > source.len())
            || crc_of(source, &(at..end))? != *source.bytes_at(end, CRC)?
        {
            break;
        }
        records.push((range, data));
        at = end + CRC as u64;
    }
    Ok(records)
}

/// The inode and modification time of a file, which identify the file regardless of its content.
/// Zero means unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Inode number of the file.
    inode: u64,
    /// Modification time of the file in nanoseconds since the start of 1970.
    modified: u64,
}

impl Identity {
    /// Returns the identity of an open file, or `None` if its metadata cannot be read.
    pub fn of(file: &std::fs::File) -> Option<Self> {
        let metadata = file.metadata().ok()?;
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let inode = 0;
        let since = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = since.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0);
        Some(Self { inode, modified })
    }

    /// Returns `true` if an in-place change could turn this identity into `now`: the inode is the
    /// same (if both are known), and the modification time (if known) is not earlier.
    fn may_become(self, now: Self) -> bool {
        let is_same_inode = self.inode == 0 || now.inode == 0 || self.inode == now.inode;
        is_same_inode && (now.modified == 0 || now.modified >= self.modified)
    }
}

/// Reads a range, which is stored as an offset and a length.
fn range(fields: &mut ByteReader<'_>) -> Result<Range<u64>> {
    let start: u64 = fields.read(Endian::Little)?;
    let len: u64 = fields.read(Endian::Little)?;
    Ok(start..start.checked_add(len).ok_or_else(endless)?)
}

fn endless() -> Error {
    Error::invalid("the end of a range in the journal does not fit in 64 bits")
}

/// Calls `work` for each piece of a range, with the offset of the piece and a buffer as long as the
/// piece.
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

/// Returns the CRC-32 of a range, as the journal stores it.
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
