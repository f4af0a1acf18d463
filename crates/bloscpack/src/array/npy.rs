//! Reading and writing `.npy` files, which contain a single array. The header has the same fields as the metadata of a
//! Bloscpack file.

use std::ops::Range;

use binio::ReadAt;
use binio::array::npy::Header;

use crate::array::ArrayInfo;
use crate::error::{Error, ErrorKind, Result};

impl ArrayInfo {
    /// Reads the header of a `.npy` file. Returns the description of the array, and the range of
    /// its data in the file.
    ///
    /// ```
    /// use bloscpack::array::{ArrayInfo, Datatype, Order};
    ///
    /// let mut file = ArrayInfo::new(Datatype::parse("<i2")?, vec![2, 3], Order::F)?.npy_header();
    /// let header = file.len() as u64;
    /// file.extend([0; 12]);
    /// let (info, data) = ArrayInfo::from_npy(&file)?;
    /// assert_eq!((info.shape(), data), (&[2, 3][..], header..header + 12));
    /// assert_eq!(info.npy_header(), file[..header as usize]);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotNumpy`] if the source is not a `.npy` file or its header is
    /// invalid, with [`ErrorKind::Limit`] if the text of the header is longer than 1 MiB, with
    /// [`ErrorKind::ObjectDtype`] or [`ErrorKind::InvalidDtype`] if its datatype is not supported,
    /// with [`ErrorKind::ShapeMismatch`] if its shape is invalid, and with [`ErrorKind::Truncated`]
    /// if the data is too short. Also fails with [`ErrorKind::ShapeMismatch`] if there are bytes
    /// after the array, because they would be lost. Also fails if reading fails.
    pub fn from_npy(source: &dyn ReadAt) -> Result<(Self, Range<u64>)> {
        let (header, start) = Header::read(source).map_err(header_error)?;
        let info = Self(header);
        let available = source.len().saturating_sub(start);
        if available < info.byte_size() {
            let what = "data of the .npy file";
            let kind = ErrorKind::Truncated { what, needed: info.byte_size(), available };
            return Err(Error::new(kind).at(start));
        }
        info.check_size(available).map_err(|error| error.at(start))?;
        Ok((info, start..source.len()))
    }

    /// Returns the header of a `.npy` file that contains this array, as numpy writes it. The header
    /// and the data of the array together form a complete file.
    pub fn npy_header(&self) -> Vec<u8> {
        self.0.to_bytes()
    }
}

/// Converts an error from reading a `.npy` header, distinguishing an invalid header from a failure
/// of the source.
fn header_error(error: binio::Error) -> Error {
    match error.kind() {
        binio::ErrorKind::Io(_) | binio::ErrorKind::Limit { .. } => error.into(),
        binio::ErrorKind::Array(error) => error.clone().into(),
        _ => {
            let kind = ErrorKind::NotNumpy(format!(".npy header: {error:#}"));
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
    fn invalid_npy_headers_are_rejected_with_specific_errors() {
        assert!(matches!(fails("{}"), ErrorKind::NotNumpy(_)));
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
    fn npy_files_with_more_or_less_data_than_their_array_are_rejected() {
        let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}";
        assert!(ArrayInfo::from_npy(&file(text, 8)).is_ok());
        let short = ArrayInfo::from_npy(&file(text, 7)).unwrap_err();
        assert!(matches!(short.kind(), ErrorKind::Truncated { needed: 8, available: 7, .. }));
        let long = ArrayInfo::from_npy(&file(text, 9)).unwrap_err();
        assert!(matches!(long.kind(), ErrorKind::ShapeMismatch(_)));
    }
}
