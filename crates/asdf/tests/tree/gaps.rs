//! Features that YAML parsers often lack, one test for each.

use asdf::diagnostic::Code;
use asdf::yaml::{NodeKind, NodeStyle};

use crate::{fault, parse, parse_reported, to_json, try_parse};

#[test]
fn each_tag_handle_is_resolved_by_its_own_directive() {
    let text = "%YAML 1.1\n%TAG ! tag:a/\n%TAG !e! tag:b/\n%TAG !f! tag:c/\n\
                --- !root\nx: !e!one 1\ny: !f!two '!e!three'\nz: [!e!four {}, !f!%21five '']\n";
    let document = parse(text);
    let tag = |pointer| document.root().pointer(pointer).unwrap().tag().map(str::to_owned);
    assert_eq!(tag("").as_deref(), Some("tag:a/root"));
    assert_eq!(tag("/x").as_deref(), Some("tag:b/one"));
    assert_eq!(tag("/y").as_deref(), Some("tag:c/two"));
    assert_eq!(tag("/z/0").as_deref(), Some("tag:b/four"));
    assert_eq!(tag("/z/1").as_deref(), Some("tag:c/!five"));
    assert_eq!(
        document.root().get("y").unwrap().as_str(),
        Some("!e!three"),
        "text like a tag must remain text"
    );
}

#[test]
fn a_local_tag_that_begins_like_a_handle_stays_local() {
    let document = parse("%TAG !e! tag:b/\n---\nx: !e~one 1\ny: !e!one 1\nz: !e;one 1\n");
    let tag = |key| document.root().get(key).unwrap().tag().unwrap().to_owned();
    assert_eq!([tag("x"), tag("y"), tag("z")], ["!e~one", "tag:b/one", "!e;one"]);
}

#[test]
fn a_version_directive_does_not_discard_an_earlier_tag_directive() {
    let document = parse("%TAG ! tag:a/\n%YAML 1.1\n--- !x\na: 1\n");
    assert_eq!(document.root().tag(), Some("tag:a/x"));
}

#[test]
fn an_undeclared_handle_is_an_error() {
    for text in ["--- !e!x 1\n", "%TAG !f! tag:f/\n--- !e!x 1\n"] {
        assert!(fault(text).3.contains("handle"), "{text}");
    }
}

#[test]
fn a_control_character_or_invalid_utf_8_is_rejected_with_its_position() {
    let (line, column, offset, message) = fault("a: 1\nb: é\0\n");
    assert_eq!((line, column, offset), (2, 5, 10));
    assert_eq!(message, "character U+0000 is not allowed in YAML");
    assert_eq!(fault(b"a: \xff\n").2, 3);
    assert_eq!(fault("a: '\u{7f}'").2, 4);
}

