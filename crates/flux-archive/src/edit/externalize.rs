//! Moving content from an archive to a store.

use std::io::{self, Write};

use super::rewrite::{MoveReport, Outcome, rewrite, with_content};
use crate::error::{ErrorKind, Result, StoreError};
use crate::model::{Content, Region};
use crate::parallel::{Progress, report, threads, try_map};
use crate::parse::OpenOptions;
use crate::store::{BlobStoreMut, Chunking, MAX_BLOB_SIZE};
use crate::write::Writer;

/// Moves the content of files from an archive to a store. JSON content and small files are kept in the archive.
///
/// ```
/// use flux_archive::store::{Chunking, MemoryStore};
/// use flux_archive::edit::Externalizer;
/// use flux_archive::{Form, OpenOptions, Writer};
///
/// let json = br#"[{"path":"f","encoding":"utf-8","data":"data","size":4,"mode":33188}]"#;
/// let store = MemoryStore::new();
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let externalizer = Externalizer::new(&store).chunking(Chunking::new().threshold(0));
/// let report = externalizer.run(json, &OpenOptions::new(), &mut writer)?;
/// assert_eq!((report.files, report.bytes), (1, 4));
/// assert!(String::from_utf8(writer.finish()?)?.contains(r#""encoding":"blobvec","data":[[0,4,"sha1-"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Externalizer<'s> {
    store: &'s dyn BlobStoreMut,
    chunking: Chunking,
    progress: Option<Progress<'s>>,
}

partial_debug! { Externalizer: chunking; }

impl<'s> Externalizer<'s> {
    /// Creates an externalizer that writes blobs to a store.
    pub fn new(store: &'s dyn BlobStoreMut) -> Self {
        Self { store, chunking: Chunking::default(), progress: None }
    }

    binio::setters! {
        /// Sets which files are stored as blobs, the maximum size of a blob, and the hash function.
        chunking: Chunking;

        /// Sets a function that is called with the number of bytes stored since the last call.
        progress: Progress<'s> => Some(progress);
    }

    /// Stores the content of an archive as blobs, and writes an archive that refers to them. A file
    /// whose blobs the store does not accept is reported and copied unchanged. If several entries have
    /// the same path, only the last one is written.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::parse`]. In these cases, nothing is written. Also fails if the writer fails, and with
    /// [`ErrorKind::Store`] if the store is damaged or cannot be written.
    pub fn run<W: Write>(
        &self,
        document: &[u8],
        options: &OpenOptions,
        writer: &mut Writer<W>,
    ) -> Result<MoveReport> {
        options.parse(document)?;
        rewrite(document, options, writer, |entry, writer| {
            if entry.content().data_len() <= self.chunking.threshold {
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
                // Stop if the store fails, because all other files would fail as well.
                Err(error @ (StoreError::Io(_) | StoreError::Damaged(_))) => {
                    Err(ErrorKind::Store(error).into())
                }
                Err(error) => Ok(Outcome::Failed(ErrorKind::Store(error).into())),
            }
        })
    }
}

/// A writer that divides content into blobs, and stores several blobs in parallel.
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
        let chunk_size = options.chunking.max_len().min(data_len);
        let failure = StoreError::check_size(chunk_size).err();
        let chunk_size = usize::try_from(chunk_size.min(MAX_BLOB_SIZE)).unwrap_or(usize::MAX);
        Self { options, chunk_size, chunks: Vec::new(), regions: Vec::new(), offset: 0, failure }
    }

    fn put(&mut self) -> Result<(), StoreError> {
        let (store, hash) = (self.options.store, self.options.chunking.hash);
        let stored = try_map(&self.chunks, || (), |(), chunk| store.put(hash, chunk))?;
        for (blobref, chunk) in stored.into_iter().zip(self.chunks.drain(..)) {
            let size = chunk.len() as u64;
            self.regions.push(Region { offset: self.offset, size, blobref });
            self.offset += size;
            report(self.options.progress, size);
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
