//! Tests of unpacking: parts, arrays, damaged files.

use serde_json::json;

use crate::program::{Folder, scibin, status, stderr, stdout};
use crate::{info, npy, numbers, packed};

#[test]
fn ranges_and_chunks_of_the_data_are_unpacked() {
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
#[cfg(target_os = "linux")]
fn unwritable_output_is_reported_by_name() {
    use std::fs::File;
    use std::process::Command;

    let folder = packed();
    // Ignore the signal that exceeding the limit causes, so that writing fails instead.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" bloscpack \"$@\"";
    for arguments in [&["unpack", "a.blp", "-o", "b"][..], &["pack", "-", "-o", "b", "-l", "0"]] {
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_scibin")])
            .args(arguments)
            .current_dir(folder.path(""))
            .stdin(File::open(folder.path("a")).unwrap())
            .output()
            .unwrap();
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert_eq!(stderr(&output), "scibin: b: File too large (os error 27)\n");
        assert_eq!(folder.names(), ["a", "a.blp"]);
    }
}

#[test]
fn npy_files_are_packed_and_unpacked_as_arrays() {
    let folder = Folder::new();
    folder.write("x.npy", npy());
    folder.done(&["bloscpack", "pack", "x.npy"]);
    let info = info(&folder, "x.npy.blp");
    assert_eq!(info["array"], json!({"dtype": "<i4", "shape": [4, 3], "order": "C"}));
    assert_eq!((&info["nbytes"], &info["header"]["typesize"]), (&json!(48), &json!(4)));
    folder.remove("x.npy");
    folder.done(&["bloscpack", "unpack", "x.npy.blp"]);
    assert_eq!(folder.read("x.npy"), npy());
    // Unpack as `.npy` with the option `--npy`, and as plain bytes without it.
    let array = ["bloscpack", "unpack", "x.npy.blp", "-o"];
    assert_eq!(folder.done(&[&array[..], &["-", "--npy"]].concat()).stdout, npy());
    folder.done(&[&array[..], &["bytes"]].concat());
    assert_eq!(folder.read("bytes"), npy()[npy().len() - 48..]);
    // Pack the file as plain bytes.
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
fn invalid_npy_files_are_rejected() {
    let folder = Folder::new();
    folder.write("x.npy", "no array");
    let output = folder.run(&["bloscpack", "pack", "x.npy"]);
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    assert_eq!(folder.names(), ["x.npy"]);
    folder.done(&["bloscpack", "pack", "x.npy", "--raw"]);
}

#[test]
fn unpacking_bad_data_causes_status_1_and_leaves_no_file() {
    let folder = packed();
    let mut bytes = folder.read("a.blp");
    let last = bytes.len() - 10;
    bytes[last] ^= 1;
    folder.write("a.blp", &bytes);
    for goal in ["b", "-"] {
        let output = folder.run(&["bloscpack", "unpack", "a.blp", "-o", goal]);
        assert_eq!(status(&output), 1, "{}", stderr(&output));
        assert!(
            stderr(&output).starts_with("scibin: a.blp: chunk 2: the adler32"),
            "{}",
            stderr(&output)
        );
    }
    assert_eq!(folder.names(), ["a", "a.blp"]);
    // The chunks before the damaged chunk can be unpacked.
    folder.done(&["bloscpack", "unpack", "a.blp", "--chunks", "..2", "-o", "b"]);
    assert_eq!(folder.read("b"), numbers(2500));
}

#[test]
fn the_no_verify_option_disables_the_digest_checks() {
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
fn strict_reading_rejects_problems_that_lenient_reading_only_reports() {
    let folder = packed();
    let mut bytes = folder.read("a.blp");
    bytes[12..16].copy_from_slice(&3999_i32.to_le_bytes()); // Change `last_chunk`.
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
fn an_ambiguous_chunk_order_must_be_resolved_with_an_option() {
    let cases = testdata::cases(&testdata::path("bloscpack/expected.json"));
    let case = cases.iter().find(|case| case.ours.get("order_file_sha256").is_some()).unwrap();
    let path = case.file.to_str().unwrap();
    assert_eq!(status(&scibin(&["bloscpack", "cat", path])), 1);
    for order in ["file", "offsets"] {
        let output = scibin(&["bloscpack", "cat", path, "--order", order]);
        assert_eq!(status(&output), 0);
        let digest = binio::checksum::Algorithm::Sha256.digest(&output.stdout).to_string();
        assert_eq!(case.ours[format!("order_{order}_sha256")], digest, "{order}");
    }
}

#[test]
fn metadata_is_written_to_a_separate_file_or_ignored() {
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
    // Without valid metadata, even a file with the extension .npy contains plain bytes.
    folder.done(&["bloscpack", "unpack", "a.blp", "-o", "b.npy", "--ignore-metadata"]);
    assert_eq!(folder.read("b.npy"), b"data");
    folder.remove("b.npy");
    assert_eq!(status(&folder.run(&["verify", "a.blp"])), 1);
    assert!(stdout(&folder.done(&["info", "a.blp"])).contains("adler32 of the stored bytes"));
    // If the file contains no metadata, --metadata-out fails.
    folder.done(&["bloscpack", "pack", "-f", "a"]);
    folder.remove("b");
    let output = folder.run(&["bloscpack", "unpack", "a.blp", "-o", "b", "--metadata-out", "x"]);
    assert_ne!(status(&output), 0);
    assert_eq!(folder.names(), ["a", "a.blp", "m.json", "n.json"]);
}

#[test]
fn more_chunks_than_the_header_states_are_reported_as_damage() {
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
            assert!(
                text.contains("but another chunk follows the last one"),
                "{arguments:?}: {text}"
            );
        }
        assert_eq!(folder.names(), ["a", "a.blp", "b.blp"]);
        folder.done(&["bloscpack", "recover", "b.blp", "-o", "c.blp"]);
        assert_eq!(folder.done(&["bloscpack", "cat", "c.blp"]).stdout, numbers(3000));
        folder.remove("c.blp");
    }
    // The incomplete chunk that an interrupted append may leave does not count as a chunk.
    folder.write("b.blp", [&bytes[..], &bytes[bytes.len() - 100..]].concat());
    folder.done(&["verify", "b.blp"]);
}

#[test]
fn an_array_that_contradicts_the_data_causes_status_1() {
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
    // A slice outside the array is an error in the command, not bad data.
    folder.done(&["bloscpack", "meta", "set", "x.npy.blp", "/shape", "[4, 3]"]);
    assert_eq!(status(&folder.run(&["get", "x.npy.blp", "--slice", "9"])), 2);
}

#[test]
#[cfg(unix)]
fn a_closed_pipe_is_not_a_failure_of_bloscpack_commands() {
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
