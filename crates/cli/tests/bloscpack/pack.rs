//! Tests of packing: names, options, arrays, pipes.

use serde_json::json;

use crate::program::{Folder, json_of, status, stderr, stdout};
use crate::{info, npy, numbers, packed};

#[test]
fn pack_and_unpack_choose_default_output_names() {
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
fn pack_applies_its_options_to_the_header_and_codecs_and_metadata() {
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
fn pack_with_invalid_options_leaves_no_file() {
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
fn the_error_about_too_much_metadata_names_the_meta_size_option() {
    let folder = Folder::new();
    folder.write("a.npy", npy());
    for (input, target) in [("a.npy", "a.blp"), ("-", "a.blp"), ("a.npy", "-"), ("-", "-")] {
        let command = ["bloscpack", "pack", input, "-o", target, "--meta-size", "1"];
        let output = folder.feed(&command, &npy());
        assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{command:?}");
        let errors = stderr(&output);
        assert!(errors.contains("scibin: --meta-size: bytes of metadata: "), "{errors}");
        // Unlike `append` and `meta`, `pack` has no `--grow` option, so the message must not
        // suggest it.
        assert!(!errors.contains("--grow"), "{errors}");
        assert_eq!(folder.names(), ["a.npy"]);
    }
}

#[test]
fn existing_output_is_replaced_only_with_force() {
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

/// Returns a `pack` command with the chunk size that `packed` uses.
fn pack<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["bloscpack", "pack", "-z", "10000"], arguments].concat()
}

#[test]
fn pack_and_unpack_accept_dashes_for_standard_input_and_output() {
    let folder = Folder::new();
    let data = numbers(3000);
    folder.write("a", &data);
    // Packing standard input into a file produces the same bytes as packing the file by name.
    let output = folder.feed(&pack(&["-", "-o", "pipe.blp"]), &data);
    assert_eq!((status(&output), stderr(&output)), (0, String::new()));
    folder.done(&pack(&["a"]));
    assert_eq!(folder.read("pipe.blp"), folder.read("a.blp"));
    // If a file is packed into a pipe, the header is complete, but the offset table is missing,
    // because the program cannot return to it after writing the chunks.
    let output = folder.done(&pack(&["a", "-o", "-"]));
    assert_eq!(stderr(&output), "");
    folder.done(&pack(&["a", "--no-offsets", "-o", "b.blp"]));
    assert_eq!(output.stdout, folder.read("b.blp"));
    // If standard input is packed into a pipe, the header does not state the number of chunks.
    let output = folder.feed(&pack(&["-"]), &data);
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("treat the packed file as empty"));
    folder.write("stream.blp", &output.stdout);
    assert_eq!(info(&folder, "stream.blp")["header"]["nchunks"], json!(null));
    let output = folder.feed(&["bloscpack", "unpack", "-"], &output.stdout);
    assert_eq!((status(&output), output.stdout), (0, data.clone()), "{:?}", output.stderr);
    assert_eq!(folder.done(&["bloscpack", "cat", "a.blp"]).stdout, data);
    // Empty standard input is packed as an empty chunk.
    let output = folder.feed(&["bloscpack", "pack", "-q", "-"], b"");
    let output = folder.feed(&["bloscpack", "unpack", "-"], &output.stdout);
    assert_eq!((status(&output), output.stdout), (0, Vec::new()));
}

#[test]
fn an_empty_file_is_packed_as_one_empty_chunk() {
    let folder = Folder::new();
    folder.write("a", "");
    folder.done(&["bloscpack", "pack", "a"]);
    assert_eq!(
        folder.read("a.blp").len(),
        140,
        "the original program writes a file of the same length"
    );
    folder.done(&["bloscpack", "unpack", "a.blp", "-o", "b"]);
    assert_eq!(folder.read("b"), b"");
    folder.done(&["verify", "a.blp"]);
}

#[test]
#[cfg(target_os = "linux")]
fn files_that_report_a_size_of_0_are_read_to_the_end() {
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
fn a_piped_npy_file_is_packed_as_an_array() {
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
    // Rows can be appended from a pipe.
    let output = folder.feed(&["bloscpack", "append", "--axis0", "file.blp", "-"], &npy());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(info(&folder, "file.blp")["array"]["shape"], json!([8, 3]));
    // With --raw, a .npy file is packed as bytes. Without --raw, an incomplete .npy file is
    // rejected instead of being packed as bytes.
    let output = folder.feed(&["bloscpack", "pack", "--raw", "-"], &npy());
    folder.write("raw.blp", &output.stdout);
    assert_eq!(folder.done(&["bloscpack", "cat", "raw.blp"]).stdout, npy());
    let output = folder.feed(&["bloscpack", "pack", "-"], b"\x93NUMPY is its magic");
    assert_eq!((status(&output), output.stdout.len()), (2, 0));
}

#[test]
fn metadata_integers_that_would_be_rounded_are_rejected() {
    let folder = Folder::new();
    folder.write("a", "data");
    let (number, placeholder) = ("18446744073709551616", "18446744073709551615");
    folder.write("m.json", format!("{{\"id\": {number}}}"));
    let output = folder.run(&["bloscpack", "pack", "a", "-m", "m.json"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains(number), "{}", stderr(&output));
    assert_eq!(folder.names(), ["a", "m.json"]);
    // Create a file with an integer of more than 64 bits in its metadata, as Python does.
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
    assert!(stderr(&output).contains("the output shows a rounded value"), "{}", stderr(&output));
    for wrong in [&["set", "a.blp", "/b", "1"][..], &["set", "a.blp", "/id", number]] {
        let output = folder.run(&[&["bloscpack", "meta"], wrong].concat());
        assert_ne!(status(&output), 0);
        assert!(stderr(&output).contains("would be rounded"), "{}", stderr(&output));
        assert_eq!(folder.read("a.blp"), file);
    }
    folder.done(&["bloscpack", "meta", "set", "a.blp", "", "{}"]);
}

#[test]
fn estimate_tries_all_codecs_and_shuffles() {
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
fn packing_a_named_pipe_reads_it_to_the_end() {
    let folder = Folder::new();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(made.success());
    let pipe = folder.path("pipe");
    let feeder = std::thread::spawn(move || std::fs::write(pipe, numbers(3000)));
    folder.done(&["bloscpack", "pack", "pipe"]);
    feeder.join().unwrap().unwrap();
    assert_eq!(folder.done(&["bloscpack", "cat", "pipe.blp"]).stdout, numbers(3000));
}
