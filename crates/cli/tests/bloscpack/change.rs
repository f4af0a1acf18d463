//! Tests of changing files: appending, recovering, editing metadata, converting.

use serde_json::json;

use crate::program::{Folder, json_of, npy_header, scibin, status, stderr, stdout};
use crate::{golden, info, noise, npy, numbers, packed};

#[test]
fn append_adds_the_content_of_files_and_pipes() {
    let folder = packed();
    folder.write("b", "more");
    folder.write("c", numbers(2000));
    let output = folder.done(&["bloscpack", "append", "a.blp", "b", "c"]);
    assert!(stdout(&output).contains("a.blp: 39.1 KiB in 5 chunks, 2 of them new"));
    let mut expected = [numbers(3000), b"more".to_vec(), numbers(2000)].concat();
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, expected);
    let output = folder.feed(&["bloscpack", "a", "--in-place", "--json", "a.blp", "-"], b"end");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(json_of(&output)["in_place"], true);
    expected.extend(b"end");
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, expected);
    folder.done(&["verify", "a.blp"]);
    assert_eq!(folder.names(), ["a", "a.blp", "b", "c"], "no journal is left");
    // Appending an empty file changes nothing.
    let before = folder.read("a.blp");
    folder.write("b", "");
    folder.done(&["bloscpack", "append", "a.blp", "b"]);
    assert_eq!(folder.read("a.blp"), before);
}

#[test]
fn a_file_can_be_appended_to_itself_but_not_in_place() {
    let folder = packed();
    let before = folder.read("a.blp");
    let output = folder.run(&["bloscpack", "append", "--in-place", "a.blp", "./a.blp"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("to itself"), "{}", stderr(&output));
    assert_eq!(folder.read("a.blp"), before);
    folder.done(&["bloscpack", "append", "a.blp", "a.blp"]);
    let expected = [numbers(3000), before].concat();
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, expected);
}

#[test]
fn append_uses_the_codec_and_shuffle_and_typesize_of_the_file_by_default() {
    let folder = Folder::new();
    folder.write("a", numbers(1000));
    folder.done(&["bloscpack", "pack", "a", "-c", "zstd", "--shuffle", "bit", "-t", "4"]);
    folder.done(&["bloscpack", "append", "a.blp", "a"]);
    let kind = |folder: &Folder| info(folder, "a.blp")["codecs"][0].clone();
    assert_eq!(kind(&folder)["codec"], "zstd");
    assert_eq!((&kind(&folder)["shuffle"], &kind(&folder)["typesize"]), (&json!("bit"), &json!(4)));
    folder.done(&["bloscpack", "append", "a.blp", "a", "-c", "zlib", "-s", "-t", "2", "-l", "1"]);
    assert_eq!(kind(&folder)["codec"], "zlib");
    assert_eq!(
        (&kind(&folder)["shuffle"], &kind(&folder)["typesize"]),
        (&json!("none"), &json!(2))
    );
    // If the file is empty, it has no chunk size, so the option determines the chunk size.
    folder.write("b", "");
    folder.done(&["bloscpack", "pack", "b"]);
    folder.done(&["bloscpack", "append", "b.blp", "a", "-z", "1000"]);
    assert_eq!(info(&folder, "b.blp")["header"]["chunk_size"], 1000);
}

#[test]
fn append_needs_the_grow_option_for_a_full_offset_table_and_the_scan_option_for_a_streamed_file() {
    let folder = Folder::new();
    folder.write("a", numbers(1000));
    folder.done(&["bloscpack", "pack", "a", "-z", "8000", "--max-app", "0"]);
    let before = folder.read("a.blp");
    let output = folder.run(&["bloscpack", "append", "a.blp", "a"]);
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    assert_eq!(folder.read("a.blp"), before);
    folder.done(&["bloscpack", "append", "--grow", "a.blp", "a"]);
    assert_eq!(info(&folder, "a.blp")["nbytes"], 16_000);

    let stream = folder.feed(&["bloscpack", "pack", "-q", "-z", "8000", "-"], &numbers(1000));
    folder.write("s.blp", stream.stdout);
    assert_eq!(status(&folder.run(&["bloscpack", "append", "s.blp", "a"])), 2);
    folder.done(&["bloscpack", "append", "--scan", "s.blp", "a"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "s.blp"]).stdout, numbers(1000).repeat(2));
}

