//! Simulating failed reads, for tests of error handling.

use std::io;

use crate::source::check_range;
use crate::{Error, ReadAt, Result};

/// A source whose reads fail with an I/O error if they extend past the first `available` bytes,
/// like reads from a defective disk or a lost connection.
///
/// ```
/// use binio::ReadAt;
/// use binio::source::FailingSource;
///
/// let source = FailingSource::new(&b"0123456789"[..], 4);
/// assert_eq!(source.bytes_at(2, 2)?, "23");
/// assert!(source.bytes_at(2, 3).unwrap_err().io_error().is_some());
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct FailingSource<S> {
    source: S,
    available: u64,
}

impl<S> FailingSource<S> {
    /// Wraps a source so that only its first `available` bytes can be read.
    pub fn new(source: S, available: u64) -> Self {
        Self { source, available }
    }
}

impl<S: ReadAt> ReadAt for FailingSource<S> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let len = buf.len() as u64;
        check_range(self.len(), offset, len)?;
        if offset + len > self.available {
            return Err(Error::from(io::Error::other("the source failed")).at(offset));
        }
        self.source.read_exact_at(buf, offset)
    }
}
