//! Every way of reading an array verifies its block.

use std::io::sink;

use asdf::block::BlockError;
use asdf::ndarray::{ByteOrder, Order, PrintStyle, Slice};
use asdf::{Asdf, Error, ErrorKind, NdArray, OpenOptions, Result, Verify};
use binio::checksum::Algorithm;
use binio::source::ReadLog;

use super::{array, block, bytes_of};

/// The name of a way to read an array, and the function that reads the array.
type Read = (&'static str, fn(&NdArray<'_>) -> Result<()>);

/// All public ways to read an array of numbers.
const READS: &[Read] = &[
    ("view", |array| array.view::<u8>().map(drop)),
    ("read", |array| array.read::<u8>().map(drop)),
    ("read_into", |array| array.read_into::<u8>(&mut vec![0; len(array)])),
    ("read_bytes", |array| array.read_bytes(Order::C, ByteOrder::Native).map(drop)),
    ("read_bytes in columns", |array| array.read_bytes(Order::F, ByteOrder::Native).map(drop)),
    ("read_bytes_into", |array| {
        array.read_bytes_into(&mut vec![0; len(array)], Order::C, ByteOrder::Native)
    }),
    ("shared_bytes", |array| array.shared_bytes().map(drop)),
    ("write_summary", |array| array.write_summary(sink())),
    ("masked", |array| array.masked::<u8>().map(drop)),
    ("write_npy", |array| array.write_npy(sink())),
    ("write_elements as JSON", |array| array.write_elements(sink(), PrintStyle::Json)),
    ("write_elements as text", |array| array.write_elements(sink(), PrintStyle::Text)),
    ("write_elements as CSV", |array| array.write_elements(sink(), PrintStyle::Csv)),
    #[cfg(feature = "ndarray")]
    ("to_ndarray", |array| array.to_ndarray::<u8>().map(drop)),
];

/// Ways of reading text, masks and records, each with the pointer of an array in [`TREE`].
const OTHER_READS: &[(&str, Read)] = &[
    ("/text", ("strings", |array| array.strings().map(drop))),
    ("/masked_by_value", ("mask by a value", |array| array.mask().map(drop))),
    ("/masked_by_array", ("mask by an array", |array| array.mask().map(drop))),
    ("/record", ("field", |array| array.field("x")?.read::<u8>().map(drop))),
];

const TREE: &str = "
numbers: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [2, 3]}
text: !core/ndarray-1.1.0 {source: 0, datatype: [ascii, 3], byteorder: big, shape: [2]}
masked_by_value: !core/ndarray-1.1.0
  {source: 0, datatype: uint8, byteorder: big, shape: [6], mask: 1}
masked_by_array: !core/ndarray-1.1.0
  datatype: uint8
  byteorder: big
  shape: [6]
  data: [1, 2, 3, 4, 5, 6]
  mask: !core/ndarray-1.1.0 {source: 0, datatype: bool8, byteorder: big, shape: [6]}
record: !core/ndarray-1.1.0
  source: 0
  datatype:
  - {name: x, datatype: uint8, byteorder: big}
  - {name: y, datatype: uint16, byteorder: big}
  byteorder: big
  shape: [2]";

fn len(array: &NdArray<'_>) -> usize {
    usize::try_from(array.len()).unwrap()
}

/// Returns pairs of a compression name and a block. Each block stores six bytes and has a wrong
/// checksum.
fn damaged_blocks() -> Vec<(&'static str, Vec<u8>)> {
    let data = b"abcabc";
    let zlib = b"\x78\x9c\x4b\x4c\x4a\x4e\x4c\x4a\x06\x00\x08\x0c\x02\x4d";
    let lz4 = b"\0\0\0\x0b\x06\0\0\0\x60abcabc";
    let blocks = [
        ("none", block(*b"\0\0\0\0", data, 6)),
        ("zlib", block(*b"zlib", zlib, 6)),
        ("lz4", block(*b"lz4\0", lz4, 6)),
    ];
    let damage = |(name, mut block): (_, Vec<u8>)| {
        block[38..54].fill(1);
        (name, block)
    };
    blocks.map(damage).to_vec()
}

