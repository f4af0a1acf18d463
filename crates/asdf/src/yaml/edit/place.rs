//! Locating the children of a collection in the text: the indicator, key and value of each child,
//! and the context that new text must fit.

use std::ops::Range;

use crate::yaml::{Mention, NodeKind, NodeStyle, YamlNode};

/// A child of a collection and its position in the text: an item, or a key and its value.
#[derive(Clone, Debug)]
pub(crate) struct WrittenChild<'a> {
    pub(crate) container: YamlNode<'a>,
    /// Index of the child among the items or entries.
    pub(crate) index: usize,
    pub(crate) key: Option<Mention<'a>>,
    pub(crate) value: Mention<'a>,
    /// Offset of the child's first character: the dash, `?`, key or item.
    pub(crate) start: usize,
    /// Offset after the dash or colon, where the value may begin. If there is neither, the end of
    /// the key or the start of the item.
    pub(crate) after: usize,
    /// True if a colon follows the key.
    pub(crate) has_colon: bool,
    /// True if the key follows `?`.
    pub(crate) is_explicit: bool,
    /// The range of the value in the text.
    pub(crate) span: Range<usize>,
    pub(crate) around: Surroundings,
}

/// The context in which the children of a collection are written. New text must fit this context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// True if the children are inside brackets.
    pub(crate) in_flow: bool,
    /// Column of the innermost block collection that is not inside brackets, if there is one.
    pub(crate) indent: Option<usize>,
}

impl<'a> WrittenChild<'a> {
    /// Locates the item or entry with the given index. Returns `None` if the collection has no such
    /// child, or if the text does not have the expected indicator.
    pub(crate) fn new(text: &str, container: YamlNode<'a>, index: usize) -> Option<Self> {
        let children = children(container);
        let is_mapping = container.kind() == NodeKind::Mapping;
        let at = if is_mapping { index.checked_mul(2)? } else { index };
        let first = *children.get(at)?;
        let value = if is_mapping { *children.get(at + 1)? } else { first };
        let around = Surroundings::of(text, container);
        let content = range(container.content_span());
        // A pair without braces in a flow sequence has no bracket, and its style is `Block`.
        let has_bracket = container.style() == NodeStyle::Flow;
        let before = match at.checked_sub(1) {
            Some(before) => range(children.get(before)?.span()).end,
            None => content.start + usize::from(has_bracket),
        };
        let mut start = skip(text, before);
        if around.in_flow && at > 0 && byte(text, start) == Some(b',') {
            start = skip(text, start + 1);
        }
        let (first_span, span) = (range(first.span()), range(value.span()));
        let slot = Self {
            container,
            index,
            key: is_mapping.then_some(first),
            value,
            start: first_span.start,
            after: first_span.start,
            has_colon: false,
            is_explicit: false,
            span,
            around,
        };
        if is_mapping {
            let is_explicit = start < first_span.start && byte(text, start) == Some(b'?');
            let colon = skip(text, first_span.end);
            let has_colon = byte(text, colon) == Some(b':') && colon < slot.span.start;
            let start = if is_explicit { start } else { first_span.start };
            let after = if has_colon { colon + 1 } else { first_span.end };
            return Some(Self { start, after, has_colon, is_explicit, ..slot });
        }
        if around.in_flow {
            return Some(slot);
        }
        let is_item = byte(text, start) == Some(b'-') && start < slot.span.start.max(start + 1);
        is_item.then_some(Self { start, after: start + 1, ..slot })
    }

    /// Locates a node among the children of the collection that contains it. Returns `None` for the
    /// root and for keys.
    pub(crate) fn of(text: &str, mention: Mention<'a>) -> Option<Self> {
        let (container, place) = mention.parent()?;
        let is_mapping = container.kind() == NodeKind::Mapping;
        if is_mapping && place % 2 == 0 {
            return None;
        }
        Self::new(text, container, if is_mapping { place / 2 } else { place })
    }

    /// Returns `true` if the value is written in block style: a block collection or a block scalar.
    pub(crate) fn is_block(&self) -> bool {
        is_block(self.value) && !self.around.in_flow
    }

