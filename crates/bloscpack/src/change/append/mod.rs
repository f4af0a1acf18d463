//! Appending: the last chunk is filled up, and new ones follow it.
//!
//! ```text
//! before   header  | metadata | offsets 0 1 2 -1 -1 | chunk chunk ch
//! after    header' | metadata | offsets 0 1 2 3' -1 | chunk chunk chunk' chunk'
//! ```
//!
//! Chunks follow each other, so the last one is rewritten, and the table of offsets needs entries
//! for the new ones. Numbers and places are those of the original's append.
//!
//! There are two ways, and neither leaves a broken file when it is killed. The *atomic* one writes
//! another file, to which the system copies the chunks that stay, and renames it. The other works
//! *in place*, for files that are too large to be copied, and keeps a [journal](crate::journal) of
//! what it writes over.

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

/// How to append. Compressor, shuffle and typesize are those of the last chunk unless set; the
/// level, which no chunk states, is 7.
///
/// ```
/// use bloscpack::change::AppendOptions;
/// use bloscpack::Compressor;
///
/// let options = AppendOptions::in_place().compressor(Compressor::Zstd).level(3);
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "switches that have nothing to do with each other"
)]
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
    /// Appending by way of another file, which takes the old one's place when it is complete.
    pub fn atomic() -> Self {
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

    /// Appending to the file itself, with a journal beside it for as long as that takes. Readers
    /// see a file that changes.
    pub fn in_place() -> Self {
        Self { in_place: true, ..Self::atomic() }
    }

    binio::setters! {
        /// Sets the compressor.
        compressor: Compressor => Some(compressor);
        /// Sets the level, 0 to 9.
        level: u8;
        /// Sets the shuffle.
        shuffle: Shuffle => Some(shuffle);
        /// Sets the size of an element in bytes, 1 to 255.
        typesize: u32 => Some(typesize);
        /// Sets the plain size of a chunk, for a file that has no data yet. All others have theirs.
        chunk_size: ChunkSize;
        /// Sets how many threads of the caller's `rayon` pool compress at most; with 1 only the caller's
        /// thread. Default: all.
        threads: usize => threads.max(1);
        /// Sets whether the table of offsets gets more room if it has too little. That moves all chunks, so
        /// it is atomic.
        grow: bool;
        /// Sets whether to append to the first axis of a numpy array: the metadata get the new shape. Without
        /// this, appending to an array is refused, since it would not be one any more.
        axis0: bool;
        /// Sets whether to append to a file whose header does not state the number or size of chunks (-1);
        /// they are filled in as found.
        scan: bool;
        /// Sets the limits of reading the file. Default: those of [`OpenOptions`].
        limits: Limits => Some(limits);
    }
}

/// What appending did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Appended {
    /// Number of chunks now.
    pub nchunks: u64,
    /// How many of them are new; the one that was filled up is not.
    pub new_chunks: u64,
    /// Length of the data now, in bytes.
    pub len: u64,
    /// The compressor of what was written.
    pub compressor: Compressor,
    /// Its level.
    pub level: u8,
    /// The shuffle of what was written.
    pub shuffle: Shuffle,
    /// The typesize of what was written.
    pub typesize: u8,
    /// Whether the file itself was changed, not replaced.
    pub in_place: bool,
    /// Whether a change that had been interrupted was undone before.
    pub rolled_back: bool,
}

/// Appends the data of a source to a file. New chunks have the size of the existing ones. If the file has a single
/// chunk, because it was made from less data than a chunk, its size becomes that of all chunks.
///
/// ```
/// use bloscpack::change::{AppendOptions, append};
/// use bloscpack::{ChunkSize, Reader, WriteOptions, pack_to_vec};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(4));
/// std::fs::write(&path, pack_to_vec(b"all of", &options)?)?;
/// let appended = append(&path, &b" it".to_vec(), &AppendOptions::atomic(), None)?;
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

/// A file that can be appended to: its structure and its last digest were found right.
///
/// While a file is open here, it is locked: opening it again to change it, by this crate, fails with
/// [`Locked`](crate::ErrorKind::Locked). Elsewhere than on Unix, nobody else may change it.
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
/// let appender = Appender::open(&path, &AppendOptions::in_place())?;
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
    /// Opens and locks a file. Rolls back an interrupted change in place first.
    ///
    /// # Errors
    ///
    /// Same as [`OpenOptions::from_source`]. Also fails with [`Locked`](crate::ErrorKind::Locked) if the file is
    /// being changed elsewhere, with [`Damaged`](crate::ErrorKind::Damaged) if it has a diagnostic worse than a note
    /// or if its journal belongs to another file, with [`NotInVersion`](crate::ErrorKind::NotInVersion) if it is
    /// older than version 2, and if the digest of its last chunk does not match. [`recover`](crate::repair::recover)
    /// makes a damaged file good again.
    pub fn open(path: impl AsRef<Path>, options: &AppendOptions) -> Result<Self> {
        let lock = FileLock::acquire(path)?;
        let rolled_back = lock.roll_back()?;
        let source: Arc<dyn ReadAt> = Arc::new(FileSource::open(lock.path())?);
        let reader = OpenOptions::limited(options.limits).from_source(source)?;
        plan::check(&reader)?;
        Ok(Self { lock, reader, options: *options, metadata: None, rolled_back })
    }

    /// Returns the file as it is before the change.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    binio::setters! {
        /// Sets other metadata, any JSON value, which the file gets in the same step as the data. They
        /// have to fit the room that there is, unless the file may [grow](AppendOptions::grow).
        metadata: &Value => Some(metadata.clone());
    }

    /// Appends all bytes of a source. If the source is empty, the data does not change. `progress` is called with the
    /// number of bytes that were compressed.
    ///
    /// # Errors
    ///
    /// Nothing is written in these cases: fails with [`NotEnoughSpace`](crate::ErrorKind::NotEnoughSpace) if the
    /// table of offsets or the metadata section is full and the file may not [grow](AppendOptions::grow); with
    /// [`InvalidOption`](crate::ErrorKind::InvalidOption) if an option is out of range, if the header does not state
    /// the number of chunks and [`scan`](AppendOptions::scan) is unset, or if the file contains an array and
    /// [`axis0`](AppendOptions::axis0) is unset; with [`ShapeMismatch`](crate::ErrorKind::ShapeMismatch) if the data
    /// is not whole rows of the array; with [`SizeMismatch`](crate::ErrorKind::SizeMismatch) if the existing chunks
    /// differ in size.
    ///
    /// Also fails if reading the source or writing the file fails; the file is then unchanged, or is rolled back when
    /// it is opened next.
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
                let mut edit = MetadataEdit::new().grow(options.grow);
                edit.limits = options.limits;
                set_metadata_locked(lock, metadata, edit)?;
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
