//! Writing trees as text.

use std::io::Cursor;

use asdf::ndarray::Complex;
use asdf::tag::Version;
use asdf::value::{Array, Mapping, ScalarText, Sequence};
use asdf::yaml::{Date, DateTime, Document, Integer, ParseOptions};
use asdf::{Tree, Value, WriteOptions, Writer};

use crate::yaml;

/// Returns the text of a tree between `---` and `...`.
fn body(root: impl Into<Value>) -> String {
    let text = yaml(&Tree::new(root));
    let body = text.split_once("---").unwrap().1.strip_suffix("...\n").unwrap();
    body.trim_start_matches([' ', '\n']).to_owned()
}

/// Returns the text of a value in a block mapping.
fn of(value: impl Into<Value>) -> String {
    let text = body(Mapping::from_iter([("k", value.into()), ("l", Mapping::new().into())]));
    text.strip_prefix("k: ").unwrap().strip_suffix("l: {}\n").unwrap().to_owned()
}

fn again(value: &Value) -> Value {
    let text = yaml(&Tree::new(value.clone()));
    Tree::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}")).root().clone()
}

/// Strings that other readers might take for another type or for YAML syntax, and strings with
/// unusual characters.
pub(crate) const ODD_TEXTS: &[&str] = &[
    "yes",
    "No",
    "on",
    "true",
    "~",
    "null",
    "",
    "1e3",
    "012",
    "0o17",
    "0x1F",
    "1_000",
    "1:30",
    "2001-12-14",
    "2001-12-14 21:59:43",
    "2024-02-30",
    "=",
    "<<",
    ".inf",
    "- a",
    "a: b",
    "a #b",
    "'",
    "\"",
    "*a",
    "&a",
    "!a",
    "|",
    ">",
    "%a",
    "@a",
    "`a",
    "a\nb",
    "\n",
    "\n\n",
    "a\n",
    "\na",
    " a",
    "a ",
    "a \nb",
    "a\n b",
    "\t",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{2029}x",
    "\u{feff}",
    "😀",
    "\0",
    "\u{1b}",
    "é漢",
    "---",
    "...",
    "--- a",
    "... ",
    "a,b",
    "[x",
    "{",
    "?",
    "? a",
    ":",
    "a:",
    "#",
];

#[test]
fn strings_that_look_like_other_types_read_back_as_strings() {
    for &text in ODD_TEXTS {
        let string = Value::from(text);
        let root: Mapping = [(text, string.clone())].into_iter().collect();
        assert_eq!(again(&root.clone().into()), root.into(), "{text:?}");
        let list: Sequence = [text, "x", text].into_iter().collect();
        assert_eq!(again(&list.clone().into()), list.into(), "{text:?} in brackets");
        let nested: Value = vec![vec![string], vec![]].into();
        assert_eq!(again(&nested), nested, "{text:?} in lines");
    }
}

#[test]
fn special_line_breaks_and_characters_beyond_the_basic_plane_are_escaped() {
    assert_eq!(
        of("a\u{85}\u{2028}\u{2029}\u{feff}😀\u{1}"),
        "\"a\\N\\L\\P\\uFEFF\\U0001F600\\x01\"\n"
    );
    assert_eq!(of("tab\there"), "\"tab\\there\"\n");
}

#[test]
fn numbers_and_dates_are_written_in_the_notation_of_yaml_1_1() {
    let date = Date { year: 2026, month: 1, day: 2 };
    let time = DateTime {
        date,
        hour: 3,
        minute: 4,
        second: 5,
        microsecond: 60,
        offset_minutes: Some(-90),
    };
    for (value, text) in [
        (Value::from(1e20), "1.0e+20\n"),
        (1.0.into(), "1.0\n"),
        (f64::NAN.into(), ".nan\n"),
        (().into(), "null\n"),
        (true.into(), "true\n"),
        ((-5).into(), "-5\n"),
        (date.into(), "2026-01-02\n"),
        (time.into(), "2026-01-02 03:04:05.000060-01:30\n"),
        (Complex::new(-0.0, 1e16).into(), "!core/complex-1.0.0 (-0+1e+16j)\n"),
        (Value::Binary(b"hello".to_vec()), "!!binary |\n  aGVsbG8=\n"),
    ] {
        assert_eq!(of(value), text);
    }
    // Inside brackets, a date-time must be quoted because of its colons, and needs its tag because
    // of the quotes.
    let list: Sequence = [Value::from(time)].into_iter().collect();
    assert_eq!(body(list), "[!!timestamp '2026-01-02 03:04:05.000060-01:30']\n");
}

