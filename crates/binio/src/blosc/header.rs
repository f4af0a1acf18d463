//! The 16-byte header at the start of a buffer:
//!
//! | offset | size | field | value |
//! |---|---|---|---|
//! | 0 | 1 | version | 2; 3 or later means Blosc2 |
//! | 1 | 1 | versionlz | 1 for every codec |
//! | 2 | 1 | flags | bit 0 byte shuffle, 1 memcpyed, 2 bit shuffle, 3 always 0, 4 blocks are not split, 5 to 7 codec |
//! | 3 | 1 | typesize | 1 to 255 |
//! | 4 | 4 | nbytes | length of the data |
//! | 8 | 4 | blocksize | length of a block's data; the last block may be shorter |
//! | 12 | 4 | ctbytes | length of the whole buffer, including the header |
//!
//! Bit 4 is clear in buffers written before the bit was introduced. In these buffers, only the
//! typesize and the block size determine whether blocks are split. A clear bit therefore allows a
//! split but does not require it.

use crate::number::ByteReader;
use crate::{Endian, Error, Result};

/// Length of the header in bytes.
pub const HEADER_LEN: usize = 16;
/// Maximum number of bytes that a buffer adds to its data: the length of the header.
const OVERHEAD: u32 = 16;

/// Maximum length in bytes of the data in one buffer. The length of the buffer, including the
/// header, must fit in an i32.
pub const MAX_NBYTES: u32 = i32::MAX.unsigned_abs() - OVERHEAD;

const VERSION: u8 = 2;
const VERSION_LZ: u8 = 1;

pub(super) const FLAG_BYTE_SHUFFLE: u8 = 0x01;
pub(super) const FLAG_MEMCPYED: u8 = 0x02;
pub(super) const FLAG_BIT_SHUFFLE: u8 = 0x04;
const FLAG_RESERVED: u8 = 0x08;
pub(super) const FLAG_NOT_SPLIT: u8 = 0x10;
pub(super) const CODEC_SHIFT: u8 = 5;

/// Maximum typesize of blocks that are split into one stream per byte of an element.
pub(super) const MAX_SPLITS: u8 = 16;
/// Minimum decoded length in bytes of each stream of a split block.
const MIN_SPLIT: u32 = 128;

/// The codec of the streams, as stored in the flags. The output of the compressor `lz4hc` has the
/// codec [`Codec::Lz4`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Codec {
    /// Blosc's own codec.
    Blosclz,
    /// LZ4 blocks.
    Lz4,
    /// Raw snappy.
    Snappy,
    /// zlib streams (RFC 1950).
    Zlib,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    /// Returns the name used by Blosc and its tools.
    pub fn name(self) -> &'static str {
        match self {
            Self::Blosclz => "blosclz",
            Self::Lz4 => "lz4",
            Self::Snappy => "snappy",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }

    fn from_flags(flags: u8) -> Option<Self> {
        [Self::Blosclz, Self::Lz4, Self::Snappy, Self::Zlib, Self::Zstd]
            .get(usize::from(flags >> CODEC_SHIFT))
            .copied()
    }

    pub(super) fn flags(self) -> u8 {
        (self as u8) << CODEC_SHIFT
    }
}

/// A way to reorder the bytes or bits of a block before compression.
///
/// ```
/// use binio::blosc::{Buffer, CompressOptions, Compressor, Shuffle, compress};
///
/// let options = CompressOptions::new(Compressor::Lz4).shuffle(Shuffle::Bit).typesize(2);
/// let packed = compress(&[7; 4096], &options)?;
/// assert_eq!(Buffer::parse(&packed)?.header().shuffle(), Shuffle::Bit);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// The bytes are not reordered.
    None,
    /// By byte: the first byte of every element, then the second byte of every element, and so on.
    Byte,
    /// By bit: the lowest bit of the first byte of every element, then the next bit of every
    /// element, and so on.
    Bit,
}

