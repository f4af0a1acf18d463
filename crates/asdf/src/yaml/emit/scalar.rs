//! Choosing the style of scalars, and formatting numbers like `PyYAML`.

use crate::yaml::{NodeKind, NodeStyle, ScalarRules, resolve};

/// The context in which a scalar is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// True if the scalar is inside brackets.
    pub(crate) in_flow: bool,
    /// True if the scalar is a mapping key that is written on the same line as its value.
    pub(crate) is_key: bool,
    /// True if the scalar has a tag that determines its type.
    pub(crate) is_tagged: bool,
}

/// The styles in which a scalar can be written, according to the rules of libyaml. LS, PS, NEL and
/// characters outside the basic multilingual plane are always escaped.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the flags are independent properties of the text"
)]
struct Analysis {
    is_multiline: bool,
    plain_in_flow: bool,
    plain_in_block: bool,
    single_quoted: bool,
    literal: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self {
                is_multiline: false,
                plain_in_flow: false,
                plain_in_block: false,
                single_quoted: true,
                literal: false,
            };
        }
        let is_document_mark = text.starts_with("---") || text.starts_with("...");
        let (mut flow_indicator, mut block_indicator) = (is_document_mark, is_document_mark);
        let (mut is_multiline, mut is_special) = (false, false);
        let (mut space_break, mut break_space) = (false, false);
        let mut before = '\n';
        let mut characters = text.chars().peekable();
        let mut is_first = true;
        while let Some(c) = characters.next() {
            let ends_word = characters.peek().is_none_or(|&next| is_blank(next));
            match c {
                '#' if is_first || is_blank(before) => {
                    (flow_indicator, block_indicator) = (true, true);
                }
                '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if is_first => {
                    (flow_indicator, block_indicator) = (true, true);
                }
                ',' | '[' | ']' | '{' | '}' => {
                    flow_indicator = true;
                    block_indicator |= is_first;
                }
                '-' if is_first && ends_word => (flow_indicator, block_indicator) = (true, true),
                '?' => {
                    flow_indicator = true;
                    block_indicator |= is_first && ends_word;
                }
                ':' => {
                    flow_indicator = true;
                    block_indicator |= ends_word;
                }
                _ => {}
            }
            is_special |= !is_printable(c);
            is_multiline |= c == '\n';
            space_break |= before == ' ' && c == '\n' && !is_first;
            break_space |= before == '\n' && c == ' ' && !is_first;
            before = c;
            is_first = false;
        }
        let is_edge = |c: char| c == ' ' || c == '\n';
        let edges = text.starts_with(is_edge) || text.ends_with(is_edge);
        let plain = !edges && !is_multiline && !is_special && !break_space && !space_break;
        Self {
            is_multiline,
            plain_in_flow: plain && !flow_indicator,
            plain_in_block: plain && !block_indicator,
            single_quoted: !break_space && !space_break && !is_special,
            literal: !text.ends_with(' ') && !space_break && !is_special,
        }
    }

    fn plain(self, place: Place) -> bool {
        if place.in_flow { self.plain_in_flow } else { self.plain_in_block }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns `true` if a character may be written without an escape.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c,
        '\n' | ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}'
        | '\u{ff00}'..='\u{fffd}')
}

/// Returns the simplest style in which a string is read back as a string: plain, single-quoted or
/// double-quoted.
pub(crate) fn default_style(text: &str, place: Place) -> NodeStyle {
    let analysis = Analysis::of(text);
    quoted_style(analysis, place, !place.is_tagged && resolves(text))
}

/// Returns the simplest style in which a string is read back as a string. If `resolves` is true, the
/// string needs quotes, because it would otherwise be read as another type.
fn quoted_style(analysis: Analysis, place: Place, resolves: bool) -> NodeStyle {
    if analysis.plain(place) && !resolves {
        return NodeStyle::Plain;
    }
    if !analysis.single_quoted || (place.is_key && analysis.is_multiline) {
        return NodeStyle::DoubleQuoted;
    }
    NodeStyle::SingleQuoted
}

/// Returns the given style if the text and the context allow it. Otherwise, and for
/// [`NodeStyle::Folded`], returns a quoted style.
pub(crate) fn possible_style(text: &str, style: NodeStyle, place: Place) -> NodeStyle {
    let analysis = Analysis::of(text);
    // Numbers, dates and other scalars that are not strings can always be plain, because none of
    // their characters has a special meaning at its position.
    let is_other_type =
        || !text.is_empty() && resolve(text, ScalarRules::Python).0 != NodeKind::String;
    match style {
        NodeStyle::Plain if is_other_type() || analysis.plain(place) => NodeStyle::Plain,
        NodeStyle::DoubleQuoted => NodeStyle::DoubleQuoted,
        NodeStyle::Literal if analysis.literal && !place.in_flow && !place.is_key => {
            NodeStyle::Literal
        }
        _ => quoted_style(analysis, place, true),
    }
}

/// Returns `true` if, without quotes, at least one of the supported rules would read the text as
/// something other than an ordinary string.
fn resolves(text: &str) -> bool {
    let rules = [ScalarRules::Python, ScalarRules::Libasdf, ScalarRules::Core12];
    rules.into_iter().any(|rules| resolve(text, rules) != (NodeKind::String, None))
}

