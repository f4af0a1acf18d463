//! Deserializing nodes to Rust types.
#![allow(clippy::items_after_statements, reason = "types are declared next to their use")]
#![allow(clippy::zero_sized_map_values, reason = "a set is deserialized as a map with `()` values")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use asdf::tree::deserialize::DeserializeLimits;
use asdf::yaml::Document;
use asdf::{Asdf, Error, ErrorKind};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use crate::{parse, parse_reported};

fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    parse_reported(text).0.root().deserialize()
}

/// Returns the message of the error, with its line and column.
fn error<T: DeserializeOwned>(text: &str) -> (String, u32, u32) {
    let Err(error) = read::<T>(text) else { panic!("{text} has a value") };
    place(&error)
}

fn place(error: &Error) -> (String, u32, u32) {
    let ErrorKind::Yaml { line, column, .. } = error.kind() else {
        panic!("another error: {error}");
    };
    assert!(error.offset().is_some() && error.is_bad_data());
    (error.kind().to_string(), *line, *column)
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Detector {
    name: String,
    #[serde(default)]
    gain: Option<f32>,
    pixels: (u16, u16),
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Unit,
    On,
    Circle(f64),
    Box(f64, f64),
    Polygon { points: Vec<(f64, f64)> },
}

#[test]
fn structs_and_options_and_tuples_are_deserialized() {
    let text = "- {name: a, gain: 2, pixels: [1, 2]}\n- {name: b, pixels: [3, 4], gain: ~}\n\
                - [c, 0.5, [5, 6]]\n";
    let detector = |name: &str, gain, pixels| Detector { name: name.to_owned(), gain, pixels };
    assert_eq!(
        read::<Vec<Detector>>(text).unwrap(),
        [
            detector("a", Some(2.0), (1, 2)),
            detector("b", None, (3, 4)),
            detector("c", Some(0.5), (5, 6))
        ]
    );
    #[derive(Debug, Deserialize, PartialEq)]
    struct Unit;
    #[derive(Debug, Deserialize, PartialEq)]
    struct Meters(f64);
    let value: (Unit, (), Meters, char, bool) = read("[~, null, 1.5, é, yes]").unwrap();
    assert_eq!(value, (Unit, (), Meters(1.5), 'é', true));
}

#[test]
fn a_deserialization_error_has_the_pointer_and_the_position_of_the_node() {
    let text = "d:\n  name: a\n  pixels: [1, 70000]\n";
    type Map = HashMap<String, Detector>;
    let want = "/d/pixels/1: invalid value: integer `70000`, expected u16";
    assert_eq!(error::<Map>(text), (want.to_owned(), 3, 15));
    let want = "/d: missing field `pixels`";
    assert_eq!(error::<Map>("d:\n  name: a\n"), (want.to_owned(), 2, 3));
    let want = "/d/gian: unknown field `gian`, expected one of `name`, `gain`, `pixels`";
    assert_eq!(error::<Map>("d: {name: a,\n  gian: 1}"), (want.to_owned(), 2, 3));
    let want = "/d/name: invalid type: integer `5`, expected a string";
    assert_eq!(error::<Map>("d: {name: 5}"), (want.to_owned(), 1, 11));
    let want = "/d/pixels: invalid length 3, expected fewer items";
    assert_eq!(error::<Map>("d: {name: a, pixels: [1, 2, 3]}"), (want.to_owned(), 1, 22));
    let want = "the root of the tree: invalid type: sequence, expected a map";
    assert_eq!(error::<Map>("[]"), (want.to_owned(), 1, 1));
    let want = "/0: `x` does not fit the tag `tag:yaml.org,2002:int`";
    assert_eq!(error::<Vec<i32>>("[!!int x]"), (want.to_owned(), 1, 8));
    let long = error::<u8>(&"x".repeat(100_000)).0;
    assert!(long.len() < 400 && long.ends_with(".."), "{long}");
}

#[test]
fn an_error_about_a_key_has_the_pointer_of_its_entry() {
    let want = "/b: invalid type: string \"b\", expected i32";
    let numbers = error::<HashMap<i32, i32>>("1: 2\nb: 3\n");
    assert_eq!(numbers, (want.to_owned(), 2, 1));
    let (message, line, column) = error::<HashMap<String, i32>>("1: 2\n[x]: 3\n");
    assert_eq!(
        (message.as_str(), line, column),
        ("line 2, column 1: a sequence cannot be a key", 2, 1)
    );
}

#[test]
fn an_error_below_an_alias_has_the_pointer_of_the_anchored_node() {
    let text = "a: &a {name: x, pixels: [1, x]}\nb: *a\n";
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is never constructed")]
    struct Root {
        b: Detector,
    }
    let want = "/a/pixels/1: invalid type: string \"x\", expected u16";
    assert_eq!(error::<Root>(text).0, want);
}

#[test]
fn externally_tagged_and_internally_tagged_and_untagged_enums_are_deserialized() {
    let text = "- unit\n- on\n- 'unit'\n- unit: ~\n- circle: 1\n- box: [1, 2]\n\
                - polygon: {points: [[0, 1], [2, 3]]}\n";
    assert_eq!(
        read::<Vec<Shape>>(text).unwrap(),
        [
            Shape::Unit,
            Shape::On,
            Shape::Unit,
            Shape::Unit,
            Shape::Circle(1.0),
            Shape::Box(1.0, 2.0),
            Shape::Polygon { points: vec![(0.0, 1.0), (2.0, 3.0)] },
        ]
    );
    for (text, want) in [
        (
            "round",
            "the root of the tree: unknown variant `round`, expected one of `unit`, `on`, `circle`, `box`, `polygon`",
        ),
        ("circle", "the root of the tree: invalid type: unit variant, expected newtype variant"),
        (
            "{circle: 1, box: 2}",
            "the root of the tree: expected a mapping with one entry, found 2 entries",
        ),
        ("{}", "the root of the tree: expected a mapping with one entry, found 0 entries"),
        ("[circle]", "the root of the tree: invalid type: sequence, expected a variant of an enum"),
        ("{unit: 1}", "/unit: invalid type: integer `1`, expected unit"),
        ("{box: [1]}", "/box: invalid length 1, expected tuple variant Shape::Box with 2 elements"),
    ] {
        assert_eq!(error::<Shape>(text).0, want);
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(tag = "kind")]
    enum Internal {
        A { x: i64 },
    }
    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(untagged)]
    enum Untagged {
        Number(f64),
        Text(String),
    }
    assert_eq!(read::<Internal>("{kind: A, x: 5}").unwrap(), Internal::A { x: 5 });
    assert_eq!(
        read::<Vec<Untagged>>("[1.5, x]").unwrap(),
        [Untagged::Number(1.5), Untagged::Text("x".to_owned())]
    );
    assert_eq!(read::<HashMap<Shape, i32>>("{unit: 1}").unwrap()[&Shape::Unit], 1);
}

