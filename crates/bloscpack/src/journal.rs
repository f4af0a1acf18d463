//! The journal of a change in place: what the file was, so that a change that was interrupted can be
//! undone.
//!
//! It lies beside the file as `NAME.blpk-journal` while the file is being changed:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic, `blpkund1` |
//! | 8 | 4 | number of spans, at most 8 |
//! | 12 | 4 | CRC-32 of the witness |
//! | 16 | 16 | witness: position and length of bytes that the change leaves alone |
//! | 32 | 8 | length of the file |
//! | 40 | 32 | the header that the file is to have |
//! | 72 | 16 each | spans: position and length of bytes that the change may overwrite |
//! | | | the bytes of the spans, as they were |
//! | | 4 | CRC-32 of all before |
//!
//! All numbers are little-endian, u32 and u64. The order of a change:
//!
//! 1. The journal is written, and it and its directory reach the disk. Until then the file is as
//!    it was, so a journal that is not whole says that nothing has changed.
//! 2. The file is changed and reaches the disk, in steps that are the change's own.
//! 3. The journal is removed.
//!
//! To undo is to write the spans back, to cut the file to its old length, to wait for the disk, and
//! to remove the journal; interrupted, it is done again. A journal is held against the file before:
//! its header has to be the old one or the new one or a part of each, and the witness as it was.
//! Otherwise the file is another one, which someone put in its place, and is left alone.

use std::iter;
use std::ops::Range;
use std::path::Path;

use binio::{Algorithm, ByteReader, Endian, Hasher};

use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::storage::{FileStorage, Place, Storage};

const MAGIC: &[u8; 8] = b"blpkund1";
const HEADER: usize = 32;
/// Bytes before the spans.
const FIXED: u64 = 72;
/// Bytes before those of eight spans.
const LONGEST: usize = 72 + 8 * 16;
const CRC: usize = 4;
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;
/// Bytes that are witness enough.
const WITNESS: u64 = 64 << 10;

/// What is known of a change in place that was not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The journal is not whole, so the file is as it was.
    Unchanged,
    /// The file may be changed in part, and can be rolled back.
    Changed,
    /// The journal is of another file than this one, and useless.
    Foreign,
}

/// Tells whether there is a journal beside a file: a change in place, by appending or by other
/// metadata, was interrupted, or another process is at it.
pub fn pending(path: impl AsRef<Path>) -> Result<Option<Pending>> {
    let storage = FileStorage::open(path.as_ref())?;
    if !storage.has_journal() {
        return Ok(None);
    }
    Ok(Some(match Journal::read(&storage)? {
        None => Pending::Unchanged,
        Some(journal) if journal.is_of(&storage)? => Pending::Changed,
        Some(_) => Pending::Foreign,
    }))
}

/// Undoes a change in place that was interrupted, and says whether there was one. The file is then
/// as it was before the change.
///
/// Fails with [`Damaged`](ErrorKind::Damaged) if the journal is of another file, and with
/// [`Locked`](ErrorKind::Locked) if the change is still going on.
pub fn roll_back(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    if !FileStorage::open(path)?.has_journal() {
        return Ok(false);
    }
    roll_back_locked(&Lock::take(path)?)
}

/// The same for a file that the caller has locked.
pub(crate) fn roll_back_locked(lock: &Lock) -> Result<bool> {
    // A file that cannot be written to is fine, as long as it need not be.
    if !FileStorage::open(lock.path())?.has_journal() {
        return Ok(false);
    }
    undo(&mut FileStorage::open_to_change(lock)?)
}

/// A change that is to come.
pub(crate) struct Change {
    /// What may be overwritten. The header is always among it, and is not told here.
    pub(crate) spans: Vec<Range<u64>>,
    /// What will not be; a part of it is the witness.
    pub(crate) untouched: Range<u64>,
    /// The header that the file is to have.
    pub(crate) header: [u8; HEADER],
}

/// Writes the journal. When it returns, the file may be changed.
pub(crate) fn begin(storage: &mut dyn Storage, change: &Change) -> Result<()> {
    let len = storage.len(Place::File)?;
    let untouched = &change.untouched;
    let witness = untouched.end.saturating_sub(WITNESS).max(untouched.start)..untouched.end;
    // What is behind the end of the file goes when it is cut.
    let within = |span: &Range<u64>| span.start.min(len)..span.end.min(len);
    let spans: Vec<_> =
        iter::once(0..HEADER as u64).chain(change.spans.iter().map(within)).collect();

    let mut head = MAGIC.to_vec();
    head.extend(u32::try_from(spans.len()).unwrap_or(u32::MAX).to_le_bytes());
    head.extend(crc_of(storage, Place::File, &witness)?);
    for number in [witness.start, witness.end - witness.start, len] {
        head.extend(number.to_le_bytes());
    }
    head.extend(change.header);
    for span in &spans {
        head.extend(span.start.to_le_bytes());
        head.extend((span.end - span.start).to_le_bytes());
    }

    storage.create_journal()?;
    let written = write(storage, &head, &spans);
    if written.is_err() {
        // Nothing has changed. If this fails too, the journal is not whole, and says so.
        let _ = end(storage);
    }
    written
}

fn write(storage: &mut dyn Storage, head: &[u8], spans: &[Range<u64>]) -> Result<()> {
    let mut crc = Algorithm::Crc32.hasher();
    crc.update(head);
    storage.write_at(Place::Journal, head, 0)?;
    let mut at = head.len() as u64;
    for span in spans {
        for_pieces(span, |position, piece| {
            storage.read_at(Place::File, piece, position)?;
            crc.update(piece);
            storage.write_at(Place::Journal, piece, at)?;
            at += piece.len() as u64;
            Ok(())
        })?;
    }
    storage.write_at(Place::Journal, &stored(crc), at)?;
    storage.sync(Place::Journal)?;
    storage.sync_directory()
}

