//! Finding nodes of a tree by key, value, type and pointer.

use std::cmp::Ordering;
use std::fmt;
use std::ops::ControlFlow;

use serde_json::{Number, Value as Json};

use super::children;
use super::compare::{shortened, shown};
use super::pattern::{Pattern, Progress, Wildcards, glob};
use crate::Node;
use crate::error::Result;
use crate::ndarray::datatype_name;
use crate::yaml::{Content, NodeKind, Order, Walk};

/// Maximum number of entries and items that are visited. The limit is necessary because merge keys
/// can multiply the entries of a small file.
const MAX_VISITED: u64 = 1 << 23;

/// Maximum total length in bytes of the pointers to matching nodes. Each pointer may be as long as
/// the tree.
const MAX_BYTES: u64 = 1 << 27;

type Test<'t> = Box<dyn Fn(&str) -> bool + 't>;

/// The conditions of a search. A node is found if it satisfies all conditions that are set. An array inside the
/// searched node counts as a single node; its content is not searched.
///
/// ```
/// use std::ops::ControlFlow;
/// use asdf::inspect::{Search, ValueTest};
///
/// let file = asdf::Asdf::from_bytes(&b"#ASDF 1.0.0\n%YAML 1.1\n--- !<tag:stsci.edu:asdf/core/asdf-1.1.0>\n\
///     gain: 2.5\nmeta: {gain: high, time: 7}\n...\n"[..])?;
/// let search = Search::new().key(|key| key == "gain").type_name("float");
/// let mut found = Vec::new();
/// file.tree()?.search(&search, &mut |one| {
///     found.push(one.pointer);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(found, ["/gain"]);
/// # Ok::<(), asdf::Error>(())
/// ```
pub struct Search<'t> {
    key: Option<Test<'t>>,
    value: Option<ValueTest<'t>>,
    type_name: Option<String>,
    tag: Option<String>,
    pointers: Option<Pattern>,
    max_visited: u64,
}

impl Default for Search<'_> {
    fn default() -> Self {
        let max_visited = MAX_VISITED;
        Self { key: None, value: None, type_name: None, tag: None, pointers: None, max_visited }
    }
}

/// A condition on the value of a node.
#[non_exhaustive]
pub enum ValueTest<'t> {
    /// Matches scalars whose text or JSON form passes the test.
    Text(Test<'t>),
    /// Matches nodes that are equal to this JSON value. Numbers are compared by value.
    Equal(Json),
    /// Matches numbers that have the given relation to this number.
    Compare(Relation, Number),
}

/// A relation between a number in the tree and a given number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Less than the given number.
    Less,
    /// Less than or equal to the given number.
    AtMost,
    /// Greater than the given number.
    Greater,
    /// Greater than or equal to the given number.
    AtLeast,
}

impl Relation {
    fn holds(self, found: Ordering) -> bool {
        match self {
            Self::Less => found.is_lt(),
            Self::AtMost => found.is_le(),
            Self::Greater => found.is_gt(),
            Self::AtLeast => found.is_ge(),
        }
    }
}

/// A node found by a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Match<'a> {
    /// The pointer through which the node was found, relative to the node where the search began. If
    /// an alias refers to the found node, the alias is a separate match with its own pointer.
    pub pointer: String,
    /// The node that was found.
    pub node: Node<'a>,
}

impl Match<'_> {
    /// Describes the value on one short line: the text of a scalar (in quotes if it is a string), the type and
    /// shape of an array, or the number of items or keys in a collection.
    pub fn summary(&self) -> String {
        match self.node.is_ndarray().then(|| self.node.ndarray()) {
            Some(Ok(array)) => {
                let datatype = shortened(&datatype_name(array.datatype()));
                format!("{datatype} {:?}", array.shape())
            }
            _ => shown(self.node),
        }
    }
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("type_name", &self.type_name)
            .field("tag", &self.tag)
            .field("pointers", &self.pointers)
            .finish_non_exhaustive()
    }
}

impl<'t> Search<'t> {
    /// Creates a search that finds all nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Restricts the search to nodes whose key, or index in a sequence, passes a test.
    #[must_use]
    pub fn key(mut self, test: impl Fn(&str) -> bool + 't) -> Self {
        self.key = Some(Box::new(test));
        self
    }

