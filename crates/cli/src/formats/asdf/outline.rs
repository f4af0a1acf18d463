//! Outlines of trees for human readers, with a line for each node. If aliases repeat a mapping or a
//! list, its children are shown only once.

use std::collections::HashSet;
use std::io::{self, Write};
use std::rc::Rc;

use asdf::Node;
use asdf::inspect::schema::Descriptions;
use asdf::ndarray::datatype_name;
use asdf::yaml::{NodeId, NodeKind};

use crate::output::{count, one_line};

/// The maximum length of a key, a scalar or a tag in characters. Longer text is shortened.
const MAX_TEXT: usize = 60;

/// The maximum number of omitted lines to count. If more lines are omitted, the outline says "more
/// than" this number.
const MAX_COUNT: u64 = 1_000_000;

/// An outline may have this many bytes, plus [`BYTES_PER_NODE`] for each node in the file. Without
/// this limit, merge keys could expand a few KB to gigabytes.
const MAX_BYTES: u64 = 32 << 20;
const BYTES_PER_NODE: u64 = 128;

/// The keys of the root that describe how the file was created, rather than its content.
pub(crate) const ABOUT_THE_FILE: [&str; 2] = ["asdf_library", "history"];

/// The part of a tree to show.
#[derive(Clone, Copy, Default)]
pub(crate) struct Extent {
    /// The maximum number of levels.
    pub(crate) depth: Option<usize>,
    /// The maximum number of lines. If there are more lines, inner levels are omitted first.
    pub(crate) lines: Option<u64>,
    /// Whether to omit the entries about the file itself, and to show the arrays of a mapping
    /// before its other entries, so that the arrays are visible even if lines are omitted.
    pub(crate) only_content: bool,
}

/// Writes the outline of the descendants of a node. Fails with [`io::ErrorKind::FileTooLarge`] if
/// merge keys expand to too many entries.
pub(crate) fn outline(
    out: &mut dyn Write,
    root: Node<'_>,
    indent: &str,
    extent: Extent,
    described: &Descriptions,
) -> io::Result<()> {
    let mut depth = extent.depth.unwrap_or(usize::MAX);
    let mut room_at_last = u64::MAX;
    let (mut hidden, mut hidden_arrays) = (0, 0);
    if let Some(max) = extent.lines {
        let (levels, arrays) = count_levels(root, extent);
        let mut shown = 0;
        let whole = levels.iter().take_while(|&&count| {
            shown += count;
            shown <= max
        });
        let whole = whole.count();
        let before: u64 = levels[..whole].iter().sum();
        if whole < levels.len() {
            (depth, room_at_last) = (whole + 1, max - before);
            hidden = (levels.iter().sum::<u64>() - max).min(MAX_COUNT);
            hidden_arrays = arrays;
        }
    }
    let limit = root.document().node_count() as u64 * BYTES_PER_NODE + MAX_BYTES;
    let mut written = 0;
    let mut walk = Walk::new(root, indent, extent.only_content);
    while let Some(line) = walk.next() {
        if walk.depth() == depth && room_at_last != u64::MAX {
            if room_at_last == 0 {
                break_off(out, &mut walk, &line)?;
                continue;
            }
            room_at_last -= 1;
        }
        // The branch symbol, the colon, the space and the line end take up nine bytes.
        written += (line.prefix.len() + line.key.len() + line.summary.len() + 9) as u64;
        if written > limit {
            let message =
                format!("the outline exceeds {limit} bytes, because merge keys repeat entries");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        hidden_arrays = hidden_arrays.saturating_sub(u64::from(line.node.is_ndarray()));
        let (key, summary) = (&line.key, &line.summary);
        let description = description(line.node, described);
        writeln!(out, "{}{}{key}: {summary}{description}", line.prefix, line.branch())?;
        if walk.depth() < depth {
            walk.descend(&line);
        }
    }
    if hidden > 0 {
        let than = if hidden == MAX_COUNT { "more than " } else { "" };
        let more = count(hidden, "more node");
        // If counting stopped early, the number of arrays is unknown.
        let arrays = match hidden_arrays {
            1.. if hidden < MAX_COUNT => format!(", including {}", count(hidden_arrays, "array")),
            _ => String::new(),
        };
        writeln!(out, "{indent}... ({than}{more}{arrays}; `scibin asdf tree` shows all)")?;
    }
    Ok(())
}

/// Returns the title and unit of a node from the schemas, as a comment for the end of its line.
fn description(node: Node<'_>, described: &Descriptions) -> String {
    let Some(description) = described.get(node.id()) else { return String::new() };
    let title = description.title.as_deref().map(|title| format!("  # {}", cut(title, false)));
    let unit = description.unit.as_deref().map(|unit| cut(unit, false));
    match (title, unit) {
        (Some(title), Some(unit)) => format!("{title} [{unit}]"),
        (None, Some(unit)) => format!("  # [{unit}]"),
        (title, None) => title.unwrap_or_default(),
    }
}

/// Omits `line` and the siblings after it. If siblings before `line` have been shown, prints the
/// number of omitted siblings, including `line`.
fn break_off(out: &mut dyn Write, walk: &mut Walk<'_>, line: &Line<'_>) -> io::Result<()> {
    let (shown, left) = walk.skip_siblings();
    if shown > 0 {
        writeln!(out, "{}└─... ({} more)", line.prefix, left + 1)?;
    }
    Ok(())
}

/// Returns the number of lines at each level of the outline, and the number of arrays on all
/// levels. Stops counting when more than [`MAX_COUNT`] lines would be omitted.
fn count_levels(root: Node<'_>, extent: Extent) -> (Vec<u64>, u64) {
    let mut levels = Vec::new();
    let (mut total, mut arrays) = (0, 0);
    let mut walk = Walk::new(root, "", extent.only_content);
    while let Some(line) = walk.next() {
        let depth = walk.depth();
        if levels.len() < depth {
            levels.push(0);
        }
        levels[depth - 1] += 1;
        total += 1;
        arrays += u64::from(line.node.is_ndarray());
        if total > MAX_COUNT + extent.lines.unwrap_or(0) {
            break;
        }
        if extent.depth.is_none_or(|max| depth < max) {
            walk.descend(&line);
        }
    }
    (levels, arrays)
}

/// A line of the outline, which shows a node.
struct Line<'a> {
    node: Node<'a>,
    key: String,
    summary: String,
    /// The indentation and the vertical lines before the branch symbol. All siblings share the
    /// prefix.
    prefix: Rc<str>,
    last: bool,
}

