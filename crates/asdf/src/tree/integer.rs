//! `!core/integer`: integers of any size, as an array of words.
//!
//! ```yaml
//! !core/integer-1.1.0
//! words: !core/ndarray-1.1.0 [3, 1]    # uint32, the least significant first: 2^32 + 3
//! sign: +                              # or -
//! string: '4294967299'                 # for people
//! ```
//!
//! The words are the value; a text that differs is reported. Zero has no words.

use num_bigint::{BigInt, BigUint, Sign};

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::tree::Node;
use crate::yaml;

/// The most words that turn into decimal digits: this takes quadratic time.
const MAX_DECIMAL_WORDS: usize = 1024;

/// The most decimal digits that turn into words, for the same reason; they fit the words above.
const MAX_DECIMAL_DIGITS: usize = 9864;

/// An integer of any size.
///
/// ```
/// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
///     --- !core/asdf-1.1.0\nx: 340282366920938463463374607431768211456\n...\n"[..])?;
/// let integer = file.tree()?.pointer("/x")?.integer()?;
/// assert_eq!(integer.words(), [0, 0, 0, 0, 1]);
/// assert_eq!(integer.as_i128(), None);
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BigInteger {
    negative: bool,
    /// Least significant first; the last is not 0.
    words: Vec<u32>,
}

impl BigInteger {
    fn new(negative: bool, mut words: Vec<u32>) -> Self {
        let len = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
        words.truncate(len);
        Self { negative: negative && len > 0, words }
    }

    /// Reads a node whatever its tag.
    pub(crate) fn read(node: Node<'_>) -> Result<Self> {
        let words = node.get("words").ok_or_else(|| node.error("expected `words`"))?;
        let negative = match node.get("sign").and_then(|sign| sign.text()) {
            Some("+") => false,
            Some("-") => true,
            _ => return Err(node.error("expected `sign` to be `+` or `-`")),
        };
        // Words written out in the tree have no datatype of their own.
        let words = words.ndarray()?;
        let words = match words.read::<i64>() {
            Ok(words) => words.into_iter().map(u32::try_from).collect::<Result<_, _>>().ok(),
            Err(_) if words.is_empty() => Some(Vec::new()),
            Err(_) => Some(words.read::<u32>()?),
        };
        let words = words.ok_or_else(|| node.error("expected words from 0 to 2^32 - 1"))?;
        let integer = Self::new(negative, words);
        if let Some(text) = node.get("string").and_then(|text| text.text()) {
            integer.compare(text, node);
        }
        Ok(integer)
    }

    /// Reports a text that is another number.
    fn compare(&self, text: &str, node: Node<'_>) {
        // Where the digits are too many to be found, nothing can be said.
        if self.to_decimal().is_ok_and(|digits| digits != text.trim()) {
            let message = "`string` is another number than `words`, which are used";
            node.file().reports().add(node.diagnostic(Code::IntegerText, message));
        }
    }

    /// The value of an integer literal; `None` if it has too many digits.
    pub(crate) fn from_literal(literal: &yaml::Integer<'_>) -> Option<Self> {
        match literal {
            yaml::Integer::Small(value) => {
                let size = BigUint::from(value.unsigned_abs());
                Some(Self::new(*value < 0, size.to_u32_digits()))
            }
            yaml::Integer::Large { negative, digits } => {
                if digits.len() > MAX_DECIMAL_DIGITS {
                    return None;
                }
                let size: BigUint = digits.parse().ok()?;
                Some(Self::new(*negative, size.to_u32_digits()))
            }
        }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// Its absolute value in words of 32 bits, the least significant first; none for zero.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The value, if it fits.
    pub fn as_i128(&self) -> Option<i128> {
        i128::try_from(self.to_big_int()).ok()
    }

    /// The value, for arithmetic.
    pub fn to_big_int(&self) -> BigInt {
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        BigInt::from_slice(sign, &self.words)
    }

    /// The value in decimal digits. Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) above 1024 words.
    pub fn to_decimal(&self) -> Result<String> {
        if self.words.len() > MAX_DECIMAL_WORDS {
            let what = "words of an integer to write in decimal digits";
            return Err(Error::limit(what, MAX_DECIMAL_WORDS as u64, self.words.len() as u64));
        }
        Ok(self.to_big_int().to_string())
    }
}

impl From<BigInteger> for BigInt {
    fn from(integer: BigInteger) -> Self {
        integer.to_big_int()
    }
}

impl yaml::Integer<'_> {
    /// The value, for arithmetic. Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) above 9,864
    /// digits.
    ///
    /// ```
    /// use asdf::yaml::{Document, ParseOptions, Value};
    ///
    /// let text = b"340282366920938463463374607431768211456";
    /// let document = Document::parse(text, &ParseOptions::default(), &mut Vec::new())?;
    /// let Value::Int(integer) = document.root().value()? else { panic!("no integer") };
    /// assert_eq!(integer.to_big_int()?, asdf::BigInt::from(1) << 128);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    pub fn to_big_int(&self) -> Result<BigInt> {
        if let Some(integer) = BigInteger::from_literal(self) {
            return Ok(integer.to_big_int());
        }
        let digits = match self {
            Self::Large { digits, .. } => digits.len() as u64,
            Self::Small(_) => 0,
        };
        Err(Error::limit("digits of an integer to convert", MAX_DECIMAL_DIGITS as u64, digits))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Asdf;
    use crate::error::ErrorKind;

