//! The binary format of compiled layouts. All numbers are little-endian.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | `8d 64 75 64 78 0d 0a 1a` |
//! | 8 | 4 | version: 2 |
//! | 12 | 4 | byte order stated by the layout: 0 none, 1 `<`, 2 `>` |
//! | 16 | 8 | length of the text in bytes |
//! | 24 | 8 | time of the last status change of the text file, in nanoseconds since 1970; 0 if the content must be compared |
//! | 32 | 4 | number of rows |
//! | 36 | 4 | number of dimensions |
//! | 40 | 4 | number of parameters |
//! | 44 | 4 | number of paths |
//! | 48 | 8 | total length of the paths in bytes |
//! | 56 | 4 | index of the first row whose address or size depends on a stored parameter or on the stream |
//! | 60 | 4 | CRC-32 of the layout text |
//! | 64 | 8 | inode of the text file; 0 if the content must be compared |
//! | 72 | 4 | CRC-32 of the checksums of the index pages |
//! | 76 | 4 | CRC-32 of the first 76 bytes |
//! | 80 | 4 each | CRC-32 of each index page of 1024 bytes; the last page may be shorter |
//! | | 48 each | rows, in order of declaration: the index begins here |
//! | | 16 each | dimensions |
//! | | 16 each | parameters |
//! | | 16 each | paths, sorted by their bytes: offset among the path strings (8), length (4), row index (4) |
//! | | | the path strings, in the order of the paths: the index ends here |
//! | | | the layout text, up to the end of the file |
//!
//! The fields of a row:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | address if data begins at 0; all ones if the address cannot be computed without the stream |
//! | 8 | 8 | address if data begins at 16 |
//! | 16 | 8 | size of an element in bytes; all ones if the size is not constant |
//! | 24 | 8 | explicit address, or alignment |
//! | 32 | 4 | index of the first dimension |
//! | 36 | 4 | number of dimensions |
//! | 40 | 1 | flags. 1: explicit address; 2: compressed; 4: struct; 8: described only by the text; 16: parameter |
//! | 41 | 1 | byte order prefix of the type, encoded as in the header |
//! | 42 | 2 | unused: 0 |
//! | 44 | 4 | name of the primitive type, such as `f8` |
//!
//! A fixed dimension consists of its length (8 bytes) and 0 (8 bytes). A dimension given by a
//! parameter consists of the index of the parameter (8 bytes), the suffix (4 bytes) and 1 (4
//! bytes).
//!
//! A fixed parameter consists of its value (8 bytes) and 0 (8 bytes). A parameter stored in a dict
//! consists of the index of its row (8 bytes) and 1 (8 bytes). A parameter stored in a struct
//! consists of 0 (8 bytes) and 2 (8 bytes).

use std::fmt::Display;

use binio::checksum::Algorithm;

use crate::layout::{Order, Placement, Primitive};

pub(super) const MAGIC: [u8; 8] = *b"\x8ddudx\r\n\x1a";
pub(super) const VERSION: u32 = 2;
pub(super) const HEADER_LEN: u64 = 80;
/// The number of header bytes that the checksum of the header covers.
const CHECKED_LEN: usize = 76;
/// The number of bytes per page of the index. Each page has a checksum, so that a search reads and checks only
/// the pages that it needs.
pub(super) const PAGE_LEN: u64 = 1024;
pub(super) const SUM_LEN: u64 = 4;
pub(super) const ROW_LEN: u64 = 48;
pub(super) const DIM_LEN: u64 = 16;
pub(super) const PARAM_LEN: u64 = 16;
pub(super) const PATH_LEN: u64 = 16;

/// The number that encodes an unknown address or size.
const UNKNOWN: u64 = u64::MAX;

const PLACED: u8 = 1;
const COMPRESSED: u8 = 2;
const STRUCT: u8 = 4;
const OPAQUE: u8 = 8;
const PARAM: u8 = 16;

/// A stamp that identifies the state of a file. It changes whenever the content of the file
/// changes, and even the owner of the file cannot set it. The default stands for an unknown state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The time of the last status change, in nanoseconds since 1970.
    pub(super) changed: u64,
    pub(super) inode: u64,
}

