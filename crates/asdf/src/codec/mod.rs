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
pub(crate) mod encode;
mod lz4;
#[cfg(feature = "lz4f")]
mod lz4f;
mod output;
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
use chunks::Table;
pub use compression::{Compression, ParseCompressionError};
pub(crate) use output::Taker;
use output::{Output, PIECE_OF_CHUNKS, PIECE_OF_STREAM};
use stream::Format;

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
enum Framing {
    Lz4,
    #[cfg(feature = "blsc")]
    Blosc,
    Stream(&'static dyn Format),
}

impl Job {
    /// Whether parts of the data can be decoded without what is before them.
    pub(crate) fn is_chunked(&self) -> bool {
        !matches!(self.framing(), Err(_) | Ok(Framing::Stream(_)))
    }

    /// The chunks of the stored bytes, in the order of the data; `None` if they are one stream.
    pub(crate) fn chunks(&self, stored: &dyn ReadAt) -> Result<Option<Vec<Chunk>>, Failure> {
        let size = self.data_size;
        match self.framing()? {
            Framing::Lz4 if lz4::is_frame(stored)? => Ok(None),
            Framing::Lz4 => {
                Table::read(lz4::Lz4, stored, size, size).map(Table::into_chunks).map(Some)
            }
            #[cfg(feature = "blsc")]
            Framing::Blosc => {
                let framing = blsc::Blosc::of(stored)?;
                Table::read(framing, stored, size, size).map(Table::into_chunks).map(Some)
            }
            Framing::Stream(_) => Ok(None),
        }
    }

    fn framing(&self) -> Result<Framing, CodecError> {
        match &self.code {
            b"zlib" => Ok(Framing::Stream(&zlib::Zlib)),
            b"bzp2" => Ok(Framing::Stream(&bzp2::Bzip2)),
            b"lz4\0" => Ok(Framing::Lz4),
            b"lz4f" => lz4_frame().map(Framing::Stream),
            b"zstd" => zstd_frame().map(Framing::Stream),
            b"blsc" => blosc(),
            _ => Err(CodecError::UnknownCompression),
        }
    }

    /// The whole data, in a buffer that grows as it is decoded.
    pub(crate) fn decode(
        &self,
        stored: &dyn ReadAt,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<u8>, Failure> {
        let mut output = Output::growing(self.data_size, self.plausible(stored.len()))?;
        self.run(stored, &mut output, true, notes)?;
        Ok(output.into_vec())
    }

    /// The whole data, into a buffer of `data_size` bytes.
    pub(crate) fn decode_into(
        &self,
        stored: &dyn ReadAt,
        buffer: &mut [u8],
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        self.run(stored, &mut Output::fixed(buffer), true, notes)
    }

    /// The whole data, piece by piece, so that not all of it is in memory. What was passed on is
    /// right only if all is: a stream may turn out to be damaged at its end.
    pub(crate) fn decode_pieces<'a>(
        &self,
        stored: &dyn ReadAt,
        taker: &'a mut Taker<'a>,
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let size = if self.is_chunked() { PIECE_OF_CHUNKS } else { PIECE_OF_STREAM };
        let mut output = Output::passing(self.data_size, size, taker)?;
        self.run(stored, &mut output, true, notes)?;
        Ok(output.finish()?)
    }

    /// How many bytes this many stored bytes may well decode to: the most for deflate and LZ4, and some factor for the formats that have no such bound. It sizes a first buffer
    /// and rejects nothing.
    fn plausible(&self, stored: u64) -> u64 {
        let factor = match &self.code {
            b"zlib" => 1032,
            b"lz4\0" | b"lz4f" => 255,
            _ => 16,
        };
        stored.saturating_mul(factor)
    }

    /// The bytes of the data in `range`, which lies inside `data_size`. Chunks outside it are not
    /// decoded; streams are decoded up to its end, and what follows is not looked at.
    pub(crate) fn decode_range(
        &self,
        stored: &dyn ReadAt,
        range: &Range<u64>,
    ) -> Result<Vec<u8>, Failure> {
        match self.framing()? {
            Framing::Lz4 => match Table::read(lz4::Lz4, stored, self.data_size, range.end) {
                Ok(table) => return table.decode_range(stored, range),
                Err(error) if !lz4::is_frame(stored)? => return Err(error),
                Err(_) => {}
            },
            #[cfg(feature = "blsc")]
            Framing::Blosc => {
                let framing = blsc::Blosc::of(stored)?;
                return Table::read(framing, stored, self.data_size, range.end)?
                    .decode_range(stored, range);
            }
            Framing::Stream(_) => {}
        }
        let mut output = Output::growing(range.end, self.plausible(stored.len()))?;
        self.run(stored, &mut output, false, &mut Vec::new())?;
        let mut data = output.into_vec();
        data.drain(..usize::try_from(range.start).unwrap_or(usize::MAX).min(data.len()));
        Ok(data)
    }

    /// Fills the output. `whole` means that this is all the data and not its beginning.
    fn run(
        &self,
        stored: &dyn ReadAt,
        output: &mut Output<'_>,
        whole: bool,
        notes: &mut Vec<Note>,
    ) -> Result<(), Failure> {
        let format = match self.framing()? {
            Framing::Stream(format) => format,
            Framing::Lz4 => match Table::read(lz4::Lz4, stored, self.data_size, self.data_size) {
                Ok(table) => return table.decode(stored, output, notes),
                Err(error) if !lz4::is_frame(stored)? => return Err(error),
                Err(_) => lz4_frame()?,
            },
            #[cfg(feature = "blsc")]
            Framing::Blosc => {
                let framing = blsc::Blosc::of(stored)?;
                return Table::read(framing, stored, self.data_size, self.data_size)?
                    .decode(stored, output, notes);
            }
        };
        let rules = stream::Rules { whole, salvage: self.salvage };
        stream::decode(format, stored, output, rules, notes)
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
fn blosc() -> Result<Framing, CodecError> {
    Ok(Framing::Blosc)
}

#[cfg(not(feature = "blsc"))]
fn blosc() -> Result<Framing, CodecError> {
    Err(CodecError::FeatureMissing("blsc"))
}
