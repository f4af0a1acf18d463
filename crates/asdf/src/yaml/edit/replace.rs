//! Replacing a value with another.

use super::place::{WrittenChild, comment_after, is_break, line_end, rest};
use super::splices::Splices;
use crate::yaml::NodeStyle;

/// Returns the replacements that set a value to the text `new`, which must begin with the space or
/// line break that follows the indicator. The comment [after](crate::yaml::Comments::after) the value
/// is kept.
pub(crate) fn value(text: &str, slot: &WrittenChild<'_>, new: &str) -> Splices {
    let span = slot.span.clone();
    let gap = text.get(slot.after..span.start).unwrap_or_default();
    let is_flow_item = slot.around.in_flow && slot.key.is_none();
    if is_flow_item {
        return Splices::one(span, new.trim_start_matches(' '));
    }
    let was_block = slot.is_block();
    let is_lines = is_block_text(new) && !slot.around.in_flow;
    if !was_block && !is_lines && !gap.contains(is_break) {
        // `new` begins with a space. Keep the space only if the old value was empty. Otherwise,
        // there already is a space before the value, or the value follows a quoted key, whose colon
        // needs no space.
        let needs_blank = span.is_empty() && gap.is_empty();
        let new = if needs_blank { new } else { new.trim_start_matches(' ') };
        return Splices::one(span, new);
    }
    let mut end = span.end;
    let mut comment = comment_in(gap).map(str::to_owned);
    let after = comment_after(text, end);
    let written = text.get(span).unwrap_or_default();
    match (slot.value.node().style(), after) {
        (NodeStyle::Literal | NodeStyle::Folded, _) if was_block => {
            let header = written.get(..line_end(written, 0)).unwrap_or_default();
            comment = comment.or_else(|| comment_in(header).map(str::to_owned));
        }
        // The comment belongs to the last node inside the value, so remove it as well.
        (_, Some(after)) if was_block => end = after.end,
        // Move the comment to the first line of the new value. After the last line, it would belong
        // to the last node inside the value, or become part of a block scalar.
        (_, Some(after)) if is_lines => {
            comment = comment.or_else(|| text.get(after.clone()).map(str::to_owned));
            end = after.end;
        }
        _ => {}
    }
    let new = match comment {
        None => new.to_owned(),
        Some(comment) => with_comment(new, &comment, is_lines),
    };
    Splices::one(slot.after..end, new)
}

/// Returns the comment on the first line of `gap`, which is either the text between an indicator and
/// its value, or the header of a block scalar.
fn comment_in(gap: &str) -> Option<&str> {
    let line = gap.get(..line_end(gap, 0))?;
    let at = line.find('#')?;
    let is_own = line.get(..at)?.ends_with([' ', '\t']);
    is_own.then(|| rest(line, at))
}

/// Returns `true` if the new text is block content. It then has several lines, the first of which
/// contains at most an anchor, a tag and a block scalar header.
fn is_block_text(new: &str) -> bool {
    let end = line_end(new, 0);
    let line = new.get(..end).unwrap_or_default();
    end < new.len() && line.split(' ').all(|word| word.is_empty() || is_property(word))
}

fn is_property(word: &str) -> bool {
    word.starts_with(['&', '!', '|', '>'])
}

fn with_comment(new: &str, comment: &str, is_lines: bool) -> String {
    let at = if is_lines { line_end(new, 0) } else { new.len() };
    let (before, after) = new.split_at(at);
    format!("{before} {comment}{after}")
}
