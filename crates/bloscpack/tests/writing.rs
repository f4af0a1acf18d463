//! Property tests of writing: with any options, packed and appended data can be read back.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use std::fs;
use std::io::{Cursor, Write};

use bloscpack::change::{AppendOptions, append};
use bloscpack::format::Version;
use bloscpack::{
    Checksum, ChunkSize, Compressor, Reader, Shuffle, StreamWriter, Strictness, VerifyOptions,
    WriteOptions, Writer, pack_reader, pack_to_vec, verify,
};
use proptest::prelude::*;

/// Generates compressible, incompressible and empty data.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..3000);
    let smooth = (0..20_000_usize, 1..200_usize)
        .prop_map(|(len, step)| (0..len).map(|n| (n / step).to_le_bytes()[0]).collect());
    prop_oneof![noise, smooth]
}

fn compressors() -> impl Strategy<Value = Compressor> {
    let all = Compressor::ALL.into_iter().filter(|compressor| {
        let options = WriteOptions::new().compressor(*compressor);
        pack_to_vec(b"", &options).is_ok()
    });
    prop::sample::select(all.collect::<Vec<_>>())
}

prop_compose! {
    fn options()(
        compressor in compressors(),
        level in 0..=9_u8,
        shuffle in prop::sample::select(vec![Shuffle::None, Shuffle::Byte, Shuffle::Bit]),
        typesize in prop_oneof![1..=17_u32, Just(255)],
        chunk_size in prop_oneof![1..=300_u32, 1000..=30_000_u32],
        checksum in prop::sample::select(Checksum::ALL.to_vec()),
        offsets in any::<bool>(),
        room in prop::option::of(0..20_u64),
        threads in 1..4_usize,
        metadata in prop::option::of("\\PC{0,20}"),
        is_v2 in any::<bool>(),
    ) -> WriteOptions {
        let mut options = WriteOptions::new()
            .compressor(compressor)
            .level(level)
            .shuffle(shuffle)
            .typesize(typesize)
            .chunk_size(ChunkSize::Bytes(chunk_size))
            .checksum(checksum)
            .offsets(offsets)
            .threads(threads);
        if is_v2 {
            return options.version(Version::V2);
        }
        if let Some(metadata) = metadata {
            options = options.metadata(&serde_json::json!({"text": metadata}));
        }
        match room {
            Some(room) if offsets => options.max_app_chunks(room),
            _ => options,
        }
    }
}

/// Reads the data of a file in strict mode. The file must pass verification.
fn read(file: Vec<u8>) -> Vec<u8> {
    let strict = bloscpack::OpenOptions::new().strictness(Strictness::Strict);
    let reader = strict.from_bytes(file).unwrap();
    let report = verify(&reader, &VerifyOptions::new()).unwrap();
    assert!(report.passed(), "{report:?}");
    reader.read_all().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn packed_data_is_read_back_unchanged(data in data(), options in options()) {
        prop_assert_eq!(read(pack_to_vec(&data, &options).unwrap()), data);
    }

    #[test]
    fn a_writer_and_pack_reader_produce_the_same_file_as_pack_to_vec(
        data in data(),
        options in options(),
        piece in 1..5000_usize,
    ) {
        let whole = pack_to_vec(&data, &options).unwrap();
        let mut writer = Writer::new(Cursor::new(Vec::new()), &options).unwrap();
        for piece in data.chunks(piece) {
            writer.write_all(piece).unwrap();
        }
        prop_assert!(writer.finish().unwrap().into_inner() == whole);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.blp");
        pack_reader(&mut &data[..], &path, &options, None).unwrap();
        prop_assert!(fs::read(&path).unwrap() == whole);
    }

    #[test]
    fn streamed_data_is_read_back_unchanged(data in data(), options in options()) {
        let mut writer = StreamWriter::new(Vec::new(), &options).unwrap();
        writer.write_all(&data).unwrap();
        prop_assert_eq!(read(writer.finish().unwrap()), data);
    }

    #[test]
    fn appended_data_is_read_back_unchanged(
        data in data(),
        options in options(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..5),
        threads in 1..4_usize,
    ) {
        let mut places: Vec<_> =
            cuts.iter().map(|(cut, in_place)| (cut.index(data.len() + 1), *in_place)).collect();
        places.sort_unstable();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.blp");
        let mut done = places[0].0;
        fs::write(&path, pack_to_vec(&data[..done], &options).unwrap()).unwrap();
        let chunk_size = Reader::open(&path).unwrap().header().chunk_size;
        let ends = places.iter().skip(1).map(|place| place.0).chain([data.len()]);
        for ((_, in_place), end) in places.iter().zip(ends) {
            let how = AppendOptions::new().in_place(*in_place);
            let how = how.threads(threads).grow(true);
            let appended = append(&path, &data[done..end].to_vec(), &how, None).unwrap();
            prop_assert_eq!(appended.len, end as u64);
            done = end;
        }
        let file = fs::read(&path).unwrap();
        let now = Reader::from_bytes(file.clone()).unwrap();
        if chunk_size != Some(0) {
            prop_assert_eq!(now.header().chunk_size, chunk_size);
        }
        prop_assert_eq!(read(file), data);
        prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
