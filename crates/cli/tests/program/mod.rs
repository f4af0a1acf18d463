//! Running the program from tests, in a temporary folder.

#![allow(dead_code, reason = "each test uses only some of the items")]

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use binio::array::npy::Header;
use binio::array::{Datatype, Order};
use serde_json::Value;
use tempfile::TempDir;

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scibin"))
}

pub(crate) fn scibin<A: AsRef<OsStr>>(arguments: &[A]) -> Output {
    program().args(arguments).output().expect("the program starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

pub(crate) fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

/// Returns the header of a `.npy` file with the given datatype and shape, in C order.
pub(crate) fn npy_header(datatype: &str, shape: &[u64]) -> Vec<u8> {
    let datatype = Datatype::parse(datatype).expect("a type");
    let header = Header::new(datatype, Order::C, shape.to_vec()).expect("an array");
    header.to_bytes()
}

/// A temporary folder, which is the current directory of the program.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("the file is written");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn copy(&self, from: &Path, name: &str) {
        std::fs::copy(from, self.path(name)).expect("the file is copied");
    }

    pub(crate) fn remove(&self, name: &str) {
        std::fs::remove_file(self.path(name)).expect("the file is removed");
    }

    /// Returns the sorted names of the files and folders in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().into_string().expect("text")
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    pub(crate) fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = program();
        command.current_dir(self.0.path()).args(arguments);
        command
    }

    /// Runs the program in the folder.
    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs the program in the folder, and panics if it fails.
    pub(crate) fn done<A: AsRef<OsStr> + std::fmt::Debug>(&self, arguments: &[A]) -> Output {
        let output = self.run(arguments);
        assert_eq!(status(&output), 0, "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        output
    }

    /// Runs the program in the folder, with `input` as standard input.
    pub(crate) fn feed<A: AsRef<OsStr>>(&self, arguments: &[A], input: &[u8]) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("standard input");
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            // Ignore write errors, because the program may close the pipe before reading
            // everything.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("the program ends");
        feeder.join().expect("the feeder ends");
        output
    }
}
