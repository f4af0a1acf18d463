//! Writing data that arrives piece by piece.

use std::fmt;
use std::io::{self, Seek, Write};

use crate::WriteOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Chunking, Header, Version};
use crate::write::batch::Filling;
use crate::write::container::ContainerWriter;

/// The maximum number of stored bytes that are kept in memory while the number of chunks is
/// unknown.
const MAX_KEPT: usize = 16 << 20;
/// The minimum number of spare entries in a table that is written before the number of chunks is
/// known.
const MIN_ENTRIES: u64 = 1 << 16;

/// Packs data, piece by piece, into a seekable sink.
///
/// Data is gathered until there are chunks for all threads. These chunks are then compressed
/// together. [`finish`](Self::finish) completes the file. Without it,
/// [`recover`](crate::repair::recover) can still read the written chunks.
///
/// For data of known length, use [`with_len`](Self::with_len). Otherwise, the length of the table
/// of offsets must be chosen before the number of chunks is known. Up to 16 MiB of stored chunks
/// are kept in memory, so that small files are the same as with a known length. Beyond that, the
/// number of spare entries is [`max_app_chunks`](crate::WriteOptions::max_app_chunks) or, by
/// default, ten times the number of chunks so far. In both cases, there are at least 65,536 spare
/// entries. Once the table is full, writing the next chunk fails with
/// [`NotEnoughSpace`](ErrorKind::NotEnoughSpace). Files without offsets, and files that
/// [`pack_reader`](crate::pack_reader) writes, do not have this limit.
///
/// ```
/// use std::io::{Cursor, Write};
/// use bloscpack::{Writer, WriteOptions, pack_to_vec};
///
/// let options = WriteOptions::new();
/// let mut writer = Writer::new(Cursor::new(Vec::new()), &options)?;
/// writer.write_all(b"all ")?;
/// writer.write_all(b"of it")?;
/// assert_eq!(writer.finish()?.into_inner(), pack_to_vec(b"all of it", &options)?);
/// # Ok::<(), bloscpack::Error>(())
/// ```
pub struct Writer<W> {
    filling: Filling,
    output: Output<W>,
}

/// Keeps chunks in memory until the length of the table is chosen, and writes them to the sink
/// after that.
struct Output<W> {
    options: WriteOptions,
    /// The sink and the metadata section; `None` once the header has been written.
    waiting: Option<(W, Vec<u8>)>,
    kept: Vec<u8>,
    lens: Vec<u64>,
    container: Option<ContainerWriter<W>>,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins a file for data of unknown length.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`], [`ErrorKind::NotInVersion`],
    /// [`ErrorKind::NotEnoughSpace`] or [`ErrorKind::Limit`] if the options are invalid, and with
    /// [`ErrorKind::Output`] if the sink cannot be written.
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
        let mut output = Output {
            options: options.clone(),
            waiting: Some((sink, section)),
            kept: Vec::new(),
            lens: Vec::new(),
            container: None,
        };
        match expected {
            Some(len) => output.begin(options.header(Chunking::of(len, options.chunk_size)?)?)?,
            None if !options.offsets => output.begin(options.stream_header()?)?,
            None => {}
        }
        Ok(Self { filling, output })
    }

    /// Compresses the remaining data, fills in the offsets and the header, and returns the sink, positioned at the
    /// end of the file.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Output`] if the sink cannot be written, with
    /// [`ErrorKind::InvalidOption`] if there was less data than [`with_len`](Self::with_len)
    /// announced, and with [`ErrorKind::NotEnoughSpace`] if the table of offsets is full. Fails
    /// with [`ErrorKind::NotInVersion`] if the data is long and of unknown length, but the options
    /// ask for offsets in version 2, which has no spare entries. Also fails if an earlier write
    /// failed, because the file then lacks a chunk.
    pub fn finish(mut self) -> Result<W> {
        let output = &mut self.output;
        self.filling.end(|stored| output.put(stored))?;
        let len = self.filling.len();
        if len == 0 {
            self.output.put(&self.filling.empty_chunk()?)?;
        }
        let chunking = Chunking::of(len, self.output.options.chunk_size)?;
        self.output.finish(chunking)
    }
}

impl<W: Write + Seek> Output<W> {
    fn begin(&mut self, header: Header) -> Result<()> {
        if let Some((sink, section)) = self.waiting.take() {
            let mut container = ContainerWriter::new(sink, header, &section)?;
            let kept = std::mem::take(&mut self.kept);
            container
                .put_with(&self.lens, |sink| sink.write_all(&kept).map_err(Error::of_output))?;
            self.container = Some(container);
        }
        Ok(())
    }

