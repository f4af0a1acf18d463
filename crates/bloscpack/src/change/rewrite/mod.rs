//! Rewriting a file with the same chunks, but with another version or checksum, more spare offsets
//! or other metadata.
//!
//! Chunks are copied without decompressing them. If the checksum is kept and the chunks are
//! contiguous, [`rewrite_file`] copies them directly from file to file, within the kernel if the
//! system supports this.

mod metadata;

use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::path::Path;

use binio::write::{AtomicFile, FileLock};
use binio::{FileSource, Limits};
use bytes::Bytes;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::format::chunking::sizes_of;
use crate::format::metadata::encode::{section, to_text};
use crate::format::{ChunkEntry, Chunking, Header, MetadataOptions, Version};
use crate::parallel::in_order_here;
use crate::write::chunk_encoder::Recipe;
use crate::write::container::{ContainerWriter, copy};
use crate::write::options::{COMPRESSOR, LEVEL, TYPESIZE};
use crate::{Checksum, OpenOptions, Reader, Shuffle};

pub use metadata::{MetadataEdit, set_metadata};
pub(crate) use metadata::{section_in_place, set_metadata_locked};

/// Options for rewriting a file. By default, every property of the file is kept.
///
/// Files of versions 0 and 1 become version 3, with offsets. Such files have no checksums, and none are added unless a
/// checksum is set.
///
/// ```
/// use std::io::Cursor;
/// use bloscpack::change::{RewriteOptions, rewrite};
/// use bloscpack::format::Version;
/// use bloscpack::{Checksum, Reader, WriteOptions, pack_to_vec};
///
/// let old = Reader::from_bytes(pack_to_vec(b"data", &WriteOptions::new())?)?;
/// let options = RewriteOptions::new().version(Version::V2).checksum(Checksum::Sha256);
/// let new = rewrite(&old, Cursor::new(Vec::new()), &options)?.into_inner();
/// let new = Reader::from_bytes(new)?;
/// assert_eq!((new.header().version, new.header().checksum), (Version::V2, Checksum::Sha256));
/// assert_eq!(new.chunk_bytes(0)?, old.chunk_bytes(0)?);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RewriteOptions {
    version: Option<Version>,
    checksum: Option<Checksum>,
    offsets: Option<bool>,
    max_app_chunks: Option<u64>,
    metadata: NewMetadata,
    metadata_options: Option<MetadataOptions>,
    limits: Option<Limits>,
}

#[derive(Clone, Debug, Default)]
enum NewMetadata {
    #[default]
    Same,
    None,
    Text(Vec<u8>),
}

impl RewriteOptions {
    /// Returns the default options. With these options, rewriting only corrects the header and the
    /// offsets, drops empty chunks and any bytes after the last chunk, and converts files of
    /// versions 0 and 1 to version 3.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the version of the format, 3 or 2.
        version: Version => Some(version);
        /// Sets the checksum of the chunks.
        checksum: Checksum => Some(checksum);
        /// Sets whether the new file has a table of offsets.
        offsets: bool => Some(offsets);
        /// Sets the number of spare offsets, one for each chunk that can be appended.
        max_app_chunks: u64 => Some(max_app_chunks);
        /// Sets new metadata.
        metadata: &Value => NewMetadata::Text(to_text(metadata));
    }

    /// Removes the metadata.
    #[must_use]
    pub fn without_metadata(mut self) -> Self {
        self.metadata = NewMetadata::None;
        self
    }

    binio::setters! {
        /// Sets how the metadata is stored, including how much space is reserved for larger
        /// metadata.
        metadata_options: MetadataOptions => Some(metadata_options);
        /// Sets the limits for reading the old file in [`rewrite_file`]. Default: the limits of [`OpenOptions`].
        limits: Limits => Some(limits);
    }

    /// Returns the metadata section of the new file.
    fn section(&self, old: &Reader) -> Result<Bytes> {
        let options = self.metadata_options.unwrap_or_default();
        Ok(match &self.metadata {
            NewMetadata::None => Bytes::new(),
            NewMetadata::Text(text) => section(text, &options)?.into(),
            NewMetadata::Same => match (self.metadata_options, old.meta_header()) {
                (Some(options), Some(header)) => {
                    let text = old.metadata()?.map(|metadata| metadata.text().clone());
                    header.section_of(&text.unwrap_or_default(), &options)?.into()
                }
                // Copy the section unchanged, even if its content is invalid.
                _ => old.section()?,
            },
        })
    }
}

