//! Dividing `len` bytes of data into chunks of `requested` bytes. The header states these numbers:
//!
//! | length of the data | nchunks | `chunk_size` | `last_chunk` |
//! |---|---|---|---|
//! | 0 | 1 | 0 | 0 |
//! | 1 to `requested` | 1 | `len` | `len` |
//! | another multiple of `requested` | `len / requested` | `requested` | `requested` |
//! | any other length | `len / requested + 1` | `requested` | `len % requested` |

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::format::header::MAX_NBYTES;

/// The requested uncompressed size of a chunk. Default: 1 MiB.
///
/// As text, a size is a number of bytes, or a number followed by one of the upper-case units `B K M
/// G T`, which are powers of 1024. Fractions are rounded down to whole bytes. `max` stands for the
/// largest possible size.
///
/// ```
/// use bloscpack::ChunkSize;
///
/// assert_eq!("1.5K".parse::<ChunkSize>()?, ChunkSize::Bytes(1536));
/// assert_eq!("max".parse::<ChunkSize>()?.bytes()?, 2_147_483_631);
/// assert!("2G".parse::<ChunkSize>().is_err());
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkSize {
    /// A size in bytes.
    Bytes(u32),
    /// The maximum length of the data in a Blosc buffer, 2,147,483,631 bytes.
    Max,
}

impl Default for ChunkSize {
    fn default() -> Self {
        Self::Bytes(1 << 20)
    }
}

impl ChunkSize {
    /// Returns the size in bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`] if the size is 0 or more than a chunk can hold.
    pub fn bytes(self) -> Result<u32> {
        match self {
            Self::Max => Ok(MAX_NBYTES),
            Self::Bytes(bytes) if (1..=MAX_NBYTES).contains(&bytes) => Ok(bytes),
            Self::Bytes(bytes) => Err(out_of_range(&bytes)),
        }
    }

    /// Returns the largest multiple of `itemsize` that does not exceed this size, but at least one item, so that no
    /// item is divided between two chunks. If `itemsize` is 0, returns this size.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`] if this size is invalid, or if an item is larger
    /// than the maximum chunk size.
    pub fn whole_items(self, itemsize: u64) -> Result<Self> {
        let bytes = u64::from(self.bytes()?);
        let whole = bytes - bytes.checked_rem(itemsize).unwrap_or(0);
        let whole = if whole == 0 { itemsize } else { whole };
        let whole = u32::try_from(whole).map_err(|_| out_of_range(&whole))?;
        Self::Bytes(whole).bytes().map(Self::Bytes)
    }
}

impl FromStr for ChunkSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "max" {
            return Ok(Self::Max);
        }
        let bytes = parse_size(text).ok_or_else(|| {
            let message = format!(
                "{text:?}, expected \"max\" or a number with an optional unit B, K, M, G or T"
            );
            Error::new(ErrorKind::InvalidOption { option: "chunk_size", message })
        })?;
        let bytes = u32::try_from(bytes).map_err(|_| out_of_range(&bytes))?;
        Self::Bytes(bytes).bytes().map(Self::Bytes)
    }
}

fn out_of_range(bytes: &dyn fmt::Display) -> Error {
    let message = format!("{bytes} bytes, expected 1 to {MAX_NBYTES}");
    ErrorKind::InvalidOption { option: "chunk_size", message }.into()
}

/// Parses a size in the notation of [`ChunkSize`], except `max`, and returns the number of bytes.
/// Returns `None` if the text is not a size or the size exceeds 64 bits.
fn parse_size(text: &str) -> Option<u64> {
    let (number, shift) = match text.char_indices().last()? {
        (end, 'B') => (&text[..end], 0),
        (end, 'K') => (&text[..end], 10),
        (end, 'M') => (&text[..end], 20),
        (end, 'G') => (&text[..end], 30),
        (end, 'T') => (&text[..end], 40),
        _ => (text, 0),
    };
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || (whole.is_empty() && decimals.is_empty()) {
        return None;
    }
    // Use at most 20 decimal places. All further digits together are worth less than a millionth of
    // a byte.
    let decimals = &decimals[..decimals.len().min(20)];
    let digits = format!("{whole}{decimals}").parse::<u128>().ok()?;
    let scale = decimals.bytes().fold(1_u128, |scale, _| scale * 10);
    u64::try_from(digits.checked_mul(1 << shift)? / scale).ok()
}

