//! Content moved between an archive and a store: [`pack`] takes blobs in, [`Externalizer`] puts content
//! out. Entries that are not concerned are copied as they were written.

use std::fmt;
use std::io::{self, Write};

use crate::convert::replaced;
use crate::parallel::{Progress, report as tell, threads, try_map};
use crate::parse::{Report, decode};
use crate::store::{BlobStore, BlobStoreMut, MAX_BLOB_SIZE, StoreError};
use crate::write::Detector;
use crate::{
    Content, Encoding, Entry, Error, ErrorKind, Failure, HashType, ParseOptions, Profile, Region,
    Result, Writer, limits,
};

/// Bytes that are read at a time: a multiple of 3, for base64.
const PIECE: usize = 48 << 10;

/// What was moved.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MoveReport {
    /// Files whose content was moved.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files whose content could not be had or stored. They are copied as they were written.
    pub failures: Vec<Failure>,
}

/// Writes an archive with all its blobs in it, so that it needs no store. Holes become zeros: no
/// encoding but that of blobs has holes. Every blob is verified.
///
/// ```
/// use flux_archive::store::{BlobStoreMut, MemoryStore};
/// use flux_archive::{Form, HashType, ParseOptions, Writer, pack};
///
/// let store = MemoryStore::new();
/// let blobref = store.put(HashType::Sha1, b"data")?;
/// let json = format!(
///     r#"[{{"path":"f","encoding":"blobvec","data":[[0,4,"{blobref}"]],"size":4,"mode":33188}}]"#
/// );
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let report = pack(json.as_bytes(), &ParseOptions::new(), &store, None, &mut writer)?;
/// assert_eq!((report.files, report.bytes), (1, 4));
/// assert_eq!(
///     String::from_utf8(writer.finish()?)?,
///     r#"[{"path":"f","encoding":"utf-8","data":"data","size":4,"mode":33188}]"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack<W: Write>(
    document: &[u8],
    options: &ParseOptions,
    store: &dyn BlobStore,
    progress: Option<Progress<'_>>,
    writer: &mut Writer<W>,
) -> Result<MoveReport> {
    let archive = options.parse(document)?;
    let blobs = archive.entries().iter().filter(|entry| is_blobs(entry));
    let total = blobs.fold(0, |sum: u64, entry| sum.saturating_add(entry.len()));
    limits::check("bytes to write", options.limits.max_materialized_bytes, total)?;
    drop(archive);
    each(document, options, writer, |entry, writer| {
        let Content::Blobvec(regions) = entry.content() else { return Ok(Outcome::Stays) };
        if regions.iter().all(|region| region.size == 0) {
            writer.entry(&with_content(entry, Content::Empty))?;
            return Ok(Outcome::Moved);
        }
        // All is read before any of it is written, so that what cannot be had shows in time.
        let encoding = match encoding_of(entry, store, progress) {
            Ok(encoding) => encoding,
            Err(error) => return Ok(Outcome::Failed(error)),
        };
        let mut body = writer.body(entry, encoding)?;
        for_each_piece(entry, store, |piece| Ok(body.write_all(piece)?))?;
        body.finish()?;
        Ok(Outcome::Moved)
    })
}

fn is_blobs(entry: &Entry<'_>) -> bool {
    matches!(entry.content(), Content::Blobvec(_))
}

fn encoding_of(
    entry: &Entry<'_>,
    store: &dyn BlobStore,
    progress: Option<Progress<'_>>,
) -> Result<Encoding> {
    let mut detector = Detector::default();
    for_each_piece(entry, store, |piece| {
        detector.take(piece);
        tell(progress, piece.len() as u64);
        Ok(())
    })?;
    Ok(detector.encoding())
}

fn for_each_piece(
    entry: &Entry<'_>,
    store: &dyn BlobStore,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let reader = entry.reader(store)?;
    let (mut buffer, mut position) = (vec![0; PIECE], 0);
    loop {
        let read = reader.read_at(position, &mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        take(&buffer[..read])?;
        position += read as u64;
    }
}

/// Moves content of archives to a store. JSON content and what is small stays.
///
/// ```
/// use flux_archive::store::MemoryStore;
/// use flux_archive::{Externalizer, Form, ParseOptions, Writer};
///
/// let json = br#"[{"path":"f","encoding":"utf-8","data":"data","size":4,"mode":33188}]"#;
/// let store = MemoryStore::new();
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let report = Externalizer::new(&store).threshold(0).run(json, &ParseOptions::new(), &mut writer)?;
/// assert_eq!((report.files, report.bytes), (1, 4));
/// assert!(String::from_utf8(writer.finish()?)?.contains(r#""encoding":"blobvec","data":[[0,4,"sha1-"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Externalizer<'s> {
    store: &'s dyn BlobStoreMut,
    hash: HashType,
    chunk_size: u64,
    threshold: u64,
    progress: Option<Progress<'s>>,
}

impl fmt::Debug for Externalizer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Externalizer").field("hash", &self.hash).finish_non_exhaustive()
    }
}

