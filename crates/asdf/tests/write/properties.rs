//! Properties: everything that was written must read back as the same value.

use asdf::value::{Mapping, Sequence};
use asdf::yaml::{Date, Integer};
use asdf::{Tree, Value};
use proptest::prelude::*;

use crate::{bytes_of, open, yaml};
use asdf::{Asdf, Writer};

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{0,8}",
        2 => any::<String>(),
        2 => r#"[ \n:#,\[\]{}&*!|>'"%@`?=<~.0-9eExyn_-]{0,12}"#,
        1 => "[a-z ]{60,200}",
        1 => "[\u{85}\u{2028}\u{feff}\u{a0}\u{1f600}a \n]{0,6}",
        1 => prop_oneof![
            Just("yes"), Just("1e3"), Just("012"), Just("~"), Just("2001-12-14"), Just("1:30"),
            Just("<<"), Just("0x1F"), Just("...")
        ].prop_map(str::to_owned),
    ]
}

fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i128>().prop_map(|value| Value::Int(Integer::Small(value))),
        any::<f64>()
            .prop_filter("NaN is not itself", |value| !value.is_nan())
            .prop_map(Value::Float),
        any_text().prop_map(Value::String),
        (1_u16..=9999, 1_u8..=12, 1_u8..=28).prop_map(|(year, month, day)| Value::Date(Date {
            year,
            month,
            day
        })),
        prop::collection::vec(any::<u8>(), 0..100).prop_map(Value::Binary),
        (any_tag(), any_text()).prop_map(|(tag, text)| Value::String(text).tagged(tag)),
    ]
}

fn any_tag() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("tag:stsci.edu:asdf/core/complex-1.0.0"),
        Just("tag:stsci.edu:asdf/odd,[]name"),
        Just("tag:example.com,2026:t-1.0.0"),
        Just("!local"),
        Just("asdf://example.com/tags/é x-1.0.0"),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    any_scalar().prop_recursive(5, 40, 6, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..6);
        let list = list.prop_map(|items| Value::from(Sequence::from_iter(items)));
        let mapping = prop::collection::vec((any_text(), inner), 0..6);
        let mapping = mapping.prop_map(|entries| Value::from(Mapping::from_iter(entries)));
        let collection = prop_oneof![list, mapping];
        (collection, proptest::option::of(any_tag())).prop_map(|(value, tag)| match tag {
            Some(tag) => value.tagged(tag),
            None => value,
        })
    })
}

fn any_root() -> impl Strategy<Value = Value> {
    let entries = prop::collection::vec((any_text(), any_value()), 0..8);
    entries.prop_map(|entries| Mapping::from_iter(entries).into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_random_tree_reads_back_as_the_same_tree(root in any_root()) {
        let tree = Tree::new(root);
        let text = yaml(&tree);
        let again = Tree::parse(&text);
        prop_assert_eq!(again.as_ref().ok(), Some(&tree), "{}\n{:?}", text, again.as_ref().err());
        prop_assert_eq!(yaml(&again.unwrap()), text);
    }

    #[test]
    fn random_shared_nodes_read_back_as_the_same_nodes(
        nodes in prop::collection::vec(any_value(), 1..5),
        uses in prop::collection::vec((0..5_usize, 0..5_usize), 1..12),
    ) {
        let mut tree = Tree::default();
        let handles: Vec<_> = nodes.iter().map(|node| tree.share(node.clone())).collect();
        let handle = |at: usize| handles[at % handles.len()];
        for (at, (node, inside)) in uses.into_iter().enumerate() {
            tree.set(&format!("/k{at}"), handle(node)).unwrap();
            if let Some(Value::Sequence(list)) = tree.resolve_mut(handle(inside)) {
                list.push(handle(node));
            }
        }
        let text = yaml(&tree);
        let again = Tree::parse(&text).unwrap();
        prop_assert_eq!(yaml(&again), text);
    }

    #[test]
    fn a_file_with_a_random_tree_reads_back_as_the_same_tree(root in any_root()) {
        let mut tree = Tree::new(root);
        // Remove the two entries that the writer replaces.
        for key in ["asdf_library", "history"] {
            tree.root_mut().as_mapping_mut().unwrap().remove(key);
        }
        let bytes = bytes_of(&Writer::new(tree.clone()));
        let file = Asdf::from_bytes(bytes.clone()).unwrap();
        let mut again = Tree::from_node(file.tree().unwrap().yaml()).unwrap();
        let root = again.root_mut().as_mapping_mut().unwrap();
        root.remove("asdf_library");
        let beyond = |value: &Value| matches!(value, Value::Int(int) if {
            int.as_i128().is_none_or(|int| i64::try_from(int).is_err() || int < -(1 << 63) + 2)
        });
        // Integers beyond the range of literals become integer nodes.
        if !has(tree.root(), &beyond) {
            prop_assert_eq!(again.root().as_mapping(), tree.root().as_mapping());
        }
        prop_assert!(!file.diagnostics().iter().any(|d| d.severity == asdf::diagnostic::Severity::Error));
        // Writing the result again must produce the same file.
        let copy = Writer::new(Tree::from_node(file.tree().unwrap().yaml()).unwrap()).blocks_of(&file);
        prop_assert_eq!(bytes_of(&copy), bytes);
    }
}

fn has(value: &Value, test: &dyn Fn(&Value) -> bool) -> bool {
    test(value)
        || value.as_sequence().is_some_and(|list| list.items().iter().any(|item| has(item, test)))
        || value
            .as_mapping()
            .is_some_and(|mapping| mapping.iter().any(|(_, value)| has(value, test)))
}

#[test]
fn an_empty_tree_can_be_written_to_a_file() {
    let file = open(bytes_of(&Writer::new(Tree::default())));
    assert_eq!(file.library().unwrap().unwrap().name, "scibin");
    assert_eq!(file.blocks().len().unwrap(), 0);
}
