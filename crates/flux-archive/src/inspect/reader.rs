//! Reading a file in an archive at any position, without extracting it.
//!
//! Only the necessary blobs are fetched, and each blob is verified. Overlapping regions are treated
//! as if they were written in order, so the last region takes precedence. Bytes outside all regions
//! are zero.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use binio::source::check_range;

use crate::error::{ErrorKind, Result};
use crate::json::Base64;
use crate::model::{BlobRef, Content, Entry, FileType, Region};
use crate::store::{BlobStore, fetch};

/// The number of bytes to read at a time: a multiple of 3, so that pieces end between base64
/// groups.
const PIECE: usize = 48 << 10;

/// A reader of the content of a regular file. It implements `Read` and `Seek`, and several threads can call
/// [`read_at`](Self::read_at) at the same time.
///
/// ```
/// use std::io::{Read, Seek, SeekFrom};
/// use flux_archive::store::{BlobStoreMut, MemoryStore};
/// use flux_archive::{Archive, HashType, Profile};
///
/// let store = MemoryStore::new();
/// let blobref = store.put(HashType::Sha1, b"data")?;
/// let json = format!(
///     r#"[{{"path":"f","mode":33188,"encoding":"blobvec","data":[[2,4,"{blobref}"]],"size":8}}]"#
/// );
/// let archive = Archive::parse(json.as_bytes(), Profile::Strict)?;
/// let mut reader = archive.get("f").unwrap().reader(&store)?;
/// reader.seek(SeekFrom::Start(1))?;
/// let mut rest = Vec::new();
/// reader.read_to_end(&mut rest)?;
/// assert_eq!(rest, b"\0data\0\0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ContentReader<'r> {
    source: Source<'r>,
    len: u64,
    position: u64,
}

enum Source<'r> {
    Plain(Cow<'r, [u8]>),
    Base64(&'r Base64<'r>),
    Blobs(Blobs<'r>),
}

/// The content of a file whose data is in a store.
struct Blobs<'r> {
    store: &'r dyn BlobStore,
    regions: &'r [Region],
    /// Maps the start of each visible part of a region to the end of the part and the index of the
    /// region. A part is visible if no later region overlaps it.
    parts: BTreeMap<u64, (u64, usize)>,
    /// The name and the bytes of the last blob read.
    last: Mutex<Option<(BlobRef, Arc<Vec<u8>>)>>,
}

partial_debug! { ContentReader: len, position; }

impl Entry<'_> {
    /// Returns a reader of the content of a regular file. The reader fetches blobs from `store` when they are needed.
    ///
    /// ```
    /// use std::io::Read;
    /// use flux_archive::store::MemoryStore;
    /// use flux_archive::{Archive, Profile};
    ///
    /// let json = br#"{"f":{"mode":33188,"encoding":"base64","data":"YWJj","size":3}}"#;
    /// let archive = Archive::parse(json, Profile::Flux)?;
    /// let store = MemoryStore::new();
    /// let mut content = String::new();
    /// archive.get("f").unwrap().reader(&store)?.read_to_string(&mut content)?;
    /// assert_eq!(content, "abc");
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`] if the entry is a directory or a link.
    pub fn reader<'r>(&'r self, store: &'r dyn BlobStore) -> Result<ContentReader<'r>> {
        if self.file_type() != FileType::Regular {
            let error = binio::Error::unsupported(format!("reading a {}", self.file_type()));
            return Err(ErrorKind::Io(error).into());
        }
        let source = match self.content() {
            Content::Json(json) => Source::Plain(Cow::Borrowed(json.get().as_bytes())),
            Content::Text(text) => Source::Plain(text.decode_bytes()),
            Content::Base64(data) => Source::Base64(data),
            Content::Blobvec(regions) => Source::Blobs(Blobs {
                store,
                regions,
                parts: parts(regions),
                last: Mutex::new(None),
            }),
            Content::Directory | Content::Symlink(_) | Content::Empty => {
                Source::Plain(Cow::Borrowed(&[]))
            }
        };
        Ok(ContentReader { source, len: self.len(), position: 0 })
    }

    /// Writes the content of a regular file to `out`. At most two blobs are in memory at a time.
    ///
    /// ```
    /// use flux_archive::store::MemoryStore;
    /// use flux_archive::{Archive, Profile};
    ///
    /// let json = br#"{"f":{"mode":33188,"encoding":"utf-8","data":"a\n","size":3}}"#;
    /// let mut out = Vec::new();
    /// let archive = Archive::parse(json, Profile::Flux)?;
    /// archive.entries()[0].write_to(&MemoryStore::new(), &mut out)?;
    /// assert_eq!(out, b"a\n\0");
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`reader`](Self::reader) and [`ContentReader::read_at`]. Also fails if writing to `out` fails.
    pub fn write_to(&self, store: &dyn BlobStore, out: &mut dyn Write) -> Result<()> {
        match self.content() {
            Content::Text(text) => text.write_to(out)?,
            Content::Base64(data) => data.write_to(out)?,
            Content::Json(json) => out.write_all(json.get().as_bytes())?,
            Content::Empty => {}
            Content::Blobvec(_) | Content::Directory | Content::Symlink(_) => {
                return self.reader(store)?.for_each_piece(0..self.len(), |_, piece| {
                    out.write_all(piece)?;
                    Ok(true)
                });
            }
        }
        io::copy(&mut io::repeat(0).take(self.len() - self.content().data_len()), out)?;
        Ok(())
    }
}

