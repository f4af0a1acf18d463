//! Decoding of compressed blocks.
//!
//! | code | framing | module |
//! |---|---|---|
//! | `zlib` | one RFC 1950 stream | `zlib` |
//! | `bzp2` | one bzip2 stream | `bzp2` |
//! | `lz4\0` | chunks of LZ4 blocks, each with its length before and after compression | `lz4`, `chunks` |
//! | `lz4f` | one LZ4 frame; also met under `lz4\0` | `lz4f` (feature) |
//! | `zstd` | one Zstandard frame | `zstd` (feature) |
//! | `blsc` | one Blosc-1 buffer, or chunks of them with their lengths | `blsc` (feature), `chunks` |
//!
//! The rules are the same for all. The output grows in steps, so that a lying `data_size` costs
//! nothing; it must be exactly `data_size` bytes at the end, no fewer ([`CodecError::ShortStream`])
//! and no more ([`CodecError::LongStream`]). Bytes after the end of the stream are ignored and
//! reported. A second stream in the block is decoded when `data_size` asks for it, and reported.
//! The checksums inside the streams are verified.

#[cfg(feature = "blsc")]
mod blsc;
mod bzp2;
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
use chunks::Chunks;
pub use compression::{Compression, ParseCompressionError};
pub(crate) use decoder::Decoder;
use decoder::{Framing, Progress};
use stream::{Format, Streams};

/// What to decode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// The compression code.
    pub(crate) code: [u8; 4],
    /// The decoded size that the block header states.
    pub(crate) data_size: u64,
    /// Whether the data of a stream that is cut inside its checksum is returned.
    pub(crate) salvage: bool,
}

/// An irregularity of a stream that was decoded all the same.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) code: Code,
    /// Offset in the stored bytes.
    pub(crate) at: u64,
    pub(crate) message: String,
}

/// Why decoding failed: the data, or the machine.
#[derive(Debug)]
pub(crate) enum Failure {
    Codec(CodecError),
    /// The source failed, or the output cannot be allocated.
    Binio(binio::Error),
}

impl Failure {
    /// The failure of a part that begins at `start`, seen from the whole.
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

/// The framings of the codes.
enum Layout {
    Lz4,
    #[cfg(feature = "blsc")]
    Blosc,
    Stream(&'static dyn Format),
}

impl Job {
    /// Whether parts of the data can be decoded without what is before them.
    pub(crate) fn is_chunked(&self) -> bool {
        !matches!(self.layout(), Err(_) | Ok(Layout::Stream(_)))
    }

    /// The chunks of the stored bytes, in the order of the data; `None` if they are one stream.
    pub(crate) fn chunks(&self, stored: &dyn ReadAt) -> Result<Option<Vec<Chunk>>, Failure> {
        let size = self.data_size;
        Ok(match self.layout()? {
            Layout::Lz4 if lz4::is_frame(stored)? => None,
            Layout::Lz4 => Some(Chunks::read(lz4::Lz4, stored, size, size)?.into_table()),
            #[cfg(feature = "blsc")]
            Layout::Blosc => {
                Some(Chunks::read(blsc::Blosc::of(stored)?, stored, size, size)?.into_table())
            }
            Layout::Stream(_) => None,
        })
    }

    fn layout(&self) -> Result<Layout, CodecError> {
        match &self.code {
            b"zlib" => Ok(Layout::Stream(&zlib::Zlib)),
            b"bzp2" => Ok(Layout::Stream(&bzp2::Bzip2)),
            b"lz4\0" => Ok(Layout::Lz4),
            b"lz4f" => lz4_frame().map(Layout::Stream),
            b"zstd" => zstd_frame().map(Layout::Stream),
            b"blsc" => blosc(),
            _ => Err(CodecError::UnknownCompression),
        }
    }

    /// A decoder of the whole data. Adds irregularities to `notes`.
    pub(crate) fn open<'a>(
        &self,
        stored: &'a dyn ReadAt,
        notes: &'a mut Vec<Note>,
    ) -> Result<Decoder<'a>, Failure> {
        self.open_to(stored, self.data_size, notes)
    }

