//! `lz4\0`: chunks of 4 MiB, each an LZ4 block with two lengths before it, as the reader in `codec`
//! describes.

use bytes::Bytes;
use lz4_flex::block::{compress_into, get_maximum_output_size};

use super::{Sink, Source, failed, pipeline};
use crate::error::Result;

/// Data of a chunk.
const CHUNK: usize = 4 << 20;

pub(super) fn encode(source: &mut dyn Source, sink: &mut Sink<'_>) -> Result<()> {
    let compress = |chunk: Bytes| compress(&chunk);
    pipeline(CHUNK, || source.next(CHUNK), compress, |chunk| sink(&chunk))
}

fn compress(data: &[u8]) -> Result<Vec<u8>> {
    let mut out = vec![0; 8 + get_maximum_output_size(data.len())];
    let len = compress_into(data, &mut out[8..]).map_err(|error| failed("lz4", error))?;
    out.truncate(8 + len);
    let word = |len: usize| u32::try_from(len).map_err(|error| failed("lz4", error));
    out[..4].copy_from_slice(&word(len + 4)?.to_be_bytes());
    out[4..8].copy_from_slice(&word(data.len())?.to_le_bytes());
    Ok(out)
}
