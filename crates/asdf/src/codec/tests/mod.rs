mod round_trip;

use std::io::Write;

use super::*;

fn job(code: [u8; 4], data_size: usize) -> DecodeJob {
    DecodeJob { code, data_size: data_size as u64, salvage: false }
}

/// Decodes all data in several ways, checks that the results are equal, and returns the result.
fn decode(job: DecodeJob, stored: &[u8]) -> Result<(Vec<u8>, Vec<Irregularity>), CodecError> {
    let (mut notes, mut other_notes) = (Vec::new(), Vec::new());
    let result = unwrap(job.decode(&stored, &mut notes));
    if let Ok(len) = usize::try_from(job.data_size) {
        if len < 1 << 30 {
            let mut buffer = vec![0; len];
            let into = unwrap(job.decode_into(&stored, &mut buffer, &mut other_notes));
            assert_eq!(into.map(|()| buffer), result);
            assert_eq!(other_notes, notes);
            other_notes.clear();
            let from_disk = unwrap(job.decode(&OnDisk(stored), &mut other_notes));
            assert_eq!((&from_disk, &other_notes), (&result, &notes));
            other_notes.clear();
            let in_pieces = unwrap(in_pieces(job, &OnDisk(stored), &mut other_notes));
            assert_eq!((&in_pieces, &other_notes), (&result, &notes));
        }
    }
    result.map(|data| (data, notes))
}

/// Decodes all data piece by piece, as for recompression.
fn in_pieces(
    job: DecodeJob,
    stored: &dyn ReadAt,
    notes: &mut Vec<Irregularity>,
) -> Result<Vec<u8>, Failure> {
    let (mut data, mut buffer) = (Vec::new(), Vec::new());
    let mut decoder = job.open(stored, notes)?;
    while decoder.left() > 0 {
        data.extend_from_slice(decoder.next_piece(&mut buffer)?);
    }
    decoder.finish()?;
    Ok(data)
}

/// A source that is not in memory, and is therefore read in pieces.
struct OnDisk<'a>(&'a [u8]);

impl ReadAt for OnDisk<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

fn unwrap<T>(result: Result<T, Failure>) -> Result<T, CodecError> {
    result.map_err(|failure| match failure {
        Failure::Codec(error) => error,
        Failure::Binio(error) => panic!("{error}"),
    })
}

fn codes(notes: &[Irregularity]) -> Vec<(Code, u64)> {
    notes.iter().map(|note| (note.code, note.offset)).collect()
}

