//! The program as a user runs it: output, status, messages.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

fn golden(name: &str) -> PathBuf {
    testdata::path(&format!("asdf/{name}.asdf"))
}

fn scibin(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_scibin")).args(arguments).output().expect("the program starts")
}

fn on(command: &[&str], file: &str, rest: &[&str]) -> Output {
    let path = golden(file);
    scibin(&[command, &[path.to_str().expect("text")], rest].concat())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(output), stderr(output)))
}

fn status(output: &Output) -> i32 {
    output.status.code().expect("no signal")
}

#[test]
fn info_tells_the_format_by_content_not_by_name() {
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
    assert!(stderr(&output).contains("picture.asdf: no format that scibin knows"));
}

#[test]
fn info_of_several_files_goes_on_after_one_that_fails() {
    let (one, two) = (golden("science"), golden("streamed"));
    let output = scibin(&["info", one.to_str().unwrap(), "/no/such/file", two.to_str().unwrap()]);
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("science.asdf") && stdout(&output).contains("streamed.asdf"));
    assert!(stderr(&output).contains("/no/such/file"));
}

#[test]
fn info_json_is_one_object_a_file() {
    let output = on(&["info", "--json"], "science", &[]);
    let value = json_of(&output);
    assert_eq!(value["format"], "asdf");
    assert_eq!(value["standard"], "1.6.0");
    assert_eq!(value["diagnostics"], json!([]));
    assert!(value["blocks"].as_array().unwrap().len() > 4);
}

#[test]
fn verify_is_0_for_a_whole_file_and_1_for_a_damaged_one() {
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
fn verify_json_names_problem_and_place() {
    let value = json_of(&on(&["asdf", "verify", "--json"], "checksum_mismatch", &[]));
    assert_eq!(value["ok"], false);
    assert_eq!(value["problems"][0]["where"], "block 1");
    assert_eq!(value["blocks"][0]["checksum"], "stored");
    assert_eq!(value["blocks"][1]["checksum"], "mismatch");
}

#[test]
fn get_prints_scalars_rows_and_json() {
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
    assert_eq!(written.len() % 64, 8, "data begins on a multiple of 64");
    assert_eq!(on(&["get"], "strides", &["/base", "--slice", "0,0:2", "-o", "-"]).stdout, written);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn get_of_nothing_is_an_error_that_says_where_the_path_ends() {
    let output = on(&["get"], "science", &["/meta/nothing/here"]);
    assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    assert!(stderr(&output).contains("nothing"), "{}", stderr(&output));
    let output = on(&["get"], "science", &["/image/data", "--slice", "0:1:0"]);
    assert_eq!(status(&output), 2);
    let output = on(&["get"], "science", &["/meta/exposure_time", "-o", "x.npy"]);
    assert_eq!(status(&output), 2);
}

#[test]
fn tree_json_is_the_resolved_tree() {
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
fn blocks_lists_the_header_of_each() {
    let value = json_of(&on(&["asdf", "blocks", "--json"], "compressed_lz4", &[]));
    assert_eq!(value[0]["compression"], "lz4");
    assert_eq!(value[0]["index"], 0);
    let text = stdout(&on(&["asdf", "blocks"], "header_size_47", &[]));
    assert!(text.contains("expected at least 48"), "{text}");
}

#[test]
fn salvage_finds_the_block_behind_a_gap() {
    let count = |arguments: &[&str]| json_of(&on(arguments, "gap", &[])).as_array().unwrap().len();
    assert_eq!(count(&["asdf", "blocks", "--json"]), 1);
    assert_eq!(count(&["asdf", "blocks", "--json", "--salvage"]), 2);
}

#[test]
fn quiet_leaves_out_remarks() {
    assert!(stderr(&on(&["asdf", "blocks"], "index_stale", &[])).contains("IndexStale"));
    assert_eq!(stderr(&on(&["asdf", "blocks", "--quiet"], "index_stale", &[])), "");
}

#[test]
fn the_policy_for_external_files_holds() {
    assert_eq!(status(&on(&["asdf", "get"], "exploded", &["/data"])), 0);
    let output = on(&["asdf", "get", "--external", "deny"], "exploded", &["/data"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("policy"), "{}", stderr(&output));
}

#[test]
fn wrong_arguments_are_status_2() {
    assert_eq!(status(&scibin(&["asdf", "nonsense"])), 2);
    assert_eq!(status(&scibin(&[])), 2);
    assert_eq!(status(&scibin(&["--help"])), 0);
}
