//! Tests of the commands that edit ASDF files.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod program;

use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use serde_json::json;

use program::{Folder, json_of, npy_header, status, stderr, stdout};

const TREE: &str = "# about the run\nmeta:\n  gain: 2.5 # measured\n  name: x\nlist: [1, 2]\n";

fn npy(elements: u16) -> Vec<u8> {
    let mut npy = npy_header("<u2", &[u64::from(elements)]);
    npy.extend((0..elements).flat_map(u16::to_le_bytes));
    npy
}

/// Returns a folder with `a.asdf`: a tree with comments, and an array in a block.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.npy", npy(4));
    folder.write("y.npy", npy(3000));
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
    folder.write("a.asdf", format!("{head}{TREE}...\n"));
    folder.done(&["asdf", "import", "a.asdf", "/y", "y.npy", "-q"]);
    folder
}

fn tree(folder: &Folder) -> String {
    let bytes = folder.read("a.asdf");
    let text = String::from_utf8_lossy(&bytes);
    let start = text.find("--- !core/asdf-1.1.0\n").expect("a tree") + 21;
    let end = text.find("\n...").expect("an end") + 1;
    text[start..end].to_owned()
}

fn verify_passes(folder: &Folder) {
    assert_eq!(status(&folder.run(&["verify", "a.asdf"])), 0);
    assert_eq!(folder.done(&["get", "a.asdf", "/y", "--as", "npy"]).stdout, npy(3000));
}

#[test]
fn set_and_rm_and_mv_change_only_their_node_and_keep_comments() {
    let folder = folder();
    let array = tree(&folder).replace(TREE, "");
    folder.done(&["asdf", "set", "a.asdf", "/meta/gain", "3.5"]);
    let text = TREE.replace("2.5", "3.5");
    assert_eq!(tree(&folder), format!("{text}{array}"));
    verify_passes(&folder);
    folder.done(&["asdf", "set", "a.asdf", "/list/-", "[3, {a: b}]"]);
    folder.done(&["asdf", "set", "a.asdf", "/new/key", "'yes'", "--parents"]);
    folder.done(&["asdf", "mv", "a.asdf", "/meta/name", "title"]);
    folder.done(&["asdf", "rm", "a.asdf", "/list/0"]);
    let text = text.replace("[1, 2]", "[2, [3, {a: b}]]").replace("name", "title");
    assert_eq!(tree(&folder), format!("{text}{array}new: {{key: 'yes'}}\n"));
    verify_passes(&folder);
}

#[test]
fn a_pointer_with_missing_parents_is_an_error_unless_the_parents_option_is_given() {
    let folder = folder();
    let before = folder.read("a.asdf");
    for pointer in ["/mata/gian", "/mata/gain/unit", "/mata/list/-"] {
        let output = folder.run(&["asdf", "set", "a.asdf", pointer, "3"]);
        assert_eq!(status(&output), 2, "{pointer}");
        let message = stderr(&output);
        assert!(message.contains("at the root: no key `mata`, did you mean `meta`?"), "{message}");
        assert!(message.contains("; --parents creates"), "{message}");
        assert_eq!(folder.read("a.asdf"), before);
    }
    folder.done(&["asdf", "set", "a.asdf", "/site/height/value", "3", "-p"]);
    assert!(tree(&folder).ends_with("site:\n  height: {value: 3}\n"), "{}", tree(&folder));
}

