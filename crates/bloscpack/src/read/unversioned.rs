//! Reading files without a version byte, as written by releases 0.1.0-rc1 and rc2:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | signature `blpk` |
//! | 4 | 4 | nchunks, u32 |
//! | 8 | | contiguous Blosc buffers, up to the end of the file |
//!
//! The byte that later became the version is the lowest byte of the number of chunks, so it may
//! have any value. These files are therefore recognised by their chunks, which begin at byte 8 and
//! extend exactly to the end of the file.

use binio::number::ByteReader;
use binio::{Endian, Limits, ReadAt};

use crate::Checksum;
use crate::error::Result;
use crate::format::header::{Header, Version};
use crate::format::layout::ChunkEntry;
use crate::read::chunk::ChunkSource;
use crate::read::chunk_index::{MIN_CHUNK, scan};

pub(crate) const HEADER_LEN: u64 = 8;

/// Returns the chunks of an unversioned file, or `None` for any other file. `head` contains the
/// first bytes of the file.
pub(crate) fn find(
    source: &dyn ReadAt,
    head: &[u8],
    limits: &Limits,
) -> Result<Option<Vec<ChunkEntry>>> {
    let Some(nchunks) = claimed(head) else { return Ok(None) };
    if nchunks > (source.len() - HEADER_LEN) / MIN_CHUNK {
        return Ok(None);
    }
    limits.check_items("chunks", nchunks)?;
    let reader = ChunkSource { source, checksum: Checksum::None };
    let chunks = match scan(reader, HEADER_LEN, nchunks) {
        Ok(chunks) => chunks,
        Err(error) if error.is_io() => return Err(error),
        Err(_) => return Ok(None),
    };
    let reaches_end = chunks.last().is_some_and(|last| reader.end(last) == source.len());
    Ok(reaches_end.then_some(chunks))
}

/// Returns the number of chunks stated in the header of an unversioned file. Returns `None` if the
/// signature is missing, or if no Blosc header follows the number.
pub(crate) fn claimed(head: &[u8]) -> Option<u64> {
    let mut reader = ByteReader::new(head);
    reader.magic(b"blpk").ok()?;
    let nchunks: u32 = reader.read(Endian::Little).ok()?;
    // Check the start of the first Blosc header as well, because this excludes nearly all other
    // files before anything else is read.
    reader.magic(&[2, 1]).ok()?;
    Some(nchunks.into())
}

/// Returns the header of an unversioned file.
pub(crate) fn header(nchunks: u64) -> Header {
    Header {
        version: Version::Unversioned,
        checksum: Checksum::None,
        nchunks: Some(nchunks),
        ..Header::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::test_file::buffer;

    fn file(nchunks: u32, chunks: &[&[u8]]) -> Vec<u8> {
        let mut bytes = [&b"blpk"[..], &nchunks.to_le_bytes()].concat();
        for chunk in chunks {
            bytes.extend(buffer(chunk));
        }
        bytes
    }

    fn found(bytes: &[u8]) -> Option<usize> {
        let head = &bytes[..bytes.len().min(32)];
        find(&bytes, head, &Limits::default()).unwrap().map(|chunks| chunks.len())
    }

    #[test]
    fn an_unversioned_file_is_recognised_whatever_its_fifth_byte_is() {
        for count in [1, 2, 3, 4, 300] {
            let chunks: Vec<&[u8]> = vec![b"data of a chunk"; count];
            let bytes = file(u32::try_from(count).unwrap(), &chunks);
            assert_eq!(found(&bytes), Some(count));
        }
    }

    #[test]
    fn a_file_whose_number_of_chunks_is_wrong_is_not_unversioned() {
        let chunks: [&[u8]; 3] = [b"one", b"two", b"three"];
        for nchunks in [0, 2, 4, u32::MAX] {
            assert_eq!(found(&file(nchunks, &chunks)), None, "{nchunks}");
        }
        let mut longer = file(3, &chunks);
        longer.push(0);
        assert_eq!(found(&longer), None);
        let cut = &longer[..longer.len() - 2];
        assert_eq!(found(cut), None);
    }

    #[test]
    fn a_file_that_ends_before_the_end_of_its_first_blosc_header_is_not_unversioned() {
        let bytes = file(1, &[b"data"]);
        for len in 0..24 {
            assert_eq!(found(&bytes[..len]), None);
        }
    }
}
