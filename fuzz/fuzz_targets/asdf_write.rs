//! Writes arbitrary trees and arrays with arbitrary options. If writing succeeds, reading must
//! return the same values, and writing the file again must produce the same bytes.

#![no_main]

use std::io::Cursor;

use asdf::Value;
use asdf::ndarray::{ByteOrder, Datatype, Order, ScalarKind, Strided};
use asdf::value::{Array, ArrayStorage, Mask};
use asdf::yaml::{Document, ParseOptions};
use asdf::{Asdf, Compression, External, OpenOptions, Tree, Verify, WriteOptions, Writer};
use binio::Limits;
use libfuzzer_sys::fuzz_target;

/// Number of bytes at the end of the input that choose the options and arrays. The bytes before
/// them may be an unmodified ASDF file or YAML text.
const CHOICES: usize = 12;

const COMPRESSIONS: [Compression; 8] = [
    Compression::None,
    Compression::Zlib(1),
    Compression::Bzip2(1),
    Compression::Lz4,
    Compression::Lz4Frame,
    Compression::Zstd(1),
    Compression::Blosc(1),
    Compression::BloscChunked(1),
];

const DATATYPES: [&str; 12] =
    ["|b1", "|i1", ">i2", "<i4", "<u8", ">u8", "<f2", "<f4", ">f8", "<c16", "|S3", ">U2"];

fuzz_target!(|data: &[u8]| {
    let Some((data, choices)) = data.split_last_chunk::<CHOICES>() else { return };
    let options = write_options(choices);
    if data.starts_with(b"#ASDF") {
        write_file(data, choices, &options);
    } else if let Ok(text) = std::str::from_utf8(data) {
        write_text(text, choices, &options);
    }
});

/// Returns the options chosen by the input, except for the compression.
fn write_options(choices: &[u8; CHOICES]) -> WriteOptions {
    let &[_, align, standard, inline_below, pad, flags, ..] = choices;
    let standards = asdf::save::STANDARDS;
    WriteOptions::new()
        .align(1 << (align % 13))
        .standard(standards[usize::from(standard) % standards.len()])
        .inline_below(u64::from(inline_below))
        .pad_tree(u64::from(pad))
        .checksum(flags & 1 == 0)
        .index(flags & 2 == 0)
}

/// Selects a single compression for all blocks, or keeps the compression of each block.
fn compressing(options: &WriteOptions, choice: u8) -> WriteOptions {
    match COMPRESSIONS.get(usize::from(choice) % (COMPRESSIONS.len() + 1)) {
        Some(&compression) => options.clone().compression(compression),
        None => options.clone(),
    }
}

fn read(bytes: Vec<u8>) -> Asdf {
    let options = OpenOptions::new().verify(Verify::OnRead).external(External::Deny);
    options.from_bytes(bytes).expect("a written file can be opened")
}

fn write(writer: &Writer<'_>) -> Option<Vec<u8>> {
    let mut out = Cursor::new(Vec::new());
    let report = writer.write_to(&mut out).ok()?;
    assert_eq!(report.len, out.get_ref().len() as u64);
    Some(out.into_inner())
}

/// Writes a file again with its blocks unchanged, and checks that the result is identical.
fn write_again(bytes: &[u8], options: &WriteOptions) {
    let file = read(bytes.to_vec());
    let tree = Tree::from_file(&file, 0).expect("the tree of a written file can be read");
    let again = write(&Writer::new(tree).options(options.clone()).blocks_of(&file));
    assert!(again.as_deref() == Some(bytes), "writing the file again changed it");
}

/// Copies a file, and compares the arrays at the top level of the copy with those of the original.
fn write_file(data: &[u8], choices: &[u8; CHOICES], options: &WriteOptions) {
    // Use low limits, because each element may become a number in a tree that is written twice and
    // read three times.
    let limits = Limits::default().max_alloc(1 << 17).max_decoded(1 << 17).max_items(1 << 16);
    let opening = OpenOptions::new().limits(limits).external(External::Deny);
    let Ok(file) = opening.from_bytes(data.to_vec()) else { return };
    let tree = match choices[6] % 4 {
        0 => Tree::from_file_inline(&file),
        1 => Tree::from_file(&file, 100),
        _ => Tree::from_file(&file, 0),
    };
    let Ok(tree) = tree else { return };
    let writer = Writer::new(tree).options(compressing(options, choices[0])).blocks_of(&file);
    let Some(bytes) = write(&writer.implode(choices[6] & 4 != 0)) else { return };
    let copy = read(bytes.clone());
    let (tree, copied) = (file.tree().expect("it was read"), copy.tree().expect("a tree"));
    for (key, node) in tree.entries().filter(|(_, node)| node.is_ndarray()) {
        let (Some(key), Ok(array)) = (key.as_str(), node.ndarray()) else { continue };
        let Ok(want) = array.read_bytes(Order::C, ByteOrder::Little) else { continue };
        let node_of_copy = copied.get(key).expect("the key");
        let found = node_of_copy.ndarray().expect("an array");
        let read = found.read_bytes(Order::C, ByteOrder::Little).expect("elements");
        assert_eq!(array.shape(), found.shape());
        let is_in_block = node.get("source").is_some() && node_of_copy.get("source").is_some();
        assert!(!is_in_block || read == want, "{key}: the elements changed");
    }
    write_again(&bytes, options);
}

