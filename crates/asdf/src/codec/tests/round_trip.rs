//! Round trips for every codec at many levels: encoded data decodes to the original data, however
//! it is decoded.

use bytes::Bytes;

use super::super::encode::{DecodedSource, Source, UncompressedSource, encode};
use super::*;
use crate::error::{Error, Result};

/// Returns every compression that this build supports, with a single level each.
fn codecs() -> Vec<Compression> {
    let all = [
        Compression::Zlib(1),
        Compression::Bzip2(1),
        Compression::Lz4,
        Compression::Lz4Frame,
        Compression::Zstd(1),
        Compression::Blosc(1),
        Compression::BloscChunked(1),
    ];
    all.into_iter().filter(|compression| Codec::find(compression.code()).is_ok()).collect()
}

/// Returns every compression that this build supports, with each of its levels, but with only four of
/// the 22 levels of zstd.
fn compressions() -> Vec<Compression> {
    let zlib = (0..=9).map(Compression::Zlib);
    let bzip2 = (1..=9).map(Compression::Bzip2);
    let zstd = [1, 3, 19, 22].map(Compression::Zstd);
    let blosc =
        (1..=9).flat_map(|level| [Compression::Blosc(level), Compression::BloscChunked(level)]);
    let others = [Compression::Lz4, Compression::Lz4Frame];
    let all = zlib.chain(bzip2).chain(zstd).chain(blosc).chain(others);
    all.filter(|compression| Codec::find(compression.code()).is_ok()).collect()
}

fn encoded(source: &mut dyn Source, compression: Compression) -> Result<Vec<u8>> {
    let mut stored = Vec::new();
    encode(source, compression, 4, &mut |bytes| {
        stored.extend_from_slice(bytes);
        Ok(())
    })?;
    Ok(stored)
}

/// Decodes all data in pieces of various unaligned sizes.
fn in_odd_pieces(job: DecodeJob, stored: &dyn ReadAt) -> (Vec<u8>, Vec<Irregularity>) {
    let (mut data, mut notes) = (Vec::new(), Vec::new());
    let mut decoder = job.open(stored, &mut notes).unwrap();
    for size in [1, 7, 0, 999, 65_537, 3, 300_001, 5_000_001].into_iter().cycle() {
        if decoder.left() == 0 {
            break;
        }
        let mut piece = vec![0; size];
        let len = decoder.fill(&mut piece).unwrap();
        data.extend_from_slice(&piece[..len]);
    }
    assert_eq!(decoder.fill(&mut [0]).unwrap(), 0, "the data has ended");
    decoder.finish().unwrap();
    (data, notes)
}

#[test]
fn compressed_data_can_be_decoded_whole_or_in_pieces_or_in_ranges() {
    for compression in compressions() {
        // The last length is one byte more than a zlib piece. At low levels, it also fills several bzip2
        // or Blosc blocks.
        for len in [0, 1, 999, (512 << 10) + 1] {
            let data = sample(len);
            let stored = encoded(&mut UncompressedSource::new(&&data[..]), compression).unwrap();
            let job = job(compression.code(), len);
            let (whole, notes) = decode(job, &stored).unwrap();
            assert!(whole == data && notes.is_empty(), "{compression} of {len}: {notes:?}");
            for source in [&&stored[..] as &dyn ReadAt, &OnDisk(&stored)] {
                let (in_pieces, notes) = in_odd_pieces(job, source);
                assert!(in_pieces == data && notes.is_empty(), "{compression} of {len}: {notes:?}");
                for (start, end) in [(0, 0), (0, len / 3), (len / 3, len / 2), (len / 2, len)] {
                    let part = job.decode_range(source, &(start as u64..end as u64)).unwrap();
                    assert!(part == data[start..end], "{compression} of {len}: {start}..{end}");
                }
            }
        }
    }
}

#[test]
fn pieces_and_ranges_that_span_several_chunks_are_decoded_correctly() {
    // Chunks contain 4 MiB of data, so a piece of 8 MiB consists of two chunks.
    let data = sample((10 << 20) + 5);
    let stored = encoded(&mut UncompressedSource::new(&&data[..]), Compression::Lz4).unwrap();
    let job = job(*b"lz4\0", data.len());
    assert!(in_odd_pieces(job, &&stored[..]).0 == data);
    let mut notes = Vec::new();
    assert!(in_pieces(job, &&stored[..], &mut notes).unwrap() == data);
    for (start, end) in [(1, 9 << 20), ((4 << 20) - 1, (4 << 20) + 1), (4 << 20, 8 << 20)] {
        let part = job.decode_range(&&stored[..], &(start as u64..end as u64)).unwrap();
        assert!(part == data[start..end], "{start}..{end}");
    }
}

#[test]
fn the_suggested_piece_length_covers_whole_chunks_or_the_rest_of_a_chunk() {
    let data = sample(2500);
    let stored = lz4(&data);
    let mut notes = Vec::new();
    let mut decoder = job(*b"lz4\0", data.len()).open(&stored, &mut notes).unwrap();
    assert_eq!(decoder.piece_len(0), 2500, "all chunks fit into one piece");
    assert_eq!(decoder.fill(&mut [0; 1]).unwrap(), 1);
    assert_eq!(decoder.piece_len(0), 999, "the rest of the first chunk is decoded already");
    assert_eq!(decoder.fill(&mut [0; 999]).unwrap(), 999);
    assert_eq!(decoder.piece_len(0), 1500, "two more chunks");
}

