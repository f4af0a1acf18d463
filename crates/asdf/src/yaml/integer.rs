//! Integers of any size.

use std::borrow::Cow;
use std::fmt;

use num_bigint::{BigInt, BigUint, Sign};

use crate::error::{Error, Result};

/// Maximum number of decimal digits of an integer that is written in hexadecimal, octal, binary or
/// base 60. Its conversion to decimal takes quadratic time. The reference implementation applies
/// this limit to decimal integers too.
const MAX_CONVERTED_DIGITS: usize = 4300;

/// Maximum number of decimal digits of an integer that is converted to binary. The conversion takes
/// quadratic time.
pub(crate) const MAX_DECIMAL_DIGITS: usize = 9864;

/// An integer of any size.
///
/// The standard allows literals from −(2⁶³−2) to 2⁶³−1 ("The tree in-depth", Numeric literals). All other
/// integers are stored as `core/integer`; see [`Node::integer`](crate::Node::integer).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Integer<'a> {
    /// An integer in the range of `i128`.
    Small(i128),
    /// An integer outside the range of `i128`. Its digits are stored as text, because converting a million
    /// digits would take seconds.
    Large {
        /// Whether the integer is negative.
        negative: bool,
        /// The absolute value in decimal digits, without leading zeros.
        digits: Cow<'a, str>,
    },
}

impl Integer<'_> {
    /// Returns the value of [`Small`](Self::Small), or `None` for [`Large`](Self::Large).
    pub fn as_i128(&self) -> Option<i128> {
        match self {
            Self::Small(value) => Some(*value),
            Self::Large { .. } => None,
        }
    }

    /// Converts the integer to the nearest floating-point number, or to infinity if the integer is too large.
    pub fn to_f64(&self) -> f64 {
        match self {
            #[allow(
                clippy::cast_precision_loss,
                reason = "rounding to the nearest float is intended"
            )]
            Self::Small(value) => *value as f64,
            Self::Large { negative, digits } => {
                // Parsing cannot fail, because `f64::from_str` accepts any number of digits.
                let value = digits.parse().unwrap_or(f64::INFINITY);
                if *negative { -value } else { value }
            }
        }
    }

    /// Converts the integer to a [`BigInt`], for arithmetic.
    ///
    /// ```
    /// use asdf::yaml::{Content, Document, ParseOptions};
    ///
    /// let text = b"340282366920938463463374607431768211456";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let Content::Int(integer) = document.root().value()? else { panic!("no integer") };
    /// assert_eq!(integer.to_big_int()?, asdf::yaml::BigInt::from(1) << 128);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the integer has more than 9,864 digits,
    /// because the conversion takes quadratic time.
    pub fn to_big_int(&self) -> Result<BigInt> {
        let (negative, digits) = match self {
            Self::Small(value) => return Ok(BigInt::from(*value)),
            Self::Large { negative, digits } => (*negative, digits),
        };
        let convertible = Some(digits).filter(|digits| digits.len() <= MAX_DECIMAL_DIGITS);
        let value = convertible.and_then(|digits| digits.parse::<BigUint>().ok());
        let value = value.ok_or_else(|| {
            let (limit, requested) = (MAX_DECIMAL_DIGITS as u64, digits.len() as u64);
            Error::limit("decimal digits of the integer", limit, requested)
        })?;
        Ok(BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, value))
    }

    /// Returns `true` if the integer is outside the range that the ASDF standard allows for
    /// literals: −(2⁶³−2) to 2⁶³−1.
    pub(super) fn is_outside_literals(&self) -> bool {
        let range = -((1i128 << 63) - 2)..=(1i128 << 63) - 1;
        self.as_i128().is_none_or(|value| !range.contains(&value))
    }
}

impl fmt::Display for Integer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(value) => value.fmt(f),
            Self::Large { negative, digits } => f.pad_integral(!negative, "", digits),
        }
    }
}

/// Parses an unsigned decimal number of any length, ignoring underscores.
pub(super) fn from_decimal(negative: bool, digits: &str) -> Integer<'_> {
    let digits = if digits.contains('_') {
        Cow::Owned(digits.replace('_', ""))
    } else {
        Cow::Borrowed(digits)
    };
    // Numbers of up to 38 digits always fit.
    if digits.len() <= 38 {
        let value = digits.bytes().fold(0i128, |value, b| value * 10 + i128::from(b & 0xf));
        return Integer::Small(if negative { -value } else { value });
    }
    let leading = digits.bytes().take_while(|&b| b == b'0').count();
    let digits = match digits {
        Cow::Owned(text) => Cow::Owned(text[leading..].to_owned()),
        Cow::Borrowed(text) => Cow::Borrowed(&text[leading..]),
    };
    if digits.len() <= 38 {
        // No more than 38 digits remain after the zeros, so the value fits.
        let value = digits.bytes().fold(0i128, |value, b| value * 10 + i128::from(b & 0xf));
        return Integer::Small(if negative { -value } else { value });
    }
    let value = digits.parse::<u128>().ok().and_then(|value| {
        if negative { 0_i128.checked_sub_unsigned(value) } else { value.try_into().ok() }
    });
    value.map_or(Integer::Large { negative, digits }, Integer::Small)
}

