//! Formatting values like Python's `repr`, and like `pprint.pformat`, which wraps wide values.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

/// Formats a value like Python's `repr`, but sorts the keys of objects, like `pprint`.
fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number_repr(number),
        Value::String(text) => text_repr(text),
        Value::Array(items) => format!("[{}]", join(items.iter().map(repr))),
        Value::Object(object) => {
            let pair =
                |(key, value): (&String, &Value)| format!("{}: {}", text_repr(key), repr(value));
            format!("{{{}}}", join(sorted(object).into_iter().map(pair)))
        }
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

fn sorted(object: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut pairs: Vec<_> = object.iter().collect();
    pairs.sort_by_key(|(key, _)| *key);
    pairs
}

fn number_repr(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ if float.fract() == 0.0 => format!("{float:.1}"),
        _ => float.to_string(),
    }
}

/// Formats text like Python's `repr`: in double quotes if it contains single quotes but no double
/// quotes, and otherwise in single quotes.
fn text_repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        let code = u32::from(c);
        let _ = match c {
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c == quote => write!(out, "\\{c}"),
            c if is_printable(c) => write!(out, "{c}"),
            _ if code < 0x100 => write!(out, "\\x{code:02x}"),
            _ if code < 0x10000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
    out
}

/// Returns `true` if a character is printable according to Python: it is a space, or it is assigned
/// and is not a separator, a control or format character, or a private-use character.
fn is_printable(c: char) -> bool {
    // Rust's `Debug` format escapes the same characters, and also quotes, backslashes, and a
    // combining character at the beginning of a string.
    matches!(c, ' '..='~') || String::from_iter(['a', c]).escape_debug().nth(2).is_none()
}

/// Formats bytes like Python's `repr`.
pub(super) fn bytes_repr(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut out = format!("b{quote}");
    for &byte in bytes {
        let _ = match byte {
            b'\\' => write!(out, "\\\\"),
            b'\n' => write!(out, "\\n"),
            b'\r' => write!(out, "\\r"),
            b'\t' => write!(out, "\\t"),
            byte if char::from(byte) == quote => write!(out, "\\{quote}"),
            b' '..=b'~' => write!(out, "{}", char::from(byte)),
            byte => write!(out, "\\x{byte:02x}"),
        };
    }
    out.push(quote);
    out
}

/// Formats a value like `pprint.pformat`: on one line if it fits into `width`, otherwise with one
/// item per line.
pub(super) fn pformat(value: &Value, width: usize) -> String {
    let mut out = String::new();
    Printer { out: &mut out, width }.value(value, 0, 0, 1);
    out
}

struct Printer<'a> {
    out: &'a mut String,
    width: usize,
}

impl Printer<'_> {
    /// Prints a value that begins in column `indent`, and leaves space for `allowance` characters
    /// after it.
    fn value(&mut self, value: &Value, indent: usize, allowance: usize, level: usize) {
        let one_line = repr(value);
        if indent + one_line.chars().count() + allowance <= self.width {
            self.out.push_str(&one_line);
            return;
        }
        match value {
            Value::Array(items) if !items.is_empty() => {
                self.out.push('[');
                for (number, item) in items.iter().enumerate() {
                    let allowance = self.separate(number, items.len(), indent + 1, allowance);
                    self.value(item, indent + 1, allowance, level + 1);
                }
                self.out.push(']');
            }
            Value::Object(object) if !object.is_empty() => {
                self.out.push('{');
                for (number, (key, item)) in sorted(object).into_iter().enumerate() {
                    let allowance = self.separate(number, object.len(), indent + 1, allowance);
                    let key = text_repr(key);
                    self.out.push_str(&key);
                    self.out.push_str(": ");
                    self.value(item, indent + 1 + key.chars().count() + 2, allowance, level + 1);
                }
                self.out.push('}');
            }
            Value::String(text) if !text.is_empty() => self.text(text, indent, allowance, level),
            _ => self.out.push_str(&one_line),
        }
    }

    /// Prints a comma and a line break before every item except the first. Returns the number of
    /// characters that follow the item on its line.
    fn separate(&mut self, number: usize, count: usize, indent: usize, allowance: usize) -> usize {
        if number > 0 {
            self.out.push(',');
            self.break_line(indent);
        }
        if number + 1 == count { allowance + 1 } else { 1 }
    }

    fn break_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    /// Prints a string as several literals: one for each line or, if a line is too wide, one for
    /// each group of words that fits.
    fn text(&mut self, text: &str, indent: usize, allowance: usize, level: usize) {
        let outer = usize::from(level == 1);
        let (indent, allowance) = (indent + outer, allowance + outer);
        let width = self.width.saturating_sub(indent);
        let fits = |piece: &str, room: usize| text_repr(piece).chars().count() <= room;
        let mut pieces = Vec::new();
        let mut lines = lines(text).into_iter().peekable();
        while let Some(line) = lines.next() {
            let is_last = lines.peek().is_none();
            let last_room = width.saturating_sub(if is_last { allowance } else { 0 });
            if fits(line, last_room) {
                pieces.push(line.to_owned());
                continue;
            }
            let mut current = String::new();
            let mut words = words(line).into_iter().peekable();
            while let Some(word) = words.next() {
                let room = if words.peek().is_none() { last_room } else { width };
                let longer = format!("{current}{word}");
                if fits(&longer, room) {
                    current = longer;
                } else {
                    let full = std::mem::replace(&mut current, word.to_owned());
                    pieces.extend((!full.is_empty()).then_some(full));
                }
            }
            pieces.extend((!current.is_empty()).then_some(current));
        }
        let brackets = level == 1 && pieces.len() > 1;
        self.out.push_str(if brackets { "(" } else { "" });
        for (number, piece) in pieces.iter().enumerate() {
            if number > 0 {
                self.break_line(indent);
            }
            self.out.push_str(&text_repr(piece));
        }
        self.out.push_str(if brackets { ")" } else { "" });
    }
}

