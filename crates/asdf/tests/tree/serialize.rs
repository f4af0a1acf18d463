//! Serializing Rust values to a tree, and deserializing them again.

use std::collections::BTreeMap;

use asdf::Value;
use asdf::value::{from_value, to_value};
use asdf::{ErrorKind, Tree};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[track_caller]
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let made = to_value(value).unwrap();
    let read: T = from_value(&made).unwrap();
    assert_eq!(&read, value);
}

fn yaml(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    let mut tree = Tree::default();
    tree.set("/v", to_value(value).unwrap()).unwrap();
    tree.write_yaml(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let text = text.split_once("---\n").unwrap().1;
    text.trim_end_matches("...\n").to_owned()
}

#[test]
fn numbers_of_any_size_are_restored_after_serialization() {
    round_trip(&(i8::MIN, i16::MIN, i32::MIN, i64::MIN, i128::MIN));
    round_trip(&(u8::MAX, u16::MAX, u32::MAX, u64::MAX, i128::MAX));
    round_trip(&(0.1_f32, f32::MAX, -0.0_f64, 5e-324_f64, f64::MAX));
    round_trip(&(f64::INFINITY, f64::NEG_INFINITY, true, false));
    let nan: f64 = from_value(&to_value(&f64::NAN).unwrap()).unwrap();
    assert!(nan.is_nan());
}

#[test]
fn strings_of_any_content_are_restored_after_serialization() {
    for text in ["", "yes", "~", "1e3", "012", "2001-12-14", "a: b", "- a", "\n", "é\u{2028}", "\0"]
    {
        round_trip(&text.to_owned());
    }
    round_trip(&'x');
    round_trip(&' ');
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Unit;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct New(Vec<u8>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(i32, String);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Choice {
    Nothing,
    One(f64),
    Two(i32, bool),
    Named { x: Option<i32>, y: Vec<Choice> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct All {
    unit: Unit,
    none: Option<i32>,
    some: Option<i32>,
    new: New,
    pair: Pair,
    choices: Vec<Choice>,
    map: BTreeMap<String, Vec<i32>>,
    by_number: BTreeMap<i64, char>,
    empty: (Vec<i32>, BTreeMap<String, i32>),
}

fn all() -> All {
    All {
        unit: Unit,
        none: None,
        some: Some(1),
        new: New(vec![1, 2]),
        pair: Pair(-1, "no".into()),
        choices: vec![
            Choice::Nothing,
            Choice::One(2.5),
            Choice::Two(3, true),
            Choice::Named { x: None, y: vec![Choice::Nothing] },
        ],
        map: [("b".into(), vec![1]), ("true".into(), vec![])].into(),
        by_number: [(-5, 'a'), (7, '\'')].into(),
        empty: (vec![], BTreeMap::new()),
    }
}

#[test]
fn structs_and_enums_and_maps_are_restored_after_serialization() {
    round_trip(&all());
}

#[test]
fn fields_keep_their_order_and_enum_variants_keep_their_names_when_serialized() {
    let text = yaml(&all());
    let expected = "v:\n  unit: null\n  none: null\n  some: 1\n  new: [1, 2]\n  pair: [-1, 'no']\n  \
        choices:\n  - Nothing\n  - {One: 2.5}\n  - Two: [3, true]\n  - Named:\n      x: null\n      \
        y: [Nothing]\n  map:\n    b: [1]\n    'true': []\n  by_number: {-5: a, 7: ''''}\n";
    assert!(text.starts_with(expected), "{text}");
}

struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

#[test]
fn bytes_become_binary_values_and_128_bit_integers_keep_all_their_digits() {
    let value = to_value(&Bytes(vec![0, 255])).unwrap();
    assert_eq!(value, Value::Binary(vec![0, 255]));
    assert_eq!(from_value::<Vec<u8>>(&value).unwrap(), [0, 255]);
    assert_eq!(to_value(&u128::MAX).unwrap(), {
        let digits = u128::MAX.to_string().into();
        Value::Int(asdf::yaml::Integer::Large { negative: false, digits })
    });
}

#[derive(Serialize)]
struct Deep(Vec<Deep>);

#[test]
fn unsupported_values_cannot_be_serialized_and_unsuitable_values_cannot_be_deserialized() {
    let keys: BTreeMap<Vec<i32>, i32> = [(vec![1], 1)].into();
    let error = to_value(&keys).unwrap_err();
    assert_eq!(error.to_string(), "a key is a collection; only scalars can be keys");
    let mut deep = Deep(Vec::new());
    for _ in 0..200 {
        deep = Deep(vec![deep]);
    }
    assert!(matches!(to_value(&deep).unwrap_err().kind(), ErrorKind::Limit { .. }));
    assert!(from_value::<i32>(&"text".into()).is_err());
    assert!(from_value::<u8>(&256.into()).is_err());
}

#[test]
fn trees_with_shared_nodes_can_be_deserialized() {
    let mut tree = Tree::default();
    let shared = tree.share(vec![1, 2]);
    tree.set("/a", shared).unwrap();
    tree.set("/b", shared).unwrap();
    let read: BTreeMap<String, Vec<i32>> = tree.deserialize().unwrap();
    assert_eq!(read, [("a".into(), vec![1, 2]), ("b".into(), vec![1, 2])].into());
}
