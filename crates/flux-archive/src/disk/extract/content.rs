//! The content of an extracted file.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::diagnostic::Code;
use crate::error::{ErrorKind, Result};
use crate::model::{Content, Entry, Region};
use crate::parallel::{Progress, report, threads, try_map};
use crate::store::{BlobStore, fetch};

/// Size in bytes from which a file is written by all threads.
const PARALLEL_FROM: u64 = 4 << 20;

/// Buffers for blobs, which are used again.
#[derive(Default)]
struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    fn with<T>(&self, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = free().pop().unwrap_or_default();
        let result = body(&mut buffer);
        free().push(buffer);
        result
    }
}

/// Whether content is large enough for several threads: text, base64, or blobs that do not overlap.
pub(super) fn is_parallel(content: &Content<'_>) -> bool {
    let regions = match content {
        Content::Blobvec(regions) => regions,
        Content::Base64(data) => return data.len() >= PARALLEL_FROM,
        Content::Text(text) => return text.len() >= PARALLEL_FROM,
        _ => return false,
    };
    let data: u64 = regions.iter().fold(0, |sum, region| region.size.saturating_add(sum));
    let apart = |pair: &[Region]| pair[0].end() <= pair[1].offset;
    regions.len() > 1 && data >= PARALLEL_FROM && regions.windows(2).all(apart)
}

/// Writes the bytes of files, and counts them.
pub(super) struct ContentWriter<'o> {
    store: Option<&'o dyn BlobStore>,
    progress: Option<Progress<'o>>,
    buffers: Buffers,
    written: AtomicU64,
}

impl<'o> ContentWriter<'o> {
    pub(super) fn new(store: Option<&'o dyn BlobStore>, progress: Option<Progress<'o>>) -> Self {
        Self { store, progress, buffers: Buffers::default(), written: AtomicU64::new(0) }
    }

    /// Bytes that were written, without holes.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Writes the content of a new file, and sets its size.
    pub(super) fn write(&self, mut file: &File, entry: &Entry<'_>) -> Result<()> {
        let content = entry.content();
        match content {
            Content::Directory | Content::Symlink(_) | Content::Empty => {}
            Content::Json(json) => file.write_all(json.get().as_bytes())?,
            Content::Text(text) if is_parallel(content) && threads() > 1 => {
                text.for_each_piece(|piece| {
                    self.count(piece.len() as u64);
                    file.write_all(piece)
                })?;
                return set_size(file, entry);
            }
            Content::Text(text) => text.write_to(&mut file)?,
            Content::Base64(data) if is_parallel(content) => {
                // Set first, or else each piece grows the file.
                file.set_len(entry.len())?;
                data.for_each_piece(|position, piece| {
                    self.count(piece.len() as u64);
                    file.write_all_at(piece, position)
                })?;
                return Ok(());
            }
            Content::Base64(data) => data.write_to(&mut file)?,
            Content::Blobvec(regions) => {
                // Set first, so that the file system can refuse the size before anything is written.
                file.set_len(entry.len())?;
                return self.write_regions(file, regions, is_parallel(content));
            }
        }
        self.count(content.data_len());
        set_size(file, entry)
    }

    fn write_regions(&self, file: &File, regions: &[Region], parallel: bool) -> Result<()> {
        let write = |region: &Region| {
            self.buffers.with(|blob| {
                let missing = || {
                    let (code, message) = (Code::BlobMissing, "no store is given".to_owned());
                    ErrorKind::Blob { code, blobref: region.blobref, message }
                };
                let store = self.store.ok_or_else(missing)?;
                fetch(store, region, blob)?;
                file.write_all_at(blob, region.offset)?;
                self.count(region.size);
                Ok(())
            })
        };
        if parallel {
            try_map(regions, || (), |(), region| write(region)).map(drop)
        } else {
            regions.iter().try_for_each(write)
        }
    }

    fn count(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
        report(self.progress, bytes);
    }
}

/// Sets the size of the entry; zeros follow the data.
fn set_size(file: &File, entry: &Entry<'_>) -> Result<()> {
    if entry.len() > entry.content().data_len() {
        file.set_len(entry.len())?;
    }
    Ok(())
}
