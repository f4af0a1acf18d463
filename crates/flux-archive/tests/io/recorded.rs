//! Cases recorded from the C code of Flux. `DIVERGE` and `DIVERGE_CREATE` list the cases in which
//! this crate must differ, with the reasons.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use base64_simd::STANDARD;
use flux_archive::disk::{Creator, Existing, Extractor};
use flux_archive::store::{BlobStoreMut, Chunking, DirStore};
use flux_archive::{Archive, Form, Profile, Writer};
use serde_json::Value;

use crate::support::{Node, Sandbox, Umask, tree};

/// The `extract` cases in which the result of this crate differs from that of the C code: the name
/// of the case, our result, and the reason, which is usually a fault of the C code.
const DIVERGE: &[(&str, &str, &str)] = &[
    ("type-size--5", "rejected", "silent size: an empty file and status 0"),
    (
        "type-size-9223372036854775807",
        "rejected: above the limit",
        "silent size: an empty file and status 0",
    ),
    ("path-inner-dotdot", "rejected", "`..` is not allowed in a path"),
    (
        "dir-depth-first-0700",
        "the directory gets its mode, 0700",
        "directory mode: lost where children come first",
    ),
    ("dir-over-file-n", "rejected, the file is kept", "silent skip: status 0"),
    ("dir-over-file", "rejected, the file is kept", "a directory does not replace a file"),
    ("file-over-dir", "rejected, the directory is kept", "a directory is never removed"),
    ("existing-file-empty-entry-n", "rejected, the file is kept", "silent skip: status 0"),
    (
        "symlink-over-file-n",
        "rejected, the file is kept with its mode",
        "the mode of a skipped file is changed; status 0",
    ),
    (
        "symlink-then-through-n",
        "rejected, nothing is written",
        "escape through a link of the archive",
    ),
    ("dotdot-n", "rejected", "escape by .."),
    (
        "symlink-dir-chmod-n",
        "rejected, nothing is written",
        "a link and a directory have the same path; silent skip: status 0",
    ),
    ("symlink-then-through-ns", "rejected, nothing is written", "found before anything is written"),
    (
        "symlink-then-dir-then-through-ns",
        "rejected, nothing is written",
        "a path that is a link in one entry is not a directory",
    ),
    (
        "symlink-in-tree-then-through-ns",
        "rejected, nothing is written",
        "found before anything is written",
    ),
    ("symlink-loop", "rejected, nothing is written", "found before anything is written"),
    ("encoding-without-data", "rejected", "silent zeros: status 0"),
    ("json-dup-keys", "the text as it is", "JSON text: re-encoded, a member lost"),
    ("json-bigint", "the text as it is", "JSON reader: 64 bits"),
    ("json-neg-zero", "the text as it is", "JSON text: re-encoded, the sign lost"),
    ("json-nested-2049", "the text as it is", "JSON reader: depth 2048"),
    ("json-nul", "the text as it is", "JSON reader: NUL"),
    ("json-whitespace", "the text as it is", "JSON text: re-encoded"),
    ("json-0.1", "the text as it is", "JSON text: re-encoded in 17 digits"),
    ("json-with-smaller-size", "rejected, nothing is written", "partial file"),
    ("utf8-size-smaller", "rejected, nothing is written", "partial file"),
    ("utf8-nul", "the text with its NUL", "JSON reader: NUL"),
    ("utf8-nonstring", "rejected, nothing is written", "partial file"),
    ("utf8-uppercase-name", "rejected, nothing is written", "partial file"),
    ("encoding-unknown", "rejected, nothing is written", "partial file"),
    ("b64-nl", "rejected, nothing is written", "partial file"),
    ("b64-space", "rejected, nothing is written", "partial file"),
    ("b64-urlsafe", "rejected, nothing is written", "partial file"),
    ("b64-pad-middle", "rejected, nothing is written", "partial file"),
    ("b64-single", "rejected, nothing is written", "partial file"),
    ("b64-extra-after-pad", "rejected, nothing is written", "partial file"),
    ("b64-nonstring", "rejected, nothing is written", "partial file"),
    ("b64-size-smaller", "rejected, nothing is written", "partial file"),
    ("bv-blob-shorter-than-region", "rejected, nothing is written", "partial file"),
    ("bv-neg-offset", "rejected, nothing is written", "partial file"),
    ("bv-neg-size", "rejected, nothing is written", "partial file"),
    ("bv-huge-offset", "rejected, nothing is written", "partial file"),
    ("bv-offset-overflow", "rejected, nothing is written", "partial file"),
    ("bv-bad-hash-name", "rejected, nothing is written", "partial file"),
    ("bv-short-hex", "rejected, nothing is written", "partial file"),
    ("bv-path-traversal-ref", "rejected, nothing is written", "partial file"),
    ("bv-2tuple", "rejected, nothing is written", "partial file"),
    ("bv-data-string", "rejected", "silent zeros: status 0"),
    ("bv-data-object", "rejected", "silent zeros: status 0"),
    ("bv-tampered", "rejected, nothing is written", "unverified blob"),
    ("bv-real-offset", "rejected, nothing is written", "partial file"),
    ("legacy-v1-small", "rejected; the profile \"legacy\" reads it", "partial file of other bytes"),
    ("legacy-v1-blobvec", "rejected; the profile \"legacy\" reads it", "silent zeros: status 0"),
];

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn put_blobs(cas: &Path, blobs: &Value) {
    for (name, base64) in blobs.as_object().into_iter().flatten() {
        let blob = STANDARD.decode_to_vec(base64.as_str().unwrap()).unwrap();
        fs::write(cas.join(name), blob).unwrap();
    }
}

