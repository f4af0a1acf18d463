//! Writing to a pipe.

use std::fmt;
use std::io::{self, Write};

use crate::WriteOptions;
use crate::error::Result;
use crate::format::Chunking;
use crate::write::batch::Filling;
use crate::write::container::ContainerWriter;

/// Writes data that come piece by piece to a sink that cannot go back, such as a pipe.
///
/// There are no offsets, whatever the options say. Where the length of the data is not known either,
/// the header says that the number of chunks is not known (-1): readers go on to the end of the file.
/// **The original does not**, it takes such a file for an empty one. Data of known length are
/// written [`with_len`](Self::with_len), which all can read.
///
/// ```
/// use std::io::Write;
/// use bloscpack::{Reader, StreamWriter, WriteOptions};
///
/// let mut writer = StreamWriter::new(Vec::new(), &WriteOptions::new())?;
/// writer.write_all(b"data")?;
/// let file = writer.finish()?;
/// let reader = Reader::from_bytes(file)?;
/// assert_eq!((reader.header().nchunks, reader.read_all()?), (None, b"data".to_vec()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StreamWriter<W> {
    filling: Filling,
    container: ContainerWriter<W>,
    knows_len: bool,
}

impl<W: Write> StreamWriter<W> {
    /// Begins a file of data whose length is not known.
    pub fn new(sink: W, options: &WriteOptions) -> Result<Self> {
        Self::begin(sink, options, None)
    }

    /// Begins a file of `len` bytes. More or fewer bytes than that are refused.
    pub fn with_len(sink: W, options: &WriteOptions, len: u64) -> Result<Self> {
        Self::begin(sink, options, Some(len))
    }

    fn begin(sink: W, options: &WriteOptions, expected: Option<u64>) -> Result<Self> {
        let (filling, section) = Filling::new(options, expected)?;
        let header = match expected {
            None => options.stream_header()?,
            Some(len) => {
                let chunking = Chunking::of(len, options.chunk_size)?;
                options.clone().offsets(false).header(chunking)?
            }
        };
        let container = ContainerWriter::new(sink, header, &section)?;
        Ok(Self { filling, container, knows_len: expected.is_some() })
    }

    /// Writes what is left, and hands back the sink.
    pub fn finish(mut self) -> Result<W> {
        let container = &mut self.container;
        self.filling.end(|stored| container.put(stored))?;
        if self.knows_len && self.filling.len() == 0 {
            container.put(&self.filling.empty_chunk()?)?;
        }
        self.container.end()
    }
}

impl<W: Write> Write for StreamWriter<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let container = &mut self.container;
        Ok(self.filling.take(data, |stored| container.put(stored))?)
    }

    /// Does nothing: a chunk that is not full is not written yet.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W> fmt::Debug for StreamWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").field("len", &self.filling.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkSize, pack_to_vec};

    #[test]
    fn data_of_known_length_make_the_same_file_as_one_that_is_packed_without_offsets() {
        let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(100));
        for len in [0, 1, 100, 250] {
            let data = vec![7; len];
            let mut writer = StreamWriter::with_len(Vec::new(), &options, len as u64).unwrap();
            writer.write_all(&data).unwrap();
            let packed = pack_to_vec(&data, &options.clone().offsets(false)).unwrap();
            assert!(writer.finish().unwrap() == packed, "{len}");
        }
    }

    #[test]
    fn other_length_than_said_is_refused() {
        let options = WriteOptions::new();
        let mut writer = StreamWriter::with_len(Vec::new(), &options, 3).unwrap();
        assert!(writer.write_all(b"four").is_err());
        assert!(StreamWriter::with_len(Vec::new(), &options, 3).unwrap().finish().is_err());
    }
}
