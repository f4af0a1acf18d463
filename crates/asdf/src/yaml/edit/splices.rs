//! Replacing parts of a string.

use std::ops::Range;

/// Ranges of a string and their replacements. Everything outside the ranges is unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    /// Creates a single replacement.
    pub(crate) fn one(part: Range<usize>, text: impl Into<String>) -> Self {
        Self(vec![(part, text.into())])
    }

    pub(crate) fn add(&mut self, part: Range<usize>, text: impl Into<String>) {
        self.0.push((part, text.into()));
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Returns the text with all replacements applied, or `None` if the ranges overlap, extend past the end of
    /// the text, or split a character.
    pub(crate) fn apply(mut self, text: &str) -> Option<String> {
        self.0.sort_by_key(|(part, _)| (part.start, part.end));
        let added: usize = self.0.iter().map(|(_, text)| text.len()).sum();
        let mut out = String::with_capacity(text.len().saturating_add(added));
        let mut at = 0;
        for (part, new) in &self.0 {
            out.push_str(text.get(at..part.start)?);
            out.push_str(new);
            at = part.end.max(part.start);
        }
        out.push_str(text.get(at..)?);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacements_are_applied_in_order_of_position() {
        let mut splices = Splices::one(4..5, "E");
        splices.add(0..2, "");
        splices.add(6..6, "!");
        assert_eq!(splices.apply("abcdef").as_deref(), Some("cdEf!"));
    }

    #[test]
    fn replacements_that_overlap_or_exceed_the_text_are_rejected() {
        let mut splices = Splices::one(1..4, "x");
        splices.add(3..5, "y");
        assert_eq!(splices.apply("abcdef"), None);
        assert_eq!(Splices::one(3..9, "x").apply("abcdef"), None);
    }
}
