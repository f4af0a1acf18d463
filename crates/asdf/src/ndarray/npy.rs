//! The header of numpy's `.npy` files.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 6 | `93 4e 55 4d 50 59`, "\x93NUMPY" |
//! | 6 | 2 | version: 1.0, 2.0 or 3.0 |
//! | 8 | 2 (1.0) or 4 | length of the text that follows, little-endian |
//! | 10 or 12 | | a Python dictionary, blanks, one line feed; the data begins on a multiple of 64 |
//!
//! Version 2.0 has room for texts of 64 KiB and more, 3.0 is UTF-8. The oldest that can hold the
//! text is written.

use binio::Endian;

use crate::ndarray::dtype::{Datatype, python_tuple};

/// The data of a `.npy` file begins on a multiple of this.
const ALIGN: usize = 64;

/// The bytes before the data of an array in C order.
pub(crate) fn header(datatype: &Datatype, byteorder: Endian, shape: &[u64]) -> Vec<u8> {
    let text = format!(
        "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}",
        datatype.descr_python(byteorder),
        python_tuple(shape)
    );
    let short = text.is_ascii() && u16::try_from(text.len() + ALIGN).is_ok();
    let (version, fixed) = match (short, text.is_ascii()) {
        (true, _) => (1, 10),
        (false, true) => (2, 12),
        (false, false) => (3, 12),
    };
    let total = (fixed + text.len() + 1).next_multiple_of(ALIGN);
    let mut out = Vec::with_capacity(total);
    out.extend(*b"\x93NUMPY");
    out.extend([version, 0]);
    // Field names are bounded by the tree, so that four bytes hold any length.
    let length = u32::try_from(total - fixed).unwrap_or(u32::MAX).to_le_bytes();
    out.extend(&length[..fixed - 8]);
    out.extend(text.as_bytes());
    out.resize(total - 1, b' ');
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndarray::dtype::{Field, Record, ScalarType};

    fn field(name: &str) -> Datatype {
        let field = Field::new(name, ScalarType::Int32.into(), Endian::Big, vec![]);
        Datatype::Record(Record::packed(vec![field]).unwrap())
    }

    #[test]
    fn the_header_is_that_of_numpy() {
        // numpy 2: np.save of np.zeros((2, 3), '>f8').
        let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        expected.extend(b"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3), }");
        expected.resize(127, b' ');
        expected.push(b'\n');
        assert_eq!(header(&ScalarType::Float64.into(), Endian::Big, &[2, 3]), expected);
    }

    #[test]
    fn data_begins_on_a_multiple_of_64() {
        for shape in [&[][..], &[1], &[12_345, 678], &[1; 64]] {
            assert_eq!(header(&ScalarType::Uint8.into(), Endian::Big, shape).len() % 64, 0);
        }
    }

    #[test]
    fn long_texts_need_version_2_and_other_letters_version_3() {
        let long = header(&field(&"x".repeat(70_000)), Endian::Big, &[1]);
        assert_eq!(long[6..8], [2, 0]);
        let length = u32::from_le_bytes([long[8], long[9], long[10], long[11]]);
        assert_eq!(usize::try_from(length).unwrap() + 12, long.len());
        assert_eq!(header(&field("α"), Endian::Big, &[1])[6..8], [3, 0]);
    }
}