impl<'s> Externalizer<'s> {
    /// Puts blobs into a store.
    pub fn new(store: &'s dyn BlobStoreMut) -> Self {
        let (chunk_size, threshold) = (1 << 20, 1 << 10);
        Self { store, hash: HashType::default(), chunk_size, threshold, progress: None }
    }

    /// The hash that names blobs. Default: SHA-1, as in Flux.
    #[must_use]
    pub fn hash(mut self, hash: HashType) -> Self {
        self.hash = hash;
        self
    }

    /// Bytes of a blob at most; 0 is no limit. Default: 1 MiB.
    #[must_use]
    pub fn chunk_size(mut self, bytes: u64) -> Self {
        self.chunk_size = bytes;
        self
    }

    /// Bytes up to which a file stays in the archive. Default: 1 KiB.
    #[must_use]
    pub fn threshold(mut self, bytes: u64) -> Self {
        self.threshold = bytes;
        self
    }

    /// Tells how it goes, in bytes of files.
    #[must_use]
    pub fn progress(mut self, progress: Progress<'s>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Writes an archive with blobs in place of content.
    pub fn run<W: Write>(
        &self,
        document: &[u8],
        options: &ParseOptions,
        writer: &mut Writer<W>,
    ) -> Result<MoveReport> {
        options.parse(document)?;
        each(document, options, writer, |entry, writer| {
            if entry.content().data_len() <= self.threshold {
                return Ok(Outcome::Stays);
            }
            let mut chunker = Chunker::new(self, entry.content().data_len());
            let written = match entry.content() {
                Content::Text(text) => text.write_to(&mut chunker),
                Content::Base64(data) => data.write_to(&mut chunker),
                _ => return Ok(Outcome::Stays),
            };
            match chunker.finish(written) {
                Ok(regions) => {
                    writer.entry(&with_content(entry, Content::Blobvec(regions)))?;
                    Ok(Outcome::Moved)
                }
                Err(error) => Ok(Outcome::Failed(ErrorKind::Store(error).into())),
            }
        })
    }
}

/// Cuts content into blobs and stores them, some at a time side by side.
struct Chunker<'c> {
    options: &'c Externalizer<'c>,
    chunk_size: usize,
    chunks: Vec<Vec<u8>>,
    regions: Vec<Region>,
    offset: u64,
    failure: Option<StoreError>,
}

impl<'c> Chunker<'c> {
    fn new(options: &'c Externalizer<'c>, data_len: u64) -> Self {
        let chunk_size = if options.chunk_size == 0 { u64::MAX } else { options.chunk_size };
        let chunk_size = chunk_size.min(data_len);
        let failure = StoreError::check_size(chunk_size).err();
        let chunk_size = usize::try_from(chunk_size.min(MAX_BLOB_SIZE)).unwrap_or(usize::MAX);
        Self { options, chunk_size, chunks: Vec::new(), regions: Vec::new(), offset: 0, failure }
    }

    fn put(&mut self) -> Result<(), StoreError> {
        let (store, hash) = (self.options.store, self.options.hash);
        let stored = try_map(&self.chunks, || (), |(), chunk| store.put(hash, chunk))?;
        for (blobref, chunk) in stored.into_iter().zip(self.chunks.drain(..)) {
            let size = chunk.len() as u64;
            self.regions.push(Region { offset: self.offset, size, blobref });
            self.offset += size;
            tell(self.options.progress, size);
        }
        Ok(())
    }

    fn finish(mut self, written: io::Result<()>) -> Result<Vec<Region>, StoreError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        written?;
        self.put()?;
        Ok(self.regions)
    }
}

