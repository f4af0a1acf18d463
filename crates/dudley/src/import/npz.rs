//! numpy `.npz` files: zip archives whose members are `.npy` files.
//!
//! ```text
//! local header, member, local header, member, ..   central directory   [zip64 end, zip64 locator]   end
//! ```
//!
//! The end of the central directory is the last part of the file, apart from a comment:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | `50 4b 05 06` |
//! | 12 | 4 | length of the central directory in bytes |
//! | 16 | 4 | offset of the central directory |
//! | 20 | 2 | length of the comment, which follows |
//!
//! An entry of the central directory:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | `50 4b 01 02` |
//! | 8 | 2 | flags; bit 0: encrypted |
//! | 10 | 2 | method; 0: stored, 8: deflated |
//! | 20, 24 | 4 | length of the member in bytes, as stored and decompressed |
//! | 28, 30, 32 | 2 | lengths of the name, the extra fields and the comment, which follow |
//! | 42 | 4 | offset of the local header |
//!
//! Numbers are little-endian. A number that does not fit is replaced by `ff ff ff ff` and stored in the extra
//! field 1 (zip64). numpy writes zip64 fields in every local header, so sizes are read from the central
//! directory instead.

use binio::array::npy::Header;
use binio::diagnostic::count;
use binio::number::ByteReader;
use binio::{Endian, ReadAt, Span};

use super::imported::{Imported, Names, damaged, no_layout_for, past_end, path_of};
use super::npy::push_npy;
use crate::error::Error;
use crate::text::format;

const FORMAT: &str = "zip";
const END: &[u8; 4] = b"PK\x05\x06";
const END_LEN: usize = 22;
const LOCATOR_LEN: u64 = 20;
const END_64_LEN: usize = 56;
const LOCAL_LEN: usize = 30;

/// Creates a layout for a `.npz` file. Each array becomes an item with the name of its member, without `.npy`.
/// If an array is in Fortran order, its dimensions are reversed and it gets the attribute `order="F"`.
/// Compressed members cannot be described; they are reported in [`Imported::errors`].
///
/// # Errors
///
/// Fails with [`Import`](crate::ErrorKind::Import) if the archive is damaged, and with
/// [`Read`](crate::ErrorKind::Read) if it cannot be read.
pub fn from_npz(file: &dyn ReadAt) -> Result<Imported, Error> {
    let mut members = members(file)?;
    // Members must not overlap, so that each byte is read at most once.
    members.sort_by_key(|member| member.header);
    for pair in members.windows(2) {
        if pair[0].header.saturating_add(pair[0].stored) > pair[1].header {
            let message = format!("the members {:?} and {:?} overlap", pair[0].name, pair[1].name);
            return Err(damaged(FORMAT, pair[1].header, message));
        }
    }
    let (mut text, mut errors, mut names) = (String::new(), Vec::new(), Names::default());
    for member in members {
        let name = member.name.strip_suffix(".npy").unwrap_or(&member.name);
        names.add(name, FORMAT, member.header)?;
        match member.array(file) {
            Ok((header, address)) => {
                errors.extend(past_end(path_of(name), address, header.byte_size(), member.end));
                push_npy(&mut text, name, &header, address);
            }
            Err(reason) => errors.push(no_layout_for(path_of(name), reason)),
        }
    }
    Ok(Imported { layout: format(text)?, errors })
}

/// A member of an archive.
struct Member {
    name: String,
    flags: u16,
    method: u16,
    stored: u64,
    /// Offset of the local header.
    header: u64,
    /// End of the stored bytes.
    end: u64,
}

impl Member {
    /// Reads the `.npy` header of the member. Returns it with the address of the data.
    fn array(&self, file: &dyn ReadAt) -> Result<(Header, u64), String> {
        if self.flags & 1 != 0 {
            return Err("it is encrypted".to_owned());
        }
        match self.method {
            0 => {}
            8 => {
                return Err(
                    "it is deflated: a layout describes data that are stored as they are; write \
                            the file with numpy.savez instead of numpy.savez_compressed"
                        .to_owned(),
                );
            }
            other => return Err(format!("it is compressed by method {other}")),
        }
        let start = self.end - self.stored;
        let span = Span::new(file, start..self.end).map_err(|error| error.to_string())?;
        let (header, address) = Header::read(&span).map_err(|error| error.to_string())?;
        Ok((header, start + address))
    }
}

/// Reads `len` bytes at an offset, or fewer at the end of the file.
fn at(file: &dyn ReadAt, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
    let left = usize::try_from(file.len().saturating_sub(offset)).unwrap_or(usize::MAX);
    Ok(file.bytes_at(offset.min(file.len()), len.min(left))?.to_vec())
}

/// Returns the members listed in the central directory.
fn members(file: &dyn ReadAt) -> Result<Vec<Member>, Error> {
    let (start, directory) = directory(file)?;
    let base = start.base;
    let mut reader = ByteReader::at(&directory, start.offset);
    let mut members = Vec::new();
    while reader.remaining() > 0 {
        members.push(entry(&mut reader, base, file)?);
    }
    Ok(members)
}

