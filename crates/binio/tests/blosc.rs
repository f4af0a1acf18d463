//! Compressed data decodes to the original data, and invalid input causes no panic.

#![cfg(feature = "blosc")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]

use binio::Limits;
use binio::blosc::{Buffer, CompressOptions, Compressor, HEADER_LEN, Scratch, Shuffle, compress};
use proptest::prelude::*;

const SHUFFLES: [Shuffle; 3] = [Shuffle::None, Shuffle::Byte, Shuffle::Bit];

fn has(compressor: Compressor) -> bool {
    match compressor {
        Compressor::Blosclz | Compressor::Lz4hc => cfg!(feature = "blosc-compress"),
        Compressor::Zstd => cfg!(feature = "blosc-zstd"),
        _ => true,
    }
}

/// Generates data with runs, repeats and noise. The compressed streams contain literals and matches
/// at short and long distances, but some of the data is incompressible.
fn data() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        (any::<u8>(), 1..600_usize).prop_map(|(byte, len)| vec![byte; len]),
        prop::collection::vec(any::<u8>(), 1..300),
        (prop::collection::vec(any::<u8>(), 1..40), 1..60_usize)
            .prop_map(|(unit, times)| unit.repeat(times)),
        (any::<u32>(), 1..400_u32).prop_map(|(start, count)| (0..count)
            .flat_map(|n| start.wrapping_add(n * 3).to_le_bytes())
            .collect()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn options() -> impl Strategy<Value = CompressOptions> {
    let compressor =
        prop::sample::select(Compressor::ALL.as_slice()).prop_filter("built", |&c| has(c));
    let typesize = prop_oneof![1..=17_u8, 1..=255_u8];
    let blocksize = prop_oneof![Just(0_u32), 1..3000_u32];
    (compressor, prop::sample::select(SHUFFLES.as_slice()), typesize, 0..=9_u8, blocksize).prop_map(
        |(compressor, shuffle, typesize, level, blocksize)| {
            CompressOptions::new(compressor)
                .shuffle(shuffle)
                .typesize(typesize)
                .level(level)
                .blocksize(blocksize)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn compressed_data_decodes_to_the_same_bytes(data in data(), options in options()) {
        let packed = compress(&data, &options).unwrap();
        prop_assert!(packed.len() <= data.len() + HEADER_LEN);
        let buffer = Buffer::parse(&packed).unwrap();
        prop_assert_eq!(buffer.header().codec(), options.compressor.codec());
        prop_assert_eq!(buffer.header().shuffle(), options.shuffle);
        prop_assert_eq!(buffer.decode(&Limits::default()).unwrap(), &data[..]);
        let mut out = vec![0; data.len()];
        buffer.decode_into(&mut out, &mut Scratch::default()).unwrap();
        prop_assert_eq!(out, data);
    }

    #[test]
    fn a_decoded_range_equals_the_same_range_of_the_whole_data(
        data in data(),
        options in options(),
        ends in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let packed = compress(&data, &options).unwrap();
        let buffer = Buffer::parse(&packed).unwrap();
        let (a, b) = (ends.0.index(data.len() + 1), ends.1.index(data.len() + 1));
        let range = a.min(b)..a.max(b);
        let (mut out, mut scratch) = (vec![0; range.len()], Scratch::default());
        buffer.decode_range_into(range.clone(), &mut out, &mut scratch).unwrap();
        prop_assert_eq!(&out, &data[range]);
        let mut end = 0;
        for index in 0..buffer.header().block_count() {
            let block = buffer.block_range(index).unwrap();
            prop_assert_eq!(block.start, end);
            end = block.end;
            let mut out = vec![0; block.len()];
            buffer.decode_range_into(block.clone(), &mut out, &mut scratch).unwrap();
            prop_assert_eq!(&out, &data[block]);
        }
        prop_assert_eq!(end, data.len());
    }

    #[test]
    fn buffers_with_changed_bytes_decode_or_are_rejected_without_panicking(
        data in data(),
        options in options(),
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6),
        in_header in any::<bool>(),
    ) {
        let mut packed = compress(&data, &options).unwrap();
        let reach = if in_header { packed.len().min(40) } else { packed.len() };
        for (at, byte) in changes {
            packed[at.index(reach)] = byte;
        }
        if let Ok(buffer) = Buffer::parse(&packed) {
            let limits = Limits::default().max_decoded(64 << 20);
            let decoded = buffer.decode(&limits);
            if let Ok(decoded) = decoded {
                prop_assert_eq!(decoded.len(), buffer.header().nbytes() as usize);
            }
        }
    }

    #[test]
    fn random_headers_and_content_decode_or_are_rejected_without_panicking(
        fields in (any::<u8>(), 0..4_u8, 0..5000_u32, 0..5000_u32),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (flags, typesize, nbytes, blocksize) = fields;
        let mut bytes = vec![2, 1, flags & 0xf7, typesize];
        for field in [nbytes, blocksize, (HEADER_LEN + body.len()) as u32] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&body);
        if let Ok(buffer) = Buffer::parse(&bytes) {
            let _ = buffer.decode(&Limits::default());
        }
    }
}

#[test]
fn compressing_no_data_produces_the_same_empty_buffer_as_the_reference() {
    for compressor in Compressor::ALL.into_iter().filter(|&c| has(c)) {
        let options = CompressOptions::new(compressor).level(7);
        let mut expected = *b"\x02\x01\x13\x08\0\0\0\0\x01\0\0\0\x10\0\0\0";
        expected[2] |= (compressor.codec() as u8) << 5;
        assert_eq!(compress(b"", &options).unwrap(), expected, "{}", compressor.name());
    }
}

#[test]
fn incompressible_data_and_data_at_level_0_are_stored_uncompressed() {
    let noise: Vec<u8> = (0..5000_u64)
        .map(|n| {
            (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
                ^ (n.wrapping_mul(n * 7919) >> 9) as u8
        })
        .collect();
    let zeros = vec![0; 5000];
    for compressor in Compressor::ALL.into_iter().filter(|&c| has(c)) {
        let options = CompressOptions::new(compressor).shuffle(Shuffle::None);
        for (data, level) in [(&noise, 5), (&zeros, 0)] {
            let packed = compress(data, &options.level(level)).unwrap();
            let header = *Buffer::parse(&packed).unwrap().header();
            assert!(header.is_memcpyed(), "{}", compressor.name());
            assert_eq!(packed[HEADER_LEN..], data[..]);
        }
    }
}

#[test]
fn options_out_of_range_are_rejected() {
    let options = CompressOptions::new(Compressor::Zlib);
    assert!(compress(b"", &options.level(10)).is_err());
    assert!(compress(b"", &options.typesize(0)).is_err());
}

#[test]
#[cfg(not(feature = "blosc-compress"))]
fn compressors_that_need_the_c_library_are_rejected_with_the_name_of_the_feature() {
    for compressor in [Compressor::Blosclz, Compressor::Lz4hc] {
        let error = compress(b"abc", &CompressOptions::new(compressor)).unwrap_err();
        assert!(matches!(error.kind(), binio::ErrorKind::Unsupported(_)));
        assert!(error.to_string().contains("blosc-compress"), "{error}");
    }
}

#[test]
fn each_compressor_is_found_by_its_name() {
    for compressor in Compressor::ALL {
        assert_eq!(Compressor::from_name(compressor.name()), Some(compressor));
    }
    assert_eq!(Compressor::from_name("LZ4"), None);
}

/// Compares the length and CRC-32 of each compressed buffer with the values recorded from the
/// Python package blosc 1.11.4, which compressed the same 3,000 float64 values (0.0, 0.5, 1.0, ..)
/// at level 7 on one thread. Zstandard is omitted, because its output depends on the version of the
/// library.
#[test]
#[cfg(feature = "blosc-compress")]
fn compressed_buffers_have_the_same_bytes_as_in_the_reference_implementation() {
    let data: Vec<u8> = (0..3000).flat_map(|n| (f64::from(n) * 0.5).to_le_bytes()).collect();
    let expected = [
        (Compressor::Blosclz, [(12062, "f1da173d"), (1047, "2d616d0f"), (737, "48e9ba60")]),
        (Compressor::Lz4, [(12186, "f002dfbf"), (952, "8254378d"), (1009, "de4db2d2")]),
        (Compressor::Lz4hc, [(12145, "a9c5fa85"), (948, "0fcf242c"), (512, "87cb2cc4")]),
        (Compressor::Zlib, [(4590, "5085a00a"), (790, "eff33bc4"), (457, "a3d00bdb")]),
    ];
    for (compressor, cases) in expected {
        for (shuffle, (len, crc)) in SHUFFLES.into_iter().zip(cases) {
            let options = CompressOptions::new(compressor).level(7).shuffle(shuffle);
            let packed = compress(&data, &options).unwrap();
            let found = binio::checksum::Algorithm::Crc32.digest(&packed).to_string();
            assert_eq!((packed.len(), &found[..]), (len, crc), "{compressor:?} {shuffle:?}");
        }
    }
}
