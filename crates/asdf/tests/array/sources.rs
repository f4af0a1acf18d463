//! Reading the same file from every kind of source.

use std::io::Cursor;
use std::sync::Arc;

use asdf::block::ChecksumVerdict;
use asdf::ndarray::{ByteOrder, Order, Slice};
use asdf::tree::json::Options;
use asdf::{Asdf, ErrorKind, OpenOptions, Result, Verify};
use binio::source::{ReadLog, Stream};
use binio::{Bytes, FileSource, ReadAt};

/// Number of elements in each of the arrays `plain` and `zlib`. Opening the file reads only a small
/// part of the data of `plain`, so most of the data must be read later.
const LEN: usize = 300_000;

/// Returns a file with three blocks: a plain array, a compressed array, and text. The tree refers
/// to the last block by a negative number.
fn bytes() -> Vec<u8> {
    let numbers: Vec<u8> =
        (0..LEN).flat_map(|n| [n.to_le_bytes()[0], n.to_le_bytes()[1]]).collect();
    let tree = format!(
        "plain: !core/ndarray-1.1.0 \
         {{source: 0, datatype: uint16, byteorder: little, shape: [{LEN}]}}\n\
         zlib: !core/ndarray-1.1.0 \
         {{source: 1, datatype: uint16, byteorder: little, shape: [{LEN}]}}\n\
         text: !core/ndarray-1.1.0 \
         {{source: -1, datatype: [ascii, 3], byteorder: little, shape: ['*']}}"
    );
    let mut bytes = super::bytes_of(&tree, &[&numbers]);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut zlib, &numbers).unwrap();
    bytes.extend(super::block(*b"zlib", &zlib.finish().unwrap(), numbers.len()));
    bytes.extend(super::block([0; 4], b"onetwo", 6));
    bytes
}

/// The content read from the file: some elements of the numeric arrays, all strings, and the tree
/// as JSON.
struct Content {
    plain: Vec<u16>,
    zlib: Vec<u16>,
    text: Vec<String>,
    json: String,
}

fn read(file: &Asdf) -> Result<Content> {
    let root = file.tree()?;
    let tile = [Slice::Range { start: Some(70_000), stop: Some(280_000), step: 70_000 }];
    let plain = root.pointer("/plain")?.ndarray()?.slice(&tile)?.read::<u16>()?;
    let zlib = root.pointer("/zlib")?.ndarray()?.slice(&tile)?.read::<u16>()?;
    let text = root.pointer("/text")?.ndarray()?.strings()?;
    for verdict in file.blocks().verify_all()? {
        assert_eq!(verdict?, ChecksumVerdict::Absent);
    }
    let mut json = Vec::new();
    root.write_json(&mut json, &Options::default())?;
    let json = String::from_utf8(json).unwrap();
    Ok(Content { plain, zlib, text, json })
}

fn check(file: &Asdf) {
    let Content { plain, zlib, text, json } = read(file).unwrap();
    // Each element equals its index modulo 2^16.
    assert_eq!(plain, [4464, 8928, 13392]);
    assert_eq!(zlib, plain);
    assert_eq!(text, ["one", "two"]);
    assert!(json.contains(r#""text":{"$ndarray":{"dtype":"|S3","shape":[2]}}"#), "{json}");
    assert_eq!(file.diagnostics(), []);
}

#[test]
fn the_content_of_a_file_is_the_same_from_every_kind_of_source() {
    let bytes = bytes();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.asdf");
    std::fs::write(&path, &bytes).unwrap();
    let sources: Vec<Arc<dyn ReadAt>> = vec![
        Arc::new(Bytes::from(bytes.clone())),
        Arc::new(bytes.clone()),
        Arc::new(FileSource::open(&path).unwrap()),
        #[cfg(feature = "mmap")]
        Arc::new(binio::Mmap::open(&path).unwrap()),
        Arc::new(Stream::new(Cursor::new(bytes)).unwrap()),
    ];
    for verify in [Verify::Never, Verify::OnRead] {
        let options = OpenOptions::new().verify(verify);
        check(&options.open(&path).unwrap());
        #[cfg(feature = "mmap")]
        check(&options.clone().mmap(true).open(&path).unwrap());
        for source in &sources {
            check(&options.from_source(Arc::clone(source)).unwrap());
        }
    }
}

#[test]
fn reading_a_file_truncated_after_opening_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.asdf");
    std::fs::write(&path, bytes()).unwrap();
    let file = Asdf::open(&path).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100_000).unwrap();
    let array = file.tree().unwrap().pointer("/plain").unwrap().ndarray().unwrap();
    let error = array.read::<u16>().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Io(_)), "{error}");
    assert!(file.blocks().get(0).unwrap().decode().is_err());
}

#[test]
fn a_small_file_can_be_read_even_if_it_is_truncated_after_opening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.asdf");
    std::fs::write(&path, super::bytes_of("a: [1, 2]", &[b"abc"])).unwrap();
    let file = Asdf::open(&path).unwrap();
    std::fs::write(&path, b"").unwrap();
    assert_eq!(file.blocks().get(0).unwrap().decode().unwrap(), "abc");
}

#[test]
fn reading_single_elements_reads_only_part_of_the_file() {
    let bytes = Bytes::from(bytes());
    let log = Arc::new(ReadLog::new(bytes.clone()));
    let read = |pointer: &str| {
        let file = Asdf::from_source(Arc::clone(&log) as Arc<dyn ReadAt>)?;
        let array = file.tree()?.pointer(pointer)?.ndarray()?;
        array.slice(&[Slice::Index(1)])?.read_bytes(Order::C, ByteOrder::Little)
    };
    assert_eq!(read("/plain").unwrap(), [1, 0]);
    assert_eq!(read("/text").unwrap(), *b"two");
    let count: u64 = log.ranges().iter().map(|range| range.end - range.start).sum();
    assert!(count < 400_000, "{count} of {} bytes", bytes.len());
}
