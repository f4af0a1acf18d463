//! Filters for compressed arrays and for references. A compressed array is stored as an 8-byte count in the
//! default byte order, followed by that many bytes.
//!
//! | filter | stored bytes | arrays | argument |
//! |---|---|---|---|
//! | `gzip` | gzip (RFC 1952); zlib (RFC 1950) can be read as well | any | level, -1 to 9; default 9 |
//! | `zfp` | zfp header and stream | `f4`, `f8`, `i4`, `i8`; 1 to 4 dimensions | see below; default -15 |
//! | `png` | PNG | `u1`, `u2`; `[height, width]` or `[height, width, 3]` | level, 0 to 9; default 9 |
//! | `jpeg` | JFIF | `u1`; `[height, width]` or `[height, width, 3 or 4]` | quality, 0 to 95; default 75 |
//!
//! A positive argument of `zfp` is a tolerance, and an argument of `-n` is a precision of `n` bits. If the
//! argument is 0, the compression is lossless.
//!
//! Decoding fails as soon as the output exceeds the declared size, so that a few stored bytes
//! cannot expand until they fill the memory.
//!
//! | module | content |
//! |---|---|
//! | `registry` | the filters by name, including those that the caller adds |
//! | `gzip`, `zfp`, `png`, `jpeg` | the compression filters; the last two share `image` |
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

use binio::diagnostic::count;

pub use registry::{Compress, Declared, FilterError, FilterRegistry, Reference};

/// Maximum number of bytes to reserve before decoding, regardless of the declared size.
const STEP: u64 = 1 << 20;

/// A buffer for decoded bytes that accepts no more bytes than declared.
struct Bounded {
    bytes: Vec<u8>,
    len: u64,
}

impl Bounded {
    fn new(len: u64) -> Self {
        Self { bytes: Vec::with_capacity(usize::try_from(len.min(STEP)).unwrap_or(0)), len }
    }

    /// Returns the decoded bytes. Fails if there are fewer bytes than declared.
    fn finish(self) -> Result<Vec<u8>, FilterError> {
        match (self.bytes.len() as u64, self.len) {
            (found, expected) if found == expected => Ok(self.bytes),
            (found, expected) => {
                let found = count(found, "byte");
                Err(FilterError::new(format!("it decodes to {found}, expected {expected}")))
            }
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() as u64 + bytes.len() as u64 > self.len {
            let declared = count(self.len, "byte");
            let message = format!("it decodes to more than the declared {declared}");
            return Err(io::Error::other(message));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