    /// Restricts the search to nodes with a matching value.
    #[must_use]
    pub fn value(mut self, wanted: ValueTest<'t>) -> Self {
        self.value = Some(wanted);
        self
    }

    /// Restricts the search to nodes of a certain type. The name can be
    ///
    /// - a Python type as printed by the asdf library, with or without the module: `int`, `float`,
    ///   `str`, `bool`, `NoneType`, `list`, `dict`, `NDArrayType` and so on,
    /// - a name used by this crate: `integer`, `string`, `boolean`, `null`, `sequence`, `mapping`,
    ///   `array` and so on,
    /// - a tag, which may be abbreviated to its last parts, with or without the version.
    ///
    /// In the name, `*` matches any characters, and `?` matches a single one.
    #[must_use]
    pub fn type_name(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        let modules = ["builtins.", "asdf.", "numpy.", "datetime."];
        let is_python = modules.iter().any(|module| name.starts_with(module));
        let last = name.rsplit('.').next().filter(|_| is_python);
        self.type_name = Some(last.unwrap_or(&name).to_owned());
        self
    }

    /// Restricts the search to nodes with a certain tag, which may be abbreviated to its last parts, with or
    /// without the version. In the tag, `*` matches any characters, and `?` matches a single one.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Restricts the search to nodes whose pointer, relative to the node where the search begins, matches a
    /// pattern.
    #[must_use]
    pub fn pointers(mut self, pattern: Pattern) -> Self {
        self.pointers = Some(pattern);
        self
    }

    fn takes(&self, node: Node<'_>, key: Option<&str>, progress: Option<Progress>) -> bool {
        let is_key = self.key.as_ref().is_none_or(|test| key.is_some_and(test));
        let is_pointer = |pattern: &Pattern| progress.is_some_and(|at| pattern.is_match(at));
        is_key
            && self.pointers.as_ref().is_none_or(is_pointer)
            && self.type_name.as_ref().is_none_or(|name| is_of_type(node, name))
            && self.tag.as_ref().is_none_or(|name| node.tag().is_some_and(|tag| is_tag(name, tag)))
            && self.value.as_ref().is_none_or(|wanted| wanted.is(node))
    }
}

impl<'a> Node<'a> {
    /// Searches this node and everything below it. Calls `found` with each matching node, until `found` returns
    /// `Break`. Nodes on higher levels are found first. The content of a collection is searched only once,
    /// regardless of the number of aliases to the collection.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the tree is too large, for example
    /// because of merge keys, or if the pointers to the matches are too long in total. Fails with
    /// [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if a key is a collection.
    pub fn search(
        self,
        search: &Search<'_>,
        found: &mut dyn FnMut(Match<'a>) -> ControlFlow<()>,
    ) -> Result<()> {
        let start = search.pointers.as_ref().map(Pattern::start);
        if search.takes(self, None, start)
            && found(Match { pointer: String::new(), node: self }).is_break()
        {
            return Ok(());
        }
        let mut walk = Walk::new(Order::Levels);
        walk.is_new(self.id());
        walk.open(children(self), start);
        let (mut visited, mut bytes) = (0_u64, 0_u64);
        while let Some((token, node)) = walk.next() {
            let key = token.to_text()?;
            visited += 1;
            binio::check_limit("nodes to search", search.max_visited, visited)?;
            let progress = search.pointers.as_ref().zip(walk.data().copied().flatten());
            let progress = progress.map(|(pattern, progress)| pattern.step(progress, &key));
            if search.takes(node, Some(&key), progress) {
                let pointer = walk.pointer()?;
                bytes += pointer.len() as u64;
                binio::check_limit("bytes of matching pointers", MAX_BYTES, bytes)?;
                if found(Match { pointer, node }).is_break() {
                    return Ok(());
                }
            }
            let is_collection = matches!(node.kind(), NodeKind::Sequence | NodeKind::Mapping);
            // Do not search the declaration or the elements of an array.
            if is_collection && !node.is_ndarray() && walk.is_new(node.id()) {
                walk.open(children(node), progress);
            }
        }
        Ok(())
    }
}

impl ValueTest<'_> {
    fn is(&self, node: Node<'_>) -> bool {
        match self {
            Self::Text(test) => {
                node.text().is_some_and(test)
                    || scalar_json(node)
                        .is_some_and(|json| !json.is_string() && test(&json.to_string()))
            }
            Self::Equal(json) => is_equal(node, json),
            Self::Compare(relation, number) => {
                order(node, number).is_some_and(|found| relation.holds(found))
            }
        }
    }
}

