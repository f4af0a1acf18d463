//! `scibin flux` as a user runs it: output, status, messages, what is left behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use flux_archive::kvs::JobId;
use flux_archive::store::{BlobStoreMut, DirStore};
use flux_archive::{Base64, BlobRef, HashType};
use serde_json::{Value, json};

use program::{Folder, json_of, status, stderr, stdout};

/// Bytes that are no text.
fn bytes(len: u32) -> Vec<u8> {
    (0..len).map(|n| (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] | 0x80).collect()
}

fn set_mode(folder: &Folder, name: &str, mode: u32) {
    fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// A folder with a tree `src` of every type.
fn source() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("src/d/empty")).unwrap();
    folder.write("src/a.txt", "two\nlines\n");
    folder.write("src/d/b.bin", bytes(5000));
    folder.write("src/d/nothing", "");
    symlink("a.txt", folder.path("src/link")).unwrap();
    for (name, mode) in [
        ("src/a.txt", 0o644),
        ("src/d/b.bin", 0o600),
        ("src/d/nothing", 0o644),
        ("src/d/empty", 0o755),
        ("src/d", 0o750),
    ] {
        set_mode(&folder, name, mode);
    }
    folder
}

/// The same with `a.json`, an archive of it with everything inside.
fn archived() -> Folder {
    let folder = source();
    folder.done(&["flux", "create", "-q", "-o", "a.json", "-C", "src", "."]);
    folder
}

/// The same with `b.json` whose large file is in the store `blobs`.
fn stored() -> Folder {
    let folder = archived();
    folder.done(&["flux", "create", "-q", "-o", "b.json", "-C", "src", "--store", "blobs", "."]);
    folder
}

fn mkdir(folder: &Folder, name: &str) {
    fs::create_dir(folder.path(name)).unwrap();
}

fn lines(output: &std::process::Output) -> Vec<String> {
    stdout(output).lines().map(str::to_owned).collect()
}

fn paths(folder: &Folder, archive: &str) -> Vec<String> {
    lines(&folder.done(&["flux", "list", archive]))
}

fn document(folder: &Folder, name: &str) -> Value {
    serde_json::from_slice(&folder.read(name)).unwrap()
}

#[test]
fn created_archive_is_listed_as_flux_does() {
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
    // What cannot be extracted can be listed.
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
fn list_gives_json_and_raw_entries() {
    let folder = archived();
    let value = json_of(&folder.done(&["flux", "list", "--json", "a.json"]));
    assert_eq!(value[0]["path"], "a.txt");
    assert_eq!(value[0]["encoding"], "utf-8");
    assert_eq!(value[1]["size"], 5000);
    assert_eq!(value[5]["type"], "symbolic link");
    assert_eq!(value[5]["target"], "a.txt");
    let raw = folder.done(&["flux", "list", "--raw", "a.json", "d"]);
    let entry = json_of(&raw);
    assert_eq!((&entry["path"], &entry["mode"]), (&json!("d"), &json!(0o40_750)));
    // What `--raw` prints is an archive again.
    let raw = folder.done(&["flux", "list", "--raw", "a.json"]);
    let again = folder.feed(&["flux", "list", "-l", "-"], &raw.stdout);
    assert_eq!(again.stdout, folder.done(&["flux", "list", "-l", "a.json"]).stdout);
}

#[test]
fn archive_goes_through_pipes() {
    let folder = source();
    let made = folder.done(&["flux", "create", "-C", "src", "a.txt", "d"]);
    mkdir(&folder, "out");
    let output = folder.feed(&["flux", "extract", "-C", "out", "-"], &made.stdout);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "out: 3 files, 2 directories, 0 links, 4.9 KiB\n");
    assert_eq!(folder.read("out/d/b.bin"), folder.read("src/d/b.bin"));
    let output = folder.feed(&["flux", "cat", "-", "a.txt"], &made.stdout);
    assert_eq!(stdout(&output), "two\nlines\n");
    // In place is then from input to output.
    let output = folder.feed(&["flux", "delete", "-", "d*"], &made.stdout);
    let left = folder.feed(&["flux", "list", "-"], &output.stdout);
    assert_eq!(lines(&left), ["a.txt"]);
}