impl Write for Chunker<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failure.is_some() {
            return Err(io::ErrorKind::Other.into());
        }
        let full = |chunk: &Vec<u8>| chunk.len() >= self.chunk_size;
        if self.chunks.last().is_none_or(full) {
            if self.chunks.len() >= threads() {
                if let Err(error) = self.put() {
                    self.failure = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
            self.chunks.push(Vec::with_capacity(self.chunk_size.min(1 << 20)));
        }
        let Some(chunk) = self.chunks.last_mut() else { return Ok(0) };
        let taken = bytes.len().min(self.chunk_size - chunk.len());
        chunk.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What became of an entry.
enum Outcome {
    /// Nothing: it is to be copied.
    Stays,
    /// It was written.
    Moved,
    /// It could not be moved, and nothing of it was written.
    Failed(Error),
}

/// Writes each entry anew, or copies it.
fn each<W: Write>(
    document: &[u8],
    options: &ParseOptions,
    writer: &mut Writer<W>,
    mut change: impl FnMut(&Entry<'_>, &mut Writer<W>) -> Result<Outcome>,
) -> Result<MoveReport> {
    let superseded = replaced(document, options, writer.form())?;
    let mut report = MoveReport::default();
    for raw in options.entries(document)? {
        let raw = raw?;
        if superseded.contains(&raw.index()) {
            continue;
        }
        let mut violations = Report::new(Profile::Legacy, &options.limits, "");
        let Some(entry) = decode(&raw, options.profile, &options.limits, &mut violations)? else {
            continue;
        };
        match change(&entry, writer)? {
            Outcome::Stays => writer.copy(&raw)?,
            Outcome::Moved => {
                report.files += 1;
                report.bytes += entry.len();
            }
            Outcome::Failed(error) => {
                report.failures.push(Failure { path: entry.path().to_string(), error });
                writer.copy(&raw)?;
            }
        }
    }
    Ok(report)
}

fn with_content<'e>(entry: &Entry<'e>, content: Content<'e>) -> Entry<'e> {
    Entry { content, size: Some(entry.len()), ..entry.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;
    use crate::{Archive, BlobRef, Form};

    fn document(entries: &[String]) -> Vec<u8> {
        format!("[{}]", entries.join(",")).into_bytes()
    }

    fn packed(document: &[u8], store: &MemoryStore) -> (Vec<u8>, MoveReport) {
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let report = pack(document, &ParseOptions::new(), store, None, &mut writer).unwrap();
        (writer.finish().unwrap(), report)
    }

    fn externalized(document: &[u8], chunk_size: u64, store: &MemoryStore) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let externalizer = Externalizer::new(store).threshold(2).chunk_size(chunk_size);
        let report = externalizer.run(document, &ParseOptions::new(), &mut writer).unwrap();
        assert!(report.failures.is_empty());
        writer.finish().unwrap()
    }

    #[test]
    fn packing_undoes_externalizing() {
        let original = document(&[
            r#"{"path":"t","encoding":"utf-8","data":"a\né\"","size":5,"mode":33188,"x":1.0}"#
                .into(),
            r#"{"path":"b","encoding":"base64","data":"AAEC/w==","size":4,"mtime":5,"mode":33188}"#
                .into(),
            r#"{"path":"small","encoding":"utf-8","data":"ab","size":2,"mode":33188}"#.into(),
            r#"{"path":"j","data":{"k":1.50},"mode":33188}"#.into(),
            r#"{"path":"l","data":"long target","mode":41471}"#.into(),
            r#"{"path":"d","mode":16877}"#.into(),
        ]);
        for chunk_size in [0, 1, 2, 3, 1 << 20] {
            let store = MemoryStore::new();
            let moved = externalized(&original, chunk_size, &store);
            assert_eq!(String::from_utf8_lossy(&moved).matches("blobvec").count(), 2);
            let (back, report) = packed(&moved, &store);
            assert_eq!((report.files, report.bytes), (2, 9));
            assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&original));
        }
    }

    #[test]
    fn holes_become_zeros_and_a_file_of_a_hole_stays_one() {
        let store = MemoryStore::new();
        let blobref = store.put(HashType::Sha1, b"x").unwrap();
        let sparse = format!(
            r#"{{"path":"f","encoding":"blobvec","data":[[1,1,"{blobref}"]],"size":3,"mode":33188}}"#
        );
        let hole = r#"{"path":"h","encoding":"blobvec","data":[],"size":9,"mode":33188}"#;
        let (json, _) = packed(&document(&[sparse, hole.into()]), &store);
        let expected = r#"[{"path":"f","encoding":"base64","data":"AHgA","size":3,"mode":33188},{"path":"h","size":9,"mode":33188}]"#;
        assert_eq!(String::from_utf8_lossy(&json), expected);
    }

    #[test]
    fn what_cannot_be_had_is_copied_and_told() {
        let store = MemoryStore::new();
        let [missing, fake] = [b"missing", b"falsely"].map(|b| BlobRef::of(HashType::Sha1, b));
        store.insert_as(fake, b"genuine".as_slice());
        let entry = |path: &str, blobref: BlobRef| {
            format!(
                r#"{{"size":7,"data":[[0,7,"{blobref}"]],"path":"{path}","encoding":"blobvec","mode":33188}}"#
            )
        };
        let original = document(&[entry("a", missing), entry("b", fake)]);
        let (json, report) = packed(&original, &store);
        assert_eq!(json, original);
        let paths: Vec<_> = report.failures.iter().map(|failure| failure.path.as_str()).collect();
        assert_eq!(paths, ["a", "b"]);
    }

    #[test]
    fn more_zeros_than_allowed_are_refused_before_anything_is_written() {
        let store = MemoryStore::new();
        let blobref = store.put(HashType::Sha1, b"x").unwrap();
        let json = format!(
            r#"[{{"path":"f","encoding":"blobvec","data":[[0,1,"{blobref}"]],"size":1099511627777,"mode":33188}}]"#
        );
        assert!(Archive::parse(json.as_bytes(), Profile::Strict).is_ok());
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Form::Array);
        let packed = pack(json.as_bytes(), &ParseOptions::new(), &store, None, &mut writer);
        assert!(matches!(packed.unwrap_err().kind(), ErrorKind::Limit { .. }));
        drop(writer);
        assert!(out.is_empty());
    }
}
