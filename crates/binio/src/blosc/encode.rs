//! Compressing data into a buffer.

use super::bitshuffle::bitshuffle;
use super::codecs::Encoder;
use super::header::{
    Codec, FLAG_MEMCPYED, FLAG_NOT_SPLIT, HEADER_LEN, MAX_NBYTES, Shuffle, splits_evenly,
};
use super::shuffle::shuffle;
use crate::{Error, ErrorKind, Result};

/// Minimum block size in bytes, before it is rounded down to whole elements. Shorter data is not
/// compressed.
const MIN_BLOCKSIZE: usize = 128;
/// Maximum block size in bytes that the C library can decode.
const MAX_BLOCKSIZE: usize = 715_827_542;
/// The unit of automatic block sizes in bytes: the size of a first-level cache.
const CACHE: usize = 32 << 10;

/// A method of compression, chosen by the writer. Only the resulting [`Codec`] is stored in the
/// buffer.
///
/// ```
/// use binio::blosc::{Codec, Compressor};
///
/// assert_eq!(Compressor::from_name("lz4hc"), Some(Compressor::Lz4hc));
/// assert_eq!(Compressor::Lz4hc.codec(), Codec::Lz4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compressor {
    /// Blosc's own compressor; requires the feature `blosc-compress`.
    Blosclz,
    /// LZ4 with fast compression.
    Lz4,
    /// LZ4 with slower but stronger compression; requires the feature `blosc-compress`.
    Lz4hc,
    /// Snappy, always compressed without the C library of Blosc.
    Snappy,
    /// zlib (RFC 1950).
    Zlib,
    /// Zstandard; requires the feature `blosc-zstd`.
    Zstd,
}

impl Compressor {
    /// All compressors, in the order of the codec numbers in the format.
    pub const ALL: [Self; 6] =
        [Self::Blosclz, Self::Lz4, Self::Lz4hc, Self::Snappy, Self::Zlib, Self::Zstd];

    /// Returns the name used by Blosc and its tools.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lz4hc => "lz4hc",
            _ => self.codec().name(),
        }
    }

    /// Returns the compressor with this [`name`](Self::name), or `None` if there is no such
    /// compressor.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|compressor| compressor.name() == name)
    }

    /// Returns the codec that decodes the compressor's output.
    pub fn codec(self) -> Codec {
        match self {
            Self::Blosclz => Codec::Blosclz,
            Self::Lz4 | Self::Lz4hc => Codec::Lz4,
            Self::Snappy => Codec::Snappy,
            Self::Zlib => Codec::Zlib,
            Self::Zstd => Codec::Zstd,
        }
    }

    /// Returns `true` for slow compressors, whose automatic blocks are larger.
    fn is_slow(self) -> bool {
        matches!(self, Self::Lz4hc | Self::Zlib | Self::Zstd)
    }
}

/// Compression options. The defaults are level 5, byte shuffle, typesize 8 and an automatic block
/// size.
///
/// ```
/// use binio::blosc::{CompressOptions, Compressor, Shuffle, compress};
///
/// let options = CompressOptions::new(Compressor::Zstd).level(3).shuffle(Shuffle::Bit).typesize(2);
/// assert!(compress(&[7; 4096], &options)?.len() < 100);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is documented by the method that sets it")]
#[non_exhaustive]
pub struct CompressOptions {
    pub compressor: Compressor,
    pub level: u8,
    pub shuffle: Shuffle,
    pub typesize: u8,
    pub blocksize: u32,
}

impl CompressOptions {
    /// Returns the default options for a compressor.
    pub fn new(compressor: Compressor) -> Self {
        Self { compressor, level: 5, shuffle: Shuffle::Byte, typesize: 8, blocksize: 0 }
    }

    crate::setters! {
        /// Sets the compression level, from 0 (no compression) to 9 (smallest output).
        level: u8;
        /// Sets how the elements are shuffled before compression.
        shuffle: Shuffle;
        /// Sets the size of an element in bytes, from 1 to 255.
        typesize: u8;
        /// Sets the block size in bytes. If it is 0, a size is chosen according to the level and
        /// the compressor. Sizes from 1 to 127 become 128, and larger sizes are limited to
        /// 715,827,542. If blocks are split into one stream per byte of an element, the size is
        /// limited to 256 KiB, multiplied by `typesize`, and clamped to the range from 64 KiB to
        /// 1 MiB. Finally, it is limited to the length of the data and rounded down to whole
        /// elements.
        blocksize: u32;
    }

    fn check(self, nbytes: usize) -> Result<()> {
        if nbytes > MAX_NBYTES as usize {
            let (limit, requested) = (u64::from(MAX_NBYTES), nbytes as u64);
            return Err(Error::new(ErrorKind::Limit { what: "nbytes", limit, requested }));
        }
        if self.level > 9 {
            return Err(Error::invalid(format!("level {}, expected 0 to 9", self.level)));
        }
        if self.typesize == 0 {
            return Err(Error::invalid("typesize 0, expected 1 to 255"));
        }
        Ok(())
    }
}

