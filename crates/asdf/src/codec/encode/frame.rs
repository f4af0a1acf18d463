//! Frames of LZ4 and Zstandard, and Blosc buffers: the codecs of the features.

#[cfg(any(feature = "lz4f", feature = "zstd"))]
use std::io::{self, Write};

#[cfg(any(feature = "lz4f", feature = "zstd", feature = "blsc"))]
use super::failed;
use super::{Sink, Source};
use crate::error::{Error, Result};

/// A sink that an encoder writes to. An error of the sink passes through `io::Error`.
#[cfg(any(feature = "lz4f", feature = "zstd"))]
struct Writer<'a, 's>(&'a mut Sink<'s>);

#[cfg(any(feature = "lz4f", feature = "zstd"))]
impl Write for Writer<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.0)(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error of the sink, or of the encoder itself.
#[cfg(any(feature = "lz4f", feature = "zstd"))]
fn unwritten(codec: &str, error: impl Into<io::Error>) -> Error {
    let error = error.into().downcast::<Error>();
    error.unwrap_or_else(|error| failed(codec, error))
}

#[cfg(feature = "lz4f")]
pub(super) fn lz4(source: &mut dyn Source, sink: &mut Sink<'_>) -> Result<()> {
    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

    let info = FrameInfo::new()
        .content_size(Some(source.left()))
        .block_size(BlockSize::Max4MB)
        .content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Writer(sink));
    source
        .pieces(&mut |piece| encoder.write_all(piece).map_err(|error| unwritten("lz4f", error)))?;
    encoder.finish().map(drop).map_err(|error| unwritten("lz4f", error))
}

#[cfg(feature = "zstd")]
pub(super) fn zstd(source: &mut dyn Source, level: u8, sink: &mut Sink<'_>) -> Result<()> {
    let fail = |error: io::Error| unwritten("zstd", error);
    let mut encoder = ::zstd::Encoder::new(Writer(sink), level.into()).map_err(fail)?;
    encoder.set_pledged_src_size(Some(source.left())).map_err(fail)?;
    encoder.include_contentsize(true).map_err(fail)?;
    source.pieces(&mut |piece| encoder.write_all(piece).map_err(fail))?;
    encoder.finish().map(drop).map_err(fail)
}

/// One buffer, which needs all data in memory.
#[cfg(feature = "blsc")]
pub(super) fn blosc(
    source: &mut dyn Source,
    level: u8,
    itemsize: u64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    use binio::blosc::{CompressOptions, Compressor, MAX_NBYTES, compress};

    let (limit, len) = (u64::from(MAX_NBYTES), source.left());
    if len > limit {
        return Err(Error::limit("bytes of a Blosc buffer", limit, len));
    }
    let typesize = u8::try_from(itemsize).unwrap_or(1).max(1);
    let options = CompressOptions::new(Compressor::Lz4).level(level).typesize(typesize);
    let len = usize::try_from(len).map_err(|error| failed("blsc", error))?;
    sink(&compress(&source.next(len)?.unwrap_or_default(), &options)?)
}

#[cfg(not(all(feature = "lz4f", feature = "zstd", feature = "blsc")))]
fn missing(feature: &str) -> Result<()> {
    let message = format!("this build lacks the feature `{feature}`");
    Err(Error::unwritable(message))
}

#[cfg(not(feature = "lz4f"))]
pub(super) fn lz4(_: &mut dyn Source, _: &mut Sink<'_>) -> Result<()> {
    missing("lz4f")
}

#[cfg(not(feature = "zstd"))]
pub(super) fn zstd(_: &mut dyn Source, _: u8, _: &mut Sink<'_>) -> Result<()> {
    missing("zstd")
}

#[cfg(not(feature = "blsc"))]
pub(super) fn blosc(_: &mut dyn Source, _: u8, _: u64, _: &mut Sink<'_>) -> Result<()> {
    missing("blsc")
}
