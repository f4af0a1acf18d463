use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::format::test_file::{TestFile, buffer};
use crate::{ChunkSize, ErrorKind, Strictness, VerifyOptions, WriteOptions, pack_to_vec, verify};

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * n / 7).to_le_bytes()[0]).collect()
}

fn packing() -> WriteOptions {
    WriteOptions::new().chunk_size(ChunkSize::Bytes(1000)).threads(1)
}

fn open(file: Vec<u8>) -> Reader {
    OpenOptions::new().strictness(Strictness::Strict).from_bytes(file).unwrap()
}

/// Rewrites a file, and opens the result, which must have no diagnostics.
fn rewritten(old: &Reader, options: &RewriteOptions) -> Reader {
    let new = open(rewrite(old, Cursor::new(Vec::new()), options).unwrap().into_inner());
    let report = verify(&new, &VerifyOptions::new()).unwrap();
    assert!(report.diagnostics.is_empty(), "{report:?}");
    assert_eq!(new.read_all().unwrap(), old.read_all().unwrap());
    new
}

fn buffers(file: &Reader) -> Vec<Bytes> {
    (0..file.chunks().len()).map(|chunk| file.chunk_bytes(chunk).unwrap()).collect()
}

#[test]
fn rewriting_without_options_produces_an_identical_file() {
    for packing in [
        packing(),
        packing().offsets(false),
        packing().version(Version::V2),
        packing().metadata(&json!({"a": 1})).checksum(Checksum::Md5),
    ] {
        for len in [0, 1, 2500, 3000] {
            let file = pack_to_vec(&data(len), &packing).unwrap();
            let sink = Cursor::new(Vec::new());
            let new = rewrite(&open(file.clone()), sink, &RewriteOptions::new()).unwrap();
            assert!(new.into_inner() == file, "{len} bytes, {packing:?}");
        }
    }
}

#[test]
fn rewriting_a_file_on_disk_has_the_same_result_as_rewriting_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
    for options in [
        RewriteOptions::new().max_app_chunks(7),
        RewriteOptions::new().checksum(Checksum::Sha1),
        RewriteOptions::new().offsets(false).metadata(&json!([1, 2])),
        RewriteOptions::new().without_metadata().version(Version::V2),
    ] {
        let file = pack_to_vec(&data(2500), &packing().metadata(&json!(1))).unwrap();
        let expected = rewrite(&open(file.clone()), Cursor::new(Vec::new()), &options).unwrap();
        fs::write(&old, file).unwrap();
        rewrite_file(&old, &new, &options).unwrap();
        assert!(fs::read(&new).unwrap() == *expected.get_ref(), "{options:?}");
        rewrite_file(&old, &old, &options).unwrap();
        assert!(fs::read(&old).unwrap() == *expected.get_ref(), "{options:?}");
    }
}

#[test]
fn changing_a_file_that_exceeds_the_limits_fails_and_leaves_it_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.blp");
    let file = pack_to_vec(&data(2500), &packing().metadata(&json!(1))).unwrap();
    fs::write(&path, &file).unwrap();
    let limits = binio::Limits::default().max_items(2);
    let appending = crate::change::AppendOptions::new().limits(limits);
    let edit = MetadataEdit::new().limits(limits);
    for changed in [
        rewrite_file(&path, &path, &RewriteOptions::new().limits(limits)),
        crate::change::append(&path, &data(10), &appending, None).map(drop),
        crate::change::set_metadata(&path, &json!(2), edit),
        crate::change::set_metadata(&path, &json!("long".repeat(1000)), edit.grow(true)),
    ] {
        let error = changed.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { what: "chunks", .. }), "{error}");
    }
    assert!(fs::read(&path).unwrap() == file);
}

#[test]
fn metadata_with_a_wrong_digest_can_be_replaced_or_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.blp");
    let file = pack_to_vec(&data(2500), &packing().metadata(&json!("old"))).unwrap();
    let place = open(file.clone()).layout().metadata().unwrap();
    let digest_end = usize::try_from(place.end).unwrap();
    for new in [json!("new"), json!(data(2000))] {
        let mut file = file.clone();
        file[digest_end - 1] ^= 1;
        fs::write(&path, file).unwrap();
        let error = Reader::open(&path).and_then(|file| file.metadata().map(drop)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ChecksumMismatch { .. }), "{error}");
        set_metadata(&path, &new, MetadataEdit::new().grow(true)).unwrap();
        let file = Reader::open(&path).unwrap();
        assert_eq!(file.metadata().unwrap().unwrap().json().unwrap(), new);
        assert!(file.read_all().unwrap() == data(2500));
    }
    let mut damaged = file;
    damaged[digest_end - 1] ^= 1;
    fs::write(&path, damaged).unwrap();
    rewrite_file(&path, &path, &RewriteOptions::new().without_metadata()).unwrap();
    assert!(Reader::open(&path).unwrap().metadata().unwrap().is_none());
}