/// Compresses data into one buffer, which is at most 16 bytes longer than the data.
///
/// ```
/// use binio::Limits;
/// use binio::blosc::{Buffer, CompressOptions, Compressor, compress};
///
/// let data = [1.5_f32.to_le_bytes(); 1000].concat();
/// let packed = compress(&data, &CompressOptions::new(Compressor::Zlib).typesize(4))?;
/// assert!(packed.len() < data.len() / 10);
/// assert_eq!(Buffer::parse(&packed)?.decode(&Limits::default())?, data);
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Limit`](ErrorKind::Limit) for more than [`MAX_NBYTES`] bytes, with
/// [`Invalid`](ErrorKind::Invalid) if the level or the typesize is out of range or if the C
/// library reports an error, and with [`Unsupported`](ErrorKind::Unsupported) if this build lacks
/// the compressor. May fail with [`Io`](ErrorKind::Io) if there is not enough memory.
pub fn compress(data: &[u8], options: &CompressOptions) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    compress_into(data, options, &mut out)?;
    Ok(out)
}

/// Like [`compress`], but replaces the content of an existing buffer and reuses its memory.
///
/// # Errors
///
/// Same as [`compress`].
pub fn compress_into(data: &[u8], options: &CompressOptions, out: &mut Vec<u8>) -> Result<()> {
    options.check(data.len())?;
    out.clear();
    #[cfg(feature = "blosc-compress")]
    if options.compressor != Compressor::Snappy {
        return super::ffi::compress(data, *options, out);
    }
    compress_here(data, *options, out)
}

/// Compresses without the C library. `out` must be empty.
fn compress_here(data: &[u8], options: CompressOptions, out: &mut Vec<u8>) -> Result<()> {
    let mut encoder = Encoder::new(options.compressor, options.level.max(1))?;
    let blocksize = blocksize(data.len(), options);
    let splits = options.compressor != Compressor::Zstd
        && u32::try_from(blocksize).is_ok_and(|len| splits_evenly(options.typesize, len));
    let flags = options.shuffle.flags()
        | if splits { 0 } else { FLAG_NOT_SPLIT }
        | options.compressor.codec().flags();
    let header = |flags: u8, ctbytes: usize| {
        let mut header = [0; HEADER_LEN];
        header[..4].copy_from_slice(&[2, 1, flags, options.typesize]);
        for (field, value) in header[4..].chunks_exact_mut(4).zip([data.len(), blocksize, ctbytes])
        {
            field.copy_from_slice(&word(value));
        }
        header
    };
    let longest = data.len() + HEADER_LEN;
    if options.level > 0 && data.len() >= MIN_BLOCKSIZE {
        let table = 4 * data.len().div_ceil(blocksize);
        out.resize(HEADER_LEN + table, 0);
        let mut shuffled = Vec::new();
        for (index, block) in data.chunks(blocksize).enumerate() {
            let start = word(out.len());
            out[HEADER_LEN + 4 * index..][..4].copy_from_slice(&start);
            let splits =
                if splits && block.len() == blocksize { options.typesize.into() } else { 1 };
            let ordered = in_order(block, options, &mut shuffled);
            for split in ordered.chunks_exact(block.len() / splits) {
                encode_split(split, &mut encoder, out);
            }
            if out.len() > longest {
                break;
            }
        }
        if out.len() <= longest {
            let header = header(flags, out.len());
            out[..HEADER_LEN].copy_from_slice(&header);
            return Ok(());
        }
    }
    out.clear();
    out.extend_from_slice(&header(flags | FLAG_MEMCPYED, longest));
    out.extend_from_slice(data);
    Ok(())
}

/// Appends a stream, preceded by its length. The stream is stored plain if compression does not
/// make it shorter.
fn encode_split(split: &[u8], encoder: &mut Encoder, out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    if !encoder.encode(split, out) {
        out.extend_from_slice(split);
    }
    let len = word(out.len() - at - 4);
    out[at..at + 4].copy_from_slice(&len);
}

/// Returns the bytes of a block in the order in which they are compressed.
fn in_order<'a>(block: &'a [u8], options: CompressOptions, shuffled: &'a mut Vec<u8>) -> &'a [u8] {
    let typesize = usize::from(options.typesize);
    let reorder: fn(usize, &[u8], &mut [u8]) = match options.shuffle {
        Shuffle::Byte if typesize > 1 => shuffle,
        Shuffle::Bit => bitshuffle,
        _ => return block,
    };
    shuffled.resize(block.len(), 0);
    reorder(typesize, block, shuffled);
    shuffled
}

/// Returns the block size for `nbytes` bytes of data, chosen as in the C library.
fn blocksize(nbytes: usize, options: CompressOptions) -> usize {
    let typesize = usize::from(options.typesize);
    if nbytes < typesize {
        return 1;
    }
    let mut blocksize = nbytes;
    if options.blocksize > 0 {
        blocksize = (options.blocksize as usize).clamp(MIN_BLOCKSIZE, MAX_BLOCKSIZE);
    } else if nbytes >= CACHE {
        blocksize = match (options.level, options.compressor.is_slow()) {
            (0, _) => CACHE / 4,
            (1, _) => CACHE / 2,
            (2, _) => CACHE,
            (3, _) => 2 * CACHE,
            (4 | 5, _) => 4 * CACHE,
            (9, true) => 16 * CACHE,
            _ => 8 * CACHE,
        };
        if options.compressor.is_slow() {
            blocksize *= 2;
        }
    }
    let splits = options.compressor != Compressor::Zstd
        && u32::try_from(blocksize).is_ok_and(|len| splits_evenly(options.typesize, len));
    if options.level > 0 && splits {
        // Make each stream of a split block about as long as an unsplit block.
        blocksize = (blocksize.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20);
    }
    blocksize = blocksize.min(nbytes);
    if blocksize > typesize {
        blocksize -= blocksize % typesize;
    }
    blocksize
}

/// Returns a length as it is stored in a buffer: 32 bits, little-endian. The caller has checked
/// that the length of the longest possible buffer fits in 32 bits.
fn word(value: usize) -> [u8; 4] {
    u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes()
}
