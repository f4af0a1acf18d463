//! Determining the type of a plain scalar.

use super::number::{self, Form};
use super::timestamp::{self, Timestamp};
use crate::diagnostic::Code;

/// The rules that determine the types of plain scalars without a tag.
///
/// ```
/// use asdf::{Asdf, OpenOptions};
/// use asdf::yaml::ScalarRules;
///
/// let bytes = &b"#ASDF 1.0.0\n%YAML 1.1\n---\nx: 1e3\n...\n"[..];
/// assert_eq!(Asdf::from_bytes(bytes)?.tree()?.pointer("/x")?.as_f64(), None);
/// let options = OpenOptions::new().scalars(ScalarRules::Libasdf);
/// assert_eq!(options.from_bytes(bytes)?.tree()?.pointer("/x")?.as_f64(), Some(1000.0));
/// # Ok::<(), asdf::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScalarRules {
    /// YAML 1.1 as in the Python reference implementation: `1.0e+3` is a float, but `1e3` is a string.
    #[default]
    Python,
    /// Like [`Python`](Self::Python), but `1e3`, `1e+3`, `1.0e3` and `-.5` are floats, as in libasdf.
    Libasdf,
    /// The core schema of YAML 1.2: `017` is seventeen, and `yes` is a string. There are no dates and no merge
    /// keys.
    Core12,
}

/// The type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A null value.
    Null,
    /// A boolean.
    Bool,
    /// An integer of any size.
    Int,
    /// A floating-point number.
    Float,
    /// A string.
    String,
    /// A date.
    Date,
    /// A date and time.
    DateTime,
    /// Bytes, written in Base64.
    Binary,
    /// A list of nodes.
    Sequence,
    /// A list of entries, each a key and a value.
    Mapping,
}

impl NodeKind {
    /// Returns `true` for a sequence or a mapping.
    pub(super) fn is_collection(self) -> bool {
        matches!(self, Self::Sequence | Self::Mapping)
    }
}

/// The notation of a node in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeStyle {
    /// A scalar without quotes.
    Plain,
    /// A scalar in single quotes, `'`.
    SingleQuoted,
    /// A scalar in double quotes, `"`.
    DoubleQuoted,
    /// A block scalar after `|`, which keeps its line breaks.
    Literal,
    /// A block scalar after `>`, whose lines are joined with spaces.
    Folded,
    /// A collection written with indentation, or a single pair without braces in a flow sequence.
    Block,
    /// A collection in brackets, `[]` or `{}`.
    Flow,
}

/// Returns the type of an untagged plain scalar, and the diagnostic code if the scalar is
/// irregular.
pub(crate) fn resolve(text: &str, rules: ScalarRules) -> (NodeKind, Option<Code>) {
    let core = rules == ScalarRules::Core12;
    if is_null(text) {
        return (NodeKind::Null, None);
    }
    if boolean(text, rules).is_some() {
        return (NodeKind::Bool, None);
    }
    match number::form(text, rules) {
        Some(Form::Int) => {
            // An integer of fewer than 18 characters is always in the range that the standard allows for
            // literals.
            let is_large = text.len() >= 18
                && number::integer(text, rules).is_none_or(|int| int.is_outside_literals());
            return (NodeKind::Int, is_large.then_some(Code::LargeInteger));
        }
        Some(Form::Float) => return (NodeKind::Float, None),
        Some(Form::NoDigits) => return (NodeKind::String, Some(Code::EmptyNumber)),
        None => {}
    }
    if core || !text.starts_with(|c: char| c.is_ascii_digit()) {
        let special = !core && matches!(text, "=" | "<<");
        return (NodeKind::String, special.then_some(Code::SpecialScalar));
    }
    match timestamp::parse(text) {
        Some(Timestamp::Date(_)) => (NodeKind::Date, None),
        Some(Timestamp::DateTime(_)) => (NodeKind::DateTime, None),
        Some(Timestamp::Impossible) => (NodeKind::String, Some(Code::ImpossibleDate)),
        None => (NodeKind::String, None),
    }
}

/// Returns `true` if the text of a plain scalar stands for null.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns the boolean for the text of a plain scalar, or `None` if the text is not a boolean.
pub(super) fn boolean(text: &str, rules: ScalarRules) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ if rules == ScalarRules::Core12 => None,
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Returns the boolean for the text of a scalar with the tag `!!bool`, ignoring case, or `None` if
/// the text is not a boolean.
pub(super) fn lenient_boolean(text: &str) -> Option<bool> {
    boolean(&text.to_ascii_lowercase(), ScalarRules::Python)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> NodeKind {
        resolve(text, ScalarRules::Python).0
    }

    #[test]
    fn booleans_are_recognised_in_lower_upper_and_title_case() {
        for word in ["yes", "no", "true", "false", "on", "off"] {
            let capital = word[..1].to_uppercase() + &word[1..];
            for text in [word, &capital, &word.to_uppercase()] {
                assert_eq!(kind(text), NodeKind::Bool, "{text}");
            }
        }
        for text in ["y", "Y", "n", "N", "tRue", "TRUe", "oN"] {
            assert_eq!(kind(text), NodeKind::String, "{text}");
        }
    }

    #[test]
    fn null_is_recognised_in_each_of_its_spellings() {
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(kind(text), NodeKind::Null, "{text}");
        }
        assert_eq!(kind("nUll"), NodeKind::String);
    }

    #[test]
    fn numbers_and_dates_are_recognised_by_their_notation() {
        assert_eq!(kind("017"), NodeKind::Int);
        assert_eq!(kind("5."), NodeKind::Float);
        assert_eq!(kind("2001-12-14"), NodeKind::Date);
        assert_eq!(kind("2001-1-2 3:04:05"), NodeKind::DateTime);
        assert_eq!(kind("2001-1-2"), NodeKind::String);
        assert_eq!(kind("a: b"), NodeKind::String);
    }

    #[test]
    fn each_irregular_scalar_is_reported_with_its_code() {
        for (text, code) in [
            ("0x_", Code::EmptyNumber),
            ("2024-02-30", Code::ImpossibleDate),
            ("=", Code::SpecialScalar),
            ("<<", Code::SpecialScalar),
        ] {
            assert_eq!(
                resolve(text, ScalarRules::Python),
                (NodeKind::String, Some(code)),
                "{text}"
            );
        }
        for text in ["9223372036854775808", "-9223372036854775807", "0x8000000000000000"] {
            let want = (NodeKind::Int, Some(Code::LargeInteger));
            assert_eq!(resolve(text, ScalarRules::Python), want, "{text}");
        }
        for text in ["9223372036854775807", "-9223372036854775806", "0x7fffffffffffffff"] {
            assert_eq!(resolve(text, ScalarRules::Python), (NodeKind::Int, None), "{text}");
        }
    }

    #[test]
    fn core_rules_read_dates_base_60_numbers_and_the_word_yes_as_strings() {
        for text in ["yes", "off", "2001-12-14", "1:30", "<<"] {
            assert_eq!(resolve(text, ScalarRules::Core12), (NodeKind::String, None), "{text}");
        }
        assert_eq!(resolve("True", ScalarRules::Core12), (NodeKind::Bool, None));
    }
}
