//! Using part of a source as a source of its own.

use std::ops::Range;

use bytes::Bytes;

use crate::source::{check_range, past_end};
use crate::{ReadAt, Result};

/// A part of a source, used as a source of its own. Offsets in the part start at 0.
///
/// Offsets in errors, however, refer to the whole source, so that users can find them in the file.
///
/// ```
/// use binio::{Bytes, ReadAt, Span};
///
/// let member = Span::new(Bytes::from_static(b"headpayloadtail"), 4..11)?;
/// assert_eq!(member.bytes_at(0, 3)?, "pay");
/// assert_eq!(member.bytes_at(5, 4).unwrap_err().offset(), Some(9));
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Span<S> {
    source: S,
    start: u64,
    len: u64,
}

impl<S: ReadAt> Span<S> {
    /// Creates a source from a range of another source. A range that ends before it starts is
    /// treated as empty.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](crate::ErrorKind::Truncated) if the range extends past the end of
    /// the source.
    pub fn new(source: S, range: Range<u64>) -> Result<Self> {
        let len = range.end.saturating_sub(range.start);
        check_range(source.len(), range.start, len)?;
        Ok(Self { source, start: range.start, len })
    }

    /// Converts an offset in the span to an offset in the underlying source. Fails if the span does
    /// not contain `len` bytes at this offset.
    fn absolute(&self, offset: u64, len: u64) -> Result<u64> {
        let absolute = self.start.saturating_add(offset);
        if check_range(self.len, offset, len).is_err() {
            return Err(past_end(self.start.saturating_add(self.len), absolute, len));
        }
        Ok(absolute)
    }
}

impl<S: ReadAt> ReadAt for Span<S> {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let offset = self.absolute(offset, buf.len() as u64)?;
        self.source.read_exact_at(buf, offset)
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let offset = self.absolute(offset, len as u64)?;
        self.source.bytes_at(offset, len)
    }

    fn is_memory(&self) -> bool {
        self.source.is_memory()
    }

    fn gap_worth_reading(&self) -> u64 {
        self.source.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.source.preferred_piece()
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let absolute = |offset: u64| self.start.saturating_add(offset.min(self.len));
        let ranges: Vec<_> = ranges.iter().map(|r| absolute(r.start)..absolute(r.end)).collect();
        self.source.prefetch(&ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const DATA: &[u8] = b"0123456789";

    #[test]
    fn miri_a_span_hides_the_bytes_outside_its_range() {
        let span = Span::new(DATA, 3..7).unwrap();
        assert_eq!(span.bytes_at(0, 4).unwrap(), "3456");
        let error = span.bytes_at(2, 3).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 3, available: 2 }));
        assert_eq!(error.offset(), Some(5));
        assert!(span.bytes_at(u64::MAX, 1).is_err());
    }

    #[test]
    fn a_span_outside_the_source_is_rejected() {
        assert!(Span::new(DATA, 3..11).is_err());
        assert!(Span::new(DATA, 11..11).is_err());
        assert!(Span::new(DATA, 10..10).unwrap().is_empty());
        assert!(Span::new(DATA, Range { start: 7, end: 3 }).unwrap().is_empty());
    }
}
