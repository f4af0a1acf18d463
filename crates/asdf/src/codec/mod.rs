//! Decoding and encoding compressed blocks.
//!
//! | code | framing | module |
//! |---|---|---|
//! | `zlib` | an RFC 1950 stream | `zlib` |
//! | `bzp2` | a bzip2 stream | `bzp2` |
//! | `lz4\0` | LZ4 blocks, each preceded by its stored and decoded lengths | `lz4` |
//! | `lz4f` | an LZ4 frame, for which some writers use the code `lz4\0` | `lz4f` (feature) |
//! | `zstd` | a Zstandard frame | `zstd` (feature) |
//! | `blsc` | a Blosc-1 buffer, or several buffers, each preceded by its length | `blsc` (feature) |
//!
//! Each module decodes and encodes one format. Shared code is in `decoder` (decoding in order), `stream` and
//! `chunks` (the two framings), and `encode` (sources, threads).
//!
//! The same decoding rules apply to all formats. A new buffer for the data is at first no larger than what the
//! stored bytes can plausibly fill, so that a false `data_size` does not cost much memory. At the end, there must
//! be exactly `data_size` bytes: neither fewer ([`CodecError::ShortStream`]) nor more
//! ([`CodecError::LongStream`]). Bytes after the end of the stream are ignored, but reported. A second stream in
//! the block is decoded only if it is needed to reach `data_size`; in that case, it is reported. Checksums inside
//! the streams are verified.

#[cfg(feature = "blsc")]
mod blsc;
mod bzp2;
#[cfg(feature = "rayon")]
mod bzp2_blocks;
mod chunks;
mod compression;
mod decoder;
pub(crate) mod encode;
mod lz4;
#[cfg(feature = "lz4f")]
mod lz4f;
mod stream;
#[cfg(test)]
mod tests;
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;

use std::ops::Range;

use binio::ReadAt;

use crate::diagnostic::Code;
use crate::error::CodecError;
pub use chunks::Chunk;
use chunks::ChunkedData;
pub use compression::{Compression, ParseCompressionError};
pub(crate) use decoder::Decoder;
use decoder::FramedDecoder;
use stream::{Format, Streams};

/// The format version of Blosc-1. It is the first byte of every buffer.
pub(crate) const BLOSC_VERSION: u8 = 2;

/// The parameters for decoding a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeJob {
    /// The compression code.
    pub(crate) code: [u8; 4],
    /// The size of the decoded data in bytes, according to the block header.
    pub(crate) data_size: u64,
    /// Whether to return the data of a stream in which only bytes after the data are missing, usually those of
    /// the checksum.
    pub(crate) salvage: bool,
}

/// An irregularity in the stored bytes that did not prevent decoding.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Irregularity {
    pub(crate) code: Code,
    /// Offset of the irregularity in the stored bytes.
    pub(crate) offset: u64,
    pub(crate) message: String,
}

/// The cause of a decoding failure: invalid data, an unsupported compression, or an error of the source or
/// system.
#[derive(Debug)]
pub(crate) enum Failure {
    Codec(CodecError),
    /// An error from the source, or a failed allocation.
    Binio(binio::Error),
}

impl Failure {
    /// Adds `start` to the offset of the failure, so that the offset is relative to all stored
    /// bytes. Failures without an offset are returned unchanged.
    fn moved_by(self, start: u64) -> Self {
        match self {
            Self::Codec(CodecError::Corrupt { message, offset }) => {
                Self::Codec(CodecError::Corrupt { message, offset: start.saturating_add(offset) })
            }
            other => other,
        }
    }
}

impl From<CodecError> for Failure {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}

impl From<binio::Error> for Failure {
    fn from(error: binio::Error) -> Self {
        Self::Binio(error)
    }
}

/// A compression code that this build can decode, with its framing.
///
/// The encoders are not in this table, so that the linker can drop them from programs that only read.
struct Codec {
    code: [u8; 4],
    framing: Framing,
    /// Number of data bytes to which one stored byte may decode: the maximum for deflate and LZ4,
    /// and a plausible factor for formats without a maximum. It only determines the initial size of
    /// a buffer; larger data is accepted.
    expansion: u64,
}

/// The framing of the stored bytes.
enum Framing {
    /// A single stream.
    Stream(&'static dyn Format),
    /// Chunks with one LZ4 block each, or an LZ4 frame that should have the code `lz4f`.
    Lz4,
    /// A single Blosc buffer, or several buffers, each preceded by its length.
    #[cfg(feature = "blsc")]
    Blosc,
}

static CODECS: &[Codec] = &[
    Codec { code: *b"zlib", framing: Framing::Stream(&zlib::Zlib), expansion: 1032 },
    Codec { code: *b"bzp2", framing: Framing::Stream(&bzp2::Bzip2), expansion: 16 },
    Codec { code: *b"lz4\0", framing: Framing::Lz4, expansion: 255 },
    #[cfg(feature = "lz4f")]
    Codec { code: *b"lz4f", framing: Framing::Stream(&lz4f::Lz4Frame), expansion: 255 },
    #[cfg(feature = "zstd")]
    Codec { code: *b"zstd", framing: Framing::Stream(&zstd::Zstd), expansion: 16 },
    #[cfg(feature = "blsc")]
    Codec { code: *b"blsc", framing: Framing::Blosc, expansion: 16 },
];

/// The codes that require a feature of the same name.
const FEATURES: [&str; 3] = ["lz4f", "zstd", "blsc"];

impl Codec {
    /// Finds the codec for a compression code. Fails if this build does not support the code.
    fn find(code: [u8; 4]) -> Result<&'static Self, CodecError> {
        let codec = CODECS.iter().find(|codec| codec.code == code);
        codec.ok_or_else(|| unsupported(code))
    }

