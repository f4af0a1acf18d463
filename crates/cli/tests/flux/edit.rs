//! Commands that change archives and move blobs.

use flux_archive::HashType;
use flux_archive::store::{BlobStoreMut, DirStore};
use serde_json::json;

use crate::program::{json_of, status, stderr, stdout};
use crate::{archived, document, paths, stored};

#[test]
fn convert_goes_from_array_to_dict_and_back() {
    let folder = archived();
    folder.done(&["flux", "convert", "a.json", "-o", "d.json"]);
    assert!(document(&folder, "d.json").is_object());
    let output = folder.run(&["flux", "convert", "a.json", "-o", "d.json"]);
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    folder.done(&["flux", "convert", "d.json", "-o", "a2.json"]);
    assert_eq!(folder.read("a2.json"), folder.read("a.json"));
    let objects = folder.done(&["flux", "convert", "a.json", "--to", "objects"]);
    assert!(objects.stdout.starts_with(b"{\"path\""));
    let back = folder.feed(&["flux", "convert", "-"], &objects.stdout);
    assert_eq!(back.stdout, folder.read("a.json"));
    let pretty = folder.done(&["flux", "convert", "a.json", "--to", "array", "--pretty"]);
    assert!(stdout(&pretty).starts_with("[\n  {\n    \"path\": \"a.txt\",\n"));
}

