//! The Rust types that array elements can be read as.

use std::iter::FusedIterator;
use std::ops::Range;

use bytes::Bytes;
use half::f16;
use num_complex::Complex;

use crate::array::{ScalarKind, ScalarType};

/// A Rust type that elements can be read as.
///
/// | Rust | datatype |
/// |---|---|
/// | `i8 i16 i32 i64`, `u8 u16 u32 u64` | `i1 i2 i4 i8`, `u1 u2 u4 u8` |
/// | [`half::f16`], `f32`, `f64` | `f2 f4 f8` |
/// | [`Complex<f32>`](num_complex::Complex), `Complex<f64>` | `c8 c16` |
/// | `bool` | `b1`; any nonzero byte is true |
/// | `i64` | also `M8` and `m8`: the number of units |
/// | `u8` | also `b1`, and the bytes of `S`, `V` and UTF-8, several per element |
/// | `u16` | also the units of UTF-16 |
/// | `u32` | also the code points of `U`, whether valid or not |
/// | `f16` | also the parts of `c4`, two per element |
///
/// Numbers are never converted from one type to another: requesting the wrong type is an error.
///
/// ```
/// use binio::{Bytes, Limits};
/// use binio::array::{Array, Datatype, Element, Order, Strided};
///
/// let layout = Strided::packed(vec![2], Order::C, 0, 4, 8)?;
/// let data = Bytes::from_static(&[0, 0, 0, 1, 0, 0, 0, 2]);
/// let array = Array::new(data, Datatype::parse(">i4")?, layout, Limits::default())?;
/// fn sum<T: Element + std::iter::Sum>(array: &Array<Bytes>) -> binio::Result<T> {
///     Ok(array.read::<T>()?.into_iter().sum())
/// }
/// assert_eq!(sum::<i32>(&array)?, 3);
/// assert!(sum::<i64>(&array).is_err());
/// # Ok::<(), binio::Error>(())
/// ```
pub trait Element: sealed::Storage {}

pub(crate) mod sealed {
    use super::ScalarKind;

    pub trait Storage: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
        /// Name of the type, for use in messages.
        const NAME: &'static str;
        /// The scalar kind that corresponds to this Rust type.
        const KIND: ScalarKind;
        /// The scalar kinds besides `KIND` whose components can be read as this type if the sizes
        /// match.
        const PARTS_OF: &'static [ScalarKind];
        /// The type of the elements while they are read. It is `u8` for `bool`, because not every
        /// byte is a valid `bool`, and `Self` for all other types.
        type Raw: bytemuck::Pod + Send + Sync;
        /// Converts elements of type `Raw` to this type.
        fn from_raw(raw: Vec<Self::Raw>) -> Vec<Self>;
        /// Returns the memory of the elements as a slice of bytes.
        fn as_bytes(elements: &[Self]) -> &[u8];
        /// Returns the memory of the elements as a mutable slice of bytes, or `None` if the type
        /// has invalid byte patterns, as `bool` does.
        fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]>;
        /// Returns the bytes as elements without copying. Returns `None` if the bytes are
        /// misaligned or not a whole number of elements, or if the type has invalid byte patterns.
        fn borrow(bytes: &[u8]) -> Option<&[Self]>;
    }
}

/// Returns the memory of a slice of elements as bytes, in native byte order.
///
/// ```
/// assert_eq!(binio::array::as_bytes(&[true, false]), [1, 0]);
/// assert_eq!(binio::array::as_bytes(&[0x0201_u16.to_le()]), [1, 2]);
/// ```
pub fn as_bytes<T: Element>(elements: &[T]) -> &[u8] {
    T::as_bytes(elements)
}

/// Converts a vector of elements to the bytes in its memory, in native byte order. Nothing is
/// copied.
///
/// ```
/// let elements = vec![0.5_f64, 1.5];
/// let memory = elements.as_ptr();
/// let bytes = binio::array::into_bytes(elements);
/// assert_eq!((bytes.as_ptr(), bytes.len()), (memory.cast(), 16));
/// ```
pub fn into_bytes<T: Element>(elements: Vec<T>) -> Bytes {
    Bytes::from_owner(Memory(elements))
}

/// The owner of a vector whose memory is shared as bytes.
struct Memory<T>(Vec<T>);

impl<T: Element> AsRef<[u8]> for Memory<T> {
    fn as_ref(&self) -> &[u8] {
        as_bytes(&self.0)
    }
}

