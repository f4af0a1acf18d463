//! Bit shuffle. A block of m elements is stored in rows of m / 8 bytes. Row r = 8k + b contains bit
//! b of byte k of every element, where b = 0 is the lowest bit; element i occupies bit i % 8 of
//! byte i / 8 of the row. Bytes after the last whole element are not moved. If m is not a multiple
//! of 8, the whole block is unchanged.

use super::shuffle::unshuffle;

/// Groups the bits of the elements in `source` by their position in the element, and writes them to
/// `out`.
pub(super) fn bitshuffle(typesize: usize, source: &[u8], out: &mut [u8]) {
    let Some(row_len) = row_len(typesize, source.len()) else {
        return out.copy_from_slice(source);
    };
    for (column, elements) in source.chunks_exact(8 * typesize).enumerate() {
        for k in 0..typesize {
            let bytes: [u8; 8] = std::array::from_fn(|i| elements[i * typesize + k]);
            for (b, byte) in transpose(bytes).into_iter().enumerate() {
                out[(8 * k + b) * row_len + column] = byte;
            }
        }
    }
    let whole = 8 * row_len * typesize;
    out[whole..].copy_from_slice(&source[whole..]);
}

/// Reverses [`bitshuffle`]. `out` and the work buffer `planes` are as long as `source`.
///
/// Rows 8k to 8k + 7 contain the bits of byte k of every element. Unshuffling these rows with a
/// type size of 8 groups them into squares of 8 × 8 bits, one for every eight elements. Transposing
/// a square turns it into byte k of its eight elements. The result is plane k, and all planes
/// together form a byte-shuffled block.
pub(super) fn bitunshuffle(typesize: usize, source: &[u8], planes: &mut [u8], out: &mut [u8]) {
    let Some(row_len) = row_len(typesize, source.len()) else {
        return out.copy_from_slice(source);
    };
    let plane_len = 8 * row_len;
    let (whole, tail) = source.split_at(plane_len * typesize);
    for (bits, plane) in whole.chunks_exact(plane_len).zip(planes.chunks_exact_mut(plane_len)) {
        unshuffle(8, bits, plane);
        for square in plane.chunks_exact_mut(8) {
            if let Ok(bits) = <[u8; 8]>::try_from(&*square) {
                square.copy_from_slice(&transpose(bits));
            }
        }
    }
    planes[whole.len()..].copy_from_slice(tail);
    unshuffle(typesize, planes, out);
}

/// Returns the length of a row in bytes, or `None` if the block is not shuffled.
fn row_len(typesize: usize, len: usize) -> Option<usize> {
    let elements = len / typesize;
    (elements > 0 && elements % 8 == 0).then_some(elements / 8)
}

/// Transposes a square of 8 × 8 bits: bit j of byte i becomes bit i of byte j.
fn transpose(rows: [u8; 8]) -> [u8; 8] {
    // Swap the two off-diagonal quarters of each square of 2 × 2, then 4 × 4, then 8 × 8 bits.
    let mut x = u64::from_le_bytes(rows);
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let swapped = (x ^ (x >> shift)) & mask;
        x ^= swapped ^ (swapped << shift);
    }
    x.to_le_bytes()
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]
mod tests {
    use super::*;

    #[test]
    fn each_bit_is_moved_to_the_documented_position() {
        for typesize in [1, 2, 3, 8] {
            for elements in [8, 16, 40] {
                let len = typesize * elements + typesize - 1;
                let source: Vec<u8> = (0..len).map(|n| (n * n * 31 + n / 7) as u8).collect();
                let mut out = vec![0; len];
                bitshuffle(typesize, &source, &mut out);
                for i in 0..elements {
                    for r in 0..8 * typesize {
                        let plain = source[i * typesize + r / 8] >> (r % 8) & 1;
                        let stored = out[r * (elements / 8) + i / 8] >> (i % 8) & 1;
                        assert_eq!(stored, plain, "element {i}, row {r}");
                    }
                }
                let whole = typesize * elements;
                assert_eq!(out[whole..], source[whole..], "tail");
                let mut back = vec![0; len];
                bitunshuffle(typesize, &out, &mut vec![0; len], &mut back);
                assert_eq!(back, source);
            }
        }
    }

    #[test]
    fn a_block_is_not_shuffled_unless_its_number_of_elements_is_a_multiple_of_eight() {
        for elements in [0, 1, 7, 9, 15] {
            let source: Vec<u8> = (0..4 * elements + 3).collect();
            let mut out = vec![0; source.len()];
            bitshuffle(4, &source, &mut out);
            assert_eq!(out, source);
            bitunshuffle(4, &source, &mut vec![0; source.len()], &mut out);
            assert_eq!(out, source);
        }
    }
}
