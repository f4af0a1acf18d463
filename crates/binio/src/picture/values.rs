//! Converting the bytes of elements to floats.

use crate::array::{Datatype, ElementsError, Number, ScalarKind, ScalarType};
use crate::error::elements::datatype as invalid;

/// Converts the bytes of consecutive elements to floats. The bytes can be passed in pieces of any
/// length.
#[derive(Clone, Debug)]
pub struct Values {
    scalar: ScalarType,
    /// The beginning of an element whose remaining bytes are in the next piece.
    rest: Vec<u8>,
}

impl Values {
    /// Creates a converter for elements of the given type. It expects their bytes in the byte order
    /// of the type.
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Datatype`] unless the elements are real numbers of up to 64
    /// bits, booleans, dates or time spans.
    pub fn new(datatype: &Datatype) -> Result<Self, ElementsError> {
        let reason = match datatype.as_scalar() {
            None => "an array of records cannot be drawn: select a field",
            Some(scalar) if scalar.kind() == ScalarKind::Complex => {
                "complex numbers cannot be drawn"
            }
            Some(scalar) => {
                let zero = [0; 16];
                let size = usize::try_from(scalar.size()).unwrap_or(usize::MAX);
                if zero.get(..size).is_some_and(|zero| scalar.decode(zero).is_some()) {
                    return Ok(Self { scalar, rest: Vec::new() });
                }
                "only numbers of up to 64 bits, booleans, dates and time spans can be drawn"
            }
        };
        Err(invalid(format!("{reason}; the type is {datatype}")))
    }

    /// Adds bytes, and calls `each` with the value of each element that these bytes complete. A
    /// date or time span that is `NaT` becomes NaN.
    pub fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(f64)) {
        let size = self.scalar.size() as usize;
        if !self.rest.is_empty() {
            let missing = (size - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if self.rest.len() < size {
                return;
            }
            each(self.value(&self.rest));
            self.rest.clear();
        }
        let elements = bytes.chunks_exact(size);
        self.rest.extend_from_slice(elements.remainder());
        elements.for_each(|element| each(self.value(element)));
    }

    fn value(&self, element: &[u8]) -> f64 {
        let is_time =
            matches!(self.scalar.kind(), ScalarKind::Datetime(_) | ScalarKind::Timedelta(_));
        match self.scalar.decode(element) {
            Some(Number::Int(value)) if is_time && value == i64::MIN.into() => f64::NAN,
            number => number.and_then(Number::to_float).unwrap_or(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(datatype: &str, pieces: &[&[u8]]) -> Vec<f64> {
        let mut values = Values::new(&Datatype::parse(datatype).unwrap()).unwrap();
        let mut found = Vec::new();
        for piece in pieces {
            values.push(piece, |value| found.push(value));
        }
        found
    }

    #[test]
    fn elements_may_be_split_between_pieces_at_any_byte() {
        assert_eq!(values(">u2", &[&[0], &[1, 0], &[2], &[], &[0, 3, 0]]), [1.0, 2.0, 3.0]);
        assert_eq!(values(">u4", &[&[0], &[0], &[1], &[2, 0]]), [258.0]);
    }

    #[test]
    fn booleans_become_0_or_1_and_nat_becomes_nan() {
        assert_eq!(values("|b1", &[&[0, 1, 1]]), [0.0, 1.0, 1.0]);
        let times = values("<M8[s]", &[&7_i64.to_le_bytes(), &i64::MIN.to_le_bytes()]);
        assert_eq!(times[0], 7.0);
        assert!(times[1].is_nan());
    }

    #[test]
    fn unsupported_types_are_rejected_with_the_reason_and_the_type() {
        for (datatype, reason) in [
            ("<c16", "complex numbers cannot be drawn; the type is <c16"),
            ("|S5", "booleans, dates and time spans can be drawn; the type is |S5"),
            ("<f16", "booleans, dates and time spans can be drawn; the type is <f16"),
        ] {
            let error = Values::new(&Datatype::parse(datatype).unwrap()).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
