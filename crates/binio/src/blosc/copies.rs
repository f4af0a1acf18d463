//! The two copy operations of LZ codecs: copying literals from the stream, and copying matches from
//! the output written so far.
//!
//! Most copies are short. If there is enough space after them, they are made in pieces of a fixed
//! size, with one load and one store each. Any excess is overwritten by later output.

/// Size of a piece in bytes.
const PIECE: usize = 16;
/// Length in bytes above which a match is copied by calling the system's copy function.
const LONG: usize = 128;
/// Number of recent bytes that are certain to be in the first-level cache.
const NEAR: usize = 4096;

/// Multiplying an n-byte number by the factor at index n repeats it within eight bytes.
const SIDE_BY_SIDE: [u64; 9] = [
    1,
    0x0101_0101_0101_0101,
    0x0001_0001_0001_0001,
    0x0001_0000_0100_0001,
    0x0000_0001_0000_0001,
    0x0000_0100_0000_0001,
    0x0001_0000_0000_0001,
    0x0100_0000_0000_0001,
    1,
];
/// At index n, the largest multiple of n up to 8: when n bytes are repeated within eight bytes, the
/// whole repetitions take up this many bytes.
const WHOLE_PERIODS: [usize; 9] = [8, 8, 8, 6, 8, 5, 6, 7, 8];

/// Copies the first `len` bytes of `literals` to the start of `out`. Both slices have at least
/// `len` bytes.
#[inline]
pub(super) fn copy_literals(literals: &[u8], out: &mut [u8], len: usize) {
    if len <= 2 * PIECE {
        if let (Some(from), Some(to)) =
            (literals.first_chunk::<{ 2 * PIECE }>(), out.first_chunk_mut())
        {
            *to = *from;
            return;
        }
    }
    copy_long_literals(literals, out, len);
}

/// Copies literals of any length. This is a separate function, because otherwise the compiler would
/// turn short copies into calls too, and buffers compressed with lz4 would take 1.05 times as long
/// to decode (example `blosc_speed`).
#[inline(never)]
fn copy_long_literals(literals: &[u8], out: &mut [u8], len: usize) {
    out[..len].copy_from_slice(&literals[..len]);
}

/// Copies `len` bytes to `at` from `distance` bytes before it, as if byte by byte: a match that
/// overlaps its own output repeats it. `distance` is from 1 to `at`, and `out` has at least `len`
/// bytes after `at`.
#[inline]
pub(super) fn copy_match(out: &mut [u8], at: usize, distance: usize, len: usize) {
    let has_room = at + len + PIECE <= out.len();
    if distance == 1 {
        let byte = out[at - 1];
        out[at..at + len].fill(byte);
    } else if len > LONG || !has_room {
        copy_long_match(out, at, distance, len);
    } else if distance >= PIECE {
        copy_pieces::<PIECE>(out, at, distance, len);
    } else if distance >= 8 {
        copy_pieces::<8>(out, at, distance, len);
    } else {
        copy_short_period(out, at, distance, len);
    }
}

/// Copies a match in pieces of `LEN` bytes. `distance` is at least `LEN`, so no piece overlaps its
/// own source.
#[inline]
fn copy_pieces<const LEN: usize>(out: &mut [u8], at: usize, distance: usize, len: usize) {
    let mut to = at;
    while to < at + len {
        copy_piece::<LEN>(out, to - distance, to);
        to += LEN;
    }
}

/// Copies `LEN` bytes within `out`, from offset `from` to offset `to`.
#[inline]
pub(super) fn copy_piece<const LEN: usize>(out: &mut [u8], from: usize, to: usize) {
    let mut piece = [0; LEN];
    piece.copy_from_slice(&out[from..from + LEN]);
    out[to..to + LEN].copy_from_slice(&piece);
}

