//! Byte sources: the trait [`ReadAt`] and its implementations.
//!
//! A *source* is a fixed sequence of bytes that is read by position. It has no cursor, so many
//! threads can read the same source. The implementations differ in how they return bytes, and in
//! how a read inside the source can fail:
//!
//! | source | `bytes_at` | possible failures |
//! |---|---|---|
//! | [`Bytes`] | shares the memory | none |
//! | `[u8]`, `Vec<u8>` | copies | none |
//! | [`Mmap`] | shares the map | a signal (see [`Mmap`]) |
//! | [`FileSource`] | reads with `pread` | I/O errors, truncation |
//! | [`Stream`] | seeks and reads under a lock | errors from the reader |
//! | [`Span`] | like the underlying source | like the underlying source |
//! | [`Concat`] | copies | like the underlying sources |
//!
//! Each source also states the cost of a read, so that the same reader works well with files and
//! over networks: see [`gap_worth_reading`](crate::ReadAt::gap_worth_reading) and
//! [`preferred_piece`](crate::ReadAt::preferred_piece).
//!
//! [`Bytes`]: crate::Bytes
//! [`FileSource`]: crate::FileSource
//! [`Mmap`]: crate::Mmap
//! [`ReadAt`]: crate::ReadAt
//! [`Span`]: crate::Span

mod concat;
#[cfg(any(test, feature = "testing"))]
mod failing;
pub(crate) mod file;
#[cfg(any(test, feature = "testing"))]
mod log;
#[cfg(all(feature = "mmap", any(unix, windows)))]
#[allow(unsafe_code, reason = "mapping a file is unsafe; the one call is justified there")]
pub(crate) mod mmap;
mod pieces;
pub(crate) mod read_at;
mod scan;
pub(crate) mod span;
mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod suite;

use crate::{Error, Result};

pub use concat::Concat;
#[cfg(any(test, feature = "testing"))]
pub use failing::FailingSource;
#[cfg(any(test, feature = "testing"))]
pub use log::ReadLog;
pub use pieces::Pieces;
pub use scan::Scanner;
pub use stream::Stream;

/// Checks that a source of `total` bytes contains `len` bytes at `offset`. Implementations of
/// [`ReadAt`](crate::ReadAt) call this function before they read.
///
/// ```
/// use binio::source::check_range;
///
/// assert!(check_range(5, 2, 3).is_ok());
/// let error = check_range(5, 2, 4).unwrap_err();
/// assert_eq!(error.to_string(), "needs 4 bytes, found only 3 (offset 2)");
/// ```
///
/// # Errors
///
/// Fails with [`Truncated`](crate::ErrorKind::Truncated) if the range extends past the end of the
/// source. The error contains the offset.
pub fn check_range(total: u64, offset: u64, len: u64) -> Result<()> {
    match total.checked_sub(offset) {
        Some(available) if len <= available => Ok(()),
        available => Err(Error::truncated(len, available.unwrap_or(0)).at(offset)),
    }
}

/// Returns `len` bytes of a slice, starting at `offset`. Fails if the range is out of bounds.
fn slice_at(data: &[u8], offset: u64, len: usize) -> Result<&[u8]> {
    let start = usize::try_from(offset).ok();
    start
        .and_then(|start| data.get(start..)?.get(..len))
        .ok_or_else(|| past_end(data.len() as u64, offset, len as u64))
}

fn past_end(total: u64, offset: u64, len: u64) -> Error {
    Error::truncated(len, total.saturating_sub(offset)).at(offset)
}
