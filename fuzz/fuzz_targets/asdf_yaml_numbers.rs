//! A list of plain numbers is parsed in a single pass, but the same list with a word in front is
//! not. Both lists must contain the same numbers, and each number must have the same value on its
//! own.

#![no_main]

use asdf::yaml::{Document, NodeKind, NodeStyle, ParseOptions, ScalarRules, YamlNode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for rules in [ScalarRules::Python, ScalarRules::Libasdf, ScalarRules::Core12] {
        check(text, rules);
    }
});

fn check(text: &str, rules: ScalarRules) {
    let options = ParseOptions::default().scalars(rules);
    let parse = |text: String| Document::parse(text.as_bytes(), &options, &mut Vec::new());
    let (fast, general) = (parse(format!("[ {text}]")), parse(format!("[w, {text}]")));
    let (Ok(fast), Ok(general)) = (&fast, &general) else {
        // One list may exceed a limit that the other does not.
        assert!(fast.is_err() == general.is_err() || text.len() > 1 << 10, "{fast:?} {general:?}");
        return;
    };
    let (root, other) = (fast.root(), general.root());
    // The text may close the list early, so that the document is not a list.
    if root.kind() != NodeKind::Sequence || other.kind() != NodeKind::Sequence {
        return;
    }
    assert_eq!(root.len() + 1, other.len());
    for (at, (a, b)) in root.items().zip(other.items().skip(1)).enumerate() {
        same(a, b);
        assert_eq!(root.at(at).map(YamlNode::id), Some(a.id()));
        // A multi-line scalar can have a different meaning outside a list, so skip it.
        let is_plain = a.style() == NodeStyle::Plain && a.tag().is_none();
        let alone = a.text().filter(|text| is_plain && !text.is_empty() && !text.contains('\n'));
        if let Some(alone) = alone {
            if let Ok(document) = parse(format!("--- {alone}")) {
                same(a, document.root());
            }
        }
    }
}

fn same(a: YamlNode<'_>, b: YamlNode<'_>) {
    assert_eq!((a.kind(), a.style(), a.tag(), a.text()), (b.kind(), b.style(), b.tag(), b.text()));
    assert_eq!(a, b);
    assert_eq!(a.value().is_ok(), b.value().is_ok());
}
