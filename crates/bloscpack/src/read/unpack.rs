//! Decoding the data of a file on several threads.
//!
//! Each chunk is a job. If the target is memory or a file, the threads write the data at its position, in any order. If
//! it is a pipe, the data passes in order through a window of two chunks per thread. Memory is bounded by the chunks in
//! progress, however long the file is.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::ops::Range;

use binio::write::write_all_at;

use crate::Reader;
use crate::error::{Error, Result};
use crate::parallel::{self, for_each, in_order_here};
use crate::read::chunk::Scratch;
use crate::read::reader::Piece;

/// A function that is called with the number of bytes processed since the last call, on any of the working threads.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Options for decoding many chunks.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use bloscpack::{Reader, UnpackOptions, WriteOptions, pack_to_vec};
///
/// let file = Reader::from_bytes(pack_to_vec(&[7; 100_000], &WriteOptions::new())?)?;
/// let done = AtomicU64::new(0);
/// let progress = |bytes| {
///     done.fetch_add(bytes, Ordering::Relaxed);
/// };
/// let data = file.read_all_parallel(&UnpackOptions::new().threads(2).progress(&progress))?;
/// assert_eq!(done.into_inner(), data.len() as u64);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct UnpackOptions<'a> {
    threads: usize,
    progress: Option<Progress<'a>>,
}

impl Default for UnpackOptions<'_> {
    fn default() -> Self {
        Self { threads: parallel::ALL, progress: None }
    }
}

impl<'a> UnpackOptions<'a> {
    /// Returns the default options: all threads of the pool, and no progress.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the maximum number of threads of the caller's `rayon` pool that decode. With 1,
        /// only the caller's thread is used. Default: all.
        threads: usize;
        /// Sets a function that is called with the number of bytes decoded since the last call.
        progress: Progress<'a> => Some(progress);
    }

    pub(crate) fn done(&self, bytes: usize) {
        if let Some(progress) = self.progress {
            progress(bytes as u64);
        }
    }
}

impl fmt::Debug for UnpackOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnpackOptions").field("threads", &self.threads).finish_non_exhaustive()
    }
}

/// Decoding on several threads. If several chunks are damaged, the error is about the first one. Data written before
/// the error is kept.
impl Reader {
    /// Writes all data to a sink, in order.
    ///
    /// ```
    /// use bloscpack::{Reader, UnpackOptions};
    ///
    /// # let mut bytes = b"blpk\x03\x00\x00\x01\x04\0\0\0\x04\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    /// # bytes.extend([0; 8]);
    /// # bytes.extend(b"\x02\x01\x02\x01\x04\0\0\0\x04\0\0\0\x14\0\0\0data");
    /// let mut data = Vec::new();
    /// Reader::from_bytes(bytes)?.unpack_to(&mut data, &UnpackOptions::new())?;
    /// assert_eq!(data, b"data");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read_exact_at`](Self::read_exact_at), for the first damaged chunk; the data before it has been
    /// written. Also fails with [`ErrorKind::Output`](crate::ErrorKind::Output) if the sink cannot be written.
    pub fn unpack_to(&self, sink: &mut dyn Write, options: &UnpackOptions<'_>) -> Result<()> {
        self.unpack_range_to(0..self.len(), sink, options)
    }

    /// Writes a range of the data to a sink, in order.
    ///
    /// # Errors
    ///
    /// Same as [`unpack_to`](Self::unpack_to). Also fails with
    /// [`ErrorKind::OutOfRange`](crate::ErrorKind::OutOfRange) if the range is not within the data.
    pub fn unpack_range_to(
        &self,
        range: Range<u64>,
        sink: &mut dyn Write,
        options: &UnpackOptions<'_>,
    ) -> Result<()> {
        in_order_here(
            self.threads(options),
            self.pieces(range)?,
            Scratch::default,
            |scratch, piece, data| self.decode_piece(piece, data, scratch),
            |data: &mut Vec<u8>| {
                sink.write_all(data).map_err(Error::of_output)?;
                options.done(data.len());
                Ok(())
            },
        )
    }