/// Returns the number of values of type `T` per element, or `None` if an element does not consist
/// of `T` values.
pub(crate) fn per_element<T: Element>(scalar: ScalarType) -> Option<u64> {
    let size = size_of::<T>() as u64;
    let kind = match scalar.kind() {
        ScalarKind::Datetime(_) | ScalarKind::Timedelta(_) => ScalarKind::Int,
        kind => kind,
    };
    if kind == T::KIND && scalar.size() == size {
        return Some(1);
    }
    let is_part = T::PARTS_OF.contains(&kind) && scalar.component_width() as u64 == size;
    is_part.then(|| scalar.size() / size)
}

macro_rules! elements {
    ($($type:ty, $name:literal, $kind:expr, $parts_of:expr;)+) => {$(
        impl Element for $type {}

        impl sealed::Storage for $type {
            const NAME: &'static str = $name;
            const KIND: ScalarKind = $kind;
            const PARTS_OF: &'static [ScalarKind] = &$parts_of;
            type Raw = Self;

            fn from_raw(raw: Vec<Self>) -> Vec<Self> {
                raw
            }

            fn as_bytes(elements: &[Self]) -> &[u8] {
                bytemuck::cast_slice(elements)
            }

            fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::cast_slice_mut(elements))
            }

            fn borrow(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }
        }
    )+};
}

elements! {
    i8, "i8", ScalarKind::Int, [];
    i16, "i16", ScalarKind::Int, [];
    i32, "i32", ScalarKind::Int, [];
    i64, "i64", ScalarKind::Int, [];
    u8, "u8", ScalarKind::Uint, [ScalarKind::Bool, ScalarKind::Bytes, ScalarKind::Utf8, ScalarKind::Void];
    u16, "u16", ScalarKind::Uint, [ScalarKind::Utf16];
    u32, "u32", ScalarKind::Uint, [ScalarKind::Unicode];
    u64, "u64", ScalarKind::Uint, [];
    f16, "f16", ScalarKind::Float, [ScalarKind::Complex];
    f32, "f32", ScalarKind::Float, [];
    f64, "f64", ScalarKind::Float, [];
    Complex<f32>, "Complex<f32>", ScalarKind::Complex, [];
    Complex<f64>, "Complex<f64>", ScalarKind::Complex, [];
}

impl Element for bool {}

impl sealed::Storage for bool {
    const NAME: &'static str = "bool";
    const KIND: ScalarKind = ScalarKind::Bool;
    const PARTS_OF: &'static [ScalarKind] = &[];
    type Raw = u8;

    fn from_raw(raw: Vec<u8>) -> Vec<Self> {
        raw.into_iter().map(|byte| byte != 0).collect()
    }

    fn as_bytes(elements: &[Self]) -> &[u8] {
        bytemuck::cast_slice(elements)
    }

    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    fn borrow(_: &[u8]) -> Option<&[Self]> {
        None
    }
}

/// The elements of an array, which dereference to a slice. They are borrowed if they are contiguous
/// and aligned in memory and have the native byte order. Otherwise, and always for `bool`, they are
/// copied.
#[derive(Clone, Debug)]
pub struct Elements<T: Element>(Place<T>);

#[derive(Clone, Debug)]
enum Place<T> {
    /// Shared bytes of the data. The constructor has checked that they can be cast to elements.
    Shared(Bytes),
    Owned(Vec<T>),
}

impl<T: Element> Elements<T> {
    /// Borrows the elements from shared bytes, or returns `None` if they must be copied.
    pub(crate) fn shared(bytes: Bytes) -> Option<Self> {
        T::borrow(&bytes)?;
        Some(Self(Place::Shared(bytes)))
    }

    /// Returns `true` if the elements are borrowed from the bytes of the data instead of copied.
    /// The bytes may have been decoded for this purpose.
    pub fn is_borrowed(&self) -> bool {
        matches!(self.0, Place::Shared(_))
    }

    /// Returns the elements as a vector, copying them if they are borrowed.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Place::Owned(elements) => elements,
            Place::Shared(_) => self.to_vec(),
        }
    }
}

impl<T: Element> From<Vec<T>> for Elements<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(Place::Owned(elements))
    }
}

impl<T: Element> std::ops::Deref for Elements<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Shared(bytes) => T::borrow(bytes).unwrap_or_default(),
            Place::Owned(elements) => elements,
        }
    }
}

impl<T: Element> AsRef<[T]> for Elements<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