    fn put(&mut self, stored: &[u8]) -> Result<()> {
        if let Some(container) = &mut self.container {
            return container.put(stored);
        }
        self.kept.extend_from_slice(stored);
        self.lens.push(stored.len() as u64);
        if self.kept.len() > MAX_KEPT {
            self.begin(self.header_of_many()?)?;
        }
        Ok(())
    }

    /// Returns a header for an unknown number of chunks. The table of offsets has many more entries
    /// than there are chunks so far. The number of chunks is corrected at the end.
    fn header_of_many(&self) -> Result<Header> {
        let options = &self.options;
        if options.version != Version::V3 {
            let what = "a table of offsets for data of unknown length is not supported";
            return Err(ErrorKind::NotInVersion { what, version: options.version.number() }.into());
        }
        let nchunks = self.lens.len() as u64;
        let room = options.max_app_chunks.unwrap_or(10 * nchunks).max(MIN_ENTRIES);
        let entries = nchunks.saturating_add(room);
        Ok(Header { offsets: true, nchunks: Some(entries), ..options.stream_header()? })
    }

    fn finish(mut self, chunking: Chunking) -> Result<W> {
        self.begin(self.options.header(chunking)?)?;
        let container =
            self.container.ok_or_else(|| io::Error::other("the header was not written"))?;
        container.finish(Some(chunking.chunk_size), Some(chunking.last_chunk))
    }
}

impl<W: Write + Seek> Write for Writer<W> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let output = &mut self.output;
        Ok(self.filling.take(data, |stored| output.put(stored))?)
    }

    /// Does nothing, because an incomplete chunk cannot be written yet.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("len", &self.filling.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{ChunkSize, Error, pack_to_vec};

    fn options() -> WriteOptions {
        WriteOptions::new().chunk_size(ChunkSize::Bytes(1000)).threads(2)
    }

    fn data(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n * n / 7).to_le_bytes()[0]).collect()
    }

    fn sink() -> Cursor<Vec<u8>> {
        Cursor::new(Vec::new())
    }

    #[test]
    fn writing_pieces_of_any_size_produces_the_same_file() {
        let data = data(10_500);
        let whole = pack_to_vec(&data, &options()).unwrap();
        for piece in [1, 7, 1000, 1001, 10_500] {
            let mut unknown = Writer::new(sink(), &options()).unwrap();
            let mut known = Writer::with_len(sink(), &options(), 10_500).unwrap();
            for piece in data.chunks(piece) {
                unknown.write_all(piece).unwrap();
                known.write_all(piece).unwrap();
            }
            assert!(unknown.finish().unwrap().into_inner() == whole, "pieces of {piece}");
            assert!(known.finish().unwrap().into_inner() == whole, "pieces of {piece}");
        }
    }

    #[test]
    fn empty_data_is_written_as_one_empty_chunk() {
        let file = Writer::new(sink(), &options()).unwrap().finish().unwrap().into_inner();
        assert_eq!(file, pack_to_vec(b"", &options()).unwrap());
        assert_eq!(file.len(), 140);
    }

    #[test]
    fn the_table_for_long_data_of_unknown_length_has_at_least_65536_entries() {
        let options = options().level(0).chunk_size(ChunkSize::Bytes(64 << 10));
        let data = data(17 << 20);
        let mut writer = Writer::new(sink(), &options).unwrap();
        writer.write_all(&data).unwrap();
        let file = writer.finish().unwrap().into_inner();
        let header = Header::parse(&file, crate::Strictness::Strict, &mut Vec::new()).unwrap();
        assert_eq!((header.nchunks, header.last_chunk), (Some(272), Some(64 << 10)));
        assert!(header.offsets_len() > 65_536);
        let whole = pack_to_vec(&data, &options.offsets(false)).unwrap();
        assert!(file.ends_with(&whole[32..]), "both files have the same chunks");
    }

    #[test]
    fn writing_fails_when_the_offset_table_is_full() {
        let options = options().level(0).chunk_size(ChunkSize::Bytes(256)).max_app_chunks(0);
        let mut writer = Writer::new(sink(), &options).unwrap();
        let data = data(1 << 20);
        let error = loop {
            if let Err(error) = writer.write_all(&data) {
                break Error::from(error);
            }
        };
        assert!(matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }), "{error}");
        assert!(writer.write_all(&data).is_err(), "all further writes fail");
    }

    #[test]
    fn writing_more_or_less_than_the_announced_length_fails() {
        let mut writer = Writer::with_len(sink(), &options(), 10).unwrap();
        writer.write_all(&[1; 9]).unwrap();
        let error = Error::from(writer.write_all(&[1; 2]).unwrap_err());
        assert_eq!(error.to_string(), "len: expected 10 bytes, found 11");
        let error = writer.finish().unwrap_err();
        assert_eq!(error.to_string(), "len: expected 10 bytes, found 9");
    }
}
