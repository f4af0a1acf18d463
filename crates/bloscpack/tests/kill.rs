//! A process that appends in place is killed at any moment: the file has all that was appended
//! before, and at most the last piece is missing.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use bloscpack::{
    AppendOptions, ChunkSize, Reader, VerifyOptions, WriterOptions, append, journal, pack_to_vec,
    verify,
};

const FILE: &str = "BLOSCPACK_KILL_TEST_FILE";
const PIECE: usize = 70_001;

/// Piece `n` of the data.
fn piece(n: usize) -> Vec<u8> {
    (0..PIECE).map(|at| ((n * PIECE + at) / 3).to_le_bytes()[0]).collect()
}

/// Not a test: what the process does that is killed.
#[test]
fn append_until_killed() {
    let Some(path) = env::var_os(FILE) else { return };
    let options = AppendOptions::in_place().grow(true).threads(2);
    loop {
        journal::roll_back(&path).unwrap();
        let done = Reader::open(&path).unwrap().len();
        let next = piece(usize::try_from(done).unwrap() / PIECE);
        append(&path, &next, &options, None).unwrap();
    }
}

fn kill_after(path: &Path, delay: Duration) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "append_until_killed"])
        .env(FILE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(delay);
    assert_eq!(child.try_wait().unwrap(), None, "it goes on until it is killed");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_process_leaves_whole_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.blp");
    let options = WriterOptions::new().chunk_size(ChunkSize::Bytes(10_000)).max_app_chunks(10_000);
    fs::write(&path, pack_to_vec(&piece(0), &options).unwrap()).unwrap();
    let (mut pieces, mut rolled_back) = (1, 0);
    for round in 0.. {
        // Longer each time, so that a machine that is busy comes to append something too.
        kill_after(&path, Duration::from_micros(20_000 + 7_919 * round));
        rolled_back += u32::from(journal::roll_back(&path).unwrap());
        let reader = Reader::open(&path).unwrap();
        let report = verify(&reader, &VerifyOptions::new()).unwrap();
        assert!(report.is_fine(), "{report:?}");
        let data = reader.read_all().unwrap();
        assert_eq!(data.len() % PIECE, 0);
        assert!(data.len() / PIECE >= pieces, "what was there stays");
        pieces = data.len() / PIECE;
        assert!(data.chunks(PIECE).enumerate().all(|(n, found)| found == piece(n)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        if round >= 8 && pieces > 2 && rolled_back > 0 {
            break;
        }
    }
}
