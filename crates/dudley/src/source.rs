//! The decoded text of layouts.

use std::fmt;

/// A range of bytes in a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The offset in the source of the range's first byte.
    pub start: u32,
    /// The offset in the source after the range's last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Returns the length of the range in bytes.
    pub(crate) fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Returns the range that begins where this range begins, and ends where `end` ends.
    pub(crate) fn to(self, end: Self) -> Self {
        Self { start: self.start, end: end.end.max(self.start) }
    }
}

/// The encoding from which a source was decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, which layouts should use.
    #[default]
    Utf8,
    /// Windows code page 1252.
    Cp1252,
    /// ISO 8859-1.
    Latin1,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "UTF-8",
            Self::Cp1252 => "CP-1252",
            Self::Latin1 => "Latin-1",
        })
    }
}

/// The decoded text of a layout, and the name of its file.
///
/// ```
/// use dudley::text::Encoding;
/// use dudley::Source;
///
/// let source = Source::decode(b"x = f8  ## 20 \xb0C\ny = f4")?;
/// assert_eq!(source.encoding(), Encoding::Cp1252);
/// assert!(source.text().contains("20 °C"));
/// let offset = source.text().find('y').unwrap();
/// assert_eq!(source.line_column(offset as u64), (2, 1));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub(crate) name: Option<String>,
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

impl Source {
    /// Returns the name of the file, which is used in messages, or `None` if it is not known.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the text, without a byte-order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the encoding of the original bytes.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
}
