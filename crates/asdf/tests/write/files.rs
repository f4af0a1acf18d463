//! Writing files based on other files: copies, exploded and imploded files, and the state after a
//! failure.

use std::fs;
use std::io::Cursor;

use asdf::Value;
use asdf::ndarray::Datatype;
use asdf::tag::Version;
use asdf::value::Array;
use asdf::{Asdf, Compression, ErrorKind, OpenOptions, Tree, WriteOptions, Writer};
use binio::write::fault::{Fault, FaultyWriter};

use crate::{bytes_of, open};

/// Creates a file with three arrays, each in its own block. The third array has an unknown tag.
fn original() -> Vec<u8> {
    let numbers = |len: u64| {
        let bytes: Vec<u8> = (0..len).flat_map(u64::to_le_bytes).collect();
        Array::from_bytes(bytes, Datatype::parse("<u8").unwrap(), &[len]).unwrap()
    };
    let mut tree = Tree::default();
    tree.set("/small", numbers(3)).unwrap();
    tree.set("/large", numbers(5000).compression(Compression::Zlib(1))).unwrap();
    let unnamed = Value::from(numbers(7)).tagged("tag:example.com,2026:unknown-1.0.0");
    tree.set("/unnamed", unnamed).unwrap();
    bytes_of(&Writer::new(tree))
}

fn numbers(file: &Asdf, key: &str) -> Vec<u64> {
    file.tree().unwrap().get(key).unwrap().ndarray_forced().unwrap().read().unwrap()
}

fn codes(file: &Asdf) -> Vec<String> {
    let code = |block: asdf::Result<asdf::block::Block<'_>>| {
        let block = block.unwrap();
        if block.is_compressed() {
            block.header().unwrap().compression_name()
        } else {
            String::new()
        }
    };
    file.blocks().iter().map(code).collect()
}

fn copy(file: &Asdf, inline_below: u64, options: WriteOptions) -> Asdf {
    let tree = Tree::from_file(file, inline_below).unwrap();
    open(bytes_of(&Writer::new(tree).blocks_of(file).options(options)))
}

#[test]
fn a_copied_file_keeps_the_blocks_and_their_compression() {
    let file = open(original());
    let copied = copy(&file, 0, WriteOptions::new());
    assert_eq!(codes(&copied), ["", "zlib", ""]);
    for key in ["small", "large", "unnamed"] {
        assert_eq!(numbers(&copied, key), numbers(&file, key), "{key}");
    }
    let raw = |file: &Asdf| file.blocks().get(1).unwrap().raw().unwrap();
    assert_eq!(raw(&copied), raw(&file));
}

#[test]
fn copying_with_another_compression_recompresses_all_blocks() {
    let file = open(original());
    let copied = copy(&file, 0, WriteOptions::new().compression(Compression::Lz4));
    assert_eq!(codes(&copied), ["lz4", "lz4", "lz4"]);
    assert_eq!(numbers(&copied, "large"), numbers(&file, "large"));
}

#[test]
fn copying_an_array_with_float16_values_to_a_standard_without_float16_is_an_error() {
    let field = "{name: a, datatype: float16}";
    for datatype in [
        "float16".to_owned(),
        format!("[{field}]"),
        "[int8, float16]".to_owned(),
        format!("[{{name: r, datatype: [int8, {field}]}}]"),
        format!("&d [{field}, {{name: b, datatype: *d}}]"),
    ] {
        for storage in ["source: 0, byteorder: little, shape: [0]", "data: [], shape: [0]"] {
            let node = format!("!core/ndarray-1.1.0 {{datatype: {datatype}, {storage}}}");
            let (tree, file) = (Tree::parse(&format!("x: {node}")).unwrap(), open(original()));
            let options = WriteOptions::new().standard(Version::new(1, 5, 0));
            let writer = Writer::new(tree).blocks_of(&file).options(options);
            let error = writer.write_to(&mut Cursor::new(Vec::new())).unwrap_err().to_string();
            let expected =
                "/x: version 1.5.0 of the standard has no datatype float16: choose 1.6.0";
            assert_eq!(error, expected, "{node}");
        }
    }
}

#[test]
fn a_record_with_a_field_named_float16_is_copied_to_an_older_standard() {
    let node = "!core/ndarray-1.1.0 {source: 0, byteorder: little, shape: [3], \
                datatype: [{name: float16, datatype: int64}]}";
    let (tree, file) = (Tree::parse(&format!("x: {node}")).unwrap(), open(original()));
    let options = WriteOptions::new().standard(Version::new(1, 5, 0));
    let writer = Writer::new(tree).blocks_of(&file).options(options);
    assert!(writer.write_to(&mut Cursor::new(Vec::new())).is_ok());
}

