//! Preparing the content of a file for an archive.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use crate::diagnostic::Code;
use crate::disk::dir::{next_data, stat};
use crate::error::{ErrorKind, Result, StoreError};
use crate::model::{Content, FileType, Region};
use crate::parallel::{threads, try_map};
use crate::write::{Detector, Encoding};

use super::encode::{Buffers, Encoded};
use super::options::{Creator, Holes};
use super::pieces;
use super::walk::Item;

/// The maximum size in bytes of a file that is encoded in memory. A larger file is streamed, unless
/// it is stored as blobs or is a single hole.
pub(super) const IN_MEMORY: u64 = 1 << 20;

/// The number of bytes to read at a time: a multiple of 3, so that pieces end between base64
/// groups, and a multiple of [`BLOCK`].
pub(super) const PIECE: usize = 48 << 10;

/// The size in bytes of a block that [`Holes::Zeros`] treats as a hole if all its bytes are zero. The
/// last block of a file may be shorter.
const BLOCK: usize = 4096;

/// The content of an entry, ready to be written.
pub(super) struct Prepared {
    pub(super) body: Body,
    /// The value to write as the `size` of the entry. Set only for blobs and for a file that is a single hole. For any
    /// other file, the writer determines the size from the data.
    pub(super) size: Option<u64>,
    /// Whether the file has changed since the walk found it.
    pub(super) changed: bool,
    /// The number of bytes in holes that are written as zeros, or 0 for a file that is encoded in
    /// memory.
    pub(super) holes: u64,
}