#[test]
fn collections_of_scalars_are_written_in_flow_style_and_other_collections_in_block_style() {
    let inner: Mapping = [("p", 1), ("q", 2)].into_iter().collect();
    let list: Value = vec![Value::from(inner), vec![1, 2].into(), Value::Null].into();
    let root: Mapping = [("empty", Mapping::new().into()), ("list", list)].into_iter().collect();
    assert_eq!(body(root), "empty: {}\nlist:\n- {p: 1, q: 2}\n- [1, 2]\n- null\n");
}

#[test]
fn long_lines_are_broken_where_libyaml_breaks_them() {
    let words = vec!["word"; 30].join(" ");
    let text = of(words.as_str());
    // PyYAML breaks at the first space after column 80. The key `k: ` has been removed from the
    // first line.
    assert_eq!(text.lines().next().unwrap().len(), 79, "{text}");
    let numbers: Value = (100_000..100_020).collect::<Vec<i32>>().into();
    let text = of(numbers.clone());
    assert!(text.lines().all(|line| line.len() < 90), "{text}");
    let root: Value = Mapping::from_iter([("k", numbers), ("w", words.as_str().into())]).into();
    assert_eq!(again(&root), root);
}

#[test]
fn long_and_multi_line_keys_are_read_back_unchanged() {
    for key in ["k".repeat(128), "k".repeat(129), "a b ".repeat(100), "a\nb".to_owned()] {
        let root: Mapping = [(key.as_str(), 1)].into_iter().collect();
        let nested: Value = vec![Value::from(root.clone()), root.into()].into();
        assert_eq!(again(&nested), nested, "{key}");
    }
}

/// Writes a file with the tree for version 1.`minor`.0 of the standard. Returns the error, if any.
fn error_of(tree: Tree, minor: u32) -> Option<String> {
    let options = WriteOptions::new().standard(Version::new(1, minor, 0));
    let result = Writer::new(tree).options(options).write_to(&mut Cursor::new(Vec::new()));
    result.err().map(|error| error.to_string())
}

#[test]
fn a_collection_key_is_rejected_in_every_version_of_the_standard() {
    let array = Array::from_slice(&[1_u8], &[1]).unwrap();
    for key in [Value::from(vec![1, 2]), Mapping::new().into(), array.into()] {
        let mut tree = Tree::default();
        let shared = tree.share(key.clone());
        for key in [key, shared.into()] {
            tree.set("/m", Mapping::from_iter([(key, 1)])).unwrap();
            for minor in 0..=6 {
                assert_eq!(
                    error_of(tree.clone(), minor).unwrap(),
                    "/m: a key is a collection, but keys must be scalars"
                );
            }
        }
    }
}

#[test]
fn version_1_6_0_of_the_standard_allows_only_strings_and_integers_and_booleans_as_keys() {
    for key in ["a", "7", "0x7", "yes", "'~'", "!!str 1.5"] {
        let tree = Tree::parse(&format!("m: {{{key}: 1}}")).unwrap();
        assert_eq!(error_of(tree, 6), None, "{key}");
    }
    for key in ["~", "null", "1.5", "1.50", "2001-01-01", "!!float 1", "!!binary aGk="] {
        for text in [format!("m: {{{key}: 1}}"), format!("m: {{k: &x {key}, *x : 1}}")] {
            let tree = Tree::parse(&text).unwrap();
            let expected = "/m: version 1.6.0 of the standard requires keys to be strings, integers \
                            or booleans";
            assert_eq!(error_of(tree.clone(), 6).as_deref(), Some(expected), "{text}");
            assert_eq!(error_of(tree, 5), None, "{text}");
        }
    }
}

#[test]
fn shared_nodes_get_anchors_in_the_order_of_their_first_use() {
    let mut tree = Tree::default();
    let one = tree.share(vec![1, 2]);
    let two = tree.share(Mapping::from_iter([("x", one)]));
    let alone = tree.share("once");
    for (key, value) in
        [("a", two.into()), ("b", one.into()), ("c", two.into()), ("d", Value::from(alone))]
    {
        tree.set(&format!("/{key}"), value).unwrap();
    }
    let text = yaml(&tree);
    assert!(
        text.ends_with("---\na: &id001\n  x: &id002 [1, 2]\nb: *id002\nc: *id001\nd: once\n...\n"),
        "{text}"
    );
    let again = Tree::parse(&text).unwrap();
    assert_eq!(yaml(&again), text);
    assert_eq!(again.pointer("/c/x/1"), Some(&Value::from(2)));
}

