//! Tests of the cost of reading: which bytes are read, checked and decoded.

use std::sync::{Arc, Mutex};

use binio::ReadAt;
use binio::source::ReadLog;
use bloscpack::{OpenOptions, Reader, Verify};

/// A source whose bytes a test can change while the file is open.
struct Changing(Mutex<Vec<u8>>);

impl Changing {
    fn flip(&self, at: u64) {
        self.0.lock().unwrap()[usize::try_from(at).unwrap()] ^= 1;
    }
}

impl ReadAt for Changing {
    fn len(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        self.0.lock().unwrap().read_exact_at(buf, offset)
    }
}

#[test]
fn a_digest_that_has_matched_is_not_checked_again() {
    let source = Arc::new(Changing(Mutex::new(super::file(30_000, 10_000))));
    let file = Reader::from_source(source.clone()).unwrap();
    let digest = file.chunks()[1].stored_range().end;
    let read = |file: &Reader| file.read_exact_at(&mut [0; 10], 15_000);
    source.flip(digest);
    assert!(read(&file).is_err() && read(&file).is_err());
    source.flip(digest);
    assert!(read(&file).is_ok());
    source.flip(digest);
    assert!(read(&file).is_ok(), "the digest is not checked again");
    assert!(file.decode_chunk(0).is_ok(), "each chunk has its own digest");

    let never = OpenOptions::new().verify(Verify::Never).from_source(source).unwrap();
    assert!(read(&never).is_ok());
}

#[test]
fn reading_a_range_reads_only_the_chunks_that_overlap_it() {
    let bytes = super::file(100_000, 10_000);
    let log = Arc::new(ReadLog::new(bytes));
    let file = Reader::from_source(log.clone() as Arc<dyn ReadAt>).unwrap();
    log.clear();
    file.read_exact_at(&mut [0; 10_000], 25_000).unwrap();
    let stored = |index: usize| {
        let range = file.chunks()[index].stored_range();
        range.start..range.end + 4
    };
    assert_eq!(log.ranges(), [stored(2), stored(3)]);
    log.clear();
    file.read_exact_at(&mut [], 100_000).unwrap();
    assert_eq!(log.ranges(), []);
}

#[test]
fn a_range_is_read_despite_damaged_blocks_outside_it() {
    // The file has one chunk with several Blosc blocks. Without a checksum, only decoding can
    // detect damage.
    let data = super::data(1 << 20);
    let options = super::options(1 << 20).checksum(bloscpack::Checksum::None).level(1);
    let mut bytes = bloscpack::pack_to_vec(&data, &options).unwrap();
    let file = Reader::from_bytes(bytes.clone()).unwrap();
    let (header, start) = (file.chunk_header(0).unwrap(), file.chunks()[0].offset);
    assert!(header.block_count() > 1);
    let blocksize = u64::from(header.blocksize());
    // Make the last entry of the block table invalid.
    let entry = usize::try_from(start).unwrap() + 16 + 4 * (header.block_count() as usize - 1);
    bytes[entry..entry + 4].fill(0xff);
    let file = Reader::from_bytes(bytes).unwrap();
    let mut part = vec![0; usize::try_from(blocksize).unwrap()];
    file.read_exact_at(&mut part, blocksize / 2).unwrap();
    assert_eq!(part, data[part.len() / 2..][..part.len()]);
    assert!(file.read_exact_at(&mut [0], file.len() - 1).is_err());
}