fn document(case: &Value, sandbox: &Sandbox) -> String {
    let repeat = &case["archive_repeat"];
    let document = case["archive"].as_str().map_or_else(
        || {
            let count = usize::try_from(repeat["count"].as_u64().unwrap()).unwrap();
            let (open, close) = (text(repeat, "unit_open"), text(repeat, "unit_close"));
            text(repeat, "head").to_owned()
                + &open.repeat(count)
                + &close.repeat(count)
                + text(repeat, "tail")
        },
        str::to_owned,
    );
    document.replace("@SANDBOX@", sandbox.path("").to_str().unwrap().trim_end_matches('/'))
}

/// Converts a recorded tree to the form that [`tree`] returns.
fn reference_tree(reference: &Value) -> BTreeMap<String, Node> {
    let node = |entry: &Value| {
        let mode = u32::from_str_radix(text(entry, "mode").trim_start_matches("0o"), 8);
        let node = match text(entry, "type") {
            "d" => Node::Directory { mode: mode.unwrap() },
            "l" => Node::Link { target: text(entry, "target").to_owned() },
            _ => {
                let size = entry["size"].as_u64().unwrap();
                let data = entry["data_b64"].as_str();
                let data = data.map(|base64| STANDARD.decode_to_vec(base64).unwrap());
                Node::File { mode: mode.unwrap(), size, data }
            }
        };
        (text(entry, "path").to_owned(), node)
    };
    reference["tree"].as_array().unwrap().iter().map(node).collect()
}

/// Runs a case, and returns the resulting tree and the first failure, if any.
fn run(case: &Value, blobs: &Value) -> (BTreeMap<String, Node>, Option<String>) {
    let sandbox = Sandbox::new();
    put_blobs(&sandbox.path("cas"), blobs);
    put_blobs(&sandbox.path("cas"), &case["blobs_override"]);
    let umask = Umask::set(0o022);
    for before in case["pre"].as_array().unwrap() {
        let [kind, path, content] = [0, 1, 2].map(|at| before[at].as_str().unwrap_or_default());
        let path = sandbox.out().join(path);
        match kind {
            "dir" => fs::create_dir(path).unwrap(),
            "link" => symlink(content, path).unwrap(),
            _ => fs::write(path, content).unwrap(),
        }
    }
    drop(umask);
    let flags = text(case, "flags");
    let store = DirStore::open(sandbox.path("cas")).unwrap();
    let extractor = Extractor::new(sandbox.out()).unwrap().store(&store);
    let extractor = extractor
        .existing(if flags.contains('n') { Existing::Error } else { Existing::Overwrite })
        .preserve_permissions(flags.contains('p'))
        .times(flags.contains('t'));
    let document = document(case, &sandbox);
    let umask = u32::from_str_radix(text(case, "umask").trim_start_matches("0o"), 8).unwrap();
    let umask = Umask::set(umask);
    let report = Archive::parse(document.as_bytes(), Profile::Flux)
        .and_then(|archive| extractor.run(&archive));
    drop(umask);
    let error = match report {
        Ok(report) => report.failures.first().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    };
    let name = text(case, "name");
    sandbox.assert_untouched(name);
    for entry in case["reference"]["tree"].as_array().into_iter().flatten() {
        let Some(mtime) = entry["mtime"].as_i64().filter(|_| error.is_none()) else { continue };
        let path = sandbox.out().join(text(entry, "path"));
        let found = std::os::unix::fs::MetadataExt::mtime(&fs::symlink_metadata(path).unwrap());
        assert_eq!(found, mtime, "{name}");
    }
    (tree(&sandbox.out(), 4096), error)
}

