//! Appending data: the last chunk is filled up, and new chunks follow it.
//!
//! ```text
//! before   header  | metadata | offsets 0 1 2 -1 -1 | chunk chunk ch
//! after    header' | metadata | offsets 0 1 2 3' -1 | chunk chunk chunk' chunk'
//! ```
//!
//! All chunks but the last have the same size, so a shorter last chunk is rewritten with more data.
//! Each new chunk needs an entry in the table of offsets. The resulting header and offsets match
//! the output of the original program.
//!
//! There are two ways to append, and neither damages the file if the process is killed. An *atomic*
//! append writes a new file, and then renames it to the old name. The unchanged chunks are copied
//! within the kernel if the system supports this. An append *in place*, for files too large to
//! copy, keeps a [journal](crate::journal) of the bytes that it overwrites.

mod plan;
mod write;

use std::path::Path;
use std::sync::Arc;

use binio::write::{FileLock, FileStorage};
use binio::{FileSource, Limits, ReadAt};
use serde_json::Value;

use self::plan::Plan;
use self::write::Job;
use crate::change::MetadataEdit;
use crate::change::rewrite::set_metadata_locked;
use crate::error::Result;
use crate::parallel;
use crate::write::options::LEVEL;
use crate::{ChunkSize, Compressor, OpenOptions, Progress, Reader, Shuffle};

/// Options for appending. By default, the compressor, shuffle and typesize are taken from the last
/// nonempty chunk. If that chunk was compressed with lz4hc, however, the default compressor is lz4,
/// because the chunk states only its codec, lz4. The default level is 7, because a chunk does not
/// state its level.
///
/// ```
/// use bloscpack::change::AppendOptions;
/// use bloscpack::Compressor;
///
/// let options = AppendOptions::new().in_place(true).compressor(Compressor::Zstd).level(3);
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "the switches are independent of each other")]
pub struct AppendOptions {
    compressor: Option<Compressor>,
    level: u8,
    shuffle: Option<Shuffle>,
    typesize: Option<u32>,
    chunk_size: ChunkSize,
    threads: usize,
    in_place: bool,
    grow: bool,
    axis0: bool,
    scan: bool,
    limits: Option<Limits>,
}

impl AppendOptions {
    /// Returns the default options: appending writes a new file, which replaces the old one once it
    /// is complete.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the compressor.
        compressor: Compressor => Some(compressor);
        /// Sets the compression level, from 0 (not compressed) to 9 (smallest).
        level: u8;
        /// Sets how the elements are shuffled before compression.
        shuffle: Shuffle => Some(shuffle);
        /// Sets the size of an element in bytes, 1 to 255.
        typesize: u32 => Some(typesize);
        /// Sets the chunk size for a file that has no data yet. Other files keep their chunk size.
        chunk_size: ChunkSize;
        /// Sets the maximum number of threads with which to compress. They belong to the caller's
        /// `rayon` pool; with 1, only the caller's thread is used. Default: all.
        threads: usize => threads.max(1);
        /// Sets whether to change the file in place instead of replacing it. This is useful for
        /// files too large to copy. Until the change is complete, a journal is stored next to the
        /// file, and readers that open the file see its old content. Default: no.
        in_place: bool;
        /// Sets whether the table of offsets and the metadata section may grow if they are full.
        /// Growing moves all chunks, so the file is then replaced even if
        /// [`in_place`](Self::in_place) is set.
        grow: bool;
        /// Sets whether to append to the first dimension of a numpy array and update the shape in the metadata. Without
        /// this option or new metadata, appending to an array fails, because its shape would no longer match the data.
        axis0: bool;
        /// Sets whether to append to a file whose header states -1 (unknown) for the number or the
        /// sizes of its chunks. The header of the changed file then states the values found by
        /// reading the chunks.
        scan: bool;
        /// Sets the limits for reading the file. Default: the limits of [`OpenOptions`].
        limits: Limits => Some(limits);
    }
}

impl Default for AppendOptions {
    fn default() -> Self {
        Self {
            compressor: None,
            level: LEVEL,
            shuffle: None,
            typesize: None,
            chunk_size: ChunkSize::default(),
            threads: parallel::ALL,
            in_place: false,
            grow: false,
            axis0: false,
            scan: false,
            limits: None,
        }
    }
}

