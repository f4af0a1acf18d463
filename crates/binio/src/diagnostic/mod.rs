//! Reporting irregularities that do not stop a reader.
//!
//! A reader collects [`Diagnostic`]s as it reads, and the caller decides whether they matter. An
//! error, in contrast, means that part of the file cannot be read. Formats define their codes with
//! [`codes!`](crate::codes).

mod nearest;
mod signature;

use std::fmt;
use std::ops::Range;

pub use crate::error::count::count;
pub use nearest::nearest;
pub use signature::{compression_by_signature, kind_by_signature};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
pub enum Severity {
    /// Irregular or worth knowing, but no content is lost.
    Note,
    /// Violates the format, but was read in the way that was probably intended.
    Warning,
    /// Damaged or meaningless: the file does not pass validation.
    Error,
}

impl Severity {
    /// Returns the lower-case name, as used in messages and JSON.
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

/// The diagnostic codes of a format; see [`codes!`](crate::codes).
pub trait Code: Copy + Eq + fmt::Debug + 'static {
    /// Returns the stable name that programs can rely on, such as `E020`, `R105` or `BadBlock`.
    fn as_str(self) -> &'static str;

    /// Returns the default severity. The caller's options may override it.
    fn severity(self) -> Severity;
}

/// A location in a file. Each field is `None` if it is not known.
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
    /// Path of the file, or of an entry in an archive.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub path: Option<String>,
    /// JSON Pointer (RFC 6901) to the node, starting from the root.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pointer: Option<String>,
    /// Line number in the text; the first line is 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub line: Option<u32>,
    /// Column number in characters; the first column is 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub column: Option<u32>,
    /// Offset of the location in bytes, from the start of the file.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// Length of the location in bytes, starting at `offset`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub len: Option<u64>,
}

impl Place {
    /// Creates a location at an offset in bytes, counted from the start of the file.
    pub fn at(offset: u64) -> Self {
        Self { offset: Some(offset), ..Self::default() }
    }

    /// Creates a location from a range of bytes in the file.
    pub fn span(range: Range<u64>) -> Self {
        let len = Some(range.end.saturating_sub(range.start));
        Self { offset: Some(range.start), len, ..Self::default() }
    }

    /// Sets the line and column numbers; the first line and the first column are 1.
    #[must_use]
    pub fn line_column(mut self, line: u32, column: u32) -> Self {
        (self.line, self.column) = (Some(line), Some(column));
        self
    }

    crate::setters! {
        /// Sets the line number; the first line is 1.
        line: u32 => Some(line);
        /// Sets the JSON Pointer.
        pointer: impl Into<String> => Some(pointer.into());
        /// Sets the path of the file or entry.
        path: impl Into<String> => Some(path.into());
    }

    /// Returns `true` if all fields are `None`.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Writes the known fields except the length, from the broadest to the most precise. Control
/// characters are escaped.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        // The pointer of the root is empty.
        let names = [&self.path, &self.pointer].into_iter().flatten();
        for text in names.filter(|text| !text.is_empty()) {
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

/// An additional location that is relevant to a diagnostic, with a message about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Label {
    /// The additional location.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Place,
    /// A few words about the content at this location.
    pub message: String,
}

/// A text edit that removes the cause of a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Fix {
    /// The range of bytes to replace, given by its `offset` and `len`.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Place,
    /// The replacement text.
    pub replacement: String,
}

/// An irregularity that did not stop the reader.
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
    /// The code, which programs can match on.
    #[cfg_attr(feature = "serde", serde(serialize_with = "serialize_code"))]
    pub code: C,
    /// The severity, which defaults to the severity of the code.
    pub severity: Severity,
    /// A one-line, human-readable description. The location is in the field `place`.
    pub message: String,
    /// The location of the irregularity.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub place: Place,
    /// A few words about the content at this location.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub label: Option<String>,
    /// Additional locations that are relevant to the diagnostic.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub labels: Vec<Label>,
    /// Advice on what to do, one line per element.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
    pub help: Vec<String>,
    /// The edit that removes the cause, if it is certain to be right.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub fix: Option<Fix>,
}

#[cfg(feature = "serde")]
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires this signature")]
fn serialize_code<C: Code, S: serde::Serializer>(
    code: &C,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}

impl<C: Code> Diagnostic<C> {
    /// Creates a diagnostic with the severity of its code.
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
        /// Sets the severity, overriding the default of its code.
        severity: Severity;
        /// Sets the label, a few words about the content at the location.
        label: impl Into<String> => Some(label.into());
    }

    /// Adds another location that is relevant to the diagnostic, with a message about it.
    #[must_use]
    pub fn label_at(mut self, place: impl Into<Place>, message: impl Into<String>) -> Self {
        self.labels.push(Label { place: place.into(), message: message.into() });
        self
    }

    /// Adds a line of advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// Sets the edit that removes the cause.
    #[must_use]
    pub fn fix(mut self, place: impl Into<Place>, replacement: impl Into<String>) -> Self {
        self.fix = Some(Fix { place: place.into(), replacement: replacement.into() });
        self
    }
}

/// Writes one line that ends with the location in parentheses. `{:#}` omits the location.
impl<C: Code> fmt::Display for Diagnostic<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code.as_str(), self.message)?;
        if !self.place.is_empty() && !f.alternate() {
            write!(f, " ({})", self.place)?;
        }
        Ok(())
    }
}

/// Defines the diagnostic codes of a format as an enum. Each code has a stable name, a meaning (the
/// text of its doc comment) and a severity. See [`Diagnostic`](crate::diagnostic::Diagnostic).
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

        #[allow(dead_code, reason = "some formats do not use all methods")]
        impl $Code {
            /// All codes, in order of declaration.
            $vis const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the stable name that programs can rely on.
            $vis fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns the meaning of the code.
            $vis fn meaning(self) -> &'static str {
                match self { $(Self::$name => ::std::concat!($($doc),+).trim_ascii_start(),)+ }
            }

            /// Returns the default severity. The caller's options may override it.
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
        /// Codes for these tests.
        enum Code {
            /// Something is missing.
            Missing = "E001": Error;
            /// A long explanation
            /// on two lines.
            Long = "N002": Note;
        }
    }

    #[test]
    fn every_code_has_a_name_a_meaning_and_a_severity() {
        assert_eq!(Code::ALL, [Code::Missing, Code::Long]);
        assert_eq!(Code::Missing.to_string(), "E001");
        assert_eq!(Code::Missing.meaning(), "Something is missing.");
        assert_eq!(Code::Long.meaning(), "A long explanation on two lines.");
        assert_eq!(Code::Long.severity(), Severity::Note);
        assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
    }

    #[test]
    fn a_diagnostic_prints_its_severity_code_message_and_place() {
        let place = Place::span(3..7).path("a\nb").line(2);
        let diagnostic = Diagnostic::new(Code::Missing, place, "no size");
        assert_eq!(diagnostic.to_string(), "error[E001]: no size (a\\nb, line 2, offset 3)");
        assert_eq!(format!("{diagnostic:#}"), "error[E001]: no size");
        let note =
            Diagnostic::new(Code::Missing, Place::default(), "no size").severity(Severity::Note);
        assert_eq!(note.to_string(), "note[E001]: no size");
    }

    #[test]
    fn a_place_prints_no_pointer_for_the_root() {
        let place = Place { pointer: Some(String::new()), line: Some(4), ..Place::default() };
        assert_eq!(place.to_string(), "line 4");
    }
}
