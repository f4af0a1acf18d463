//! Test files, built byte by byte instead of by the writers under test.

use binio::blosc::{CompressOptions, Compressor, compress};

use crate::Checksum;

/// Returns a Blosc buffer with this data.
pub(crate) fn buffer(data: &[u8]) -> Vec<u8> {
    compress(data, &CompressOptions::new(Compressor::Lz4).typesize(4)).unwrap()
}

/// A file for a test. The test changes some fields, and then encodes the file with
/// [`bytes`](Self::bytes).
#[derive(Clone)]
pub(crate) struct TestFile {
    pub(crate) version: u8,
    pub(crate) checksum: Checksum,
    /// The metadata section as stored in the file.
    pub(crate) metadata: Vec<u8>,
    pub(crate) chunk_size: i32,
    pub(crate) last_chunk: i32,
    pub(crate) nchunks: i64,
    pub(crate) max_app_chunks: i64,
    /// The entries of the table of offsets; `None` for a file without a table.
    pub(crate) offsets: Option<Vec<i64>>,
    /// The Blosc buffers, each followed by its digest.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) tail: Vec<u8>,
}

impl TestFile {
    /// Returns a valid file with these chunks, a table with one spare entry, and adler32 digests.
    pub(crate) fn of(chunks: &[&[u8]]) -> Self {
        let size =
            |chunk: Option<&&[u8]>| chunk.map_or(0, |chunk| i32::try_from(chunk.len()).unwrap());
        let mut file = Self {
            version: 3,
            checksum: Checksum::Adler32,
            metadata: Vec::new(),
            chunk_size: size(chunks.first()),
            last_chunk: size(chunks.last()),
            nchunks: i64::try_from(chunks.len()).unwrap(),
            max_app_chunks: 1,
            offsets: None,
            chunks: Vec::new(),
            tail: Vec::new(),
        };
        file.chunks = chunks.iter().map(|chunk| file.chunk(chunk)).collect();
        file.offsets = Some(vec![-1; chunks.len() + 1]);
        file.set_offsets();
        file
    }

    /// Returns the Blosc buffer of a chunk with this data, followed by its digest.
    pub(crate) fn chunk(&self, data: &[u8]) -> Vec<u8> {
        let buffer = buffer(data);
        let digest = self.checksum.compute(&buffer);
        [buffer, digest].concat()
    }

    /// Sets the table entries to the offsets of the chunks.
    pub(crate) fn set_offsets(&mut self) {
        let mut position = self.data_start();
        let Some(offsets) = &mut self.offsets else { return };
        for (offset, chunk) in offsets.iter_mut().zip(&self.chunks) {
            *offset = i64::try_from(position).unwrap();
            position += chunk.len() as u64;
        }
    }

    /// Removes the table of offsets.
    pub(crate) fn without_offsets(mut self) -> Self {
        self.offsets = None;
        self.max_app_chunks = 0;
        self
    }

    /// Returns the offset of chunk `index` in the file.
    pub(crate) fn chunk_start(&self, index: usize) -> u64 {
        let before: usize = self.chunks[..index].iter().map(Vec::len).sum();
        self.data_start() + before as u64
    }

    fn data_start(&self) -> u64 {
        let table = self.offsets.as_ref().map_or(0, |offsets| 8 * offsets.len());
        (32 + self.metadata.len() + table) as u64
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let options = u8::from(self.offsets.is_some()) + 2 * u8::from(!self.metadata.is_empty());
        let mut bytes = b"blpk".to_vec();
        bytes.extend([self.version, options, self.checksum.id(), 4]);
        bytes.extend([self.chunk_size.to_le_bytes(), self.last_chunk.to_le_bytes()].concat());
        bytes.extend([self.nchunks.to_le_bytes(), self.max_app_chunks.to_le_bytes()].concat());
        bytes.extend(&self.metadata);
        let offsets = self.offsets.iter().flatten();
        bytes.extend(offsets.flat_map(|offset| offset.to_le_bytes()));
        bytes.extend(self.chunks.concat());
        bytes.extend(&self.tail);
        bytes
    }
}