    fn is_chunked(&self) -> bool {
        !matches!(self.framing, Framing::Stream(_))
    }
}

/// Returns the error for a code that this build does not support. If the code requires a feature,
/// the error names the feature.
fn unsupported(code: [u8; 4]) -> CodecError {
    match FEATURES.iter().find(|name| *name.as_bytes() == code) {
        Some(name) => CodecError::FeatureMissing(name),
        None => CodecError::UnknownCompression,
    }
}

impl DecodeJob {
    /// Returns `true` if the data is chunked according to the compression code, so that parts of it can be
    /// decoded without the data before them. (The code `lz4\0` may also stand for an LZ4 frame, to which this
    /// does not apply.)
    pub(crate) fn is_chunked(&self) -> bool {
        Codec::find(self.code).is_ok_and(Codec::is_chunked)
    }

    /// Returns the chunks in order, or `None` if the stored bytes form a single stream.
    pub(crate) fn chunks(&self, stored: &dyn ReadAt) -> Result<Option<Vec<Chunk>>, Failure> {
        let size = self.data_size;
        Ok(match Codec::find(self.code)?.framing {
            Framing::Lz4 if lz4::is_frame(stored)? => None,
            Framing::Lz4 => Some(ChunkedData::read(lz4::Lz4, stored, size, size)?.into_chunks()),
            #[cfg(feature = "blsc")]
            Framing::Blosc => {
                Some(ChunkedData::read(blsc::Blosc::of(stored)?, stored, size, size)?.into_chunks())
            }
            Framing::Stream(_) => None,
        })
    }

    /// Returns a decoder for the entire data. Irregularities are added to `notes`.
    pub(crate) fn open<'a>(
        &self,
        stored: &'a dyn ReadAt,
        notes: &'a mut Vec<Irregularity>,
    ) -> Result<Decoder<'a>, Failure> {
        self.open_to(stored, self.data_size, notes)
    }

    /// Returns a decoder for the first `wanted` bytes of the data. For chunked data, reads the
    /// lengths of the chunks that contain these bytes.
    fn open_to<'a>(
        &self,
        stored: &'a dyn ReadAt,
        wanted: u64,
        notes: &'a mut Vec<Irregularity>,
    ) -> Result<Decoder<'a>, Failure> {
        let size = self.data_size;
        let framed: Box<dyn FramedDecoder + 'a> = match Codec::find(self.code)?.framing {
            Framing::Stream(format) => {
                Box::new(Streams::open(format, stored, wanted, self.salvage)?)
            }
            Framing::Lz4 => match ChunkedData::read(lz4::Lz4, stored, size, wanted) {
                Ok(chunks) => Box::new(chunks),
                Err(error) if !lz4::is_frame(stored)? => return Err(error),
                Err(_) => return Self { code: *b"lz4f", ..*self }.open_to(stored, wanted, notes),
            },
            #[cfg(feature = "blsc")]
            Framing::Blosc => {
                Box::new(ChunkedData::read(blsc::Blosc::of(stored)?, stored, size, wanted)?)
            }
        };
        Ok(Decoder::new(framed, wanted, notes))
    }

    /// Decodes the entire data into a growing buffer.
    pub(crate) fn decode(
        &self,
        stored: &dyn ReadAt,
        notes: &mut Vec<Irregularity>,
    ) -> Result<Vec<u8>, Failure> {
        let mut decoder = self.open(stored, notes)?;
        let data = decoder.rest(self.plausible(stored))?;
        decoder.finish()?;
        Ok(data)
    }

    /// Decodes the entire data into a buffer of `data_size` bytes.
    pub(crate) fn decode_into(
        &self,
        stored: &dyn ReadAt,
        buffer: &mut [u8],
        notes: &mut Vec<Irregularity>,
    ) -> Result<(), Failure> {
        let mut decoder = self.open(stored, notes)?;
        decoder.fill(buffer)?;
        decoder.finish()
    }

    /// Decodes the data in `range`, which must lie within `data_size`. Chunks outside the range are not
    /// decoded. Streams are decoded up to the end of the range, and the rest is ignored.
    pub(crate) fn decode_range(
        &self,
        stored: &dyn ReadAt,
        range: &Range<u64>,
    ) -> Result<Vec<u8>, Failure> {
        let mut notes = Vec::new();
        let mut decoder = self.open_to(stored, range.end, &mut notes)?;
        decoder.skip_to(range.start)?;
        decoder.rest(self.plausible(stored))
    }

    /// Returns the number of data bytes to which the stored bytes may plausibly decode.
    fn plausible(&self, stored: &dyn ReadAt) -> u64 {
        let expansion = Codec::find(self.code).map_or(1, |codec| codec.expansion);
        stored.len().saturating_mul(expansion)
    }
}
