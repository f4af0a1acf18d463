//! Tests of changing archives and moving blobs.

use std::fs;

use binio::write::FileLock;
use flux_archive::store::{BlobStoreMut, DirStore};
use flux_archive::{BlobRef, HashType};
use serde_json::json;

use crate::program::{Folder, json_of, status, stderr, stdout};
use crate::{archived, bytes, document, mkdir, paths, stored};

#[test]
fn convert_changes_an_array_to_a_dict_and_back() {
    let folder = archived();
    folder.done(&["flux", "convert", "a.json", "-o", "d.json"]);
    assert!(document(&folder, "d.json").is_object());
    let output = folder.run(&["flux", "convert", "a.json", "-o", "d.json"]);
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    folder.done(&["flux", "convert", "d.json", "-o", "a2.json"]);
    assert_eq!(folder.read("a2.json"), folder.read("a.json"));
    let objects = folder.done(&["flux", "convert", "a.json", "--to", "objects"]);
    assert!(objects.stdout.starts_with(b"{\"path\""));
    let back = folder.feed(&["flux", "convert", "-"], &objects.stdout);
    assert_eq!(back.stdout, folder.read("a.json"));
    let pretty = folder.done(&["flux", "convert", "a.json", "--to", "array", "--pretty"]);
    assert!(stdout(&pretty).starts_with("[\n  {\n    \"path\": \"a.txt\",\n"));
}

