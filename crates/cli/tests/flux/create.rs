//! Tests of creating archives from files.

use std::fs;
use std::os::unix::fs::{FileExt, symlink};

use flux_archive::{BlobRef, HashType};
use serde_json::{Value, json};

use crate::program::{Folder, json_of, status, stderr, stdout};
use crate::{archived, bytes, document, lines, mkdir, paths, source};

#[test]
fn list_prints_a_created_archive_in_the_format_of_flux() {
    let folder = archived();
    let listed = lines(&folder.done(&["flux", "list", "-l", "a.json"]));
    assert_eq!(
        listed,
        [
            "f 0644       10 a.txt",
            "f 0600     5000 d/b.bin",
            "d 0755        0 d/empty",
            "f 0644        0 d/nothing",
            "d 0750        0 d",
            "l 0777        0 link",
        ]
    );
    assert_eq!(paths(&folder, "a.json")[1], "d/b.bin");
    assert_eq!(lines(&folder.done(&["flux", "list", "a.json", "d*[n]g"])), ["d/nothing"]);
    let none = folder.done(&["flux", "list", "a.json", "x*"]);
    assert_eq!(stdout(&none), "");
    assert_eq!(stderr(&none), "scibin: No files matched pattern 'x*'\n");
    // An archive can be listed even if it cannot be extracted.
    folder.write(
        "odd.json",
        r#"[{"path":"../x","mode":33188},{"path":"fifo","mode":4516},{"mode":1},5]"#,
    );
    assert_eq!(
        lines(&folder.done(&["flux", "list", "--long", "odd.json"])),
        ["f 0644        0 ../x", "? 0644        0 fifo", "invalid fileref", "invalid fileref"]
    );
}

#[test]
fn archives_are_read_and_written_through_pipes() {
    let folder = source();
    let made = folder.done(&["flux", "create", "-C", "src", "a.txt", "d"]);
    mkdir(&folder, "out");
    let output = folder.feed(&["flux", "extract", "-C", "out", "-"], &made.stdout);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "out: 3 files, 2 directories, 0 links, 4.9 KiB\n");
    assert_eq!(folder.read("out/d/b.bin"), folder.read("src/d/b.bin"));
    let output = folder.feed(&["flux", "cat", "-", "a.txt"], &made.stdout);
    assert_eq!(stdout(&output), "two\nlines\n");
    // With "-" as the archive, `delete` reads standard input and writes standard output.
    let output = folder.feed(&["flux", "delete", "-", "d*"], &made.stdout);
    let left = folder.feed(&["flux", "list", "-"], &output.stdout);
    assert_eq!(lines(&left), ["a.txt"]);
}

#[test]
fn create_replaces_an_existing_archive_only_with_overwrite() {
    let folder = archived();
    let before = folder.read("a.json");
    let output = folder.run(&["flux", "create", "-o", "a.json", "-C", "src", "d"]);
    assert_eq!(status(&output), 2);
    assert_eq!(
        stderr(&output),
        "scibin: a.json: the file exists; --overwrite replaces it, --append adds to it\n"
    );
    assert_eq!(folder.read("a.json"), before);
    folder.done(&["flux", "create", "-o", "a.json", "--overwrite", "-C", "src", "a.txt"]);
    assert_eq!(paths(&folder, "a.json"), ["a.txt"]);
    folder.done(&["flux", "create", "-o", "a.json", "--append", "-C", "src", "link"]);
    folder.done(&["flux", "create", "-o", "new.json", "--append", "-C", "src", "link"]);
    assert_eq!(paths(&folder, "a.json"), ["a.txt", "link"]);
    assert_eq!(paths(&folder, "new.json"), ["link"]);
    assert_eq!(folder.names(), ["a.json", "new.json", "src"]);
}

