//! Tests that extract the golden archives, and create archives from the extracted files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use base64_simd::STANDARD;
use flux_archive::disk::{Creator, Extractor, Times};
use flux_archive::store::{BlobStoreMut, Chunking, MemoryStore};
use flux_archive::{BlobRef, Form, HashType, OpenOptions, Profile, Writer};
use rustix::fs::Mode;
use serde_json::{Map, Value, json};

/// The modification time in the created archives, in seconds since 1970.
const MTIME: i64 = 1_677_604_007;

fn blobs() -> MemoryStore {
    let text = fs::read_to_string(testdata::path("flux/expected.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let store = MemoryStore::new();
    for (name, blob) in recorded["blobs"].as_object().unwrap() {
        let blob = STANDARD.decode_to_vec(blob.as_str().unwrap()).unwrap();
        let blobref = store.put(HashType::Sha1, &blob).unwrap();
        assert_eq!(BlobRef::parse(name), Ok(blobref));
    }
    store
}

/// Extracts the archive of a case into a directory.
fn extract(case: &testdata::Case, target: &Path) {
    let profile = Profile::from_name(case.entry["profile"].as_str().unwrap()).unwrap();
    let document = fs::read(&case.file).unwrap();
    let archive = OpenOptions::new().profile(profile).parse(&document).unwrap();
    let report = Extractor::new(target).unwrap().store(&blobs()).run(&archive).unwrap();
    assert!(report.failures.is_empty(), "{}: {:?}", case.name, report.failures);
}

/// Returns the files below a directory in the form of a recorded tree. Includes the modification
/// time of a file only if `expected` contains a time for the file.
fn tree(root: &Path, expected: &Value) -> Value {
    let (mut nodes, mut pending) = (Map::new(), vec![root.to_owned()]);
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = format!("{:04o}", metadata.mode() & 0o7777);
            let mut node = if metadata.is_symlink() {
                json!({"type": "l", "target": fs::read_link(&path).unwrap()})
            } else if metadata.is_dir() {
                pending.push(path.clone());
                json!({"type": "d", "mode": mode})
            } else {
                let data = STANDARD.encode_to_string(fs::read(&path).unwrap());
                json!({"type": "f", "mode": mode, "data": data})
            };
            let relative = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            if expected[&relative]["mtime"].is_i64() {
                node["mtime"] = metadata.mtime().into();
            }
            nodes.insert(relative, node);
        }
    }
    Value::Object(nodes)
}

// The umask applies to the whole process, so a single test covers everything that depends on it.
#[test]
fn extracting_and_creating_match_the_recorded_results() {
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let cases = super::cases();
    for case in &cases {
        let target = tempfile::tempdir().unwrap();
        extract(case, target.path());
        let expected = &case.ours["tree"];
        let difference = testdata::difference(expected, &tree(target.path(), expected));
        assert_eq!(difference, None, "{}", case.name);
    }

    let source = tempfile::tempdir().unwrap();
    extract(&cases[0], source.path());
    let store = MemoryStore::new();
    for (name, cut) in [("created", false), ("created_blobs", true)] {
        let creator = Creator::new(source.path()).unwrap().times(Times::Fixed(MTIME));
        let creator = if cut {
            creator.store(&store).chunking(Chunking::new().threshold(0).chunk_size(7))
        } else {
            creator
        };
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let report = creator.write(["run"], &mut writer).unwrap();
        assert!(report.failures.is_empty() && report.changed.is_empty());
        let created = String::from_utf8(writer.finish().unwrap()).unwrap();
        let recorded = fs::read_to_string(testdata::path(&format!("flux/{name}.json"))).unwrap();
        assert_eq!(created, recorded, "{name}");
    }
}
