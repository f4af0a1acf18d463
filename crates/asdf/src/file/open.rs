//! Opening a file: choosing its source, and locating its parts.
//!
//! | source | how it is read |
//! |---|---|
//! | a path | a small file as a whole, a larger one on demand or through a memory map |
//! | a path, during an unfinished in-place change | on demand, in the state before the change |
//! | bytes in memory | shared without copying |
//! | any other [`ReadAt`] | on demand |

#[cfg(any(unix, windows))]
use std::path::Path;
use std::sync::Arc;

use binio::ReadAt;
use bytes::Bytes;

#[cfg(any(unix, windows))]
use super::journal;
#[cfg(any(unix, windows))]
use super::pool::FilePool;
use crate::diagnostic::{Diagnostic, Reports};
use crate::error::{Error, ErrorKind, Result};
use crate::file::blocks::{BlockStore, Blocks};
use crate::file::locate::{self, CachedSource, FileParts};
use crate::layout::Layout;
use crate::options::{OpenOptions, Strictness};

/// Maximum size in bytes of files that are read as a whole when they are opened by path.
#[cfg(any(unix, windows))]
const SMALL_FILE: u64 = 256 << 10;

/// Maximum number of attempts to read a file while another program is changing it.
#[cfg(any(unix, windows))]
const MAX_ATTEMPTS: u32 = 10;

/// A file whose parts have been located.
pub(crate) struct OpenFile {
    pub(crate) layout: Layout,
    pub(crate) tree_text: Bytes,
    pub(crate) blocks: BlockStore,
}

impl OpenFile {
    /// Opens the file at a path. If the file is mapped, the tree is copied before it is parsed,
    /// because the content of the map may change.
    #[cfg(any(unix, windows))]
    pub(crate) fn by_path(path: &Path, options: &OpenOptions) -> Result<Self> {
        Self::by(path, options, || source(path, options))
    }

    /// Opens a file through a pool, which closes files that have not been read recently and reopens them when
    /// they are read again.
    #[cfg(any(unix, windows))]
    pub(crate) fn in_pool(
        path: &Path,
        options: &OpenOptions,
        pool: &Arc<FilePool>,
    ) -> Result<Self> {
        Self::by(path, options, || match journal::before_change(path)? {
            Some(before) => Ok(Arc::new(before)),
            None => Ok(Arc::new(pool.add(path)?)),
        })
    }

    #[cfg(any(unix, windows))]
    fn by(
        path: &Path,
        options: &OpenOptions,
        source: impl Fn() -> Result<Arc<dyn ReadAt>>,
    ) -> Result<Self> {
        let mut attempts = 0;
        loop {
            let before = state(path);
            let source = source()?;
            let opened = Self::locate(CachedSource::new(source, !options.mmap), options);
            attempts += 1;
            // If the file has changed in the meantime, the head and the tail may come from
            // different versions. Read both again.
            if attempts == MAX_ATTEMPTS || state(path) == before {
                return opened;
            }
        }
    }

    /// Opens a file from a source.
    pub(crate) fn from_source(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Self> {
        Self::locate(CachedSource::new(source, true), options)
    }

    fn locate(mut source: CachedSource, options: &OpenOptions) -> Result<Self> {
        let reports = Reports::default();
        let FileParts { layout, tree_text, blocks } =
            locate::locate(&mut source, options, &reports)?;
        let blocks = BlockStore::new(source, blocks, options, reports);
        if options.strictness == Strictness::Strict {
            for block in Blocks::new(&blocks) {
                block?;
            }
            reject_irregularities(blocks.reports())?;
        }
        Ok(Self { layout, tree_text, blocks })
    }
}

/// Returns the properties of a file that reveal a change or replacement: its length, its
/// modification time, and whether it has a journal. Returns `None` if they cannot be read.
#[cfg(any(unix, windows))]
fn state(path: &Path) -> Option<(u64, std::time::SystemTime, bool)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?, journal::exists(path)))
}

/// Opens the file in its current state or, if an in-place change is unfinished, in its state before that
/// change.
#[cfg(any(unix, windows))]
#[cfg_attr(
    not(feature = "mmap"),
    allow(unused_variables, reason = "the options are only used if files can be mapped")
)]
fn source(path: &Path, options: &OpenOptions) -> Result<Arc<dyn ReadAt>> {
    let file = binio::FileSource::open(path)?;
    if let Some(before) = journal::before_change(path)? {
        return Ok(Arc::new(before));
    }
    match usize::try_from(file.len()) {
        Ok(len) if file.len() <= SMALL_FILE => Ok(Arc::new(file.bytes_at(0, len)?)),
        #[cfg(feature = "mmap")]
        _ if options.mmap => Ok(Arc::new(binio::Mmap::open(path)?)),
        _ => Ok(Arc::new(file)),
    }
}

/// Fails with the first diagnostic, if there is one.
fn reject_irregularities(reports: &Reports) -> Result<()> {
    match reports.sorted().into_iter().next() {
        None => Ok(()),
        Some(Diagnostic { code, place, message, .. }) => {
            let error = Error::from(ErrorKind::Layout(format!("{code}: {message}")));
            Err(error.at(place.offset.unwrap_or(0)))
        }
    }
}
