//! The Rust types that elements are read as.
//!
//! | Rust | datatype |
//! |---|---|
//! | `i8 i16 i32 i64`, `u8 u16 u32 u64`, `f32 f64` | that of the same name |
//! | [`half::f16`] | `float16` |
//! | [`Complex<f32>`](num_complex::Complex), `Complex<f64>` | `complex64`, `complex128` |
//! | `bool` | `bool8` |
//! | `u8` | also the bytes of `bool8` and of `[ascii, n]`, n for each element |
//! | `u32` | also the code points of `[ucs4, n]`, n for each element, whether valid or not |
//!
//! Nothing is converted from one number type to another: asking for the wrong type is an error.

use bytes::Bytes;
use half::f16;
use num_complex::Complex;

use crate::error::{Error, ErrorKind, Result};
use crate::ndarray::dtype::ScalarType;
use crate::ndarray::extent::Strided;
use crate::ndarray::swap::Swap;
use crate::ndarray::tile;

/// A type that elements can be read as; see the [table](self).
pub trait Element: sealed::Storage {}

/// Elements that are in memory.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'m> {
    pub(crate) data: &'m [u8],
    /// Where the data begins, in the terms of the array's offset.
    pub(crate) start: u64,
    pub(crate) array: &'m Strided,
    pub(crate) swap: &'m Swap,
}

pub(crate) mod sealed {
    use super::{InMemory, Result, ScalarType};

    /// Fills a buffer with the elements' bytes in native order.
    pub(crate) type Fill<'f> = &'f mut dyn FnMut(&mut [u8]) -> Result<()>;

    pub trait Storage: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
        /// Its name in messages.
        const NAME: &'static str;
        /// How many of this type one element is; `None` when it is not of this type.
        fn per_element(scalar: ScalarType) -> Option<u64>;
        /// `len` elements filled from bytes.
        fn collect(len: usize, fill: Fill<'_>) -> Result<Vec<Self>>;
        /// Fills elements that exist from bytes.
        fn fill(out: &mut [Self], fill: Fill<'_>) -> Result<()>;
        /// Appends elements that are in memory, where that is faster than to fill them; else
        /// `None`, and nothing done.
        fn append(elements: InMemory<'_>, out: &mut Vec<Self>) -> Option<()>;
        /// The bytes as elements without a copy; `None` when they are not aligned or this type
        /// is not any bytes.
        fn borrow(bytes: &[u8]) -> Option<&[Self]>;
    }
}

/// A page that is worth asking for.
const LARGE_PAGE: usize = 2 << 20;

/// More than what an allocator writes before its memory.
const HEADER: usize = 64;

/// From this size on, allocators take memory from the system for one vector alone.
pub(crate) const OWN_MEMORY: usize = 32 << 20;

/// How many elements to ask for where `len` are wanted. Linux aligns memory to large pages only if
/// it is a whole number of them, less the allocator's header; and the hint ends with the last whole
/// small page, so that the last large page is not one. What is asked for in addition is never
/// touched, and so costs nothing.
fn with_whole_pages<T>(len: usize) -> usize {
    let size = size_of::<T>().max(1);
    let bytes = len.checked_mul(size).filter(|&bytes| bytes > OWN_MEMORY);
    let pages =
        bytes.and_then(|bytes| bytes.checked_add(HEADER)?.checked_next_multiple_of(LARGE_PAGE));
    let asked = pages.and_then(|pages| pages.checked_add(LARGE_PAGE - HEADER));
    asked.map_or(len, |bytes| bytes / size)
}

/// A vector of zeros, or the error of an allocator that has no more.
fn zeroed<T: bytemuck::Zeroable>(len: usize) -> Result<Vec<T>> {
    let mut out = bytemuck::allocation::try_zeroed_vec(with_whole_pages::<T>(len))
        .map_err(|()| out_of_memory(len))?;
    // In time: the zeros of a large vector are only promised until it is written to.
    binio::prefer_huge_pages(&mut out);
    out.truncate(len);
    Ok(out)
}

fn out_of_memory(len: usize) -> Error {
    let requested = u64::try_from(len).unwrap_or(u64::MAX);
    ErrorKind::OutOfMemory { what: "an array", requested }.into()
}

/// Room for so many elements, or the error of an allocator that has no more.
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    out.try_reserve_exact(with_whole_pages::<T>(len)).map_err(|_| out_of_memory(len))?;
    binio::prefer_huge_pages(&mut out);
    Ok(out)
}

/// Bytes of zero.
pub(crate) fn zeroed_bytes(len: usize) -> Result<Vec<u8>> {
    zeroed(len)
}

macro_rules! elements {
    ($($type:ty, $name:literal, $($pattern:pat => $count:expr),+;)+) => {$(
        impl Element for $type {}

        impl sealed::Storage for $type {
            const NAME: &'static str = $name;

            fn per_element(scalar: ScalarType) -> Option<u64> {
                match scalar {
                    $($pattern => Some($count),)+
                    _ => None,
                }
            }

            fn collect(len: usize, fill: sealed::Fill<'_>) -> Result<Vec<Self>> {
                let mut out = zeroed(len)?;
                Self::fill(&mut out, fill)?;
                Ok(out)
            }

            fn fill(out: &mut [Self], fill: sealed::Fill<'_>) -> Result<()> {
                fill(bytemuck::cast_slice_mut(out))
            }

            fn append(elements: InMemory<'_>, out: &mut Vec<Self>) -> Option<()> {
                tile::append(elements, out)
            }

            fn borrow(bytes: &[u8]) -> Option<&[Self]> {
                bytemuck::try_cast_slice(bytes).ok()
            }
        }
    )+};
}

elements! {
    i8, "i8", ScalarType::Int8 => 1;
    i16, "i16", ScalarType::Int16 => 1;
    i32, "i32", ScalarType::Int32 => 1;
    i64, "i64", ScalarType::Int64 => 1;
    u8, "u8", ScalarType::Uint8 | ScalarType::Bool8 => 1, ScalarType::Ascii(length) => length;
    u16, "u16", ScalarType::Uint16 => 1;
    u32, "u32", ScalarType::Uint32 => 1, ScalarType::Ucs4(length) => length;
    u64, "u64", ScalarType::Uint64 => 1;
    f16, "f16", ScalarType::Float16 => 1;
    f32, "f32", ScalarType::Float32 => 1;
    f64, "f64", ScalarType::Float64 => 1;
    Complex<f32>, "Complex<f32>", ScalarType::Complex64 => 1;
    Complex<f64>, "Complex<f64>", ScalarType::Complex128 => 1;
}

impl Element for bool {}

impl sealed::Storage for bool {
    const NAME: &'static str = "bool";

