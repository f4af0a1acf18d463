//! Irregularities that do not stop a reader, as values.
//!
//! A reader collects [`Diagnostic`]s while it goes on, and its caller decides what they mean. What
//! stops a part of a file from being read is an error instead. A format defines its codes by
//! [`codes!`](crate::codes).

mod nearest;
mod signature;

use std::fmt;
use std::ops::Range;

pub use nearest::nearest;
pub use signature::{compression_by_signature, kind_by_signature};

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Irregular or of use to know; nothing is lost.
    Note,
    /// Against the format, read in the way that was probably meant.
    Warning,
    /// Damaged or without meaning: a check of the file fails.
    Error,
}

impl Severity {
    /// The name, as messages and `--json` print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A format's codes of diagnostics; see [`codes!`](crate::codes).
pub trait Code: Copy + Eq + fmt::Debug + 'static {
    /// The stable name, as programs see it: `E020`, `R105`, `BadBlock`.
    fn as_str(self) -> &'static str;

    /// How much it matters, unless an option of the caller says otherwise.
    fn severity(self) -> Severity;
}

/// Where something is in a file. All parts are optional; each is set where it is known.
///
/// ```
/// use binio::diagnostic::Place;
///
/// let place = Place::at(70).line_column(3, 5).pointer("/image/data");
/// assert_eq!(place.to_string(), "/image/data, line 3, column 5, offset 70");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Place {
    /// The file, or the entry of an archive.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub path: Option<String>,
    /// The node, as a JSON Pointer (RFC 6901) from the root.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pointer: Option<String>,
    /// Line in the text, from 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub column: Option<u32>,
    /// Offset of the first byte in the file.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// Length in bytes from `offset` on.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub len: Option<u64>,
}

impl Place {
    /// The place at a byte offset of the file.
    pub fn at(offset: u64) -> Self {
        Self { offset: Some(offset), ..Self::default() }
    }

    /// The bytes of a range of the file.
    pub fn span(range: Range<u64>) -> Self {
        let len = Some(range.end.saturating_sub(range.start));
        Self { offset: Some(range.start), len, ..Self::default() }
    }

    /// Sets the line and the column, from 1.
    #[must_use]
    pub fn line_column(mut self, line: u32, column: u32) -> Self {
        (self.line, self.column) = (Some(line), Some(column));
        self
    }

    crate::setters! {
        /// Sets the line, from 1.
        line: u32 => Some(line);
        /// Sets the JSON Pointer.
        pointer: impl Into<String> => Some(pointer.into());
        /// Sets the path.
        path: impl Into<String> => Some(path.into());
    }

    /// Whether no part is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The known parts, from the widest to the most exact; control characters are escaped.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for text in [&self.path, &self.pointer].into_iter().flatten() {
            write!(f, "{separator}{}", text.escape_debug())?;
            separator = ", ";
        }
        let numbers = [
            ("line", self.line.map(u64::from)),
            ("column", self.column.map(u64::from)),
            ("offset", self.offset),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                write!(f, "{separator}{name} {number}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

/// Another place that matters to a diagnostic, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Label {
    /// Where.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Place,
    /// What is there, in a few words.
    pub message: String,
}

/// A change of the text that removes the cause of a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Fix {
    /// The bytes to replace, by `offset` and `len`.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Place,
    /// The text to write there.
    pub replacement: String,
}

/// Something irregular that did not stop the reader.
///
/// ```
/// use binio::diagnostic::{Diagnostic, Place};
///
/// binio::codes! {
///     /// The kinds of diagnostics.
///     pub enum Code {
///         /// Bytes after the last block.
///         TrailingBytes = "TrailingBytes": Warning;
///     }
/// }
///
/// let diagnostic = Diagnostic::new(Code::TrailingBytes, Place::at(70), "9 bytes after block 2")
///     .help("a copy of the file leaves them out");
/// assert_eq!(
///     diagnostic.to_string(),
///     "warning[TrailingBytes]: 9 bytes after block 2 (offset 70)"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(bound = "C: Code"))]
#[non_exhaustive]
pub struct Diagnostic<C> {
    /// What it is, for programs.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize_code"))]
    pub code: C,
    /// How much it matters.
    pub severity: Severity,
    /// What it is, for people: one line, without the place.
    pub message: String,
    /// Where.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Place,
    /// What stands at the place, in a few words.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub label: Option<String>,
    /// Other places that matter.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub labels: Vec<Label>,
    /// What to do about it, a line each.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub help: Vec<String>,
    /// The change that removes the cause, where it is certain.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub fix: Option<Fix>,
}