#[test]
fn a_cyclic_tree_reads_back_as_the_same_cycle() {
    let mut tree = Tree::default();
    let node = tree.share(Mapping::new());
    let mapping: Mapping =
        [("self", Value::from(node)), ("list", vec![node].into())].into_iter().collect();
    *tree.resolve_mut(node).unwrap() = mapping.into();
    tree.set("/a", node).unwrap();
    let text = yaml(&tree);
    assert!(text.ends_with("---\na: &id001\n  self: *id001\n  list:\n  - *id001\n...\n"), "{text}");
    assert_eq!(Tree::parse(&text).unwrap(), tree);
    // A shared node that refers only to itself is null.
    let mut tree = Tree::default();
    let node = tree.share(());
    *tree.resolve_mut(node).unwrap() = node.into();
    tree.set("/a", node).unwrap();
    assert_eq!(tree.pointer("/a"), Some(&Value::Null));
}

#[test]
fn a_tree_read_from_text_keeps_styles_and_tags_and_anchors_and_merge_keys() {
    let lines = "a: 0x1F\nb: ~\nc: 1.50\nd: \"x\"\ne: |\n  two\n  lines\nf: {p: [1, 2], q: 1:30}\ng:\n- 1\n- 2\n\
         base: &base {p: 1}\nuse:\n  <<: *base\n  q: 2\nbig: 99999999999999999999\nlocal: !<!x> y\n\
         other: !<tag:example.com,2026:t> {k: v}\nyes: no\n1: one\n";
    let text = format!("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{lines}...\n");
    assert_eq!(yaml(&Tree::parse(&text).unwrap()), text);
}

#[test]
fn scalars_that_are_invalid_in_plain_style_keep_their_text() {
    for text in ["a: b", "x\ny", "]", "'", "", "- 1", "a #b", "\u{0}"] {
        let root: Mapping =
            [("k", Value::ScalarText(ScalarText::plain(text)))].into_iter().collect();
        let nested: Value = vec![Value::from(root.clone()), root.into()].into();
        let read = again(&nested);
        let items = read.as_sequence().unwrap().items();
        assert_eq!(items.len(), 2, "{text:?}");
        let expected = if text.is_empty() { None } else { Some(text) };
        assert_eq!(items[1].as_mapping().unwrap().get("k").unwrap().as_str(), expected, "{text:?}");
    }
}

#[test]
fn core_tags_in_text_without_directives_are_asdf_tags() {
    let tree = Tree::parse("z: !core/complex-1.0.0 1+1j\nl: !mine 1\n").unwrap();
    assert_eq!(tree.pointer("/z").unwrap().tag(), Some("tag:stsci.edu:asdf/core/complex-1.0.0"));
    assert_eq!(tree.pointer("/l").unwrap().tag(), Some("!mine"));
}

#[test]
fn the_last_value_of_a_repeated_key_is_used() {
    let tree = Tree::parse("a: 1\nb: 2\na: 3\n").unwrap();
    let entries: Vec<_> = tree.root().as_mapping().unwrap().iter().collect();
    assert_eq!(entries, [(&"a".into(), &3.into()), (&"b".into(), &2.into())]);
}

#[test]
fn a_tree_within_the_depth_limit_reads_back_but_a_deeper_tree_is_rejected() {
    let text = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    // Nest block sequences on one line.
    let blocks = |depth: usize| "- ".repeat(depth) + "x";
    assert!(Tree::parse(&text(200)).is_ok());
    assert!(Tree::parse(&blocks(900)).is_ok());
    assert!(Tree::parse(&blocks(1001)).is_err());
    let deep = Tree::parse(&blocks(900)).unwrap();
    assert_eq!(Tree::parse(&yaml(&deep)).unwrap(), deep);
}

