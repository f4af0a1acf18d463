//! Attribute comments, such as `#: units="C", centering=[1,1] checked`.
//!
//! ```text
//! line      = { attribute [","] }
//! attribute = name [ "=" value ]           the value is null if it is missing
//! value     = number | text | "[" [ number {"," number} | text {"," text} ] "]"
//! ```

use nom::branch::alt;
use nom::bytes::complete::{take_while, take_while1};
use nom::character::complete::{char, one_of};
use nom::combinator::{cut, map, map_opt, opt, recognize, verify};
use nom::error::Error;
use nom::multi::separated_list0;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

use super::{Attribute, Value};
use crate::text::quote;

/// Parses the attributes in a line, from which the `#:` has been removed. Stops at the first error,
/// and returns its byte offset together with the attributes before the error.
pub(crate) fn parse(line: &str) -> (Vec<Attribute>, Option<usize>) {
    let mut attributes = Vec::new();
    let mut rest = line.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let next = terminated(attribute, (blank, opt(char(',')), blank)).parse(rest);
        match next {
            Ok((after, attribute)) => {
                attributes.push(attribute);
                rest = after;
            }
            Err(nom::Err::Error(error) | nom::Err::Failure(error)) => {
                return (attributes, Some(line.len() - error.input.len()));
            }
            Err(nom::Err::Incomplete(_)) => return (attributes, Some(line.len())),
        }
    }
    (attributes, None)
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\x0b' | '\x0c')
}

fn blank(input: &str) -> IResult<&str, &str> {
    take_while(is_blank).parse(input)
}

fn attribute(input: &str) -> IResult<&str, Attribute> {
    let name = alt((map(word, str::to_owned), text));
    let value = opt(preceded((blank, char('='), blank), cut(value)));
    let mut whole =
        map((name, value), |(name, value)| Attribute { name, value: value.unwrap_or(Value::Null) });
    whole.parse(input)
}

fn word(input: &str) -> IResult<&str, &str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let begins = |word: &str| !word.starts_with(|first: char| first.is_numeric());
    verify(take_while1(is_word), begins).parse(input)
}

/// Parses a quoted string.
fn text(input: &str) -> IResult<&str, String> {
    let failed = || nom::Err::Error(Error::new(input, nom::error::ErrorKind::Tag));
    if !input.starts_with(['"', '\'']) {
        return Err(failed());
    }
    let length = quote::quoted_len(input.as_bytes()).ok_or_else(failed)?;
    let (token, rest) = input.split_at(length);
    Ok((rest, quote::unquote(token).map_err(|_| failed())?.into_owned()))
}

#[derive(Clone, Copy)]
enum Number {
    Integer(i64),
    Float(f64),
}

impl Number {
    #[allow(clippy::cast_precision_loss, reason = "integers among floats become floats")]
    fn as_float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

fn number(input: &str) -> IResult<&str, Number> {
    let part =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_');
    let exponent = (one_of("+-"), take_while1(|digit: char| digit.is_ascii_digit()));
    let digits = recognize((opt(one_of("+-")), take_while1(part)));
    // A sign inside a number belongs to its exponent.
    let signed = recognize((digits, opt(exponent)));
    map_opt(signed, to_number).parse(input)
}

fn to_number(text: &str) -> Option<Number> {
    let plain = text.strip_prefix(['+', '-']).unwrap_or(text);
    if plain.starts_with("0x") || plain.starts_with("0X") {
        let digits = plain.get(2..)?;
        let value = i128::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        let value = if text.starts_with('-') { -value } else { value };
        return i64::try_from(value).ok().map(Number::Integer);
    }
    if plain.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Number::Integer);
    }
    let is_decimal = plain.starts_with(|first: char| first.is_ascii_digit() || first == '.');
    let value = text.parse().ok().filter(|value: &f64| is_decimal && value.is_finite());
    value.map(Number::Float)
}

fn value(input: &str) -> IResult<&str, Value> {
    let one = map(number, |number| match number {
        Number::Integer(value) => Value::Integer(value),
        Number::Float(value) => Value::Float(value),
    });
    alt((one, map(text, Value::Text), array)).parse(input)
}

