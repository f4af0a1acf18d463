//! Repairing files with each kind of damage: the data that is recovered, and the losses that are
//! reported.

use std::io::Cursor;
use std::sync::Arc;

use asdf::block::{BlockError, ChecksumVerdict};
use asdf::diagnostic::Code;
use asdf::save::repair::{RecoverOptions, RecoverReport, recover};
use asdf::value::Array;
use asdf::{Asdf, Compression, ErrorKind, Limits, Tree, WriteOptions, Writer};

use crate::bytes_of;

/// Returns the elements of a test array for a seed. The bytes of the elements contain few line
/// endings and no block magic.
fn elements(seed: u16) -> Vec<u16> {
    (0..300).map(|at: u16| at.wrapping_mul(641).wrapping_add(seed) & 0x7f7f).collect()
}

/// Creates a file with arrays `a`, `b` and `c`, each in its own block.
fn file(options: &WriteOptions) -> Vec<u8> {
    let mut tree = Tree::default();
    for (seed, name) in (1..).zip(["/a", "/b", "/c"]) {
        tree.set(name, Array::from_slice(&elements(seed), &[300]).unwrap()).unwrap();
    }
    bytes_of(&Writer::new(tree).options(options.clone()))
}

fn plain() -> Vec<u8> {
    file(&WriteOptions::new())
}

/// Returns the offsets of the blocks of a good file.
fn offsets(bytes: &[u8]) -> Vec<usize> {
    let file = Asdf::from_bytes(bytes.to_vec()).unwrap();
    let offset =
        |block: asdf::Result<asdf::block::Block<'_>>| usize::try_from(block.unwrap().offset());
    file.blocks().iter().map(|block| offset(block).unwrap()).collect()
}

fn index_of(bytes: &[u8]) -> usize {
    bytes.windows(17).rposition(|text| text == b"#ASDF BLOCK INDEX").unwrap()
}

fn repaired(bytes: &[u8]) -> (Vec<u8>, RecoverReport) {
    let mut out = Cursor::new(Vec::new());
    let report = recover(Arc::new(bytes.to_vec()), &mut out, &RecoverOptions::new()).unwrap();
    assert_eq!(report.len, out.get_ref().len() as u64);
    (out.into_inner(), report)
}

/// Repairs a file, and requires that nothing is lost and that the result is valid.
fn whole(bytes: &[u8]) -> (Asdf, RecoverReport) {
    let (bytes, report) = repaired(bytes);
    assert!(report.lost.is_empty(), "{:?}", report.lost);
    let file = crate::open(bytes);
    assert!(file.verify(&asdf::inspect::VerifyOptions::new()).unwrap().passed());
    for (seed, name) in (1..).zip(["/a", "/b", "/c"]) {
        assert_eq!(read(&file, name).unwrap(), elements(seed), "{name}");
    }
    (file, report)
}

fn read(file: &Asdf, pointer: &str) -> asdf::Result<Vec<u16>> {
    file.tree()?.pointer(pointer)?.ndarray()?.read()
}

/// Returns the losses, each as the number of the block and the pointers of the arrays.
fn lost(report: &RecoverReport) -> Vec<(Option<usize>, Vec<&str>)> {
    report
        .lost
        .iter()
        .map(|loss| (loss.block, loss.pointers.iter().map(String::as_str).collect()))
        .collect()
}

fn replace(bytes: &mut Vec<u8>, from: &[u8], to: &[u8]) {
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes.splice(at..at + from.len(), to.iter().copied());
}

#[test]
fn repairing_an_intact_file_does_not_change_it() {
    let codecs = [Compression::None, Compression::Zlib(6), Compression::Bzip2(9), Compression::Lz4];
    for compression in codecs {
        let bytes = file(&WriteOptions::new().compression(compression).pad_tree(500));
        let (again, report) = repaired(&bytes);
        assert!(again == bytes, "{compression}");
        assert!(report.lost.is_empty() && report.removed.is_empty(), "{report:?}");
        assert_eq!((report.kept, report.diagnostics), (3, vec![]));
    }
    for bytes in [&b"#ASDF 1.0.0\n"[..], b"#ASDF 1.0.0"] {
        assert_eq!(repaired(bytes).0, bytes);
    }
}