impl Shuffle {
    /// Returns `none`, `byte` or `bit`.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Byte => "byte",
            Self::Bit => "bit",
        }
    }

    /// Returns the shuffle with this [`name`](Self::name), or `None` if there is no such shuffle.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::None, Self::Byte, Self::Bit].into_iter().find(|shuffle| shuffle.name() == name)
    }

    pub(super) fn flags(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Byte => FLAG_BYTE_SHUFFLE,
            Self::Bit => FLAG_BIT_SHUFFLE,
        }
    }
}

/// The header of a buffer. Its fields have been checked for consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    flags: u8,
    codec: Codec,
    typesize: u8,
    nbytes: u32,
    blocksize: u32,
    ctbytes: u32,
}

impl Header {
    /// Parses the first 16 bytes of a buffer. The remaining bytes are not needed.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](crate::ErrorKind::Truncated) for fewer than 16 bytes, with
    /// [`Unsupported`](crate::ErrorKind::Unsupported) for a Blosc2 buffer, and with
    /// [`Invalid`](crate::ErrorKind::Invalid) for fields that are out of range or contradict each
    /// other.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Some(bytes) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(Error::truncated(HEADER_LEN as u64, bytes.len() as u64).at(0));
        };
        let [version, versionlz, flags, typesize, ..] = *bytes;
        if version > VERSION {
            let message = format!("version {version} (Blosc2); expected version {VERSION}");
            return Err(Error::unsupported(message).at(0));
        }
        let check = |holds: bool, at: u64, message: &dyn Fn() -> String| {
            if holds { Ok(()) } else { Err(Error::invalid(message()).at(at)) }
        };
        check(version == VERSION, 0, &|| format!("Blosc version {version}, expected {VERSION}"))?;
        check(versionlz == VERSION_LZ, 1, &|| {
            format!("Blosc codec version {versionlz}, expected {VERSION_LZ}")
        })?;
        check(flags & FLAG_RESERVED == 0, 2, &|| {
            format!("Blosc flags {flags:#04x}: bit 3 is set, expected 0")
        })?;
        let Some(codec) = Codec::from_flags(flags) else {
            let message = format!("Blosc codec {}, expected 0 to 4", flags >> CODEC_SHIFT);
            return Err(Error::invalid(message).at(2));
        };
        let mut reader = ByteReader::new(&bytes[4..]);
        let nbytes: u32 = reader.read(Endian::Little)?;
        let blocksize: u32 = reader.read(Endian::Little)?;
        let ctbytes: u32 = reader.read(Endian::Little)?;

        let header = Self { flags, codec, typesize, nbytes, blocksize, ctbytes };
        check(nbytes <= MAX_NBYTES, 4, &|| {
            format!("nbytes {nbytes}, expected at most {MAX_NBYTES}")
        })?;
        check(ctbytes >= OVERHEAD && i32::try_from(ctbytes).is_ok(), 12, &|| {
            format!("ctbytes {ctbytes}, expected {OVERHEAD} to {}", i32::MAX)
        })?;
        if nbytes == 0 {
            check(ctbytes == OVERHEAD, 12, &|| {
                format!("ctbytes is {ctbytes} in an empty buffer, expected {OVERHEAD}")
            })?;
            return Ok(header);
        }
        check(typesize > 0, 3, &|| "typesize 0, expected 1 to 255".to_owned())?;
        if header.is_memcpyed() {
            let expected = nbytes + OVERHEAD;
            check(ctbytes == expected, 12, &|| {
                format!("ctbytes is {ctbytes} in a memcpyed buffer, expected {expected}")
            })?;
            return Ok(header);
        }
        check((1..=nbytes).contains(&blocksize), 8, &|| {
            format!("blocksize {blocksize}, expected 1 to {nbytes} (nbytes)")
        })?;
        check(header.table_end() <= u64::from(ctbytes), 12, &|| {
            let end = header.table_end();
            format!("the table of blocks ends at byte {end}, but ctbytes is {ctbytes}")
        })?;
        Ok(header)
    }

    /// Returns the version of the format, 2.
    pub fn version(&self) -> u8 {
        VERSION
    }

    /// Returns the version of the codec's format, 1.
    pub fn versionlz(&self) -> u8 {
        VERSION_LZ
    }

    /// Returns the flags as stored.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Returns the size in bytes of the elements that are shuffled: 1 to 255, or 0 in some empty
    /// buffers.
    pub fn typesize(&self) -> u8 {
        self.typesize
    }

    /// Returns the length of the data in bytes.
    pub fn nbytes(&self) -> u32 {
        self.nbytes
    }

    /// Returns the block size from the header: the decoded length in bytes of every block but the
    /// last. The value has no meaning if the buffer is memcpyed or empty.
    pub fn blocksize(&self) -> u32 {
        self.blocksize
    }

    /// Returns the length of the whole buffer in bytes, including this header.
    pub fn ctbytes(&self) -> u32 {
        self.ctbytes
    }

    /// Returns the codec of the streams.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Returns the shuffle according to the flags. If both flags are set, byte shuffle takes
    /// precedence. The data of a memcpyed buffer is never shuffled.
    pub fn shuffle(&self) -> Shuffle {
        if self.flags & FLAG_BYTE_SHUFFLE != 0 {
            Shuffle::Byte
        } else if self.flags & FLAG_BIT_SHUFFLE != 0 {
            Shuffle::Bit
        } else {
            Shuffle::None
        }
    }

    /// Returns `true` if the data follows the header uncompressed.
    pub fn is_memcpyed(&self) -> bool {
        self.flags & FLAG_MEMCPYED != 0
    }

    /// Returns `true` if the flags allow full blocks to be split into several streams. Whether the
    /// blocks are split then depends on the typesize and the block size.
    pub fn is_split_allowed(&self) -> bool {
        self.flags & FLAG_NOT_SPLIT == 0
    }

    /// Returns the number of blocks, each of which can be decoded independently. A memcpyed buffer
    /// counts as a single block, and an empty buffer has none.
    pub fn block_count(&self) -> u32 {
        if self.nbytes == 0 {
            0
        } else if self.is_memcpyed() {
            1
        } else {
            self.nbytes.div_ceil(self.blocksize)
        }
    }

    /// Returns the offset at which the table of blocks ends.
    pub(super) fn table_end(&self) -> u64 {
        HEADER_LEN as u64 + 4 * u64::from(self.block_count())
    }

    /// Returns the number of streams in a block with `len` bytes of data.
    pub(super) fn splits(&self, len: usize) -> usize {
        let full = u32::try_from(len) == Ok(self.blocksize);
        if full && self.is_split_allowed() && splits_evenly(self.typesize, self.blocksize) {
            usize::from(self.typesize)
        } else {
            1
        }
    }
}

