//! Parsing and formatting complex numbers, as used in `!core/complex-1.0.0` and in inline arrays.
//!
//! ```text
//! (1+2j)   1 - 2i is invalid: no spaces between parts    parentheses are optional
//! -1       1j       -J       inf+nanj                    a part may be missing; i, I, j or J
//! ```

use num_complex::Complex;

use crate::yaml::emit::repr;

/// Parses a complex number. Returns `None` if the text is invalid. The sign of a zero is kept.
pub(crate) fn parse(text: &str) -> Option<Complex<f64>> {
    let text = text.trim_matches([' ', '\t']);
    let inner = match text.strip_prefix('(') {
        Some(rest) => rest.strip_suffix(')')?.trim_matches([' ', '\t']),
        None => text,
    };
    let (first, rest) = part(inner)?;
    if rest.is_empty() {
        return Some(match first {
            Part::Real(re) => Complex::new(re, 0.0),
            Part::Imaginary(im) => Complex::new(0.0, im),
        });
    }
    if !rest.starts_with(['+', '-']) {
        return None;
    }
    match (first, part(rest)?) {
        (Part::Real(re), (Part::Imaginary(im), "")) => Some(Complex::new(re, im)),
        _ => None,
    }
}

enum Part {
    Real(f64),
    Imaginary(f64),
}

/// Parses the real or imaginary part at the start of a string, and returns it with the rest of the string.
fn part(text: &str) -> Option<(Part, &str)> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let len = word_len(unsigned).unwrap_or_else(|| number_len(unsigned));
    let (number, rest) = unsigned.split_at(len);
    let after_unit = rest.strip_prefix(['i', 'I', 'j', 'J']);
    let value = match number {
        // Without digits, the imaginary part is 1.
        "" => after_unit.map(|_| 1.0)?,
        // Rust's parser also accepts `infinity`, `inf` and `nan`, regardless of case.
        _ => number.parse::<f64>().ok()?,
    } * sign;
    Some(match after_unit {
        Some(rest) => (Part::Imaginary(value), rest),
        None => (Part::Real(value), rest),
    })
}

/// Returns the length of `infinity`, `inf` or `nan` at the start of a string, regardless of case.
fn word_len(text: &str) -> Option<usize> {
    let starts =
        |word: &&str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    ["infinity", "inf", "nan"].iter().find(|word| starts(word)).map(|word| word.len())
}

/// Returns the length of the decimal number at the start of a string.
fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let mut len = digits(0);
    if bytes.get(len) == Some(&b'.') {
        len += 1 + digits(len + 1);
    }
    if matches!(bytes.get(len), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(len + 1), Some(b'+' | b'-')));
        let exponent = digits(len + 1 + sign);
        if exponent > 0 {
            len += 1 + sign + exponent;
        }
    }
    len
}

/// Formats a complex number as Python does: `(1+2j)`, `-1j`, `(nan-infj)`.
pub(crate) fn to_text(number: Complex<f64>) -> String {
    let part = |value: f64| match value {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ => repr(value),
    };
    let imaginary = part(number.im);
    if number.re == 0.0 && number.re.is_sign_positive() {
        return format!("{imaginary}j");
    }
    let sign = if imaginary.starts_with('-') { "" } else { "+" };
    format!("({}{sign}{imaginary}j)", part(number.re))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> Option<(u64, u64)> {
        parse(text).map(|number| (number.re.to_bits(), number.im.to_bits()))
    }

    #[test]
    fn complex_numbers_with_any_signs_units_and_parentheses_are_parsed() {
        for (text, re, im) in [
            ("1", 1.0, 0.0),
            ("-1", -1.0, 0.0),
            ("1j", 0.0, 1.0),
            ("-1j", 0.0, -1.0),
            ("(1+2j)", 1.0, 2.0),
            ("( 1-2J )", 1.0, -2.0),
            ("1+i", 1.0, 1.0),
            ("-I", 0.0, -1.0),
            ("1.5e+3-.5e-1i", 1500.0, -0.05),
            ("(-0-0j)", -0.0, -0.0),
            ("-0j", 0.0, -0.0),
            ("1e400j", 0.0, f64::INFINITY),
            ("inf-infj", f64::INFINITY, f64::NEG_INFINITY),
            ("-Infinity+0j", f64::NEG_INFINITY, 0.0),
            ("5.", 5.0, 0.0),
            (" 3 ", 3.0, 0.0),
            ("infi", 0.0, f64::INFINITY),
            ("1e5j", 0.0, 1e5),
        ] {
            let want = (f64::to_bits(re), f64::to_bits(im));
            assert_eq!(bits(text), Some(want), "{text}");
        }
        let number = parse("(inf+nanj)").unwrap();
        assert!(number.re.is_infinite() && number.im.is_nan());
    }

    #[test]
    fn malformed_complex_numbers_are_rejected() {
        for text in [
            "", "()", "(1", "1)", "((1))", "1+2", "1j+2j", "1j+2", "1 + 2j", "1+2j3", "x", ".",
            "e5", "1+", "+", "1ee", "1jj", "nano", "--1", "1+-2j", "0x1", "(1)j",
        ] {
            assert_eq!(bits(text), None, "{text}");
        }
    }

    #[test]
    fn complex_numbers_are_formatted_as_in_python() {
        let inf = f64::INFINITY;
        for (re, im, text) in [
            (1.0, 2.0, "(1+2j)"),
            (0.0, -1.0, "-1j"),
            (-0.0, 0.0, "(-0+0j)"),
            (f64::NAN, -inf, "(nan-infj)"),
            (0.0, 0.0, "0j"),
            (1e16, 1e-5, "(1e+16+1e-05j)"),
            (-inf, f64::NAN, "(-inf+nanj)"),
        ] {
            assert_eq!(to_text(Complex::new(re, im)), text);
        }
    }
}
