//! Errors, warnings and notes about a layout, and their rendering as text with excerpts of the
//! layout.

mod code;
#[cfg(feature = "render")]
mod render;

use std::fmt;
use std::sync::Arc;

pub use binio::diagnostic::{Fix, Label, Place, Severity};
pub use code::Code;

use crate::source::{Source, Span};

/// An error, a warning or a note about a layout. Offsets are byte offsets in the decoded text.
pub type Diagnostic = binio::diagnostic::Diagnostic<Code>;

/// The diagnostics of a layout that has at least one error, in source order. `Display` shows them with
/// excerpts of the source. Without the feature `render`, it shows each diagnostic on one line.
///
/// ```
/// let error = dudley::Layout::parse("x = f8\nx = i4").unwrap_err();
/// let first = error.diagnostics().unwrap().first();
/// assert_eq!(first.code, dudley::diagnostic::Code::Redeclared);
/// assert_eq!((first.place.line, first.place.column), (Some(2), Some(1)));
/// assert!(error.to_string().starts_with("error[E020]: "));
/// ```
#[derive(Clone)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    source: Arc<Source>,
}

impl Diagnostics {
    /// Creates the diagnostics of a source. `list` must not be empty, and must be in source order.
    pub(crate) fn new(mut list: Vec<Diagnostic>, source: Arc<Source>) -> Self {
        source.locate(&mut list);
        Self { list, source }
    }

    /// Returns the first error in the text. A parser without error recovery would report only this
    /// error.
    pub fn first(&self) -> &Diagnostic {
        let mut errors = self.list.iter().filter(|found| found.severity == Severity::Error);
        errors.next().unwrap_or(&self.list[0])
    }

    /// Iterates over all diagnostics, including warnings and notes.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Returns the text that the diagnostics refer to.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Renders all diagnostics with excerpts of the text. If `color` is set, adds colours for a terminal.
    #[cfg(feature = "render")]
    pub fn render(&self, color: bool) -> String {
        let shown: Vec<String> =
            self.iter().map(|diagnostic| self.source.render(diagnostic, color)).collect();
        shown.join("\n")
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "render")]
        return f.write_str(&self.render(false));
        #[cfg(not(feature = "render"))]
        self.iter().try_for_each(|diagnostic| writeln!(f, "{diagnostic}"))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Diagnostics {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.list)
    }
}

/// Shows each diagnostic on one line, without excerpts.
impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.list.iter().map(ToString::to_string)).finish()
    }
}

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self::span(span.start.into()..span.end.into())
    }
}

/// Returns the byte offset in the text at which a diagnostic begins.
pub(crate) fn start(diagnostic: &Diagnostic) -> u64 {
    diagnostic.place.offset.unwrap_or_default()
}

impl Source {
    /// Sets the line and column of every [`Place`] in the diagnostics, in one pass over the source.
    pub(crate) fn locate(&self, list: &mut [Diagnostic]) {
        let mut places: Vec<&mut Place> = Vec::new();
        for diagnostic in list {
            places.push(&mut diagnostic.place);
            places.extend(diagnostic.labels.iter_mut().map(|label| &mut label.place));
            places.extend(diagnostic.fix.as_mut().map(|fix| &mut fix.place));
        }
        places.sort_by_key(|place| place.offset);
        let mut at = Position::default();
        for place in places {
            at.advance(self.text(), place.offset.unwrap_or_default());
            (place.line, place.column) = (Some(at.line), Some(at.column));
        }
    }

    /// Returns the line and column of an offset. Both start at 1, and columns are counted in characters.
    pub fn line_column(&self, offset: u64) -> (u32, u32) {
        let mut at = Position::default();
        at.advance(self.text(), offset);
        (at.line, at.column)
    }
}

/// A position in a source, which can only move forward.
struct Position {
    offset: usize,
    line: u32,
    column: u32,
}

impl Default for Position {
    fn default() -> Self {
        Self { offset: 0, line: 1, column: 1 }
    }
}

impl Position {
    /// Moves forward to an offset, or to the start of the character that contains it.
    fn advance(&mut self, text: &str, offset: u64) {
        let offset = floor(text, usize::try_from(offset).unwrap_or(usize::MAX));
        let bytes = text.as_bytes();
        for at in self.offset..offset {
            match bytes[at] {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => self.column += 1,
                b'\n' | b'\r' => (self.line, self.column) = (self.line + 1, 1),
                // Skip the continuation bytes of UTF-8.
                byte if byte & 0xc0 != 0x80 => self.column += 1,
                _ => {}
            }
        }
        self.offset = self.offset.max(offset);
    }
}

/// Rounds an offset down to the start of a character.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_lf_crlf_or_cr() {
        let source = Source::decode("a\r\nb\rc\n\nµd".as_bytes()).unwrap();
        let places = [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 99].map(|offset| source.line_column(offset));
        let expected = [
            (1, 1),
            (1, 2),
            (1, 3),
            (2, 1),
            (2, 2),
            (3, 1),
            (4, 1),
            (5, 1),
            (5, 1),
            (5, 2),
            (5, 3),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn locating_a_diagnostic_sets_every_line_and_column_even_in_labels_and_fixes() {
        let source = Source::decode(b"a\nbc\nd").unwrap();
        let span = |at| Place::from(Span::new(at, at + 1));
        let mut list = vec![
            Diagnostic::new(Code::Redeclared, span(5), "")
                .label_at(span(0), "first")
                .fix(span(3), ""),
        ];
        source.locate(&mut list);
        let fix = &list[0].fix.as_ref().unwrap().place;
        let places = [&list[0].place, &list[0].labels[0].place, fix];
        assert_eq!(places.map(|place| place.line), [Some(3), Some(1), Some(2)]);
        assert_eq!(places.map(|place| place.column), [Some(1), Some(1), Some(2)]);
    }
}
