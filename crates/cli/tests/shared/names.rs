//! Tests of file names that are not UTF-8. Some file systems of other systems do not allow them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Output;

use crate::files;
use crate::program::{Folder, status, stderr};

/// Runs a command, with `%` in a word replaced by `name`.
fn run(folder: &Folder, command: &str, name: &OsStr) -> Output {
    let word = |word: &str| {
        let Some((before, after)) = word.split_once('%') else { return OsString::from(word) };
        let mut word = OsString::from(before);
        word.push(name);
        word.push(after);
        word
    };
    folder.run(&command.split(' ').map(word).collect::<Vec<_>>())
}

#[test]
fn every_argument_that_is_a_file_accepts_a_name_that_is_not_utf_8() {
    let folder = files();
    let name = OsStr::from_bytes(b"a\xff.npy");
    std::fs::copy(folder.path("good.npy"), folder.path("").join(name)).unwrap();
    folder.write("pair.dud", "x = i2[2]\n");
    folder.write("more.dud", "y = i2[2]\n");
    for command in [
        "asdf new a.asdf --array /x=%",
        "asdf import a.asdf /y %",
        "bloscpack pack % -o b.blp",
        "bloscpack append b.blp % --axis0",
        "dudley from-numpy %",
        "dudley import %",
        "dudley new c.native --layout pair.dud --set /x=%",
        "dudley put c.native /x %",
        "dudley append c.native --layout more.dud --set /y=%",
        "flux create -o %.json good.dud",
        "get a.asdf /x -o % --force",
        "bloscpack unpack b.blp -o % --force",
        "info --format bloscpack b.blp --html % --force",
    ] {
        let output = run(&folder, command, name);
        assert_eq!(status(&output), 0, "{command}: {}", stderr(&output));
    }
}

#[test]
fn invalid_arguments_with_a_file_name_that_is_not_utf_8_are_rejected() {
    let folder = files();
    let name = OsStr::from_bytes(b"\xff");
    for (command, message) in [
        ("asdf new a.asdf --array %=good.npy", "expected a JSON Pointer and a file"),
        ("asdf new a.asdf --array %", "expected a JSON Pointer and a file"),
        ("dudley new a.native --layout good.dud --set %=good.npy", "expected PATH=FILE.npy"),
        ("dudley new a.native --layout good.dud --set %", "expected PATH=FILE.npy"),
        ("dudley from-numpy %", "neither a file nor a datatype"),
    ] {
        let output = run(&folder, command, name);
        assert_eq!(status(&output), 2, "{command}");
        assert!(stderr(&output).contains(message), "{command}: {}", stderr(&output));
    }
}
