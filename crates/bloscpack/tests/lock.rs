//! Tests that concurrent changes to a file are each either completed or rejected because the file
//! is locked.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, thread};

use bloscpack::change::{
    AppendOptions, Appender, MetadataEdit, RewriteOptions, append, rewrite_file, set_metadata,
};
use bloscpack::{
    ChunkSize, Error, ErrorKind, Reader, VerifyOptions, WriteOptions, journal, pack_to_vec, verify,
};
use serde_json::json;

const PIECE: usize = 7001;

fn packed() -> Vec<u8> {
    let options = WriteOptions::new()
        .chunk_size(ChunkSize::Bytes(1000))
        .max_app_chunks(10_000)
        .metadata(&json!({"a": 1}));
    pack_to_vec(&[0; PIECE], &options).unwrap()
}

fn is_locked<T>(outcome: Result<T, Error>) -> bool {
    matches!(outcome.err().unwrap().kind(), ErrorKind::Locked)
}

#[test]
fn all_other_changes_to_a_file_with_an_open_appender_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let [path, link, other] = ["file", "link", "other"].map(|name| folder.path().join(name));
    fs::write(&path, packed()).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let in_place = AppendOptions::new().in_place(true);
    let appender = Appender::open(&path, &in_place).unwrap();
    // Simulate the journal of the open appender, which no other call may roll back.
    fs::write(folder.path().join("file.undo-journal"), "").unwrap();
    for path in [&path, &link] {
        assert!(is_locked(append(path, &vec![1; 10], &in_place, None)));
        assert!(is_locked(append(path, &vec![1; 10], &AppendOptions::new(), None)));
        assert!(is_locked(set_metadata(path, &json!(1), MetadataEdit::new())));
        assert!(is_locked(rewrite_file(path, &other, &RewriteOptions::new())));
        assert!(is_locked(journal::roll_back(path)));
    }
    assert_eq!(Reader::open(&path).unwrap().len(), PIECE as u64);
    drop(appender);
    assert!(append(&path, &vec![1; 10], &in_place, None).unwrap().rolled_back);
}

#[test]
fn concurrent_appends_succeed_completely_or_fail_because_the_file_is_locked() {
    for options in [AppendOptions::new(), AppendOptions::new().in_place(true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, packed()).unwrap();
        let appended = AtomicUsize::new(1);
        thread::scope(|scope| {
            for number in 1..=4 {
                let (path, options, appended) = (&path, options.threads(1), &appended);
                scope.spawn(move || {
                    for _ in 0..20 {
                        match append(path, &vec![number; PIECE], &options, None) {
                            Ok(_) => drop(appended.fetch_add(1, Ordering::Relaxed)),
                            Err(error) => {
                                assert!(matches!(error.kind(), ErrorKind::Locked), "{error}");
                            }
                        }
                    }
                });
            }
        });
        let reader = Reader::open(&path).unwrap();
        assert!(verify(&reader, &VerifyOptions::new()).unwrap().passed());
        let data = reader.read_all().unwrap();
        assert_eq!(data.len(), appended.into_inner() * PIECE);
        assert!(data.chunks(PIECE).all(|piece| piece.iter().all(|byte| *byte == piece[0])));
    }
}