    /// Returns the number of items or entries of the collection.
    pub(crate) fn count(&self) -> usize {
        let count = children(self.container).len();
        if self.container.kind() == NodeKind::Mapping { count / 2 } else { count }
    }
}

/// Returns `true` for a block collection, a block scalar, or a pair without braces in a flow
/// sequence. Returns `false` for an alias.
pub(crate) fn is_block(mention: Mention<'_>) -> bool {
    !mention.is_alias()
        && matches!(
            mention.node().style(),
            NodeStyle::Block | NodeStyle::Literal | NodeStyle::Folded
        )
}

impl Surroundings {
    /// Determines the context of the children of a collection.
    pub(crate) fn of(text: &str, container: YamlNode<'_>) -> Self {
        let mut chain = vec![container];
        let mut mention = container.mention();
        while let Some((parent, _)) = mention.parent() {
            chain.push(parent);
            mention = parent.mention();
        }
        let mut around = Self { in_flow: false, indent: None };
        for node in chain.into_iter().rev() {
            if node.style() == NodeStyle::Flow {
                around.in_flow = true;
            } else if !around.in_flow && !node.content_span().is_empty() {
                around.indent = Some(column(text, range(node.content_span()).start));
            }
        }
        around
    }
}

/// Returns the children of a collection, including merge keys, duplicates and aliases: items, or alternating
/// keys and values.
pub(crate) fn children(container: YamlNode<'_>) -> Vec<Mention<'_>> {
    match container.kind() {
        NodeKind::Mapping => {
            container.written_entries().flat_map(|(key, value)| [key, value]).collect()
        }
        _ => container.mentions().collect(),
    }
}

/// Converts a span to a range of the text, which must begin at offset 0 of the file.
pub(crate) fn range(span: Range<u64>) -> Range<usize> {
    let place = |at| usize::try_from(at).unwrap_or(usize::MAX);
    place(span.start)..place(span.end)
}

pub(crate) fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

pub(crate) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns the text from an offset to the end.
pub(crate) fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// Returns the offset of the next character that is not part of white space, a line break or a
/// comment.
pub(crate) fn skip(text: &str, at: usize) -> usize {
    let mut at = at;
    loop {
        let after = rest(text, at);
        let trimmed = after.trim_start_matches(|c| c == ' ' || c == '\t' || is_break(c));
        at += after.len() - trimmed.len();
        if !trimmed.starts_with('#') {
            return at;
        }
        at += trimmed.find(is_break).unwrap_or(trimmed.len());
    }
}

/// Returns the start of the line that contains an offset.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let last = before.char_indices().rev().find(|(_, c)| is_break(*c));
    last.map_or(0, |(at, c)| at + c.len_utf8())
}

/// Returns the end of the line that contains an offset, before its line break.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    let after = rest(text, at);
    at + after.find(is_break).unwrap_or(after.len())
}

/// Returns the offset after a line break, or `at` itself if there is no line break at that offset.
pub(crate) fn after_break(text: &str, at: usize) -> usize {
    let after = rest(text, at);
    if after.starts_with("\r\n") {
        return at + 2;
    }
    at + after.chars().next().filter(|c| is_break(*c)).map_or(0, char::len_utf8)
}

/// Returns the column of an offset in characters, counted from 0.
pub(crate) fn column(text: &str, at: usize) -> usize {
    text.get(line_start(text, at)..at).unwrap_or_default().chars().count()
}

/// Returns the offset at which a collection ends. A comment on the last line of a block collection
/// counts as part of the collection.
pub(crate) fn end_of(text: &str, container: YamlNode<'_>) -> usize {
    let end = range(container.content_span()).end;
    let is_lines = is_block(container.mention()) && !Surroundings::of(text, container).in_flow;
    let comment = comment_after(text, end).filter(|_| is_lines);
    comment.map_or(end, |comment| comment.end)
}

/// Returns the range of the comment that follows an offset on the same line, separated only by
/// white space.
pub(crate) fn comment_after(text: &str, at: usize) -> Option<Range<usize>> {
    let after = rest(text, at);
    let trimmed = after.trim_start_matches([' ', '\t']);
    let start = at + after.len() - trimmed.len();
    (start > at && trimmed.starts_with('#')).then(|| start..line_end(text, start))
}
