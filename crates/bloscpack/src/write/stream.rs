//! Writing to a sink that cannot seek.

use std::fmt;
use std::io::{self, Read, Write};

use binio::ReadAt;

use crate::error::Result;
use crate::format::Chunking;
use crate::write::batch::Filling;
use crate::write::container::ContainerWriter;
use crate::write::pack::{PIECE, read_pieces, report};
use crate::{Progress, WriteOptions};

/// Packs data, piece by piece, into a sink that cannot seek, such as a pipe.
///
/// The file has no offsets, whatever the options say. If the length of the data is also unknown,
/// the header states that the number of chunks is unknown (-1). This crate then reads chunks up to
/// the end of the file, but **the original program treats the file as empty**. If the length of the
/// data is known, use [`with_len`](Self::with_len): every reader can read the resulting file.
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
    /// Begins a file for data of unknown length.
    ///
    /// # Errors
    ///
    /// Fails with [`InvalidOption`](crate::ErrorKind::InvalidOption),
    /// [`NotInVersion`](crate::ErrorKind::NotInVersion),
    /// [`NotEnoughSpace`](crate::ErrorKind::NotEnoughSpace) or [`Limit`](crate::ErrorKind::Limit)
    /// if the options are invalid, and with [`Output`](crate::ErrorKind::Output) if the sink cannot
    /// be written.
    pub fn new(sink: W, options: &WriteOptions) -> Result<Self> {
        Self::begin(sink, options, None)
    }

    /// Begins a file for exactly `len` bytes of data.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
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

    /// Writes all data from a reader, such as a pipe. `progress` is called with the number of bytes
    /// read since the last call.
    ///
    /// ```
    /// use bloscpack::{Reader, StreamWriter, WriteOptions};
    ///
    /// let mut writer = StreamWriter::new(Vec::new(), &WriteOptions::new())?;
    /// writer.write_reader(&mut b"piped".as_slice(), None)?;
    /// assert_eq!(Reader::from_bytes(writer.finish()?)?.read_all()?, b"piped");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if reading fails, with [`Output`](crate::ErrorKind::Output) if the
    /// sink cannot be written, and with [`InvalidOption`](crate::ErrorKind::InvalidOption) if there is more data than
    /// [`with_len`](Self::with_len) announced. Also fails if an earlier write failed.
    pub fn write_reader(
        &mut self,
        reader: &mut dyn Read,
        progress: Option<Progress<'_>>,
    ) -> Result<()> {
        read_pieces(reader, |piece| self.put(piece, progress))
    }

    /// Writes all bytes of a source. `progress` is called with the number of bytes read since the
    /// last call.
    ///
    /// # Errors
    ///
    /// Same as [`write_reader`](Self::write_reader).
    pub fn write_source(
        &mut self,
        source: &dyn ReadAt,
        progress: Option<Progress<'_>>,
    ) -> Result<()> {
        source.pieces(0..source.len(), PIECE).try_for_each(|piece| self.put(&piece?, progress))
    }

    fn put(&mut self, data: &[u8], progress: Option<Progress<'_>>) -> Result<()> {
        let container = &mut self.container;
        self.filling.take_all(data, |stored| container.put(stored))?;
        report(progress, data.len() as u64);
        Ok(())
    }

    /// Compresses the remaining data and returns the sink.
    ///
    /// # Errors
    ///
    /// Fails with [`Output`](crate::ErrorKind::Output) if the sink cannot be written, and with
    /// [`InvalidOption`](crate::ErrorKind::InvalidOption) if there was less data than [`with_len`](Self::with_len)
    /// announced. Also fails if an earlier write failed, because the file then lacks a chunk.
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

    /// Does nothing, because an incomplete chunk cannot be written yet.
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
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::{ChunkSize, ErrorKind, pack_to_vec};

    #[test]
    fn a_stream_of_known_length_equals_a_file_packed_without_offsets() {
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
    fn streaming_a_reader_or_a_source_produces_the_same_file_as_writing_pieces() {
        let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(100_000));
        let data: Vec<u8> = (0..2_500_000_u32).map(|n| (n / 3).to_le_bytes()[0]).collect();
        let len = data.len() as u64;
        let done = AtomicU64::new(0);
        let progress = |bytes| {
            done.fetch_add(bytes, Ordering::Relaxed);
        };
        let writer = || StreamWriter::with_len(Vec::new(), &options, len).unwrap();
        let (mut pieces, mut reader, mut source) = (writer(), writer(), writer());
        pieces.write_all(&data).unwrap();
        reader.write_reader(&mut data.as_slice(), Some(&progress)).unwrap();
        source.write_source(&data, Some(&progress)).unwrap();
        assert_eq!(done.into_inner(), 2 * len);
        let expected = pieces.finish().unwrap();
        assert!(reader.finish().unwrap() == expected);
        assert!(source.finish().unwrap() == expected);
        let error = StreamWriter::with_len(Vec::new(), &options, len - 1)
            .unwrap()
            .write_source(&data, None)
            .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidOption { option: "len", .. }), "{error}");
    }

    #[test]
    fn a_stream_that_is_longer_or_shorter_than_announced_is_rejected() {
        let options = WriteOptions::new();
        let mut writer = StreamWriter::with_len(Vec::new(), &options, 3).unwrap();
        assert!(writer.write_all(b"four").is_err());
        assert!(StreamWriter::with_len(Vec::new(), &options, 3).unwrap().finish().is_err());
    }
}
