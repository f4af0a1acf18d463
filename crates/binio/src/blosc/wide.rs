//! Unshuffling with AVX2 if the processor supports it. The same safe code is compiled a second time
//! for AVX2.
//!
//! With AVX2, float64 buffers compressed with lz4 take 0.87 times as long to decode, and float32
//! buffers take the same time (example `blosc_speed`).

use super::shuffle;

/// Joins rows into elements by calling [`shuffle::join`], with AVX2 if possible.
pub(super) fn join<'a>(typesize: usize, row: impl Fn(usize) -> &'a [u8], out: &mut [u8]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor supports the instructions that the function is compiled for. There
        // is no other requirement, since the body is safe code.
        return unsafe { join_avx2(typesize, row, out) };
    }
    shuffle::join(typesize, row, out);
}

/// # Safety
///
/// The processor must support AVX2.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn join_avx2<'a>(typesize: usize, row: impl Fn(usize) -> &'a [u8], out: &mut [u8]) {
    shuffle::join(typesize, row, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joining_with_wide_and_narrow_vectors_gives_the_same_bytes() {
        for typesize in 1..=33 {
            for count in [0, 1, 63, 64, 65, 200] {
                let rows: Vec<u8> = (1..=251).cycle().take(typesize * count).collect();
                let row = |k: usize| &rows[k * count..][..count];
                let (mut narrow, mut wide) = (vec![0; rows.len()], vec![0; rows.len()]);
                shuffle::join(typesize, row, &mut narrow);
                join(typesize, row, &mut wide);
                assert_eq!(narrow, wide, "{typesize} {count}");
            }
        }
    }
}
