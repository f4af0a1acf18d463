//! `scibin dudley` as a user runs it: output, status, messages.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use program::{Folder, json_of, npy_header, program, status, stderr, stdout};

const LAYOUT: &str = "IMAX := i8  ## leading dimension
grid/
  x = f8[IMAX+]  ## (cm) nodes
    #: units=\"cm\"
  cells = { a = i1  b = f4[2] }[IMAX]
/ list [ i4, <f4[3] @1024 ]
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("run.dud", LAYOUT);
    folder
}

#[test]
fn check_reports_success_and_shows_errors() {
    let folder = folder();
    let output = folder.run(&["dudley", "check", "run.dud"]);
    assert_eq!(
        (status(&output), stdout(&output).as_str()),
        (0, "run.dud: 0 errors, 0 warnings and notes\n")
    );
    folder.write("bad.dud", "x = f8\nx = f9[010]\n");
    let output = folder.run(&["dudley", "check", "run.dud", "bad.dud"]);
    assert_eq!(status(&output), 1);
    let message = stderr(&output);
    assert!(message.contains("error[E031]") && message.contains("--> bad.dud:2:5"), "{message}");
    assert!(message.contains("error[E020]"), "{message}");
    let output = folder.run(&["dudley", "check", "bad.dud", "--json"]);
    let json = json_of(&output);
    assert_eq!(json["errors"], 2);
    let codes: Vec<&str> = json["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"E031") && codes.contains(&"L-leading-zeros"), "{codes:?}");
}

#[test]
fn notes_can_be_silenced_and_errors_cannot() {
    let folder = Folder::new();
    folder.write("a.dud", "x = f8[010]\n");
    assert!(stderr(&folder.run(&["dudley", "check", "a.dud"])).contains("L-leading-zeros"));
    for code in ["L-leading-zeros", "notes"] {
        let output = folder.run(&["dudley", "check", "a.dud", "--allow", code]);
        assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
    }
    for code in ["L-leading-zeros", "notes"] {
        let output = folder.run(&["dudley", "check", "a.dud", "--deny", code]);
        assert_eq!(status(&output), 1);
        assert!(stderr(&output).contains("error[L-leading-zeros]"), "{}", stderr(&output));
    }
    for (option, code) in [("--allow", "E031"), ("--allow", "L-nothing"), ("--deny", "E031")] {
        assert_eq!(status(&folder.run(&["dudley", "check", "a.dud", option, code])), 2);
    }
}

#[test]
fn check_looks_at_addresses_that_depend_on_nothing() {
    let folder = Folder::new();
    folder.write("a.dud", "a = f8[2]  b = i1 @5\n");
    let output = folder.run(&["dudley", "check", "a.dud"]);
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("note[L-overlap]"), "{}", stderr(&output));
    assert_eq!(stderr(&folder.run(&["dudley", "check", "a.dud", "--allow", "L-overlap"])), "");
    assert_eq!(status(&folder.run(&["dudley", "check", "a.dud", "--deny", "L-overlap"])), 1);
    folder.write("b.dud", "a = f8[4294967296, 4294967296, 4294967296]\n");
    let output = folder.run(&["dudley", "check", "b.dud"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("error[E040]"), "{}", stderr(&output));
}

#[test]
fn binary_file_and_missing_file_are_distinguished() {
    let folder = Folder::new();
    folder.write("a.bd", b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0");
    let output = folder.run(&["dudley", "check", "a.bd"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("error[E001]"), "{}", stderr(&output));
    let output = folder.run(&["dudley", "check", "none.dud"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).starts_with("scibin: none.dud: "), "{}", stderr(&output));
}

#[test]
fn fmt_rewrites_unformatted_layouts_and_keeps_comments() {
    let folder = Folder::new();
    folder.write("a.dud", "N:=i8 # one\nx=f8[ N - ]##(cm)\n");
    let output = folder.run(&["dudley", "fmt", "--check", "a.dud"]);
    assert_eq!((status(&output), stdout(&output).as_str()), (1, "a.dud: not formatted\n"));
    let output = folder.run(&["dudley", "fmt", "a.dud"]);
    assert_eq!((status(&output), stdout(&output).as_str()), (0, "a.dud: formatted\n"));
    let text = String::from_utf8(folder.read("a.dud")).unwrap();
    assert_eq!(text, "N : i8  # one\nx = f8[N-]  ## (cm)\n");
    assert_eq!(status(&folder.run(&["dudley", "fmt", "--check", "a.dud"])), 0);
    folder.write("bad.dud", "x = = f8\n");
    assert_eq!(status(&folder.run(&["dudley", "fmt", "bad.dud"])), 1);
    assert_eq!(folder.read("bad.dud"), b"x = = f8\n");
    assert_eq!(folder.names(), ["a.dud", "bad.dud"]);
}

#[test]
fn fmt_prints_json_if_asked() {
    let folder = Folder::new();
    folder.write("a.dud", "x=f8\n");
    folder.write("bad.dud", "x = = f8\n");
    let run = |arguments: &[&str]| {
        let output = folder.run(&[&["dudley", "fmt", "--json"], arguments].concat());
        (status(&output), json_of(&output))
    };
    let (code, json) = run(&["--check", "a.dud"]);
    assert_eq!((code, &json["ok"], &json["changed"]), (1, &json!(false), &json!(true)));
    let (code, json) = run(&["a.dud"]);
    assert_eq!((code, &json["ok"], &json["changed"]), (0, &json!(true), &json!(true)));
    let (code, json) = run(&["bad.dud"]);
    assert_eq!((code, &json["diagnostics"][0]["code"]), (1, &json!("E014")));
}

#[test]
fn fmt_is_a_filter_too() {
    let mut child = program()
        .args(["dudley", "fmt", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"l=[f8]").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((status(&output), stdout(&output).as_str()), (0, "l [f8]\n"));
}

#[test]
fn tree_shows_declarations_with_their_documentation() {
    let folder = folder();
    let output = folder.run(&["dudley", "tree", "run.dud"]);
    assert_eq!(
        stdout(&output),
        "/\n  IMAX : i8  ## leading dimension\n  grid/\n    x = f8[IMAX+]  ## (cm) nodes  #: units=\"cm\"\n    \
         cells = {}[IMAX]\n      a = i1\n      b = f4[2]\n  list []\n    [0] = i4\n    \
         [1] = <f4[3] @1024\n"
    );
    let json = json_of(&folder.run(&["dudley", "tree", "run.dud", "--json"]));
    assert_eq!(json["items"][1]["items"][0]["attributes"], json!({"units": "cm"}));
}

#[test]
fn tree_shows_comments_of_the_summary_and_repeated_elements() {
    let folder = Folder::new();
    folder.write("a.dud", "{ ## of each file\n N : i8 } l [f8[N]] l %0 @64  'a\"b\\x01' = i1");
    let output = folder.run(&["dudley", "tree", "a.dud"]);
    assert_eq!(
        stdout(&output),
        "/\n  {}  ## of each file\n  N : i8\n  l []\n    [0] = f8[N]\n    [1] %0\n    [2] @64\n  \
         \"a\\\"b\\u0001\" = i1\n"
    );
}

#[test]
fn resolve_prints_addresses_for_values() {
    let folder = folder();
    let arguments = ["dudley", "resolve", "run.dud", "--param", "IMAX=2", "--order", ">"];
    let output = folder.run(&arguments);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let lines: Vec<String> = stdout(&output)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "address nbytes type path",
            "0 8 >i8 /IMAX",
            "8 24 >f8[3] /grid/x",
            "32 24 {}[2] /grid/cells",
            "56 4 >i4 /list[0]",
            "1024 12 <f4[3] /list[1]",
        ]
    );
    let mut arguments = arguments.to_vec();
    arguments.extend(["--json", "--members", "--native"]);
    let json = json_of(&folder.run(&arguments));
    assert_eq!(
        json[4],
        json!({
            "path": "/grid/cells.b", "address": 52, "shape": [2, 2], "dtype": ">f4", "nbytes": 8,
            "stride": 12,
        })
    );
}

#[test]
fn resolve_reads_values_from_a_stream() {
    let folder = folder();
    let mut stream = b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\0".to_vec();
    stream.extend(3_i64.to_be_bytes());
    folder.write("run.bd", &stream);
    let output = folder.run(&["dudley", "resolve", "run.dud", "--stream", "run.bd", "--json"]);
    let json = json_of(&output);
    assert_eq!((&json[1]["address"], &json[1]["shape"]), (&json!(24), &json!([4])));
    assert_eq!(json[1]["dtype"], ">f8");
    folder.write("short.bd", &stream[..20]);
    let output = folder.run(&["dudley", "resolve", "run.dud", "--stream", "short.bd"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("error[E043]"), "{}", stderr(&output));
    folder.write("hurt.bd", b"\x8d<BD\n\x1a\n\0\0\0\0\0\0\0\0\0");
    let output = folder.run(&["dudley", "resolve", "run.dud", "--stream", "hurt.bd"]);
    assert!(stderr(&output).contains("text-mode transfer"), "{}", stderr(&output));
}

#[test]
fn resolve_names_the_missing_value() {
    let folder = folder();
    let output = folder.run(&["dudley", "resolve", "run.dud"]);
    assert_eq!(status(&output), 1);
    let message = stderr(&output);
    assert!(
        message.contains("error[E042]") && message.contains("`IMAX` is not known"),
        "{message}"
    );
    for param in ["IMAX", "IMAX=x", "IMAX=9223372036854775808"] {
        let output = folder.run(&["dudley", "resolve", "run.dud", "--param", param]);
        assert_eq!(status(&output), 2, "{param}");
    }
}

#[test]
fn a_value_of_a_parameter_that_is_not_stored_is_refused() {
    let folder = folder();
    folder.write("other.dud", "N : i4  M : 3  g/ N : i4  x = { K : i1  a = u1[K] }[2]");
    for (param, code) in [
        ("N=1", 0),
        ("/N=1", 0),
        ("/g/N=1", 0),
        ("/g/x.K=1", 0),
        ("/g/x[1].K=1", 0),
        ("K=1", 0),
        ("M=1", 2),
        ("O=1", 2),
        ("/g/M=1", 2),
        ("/g/x=1", 2),
        ("/g/x.a=1", 2),
        ("/g/x/K=1", 2),
    ] {
        let output = folder.run(&["dudley", "resolve", "other.dud", "--param", param]);
        assert_eq!(status(&output), code, "{param}");
        let name = param.split('=').next().unwrap();
        let message = format!("scibin: --param: no stored parameter named `{name}`\n");
        assert_eq!(stderr(&output) == message, code == 2, "{}", stderr(&output));
    }
    // Of two layouts, either may have it.
    let arguments =
        ["dudley", "diff", "run.dud", "other.dud", "--param", "N=1", "--param", "IMAX=1"];
    assert_eq!(status(&folder.run(&arguments)), 1);
    assert_eq!(status(&folder.run(&[&arguments[..], &["--param", "O=1"]].concat())), 2);
}

#[test]
fn closed_pipe_is_not_a_failure() {
    let folder = Folder::new();
    folder.write("many.dud", format!("l [f8[3]] l{}\n", " %0".repeat(100_000)));
    for arguments in [
        &["resolve", "many.dud"][..],
        &["resolve", "many.dud", "--json"],
        &["tree", "many.dud"],
        &["tree", "many.dud", "--json"],
    ] {
        let mut child = program()
            .arg("dudley")
            .args(arguments)
            .current_dir(folder.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut begin = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut begin).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((status(&output), stderr(&output).as_str()), (0, ""), "{arguments:?}");
    }
}

#[test]
fn failures_exit_with_status_2() {
    let folder = folder();
    folder.write("run.bd", 3_i64.to_le_bytes());
    for arguments in [
        &["check"][..],
        &["check", "."],
        &["fmt", "none.dud"],
        &["tree", "none.dud"],
        &["tree", "run.dud", "run.dud"],
        &["resolve", "none.dud"],
        &["resolve", "run.dud", "--stream", "none.bd"],
        &["resolve", "run.dud", "--stream", "."],
        &["resolve", "run.dud", "--stream", "run.bd", "--param", "IMAX=3"],
        &["resolve", "run.dud", "--stream", "run.bd", "--native"],
        &["resolve", "run.dud", "--order", "="],
        &["diff", "run.dud"],
        &["diff", "run.dud", "none.dud"],
        &["diff", "-", "-"],
        &["compile", "run.dud"],
    ] {
        let output = folder.run(&[&["dudley"], arguments].concat());
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(!stderr(&output).is_empty() && stdout(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn layouts_in_other_encodings_become_utf8() {
    let folder = Folder::new();
    folder.write("a.dud", b"\xef\xbb\xbfx = f8\r\ny = f8 ## \xe9\r");
    let output = folder.run(&["dudley", "check", "a.dud"]);
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("note[L-not-utf8]"), "{}", stderr(&output));
    assert_eq!(status(&folder.run(&["dudley", "fmt", "a.dud"])), 0);
    assert_eq!(folder.read("a.dud"), "x = f8\ny = f8  ## é\n".as_bytes());
    assert_eq!(stderr(&folder.run(&["dudley", "check", "a.dud"])), "");
}

#[test]
fn errors_name_the_file_in_every_command() {
    let folder = Folder::new();
    folder.write("a.dud", "x = f8[\n");
    for command in ["check", "fmt", "tree", "resolve"] {
        let output = folder.run(&["dudley", command, "a.dud"]);
        assert_eq!(status(&output), 1, "{command}");
        assert!(stderr(&output).contains("\n --> a.dud:2:1\n"), "{}", stderr(&output));
    }
}

#[test]
fn diff_reports_changes_and_whether_old_files_stay_readable() {
    let folder = folder();
    folder.write("more.dud", LAYOUT.to_owned() + "new = i8\n");
    let output = folder.run(&["dudley", "diff", "run.dud", "more.dud"]);
    assert_eq!(status(&output), 1);
    assert_eq!(
        stdout(&output),
        "--- run.dud\n+++ more.dud\n+ /new\n\
         files of the first layout (-) can be read by the second (+)\n"
    );
    folder.write("moved.dud", LAYOUT.replace("IMAX+", "IMAX"));
    let output = folder.run(&["dudley", "diff", "run.dud", "moved.dud", "--param", "IMAX=4"]);
    assert_eq!(
        stdout(&output),
        "--- run.dud\n+++ moved.dud\n\
         ~ /grid/x: shape [5] -> [4]  (for IMAX=4)\n\
         ~ /grid/cells: address 48 -> 40  (for IMAX=4)\n\
         ~ /grid/cells.a: address 48 -> 40  (for IMAX=4)\n\
         ~ /grid/cells.b: address 52 -> 44  (for IMAX=4)\n\
         ~ /list[0]: address 96 -> 88  (for IMAX=4)\n\
         files of the first layout (-) cannot be read by the second (+)\n"
    );
    let output = folder.run(&["dudley", "diff", "run.dud", "run.dud", "--json"]);
    assert_eq!((status(&output), json_of(&output)), (0, json!({"changes": [], "readable": true})));
}

#[test]
fn diff_prints_a_parameter_of_the_summary_once() {
    let folder = Folder::new();
    folder.write("a.dud", "{ N : i8 }\nx = u1[N]\n");
    folder.write("b.dud", "{ N : i8 }\nx = u1[N+]\n");
    let output = stdout(&folder.run(&["dudley", "diff", "a.dud", "b.dud"]));
    assert!(output.contains("~ /x: shape [1] -> [2]  (for /N=1)\n"), "{output}");
}

#[test]
fn a_layout_with_errors_is_bad_data_in_every_command() {
    let folder = folder();
    folder.write("bad.dud", "x = f9\n");
    for arguments in [
        &["verify", "bad.dud"][..],
        &["info", "bad.dud"],
        &["dudley", "check", "bad.dud"],
        &["dudley", "fmt", "--check", "bad.dud", "run.dud"],
        &["dudley", "tree", "bad.dud"],
        &["dudley", "resolve", "bad.dud"],
        &["dudley", "diff", "bad.dud", "run.dud"],
        &["dudley", "diff", "run.dud", "bad.dud"],
    ] {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 1, "{arguments:?}: {}", stderr(&output));
    }
}

/// The native file (a) of the specification: with its layout at the end.
fn native() -> Vec<u8> {
    let mut bytes = b"\x8d<BD\r\n\x1a\n\x30\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0".to_vec();
    bytes.extend([1.0_f64, 2.0, -0.5].map(f64::to_le_bytes).concat());
    bytes.extend(b"N : i2  x = f8[N]  ## (cm) demo\n");
    bytes
}

#[test]
fn info_and_verify_know_layouts_and_native_files() {
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
    assert!(stdout(&folder.run(&["verify", "b.bd"])).contains("only the signature is checked"));
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
        ("outside.bd", outside, "the file ends at 80"),
        ("text.bd", text_mode, "damaged by a text-mode transfer"),
        ("short.bd", native()[..10].to_vec(), "inside the signature"),
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
fn a_stream_that_is_too_short_is_an_error_unless_it_is_allowed() {
    let folder = Folder::new();
    folder.write("a.dud", "N : i2\nx = f8[N]\ny = i1 @4\n");
    folder.write("a.bd", [3, 0, 0, 0, 0]);
    let resolve = |options: &[&str]| {
        let arguments = ["dudley", "resolve", "a.dud", "--stream", "a.bd"];
        folder.run(&[&arguments[..], options].concat())
    };
    let output = resolve(&[]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("error[L-past-end]"), "{}", stderr(&output));
    assert!(stdout(&output).contains("/x"), "the addresses are printed all the same");
    assert_eq!(status(&resolve(&["--quiet"])), 1);
    let output = resolve(&["--allow", "L-past-end"]);
    assert_eq!(status(&output), 0);
    assert!(!stderr(&output).contains("L-past-end"), "{}", stderr(&output));
    assert_eq!(status(&resolve(&["--allow", "notes"])), 0);
    assert_eq!(stderr(&resolve(&["--allow", "notes"])), "");
    folder.write("b.dud", "a = f8[2]  b = i1 @5\n");
    let overlap = |options: &[&str]| {
        status(&folder.run(&[&["dudley", "resolve", "b.dud"][..], options].concat()))
    };
    assert_eq!((overlap(&[]), overlap(&["--deny", "L-overlap"])), (0, 1));
    assert_eq!(overlap(&["--deny", "E031"]), 2);
}

#[test]
fn the_list_of_members_is_limited() {
    let nested = |level| format!("t{level} {{ a = t{0}  b = t{0} }}\n", level - 1);
    let text = "t0 { a = i1  b = i1 }\n".to_owned() + &(1..40).map(nested).collect::<String>();
    let folder = Folder::new();
    folder.write("bomb.dud", text + "x = t39\n");
    let arguments = ["dudley", "resolve", "bomb.dud", "--members", "--max-members", "1000"];
    let output = folder.run(&arguments);
    assert_eq!(status(&output), 1);
    assert_eq!(stdout(&output).lines().count(), 1002);
    let message = "scibin: only the first 1000 members are listed; see `--max-members`\n";
    assert_eq!(stderr(&output), message);
    let json = json_of(&folder.run(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(json.as_array().unwrap().len(), 1001);
    let output = folder.run(&arguments[..4]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).len() < 40_000_000, "{}", stdout(&output).len());
}

#[test]
fn the_list_of_differences_is_limited() {
    let nested = |level| format!("t{level} {{ a = t{0}  b = t{0} }}\n", level - 1);
    let bomb = |first: &str| {
        let types: String = (1..40).map(nested).collect();
        format!("t0 {{ a = {first}  b = i1 }}\n{types}x = t39\n")
    };
    let folder = Folder::new();
    folder.write("a.dud", bomb("i1"));
    folder.write("b.dud", bomb("i2"));
    let arguments = ["dudley", "diff", "a.dud", "b.dud"];
    let output = folder.run(&arguments);
    assert_eq!(status(&output), 1);
    // The names, the differences, that not all was compared, and the verdict.
    assert_eq!(stdout(&output).lines().count(), 2 + 1000 + 2);
    let message = stderr(&output);
    assert!(message.starts_with("scibin: only the first 1000 of "), "{message}");
    assert!(message.ends_with(" differences are printed; see `--max-changes`\n"), "{message}");
    let json = json_of(&folder.run(&[&arguments[..], &["--json", "--max-changes", "7"]].concat()));
    assert_eq!(json["changes"].as_array().unwrap().len(), 7);
    assert!(json["more"].as_u64().unwrap() > 1000, "{}", json["more"]);
    let output = folder.run(&[&arguments[..], &["--max-changes", "1000000"]].concat());
    assert!(stdout(&output).lines().count() > 2000 && stderr(&output).is_empty());
}

#[test]
fn layouts_are_made_from_c_and_numpy() {
    let folder = Folder::new();
    folder.write("p.h", "struct p { int id; double pos[3]; };\n");
    let output = folder.run(&["dudley", "from-c", "p.h"]);
    assert_eq!(
        (status(&output), stdout(&output).as_str()),
        (0, "p {\n  id = i4\n  pos = f8[3]\n}\n")
    );
    folder.write("bad.h", "struct p {\n  int *id;\n};\n");
    let output = folder.run(&["dudley", "from-c", "bad.h"]);
    assert_eq!(status(&output), 1);
    assert_eq!(
        stderr(&output),
        "scibin: bad.h: line 2 of the C text: a pointer has no meaning in a file\n"
    );
    let output = folder.run(&[
        "dudley",
        "from-numpy",
        "[('id', '<i4'), ('pos', '>f8', (3,))]",
        "--name",
        "p",
        "--shape",
        "10,2",
    ]);
    assert_eq!(stdout(&output), "p = {\n  id = <i4\n  pos = >f8[3] %1\n}[10, 2]\n");
    let mut npy = program::npy_header("<f4", &[2, 3]);
    npy.extend([0; 24]);
    folder.write("rho.npy", npy);
    let output = folder.run(&["dudley", "from-numpy", "rho.npy"]);
    assert_eq!(stdout(&output), "rho = <f4[2, 3] @128\n");
    folder.write("rho.dud", stdout(&output));
    let resolve = ["dudley", "resolve", "rho.dud", "--stream", "rho.npy"];
    assert_eq!(status(&folder.run(&resolve)), 0);
    assert_eq!(status(&folder.run(&["dudley", "from-numpy", "no dtype"])), 2);
    assert_eq!(status(&folder.run(&["dudley", "from-c", "p.h", "--json"])), 2);
    assert_eq!(status(&folder.run(&["dudley", "from-numpy", "p.h"])), 1);
}

#[test]
fn every_case_of_the_corpus_resolves_through_the_program_as_well() {
    let Some(corpus) = testdata::corpus() else { return };
    let text = std::fs::read_to_string(corpus.join("dudley/cases.json")).unwrap();
    let cases: Value = serde_json::from_str(&text).unwrap();
    let folder = Folder::new();
    let mut seen = 0;
    for case in cases["cases"].as_array().unwrap() {
        let (Some(layout), Some(rows)) = (case["layout"].as_str(), case["expect"].as_array())
        else {
            continue;
        };
        if !case["stream"].is_null() {
            continue;
        }
        folder.write("case.dud", layout);
        let mut arguments: Vec<String> =
            ["dudley", "resolve", "case.dud", "--order", "<", "--json"].map(str::to_owned).into();
        if case["native"] == true {
            arguments.push("--native".to_owned());
        }
        for (name, value) in case["params"].as_object().into_iter().flatten() {
            arguments.extend(["--param".to_owned(), format!("{name}={value}")]);
        }
        let output = folder.run(&arguments);
        assert_eq!(json_of(&output).as_array(), Some(rows), "{}", case["name"]);
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

/// The native file (a) of the specification, with its layout at the end.
fn native_file() -> Vec<u8> {
    let mut bytes = b"\x8d<BD\r\n\x1a\n\x30\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0".to_vec();
    for value in [1.0_f64, 2.0, -0.5] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(b"N : i2  x = f8[N]  ## (cm) demo\n");
    bytes
}

#[test]
fn get_prints_and_extracts_arrays() {
    let folder = Folder::new();
    folder.write("run.bdud", native_file());
    for program in [&["dudley", "get"][..], &["get"]] {
        let run = |more: &[&str]| folder.done(&[program, &["run.bdud"], more].concat());
        assert_eq!(stdout(&run(&["/x"])), "1.0 2.0 -0.5\n");
        assert_eq!(stdout(&run(&["/x", "--slice", "::2"])), "1.0 -0.5\n");
        assert_eq!(stdout(&run(&["/N"])), "3\n");
        let json = json_of(&run(&["/x", "--json"]));
        assert_eq!(json, json!({"dtype": "<f8", "shape": [3], "values": [1.0, 2.0, -0.5]}));
        run(&["/x", "-o", "x.npy", "--force"]);
        let npy = [npy_header("<f8", &[3]), native_file()[24..48].to_vec()].concat();
        assert_eq!(folder.read("x.npy"), npy);
    }
    let again = folder.run(&["dudley", "get", "run.bdud", "/x", "-o", "x.npy"]);
    assert_eq!(status(&again), 2);
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
}

#[test]
fn get_reads_any_file_that_a_layout_describes() {
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
fn get_says_what_is_no_array() {
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
fn dump_prints_a_line_of_json_for_each_row() {
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
fn dump_prints_what_can_be_read_before_the_error() {
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
    assert!(message.contains("`/b` is at bytes 1 to 10, but the file ends at 2"), "{message}");
    assert!(message.contains("error[E043]"), "{message}");
}

#[test]
fn extract_layout_returns_the_very_text() {
    let folder = Folder::new();
    folder.write("run.bdud", native_file());
    let output = folder.done(&["dudley", "extract-layout", "run.bdud"]);
    assert_eq!(stdout(&output), "N : i2  x = f8[N]  ## (cm) demo\n");
    folder.done(&["dudley", "extract-layout", "run.bdud", "-o", "run.dud"]);
    assert_eq!(folder.read("run.dud"), &native_file()[48..]);
    assert_eq!(status(&folder.run(&["dudley", "extract-layout", "run.bdud", "-o", "run.dud"])), 2);
    folder.done(&["dudley", "extract-layout", "run.bdud", "-o", "run.dud", "--force"]);
    let mut without = native_file();
    without[8] = 0;
    folder.write("run.bd", &without);
    let output = folder.run(&["dudley", "extract-layout", "run.bd"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("in another file"), "{}", stderr(&output));
}

#[test]
fn explain_says_what_a_byte_belongs_to() {
    let folder = Folder::new();
    folder.write("run.bdud", native_file());
    let explain = |address: &str| {
        let output = folder.run(&["dudley", "explain", "run.bdud", address]);
        (status(&output), stdout(&output))
    };
    for (address, expected) in [
        ("0", "0x0: byte 0 of the signature\n"),
        ("9", "0x9: byte 1 of the address of the layout\n"),
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

/// A `.npy` file of little-endian numbers.
fn npy(datatype: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    [npy_header(datatype, shape), data.to_vec()].concat()
}

#[test]
fn new_writes_the_native_file_of_the_specification() {
    let folder = Folder::new();
    folder.write("run.dud", "N : i2  x = f8[N]  ## (cm) demo\n");
    folder.write("x.npy", npy("<f8", &[3], &native_file()[24..48]));
    let new = |more: &[&str]| {
        let given = ["dudley", "new", "run.bdud", "--layout", "run.dud", "--param", "N=3"];
        folder.run(&[&given, more].concat())
    };
    let output = new(&["--set", "/x=x.npy", "--order", "<"]);
    assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
    assert_eq!(stdout(&output), "run.bdud: 80 bytes\n");
    assert_eq!(folder.read("run.bdud"), native_file());

    let again = new(&[]);
    assert_eq!(status(&again), 2);
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    let output = new(&["--force", "--apart", "--order", ">"]);
    assert_eq!(status(&output), 0);
    assert_eq!(stderr(&output), "scibin: run.bdud: no data for /x: filled with zeros\n");
    let mut expected = b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\0\0\x03".to_vec();
    expected.resize(48, 0);
    assert_eq!(folder.read("run.bdud"), expected);
    let given =
        ["dudley", "new", "-", "--layout", "run.dud", "--param", "N=3", "--apart", "--json"];
    let output = folder.done(&[&given[..], &["--order", ">"]].concat());
    assert_eq!(output.stdout, expected, "nothing but the file");
    assert!(stderr(&output).contains("standard output: no data for /x"), "{}", stderr(&output));
    let output = new(&["--force", "--strict"]);
    assert_eq!((status(&output), folder.read("run.bdud")), (2, expected));
    assert!(stderr(&output).contains("no data for /x"), "{}", stderr(&output));
}

#[test]
fn new_takes_structured_arrays_and_members() {
    let folder = Folder::new();
    folder.write("p.dud", "p = { id = i4  pos = f4[2] }[2]  name = S1[2, 4]\n");
    let record = "[('pos', '<f4', (2,)), ('id', '<i8')]";
    let one = |id: i64, x: f32| {
        [&x.to_le_bytes()[..], &(2.0 * x).to_le_bytes(), &id.to_le_bytes()].concat()
    };
    folder.write("p.npy", npy(record, &[2], &[one(7, 0.5), one(8, 1.5)].concat()));
    folder.write("name.npy", npy("|S3", &[2], b"ab\0cde"));
    let set = ["--set", "/p=p.npy", "--set", "/name=name.npy"];
    folder.done(&[&["dudley", "new", "p.bdud", "--layout", "p.dud"], &set[..]].concat());
    let get = |path: &str| stdout(&folder.done(&["dudley", "get", "p.bdud", path]));
    assert_eq!((get("/p.id").as_str(), get("/p.pos").as_str()), ("7 8\n", "0.5 1.0\n1.5 3.0\n"));
    assert_eq!(get("/name"), "ab cde\n");

    folder.write("id.npy", npy("<i4", &[2], &[9, 0, 0, 0, 10, 0, 0, 0]));
    let output = folder.done(&["dudley", "put", "p.bdud", "/p.id", "id.npy"]);
    assert_eq!(stdout(&output), "p.bdud: 16 bytes at 16 replaced\n");
    assert_eq!((get("/p.id").as_str(), get("/p.pos").as_str()), ("9 10\n", "0.5 1.0\n1.5 3.0\n"));
    folder.write("id.npy", npy("<i4", &[1], &[9, 0, 0, 0]));
    let output = folder.run(&["dudley", "put", "p.bdud", "/p.id", "id.npy"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("the shape is [1], expected [2]"), "{}", stderr(&output));
}

#[test]
fn put_changes_any_file_that_a_layout_describes() {
    let folder = Folder::new();
    folder.write("a.dud", "x = >u2[2] @1");
    folder.write("a.bin", [1, 2, 3, 4, 5, 6]);
    folder.write("x.npy", npy("<u2", &[2], &[7, 0, 8, 0]));
    folder.done(&["dudley", "put", "a.bin", "/x", "x.npy", "--layout", "a.dud"]);
    assert_eq!(folder.read("a.bin"), [1, 0, 7, 0, 8, 6]);
    assert_eq!(folder.names(), ["a.bin", "a.dud", "x.npy"]);
}

#[test]
fn append_extends_a_native_file_in_both_ways() {
    let folder = Folder::new();
    folder.write("more.dud", "y = i4");
    folder.write("y.npy", npy("<i4", &[], &[7, 0, 0, 0]));
    for way in [&[][..], &["--in-place"]] {
        folder.write("run.bdud", native_file());
        let given = ["dudley", "append", "run.bdud", "--layout", "more.dud", "--set", "/y=y.npy"];
        folder.done(&[&given, way].concat());
        let get = |path: &str| stdout(&folder.done(&["dudley", "get", "run.bdud", path]));
        assert_eq!((get("/x").as_str(), get("/y").as_str()), ("1.0 2.0 -0.5\n", "7\n"));
        let layout = stdout(&folder.done(&["dudley", "extract-layout", "run.bdud"]));
        let line = if way.is_empty() { "y = i4 @80\n" } else { "y = i4\n" };
        assert_eq!(layout, format!("N : i2  x = f8[N]  ## (cm) demo\n{line}"));
        assert_eq!(folder.names(), ["more.dud", "run.bdud", "y.npy"]);
    }
    folder.write("at.dud", "a = u1[8]  b = u1 @17");
    folder.done(&["dudley", "new", "at.bdud", "--layout", "at.dud"]);
    let before = folder.read("at.bdud");
    let given = ["dudley", "append", "at.bdud", "--layout", "more.dud", "--in-place"];
    let output = folder.run(&given);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("because of `@` addresses"), "{}", stderr(&output));
    assert_eq!(folder.read("at.bdud"), before);
    let output = folder.done(&given[..5]);
    assert!(stderr(&output).contains("no data for /y"), "{}", stderr(&output));
}

#[test]
fn a_file_whose_change_was_interrupted_is_read_as_it_was() {
    use binio::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt};

    let folder = Folder::new();
    folder.write("run.bdud", native_file());
    folder.write("more.dud", "y = i4");
    let path = folder.path("run.bdud");
    {
        let lock = FileLock::acquire(&path).unwrap();
        let mut storage = FileStorage::open(&lock, ".dudley-journal").unwrap();
        let plan = ChangePlan::new(16..48).overwrite(48..80);
        let mut change = Change::begin(&mut storage, &plan).unwrap();
        change.write_all_at(&[0xff; 32], 48).unwrap();
        // As if the process were killed.
        std::mem::forget(change);
    }
    let commands: [&[&str]; 4] = [
        &["dudley", "get", "run.bdud", "/x"],
        &["dudley", "extract-layout", "run.bdud"],
        &["verify", "run.bdud"],
        &["info", "run.bdud"],
    ];
    for command in commands {
        folder.done(command);
    }
    folder.done(&["dudley", "append", "run.bdud", "--layout", "more.dud"]);
    assert_eq!(stdout(&folder.done(&["dudley", "get", "run.bdud", "/y"])), "0\n");
    assert_eq!(folder.names(), ["more.dud", "run.bdud"]);
}

#[test]
fn unknown_parameters_and_paths_are_refused_and_leave_the_files() {
    let folder = Folder::new();
    folder.write("run.bdud", native_file());
    folder.write("more.dud", "y = i4");
    folder.write("y.npy", npy("<i4", &[], &[7, 0, 0, 0]));
    for (more, message) in [
        (["--param", "M=3"], "no stored parameter named `M`"),
        (["--set", "/z=y.npy"], "/z"),
        (["--set", "y.npy"], "expected PATH=FILE.npy"),
    ] {
        let append = ["dudley", "append", "run.bdud", "--layout", "more.dud"];
        let output = folder.run(&[&append[..], &more].concat());
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        let new = ["dudley", "new", "new.bdud", "--layout", "more.dud"];
        let output = folder.run(&[&new[..], &more].concat());
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    assert_eq!(folder.read("run.bdud"), native_file());
    assert_eq!(folder.names(), ["more.dud", "run.bdud", "y.npy"]);
}
