//! Writing the parts of a file: the header, the metadata section, the table of offsets, and
//! compressed chunks.
//!
//! | part | written |
//! |---|---|
//! | header, 32 bytes | first, and again at the end if its sizes or counts have changed |
//! | metadata section | second |
//! | offsets, 8 bytes each | third, as -1, and again at the end |
//! | each chunk: Blosc buffer, digest | in the order of the data, without gaps |
//!
//! A killed writer leaves a header, offsets of -1, complete chunks, and possibly a truncated chunk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use binio::write::AtomicFile;

use crate::error::{Error, ErrorKind, Result};
use crate::format::Header;

/// The bytes that represent an unknown offset or a spare entry.
const UNSET: [u8; 8] = (-1_i64).to_le_bytes();

/// Writes the parts of a file in order. Positions are relative to the initial position of the sink.
#[derive(Debug)]
pub(crate) struct ContainerWriter<W> {
    sink: W,
    header: Header,
    /// The header as written at the start, which [`finish`](Self::finish) compares with the final
    /// header.
    encoded: [u8; 32],
    /// The position of the table of offsets.
    table: u64,
    position: u64,
    /// The positions of the chunks.
    offsets: Vec<u64>,
}

impl<W: Write> ContainerWriter<W> {
    /// Writes the header, the metadata section, and a table of unset offsets. `section` is the
    /// complete metadata section, including its padding and its digest. It is empty if the file has
    /// no metadata.
    ///
    /// The numbers in the header may be wrong, because [`finish`](Self::finish) corrects them.
    /// However, they determine the length of the table of offsets, which must have enough entries.
    pub(crate) fn new(mut sink: W, mut header: Header, section: &[u8]) -> Result<Self> {
        header.metadata = !section.is_empty();
        let encoded = header.encode()?;
        let table = (encoded.len() + section.len()) as u64;
        let position = header.offsets_len().checked_mul(8).and_then(|len| table.checked_add(len));
        let position = position.ok_or_else(|| ErrorKind::InvalidOption {
            option: "max_app_chunks",
            message: format!(
                "a table of offsets with space for {} more chunks is too large for any file",
                header.max_app_chunks
            ),
        })?;
        sink.write_all(&encoded).map_err(Error::of_output)?;
        sink.write_all(section).map_err(Error::of_output)?;
        let unset = UNSET.repeat(8192);
        let mut missing = position - table;
        while missing > 0 {
            let len = usize::try_from(missing).unwrap_or(usize::MAX).min(unset.len());
            sink.write_all(&unset[..len]).map_err(Error::of_output)?;
            missing -= len as u64;
        }
        Ok(Self { sink, header, encoded, table, position, offsets: Vec::new() })
    }

    /// Writes the next chunk. `stored` contains its Blosc buffer and its digest.
    pub(crate) fn put(&mut self, stored: &[u8]) -> Result<()> {
        self.put_with(&[stored.len() as u64], |sink| {
            sink.write_all(stored).map_err(Error::of_output)
        })
    }

    /// Calls `write`, which must write the next chunks. `lens` contains their stored lengths,
    /// including their digests.
    pub(crate) fn put_with(
        &mut self,
        lens: &[u64],
        write: impl FnOnce(&mut W) -> Result<()>,
    ) -> Result<()> {
        let (needed, available) =
            (self.offsets.len() as u64 + lens.len() as u64, self.header.offsets_len());
        if self.header.offsets && needed > available {
            let what = "chunk offsets";
            return Err(ErrorKind::NotEnoughSpace { what, needed, available }.into());
        }
        write(&mut self.sink)?;
        for len in lens {
            self.offsets.push(self.position);
            self.position += len;
        }
        Ok(())
    }

    /// Returns the number of chunks written so far.
    pub(crate) fn nchunks(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// Flushes and returns the sink, without correcting the header or writing the offsets.
    pub(crate) fn end(mut self) -> Result<W> {
        self.sink.flush().map_err(Error::of_output)?;
        Ok(self.sink)
    }
}

impl ContainerWriter<AtomicFile> {
    /// Appends all chunks of another file to this one.
    pub(crate) fn put_all_of(&mut self, mut other: ContainerWriter<AtomicFile>) -> Result<()> {
        let Some(&start) = other.offsets.first() else { return Ok(()) };
        let ends = other.offsets.iter().skip(1).chain([&other.position]);
        let lens: Vec<u64> =
            other.offsets.iter().zip(ends).map(|(start, end)| end - start).collect();
        let source = other.sink.file()?;
        self.put_with(&lens, |sink| copy(source, start..other.position, sink))
    }
}

/// Copies a range of a file, within the kernel if the system supports this.
pub(crate) fn copy(mut source: &File, range: Range<u64>, sink: &mut AtomicFile) -> Result<()> {
    source.seek(SeekFrom::Start(range.start))?;
    let needed = range.end - range.start;
    let available = io::copy(&mut source.take(needed), &mut sink.file()?)?;
    if available != needed {
        return Err(ErrorKind::Truncated { what: "chunks", needed, available }.into());
    }
    Ok(())
}

impl<W: Write + Seek> ContainerWriter<W> {
    /// Ends the file: writes the offsets, and corrects the header if its numbers were wrong. Unused
    /// table entries remain as spare entries for appending.
    pub(crate) fn finish(mut self, chunk_size: Option<u32>, last_chunk: Option<u32>) -> Result<W> {
        let (nchunks, entries) = (self.nchunks(), self.header.offsets_len());
        let header = Header {
            chunk_size,
            last_chunk,
            nchunks: Some(nchunks),
            max_app_chunks: entries.saturating_sub(nchunks),
            ..self.header.clone()
        };
        let encoded = header.encode()?;
        if header.offsets {
            let offsets: Vec<u8> = self.offsets.iter().flat_map(|at| at.to_le_bytes()).collect();
            self.write_at(self.table, &offsets)?;
        }
        if encoded != self.encoded {
            self.write_at(0, &encoded)?;
        }
        self.end()
    }

