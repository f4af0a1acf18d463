//! numpy's `.npy` files, a common format for exchanging arrays.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 6 | `93 4e 55 4d 50 59`, "\x93NUMPY" |
//! | 6 | 2 | version: 1.0, 2.0 or 3.0 |
//! | 8 | 2 (1.0) or 4 | length of the following text, little-endian |
//! | 10 or 12 | | a Python dictionary, spaces, one line feed; the data begins at a multiple of 64 |
//!
//! Version 1.0 limits the header text to less than 64 KiB. The text is UTF-8 in version 3.0, and
//! Latin-1 in versions 1.0 and 2.0. The dictionary has exactly these keys:
//!
//! | key | value |
//! |---|---|
//! | `descr` | element type, as written by [`Datatype::descr`] |
//! | `fortran_order` | `True` if the first index varies fastest |
//! | `shape` | tuple of counts |

use std::io::Write;

use crate::array::literal::Literal;
use crate::array::strided::{MAX_DIMENSIONS, byte_size};
use crate::array::{Array, Data, Datatype, ElementsError, Order};
use crate::diagnostic;
use crate::number::ByteReader;
use crate::{Endian, Error, Limits, ReadAt, Result};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The data begins at a multiple of this many bytes.
const ALIGN: usize = 64;

/// Number of characters that the header reserves for the length of the axis along which elements
/// can be appended: enough for 21 digits, as in numpy. The header is padded with spaces
/// accordingly, so that the length can be rewritten in place.
const GROWTH_DIGITS: usize = 21;

/// Maximum length in bytes of the text in the header. By default, numpy itself rejects more than
/// 10,000 characters.
const MAX_TEXT: u64 = 1 << 20;

/// Maximum size in bytes of the pieces in which elements are written.
const PIECE: u64 = 1 << 20;

/// The header of a `.npy` file, which describes the array that follows it.
///
/// ```
/// use binio::array::npy::Header;
/// use binio::array::{Datatype, Order};
///
/// let header = Header::new(Datatype::parse("<f8")?, Order::C, vec![2, 3])?;
/// assert_eq!((header.shape(), header.byte_size()), (&[2, 3][..], 48));
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    datatype: Datatype,
    order: Order,
    shape: Vec<u64>,
    byte_size: u64,
}

impl Header {
    /// Creates the header of an array.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Shape`] if the array has more than 64 dimensions or at least
    /// 2^63 bytes. Fails with [`ElementsError::Datatype`] for records that the format does not
    /// support, because their fields overlap or are not in the order of their offsets.
    pub fn new(
        datatype: Datatype,
        order: Order,
        shape: Vec<u64>,
    ) -> std::result::Result<Self, ElementsError> {
        if shape.len() > MAX_DIMENSIONS {
            let message =
                format!("{} dimensions, but numpy supports at most {MAX_DIMENSIONS}", shape.len());
            return Err(ElementsError::Shape(message));
        }
        if !datatype.fits_npy() {
            let message = ".npy files cannot describe fields that overlap or are not in the order \
                           of their offsets";
            return Err(ElementsError::Datatype(message.into()));
        }
        let byte_size = byte_size(&shape, datatype.itemsize()).ok_or_else(|| {
            ElementsError::Shape(format!(
                "an array of shape {shape:?} and type {datatype} exceeds 2^63 - 1 bytes"
            ))
        })?;
        Ok(Self { datatype, order, shape, byte_size })
    }