/// Divides regions into parts that do not overlap. Where regions overlap, the later one takes
/// precedence.
fn parts(regions: &[Region]) -> BTreeMap<u64, (u64, usize)> {
    let mut parts: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for (number, region) in regions.iter().enumerate().filter(|(_, region)| region.size > 0) {
        let (start, end) = (region.offset, region.end());
        while let Some((&old, &(old_end, old_number))) =
            parts.range(..end).next_back().filter(|(_, (old_end, _))| *old_end > start)
        {
            parts.remove(&old);
            if old < start {
                parts.insert(old, (start, old_number));
            }
            if old_end > end {
                parts.insert(end, (old_end, old_number));
            }
        }
        parts.insert(start, (end, number));
    }
    parts
}

impl ContentReader<'_> {
    /// Returns the size of the file in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns `true` if the file is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fills a buffer with the bytes at `offset`, and returns the number of bytes read. This
    /// number is less than the length of the buffer only at the end of the file.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Blob`] if a blob is not in the store, cannot be read, or does not have the length and
    /// digest given in the archive.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let rest = usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buf.len().min(rest);
        let buf = &mut buf[..len];
        let data = match &self.source {
            Source::Plain(plain) => {
                let start = usize::try_from(offset).map_or(plain.len(), |at| at.min(plain.len()));
                let data = (plain.len() - start).min(len);
                buf[..data].copy_from_slice(&plain[start..start + data]);
                data
            }
            Source::Base64(data) => data.read_at(buf, offset)?,
            Source::Blobs(blobs) => {
                blobs.read_exact_at(buf, offset)?;
                len
            }
        };
        buf[data..].fill(0);
        Ok(len)
    }

    /// Reads a range in pieces, up to the end of the file. Calls `take` with the offset and the
    /// bytes of each piece, until `take` returns `false`.
    ///
    /// # Errors
    ///
    /// Same as [`read_at`](Self::read_at). Also fails if `take` fails.
    pub fn for_each_piece(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(u64, &[u8]) -> Result<bool>,
    ) -> Result<()> {
        let (mut buffer, mut offset) = (vec![0; PIECE], range.start);
        loop {
            let rest = range.end.saturating_sub(offset);
            let wanted = usize::try_from(rest).unwrap_or(PIECE).min(PIECE);
            let read = self.read_at(&mut buffer[..wanted], offset)?;
            if read == 0 || !take(offset, &buffer[..read])? {
                return Ok(());
            }
            offset += read as u64;
        }
    }
}

/// Lets a file in an archive be read as a source, for example to open a file of another format
/// without extracting it.
impl binio::ReadAt for ContentReader<'_> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        check_range(self.len, offset, buf.len() as u64)?;
        self.read_at(buf, offset).map_err(io::Error::from)?;
        Ok(())
    }
}

impl Blobs<'_> {
    /// Fills `out` with the bytes at `position`. The whole range must be within the file.
    fn read_exact_at(&self, out: &mut [u8], position: u64) -> Result<()> {
        let end = position + out.len() as u64;
        let index = |at: u64| usize::try_from(at - position).unwrap_or(usize::MAX);
        out.fill(0);
        let before = self.parts.range(..position).next_back().map_or(position, |(&start, _)| start);
        for (&start, &(part_end, number)) in self.parts.range(before..end) {
            let (from, to) = (start.max(position), part_end.min(end));
            if from >= to {
                continue;
            }
            let region = &self.regions[number];
            let blob = self.blob(region)?;
            let skip = usize::try_from(from - region.offset).unwrap_or(usize::MAX);
            let out = &mut out[index(from)..index(to)];
            out.copy_from_slice(&blob[skip..skip + out.len()]);
        }
        Ok(())
    }

    /// Returns the verified blob of a region.
    fn blob(&self, region: &Region) -> Result<Arc<Vec<u8>>> {
        let lock = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((blobref, blob)) = &*lock() {
            if *blobref == region.blobref && blob.len() as u64 == region.size {
                return Ok(Arc::clone(blob));
            }
        }
        let mut blob = Vec::new();
        fetch(self.store, region, &mut blob)?;
        let blob = Arc::new(blob);
        *lock() = Some((region.blobref, Arc::clone(&blob)));
        Ok(blob)
    }
}