/// Writes a copy of `old` to a sink with the changes in `options`, and returns the sink, positioned
/// at the end of the copy. The digest of each chunk is checked when the chunk is copied, unless the
/// reader was opened with [`Verify::Never`](crate::Verify::Never).
///
/// # Errors
///
/// Fails with [`NotInVersion`](crate::ErrorKind::NotInVersion) if the version does not support the
/// options, with [`NotEnoughSpace`](crate::ErrorKind::NotEnoughSpace) if the metadata does not fit
/// [`MetadataOptions::max_size`], with [`Limit`](crate::ErrorKind::Limit) if the metadata text is
/// longer than 16 MiB, with [`ChecksumMismatch`](crate::ErrorKind::ChecksumMismatch) if a chunk is
/// damaged, and with [`Output`](crate::ErrorKind::Output) if the sink cannot be written. Fails with
/// [`InvalidHeader`](crate::ErrorKind::InvalidHeader) if spare offsets are requested without a table
/// of offsets, and with [`InvalidOption`](crate::ErrorKind::InvalidOption) if the table would be too
/// long or the level of the metadata is above 9. If
/// [`metadata_options`](RewriteOptions::metadata_options) are set without new metadata, also fails
/// with the error of [`Reader::metadata`]. Also fails if reading fails.
pub fn rewrite<W: Write + Seek>(old: &Reader, sink: W, options: &RewriteOptions) -> Result<W> {
    let plan = Plan::new(old, options)?;
    let mut container = plan.begin(sink)?;
    plan.copy_chunks(&mut container)?;
    plan.finish(container)
}

/// Writes a copy of the file `old` to `new`, with the changes in `options`. Both paths may be the
/// same. `new` is created or replaced only once the new content is complete. Rolls back an
/// interrupted in-place change of `old` first. If the checksum is kept and the chunks are
/// contiguous, the chunks are copied without checking their digests.
///
/// ```
/// use bloscpack::change::{RewriteOptions, rewrite_file};
/// use bloscpack::{Checksum, Reader, WriteOptions, pack_to_file};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// pack_to_file(b"data", &path, &WriteOptions::new(), None)?;
/// let options = RewriteOptions::new().checksum(Checksum::Sha256).max_app_chunks(1000);
/// rewrite_file(&path, &path, &options)?;
/// let file = Reader::open(&path)?;
/// assert_eq!((file.header().checksum, file.header().max_app_chunks), (Checksum::Sha256, 1000));
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`rewrite`] and [`OpenOptions::from_source`]. Also fails with [`Locked`](crate::ErrorKind::Locked) if the
/// old file is being changed elsewhere, with [`ForeignJournal`](crate::ErrorKind::ForeignJournal) if its journal
/// belongs to another file, or if the old file cannot be opened or the new file cannot be created.
pub fn rewrite_file(
    old: impl AsRef<Path>,
    new: impl AsRef<Path>,
    options: &RewriteOptions,
) -> Result<()> {
    rewrite_locked(&FileLock::acquire(old)?, new.as_ref(), options)
}

/// Like [`rewrite_file`], for a file that the caller has locked.
fn rewrite_locked(lock: &FileLock, new: &Path, options: &RewriteOptions) -> Result<()> {
    let path = lock.path();
    lock.roll_back()?;
    let replaces_metadata = !matches!(options.metadata, NewMetadata::Same);
    let opening = OpenOptions::limited(options.limits).ignore_metadata(replaces_metadata);
    let old = opening.from_source(FileSource::open(path)?)?;
    let plan = Plan::new(&old, options)?;
    let mut container = plan.begin(AtomicFile::create(new).map_err(Error::of_output)?)?;
    if let Some(range) = plan.same_bytes() {
        let file = File::open(path)?;
        container.put_with(&plan.lens(), |sink| copy(&file, range, sink))?;
    } else {
        plan.copy_chunks(&mut container)?;
    }
    plan.finish(container)?.commit().map_err(Error::of_output)
}

/// The content of the new file.
struct Plan<'a> {
    old: &'a Reader,
    header: Header,
    section: Bytes,
    /// The indices of the nonempty chunks in the old file, which are copied.
    chunks: Vec<usize>,
}