/// Computes an integer with Horner's method, starting from 0. Each step multiplies the value by the
/// first number of a pair, and then adds the second.
///
/// Returns `None` if the number has more than [`MAX_CONVERTED_DIGITS`] decimal digits.
pub(super) fn from_steps(
    negative: bool,
    steps: impl Iterator<Item = (u32, u32)> + Clone,
) -> Option<Integer<'static>> {
    // Subtract the digits of a negative number, because the absolute value of `i128::MIN` does not fit.
    let small = steps.clone().try_fold(0i128, |value, (multiplier, addend)| {
        let addend = i128::from(addend);
        value.checked_mul(multiplier.into())?.checked_add(if negative { -addend } else { addend })
    });
    if let Some(value) = small {
        return Some(Integer::Small(value));
    }
    Some(Integer::Large { negative, digits: to_decimal(steps)?.into() })
}

/// Runs the steps of [`from_steps`] and returns the result in decimal, or `None` if it has more than
/// [`MAX_CONVERTED_DIGITS`] digits.
fn to_decimal(steps: impl Iterator<Item = (u32, u32)>) -> Option<String> {
    let mut value = BigUint::ZERO;
    for (multiplier, addend) in steps {
        value *= multiplier;
        value += addend;
        // Each decimal digit accounts for less than four bits, so this value has too many digits.
        if value.bits() / 4 > MAX_CONVERTED_DIGITS as u64 {
            return None;
        }
    }
    let text = value.to_string();
    (text.len() <= MAX_CONVERTED_DIGITS).then_some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorKind;

    #[test]
    fn decimal_integers_of_any_length_are_parsed_exactly() {
        assert_eq!(from_decimal(false, "1_000"), Integer::Small(1000));
        assert_eq!(from_decimal(true, "0"), Integer::Small(0));
        let max = i128::MAX.to_string();
        assert_eq!(from_decimal(false, &max), Integer::Small(i128::MAX));
        let beyond = "170141183460469231731687303715884105728";
        assert_eq!(from_decimal(false, beyond).to_string(), beyond);
        assert_eq!(from_decimal(true, beyond).to_string(), format!("-{beyond}"));
        let digits = "9".repeat(1_000_000);
        assert_eq!(from_decimal(false, &digits).to_string(), digits);
    }

    #[test]
    fn integers_in_the_range_of_i128_are_small_and_all_others_are_large() {
        let limit = "170141183460469231731687303715884105728"; // 2^127
        let beyond = "170141183460469231731687303715884105729";
        let power = std::iter::once((2, 1)).chain(std::iter::repeat_n((2, 0), 127));
        assert_eq!(from_decimal(true, limit), Integer::Small(i128::MIN));
        assert_eq!(from_steps(true, power.clone()), Some(Integer::Small(i128::MIN)));
        assert_eq!(from_decimal(false, limit).as_i128(), None);
        assert_eq!(from_decimal(true, beyond).as_i128(), None);
        assert_eq!(from_steps(false, power).unwrap().as_i128(), None);
    }

    #[test]
    fn integers_in_other_bases_are_exact_up_to_4300_decimal_digits() {
        let hex = from_steps(true, [(16, 15); 40].into_iter()).unwrap();
        assert_eq!(hex.to_string(), "-1461501637330902918203684832716283019655932542975");
        let hex = from_steps(false, [(16, 15); 30].into_iter()).unwrap();
        assert_eq!(hex.as_i128(), Some((1 << 120) - 1));
        // 2^14284 has 4300 digits, and 2^14287 has 4301.
        let power = |n| std::iter::once((2, 1)).chain(std::iter::repeat_n((2, 0), n));
        assert_eq!(from_steps(false, power(14_284)).unwrap().to_string().len(), 4300);
        assert_eq!(from_steps(false, power(14_287)), None);
    }

    #[test]
    fn the_range_of_literals_excludes_the_two_smallest_i64_values() {
        let outside = |value| Integer::Small(value).is_outside_literals();
        assert!(!outside(i128::from(i64::MAX)) && outside(i128::from(i64::MAX) + 1));
        assert!(!outside(-9_223_372_036_854_775_806) && outside(-9_223_372_036_854_775_807));
    }

    #[test]
    fn a_large_integer_is_converted_to_a_float_or_to_infinity() {
        let digits = from_decimal(true, &"9".repeat(50)).to_f64();
        assert!((digits / -1e50 - 1.0).abs() < 1e-15);
        assert!(from_decimal(false, &"9".repeat(400)).to_f64().is_infinite());
    }

    #[test]
    fn converting_an_integer_with_too_many_digits_fails() {
        let digits = |count| Integer::Large { negative: true, digits: "9".repeat(count).into() };
        assert!(digits(MAX_DECIMAL_DIGITS).to_big_int().is_ok());
        let error = digits(MAX_DECIMAL_DIGITS + 1).to_big_int().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { requested: 9865, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn converting_to_a_big_integer_keeps_the_digits(
            small: i128,
            large in "[1-9][0-9]{40,200}",
            negative: bool,
        ) {
            prop_assert_eq!(Integer::Small(small).to_big_int().unwrap(), BigInt::from(small));
            let large = from_decimal(negative, &large);
            prop_assert_eq!(large.to_big_int().unwrap().to_string(), large.to_string());
        }
    }
}
