use std::sync::Arc;

use binio::Limits;
use binio::source::ReadLog;
use proptest::prelude::*;

use super::*;
use crate::asdf::Asdf;
use crate::codec::Compression;
use crate::diagnostic::Code;
use crate::file::locate::test_file::{
    BlockBuilder, HEAD, TREE, block, codes, contents, indexed_file,
};
use crate::options::{OpenOptions, Strictness, Verify};

fn file_of(options: &OpenOptions, blocks: &[BlockBuilder]) -> Asdf {
    let blocks: Vec<_> = blocks.iter().map(BlockBuilder::bytes).collect();
    options.from_bytes([HEAD, TREE, &blocks.concat()].concat()).unwrap()
}

fn file(blocks: &[BlockBuilder]) -> Asdf {
    file_of(&OpenOptions::new(), blocks)
}

/// The letters `abc` as a zlib stream.
const ABC_ZLIB: &[u8] = b"\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27";

/// A block that contains [`ABC_ZLIB`].
fn abc() -> BlockBuilder {
    block(ABC_ZLIB).code(*b"zlib").data_size(3)
}

#[test]
fn files_and_blocks_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Asdf>();
    is_shared::<Block<'_>>();
}

#[test]
fn uncompressed_data_in_memory_is_returned_without_a_copy() {
    let bytes = Bytes::from(indexed_file(&[b"one"]));
    let file = Asdf::from_bytes(bytes.clone()).unwrap();
    let data = file.blocks().get(0).unwrap().decode().unwrap();
    assert!(bytes.as_ptr_range().contains(&data.as_ptr()));
}

#[test]
fn a_negative_block_number_counts_from_the_last_block() {
    let file = file(&[block("one"), block("two")]);
    let data = |source| file.blocks().by_source(source).map(|block| block.decode().unwrap());
    assert_eq!(data(-1).unwrap(), "two");
    assert_eq!(data(-2).unwrap(), "one");
    for outside in [2, -3, i64::MIN, i64::MAX] {
        let error = data(outside).unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::Block { kind: BlockError::NoSuchBlock { count: 2 }, .. }
        ));
    }
}

#[test]
fn a_bad_block_does_not_affect_other_blocks() {
    let past_end = block("four").used_size(1 << 50).allocated_size(4);
    let file = file(&[
        block("one"),
        block("two").code([0xff, 1, 2, 3]),
        abc().data_size(4),
        past_end,
        block("five"),
    ]);
    let results: Vec<_> = file.blocks().decode_all().unwrap();
    assert_eq!(results.len(), 5);
    assert_eq!(results[0].as_ref().unwrap(), "one");
    assert_eq!(
        results[1].as_ref().unwrap_err().to_string(),
        "block 1 (ff 01 02 03): unknown compression"
    );
    assert!(matches!(
        results[2].as_ref().unwrap_err().kind(),
        ErrorKind::Codec { index: 2, kind: CodecError::ShortStream { .. }, .. }
    ));
    assert!(matches!(
        results[3].as_ref().unwrap_err().kind(),
        ErrorKind::Block { index: 3, kind: BlockError::PastEnd { .. } }
    ));
    assert_eq!(results[4].as_ref().unwrap(), "five");
    assert_eq!(file.blocks().get(1).unwrap().raw().unwrap(), "two", "stays available");
}

#[test]
fn the_used_size_determines_the_data_and_the_allocated_size_determines_the_next_block() {
    let file = file(&[block("one").allocated_size(100), block("two").data_size(9), block("three")]);
    assert_eq!(contents(&file), ["one", "two", "three"]);
    assert_eq!(codes(&file), [Code::DataSizeMismatch]);
    let file = self::file(&[block("four").allocated_size(2)]);
    assert_eq!(contents(&file), ["four"]);
    assert_eq!(codes(&file), [Code::UsedExceedsAllocated]);
}

#[test]
fn a_streamed_block_extends_to_the_end_and_cannot_be_compressed() {
    let file = file(&[block("one"), block("to the end").flags(1).used_size(3).data_size(3)]);
    assert_eq!(contents(&file), ["one", "to the end"]);
    assert_eq!(file.blocks().get(1).unwrap().data_len().unwrap(), 10);
    let file = self::file(&[abc().flags(1)]);
    let block = file.blocks().get(0).unwrap();
    let error = block.decode().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Codec { kind: CodecError::StreamedCompressed, .. }));
    assert_eq!(block.raw().unwrap(), ABC_ZLIB);
}

