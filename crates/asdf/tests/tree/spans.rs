//! The spans of nodes, keys, anchors, tags and comments in the text.

use std::ops::Range;

use asdf::diagnostic::Code;
use asdf::yaml::{Document, NodeKind, NodeStyle, ParseOptions, YamlNode};
use proptest::prelude::*;

use crate::{parse, try_parse};

fn slice(text: &str, span: Range<u64>) -> &str {
    &text[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()]
}

fn spans<'t>(text: &'t str, pointer: &str) -> (&'t str, &'t str) {
    let document = parse(text);
    let node = document.root().pointer(pointer).unwrap();
    (slice(text, node.span()), slice(text, node.content_span()))
}

#[test]
fn a_span_extends_from_the_anchor_or_tag_to_the_end_of_the_content() {
    let text = "a: &x !t 'q' # c\nb:\n  - 1\n  - k: [2, 3] # c\n\n# d\nc: |  # h\n  text\n\n  more\n\nd: |+\n  x\n\n\ne:\nf: &y\ng: two\n  lines\n";
    assert_eq!(spans(text, "/a"), ("&x !t 'q'", "'q'"));
    assert_eq!(spans(text, "/b"), ("- 1\n  - k: [2, 3]", "- 1\n  - k: [2, 3]"));
    assert_eq!(spans(text, "/b/1"), ("k: [2, 3]", "k: [2, 3]"));
    assert_eq!(spans(text, "/b/1/k/1"), ("3", "3"));
    assert_eq!(spans(text, "/c").0, "|  # h\n  text\n\n  more");
    assert_eq!(spans(text, "/d").0, "|+\n  x\n\n");
    assert_eq!(spans(text, "/e"), ("", ""));
    assert_eq!(spans(text, "/f"), ("&y", ""));
    assert_eq!(spans(text, "/g").0, "two\n  lines");
    assert_eq!(spans(text, "").0, text.trim_end());
}

#[test]
fn spans_are_relative_to_the_start_of_the_file() {
    let options = ParseOptions::default().start(100, 5);
    let document = Document::parse("é: ü\n".as_bytes(), &options, &mut Vec::new()).unwrap();
    let node = document.root().get("é").unwrap();
    assert_eq!((node.span(), node.key_span()), (104..106, Some(100..102)));
}

#[test]
fn keys_and_anchors_and_tags_and_aliases_have_spans() {
    let text =
        "&k key: &a !!map\n  {x: 1}\n? long\n: !<tag:x>\n  # why\n  &b y\nuse: [*a, {z: *a}]\n";
    let document = parse(text);
    let node = |pointer| document.root().pointer(pointer).unwrap();
    let shown = |span: Option<Range<u64>>| span.map(|span| slice(text, span));
    assert_eq!(shown(node("/key").key_span()), Some("&k key"));
    assert_eq!(shown(node("/long").key_span()), Some("long"));
    assert_eq!(shown(node("/key/x").key_span()), Some("x"));
    assert_eq!(shown(node("/key").anchor_span()), Some("&a"));
    assert_eq!(shown(node("/key").tag_span()), Some("!!map"));
    assert_eq!(shown(node("/long").tag_span()), Some("!<tag:x>"));
    assert_eq!(shown(node("/long").anchor_span()), Some("&b"));
    assert_eq!((node("/use").anchor_span(), node("/use").tag_span()), (None, None));
    assert_eq!(
        (node("").key_span(), node("/use/0").key_span()),
        (None, Some(0..6)),
        "the node itself"
    );
    let aliases = node("/key").alias_spans();
    assert_eq!(aliases.into_iter().map(|span| slice(text, span)).collect::<Vec<_>>(), ["*a", "*a"]);
}

#[test]
fn the_comments_of_a_node_are_directly_above_it_or_on_its_line() {
    let text = "# top\n\n# a1\n# a2\na: 1 # after a\n# of b\nb: # after b\n  # first\n  - x # after x\n\n  # far\n\n  - y\n\
                # c1\nc: [1, # one\n  # two\n  2] # end\nd: | # head\n  # text\ne: '#'\n";
    let document = parse(text);
    let comments = |pointer| {
        let comments = document.root().pointer(pointer).unwrap().comments();
        for comment in comments.before.iter().chain(&comments.after) {
            assert_eq!(slice(text, comment.span.clone()), comment.text);
        }
        let before: Vec<_> = comments.before.iter().map(|comment| comment.text).collect();
        (before.join(" "), comments.after.map_or("", |comment| comment.text))
    };
    assert_eq!(comments("/a"), ("# a1 # a2".into(), "# after a"));
    assert_eq!(comments("/b"), ("# of b".into(), "# after b"));
    assert_eq!(comments("/b/0"), ("# first".into(), "# after x"));
    assert_eq!(comments("/b/1"), (String::new(), ""));
    assert_eq!(comments("/c"), ("# c1".into(), "# end"));
    assert_eq!(comments("/c/0"), (String::new(), "# one"));
    assert_eq!(comments("/c/1"), ("# two".into(), ""));
    assert_eq!(comments("/d"), (String::new(), "# head"));
    assert_eq!(comments("/e"), (String::new(), ""));
}

