//! Tests that every implementation of a source must pass, in this crate and elsewhere.

use std::ops::Range;

use crate::{ErrorKind, ReadAt};

/// Checks that a source behaves as [`ReadAt`] requires and contains exactly the `expected` bytes.
///
/// For use in tests. Panics with a message that names the broken rule. Tries all ranges if the
/// source has at most 64 bytes, and a selection of ranges if it is longer.
///
/// ```
/// use binio::{Bytes, source::suite};
///
/// suite::check(&Bytes::from_static(b"0123456789"), b"0123456789");
/// ```
pub fn check(source: &dyn ReadAt, expected: &[u8]) {
    assert_eq!(source.len(), expected.len() as u64, "length");
    assert_eq!(source.is_empty(), expected.is_empty(), "is_empty should agree with the length");
    check_hints(source, expected.len() as u64);
    check_ranges(source, expected);
    check_past_the_end(source, expected.len());
    check_sharing(source, expected.len());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| check_ranges(source, expected));
        }
    });
}

/// Checks that `prefetch` accepts all ranges, even invalid ones, because it is only a hint.
fn check_hints(source: &dyn ReadAt, len: u64) {
    let backwards = Range { start: len, end: 0 };
    let ranges = [0..len, 0..0, len..u64::MAX, u64::MAX..u64::MAX, backwards];
    assert!(source.prefetch(&ranges).is_ok(), "prefetching any ranges should succeed");
    assert!(source.prefetch(&[]).is_ok(), "prefetching no ranges should succeed");
}

fn check_ranges(source: &dyn ReadAt, expected: &[u8]) {
    for start in places(expected.len()) {
        for end in places(expected.len()) {
            if start > end {
                continue;
            }
            let part = &expected[start..end];
            let bytes = source.bytes_at(start as u64, part.len());
            assert_eq!(
                bytes.expect("bytes_at should succeed within the source"),
                part,
                "bytes {start}..{end}"
            );
            let mut buffer = vec![0xa5; part.len()];
            let read = source.read_exact_at(&mut buffer, start as u64);
            read.expect("read_exact_at should succeed within the source");
            assert_eq!(buffer, part, "bytes {start}..{end} read into a buffer");
            let size = part.len() / 3 + 1;
            let pieces = source.pieces(start as u64..end as u64, size);
            let pieces: Vec<_> = pieces
                .map(|piece| piece.expect("reading a piece within the source should succeed"))
                .collect();
            assert_eq!(pieces.concat(), part, "bytes {start}..{end} read in pieces");
        }
    }
}

/// Returns all offsets in a source of `len` bytes if the source is short, and otherwise only 0,
/// `len`, and offsets near powers of two, counted from either end.
fn places(len: usize) -> Vec<usize> {
    if len <= 64 {
        return (0..=len).collect();
    }
    let powers = (0..usize::BITS).map(|bit| 1 << bit).take_while(|&power| power < len);
    let mut places: Vec<usize> =
        powers.flat_map(|power| [power - 1, power, len - power]).chain([0, len]).collect();
    places.sort_unstable();
    places.dedup();
    places
}

fn check_past_the_end(source: &dyn ReadAt, len: usize) {
    let end = len as u64;
    let cases = [
        (end, 1, 0),
        (end.saturating_sub(1), 3, end.min(1)),
        (0, len + 1, end),
        (end + 1, 0, 0),
        (end + 1, 1, 0),
        (u64::MAX, 1, 0),
        (u64::MAX - 1, 7, 0),
    ];
    for (offset, asked, there) in cases {
        let mut buffer = vec![0; asked];
        let outcomes =
            [source.bytes_at(offset, asked).map(drop), source.read_exact_at(&mut buffer, offset)];
        for outcome in outcomes {
            let error = outcome.expect_err("a read past the end should fail");
            assert!(error.offset().is_some(), "the error should have an offset: {error}");
            match error.kind() {
                ErrorKind::Truncated { needed, available } => assert_eq!(
                    (*needed, *available),
                    (asked as u64, there),
                    "reading {asked} bytes at {offset} should report the needed and available bytes"
                ),
                other => panic!(
                    "a read past the end should fail with Truncated, but it failed with: {other}"
                ),
            }
        }
    }
    let huge = source.bytes_at(0, usize::MAX);
    assert!(huge.is_err(), "an impossible length should fail before anything is allocated");
    let nothing = source.bytes_at(end, 0).expect("reading no bytes at the end should succeed");
    assert!(nothing.is_empty(), "no bytes should be returned");
}

/// If a source claims to be in memory, checks that it returns its own memory instead of copies.
fn check_sharing(source: &dyn ReadAt, len: usize) {
    if source.is_memory() && len > 0 {
        let one = source.bytes_at(0, len).expect("a read of the whole source should succeed");
        let two =
            source.bytes_at(0, len).expect("a second read of the whole source should succeed");
        assert_eq!(one.as_ptr(), two.as_ptr(), "memory should be shared, not copied");
    }
}
