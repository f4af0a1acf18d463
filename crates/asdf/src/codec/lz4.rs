//! `lz4\0`: chunks, each of which consists of two lengths and an LZ4 block.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | n, **big**-endian: number of bytes that follow in this chunk |
//! | 4 | 4 | decoded length, **little**-endian |
//! | 8 | n - 4 | LZ4 block |
//!
//! Most writers use chunks of 4 MiB of data, and some use 8 MiB. Chunks may have different sizes
//! and may be empty. Bytes after the last chunk, in practice up to three, are reported, but not
//! decoded.
//!
//! The module `chunks` collects the lengths in a table. Chunks are written with 4 MiB of data each,
//! and are compressed in parallel.

use binio::diagnostic::count;
use binio::number::ByteReader;
use binio::{Endian, ReadAt};
use bytes::Bytes;
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use super::Failure;
use super::chunks::{Chunked, Lengths};
use super::encode::{Parameters, Sink, Source, encoder_error, pipeline};
use crate::error::{CodecError, Result};

/// The first bytes of an LZ4 frame, which is a different format. Interpreted as the length of a chunk,
/// they would mean 69 MB.
pub(super) const FRAME_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];

/// Number of bytes in a chunk before the LZ4 block.
const HEADER_LEN: usize = 8;

/// The maximum number of output bytes per byte of an LZ4 block: a length byte of 255 stands for 255 output
/// bytes. A chunk that claims more is certainly damaged.
const MAX_EXPANSION: u64 = 255;

pub(super) struct Lz4;

/// Returns `true` if the stored bytes begin with the magic of an LZ4 frame.
pub(super) fn is_frame<S: ReadAt + ?Sized>(stored: &S) -> Result<bool, Failure> {
    Ok(stored.len() >= 4 && stored.bytes_at(0, 4)? == FRAME_MAGIC[..])
}

impl Chunked for Lz4 {
    type Scratch = ();

    fn header_len(&self) -> usize {
        HEADER_LEN
    }

    fn lengths(&self, header: &[u8]) -> Result<Lengths, String> {
        let mut reader = ByteReader::new(header);
        let (Ok(len), Ok(data_len)) =
            (reader.read::<u32>(Endian::Big), reader.read::<u32>(Endian::Little))
        else {
            return Err("the LZ4 chunk is too short to contain its length fields".to_owned());
        };
        if len < 4 {
            let len = count(len, "byte");
            return Err(format!("the LZ4 chunk has a length of {len}, expected at least 4"));
        }
        let end = 4 + u64::from(len);
        Ok(Lengths { payload: HEADER_LEN as u64..end, data_len: data_len.into() })
    }

    fn max_expansion(&self) -> u64 {
        MAX_EXPANSION
    }

    fn decode(&self, block: &[u8], out: &mut [u8], (): &mut ()) -> Result<(), Failure> {
        let corrupt = |message| Failure::from(CodecError::Corrupt { message, offset: 0 });
        let len = decompress_into(block, out).map_err(|error| corrupt(format!("LZ4: {error}")))?;
        if len != out.len() {
            let (len, claim) = (count(len, "byte"), out.len());
            return Err(corrupt(format!("the LZ4 chunk decodes to {len}, expected {claim}")));
        }
        Ok(())
    }
}

/// Number of data bytes per written chunk. The last chunk may have fewer.
const CHUNK: usize = 4 << 20;

pub(super) fn encode(source: &mut dyn Source, _: Parameters, sink: &mut Sink<'_>) -> Result<()> {
    let compress = |chunk: Bytes| compress(&chunk);
    pipeline(Bytes::len, || source.next(CHUNK), compress, |chunk| sink(&chunk))
}

fn compress(data: &[u8]) -> Result<Vec<u8>> {
    let mut out = vec![0; 8 + get_maximum_output_size(data.len())];
    let len = compress_into(data, &mut out[8..]).map_err(|error| encoder_error("lz4", error))?;
    out.truncate(8 + len);
    let word = |len: usize| u32::try_from(len).map_err(|error| encoder_error("lz4", error));
    out[..4].copy_from_slice(&word(len + 4)?.to_be_bytes());
    out[4..8].copy_from_slice(&word(data.len())?.to_le_bytes());
    Ok(out)
}
