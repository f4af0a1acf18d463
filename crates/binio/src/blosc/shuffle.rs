//! Byte shuffle: byte k of element i lies at k · m + i, for the m whole elements of a block. Bytes
//! after the last whole element stay where they are.

/// Puts the bytes of the elements of `source` together by their place in the element.
pub(super) fn shuffle(typesize: usize, source: &[u8], out: &mut [u8]) {
    let count = source.len() / typesize;
    for (k, row) in out.chunks_exact_mut(count.max(1)).take(typesize).enumerate() {
        for (byte, element) in row.iter_mut().zip(source.chunks_exact(typesize)) {
            *byte = element[k];
        }
    }
    out[count * typesize..].copy_from_slice(&source[count * typesize..]);
}

/// The reverse of [`shuffle`]; `out` is as long as `source`.
pub(super) fn unshuffle(typesize: usize, source: &[u8], out: &mut [u8]) {
    let count = source.len() / typesize;
    let whole = count * typesize;
    for (k, row) in source[..whole].chunks_exact(count.max(1)).enumerate() {
        for (element, &byte) in out.chunks_exact_mut(typesize).zip(row) {
            element[k] = byte;
        }
    }
    out[whole..].copy_from_slice(&source[whole..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_one_place_lie_together_and_the_tail_stays() {
        let mut out = [0; 8];
        shuffle(3, b"abcABCxy", &mut out);
        assert_eq!(&out, b"aAbBcCxy");
        let mut back = [0; 8];
        unshuffle(3, &out, &mut back);
        assert_eq!(&back, b"abcABCxy");
    }

    #[test]
    fn a_block_shorter_than_an_element_is_all_tail() {
        let mut out = [0; 2];
        shuffle(3, b"ab", &mut out);
        assert_eq!(&out, b"ab");
        unshuffle(3, b"cd", &mut out);
        assert_eq!(&out, b"cd");
    }
}
