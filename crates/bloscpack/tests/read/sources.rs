//! Tests of reading the same file from every kind of source.

use std::fs::File;
use std::io::{self, Cursor};
use std::ops::Range;
use std::sync::Arc;

use binio::source::{Stream, Window, parse_with_fetch};
use binio::write::fault::{Fault, FaultyWriter};
use binio::{Bytes, FileSource, ReadAt};
use bloscpack::{
    Error, ErrorKind, OpenOptions, Reader, Result, UnpackOptions, Verify, VerifyOptions, verify,
};
use serde_json::json;

const LEN: usize = 100_000;

fn bytes() -> Vec<u8> {
    let options = super::options(10_000).metadata(&json!({"a": [1, 2]}));
    bloscpack::pack_to_vec(&super::data(LEN), &options).unwrap()
}

/// Reads the metadata and a range of the data, and verifies the file.
fn read(file: &Reader) -> Result<Vec<u8>> {
    assert_eq!(file.metadata()?.unwrap().json()?, json!({"a": [1, 2]}));
    let report = verify(file, &VerifyOptions::new().threads(2))?;
    assert!(report.is_fine() && report.chunks == 10);
    let mut part = vec![0; 12_345];
    file.read_exact_at(&mut part, 54_321)?;
    let mut ranged = Vec::new();
    file.unpack_range_to(54_321..66_666, &mut ranged, &UnpackOptions::new().threads(2))?;
    assert_eq!(ranged, part);
    Ok(part)
}

#[test]
fn memory_files_maps_and_streams_give_the_same_data() {
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

/// Fetches the missing ranges until `parse` succeeds, and returns the number of fetched bytes and
/// rounds.
fn fetched<T>(bytes: &Bytes, parse: impl Fn(Reader) -> Result<T>) -> (T, u64, u32) {
    let window = Arc::new(Window::new(bytes.len() as u64));
    let (mut fetched, mut rounds) = (0, 0);
    let value = parse_with_fetch(
        &window,
        || parse(Reader::from_source(Arc::clone(&window) as Arc<dyn ReadAt>)?),
        |ranges: &[Range<u64>]| {
            rounds += 1;
            fetched += ranges.iter().map(|range| range.end - range.start).sum::<u64>();
            let fetch = |range: &Range<u64>| {
                bytes.bytes_at(range.start, usize::try_from(range.end - range.start).unwrap())
            };
            Ok::<_, Error>(ranges.iter().map(fetch).collect::<binio::Result<_>>()?)
        },
    );
    (value.unwrap(), fetched, rounds)
}

#[test]
fn reading_8_bytes_of_a_remote_file_takes_5_rounds_and_fetches_one_chunk() {
    let bytes = Bytes::from(bytes());
    let read = |file: Reader| {
        let mut part = [0; 8];
        file.read_exact_at(&mut part, 54_321)?;
        Ok((part, file.chunks()[5].ctbytes))
    };
    let ((part, ctbytes), count, rounds) = fetched(&bytes, read);
    assert_eq!(part, super::data(LEN)[54_321..54_329]);
    // The rounds fetch the header; the metadata header; the payload, digest and table; all Blosc
    // headers; and the chunk.
    assert_eq!(rounds, 5);
    let around = 2000;
    assert!(count < u64::from(ctbytes) + around, "{count} of {} bytes", bytes.len());
}

#[test]
fn all_chunks_of_a_range_are_fetched_in_one_round() {
    let bytes = Bytes::from(bytes());
    let read = |file: Reader| {
        let mut part = vec![0; 45_000];
        file.read_exact_at(&mut part, 20_001).map(|()| part)
    };
    let (part, _, rounds) = fetched(&bytes, read);
    assert_eq!(part, super::data(LEN)[20_001..65_001]);
    assert_eq!(rounds, 5);
}

#[test]
fn a_remote_file_is_verified_and_recovered_although_reads_fail_in_the_meantime() {
    let bytes = Bytes::from(bytes());
    let (report, ..) = fetched(&bytes, |file| verify(&file, &VerifyOptions::new()));
    assert_eq!(report.diagnostics, []);
    let (kept, ..) = fetched(&bytes, |file| {
        let mut sink = Cursor::new(Vec::new());
        bloscpack::repair::recover(
            file.source(),
            &mut sink,
            &bloscpack::repair::RecoverOptions::new().skip_bad(true),
        )
        .map(|report| report.kept)
    });
    assert_eq!(kept, 10);
}

#[test]
fn a_failing_source_is_an_io_error_but_not_damage() {
    // Everything but the last chunk is available.
    let bytes = Bytes::from(bytes());
    let window = Arc::new(Window::new(bytes.len() as u64));
    let file = Reader::from_bytes(bytes.clone()).unwrap();
    let last = usize::try_from(file.chunks()[9].offset).unwrap() + 16;
    window.insert(0, bytes.slice(..last)).unwrap();
    let file = Reader::from_source(Arc::clone(&window) as Arc<dyn ReadAt>).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = File::create(folder.path().join("data")).unwrap();
    for error in [
        verify(&file, &VerifyOptions::new()).unwrap_err(),
        file.unpack_to_file(&output, &UnpackOptions::new()).unwrap_err(),
        file.read_all().unwrap_err(),
        file.unpack_to(&mut Vec::new(), &UnpackOptions::new()).unwrap_err(),
    ] {
        let ErrorKind::Io(source) = error.kind() else { panic!("{error}") };
        assert!(matches!(source.kind(), binio::ErrorKind::NeedsData(_)), "{error}");
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
    // The input is missing, not the output.
    let error = bloscpack::pack_file(&missing, &path, &super::options(1000), None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
}

#[test]
fn the_data_of_a_reader_is_a_source_for_another_reader() {
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
