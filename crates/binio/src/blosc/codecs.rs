//! Decoding and encoding single streams. A stream encodes a part of a block, and must decode to
//! exactly as many bytes as this part has.
//!
//! | codec | stream |
//! |---|---|
//! | blosclz | see its module |
//! | lz4 | one LZ4 block |
//! | snappy | raw snappy, whose stored length also has to match |
//! | zlib | one complete RFC 1950 stream; bytes after it are ignored |
//! | zstd | one or more frames; skippable frames are ignored; requires the feature `blosc-zstd` |

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::blosclz;
use super::encode::Compressor;
use super::header::Codec;
use super::lz4;
use crate::diagnostic::count;
use crate::{Error, Result};

/// Magic number of current Zstandard frames. The zstd library may also support early draft formats,
/// but these do not occur in Blosc buffers.
#[cfg(feature = "blosc-zstd")]
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Magic number of skippable Zstandard frames, without its first byte, which may be 0x50 to 0x5f.
#[cfg(feature = "blosc-zstd")]
const ZSTD_SKIPPABLE_MAGIC: [u8; 3] = [0x2a, 0x4d, 0x18];

impl Codec {
    /// Returns the maximum number of bytes that one byte of a stream can decode to. It follows from
    /// the format of each codec: a length byte of 255 for blosclz and lz4, a 64-byte copy in three
    /// bytes for snappy, the bound of deflate for zlib, and a 2 MiB run in four bytes for zstd.
    pub(super) fn max_expansion(self) -> u64 {
        match self {
            Self::Blosclz | Self::Lz4 => 255,
            Self::Snappy => 22,
            Self::Zlib => 1032,
            Self::Zstd => 1 << 19,
        }
    }
}

/// Decoders for all codecs. Their state is reused from stream to stream.
#[derive(Default)]
pub(super) struct Decoders {
    zlib: Option<Decompress>,
    #[cfg(feature = "blosc-zstd")]
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decoders {
    /// Decodes a stream to exactly the length of `out`. Offsets in errors include `offset`, the
    /// offset of the stream in the buffer.
    pub(super) fn decode(
        &mut self,
        codec: Codec,
        stream: &[u8],
        offset: u64,
        out: &mut [u8],
    ) -> Result<()> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::invalid(format!("{}: {error}", codec.name())).at(offset)
        };
        let len = match codec {
            Codec::Blosclz => return blosclz::decode(stream, offset, out),
            Codec::Lz4 => return lz4::decode(stream, offset, out),
            Codec::Snappy => {
                // The messages of `snap` already begin with the name of the codec.
                let failed = |error: snap::Error| Error::invalid(error.to_string()).at(offset);
                snap::raw::Decoder::new().decompress(stream, out).map_err(failed)?
            }
            Codec::Zlib => {
                let zlib = self.zlib.get_or_insert_with(|| Decompress::new(true));
                zlib.reset(true);
                let status = zlib
                    .decompress(stream, out, FlushDecompress::Finish)
                    .map_err(|error| failed(&error))?;
                if status != Status::StreamEnd {
                    let len = count(out.len(), "byte");
                    let message =
                        format!("the stream is incomplete, or decodes to more than {len}");
                    return Err(failed(&message));
                }
                usize::try_from(zlib.total_out()).unwrap_or(usize::MAX)
            }
            #[cfg(not(feature = "blosc-zstd"))]
            Codec::Zstd => return Err(without_zstd("decompression").at(offset)),
            #[cfg(feature = "blosc-zstd")]
            Codec::Zstd => {
                if !has_current_frames(stream) {
                    return Err(failed(&"expected complete frames in the current format"));
                }
                let zstd = self.zstd.get_or_insert_with(zstd::bulk::Decompressor::default);
                zstd.decompress_to_buffer(stream, out).map_err(|error| failed(&error))?
            }
        };
        if len != out.len() {
            let expected = count(out.len(), "decoded byte");
            return Err(failed(&format_args!("expected {expected}, found {len}")));
        }
        Ok(())
    }
}

