//! Tests of resolving the addresses of all data in a layout.

use serde_json::{Value, json};

use super::folder;
use super::program::{Folder, json_of, status, stderr, stdout};

#[test]
fn resolve_prints_addresses_for_given_parameter_values() {
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
fn resolve_reads_parameter_values_from_a_stream() {
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
fn resolve_reports_a_parameter_without_a_value() {
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
fn a_value_for_a_parameter_that_is_not_stored_is_rejected() {
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
    // For `diff`, it is enough that one of the two layouts stores the parameter.
    let arguments =
        ["dudley", "diff", "run.dud", "other.dud", "--param", "N=1", "--param", "IMAX=1"];
    assert_eq!(status(&folder.run(&arguments)), 1);
    assert_eq!(status(&folder.run(&[&arguments[..], &["--param", "O=1"]].concat())), 2);
}

#[test]
fn a_stream_that_is_too_short_is_an_error_unless_reading_past_its_end_is_allowed() {
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
    assert!(stdout(&output).contains("/x"), "the addresses are still printed");
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
fn the_number_of_listed_members_is_limited() {
    let nested = |level| format!("t{level} {{ a = t{0}  b = t{0} }}\n", level - 1);
    let text = "t0 { a = i1  b = i1 }\n".to_owned() + &(1..40).map(nested).collect::<String>();
    let folder = Folder::new();
    folder.write("bomb.dud", text + "x = t39\n");
    let arguments = ["dudley", "resolve", "bomb.dud", "--members", "--max-members", "1000"];
    let output = folder.run(&arguments);
    assert_eq!(status(&output), 1);
    assert_eq!(stdout(&output).lines().count(), 1002);
    let message =
        "scibin: only the first 1000 members are listed; `--max-members` raises the limit\n";
    assert_eq!(stderr(&output), message);
    let json = json_of(&folder.run(&[&arguments[..], &["--json"]].concat()));
    assert_eq!(json.as_array().unwrap().len(), 1001);
    let output = folder.run(&arguments[..4]);
    assert_eq!(status(&output), 1);
    assert!(stdout(&output).len() < 40_000_000, "{}", stdout(&output).len());
}

#[test]
fn resolve_prints_the_expected_rows_for_the_corpus_cases_without_a_stream() {
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
