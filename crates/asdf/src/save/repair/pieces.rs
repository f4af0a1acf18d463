//! A source that presents a file with its original line endings, piece by piece.
//!
//! ```text
//! stored     | head and tree, CR LF | block 0, CR LF | block 1, unchanged | index |
//! presented  | head and tree, LF    | block 0, LF    | block 1            | index |
//! ```
//!
//! Converted pieces have a table with an entry for every 64 KiB of stored bytes, so that a read at any offset
//! only converts the parts that it overlaps.

use std::ops::Range;
use std::sync::Arc;

use binio::{ReadAt, source};
use bytes::Bytes;

/// Number of stored bytes per table entry.
const STEP: u64 = 64 << 10;

/// The conversion applied to the stored bytes of a piece.
#[derive(Clone, Debug)]
pub(super) enum View {
    AsStored,
    /// The stored bytes without the CR of each CR LF.
    WithoutCr,
    /// The stored bytes with a CR before each LF that has none.
    WithCr,
    /// Other bytes, which replace the stored bytes.
    Replaced(Bytes),
}

struct Piece {
    /// Offset of the piece in the presented file.
    start: u64,
    len: u64,
    stored: Range<u64>,
    view: View,
    /// For every [`STEP`] stored bytes, the corresponding offset in the converted piece.
    table: Vec<u64>,
}

/// A source that presents another source as a sequence of pieces.
pub(super) struct Pieces {
    source: Arc<dyn ReadAt>,
    pieces: Vec<Piece>,
}

impl Pieces {
    /// Assembles a source from pieces. Pieces with converted line endings are read once to
    /// determine their length.
    pub(super) fn new(
        source: Arc<dyn ReadAt>,
        views: Vec<(Range<u64>, View)>,
    ) -> binio::Result<Self> {
        let mut pieces = Self { source, pieces: Vec::with_capacity(views.len()) };
        let mut start = 0;
        for (stored, view) in views {
            let mut piece = Piece { start, len: 0, stored, view, table: Vec::new() };
            piece.len = match &piece.view {
                View::AsStored => piece.stored.end - piece.stored.start,
                View::Replaced(bytes) => bytes.len() as u64,
                View::WithoutCr | View::WithCr => {
                    let mut len = 0;
                    for step in 0..(piece.stored.end - piece.stored.start).div_ceil(STEP) {
                        piece.table.push(len);
                        len += pieces.converted(&piece, step)?.len() as u64;
                    }
                    len
                }
            };
            start += piece.len;
            pieces.pieces.push(piece);
        }
        Ok(pieces)
    }

    /// Reads and converts the stored bytes of a piece that belong to one table entry.
    fn converted(&self, piece: &Piece, step: u64) -> binio::Result<Vec<u8>> {
        let start = piece.stored.start + step * STEP;
        let end = piece.stored.end.min(start + STEP);
        // Include one byte on either side, because it affects the conversion of the first and the last byte.
        let from = start.saturating_sub(1).max(piece.stored.start);
        let to = piece.stored.end.min(end + 1);
        let len = usize::try_from(to - from).unwrap_or(usize::MAX);
        let bytes = self.source.bytes_at(from, len)?;
        let place = |offset: u64| usize::try_from(offset - from).unwrap_or(usize::MAX);
        let own = place(start)..place(end);
        Ok(if matches!(piece.view, View::WithCr) {
            with_cr(&bytes, own)
        } else {
            without_cr(&bytes, own)
        })
    }

    /// Reads from offset `at` of a piece into the beginning of `buffer` and returns the number of
    /// bytes read.
    fn read(&self, piece: &Piece, at: u64, buffer: &mut [u8]) -> binio::Result<usize> {
        let left = usize::try_from(piece.len - at).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = &mut buffer[..left];
        match &piece.view {
            View::AsStored => self.source.read_exact_at(buffer, piece.stored.start + at)?,
            View::Replaced(bytes) => bytes.read_exact_at(buffer, at)?,
            View::WithoutCr | View::WithCr => {
                let step = piece.table.partition_point(|&place| place <= at).saturating_sub(1);
                let place = piece.table.get(step).copied().unwrap_or(0);
                let bytes = self.converted(piece, step as u64)?;
                let from = usize::try_from(at - place).unwrap_or(usize::MAX).min(bytes.len());
                let len = left.min(bytes.len() - from);
                buffer[..len].copy_from_slice(&bytes[from..from + len]);
                return Ok(len);
            }
        }
        Ok(left)
    }
}

