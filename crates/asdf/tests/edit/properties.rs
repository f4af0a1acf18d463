//! An edit changes only its target. The trees in these tests are random, with comments, anchors,
//! aliases and merge keys, in block and flow style.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use asdf::Tree;
use asdf::value::TreeText;
use asdf::yaml::{Document, NodeId, NodeKind, YamlNode};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Random {
    Scalar(usize),
    Alias(usize),
    List(Vec<Random>, bool, bool),
    Map(Vec<Random>, bool, bool),
}

const SCALARS: &[&str] = &[
    "plain",
    "two words",
    "1",
    "-2.5",
    "~",
    "''",
    "'it''s'",
    "\"\\x41\\n\"",
    "!t tagged",
    "2001-12-14",
    "0x1f",
    "",
];

fn random() -> impl Strategy<Value = Random> {
    let leaf = prop_oneof![
        4 => any::<usize>().prop_map(Random::Scalar),
        2 => any::<usize>().prop_map(Random::Alias),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let children = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            (children(), any::<bool>(), any::<bool>()).prop_map(|(c, f, a)| Random::List(c, f, a)),
            (children(), any::<bool>(), any::<bool>()).prop_map(|(c, f, a)| Random::Map(c, f, a)),
        ]
    })
}

/// The text of a random tree that is being written.
#[derive(Default)]
struct Text {
    out: String,
    /// Number of comments so far.
    comments: usize,
    /// Number of anchors so far.
    anchors: usize,
    /// The numbers `n` in the anchors `&a{n}` of completed mappings.
    maps: Vec<usize>,
}

impl Text {
    fn comment(&mut self, indent: usize, seed: usize) {
        if seed % 3 == 0 {
            self.comments += 1;
            if seed % 2 == 0 {
                self.out.push('\n');
            }
            let _ = writeln!(self.out, "{}# above {}", " ".repeat(indent), self.comments);
        }
    }

    fn end(&mut self, in_flow: bool, seed: usize) {
        if !in_flow {
            if seed % 4 == 0 {
                self.comments += 1;
                let _ = write!(self.out, " # after {}", self.comments);
            }
            self.out.push('\n');
        }
    }

    fn node(&mut self, node: &Random, indent: usize, in_flow: bool, seed: usize) {
        match node {
            Random::Scalar(which) => {
                let text = SCALARS[which % SCALARS.len()];
                // Write `~`, because an empty item is invalid in some positions inside brackets.
                let text = if text.is_empty() && in_flow { "~" } else { text };
                if !text.is_empty() {
                    self.out.extend([" ", text]);
                }
                self.end(in_flow, seed);
            }
            Random::Alias(which) => {
                match which.checked_rem(self.anchors) {
                    Some(anchor) => drop(write!(self.out, " *a{anchor}")),
                    None => self.out.push_str(" 0"),
                }
                self.end(in_flow, seed);
            }
            Random::List(items, is_flow, _) | Random::Map(items, is_flow, _) => {
                let is_map = matches!(node, Random::Map(..));
                let (Random::List(_, _, anchored) | Random::Map(_, _, anchored)) = node else {
                    return;
                };
                let merged = self.maps.last().copied().filter(|_| is_map && seed % 3 == 1);
                let number = self.anchors;
                if *anchored {
                    let _ = write!(self.out, " &a{number}");
                }
                let in_brackets = in_flow || *is_flow || items.is_empty();
                if in_brackets {
                    self.out.push_str(if is_map { " {" } else { " [" });
                    for (at, item) in items.iter().enumerate() {
                        self.out.push_str(if at > 0 { ", " } else { "" });
                        if is_map {
                            let _ = write!(self.out, "k{at}:");
                        }
                        self.node(item, indent, true, seed + at);
                    }
                    self.out.push(if is_map { '}' } else { ']' });
                    self.end(in_flow, seed);
                } else {
                    self.out.push('\n');
                    let pad = " ".repeat(indent);
                    if let Some(merged) = merged {
                        let _ = writeln!(self.out, "{pad}<<: *a{merged}");
                    }
                    for (at, item) in items.iter().enumerate() {
                        self.comment(indent, seed + at);
                        if is_map {
                            let _ = write!(self.out, "{pad}k{at}:");
                        } else {
                            let _ = write!(self.out, "{pad}-");
                        }
                        self.node(item, indent + 2, false, seed + at * 7);
                    }
                }
                if *anchored {
                    // The anchors inside the collection have already been counted.
                    self.anchors = self.anchors.max(number) + 1;
                    if is_map {
                        self.maps.push(number);
                    }
                }
            }
        }
    }
}

