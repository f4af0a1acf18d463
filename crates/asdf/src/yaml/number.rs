//! Recognising and parsing numbers in plain scalars.
//!
//! Notations under [`ScalarRules::Python`] (`_` is also allowed in most positions after the first
//! digit):
//!
//! ```text
//! int     +1  -0  1_000      0b101  0x1f      017 (octal)      1:30 (base 60, ninety)
//! float   1.5  5.  .5  1.0e+3 (dot and signed exponent)        1:30.5    .inf  -.INF  .nan
//! string  1e3  1.0e3  1e+3  -.5  08  0o17  0X1F  inf  1:60  0:30
//! ```

use super::integer::{self, Integer};
use super::scalar::ScalarRules;
use super::scan::number_end;

/// The type of a number, as indicated by its notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Int,
    Float,
    /// An integer prefix followed only by underscores.
    NoDigits,
}

/// Returns the type of number that a scalar looks like, or `None` if it does not look like a
/// number.
pub(super) fn form(text: &str, rules: ScalarRules) -> Option<Form> {
    // Most scalars are words, and their first character shows that they are not numbers.
    let first = *text.as_bytes().first()?;
    if !matches!(first, b'0'..=b'9' | b'+' | b'-' | b'.') {
        return None;
    }
    // Nearly all numbers are decimal and have the same meaning under all rules.
    if let Some((end, is_float)) = number_end(text.as_bytes(), 0) {
        if end == text.len() {
            return Some(if is_float { Form::Float } else { Form::Int });
        }
    }
    match rules {
        ScalarRules::Core12 => core_form(text),
        ScalarRules::Python => python_form(text),
        ScalarRules::Libasdf => python_form(text).or_else(|| {
            let form = is_decimal_float(unsigned(text), true) && text.len() > 1;
            form.then_some(Form::Float)
        }),
    }
}

/// Parses a scalar that has the form [`Form::Int`]. Returns `None` for any other form, and for an
/// integer with too many digits to convert to decimal.
pub(crate) fn integer(text: &str, rules: ScalarRules) -> Option<Integer<'_>> {
    if let Some(value) = short_decimal(text) {
        return Some(Integer::Small(value.into()));
    }
    if form(text, rules) != Some(Form::Int) {
        return None;
    }
    let negative = text.starts_with('-');
    let digits = unsigned(text);
    let radix = |base, digits: &str| {
        let digits: Vec<_> =
            digits.chars().filter_map(|c| Some((base, c.to_digit(base)?))).collect();
        integer::from_steps(negative, digits.into_iter())
    };
    let octal_prefix = if rules == ScalarRules::Core12 { "0o" } else { "0" };
    if let Some(digits) = digits.strip_prefix("0x") {
        radix(16, digits)
    } else if let Some(digits) = digits.strip_prefix("0b") {
        radix(2, digits)
    } else if let Some((first, rest)) = digits.split_once(':') {
        let first = first.chars().filter_map(|c| Some((10, c.to_digit(10)?)));
        let rest = rest.split(':').filter_map(|place| Some((60, place.parse().ok()?)));
        let steps: Vec<_> = first.chain(rest).collect();
        integer::from_steps(negative, steps.into_iter())
    } else if let Some(digits) = digits.strip_prefix(octal_prefix).filter(|rest| !rest.is_empty()) {
        radix(8, digits)
    } else {
        Some(integer::from_decimal(negative, digits))
    }
}

/// Parses an unsigned integer of up to nine decimal digits without leading zeros. Such an integer has
/// the same meaning under all rules, and most integers are that short.
fn short_decimal(text: &str) -> Option<u32> {
    let digits = text.as_bytes();
    let is_one = digits.len() <= 9 && (digits.len() == 1 || digits.first() != Some(&b'0'));
    if digits.is_empty() || !is_one || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |value, byte| value * 10 + u32::from(byte - b'0')))
}

/// Parses a scalar that has the form [`Form::Float`].
pub(super) fn float(text: &str, rules: ScalarRules) -> Option<f64> {
    if form(text, rules) != Some(Form::Float) {
        return None;
    }
    special_float(text).or_else(|| float_of_digits(text))
}

/// Parses text that is tagged as a float, or a string that is converted to one. Accepts every notation
/// that [`float`] accepts under any rules, and integers in decimal or base 60. Infinity and NaN may be
/// written in any case and without the dot.
pub(super) fn lenient_float(text: &str) -> Option<f64> {
    let bare = unsigned(text);
    let is_word = |word: &str| bare.eq_ignore_ascii_case(word);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    if is_word(".inf") || is_word("inf") || is_word("infinity") {
        return Some(f64::INFINITY * sign);
    }
    if is_word(".nan") || is_word("nan") {
        return Some(f64::NAN);
    }
    let is_number = is_decimal_float(bare, true)
        || is_decimal(bare)
        || is_base60(bare, false)
        || is_base60(bare, true);
    is_number.then(|| float_of_digits(text)).flatten()
}

/// Returns a number without its sign.
fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

