//! Tests of showing and verifying archives.

use std::fs;

use flux_archive::{BlobRef, HashType};
use serde_json::json;

use crate::program::{Folder, json_of, status, stderr, stdout};
use crate::{archived, bytes, document, lines, set_mode, stored};

#[test]
fn list_prints_json_and_raw_entries() {
    let folder = archived();
    let value = json_of(&folder.done(&["flux", "list", "--json", "a.json"]));
    assert_eq!(value[0]["path"], "a.txt");
    assert_eq!(value[0]["encoding"], "utf-8");
    assert_eq!(value[1]["size"], 5000);
    assert_eq!(value[5]["type"], "symbolic link");
    assert_eq!(value[5]["target"], "a.txt");
    let raw = folder.done(&["flux", "list", "--raw", "a.json", "d", "--exclude", "d/*"]);
    let entry = json_of(&raw);
    assert_eq!((&entry["path"], &entry["mode"]), (&json!("d"), &json!(0o40_750)));
    // The output of `--raw` is itself a valid archive.
    let raw = folder.done(&["flux", "list", "--raw", "a.json"]);
    let again = folder.feed(&["flux", "list", "-l", "-"], &raw.stdout);
    assert_eq!(again.stdout, folder.done(&["flux", "list", "-l", "a.json"]).stdout);
}

