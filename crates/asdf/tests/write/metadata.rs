//! Writing the metadata of a file: its `asdf_library`, history and extensions.

use asdf::tag::Version;
use asdf::tree::metadata::{ExtensionMetadata, HistoryEntry, Software};
use asdf::{Tree, WriteOptions, Writer};

use crate::{bytes_of, open, written};

#[test]
fn the_library_entry_and_the_history_are_written_first() {
    let mut tree = Tree::parse("z: 1\nasdf_library: old\na: 2\n").unwrap();
    let entry = HistoryEntry::new("made")
        .time("2026-11-20 23:24:27+00:00".to_owned())
        .software(vec![Software::new("pipeline", "1.0.0")]);
    let extension = ExtensionMetadata::new("example.Extension")
        .extension_uri("asdf://example.com/e-1.0.0".to_owned())
        .software(Software::new("example", "2"));
    let options = WriteOptions::new()
        .library(Software::new("ours", "0.1").author("me".to_owned()))
        .history(entry.clone())
        .extension(extension.clone());
    let bytes = bytes_of(&Writer::new(tree.clone()).options(options.clone()));
    let text = String::from_utf8(bytes.clone()).unwrap();
    let expected = "--- !core/asdf-1.1.0\n\
        asdf_library: !core/software-1.0.0 {author: me, name: ours, version: '0.1'}\n\
        history:\n  extensions:\n  - !core/extension_metadata-1.0.0\n    \
        extension_class: example.Extension\n    extension_uri: asdf://example.com/e-1.0.0\n    \
        software: !core/software-1.0.0 {name: example, version: '2'}\n  entries:\n  \
        - !core/history_entry-1.0.0\n    description: made\n    time: 2026-11-20 23:24:27+00:00\n    \
        software: !core/software-1.0.0 {name: pipeline, version: 1.0.0}\nz: 1\na: 2\n...\n";
    assert!(text.ends_with(expected), "{text}");
    let file = open(bytes);
    let history = file.history().unwrap();
    assert_eq!(history.extensions, [extension]);
    assert_eq!(history.entries[0].software, entry.software);
    // A new history entry is written after the existing entry.
    tree = Tree::from_file(&file, 0).unwrap();
    let file = written(tree, WriteOptions::new().history(HistoryEntry::new("changed")));
    let descriptions: Vec<String> =
        file.history().unwrap().entries.into_iter().map(|entry| entry.description).collect();
    assert_eq!(descriptions, ["made", "changed"]);
    // Before version 1.2.0 of the standard, a history contains only entries.
    let old = WriteOptions::new().standard(Version::new(1, 1, 0));
    let file = written(Tree::from_file(&file, 0).unwrap(), old);
    let history = file.history().unwrap();
    assert_eq!((history.extensions.len(), history.entries.len()), (0, 2));
    assert_eq!(file.tree().unwrap().get("history").unwrap().at(0).unwrap().len(), 3);
    let file = written(Tree::from_file(&file, 0).unwrap(), WriteOptions::new());
    assert_eq!(file.history().unwrap().entries.len(), 2);
    assert!(file.tree().unwrap().pointer("/history/entries/1").is_ok());
}

#[test]
fn the_writer_keeps_the_library_entry_of_the_tree_on_request() {
    let tree = || {
        Tree::parse("a: 1\nasdf_library: !core/software-1.0.0 {name: x, version: '1'}\n").unwrap()
    };
    let file = written(tree(), WriteOptions::new().keep_library());
    assert_eq!(file.library().unwrap().unwrap().name, "x");
    let file = written(tree(), WriteOptions::new());
    assert_eq!(file.library().unwrap().unwrap().name, "scibin");
    let file = written(Tree::default(), WriteOptions::new().keep_library());
    assert_eq!(file.library().unwrap(), None);
}
