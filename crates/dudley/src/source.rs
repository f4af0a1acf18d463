//! The decoded text of a layout.

use std::fmt;

/// A part of a text, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// After the last byte.
    pub end: u32,
}

impl Span {
    pub(crate) fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Its number of bytes.
    pub(crate) fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// From the beginning of this one to the end of another.
    pub(crate) fn to(self, end: Self) -> Self {
        Self { start: self.start, end: end.end.max(self.start) }
    }
}

/// How the bytes of a text were decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, as layouts should be.
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

/// A decoded text, and the name of the file that it comes from.
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
    /// The name of the file, for messages.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The text, without a byte-order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The encoding of the bytes.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
}