#[test]
fn long_messages_are_not_truncated() {
    let folder = Folder::new();
    let path = format!("{}/f", "directory/".repeat(60).trim_end_matches('/'));
    folder.write(
        "a.json",
        format!(r#"[{{"path":"{path}","mode":33188,"encoding":"x","data":"y"}}]"#),
    );
    let output = folder.run(&["--quiet", "flux", "extract", "a.json"]);
    let expected = format!(
        "scibin: a.json: error[R140]: expected \"utf-8\", \"base64\" or \"blobvec\", found \"x\" ({path}, /0/encoding)\n"
    );
    assert_eq!((status(&output), stderr(&output)), (1, expected));
}

#[test]
fn options_for_parsing_determine_which_archives_are_accepted() {
    let folder = Folder::new();
    folder.write("commas.json", r#"[{"path":"d","mode":16877,},]"#);
    assert_eq!(status(&folder.run(&["flux", "list", "commas.json"])), 1);
    assert_eq!(lines(&folder.done(&["flux", "list", "--lenient-json", "commas.json"])), ["d"]);
    folder.write("job.json", r#"{"attributes":{"system":{"files":{"script":{"mode":33216,"encoding":"utf-8","data":"true\n"}}}}}"#);
    assert_eq!(stdout(&folder.done(&["flux", "cat", "job.json", "script"])), "true\n");
    let strict = folder.run(&["flux", "cat", "--profile", "strict", "job.json", "script"]);
    assert_eq!(status(&strict), 1);
    assert!(stderr(&strict).contains("R130"));
    folder.write("deep.json", r#"{"x":[0,{"d":{"mode":16877}}]}"#);
    assert_eq!(lines(&folder.done(&["flux", "list", "--pointer", "/x/1", "deep.json"])), ["d"]);
    folder.write("old.json", r#"[{"version":1,"type":"fileref","path":"f","size":3,"mode":33188,"mtime":1,"ctime":1,"data":"YWJj"}]"#);
    assert_eq!(status(&folder.run(&["flux", "cat", "old.json", "f"])), 1);
    assert_eq!(
        stdout(&folder.done(&["flux", "cat", "--profile", "legacy", "old.json", "f"])),
        "abc"
    );
    // An archive that is only part of a document cannot be changed in place.
    let output = folder.run(&["flux", "delete", "job.json", "script"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("only part of the document"), "{}", stderr(&output));
}

#[test]
fn cat_prints_files_and_byte_ranges() {
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
        [("nope", "is not in the archive"), ("d/empty", "directory"), ("link", "symbolic link")]
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
fn verify_detects_errors_in_the_archive_and_its_blobs_and_files() {
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
    assert_eq!((&value["ok"], &value["diagnostics"][0]["code"]), (&json!(false), &json!("R156")));
    fs::remove_file(&blob).unwrap();
    let output = folder.run(&verify);
    assert_eq!(status(&output), 1);
    assert_eq!(json_of(&output)["diagnostics"][0]["code"], "R155");

    folder.write("bad.json", r#"[{"path":"..","mode":33188}]"#);
    let output = folder.run(&["verify", "bad.json"]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains("R110"), "{}", stdout(&output));
    folder.write("bad.json", "[{]");
    assert_eq!(status(&folder.run(&["verify", "bad.json"])), 1);
    assert_eq!(status(&folder.run(&["verify", "missing.json"])), 2);
}

#[test]
fn differences_between_archives_cause_status_1() {
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
    assert_eq!(stdout(&unknown), "d/b.bin: content: cannot be compared without the blobs\n");
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
fn lint_reports_codes_and_fixes_unambiguous_errors() {
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
    let codes: Vec<&str> = value["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["R112", "R111", "R110"]);
    assert_eq!(value["diagnostics"][0]["severity"], "warning");

    let fixed = folder.run(&["flux", "lint", "--fix", "u.json", "-o", "fixed.json"]);
    assert_eq!(status(&fixed), 1, "one error cannot be fixed");
    assert!(
        stdout(&fixed).contains("R110") && stdout(&fixed).contains("fixed.json: 1 entry fixed")
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
    // Consecutive objects become an array, and surplus commas are removed.
    let output = folder.feed(
        &["flux", "lint", "--fix", "--lenient-json", "-", "-o", "-"],
        br#"{"path":"d","mode":16877,}"#,
    );
    assert_eq!((status(&output), stdout(&output).as_str()), (0, r#"[{"path":"d","mode":16877}]"#));
}

#[test]
fn info_detects_archives_by_their_content() {
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
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("R102"), "{}", stderr(&output));
}

#[test]
fn get_prints_values_from_the_json_of_an_archive() {
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
fn a_closed_pipe_is_not_a_failure_of_flux_commands() {
    let folder = archived();
    let mut child = folder
        .command(&["flux", "cat", "a.json", "d/b.bin"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().code().is_some_and(|code| code == 0));
}

#[test]
fn lint_prints_many_diagnostics_in_bounded_memory() {
    let folder = Folder::new();
    let members = r#","x":0"#.repeat(9000);
    let entry = format!(r#"{{"path":"d","mode":16877{members}}}"#);
    folder.write("a.json", format!("[{entry}{}]", format!(",{entry}").repeat(30)));
    // The 279,000 diagnostics would exceed the memory limit if they were kept as JSON values.
    let command =
        format!("ulimit -v 262144; exec {} flux lint --json a.json", env!("CARGO_BIN_EXE_scibin"));
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .env("RAYON_NUM_THREADS", "1")
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let value = json_of(&output);
    assert_eq!((&value["ok"], &value["format"]), (&json!(false), &json!("flux")));
    assert_eq!(value["diagnostics"].as_array().unwrap().len(), 31 * 8999 + 30);
}

#[test]
fn verify_reports_duplicate_paths_in_text_and_in_json_with_the_same_status() {
    let folder = Folder::new();
    let entry = r#"{"path":"f","mode":33188,"size":2,"encoding":"utf-8","data":"ab"}"#;
    folder.write("twice.json", format!("[{entry},{entry}]"));
    let output = folder.run(&["verify", "twice.json"]);
    assert!(stderr(&output).contains("[R107]"), "{}", stderr(&output));
    let json = folder.run(&["verify", "--json", "twice.json"]);
    let report = json_of(&json);
    assert_eq!(report["diagnostics"][0]["code"], "R107", "{report}");
    assert_eq!((&report["ok"], status(&json)), (&json!(true), status(&output)), "{report}");
}
