//! Parsing a remote source while fetching only the parts that are needed.
//!
//! Parsers built on this crate read through [`ReadAt`] and know nothing about networks or `async`.
//! To parse a remote object, use a [`Window`]. Reads of bytes that have not been fetched fail.
//! [`parse_with_fetch`] then fetches the missing ranges and runs the parser again:
//!
//! ```text
//! parse ─ reads 0..54 ─ missed ─┐        ┌ parse ─ reads 0..54, 900..960 ─ missed ─┐
//!                  fetch(0..54) ┘        └ ...                     fetch(900..960) ┘
//! ```
//!
//! The reads of a parser depend only on the bytes it has already read, so each run gets further
//! than the previous one. A file whose headers form a chain of length `n` takes `n` rounds. Reading
//! ahead reduces the number of rounds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::source::check_range;
use crate::{Error, ErrorKind, ReadAt, Result};

/// A source of known length of which only some parts have been fetched.
///
/// Reads outside these parts fail with [`NeedsData`](ErrorKind::NeedsData).
///
/// ```
/// use binio::{Bytes, ErrorKind, ReadAt};
/// use binio::source::Window;
///
/// let window = Window::new(1000);
/// window.insert(10, Bytes::from_static(b"0123456789"))?;
/// assert_eq!(window.bytes_at(12, 3)?, "234");
/// let error = window.bytes_at(15, 10).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::NeedsData(range) if *range == (20..25)));
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct Window {
    len: u64,
    read_ahead: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The fetched parts by offset. Parts do not overlap, and no part is empty.
    parts: BTreeMap<u64, Bytes>,
    /// Ranges that a read missed or a prefetch requested since [`parse_with_fetch`] last took them.
    wanted: Vec<Range<u64>>,
    /// Whether a read has missed any bytes since `wanted` was last taken.
    missed: bool,
}

impl Window {
    /// Creates a source of `len` bytes, none of which have been fetched yet.
    pub fn new(len: u64) -> Self {
        Self { len, read_ahead: 0, state: Mutex::default() }
    }

    crate::setters! {
        /// Sets the minimum number of bytes to request when a read misses bytes. By default, only
        /// the range from the first to the last missing byte is requested. 64 KiB halves the number
        /// of rounds for a typical chain of headers.
        read_ahead: u64;
    }

    /// Adds bytes fetched from `offset`. Bytes that are already present are not replaced.
    ///
    /// # Errors
    ///
    /// Fails with [`Truncated`](ErrorKind::Truncated) if the bytes extend past the end of the
    /// source, and then adds nothing.
    pub fn insert(&self, offset: u64, bytes: impl Into<Bytes>) -> Result<()> {
        let bytes = bytes.into();
        let len = bytes.len() as u64;
        check_range(self.len, offset, len)?;
        let mut state = self.state();
        for gap in state.gaps(offset..offset + len) {
            let part = bytes.bytes_at(gap.start - offset, clamped(gap.end - gap.start))?;
            state.parts.insert(gap.start, part);
        }
        let mut wanted = std::mem::take(&mut state.wanted);
        wanted.retain(|range| !state.gaps(range.clone()).is_empty());
        state.wanted = wanted;
        Ok(())
    }

    /// Returns the missing parts of a range, in order.
    pub fn missing(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.state().gaps(range.start..range.end.min(self.len))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No operation can panic between two related changes, so the state is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes of a range as consecutive pieces. If any bytes are missing, fails with the
    /// range to fetch.
    fn parts_of(&self, offset: u64, len: usize) -> Result<Vec<Bytes>> {
        check_range(self.len, offset, len as u64)?;
        let range = offset..offset + len as u64;
        let mut state = self.state();
        let gaps = state.gaps(range.clone());
        if let (Some(first), Some(last)) = (gaps.first(), gaps.last()) {
            let needed = self.with_more(first.start..last.end);
            state.wanted.push(needed.clone());
            state.missed = true;
            return Err(Error::new(ErrorKind::NeedsData(needed)).at(offset));
        }
        state.pieces(range)
    }

    /// Extends a missing range to the length of the read-ahead, but not past the end of the source.
    fn with_more(&self, range: Range<u64>) -> Range<u64> {
        let ahead = range.start.saturating_add(self.read_ahead);
        range.start..range.end.max(ahead).min(self.len)
    }

    /// Returns the ranges to fetch, or `None` if no read has missed bytes since the last call. The
    /// list is empty if all missing bytes have been added since.
    fn take_wanted(&self) -> Option<Vec<Range<u64>>> {
        let mut state = self.state();
        let wanted = std::mem::take(&mut state.wanted);
        std::mem::take(&mut state.missed).then(|| merge(wanted))
    }
}

impl State {
    /// Returns the parts that overlap a range, with their offsets.
    fn overlapping(&self, range: &Range<u64>) -> impl Iterator<Item = (u64, &Bytes)> {
        let before = self.parts.range(..range.start).next_back();
        let within = self.parts.range(range.start..range.end.max(range.start));
        let start = range.start;
        before
            .into_iter()
            .chain(within)
            .map(|(&offset, part)| (offset, part))
            .filter(move |&(offset, part)| offset + part.len() as u64 > start)
    }

    fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut covered = range.start;
        for (offset, part) in self.overlapping(&range) {
            if offset > covered {
                gaps.push(covered..offset);
            }
            covered = offset + part.len() as u64;
        }
        if range.end > covered {
            gaps.push(covered..range.end);
        }
        gaps
    }

    /// Returns the bytes of a range without gaps as consecutive pieces.
    fn pieces(&self, range: Range<u64>) -> Result<Vec<Bytes>> {
        self.overlapping(&range)
            .map(|(offset, part)| {
                let start = range.start.max(offset);
                let end = range.end.min(offset + part.len() as u64);
                part.bytes_at(start - offset, clamped(end - start))
            })
            .collect()
    }
}

/// Converts a length in memory to a `usize`. It saturates, although lengths in memory always fit.
fn clamped(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// Sorts ranges and merges those that overlap or touch.
fn merge(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

impl ReadAt for Window {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let mut rest = buf;
        for piece in self.parts_of(offset, rest.len())? {
            let (filled, behind) = rest.split_at_mut(piece.len());
            filled.copy_from_slice(&piece);
            rest = behind;
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, len: usize) -> Result<Bytes> {
        let mut pieces = self.parts_of(offset, len)?;
        match pieces.len() {
            0 => Ok(Bytes::new()),
            1 => Ok(pieces.swap_remove(0)),
            _ => Ok(pieces.concat().into()),
        }
    }

    /// Returns 4 MiB, which is about as much as a network transfers during the latency of a
    /// request.
    fn gap_worth_reading(&self) -> u64 {
        4 << 20
    }

    /// Returns 16 MiB, which takes longer to transfer than to request.
    fn preferred_piece(&self) -> usize {
        16 << 20
    }

    /// Remembers the ranges. [`parse_with_fetch`] fetches them in the next round, along with the
    /// bytes that a read missed.
    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        let mut state = self.state();
        for range in ranges {
            let gaps = state.gaps(range.start..range.end.min(self.len));
            state.wanted.extend(gaps);
        }
        Ok(())
    }
}

/// Runs `parse` repeatedly, and fetches missing bytes in between, until no read misses any.
///
/// `fetch` is passed the missing ranges, which are sorted and disjoint, and must return the bytes
/// of each range. Over HTTP, this can be a single request for several ranges. Every round adds
/// bytes, so the loop ends.
///
/// The error type is that of the parser. Whether `parse` runs again depends only on missed reads,
/// not on its result. A parser that handles failed reads itself, for example by reporting the file
/// as damaged, is therefore also run again.
///
/// ```
/// use binio::{Bytes, Endian, Error, ReadAt};
/// use binio::number::ByteReader;
/// use binio::source::{Window, parse_with_fetch};
///
/// let remote = b"\x00\x04....\x00\x03end";
/// let window = Window::new(11);
/// let mut rounds = 0;
/// let tail = parse_with_fetch(
///     &window,
///     || {
///         let head = window.bytes_at(0, 2)?;
///         let skip: u16 = ByteReader::new(&head).read(Endian::Big)?;
///         window.bytes_at(2 + u64::from(skip) + 2, 3)
///     },
///     |ranges| {
///         rounds += 1;
///         ranges.iter().map(|r| remote[..].bytes_at(r.start, (r.end - r.start) as usize)).collect()
///     },
/// )?;
/// assert_eq!(tail, "end");
/// assert_eq!(rounds, 2);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
///
/// Returns the error of `fetch`, or that of the last run of `parse`. Fails with
/// [`Truncated`](ErrorKind::Truncated) if `fetch` returns fewer bytes than requested.
pub fn parse_with_fetch<T, E: From<Error>>(
    window: &Window,
    mut parse: impl FnMut() -> Result<T, E>,
    mut fetch: impl FnMut(&[Range<u64>]) -> Result<Vec<Bytes>, E>,
) -> Result<T, E> {
    window.take_wanted();
    loop {
        let outcome = parse();
        let Some(wanted) = window.take_wanted() else { return outcome };
        if wanted.is_empty() {
            continue;
        }
        let mut fetched = fetch(&wanted)?.into_iter();
        for range in wanted {
            let needed = range.end - range.start;
            let mut bytes = fetched.next().unwrap_or_default();
            if (bytes.len() as u64) < needed {
                let error = Error::truncated(needed, bytes.len() as u64);
                return Err(error.at(range.start).context("fetch").into());
            }
            bytes.truncate(clamped(needed));
            window.insert(range.start, bytes)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"0123456789abcdef";

    fn fetch(ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges.iter().map(|r| DATA.bytes_at(r.start, clamped(r.end - r.start))).collect()
    }

    fn needs(error: &Error) -> Range<u64> {
        match error.kind() {
            ErrorKind::NeedsData(range) => range.clone(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_failed_read_reports_the_range_from_the_first_to_the_last_missing_byte() {
        let window = Window::new(16);
        window.insert(2, Bytes::from_static(b"23")).unwrap();
        window.insert(8, Bytes::from_static(b"89")).unwrap();
        assert_eq!(window.missing(0..16), [0..2, 4..8, 10..16]);
        assert_eq!(needs(&window.bytes_at(3, 3).unwrap_err()), 4..6);
        assert_eq!(needs(&window.bytes_at(2, 9).unwrap_err()), 4..11);
        let past = window.bytes_at(10, 7).unwrap_err();
        assert!(matches!(past.kind(), ErrorKind::Truncated { needed: 7, available: 6 }));
    }

    #[test]
    fn miri_overlapping_and_adjacent_parts_read_as_a_single_part() {
        let window = Window::new(16);
        window.insert(4, Bytes::from_static(b"4567")).unwrap();
        window.insert(2, Bytes::from_static(b"23XXXX89")).unwrap();
        window.insert(0, Bytes::from_static(b"01")).unwrap();
        assert_eq!(window.bytes_at(0, 10).unwrap(), "0123456789");
        let mut buffer = [0; 5];
        window.read_exact_at(&mut buffer, 3).unwrap();
        assert_eq!(&buffer, b"34567");
        assert!(window.insert(15, Bytes::from_static(b"fg")).is_err());
    }

    #[test]
    fn read_ahead_extends_a_request_but_not_past_the_end() {
        let window = Window::new(16).read_ahead(8);
        assert_eq!(needs(&window.bytes_at(2, 1).unwrap_err()), 2..10);
        assert_eq!(needs(&window.bytes_at(2, 9).unwrap_err()), 2..11);
        assert_eq!(needs(&window.bytes_at(12, 1).unwrap_err()), 12..16);
    }

    #[test]
    fn miri_dependent_reads_cost_one_round_each() {
        let window = Window::new(16);
        let mut rounds = Vec::new();
        let chain = || {
            window.bytes_at(0, 1)?;
            window.bytes_at(4, 2)?;
            window.bytes_at(14, 2)
        };
        let end = parse_with_fetch(&window, chain, |ranges: &[Range<u64>]| {
            rounds.extend_from_slice(ranges);
            fetch(ranges)
        });
        assert_eq!(end.unwrap(), "ef");
        assert_eq!(rounds, [0..1, 4..6, 14..16]);
    }

    #[test]
    fn prefetched_ranges_are_fetched_in_a_single_round() {
        let window = Window::new(16);
        let mut rounds = Vec::new();
        let parse = || {
            window.prefetch(&[8..10, 2..4, 4..6, 12..99])?;
            window.bytes_at(2, 2)?;
            window.bytes_at(8, 2)
        };
        let eight = parse_with_fetch(&window, parse, |ranges: &[Range<u64>]| {
            rounds.push(ranges.to_vec());
            fetch(ranges)
        });
        assert_eq!(eight.unwrap(), "89");
        assert_eq!(rounds, [[2..6, 8..10, 12..16]]);
    }

    #[test]
    fn a_parse_that_ignores_a_missed_read_is_repeated() {
        let window = Window::new(16);
        let parse = || Ok::<_, Error>(window.bytes_at(0, 1).is_err());
        assert!(!parse_with_fetch(&window, parse, fetch).unwrap());
    }

    #[test]
    fn bytes_inserted_during_parsing_are_not_fetched_again() {
        let window = Window::new(16);
        let parse = || {
            let outcome = window.bytes_at(3, 4);
            window.insert(0, DATA)?;
            outcome
        };
        let never = |_: &[Range<u64>]| -> Result<Vec<Bytes>> { panic!("fetched") };
        assert_eq!(parse_with_fetch(&window, parse, never).unwrap(), "3456");
    }

    #[test]
    fn a_short_fetch_is_an_error_instead_of_an_endless_loop() {
        let window = Window::new(16);
        let parse = || window.bytes_at(3, 4);
        let short = |_: &[Range<u64>]| Ok(vec![Bytes::from_static(b"345")]);
        let error = parse_with_fetch(&window, parse, short).unwrap_err();
        assert_eq!(error.to_string(), "fetch: needs 4 bytes, found only 3 at offset 3");
        let error =
            parse_with_fetch(&window, parse, |_: &[Range<u64>]| Ok(Vec::new())).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 4, available: 0 }));
    }

    #[test]
    fn an_error_of_the_parser_is_returned_once_no_bytes_are_missing() {
        let window = Window::new(16);
        let parse = || window.bytes_at(3, 4).and_then(|_| Err::<(), _>(Error::invalid("odd")));
        assert_eq!(parse_with_fetch(&window, parse, fetch).unwrap_err().to_string(), "odd");
    }
}
