//! Frames of LZ4 and Zstandard, and Blosc buffers: the codecs of the features.

#[cfg(any(feature = "lz4f", feature = "zstd"))]
use std::io::{self, Write};

use binio::ReadAt;

use super::Sink;
#[cfg(any(feature = "lz4f", feature = "zstd", feature = "blsc"))]
use super::failed;
#[cfg(any(feature = "lz4f", feature = "zstd"))]
use super::{PIECE, Source};
use crate::error::Result;

/// A sink that an encoder writes to.
#[cfg(any(feature = "lz4f", feature = "zstd"))]
struct Writer<'a, 's> {
    sink: &'a mut Sink<'s>,
    /// Why the sink failed.
    failure: Option<crate::error::Error>,
}

#[cfg(any(feature = "lz4f", feature = "zstd"))]
impl Write for Writer<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (self.sink)(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                self.failure = Some(error);
                Err(io::Error::other("the sink failed"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Copies all data to an encoder. A failure of the sink is reported as what it is.
#[cfg(any(feature = "lz4f", feature = "zstd"))]
fn run<'s>(
    data: &dyn ReadAt,
    codec: &str,
    sink: &mut Sink<'s>,
    encode: impl FnOnce(&mut Writer<'_, 's>, &mut dyn FnMut(&mut dyn Write) -> Result<()>) -> Result<()>,
) -> Result<()> {
    let mut writer = Writer { sink, failure: None };
    let mut copy = |out: &mut dyn Write| {
        let mut source = Source::new(data);
        while let Some(piece) = source.next(PIECE)? {
            out.write_all(&piece).map_err(|error| failed(codec, error))?;
        }
        Ok(())
    };
    let encoded = encode(&mut writer, &mut copy);
    writer.failure.map_or(encoded, Err)
}

#[cfg(feature = "lz4f")]
pub(super) fn lz4(data: &dyn ReadAt, sink: &mut Sink<'_>) -> Result<()> {
    use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};

    let info = FrameInfo::new()
        .content_size(Some(data.len()))
        .block_size(BlockSize::Max4MB)
        .content_checksum(true);
    run(data, "lz4f", sink, |out, copy| {
        let mut encoder = FrameEncoder::with_frame_info(info, out);
        copy(&mut encoder)?;
        encoder.finish().map(drop).map_err(|error| failed("lz4f", error))
    })
}

#[cfg(feature = "zstd")]
pub(super) fn zstd(data: &dyn ReadAt, level: u8, sink: &mut Sink<'_>) -> Result<()> {
    let fail = |error: io::Error| failed("zstd", error);
    run(data, "zstd", sink, |out, copy| {
        let mut encoder = ::zstd::Encoder::new(out, level.into()).map_err(fail)?;
        encoder.set_pledged_src_size(Some(data.len())).map_err(fail)?;
        encoder.include_contentsize(true).map_err(fail)?;
        copy(&mut encoder)?;
        encoder.finish().map(drop).map_err(fail)
    })
}

/// One buffer, which needs all data in memory.
#[cfg(feature = "blsc")]
pub(super) fn blosc(
    data: &dyn ReadAt,
    level: u8,
    itemsize: u64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    use binio::blosc::{CompressOptions, Compressor, MAX_NBYTES, compress};

    if data.len() > u64::from(MAX_NBYTES) {
        let (limit, len) = (u64::from(MAX_NBYTES), data.len());
        return Err(crate::error::Error::limit("bytes of a Blosc buffer", limit, len));
    }
    let typesize = u8::try_from(itemsize).unwrap_or(1).max(1);
    let options = CompressOptions::new(Compressor::Lz4).level(level).typesize(typesize);
    let len = usize::try_from(data.len()).map_err(|error| failed("blsc", error))?;
    sink(&compress(&data.bytes_at(0, len)?, &options)?)
}

#[cfg(not(all(feature = "lz4f", feature = "zstd", feature = "blsc")))]
fn missing(feature: &str) -> Result<()> {
    let message = format!("this build lacks the feature `{feature}`");
    Err(crate::error::Error::unwritable(message))
}

#[cfg(not(feature = "lz4f"))]
pub(super) fn lz4(_: &dyn ReadAt, _: &mut Sink<'_>) -> Result<()> {
    missing("lz4f")
}

#[cfg(not(feature = "zstd"))]
pub(super) fn zstd(_: &dyn ReadAt, _: u8, _: &mut Sink<'_>) -> Result<()> {
    missing("zstd")
}

#[cfg(not(feature = "blsc"))]
pub(super) fn blosc(_: &dyn ReadAt, _: u8, _: u64, _: &mut Sink<'_>) -> Result<()> {
    missing("blsc")
}
