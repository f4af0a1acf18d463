//! The byte order of numbers.
//!
//! The same four bytes represent different numbers, depending on the byte order of the format or
//! field:
//!
//! ```text
//! bytes          00 00 01 02
//! Endian::Big    00000102 = 258          most significant byte first
//! Endian::Little 02010000 = 33619968     least significant byte first
//! ```
//!
//! [`ByteReader::read`](crate::number::ByteReader::read) reads single numbers. To convert whole
//! arrays in a single fast pass, use [`decode_into`] or, in place, [`swap_in_place`].

use std::borrow::Cow;

use byteorder::{BigEndian, ByteOrder, LittleEndian};

use crate::diagnostic::count;
use crate::{Error, Result};

/// The byte order of a number.
///
/// ```
/// use binio::Endian;
/// use binio::number::ByteReader;
///
/// let mut fields = ByteReader::new(&[0, 0, 1, 2, 2, 1, 0, 0]);
/// assert_eq!(fields.read::<u32>(Endian::Big)?, 258);
/// assert_eq!(fields.read::<u32>(Endian::Little)?, 258);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// A number type that can be read and written in either byte order: `u8` to `u128`, `i8` to `i128`,
/// `f32` or `f64`.
///
/// The trait is sealed, because the `byteorder` crate, which decodes the numbers, is not part of
/// this API.
pub trait Scalar: sealed::Number {
    /// Size of a number of this type in bytes.
    const SIZE: usize = size_of::<Self>();
}

mod sealed {
    use std::fmt::Debug;

    use super::Endian;

    /// Conversions for every number type. The lengths of `from` and `to` must match the size of the
    /// numbers exactly.
    pub trait Number: bytemuck::Pod + PartialEq + PartialOrd + Debug + Send + Sync {
        fn get(from: &[u8], endian: Endian) -> Self;
        fn put(self, to: &mut [u8], endian: Endian);
        fn get_all(from: &[u8], endian: Endian, to: &mut [Self]);
    }
}

macro_rules! scalars {
    ($($number:ty: $read:ident $write:ident $read_into:ident,)*) => {$(
        impl Scalar for $number {}

        impl sealed::Number for $number {
            #[inline]
            fn get(from: &[u8], endian: Endian) -> Self {
                match endian {
                    Endian::Little => LittleEndian::$read(from),
                    Endian::Big => BigEndian::$read(from),
                }
            }

            fn put(self, to: &mut [u8], endian: Endian) {
                match endian {
                    Endian::Little => LittleEndian::$write(to, self),
                    Endian::Big => BigEndian::$write(to, self),
                }
            }

            fn get_all(from: &[u8], endian: Endian, to: &mut [Self]) {
                match endian {
                    Endian::Little => LittleEndian::$read_into(from, to),
                    Endian::Big => BigEndian::$read_into(from, to),
                }
            }
        }
    )*};
}

scalars! {
    u16: read_u16 write_u16 read_u16_into,
    u32: read_u32 write_u32 read_u32_into,
    u64: read_u64 write_u64 read_u64_into,
    u128: read_u128 write_u128 read_u128_into,
    i16: read_i16 write_i16 read_i16_into,
    i32: read_i32 write_i32 read_i32_into,
    i64: read_i64 write_i64 read_i64_into,
    i128: read_i128 write_i128 read_i128_into,
    f32: read_f32 write_f32 read_f32_into,
    f64: read_f64 write_f64 read_f64_into,
}

macro_rules! single_byte_scalars {
    ($($number:ty),*) => {$(
        impl Scalar for $number {}

        impl sealed::Number for $number {
            #[inline]
            fn get(from: &[u8], _: Endian) -> Self {
                bytemuck::cast(from[0])
            }

            fn put(self, to: &mut [u8], _: Endian) {
                to[0] = bytemuck::cast(self);
            }

            fn get_all(from: &[u8], _: Endian, to: &mut [Self]) {
                bytemuck::cast_slice_mut(to).copy_from_slice(from);
            }
        }
    )*};
}