    /// Reads the header of a file, and returns it with the offset of the data. Does not check that
    /// the data is complete.
    ///
    /// ```
    /// use binio::array::npy::Header;
    /// use binio::array::{Datatype, Order};
    ///
    /// let header = Header::new(Datatype::parse(">f8")?, Order::F, vec![2, 3])?;
    /// let (read, start) = Header::read(&header.to_bytes())?;
    /// assert_eq!((read, start), (header, 128));
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](crate::ErrorKind::Truncated) if the source has fewer than 10 bytes
    /// or ends inside the header, with [`Magic`](crate::ErrorKind::Magic) if it does not start with
    /// the marker of the format, with [`Unsupported`](crate::ErrorKind::Unsupported) for an unknown
    /// version, with [`Limit`](crate::ErrorKind::Limit) if the text is longer than 1 MiB, and with
    /// [`Invalid`](crate::ErrorKind::Invalid) if the text of a version 3.0 header is not UTF-8.
    /// Fails with [`Array`](crate::ErrorKind::Array) if the text does not describe an array: see
    /// [`parse`](Self::parse). Also fails if the source cannot be read.
    pub fn read(source: &dyn ReadAt) -> Result<(Self, u64)> {
        let (text, start) = read_text(source)?;
        let header = Self::parse(&text)?;
        Ok((header, start))
    }

    /// Parses the dictionary of a header.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Npy`] if the text is not a dictionary with exactly the expected
    /// keys, or if `fortran_order` is not a boolean. Fails with [`ElementsError::Shape`] if the
    /// shape is not a tuple or list of counts. Also fails in the same cases as [`Datatype::parse`]
    /// and [`new`](Self::new).
    pub fn parse(text: &str) -> std::result::Result<Self, ElementsError> {
        let invalid = |message: String| ElementsError::Npy(message);
        let dictionary = Literal::parse(text).map_err(|error| invalid(error.to_string()))?;
        let Literal::Dictionary(entries) = dictionary else {
            return Err(invalid("expected a dictionary".into()));
        };
        let key = |name: &str| {
            let mut found = entries.iter().filter(|(key, _)| key.as_text() == Some(name));
            match (found.next(), found.next()) {
                (Some((_, value)), None) => Ok(value),
                _ => Err(invalid(format!("expected the key {name:?} exactly once"))),
            }
        };
        let datatype = Datatype::from_literal(key("descr")?)?;
        let order = match key("fortran_order")? {
            Literal::Bool(false) => Order::C,
            Literal::Bool(true) => Order::F,
            _ => return Err(invalid("expected True or False for \"fortran_order\"".into())),
        };
        let shape = key("shape")?.counts().ok_or_else(|| {
            ElementsError::Shape(
                "expected a tuple of non-negative integers in the .npy header".into(),
            )
        })?;
        if entries.len() != 3 {
            return Err(invalid(format!(
                "found {}, expected 3",
                diagnostic::count(entries.len(), "key")
            )));
        }
        Self::new(datatype, order, shape)
    }

    /// Returns the bytes that precede the data in the file. They are identical to the bytes that
    /// numpy writes. Uses the oldest version of the format that can encode the text.
    ///
    /// ```
    /// use binio::array::npy::Header;
    /// use binio::array::{Datatype, Order};
    ///
    /// let header = Header::new(Datatype::parse(">f8")?, Order::C, vec![2, 3])?.to_bytes();
    /// assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
    /// assert!(header[10..].starts_with(b"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }"));
    /// assert_eq!(header.len(), 128);
    /// # Ok::<(), binio::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        frame(&self.datatype.descr(), self.order == Order::F, &self.shape)
    }

    /// Returns the type of an element.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the order of the elements.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the lengths of the dimensions, outermost first. A zero-dimensional array, which has
    /// a single element, has an empty shape.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the total size of the elements in bytes.
    pub fn byte_size(&self) -> u64 {
        self.byte_size
    }
}

impl<D: Data> Array<D> {
    /// Writes the array as a `.npy` file in C or Fortran order, in its stored byte order. The
    /// elements are read and written in pieces, so arrays of any size can be written.
    ///
    /// # Errors
    ///
    /// Same as [`npy::Header::new`](Header::new) and [`for_each_piece`](Self::for_each_piece). Also
    /// fails with [`ElementsError::Output`] if `out` cannot be written.
    pub fn write_npy(
        &self,
        out: &mut dyn Write,
        order: Order,
    ) -> std::result::Result<(), D::Error> {
        let header = Header::new(self.datatype().clone(), order, self.shape().to_vec())?;
        out.write_all(&header.to_bytes()).map_err(ElementsError::from)?;
        self.for_each_piece(order, PIECE, false, |bytes| {
            out.write_all(bytes).map_err(|error| ElementsError::from(error).into())
        })
    }
}

