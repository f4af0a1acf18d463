//! Properties that must hold for arbitrary bytes, and for YAML with a few bytes changed.

use asdf::tree::json::Options;
use asdf::yaml::{Document, NodeKind, NodeStyle, ParseOptions, Position, ScalarRules, YamlNode};
use proptest::prelude::*;

use crate::try_json;

const SEEDS: [&str; 6] = [
    "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\na: [1, 2.5, {b: c}]\n...\n",
    "%TAG !e! tag:x/\n---\nx: &a !e!b 'q'\ny: *a\n<<: {p: |\n    text\n  }\n",
    "- &a {k: v, <<: [*a]}\n- ? [x]\n  : y\n- >-\n  folded\n  text\n- \"\\x41\\\n  b\"\n",
    "a: 1:30\nb: 2001-12-14t21:59:43.10-05:00\nc: 0x_\nd: !!binary SGVs\ne: !!set {a, b}\n",
    "é: \"ü\u{2028}\"\n? key\n: - a\n  - b:\n    - c\n[a, b]: 1\na: 1\na: 2\n",
    "a: [b: c, ? d, {e, f: }]\r\nb: # comment\r\n  - 1\r\n- 2",
];

/// Calls the methods of every node in a document, and checks the positions and spans.
fn ask(text: &[u8], document: &Document) {
    let mut stack = vec![document.root()];
    let mut seen = std::collections::HashSet::new();
    while let Some(node) = stack.pop() {
        if !seen.insert(node.id()) {
            continue;
        }
        check_position(text, node);
        let _ = (node.value(), node.as_f64(), node.coerce_f64(), node.tag(), node.anchor());
        assert_eq!(node.entries().count(), node.entries().len());
        for (key, value) in node.entries() {
            if let Ok(name) = key.to_key() {
                assert!(node.get(&name).is_some(), "{name}");
            }
            stack.extend([key, value]);
        }
        stack.extend(node.raw_entries().flat_map(|(key, value)| [key, value]));
        stack.extend(node.items());
    }
    crate::spans::check(std::str::from_utf8(text).unwrap(), document);
    let _ = try_json(document, Options::new().tags(true));
}

fn check_position(text: &[u8], node: YamlNode<'_>) {
    let Position { offset, line, column } = node.position();
    let offset = usize::try_from(offset).unwrap();
    let text = std::str::from_utf8(text).unwrap();
    let rest = &text[offset..];
    let before = text[..offset].replace("\r\n", "\n").replace('\r', "\n");
    assert_eq!(before.matches('\n').count() + 1, usize::try_from(line).unwrap());
    let in_line = before.rsplit('\n').next().unwrap_or_default().chars().count();
    assert_eq!(in_line + 1, usize::try_from(column).unwrap());
    let start = node.text().and_then(|text| text.chars().next());
    match node.style() {
        NodeStyle::Plain => assert!(start.is_none_or(|start| rest.starts_with(start))),
        NodeStyle::SingleQuoted => assert!(rest.starts_with('\'')),
        NodeStyle::DoubleQuoted => assert!(rest.starts_with('"')),
        NodeStyle::Flow if node.kind() == NodeKind::Mapping => assert!(rest.starts_with('{')),
        NodeStyle::Flow => assert!(rest.starts_with('[')),
        _ => {}
    }
}

fn try_all(text: &[u8]) {
    for scalars in [ScalarRules::Python, ScalarRules::Libasdf, ScalarRules::Core12] {
        let options = ParseOptions::default().scalars(scalars);
        if let Ok(document) = Document::parse(text, &options, &mut Vec::new()) {
            ask(text, &document);
        }
    }
}

#[test]
fn yaml_truncated_at_any_byte_causes_no_panic() {
    for seed in SEEDS {
        for end in 0..=seed.len() {
            try_all(&seed.as_bytes()[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn arbitrary_bytes_cause_no_panic(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        try_all(&text);
    }

    #[test]
    fn arbitrary_mixtures_of_indicators_cause_no_panic(
        text in proptest::collection::vec(
            prop::sample::select(vec![
                "-", "- ", "?", "? ", ":", ": ", ",", "[", "]", "{", "}", "#", " #", "&a ", "*a ", "!",
                "!!", "!t ", "!e!x ", "|", ">", "'", "\"", "\\", "%", "@", "`", "\n", "\r\n", "\n  ",
                "\t", " ", "a", "é", "0", "1.5", "<<", "<<: ", "~", "---", "\n---\n", "\n...\n", "=", "x: ",
            ]),
            0..40,
        ),
    ) {
        let text = text.concat();
        try_all(text.as_bytes());
        try_all(format!("%TAG !e! tag:e/\n---\n{text}").as_bytes());
    }

    #[test]
    fn yaml_with_changed_bytes_causes_no_panic(
        seed in prop::sample::select(SEEDS.to_vec()),
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(b"-?:,[]{}#&*!|>'\"%@`\n\r\t ae0.<=~\\".to_vec())),
            1..6,
        ),
    ) {
        let mut text = seed.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(text.len());
            text[at] = byte;
        }
        try_all(&text);
    }
}
