//! Reading the table of offsets.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 · nchunks | the offset of each chunk, i64; -1 until the writer knows it |
//! | | 8 · `max_app_chunks` | spare entries, -1 |

use std::ops::Range;

use binio::{Endian, ReadAt};

use crate::error::Result;

const ENTRY: u64 = 8;
/// The number of bytes to read at a time, a multiple of the length of an entry.
const PIECE: usize = 1 << 20;

/// The chunk offsets in a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entries {
    /// All offsets are -1, because the writer did not fill them in.
    Unset,
    /// The offsets of all chunks, each within the range in which a chunk can begin.
    Set(Vec<u64>),
    /// The first offset at which no chunk can begin.
    Broken {
        /// The index of the table entry.
        index: u64,
        /// The value of the table entry.
        value: i64,
    },
}

/// A table of offsets.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) entries: Entries,
    /// The index and the value of the first spare entry that is not -1.
    pub(crate) spare: Option<(u64, i64)>,
}

impl Table {
    /// Returns the length in bytes of a table with this number of entries, or `None` if it exceeds
    /// 64 bits.
    pub(crate) fn len_of(entries: u64) -> Option<u64> {
        entries.checked_mul(ENTRY)
    }

    /// Returns the file offset of an entry in a table that begins at `start`.
    pub(crate) fn entry(start: u64, index: u64) -> u64 {
        start.saturating_add(index.saturating_mul(ENTRY))
    }

    /// Reads the entries of the first `nchunks` chunks without checking their values. The table
    /// must be within the source.
    pub(crate) fn raw(
        source: &dyn ReadAt,
        range: &Range<u64>,
        nchunks: Option<u64>,
    ) -> Result<Vec<i64>> {
        let total = ((range.end - range.start) / ENTRY).min(nchunks.unwrap_or(0));
        let mut entries = Vec::new();
        for piece in source.pieces(range.start..Self::entry(range.start, total), PIECE) {
            entries.extend_from_slice(&binio::number::decode::<i64>(&piece?, Endian::Little)?);
        }
        Ok(entries)
    }

    /// Reads a table, which must be within the source. The first `nchunks` entries are chunk
    /// offsets, and the remaining entries are spare. A chunk can begin only at an offset in `data`.
    ///
    /// If an offset is not in `data`, all offsets are discarded, so that an invalid table takes
    /// little memory, even if it has a huge number of entries.
    pub(crate) fn read(
        source: &dyn ReadAt,
        range: &Range<u64>,
        nchunks: u64,
        data: &Range<u64>,
    ) -> Result<Self> {
        let total = (range.end - range.start) / ENTRY;
        let (mut set, mut unset, mut broken, mut spare) = (Vec::new(), 0, None, None);
        let mut index = 0_u64;
        for piece in source.pieces(range.start..Self::entry(range.start, total), PIECE) {
            for &value in binio::number::decode::<i64>(&piece?, Endian::Little)?.iter() {
                match u64::try_from(value) {
                    _ if index >= nchunks => {
                        spare = spare.or((value != -1).then_some((index, value)));
                    }
                    Ok(begin) if data.contains(&begin) => set.push(begin),
                    _ => {
                        unset += u64::from(value == -1);
                        broken.get_or_insert((index, value));
                    }
                }
                index += 1;
            }
            if broken.is_some() {
                set = Vec::new();
            }
        }
        let entries = match broken {
            Some(_) if unset == nchunks => Entries::Unset,
            Some((index, value)) => Entries::Broken { index, value },
            None => Entries::Set(set),
        };
        Ok(Self { entries, spare })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[i64], nchunks: u64) -> Table {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Table::read(&bytes, &(0..bytes.len() as u64), nchunks, &(100..200)).unwrap()
    }

    #[test]
    fn the_first_table_entries_are_the_chunk_offsets() {
        let table = read(&[150, 100, 199, -1, -1], 3);
        assert_eq!(table.entries, Entries::Set(vec![150, 100, 199]));
        assert_eq!(table.spare, None);
        assert_eq!(read(&[], 0).entries, Entries::Set(vec![]));
    }

    #[test]
    fn a_table_whose_entries_are_all_minus_one_is_unset() {
        assert_eq!(read(&[-1, -1, -1], 2).entries, Entries::Unset);
    }

    #[test]
    fn the_first_offset_at_which_no_chunk_can_begin_is_reported() {
        for value in [-1, -2, 0, 99, 200, i64::MAX, i64::MIN] {
            let table = read(&[100, value, -1], 3);
            assert_eq!(table.entries, Entries::Broken { index: 1, value });
        }
    }

    #[test]
    fn the_first_spare_entry_that_is_not_minus_one_is_reported() {
        assert_eq!(read(&[100, -1, 7, 8], 1).spare, Some((2, 7)));
    }

    #[test]
    fn long_offset_tables_are_read_in_pieces() {
        let len = PIECE / 8 + 3;
        let mut values = vec![100; len];
        assert_eq!(read(&values, len as u64).entries, Entries::Set(vec![100; len]));
        values[len - 1] = 3;
        let broken = Entries::Broken { index: len as u64 - 1, value: 3 };
        assert_eq!(read(&values, len as u64).entries, broken);
        assert_eq!(read(&values, len as u64 - 1).spare, Some((len as u64 - 1, 3)));
    }
}