/// Returns `true` if full blocks of this size can be split into one stream per byte of an element.
pub(super) fn splits_evenly(typesize: u8, blocksize: u32) -> bool {
    (1..=MAX_SPLITS).contains(&typesize) && blocksize / u32::from(typesize) >= MIN_SPLIT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// Returns the header of a buffer of 100 bytes, whose data consists of two blocks of 512 bytes.
    fn valid() -> [u8; HEADER_LEN] {
        let mut header = [2, 1, 0x01, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        header[4..8].copy_from_slice(&1024_u32.to_le_bytes());
        header[8..12].copy_from_slice(&512_u32.to_le_bytes());
        header[12..16].copy_from_slice(&100_u32.to_le_bytes());
        header
    }

    fn with(at: usize, bytes: &[u8]) -> [u8; HEADER_LEN] {
        let mut header = valid();
        header[at..at + bytes.len()].copy_from_slice(bytes);
        header
    }

    #[test]
    fn each_field_is_read_from_its_offset() {
        let header = Header::parse(&with(2, &[0x85, 8])).unwrap();
        assert_eq!((header.version(), header.versionlz(), header.flags()), (2, 1, 0x85));
        assert_eq!((header.typesize(), header.nbytes()), (8, 1024));
        assert_eq!((header.blocksize(), header.ctbytes()), (512, 100));
        assert_eq!((header.codec(), header.shuffle()), (Codec::Zstd, Shuffle::Byte));
        assert!(!header.is_memcpyed() && header.is_split_allowed());
        assert_eq!(header.block_count(), 2);
    }

    #[test]
    fn each_invalid_field_is_reported_with_its_offset() {
        let le = u32::to_le_bytes;
        let cases: &[(usize, &[u8], u64, &str)] = &[
            (0, &[1], 0, "Blosc version 1, expected 2"),
            (0, &[0], 0, "Blosc version 0, expected 2"),
            (1, &[0], 1, "Blosc codec version 0, expected 1"),
            (1, &[2], 1, "Blosc codec version 2, expected 1"),
            (2, &[0x09], 2, "Blosc flags 0x09: bit 3 is set, expected 0"),
            (2, &[0xa0], 2, "Blosc codec 5, expected 0 to 4"),
            (2, &[0xe0], 2, "Blosc codec 7, expected 0 to 4"),
            (3, &[0], 3, "typesize 0, expected 1 to 255"),
            (4, &le(MAX_NBYTES + 1), 4, "nbytes 2147483632, expected at most 2147483631"),
            (4, &le(u32::MAX), 4, "nbytes 4294967295, expected at most 2147483631"),
            (4, &le(0), 12, "ctbytes is 100 in an empty buffer, expected 16"),
            (8, &le(0), 8, "blocksize 0, expected 1 to 1024 (nbytes)"),
            (8, &le(1025), 8, "blocksize 1025, expected 1 to 1024 (nbytes)"),
            (8, &le(1 << 31), 8, "blocksize 2147483648, expected 1 to 1024 (nbytes)"),
            (8, &le(1), 12, "the table of blocks ends at byte 4112, but ctbytes is 100"),
            (12, &le(15), 12, "ctbytes 15, expected 16 to 2147483647"),
            (12, &le(1 << 31), 12, "ctbytes 2147483648, expected 16 to 2147483647"),
            (12, &le(23), 12, "the table of blocks ends at byte 24, but ctbytes is 23"),
            (2, &[0x03], 12, "ctbytes is 100 in a memcpyed buffer, expected 1040"),
        ];
        for (at, bytes, offset, message) in cases {
            let error = Header::parse(&with(*at, bytes)).unwrap_err();
            assert_eq!(error.to_string(), format!("{message} (offset {offset})"));
            assert!(matches!(error.kind(), ErrorKind::Invalid(_)));
        }
    }

    #[test]
    fn blosc2_buffers_are_reported_as_unsupported() {
        for version in [3, 4, 5, 255] {
            let error = Header::parse(&with(0, &[version])).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
        }
    }

    #[test]
    fn a_header_of_fifteen_bytes_is_rejected() {
        let error = Header::parse(&valid()[..15]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 16, available: 15 }));
    }

    #[test]
    fn an_empty_buffer_may_have_any_typesize_and_blocksize() {
        for (typesize, blocksize) in [(8, 1), (0, 0), (1, 77)] {
            let mut bytes = [2, 1, 0x13, typesize, 0, 0, 0, 0, blocksize, 0, 0, 0, 16, 0, 0, 0];
            assert_eq!(Header::parse(&bytes).unwrap().block_count(), 0);
            bytes[12] = 17;
            assert!(Header::parse(&bytes).is_err());
        }
    }

    #[test]
    fn full_blocks_are_split_if_the_typesize_allows_it_but_a_shorter_last_block_is_not() {
        let splits = |flags: u8, typesize: u8, len: usize| {
            Header::parse(&with(2, &[flags, typesize])).unwrap().splits(len)
        };
        assert_eq!(splits(0x01, 4, 512), 4);
        assert_eq!(splits(0x01, 4, 511), 1, "leftover");
        assert_eq!(splits(0x11, 4, 512), 1, "bit 4");
        assert_eq!(splits(0x01, 5, 512), 1, "102 bytes a stream");
        assert_eq!(splits(0x01, 3, 512), 3, "170 bytes, and 2 too many");
        assert_eq!(splits(0x01, 17, 512), 1);
        assert!(splits_evenly(16, 2048) && !splits_evenly(17, 1 << 20));
    }

    #[test]
    fn each_shuffle_is_found_by_its_name() {
        for shuffle in [Shuffle::None, Shuffle::Byte, Shuffle::Bit] {
            assert_eq!(Shuffle::from_name(shuffle.name()), Some(shuffle));
        }
        assert_eq!(Shuffle::from_name("bytes"), None);
    }
}
