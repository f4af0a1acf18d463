//! Byte order: which bytes of an element to reverse.
//!
//! A scalar is one or more components of one width: both halves of a complex number and each
//! character of `ucs4` are reversed alone. In a record each field has its own order, so that only
//! some of its parts may have to change.

use std::ops::Range;

use binio::Endian;

use crate::ndarray::dtype::{Datatype, Record};

/// The order that numbers are wanted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// That of this machine.
    #[default]
    Native,
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// As stored: nothing changes.
    Stored,
}

impl Order {
    /// The order to convert to; `None` to leave all as stored.
    fn target(self) -> Option<Endian> {
        match self {
            Self::Native => Some(Endian::NATIVE),
            Self::Little => Some(Endian::Little),
            Self::Big => Some(Endian::Big),
            Self::Stored => None,
        }
    }
}

/// What to do to each element to change its byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Swap {
    /// Nothing.
    None,
    /// Reverse every component of so many bytes; the element is made of such only.
    Width(usize),
    /// Reverse inside these parts of the element only.
    Parts(Vec<Part>),
}

/// Some elements side by side inside a larger one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    range: Range<usize>,
    /// Bytes of each; never 0.
    item: usize,
    swap: Swap,
}

impl Swap {
    /// What turns elements of the stored order into the wanted one.
    pub(crate) fn new(datatype: &Datatype, stored: Endian, wanted: Order) -> Self {
        let Some(target) = wanted.target() else { return Self::None };
        match datatype {
            Datatype::Scalar(scalar) => match scalar.component_width() {
                1 => Self::None,
                _ if stored == target => Self::None,
                width => Self::Width(width),
            },
            Datatype::Record(record) => Self::of_record(record, wanted),
        }
    }

    fn of_record(record: &Record, wanted: Order) -> Self {
        let mut parts = Vec::new();
        let ends = record.fields().iter().skip(1).map(crate::ndarray::dtype::Field::offset);
        for (field, end) in record.fields().iter().zip(ends.chain([record.size()])) {
            let swap = Self::new(field.datatype(), field.byteorder(), wanted);
            // A record that does not fit into memory is never read.
            let numbers =
                (field.offset().try_into(), end.try_into(), field.datatype().size().try_into());
            if let (Ok(start), Ok(end), Ok(item)) = numbers {
                if swap != Self::None && item > 0 && start < end {
                    parts.push(Part { range: start..end, item, swap });
                }
            }
        }
        if parts.is_empty() { Self::None } else { Self::Parts(parts) }
    }

    /// Changes whole elements in place.
    pub(crate) fn apply(&self, bytes: &mut [u8], item: usize) {
        match self {
            Self::None => {}
            Self::Width(width) => {
                let swapped = binio::swap_in_place(bytes, *width);
                debug_assert!(swapped.is_ok(), "whole elements are whole components");
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
    use crate::ndarray::dtype::{Field, ScalarType};

    fn swapped(datatype: &Datatype, stored: Endian, wanted: Order, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let item = usize::try_from(datatype.size()).unwrap();
        Swap::new(datatype, stored, wanted).apply(&mut bytes, item);
        bytes
    }

    #[test]
    fn the_halves_of_a_complex_number_are_swapped_alone() {
        let datatype = ScalarType::Complex64.into();
        let out = swapped(&datatype, Endian::Big, Order::Little, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(out, [4, 3, 2, 1, 8, 7, 6, 5]);
    }

    #[test]
    fn characters_are_swapped_alone() {
        let datatype = ScalarType::Ucs4(2).into();
        let out = swapped(&datatype, Endian::Little, Order::Big, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(out, [4, 3, 2, 1, 8, 7, 6, 5]);
    }

    #[test]
    fn stored_order_and_single_bytes_stay() {
        let int: Datatype = ScalarType::Int32.into();
        assert_eq!(Swap::new(&int, Endian::Big, Order::Stored), Swap::None);
        assert_eq!(Swap::new(&int, Endian::Big, Order::Big), Swap::None);
        assert_eq!(Swap::new(&ScalarType::Ascii(9).into(), Endian::Big, Order::Little), Swap::None);
        assert_eq!(Swap::new(&int, Endian::NATIVE, Order::Native), Swap::None);
    }

    #[test]
    fn each_field_of_a_record_has_its_own_order() {
        let inner = Record::packed(vec![
            Field::new("p", ScalarType::Uint8.into(), Endian::Big, vec![]),
            Field::new("q", ScalarType::Uint16.into(), Endian::Big, vec![]),
        ]);
        let record = Record::packed(vec![
            Field::new("a", ScalarType::Uint16.into(), Endian::Big, vec![2]),
            Field::new("b", ScalarType::Uint16.into(), Endian::Little, vec![]),
            Field::new("c", Datatype::Record(inner.unwrap()), Endian::Little, vec![2]),
        ]);
        let datatype = Datatype::Record(record.unwrap());
        let bytes: Vec<u8> = (1..=24).collect();
        let once = [2, 1, 4, 3, 5, 6, 7, 9, 8, 10, 12, 11];
        let twice = [once, once.map(|b| b + 12)].concat();
        assert_eq!(swapped(&datatype, Endian::Little, Order::Little, &bytes), twice);
    }
}