fn python_form(text: &str) -> Option<Form> {
    let bare = unsigned(text);
    let is_signed = bare.len() != text.len();
    if let Some(digits) = bare.strip_prefix("0b") {
        return of_base(digits, |b| matches!(b, b'0' | b'1'));
    }
    if let Some(digits) = bare.strip_prefix("0x") {
        return of_base(digits, |b| b.is_ascii_hexdigit());
    }
    let first = *bare.as_bytes().first()?;
    if first == b'.' {
        if special_float(text).is_some() {
            return Some(Form::Float);
        }
        // A sign before a leading decimal point makes the text a string.
        return (!is_signed && is_decimal_float(bare, false)).then_some(Form::Float);
    }
    if !first.is_ascii_digit() {
        return None;
    }
    // The first character that is neither a digit nor an underscore determines which forms remain
    // possible.
    let end = bare.bytes().position(|b| !is_digit_or_underscore(b)).unwrap_or(bare.len());
    let is_float = match bare.as_bytes().get(end) {
        None if first != b'0' || bare == "0" => return Some(Form::Int),
        // `0_` is zero in octal notation.
        None => return of_base(&bare[1..], |b| matches!(b, b'0'..=b'7')).map(|_| Form::Int),
        Some(b'.') => is_decimal_float(bare, false),
        Some(b':') if first != b'0' && is_base60(bare, false) => return Some(Form::Int),
        Some(b':') => is_base60(bare, true),
        Some(_) => false,
    };
    is_float.then_some(Form::Float)
}

fn core_form(text: &str) -> Option<Form> {
    let bare = unsigned(text);
    if bare.contains('_') {
        return None;
    }
    let all = |digits: &str, test: fn(&u8) -> bool| {
        (!digits.is_empty() && digits.bytes().all(|b| test(&b))).then_some(Form::Int)
    };
    if bare.len() == text.len() {
        if let Some(digits) = bare.strip_prefix("0o") {
            return all(digits, |b| matches!(b, b'0'..=b'7'));
        }
        if let Some(digits) = bare.strip_prefix("0x") {
            return all(digits, u8::is_ascii_hexdigit);
        }
    }
    let is_float = special_float(text).is_some() || is_decimal_float(bare, true);
    all(bare, u8::is_ascii_digit).or_else(|| is_float.then_some(Form::Float))
}

fn is_digit_or_underscore(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'_'
}

/// Returns the form of an integer, given the digits after its prefix: [`Form::Int`], or
/// [`Form::NoDigits`] if there are only underscores. Returns `None` if `digits` is empty or contains a
/// character that is neither a digit of the base nor an underscore.
fn of_base(digits: &str, is_digit: fn(u8) -> bool) -> Option<Form> {
    if digits.is_empty() || !digits.bytes().all(|b| is_digit(b) || b == b'_') {
        return None;
    }
    Some(if digits.bytes().all(|b| b == b'_') { Form::NoDigits } else { Form::Int })
}

fn is_decimal(bare: &str) -> bool {
    bare.bytes().next().is_some_and(|b| b.is_ascii_digit())
        && bare.bytes().all(is_digit_or_underscore)
}

/// Returns `true` for an unsigned number with a decimal point and an optional exponent. If
/// `lenient` is set, the exponent needs no sign, and a number with an exponent needs no decimal
/// point.
fn is_decimal_float(bare: &str, lenient: bool) -> bool {
    let (mantissa, exponent) = match bare.find(['e', 'E']) {
        Some(at) => (&bare[..at], Some(&bare[at + 1..])),
        None => (bare, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = unsigned(exponent);
        let sign_fits = lenient || digits.len() != exponent.len();
        sign_fits && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => is_decimal(fraction),
        Some((whole, fraction)) => {
            is_decimal(whole) && fraction.bytes().all(is_digit_or_underscore)
        }
        None => lenient && exponent.is_some() && is_decimal(mantissa),
    };
    exponent_fits && mantissa_fits
}

/// Returns `true` for a base-60 number: decimal digits, followed by one or more groups of `:` and a
/// number below 60. If `float` is set, a decimal point must follow the last group; otherwise, there
/// must be none.
fn is_base60(bare: &str, float: bool) -> bool {
    let places = match (float, bare.split_once('.')) {
        (true, Some((places, fraction))) if fraction.bytes().all(is_digit_or_underscore) => places,
        (false, None) => bare,
        _ => return false,
    };
    let mut places = places.split(':');
    let first_fits = places.next().is_some_and(is_decimal);
    let mut more = 0;
    let rest_fits = places.all(|place| {
        more += 1;
        matches!(place.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
    });
    first_fits && rest_fits && more > 0
}

fn special_float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        _ => None,
    }
}

