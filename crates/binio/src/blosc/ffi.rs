//! Calling the compressor of the C library. No other function of the library is used: its decoder
//! is unsafe for hostile data, and the others depend on the environment and on global state.

use std::ffi::{CStr, c_int};

use super::encode::{CompressOptions, Compressor};
use super::header::{HEADER_LEN, MAX_NBYTES, Shuffle};
use crate::{Error, Result};

/// Compresses `data`, and replaces the content of `out` with the result. The options have already
/// been checked.
pub(super) fn compress(data: &[u8], options: CompressOptions, out: &mut Vec<u8>) -> Result<()> {
    let level = options.level;
    let typesize = options.typesize;
    // The unsafe call below relies on these limits, so check them here as well.
    if data.len() > MAX_NBYTES as usize || level > 9 || typesize == 0 {
        return Err(Error::invalid(
            "the data is too long, the level is above 9, or the typesize is 0",
        ));
    }
    let room = data.len() + HEADER_LEN;
    out.clear();
    out.try_reserve_exact(room).map_err(|error| Error::from(std::io::Error::from(error)))?;
    let Some(name) = name(options.compressor) else {
        return Err(Error::unsupported("the C library was built without snappy"));
    };
    let shuffle: c_int = match options.shuffle {
        Shuffle::None => 0,
        Shuffle::Byte => 1,
        Shuffle::Bit => 2,
    };
    // Limit the block size, because the library converts it to an i32.
    let blocksize = options.blocksize.min(MAX_NBYTES);
    let place = out.spare_capacity_mut();
    // SAFETY: the source pointer is valid for reads of `data.len()` bytes, and the library does not
    // write to it. The destination pointer is valid for writes of `room` bytes, the reserved
    // capacity, and does not overlap the source, since it is borrowed exclusively. The name is a
    // static C string. Both lengths fit in an i32, as the library requires: `room` is at most
    // `MAX_NBYTES` + 16 = 2^31 - 1. The level and the typesize are in the documented range, the
    // shuffle is one of the three valid numbers, and the library clamps the block size. With a
    // thread count of 1, the library starts no threads, and it keeps no pointer after it returns.
    let written = unsafe {
        blosc_src::blosc_compress_ctx(
            c_int::from(level),
            shuffle,
            usize::from(typesize),
            data.len(),
            data.as_ptr().cast(),
            place.as_mut_ptr().cast(),
            room,
            name.as_ptr(),
            blocksize as usize,
            1,
        )
    };
    let len = usize::try_from(written).ok().filter(|len| (HEADER_LEN..=room).contains(len));
    let Some(len) = len else {
        return Err(Error::invalid(format!("the Blosc compressor failed with code {written}")));
    };
    // SAFETY: the library reports that it wrote `len` bytes from the start of the buffer without
    // gaps: header, table of blocks and streams, or header and data. `len` does not exceed `room`,
    // which does not exceed the capacity.
    unsafe { out.set_len(len) };
    Ok(())
}

/// Returns the library's name for a compressor, or `None` if this build of the library lacks it.
fn name(compressor: Compressor) -> Option<&'static CStr> {
    match compressor {
        Compressor::Blosclz => Some(c"blosclz"),
        Compressor::Lz4 => Some(c"lz4"),
        Compressor::Lz4hc => Some(c"lz4hc"),
        Compressor::Snappy => None,
        Compressor::Zlib => Some(c"zlib"),
        Compressor::Zstd => Some(c"zstd"),
    }
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "small numbers, or their low byte")]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::blosc::Buffer;

    const THERE: [Compressor; 5] = [
        Compressor::Blosclz,
        Compressor::Lz4,
        Compressor::Lz4hc,
        Compressor::Zlib,
        Compressor::Zstd,
    ];

    #[test]
    fn compression_stays_within_its_buffers_with_varying_options_and_lengths() {
        let data: Vec<u8> = (0..2000_u32).map(|n| (n / 5 + n % 3) as u8).collect();
        let mut out = Vec::new();
        for compressor in THERE {
            for len in (0..300).chain([511, 512, 1023, 1024, 1999, 2000]) {
                // Allocate exactly the length of the data, so that a sanitizer detects a read past
                // its end.
                let exact = data[data.len() - len..].to_vec().into_boxed_slice();
                let typesize = [1, 2, 3, 8, 16, 17, 128, 255][len % 8];
                let level = (len % 10) as u8;
                let shuffle = [Shuffle::None, Shuffle::Byte, Shuffle::Bit][len % 3];
                let options = CompressOptions::new(compressor)
                    .typesize(typesize)
                    .level(level)
                    .shuffle(shuffle)
                    .blocksize([0, 1, 200, u32::MAX][len % 4]);
                out.shrink_to(0);
                compress(&exact, options, &mut out).unwrap();
                let buffer = Buffer::parse(&out).unwrap();
                assert_eq!(buffer.decode(&Limits::default()).unwrap(), *exact, "{options:?}");
            }
        }
    }

    #[test]
    fn options_that_the_library_does_not_check_are_rejected_before_calling_it() {
        let options = CompressOptions::new(Compressor::Lz4);
        for options in [options.typesize(0), options.level(10)] {
            assert!(compress(b"data", options, &mut Vec::new()).is_err());
        }
    }

    #[test]
    fn a_compressor_that_is_not_compiled_in_is_rejected() {
        let options = CompressOptions::new(Compressor::Snappy);
        assert!(compress(&[7; 1000], options, &mut Vec::new()).is_err());
    }
}