#[test]
fn compressing_from_a_decoder_produces_the_same_bytes_as_compressing_the_data() {
    // The data is slightly longer than one decoded piece of a stream.
    let data = sample((1 << 20) + 5);
    let stored: Vec<Vec<u8>> = CODECS.iter().map(|(_, encode)| encode(&data)).collect();
    for to in codecs().into_iter().chain([Compression::None]) {
        let direct = encoded(&mut UncompressedSource::new(&&data[..]), to).unwrap();
        for (&(code, _), stored) in CODECS.iter().zip(&stored) {
            let mut notes = Vec::new();
            let mut decoder = job(code, data.len()).open(stored, &mut notes).unwrap();
            let mut source = DecodedSource::new(&mut decoder, |failure| panic!("{failure:?}"));
            let recoded = encoded(&mut source, to).unwrap();
            assert_eq!(source.left(), 0);
            decoder.finish().unwrap();
            assert!(recoded == direct, "{code:?} to {to}");
        }
    }
}

#[test]
fn a_decoded_source_returns_pieces_of_the_requested_length() {
    let data = sample(5000);
    for &(code, encode) in CODECS {
        let stored = encode(&data);
        let mut notes = Vec::new();
        let mut decoder = job(code, data.len()).open(&stored, &mut notes).unwrap();
        let mut source = DecodedSource::new(&mut decoder, |failure| panic!("{failure:?}"));
        let mut rest = &data[..];
        for len in [1, 1500, 2, 0, 2000, 5000, 5000] {
            let expected = Bytes::copy_from_slice(&rest[..len.min(rest.len())]);
            rest = &rest[expected.len()..];
            let piece = source.next(len).unwrap();
            assert_eq!(piece, Some(expected).filter(|piece| !piece.is_empty()), "{code:?}");
        }
    }
}

#[test]
fn encoding_returns_an_error_of_the_sink_unchanged() {
    let data = sample(1_100_000);
    for compression in codecs().into_iter().chain([Compression::None]) {
        // Encodes into a sink that fails on call number `failing`, and counts the calls.
        let encode_until = |failing: usize| {
            let mut calls = 0;
            let result =
                encode(&mut UncompressedSource::new(&&data[..]), compression, 1, &mut |_| {
                    calls += 1;
                    if calls == failing { Err(Error::unwritable("full")) } else { Ok(()) }
                });
            (calls, result)
        };
        let (calls, result) = encode_until(usize::MAX);
        result.unwrap();
        for failing in [1, calls] {
            let error = encode_until(failing).1.unwrap_err();
            assert_eq!(error.to_string(), "full", "{compression}: call {failing} of {calls}");
        }
    }
}

/// Zeros, with a counter of the bytes that have been read.
#[cfg(feature = "rayon")]
struct Zeros<'a> {
    left: usize,
    read: &'a std::cell::Cell<usize>,
}

#[cfg(feature = "rayon")]
impl Source for Zeros<'_> {
    fn left(&self) -> u64 {
        self.left as u64
    }

    fn next(&mut self, len: usize) -> Result<Option<Bytes>> {
        let len = len.min(self.left);
        self.left -= len;
        self.read.set(self.read.get() + len);
        Ok((len > 0).then(|| vec![0; len].into()))
    }
}

#[cfg(feature = "rayon")]
#[test]
fn compressing_zeros_as_bzp2_reads_at_most_two_batches_before_it_writes() {
    // A batch has at most 14 MiB: its last piece begins before 12 MiB, and a piece of zeros has 2 MiB.
    let two_batches = 2 * (14 << 20);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(32).build().unwrap();
    let read_first = pool.install(|| {
        let (read, mut read_first) = (std::cell::Cell::new(0), None);
        let mut source = Zeros { left: 48 << 20, read: &read };
        encode(&mut source, Compression::Bzip2(1), 1, &mut |_| {
            read_first.get_or_insert(read.get());
            Ok(())
        })
        .unwrap();
        read_first.unwrap()
    });
    assert!(read_first <= two_batches, "{read_first}");
}

/// A source that fails when a read extends past the given length.
struct Failing<'a>(&'a [u8], u64);

impl ReadAt for Failing<'_> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
        if offset + buffer.len() as u64 > self.1 {
            // The error has the same kind as the error for a truncated stream, but must not be mistaken for
            // it.
            return Err(binio::Error::truncated(7, 6).at(offset));
        }
        self.0.read_exact_at(buffer, offset)
    }
}

#[test]
fn decoding_passes_on_errors_from_the_source_unchanged() {
    let data = sample(100_000);
    for &(code, encode) in CODECS {
        let stored = encode(&data);
        let source = Failing(&stored, stored.len() as u64 / 2);
        match job(code, data.len()).decode(&source, &mut Vec::new()) {
            Err(Failure::Binio(error)) => {
                let kind = error.kind();
                let is_ours = matches!(kind, binio::ErrorKind::Truncated { needed: 7, .. });
                assert!(is_ours, "{code:?}: {error}");
            }
            other => panic!("{code:?}: {other:?}"),
        }
    }
}

#[test]
fn encoding_without_the_required_feature_is_an_error_that_names_the_feature() {
    for compression in [Compression::Lz4Frame, Compression::Zstd(3), Compression::Blosc(5)] {
        let result = encoded(&mut UncompressedSource::new(&&b"data"[..]), compression);
        if Codec::find(compression.code()).is_ok() {
            assert!(result.is_ok(), "{compression}");
        } else {
            let name = compression.to_string();
            let feature = name.split(':').next().unwrap();
            let message = format!("this build lacks the feature `{feature}`");
            assert_eq!(result.unwrap_err().to_string(), message);
        }
    }
}
