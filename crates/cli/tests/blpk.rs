//! Tests of the options of the original program, when scibin is called as `blpk` or `scibin blpk`.

mod program;

use std::process::{Command, Output};

use program::{Folder, json_of, npy_header, status, stderr, stdout};

fn data() -> Vec<u8> {
    (0..30_000_u32).flat_map(|n| (f64::from(n) * 0.5).to_le_bytes()).collect()
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("a", data());
    folder
}

fn blpk(folder: &Folder, arguments: &[&str]) -> Output {
    folder.run(&[&["blpk"], arguments].concat())
}

fn done(folder: &Folder, arguments: &[&str]) -> Output {
    let output = blpk(folder, arguments);
    assert_eq!(status(&output), 0, "{arguments:?}: {}{}", stdout(&output), stderr(&output));
    output
}

#[test]
fn output_files_have_the_default_names_of_the_original_program_and_are_replaced_only_with_force() {
    let folder = folder();
    let output = done(&folder, &["c", "a"]);
    assert_eq!((stdout(&output), stderr(&output)), (String::new(), String::new()));
    assert_eq!(folder.names(), ["a", "a.blp"]);
    done(&folder, &["compress", "a", "b.blp"]);
    assert_eq!(folder.read("a.blp"), folder.read("b.blp"));
    for (arguments, message) in [
        (&["c", "a"][..], "blpk: error: output file 'a.blp' exists!\n"),
        (&["d", "a.blp"], "blpk: error: output file 'a' exists!\n"),
        (&["c", "x"], "blpk: error: input file 'x' does not exist!\n"),
        (&["d", "a"], "blpk: error: input file 'a' does not end with '.blp'\n"),
        (&["d", "a", "x"], "blpk: error: input file 'a' does not end with '.blp'\n"),
        (&["d", "-e", "a"], "blpk: error: --no-check-extension requires use of <out_file>\n"),
        (&["a", "a", "a"], "blpk: error: original file 'a' does not end with '.blp'\n"),
        (&["a", "x.blp", "a"], "blpk: error: original file 'x.blp' does not exist!\n"),
        (&["a", "a.blp", "x"], "blpk: error: new file 'x' does not exist!\n"),
        (&["i", "x"], "blpk: error: file 'x' does not exist!\n"),
        (&["-n", "0", "c", "a"], "blpk: error: -n must be 1 <= n <= 256\n"),
        (&["-n", "257", "i", "a.blp"], "blpk: error: -n must be 1 <= n <= 256\n"),
    ] {
        let output = blpk(&folder, arguments);
        assert_eq!((status(&output), stdout(&output)), (1, String::new()), "{arguments:?}");
        assert_eq!(stderr(&output), message, "{arguments:?}");
    }
    done(&folder, &["-f", "c", "a"]);
    folder.remove("a");
    done(&folder, &["d", "a.blp"]);
    assert_eq!(folder.read("a"), data());
    done(&folder, &["-f", "d", "a.blp"]);
    done(&folder, &["decompress", "b.blp", "c"]);
    assert_eq!(folder.read("c"), data());
    folder.copy(&folder.path("a.blp"), "other");
    done(&folder, &["d", "--no-check-extension", "other", "d"]);
    assert_eq!(folder.read("d"), data());
}