#[test]
fn create_leaves_what_exists_unless_told() {
    let folder = archived();
    let before = folder.read("a.json");
    let output = folder.run(&["flux", "create", "-o", "a.json", "-C", "src", "d"]);
    assert_eq!(status(&output), 2);
    assert_eq!(
        stderr(&output),
        "scibin: a.json: exists already; --overwrite replaces it, --append adds to it\n"
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
fn every_option_of_create_is_in_the_archive() {
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
    // Octal as in C, and not everybody knows.
    let octal =
        folder.done(&["flux", "create", "--store", "b6", "--chunksize", "010", "src/a.txt"]);
    assert!(stderr(&octal).contains("--chunksize: the leading 0 makes it octal: 8 bytes"));
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
fn holes_are_where_they_are_wanted() {
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
fn archive_and_store_do_not_contain_themselves() {
    let folder = source();
    fs::rename(folder.path("src"), folder.path("tree")).unwrap();
    folder.write("old", "[]");
    let arguments = ["flux", "create", "-o", "x.json", "--store", "blobs", "."];
    let first = folder.done(&arguments);
    assert!(stderr(&first).contains("blobs: is the archive or its store, and was left out"));
    let listed = paths(&folder, "x.json");
    assert!(listed.contains(&"old".to_owned()), "{listed:?}");
    let own = |path: &String| {
        path.starts_with(".atomic") || path == "x.json" || path.starts_with("blobs")
    };
    assert!(!listed.iter().any(own), "{listed:?}");
    folder.done(&[&arguments[..], &["--overwrite"]].concat());
    assert_eq!(paths(&folder, "x.json"), listed);
    let appended = folder.done(&["flux", "append", "x.json", "."]);
    assert!(stderr(&appended).contains("x.json: is the archive"), "{}", stderr(&appended));
}

#[test]
fn what_cannot_be_archived_is_named_and_the_rest_is_written() {
    let folder = source();
    let made = std::process::Command::new("mkfifo").arg(folder.path("src/fifo")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mkfifo here");
        return;
    }
    let output =
        folder.run(&["flux", "create", "-o", "a.json", "-C", "src", ".", "../up", "missing"]);
    assert_eq!(status(&output), 2);
    let errors = stderr(&output);
    for part in ["fifo: R120 a FIFO", "../up: R110", "missing: "] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    assert_eq!(paths(&folder, "a.json").len(), 6);
}

#[test]
fn extract_makes_the_same_tree_again() {
    let folder = stored();
    for (archive, store) in [("a.json", &[][..]), ("b.json", &["--store", "blobs"])] {
        mkdir(&folder, "out");
        folder.done(&[&["flux", "extract", archive, "-C", "out"], store].concat());
        let again = folder
            .done(&[&["flux", "verify", archive, "-C", "out", "--no-permissions"], store].concat());
        assert!(stdout(&again).contains("fine, 6 entries"), "{}", stdout(&again));
        assert_eq!(folder.read("out/d/b.bin"), bytes(5000));
        assert_eq!(fs::read_link(folder.path("out/link")).unwrap(), Path::new("a.txt"));
        let mode = fs::metadata(folder.path("out/d/b.bin")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn options_of_extract_are_held() {
    let folder = stored();
    mkdir(&folder, "out");
    let extract = |options: &[&str]| {
        folder.run(&[&["flux", "extract", "a.json", "-C", "out"], options].concat())
    };
    let listed = folder.done(&["flux", "extract", "-t", "-C", "out", "a.json", "*.txt"]);
    assert_eq!(lines(&listed), ["f 0644       10 a.txt"]);
    let dry = extract(&["--dry-run"]);
    assert_eq!(stdout(&dry), "out: 3 files, 2 directories, 1 link would be extracted\n");
    let value = json_of(&extract(&["--dry-run", "--json"]));
    assert_eq!((&value["files"], &value["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0);

    let one = folder.done(&["flux", "extract", "a.json", "a*", "-v", "-C", "out", "--no-mtime"]);
    assert_eq!(stderr(&one), "scibin: a.txt\n");
    let again = extract(&["a*"]);
    assert_eq!(status(&again), 2);
    assert_eq!(stderr(&again), "scibin: a.json: a.txt: a file is there already\n");
    assert_eq!(status(&extract(&["a*", "--dry-run"])), 2, "what is in the way is found");
    folder.write("out/a.txt", "mine");
    assert_eq!(
        stdout(&extract(&["a*", "--skip-existing"])),
        "out: 0 files, 0 directories, 0 links, 1 skipped, 0 B\n"
    );
    assert_eq!(folder.read("out/a.txt"), b"mine");
    assert_eq!(status(&extract(&["a*", "--keep-newer"])), 0);
    assert_eq!(folder.read("out/a.txt"), b"mine", "it is newer");
    assert_eq!(status(&extract(&["a*", "--overwrite"])), 0);
    assert_eq!(folder.read("out/a.txt"), b"two\nlines\n");
    let mtime = |name: &str| fs::metadata(folder.path(name)).unwrap().mtime();
    assert_eq!(mtime("out/a.txt"), mtime("src/a.txt"));
    assert_eq!(status(&extract(&["--overwrite", "--skip-existing"])), 2);

    let none = extract(&["nothing-like-it"]);
    assert_eq!(status(&none), 0);
    assert!(stderr(&none).contains("No files matched pattern 'nothing-like-it'"));
    let large = extract(&["--overwrite", "--max-size", "4K"]);
    assert_eq!(status(&large), 2);
    assert!(stderr(&large).contains("above the limit of 4096"), "{}", stderr(&large));
    let hash = folder.run(&[
        "flux",
        "extract",
        "b.json",
        "*.bin",
        "-C",
        "out",
        "--store",
        "blobs",
        "--require-hash",
        "sha256",
    ]);
    assert_eq!(status(&hash), 2);
    assert!(stderr(&hash).contains("named by sha1"), "{}", stderr(&hash));
    assert_eq!(status(&folder.run(&["flux", "extract", "a.json", "-C", "no/such"])), 2);
    assert_eq!(folder.names(), ["a.json", "b.json", "blobs", "out", "src"]);
}

#[test]
fn several_processes_extract_into_one_tree() {
    let folder = Folder::new();
    let entries: Vec<String> = (0..400)
        .map(|n| {
            let (d, e) = (n % 7, n % 3);
            format!(r#"{{"path":"d{d}/e{e}/f{n}","mode":33188,"encoding":"utf-8","data":"{n}"}}"#)
        })
        .chain((0..7).map(|d| format!(r#"{{"path":"d{d}","mode":16832,"mtime":5}}"#)))
        .collect();
    folder.write("a.json", format!("[{}]", entries.join(",")));
    for policy in ["--skip-existing", "--overwrite"] {
        mkdir(&folder, "out");
        let arguments = ["flux", "extract", "--json", "-C", "out", policy, "a.json"];
        let start = |_| {
            let piped = std::process::Stdio::piped;
            folder.command(&arguments).stdout(piped()).stderr(piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let outputs: Vec<_> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let files = |output| {
            assert_eq!(status(output), 0, "{policy}: {}", stderr(output));
            json_of(output)["files"].as_u64().unwrap()
        };
        let files: u64 = outputs.iter().map(files).sum();
        assert_eq!(files, if policy == "--overwrite" { 1600 } else { 400 });
        folder.done(&["flux", "verify", "-C", "out", "--no-permissions", "a.json"]);
        let names: Vec<_> = fs::read_dir(folder.path("out/d3/e1")).unwrap().collect();
        assert!(names.iter().all(|name| !name.as_ref().unwrap().path().ends_with(".tmp")));
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn file_that_changes_while_it_is_archived_is_told_by_status_1() {
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
    assert_eq!(stderr(&output), "scibin: f: changed while it was read\n");
    folder.done(&["flux", "verify", "--store", "blobs", "a.json"]);
}

#[test]
fn store_that_is_tampered_with_gives_no_other_bytes() {
    let folder = stored();
    folder.write("other", bytes(6000));
    folder.done(&["flux", "create", "-q", "-o", "c.json", "--store", "blobs", "other"]);
    let blob =
        |data: &[u8]| folder.path("blobs").join(BlobRef::of(HashType::Sha1, data).to_string());
    let (first, second) = (blob(&bytes(5000)), blob(&bytes(6000)));
    let extract = |why: &str| {
        mkdir(&folder, "out");
        let output = folder.run(&["flux", "extract", "b.json", "-C", "out", "--store", "blobs"]);
        assert_eq!(status(&output), 2, "{why}");
        assert!(stderr(&output).contains(why), "{why}: {}", stderr(&output));
        assert!(!folder.path("out/d/b.bin").exists(), "{why}");
        assert!(folder.path("out/a.txt").exists(), "{why}");
        fs::remove_dir_all(folder.path("out")).unwrap();
        let output = folder.run(&["flux", "verify", "b.json", "--store", "blobs"]);
        assert_eq!(status(&output), 1, "{why}");
    };
    // Two that took each other's name.
    fs::rename(&first, folder.path("aside")).unwrap();
    fs::rename(&second, &first).unwrap();
    extract("R156");
    let mut same_length = bytes(5000);
    same_length[4999] ^= 1;
    fs::write(&first, same_length).unwrap();
    extract("R157");
    fs::remove_file(&first).unwrap();
    extract("R155");
    symlink("nowhere", &first).unwrap();
    extract("R155");
    fs::remove_file(&first).unwrap();
    fs::create_dir(&first).unwrap();
    extract("R157");
    fs::remove_dir(&first).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&first).status();
    if made.is_ok_and(|status| status.success()) {
        extract("R157");
    }
}

#[test]
fn archive_may_be_replaced_while_it_is_read() {
    let folder = archived();
    // In place, by itself, and by what is made of it.
    folder.done(&["flux", "convert", "a.json", "-o", "a.json", "--force"]);
    assert!(document(&folder, "a.json").is_object());
    folder.done(&["flux", "convert", "a.json", "-o", "a.json", "--force", "--pretty"]);
    folder.done(&["flux", "externalize", "a.json", "--store", "blobs", "-o", "a.json", "--force"]);
    folder.done(&["flux", "pack", "a.json", "--store", "blobs", "-o", "a.json", "--force"]);
    folder.done(&["flux", "lint", "--fix", "a.json"]);
    folder.done(&["flux", "verify", "-C", "src", "a.json"]);
    // By what it holds: it lies where it is extracted to.
    folder.write(
        "self.json",
        r#"[{"path":"self.json","mode":33188,"encoding":"utf-8","data":"gone","size":4}]"#,
    );
    folder.done(&["flux", "extract", "--overwrite", "self.json"]);
    assert_eq!(folder.read("self.json"), b"gone");
}

#[test]
fn messages_are_not_cut() {
    let folder = Folder::new();
    let path = format!("{}/f", "directory/".repeat(60).trim_end_matches('/'));
    folder.write(
        "a.json",
        format!(r#"[{{"path":"{path}","mode":33188,"encoding":"x","data":"y"}}]"#),
    );
    let output = folder.run(&["flux", "extract", "a.json"]);
    let expected = format!(
        "scibin: a.json: {path}: R140 expected \"utf-8\", \"base64\" or \"blobvec\", found \"x\" (at /0/encoding)\n"
    );
    assert_eq!((status(&output), stderr(&output)), (2, expected));
}

#[test]
fn permissions_are_restored_exactly_only_when_asked() {
    let folder = Folder::new();
    folder.write("a.json", r#"[{"path":"f","mode":35309,"size":0}]"#);
    mkdir(&folder, "plain");
    mkdir(&folder, "exact");
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().mode() & 0o7777;
    folder.done(&["flux", "extract", "a.json", "-C", "plain"]);
    assert_eq!(mode("plain/f") & 0o7000, 0, "no set-user-id");
    folder.done(&["flux", "extract", "a.json", "-C", "exact", "--preserve-permissions", "--sync"]);
    assert_eq!(mode("exact/f"), 0o4755);
}

#[test]
fn hostile_archives_leave_nothing_and_say_why() {
    let folder = Folder::new();
    mkdir(&folder, "out");
    mkdir(&folder, "away");
    let away = folder.path("away");
    let away = away.to_str().unwrap();
    for (archive, status_expected, why) in [
        (r#"[{"path":"../x","mode":33188,"size":0}]"#.to_owned(), 2, "R110"),
        (format!(r#"[{{"path":"l","mode":41471,"data":"{away}"}},{{"path":"l/x","mode":33188,"size":0}}]"#), 2, "R113"),
        (r#"[{"path":"f","mode":33188,"size":9223372036854775807}]"#.to_owned(), 2, "above the limit"),
        (r#"[{"path":"d","mode":4516}]"#.to_owned(), 2, "R120"),
        (r#"[{"path":"f","mode":33188,"encoding":"base64","data":"*"}]"#.to_owned(), 2, "R145"),
        (r#"[{"path":"f","mode":33188,"#.to_owned(), 2, "no JSON"),
        ("\u{feff}[]".to_owned(), 2, "no JSON"),
        (r#"{"version":1,"type":"fileref","path":"f","mode":33188,"size":1,"blobvec":[]}"#.to_owned(), 2, "R170"),
        (r#"[{"path":"f","size":1,"mode":33188,"encoding":"blobvec","data":[[0,1,"sha1-2e6f9b0d5885b6010f9167787445617f553a735f"]]}]"#.to_owned(), 2, "R155"),
    ] {
        folder.write("h.json", &archive);
        let output = folder.run(&["flux", "extract", "h.json", "-C", "out"]);
        assert_eq!(status(&output), status_expected, "{archive}");
        assert!(stderr(&output).contains(why), "{archive}: {}", stderr(&output));
        assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0, "{archive}");
    }
    folder.write("h.json", "");
    assert_eq!(status(&folder.run(&["flux", "extract", "h.json", "-C", "out"])), 2);
    // A link on the disk leads nowhere either.
    symlink(away, folder.path("out/l")).unwrap();
    folder.write(
        "h.json",
        r#"[{"path":"l/x","mode":33188,"size":0},{"path":"ok","mode":33188,"size":0}]"#,
    );
    let output = folder.run(&["flux", "extract", "h.json", "-C", "out", "--overwrite"]);
    assert_eq!(status(&output), 2);
    assert!(folder.path("out/ok").exists(), "the rest is extracted");
    fs::remove_file(folder.path("out/ok")).unwrap();
    folder.run(&["flux", "extract", "h.json", "-C", "out", "--fail-fast"]);
    assert!(!folder.path("out/ok").exists(), "nothing is, if it is to stop");
    assert_eq!(fs::read_dir(away).unwrap().count(), 0);
    // Targets of links are kept unless told otherwise.
    folder.write("h.json", r#"[{"path":"up","mode":41471,"data":"../away"},{"path":"abs","mode":41471,"data":"/etc"}]"#);
    for (policy, made) in [("refuse-escaping", 0), ("refuse-absolute", 1), ("keep", 2)] {
        let output = folder.run(&[
            "flux",
            "extract",
            "h.json",
            "-C",
            "out",
            "--links",
            policy,
            "--skip-existing",
        ]);
        assert_eq!(status(&output), if made == 2 { 0 } else { 2 }, "{policy}");
        let there = ["up", "abs"].iter().filter(|name| folder.path("out").join(name).is_symlink());
        assert_eq!(there.count(), made, "{policy}");
    }
}

#[test]
fn profiles_pointers_and_lenient_json_say_what_is_an_archive() {
    let folder = Folder::new();
    folder.write("commas.json", r#"[{"path":"d","mode":16877,},]"#);
    assert_eq!(status(&folder.run(&["flux", "list", "commas.json"])), 2);
    assert_eq!(lines(&folder.done(&["flux", "list", "--lenient-json", "commas.json"])), ["d"]);
    folder.write("job.json", r#"{"attributes":{"system":{"files":{"script":{"mode":33216,"encoding":"utf-8","data":"true\n"}}}}}"#);
    assert_eq!(stdout(&folder.done(&["flux", "cat", "job.json", "script"])), "true\n");
    let strict = folder.run(&["flux", "cat", "--profile", "strict", "job.json", "script"]);
    assert_eq!(status(&strict), 2);
    assert!(stderr(&strict).contains("R130"));
    folder.write("deep.json", r#"{"x":[0,{"d":{"mode":16877}}]}"#);
    assert_eq!(lines(&folder.done(&["flux", "list", "--pointer", "/x/1", "deep.json"])), ["d"]);
    folder.write("old.json", r#"[{"version":1,"type":"fileref","path":"f","size":3,"mode":33188,"mtime":1,"ctime":1,"data":"YWJj"}]"#);
    assert_eq!(status(&folder.run(&["flux", "cat", "old.json", "f"])), 2);
    assert_eq!(
        stdout(&folder.done(&["flux", "cat", "--profile", "legacy", "old.json", "f"])),
        "abc"
    );
    // Only the whole document can be changed in place.
    let output = folder.run(&["flux", "delete", "job.json", "script"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("a part of the document"), "{}", stderr(&output));
}

#[test]
fn cat_gives_files_and_ranges_of_them() {
    let folder = stored();
    let cat = |rest: &[&str]| {
        folder.run(&[&["flux", "cat", "--store", "blobs", "b.json"], rest].concat())
    };
    assert_eq!(cat(&["d/b.bin"]).stdout, bytes(5000));
    assert_eq!(cat(&["a.txt", "d/nothing", "a.txt"]).stdout, b"two\nlines\ntwo\nlines\n");
    assert_eq!(cat(&["--range", "4000..4010", "d/b.bin"]).stdout, &bytes(5000)[4000..4010]);
    assert_eq!(cat(&["--range", "4990..", "d/b.bin"]).stdout, &bytes(5000)[4990..]);
    assert_eq!(cat(&["--range", "..3", "a.txt"]).stdout, b"two");
    assert_eq!(cat(&["--range", "9000..9001", "a.txt"]).stdout, b"");
    for (path, why) in
        [("nope", "is not in the archive"), ("d", "directory"), ("link", "symbolic link")]
    {
        let output = cat(&[path]);
        assert_eq!(status(&output), 2, "{path}");
        assert!(stderr(&output).contains(why), "{path}: {}", stderr(&output));
    }
    let blind = folder.run(&["flux", "cat", "b.json", "d/b.bin"]);
    assert_eq!((status(&blind), stdout(&blind)), (2, String::new()));
    assert!(stderr(&blind).contains("R155"));
}

#[test]
fn verify_finds_what_is_wrong_with_archive_blobs_and_disk() {
    let folder = stored();
    for fine in [
        &["verify", "a.json"][..],
        &["flux", "verify", "b.json", "--store", "blobs"],
        &["flux", "verify", "b.json", "--store", "blobs", "-C", "src"],
    ] {
        let output = folder.done(fine);
        assert!(stdout(&output).contains(": fine, 6 entries"), "{}", stdout(&output));
    }
    let unchecked = folder.done(&["verify", "b.json"]);
    assert!(stderr(&unchecked).contains("1 blob not checked"), "{}", stderr(&unchecked));
    let hash = folder.run(&["flux", "verify", "b.json", "--require-hash", "sha256"]);
    assert_eq!(status(&hash), 1);

    folder.write("src/a.txt", "two\nlINes\n");
    fs::remove_file(folder.path("src/link")).unwrap();
    let output = folder.run(&["flux", "verify", "a.json", "-C", "src", "--no-mtime"]);
    assert_eq!(status(&output), 1);
    assert_eq!(lines(&output), ["a.json: a.txt: content", "a.json: link: removed"]);

    let blob = folder.path("blobs").join(BlobRef::of(HashType::Sha1, &bytes(5000)).to_string());
    fs::write(&blob, bytes(4999)).unwrap();
    let verify = ["flux", "verify", "--json", "b.json", "--store", "blobs"];
    let value = json_of(&folder.run(&verify));
    assert_eq!((&value["ok"], &value["findings"][0]["code"]), (&json!(false), &json!("R156")));
    fs::remove_file(&blob).unwrap();
    let output = folder.run(&verify);
    assert_eq!(status(&output), 1);
    assert_eq!(json_of(&output)["findings"][0]["code"], "R155");

    folder.write("bad.json", r#"[{"path":"..","mode":33188}]"#);
    let output = folder.run(&["verify", "bad.json"]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains("R110"), "{}", stdout(&output));
    folder.write("bad.json", "[{]");
    assert_eq!(status(&folder.run(&["verify", "bad.json"])), 1);
    assert_eq!(status(&folder.run(&["verify", "missing.json"])), 2);
}

#[test]
fn diff_tells_what_differs_by_status_1() {
    let folder = stored();
    let same = folder.done(&["flux", "diff", "a.json", "b.json"]);
    assert_eq!(stdout(&same), "");
    folder.done(&[
        "flux",
        "create",
        "-q",
        "-o",
        "c.json",
        "-C",
        "src",
        "--store",
        "blobs",
        "--chunksize",
        "1000",
        ".",
    ]);
    let unknown = folder.run(&["flux", "diff", "b.json", "c.json"]);
    assert_eq!(status(&unknown), 1);
    assert_eq!(stdout(&unknown), "d/b.bin: content: told by the blobs only\n");
    folder.done(&["flux", "diff", "b.json", "c.json", "--store", "blobs"]);

    folder.done(&["flux", "diff", "a.json", "-C", "src"]);
    set_mode(&folder, "src/a.txt", 0o600);
    folder.done(&["flux", "diff", "a.json", "-C", "src", "--no-permissions"]);
    let output = folder.run(&["flux", "diff", "a.json", "-C", "src"]);
    assert_eq!(
        (status(&output), stdout(&output)),
        (1, "a.txt: permissions: 0644, 0600\n".to_owned())
    );
    folder.done(&["flux", "delete", "-q", "c.json", "link", "a.txt"]);
    let value =
        json_of(&folder.run(&["flux", "diff", "--json", "c.json", "a.json", "--store", "blobs"]));
    assert_eq!(
        value["differences"],
        json!([{"path": "a.txt", "changes": ["added"]}, {"path": "link", "changes": ["added"]}])
    );
    assert_eq!(status(&folder.run(&["flux", "diff", "a.json", "missing.json"])), 2);
    assert_eq!(status(&folder.run(&["flux", "diff", "a.json"])), 2);
}

#[test]
fn lint_names_codes_and_mends_what_it_can() {
    let folder = archived();
    assert_eq!(stdout(&folder.done(&["flux", "lint", "a.json"])), "");
    let untidy = r#"[{"path":"/a/./b","mode":33188,"encoding":"utf-8","data":"x"},{"path":"../c","mode":33188,"size":0}]"#;
    folder.write("u.json", untidy);
    let output = folder.run(&["flux", "lint", "u.json"]);
    assert_eq!(status(&output), 1);
    for code in ["R111", "R112", "R130", "R110"] {
        assert!(stdout(&output).contains(code), "{code}: {}", stdout(&output));
    }
    let value = json_of(&folder.run(&["flux", "lint", "--json", "--profile", "flux", "u.json"]));
    let codes: Vec<&str> = value["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["R112", "R111", "R110"]);
    assert_eq!(value["violations"][0]["severity"], "warning");

    let fixed = folder.run(&["flux", "lint", "--fix", "u.json", "-o", "fixed.json"]);
    assert_eq!(status(&fixed), 1, "one is left");
    assert!(
        stdout(&fixed).contains("R110") && stdout(&fixed).contains("fixed.json: 1 entry mended")
    );
    assert_eq!(folder.read("u.json"), untidy.as_bytes());
    assert_eq!(
        document(&folder, "fixed.json")[0],
        json!({"path": "a/b", "encoding": "utf-8", "data": "x", "size": 1, "mode": 33188})
    );
    let again = folder.run(&["flux", "lint", "--fix", "u.json", "-o", "fixed.json"]);
    assert!(stderr(&again).contains("--force"));
    folder.done(&["flux", "delete", "-q", "u.json", "../c"]);
    folder.done(&["flux", "lint", "--fix", "u.json"]);
    folder.done(&["flux", "lint", "u.json"]);
    // Objects become an array, and commas go.
    let output = folder.feed(
        &["flux", "lint", "--fix", "--lenient-json", "-", "-o", "-"],
        br#"{"path":"d","mode":16877,}"#,
    );
    assert_eq!((status(&output), stdout(&output).as_str()), (0, r#"[{"path":"d","mode":16877}]"#));
}

#[test]
fn convert_goes_from_array_to_dict_and_back() {
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
fn append_keeps_the_order_and_replaces_in_a_dict() {
    let folder = archived();
    folder.write("src/a.txt", "new");
    let added = folder.done(&["flux", "append", "a.json", "-C", "src", "a.txt"]);
    assert_eq!(stdout(&added), "a.json: 1 entry added\n");
    let listed = paths(&folder, "a.json");
    assert_eq!((listed.len(), listed[0].as_str(), listed[6].as_str()), (7, "a.txt", "a.txt"));
    assert_eq!(stdout(&folder.run(&["flux", "cat", "a.json", "a.txt"])), "new", "the later one");

    folder.done(&["flux", "create", "-q", "-o", "d.json", "--dict", "-C", "src", "link", "a.txt"]);
    folder.write("src/a.txt", "newer");
    folder.done(&[
        "flux", "append", "-q", "d.json", "-C", "src", "--store", "blobs", "a.txt", "d/b.bin",
    ]);
    assert_eq!(paths(&folder, "d.json"), ["link", "a.txt", "d/b.bin"]);
    assert_eq!(document(&folder, "d.json")["a.txt"]["data"], "newer");
    folder.done(&["flux", "verify", "d.json", "--store", "blobs"]);

    // An archive that cannot be read is not taken for one that is not there.
    for bad in ["", "[{\"path\":\"..\",\"mode\":33188}]", "[{"] {
        folder.write("bad.json", bad);
        let output = folder.run(&["flux", "append", "bad.json", "src"]);
        assert_eq!(status(&output), 2, "{bad}");
        let output = folder.run(&["flux", "create", "--append", "-o", "bad.json", "src"]);
        assert_eq!(status(&output), 2, "{bad}");
        assert_eq!(folder.read("bad.json"), bad.as_bytes());
    }
    folder.write("file.json", r#"[{"path":"src","mode":33188,"size":0}]"#);
    let output = folder.run(&["flux", "append", "file.json", "src/d"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("R113"), "{}", stderr(&output));
}

#[test]
fn delete_removes_by_pattern() {
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
fn pack_and_externalize_are_inverse() {
    let folder = stored();
    let packed = folder.done(&["flux", "pack", "b.json", "--store", "blobs", "-o", "p.json"]);
    assert_eq!(stdout(&packed), "p.json: 1 file taken in, 4.9 KiB\n");
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
    // A store in a database, as Flux has it.
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
    // Two stores, asked in turn.
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
    assert_eq!(folder.read("m.json"), folder.read("b.json"), "the entry is as it was");
    let large = folder.run(&["flux", "pack", "b.json", "--store", "blobs", "--max-size", "4K"]);
    assert_eq!(status(&large), 2);
}

#[test]
fn gc_removes_what_no_archive_names() {
    let folder = stored();
    let store = DirStore::open(folder.path("blobs")).unwrap();
    store.put(HashType::Sha1, b"nobody's").unwrap();
    folder.write("broken.json", "[{");
    let output = folder.run(&["flux", "gc", "--store", "blobs", "a.json", "broken.json"]);
    assert_eq!(status(&output), 2, "an archive that cannot be read may name all of them");
    let dry =
        folder.done(&["flux", "gc", "--dry-run", "-v", "--store", "blobs", "a.json", "b.json"]);
    assert_eq!(stdout(&dry), "blobs: 1 blob would be removed, 1 kept\n");
    assert!(stderr(&dry).contains("sha1-"));
    assert_eq!(store.list().unwrap().len(), 2);
    let value =
        json_of(&folder.done(&["flux", "gc", "--json", "--store", "blobs", "a.json", "b.json"]));
    assert_eq!(value["removed"].as_array().unwrap().len(), 1);
    folder.done(&["flux", "verify", "b.json", "--store", "blobs"]);
    // With only an archive that names none, all goes; then one is missing.
    folder.done(&["flux", "gc", "-q", "--store", "blobs", "a.json"]);
    let output = folder.run(&["flux", "gc", "--store", "blobs", "b.json"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("is missing"));
    folder.write("blobs/kvs-primary", "{}");
    let output = folder.run(&["flux", "gc", "--store", "blobs", "a.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("the store of a broker"), "{}", stderr(&output));
}

/// A state directory of files, with an archive, one of a hostile name, and a job with a script.
fn state(folder: &Folder) -> JobId {
    mkdir(folder, "state");
    let store = DirStore::create(folder.path("state/content.files")).unwrap();
    let put = |blob: &[u8]| store.put(HashType::Sha1, blob).unwrap().to_string();
    let put_json = |value: &Value| put(value.to_string().as_bytes());
    let directory = |members: &Value| json!({"ver": 1, "type": "dir", "data": members});
    let val = |text: &[u8]| json!({"ver": 1, "type": "val", "data": Base64::encode(text).as_str()});
    let content = bytes(3000);
    let blob = put(&content);
    let archive = json!([{"path": "d/big", "encoding": "blobvec", "data": [[0, 3000, blob]],
        "size": 3000, "mtime": 5, "ctime": 5, "mode": 33188}]);
    let main = json!({"ver": 1, "type": "valref", "data": [put_json(&archive)]});
    let archives = directory(&json!({"main": main, "sub/away": val(b"[]")}));
    let jobspec = json!({"attributes": {"system": {"files": {
        "script": {"mode": 33216, "encoding": "utf-8", "data": "#!/bin/sh\n"},
    }}}});
    let id = JobId::parse("0000.b200.0004.0000").unwrap();
    let job = directory(&json!({"jobspec": val(jobspec.to_string().as_bytes())}));
    let job = ["0000", "0004", "b200", "0000"]
        .iter()
        .fold(job, |below, name| directory(&json!({*name: below})));
    let root = put_json(&directory(&json!({"archive": archives, "job": job})));
    folder.write(
        "state/content.files/kvs-primary",
        json!({"version": 1, "rootref": root, "sequence": 1}).to_string(),
    );
    id
}

#[test]
fn rescue_lists_and_extracts_what_a_broker_left() {
    let folder = Folder::new();
    let id = state(&folder);
    let listed = folder.done(&["flux", "rescue", "state"]);
    let job = id.0.to_string();
    assert_eq!(
        lines(&listed),
        [
            "archive main: 1 entry, 2.9 KiB".to_owned(),
            "archive sub/away: 0 entries, 0 B".to_owned(),
            format!("job {job}: 1 entry, 10 B"),
        ]
    );
    mkdir(&folder, "out");
    let output = folder.run(&["flux", "rescue", "state", "-C", "out"]);
    assert_eq!(status(&output), 2, "one has a name that is a path");
    assert!(
        stderr(&output).contains("sub/away: the name is none for a directory"),
        "{}",
        stderr(&output)
    );
    assert_eq!(folder.read("out/main/d/big"), bytes(3000));
    assert_eq!(folder.read(&format!("out/job-{job}/script")), b"#!/bin/sh\n");
    assert_eq!(folder.names(), ["out", "state"]);

    // The same archive for the other commands.
    let listed = folder.done(&["flux", "list", "--statedir", "state", "-n", "main", "d/*"]);
    assert_eq!(stdout(&listed), "d/big\n");
    let listed = folder.done(&["flux", "list", "-l", "--statedir", "state", "--job", &job]);
    assert_eq!(stdout(&listed), "f 0700        0 script\n");
    assert_eq!(folder.done(&["flux", "cat", "--statedir", "state", "d/big"]).stdout, bytes(3000));
    folder.done(&["flux", "verify", "--statedir", "state"]);
    folder.done(&["flux", "pack", "--statedir", "state", "-n", "main", "-o", "own.json"]);
    assert_eq!(folder.done(&["flux", "cat", "own.json", "d/big"]).stdout, bytes(3000));
    mkdir(&folder, "x");
    folder.done(&["flux", "extract", "--statedir", "state", "-C", "x"]);
    assert_eq!(folder.read("x/d/big"), bytes(3000));
    for (arguments, why) in [
        (&["flux", "list", "--statedir", "state", "-n", "none"][..], "no such key"),
        (&["flux", "rescue", "out"], "no content.sqlite and no content.files"),
        (&["flux", "rescue", "state", "--job", "x y"], "no number of a job"),
        (&["flux", "list", "-n", "main", "own.json"], "--statedir"),
    ] {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(why), "{arguments:?}: {}", stderr(&output));
    }

    let files = folder.path("state/content.files");
    fs::remove_file(files.join(BlobRef::of(HashType::Sha1, &bytes(3000)).to_string())).unwrap();
    let listed = folder.run(&["flux", "rescue", "state", "-n", "main"]);
    assert_eq!(
        (status(&listed), stdout(&listed)),
        (1, "archive main: 1 entry, 2.9 KiB, 1 blob missing\n".to_owned())
    );
}

#[test]
fn what_is_lost_of_a_state_costs_only_itself() {
    let folder = Folder::new();
    mkdir(&folder, "state");
    let store = DirStore::create(folder.path("state/content.files")).unwrap();
    let put = |value: &Value| {
        store.put(HashType::Sha1, value.to_string().as_bytes()).unwrap().to_string()
    };
    let directory = |members: &Value| json!({"ver": 1, "type": "dir", "data": members});
    let gone = BlobRef::of(HashType::Sha1, b"gone").to_string();
    let gone = json!({"ver": 1, "type": "dirref", "data": [gone]});
    let empty = Base64::encode(b"[]");
    let archive = json!({"ver": 1, "type": "val", "data": empty.as_str()});
    for (archives, jobs, found) in [
        (directory(&json!({"main": archive})), gone.clone(), "archive main: 0 entries, 0 B\n"),
        (gone, directory(&json!({})), ""),
    ] {
        let root = put(&directory(&json!({"archive": archives, "job": jobs})));
        let checkpoint = json!({"version": 1, "rootref": root, "sequence": 1}).to_string();
        folder.write("state/content.files/kvs-primary", checkpoint);
        let output = folder.run(&["flux", "rescue", "state"]);
        assert_eq!((status(&output), stdout(&output).as_str()), (2, found));
        assert!(stderr(&output).contains("is not in the store"), "{}", stderr(&output));
    }
}

#[test]
fn many_warnings_are_told_in_part_and_the_archive_is_extracted() {
    let folder = Folder::new();
    mkdir(&folder, "out");
    let entries: Vec<String> =
        (0..10_100).map(|n| format!(r#"{{"path":"/d{n}","mode":16877}}"#)).collect();
    folder.write("a.json", format!("[{}]", entries.join(",")));
    let output = folder.done(&["flux", "extract", "a.json", "d777*", "-C", "out"]);
    assert!(stdout(&output).contains("11 directories"), "{}", stdout(&output));
    let told = stderr(&output);
    assert_eq!(told.lines().count(), 10_001);
    assert!(told.ends_with("scibin: a.json: and 100 more of such\n"), "{told}");
    let lint = folder.run(&["flux", "lint", "a.json"]);
    assert_eq!((status(&lint), stdout(&lint).lines().count()), (1, 10_100));
    folder.done(&["flux", "lint", "--fix", "a.json"]);
}

/// A tar file as `flux dump` writes it.
fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    for (name, data) in members {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..108].copy_from_slice(b"0000644\0");
        header[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
        header[148..156].fill(b' ');
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        file.extend_from_slice(&header);
        file.extend_from_slice(data);
        file.resize(file.len().next_multiple_of(512), 0);
    }
    file.resize(file.len() + 1024, 0);
    file
}

#[test]
fn dump_is_a_state_and_a_store() {
    let folder = Folder::new();
    let data = bytes(3000);
    let blobref = BlobRef::of(HashType::Sha1, &data);
    let archive = json!([{"path": "big", "encoding": "blobvec", "data": [[0, 3000, blobref.to_string()]],
        "size": 3000, "mode": 33188}]);
    let archive = archive.to_string();
    let jobspec = br#"{"attributes":{"system":{"files":{"s":{"mode":33216,"encoding":"utf-8","data":"x"}}}}}"#;
    folder.write(
        "dump.tar",
        tar(&[
            ("archive/main", archive.as_bytes()),
            ("archive/main_blobs/0", &data),
            ("job/0000/0000/0000/0001/jobspec", jobspec),
        ]),
    );
    folder.write("a.json", &archive);
    assert_eq!(folder.done(&["flux", "cat", "a.json", "big", "--store", "dump.tar"]).stdout, data);
    assert_eq!(folder.done(&["flux", "cat", "--statedir", "dump.tar", "big"]).stdout, data);
    let listed = folder.done(&["flux", "rescue", "dump.tar"]);
    assert_eq!(lines(&listed), ["archive main: 1 entry, 2.9 KiB", "job 1: 1 entry, 1 B"]);
    mkdir(&folder, "out");
    folder.done(&["flux", "rescue", "dump.tar", "-C", "out", "--job", "1"]);
    assert_eq!(folder.read("out/job-1/s"), b"x");
    let output = folder.run(&["flux", "cat", "--statedir", "dump.tar", "-n", "none", "big"]);
    assert_eq!(status(&output), 2);
}

#[test]
fn info_knows_archives_by_their_content() {
    let folder = stored();
    let output = folder.done(&["info", "b.json"]);
    let text = stdout(&output);
    for part in [
        "Flux archive (RFC 37), an array",
        "3 files, 2 directories, 1 link, 4.9 KiB",
        "blobvec: 1 file",
        "sha1: 1 blob",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let value = json_of(&folder.done(&["flux", "info", "--json", "b.json"]));
    assert_eq!(value["format"], "flux");
    assert_eq!(value["encodings"]["utf-8"], json!({"files": 1, "bytes": 10}));
    assert_eq!(value["blobs"]["sha1"], json!({"blobs": 1, "bytes": 5000}));
    folder.write("other.json", r#"{"name": "x", "version": [1, 2]}"#);
    let output = folder.run(&["info", "other.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("R102"), "{}", stderr(&output));
}

#[test]
fn get_gives_values_of_the_document() {
    let folder = archived();
    assert_eq!(stdout(&folder.done(&["get", "a.json", "/0/path"])), "a.txt\n");
    assert_eq!(
        stdout(&folder.done(&["get", "--json", "a.json", "/0/data"])),
        "\"two\\nlines\\n\"\n"
    );
    assert_eq!(stdout(&folder.done(&["get", "a.json", "/1/size"])), "5000\n");
    let output = folder.run(&["get", "a.json", "/9"]);
    assert_eq!(status(&output), 2);
    assert_eq!(status(&folder.run(&["get", "a.json", "/0", "--slice", "0"])), 2);
}

#[test]
fn closed_pipe_is_no_failure() {
    let folder = archived();
    let mut child = folder
        .command(&["flux", "cat", "a.json", "d/b.bin"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some_and(|code| code == 0));
}
