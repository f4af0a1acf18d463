use std::sync::Arc;

use binio::source::ReadLog;
use binio::{Bytes, Limits, ReadAt};
use memchr::memmem;
use proptest::prelude::*;

use crate::asdf::Asdf;
use crate::diagnostic::Code;
use crate::error::{BlockError, Error, ErrorKind};
use crate::file::locate::test_file::{HEAD, TREE, block, codes, contents, index, indexed_file};
use crate::layout::BLOCK_MAGIC;
use crate::options::{OpenOptions, Strictness};

fn open(bytes: Vec<u8>) -> Asdf {
    Asdf::from_bytes(bytes).unwrap()
}

/// A source that is not in memory and records all reads.
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
fn without_an_index_opening_takes_two_reads_and_each_further_block_takes_one() {
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
fn only_the_last_16_kib_are_searched_for_an_index_if_they_are_lines_of_words() {
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

// Headers that contradict the index

/// The data of the blocks in [`three_blocks`].
const THREE: [&str; 3] = ["one", "two", "three"];

/// Returns a file that contains an index and three blocks with checksums. Also returns the offsets of
/// the blocks.
fn three_blocks() -> (Vec<u8>, Vec<usize>) {
    let mut bytes = [HEAD, TREE].concat();
    let mut offsets = Vec::new();
    for data in THREE {
        offsets.push(bytes.len());
        bytes.extend(block(data).checksum_of(data.as_bytes()).bytes());
    }
    bytes.extend(index(&offsets));
    (bytes, offsets)
}

/// Returns the data of the block that `source` refers to, as text.
fn by_source(file: &Asdf, source: i64) -> Result<String, Error> {
    let data = file.blocks().by_source(source)?.decode()?;
    Ok(String::from_utf8(data.to_vec()).unwrap())
}

#[test]
fn a_flipped_bit_in_the_flags_or_the_allocated_size_hides_no_indexed_block() {
    let (good, offsets) = three_blocks();
    for (number, &offset) in offsets.iter().enumerate() {
        for bit in (6 * 8..10 * 8).chain(14 * 8..22 * 8) {
            let mut bytes = good.clone();
            bytes[offset + bit / 8] ^= 0x80 >> (bit % 8);
            let context = format!("block {number}, bit {bit}");
            for source in 1..=3 {
                let expected = THREE[3 - source];
                let file = open(bytes.clone());
                let found = by_source(&file, -i64::try_from(source).unwrap());
                assert_eq!(found.unwrap(), expected, "{context}, source -{source}");
            }
            let file = open(bytes);
            assert_eq!(contents(&file), THREE, "{context}");
            // If the allocated size of the last block is too large, this is not reported, because the
            // allocated space may extend past the index.
            let is_reported = codes(&file).iter().any(|&code| {
                [Code::HeaderContradicted, Code::UnknownFlags, Code::UsedExceedsAllocated]
                    .contains(&code)
            });
            assert!(is_reported || number == 2, "{context}: {:?}", codes(&file));
        }
    }
}

#[test]
fn a_flipped_header_bit_except_streamed_never_makes_a_negative_source_return_a_wrong_block() {
    let (good, offsets) = three_blocks();
    for with_index in [true, false] {
        for &offset in &offsets {
            for bit in 0..54 * 8 {
                let mut bytes = good.clone();
                bytes[offset + bit / 8] ^= 0x80 >> (bit % 8);
                if !with_index {
                    bytes.truncate(memmem::find(&bytes, b"#ASDF BLOCK INDEX").unwrap());
                }
                let is_marked_streamed = !with_index && bit == 9 * 8 + 7;
                if is_marked_streamed {
                    continue; // The flag makes this the last block.
                }
                for source in 1..=3_usize {
                    let file = open(bytes.clone());
                    let number = -i64::try_from(source).unwrap();
                    let found = file.blocks().by_source(number).ok();
                    let expected = offsets[3 - source] as u64;
                    assert!(
                        found.is_none_or(|block| block.offset() == expected),
                        "{with_index}: {offset}, bit {bit}, source -{source}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_indexed_block_with_a_damaged_magic_does_not_affect_other_blocks() {
    let (good, offsets) = three_blocks();
    for (number, &offset) in offsets.iter().enumerate().take(2) {
        for wrong in [&b"\xd3BLJ"[..], &[b'x'; 20]] {
            let mut bytes = good.clone();
            bytes[offset..offset + wrong.len()].copy_from_slice(wrong);
            for strictness in [Strictness::Lenient, Strictness::Salvage] {
                let file = OpenOptions::new().strictness(strictness).from_bytes(bytes.clone());
                let file = file.unwrap();
                let found: Vec<_> = file
                    .blocks()
                    .iter()
                    .map(|block| block.unwrap().decode().ok())
                    .map(|data| data.map(|data| String::from_utf8(data.to_vec()).unwrap()))
                    .collect();
                let expected: Vec<_> =
                    (0..3).map(|at| (at != number).then(|| THREE[at].to_owned())).collect();
                assert_eq!(found, expected, "{strictness:?}");
                assert!(codes(&file).contains(&Code::BadBlock));
            }
        }
    }
}

#[test]
fn a_wrong_allocated_size_does_not_hide_later_blocks_even_without_an_index() {
    let (one, three) = (block(b"one").bytes(), block(b"three").bytes());
    for size in [0, 2, 11, 1 << 40, u64::MAX] {
        let two = block(b"two").bytes();
        let mut bytes = [HEAD, TREE, &one, &two, &three].concat();
        let at = head_len() + one.len() + 14;
        bytes[at..at + 8].copy_from_slice(&size.to_be_bytes());
        let file = open(bytes.clone());
        assert_eq!(contents(&file), THREE, "{size}");
        assert!(codes(&file).contains(&Code::HeaderContradicted), "{size}");
        let salvage = OpenOptions::new().strictness(Strictness::Salvage).from_bytes(bytes);
        assert_eq!(contents(&salvage.unwrap()), THREE, "{size}");
    }
}

#[test]
fn a_negative_source_cannot_be_resolved_if_more_blocks_follow_a_gap() {
    let (one, two) = (block(b"one").bytes(), block(b"two").bytes());
    let file = open([HEAD, TREE, &one, b"a gap", &two].concat());
    let error = file.blocks().by_source(-1).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Block { kind: BlockError::Uncertain, .. }));
    assert_eq!(by_source(&file, 0).unwrap(), "one");
    let file = open([HEAD, TREE, &one, b"no block"].concat());
    assert_eq!(by_source(&file, -1).unwrap(), "one");
}

#[test]
fn a_negative_source_in_a_salvaged_file_is_certain_only_after_the_last_gap() {
    let blocks = THREE.map(|data| block(data.as_bytes()).bytes());
    let gap = [b'x'; 60];
    let bytes = [HEAD, TREE, &blocks[0], &gap, &blocks[1], &gap, &blocks[2]].concat();
    let file = OpenOptions::new().strictness(Strictness::Salvage).from_bytes(bytes).unwrap();
    assert_eq!(by_source(&file, -1).unwrap(), "three");
    for source in [-2, -3] {
        let error = file.blocks().by_source(source).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Block { kind: BlockError::Uncertain, .. }));
    }
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

// Damaged files of all kinds

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

/// Returns a file with padding, an index, trailing zeros, and blocks with several compressions and kinds of
/// checksums.
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
