//! Tests of the hints that follow library errors. Each hint suggests a command or an option on a
//! separate line.

use crate::files;
use crate::program::{json_of, status, stderr, stdout};

/// Command lines for the folder of [`with_damage`], each with the beginning of the hint that must
/// follow the error.
const HINTS: &[(&str, &str)] = &[
    ("get sum.asdf /b", "`scibin asdf get --no-verify` "),
    ("get past_end.asdf /b", "`scibin asdf repair FILE -o OUT` "),
    ("verify past_end.asdf", "`scibin asdf repair FILE -o OUT` "),
    ("asdf get exploded.asdf /data --external deny", "with `--external any`, "),
    ("asdf get exploded.asdf /data --max-files 0", "with `--max-files N`, "),
    ("bloscpack unpack bad.blp -o out", "`scibin bloscpack recover FILE -o OUT` "),
    ("bloscpack unpack sum.blp -o out", "`scibin bloscpack unpack --ignore-metadata "),
    ("bloscpack meta get sum.blp", "`scibin bloscpack unpack --ignore-metadata "),
    ("verify bad.blp", "`scibin bloscpack recover FILE -o OUT` "),
    ("bloscpack append small.blp good.npy", "with `--grow`, `scibin bloscpack append` "),
    ("dudley get good.bare x", "with `--layout LAYOUT`, "),
    ("flux extract existing.json", "with `--overwrite`, `scibin flux extract` "),
    ("flux extract outside.json", "`scibin flux lint FILE` "),
    ("flux extract good.json --max-size 1", "with `--max-size SIZE`, "),
    ("flux extract blobs.json", "`--store STORE` "),
];

/// Like [`files`], but the folder contains more files, some of which are damaged.
fn with_damage() -> crate::program::Folder {
    let folder = files();
    for (golden, name) in [
        ("checksum_mismatch", "sum"),
        ("block_past_end", "past_end"),
        ("exploded", "exploded"),
        ("exploded0000", "exploded0000"),
    ] {
        folder.copy(&testdata::path(&format!("asdf/{golden}.asdf")), &format!("{name}.asdf"));
    }
    folder.done(&["bloscpack", "pack", "good.h", "-o", "small.blp", "--max-app", "0", "-z", "64B"]);
    folder.done(&["bloscpack", "pack", "good.npy", "-o", "sum.blp"]);
    let mut packed = folder.read("sum.blp");
    let key = packed.windows(5).position(|bytes| bytes == b"dtype").unwrap();
    packed[key] = b'D';
    folder.write("sum.blp", packed);
    let entry = |path: &str, content: &str| {
        format!("[{{\"path\":{path:?},\"mode\":33188,\"size\":1,{content}}}]")
    };
    folder.write("existing.json", entry("good.h", r#""encoding":"utf-8","data":"a""#));
    folder.write("outside.json", entry("../x", r#""encoding":"utf-8","data":"a""#));
    let blob =
        r#""encoding":"blobvec","data":[[0,1,"sha1-2e6f9b0d5885b6010f9167787445617f553a735f"]]"#;
    folder.write("blobs.json", entry("f", blob));
    folder
}

#[test]
fn an_error_is_followed_by_a_hint_if_a_command_or_option_helps() {
    let folder = with_damage();
    for (command, hint) in HINTS {
        let arguments: Vec<_> = command.split(' ').collect();
        let output = folder.run(&arguments);
        let errors = stderr(&output);
        assert_ne!(status(&output), 0, "{command}: {}", stdout(&output));
        assert!(errors.contains(&format!("hint: {hint}")), "{command}: {errors}");
        assert_eq!(errors.matches("hint: ").count(), 1, "{command}: {errors}");
        let quiet = folder.run(&[&["--quiet"], &arguments[..]].concat());
        assert!(!stderr(&quiet).contains("hint: "), "{command}: {}", stderr(&quiet));
    }
}

#[test]
fn an_error_without_a_remedy_has_no_hint() {
    let folder = with_damage();
    folder.write("header.blp", &folder.read("good.blp")[..20]);
    for command in [
        "get sum.asdf /missing",
        "info missing.asdf",
        "bloscpack meta get good.blp",
        "info header.blp",
        "bloscpack recover header.blp -o out",
    ] {
        let output = folder.run(&command.split(' ').collect::<Vec<_>>());
        assert_ne!(status(&output), 0, "{command}");
        assert!(!stderr(&output).contains("hint: "), "{command}: {}", stderr(&output));
    }
}

#[test]
fn json_diagnostics_contain_the_hint_as_help() {
    let folder = with_damage();
    let report = json_of(&folder.run(&["--json", "info", "bad.blp"]));
    let help = report["diagnostics"][0]["help"][0].as_str();
    assert!(help.is_some_and(|help| help.contains("bloscpack recover")), "{report}");
}

#[test]
fn following_the_hints_resolves_the_errors() {
    let folder = with_damage();
    folder.done(&["asdf", "get", "sum.asdf", "/b", "--no-verify"]);
    folder.run(&["asdf", "repair", "past_end.asdf", "-o", "saved.asdf"]);
    folder.done(&["verify", "saved.asdf"]);
    folder.run(&["bloscpack", "recover", "bad.blp", "-o", "saved.blp"]);
    folder.done(&["verify", "saved.blp"]);
    folder.done(&["bloscpack", "unpack", "--ignore-metadata", "sum.blp", "-o", "data"]);
    assert_eq!(folder.read("data"), [1, 0, 2, 0]);
    folder.done(&["asdf", "get", "exploded.asdf", "/data", "--external", "any"]);
    folder.done(&["bloscpack", "append", "small.blp", "good.npy", "--grow"]);
    folder.done(&["dudley", "get", "good.bare", "x", "--layout", "good.dud"]);
    folder.done(&["flux", "extract", "existing.json", "--skip-existing"]);
    folder.done(&["flux", "extract", "existing.json", "--overwrite"]);
    folder.done(&["flux", "extract", "good.json", "--max-size", "2"]);
}
