//! Listing the chunks of a file, and counting them by compression.

use std::collections::BTreeMap;

use binio::blosc;
use bloscpack::Reader;
use bloscpack::format::ChunkEntry;
use serde_json::{Value, json};

use crate::output::{one_line, table};

/// The chunks of a file, and their Blosc headers.
pub(super) struct Chunks<'a> {
    entries: &'a [ChunkEntry],
    headers: Vec<bloscpack::Result<blosc::Header>>,
}

/// The compression of a chunk: codec, shuffle, typesize, and whether the chunk is stored
/// uncompressed.
type Kind = (&'static str, &'static str, u8, bool);

#[derive(Default)]
struct Counts {
    chunks: u64,
    plain: u64,
    stored: u64,
}

impl<'a> Chunks<'a> {
    pub(super) fn of(file: &'a Reader) -> Self {
        let headers = (0..file.chunks().len()).map(|index| file.chunk_header(index)).collect();
        Self { entries: file.chunks(), headers }
    }

    /// Returns the total stored size of all chunks in bytes, without digests.
    pub(super) fn stored(&self) -> u64 {
        self.entries.iter().map(|chunk| u64::from(chunk.ctbytes)).sum()
    }

    fn kinds(&self) -> BTreeMap<Kind, Counts> {
        let mut kinds = BTreeMap::<Kind, Counts>::new();
        for header in self.headers.iter().flatten() {
            let (codec, shuffle) = (header.codec().name(), header.shuffle().name());
            let kind = (codec, shuffle, header.typesize(), header.is_memcpyed());
            let counts = kinds.entry(kind).or_default();
            counts.chunks += 1;
            counts.plain += u64::from(header.nbytes());
            counts.stored += u64::from(header.ctbytes());
        }
        kinds
    }

    /// Returns a line of text for each kind of compression, with the number of chunks.
    pub(super) fn kinds_text(&self) -> Vec<String> {
        let line = |((codec, shuffle, typesize, is_memcpyed), counts): (Kind, Counts)| {
            let ratio = ratio(counts.plain, counts.stored);
            let plain = if is_memcpyed { ", not compressed" } else { "" };
            let chunks = counts.chunks;
            format!(
                "{chunks} {codec}{plain}, shuffle {shuffle}, typesize {typesize}, ratio {ratio:.2}"
            )
        };
        self.kinds().into_iter().map(line).collect()
    }

    pub(super) fn kinds_json(&self) -> Value {
        let kind = |((codec, shuffle, typesize, is_memcpyed), counts): (Kind, Counts)| {
            json!({
                "codec": codec, "shuffle": shuffle, "typesize": typesize, "memcpyed": is_memcpyed,
                "chunks": counts.chunks, "nbytes": counts.plain, "ctbytes": counts.stored,
                "ratio": ratio(counts.plain, counts.stored),
            })
        };
        self.kinds().into_iter().map(kind).collect()
    }

    pub(super) fn table(&self) -> String {
        let heading = [
            "chunk",
            "offset",
            "nbytes",
            "ctbytes",
            "ratio",
            "codec",
            "shuffle",
            "typesize",
            "blocksize",
        ];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        for (index, (chunk, header)) in self.entries.iter().zip(&self.headers).enumerate() {
            let ratio = ratio(chunk.nbytes.into(), chunk.ctbytes.into());
            let mut row = vec![
                index.to_string(),
                chunk.offset.to_string(),
                chunk.nbytes.to_string(),
                chunk.ctbytes.to_string(),
                format!("{ratio:.2}"),
            ];
            match header {
                Ok(header) => row.extend([
                    header.codec().name().to_owned(),
                    header.shuffle().name().to_owned(),
                    header.typesize().to_string(),
                    header.blocksize().to_string(),
                ]),
                Err(error) => row.push(one_line(&error.to_string())),
            }
            rows.push(row);
        }
        table(&rows, &[true, true, true, true, true, false, false, true, true])
    }

    pub(super) fn json(&self) -> Value {
        let one = |(index, (chunk, header)): (usize, (&ChunkEntry, _))| {
            json!({
                "index": index, "offset": chunk.offset,
                "nbytes": chunk.nbytes, "ctbytes": chunk.ctbytes, "blosc": blosc_json(header),
            })
        };
        self.entries.iter().zip(&self.headers).enumerate().map(one).collect()
    }
}

fn blosc_json(header: &bloscpack::Result<blosc::Header>) -> Value {
    match header {
        Ok(header) => json!({
            "codec": header.codec().name(), "shuffle": header.shuffle().name(),
            "typesize": header.typesize(), "blocksize": header.blocksize(),
            "blocks": header.block_count(), "memcpyed": header.is_memcpyed(),
            "flags": header.flags(),
        }),
        Err(error) => json!({"error": error.to_string()}),
    }
}

/// Returns the compression ratio, or 0 if `stored` is 0.
#[allow(
    clippy::cast_precision_loss,
    reason = "rounding changes the ratio by less than 1 part in 10^15"
)]
pub(crate) fn ratio(plain: u64, stored: u64) -> f64 {
    if stored == 0 { 0.0 } else { plain as f64 / stored as f64 }
}
