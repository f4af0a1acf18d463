//! Rendering diagnostics as text: excerpts of the layout with carets under the relevant characters.

use annotate_snippets::{Annotation, AnnotationKind, Level, Origin, Padding, Renderer, Snippet};

use super::{Diagnostic, Place, Severity, floor};
use crate::source::Source;

/// A mark that begins within this many bytes of the previous mark is shown in the same excerpt.
/// Because a single line may be gigabytes long, at most this many bytes of a line are shown before
/// the first mark and after the last mark.
const FAR: usize = 1 << 12;

impl Source {
    /// Renders a diagnostic with excerpts of the text. If `color` is set, adds colours for a terminal.
    ///
    /// ```text
    /// error[E020]: `x` is declared twice
    ///  --> run.dud:2:1
    ///   |
    /// 1 | x = f8
    ///   | - first declared here, as data
    /// 2 | x = i4
    ///   | ^ declared again here
    /// ```
    pub fn render(&self, diagnostic: &Diagnostic, color: bool) -> String {
        let level = match diagnostic.severity {
            Severity::Note => Level::NOTE,
            Severity::Warning => Level::WARNING,
            Severity::Error => Level::ERROR,
        };
        let name = self.name().unwrap_or("layout").replace(char::is_control, "\u{fffd}");
        let title = level.primary_title(&*diagnostic.message).id(diagnostic.code.as_str());
        let label = diagnostic.label.as_deref();
        let mut marks = vec![self.mark(&diagnostic.place, label, AnnotationKind::Primary)];
        let (line, column) = self.line_column(diagnostic.place.offset.unwrap_or_default());
        marks.extend(
            diagnostic.labels.iter().map(|label| {
                self.mark(&label.place, Some(&label.message), AnnotationKind::Context)
            }),
        );
        marks.sort_by_key(|mark| mark.start);
        let parts = marks.chunk_by(|one, other| other.start < one.start + FAR);
        let parts: Vec<Excerpt<'_>> = parts.map(|marks| self.excerpt(marks)).collect();
        // State the position separately if the first excerpt may not show it, or if an excerpt begins within a
        // line and therefore has the wrong columns.
        let states_origin =
            self.text().is_empty() || parts.len() > 1 || parts.iter().any(|part| part.is_cut);
        let origin = Origin::path(&*name).line(line as usize).char_column(column as usize);
        let mut group = title.elements(states_origin.then_some(origin));
        if self.text().is_empty() {
            group = group.element(Padding);
        } else {
            group = group.elements(parts.into_iter().map(|part| {
                let path = (!states_origin).then_some(&*name);
                let snippet = Snippet::source(part.text).line_start(part.line).path(path);
                snippet.annotations(part.annotations)
            }));
        }
        let group = group.elements(diagnostic.help.iter().map(|help| Level::HELP.message(&**help)));
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group]) + "\n"
    }

    /// Returns the mark for a [`Place`]. A mark that would extend over several lines ends with the
    /// first line.
    fn mark<'a>(&self, place: &Place, label: Option<&'a str>, kind: AnnotationKind) -> Mark<'a> {
        let at = |offset: u64| floor(self.text(), usize::try_from(offset).unwrap_or(usize::MAX));
        let offset = place.offset.unwrap_or_default();
        let start = at(offset);
        let end = at(offset.saturating_add(place.len.unwrap_or_default())).max(start);
        let len = self.text()[start..end].find(['\n', '\r']).unwrap_or(end - start);
        Mark { start, end: start + len, label, kind }
    }

    /// Returns an excerpt with the lines that contain the marks. The marks must be close together.
    fn excerpt<'a>(&self, marks: &[Mark<'a>]) -> Excerpt<'a> {
        let text = self.text();
        let ends = marks.iter().map(|mark| mark.end);
        let (first, last) = (marks[0].start, ends.max().unwrap_or_default());
        let from = floor(text, first.saturating_sub(FAR));
        let line_start = text[from..first].rfind(['\n', '\r']).map(|at| from + at + 1);
        let to = floor(text, last.saturating_add(FAR));
        let line_end = text[last..to].find(['\n', '\r']).map_or(to, |at| last + at);
        let start = line_start.unwrap_or(from);
        let mut lines = text.as_bytes()[start..line_end].to_vec();
        for at in 0..lines.len() {
            match (lines[at], lines.get(at + 1)) {
                // A lone carriage return also ends a line, so replace it with a line feed.
                (b'\r', next) if next != Some(&b'\n') => lines[at] = b'\n',
                // Replace the control characters U+0080 to U+009F with `¿`, because some terminals interpret
                // them.
                (0xc2, Some(0x80..=0x9f)) => lines[at + 1] = 0xbf,
                _ => {}
            }
        }
        if last == text.len() {
            // Add an empty line, because a mark may be after the last line feed.
            lines.push(b'\n');
        }
        let annotations = marks
            .iter()
            .map(|mark| mark.kind.span(mark.start - start..mark.end - start).label(mark.label));
        Excerpt {
            text: String::from_utf8(lines).unwrap_or_default(),
            line: self.line_column(first as u64).0 as usize,
            is_cut: line_start.is_none() && from > 0,
            annotations: annotations.collect(),
        }
    }
}

