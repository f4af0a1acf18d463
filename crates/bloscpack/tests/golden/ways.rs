//! Checks that every way of reading a file returns the same bytes.

use bloscpack::{Reader, Result, UnpackOptions};

/// Reads the data in every way, and compares each result with `data`. The data is read chunk by
/// chunk, in ranges, and as a whole: to memory, a sink and a file, on one thread and on several.
pub(crate) fn every_way_gives(file: &Reader, data: &[u8]) -> Result<Result<(), String>> {
    let mut chunks = Vec::new();
    for index in 0..file.chunks().len() {
        chunks.extend(file.decode_chunk(index)?);
    }
    let mut ways = vec![("chunks", chunks)];
    for threads in [1, 3] {
        let options = UnpackOptions::new().threads(threads);
        let mut sink = Vec::new();
        file.unpack_to(&mut sink, &options)?;
        let target = tempfile::tempfile().map_err(binio::Error::from)?;
        file.unpack_to_file(&target, &options)?;
        let written = binio::FileSource::new(target)?;
        let written = binio::ReadAt::bytes_at(&written, 0, data.len())?.to_vec();
        ways.extend([
            ("sink", sink),
            ("file", written),
            ("memory", file.read_all_parallel(&options)?),
        ]);
    }
    for (way, found) in ways {
        if found != data {
            return Ok(Err(format!("{way}: other bytes")));
        }
    }
    // Use ranges that begin and end at chunk boundaries and next to them.
    let borders = file.chunks().iter().flat_map(|chunk| {
        let range = chunk.plain_range();
        [range.start, range.start + 1, range.end.saturating_sub(1), range.end]
    });
    let mut borders: Vec<u64> = borders.filter(|&border| border <= file.len()).take(16).collect();
    borders.sort_unstable();
    borders.dedup();
    for (index, &start) in borders.iter().enumerate() {
        let ends = borders.get(index..).unwrap_or_default();
        for &end in ends.iter().take(3).chain(ends.last()) {
            let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
            let mut part = vec![0; range.len()];
            file.read_exact_at(&mut part, start)?;
            if part != data[range.clone()] {
                return Ok(Err(format!("read_at {range:?}: other bytes")));
            }
        }
    }
    Ok(Ok(()))
}