/// Returns `true` if a node is equal to a JSON value. The recursion is no deeper than the JSON value.
fn is_equal(node: Node<'_>, json: &Json) -> bool {
    if node.is_ndarray() {
        return false;
    }
    match json {
        Json::Array(items) => {
            node.kind() == NodeKind::Sequence
                && node.len() == items.len()
                && node.items().zip(items).all(|(item, json)| is_equal(item, json))
        }
        Json::Object(members) => {
            let is_equal_to = |(key, json): (&String, &Json)| {
                node.get(key).is_some_and(|value| is_equal(value, json))
            };
            node.kind() == NodeKind::Mapping
                && node.len() == members.len()
                && members.iter().all(is_equal_to)
        }
        Json::Number(number) => order(node, number) == Some(Ordering::Equal),
        _ => scalar_json(node).as_ref() == Some(json),
    }
}

/// Compares the number in a node with another number. Two integers of up to 128 bits are compared
/// exactly, any other numbers as floats. Returns `None` if the node is not a number, or if one of
/// the numbers is NaN.
fn order(node: Node<'_>, number: &Number) -> Option<Ordering> {
    match number.as_i128().zip(node.as_i128()) {
        Some((number, found)) => Some(found.cmp(&number)),
        None => node.as_f64()?.partial_cmp(&number.as_f64()?),
    }
}

/// Returns the JSON form of a null, boolean, finite number or string, or `None` for any other node.
/// Integers outside the range of `i64` are converted to floats.
fn scalar_json(node: Node<'_>) -> Option<Json> {
    Some(match node.value().ok()? {
        Content::Null => Json::Null,
        Content::Bool(value) => value.into(),
        Content::Float(value) => Number::from_f64(value)?.into(),
        Content::Int(_) => match node.as_i64() {
            Some(value) => value.into(),
            None => Number::from_f64(node.as_f64()?)?.into(),
        },
        Content::String(text) => text.into(),
        _ => return None,
    })
}

/// Returns `true` if a name, which may contain wildcards, denotes the type of a node.
fn is_of_type(node: Node<'_>, name: &str) -> bool {
    let of_tag = node.core_name();
    let names: &[&str] = match (of_tag, node.kind()) {
        (Some("ndarray"), _) => &["array", "NDArrayType", "ndarray"],
        (Some("complex"), _) => &["complex"],
        (Some("integer"), _) => &["integer", "IntegerType"],
        (_, NodeKind::Null) => &["null", "NoneType"],
        (_, NodeKind::Bool) => &["boolean", "bool"],
        (_, NodeKind::Int) => &["integer", "int"],
        (_, NodeKind::Float) => &["float"],
        (_, NodeKind::String) => &["string", "str"],
        (_, NodeKind::Date | NodeKind::DateTime) => &["timestamp", "date", "datetime"],
        (_, NodeKind::Binary) => &["binary", "bytes"],
        (_, NodeKind::Sequence) => &["sequence", "list"],
        (_, NodeKind::Mapping) => &["mapping", "dict"],
    };
    let class: &[&str] = match of_tag {
        Some("asdf") => &["AsdfObject"],
        Some("software") => &["Software"],
        Some("history_entry") => &["HistoryEntry"],
        Some("extension_metadata") => &["ExtensionMetadata"],
        _ => &[],
    };
    names.iter().chain(class).any(|of| glob(name, of, Wildcards::Text))
        || node.tag().is_some_and(|tag| is_tag(name, tag))
}

