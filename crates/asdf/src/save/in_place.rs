//! Changing an existing file in place. A journal protects the change.
//!
//! While the journal exists, readers that use this crate reconstruct the old content from it. If
//! the change is interrupted, the next program that uses this crate to open the file for writing
//! rolls the change back.

use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;

use binio::ReadAt;
use binio::write::{Change, ChangePlan, Storage, WriteAt};

use super::one_page::differing;
use super::options::MAX_PADDING;
use super::output::Sink;
use super::plan::{FilePlan, Part, Written};
use crate::error::{Error, Result};

/// Maximum number of changed bytes that the journal uses to identify the file.
const MAX_MARKER: u64 = 4096;

/// A plan for changing a file in place: some ranges are kept, and new bytes are written between them.
pub(super) struct InPlace<'a> {
    plan: FilePlan<'a>,
    /// The ranges of the old file that are overwritten with bytes known in advance, together with these bytes.
    overwritten: Vec<(Range<u64>, Vec<u8>)>,
    /// All bytes of the old file at or after this offset are overwritten or removed.
    rest: u64,
}

impl<'a> InPlace<'a> {
    /// Creates a plan by comparing the plan of the new file with the existing file.
    pub(super) fn new(file: FilePlan<'a>, source: &dyn ReadAt) -> Result<Self> {
        let plan = FilePlan::new(file.block_options);
        let mut in_place = Self { plan, overwritten: Vec::new(), rest: 0 };
        let mut parts = file.parts.into_iter();
        for part in parts.by_ref() {
            match part {
                Part::Copy { range, blocks } if range.start == in_place.rest => {
                    in_place.rest = range.end;
                    in_place.plan.copy_blocks(range, blocks);
                }
                Part::Copy { range, blocks } if blocks.is_empty() => {
                    let len = range.end - range.start;
                    let len = usize::try_from(len.min(MAX_PADDING + 1)).unwrap_or(usize::MAX);
                    if len as u64 > MAX_PADDING {
                        return Err(needs_new_file());
                    }
                    in_place.bytes(&source.bytes_at(range.start, len)?, source)?;
                }
                Part::Bytes(bytes) => in_place.bytes(&bytes, source)?,
                encoded => {
                    in_place.plan.parts.push(encoded);
                    break;
                }
            }
        }
        in_place.plan.parts.extend(parts);
        Ok(in_place)
    }

    /// Adds bytes of the new file. Only the range from the first to the last byte that differs from the existing
    /// bytes will be written.
    fn bytes(&mut self, bytes: &[u8], source: &dyn ReadAt) -> Result<()> {
        let start = self.rest;
        self.rest += bytes.len() as u64;
        let old_len = source.len().min(self.rest).saturating_sub(start);
        let old_len = usize::try_from(old_len).unwrap_or(usize::MAX);
        let old = source.bytes_at(start.min(source.len()), old_len)?;
        let (from, to) = match differing(&old, bytes) {
            None => (bytes.len(), bytes.len()),
            Some((from, _)) if old.len() < bytes.len() => (from, bytes.len()),
            Some(differing) => differing,
        };
        let changed = start + from as u64..start + to as u64;
        self.plan.copy(start..changed.start);
        if !changed.is_empty() {
            self.plan.bytes(bytes[from..to].to_vec());
            self.overwritten.push((changed.clone(), bytes[from..to].to_vec()));
        }
        self.plan.copy(changed.end..self.rest);
        Ok(())
    }

    /// Returns the ranges that the journal saves, and the bytes by which the file is identified: the longest
    /// range that is kept, and the beginning of the first range that changes.
    fn change(&self, old_len: u64) -> ChangePlan {
        let kept = self.plan.parts.iter().filter_map(|part| match part {
            Part::Copy { range, .. } => Some(range.clone()),
            _ => None,
        });
        let longest = kept.max_by_key(|range| range.end - range.start).unwrap_or_default();
        let mut change = ChangePlan::new(longest).overwrite(self.rest..old_len);
        for (range, _) in &self.overwritten {
            change = change.overwrite(range.clone());
        }
        if let Some((range, bytes)) = self.overwritten.first() {
            let len = MAX_MARKER.min(old_len.min(range.end).saturating_sub(range.start));
            let marker = &bytes[..usize::try_from(len).unwrap_or(0)];
            change = change.marker(range.start, marker);
        }
        change
    }

    /// Changes the file. If this fails, the change is rolled back, either immediately or when the file is next
    /// opened for writing. If only syncing the folder fails, the change is kept.
    pub(super) fn apply(&self, storage: &mut dyn Storage) -> Result<Written> {
        let old_len = storage.file().len();
        let mut change = Change::begin(storage, &self.change(old_len))?;
        let written = self.plan.write(Cursor { target: &mut change, position: 0 })?;
        if change.len() != written.len {
            change.set_len(written.len)?;
        }
        change.commit()?;
        Ok(written)
    }
}

fn needs_new_file() -> Error {
    Error::unwritable("the change cannot be made in place: write a new file instead")
}

/// A sink that writes to a target, starting at `position`.
struct Cursor<'t> {
    target: &'t mut dyn WriteAt,
    position: u64,
}

impl Sink for Cursor<'_> {
    /// Skips a range instead of copying it, because it is already at its final offset.
    fn copy(&mut self, range: Range<u64>) -> Result<()> {
        if range.start != self.position {
            return Err(needs_new_file());
        }
        self.position = range.end;
        Ok(())
    }
}

impl Write for Cursor<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.target.write_all_at(bytes, self.position)?;
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Cursor<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.target.len().checked_add_signed(by),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
