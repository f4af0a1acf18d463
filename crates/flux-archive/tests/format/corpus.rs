//! Archives with the recorded status of the C implementation of Flux. This crate must accept
//! exactly the archives that Flux extracts, except for the cases listed below.

use std::collections::BTreeMap;

use flux_archive::{Archive, Profile};
use serde_json::Value;

/// The cases that Flux extracts but this crate rejects, with the reasons.
const REJECTED: &[(&str, &str)] = &[
    ("type-size--5", "a size cannot be negative; Flux creates an empty file"),
    ("type-size-9223372036854775807", "above the limit; Flux creates an empty file"),
    ("path-inner-dotdot", "\"..\" is not allowed anywhere in a path"),
    ("dotdot-n", "it leads out of the target"),
    ("symlink-then-through-n", "it leads out of the target through a link"),
    ("symlink-then-dir-then-through-ns", "the path is below a link of the archive"),
    (
        "symlink-dir-chmod-n",
        "a link and a directory have the same path; Flux changes the mode of the target",
    ),
    ("encoding-without-data", "the content is lost; Flux writes zeros"),
    ("bv-data-string", "the content is lost; Flux writes zeros"),
    ("bv-data-object", "the content is lost; Flux writes zeros"),
    ("legacy-v1-blobvec", "Flux writes zeros; the profile legacy reads the content"),
];

/// The cases that this crate accepts but Flux does not extract, with the reasons.
const READ: &[(&str, &str)] = &[
    ("path-name-256", "the file system limits the length of names"),
    ("file-over-nonempty-dir", "extracting it fails because of existing files"),
    ("existing-file-n", "extracting it fails because of existing files"),
    ("existing-symlink-n", "extracting it fails because of existing files"),
    ("bv-blob-shorter-than-region", "extracting it fails because of the store"),
    ("json-bigint", "JSON content is kept as text; Flux is limited to 64 bits"),
    ("json-nested-2049", "JSON content is kept as text; Flux is limited to 2048 levels"),
    ("json-nul", "JSON content is kept as text; Flux rejects a NUL"),
    ("utf8-nul", "the text is unambiguous; Flux rejects a NUL"),
];

#[test]
fn apart_from_listed_cases_exactly_the_archives_that_flux_extracts_are_accepted() {
    let Some(corpus) = testdata::corpus() else { return };
    let text = std::fs::read_to_string(corpus.join("flux/cases-extract.json")).unwrap();
    let cases: Value = serde_json::from_str(&text).unwrap();
    let rejected: BTreeMap<_, _> = REJECTED.iter().copied().collect();
    let read: BTreeMap<_, _> = READ.iter().copied().collect();
    let mut wrong = Vec::new();
    for case in cases["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let archive = archive(case);
        let found = Archive::parse(archive.as_bytes(), Profile::Flux);
        let theirs = case["reference"]["rc"] == 0;
        let listed = rejected.contains_key(name) || read.contains_key(name);
        let expected = if theirs { !rejected.contains_key(name) } else { read.contains_key(name) };
        if found.is_ok() != expected || listed != (theirs != expected) {
            let found = found.map(|archive| format!("{:?}", archive.diagnostics()));
            wrong.push(format!("{name}: status {}, {found:?}", case["reference"]["rc"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn archive(case: &Value) -> String {
    if let Some(text) = case["archive"].as_str() {
        return text.replace("@SANDBOX@", "/sandbox");
    }
    let repeat = &case["archive_repeat"];
    let part = |name: &str| repeat[name].as_str().unwrap_or_default();
    let count = usize::try_from(repeat["count"].as_u64().unwrap()).unwrap();
    part("head").to_owned()
        + &part("unit_open").repeat(count)
        + &part("unit_close").repeat(count)
        + part("tail")
}