fn is_checksum_error(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Block { index: 0, kind: BlockError::Checksum { .. } })
}

/// Calls `check` twice for each damaged block: with a function that opens the file from memory, and
/// with a function that opens the file from a source. Also passes the name of the compression.
fn for_each_file(verify: Verify, check: impl Fn(&str, &dyn Fn() -> Asdf)) {
    for (compression, block) in damaged_blocks() {
        let bytes = [bytes_of(TREE, &[]), block].concat();
        let options = OpenOptions::new().verify(verify);
        check(compression, &|| options.from_bytes(bytes.clone()).unwrap());
        let source = |bytes: &[u8]| std::sync::Arc::new(bytes.to_vec());
        check(compression, &|| options.from_source(source(&bytes)).unwrap());
    }
}

/// Reads the array `/numbers` and a slice of the array in every way, and the other arrays in the
/// ways that apply to them. Calls `check` with the name and the result of each read.
fn for_each_read(open: &dyn Fn() -> Asdf, check: impl Fn(&str, Result<()>)) {
    let column = Slice::parse(":, 1").unwrap();
    for (name, read) in READS {
        let file = open();
        check(name, read(&array(&file, "/numbers")));
        let file = open();
        check(
            &format!("{name} of a slice"),
            read(&array(&file, "/numbers").slice(&column).unwrap()),
        );
    }
    for (pointer, (name, read)) in OTHER_READS {
        let file = open();
        check(name, read(&array(&file, pointer)));
    }
}

#[test]
fn with_verification_every_read_of_a_block_with_a_wrong_checksum_fails() {
    for_each_file(Verify::OnRead, |compression, open| {
        for_each_read(open, |name, result| match result {
            Err(error) => assert!(is_checksum_error(&error), "{compression}, {name}: {error}"),
            Ok(()) => panic!("{compression}, {name}: the wrong checksum was not noticed"),
        });
    });
}

#[test]
fn without_verification_every_read_of_a_block_with_a_wrong_checksum_succeeds() {
    for_each_file(Verify::Never, |compression, open| {
        for_each_read(open, |name, result| {
            result.unwrap_or_else(|error| panic!("{compression}, {name}: {error}"));
        });
    });
}

#[test]
fn after_a_checksum_mismatch_every_later_read_also_fails() {
    for_each_file(Verify::OnRead, |compression, open| {
        let file = open();
        for (name, read) in READS.iter().chain(READS) {
            let error = read(&array(&file, "/numbers")).unwrap_err();
            assert!(is_checksum_error(&error), "{compression}, {name}: {error}");
        }
    });
}

/// The names of those [`READS`] that read the whole array at once, into new memory or a buffer.
const READS_AT_ONCE: [&str; 5] =
    ["read", "read_into", "read_bytes", "read_bytes_into", "to_ndarray"];

#[test]
fn reading_an_entire_array_verifies_it_in_the_same_pass() {
    let data: Vec<u8> = (0..3 << 20).map(|n: u32| n.to_le_bytes()[1]).collect();
    let mut block = block(*b"\0\0\0\0", &data, data.len());
    block[38..54].copy_from_slice(Algorithm::Md5.digest(&data).as_bytes());
    let keys = "source: 0, datatype: uint8, byteorder: big, shape: [3, 1048576]";
    let tree = format!("numbers: !core/ndarray-1.1.0 {{{keys}}}");
    let source = std::sync::Arc::new(ReadLog::new([bytes_of(&tree, &[]), block].concat()));
    for (name, read) in READS {
        let options = OpenOptions::new().verify(Verify::OnRead);
        let file = options.from_source(source.clone()).unwrap();
        let array = array(&file, "/numbers");
        source.clear();
        read(&array).unwrap();
        let len: u64 = source.ranges().iter().map(|range| range.end - range.start).sum();
        // Opening the file has already read up to 64 KiB of the data.
        let once = data.len() as u64 - (64 << 10)..=data.len() as u64;
        if READS_AT_ONCE.contains(name) {
            assert!(once.contains(&len), "{name}: {len}");
        }
        assert_eq!(array.read::<u8>().unwrap(), data, "{name}");
    }
}
