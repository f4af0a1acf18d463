//! Tests that run the program, and check its output, exit status and messages.

mod program;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;

use program::{json_of, scibin, status, stderr, stdout};

fn golden(name: &str) -> PathBuf {
    testdata::path(&format!("asdf/{name}.asdf"))
}

fn on(command: &[&str], file: &str, rest: &[&str]) -> Output {
    let path = golden(file);
    scibin(&[command, &[path.to_str().expect("text")], rest].concat())
}

#[test]
fn info_detects_the_format_by_content_not_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let renamed = folder.path().join("observation.txt");
    std::fs::copy(golden("science"), &renamed).unwrap();
    let output = scibin(&["info", renamed.to_str().unwrap()]);
    assert_eq!(status(&output), 0);
    let text = stdout(&output);
    assert!(text.contains("ASDF 1.0.0, standard 1.6.0"), "{text}");
    assert!(text.contains("exposure_time: 120.5"), "{text}");
    assert!(text.contains("[96, 128]"), "{text}");

    let other = folder.path().join("picture.asdf");
    std::fs::write(&other, b"\x89PNG\r\n").unwrap();
    let output = scibin(&["info", other.to_str().unwrap()]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("scibin: "), "{}", stderr(&output));
    assert!(stderr(&output).contains("picture.asdf: unknown format"));

    std::fs::write(&other, b"\x1f\x8b\x08\0").unwrap();
    let path = other.to_str().unwrap();
    let error = stderr(&scibin(&["info", path]));
    assert!(error.contains("picture.asdf: this is a gzip file: unknown format"), "{error}");
    let error = stderr(&scibin(&["asdf", "info", path]));
    assert!(error.contains("not an ASDF file: this is a gzip file; expected"), "{error}");
}

#[test]
fn info_continues_after_a_file_that_fails() {
    let (one, two) = (golden("science"), golden("streamed"));
    let output = scibin(&["info", one.to_str().unwrap(), "/no/such/file", two.to_str().unwrap()]);
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("science.asdf") && stdout(&output).contains("streamed.asdf"));
    assert!(stderr(&output).contains("/no/such/file"));
}

#[test]
fn the_json_output_of_info_contains_the_format_and_the_standard_and_the_blocks() {
    let output = on(&["info", "--json"], "science", &[]);
    let value = json_of(&output);
    assert_eq!(value["format"], "asdf");
    assert_eq!(value["standard"], "1.6.0");
    assert_eq!(value["diagnostics"], json!([]));
    assert!(value["blocks"].as_array().unwrap().len() > 4);
}

#[test]
fn verify_exits_with_0_for_an_intact_file_and_with_1_for_a_damaged_file() {
    for fine in [
        "science",
        "compressed_zlib",
        "compressed_bzp2",
        "compressed_lz4",
        "exploded",
        "checksum_legacy",
        "index_stale",
    ] {
        let output = on(&["verify"], fine, &[]);
        assert_eq!(status(&output), 0, "{fine}: {}{}", stdout(&output), stderr(&output));
    }
    for damaged in
        ["checksum_mismatch", "header_size_47", "block_past_end", "gap", "data_size_2_62"]
    {
        let output = on(&["verify"], damaged, &[]);
        assert_eq!(status(&output), 1, "{damaged}: {}{}", stdout(&output), stderr(&output));
        assert!(stdout(&output).contains(damaged), "{}", stdout(&output));
    }
}

#[test]
fn the_json_output_of_verify_contains_the_problem_and_its_offset() {
    let value = json_of(&on(&["asdf", "verify", "--json"], "checksum_mismatch", &[]));
    assert_eq!(value["ok"], false);
    assert_eq!(value["diagnostics"][0]["code"], "ChecksumMismatch");
    assert_eq!(value["diagnostics"][0]["severity"], "error");
    assert!(value["diagnostics"][0]["offset"].is_u64(), "{value}");
    let message = value["diagnostics"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("block 1: "), "{message}");
    assert_eq!(value["blocks"][0]["checksum"], "stored");
    assert_eq!(value["blocks"][1]["checksum"], "mismatch");
}