/// The division of data of a known length into chunks.
///
/// ```
/// use bloscpack::format::Chunking;
/// use bloscpack::ChunkSize;
///
/// let chunking = Chunking::of(2500, ChunkSize::Bytes(1000))?;
/// assert_eq!((chunking.nchunks, chunking.chunk_size, chunking.last_chunk), (3, 1000, 500));
/// assert_eq!(chunking.range(2), Some(2000..2500));
/// assert_eq!(chunking.range(3), None);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunking {
    /// The number of chunks, at least 1, because empty data is stored as one empty chunk.
    pub nchunks: u64,
    /// The uncompressed length of each chunk but the last one, in bytes.
    pub chunk_size: u32,
    /// The uncompressed length of the last chunk, in bytes.
    pub last_chunk: u32,
}

impl Chunking {
    /// Divides `len` bytes into chunks.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`] if `chunk_size` is 0 or more than a chunk can hold.
    pub fn of(len: u64, chunk_size: ChunkSize) -> Result<Self> {
        let requested = chunk_size.bytes()?;
        let chunk_size = u32::try_from(len).map_or(requested, |len| requested.min(len));
        if chunk_size == 0 {
            return Ok(Self { nchunks: 1, chunk_size: 0, last_chunk: 0 });
        }
        let nchunks = len.div_ceil(chunk_size.into());
        let last_chunk = match u32::try_from(len % u64::from(chunk_size)) {
            Ok(rest) if rest > 0 => rest,
            _ => chunk_size,
        };
        Ok(Self { nchunks, chunk_size, last_chunk })
    }

    /// Returns the range of the data that a chunk contains, or `None` if there is no chunk with
    /// this index.
    pub fn range(&self, chunk: u64) -> Option<Range<u64>> {
        let start = chunk.checked_mul(self.chunk_size.into())?;
        let size = match chunk.checked_add(1)?.cmp(&self.nchunks) {
            Ordering::Less => self.chunk_size,
            Ordering::Equal => self.last_chunk,
            Ordering::Greater => return None,
        };
        Some(start..start.checked_add(size.into())?)
    }

    /// Returns the number of spare offsets: `requested` or, if it is `None`, ten per chunk. In both
    /// cases, returns no more than the format allows.
    pub fn max_app_chunks(&self, requested: Option<u64>) -> u64 {
        let most = i64::MAX.unsigned_abs().saturating_sub(self.nchunks);
        requested.unwrap_or(self.nchunks.saturating_mul(10)).min(most)
    }
}

