//! Tests that a killed command leaves the complete old file, the complete new file, or no file.

use std::process::{Child, Stdio};
use std::thread;
use std::time::Instant;

use crate::program::{Folder, npy_header, stdout};

/// The number of times that a command is run and killed, each time at a later moment.
const MOMENTS: u32 = 8;

/// Returns a folder with `a.asdf`, `b.asdf` and `exploded.asdf`, whose arrays take a while to
/// compress.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, factor) in [("x", 3_u32), ("y", 5)] {
        let mut npy = npy_header("<u4", &[400_000]);
        npy.extend((0..400_000_u32).flat_map(|at| (at.wrapping_mul(factor) / 7).to_le_bytes()));
        folder.write(&format!("{name}.npy"), npy);
    }
    folder.done(&["asdf", "new", "a.asdf", "-q", "--array", "/a=x.npy", "--array", "/b=y.npy"]);
    folder.done(&["asdf", "new", "b.asdf", "-q", "--array", "/a=y.npy", "--array", "/b=x.npy"]);
    folder.done(&["asdf", "explode", "b.asdf", "-q", "-o", "exploded.asdf"]);
    folder
}

fn start(folder: &Folder, command: &[&str]) -> Child {
    let mut command = folder.command(command);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// Runs a command once to measure how long it takes. Then runs the command several times, and kills
/// it at a later moment each time. Calls `look` before each killed run, and after the last one.
fn kill(folder: &Folder, command: &[&str], mut look: impl FnMut()) {
    let begin = Instant::now();
    assert!(start(folder, command).wait().expect("the program").success(), "{command:?}");
    let time = begin.elapsed();
    for moment in 0..MOMENTS {
        look();
        let mut child = start(folder, command);
        thread::sleep(time * moment / (MOMENTS - 1));
        // Ignore an error, because killing fails if the child has already ended.
        let _ = child.kill();
        child.wait().expect("the program");
    }
    look();
}

/// Returns the names of all files except temporary ones, which killed commands leave behind.
fn names(folder: &Folder) -> Vec<String> {
    let mut names = folder.names();
    names.retain(|name| !name.starts_with(".atomic-"));
    names
}

#[test]
fn killed_commands_leave_the_old_or_the_new_file() {
    let folder = folder();
    let mut before = names(&folder);
    before.push("out.asdf".to_owned());
    before.sort();
    for command in [
        &["asdf", "new", "out.asdf", "-qf", "--array", "/a=x.npy", "--compress", "zlib"][..],
        &["asdf", "convert", "a.asdf", "-qfo", "out.asdf", "--compress", "zlib"],
        &["asdf", "repair", "a.asdf", "-qfo", "out.asdf"],
        &["asdf", "implode", "exploded.asdf", "-qfo", "out.asdf"],
        &["asdf", "to-yaml", "a.asdf", "-qfo", "out.asdf"],
        &["asdf", "import", "a.asdf", "/c", "x.npy", "-qfo", "out.asdf", "--compress", "zlib"],
    ] {
        folder.write("out.asdf", b"old");
        folder.done(command);
        let new = folder.read("out.asdf");
        let is_new = |found: &[u8]| found == new;
        let (mut old_ones, mut new_ones) = (0, 0);
        kill(&folder, command, || {
            let found = folder.read("out.asdf");
            assert!(found == b"old" || is_new(&found), "{command:?}: {} bytes", found.len());
            *if is_new(&found) { &mut new_ones } else { &mut old_ones } += 1;
            folder.write("out.asdf", b"old");
            assert_eq!(names(&folder), before, "{command:?}");
        });
        assert!(old_ones > 0 && new_ones > 0, "{command:?}: {old_ones} old, {new_ones} new");
    }
}

#[test]
fn a_killed_command_leaves_a_complete_new_file_or_no_file() {
    let folder = folder();
    let command = ["asdf", "convert", "a.asdf", "-qo", "out.asdf", "--compress", "zlib"];
    let before = names(&folder);
    let mut missing = 0;
    kill(&folder, &command, || {
        if names(&folder) == before {
            missing += 1;
            return;
        }
        folder.done(&["verify", "out.asdf"]);
        folder.remove("out.asdf");
        assert_eq!(names(&folder), before);
    });
    assert!(missing > 0);
}

#[test]
fn killing_explode_while_it_replaces_a_file_leaves_the_old_or_the_new_file() {
    let folder = folder();
    let values = |file: &str| {
        ["/a", "/b"].map(|pointer| stdout(&folder.done(&["get", file, pointer, "--slice", "-1"])))
    };
    let (old, new) = (values("b.asdf"), values("a.asdf"));
    assert_ne!(old, new);
    folder.done(&["asdf", "explode", "b.asdf", "-qo", "out.asdf"]);
    let (mut old_ones, mut new_ones) = (0, 0);
    kill(&folder, &["asdf", "explode", "a.asdf", "-qfo", "out.asdf"], || {
        folder.done(&["verify", "out.asdf"]);
        let found = values("out.asdf");
        assert!(found == old || found == new, "{found:?}");
        *if found == new { &mut new_ones } else { &mut old_ones } += 1;
        // Explode `b.asdf` again. This replaces or removes the block files of the killed run.
        folder.done(&["asdf", "explode", "b.asdf", "-qfo", "out.asdf"]);
        let blocks = names(&folder).into_iter().filter(|name| name.starts_with("out0"));
        assert!(blocks.count() <= 4);
    });
    assert!(old_ones > 0 && new_ones > 0, "{old_ones} old, {new_ones} new");
}

#[test]
fn explode_keeps_the_old_files_if_writing_fails() {
    let folder = folder();
    folder.done(&["asdf", "explode", "b.asdf", "-qo", "out.asdf"]);
    let content =
        || names(&folder).into_iter().map(|name| (folder.read(&name), name)).collect::<Vec<_>>();
    let before = content();
    // Limit the size of files to 512 KiB, which is enough for the tree, but not for the blocks.
    let script = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" asdf explode a.asdf -qfo out.asdf";
    let program = crate::program::program().get_program().to_owned();
    let mut command = std::process::Command::new("sh");
    command.arg("-c").arg(script).arg(program).current_dir(folder.path(""));
    let output = command.output().expect("a shell");
    assert_eq!(crate::program::status(&output), 2, "{output:?}");
    assert!(content() == before);
}

#[test]
fn explode_does_not_write_through_links_named_like_block_files() {
    let folder = folder();
    folder.write("precious", b"precious");
    std::os::unix::fs::symlink("precious", folder.path("out0000.asdf")).expect("a link");
    std::os::unix::fs::symlink("nowhere", folder.path("out0001.asdf")).expect("a link");
    folder.done(&["asdf", "explode", "a.asdf", "-qfo", "out.asdf"]);
    assert_eq!(folder.read("precious"), b"precious");
    assert!(!folder.path("nowhere").exists());
    for name in ["out0000.asdf", "out0001.asdf"] {
        assert!(folder.path(name).is_symlink());
    }
    folder.done(&["verify", "out.asdf"]);
    assert!(folder.path("out0003.asdf").is_file());
}

#[test]
fn converting_a_file_over_itself_loses_no_concurrent_changes() {
    let folder = folder();
    for round in 0..6_u64 {
        let convert = [
            "asdf",
            "convert",
            "a.asdf",
            "-qfo",
            "a.asdf",
            "--compress",
            ["zlib", "none"][usize::from(round % 2 == 1)],
        ];
        let mut child = start(&folder, &convert);
        thread::sleep(std::time::Duration::from_millis(5 * round));
        let value = round.to_string();
        folder.done(&["asdf", "set", "a.asdf", "/count", &value, "-q"]);
        assert!(child.wait().expect("the program").success());
        assert_eq!(stdout(&folder.done(&["get", "a.asdf", "/count"])).trim(), value);
    }
}