#[test]
fn the_json_output_of_verify_contains_the_pointer_to_a_bad_node() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "a: [1, {b/c: !core/complex-1.0.0 foo}]", 0, b"");
    let value = json_of(&scibin(&["verify", "--json", &file]));
    let found = &value["diagnostics"][0];
    assert_eq!((&found["code"], &found["pointer"]), (&json!("BadNode"), &json!("/a/1/b~1c")));
    assert_eq!((&found["line"], &found["column"]), (&json!(6), &json!(34)));
}

#[test]
fn get_verifies_a_block_only_if_it_reads_the_whole_block() {
    let whole = on(&["get"], "checksum_mismatch", &["/b"]);
    assert_eq!(status(&whole), 1, "{}", stderr(&whole));
    assert!(stderr(&whole).contains("checksum"), "{}", stderr(&whole));
    assert_eq!(status(&on(&["get"], "checksum_mismatch", &["/b", "--no-verify"])), 0);
    assert_eq!(status(&on(&["asdf", "get"], "checksum_mismatch", &["/b", "--no-verify"])), 0);
    assert_eq!(status(&on(&["get"], "checksum_mismatch", &["/b", "--slice", "0"])), 0);
}

#[test]
fn get_prints_scalars_and_arrays_as_text_or_json() {
    assert_eq!(stdout(&on(&["get"], "science", &["/meta/exposure_time"])), "120.5\n");
    assert_eq!(
        stdout(&on(&["get"], "strides", &["/base", "--slice", "0:2,:3"])),
        "0 1 2\n8 9 10\n"
    );
    assert_eq!(stdout(&on(&["get"], "strides", &["/base", "--slice", "-1,::-3"])), "47 44 41\n");
    let value = json_of(&on(&["get", "--json"], "strides", &["/transposed", "--slice", ":2,:2"]));
    assert_eq!(value, json!({"dtype": "<i4", "shape": [2, 2], "values": [[0, 8], [1, 9]]}));
    let value = json_of(&on(&["get", "--json"], "records", &["/table", "--slice", "0"]));
    let zeroth =
        json!({"a": 1, "b": [[0.0, 1.0 / 3.0], [2.0 / 3.0, 1.0]], "c": {"d": 7, "e": "x"}});
    assert_eq!(value["values"], zeroth);
}

#[test]
fn get_shows_masked_elements_as_missing() {
    let value = json_of(&on(&["get", "--json"], "masked", &["/image", "--slice", "0"]));
    assert_eq!(value["values"], json!([null, 1.0, 2.0, 3.0]));
    assert_eq!(stdout(&on(&["get"], "masked", &["/image", "--slice", "0"])), "-- 1.0 2.0 3.0\n");
}

