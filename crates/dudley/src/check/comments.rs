//! Comments: the subject of each, from nodes to things, and what they say.

use std::collections::HashSet;

use super::Checker;
use crate::attributes;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::index;
use crate::layout::{ItemId, Subject};
use crate::source::Span;
use crate::syntax::{Comment, Tree, short};

/// What the nodes are that comments are about. The walk meets these nodes in order.
pub(super) struct Subjects {
    /// Node and subject; none where an error keeps it from being anything.
    nodes: Vec<(u32, Option<Subject>)>,
    at: usize,
}

impl Subjects {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut nodes: Vec<u32> = tree.comments.iter().map(|comment| comment.subject).collect();
        nodes.dedup();
        nodes.sort_unstable();
        nodes.dedup();
        Self { nodes: nodes.into_iter().map(|node| (node, None)).collect(), at: 0 }
    }

    /// The node became this.
    #[inline]
    pub(super) fn declare(&mut self, node: usize, subject: Subject) {
        while let Some(next) = self.nodes.get_mut(self.at) {
            if next.0 as usize > node {
                return;
            }
            if next.0 as usize == node {
                next.1 = Some(subject);
            }
            self.at += 1;
        }
    }

    fn get(&self, node: u32) -> Option<Subject> {
        if node == Comment::LAYOUT {
            return Some(ItemId::ROOT.into());
        }
        let at = self.nodes.binary_search_by_key(&node, |known| known.0).ok()?;
        self.nodes[at].1
    }
}

impl Checker<'_> {
    pub(super) fn attach_comments(&mut self, tree: &Tree) {
        for comment in &tree.comments {
            let text = self.text_at(comment.span());
            let subject = self.subjects.get(comment.subject);
            if comment.is_attributes {
                self.attach_attributes(comment, subject, text);
                continue;
            }
            let line = &text[2..];
            if line.starts_with('#') {
                self.warn(Code::HashRun, |_| {
                    let message = "this is documentation, which begins with its third `#`";
                    Diagnostic::new(Code::HashRun, comment.span(), message)
                        .with_help("write `# ###` for a rule")
                });
            }
            let Some(subject) = subject else { continue };
            let comments = &mut self.layout.comments;
            let start = index(comments.text.len());
            comments.text.push_str(line.trim());
            comments.docs.push((subject, start, index(comments.text.len())));
        }
        let comments = &mut self.layout.comments;
        comments.docs.sort_by_key(|line| line.0);
        comments.attributes.sort_by_key(|attribute| attribute.0);
        self.drop_repeated_attributes(tree);
    }

    fn attach_attributes(&mut self, comment: &Comment, subject: Option<Subject>, text: &str) {
        let (attributes, error) = attributes::parse(&text[2..]);
        if let Some(offset) = error {
            let start = comment.start + 2 + index(offset);
            let span = Span::new(start.min(comment.end), comment.end);
            self.warn(Code::AttributeComment, |this| {
                let message = format!("`{}` is no attribute", short(this.text_at(span)));
                Diagnostic::new(Code::AttributeComment, span, message)
                    .with_text("from here on nothing is read")
                    .with_help(
                        "attributes are `name=value`: numbers, quoted texts, or `[..]` of either",
                    )
            });
        }
        if let Some(subject) = subject {
            let attributes = attributes.into_iter().map(|attribute| (subject, attribute));
            self.layout.comments.attributes.extend(attributes);
        }
    }

    /// Of attributes of one name the last counts, where it stands.
    fn drop_repeated_attributes(&mut self, tree: &Tree) {
        let mut attributes = std::mem::take(&mut self.layout.comments.attributes);
        let mut seen = HashSet::new();
        attributes.reverse();
        let before = attributes.len();
        attributes.retain(|(subject, attribute)| seen.insert((*subject, attribute.name.clone())));
        attributes.reverse();
        if attributes.len() < before {
            let first = tree.comments.iter().find(|comment| comment.is_attributes);
            let span = first.map_or_else(Span::default, |comment| comment.span());
            self.warn(Code::AttributeComment, |_| {
                let message = "an attribute is stated twice of one thing; the last counts";
                Diagnostic::new(Code::AttributeComment, span, message)
            });
        }
        self.layout.comments.attributes = attributes;
    }
}
