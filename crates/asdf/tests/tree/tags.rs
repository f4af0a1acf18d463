//! The type and value of a node, which depend on its tag.

use asdf::yaml::{Content, Document, Integer, NodeKind, YamlNode};

use crate::{parse, to_json};

fn value(text: &str) -> Result<String, String> {
    let document = parse(format!("v: {text}\n"));
    let node = document.root().get("v").unwrap();
    node.value().map(|value| format!("{value:?}")).map_err(|error| error.to_string())
}

#[test]
fn a_yaml_tag_determines_the_type_of_a_node() {
    for (text, want) in [
        ("!!str 5", "String(\"5\")"),
        ("!!int '5'", "Int(Small(5))"),
        ("!!int 0x1F", "Int(Small(31))"),
        ("!!float 5", "Float(5.0)"),
        ("!!float 1e3", "Float(1000.0)"),
        ("!!float '-.inf'", "Float(-inf)"),
        ("!!bool YeS", "Bool(true)"),
        ("!!null ''", "Null"),
        ("!!binary SGVs bG8=", "Binary([72, 101, 108, 108, 111])"),
        ("!!timestamp '2001-12-14'", "Date(Date { year: 2001, month: 12, day: 14 })"),
        ("!!seq [1]", "Sequence"),
        ("!!map {a: 1}", "Mapping"),
        ("!!set {a, b}", "Mapping"),
        ("!!omap [a: 1]", "Sequence"),
        ("!<tag:yaml.org,2002:int> '7'", "Int(Small(7))"),
        ("! 5", "Int(Small(5))"),
        ("! '5'", "Int(Small(5))"),
        ("!!python/name:os.system x", "String(\"x\")"),
        ("!foo 5", "String(\"5\")"),
    ] {
        assert_eq!(value(text).as_deref(), Ok(want), "{text}");
    }
}

#[test]
fn content_that_does_not_fit_its_tag_is_an_error_when_the_value_is_requested() {
    for text in [
        "!!int x",
        "!!int 1.5",
        "!!float x",
        "!!bool 1",
        "!!null x",
        "!!binary '*'",
        "!!timestamp 2024-02-30",
        "!!timestamp x",
        "!!int [1]",
        "!!str {}",
        "!!map [1]",
        "!!seq {}",
        "!!set [a]",
        "!!set x",
        "!!omap x",
    ] {
        let error = value(text).unwrap_err();
        assert!(error.contains("does not fit the tag `tag:yaml.org,2002:"), "{text}: {error}");
        assert!(error.starts_with("/v: "), "{error}");
    }
    let document = parse("a: !!int x\nb: 2\n");
    assert_eq!(document.root().get("a").unwrap().as_i64(), None);
    assert_eq!(document.root().get("a").unwrap().kind(), NodeKind::Int);
    assert_eq!(document.root().get("b").unwrap().as_i64(), Some(2));
    assert_eq!(to_json("a: !!int x\nb: 2\n"), r#"{"a":{"$error":"InvalidScalar"},"b":2}"#);
}

#[test]
fn a_directive_can_redefine_the_handle_of_yaml_tags() {
    let document = parse("%TAG !! tag:x/\n---\na: !!int 5\n");
    let a = document.root().get("a").unwrap();
    assert_eq!((a.tag(), a.as_str()), (Some("tag:x/int"), Some("5")));
}

#[test]
fn a_verbatim_tag_is_not_resolved_through_handles() {
    let document = parse("a: !<tag:x%21/y> 5\nb: !<!foo> 5\n");
    assert_eq!(document.root().get("a").unwrap().tag(), Some("tag:x!/y"));
    assert_eq!(document.root().get("b").unwrap().tag(), Some("!foo"));
}

#[test]
fn a_node_with_the_constant_tag_has_the_value_of_its_content() {
    let tag = "!<tag:stsci.edu:asdf/core/constant-1.0.0>";
    assert_eq!(value(&format!("{tag} 5")).as_deref(), Ok("Int(Small(5))"));
}

#[test]
fn getters_return_none_for_nodes_of_another_type() {
    let document = parse("i: 5\nf: 2.5\ns: 1e3\nb: off\nn: ~\nneg: -1\nl: [a]\n");
    let get = |key: &str| document.root().get(key).unwrap();
    assert_eq!(
        (get("i").as_i64(), get("i").as_f64(), get("i").as_str()),
        (Some(5), Some(5.0), None)
    );
    assert_eq!((get("f").as_f64(), get("f").as_i64()), (Some(2.5), None));
    assert_eq!((get("s").as_f64(), get("s").coerce_f64()), (None, Some(1000.0)));
    assert_eq!((get("b").as_bool(), get("b").as_str()), (Some(false), None));
    assert_eq!((get("n").is_null(), get("n").text()), (true, Some("~")));
    assert_eq!((get("neg").as_u64(), get("neg").as_i128()), (None, Some(-1)));
    assert_eq!((get("l").text(), get("l").at(0).unwrap().as_str()), (None, Some("a")));
    assert!(get("l").at(1).is_none() && get("i").at(0).is_none() && get("l").get("0").is_none());
}

#[test]
fn integers_beyond_128_bits_keep_their_digits() {
    let document = parse_large("123456789012345678901234567890123456789012345");
    let Content::Int(Integer::Large { negative, digits }) =
        document.root().get("v").unwrap().value().unwrap()
    else {
        panic!("not a large integer");
    };
    assert!(!negative);
    assert_eq!(digits, "123456789012345678901234567890123456789012345");
    let hex = format!("0x{}", "f".repeat(10_000));
    let document = parse_large(&hex);
    let node = document.root().get("v").unwrap();
    assert!(node.value().unwrap_err().to_string().contains("at most 4300 decimal digits"));
    assert_eq!(node.text(), Some(hex.as_str()));
}

fn parse_large(text: &str) -> Document {
    let (document, codes) = crate::parse_reported(format!("v: {text}\n"));
    assert_eq!(codes, [asdf::diagnostic::Code::LargeInteger]);
    document
}

#[test]
fn an_ordered_mapping_with_tagged_entries_can_be_addressed_by_key() {
    // Python asdf 6.0 writes an `OrderedDict` with a tag on each entry.
    let document = parse("o: !!omap\n- !!omap {x: 1}\n- !!omap {y: 2}\n");
    for node in document.nodes() {
        assert!(node.value().is_ok(), "{:?}", node.tag());
    }
    let at = |pointer| document.root().pointer(pointer).ok().and_then(YamlNode::as_i64);
    assert_eq!((at("/o/x"), at("/o/y"), at("/o/z")), (Some(1), Some(2), None));
    assert_eq!(at("/o/1/y"), Some(2));
}
