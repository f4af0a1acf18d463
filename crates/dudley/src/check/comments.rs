//! Attaching comments to their subjects, and parsing attributes.

use std::collections::HashSet;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::names::{index, reserve, reserved_text};
use crate::layout::{Attribute, ItemId, Subject, attributes};
use crate::source::Span;
use crate::text::{Comment, short};

/// The subjects of comments, collected while the walk visits the nodes in order.
pub(super) struct Subjects {
    /// The nodes that have comments, with the subjects that they declare. A subject is `None` if its
    /// declaration was discarded because of an error.
    nodes: Vec<(u32, Option<Subject>)>,
    at: usize,
}

impl Subjects {
    pub(super) fn of(comments: &[Comment]) -> Self {
        let mut nodes: Vec<_> = comments.iter().map(|comment| (comment.subject, None)).collect();
        nodes.dedup_by_key(|node| node.0);
        nodes.sort_unstable_by_key(|node| node.0);
        nodes.dedup_by_key(|node| node.0);
        Self { nodes, at: 0 }
    }

    /// Records the subject that a node declares.
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
    pub(super) fn attach_comments(&mut self, all: &[Comment]) {
        let bytes = all.iter().map(|comment| comment.span().len()).sum();
        self.layout.comments.text = reserved_text(bytes);
        reserve(&mut self.layout.comments.docs, all.len());
        let mut attributes = Vec::new();
        for comment in all {
            let subject = self.subjects.get(comment.subject);
            let text = self.cursor.text_at(comment.span());
            if comment.is_attributes {
                let found = self.attributes(comment, text);
                let placed =
                    |attribute| subject.map(|subject| (subject, attribute, comment.span()));
                attributes.extend(found.into_iter().filter_map(placed));
                continue;
            }
            let line = &text[2..];
            if line.starts_with('#') {
                self.report.warn(Code::HashRun, || {
                    let message =
                        "a comment that begins with `###` is also a documentation comment";
                    Diagnostic::new(Code::HashRun, comment.span(), message)
                        .help("to draw a separator line, write `# ###`")
                });
            }
            if let Some(item) = item_after(self.cursor.text, comment) {
                self.warn_doc_before_item(comment, item);
            }
            let Some(subject) = subject else { continue };
            let comments = &mut self.layout.comments;
            let start = index(comments.text.len());
            comments.text.push_str(line.trim());
            comments.docs.push((subject, start, index(comments.text.len())));
        }
        let comments = &mut self.layout.comments;
        comments.docs.sort_by_key(|line| line.0);
        self.drop_repeated_attributes(attributes);
    }

    #[cold]
    fn warn_doc_before_item(&mut self, comment: &Comment, item: Span) {
        self.report.warn(Code::DocBeforeItem, || {
            let name = short(self.cursor.text_at(item));
            let message = format!("this comment documents the declaration before it, not `{name}` after it");
            Diagnostic::new(Code::DocBeforeItem, comment.span(), message)
                .label_at(item, "the next item")
                .help(
                    "documentation follows its subject, on the same line or indented on the next lines",
                )
        });
    }

    /// Returns the attributes in a comment. Reports the first invalid attribute, and ignores it and
    /// the rest of the comment.
    fn attributes(&mut self, comment: &Comment, text: &str) -> Vec<Attribute> {
        let (attributes, error) = attributes::parse(&text[2..]);
        if let Some(offset) = error {
            let start = comment.start + 2 + index(offset);
            let span = Span::new(start.min(comment.end), comment.end);
            self.report.warn(Code::AttributeComment, || {
                let message = format!("`{}` is not a valid attribute", short(self.cursor.text_at(span)));
                Diagnostic::new(Code::AttributeComment, span, message)
                    .label("ignored from here to the end of the line")
                    .help(
                        "an attribute is `name=value`; the value is a number, a quoted string, or a list `[..]` of either",
                    )
            });
        }
        attributes
    }

    /// Reports repeated attributes. If a subject has several attributes with the same name, keeps
    /// only the last of them.
    fn drop_repeated_attributes(&mut self, mut attributes: Vec<(Subject, Attribute, Span)>) {
        attributes.sort_by_key(|attribute| attribute.0);
        let repeated = repeated(&attributes);
        for &(later, before) in &repeated {
            let (_, attribute, span) = &attributes[later];
            let before = attributes[before].2;
            self.report.warn(Code::AttributeComment, || {
                let name = short(&attribute.name);
                let message = format!("attribute `{name}` occurs twice on the same declaration");
                Diagnostic::new(Code::AttributeComment, *span, message)
                    .label("this attribute is used")
                    .label_at(before, "this attribute is ignored")
            });
        }
        let dropped: HashSet<usize> = repeated.into_iter().map(|(_, before)| before).collect();
        let is_kept = |(at, _): &(usize, _)| !dropped.contains(at);
        let attributes = attributes.into_iter().enumerate().filter(is_kept);
        let attributes = attributes.map(|(_, (subject, attribute, _))| (subject, attribute));
        self.layout.comments.attributes = attributes.collect();
    }
}

/// Returns the span of the next item's name if a documentation comment seems to describe the next item,
/// although it belongs to the preceding item. This is assumed only if the comment is alone on its line and
/// follows a line of code without a comment. In addition, the next item must begin in the same column as the
/// comment, on the first line that is not documentation.
fn item_after(text: &str, comment: &Comment) -> Option<Span> {
    let (before, mut after) = text.split_at(comment.start as usize);
    let (before, indent) = before.rsplit_once(['\n', '\r'])?;
    if comment.subject == Comment::LAYOUT || !indent.bytes().all(|blank| blank == b' ') {
        return None;
    }
    let line = before.rsplit(['\n', '\r']).find(|line| !line.trim().is_empty())?;
    // If the preceding line opens a dict, list or struct, or returns to a dict, the comment
    // probably describes that dict, list or struct.
    if line.contains('#') || line.trim_end().ends_with(['/', '.', '[', '{']) {
        return None;
    }
    loop {
        let end = after.find(['\n', '\r'])?;
        let rest = &after[end..];
        after = rest.strip_prefix("\r\n").unwrap_or(&rest[1..]);
        let item = after.strip_prefix(indent)?;
        if !item.starts_with("##") {
            let is_part = |part: char| part.is_alphanumeric() || part == '_';
            let len = item.find(|part| !is_part(part))?;
            let start = index(text.len() - item.len());
            return (len > 0).then_some(Span::new(start, start + index(len)));
        }
        after = item;
    }
}

/// Returns a pair of indices for each repeated attribute: its own index, and the index of the
/// previous attribute with the same name and subject. The attributes must be sorted by subject.
fn repeated(attributes: &[(Subject, Attribute, Span)]) -> Vec<(usize, usize)> {
    let mut repeated = Vec::new();
    let mut names: Vec<(&str, usize)> = Vec::new();
    let mut places = (0..).zip(attributes).map(|(at, (_, attribute, _))| (&*attribute.name, at));
    for of_one in attributes.chunk_by(|one, other| one.0 == other.0) {
        names.clear();
        names.extend(places.by_ref().take(of_one.len()));
        names.sort_unstable();
        let pairs = names.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        repeated.extend(pairs.map(|pair| (pair[1].1, pair[0].1)));
    }
    repeated.sort_unstable();
    repeated
}