#[test]
fn all_blocks_are_recovered_from_a_file_whose_uris_cannot_be_rewritten() {
    let mut bytes = plain();
    replace(&mut bytes, b"\na: ", b"\n? [1, 2]\n: a key that is a collection\na: ");
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("to");
    std::fs::create_dir(&to).unwrap();
    let options = RecoverOptions::new().relocate(folder.path(), to);
    let mut out = Cursor::new(Vec::new());
    let report = recover(Arc::new(bytes), &mut out, &options).unwrap();
    assert_eq!(report.kept, 3);
    let file = Asdf::from_bytes(out.into_inner()).unwrap();
    for (seed, name) in (1..).zip(["/a", "/b", "/c"]) {
        assert_eq!(read(&file, name).unwrap(), elements(seed), "{name}");
    }
    let [loss] = &report.lost[..] else { panic!("{:?}", report.lost) };
    let message = loss.reason.to_string();
    let expected = "the URIs of external files are unchanged: line ";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.ends_with("a sequence cannot be a key"), "{message}");
}

#[test]
fn repairing_a_missing_or_wrong_index_rewrites_it() {
    let good = plain();
    let at = index_of(&good);
    let head = &good[..at];
    for index in [
        &b""[..],
        b"#ASDF BLOCK INDEX\n%YAML 1.1\n---\n- 5\n...\n",
        b"#ASDF BLOCK INDEX\n%YAML 1.1\n---\n[no, list]\n...\n",
        b"#ASDF BLOCK INDEX\n%YAML",
    ] {
        let (again, report) = repaired(&[head, index].concat());
        assert!(again == good, "{}", String::from_utf8_lossy(index));
        assert!(report.lost.is_empty(), "{:?}", report.lost);
    }
}

#[test]
fn repairing_removes_stray_bytes_before_the_tree_or_a_block_or_the_index() {
    let good = plain();
    let (blocks, index) = (offsets(&good), index_of(&good));
    let tree = good.windows(5).position(|window| window == b"%YAML").unwrap();
    for at in [tree, blocks[0], blocks[1], blocks[2], index] {
        for rubbish in [&b"oops\n"[..], &[b'x'; 100], b"\xd3BLK rubbish"] {
            if at == tree && rubbish.starts_with(b"\xd3BLK") {
                continue; // If a block precedes the tree, the file has no tree.
            }
            let mut bytes = good.clone();
            bytes.splice(at..at, rubbish.iter().copied());
            let (file, report) = whole(&bytes);
            assert_eq!(file.blocks().len().unwrap(), 3, "at {at}");
            assert_eq!(file.source().len(), good.len() as u64, "at {at}");
            let removed: u64 = report.removed.iter().map(|range| range.end - range.start).sum();
            assert!(at == tree || removed == rubbish.len() as u64, "at {at}: {report:?}");
        }
    }
    let mut bytes = good.clone();
    bytes.truncate(index);
    bytes.extend_from_slice(b"not an index");
    let (_, report) = whole(&bytes);
    let removed = index as u64..index as u64 + 12;
    assert_eq!(report.removed, std::slice::from_ref(&removed));
}

#[test]
fn repairing_corrects_a_tree_with_an_irregular_start_or_end() {
    let good = plain();
    for (from, to) in [
        (&b"%YAML 1.1\n"[..], &b"\xef\xbb\xbf%YAML 1.1\n"[..]),
        (b"%YAML 1.1\n", b"\n\n%YAML 1.1\n"),
        (b"%YAML 1.1\n%TAG", b"%TAG"),
        (b"...\n\xd3BLK", b"\xd3BLK"),
        (b"...\n\xd3BLK", b"...\xd3BLK"),
    ] {
        let mut bytes = good.clone();
        replace(&mut bytes, from, to);
        let (again, report) = repaired(&bytes);
        assert!(again == good, "{}: {report:?}", String::from_utf8_lossy(to));
        assert!(report.lost.is_empty());
    }
}

