//! The header of a binary block. All integers are big-endian; offsets are relative to the magic.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic `d3 42 4c 4b` |
//! | 4 | 2 | `header_size`, at least 48, counted from byte 6 |
//! | 6 | 4 | `flags`; bit 0 is STREAMED |
//! | 10 | 4 | `compression`, NUL-padded |
//! | 14 | 8 | `allocated_size` |
//! | 22 | 8 | `used_size` |
//! | 30 | 8 | `data_size`, the decoded size |
//! | 38 | 16 | `checksum`, the MD5 digest of the used bytes; all zero if there is none |
//! | 54 | `header_size` - 48 | reserved for later versions; ignored |
//! | 6 + `header_size` | `used_size` | the data |
//!
//! The next block begins at 6 + `header_size` + `allocated_size`. The data of a STREAMED block extends to
//! the end of the file, so the three sizes and the checksum in its header have no meaning. In practice,
//! the allocated space of the last block may extend past the end of the file, which is accepted.
//!
//! See the ASDF standard, "Low-level file layout", Block header.

use std::ops::Range;

use binio::Endian;
use binio::checksum::Digest;
use binio::number::ByteReader;

use crate::error::{BlockError, code_name};

/// The four bytes at the beginning of a block. They are not valid UTF-8, because `d3` requires a continuation
/// byte, but `B` is not one. Therefore, they cannot occur in a valid tree.
pub const BLOCK_MAGIC: [u8; 4] = [0xd3, 0x42, 0x4c, 0x4b];

/// The minimum length of a block header in bytes, from the magic to the end of the checksum.
pub const BLOCK_HEADER_LEN: usize = 54;

/// The flag of a block that extends to the end of the file.
pub const FLAG_STREAMED: u32 = 1;

/// The minimum `header_size`, for a header that ends after the checksum.
const MIN_HEADER_SIZE: u16 = 48;
/// Number of bytes at the start of a header that `header_size` does not include.
const UNCOUNTED_LEN: usize = 6;

/// The header of a block, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockHeader {
    /// Offset of the magic in the file.
    pub offset: u64,
    /// Length of the header in bytes, not including the magic and this field.
    pub header_size: u16,
    /// Flags as a bit field; see [`BlockHeader::is_streamed`].
    pub flags: u32,
    /// The compression code as four raw bytes, which are all zero if the data is not compressed.
    pub compression: [u8; 4],
    /// Number of bytes reserved for the data.
    pub allocated_size: u64,
    /// Number of bytes of stored data.
    pub used_size: u64,
    /// Number of bytes of decoded data.
    pub data_size: u64,
    /// MD5 digest of the stored bytes, or all zero if there is no checksum.
    pub checksum: [u8; 16],
}

impl BlockHeader {
    /// Offset of `allocated_size` within a header.
    pub const ALLOCATED_SIZE_OFFSET: u64 = 14;

    /// Offset of the checksum within a header.
    pub const CHECKSUM_OFFSET: u64 = 38;

    /// The largest possible data alignment in bytes. Since a header has at most 65,541 bytes, it cannot always
    /// be extended to a larger alignment.
    pub const MAX_ALIGN: u64 = 1 << 15;

    /// Returns the header of a block at `offset`. The fields `allocated_size`, `used_size`, `data_size` and
    /// `checksum` are 0. The header is just long enough for the data to begin at a multiple of `align`, a power
    /// of two up to [`Self::MAX_ALIGN`].
    ///
    /// ```
    /// use asdf::layout::BlockHeader;
    ///
    /// let mut header = BlockHeader::aligned(1000, *b"zlib", 64);
    /// assert_eq!(header.data_start(), 1088);
    /// header.set_stored_size(20);
    /// header.data_size = 300;
    /// assert_eq!(BlockHeader::parse(&header.to_bytes(), 1000, 2000)?, header);
    /// # Ok::<(), asdf::block::BlockError>(())
    /// ```
    pub fn aligned(offset: u64, compression: [u8; 4], align: u64) -> Self {
        let end = offset.saturating_add(BLOCK_HEADER_LEN as u64);
        let padding = end.checked_next_multiple_of(align).map_or(0, |aligned| aligned - end);
        let header_size = u64::from(MIN_HEADER_SIZE).saturating_add(padding);
        Self {
            offset,
            header_size: u16::try_from(header_size).unwrap_or(u16::MAX),
            flags: 0,
            compression,
            allocated_size: 0,
            used_size: 0,
            data_size: 0,
            checksum: [0; 16],
        }
    }

