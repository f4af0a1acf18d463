//! Reading a long range piece by piece.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

use bytes::Bytes;

use crate::Result;

/// An iterator over consecutive pieces of a range. Created by
/// [`ReadAt::pieces`](crate::ReadAt::pieces).
///
/// Every piece has the requested size, except that the last one may be shorter. A size of 0 is
/// treated as 1. A source that [is in memory](crate::ReadAt::is_memory) shares its bytes. Any other
/// source reuses the buffer of the previous piece if the caller has dropped that piece.
///
/// A range that ends before it starts has no pieces. If the range extends past the end of the
/// source, the first piece that does so is replaced with an error. An error is always the last
/// item.
pub struct Pieces<'a> {
    /// The part of the range that has not been read yet.
    rest: Range<u64>,
    size: usize,
    read: Box<Read<'a>>,
    /// The previous piece, whose buffer the next one may reuse.
    last: Bytes,
}

/// A function that reads bytes, given the offset, the length and the previous piece, whose buffer
/// it reuses if possible.
type Read<'a> = dyn Fn(u64, usize, Bytes) -> Result<Bytes> + Send + 'a;

impl<'a> Pieces<'a> {
    pub(super) fn new(
        range: Range<u64>,
        size: usize,
        read: impl Fn(u64, usize, Bytes) -> Result<Bytes> + Send + 'a,
    ) -> Self {
        Self { rest: range, size: size.max(1), read: Box::new(read), last: Bytes::new() }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        let Range { start, end } = self.rest;
        let left = end.checked_sub(start).filter(|&left| left > 0)?;
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(self.size);
        let piece = (self.read)(start, len, std::mem::take(&mut self.last));
        match &piece {
            Ok(bytes) => {
                self.rest.start = start + len as u64;
                self.last = bytes.clone();
            }
            Err(_) => self.rest.start = end,
        }
        Some(piece)
    }
}

impl FusedIterator for Pieces<'_> {}

impl fmt::Debug for Pieces<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rest, size, .. } = self;
        f.debug_struct("Pieces").field("rest", rest).field("size", size).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::ReadLog;
    use crate::{ErrorKind, ReadAt};

    #[test]
    fn miri_pieces_of_a_source_in_memory_share_its_bytes() {
        let source = Bytes::from(b"0123456789".to_vec());
        let pieces: Vec<_> = source.pieces(1..10, 4).map(Result::unwrap).collect();
        assert_eq!(pieces, ["1234", "5678", "9"]);
        assert_eq!(pieces[1].as_ptr(), source[5..].as_ptr());
    }

    #[test]
    fn miri_the_buffer_of_a_dropped_piece_is_reused() {
        let source: &dyn ReadAt = &ReadLog::new(b"0123456789".to_vec());
        let mut pieces = source.pieces(0..10, 4);
        let first = pieces.next().unwrap().unwrap();
        let second = pieces.next().unwrap().unwrap();
        assert_eq!((&first[..], &second[..]), (&b"0123"[..], &b"4567"[..]));
        let buffer = second.as_ptr();
        drop(second);
        let third = pieces.next().unwrap().unwrap();
        assert_eq!((third.as_ptr(), &third[..]), (buffer, &b"89"[..]));
        assert!(pieces.next().is_none());
    }

    #[test]
    fn an_error_is_the_last_item_and_follows_all_intact_pieces() {
        let source = b"0123456789";
        let mut pieces = source[..].pieces(6..u64::MAX, 3);
        assert_eq!(pieces.next().unwrap().unwrap(), "678");
        let error = pieces.next().unwrap().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 3, available: 1 }));
        assert_eq!(error.offset(), Some(9));
        assert!(pieces.next().is_none());
    }

    #[test]
    fn huge_ranges_and_piece_sizes_do_not_overflow() {
        let source = Bytes::from_static(b"0123");
        assert!(source.pieces(1..u64::MAX, usize::MAX).next().unwrap().is_err());
        assert!(source.pieces(u64::MAX - 1..u64::MAX, 9).next().unwrap().is_err());
        assert_eq!(source.pieces(1..4, usize::MAX).next().unwrap().unwrap(), "123");
    }
}
