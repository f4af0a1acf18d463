//! Archives that do not borrow from their text.

use std::sync::Arc;

use flux_archive::store::MemoryStore;
use flux_archive::{Archive, Bytes, Error, OpenOptions, Profile};

/// An archive with every kind of content, and with a member that RFC 37 does not define.
const DOCUMENT: &str = r#"[
    {"path":"d","mode":16877,"note":{"k":[1,2.50]}},
    {"path":"link","mode":41471,"data":"d\/f"},
    {"path":"empty","mode":33188,"size":0},
    {"path":"json","mode":33188,"data":{"a":"\u00e9"}},
    {"path":"text","mode":33188,"encoding":"utf-8","size":4,"data":"a\nb\n"},
    {"path":"bytes","mode":33188,"encoding":"base64","size":4,"data":"AAECAw=="},
    {"path":"blobs","mode":33188,"encoding":"blobvec","size":3,
     "data":[[0,3,"sha1-a9993e364706816aba3e25717850c26c9cd0d89d"]]}]"#;

fn described(archive: &Archive<'_>) -> Vec<String> {
    archive.entries().iter().map(|entry| format!("{entry:?}")).collect()
}

fn open() -> Result<Archive<'static>, Error> {
    let document = DOCUMENT.as_bytes().to_vec();
    Ok(OpenOptions::new().profile(Profile::Flux).parse(&document)?.into_owned())
}

#[test]
fn an_owned_archive_equals_the_borrowed_archive_and_outlives_the_document() {
    let owned = open().unwrap();
    let borrowed = Archive::parse(DOCUMENT.as_bytes(), Profile::Flux).unwrap();
    // The debug output shows all text, but not whether it is borrowed.
    assert_eq!(described(&owned), described(&borrowed));
    assert_eq!(owned.entries().len(), 7);
    assert_eq!(owned.diagnostics(), borrowed.diagnostics());
    assert_eq!((owned.form(), owned.more_diagnostics()), (borrowed.form(), 0));
}

#[test]
fn an_owned_archive_can_be_shared_between_threads() {
    let archive = Arc::new(open().unwrap());
    let read = |path: &'static str| {
        let archive = Arc::clone(&archive);
        std::thread::spawn(move || {
            let mut out = Vec::new();
            archive.get(path).unwrap().write_to(&MemoryStore::new(), &mut out).unwrap();
            out
        })
    };
    let [text, bytes, json] = ["text", "bytes", "json"].map(read).map(|read| read.join().unwrap());
    assert_eq!((text, bytes), (b"a\nb\n".to_vec(), vec![0, 1, 2, 3]));
    assert_eq!(json, br#"{"a":"\u00e9"}"#);
}

#[test]
fn an_archive_can_be_opened_from_a_file_or_another_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    std::fs::write(&path, DOCUMENT).unwrap();
    let options = OpenOptions::new();
    let expected = described(&open().unwrap());
    assert_eq!(described(&options.open(&path).unwrap()), expected);
    let source = Bytes::from_static(DOCUMENT.as_bytes());
    assert_eq!(described(&options.from_source(source).unwrap()), expected);
    let error = options.open(folder.path().join("none")).unwrap_err();
    assert!(error.io_error().is_some() && error.to_string().contains("none"), "{error}");
}