/// Ends a change all of which is on the disk.
pub(crate) fn end(storage: &mut dyn Storage) -> Result<()> {
    storage.remove_journal()?;
    storage.sync_directory()
}

/// Undoes a change, and says whether there was one.
pub(crate) fn undo(storage: &mut dyn Storage) -> Result<bool> {
    if !storage.has_journal() {
        return Ok(false);
    }
    if let Some(journal) = Journal::read(storage)? {
        if !journal.is_of(storage)? {
            let message =
                "the journal beside the file is of another file: remove one of them".to_owned();
            return Err(ErrorKind::Damaged(message).into());
        }
        let mut at = journal.spans_start;
        for span in &journal.spans {
            for_pieces(span, |position, piece| {
                storage.read_at(Place::Journal, piece, at)?;
                at += piece.len() as u64;
                storage.write_at(Place::File, piece, position)
            })?;
        }
        storage.set_len(journal.len)?;
        storage.sync(Place::File)?;
    }
    end(storage)?;
    Ok(true)
}

/// A journal that is whole.
struct Journal {
    witness: Range<u64>,
    witness_crc: [u8; CRC],
    /// Length of the file.
    len: u64,
    header: [u8; HEADER],
    spans: Vec<Range<u64>>,
    /// Where the bytes of the spans begin in the journal.
    spans_start: u64,
}

impl Journal {
    /// Reads the journal; nothing if it is not whole.
    fn read(storage: &dyn Storage) -> Result<Option<Self>> {
        let len = storage.len(Place::Journal)?;
        let Some(end) = len.checked_sub(CRC as u64).filter(|&end| end >= FIXED) else {
            return Ok(None);
        };
        let mut stored = [0; CRC];
        storage.read_at(Place::Journal, &mut stored, end)?;
        if crc_of(storage, Place::Journal, &(0..end))? != stored {
            return Ok(None);
        }
        let mut head = vec![0; usize::try_from(end).unwrap_or(usize::MAX).min(LONGEST)];
        storage.read_at(Place::Journal, &mut head, 0)?;
        Ok(Self::parse(&head, end).ok())
    }

    /// Parses the first bytes of a journal whose spans end at `end`.
    fn parse(head: &[u8], end: u64) -> binio::Result<Self> {
        let mut fields = ByteReader::new(head);
        fields.magic(MAGIC)?;
        let count: u32 = fields.read(Endian::Little)?;
        let witness_crc = fields.array()?;
        let witness = range(&mut fields)?;
        let len = fields.read(Endian::Little)?;
        let header = fields.array()?;
        let mut spans = Vec::new();
        for _ in 0..count {
            spans.push(range(&mut fields)?);
        }
        let spans_start = fields.offset();
        let lens = spans.iter().map(|span| u128::from(span.end - span.start)).sum::<u128>();
        let is_whole = u128::from(spans_start) + lens == u128::from(end)
            && spans.first() == Some(&(0..HEADER as u64))
            && spans.iter().all(|span| span.end <= len);
        if !is_whole {
            return Err(binio::Error::invalid("spans that are not those of a change"));
        }
        Ok(Self { witness, witness_crc, len, header, spans, spans_start })
    }

    /// Whether the file is the one that the journal is of, changed or not.
    fn is_of(&self, storage: &dyn Storage) -> Result<bool> {
        if storage.len(Place::File)? < self.witness.end.max(HEADER as u64) {
            return Ok(false);
        }
        let (mut before, mut now) = ([0; HEADER], [0; HEADER]);
        storage.read_at(Place::Journal, &mut before, self.spans_start)?;
        storage.read_at(Place::File, &mut now, 0)?;
        let mut either = before.iter().zip(&self.header).zip(&now);
        Ok(either.all(|((before, after), now)| now == before || now == after)
            && crc_of(storage, Place::File, &self.witness)? == self.witness_crc)
    }
}

/// A position and a length.
fn range(fields: &mut ByteReader<'_>) -> binio::Result<Range<u64>> {
    let start: u64 = fields.read(Endian::Little)?;
    let len: u64 = fields.read(Endian::Little)?;
    let end = start.checked_add(len).ok_or_else(|| binio::Error::invalid("a span without end"))?;
    Ok(start..end)
}

/// Calls `work` for each piece of a range, with its position and a buffer of its length.
fn for_pieces(
    range: &Range<u64>,
    mut work: impl FnMut(u64, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let mut position = range.start;
    let mut buffer = vec![0; len_of_piece(range.end - position)];
    while position < range.end {
        let piece = &mut buffer[..len_of_piece(range.end - position)];
        work(position, piece)?;
        position += piece.len() as u64;
    }
    Ok(())
}

fn len_of_piece(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX).min(PIECE)
}

/// CRC-32 of a part of a file, as the journal has it.
fn crc_of(storage: &dyn Storage, place: Place, range: &Range<u64>) -> Result<[u8; CRC]> {
    let mut crc = Algorithm::Crc32.hasher();
    for_pieces(range, |position, piece| {
        storage.read_at(place, piece, position)?;
        crc.update(piece);
        Ok(())
    })?;
    Ok(stored(crc))
}

fn stored(crc: Hasher) -> [u8; CRC] {
    let mut bytes = [0; CRC];
    for (byte, printed) in bytes.iter_mut().zip(crc.finish().as_bytes().iter().rev()) {
        *byte = *printed;
    }
    bytes
}
