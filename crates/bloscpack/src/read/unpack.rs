//! Decoding the data of a file on several threads.
//!
//! Each chunk is a job. If the target is memory or a file, the threads write decoded chunks
//! directly to their final positions, in any order. If it is a sink, the chunks are written in
//! order, and at most two per thread are in memory. The memory needed therefore depends on the
//! number of chunks in progress, not on the length of the file.

use std::fmt;
use std::fs::File;
use std::io::Write;
use std::iter;
use std::ops::Range;

use binio::blosc;
use binio::write::write_all_at;

use crate::Reader;
use crate::error::{Error, Result};
use crate::parallel::{self, for_each, in_order_here};
use crate::read::chunk::{self, Scratch};
use crate::read::reader::Piece;

/// The minimum length in bytes of the parts into which a large chunk is divided, so that several
/// threads can decode it. Only the first and the last part may be shorter.
const SHARE: usize = 1 << 20;

/// A function that is called with the number of bytes processed since the last call. Any of the
/// working threads may call it.
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
    /// Returns the default options: all threads of the caller's `rayon` pool, and no progress
    /// function.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the maximum number of threads with which to decode. They belong to the caller's
        /// `rayon` pool; with 1, only the caller's thread is used. Default: all.
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
    /// Same as [`read_exact_at`](Self::read_exact_at). If several chunks are damaged, the error is
    /// about the first one, and all data before it has already been written to the sink. Also fails
    /// with [`ErrorKind::Output`](crate::ErrorKind::Output) if the sink cannot be written, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if a single chunk exceeds
    /// [`Limits::max_decoded`](crate::Limits::max_decoded) or
    /// [`Limits::max_alloc`](crate::Limits::max_alloc).
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

    /// Writes all data to a file, starting at its beginning. Each thread writes its chunks at their
    /// positions, which is faster than writing them to a sink in order. The current position of the
    /// file's cursor does not matter, but changes on Windows.
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

    /// Like [`unpack_to_file`](Self::unpack_to_file), but writes only a range of the data. The range
    /// is written to the beginning of the file.
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
        // Divide chunks between threads only if there are few chunks. Otherwise, whole chunks keep
        // all threads busy almost until the end.
        let threads = parallel::workers(options.threads);
        let are_few = threads > 1 && self.pieces(offset..end)?.nth(4 * threads).is_none();
        let mut rest = out;
        let jobs = self.pieces(offset..end)?.map(move |piece| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(piece.range.len());
            rest = after;
            (piece, part)
        });
        for_each(self.threads(options), jobs, Scratch::default, |scratch, (piece, part)| {
            if are_few && part.len() >= 2 * SHARE {
                self.decode_piece_in_shares(piece, part, scratch, threads)?;
            } else {
                self.decode_chunk_range_into(piece.index, piece.range, part, scratch)?;
            }
            options.done(part.len());
            Ok(())
        })
    }

    /// Like [`decode_chunk_range_into`](Self::decode_chunk_range_into), but divides the Blosc
    /// blocks between idle threads, while one thread checks the digest of the chunk.
    ///
    /// On two threads, decoding a single chunk of 512 MiB in this way takes 0.6 times as long
    /// (example `bloscpack_tasks`, task `unpack_array`).
    fn decode_piece_in_shares(
        &self,
        piece: Piece,
        out: &mut [u8],
        scratch: &mut Scratch,
        threads: usize,
    ) -> Result<()> {
        let Piece { index, range, .. } = piece;
        let (number, entry) = (index as u64, self.chunk(index)?);
        let (bytes, digest) = self.chunk_source().stored_by(threads, entry, &mut scratch.stored)?;
        let check = || self.check_digest(index, bytes, digest);
        let buffer = match chunk::parse(number, entry.offset, bytes) {
            Ok(buffer) => buffer,
            // If the digest is wrong as well, report the wrong digest instead.
            Err(error) => return check().and(Err(error)),
        };
        let jobs = iter::once(None).chain(shares(&buffer, range, out).map(Some));
        for_each(threads, jobs, blosc::Scratch::default, |scratch, job| match job {
            None => check(),
            Some((range, out)) => buffer
                .decode_range_into(range, out, scratch)
                .map_err(|error| chunk::corrupt(number, entry.offset, bytes, error)),
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

    /// Decodes a part of a chunk into `data`, whose content is replaced.
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

/// Divides a range of the data in a Blosc buffer into parts, each with its slice of `out`. Unless
/// the buffer is stored uncompressed, the parts are divided at block boundaries.
fn shares<'a>(
    buffer: &blosc::Buffer<'_>,
    range: Range<usize>,
    out: &'a mut [u8],
) -> impl Iterator<Item = (Range<usize>, &'a mut [u8])> + Send {
    let block = buffer.block_range(0).map_or(1, |block| block.len());
    let share = if buffer.header().is_memcpyed() { SHARE } else { SHARE.next_multiple_of(block) };
    let (mut at, mut rest) = (range.start, out);
    iter::from_fn(move || {
        let end = range.end.min((at / share + 1).saturating_mul(share));
        let (part, after) = std::mem::take(&mut rest).split_at_mut(end - at);
        let part = (!part.is_empty()).then_some((at..end, part));
        (at, rest) = (end, after);
        part
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkSize, Compressor, OpenOptions, Verify, WriteOptions, pack_to_vec};

    /// Returns a file with chunks of 5 MiB, and its data. Unless the level is 0, each Blosc block
    /// is 128 KiB long.
    fn packed(level: u8) -> (Vec<u8>, Vec<u8>) {
        let data: Vec<u8> =
            (0..12_u32 << 18).flat_map(|n| (n.wrapping_mul(n) / 7).to_le_bytes()).collect();
        let options = WriteOptions::new().compressor(Compressor::Lz4).level(level);
        let file = pack_to_vec(&data, &options.chunk_size(ChunkSize::Bytes(5 << 20))).unwrap();
        (file, data)
    }

    fn read(file: &Reader, range: Range<usize>, threads: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; range.len()];
        file.read_into(&mut out, range.start as u64, &UnpackOptions::new().threads(threads))?;
        Ok(out)
    }

    #[test]
    fn decoding_a_chunk_on_several_threads_returns_the_packed_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("packed");
        for level in [0, 1] {
            let (packed, data) = packed(level);
            std::fs::write(&path, &packed).unwrap();
            let (memory, file) =
                (Reader::from_bytes(packed).unwrap(), Reader::open(&path).unwrap());
            let len = data.len();
            for range in [0..len, 1..len - 1, 77..(2 << 20) + 78, (3 << 20) + 5..(11 << 20) + 3] {
                for threads in [1, 2, 5] {
                    for source in [&memory, &file] {
                        let out = read(source, range.clone(), threads).unwrap();
                        assert!(out == data[range.clone()], "level {level}, {range:?}, {threads}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_damaged_chunk_causes_the_same_error_on_one_and_on_several_threads() {
        let (file, data) = packed(1);
        let start = Reader::from_bytes(file.clone()).unwrap().chunks()[1].offset;
        let start = usize::try_from(start).unwrap();
        // In turn, damage the streams of the second chunk, the table of its blocks, and its
        // typesize.
        for at in [start + 1000, start + 18, start + 17 * 4, start + 3] {
            let mut bad = file.clone();
            bad[at] ^= 0x7f;
            for verify in [Verify::OnRead, Verify::Never] {
                let file = OpenOptions::new().verify(verify).from_bytes(bad.clone()).unwrap();
                let outcomes = [1, 2, 5].map(|threads| {
                    read(&file, 0..data.len(), threads).map_err(|error| error.to_string())
                });
                assert!(outcomes[0].is_err() || verify == Verify::Never, "{at}");
                assert!(outcomes[1] == outcomes[0] && outcomes[2] == outcomes[0], "{at}");
            }
        }
    }
}
