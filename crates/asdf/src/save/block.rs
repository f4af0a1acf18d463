//! Writing a block: its data, and its header, which is completed once the sizes and the checksum are
//! known.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use binio::checksum::{Algorithm, Digest, Hasher};
use binio::{ReadAt, Span};
use bytes::Bytes;

use super::output::{Output, Sink};
use crate::codec::Compression;
use crate::codec::encode::{DecodedSource, Task, UncompressedSource, encode};
use crate::error::Result;
use crate::file::blocks::Block;
use crate::layout::BlockHeader;

/// Length in bytes of the pieces in which stored bytes are copied.
const PIECE: usize = 1 << 20;
/// Maximum data size in bytes of a small block, which is encoded entirely in memory.
pub(super) const SMALL: u64 = 1 << 20;

/// The data of an array that will be written as a block.
#[derive(Clone)]
pub(crate) struct ArrayData {
    pub(crate) data: Arc<dyn ReadAt>,
    pub(crate) compression: Compression,
    pub(crate) itemsize: u64,
}

impl std::fmt::Debug for ArrayData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrayData").field("len", &self.data.len()).finish_non_exhaustive()
    }
}

/// The content of a block to be written.
#[derive(Clone)]
pub(super) enum Content<'a> {
    /// The data of a new array.
    Array(ArrayData),
    /// The stored bytes of a block in another file.
    Stored(Block<'a>),
    /// The data of a block in another file, to be compressed differently.
    Decoded(Block<'a>, Compression),
    /// No data, for an empty block.
    Empty,
    /// Data that is appended to the file later, after the header.
    Streamed,
}

/// Options for writing blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockOptions {
    /// Alignment of the data offset in bytes; a power of two.
    pub(super) align: u64,
    /// Whether headers contain the MD5 digest of the stored bytes.
    pub(super) checksum: bool,
}

/// A small block that was encoded before its position was known.
pub(super) struct Encoded {
    stored: Bytes,
    data_size: u64,
    digest: Option<Digest>,
}

/// Threads that compute checksums while data is being written.
pub(super) struct Checksums<'a> {
    pub(super) spawn: &'a dyn Fn(Task),
    /// Receives each digest, together with the file offset of the checksum field.
    pub(super) computed: Sender<(u64, Digest)>,
}

/// The sizes and the checksum of the data that has been written.
struct Written {
    stored_size: u64,
    data_size: u64,
    digest: Option<Digest>,
}

