//! Where bytes come from: the trait [`ReadAt`] and its implementations.
//!
//! A *source* is a fixed sequence of bytes that is read by position. It has no cursor, so many
//! threads may read one source. What each implementation costs:
//!
//! | source | `bytes_at` | errors after opening |
//! |---|---|---|
//! | [`Bytes`] | shares the memory | none |
//! | `[u8]`, `Vec<u8>` | copies | none |
//! | [`Mmap`] | shares the map | a signal, see there |
//! | [`FileSource`] | one `pread` | of the system |
//! | [`Stream`] | seek and read under a lock | of the reader |
//! | [`Span`] | as its source | as its source |
//! | [`Concat`] | copies | as its sources |
//! | [`Window`] | shares what was fetched | `NeedsData` |
//!
//! Each source also states what a read costs, so that a reader suits files and networks alike: see
//! [`gap_worth_reading`](crate::ReadAt::gap_worth_reading) and
//! [`preferred_piece`](crate::ReadAt::preferred_piece).
//!
//! [`Bytes`]: crate::Bytes
//! [`FileSource`]: crate::FileSource
//! [`Mmap`]: crate::Mmap
//! [`ReadAt`]: crate::ReadAt
//! [`Span`]: crate::Span

mod concat;
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
mod window;

use crate::{Error, Result};

pub use concat::Concat;
#[cfg(any(test, feature = "testing"))]
pub use log::ReadLog;
pub use pieces::Pieces;
pub use scan::Scanner;
pub use stream::Stream;
pub use window::{Window, parse_with_fetch};

/// Fails with [`Truncated`](crate::ErrorKind::Truncated) unless `len` bytes from `offset` on lie
/// within a source of `total` bytes: what an implementation of [`ReadAt`](crate::ReadAt) checks first.
///
/// ```
/// use binio::source::check_range;
///
/// assert!(check_range(5, 2, 3).is_ok());
/// let error = check_range(5, 2, 4).unwrap_err();
/// assert_eq!(error.to_string(), "needs 4 bytes, 3 are left at offset 2");
/// ```
pub fn check_range(total: u64, offset: u64, len: u64) -> Result<()> {
    match total.checked_sub(offset) {
        Some(available) if len <= available => Ok(()),
        available => Err(Error::truncated(len, available.unwrap_or(0)).at(offset)),
    }
}

/// The part of a slice, checked.
fn slice_at(data: &[u8], offset: u64, len: usize) -> Result<&[u8]> {
    let start = usize::try_from(offset).ok();
    start
        .and_then(|start| data.get(start..)?.get(..len))
        .ok_or_else(|| past_end(data.len() as u64, offset, len as u64))
}

fn past_end(total: u64, offset: u64, len: u64) -> Error {
    Error::truncated(len, total.saturating_sub(offset)).at(offset)
}