#[test]
fn decoding_a_range_outside_the_data_or_into_a_buffer_of_the_wrong_size_fails() {
    let file = file(&[block("one"), abc()]);
    for block in file.blocks() {
        let block = block.unwrap();
        assert_eq!(block.decode_range(1..3).unwrap(), block.decode().unwrap()[1..3]);
        assert_eq!(block.decode_range(3..3).unwrap(), "");
        #[allow(clippy::reversed_empty_ranges, reason = "that is the point")]
        for range in [2..1, 0..4, 4..4, u64::MAX..u64::MAX] {
            let error = block.decode_range(range).unwrap_err();
            assert!(matches!(
                error.kind(),
                ErrorKind::Block { kind: BlockError::RangeOutside { .. }, .. }
            ));
        }
        let mut buffer = [0; 3];
        block.decode_into(&mut buffer).unwrap();
        assert_eq!(buffer, block.decode().unwrap()[..]);
        let error = block.decode_into(&mut [0; 4]).unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::Block { kind: BlockError::BufferSize { expected: 3, found: 4 }, .. }
        ));
    }
}

#[test]
fn a_compressed_block_is_decoded_once_for_two_readers() {
    let file = file(&[abc()]);
    let first = file.blocks().get(0).unwrap().decode().unwrap();
    let second = file.blocks().get(0).unwrap().decode().unwrap();
    let part = file.blocks().get(0).unwrap().decode_range(1..2).unwrap();
    assert_eq!(first.as_ptr(), second.as_ptr());
    assert!(first.as_ptr_range().contains(&part.as_ptr()));
}

#[test]
fn a_range_before_the_truncated_end_of_a_block_is_decoded() {
    let mut stored = ABC_ZLIB.to_vec();
    stored.pop();
    let file = file(&[block(stored).code(*b"zlib").data_size(3)]);
    let block = file.blocks().get(0).unwrap();
    assert!(block.decode().is_err());
    assert_eq!(block.decode_range(0..2).unwrap(), "ab");
}

#[test]
fn an_irregular_stream_is_reported_once_with_its_offset_in_the_file() {
    let stored = [ABC_ZLIB, b"!"].concat();
    let file =
        file_of(&OpenOptions::new().cache_size(0), &[block(stored).code(*b"zlib").data_size(3)]);
    let block = file.blocks().get(0).unwrap();
    block.decode().unwrap();
    block.decode().unwrap();
    assert_eq!(codes(&file), [Code::BytesAfterStream]);
    let place = block.data_range().unwrap().start + ABC_ZLIB.len() as u64;
    assert_eq!(file.diagnostics()[0].place.offset, Some(place));
}

#[test]
fn decoding_a_block_or_a_range_respects_the_limit_on_the_decoded_size() {
    let limits = Limits::default().max_decoded(2);
    let file = file_of(&OpenOptions::new().limits(limits).cache_size(0), &[abc(), block("one")]);
    let compressed = file.blocks().get(0).unwrap();
    let is_limit =
        |error: Error| matches!(error.kind(), ErrorKind::Limit { limit: 2, requested: 3, .. });
    assert!(is_limit(compressed.decode().unwrap_err()));
    assert!(is_limit(compressed.decode_into(&mut [0; 3]).unwrap_err()));
    assert!(is_limit(compressed.decode_range(0..3).unwrap_err()));
    assert_eq!(compressed.decode_range(0..2).unwrap(), "ab");
    assert_eq!(file.blocks().get(1).unwrap().decode().unwrap(), "one", "nothing is decoded");
}

// Checksums

#[test]
fn a_block_is_valid_if_the_checksum_matches_the_stored_or_decoded_bytes() {
    let file = file(&[
        block("one"),
        block("one").checksum_of(b"one"),
        abc().checksum_of(ABC_ZLIB),
        abc().checksum_of(b"abc"),
        abc().checksum_of(b"other"),
        block("one").checksum_of(b"other"),
        abc().data_size(9).checksum_of(b"other"),
        block("padded").allocated_size(100).checksum_of(b"padded"),
        block("streamed").flags(1).checksum_of(b"other"),
    ]);
    let md5 = |message: &[u8]| Algorithm::Md5.digest(message);
    let mismatch = |stored: &[u8], decoded: Option<&[u8]>| ChecksumVerdict::Mismatch {
        stored: md5(stored),
        decoded: decoded.map(md5),
    };
    let verdicts: Vec<_> =
        file.blocks().verify_all().unwrap().into_iter().map(Result::unwrap).collect();
    let expected = [
        ChecksumVerdict::Absent,
        ChecksumVerdict::Stored,
        ChecksumVerdict::Stored,
        ChecksumVerdict::Decoded,
        mismatch(ABC_ZLIB, Some(b"abc")),
        mismatch(b"one", None),
        mismatch(ABC_ZLIB, None),
        ChecksumVerdict::Stored,
        ChecksumVerdict::Absent,
    ];
    assert_eq!(verdicts, expected);
    assert_eq!(verdicts.iter().filter(|verdict| verdict.is_pass()).count(), 6);
    assert_eq!(codes(&file), [Code::ChecksumOfDecodedBytes]);
}