impl std::hash::Hash for Shape {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
    }
}

impl Eq for Shape {}

#[test]
fn integers_of_any_size_are_deserialized() {
    let (i, u) = (i128::MIN.to_string(), u128::MAX.to_string());
    assert_eq!(read::<i128>(&i).unwrap(), i128::MIN);
    assert_eq!(read::<u128>(&u).unwrap(), u128::MAX);
    assert_eq!(read::<u64>("0xffff_ffff_ffff_ffff").unwrap(), u64::MAX);
    assert_eq!(read::<i8>("-0b111").unwrap(), -7);
    assert_eq!(read::<f64>(&u).unwrap().to_bits(), 2f64.powi(128).to_bits());
    let large = format!("{u}0");
    assert_eq!(read::<String>(&large).unwrap(), large);
    assert_eq!(read::<Value>(&large).unwrap(), json!(large));
    assert!((read::<f64>(&large).unwrap() / 3.402_823_669_209_385e39 - 1.0).abs() < 1e-15);
    let want = "the root of the tree: the integer has 40 digits and does not fit into 128 bits";
    assert_eq!(error::<u128>(&large).0, want);
    let want = "the root of the tree: invalid value: integer `300`, expected u8";
    assert_eq!(error::<u8>("300").0, want);
}

#[test]
fn floats_and_dates_and_binary_data_are_deserialized() {
    assert!(read::<f64>(".nan").unwrap().is_nan());
    assert_eq!(read::<Vec<f32>>("[.inf, 1, 1:30.5]").unwrap(), [f32::INFINITY, 1.0, 90.5]);
    // The reference implementation reads `1e3` as a string.
    assert!(read::<f64>("1e3").is_err());
    let dates = read::<Vec<String>>("[2001-12-14, 2001-12-14t21:59:43.1-05:00]").unwrap();
    assert_eq!(dates, ["2001-12-14", "2001-12-14T21:59:43.100000-05:00"]);
    assert_eq!(read::<Vec<u8>>("!!binary SGVsbG8=").unwrap(), b"Hello");
    let document = parse("text");
    assert_eq!(document.root().deserialize::<&str>().unwrap(), "text");
    assert_eq!(document.root().deserialize::<&[u8]>().unwrap(), b"text");

    struct Bytes(Vec<u8>);
    impl<'de> Deserialize<'de> for Bytes {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl serde::de::Visitor<'_> for Visitor {
                type Value = Bytes;
                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("bytes")
                }
                fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                    Ok(Bytes(bytes))
                }
            }
            deserializer.deserialize_byte_buf(Visitor)
        }
    }
    assert_eq!(read::<Bytes>("!!binary SGVsbG8=").unwrap().0, b"Hello");
    assert!(error::<Bytes>("[1]").0.contains("expected bytes"));
}