/// Parses YAML, checks that it survives a round trip, adds arrays, and checks that the written file
/// contains them.
fn write_text(text: &str, choices: &[u8; CHOICES], options: &WriteOptions) {
    let Ok(mut tree) = Tree::parse(text) else { return };
    if let Some(written) = yaml(&tree) {
        let again = Tree::parse(&written).expect("written YAML can be parsed");
        assert_eq!(yaml(&again).as_ref(), Some(&written), "writing the YAML again changed it");
        if text.starts_with('%') {
            let parse = |text: &str| {
                Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new())
            };
            let (before, after) = (parse(text), parse(&written));
            let (before, after) =
                (before.expect("it was parsed"), after.expect("written YAML can be parsed"));
            assert!(before.root() == after.root(), "the value changed:\n{written}");
        }
    }
    let number = usize::from(choices[6] % 4);
    let arrays = choices[7..].chunks(2).take(number).map(array);
    let arrays: Vec<Array> = arrays.collect();
    for (number, array) in arrays.iter().enumerate() {
        if tree.set(&pointer(number), array.clone()).is_err() {
            return;
        }
    }
    let writer = Writer::new(tree).options(compressing(options, choices[0]));
    let Some(bytes) = write(&writer) else { return };
    let file = read(bytes.clone());
    for (number, array) in arrays.iter().enumerate() {
        let node = file.tree().and_then(|tree| tree.pointer(&pointer(number))).expect("the node");
        let found = node.ndarray().expect("an array");
        assert_eq!(found.shape(), array.shape());
        let read = found.read_bytes(Order::C, ByteOrder::Little).expect("elements");
        let view = array.view().expect("a view");
        let want = view.read_bytes(Order::C, ByteOrder::Little).expect("elements");
        // Inline arrays preserve neither the bits of a NaN nor a `true` stored as a byte other than
        // 1, so only compare the types that they preserve exactly.
        let kind = array.datatype().as_scalar().map(|scalar| scalar.kind());
        let is_exact = matches!(
            kind,
            Some(ScalarKind::Int | ScalarKind::Uint | ScalarKind::Bytes | ScalarKind::Unicode)
        );
        if is_exact || node.get("source").is_some() {
            assert!(read == want, "the elements changed");
        }
    }
    write_again(&bytes, options);
}

fn pointer(number: usize) -> String {
    format!("/array {number} of the fuzz target")
}

fn yaml(tree: &Tree) -> Option<String> {
    let mut text = Vec::new();
    tree.write_yaml(&mut text).ok()?;
    Some(String::from_utf8(text).expect("YAML is UTF-8"))
}

/// Creates an array whose type, shape, layout and storage are chosen by two bytes.
fn array(choices: &[u8]) -> Array {
    let [first, second] = [choices[0], choices.get(1).copied().unwrap_or_default()];
    let datatype = DATATYPES[usize::from(first) % DATATYPES.len()];
    let datatype = Datatype::parse(datatype).expect("a datatype");
    let shape = [u64::from(second % 5), u64::from(second / 5 % 7)];
    let itemsize = datatype.itemsize();
    let len = usize::try_from(shape[0] * shape[1] * itemsize).expect("a small array");
    // Keep bytes below 128, so that `|S3` elements are valid text.
    let bytes: Vec<u8> = (0..len).map(|at| (at as u8).wrapping_mul(second) % 128).collect();
    let array = Array::from_bytes(bytes, datatype.clone(), &shape).expect("an array");
    let array = match first / 16 % 4 {
        0 => {
            let strides = vec![i64::try_from(itemsize).expect("small"); 2];
            match Strided::new(shape.to_vec(), strides, 0, itemsize, len as u64) {
                Ok(layout) => array.with_layout(datatype, layout).expect("a view"),
                Err(_) => array,
            }
        }
        1 => array.mask(Mask::Value(Value::from(u64::from(second)))),
        2 => {
            let mask = vec![second % 2 == 0; len / usize::try_from(itemsize).expect("small")];
            array.mask(Mask::Array(Box::new(Array::from_slice(&mask, &shape).expect("a mask"))))
        }
        _ => array,
    };
    match first / 64 {
        0 => array.storage(ArrayStorage::Inline),
        1 => array.storage(ArrayStorage::Block),
        _ => array,
    }
}
