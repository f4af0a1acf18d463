//! Converting arrays to types that numpy supports.
//!
//! | Dudley | numpy |
//! |---|---|
//! | `U1`, `U2`: text in UTF-8, UTF-16 | `U`: 4-byte characters |
//! | `c4`: complex numbers made of two `f2` | `c8` |

use binio::array::half::f16;
use binio::array::{
    self, ByteOrder, Datatype, Field, Order, Record, ScalarKind, ScalarType, Strided,
};
use binio::{Bytes, Endian};

use super::bytes::FileBytes;
use super::value::Array;
use crate::error::Error;

/// Converts an array to a type that numpy supports. If numpy already supports its type, returns a view of the
/// same data. Otherwise, returns a packed copy in memory, in which text has 4-byte characters and
/// half-precision complex numbers become single-precision.
///
/// # Errors
///
/// Fails with [`Read`](crate::ErrorKind::Read) if the array cannot be read, if the copy exceeds
/// [`max_alloc`](binio::Limits::max_alloc), or if a string is not valid UTF-8 or UTF-16.
pub fn for_numpy(array: &Array) -> Result<Array, Error> {
    let Some(datatype) = widened(array.datatype()).map_err(binio::Error::from)? else {
        return Ok(array.clone());
    };
    let (from, to) = (size(array.datatype()), size(&datatype));
    let stored = array.read_bytes(Order::C, ByteOrder::Stored)?;
    let count = usize::try_from(array.len()).unwrap_or(usize::MAX);
    let len = count.saturating_mul(to) as u64;
    array.limits().check_alloc("bytes of an array for numpy", len)?;
    let mut out = binio::memory::reserve("an array for numpy", len)?;
    out.resize(count.saturating_mul(to), 0);
    if from > 0 {
        let elements = stored.chunks_exact(from).zip(out.chunks_exact_mut(to.max(1)));
        for (number, (element, wide)) in elements.enumerate() {
            widen(array.datatype(), &datatype, element, wide).map_err(|message| {
                let index = number as u64;
                binio::Error::from(array::ElementsError::Element { index, message })
            })?;
        }
    }
    let shape = array.shape().to_vec();
    let strided =
        Strided::packed(shape, Order::C, 0, to as u64, len).map_err(binio::Error::from)?;
    let source = FileBytes::new(Bytes::from(out));
    Ok(Array::new(source, datatype, strided, *array.limits()).map_err(binio::Error::from)?)
}

fn size(datatype: &Datatype) -> usize {
    usize::try_from(datatype.itemsize()).unwrap_or(usize::MAX)
}

/// Returns the numpy type to which elements must be converted, or `None` if numpy supports their
/// type.
fn widened(datatype: &Datatype) -> Result<Option<Datatype>, array::ElementsError> {
    match datatype {
        Datatype::Scalar(scalar) => {
            let (kind, size) = match (scalar.kind(), scalar.size()) {
                (ScalarKind::Utf8, size) => (ScalarKind::Unicode, size.saturating_mul(4)),
                (ScalarKind::Utf16, size) => (ScalarKind::Unicode, size.saturating_mul(2)),
                (ScalarKind::Complex, 4) => (ScalarKind::Complex, 8),
                _ => return Ok(None),
            };
            Ok(Some(ScalarType::new(kind, size, scalar.endian())?.into()))
        }
        Datatype::Record(record) => {
            let fields: Vec<_> = record
                .fields()
                .iter()
                .map(|field| Ok((field, widened(field.datatype())?)))
                .collect::<Result<_, array::ElementsError>>()?;
            if fields.iter().all(|(_, wide)| wide.is_none()) {
                return Ok(None);
            }
            let field = |(field, wide): (&Field, Option<Datatype>)| {
                let datatype = wide.unwrap_or_else(|| field.datatype().clone());
                Field::new(field.name(), datatype).with_shape(field.shape().to_vec())
            };
            let fields = fields.into_iter().map(field).collect();
            Ok(Some(Record::packed(fields)?.into()))
        }
    }
}

