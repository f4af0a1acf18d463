//! Compares our decoder with the decoder of the C library, on random buffers produced by the C
//! library. The buffers cover every codec except Snappy, every shuffle and level, typesizes from 1
//! to 255, various block sizes, and all ways of splitting blocks.
//!
//! The C decoder is only called with buffers that the C compressor has just produced, because it is
//! not safe for any other buffers. Damaged buffers are therefore not compared.

#![allow(unsafe_code, reason = "calls the C library with which our decoder is compared")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]

use std::ffi::{CStr, c_int};

use binio::Limits;
use binio::blosc::{Buffer, HEADER_LEN, Scratch};

const COMPRESSORS: [&CStr; 5] = [c"blosclz", c"lz4", c"lz4hc", c"zlib", c"zstd"];
const BUFFERS: u32 = 4000;

/// The ways in which the C library can split blocks. The choice is a global variable of the
/// library, so this file must contain only one test.
const NEVER_SPLIT: c_int = 2;
const ALWAYS_SPLIT: c_int = 1;
const AUTO_SPLIT: c_int = 3;
const FORWARD_COMPATIBLE_SPLIT: c_int = 4;

/// A pseudorandom number generator that produces the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn len(&mut self) -> usize {
        match self.below(10) {
            0 => self.of(&[0, 1, 2, 15, 16, 127, 128, 129, 255, 256, 4095, 65_536, 300_007]),
            1..=4 => 128 + self.below(3000),
            5..=8 => 128 + self.below(40_000),
            _ => self.below(300_008),
        }
    }

    /// Returns `len` bytes of a single random kind, or of a random mixture of all kinds. The kinds
    /// are rising numbers, waves with noise, runs of equal bytes, repeated patterns, and text with
    /// few letters. A mixture also contains noise.
    fn data(&mut self, len: usize) -> Vec<u8> {
        let mut data = Vec::with_capacity(len + 4096);
        let kind = self.below(9);
        while data.len() < len {
            let piece = 1 + self.below(4000);
            match if kind < 5 { kind } else { self.below(6) } {
                0 => {
                    let (start, step) = (self.next() as u32, self.below(9) as u32);
                    data.extend(
                        (0..piece as u32).flat_map(|n| (start + n * step / 3).to_le_bytes()),
                    );
                }
                1 => data.extend((0..piece as u32).flat_map(|n| {
                    let noise = f64::from(self.next() as u16) * 1e-7;
                    ((f64::from(n) * 0.01).sin() + noise).to_le_bytes()
                })),
                2 => data.resize(data.len() + piece, self.next() as u8),
                3 => {
                    let unit: Vec<u8> = (0..=self.below(60)).map(|_| self.next() as u8).collect();
                    data.extend(unit.iter().cycle().take(piece));
                }
                4 => data.extend((0..piece).map(|_| self.of(b"aab ccd\n"))),
                _ => data.extend((0..piece / 4).map(|_| self.next() as u8)),
            }
        }
        data.truncate(len);
        data
    }
}

/// Options for the C compressor.
#[derive(Clone, Copy, Debug)]
struct Asked {
    compressor: &'static CStr,
    level: u8,
    shuffle: u8,
    typesize: usize,
    blocksize: usize,
    split: c_int,
}

impl Asked {
    fn random(random: &mut Random, len: usize) -> Self {
        let compressor = random.of(&COMPRESSORS);
        let typesize = if random.below(5) == 0 {
            1 + random.below(255)
        } else {
            random.of(&[1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 32])
        };
        // Use the slowest levels of Zstandard only on small data.
        let levels = if compressor == c"zstd" && len > 20_000 { 8 } else { 10 };
        let blocksize = if random.below(3) > 0 { 0 } else { 1 + random.below(20_000) };
        // The library does not check that it can decode the result of `ALWAYS_SPLIT`, so only use
        // it for blocks that can be split.
        let is_splittable = typesize <= 16 && len >= 128 * typesize && blocksize == 0;
        let split = random.of(&[FORWARD_COMPATIBLE_SPLIT, AUTO_SPLIT, NEVER_SPLIT, ALWAYS_SPLIT]);
        let split = if split == ALWAYS_SPLIT && !is_splittable { NEVER_SPLIT } else { split };
        let (level, shuffle) = (random.below(levels) as u8, random.below(3) as u8);
        Self { compressor, level, shuffle, typesize, blocksize, split }
    }

    fn compress(&self, data: &[u8]) -> Vec<u8> {
        let mut out = vec![0; data.len() + HEADER_LEN];
        // SAFETY: this sets a global variable, and no other thread of this program calls the
        // library.
        unsafe { blosc_src::blosc_set_splitmode(self.split) };
        // SAFETY: both pointers are valid for the given lengths, the buffers do not overlap, all
        // lengths fit in an i32, the name ends with a zero byte, and the numbers are within the
        // ranges of the library. With a thread count of 1, the library starts no threads.
        let len = unsafe {
            blosc_src::blosc_compress_ctx(
                self.level.into(),
                self.shuffle.into(),
                self.typesize,
                data.len(),
                data.as_ptr().cast(),
                out.as_mut_ptr().cast(),
                out.len(),
                self.compressor.as_ptr(),
                self.blocksize,
                1,
            )
        };
        let len = usize::try_from(len).unwrap_or(0);
        assert!(len > 0, "{self:?}: the C compressor fails");
        out.truncate(len);
        out
    }
}

/// Decodes a buffer with the C library, or returns `None` if it fails.
fn decode_by_c(packed: &[u8], len: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; len];
    // SAFETY: `packed` is the complete and unchanged output of the library's compressor for `len`
    // bytes of data, and `out` is valid for writes of `len` bytes.
    let decoded = unsafe {
        blosc_src::blosc_decompress_ctx(packed.as_ptr().cast(), out.as_mut_ptr().cast(), len, 1)
    };
    (usize::try_from(decoded) == Ok(len)).then_some(out)
}

#[test]
fn our_decoder_and_the_c_decoder_agree_on_buffers_from_the_c_library() {
    let (mut random, mut scratch) = (Random(0x9e37_79b9_7f4a_7c15), Scratch::default());
    let mut out = Vec::new();
    let (mut split, mut memcpyed) = (0, 0);
    for _ in 0..BUFFERS {
        let len = random.len();
        let data = random.data(len);
        let asked = Asked::random(&mut random, len);
        let packed = asked.compress(&data);
        assert_eq!(decode_by_c(&packed, len).as_ref(), Some(&data), "{asked:?} of {len}");

        let buffer = Buffer::parse(&packed).unwrap_or_else(|error| panic!("{asked:?}: {error}"));
        buffer
            .decode_to(&mut out, &Limits::default(), &mut scratch)
            .unwrap_or_else(|error| panic!("{asked:?} of {len}: {error}"));
        assert!(out == data, "{asked:?} of {len} decodes to something else");

        let (a, b) = (random.below(len + 1), random.below(len + 1));
        let range = a.min(b)..a.max(b);
        let mut part = vec![0; range.len()];
        buffer.decode_range_into(range.clone(), &mut part, &mut scratch).unwrap();
        assert!(part == data[range.clone()], "{asked:?} of {len}: {range:?} is something else");

        let header = buffer.header();
        split += u32::from(header.is_split_allowed() && !header.is_memcpyed());
        memcpyed += u32::from(header.is_memcpyed());
    }
    // Check that the random options have covered every way of storing data.
    assert!(split > BUFFERS / 10 && memcpyed > BUFFERS / 10, "{split} split, {memcpyed} memcpyed");
    assert!(split + memcpyed < BUFFERS * 4 / 5);
}
