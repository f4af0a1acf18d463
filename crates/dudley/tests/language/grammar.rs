//! Checking that the grammar for editors agrees with the lexer and the parser.

use dudley::Limits;
use dudley::layout::Primitive;
use dudley::text::{Lexer, NodeKind, TokenKind, Tree};

use crate::corpus;
use crate::reference;
use crate::textmate::{Grammar, Scopes};

fn grammar() -> Grammar {
    let text = include_str!("../../editors/dudley.tmLanguage.json");
    Grammar::new(serde_json::from_str(text).unwrap())
}

/// Returns layouts of every kind, including invalid ones. Apart from a few unusual layouts, they
/// are taken from the reference page and from the corpus, which contains all examples in the
/// language document. Layouts of 16 KiB or more, such as those with a hundred thousand brackets,
/// are omitted, because the grammar reader stores all open brackets for every byte.
fn texts() -> Vec<String> {
    let odd = [
        "a = \"x\\q\\x41\n# no comment\" b = 'c",
        "a = 'it\\'s' \"say \\\"x\\\"\" = f8 \"\" = i1",
        "3..x 3.5 3. .5 1e-6 1E5 2.e1 0x1F 010 9223372036854775808",
        "12abc 1_0 0x 0xg 0x1g 1e 1.5x 1µ 1e+x .5e .5x",
        "--> <-- ++- -1 +2 N-- :== .. / . ... , ; & ? ! é µ2 a€ \0 \u{a0}",
        "# a\r## b\r\n#: c=1 \"d",
        "x = # the type is behind this\n <\n f8 # and this\n [3] @ # too\n 8 -> # and\n gzip",
        "] ) } { ( [ / ] , [",
        "x = f8[{a=f8 y [/ a=f8 (\"#\" 1.5 ## d",
    ];
    let corpus = corpus::cases();
    let corpus = corpus.iter().map(corpus::text).filter(|text| text.len() < 1 << 14);
    let page = reference::examples().into_iter().map(|example| example.layout);
    odd.map(str::to_owned).into_iter().chain(page).chain(corpus).collect()
}

/// Returns the scope prefixes that are allowed for a token of this kind. At least one scope of the
/// token must begin with one of them.
fn fit(kind: TokenKind) -> &'static [&'static str] {
    match kind {
        TokenKind::Name => &["variable.", "entity.name.", "storage.type.", "support.function."],
        TokenKind::Quoted | TokenKind::Unterminated => &["string.quoted."],
        TokenKind::Integer => &["constant.numeric.integer."],
        TokenKind::Float => &["constant.numeric.float."],
        TokenKind::BadNumber => &["invalid.illegal.number."],
        TokenKind::Plus | TokenKind::Minus => &["keyword.operator.sign."],
        TokenKind::Equals => &["keyword.operator.assignment."],
        TokenKind::Colon | TokenKind::ColonEquals => &["keyword.operator.parameter."],
        TokenKind::Slash => &["keyword.operator.dict."],
        TokenKind::Up => &["keyword.operator.up."],
        TokenKind::OpenBracket => &["punctuation.section.list.", "punctuation.section.shape."],
        TokenKind::OpenBrace => &["punctuation.section.struct.begin."],
        TokenKind::OpenParen => &["punctuation.section.arguments.begin."],
        TokenKind::CloseBracket | TokenKind::CloseBrace | TokenKind::CloseParen => {
            &["punctuation.section."]
        }
        TokenKind::Comma => &["punctuation.separator.comma."],
        TokenKind::At | TokenKind::Percent => &["keyword.operator.placement."],
        TokenKind::Arrow | TokenKind::BackArrow => &["keyword.operator.filter."],
        TokenKind::Less | TokenKind::Greater | TokenKind::Bar => &["storage.modifier.order."],
        TokenKind::Comment => &["comment.line.number-sign."],
        TokenKind::Doc => &["comment.line.documentation."],
        TokenKind::Attributes => &["comment.line.attribute."],
        TokenKind::Illegal => &["invalid.illegal.character."],
        other => panic!("{other:?} has no scope"),
    }
}

fn has(scopes: &Scopes<'_>, prefix: &str) -> bool {
    scopes.iter().any(|scope| scope.starts_with(prefix))
}

#[test]
fn every_grammar_pattern_compiles_and_has_the_captures_that_its_rule_refers_to() {
    let grammar = grammar();
    for rule in grammar.rules() {
        for (pattern, captures) in
            [("match", "captures"), ("begin", "beginCaptures"), ("end", "endCaptures")]
        {
            let Some(pattern) = rule[pattern].as_str() else {
                assert!(rule[captures].is_null(), "{captures} of nothing: {rule}");
                continue;
            };
            let groups = grammar.regex(pattern).captures_len();
            for number in rule[captures].as_object().into_iter().flat_map(|all| all.keys()) {
                assert!(number.parse::<usize>().unwrap() < groups, "{number} of {pattern}");
            }
        }
        assert_eq!(rule["begin"].is_string(), rule["end"].is_string(), "{rule}");
        if let Some(name) = rule["include"].as_str() {
            grammar.included(name);
        }
        if rule.get("scopeName").is_none() {
            let name = rule["name"].as_str();
            assert!(name.is_none_or(|name| name.ends_with(".dudley")), "{rule}");
        }
    }
}