#[test]
fn setting_an_item_of_a_missing_list_creates_the_list() {
    let folder = folder();
    folder.done(&["asdf", "set", "a.asdf", "/meta/filters/-", "F110W"]);
    folder.done(&["asdf", "set", "a.asdf", "/meta/filters/-", "F160W"]);
    folder.done(&["asdf", "set", "a.asdf", "/meta/modes/0", "{a: 1}"]);
    folder.done(&["asdf", "set", "a.asdf", "/history/entries/-", "{description: x}", "--parents"]);
    let read = json_of(&folder.done(&["asdf", "tree", "a.asdf", "--json"]));
    assert_eq!(read["meta"]["filters"], json!(["F110W", "F160W"]));
    assert_eq!(read["meta"]["modes"], json!([{"a": 1}]));
    assert_eq!(read["history"]["entries"], json!([{"description": "x"}]));
    let output = folder.run(&["asdf", "set", "a.asdf", "/meta/others/3", "x"]);
    assert_eq!(status(&output), 2);
    let message = stderr(&output);
    assert!(
        message.contains(
            "the first item of a new list cannot have the index `3`, expected `-` or `0`"
        ),
        "{message}"
    );
}

#[test]
fn mv_renames_a_key_only_within_its_mapping() {
    let folder = folder();
    folder.done(&["asdf", "mv", "a.asdf", "/meta/name", "/meta/full~1name"]);
    assert!(tree(&folder).contains("  full/name: x\n"), "{}", tree(&folder));
    let before = folder.read("a.asdf");
    let output = folder.run(&["asdf", "mv", "a.asdf", "/meta/gain", "/gain"]);
    assert_eq!(status(&output), 2);
    let message = stderr(&output);
    assert!(message.contains("within its own mapping, for example to /meta/gain"), "{message}");
    assert_eq!(folder.read("a.asdf"), before);
}

#[test]
fn values_that_begin_with_a_dash_are_not_parsed_as_options() {
    let folder = folder();
    for value in ["-2.5", "-.inf", "-1", "- 1", "-abc"] {
        folder.done(&["asdf", "set", "a.asdf", "/v", value, "-q"]);
        folder.done(&["asdf", "set", "-q", "a.asdf", "/w", value]);
    }
    folder.done(&["asdf", "set", "a.asdf", "/v", "-2.5", "-o", "b.asdf"]);
    assert_eq!(stdout(&folder.done(&["get", "b.asdf", "/v"])), "-2.5\n");
    assert_eq!(stdout(&folder.done(&["get", "a.asdf", "/v"])), "-abc\n");
    folder.done(&["asdf", "set", "a.asdf", "/nothing", "null"]);
    assert!(tree(&folder).ends_with("nothing: null\n"));
}

#[test]
fn import_adds_and_replaces_arrays() {
    let folder = folder();
    let blocks = |folder: &Folder| {
        json_of(&folder.done(&["asdf", "blocks", "a.asdf", "--json"])).as_array().unwrap().clone()
    };
    let command = ["asdf", "import", "a.asdf", "/image/x", "x.npy", "--compress", "zlib"];
    let output = folder.run(&command);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("at the root: no key `image`"), "{}", stderr(&output));
    folder.done(&[&command[..], &["--parents"]].concat());
    assert_eq!(blocks(&folder).len(), 2);
    assert_eq!(blocks(&folder)[1]["compression"], "zlib");
    assert_eq!(folder.done(&["get", "a.asdf", "/image/x", "--as", "npy"]).stdout, npy(4));
    verify_passes(&folder);
    folder.done(&["asdf", "import", "a.asdf", "/image/x", "y.npy"]);
    assert_eq!(blocks(&folder).len(), 2);
    assert_eq!(folder.done(&["get", "a.asdf", "/image/x", "--as", "npy"]).stdout, npy(3000));
    folder.done(&["asdf", "import", "a.asdf", "/small", "x.npy", "--inline"]);
    assert!(tree(&folder).contains("small: !core/ndarray-1.1.0\n  data: [0, 1, 2, 3]\n"));
    folder.done(&["asdf", "rm", "a.asdf", "/image"]);
    assert_eq!(blocks(&folder).len(), 1);
    verify_passes(&folder);
}

