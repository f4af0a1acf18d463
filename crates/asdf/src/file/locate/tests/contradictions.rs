//! Headers that contradict the index, and block numbers that damage makes uncertain.

use memchr::memmem;

use super::{head_len, open};
use crate::asdf::Asdf;
use crate::diagnostic::Code;
use crate::error::{BlockError, Error, ErrorKind};
use crate::file::locate::test_file::{HEAD, TREE, block, codes, contents, index};
use crate::options::{OpenOptions, Strictness};

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
fn a_flipped_bit_in_the_flags_or_the_allocated_size_does_not_hide_indexed_blocks() {
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
fn flipping_a_header_bit_other_than_streamed_never_makes_a_negative_source_return_a_wrong_block() {
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
