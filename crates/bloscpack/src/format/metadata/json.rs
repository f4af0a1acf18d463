//! Parsing the text of the metadata as JSON.
//!
//! Like most JSON parsers, `serde_json` silently uses the last of two equal keys and rounds
//! integers beyond 64 bits to floats. This parser detects both cases, so that the caller can report
//! them.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON value, and the irregularities in its text.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// The first key that occurs twice in an object.
    pub(crate) duplicate_key: Option<String>,
    /// The first integer that does not fit into 64 bits.
    pub(crate) big_integer: Option<String>,
}

/// Parses text that consists of a single value. Fails if anything but whitespace follows the value,
/// or if the nesting exceeds 127 levels.
pub(crate) fn parse(text: &[u8]) -> Result<Parsed, serde_json::Error> {
    let mut duplicate_key = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Watching(&mut duplicate_key).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed { value, duplicate_key, big_integer: big_integer(text) })
}

/// Builds a value, and remembers the first key that occurs twice in an object.
struct Watching<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Watching<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Watching<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(Watching(self.0))? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Watching(self.0))?;
            if map.contains_key(&key) {
                self.0.get_or_insert_with(|| key.clone());
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

/// Returns the first integer in valid JSON that fits into neither `i64` nor `u64`.
fn big_integer(text: &[u8]) -> Option<String> {
    let mut rest = text;
    while let Some(start) = rest.iter().position(|byte| matches!(byte, b'-' | b'0'..=b'9' | b'"')) {
        rest = &rest[start..];
        let end = if rest[0] == b'"' { end_of_string(rest) } else { end_of_number(rest) };
        let (token, after) = rest.split_at(end);
        let token = String::from_utf8_lossy(token);
        let is_integer = !token.contains(['"', '.', 'e', 'E']);
        if is_integer && token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
            return Some(token.into_owned());
        }
        rest = after;
    }
    None
}

/// Returns the length of the number at the beginning of `text`.
fn end_of_number(text: &[u8]) -> usize {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    text.iter().position(|byte| !is_part(byte)).unwrap_or(text.len())
}

/// Returns the length of the string at the beginning of `text`, including its quotes.
fn end_of_string(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => break,
            b'\\' => at += 1,
            _ => {}
        }
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parsing_json_returns_the_same_values_as_serde_json() {
        let text = r#"{"b":[1,-2,1.5,true,false,null,"x\"1\\"],"a":{"c":18446744073709551615}}"#;
        let parsed = parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.value, serde_json::from_str::<Value>(text).unwrap());
        assert_eq!(parsed.value.to_string(), text, "the order of keys is kept");
        assert_eq!((parsed.duplicate_key, parsed.big_integer), (None, None));
    }

    #[test]
    fn the_last_value_of_a_duplicate_key_wins_and_the_key_is_reported() {
        let parsed = parse(br#"[{"a":1,"b":2},{"a":1,"a":2}]"#).unwrap();
        assert_eq!(parsed.value, json!([{"a": 1, "b": 2}, {"a": 2}]));
        assert_eq!(parsed.duplicate_key.as_deref(), Some("a"));
    }

    #[test]
    fn only_integers_beyond_64_bits_are_reported() {
        let big = |text: &str| parse(text.as_bytes()).unwrap().big_integer;
        assert_eq!(big("[1, 18446744073709551616]").as_deref(), Some("18446744073709551616"));
        assert_eq!(big("-9223372036854775809").as_deref(), Some("-9223372036854775809"));
        assert_eq!(
            big(r#"[1e300, -0, 1.8446744073709551616e19, true, "\"99999999999999999999"]"#),
            None
        );
        assert_eq!(big(r#"{"99999999999999999999": "\\"}"#), None);
    }

    #[test]
    fn text_that_is_not_strict_json_is_rejected() {
        for text in ["", "NaN", "[Infinity]", "\u{feff}1", "{}x", "{'a':1}", "[1,]"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }

    #[test]
    fn the_nesting_of_json_is_limited() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse(nested(100).as_bytes()).is_ok());
        assert!(parse(nested(100_000).as_bytes()).is_err());
    }
}
