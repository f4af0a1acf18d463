//! Comparing nodes by value.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ptr;

use super::node::{Content, YamlNode};
use super::scalar::NodeKind;

/// Maximum length in bytes of a scalar that may be compared repeatedly. Longer scalars are compared
/// only once, no matter how many aliases refer to them.
const SHORT_TEXT: usize = 64;

/// Names of the YAML tags that merely state the kind of a node.
const KIND_TAGS: [&str; 9] =
    ["null", "bool", "int", "float", "str", "timestamp", "binary", "seq", "map"];

/// Nodes are equal if they have the same [`NodeKind`], tag and value. They may belong to different documents.
///
/// - Merge keys are applied, and the order of a mapping's entries does not matter. Keys are matched
///   by their kind and their [JSON form](YamlNode::to_key), so the spelling of integers, booleans and
///   nulls does not matter. Keys that are collections are matched in the order of the
///   [`entries`](YamlNode::entries).
/// - Numbers that are not keys are compared by value, but an integer never equals a float. NaN equals
///   NaN, so that every node equals itself. The sign of a zero is ignored.
/// - A tag that merely states the kind, such as `!!str` or `!!map`, is ignored.
/// - Scalars that do not fit their tag are equal if they have the same text.
/// - Aliases are followed, so an alias equals a copy of its target. Nodes that contain themselves
///   are equal if no path leads to a difference. A comparison takes time roughly linear in the size
///   of both documents, including merged entries.
/// - Style, anchors, comments and positions do not matter.
///
/// ```
/// use asdf::yaml::{Document, ParseOptions};
///
/// let parse = |text: &str| {
///     Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new())
/// };
/// let (a, b) = (parse("x: &x [1, .nan]\ny: *x\n")?, parse("{y: [0x1, .NaN], 'x': [+1, .nan]}")?);
/// assert_eq!(a.root(), b.root());
/// assert_ne!(a.root().get("x"), a.root().pointer("/x/0").ok());
/// # Ok::<(), asdf::Error>(())
/// ```
impl PartialEq for YamlNode<'_> {
    fn eq(&self, other: &Self) -> bool {
        let mut known = EqualSets::default();
        let one_document = ptr::eq(self.document(), other.document());
        let mut pairs = vec![(*self, *other)];
        while let Some((a, b)) = pairs.pop() {
            let is_long = a.text().is_none_or(|text| text.len() > SHORT_TEXT);
            let key = |node: YamlNode<'_>, second: bool| (second && !one_document, node.id());
            if is_long && !known.join(key(a, false), key(b, true)) {
                continue;
            }
            if a.kind() != b.kind() || tag(a) != tag(b) {
                return false;
            }
            let is_equal = match a.kind() {
                NodeKind::Sequence => {
                    pairs.extend(a.items().zip(b.items()));
                    a.len() == b.len()
                }
                NodeKind::Mapping => match_entries(a, b, &mut pairs),
                _ => same_scalar(a, b),
            };
            if !is_equal {
                return false;
            }
        }
        true
    }
}

impl Eq for YamlNode<'_> {}

/// Returns the tag of a node, or `None` if the node has no tag or the tag merely states the node's
/// kind.
fn tag(node: YamlNode<'_>) -> Option<&str> {
    node.tag().filter(|tag| {
        let own = tag.strip_prefix("tag:yaml.org,2002:");
        !own.is_some_and(|name| KIND_TAGS.contains(&name))
    })
}

#[allow(clippy::float_cmp, reason = "the comparison must be exact")]
fn same_scalar(a: YamlNode<'_>, b: YamlNode<'_>) -> bool {
    match (a.value(), b.value()) {
        (Ok(Content::Float(a)), Ok(Content::Float(b))) => a == b || (a.is_nan() && b.is_nan()),
        (Ok(a), Ok(b)) => a == b,
        (Err(_), Err(_)) => a.text() == b.text(),
        _ => false,
    }
}

