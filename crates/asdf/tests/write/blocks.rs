//! The layout of a written file: alignment, checksums, index, padding and version of the standard.

use asdf::block::ChecksumVerdict;
use asdf::ndarray::f16;
use asdf::tag::Version;
use asdf::value::{Array, ArrayStorage, Mapping};
use asdf::yaml::Integer;
use asdf::{Asdf, ErrorKind, Tree, Value, WriteOptions, Writer};

use crate::{bytes_of, open, written};

fn three_arrays() -> Tree {
    let mut tree = Tree::default();
    for (key, len) in [("/a", 5_u64), ("/b", 0), ("/c", 1000)] {
        let elements = vec![7_u8; usize::try_from(len).unwrap()];
        tree.set(key, Array::from_slice(&elements, &[len]).unwrap()).unwrap();
    }
    tree
}

#[test]
fn too_much_padding_is_rejected() {
    let writer = Writer::new(three_arrays()).options(WriteOptions::new().pad_tree(100_000_000_000));
    let error = writer.write_to(&mut std::io::Cursor::new(Vec::new())).unwrap_err().to_string();
    assert!(error.contains("expected at most 67108864"), "{error}");
}

#[test]
fn block_data_begins_at_multiples_of_the_alignment() {
    for align in [1, 8, 64, 4096, 32_768] {
        let file = written(three_arrays(), WriteOptions::new().align(align));
        for block in file.blocks() {
            let block = block.unwrap();
            assert_eq!(block.data_range().unwrap().start % align, 0, "{align}");
            assert_eq!(block.verify().unwrap(), ChecksumVerdict::Stored);
        }
    }
    let file = written(three_arrays(), WriteOptions::new().align(1));
    assert_eq!(file.blocks().get(1).unwrap().header().unwrap().header_size, 48);
    for align in [0, 3, 65_536] {
        let writer = Writer::new(three_arrays()).options(WriteOptions::new().align(align));
        assert!(writer.write_to(std::io::Cursor::new(Vec::new())).is_err(), "{align}");
    }
}

#[test]
fn blocks_are_written_without_gaps_and_with_an_index() {
    let bytes = bytes_of(&Writer::new(three_arrays()));
    let file = open(bytes.clone());
    let index = file.layout().index.clone().unwrap();
    assert_eq!((index.entries, index.accepted), (Some(3), true));
    let offsets: Vec<u64> = file.blocks().iter().map(|block| block.unwrap().offset()).collect();
    let expected = format!(
        "#ASDF BLOCK INDEX\n%YAML 1.1\n---\n- {}\n- {}\n- {}\n...\n",
        offsets[0], offsets[1], offsets[2]
    );
    assert!(bytes.ends_with(expected.as_bytes()));
    for (before, after) in [(0, 1), (1, 2)] {
        let header = *file.blocks().get(before).unwrap().header().unwrap();
        assert_eq!(header.next_offset(), Some(offsets[after]));
        assert_eq!(header.allocated_size, header.used_size);
    }
    let bare = bytes_of(&Writer::new(three_arrays()).options(WriteOptions::new().index(false)));
    assert_eq!(Asdf::from_bytes(bare).unwrap().layout().index, None);
}

/// Creates arrays, some of which are large enough for other threads to compute their checksums.
#[cfg(feature = "rayon")]
fn large_arrays() -> Tree {
    let mut tree = Tree::default();
    for (key, len) in [("/a", 5_000_000), ("/b", 10), ("/c", 3_000_001), ("/d", 2_000_000)] {
        let elements: Vec<u8> = (0..len).map(|at: u32| at.to_le_bytes()[at as usize % 3]).collect();
        tree.set(key, Array::from_slice(&elements, &[u64::from(len)]).unwrap()).unwrap();
    }
    tree
}

