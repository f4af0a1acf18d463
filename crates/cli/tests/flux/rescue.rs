//! Tests of reading archives and jobs from the state of a broker, and of `flux put`.

use std::fs;

use flux_archive::json::Base64;
use flux_archive::kvs::JobId;
use flux_archive::store::{BlobStoreMut, DirStore};
use flux_archive::{BlobRef, HashType};
use serde_json::{Value, json};

use crate::program::{Folder, json_of, status, stderr, stdout};
use crate::{bytes, lines, mkdir, set_mode, stored};

/// Creates a state directory with an archive, an archive whose name contains a slash, and a job
/// with a script. Returns the ID of the job.
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
fn rescue_lists_and_extracts_the_archives_and_jobs_of_a_broker() {
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
    // The output directory is created if it does not exist.
    let output = folder.run(&["flux", "rescue", "state", "-C", "out"]);
    assert_eq!(status(&output), 2, "one archive has a path as its name");
    assert!(
        stderr(&output).contains("sub/away: the name cannot be used for a directory"),
        "{}",
        stderr(&output)
    );
    assert_eq!(folder.read("out/main/d/big"), bytes(3000));
    assert_eq!(folder.read(&format!("out/job-{job}/script")), b"#!/bin/sh\n");
    assert_eq!(folder.names(), ["out", "state"]);

    // The commands that read archives can read the archives in a state directory.
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
        (&["flux", "rescue", "out"], "expected content.sqlite or content.files"),
        (&["flux", "rescue", "state", "--job", "x y"], "expected a job ID"),
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
fn lost_parts_of_a_state_do_not_affect_the_rest() {
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

/// Returns a tar file in the format that `flux dump` writes.
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
fn a_dump_can_be_used_as_a_state_and_as_a_store() {
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
fn complete_members_of_a_truncated_dump_are_rescued() {
    let folder = Folder::new();
    let archive = |path: &str| format!(r#"[{{"path":"{path}","mode":16877}}]"#);
    let whole = tar(&[
        ("archive/first", archive("a").as_bytes()),
        ("archive/second", archive("b").as_bytes()),
    ]);
    folder.write("dump.tar", &whole[..1100]);
    let output = folder.run(&["flux", "rescue", "dump.tar", "-C", "out"]);
    assert_eq!(status(&output), 1);
    assert!(
        stderr(&output).contains("everything after archive/first is missing"),
        "{}",
        stderr(&output)
    );
    assert!(folder.path("out/first/a").exists());
    let output = folder.run(&["flux", "list", "--statedir", "dump.tar", "-n", "second"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("archive.second was not found"), "{}", stderr(&output));
    // An archive before the truncation is still printed, but the rest of the dump is reported as
    // missing.
    for command in ["list", "info", "verify"] {
        let output = folder.run(&["flux", command, "--statedir", "dump.tar", "-n", "first"]);
        assert_eq!(status(&output), 1, "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("everything after archive/first is missing"), "{command}");
        assert!(!output.stdout.is_empty(), "{command}");
    }
    let report = json_of(&folder.run(&[
        "flux",
        "verify",
        "--json",
        "--statedir",
        "dump.tar",
        "-n",
        "first",
    ]));
    assert_eq!(
        (&report["ok"], &report["diagnostics"][0]["code"]),
        (&json!(false), &json!("DamagedDump"))
    );
    folder.write("other.tar", "no tar");
    assert_eq!(status(&folder.run(&["flux", "rescue", "other.tar"])), 1);
}

#[test]
fn a_fifo_is_rejected_as_state_or_store_without_blocking() {
    let folder = Folder::new();
    mkdir(&folder, "state");
    folder.write("a.json", r#"[{"path":"d","mode":16877}]"#);
    for fifo in ["state/content.sqlite", "store.sqlite"] {
        let made = std::process::Command::new("mkfifo").arg(folder.path(fifo)).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no mkfifo here");
            return;
        }
    }
    for command in [
        &["rescue", "state"][..],
        &["rescue", "store.sqlite"],
        &["list", "--statedir", "state"],
        &["verify", "a.json", "--store", "store.sqlite"],
        &["externalize", "a.json", "--store", "store.sqlite"],
        &["create", "--store", "state/content.sqlite", "a.json"],
    ] {
        let output = folder.run(&[&["flux"], command].concat());
        assert_eq!(status(&output), 2, "{command:?}");
    }
}

#[test]
fn a_database_whose_blobs_are_computed_by_sql_is_rejected_as_bad_data() {
    let folder = Folder::new();
    let forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    for (name, schema) in [
        ("view", format!("CREATE VIEW Objects AS {forever} SELECT i AS hash, -1 AS size, i AS object FROM n")),
        ("virtual", "CREATE VIRTUAL TABLE Objects USING fts5(hash, size, object)".to_owned()),
        ("zeros", "CREATE TABLE objects(hash BLOB, size INT, object AS (zeroblob(900000000)))".to_owned()),
        (
            "text",
            "CREATE TABLE objects(hash AS (replace(hex(zeroblob(450000000)), '0', 'x')), size, object);
            INSERT INTO objects VALUES (1, 2)".to_owned(),
        ),
    ] {
        mkdir(&folder, name);
        let database = folder.path(name).join("content.sqlite");
        let connection = rusqlite::Connection::open(database).unwrap();
        let checkpoints = "CREATE TABLE checkpt_v2(id INTEGER PRIMARY KEY, value TEXT);
            INSERT INTO checkpt_v2 (value) VALUES ('sha1-a9993e364706816aba3e25717850c26c9cd0d89d')";
        connection.execute_batch(checkpoints).unwrap();
        connection.execute_batch(&schema).unwrap();
        drop(connection);
        for command in [&["rescue", name][..], &["list", "--statedir", name]] {
            let output = folder.run(&[&["flux"], command].concat());
            assert_eq!(status(&output), 1, "{name}: {}", stderr(&output));
            assert!(stderr(&output).contains("expected objects to be a plain table"));
        }
    }
}

/// A script that replaces the `flux` program. It stores keys and blobs as files.
const FLUX: &str = r#"#!/bin/sh
case "$1 $2" in
"kvs get") cat "keys/$4" ;;
"kvs put") key=${4%=-}; [ "$4" != "$key" ] && cat > "keys/$key" ;;
"content store") cat > blob; name=sha1-$(sha1sum blob | cut -d" " -f1); mv blob "store/$name"; echo "$name" ;;
*) echo "unknown $*" >&2; exit 1 ;;
esac
"#;

#[test]
fn put_stores_an_archive_and_its_blobs_in_a_flux_instance() {
    let folder = stored();
    for name in ["bin", "keys", "store"] {
        mkdir(&folder, name);
    }
    folder.write("bin/flux", FLUX);
    set_mode(&folder, "bin/flux", 0o755);
    let search = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
    let put = |rest: &[&str]| {
        let mut command = folder.command(&[&["flux", "put"], rest].concat());
        command.env("PATH", &search).output().unwrap()
    };
    let output = put(&["b.json", "--store", "blobs"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "archive.main: 6 entries, 1 blob of 4.9 KiB\n");
    assert_eq!(folder.read("keys/archive.main"), folder.read("b.json"));
    folder.done(&["flux", "verify", "b.json", "--store", "store"]);
    // An existing archive is not replaced without --overwrite, and a dict is stored as an array.
    folder.done(&["flux", "convert", "b.json", "-o", "d.json"]);
    let output = put(&["d.json", "--store", "blobs"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--overwrite"), "{}", stderr(&output));
    for rest in [&["--overwrite"][..], &["-n", "other"]] {
        assert_eq!(status(&put(&[&["d.json", "--store", "blobs"], rest].concat())), 0);
    }
    assert_eq!(folder.read("keys/archive.other"), folder.read("b.json"));
    // If a blob is missing, the archive is not stored. If the `flux` program is missing, the error
    // names the program.
    let output = put(&["b.json", "-n", "lost"]);
    assert_eq!((status(&output), folder.path("keys/archive.lost").exists()), (2, false));
    let output = put(&["b.json", "--store", "blobs", "--flux", "no-such-flux"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("scibin: no-such-flux: "), "{}", stderr(&output));
    // Test an instance that uses a different hash type than the archive.
    folder.write("bin/flux", FLUX.replace("sha1-", "sha256-"));
    let output = put(&["b.json", "--store", "blobs", "-n", "hash"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("uses another hash"), "{}", stderr(&output));
    assert_eq!(status(&put(&["b.json", "-n", "a.b"])), 2);
}

/// A value can refer to the same blob many times, so a small state can contain a huge archive.
#[test]
fn an_archive_too_large_for_memory_is_rejected() {
    let folder = Folder::new();
    mkdir(&folder, "state");
    let store = DirStore::create(folder.path("state/content.files")).unwrap();
    let put = |blob: &[u8]| store.put(HashType::Sha1, blob).unwrap().to_string();
    let piece = put(&bytes(16 << 20));
    let main = json!({"ver": 1, "type": "valref", "data": vec![piece; 60]});
    let directory =
        |name: &str, below: Value| json!({"ver": 1, "type": "dir", "data": {name: below}});
    let root = put(directory("archive", directory("main", main)).to_string().as_bytes());
    folder.write(
        "state/content.files/kvs-primary",
        json!({"version": 1, "rootref": root, "sequence": 1}).to_string(),
    );
    let program = env!("CARGO_BIN_EXE_scibin");
    let command = format!("ulimit -v 524288; exec {program} flux list --statedir state");
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .env("RAYON_NUM_THREADS", "1")
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot allocate 16777216 bytes"), "{}", stderr(&output));
}
