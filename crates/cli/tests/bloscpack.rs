//! `scibin bloscpack` as a user runs it: output, status, messages, what is left behind.

mod program;

use std::path::PathBuf;

use serde_json::{Value, json};

use program::{Folder, json_of, npy_header, scibin, status, stderr, stdout};

fn golden(name: &str) -> PathBuf {
    testdata::path(&format!("bloscpack/{name}.blp"))
}

/// Little-endian floats 0, 0.5, 1, 1.5 and so on.
fn numbers(count: u32) -> Vec<u8> {
    (0..count).flat_map(|n| (f64::from(n) * 0.5).to_le_bytes()).collect()
}

/// Text that zlib does not make much smaller.
fn noise(len: u32) -> String {
    let letter =
        |n: u32| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 24).to_le_bytes()[0] % 26);
    (0..len).map(letter).collect()
}

/// A `.npy` file of shape (4, 3) with 0 to 11, little-endian.
fn npy() -> Vec<u8> {
    let mut file = npy_header("<i4", &[4, 3]);
    file.extend((0..12_i32).flat_map(i32::to_le_bytes));
    file
}

/// A folder with `a`, 3000 numbers of eight bytes, packed to `a.blp` in three chunks.
fn packed() -> Folder {
    let folder = Folder::new();
    folder.write("a", numbers(3000));
    folder.done(&["bloscpack", "pack", "-q", "-z", "10000", "a"]);
    folder
}

fn info(folder: &Folder, file: &str) -> Value {
    json_of(&folder.done(&["info", "--json", file]))
}

#[test]
fn pack_and_unpack_name_the_files_that_are_not_named() {
    let folder = packed();
    assert_eq!(folder.names(), ["a", "a.blp"]);
    folder.remove("a");
    let output = folder.done(&["bloscpack", "unpack", "a.blp"]);
    assert_eq!(folder.read("a"), numbers(3000));
    assert!(stdout(&output).starts_with("a: 23.4 KiB of "), "{}", stdout(&output));
    assert_eq!(folder.names(), ["a", "a.blp"]);
    folder.copy(&folder.path("a.blp"), "other");
    let output = folder.run(&["bloscpack", "unpack", "other"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("does not end in .blp"), "{}", stderr(&output));
}

#[test]
fn every_option_of_pack_is_in_the_file() {
    let folder = Folder::new();
    folder.write("a", numbers(3000));
    folder.write("m.json", r#"{"unit": "K", "list": [1, 2.5, null]}"#);
    for (arguments, pointer, expected) in [
        (&["-t", "4"][..], "/header/typesize", json!(4)),
        (&["--typesize", "255"], "/codecs/0/typesize", json!(255)),
        (&["-s"], "/codecs/0/shuffle", json!("none")),
        (&["--shuffle", "bit"], "/codecs/0/shuffle", json!("bit")),
        (&["-c", "zstd"], "/codecs/0/codec", json!("zstd")),
        (&["--codec", "lz4hc"], "/codecs/0/codec", json!("lz4")),
        (&["-c", "snappy"], "/codecs/0/codec", json!("snappy")),
        (&["-l", "0"], "/codecs/0/memcpyed", json!(true)),
        (&["--clevel", "9"], "/codecs/0/memcpyed", json!(false)),
        (&["-z", "1.5K"], "/header/chunk_size", json!(1536)),
        (&["--chunk-size", "max"], "/header/nchunks", json!(1)),
        (&["-k", "sha512"], "/header/checksum", json!("sha512")),
        (&["--checksum", "none"], "/header/checksum", json!("None")),
        (&["--no-offsets"], "/header/offsets", json!(false)),
        (&["--max-app", "3"], "/header/max_app_chunks", json!(3)),
        (&[], "/header/max_app_chunks", json!(10)),
        (&["-m", "m.json"], "/metadata/value/list/1", json!(2.5)),
        (&["-m", "m.json", "--meta-size", "100"], "/metadata/max_meta_size", json!(100)),
        (&["--format", "2"], "/header/version", json!(2)),
        (&["-n", "2"], "/header/version", json!(3)),
    ] {
        folder.done(&[&["bloscpack", "pack", "-f", "a"], arguments].concat());
        let info = info(&folder, "a.blp");
        assert_eq!(info.pointer(pointer), Some(&expected), "{arguments:?}: {info}");
        assert_eq!(info["nbytes"], 24_000, "{arguments:?}");
        folder.done(&["bloscpack", "unpack", "-f", "a.blp", "-o", "b"]);
        assert_eq!(folder.read("b"), folder.read("a"), "{arguments:?}");
        folder.done(&["bloscpack", "verify", "a.blp"]);
    }
}

#[test]
fn options_that_cannot_be_leave_no_file() {
    let folder = Folder::new();
    folder.write("a", "data");
    folder.write("bad.json", "{nope");
    folder.write("m.json", "{}");
    for wrong in [
        &["-z", "0"][..],
        &["-z", "2G"],
        &["-z", "0.5B"],
        &["-z", ""],
        &["-z", "1k"],
        &["-z=-5"],
        &["-z", "NaN"],
        &["-t", "0"],
        &["-t", "256"],
        &["-l", "10"],
        &["-c", "gzip"],
        &["-k", "sha3"],
        &["-n", "0"],
        &["-n", "257"],
        &["-s", "--shuffle", "bit"],
        &["--no-offsets", "--max-app", "1"],
        &["--format", "1"],
        &["--format", "2", "-m", "m.json"],
        &["--format", "2", "--max-app", "1"],
        &["-m", "bad.json"],
        &["-m", "missing.json"],
        &["-m", "m.json", "--meta-size", "1"],
        &["-o", "no/such/folder"],
    ] {
        let output = folder.run(&[&["bloscpack", "pack", "a"], wrong].concat());
        assert_eq!(status(&output), 2, "{wrong:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{wrong:?}");
        assert_eq!(folder.names(), ["a", "bad.json", "m.json"], "{wrong:?}");
    }
}

#[test]
fn existing_output_is_replaced_only_by_force() {
    let folder = packed();
    for command in [
        &["bloscpack", "pack", "a"][..],
        &["bloscpack", "unpack", "a.blp"],
        &["bloscpack", "recover", "a.blp", "-o", "a"],
        &["bloscpack", "convert", "a.blp", "-o", "a"],
        &["bloscpack", "unpack", "a.blp", "-o", "b", "--metadata-out", "a"],
    ] {
        let before = (folder.read("a"), folder.read("a.blp"));
        let output = folder.run(command);
        assert_eq!(status(&output), 2, "{command:?}");
        assert!(stderr(&output).contains("exists already"), "{}", stderr(&output));
        assert_eq!((folder.read("a"), folder.read("a.blp")), before, "{command:?}");
        assert_eq!(folder.names(), ["a", "a.blp"], "{command:?}");
    }
    folder.done(&["bloscpack", "unpack", "--force", "a.blp"]);
    folder.done(&["bloscpack", "pack", "-f", "a"]);
}

/// `pack` with the chunks of `packed`.
fn pack<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["bloscpack", "pack", "-z", "10000"], arguments].concat()
}

