//! Printing results.

pub(crate) mod color;
pub(crate) mod file;
pub(crate) mod html;
pub(crate) mod picture;
pub(crate) mod print;
pub(crate) mod progress;

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Seek, SeekFrom, Write};

use anstream::{AutoStream, ColorChoice};
use binio::diagnostic::{Code, Diagnostic, Severity};
use clap::builder::styling::{AnsiColor, Style};
use serde_json::Value;

pub(crate) use binio::array::{escape_controls, write_json};
pub(crate) use binio::diagnostic::count;

use crate::failure::Failure;

/// The output options that apply to every command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// The program name at the beginning of messages.
    pub(crate) program: &'static str,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

impl Output {
    /// Prints a line on standard error. Ignores write errors, because they cannot be reported
    /// anywhere.
    pub(crate) fn say(self, line: &impl fmt::Display) {
        self.message(Style::new(), line);
    }

    /// Prints an error on standard error.
    pub(crate) fn fail(self, error: &impl fmt::Display) {
        self.message(AnsiColor::Red.on_default().bold(), error);
    }

    /// Prints a remark on standard error, unless the output is quiet. A remark is not an error.
    pub(crate) fn remark(self, line: &impl fmt::Display) {
        if !self.quiet {
            self.message(AnsiColor::Yellow.on_default().bold(), line);
        }
    }

    /// Prints a hint below an error, unless the output is quiet.
    pub(crate) fn hint(self, line: &impl fmt::Display) {
        if !self.quiet {
            let style = AnsiColor::Cyan.on_default().bold();
            let _ = writeln!(anstream::stderr().lock(), "{style}hint:{style:#} {line}");
        }
    }

    fn message(self, style: Style, line: &impl fmt::Display) {
        let line = one_line(&line.to_string());
        let _ = writeln!(anstream::stderr().lock(), "{style}{}:{style:#} {line}", self.program);
    }

    /// Prints a line about the result on standard output, unless the output is quiet.
    pub(crate) fn result(self, line: &impl fmt::Display) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        writeln!(io::stdout().lock(), "{}", one_line(&line.to_string()))
    }
}

/// Formats diagnostics as lines. If several notes have the same code, only the first note is
/// included, followed by the number of further notes.
pub(crate) fn diagnostic_lines<C: Code>(diagnostics: &[Diagnostic<C>]) -> Vec<String> {
    let is_same = |a: &Diagnostic<C>, b: &Diagnostic<C>| {
        a.severity == Severity::Note && (b.severity, b.code) == (a.severity, a.code)
    };
    let mut lines = Vec::new();
    let mut codes: Vec<C> = Vec::new();
    for diagnostic in diagnostics {
        if codes.contains(&diagnostic.code) && is_same(diagnostic, diagnostic) {
            continue;
        }
        let same = diagnostics.iter().filter(|other| is_same(diagnostic, other)).count();
        lines.push(match same {
            0 | 1 => diagnostic.to_string(),
            _ => {
                codes.push(diagnostic.code);
                let more = count(same - 1, "more note");
                format!("{diagnostic}, and {more} with this code")
            }
        });
    }
    lines
}

/// Prints text unchanged on standard error. `render` returns the text, with colours if its argument
/// is `true`.
pub(crate) fn show_text(render: impl FnOnce(bool) -> String) {
    let has_color = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let text = render(has_color);
    if !text.is_empty() {
        let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
    }
}

/// Prints a finding about a file on standard output. If the finding begins with a severity, the
/// severity is printed in colour.
pub(crate) fn print_found(file: &impl fmt::Display, found: &impl fmt::Display) -> io::Result<()> {
    write_found(&mut anstream::stdout().lock(), file, found)
}

/// Like [`print_found`], but writes to `out`, which must either support or remove colour codes.
pub(crate) fn write_found(
    out: &mut dyn Write,
    file: &impl fmt::Display,
    found: &impl fmt::Display,
) -> io::Result<()> {
    let (file, found) = (one_line(&file.to_string()), one_line(&found.to_string()));
    let severities =
        [("error", AnsiColor::Red), ("warning", AnsiColor::Yellow), ("note", AnsiColor::Cyan)];
    let is_of = |(severity, _): &(&str, AnsiColor)| {
        found.strip_prefix(severity).is_some_and(|rest| rest.starts_with(['[', ':']))
    };
    let Some((_, color)) = severities.into_iter().find(is_of) else {
        return writeln!(out, "{file}: {found}");
    };
    let (severity, rest) = found.split_at(found.find(':').unwrap_or_default());
    let style = color.on_default().bold();
    writeln!(out, "{file}: {style}{severity}{style:#}{rest}")
}

/// Returns a writer to standard output for text from a file. On a terminal, control characters are
/// escaped, except for line ends and tabs.
pub(crate) fn text_out() -> Printable<BufWriter<io::StdoutLock<'static>>> {
    let out = io::stdout();
    let is_escaped = out.is_terminal();
    Printable { out: BufWriter::new(out.lock()), is_escaped, has_lead: false }
}

/// A writer for UTF-8 that escapes control characters as in JSON.
pub(crate) struct Printable<W> {
    out: W,
    is_escaped: bool,
    /// Whether the last byte received was C2, the first byte of U+0080 to U+009F. It is written
    /// together with the next byte.
    has_lead: bool,
}

