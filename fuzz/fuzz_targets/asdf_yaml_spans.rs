//! The spans of YAML nodes must be nested and in document order, and cover exactly what they
//! describe. If a node does not depend on other text, parsing the text of its span must return an
//! equal node.

#![no_main]

use std::ops::Range;

use asdf::yaml::{Document, NodeKind, NodeStyle, ParseOptions, YamlNode};
use libfuzzer_sys::fuzz_target;

/// Maximum number of nodes to parse again.
const READ_AGAIN: usize = 50;

fuzz_target!(|data: &[u8]| {
    let Some(document) = parse(data) else { return };
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut open: Vec<Range<u64>> = Vec::new();
    let mut last_start = 0;
    for node in document.nodes() {
        let span = node.span();
        assert!(last_start <= span.start && span.end <= text.len() as u64, "{span:?}");
        last_start = span.start;
        while open.last().is_some_and(|outer| outer.end < span.end || outer.end <= span.start) {
            let outer = open.pop().unwrap_or_default();
            assert!(outer.end <= span.start || outer == span, "{outer:?} and {span:?}");
        }
        open.push(span);
        check(text, node);
    }
    for node in document.nodes().filter(|node| reads_alone(text, *node)).take(READ_AGAIN) {
        read_again(text, node);
    }
});

fn parse(text: &[u8]) -> Option<Document> {
    Document::parse(text, &ParseOptions::default(), &mut Vec::new()).ok()
}

fn slice(text: &str, span: Range<u64>) -> &str {
    &text[usize::try_from(span.start).unwrap()..usize::try_from(span.end).unwrap()]
}

/// Checks the text covered by the spans of a node.
fn check(text: &str, node: YamlNode<'_>) {
    let (span, content) = (node.span(), node.content_span());
    assert!(span.start <= content.start && content.end == span.end, "{span:?} {content:?}");
    let written = slice(text, content);
    let ends =
        |first, last| assert!(written.starts_with(first) && written.ends_with(last), "{written}");
    match node.style() {
        NodeStyle::SingleQuoted => ends('\'', '\''),
        NodeStyle::DoubleQuoted => ends('"', '"'),
        NodeStyle::Literal => assert!(written.starts_with('|'), "{written}"),
        NodeStyle::Folded => assert!(written.starts_with('>'), "{written}"),
        NodeStyle::Flow if node.kind() == NodeKind::Mapping => ends('{', '}'),
        NodeStyle::Flow => ends('[', ']'),
        NodeStyle::Plain => {
            let first = node.text().and_then(|text| text.chars().next());
            assert_eq!(written.chars().next(), first);
        }
        NodeStyle::Block => {}
    }
    if let (Some(anchor), Some(span)) = (node.anchor(), node.anchor_span()) {
        assert_eq!(slice(text, span), format!("&{anchor}"));
    }
    if let Some(span) = node.tag_span() {
        assert!(slice(text, span).starts_with('!'));
    }
    for span in node.alias_spans().into_iter().take(4) {
        assert!(slice(text, span).starts_with('*'));
    }
    if let Some(span) = node.key_span() {
        assert!(span.end <= node.span().start);
    }
    let comments = node.comments();
    for comment in comments.before.iter().chain(&comments.after) {
        assert!(comment.text.starts_with('#'));
        assert_eq!(slice(text, comment.span.clone()), comment.text);
    }
}

/// Returns `true` if a node can certainly be parsed from its text alone. Returns `false` for nodes
/// that may contain aliases or tags, or may depend on the surrounding lines.
fn reads_alone(text: &str, node: YamlNode<'_>) -> bool {
    let written = slice(text, node.span());
    let depends = written.contains(['*', '!', '&', '|', '>']) || written.is_empty();
    // A `:`, `-` or `?` is part of a plain scalar only if certain characters follow.
    let is_indicator = written.ends_with(':') || matches!(written, "-" | "?");
    let is_marker = written.contains("---") || written.contains("...");
    !is_marker && !depends && !is_indicator && node.style() != NodeStyle::Block
}

fn read_again(text: &str, node: YamlNode<'_>) {
    let written = slice(text, node.span());
    let Some(again) = parse(format!("---\n {written}\n").as_bytes()) else {
        panic!("{written:?} cannot be parsed again");
    };
    assert_eq!(again.root(), node, "{written:?}");
    assert_eq!(again.root().style(), node.style(), "{written:?}");
}
