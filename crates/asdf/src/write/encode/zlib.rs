//! One zlib stream (RFC 1950) from pieces that are deflated by themselves.
//!
//! ```text
//! 78 9c    header
//! piece    deflate blocks; matches may reach into the 32 KiB before the piece, which the
//!          compressor got as its dictionary; ends with an empty stored block, at a byte
//! ..
//! piece    the last ends with a final block
//! 4 bytes  adler32 of all data, combined from those of the pieces
//! ```
//!
//! To readers this is a stream like any other. It is 0.1% larger than that of one compressor.

use binio::{Algorithm, ReadAt};
use flate2::{Compress, Compression, FlushCompress, Status};

use super::{Sink, Source, batch, failed, map};
use crate::error::Result;

/// Data of a piece.
pub(super) const PIECE: usize = 512 << 10;
/// How far back a match may reach.
const WINDOW: usize = 32 << 10;
/// The modulus of adler32.
const BASE: u32 = 65_521;

pub(super) fn encode(data: &dyn ReadAt, level: u8, sink: &mut Sink<'_>) -> Result<()> {
    sink(&header(level))?;
    let mut source = Source::new(data);
    let mut adler = 1;
    // The end of the batch before.
    let mut before: Vec<u8> = Vec::new();
    loop {
        let bytes = source.next(PIECE * batch(PIECE))?.unwrap_or_default();
        let is_end = source.is_at_end();
        // Data of no bytes are one piece.
        let count = bytes.len().div_ceil(PIECE).max(1);
        let pieces: Vec<usize> = (0..count).collect();
        let deflated = map(pieces, |index| {
            let start = index * PIECE;
            let piece = &bytes[start..bytes.len().min(start + PIECE)];
            let dictionary = if index == 0 { &before[..] } else { &bytes[start - WINDOW..start] };
            let last = is_end && index + 1 == count;
            let out = deflate(piece, dictionary, level, last)?;
            Ok((out, Algorithm::Adler32.digest(piece), piece.len()))
        })?;
        for (out, digest, len) in deflated {
            sink(&out)?;
            let digest = digest.as_bytes().try_into().map_or(1, u32::from_be_bytes);
            adler = combine(adler, digest, len as u64);
        }
        if is_end {
            break;
        }
        before = bytes[bytes.len().saturating_sub(WINDOW)..].to_vec();
    }
    sink(&adler.to_be_bytes())
}

/// Method 8 with a window of 32 KiB; the level as zlib names it; a multiple of 31.
fn header(level: u8) -> [u8; 2] {
    match level {
        0 | 1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5e],
        6 => [0x78, 0x9c],
        _ => [0x78, 0xda],
    }
}

fn deflate(piece: &[u8], dictionary: &[u8], level: u8, last: bool) -> Result<Vec<u8>> {
    let mut compress = Compress::new(Compression::new(level.into()), false);
    if !dictionary.is_empty() {
        compress.set_dictionary(dictionary).map_err(|error| failed("zlib", error))?;
    }
    let flush = if last { FlushCompress::Finish } else { FlushCompress::Sync };
    let mut out = Vec::with_capacity(piece.len() / 2 + 64);
    loop {
        let read = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let rest = piece.get(read..).unwrap_or_default();
        let status = compress.compress_vec(rest, &mut out, flush);
        let status = status.map_err(|error| failed("zlib", error))?;
        let is_done = if last {
            status == Status::StreamEnd
        } else {
            // With room left, all of the flush is there.
            rest.len() as u64 == compress.total_in() - read as u64 && out.len() < out.capacity()
        };
        if is_done {
            return Ok(out);
        }
        out.reserve(out.len().max(4096));
    }
}

/// The adler32 of data from those of its two parts and the length of the second.
fn combine(first: u32, second: u32, len: u64) -> u32 {
    let len = u32::try_from(len % u64::from(BASE)).unwrap_or(0);
    let (a1, b1) = (first & 0xffff, first >> 16);
    let (a2, b2) = (second & 0xffff, second >> 16);
    let a = (a1 + a2 + BASE - 1) % BASE;
    let times = u64::from(len) * u64::from((a1 + BASE - 1) % BASE) % u64::from(BASE);
    let b = (u64::from(b1) + u64::from(b2) + times) % u64::from(BASE);
    (u32::try_from(b).unwrap_or(0) << 16) | a
}