/// Returns `true` if a Zstandard stream consists of complete frames, each of which is in the
/// current format or skippable.
#[cfg(feature = "blosc-zstd")]
fn has_current_frames(mut stream: &[u8]) -> bool {
    while let Some(&[first, ref magic @ ..]) = stream.first_chunk::<4>() {
        let is_skippable = (first & 0xf0, magic) == (0x50, &ZSTD_SKIPPABLE_MAGIC);
        let len = zstd::zstd_safe::find_frame_compressed_size(stream).ok();
        let rest = len.and_then(|len| stream.get(len..));
        match rest.filter(|_| is_skippable || stream.starts_with(&ZSTD_MAGIC)) {
            Some(rest) => stream = rest,
            None => return false,
        }
    }
    stream.is_empty()
}

#[cfg(not(feature = "blosc-zstd"))]
fn without_zstd(what: &str) -> Error {
    Error::unsupported(format!("{what} with zstd requires the feature blosc-zstd"))
}

/// An encoder for one compressor. Its state is reused from stream to stream.
pub(super) struct Encoder(Kind);

enum Kind {
    Lz4,
    Snappy(Box<snap::raw::Encoder>),
    Zlib(Compress),
    #[cfg(feature = "blosc-zstd")]
    Zstd(zstd::bulk::Compressor<'static>),
}

impl Encoder {
    /// Creates an encoder for a level from 1 to 9. lz4 and snappy have only one level.
    pub(super) fn new(compressor: Compressor, level: u8) -> Result<Self> {
        let level = i32::from(level);
        Ok(Self(match compressor {
            Compressor::Lz4 => Kind::Lz4,
            Compressor::Snappy => Kind::Snappy(Box::new(snap::raw::Encoder::new())),
            Compressor::Zlib => {
                Kind::Zlib(Compress::new(Compression::new(level.unsigned_abs()), true))
            }
            #[cfg(not(feature = "blosc-zstd"))]
            Compressor::Zstd => return Err(without_zstd("compression")),
            #[cfg(feature = "blosc-zstd")]
            Compressor::Zstd => {
                // Spread the nine levels over the levels of the codec, and map level 9 to its best
                // level.
                let range = zstd::compression_level_range();
                let level = if level < 9 { 2 * level - 1 } else { *range.end() };
                Kind::Zstd(zstd::bulk::Compressor::new(level)?)
            }
            Compressor::Blosclz | Compressor::Lz4hc => {
                let name = compressor.name();
                let message =
                    format!("compression with {name} requires the feature blosc-compress");
                return Err(Error::unsupported(message));
            }
        }))
    }

    /// Compresses `data`, and appends the stream to `out` if it is shorter than the data. Returns
    /// `true` if it was appended.
    pub(super) fn encode(&mut self, data: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let room = match &self.0 {
            Kind::Lz4 => lz4_flex::block::get_maximum_output_size(data.len()),
            Kind::Snappy(_) => snap::raw::max_compress_len(data.len()),
            Kind::Zlib(_) => data.len(),
            #[cfg(feature = "blosc-zstd")]
            Kind::Zstd(_) => data.len(),
        };
        out.resize(start + room, 0);
        let place = &mut out[start..];
        let len = match &mut self.0 {
            Kind::Lz4 => lz4_flex::block::compress_into(data, place).ok(),
            Kind::Snappy(encoder) => encoder.compress(data, place).ok(),
            Kind::Zlib(encoder) => {
                encoder.reset();
                let status = encoder.compress(data, place, FlushCompress::Finish);
                let len = usize::try_from(encoder.total_out()).ok();
                len.filter(|_| matches!(status, Ok(Status::StreamEnd)))
            }
            #[cfg(feature = "blosc-zstd")]
            Kind::Zstd(encoder) => encoder.compress_to_buffer(data, place).ok(),
        };
        let shorter = len.filter(|&len| len < data.len());
        out.truncate(start + shorter.unwrap_or(0));
        shorter.is_some()
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]
mod tests {
    use super::*;

    const PURE: &[Compressor] = &[
        Compressor::Lz4,
        Compressor::Snappy,
        Compressor::Zlib,
        #[cfg(feature = "blosc-zstd")]
        Compressor::Zstd,
    ];