/// The header of a compiled layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) order: Option<Order>,
    pub(super) text_len: u64,
    /// The stamp of the text file, or the default if the content of the file must be compared.
    pub(super) stamp: Stamp,
    pub(super) text_sum: u32,
    /// The checksum of the page checksums.
    pub(super) pages_sum: u32,
    pub(super) rows: u32,
    pub(super) dims: u32,
    pub(super) params: u32,
    pub(super) paths: u32,
    pub(super) paths_len: u64,
    pub(super) first_open: u32,
}

/// A stored item or parameter, with everything that determines its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowRecord {
    /// The address if the data of the file begins at 0, and the address if it begins at 16.
    pub(super) addresses: [Option<u64>; 2],
    pub(super) element_size: Option<u64>,
    /// An explicit address, or an alignment.
    pub(super) placement: Placement,
    pub(super) first_dim: u32,
    pub(super) dims: u32,
    pub(super) is_compressed: bool,
    /// Whether the item is described only by the text of the layout.
    pub(super) is_opaque: bool,
    pub(super) is_param: bool,
    pub(super) order: Option<Order>,
    /// The primitive type, or `None` for a struct.
    pub(super) primitive: Option<Primitive>,
}

/// A dimension in a compiled layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DimRecord {
    Fixed(u64),
    /// The index of a parameter and a suffix, which together determine the length.
    Named(u64, i32),
}

/// A parameter in a compiled layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParamRecord {
    Fixed(i64),
    /// A stored parameter of a dict, with the index of its row.
    Row(u32),
    /// A stored parameter of a struct.
    Inner,
}

fn order_code(order: Option<Order>) -> u8 {
    match order {
        None => 0,
        Some(Order::Little) => 1,
        Some(Order::Big) => 2,
    }
}

/// Converts a code to a byte order, or to `None` for code 0. Fails if the code is not valid.
fn order_of(code: u8) -> Result<Option<Order>, &'static str> {
    match code {
        0 => Ok(None),
        1 => Ok(Some(Order::Little)),
        2 => Ok(Some(Order::Big)),
        _ => Err("expected a byte order (0, 1 or 2) at byte 12"),
    }
}

/// Reads the number at offset `at` in a record. The caller has checked the length of the record.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// Returns the CRC-32 of a part of the file.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    let digest = Algorithm::Crc32.digest(bytes);
    digest.as_bytes().try_into().map_or(0, u32::from_be_bytes)
}

/// Checks a part of the file against its stored checksum. Fails with a message if the checksum differs.
pub(super) fn check_sum(part: impl Display, bytes: &[u8], stored: u32) -> Result<(), String> {
    let found = sum(bytes);
    if found == stored {
        return Ok(());
    }
    Err(format!("the CRC-32 of {part} is {found:08x}, but the stored CRC-32 is {stored:08x}"))
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12] = order_code(self.order);
        bytes[16..24].copy_from_slice(&self.text_len.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.stamp.changed.to_le_bytes());
        let numbers = [self.rows, self.dims, self.params, self.paths];
        for (part, number) in bytes[32..48].chunks_exact_mut(4).zip(numbers) {
            part.copy_from_slice(&number.to_le_bytes());
        }
        bytes[48..56].copy_from_slice(&self.paths_len.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.first_open.to_le_bytes());
        bytes[60..64].copy_from_slice(&self.text_sum.to_le_bytes());
        bytes[64..72].copy_from_slice(&self.stamp.inode.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.pages_sum.to_le_bytes());
        let sum = sum(&bytes[..CHECKED_LEN]);
        bytes[CHECKED_LEN..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Parses a header. Fails with a message if it is not valid.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        if bytes.get(..8) != Some(&MAGIC) {
            return Err("expected 8d 64 75 64 78 0d 0a 1a at byte 0".to_owned());
        }
        if bytes.len() < 80 {
            return Err(format!(
                "the file ends at byte {}, inside the 80-byte header",
                bytes.len()
            ));
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(format!("the format version is {version}, expected {VERSION}"));
        }
        check_sum("the header", &bytes[..CHECKED_LEN], u32_at(bytes, CHECKED_LEN))?;
        Ok(Self {
            order: order_of(u8::try_from(u32_at(bytes, 12)).unwrap_or(u8::MAX))?,
            text_len: u64_at(bytes, 16),
            stamp: Stamp { changed: u64_at(bytes, 24), inode: u64_at(bytes, 64) },
            text_sum: u32_at(bytes, 60),
            pages_sum: u32_at(bytes, 72),
            rows: u32_at(bytes, 32),
            dims: u32_at(bytes, 36),
            params: u32_at(bytes, 40),
            paths: u32_at(bytes, 44),
            paths_len: u64_at(bytes, 48),
            first_open: u32_at(bytes, 56),
        })
    }

    /// Returns the offset of the dimensions in the index.
    pub(super) fn dims_at(self) -> u64 {
        ROW_LEN * u64::from(self.rows)
    }

    /// Returns the offset of the parameters in the index.
    pub(super) fn params_at(self) -> u64 {
        self.dims_at() + DIM_LEN * u64::from(self.dims)
    }

    /// Returns the offset of the paths in the index.
    pub(super) fn paths_at(self) -> u64 {
        self.params_at() + PARAM_LEN * u64::from(self.params)
    }

    /// Returns the offset of the path strings in the index.
    pub(super) fn path_texts_at(self) -> u64 {
        self.paths_at() + PATH_LEN * u64::from(self.paths)
    }

    /// Returns the length of the index in bytes, or `None` on overflow.
    pub(super) fn index_len(self) -> Option<u64> {
        self.path_texts_at().checked_add(self.paths_len)
    }

    /// Returns the length of the page checksums in bytes, or `None` on overflow.
    pub(super) fn sums_len(self) -> Option<u64> {
        Some(self.index_len()?.div_ceil(PAGE_LEN) * SUM_LEN)
    }

    /// Returns the offset of the index in the file, or `None` on overflow.
    pub(super) fn index_at(self) -> Option<u64> {
        HEADER_LEN.checked_add(self.sums_len()?)
    }

    /// Returns the offset of the layout text in the file, or `None` on overflow.
    pub(super) fn text_at(self) -> Option<u64> {
        self.index_at()?.checked_add(self.index_len()?)
    }

    /// Returns the length of the file in bytes, or `None` on overflow.
    pub(super) fn len(self) -> Option<u64> {
        self.text_at()?.checked_add(self.text_len)
    }
}

