//! Diagnostics as text: the lines, and carets under what is meant.

use std::fmt::Write as _;

use super::Diagnostic;
use crate::source::{Source, Span};

/// Columns of a line that are shown around a place; layouts may have a single line of megabytes.
const WIDTH: usize = 120;
const BEFORE: usize = 60;

struct Mark<'a> {
    span: Span,
    text: &'a str,
    line: usize,
    caret: char,
}

pub(super) fn render(diagnostic: &Diagnostic, source: &Source) -> String {
    let mut out = format!("{diagnostic}\n");
    let mut marks = vec![Mark {
        span: diagnostic.span,
        text: &diagnostic.label,
        line: source.line_of(diagnostic.span.start),
        caret: '^',
    }];
    marks.extend(diagnostic.labels.iter().map(|label| Mark {
        span: label.span,
        text: &label.message,
        line: source.line_of(label.span.start),
        caret: '-',
    }));
    let gutter = marks.iter().map(|mark| mark.line).max().unwrap_or(1).to_string().len();
    let (line, column) = source.line_column(diagnostic.span.start);
    let name = source.name().unwrap_or("layout");
    let _ = writeln!(out, "{:gutter$}--> {name}:{line}:{column}", "");
    if !source.text().is_empty() {
        let _ = writeln!(out, "{:gutter$} |", "");
        marks.sort_by_key(|mark| mark.span.start);
        write_lines(&mut out, &marks, source, gutter);
    }
    if !diagnostic.help.is_empty() {
        let _ = writeln!(out, "{:gutter$} |", "");
    }
    for help in &diagnostic.help {
        let _ = writeln!(out, "{:gutter$} = help: {help}", "");
    }
    out
}

fn write_lines(out: &mut String, marks: &[Mark<'_>], source: &Source, gutter: usize) {
    let mut shown = None;
    for mark in marks {
        let line = source.line(mark.line);
        let start = source.line_start(mark.line);
        let at = source.floor(mark.span.start).max(start) - start;
        let at = at.min(line.len());
        // On one line all marks share the cut of the first.
        let cut = match shown {
            Some((number, cut)) if number == mark.line => cut,
            _ => {
                if shown.is_some_and(|(number, _)| number + 1 < mark.line) {
                    let _ = writeln!(out, "...");
                }
                let cut = cut_before(line, at);
                let _ = writeln!(out, "{:gutter$} | {}", mark.line, visible(line, cut));
                shown = Some((mark.line, cut));
                cut
            }
        };
        let end = (source.floor(mark.span.end).max(start) - start).clamp(at, line.len());
        let column = line.get(cut..at).map_or(0, |part| part.chars().count());
        let indent = column + if cut > 0 { 3 } else { 0 };
        let length = line[at..end].chars().take(WIDTH).count().max(1);
        let carets = mark.caret.to_string().repeat(length);
        let text = format!("{:gutter$} | {:indent$}{carets} {}", "", "", mark.text);
        let _ = writeln!(out, "{}", text.trim_end());
    }
}

/// Where the shown part of a line begins, so that `at` is in it.
fn cut_before(line: &str, at: usize) -> usize {
    let before = line[..at].char_indices().rev();
    match before.clone().nth(WIDTH - 20) {
        Some(_) => before.clone().nth(BEFORE).map_or(0, |(cut, _)| cut),
        None => 0,
    }
}

/// The shown part: control characters take a column and do nothing.
fn visible(line: &str, cut: usize) -> String {
    let mut out = String::from(if cut > 0 { "..." } else { "" });
    let mut rest = line[cut..].chars();
    out.extend(rest.by_ref().take(WIDTH).map(|character| match character {
        '\t' => ' ',
        control if control.is_control() => '\u{fffd}',
        plain => plain,
    }));
    if rest.next().is_some() {
        out.push_str("...");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Code;

    fn source(text: &str) -> Source {
        Source::decode(text.as_bytes()).unwrap().with_name("run.dud")
    }

    #[test]
    fn the_other_place_is_shown_with_its_line() {
        let diagnostic =
            Diagnostic::new(Code::Redeclared, Span::new(22, 23), "`x` is declared twice")
                .with_text("and here again")
                .with_label(Span::new(0, 1), "first here")
                .with_help("take another name");
        let expected = "\
error[E020]: `x` is declared twice
 --> run.dud:4:2
  |
1 | x = f8
  | - first here
...
4 |  x = i4
  |  ^ and here again
  |
  = help: take another name
";
        assert_eq!(diagnostic.render(&source("x = f8\ny = f8\nz = f8\n x = i4\n")), expected);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("{}x = y{}", " ".repeat(1_000_000), " z".repeat(1_000_000));
        let diagnostic =
            Diagnostic::new(Code::UndefinedType, Span::new(1_000_004, 1_000_005), "no");
        let shown = diagnostic.render(&source(&text));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[3].chars().nth(lines[4].find('^').unwrap()), Some('y'));
        assert!(shown.len() < 600, "{}", shown.len());
    }

    #[test]
    fn places_beyond_the_text_and_within_characters_do_no_harm() {
        for (start, end) in [(0, 0), (1, 2), (2, 900), (900, 901), (3, 1)] {
            let diagnostic = Diagnostic::new(Code::Unexpected, Span::new(start, end), "no");
            assert!(diagnostic.render(&source("µ\u{0}µ\r\n")).contains('^'));
        }
        assert!(
            !Diagnostic::new(Code::Overflow, Span::new(0, 0), "no")
                .render(&Source::default())
                .contains('^')
        );
    }
}