#[cfg(feature = "rayon")]
#[test]
fn checksums_computed_by_other_threads_are_written_to_the_headers() {
    use rayon::prelude::*;

    let writer = Writer::new(large_arrays());
    let written = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        // Use more writers than threads, to show that no writer waits for another.
        pool.install(|| (0..5).into_par_iter().map(|_| bytes_of(&writer)).collect::<Vec<_>>())
    };
    let alone = written(1);
    assert!(written(2) == alone && written(4) == alone);
    for block in open(alone[0].clone()).blocks() {
        assert_eq!(block.unwrap().verify().unwrap(), ChecksumVerdict::Stored);
    }
}

#[cfg(feature = "rayon")]
#[test]
fn the_writer_returns_the_error_from_a_full_output() {
    let writer = Writer::new(large_arrays());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    for room in [0, 100, 2_000, 5_100_000, 8_100_000] {
        let mut memory = vec![0; room];
        let error = pool.install(|| writer.write_to(std::io::Cursor::new(&mut memory[..])));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("failed to write whole buffer"), "{room}: {error}");
    }
}

#[test]
fn checksums_can_be_omitted() {
    let file = written(three_arrays(), WriteOptions::new().checksum(false));
    assert_eq!(file.blocks().get(0).unwrap().verify().unwrap(), ChecksumVerdict::Absent);
}

#[test]
fn the_padding_of_the_tree_consists_of_spaces_and_a_final_line_feed() {
    for pad in [1, 2, 5000] {
        let bytes =
            bytes_of(&Writer::new(three_arrays()).options(WriteOptions::new().pad_tree(pad)));
        let file = open(bytes.clone());
        let layout = file.layout();
        let (end, first) = (layout.tree.clone().unwrap().end, layout.first_block.unwrap());
        assert_eq!(first - end, pad);
        let padding = &bytes[usize::try_from(end).unwrap()..usize::try_from(first).unwrap()];
        assert!(
            padding.ends_with(b"\n") && padding[..padding.len() - 1].iter().all(|&b| b == b' ')
        );
    }
}

#[test]
fn the_version_of_the_standard_determines_the_versions_of_tags() {
    let version = |minor| Version::new(1, minor, 0);
    for (minor, root, array) in [
        (0, "asdf-1.0.0", "ndarray-1.0.0"),
        (2, "asdf-1.1.0", "ndarray-1.0.0"),
        (5, "asdf-1.1.0", "ndarray-1.0.0"),
        (6, "asdf-1.1.0", "ndarray-1.1.0"),
    ] {
        let mut tree = three_arrays();
        tree.set("/old", Value::from("1j").tagged("tag:stsci.edu:asdf/core/complex-1.0.0"))
            .unwrap();
        let file = written(tree, WriteOptions::new().standard(version(minor)));
        assert_eq!(file.layout().standard_version, Some(version(minor)));
        let tag = |pointer: &str| {
            let tag = file.tree().unwrap().pointer(pointer).unwrap().tag().unwrap().to_owned();
            tag.strip_prefix("tag:stsci.edu:asdf/core/").unwrap().to_owned()
        };
        assert_eq!((tag("").as_str(), tag("/a").as_str()), (root, array));
    }
    for other in [version(7), Version::new(2, 0, 0), Version::new(1, 0, 1)] {
        let writer = Writer::new(three_arrays()).options(WriteOptions::new().standard(other));
        assert!(writer.write_to(std::io::Cursor::new(Vec::new())).is_err(), "{other}");
    }
}

#[test]
fn values_not_allowed_in_the_chosen_version_of_the_standard_are_rejected() {
    let fails = |tree: &Tree, minor: u32| {
        let options = WriteOptions::new().standard(Version::new(1, minor, 0));
        Writer::new(tree.clone())
            .options(options)
            .write_to(std::io::Cursor::new(Vec::new()))
            .is_err()
    };
    let mut half = Tree::default();
    half.set("/a", Array::from_slice(&[f16::ONE], &[1]).unwrap()).unwrap();
    assert!(fails(&half, 5) && !fails(&half, 6));
    let mut large = Tree::default();
    large.set("/a", 1_i128 << 70).unwrap();
    assert!(fails(&large, 2) && !fails(&large, 3));
    let mut key = Tree::default();
    key.root_mut().as_mapping_mut().unwrap().insert(1.5, 1);
    assert!(fails(&key, 6) && !fails(&key, 5));
    let mut source = Tree::parse(
        "a: !core/ndarray-1.1.0 {source: 0, datatype: int8, byteorder: big, shape: [1]}\n",
    )
    .unwrap();
    assert!(fails(&source, 6));
    *source.root_mut() = vec![1].into();
    assert!(fails(&source, 6));
}

