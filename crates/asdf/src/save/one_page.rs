//! Edits that need only a single write, because all differing bytes are within one page.

use std::ops::Range;

use binio::ReadAt as _;

use super::edited::{EditedFile, PAGE, TreeSpace};
use crate::error::Result;
use crate::yaml::NodeStyle;

impl EditedFile<'_> {
    /// Returns the bytes that differ, and their offset in the file. Returns `None` if no bytes
    /// differ, if they are not all within one page, or if other bytes would move. If the length of
    /// the text changes, the padding after the document or spaces in the changed line make up
    /// the difference.
    pub(super) fn in_one_page(&self, space: &TreeSpace) -> Result<Option<(u64, Vec<u8>)>> {
        let Range { start, end } = space.padded();
        let len = usize::try_from(end - start).unwrap_or(usize::MAX);
        let old = self.file.source().bytes_at(start, len)?;
        let fits = |text: &str| {
            let new = if self.file.layout().first_block.is_some() {
                space.fill(text)?
            } else {
                // If there are no blocks, the file ends after the tree, so only text of the same
                // length fits.
                let rest = old.get(self.before.len()..)?;
                (text.len() == self.before.len()).then(|| [text.as_bytes(), rest].concat())?
            };
            let (start, end) = differing(&old, &new)?;
            let offset = space.tree.start + start as u64;
            let last = space.tree.start + end as u64 - 1;
            (offset / PAGE == last / PAGE).then(|| (offset, new[start..end].to_vec()))
        };
        if let Some(found) = fits(self.text().text()) {
            return Ok(Some(found));
        }
        Ok(self.of_the_same_length().and_then(|text| fits(&text)))
    }

    /// Returns the edited text, adjusted to the length of the old text. Spaces are added or removed at the end
    /// of the changed line or before its comment. Returns `None` if the number of lines changed, if there are too
    /// few spaces to remove, or if the spaces could be part of a scalar.
    fn of_the_same_length(&self) -> Option<String> {
        let (old, new) = (self.before, self.text().text());
        let (start, end) = differing(old.as_bytes(), new.as_bytes())?;
        let old_end = (old.len() + end).checked_sub(new.len())?;
        let breaks = |text: &str, end| Some(text.get(start..end)?.matches('\n').count());
        if breaks(old, old_end)? != breaks(new, end)? {
            return None;
        }
        // Find the end of the line, or the beginning of its comment.
        let rest = new.get(end..)?;
        let rest = rest.get(..rest.find(['\n', '\r'])?)?;
        let at = end + rest.find(" #").unwrap_or(rest.len());
        if !self.is_between_scalars(at) {
            return None;
        }
        let (line, after) = new.split_at_checked(at)?;
        let mut text = line.to_owned();
        if let Some(more) = new.len().checked_sub(old.len()) {
            let blanks = line.len() - line.trim_end_matches(' ').len();
            if blanks < more || at - more < end {
                return None;
            }
            text.truncate(at - more);
        } else {
            text.push_str(&" ".repeat(old.len() - new.len()));
        }
        text.push_str(after);
        Some(text)
    }

    /// Returns `true` if spaces before `at` have no meaning, because the line has content and `at` is not
    /// inside a scalar.
    fn is_between_scalars(&self, at: usize) -> bool {
        let text = self.text();
        let line = text.text().get(..at).and_then(|before| before.rsplit('\n').next());
        let is_inside = |span: Range<u64>, style: NodeStyle| match style {
            NodeStyle::Literal | NodeStyle::Folded => {
                span.start <= at as u64 && at as u64 <= span.end
            }
            NodeStyle::Block | NodeStyle::Flow => false,
            _ => span.start < at as u64 && (at as u64) < span.end,
        };
        let mut nodes = text.document().nodes();
        line.is_some_and(|line| !line.trim().is_empty())
            && !nodes.any(|node| is_inside(node.span(), node.style()))
    }
}

/// Returns the range of `new` between the prefix and the suffix that it has in common with `old`.
/// Returns `None` if `old` and `new` are equal.
pub(super) fn differing(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    let start = old.iter().zip(new).position(|(old, new)| old != new);
    let start = start.or_else(|| (old.len() != new.len()).then(|| old.len().min(new.len())))?;
    let (old, rest) = (&old[start..], &new[start..]);
    let same = old.iter().rev().zip(rest.iter().rev()).take_while(|(old, new)| old == new);
    Some((start, new.len() - same.count()))
}
