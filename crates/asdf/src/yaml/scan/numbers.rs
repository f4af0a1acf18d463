//! Scanning a flow sequence of plain numbers as a single token.
//!
//! ```text
//! [1.0, -2.5e-3, 7,
//!  .nan]                  decimal integers and floats, with spaces and line breaks around them
//! ```
//!
//! Only numbers that all rules read in the same way are joined: `.inf`, `.nan`, decimal integers
//! with fewer than 18 characters and no leading zeros, and decimal floats with a digit before the
//! decimal point and a sign in the exponent, if any. A list that contains anything else, such as a
//! comment or a number in base 60, is scanned item by item, which results in the same nodes.

use super::{Scanner, Span, Token, TokenKind, offset};

impl Scanner<'_> {
    /// Scans the flow sequence at the cursor as a single token. Returns `false` if it is empty or
    /// contains anything but plain numbers.
    pub(super) fn numbers(&mut self) -> bool {
        let first = self.elements.len();
        let Some((end, line_start, floats)) = self.find_numbers() else {
            self.elements.truncate(first);
            return false;
        };
        let span = Span::new(self.cursor.at, end);
        let text = Span::new(first, self.elements.len());
        self.queue.push(Token { kind: TokenKind::Numbers { floats }, span, text });
        (self.cursor.at, self.cursor.line_start) = (end, line_start);
        true
    }

    /// Records the offsets of the numbers. Returns the end of the list, the start of its last line,
    /// and whether any number is a float. Returns `None` if the list is empty or contains anything
    /// but plain numbers.
    fn find_numbers(&mut self) -> Option<(usize, usize, bool)> {
        let bytes = self.cursor.bytes;
        let (mut line_start, mut floats) = (self.cursor.line_start, false);
        let mut at = self.cursor.at + 1;
        loop {
            // Accept tabs here, because a tab is always valid before a number. A tab after a number is
            // not always valid, so it is left to the general scanner.
            skip_space(bytes, &mut at, &mut line_start, b'\t');
            if bytes.get(at) == Some(&b']') && at > self.cursor.at + 1 {
                let has_numbers =
                    self.elements.last().is_some_and(|&last| last as usize > self.cursor.at);
                return has_numbers.then_some((at + 1, line_start, floats));
            }
            let (end, is_float) = number_end(bytes, at)?;
            floats |= is_float;
            self.elements.push(offset(at));
            at = end;
            skip_space(bytes, &mut at, &mut line_start, b' ');
            match bytes.get(at)? {
                b',' => at += 1,
                b']' => return Some((at + 1, line_start, floats)),
                _ => return None,
            }
        }
    }
}

/// Skips spaces, line breaks, and bytes that are equal to `more`.
fn skip_space(bytes: &[u8], at: &mut usize, line_start: &mut usize, more: u8) {
    while let Some(&byte) = bytes.get(*at) {
        match byte {
            b' ' => *at += 1,
            b'\n' | b'\r' => {
                *at += 1;
                *line_start = *at;
            }
            _ if byte == more => *at += 1,
            _ => return,
        }
    }
}

/// Returns the offset at which the digits that begin at `at` end.
fn digits_end(bytes: &[u8], mut at: usize) -> usize {
    // Test eight bytes at a time, since most floats in real files have sixteen digits.
    while let Some(&eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let eight = u64::from_le_bytes(eight);
        // The ASCII codes of digits are hexadecimal 30 to 39, so adding 6 does not change the upper
        // half of the byte. A carry changes only bytes after the first non-digit, and these bytes
        // are ignored.
        let halves = 0xf0f0_f0f0_f0f0_f0f0;
        let digit = 0x3030_3030_3030_3030;
        let above = eight.wrapping_add(0x0606_0606_0606_0606);
        let others = ((eight ^ digit) | (above ^ digit)) & halves;
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Returns the offset at which the number that begins at `start` ends, and whether it is a float.
/// Returns `None` if there is no plain number at `start`.
pub(in crate::yaml) fn number_end(bytes: &[u8], start: usize) -> Option<(usize, bool)> {
    let digits_end = |at| digits_end(bytes, at);
    let is_signed = matches!(bytes.get(start)?, b'+' | b'-');
    let whole = start + usize::from(is_signed);
    let end = digits_end(whole);
    if end == whole {
        let rest = bytes.get(whole..)?;
        let is_special = rest.starts_with(b".inf") || (rest.starts_with(b".nan") && !is_signed);
        return is_special.then_some((whole + 4, true));
    }
    if bytes.get(end) != Some(&b'.') {
        let has_leading_zero = bytes[whole] == b'0' && end > whole + 1;
        return (!has_leading_zero && end - start < 18).then_some((end, false));
    }
    let end = digits_end(end + 1);
    if !matches!(bytes.get(end), Some(b'e' | b'E')) {
        return Some((end, true));
    }
    let exponent = end + 2;
    let is_signed = matches!(bytes.get(end + 1), Some(b'+' | b'-'));
    let end = digits_end(exponent);
    (is_signed && end > exponent).then_some((end, true))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::yaml::notation;
    use crate::yaml::parse::Parser;

    fn events(text: &str, joins_numbers: bool) -> Option<Vec<String>> {
        let parser = Parser::new(text);
        let parser = if joins_numbers { parser } else { parser.without_numbers() };
        notation::read(parser, text).ok()
    }

    #[test]
    fn only_nonempty_lists_of_plain_numbers_become_one_token() {
        use crate::yaml::{Document, ParseOptions};
        for (list, is_joined) in [
            ("[1, -2.5, +3e5]", false),
            ("[1, -2.5, +3.0e+5,\n  .nan, -.inf, ]", true),
            ("[0, -0, 10]", true),
            ("[01]", false),
            ("[0x1]", false),
            ("[1_0]", false),
            ("[1:30]", false),
            ("[-.nan]", false),
            ("[.5]", false),
            ("[]", false),
            ("[1 2]", false),
            ("[1, 2 # two\n]", false),
            ("[99999999999999999, 1]", true),
            ("[999999999999999999, 1]", false),
            ("[1: 2]", false),
            ("[~]", false),
        ] {
            let text = format!("a: {list}\n");
            let document =
                Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new());
            let document = document.unwrap();
            let node = document.root().get("a").unwrap();
            assert_eq!(node.numbers().is_some(), is_joined, "{list}");
        }
    }

    #[test]
    fn digits_end_at_the_first_byte_that_is_not_a_digit() {
        for len in 0..20 {
            for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
                let mut text = b"7".repeat(40);
                text[len] = byte;
                assert_eq!(super::digits_end(&text, 0), len, "{byte:#x}");
                assert_eq!(super::digits_end(&text[..len], 0), len);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn lists_of_numbers_produce_the_same_events_whether_joined_or_not(
            parts in proptest::collection::vec(
                prop::sample::select(vec![
                    "1", "-2.5", "+3.0e-7", "0", "01", ".nan", "-.inf", "x", "1e5", "0x1", "~", "1_0",
                    ",", ",", ",", ", ", " ", "\n", "\n ", "\t", "\r\n", "[", "]", "{", "}", ": ", "#", " #",
                    "-", "---", "...", "&a ", "!t ", "\u{85}", "é", "?", "'", "- [", "a: [", "[[1,2],[3,4]]",
                ]),
                0..20,
            ),
        ) {
            let text = parts.concat();
            prop_assert_eq!(events(&text, true), events(&text, false), "{:?}", text);
            let text = format!("a:\n  - [1, {text}]\n");
            prop_assert_eq!(events(&text, true), events(&text, false), "{:?}", text);
        }
    }
}
