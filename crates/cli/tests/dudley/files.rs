//! Tests of reading native files, and other files described by a layout.

use serde_json::{Value, json};

use super::program::{Folder, json_of, npy_header, status, stderr, stdout};
use super::{folder, native};

#[test]
fn info_and_verify_succeed_for_layouts_and_native_files() {
    let folder = folder();
    folder.write("summary.dud", "{ N : i8  time = f8 }\nx = f8[N]\n");
    folder.write("a.bd", native());
    let mut separate = native();
    separate.truncate(48);
    separate[8] = 0;
    folder.write("b.bd", &separate);
    for file in ["run.dud", "summary.dud", "a.bd", "b.bd"] {
        let output = folder.run(&["verify", file]);
        assert_eq!((status(&output), stderr(&output).as_str()), (0, ""), "{file}");
        assert!(stdout(&output).starts_with(&format!("{file}: 0 errors, ")), "{}", stdout(&output));
        let json = json_of(&folder.run(&["verify", file, "--json"]));
        let mut expected = json!({
            "file": file, "format": "dudley", "ok": true, "errors": 0, "diagnostics": []
        });
        if file == "b.bd" {
            expected["checked"] = "signature".into();
        }
        assert_eq!(json, expected);
        assert_eq!(status(&folder.run(&["info", file])), 0, "{file}");
    }
    assert!(stdout(&folder.run(&["verify", "b.bd"])).contains("only the signature was checked"));
    assert_eq!(
        stdout(&folder.run(&["info", "a.bd"])),
        "a.bd: Dudley native file\n  byte order         little\n  layout address     48\n  \
         arrays             1\n  dicts and lists    0\n  parameters         N\n  types              0\n"
    );
    let json = json_of(&folder.run(&["info", "run.dud", "--json"]));
    assert_eq!((&json["kind"], &json["arrays"]), (&json!("layout"), &json!(4)));
}

