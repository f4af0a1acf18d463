//! Tests that a command ended by a signal leaves no incomplete files, and that its exit status
//! states the signal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flux_archive::HashType;
use flux_archive::store::{BlobStoreMut, SqliteStore};
use program::Folder;

const HUP: i32 = 1;
const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;

/// Returns the command with default signal handling. If it inherited the handling of its parent,
/// the tests would fail in a shell's background jobs, because these ignore the interrupt signal.
fn with_default_signals(command: &Command) -> Command {
    let mut outer = Command::new("env");
    outer.arg("--default-signal=HUP,INT,TERM").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}

/// Starts a command that waits for more standard input, and then sends a signal to the command.
/// Returns the signal that ended the command.
fn interrupted(command: &Command, signal: i32) -> Option<i32> {
    let mut command = with_default_signals(command);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Write more than fits in the pipe and the buffers of the program, so that the program begins
    // to write its output.
    stdin.write_all(&vec![7; 4 << 20]).unwrap();
    send(signal, &child);
    child.wait().unwrap().signal()
}

fn send(signal: i32, child: &Child) {
    let (number, id) = (format!("-{signal}"), child.id().to_string());
    assert!(Command::new("kill").args([number, id]).status().unwrap().success());
}

#[test]
fn an_interrupted_pack_command_leaves_no_new_file() {
    for signal in [HUP, INT, TERM, KILL] {
        for name in ["new", "old"] {
            let folder = Folder::new();
            folder.write("old", "content");
            let pack = ["bloscpack", "pack", "-q", "-f", "-", "-o", name];
            assert_eq!(interrupted(&folder.command(&pack), signal), Some(signal));
            assert_eq!(folder.names(), ["old"], "signal {signal}, {name}");
            assert_eq!(folder.read("old"), b"content");
        }
    }
}

/// Without `/proc`, an unnamed file cannot get a name, so the program must use named temporary
/// files.
#[test]
fn named_temporary_files_are_removed_on_a_signal() {
    let script = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    let unshare = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]).args(arguments);
        command
    };
    let can = unshare(&["true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: namespaces of the user's own are not allowed here");
        return;
    }
    for signal in [HUP, INT, TERM] {
        let folder = Folder::new();
        let program = env!("CARGO_BIN_EXE_scibin");
        let mut command = unshare(&[program, "bloscpack", "pack", "-q", "-", "-o", "new"]);
        command.current_dir(folder.path(""));
        assert_eq!(interrupted(&command, signal), Some(signal));
        assert_eq!(folder.names(), [""; 0], "signal {signal}");
    }
}

/// Returns a folder with the database and the write-ahead log of a crashed broker, and with the
/// archive `a.json`. The archive contains a single file, which is larger than the buffer of a pipe.
/// The database is extended by `extra` zero bytes, so that copying it takes time.
fn crashed_broker(extra: u64) -> Folder {
    let folder = Folder::new();
    let running = SqliteStore::create(folder.path("running.sqlite")).unwrap();
    running.put(HashType::Sha1, b"only in the log").unwrap();
    for suffix in ["", "-wal"] {
        let from = folder.path(&format!("running.sqlite{suffix}"));
        folder.copy(&from, &format!("content.sqlite{suffix}"));
    }
    let database = std::fs::File::options().write(true).open(folder.path("content.sqlite"));
    let database = database.unwrap();
    database.set_len(database.metadata().unwrap().len() + extra).unwrap();
    let text = "x".repeat(4 << 20);
    let entry = format!(r#"{{"path":"f","mode":33188,"encoding":"utf-8","data":"{text}"}}"#);
    folder.write("a.json", format!("[{entry}]"));
    std::fs::create_dir(folder.path("temporary")).unwrap();
    folder
}

/// Returns a command that prints the file in the archive of [`crashed_broker`], and uses the
/// database as the blob store. The command cannot end before its output is read.
fn cat_with_database(folder: &Folder) -> Command {
    let mut command = folder.command(&["flux", "cat", "a.json", "f", "--store", "content.sqlite"]);
    command.env("TMPDIR", folder.path("temporary")).stdout(Stdio::piped());
    command
}

fn temporaries(folder: &Folder) -> usize {
    std::fs::read_dir(folder.path("temporary")).unwrap().count()
}

#[test]
fn the_temporary_copy_of_a_database_is_unlinked_while_being_read() {
    let folder = crashed_broker(0);
    let mut child = cat_with_database(&folder).spawn().unwrap();
    // The command writes the first byte only after it has opened the store.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    assert_eq!(temporaries(&folder), 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(temporaries(&folder), 0);
}

#[test]
fn the_temporary_copy_of_a_database_is_removed_if_a_signal_ends_the_copying() {
    for signal in [HUP, INT, TERM] {
        let seen_at_last = (0..20).any(|_| {
            let folder = crashed_broker(64 << 20);
            let mut command = with_default_signals(&cat_with_database(&folder));
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let begun = Instant::now();
            let mut seen = false;
            while !seen && begun.elapsed() < Duration::from_secs(5) {
                seen = temporaries(&folder) > 0;
            }
            send(signal, &child);
            assert_eq!(child.wait().unwrap().signal(), Some(signal));
            assert_eq!(temporaries(&folder), 0, "signal {signal}");
            seen
        });
        assert!(seen_at_last, "no copy was seen in all twenty attempts");
    }
}

#[test]
fn signals_that_the_parent_process_ignores_do_not_end_a_command() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" bloscpack pack -q - -o new";
    command.args(["-c", script, env!("CARGO_BIN_EXE_scibin")]).current_dir(folder.path(""));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![7; 4 << 20]).unwrap();
    send(HUP, &child);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(folder.names(), ["new"]);
}
