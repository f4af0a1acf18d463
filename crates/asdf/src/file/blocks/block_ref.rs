//! Block numbers, by which arrays refer to blocks.

use std::fmt;

/// The number of a block, as stored in an array's `source`. Numbers count from the start of the file or, if
/// negative, from the end.
///
/// ```
/// use asdf::block::BlockRef;
///
/// assert_eq!(BlockRef::from(2), BlockRef::Index(2));
/// assert_eq!(BlockRef::from(-1), BlockRef::LAST);
/// assert_eq!(BlockRef::LAST.resolve(5), Some(4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockRef {
    /// A number counted from the start of the file, where 0 is the first block.
    Index(usize),
    /// A number counted from the end of the file, where 1 is the last block.
    FromEnd(usize),
}

impl BlockRef {
    /// The last block, written as `source: -1`.
    pub const LAST: Self = Self::FromEnd(1);

    /// Returns the index of the block in a file with `count` blocks, or `None` if a number counted
    /// from the end is greater than `count`. A number counted from the start is returned unchanged,
    /// even if there is no block with this number.
    pub fn resolve(self, count: usize) -> Option<usize> {
        match self {
            Self::Index(index) => Some(index),
            Self::FromEnd(number) => count.checked_sub(number),
        }
    }
}

impl From<i64> for BlockRef {
    fn from(source: i64) -> Self {
        let number = usize::try_from(source.unsigned_abs()).unwrap_or(usize::MAX);
        if source < 0 { Self::FromEnd(number) } else { Self::Index(number) }
    }
}

/// Formats the number as it appears in a tree: `-1` for the last block.
impl fmt::Display for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => write!(f, "{index}"),
            Self::FromEnd(number) => write!(f, "-{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negative_source_counts_back_from_the_last_block_but_not_past_the_first() {
        assert_eq!(BlockRef::from(-3).resolve(3), Some(0));
        assert_eq!(BlockRef::from(-4).resolve(3), None);
        assert_eq!(BlockRef::from(i64::MIN).resolve(3), None);
    }

    #[test]
    fn a_source_is_formatted_as_its_number() {
        for source in [0, 7, -1, -7] {
            assert_eq!(BlockRef::from(source).to_string(), source.to_string());
        }
    }
}