impl Read for ContentReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.read_at(out, self.position)?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for ContentReader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.len.checked_add_signed(by),
        };
        let before = || {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                "cannot seek to a negative or overflowing position",
            )
        };
        self.position = position.ok_or_else(before)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::Text;
    use crate::model::{Archive, ArchivePath, HashType, Profile};
    use crate::store::{BlobStoreMut, MemoryStore};

    fn entry(content: Content<'_>) -> Entry<'_> {
        Entry::new(ArchivePath::parse("f").unwrap(), 0o644, content)
    }

    proptest! {
        #[test]
        fn reading_any_range_returns_that_part_of_the_file(
            regions in proptest::collection::vec((0_u64..60, 1_usize..20, any::<u8>()), 0..8),
            position in 0_u64..100,
            len in 0_usize..100,
        ) {
            let store = MemoryStore::new();
            let mut file = vec![0; 90];
            let region = |&(offset, size, byte): &(u64, usize, u8)| {
                let blob = vec![byte; size];
                let start = usize::try_from(offset).unwrap();
                file[start..start + size].copy_from_slice(&blob);
                let blobref = store.put(HashType::Sha1, &blob).unwrap();
                Region { offset, size: size as u64, blobref }
            };
            let regions: Vec<_> = regions.iter().map(region).collect();
            let entry = entry(Content::Blobvec(regions)).with_size(90);
            let mut reader = entry.reader(&store).unwrap();
            let start = usize::try_from(position).unwrap().min(90);
            let end = (start + len).min(90);
            let mut part = vec![1; len];
            prop_assert_eq!(reader.read_at(&mut part, position).unwrap(), end - start);
            prop_assert_eq!(&part[..end - start], &file[start..end]);
            let mut whole = Vec::new();
            reader.read_to_end(&mut whole).unwrap();
            prop_assert_eq!(whole, file);
        }
    }

    #[test]
    fn content_shorter_than_the_size_is_padded_with_zeros() {
        let store = MemoryStore::new();
        let json = br#"[{"path":"f","mode":33188,"data":{"a":1e400}}]"#;
        let archive = Archive::parse(json, Profile::Flux).unwrap();
        let cases = [
            (entry(Content::Text(Text::new("two\nlines"))), &b"two\nlines"[..]),
            (entry(Content::Text(Text::new("ab"))).with_size(4), b"ab\0\0"),
            (entry(Content::Base64(Base64::encode(b"\xff\x00"))).with_size(3), b"\xff\0\0"),
            (entry(Content::Empty).with_size(3), b"\0\0\0"),
            (archive.entries()[0].clone(), b"{\"a\":1e400}"),
        ];
        for (entry, expected) in cases {
            let mut reader = entry.reader(&store).unwrap();
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes, expected);
            assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), expected.len() as u64 - 1);
            assert_eq!(reader.read(&mut [0; 9]).unwrap(), 1);
            assert!(reader.seek(SeekFrom::Current(-100)).is_err());
        }
        assert!(entry(Content::Directory).reader(&store).is_err());
    }

    #[test]
    fn a_blob_with_a_wrong_digest_fails_but_other_regions_can_be_read() {
        let store = MemoryStore::new();
        let good = store.put(HashType::Sha1, b"good").unwrap();
        let bad = BlobRef::of(HashType::Sha1, b"bad!");
        store.insert_as(bad, b"evil".as_slice());
        let regions = vec![
            Region { offset: 0, size: 4, blobref: good },
            Region { offset: 4, size: 4, blobref: bad },
        ];
        let entry = entry(Content::Blobvec(regions));
        let reader = entry.reader(&store).unwrap();
        let mut part = [0; 4];
        assert_eq!(reader.read_at(&mut part, 0).unwrap(), 4);
        assert_eq!(part, *b"good");
        assert!(matches!(reader.read_at(&mut part, 2).unwrap_err().kind(), ErrorKind::Blob { .. }));
    }
}