/// Compares the elements with the elements of any slice, vector or array.
impl<T: Element, R: AsRef<[T]> + ?Sized> PartialEq<R> for Elements<T> {
    fn eq(&self, other: &R) -> bool {
        **self == *other.as_ref()
    }
}

impl<'a, T: Element> IntoIterator for &'a Elements<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Element> IntoIterator for Elements<T> {
    type Item = T;
    type IntoIter = ElementsIntoIter<T>;

    fn into_iter(self) -> ElementsIntoIter<T> {
        ElementsIntoIter { rest: 0..self.len(), elements: self }
    }
}

/// An iterator over the elements of [`Elements`]. Borrowed elements are not copied to a vector
/// first.
#[derive(Clone, Debug)]
pub struct ElementsIntoIter<T: Element> {
    elements: Elements<T>,
    /// Indices of the elements not yet returned.
    rest: Range<usize>,
}

impl<T: Element> Iterator for ElementsIntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.elements.get(self.rest.next()?).copied()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<T: Element> DoubleEndedIterator for ElementsIntoIter<T> {
    fn next_back(&mut self) -> Option<T> {
        self.elements.get(self.rest.next_back()?).copied()
    }
}

impl<T: Element> ExactSizeIterator for ElementsIntoIter<T> {}

impl<T: Element> FusedIterator for ElementsIntoIter<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endian;

    fn per<T: Element>(text: &str) -> Option<u64> {
        per_element::<T>(ScalarType::parse(text).unwrap())
    }

    #[test]
    fn scalars_are_only_read_as_matching_types() {
        assert_eq!(
            (per::<f64>("<f8"), per::<f64>("<f4"), per::<f64>("<c16")),
            (Some(1), None, None)
        );
        assert_eq!(
            (per::<u8>("|S5"), per::<u8>("|V3"), per::<u8>("|b1")),
            (Some(5), Some(3), Some(1))
        );
        assert_eq!(
            (per::<u32>("<U3"), per::<u16>("<U3"), per::<u32>("|S4")),
            (Some(3), None, None)
        );
        assert_eq!(
            (per::<i64>("<M8[ns]"), per::<i64>(">m8"), per::<u64>("<m8")),
            (Some(1), Some(1), None)
        );
        assert_eq!(
            (per::<i8>("|b1"), per::<bool>("|b1"), per::<bool>("|u1")),
            (None, Some(1), None)
        );
        assert_eq!(
            (per::<f16>("<f2"), per::<f16>("<c8"), per::<u8>("<f16")),
            (Some(1), None, None)
        );
        let half_complex = ScalarType::new(ScalarKind::Complex, 4, Endian::Big).unwrap();
        assert_eq!(per_element::<f16>(half_complex), Some(2));
        let units = ScalarType::new(ScalarKind::Utf16, 6, Endian::Big).unwrap();
        assert_eq!((per_element::<u16>(units), per_element::<u8>(units)), (Some(3), None));
    }

    #[test]
    fn unaligned_bytes_are_not_borrowed() {
        let bytes = Bytes::from(vec![0_u8; 17]);
        assert!(Elements::<u8>::shared(bytes.slice(1..)).is_some());
        let aligned = bytes.as_ptr().align_offset(8) == 0;
        assert_eq!(Elements::<f64>::shared(bytes.slice(0..16)).is_some(), aligned);
        let aligned = bytes.as_ptr().align_offset(8) == 1;
        assert_eq!(Elements::<f64>::shared(bytes.slice(1..17)).is_some(), aligned);
    }

    #[test]
    fn elements_can_be_iterated_from_both_ends_and_compared_with_slices() {
        for elements in [
            Elements::from(vec![1u8, 2, 3]),
            Elements::shared(Bytes::from_static(&[1, 2, 3])).unwrap(),
        ] {
            assert_eq!(elements, [1, 2, 3]);
            assert_eq!(elements, vec![1, 2, 3]);
            assert_ne!(elements, [1, 2][..]);
            assert_eq!((&elements).into_iter().rev().copied().collect::<Vec<_>>(), [3, 2, 1]);
            let mut all = elements.clone().into_iter();
            assert_eq!((all.next(), all.next_back(), all.len()), (Some(1), Some(3), 1));
            assert_eq!((all.next(), all.next(), all.next_back()), (Some(2), None, None));
            assert_eq!(elements.into_iter().sum::<u8>(), 6);
        }
    }
}
