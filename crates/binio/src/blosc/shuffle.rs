//! Byte shuffle. In a block of m whole elements, byte k of element i is stored at offset k · m + i.
//! Bytes after the last whole element are not moved.

#![allow(
    clippy::inline_always,
    reason = "code must be inlined to be compiled for the vector instructions of its caller"
)]

use std::array;

use super::wide;

/// Groups the bytes of the elements in `source` by their position in the element, and writes them
/// to `out`.
pub(super) fn shuffle(typesize: usize, source: &[u8], out: &mut [u8]) {
    let count = source.len() / typesize;
    for (k, row) in out.chunks_exact_mut(count.max(1)).take(typesize).enumerate() {
        for (byte, element) in row.iter_mut().zip(source.chunks_exact(typesize)) {
            *byte = element[k];
        }
    }
    out[count * typesize..].copy_from_slice(&source[count * typesize..]);
}

/// Reverses [`shuffle`]. `out` is as long as `source`.
pub(super) fn unshuffle(typesize: usize, source: &[u8], out: &mut [u8]) {
    let count = source.len() / typesize;
    let (rows, tail) = source.split_at(count * typesize);
    let (whole, rest) = out.split_at_mut(rows.len());
    wide::join(typesize, |k| &rows[k * count..][..count], whole);
    rest.copy_from_slice(tail);
}

/// Like [`unshuffle`], but takes the rows as separate slices. The block must not have bytes after
/// its last whole element.
pub(super) fn unshuffle_rows(rows: &[&[u8]], out: &mut [u8]) {
    wide::join(rows.len(), |k| rows[k], out);
}

/// Joins rows into elements: row k contains byte k of each element.
///
/// For typesizes 2, 4, 8 and 16, rows are interleaved in steps of doubling width, for which the
/// compiler uses the processor's interleaving instructions. Elements of other sizes are joined in
/// parts of 8, 4, 2 and 1 bytes. The simple loop at the end only handles the last elements; if it
/// handled all of them, shuffled buffers would take ten times as long to decode (example
/// `blosc_speed`).
#[inline(always)]
pub(super) fn join<'a>(typesize: usize, row: impl Fn(usize) -> &'a [u8], out: &mut [u8]) {
    let done = match typesize {
        2 => join_2(array::from_fn(&row), out),
        4 => join_4(array::from_fn(&row), out),
        8 => join_8(array::from_fn(&row), out),
        16 => join_16(array::from_fn(&row), out),
        _ => join_by_parts(typesize, &row, out),
    };
    for k in 0..typesize {
        let elements = out[done * typesize..].chunks_exact_mut(typesize);
        for (element, &byte) in elements.zip(&row(k)[done..]) {
            element[k] = byte;
        }
    }
}

/// Number of elements per step. With other numbers, the compiler does not use vector instructions.
const STEP: usize = 64;

/// Fills `out` with alternating pieces of `WIDTH` bytes from `a` and `b`.
#[inline(always)]
fn interleave<const WIDTH: usize>(a: &[u8], b: &[u8], out: &mut [u8]) {
    let pieces = a.chunks_exact(WIDTH).zip(b.chunks_exact(WIDTH));
    for (pair, (a, b)) in out.chunks_exact_mut(2 * WIDTH).zip(pieces) {
        pair[..WIDTH].copy_from_slice(a);
        pair[WIDTH..].copy_from_slice(b);
    }
}

/// Joins as many whole steps of 2-byte elements as possible, and returns the number of elements
/// joined. `join_4`, `join_8` and `join_16` do the same for larger elements.
#[inline(always)]
fn join_2(rows: [&[u8]; 2], out: &mut [u8]) -> usize {
    for (step, out) in out.chunks_exact_mut(2 * STEP).enumerate() {
        let row = |k: usize| &rows[k][step * STEP..][..STEP];
        interleave::<1>(row(0), row(1), out);
    }
    rows[0].len() / STEP * STEP
}

#[inline(always)]
fn join_4(rows: [&[u8]; 4], out: &mut [u8]) -> usize {
    let mut pairs = [[0; 2 * STEP]; 2];
    for (step, out) in out.chunks_exact_mut(4 * STEP).enumerate() {
        let row = |k: usize| &rows[k][step * STEP..][..STEP];
        for (k, pair) in pairs.iter_mut().enumerate() {
            interleave::<1>(row(2 * k), row(2 * k + 1), pair);
        }
        interleave::<2>(&pairs[0], &pairs[1], out);
    }
    rows[0].len() / STEP * STEP
}

#[inline(always)]
fn join_8(rows: [&[u8]; 8], out: &mut [u8]) -> usize {
    let (mut pairs, mut fours) = ([[0; 2 * STEP]; 4], [[0; 4 * STEP]; 2]);
    for (step, out) in out.chunks_exact_mut(8 * STEP).enumerate() {
        let row = |k: usize| &rows[k][step * STEP..][..STEP];
        for (k, pair) in pairs.iter_mut().enumerate() {
            interleave::<1>(row(2 * k), row(2 * k + 1), pair);
        }
        for (k, four) in fours.iter_mut().enumerate() {
            interleave::<2>(&pairs[2 * k], &pairs[2 * k + 1], four);
        }
        interleave::<4>(&fours[0], &fours[1], out);
    }
    rows[0].len() / STEP * STEP
}