#[test]
fn append_adds_rows_to_an_array() {
    let folder = Folder::new();
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy"]);
    assert_eq!(status(&folder.run(&["bloscpack", "append", "x.npy.blp", "x.npy"])), 2);
    folder.done(&["bloscpack", "append", "--axis0", "x.npy.blp", "x.npy"]);
    assert_eq!(info(&folder, "x.npy.blp")["array"]["shape"], json!([8, 3]));
    assert_eq!(stdout(&folder.done(&["get", "x.npy.blp", "--slice", "4:6"])), "0 1 2\n3 4 5\n");
    folder.write("row", [7, 0, 0, 0].repeat(3));
    folder.done(&["bloscpack", "append", "--axis0", "x.npy.blp", "row"]);
    assert_eq!(stdout(&folder.done(&["get", "x.npy.blp", "--slice", "-1"])), "7 7 7\n");
    // A partial row, or rows of a different type, are rejected.
    folder.write("row", [7, 0, 0, 0]);
    assert_eq!(status(&folder.run(&["bloscpack", "append", "--axis0", "x.npy.blp", "row"])), 2);
    let mut other = npy_header("<f4", &[1, 3]);
    other.extend([0; 12]);
    folder.write("other.npy", other);
    let output = folder.run(&["bloscpack", "append", "--axis0", "x.npy.blp", "other.npy"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("<f4"), "{}", stderr(&output));
    assert_eq!(info(&folder, "x.npy.blp")["array"]["shape"], json!([9, 3]));
}

#[test]
fn append_can_replace_the_metadata() {
    let folder = Folder::new();
    folder.write("a", "data");
    folder.write("m.json", r#"{"unit": "K"}"#);
    folder.write("long.json", format!("{:?}", noise(1000)));
    folder.done(&["bloscpack", "pack", "a", "-m", "m.json"]);
    folder.write("n.json", r#"{"unit": "m"}"#);
    folder.done(&["bloscpack", "append", "a.blp", "a", "-m", "n.json"]);
    assert_eq!(stdout(&folder.done(&["get", "a.blp", "/unit"])), "m\n");
    let before = folder.read("a.blp");
    assert_eq!(status(&folder.run(&["bloscpack", "append", "a.blp", "a", "-m", "long.json"])), 2);
    assert_eq!(folder.read("a.blp"), before, "neither the data nor the metadata is changed");
    folder.done(&["bloscpack", "append", "a.blp", "a", "-m", "long.json", "--grow"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, b"datadatadata");
}

#[test]
fn recover_keeps_the_chunks_before_the_damage_and_on_request_also_the_later_ones() {
    let folder = packed();
    let bytes = folder.read("a.blp");
    folder.write("cut.blp", &bytes[..bytes.len() - 100]);
    let output = folder.run(&["bloscpack", "recover", "cut.blp", "-o", "whole.blp"]);
    assert_eq!(status(&output), 1, "something was lost: {}", stderr(&output));
    assert!(stdout(&output).contains("lost chunk 2"), "{}", stdout(&output));
    assert!(stdout(&output).contains("whole.blp: 2 chunks kept"), "{}", stdout(&output));
    folder.done(&["verify", "whole.blp"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "whole.blp"]).stdout, numbers(2500));
    // Damage the middle chunk.
    let chunks = json_of(&folder.done(&["bloscpack", "info", "--json", "--chunks", "a.blp"]));
    let at = usize::try_from(chunks["chunks"][1]["offset"].as_u64().unwrap()).unwrap();
    let mut hole = bytes.clone();
    hole[at + 30] ^= 1;
    folder.write("hole.blp", &hole);
    let data = numbers(3000);
    for (options, expected) in [
        (&[][..], data[..10_000].to_vec()),
        (&["--skip-bad"], [&data[..10_000], &data[20_000..]].concat()),
        (&["--fill-zeros"], [&data[..10_000], &[0; 10_000], &data[20_000..]].concat()),
    ] {
        let recover = ["bloscpack", "recover", "-f", "--json", "hole.blp", "-o", "whole.blp"];
        let output = folder.run(&[&recover[..], options].concat());
        assert_eq!(json_of(&output)["lost"][0]["chunks"][0], 1, "{options:?}");
        assert_eq!(folder.done(&["bloscpack", "cat", "whole.blp"]).stdout, expected);
    }
    // Nothing is lost from an intact file.
    folder.done(&["bloscpack", "recover", "a.blp", "-f", "-o", "whole.blp"]);
    folder.remove("whole.blp");
    assert_ne!(status(&folder.run(&["bloscpack", "recover", "a", "-o", "whole.blp"])), 0);
    assert!(!folder.names().contains(&"whole.blp".to_owned()));
}

/// Kills an in-place append to the packed file `a.blp`. Returns the folder, which contains the
/// partly changed file and its journal.
#[cfg(unix)]
fn killed_append() -> Folder {
    let folder = Folder::new();
    let data: Vec<u8> = noise(1_000_000).into_bytes();
    folder.write("a", &data);
    folder.write("m.json", r#"{"unit": "K"}"#);
    folder.write("b", data.repeat(4));
    folder.done(&["bloscpack", "pack", "-l", "0", "-z", "64K", "-m", "m.json", "a"]);
    folder.copy(&folder.path("a.blp"), "before");
    // Limit the size of files, so that the system kills the process when it exceeds the limit.
    let script =
        "ulimit -c 0; ulimit -f 4096; exec \"$0\" bloscpack append --in-place -l 0 a.blp b";
    let killed = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_scibin")])
        .current_dir(folder.path(""))
        .output()
        .expect("a shell");
    assert_eq!(killed.status.code(), None, "{}", stderr(&killed));
    folder.remove("b");
    assert_eq!(folder.names(), ["a", "a.blp", "a.blp.undo-journal", "before", "m.json"]);
    assert_ne!(folder.read("a.blp"), folder.read("before"));
    folder
}

#[test]
#[cfg(unix)]
fn recover_rolls_back_a_killed_append() {
    let folder = killed_append();
    let output = folder.run(&["verify", "a.blp"]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains("Journal"), "{}", stdout(&output));
    let output = folder.done(&["bloscpack", "recover", "a.blp", "-o", "c.blp"]);
    assert!(stderr(&output).contains("rolled back an interrupted change"), "{}", stderr(&output));
    assert_eq!(folder.read("a.blp"), folder.read("before"));
    assert_eq!(folder.names(), ["a", "a.blp", "before", "c.blp", "m.json"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "c.blp"]).stdout, folder.read("a"));
}

#[test]
#[cfg(unix)]
fn readers_see_the_data_from_before_a_killed_append() {
    let folder = killed_append();
    let data = folder.read("a");
    let remedy =
        "appending to the file, editing its metadata or recovering it rolls the change back";
    for arguments in
        [&["bloscpack", "unpack", "a.blp", "-o", "-"][..], &["bloscpack", "cat", "a.blp"]]
    {
        let output = folder.done(arguments);
        assert!(output.stdout == data, "{arguments:?}");
        assert!(stderr(&output).contains(remedy), "{}", stderr(&output));
        let strict = folder.run(&[arguments, &["--strict"]].concat());
        assert_eq!((status(&strict), strict.stdout.len()), (1, 0), "{arguments:?}");
    }
    folder.done(&["blpk", "d", "a.blp", "b"]);
    assert!(folder.read("b") == data);
    assert_eq!(info(&folder, "a.blp")["nbytes"], data.len());
    for arguments in [&["verify", "a.blp"][..], &["bloscpack", "verify", "--strict", "a.blp"]] {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 1, "{arguments:?}");
        assert!(stdout(&output).contains(remedy), "{}", stdout(&output));
    }
    // Test a journal that belongs to another file, and an incomplete journal.
    let journal = folder.read("a.blp.undo-journal");
    folder.write("other.blp", &folder.read("before")[..32]);
    folder.done(&["bloscpack", "pack", "-f", "m.json", "-o", "other.blp"]);
    folder.write("other.blp.undo-journal", &journal);
    let output = folder.run(&["bloscpack", "cat", "other.blp"]);
    assert_eq!((status(&output), output.stdout.len()), (1, 0));
    assert!(stderr(&output).contains("belongs to another file: remove the journal"), "{output:?}");
    folder.write("other.blp.undo-journal", &journal[..100]);
    let output = folder.done(&["bloscpack", "cat", "other.blp"]);
    assert_eq!(output.stdout, folder.read("m.json"));
    assert!(stderr(&output).contains("is incomplete, but has not modified the file"), "{output:?}");
}

#[test]
#[cfg(unix)]
fn metadata_commands_roll_back_a_killed_append() {
    for (arguments, expected) in [
        (&["get", "a.blp", "/unit"][..], r#"{"unit":"K"}"#),
        (&["set", "a.blp", "/unit", "7"], r#"{"unit":7}"#),
        (&["rm", "a.blp", "/unit"], "{}"),
    ] {
        let folder = killed_append();
        let output = folder.done(&[&["bloscpack", "meta"], arguments].concat());
        assert!(
            stderr(&output).contains("rolled back an interrupted change"),
            "{}",
            stderr(&output)
        );
        assert_eq!(folder.names(), ["a", "a.blp", "before", "m.json"]);
        folder.done(&["verify", "a.blp"]);
        assert!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout == folder.read("a"));
        let output = folder.done(&["bloscpack", "meta", "get", "a.blp"]);
        assert_eq!(stdout(&output).trim(), expected);
    }
}

#[test]
fn meta_edits_the_value_at_a_pointer() {
    let folder = Folder::new();
    folder.write("a", "data");
    folder.write("m.json", r#"{"unit": "K", "list": [1, 2]}"#);
    folder.done(&["bloscpack", "pack", "a", "-m", "m.json"]);
    let meta = |arguments: &[&str]| folder.run(&[&["bloscpack", "meta"], arguments].concat());
    let all = || stdout(&meta(&["get", "a.blp"]));
    for (arguments, expected) in [
        (&["set", "a.blp", "/unit", "\"m\""][..], "{\"unit\":\"m\",\"list\":[1,2]}\n"),
        (&["set", "a.blp", "/list/0", "-7"], "{\"unit\":\"m\",\"list\":[-7,2]}\n"),
        (&["set", "a.blp", "/list/-", "[]"], "{\"unit\":\"m\",\"list\":[-7,2,[]]}\n"),
        (&["set", "a.blp", "/new", "null"], "{\"unit\":\"m\",\"list\":[-7,2,[]],\"new\":null}\n"),
        (&["rm", "a.blp", "/unit"], "{\"list\":[-7,2,[]],\"new\":null}\n"),
        (&["rm", "a.blp", "/list/1"], "{\"list\":[-7,[]],\"new\":null}\n"),
        (&["set", "a.blp", "", "-m", "m.json"], "{\"unit\":\"K\",\"list\":[1,2]}\n"),
    ] {
        let output = meta(arguments);
        assert_eq!(status(&output), 0, "{arguments:?}: {}", stderr(&output));
        assert_eq!(all(), expected, "{arguments:?}");
        assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, b"data");
        folder.done(&["verify", "a.blp"]);
    }
    let before = folder.read("a.blp");
    let long = format!("{:?}", noise(1000));
    for wrong in [
        &["set", "a.blp", "/a/b", "1"][..],
        &["set", "a.blp", "/list/9", "1"],
        &["set", "a.blp", "/list/x", "1"],
        &["set", "a.blp", "unit", "1"],
        &["set", "a.blp", "/unit", "{nope"],
        &["set", "a.blp", "/unit"],
        &["set", "a.blp", "/unit", &long],
        &["rm", "a.blp", "/nothing"],
        &["get", "a.blp", "/nothing"],
    ] {
        assert_eq!(status(&meta(wrong)), 2, "{wrong:?}");
        assert_eq!(folder.read("a.blp"), before, "{wrong:?}");
    }
    let output = meta(&["set", "--grow", "a.blp", "/unit", &long]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&meta(&["get", "a.blp", "/unit"])), format!("{}\n", noise(1000)));
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, b"data");
    // Remove all metadata, and set it again.
    assert_eq!(status(&meta(&["rm", "--grow", "a.blp", ""])), 0);
    assert_eq!(info(&folder, "a.blp")["metadata"], json!(null));
    assert_ne!(status(&meta(&["get", "a.blp"])), 0);
    assert_eq!(status(&meta(&["set", "--grow", "a.blp", "", "[1]"])), 0);
    assert_eq!(all(), "[1]\n");
    assert_eq!(folder.names(), ["a", "a.blp", "m.json"]);
}

#[test]
fn convert_changes_the_format_version_and_keeps_the_data() {
    let folder = packed();
    let chunk = |file: &str| {
        let path = folder.path(file);
        let info = scibin(&["bloscpack", "info", "--json", "--chunks", path.to_str().unwrap()]);
        json_of(&info)["chunks"][0]["blosc"].clone()
    };
    folder.done(&["bloscpack", "convert", "--format", "2", "a.blp", "-o", "two.blp"]);
    assert_eq!(info(&folder, "two.blp")["header"]["version"], 2);
    assert_eq!(chunk("two.blp"), chunk("a.blp"));
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy"]);
    let to_two = ["bloscpack", "convert", "--format", "2", "x.npy.blp", "-o", "bytes.blp"];
    assert_eq!(status(&folder.run(&to_two)), 2, "version 2 has no metadata");
    folder.done(&[&to_two[..], &["--no-metadata", "-k", "md5"]].concat());
    assert_eq!(info(&folder, "bytes.blp")["header"]["checksum"], "md5");
    for name in ["v0/chunks_3", "v1/chunks_3", "v2/checksum_md5"] {
        let old = golden(name);
        let old = old.to_str().unwrap();
        folder.done(&["bloscpack", "convert", "-f", old, "-o", "three.blp"]);
        assert_eq!(info(&folder, "three.blp")["header"]["version"], 3, "{name}");
        let data = folder.done(&["bloscpack", "cat", old]).stdout;
        assert_eq!(folder.done(&["bloscpack", "cat", "three.blp"]).stdout, data, "{name}");
        folder.done(&["verify", "three.blp"]);
    }
}
