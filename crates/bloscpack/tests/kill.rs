//! Tests that all complete chunks can be recovered after a writer is stopped at any operation or
//! byte, and that killing a process while it appends does not damage the file.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use binio::write::fault::{Fault, FaultyWriter};
use bloscpack::change::{AppendOptions, append};
use bloscpack::repair::{RecoverOptions, recover};
use bloscpack::{
    ChunkSize, Reader, Result, StreamWriter, VerifyOptions, WriteOptions, Writer, journal,
    pack_slice, pack_to_vec, verify,
};

const FILE: &str = "BLOSCPACK_KILL_TEST_FILE";
const PIECE: usize = 70_001;

/// Returns piece `n` of the data. Each piece has [`PIECE`] bytes. The file begins with piece 0, and
/// each append adds the next piece.
fn piece(n: usize) -> Vec<u8> {
    (0..PIECE).map(|at| ((n * PIECE + at) / 3).to_le_bytes()[0]).collect()
}

/// Appends to a file in the child process that [`kill_after`] starts and kills. In any other
/// process, does nothing.
#[test]
fn child_process_appends_until_it_is_killed() {
    let Some(path) = env::var_os(FILE) else { return };
    let options = AppendOptions::new().in_place(true).grow(true).threads(2);
    loop {
        journal::roll_back(&path).unwrap();
        let done = Reader::open(&path).unwrap().len();
        let next = piece(usize::try_from(done).unwrap() / PIECE);
        append(&path, &next, &options, None).unwrap();
    }
}

fn kill_after(path: &Path, delay: Duration) {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child_process_appends_until_it_is_killed"])
        .env(FILE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    thread::sleep(delay);
    assert_eq!(child.try_wait().unwrap(), None, "the child must run until it is killed");
    child.kill().unwrap();
    child.wait().unwrap();
}

type Sink<'a> = &'a mut FaultyWriter<Cursor<Vec<u8>>>;

/// Writes a file with this data in one of five ways, numbered 0 to 4.
fn write(way: usize, data: &[u8], sink: Sink<'_>) -> Result<()> {
    let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(100)).threads(1);
    let with_room = options.clone().max_app_chunks(2).metadata(&serde_json::json!({"a": 1}));
    match way {
        0 => pack_slice(data, sink, &with_room, None).map(drop),
        1 => fill(Writer::with_len(sink, &with_room, data.len() as u64)?, data)?.finish().map(drop),
        2 => fill(Writer::new(sink, &with_room)?, data)?.finish().map(drop),
        3 => fill(Writer::new(sink, &options.offsets(false))?, data)?.finish().map(drop),
        _ => fill(StreamWriter::new(sink, &options)?, data)?.finish().map(drop),
    }
}

fn fill<W: Write>(mut writer: W, data: &[u8]) -> Result<W> {
    writer.write_all(data)?;
    Ok(writer)
}

/// Returns the file that a writer leaves behind if this fault occurs.
fn left(way: usize, data: &[u8], fault: Fault) -> Vec<u8> {
    let mut sink = FaultyWriter::new(Cursor::new(Vec::new()), fault);
    let outcome = write(way, data, &mut sink);
    let fails = matches!(fault, Fault::FailAtOperation(_) | Fault::FailAtByte(_));
    assert_eq!(outcome.is_err(), fails, "a failure must be reported: {fault:?}");
    sink.into_inner().into_inner()
}

#[test]
fn every_complete_chunk_is_recovered_after_a_writer_is_stopped_anywhere() {
    let data: Vec<u8> = (0..450_usize).map(|n| (n * n / 7).to_le_bytes()[0]).collect();
    for way in 0..5 {
        let mut whole = FaultyWriter::new(Cursor::new(Vec::new()), Fault::None);
        write(way, &data, &mut whole).unwrap();
        let (operations, bytes) = (whole.operations(), whole.bytes());
        let whole = Reader::from_bytes(whole.into_inner().into_inner()).unwrap();
        assert_eq!(whole.read_all().unwrap(), data);
        let ends: Vec<u64> =
            whole.chunks().iter().map(|chunk| chunk.stored_range().end + 4).collect();
        let at_operation =
            (0..operations).flat_map(|at| [Fault::StopAtOperation(at), Fault::FailAtOperation(at)]);
        let at_byte = (0..bytes).flat_map(|at| [Fault::StopAtByte(at), Fault::FailAtByte(at)]);
        for fault in at_operation.chain(at_byte) {
            let file = left(way, &data, fault);
            let kept = ends.iter().filter(|&&end| end <= file.len() as u64).count();
            let mut sink = Cursor::new(Vec::new());
            let report = recover(&file, &mut sink, &RecoverOptions::new());
            if kept == 0 {
                assert!(report.is_err(), "{fault:?}");
                continue;
            }
            assert_eq!(report.unwrap().kept, kept as u64, "{fault:?}");
            let recovered = Reader::from_bytes(sink.into_inner()).unwrap();
            assert!(verify(&recovered, &VerifyOptions::new()).unwrap().passed());
            let plain = usize::try_from(whole.chunks()[kept - 1].plain_range().end).unwrap();
            assert!(recovered.read_all().unwrap() == data[..plain], "{fault:?}");
        }
    }
}

#[test]
fn killing_a_process_while_it_appends_leaves_only_complete_appends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.blp");
    let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(10_000)).max_app_chunks(10_000);
    fs::write(&path, pack_to_vec(&piece(0), &options).unwrap()).unwrap();
    let (mut pieces, mut rolled_back) = (1, 0);
    for round in 0..100 {
        // Wait longer each time, so that even a busy machine appends something.
        kill_after(&path, Duration::from_micros(20_000 + 7_919 * round));
        rolled_back += u32::from(journal::roll_back(&path).unwrap());
        let reader = Reader::open(&path).unwrap();
        let report = verify(&reader, &VerifyOptions::new()).unwrap();
        assert!(report.passed(), "{report:?}");
        let data = reader.read_all().unwrap();
        assert_eq!(data.len() % PIECE, 0);
        assert!(data.len() / PIECE >= pieces, "earlier appends must be kept");
        pieces = data.len() / PIECE;
        assert!(data.chunks(PIECE).enumerate().all(|(n, found)| found == piece(n)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        if round >= 8 && pieces > 2 && rolled_back > 0 {
            return;
        }
    }
    assert!(rolled_back > 0, "no kill interrupted an append in 100 rounds");
    assert!(pieces > 2, "the process appended {pieces} pieces in 100 rounds");
}