#[test]
fn files_packed_with_various_options_unpack_to_the_same_bytes() {
    let folder = folder();
    folder.write("m.json", r#"{"b": [1, null], "a": "x"}"#);
    for arguments in [
        &["-t", "4"][..],
        &["--typesize", "255"],
        &["-l", "0"],
        &["--clevel", "9"],
        &["-s"],
        &["--no-shuffle"],
        &["-c", "lz4"],
        &["--codec", "zlib"],
        &["-z", "1.5K"],
        &["-z", "max"],
        &["--chunk-size", "100000"],
        &["-k", "sha256"],
        &["--checksum", "None"],
        &["-o"],
        &["--no-offsets"],
        &["-m", "m.json"],
        &["--metadata", "m.json"],
        // Options may be abbreviated, as in the original program.
        &["--clev", "1", "--chunk", "1M"],
        &["-s", "-o", "-l9", "-clz4hc", "-z10K"],
    ] {
        let output = done(&folder, &[&["-f", "c"], arguments, &["a"]].concat());
        assert_eq!(stderr(&output), "", "{arguments:?}");
        let output = done(&folder, &["-f", "d", "a.blp", "b"]);
        assert_eq!(folder.read("b"), data(), "{arguments:?}");
        let has_metadata = arguments.contains(&"m.json");
        let expected = "blpk: Metadata:\nblpk: {'a': 'x', 'b': [1, None]}\n";
        assert_eq!(stdout(&output), if has_metadata { expected } else { "" });
    }
    // Options may also follow the files.
    done(&folder, &["-f", "c", "a", "c.blp", "-z", "10K"]);
}

#[test]
fn invalid_values_cause_status_1_and_invalid_usage_causes_status_2() {
    let folder = folder();
    folder.write("bad.json", "{nope");
    for (arguments, expected) in [
        (&["c", "-z", "0", "a"][..], 1),
        (&["c", "-z", "2G", "a"], 1),
        (&["c", "-z", "0.5B", "a"], 1),
        (&["c", "-z", "", "a"], 1),
        (&["c", "-z", "1k", "a"], 1),
        (&["c", "-z", "-5", "a"], 1),
        (&["c", "-z", "NaN", "a"], 1),
        (&["c", "-t", "0", "a"], 1),
        (&["c", "-t", "256", "a"], 1),
        (&["c", "-m", "bad.json", "a"], 1),
        (&["c", "-m", "missing.json", "a"], 1),
        (&["c", "."], 1),
        (&["c", "-t", "x", "a"], 2),
        (&["c", "-l", "10", "a"], 2),
        (&["c", "-c", "gzip", "a"], 2),
        (&["c", "-k", "sha3", "a"], 2),
        (&["-n", "x", "c", "a"], 2),
        (&["-v", "-d", "c", "a"], 2),
        (&["c"], 2),
        (&["c", "a", "b", "c"], 2),
        (&["d", "-f", "a.blp", "b"], 2),
        (&["nonsense"], 2),
        (&["i"], 2),
        (&[], 2),
    ] {
        let output = blpk(&folder, arguments);
        assert_eq!(status(&output), expected, "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert_eq!(folder.names(), ["a", "bad.json"], "{arguments:?}");
    }
}

/// Apart from `snappy` in the list of codecs, the expected messages were printed by release 0.16.0
/// of the original program on Python 3.11.
#[test]
fn invalid_usage_causes_the_same_messages_as_in_the_original_program() {
    let folder = folder();
    let program = "usage: blpk [-h] [--version] [-v | -d] [-f] [-n [1, 256]]  ...\nblpk: error: ";
    let c = "usage: blpk c [-h] [-t <size>] [-l [0, 9]] [-s] [-c <codec>] [-z <size>]\n              \
             [-k <checksum>] [-o] [-m <metadata>]\n              <in_file> [<out_file>]\nblpk c: error: ";
    for (arguments, usage, message) in [
        (&[][..], program, "too few arguments"),
        (
            &["nope"],
            program,
            "argument : invalid choice: 'nope' (choose from 'compress', 'c', 'decompress', 'd', \
             'append', 'a', 'info', 'i')",
        ),
        (&["c", "a", "b", "c"], program, "unrecognized arguments: c"),
        (
            &["-v", "-d", "c", "a"],
            program,
            "argument -d/--debug: not allowed with argument -v/--verbose",
        ),
        (&["-n", "x", "c", "a"], program, "argument -n/--nthreads: invalid int value: 'x'"),
        (&["c"], c, "the following arguments are required: <in_file>"),
        (&["c", "-c"], c, "argument -c/--codec: expected one argument"),
        (&["c", "-t", "x", "a"], c, "argument -t/--typesize: invalid int value: 'x'"),
        (
            &["c", "-c", "gz", "a"],
            c,
            "argument -c/--codec: invalid choice: 'gz' (choose from 'blosclz', 'lz4', 'lz4hc', \
             'snappy', 'zlib', 'zstd')",
        ),
        (
            &["c", "-l", "10", "a"],
            c,
            "argument -l/--clevel: invalid choice: 10 (choose from 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)",
        ),
    ] {
        let output = blpk(&folder, arguments);
        assert_eq!(stderr(&output), format!("{usage}{message}\n"), "{arguments:?}");
        assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{arguments:?}");
    }
    for (arguments, message) in [
        (&["-n", "257"][..], "-n must be 1 <= n <= 256"),
        (&["--nthreads", "0", "c", "a"], "--nthreads must be 1 <= n <= 256"),
        (
            &["c", "--chunk-size", "NO", "a"],
            "--chunk-size error: invalid literal for int() with base 10: 'NO'",
        ),
        (&["c", "-z", "xK", "a"], "-z error: could not convert string to float: 'x'"),
        (&["c", "-z", "-5", "a"], "-z must be > 0"),
    ] {
        let output = blpk(&folder, arguments);
        assert_eq!(stderr(&output), format!("blpk: error: {message}\n"), "{arguments:?}");
        assert_eq!((status(&output), stdout(&output)), (1, String::new()), "{arguments:?}");
    }
    let help = stdout(&done(&folder, &["c", "--help"]));
    assert!(help.starts_with(c.split("blpk c: error").next().unwrap()), "{help}");
    assert!(help.contains("\n  -z <size>, --chunk-size <size>\n"), "{help}");
}

#[test]
fn append_accepts_the_options_of_the_original_program() {
    let folder = folder();
    folder.write("b", "more");
    folder.write("m.json", r#"{"v": 1}"#);
    folder.write("n.json", r#"{"v": 2}"#);
    done(&folder, &["c", "-z", "100K", "-m", "m.json", "a"]);
    done(&folder, &["a", "a.blp", "b"]);
    done(&folder, &["append", "-l", "1", "-c", "zlib", "-s", "-t", "1", "a.blp", "b"]);
    done(&folder, &["a", "-m", "n.json", "a.blp", "b"]);
    let output = done(&folder, &["d", "a.blp", "c"]);
    assert_eq!(folder.read("c"), [&data()[..], b"moremoremore"].concat());
    assert_eq!(stdout(&output), "blpk: Metadata:\nblpk: {'v': 2}\n");
    folder.copy(&folder.path("a.blp"), "other");
    done(&folder, &["a", "-e", "other", "b"]);
    // Append an empty file: its length must not be the divisor of the compression ratio.
    folder.write("empty", "");
    done(&folder, &["-v", "a", "a.blp", "empty"]);
}

#[test]
fn blpk_prints_reports_as_json_on_request() {
    let folder = folder();
    let of = |arguments: &[&str]| json_of(&folder.done(&[&["blpk", "--json"], arguments].concat()));
    assert_eq!(of(&["c", "a"])["nbytes"], 240_000);
    assert_eq!(of(&["-f", "d", "a.blp"])["output"], "a");
    assert_eq!(of(&["a", "a.blp", "a"])["nbytes"], 480_000);
}

/// The expected lines are those that the original program prints for the same files.
#[test]
fn blpk_info_prints_the_same_lines_as_the_original_program() {
    let folder = folder();
    folder.write("m.json", r#"{"dtype": "float64"}"#);
    done(&folder, &["c", "-z", "100000", "-m", "m.json", "a"]);
    let output = stdout(&done(&folder, &["i", "a.blp"]));
    let header: Vec<&str> = output.lines().take(10).collect();
    assert_eq!(
        header,
        [
            "blpk: BloscpackHeader:",
            "blpk:     format_version: 3",
            "blpk:     offsets: True",
            "blpk:     metadata: True",
            "blpk:     checksum: 'adler32'",
            "blpk:     typesize: 8",
            "blpk:     chunk_size: 97.66K (100000B)",
            "blpk:     last_chunk: 39.06K (40000B)",
            "blpk:     nchunks: 3",
            "blpk:     max_app_chunks: 30",
        ]
    );
    for line in [
        "blpk: 'offsets':",
        "blpk: Metadata:",
        "blpk: MetadataHeader:",
        "blpk:     magic_format: b'JSON'",
        "blpk:     meta_options: '00000000'",
        "blpk:     meta_checksum: 'adler32'",
        "blpk:     meta_codec: 'None'",
        "blpk:     meta_level: 6",
        "blpk:     meta_size: 19.0B (19B)",
        "blpk:     max_meta_size: 190.0B (190B)",
        "blpk:     meta_comp_size: 19.0B (19B)",
        "blpk:     user_codec: b''",
        "blpk: First chunk blosc header:",
        "blpk: First chunk blosc flags: ",
        "blpk: OrderedDict([('byte_shuffle', True), ('pure_memcpy', False), ('bit_shuffle', False), \
         ('split_blocks', False), ('codec', 'blosclz')])",
    ] {
        assert!(output.lines().any(|found| found == line), "{line}: {output}");
    }
    let json = json_of(&folder.done(&["blpk", "--json", "info", "a.blp"]));
    assert_eq!(json["header"]["nchunks"], 3);
    let output = blpk(&folder, &["i", "a"]);
    assert_eq!(status(&output), 1);
    assert_eq!(
        stderr(&output),
        "blpk: error: the magic marker b'blpk' is missing from the bloscpack header, instead we \
         found: b'\\x00\\x00\\x00\\x00'\nblpk: error: This might not be a bloscpack compressed file.\n"
    );
}

#[test]
fn verbose_output_matches_the_original_program() {
    let folder = folder();
    let output = done(&folder, &["-v", "-n", "1", "c", "-z", "100000", "a"]);
    assert_eq!(stdout(&output), "");
    let text = stderr(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..8],
        [
            "blpk: using 1 thread",
            "blpk: getting ready for compression",
            "blpk: input file is: 'a'",
            "blpk: output file is: 'a.blp'",
            "blpk: input file size: 234.38K (240000B)",
            "blpk: nchunks: 3",
            "blpk: chunk_size: 97.66K (100000B)",
            "blpk: last_chunk_size: 39.06K (40000B)",
        ]
    );
    assert_eq!(lines.last(), Some(&"blpk: done"));
    let text = stderr(&done(&folder, &["-v", "-f", "d", "a.blp"]));
    assert!(text.contains("blpk: overwriting existing file: 'a'\n"), "{text}");
    let text = stderr(&done(&folder, &["-v", "a", "a.blp", "a"]));
    assert!(text.contains("blpk: new file size: 234.38K (240000B)\n"), "{text}");
    // With `--debug`, the original program prints the same lines, and many more about its own
    // variables.
    let verbose = stderr(&done(&folder, &["-v", "i", "a.blp"]));
    assert_eq!(stderr(&done(&folder, &["--debug", "i", "a.blp"])), verbose);
}

#[test]
fn blpk_treats_arrays_as_bytes() {
    let folder = Folder::new();
    let mut npy = npy_header("|u1", &[3]);
    npy.extend([1, 2, 3]);
    folder.write("x.npy", &npy);
    done(&folder, &["c", "x.npy"]);
    folder.remove("x.npy");
    done(&folder, &["d", "x.npy.blp"]);
    assert_eq!(folder.read("x.npy"), npy);
}

#[test]
#[cfg(unix)]
fn scibin_called_as_blpk_accepts_the_options_of_the_original_program() {
    let folder = folder();
    let program = folder.path("blpk");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scibin"), &program).unwrap();
    let run = |arguments: &[&str]| {
        Command::new(&program).args(arguments).current_dir(folder.path("")).output().unwrap()
    };
    assert_eq!(status(&run(&["c", "-o", "a"])), 0);
    assert_eq!(status(&run(&["d", "a.blp", "b"])), 0);
    assert_eq!(folder.read("b"), data());
    let output = run(&["d", "a.blp"]);
    assert_eq!(status(&output), 1);
    assert_eq!(stderr(&output), "blpk: error: output file 'a' exists!\n");
    let output = run(&["c", "-l", "10", "a"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("\nblpk c: error: argument -l"), "{}", stderr(&output));
    assert_eq!(status(&run(&["--help"])), 0);
    let version = stdout(&run(&["--version"]));
    assert!(version.starts_with("bloscpack: '0.16.0' python-blosc: '"), "{version}");
    assert_eq!(status(&run(&[])), 2);
}
