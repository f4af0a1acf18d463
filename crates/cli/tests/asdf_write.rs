//! Tests of the commands that write new ASDF files, or copy files and change how data is stored.

mod asdf_tools;
mod program;

use serde_json::json;

use program::{Folder, json_of, npy_header, status, stderr, stdout};

const TREE: &str = "meta: {gain: 2.5, name: 'yes', when: 2026-11-20 23:24:27+00:00}\n\
     z: !core/complex-1.0.0 (1+2j)\nsmall: !core/ndarray-1.1.0 [1, 2, 3]\nbig: 18446744073709551616\n";

fn npy(elements: u16) -> Vec<u8> {
    let mut npy = npy_header("<u2", &[u64::from(elements)]);
    npy.extend((0..elements).flat_map(u16::to_le_bytes));
    npy
}

/// Returns a folder with `a.asdf`: a tree with a small and a large array.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("tree.yaml", TREE);
    folder.write("x.npy", npy(4));
    folder.write("y.npy", npy(5000));
    folder.done(&[
        "asdf",
        "new",
        "a.asdf",
        "-qp",
        "--tree",
        "tree.yaml",
        "--array",
        "/image/x=x.npy",
        "--array",
        "/y=y.npy",
    ]);
    folder
}

fn codecs(folder: &Folder, file: &str) -> Vec<String> {
    let report = json_of(&folder.done(&["asdf", "blocks", file, "--json"]));
    let blocks = report.as_array().expect("blocks").clone();
    blocks.iter().map(|block| block["compression"].as_str().unwrap_or("none").to_owned()).collect()
}

fn same_tree(folder: &Folder, one: &str, other: &str) {
    let tree = |file: &str| {
        let mut tree = json_of(&folder.done(&["asdf", "tree", file, "--json", "--tags"]));
        tree["$value"]["asdf_library"] = json!(null);
        tree
    };
    assert_eq!(tree(one), tree(other));
    for pointer in ["/image/x", "/y", "/small"] {
        let array = |file: &str| folder.done(&["asdf", "get", file, pointer, "--as", "npy"]).stdout;
        assert_eq!(array(one), array(other), "{pointer}");
    }
}

#[test]
fn asdf_new_creates_a_file_from_a_tree_and_arrays() {
    let folder = folder();
    assert_eq!(status(&folder.run(&["asdf", "verify", "a.asdf"])), 0);
    assert_eq!(stdout(&folder.done(&["asdf", "get", "a.asdf", "/meta/name"])), "yes\n");
    let tree = json_of(&folder.done(&["asdf", "tree", "a.asdf", "--json"]));
    assert_eq!(tree["meta"]["when"], "2026-11-20T23:24:27+00:00");
    assert_eq!(tree["z"], json!({"$complex": [1.0, 2.0]}));
    // An integer of more than 64 bits is written as a mapping that contains its digits.
    assert_eq!(
        stdout(&folder.done(&["asdf", "get", "a.asdf", "/big/string"])),
        "18446744073709551616\n"
    );
    assert_eq!(folder.done(&["asdf", "get", "a.asdf", "/y", "-o", "again.npy"]).stdout, b"");
    assert_eq!(folder.read("again.npy"), folder.read("y.npy"));
    assert_eq!(stdout(&folder.done(&["asdf", "get", "a.asdf", "/small"])), "1 2 3\n");
}

#[test]
fn asdf_new_reads_a_tree_with_directives_from_standard_input_or_writes_an_empty_tree() {
    let folder = Folder::new();
    let tree = b"%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\nz: !core/complex-1.0.0 1j\n...\n";
    let arguments = ["asdf", "new", "a.asdf", "--tree", "-"];
    let output = folder.feed(&arguments, tree);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let tree = json_of(&folder.done(&["asdf", "tree", "a.asdf", "--json"]));
    assert_eq!(tree["z"], json!({"$complex": [0.0, 1.0]}));
    let output = folder.done(&["asdf", "new", "b.asdf"]);
    assert!(stdout(&output).starts_with("b.asdf: "), "{}", stdout(&output));
    assert!(stdout(&output).trim_end().ends_with("0 blocks"), "{}", stdout(&output));
}

