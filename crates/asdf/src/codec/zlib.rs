//! `zlib`: an RFC 1950 stream.
//!
//! ```text
//! 78 9c    method and window, flags; as a big-endian number a multiple of 31
//! ...      deflate data
//! 4 bytes  adler32 of the decoded data
//! ```
//!
//! Some writers use the code `zlib` for a gzip member or raw deflate data. In that case, the error
//! message names the actual format.
//!
//! Pieces are deflated independently and in parallel:
//!
//! ```text
//! 78 9c    header
//! piece    deflate blocks; matches may reach into the 32 KiB before the piece, which the
//!          compressor uses as its dictionary; ends with an empty stored block, at a byte boundary
//! ..
//! piece    the last piece ends with a final block
//! 4 bytes  adler32 of all data, combined from the values for the pieces
//! ```
//!
//! To readers, the result looks like any other stream. It is slightly larger than the output of a single
//! compressor.

use binio::checksum::Algorithm;
use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::Failure;
use super::encode::{Parameters, Sink, Source, encoder_error, pipeline};
use super::stream::{Format, Input, SliceDecoder, SliceStream, Stream, counted};
use crate::error::{CodecError, Result};

pub(super) struct Zlib;

impl Format for Zlib {
    fn begins(&self, prefix: &[u8]) -> bool {
        matches!(*prefix, [method, flags, ..]
            if method & 0x0f == 8 && u16::from_be_bytes([method, flags]) % 31 == 0)
    }

    fn open<'a>(&self, prefix: &[u8], input: Input<'a>) -> Result<Box<dyn Stream + 'a>, Failure> {
        if prefix.len() >= 2 && !self.begins(prefix) {
            let message =
                format!("expected a zlib stream (RFC 1950), found {}", what_it_is(prefix));
            return Err(CodecError::Corrupt { message, offset: 0 }.into());
        }
        Ok(Box::new(SliceStream::new(Decompress::new(true), input)))
    }
}

/// Describes data that does not begin with a zlib header.
fn what_it_is(prefix: &[u8]) -> &'static str {
    if prefix.starts_with(&[0x1f, 0x8b]) {
        return "a gzip member";
    }
    let mut probe = [0; 256];
    let mut raw = Decompress::new(false);
    match raw.decompress(prefix, &mut probe, FlushDecompress::None) {
        Ok(_) if raw.total_out() > 0 => "raw deflate data without a zlib header",
        _ => "no zlib header",
    }
}

impl SliceDecoder for Decompress {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> (usize, usize, Result<bool, String>) {
        let (in_before, out_before) = (self.total_in(), self.total_out());
        let result = self.decompress(input, output, FlushDecompress::None);
        let read = counted(in_before, self.total_in(), input.len());
        let written = counted(out_before, self.total_out(), output.len());
        let result = result.map(|status| status == Status::StreamEnd).map_err(|error| match error
            .needs_dictionary()
        {
            Some(_) => "the zlib stream needs a preset dictionary".to_owned(),
            None => format!("zlib: {}", error.message().unwrap_or("damaged stream")),
        });
        (read, written, result)
    }
}

/// Number of data bytes per piece.
pub(super) const PIECE: usize = 512 << 10;
/// Maximum distance of a match in bytes.
const WINDOW: usize = 32 << 10;
/// The modulus of Adler-32.
const BASE: u32 = 65_521;

/// A piece of the data, which is deflated independently of the others.
struct Piece {
    data: Bytes,
    /// The end of the previous piece, to which matches may refer.
    dictionary: Bytes,
    is_last: bool,
}

pub(super) fn encode(
    source: &mut dyn Source,
    Parameters { level, .. }: Parameters,
    sink: &mut Sink<'_>,
) -> Result<()> {
    sink(&header(level))?;
    let mut dictionary = None;
    let read = || {
        let data = match source.next(PIECE)? {
            Some(data) => data,
            // Empty data consists of one empty piece.
            None if dictionary.is_none() => Bytes::new(),
            None => return Ok(None),
        };
        let end = data.slice(data.len().saturating_sub(WINDOW)..);
        let dictionary = dictionary.replace(end).unwrap_or_default();
        Ok(Some(Piece { data, dictionary, is_last: source.left() == 0 }))
    };
    let compress = |piece: Piece| {
        let digest = Algorithm::Adler32.digest(&piece.data);
        Ok((deflate(&piece, level)?, digest, piece.data.len()))
    };
    let mut adler = 1;
    let len_of = |piece: &Piece| piece.data.len();
    pipeline(len_of, read, compress, |(out, digest, len)| {
        let digest = digest.as_bytes().try_into().map_or(1, u32::from_be_bytes);
        adler = combine(adler, digest, len as u64);
        sink(&out)
    })?;
    sink(&adler.to_be_bytes())
}

/// Returns the two bytes of the header. They encode the method (8), the window size (32 KiB) and
/// the level in the same way as zlib. As a big-endian number, they are a multiple of 31.
fn header(level: u8) -> [u8; 2] {
    match level {
        0 | 1 => [0x78, 0x01],
        2..=5 => [0x78, 0x5e],
        6 => [0x78, 0x9c],
        _ => [0x78, 0xda],
    }
}

fn deflate(piece: &Piece, level: u8) -> Result<Vec<u8>> {
    let mut compress = Compress::new(Compression::new(level.into()), false);
    if !piece.dictionary.is_empty() {
        compress.set_dictionary(&piece.dictionary).map_err(|error| encoder_error("zlib", error))?;
    }
    let flush = if piece.is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    let mut out = Vec::with_capacity(piece.data.len() / 2 + 64);
    loop {
        let read = usize::try_from(compress.total_in()).unwrap_or(usize::MAX);
        let rest = piece.data.get(read..).unwrap_or_default();
        let status = compress.compress_vec(rest, &mut out, flush);
        let status = status.map_err(|error| encoder_error("zlib", error))?;
        let is_done = if piece.is_last {
            status == Status::StreamEnd
        } else {
            // The flush is complete if there is space left in the buffer.
            rest.len() as u64 == compress.total_in() - read as u64 && out.len() < out.capacity()
        };
        if is_done {
            return Ok(out);
        }
        out.reserve(out.len().max(4096));
    }
}

/// Returns the Adler-32 of two concatenated byte strings, given the Adler-32 of each and the length
/// of the second.
fn combine(first: u32, second: u32, len: u64) -> u32 {
    let len = u32::try_from(len % u64::from(BASE)).unwrap_or(0);
    let (a1, b1) = (first & 0xffff, first >> 16);
    let (a2, b2) = (second & 0xffff, second >> 16);
    let a = (a1 + a2 + BASE - 1) % BASE;
    let times = u64::from(len) * u64::from((a1 + BASE - 1) % BASE) % u64::from(BASE);
    let b = (u64::from(b1) + u64::from(b2) + times) % u64::from(BASE);
    (u32::try_from(b).unwrap_or(0) << 16) | a
}