/// Returns the bytes that precede the data in the file, given the values of the dictionary.
fn frame(descr: &str, fortran_order: bool, shape: &[u64]) -> Vec<u8> {
    let order = if fortran_order { "True" } else { "False" };
    let mut text =
        format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {}, }}", tuple(shape));
    if let Some(growing) = if fortran_order { shape.last() } else { shape.first() } {
        let digits = growing.to_string().len();
        text.extend(std::iter::repeat_n(' ', GROWTH_DIGITS.saturating_sub(digits)));
    }
    let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
    let is_latin = latin.is_some();
    let text = latin.unwrap_or_else(|| text.into_bytes());
    // Like numpy, always write at least one space before the line feed, even if this adds a whole
    // block of padding.
    let total = |fixed: usize| (fixed + text.len() + 2).next_multiple_of(ALIGN);
    let (version, fixed) = match u16::try_from(total(10) - 10) {
        Ok(_) if is_latin => (1, 10),
        _ if is_latin => (2, 12),
        _ => (3, 12),
    };
    let total = total(fixed);
    let mut out = Vec::with_capacity(total);
    out.extend(MAGIC);
    out.extend([version, 0]);
    // The length fits in four bytes, unless the names of the fields take up gigabytes.
    let length = u32::try_from(total - fixed).unwrap_or(u32::MAX).to_le_bytes();
    out.extend(&length[..fixed - 8]);
    out.extend(text);
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out
}

/// Reads the text of a header, and returns it with the offset of the data.
fn read_text(source: &dyn ReadAt) -> Result<(String, u64)> {
    let beginning = source.bytes_at(0, 10)?;
    let mut reader = ByteReader::new(&beginning);
    reader.magic(MAGIC)?;
    let version = reader.array::<2>()?;
    let (start, len) = match version {
        [1, 0] => (10, reader.read::<u16>(Endian::Little)?.into()),
        [2 | 3, 0] => {
            let length = source.bytes_at(8, 4)?;
            (12, ByteReader::at(&length, 8).read::<u32>(Endian::Little)?)
        }
        [major, minor] => {
            let message =
                format!("version {major}.{minor} of .npy files; expected 1.0, 2.0 or 3.0");
            return Err(Error::unsupported(message).at(6));
        }
    };
    let limit = Limits::default().max_alloc(MAX_TEXT);
    limit.check_alloc("bytes of a .npy header", len.into()).map_err(|error| error.at(8))?;
    let bytes = source.bytes_at(start, len as usize)?;
    let text = if version[0] == 3 {
        String::from_utf8(bytes.into()).map_err(|error| {
            let place = start + error.utf8_error().valid_up_to() as u64;
            Error::invalid("the header of a version 3.0 .npy file is not UTF-8").at(place)
        })?
    } else {
        bytes.iter().copied().map(char::from).collect()
    };
    Ok((text, start + u64::from(len)))
}

