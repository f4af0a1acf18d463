//! `blsc`: Blosc-1 buffers, in one of two framings.
//!
//! In the first framing, which asdf-compression writes, the data is a single buffer. It begins with
//! the format version, 2:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | ctbytes | the buffer |
//!
//! In the second framing, which the Abacus simulations write, the data is split into chunks, usually
//! of 4 MiB. The first byte distinguishes the two framings: a length that begins with the byte 2
//! would be at least 32 MiB.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | n, **big**-endian: length of the buffer in bytes |
//! | 4 | n | the buffer, whose own `ctbytes` is also n |

use std::ops::Range;

use binio::blosc::{
    Buffer, CompressOptions, Compressor, HEADER_LEN, Header, MAX_NBYTES, Scratch, compress,
};
use binio::diagnostic::count;
use binio::number::ByteReader;
use binio::{Endian, ErrorKind, ReadAt};
use bytes::Bytes;

use super::chunks::{Chunked, Lengths};
use super::encode::{Parameters, Sink, Source, encoder_error, pipeline};
use super::{BLOSC_VERSION, Failure};
use crate::error::{CodecError, Error, Result};

/// Size in bytes of the length field before a buffer.
const PREFIX_LEN: usize = 4;
/// Number of data bytes per written chunk. The last chunk may have fewer.
const CHUNK: usize = 4 << 20;

/// The framing of the stored bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Blosc {
    Single,
    Chunks,
}

impl Blosc {
    pub(super) fn of<S: ReadAt + ?Sized>(stored: &S) -> Result<Self, Failure> {
        let is_buffer = stored.len() > 0 && stored.bytes_at(0, 1)?[0] == BLOSC_VERSION;
        Ok(if is_buffer { Self::Single } else { Self::Chunks })
    }

    fn prefix_len(&self) -> usize {
        match self {
            Self::Single => 0,
            Self::Chunks => PREFIX_LEN,
        }
    }
}

impl Chunked for Blosc {
    type Scratch = Scratch;

    fn header_len(&self) -> usize {
        self.prefix_len() + HEADER_LEN
    }

    fn is_single(&self) -> bool {
        *self == Self::Single
    }

    fn lengths(&self, header: &[u8]) -> Result<Lengths, String> {
        let (prefix, header) = header.split_at(self.prefix_len());
        if header.first() != Some(&BLOSC_VERSION) {
            return Err(
                "neither a Blosc-1 buffer nor a chunk: expected the format version 2 in byte \
                        0 (buffer) or byte 4 (chunk)"
                    .into(),
            );
        }
        let header = Header::parse(header).map_err(|error| error.kind().to_string())?;
        let len = u64::from(header.ctbytes());
        if let Ok(n) = ByteReader::new(prefix).read::<u32>(Endian::Big) {
            if u64::from(n) != len {
                let n = count(n, "byte");
                return Err(format!("the chunk has {n}, but its Blosc buffer has {len}"));
            }
        }
        let start = prefix.len() as u64;
        Ok(Lengths { payload: start..start + len, data_len: header.nbytes().into() })
    }

    fn decode(&self, buffer: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<(), Failure> {
        let decoded = Buffer::parse(buffer).and_then(|buffer| buffer.decode_into(out, scratch));
        decoded.map_err(corrupt)
    }

    /// Decodes only the Blosc blocks that overlap `part`.
    fn decode_part(
        &self,
        buffer: &[u8],
        _len: usize,
        part: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<(), Failure> {
        let decoded =
            Buffer::parse(buffer).and_then(|buffer| buffer.decode_range_into(part, out, scratch));
        decoded.map_err(corrupt)
    }
}

/// Converts an error of the Blosc decoder. Errors in the data keep their offset in the buffer. I/O errors
/// and failed allocations are passed on.
fn corrupt(error: binio::Error) -> Failure {
    match error.kind() {
        ErrorKind::Io(_) | ErrorKind::OutOfMemory { .. } => error.into(),
        kind => {
            let (message, offset) = (format!("Blosc: {kind}"), error.offset().unwrap_or(0));
            CodecError::Corrupt { message, offset }.into()
        }
    }
}

/// Writes a single buffer. This loads all data into memory.
pub(super) fn encode(
    source: &mut dyn Source,
    Parameters { level, itemsize }: Parameters,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let (limit, len) = (u64::from(MAX_NBYTES), source.left());
    if len > limit {
        return Err(Error::limit("bytes of a Blosc buffer", limit, len));
    }
    let len = usize::try_from(len).map_err(|error| encoder_error("blsc", error))?;
    sink(&compress(&source.next(len)?.unwrap_or_default(), &options(level, itemsize))?)
}

/// Writes chunks of 4 MiB of data, compressing them in parallel.
pub(super) fn encode_chunks(
    source: &mut dyn Source,
    Parameters { level, itemsize }: Parameters,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let options = options(level, itemsize);
    let compress = |data: Bytes| -> Result<Vec<u8>> {
        let buffer = compress(&data, &options)?;
        let len = u32::try_from(buffer.len()).map_err(|error| encoder_error("blsc", error))?;
        Ok([&len.to_be_bytes()[..], &buffer].concat())
    };
    pipeline(Bytes::len, || source.next(CHUNK), compress, |chunk| sink(&chunk))
}

fn options(level: u8, itemsize: u64) -> CompressOptions {
    let typesize = u8::try_from(itemsize).unwrap_or(1).max(1);
    CompressOptions::new(Compressor::Lz4).level(level).typesize(typesize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_allocation_is_not_corrupt_data() {
        let kind = ErrorKind::OutOfMemory { what: "the data of a Blosc buffer", requested: 5 };
        assert!(matches!(corrupt(binio::Error::new(kind)), Failure::Binio(_)));
    }
}