#[test]
fn create_applies_its_options_to_the_archive_and_rejects_invalid_values() {
    let folder = source();
    let create = |options: &[&str]| {
        let command = ["flux", "create", "-q", "-o", "o.json", "--overwrite", "-C", "src"];
        folder.done(&[&command[..], options, &["."]].concat());
        document(&folder, "o.json")
    };
    let entry = |archive: &Value, path: &str| -> Value {
        let entries = archive.as_array().unwrap();
        entries.iter().find(|entry| entry["path"] == path).unwrap().clone()
    };
    let sha = |blobs: &str, options: &[&str]| {
        let archive = create(&[&["--store", blobs], options].concat());
        entry(&archive, "d/b.bin")["data"].clone()
    };
    let data = bytes(5000);
    let name = |hash, part: &[u8]| BlobRef::of(hash, part).to_string();
    assert_eq!(sha("b1", &[]), json!([[0, 5000, name(HashType::Sha1, &data)]]));
    assert_eq!(sha("b2", &["--hash", "sha256"]), json!([[0, 5000, name(HashType::Sha256, &data)]]));
    assert_eq!(
        sha("b3", &["--chunksize", "0x1000"]),
        json!([
            [0, 4096, name(HashType::Sha1, &data[..4096])],
            [4096, 904, name(HashType::Sha1, &data[4096..])]
        ])
    );
    assert!(sha("b4", &["--small-file-threshold", "5k"]).is_string());
    assert!(sha("b5", &["--small-file-threshold", "0"]).is_array());

    assert_eq!(create(&["--dict"])["a.txt"]["data"], "two\nlines\n");
    assert_eq!(entry(&create(&["--mtime", "-5"]), "a.txt")["mtime"], -5);
    let plain = entry(&create(&["--no-times"]), "a.txt");
    assert_eq!((plain.get("mtime"), plain.get("ctime")), (None, None));
    create(&["--exclude", "d", "--exclude", "l*"]);
    assert_eq!(paths(&folder, "o.json"), ["a.txt"]);
    create(&["--include", "*.bin", "--include", "link"]);
    assert_eq!(paths(&folder, "o.json"), ["d/b.bin", "link"]);
    let named = folder.done(&["flux", "create", "-v", "-C", "src", "d"]);
    assert_eq!(stderr(&named), "scibin: d/b.bin\nscibin: d/empty\nscibin: d/nothing\nscibin: d\n");
    // A number with a leading 0 is octal, as in C, and causes a warning.
    let octal =
        folder.done(&["flux", "create", "--store", "b6", "--chunksize", "010", "src/a.txt"]);
    assert!(
        stderr(&octal)
            .contains("--chunksize: read as 8 bytes, because a leading 0 makes the number octal")
    );
    for wrong in [
        &["--chunksize", "1m"][..],
        &["--chunksize=-1"],
        &["--hash", "md5"],
        &["--holes", "some"],
        &["--mtime", "noon"],
        &["--mtime", "1", "--no-times"],
        &["--dict", "--append"],
    ] {
        let output = folder.run(&[&["flux", "create"], wrong, &["src"]].concat());
        assert_eq!(status(&output), 2, "{wrong:?}");
    }
}

#[test]
fn the_holes_option_selects_which_zeros_become_holes() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("sparse")).unwrap();
    file.write_all_at(&[1; 4096], 8192).unwrap();
    file.set_len(16384).unwrap();
    let regions = |holes: &str| {
        let output = folder.done(&["flux", "create", "--store", "b", "--holes", holes, "sparse"]);
        let region = &json_of(&output)[0]["data"][0];
        (region[0].as_u64().unwrap(), region[1].as_u64().unwrap())
    };
    assert_eq!(regions("zeros"), (8192, 4096));
    assert_eq!(regions("none"), (0, 16384));
}

#[test]
fn an_archive_includes_neither_itself_nor_its_store() {
    let folder = source();
    fs::rename(folder.path("src"), folder.path("tree")).unwrap();
    folder.write("old", "[]");
    let arguments = ["flux", "create", "-o", "x.json", "--store", "blobs", "."];
    let first = folder.done(&arguments);
    assert!(stderr(&first).contains("blobs: omitted, because it is the archive or its store"));
    let listed = paths(&folder, "x.json");
    assert!(listed.contains(&"old".to_owned()), "{listed:?}");
    let own = |path: &String| {
        path.starts_with(".atomic") || path == "x.json" || path.starts_with("blobs")
    };
    assert!(!listed.iter().any(own), "{listed:?}");
    folder.done(&[&arguments[..], &["--overwrite"]].concat());
    assert_eq!(paths(&folder, "x.json"), listed);
    let appended = folder.done(&["flux", "append", "x.json", "."]);
    assert!(stderr(&appended).contains("x.json: omitted"), "{}", stderr(&appended));
}

