//! Blocks: the header with room for what is known at the end, and the data.

use std::io::{Seek, SeekFrom, Write};
use std::sync::mpsc::{Sender, channel};

use binio::checksum::{Algorithm, Digest, Hasher};
use binio::{ReadAt, Span};
use bytes::Bytes;

use super::WriteOptions;
use crate::codec::Compression;
use crate::codec::encode::{DecodedSource, Task, UncompressedSource, encode, with_threads};
use crate::error::{Error, Result};
use crate::file::blocks::Block;
use crate::layout::BlockHeader;

/// Stored bytes are copied in pieces of this size.
const PIECE: usize = 1 << 20;
/// A block with at most so many bytes of data is small: it is held in memory.
pub(super) const SMALL: u64 = 1 << 20;

/// The file that is written, which knows its position.
pub(crate) struct Output<W> {
    inner: W,
    position: u64,
}

impl<W: Write + Seek> Output<W> {
    /// A file that begins where the writer is.
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, position: 0 }
    }

    /// A file whose writer is at a position.
    #[cfg(any(unix, windows))]
    pub(crate) fn at(inner: W, position: u64) -> Self {
        Self { inner, position }
    }

    /// Has bytes written by a function.
    #[cfg(any(unix, windows))]
    pub(crate) fn put_by(
        &mut self,
        len: u64,
        write: impl FnOnce(&mut W) -> Result<()>,
    ) -> Result<()> {
        write(&mut self.inner)?;
        self.position += len;
        Ok(())
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    /// Writes bytes over those at a place before the end.
    pub(crate) fn patch(&mut self, place: u64, bytes: &[u8]) -> Result<()> {
        let back = i64::try_from(self.position - place).unwrap_or(i64::MAX);
        self.inner.seek(SeekFrom::Current(-back))?;
        self.inner.write_all(bytes)?;
        let forth = back - i64::try_from(bytes.len()).unwrap_or(0);
        self.inner.seek(SeekFrom::Current(forth))?;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<()> {
        Ok(self.inner.flush()?)
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// What becomes a block.
pub(crate) enum BlockData<'a> {
    /// Data to be compressed.
    New { data: &'a dyn ReadAt, compression: Compression, itemsize: u64 },
    /// The data of a compressed block of another file, to be compressed again.
    Decoded { block: Block<'a>, compression: Compression },
    /// A block of another file with the same stored bytes.
    Stored(Block<'a>),
}

/// Fails for a unit that headers cannot align data to.
pub(super) fn check_align(align: u64) -> Result<()> {
    let max = BlockHeader::MAX_ALIGN;
    if align.is_power_of_two() && align <= max {
        return Ok(());
    }
    let message = format!("alignment {align}: expected a power of two up to {max}");
    Err(Error::unwritable(message))
}

/// What is known of a small block before it is written.
pub(crate) struct Encoded {
    stored: Bytes,
    data_size: u64,
    digest: Option<Digest>,
}

/// The stored bytes of a block with little data; `None` for others, which are not held in memory.
pub(super) fn encode_small(
    block: &BlockData<'_>,
    options: &WriteOptions,
) -> Result<Option<Encoded>> {
    let BlockData::New { data, compression, itemsize } = block else { return Ok(None) };
    let data_size = data.len();
    if data_size > SMALL {
        return Ok(None);
    }
    let stored = if *compression == Compression::None {
        data.bytes_at(0, usize::try_from(data_size).unwrap_or(usize::MAX))?
    } else {
        let mut stored = Vec::new();
        encode(&mut UncompressedSource::new(*data), *compression, *itemsize, &mut |bytes| {
            stored.extend_from_slice(bytes);
            Ok(())
        })?;
        stored.into()
    };
    let digest = options.checksum.then(|| Algorithm::Md5.digest(&stored));
    Ok(Some(Encoded { stored, data_size, digest }))
}

/// Writes a block, which may be encoded already, and returns its offset.
pub(crate) fn write<W: Write + Seek>(
    out: &mut Output<W>,
    block: &BlockData<'_>,
    encoded: Option<Encoded>,
    options: &WriteOptions,
) -> Result<u64> {
    let offset = out.position();
    let code = match block {
        BlockData::New { compression, .. } | BlockData::Decoded { compression, .. } => {
            compression.code()
        }
        BlockData::Stored(block) => block.header()?.compression,
    };
    let mut header = BlockHeader::aligned(offset, code, options.align);
    if let Some(Encoded { stored, data_size, digest }) = encoded {
        fill(&mut header, stored.len() as u64, data_size, digest);
        out.put(&header.to_bytes())?;
        out.put(&stored)?;
        return Ok(offset);
    }
    out.put(&header.to_bytes())?;
    let start = out.position();
    let mut hasher = options.checksum.then(|| Algorithm::Md5.hasher());
    let data_size = match block {
        BlockData::New { data, compression, itemsize } => {
            let mut source = UncompressedSource::new(*data);
            let mut sink = |bytes: &[u8]| put(out, hasher.as_mut(), bytes);
            encode(&mut source, *compression, *itemsize, &mut sink)?;
            data.len()
        }
        BlockData::Decoded { block, compression } => {
            let mut sink = |bytes: &[u8]| put(out, hasher.as_mut(), bytes);
            block.with_decoder(|decoder| {
                let mut source = DecodedSource::new(decoder, |failure| block.failure(failure));
                encode(&mut source, *compression, 1, &mut sink)
            })?;
            block.data_len()?
        }
        BlockData::Stored(block) => copy(out, hasher.as_mut(), block)?,
    };
    let used_size = out.position() - start;
    let digest = hasher.map(Hasher::finish);
    if let BlockData::Stored(block) = block {
        // The copy would have a checksum that matches.
        block.check_stored(digest)?;
    }
    fill(&mut header, used_size, data_size, digest);
    out.patch(offset, &header.fields())?;
    Ok(offset)
}

/// Checksums that other threads make while the data are written.
pub(super) struct Checksums<'a> {
    spawn: &'a dyn Fn(Task),
    /// Where in the file they belong.
    made: Sender<(u64, Digest)>,
}

impl Checksums<'_> {
    /// Writes a block whose data are in memory and not compressed, and returns its offset.
    pub(super) fn write<W: Write + Seek>(
        &self,
        out: &mut Output<W>,
        data: &dyn ReadAt,
        options: &WriteOptions,
    ) -> Result<u64> {
        let offset = out.position();
        let stored = data.bytes_at(0, usize::try_from(data.len()).unwrap_or(usize::MAX))?;
        let mut header = BlockHeader::aligned(offset, Compression::None.code(), options.align);
        fill(&mut header, data.len(), data.len(), None);
        out.put(&header.to_bytes())?;
        let (hashed, made) = (stored.clone(), self.made.clone());
        let place = offset + BlockHeader::CHECKSUM_OFFSET;
        (self.spawn)(Box::new(move || {
            // Nobody receives it if writing has failed.
            let _ = made.send((place, Algorithm::Md5.digest(&hashed)));
        }));
        out.put(&stored)?;
        Ok(offset)
    }
}

/// Has a function write blocks. It may have their checksums made by other threads, if there are any;
/// these are in the headers in the end.
pub(super) fn with_checksums<W: Write + Seek>(
    out: &mut Output<W>,
    write: impl FnOnce(&mut Output<W>, Option<&Checksums<'_>>) -> Result<()>,
) -> Result<()> {
    let (made, checksums) = channel();
    with_threads(|spawn| {
        let checksums = spawn.map(|spawn| Checksums { spawn, made });
        write(out, checksums.as_ref())
    })?;
    checksums.into_iter().try_for_each(|(place, digest)| out.patch(place, digest.as_bytes()))
}

/// Sets the sizes and the checksum of a header.
pub(super) fn fill(
    header: &mut BlockHeader,
    used_size: u64,
    data_size: u64,
    digest: Option<Digest>,
) {
    header.set_stored_size(used_size);
    header.data_size = data_size;
    if let Some(digest) = digest {
        header.checksum.copy_from_slice(digest.as_bytes());
    }
}

/// Writes bytes and hashes them, at the same time where there is another thread.
fn put<W: Write + Seek>(
    out: &mut Output<W>,
    hasher: Option<&mut Hasher>,
    bytes: &[u8],
) -> Result<()> {
    let Some(hasher) = hasher else { return out.put(bytes) };
    #[cfg(feature = "rayon")]
    if bytes.len() >= 64 << 10 && rayon::current_num_threads() > 1 {
        return rayon::in_place_scope(|scope| {
            scope.spawn(|_| hasher.update(bytes));
            out.put(bytes)
        });
    }
    hasher.update(bytes);
    out.put(bytes)
}

/// Copies the stored bytes of a block, and returns the size of its data.
fn copy<W: Write + Seek>(
    out: &mut Output<W>,
    mut hasher: Option<&mut Hasher>,
    block: &Block<'_>,
) -> Result<u64> {
    let stored = Span::new(block.source(), block.data_range()?)?;
    for piece in stored.pieces(0..stored.len(), PIECE) {
        put(out, hasher.as_deref_mut(), &piece?)?;
    }
    block.data_len()
}
