//! Tokens, nodes, and the syntax tree.

use super::TokenKind;
use crate::diagnostic::Diagnostic;
use crate::options::Limits;
use crate::source::Span;

/// A token and its position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The offset in the text of the token's first byte.
    pub start: u32,
    /// The offset in the text after the token's last byte.
    pub end: u32,
}

impl Token {
    /// Returns the range of bytes that the token occupies in the text.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// The kind of a node.
///
/// ```
/// use dudley::text::{NodeKind, Tree};
///
/// let text = "a = i1[2]  b = f8 @16";
/// let tree = Tree::parse(text, &dudley::Limits::default());
/// let types = tree.nodes.iter().filter(|node| node.kind == NodeKind::Type);
/// let types: Vec<&str> = types.map(|node| &text[node.start as usize..node.end as usize]).collect();
/// assert_eq!(types, ["i1", "f8"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// The byte order of the layout.
    Order,
    /// `{` of the summary.
    SummaryOpen,
    /// `}` of the summary.
    SummaryClose,
    /// `/` in place of an item. Returns to the root or, inside a list element, to the outermost
    /// dict of the element.
    Top,
    /// `..`
    Up,
    /// The name at the beginning of a declaration.
    Name,
    /// The beginning of a member without a name.
    Unnamed,
    /// `/` after the name of a dict.
    Dict,
    /// `=`: data follows.
    Data,
    /// `:` or `:=`: a parameter follows.
    Param,
    /// The beginning of the placements after the name of a list. Each placement adds an element to
    /// the list.
    Extend,
    /// `[` of a list.
    ListOpen,
    /// `]` of a list.
    ListClose,
    /// The first token of a list element.
    Element,
    /// `/` of a dict in a list.
    DictOpen,
    /// The end of a dict in a list, before the next `,` or `]`.
    DictClose,
    /// `{` of a struct.
    StructOpen,
    /// `}` of a struct.
    StructClose,
    /// A byte order before a type.
    Mark,
    /// The name of a type.
    Type,
    /// A dimension that is a number, with its sign.
    Dim,
    /// A dimension that is a parameter.
    DimName,
    /// The signs after a parameter in a shape.
    Suffix,
    /// The name of a filter after `->`.
    Compress,
    /// The name of a filter after `<-`.
    Reference,
    /// An argument of a filter, with its sign.
    Argument,
    /// `@` and its number.
    At,
    /// `%` and its number.
    Align,
    /// The value of a fixed parameter, with its sign.
    Integer,
    /// The rest of an item, member, element or summary that has an error.
    Broken,
}

/// A node and its position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The kind of the node.
    pub kind: NodeKind,
    /// The offset in the text of the node's first byte.
    pub start: u32,
    /// The offset in the text after the node's last byte.
    pub end: u32,
}

impl Node {
    /// Returns the range of bytes that the node occupies in the text.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// A documentation or attribute comment and its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comment {
    /// The index of the node that the comment describes: a `Name`, `Unnamed`, `Element`, `Top`,
    /// `Up` or `SummaryOpen`. For comments before the first of these nodes, this is
    /// [`Comment::LAYOUT`].
    pub subject: u32,
    /// The offset in the text of the comment's first `#`. The comment continues to the end of the line.
    pub start: u32,
    /// The offset in the text after the comment's last byte.
    pub end: u32,
    /// Whether this is an attribute comment.
    pub is_attributes: bool,
}

impl Comment {
    /// The subject of comments before the first item, which describe the whole layout.
    pub const LAYOUT: u32 = u32::MAX;

    /// Returns the range of bytes that the comment occupies in the text.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

/// The syntax tree of a layout.
///
/// ```
/// use dudley::text::{NodeKind, Tree};
///
/// let tree = Tree::parse("x = f8[3] ## (cm)", &dudley::Limits::default());
/// let kinds: Vec<NodeKind> = tree.nodes.iter().map(|node| node.kind).collect();
/// assert_eq!(kinds, [NodeKind::Name, NodeKind::Data, NodeKind::Type, NodeKind::Dim]);
/// assert_eq!(tree.comments[0].subject, 0);
/// assert!(tree.diagnostics.is_empty());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tree {
    /// The nodes, in source order.
    pub nodes: Vec<Node>,
    /// The documentation and attribute comments, in source order.
    pub comments: Vec<Comment>,
    /// The syntax errors, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

impl Tree {
    /// Parses the text of a layout. Always returns a tree, whose [`diagnostics`](Self::diagnostics)
    /// contain any errors.
    pub fn parse(text: &str, limits: &Limits) -> Self {
        super::parse::parse(text, limits)
    }
}