#[test]
fn an_archive_that_lacks_requested_files_is_written_only_if_failures_are_ignored() {
    let folder = source();
    let made = std::process::Command::new("mkfifo").arg(folder.path("src/fifo")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mkfifo here");
        return;
    }
    folder.write("old.json", "[]");
    let arguments = ["-C", "src", ".", "../up", "missing"];
    for command in [
        &["create", "-o", "a.json"][..],
        &["create", "-o", "old.json", "--overwrite"],
        &["create"],
        &["append", "old.json"],
    ] {
        let output = folder.run(&[&["flux"], command, &arguments].concat());
        assert_eq!(status(&output), 2, "{command:?}");
        let errors = stderr(&output);
        for part in [
            "fifo: R120 an archive cannot contain a FIFO",
            "../up: R110",
            "missing: ",
            "because 3 files could not be read",
        ] {
            assert!(errors.contains(part), "{part}: {errors}");
        }
        assert_eq!(stdout(&output), "", "{command:?}");
        assert_eq!(
            (folder.path("a.json").exists(), folder.read("old.json")),
            (false, b"[]".to_vec())
        );
    }
    for command in
        [&["create", "-o", "a.json"][..], &["create", "-o", "old.json", "--overwrite"], &["create"]]
    {
        let arguments = [&["flux"], command, &["--ignore-failed-read"], &arguments].concat();
        let output = folder.run(&arguments);
        assert_eq!(status(&output), 1, "{command:?}");
        assert!(stderr(&output).contains("missing: "), "{}", stderr(&output));
        if command.len() == 1 {
            folder.write("printed.json", &output.stdout);
        }
    }
    for name in ["a.json", "old.json", "printed.json"] {
        assert_eq!(paths(&folder, name).len(), 6);
    }
}

#[test]
fn files_in_overlapping_arguments_are_archived_once() {
    let folder = source();
    folder.done(&["flux", "create", "-o", "a.json", "src", "src/a.txt", "./src/d", "src/d/b.bin"]);
    let listed = paths(&folder, "a.json");
    folder.done(&["flux", "create", "-o", "b.json", "src"]);
    assert_eq!(listed, paths(&folder, "b.json"));
    folder.done(&["flux", "lint", "a.json"]);
    // Two files with the same path, and a path that leads through a link, are rejected.
    folder.write("a.txt", "another");
    symlink("src", folder.path("way")).unwrap();
    let absolute = folder.path("a.txt");
    let below = absolute.to_str().unwrap().trim_start_matches('/').to_owned();
    fs::create_dir_all(folder.path(&below).parent().unwrap()).unwrap();
    folder.write(&below, "the same path");
    for paths in
        [[below.as_str(), absolute.to_str().unwrap()], ["way", "way/a.txt"], ["way/a.txt", "way"]]
    {
        let output = folder.run(&["flux", "create", "-o", "c.json", paths[0], paths[1]]);
        assert_eq!(status(&output), 2, "{paths:?}");
        assert!(stderr(&output).contains("R113"), "{}", stderr(&output));
    }
}

#[test]
fn large_holes_that_are_written_as_zeros_are_reported() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("sparse")).unwrap();
    file.write_all_at(b"end", 8 << 20).unwrap();
    if std::os::unix::fs::MetadataExt::blocks(&file.metadata().unwrap()) > 1000 {
        eprintln!("skipped: this file system has no holes");
        return;
    }
    let output = folder.done(&["flux", "create", "-o", "a.json", "sparse"]);
    assert_eq!(
        stderr(&output),
        "scibin: a.json: 8.0 MiB of holes were written as zeros; --store keeps holes\n"
    );
    let output = folder.done(&["flux", "create", "-o", "b.json", "--store", "blobs", "sparse"]);
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_file_that_changes_while_being_archived_causes_status_1() {
    let folder = Folder::new();
    folder.write("f", bytes(24 << 20));
    let file = fs::File::options().write(true).open(folder.path("f")).unwrap();
    let mut child = folder
        .command(&["flux", "create", "--store", "blobs", "-o", "a.json", "f"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    while child.try_wait().unwrap().is_none() {
        file.write_all_at(b"again and again", 23 << 20).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert_eq!(stderr(&output), "scibin: f: the file changed while it was being read\n");
    folder.done(&["flux", "verify", "--store", "blobs", "a.json"]);
}
