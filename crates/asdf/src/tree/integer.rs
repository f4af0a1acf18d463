//! `!core/integer`: integers of any size, stored as an array of words.
//!
//! ```yaml
//! !core/integer-1.1.0
//! words: !core/ndarray-1.1.0 [3, 1]    # uint32, the least significant first: 2^32 + 3
//! sign: +                              # or -
//! string: '4294967299'                 # for people
//! ```
//!
//! The words determine the value. If `string` is a different number, this is reported as a
//! diagnostic. Zero has no words.

use num_bigint::{BigInt, Sign};

use crate::diagnostic::Code;
use crate::error::{Error, Result};
use crate::tree::Node;

/// Maximum number of words that are converted to decimal digits, because the conversion takes quadratic time.
const MAX_DECIMAL_WORDS: u64 = 1024;

/// Reads an integer node, regardless of its tag.
pub(crate) fn read(node: Node<'_>) -> Result<BigInt> {
    let words = node.get("words").ok_or_else(|| node.error("expected `words`"))?;
    let sign = match node.get("sign").and_then(|sign| sign.text()) {
        Some("+") => Sign::Plus,
        Some("-") => Sign::Minus,
        _ => return Err(node.error("expected `sign` to be `+` or `-`")),
    };
    // If inline words do not declare a datatype, `int64` is inferred. A declared datatype must be
    // `int64` or `uint32`.
    let words = words.ndarray()?;
    let words = match words.read::<i64>() {
        Ok(words) => words.into_iter().map(u32::try_from).collect::<Result<_, _>>().ok(),
        Err(_) if words.is_empty() => Some(Vec::new()),
        Err(_) => Some(words.read::<u32>()?),
    };
    let words = words.ok_or_else(|| node.error("expected words from 0 to 2^32 - 1"))?;
    let integer = BigInt::from_slice(sign, &words);
    if let Some(text) = node.get("string").and_then(|text| text.text()) {
        // If there are too many words to convert, skip the comparison.
        if to_decimal(&integer).is_ok_and(|digits| digits != text.trim()) {
            let message = "`string` and `words` are different numbers, so `string` is ignored";
            node.file().reports().add(node.diagnostic(Code::IntegerText, message));
        }
    }
    Ok(integer)
}

/// Returns the decimal digits of an integer. Fails with [`ErrorKind::Limit`] if it has more than 1024 words.
///
/// [`ErrorKind::Limit`]: crate::ErrorKind::Limit
pub(crate) fn to_decimal(integer: &BigInt) -> Result<String> {
    let words = integer.bits().div_ceil(32);
    if words > MAX_DECIMAL_WORDS {
        let what = "words of an integer to write in decimal digits";
        return Err(Error::limit(what, MAX_DECIMAL_WORDS, words));
    }
    Ok(integer.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Asdf;
    use crate::error::ErrorKind;
    use crate::yaml::MAX_DECIMAL_DIGITS;

    fn file(content: &str) -> Asdf {
        let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
        Asdf::from_bytes(format!("{head}--- !core/asdf-1.1.0\n{content}\n...\n")).unwrap()
    }

    fn read(content: &str) -> (Result<BigInt>, Vec<Code>) {
        let file = file(&format!("x: {content}"));
        let integer = file.tree().unwrap().get("x").unwrap().integer();
        (integer, file.diagnostics().iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn the_first_word_of_an_integer_is_the_least_significant() {
        let (integer, diagnostics) = read(
            "!core/integer-1.1.0 {words: !core/ndarray-1.1.0 {data: [3, 1], datatype: uint32}, \
             sign: '-', string: '-4294967299'}",
        );
        assert_eq!(integer.unwrap(), BigInt::from(-4_294_967_299_i64));
        assert_eq!(diagnostics, []);
    }

    #[test]
    fn an_integer_whose_text_differs_from_its_words_is_reported() {
        let (integer, diagnostics) = read("!core/integer-1.1.0 {words: [7], sign: +, string: '8'}");
        assert_eq!(integer.unwrap(), BigInt::from(7));
        assert_eq!(diagnostics, [Code::IntegerText]);
    }

    #[test]
    fn an_integer_without_words_is_zero() {
        let (integer, _) = read("!core/integer-1.1.0 {words: [], sign: '-', string: '0'}");
        assert_eq!(integer.unwrap(), BigInt::ZERO);
    }

    #[test]
    fn reading_a_malformed_integer_fails() {
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
    fn an_integer_with_too_many_words_or_digits_is_not_converted() {
        let long = BigInt::from(1) << (32 * MAX_DECIMAL_WORDS);
        assert!(matches!(to_decimal(&long).unwrap_err().kind(), ErrorKind::Limit { .. }));
        assert!(to_decimal(&(long - 1)).is_ok());
        assert!(read(&"9".repeat(MAX_DECIMAL_DIGITS + 1)).0.is_err());
        let longest = read(&"9".repeat(MAX_DECIMAL_DIGITS)).0.unwrap();
        assert_eq!(to_decimal(&longest).unwrap(), "9".repeat(MAX_DECIMAL_DIGITS));
    }
}
