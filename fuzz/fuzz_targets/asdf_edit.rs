//! Edits arbitrary YAML. After a successful edit, the text must parse to the edited tree. If the
//! edit replaced a node, the tree must contain the new value. After a failed edit, the text must be
//! unchanged.

#![no_main]

use asdf::Tree;
use asdf::value::TreeText;
use libfuzzer_sys::fuzz_target;

const VALUES: [&str; 6] = ["7", "new text", "[1, [2]]", "{p: {q: 1}}", "'yes'", "{}"];

fuzz_target!(|data: &[u8]| {
    // The last three bytes choose the edit, so that the rest of the seed can be an unmodified YAML
    // file.
    let Some((text, &[which, value, what])) = data.split_last_chunk() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(mut tree) = TreeText::parse(text) else { return };
    let pointers: Vec<String> =
        tree.document().nodes().filter_map(|node| node.to_pointer()).take(200).collect();
    let Some(pointer) = pointers.get(usize::from(which) % pointers.len().max(1)) else { return };
    let value = VALUES[usize::from(value) % VALUES.len()];
    let value = Tree::parse(value).expect("a value");
    let edited = match what % 5 {
        0 => tree.set(pointer, &value),
        1 => tree.remove(pointer),
        2 => tree.rename(pointer, "renamed"),
        3 => tree.set(&format!("{pointer}/-"), &value),
        _ => tree.set(&format!("{pointer}/added"), &value),
    };
    if edited.is_err() {
        assert_eq!(tree.text(), text);
        return;
    }
    let again = TreeText::parse(tree.text()).expect("the edited text can be parsed");
    assert_eq!(again.document().root(), tree.document().root());
    if what % 5 == 0 {
        let found = tree.document().root().pointer(pointer).expect("the value that was set");
        let mut text = Vec::new();
        value.write_yaml(&mut text).expect("text");
        let text = String::from_utf8(text).expect("text");
        let value = TreeText::parse(text).expect("a tree");
        assert!(found == value.document().root(), "{found:?}");
    }
});
