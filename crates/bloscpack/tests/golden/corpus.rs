//! Tests with the corpus: files from every version of the original program, and hostile files, each
//! with the expected result of reading it. The README of the corpus describes the fields of
//! `golden.json` and `hostile.json`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::runner;

#[test]
fn corpus_files_are_read_as_recorded() {
    // Lenient reading must return the data of every file. Strict reading must return the data if
    // verification reports no damage, and must fail otherwise.
    run("golden.json", 109, |case| {
        let status = case["verify"].as_u64().unwrap_or(0);
        case["unpack"] = json!(["good"]);
        case["strict"] = json!([if status == 0 { "good" } else { "error" }]);
        case["verify"] = json!([status]);
        if let Some(kind) = case.get("array_error").cloned() {
            case["array_error"] = json!([kind]);
        }
    });
}

#[test]
fn hostile_corpus_files_are_read_as_recorded() {
    run("hostile.json", 110, |case| {
        case["plain_sha256"] = case["good_sha256"].clone();
        if case["npy"] == "error" {
            case["array_error"] = case["class"].clone();
        }
    });
}

/// Runs the cases of a list in the corpus. The list must contain `count` cases. Calls `completed`
/// to convert the fields of each case to those that the runner expects.
fn run(list: &str, count: usize, completed: fn(&mut Value)) {
    let Some(corpus) = testdata::corpus() else { return };
    let folder = corpus.join("bloscpack");
    let text = std::fs::read_to_string(folder.join(list)).expect("the corpus has its lists");
    let mut cases: Vec<Value> = serde_json::from_str(&text).expect("a list of cases");
    assert_eq!(cases.len(), count);
    cases.iter_mut().for_each(completed);
    let generated = tempfile::tempdir().expect("a folder");
    let file = |case: &Value| match case["file"].as_str() {
        Some(file) => folder.join(file),
        None => generate(generated.path(), case),
    };
    let files: Vec<PathBuf> = cases.iter().map(file).collect();
    runner::run(&folder.join(list), files.iter().map(PathBuf::as_path).zip(&cases));
}

/// Generates the only file that is too large for the corpus, and returns its path. The Blosc stream
/// in the file has a match whose length would overflow an `i32`.
fn generate(folder: &Path, case: &Value) -> PathBuf {
    assert_eq!(case["generate"], "blosclz_overflow");
    let mut stream = b"\x03abcd\xe0".to_vec();
    stream.resize(stream.len() + 8_421_605, 0xff);
    stream.extend([0, 1, 0]);
    stream.extend([0; 8]);
    let number = |value: usize| u32::try_from(value).expect("small").to_le_bytes();
    let mut buffer = vec![2, 1, 0x10, 1];
    buffer.extend(
        [
            number(65_536),
            number(65_536),
            number(24 + stream.len()),
            number(20),
            number(stream.len()),
        ]
        .concat(),
    );
    buffer.extend(stream);
    let mut bytes = b"blpk\x03\0\x01\x01".to_vec();
    bytes.extend([number(65_536), number(65_536)].concat());
    bytes.extend([1_i64.to_le_bytes(), [0; 8]].concat());
    bytes.extend(&buffer);
    bytes.extend(bloscpack::Checksum::Adler32.compute(&buffer));
    assert_eq!(case["size"], bytes.len());
    let path = folder.join("blosclz_overflow.blp");
    std::fs::write(&path, bytes).expect("written");
    path
}