#[test]
fn asdf_new_needs_the_parents_option_to_create_missing_parents_in_a_given_tree() {
    let folder = folder();
    folder.done(&["asdf", "new", "b.asdf", "--array", "/a/b/-=y.npy"]);
    assert_eq!(
        folder.done(&["get", "b.asdf", "/a/b/0", "--as", "npy"]).stdout,
        folder.read("y.npy")
    );
    folder.write("t.yaml", "meta: {gain: 1}\n");
    let command = ["asdf", "new", "c.asdf", "--tree", "t.yaml", "--array", "/mata/y=y.npy"];
    let output = folder.run(&command);
    assert_eq!(status(&output), 2);
    let message = stderr(&output);
    assert!(message.contains("at the root: no key `mata`; --parents creates"), "{message}");
    folder.done(&[&command[..], &["--parents"]].concat());
}

#[test]
fn asdf_new_reports_an_array_whose_type_the_standard_does_not_support() {
    let folder = folder();
    folder.write("half.npy", [program::npy_header("<f2", &[1]), vec![0, 0]].concat());
    let half = "/half=half.npy";
    let command = ["asdf", "new", "b.asdf", "--tree", "tree.yaml", "--array", half];
    let output = folder.run(&[&command[..], &["--standard", "1.2.0"]].concat());
    assert_eq!(status(&output), 2);
    let message = stderr(&output);
    assert!(
        message.contains("half.npy: /half: version 1.2.0 of the standard has no datatype float16"),
        "{message}"
    );
    folder.done(&command);
}

#[test]
fn asdf_new_applies_the_compress_and_align_and_standard_options() {
    let folder = folder();
    folder.done(&[
        "asdf",
        "new",
        "b.asdf",
        "--array",
        "/y=y.npy",
        "--compress",
        "zlib:9",
        "--align",
        "4096",
        "--standard",
        "1.5.0",
    ]);
    assert_eq!(codecs(&folder, "b.asdf"), ["zlib"]);
    let bytes = folder.read("b.asdf");
    assert!(bytes.starts_with(b"#ASDF 1.0.0\n#ASDF_STANDARD 1.5.0\n"));
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("!core/ndarray-1.0.0"), "{text}");
    let magic = bytes.windows(4).position(|four| four == b"\xd3BLK").expect("a block");
    let header = usize::from(u16::from_be_bytes([bytes[magic + 4], bytes[magic + 5]]));
    assert_eq!((magic + 6 + header) % 4096, 0);
    for wrong in [
        &["--compress", "gzip"][..],
        &["--compress", "zlib:10"],
        &["--align", "3"],
        &["--standard", "1.7.0"],
        &["--standard", "x"],
        &["--array", "y.npy"],
        &["--array", "/a=missing.npy"],
    ] {
        let output = folder.run(&[&["asdf", "new", "c.asdf"], wrong].concat());
        assert_eq!(status(&output), 2, "{wrong:?}: {}", stderr(&output));
    }
    assert!(!folder.names().contains(&"c.asdf".to_owned()));
}

