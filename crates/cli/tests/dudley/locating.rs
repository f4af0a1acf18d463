//! Tests of compiled layouts, of locating an array in several files, and of files from a pipe.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::program::{Folder, npy_header, program, status, stderr, stdout};

/// Runs the program and pipes `input` to its standard input. The program cannot create temporary
/// files, because the folder in `TMPDIR` does not exist.
fn piped(folder: &Folder, args: &[&str], input: &[u8]) -> Output {
    let mut command = program();
    let command = command.current_dir(folder.path(".")).args(args);
    let command = command.env("TMPDIR", "/nonexistent").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Ignore write errors, because the program may close the pipe before reading all of the input.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    stdout(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn get_and_dump_accept_a_layout_compiled_by_index() {
    let folder = Folder::new();
    folder.write("run.dud", "< N : u1  x = u2[N]  p = { a = u1 }");
    folder.write("run.bin", [2, 0, 5, 0, 6, 0, 7]);
    let output = folder.done(&["dudley", "index", "run.dud"]);
    assert!(stdout(&output).starts_with("run.dudx: "), "{}", stdout(&output));
    for layout in ["run.dud", "run.dudx"] {
        let get = |path| folder.done(&["dudley", "get", "run.bin", path, "--layout", layout]);
        assert_eq!(stdout(&get("/x")), "5 6\n");
        assert_eq!(stdout(&get("/p.a")), "7\n");
        let dump = folder.done(&["dudley", "dump", "run.bin", "--layout", layout, "--json"]);
        assert_eq!(lines(&dump).len(), 3);
        let given = ["dudley", "get", "run.bin", "/x", "--layout", layout, "--param", "N=1"];
        assert_eq!(stdout(&folder.done(&given)), "5 6\n");
    }
    // If the compiled layout is damaged, reading fails, even though the text of the layout is
    // valid.
    let mut bytes = folder.read("run.dudx");
    folder.write("other.dudx", &bytes);
    let at = bytes.windows(3).position(|part| part == b"u2\0").unwrap();
    bytes[at] = b'i';
    folder.write("run.dudx", bytes);
    let output = folder.run(&["dudley", "get", "run.bin", "/x", "--layout", "run.dud"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("the CRC-32 of index page 0 is"), "{}", stderr(&output));
    folder.done(&["dudley", "get", "run.bin", "/x", "--layout", "other.dudx"]);
}

#[test]
fn dudley_index_reports_errors_and_replaces_files_only_with_force() {
    let folder = Folder::new();
    folder.write("run.dud", "x = u1");
    folder.done(&["dudley", "index", "run.dud", "-o", "a.dudx"]);
    let output = folder.run(&["dudley", "index", "run.dud", "-o", "a.dudx"]);
    assert_eq!(status(&output), 2);
    folder.done(&["dudley", "index", "run.dud", "-o", "a.dudx", "--force"]);
    let report = folder.done(&["dudley", "index", "run.dud", "--json"]);
    assert_eq!(lines(&report)[0]["file"], "run.dudx");
    folder.write("bad.dud", "x = f9");
    let output = folder.run(&["dudley", "index", "bad.dud"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("--> bad.dud:1:5"), "{}", stderr(&output));
    let output = piped(&folder, &["dudley", "index", "run.dudx", "-o", "b.dudx"], b"");
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("binary file"), "{}", stderr(&output));
    assert_eq!(folder.names(), ["a.dudx", "bad.dud", "run.dud", "run.dudx"]);
}

#[test]
fn a_compiled_layout_is_rejected_if_the_text_has_changed() {
    let folder = Folder::new();
    folder.write("run.dud", "x = u1");
    folder.write("run.bin", [5, 6]);
    folder.done(&["dudley", "index", "run.dud"]);
    folder.write("run.dud", "y = i1  x = u1");
    let message = "run.dudx was not compiled from the current content of run.dud";
    let output = folder.run(&["dudley", "get", "run.bin", "/x", "--layout", "run.dudx"]);
    assert_eq!((status(&output), stdout(&output).as_str()), (1, ""));
    assert!(stderr(&output).contains(message), "{}", stderr(&output));
    // If the text of the layout is given, the command uses the text and prints a warning.
    let output = folder.done(&["dudley", "get", "run.bin", "/x", "--layout", "run.dud"]);
    assert_eq!(stdout(&output), "6\n");
    assert!(stderr(&output).contains(&format!("warning: {message}")), "{}", stderr(&output));
    folder.done(&["dudley", "index", "run.dud", "--force"]);
    let output = folder.done(&["dudley", "get", "run.bin", "/x", "--layout", "run.dudx"]);
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("6\n", ""));
    folder.write("cut.dudx", &folder.read("run.dudx")[..70]);
    let output = folder.run(&["dudley", "get", "run.bin", "/x", "--layout", "cut.dudx"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("not a valid compiled layout"), "{}", stderr(&output));
}

const TEMPLATE: &str = "<\n{ N : i4  time = f4 }  x = f8[N]  y = i2[N]\n";

/// Returns a folder with two files of the same layout, and a summary of their parameters.
fn family() -> Folder {
    let folder = Folder::new();
    folder.write("run.dud", TEMPLATE);
    folder.write("sum.dud", "< COUNT : i8  summary = { N : i4  time = f4 }[COUNT]");
    let mut records = Vec::new();
    for n in [3_i32, 5] {
        let param = format!("N={n}");
        let file = format!("run_{n}.bd");
        folder.done(&[
            "dudley",
            "new",
            &file,
            "--layout",
            "run.dud",
            "--param",
            &param,
            "--omit-layout",
        ]);
        records.extend(n.to_le_bytes());
        records.extend([0; 4]);
    }
    let mut all = b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0".to_vec();
    all.extend(records);
    folder.write("all.bd", all);
    folder
}

#[test]
fn locate_prints_the_location_of_an_array_in_each_file() {
    let folder = family();
    let output = folder.done(&["dudley", "locate", "run.dud", "/y", "run_3.bd", "run_5.bd"]);
    let expected = "     address       nbytes  type                 file\n          48            6  <i2[3]               run_3.bd\n          64           10  <i2[5]               run_5.bd\n";
    assert_eq!(stdout(&output), expected);
    let json = folder.done(&["dudley", "locate", "run.dud", "/y", "run_5.bd", "--json"]);
    let row = json!({
        "file": "run_5.bd", "path": "/y", "address": 64, "shape": [5], "dtype": "<i2",
        "nbytes": 10, "strides": [2],
    });
    assert_eq!(lines(&json), [row]);
}

#[test]
fn locate_with_a_summary_opens_no_other_file() {
    let folder = family();
    for file in ["run_3.bd", "run_5.bd"] {
        std::fs::remove_file(folder.path(file)).unwrap();
    }
    let located = |template| {
        let given = ["dudley", "locate", template, "/y", "--summary", "all.bd", "all.bd", "--json"];
        let rows = lines(&folder.done(&given));
        rows.iter().map(|row| json!([row["file"], row["address"]])).collect::<Vec<_>>()
    };
    let expected = [json!(["0", 48]), json!(["1", 64]), json!(["2", 48]), json!(["3", 64])];
    assert_eq!(located("run.dud"), expected);
    folder.write("named.dud", format!("#: dudley_files=\"run_{{:02}}.bd\"\n{TEMPLATE}"));
    assert_eq!(located("named.dud")[3], json!(["run_03.bd", 64]));
}

#[test]
fn locate_reports_errors_and_continues_with_the_next_file() {
    let folder = family();
    folder.write("short.bd", &folder.read("run_3.bd")[..17]);
    let files = ["short.bd", "none.bd", "run_3.bd"];
    let output = folder.run(&[&["dudley", "locate", "run.dud", "/y"][..], &files].concat());
    assert_eq!(status(&output), 2);
    assert!(stdout(&output).contains("48            6  <i2[3]               run_3.bd"));
    assert!(stderr(&output).contains("E043") && stderr(&output).contains("none.bd"));
    assert!(stderr(&output).contains("scibin: short.bd:"), "{}", stderr(&output));
    let output = folder.run(&["dudley", "locate", "run.dud", "/q", "run_3.bd"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("nothing at `/q`"), "{}", stderr(&output));
    folder.write("at.dud", "{ N : i4 } x = f8[N] @100");
    let output = folder.run(&["dudley", "locate", "at.dud", "/x", "--summary", "all.bd"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("not a template"), "{}", stderr(&output));
    folder.write("cut.bd", &folder.read("all.bd")[..30]);
    let output = folder.run(&["dudley", "locate", "run.dud", "/x", "--summary", "cut.bd"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("cut.bd"), "{}", stderr(&output));
    let usage = ["dudley", "locate", "run.dud", "/x", "run_3.bd", "--summary", "all.bd"];
    assert_eq!(status(&folder.run(&usage)), 2);
    assert_eq!(status(&folder.run(&["dudley", "locate", "run.dud", "/x"])), 2);
}

const ORDERED: &str = "< N : u1  x = u2[N]  s = { M : u1  \"\" = S1[M] }[2]  z = i4[4] -> gzip  \
                       big = f8[40000]  p = { a = u1  b = f4 }";

/// Writes a layout and a file that it describes. Returns the bytes of the file.
fn ordered(folder: &Folder) -> Vec<u8> {
    folder.write("run.dud", ORDERED);
    folder.write("z.dud", "< z = i4[4] -> gzip");
    folder.done(&["dudley", "new", "z.bd", "--layout", "z.dud", "--omit-layout"]);
    let mut bytes = vec![2, 0, 5, 0, 6, 0, 2, b'a', b'b', 1, b'c'];
    bytes.resize(16, 0);
    bytes.extend(&folder.read("z.bd")[16..]);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend((0..40_000_u32).flat_map(|at| f64::from(at).to_le_bytes()));
    bytes.extend([9, 0, 0, 0, 0, 0, 0, 0x3f]);
    folder.write("run.bin", &bytes);
    bytes
}

#[test]
fn a_pipe_is_read_in_order_without_a_temporary_file() {
    let folder = Folder::new();
    let bytes = ordered(&folder);
    for form in [&[][..], &["--json"]] {
        let dump = |of| [&["dudley", "dump", of, "--layout", "run.dud"][..], form].concat();
        let of_file = folder.done(&dump("run.bin"));
        let of_pipe = piped(&folder, &dump("-"), &bytes);
        assert_eq!((status(&of_pipe), stderr(&of_pipe).as_str()), (0, ""));
        assert_eq!(stdout(&of_pipe), stdout(&of_file));
    }
    for path in ["/N", "/x", "/s", "/s[1]", "/z", "/big", "/p", "/p.b", "/p/b"] {
        let get = |of| ["dudley", "get", of, path, "--layout", "run.dud"];
        let of_file = folder.done(&get("run.bin"));
        let of_pipe = piped(&folder, &get("-"), &bytes);
        assert_eq!((status(&of_pipe), stderr(&of_pipe).as_str()), (0, ""), "{path}");
        assert_eq!(stdout(&of_pipe), stdout(&of_file), "{path}");
    }
    let slice = ["dudley", "get", "-", "/big", "--layout", "run.dud", "--slice", "::-20000"];
    assert_eq!(stdout(&piped(&folder, &slice, &bytes)), "39999.0 19999.0\n");
    let npy = ["dudley", "get", "-", "/big", "--layout", "run.dud", "-o", "big.npy"];
    assert_eq!(status(&piped(&folder, &npy, &bytes)), 0);
    assert_eq!(folder.read("big.npy").len(), 128 + 320_000);
}

#[test]
fn a_pipe_that_ends_too_early_is_reported_like_a_short_file() {
    let folder = Folder::new();
    let bytes = ordered(&folder);
    for len in [0, 1, 3, 7, 8, 12, 20, 30, 1000, bytes.len() - 1] {
        folder.write("run.bin", &bytes[..len]);
        let dump = |of| ["dudley", "dump", of, "--layout", "run.dud", "--json"];
        let of_file = folder.run(&dump("run.bin"));
        let of_pipe = piped(&folder, &dump("-"), &bytes[..len]);
        assert_eq!((status(&of_file), status(&of_pipe)), (1, 1), "{len}");
        assert_eq!(stdout(&of_pipe), stdout(&of_file), "{len}");
        let errors = stderr(&of_file).replace("run.bin", "standard input");
        // Only compare the first error, because the command stops where the data in the pipe ends.
        assert!(errors.starts_with(stderr(&of_pipe).lines().next().unwrap()), "{len}: {errors}");
    }
}

#[test]
fn a_native_file_from_a_pipe_is_copied_only_if_the_layout_states_addresses() {
    let folder = Folder::new();
    folder.write("run.dud", "N : i2  x = f8[N]");
    folder.write("x.npy", [npy_header("<f8", &[2]), vec![0; 16]].concat());
    folder.done(&[
        "dudley", "new", "run.bd", "--layout", "run.dud", "--param", "N=2", "--set", "/x=x.npy",
    ]);
    let bytes = folder.read("run.bd");
    let get = ["dudley", "get", "-", "/x", "--layout", "run.dud"];
    assert_eq!(stdout(&piped(&folder, &get, &bytes)), "0.0 0.0\n");
    folder.write("at.dud", "x = u1 @20  y = u1 @3");
    let mut text = String::new();
    for layout in ["at.dud", "run.dud"] {
        let mut command = program();
        let command =
            command.current_dir(folder.path(".")).args(["dudley", "dump", "-", "--layout", layout]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let _ = write!(text, "{}", stdout(&output));
    }
    assert_eq!(text, "/x = u1  0\n/y = u1  68\n/N = <i2  2\n/x = <f8[2]  0.0 0.0\n");
    let output = piped(&folder, &["dudley", "get", "-", "/q", "--layout", "run.dud"], &bytes);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("nothing at `/q`"), "{}", stderr(&output));
}

#[test]
fn get_with_a_layout_warns_if_the_appended_layout_contradicts_it() {
    let folder = Folder::new();
    folder.write("run.bdud", b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = i4\n");
    folder.write("same.dud", "x = i4  ## the same");
    folder.write("other.dud", "x = u2[2]");
    let get = |layout| folder.done(&["dudley", "get", "run.bdud", "/x", "--layout", layout]);
    assert_eq!(stderr(&get("same.dud")), "");
    let output = get("other.dud");
    assert_eq!(stdout(&output), "7 0\n");
    let message = "warning: run.bdud: the given layout contradicts the layout appended";
    assert!(stderr(&output).contains(message), "{}", stderr(&output));
    assert!(stderr(&output).contains("/x: type <i4 -> <u2"), "{}", stderr(&output));
}