/// The offset of the central directory, and the number of bytes before the archive, which must be added to all
/// offsets in it.
struct Start {
    offset: u64,
    base: u64,
}

/// Finds and reads the central directory.
fn directory(file: &dyn ReadAt) -> Result<(Start, Vec<u8>), Error> {
    let len = file.len();
    let tail = len.saturating_sub(END_LEN as u64 + u64::from(u16::MAX));
    let bytes = at(file, tail, usize::MAX)?;
    let fits = |&place: &usize| {
        let comment = usize::from(u16::from_le_bytes([bytes[place + 20], bytes[place + 21]]));
        bytes[place..].starts_with(END) && place + END_LEN + comment <= bytes.len()
    };
    let last = bytes.len().checked_sub(END_LEN);
    let place = last.and_then(|last| (0..=last).rev().find(fits)).ok_or_else(|| {
        damaged(FORMAT, len, "the file ends without the end of a central directory: it is cut")
    })?;
    let mut end = tail + place as u64;
    let mut fields = ByteReader::at(&bytes[place + 12..], end + 12);
    let mut size = u64::from(fields.read::<u32>(Endian::Little)?);
    let mut offset = u64::from(fields.read::<u32>(Endian::Little)?);
    let locator = at(file, end.saturating_sub(LOCATOR_LEN), END_LEN)?;
    if end >= LOCATOR_LEN && locator.starts_with(b"PK\x06\x07") {
        let place = ByteReader::new(&locator[8..]).read::<u64>(Endian::Little)?;
        let large = at(file, place, END_64_LEN)?;
        if !large.starts_with(b"PK\x06\x06") || large.len() < END_64_LEN {
            return Err(damaged(FORMAT, place, "expected 50 4b 06 06, the end of a zip64 archive"));
        }
        let mut fields = ByteReader::at(&large[40..], place + 40);
        (size, offset) = (fields.read(Endian::Little)?, fields.read(Endian::Little)?);
        end = place;
    }
    let start = end.checked_sub(size);
    let base = start.and_then(|start| start.checked_sub(offset));
    let (Some(start), Some(base)) = (start, base) else {
        let size = count(size, "byte");
        let message = format!("the central directory has {size} at {offset}, but ends at {end}");
        return Err(damaged(FORMAT, end, message));
    };
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    Ok((Start { offset: start, base }, file.bytes_at(start, size)?.to_vec()))
}

/// Reads an entry of the central directory.
fn entry(reader: &mut ByteReader<'_>, base: u64, file: &dyn ReadAt) -> Result<Member, Error> {
    let place = reader.offset();
    reader.magic(b"PK\x01\x02")?;
    reader.skip(4)?;
    let flags = reader.read::<u16>(Endian::Little)?;
    let method = reader.read::<u16>(Endian::Little)?;
    reader.skip(8)?;
    let mut stored = u64::from(reader.read::<u32>(Endian::Little)?);
    let mut size = u64::from(reader.read::<u32>(Endian::Little)?);
    let [name, extra, comment] = [(); 3].map(|()| reader.read::<u16>(Endian::Little));
    let (name, extra, comment) = (name?, extra?, comment?);
    reader.skip(8)?;
    let mut header = u64::from(reader.read::<u32>(Endian::Little)?);
    let name = String::from_utf8_lossy(reader.take(name.into())?).into_owned();
    let mut extra = reader.child(extra.into())?;
    reader.skip(comment.into())?;
    while extra.remaining() >= 4 {
        let id = extra.read::<u16>(Endian::Little)?;
        let len = extra.read::<u16>(Endian::Little)?;
        let mut field = extra.child(len.into())?;
        if id == 1 {
            for number in [&mut size, &mut stored, &mut header] {
                if *number == u64::from(u32::MAX) {
                    *number = field.read(Endian::Little)?;
                }
            }
        }
    }
    if method == 0 && stored != size {
        let stored = count(stored, "byte");
        let message = format!("the member {name:?} is stored, but has {stored} of {size}");
        return Err(damaged(FORMAT, place, message));
    }
    let header = header.saturating_add(base);
    let local = at(file, header, LOCAL_LEN)?;
    if !local.starts_with(b"PK\x03\x04") || local.len() < LOCAL_LEN {
        let message = format!("expected 50 4b 03 04, the header of the member {name:?}");
        return Err(damaged(FORMAT, header, message));
    }
    let len = |at: usize| u64::from(u16::from_le_bytes([local[at], local[at + 1]]));
    let start = header + LOCAL_LEN as u64 + len(26) + len(28);
    let end = start.checked_add(stored).filter(|&end| end <= file.len()).ok_or_else(|| {
        let (stored, len) = (count(stored, "byte"), file.len());
        let message = format!("the member {name:?} has {stored}, but the file ends at {len}");
        damaged(FORMAT, header, message)
    })?;
    Ok(Member { name, flags, method, stored, header, end })
}