/// Converts a number in decimal or base-60 notation to a float.
fn float_of_digits(text: &str) -> Option<f64> {
    if let Ok(value) = text.parse() {
        return Some(value);
    }
    if text.contains('_') {
        return float_of_digits(&text.replace('_', ""));
    }
    // Add the groups from last to first, as the reference implementation does, because the order
    // can change the last bit.
    let mut value = 0.0;
    let mut base = 1.0;
    for place in unsigned(text).rsplit(':') {
        value += place.parse::<f64>().ok()? * base;
        base *= 60.0;
    }
    Some(if text.starts_with('-') { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_rules_recognise_the_integers_that_the_reference_recognises() {
        for (text, want) in [
            ("0", 0),
            ("-0", 0),
            ("+1", 1),
            ("12", 12),
            ("1__0", 10),
            ("1_", 1),
            ("017", 15),
            ("0_7", 7),
            ("0_", 0),
            ("-0_", 0),
            ("00", 0),
            ("-017", -15),
            ("0b101", 5),
            ("-0b1_1", -3),
            ("0x1f", 31),
            ("0x_ff", 255),
            ("+0xFF", 255),
            ("1:30", 90),
            ("-1:30", -90),
            ("12:34:56", 45296),
            ("1:5", 65),
            ("1_0:00", 600),
        ] {
            let value = integer(text, ScalarRules::Python).and_then(|int| int.as_i128());
            assert_eq!(value, Some(want), "{text}");
        }
        for text in ["_1", "08", "09", "0o17", "0X1F", "0B1", "1:60", "0:30", "1:", "+", "-", "1a"]
        {
            assert_eq!(form(text, ScalarRules::Python), None, "{text}");
        }
        for text in ["0x_", "0b__", "-0x_"] {
            assert_eq!(form(text, ScalarRules::Python), Some(Form::NoDigits), "{text}");
        }
    }

    #[test]
    fn python_rules_recognise_the_floats_that_the_reference_recognises() {
        for (text, want) in [
            ("1.0", 1.0),
            ("5.", 5.0),
            ("-1.5", -1.5),
            (".5", 0.5),
            ("1_000.5", 1000.5),
            ("1.0e+3", 1000.0),
            ("1.e-1", 0.1),
            (".5e+1", 5.0),
            ("1:30.5", 90.5),
            ("1:30.", 90.0),
            ("190:20:30.15", 685_230.15),
            ("0:30.5", 30.5),
            ("-1:30.5", -90.5),
            ("1.79e+309", f64::INFINITY),
            ("4.9e-324", 5e-324),
            ("+.INF", f64::INFINITY),
            ("-.inf", f64::NEG_INFINITY),
            ("-0.0", -0.0),
            ("00.5", 0.5),
        ] {
            let value = float(text, ScalarRules::Python).expect(text);
            assert_eq!(value.to_bits(), f64::to_bits(want), "{text}");
        }
        assert!(float(".NaN", ScalarRules::Python).is_some_and(f64::is_nan));
        for text in [
            "1e3", "1E3", "1.e3", "1.0e3", "1e+3", "1e-08", "1e400", "-.5", "+.5", "inf", "-inf",
            "nan", "NaN", "-.nan", ".iNf", "0.1.2", "-1.5:30", "1:60.5", ".", "._1", "1.0e+",
            "1.0e", "1.0e+1_0", ".e+1", "1.5:30", "1.0e+3.",
        ] {
            assert_eq!(form(text, ScalarRules::Python), None, "{text}");
        }
    }

    #[test]
    fn libasdf_rules_accept_more_float_notations_than_python_rules() {
        for (text, want) in [("1e3", 1e3), ("1e+3", 1e3), ("-.5", -0.5), ("1.0e3", 1e3)] {
            assert_eq!(float(text, ScalarRules::Libasdf), Some(want), "{text}");
        }
        assert_eq!(form("017", ScalarRules::Libasdf), Some(Form::Int));
        for text in ["08", "1e", "e3", "+", ".", "0o17"] {
            assert_eq!(form(text, ScalarRules::Libasdf), None, "{text}");
        }
    }

    #[test]
    fn core_rules_read_numbers_as_yaml_1_2_does() {
        let int = |text| integer(text, ScalarRules::Core12).and_then(|int| int.as_i128());
        assert_eq!(int("017"), Some(17));
        assert_eq!(int("0o17"), Some(15));
        assert_eq!(int("0xfF"), Some(255));
        assert_eq!(int("08"), Some(8));
        assert_eq!(float("1e3", ScalarRules::Core12), Some(1e3));
        assert_eq!(float("-.5", ScalarRules::Core12), Some(-0.5));
        for text in ["1:30", "1_0", "0b1", "-0x1", "0o8", "+", "."] {
            assert_eq!(form(text, ScalarRules::Core12), None, "{text}");
        }
    }

    #[test]
    fn text_tagged_as_a_float_may_use_more_notations_than_a_plain_float() {
        for (text, want) in
            [("5", 5.0), ("1e3", 1e3), ("-.5", -0.5), ("08", 8.0), ("-INF", { f64::NEG_INFINITY })]
        {
            assert_eq!(lenient_float(text), Some(want), "{text}");
        }
        for text in ["", "x", "1,5", "0x10", "--1", "+"] {
            assert_eq!(lenient_float(text), None, "{text}");
        }
    }
}