#[test]
fn a_diagnostic_has_the_span_of_its_node() {
    let text = "a: {k: 1, \"k\": 2}\nb: 2020-13-40\n";
    let mut diagnostics = Vec::new();
    Document::parse(text.as_ref(), &ParseOptions::default(), &mut diagnostics).unwrap();
    let shown: Vec<_> = diagnostics
        .iter()
        .map(|diagnostic| {
            let place = &diagnostic.place;
            let (start, len) = (place.offset.unwrap(), place.len.unwrap());
            (diagnostic.code, slice(text, start..start + len), place.pointer.as_deref())
        })
        .collect();
    assert_eq!(
        shown,
        [
            (Code::DuplicateKey, "\"k\"", Some("/a/k")),
            (Code::ImpossibleDate, "2020-13-40", Some("/b")),
        ]
    );
}

/// Checks that the spans of a document are nested and in order, and that they cover the right text.
pub(crate) fn check(text: &str, document: &Document) {
    let mut last_start = 0;
    let mut open: Vec<Range<u64>> = Vec::new();
    for node in document.nodes() {
        let (span, content) = (node.span(), node.content_span());
        assert!(
            span.start <= content.start && content.start <= content.end && content.end == span.end
        );
        assert!(last_start <= span.start, "in order");
        last_start = span.start;
        // A node is either inside the innermost open collection or after it.
        while open.last().is_some_and(|outer| {
            outer.end < span.end || outer.end <= span.start && span.start < span.end
        }) {
            let outer = open.pop().unwrap();
            assert!(outer.end <= span.start, "{outer:?} {span:?} nest");
        }
        open.push(span.clone());
        let written = slice(text, content);
        match node.style() {
            NodeStyle::SingleQuoted => {
                assert!(written.starts_with('\'') && written.ends_with('\''));
            }
            NodeStyle::DoubleQuoted => assert!(written.starts_with('"') && written.ends_with('"')),
            NodeStyle::Literal => assert!(written.starts_with('|')),
            NodeStyle::Folded => assert!(written.starts_with('>')),
            NodeStyle::Flow if node.kind() == NodeKind::Mapping => {
                assert!(written.starts_with('{') && written.ends_with('}'));
            }
            NodeStyle::Flow => assert!(written.starts_with('[') && written.ends_with(']')),
            NodeStyle::Plain => {
                let start = node.text().unwrap_or_default().chars().next();
                assert_eq!(written.chars().next(), start);
            }
            NodeStyle::Block => {}
        }
        if let Some(anchor) = node.anchor() {
            assert_eq!(slice(text, node.anchor_span().unwrap()), format!("&{anchor}"));
        }
        if node.tag().is_some() {
            assert!(slice(text, node.tag_span().unwrap()).starts_with('!'));
        }
        let comments = node.comments();
        for comment in comments.before.iter().chain(&comments.after) {
            assert!(comment.text.starts_with('#'));
        }
    }
}

/// Returns the text of a node as a separate document. Keeps the column of the node, because
/// indentation matters.
fn alone(text: &str, node: YamlNode<'_>) -> String {
    let span = node.span();
    let start = usize::try_from(span.start).unwrap();
    let line = text[..start].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let indent = " ".repeat(text[line..start].chars().count());
    format!("---\n{indent}{}\n", slice(text, span))
}

fn has_alias(node: YamlNode<'_>, text: &str) -> bool {
    slice(text, node.span()).contains('*')
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_text_of_a_span_parses_to_the_same_node(document in crate::random::document()) {
        let (parsed, _) = try_parse(&document);
        let parsed = parsed.unwrap_or_else(|error| panic!("{document}\n{error}"));
        check(&document, &parsed);
        for node in parsed.nodes().filter(|node| !has_alias(*node, &document)) {
            for (key, value) in node.raw_entries() {
                assert_eq!(value.key_span(), Some(key.span()));
            }
            let alone = alone(&document, node);
            let again = try_parse(&alone).0.unwrap_or_else(|error| panic!("{document:?}\n{alone:?}\n{error}"));
            let is_empty = node.text() == Some("") && node.style() == NodeStyle::Plain && node.tag().is_none();
            if !is_empty {
                assert_eq!(again.root(), node, "{document:?}\n{alone:?}");
                assert_eq!(again.root().style(), node.style());
            }
        }
    }
}