#[test]
fn append_replaces_an_entry_and_keeps_the_order_of_the_other_entries() {
    let folder = archived();
    folder.write("src/a.txt", "new");
    let added = folder.done(&["flux", "append", "a.json", "-C", "src", "a.txt"]);
    assert_eq!(stdout(&added), "a.json: 1 entry added\n");
    let listed = paths(&folder, "a.json");
    assert_eq!(listed, ["d/b.bin", "d/empty", "d/nothing", "d", "link", "a.txt"]);
    assert_eq!(stdout(&folder.run(&["flux", "cat", "a.json", "a.txt"])), "new");
    folder.done(&["flux", "lint", "a.json"]);

    folder.done(&["flux", "create", "-q", "-o", "d.json", "--dict", "-C", "src", "link", "a.txt"]);
    folder.write("src/a.txt", "newer");
    folder.done(&[
        "flux", "append", "-q", "d.json", "-C", "src", "--store", "blobs", "a.txt", "d/b.bin",
    ]);
    assert_eq!(paths(&folder, "d.json"), ["link", "a.txt", "d/b.bin"]);
    assert_eq!(document(&folder, "d.json")["a.txt"]["data"], "newer");
    folder.done(&["flux", "verify", "d.json", "--store", "blobs"]);

    // An archive that cannot be read is not replaced.
    for bad in ["", "[{\"path\":\"..\",\"mode\":33188}]", "[{"] {
        folder.write("bad.json", bad);
        let output = folder.run(&["flux", "append", "bad.json", "src"]);
        assert_eq!(status(&output), 1, "{bad}");
        let output = folder.run(&["flux", "create", "--append", "-o", "bad.json", "src"]);
        assert_eq!(status(&output), 1, "{bad}");
        assert_eq!(folder.read("bad.json"), bad.as_bytes());
    }
    folder.write("file.json", r#"[{"path":"src","mode":33188,"size":0}]"#);
    let output = folder.run(&["flux", "append", "file.json", "src/d"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("R113"), "{}", stderr(&output));
}

#[test]
fn delete_removes_entries_by_pattern() {
    let folder = archived();
    let before = folder.read("a.json");
    let dry = folder.done(&["flux", "delete", "--dry-run", "-v", "a.json", "d*"]);
    assert_eq!(stdout(&dry), "a.json: 4 entries would be deleted\n");
    assert!(stderr(&dry).contains("scibin: d/b.bin\n"));
    let none = folder.done(&["flux", "delete", "a.json", "x"]);
    assert_eq!(stderr(&none), "scibin: No files matched pattern 'x'\n");
    assert_eq!(folder.read("a.json"), before);
    let value = json_of(&folder.done(&["flux", "delete", "--json", "a.json", "d/*", "d"]));
    assert_eq!(value["deleted"], json!(["d/b.bin", "d/empty", "d/nothing", "d"]));
    assert_eq!(paths(&folder, "a.json"), ["a.txt", "link"]);
}

#[test]
fn pack_restores_an_externalized_archive() {
    let folder = stored();
    let packed = folder.done(&["flux", "pack", "b.json", "--store", "blobs", "-o", "p.json"]);
    assert_eq!(stdout(&packed), "p.json: 1 file packed, 4.9 KiB\n");
    assert_eq!(folder.read("p.json"), folder.read("a.json"));
    let value = json_of(&folder.done(&[
        "flux",
        "externalize",
        "--json",
        "a.json",
        "--store",
        "other",
        "-o",
        "e.json",
    ]));
    assert_eq!((&value["files"], &value["bytes"]), (&json!(1), &json!(5000)));
    assert_eq!(folder.read("e.json"), folder.read("b.json"));
    folder.done(&["flux", "verify", "e.json", "--store", "other"]);
    // The store can also be an SQLite database in the format that Flux uses.
    let e = folder.done(&[
        "flux",
        "externalize",
        "a.json",
        "--store",
        "content.sqlite",
        "--hash",
        "sha256",
        "--chunksize",
        "2K",
    ]);
    folder.write("s.json", &e.stdout);
    folder.done(&["flux", "verify", "s.json", "--store", "content.sqlite"]);
    assert_eq!(
        folder.done(&["flux", "pack", "s.json", "--store", "content.sqlite"]).stdout,
        folder.read("a.json")
    );
    assert!(folder.read("content.sqlite").starts_with(b"SQLite format 3\0"));
    // If two stores are given, both are searched.
    folder.done(&[
        "flux",
        "pack",
        "s.json",
        "--store",
        "blobs",
        "--store",
        "content.sqlite",
        "-o",
        "two.json",
    ]);

    let missing = folder.run(&["flux", "pack", "b.json", "-o", "m.json"]);
    assert_eq!(status(&missing), 2);
    assert!(stderr(&missing).contains("d/b.bin: R155"), "{}", stderr(&missing));
    assert_eq!(folder.read("m.json"), folder.read("b.json"), "the entry is unchanged");
    let large = folder.run(&["flux", "pack", "b.json", "--store", "blobs", "--max-size", "4K"]);
    assert_eq!(status(&large), 2);
}

#[test]
fn gc_removes_blobs_that_none_of_the_given_archives_refers_to() {
    let folder = stored();
    let store = DirStore::open(folder.path("blobs")).unwrap();
    store.put(HashType::Sha1, b"nobody's").unwrap();
    folder.write("broken.json", "[{");
    let output = folder.run(&["flux", "gc", "--store", "blobs", "a.json", "broken.json"]);
    assert_eq!(status(&output), 1, "an unreadable archive may refer to any blob");
    let dry =
        folder.done(&["flux", "gc", "--dry-run", "-v", "--store", "blobs", "a.json", "b.json"]);
    assert_eq!(stdout(&dry), "blobs: 1 blob would be removed, 1 kept\n");
    assert!(stderr(&dry).contains("sha1-"));
    assert_eq!(store.list().unwrap().len(), 2);
    let value =
        json_of(&folder.done(&["flux", "gc", "--json", "--store", "blobs", "a.json", "b.json"]));
    assert_eq!(value["removed"].as_array().unwrap().len(), 1);
    folder.done(&["flux", "verify", "b.json", "--store", "blobs"]);
    // If only an archive without blobs is given, `gc` removes all blobs. The blob of `b.json` is
    // then missing.
    folder.done(&["flux", "gc", "-q", "--store", "blobs", "a.json"]);
    let output = folder.run(&["flux", "gc", "--store", "blobs", "b.json"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("is missing"));
    folder.write("blobs/kvs-primary", "{}");
    let output = folder.run(&["flux", "gc", "--store", "blobs", "a.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("the store of a broker"), "{}", stderr(&output));
}

#[test]
fn commands_use_the_last_of_several_entries_with_the_same_path() {
    let folder = Folder::new();
    let [old, new] = ["old", "new"].map(|data| {
        format!(r#"{{"path":"f","encoding":"utf-8","data":"{data}","size":3,"mode":33188}}"#)
    });
    let directory = r#"{"path":"d","mode":16877}"#;
    folder.write("a.json", format!("[{old},{directory},{new},{directory}]"));
    let listed = folder.done(&["flux", "list", "a.json"]);
    assert_eq!(stdout(&listed), "f\nd\n");
    assert!(
        stderr(&listed).contains("2 entries omitted because of later entries"),
        "{}",
        stderr(&listed)
    );
    let listed = stderr(&folder.done(&["flux", "list", "a.json", "f"]));
    assert!(listed.contains("1 entry omitted because of later entries"), "{listed}");
    assert_eq!(stdout(&folder.done(&["flux", "cat", "a.json", "f"])), "new");
    mkdir(&folder, "out");
    let extracted = folder.done(&["flux", "extract", "a.json", "-C", "out"]);
    assert!(stderr(&extracted).contains("R107"), "{}", stderr(&extracted));
    assert_eq!(folder.read("out/f"), b"new");
    folder.done(&["flux", "verify", "a.json", "-C", "out", "--no-permissions"]);
    folder.write("same.json", format!("[{new},{directory}]"));
    folder.done(&["flux", "diff", "a.json", "same.json"]);
    let info = folder.done(&["info", "a.json"]);
    assert!(stdout(&info).contains("1 file, 1 directory, 0 links, 3 B"), "{}", stdout(&info));
    for command in [&["convert", "--to", "array", "a.json"][..], &["pack", "a.json"]] {
        let output = folder.done(&[&["flux"], command].concat());
        assert_eq!(output.stdout, folder.read("same.json"), "{command:?}");
    }
    let lint = folder.run(&["flux", "lint", "a.json"]);
    assert_eq!((status(&lint), stdout(&lint).matches("R107").count()), (1, 2));
    folder.done(&["flux", "lint", "--fix", "a.json"]);
    assert_eq!(folder.read("a.json"), folder.read("same.json"));

    // A file cannot replace a directory.
    folder.write("b.json", format!(r#"[{{"path":"f","mode":16877}},{new}]"#));
    let output = folder.run(&["flux", "extract", "b.json", "-C", "out"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("R113"), "{}", stderr(&output));
}

#[test]
fn commands_that_rewrite_a_locked_archive_are_rejected() {
    let folder = archived();
    let lock = FileLock::acquire(folder.path("a.json")).unwrap();
    let before = folder.read("a.json");
    for command in [
        &["append", "a.json", "src/a.txt"][..],
        &["create", "--append", "-o", "a.json", "src/a.txt"],
        &["create", "--overwrite", "-o", "a.json", "src/a.txt"],
        &["delete", "a.json", "a.txt"],
        &["lint", "--fix", "a.json"],
        &["convert", "a.json", "-o", "a.json", "--force"],
        &["pack", "a.json", "-o", "a.json", "--force"],
        &["externalize", "a.json", "--store", "blobs", "-o", "a.json", "--force"],
    ] {
        let output = folder.run(&[&["flux"], command].concat());
        assert_eq!(status(&output), 2, "{command:?}");
        let message = "a.json: another change to this file is in progress";
        assert!(stderr(&output).contains(message), "{command:?}: {}", stderr(&output));
        assert_eq!(folder.read("a.json"), before, "{command:?}");
    }
    drop(lock);
    folder.done(&["flux", "append", "a.json", "src/a.txt"]);
}

#[test]
fn a_concurrent_append_adds_its_entry_if_and_only_if_it_succeeds() {
    let folder = Folder::new();
    for name in ["x", "y"] {
        folder.write(name, bytes(200_000));
    }
    for _ in 0..10 {
        folder.write("a.json", "[]");
        let children = ["x", "y"].map(|name| {
            let mut command = folder.command(&["flux", "append", "-q", "a.json", name]);
            command.stderr(std::process::Stdio::null()).spawn().unwrap()
        });
        let done = children.map(|mut child| child.wait().unwrap().success());
        let listed = paths(&folder, "a.json");
        for (name, done) in ["x", "y"].iter().zip(done) {
            assert_eq!(listed.contains(&(*name).to_owned()), done, "{name}: {listed:?}");
        }
    }
}

#[test]
fn a_concurrent_create_command_adds_its_file_if_and_only_if_it_succeeds() {
    let folder = Folder::new();
    for name in ["x", "y"] {
        folder.write(name, bytes(200_000));
    }
    for append in [&["--append"][..], &[]] {
        for _ in 0..15 {
            let _ = fs::remove_file(folder.path("a.json"));
            let children = ["x", "y"].map(|name| {
                let arguments = ["flux", "create", "-q", "-o", "a.json", name];
                let mut command = folder.command(&[&arguments[..], append].concat());
                command.stderr(std::process::Stdio::null()).spawn().unwrap()
            });
            let done = children.map(|mut child| child.wait().unwrap().success());
            let listed = paths(&folder, "a.json");
            for (name, done) in ["x", "y"].iter().zip(done) {
                assert_eq!(listed.contains(&(*name).to_owned()), done, "{append:?}: {listed:?}");
            }
        }
    }
}

#[test]
fn a_store_whose_database_deletes_blobs_on_insert_is_rejected() {
    let folder = archived();
    let database = rusqlite::Connection::open(folder.path("content.sqlite")).unwrap();
    let schema = "CREATE TABLE objects(hash BLOB PRIMARY KEY, size INT, object BLOB);
        CREATE TRIGGER gone AFTER INSERT ON objects BEGIN DELETE FROM objects; END;";
    database.execute_batch(schema).unwrap();
    drop(database);
    for command in [
        &["externalize", "a.json", "--store", "content.sqlite", "-o", "e.json"][..],
        &["create", "--store", "content.sqlite", "-o", "e.json", "-C", "src", "."],
    ] {
        let output = folder.run(&[&["flux"], command].concat());
        assert_eq!(status(&output), 1, "{command:?}");
        let message =
            "content.sqlite: the store cannot be used: expected objects to be a plain table";
        assert!(stderr(&output).contains(message), "{command:?}: {}", stderr(&output));
        assert!(!folder.path("e.json").exists());
    }
}

#[test]
fn an_unwritable_store_is_reported_by_name() {
    let folder = archived();
    // Create a directory at the path of the blob. A directory that is not empty cannot be replaced.
    let blobref = BlobRef::of(HashType::Sha1, &bytes(5000)).to_string();
    fs::create_dir_all(folder.path("blobs").join(&blobref).join("x")).unwrap();
    for command in [
        &["externalize", "a.json", "--store", "blobs", "-o", "e.json"][..],
        &["create", "--store", "blobs", "-o", "e.json", "-C", "src", "."],
    ] {
        let output = folder.run(&[&["flux"], command].concat());
        assert_eq!(status(&output), 2, "{command:?}");
        assert!(stderr(&output).starts_with("scibin: blobs: "), "{}", stderr(&output));
        assert!(!folder.path("e.json").exists());
    }
}
