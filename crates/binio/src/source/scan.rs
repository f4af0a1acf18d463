//! Finding a marker in a source, using bounded memory.
//!
//! A [`Scanner`] searches a range for a single byte string. A source that shares its memory is
//! searched in place. Any other source is read in windows. Each window overlaps the previous one by
//! one byte less than the length of the marker, so that no match across a boundary is missed:
//!
//! ```text
//! range    |------------------------------------------|
//! window 1 |---------------|
//! window 2              |---------------|                  overlap: marker length - 1
//! window 3                           |----------------|
//! ```

use std::ops::Range;

use bytes::Bytes;
use memchr::memmem::Finder;

use crate::{ReadAt, Result};

/// Default window size in bytes: large enough to make the cost of a system call negligible, and
/// small enough for a cache.
const WINDOW: usize = 256 * 1024;

/// A search for a marker in a range of a source.
///
/// Matches may overlap, so a false match in the payload never hides a true one that begins inside
/// it. An empty marker never matches. If the range extends past the end of the source, the search
/// stops there.
///
/// ```
/// use binio::Bytes;
/// use binio::source::Scanner;
///
/// let source = Bytes::from_static(b"MARK 5 xMARK MARK");
/// let mut scanner = Scanner::new(&source, b"MARK", 0..17);
/// assert_eq!(scanner.next_match()?, Some(0));
/// // The payload after the first marker is known to end at 13: skip it.
/// scanner.skip_to(13);
/// assert_eq!(scanner.next_match()?, Some(13));
/// assert_eq!(scanner.next_match()?, None);
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct Scanner<'a, S: ?Sized> {
    source: &'a S,
    finder: Finder<'a>,
    /// The earliest offset at which the next match may begin.
    position: u64,
    end: u64,
    window: usize,
    /// The piece of the source that was read last. It starts at `piece_start`.
    piece: Piece,
    piece_start: u64,
}

/// A piece of the source, which is shared if the source is in memory, and otherwise read into a
/// reusable buffer.
#[derive(Debug)]
enum Piece {
    Shared(Bytes),
    Read(Vec<u8>),
}

impl Piece {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Shared(bytes) => bytes,
            Self::Read(buffer) => buffer,
        }
    }
}

impl<'a, S: ReadAt + ?Sized> Scanner<'a, S> {
    /// Creates a scanner that finds the matches of `needle` that are entirely inside `range`.
    pub fn new(source: &'a S, needle: &'a [u8], range: Range<u64>) -> Self {
        Self {
            source,
            finder: Finder::new(needle),
            position: range.start,
            end: range.end.min(source.len()),
            window: WINDOW,
            piece: Piece::Read(Vec::new()),
            piece_start: 0,
        }
    }

    crate::setters! {
        /// Sets the number of bytes to read at a time from a source that does not share its memory.
        /// The default is 256 KiB, and the minimum is the length of the marker.
        window: usize;
    }

    /// Returns the offset of the next match, or `None` if there are no more matches in the range.
    ///
    /// # Errors
    ///
    /// Same as [`ReadAt::read_exact_at`].
    pub fn next_match(&mut self) -> Result<Option<u64>> {
        let needle = self.finder.needle().len();
        while needle > 0 && self.left() >= needle as u64 {
            let ahead = self.ahead();
            if let Some(found) = self.finder.find(ahead) {
                let found = self.position + found as u64;
                self.position = found + 1;
                return Ok(Some(found));
            }
            // Search the last bytes of the piece again, because a match may begin there and extend
            // past the piece.
            self.position += (ahead.len() + 1).saturating_sub(needle) as u64;
            if self.left() >= needle as u64 && self.ahead().len() < needle {
                self.load(self.position, self.end)?;
            }
        }
        Ok(None)
    }

    /// Moves the search forward to `offset`, for example to skip a payload of known length. Does
    /// nothing if the search is already past `offset`.
    pub fn skip_to(&mut self, offset: u64) {
        self.position = self.position.max(offset);
    }

    /// Returns the number of bytes from the position of the search to the end of the range.
    fn left(&self) -> u64 {
        self.end.saturating_sub(self.position)
    }

    /// Returns the part of the loaded piece from the position of the search onwards.
    fn ahead(&self) -> &[u8] {
        let start = self.position.checked_sub(self.piece_start);
        let start = start.and_then(|start| usize::try_from(start).ok());
        start.and_then(|start| self.piece.as_slice().get(start..)).unwrap_or_default()
    }