#[inline(always)]
fn join_16(rows: [&[u8]; 16], out: &mut [u8]) -> usize {
    let (mut pairs, mut fours) = ([[0; 2 * STEP]; 8], [[0; 4 * STEP]; 4]);
    let mut eights = [[0; 8 * STEP]; 2];
    for (step, out) in out.chunks_exact_mut(16 * STEP).enumerate() {
        let row = |k: usize| &rows[k][step * STEP..][..STEP];
        for (k, pair) in pairs.iter_mut().enumerate() {
            interleave::<1>(row(2 * k), row(2 * k + 1), pair);
        }
        for (k, four) in fours.iter_mut().enumerate() {
            interleave::<2>(&pairs[2 * k], &pairs[2 * k + 1], four);
        }
        for (k, eight) in eights.iter_mut().enumerate() {
            interleave::<4>(&fours[2 * k], &fours[2 * k + 1], eight);
        }
        interleave::<8>(&eights[0], &eights[1], out);
    }
    rows[0].len() / STEP * STEP
}

/// Joins elements of any size in parts: eight bytes of each element at a time, then four, two and
/// one. Returns the number of elements joined.
#[inline(always)]
fn join_by_parts<'a>(typesize: usize, row: impl Fn(usize) -> &'a [u8], out: &mut [u8]) -> usize {
    let mut parts = [0; 8 * STEP];
    let mut steps = 0;
    for (step, out) in out.chunks_exact_mut(typesize * STEP).enumerate() {
        let row = |k: usize| &row(k)[step * STEP..][..STEP];
        let mut k = 0;
        while k < typesize {
            match typesize - k {
                8.. => {
                    join_8(array::from_fn(|n| row(k + n)), &mut parts);
                    place::<8>(&parts, k, typesize, out);
                    k += 8;
                }
                4.. => {
                    join_4(array::from_fn(|n| row(k + n)), &mut parts[..4 * STEP]);
                    place::<4>(&parts, k, typesize, out);
                    k += 4;
                }
                2.. => {
                    join_2(array::from_fn(|n| row(k + n)), &mut parts[..2 * STEP]);
                    place::<2>(&parts, k, typesize, out);
                    k += 2;
                }
                _ => {
                    place::<1>(row(k), k, typesize, out);
                    k += 1;
                }
            }
        }
        steps += 1;
    }
    steps * STEP
}

/// Copies parts of `WIDTH` bytes into the elements, starting at byte `k` of each element.
#[inline(always)]
fn place<const WIDTH: usize>(parts: &[u8], k: usize, typesize: usize, out: &mut [u8]) {
    for (element, part) in out.chunks_exact_mut(typesize).zip(parts.chunks_exact(WIDTH)) {
        element[k..k + WIDTH].copy_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_at_the_same_position_become_adjacent_and_the_tail_is_not_shuffled() {
        let mut out = [0; 8];
        shuffle(3, b"abcABCxy", &mut out);
        assert_eq!(&out, b"aAbBcCxy");
        let mut back = [0; 8];
        unshuffle(3, &out, &mut back);
        assert_eq!(&back, b"abcABCxy");
    }

    #[test]
    fn a_block_shorter_than_an_element_is_not_shuffled() {
        let mut out = [0; 2];
        shuffle(3, b"ab", &mut out);
        assert_eq!(&out, b"ab");
        unshuffle(3, b"cd", &mut out);
        assert_eq!(&out, b"cd");
    }

    #[test]
    fn unshuffling_matches_the_definition_for_many_typesizes_and_lengths() {
        for typesize in (1..=33).chain([255]) {
            for count in [0, 1, 7, 63, 64, 65, 127, 128, 200] {
                for tail in [0, 1, typesize - 1] {
                    let source: Vec<u8> = (1..=251).cycle().take(typesize * count + tail).collect();
                    let mut expected = source.clone();
                    for i in 0..count {
                        for k in 0..typesize {
                            expected[i * typesize + k] = source[k * count + i];
                        }
                    }
                    let mut out = vec![0; source.len()];
                    unshuffle(typesize, &source, &mut out);
                    assert_eq!(out, expected, "{typesize} {count} {tail}");
                    let mut back = vec![0; source.len()];
                    shuffle(typesize, &out, &mut back);
                    assert_eq!(back, source);
                    if count > 0 && tail == 0 {
                        let rows: Vec<&[u8]> = source.chunks(count).collect();
                        out.fill(0);
                        unshuffle_rows(&rows, &mut out);
                        assert_eq!(out, expected);
                    }
                }
            }
        }
    }
}