#[test]
fn copying_a_damaged_stream_with_another_compression_is_an_error() {
    let noise = |at: u32| at.wrapping_mul(0x9e37_79b9).rotate_left(at % 31).to_le_bytes();
    let noise: Vec<u8> = (0..3_000_000).flat_map(noise).collect();
    let data = Array::from_slice(&noise, &[noise.len() as u64]).unwrap();
    let mut tree = Tree::default();
    tree.set("/large", data).unwrap();
    let options = WriteOptions::new().compression(Compression::Zlib(1)).checksum(false);
    let bytes = bytes_of(&Writer::new(tree).options(options));
    let stored = Asdf::from_bytes(bytes.clone()).unwrap();
    let stored = stored.blocks().get(0).unwrap().data_range().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    // Damage the stream at its beginning, in its middle, and in the checksum at its end.
    for at in [stored.start, u64::midpoint(stored.start, stored.end), stored.end - 1] {
        let mut bytes = bytes.clone();
        bytes[usize::try_from(at).unwrap()] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let file = Asdf::open(&path).unwrap();
        let writer = Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file);
        let writer = writer.options(WriteOptions::new().compression(Compression::Lz4));
        let error = writer.write_to(std::io::Cursor::new(Vec::new())).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Codec { index: 0, .. }), "{at}: {error}");
    }
    // The error from a failing output is returned, and the writer can be used again.
    fs::write(&path, &bytes).unwrap();
    let file = Asdf::open(&path).unwrap();
    let writer = Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file);
    let writer = writer.options(WriteOptions::new().compression(Compression::None));
    let fault = Fault::FailAtByte(2_000_000);
    let mut broken = FaultyWriter::new(std::io::Cursor::new(Vec::new()), fault);
    assert!(writer.write_to(&mut broken).unwrap_err().io_error().is_some());
    let copy = open(bytes_of(&writer));
    assert!(copy.blocks().get(0).unwrap().decode().unwrap() == noise);
}

#[test]
fn copying_with_a_compression_level_recompresses_the_blocks() {
    let len = |file: &Asdf| file.blocks().get(1).unwrap().header().unwrap().used_size;
    let file = open(original());
    let small = copy(&file, 0, WriteOptions::new().compression(Compression::Zlib(9)));
    assert!(len(&small) < len(&file), "{} and {}", len(&small), len(&file));
    assert_eq!(numbers(&small, "large"), numbers(&file, "large"));
    assert_eq!(len(&copy(&small, 0, WriteOptions::new())), len(&small));
}

#[test]
fn a_copy_omits_only_the_blocks_of_arrays_that_moved_into_the_tree() {
    let file = open(original());
    let copied = copy(&file, 10, WriteOptions::new());
    // The node with the unknown tag is not known to be an array, so its block is kept.
    assert_eq!(codes(&copied), ["zlib", ""]);
    assert!(copied.tree().unwrap().pointer("/small/data").is_ok());
    for key in ["small", "large"] {
        assert_eq!(numbers(&copied, key), numbers(&file, key), "{key}");
    }
}

#[test]
fn copying_a_damaged_block_is_an_error() {
    let mut bytes = original();
    let file = open(bytes.clone());
    let at = usize::try_from(file.blocks().get(0).unwrap().data_range().unwrap().start).unwrap();
    bytes[at] ^= 1;
    let file = Asdf::from_bytes(bytes).unwrap();
    for options in [WriteOptions::new(), WriteOptions::new().compression(Compression::Lz4)] {
        let tree = Tree::from_file(&file, 0).unwrap();
        let writer = Writer::new(tree).blocks_of(&file).options(options);
        let error = writer.write_to(std::io::Cursor::new(Vec::new())).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Block { index: 0, .. }), "{error}");
        assert!(error.is_bad_data());
    }
}

#[test]
fn an_open_dimension_is_copied_as_the_number_of_rows() {
    let tree = "s: !core/ndarray-1.1.0\n  {source: -1, datatype: uint8, byteorder: big, shape: ['*', 2]}\n";
    let mut bytes = format!(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{tree}...\n"
    )
    .into_bytes();
    bytes.extend(b"\xd3BLK\0\x30\0\0\0\x01");
    bytes.extend([0; 44]);
    bytes.extend(b"abcdef");
    let file = Asdf::from_bytes(bytes).unwrap();
    let copied = copy(&file, 0, WriteOptions::new());
    let node = copied.tree().unwrap().get("s").unwrap();
    assert_eq!(node.pointer("/shape/0").unwrap().as_i64(), Some(3));
    assert_eq!(node.get("source").unwrap().as_i64(), Some(0));
    assert_eq!(node.ndarray().unwrap().read::<u8>().unwrap(), b"abcdef");
    assert!(!copied.blocks().get(0).unwrap().header().unwrap().is_streamed());
}