/// Returns `chunk_size` and `last_chunk` for a header. `chunk_size` is `None` if the chunks before
/// the last one are empty or differ in size, or if the last chunk is larger.
pub(crate) fn sizes_of(
    mut chunks: impl DoubleEndedIterator<Item = u32> + Clone,
) -> (Option<u32>, Option<u32>) {
    let Some(last) = chunks.next_back() else { return (Some(0), Some(0)) };
    let first = chunks.clone().next().unwrap_or(last);
    let is_uniform = last <= first && chunks.all(|size| size == first && size > 0);
    (is_uniform.then_some(first), Some(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(len: u64, chunk_size: ChunkSize) -> (u64, u32, u32) {
        let Chunking { nchunks, chunk_size, last_chunk } = Chunking::of(len, chunk_size).unwrap();
        (nchunks, chunk_size, last_chunk)
    }

    fn room(nchunks: u64, requested: Option<u64>) -> u64 {
        Chunking { nchunks, chunk_size: 1, last_chunk: 1 }.max_app_chunks(requested)
    }

    #[test]
    fn chunk_count_and_sizes_match_the_original_program() {
        // The original program printed the expected values.
        for (len, chunk_size, expected) in [
            (0, 10, (1, 0, 0)),
            (1, 1, (1, 1, 1)),
            (9, 10, (1, 9, 9)),
            (10, 10, (1, 10, 10)),
            (11, 10, (2, 10, 1)),
            (20, 10, (2, 10, 10)),
            (9, 4, (3, 4, 1)),
            (9, 1, (9, 1, 1)),
        ] {
            let found = numbers(len, ChunkSize::Bytes(chunk_size));
            assert_eq!(found, expected, "{len} bytes in {chunk_size}");
        }
    }

    #[test]
    fn chunking_the_largest_lengths_does_not_overflow() {
        let (nchunks, chunk_size, last_chunk) = numbers(u64::MAX, ChunkSize::Max);
        assert_eq!(chunk_size, 2_147_483_631);
        let full = u128::from(nchunks - 1) * u128::from(chunk_size);
        assert_eq!(full + u128::from(last_chunk), u128::from(u64::MAX));
        assert_eq!(numbers(u64::MAX, ChunkSize::Bytes(1)), (u64::MAX, 1, 1));
        assert_eq!(room(i64::MAX as u64 / 2, None), i64::MAX as u64 / 2 + 1);
        assert_eq!(room(u64::MAX, None), 0);
    }

    #[test]
    fn chunk_ranges_cover_the_data_without_gaps() {
        for (len, chunk_size) in [(0, 3), (1, 3), (3, 3), (10, 3), (12, 3)] {
            let chunking = Chunking::of(len, ChunkSize::Bytes(chunk_size)).unwrap();
            let mut end = 0;
            for chunk in 0..chunking.nchunks {
                let range = chunking.range(chunk).unwrap();
                assert_eq!(range.start, end);
                end = range.end;
            }
            assert_eq!((end, chunking.range(chunking.nchunks)), (len, None));
        }
    }

    #[test]
    fn ten_spare_offsets_per_chunk_are_reserved_by_default() {
        assert_eq!(room(3, None), 30);
        assert_eq!(room(3, Some(0)), 0);
        assert_eq!(room(1, Some(u64::MAX)), i64::MAX as u64 - 1);
    }

    #[test]
    fn sizes_are_parsed_as_in_the_original_program() {
        for (text, bytes) in [
            ("1B", 1),
            ("100", 100),
            ("1K", 1024),
            ("1.5K", 1536),
            ("0.1K", 102),
            (".5M", 512 << 10),
            ("1.M", 1 << 20),
            ("1.9999999999999999999999999999999999B", 1),
            ("1.5G", 1_610_612_736),
            ("0.0001T", 109_951_162),
            ("2147483631", 2_147_483_631),
        ] {
            assert_eq!(text.parse::<ChunkSize>().unwrap(), ChunkSize::Bytes(bytes), "{text}");
        }
        assert_eq!("max".parse::<ChunkSize>().unwrap().bytes().unwrap(), 2_147_483_631);
    }

    #[test]
    fn invalid_sizes_are_rejected() {
        for text in [
            "",
            "0",
            "0.5B",
            "2G",
            "2147483632",
            "1k",
            "1KB",
            "-1",
            "+1",
            "NaN",
            "inf",
            "1e3",
            ".",
            "K",
            "1 K",
            "1,5K",
            "0x10",
            "½K",
            "MAX",
            "99999999999999999999999999999999999999999T",
        ] {
            let error = text.parse::<ChunkSize>().unwrap_err();
            assert!(
                matches!(error.kind(), ErrorKind::InvalidOption { option: "chunk_size", .. }),
                "{text}: {error}"
            );
        }
        assert!(ChunkSize::Bytes(0).bytes().is_err());
    }

    #[test]
    fn the_chunk_size_is_rounded_down_to_whole_items() {
        let whole = |size, itemsize| ChunkSize::Bytes(size).whole_items(itemsize);
        assert_eq!(whole(1 << 20, 8).unwrap(), ChunkSize::Bytes(1 << 20));
        assert_eq!(whole(1 << 20, 12).unwrap(), ChunkSize::Bytes(1_048_572));
        assert_eq!(whole(10, 12).unwrap(), ChunkSize::Bytes(12));
        assert_eq!(whole(10, 0).unwrap(), ChunkSize::Bytes(10));
        assert_eq!(ChunkSize::Max.whole_items(16).unwrap(), ChunkSize::Bytes(2_147_483_616));
        assert!(whole(10, 2_147_483_632).is_err());
        assert!(whole(10, u64::MAX).is_err());
    }
}