#[cfg(feature = "serde")]
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn serialize_code<C: Code, S: serde::Serializer>(
    code: &C,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}

impl<C: Code> Diagnostic<C> {
    /// A diagnostic with the severity of its code.
    pub fn new(code: C, place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity(),
            message: message.into(),
            place: place.into(),
            label: None,
            labels: Vec::new(),
            help: Vec::new(),
            fix: None,
        }
    }

    crate::setters! {
        /// Sets another severity than that of the code.
        severity: Severity;
        /// Sets what stands at the place, in a few words.
        label: impl Into<String> => Some(label.into());
    }

    /// Adds another place.
    #[must_use]
    pub fn label_at(mut self, place: impl Into<Place>, message: impl Into<String>) -> Self {
        self.labels.push(Label { place: place.into(), message: message.into() });
        self
    }

    /// Adds a line of help.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Sets the change that removes the cause.
    #[must_use]
    pub fn fix(mut self, place: impl Into<Place>, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { place: place.into(), replacement: replacement.into() });
        self
    }
}

/// On one line, with the place in parentheses; `{:#}` leaves out the place.
impl<C: Code> fmt::Display for Diagnostic<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code.as_str(), self.message)?;
        if !self.place.is_empty() && !f.alternate() {
            write!(f, " ({})", self.place)?;
        }
        Ok(())
    }
}

/// Defines a format's codes of diagnostics: an enum with a stable name, a meaning (the text of its
/// documentation) and a severity each. See [`Diagnostic`](crate::diagnostic::Diagnostic).
#[macro_export]
macro_rules! codes {
    (
        $(#[$meta:meta])*
        $vis:vis enum $Code:ident {
            $($(#[doc = $doc:literal])+ $name:ident = $text:literal: $severity:ident;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        $vis enum $Code {
            $(#[doc = ::std::concat!("`", $text, "`:")] $(#[doc = $doc])+ $name,)+
        }

        #[allow(dead_code, reason = "a format need not use all of it")]
        impl $Code {
            /// All codes, in their order.
            $vis const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The stable name, as programs see it.
            $vis fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// What it means.
            $vis fn meaning(self) -> &'static str {
                match self { $(Self::$name => ::std::concat!($($doc),+).trim_ascii_start(),)+ }
            }

            /// How much it matters, unless an option says otherwise.
            $vis fn severity(self) -> $crate::diagnostic::Severity {
                match self { $(Self::$name => $crate::diagnostic::Severity::$severity,)+ }
            }
        }

        impl $crate::diagnostic::Code for $Code {
            fn as_str(self) -> &'static str {
                self.as_str()
            }

            fn severity(self) -> $crate::diagnostic::Severity {
                self.severity()
            }
        }

        impl ::std::fmt::Display for $Code {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    codes! {
        /// Codes.
        enum Code {
            /// Something is missing.
            Missing = "E001": Error;
            /// A long explanation
            /// on two lines.
            Long = "N002": Note;
        }
    }

    #[test]
    fn codes_have_names_meanings_and_severities() {
        assert_eq!(Code::ALL, [Code::Missing, Code::Long]);
        assert_eq!(Code::Missing.to_string(), "E001");
        assert_eq!(Code::Missing.meaning(), "Something is missing.");
        assert_eq!(Code::Long.meaning(), "A long explanation on two lines.");
        assert_eq!(Code::Long.severity(), Severity::Note);
        assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
    }

    #[test]
    fn diagnostic_prints_severity_code_message_and_place() {
        let place = Place::span(3..7).path("a\nb").line(2);
        let diagnostic = Diagnostic::new(Code::Missing, place, "no size");
        assert_eq!(diagnostic.to_string(), "error[E001]: no size (a\\nb, line 2, offset 3)");
        assert_eq!(format!("{diagnostic:#}"), "error[E001]: no size");
        let note =
            Diagnostic::new(Code::Missing, Place::default(), "no size").severity(Severity::Note);
        assert_eq!(note.to_string(), "note[E001]: no size");
    }
}