/// Splits text into lines, including their line ends, like Python's `splitlines(keepends=True)`.
fn lines(text: &str) -> Vec<&str> {
    const ENDS: [char; 10] =
        ['\n', '\r', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'];
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, end) in text.match_indices(ENDS) {
        if !text[at..].starts_with("\r\n") {
            let next = at + end.len();
            lines.push(&text[start..next]);
            start = next;
        }
    }
    lines.extend(Some(&text[start..]).filter(|last| !last.is_empty()));
    lines
}

/// Returns the words of a line, each with the whitespace after it.
fn words(line: &str) -> Vec<&str> {
    // Unlike Rust, Python counts the separators U+001C to U+001F as whitespace.
    let is_space = |c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c);
    let mut words = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let space = rest.find(is_space).unwrap_or(rest.len());
        let after = &rest[space..];
        let next = after.find(|c| !is_space(c)).unwrap_or(after.len());
        let (word, others) = rest.split_at(space + next);
        words.push(word);
        rest = others;
    }
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The expected lines were printed by `pprint.pformat(value, width=90)` in Python 3.11.
    #[test]
    fn wide_values_are_wrapped_as_in_python() {
        let short =
            json!({"shape": [3], "dtype": "<f8", "a'b": null, "t": true, "x": 1e16, "y": 0.5});
        assert_eq!(
            pformat(&short, 90),
            r#"{"a'b": None, 'dtype': '<f8', 'shape': [3], 't': True, 'x': 1e+16, 'y': 0.5}"#
        );
        let wide = json!({"dtype": "x".repeat(60), "shape": [20_000_000, 1], "container": "numpy"});
        let expected = format!(
            "{{'container': 'numpy',\n 'dtype': '{}',\n 'shape': [20000000, 1]}}",
            "x".repeat(60)
        );
        assert_eq!(pformat(&wide, 90), expected);
        assert_eq!(
            pformat(&json!("many words ".repeat(10)), 90),
            "('many words many words many words many words many words many words many words many '\n \
             'words many words many words ')"
        );
    }

    /// The expected text was printed by `repr` in Python 3.11.
    #[test]
    fn characters_that_are_not_printable_are_escaped_as_in_python() {
        let text =
            "a\u{a0}\u{ad}\u{200b}\u{2028}\u{3000}\u{e000}\u{feff}\u{378}\u{e0001}\x1b\x7f\u{85}";
        assert_eq!(
            text_repr(text),
            r"'a\xa0\xad\u200b\u2028\u3000\ue000\ufeff\u0378\U000e0001\x1b\x7f\x85'"
        );
        let printable = "\u{301}e\u{301} é 😀 \"";
        assert_eq!(text_repr(printable), format!("'{printable}'"));
    }

    /// The expected lines were printed by `pprint.pformat(value, width=90)` in Python 3.11.
    #[test]
    fn wide_text_is_split_at_the_line_ends_and_whitespace_of_python() {
        let lines = "line one\x0bline two\u{2028}line three\r\nline four ".repeat(2);
        assert_eq!(
            pformat(&json!(lines), 90),
            r"('line one\x0b'
 'line two\u2028'
 'line three\r\n'
 'line four line one\x0b'
 'line two\u2028'
 'line three\r\n'
 'line four ')"
        );
        let words = format!("{}{}", "word ".repeat(10), "x\x1fy ".repeat(12));
        assert_eq!(
            pformat(&json!(words), 90),
            r"('word word word word word word word word word word x\x1fy x\x1fy x\x1fy x\x1fy x\x1fy '
 'x\x1fy x\x1fy x\x1fy x\x1fy x\x1fy x\x1fy x\x1fy ')"
        );
    }

    #[test]
    fn an_empty_string_after_a_wide_key_is_printed() {
        let key = "k".repeat(95);
        assert_eq!(pformat(&json!({ key.as_str(): "" }), 90), format!("{{'{key}': ''}}"));
    }
}