#[test]
fn repairing_a_truncated_file_keeps_intact_blocks_and_reports_lost_ones() {
    let good = plain();
    let blocks = offsets(&good);
    // Truncate the data of the second block.
    let (bytes, report) = repaired(&good[..blocks[1] + 300]);
    assert_eq!(lost(&report), [(Some(1), vec!["/b"]), (None, vec!["/c"])]);
    let [cut, missing] = &report.lost[..] else { panic!("{report:?}") };
    let is_cut = |kind: &ErrorKind| {
        matches!(kind, ErrorKind::Block { kind: BlockError::PastEnd { .. }, .. })
    };
    assert!(is_cut(cut.reason.kind()), "{}", cut.reason);
    assert_eq!(
        missing.reason.to_string(),
        "block 2: the block does not exist, because the file has only 2 blocks"
    );
    let file = Asdf::from_bytes(bytes).unwrap();
    assert_eq!(read(&file, "/a").unwrap(), elements(1));
    let block = file.blocks().get(1).unwrap();
    // The checksum still shows that the block is incomplete.
    assert!(matches!(block.verify().unwrap(), ChecksumVerdict::Mismatch { .. }));
    assert_eq!((report.kept, report.damaged), (1, 1));
    let data = block.decode().unwrap();
    let expected: Vec<u8> = elements(2).iter().flat_map(|it| it.to_ne_bytes()).collect();
    assert!(data.len() > 100 && expected.starts_with(&data));
    // Truncate the file inside a header, so that nothing is left of the block.
    let (bytes, report) = repaired(&good[..blocks[1] + 20]);
    assert_eq!(lost(&report), [(Some(1), vec!["/b"]), (None, vec!["/c"])]);
    assert_eq!(Asdf::from_bytes(bytes).unwrap().blocks().len().unwrap(), 2);
}

#[test]
fn repairing_reports_the_arrays_of_a_truncated_compressed_block() {
    let good = file(&WriteOptions::new().compression(Compression::Zlib(6)));
    let blocks = offsets(&good);
    let (bytes, report) = repaired(&good[..blocks[2] + 150]);
    assert_eq!(lost(&report), [(Some(2), vec!["/c"])]);
    assert_eq!(read(&Asdf::from_bytes(bytes).unwrap(), "/b").unwrap(), elements(2));
}

#[test]
fn repairing_a_file_truncated_anywhere_keeps_the_tree_readable_or_reports_its_loss() {
    let good = file(&WriteOptions::new().compression(Compression::Zlib(1)));
    for len in (12..good.len()).step_by(7) {
        let (bytes, report) = repaired(&good[..len]);
        let file = Asdf::from_bytes(bytes).unwrap();
        assert!(file.tree().is_ok() || report.lost.iter().any(|loss| loss.block.is_none()));
        // If the file is truncated before its tree, nothing shows that a tree is missing.
        let is_whole = len >= index_of(&good) || len <= 33;
        assert_eq!(report.lost.is_empty(), is_whole, "{len}");
    }
}