impl RowRecord {
    pub(super) fn to_bytes(self) -> [u8; 48] {
        let mut bytes = [0; 48];
        let (flag, place) = match self.placement {
            Placement::Address(address) => (PLACED, address),
            Placement::Align(align) => (0, align),
        };
        let numbers = [self.addresses[0], self.addresses[1], self.element_size, Some(place)];
        for (part, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            part.copy_from_slice(&number.unwrap_or(UNKNOWN).to_le_bytes());
        }
        bytes[32..36].copy_from_slice(&self.first_dim.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.dims.to_le_bytes());
        let flags = [
            (self.is_compressed, COMPRESSED),
            (self.primitive.is_none(), STRUCT),
            (self.is_opaque, OPAQUE),
            (self.is_param, PARAM),
        ];
        bytes[40] = flags.iter().filter(|(is, _)| *is).fold(flag, |all, (_, flag)| all | flag);
        bytes[41] = order_code(self.order);
        let name = self.primitive.map_or("", Primitive::name).as_bytes();
        bytes[44..44 + name.len()].copy_from_slice(name);
        bytes
    }

    /// Parses a row. Returns `None` if it is not valid.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let known = |at| Some(u64_at(bytes, at)).filter(|&number| number != UNKNOWN);
        let (flags, place) = (*bytes.get(40)?, u64_at(bytes, 24));
        let placement = match flags & PLACED {
            0 if place.is_power_of_two() => Placement::Align(place),
            0 => return None,
            _ => Placement::Address(place),
        };
        let name = bytes.get(44..48)?;
        let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(name.len())];
        let primitive = match flags & STRUCT {
            0 => Some(Primitive::from_name(std::str::from_utf8(name).ok()?)?),
            _ => None,
        };
        Some(Self {
            addresses: [known(0), known(8)],
            element_size: known(16),
            placement,
            first_dim: u32_at(bytes, 32),
            dims: u32_at(bytes, 36),
            is_compressed: flags & COMPRESSED != 0,
            is_opaque: flags & OPAQUE != 0,
            is_param: flags & PARAM != 0,
            order: order_of(bytes[41]).ok()?,
            primitive,
        })
    }
}