single_byte_scalars!(u8, i8);

/// Decodes an array of numbers into `out`.
///
/// ```
/// use binio::Endian;
/// use binio::number::decode_into;
///
/// let mut numbers = [0_u16; 2];
/// decode_into(&[1, 2, 3, 4], Endian::Big, &mut numbers)?;
/// assert_eq!(numbers, [0x0102, 0x0304]);
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Truncated`](crate::ErrorKind::Truncated) if `bytes` is too short for the length of
/// `out`, and with [`Invalid`](crate::ErrorKind::Invalid) if it is too long.
pub fn decode_into<T: Scalar>(bytes: &[u8], endian: Endian, out: &mut [T]) -> Result<()> {
    let needed = size_of_val(out);
    if bytes.len() < needed {
        return Err(Error::truncated(needed as u64, bytes.len() as u64));
    }
    if bytes.len() > needed {
        return Err(Error::invalid(format!(
            "expected {} for {}, found {}",
            count(needed, "byte"),
            count(out.len(), "number"),
            bytes.len()
        )));
    }
    T::get_all(bytes, endian, out);
    Ok(())
}

/// Decodes an array of numbers. The bytes are borrowed if their byte order and alignment match the
/// machine, and copied otherwise.
///
/// ```
/// use binio::Endian;
/// use binio::number::decode;
///
/// assert_eq!(decode::<i16>(&[0xff, 0xfe, 0, 1], Endian::Big)?, [-2, 1].as_slice());
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Invalid`](crate::ErrorKind::Invalid) if the length of `bytes` is not a multiple of
/// the size of a number.
pub fn decode<T: Scalar>(bytes: &[u8], endian: Endian) -> Result<Cow<'_, [T]>> {
    if endian == Endian::NATIVE || T::SIZE == 1 {
        if let Ok(numbers) = bytemuck::try_cast_slice(bytes) {
            return Ok(Cow::Borrowed(numbers));
        }
    }
    check_width(bytes.len(), T::SIZE)?;
    let mut numbers = vec![T::zeroed(); bytes.len() / T::SIZE];
    decode_into(bytes, endian, &mut numbers)?;
    Ok(Cow::Owned(numbers))
}

/// Reverses the bytes of each number in an array of `width`-byte numbers. The width must be 1, 2,
/// 4, 8 or 16. For complex numbers, use the width of their parts.
///
/// ```
/// let mut bytes = [1, 2, 3, 4];
/// binio::number::swap_in_place(&mut bytes, 2)?;
/// assert_eq!(bytes, [2, 1, 4, 3]);
/// # Ok::<(), binio::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Unsupported`](crate::ErrorKind::Unsupported) for any other width, and with
/// [`Invalid`](crate::ErrorKind::Invalid) if the length is not a multiple of the width. After an
/// error, the bytes are unchanged.
pub fn swap_in_place(bytes: &mut [u8], width: usize) -> Result<()> {
    if !matches!(width, 1 | 2 | 4 | 8 | 16) {
        return Err(Error::unsupported(format!(
            "changing the byte order of {width}-byte numbers, expected 1, 2, 4, 8 or 16 bytes"
        )));
    }
    check_width(bytes.len(), width)?;
    match width {
        2 => swap_each(bytes, |number| u16::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        4 => swap_each(bytes, |number| u32::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        8 => swap_each(bytes, |number| u64::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        16 => swap_each(bytes, |number| u128::from_ne_bytes(number).swap_bytes().to_ne_bytes()),
        _ => {}
    }
    Ok(())
}

/// Replaces each number with the result of `swap`. The numbers are fixed-size arrays, so that the
/// compiler can use vector shuffles.
fn swap_each<const N: usize>(bytes: &mut [u8], swap: impl Fn([u8; N]) -> [u8; N])
where
    [u8; N]: bytemuck::Pod,
{
    for number in bytemuck::cast_slice_mut::<u8, [u8; N]>(bytes) {
        *number = swap(*number);
    }
}

fn check_width(len: usize, width: usize) -> Result<()> {
    if len % width != 0 {
        let len = count(len, "byte");
        return Err(Error::invalid(format!("expected a multiple of {width} bytes, found {len}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn miri_bytes_are_decoded_in_the_documented_order() {
        let bytes = [0, 0, 1, 2];
        assert_eq!(decode::<u32>(&bytes, Endian::Big).unwrap(), [258].as_slice());
        assert_eq!(decode::<u32>(&bytes, Endian::Little).unwrap(), [33_619_968].as_slice());
    }

    #[test]
    #[allow(clippy::float_cmp, reason = "numbers that were only moved are equal exactly")]
    fn miri_every_scalar_decodes_what_the_standard_library_encodes() {
        macro_rules! check {
            ($($number:ty = $value:expr),*) => {$(
                let value: $number = $value;
                for (endian, bytes) in
                    [(Endian::Big, value.to_be_bytes()), (Endian::Little, value.to_le_bytes())]
                {
                    let two = [bytes, bytes].concat();
                    let mut out = [<$number>::default(); 2];
                    decode_into(&two, endian, &mut out).unwrap();
                    assert_eq!(out, [value; 2]);
                    assert_eq!(decode::<$number>(&two, endian).unwrap(), [value; 2].as_slice());
                    let mut back = vec![0; <$number>::SIZE];
                    sealed::Number::put(value, &mut back, endian);
                    assert_eq!(back, bytes);
                    assert_eq!(<$number as sealed::Number>::get(&back, endian), value);
                }
            )*};
        }
        check!(
            u8 = 0xfe,
            u16 = 0x0102,
            u32 = 0x0102_0304,
            u64 = 0x0102_0304_0506_0708,
            u128 = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10,
            i8 = -2,
            i16 = -300,
            i32 = -70_000,
            i64 = -1 << 40,
            i128 = -1 << 100,
            f32 = -1.5,
            f64 = 1e300
        );
    }

    #[test]
    fn miri_native_aligned_bytes_are_borrowed() {
        let numbers = [1_u32, 2, 3];
        let bytes = bytemuck::cast_slice(&numbers);
        assert!(matches!(decode::<u32>(bytes, Endian::NATIVE).unwrap(), Cow::Borrowed(_)));
        let other = if Endian::NATIVE == Endian::Big { Endian::Little } else { Endian::Big };
        assert!(matches!(decode::<u32>(bytes, other).unwrap(), Cow::Owned(_)));
        assert!(matches!(decode::<u32>(&bytes[1..5], Endian::NATIVE).unwrap(), Cow::Owned(_)));
    }

    #[test]
    fn a_wrong_length_or_number_width_is_rejected() {
        let mut out = [0_u32; 2];
        let short = decode_into(&[0; 7], Endian::Big, &mut out).unwrap_err();
        assert!(matches!(short.kind(), ErrorKind::Truncated { needed: 8, available: 7 }));
        let long = decode_into(&[0; 9], Endian::Big, &mut out).unwrap_err();
        assert_eq!(long.to_string(), "expected 8 bytes for 2 numbers, found 9");
        assert!(decode::<u32>(&[0; 7], Endian::Big).is_err());
        assert!(swap_in_place(&mut [0; 7], 2).is_err());
        assert!(swap_in_place(&mut [0; 6], 3).is_err());
        assert!(swap_in_place(&mut [], 0).is_err());
    }

    #[test]
    fn miri_swapping_reverses_the_bytes_of_each_number() {
        for width in [1, 2, 4, 8, 16] {
            let bytes: Vec<u8> = (0..48).collect();
            let mut swapped = bytes.clone();
            swap_in_place(&mut swapped, width).unwrap();
            let expected: Vec<u8> =
                bytes.chunks(width).flat_map(|number| number.iter().rev().copied()).collect();
            assert_eq!(swapped, expected, "width {width}");
        }
    }
}
