//! Tests that run the commands on the recorded files and on the corpus.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::program::{Folder, scibin, status, stderr, stdout};

/// A recorded file, and the permitted results of the commands.
struct Recorded {
    path: PathBuf,
    unpack: Value,
    strict: Value,
    verify: Value,
    /// SHA-256 of the data.
    digest: Option<Value>,
    /// Whether the file contains an array, or `None` if this was not recorded.
    array: Option<bool>,
}

impl Recorded {
    /// Runs `unpack` (lenient, strict and to `.npy`) and `verify` on the file, and checks the
    /// results.
    fn check(&self, folder: &Folder) {
        let path = self.path.to_str().expect("text");
        let nothing: [&str; 0] = [];
        for (allowed, strict) in [(&self.unpack, &[][..]), (&self.strict, &["--strict"])] {
            let unpack = ["bloscpack", "unpack", path, "-o", "data"];
            let output = folder.run(&[&unpack[..], strict].concat());
            let outcome = match status(&output) {
                0 => self.outcome(&folder.read("data")),
                1 | 2 => "error",
                other => panic!("{path}: status {other}"),
            };
            let allowed = allowed.as_array().expect("a list");
            let is_allowed = allowed.iter().any(|allowed| *allowed == outcome || *allowed == "any");
            assert!(is_allowed, "{path} {strict:?}: {outcome}, {}", stderr(&output));
            if outcome == "error" {
                assert_eq!(folder.names(), nothing, "{path}: no file is left behind");
                assert!(stderr(&output).starts_with("scibin: "), "{path}: {}", stderr(&output));
            } else {
                folder.remove("data");
            }
        }
        let output = scibin(&["verify", path]);
        let allowed = self.verify.as_array().expect("a list");
        let verdict = json!(status(&output));
        assert!(allowed.contains(&verdict), "{path}: {verdict}, {}", stdout(&output));
        if let Some(is_array) = self.array {
            let output = folder.run(&["bloscpack", "unpack", path, "-o", "x.npy"]);
            assert_eq!(status(&output) == 0, is_array, "{path}: {}", stderr(&output));
            if is_array {
                folder.remove("x.npy");
            }
            assert_eq!(folder.names(), nothing, "{path}: no file is left behind");
        }
    }

    fn outcome(&self, data: &[u8]) -> &'static str {
        let digest = binio::checksum::Algorithm::Sha256.digest(data).to_string();
        match &self.digest {
            Some(expected) if *expected == digest => "good",
            Some(_) if !data.is_empty() => "wrong",
            _ if data.is_empty() => "empty",
            _ => "good",
        }
    }
}

#[test]
fn recorded_files_are_unpacked_as_expected() {
    let folder = Folder::new();
    let cases = testdata::cases(&testdata::path("bloscpack/expected.json"));
    assert!(cases.len() > 400);
    for case in cases {
        let field = |name: &str| case.ours.get(name).cloned();
        let is_array = field("array").is_some();
        let recorded = Recorded {
            path: case.file,
            unpack: case.ours["unpack"].clone(),
            strict: case.ours["strict"].clone(),
            verify: case.ours["verify"].clone(),
            digest: field("plain_sha256"),
            array: (is_array || field("array_error").is_some()).then_some(is_array),
        };
        recorded.check(&folder);
    }
}

#[test]
fn corpus_files_are_unpacked_as_expected() {
    let Some(corpus) = testdata::corpus() else { return };
    let folder = Folder::new();
    let lists = corpus.join("bloscpack");
    let list = |name: &str| -> Vec<Value> {
        serde_json::from_slice(&std::fs::read(lists.join(name)).unwrap()).unwrap()
    };
    for case in list("golden.json") {
        let is_array = case.get("array").is_some();
        let recorded = Recorded {
            path: lists.join(case["file"].as_str().unwrap()),
            unpack: json!(["good"]),
            strict: json!(["good", "error"]),
            verify: json!([case["verify"].as_i64().unwrap_or(0)]),
            digest: case.get("plain_sha256").cloned(),
            array: (is_array || case.get("array_error").is_some()).then_some(is_array),
        };
        recorded.check(&folder);
    }
    for case in list("hostile.json") {
        // Skip the case without a file name, because only the tests of the library generate the
        // file.
        let Some(file) = case["file"].as_str() else { continue };
        let recorded = Recorded {
            path: lists.join(file),
            unpack: case["unpack"].clone(),
            strict: case["strict"].clone(),
            verify: case["verify"].clone(),
            digest: case.get("good_sha256").cloned(),
            array: case["npy"].as_str().map(|npy| npy == "array"),
        };
        recorded.check(&folder);
    }
}