fn zlib(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(data: &[u8]) -> Vec<u8> {
    let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Creates a chunk of the `lz4` framing.
fn chunk(data: &[u8]) -> Vec<u8> {
    let block = if data.is_empty() { Vec::new() } else { lz4_flex::block::compress(data) };
    let len = u32::try_from(block.len() + 4).unwrap();
    let data_len = u32::try_from(data.len()).unwrap();
    [&len.to_be_bytes()[..], &data_len.to_le_bytes(), &block].concat()
}

fn lz4(data: &[u8]) -> Vec<u8> {
    data.chunks(1000).flat_map(chunk).collect()
}

#[cfg(feature = "lz4f")]
fn lz4_frame_of(data: &[u8]) -> Vec<u8> {
    use lz4_flex::frame::{FrameEncoder, FrameInfo};
    let info = FrameInfo::new().content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A function that encodes data.
type Encoder = fn(&[u8]) -> Vec<u8>;
/// The codes of all codecs in this build, each with an encoder.
const CODECS: &[([u8; 4], Encoder)] = &[
    (*b"zlib", zlib),
    (*b"bzp2", bzip2),
    (*b"lz4\0", lz4),
    #[cfg(feature = "lz4f")]
    (*b"lz4f", lz4_frame_of),
    #[cfg(feature = "zstd")]
    (*b"zstd", |data| ::zstd::encode_all(data, 3).unwrap()),
    #[cfg(feature = "blsc")]
    (*b"blsc", blosc),
    #[cfg(feature = "blsc")]
    (*b"blsc", |data| data.chunks(1000).flat_map(blosc_chunk).collect()),
];

/// Creates a single Blosc buffer, with several blocks if there is enough data.
#[cfg(feature = "blsc")]
fn blosc(data: &[u8]) -> Vec<u8> {
    use binio::blosc::{CompressOptions, Compressor, compress};
    let options = CompressOptions::new(Compressor::Zstd).typesize(4).blocksize(1024);
    compress(data, &options).unwrap()
}

/// Creates a chunk that contains a Blosc buffer.
#[cfg(feature = "blsc")]
fn blosc_chunk(data: &[u8]) -> Vec<u8> {
    let buffer = blosc(data);
    [&u32::try_from(buffer.len()).unwrap().to_be_bytes()[..], &buffer].concat()
}

/// Returns `true` if data with this compression code is stored in chunks. In chunked data, further
/// bytes are another chunk, not a second stream.
fn is_chunked(code: [u8; 4]) -> bool {
    matches!(&code, b"lz4\0" | b"blsc")
}

/// Returns data that is compressible, but does not shrink to almost nothing.
fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from(i * i / 7 % 251).unwrap()).collect()
}

#[test]
fn encoded_data_decodes_to_the_original_with_every_codec() {
    for &(code, encode) in CODECS {
        for len in [1, 999, 1000, 1001, 3 << 20] {
            let data = sample(len);
            let (decoded, notes) = decode(job(code, len), &encode(&data)).unwrap();
            assert!(decoded == data, "{code:?} {len}");
            assert_eq!(notes, [], "{code:?} {len}");
        }
    }
}

#[test]
fn a_stream_without_data_and_a_missing_stream_decode_to_no_data() {
    for &(code, encode) in CODECS {
        for stored in [encode(b""), Vec::new()] {
            assert_eq!(decode(job(code, 0), &stored).unwrap(), (vec![], vec![]), "{code:?}");
        }
    }
}

#[test]
fn a_stream_with_less_data_than_data_size_is_an_error_even_if_data_size_is_huge() {
    for &(code, encode) in CODECS {
        let stored = encode(&sample(1000));
        for expected in [1001, 1 << 40, 1 << 62] {
            let error = decode(DecodeJob { code, data_size: expected, salvage: false }, &stored)
                .unwrap_err();
            assert_eq!(error, CodecError::ShortStream { found: 1000, expected }, "{code:?}");
        }
    }
}

#[test]
fn a_stream_with_more_data_than_data_size_is_an_error() {
    for &(code, encode) in CODECS {
        for expected in [0, 1, 999] {
            let error = decode(job(code, expected), &encode(&sample(1000))).unwrap_err();
            assert_eq!(
                error,
                CodecError::LongStream { expected: expected as u64 },
                "{code:?} {expected}"
            );
        }
    }
}

#[test]
fn every_truncated_stream_is_an_error() {
    for &(code, encode) in CODECS {
        let stored = encode(&sample(1500));
        for len in 0..stored.len() {
            assert!(decode(job(code, 1500), &stored[..len]).is_err(), "{code:?} {len}");
        }
    }
}

#[test]
fn bytes_after_the_stream_are_reported_but_not_decoded() {
    for &(code, encode) in CODECS {
        let data = sample(1000);
        let stored = encode(&data);
        let longer = [&stored[..], b"\0\0"].concat();
        let (decoded, notes) = decode(job(code, 1000), &longer).unwrap();
        assert!(decoded == data, "{code:?}");
        assert_eq!(codes(&notes), [(Code::BytesAfterStream, stored.len() as u64)], "{code:?}");
    }
}

#[test]
fn a_second_stream_is_decoded_only_if_data_size_requires_it() {
    for &(code, encode) in CODECS.iter().filter(|(code, _)| !is_chunked(*code)) {
        let (first, second) = (sample(1000), sample(500));
        let stored = [encode(&first), encode(&second)].concat();
        let place = encode(&first).len() as u64;
        let (decoded, notes) = decode(job(code, 1500), &stored).unwrap();
        assert!(decoded == [&first[..], &second].concat(), "{code:?}");
        assert_eq!(codes(&notes), [(Code::SecondStream, place)], "{code:?}");
        let (decoded, notes) = decode(job(code, 1000), &stored).unwrap();
        assert!(decoded == first, "{code:?}");
        assert_eq!(codes(&notes), [(Code::BytesAfterStream, place)], "{code:?}");
    }
}

#[test]
fn a_stream_with_a_damaged_checksum_is_an_error() {
    // A zlib stream ends with an Adler-32, a bzip2 stream with a CRC, and an LZ4 frame with an
    // xxHash.
    let has_checksum = |code: [u8; 4]| !is_chunked(code) && code != *b"zstd";
    for &(code, encode) in CODECS.iter().filter(|(code, _)| has_checksum(*code)) {
        let mut stored = encode(&sample(1000));
        let place = stored.len() - 2;
        stored[place] ^= 0x40;
        let error = decode(job(code, 1000), &stored).unwrap_err();
        assert!(matches!(error, CodecError::Corrupt { .. }), "{code:?} {error}");
    }
}

#[test]
fn the_data_of_a_zlib_stream_truncated_in_its_checksum_is_returned_only_when_salvaging() {
    let data = sample(1000);
    let stored = zlib(&data);
    for cut in 1..=4 {
        let stored = &stored[..stored.len() - cut];
        assert!(matches!(decode(job(*b"zlib", 1000), stored), Err(CodecError::Corrupt { .. })));
        let salvage = DecodeJob { salvage: true, ..job(*b"zlib", 1000) };
        let (decoded, notes) = decode(salvage, stored).unwrap();
        assert!(decoded == data);
        assert_eq!(codes(&notes), [(Code::StreamChecksumTruncated, stored.len() as u64)]);
    }
}

#[test]
fn the_error_names_the_actual_format_of_gzip_or_raw_deflate_data_labelled_as_zlib() {
    let data = sample(1000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&data).unwrap();
    let mut raw = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    raw.write_all(&data).unwrap();
    for (stored, name) in [(gzip.finish().unwrap(), "gzip"), (raw.finish().unwrap(), "raw deflate")]
    {
        let error = decode(job(*b"zlib", 1000), &stored).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn an_unknown_code_is_an_error_and_a_missing_feature_is_named() {
    for code in [*b"bls2", *b"xz\0\0", *b"lz4_", *b"zlix", [0xff, 0xfe, 0, 0], *b"ZLIB"] {
        assert_eq!(decode(job(code, 1), b"x").unwrap_err(), CodecError::UnknownCompression);
    }
    #[cfg(not(feature = "zstd"))]
    assert_eq!(decode(job(*b"zstd", 1), b"x").unwrap_err(), CodecError::FeatureMissing("zstd"));
    #[cfg(not(feature = "lz4f"))]
    assert_eq!(decode(job(*b"lz4f", 1), b"x").unwrap_err(), CodecError::FeatureMissing("lz4f"));
    #[cfg(not(feature = "blsc"))]
    assert_eq!(decode(job(*b"blsc", 1), b"x").unwrap_err(), CodecError::FeatureMissing("blsc"));
}

#[test]
fn a_decoded_range_equals_the_same_part_of_the_whole_data() {
    let data = sample(3500);
    for &(code, encode) in CODECS {
        let stored = encode(&data);
        for (start, end) in [(0, 0), (0, 1), (999, 1001), (1000, 2000), (500, 3500), (3500, 3500)] {
            let part = unwrap(job(code, 3500).decode_range(&stored, &(start as u64..end as u64)));
            assert!(part.unwrap() == data[start..end], "{code:?} {start}..{end}");
        }
    }
}

#[test]
fn a_range_before_the_truncated_end_of_a_stream_is_decoded() {
    let data = sample(200_000);
    for &(code, encode) in CODECS.iter().filter(|(code, _)| matches!(code, b"zlib" | b"lz4\0")) {
        let stored = encode(&data);
        let cut = &stored[..stored.len() - 50];
        assert!(decode(job(code, data.len()), cut).is_err());
        let part = unwrap(job(code, data.len()).decode_range(&cut, &(10..20)));
        assert!(part.unwrap() == data[10..20], "{code:?}");
    }
}

// blsc

#[cfg(feature = "blsc")]
mod blsc {
    use super::*;

    /// Returns data whose blocks all shrink when compressed, so that buffers have a table of blocks.
    fn steps(len: usize) -> Vec<u8> {
        (0..len).map(|i| u8::try_from(i / 9 % 251).unwrap()).collect()
    }

    fn error(stored: &[u8], data_size: u64) -> CodecError {
        decode(DecodeJob { code: *b"blsc", data_size, salvage: false }, stored).unwrap_err()
    }

    #[test]
    fn both_framings_of_blsc_decode_to_the_same_data() {
        let data = steps(5000);
        let chunks: Vec<u8> = data.chunks(2000).flat_map(blosc_chunk).collect();
        assert_eq!(decode(job(*b"blsc", 5000), &blosc(&data)).unwrap(), (data.clone(), vec![]));
        assert_eq!(decode(job(*b"blsc", 5000), &chunks).unwrap(), (data, vec![]));
    }

    #[test]
    fn decoding_a_range_needs_only_the_blosc_blocks_that_overlap_it() {
        let data = steps(5000);
        let mut stored = blosc(&data);
        let last_start = 16 + 4 * 4;
        stored[last_start + 3] = 0x7f;
        assert!(decode(job(*b"blsc", 5000), &stored).is_err());
        let part = unwrap(job(*b"blsc", 5000).decode_range(&stored, &(1500..4000)));
        assert!(part.unwrap() == data[1500..4000]);
    }

    #[test]
    fn decoding_a_range_needs_only_the_chunks_up_to_its_end() {
        let data = steps(5000);
        let mut stored: Vec<u8> = data.chunks(1000).flat_map(blosc_chunk).collect();
        stored.truncate(stored.len() - 1);
        let part = unwrap(job(*b"blsc", 5000).decode_range(&stored, &(900..3000)));
        assert!(part.unwrap() == data[900..3000]);
    }

    #[test]
    fn only_the_first_of_two_blosc_buffers_without_length_fields_is_decoded() {
        let stored = [blosc(&steps(1000)), blosc(&steps(10))].concat();
        let (_, notes) = decode(job(*b"blsc", 1000), &stored).unwrap();
        let place = blosc(&steps(1000)).len() as u64;
        assert_eq!(codes(&notes), [(Code::BytesAfterStream, place)]);
        assert_eq!(error(&stored, 1010), CodecError::ShortStream { found: 1000, expected: 1010 });
    }

    #[test]
    fn an_impossible_value_in_any_field_of_a_blosc_header_is_an_error() {
        let whole = blosc(&steps(5000));
        let (ctbytes, le) = (u32::try_from(whole.len()).unwrap(), u32::to_le_bytes);
        let changed = |at: usize, bytes: &[u8]| {
            let mut stored = whole.clone();
            stored[at..at + bytes.len()].copy_from_slice(bytes);
            stored
        };
        let corrupt: &[(usize, &[u8])] = &[
            (1, &[0]),
            (2, &[0xa0]),
            (3, &[0]),
            (4, &le(0)),
            (8, &le(0)),
            (8, &le(1)),
            (8, &le(5001)),
            (8, &le(1 << 31)),
            (12, &le(0)),
            (12, &le(15)),
            (12, &le(1 << 31)),
            (16, &le(0)),
            (16, &le(ctbytes)),
        ];
        for &(at, bytes) in corrupt {
            let error = error(&changed(at, bytes), 5000);
            assert!(matches!(error, CodecError::Corrupt { .. }), "{at} {bytes:?}: {error}");
        }
        let short = CodecError::ShortStream { found: 0, expected: 5000 };
        assert_eq!(error(&changed(12, &le(ctbytes + 1)), 5000), short);
        assert_eq!(error(&changed(4, &le(5001)), 5000), CodecError::LongStream { expected: 5000 });
        assert!(
            error(b"\x05\x01\x00\x00 and some more bytes", 9).to_string().contains("version 2")
        );
    }

    #[test]
    fn a_chunk_length_that_differs_from_the_length_of_its_buffer_is_an_error() {
        let mut stored = blosc_chunk(&steps(1000));
        for (byte, change) in [(3, 1), (0, 0x40), (3, 0xff)] {
            stored[byte] ^= change;
            assert!(matches!(error(&stored, 1000), CodecError::Corrupt { offset: 0, .. }));
            stored[byte] ^= change;
        }
        stored[4] = 5;
        assert!(error(&stored, 1000).to_string().contains("neither a Blosc-1 buffer"));
    }

    #[test]
    fn damage_in_a_chunk_is_reported_with_its_offset_in_the_stored_bytes() {
        let mut stored: Vec<u8> = steps(2000).chunks(1000).flat_map(blosc_chunk).collect();
        let second = blosc_chunk(&steps(2000)[..1000]).len();
        stored[second + 4 + 16 + 3] = 0x7f; // the offset of the first Blosc block
        let error = error(&stored, 2000);
        let offset = (second + 4 + 16) as u64;
        assert!(matches!(error, CodecError::Corrupt { offset: at, .. } if at == offset), "{error}");
    }
}

// lz4 chunks

#[test]
fn lz4_chunks_may_differ_in_size_or_be_empty_and_up_to_three_bytes_may_follow() {
    let data = sample(700);
    let chunks =
        [chunk(&data[..1]), chunk(b""), chunk(&data[1..600]), chunk(&data[600..]), chunk(b"")];
    let stored = chunks.concat();
    assert_eq!(decode(job(*b"lz4\0", 700), &stored).unwrap(), (data.clone(), vec![]));
    for trail in 1..=3 {
        let longer = [&stored[..], &vec![0; trail]].concat();
        let (decoded, notes) = decode(job(*b"lz4\0", 700), &longer).unwrap();
        assert!(decoded == data);
        assert_eq!(codes(&notes), [(Code::BytesAfterStream, stored.len() as u64)]);
    }
}

#[test]
fn an_impossible_lz4_chunk_length_is_an_error() {
    let raw = |len: u32, data_len: u32| [len.to_be_bytes(), data_len.to_le_bytes()].concat();
    let size = u64::from(u32::MAX);
    let error = |stored: &[u8]| {
        decode(DecodeJob { code: *b"lz4\0", data_size: size, salvage: false }, stored).unwrap_err()
    };
    for len in [0, 3] {
        assert!(matches!(error(&raw(len, 9)), CodecError::Corrupt { offset: 0, .. }));
    }
    assert_eq!(error(&raw(u32::MAX, 9)), CodecError::ShortStream { found: 0, expected: size });
    // An empty LZ4 block that claims to decode to 4 GiB.
    assert!(matches!(error(&raw(4, u32::MAX)), CodecError::Corrupt { .. }));
    let claims = job(*b"lz4\0", 100);
    assert_eq!(decode(claims, &raw(4, 101)).unwrap_err(), CodecError::LongStream { expected: 100 });
}

#[test]
fn an_lz4_chunk_that_does_not_decode_to_its_claimed_length_is_an_error() {
    let mut stored = chunk(&sample(100));
    stored[4..8].copy_from_slice(&101u32.to_le_bytes());
    assert!(matches!(decode(job(*b"lz4\0", 101), &stored), Err(CodecError::Corrupt { .. })));
    let mut stored = chunk(&sample(100));
    stored[4..8].copy_from_slice(&99u32.to_le_bytes());
    assert!(matches!(decode(job(*b"lz4\0", 99), &stored), Err(CodecError::Corrupt { .. })));
}

#[test]
fn lz4_blocks_without_a_decoded_length_are_an_error() {
    let block = lz4_flex::block::compress(&sample(1000));
    let stored = [&u32::try_from(block.len()).unwrap().to_be_bytes()[..], &block].concat();
    assert!(decode(job(*b"lz4\0", 1000), &stored).is_err());
}

/// An LZ4 frame with a single uncompressed block: the descriptor, the block and the end mark. It is written out
/// here, so that the test needs no encoder.
const STORED_FRAME: &[u8] = b"\x04\x22\x4d\x18\x60\x40\x82\x03\x00\x00\x80abc\0\0\0\0";

#[test]
fn an_lz4_frame_under_the_code_lz4_is_decoded_or_the_missing_feature_is_named() {
    let result = decode(job(*b"lz4\0", 3), STORED_FRAME);
    #[cfg(feature = "lz4f")]
    assert_eq!(result.unwrap(), (b"abc".to_vec(), vec![]));
    #[cfg(not(feature = "lz4f"))]
    assert_eq!(result.unwrap_err(), CodecError::FeatureMissing("lz4f"));
}

proptest::proptest! {
    /// A damaged stream results in an error or in data of the right size, whichever function decodes it.
    #[test]
    fn damaged_streams_never_cause_a_panic(
        changes in proptest::collection::vec((proptest::arbitrary::any::<proptest::sample::Index>(), proptest::arbitrary::any::<u8>()), 1..5),
        data_size in proptest::prop_oneof![0usize..2000, proptest::strategy::Just(1500)],
        salvage: bool,
    ) {
        for &(code, encode) in CODECS {
            let mut stored = encode(&sample(1500));
            for (place, value) in &changes {
                let place = place.index(stored.len());
                stored[place] = *value;
            }
            let job = DecodeJob { salvage, ..job(code, data_size) };
            if let Ok((data, _)) = decode_lenient(job, &stored) {
                proptest::prop_assert_eq!(data.len(), data_size);
            }
            let half = (data_size / 2) as u64;
            let _ = job.decode_range(&stored, &(half..data_size as u64));
        }
    }
}

/// Like `decode`, but does not compare errors. If several chunks are damaged, the error may be about any of
/// them.
fn decode_lenient(job: DecodeJob, stored: &[u8]) -> Result<(Vec<u8>, Vec<Irregularity>), ()> {
    let mut notes = Vec::new();
    let result = job.decode(&stored, &mut notes).map_err(drop);
    let mut buffer = vec![0; usize::try_from(job.data_size).unwrap()];
    let into = job.decode_into(&stored, &mut buffer, &mut Vec::new());
    assert_eq!(result.as_ref().ok(), into.is_ok().then_some(&buffer));
    result.map(|data| (data, notes))
}

#[cfg(feature = "rayon")]
mod parallel_bzip2 {
    use proptest::prelude::*;

    use super::*;

    /// Returns the result of decoding with this number of threads.
    fn decode_with(
        threads: usize,
        job: DecodeJob,
        stored: &[u8],
    ) -> Result<(Vec<u8>, Vec<Irregularity>), CodecError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| decode(job, stored))
    }

    /// Compresses data to a bzip2 stream with blocks of at most 100 kB.
    fn stream(data: &[u8]) -> Vec<u8> {
        let mut encoder = ::bzip2::write::BzEncoder::new(Vec::new(), ::bzip2::Compression::fast());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// Returns bytes that are hard to compress, except for some runs of equal bytes.
    fn data(len: usize, seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        let mut data = Vec::new();
        while data.len() < len {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let [byte, run, ..] = state.to_be_bytes();
            data.extend(std::iter::repeat_n(byte, if run < 8 { 300 } else { 1 }));
        }
        data.truncate(len);
        data
    }

    /// A change to a stored stream.
    #[derive(Clone, Debug)]
    enum Change {
        None,
        Flip(prop::sample::Index, u8),
        Truncate(prop::sample::Index),
        Append(Vec<u8>),
        Repeat,
    }

    fn changes() -> impl Strategy<Value = Change> {
        prop_oneof![
            Just(Change::None),
            (any::<prop::sample::Index>(), 0..8_u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
            any::<prop::sample::Index>().prop_map(Change::Truncate),
            prop::collection::vec(any::<u8>(), 1..20).prop_map(Change::Append),
            Just(Change::Repeat),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn a_bzip2_stream_decodes_the_same_with_one_thread_and_with_two(
            len in 0..420_000_usize,
            seed: u64,
            change in changes(),
            claim in -1..=1_isize,
        ) {
            let data = data(len, seed);
            let mut stored = stream(&data);
            let mut size = len;
            match change {
                Change::None => {}
                Change::Flip(at, bit) => {
                    let at = at.index(stored.len());
                    stored[at] ^= 1 << bit;
                }
                Change::Truncate(at) => stored.truncate(at.index(stored.len())),
                Change::Append(bytes) => stored.extend(bytes),
                Change::Repeat => {
                    stored.extend(stored.clone());
                    size *= 2;
                }
            }
            let job = job(*b"bzp2", size.saturating_add_signed(claim));
            let expected = decode_with(1, job, &stored);
            prop_assert_eq!(decode_with(2, job, &stored), expected);
        }
    }

    #[test]
    fn a_block_that_expands_to_several_mebibytes_is_decoded_correctly_in_parallel() {
        let data = [vec![7; 6 << 20], data(150_000, 1)].concat();
        let job = job(*b"bzp2", data.len());
        assert_eq!(decode_with(2, job, &stream(&data)), Ok((data, Vec::new())));
    }
}