#[test]
fn the_pointer_in_an_error_contains_the_integer_keys_above_the_value() {
    let half = Array::from_slice(&[f16::ONE], &[1]).unwrap();
    let tree = Tree::new(Mapping::from_iter([(7, vec![half])]));
    let writer = Writer::new(tree).options(WriteOptions::new().standard(Version::new(1, 5, 0)));
    let error = writer.write_to(std::io::Cursor::new(Vec::new())).unwrap_err();
    let ErrorKind::Unwritable { pointer, .. } = error.kind() else { panic!("{error}") };
    assert_eq!(pointer.as_deref(), Some("/7/0"));
}

#[test]
fn integers_beyond_the_range_of_literals_are_written_as_integer_nodes() {
    let mut tree = Tree::parse("text: 0x8000000000000000\nsmall: -9223372036854775806\n").unwrap();
    for (key, value) in
        [("/a", i128::MAX), ("/b", -(1 << 63)), ("/c", (1 << 63) - 1), ("/d", 1 << 63)]
    {
        tree.set(key, value).unwrap();
    }
    let digits = "123456789012345678901234567890123456789012345678901234567890";
    let large = Integer::Large { negative: true, digits: digits.into() };
    tree.set("/e", Value::Int(large)).unwrap();
    let file = written(tree, WriteOptions::new());
    let root = file.tree().unwrap();
    for (key, value, is_node) in [
        ("a", i128::MAX.to_string(), true),
        ("b", i64::MIN.to_string(), true),
        ("c", i64::MAX.to_string(), false),
        ("d", (1_i128 << 63).to_string(), true),
        ("e", format!("-{digits}"), true),
        ("text", (1_i128 << 63).to_string(), true),
        ("small", "-9223372036854775806".to_owned(), false),
    ] {
        let node = root.get(key).unwrap();
        assert_eq!(node.integer().unwrap().to_string(), value);
        assert_eq!(node.tag().is_some(), is_node, "{key}");
    }
    assert_eq!(root.get("a").unwrap().tag(), Some("tag:stsci.edu:asdf/core/integer-1.1.0"));
}

#[test]
fn large_integers_in_inline_arrays_are_not_converted_to_integer_nodes() {
    for standard in asdf::save::STANDARDS {
        let mut tree = Tree::default();
        let elements = [1, u64::MAX, 1 << 63];
        let array = Array::from_slice(&elements, &[3]).unwrap();
        tree.set("/a", array.storage(ArrayStorage::Inline)).unwrap();
        let write = |tree| {
            let options = WriteOptions::new().standard(*standard);
            Asdf::from_bytes(bytes_of(&Writer::new(tree).options(options))).unwrap()
        };
        let file = write(tree);
        // The elements are now integers in a list. Writing the tree again must not change them.
        let again = write(Tree::from_file(&file, 0).unwrap());
        assert_eq!(again.tree_text(), file.tree_text());
        let array = again.tree().unwrap().pointer("/a").unwrap().ndarray().unwrap();
        assert_eq!(array.read::<u64>().unwrap(), elements, "{standard}");
    }
}

#[test]
fn a_file_with_only_inline_arrays_has_no_blocks() {
    let mut tree = Tree::default();
    let array = Array::from_slice(&[1_i64, 2], &[2]).unwrap();
    tree.set("/a", array.storage(ArrayStorage::Inline)).unwrap();
    let file = written(tree, WriteOptions::new());
    assert_eq!((file.blocks().len().unwrap(), file.layout().index.clone()), (0, None));
}