/// Generates the text of a mapping with random trees as its values.
fn document() -> impl Strategy<Value = String> {
    (prop::collection::vec(random(), 1..6), 0..20_usize).prop_map(|(nodes, seed)| {
        let mut text = Text::default();
        for (at, node) in nodes.iter().enumerate() {
            text.comment(0, seed + at);
            let _ = write!(text.out, "k{at}:");
            text.node(node, 2, false, seed + at);
        }
        text.out
    })
}

/// Maps the pointer of each node to its path and its description. The path consists of the
/// collections above the node, each with the key or index that leads to the next one.
type Leaves = BTreeMap<String, (Vec<(NodeId, String)>, String)>;

/// Returns up to about 2000 nodes down to depth 7, including nodes reached through aliases and
/// merge keys. The description of a node is its kind, tag and text.
fn leaves(document: &Document) -> Leaves {
    fn walk(node: YamlNode<'_>, pointer: &str, way: &[(NodeId, String)], leaves: &mut Leaves) {
        // If a null without text moves into brackets, it is written as `null`, so describe it as
        // `null`.
        let text =
            node.text().map(|text| if text.is_empty() && node.is_null() { "null" } else { text });
        let shown = format!("{:?} {:?} {text:?}", node.kind(), node.tag());
        leaves.insert(pointer.to_owned(), (way.to_vec(), shown));
        if way.len() > 6 || leaves.len() > 2000 {
            return;
        }
        let children: Vec<(String, YamlNode<'_>)> = match node.kind() {
            NodeKind::Mapping => {
                node.entries().map(|(key, value)| (key.to_key().unwrap().into(), value)).collect()
            }
            _ => node.items().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        };
        for (key, child) in children {
            let mut way = way.to_vec();
            way.push((node.id(), key.clone()));
            walk(child, &format!("{pointer}/{key}"), &way, leaves);
        }
    }
    let mut found = Leaves::new();
    walk(document.root(), "", &[], &mut found);
    found
}

