//! Tests of reading the same file from every kind of source.

use std::fs::File;
use std::io::{self, Cursor};
use std::sync::Arc;

use binio::source::{FailingSource, ReadLog, Stream};
use binio::write::fault::{Fault, FaultyWriter};
use binio::{Bytes, FileSource, ReadAt};
use bloscpack::{
    ErrorKind, OpenOptions, Reader, Result, UnpackOptions, Verify, VerifyOptions, verify,
};
use serde_json::json;

const LEN: usize = 100_000;

fn bytes() -> Vec<u8> {
    let options = super::options(10_000).metadata(&json!({"a": [1, 2]}));
    bloscpack::pack_to_vec(&super::data(LEN), &options).unwrap()
}

/// Verifies the file, checks its metadata, and returns a range of its data.
fn read(file: &Reader) -> Result<Vec<u8>> {
    assert_eq!(file.metadata()?.unwrap().json()?, json!({"a": [1, 2]}));
    let report = verify(file, &VerifyOptions::new().threads(2))?;
    assert!(report.passed() && report.chunks == 10);
    let mut part = vec![0; 12_345];
    file.read_exact_at(&mut part, 54_321)?;
    let mut ranged = Vec::new();
    file.unpack_range_to(54_321..66_666, &mut ranged, &UnpackOptions::new().threads(2))?;
    assert_eq!(ranged, part);
    Ok(part)
}

#[test]
fn files_and_maps_and_streams_and_memory_return_the_same_data() {
    let bytes = bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.blp");
    std::fs::write(&path, &bytes).unwrap();
    let sources: Vec<Arc<dyn ReadAt>> = vec![
        Arc::new(Bytes::from(bytes.clone())),
        Arc::new(bytes.clone()),
        Arc::new(FileSource::open(&path).unwrap()),
        Arc::new(binio::Mmap::open(&path).unwrap()),
        Arc::new(Stream::new(Cursor::new(bytes)).unwrap()),
    ];
    let expected = &super::data(LEN)[54_321..66_666];
    for verify in [Verify::Never, Verify::OnRead] {
        let options = OpenOptions::new().verify(verify);
        assert_eq!(read(&options.open(&path).unwrap()).unwrap(), expected);
        for source in &sources {
            assert_eq!(read(&options.from_source(Arc::clone(source)).unwrap()).unwrap(), expected);
        }
    }
}

/// Opens a file through a source that records all reads.
fn logged(bytes: Vec<u8>) -> (Reader, Arc<ReadLog<Bytes>>) {
    let log = Arc::new(ReadLog::new(Bytes::from(bytes)));
    (Reader::from_source(Arc::clone(&log) as Arc<dyn ReadAt>).unwrap(), log)
}

#[test]
fn reading_8_bytes_reads_little_more_than_one_chunk() {
    let (file, log) = logged(bytes());
    let mut part = [0; 8];
    file.read_exact_at(&mut part, 54_321).unwrap();
    assert_eq!(part, super::data(LEN)[54_321..54_329]);
    let count: u64 = log.ranges().iter().map(|range| range.end - range.start).sum();
    let around = 2000;
    assert!(count < u64::from(file.chunks()[5].ctbytes) + around, "{count} of {}", bytes().len());
}

#[test]
fn the_chunks_of_a_range_are_announced_to_the_source_together() {
    let (file, log) = logged(bytes());
    log.clear();
    let mut part = vec![0; 45_000];
    file.read_exact_at(&mut part, 20_001).unwrap();
    assert_eq!(part, super::data(LEN)[20_001..65_001]);
    let stored: Vec<_> = (2..7).map(|chunk| file.chunks()[chunk].stored_range()).collect();
    let announced = log.prefetches().pop().unwrap();
    assert_eq!(announced.len(), stored.len());
    for (announced, stored) in announced.iter().zip(&stored) {
        assert!(announced.start <= stored.start && announced.end >= stored.end);
    }
}

#[test]
fn a_failing_source_is_reported_as_an_io_error_instead_of_damage() {
    // All reads succeed, except for reads of the last chunk.
    let bytes = Bytes::from(bytes());
    let last = Reader::from_bytes(bytes.clone()).unwrap().chunks()[9].offset + 16;
    let source = FailingSource::new(bytes, last);
    let file = Reader::from_source(Arc::new(source) as Arc<dyn ReadAt>).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = File::create(folder.path().join("data")).unwrap();
    for error in [
        verify(&file, &VerifyOptions::new()).unwrap_err(),
        file.unpack_to_file(&output, &UnpackOptions::new()).unwrap_err(),
        file.read_all().unwrap_err(),
        file.unpack_to(&mut Vec::new(), &UnpackOptions::new()).unwrap_err(),
    ] {
        let ErrorKind::Io(source) = error.kind() else { panic!("{error}") };
        assert!(source.to_string().contains("the source failed"), "{error}");
    }
}

#[test]
fn a_failure_to_write_is_an_output_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, "").unwrap();
    let file = Reader::from_bytes(bytes()).unwrap();
    let options = UnpackOptions::new().threads(2);
    let read_only = File::open(&path).unwrap();
    let missing = folder.path().join("missing/file.blp");
    let mut full = FaultyWriter::new(Cursor::new(Vec::new()), Fault::FailAtByte(10_000));
    for error in [
        file.unpack_to_file(&read_only, &options).unwrap_err(),
        file.unpack_to(&mut full, &options).unwrap_err(),
        bloscpack::pack_file(&path, &missing, &super::options(1000), None).unwrap_err(),
        bloscpack::pack_reader(&mut io::empty(), &missing, &super::options(1000), None)
            .unwrap_err(),
    ] {
        assert!(matches!(error.kind(), ErrorKind::Output(_)), "{error}");
        assert!(error.io_error().is_some() && !error.is_bad_data());
    }
    // A missing input file is not an output error.
    let error = bloscpack::pack_file(&missing, &path, &super::options(1000), None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
}

#[test]
fn a_reader_can_be_the_source_of_another_reader() {
    let data = super::data(LEN);
    let file = Reader::from_bytes(bytes()).unwrap();
    binio::source::suite::check(&file, &data);

    // Pack a file twice, and read the inner file through the outer one.
    let inner = bytes();
    let outer = bloscpack::pack_to_vec(&inner, &super::options(7000)).unwrap();
    let outer = Reader::from_bytes(outer).unwrap();
    let nested = Reader::from_source(outer).unwrap();
    assert_eq!(nested.read_all().unwrap(), data);

    let mut damaged = bytes();
    let end = damaged.len();
    damaged[end - 1] ^= 1;
    let source: &dyn ReadAt = &Reader::from_bytes(damaged).unwrap();
    let error = source.bytes_at(95_000, 10).unwrap_err();
    assert!(error.is_bad_data() && error.to_string().contains("chunk 9: the adler32"), "{error}");
}
