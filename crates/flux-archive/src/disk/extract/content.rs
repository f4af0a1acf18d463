//! Writing the content of an extracted file.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use binio::ReadAt;

use crate::diagnostic::Code;
use crate::error::{ErrorKind, Result};
use crate::model::{Content, Entry, Region};
use crate::parallel::{Progress, report, threads, try_map};
use crate::parse::{self, Data};
use crate::store::{BlobStore, fetch};

/// The minimum number of bytes of data in a file that several threads decode and write together.
const PARALLEL_FROM: u64 = 4 << 20;

/// The size in bytes of a block of zeros that becomes a hole, and its alignment in the file. This
/// is a multiple of the block sizes of common file systems.
const HOLE: usize = 16 << 10;

/// A pool of reusable buffers for blobs.
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

/// Returns `true` if several threads can work on the content of a file. The data must be large, and
/// must be text, base64, or several blobs whose regions are in order and do not overlap.
pub(super) fn is_parallel(content: &Content<'_>) -> bool {
    let regions = match content {
        Content::Blobvec(regions) => regions,
        Content::Base64(data) => return is_large(data.len()),
        Content::Text(text) => return is_large(text.len()),
        _ => return false,
    };
    regions.len() > 1 && is_large(content.data_size()) && are_apart(regions)
}

/// Returns `true` if `len` bytes of data are enough for several threads.
pub(super) fn is_large(len: u64) -> bool {
    len >= PARALLEL_FROM
}

/// Writes the content of extracted files.
pub(super) struct ContentWriter<'o> {
    store: Option<&'o dyn BlobStore>,
    progress: Option<Progress<'o>>,
    buffers: Buffers,
}

impl<'o> ContentWriter<'o> {
    pub(super) fn new(store: Option<&'o dyn BlobStore>, progress: Option<Progress<'o>>) -> Self {
        Self { store, progress, buffers: Buffers::default() }
    }

    /// Writes the content of a new file, and sets its size. Long runs of zeros become holes if the
    /// content is base64, or consists of blobs whose regions are in order and do not overlap.
    pub(super) fn write(&self, mut file: &File, entry: &Entry<'_>) -> Result<()> {
        let content = entry.content();
        let mut end = content.data_len();
        match content {
            Content::Directory | Content::Symlink(_) | Content::Empty => {}
            Content::Json(json) => file.write_all(json.get().as_bytes())?,
            Content::Text(text) if is_parallel(content) && threads() > 1 => {
                text.for_each_piece(|piece| {
                    report(self.progress, piece.len() as u64);
                    file.write_all(piece)
                })?;
            }
            Content::Text(text) => text.write_to(&mut file)?,
            Content::Base64(data) if is_parallel(content) => {
                // Set the size first, so that writing the pieces does not enlarge the file.
                file.set_len(entry.len())?;
                data.for_each_piece(|position, piece| {
                    report(self.progress, piece.len() as u64);
                    write_with_holes(file, piece, position).map(drop)
                })?;
                return Ok(());
            }
            Content::Base64(data) => {
                let mut writer = WithHoles { file, position: 0, end: 0 };
                data.write_to(&mut writer)?;
                end = writer.end;
            }
            Content::Blobvec(regions) => {
                // Set the size first, so that the file system can reject it before anything is
                // written.
                file.set_len(entry.len())?;
                return self.write_regions(file, regions, is_parallel(content));
            }
        }
        if !is_parallel(content) || threads() == 1 {
            report(self.progress, content.data_len());
        }
        if entry.len() > end {
            file.set_len(entry.len())?;
        }
        Ok(())
    }

    /// Like [`write`](Self::write), but reads the data of the entry from the source of the archive.
    pub(super) fn write_located(
        &self,
        file: &File,
        entry: &Entry<'_>,
        data: &Data,
        source: &dyn ReadAt,
        buffers: &mut parse::Buffers,
    ) -> Result<()> {
        let end = AtomicU64::new(0);
        let write = |position: u64, piece: &[u8]| {
            report(self.progress, piece.len() as u64);
            end.fetch_max(write_with_holes(file, piece, position)?, Ordering::Relaxed);
            Ok(())
        };
        if is_large(data.len()) && threads() > 1 {
            // Set the size first, so that writing the pieces does not enlarge the file.
            file.set_len(entry.len())?;
            return data.for_each_piece_in_parallel(source, write);
        }
        data.for_each_piece(source, buffers, write)?;
        if entry.len() > end.into_inner() {
            file.set_len(entry.len())?;
        }
        Ok(())
    }

    fn write_regions(&self, file: &File, regions: &[Region], parallel: bool) -> Result<()> {
        let apart = are_apart(regions);
        let write = |region: &Region| {
            self.buffers.with(|blob| {
                let missing = || {
                    let (code, message) = (Code::BlobMissing, "no store was given".to_owned());
                    ErrorKind::Blob { code, blobref: region.blobref, message, error: None }
                };
                let store = self.store.ok_or_else(missing)?;
                fetch(store, region, blob)?;
                if apart {
                    write_with_holes(file, blob, region.offset)?;
                } else {
                    // Write long runs of zeros as well, because they may replace bytes of an
                    // earlier region.
                    file.write_all_at(blob, region.offset)?;
                }
                report(self.progress, region.size);
                Ok(())
            })
        };
        if parallel {
            try_map(regions, || (), |(), region| write(region)).map(drop)
        } else {
            regions.iter().try_for_each(write)
        }
    }
}

/// Returns `true` if the regions are in order and do not overlap.
fn are_apart(regions: &[Region]) -> bool {
    regions.windows(2).all(|pair| pair[0].end() <= pair[1].offset)
}

/// Writes bytes to a new file at `position`, except for aligned blocks of [`HOLE`] zeros. Returns
/// the offset after the last written byte, or 0 if all bytes belong to such blocks.
fn write_with_holes(file: &File, bytes: &[u8], position: u64) -> io::Result<u64> {
    if bytes.len() < HOLE {
        file.write_all_at(bytes, position)?;
        return Ok(position + bytes.len() as u64);
    }
    let (mut end, mut start, mut at) = (0, 0, 0);
    let mut write = |from: usize, to: usize| {
        if from < to {
            end = position + to as u64;
            file.write_all_at(&bytes[from..to], position + from as u64)?;
        }
        Ok::<_, io::Error>(())
    };
    while at < bytes.len() {
        // Continue to the next multiple of [`HOLE`] in the file.
        let next = HOLE - usize::try_from((position + at as u64) % HOLE as u64).unwrap_or_default();
        let to = (at + next).min(bytes.len());
        if to - at == HOLE && bytes[at..to].iter().all(|&byte| byte == 0) {
            write(start, at)?;
            start = to;
        }
        at = to;
    }
    write(start, at)?;
    Ok(end)
}

/// Writes a new file sequentially, with holes in place of long runs of zeros.
struct WithHoles<'f> {
    file: &'f File,
    position: u64,
    /// The offset after the last written byte.
    end: u64,
}

impl Write for WithHoles<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.end = self.end.max(write_with_holes(self.file, bytes, self.position)?);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