pub(super) enum Body {
    Content(Content<'static>),
    /// A small file, whose encoded data is in [`Buffers`].
    Encoded(Encoded),
    /// A file too large to encode in memory, its encoding, and the maximum number of bytes to write.
    Stream(File, Encoding, u64),
}

/// Prepares the content of an item. A file that is a single hole has no data. If there is a store,
/// any other file above the threshold is stored as blobs. Otherwise, a small file is encoded into
/// `buffers`, and a large file is only scanned to determine its encoding.
pub(super) fn prepare(
    creator: &Creator<'_>,
    item: &Item,
    buffers: &mut Buffers,
) -> Result<Prepared> {
    let name = std::ffi::OsStr::from_bytes(&item.name);
    match item.file_type {
        FileType::Directory => Ok(plain(Content::Directory)),
        FileType::Symlink => {
            let target = String::from_utf8(item.parent.read_link(name)?).map_err(|error| {
                let message =
                    format!("the link target {} is not UTF-8", error.as_bytes().escape_ascii());
                let path = item.path.as_str().to_owned();
                ErrorKind::NotWritable { code: Code::LinkTarget, path, message }
            })?;
            Ok(plain(Content::Symlink(target.into())))
        }
        FileType::Regular => {
            let file = item.parent.open_file(name)?;
            let mut prepared = read(creator, item, &file, buffers)?;
            prepared.changed |= has_changed(&file, item)?;
            Ok(prepared)
        }
    }
}

fn prepared(body: Body) -> Prepared {
    Prepared { body, size: None, changed: false, holes: 0 }
}

fn plain(content: Content<'static>) -> Prepared {
    prepared(Body::Content(content))
}

fn read(
    creator: &Creator<'_>,
    item: &Item,
    file: &File,
    buffers: &mut Buffers,
) -> Result<Prepared> {
    let is_blobs = |size| creator.store.is_some() && size > creator.chunking.threshold;
    // Read even files of size 0, because files in /proc have content despite their size.
    let found = item.found.size();
    if found <= IN_MEMORY && !is_blobs(found) {
        if let Some(encoded) = buffers.encode(file)? {
            creator.count(encoded.len);
            return inline(file, creator.holes, encoded);
        }
    }
    let size = stat(file)?.size();
    let blobs = is_blobs(size);
    let data = extents(file, size, creator.holes, blobs)?;
    if size > 0 && data.is_empty() {
        creator.count(size);
        return Ok(hole(size));
    }
    if blobs {
        return read_blobs(creator, file, size, &data);
    }
    let (encoding, len) = encoding_of(file, size)?;
    let holes = bytes_of_holes(file, size)?;
    Ok(Prepared { holes, ..prepared(Body::Stream(file.try_clone()?, encoding, len)) })
}

/// Prepares a small file that was encoded in memory.
fn inline(file: &File, holes: Holes, encoded: Encoded) -> Result<Prepared> {
    // Look for holes only if all bytes are zero, because any other file cannot be a single hole.
    let is_hole =
        encoded.len > 0 && encoded.zeros && extents(file, encoded.len, holes, false)?.is_empty();
    Ok(if is_hole { hole(encoded.len) } else { prepared(Body::Encoded(encoded)) })
}

/// Prepares a file that is a single hole.
fn hole(size: u64) -> Prepared {
    Prepared { size: Some(size), ..plain(Content::Empty) }
}

/// Returns the number of bytes in the holes of a file.
fn bytes_of_holes(file: &File, size: u64) -> Result<u64> {
    let (mut position, mut data) = (0, 0);
    while let Some((start, end)) = next_data(file, position, size)? {
        data += end - start;
        position = end;
    }
    Ok(size.saturating_sub(data))
}

/// Stores the data of a file in chunks. Each extent starts a new chunk.
fn read_blobs(
    creator: &Creator<'_>,
    file: &File,
    size: u64,
    data: &[(u64, u64)],
) -> Result<Prepared> {
    let step = creator.chunking.max_len();
    let chunks: Vec<(u64, u64)> = data
        .iter()
        .flat_map(|&(start, end)| {
            let next = move |&from: &u64| from.checked_add(step).filter(|&to| to < end);
            std::iter::successors(Some(start), next).map(move |from| (from, step.min(end - from)))
        })
        .collect();
    let Some(store) = creator.store else { return Ok(plain(Content::Empty)) };
    let put = |blob: &mut Vec<u8>, &(offset, len): &(u64, u64)| -> Result<(Region, bool)> {
        StoreError::check_size(len).map_err(ErrorKind::Store)?;
        blob.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
        let read = read_full(file, blob, offset)?;
        // If the file was truncated in the meantime, replace the missing bytes with zeros, as tar
        // does.
        blob[read..].fill(0);
        let blobref = store.put(creator.chunking.hash, blob).map_err(ErrorKind::Store)?;
        creator.count(len);
        Ok((Region { offset, size: len, blobref }, (read as u64) < len))
    };
    let stored = try_map(&chunks, Vec::new, put)?;
    let (regions, cut): (Vec<_>, Vec<_>) = stored.into_iter().unzip();
    let blobs = plain(Content::Blobvec(regions));
    Ok(Prepared { size: Some(size), changed: cut.contains(&true), ..blobs })
}

/// Returns the start and the end of each extent of data in a file. If `all` is `false`, the extents
/// after the first one may be missing.
fn extents(file: &File, size: u64, holes: Holes, all: bool) -> Result<Vec<(u64, u64)>> {
    let mut data = Vec::new();
    match holes {
        Holes::None if size > 0 => data.push((0, size)),
        Holes::None => {}
        Holes::FileSystem => {
            let mut position = 0;
            while position < size {
                let Some((start, end)) = next_data(file, position, size)? else { break };
                data.push((start, end));
                if !all {
                    break;
                }
                position = end;
            }
        }
        Holes::Zeros => for_each_piece(file, 0, |offset, piece| {
            let mut position = offset;
            for block in piece.chunks(BLOCK) {
                let end = position + block.len() as u64;
                if block.iter().any(|&byte| byte != 0) {
                    match data.last_mut() {
                        Some((_, last)) if *last == position => *last = end,
                        _ => data.push((position, end)),
                    }
                }
                position = end;
            }
            Ok(true)
        })?,
    }
    // Ignore bytes that were appended to the file after its size was determined.
    data.retain(|&(start, _)| start < size);
    if let Some((_, end)) = data.last_mut() {
        *end = (*end).min(size);
    }
    Ok(data)
}

/// Determines the encoding of a file too large to encode in memory. Also returns the maximum number
/// of bytes to write: the length of the text, or no limit for base64.
fn encoding_of(file: &File, size: u64) -> Result<(Encoding, u64)> {
    let (mut detector, mut len) = (Detector::default(), 0);
    let mut may_be_text = true;
    for_each_piece(file, 0, |_, piece| {
        may_be_text = detector.take(piece);
        Ok(false)
    })?;
    if may_be_text && threads() > 1 {
        len = pieces::text_len(file, size)?;
    }
    let mut detector = Detector::default();
    for_each_piece(file, len, |_, piece| {
        len += piece.len() as u64;
        Ok(detector.take(piece))
    })?;
    Ok(match detector.encoding() {
        Encoding::Text => (Encoding::Text, len),
        Encoding::Base64 => (Encoding::Base64, u64::MAX),
    })
}

/// Writes the part of a large file that starts at `offset`, but at most `len` bytes. In a text
/// file, bytes that are no longer valid text become `?`. Returns `true` if there are any such
/// bytes, or if a text file has become shorter.
pub(super) fn stream(
    file: &File,
    encoding: Encoding,
    offset: u64,
    len: u64,
    mut write: impl FnMut(&[u8]) -> Result<()>,
) -> Result<bool> {
    let (mut rest, mut text) = (len, Repair::default());
    for_each_piece(file, offset, |_, piece| {
        let piece =
            &piece[..usize::try_from(rest).map_or(piece.len(), |rest| rest.min(piece.len()))];
        rest -= piece.len() as u64;
        match encoding {
            Encoding::Base64 => write(piece)?,
            Encoding::Text => text.write(piece, &mut write)?,
        }
        Ok(rest > 0)
    })?;
    text.finish(&mut write)?;
    Ok(text.changed || encoding == Encoding::Text && rest > 0)
}

/// Replaces each byte that is not part of valid text with `?`.
#[derive(Default)]
struct Repair {
    /// The bytes of an incomplete character at the end of the previous piece.
    carry: Vec<u8>,
    changed: bool,
}

impl Repair {
    fn write(&mut self, piece: &[u8], write: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let joined;
        let mut bytes = piece;
        if !self.carry.is_empty() {
            joined = [&self.carry[..], piece].concat();
            bytes = &joined;
        }
        let mut carry = Vec::new();
        while !bytes.is_empty() {
            let (text, wrong) = match simdutf8::compat::from_utf8(bytes) {
                Ok(text) => (text, 0),
                Err(error) => {
                    let text = &bytes[..error.valid_up_to()];
                    let wrong = error.error_len().unwrap_or_else(|| {
                        carry = bytes[error.valid_up_to()..].to_vec();
                        0
                    });
                    (std::str::from_utf8(text).unwrap_or_default(), wrong)
                }
            };
            if memchr::memchr(0, text.as_bytes()).is_some() {
                self.changed = true;
                write(text.replace('\0', "?").as_bytes())?;
            } else {
                write(text.as_bytes())?;
            }
            self.replace(wrong, write)?;
            bytes = &bytes[text.len() + wrong + carry.len()..];
        }
        self.carry = carry;
        Ok(())
    }