    /// A decoder of the first `wanted` bytes of the data. Of data in chunks, the lengths of those
    /// chunks are read.
    fn open_to<'a>(
        &self,
        stored: &'a dyn ReadAt,
        wanted: u64,
        notes: &'a mut Vec<Note>,
    ) -> Result<Decoder<'a>, Failure> {
        let streams = |format| Streams::open(format, stored, wanted, self.salvage);
        let size = self.data_size;
        let framing: Box<dyn Framing + 'a> = match self.layout()? {
            Layout::Stream(format) => Box::new(streams(format)?),
            Layout::Lz4 => match Chunks::read(lz4::Lz4, stored, size, wanted) {
                Ok(chunks) => Box::new(chunks),
                Err(error) if !lz4::is_frame(stored)? => return Err(error),
                Err(_) => Box::new(streams(lz4_frame()?)?),
            },
            #[cfg(feature = "blsc")]
            Layout::Blosc => {
                Box::new(Chunks::read(blsc::Blosc::of(stored)?, stored, size, wanted)?)
            }
        };
        Ok(Decoder::new(framing, Progress { decoded: 0, wanted, notes }))
    }

    /// Decodes the whole data into a buffer that grows as it is decoded.
    pub(crate) fn decode(
        &self,
        stored: &dyn ReadAt,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<u8>, Failure> {
        let mut decoder = self.open(stored, notes)?;
        let data = decoder.rest(self.plausible(stored.len()))?;
        decoder.finish()?;
        Ok(data)
    }

    /// Decodes the whole data into a buffer of `data_size` bytes.
    pub(crate) fn decode_into(
        &self,
        stored: &dyn ReadAt,
        buffer: &mut [u8],
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let mut decoder = self.open(stored, notes)?;
        decoder.fill(buffer)?;
        decoder.finish()
    }

    /// Decodes the bytes of the data in `range`, which lies inside `data_size`. Chunks outside it
    /// are not decoded; streams are decoded up to its end, and what follows is not looked at.
    pub(crate) fn decode_range(
        &self,
        stored: &dyn ReadAt,
        range: &Range<u64>,
    ) -> Result<Vec<u8>, Failure> {
        let mut notes = Vec::new();
        let mut decoder = self.open_to(stored, range.end, &mut notes)?;
        decoder.skip_to(range.start)?;
        decoder.rest(self.plausible(stored.len()))
    }

    /// How many bytes this many stored bytes may well decode to: the most for deflate and LZ4, and
    /// some factor for the formats that have no such bound. It sizes a first buffer and rejects
    /// nothing.
    fn plausible(&self, stored: u64) -> u64 {
        let factor = match &self.code {
            b"zlib" => 1032,
            b"lz4\0" | b"lz4f" => 255,
            _ => 16,
        };
        stored.saturating_mul(factor)
    }
}

#[cfg(feature = "lz4f")]
#[allow(clippy::unnecessary_wraps, reason = "fails in builds without the feature")]
fn lz4_frame() -> Result<&'static dyn Format, CodecError> {
    Ok(&lz4f::Lz4Frame)
}

#[cfg(not(feature = "lz4f"))]
fn lz4_frame() -> Result<&'static dyn Format, CodecError> {
    Err(CodecError::FeatureMissing("lz4f"))
}

#[cfg(feature = "zstd")]
#[allow(clippy::unnecessary_wraps, reason = "fails in builds without the feature")]
fn zstd_frame() -> Result<&'static dyn Format, CodecError> {
    Ok(&zstd::Zstd)
}

#[cfg(not(feature = "zstd"))]
fn zstd_frame() -> Result<&'static dyn Format, CodecError> {
    Err(CodecError::FeatureMissing("zstd"))
}

#[cfg(feature = "blsc")]
#[allow(clippy::unnecessary_wraps, reason = "fails in builds without the feature")]
fn blosc() -> Result<Layout, CodecError> {
    Ok(Layout::Blosc)
}

#[cfg(not(feature = "blsc"))]
fn blosc() -> Result<Layout, CodecError> {
    Err(CodecError::FeatureMissing("blsc"))
}