/// Matches the entries of two mappings by their keys. Adds the matched keys and values to `pairs` for
/// later comparison. Returns `false` if the mappings differ in length, or if a key has no
/// counterpart.
fn match_entries<'a>(
    a: YamlNode<'a>,
    b: YamlNode<'a>,
    pairs: &mut Vec<(YamlNode<'a>, YamlNode<'a>)>,
) -> bool {
    let (of_a, of_b) = (a.entries(), b.entries());
    if of_a.len() != of_b.len() {
        return false;
    }
    let mut named: HashMap<(NodeKind, Cow<'_, str>), (YamlNode<'_>, YamlNode<'_>)> = HashMap::new();
    // A key that is a collection has no name. Match such keys in the order of the entries.
    let mut unnamed = Vec::new();
    for entry in of_b {
        match entry.0.to_key() {
            Ok(name) => drop(named.insert((entry.0.kind(), name), entry)),
            Err(_) => unnamed.push(entry),
        }
    }
    let mut unnamed = unnamed.into_iter();
    for (key, value) in of_a {
        let found = match key.to_key() {
            Ok(name) => named.get(&(key.kind(), name)).copied(),
            Err(_) => unnamed.next(),
        };
        let Some((same_key, same_value)) = found else { return false };
        pairs.extend([(key, same_key), (value, same_value)]);
    }
    true
}

/// The id of a node, preceded by `true` if the node belongs to the second document.
type Key = (bool, super::NodeId);

/// Sets of nodes that are assumed to be equal until a difference is found. Two nodes in the same
/// set are not compared again, so comparing cyclic documents ends after about as many steps as
/// there are nodes.
#[derive(Default)]
struct EqualSets {
    parents: HashMap<Key, Key>,
}

impl EqualSets {
    /// Joins the sets of two nodes. Returns `false` if they were already in the same set.
    fn join(&mut self, a: Key, b: Key) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        self.parents.insert(a, b);
        true
    }

    /// Returns the representative of the set that contains `node`.
    fn find(&mut self, mut node: Key) -> Key {
        while let Some(&parent) = self.parents.get(&node) {
            // Halve the path to the representative, to make later searches faster.
            if let Some(&above) = self.parents.get(&parent) {
                self.parents.insert(node, above);
            }
            node = parent;
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use crate::yaml::{Document, ParseOptions};

    fn parse(text: &str) -> Document {
        Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new()).unwrap()
    }

    fn equal(a: &str, b: &str) -> bool {
        let (a, b) = (parse(a), parse(b));
        let equal = a.root() == b.root();
        assert_eq!(equal, b.root() == a.root(), "symmetry");
        assert_eq!(a.root(), a.root());
        equal
    }

    #[test]
    fn nodes_that_differ_only_in_order_or_style_or_spelling_are_equal() {
        for (a, b) in [
            ("[a, 'b', \"c\"]", "- 'a'\n- b\n- >-\n  c\n"),
            ("{a: 1, b: 2}", "b: 0b10\na: +1\n"),
            ("{1: x, true: y, ~: z}", "{null: z, yes: y, 0x1: x}"),
            ("[1:30, 1.50, .inf, 2001-12-14]", "[90, 1.5, +.inf, 2001-12-14]"),
            ("[-0.0, .nan]", "[0.0, .NaN]"),
            ("[!!str a, !!int '7', !!seq [], !!map {}]", "[a, 7, [], {}]"),
            ("!!binary SGVs", "!!binary 'SG Vs'"),
            ("{<<: {a: 1, b: 2}, b: 3}", "{a: 1, b: 3}"),
            ("{a: 1, a: 2}", "{a: 2}"),
            ("[!!int x, !t y]", "[!!int x, !t y]"),
            ("&a [x]", "&b [x] # comment"),
            ("{[a]: 1, [b]: 2}", "{[a]: 1, [b]: 2}"),
        ] {
            assert!(equal(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn nodes_that_differ_in_kind_tag_or_value_are_not_equal() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "'1'"),
            ("true", "'true'"),
            ("~", "''"),
            ("[]", "{}"),
            ("[a, b]", "[b, a]"),
            ("[a]", "[a, a]"),
            ("{a: 1}", "{a: 1, b: 2}"),
            ("{a: 1}", "{b: 1}"),
            ("{1: a}", "{'1': a}"),
            ("{!t a: 1}", "{a: 1}"),
            ("!t a", "a"),
            ("!!set {a}", "{a: }"),
            ("!!int x", "!!int y"),
            ("!!int x", "!!int '1'"),
            ("2001-12-14", "2001-12-15"),
            ("{[a]: 1}", "{[b]: 1}"),
        ] {
            assert!(!equal(a, b), "{a} and {b}");
        }
        let digits = "9".repeat(60);
        assert!(equal(&digits, &format!("0{}", digits.replace('9', "9_")).replacen('0', "+", 1)));
        assert!(!equal(&digits, &format!("-{digits}")));
    }

    #[test]
    fn an_alias_equals_a_copy_of_its_node() {
        assert!(equal("[&a [x], *a, *a]", "[[x], &b [x], *b]"));
        assert!(!equal("[&a [x], *a, *a]", "[[x], [x], [y]]"));
    }

    #[test]
    fn cyclic_nodes_are_equal_unless_a_path_leads_to_a_difference() {
        assert!(equal("&a [x, *a]", "&a [x, &b [x, *a]]"));
        assert!(equal("&a [x, *a]", "[x, &b [x, *b]]"));
        assert!(!equal("&a [x, *a]", "&a [x, &b [y, *a]]"));
        assert!(!equal("&a [x, *a]", "[x, [x, [x, []]]]"));
        assert!(equal("&a {k: *a}", "&a {k: {k: *a}}"));
        // The lengths of the cycles have no common factor, so a naive comparison would take 251 * 241
        // steps to reach a pair of nodes for the second time.
        let ring = |len: usize| "&a ".to_owned() + &"[".repeat(len) + "*a" + &"]".repeat(len);
        assert!(equal(&ring(251), &ring(241)));
    }

    #[test]
    fn comparing_nested_aliases_does_not_take_exponential_time() {
        let bomb = |leaf: &str| {
            let mut text = format!("- &a0 [{leaf}]\n");
            for level in 1..200 {
                let below = format!("*a{}", level - 1);
                let _ = writeln!(text, "- &a{level} [{below}, {below}, {below}]");
            }
            text
        };
        assert!(equal(&bomb("x"), &bomb("x")));
        assert!(!equal(&bomb("x"), &bomb("y")));
    }
}
