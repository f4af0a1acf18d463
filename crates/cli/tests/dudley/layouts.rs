//! Tests of checking, formatting, showing and comparing layouts, and of creating layouts from C
//! source and numpy datatypes.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::json;

use super::program::{Folder, json_of, npy_header, program, status, stderr, stdout};
use super::{LAYOUT, folder};

#[test]
fn check_reports_success_and_shows_errors() {
    let folder = folder();
    let output = folder.run(&["dudley", "check", "run.dud"]);
    assert_eq!(
        (status(&output), stdout(&output).as_str()),
        (0, "run.dud: 0 errors, 0 warnings, 0 notes\n")
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
fn notes_can_be_silenced_but_errors_cannot() {
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
fn check_reports_problems_with_constant_addresses() {
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
fn check_exits_with_status_1_for_a_binary_file_and_2_for_a_missing_file() {
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
fn fmt_prints_json_on_request() {
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
fn fmt_formats_standard_input_to_standard_output() {
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
fn tree_shows_the_documentation_of_the_summary_and_repeated_elements() {
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
fn a_closed_pipe_is_not_a_failure_of_dudley_commands() {
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
fn unreadable_files_and_invalid_arguments_cause_status_2() {
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
fn fmt_converts_layouts_in_other_encodings_to_utf8() {
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
fn dudley_commands_show_syntax_errors_with_file_name_and_line_and_column() {
    let folder = Folder::new();
    folder.write("a.dud", "x = f8[\n");
    for command in ["check", "fmt", "tree", "resolve"] {
        let output = folder.run(&["dudley", command, "a.dud"]);
        assert_eq!(status(&output), 1, "{command}");
        assert!(stderr(&output).contains("\n --> a.dud:2:1\n"), "{}", stderr(&output));
    }
}

#[test]
fn diff_reports_changes_and_whether_old_files_remain_readable() {
    let folder = folder();
    folder.write("more.dud", LAYOUT.to_owned() + "new = i8\n");
    let output = folder.run(&["dudley", "diff", "run.dud", "more.dud"]);
    assert_eq!(status(&output), 1);
    assert_eq!(
        stdout(&output),
        "--- run.dud\n+++ more.dud\n+ /new\n\
         files written with the first layout (-) can be read with the second (+)\n"
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
         files written with the first layout (-) cannot be read with the second (+)\n"
    );
    let output = folder.run(&["dudley", "diff", "run.dud", "run.dud", "--json"]);
    assert_eq!((status(&output), json_of(&output)), (0, json!({"changes": [], "readable": true})));
}

#[test]
fn the_parameter_values_in_a_diff_list_a_summary_parameter_only_once() {
    let folder = Folder::new();
    folder.write("a.dud", "{ N : i8 }\nx = u1[N]\n");
    folder.write("b.dud", "{ N : i8 }\nx = u1[N+]\n");
    let output = stdout(&folder.run(&["dudley", "diff", "a.dud", "b.dud"]));
    assert!(output.contains("~ /x: shape [1] -> [2]  (for /N=1)\n"), "{output}");
}

#[test]
fn a_layout_with_errors_causes_status_1() {
    let folder = folder();
    folder.write("bad.dud", "x = f9\n");
    for arguments in [
        &["verify", "bad.dud"][..],
        &["info", "bad.dud"],
        &["dudley", "check", "bad.dud"],
        &["dudley", "fmt", "--check", "bad.dud", "run.dud"],
        &["dudley", "tree", "bad.dud"],
        &["dudley", "resolve", "bad.dud"],
    ] {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 1, "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn the_number_of_printed_differences_is_limited() {
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
    // The output consists of two lines with the names of the layouts, 1000 differences, a note
    // about items that were not compared, and a verdict.
    assert_eq!(stdout(&output).lines().count(), 2 + 1000 + 2);
    let message = stderr(&output);
    assert!(message.starts_with("scibin: only the first 1000 of "), "{message}");
    let end = " differences are printed; `--max-changes` raises the limit\n";
    assert!(message.ends_with(end), "{message}");
    let json = json_of(&folder.run(&[&arguments[..], &["--json", "--max-changes", "7"]].concat()));
    assert_eq!(json["changes"].as_array().unwrap().len(), 7);
    assert!(json["more"].as_u64().unwrap() > 1000, "{}", json["more"]);
    let output = folder.run(&[&arguments[..], &["--max-changes", "1000000"]].concat());
    assert!(stdout(&output).lines().count() > 2000 && stderr(&output).is_empty());
}

#[test]
fn layouts_are_created_from_c_structs_and_numpy_datatypes() {
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
        "scibin: bad.h: line 2 of the C text: pointers are not supported, because they have no meaning in a file\n"
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
    let mut npy = npy_header("<f4", &[2, 3]);
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