#[test]
fn standard_input_and_output_are_dashes() {
    let folder = Folder::new();
    let data = numbers(3000);
    folder.write("a", &data);
    // A pipe to a file: as if it had been a file.
    let output = folder.feed(&pack(&["-", "-o", "pipe.blp"]), &data);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    folder.done(&pack(&["a"]));
    assert_eq!(folder.read("pipe.blp"), folder.read("a.blp"));
    // A file to a pipe: all numbers are known, but there is no way back for the offsets.
    let output = folder.done(&pack(&["a", "-o", "-"]));
    assert_eq!(stderr(&output), "");
    folder.done(&pack(&["a", "--no-offsets", "-o", "b.blp"]));
    assert_eq!(output.stdout, folder.read("b.blp"));
    // A pipe to a pipe.
    let output = folder.feed(&pack(&["-"]), &data);
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("take the packed file for an empty one"));
    folder.write("stream.blp", &output.stdout);
    assert_eq!(info(&folder, "stream.blp")["header"]["nchunks"], json!(null));
    let output = folder.feed(&["bloscpack", "unpack", "-"], &output.stdout);
    assert_eq!((status(&output), output.stdout), (0, data.clone()), "{:?}", output.stderr);
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, data);
    // Nothing at all.
    let output = folder.feed(&["bloscpack", "pack", "-q", "-"], b"");
    let output = folder.feed(&["bloscpack", "unpack", "-"], &output.stdout);
    assert_eq!((status(&output), output.stdout), (0, Vec::new()));
}

#[test]
fn empty_file_is_one_empty_chunk() {
    let folder = Folder::new();
    folder.write("a", "");
    folder.done(&["bloscpack", "pack", "a"]);
    assert_eq!(folder.read("a.blp").len(), 140, "as the original makes it");
    folder.done(&["bloscpack", "unpack", "a.blp", "-o", "b"]);
    assert_eq!(folder.read("b"), b"");
    folder.done(&["verify", "a.blp"]);
}

