//! What a file may make its reader allocate, decode, nest and count.
//!
//! Numbers in a file are claims. Before a claim turns into memory or work, a reader holds it
//! against the caller's [`Limits`]. The limits are absolute: a ratio of compressed to decoded size
//! says nothing, since 64 MiB of zeros are an honest 79 bytes of bzip2.

use std::io;

use crate::{Error, ErrorKind, Result};

/// Limits that the caller hands to a reader.
///
/// ```
/// use binio::Limits;
///
/// let limits = Limits::default().with_max_alloc(1 << 20);
/// assert!(limits.check_alloc("index", 4096).is_ok());
/// let error = limits.check_alloc("index", 1 << 40).unwrap_err();
/// assert_eq!(error.to_string(), "index: 1099511627776 is above the limit of 1048576");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of any one buffer whose size the file states. Default: 4 GiB.
    pub max_alloc: u64,
    /// Bytes that decoding one thing, such as a block, may give. Default: `u64::MAX`, no limit,
    /// since a caller decodes what it asks for, one thing at a time.
    pub max_decoded: u64,
    /// Levels of nesting. Default: 1000, far above any file made by a program and far below what
    /// would exhaust a thread's stack.
    pub max_depth: u32,
    /// Nodes, entries, members: whatever a file has many of. Default: 50 million.
    pub max_items: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_alloc: 4 << 30, max_decoded: u64::MAX, max_depth: 1000, max_items: 50_000_000 }
    }
}

impl Limits {
    /// Sets [`max_alloc`](Self::max_alloc), in bytes.
    #[must_use]
    pub fn with_max_alloc(mut self, bytes: u64) -> Self {
        self.max_alloc = bytes;
        self
    }

    /// Sets [`max_decoded`](Self::max_decoded), in bytes.
    #[must_use]
    pub fn with_max_decoded(mut self, bytes: u64) -> Self {
        self.max_decoded = bytes;
        self
    }

    /// Sets [`max_depth`](Self::max_depth), in levels.
    #[must_use]
    pub fn with_max_depth(mut self, levels: u32) -> Self {
        self.max_depth = levels;
        self
    }

    /// Sets [`max_items`](Self::max_items).
    #[must_use]
    pub fn with_max_items(mut self, items: u64) -> Self {
        self.max_items = items;
        self
    }

    /// May a buffer of `bytes` be allocated?
    pub fn check_alloc(&self, what: &'static str, bytes: u64) -> Result<()> {
        check(what, self.max_alloc, bytes)
    }

    /// May one thing decode to `bytes`?
    pub fn check_decoded(&self, what: &'static str, bytes: u64) -> Result<()> {
        check(what, self.max_decoded, bytes)
    }

    /// May the file nest `levels` deep?
    pub fn check_depth(&self, what: &'static str, levels: u32) -> Result<()> {
        check(what, self.max_depth.into(), levels.into())
    }

    /// May the file have `items`?
    pub fn check_items(&self, what: &'static str, items: u64) -> Result<()> {
        check(what, self.max_items, items)
    }

    /// An empty buffer with room for exactly `len` bytes.
    ///
    /// Fails with [`ErrorKind::Limit`] if the length is above [`max_alloc`](Self::max_alloc), with
    /// [`ErrorKind::Io`] (out of memory) if the machine has no such room; never aborts. A decoder whose input does not back the claim
    /// should start with less and grow.
    pub fn buffer(&self, what: &'static str, len: u64) -> Result<Vec<u8>> {
        self.check_alloc(what, len)?;
        reserve(what, len)
    }
}

fn check(what: &'static str, limit: u64, requested: u64) -> Result<()> {
    if requested > limit {
        return Err(Error::new(ErrorKind::Limit { what, limit, requested }));
    }
    Ok(())
}

/// An empty buffer with room for `len` bytes, or an error where the allocator has no such room.
pub(crate) fn reserve(what: &'static str, len: u64) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let reserved = usize::try_from(len).is_ok_and(|len| buffer.try_reserve_exact(len).is_ok());
    if !reserved {
        let message = format!("{what}: no memory for {len} bytes");
        return Err(io::Error::new(io::ErrorKind::OutOfMemory, message).into());
    }
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_itself_is_allowed() {
        let limits = Limits::default().with_max_items(3).with_max_depth(2).with_max_decoded(1);
        assert!(limits.check_items("entries", 3).is_ok());
        assert!(limits.check_items("entries", 4).is_err());
        assert!(limits.check_depth("nesting", 2).is_ok());
        assert!(limits.check_depth("nesting", 3).is_err());
        assert!(limits.check_decoded("data", 1).is_ok());
        assert!(limits.check_decoded("data", 2).is_err());
    }

    #[test]
    fn buffer_has_room_and_no_content() {
        let buffer = Limits::default().buffer("data", 100).unwrap();
        assert!(buffer.is_empty());
        assert!(buffer.capacity() >= 100);
    }

    #[test]
    fn buffer_above_the_limit_is_refused() {
        let error = Limits::default().with_max_alloc(99).buffer("data", 100).unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::Limit { what: "data", limit: 99, requested: 100 }
        ));
    }

    #[test]
    fn buffer_that_no_machine_has_is_an_error_not_an_abort() {
        let limits = Limits::default().with_max_alloc(u64::MAX);
        for len in [u64::MAX, 1 << 62] {
            let error = limits.buffer("data", len).unwrap_err();
            assert_eq!(error.to_string(), format!("data: no memory for {len} bytes"));
        }
    }
}
