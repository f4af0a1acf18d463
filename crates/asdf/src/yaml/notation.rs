//! Printing events in the notation of the YAML test suite, so that they can be compared with the
//! output of other parsers.
//!
//! ```text
//! +STR
//! +DOC ---
//! +MAP &a <tag:example.com,2026:x>
//! =VAL :plain      'single  "double  |literal  >folded
//! =ALI *a
//! -MAP
//! ```

use bytes::Bytes;

use super::characters;
use super::parse::{Event, NodePlace, Parser};
use super::scalar::NodeStyle;
use super::scan::Fault;

/// Returns the events in a YAML source, which may contain any number of documents. Each string is one event.
///
/// ```
/// use asdf::yaml::notation::events;
///
/// let events = events(b"[a, 'b']").map_err(|(_, message)| message)?;
/// assert_eq!(events[2..5], ["+SEQ []", "=VAL :a", "=VAL 'b"]);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
///
/// If the source violates YAML 1.1, returns the offset in bytes of a violation, and a message that
/// describes it.
pub fn events(text: &[u8]) -> Result<Vec<String>, (usize, String)> {
    let text = Bytes::copy_from_slice(text);
    let text = characters::check(&text).map_err(|bad| (bad.offset, bad.message))?;
    read(Parser::new(&text), &text).map_err(|fault| (fault.offset, fault.message.into_owned()))
}

pub(super) fn read(mut parser: Parser<'_>, written: &str) -> Result<Vec<String>, Fault> {
    let mut lines = vec!["+STR".to_owned()];
    // For each open collection, the line that will end it, and `true` if it is in flow style.
    let mut open: Vec<(&str, bool)> = Vec::new();
    let text = |span: super::scan::Span| written.get(span.range()).unwrap_or_default();
    loop {
        let event = parser.next_event()?;
        let properties = |node: NodePlace| {
            let mut shown = String::new();
            if !node.anchor.is_empty() {
                shown.extend([" ", text(node.anchor)]);
            }
            if !node.tag.is_empty() {
                let tag = parser.directives().resolve(text(node.tag));
                let offset = node.tag.start as usize;
                let tag = tag.map_err(|message| Fault { offset, message: message.into() })?;
                shown.extend([" <", tag.as_deref().unwrap_or("!"), ">"]);
            }
            Ok(shown)
        };
        let line = match event {
            Event::StreamEnd => {
                lines.push("-STR".to_owned());
                return Ok(lines);
            }
            Event::DocumentStart { is_explicit, .. } => {
                (if is_explicit { "+DOC ---" } else { "+DOC" }).to_owned()
            }
            Event::DocumentEnd { is_explicit } => {
                (if is_explicit { "-DOC ..." } else { "-DOC" }).to_owned()
            }
            Event::Alias(name) => format!("=ALI {}", text(name)),
            Event::Scalar { node, style, text, .. } => {
                let sign = match style {
                    NodeStyle::SingleQuoted => '\'',
                    NodeStyle::DoubleQuoted => '"',
                    NodeStyle::Literal => '|',
                    NodeStyle::Folded => '>',
                    _ => ':',
                };
                format!("=VAL{} {sign}{}", properties(node)?, escaped(parser.text(text)))
            }
            Event::SequenceStart { node, style } => {
                let is_flow = style == NodeStyle::Flow;
                open.push(("-SEQ", is_flow));
                format!("+SEQ{}{}", if is_flow { " []" } else { "" }, properties(node)?)
            }
            Event::MappingStart { node, style } => {
                // Everything inside a flow collection is in flow style, including a pair without
                // braces.
                let is_flow = style == NodeStyle::Flow || open.last().is_some_and(|open| open.1);
                open.push(("-MAP", is_flow));
                format!("+MAP{}{}", if is_flow { " {}" } else { "" }, properties(node)?)
            }
            Event::Numbers { node, elements, .. } => {
                lines.push(format!("+SEQ []{}", properties(node)?));
                lines.extend(parser.elements(elements).map(|text| format!("=VAL :{text}")));
                "-SEQ".to_owned()
            }
            Event::End(_) => open.pop().map_or("", |(end, _)| end).to_owned(),
        };
        lines.push(line);
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\x08' => out.push_str("\\b"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out
}
