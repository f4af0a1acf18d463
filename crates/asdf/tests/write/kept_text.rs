//! A copy of a file keeps the text of the tree, except for the nodes that were changed.

use std::io::Cursor;

use asdf::tag::Version;
use asdf::value::Array;
use asdf::{Asdf, Compression, Tree, WriteOptions, Writer};

const HEAD: &str =
    "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n# made by hand\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";

/// Creates a file with this tree, and a three-byte block for each number in `blocks`.
fn file(tree: &str, blocks: &[u8]) -> Asdf {
    let mut bytes = format!("{HEAD}--- !core/asdf-1.1.0\n{tree}...\n").into_bytes();
    for &number in blocks {
        bytes.extend(b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0");
        (0..3).for_each(|_| bytes.extend(3_u64.to_be_bytes()));
        bytes.extend([0; 16]);
        bytes.extend([number; 3]);
    }
    Asdf::from_bytes(bytes).unwrap()
}

fn copy(file: &Asdf, tree: Tree, options: WriteOptions) -> Asdf {
    let mut out = Cursor::new(Vec::new());
    Writer::new(tree).options(options).blocks_of(file).write_to(&mut out).unwrap();
    Asdf::from_bytes(out.into_inner()).unwrap()
}

fn text(file: &Asdf) -> String {
    String::from_utf8(file.tree_text().to_vec()).unwrap()
}

const TREE: &str = "# about the file
asdf_library: {name: old, version: '1'} # replaced
meta:   # of the exposure
    gain:    2.50   # measured
    name: \"M\\x41\"
    when: !<tag:example.com:date> 2026-01-02
    list: [ 1,2,
            3 ]
    more: |
        two
        lines
a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [3]} # first
b: !core/ndarray-1.1.0
   source:   1   # second
   datatype: uint8
   byteorder: big
   shape: [3]
same: &x {k: 1}
again: *x
";

#[test]
fn a_copy_keeps_comments_and_quotes_and_white_space_but_replaces_the_library_entry() {
    let file = file(TREE, &[1, 2]);
    for compression in [Compression::None, Compression::Zlib(6)] {
        let options = WriteOptions::new().compression(compression).keep_library();
        let kept = copy(&file, Tree::from_file(&file, 0).unwrap(), options.clone());
        assert_eq!(text(&kept), text(&file));
        assert_eq!(kept.layout().comments.len(), 1);
        let ours = asdf::tree::metadata::Software::new("ours", "2");
        let new = copy(&file, Tree::from_file(&file, 0).unwrap(), options.library(ours));
        let library = "asdf_library: !core/software-1.0.0 {name: ours, version: '2'} # replaced\n";
        let expected =
            text(&file).replace("asdf_library: {name: old, version: '1'} # replaced\n", library);
        assert_eq!(text(&new), expected);
    }
}

#[test]
fn replacing_an_array_with_a_number_changes_only_its_node_and_the_block_numbers() {
    let file = file(TREE, &[1, 2]);
    let mut tree = Tree::from_file(&file, 0).unwrap();
    tree.set("/a", 5).unwrap();
    let new = copy(&file, tree, WriteOptions::new().keep_library());
    let expected = text(&file)
        .replace(
            "!core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [3]}",
            "5",
        )
        .replace("source:   1   # second", "source:   0   # second");
    assert_eq!(text(&new), expected);
    let b = new.tree().unwrap().pointer("/b").unwrap().ndarray().unwrap();
    assert_eq!(b.read::<u8>().unwrap(), [2, 2, 2]);
}

#[test]
fn moving_an_array_into_the_tree_keeps_the_text_of_other_nodes() {
    let file = file(TREE, &[1, 2]);
    let new = copy(&file, Tree::from_file(&file, 10).unwrap(), WriteOptions::new().keep_library());
    let new = text(&new);
    assert!(new.contains("gain:    2.50   # measured"), "{new}");
    assert!(new.contains("data: [1, 1, 1]"), "{new}");
}

#[test]
fn a_copy_for_another_version_of_the_standard_changes_only_the_versions_of_tags() {
    let file = file(TREE, &[1, 2]);
    let options = WriteOptions::new().standard(Version::new(1, 0, 0)).keep_library();
    let new = copy(&file, Tree::from_file(&file, 0).unwrap(), options);
    let expected = text(&file)
        .replace("!core/asdf-1.1.0", "!core/asdf-1.0.0")
        .replace("!core/ndarray-1.1.0", "!core/ndarray-1.0.0");
    assert_eq!(text(&new), expected);
}

#[test]
fn a_new_library_entry_is_inserted_before_the_comments_of_the_first_entry() {
    let file = file("# about a\na: 1 # one\n", &[]);
    let new = copy(&file, Tree::from_file(&file, 0).unwrap(), WriteOptions::new());
    let new = text(&new);
    let (library, rest) = new.split_once("\n# about a\na: 1 # one\n...\n").unwrap();
    assert!(rest.is_empty() && library.contains("\nasdf_library: !core/software-1.0.0"), "{new}");
}

#[test]
fn a_tree_that_differs_too_much_from_the_original_is_rewritten_entirely() {
    let file = file(TREE, &[1, 2]);
    let tree = Tree::parse("other: [1, 2]\n").unwrap();
    let new = copy(&file, tree, WriteOptions::new().keep_library());
    assert!(text(&new).ends_with("--- !core/asdf-1.1.0\nother: [1, 2]\n...\n"), "{}", text(&new));
    let mut tree = Tree::from_file(&file, 0).unwrap();
    tree.set("/new", Array::from_slice(&[1_u8], &[1]).unwrap()).unwrap();
    let new = copy(&file, tree, WriteOptions::new());
    assert_eq!(new.tree().unwrap().pointer("/new").unwrap().ndarray().unwrap().len(), 1);
}
