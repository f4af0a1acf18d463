//! The ranges of all parts of a file.
//!
//! ```text
//! header | metadata section | offset table | chunk digest | chunk digest | ... | stale bytes
//!         version 3, if any   if any         data                                after appending
//! ```
//!
//! A layout describes the actual file, not the claims of the header: the size of a chunk comes from
//! its Blosc header, and its offset was checked against the neighbouring chunks and against the
//! table of offsets, if any.

use std::ops::Range;

/// The offset and the sizes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkEntry {
    /// The offset of the Blosc buffer in the file.
    pub offset: u64,
    /// The uncompressed length of the chunk, in bytes.
    pub nbytes: u32,
    /// The length of the Blosc buffer in bytes. The digest follows it.
    pub ctbytes: u32,
    pub(crate) plain_offset: u64,
}

impl ChunkEntry {
    /// Returns the offset of the chunk in the uncompressed data.
    pub fn plain_offset(&self) -> u64 {
        self.plain_offset
    }

    /// Returns the range of uncompressed data that the chunk contains.
    pub fn plain_range(&self) -> Range<u64> {
        self.plain_offset..self.plain_offset.saturating_add(u64::from(self.nbytes))
    }

    /// Returns the range of the Blosc buffer in the file, without the digest.
    pub fn stored_range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.ctbytes)
    }
}

/// The ranges of all parts of a file, including its chunks.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(crate) file_len: u64,
    pub(crate) metadata: Option<Range<u64>>,
    pub(crate) offsets: Option<Range<u64>>,
    pub(crate) data: Range<u64>,
    chunks: Vec<ChunkEntry>,
    plain_len: u64,
    /// The size of each chunk but the last. `None` if these chunks are empty or differ in size, or
    /// if the last chunk is larger. If the size is known, [`chunk_at`](Self::chunk_at) computes the
    /// index of a chunk instead of searching for it.
    uniform: Option<u64>,
}

impl Layout {
    /// Creates a layout, and computes the offset of each chunk in the data. `chunks` must be in the
    /// order in which their data is unpacked.
    pub(crate) fn new(
        sections: Sections,
        data_end: u64,
        file_len: u64,
        mut chunks: Vec<ChunkEntry>,
    ) -> Self {
        let mut plain_len: u64 = 0;
        for chunk in &mut chunks {
            chunk.plain_offset = plain_len;
            plain_len = plain_len.saturating_add(u64::from(chunk.nbytes));
        }
        let Sections { metadata, offsets, data_start } = sections;
        let uniform = uniform(&chunks);
        Self { file_len, metadata, offsets, data: data_start..data_end, chunks, plain_len, uniform }
    }

    /// Returns the range of the metadata section in the file, from its header to its digest.
    /// Returns `None` if the file has no metadata section.
    pub fn metadata(&self) -> Option<Range<u64>> {
        self.metadata.clone()
    }

    /// Returns the range of the table of offsets in the file, including spare entries. Returns
    /// `None` if the file has no table.
    pub fn offsets(&self) -> Option<Range<u64>> {
        self.offsets.clone()
    }

    /// Returns the range of the chunks and their digests in the file.
    pub fn data(&self) -> Range<u64> {
        self.data.clone()
    }

    /// Returns the range from the end of the last chunk to the end of the file. It is usually
    /// empty, but appending may leave bytes there.
    pub fn stale_tail(&self) -> Range<u64> {
        self.data.end..self.file_len
    }

    /// Returns the length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Returns the length of the uncompressed data in bytes.
    pub fn plain_len(&self) -> u64 {
        self.plain_len
    }

    /// Returns the chunks in the order in which their data is unpacked, which may differ from their
    /// order in the file.
    pub fn chunks(&self) -> &[ChunkEntry] {
        &self.chunks
    }

    /// Returns the index of the chunk that contains the byte at `position` in the uncompressed
    /// data, or `None` if the data ends before it.
    pub fn chunk_at(&self, position: u64) -> Option<usize> {
        if position >= self.plain_len {
            return None;
        }
        let index = match self.uniform {
            Some(size) => usize::try_from(position / size).ok()?,
            // Use the last chunk that begins at or before the position. Any other chunks that begin
            // at the same offset are empty.
            None => self.chunks.partition_point(|chunk| chunk.plain_offset <= position) - 1,
        };
        Some(index)
    }
}

fn uniform(chunks: &[ChunkEntry]) -> Option<u64> {
    let (last, others) = chunks.split_last()?;
    let size = others.first().unwrap_or(last).nbytes;
    let is_uniform =
        size > 0 && last.nbytes <= size && others.iter().all(|chunk| chunk.nbytes == size);
    is_uniform.then_some(u64::from(size))
}

/// The ranges of the metadata section and the table of offsets, and the offset at which the chunks
/// begin.
#[derive(Clone, Debug)]
pub(crate) struct Sections {
    pub(crate) metadata: Option<Range<u64>>,
    pub(crate) offsets: Option<Range<u64>>,
    pub(crate) data_start: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sizes: &[u32]) -> Layout {
        let entry = |&nbytes| ChunkEntry { offset: 0, nbytes, ctbytes: 16, plain_offset: 0 };
        let sections = Sections { metadata: None, offsets: None, data_start: 32 };
        Layout::new(sections, 100, 107, sizes.iter().map(entry).collect())
    }

    #[test]
    fn every_position_in_the_data_is_mapped_to_its_chunk() {
        for sizes in [
            &[][..],
            &[0],
            &[5],
            &[3, 3, 3, 0],
            &[4, 5],
            &[10, 10, 4],
            &[10, 10, 10],
            &[1, 0, 0, 7, 2],
        ] {
            let layout = layout(sizes);
            let mut position = 0;
            for (index, &size) in sizes.iter().enumerate() {
                assert_eq!(
                    layout.chunks()[index].plain_range(),
                    position..position + u64::from(size)
                );
                for _ in 0..size {
                    assert_eq!(layout.chunk_at(position), Some(index), "{sizes:?} at {position}");
                    position += 1;
                }
            }
            assert_eq!((layout.plain_len(), layout.chunk_at(position)), (position, None));
            assert_eq!(layout.chunk_at(u64::MAX), None);
        }
    }

    #[test]
    fn the_stale_tail_begins_after_the_last_chunk() {
        assert_eq!(layout(&[1]).stale_tail(), 100..107);
    }
}
