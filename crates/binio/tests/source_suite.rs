//! Tests that each kind of source passes `binio::source::suite` with empty, short and long content.

use std::fs;
use std::io::Cursor;
use std::sync::Arc;

use binio::source::{ReadLog, Stream, suite};
use binio::{Bytes, FileSource, ReadAt, Span};

/// Returns content that does not repeat after a few bytes, because repetition would hide wrong
/// offsets.
fn content(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}

fn for_each_content(check: impl Fn(Vec<u8>)) {
    for len in [0, 1, 2, 17, 64, 65, 5000] {
        check(content(len));
    }
}

#[test]
fn sources_in_memory_pass_the_suite() {
    for_each_content(|data| {
        suite::check(&data.as_slice(), &data);
        suite::check(&data, &data);
        suite::check(&Bytes::from(data.clone()), &data);
    });
}

#[test]
fn pointers_to_sources_pass_the_suite() {
    for_each_content(|data| {
        let arc: Arc<dyn ReadAt> = Arc::new(Bytes::from(data.clone()));
        suite::check(&arc, &data);
        let boxed: Box<dyn ReadAt> = Box::new(data.clone());
        suite::check(&boxed, &data);
    });
}

#[test]
fn a_file_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    for_each_content(|data| {
        let path = folder.path().join("data");
        fs::write(&path, &data).unwrap();
        suite::check(&FileSource::open(&path).unwrap(), &data);
    });
}

#[cfg(feature = "mmap")]
#[test]
fn a_mapped_file_passes_the_suite() {
    let folder = tempfile::tempdir().unwrap();
    for_each_content(|data| {
        let path = folder.path().join(data.len().to_string());
        fs::write(&path, &data).unwrap();
        suite::check(&binio::Mmap::open(&path).unwrap(), &data);
    });
}

#[test]
fn a_stream_passes_the_suite() {
    for_each_content(|data| {
        suite::check(&Stream::new(Cursor::new(data.clone())).unwrap(), &data);
    });
}

#[test]
fn spans_of_memory_and_spans_of_spans_pass_the_suite() {
    for_each_content(|data| {
        let len = data.len() as u64;
        let around = [&[7; 10][..], &data, &[8; 5]].concat();
        let span = Span::new(Bytes::from(around.clone()), 10..10 + len).unwrap();
        suite::check(&span, &data);
        let outer = Span::new(around, 3..12 + len).unwrap();
        suite::check(&Span::new(outer, 7..7 + len).unwrap(), &data);
    });
}

#[test]
fn a_read_log_passes_the_suite() {
    for_each_content(|data| suite::check(&ReadLog::new(data.clone()), &data));
}

/// A source whose reads do not fill the last byte of the buffer.
struct Short(Vec<u8>);

impl ReadAt for Short {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        let part = self.0.bytes_at(offset, buf.len().saturating_sub(1))?;
        buf[..part.len()].copy_from_slice(&part);
        Ok(())
    }
}

#[test]
#[should_panic(expected = "bytes 0..1")]
fn the_suite_detects_a_source_that_reads_too_few_bytes() {
    suite::check(&Short(content(17)), &content(17));
}
