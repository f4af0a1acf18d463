//! Decodes arbitrary bytes as a Blosc buffer. The length of the decoded data must match the header,
//! and decoding a single block or range must return the same bytes as decoding everything. In a
//! Bloscpack file, such as the seeds, up to `MAX_TRIED` possible buffers are tried.

#![no_main]

use binio::Limits;
use binio::blosc::{Buffer, HEADER_LEN, Header, Scratch};
use libfuzzer_sys::fuzz_target;

/// Maximum number of buffers to try per file.
const MAX_TRIED: usize = 16;

fuzz_target!(|data: &[u8]| {
    if !data.starts_with(b"blpk") {
        return check(data);
    }
    let starts = data.windows(2).enumerate().filter(|(_, pair)| pair == b"\x02\x01");
    for (at, _) in starts.take(MAX_TRIED) {
        if let Ok(header) = Header::parse(&data[at..]) {
            let end = at.saturating_add(header.ctbytes() as usize).min(data.len());
            check(&data[at..end]);
        }
    }
});

fn check(bytes: &[u8]) {
    if bytes.len() < HEADER_LEN {
        assert!(Header::parse(bytes).is_err());
    }
    let Ok(buffer) = Buffer::parse(bytes) else { return };
    let (limits, mut scratch) = (Limits::default().max_decoded(1 << 20), Scratch::default());
    let whole = buffer.decode(&limits);
    if buffer.header().nbytes() > 1 << 20 {
        return assert!(whole.is_err(), "above the limit");
    }
    let mut out = vec![0xa5; buffer.header().nbytes() as usize];
    let into = buffer.decode_into(&mut out, &mut scratch);
    assert_eq!(into.is_ok(), whole.is_ok(), "both ways of decoding succeed or fail");
    let Ok(whole) = whole else { return };
    assert_eq!(out, whole);
    let mut end = 0;
    for index in 0..buffer.header().block_count() {
        let block = buffer.block_range(index).expect("the index is below the number of blocks");
        assert_eq!(block.start, end, "blocks are contiguous");
        end = block.end;
        // Checking hundreds of thousands of one-byte blocks would only waste time.
        if index < 64 {
            part(&buffer, &whole, block, &mut scratch);
        }
    }
    assert_eq!(end, whole.len(), "blocks cover all data");
    part(&buffer, &whole, whole.len() / 3..whole.len() - whole.len() / 4, &mut scratch);
}

/// Checks that decoding a range returns the same bytes as decoding everything.
fn part(buffer: &Buffer<'_>, whole: &[u8], range: std::ops::Range<usize>, scratch: &mut Scratch) {
    let mut out = vec![0x5a; range.len()];
    buffer
        .decode_range_into(range.clone(), &mut out, scratch)
        .expect("a range of a buffer that can be decoded");
    assert_eq!(out, whole[range]);
}
