//! `scibin dudley` as a user runs it: output, status, messages.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use program::{Folder, json_of, program, status, stderr, stdout};

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
    let output = folder.run(&["info", "a.bd"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("scibin dudley resolve"), "{}", stderr(&output));
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
        &["diff", "run.dud", "run.bd"],
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
    assert_eq!(stdout(&output), "+ /new\nfiles of the first layout can be read by the second\n");
    folder.write("moved.dud", LAYOUT.replace("IMAX+", "IMAX"));
    let output = folder.run(&["dudley", "diff", "run.dud", "moved.dud", "--param", "IMAX=4"]);
    assert_eq!(
        stdout(&output),
        "~ /grid/x: shape [5] -> [4]  (for IMAX=4)\n\
         ~ /grid/cells: address 48 -> 40  (for IMAX=4)\n\
         ~ /grid/cells.a: address 48 -> 40  (for IMAX=4)\n\
         ~ /grid/cells.b: address 52 -> 44  (for IMAX=4)\n\
         ~ /list[0]: address 96 -> 88  (for IMAX=4)\n\
         files of the first layout cannot be read by the second\n"
    );
    let output = folder.run(&["dudley", "diff", "run.dud", "run.dud", "--json"]);
    assert_eq!((status(&output), json_of(&output)), (0, json!({"changes": [], "readable": true})));
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
