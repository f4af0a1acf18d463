//! Checking and encoding a large file in pieces, on all threads.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::ops::Range;

use base64_simd::STANDARD;

use super::content::read_full;
use super::options::Creator;
use crate::error::Result;
use crate::json::escape;
use crate::parallel::pipeline;
use crate::write::{Body, Encoding};

/// The number of bytes that a thread processes at a time, a multiple of 3.
const PIECE: usize = 384 << 10;

/// The maximum number of continuation bytes of a character in UTF-8.
const CONTINUATION: usize = 3;

/// A piece of a file, in buffers that are reused.
struct Piece {
    offset: u64,
    bytes: Vec<u8>,
    /// The part of the file that was processed. It starts and ends between characters or base64
    /// groups.
    part: Result<Range<u64>>,
    encoded: Vec<u8>,
}

impl Default for Piece {
    fn default() -> Self {
        Self { offset: 0, bytes: Vec::new(), part: Ok(0..0), encoded: Vec::new() }
    }
}

impl Piece {
    fn process(
        &mut self,
        file: &File,
        size: u64,
        find: impl Fn(&[u8]) -> Range<usize>,
        encode: impl Fn(&[u8], &mut Vec<u8>),
    ) -> Result<Range<u64>> {
        let rest = usize::try_from(size - self.offset).unwrap_or(usize::MAX);
        self.bytes.resize(rest.min(PIECE + CONTINUATION), 0);
        let read = read_full(file, &mut self.bytes, self.offset)?;
        let part = find(&self.bytes[..read]);
        self.encoded.clear();
        encode(&self.bytes[part.clone()], &mut self.encoded);
        Ok(self.offset + part.start as u64..self.offset + part.end as u64)
    }
}

/// Finds the text in a piece: the characters that begin in its first [`PIECE`] bytes. The range is
/// empty if the bytes are not text.
fn text(bytes: &[u8]) -> Range<usize> {
    let continuation = |bytes: &[u8]| {
        bytes.iter().take(CONTINUATION).take_while(|&&byte| byte & 0xc0 == 0x80).count()
    };
    let start = continuation(bytes);
    let end = bytes.len().min(PIECE);
    let end = end + continuation(&bytes[end..]);
    let text = &bytes[start..end];
    let valid = simdutf8::basic::from_utf8(text).is_ok() && memchr::memchr(0, text).is_none();
    start..if valid { end } else { start }
}

/// Finds the complete 3-byte groups in a piece.
fn groups(bytes: &[u8]) -> Range<usize> {
    0..bytes.len().min(PIECE) / 3 * 3
}

/// Finds and encodes the parts of the first `size` bytes of a file on all threads, and passes each
/// encoded part and its length in the file to `take`. Stops where the next part does not directly
/// follow the previous one, and returns the end of the last part.
fn for_each_part<C>(
    file: &File,
    size: u64,
    find: impl Fn(&[u8]) -> Range<usize> + Sync,
    encode: impl Fn(&[u8], &mut Vec<u8>) + Sync,
    context: &mut C,
    mut take: impl FnMut(&mut C, &[u8], u64) -> Result<()>,
) -> Result<u64> {
    let (mut next, mut end, stopped) = (0, 0, Cell::new(false));
    pipeline(
        context,
        |_, piece: &mut Piece| {
            piece.offset = next;
            next += PIECE as u64;
            piece.offset < size && !stopped.get()
        },
        |piece| piece.part = piece.process(file, size, &find, &encode),
        |context, piece| {
            if stopped.get() {
                return Ok(());
            }
            let part = std::mem::replace(&mut piece.part, Ok(0..0))?;
            if part.start != end || part.is_empty() {
                stopped.set(true);
                return Ok(());
            }
            end = part.end;
            take(context, &piece.encoded, part.end - part.start)
        },
    )?;
    Ok(end)
}

/// Returns the length of the text at the start of a file. If it is less than `size`, the bytes
/// after it may still be text.
pub(super) fn text_len(file: &File, size: u64) -> Result<u64> {
    for_each_part(file, size, text, |_, _| (), &mut (), |(), _, _| Ok(()))
}

/// Writes the first `size` bytes of a file. Stops at the first piece that is not text if the
/// encoding is text, at an incomplete base64 group, or at the end of the file. Returns the number
/// of bytes written. The calling thread writes what all threads encode. On two threads, creating
/// an archive takes 0.75 times as long as on one for a large binary file, and with [`text_len`] 0.6
/// times as long for large text (`cargo xtask bench flux-archive`, rows `large: create, all inside`
/// and `text: create, all inside`).
pub(super) fn write<W: Write>(
    creator: &Creator<'_>,
    file: &File,
    encoding: Encoding,
    size: u64,
    body: &mut Body<'_, '_, W>,
) -> Result<u64> {
    let take = |body: &mut Body<'_, '_, W>, encoded: &[u8], len| {
        creator.count(len);
        body.write_encoded(encoded, len)
    };
    match encoding {
        Encoding::Text => for_each_part(file, size, text, escape, body, take),
        Encoding::Base64 => {
            let encode = |bytes: &[u8], out: &mut Vec<u8>| {
                STANDARD.encode_append(bytes, out);
            };
            for_each_part(file, size, groups, encode, body, take)
        }
    }
}