impl Line<'_> {
    fn branch(&self) -> &'static str {
        if self.last { "└─" } else { "├─" }
    }
}

/// Iterates over the lines of an outline. After a line for a container, [`Walk::descend`] continues
/// with its children.
struct Walk<'a> {
    seen: HashSet<NodeId>,
    stack: Vec<Children<'a>>,
    only_content: bool,
}

/// The remaining children of a node.
struct Children<'a> {
    iter: Box<dyn Iterator<Item = (String, Node<'a>)> + 'a>,
    left: usize,
    shown: usize,
    prefix: Rc<str>,
}

impl<'a> Walk<'a> {
    fn new(root: Node<'a>, indent: &str, only_content: bool) -> Self {
        let mut walk = Self { seen: HashSet::from([root.id()]), stack: Vec::new(), only_content };
        let is_top = root.id() == root.document().root().id() && root.kind() == NodeKind::Mapping;
        let is_about = |key: &str| ABOUT_THE_FILE.contains(&key);
        if is_top && ABOUT_THE_FILE.iter().any(|key| root.get(key).is_some()) {
            let named = |about: bool| {
                let entries = entries(root, only_content);
                entries.filter(move |(key, _)| is_about(key) == about)
            };
            let about = named(true).filter(move |_| !only_content);
            let left = root.entries().filter(|(key, _)| !is_about(&name(*key))).count()
                + if only_content { 0 } else { named(true).count() };
            let iter = Box::new(named(false).chain(about));
            walk.stack.push(Children { iter, left, shown: 0, prefix: indent.into() });
        } else {
            walk.stack.extend(children(root, indent, only_content));
        }
        walk
    }

