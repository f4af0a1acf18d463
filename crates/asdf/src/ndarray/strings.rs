//! Elements of `[ascii, n]` and `[ucs4, n]` as text.
//!
//! NUL characters at the end are padding and are left out; those before stay. What is no text is
//! an error that names the element: a byte above 7f in `ascii`, a surrogate or a number above
//! 10ffff in `ucs4`. [`NdArray::view`] as `u8` or `u32` gives them as they are.

use crate::error::{ArrayError, Result};
use crate::ndarray::dtype::ScalarType;
use crate::ndarray::view::{NdArray, to_u64};

impl NdArray<'_> {
    /// The elements of an array of strings, in C order, without the padding.
    pub fn strings(&self) -> Result<Vec<String>> {
        let scalar = self.dtype().as_scalar().filter(|scalar| scalar.is_string());
        self.limits.check_items("strings of an array", self.len())?;
        match scalar {
            Some(ScalarType::Ascii(length)) => self.texts(length, &self.view::<u8>()?, ascii),
            Some(ScalarType::Ucs4(length)) => self.texts(length, &self.view::<u32>()?, ucs4),
            _ => {
                Err(self
                    .error(ArrayError::Type { dtype: self.dtype().to_string(), asked: "a string" }))
            }
        }
    }

    fn texts<T: Copy + Default + PartialEq>(
        &self,
        length: u64,
        characters: &[T],
        text: fn(&[T]) -> Result<String, String>,
    ) -> Result<Vec<String>> {
        let Ok(length @ 1..) = usize::try_from(length) else {
            // Empty strings have no bytes to count them by.
            return Ok(vec![String::new(); usize::try_from(self.len()).unwrap_or(0)]);
        };
        let elements = characters.chunks_exact(length).enumerate();
        elements
            .map(|(index, padded)| {
                let end =
                    padded.iter().rposition(|c| *c != T::default()).map_or(0, |last| last + 1);
                text(&padded[..end]).map_err(|message| {
                    self.error(ArrayError::Element { index: to_u64(index), message })
                })
            })
            .collect()
    }
}

fn ascii(bytes: &[u8]) -> Result<String, String> {
    match bytes.iter().find(|byte| !byte.is_ascii()) {
        Some(byte) => Err(format!("byte {byte:02x} is no ASCII character")),
        None => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn ucs4(points: &[u32]) -> Result<String, String> {
    points
        .iter()
        .map(|&point| char::from_u32(point).ok_or_else(|| format!("{point:#x} is no character")))
        .collect()
}