#[test]
fn nel_is_read_as_a_line_break() {
    assert_eq!(to_json("a: 1\u{85}b: 'x\u{85}  y'\u{85}"), r#"{"a":1,"b":"x y"}"#);
    assert_eq!(to_json("a: |\n  x\u{85}  y\n# c\u{85}b: 2"), "{\"a\":\"x\\ny\\n\",\"b\":2}");
    assert_eq!(fault("a: 1\u{85}\u{85}b: [\n").0, 4, "each NEL must end a line");
}

#[test]
fn line_and_paragraph_separators_in_a_scalar_are_kept_without_the_indentation_around_them() {
    for c in ["\u{2028}", "\u{2029}"] {
        for text in [
            format!("a: 'x {c}  y '\n"),
            format!("a: \"x{c}    y \"\n"),
            format!("a: x{c}  y \n"),
            format!("a: >-\n  x{c}  y \n"),
            format!("a: |-\n  x{c}  y \n"),
        ] {
            let document = parse(&text);
            let value = document.root().get("a").unwrap().as_str().unwrap();
            assert_eq!(value.trim_end(), format!("x{c}y"), "{text:?}");
        }
        for (text, value) in [
            (format!("a: 'x{c}\n  y'\n"), format!("x{c}\ny")),
            (format!("a: \"\\L{c} y\"\n"), format!("\u{2028}{c}y")),
            (format!("a: 1 # c{c}b: 2\n"), "1".to_owned()),
        ] {
            let document = parse(&text);
            assert_eq!(document.root().get("a").unwrap().text(), Some(&*value), "{text:?}");
        }
        for text in [format!("a: x{c}y\n"), format!("'a{c}  b': 1\n"), format!("a: &x{c}y 1\n")] {
            assert!(try_parse(&text).0.is_err(), "{text:?}");
        }
    }
    let escaped = parse("a: \"x\\Ny\"\nb: \"x \\L y\"");
    assert_eq!(escaped.root().get("a").unwrap().as_str(), Some("x\u{85}y"));
    assert_eq!(escaped.root().get("b").unwrap().as_str(), Some("x \u{2028} y"));
}

#[test]
fn invalid_directives_are_errors_and_unknown_directives_are_reported() {
    assert!(fault("%YAML 2.0\n---\na: 1\n").3.contains("2.0"));
    assert!(fault("%YAML 1.1\n%YAML 1.1\n---\na: 1\n").3.contains("second"));
    assert!(fault("%TAG !foo tag:x\n---\na: 1\n").3.contains("!foo"));
    let (_, diagnostics) = try_parse("%YAML 1.1\n%FOO bar\n---\na: 1\n");
    assert_eq!(
        (diagnostics[0].code, diagnostics[0].place.offset),
        (Code::UnknownDirective, Some(10))
    );
    assert_eq!(diagnostics[0].place.line, Some(2));
    assert_eq!(parse_reported("%YAML 1.2\n---\na: 1\n").1, [Code::YamlVersion]);
}

#[test]
fn offsets_count_bytes_and_columns_count_characters() {
    let text = "é: [ü, {ß: €}]\nx: |\n  日本\n  語\ny: 'ö'\n";
    let document = parse(text);
    for (pointer, line, column, at) in [
        ("/é", 1, 4, "[ü"),
        ("/é/0", 1, 5, "ü"),
        ("/é/1", 1, 8, "{ß"),
        ("/é/1/ß", 1, 12, "€"),
        ("/x", 3, 3, "日本"),
        ("/y", 5, 4, "'ö'"),
    ] {
        let position = document.root().pointer(pointer).unwrap().position();
        assert_eq!((position.line, position.column), (line, column), "{pointer}");
        assert!(text[usize::try_from(position.offset).unwrap()..].starts_with(at), "{pointer}");
    }
}

#[test]
fn an_empty_node_is_null_unless_its_tag_makes_it_a_string() {
    let document = parse("a:\nb: !!str\nc: !foo\nd: ''\n");
    let kind = |key| document.root().get(key).unwrap().kind();
    assert_eq!(
        ["a", "b", "c", "d"].map(kind),
        [NodeKind::Null, NodeKind::String, NodeKind::String, NodeKind::String]
    );
}

#[test]
fn an_alias_refers_to_the_last_definition_of_its_anchor() {
    let (document, codes) = parse_reported("x: &a 1\nu: *a\ny: &a 2\nz: *a\n");
    assert_eq!(codes, [Code::AnchorRedefined]);
    let value = |key| document.root().get(key).unwrap().as_i64();
    assert_eq!(["x", "u", "y", "z"].map(value), [Some(1), Some(1), Some(2), Some(2)]);
    assert_eq!(document.root().get("z").unwrap().anchor(), Some("a"));
}

#[test]
fn two_percent_escapes_in_a_tag_can_encode_one_character() {
    let document = parse("%TAG ! tag:a/\n---\nx: !b%C3%A9%21 1\n");
    assert_eq!(document.root().get("x").unwrap().tag(), Some("tag:a/bé!"));
}

#[test]
fn a_second_document_is_an_error_but_text_after_the_end_is_ignored() {
    assert!(fault("--- \na: 1\n--- \nb: 1\n").3.contains("second document"));
    assert_eq!(to_json("---\na: 1\n...\n--- [\n"), r#"{"a":1}"#);
    assert_eq!(to_json("---\na: |\n  x\n...\n: : :"), r#"{"a":"x\n"}"#);
}

#[test]
fn an_empty_document_is_an_empty_mapping() {
    for text in ["", "---\n...\n", "%YAML 1.1\n---\n", "# nothing\n", "--- !core/asdf-1.1.0\n..."] {
        assert_eq!(to_json(text), "{}", "{text:?}");
    }
    assert_eq!(to_json("--- ''\n"), "\"\"");
    assert_eq!(to_json("--- !!null\n"), "null");
}

#[test]
fn a_scalar_may_end_at_the_end_of_the_text_without_an_end_marker() {
    for (text, want) in [
        ("a: |\n", "\"\""),
        ("a: |+\n", "\"\""),
        ("a: |\n  x\n", "\"x\\n\""),
        ("a: >-\n  x\n\n", "\"x\""),
        ("a: |+\n  x\n\n", "\"x\\n\\n\""),
        ("a:\n  ?", "{\"null\":null}"),
        ("a: x", "\"x\""),
    ] {
        assert_eq!(to_json(text), format!("{{\"a\":{want}}}"), "{text:?}");
    }
}

#[test]
fn each_node_reports_its_style() {
    let document =
        parse("a: x\nb: 'x'\nc: \"x\"\nd: |\n  x\ne: >\n  x\nf: [x]\ng:\n- x\nh: {x: 1}\n");
    let style = |key: &str| document.root().get(key).unwrap().style();
    assert_eq!(
        ["a", "b", "c", "d", "e", "f", "g", "h"].map(style),
        [
            NodeStyle::Plain,
            NodeStyle::SingleQuoted,
            NodeStyle::DoubleQuoted,
            NodeStyle::Literal,
            NodeStyle::Folded,
            NodeStyle::Flow,
            NodeStyle::Block,
            NodeStyle::Flow
        ]
    );
    assert_eq!(document.root().style(), NodeStyle::Block);
}

#[test]
fn tabs_in_indentation_and_document_ends_inside_quotes_are_errors() {
    assert!(try_parse("a:\n\tb: 1\n").0.is_err());
    assert!(try_parse("a: 'x\n...\n y'\n").0.is_err());
}

#[test]
fn rare_notations_of_yaml_1_1_are_parsed() {
    for (text, want) in [
        ("[k: [1]]", r#"[{"k":[1]}]"#),
        ("[k: {a: 1}, 2]", r#"[{"k":{"a":1}},2]"#),
        ("[? a, ? b : c, ?]", r#"[{"a":null},{"b":"c"},{"null":null}]"#),
        ("a:\n  b: 'two\n lines'\n", r#"{"a":{"b":"two lines"}}"#),
        ("a: 'x'# no blank before\n", r#"{"a":"x"}"#),
        ("a: |2-\n    x\n   y\n", r#"{"a":"  x\n y"}"#),
        ("{\"a\":1, 'b':2}", r#"{"a":1,"b":2}"#),
        ("{a, b: , 'c'}", r#"{"a":null,"b":null,"c":null}"#),
    ] {
        assert_eq!(to_json(text), want, "{text:?}");
    }
    // In a block scalar, a leading blank line must not be indented more than the first line with
    // text.
    assert!(try_parse("a: |\n\n    \n  x\n").0.is_err());
    let document = parse("a: !x%E2%82%AC 1");
    assert_eq!(document.root().get("a").unwrap().tag(), Some("!x€"));
}

#[test]
fn a_key_without_a_question_mark_is_limited_to_one_line_and_1024_characters() {
    for (key, is_read) in [
        ("k".repeat(1024), true),
        ("k".repeat(1025), false),
        ("€".repeat(1024), true),
        ("€".repeat(1025), false),
        (format!("[{}]", "1, ".repeat(300)), true),
        (format!("[{}]", "1, ".repeat(400)), false),
        ("[1,\n 2]".to_owned(), false),
    ] {
        assert_eq!(try_parse(format!("{key}: 1\n")).0.is_ok(), is_read, "{}", key.len());
        assert_eq!(try_parse(format!("a: 1\n{key}: 1\n")).0.is_ok(), is_read, "{}", key.len());
        assert!(try_parse(format!("? {key}\n: 1\n")).0.is_ok());
    }
}

#[test]
fn a_raised_limit_allows_deeply_nested_brackets() {
    let limits = binio::Limits::default().max_depth(100_000);
    let options = asdf::yaml::ParseOptions::default().limits(limits);
    let text = "[".repeat(99_999) + &"]".repeat(99_999);
    let document = asdf::yaml::Document::parse(text.as_bytes(), &options, &mut Vec::new());
    assert_eq!(document.unwrap().node_count(), 99_999);
}