    /// Writes all data to a file, starting at its beginning. Each thread writes at the position of its chunks, which
    /// is faster than writing to a sink. The cursor of the file is not used, but Windows moves it.
    ///
    /// ```
    /// use std::fs::File;
    /// use bloscpack::{Reader, UnpackOptions, WriteOptions, pack_to_vec};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("data");
    /// let file = Reader::from_bytes(pack_to_vec(&[7; 100_000], &WriteOptions::new())?)?;
    /// file.unpack_to_file(&File::create(&path)?, &UnpackOptions::new())?;
    /// assert_eq!(std::fs::read(&path)?, [7; 100_000]);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`unpack_to`](Self::unpack_to). After an error, the file may contain any
    /// subset of the chunks.
    pub fn unpack_to_file(&self, file: &File, options: &UnpackOptions<'_>) -> Result<()> {
        self.unpack_range_to_file(0..self.len(), file, options)
    }

    /// Like [`unpack_to_file`](Self::unpack_to_file), but writes only a range of the data, starting at the
    /// beginning of the file.
    ///
    /// # Errors
    ///
    /// Same as [`unpack_range_to`](Self::unpack_range_to).
    pub fn unpack_range_to_file(
        &self,
        range: Range<u64>,
        file: &File,
        options: &UnpackOptions<'_>,
    ) -> Result<()> {
        let start = range.start;
        for_each(
            self.threads(options),
            self.pieces(range)?,
            || (Vec::new(), Scratch::default()),
            |(data, scratch), piece| {
                let place = piece.position - start;
                self.decode_piece(piece, data, scratch)?;
                write_all_at(file, data, place).map_err(Error::of_output)?;
                options.done(data.len());
                Ok(())
            },
        )
    }

    /// Like [`read_exact_at`](Self::read_exact_at), but uses several threads.
    ///
    /// # Errors
    ///
    /// Same as [`read_exact_at`](Self::read_exact_at).
    pub fn read_into(
        &self,
        out: &mut [u8],
        offset: u64,
        options: &UnpackOptions<'_>,
    ) -> Result<()> {
        let end = offset.saturating_add(out.len() as u64);
        self.prefetch_data(offset..end)?;
        let mut rest = out;
        let jobs = self.pieces(offset..end)?.map(move |piece| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(piece.range.len());
            rest = after;
            (piece, part)
        });
        for_each(self.threads(options), jobs, Scratch::default, |scratch, (piece, part)| {
            self.decode_chunk_range_into(piece.index, piece.range, part, scratch)?;
            options.done(part.len());
            Ok(())
        })
    }

    /// Like [`read_all`](Self::read_all), but uses several threads.
    ///
    /// # Errors
    ///
    /// Same as [`read_all`](Self::read_all).
    pub fn read_all_parallel(&self, options: &UnpackOptions<'_>) -> Result<Vec<u8>> {
        let mut out = self.room_for(self.len())?;
        self.read_into(&mut out, 0, options)?;
        Ok(out)
    }

    /// Returns the number of threads to use, at most one per chunk.
    fn threads(&self, options: &UnpackOptions<'_>) -> usize {
        options.threads.min(self.chunks().len())
    }

    /// Decodes a part of a chunk to a buffer whose memory is reused.
    fn decode_piece(&self, piece: Piece, data: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let Piece { index, range, .. } = piece;
        let nbytes = self.chunks().get(index).map_or(0, |chunk| chunk.nbytes);
        if u32::try_from(range.len()) == Ok(nbytes) {
            return self.decode_chunk_to(index, data, scratch);
        }
        *data = self.room_for(range.len() as u64)?;
        self.decode_chunk_range_into(index, range, data, scratch)
    }
}