#[test]
fn repairing_a_truncated_tree_keeps_its_complete_lines() {
    let text = b"#ASDF 1.0.0\n%YAML 1.1\n---\na: 1\nb: {x: 1,\n  y: 2}\nc: 2.5";
    let (bytes, report) = repaired(&text[..]);
    assert!(bytes.ends_with(b"\nb: {x: 1,\n  y: 2}\n...\n"), "{}", String::from_utf8_lossy(&bytes));
    assert_eq!(
        report.lost[0].reason.to_string(),
        "the tree is truncated: no `...` line at its end"
    );
    assert_eq!(report.lost[0].bytes, 49..55);
    let (bytes, _) = repaired(&text[..45]);
    assert!(bytes.ends_with(b"\na: 1\n...\n"));
    let broken = b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [1\nb: 2\n...\n";
    let (bytes, report) = repaired(broken);
    assert_eq!((bytes.as_slice(), report.lost.len()), (&broken[..], 1));
}

#[test]
fn after_a_block_is_lost_no_array_reads_the_data_of_another_block() {
    let good = plain();
    let (blocks, index) = (offsets(&good), index_of(&good));
    for number in 0..3 {
        for wrong in [&b"....................."[..], b"\xd3BLK\0\x2f"] {
            let mut bytes = good.clone();
            bytes.splice(blocks[number]..blocks[number] + wrong.len(), wrong.iter().copied());
            // Repair the file with and without its index.
            for len in [bytes.len(), index] {
                let (again, report) = repaired(&bytes[..len]);
                let name = ["/a", "/b", "/c"][number];
                let file = Asdf::from_bytes(again).unwrap();
                for (seed, other) in (1..).zip(["/a", "/b", "/c"]) {
                    match read(&file, other) {
                        Ok(read) => assert_eq!(read, elements(seed), "{other}, lost {name}"),
                        Err(_) => assert!(other == name || len == index, "{other}, lost {name}"),
                    }
                }
                assert!(!report.lost.is_empty());
                let named = report.lost.iter().flat_map(|loss| &loss.pointers);
                assert!(named.clone().any(|pointer| pointer == name), "{name}: {report:?}");
            }
        }
    }
}

#[test]
fn after_repair_no_array_uses_a_block_with_an_uncertain_number() {
    let good = plain();
    let (blocks, index) = (offsets(&good), index_of(&good));
    // Without the index, the number of the last block is uncertain: it may be the third block, or
    // the second block of a file whose third block is lost.
    let mut bytes = good[..index].to_vec();
    bytes[blocks[1]..blocks[1] + 4].fill(b'x');
    let (again, report) = repaired(&bytes);
    let file = Asdf::from_bytes(again).unwrap();
    assert_eq!(read(&file, "/a").unwrap(), elements(1));
    assert!(read(&file, "/b").is_err() && read(&file, "/c").is_err());
    assert_eq!(lost(&report), [(Some(1), vec!["/b"]), (Some(2), vec!["/c"]), (Some(3), vec![])]);
    // The last block is kept, but no array uses it.
    let data: Vec<u8> = elements(3).iter().flat_map(|it| it.to_ne_bytes()).collect();
    assert_eq!(file.blocks().get(3).unwrap().decode().unwrap(), data);
}

#[test]
fn repairing_determines_the_lost_block_from_the_sizes_of_arrays() {
    let mut tree = Tree::default();
    for (len, name) in [(100, "/a"), (200, "/b"), (300, "/c")] {
        let part = elements(len)[..usize::from(len)].to_vec();
        tree.set(name, Array::from_slice(&part, &[len.into()]).unwrap()).unwrap();
    }
    let good = bytes_of(&Writer::new(tree));
    let (blocks, index) = (offsets(&good), index_of(&good));
    for (number, lost_name) in ["/a", "/b", "/c"].into_iter().enumerate() {
        let mut bytes = good[..index].to_vec();
        bytes[blocks[number]..blocks[number] + 4].fill(b'x');
        let (again, report) = repaired(&bytes);
        let file = Asdf::from_bytes(again).unwrap();
        for (len, name) in [(100, "/a"), (200, "/b"), (300, "/c")] {
            match read(&file, name) {
                Ok(read) => assert_eq!(read, elements(len)[..usize::from(len)], "{name}"),
                Err(_) => assert_eq!(name, lost_name),
            }
        }
        assert_eq!(report.lost.len(), 1, "{report:?}");
        assert_eq!(report.lost[0].pointers, [lost_name]);
    }
}

#[test]
fn a_block_with_wrong_sizes_is_repaired_to_end_at_the_next_block() {
    for compression in [Compression::None, Compression::Zlib(6)] {
        let good = file(&WriteOptions::new().compression(compression));
        let at = offsets(&good)[1];
        let mut bytes = good.clone();
        // Change `allocated_size` and `used_size`.
        bytes[at + 14..at + 30].fill(0x3f);
        let (_, report) = whole(&bytes);
        assert_eq!(report.kept, 3);
        // The repair also works without a checksum.
        bytes[at + 38..at + 54].fill(0);
        whole(&bytes);
    }
    let good = plain();
    let mut bytes = good.clone();
    let at = offsets(&good)[2];
    bytes[at + 30..at + 38].fill(0); // Change `data_size`.
    let (again, report) = repaired(&bytes);
    assert!(again == good && report.lost.is_empty());
}

#[test]
fn repairing_corrects_legacy_checksums_and_keeps_wrong_checksums() {
    let good = file(&WriteOptions::new().compression(Compression::Zlib(6)));
    let at = offsets(&good)[1];
    let mut bytes = good.clone();
    let data: Vec<u8> = elements(2).iter().flat_map(|it| it.to_ne_bytes()).collect();
    let digest = binio::checksum::Algorithm::Md5.digest(&data);
    bytes[at + 38..at + 54].copy_from_slice(digest.as_bytes());
    let (again, report) = repaired(&bytes);
    assert!(again == good && report.lost.is_empty());
    assert_eq!(report.diagnostics[0].code, Code::ChecksumOfDecodedBytes);
    // Damaged data keeps the checksum that reveals the damage.
    let good = plain();
    let at = offsets(&good)[2];
    let mut bytes = good.clone();
    bytes[at - 10] ^= 1;
    let (again, report) = repaired(&bytes);
    assert_eq!(lost(&report), [(Some(1), vec!["/b"])]);
    assert!(again == bytes);
    // Without a checksum, the compressed stream reveals the damage.
    let mut bytes = file(&WriteOptions::new().compression(Compression::Zlib(6)).checksum(false));
    let at = offsets(&bytes)[2];
    bytes[at - 3] ^= 1;
    let (again, report) = repaired(&bytes);
    assert_eq!(lost(&report), [(Some(1), vec!["/b"])]);
    assert!(again == bytes);
}

#[cfg(not(feature = "zstd"))]
#[test]
fn repairing_does_not_report_a_block_as_damaged_if_its_checksum_cannot_be_verified() {
    let mut bytes = plain();
    let at = offsets(&bytes)[1];
    bytes[at + 10..at + 14].copy_from_slice(b"zstd");
    bytes[at + 38] ^= 1;
    let (again, report) = repaired(&bytes);
    assert!(again == bytes && report.lost.is_empty());
    let codes: Vec<_> = report.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [Code::NotChecked]);
    // A truncated block is still reported, with or without a checksum.
    bytes.truncate(offsets(&bytes)[2] - 3);
    for _ in 0..2 {
        let (_, report) = repaired(&bytes);
        assert!(lost(&report).contains(&(Some(1), vec!["/b"])), "{:?}", report.lost);
        bytes[at + 38..at + 54].fill(0);
    }
}

