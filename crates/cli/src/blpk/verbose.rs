//! The lines about chunks and metadata that the original program prints with `--verbose`. In
//! scibin, `--debug` prints the same lines, because the additional lines of the original program
//! show only its own variables and the bytes that it reads.

use std::path::Path;

use bloscpack::format::Chunking;
use bloscpack::{ChunkSize, OpenOptions, Reader};

use super::original::double_pretty;
use crate::failure::Failure;

fn open(path: &Path) -> Result<Reader, Failure> {
    let opened = OpenOptions::new().ignore_metadata(true).open(path);
    opened.map_err(|error| Failure::bloscpack(path, error))
}

/// Returns a line with the stored size of the metadata, if the file contains any.
pub(super) fn metadata(path: &Path) -> Result<Option<String>, Failure> {
    let line = |meta: &bloscpack::format::MetaHeader| {
        let how = if meta.codec_name() == Some("None") { "uncompressed" } else { "compressed" };
        format!("read {how} metadata of size: '{}'", meta.meta_comp_size)
    };
    Ok(open(path)?.meta_header().map(line))
}

/// Returns the lines about the chunks for `len` bytes of data, or no lines if there is no data. If
/// the data is smaller than the chunk size, the first line says so.
pub(super) fn chunking(chunk_size: ChunkSize, len: u64) -> Vec<String> {
    let chunking = Chunking::of(len, chunk_size).ok().filter(|_| len > 0);
    let Some(Chunking { nchunks, chunk_size: used, last_chunk, .. }) = chunking else {
        return Vec::new();
    };
    let asked = chunk_size.bytes().unwrap_or(used);
    [smaller(asked, len)].into_iter().flatten().chain(chunks(nchunks, used, last_chunk)).collect()
}

/// Returns the lines about the last `new` chunks of a file, or no lines if `new` is 0. If the data
/// in these chunks is smaller than the chunk size, the first line says so.
pub(super) fn appended(path: &Path, new: u64) -> Result<Vec<String>, Failure> {
    let file = open(path)?;
    let start = file.chunks().len().saturating_sub(usize::try_from(new).unwrap_or(usize::MAX));
    let chunks_of_file = file.chunks().get(start..).unwrap_or_default();
    let (Some(first), Some(last)) = (chunks_of_file.first(), chunks_of_file.last()) else {
        return Ok(Vec::new());
    };
    let asked = file.header().chunk_size.unwrap_or(first.nbytes);
    let len = chunks_of_file.iter().map(|chunk| u64::from(chunk.nbytes)).sum();
    let lines = chunks(new, first.nbytes, last.nbytes);
    Ok([smaller(asked, len)].into_iter().flatten().chain(lines).collect())
}

fn chunks(nchunks: u64, chunk_size: u32, last_chunk: u32) -> [String; 3] {
    [
        format!("nchunks: {nchunks}"),
        format!("chunk_size: {}", double_pretty(chunk_size.into())),
        format!("last_chunk_size: {}", double_pretty(last_chunk.into())),
    ]
}

/// Returns a remark if the data is not empty, but smaller than the requested chunk size.
fn smaller(asked: u32, len: u64) -> Option<String> {
    let is_smaller = u64::from(asked) > len && len > 0;
    let (asked, used) = (double_pretty(asked.into()), double_pretty(len));
    is_smaller
        .then(|| format!("Input was smaller than the given 'chunk_size': {asked} using: {used}"))
}