/// The result of appending.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// The number of chunks in the changed file.
    pub nchunks: u64,
    /// The number of new chunks, not counting the chunk that was filled up.
    pub new_chunks: u64,
    /// The length of the data in the changed file, in bytes.
    pub len: u64,
    /// The compressor of the written chunks.
    pub compressor: Compressor,
    /// The compression level of the written chunks.
    pub level: u8,
    /// The shuffle of the written chunks.
    pub shuffle: Shuffle,
    /// The typesize of the written chunks.
    pub typesize: u8,
    /// Whether the data or the metadata was written in place instead of replacing the file. `false`
    /// if no data was appended and no metadata was set.
    pub in_place: bool,
    /// Whether an interrupted in-place change was rolled back before appending.
    pub rolled_back: bool,
}

/// Appends the data of a source to a file. New chunks have the size of the existing chunks. If the
/// file has a single chunk because its data was shorter than the chunk size, the new chunks are as
/// small as this chunk.
///
/// ```
/// use bloscpack::change::{AppendOptions, append};
/// use bloscpack::{ChunkSize, Reader, WriteOptions, pack_to_vec};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(4));
/// std::fs::write(&path, pack_to_vec(b"all of", &options)?)?;
/// let appended = append(&path, &b" it".to_vec(), &AppendOptions::new(), None)?;
/// assert_eq!((appended.nchunks, appended.len), (3, 9));
/// assert_eq!(Reader::open(&path)?.read_all()?, b"all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Same as [`Appender::open`] and [`Appender::append`].
pub fn append(
    path: impl AsRef<Path>,
    source: &dyn ReadAt,
    options: &AppendOptions,
    progress: Option<Progress<'_>>,
) -> Result<Appended> {
    Appender::open(path, options)?.append(source, progress)
}

/// A file that is open for appending. Its structure and the digest of its last chunk are valid.
///
/// The file is locked while it is open: any other attempt to append to it, edit its metadata or
/// rewrite it fails with [`Locked`](crate::ErrorKind::Locked). The lock does not prevent anyone from
/// replacing the file with a new one, as [`pack_to_file`](crate::pack_to_file) does. Systems other
/// than Unix have no such lock, so make sure that nobody else changes the file.
///
/// ```
/// use bloscpack::change::{AppendOptions, Appender};
/// use bloscpack::{Reader, WriteOptions, pack_to_file};
/// use serde_json::json;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// let options = WriteOptions::new().metadata(&json!({"days": 1}));
/// pack_to_file(b"monday", &path, &options, None)?;
/// let appender = Appender::open(&path, &AppendOptions::new().in_place(true))?;
/// assert_eq!(appender.reader().len(), 6);
/// appender.metadata(&json!({"days": 2})).append(&b"tuesday".to_vec(), None)?;
/// let file = Reader::open(&path)?;
/// assert_eq!(file.read_all()?, b"mondaytuesday");
/// assert_eq!(file.metadata()?.unwrap().json()?["days"], 2);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Debug)]
pub struct Appender {
    lock: FileLock,
    reader: Reader,
    options: AppendOptions,
    metadata: Option<Value>,
    rolled_back: bool,
}

impl Appender {
    /// Opens and locks a file. Rolls back an interrupted in-place change first.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::from_source`]. Also fails with [`Locked`](crate::ErrorKind::Locked)
    /// if the file is being changed elsewhere, with [`Damaged`](crate::ErrorKind::Damaged) if it
    /// has a diagnostic worse than a note, with
    /// [`ForeignJournal`](crate::ErrorKind::ForeignJournal) if its journal belongs to another file,
    /// with [`NotInVersion`](crate::ErrorKind::NotInVersion) if it is older than version 2, and
    /// with [`ChecksumMismatch`](crate::ErrorKind::ChecksumMismatch) if the digest of its last
    /// chunk is wrong. [`recover`](crate::repair::recover) salvages a valid file from a damaged
    /// one.
    pub fn open(path: impl AsRef<Path>, options: &AppendOptions) -> Result<Self> {
        let lock = FileLock::acquire(path)?;
        let rolled_back = lock.roll_back()?;
        let source: Arc<dyn ReadAt> = Arc::new(FileSource::open(lock.path())?);
        let reader = OpenOptions::limited(options.limits).from_source(source)?;
        plan::check(&reader)?;
        Ok(Self { lock, reader, options: *options, metadata: None, rolled_back })
    }

