//! Tests that all commands and formats print `--json` reports of the same form.

use serde_json::{Value, json};

use crate::files;
use crate::program::{Folder, json_of, status, stderr, stdout};

/// Runs a command with `--json`, and returns the JSON value on each line.
fn reports(folder: &Folder, command: &str) -> Vec<Value> {
    let arguments: Vec<&str> = command.split(' ').chain(["--json"]).collect();
    let output = folder.run(&arguments);
    let line = |line: &str| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{command}: {error}: {line}"))
    };
    stdout(&output).lines().map(line).collect()
}

#[test]
fn json_reports_have_the_keys_file_and_format_and_ok_and_diagnostics() {
    let folder = files();
    for (commands, format, extension) in [
        (&["info", "verify", "asdf info", "asdf verify"][..], "asdf", "asdf"),
        (&["info", "verify", "bloscpack info", "bloscpack verify"], "bloscpack", "blp"),
        (&["info", "verify", "flux info", "flux verify", "flux lint"], "flux", "json"),
        (&["info", "verify", "dudley check", "dudley fmt --check"], "dudley", "dud"),
        (&["info", "verify"], "dudley", "native"),
        (&["info", "verify"], "dudley", "bare"),
    ] {
        for command in commands {
            for is_good in [true, false] {
                let file = format!("{}.{extension}", if is_good { "good" } else { "bad" });
                let reports = reports(&folder, &format!("{command} {file}"));
                let [report] = &reports[..] else { panic!("{command} {file}: {reports:?}") };
                assert_eq!(report["file"], json!(file), "{command} {file}: {report}");
                assert_eq!(report["format"], json!(format), "{command} {file}: {report}");
                assert_eq!(report["ok"], json!(is_good), "{command} {file}: {report}");
                let diagnostics = report["diagnostics"].as_array().expect("a list");
                let is_error = |one: &Value| one["severity"] == "error" && one["code"].is_string();
                assert_eq!(!diagnostics.iter().any(is_error), is_good, "{command}: {report}");
            }
        }
    }
}

#[test]
fn json_output_contains_a_report_on_each_unreadable_file() {
    let folder = files();
    for command in ["info", "verify"] {
        let reports = reports(&folder, &format!("{command} good.asdf missing good.blp"));
        let of = |name: &str| reports.iter().map(|report| report[name].clone()).collect::<Value>();
        assert_eq!(of("file"), json!(["good.asdf", "missing", "good.blp"]));
        assert_eq!(of("format"), json!(["asdf", null, "bloscpack"]));
        assert_eq!(of("ok"), json!([true, false, true]));
        let diagnostic = &reports[1]["diagnostics"][0];
        assert_eq!(
            (&diagnostic["code"], &diagnostic["severity"]),
            (&json!("Failed"), &json!("error"))
        );
    }
    for command in ["flux info", "flux verify", "flux lint", "dudley check", "dudley fmt"] {
        let reports = reports(&folder, &format!("{command} missing"));
        assert_eq!(reports[0]["file"], "missing", "{command}");
        assert_eq!(reports[0]["ok"], false, "{command}");
    }
}

#[test]
fn a_directory_is_reported_as_a_directory() {
    let folder = files();
    for command in ["info", "verify", "get"] {
        let output = folder.run(&[command, "."]);
        let expected = (2, "scibin: .: is a directory\n");
        assert_eq!((status(&output), &*stderr(&output)), expected, "{command}");
    }
}

#[test]
fn fmt_prints_json_reports_on_layouts() {
    let folder = files();
    folder.write("untidy.dud", "x=f8[3]\n");
    let of = |command: &str| reports(&folder, command)[0].clone();
    assert_eq!(of("dudley fmt --check untidy.dud")["ok"], false);
    assert_eq!(of("dudley fmt untidy.dud")["ok"], true);
    assert_eq!(of("dudley fmt --check untidy.dud")["ok"], true);
    let output = folder.feed(&["dudley", "fmt", "--json", "-"], b"x=f8[3]\n");
    assert_eq!(json_of(&output)["text"], "x = f8[3]\n");
}

/// Diagnostics are printed as soon as they are found, so a later failure must be appended to the
/// list.
#[test]
fn lint_adds_a_late_failure_to_the_printed_diagnostics() {
    let folder = Folder::new();
    let members = r#","x":0"#.repeat(9000);
    let entry = format!(r#"{{"path":"d","mode":16877{members}}}"#);
    // Exceed the limit of 2^20 diagnostics, so that linting fails.
    folder.write("a.json", format!("[{entry}{}]", format!(",{entry}").repeat(120)));
    let reports = reports(&folder, "flux lint a.json");
    let [report] = &reports[..] else { panic!("{} lines", reports.len()) };
    let diagnostics = report["diagnostics"].as_array().unwrap();
    assert_eq!(diagnostics.last().unwrap()["code"], "Failed");
    assert_eq!((&report["file"], &report["ok"]), (&json!("a.json"), &json!(false)));
    let last = &diagnostics[diagnostics.len() - 2];
    assert_eq!(last["severity"], "error", "{last}");
}
