//! Commands that a signal ends: they leave nothing behind, and end by that signal.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use program::Folder;

const HUP: i32 = 1;
const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;

/// Runs a command that waits for more on its standard input, sends it a signal, and returns the
/// signal that ended it.
fn interrupted(mut command: Command, signal: i32) -> Option<i32> {
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // More than the pipe and the program's buffers hold, so that the program has begun to write.
    stdin.write_all(&vec![7; 4 << 20]).unwrap();
    let kill = |signal: i32| {
        let number = format!("-{signal}");
        Command::new("kill").args([&number, &child.id().to_string()]).status().unwrap()
    };
    assert!(kill(signal).success());
    child.wait().unwrap().signal()
}

#[test]
fn interrupted_commands_leave_nothing() {
    for signal in [HUP, INT, TERM, KILL] {
        for name in ["new", "old"] {
            let folder = Folder::new();
            folder.write("old", "content");
            let pack = ["bloscpack", "pack", "-q", "-f", "-", "-o", name];
            assert_eq!(interrupted(folder.command(&pack), signal), Some(signal));
            assert_eq!(folder.names(), ["old"], "signal {signal}, {name}");
            assert_eq!(folder.read("old"), b"content");
        }
    }
}

/// Without `/proc` a file without a name cannot get one, so the program has to use files that have
/// temporary names.
#[test]
fn temporary_files_with_a_name_are_removed_on_a_signal() {
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
        assert_eq!(interrupted(command, signal), Some(signal));
        assert_eq!(folder.names(), [""; 0], "signal {signal}");
    }
}

#[test]
fn ignored_signals_stay_ignored() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\" bloscpack pack -q - -o new";
    command.args(["-c", script, env!("CARGO_BIN_EXE_scibin")]).current_dir(folder.path(""));
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&vec![7; 4 << 20]).unwrap();
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(folder.names(), ["new"]);
}