#[cfg(not(feature = "zstd"))]
#[test]
fn without_the_codec_a_checksum_that_does_not_match_the_stored_bytes_cannot_be_verified() {
    let zstd = || block("stored").code(*b"zstd").data_size(3);
    let blocks = [zstd().checksum_of(b"abc"), zstd().checksum_of(b"stored")];
    let intact = file(&blocks);
    let verdicts: Vec<_> =
        intact.blocks().verify_all().unwrap().into_iter().map(Result::unwrap).collect();
    let stored = Algorithm::Md5.digest(b"stored");
    let unverifiable = ChecksumVerdict::Unverifiable { stored, feature: "zstd" };
    assert_eq!(verdicts, [unverifiable, ChecksumVerdict::Stored]);
    let error = intact.blocks().get(0).unwrap().check_once().unwrap_err();
    let ErrorKind::Block { kind: BlockError::Unverifiable("zstd"), .. } = error.kind() else {
        panic!("{error}");
    };
    assert!(!error.is_bad_data());
    let reporting = file_of(&OpenOptions::new().verify(Verify::Report), &blocks);
    reporting.blocks().get(0).unwrap().check_once().unwrap();
    assert_eq!(codes(&reporting), [Code::NotChecked]);
}

#[test]
fn verifying_on_read_rejects_only_damaged_data() {
    let blocks = [block("one").checksum_of(b"other"), abc().checksum_of(b"abc"), block("three")];
    assert_eq!(contents(&file(&blocks)), ["one", "abc", "three"], "off by default");
    let file = file_of(&OpenOptions::new().verify(Verify::OnRead), &blocks);
    let damaged = file.blocks().get(0).unwrap();
    for result in [
        damaged.decode().map(drop),
        damaged.decode_range(0..1).map(drop),
        damaged.decode_into(&mut [0; 3]),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::Block { index: 0, kind: BlockError::Checksum { .. } }
        ));
    }
    assert_eq!(damaged.raw().unwrap(), "one", "as stored, without a check");
    assert_eq!(file.blocks().get(1).unwrap().decode().unwrap(), "abc");
    assert_eq!(file.blocks().get(2).unwrap().decode().unwrap(), "three");
}

#[test]
fn by_default_only_compressed_blocks_that_are_decoded_as_a_whole_are_verified() {
    let blocks = [abc().checksum_of(b"other"), block("one").checksum_of(b"other")];
    let by_default = file(&blocks);
    let damaged = by_default.blocks().get(0).unwrap();
    for result in [
        damaged.decode().map(drop),
        damaged.decode_range(0..1).map(drop),
        damaged.decode_into(&mut [0; 3]),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Block { kind: BlockError::Checksum { .. }, .. }));
    }
    assert_eq!(by_default.blocks().get(1).unwrap().decode().unwrap(), "one");
    let never = file_of(&OpenOptions::new().verify(Verify::Never), &blocks);
    assert_eq!(contents(&never), ["abc", "one"]);
    let salvage = file_of(&OpenOptions::new().strictness(Strictness::Salvage), &blocks);
    assert_eq!(contents(&salvage), ["abc", "one"]);
}

#[test]
fn by_default_reading_part_of_a_chunked_block_does_not_verify_it() {
    let chunk = b"\0\0\0\x08\x03\0\0\0\x30abc";
    let lz4 = block(chunk).code(*b"lz4\0").data_size(3).checksum_of(b"other");
    let file = file(&[lz4]);
    let block = file.blocks().get(0).unwrap();
    assert_eq!(block.decode_range(0..2).unwrap(), "ab");
    assert!(is_checksum_error(&block.decode_range(0..3).unwrap_err()));
}