    /// Returns the file as it is before anything is appended.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    binio::setters! {
        /// Sets new metadata, which can be any JSON value and is written in the same change as the
        /// data. The metadata must fit into its section, unless the file may
        /// [grow](AppendOptions::grow).
        metadata: &Value => Some(metadata.clone());
    }

    /// Appends all bytes of a source. `progress` is called for each compressed chunk with the number
    /// of its bytes that come from the source.
    ///
    /// If the source is empty, only new metadata is written, as by
    /// [`set_metadata`](crate::change::set_metadata): in place if it fits into its section.
    ///
    /// # Errors
    ///
    /// Fails before anything is written:
    ///
    /// - with [`NotEnoughSpace`](crate::ErrorKind::NotEnoughSpace) if the table of offsets is full
    ///   or the metadata does not fit into its section, and the file may not
    ///   [grow](AppendOptions::grow).
    /// - with [`InvalidOption`](crate::ErrorKind::InvalidOption) if an option is out of range, if
    ///   this build does not support the compressor, if [`scan`](AppendOptions::scan) is unset
    ///   although the header states -1 (unknown) for the number or the sizes of the chunks, if the
    ///   file contains an array but neither [`axis0`](AppendOptions::axis0) nor new metadata is
    ///   set, or if both are set.
    /// - with [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the data does not consist of
    ///   whole rows, if the array is a single element, if its rows are empty or not contiguous, or
    ///   if an array in the old or new metadata does not match the data.
    /// - with the errors of [`ArrayInfo::from_json`](crate::array::ArrayInfo::from_json) if an array
    ///   in the metadata is invalid, and with [`Metadata`](crate::ErrorKind::Metadata) if
    ///   [`axis0`](AppendOptions::axis0) is set and the metadata contains an integer that does not
    ///   fit into 64 bits, because updating the shape would round it.
    /// - with [`NotInVersion`](crate::ErrorKind::NotInVersion) if there is new metadata, but the
    ///   file has version 2, and with [`Limit`](crate::ErrorKind::Limit) if the metadata text is
    ///   longer than 16 MiB.
    /// - with [`SizeMismatch`](crate::ErrorKind::SizeMismatch) if the existing chunks differ in
    ///   size, except for a shorter last chunk.
    /// - with the errors of [`Reader::decode_chunk`] if the last chunk must be filled up, but
    ///   cannot be decoded.
    ///
    /// Also fails if reading the source or writing the file fails; the file is then unchanged, or
    /// is rolled back when it is next opened for writing.
    pub fn append(self, source: &dyn ReadAt, progress: Option<Progress<'_>>) -> Result<Appended> {
        let Self { lock, reader, options, metadata, rolled_back } = &self;
        let recipe = plan::recipe(reader, options)?;
        let compress = recipe.compress;
        let mut appended = Appended {
            nchunks: reader.chunks().len() as u64,
            new_chunks: 0,
            len: reader.len(),
            compressor: compress.compressor,
            level: compress.level,
            shuffle: compress.shuffle,
            typesize: compress.typesize,
            in_place: false,
            rolled_back: *rolled_back,
        };
        if source.is_empty() {
            if let Some(metadata) = metadata {
                plan::check_metadata(reader, 0, options, metadata)?;
                let mut edit = MetadataEdit::new().grow(options.grow);
                edit.limits = options.limits;
                appended.in_place = set_metadata_locked(lock, metadata, edit)?;
            }
            return Ok(appended);
        }
        let plan = Plan::new(reader, source.len(), options, metadata.as_ref())?;
        appended.in_place = options.in_place && !plan.moves_chunks;
        let job = Job { reader, plan: &plan, recipe, threads: options.threads, source, progress };
        if appended.in_place {
            job.run_in_place(&mut FileStorage::open(lock)?)?;
        } else {
            job.run_atomically(lock.path())?;
        }
        let nchunks = plan.nchunks();
        appended.new_chunks = nchunks.saturating_sub(appended.nchunks);
        (appended.nchunks, appended.len) = (nchunks, appended.len + source.len());
        Ok(appended)
    }
}

#[cfg(test)]
mod tests;