#[test]
fn exploding_and_imploding_a_file_restores_its_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let file = open(original());
    let path = folder.path().join("a b.asdf");
    let writer = Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file);
    let report = writer.explode(&path).unwrap();
    let names: Vec<_> = report.files.iter().map(|path| path.file_name().unwrap()).collect();
    assert_eq!(names, ["a b0000.asdf", "a b0001.asdf", "a b0002.asdf"]);
    assert_eq!(report.blocks, 0);
    let exploded = Asdf::open(&path).unwrap();
    assert_eq!(exploded.blocks().len().unwrap(), 0);
    assert_eq!(
        exploded.tree().unwrap().pointer("/large/source").unwrap().as_str(),
        Some("a%20b0001.asdf")
    );
    assert_eq!(numbers(&exploded, "large"), numbers(&file, "large"));
    assert_eq!(Asdf::open(&report.files[1]).unwrap().diagnostics(), []);

    let tree = Tree::from_file(&exploded, 0).unwrap();
    let imploded = open(bytes_of(&Writer::new(tree).blocks_of(&exploded).implode(true)));
    assert_eq!(codes(&imploded), ["", "zlib"]);
    for key in ["small", "large"] {
        assert_eq!(numbers(&imploded, key), numbers(&file, key), "{key}");
    }
}

#[test]
fn exploding_does_not_replace_files_to_which_the_tree_refers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let file = open(original());
    let writer = Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file);
    writer.explode(&path).unwrap();
    // Add a block to the exploded file, and explode it to the same path.
    let mut editor = asdf::save::Editor::open(&path).unwrap();
    editor.set_array("/new", Array::from_slice(&[7_u64, 8], &[2]).unwrap()).unwrap();
    editor.commit().unwrap();
    let exploded = Asdf::open(&path).unwrap();
    let writer = Writer::new(Tree::from_file(&exploded, 0).unwrap()).blocks_of(&exploded);
    let report = writer.explode(&path).unwrap();
    assert_eq!(report.files, [folder.path().join("a0002.asdf")]);
    let again = Asdf::open(&path).unwrap();
    for key in ["small", "large"] {
        assert_eq!(numbers(&again, key), numbers(&file, key), "{key}");
    }
    assert_eq!(numbers(&again, "new"), [7, 8]);
}

#[test]
fn exploding_a_damaged_file_leaves_existing_files_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let file = open(original());
    Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file).explode(&path).unwrap();
    let content = || -> Vec<(std::ffi::OsString, Vec<u8>)> {
        let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
        let mut all: Vec<_> =
            entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect();
        all.sort();
        all
    };
    let before = content();
    // Damage the last block of a copy, and explode the copy to the path of the exploded file.
    let mut bytes = original();
    let last = file.blocks().get(2).unwrap().data_range().unwrap();
    bytes[usize::try_from(last.start).unwrap()] ^= 1;
    let bad = Asdf::from_bytes(bytes).unwrap();
    let writer = Writer::new(Tree::from_file(&bad, 0).unwrap()).blocks_of(&bad);
    assert!(writer.explode(&path).is_err());
    assert!(content() == before);
}

#[test]
fn imploding_external_files_that_the_policy_forbids_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    let file = open(original());
    Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file).explode(&path).unwrap();
    let exploded = OpenOptions::new().external(asdf::External::Deny).open(&path).unwrap();
    let tree = Tree::from_file(&exploded, 0).unwrap();
    let writer = Writer::new(tree).blocks_of(&exploded).implode(true);
    let error = writer.write_to(std::io::Cursor::new(Vec::new())).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Reference { .. }), "{error}");
}

#[test]
fn a_failed_write_leaves_the_old_file_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, b"old").unwrap();
    let mut tree = Tree::default();
    tree.set("/a", Array::from_slice(&[1_u8], &[1]).unwrap()).unwrap();
    tree.root_mut().as_mapping_mut().unwrap().insert(1.5, "no key of 1.6.0");
    assert!(Writer::new(tree).write(&path).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let writer = Writer::new(Tree::default());
    writer.write(&path).unwrap();
    assert!(Asdf::open(&path).is_ok());
}

#[test]
fn a_failure_of_the_output_at_any_operation_or_byte_is_reported() {
    let file = open(original());
    let writer = || Writer::new(Tree::from_file(&file, 0).unwrap()).blocks_of(&file);
    let mut whole = FaultyWriter::new(std::io::Cursor::new(Vec::new()), Fault::None);
    writer().write_to(&mut whole).unwrap();
    for operation in 0..whole.operations() {
        let fault = Fault::FailAtOperation(operation);
        let mut broken = FaultyWriter::new(std::io::Cursor::new(Vec::new()), fault);
        let error = writer().write_to(&mut broken).unwrap_err();
        assert!(error.io_error().is_some(), "{operation}: {error}");
    }
    for byte in (0..whole.bytes()).step_by(97) {
        let mut broken =
            FaultyWriter::new(std::io::Cursor::new(Vec::new()), Fault::FailAtByte(byte));
        assert!(writer().write_to(&mut broken).is_err(), "{byte}");
    }
}
