//! Compressed arrays: a count of 8 bytes in the default byte order, then that many bytes.
//!
//! | filter | bytes | arrays | argument |
//! |---|---|---|---|
//! | `gzip` | RFC 1952; what zlib writes (RFC 1950) is read too | any | level, -1 to 9; default 9 |
//! | `zfp` | a header and a stream of zfp | `f4`, `f8`, `i4`, `i8` of 1 to 4 dimensions | tolerance above 0; bits of precision below 0; 0 lossless; default -15 |
//! | `png` | a PNG file | `u1`, `u2` `[height, width]` or `[height, width, 3]` | level, 0 to 9; default 9 |
//! | `jpeg` | a JFIF file | `u1` `[height, width]`, or with `3` or `4` at the end | quality, 0 to 95; default 75 |
//!
//! A decoder stops at the declared size, so that a few bytes cannot become many.
//!
//! | module | what it does |
//! |---|---|
//! | `registry` | filters by name, those of the caller too |
//! | `gzip`, `zfp`, `png`, `jpeg` | the compression filters; `image` is shared by the last two |
//! | `item_numbers` | the reference filter `ref` |

#[cfg(feature = "gzip")]
mod gzip;
#[cfg(any(feature = "png", feature = "jpeg"))]
mod image;
mod item_numbers;
#[cfg(feature = "jpeg")]
mod jpeg;
#[cfg(feature = "png")]
mod png;
mod registry;
#[cfg(feature = "zfp")]
mod zfp;

use std::io::{self, Write};

pub use registry::{Compress, Declared, FilterError, FilterRegistry, Reference};

/// Output is made room for in steps of at most this, whatever the declared size is.
const STEP: u64 = 1 << 20;

/// Decoded bytes, no more than are declared.
struct Bounded {
    bytes: Vec<u8>,
    len: u64,
}

impl Bounded {
    fn new(len: u64) -> Self {
        Self { bytes: Vec::with_capacity(usize::try_from(len.min(STEP)).unwrap_or(0)), len }
    }

    /// All bytes, which have to be as many as are declared.
    fn finish(self) -> Result<Vec<u8>, FilterError> {
        match (self.bytes.len() as u64, self.len) {
            (found, expected) if found == expected => Ok(self.bytes),
            (found, expected) => {
                Err(FilterError::new(format!("it decodes to {found} bytes, expected {expected}")))
            }
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() as u64 + bytes.len() as u64 > self.len {
            let message = format!("it decodes to more than the declared {} bytes", self.len);
            return Err(io::Error::other(message));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