/// Returns `true` if a name, which may contain wildcards, matches a tag or its last parts, with or without the
/// version.
fn is_tag(name: &str, tag: &str) -> bool {
    let unversioned = tag.rsplit_once('-').map(|(tag, _)| tag);
    [Some(tag), unversioned].into_iter().flatten().any(|tag| {
        let starts = tag.match_indices(['/', ':']).map(|(at, _)| at + 1);
        std::iter::once(0).chain(starts).any(|start| glob(name, &tag[start..], Wildcards::Text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Asdf, ErrorKind};

    const TREE: &str = "\
a: &shared {x: 1, y: 'x1'}
b: *shared
c: [1.0, true, null, 1e3, 2000-01-01]
d: !core/ndarray-1.1.0 [1, 2]
e: !<tag:stsci.edu:gwcs/wcs-1.2.0> {name: me, steps: []}
f: !core/complex-1.0.0 1+2j
7: seven
";

    fn file(tree: &str) -> Asdf {
        let head = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
        Asdf::from_bytes(format!("{head}{tree}...\n").into_bytes()).unwrap()
    }

    fn found(search: &Search<'_>) -> Vec<String> {
        let file = file(TREE);
        let mut pointers = Vec::new();
        let searched = file.tree().unwrap().search(search, &mut |one| {
            pointers.push(one.pointer);
            ControlFlow::Continue(())
        });
        searched.unwrap();
        pointers
    }

    #[test]
    fn a_search_by_key_tests_keys_and_indices() {
        assert_eq!(found(&Search::new().key(|key| key == "x")), ["/a/x"]);
        assert_eq!(found(&Search::new().key(|key| key == "b")), ["/b"], "an alias");
        assert_eq!(found(&Search::new().key(|key| key == "1")), ["/c/1"]);
        assert_eq!(found(&Search::new().key(|key| key == "7")), ["/7"]);
    }

    #[test]
    fn a_search_by_value_compares_values_or_tests_their_text() {
        let equal = |json: &str| {
            let json = serde_json::from_str(json).unwrap();
            found(&Search::new().value(ValueTest::Equal(json)))
        };
        assert_eq!(equal("1"), ["/a/x", "/c/0"]);
        assert_eq!(equal("1000.0"), [""; 0], "1e3 is a string in YAML 1.1");
        assert_eq!(equal("\"1e3\""), ["/c/3"]);
        assert_eq!(equal("true"), ["/c/1"]);
        assert_eq!(equal("null"), ["/c/2"]);
        assert_eq!(equal("[1, 2]"), [""; 0], "an array is not a list");
        assert_eq!(equal("[]"), ["/e/steps"]);
        assert_eq!(equal(r#"{"y": "x1", "x": 1}"#), ["/a", "/b"]);
        let text = |part: &'static str| {
            found(&Search::new().value(ValueTest::Text(Box::new(move |text| text.contains(part)))))
        };
        assert_eq!(text("x1"), ["/a/y"]);
        assert_eq!(text("1."), ["/c/0"]);
        assert_eq!(text("tru"), ["/c/1"]);
    }

    #[test]
    fn a_search_for_null_does_not_find_nan_or_infinity() {
        let file = file("{a: .nan, b: .inf, c: null}\n");
        let mut pointers = Vec::new();
        let search = Search::new().value(ValueTest::Equal(Json::Null));
        let searched = file.tree().unwrap().search(&search, &mut |one| {
            pointers.push(one.pointer);
            ControlFlow::Continue(())
        });
        searched.unwrap();
        assert_eq!(pointers, ["/c"]);
    }

    #[test]
    fn a_search_by_relation_finds_the_numbers_that_satisfy_it() {
        let file = file("{a: 100, b: 100.5, c: -1e-3, d: '200', e: 9007199254740993, f: .nan}\n");
        let related = |relation, number: &str| {
            let number = serde_json::from_str(number).unwrap();
            let search = Search::new().value(ValueTest::Compare(relation, number));
            let mut pointers = String::new();
            let searched = file.tree().unwrap().search(&search, &mut |one| {
                pointers += &one.pointer;
                ControlFlow::Continue(())
            });
            searched.unwrap();
            pointers
        };
        assert_eq!(related(Relation::Greater, "100"), "/b/e");
        assert_eq!(related(Relation::AtLeast, "100"), "/a/b/e");
        assert_eq!(related(Relation::Less, "0"), "", "1e-3 without a dot is a string in YAML 1.1");
        assert_eq!(related(Relation::AtMost, "100.5"), "/a/b");
        assert_eq!(related(Relation::Greater, "9007199254740992"), "/e", "integers are exact");
    }

    #[test]
    fn a_search_by_tag_matches_the_whole_tag_or_its_last_parts() {
        let of = |name: &str| found(&Search::new().tag(name));
        for name in ["wcs", "wcs-1.2.0", "gwcs/*", "tag:stsci.edu:gwcs/wcs-1.2.0"] {
            assert_eq!(of(name), ["/e"], "{name}");
        }
        assert_eq!(of("dict"), [""; 0], "no tag, but a type");
    }

    #[test]
    fn the_summary_of_a_match_is_its_abbreviated_value() {
        let file = file(TREE);
        let mut lines = Vec::new();
        let search = Search::new().pointers(Pattern::parse("/*").unwrap());
        let searched = file.tree().unwrap().search(&search, &mut |one| {
            lines.push(format!("{} {}", one.pointer, one.summary()));
            ControlFlow::Continue(())
        });
        searched.unwrap();
        assert_eq!(
            lines,
            [
                "/a {..} (2 keys)",
                "/b {..} (2 keys)",
                "/c [..] (5 items)",
                "/d int64 [2]",
                "/e {..} (2 keys)",
                "/f \"1+2j\"",
                "/7 \"seven\"",
            ]
        );
    }

    #[test]
    fn a_search_by_type_accepts_python_names_and_crate_names_and_tags() {
        let of = |name: &str| found(&Search::new().type_name(name));
        for name in ["int", "integer", "builtins.int"] {
            assert_eq!(of(name), ["/a/x"], "{name}");
        }
        for name in [
            "array",
            "ndarray",
            "NDArrayType",
            "numpy.ndarray",
            "asdf.tags.core.ndarray.NDArrayType",
        ] {
            assert_eq!(of(name), ["/d"], "{name}");
        }
        for name in ["wcs", "wcs-1.2.0", "gwcs/wcs", "tag:stsci.edu:gwcs/wcs-1.2.0", "tag:*gwcs/*"]
        {
            assert_eq!(of(name), ["/e"], "{name}");
        }
        assert_eq!(of("dict"), ["", "/a", "/b", "/e"]);
        assert_eq!(of("AsdfObject"), [""]);
        assert_eq!(of("list"), ["/c", "/e/steps"]);
        assert_eq!(of("NoneType"), ["/c/2"]);
        assert_eq!(of("complex"), ["/f"]);
        assert_eq!(of("nothing"), [""; 0]);
    }

    #[test]
    fn a_search_by_pattern_finds_nodes_with_matching_pointers() {
        let of = |pattern| found(&Search::new().pointers(Pattern::parse(pattern).unwrap()));
        assert_eq!(of("/*/x"), ["/a/x"]);
        assert_eq!(of("/c/?"), ["/c/0", "/c/1", "/c/2", "/c/3", "/c/4"]);
        assert_eq!(found(&Search::new().key(|key| key == "0").type_name("float")), ["/c/0"]);
    }

    #[test]
    fn a_search_enters_a_cycle_only_once_and_limits_the_expansion_of_merge_keys() {
        let circle = file("a: &a {b: *a, c: 1}\n");
        let mut pointers = Vec::new();
        let search = Search::new().key(|_| true);
        let searched = circle.tree().unwrap().search(&search, &mut |one| {
            pointers.push(one.pointer);
            ControlFlow::Continue(())
        });
        searched.unwrap();
        assert_eq!(pointers, ["/a", "/a/b", "/a/c"]);

        let keys: Vec<String> = (0..100).map(|n| format!("k{n}: 1")).collect();
        let uses = "- {<<: *b}\n".repeat(100);
        let bomb = file(&format!("b: &b {{{}}}\nuses:\n{uses}", keys.join(", ")));
        let none = Search { max_visited: 10_000, ..Search::new().type_name("nothing") };
        let error = bomb.tree().unwrap().search(&none, &mut |_| ControlFlow::Continue(()));
        let error = error.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    }

    #[test]
    fn a_search_limits_the_total_length_of_pointers() {
        let key = "k".repeat(1000);
        let levels = (0..900).map(|level| " ".repeat(level) + &key + ":\n").collect::<String>();
        let last = format!("{}x: [{}]\n", " ".repeat(900), "1, ".repeat(1000));
        let file = file(&(levels + &last));
        let search = Search::new().key(|_| true);
        let error = file.tree().unwrap().search(&search, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(error.unwrap_err().kind(), ErrorKind::Limit { .. }));
    }
}
