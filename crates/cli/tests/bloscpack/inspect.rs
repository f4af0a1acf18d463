//! Tests of `info`, `verify` and `get`.

use serde_json::json;

use crate::program::{Folder, json_of, npy_header, scibin, status, stderr, stdout};
use crate::{golden, npy, packed};

#[test]
fn get_prints_the_array_and_parts_of_it() {
    let folder = Folder::new();
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy"]);
    let get = |arguments: &[&str]| folder.done(&[&["get", "x.npy.blp"], arguments].concat());
    assert_eq!(stdout(&get(&[])), "0 1 2\n3 4 5\n6 7 8\n9 10 11\n");
    assert_eq!(stdout(&get(&["--slice", "-1,::-2"])), "11 9\n");
    let value = json_of(&get(&["--json", "--slice", "1:3,0"]));
    assert_eq!(value, json!({"dtype": "<i4", "shape": [2], "values": [3, 6]}));
    get(&["--slice", ":,1", "-o", "column.npy"]);
    let mut column = npy_header("<i4", &[4]);
    column.extend([1_i32, 4, 7, 10].into_iter().flat_map(i32::to_le_bytes));
    assert_eq!(folder.read("column.npy"), column);
    assert_eq!(get(&["--slice", ":,1", "-o", "-"]).stdout, column);
    for wrong in [
        &["--slice", "9"][..],
        &["--slice", "x"],
        &["-o", "column.npy"],
        &["/shape", "--slice", "0"],
        &["/nothing"],
    ] {
        let output = folder.run(&[&["get", "x.npy.blp"], wrong].concat());
        assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{wrong:?}");
    }
}