#[test]
fn editing_with_an_output_file_leaves_the_input_file_unchanged() {
    let folder = folder();
    let before = folder.read("a.asdf");
    folder.done(&["asdf", "set", "a.asdf", "/meta/gain", "3", "-o", "b.asdf"]);
    assert_eq!(stdout(&folder.done(&["get", "b.asdf", "/meta/gain"])), "3\n");
    let output = folder.done(&["asdf", "rm", "a.asdf", "/meta", "-o", "-"]);
    assert!(output.stdout.starts_with(b"#ASDF"));
    let output = folder.feed(&["asdf", "rm", "-", "/meta", "-o", "c.asdf"], &before);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(folder.read("a.asdf"), before);
    let output = folder.run(&["asdf", "set", "a.asdf", "/meta/gain", "4", "-o", "b.asdf"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    folder.done(&["asdf", "set", "a.asdf", "/meta/gain", "4", "-o", "b.asdf", "--force"]);
    let output = folder.run(&["asdf", "rm", "-", "/meta"]);
    assert!(stderr(&output).contains("-o OUT"), "{}", stderr(&output));
}

#[test]
fn a_dry_run_of_an_edit_changes_nothing_but_prints_the_usual_report() {
    let folder = folder();
    let before = folder.read("a.asdf");
    let long = "long word ".repeat(700);
    for command in [
        &["asdf", "set", "a.asdf", "/meta/gain", "3.5"][..],
        &["asdf", "set", "a.asdf", "/text", &long],
        &["asdf", "import", "a.asdf", "/x", "x.npy"],
        &["asdf", "rm", "a.asdf", "/y"],
        &["asdf", "mv", "a.asdf", "/y", "z"],
        &["asdf", "mv", "a.asdf", "/y", "z", "-o", "b.asdf"],
    ] {
        let mut dry = json_of(&folder.done(&[command, &["--dry-run", "--json"]].concat()));
        assert_eq!(folder.read("a.asdf"), before, "{command:?}");
        assert_eq!(dry["dry_run"], true);
        dry["dry_run"] = json!(false);
        let done = json_of(&folder.done(&[command, &["--json"]].concat()));
        assert_eq!(dry, done, "{command:?}");
        let written = done["output"].as_str().unwrap();
        assert_eq!(done["bytes"], folder.read(written).len(), "{command:?}");
        folder.write("a.asdf", &before);
    }
}

#[test]
fn editing_in_place_keeps_the_blocks_and_fails_if_the_tree_does_not_fit() {
    let folder = folder();
    folder.done(&["asdf", "convert", "a.asdf", "-o", "b.asdf", "--pad-tree", "16384"]);
    let before = folder.read("b.asdf");
    let long = "long word ".repeat(700);
    let report = ["asdf", "set", "b.asdf", "/text", &long, "--in-place", "--json"];
    let report = json_of(&folder.done(&report));
    assert_eq!(report["method"], "in_place");
    let after = folder.read("b.asdf");
    assert_eq!(after.len(), before.len());
    assert_eq!(after[20_000..], before[20_000..]);
    let output = folder.run(&["asdf", "set", "a.asdf", "/text", &long, "--in-place"]);
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("are available, including the padding"),
        "{}",
        stderr(&output)
    );
    let output = folder.done(&["asdf", "rm", "b.asdf", "/y", "--in-place"]);
    assert!(stderr(&output).contains("still occupy space: 0"), "{}", stderr(&output));
}

#[test]
fn a_read_only_file_is_changed_only_with_force() {
    let folder = folder();
    let path = folder.path("a.asdf");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let output = folder.run(&["asdf", "set", "a.asdf", "/meta/gain", "3"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("read-only; --force"), "{}", stderr(&output));
    folder.done(&["asdf", "set", "a.asdf", "/meta/gain", "3", "--force"]);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o444);
    assert_eq!(stdout(&folder.done(&["get", "a.asdf", "/meta/gain"])), "3\n");
}

#[test]
fn an_invalid_edit_fails_and_changes_nothing() {
    let folder = folder();
    let before = folder.read("a.asdf");
    for (command, want) in [
        (&["rm", "a.asdf", "/nothing"][..], "no key `nothing`"),
        (&["mv", "a.asdf", "/meta", "list"], "the new key `list` already exists"),
        (&["set", "a.asdf", "", "1"], "root"),
        (&["set", "a.asdf", "/x", "[1"], "the value: "),
        (&["import", "a.asdf", "/x", "a.asdf"], "a.asdf"),
        (&["set", "missing.asdf", "/x", "1"], "missing.asdf"),
    ] {
        let output = folder.run(&[&["asdf"], command].concat());
        assert_ne!(status(&output), 0, "{command:?}");
        assert!(stderr(&output).contains(want), "{command:?}: {}", stderr(&output));
        assert_eq!(folder.read("a.asdf"), before);
    }
}

#[test]
fn a_lock_that_is_not_released_is_reported_with_the_process_that_holds_it() {
    let folder = folder();
    // The command holds the lock until its editor exits.
    let mut holder = folder
        .command(&["asdf", "edit", "a.asdf"])
        .env("EDITOR", "touch started; sleep 14; true")
        .env_remove("VISUAL")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !folder.path("started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let start = std::time::Instant::now();
    let output = folder.run(&["asdf", "set", "a.asdf", "/meta/gain", "3"]);
    assert_eq!(status(&output), 2);
    assert!(start.elapsed().as_secs() >= 9, "{:?}", start.elapsed());
    let message = stderr(&output);
    let expected = format!("locked by process {}: another change to this file is", holder.id());
    assert!(message.contains(&expected), "{message}");
    assert!(holder.wait().unwrap().success());
    folder.done(&["asdf", "set", "a.asdf", "/meta/gain", "3"]);
}

/// Runs `edit` with a shell script as the editor, and answers the questions that `edit` asks.
fn edit(folder: &Folder, script: &str, answers: &str) -> Output {
    edit_with(folder, &[], script, answers)
}

fn edit_with(folder: &Folder, options: &[&str], script: &str, answers: &str) -> Output {
    folder.write("editor.sh", format!("#!/bin/sh\n{script}\n"));
    let path = folder.path("editor.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(folder.path("tmp")).unwrap();
    let mut child = folder
        .command(&[&["asdf", "edit", "a.asdf"], options].concat())
        .env("EDITOR", path)
        .env_remove("VISUAL")
        .env("TMPDIR", folder.path("tmp"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, answers.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn texts(folder: &Folder) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder.path("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn edit_opens_the_tree_in_an_editor_and_writes_the_changes() {
    let folder = folder();
    let before = folder.read("a.asdf");
    let output = edit(&folder, "true", "");
    assert_eq!((status(&output), stdout(&output)), (0, "a.asdf: unchanged\n".to_owned()));
    assert_eq!(folder.read("a.asdf"), before);
    let output = edit(&folder, "sed -i 's/2.5/4.5/; s/about the run/mine/' \"$1\"", "");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(tree(&folder).starts_with("# mine\nmeta:\n  gain: 4.5 # measured\n"));
    verify_passes(&folder);
    assert_eq!(texts(&folder).len(), 0);
}

#[test]
fn a_dry_run_of_edit_changes_nothing_but_keeps_the_edited_text() {
    let folder = folder();
    let before = folder.read("a.asdf");
    let output = edit_with(&folder, &["--dry-run"], "sed -i 's/2.5/4.5/' \"$1\"", "");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).ends_with(" would be written\n"), "{}", stdout(&output));
    assert_eq!(folder.read("a.asdf"), before);
    let texts = texts(&folder);
    let [text] = &texts[..] else { panic!("{texts:?}") };
    assert!(stderr(&output).contains(text.to_str().unwrap()), "{}", stderr(&output));
    assert!(std::fs::read_to_string(text).unwrap().contains("gain: 4.5"));
}

#[test]
fn invalid_edited_text_can_be_edited_again_or_discarded_or_kept() {
    let folder = folder();
    let before = folder.read("a.asdf");
    // The script makes the text invalid the first time, and valid the second time.
    let script = "if grep -q '\\[9' \"$1\"; then sed -i 's/\\[9/9/' \"$1\"; \
                  else sed -i 's/2.5/[9/' \"$1\"; fi";
    let output = edit(&folder, script, "x\ne\n");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("line "), "{}", stderr(&output));
    assert_eq!(stdout(&folder.done(&["get", "a.asdf", "/meta/gain"])), "9\n");
    folder.write("a.asdf", &before);

    let output = edit(&folder, "sed -i 's/2.5/[9/' \"$1\"", "d\n");
    assert_eq!((status(&output), texts(&folder).len()), (0, 0));
    assert_eq!(folder.read("a.asdf"), before);

    for answer in ["k\n", ""] {
        let output = edit(&folder, "sed -i 's/2.5/[9/' \"$1\"", answer);
        assert_eq!(status(&output), 2);
        let texts = texts(&folder);
        let [text] = &texts[..] else { panic!("{texts:?}") };
        assert!(stderr(&output).contains(text.to_str().unwrap()), "{}", stderr(&output));
        assert!(std::fs::read_to_string(text).unwrap().contains("gain: [9"));
        assert_eq!(folder.read("a.asdf"), before);
        std::fs::remove_file(text).unwrap();
    }
    // If the editor cannot be started, the text is removed, because it is unchanged.
    let output = edit(&folder, "exit 127", "");
    assert_eq!((status(&output), texts(&folder).len()), (2, 0));
    // If the editor fails, the text is kept, because the editor may have changed it.
    let output = edit(&folder, "sed -i 's/2.5/7/' \"$1\"; exit 3", "");
    assert_eq!((status(&output), texts(&folder).len()), (2, 1));
    assert_eq!(folder.read("a.asdf"), before);
}

#[test]
fn edit_can_repair_an_invalid_tree_that_set_cannot_change() {
    let folder = Folder::new();
    folder.write("a.asdf", "#ASDF 1.0.0\n%YAML 1.1\n---\na: [1\n...\n");
    let output = folder.run(&["asdf", "set", "a.asdf", "/a", "1"]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let output = edit(&folder, "sed -i 's/\\[1/[1]/' \"$1\"", "");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(folder.read("a.asdf"), b"#ASDF 1.0.0\n%YAML 1.1\n---\na: [1]\n...\n");
}

#[test]
fn a_value_that_is_not_a_single_yaml_document_is_rejected() {
    let folder = folder();
    let before = folder.read("a.asdf");
    for value in ["5\n...\ny: 1", "5\n--- 6", "", " \n", "# only a comment"] {
        let output = folder.run(&["asdf", "set", "a.asdf", "/v", value]);
        assert_ne!(status(&output), 0, "{value:?}");
        assert!(stderr(&output).contains("the value"), "{value:?}: {}", stderr(&output));
        assert_eq!(folder.read("a.asdf"), before, "{value:?}");
    }
}

#[test]
fn edit_keeps_the_text_if_another_program_has_changed_the_file() {
    // Change the file in four ways: overwrite a byte without changing the length or the
    // modification time of the file, replace the file, append to it, and remove it.
    let ways = [
        "touch -r a.asdf time; printf x | dd of=a.asdf bs=1 seek=400 conv=notrunc 2>/dev/null; touch -r time a.asdf",
        "cp a.asdf b.asdf; mv b.asdf a.asdf",
        "printf more >> a.asdf",
        "rm a.asdf",
    ];
    for way in ways {
        let folder = folder();
        let home = folder.path("").display().to_string();
        // Make the tree so long that the byte at offset 400 is inside it.
        folder.done(&["asdf", "set", "a.asdf", "/meta/long", &"word ".repeat(100)]);
        let script = format!("cd {home}; {way}; sed -i 's/gain: [0-9.]*/gain: 7.5/' \"$1\"");
        let output = edit(&folder, &script, "");
        assert_eq!(status(&output), 2, "{way}: {}", stderr(&output));
        let message = stderr(&output);
        assert!(message.contains("another program has changed the file"), "{way}: {message}");
        let texts = texts(&folder);
        assert_eq!(texts.len(), 1, "{way}");
        assert!(message.contains(&texts[0].display().to_string()), "{message}");
        assert!(std::fs::read_to_string(&texts[0]).unwrap().contains("gain: 7.5"), "{way}");
        if folder.path("a.asdf").exists() {
            assert!(
                !String::from_utf8_lossy(&folder.read("a.asdf")).contains("gain: 7.5"),
                "{way}"
            );
        }
    }
}

#[test]
fn commands_that_change_a_file_reject_a_pipe_without_blocking() {
    let folder = folder();
    let made = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()));
    let pipe = "pipe";
    for command in [
        &["asdf", "set", pipe, "/a", "1"][..],
        &["asdf", "rm", pipe, "/a"],
        &["asdf", "edit", pipe],
        &["bloscpack", "append", pipe, "a.asdf"],
        &["bloscpack", "meta", "set", pipe, "{}"],
        &["dudley", "append", pipe, "--layout", "a.asdf"],
    ] {
        let mut child =
            folder.command(command).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        // Wait for up to ten seconds, because the machine may be slow.
        let ended = (0..400).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(25));
            child.try_wait().unwrap().is_some()
        });
        let _ = child.kill();
        assert!(ended, "{command:?}");
        assert!(!child.wait().unwrap().success(), "{command:?}");
    }
}

