//! Opening damaged files of all kinds.

use std::sync::Arc;

use binio::source::ReadLog;
use binio::{Bytes, ReadAt};
use memchr::memmem;
use proptest::prelude::*;

use super::{Logged, head_len, open};
use crate::asdf::Asdf;
use crate::diagnostic::Code;
use crate::file::locate::test_file::{HEAD, TREE, block, codes, contents, index};
use crate::layout::BLOCK_MAGIC;
use crate::options::{OpenOptions, Strictness};

/// Describes the content of a file as text, so that two files can be compared.
fn summary(file: &Asdf) -> String {
    let blocks: Vec<_> = file
        .blocks()
        .iter()
        .map(|block| {
            let block = block.unwrap();
            let data = block.decode().map_err(|error| error.to_string());
            let range = block.decode_range(1..2).map_err(|error| error.to_string());
            (block.offset(), data, range, block.verify().map_err(|error| error.to_string()))
        })
        .collect();
    let tree = file.document().map(crate::yaml::Document::node_count).ok();
    format!("{:?} {tree:?} {blocks:?} {:?}", file.layout(), file.diagnostics())
}

/// Returns a file with padding, an index, trailing zeros, and blocks that differ in compression and checksum.
fn rich_file() -> Vec<u8> {
    let zlib = b"\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27";
    let lz4 = b"\0\0\0\x08\x03\0\0\0\x30abc";
    let blocks = [
        block(b"one").checksum_of(b"one").bytes(),
        block(zlib).code(*b"zlib").data_size(3).checksum_of(b"abc").bytes(),
        block(lz4).code(*b"lz4\0").data_size(3).allocated_size(20).bytes(),
    ];
    let mut at = head_len() + 8;
    let mut offsets = Vec::new();
    for block in &blocks {
        offsets.push(at);
        at += block.len();
    }
    [HEAD, TREE, b"       \n", &blocks.concat(), &index(&offsets), b"\0\0"].concat()
}

#[test]
fn a_file_whose_comments_are_longer_than_the_limit_is_rejected_and_its_blocks_can_be_salvaged() {
    let comments = "# comment\n".repeat((17 << 20) / 10);
    for tail in [&b""[..], &[TREE, &block(b"one").bytes()].concat()] {
        let bytes = [HEAD, comments.as_bytes(), tail].concat();
        let error = Asdf::from_bytes(bytes.clone()).unwrap_err();
        let expected =
            "bytes before the tree and the blocks: 16777217 is above the limit of 16777216";
        assert_eq!(error.to_string(), expected);
        let file = OpenOptions::new().strictness(Strictness::Salvage).from_bytes(bytes).unwrap();
        assert_eq!(file.blocks().len().unwrap(), usize::from(!tail.is_empty()));
    }
}

#[test]
fn the_varied_test_file_has_no_irregularity_except_a_legacy_checksum() {
    let file = open(rich_file());
    assert_eq!(codes(&file), []);
    assert_eq!(contents(&file), ["one", "abc", "abc"]);
    assert_eq!(codes(&file), [Code::ChecksumOfDecodedBytes]);
}

#[test]
fn a_small_file_is_read_with_a_single_read() {
    let bytes = Bytes::from(rich_file());
    let log = Arc::new(ReadLog::new(bytes.clone()));
    let file = Asdf::from_source(Arc::clone(&log) as Arc<dyn ReadAt>).unwrap();
    assert_eq!(summary(&file), summary(&open(bytes.to_vec())));
    assert_eq!(log.ranges(), std::slice::from_ref(&(0..bytes.len() as u64)));
}

#[test]
fn a_file_truncated_at_any_byte_causes_no_panic() {
    let bytes = rich_file();
    for len in 0..bytes.len() {
        for strictness in [Strictness::Lenient, Strictness::Strict, Strictness::Salvage] {
            let options = OpenOptions::new().strictness(strictness);
            if let Ok(file) = options.from_bytes(bytes[..len].to_vec()) {
                summary(&file);
            }
        }
    }
}

#[test]
fn hostile_values_in_header_fields_cause_no_panic() {
    let bytes = rich_file();
    let places: Vec<_> = memmem::find_iter(&bytes, &BLOCK_MAGIC).collect();
    for place in places {
        for (field, width) in [(4, 2), (6, 4), (10, 4), (14, 8), (22, 8), (30, 8)] {
            for value in [0, 1, 47, 48, 65535, 1 << 31, 1 << 40, 1 << 62, 1 << 63, u64::MAX] {
                let mut bytes = bytes.clone();
                bytes[place + field..][..width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
                let shown = summary(&open(bytes));
                assert!(shown.contains("Version"), "{shown}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Sources in memory and other sources are read by different code, which must produce the same
    /// results.
    #[test]
    fn a_mutated_file_causes_no_panic_and_reads_the_same_from_any_source(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
        insert in proptest::option::of((any::<proptest::sample::Index>(), 1usize..70_000)),
        strictness in prop_oneof![Just(Strictness::Lenient), Just(Strictness::Salvage), Just(Strictness::Strict)],
    ) {
        let mut bytes = rich_file();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some((place, len)) = insert {
            let place = place.index(bytes.len());
            bytes.splice(place..place, std::iter::repeat_n(b' ', len));
        }
        let options = OpenOptions::new().strictness(strictness);
        let logged = Arc::new(Logged(ReadLog::new(Bytes::from(bytes.clone()))));
        match (options.from_bytes(bytes), options.from_source(logged)) {
            (Ok(memory), Ok(other)) => prop_assert_eq!(summary(&memory), summary(&other)),
            (Err(memory), Err(other)) => prop_assert_eq!(memory.to_string(), other.to_string()),
            (memory, other) => prop_assert!(false, "{memory:?} {other:?}"),
        }
    }
}