#[test]
fn get_writes_npy_to_a_file_and_to_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let goal = folder.path().join("part.npy");
    let output =
        on(&["get"], "strides", &["/base", "--slice", "0,0:2", "-o", goal.to_str().unwrap()]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let written = std::fs::read(&goal).unwrap();
    assert!(written.starts_with(b"\x93NUMPY\x01\x00"));
    assert!(written.ends_with(&[0, 0, 0, 0, 1, 0, 0, 0]));
    assert_eq!(written.len() % 64, 8, "the data begins at a multiple of 64 bytes");
    assert_eq!(on(&["get"], "strides", &["/base", "--slice", "0,0:2", "-o", "-"]).stdout, written);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn get_reports_the_part_of_a_pointer_that_does_not_exist() {
    let output = on(&["get"], "science", &["/meta/nothing/here"]);
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    assert!(stderr(&output).contains("nothing"), "{}", stderr(&output));
    let output = on(&["get"], "science", &["/image/data", "--slice", "0:1:0"]);
    assert_eq!(status(&output), 2);
    let output = on(&["get"], "science", &["/meta/exposure_time", "-o", "x.npy"]);
    assert_eq!(status(&output), 2);
}

#[test]
fn the_json_output_of_tree_resolves_aliases_unless_references_are_requested() {
    let expected = testdata::cases(&testdata::path("asdf/expected.json"));
    let case = expected.iter().find(|case| case.name == "tree").unwrap();
    let value = json_of(&on(&["asdf", "tree", "--json"], "tree", &[]));
    assert_eq!(testdata::difference(&case.ours["value"], &value), None);
    let text = stdout(&on(&["asdf", "tree", "--json"], "tree", &[]));
    assert!(text.contains("123456789012345678901234567890"), "integers are exact: {text}");
    let tagged = json_of(&on(&["asdf", "tree", "--json", "--tags"], "tree", &[]));
    assert_eq!(
        tagged["$value"]["local"],
        json!({"$tag": "tag:stsci.edu:asdf/mine", "$value": {"x": 1}})
    );
    let aliases = json_of(&on(&["asdf", "tree", "--json", "--aliases", "ref"], "tree", &[]));
    assert_eq!(aliases["alias"], json!({"$alias": "/base"}));
}

#[test]
fn asdf_blocks_lists_the_header_of_each_block() {
    let value = json_of(&on(&["asdf", "blocks", "--json"], "compressed_lz4", &[]));
    assert_eq!(value[0]["compression"], "lz4");
    assert_eq!(value[0]["index"], 0);
    let text = stdout(&on(&["asdf", "blocks"], "header_size_47", &[]));
    assert!(text.contains("expected at least 48"), "{text}");
}

#[test]
fn the_salvage_option_finds_a_block_after_a_gap() {
    let count = |arguments: &[&str]| json_of(&on(arguments, "gap", &[])).as_array().unwrap().len();
    assert_eq!(count(&["asdf", "blocks", "--json"]), 1);
    assert_eq!(count(&["asdf", "blocks", "--json", "--salvage"]), 2);
}

#[test]
fn the_quiet_option_suppresses_remarks() {
    assert!(stderr(&on(&["asdf", "blocks"], "index_stale", &[])).contains("IndexStale"));
    assert_eq!(stderr(&on(&["asdf", "blocks", "--quiet"], "index_stale", &[])), "");
}

#[test]
fn external_files_are_read_only_if_the_policy_allows_it() {
    assert_eq!(status(&on(&["asdf", "get"], "exploded", &["/data"])), 0);
    let output = on(&["asdf", "get", "--external", "deny"], "exploded", &["/data"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("policy"), "{}", stderr(&output));
}

#[test]
fn invalid_arguments_cause_status_2() {
    assert_eq!(status(&scibin(&["asdf", "nonsense"])), 2);
    assert_eq!(status(&scibin::<&str>(&[])), 2);
    assert_eq!(status(&scibin(&["--help"])), 0);
}

const HEAD: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
     --- !core/asdf-1.1.0\n";

/// Writes a file with a tree and one block. The data may be shorter than the block's header states.
fn written(folder: &Path, tree: &str, used_size: u64, data: &[u8]) -> String {
    let mut bytes = format!("{HEAD}{tree}\n...\n").into_bytes();
    bytes.extend(b"\xd3BLK\0\x30");
    bytes.extend([0; 8]); // flags, compression
    bytes.extend([used_size.to_be_bytes(); 3].concat()); // allocated, used and decoded size
    bytes.extend([0; 16]); // no checksum
    bytes.extend(data);
    let path = folder.join("made.asdf");
    std::fs::write(&path, bytes).expect("the file is written");
    path.to_str().expect("text").to_owned()
}

#[test]
fn verify_detects_a_truncated_block_that_has_no_array_or_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), "a: 1", 100, b"0123456789");
    let output = scibin(&["verify", &file]);
    assert_eq!(status(&output), 1, "{}", stdout(&output));
    assert!(stdout(&output).contains("block 0: "), "{}", stdout(&output));
}