/// Returns the descriptions of the nodes that are neither at nor below any of the prefixes.
fn untouched(all: &Leaves, prefixes: &[String]) -> BTreeMap<String, String> {
    let is_below = |pointer: &str| {
        prefixes.iter().any(|prefix| {
            pointer
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let kept = all.iter().filter(|(pointer, _)| !is_below(pointer));
    kept.map(|(pointer, (_, shown))| (pointer.clone(), shown.clone())).collect()
}

fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.find("# ").map(|at| &line[at..])).collect()
}

const VALUES: &[&str] =
    &["7", "new text", "[1, [2]]", "{p: {q: 1}}", "{}", "'yes'", "[a, b]", "1.5"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 4000, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_of_a_random_tree_changes_only_its_target(text in document(), which: usize, value: usize, what in 0..4_u8) {
        let before = TreeText::parse(text.as_str());
        // Skip sources in which an alias refers to an undefined anchor.
        prop_assume!(before.is_ok());
        let before = before.unwrap();
        let all = leaves(before.document());
        let places: Vec<_> = all.iter().filter(|(pointer, _)| !pointer.is_empty()).collect();
        prop_assume!(!places.is_empty());
        let (pointer, (way, _)) = places[which % places.len()];
        let (container, key) = way.last().unwrap().clone();
        let is_list = before.document().node(container).kind() == NodeKind::Sequence;
        let prefixes: Vec<String> = all
            .iter()
            .filter(|(_, (way, _))| way.last() == Some(&(container, key.clone())))
            .map(|(pointer, _)| pointer.clone())
            .collect();
        let mut after = TreeText::parse(text.as_str()).unwrap();
        let value = VALUES[value % VALUES.len()];
        let parsed = Tree::parse(value).unwrap();
        let parent = pointer.rsplit_once('/').unwrap().0;
        let done = match what {
            0 => after.set(pointer, &parsed),
            1 => after.remove(pointer),
            2 => after.rename(pointer, "renamed"),
            _ if is_list => after.set(&format!("{parent}/-"), &parsed),
            _ => after.set(&format!("{parent}/added"), &parsed),
        };
        let is_merged = before
            .document()
            .node(container)
            .raw_entries()
            .all(|(name, _)| name.to_key().unwrap() != key);
        match &done {
            Ok(()) => {}
            Err(error) => {
                let message = error.to_string();
                let is_known = what == 2 && is_list
                    || matches!(what, 1 | 2) && !is_list && is_merged && message.contains("is merged by");
                prop_assert!(is_known, "{message}\n{text}");
                prop_assert_eq!(after.text(), &text);
                return Ok(());
            }
        }
        let now = leaves(after.document());
        if !(what == 1 && is_list) {
            let mut changed = prefixes.clone();
            for prefix in &prefixes {
                let parent = prefix.rsplit_once('/').unwrap().0;
                changed.extend(["renamed", "added"].map(|key| format!("{parent}/{key}")));
            }
            if what == 3 {
                let len = before.document().node(container).items().len();
                changed = all
                    .iter()
                    .filter(|(_, (way, _))| way.last().is_some_and(|(id, _)| *id == container))
                    .map(|(pointer, _)| pointer.rsplit_once('/').unwrap().0)
                    .map(|parent| if is_list { format!("{parent}/{len}") } else { format!("{parent}/added") })
                    .collect();
            }
            // Skip this check if there are merge keys, because an edit may then reveal merged
            // entries that were overridden.
            if !text.contains("<<") {
                prop_assert_eq!(untouched(&all, &changed), untouched(&now, &changed), "{}\n->\n{}", text, after.text());
            }
        }
        match what {
            // Skip `<<` keys, because a `<<` key whose value is a list becomes a merge key if a
            // mapping is inserted into the list.
            0 if !pointer.contains("/<<") => {
                let want = Tree::from_node(after.document().root().pointer(pointer).unwrap()).unwrap();
                let shown = |tree: &Tree| {
                    let mut text = Vec::new();
                    tree.write_yaml(&mut text).unwrap();
                    String::from_utf8(text).unwrap().replace("\n- ", " ")
                };
                let [want, parsed] = [shown(&want), shown(&parsed)];
                prop_assert_eq!(want.split_whitespace().count(), parsed.split_whitespace().count());
            }
            1 if !is_list => prop_assert!(!after.document().node(after.document().root().id()).is_null()),
            _ => {}
        }
        // The order of the comments is preserved, apart from comments that were removed with their
        // node.
        let (old, new) = (comments(&text), comments(after.text()));
        if matches!(what, 2 | 3) {
            prop_assert_eq!(old, new);
        } else {
            let mut rest = old.iter();
            let is_moved = text.contains('*');
            prop_assert!(is_moved || new.iter().all(|comment| rest.any(|old| old == comment)), "{}\n->\n{}", text, after.text());
        }
        // The edit must only insert the new child, and change no other text.
        if what == 3 && !text.contains("[]") && !text.contains("{}") {
            let same = text.bytes().zip(after.text().bytes()).take_while(|(a, b)| a == b).count();
            prop_assert!(after.text().ends_with(&text[same..]), "{}\n->\n{}", text, after.text());
        }
        // Every anchor must be defined before its aliases.
        prop_assert!(TreeText::parse(after.text()).is_ok());
    }
}