#[test]
fn a_version_1_file_is_rewritten_as_version_3_without_its_empty_chunk() {
    // The command line of release 0.1.0 divided nine bytes into these four chunks.
    let mut file = b"blpk\x01\0\0\0\x04\0\0\0\0\0\0\0".to_vec();
    for chunk in [b"abc", b"def", b"ghi", &b""[..]] {
        file.extend(buffer(chunk));
    }
    let old = open(file);
    let new = rewritten(&old, &RewriteOptions::new().checksum(Checksum::Crc32));
    let header = new.header();
    assert_eq!((header.version, header.nchunks), (Version::V3, Some(3)));
    assert_eq!((header.chunk_size, header.last_chunk), (Some(3), Some(3)));
    assert_eq!((header.offsets, header.max_app_chunks, header.typesize), (true, 30, 4));
    assert_eq!(buffers(&new), buffers(&old)[..3]);
    let none = rewritten(&old, &RewriteOptions::new());
    assert_eq!(none.header().checksum, Checksum::None);
}

#[test]
fn rewriting_chunks_of_different_sizes_leaves_the_chunk_size_unknown() {
    // Version 2 allowed the last chunk to be larger than the other chunks.
    let mut file = TestFile::of(&[b"abcd", b"efghi"]);
    (file.version, file.max_app_chunks) = (2, 0);
    file.offsets = Some(vec![-1; 2]);
    file.set_offsets();
    let new = rewritten(&open(file.bytes()), &RewriteOptions::new().version(Version::V3));
    assert_eq!((new.header().chunk_size, new.header().last_chunk), (None, Some(5)));
}

#[test]
fn rewriting_corrects_wrong_sizes_and_fills_in_an_unknown_number_of_chunks() {
    let mut file = TestFile::of(&[&[1; 100], &[2; 100], &[3; 40]]).without_offsets();
    (file.chunk_size, file.last_chunk, file.nchunks) = (101, -1, -1);
    file.tail = Vec::new();
    let old = Reader::from_bytes(file.bytes()).unwrap();
    let header = rewritten(&old, &RewriteOptions::new()).header().clone();
    assert_eq!((header.chunk_size, header.last_chunk), (Some(100), Some(40)));
    assert_eq!((header.nchunks, header.offsets), (Some(3), false));
}

#[test]
fn options_that_version_2_does_not_support_are_rejected_when_rewriting() {
    let file = open(pack_to_vec(b"data", &packing().metadata(&json!(1))).unwrap());
    let v2 = RewriteOptions::new().version(Version::V2);
    let rejected = |options: &RewriteOptions| {
        let error = rewrite(&file, Cursor::new(Vec::new()), options).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotInVersion { .. }), "{error}");
    };
    rejected(&v2);
    rejected(&v2.clone().without_metadata().max_app_chunks(1));
    rejected(&RewriteOptions::new().version(Version::V1));
    rewritten(&file, &v2.without_metadata());
}

#[test]
fn rewriting_a_file_with_a_damaged_chunk_fails() {
    let mut file = pack_to_vec(&data(2500), &packing()).unwrap();
    let last = file.len() - 5;
    file[last] ^= 1;
    let old = open(file);
    let options = RewriteOptions::new().checksum(Checksum::Sha256);
    let error = rewrite(&old, Cursor::new(Vec::new()), &options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ChecksumMismatch { .. }), "{error}");
}

#[test]
fn the_metadata_section_can_be_enlarged_without_changing_the_metadata() {
    let old = open(pack_to_vec(&data(2500), &packing().metadata(&json!({"a": 1}))).unwrap());
    let options = MetadataOptions { max_size: Some(5000), ..MetadataOptions::default() };
    let new = rewritten(&old, &RewriteOptions::new().metadata_options(options));
    let metadata = new.metadata().unwrap().unwrap();
    assert_eq!(metadata.json().unwrap(), json!({"a": 1}));
    assert_eq!(metadata.header().max_meta_size, 5000);
}

struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn with(bytes: &[u8]) -> Self {
        let file = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(file.path(), bytes).unwrap();
        file
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("file.blp")
    }

    fn bytes(&self) -> Vec<u8> {
        assert_eq!(fs::read_dir(self.folder.path()).unwrap().count(), 1);
        fs::read(self.path()).unwrap()
    }

    fn metadata(&self) -> Value {
        open(self.bytes()).metadata().unwrap().unwrap().json().unwrap()
    }
}