    /// Returns the level of the last line that [`next`](Self::next) returned, counted from 1.
    fn depth(&self) -> usize {
        self.stack.len()
    }

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let children = self.stack.last_mut()?;
            let Some((key, node)) = children.iter.next() else {
                self.stack.pop();
                continue;
            };
            children.left = children.left.saturating_sub(1);
            children.shown += 1;
            let (last, prefix) = (children.left == 0, Rc::clone(&children.prefix));
            let (key, summary) = (cut(&key, false), summary(node, &self.seen));
            return Some(Line { node, key, summary, prefix, last });
        }
    }

    /// Continues with the children of the node on a line, if the node is a mapping or a list, but
    /// not an array, and if its children have not been shown yet.
    fn descend(&mut self, line: &Line<'a>) {
        if is_plain(line.node) || line.node.is_ndarray() || !self.seen.insert(line.node.id()) {
            return;
        }
        let prefix = format!("{}{}", line.prefix, if line.last { "  " } else { "│ " });
        self.stack.extend(children(line.node, &prefix, self.only_content));
    }

    /// Skips the remaining siblings of the last line that [`next`](Self::next) returned. Returns
    /// the number of siblings before and after this line.
    fn skip_siblings(&mut self) -> (usize, usize) {
        self.stack.pop().map_or((0, 0), |children| (children.shown - 1, children.left))
    }
}

/// Returns the children that are shown on separate lines below a node. Returns `None` for a scalar,
/// and for a list of scalars, whose first items are shown on the line of the list itself.
fn children<'a>(node: Node<'a>, prefix: &str, arrays_first: bool) -> Option<Children<'a>> {
    let iter: Box<dyn Iterator<Item = (String, Node<'a>)> + 'a> = match node.kind() {
        NodeKind::Mapping => Box::new(entries(node, arrays_first)),
        NodeKind::Sequence if node.is_ordered_mapping() => Box::new(entries(node, arrays_first)),
        NodeKind::Sequence if !node.items().all(is_plain) => {
            Box::new(node.items().enumerate().map(|(index, item)| (index.to_string(), item)))
        }
        _ => return None,
    };
    Some(Children { iter, left: node.len(), shown: 0, prefix: prefix.into() })
}

/// Returns the entries of a mapping or an ordered mapping, either in order or with arrays first.
fn entries(mapping: Node<'_>, arrays_first: bool) -> impl Iterator<Item = (String, Node<'_>)> {
    let of_kind = move |is_array: bool| {
        let entries = mapping.members();
        entries.filter(move |(_, value)| !arrays_first || value.is_ndarray() == is_array)
    };
    let others = arrays_first.then(|| of_kind(false)).into_iter().flatten();
    of_kind(true).chain(others).map(|(key, value)| (name(key), value))
}

fn name(key: Node<'_>) -> String {
    key.text().unwrap_or("?").to_owned()
}

fn is_plain(node: Node<'_>) -> bool {
    !matches!(node.kind(), NodeKind::Mapping | NodeKind::Sequence)
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
    let count = |one: &str| count(node.len(), one);
    match node.kind() {
        NodeKind::Mapping if node.is_empty() => format!("{{}}{tag}"),
        NodeKind::Mapping => format!("{{..}} {}{tag}{again}", count("key")),
        NodeKind::Sequence if node.is_ordered_mapping() => {
            format!("{{..}} {}{tag}{again}", count("key"))
        }
        NodeKind::Sequence if node.items().all(is_plain) => {
            let items: Vec<&str> = node.items().take(12).filter_map(|item| item.text()).collect();
            cut(&format!("[{}]", items.join(", ")), node.len() > 12) + &tag
        }
        NodeKind::Sequence => format!("[..] {}{tag}{again}", count("item")),
        _ => cut(node.text().unwrap_or(""), false) + &tag,
    }
}

/// Shortens a tag: for example, `tag:stsci.edu:asdf/core/ndarray-1.1.0` becomes
/// `!core/ndarray-1.1.0`.
fn short_tag(tag: &str) -> String {
    let short = tag.rsplit_once("asdf/").map_or(tag, |(_, name)| name);
    format!("!{}", cut(short.trim_start_matches('!'), false))
}

/// Shortens text to one line of at most `MAX_TEXT` characters, followed by " ..." if characters
/// were removed or if `more` is `true`.
fn cut(text: &str, more: bool) -> String {
    let line = one_line(text);
    if line.chars().count() <= MAX_TEXT && !more {
        return line;
    }
    let head: String = line.chars().take(MAX_TEXT).collect();
    head + " ..."
}
