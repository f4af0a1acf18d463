//! The two copies that codecs of the LZ family are made of: literals from the stream, and matches
//! from what has been written already.
//!
//! Most are short, so they go in pieces of a fixed size, which are one load and one store, as long
//! as there is room after them: what a piece writes too much is overwritten by what follows.

/// Bytes of a piece.
const PIECE: usize = 16;
/// A match longer than this is worth a call of the system's copy.
const LONG: usize = 128;
/// Bytes that are surely still in the nearest cache.
const NEAR: usize = 4096;

/// Copies the first `len` bytes of `literals` to the start of `out`; both are at least as long.
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

/// Separate, because the compiler would otherwise turn short copies into calls too: buffers of lz4 then take
/// 1.05 times as long to decode (example `blosc_speed`).
#[inline(never)]
fn copy_long_literals(literals: &[u8], out: &mut [u8], len: usize) {
    out[..len].copy_from_slice(&literals[..len]);
}

/// Copies `len` bytes from `distance` before `at` to `at`, as if byte by byte, so that a match that
/// reaches into what it writes repeats it. `distance` is from 1 to `at`, and `out` has `len` bytes
/// from `at` on.
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

/// The same in pieces that do not reach into themselves.
#[inline]
fn copy_pieces<const LEN: usize>(out: &mut [u8], at: usize, distance: usize, len: usize) {
    let mut to = at;
    while to < at + len {
        copy_piece::<LEN>(out, to - distance, to);
        to += LEN;
    }
}

/// Copies `LEN` bytes from one place to another.
#[inline]
pub(super) fn copy_piece<const LEN: usize>(out: &mut [u8], from: usize, to: usize) {
    let mut piece = [0; LEN];
    piece.copy_from_slice(&out[from..from + LEN]);
    out[to..to + LEN].copy_from_slice(&piece);
}

/// The same for a distance below 8.
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

/// Eight bytes that repeat the last `distance` of `last`, 1 to 7, and how many of them are whole
/// periods, 5 at least.
///
/// Bytes that end where a match begins were most often written together; a load of bytes that the
/// match itself will write would wait for two stores.
#[inline]
pub(super) fn repeated(last: [u8; 8], distance: usize) -> ([u8; 8], usize) {
    /// What a number of so many bytes is multiplied with to stand side by side in eight.
    const SIDE_BY_SIDE: [u64; 8] = [
        1,
        0x0101_0101_0101_0101,
        0x0001_0001_0001_0001,
        0x0001_0000_0100_0001,
        0x0000_0001_0000_0001,
        0x0000_0100_0000_0001,
        0x0001_0000_0000_0001,
        0x0100_0000_0000_0001,
    ];
    const WHOLE_PERIODS: [usize; 8] = [8, 8, 8, 6, 8, 5, 6, 7];
    let distance = distance & 7;
    let period = u64::from_le_bytes(last) >> ((64 - 8 * distance) & 63);
    (period.wrapping_mul(SIDE_BY_SIDE[distance]).to_le_bytes(), WHOLE_PERIODS[distance])
}

/// The same by copies that double what they repeat, as long as it stays in the nearest cache.
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
    fn a_match_is_what_a_copy_byte_by_byte_gives() {
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
    fn literals_are_copied_with_and_without_room() {
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