#[test]
fn asdf_history_prints_entries_and_software_and_can_add_an_entry() {
    let folder = folder();
    folder.done(&["asdf", "history", "a.asdf", "--add", "Flat-fielded"]);
    folder.done(&["asdf", "history", "a.asdf", "--add", "Calibrated: twice"]);
    verify_passes(&folder);
    let version = env!("CARGO_PKG_VERSION");
    let json = json_of(&folder.done(&["asdf", "history", "a.asdf", "--json"]));
    assert_eq!(json["entries"][0]["description"], "Flat-fielded");
    assert_eq!(json["entries"][1]["description"], "Calibrated: twice");
    assert_eq!(json["entries"][1]["software"][0]["name"], "scibin");
    let time = json["entries"][1]["time"].as_str().unwrap();
    assert!(time.starts_with("20") && time.ends_with("+00:00"), "{time}");
    let text = stdout(&folder.done(&["asdf", "history", "a.asdf"]));
    let last = format!("entry      {time}  Calibrated: twice (scibin {version})\n");
    assert!(text.ends_with(&last), "{text}");
    assert!(tree(&folder).contains("- !core/history_entry-1.0.0\n"), "{}", tree(&folder));
    assert_eq!(status(&folder.run(&["asdf", "history", "a.asdf", "--dry-run"])), 2);
}

#[test]
fn asdf_history_adds_an_entry_to_every_form_of_history_in_standard_1_1() {
    for (history, pointer) in [
        ("", "/history/0"),
        ("history: null\n", "/history/0"),
        ("history: []\n", "/history/0"),
        ("history: [{description: x}]\n", "/history/1"),
        ("history: {entries: }\n", "/history/entries/0"),
        ("history: {extensions: []}\n", "/history/entries/0"),
    ] {
        let folder = Folder::new();
        let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.1.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.0.0\n";
        folder.write("a.asdf", format!("{head}gain: 1\n{history}...\n"));
        folder.done(&["asdf", "history", "a.asdf", "--add", "new", "-q"]);
        let got = folder.done(&["get", "a.asdf", &format!("{pointer}/description")]);
        assert_eq!(stdout(&got), "new\n", "{history}");
    }
}