impl Content<'_> {
    /// Encodes the data of a small array. Returns `None` for larger arrays and for any other content.
    pub(super) fn encode_small(&self, options: BlockOptions) -> Result<Option<Encoded>> {
        let Self::Array(ArrayData { data, compression, itemsize }) = self else { return Ok(None) };
        let data_size = data.len();
        if data_size > SMALL {
            return Ok(None);
        }
        let stored = if *compression == Compression::None {
            data.bytes_at(0, usize::try_from(data_size).unwrap_or(usize::MAX))?
        } else {
            let mut stored = Vec::new();
            encode(&mut UncompressedSource::new(&**data), *compression, *itemsize, &mut |bytes| {
                stored.extend_from_slice(bytes);
                Ok(())
            })?;
            stored.into()
        };
        let digest = options.checksum.then(|| Algorithm::Md5.digest(&stored));
        Ok(Some(Encoded { stored, data_size, digest }))
    }

    /// Writes the block at the current position of the output and returns its header.
    pub(super) fn write<S: Sink>(
        &self,
        out: &mut Output<S>,
        options: BlockOptions,
        encoded: Option<Encoded>,
        checksums: Option<&Checksums<'_>>,
    ) -> Result<BlockHeader> {
        let mut header = BlockHeader::aligned(out.position(), self.code()?, options.align);
        if let Some(Encoded { stored, data_size, digest }) = encoded {
            header.complete(stored.len() as u64, data_size, digest);
            out.put(&header.to_bytes())?;
            out.put(&stored)?;
            return Ok(header);
        }
        match (self, checksums) {
            (Self::Empty, _) => out.put(&header.to_bytes())?,
            (Self::Streamed, _) => {
                header = BlockHeader::streamed(header.offset, options.align);
                out.put(&header.to_bytes())?;
            }
            (Self::Array(array), Some(checksums)) if options.checksum && array.is_stored() => {
                checksums.write(out, &mut header, &*array.data)?;
            }
            _ => {
                out.put(&header.to_bytes())?;
                let Written { stored_size, data_size, digest } = self.write_data(out, options)?;
                header.complete(stored_size, data_size, digest);
                out.patch(header.offset, &header.fields())?;
            }
        }
        Ok(header)
    }

    fn code(&self) -> Result<[u8; 4]> {
        match self {
            Self::Array(ArrayData { compression, .. }) | Self::Decoded(_, compression) => {
                Ok(compression.code())
            }
            Self::Stored(block) => Ok(block.header()?.compression),
            Self::Empty | Self::Streamed => Ok(Compression::None.code()),
        }
    }

    /// Writes the data in pieces and returns its sizes. Also returns the digest if the options
    /// require checksums.
    fn write_data<S: Sink>(&self, out: &mut Output<S>, options: BlockOptions) -> Result<Written> {
        let start = out.position();
        let mut hasher = options.checksum.then(|| Algorithm::Md5.hasher());
        let mut sink = |bytes: &[u8]| put(out, hasher.as_mut(), bytes);
        let data_size = match self {
            Self::Array(ArrayData { data, compression, itemsize }) => {
                encode(&mut UncompressedSource::new(&**data), *compression, *itemsize, &mut sink)?;
                data.len()
            }
            Self::Decoded(block, compression) => {
                block.check_stored(None)?;
                if block.is_compressed() {
                    block.with_decoder(|decoder| {
                        let mut source =
                            DecodedSource::new(decoder, |failure| block.failure(failure));
                        encode(&mut source, *compression, 1, &mut sink)
                    })?;
                } else {
                    let data = Span::new(block.source(), block.data_range()?)?;
                    encode(&mut UncompressedSource::new(&data), *compression, 1, &mut sink)?;
                }
                block.data_len()?
            }
            Self::Stored(block) => {
                let stored = Span::new(block.source(), block.data_range()?)?;
                stored.pieces(0..stored.len(), PIECE).try_for_each(|piece| sink(&piece?))?;
                block.data_len()?
            }
            Self::Empty | Self::Streamed => 0,
        };
        let digest = hasher.map(Hasher::finish);
        if let Self::Stored(block) = self {
            // Verify the checksum of the original block, because the new checksum would match even damaged
            // data.
            block.check_stored(digest)?;
        }
        Ok(Written { stored_size: out.position() - start, data_size, digest })
    }
}

impl ArrayData {
    /// Returns `true` if the data is in memory and will be stored uncompressed.
    fn is_stored(&self) -> bool {
        self.compression == Compression::None && self.data.is_memory()
    }
}

impl Checksums<'_> {
    /// Writes data from memory while another thread computes its checksum.
    fn write<S: Sink>(
        &self,
        out: &mut Output<S>,
        header: &mut BlockHeader,
        data: &dyn ReadAt,
    ) -> Result<()> {
        let stored = data.bytes_at(0, usize::try_from(data.len()).unwrap_or(usize::MAX))?;
        header.complete(data.len(), data.len(), None);
        out.put(&header.to_bytes())?;
        let (hashed, computed) = (stored.clone(), self.computed.clone());
        let offset = header.offset + BlockHeader::CHECKSUM_OFFSET;
        (self.spawn)(Box::new(move || {
            // If writing has failed, there is no receiver, and the digest is not needed.
            let _ = computed.send((offset, Algorithm::Md5.digest(&hashed)));
        }));
        out.put(&stored)
    }
}

/// Writes and hashes bytes, in parallel if a second thread is available.
fn put<S: Sink>(out: &mut Output<S>, hasher: Option<&mut Hasher>, bytes: &[u8]) -> Result<()> {
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
