//! NEL, LS and PS: line breaks in YAML 1.1, which the parser of this crate takes for text.
//!
//! NEL is a line feed everywhere, and is turned into one (as CR LF, which has as many bytes) before
//! the text is parsed. LS and PS end a line and stay in the text; the blanks around them are
//! indentation. Writers put them into quotes, followed by the indentation of the next line:
//!
//! ```text
//! title: 'one<LS>
//!   two'                  the text is: one<LS>two
//! ```
//!
//! What cannot be read so is an error, never another text: LS and PS in comments and in keys, and
//! followed by another line break.

use std::borrow::Cow;

use super::scalar::Style;

/// LINE SEPARATOR and PARAGRAPH SEPARATOR.
pub(super) fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Where LS and PS are in a text.
pub(super) fn offsets(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return Vec::new();
    }
    text.match_indices(is_separator).map(|(at, _)| at).collect()
}

/// A text with line feeds in place of NEL. No offset changes.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.contains('\u{85}') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\u{85}', "\r\n"))
}

/// The text of a scalar that has LS or PS, without the indentation around them.
///
/// `written` is what the file has from the scalar on, of which the first `count` separators are in
/// the scalar; `indentation` is that of the lines of a block scalar.
pub(super) fn unindented(
    text: &str,
    written: &str,
    count: usize,
    style: Style,
    indentation: usize,
) -> Result<String, &'static str> {
    if text.matches(is_separator).count() != count {
        return Err("LS or PS both as an escape and as a line break");
    }
    let is_blank = |c| matches!(c, ' ' | '\t');
    for (at, separator) in written.match_indices(is_separator).take(count) {
        let next = written.get(at + separator.len()..).unwrap_or_default();
        let line = next.trim_start_matches(is_blank);
        let breaks_again = line.is_empty() || line.starts_with(['\r', '\n']);
        if breaks_again && style != Style::Literal {
            return Err("a line break after LS or PS");
        }
        if style == Style::Plain && next.len() == line.len() && !line.starts_with(is_separator) {
            return Err("LS or PS ends a line in YAML 1.1: expected an indented line after it");
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split(is_separator);
    let mut separators = text.matches(is_separator);
    let is_block = matches!(style, Style::Literal | Style::Folded);
    let first = parts.next().unwrap_or_default();
    out.push_str(if is_block { first } else { first.trim_end_matches(is_blank) });
    while let (Some(part), Some(separator)) = (parts.next(), separators.next()) {
        out.push_str(separator);
        out.push_str(if !is_block {
            part.trim_matches(is_blank)
        } else if part.is_empty() || part.starts_with('\n') {
            part
        } else {
            let blanks = part.bytes().take_while(|&byte| byte == b' ').count();
            let is_indented = blanks >= indentation.max(1);
            let message = "LS or PS ends a line in YAML 1.1: expected an indented line after it";
            part.get(indentation..).filter(|_| is_indented).ok_or(message)?
        });
    }
    // After the last separator, blanks before a quote are text.
    if !is_block {
        let after = text.rsplit(is_separator).next().unwrap_or_default();
        let kept = after.trim_start_matches(is_blank);
        out.push_str(&kept[kept.trim_end_matches(is_blank).len()..]);
    }
    if style == Style::Plain && (out.starts_with(is_separator) || out.ends_with(is_separator)) {
        return Err("LS or PS at an end of a scalar");
    }
    Ok(out)
}