#[test]
fn parts_of_the_data_are_unpacked() {
    let folder = packed();
    let data = numbers(3000);
    for (arguments, expected) in [
        (&["--range", "0..8"][..], &data[..8]),
        (&["--range", "9999..20001"], &data[9999..20_001]),
        (&["--range", "23999.."], &data[23_999..]),
        (&["--range", "..1"], &data[..1]),
        (&["--range", "24000..24000"], &[]),
        (&["--chunks", "1..2"], &data[10_000..20_000]),
        (&["--chunks", "2.."], &data[20_000..]),
        (&["--chunks", "3.."], &[]),
    ] {
        let unpack = &["bloscpack", "unpack", "a.blp", "-f", "-o"][..];
        folder.done(&[unpack, &["part"], arguments].concat());
        assert_eq!(folder.read("part"), expected, "{arguments:?}");
        assert_eq!(folder.done(&[unpack, &["-"], arguments].concat()).stdout, expected);
    }
    let cat = folder.done(&["bloscpack", "cat", "a.blp", "--range", "100..20008", "-n", "1"]);
    assert_eq!(cat.stdout, data[100..20_008]);
    folder.remove("part");
    for wrong in ["--range=0..24001", "--range=5..4", "--range=x", "--chunks=0..4", "--chunks=9.."]
    {
        let output = folder.run(&["bloscpack", "unpack", "a.blp", "-o", "part", wrong]);
        assert_eq!(status(&output), 2, "{wrong}: {}", stderr(&output));
        assert_eq!(folder.names(), ["a", "a.blp"], "{wrong}");
    }
}

#[test]
fn npy_files_are_arrays_on_both_ways() {
    let folder = Folder::new();
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy"]);
    let info = info(&folder, "x.npy.blp");
    assert_eq!(info["array"], json!({"dtype": "<i4", "shape": [4, 3], "order": "C"}));
    assert_eq!((&info["nbytes"], &info["header"]["typesize"]), (&json!(48), &json!(4)));
    folder.remove("x.npy");
    folder.done(&["bloscpack", "unpack", "x.npy.blp"]);
    assert_eq!(folder.read("x.npy"), npy());
    // By the option, and as plain bytes.
    let array = ["bloscpack", "unpack", "x.npy.blp", "-o"];
    assert_eq!(folder.done(&[&array[..], &["-", "--npy"]].concat()).stdout, npy());
    folder.done(&[&array[..], &["bytes"]].concat());
    assert_eq!(folder.read("bytes"), npy()[npy().len() - 48..]);
    // Packed as the file that it is.
    folder.done(&["bloscpack", "pack", "-f", "--raw", "x.npy"]);
    folder.remove("x.npy");
    folder.done(&["bloscpack", "unpack", "x.npy.blp"]);
    assert_eq!(folder.read("x.npy"), npy());
    for no_array in [&["--npy", "-o", "y"][..], &["-o", "y.npy"], &["-o", "y.npy", "--range", ".."]]
    {
        let output = folder.run(&[&["bloscpack", "unpack", "x.npy.blp"], no_array].concat());
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        assert_eq!(folder.names(), ["bytes", "x.npy", "x.npy.blp"]);
    }
}

#[test]
fn what_is_no_npy_file_is_refused_under_that_name() {
    let folder = Folder::new();
    folder.write("x.npy", "no array");
    let output = folder.run(&["bloscpack", "pack", "x.npy"]);
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    assert_eq!(folder.names(), ["x.npy"]);
    folder.done(&["bloscpack", "pack", "x.npy", "--raw"]);
}

