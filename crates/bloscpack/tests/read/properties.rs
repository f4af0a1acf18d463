//! Property tests of reading valid and damaged files.

use std::io::Cursor;

use binio::Limits;
use bloscpack::repair::{RecoverOptions, recover};
use bloscpack::{
    Checksum, ChunkSize, Compressor, OpenOptions, Reader, Strictness, UnpackOptions, Verify,
    VerifyOptions, WriteOptions, pack_to_vec, verify,
};
use proptest::prelude::*;
use serde_json::json;

/// Generates options that every build supports.
fn writer_options() -> impl Strategy<Value = WriteOptions> {
    let codecs = prop::sample::select(vec![Compressor::Lz4, Compressor::Zlib, Compressor::Zstd]);
    let checksums = prop::sample::select(Checksum::ALL.to_vec());
    (codecs, checksums, 1_u32..5000, any::<[bool; 2]>(), 0_u8..=9, 1_u32..=20).prop_map(
        |(codec, checksum, chunk_size, [offsets, metadata], level, typesize)| {
            let options = WriteOptions::new()
                .compressor(codec)
                .checksum(checksum)
                .chunk_size(ChunkSize::Bytes(chunk_size))
                .offsets(offsets)
                .level(level)
                .typesize(typesize);
            if metadata { options.metadata(&json!({"key": [1.5, null]})) } else { options }
        },
    )
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    (0_usize..20_000, any::<u8>()).prop_map(|(len, step)| {
        (0..len).map(|at| (at * usize::from(step) / 11).to_le_bytes()[0]).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reading_a_range_returns_that_part_of_the_data(
        data in data(),
        options in writer_options(),
        cuts in prop::collection::vec((0.0..=1.0, 0.0..=1.0), 8),
    ) {
        let bytes = pack_to_vec(&data, &options).unwrap();
        let file = OpenOptions::new().strictness(Strictness::Strict).from_bytes(bytes).unwrap();
        prop_assert_eq!(file.diagnostics(), []);
        prop_assert_eq!(&file.read_all().unwrap(), &data);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let place = |cut: f64| (cut * data.len() as f64) as usize;
        for (one, other) in cuts {
            let range = place(one).min(place(other))..place(one).max(place(other));
            let (start, end) = (range.start as u64, range.end as u64);
            let mut part = vec![0; range.len()];
            file.read_exact_at(&mut part, start).unwrap();
            prop_assert_eq!(&part, &data[range.clone()]);
            part.fill(0);
            file.read_into(&mut part, start, &UnpackOptions::new().threads(2)).unwrap();
            prop_assert_eq!(&part, &data[range.clone()]);
            let mut sink = Vec::new();
            file.unpack_range_to(start..end, &mut sink, &UnpackOptions::new().threads(2)).unwrap();
            prop_assert_eq!(&sink, &data[range]);
        }
        let past = file.len() + 1;
        prop_assert!(file.read_exact_at(&mut [], past).is_err());
        prop_assert!(file.read_exact_at(&mut vec![0; data.len() + 1], 0).is_err());
    }

    #[test]
    fn changed_bytes_cause_no_panic_and_data_with_matching_digests_is_unchanged(
        data in data(),
        options in writer_options(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        never in any::<bool>(),
    ) {
        let mut bytes = pack_to_vec(&data, &options).unwrap();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let limits = Limits::default().max_alloc(1 << 20).max_decoded(1 << 20);
        let opening = OpenOptions::new()
            .limits(limits)
            .verify(if never { Verify::Never } else { Verify::OnRead });
        let mut sink = Cursor::new(Vec::new());
        let recovered = recover(&bytes, &mut sink, &RecoverOptions::new().limits(limits).skip_bad(never));
        if recovered.is_ok() {
            let written = sink.into_inner();
            prop_assert!(OpenOptions::new().ignore_metadata(true).from_bytes(written).is_ok());
        }
        let Ok(file) = opening.from_bytes(bytes) else { return Ok(()) };
        let fine = verify(&file, &VerifyOptions::new()).is_ok_and(|report| report.passed());
        let read = read_in_every_way(&file);
        prop_assert!(!fine || read.is_some());
        // If every digest matches, the data must be unchanged. Only its length may differ, because
        // no digest covers the header.
        let has_digest = file.header().checksum != Checksum::None;
        if let (true, true, Some(read)) = (fine, has_digest && file.len() == data.len() as u64, read) {
            prop_assert_eq!(read, data);
        }
    }

    #[test]
    fn truncated_files_are_rejected(data in data(), options in writer_options(), cut in any::<prop::sample::Index>()) {
        let bytes = pack_to_vec(&data, &options).unwrap();
        let cut = &bytes[..cut.index(bytes.len())];
        prop_assert!(Reader::from_bytes(cut.to_vec()).is_err());
    }
}

/// Returns the data, or `None` if it cannot be read. Panics if two ways of reading return different
/// data.
fn read_in_every_way(file: &Reader) -> Option<Vec<u8>> {
    let all = file.read_all().ok();
    let two = UnpackOptions::new().threads(2);
    assert_eq!(file.read_all_parallel(&two).ok(), all);
    let mut sink = Vec::new();
    let unpacked = file.unpack_to(&mut sink, &two).ok().map(|()| sink);
    assert!(all.is_none() || unpacked == all);
    let chunks: Option<Vec<Vec<u8>>> =
        (0..file.chunks().len()).map(|index| file.decode_chunk(index).ok()).collect();
    assert!(all.is_none() || chunks.map(|chunks| chunks.concat()) == all);
    all
}