#[test]
fn verify_reports_damaged_native_files_with_status_1() {
    let folder = Folder::new();
    let mut more = native();
    more[16] = 4;
    let mut broken = native();
    broken.truncate(native().len() - 18);
    broken.extend(b"[");
    let mut outside = native();
    outside[8] = 0x60;
    let mut text_mode = native();
    text_mode.remove(4);
    for (name, bytes, message) in [
        ("more.bd", more, "error[L-past-end]: `/x` ends at 56, after the end of the stream at 48"),
        ("broken.bd", broken, "error[E0"),
        ("outside.bd", outside, "the file ends at byte 80"),
        ("text.bd", text_mode, "damaged by a text-mode transfer"),
        ("short.bd", native()[..10].to_vec(), "inside the 16-byte signature"),
    ] {
        folder.write(name, bytes);
        let output = folder.run(&["verify", name]);
        assert_eq!(status(&output), 1, "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains(message), "{name}: {}", stderr(&output));
        let json = json_of(&folder.run(&["verify", name, "--json"]));
        assert_eq!((&json["ok"], &json["errors"]), (&json!(false), &json!(1)), "{name}");
        assert_eq!(status(&folder.run(&["info", name])), 1, "{name}");
    }
    assert_eq!(status(&folder.run(&["verify", "none.bd"])), 2);
}

#[test]
fn info_and_explain_print_the_requested_data_even_with_quiet() {
    let folder = folder();
    folder.write("a.bd", native());
    for command in
        [&["info", "run.dud"][..], &["info", "a.bd"], &["dudley", "explain", "a.bd", "20"]]
    {
        let output = folder.done(command);
        assert_ne!(stdout(&output), "", "{command:?}");
        let quiet = folder.done(&[command, &["--quiet"]].concat());
        assert_eq!(stdout(&quiet), stdout(&output), "{command:?}");
    }
}

#[test]
fn get_prints_and_extracts_arrays() {
    let folder = Folder::new();
    folder.write("run.bdud", native());
    for program in [&["dudley", "get"][..], &["get"]] {
        let run = |more: &[&str]| folder.done(&[program, &["run.bdud"], more].concat());
        assert_eq!(stdout(&run(&["/x"])), "1.0 2.0 -0.5\n");
        assert_eq!(stdout(&run(&["/x", "--slice", "::2"])), "1.0 -0.5\n");
        assert_eq!(stdout(&run(&["/N"])), "3\n");
        let json = json_of(&run(&["/x", "--json"]));
        assert_eq!(json, json!({"dtype": "<f8", "shape": [3], "values": [1.0, 2.0, -0.5]}));
        run(&["/x", "-o", "x.npy", "--force"]);
        let npy = [npy_header("<f8", &[3]), native()[24..48].to_vec()].concat();
        assert_eq!(folder.read("x.npy"), npy);
    }
    let again = folder.run(&["dudley", "get", "run.bdud", "/x", "-o", "x.npy"]);
    assert_eq!(status(&again), 2);
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
}

#[test]
fn get_without_a_path_rejects_options_that_apply_to_a_single_item() {
    let folder = Folder::new();
    folder.write("run.bd", native());
    for options in ["-o x.npy", "--slice 0", "--png x.png", "--preview", "--as csv", "--instance 0"]
    {
        let options: Vec<&str> = options.split(' ').collect();
        let output = folder.run(&[&["get", "run.bd"], &options[..]].concat());
        assert_eq!((status(&output), stdout(&output)), (2, String::new()), "{options:?}");
        let expected = "scibin: run.bd: expected the path of an item, ";
        assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    }
    assert_eq!(folder.names(), ["run.bd"]);
}

#[test]
fn get_reads_a_file_described_by_a_given_layout() {
    let folder = Folder::new();
    folder.write("v.dud", "> N : i4 @100  v = { id = u1  w = u2[2] }[N] @4  t = S1[2, 3] @16");
    folder.write("data.bin", b"....\x01.\0\x02\0\x03\x04.\0\x05\0\x06abcde\0");
    let run = |more: &[&str]| {
        let given = ["--layout", "v.dud", "--param", "N=2"];
        folder.run(&[&["dudley", "get", "data.bin"], more, &given].concat())
    };
    assert_eq!(stdout(&run(&["/v.w"])), "2 3\n5 6\n");
    assert_eq!(stdout(&run(&["/v[1].id"])), "4\n");
    assert_eq!(stdout(&run(&["/v/1/id"])), "4\n");
    assert_eq!(stdout(&run(&["t"])), "abc de\n");
    run(&["/v", "-o", "v.npy"]);
    let npy = String::from_utf8_lossy(&folder.read("v.npy")).into_owned();
    assert!(npy.contains("('id', '|u1'), ('', '|V1'), ('w', '>u2', (2,))"), "{npy}");
    run(&["/t", "-o", "t.npy"]);
    assert!(String::from_utf8_lossy(&folder.read("t.npy")).contains("'descr': '|S3'"));
    let without = folder.run(&["dudley", "get", "data.bin", "/v", "--layout", "v.dud"]);
    assert_eq!(status(&without), 1);
    assert!(stderr(&without).contains("error[E043]"), "{}", stderr(&without));
    let other = ["dudley", "get", "data.bin", "/v", "--layout", "v.dud", "--param", "M=2"];
    assert_eq!(status(&folder.run(&other)), 2);
}

#[test]
fn get_rejects_dicts_and_missing_items_and_cannot_write_ragged_data_as_npy() {
    let folder = Folder::new();
    folder.write("a.dud", "g/ x = u1 .. s = { N : u1  \"\" = S1[N] }[2]");
    folder.write("a.bin", b"\x07\x01a\x02bc");
    let run = |path: &str| folder.run(&["dudley", "get", "a.bin", path, "--layout", "a.dud"]);
    let output = run("/g");
    assert_eq!((status(&output), stderr(&output).as_str()), (2, "scibin: a.bin: `/g` is a dict\n"));
    assert_eq!(status(&run("/h")), 2);
    assert_eq!(stdout(&run("/s")), "[\"a\", \"bc\"]\n");
    assert_eq!(stdout(&run("/s[1]")), "bc\n");
    let cut = ["dudley", "get", "a.bin", "/s", "--layout", "a.dud", "-o", "s.npy"];
    let output = folder.run(&cut);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("differ in size"), "{}", stderr(&output));
    assert!(!folder.path("s.npy").exists());
}