#[test]
fn an_invalid_tree_is_reported_as_bad_data_with_its_position() {
    let folder = Folder::new();
    folder.write("tree.yaml", "a: 1\nb: [1, {\n");
    let output = folder.run(&["asdf", "new", "a.asdf", "--tree", "tree.yaml"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("tree.yaml: line "), "{}", stderr(&output));
    folder.write("tree.yaml", "a: !core/ndarray-1.1.0 {source: 0, datatype: int8, shape: [1]}\n");
    let output = folder.run(&["asdf", "new", "a.asdf", "--tree", "tree.yaml"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("`source: 0`"), "{}", stderr(&output));
}

#[test]
fn asdf_commands_replace_an_existing_file_only_with_force() {
    let folder = folder();
    folder.write("old", "old");
    for command in [
        &["asdf", "new", "old"][..],
        &["asdf", "convert", "a.asdf", "-o", "old"],
        &["asdf", "to-yaml", "a.asdf", "-o", "old"],
        &["asdf", "explode", "a.asdf", "-o", "old"],
        &["asdf", "implode", "a.asdf", "-o", "old"],
    ] {
        let output = folder.run(command);
        assert_eq!(status(&output), 2, "{command:?}");
        assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
        assert_eq!(folder.read("old"), b"old");
        folder.done(&[command, &["--force"]].concat());
        assert!(folder.read("old").starts_with(b"#ASDF"));
        folder.write("old", "old");
    }
}

#[test]
fn a_dry_run_prints_the_usual_report_without_writing_any_files() {
    let folder = folder();
    let names = folder.names();
    for command in [
        &["asdf", "new", "b.asdf", "--array", "/y=y.npy", "--compress", "zlib"][..],
        &["asdf", "convert", "a.asdf", "-o", "b.asdf", "--compress", "lz4"],
        &["asdf", "explode", "a.asdf", "-o", "b.asdf"],
        &["asdf", "implode", "a.asdf", "-o", "b.asdf"],
    ] {
        let mut dry = json_of(&folder.done(&[command, &["--dry-run", "--json"]].concat()));
        assert_eq!(folder.names(), names, "{command:?}");
        assert_eq!(dry["dry_run"], true);
        dry["dry_run"] = json!(false);
        let done = json_of(&folder.done(&[command, &["--json"]].concat()));
        assert_eq!(dry, done, "{command:?}");
        assert_eq!(done["bytes"], folder.read("b.asdf").len(), "{command:?}");
        for name in folder.names().iter().filter(|name| name.starts_with('b')) {
            folder.remove(name);
        }
    }
}

#[test]
fn convert_keeps_the_codec_of_each_block_unless_the_compress_option_is_given() {
    let folder = folder();
    folder.done(&["asdf", "convert", "a.asdf", "-o", "z.asdf", "--compress", "zlib"]);
    assert_eq!(codecs(&folder, "z.asdf"), ["zlib", "zlib"]);
    same_tree(&folder, "a.asdf", "z.asdf");
    folder.done(&["asdf", "convert", "z.asdf", "-o", "again.asdf", "--align", "8"]);
    assert_eq!(codecs(&folder, "again.asdf"), ["zlib", "zlib"]);
    for codec in ["none", "bzp2:1", "lz4", "lz4f", "zstd", "blsc", "blsc-chunked"] {
        folder.done(&["asdf", "convert", "z.asdf", "-o", "c.asdf", "-f", "--compress", codec]);
        let name = codec.trim_end_matches(":1");
        assert_eq!(codecs(&folder, "c.asdf"), [name, name]);
        same_tree(&folder, "a.asdf", "c.asdf");
        assert_eq!(status(&folder.run(&["asdf", "verify", "c.asdf"])), 0, "{codec}");
    }
    let output = folder.done(&["asdf", "convert", "a.asdf", "-o", "-"]);
    assert!(output.stdout.starts_with(b"#ASDF"));
}

#[test]
fn convert_moves_small_arrays_inline_and_pads_the_tree() {
    let folder = folder();
    folder.done(&[
        "asdf",
        "convert",
        "a.asdf",
        "-o",
        "b.asdf",
        "--inline-below",
        "5",
        "--pad-tree",
        "4096",
    ]);
    same_tree(&folder, "a.asdf", "b.asdf");
    assert_eq!(codecs(&folder, "b.asdf").len(), 1);
    let info = json_of(&folder.done(&["asdf", "info", "b.asdf", "--json"]));
    assert_eq!(info["ok"], true, "{info}");
    assert!(folder.read("b.asdf").windows(4000).any(|part| part.iter().all(|&byte| byte == b' ')));
}

#[test]
fn copying_a_damaged_block_reports_bad_data_and_writes_nothing() {
    let folder = folder();
    let mut bytes = folder.read("a.asdf");
    let at = bytes.windows(4).rposition(|four| four == b"\xd3BLK").expect("a block");
    bytes[at + 200] ^= 1;
    folder.write("bad.asdf", bytes);
    let output = folder.run(&["asdf", "convert", "bad.asdf", "-o", "b.asdf"]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("block 1"), "{}", stderr(&output));
    assert!(!folder.names().contains(&"b.asdf".to_owned()));
}

#[test]
fn asdf_to_yaml_writes_all_arrays_inline() {
    let folder = folder();
    let text = stdout(&folder.done(&["asdf", "to-yaml", "a.asdf"]));
    assert!(text.starts_with("#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n"), "{text}");
    assert!(
        text.contains("  x: !core/ndarray-1.1.0\n    data: [0, 1, 2, 3]\n    datatype: uint16\n"),
        "{text}"
    );
    folder.done(&["asdf", "to-yaml", "a.asdf", "-o", "a.yaml"]);
    assert_eq!(folder.read("a.yaml"), text.as_bytes());
    same_tree(&folder, "a.asdf", "a.yaml");
    let output = folder.done(&["asdf", "to-yaml", "a.asdf", "-o", "b.yaml", "--dry-run"]);
    assert!(stdout(&output).starts_with("b.yaml: "), "{}", stdout(&output));
    assert!(stdout(&output).ends_with(" would be written\n"), "{}", stdout(&output));
    assert!(!folder.names().contains(&"b.yaml".to_owned()));
    assert_eq!(status(&folder.run(&["asdf", "to-yaml", "a.asdf", "--dry-run"])), 2);
    // The YAML text can be used as the tree of a new file.
    folder.done(&["asdf", "new", "b.asdf", "--tree", "a.yaml"]);
    same_tree(&folder, "a.asdf", "b.asdf");
}

#[test]
fn implode_restores_an_exploded_file() {
    let folder = folder();
    let report = json_of(&folder.done(&["asdf", "explode", "a.asdf", "-o", "e.asdf", "--json"]));
    assert_eq!(report["files"], json!(["e0000.asdf", "e0001.asdf"]));
    assert_eq!(report["blocks"], 0);
    same_tree(&folder, "a.asdf", "e.asdf");
    folder.done(&["asdf", "implode", "e.asdf", "-o", "i.asdf"]);
    same_tree(&folder, "a.asdf", "i.asdf");
    assert_eq!(codecs(&folder, "i.asdf").len(), 2);
    // An existing block file is replaced only with --force.
    folder.remove("e.asdf");
    let output = folder.run(&["asdf", "explode", "a.asdf", "-o", "e.asdf"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("e0000.asdf"), "{}", stderr(&output));
    let output = folder.run(&["asdf", "explode", "a.asdf", "-o", "-"]);
    assert_eq!(status(&output), 2);
}

#[test]
fn implode_opens_external_files_only_if_the_policy_allows_it() {
    let folder = folder();
    folder.done(&["asdf", "explode", "a.asdf", "-o", "e.asdf"]);
    let output = folder.run(&["asdf", "implode", "e.asdf", "-o", "i.asdf", "--external", "deny"]);
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("policy"), "{}", stderr(&output));
    assert!(!folder.names().contains(&"i.asdf".to_owned()));
}

#[test]
fn data_with_a_wrong_checksum_is_copied_only_with_ignore_checksums_and_is_still_reported() {
    let folder = folder();
    folder.done(&["asdf", "explode", "a.asdf", "-q", "-o", "parts.asdf"]);
    let flip = |name: &str, from_end: usize| {
        let mut bytes = folder.read(name);
        let at = bytes.len() - from_end;
        bytes[at] ^= 1;
        folder.write(name, bytes);
    };
    let index = folder.read("a.asdf").windows(6).rposition(|six| six == b"#ASDF ").unwrap();
    flip("a.asdf", folder.read("a.asdf").len() - index + 1);
    flip("parts0001.asdf", 1);
    let commands: [(&[&str], &str); 6] = [
        (&["convert", "a.asdf", "-o"], "1.asdf"),
        (&["convert", "a.asdf", "--compress", "zlib", "-o"], "2.asdf"),
        (&["convert", "a.asdf", "--inline-below", "6000", "-o"], "3.asdf"),
        (&["explode", "a.asdf", "-o"], "4.asdf"),
        (&["implode", "parts.asdf", "-o"], "5.asdf"),
        (&["to-yaml", "a.asdf", "-o"], "6.yaml"),
    ];
    for (command, target) in commands {
        let run = |more: &[&str]| folder.run(&[&["asdf"], command, &[target], more].concat());
        let output = run(&[]);
        assert_eq!(status(&output), 1, "{command:?}: {}", stderr(&output));
        assert!(!folder.path(target).exists(), "{command:?}");
        let output = run(&["--ignore-checksums"]);
        assert_eq!(status(&output), 1, "{command:?}: {}", stderr(&output));
        let named = stderr(&output).matches("the checksum in the header is").count();
        assert_eq!(named, 1, "{command:?}: {}", stderr(&output));
        if command[0] != "to-yaml" {
            folder.done(&["verify", target]);
        }
    }
}

#[test]
fn relative_names_of_external_files_are_adapted_to_the_folder_of_the_copy() {
    let folder = folder();
    folder.done(&["asdf", "explode", "a.asdf", "-q", "-o", "base.asdf"]);
    folder.done(&["asdf", "set", "base.asdf", "/ref", "{$ref: 'a.asdf#/y'}"]);
    std::fs::create_dir(folder.path("sub")).unwrap();
    let commands: [&[&str]; 5] = [
        &["convert", "base.asdf", "-o"],
        &["explode", "base.asdf", "-o"],
        &["set", "base.asdf", "/meta/gain", "3.5", "-o"],
        &["rm", "base.asdf", "/meta/name", "-o"],
        &["repair", "base.asdf", "-o"],
    ];
    for (number, command) in commands.iter().enumerate() {
        let run = |more: &[&str]| folder.run(&[&["asdf"], *command, more].concat());
        let target = format!("sub/{number}.asdf");
        let output = run(&[&target]);
        assert_eq!(status(&output), 0, "{command:?}: {}", stderr(&output));
        let text = String::from_utf8(folder.read(&target)).unwrap();
        assert!(text.contains("source: ../base0001.asdf"), "{command:?}: {text}");
        assert!(
            text.contains("$ref: ../a.asdf#/y") || text.contains("$ref: '../a.asdf#/y'"),
            "{text}"
        );
        let get = ["asdf", "get", &target, "/y", "--external", "any"];
        assert_eq!(stdout(&folder.done(&get)), stdout(&folder.done(&["get", "a.asdf", "/y"])));
        let kept = format!("sub/{number}k.asdf");
        assert_eq!(status(&run(&[&kept, "--externals", "keep"])), 0);
        let text = String::from_utf8(folder.read(&kept)).unwrap();
        assert!(text.contains("source: base0001.asdf"), "{command:?}: {text}");
    }
    folder.done(&["asdf", "convert", "base.asdf", "-o", "sub/e.asdf", "--externals", "embed"]);
    let report = json_of(&folder.done(&["asdf", "blocks", "sub/e.asdf", "--json"]));
    assert_eq!(report.as_array().map(Vec::len), Some(2), "{report}");
    let output =
        folder.run(&["asdf", "repair", "base.asdf", "-o", "r.asdf", "--externals", "embed"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("expected relocate or keep"), "{}", stderr(&output));
}

/// Returns a tree with scalars of every style and with several tags, in block and in flow style.
fn scalars() -> String {
    let texts = [
        "5",
        "-1.5",
        "0x1F",
        "1:30",
        ".inf",
        "yes",
        "~",
        "2018-03-23 14:45:51",
        "2018-03-23",
        "a b",
    ];
    let mut lines = vec![
        "x: !core/ndarray-1.1.0 [1, 2, 3]".to_owned(),
        "meta: {gain: 2.5, name: x}".to_owned(),
    ];
    for (number, text) in texts.iter().enumerate() {
        for (tag_number, tag) in ["", "! ", "!!str ", "!<x:y> "].iter().enumerate() {
            let key = format!("k{number}_{tag_number}");
            lines.extend([
                format!("{key}_plain: {tag}{text}"),
                format!("{key}_single: {tag}'{text}'"),
                format!("{key}_double: {tag}\"{text}\""),
                format!("{key}_literal: {tag}|\n  {text}"),
                format!("{key}_folded: {tag}>-\n  {text}\n  more"),
                format!("{key}_flow: [{tag}{text}, {tag}'{text}', {{a: {tag}\"{text}\"}}]"),
            ]);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn scalars_that_a_command_does_not_change_keep_their_kind_and_tag_and_text() {
    let folder = folder();
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n";
    folder.write("s.asdf", format!("{head}--- !core/asdf-1.1.0\n{}...\n", scalars()));
    folder.write("tree.yaml", scalars());
    let nodes = |name: &str| {
        let file = asdf::Asdf::open(folder.path(name)).unwrap();
        let document = file.document().unwrap();
        let kept = document
            .root()
            .entries()
            .filter(|(key, _)| key.text().is_some_and(|key| key.starts_with('k')));
        let describe = |node: asdf::yaml::YamlNode<'_>| {
            // Ignore the tag of a time, because it is implicit in block style but written in flow
            // style.
            let tag = node.tag().filter(|tag| *tag != "tag:yaml.org,2002:timestamp");
            (node.kind(), tag.map(str::to_owned), node.text().map(str::to_owned))
        };
        kept.flat_map(|(key, value)| {
            let inside = value.items().chain(value.entries().map(|(_, value)| value));
            let all: Vec<_> = [key, value].into_iter().chain(inside).map(describe).collect();
            all
        })
        .collect::<Vec<_>>()
    };
    let expected = nodes("s.asdf");
    assert_eq!(expected.len(), 40 * 15);
    for command in [
        "convert s.asdf -o 1.asdf",
        "convert s.asdf -o 2.asdf --compress zlib --standard 1.5.0",
        "explode s.asdf -o 3.asdf",
        "implode s.asdf -o 4.asdf",
        "set s.asdf /meta/gain 3.25 -o 5.asdf",
        "rm s.asdf /meta/name -o 6.asdf",
        "mv s.asdf /meta/name title -o 7.asdf",
        "import s.asdf /y y.npy -o 8.asdf",
        "import s.asdf /x x.npy --inline -o 9.asdf",
        "repair s.asdf -o 10.asdf",
        "to-yaml s.asdf -o 11.asdf",
        "new 12.asdf --tree tree.yaml",
        "history s.asdf --add more -o 13.asdf",
    ] {
        let words: Vec<&str> = std::iter::once("asdf").chain(command.split(' ')).collect();
        folder.done(&words);
        let is_target =
            |word: &&&str| word.contains(".asdf") && word.starts_with(|c: char| c.is_ascii_digit());
        let target = words.iter().find(is_target);
        assert!(nodes(target.unwrap()) == expected, "{command}");
    }
}

#[test]
fn copying_keeps_tags_unknown_to_the_standard_but_rejects_float16_in_an_old_standard() {
    let folder = folder();
    let head = "#ASDF 1.0.0\n#ASDF_STANDARD 1.2.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
    let external =
        "e: !core/externalarray-1.0.0 {fileuri: a.fits, target: 0, datatype: int16, shape: [2]}\n";
    folder.write("e.asdf", format!("{head}{external}...\n"));
    for command in ["convert", "explode", "implode", "to-yaml"] {
        folder.done(&["asdf", command, "e.asdf", "-o", &format!("{command}.asdf")]);
        let text = String::from_utf8(folder.read(&format!("{command}.asdf"))).unwrap();
        assert!(text.contains(external), "{command}: {text}");
    }
    let array =
        "h: !core/ndarray-1.0.0 {source: 0, datatype: float16, byteorder: little, shape: [2]}\n";
    let mut bytes = format!("{head}{array}...\n").into_bytes();
    bytes.extend(b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0");
    (0..3).for_each(|_| bytes.extend(4_u64.to_be_bytes()));
    bytes.extend([0; 16]);
    bytes.extend([0, 60, 0, 64]);
    folder.write("h.asdf", bytes);
    let output = folder.run(&["asdf", "convert", "h.asdf", "-o", "h2.asdf"]);
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("/h: version 1.2.0 of the standard has no datatype float16"),
        "{}",
        stderr(&output)
    );
    folder.done(&["asdf", "convert", "h.asdf", "-o", "h2.asdf", "--standard", "1.6.0"]);
    assert_eq!(
        stdout(&folder.done(&["asdf", "get", "h2.asdf", "/h", "--as", "csv"])).trim(),
        "1.0,2.0"
    );
    folder.write("key.yaml", "meta: {list: [{1.5: x}]}\n");
    let output = folder.run(&["asdf", "new", "k.asdf", "--tree", "key.yaml"]);
    assert!(
        stderr(&output).contains("/meta/list/0: version 1.6.0 of the standard requires keys"),
        "{}",
        stderr(&output)
    );
}