#[test]
fn only_the_listed_extract_cases_differ_from_the_recorded_results() {
    let Some(corpus) = testdata::corpus() else { return };
    let json = fs::read(corpus.join("flux/cases-extract.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let mut faults = Vec::new();
    let cases = json["cases"].as_array().unwrap();
    for case in cases {
        let name = text(case, "name");
        let (ours, error) = run(case, &json["blobs"]);
        let reference = &case["reference"];
        let theirs = reference_tree(reference);
        let succeeded = reference["rc"].as_i64() == Some(0);
        let equal = ours == theirs && succeeded == error.is_none();
        let listed = DIVERGE.iter().any(|(listed, ..)| *listed == name);
        if equal == listed {
            faults.push(format!(
                "{name} ({}): {}\n  ours   {error:?} {ours:?}\n  theirs {} {theirs:?}",
                case["category"],
                if listed { "listed, but equal" } else { "differs" },
                reference["stderr"],
            ));
        }
    }
    for (listed, ..) in DIVERGE {
        if !cases.iter().any(|case| text(case, "name") == *listed) {
            faults.push(format!("{listed}: listed, but the case does not exist"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}

/// The `create` cases in which the result of this crate differs from that of the C code: the name
/// of the case, our result, and the result of the C code, in some cases with the reason.
const DIVERGE_CREATE: &[(&str, &str, &str)] = &[
    ("bytes nul", "base64", "utf-8 with a NUL, which Flux cannot read"),
    ("sparse leading hole under threshold (C double free)", "base64", "aborts"),
    (
        "sparse trailing hole under threshold -> utf-8 NULs",
        "base64",
        "utf-8 with NULs, which Flux cannot read",
    ),
    ("tree t/a t/a", "t/a once", "twice: RFC 37 has unique paths"),
    ("tree t/", "t/a", "t//a: RFC 37 has no such path"),
    ("tree .", "t/a", "./t/a: RFC 37 has no such path"),
    ("tree t/..", "rejected", "t/../t: RFC 37 has no such path"),
];

/// The known faults of the C code, each with the cases in the lists above or the tests that show
/// it.
const FAULTS: &[(&str, &[&str], &str)] = &[
    (
        "a short read is freed and returned: a small file with a leading hole aborts",
        &["sparse leading hole under threshold (C double free)"],
        "",
    ),
    (
        "text with NUL is written, which Flux cannot read; --append then replaces the archive",
        &[
            "bytes nul",
            "sparse trailing hole under threshold -> utf-8 NULs",
            "utf8-nul",
            "json-nul",
        ],
        "cli: append_replaces_an_entry_and_keeps_the_order_of_the_other_entries",
    ),
    (
        "no path, link or digest is checked",
        &["dotdot-n", "path-inner-dotdot", "symlink-then-through-n", "bv-tampered"],
        "io: escape",
    ),
    ("modes of directories are lost", &["dir-depth-first-0700"], ""),
    (
        "existing files are errors only for entries with data; modes of skipped files are changed",
        &[
            "dir-over-file-n",
            "existing-file-empty-entry-n",
            "symlink-over-file-n",
            "symlink-dir-chmod-n",
            "file-over-dir",
        ],
        "io: policies_for_existing_files_also_apply_to_links",
    ),
    ("with --overwrite a file becomes a directory", &[], "io: a_directory_never_replaces_a_file"),
    (
        "a failed entry leaves a file of zeros, and extraction stops",
        &["utf8-size-smaller", "b64-nl", "bv-short-hex"],
        "io: failed_entries_leave_no_files_and_do_not_stop_the_extraction",
    ),
    (
        "directories that cannot be read are dropped silently",
        &[],
        "io: an_unreadable_directory_is_reported_and_written_without_its_content",
    ),
    (
        "--raw has no separators, -v goes to standard output",
        &[],
        "cli: list_prints_json_and_raw_entries, create_applies_its_options_to_the_archive_and_rejects_invalid_values",
    ),
    ("messages are truncated to 160 bytes", &[], "cli: long_messages_are_not_truncated"),
];

#[test]
fn every_known_fault_of_flux_has_a_case_or_a_test() {
    let listed = |name: &str| {
        DIVERGE
            .iter()
            .chain(DIVERGE_CREATE)
            .any(|(listed, ours, _)| *listed == name && !ours.is_empty())
    };
    assert_eq!(FAULTS.len(), 10);
    for (fault, cases, tests) in FAULTS {
        assert!(!cases.is_empty() || !tests.is_empty(), "{fault}");
        for case in *cases {
            assert!(listed(case), "{fault}: {case} is not listed");
        }
    }
}

fn set_up(root: &Path, setup: &Value) {
    for step in setup.as_array().unwrap() {
        let [kind, path, third] = [0, 1, 2].map(|at| step[at].as_str().unwrap_or_default());
        let path = root.join(path);
        let mode = |at: usize| {
            let mode = u32::try_from(step[at].as_u64().unwrap()).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        match kind {
            "dir" => {
                fs::create_dir(&path).unwrap();
                mode(2);
            }
            "file" => {
                fs::write(&path, STANDARD.decode_to_vec(third).unwrap()).unwrap();
                mode(3);
            }
            "link" => symlink(third, &path).unwrap(),
            "fifo" => {
                assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            }
            "fill" => {
                let count = usize::try_from(step[3].as_u64().unwrap()).unwrap();
                fs::write(&path, third.repeat(count)).unwrap();
            }
            "blocks" => {
                let size = step[3].as_u64().unwrap();
                let file = fs::File::create(&path).unwrap();
                for (at, character) in third.bytes().enumerate().filter(|(_, byte)| *byte != b'-') {
                    let block = vec![character; usize::try_from(size).unwrap()];
                    file.write_all_at(&block, at as u64 * size).unwrap();
                }
                file.set_len(third.len() as u64 * size).unwrap();
            }
            other => panic!("step {other}"),
        }
    }
}

/// Creates the archive of a case, and returns it in the form of the corpus, together with the
/// blobrefs in the store. Fails if a file cannot be archived.
fn create(case: &Value, umask: &Umask) -> Result<(Value, Vec<String>), String> {
    let _ = umask;
    let source = tempfile::tempdir().unwrap();
    set_up(source.path(), &case["setup"]);
    let blobs = tempfile::tempdir().unwrap();
    let store = DirStore::open(blobs.path()).unwrap();
    let creator = Creator::new(source.path()).unwrap().store(&store).chunking(
        Chunking::new()
            .chunk_size(case["chunksize"].as_u64().unwrap())
            .threshold(case["small_file_threshold"].as_u64().unwrap()),
    );
    assert_eq!(text(case, "hash"), "sha1");
    let mut writer = Writer::new(Vec::new(), Form::Array);
    let paths = case["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap());
    let report = creator.write(paths, &mut writer).unwrap();
    if let Some(failure) = report.failures.first() {
        return Err(failure.to_string());
    }
    assert!(report.changed.is_empty());
    let mut json: Value = serde_json::from_slice(&writer.finish().unwrap()).unwrap();
    for entry in json.as_array_mut().unwrap() {
        let entry = entry.as_object_mut().unwrap();
        assert!(entry.shift_remove("mtime").is_some() && entry.shift_remove("ctime").is_some());
    }
    let by_path = |a: &Value, b: &Value| text(a, "path").cmp(text(b, "path"));
    json.as_array_mut().unwrap().sort_by(by_path);
    let stored = store.list().unwrap().iter().map(ToString::to_string).collect();
    Ok((json, stored))
}

/// Returns `true` if the file system for temporary files reports holes in the same way as the file
/// system on which the cases were recorded.
fn has_holes() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    set_up(folder.path(), &serde_json::json!([["blocks", "f", "-a-", 4096]]));
    let file = fs::File::open(path).unwrap();
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Data(0)) == Ok(4096)
        && rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(4096)) == Ok(8192)
}

#[test]
fn only_the_listed_create_cases_differ_from_the_recorded_results() {
    let Some(corpus) = testdata::corpus() else { return };
    let json = fs::read(corpus.join("flux/cases-create.json")).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    let holes = has_holes();
    if !holes {
        eprintln!("skipped: files with holes, which this file system does not report");
    }
    let umask = Umask::set(0o022);
    let mut faults = Vec::new();
    let cases = json["cases"].as_array().unwrap();
    for case in cases {
        let name = text(case, "name");
        if !holes && case["setup"][0][2].as_str().is_some_and(|blocks| blocks.contains('-')) {
            continue;
        }
        let ours = create(case, &umask);
        let reference = &case["reference"];
        let blobs = reference["blobs"].as_array().into_iter().flatten();
        let mut blobs: Vec<_> = blobs.map(|blob| blob.as_str().unwrap().to_owned()).collect();
        blobs.sort();
        let theirs = (reference["objects"].clone(), blobs);
        let equal = match &ours {
            // Compare the JSON text, so that the order of members matters.
            Ok(ours) => {
                format!("{} {:?}", ours.0, ours.1) == format!("{} {:?}", theirs.0, theirs.1)
            }
            Err(_) => reference["rc"].as_i64() == Some(1),
        };
        let listed = DIVERGE_CREATE.iter().any(|(listed, ..)| *listed == name);
        if equal == listed {
            let what = if listed { "listed, but equal" } else { "differs" };
            faults.push(format!("{name}: {what}\n  ours   {ours:?}\n  theirs {theirs:?}"));
        }
    }
    for (listed, ..) in DIVERGE_CREATE {
        if !cases.iter().any(|case| text(case, "name") == *listed) {
            faults.push(format!("{listed}: listed, but the case does not exist"));
        }
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), cases.len(), faults.join("\n"));
}