    /// Returns the header of a block at `offset` that is streamed and therefore extends to the end of the
    /// file. The header has the same length as the header returned by [`Self::aligned`].
    pub fn streamed(offset: u64, align: u64) -> Self {
        Self { flags: FLAG_STREAMED, ..Self::aligned(offset, [0; 4], align) }
    }

    /// Sets the sizes to those of a block without unused space. Also sets the checksum, if one is given.
    pub(crate) fn complete(&mut self, stored_size: u64, data_size: u64, checksum: Option<Digest>) {
        self.set_stored_size(stored_size);
        self.data_size = data_size;
        if let Some(checksum) = checksum {
            self.checksum.copy_from_slice(checksum.as_bytes());
        }
    }

    /// Sets `used_size` and `allocated_size` to the number of stored bytes, so that there is no
    /// unused space after them.
    pub fn set_stored_size(&mut self, size: u64) {
        (self.allocated_size, self.used_size) = (size, size);
    }

    /// Returns the bytes of the entire header. All bytes after the fields are zero.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.fields().to_vec();
        bytes.resize(self.len(), 0);
        bytes
    }

    /// Returns the bytes of all fields. They can replace the first bytes of a stored header with the same
    /// `header_size`.
    pub fn fields(&self) -> [u8; BLOCK_HEADER_LEN] {
        let fields: [&[u8]; 8] = [
            &BLOCK_MAGIC,
            &self.header_size.to_be_bytes(),
            &self.flags.to_be_bytes(),
            &self.compression,
            &self.allocated_size.to_be_bytes(),
            &self.used_size.to_be_bytes(),
            &self.data_size.to_be_bytes(),
            &self.checksum,
        ];
        let mut bytes = [0; BLOCK_HEADER_LEN];
        for (byte, field) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *byte = *field;
        }
        bytes
    }

    /// Returns the length of the header in bytes, from the magic to the data.
    #[allow(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub fn len(&self) -> usize {
        UNCOUNTED_LEN + usize::from(self.header_size)
    }

    /// Parses a header. `bytes` contains the first [`BLOCK_HEADER_LEN`] bytes at `offset`. If there are
    /// fewer, the file must end after them, at `file_len`.
    ///
    /// ```
    /// use asdf::layout::BlockHeader;
    ///
    /// let mut bytes = *b"\xd3BLK\0\x30                                                ";
    /// bytes[6..].fill(0);
    /// bytes[29] = 8; // the last byte of used_size
    /// let header = BlockHeader::parse(&bytes, 100, 1000)?;
    /// assert_eq!(header.used_size, 8);
    /// assert_eq!(header.data_start(), 100 + 54);
    /// # Ok::<(), asdf::block::BlockError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`BlockError::Magic`] if the bytes do not begin with the magic, with
    /// [`BlockError::HeaderTruncated`] if there are fewer than [`BLOCK_HEADER_LEN`] bytes, and with
    /// [`BlockError::HeaderSize`] if the field `header_size` is below 48.
    pub fn parse(bytes: &[u8], offset: u64, file_len: u64) -> Result<Self, BlockError> {
        let mut reader = ByteReader::at(bytes, offset);
        let cut = |_| BlockError::HeaderTruncated { offset, file_len };
        if !bytes.starts_with(&BLOCK_MAGIC) {
            return Err(BlockError::Magic { offset });
        }
        reader.skip(BLOCK_MAGIC.len()).map_err(cut)?;
        let header_size = reader.read::<u16>(Endian::Big).map_err(cut)?;
        if header_size < MIN_HEADER_SIZE {
            let offset = offset.saturating_add(4);
            return Err(BlockError::HeaderSize { offset, header_size });
        }
        Ok(Self {
            offset,
            header_size,
            flags: reader.read::<u32>(Endian::Big).map_err(cut)?,
            compression: reader.array::<4>().map_err(cut)?,
            allocated_size: reader.read::<u64>(Endian::Big).map_err(cut)?,
            used_size: reader.read::<u64>(Endian::Big).map_err(cut)?,
            data_size: reader.read::<u64>(Endian::Big).map_err(cut)?,
            checksum: reader.array::<16>().map_err(cut)?,
        })
    }

    /// Returns the compression code as text, such as `zlib`, or its four bytes in hexadecimal if they are not
    /// printable.
    pub fn compression_name(&self) -> String {
        code_name(self.compression)
    }

    /// Returns `true` if the block extends to the end of the file.
    pub fn is_streamed(&self) -> bool {
        self.flags & FLAG_STREAMED != 0
    }

    /// Returns `true` if the block has a compression code, even one that this crate does not know.
    pub fn is_compressed(&self) -> bool {
        self.compression != [0; 4]
    }

    /// Returns the flags that this crate does not know.
    pub fn unknown_flags(&self) -> u32 {
        self.flags & !FLAG_STREAMED
    }

    /// Returns the offset of the first data byte in the file.
    pub fn data_start(&self) -> u64 {
        self.offset.saturating_add(self.len() as u64)
    }

    /// Returns the range of stored bytes according to the header, in a file of `file_len` bytes:
    /// `used_size` bytes from the start of the data, or everything up to the end of the file in a
    /// STREAMED block. The range may extend past the end of the file, and its end saturates at
    /// `u64::MAX`.
    pub fn claimed_range(&self, file_len: u64) -> Range<u64> {
        let start = self.data_start();
        let end = if self.is_streamed() {
            file_len.max(start)
        } else {
            start.saturating_add(self.used_size)
        };
        start..end
    }

    /// Returns the offset at which the next block would begin. Returns `None` if no block can
    /// follow, because this block is STREAMED, or because the offset does not fit into 64 bits.
    pub fn next_offset(&self) -> Option<u64> {
        if self.is_streamed() { None } else { self.allocated_end() }
    }

    /// Returns the end of the allocated space according to the header, or `None` if this offset does
    /// not fit into 64 bits. For a STREAMED block, the offset has no meaning.
    pub(crate) fn allocated_end(&self) -> Option<u64> {
        self.offset.checked_add(self.len() as u64)?.checked_add(self.allocated_size)
    }

    /// Returns `true` if all stored bytes lie within a file of `file_len` bytes.
    pub fn fits(&self, file_len: u64) -> bool {
        self.claimed_range(file_len).end <= file_len
    }

    /// Returns `true` if this is probably a real block, and not a block magic that occurs by chance: there are
    /// no unknown flags, and the data lies within the file. (Parsing has already checked `header_size`.)
    pub fn is_plausible(&self, file_len: u64) -> bool {
        self.unknown_flags() == 0 && self.fits(file_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the 54 bytes of a header whose `header_size` is 48.
    fn bytes(flags: u32, code: [u8; 4], sizes: [u64; 3]) -> Vec<u8> {
        let mut out = BLOCK_MAGIC.to_vec();
        out.extend(48u16.to_be_bytes());
        out.extend(flags.to_be_bytes());
        out.extend(code);
        for size in sizes {
            out.extend(size.to_be_bytes());
        }
        out.extend([7; 16]);
        out
    }

    #[test]
    fn header_fields_are_big_endian_and_in_the_order_of_the_standard() {
        let header = BlockHeader::parse(&bytes(1, *b"zlib", [3, 2, 1]), 10, 1000).unwrap();
        let expected = BlockHeader {
            offset: 10,
            header_size: 48,
            flags: 1,
            compression: *b"zlib",
            allocated_size: 3,
            used_size: 2,
            data_size: 1,
            checksum: [7; 16],
        };
        assert_eq!(header, expected);
    }

    #[test]
    fn a_header_truncated_after_its_magic_is_an_error_that_states_the_file_length() {
        let whole = bytes(0, [0; 4], [0; 3]);
        for len in 0..whole.len() {
            let error = BlockHeader::parse(&whole[..len], 5, 5 + len as u64).unwrap_err();
            let expected = if len < 4 {
                BlockError::Magic { offset: 5 }
            } else {
                BlockError::HeaderTruncated { offset: 5, file_len: 5 + len as u64 }
            };
            assert_eq!(error, expected, "{len} bytes");
        }
    }

    #[test]
    fn a_header_size_below_48_is_an_error_and_a_larger_one_moves_the_data() {
        let mut small = bytes(0, [0; 4], [0; 3]);
        small[5] = 47;
        let error = BlockHeader::parse(&small, 100, 1000).unwrap_err();
        assert_eq!(error, BlockError::HeaderSize { offset: 104, header_size: 47 });
        let mut large = bytes(0, [0; 4], [10, 8, 8]);
        large[4..6].copy_from_slice(&u16::MAX.to_be_bytes());
        let header = BlockHeader::parse(&large, 100, 1000).unwrap();
        assert_eq!(header.data_start(), 100 + 6 + 65535);
        assert_eq!(header.next_offset(), Some(100 + 6 + 65535 + 10));
    }

    #[test]
    fn ranges_and_offsets_computed_from_huge_sizes_do_not_wrap_around() {
        for size in [1 << 31, 1 << 63, u64::MAX] {
            let header = BlockHeader::parse(&bytes(0, [0; 4], [size; 3]), 100, 200).unwrap();
            assert!(!header.fits(200));
            assert!(header.claimed_range(200).end >= size);
            assert_eq!(header.next_offset(), size.checked_add(154));
        }
    }

    #[test]
    fn sizes_of_a_streamed_block_are_ignored() {
        let header = BlockHeader::parse(&bytes(1, [0; 4], [u64::MAX; 3]), 100, 500).unwrap();
        assert_eq!(header.claimed_range(500), 154..500);
        assert_eq!(header.next_offset(), None);
        assert!(header.is_plausible(500));
    }

    #[test]
    fn the_data_after_an_aligned_header_begins_at_a_multiple_of_the_alignment() {
        for align in [1, 2, 64, 4096, BlockHeader::MAX_ALIGN] {
            for offset in [0, 1, 9, 10, 64, 4042, 4043, 1 << 40] {
                let header = BlockHeader::aligned(offset, [0; 4], align);
                let end = offset + BLOCK_HEADER_LEN as u64;
                assert_eq!(header.data_start(), end.next_multiple_of(align), "{offset} {align}");
                assert_eq!(header.to_bytes().len() as u64, header.data_start() - offset);
            }
        }
        assert_eq!(BlockHeader::aligned(u64::MAX, [0; 4], 64).header_size, MIN_HEADER_SIZE);
        assert_eq!(BlockHeader::aligned(100, [0; 4], 0).header_size, MIN_HEADER_SIZE);
    }

    prop_compose! {
        fn headers()(
            offset: u64,
            header_size in MIN_HEADER_SIZE..,
            flags: u32,
            compression: [u8; 4],
            allocated_size: u64,
            used_size: u64,
            data_size: u64,
            checksum: [u8; 16],
        ) -> BlockHeader {
            BlockHeader {
                offset, header_size, flags, compression, allocated_size, used_size, data_size,
                checksum,
            }
        }
    }

    proptest! {
        #[test]
        fn a_written_block_header_parses_to_the_same_fields(header in headers()) {
            let bytes = header.to_bytes();
            prop_assert_eq!(bytes.len(), header.len());
            prop_assert_eq!(BlockHeader::parse(&bytes, header.offset, u64::MAX), Ok(header));
        }

        #[test]
        fn patching_a_header_at_a_field_offset_changes_only_that_field(
            mut header in headers(),
            allocated_size: u64,
            checksum: [u8; 16],
        ) {
            let mut bytes = header.to_bytes();
            let mut patch = |offset: u64, field: &[u8]| {
                let offset = usize::try_from(offset).unwrap();
                bytes[offset..offset + field.len()].copy_from_slice(field);
            };
            patch(BlockHeader::ALLOCATED_SIZE_OFFSET, &allocated_size.to_be_bytes());
            patch(BlockHeader::CHECKSUM_OFFSET, &checksum);
            (header.allocated_size, header.checksum) = (allocated_size, checksum);
            prop_assert_eq!(BlockHeader::parse(&bytes, header.offset, u64::MAX), Ok(header));
        }
    }
}