    fn finish(&mut self, write: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let wrong = std::mem::take(&mut self.carry).len();
        self.replace(wrong, write)
    }

    fn replace(&mut self, wrong: usize, write: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.changed |= wrong > 0;
        (0..wrong).try_for_each(|_| write(b"?"))
    }
}

/// Reads a file in pieces, from `offset` to the end of the file. Calls `take` with the offset and
/// the bytes of each piece, until `take` returns `false`.
fn for_each_piece(
    file: &File,
    mut offset: u64,
    mut take: impl FnMut(u64, &[u8]) -> Result<bool>,
) -> Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let read = read_full(file, &mut buffer, offset)?;
        if read == 0 || !take(offset, &buffer[..read])? {
            return Ok(());
        }
        offset += read as u64;
    }
}

/// Fills a buffer with the bytes at `offset`, and returns the number of bytes read. This number is
/// less than the length of the buffer only at the end of the file.
pub(super) fn read_full(file: &File, buffer: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filled)
}

/// Returns `true` if a file has changed since the walk found it.
pub(super) fn has_changed(file: &File, item: &Item) -> Result<bool> {
    Ok(stat(file)?.version() != item.found.version())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let (mut text, mut out) = (Repair::default(), Vec::new());
        let mut write = |bytes: &[u8]| {
            out.extend_from_slice(bytes);
            Ok(())
        };
        for piece in pieces {
            text.write(piece, &mut write).unwrap();
        }
        text.finish(&mut write).unwrap();
        (out, text.changed)
    }

    #[test]
    fn valid_text_is_unchanged_wherever_it_is_split() {
        let text = "a\u{e9}\u{65e5}\u{1f600}\n".as_bytes();
        for at in 0..=text.len() {
            let (head, tail) = text.split_at(at);
            assert_eq!(repaired(&[head, tail]), (text.to_vec(), false), "{at}");
        }
    }

    #[test]
    fn invalid_bytes_are_replaced_without_changing_the_length() {
        for (pieces, expected) in [
            (&[&b"a\0b"[..]][..], "a?b"),
            (&[b"a\xffb\xfe"], "a?b?"),
            (&[b"a\xc3", b"b"], "a?b"),
            (&[b"a\xe6\x97", b"\0"], "a???"),
            (&[b"a\xf0\x9f\x98"], "a???"),
        ] {
            assert_eq!(repaired(pieces), (expected.as_bytes().to_vec(), true), "{pieces:?}");
        }
    }
}