#[test]
fn get_gives_elements_and_parts_of_the_array() {
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
fn get_with_a_pointer_gives_metadata() {
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
fn info_shows_header_chunks_codecs_and_metadata() {
    let folder = packed();
    let text = stdout(&folder.done(&["info", "a.blp"]));
    for part in [
        "Bloscpack version 3",
        "23.4 KiB in 3 chunks of 10000 B, the last of 4000 B",
        "3 blosclz, shuffle byte, typesize 8",
        "checksum adler32",
        "room for 30 more chunks",
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
fn info_knows_every_version() {
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
fn verify_is_0_for_a_whole_file_1_for_a_damaged_one_and_2_for_none() {
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
    let output = folder.run(&["bloscpack", "verify", "none.blp"]);
    assert_eq!((status(&output), stdout(&output)), (1, String::new()), "a header that is cut");
    for none in ["a", "missing.blp"] {
        let output = folder.run(&["bloscpack", "verify", none]);
        assert_eq!((status(&output), stdout(&output)), (2, String::new()));
    }
    assert_eq!(status(&folder.run(&["verify", "a.blp", "missing.blp"])), 2);
}

#[test]
fn bad_data_are_status_1_and_leave_no_file() {
    let folder = packed();
    let mut bytes = folder.read("a.blp");
    let last = bytes.len() - 10;
    bytes[last] ^= 1;
    folder.write("a.blp", &bytes);
    for goal in ["b", "-"] {
        let output = folder.run(&["bloscpack", "unpack", "a.blp", "-o", goal]);
        assert_eq!(status(&output), 1, "{}", stderr(&output));
        assert!(
            stderr(&output).starts_with("scibin: a.blp: chunk 2: adler32"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(folder.names(), ["a", "a.blp"]);
    // The first chunks are there.
    folder.done(&["bloscpack", "unpack", "a.blp", "--chunks", "..2", "-o", "b"]);
    assert_eq!(folder.read("b"), numbers(2500));
}

#[test]
fn digests_are_not_checked_when_that_is_not_wanted() {
    let folder = Folder::new();
    folder.write("a", "stored as it is");
    folder.done(&["bloscpack", "pack", "a"]);
    let mut bytes = folder.read("a.blp");
    let end = bytes.len() - 4;
    bytes[end - 1] = b'!';
    folder.write("a.blp", &bytes);
    assert_eq!(status(&folder.run(&["bloscpack", "cat", "a.blp"])), 1);
    let output = folder.done(&["bloscpack", "cat", "--no-verify", "a.blp"]);
    assert_eq!(stdout(&output), "stored as it i!");
    folder.done(&["bloscpack", "unpack", "--no-verify", "a.blp", "-o", "b"]);
}

#[test]
fn strict_reading_refuses_what_lenient_reading_remarks() {
    let folder = packed();
    let mut bytes = folder.read("a.blp");
    bytes[12..16].copy_from_slice(&3999_i32.to_le_bytes()); // last_chunk
    folder.write("a.blp", &bytes);
    let output = folder.done(&["bloscpack", "unpack", "a.blp", "-f"]);
    assert!(stderr(&output).contains("SizeMismatch"), "{}", stderr(&output));
    assert_eq!(folder.read("a"), numbers(3000));
    assert_eq!(stderr(&folder.done(&["bloscpack", "-q", "unpack", "a.blp", "-f"])), "");
    assert_eq!(status(&folder.run(&["bloscpack", "unpack", "a.blp", "-f", "--strict"])), 1);
    assert_eq!(status(&folder.run(&["bloscpack", "info", "a.blp", "--strict"])), 1);
    assert_eq!(status(&folder.run(&["bloscpack", "verify", "a.blp", "--strict"])), 1);
}

#[test]
fn order_of_chunks_is_asked_for_where_it_is_in_doubt() {
    let cases = testdata::cases(&testdata::path("bloscpack/expected.json"));
    let case = cases.iter().find(|case| case.ours.get("order_file_sha256").is_some()).unwrap();
    let path = case.file.to_str().unwrap();
    assert_eq!(status(&scibin(&["bloscpack", "cat", path])), 1);
    for order in ["file", "offsets"] {
        let output = scibin(&["bloscpack", "cat", path, "--order", order]);
        assert_eq!(status(&output), 0);
        let digest = binio::Algorithm::Sha256.digest(&output.stdout).to_string();
        assert_eq!(case.ours[format!("order_{order}_sha256")], digest, "{order}");
    }
}

#[test]
fn metadata_are_written_beside_the_data_and_may_be_ignored() {
    let folder = Folder::new();
    folder.write("a", "data");
    folder.write("m.json", r#"{"unit":"K"}"#);
    folder.done(&["bloscpack", "pack", "a", "-m", "m.json"]);
    folder.done(&["bloscpack", "unpack", "a.blp", "-o", "b", "--metadata-out", "n.json"]);
    assert_eq!(folder.read("n.json"), b"{\"unit\":\"K\"}\n");
    let to_output = ["bloscpack", "unpack", "-qf", "a.blp", "-o", "b", "--metadata-out", "-"];
    assert_eq!(stdout(&folder.done(&to_output)), "{\"unit\":\"K\"}\n");
    let mut bytes = folder.read("a.blp");
    bytes[64] ^= 1;
    folder.write("a.blp", &bytes);
    let unpack = ["bloscpack", "unpack", "-f", "a.blp", "-o", "b"];
    let output = folder.run(&unpack);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("metadata"), "{}", stderr(&output));
    folder.done(&[&unpack[..], &["--ignore-metadata"]].concat());
    assert_eq!(status(&folder.run(&["verify", "a.blp"])), 1);
    assert!(stdout(&folder.done(&["info", "a.blp"])).contains("adler32 of the stored bytes"));
    // A file without metadata.
    folder.done(&["bloscpack", "pack", "-f", "a"]);
    folder.remove("b");
    let output = folder.run(&["bloscpack", "unpack", "a.blp", "-o", "b", "--metadata-out", "x"]);
    assert_ne!(status(&output), 0);
    assert_eq!(folder.names(), ["a", "a.blp", "m.json", "n.json"]);
}

#[test]
fn append_adds_files_and_pipes() {
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
    // Nothing to append changes nothing.
    let before = folder.read("a.blp");
    folder.write("b", "");
    folder.done(&["bloscpack", "append", "a.blp", "b"]);
    assert_eq!(folder.read("a.blp"), before);
}

#[test]
fn a_file_is_appended_to_itself_only_by_way_of_another() {
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
fn append_takes_the_options_of_the_file_unless_told() {
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
    // An empty file has no size of chunks yet.
    folder.write("b", "");
    folder.done(&["bloscpack", "pack", "b"]);
    folder.done(&["bloscpack", "append", "b.blp", "a", "-z", "1000"]);
    assert_eq!(info(&folder, "b.blp")["header"]["chunk_size"], 1000);
}

#[test]
fn append_grows_the_table_and_scans_streams_only_when_told() {
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
    // Half a row, and rows of another type.
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
fn append_may_replace_the_metadata() {
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
    assert_eq!(folder.read("a.blp"), before, "neither data nor metadata are changed");
    folder.done(&["bloscpack", "append", "a.blp", "a", "-m", "long.json", "--grow"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, b"datadatadata");
}

#[test]
fn recover_keeps_what_holds() {
    let folder = packed();
    let bytes = folder.read("a.blp");
    folder.write("cut.blp", &bytes[..bytes.len() - 100]);
    let output = folder.run(&["bloscpack", "recover", "cut.blp", "-o", "whole.blp"]);
    assert_eq!(status(&output), 1, "something was lost: {}", stderr(&output));
    assert!(stdout(&output).contains("lost chunk 2"), "{}", stdout(&output));
    assert!(stdout(&output).contains("whole.blp: 2 chunks kept"), "{}", stdout(&output));
    folder.done(&["verify", "whole.blp"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "whole.blp"]).stdout, numbers(2500));
    // A hole in the middle.
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
    // Nothing is lost.
    folder.done(&["bloscpack", "recover", "a.blp", "-f", "-o", "whole.blp"]);
    folder.remove("whole.blp");
    assert_ne!(status(&folder.run(&["bloscpack", "recover", "a", "-o", "whole.blp"])), 0);
    assert!(!folder.names().contains(&"whole.blp".to_owned()));
}

/// A folder with `a.blp`, which has the data of `a` and is being changed in place by a process that was
/// killed.
#[cfg(unix)]
fn killed_append() -> Folder {
    let folder = Folder::new();
    let data: Vec<u8> = noise(1_000_000).into_bytes();
    folder.write("a", &data);
    folder.write("m.json", r#"{"unit": "K"}"#);
    folder.write("b", data.repeat(4));
    folder.done(&["bloscpack", "pack", "-l", "0", "-z", "64K", "-m", "m.json", "a"]);
    folder.copy(&folder.path("a.blp"), "before");
    // The system kills who writes a file that is too long.
    let script =
        "ulimit -c 0; ulimit -f 4096; exec \"$0\" bloscpack append --in-place -l 0 a.blp b";
    let killed = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_scibin")])
        .current_dir(folder.path(""))
        .output()
        .unwrap();
    assert_eq!(killed.status.code(), None, "{}", stderr(&killed));
    folder.remove("b");
    assert_eq!(folder.names(), ["a", "a.blp", "a.blp.blpk-journal", "before", "m.json"]);
    assert_ne!(folder.read("a.blp"), folder.read("before"));
    folder
}

#[test]
#[cfg(unix)]
fn an_append_that_was_killed_is_undone() {
    let folder = killed_append();
    let output = folder.run(&["verify", "a.blp"]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).contains("Journal"), "{}", stdout(&output));
    let output = folder.done(&["bloscpack", "recover", "a.blp", "-o", "c.blp"]);
    assert!(stderr(&output).contains("was undone"), "{}", stderr(&output));
    assert_eq!(folder.read("a.blp"), folder.read("before"));
    assert_eq!(folder.names(), ["a", "a.blp", "before", "c.blp", "m.json"]);
    assert_eq!(folder.done(&["bloscpack", "cat", "c.blp"]).stdout, folder.read("a"));
}

#[test]
#[cfg(unix)]
fn readers_see_the_data_from_before_an_append_that_was_killed() {
    let folder = killed_append();
    let data = folder.read("a");
    let remedy = "appending to the file, editing its metadata or recovering it undoes it";
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
    // A journal that is not of this file, and one that was not written to its end.
    let journal = folder.read("a.blp.blpk-journal");
    folder.write("other.blp", &folder.read("before")[..32]);
    folder.done(&["bloscpack", "pack", "-f", "m.json", "-o", "other.blp"]);
    folder.write("other.blp.blpk-journal", &journal);
    let output = folder.run(&["bloscpack", "cat", "other.blp"]);
    assert_eq!((status(&output), output.stdout.len()), (1, 0));
    assert!(stderr(&output).contains("belongs to another file: remove it"), "{output:?}");
    folder.write("other.blp.blpk-journal", &journal[..100]);
    let output = folder.done(&["bloscpack", "cat", "other.blp"]);
    assert_eq!(output.stdout, folder.read("m.json"));
    assert!(stderr(&output).contains("was interrupted before it began"), "{output:?}");
}

#[test]
#[cfg(unix)]
fn commands_for_metadata_undo_an_append_that_was_killed() {
    for (arguments, expected) in [
        (&["get", "a.blp", "/unit"][..], r#"{"unit":"K"}"#),
        (&["set", "a.blp", "/unit", "7"], r#"{"unit":7}"#),
        (&["rm", "a.blp", "/unit"], "{}"),
    ] {
        let folder = killed_append();
        let output = folder.done(&[&["bloscpack", "meta"], arguments].concat());
        assert!(stderr(&output).contains("was undone"), "{}", stderr(&output));
        assert_eq!(folder.names(), ["a", "a.blp", "before", "m.json"]);
        folder.done(&["verify", "a.blp"]);
        assert!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout == folder.read("a"));
        let output = folder.done(&["bloscpack", "meta", "get", "a.blp"]);
        assert_eq!(stdout(&output).trim(), expected);
    }
}

#[test]
fn chunks_that_the_header_does_not_count_are_damage() {
    let folder = packed();
    folder.done(&["bloscpack", "pack", "-f", "-z", "10000", "--no-offsets", "a"]);
    let bytes = folder.read("a.blp");
    for count in [0, 1, 2] {
        let mut bytes = bytes.clone();
        bytes[16] = count;
        folder.write("b.blp", &bytes);
        for arguments in [
            &["bloscpack", "unpack", "b.blp"][..],
            &["bloscpack", "cat", "b.blp"],
            &["blpk", "d", "b.blp"],
            &["verify", "b.blp"],
        ] {
            let output = folder.run(arguments);
            assert_eq!(status(&output), 1, "{count} chunks, {arguments:?}");
            let text = stdout(&output) + &stderr(&output);
            assert!(text.contains("another follows the last"), "{arguments:?}: {text}");
        }
        assert_eq!(folder.names(), ["a", "a.blp", "b.blp"]);
        folder.done(&["bloscpack", "recover", "b.blp", "-o", "c.blp"]);
        assert_eq!(folder.done(&["bloscpack", "cat", "c.blp"]).stdout, numbers(3000));
        folder.remove("c.blp");
    }
    // What appending leaves of a chunk is no chunk.
    folder.write("b.blp", [&bytes[..], &bytes[bytes.len() - 100..]].concat());
    folder.done(&["verify", "b.blp"]);
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_report_no_size_are_read_to_their_end() {
    let source = "/proc/filesystems";
    let data = std::fs::read(source).unwrap();
    assert!(std::fs::metadata(source).unwrap().len() == 0 && !data.is_empty());
    let folder = packed();
    let cat = |name: &str| folder.done(&["bloscpack", "cat", name]).stdout;
    folder.done(&["bloscpack", "pack", source, "-o", "b.blp"]);
    assert_eq!(cat("b.blp"), data);
    let output = folder.done(&["bloscpack", "pack", source, "-o", "-"]);
    folder.write("b.blp", &output.stdout);
    assert_eq!((cat("b.blp"), stderr(&output)), (data.clone(), String::new()));
    let packed = [numbers(3000), data.clone()].concat();
    for option in [&[][..], &["--in-place"]] {
        folder.copy(&folder.path("a.blp"), "b.blp");
        folder.done(&[&["bloscpack", "append", "b.blp", source], option].concat());
        assert_eq!(cat("b.blp"), packed, "{option:?}");
    }
    folder.done(&["blpk", "-f", "c", source, "b.blp"]);
    assert_eq!(cat("b.blp"), data);
    folder.copy(&folder.path("a.blp"), "b.blp");
    folder.done(&["blpk", "a", "b.blp", source]);
    assert_eq!(cat("b.blp"), packed);
    bloscpack::pack_file(source, folder.path("b.blp"), &bloscpack::WriteOptions::new(), None)
        .unwrap();
    assert_eq!(cat("b.blp"), data);
}

#[test]
fn piped_npy_is_packed_as_the_array_that_it_is() {
    let folder = Folder::new();
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy", "-o", "file.blp"]);
    let output = folder.feed(&["bloscpack", "pack", "-", "-o", "pipe.blp"], &npy());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(folder.read("pipe.blp"), folder.read("file.blp"));
    let output = folder.feed(&["bloscpack", "pack", "-"], &npy());
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    folder.write("pipe.blp", &output.stdout);
    assert_eq!(info(&folder, "pipe.blp")["array"]["shape"], json!([4, 3]));
    folder.done(&["bloscpack", "unpack", "pipe.blp", "-o", "y.npy"]);
    assert_eq!(folder.read("y.npy"), npy());
    // Rows from a pipe.
    let output = folder.feed(&["bloscpack", "append", "--axis0", "file.blp", "-"], &npy());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(info(&folder, "file.blp")["array"]["shape"], json!([8, 3]));
    // Bytes, if that is asked for; and what only begins so is refused, not stored as something else.
    let output = folder.feed(&["bloscpack", "pack", "--raw", "-"], &npy());
    folder.write("raw.blp", &output.stdout);
    assert_eq!(folder.done(&["bloscpack", "cat", "raw.blp"]).stdout, npy());
    let output = folder.feed(&["bloscpack", "pack", "-"], b"\x93NUMPY is its magic");
    assert_eq!((status(&output), output.stdout.len()), (2, 0));
}

#[test]
fn an_array_that_contradicts_the_data_is_status_1() {
    let folder = Folder::new();
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy"]);
    folder.done(&["bloscpack", "meta", "set", "x.npy.blp", "/shape", "[5, 3]"]);
    for arguments in
        [&["get", "x.npy.blp"][..], &["bloscpack", "unpack", "x.npy.blp", "-o", "y.npy"]]
    {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 1, "{arguments:?}: {}", stderr(&output));
    }
    // A slice that is not there is the caller's.
    folder.done(&["bloscpack", "meta", "set", "x.npy.blp", "/shape", "[4, 3]"]);
    assert_eq!(status(&folder.run(&["get", "x.npy.blp", "--slice", "9"])), 2);
}

#[test]
fn metadata_are_edited() {
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
    // All of them, and the first.
    assert_eq!(status(&meta(&["rm", "--grow", "a.blp", ""])), 0);
    assert_eq!(info(&folder, "a.blp")["metadata"], json!(null));
    assert_ne!(status(&meta(&["get", "a.blp"])), 0);
    assert_eq!(status(&meta(&["set", "--grow", "a.blp", "", "[1]"])), 0);
    assert_eq!(all(), "[1]\n");
    assert_eq!(folder.names(), ["a", "a.blp", "m.json"]);
}

#[test]
fn integers_that_would_be_rounded_are_not_written() {
    let folder = Folder::new();
    folder.write("a", "data");
    let (number, placeholder) = ("18446744073709551616", "18446744073709551615");
    folder.write("m.json", format!("{{\"id\": {number}}}"));
    let output = folder.run(&["bloscpack", "pack", "a", "-m", "m.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains(number), "{}", stderr(&output));
    assert_eq!(folder.names(), ["a", "m.json"]);
    // A file that has one, as Python writes it.
    folder.write("m.json", format!("{{\"id\":{placeholder}}}"));
    folder.done(&["bloscpack", "pack", "a", "-m", "m.json"]);
    let mut file = folder.read("a.blp");
    let at = file.windows(20).position(|text| text == placeholder.as_bytes()).unwrap();
    file[at..at + 20].copy_from_slice(number.as_bytes());
    let digest = bloscpack::Checksum::Adler32.compute(&file[64..at + 21]);
    let digest_at = 64 + 10 * (at + 21 - 64);
    file[digest_at..digest_at + 4].copy_from_slice(&digest);
    folder.write("a.blp", &file);
    let output = folder.done(&["bloscpack", "meta", "get", "a.blp"]);
    assert!(stderr(&output).contains("is rounded here"), "{}", stderr(&output));
    for wrong in [&["set", "a.blp", "/b", "1"][..], &["set", "a.blp", "/id", number]] {
        let output = folder.run(&[&["bloscpack", "meta"], wrong].concat());
        assert_ne!(status(&output), 0);
        assert!(stderr(&output).contains("would be rounded"), "{}", stderr(&output));
        assert_eq!(folder.read("a.blp"), file);
    }
    folder.done(&["bloscpack", "meta", "set", "a.blp", "", "{}"]);
}

#[test]
fn countless_elements_without_bytes_are_not_printed() {
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
fn convert_rewrites_old_files_and_keeps_their_chunks() {
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

#[test]
fn estimate_tries_codecs_and_shuffles() {
    let folder = packed();
    let value = json_of(&folder.done(&["bloscpack", "estimate", "--json", "a"]));
    assert_eq!((&value["nbytes"], &value["sample"]), (&json!(24_000), &json!(24_000)));
    let trials = value["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 18);
    assert!(trials.iter().all(|trial| trial["ratio"].as_f64().unwrap() > 0.9), "{value}");
    let text = stdout(&folder.done(&["bloscpack", "estimate", "-c", "lz4", "-s", "-l", "1", "a"]));
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.lines().nth(1).unwrap().starts_with("lz4    none"), "{text}");
}

#[test]
#[cfg(unix)]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    folder.write("a", vec![7; 5 << 20]);
    folder.done(&["bloscpack", "pack", "a", "-l", "0", "-z", "1K"]);
    for arguments in [
        &["bloscpack", "cat", "a.blp"][..],
        &["bloscpack", "unpack", "a.blp", "-o", "-"],
        &["bloscpack", "pack", "a", "-l", "0", "-o", "-"],
        &["bloscpack", "info", "--chunks", "a.blp"],
        &["info", "a.blp"],
    ] {
        let mut child = folder
            .command(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), stderr(&output)), (0, String::new()), "{arguments:?}");
    }
}

#[test]
#[cfg(unix)]
fn named_pipes_are_packed() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = folder.path("pipe");
    let feeder = std::thread::spawn(move || std::fs::write(pipe, numbers(3000)));
    folder.done(&["bloscpack", "pack", "pipe"]);
    feeder.join().unwrap().unwrap();
    assert_eq!(folder.done(&["bloscpack", "cat", "pipe.blp"]).stdout, numbers(3000));
}

#[test]
fn what_is_no_file_is_named() {
    let folder = packed();
    for arguments in [
        &["bloscpack", "pack", "missing"][..],
        &["bloscpack", "pack", "."],
        &["bloscpack", "unpack", "missing.blp"],
        &["bloscpack", "unpack", "a", "-o", "b"],
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

/// A recorded file, and what may come of it.
struct Recorded {
    path: PathBuf,
    unpack: Value,
    strict: Value,
    verify: Value,
    /// SHA-256 of the data.
    digest: Option<Value>,
    /// Whether there is an array, where that is recorded.
    array: Option<bool>,
}

impl Recorded {
    /// Runs `unpack`, lenient and strict, `verify`, and `unpack` to `.npy`.
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
                assert_eq!(folder.names(), nothing, "{path}: nothing is left");
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
            assert_eq!(folder.names(), nothing, "{path}: nothing is left");
        }
    }

    fn outcome(&self, data: &[u8]) -> &'static str {
        let digest = binio::Algorithm::Sha256.digest(data).to_string();
        match &self.digest {
            Some(expected) if *expected == digest => "good",
            Some(_) if !data.is_empty() => "wrong",
            _ if data.is_empty() => "empty",
            _ => "good",
        }
    }
}

#[test]
fn recorded_files_come_out_as_they_must() {
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
fn files_of_the_corpus_come_out_as_they_must() {
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
        // The one that is generated is among our own files.
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