#[test]
fn values_can_be_set_by_json_pointer() {
    let mut tree = Tree::default();
    tree.set("/a/b~1c", 1).unwrap();
    tree.set("/list", vec![1, 2]).unwrap();
    tree.set("/list/-", 3).unwrap();
    tree.set("/list/0", "x").unwrap();
    assert_eq!(yaml(&tree).split("---\n").nth(1), Some("a: {b/c: 1}\nlist: [x, 2, 3]\n...\n"));
    for pointer in ["a", "/list/9", "/list/x", "/a/b~1c/d", "/~2"] {
        assert!(tree.set(pointer, 1).is_err(), "{pointer}");
    }
    assert_eq!(tree.pointer("/list/2"), Some(&Value::Int(Integer::Small(3))));
}

/// Returns YAML sources with a scalar in each style and context. Some of the sources may be
/// invalid.
fn styled(tag: &str, text: &str) -> Vec<String> {
    let lines = text.replace('\n', "\n  ");
    let mut styled = vec![
        format!("k: {tag}'{}'\n", text.replace('\'', "''").replace('\n', "\n\n  ")),
        format!("k: {tag}|-\n  {lines}\n"),
        format!("k: {tag}>-\n  {}\n", text.replace('\n', "\n\n  ")),
        format!("k: {tag}|+\n  {lines}\n\n"),
        format!("k: {tag}{lines}\n"),
    ];
    for form in ["k: ", "k:\n- ", "k: {first: 1, second: ", "k: [1, "] {
        let end = match form.chars().nth(3) {
            Some('{') => "}",
            Some('[') => "]",
            _ => "",
        };
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        styled.push(format!("{form}{tag}\"{escaped}\"{end}\n"));
        styled.push(format!("{form}{tag}{text}{end}\n"));
    }
    styled
}

#[test]
fn rewritten_scalars_of_every_style_and_tag_keep_their_kind_and_tag_and_value() {
    let values = [
        "5",
        "-1.5",
        "0x1F",
        "0b11",
        "1_000",
        "1:30",
        "1e3",
        "1.0e+3",
        ".inf",
        ".nan",
        "true",
        "no",
        "~",
        "null",
        "2018-03-23 14:45:51",
        "2018-03-23",
        "YWJj",
        "=",
        "<<",
        "a b",
        "two\nlines",
        "- x",
        "",
    ];
    let texts = values.into_iter().chain(ODD_TEXTS.iter().copied());
    let parse =
        |text: &str| Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new());
    let nodes = |document: &Document| -> Vec<_> {
        // In brackets, a date-time may be written with an explicit `!!timestamp` tag.
        let tag = |node: &asdf::yaml::YamlNode<'_>| {
            let tag = node.tag().filter(|tag| *tag != "tag:yaml.org,2002:timestamp");
            tag.map(str::to_owned)
        };
        document.nodes().map(|node| (node.kind(), tag(&node))).collect()
    };
    let mut written = 0;
    for text in texts {
        for tag in ["", "! ", "!!str ", "!!int ", "!!float ", "!!bool ", "!!null ", "!<x:y> "] {
            for source in styled(tag, text) {
                // Some strings are invalid in some styles.
                let Ok(first) = parse(&source) else { continue };
                let again = yaml(&Tree::from_node(first.root()).unwrap());
                let second = parse(&again).unwrap_or_else(|error| panic!("{error}: {again}"));
                assert_eq!(nodes(&first), nodes(&second), "{source}\n{again}");
                assert!(first.root() == second.root(), "{source}\n{again}");
                written += 1;
            }
        }
    }
    assert!(written > 2000, "{written}");
    let tree = Tree::parse("! \"5\"").unwrap();
    assert_eq!(tree.root().as_i64(), Some(5));
}

#[test]
fn a_quoted_date_with_a_lone_exclamation_mark_as_its_tag_keeps_the_tag_and_quotes() {
    let tree = Tree::parse("a: ! \"2018-03-23 14:45:51\"\nb: [! '5']\n").unwrap();
    let text = yaml(&tree);
    assert!(text.contains("a: ! \"2018-03-23 14:45:51\"\n"), "{text}");
    assert!(text.contains("! '5'"), "{text}");
}

#[test]
fn parsing_a_tree_with_content_after_the_document_is_an_error() {
    for text in ["5\n...\ny: 1", "5\n...\n--- 6", "5\n--- 6", "...\n5\n...\n6"] {
        assert!(Tree::parse(text).is_err(), "{text:?}");
    }
    for text in ["5\n...\n", "--- 5\n...\n# a comment\n\n", "5"] {
        assert_eq!(Tree::parse(text).unwrap().root().as_i64(), Some(5), "{text:?}");
    }
}
