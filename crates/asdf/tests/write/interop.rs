//! Writing files for the Python reference to read: copies of the reference's files, repaired files,
//! and strings of every kind. `cargo xtask interop` sets `SCIBIN_INTEROP` to the folder that
//! contains the files, and `interop/check.py` reads them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use asdf::Value;
use asdf::save::repair::{RecoverOptions, recover};
use asdf::save::{Editor, Method};
use asdf::value::{Mapping, Sequence};
use asdf::{Asdf, Compression, Tree, WriteOptions, Writer};
use serde_json::{Value as Json, json};

use super::text::ODD_TEXTS;

/// Ways to copy a file, each with a name, the compression, the alignment, and the number of
/// elements below which arrays are inline.
const WAYS: &[(&str, Compression, u64, u64)] = &[
    ("plain", Compression::None, 1, 0),
    ("page", Compression::None, 4096, 0),
    ("zlib", Compression::Zlib(6), 64, 0),
    ("bzp2", Compression::Bzip2(9), 8, 0),
    ("lz4", Compression::Lz4, 64, 0),
    #[cfg(feature = "lz4f")]
    ("lz4f", Compression::Lz4Frame, 64, 0),
    #[cfg(feature = "zstd")]
    ("zstd", Compression::Zstd(3), 64, 0),
    #[cfg(feature = "blsc")]
    ("blsc", Compression::Blosc(5), 64, 0),
    #[cfg(feature = "blsc")]
    ("blsc-chunked", Compression::BloscChunked(5), 64, 0),
    ("inline", Compression::None, 64, 1000),
];

#[test]
fn interop_copies_of_reference_files_are_written_for_python() {
    let Some(folder) = testdata::interop_folder() else { return };
    let ours = folder.join("ours");
    fs::create_dir_all(&ours).unwrap();
    let cases: Json =
        serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut copies = Vec::new();
    for case in cases["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let file = Asdf::open(folder.join(case["file"].as_str().unwrap())).unwrap();
        for &(way, compression, align, inline_below) in WAYS {
            let tree = Tree::from_file(&file, inline_below).unwrap();
            let options = WriteOptions::new().compression(compression).align(align);
            let path = ours.join(format!("{name}__{way}.asdf"));
            Writer::new(tree).blocks_of(&file).options(options).write(&path).unwrap();
            copies.push(json!({"name": name, "file": path.file_name().unwrap().to_str()}));
        }
        let original = folder.join(case["file"].as_str().unwrap());
        let path = ours.join(format!("{name}__edited.asdf"));
        if edit_and_undo(&file, &original, &path) {
            copies.push(json!({"name": name, "file": path.file_name().unwrap().to_str()}));
        }
    }
    fs::write(ours.join("copies.json"), Json::from(copies).to_string()).unwrap();
}

/// Edits a copy so that its blocks move, then undoes the edit. Does nothing and returns `false` if
/// the file refers to external files, because they are not in the folder of the copy.
fn edit_and_undo(file: &Asdf, original: &Path, path: &Path) -> bool {
    let is_external =
        |node: asdf::Node<'_>| node.get("source").is_some_and(|source| source.as_str().is_some());
    if file.nodes().unwrap().any(is_external) {
        return false;
    }
    fs::copy(original, path).unwrap();
    let mut editor = Editor::open(path).unwrap();
    editor.set("/scibin", &Tree::new("long text ".repeat(700))).unwrap();
    assert_eq!(editor.commit().unwrap().method, Method::NewFile);
    let mut editor = Editor::open(path).unwrap();
    editor.remove("/scibin").unwrap();
    editor.commit().unwrap();
    true
}

#[test]
fn interop_repaired_files_are_written_for_python() {
    let Some(folder) = testdata::interop_folder() else { return };
    let ours = folder.join("ours");
    fs::create_dir_all(&ours).unwrap();
    let cases: Json =
        serde_json::from_slice(&fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut files = Vec::new();
    for case in cases["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let good = fs::read(folder.join(case["file"].as_str().unwrap())).unwrap();
        let index = good.windows(17).rposition(|text| text == b"#ASDF BLOCK INDEX");
        let Some(index) = index else { continue };
        let crlf = |&byte: &u8| if byte == b'\n' { vec![b'\r', byte] } else { vec![byte] };
        let damaged = [
            ("no_index", good[..index].to_vec()),
            ("rubbish", [&good[..index], b"rubbish", &good[index..]].concat()),
            ("stale", [&good[..index], b"#ASDF BLOCK INDEX\n%YAML 1.1\n---\n- 7\n...\n"].concat()),
            ("crlf", good.iter().flat_map(crlf).collect()),
        ];
        for (damage, bytes) in damaged {
            let path = ours.join(format!("{name}__{damage}.asdf"));
            let out = fs::File::create(&path).unwrap();
            let report = recover(Arc::new(bytes), out, &RecoverOptions::new()).unwrap();
            assert!(report.lost.is_empty(), "{name} {damage}: {report:?}");
            files.push(json!({"name": name, "file": path.file_name().unwrap().to_str()}));
        }
    }
    assert!(!files.is_empty());
    fs::write(ours.join("repaired.json"), Json::from(files).to_string()).unwrap();
}

/// Returns long strings, and strings that other readers might take for another type or for YAML
/// syntax.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = ODD_TEXTS.iter().map(|text| (*text).to_owned()).collect();
    texts.push("long word ".repeat(50));
    texts.push("k".repeat(200));
    texts.push("two  blanks  ".repeat(30));
    texts.push("é\u{2028} ".repeat(60));
    texts
}

#[test]
fn interop_strings_and_numbers_are_written_for_python() {
    let Some(folder) = testdata::interop_folder() else { return };
    let ours = folder.join("ours");
    fs::create_dir_all(&ours).unwrap();
    let texts = texts();
    let mut tree = Tree::default();
    let list: Sequence = texts.iter().map(String::as_str).collect();
    let keys: Mapping = texts.iter().map(|text| (text.as_str(), 1)).collect();
    let lines = Value::from(vec![Value::from(list.clone()), Vec::<i32>::new().into()]);
    tree.set("/brackets", list.clone()).unwrap();
    tree.set("/keys", keys).unwrap();
    tree.set("/lines", lines).unwrap();
    tree.set("/nested", list.items().iter().map(|item| vec![item.clone()]).collect::<Sequence>())
        .unwrap();
    let bits = [0.1, -0.0, 1e20, 1e-5, f64::MAX, 5e-324, 1e16, 123_456_789.123, f64::INFINITY];
    tree.set("/floats", bits.to_vec()).unwrap();
    tree.set("/big", i128::MAX).unwrap();
    tree.set("/bytes", Value::Binary((0..=255).collect())).unwrap();
    let shared = tree.share(vec![1, 2]);
    tree.set("/shared", vec![shared, shared]).unwrap();
    let cycle = tree.share(Mapping::new());
    *tree.resolve_mut(cycle).unwrap() = Mapping::from_iter([("self", cycle)]).into();
    tree.set("/cycle", cycle).unwrap();
    Writer::new(tree).write(ours.join("texts.asdf")).unwrap();
    let expected = json!({
        "texts": texts,
        "floats": bits.map(|number| number.to_bits().to_string()),
        "big": i128::MAX.to_string(),
    });
    fs::write(ours.join("texts.json"), expected.to_string()).unwrap();
}