#[test]
fn get_with_a_pointer_prints_metadata() {
    let folder = Folder::new();
    folder.write("a", "data");
    folder.write("m.json", r#"{"unit": "K", "list": [1, {"x": null}]}"#);
    folder.done(&["bloscpack", "pack", "a", "-m", "m.json"]);
    for (pointer, text, json) in [
        ("/unit", "K\n", "\"K\"\n"),
        ("/list/1", "{\"x\":null}\n", "{\"x\":null}\n"),
        (
            "",
            "{\"unit\":\"K\",\"list\":[1,{\"x\":null}]}\n",
            "{\"unit\":\"K\",\"list\":[1,{\"x\":null}]}\n",
        ),
    ] {
        assert_eq!(stdout(&folder.done(&["get", "a.blp", pointer])), text);
        assert_eq!(stdout(&folder.done(&["bloscpack", "get", "--json", "a.blp", pointer])), json);
        assert_eq!(stdout(&folder.done(&["bloscpack", "meta", "get", "a.blp", pointer])), text);
    }
    let output = folder.run(&["get", "a.blp"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("not a numpy array"), "{}", stderr(&output));
}

#[test]
fn info_shows_the_header_and_chunks_and_codecs_and_metadata() {
    let folder = packed();
    let text = stdout(&folder.done(&["info", "a.blp"]));
    for part in [
        "Bloscpack version 3",
        "23.4 KiB in 3 chunks of 10000 B, the last of 4000 B",
        "3 blosclz, shuffle byte, typesize 8",
        "checksum adler32",
        "space for 30 more chunks",
        "metadata  none",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = stdout(&folder.done(&["bloscpack", "info", "--chunks", "a.blp"]));
    let line = text.lines().last().unwrap();
    assert_eq!(line.split_whitespace().next(), Some("2"), "{text}");
    assert!(line.contains("4000"), "{text}");

    let value = json_of(&folder.done(&["bloscpack", "info", "--json", "--chunks", "a.blp"]));
    assert_eq!(value["format"], "bloscpack");
    assert_eq!(
        value["header"],
        json!({
            "version": 3, "offsets": true, "metadata": false, "checksum": "adler32", "typesize": 8,
            "chunk_size": 10_000, "last_chunk": 4_000, "nchunks": 3, "max_app_chunks": 30,
        })
    );
    assert_eq!(value["chunks"][0]["offset"], 32 + 33 * 8);
    assert_eq!(value["chunks"][2]["nbytes"], 4_000);
    assert_eq!(value["chunks"][2]["blosc"]["codec"], "blosclz");
    assert_eq!(value["diagnostics"], json!([]));
    assert_eq!(value["metadata"], json!(null));
    assert!(value["ratio"].as_f64().unwrap() > 5.0);
}

#[test]
fn info_shows_which_of_the_four_format_versions_a_file_has() {
    for (name, version, text) in [
        ("v0/chunks_3", 0, "without version"),
        ("v1/chunks_3", 1, "version 1"),
        ("v2/checksum_md5", 2, "version 2"),
        ("v3/codec_lz4_0_1", 3, "version 3"),
    ] {
        let path = golden(name);
        let path = path.to_str().unwrap();
        let value = json_of(&scibin(&["info", "--json", path]));
        assert_eq!(value["header"]["version"], version, "{name}");
        assert!(stdout(&scibin(&["info", path])).contains(text), "{name}");
        assert_eq!(status(&scibin(&["verify", path])), 0, "{name}");
    }
}

#[test]
fn the_status_of_verify_distinguishes_intact_and_damaged_and_missing_files() {
    let folder = packed();
    let output = folder.done(&["verify", "a.blp"]);
    assert_eq!(stdout(&output), "a.blp: fine, 3 chunks of 23.4 KiB checked\n");
    assert_eq!(stdout(&folder.done(&["-q", "verify", "a.blp"])), "");

    let mut bytes = folder.read("a.blp");
    let offset = json_of(&folder.done(&["bloscpack", "info", "--json", "--chunks", "a.blp"]))
        ["chunks"][1]["offset"].as_u64().unwrap();
    bytes[usize::try_from(offset).unwrap() + 40] ^= 1;
    folder.write("a.blp", &bytes);
    for arguments in [&["verify", "a.blp"][..], &["bloscpack", "verify", "--quick", "a.blp"]] {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 1);
        assert!(stdout(&output).contains("chunk 1"), "{}", stdout(&output));
    }
    let value = json_of(&folder.run(&["verify", "--json", "a.blp"]));
    assert_eq!((&value["ok"], &value["chunks"]), (&json!(false), &json!(3)));
    assert_eq!(value["diagnostics"][0]["pointer"], "/chunks/1");
    assert_eq!(value["diagnostics"][0]["severity"], "error");
    assert!(value["diagnostics"][0]["offset"].as_u64().unwrap() >= offset);

    folder.write("none.blp", &bytes[..20]);
    for (file, expected, reason) in [
        ("none.blp", 1, "the header is truncated"),
        ("a", 1, "the file is not a Bloscpack file"),
        ("missing.blp", 2, "the file does not exist"),
    ] {
        let output = folder.run(&["bloscpack", "verify", file]);
        assert_eq!((status(&output), stdout(&output)), (expected, String::new()), "{reason}");
    }
    assert_eq!(status(&folder.run(&["verify", "a.blp", "missing.blp"])), 2);
}

#[test]
fn an_array_with_too_many_empty_rows_is_not_printed() {
    let folder = Folder::new();
    let file = npy_header("<i4", &[1 << 40, 0]);
    folder.write("a.npy", &file);
    folder.done(&["bloscpack", "pack", "a.npy"]);
    let output = folder.run(&["get", "--json", "a.npy.blp"]);
    assert_eq!((status(&output), stdout(&output).as_str()), (2, ""));
    assert!(stderr(&output).contains("too many to print"), "{}", stderr(&output));
    folder.done(&["get", "-o", "b.npy", "a.npy.blp"]);
    assert_eq!(folder.read("b.npy"), file);
}

#[test]
fn unreadable_input_files_cause_status_2_and_a_single_message() {
    let folder = packed();
    for arguments in [
        &["bloscpack", "pack", "missing"][..],
        &["bloscpack", "pack", "."],
        &["bloscpack", "unpack", "missing.blp"],
        &["bloscpack", "append", "missing.blp", "a"],
        &["bloscpack", "append", "a.blp", "missing"],
        &["bloscpack", "info", "missing.blp"],
        &["bloscpack", "meta", "get", "missing.blp"],
    ] {
        let output = folder.run(arguments);
        assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{arguments:?}");
        let lines = stderr(&output);
        assert_eq!(lines.lines().count(), 1, "{arguments:?}: {lines}");
        assert!(lines.starts_with("scibin: "), "{lines}");
    }
    assert_eq!(folder.names(), ["a", "a.blp"]);
}