struct Mark<'a> {
    start: usize,
    end: usize,
    label: Option<&'a str>,
    kind: AnnotationKind,
}

struct Excerpt<'a> {
    text: String,
    /// Line number of the first line.
    line: usize,
    /// Whether the excerpt begins within a line.
    is_cut: bool,
    annotations: Vec<Annotation<'a>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;
    use crate::source::Span;

    fn source(text: &str) -> Source {
        Source::decode_named(text.as_bytes(), "run.dud").unwrap()
    }

    fn diagnostic(code: Code, start: u32, end: u32, message: &str) -> Diagnostic {
        Diagnostic::new(code, Span::new(start, end), message)
    }

    #[test]
    fn a_second_label_is_shown_with_its_line() {
        let diagnostic = diagnostic(Code::Redeclared, 22, 23, "`x` is declared twice")
            .label("declared again here")
            .label_at(Span::new(0, 1), "first here")
            .help("take another name");
        let expected = "\
error[E020]: `x` is declared twice
 --> run.dud:4:2
  |
1 | x = f8
  | - first here
...
4 |  x = i4
  |  ^ declared again here
  |
  = help: take another name
";
        assert_eq!(
            source("x = f8\ny = f8\nz = f8\n x = i4\n").render(&diagnostic, false),
            expected
        );
        let old = source("x = f8\ry = f8\rz = f8\r x = i4\r").render(&diagnostic, false);
        assert_eq!(old, expected, "line endings of old Macs");
    }

    #[test]
    fn wide_characters_occupy_two_columns() {
        let text = "温度 = f9  # 摂氏";
        let start = u32::try_from(text.find("f9").unwrap()).unwrap();
        let shown =
            source(text).render(&diagnostic(Code::UndefinedType, start, start + 2, "no"), false);
        assert!(shown.contains("\n1 | 温度 = f9  # 摂氏\n  |        ^^\n"), "{shown}");
        assert!(shown.contains("--> run.dud:1:6\n"), "{shown}");
    }

    #[test]
    fn colours_are_shown_only_on_request() {
        let source = source("x = f9");
        let diagnostic = diagnostic(Code::UndefinedType, 4, 6, "no \u{1b}[31m type");
        assert!(!source.render(&diagnostic, false).contains('\u{1b}'));
        assert!(source.render(&diagnostic, true).contains("\u{1b}[1m"));
        assert!(!source.render(&diagnostic, true).contains("\u{1b}[31m"));
    }

    #[test]
    fn a_long_line_is_shortened_on_both_sides_of_the_label() {
        let text = format!("{}x = y{}", " ".repeat(1_000_000), " z".repeat(1_000_000));
        let shown = source(&text)
            .render(&diagnostic(Code::UndefinedType, 1_000_004, 1_000_005, "no"), false);
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines.iter().position(|line| line.contains('^')).unwrap();
        let column = lines[caret].find('^').unwrap();
        assert_eq!(lines[caret - 1].chars().nth(column), Some('y'), "{shown}");
        assert!(shown.contains("run.dud:1:1000005"), "{shown}");
        assert!(shown.len() < 600, "{}", shown.len());
    }

    #[test]
    fn labels_far_from_each_other_are_both_shown() {
        let text = format!("x = f8\n{}x = i4\n", "# comment\n".repeat(10_000));
        let at = u32::try_from(text.len()).unwrap() - 7;
        let diagnostic =
            diagnostic(Code::Redeclared, at, at + 1, "no").label_at(Span::new(0, 1), "first here");
        let shown = source(&text).render(&diagnostic, false);
        assert!(shown.contains("    1 | x = f8\n      | - first here\n"), "{shown}");
        assert!(shown.contains("10002 | x = i4\n      | ^\n"), "{shown}");
        assert!(shown.contains("--> run.dud:10002:1\n"), "{shown}");
    }

    #[test]
    fn spans_outside_the_text_or_within_a_character_are_adjusted() {
        for (start, end) in [(0, 0), (1, 2), (2, 900), (900, 901), (3, 1)] {
            let diagnostic = diagnostic(Code::Unexpected, start, end, "no");
            assert!(source("µ\u{0}µ\r\n").render(&diagnostic, false).contains('^'));
        }
        let empty = Source::default().render(&diagnostic(Code::Overflow, 0, 0, "no"), false);
        assert!(!empty.contains('^'), "{empty}");
    }
}
