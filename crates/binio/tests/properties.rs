//! Properties of cursors, scanners, byte orders, checksums and windows that must hold for every
//! input.

use std::ops::Range;

use binio::checksum::Algorithm;
use binio::number::{ByteReader, decode, decode_into, swap_in_place};
use binio::source::{ReadLog, Scanner};
use binio::write::PatchWriter;
use binio::{Bytes, Endian, Error, ReadAt};
use md5::Digest as _;
use proptest::collection::vec;
use proptest::prelude::*;

fn endian() -> impl Strategy<Value = Endian> {
    prop_oneof![Just(Endian::Little), Just(Endian::Big)]
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    (0..Algorithm::ALL.len()).prop_map(|index| Algorithm::ALL[index])
}

/// Generates text with only two letters, so that matches often overlap.
fn two_letters(len: Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(b'a'), Just(b'b')], len)
}

/// Returns the offsets of all matches of a needle inside a range, found by a naive search.
fn naive_matches(data: &[u8], needle: &[u8], range: Range<usize>) -> Vec<u64> {
    let Some(part) = data.get(range.clone()) else { return Vec::new() };
    let found = part.windows(needle.len()).enumerate().filter(|(_, part)| *part == needle);
    found.map(|(at, _)| (range.start + at) as u64).collect()
}

fn all_matches<S: ReadAt>(mut scanner: Scanner<'_, S>) -> Result<Vec<u64>, Error> {
    let mut found = Vec::new();
    while let Some(at) = scanner.next_match()? {
        found.push(at);
    }
    Ok(found)
}