/// Formats a shape as a Python tuple: `()`, `(3,)`, `(2, 3)`.
fn tuple(numbers: &[u64]) -> String {
    let list: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let comma = if numbers.len() == 1 { "," } else { "" };
    format!("({}{comma})", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn fails(text: &str) -> ElementsError {
        Header::parse(text).unwrap_err()
    }

    #[test]
    fn a_header_is_identical_to_the_header_that_numpy_writes() {
        // numpy 2 writes this header for np.save(.., np.zeros((2, 3), '>f8')).
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(b"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }");
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(frame("'>f8'", false, &[2, 3]), expected);
    }

    #[test]
    fn data_begins_at_a_multiple_of_64() {
        for shape in [&[][..], &[1], &[12_345, 678], &[1; 64]] {
            assert_eq!(frame("'|u1'", false, shape).len() % 64, 0);
        }
    }

    #[test]
    fn the_padding_of_the_header_has_at_least_one_space_and_reserves_digits_for_a_growing_axis() {
        // The header lengths come from numpy 2. Each case is a record with one field, whose name is
        // `letters` characters long.
        let cases = [(31, &[1_u64][..], 128), (32, &[1], 192), (53, &[], 128), (54, &[], 192)];
        for (letters, shape, len) in cases {
            let descr = format!("[('{}', '<i4')]", "x".repeat(letters));
            assert_eq!(frame(&descr, false, shape).len(), len, "{letters} {shape:?}");
        }
    }

    #[test]
    fn long_headers_use_version_2_and_names_outside_latin_1_use_version_3() {
        let named = |name: &str| frame(&format!("[('{name}', '<i4')]"), false, &[1]);
        for (name, version) in [("x", 1), ("é", 1), ("α", 3)] {
            let short = named(name);
            assert_eq!(short[6..8], [version, 0], "{name}");
            assert!(read_text(&short).unwrap().0.contains(&format!("('{name}', '<i4')")));
            let long = named(&name.repeat(70_000));
            assert_eq!(long[6..8], [version.max(2), 0], "{name}");
            let length = u32::from_le_bytes([long[8], long[9], long[10], long[11]]);
            assert_eq!(length as usize + 12, long.len());
            assert_eq!(read_text(&long).unwrap().1, long.len() as u64);
        }
    }

    #[test]
    fn a_header_that_cannot_be_read_is_rejected_with_a_matching_error() {
        let fails = |bytes: &[u8]| read_text(&bytes).unwrap_err();
        assert!(matches!(fails(b"").kind(), ErrorKind::Truncated { .. }));
        assert!(matches!(fails(b"PK\x03\x04 and more bytes").kind(), ErrorKind::Magic { .. }));
        let error = fails(b"\x93NUMPY\x01\x00\x09\x00{'descr'");
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 9, available: 8 }));
        assert_eq!(error.offset(), Some(10));
        let error = fails(b"\x93NUMPY\x02\x00\x01\x00\x10\x00");
        assert_eq!(
            error.kind().to_string(),
            "bytes of a .npy header: 1048577 is above the limit of 1048576"
        );
        let error = fails(b"\x93NUMPY\x04\x00\x01\x00 ");
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)));
        let error = fails(b"\x93NUMPY\x03\x00\x02\x00\x00\x00 \xff");
        assert_eq!(error.offset(), Some(13));
    }

    #[test]
    fn keys_may_be_in_any_order_and_numbers_may_have_the_suffix_of_python_2() {
        let text =
            "{'shape': (2L, 3L), 'fortran_order': True, 'descr': [('a', '|i1'), ('', '|V1')]} \n";
        let header = Header::parse(text).unwrap();
        assert_eq!(
            (header.shape(), header.order(), header.byte_size()),
            (&[2, 3][..], Order::F, 12)
        );
        assert_eq!(header.datatype().descr(), "[('a', '|i1'), ('', '|V1')]");
    }

    #[test]
    fn a_header_that_does_not_describe_an_array_is_rejected_with_a_matching_error() {
        for text in [
            "",
            "{",
            "[]",
            "{}",
            "{'descr': '<f8', 'fortran_order': False}",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': ()}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (), 'more': 1}",
            "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}",
        ] {
            assert!(matches!(fails(text), ElementsError::Npy(_)), "{text}");
        }
        let with = |descr, shape| {
            fails(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"))
        };
        assert!(matches!(with("'|O'", "()"), ElementsError::Object));
        assert!(matches!(with("('<f8', (2,))", "()"), ElementsError::Datatype(_)));
        assert!(matches!(with("'<f8'", "(-1,)"), ElementsError::Shape(_)));
        assert!(matches!(with("'<f8'", "3"), ElementsError::Shape(_)));
        assert!(matches!(with("'<f8'", "(1152921504606846976,)"), ElementsError::Shape(_)));
        let overlap = "{'names': ['a', 'b'], 'formats': ['<i4', '<i4'], 'offsets': [0, 2]}";
        assert!(matches!(with(overlap, "()"), ElementsError::Datatype(_)));
    }
}