impl<W: Write> Printable<W> {
    fn byte(&mut self, byte: u8) -> io::Result<()> {
        if std::mem::take(&mut self.has_lead) {
            if (0x80..=0x9f).contains(&byte) {
                return write!(self.out, "\\u{byte:04x}");
            }
            self.out.write_all(&[0xc2])?;
        }
        match byte {
            0xc2 => self.has_lead = true,
            b'\n' | b'\t' => self.out.write_all(&[byte])?,
            0..0x20 | 0x7f => write!(self.out, "\\u{byte:04x}")?,
            _ => self.out.write_all(&[byte])?,
        }
        Ok(())
    }
}

impl<W: Write> Write for Printable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_escaped {
            return self.out.write(bytes);
        }
        bytes.iter().try_for_each(|&byte| self.byte(byte))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Replaces control characters with spaces, so that text from a file fits on one line of a
/// terminal. Names in a file may contain line ends, and escape sequences that move the cursor.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A writer that stores its last error, so that errors in writing the output can be distinguished
/// from errors in the file that is being read.
pub(crate) struct Sink<W> {
    inner: W,
    failed: Option<io::Error>,
}

impl<W: Write> Sink<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, failed: None }
    }

    /// Returns the result of writing data from a file, after flushing the output. `target` converts
    /// write errors of the output, and `source` converts all other errors.
    pub(crate) fn finish<T, E>(
        &mut self,
        written: Result<T, E>,
        source: impl FnOnce(E) -> Failure,
        target: impl FnOnce(io::Error) -> Failure,
    ) -> Result<T, Failure> {
        match (written, self.failed.take()) {
            (Ok(value), _) => self.inner.flush().map(|()| value).map_err(target),
            (Err(_), Some(failed)) => Err(target(failed)),
            (Err(error), None) => Err(source(error)),
        }
    }

    pub(crate) fn into_inner(self) -> W {
        self.inner
    }

    /// Removes and returns the error from writing to the output, or returns `None` if writing did
    /// not fail.
    pub(crate) fn failed(&mut self) -> Option<io::Error> {
        self.failed.take()
    }
}

impl<W> Sink<W> {
    fn keep(&mut self, error: io::Error) -> io::Error {
        let copy = error.kind().into();
        self.failed = Some(error);
        copy
    }
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes).map_err(|error| self.keep(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush().map_err(|error| self.keep(error))
    }
}

impl<W: Seek> Seek for Sink<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to).map_err(|error| self.keep(error))
    }
}

/// Prints a JSON value on its own line, so that the output for several files is JSON Lines.
pub(crate) fn print_json(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    write_json(&mut out, value)?;
    out.write_all(b"\n")
}

/// Formats a size in bytes for human readers, such as `1.5 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[allow(clippy::cast_precision_loss, reason = "only one decimal is printed")]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Formats rows as a table with aligned columns. A column is aligned to the right if its value in
/// `right` is `true`, and to the left otherwise.
pub(crate) fn table(rows: &[Vec<String>], right: &[bool]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let fill = " ".repeat(widths[column] - cell.chars().count());
            let is_right = right.get(column).copied().unwrap_or(false);
            line.push_str(&if is_right { fill.clone() + cell } else { cell.clone() + &fill });
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_from_1_kib_have_one_decimal() {
        assert_eq!(
            [size(0), size(1023), size(1024), size(1_572_864)],
            ["0 B", "1023 B", "1.0 KiB", "1.5 MiB"]
        );
        assert_eq!(size(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn notes_with_the_same_code_share_a_line_but_errors_do_not() {
        use asdf::diagnostic::{Code, Diagnostic, Place};
        let at = |code, message: &str| Diagnostic::new(code, Place::default(), message);
        let found = [
            at(Code::ChecksumOfDecodedBytes, "a"),
            at(Code::BadBlock, "b"),
            at(Code::ChecksumOfDecodedBytes, "c"),
            at(Code::BadBlock, "d"),
            at(Code::FalseMagic, "e"),
        ];
        assert_eq!(
            diagnostic_lines(&found),
            [
                "note[ChecksumOfDecodedBytes]: a, and 1 more note with this code",
                "error[BadBlock]: b",
                "error[BadBlock]: d",
                "note[FalseMagic]: e",
            ]
        );
    }

    #[test]
    fn control_characters_are_escaped_on_a_terminal() {
        let escaped = |is_escaped, pieces: &[&[u8]]| {
            let mut out = Printable { out: Vec::new(), is_escaped, has_lead: false };
            for piece in pieces {
                out.write_all(piece).unwrap();
            }
            String::from_utf8(out.out).unwrap()
        };
        let text = "a\tb\n\u{1b}[2J\u{9b}\u{7f}é\u{a0}Â";
        let shown = "a\tb\n\\u001b[2J\\u009b\\u007fé\u{a0}Â";
        assert_eq!(escaped(true, &[text.as_bytes()]), shown);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(escaped(true, &bytes), shown);
        assert_eq!(escaped(false, &bytes), text);
    }

    #[test]
    fn the_columns_of_tables_are_aligned() {
        let rows =
            [vec!["a".to_owned(), "size".to_owned()], vec!["long".to_owned(), "7".to_owned()]];
        assert_eq!(table(&rows, &[false, true]), "a     size\nlong     7\n");
    }
}