#[test]
fn sets_and_pairs_and_mappings_and_merge_keys_are_deserialized() {
    let map = read::<BTreeMap<String, i32>>("{7: 1, yes: 2, ~: 3, 1.50: 4}").unwrap();
    assert_eq!(map.keys().collect::<Vec<_>>(), ["1.50", "7", "null", "true"]);
    assert_eq!(read::<HashMap<i64, i32>>("{0x7: 1}").unwrap(), HashMap::from([(7, 1)]));
    assert_eq!(read::<HashMap<bool, i32>>("{on: 1}").unwrap(), HashMap::from([(true, 1)]));
    assert_eq!(
        read::<HashMap<Option<String>, i32>>("{~: 1, a: 2}").unwrap(),
        HashMap::from([(None, 1), (Some("a".to_owned()), 2)])
    );
    let merged = read::<BTreeMap<String, i32>>("{<<: {a: 1, b: 2}, b: 3}").unwrap();
    assert_eq!(merged.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 1), ("b".to_owned(), 3)]);

    assert_eq!(read::<Vec<String>>("!!set {b, a}").unwrap(), ["b", "a"]);
    assert_eq!(read::<BTreeMap<String, ()>>("!!set {b, a}").unwrap().len(), 2);
    let pairs = "!!omap [b: 1, a: 2]";
    let list = [("b".to_owned(), 1), ("a".to_owned(), 2)];
    assert_eq!(read::<Vec<(String, i32)>>(pairs).unwrap(), list);
    assert_eq!(read::<BTreeMap<String, i32>>(pairs).unwrap(), list.into_iter().collect());
    assert_eq!(read::<Value>("!!pairs [a: 1, a: 2]").unwrap(), json!([["a", 1], ["a", 2]]));
    let want = "/0: expected a mapping with one entry, found 2 entries";
    assert_eq!(error::<Value>("!!pairs [{a: 1, b: 2}]").0, want);
    assert_eq!(
        error::<BTreeMap<String, i32>>("!!omap [x]").0,
        "/0: expected a mapping with one entry, found a scalar"
    );
}

#[test]
fn deserializing_to_a_json_value_produces_the_json_form_of_the_tree() {
    let text = "a: [1, -2, 1.5, x, ~, true, {b: [], c: {}}]\nd: &d 2001-12-14\ne: *d\n7: !t y\n";
    let value: Value = read(text).unwrap();
    let json: Value = serde_json::from_str(&crate::to_json(text)).unwrap();
    assert_eq!(value, json);
}

#[test]
fn deserializing_a_cyclic_node_is_an_error_unless_the_node_is_ignored() {
    let text = "a: &a {next: *a, x: 1}\n";
    assert_eq!(error::<Value>(text), ("/a: the node contains itself".to_owned(), 1, 7));
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it is never constructed")]
    enum Chain {
        Next(Box<Chain>),
    }
    assert_eq!(error::<Chain>("&a {Next: *a}").0, "the root of the tree: the node contains itself");
    #[derive(Deserialize)]
    struct Partial {
        x: i32,
    }
    assert_eq!(read::<HashMap<String, Partial>>(text).unwrap()["a"].x, 1);
    read::<IgnoredAny>(text).unwrap();
}

#[test]
fn deserializing_too_deeply_nested_nodes_is_an_error() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(read::<Value>(&nested(128)).is_ok());
    let (message, line, column) = error::<Value>(&nested(129));
    assert!(message.ends_with(": the node is nested more than 128 levels deep"), "{message}");
    assert_eq!((line, column), (1, 129));
    let document = parse("[[[]]]");
    let limits = DeserializeLimits::default().max_depth(2);
    let error = document.root().deserialize_with::<Value>(&limits).unwrap_err();
    assert_eq!(
        place(&error),
        ("/0/0: the node is nested more than 2 levels deep".to_owned(), 1, 3)
    );
}

fn bomb(leaf: &str, levels: usize) -> Document {
    let mut text = format!("- &a0 [{leaf}]\n");
    for level in 1..levels {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        let _ = writeln!(text, "- &a{level} [{below}]");
    }
    parse(text)
}