#[test]
fn verify_detects_invalid_complex_numbers_and_integers() {
    let folder = tempfile::tempdir().unwrap();
    for bad in [
        "!core/complex-1.0.0 foo",
        "!core/complex-1.0.0 [1]",
        "!core/integer-1.1.0 {words: [1.5], sign: +}",
        "!core/integer-1.1.0 5",
    ] {
        let file = written(folder.path(), &format!("a: {bad}"), 0, b"");
        assert_eq!(status(&scibin(&["verify", &file])), 1, "{bad}");
    }
}

#[test]
fn get_prints_elements_of_size_0() {
    let folder = tempfile::tempdir().unwrap();
    let tree =
        "a: !core/ndarray-1.1.0 {source: 0, datatype: [ascii, 0], byteorder: big, shape: [3]}";
    let file = written(folder.path(), tree, 0, b"");
    let value = json_of(&scibin(&["get", &file, "/a", "--json"]));
    assert_eq!(value, json!({"dtype": "|S0", "shape": [3], "values": ["", "", ""]}));
}

#[test]
fn keys_cannot_add_line_breaks_or_colours_to_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), r#""a\n\e[31mb": 1"#, 0, b"");
    let output = scibin(&["asdf", "tree", &file]);
    assert_eq!(stdout(&output), "└─a  [31mb: 1\n");
    // Repeat the key, so that it appears in a message.
    let file = written(folder.path(), "\"a\\n\\e[31mb\": 1\n\"a\\n\\e[31mb\": 2", 0, b"");
    let output = scibin(&["asdf", "tree", &file]);
    assert!(stderr(&output).contains("DuplicateKey"), "{}", stderr(&output));
    assert!(!stderr(&output).contains('\u{1b}'), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
}

#[test]
fn writing_an_array_without_its_mask_prints_a_remark() {
    let output = on(&["get"], "masked", &["/image", "-o", "-"]);
    assert!(stderr(&output).contains("does not support masks"), "{}", stderr(&output));
    assert_eq!(stderr(&on(&["get", "-q"], "masked", &["/image", "-o", "-"])), "");
}

#[test]
#[cfg(unix)]
fn closing_the_output_pipe_is_not_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let tree = format!(
        "list: [{}]\na: !core/ndarray-1.1.0 \
         {{source: 0, datatype: uint8, byteorder: big, shape: [1000000]}}",
        "abcdefgh, ".repeat(50_000)
    );
    let file = written(folder.path(), &tree, 1_000_000, &vec![1; 1_000_000]);
    for arguments in [
        &["asdf", "tree", "--json", &file][..],
        &["asdf", "tree", &file],
        &["get", &file, "/list"],
        &["get", &file, "/a"],
        &["get", &file, "/a", "-o", "-"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_scibin"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), stderr(&output)), (0, String::new()), "{arguments:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_closed_standard_error_does_not_change_the_status() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_scibin"))
        .args(["verify", "/no/such/file", "/no/other/file"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
#[cfg(unix)]
fn a_pipe_is_rejected_without_blocking_and_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.asdf");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for command in [&["info"][..], &["verify"], &["asdf", "info"]] {
        let output = scibin(&[command, &[pipe.to_str().unwrap()]].concat());
        assert_eq!(status(&output), 2);
        assert_eq!(stderr(&output).matches("pipe.asdf").count(), 1, "{}", stderr(&output));
    }
}

#[test]
fn an_existing_array_output_is_replaced_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let goal = folder.path().join("part.npy");
    std::fs::write(&goal, b"old").unwrap();
    let goal_text = goal.to_str().unwrap();
    let output = on(&["get"], "strides", &["/base", "-o", goal_text]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("part.npy: exists already"), "{}", stderr(&output));
    assert_eq!(std::fs::read(&goal).unwrap(), b"old");
    assert_eq!(status(&on(&["get"], "strides", &["/base", "-o", goal_text, "--force"])), 0);
    assert!(std::fs::read(&goal).unwrap().starts_with(b"\x93NUMPY"));
}

#[test]
fn get_without_a_pointer_prints_the_root() {
    let whole = stdout(&on(&["get", "--json"], "tree", &[]));
    assert_eq!(stdout(&on(&["get", "--json"], "tree", &[""])), whole);
}