proptest! {
    #[test]
    fn pieces_cover_the_range_and_only_the_last_may_be_shorter_than_the_given_size(
        data in vec(any::<u8>(), 0..100),
        ends in (0_usize..110, 0_usize..110),
        size in 0_usize..40,
    ) {
        let (start, end) = ends;
        let log = ReadLog::new(data.clone());
        let sources: [&dyn ReadAt; 3] = [&log, &data, &Bytes::from(data.clone())];
        for source in sources {
            let pieces: Result<Vec<Bytes>, Error> =
                source.pieces(start as u64..end as u64, size).collect();
            let Some(expected) = data.get(start..end.max(start)).filter(|_| start < end) else {
                prop_assert_eq!(pieces.is_err(), start < end);
                continue;
            };
            let pieces = pieces.unwrap();
            prop_assert_eq!(pieces.concat(), expected);
            let (last, others) = pieces.split_last().unwrap();
            prop_assert!(others.iter().all(|piece| piece.len() == size.max(1)));
            prop_assert!((1..=size.max(1)).contains(&last.len()));
        }
        let kept: Result<Vec<Bytes>, Error> = log.pieces(0..data.len() as u64, size).collect();
        prop_assert_eq!(kept.unwrap().concat(), data);
    }

    #[test]
    fn scanning_with_any_window_finds_the_same_matches_as_a_naive_search(
        data in two_letters(0..60),
        needle in two_letters(1..5),
        ends in (0_usize..64, 0_usize..64),
        window in 0_usize..70,
    ) {
        let (start, end) = ends;
        let expected = naive_matches(&data, &needle, start..end.min(data.len()));
        let range = start as u64..end as u64;

        let read = Scanner::new(&data, &needle, range.clone()).window(window);
        prop_assert_eq!(all_matches(read).unwrap(), expected.clone());
        let shared = Bytes::from(data.clone());
        let in_place = Scanner::new(&shared, &needle, range);
        prop_assert_eq!(all_matches(in_place).unwrap(), expected);
    }

    #[test]
    fn a_scanner_that_skips_ahead_finds_the_next_match(
        data in two_letters(0..60),
        needle in two_letters(1..4),
        skips in vec(0_u64..70, 1..6),
        window in 0_usize..20,
    ) {
        let expected = naive_matches(&data, &needle, 0..data.len());
        let mut scanner = Scanner::new(&data, &needle, 0..u64::MAX).window(window);
        let mut position = 0;
        for skip in skips {
            scanner.skip_to(skip);
            position = position.max(skip);
            let next = expected.iter().copied().find(|&at| at >= position);
            prop_assert_eq!(scanner.next_match().unwrap(), next);
            position = next.map_or(u64::MAX, |at| at + 1);
        }
    }

    #[test]
    fn a_scan_reads_at_most_a_window_at_a_time_and_nothing_outside_its_range(
        data in two_letters(1..80),
        needle in two_letters(1..5),
        window in 5_usize..20,
        start in 0_u64..40,
        len in 0_u64..40,
    ) {
        let source = ReadLog::new(data);
        let range = start..start + len;
        let mut scanner = Scanner::new(&source, &needle, range.clone()).window(window);
        while scanner.next_match().unwrap().is_some() {}
        for read in source.ranges() {
            prop_assert!(range.start <= read.start && read.end <= range.end);
            prop_assert!(read.end - read.start <= window as u64);
        }
    }

    #[test]
    fn bulk_decoding_equals_decoding_numbers_one_by_one(bytes in vec(any::<u8>(), 0..200), endian in endian()) {
        // Start at any offset, so that the bytes are not always aligned.
        let whole = &bytes[bytes.len() % 8..];
        let numbers = &whole[..whole.len() / 8 * 8];
        let mut reader = ByteReader::new(numbers);
        let mut expected = Vec::new();
        while reader.remaining() > 0 {
            expected.push(reader.read::<u64>(endian).unwrap());
        }
        let mut bulk = vec![0; expected.len()];
        decode_into(numbers, endian, &mut bulk).unwrap();
        prop_assert_eq!(&bulk, &expected);
        prop_assert_eq!(decode::<u64>(numbers, endian).unwrap(), &expected[..]);
        prop_assert_eq!(decode::<u64>(whole, endian).is_ok(), whole.len() % 8 == 0);
    }

    #[test]
    fn swapping_the_byte_order_twice_restores_the_bytes(
        words in vec(any::<u128>(), 0..20),
        power in 0_u32..5,
    ) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let width = 1 << power;
        let mut swapped = bytes.clone();
        swap_in_place(&mut swapped, width).unwrap();
        if width == 4 {
            prop_assert_eq!(
                decode::<u32>(&swapped, Endian::Big).unwrap(),
                decode::<u32>(&bytes, Endian::Little).unwrap()
            );
        }
        swap_in_place(&mut swapped, width).unwrap();
        prop_assert_eq!(swapped, bytes);
    }

    #[test]
    fn written_numbers_are_read_back_unchanged(
        a in any::<u8>(), b in any::<i16>(), c in any::<u32>(), d in any::<i128>(),
        e in any::<f64>(), endian in endian(), align in 0_u64..40,
    ) {
        let mut writer = PatchWriter::new(std::io::Cursor::new(Vec::new())).unwrap();
        writer.write_scalar(a, endian).unwrap();
        let slot = writer.reserve::<i16>(endian).unwrap();
        writer.write_scalar(c, endian).unwrap();
        writer.write_scalar(d, endian).unwrap();
        writer.fill(slot, b).unwrap();
        writer.write_scalar(e, endian).unwrap();
        writer.pad_to(align).unwrap();
        prop_assert_eq!(writer.position().checked_rem(align).unwrap_or(0), 0);
        let written = writer.finish().unwrap().into_inner();

        let mut reader = ByteReader::new(&written);
        prop_assert_eq!(reader.read::<u8>(endian).unwrap(), a);
        prop_assert_eq!(reader.read::<i16>(endian).unwrap(), b);
        prop_assert_eq!(reader.read::<u32>(endian).unwrap(), c);
        prop_assert_eq!(reader.read::<i128>(endian).unwrap(), d);
        prop_assert_eq!(reader.read::<f64>(endian).unwrap().to_bits(), e.to_bits());
        prop_assert!(reader.rest().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_cursor_advances_by_the_bytes_it_reads_or_not_at_all(
        data in vec(any::<u8>(), 0..40),
        start in prop_oneof![0_u64..1000, Just(u64::MAX - 7)],
        steps in vec((0_u8..6, 0_usize..20), 0..20),
    ) {
        let mut reader = ByteReader::at(&data, start);
        for (operation, n) in steps {
            let (offset, remaining) = (reader.offset(), reader.remaining());
            let taken = match operation {
                0 => reader.take(n).ok().map(<[u8]>::len),
                1 => reader.array::<3>().ok().map(|array| array.len()),
                2 => reader.read::<u32>(Endian::Big).ok().map(|_| 4),
                3 => reader.skip(n).ok().map(|()| n),
                4 => reader.child(n).ok().map(|child| child.remaining()),
                _ => reader.magic(&data[..n.min(data.len())]).ok().map(|()| n.min(data.len())),
            };
            let moved = taken.unwrap_or(0);
            prop_assert_eq!(reader.remaining(), remaining - moved);
            prop_assert_eq!(reader.offset(), offset.saturating_add(moved as u64));
        }
        let left = reader.remaining();
        prop_assert_eq!(reader.clone().finish().is_ok(), left == 0);
        prop_assert_eq!(reader.rest(), &data[data.len() - left..]);
    }

    #[test]
    fn a_checksum_does_not_depend_on_how_the_message_is_divided(
        message in vec(any::<u8>(), 0..2000),
        cuts in vec(1_usize..300, 1..20),
        algorithm in algorithm(),
    ) {
        let mut hasher = algorithm.hasher();
        let mut rest = message.as_slice();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            hasher.update(piece);
            rest = after;
        }
        hasher.update(rest);
        prop_assert_eq!(hasher.finish(), algorithm.digest(&message));
    }

    #[test]
    fn md5_matches_a_second_implementation(message in vec(any::<u8>(), 0..2000)) {
        let expected = md5::Md5::digest(&message);
        let ours = Algorithm::Md5.digest(&message);
        prop_assert_eq!(ours.as_bytes(), &expected[..]);
    }
}

/// The test uses every window size and start offset, and needles that overlap themselves.
#[test]
fn matches_across_windows_of_any_size_are_found() {
    let data = b"aabaabaaab";
    for needle in [&b"a"[..], b"aa", b"aab", b"aabaa", b"aabaabaaab", b"aabaabaaabx"] {
        let expected = naive_matches(data, needle, 0..data.len());
        for window in 1..=data.len() {
            for start in 0..=data.len() {
                let range = start as u64..data.len() as u64;
                let expected: Vec<u64> =
                    expected.iter().copied().filter(|&at| at >= range.start).collect();
                let mut scanner = Scanner::new(&data[..], needle, range.clone()).window(window);
                for at in expected {
                    assert_eq!(scanner.next_match().unwrap(), Some(at));
                }
                assert_eq!(scanner.next_match().unwrap(), None);
            }
        }
    }
}