/// Converts one element from type `from` to type `to`.
fn widen(from: &Datatype, to: &Datatype, bytes: &[u8], out: &mut [u8]) -> Result<(), String> {
    match (from, to) {
        (Datatype::Scalar(from), Datatype::Scalar(to)) if from == to => out.copy_from_slice(bytes),
        (Datatype::Scalar(from), Datatype::Scalar(_)) => {
            let endian = from.endian();
            match from.kind() {
                ScalarKind::Complex => {
                    for (half, wide) in bytes.chunks_exact(2).zip(out.chunks_exact_mut(4)) {
                        let half = f16::from_bits(endian.u16(half)).to_f32();
                        wide.copy_from_slice(&endian.bytes(half.to_bits()));
                    }
                }
                ScalarKind::Utf8 => {
                    let text = std::str::from_utf8(trimmed(bytes, 1)).map_err(|e| e.to_string())?;
                    put(text.chars(), endian, out);
                }
                _ => {
                    let units = trimmed(bytes, 2).chunks_exact(2).map(|unit| endian.u16(unit));
                    let text = char::decode_utf16(units).collect::<Result<Vec<char>, _>>();
                    put(text.map_err(|_| "unpaired surrogate in UTF-16")?.into_iter(), endian, out);
                }
            }
        }
        (Datatype::Record(from), Datatype::Record(to)) => {
            for (from, to) in from.fields().iter().zip(to.fields()) {
                let (each, wide) = (size(from.datatype()), size(to.datatype()));
                let [start, begin] = [from.offset(), to.offset()]
                    .map(|at| usize::try_from(at).unwrap_or(usize::MAX));
                let count = array::count(from.shape()).unwrap_or(0);
                if each == 0 {
                    continue;
                }
                for number in 0..usize::try_from(count).unwrap_or(0) {
                    let bytes = &bytes[start + number * each..][..each];
                    let out = &mut out[begin + number * wide..][..wide];
                    widen(from.datatype(), to.datatype(), bytes, out)?;
                }
            }
        }
        _ => out.copy_from_slice(bytes),
    }
    Ok(())
}

/// Returns the bytes without trailing zero code units.
fn trimmed(bytes: &[u8], unit: usize) -> &[u8] {
    let is_text = |unit: &[u8]| unit.iter().any(|&byte| byte != 0);
    let units = bytes.chunks_exact(unit).rposition(is_text).map_or(0, |last| last + 1);
    &bytes[..units * unit]
}

fn put(characters: impl Iterator<Item = char>, endian: Endian, out: &mut [u8]) {
    for (character, wide) in characters.zip(out.chunks_exact_mut(4)) {
        wide.copy_from_slice(&endian.bytes(character.into()));
    }
}

/// Conversions between numbers and bytes for a given byte order.
trait Numbers {
    fn u16(self, bytes: &[u8]) -> u16;
    fn bytes(self, number: u32) -> [u8; 4];
}

impl Numbers for Endian {
    fn u16(self, bytes: &[u8]) -> u16 {
        let pair = [bytes[0], bytes[1]];
        if self == Self::Big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
    }

    fn bytes(self, number: u32) -> [u8; 4] {
        if self == Self::Big { number.to_be_bytes() } else { number.to_le_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use crate::file::for_numpy;
    use crate::{File, Layout};

    fn shown(layout: &str, bytes: &[u8]) -> String {
        let file = File::from_bytes(bytes.to_vec(), Layout::parse(layout).unwrap()).unwrap();
        let array = for_numpy(&file.get("x").unwrap()).unwrap();
        let mut out = Vec::new();
        array.write_elements(&mut out, binio::array::PrintStyle::Json, None).unwrap();
        format!("{} {}", array.datatype(), String::from_utf8(out).unwrap())
    }

    #[test]
    fn utf8_and_utf16_text_is_converted_to_four_bytes_per_character() {
        assert_eq!(shown("< x = U1[2, 3]", "é!a\0\0".as_bytes()), r#"<U3 ["é!", "a"]"#);
        assert_eq!(shown("> x = U2[2]", &[0x26, 0x3a, 0, 0]), r#">U2 "☺""#);
        assert_eq!(shown("< x = S1[2]", b"ab"), r#"|S2 "ab""#);
    }

    #[test]
    fn half_precision_complex_numbers_become_single_precision() {
        assert_eq!(shown("< x = c4", &[0, 0x3c, 0, 0xc0]), "<c8 {\"$complex\":[1.0,-2.0]}");
    }

    #[test]
    fn struct_members_are_converted_and_keep_their_order() {
        let shown = shown("< x = { n = i1  t = U1[2]  z = i1 }[2]", b"\x01ab\x02\x03c\0\x04");
        assert!(shown.starts_with("[('n', '|i1'), ('t', '<U2'), ('z', '|i1')] "), "{shown}");
        assert!(shown.ends_with(r#"[{"n":1,"t":"ab","z":2}, {"n":3,"t":"c","z":4}]"#));
    }
}