#[test]
fn deserializing_aliases_that_expand_too_much_is_an_error() {
    let nodes = bomb("x", 10);
    let error = nodes.root().deserialize::<Value>().unwrap_err();
    let (message, line, _) = place(&error);
    assert!(message.contains("aliases and merge keys expand to more than 1000"), "{message}");
    assert_eq!(line, 1);
    let bytes = bomb(&"x".repeat(1 << 20), 3);
    let error = bytes.root().deserialize::<Value>().unwrap_err();
    assert!(place(&error).0.contains("bytes of text"), "{error}");
    let limits = DeserializeLimits::default().max_expanded_bytes(1 << 30);
    assert!(bytes.root().deserialize_with::<Value>(&limits).is_ok());
    // Merged entries count once for each alias.
    let wide: String = (0..1000).map(|n| format!("k{n}: 1, ")).collect();
    let text = format!("- &m {{<<: &w {{{wide}}}}}\n- [{}]\n", "*m, ".repeat(5000));
    let document = parse(text);
    let limits = DeserializeLimits::default().max_expanded(100);
    let error = document.root().deserialize_with::<Value>(&limits).unwrap_err();
    assert!(place(&error).0.contains("expand to more than"), "{error}");
}

#[test]
fn merged_entries_count_towards_the_limit_on_expansion_even_if_other_keys_are_duplicates() {
    let wide: String = (0..1000).map(|n| format!("k{n}, ")).collect();
    for duplicates in ["x, ".repeat(2000), String::new()] {
        let set = format!("- &s !!set {{<<: &w {{{wide}}}, {duplicates}}}\n");
        let text = format!("{set}- [{}]\n", "*s, ".repeat(500));
        let document = parse_reported(text).0;
        let uses = document.root().at(1).unwrap();
        let limits = DeserializeLimits::default().max_expanded(0);
        let error = uses.deserialize_with::<Vec<Vec<IgnoredAny>>>(&limits).unwrap_err();
        assert!(place(&error).0.contains("expand to more than"), "{error}");
        let limits = limits.max_expanded(500_501);
        uses.deserialize_with::<Vec<Vec<IgnoredAny>>>(&limits).unwrap();
    }
}

#[test]
fn only_aliases_and_merge_keys_count_towards_the_limit_on_expansion() {
    let limits = DeserializeLimits::default().max_expanded(0).max_expanded_bytes(0);
    let plain = parse("a: {b: [1, {c: d}], 2: !!set {e, f}}\ng: !!omap [{h: i}]\n");
    plain.root().deserialize_with::<Value>(&limits).unwrap();
    for text in ["a: &a [1]\nb: *a\n", "a: &a {b: 1, c: 2}\nd: {<<: *a}\n"] {
        let document = parse(text);
        let error = document.root().deserialize_with::<Value>(&limits).unwrap_err();
        assert!(place(&error).0.contains("expand to more than"), "{text}: {error}");
    }
}

#[test]
fn arrays_and_integers_and_complex_numbers_of_a_file_are_deserialized() {
    let file = Asdf::from_bytes(
        &b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
        small: !core/integer-1.1.0 {words: [7], sign: '-'}\n\
        large: !core/integer-1.1.0 {words: [0, 0, 0, 0, 1], sign: +}\n\
        wave: !core/complex-1.0.0 (1-2j)\n\
        data: !core/ndarray-1.1.0 {data: [1, 2], datatype: int8}\n\
        plain: {a: [1]}\n...\n"[..],
    )
    .unwrap();
    let tree = file.tree().unwrap();
    let small = tree.get("small").unwrap();
    assert_eq!(small.deserialize::<i8>().unwrap(), -7);
    assert_eq!(small.deserialize::<f64>().unwrap().to_bits(), (-7f64).to_bits());
    assert_eq!(small.deserialize::<HashMap<String, Value>>().unwrap()["sign"], "-");
    let large = tree.get("large").unwrap();
    assert_eq!(large.deserialize::<String>().unwrap(), "340282366920938463463374607431768211456");
    assert!(large.deserialize::<u128>().is_err());
    let wave = tree.get("wave").unwrap();
    assert_eq!(wave.deserialize::<(f64, f64)>().unwrap(), (1.0, -2.0));
    assert_eq!(wave.deserialize::<String>().unwrap(), "(1-2j)");
    let data = tree.get("data").unwrap().deserialize::<Value>().unwrap();
    assert_eq!(data, json!({"data": [1, 2], "datatype": "int8"}));
    let error = tree.get("plain").unwrap().deserialize::<HashMap<String, i32>>().unwrap_err();
    assert_eq!(error.kind().to_string(), "/plain/a: invalid type: sequence, expected i32");
    assert_eq!(place(&error).1, 9);
}