fn array(input: &str) -> IResult<&str, Value> {
    let comma = || (blank, char(','), blank);
    let open = || (char('['), blank);
    let close = || (blank, char(']'));
    let numbers = delimited(open(), separated_list0(comma(), number), close());
    let texts = delimited(open(), separated_list0(comma(), text), close());
    alt((map(numbers, numeric), map(texts, Value::Texts))).parse(input)
}

fn numeric(numbers: Vec<Number>) -> Value {
    let integer = |number: &Number| match *number {
        Number::Integer(value) => Some(value),
        Number::Float(_) => None,
    };
    match numbers.iter().map(integer).collect() {
        Some(integers) => Value::Integers(integers),
        None => Value::Floats(numbers.into_iter().map(Number::as_float).collect()),
    }
}

/// Appends an attribute as `name=value`. If all floats are finite, parsing the result returns an equal
/// attribute, except that an empty list always becomes [`Value::Integers`].
pub(crate) fn push(out: &mut String, attribute: &Attribute) {
    quote::push_name(out, &attribute.name);
    let list = |out: &mut String, parts: Vec<String>| {
        out.push('[');
        out.push_str(&parts.join(", "));
        out.push(']');
    };
    let quoted = |text: &String| {
        let mut out = String::new();
        quote::push_quoted(&mut out, text);
        out
    };
    // `Debug` always writes a decimal point or an exponent, and the result parses as the same
    // float.
    let float = |value: &f64| format!("{value:?}");
    if attribute.value != Value::Null {
        out.push('=');
    }
    match &attribute.value {
        Value::Null => {}
        Value::Integer(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&float(value)),
        Value::Text(value) => out.push_str(&quoted(value)),
        Value::Integers(values) => list(out, values.iter().map(ToString::to_string).collect()),
        Value::Floats(values) => list(out, values.iter().map(float).collect()),
        Value::Texts(values) => list(out, values.iter().map(quoted).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(line: &str) -> Vec<(String, Value)> {
        let (attributes, error) = parse(line);
        assert_eq!(error, None, "{line}");
        attributes.into_iter().map(|attribute| (attribute.name, attribute.value)).collect()
    }

    #[test]
    fn attributes_are_separated_by_commas_or_whitespace() {
        let found = whole(" a=1 b = 1.5,c=\"x\" d=[1,2.5] 'e-f'=[\"u\",'v'] , g ");
        let expected = [
            ("a", Value::Integer(1)),
            ("b", Value::Float(1.5)),
            ("c", Value::Text("x".to_owned())),
            ("d", Value::Floats(vec![1.0, 2.5])),
            ("e-f", Value::Texts(vec!["u".to_owned(), "v".to_owned()])),
            ("g", Value::Null),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn attribute_numbers_are_decimal_or_hexadecimal_with_an_optional_sign() {
        let found = whole("a=-0x10 b=+5 c=1e-6 d=.5 e=2. f=[] g=-9223372036854775808");
        let values: Vec<Value> = found.into_iter().map(|(_, value)| value).collect();
        let expected = [
            Value::Integer(-16),
            Value::Integer(5),
            Value::Float(1e-6),
            Value::Float(0.5),
            Value::Float(2.0),
            Value::Integers(vec![]),
            Value::Integer(i64::MIN),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn parsing_stops_at_an_invalid_attribute_and_keeps_the_attributes_before_it() {
        for (line, offset) in [
            (" a=1 =2", 5),
            ("a=", 2),
            ("a=1x", 2),
            ("a=nan", 2),
            ("a=1e999", 2),
            ("a=9223372036854775808", 2),
            ("a=[1,'b']", 2),
            ("a=[[1]]", 2),
            ("a='b", 2),
            ("a,,b", 2),
            ("a=1_000", 2),
        ] {
            let (_, error) = parse(line);
            assert!(error.is_some_and(|found| found >= offset), "{line} {error:?}");
        }
        assert_eq!(parse("a=1 =2").0.len(), 1);
    }

    #[test]
    fn written_attributes_round_trip() {
        for line in
            ["a=1", "'b c'=[1.0, 2.5e300]", "d=[\"x\\ny\", \"\"]", "e", "f=-0.0", "g=[1e-300]"]
        {
            let (attributes, _) = parse(line);
            let mut out = String::new();
            push(&mut out, &attributes[0]);
            assert_eq!(parse(&out), (attributes, None), "{out}");
        }
    }
}
