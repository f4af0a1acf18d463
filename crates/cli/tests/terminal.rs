//! Tests of output on a terminal: truncated lines, escaped control characters, pictures and
//! progress.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use flux_archive::HashType;
use flux_archive::store::{BlobStoreMut, DirStore};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use program::{Folder, status, stderr, stdout};

/// Opens a terminal with 200 columns. Returns the user's end and the program's end.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let program = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&program, Winsize { ws_row: 24, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 })
        .unwrap();
    (master.into(), program)
}

/// Runs a program on a terminal, and returns the text that the terminal receives.
fn seen(mut command: Command, during: impl FnOnce(&mut Child)) -> String {
    let (mut person, program) = terminal();
    command.stdin(Stdio::null());
    command.stdout(program.try_clone().unwrap()).stderr(program);
    let mut child = command.spawn().unwrap();
    // Close the program's end in `command`, because reading ends only when all copies of this end
    // are closed.
    drop(command);
    let reader = thread::spawn(move || {
        let (mut seen, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(read @ 1..) = person.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..read]);
        }
        seen
    });
    during(&mut child);
    child.wait().unwrap();
    String::from_utf8(reader.join().unwrap()).unwrap()
}

fn lines_on_a_terminal(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let seen = seen(folder.command(arguments), |_| {});
    seen.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

#[test]
fn long_lines_are_truncated_only_on_a_terminal() {
    let folder = Folder::new();
    let name = "é".repeat(120);
    folder.write("a.json", format!(r#"[{{"path":"{name}","mode":33188,"size":2048}}]"#));
    let line = format!("f 0644     2048 {name}");
    let cut = |columns: usize| line.chars().take(columns - 1).chain(['+']).collect::<String>();
    for (arguments, on_a_terminal, elsewhere) in [
        (&["flux", "list", "-l", "a.json"][..], cut(119), &line),
        (&["flux", "extract", "-t", "a.json"], cut(79), &line),
        (&["flux", "list", "a.json"], name.clone(), &name),
    ] {
        assert_eq!(lines_on_a_terminal(&folder, arguments), [on_a_terminal], "{arguments:?}");
        assert_eq!(stdout(&folder.done(arguments)), format!("{elsewhere}\n"), "{arguments:?}");
    }
}

#[test]
fn names_with_escape_sequences_cannot_move_the_cursor() {
    let folder = Folder::new();
    // Use control characters both as JSON escapes and, where JSON allows this, unescaped.
    let evil = &(r"\u001b]0;title\u0007\u001b[2J\u009b31m\rf\ng".to_owned() + "\u{9b}2J\u{7f}");
    folder.write("a.json", format!(r#"[{{"path":"{evil}","mode":33188,"size":0}}]"#));
    folder.write(
        "bad.json",
        format!(
            r#"[{{"path":"../{evil}","mode":"{evil}","size":"{evil}"}},{{"path":"/{evil}","mode":4516}}]"#
        ),
    );
    for arguments in [
        &["flux", "list", "a.json"][..],
        &["flux", "list", "-l", "a.json"],
        &["flux", "list", "-l", "bad.json"],
        &["flux", "list", "bad.json"],
        &["flux", "list", "--raw", "a.json"],
        &["flux", "extract", "-t", "a.json"],
        &["flux", "extract", "--dry-run", "-v", "a.json"],
        &["flux", "extract", "bad.json"],
        &["flux", "lint", "bad.json"],
        &["flux", "lint", "--json", "bad.json"],
        &["flux", "verify", "-C", ".", "a.json"],
        &["flux", "diff", "-C", ".", "a.json"],
        &["flux", "diff", "--json", "-C", ".", "a.json"],
        &["flux", "info", "bad.json"],
        &["flux", "delete", "--dry-run", "-v", "bad.json", "*"],
        &["flux", "cat", "a.json", "\u{1b}[2J"],
        &["info", "bad.json"],
        &["verify", "bad.json"],
    ] {
        let mut command = folder.command(arguments);
        command.env("NO_COLOR", "1");
        let seen = seen(command, |_| {});
        let harmless = |c: char| !c.is_control() || c == '\n' || c == '\r';
        assert!(seen.chars().all(harmless), "{arguments:?}: {seen:?}");
        assert!(!seen.replace("\r\n", "").contains('\r'), "{arguments:?}: {seen:?}");
    }
}

#[test]
fn info_draws_the_largest_image_on_a_terminal() {
    let folder = Folder::new();
    let file = testdata::path("asdf/science.asdf");
    let info = ["info", file.to_str().unwrap()];
    let seen = lines_on_a_terminal(&folder, &info);
    let place = seen.iter().position(|line| line == "  /image/data").unwrap();
    let image = &seen[place + 1..];
    // The picture has 10 lines with two rows of pixels each, and a line about the values.
    assert_eq!(image.len(), 11, "{seen:?}");
    assert!(image[0].matches('▀').count() > 10 && image[0].ends_with("\x1b[0m"), "{image:?}");
    assert!(image[10].contains("elements along each axis; dark "), "{image:?}");
    let without = lines_on_a_terminal(&folder, &[&info[..], &["--no-preview"]].concat());
    assert_eq!(without[..], seen[..place]);
    assert!(!stdout(&folder.done(&info)).contains('▀'));
}

/// Returns a folder with an archive and its blob store. Extracting the archive takes some time.
fn much_work() -> Folder {
    let folder = Folder::new();
    let store = DirStore::create(folder.path("blobs")).unwrap();
    let regions: Vec<String> = (0..64_u32)
        .map(|n| {
            let blob: Vec<u8> = (0..1 << 18).flat_map(|at: u32| (at ^ n).to_le_bytes()).collect();
            let blobref = store.put(HashType::Sha1, &blob).unwrap();
            format!(r#"[{},1048576,"{blobref}"]"#, u64::from(n) << 20)
        })
        .collect();
    let regions = regions.join(",");
    folder.write(
        "a.json",
        format!(
            r#"[{{"path":"f","mode":33188,"encoding":"blobvec","size":67108864,"data":[{regions}]}}]"#
        ),
    );
    folder
}

/// Pauses a program for more than a second while it extracts a file. Returns `true` if the file was
/// still incomplete when the program was paused.
fn interrupt(folder: &Folder, child: &mut Child) -> bool {
    let pid = Pid::from_child(child);
    // The extracted file has no name until it is complete, so look for it among the open files of
    // the program.
    let (files, out) = (format!("/proc/{}/fd", child.id()), folder.path("out"));
    let begun = || {
        let mut links = std::fs::read_dir(&files).into_iter().flatten().flatten();
        links.any(|link| {
            let file = std::fs::read_link(link.path()).unwrap_or_default();
            file != out && file.starts_with(&out)
        })
    };
    while child.try_wait().unwrap().is_none() {
        if begun() {
            kill_process(pid, Signal::STOP).unwrap();
            let in_time = !folder.path("out/f").exists();
            thread::sleep(Duration::from_millis(1100));
            kill_process(pid, Signal::CONT).unwrap();
            return in_time;
        }
        thread::sleep(Duration::from_micros(200));
    }
    false
}

#[test]
fn progress_is_shown_only_on_a_terminal() {
    let folder = much_work();
    let arguments = ["flux", "extract", "--store", "blobs", "-C", "out", "a.json"];
    let fresh = || {
        let _ = std::fs::remove_dir_all(folder.path("out"));
        std::fs::create_dir(folder.path("out")).unwrap();
    };
    let result = "out: 1 file, 0 directories, 0 links, 64.0 MiB";
    for quiet in [false, true] {
        let in_time_at_last = (0..20).any(|_| {
            fresh();
            let mut command = folder.command(&arguments);
            command.args(quiet.then_some("--quiet"));
            let mut in_time = false;
            let seen = seen(command, |child| in_time = interrupt(&folder, child));
            if !in_time {
                return false;
            }
            assert_eq!(seen.contains("/64.00 MiB "), !quiet, "{seen:?}");
            assert_eq!(seen.contains("MiB/s"), !quiet, "{seen:?}");
            assert_eq!(seen.contains(result), !quiet, "{seen:?}");
            true
        });
        assert!(
            in_time_at_last,
            "the work was done before it could be stopped, in all twenty attempts"
        );
    }
    // No progress is shown for short tasks, or without a terminal.
    fresh();
    let mut command = folder.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    interrupt(&folder, &mut child);
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    assert_eq!(stdout(&output), format!("{result}\n"));
    folder.write("small.json", "[]");
    let seen = seen(folder.command(&["flux", "extract", "-C", "out", "small.json"]), |_| {});
    assert_eq!(seen, "out: 0 files, 0 directories, 0 links, 0 B\r\n");
}

#[test]
fn values_with_escape_sequences_cannot_move_the_cursor() {
    let folder = Folder::new();
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
    folder.write("a.asdf", format!("{head}a: \"x\\e[2Jy\\x9bz\\n\"\n...\n"));
    folder.write("a.json", r#"[{"path":"x\u001b[2Jy\u009bz\n","mode":33188,"size":0}]"#);
    for arguments in [&["get", "a.asdf", "/a"][..], &["get", "a.json", "/0/path"]] {
        let shown = lines_on_a_terminal(&folder, arguments);
        assert_eq!(shown, [r"x\u001b[2Jy\u009bz", ""], "{arguments:?}");
        // If the output is not a terminal, the value is printed unchanged.
        assert_eq!(stdout(&folder.done(arguments)), "x\u{1b}[2Jy\u{9b}z\n\n", "{arguments:?}");
    }
}

#[test]
fn a_large_array_is_summarised_only_on_a_terminal() {
    let folder = Folder::new();
    let data: Vec<u8> = [0, 1, 2, 3].repeat(500);
    folder.write("a.npy", [program::npy_header("|u1", &[2000]), data.clone()].concat());
    folder.done(&["bloscpack", "pack", "a.npy", "-o", "a.blp"]);
    let mut file = b"#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n\
        a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [2000], mask: 3}\n...\n\
        \xd3BLK\0\x30\0\0\0\0\0\0\0\0".to_vec();
    file.extend([2000_u64.to_be_bytes(); 3].concat());
    file.extend([0; 16]);
    file.extend(data);
    folder.write("a.asdf", file);
    for (arguments, summary) in
        [(&["get", "a.asdf", "/a"][..], "0 1 2 ... 1 2 --"), (&["get", "a.blp"], "0 1 2 ... 1 2 3")]
    {
        assert_eq!(lines_on_a_terminal(&folder, arguments), [summary], "{arguments:?}");
        let full = lines_on_a_terminal(&folder, &[arguments, &["--full"]].concat()).concat();
        assert!(full.starts_with("0 1 2") && full.split(' ').count() == 2000, "{full}");
        assert!(!stdout(&folder.done(arguments)).contains("..."), "{arguments:?}");
    }
}
