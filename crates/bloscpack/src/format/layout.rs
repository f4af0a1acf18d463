//! Where the parts of a file are.
//!
//! ```text
//! header | metadata section | offset table | chunk digest | chunk digest | ... | stale bytes
//!         version 3, if any   if any         data                                after appending
//! ```
//!
//! A layout is what was found, not what was claimed: the size of each chunk is that of its own
//! Blosc header, and its place was compared with the table and its neighbours.

use std::ops::Range;

/// A chunk: where it lies, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkEntry {
    /// The byte of the file where its Blosc buffer begins.
    pub offset: u64,
    /// Length of its data in bytes.
    pub nbytes: u32,
    /// Length of its Blosc buffer in bytes; the digest follows.
    pub ctbytes: u32,
    pub(crate) plain_offset: u64,
}

impl ChunkEntry {
    /// Where its data begin in the data of the file.
    pub fn plain_offset(&self) -> u64 {
        self.plain_offset
    }

    /// The bytes of the file's data that are its data.
    pub fn plain_range(&self) -> Range<u64> {
        self.plain_offset..self.plain_offset.saturating_add(u64::from(self.nbytes))
    }

    /// The bytes of the file that are its Blosc buffer, without the digest.
    pub fn stored_range(&self) -> Range<u64> {
        self.offset..self.offset + u64::from(self.ctbytes)
    }
}

/// The parts of a file, and the table of its chunks.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(crate) file_len: u64,
    pub(crate) metadata: Option<Range<u64>>,
    pub(crate) offsets: Option<Range<u64>>,
    pub(crate) data: Range<u64>,
    chunks: Vec<ChunkEntry>,
    plain_len: u64,
    /// The size of every chunk but the last, which is not larger: then places are computed.
    uniform: Option<u64>,
}

impl Layout {
    /// A layout of chunks in the order of their data, whose place in the data is counted here.
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

    /// The metadata section, from its header to its digest.
    pub fn metadata(&self) -> Option<Range<u64>> {
        self.metadata.clone()
    }

    /// The offset table, its spare entries included.
    pub fn offsets(&self) -> Option<Range<u64>> {
        self.offsets.clone()
    }

    /// The chunks and their digests.
    pub fn data(&self) -> Range<u64> {
        self.data.clone()
    }

    /// What is left after the last chunk, as appending leaves it; mostly empty.
    pub fn stale_tail(&self) -> Range<u64> {
        self.data.end..self.file_len
    }

    /// Length of the file in bytes.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// Length of the data in bytes: the sum of the chunks'.
    pub fn plain_len(&self) -> u64 {
        self.plain_len
    }

    /// The chunks in the order of their data.
    pub fn chunks(&self) -> &[ChunkEntry] {
        &self.chunks
    }

    /// The chunk that has the byte of the data at `position`, if there is one.
    pub fn chunk_at(&self, position: u64) -> Option<usize> {
        if position >= self.plain_len {
            return None;
        }
        let index = match self.uniform {
            Some(size) => usize::try_from(position / size).ok()?,
            // The last that begins there or before; those without bytes come before it.
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

/// The parts before the chunks.
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
    fn byte_lies_in_the_chunk_that_has_it() {
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
    fn tail_is_what_the_last_chunk_leaves() {
        assert_eq!(layout(&[1]).stale_tail(), 100..107);
    }
}
