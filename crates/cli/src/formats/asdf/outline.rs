//! The tree as an outline for people: a line for each node, containers met twice shown once.

use std::collections::HashSet;
use std::io::{self, Write};
use std::rc::Rc;

use asdf::Node;
use asdf::ndarray::datatype_name;
use asdf::yaml::{Kind, NodeId};

use crate::output::one_line;

/// Longest text of a scalar in the outline.
const MAX_TEXT: usize = 60;

/// A line to come: its node, key and the drawing before it.
struct Line<'a> {
    node: Node<'a>,
    key: String,
    /// The same for all children of a node.
    prefix: Rc<str>,
    last: bool,
}

/// Writes the outline, cut after `max_lines`, with a line that counts what was cut.
pub(crate) fn outline(
    out: &mut dyn Write,
    root: Node<'_>,
    indent: &str,
    max_lines: Option<usize>,
) -> io::Result<()> {
    let mut seen = HashSet::from([root.id()]);
    let mut stack = children(root, indent);
    let mut lines = 0;
    while let Some(line) = stack.pop() {
        if max_lines.is_some_and(|max| lines >= max) {
            let more = stack.len() + 1;
            return writeln!(out, "{indent}... ({more} more nodes; `scibin asdf tree` shows all)");
        }
        lines += 1;
        let branch = if line.last { "└─" } else { "├─" };
        let summary = summary(line.node, &seen);
        writeln!(out, "{}{branch}{}: {summary}", line.prefix, line.key)?;
        let is_container =
            matches!(line.node.kind(), Kind::Mapping | Kind::Sequence) && !line.node.is_ndarray();
        if is_container && seen.insert(line.node.id()) {
            let prefix = format!("{}{}", line.prefix, if line.last { "  " } else { "│ " });
            stack.extend(children(line.node, &prefix));
        }
    }
    Ok(())
}

/// The children of a node, last first.
fn children<'a>(node: Node<'a>, prefix: &str) -> Vec<Line<'a>> {
    let named: Vec<(String, Node<'a>)> = match node.kind() {
        Kind::Mapping => node
            .entries()
            .map(|(key, value)| (cut(key.text().unwrap_or("?"), false), value))
            .collect(),
        Kind::Sequence if node.items().all(is_plain) => Vec::new(),
        Kind::Sequence => {
            node.items().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => Vec::new(),
    };
    let count = named.len();
    let prefix: Rc<str> = prefix.into();
    let line = |(index, (key, node))| Line {
        node,
        key,
        prefix: Rc::clone(&prefix),
        last: index + 1 == count,
    };
    named.into_iter().enumerate().map(line).rev().collect()
}

fn is_plain(node: Node<'_>) -> bool {
    !matches!(node.kind(), Kind::Mapping | Kind::Sequence)
}

fn summary(node: Node<'_>, seen: &HashSet<NodeId>) -> String {
    let tag = node.tag().map(short_tag).map(|tag| format!(" {tag}")).unwrap_or_default();
    if node.is_ndarray() {
        return match node.ndarray() {
            Ok(array) => {
                let dtype = cut(&datatype_name(array.datatype()), false);
                format!("{dtype} {:?}{tag}", array.shape())
            }
            Err(error) => one_line(&error.to_string()) + &tag,
        };
    }
    let again = if seen.contains(&node.id()) { " (as above)" } else { "" };
    match node.kind() {
        Kind::Mapping => format!("{{{}}}{tag}{again}", node.len()),
        Kind::Sequence if node.items().all(is_plain) && !node.is_empty() => {
            let items: Vec<&str> = node.items().take(12).filter_map(Node::text).collect();
            cut(&format!("[{}]", items.join(", ")), node.len() > 12) + &tag
        }
        Kind::Sequence => format!("[{}]{tag}{again}", node.len()),
        _ => cut(node.text().unwrap_or(""), false) + &tag,
    }
}

/// `core/ndarray-1.1.0` of `tag:stsci.edu:asdf/core/ndarray-1.1.0`.
fn short_tag(tag: &str) -> String {
    let short = tag.rsplit_once("asdf/").map_or(tag, |(_, name)| name);
    format!("!{}", cut(short.trim_start_matches('!'), false))
}

/// One line of at most `MAX_TEXT` characters.
fn cut(text: &str, more: bool) -> String {
    let line = one_line(text);
    if line.chars().count() <= MAX_TEXT && !more {
        return line;
    }
    let head: String = line.chars().take(MAX_TEXT).collect();
    head + " ..."
}
