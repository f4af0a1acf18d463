//! Tests of the exit statuses that the help states: 1 if the data is bad, and 2 if a file cannot be
//! opened or an option is invalid.

use crate::files;
use crate::program::{Folder, status, stderr, stdout};

/// The commands that read a file, by the extension of the file. `%` is replaced with the file name.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "asdf",
        &[
            "info %",
            "verify %",
            "get % /a",
            "asdf info %",
            "asdf blocks %",
            "asdf tree %",
            "asdf get % /a",
            "asdf verify %",
            "asdf search % --key x",
        ],
    ),
    (
        "blp",
        &[
            "info %",
            "verify %",
            "get %",
            "bloscpack unpack % -o out",
            "bloscpack append % good.asdf",
            "bloscpack info %",
            "bloscpack verify %",
            "bloscpack get %",
            "bloscpack cat %",
            "bloscpack meta get %",
            "bloscpack meta set % /a 1",
            "bloscpack meta rm % /a",
            "bloscpack recover % -o out",
            "bloscpack convert % -o out",
        ],
    ),
    (
        "dud",
        &[
            "info %",
            "verify %",
            "dudley check %",
            "dudley fmt %",
            "dudley fmt --check %",
            "dudley tree %",
            "dudley resolve %",
        ],
    ),
    (
        "json",
        &[
            "info %",
            "verify %",
            "get % /x",
            "flux list %",
            "flux extract % -C .",
            "flux cat % f",
            "flux verify %",
            "flux lint %",
            "flux lint --fix % -o out",
            "flux convert %",
            "flux append % good.asdf",
            "flux delete % f",
            "flux pack %",
            "flux externalize % --store blobs",
            "flux info %",
            "flux gc --store store %",
            "flux put %",
        ],
    ),
    ("h", &["dudley from-c %"]),
    ("npy", &["dudley from-numpy %"]),
];

/// The commands that compare files. Their status is 1 if the files differ.
const COMPARISONS: &[(&str, &[&str])] = &[
    ("asdf", &["asdf diff % good.asdf", "asdf diff good.asdf %"]),
    ("dud", &["dudley diff % good.dud", "dudley diff good.dud %"]),
    ("json", &["flux diff % good.json", "flux diff good.json %"]),
];

/// Commands of the original program `blpk`. Their status is 1 for any failure and 2 for an invalid
/// option.
const OF_THE_ORIGINAL: &[&str] =
    &["blpk decompress % out", "blpk append % good.asdf", "blpk info %", "blpk -f d -e % out"];

/// Commands that accept any file.
const OTHERS: &[&str] =
    &["bloscpack pack % -o out", "bloscpack estimate %", "flux rescue %", "flux create % -o out"];

fn run(folder: &Folder, command: &str, file: &str) -> (i32, String) {
    let command = command.replace('%', file);
    let arguments: Vec<&str> = command.split(' ').collect();
    let output = folder.run(&arguments);
    (status(&output), format!("scibin {command}: {}{}", stdout(&output), stderr(&output)))
}

#[test]
fn bad_data_causes_status_1() {
    let mut others = Vec::new();
    for (extension, commands) in COMMANDS {
        for command in *commands {
            let folder = files();
            std::fs::create_dir(folder.path("store")).unwrap();
            let (status, said) = run(&folder, command, &format!("bad.{extension}"));
            others.extend((status != 1).then(|| format!("status {status}: {said}")));
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// Returns the option that sets the format of files with this extension.
fn format_option(extension: &str) -> &'static str {
    match extension {
        "asdf" => "--format asdf",
        "blp" => "--format bloscpack",
        "dud" => "--format dudley",
        _ => "--format flux",
    }
}

#[test]
fn a_file_in_another_format_causes_status_1_but_an_unknown_format_causes_status_2() {
    for (extension, commands) in COMMANDS {
        for command in *commands {
            let folder = files();
            std::fs::create_dir(folder.path("store")).unwrap();
            folder.write("other", b"\x89PNG\r\n\x1a\n");
            let is_detecting =
                ["info ", "verify ", "get "].iter().any(|name| command.starts_with(name));
            if !is_detecting {
                let (status, said) = run(&folder, command, "other");
                assert_eq!(status, 1, "{said}");
                continue;
            }
            let given = format!("{command} {}", format_option(extension));
            let (status, said) = run(&folder, &given, "other");
            assert_eq!(status, 1, "{said}");
            let (status, said) = run(&folder, command, "other");
            assert_eq!(status, 2, "{said}");
        }
    }
}

#[test]
fn a_comparison_with_a_damaged_file_causes_status_2() {
    for (extension, commands) in COMPARISONS {
        for command in *commands {
            let (status, said) = run(&files(), command, &format!("bad.{extension}"));
            assert_eq!(status, 2, "{said}");
            let (status, said) = run(&files(), command, &format!("good.{extension}"));
            assert_eq!(status, 0, "{said}");
        }
    }
}

#[test]
fn a_missing_file_causes_status_2() {
    let all = COMMANDS.iter().chain(COMPARISONS).flat_map(|(_, commands)| *commands).chain(OTHERS);
    for command in all {
        let folder = files();
        std::fs::create_dir(folder.path("store")).unwrap();
        let (status, said) = run(&folder, command, "missing");
        assert_eq!(status, 2, "{said}");
        assert!(said.contains("missing: "), "{said}");
    }
}

#[test]
fn an_unknown_option_causes_status_2() {
    let folder = files();
    for (extension, commands) in COMMANDS.iter().chain(COMPARISONS) {
        for command in *commands {
            let file = format!("good.{extension}");
            let (status, said) = run(&folder, &format!("{command} --no-such-option"), &file);
            assert_eq!(status, 2, "{said}");
            assert!(said.contains("--no-such-option"), "{said}");
        }
    }
}

#[test]
fn blpk_has_the_exit_statuses_of_the_original_program() {
    for command in OF_THE_ORIGINAL {
        for file in ["bad.blp", "missing.blp"] {
            let (status, said) = run(&files(), command, file);
            assert_eq!(status, 1, "{said}");
        }
        let (status, said) = run(&files(), &format!("{command} --no-such-option"), "good.blp");
        assert_eq!(status, 2, "{said}");
    }
    for (command, expected) in
        [("blpk compress missing", 1), ("blpk compress good.dud", 0), ("blpk compress", 2)]
    {
        let (status, said) = run(&files(), command, "");
        assert_eq!(status, expected, "{said}");
    }
}

#[test]
fn commands_that_print_another_format_reject_the_json_option() {
    let folder = files();
    for command in ["bloscpack cat good.blp", "flux cat good.json f", "completions bash"] {
        let (status, said) = run(&folder, &format!("{command} --json"), "");
        assert_eq!(status, 2, "{said}");
        assert!(said.contains("scibin: --json: "), "{said}");
    }
}

#[test]
fn commands_other_than_imports_report_that_a_file_is_compressed() {
    for (extension, commands) in COMMANDS.iter().chain(COMPARISONS) {
        // Skip C source and `.npy` files, which are only imported.
        if matches!(*extension, "h" | "npy") {
            continue;
        }
        for command in *commands {
            let folder = files();
            std::fs::create_dir(folder.path("store")).unwrap();
            folder.write("packed", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0");
            let (status, said) = run(&folder, command, "packed");
            assert!(status > 0 && said.contains("gzip file"), "status {status}: {said}");
        }
    }
}