    /// Overwrites bytes at an earlier position in the file, and then moves the sink back to the
    /// end.
    fn write_at(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        let distance = i64::try_from(self.position - position).unwrap_or(i64::MAX);
        let mut write = || {
            let end = self.sink.stream_position()?;
            self.sink.seek(SeekFrom::Current(-distance))?;
            self.sink.write_all(bytes)?;
            self.sink.seek(SeekFrom::Start(end))
        };
        write().map(drop).map_err(Error::of_output)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use binio::Endian;

    use super::*;

    fn header(nchunks: u64, max_app_chunks: u64) -> Header {
        Header {
            offsets: true,
            typesize: 8,
            chunk_size: Some(10),
            last_chunk: Some(4),
            nchunks: Some(nchunks),
            max_app_chunks,
            ..Header::default()
        }
    }

    /// Parses a file without a metadata section, and returns its header and table of offsets.
    fn parts(file: &[u8]) -> (Header, Vec<i64>) {
        let header = Header::parse(file, crate::Strictness::Strict, &mut Vec::new()).unwrap();
        let table = &file[32..32 + 8 * usize::try_from(header.offsets_len()).unwrap()];
        (header, binio::number::decode(table, Endian::Little).unwrap().into_owned())
    }

    #[test]
    fn offsets_are_filled_in_and_spare_entries_are_left_unset() {
        let mut writer = ContainerWriter::new(Cursor::new(Vec::new()), header(2, 1), &[]).unwrap();
        writer.put(b"first chunk").unwrap();
        writer.put(b"second").unwrap();
        let file = writer.finish(Some(10), Some(4)).unwrap().into_inner();
        assert_eq!(parts(&file), (header(2, 1), vec![56, 67, -1]));
        assert_eq!(&file[56..], b"first chunksecond");
    }

    #[test]
    fn the_metadata_section_is_written_between_the_header_and_the_offsets() {
        let mut writer =
            ContainerWriter::new(Cursor::new(Vec::new()), header(1, 0), b"section").unwrap();
        writer.put(b"chunk").unwrap();
        let file = writer.finish(Some(10), Some(4)).unwrap().into_inner();
        assert_eq!(
            (file[5], &file[32..39], &file[39..47]),
            (3, &b"section"[..], &[47, 0, 0, 0, 0, 0, 0, 0][..])
        );
    }

    #[test]
    fn the_header_is_corrected_if_there_are_fewer_chunks_than_expected() {
        let mut writer = ContainerWriter::new(Cursor::new(Vec::new()), header(5, 0), &[]).unwrap();
        writer.put(b"chunk").unwrap();
        let file = writer.finish(Some(7), Some(7)).unwrap().into_inner();
        let sizes = Header { chunk_size: Some(7), last_chunk: Some(7), ..header(1, 4) };
        assert_eq!(parts(&file), (sizes, vec![72, -1, -1, -1, -1]));
    }

    #[test]
    fn writing_more_chunks_than_table_entries_fails_and_reports_both_counts() {
        let mut writer = ContainerWriter::new(Cursor::new(Vec::new()), header(1, 1), &[]).unwrap();
        writer.put(b"1").unwrap();
        writer.put(b"2").unwrap();
        let error = writer.put(b"3").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotEnoughSpace { needed: 3, available: 2, .. }));
    }

    #[test]
    fn positions_are_relative_to_the_initial_position_of_the_sink() {
        let mut sink = Cursor::new(b"before".to_vec());
        sink.set_position(6);
        let mut writer = ContainerWriter::new(sink, header(2, 0), &[]).unwrap();
        writer.put(b"chunk").unwrap();
        let file = writer.finish(Some(10), Some(4)).unwrap().into_inner();
        assert_eq!(&file[..6], b"before");
        assert_eq!(parts(&file[6..]), (header(1, 1), vec![48, -1]));
    }

    #[test]
    fn a_table_longer_than_any_file_is_rejected() {
        let header = header(1, i64::MAX.unsigned_abs() - 1);
        let error = ContainerWriter::new(Cursor::new(Vec::new()), header, &[]).unwrap_err();
        assert!(error.to_string().starts_with("max_app_chunks: "), "{error}");
    }
}