#[test]
fn each_chunk_has_the_ranges_of_its_stored_and_decoded_bytes() {
    let chunk = b"\0\0\0\x08\x03\0\0\0\x30abc";
    let stored = [&chunk[..], b"\0\0\0\x08\x03\0\0\0\x30def"].concat();
    let file = file(&[block(stored).code(*b"lz4\0").data_size(6), abc(), block("raw")]);
    let block = file.blocks().get(0).unwrap();
    let start = block.data_range().unwrap().start;
    let chunks = block.chunks().unwrap().unwrap();
    let found: Vec<_> = chunks.iter().map(|c| (c.stored.clone(), c.decoded.clone())).collect();
    assert_eq!(found, [(start + 8..start + 12, 0..3), (start + 20..start + 24, 3..6)]);
    for other in [1, 2] {
        assert_eq!(file.blocks().get(other).unwrap().chunks().unwrap(), None);
    }
}

#[test]
fn verifying_the_checksum_while_reading_takes_no_additional_read() {
    let data = vec![1; 1 << 18];
    let bytes = [HEAD, TREE, &block(&data).checksum_of(&data).bytes()].concat();
    let source = Arc::new(ReadLog::new(Bytes::from(bytes)));
    let options = OpenOptions::new().verify(Verify::OnRead);
    let file = options.from_source(Arc::clone(&source) as Arc<dyn ReadAt>).unwrap();
    let block = file.blocks().get(0).unwrap();
    source.clear();
    block.decode().unwrap();
    assert_eq!(source.ranges().len(), 1, "for the checksum and for the data");
    block.decode().unwrap();
    assert_eq!(source.ranges().len(), 2);
}

/// Calls a function. If the feature `rayon` is enabled, calls it in pools with one, two and three
/// threads.
pub(super) fn in_pools(check: impl Fn() + Send + Sync) {
    #[cfg(feature = "rayon")]
    for threads in 1..=3 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&check);
    }
    #[cfg(not(feature = "rayon"))]
    check();
}

/// Returns a file with one block that contains the data, compressed as specified.
pub(super) fn compressed(data: &[u8], compression: Compression) -> Vec<u8> {
    let mut tree = crate::Tree::default();
    let array = crate::value::Array::from_slice(data, &[data.len() as u64]).unwrap();
    tree.set("/data", array).unwrap();
    let options = crate::WriteOptions::new().compression(compression);
    let mut file = std::io::Cursor::new(Vec::new());
    crate::Writer::new(tree).options(options).write_to(&mut file).unwrap();
    file.into_inner()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In tests, blocks of 16 or more bytes are hashed on another thread, if there is one.
    #[test]
    fn verification_accepts_intact_blocks_and_rejects_damaged_ones_with_any_number_of_threads(
        data in prop::collection::vec(0..4_u8, 1..3000),
        compression in prop::sample::select(vec![
            Compression::None, Compression::Zlib(6), Compression::Bzip2(1), Compression::Lz4,
        ]),
        damage in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = compressed(&data, compression);
        if let Some(place) = damage {
            let file = Asdf::from_bytes(bytes.clone()).unwrap();
            let range = file.blocks().get(0).unwrap().data_range().unwrap();
            let start = usize::try_from(range.start).unwrap();
            let len = usize::try_from(range.end - range.start).unwrap();
            bytes[start + place.index(len)] ^= 0x10;
        }
        let options = OpenOptions::new().verify(Verify::OnRead).cache_size(0);
        let sources: [Arc<dyn ReadAt>; 2] =
            [Arc::new(Bytes::from(bytes.clone())), Arc::new(ReadLog::new(bytes))];
        in_pools(|| {
            for source in &sources {
                let open = || options.from_source(Arc::clone(source)).unwrap();
                let decoded = open().blocks().get(0).unwrap().decode().ok();
                let mut buffer = vec![0; data.len()];
                let into = open().blocks().get(0).unwrap().decode_into(&mut buffer).ok();
                let expected = damage.is_none().then(|| data.clone());
                assert_eq!(decoded, expected.clone().map(Bytes::from));
                assert_eq!(into.map(|()| buffer), expected);
            }
        });
    }
}

#[test]
fn checking_all_blocks_finds_a_truncated_block_without_a_checksum() {
    let mut bytes = [HEAD, TREE, &block(b"whole").bytes(), &block(b"0123456789").bytes()].concat();
    bytes.truncate(bytes.len() - 4);
    let file = Asdf::from_bytes(bytes).unwrap();
    let verdicts = file.blocks().check_all(|_| ()).unwrap();
    assert!(matches!(verdicts[0].1, Ok(ChecksumVerdict::Absent)));
    let error = verdicts[1].1.as_ref().unwrap_err();
    let ErrorKind::Block { index: 1, kind: BlockError::PastEnd { .. } } = error.kind() else {
        panic!("{error}");
    };
}
