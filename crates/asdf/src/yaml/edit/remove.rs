//! Removing entries and items, together with the comments that belong to them.

use std::ops::Range;

use super::place::{
    WrittenChild, after_break, byte, children, comment_after, end_of, is_break, line_end,
    line_start, range, rest, skip,
};
use super::splices::Splices;
use crate::yaml::{NodeKind, NodeStyle, YamlNode};

/// Returns the replacements that remove all children of a collection, so that it becomes `{}` or
/// `[]`. Returns `None` if the children cannot be located in the text.
pub(crate) fn all(source: &str, container: YamlNode<'_>) -> Option<Splices> {
    let empty = if container.kind() == NodeKind::Mapping { "{}" } else { "[]" };
    let content = range(container.content_span());
    if container.style() == NodeStyle::Flow {
        // Keep the comments before the first child and after the last one.
        let count = WrittenChild::new(source, container, 0)?.count();
        let first = WrittenChild::new(source, container, 0)?;
        let last = WrittenChild::new(source, container, count.checked_sub(1)?)?;
        let comma = skip(source, last.span.end);
        let end = if byte(source, comma) == Some(b',') { comma + 1 } else { last.span.end };
        return Some(Splices::one(first.start..end, ""));
    }
    let end = end_of(source, container);
    let first = children(container).first().copied()?;
    let above = first.comments().before.first().map(|comment| range(comment.span.clone()).start);
    let start = above.map_or(content.start, |above| above.min(content.start));
    // Write the brackets on the line of the key or dash, after any anchor and tag.
    let properties = [container.anchor_span(), container.tag_span()];
    let properties = properties.into_iter().flatten().map(|span| range(span).end).max();
    let after =
        WrittenChild::of(source, container.mention()).map(|slot| properties.unwrap_or(slot.after));
    let Some(after) = after else {
        return Some(Splices::one(start..end, empty));
    };
    let gap = source.get(after..start)?;
    let line = gap.get(..line_end(gap, 0))?;
    if rest(gap, line.len()).contains('#') {
        return Some(Splices::one(start..end, empty));
    }
    let comment = line.trim();
    let blank = if comment.is_empty() { "" } else { " " };
    Some(Splices::one(after..end, format!(" {empty}{blank}{comment}")))
}

/// Returns the replacements that remove some, but not all, entries or items of a collection.
/// Returns `None` if one of them cannot be located in the text.
pub(crate) fn some(source: &str, container: YamlNode<'_>, indexes: &[usize]) -> Option<Splices> {
    let mut splices = Splices::default();
    let mut last: Option<Range<usize>> = None;
    let mut indexes = indexes.to_vec();
    indexes.sort_unstable();
    for index in indexes {
        let slot = WrittenChild::new(source, container, index)?;
        let part = if slot.around.in_flow {
            from_brackets(source, &slot)?
        } else {
            from_lines(source, &slot)?
        };
        // The ranges of adjacent children may overlap, but replacements must not.
        let start = last.map_or(part.start, |last| part.start.max(last.end));
        let part = start..part.end.max(start);
        splices.add(part.clone(), "");
        last = Some(part);
    }
    Some(splices)
}

/// Returns the range to remove for a child of a block collection.
fn from_lines(text: &str, slot: &WrittenChild<'_>) -> Option<Range<usize>> {
    let end = slot.span.end;
    let end_of_text = line_end(text, end);
    let start_of_line = line_start(text, slot.start);
    let lead = text.get(start_of_line..slot.start)?;
    if lead.bytes().all(|byte| byte == b' ' || byte == b'\t') {
        let first = slot.key.unwrap_or(slot.value);
        let comments = first.comments().before;
        let above = comments.first().map(|comment| range(comment.span.clone()).start);
        let start = above.map_or(start_of_line, |at| line_start(text, at).min(start_of_line));
        return Some(start..after_break(text, end_of_text));
    }
    // The collection begins on the same line as an indicator such as `- `, and this is its first
    // child. Move the next child up to this position, unless there are comments between them.
    let next = WrittenChild::new(text, slot.container, slot.index + 1)?;
    let between = text.get(end_of_text..next.start)?;
    if between.chars().all(|c| c == ' ' || c == '\t' || is_break(c)) {
        return Some(slot.start..next.start);
    }
    let blanks = lead.len() - lead.trim_end_matches(' ').len();
    Some(slot.start - blanks..end_of_text)
}

/// Returns the range to remove for a child of a flow collection. It usually includes one comma.
fn from_brackets(text: &str, slot: &WrittenChild<'_>) -> Option<Range<usize>> {
    let end = slot.span.end;
    let comma = skip(text, end);
    let comments = slot.key.unwrap_or(slot.value).comments().before;
    let above = comments.first().map(|comment| range(comment.span.clone()).start);
    if byte(text, comma) == Some(b',') {
        let comment = comment_after(text, comma + 1);
        let end = comment.as_ref().map_or(comma + 1, |comment| comment.end);
        let after = rest(text, end);
        let trimmed = after.trim_start_matches([' ', '\t']);
        let end = end + after.len() - trimmed.len();
        let start_of_line = line_start(text, slot.start);
        let lead = text.get(start_of_line..slot.start)?;
        // Remove the entire line if the child is alone on it; otherwise, remove everything up to
        // the next child.
        let is_alone = lead.bytes().all(|byte| byte == b' ') && trimmed.starts_with(is_break);
        if is_alone {
            let start = above.map_or(start_of_line, |at| line_start(text, at));
            return Some(start..after_break(text, end));
        }
        if comment.is_some() {
            let next = skip(text, end);
            let line = text.get(end..next)?;
            return Some(slot.start..if line.contains('#') { end } else { next });
        }
        return Some(slot.start..end);
    }
    // This is the last child. Remove the comma before it, and everything between that comma and the
    // child.
    let before = WrittenChild::new(text, slot.container, slot.index.checked_sub(1)?)?;
    let comma = skip(text, before.span.end);
    let between = text.get(before.span.end..slot.start)?;
    if byte(text, comma) == Some(b',') && !between.contains('#') {
        return Some(before.span.end..end);
    }
    // Keep the comma and the comments of the previous child. A trailing comma is allowed.
    let start = text.get(..above.unwrap_or(slot.start))?.trim_end_matches([' ', '\t']).len();
    Some(start..end)
}