    fn stream(compressor: Compressor, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(Encoder::new(compressor, 5).unwrap().encode(data, &mut out));
        out
    }

    #[test]
    fn the_name_of_the_codec_occurs_once_in_an_error() {
        for &compressor in PURE {
            let codec = compressor.codec();
            let result = Decoders::default().decode(codec, b"\xff\xff", 0, &mut [0; 10]);
            let message = result.unwrap_err().to_string();
            assert_eq!(message.matches(codec.name()).count(), 1, "{message}");
        }
    }

    #[test]
    fn a_stream_must_decode_to_exactly_the_expected_length() {
        let data = b"abcdabcdabcd".repeat(50);
        let mut decoders = Decoders::default();
        for &compressor in PURE {
            let stream = stream(compressor, &data);
            for len in [data.len() - 1, data.len(), data.len() + 1] {
                let mut out = vec![0; len];
                let result = decoders.decode(compressor.codec(), &stream, 0, &mut out);
                assert_eq!(result.is_ok(), len == data.len(), "{compressor:?} {len}");
                if let Err(error) = result {
                    assert!(error.to_string().starts_with(compressor.codec().name()), "{error}");
                }
            }
            let mut out = vec![0; data.len()];
            let cut = &stream[..stream.len() - 1];
            assert!(decoders.decode(compressor.codec(), cut, 0, &mut out).is_err(), "cut");
            assert!(decoders.decode(compressor.codec(), &[], 0, &mut out).is_err(), "empty");
            decoders.decode(compressor.codec(), &stream, 0, &mut out).unwrap();
            assert_eq!(out, data, "after failures");
        }
    }

    #[cfg(feature = "blosc-zstd")]
    #[test]
    fn a_zstd_stream_may_consist_of_several_frames() {
        let one = stream(Compressor::Zstd, &[7; 100]);
        let skippable = [0x5f, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2];
        let frames = [&skippable[..], &one, &skippable, &one].concat();
        let mut out = [0; 200];
        Decoders::default().decode(Codec::Zstd, &frames, 0, &mut out).unwrap();
        assert_eq!(out, [7; 200]);
    }

    #[cfg(feature = "blosc-zstd")]
    #[test]
    fn a_zstd_stream_with_bytes_that_are_not_a_complete_frame_is_rejected() {
        let one = stream(Compressor::Zstd, &[7; 100]);
        let draft = [0x27, 0xb5, 0x2f, 0xfd];
        let truncated = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1];
        for more in [&draft[..], &truncated, &one[..8], b"a"] {
            let mut out = [0; 100];
            let frames = [&one, more].concat();
            let decoded = Decoders::default().decode(Codec::Zstd, &frames, 0, &mut out);
            assert!(decoded.is_err(), "{more:?}");
        }
    }

    #[test]
    fn bytes_after_a_zlib_stream_are_ignored() {
        let data = [7; 100];
        let mut stream = stream(Compressor::Zlib, &data);
        stream.push(1);
        let mut out = [0; 100];
        Decoders::default().decode(Codec::Zlib, &stream, 0, &mut out).unwrap();
        assert_eq!(out, data);
    }

    #[test]
    fn bytes_after_an_lz4_or_snappy_stream_are_rejected() {
        for compressor in [Compressor::Lz4, Compressor::Snappy] {
            let mut stream = stream(compressor, &[7; 100]);
            stream.push(1);
            let decoded = Decoders::default().decode(compressor.codec(), &stream, 0, &mut [0; 100]);
            assert!(decoded.is_err(), "{compressor:?}");
        }
    }

    #[test]
    fn incompressible_data_is_not_encoded() {
        let data: Vec<u8> = (0..100_u32).map(|n| (n * 151 + n * n) as u8).collect();
        for &compressor in PURE {
            let mut out = vec![1, 2];
            assert!(!Encoder::new(compressor, 9).unwrap().encode(&data, &mut out));
            assert_eq!(out, [1, 2]);
        }
    }
}