impl DimRecord {
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let (number, suffix, is_named) = match self {
            Self::Fixed(len) => (len, 0, 0),
            Self::Named(param, suffix) => (param, suffix, 1_u32),
        };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes[8..12].copy_from_slice(&suffix.to_le_bytes());
        bytes[12..].copy_from_slice(&is_named.to_le_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (number, suffix) = (u64_at(bytes, 0), u32_at(bytes, 8));
        match u32_at(bytes, 12) {
            0 => Some(Self::Fixed(number)),
            1 => Some(Self::Named(number, i32::from_le_bytes(suffix.to_le_bytes()))),
            _ => None,
        }
    }
}

impl ParamRecord {
    pub(super) fn to_bytes(self) -> [u8; 16] {
        let (number, kind) = match self {
            Self::Fixed(value) => (value.to_le_bytes(), 0_u64),
            Self::Row(row) => (u64::from(row).to_le_bytes(), 1),
            Self::Inner => ([0; 8], 2),
        };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&number);
        bytes[8..].copy_from_slice(&kind.to_le_bytes());
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let number = u64_at(bytes, 0);
        match u64_at(bytes, 8) {
            0 => Some(Self::Fixed(i64::from_le_bytes(number.to_le_bytes()))),
            1 => Some(Self::Row(u32::try_from(number).ok()?)),
            2 => Some(Self::Inner),
            _ => None,
        }
    }
}

/// Encodes an entry in the list of paths: the offset of the path among the path strings, its
/// length, and the index of its row.
pub(super) fn path_record(start: u64, len: u32, row: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&start.to_le_bytes());
    bytes[8..12].copy_from_slice(&len.to_le_bytes());
    bytes[12..].copy_from_slice(&row.to_le_bytes());
    bytes
}

pub(super) fn parse_path(bytes: &[u8]) -> (u64, u32, u32) {
    (u64_at(bytes, 0), u32_at(bytes, 8), u32_at(bytes, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_records_round_trip() {
        let header = Header {
            order: Some(Order::Big),
            text_len: 9,
            stamp: Stamp { changed: 1 << 60, inode: 7 },
            text_sum: 8,
            pages_sum: 9,
            rows: 1,
            dims: 2,
            params: 3,
            paths: 4,
            paths_len: 5,
            first_open: 6,
        };
        assert_eq!(Header::parse(&header.to_bytes()), Ok(header));
        assert_eq!(header.len(), Some(80 + 4 + 48 + 32 + 48 + 64 + 5 + 9));
        let row = RowRecord {
            addresses: [Some(8), None],
            element_size: None,
            placement: Placement::Align(16),
            first_dim: 7,
            dims: 3,
            is_compressed: true,
            is_opaque: false,
            is_param: true,
            order: Some(Order::Little),
            primitive: Primitive::from_name("c16"),
        };
        assert_eq!(RowRecord::parse(&row.to_bytes()), Some(row));
        let row = RowRecord {
            placement: Placement::Address(17),
            primitive: None,
            is_opaque: true,
            ..row
        };
        assert_eq!(RowRecord::parse(&row.to_bytes()), Some(row));
        for dim in [DimRecord::Fixed(3), DimRecord::Named(5, -2)] {
            assert_eq!(DimRecord::parse(&dim.to_bytes()), Some(dim));
        }
        for param in [ParamRecord::Fixed(-1), ParamRecord::Row(9), ParamRecord::Inner] {
            assert_eq!(ParamRecord::parse(&param.to_bytes()), Some(param));
        }
        assert_eq!(parse_path(&path_record(1, 2, 3)), (1, 2, 3));
    }

    #[test]
    fn the_message_for_an_invalid_header_names_the_invalid_part() {
        let bytes = Header::default().to_bytes();
        let message = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.to_vec();
            change(&mut bytes);
            Header::parse(&bytes).unwrap_err()
        };
        assert!(message(&|bytes| bytes[1] = b'<').contains("at byte 0"));
        assert!(message(&|bytes| bytes.truncate(20)).contains("ends at byte 20"));
        assert!(message(&|bytes| bytes[8] = 1).contains("version is 1, expected 2"));
        assert!(message(&|bytes| bytes[20] = 1).contains("the CRC-32 of the header is"));
        let with_order = |bytes: &mut Vec<u8>| {
            bytes[12] = 3;
            let sum = sum(&bytes[..CHECKED_LEN]);
            bytes[CHECKED_LEN..].copy_from_slice(&sum.to_le_bytes());
        };
        assert!(message(&with_order).contains("byte order"));
    }
}
