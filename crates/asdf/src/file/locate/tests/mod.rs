//! Opening files: the number of reads, and finding the tree, the blocks and the index.

mod contradictions;
mod damage;

use std::sync::Arc;

use binio::source::ReadLog;
use binio::{Bytes, Limits, ReadAt};
use memchr::memmem;

use crate::asdf::Asdf;
use crate::diagnostic::Code;
use crate::error::ErrorKind;
use crate::file::locate::test_file::{HEAD, TREE, block, codes, contents, index, indexed_file};
use crate::options::{OpenOptions, Strictness};

fn open(bytes: Vec<u8>) -> Asdf {
    Asdf::from_bytes(bytes).unwrap()
}

/// A source that records all reads, and that does not report that its bytes are in memory.
struct Logged(ReadLog<Bytes>);

impl ReadAt for Logged {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

/// Opens a file, calls `touch` with it, and returns the offset and the length of each read.
fn reads_of(bytes: Vec<u8>, touch: impl Fn(&Asdf)) -> Vec<(u64, u64)> {
    let source = Arc::new(Logged(ReadLog::new(Bytes::from(bytes))));
    let file = Asdf::from_source(Arc::clone(&source) as Arc<dyn ReadAt>).unwrap();
    touch(&file);
    source.0.ranges().iter().map(|range| (range.start, range.end - range.start)).collect()
}

const KIB: u64 = 1024;

/// Total length in bytes of the head and the tree in the test files.
fn head_len() -> usize {
    HEAD.len() + TREE.len()
}

// Reads while opening

#[test]
fn opening_a_large_file_with_an_index_takes_three_small_reads() {
    let data = vec![1; 1 << 20];
    let bytes = indexed_file(&[&data, &data, &data]);
    let len = bytes.len() as u64;
    let last = (head_len() + 2 * (54 + data.len())) as u64;
    let reads = reads_of(bytes, |_| ());
    assert_eq!(reads, [(0, 16 * KIB), (len - 16 * KIB, 16 * KIB), (last, 54)]);
}

#[test]
fn reading_an_indexed_block_reads_only_its_header_and_the_requested_data() {
    let data = vec![1; 1 << 20];
    let bytes = indexed_file(&[&data, &data, &data]);
    let second = (head_len() + 54 + data.len()) as u64;
    let reads = reads_of(bytes, |file| {
        assert_eq!(file.blocks().get(1).unwrap().decode_range(5..9).unwrap().len(), 4);
    });
    assert_eq!(reads[3..], [(second, 54), (second + 54 + 5, 4)]);
}

#[test]
fn opening_a_file_without_an_index_takes_two_reads_and_each_further_block_takes_one() {
    let data = vec![1; 1 << 20];
    let one = block(&data).bytes();
    let bytes = [HEAD, TREE, &one, &one, &one].concat();
    let len = bytes.len() as u64;
    let offset = |n: usize| (head_len() + n * one.len()) as u64;
    let reads = reads_of(bytes.clone(), |_| ());
    assert_eq!(reads, [(0, 16 * KIB), (len - 16 * KIB, 16 * KIB)]);
    let reads = reads_of(bytes, |file| assert!(file.blocks().get(2).unwrap().header().is_ok()));
    assert_eq!(reads[2..], [(offset(1), 54), (offset(2), 54)]);
}

#[test]
fn opening_a_small_file_reads_it_only_once() {
    let bytes = indexed_file(&[b"one", b"two"]);
    let len = bytes.len() as u64;
    assert_eq!(reads_of(bytes, |_| ()), [(0, len)]);
    let bytes = b"#ASDF 1.0.0\n".to_vec();
    assert_eq!(reads_of(bytes, |_| ()), [(0, 12)]);
}

#[test]
fn opening_a_file_without_a_tree_takes_no_more_reads_than_with_a_tree() {
    let data = vec![1; 1 << 20];
    let bytes = [HEAD, &block(&data).bytes(), &block(&data).bytes()].concat();
    let len = bytes.len() as u64;
    assert_eq!(reads_of(bytes, |_| ()), [(0, 16 * KIB), (len - 16 * KIB, 16 * KIB)]);
}

#[test]
fn a_large_tree_is_read_in_steps_of_doubling_size() {
    let content = "a: b\n".repeat(60_000);
    let tree = format!("%YAML 1.1\n---\n{content}...\n");
    let bytes = [HEAD, tree.as_bytes()].concat();
    let len = bytes.len() as u64;
    let steps =
        [(0, 16), (16, 16), (32, 32), (64, 64), (128, 128)].map(|(at, len)| (at * KIB, len * KIB));
    let last = (256 * KIB, len - 256 * KIB);
    assert_eq!(reads_of(bytes, |_| ()), [&steps[..], &[last]].concat());
}

#[test]
fn the_data_of_a_streamed_block_is_not_searched_for_an_index() {
    let bytes = [HEAD, TREE, &block(vec![1; 1 << 20]).flags(1).bytes()].concat();
    assert_eq!(reads_of(bytes, |_| ()), [(0, 16 * KIB)]);
}

#[test]
fn a_long_index_is_read_in_steps_of_doubling_size() {
    let mut bytes = [HEAD, TREE].concat();
    let mut offsets = Vec::new();
    for _ in 0..20_000 {
        offsets.push(bytes.len());
        bytes.extend(block(b"").bytes());
    }
    let text = index(&offsets);
    assert!((128 << 10..256 << 10).contains(&text.len()));
    bytes.extend(text);
    let len = bytes.len() as u64;
    let reads = reads_of(bytes, |file| {
        assert!(file.layout().index.as_ref().unwrap().accepted);
        assert_eq!(file.blocks().len().unwrap(), 20_000);
        assert_eq!(codes(file), []);
    });
    let steps = [(16, 16), (32, 16), (64, 32), (128, 64), (256, 128)];
    let tail = steps.map(|(from_end, step)| (len - from_end * KIB, step * KIB));
    assert_eq!(reads, [&[(0, 16 * KIB)], &tail[..]].concat());
}

#[test]
fn an_index_with_comments_longer_than_the_first_read_of_the_tail_is_found() {
    let comment = "# a comment in the index\n";
    for comments in [comment.repeat(5000), format!("#{}\n", " long".repeat(20_000))] {
        let mut bytes = indexed_file(&[b"one", b"two"]);
        let list = memmem::rfind(&bytes, b"---\n").unwrap();
        bytes.splice(list..list, comments.bytes());
        assert!(comments.len() as u64 > 64 * KIB);
        let file = open(bytes);
        assert!(file.layout().index.as_ref().unwrap().accepted);
        assert_eq!(codes(&file), []);
    }
}

#[test]
fn only_the_last_16_kib_are_searched_for_an_index_if_they_cannot_be_part_of_one() {
    let words = "some words\n".repeat(100_000);
    let bytes = [HEAD, TREE, &block(b"one").bytes(), words.as_bytes()].concat();
    let len = bytes.len() as u64;
    assert_eq!(reads_of(bytes, |_| ()), [(0, 16 * KIB), (len - 16 * KIB, 16 * KIB)]);
}

// The end of the tree, and the first block

#[test]
fn the_layout_contains_the_range_of_the_tree_and_the_offset_of_the_first_block() {
    let file = open([HEAD, TREE, b"   \n", &block(b"one").bytes()].concat());
    let layout = file.layout();
    assert_eq!(layout.tree, Some(33..head_len() as u64));
    assert_eq!(file.tree_text()[..], *TREE);
    assert_eq!(layout.tree_line, 3);
    assert_eq!(layout.first_block, Some(head_len() as u64 + 4));
    assert_eq!(codes(&file), []);
}

#[test]
fn the_tree_text_does_not_share_the_memory_of_the_source() {
    let bytes = Bytes::from([HEAD, TREE].concat());
    let file = Asdf::from_source(bytes.clone()).unwrap();
    assert_eq!(file.tree_text()[..], *TREE);
    assert!(!bytes.as_ptr_range().contains(&file.tree_text().as_ptr()));
}

#[test]
fn a_tree_without_an_end_line_ends_at_the_first_plausible_block() {
    let tree = &TREE[..TREE.len() - 4];
    let file = open([HEAD, tree, &block(b"one\n...\n").bytes()].concat());
    assert_eq!(file.layout().tree, Some(33..(33 + tree.len()) as u64));
    assert_eq!(codes(&file), [Code::MissingDocumentEnd]);
    assert!(file.document().is_ok());
}

#[test]
fn a_stray_block_magic_in_the_tree_invalidates_only_the_tree() {
    let tree = b"%YAML 1.1\n---\nx: '\xd3BLK'\n...\n";
    let file = open([HEAD, tree, &block(b"one").bytes()].concat());
    assert!(file.document().is_err());
    assert_eq!(contents(&file), ["one"]);
}

#[test]
fn an_invalid_tree_always_causes_the_same_error_and_leaves_blocks_readable() {
    let file = open([HEAD, b"%YAML 1.1\n---\n{a: \n...\n", &block(b"one").bytes()].concat());
    let error = file.document().unwrap_err().to_string();
    assert_eq!(file.document().unwrap_err().to_string(), error);
    assert_eq!(contents(&file), ["one"]);
}

#[test]
fn a_stray_block_magic_in_the_padding_is_skipped_and_reported() {
    let padding = b"\xd3BL\xd3BLK zz";
    let file = open([HEAD, TREE, padding, &block(b"one").bytes()].concat());
    assert_eq!(contents(&file), ["one"]);
    let place = head_len() as u64 + 3;
    assert_eq!(file.diagnostics()[0].place.offset, Some(place));
    assert_eq!(codes(&file), [Code::FalseMagic]);
}

#[test]
fn if_no_block_is_plausible_the_first_block_starts_at_the_first_magic() {
    for bad in [
        block(b"one").header_size(47),
        block(b"one").used_size(1000),
        block(b"one").used_size(1 << 63),
        block(b"one").used_size(u64::MAX).allocated_size(u64::MAX),
    ] {
        let file = open([HEAD, TREE, &bad.bytes()].concat());
        assert_eq!(file.layout().first_block, Some(head_len() as u64));
        assert_eq!(file.blocks().len().unwrap(), 1);
        assert!(file.blocks().get(0).unwrap().decode().is_err());
        assert!(codes(&file).contains(&Code::BadBlock));
        assert!(!codes(&file).contains(&Code::FalseMagic));
        assert!(file.document().is_ok());
    }
}

#[test]
fn a_block_with_unknown_flags_is_accepted_if_it_leads_to_the_next_block() {
    let first = block(b"one").flags(0x8000_0000).bytes();
    let file = open([HEAD, TREE, &first, &block(b"two").bytes()].concat());
    assert_eq!(contents(&file), ["one", "two"]);
    assert_eq!(codes(&file), [Code::UnknownFlags]);
}

#[test]
fn a_broken_first_block_is_recognised_if_the_index_lists_it() {
    let bad = block(b"one").header_size(47).bytes();
    let second = head_len() + bad.len();
    let good = block(b"two").bytes();
    let file = open([HEAD, TREE, &bad, &good, &index(&[head_len(), second])].concat());
    assert_eq!(file.blocks().len().unwrap(), 2);
    assert!(file.blocks().get(0).unwrap().header().is_err());
    assert_eq!(file.blocks().get(1).unwrap().decode().unwrap(), "two");
    assert_eq!(codes(&file), [Code::BadBlock]);
}

#[test]
fn a_lost_block_listed_after_the_end_of_the_file_gets_an_offset_in_the_file() {
    let (one, two) = (block(b"one").bytes(), block(b"two").bytes());
    let gap = [b'?'; 57];
    let second = head_len() + one.len() + gap.len();
    let index = index(&[head_len(), second, 1 << 40]);
    let bytes = [HEAD, TREE, &one, &gap, &two, &index].concat();
    let len = bytes.len() as u64;
    let file = OpenOptions::new().strictness(Strictness::Salvage).from_bytes(bytes).unwrap();
    let blocks: Vec<_> = file.blocks().iter().map(Result::unwrap).collect();
    assert_eq!(blocks.len(), 3);
    assert_eq!(blocks[1].decode().unwrap(), "two");
    assert!(blocks[2].header().is_err());
    assert_eq!(blocks[2].offset(), len - 1);
}

#[test]
fn padding_of_any_length_before_the_first_block_is_skipped() {
    for len in [(1 << 20) - 54, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20] {
        for byte in [b' ', 0] {
            let padding = vec![byte; len];
            let mut bytes = [HEAD, TREE, &padding, &block(b"one").bytes()].concat();
            let file = open(bytes.clone());
            assert_eq!((contents(&file), codes(&file)), (vec!["one".to_owned()], vec![]), "{len}");
            bytes.extend(index(&[head_len() + len]));
            let file = open(bytes);
            assert_eq!((contents(&file), codes(&file)), (vec!["one".to_owned()], vec![]), "{len}");
            assert!(file.layout().index.as_ref().unwrap().accepted);
        }
    }
}

#[test]
fn padding_without_a_block_after_it_is_not_reported() {
    let file = open([HEAD, TREE, &vec![b' '; 3 << 20]].concat());
    assert_eq!((contents(&file), codes(&file)), (vec![], vec![]));
}

#[test]
fn a_block_magic_at_the_end_of_the_file_begins_a_truncated_block() {
    for len in 1..54 {
        let part = &block(b"").bytes()[..len];
        let file = open([HEAD, TREE, part].concat());
        assert_eq!(file.blocks().len().unwrap(), usize::from(len >= 4), "{len} bytes");
    }
}

// The index

/// Opens a file that contains three blocks, and an index modified by `change`. Checks that all three blocks
/// are found, and that only the code `expected` is reported.
fn rejected(change: impl Fn(&mut Vec<usize>), expected: Code) {
    let blocks = [block(b"one").bytes(), block(b"two").bytes(), block(b"three").bytes()];
    let mut offsets = Vec::new();
    let mut at = head_len();
    for block in &blocks {
        offsets.push(at);
        at += block.len();
    }
    change(&mut offsets);
    let file = open([HEAD, TREE, &blocks.concat(), &index(&offsets)].concat());
    assert_eq!(contents(&file), ["one", "two", "three"], "{offsets:?}");
    assert_eq!(codes(&file), [expected], "{offsets:?}");
}

#[test]
fn an_index_with_a_wrong_first_offset_is_ignored() {
    rejected(|offsets| offsets[0] -= 1, Code::IndexStale);
}

#[test]
fn an_index_with_a_wrong_last_offset_is_ignored() {
    rejected(|offsets| offsets[2] += 1, Code::IndexStale);
    rejected(|offsets| offsets[2] = 1 << 40, Code::IndexStale);
    rejected(|offsets| offsets[2] = usize::MAX, Code::IndexStale);
}

#[test]
fn an_index_with_a_wrong_middle_offset_is_ignored() {
    rejected(|offsets| offsets[1] += 1, Code::IndexStale);
}

#[test]
fn an_index_out_of_order_is_ignored() {
    rejected(|offsets| offsets.reverse(), Code::IndexStale);
    rejected(|offsets| offsets[1] = offsets[0] + 53, Code::IndexStale);
}

#[test]
fn an_index_with_too_few_entries_is_ignored() {
    rejected(|offsets| offsets.truncate(2), Code::IndexShort);
    rejected(|offsets| *offsets = vec![offsets[0], offsets[2]], Code::IndexShort);
    rejected(|offsets| *offsets = offsets[1..].to_vec(), Code::IndexShort);
    rejected(|offsets| offsets.truncate(0), Code::IndexUnparsable);
}

#[test]
fn an_index_with_too_many_entries_is_ignored() {
    rejected(|offsets| offsets.push(offsets[2] + 54), Code::IndexLong);
    rejected(|offsets| offsets.push(offsets[2]), Code::IndexLong);
}

#[test]
fn the_diagnostic_about_an_index_with_too_many_entries_contains_the_limit() {
    let limits = Limits::default().max_items(2);
    let bytes = indexed_file(&[b"one", b"two", b"three"]);
    let file = OpenOptions::new().limits(limits).from_bytes(bytes).unwrap();
    let diagnostics = file.diagnostics();
    assert_eq!(codes(&file), [Code::IndexUnparsable]);
    assert_eq!(
        diagnostics[0].message,
        "the block index exceeds the limit of 2 entries, so it is not used"
    );
}

#[test]
fn an_index_inside_the_allocated_space_of_the_last_block_is_accepted() {
    let one = block(b"one").bytes();
    let last = block(b"two").allocated_size(1 << 40).bytes();
    let text = index(&[head_len(), head_len() + one.len()]);
    let file = open([HEAD, TREE, &one, &last, &text].concat());
    assert!(file.layout().index.as_ref().unwrap().accepted);
    assert_eq!(contents(&file), ["one", "two"]);
    assert_eq!(codes(&file), []);
}

#[test]
fn the_text_of_an_index_inside_a_block_is_treated_as_data() {
    let inner = indexed_file(&[b"inner"]);
    let file = open([HEAD, TREE, &block(b"one").bytes(), &block(&inner).bytes()].concat());
    assert_eq!(file.blocks().len().unwrap(), 2);
    assert_eq!(codes(&file), []);
    let file = open([HEAD, TREE, &block(b"#ASDF BLOCK INDEX\nnonsense").bytes()].concat());
    assert_eq!(file.blocks().len().unwrap(), 1);
    assert_eq!(codes(&file), []);
}

#[test]
fn an_apparent_index_or_block_in_a_streamed_block_is_treated_as_data() {
    let one = block(b"one").bytes();
    let streamed = block(b"two").flags(1).bytes();
    let text = index(&[head_len(), head_len() + one.len()]);
    let file = open([HEAD, TREE, &one, &streamed, &one, &text].concat());
    assert_eq!(file.blocks().len().unwrap(), 2);
    let data = file.blocks().get(1).unwrap().decode().unwrap();
    assert_eq!(data, ["two".as_bytes(), &one, &text].concat());
    assert_eq!(codes(&file), []);
}

#[test]
fn a_stale_index_in_a_file_without_a_tree_does_not_hide_the_first_block() {
    let one = block(b"one").bytes();
    let text = index(&[5, HEAD.len() + one.len()]);
    let file = open([HEAD, &one, &block(b"two").bytes(), &text].concat());
    assert_eq!(contents(&file), ["one", "two"]);
    assert_eq!(codes(&file), [Code::IndexStale]);
}

#[test]
fn zero_bytes_after_the_index_or_the_last_block_are_not_reported() {
    let file = open([&indexed_file(&[b"one"])[..], &[0; 100]].concat());
    assert!(file.layout().index.as_ref().unwrap().accepted);
    assert_eq!(contents(&file), ["one"]);
    assert_eq!(codes(&file), []);
    let file = open([HEAD, TREE, &block(b"one").bytes(), &[0; 100]].concat());
    assert_eq!(contents(&file), ["one"]);
    assert_eq!(codes(&file), []);
}

#[test]
fn nonzero_bytes_after_the_last_block_are_reported_with_their_offset() {
    let one = block(b"one").bytes();
    let file = open([HEAD, TREE, &one, b"\0\0hello", &one].concat());
    assert_eq!(file.blocks().len().unwrap(), 1);
    assert_eq!(codes(&file), [Code::TrailingBytes]);
    assert_eq!(file.diagnostics()[0].place.offset, Some((head_len() + one.len() + 2) as u64));
}

// Strictness and limits

#[test]
fn strict_opening_rejects_irregular_files_that_lenient_opening_accepts() {
    let strict = OpenOptions::new().strictness(Strictness::Strict);
    assert!(strict.from_bytes(indexed_file(&[b"one", b"two"])).is_ok());
    let irregular = [
        [&b"#ASDF  1.0.0\n"[..], TREE].concat(),
        [HEAD, b"\n", TREE].concat(),
        [HEAD, TREE, &block(b"one").bytes(), b"x"].concat(),
        [HEAD, TREE, &block(b"one").bytes(), &block(b"two").flags(2).bytes()].concat(),
        [HEAD, TREE, &block(b"one").bytes(), &index(&[5])].concat(),
    ];
    for bytes in irregular {
        assert!(Asdf::from_bytes(bytes.clone()).is_ok());
        assert!(matches!(strict.from_bytes(bytes).unwrap_err().kind(), ErrorKind::Layout { .. }));
    }
}

#[test]
fn strict_parsing_rejects_duplicate_keys() {
    let bytes = [HEAD, b"%YAML 1.1\n---\na: 1\nb: {c: 1, c: 2}\n...\n"].concat();
    assert!(open(bytes.clone()).document().is_ok());
    let strict = OpenOptions::new().strictness(Strictness::Strict).from_bytes(bytes).unwrap();
    let error = strict.document().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Yaml { line: 6, column: 11, .. }), "{error:?}");
}

#[test]
fn a_million_empty_blocks_are_counted_unless_the_limit_is_lower() {
    let blocks = block(b"").bytes().repeat(1_000_000);
    let bytes = Bytes::from([HEAD, TREE, &blocks].concat());
    let file = Asdf::from_bytes(bytes.clone()).unwrap();
    assert_eq!(file.blocks().len().unwrap(), 1_000_000);
    assert_eq!(file.blocks().by_source(-1).unwrap().index(), 999_999);
    let limits = Limits::default().max_items(1000);
    let file = OpenOptions::new().limits(limits).from_bytes(bytes).unwrap();
    assert!(file.blocks().get(999).is_ok());
    assert!(matches!(
        file.blocks().len().unwrap_err().kind(),
        ErrorKind::Limit { limit: 1000, .. }
    ));
}
