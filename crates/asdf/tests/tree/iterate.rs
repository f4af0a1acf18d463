//! Iterating over nodes and elements.

use asdf::Asdf;

use crate::{parse, parse_reported};

fn file(content: &str) -> Asdf {
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
    Asdf::from_bytes(format!("{head}--- !core/asdf-1.1.0\n{content}...\n")).unwrap()
}

#[test]
fn items_and_entries_can_be_iterated_from_both_ends_and_counted() {
    let document = parse("list: [a, &b b, *b, c]\nmap: {<<: {x: 1, y: 2}, y: 3, z: 4}\n");
    let root = document.root();
    let mut items = root.get("list").unwrap().items();
    assert_eq!(items.len(), 4);
    assert_eq!(items.next_back().unwrap().text(), Some("c"));
    assert_eq!(items.next_back().unwrap().text(), Some("b"));
    assert_eq!(items.len(), 2);
    assert_eq!(items.map(|item| item.text().unwrap()).collect::<String>(), "ab");

    let mut entries = root.get("map").unwrap().entries();
    assert_eq!(entries.len(), 3);
    let (key, value) = entries.next_back().unwrap();
    assert_eq!((key.text(), value.as_i64()), (Some("z"), Some(4)));
    let mut entries = root.entries().rev();
    assert_eq!(entries.next().unwrap().0.text(), Some("map"));
    assert!(entries.next().is_some() && entries.next().is_none() && entries.next().is_none());
}

#[test]
fn the_keys_of_a_mapping_are_the_keys_of_its_entries() {
    let (document, _) = parse_reported("{<<: {m: 0}, b: 1, 7: 2, b: 3}");
    let keys = document.root().keys();
    assert_eq!(keys.len(), 3);
    assert_eq!(keys.clone().map(|key| key.text().unwrap()).collect::<Vec<_>>(), ["m", "b", "7"]);
    assert_eq!(keys.clone().next_back().unwrap().as_i64(), Some(7));
    assert_eq!(parse("[a]").root().keys().len(), 0);
}

#[test]
fn nodes_of_a_file_can_be_iterated_and_compared() {
    let a = file("x: [1, {k: 2}]\ny: !core/ndarray-1.1.0 [1.5, 2.5]\n");
    let b = file("y: !core/ndarray-1.1.0 [1.5, 2.5]\nx: [+1, {'k': 0x2}]\n");
    let (a, b) = (a.tree().unwrap(), b.tree().unwrap());
    assert_eq!(a, b);
    assert_ne!(a.get("x"), a.get("y"));
    assert_eq!(a.keys().rev().map(|key| key.text().unwrap()).collect::<Vec<_>>(), ["y", "x"]);
    let key = a.get("x").unwrap().items().next_back().unwrap().keys().next().unwrap();
    assert_eq!((key.text(), key.file().tree().unwrap()), (Some("k"), a));

    let elements = b.get("y").unwrap().ndarray().unwrap().view::<f64>().unwrap();
    assert_eq!(elements, [1.5, 2.5]);
    let mut sum = 0.0;
    for element in &elements {
        sum += element;
    }
    assert_eq!(sum.to_bits(), 4.0f64.to_bits());
    assert_eq!(elements.into_iter().rev().collect::<Vec<_>>(), [2.5, 1.5]);
}
