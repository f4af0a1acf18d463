//! Changing the byte order of elements.
//!
//! A scalar consists of components of the same width, such as the two parts of a complex number or
//! the characters of `U`. The bytes of each component are reversed separately. The fields of a
//! record have their own byte orders, so some fields may change while others are kept. Padding
//! never changes.

use std::ops::Range;

use crate::array::{ByteOrder, Datatype, ElementsError, Record};
use crate::error::elements::datatype as invalid;

/// A change to the byte order of each element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    /// No change.
    None,
    /// Reverse the bytes of every component. All components have this width in bytes.
    Width(usize),
    /// Only change these parts of the element.
    Parts(Vec<Part>),
}

/// Contiguous elements inside a larger element, such as the elements of a record's field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    range: Range<usize>,
    /// Size of each element in bytes, never 0.
    item: usize,
    swap: Swap,
}

impl Swap {
    /// Returns the change from the stored byte order of a type to the byte order `wanted`.
    ///
    /// Fails with [`ElementsError::Datatype`] if a field of a record would have to change, but
    /// overlaps another field. Fields that cover the same bytes and change in the same way are
    /// allowed.
    pub(crate) fn new(datatype: &Datatype, wanted: ByteOrder) -> Result<Self, ElementsError> {
        let Some(target) = wanted.target() else { return Ok(Self::None) };
        Ok(match datatype {
            Datatype::Scalar(scalar) => match scalar.component_width() {
                1 => Self::None,
                _ if scalar.endian() == target => Self::None,
                width => Self::Width(width),
            },
            Datatype::Record(record) => Self::of_record(record, wanted)?,
        })
    }

    fn of_record(record: &Record, wanted: ByteOrder) -> Result<Self, ElementsError> {
        let mut parts: Vec<Part> = Vec::new();
        for field in record.fields() {
            let swap = Self::new(field.datatype(), wanted)?;
            let end = field.offset().saturating_add(field.size());
            // Ignore fields that exceed the address space, since such a record is never read.
            let numbers =
                (field.offset().try_into(), end.try_into(), field.datatype().itemsize().try_into());
            if let (Ok(start), Ok(end), Ok(item)) = numbers {
                if item > 0 && start < end {
                    parts.push(Part { range: start..end, item, swap });
                }
            }
        }
        parts.sort_by_key(|part| (part.range.start, part.range.end));
        // Two identical parts are the same bytes under two names, so change them only once.
        parts.dedup();
        // The end of all previous parts, and the end of the previous parts that change.
        let (mut end, mut changed_end) = (0, 0);
        for Part { range, swap, .. } in &parts {
            let changes = *swap != Self::None;
            if range.start < if changes { end } else { changed_end } {
                return Err(invalid("the byte order of overlapping fields cannot be changed"));
            }
            end = end.max(range.end);
            if changes {
                changed_end = range.end;
            }
        }
        parts.retain(|part| part.swap != Self::None);
        Ok(if parts.is_empty() { Self::None } else { Self::Parts(parts) })
    }

    /// Changes the byte order in place. `bytes` consists of whole elements of `item` bytes.
    pub(crate) fn apply(&self, bytes: &mut [u8], item: usize) {
        match self {
            Self::None => {}
            Self::Width(width) => {
                let swapped = crate::number::swap_in_place(bytes, *width);
                debug_assert!(swapped.is_ok(), "whole elements consist of whole components");
            }
            Self::Parts(parts) => {
                for element in bytes.chunks_exact_mut(item.max(1)) {
                    for part in parts {
                        if let Some(bytes) = element.get_mut(part.range.clone()) {
                            part.swap.apply(bytes, part.item);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swapped(datatype: &str, wanted: ByteOrder, bytes: &[u8]) -> Vec<u8> {
        let datatype = Datatype::parse(datatype).unwrap();
        let mut bytes = bytes.to_vec();
        let item = usize::try_from(datatype.itemsize()).unwrap();
        Swap::new(&datatype, wanted).unwrap().apply(&mut bytes, item);
        bytes
    }

    #[test]
    fn complex_numbers_and_strings_are_swapped_by_component() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(swapped(">c8", ByteOrder::Little, &bytes), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(swapped("<U2", ByteOrder::Big, &bytes), [4, 3, 2, 1, 8, 7, 6, 5]);
        assert_eq!(swapped("<M8[s]", ByteOrder::Big, &bytes), [8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn numbers_in_the_wanted_order_and_single_bytes_are_not_swapped() {
        for (datatype, wanted) in [
            (">i4", ByteOrder::Stored),
            (">i4", ByteOrder::Big),
            ("|S9", ByteOrder::Little),
            ("|V8", ByteOrder::Big),
        ] {
            let datatype = Datatype::parse(datatype).unwrap();
            assert_eq!(Swap::new(&datatype, wanted).unwrap(), Swap::None, "{datatype}");
        }
        assert_eq!(Swap::new(&Datatype::of::<i32>(), ByteOrder::Native).unwrap(), Swap::None);
    }

    #[test]
    fn each_field_of_a_record_is_swapped_according_to_its_own_order() {
        let record =
            "[('a', '>u2', (2,)), ('b', '<u2'), ('c', [('p', '|u1'), ('q', '>u2')], (2,))]";
        let bytes: Vec<u8> = (1..=24).collect();
        let once = [2, 1, 4, 3, 5, 6, 7, 9, 8, 10, 12, 11];
        let twice = [once, once.map(|b| b + 12)].concat();
        assert_eq!(swapped(record, ByteOrder::Little, &bytes), twice);
    }

    #[test]
    fn padding_is_not_swapped_and_overlapping_fields_are_swapped_once_or_rejected() {
        assert_eq!(
            swapped("[('a', '>u2'), ('', '|V2')]", ByteOrder::Little, &[1, 2, 3, 4]),
            [2, 1, 3, 4]
        );
        let with = |formats: &str| {
            let names = "'names': ['a', 'b'], 'offsets': [0, 0]";
            Datatype::parse(&format!("{{{names}, 'formats': {formats}}}")).unwrap()
        };
        let same = Swap::new(&with("['>u4', '>i4']"), ByteOrder::Little).unwrap();
        let mut bytes = [1, 2, 3, 4];
        same.apply(&mut bytes, 4);
        assert_eq!(bytes, [4, 3, 2, 1]);
        assert!(Swap::new(&with("['>u4', '>u2']"), ByteOrder::Little).is_err());
        assert!(Swap::new(&with("['>u4', '>u2']"), ByteOrder::Big).is_ok());
    }

    #[test]
    fn a_field_can_be_swapped_only_if_it_overlaps_no_field_that_is_kept() {
        let fields = |formats: &str, offsets: &str| {
            let names = ["a", "b", "c"];
            let dict =
                format!("{{'names': {names:?}, 'formats': {formats}, 'offsets': {offsets}}}");
            Swap::new(&Datatype::parse(&dict).unwrap(), ByteOrder::Little)
        };
        for (formats, offsets, is_accepted) in [
            ("['>u4', '|u1', '|u1']", "[0, 4, 5]", true),
            ("['>u4', '|u1', '|u1']", "[0, 3, 4]", false),
            ("['|u1', '|u1', '>u4']", "[0, 1, 1]", false),
            // The first field contains the other two fields, which do not overlap.
            ("['|V8', '|u1', '>u2']", "[0, 1, 4]", false),
            ("['|V8', '|u1', '<u2']", "[0, 1, 4]", true),
        ] {
            assert_eq!(fields(formats, offsets).is_ok(), is_accepted, "{formats} {offsets}");
        }
    }
}