/// Converts LF to CR LF, like a tool that mistakes the file for text.
fn with_cr(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .flat_map(|&byte| if byte == b'\n' { vec![b'\r', byte] } else { vec![byte] })
        .collect()
}

/// Like [`with_cr`], but leaves existing pairs of CR and LF unchanged.
fn with_cr_once(bytes: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for &byte in bytes {
        if byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let is_kept = |at: &usize| bytes[*at] != b'\r' || bytes.get(at + 1) != Some(&b'\n');
    (0..bytes.len()).filter(is_kept).map(|at| bytes[at]).collect()
}

/// Creates a file whose second block contains these bytes.
fn with_bytes(bytes: &[u8]) -> Vec<u8> {
    let mut tree = Tree::default();
    tree.set("/a", Array::from_slice(&elements(1), &[300]).unwrap()).unwrap();
    let len = bytes.len() as u64;
    tree.set("/b", Array::from_slice(bytes, &[len]).unwrap()).unwrap();
    tree.set("/c", Array::from_slice(&elements(3), &[300]).unwrap()).unwrap();
    bytes_of(&Writer::new(tree))
}

#[test]
fn repairing_undoes_a_line_ending_conversion() {
    let data = b"text\nand \r\n more\r\r\n\r\n\r\nbytes\n\n\r".repeat(9);
    let good = with_bytes(&data);
    let (again, report) = repaired(&with_cr(&good));
    assert!(again == good, "{report:?}");
    assert!(report.lost.is_empty());
    let found = &report.diagnostics[0];
    assert_eq!(found.code, Code::IndexDrift);
    assert!(found.message.ends_with("it was undone"), "{}", found.message);
    assert_eq!(
        found.severity,
        asdf::diagnostic::Severity::Note,
        "an undone conversion must be a note"
    );
}

#[test]
fn a_checksum_shows_which_line_endings_were_converted() {
    let few = [&b"one\ntwo\nthree\n"[..], b"a pair: \r\n.", b"four\nfive"].concat();
    let good = with_bytes(&few);
    for converted in [without_cr(&good), with_cr_once(&good)] {
        assert!(converted != good);
        let (again, report) = repaired(&converted);
        assert!(report.lost.is_empty(), "{report:?}");
        // Compare only the blocks, because the text before the blocks has the same meaning with
        // either kind of line ending.
        let start = |bytes: &[u8]| offsets(bytes)[0];
        assert!(again[start(&again)..index_of(&again)] == good[start(&good)..index_of(&good)]);
    }
}

#[test]
fn a_line_ending_conversion_that_cannot_be_undone_costs_only_the_affected_block() {
    let many = b"line\nend\nand a pair\r\n".repeat(200);
    let good = with_bytes(&many);
    let (again, report) = repaired(&without_cr(&good));
    assert_eq!(lost(&report), [(Some(1), vec!["/b"])]);
    let reason = report.lost[0].reason.to_string();
    let expected = "block 1: 200 bytes were removed at an unknown position, probably by a line-ending conversion";
    assert_eq!(reason, expected);
    let file = Asdf::from_bytes(again).unwrap();
    assert_eq!(read(&file, "/a").unwrap(), elements(1));
    assert_eq!(read(&file, "/c").unwrap(), elements(3));
}

#[test]
fn repairing_corrects_a_used_size_that_extends_into_the_next_block() {
    let good = plain();
    for at in &offsets(&good)[..2] {
        for wrong in [0x0400_u64, 0x0002_0000] {
            let mut bytes = good.clone();
            let used = u64::from_be_bytes(bytes[at + 22..at + 30].try_into().unwrap());
            bytes[at + 22..at + 30].copy_from_slice(&(used ^ wrong).to_be_bytes());
            for len in [bytes.len(), index_of(&good)] {
                let (_, report) = whole(&bytes[..len]);
                assert_eq!(report.kept, 3);
            }
        }
    }
}

#[test]
fn repairing_reports_an_array_whose_mask_is_damaged() {
    let good = std::fs::read(testdata::path("asdf/science.asdf")).unwrap();
    let mut named = false;
    for at in offsets(&good) {
        let mut bytes = good.clone();
        bytes[at..at + 20].fill(b'x');
        let (_, report) = repaired(&bytes);
        for loss in &report.lost {
            for mask in loss.pointers.iter().filter(|pointer| pointer.ends_with("/mask")) {
                let owner = mask.trim_end_matches("/mask").to_owned();
                assert!(loss.pointers.contains(&owner), "{report:?}");
                named = true;
            }
        }
    }
    assert!(named, "the file must have a mask in a block");
}

#[test]
fn repairing_reports_the_number_of_missing_bytes() {
    let good = plain();
    let blocks = offsets(&good);
    let end = blocks[1] + 300;
    let (_, report) = repaired(&good[..end]);
    let data_len = 600;
    let data_start = Asdf::from_bytes(good.clone()).unwrap();
    let data_start = data_start.blocks().get(1).unwrap().data_range().unwrap().start;
    let left = end as u64 - data_start;
    let missing: Vec<u64> = report.lost.iter().map(|loss| loss.missing).collect();
    assert_eq!(missing, [data_len - left, data_len], "the rest of one block, and all of another");
    assert_eq!(report.missing_bytes(), 2 * data_len - left);
    // Damaged data is kept, so no bytes are missing.
    let mut bytes = good.clone();
    bytes[blocks[2] - 10] ^= 1;
    let (_, report) = repaired(&bytes);
    assert_eq!((report.lost.len(), report.missing_bytes()), (1, 0));
    assert_eq!((report.kept, report.damaged), (2, 1));
}

#[test]
fn repairing_a_truncated_block_without_a_checksum_adds_no_checksum() {
    let good = file(&WriteOptions::new().checksum(false));
    let (bytes, report) = repaired(&good[..offsets(&good)[2] + 300]);
    assert_eq!(lost(&report), [(Some(2), vec!["/c"])]);
    let file = Asdf::from_bytes(bytes).unwrap();
    let verdict = file.blocks().get(2).unwrap().verify().unwrap();
    assert_eq!(verdict, ChecksumVerdict::Absent);
}

#[test]
fn repairing_reports_a_block_with_an_unknown_compression() {
    let good = file(&WriteOptions::new().compression(Compression::Zlib(6)));
    let at = offsets(&good)[1];
    for bit in 0..32 {
        let mut bytes = good.clone();
        bytes[at + 10 + bit / 8] ^= 1 << (bit % 8);
        let (again, report) = repaired(&bytes);
        assert_eq!(lost(&report), [(Some(1), vec!["/b"])], "bit {bit}");
        assert!(again == bytes, "bit {bit}");
    }
}

#[test]
fn a_damaged_block_of_a_file_without_a_tree_is_recovered_or_reported() {
    let good = std::fs::read(testdata::path("asdf/no_tree.asdf")).unwrap();
    for &at in &offsets(&good) {
        for field in [4, 6, 22] {
            let mut bytes = good.clone();
            bytes[at + field] ^= 0x40;
            let (again, report) = repaired(&bytes);
            let count = Asdf::from_bytes(again).unwrap().blocks().len().unwrap();
            let is_whole = count == offsets(&good).len() && report.lost.is_empty();
            assert!(is_whole || !report.lost.is_empty(), "{at}, {field}: {report:?}");
        }
    }
}

#[test]
fn repairing_keeps_a_streamed_block_with_a_flipped_bit_in_an_ignored_field() {
    let good = std::fs::read(testdata::path("asdf/streamed.asdf")).unwrap();
    let at = offsets(&good)[0];
    let expected = Asdf::from_bytes(good.clone()).unwrap();
    let expected = expected.blocks().get(0).unwrap().decode().unwrap();
    // Flip each bit of the flags (except STREAMED), the sizes and the checksum.
    for bit in (6 * 8..10 * 8 - 1).chain(14 * 8..54 * 8) {
        let mut bytes = good.clone();
        bytes[at + bit / 8] ^= 0x80 >> (bit % 8);
        let (again, report) = repaired(&bytes);
        assert!(report.lost.is_empty(), "bit {bit}: {:?}", report.lost);
        let file = Asdf::from_bytes(again).unwrap();
        assert_eq!(file.blocks().by_source(-1).unwrap().decode().unwrap(), expected, "bit {bit}");
    }
}

#[test]
fn repairing_never_redirects_a_negative_source_to_another_block() {
    let mut good = plain();
    replace(&mut good, b"source: 2", b"source: -1");
    // The offsets in the index are now wrong, so remove the index.
    good.truncate(index_of(&good));
    let at = offsets(&good)[2];
    for (field, wrong) in [(6, 0x40), (22, 0x40), (4, 0x40), (0, 0x01)] {
        let mut bytes = good.clone();
        bytes[at + field] ^= wrong;
        let (again, report) = repaired(&bytes);
        let found = read(&Asdf::from_bytes(again).unwrap(), "/c").ok();
        let is_named = lost(&report).iter().any(|(_, arrays)| arrays.contains(&"/c"));
        assert!(found == Some(elements(3)) || is_named, "{field}: {report:?}");
        assert!(found != Some(elements(2)), "{field}: another block");
    }
}

#[test]
fn repairing_keeps_block_numbers_if_the_magic_of_the_first_block_is_overwritten() {
    let good = plain();
    let at = offsets(&good)[0];
    for wrong in [&b"x"[..], b"....................."] {
        let mut bytes = good.clone();
        bytes[at..at + wrong.len()].copy_from_slice(wrong);
        for salvaged in [false, true] {
            let bytes = if salvaged { repaired(&bytes).0 } else { bytes.clone() };
            let file = Asdf::from_bytes(bytes).unwrap();
            assert!(read(&file, "/a").is_err());
            assert_eq!(read(&file, "/b").unwrap(), elements(2));
            assert_eq!(read(&file, "/c").unwrap(), elements(3));
        }
        assert_eq!(lost(&repaired(&bytes).1), [(Some(0), vec!["/a"])]);
    }
}

#[test]
fn repairing_an_intact_file_with_a_streamed_block_does_not_change_it() {
    let path = testdata::path("asdf/streamed.asdf");
    let good = std::fs::read(path).unwrap();
    let (again, report) = repaired(&good);
    assert!(again == good && report.lost.is_empty());
}

#[test]
fn repairing_keeps_valid_golden_files_valid_and_repairing_again_changes_nothing() {
    for case in testdata::cases(&testdata::path("asdf/expected.json")) {
        let bytes = std::fs::read(&case.file).unwrap();
        let Ok(before) = Asdf::from_bytes(bytes.clone()) else { continue };
        let (again, report) = repaired(&bytes);
        let after = Asdf::from_bytes(again.clone()).unwrap();
        let passed = before.verify(&asdf::inspect::VerifyOptions::new()).unwrap().passed();
        let fine_now = after.verify(&asdf::inspect::VerifyOptions::new()).unwrap().passed();
        assert!(fine_now || !passed, "{}: {report:?}", case.name);
        assert!(repaired(&again).0 == again, "{}", case.name);
    }
}

#[test]
fn repairing_hostile_files_neither_panics_nor_produces_much_larger_files() {
    let good = plain();
    let blocks = offsets(&good);
    // Write nonsensical values to each field of a header.
    for field in [4, 6, 10, 14, 22, 30, 38] {
        for value in [0_u64, 1, 1 << 31, 1 << 62, u64::MAX] {
            let mut bytes = good.clone();
            bytes[blocks[1] + field..blocks[1] + field + 8].copy_from_slice(&value.to_be_bytes());
            repaired(&bytes);
        }
    }
    // Let an array refer to a nonexistent block, and insert a gap between the blocks.
    let mut bytes = good.clone();
    let place = bytes.windows(9).rposition(|window| window == b"source: 2").unwrap();
    bytes.splice(place..place + 9, *b"source: 4000000000000000000");
    let gap = offsets(&good)[1] + 18;
    bytes.splice(gap..gap, [b'x'; 80]);
    let (again, _) = repaired(&bytes);
    assert!(again.len() < 3 * good.len());
    // Repair 64 MiB of compressed zeros with a smaller allocation limit.
    let mut tree = Tree::default();
    tree.set("/z", Array::from_slice(&vec![0_u8; 64 << 20], &[64 << 20]).unwrap()).unwrap();
    let options = WriteOptions::new().compression(Compression::Bzip2(9));
    let bomb = bytes_of(&Writer::new(tree).options(options));
    let options = RecoverOptions::new().limits(Limits::default().max_alloc(16 << 20));
    let mut out = Cursor::new(Vec::new());
    assert!(recover(Arc::new(bomb), &mut out, &options).unwrap().lost.is_empty());
    for junk in [&b""[..], b"#ASDF", b"junk", b"\xd3BLK"] {
        let out = Cursor::new(Vec::new());
        assert!(recover(Arc::new(junk.to_vec()), out, &RecoverOptions::new()).is_err());
    }
}
