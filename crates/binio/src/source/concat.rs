//! Reading several sources as a single source.

use std::ops::Range;

use crate::source::check_range;
use crate::{ReadAt, Result};

/// Several sources, one after another, read as a single source.
///
/// Errors from reading a part contain offsets within that part.
///
/// ```
/// use binio::ReadAt;
/// use binio::source::Concat;
///
/// let source = Concat::new([b"012".as_slice(), b"", b"3456"]);
/// assert_eq!(source.len(), 7);
/// assert_eq!(source.bytes_at(1, 4)?, "1234");
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Concat<S> {
    /// The parts, each with its end offset in the whole source.
    parts: Vec<(u64, S)>,
}

impl<S: ReadAt> Concat<S> {
    /// Joins sources in order. Bytes from offset 2⁶⁴ − 1 onwards are ignored.
    pub fn new(sources: impl IntoIterator<Item = S>) -> Self {
        let mut end = 0_u64;
        let with_end = |source: S| {
            end = end.saturating_add(source.len());
            (end, source)
        };
        Self { parts: sources.into_iter().map(with_end).collect() }
    }

    /// Returns the parts that overlap a range, each with the overlapping range relative to the
    /// start of the part.
    fn split(&self, range: Range<u64>) -> impl Iterator<Item = (&S, Range<u64>)> {
        let first = self.parts.partition_point(|(end, _)| *end <= range.start);
        let parts = self.parts.get(first..).unwrap_or_default();
        let mut start = first.checked_sub(1).map_or(0, |before| self.parts[before].0);
        parts
            .iter()
            .map(move |(end, source)| (std::mem::replace(&mut start, *end), *end, source))
            .take_while(move |(start, ..)| *start < range.end)
            .filter_map(move |(start, end, source)| {
                let own = start.max(range.start)..end.min(range.end);
                (own.start < own.end).then(|| (source, own.start - start..own.end - start))
            })
    }
}

impl<S: ReadAt> ReadAt for Concat<S> {
    fn len(&self) -> u64 {
        self.parts.last().map_or(0, |(end, _)| *end)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let len = buf.len() as u64;
        check_range(self.len(), offset, len)?;
        let mut rest = buf;
        for (source, range) in self.split(offset..offset + len) {
            // The conversion cannot fail, because the range is no longer than `buf`.
            let here = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let (part, after) = rest.split_at_mut(here);
            source.read_exact_at(part, range.start)?;
            rest = after;
        }
        Ok(())
    }

    fn gap_worth_reading(&self) -> u64 {
        self.parts.iter().map(|(_, source)| source.gap_worth_reading()).max().unwrap_or(0)
    }

    /// Returns the smallest preferred piece size of the parts, or 1 MiB if that is smaller. The
    /// limit exists because even the bytes of parts in memory are copied.
    fn preferred_piece(&self) -> usize {
        let pieces = self.parts.iter().map(|(_, source)| source.preferred_piece());
        pieces.min().unwrap_or(usize::MAX).min(1 << 20)
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> Result<()> {
        for range in ranges {
            for (source, range) in self.split(range.clone()) {
                source.prefetch(&[range])?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::suite;

    #[test]
    fn concatenated_parts_behave_like_a_single_source() {
        let data: Vec<u8> = (0..40).collect();
        for cuts in [&[][..], &[0], &[40], &[1, 1, 2], &[0, 13, 13, 39], &[10, 20, 30]] {
            let ends = cuts.iter().copied().chain([40]);
            let mut start = 0;
            let parts = ends.map(|end| &data[std::mem::replace(&mut start, end)..end]);
            suite::check(&Concat::new(parts), &data);
        }
        suite::check(&Concat::new(Vec::<&[u8]>::new()), b"");
    }
}
