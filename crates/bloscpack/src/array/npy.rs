//! `.npy` files, numpy's own: one array, its header a Python dictionary.
//!
//! | key | value |
//! |---|---|
//! | `descr` | type of an element, as in the metadata but as a literal and not as text in JSON |
//! | `fortran_order` | `True` where the first index varies fastest |
//! | `shape` | tuple of counts |
//!
//! The frame around the dictionary is that of [`binio::npy`].

use std::ops::Range;

use binio::ReadAt;

use crate::array::literal::Literal;
use crate::array::{ArrayInfo, ArrayOrder, Dtype};
use crate::error::{Error, ErrorKind, Result};

impl ArrayInfo {
    /// Reads the header of a `.npy` file: the array, and which bytes of the file are its data.
    ///
    /// Fails with [`ErrorKind::NotNumpy`] for what is no such file, with those of [`Dtype::parse`]
    /// and [`ArrayInfo::new`] for arrays that cannot be, and where the file holds fewer bytes than
    /// the array takes, or more: what follows an array would be lost.
    ///
    /// ```
    /// use bloscpack::ArrayInfo;
    ///
    /// let mut file = binio::npy::header("'<i2'", true, &[2, 3]);
    /// let header = file.len() as u64;
    /// file.extend([0; 12]);
    /// let (info, data) = ArrayInfo::from_npy(&file)?;
    /// assert_eq!((info.shape(), data), (&[2, 3][..], header..header + 12));
    /// assert_eq!(info.npy_header(), file[..header as usize]);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    pub fn from_npy(source: &dyn ReadAt) -> Result<(Self, Range<u64>)> {
        let (text, start) = binio::npy::read_header(source).map_err(header_error)?;
        let info = Self::from_npy_text(&text)?;
        let available = source.len().saturating_sub(start);
        if available < info.byte_size() {
            let what = "data of the .npy file";
            let kind = ErrorKind::Truncated { what, needed: info.byte_size(), available };
            return Err(Error::new(kind).at(start));
        }
        info.check_size(available).map_err(|error| error.at(start))?;
        Ok((info, start..source.len()))
    }

    fn from_npy_text(text: &str) -> Result<Self> {
        let not_numpy = |message: String| {
            Error::new(ErrorKind::NotNumpy(format!("header of the .npy file: {message}")))
        };
        let dictionary = Literal::parse(text).map_err(|error| not_numpy(error.to_string()))?;
        let Literal::Dictionary(entries) = dictionary else {
            return Err(not_numpy("expected a dictionary".into()));
        };
        let key = |name: &str| {
            let mut found = entries.iter().filter(|(key, _)| key.as_text() == Some(name));
            match (found.next(), found.next()) {
                (Some((_, value)), None) => Ok(value),
                _ => Err(not_numpy(format!("expected the key {name:?} once"))),
            }
        };
        let dtype = Dtype::from_literal(key("descr")?)?;
        let order = match key("fortran_order")? {
            Literal::Bool(false) => ArrayOrder::C,
            Literal::Bool(true) => ArrayOrder::F,
            _ => return Err(not_numpy("\"fortran_order\" is not True or False".into())),
        };
        let shape = key("shape")?.counts().ok_or_else(|| {
            let message = "expected a tuple of counts in the header of the .npy file".to_owned();
            Error::new(ErrorKind::ShapeMismatch(message))
        })?;
        if entries.len() != 3 {
            return Err(not_numpy(format!("{} keys, expected 3", entries.len())));
        }
        Self::new(dtype, shape, order)
    }

    /// The header of a `.npy` file with this array, equal to numpy's. The data follow as they are.
    pub fn npy_header(&self) -> Vec<u8> {
        let is_fortran = self.order() == ArrayOrder::F;
        binio::npy::header(&self.dtype().descr(), is_fortran, self.shape())
    }
}

/// A header that is no such header is no failure of the source.
fn header_error(error: binio::Error) -> Error {
    match error.kind() {
        binio::ErrorKind::Io(_)
        | binio::ErrorKind::NeedsData(_)
        | binio::ErrorKind::Limit { .. } => error.into(),
        _ => {
            let kind = ErrorKind::NotNumpy(format!("header of the .npy file: {error:#}"));
            error.offset().into_iter().fold(Error::new(kind), Error::at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str, data: usize) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        file.extend(text.as_bytes());
        file.extend(vec![0; data]);
        file
    }

    fn fails(text: &str) -> ErrorKind {
        ArrayInfo::from_npy(&file(text, 0)).unwrap_err().kind().clone()
    }

    #[test]
    fn keys_come_in_any_order_and_numbers_may_be_those_of_python_2() {
        let text =
            "{'shape': (2L, 3L), 'fortran_order': True, 'descr': [('a', '|i1'), ('', '|V1')]} \n";
        let (info, data) = ArrayInfo::from_npy(&file(text, 12)).unwrap();
        assert_eq!((info.shape(), info.order()), (&[2, 3][..], ArrayOrder::F));
        assert_eq!(info.dtype().descr(), "[('a', '|i1'), ('', '|V1')]");
        assert_eq!(data.end - data.start, 12);
    }

    #[test]
    fn headers_of_no_array_say_why() {
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
            assert!(matches!(fails(text), ErrorKind::NotNumpy(_)), "{text}");
        }
        let with = |descr, shape| {
            fails(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"))
        };
        assert!(matches!(with("'|O'", "()"), ErrorKind::ObjectDtype));
        assert!(matches!(with("('<f8', (2,))", "()"), ErrorKind::InvalidDtype(_)));
        assert!(matches!(with("'<f8'", "(-1,)"), ErrorKind::ShapeMismatch(_)));
        assert!(matches!(with("'<f8'", "3"), ErrorKind::ShapeMismatch(_)));
        assert!(matches!(with("'<f8'", "(1152921504606846976,)"), ErrorKind::ShapeMismatch(_)));
        let other = ArrayInfo::from_npy(&b"PK\x03\x04 is the magic of .npz files".to_vec());
        assert!(matches!(other.unwrap_err().kind(), ErrorKind::NotNumpy(_)));
    }

    #[test]
    fn the_data_are_just_those_of_the_array() {
        let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}";
        assert!(ArrayInfo::from_npy(&file(text, 8)).is_ok());
        let short = ArrayInfo::from_npy(&file(text, 7)).unwrap_err();
        assert!(matches!(short.kind(), ErrorKind::Truncated { needed: 8, available: 7, .. }));
        let long = ArrayInfo::from_npy(&file(text, 9)).unwrap_err();
        assert!(matches!(long.kind(), ErrorKind::ShapeMismatch(_)));
    }
}