    /// Returns the maximum number of bytes to load: all `left` bytes if the source is in memory,
    /// otherwise the window size.
    fn window_for(&self, left: u64) -> u64 {
        if self.source.is_memory() {
            return left;
        }
        self.window.max(self.finder.needle().len()) as u64
    }

    /// Loads a window that begins at `start` and ends no later than `end`.
    fn load(&mut self, start: u64, end: u64) -> Result<()> {
        let left = end - start;
        let len = left.min(self.window_for(left));
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if self.source.is_memory() {
            self.piece = Piece::Shared(self.source.bytes_at(start, len)?);
        } else {
            let mut buffer = match std::mem::replace(&mut self.piece, Piece::Read(Vec::new())) {
                Piece::Read(buffer) => buffer,
                Piece::Shared(_) => Vec::new(),
            };
            buffer.resize(len, 0);
            self.source.read_exact_at(&mut buffer, start)?;
            self.piece = Piece::Read(buffer);
        }
        self.piece_start = start;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::source::ReadLog;

    #[test]
    fn miri_matches_across_window_boundaries_are_found() {
        let data = b"ab..ab.ab";
        for window in 0..12 {
            let mut scanner = Scanner::new(&data[..], b"ab", 0..9).window(window);
            assert_eq!(scanner.next_match().unwrap(), Some(0));
            assert_eq!(scanner.next_match().unwrap(), Some(4));
            assert_eq!(scanner.next_match().unwrap(), Some(7));
            assert_eq!(scanner.next_match().unwrap(), None);
        }
    }

    #[test]
    fn windows_overlap_by_one_byte_less_than_the_marker() {
        let source = ReadLog::new(vec![b'.'; 30]);
        let mut scanner = Scanner::new(&source, b"abc", 4..25).window(8);
        assert_eq!(scanner.next_match().unwrap(), None);
        assert_eq!(source.ranges(), [4..12, 10..18, 16..24, 22..25]);
    }

    #[test]
    fn a_skipped_payload_is_not_read() {
        let mut data = vec![b'.'; 1000];
        data[..3].copy_from_slice(b"abc");
        data[900..903].copy_from_slice(b"abc");
        let source = ReadLog::new(data);
        let mut scanner = Scanner::new(&source, b"abc", 0..1000).window(64);
        assert_eq!(scanner.next_match().unwrap(), Some(0));
        scanner.skip_to(890);
        assert_eq!(scanner.next_match().unwrap(), Some(900));
        assert_eq!(source.ranges(), [0..64, 890..954]);
        scanner.skip_to(5);
        assert_eq!(scanner.next_match().unwrap(), None);
    }

    #[test]
    fn a_source_in_memory_is_searched_in_place() {
        let source = Bytes::from(vec![b'.'; 1 << 20]);
        let mut scanner = Scanner::new(&source, b"abc", 10..1 << 20);
        assert_eq!(scanner.next_match().unwrap(), None);
        let Piece::Shared(piece) = &scanner.piece else { panic!("copied") };
        assert_eq!(piece.as_ptr(), source[10..].as_ptr());
    }

    #[test]
    fn an_empty_marker_or_range_matches_nothing() {
        let source: &dyn ReadAt = &Bytes::from_static(b"abc");
        assert_eq!(Scanner::new(source, b"", 0..3).next_match().unwrap(), None);
        let backwards = Range { start: 3, end: 0 };
        for range in [0..0, 3..3, 9..12, backwards] {
            assert_eq!(Scanner::new(source, b"a", range.clone()).next_match().unwrap(), None);
        }
    }

    #[test]
    fn the_error_of_a_failed_read_is_returned_and_the_scan_can_continue() {
        let source = Recovering(AtomicU32::new(2));
        let mut scanner = Scanner::new(&source, b"abc", 0..20).window(8);
        assert!(scanner.next_match().is_err());
        assert!(scanner.next_match().is_err());
        assert_eq!(scanner.next_match().unwrap(), Some(8));
    }

    /// A source that contains `abc` at offset 8. Its first reads fail.
    struct Recovering(AtomicU32);

    impl ReadAt for Recovering {
        fn len(&self) -> u64 {
            20
        }

        fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
            if self.0.load(Ordering::Relaxed) > 0 {
                self.0.fetch_sub(1, Ordering::Relaxed);
                return Err(std::io::Error::other("not yet").into());
            }
            b"........abc.........".read_exact_at(buf, offset)
        }
    }
}