    fn file(content: &str) -> Asdf {
        let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
        Asdf::from_bytes(format!("{head}--- !core/asdf-1.1.0\n{content}\n...\n")).unwrap()
    }

    fn read(content: &str) -> (Result<BigInteger>, Vec<Code>) {
        let file = file(&format!("x: {content}"));
        let integer = file.tree().unwrap().get("x").unwrap().integer();
        (integer, file.diagnostics().iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn words_begin_with_the_least_significant() {
        let (integer, diagnostics) = read(
            "!core/integer-1.1.0 {words: !core/ndarray-1.1.0 {data: [3, 1], datatype: uint32}, \
             sign: '-', string: '-4294967299'}",
        );
        assert_eq!(integer.unwrap().as_i128(), Some(-4_294_967_299));
        assert_eq!(diagnostics, []);
    }

    #[test]
    fn a_text_that_differs_is_reported_and_ignored() {
        let (integer, diagnostics) = read("!core/integer-1.1.0 {words: [7], sign: +, string: '8'}");
        assert_eq!(integer.unwrap().to_decimal().unwrap(), "7");
        assert_eq!(diagnostics, [Code::IntegerText]);
    }

    #[test]
    fn zero_has_no_words() {
        let (integer, _) = read("!core/integer-1.1.0 {words: [], sign: '-', string: '0'}");
        let integer = integer.unwrap();
        assert_eq!((integer.words(), integer.is_negative()), (&[][..], false));
        assert_eq!(integer.to_decimal().unwrap(), "0");
    }

    #[test]
    fn what_is_not_an_integer_is_an_error() {
        for text in [
            "!core/integer-1.1.0 {sign: +}",
            "!core/integer-1.1.0 {words: [1]}",
            "!core/integer-1.1.0 {words: [1], sign: 1}",
            "!core/integer-1.1.0 {words: [-1], sign: +}",
            "!core/integer-1.1.0 {words: [1.5], sign: +}",
            "1.5",
            "abc",
        ] {
            assert!(read(text).0.is_err(), "{text}");
        }
    }

    #[test]
    fn very_long_integers_keep_their_words_but_have_no_digits() {
        let long = BigInteger::new(false, vec![1; MAX_DECIMAL_WORDS + 1]);
        assert!(matches!(long.to_decimal().unwrap_err().kind(), ErrorKind::Limit { .. }));
        assert!(read(&"9".repeat(MAX_DECIMAL_DIGITS + 1)).0.is_err());
        let literal = yaml::Integer::Large {
            negative: true,
            digits: "9".repeat(MAX_DECIMAL_DIGITS + 1).into(),
        };
        let error = literal.to_big_int().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { requested: 9865, .. }), "{error}");
        let longest = read(&"9".repeat(MAX_DECIMAL_DIGITS)).0.unwrap();
        assert_eq!(longest.to_decimal().unwrap(), "9".repeat(MAX_DECIMAL_DIGITS));
    }

    proptest! {
        #[test]
        fn literals_and_digits_agree(value: i128) {
            let literal = yaml::Integer::Small(value);
            let integer = BigInteger::from_literal(&literal).unwrap();
            prop_assert_eq!(integer.as_i128(), Some(value));
            prop_assert_eq!(integer.to_decimal().unwrap(), value.to_string());
            prop_assert_eq!(literal.to_big_int().unwrap(), BigInt::from(value));
            prop_assert_eq!(BigInt::from(integer), BigInt::from(value));
        }

        #[test]
        fn decimal_digits_read_back(digits in "[1-9][0-9]{40,200}", negative: bool) {
            let literal = yaml::Integer::Large { negative, digits: digits.as_str().into() };
            let integer = BigInteger::from_literal(&literal).unwrap();
            let sign = if negative { "-" } else { "" };
            prop_assert_eq!(integer.to_decimal().unwrap(), format!("{sign}{digits}"));
        }
    }
}
