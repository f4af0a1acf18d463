//! Reading text elements as strings.

use crate::array::{Array, Data, Element, ElementsError, ScalarKind};

impl<D: Data> Array<D> {
    /// Returns the elements of a text array in C order, without their padding: only NUL characters
    /// at the end are removed.
    ///
    /// # Errors
    ///
    /// Same as [`view`](Self::view). Also fails with [`ElementsError::Type`] if the elements are
    /// not text, and with [`ElementsError::Limit`] if there are more than
    /// [`max_items`](crate::Limits::max_items) strings, or if the list of strings exceeds
    /// [`max_alloc`](crate::Limits::max_alloc).
    ///
    /// Fails with [`ElementsError::Element`] for invalid characters: a byte above 0x7f in `S`,
    /// invalid UTF-8 or UTF-16, or a surrogate or a number above 0x10ffff in `U`. To read such
    /// elements anyway, use [`view`](Self::view) with `u8`, `u16` or `u32`.
    pub fn strings(&self) -> Result<Vec<String>, D::Error> {
        let scalar = self.datatype().as_scalar().filter(|scalar| scalar.is_text());
        let list = self.len().saturating_mul(size_of::<String>() as u64);
        for (what, requested, limit) in [
            ("strings in an array", self.len(), self.limits().max_items),
            ("bytes in a list of strings", list, self.limits().max_alloc),
        ] {
            if requested > limit {
                return Err(ElementsError::Limit { what, limit, requested }.into());
            }
        }
        match scalar.map(crate::array::ScalarType::kind) {
            Some(ScalarKind::Bytes) => self.texts::<u8>(ascii),
            Some(ScalarKind::Utf8) => self.texts::<u8>(utf8),
            Some(ScalarKind::Utf16) => self.texts::<u16>(utf16),
            Some(ScalarKind::Unicode) => self.texts::<u32>(code_points),
            _ => Err(self.type_error("text").into()),
        }
    }

    fn texts<T: Element + Default>(
        &self,
        text: fn(&[T]) -> Result<String, String>,
    ) -> Result<Vec<String>, D::Error> {
        let length = self.datatype().itemsize() / size_of::<T>() as u64;
        let Ok(length @ 1..) = usize::try_from(length) else {
            // Empty strings have no bytes, so create them from the number of elements.
            return Ok(vec![String::new(); usize::try_from(self.len()).unwrap_or(0)]);
        };
        let units = self.view::<T>()?;
        let texts = units.chunks_exact(length).zip(0..).map(|(padded, index)| {
            let end = padded.iter().rposition(|unit| *unit != T::default());
            text(&padded[..end.map_or(0, |last| last + 1)])
                .map_err(|message| ElementsError::Element { index, message })
        });
        Ok(texts.collect::<Result<_, _>>()?)
    }
}

fn ascii(bytes: &[u8]) -> Result<String, String> {
    match bytes.iter().find(|byte| !byte.is_ascii()) {
        Some(byte) => Err(format!("byte {byte:#04x} is not an ASCII character")),
        None => Ok(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| error.utf8_error().to_string())
}

fn utf16(units: &[u16]) -> Result<String, String> {
    String::from_utf16(units).map_err(|_| "unpaired surrogate in UTF-16".to_owned())
}

fn code_points(points: &[u32]) -> Result<String, String> {
    let character =
        |&point| char::from_u32(point).ok_or_else(|| format!("{point:#x} is not a character"));
    points.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{Datatype, Order, ScalarType, Strided};
    use crate::{Bytes, Endian, Limits};

    fn strings(kind: ScalarKind, size: u64, bytes: &[u8]) -> Result<Vec<String>, String> {
        let datatype = Datatype::from(ScalarType::new(kind, size, Endian::Little).unwrap());
        let (len, shape) = (bytes.len() as u64, vec![bytes.len() as u64 / size]);
        let layout = Strided::packed(shape, Order::C, 0, size, len).unwrap();
        let data = Bytes::copy_from_slice(bytes);
        let array = Array::new(data, datatype, layout, Limits::default()).unwrap();
        array.strings().map_err(|error| error.to_string())
    }

    #[test]
    fn nul_padding_is_removed_but_inner_nuls_are_kept() {
        assert_eq!(strings(ScalarKind::Bytes, 3, b"a\0ba\0\0").unwrap(), ["a\0b", "a"]);
        assert_eq!(strings(ScalarKind::Utf8, 3, "é\0abc".as_bytes()).unwrap(), ["é", "abc"]);
        assert_eq!(
            strings(ScalarKind::Utf16, 4, &[0x3d, 0xd8, 0, 0xde, b'a', 0, 0, 0]).unwrap(),
            ["😀", "a"]
        );
        assert_eq!(strings(ScalarKind::Unicode, 4, &[0xe9, 0, 0, 0]).unwrap(), ["é"]);
    }

    #[test]
    fn invalid_characters_are_reported_with_the_index_of_the_element() {
        let message = |kind, size, bytes: &[u8]| strings(kind, size, bytes).unwrap_err();
        assert_eq!(
            message(ScalarKind::Bytes, 1, b"a\xe9"),
            "element 1: byte 0xe9 is not an ASCII character"
        );
        assert_eq!(
            message(ScalarKind::Unicode, 4, &[0, 0xd8, 0, 0]),
            "element 0: 0xd800 is not a character"
        );
        assert!(message(ScalarKind::Utf8, 2, b"\xe9a").starts_with("element 0: "));
        assert!(message(ScalarKind::Utf16, 2, &[0, 0xd8]).starts_with("element 0: "));
        assert_eq!(message(ScalarKind::Void, 1, b"a"), "elements are |V1, not text");
    }
}