/// Returns the bytes of a range, without the CR of each CR LF.
pub(super) fn without_cr(bytes: &[u8], range: Range<usize>) -> Vec<u8> {
    let is_kept = |at: &usize| bytes[*at] != b'\r' || bytes.get(at + 1) != Some(&b'\n');
    range.filter(is_kept).map(|at| bytes[at]).collect()
}

/// Returns the bytes of a range, with a CR added before each LF that has none.
pub(super) fn with_cr(bytes: &[u8], range: Range<usize>) -> Vec<u8> {
    let mut out = Vec::with_capacity(range.len());
    for at in range {
        let has_cr = at.checked_sub(1).is_some_and(|before| bytes[before] == b'\r');
        if bytes[at] == b'\n' && !has_cr {
            out.push(b'\r');
        }
        out.push(bytes[at]);
    }
    out
}

impl ReadAt for Pieces {
    fn len(&self) -> u64 {
        self.pieces.last().map_or(0, |piece| piece.start + piece.len)
    }

    fn gap_worth_reading(&self) -> u64 {
        self.source.gap_worth_reading()
    }

    /// Returns the preferred piece size of the source, but at most 1 MiB, because reading a piece
    /// copies it even if the source is in memory.
    fn preferred_piece(&self) -> usize {
        self.source.preferred_piece().min(1 << 20)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> binio::Result<()> {
        source::check_range(self.len(), offset, buffer.len() as u64)?;
        let (mut at, mut filled) = (offset, 0);
        while filled < buffer.len() {
            let number = self.pieces.partition_point(|piece| piece.start + piece.len <= at);
            let Some(piece) = self.pieces.get(number) else { break };
            let read = self.read(piece, at - piece.start, &mut buffer[filled..])?;
            if read == 0 {
                return Err(binio::Error::truncated(buffer.len() as u64, filled as u64).at(offset));
            }
            filled += read;
            at += read as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &Pieces) -> Vec<u8> {
        source.bytes_at(0, usize::try_from(source.len()).unwrap()).unwrap().to_vec()
    }

    #[test]
    fn each_piece_is_read_with_its_own_conversion() {
        let stored = b"a\r\nb\r\r\nc\rd|x\ny\r\nz\n|kept\r\n|gone".to_vec();
        let end = stored.len() as u64;
        let views = vec![
            (0..10, View::WithoutCr),
            (10..18, View::WithCr),
            (18..25, View::AsStored),
            (25..end, View::Replaced(Bytes::from_static(b"|new"))),
        ];
        let pieces = Pieces::new(Arc::new(stored), views).unwrap();
        let expected = b"a\nb\r\nc\rd|x\r\ny\r\nz\r\n|kept\r\n|new";
        assert_eq!(all(&pieces), expected);
        for start in 0..expected.len() {
            for end in start..=expected.len() {
                let read = pieces.bytes_at(start as u64, end - start).unwrap();
                assert_eq!(read, expected[start..end], "{start}..{end}");
            }
        }
        assert!(pieces.bytes_at(expected.len() as u64, 1).is_err());
    }

    #[test]
    fn line_endings_are_converted_even_if_a_step_ends_between_cr_and_lf() {
        let step = usize::try_from(STEP).unwrap();
        for shift in 0..3 {
            let mut stored = vec![b'-'; step - 2 + shift];
            stored.extend_from_slice(b"\r\n--\r\n");
            stored.resize(3 * step, b'.');
            let len = stored.len() as u64;
            let seen = |view| {
                let source: Arc<dyn ReadAt> = Arc::new(stored.clone());
                Pieces::new(source, vec![(0..len, view)]).unwrap()
            };
            let text = String::from_utf8(stored.clone()).unwrap();
            let lf = text.replace("\r\n", "\n");
            assert_eq!(all(&seen(View::WithoutCr)), lf.as_bytes());
            let back = Pieces::new(
                Arc::new(lf.clone().into_bytes()),
                vec![(0..lf.len() as u64, View::WithCr)],
            );
            assert_eq!(all(&back.unwrap()), text.as_bytes());
        }
    }
}