    fn per_element(scalar: ScalarType) -> Option<u64> {
        (scalar == ScalarType::Bool8).then_some(1)
    }

    fn collect(len: usize, fill: sealed::Fill<'_>) -> Result<Vec<Self>> {
        let mut bytes = zeroed_bytes(len)?;
        fill(&mut bytes)?;
        Ok(bytes.into_iter().map(|byte| byte != 0).collect())
    }

    fn fill(out: &mut [Self], fill: sealed::Fill<'_>) -> Result<()> {
        let truths = Self::collect(out.len(), fill)?;
        out.copy_from_slice(&truths);
        Ok(())
    }

    fn append(_: InMemory<'_>, _: &mut Vec<Self>) -> Option<()> {
        None
    }

    fn borrow(_: &[u8]) -> Option<&[Self]> {
        None
    }
}

/// The elements of an array: borrowed from the block's memory where they lie there as the machine
/// wants them, else a copy. It is a slice to its user.
#[derive(Clone, Debug)]
pub struct Elements<T: Element>(Place<T>);

#[derive(Clone, Debug)]
enum Place<T> {
    /// Memory of the block. Checked to be castable when it was made.
    Shared(Bytes),
    Owned(Vec<T>),
}

impl<T: Element> Elements<T> {
    /// The bytes as elements, if they need no change.
    pub(crate) fn shared(bytes: Bytes) -> Option<Self> {
        T::borrow(&bytes)?;
        Some(Self(Place::Shared(bytes)))
    }

    pub(crate) fn owned(elements: Vec<T>) -> Self {
        Self(Place::Owned(elements))
    }

    /// Whether the memory is that of the block: nothing was copied.
    pub fn is_borrowed(&self) -> bool {
        matches!(self.0, Place::Shared(_))
    }

    /// The elements as a vector; copies those that are borrowed.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Place::Owned(elements) => elements,
            Place::Shared(_) => self.to_vec(),
        }
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

#[cfg(test)]
mod tests {
    use super::sealed::Storage;
    use super::*;

    #[test]
    fn every_datatype_but_records_has_a_type() {
        assert_eq!(<f64 as Storage>::per_element(ScalarType::Float64), Some(1));
        assert_eq!(<f64 as Storage>::per_element(ScalarType::Float32), None);
        assert_eq!(<u8 as Storage>::per_element(ScalarType::Ascii(5)), Some(5));
        assert_eq!(<u32 as Storage>::per_element(ScalarType::Ucs4(3)), Some(3));
        assert_eq!(<i8 as Storage>::per_element(ScalarType::Bool8), None);
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        let truths = bool::collect(3, &mut |bytes| {
            bytes.copy_from_slice(&[0, 1, 7]);
            Ok(())
        });
        assert_eq!(truths.unwrap(), [false, true, true]);
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
}