fn with_metadata(text: &str) -> Vec<u8> {
    pack_to_vec(&data(2500), &packing().metadata(&json!({"text": text}))).unwrap()
}

#[test]
fn metadata_that_fits_is_replaced_in_place() {
    let old = with_metadata(&"long ".repeat(50));
    let file = File::with(&old);
    set_metadata(file.path(), &json!({"b": 2}), MetadataEdit::new()).unwrap();
    let new = file.bytes();
    assert_eq!((file.metadata(), new.len()), (json!({"b": 2}), old.len()));
    let section = open(new.clone()).layout().metadata().unwrap();
    let end = usize::try_from(section.end).unwrap();
    assert!(new[..32] == old[..32] && new[end..] == old[end..]);
    assert!(
        new[64 + 7..end - 4].iter().all(|&byte| byte == 0),
        "no bytes of the old metadata are left"
    );
}

#[test]
fn metadata_with_a_shorter_or_longer_digest_is_replaced_in_place_if_both_fit() {
    let old = with_metadata("x");
    let file = File::with(&old);
    // The length of the digest plus the space for the payload is always 4 + 120 bytes.
    for (checksum, space) in [
        (Checksum::Crc32, 120),
        (Checksum::Sha256, 92),
        (Checksum::Sha512, 60),
        (Checksum::None, 124),
        (Checksum::Md5, 108),
    ] {
        let edit = MetadataEdit::new().checksum(checksum);
        set_metadata(file.path(), &json!(checksum.name()), edit).unwrap();
        assert_eq!(file.metadata(), json!(checksum.name()));
        let new = open(file.bytes());
        let header = new.meta_header().unwrap();
        assert_eq!((header.checksum, header.max_meta_size), (checksum, space));
        assert_eq!(buffers(&new), buffers(&open(old.clone())));
        assert_eq!(file.bytes().len(), old.len());
    }
}

#[test]
fn metadata_that_does_not_fit_is_rejected_unless_the_file_may_grow() {
    let room = MetadataOptions { max_size: Some(20), ..MetadataOptions::default() };
    let small = packing().metadata(&json!({"text": "x"})).metadata_options(room);
    let small = pack_to_vec(&data(2500), &small).unwrap();
    for (old, new, edit) in [
        (small.clone(), json!("more than twenty bytes"), MetadataEdit::new()),
        (small, json!(1), MetadataEdit::new().checksum(Checksum::Sha256)),
        (pack_to_vec(&data(2500), &packing()).unwrap(), json!(1), MetadataEdit::new()),
    ] {
        let file = File::with(&old);
        let error = set_metadata(file.path(), &new, edit).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }), "{error}");
        assert!(file.bytes() == old);
        set_metadata(file.path(), &new, edit.grow(true)).unwrap();
        assert_eq!(file.metadata(), new);
        assert_eq!(buffers(&open(file.bytes())), buffers(&open(old)));
    }
}

#[test]
fn unreadable_metadata_can_be_replaced() {
    let mut old = with_metadata("x");
    old[64] ^= 1;
    let file = File::with(&old);
    set_metadata(file.path(), &json!({}), MetadataEdit::new()).unwrap();
    assert_eq!(file.metadata(), json!({}));
}

#[test]
fn a_power_failure_while_replacing_metadata_leaves_the_old_or_the_new_value() {
    use binio::write::MemoryStorage;
    use binio::write::fault::Fault;
    use binio::write::journal::undo;

    let old = with_metadata(&"long ".repeat(50));
    let reader = open(old.clone());
    let section =
        metadata::section_in_place(&reader, &json!({"b": 2}), MetadataEdit::new()).unwrap();
    let mut tape = MemoryStorage::new(&old);
    metadata::replace(&mut tape, &reader, &section).unwrap();
    let operations = tape.operations().len();
    for count in 0..=operations {
        for mut crash in tape.crashes(count) {
            undo(&mut crash).unwrap();
            assert_eq!(crash.journal_bytes(), None);
            assert!(crash.file_bytes() == old || crash.file_bytes() == tape.file_bytes());
        }
    }
    for operation in 0..operations as u64 - 1 {
        let fault = Fault::FailOnceAtOperation(operation);
        let mut tape = MemoryStorage::new(&old).fault(fault);
        metadata::replace(&mut tape, &reader, &section).unwrap_err();
        assert!(tape.file_bytes() == old && tape.journal_bytes().is_none());
    }
}