#[test]
fn every_token_has_a_scope_that_fits_its_kind() {
    let grammar = grammar();
    for text in texts() {
        let scopes = grammar.scopes(&text);
        for token in Lexer::new(&text) {
            let fit = fit(token.kind);
            let may_hold_text =
                fit[0].starts_with("string.") || fit[0].starts_with("comment.line.");
            let range = token.start as usize..token.end as usize;
            for (found, byte) in scopes[range.clone()].iter().zip(text[range.clone()].bytes()) {
                let fits = fit.iter().any(|prefix| has(found, prefix));
                let is_text = has(found, "string.") || has(found, "comment.");
                // Editors do not colour line breaks.
                assert!(
                    (fits && is_text == may_hold_text) || b"\r\n".contains(&byte),
                    "{token:?} `{}` has {found:?}, not {fit:?}, in\n{text}",
                    &text[range],
                );
            }
        }
    }
}

/// Checks the unquoted names in all layouts that parse without errors.
#[test]
fn every_name_is_highlighted_according_to_its_meaning() {
    let grammar = grammar();
    let mut seen = std::collections::BTreeSet::new();
    for text in texts() {
        let tree = Tree::parse(&text, &Limits::default());
        if !tree.diagnostics.is_empty() {
            continue;
        }
        let scopes = grammar.scopes(&text);
        for (at, node) in tree.nodes.iter().enumerate() {
            let name = &text[node.start as usize..node.end as usize];
            let next = tree.nodes.get(at + 1).map(|next| next.kind);
            let expected = match (node.kind, next) {
                (NodeKind::Type, _) if Primitive::from_name(name).is_some() => "storage.type.",
                (NodeKind::Type, _) | (NodeKind::Name, Some(NodeKind::StructOpen)) => {
                    "entity.name.type."
                }
                (NodeKind::DimName, _) | (NodeKind::Name, Some(NodeKind::Param)) => {
                    "variable.parameter."
                }
                (NodeKind::Compress | NodeKind::Reference, _) => "",
                (NodeKind::Name, Some(NodeKind::Data)) => "variable.other.data.",
                (NodeKind::Name, Some(NodeKind::Dict)) => "entity.name.namespace.",
                (NodeKind::Name, Some(NodeKind::ListOpen | NodeKind::Extend)) => {
                    "variable.other.list."
                }
                _ => continue,
            };
            if name.starts_with(['"', '\'']) {
                continue;
            }
            let found = &scopes[node.start as usize];
            let is_filter =
                has(found, "support.function.filter.") || has(found, "entity.name.function.");
            let fits = if expected.is_empty() { is_filter } else { has(found, expected) };
            assert!(fits, "`{name}` {node:?} has {found:?}, not {expected}, in\n{text}");
            seen.insert(expected);
        }
    }
    assert_eq!(seen.len(), 7, "{seen:?}");
}

#[test]
fn names_and_values_of_attributes_are_highlighted() {
    let grammar = grammar();
    let text = "x = f8 #: units=\"C\\\"\", 'a b'=[1,-2.5e3] g 3x\ny = f8";
    let scopes = grammar.scopes(text);
    for (part, scope) in [
        ("units", "entity.other.attribute-name."),
        ("\"C\\\"\"", "string.quoted.double."),
        ("'a b'", "string.quoted.single."),
        ("-2.5e3", "constant.numeric.attribute."),
        ("g", "entity.other.attribute-name."),
        ("y", "variable.other.data."),
    ] {
        let start = text.find(part).unwrap();
        for found in &scopes[start..start + part.len()] {
            assert!(has(found, scope), "{part}: {found:?}");
            assert_eq!(has(found, "comment.line.attribute."), part != "y", "{part}");
        }
    }
}

#[test]
fn valid_escapes_are_highlighted_differently_from_other_backslashes() {
    let grammar = grammar();
    let text = r#""\n\x41\u00e9\q" = f8"#;
    let scopes = grammar.scopes(text);
    let escape = |part: &str| has(&scopes[text.find(part).unwrap()], "constant.character.escape.");
    assert!(escape("\\n") && escape("\\x41") && escape("\\u00e9") && !escape("\\q"));
    assert!(has(&scopes[text.find("\\q").unwrap()], "invalid.illegal.escape."));
}

#[test]
fn the_editor_extension_refers_only_to_existing_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("editors");
    let read = |path: &str| -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join(path)).unwrap()).unwrap()
    };
    let package = read("package.json");
    let (language, described) =
        (&package["contributes"]["languages"][0], &package["contributes"]["grammars"][0]);
    assert_eq!(language["id"], described["language"]);
    assert!(read(language["configuration"].as_str().unwrap()).is_object());
    assert_eq!(read(described["path"].as_str().unwrap())["scopeName"], described["scopeName"]);
}