/// Copies a match of at most 18 bytes from the start of `reach` to offset `distance` in `reach`. Up
/// to 24 bytes are written. `distance` is at least 1. Returns `None` if `reach` has fewer than
/// `distance + 24` bytes.
///
/// Distances below 8 are handled without a branch, because the processor cannot predict the
/// distances in noisy data. With a branch, unpacking noisy data in chunks of 256 KiB takes 1.09
/// times as long (example `bloscpack_tasks`, task `unpack_array_into`).
#[inline]
pub(super) fn copy_near_match(reach: &mut [u8], distance: usize, len: usize) -> Option<()> {
    if reach.len() < distance + 24 {
        return None;
    }
    // Repeat the period within eight bytes. If the distance is 8 or more, this changes nothing.
    let period = distance.min(8);
    let unused = (64 - 8 * period) & 63;
    let source = u64::from_le_bytes(*reach.first_chunk()?) << unused >> unused;
    let eight = source.wrapping_mul(SIDE_BY_SIDE[period]);
    *reach.get_mut(distance..)?.first_chunk_mut()? = eight.to_le_bytes();
    let step = WHOLE_PERIODS[period];
    // Copy two more pieces only if they are needed, since each piece has to wait for the previous
    // one.
    if len > step {
        let back = distance.max(step);
        let rest = reach.get_mut(distance + step - back..)?;
        copy_piece::<8>(rest, 0, back);
        copy_piece::<8>(rest, step, back + step);
    }
    Some(())
}

/// Copies a match with a distance below 8.
#[inline]
fn copy_short_period(out: &mut [u8], at: usize, distance: usize, len: usize) {
    let Some(last) = out[..at].last_chunk() else {
        for to in at..at + len {
            out[to] = out[to - distance];
        }
        return;
    };
    let (eight, step) = repeated(*last, distance);
    let mut to = at;
    while to < at + len {
        out[to..to + 8].copy_from_slice(&eight);
        to += step;
    }
}

/// Returns eight bytes that repeat the last `distance` bytes of `last`, and the number of these
/// bytes that form whole repetitions (5 to 8). `distance` is from 1 to 7.
///
/// A load of the eight bytes before a match is fast, since they were usually stored together. A
/// load that includes bytes written by the match itself would have to wait for two stores.
#[inline]
pub(super) fn repeated(last: [u8; 8], distance: usize) -> ([u8; 8], usize) {
    let distance = distance & 7;
    let period = u64::from_le_bytes(last) >> ((64 - 8 * distance) & 63);
    (period.wrapping_mul(SIDE_BY_SIDE[distance]).to_le_bytes(), WHOLE_PERIODS[distance])
}

/// Copies a match in parts. Each part is twice as long as the previous one, until the next part
/// might no longer fit in the first-level cache.
#[inline(never)]
fn copy_long_match(out: &mut [u8], at: usize, distance: usize, len: usize) {
    let (mut span, mut to) = (distance, at);
    while to < at + len {
        let step = span.min(at + len - to);
        out.copy_within(to - span..to - span + step, to);
        to += step;
        if span < NEAR {
            span *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: usize) -> Vec<u8> {
        (1..=251).cycle().take(len).collect()
    }

    #[test]
    fn copying_a_match_equals_copying_byte_by_byte() {
        for distance in (1..40).chain([63, 64, 65, 127, 128, 129, 200]) {
            for len in (1..40).chain([127, 128, 129, 130, 255, 256, 257]) {
                for room in [0, 1, PIECE - 1, PIECE, 40] {
                    let at = 200;
                    let mut out = numbers(at + len + room);
                    let mut expected = out.clone();
                    for n in at..at + len {
                        expected[n] = expected[n - distance];
                    }
                    copy_match(&mut out, at, distance, len);
                    let written = at + len;
                    assert_eq!(out[..written], expected[..written], "{distance} {len} {room}");
                }
            }
        }
    }

    #[test]
    fn copying_a_near_match_equals_copying_byte_by_byte() {
        for distance in (1..40).chain([1000]) {
            for len in 1..=18 {
                let mut reach = numbers(distance + 24);
                let mut expected = reach.clone();
                for n in distance..distance + len {
                    expected[n] = expected[n - distance];
                }
                assert_eq!(copy_near_match(&mut reach, distance, len), Some(()));
                assert_eq!(reach[..distance + len], expected[..distance + len], "{distance} {len}");
            }
        }
        for len in 0..8 + 24 {
            assert_eq!(copy_near_match(&mut numbers(len), 8, 18), None, "too short: {len}");
        }
    }

    #[test]
    fn literals_are_copied_with_and_without_spare_space_after_them() {
        for len in 0..100 {
            for room in [0, 1, 31, 32, 40] {
                let literals = numbers(len + room);
                let mut out = vec![0; len + room];
                copy_literals(&literals, &mut out, len);
                assert_eq!(out[..len], literals[..len]);
            }
        }
    }
}