#[test]
fn dump_prints_one_line_of_json_per_row() {
    let folder = Folder::new();
    folder.write(
        "a.dud",
        "< N : u1  x = u2[N]  s = { K : u1  v = u1[K] }[2]  p = { a = u1  b = i1 }",
    );
    folder.write("a.bin", b"\x02.\x01\0\x02\0\x01\x05\0\x07\xff");
    let output = folder.done(&["dudley", "dump", "a.bin", "--layout", "a.dud", "--json"]);
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines,
        [
            json!({"path": "/N", "dtype": "u1", "shape": [], "value": 2}),
            json!({"path": "/x", "dtype": "<u2", "shape": [2], "value": [1, 2]}),
            json!({"path": "/s", "dtype": "{}", "shape": [2], "value": [{"v": [5]}, {"v": []}]}),
            json!({"path": "/p", "dtype": "{}", "shape": [], "value": {"a": 7, "b": -1}}),
        ]
    );
    let text = stdout(&folder.done(&["dudley", "dump", "a.bin", "--layout", "a.dud"]));
    assert_eq!(
        text,
        "/N = u1  2\n/x = <u2[2]  1 2\n/s = {}[2]  [{\"v\":[5]}, {\"v\":[]}]\n/p = {}  {\"a\":7,\"b\":-1}\n"
    );
}

#[test]
fn get_and_dump_print_all_elements_only_with_the_full_option() {
    let folder = Folder::new();
    folder.write("a.dud", "x = u1[2000]  n = u1");
    folder.done(&["dudley", "new", "a.bd", "--layout", "a.dud"]);
    let elements = |command: &str| {
        let printed = stdout(&folder.done(&command.split(' ').collect::<Vec<_>>()));
        printed.lines().nth(1).unwrap().split_whitespace().filter(|word| *word == "0").count()
    };
    assert_eq!(elements("get a.bd"), 6);
    assert_eq!(elements("get a.bd --full"), 2000);
    assert_eq!(elements("dudley dump a.bd"), 6);
    assert_eq!(elements("dudley dump a.bd --full"), 2000);
}

#[test]
fn dump_prints_readable_rows_before_the_errors() {
    let folder = Folder::new();
    folder.write("a.dud", "a = u1  b = u1[9]  c = u1 @1  N : u1 @100  d = u1[N]");
    folder.write("a.bin", [7, 8]);
    let output = folder.run(&["dudley", "dump", "a.bin", "--layout", "a.dud", "--json"]);
    assert_eq!(status(&output), 1);
    let paths: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["path"].clone())
        .collect();
    assert_eq!(paths, ["/a", "/c"]);
    let message = stderr(&output);
    assert!(message.contains("`/b` is at bytes 1 to 10, but the file ends at byte 2"), "{message}");
    assert!(message.contains("error[E043]"), "{message}");
}

#[test]
fn dudley_extract_layout_prints_or_writes_the_original_text() {
    let folder = Folder::new();
    folder.write("run.bdud", native());
    let output = folder.done(&["dudley", "extract-layout", "run.bdud"]);
    assert_eq!(stdout(&output), "N : i2  x = f8[N]  ## (cm) demo\n");
    folder.done(&["dudley", "extract-layout", "run.bdud", "-o", "run.dud"]);
    assert_eq!(folder.read("run.dud"), &native()[48..]);
    assert_eq!(status(&folder.run(&["dudley", "extract-layout", "run.bdud", "-o", "run.dud"])), 2);
    folder.done(&["dudley", "extract-layout", "run.bdud", "-o", "run.dud", "--force"]);
    let mut without = native();
    without[8] = 0;
    folder.write("run.bd", &without);
    let output = folder.run(&["dudley", "extract-layout", "run.bd"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("has no appended layout"), "{}", stderr(&output));
}

#[test]
fn explain_prints_which_item_a_byte_belongs_to() {
    let folder = Folder::new();
    folder.write("run.bdud", native());
    let explain = |address: &str| {
        let output = folder.run(&["dudley", "explain", "run.bdud", address]);
        (status(&output), stdout(&output))
    };
    for (address, expected) in [
        ("0", "0x0: byte 0 of the signature\n"),
        ("9", "0x9: byte 1 of the layout address\n"),
        ("0x11", "0x11: /N, <i2, byte 1\n"),
        ("20", "0x14: no item, after /N, before /x\n"),
        ("0x21", "0x21: /x element [1], <f8, byte 1\n"),
        ("0x30", "0x30: line 1 of the layout\n"),
    ] {
        assert_eq!(explain(address), (0, expected.to_owned()));
    }
    assert_eq!(explain("1000"), (1, "0x3e8: after the end of the file at 0x50\n".to_owned()));
    assert_eq!(explain("x").0, 2);
    let output = folder.done(&["dudley", "explain", "run.bdud", "33", "--json"]);
    assert_eq!(
        json_of(&output)["found"],
        json!([{"kind": "data", "path": "/x", "index": [1], "dtype": "<f8", "byte": 1}])
    );
}
