//! Tests that commands on large files need little memory.

use std::fs::File;
use std::time::Duration;

use crate::program::{Folder, npy_header};

/// The maximum amount of memory, in KiB, that a command may need for a large file beyond what it
/// needs for a small file.
const EXTRA: u64 = 64 << 10;

/// Returns the peak memory of the program in KiB, sampled while it runs.
fn peak_of(folder: &Folder, arguments: &[&str]) -> u64 {
    let mut child = folder.command(arguments).spawn().expect("the program starts");
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("the program").is_none() {
        let text = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak = peak.max(now.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().expect("the program").success(), "{arguments:?}");
    peak
}

/// Runs a command on a small and a large file. Fails if the large file needs much more memory.
fn compare(folder: &Folder, what: &str, command: impl Fn(&str) -> Vec<String>) {
    let [small, large] = ["small", "large"].map(|name| {
        let command = command(name);
        peak_of(folder, &command.iter().map(String::as_str).collect::<Vec<_>>())
    });
    assert!(
        large < small + EXTRA,
        "{what}: {large} KiB for the large file, {small} KiB for the small file"
    );
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Returns a folder with a small and a large array of zeros. The zeros are holes, which take no
/// space on disk.
fn folder(large: u64) -> Folder {
    let folder = Folder::new();
    for (name, len) in [("small", 8), ("large", large)] {
        let header = npy_header("|u1", &[len]);
        let file = format!("{name}.npy");
        folder.write(&file, &header);
        let file = File::options().write(true).open(folder.path(&file));
        file.and_then(|file| file.set_len(header.len() as u64 + len)).expect("a hole");
    }
    folder
}

#[test]
fn writing_1_gib_takes_little_memory() {
    let folder = folder(1 << 30);
    for codec in ["zlib:1", "lz4"] {
        compare(&folder, codec, |name| {
            words(&format!("asdf new {name}.asdf -qf --array /x={name}.npy --compress {codec}"))
        });
    }
    // A repair must not keep the decoded data of the blocks that it checks.
    compare(&folder, "repair", |name| {
        words(&format!("asdf repair {name}.asdf -qfo repaired.asdf"))
    });
    compare(&folder, "import", |name| {
        words(&format!("asdf import {name}.asdf /y {name}.npy -q --compress lz4"))
    });
    compare(&folder, "set", |name| words(&format!("asdf set {name}.asdf /text {name} -q")));
    compare(&folder, "implode", |name| words(&format!("asdf implode {name}.asdf -qfo out.asdf")));
}

#[test]
fn recompressing_and_verifying_take_little_memory() {
    let folder = folder(256 << 20);
    for name in ["small", "large"] {
        let array = format!("/x={name}.npy");
        folder.done(&["asdf", "new", &format!("{name}_none.asdf"), "-q", "--array", &array]);
    }
    for (before, after) in [("none", "lz4"), ("lz4", "zlib:1"), ("zlib:1", "lz4"), ("lz4", "none")]
    {
        compare(&folder, &format!("{before} to {after}"), |name| {
            let convert = format!("asdf convert {name}_{before}.asdf -qfo {name}_{after}.asdf");
            words(&format!("{convert} --compress {after}"))
        });
    }
    for codec in ["zlib:1", "lz4"] {
        compare(&folder, "verify", |name| words(&format!("verify -q {name}_{codec}.asdf")));
    }
}