#[test]
fn append_keeps_the_order_and_replaces_in_a_dict() {
    let folder = archived();
    folder.write("src/a.txt", "new");
    let added = folder.done(&["flux", "append", "a.json", "-C", "src", "a.txt"]);
    assert_eq!(stdout(&added), "a.json: 1 entry added\n");
    let listed = paths(&folder, "a.json");
    assert_eq!((listed.len(), listed[0].as_str(), listed[6].as_str()), (7, "a.txt", "a.txt"));
    assert_eq!(stdout(&folder.run(&["flux", "cat", "a.json", "a.txt"])), "new", "the later one");

    folder.done(&["flux", "create", "-q", "-o", "d.json", "--dict", "-C", "src", "link", "a.txt"]);
    folder.write("src/a.txt", "newer");
    folder.done(&[
        "flux", "append", "-q", "d.json", "-C", "src", "--store", "blobs", "a.txt", "d/b.bin",
    ]);
    assert_eq!(paths(&folder, "d.json"), ["link", "a.txt", "d/b.bin"]);
    assert_eq!(document(&folder, "d.json")["a.txt"]["data"], "newer");
    folder.done(&["flux", "verify", "d.json", "--store", "blobs"]);

    // An archive that cannot be read is not replaced.
    for bad in ["", "[{\"path\":\"..\",\"mode\":33188}]", "[{"] {
        folder.write("bad.json", bad);
        let output = folder.run(&["flux", "append", "bad.json", "src"]);
        assert_eq!(status(&output), 1, "{bad}");
        let output = folder.run(&["flux", "create", "--append", "-o", "bad.json", "src"]);
        assert_eq!(status(&output), 1, "{bad}");
        assert_eq!(folder.read("bad.json"), bad.as_bytes());
    }
    folder.write("file.json", r#"[{"path":"src","mode":33188,"size":0}]"#);
    let output = folder.run(&["flux", "append", "file.json", "src/d"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("R113"), "{}", stderr(&output));
}

#[test]
fn delete_removes_by_pattern() {
    let folder = archived();
    let before = folder.read("a.json");
    let dry = folder.done(&["flux", "delete", "--dry-run", "-v", "a.json", "d*"]);
    assert_eq!(stdout(&dry), "a.json: 4 entries would be deleted\n");
    assert!(stderr(&dry).contains("scibin: d/b.bin\n"));
    let none = folder.done(&["flux", "delete", "a.json", "x"]);
    assert_eq!(stderr(&none), "scibin: No files matched pattern 'x'\n");
    assert_eq!(folder.read("a.json"), before);
    let value = json_of(&folder.done(&["flux", "delete", "--json", "a.json", "d/*", "d"]));
    assert_eq!(value["deleted"], json!(["d/b.bin", "d/empty", "d/nothing", "d"]));
    assert_eq!(paths(&folder, "a.json"), ["a.txt", "link"]);
}

#[test]
fn pack_and_externalize_are_inverse() {
    let folder = stored();
    let packed = folder.done(&["flux", "pack", "b.json", "--store", "blobs", "-o", "p.json"]);
    assert_eq!(stdout(&packed), "p.json: 1 file packed, 4.9 KiB\n");
    assert_eq!(folder.read("p.json"), folder.read("a.json"));
    let value = json_of(&folder.done(&[
        "flux",
        "externalize",
        "--json",
        "a.json",
        "--store",
        "other",
        "-o",
        "e.json",
    ]));
    assert_eq!((&value["files"], &value["bytes"]), (&json!(1), &json!(5000)));
    assert_eq!(folder.read("e.json"), folder.read("b.json"));
    folder.done(&["flux", "verify", "e.json", "--store", "other"]);
    // A store in a database, as in Flux.
    let e = folder.done(&[
        "flux",
        "externalize",
        "a.json",
        "--store",
        "content.sqlite",
        "--hash",
        "sha256",
        "--chunksize",
        "2K",
    ]);
    folder.write("s.json", &e.stdout);
    folder.done(&["flux", "verify", "s.json", "--store", "content.sqlite"]);
    assert_eq!(
        folder.done(&["flux", "pack", "s.json", "--store", "content.sqlite"]).stdout,
        folder.read("a.json")
    );
    assert!(folder.read("content.sqlite").starts_with(b"SQLite format 3\0"));
    // Two stores, searched in turn.
    folder.done(&[
        "flux",
        "pack",
        "s.json",
        "--store",
        "blobs",
        "--store",
        "content.sqlite",
        "-o",
        "two.json",
    ]);

    let missing = folder.run(&["flux", "pack", "b.json", "-o", "m.json"]);
    assert_eq!(status(&missing), 2);
    assert!(stderr(&missing).contains("d/b.bin: R155"), "{}", stderr(&missing));
    assert_eq!(folder.read("m.json"), folder.read("b.json"), "the entry is as it was");
    let large = folder.run(&["flux", "pack", "b.json", "--store", "blobs", "--max-size", "4K"]);
    assert_eq!(status(&large), 2);
}

#[test]
fn gc_removes_what_no_archive_names() {
    let folder = stored();
    let store = DirStore::open(folder.path("blobs")).unwrap();
    store.put(HashType::Sha1, b"nobody's").unwrap();
    folder.write("broken.json", "[{");
    let output = folder.run(&["flux", "gc", "--store", "blobs", "a.json", "broken.json"]);
    assert_eq!(status(&output), 1, "an archive that cannot be read may name all of them");
    let dry =
        folder.done(&["flux", "gc", "--dry-run", "-v", "--store", "blobs", "a.json", "b.json"]);
    assert_eq!(stdout(&dry), "blobs: 1 blob would be removed, 1 kept\n");
    assert!(stderr(&dry).contains("sha1-"));
    assert_eq!(store.list().unwrap().len(), 2);
    let value =
        json_of(&folder.done(&["flux", "gc", "--json", "--store", "blobs", "a.json", "b.json"]));
    assert_eq!(value["removed"].as_array().unwrap().len(), 1);
    folder.done(&["flux", "verify", "b.json", "--store", "blobs"]);
    // With an archive that names none, all blobs are removed; then one is missing.
    folder.done(&["flux", "gc", "-q", "--store", "blobs", "a.json"]);
    let output = folder.run(&["flux", "gc", "--store", "blobs", "b.json"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("is missing"));
    folder.write("blobs/kvs-primary", "{}");
    let output = folder.run(&["flux", "gc", "--store", "blobs", "a.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("the store of a broker"), "{}", stderr(&output));
}
