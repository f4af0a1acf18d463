//! The state of a broker.

use std::fs;

use flux_archive::kvs::JobId;
use flux_archive::store::{BlobStoreMut, DirStore};
use flux_archive::{Base64, BlobRef, HashType};
use serde_json::{Value, json};

use crate::program::{Folder, status, stderr, stdout};
use crate::{bytes, lines, mkdir};

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
        stderr(&output).contains("sub/away: the name cannot be that of a directory"),
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
        (&["flux", "rescue", "out"], "expected content.sqlite or content.files"),
        (&["flux", "rescue", "state", "--job", "x y"], "not a job id"),
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