/// Formats a float for YAML 1.1 as the shortest text that reads back as the same number and has a
/// decimal point. If there is an exponent, it has a sign.
pub(crate) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = repr(value);
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        None if !text.contains('.') => text + ".0",
        _ => text,
    }
}

/// Formats a finite number like Python's `repr`, but without a trailing `.0`: `1`, `0.1`, `1e+16`,
/// `1.5e-05`.
pub(crate) fn repr(value: f64) -> String {
    // The mantissa has one digit before the decimal point: `1.5e-5`.
    let scientific = format!("{value:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        return positional(mantissa, exponent);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Formats a mantissa and an exponent in positional notation, such as `0.00015`.
fn positional(mantissa: &str, exponent: i32) -> String {
    let unsigned = mantissa.strip_prefix('-');
    let mut text = String::with_capacity(24);
    if unsigned.is_some() {
        text.push('-');
    }
    let mut digits = unsigned.unwrap_or(mantissa).chars().filter(|c| *c != '.').peekable();
    if exponent < 0 {
        text.push_str("0.");
        text.extend((exponent..-1).map(|_| '0'));
    } else {
        text.extend((0..=exponent).map(|_| digits.next().unwrap_or('0')));
        if digits.peek().is_some() {
            text.push('.');
        }
    }
    text.extend(digits);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: Place = Place { in_flow: false, is_key: false, is_tagged: false };
    const FLOW: Place = Place { in_flow: true, ..BLOCK };

    #[test]
    fn strings_that_would_be_read_as_another_type_are_quoted() {
        for text in [
            "yes",
            "No",
            "ON",
            "true",
            "~",
            "null",
            "",
            "1e3",
            "1E3",
            "012",
            "0o17",
            "0x1F",
            "1_000",
            "1:30",
            "1:30.5",
            "2001-12-14",
            "2001-12-14 21:59:43",
            "2024-02-30",
            ".5",
            "-.5",
            ".inf",
            ".nan",
            "=",
            "<<",
            "+1",
            "0b1",
            "1.",
            "0b_",
        ] {
            assert_eq!(default_style(text, BLOCK), NodeStyle::SingleQuoted, "{text}");
        }
        for text in ["y", "n", "a", "1a", "inf", "nan", "v1.2", "a b", "a:b", "a#b", "-a", "é漢"]
        {
            assert_eq!(default_style(text, BLOCK), NodeStyle::Plain, "{text}");
        }
    }

    #[test]
    fn indicators_are_quoted_only_where_they_have_a_meaning() {
        for text in [
            "- a", "a: b", "a #b", "#a", "'a", "*a", "&a", "[a", "@a", "a:", "? a", " a", "a ",
            "---", "...x",
        ] {
            assert_eq!(default_style(text, BLOCK), NodeStyle::SingleQuoted, "{text}");
        }
        for text in ["a,b", "a]b", "a?b", "http://x", "?a"] {
            assert_eq!(default_style(text, BLOCK), NodeStyle::Plain, "{text}");
            assert_eq!(default_style(text, FLOW), NodeStyle::SingleQuoted, "{text}");
        }
    }

    #[test]
    fn strings_with_line_breaks_or_special_characters_are_quoted() {
        assert_eq!(default_style("a\nb", BLOCK), NodeStyle::SingleQuoted);
        assert_eq!(default_style("a\nb", Place { is_key: true, ..BLOCK }), NodeStyle::DoubleQuoted);
        for text in
            ["a \nb", "a\n b", "\t", "a\r\n", "\u{85}", "\u{2028}", "\u{feff}", "😀", "\u{7f}"]
        {
            assert_eq!(default_style(text, BLOCK), NodeStyle::DoubleQuoted, "{text:?}");
        }
    }

    #[test]
    fn floats_are_written_with_a_decimal_point_and_a_signed_exponent() {
        // Expected values come from Python: `yaml.safe_dump` of each value.
        for (value, text) in [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (1e16, "1.0e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789.123, "123456789.123"),
            (1e-5, "1.0e-05"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (f64::MAX, "1.7976931348623157e+308"),
            (5e-324, "5.0e-324"),
            (f64::INFINITY, ".inf"),
            (f64::NEG_INFINITY, "-.inf"),
            (f64::NAN, ".nan"),
            (f64::from(3.3_f32), "3.299999952316284"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }

    proptest! {
        #[test]
        fn a_number_without_an_exponent_is_printed_as_in_rust(large in -1e16..1e16_f64, small: f32) {
            for value in [large, large.trunc(), large / 1e16, f64::from(small)] {
                if value.is_finite() && !repr(value).contains('e') {
                    prop_assert_eq!(repr(value), value.to_string());
                }
            }
        }

        #[test]
        fn every_float_reads_back_as_itself(bits: u64) {
            let value = f64::from_bits(bits);
            let text = float_text(value);
            let (kind, _) = resolve(&text, ScalarRules::Python);
            prop_assert_eq!(kind, NodeKind::Float);
            if value.is_finite() {
                prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits);
            }
        }
    }
}