impl<'a> Plan<'a> {
    fn new(old: &'a Reader, options: &RewriteOptions) -> Result<Self> {
        let before = old.header();
        let is_old = before.version < Version::V2;
        let version = options.version.unwrap_or(if is_old { Version::V3 } else { before.version });
        // Skip empty chunks: old releases wrote them after other chunks, and tools skip them too.
        let chunks: Vec<usize> = old
            .chunks()
            .iter()
            .enumerate()
            .filter(|(_, chunk)| chunk.nbytes > 0)
            .map(|(index, _)| index)
            .collect();
        let nchunks = (chunks.len() as u64).max(1);
        let (chunk_size, last_chunk) =
            sizes_of(chunks.iter().map(|&index| old.chunks()[index].nbytes));
        let offsets = options.offsets.unwrap_or(is_old || before.offsets);
        let had_room = before.version == Version::V3 && before.offsets;
        let room = options.max_app_chunks.or(had_room.then_some(before.max_app_chunks));
        let chunking = Chunking { nchunks, chunk_size: 0, last_chunk: 0 };
        let section = options.section(old)?;
        let header = Header {
            version,
            offsets,
            metadata: !section.is_empty(),
            checksum: options.checksum.unwrap_or(before.checksum),
            typesize: typesize(old, chunks.first())?,
            chunk_size,
            last_chunk,
            nchunks: Some(nchunks),
            max_app_chunks: match version {
                Version::V3 if offsets => chunking.max_app_chunks(room),
                // Files in version 2 or without a table have no spare offsets. If any were
                // requested, `encode` fails below.
                _ => options.max_app_chunks.unwrap_or(0),
            },
        };
        header.encode()?;
        Ok(Self { old, header, section, chunks })
    }

    fn begin<W: Write>(&self, sink: W) -> Result<ContainerWriter<W>> {
        ContainerWriter::new(sink, self.header.clone(), &self.section)
    }

    fn finish<W: Write + Seek>(&self, container: ContainerWriter<W>) -> Result<W> {
        container.finish(self.header.chunk_size, self.header.last_chunk)
    }

    fn entries(&self) -> impl Iterator<Item = &ChunkEntry> {
        self.chunks.iter().map(|&index| &self.old.chunks()[index])
    }

    /// Returns the stored length of each copied chunk in the old file, including its digest.
    fn lens(&self) -> Vec<u64> {
        let digest = self.old.header().checksum.len() as u64;
        self.entries().map(|chunk| u64::from(chunk.ctbytes) + digest).collect()
    }

    /// Returns the range of the chunks and their digests in the old file, or `None` if these bytes
    /// cannot be copied together because the chunks are not contiguous or the checksum changes.
    fn same_bytes(&self) -> Option<Range<u64>> {
        let start = self.entries().next()?.offset;
        let mut end = start;
        for (chunk, len) in self.entries().zip(self.lens()) {
            if chunk.offset != end {
                return None;
            }
            end += len;
        }
        (self.header.checksum == self.old.header().checksum).then_some(start..end)
    }

    fn copy_chunks<W: Write>(&self, container: &mut ContainerWriter<W>) -> Result<()> {
        let checksum = self.header.checksum;
        if self.chunks.is_empty() {
            let typesize = self.header.typesize.into();
            let recipe = Recipe::new(COMPRESSOR, LEVEL, Shuffle::Byte, typesize, checksum)?;
            let mut stored = Vec::new();
            recipe.store(&[], &mut stored)?;
            return container.put(&stored);
        }
        let copy = |(): &mut (), &index: &usize, stored: &mut Vec<u8>| {
            stored.clear();
            stored.extend_from_slice(&self.old.chunk_bytes(index)?);
            let digest = checksum.compute(stored);
            stored.extend_from_slice(&digest);
            Ok(())
        };
        let threads = self.chunks.len();
        in_order_here(threads, self.chunks.iter(), || (), copy, |stored| container.put(stored))
    }
}

/// Returns the typesize in the header. If it is 0, returns the typesize of the first chunk, or the
/// default if there is no chunk.
fn typesize(old: &Reader, first: Option<&usize>) -> Result<u8> {
    Ok(match (old.header().typesize, first) {
        (0, Some(&first)) => old.chunk_header(first)?.typesize(),
        (0, None) => TYPESIZE,
        (typesize, _) => typesize,
    })
}

#[cfg(test)]
mod tests;
