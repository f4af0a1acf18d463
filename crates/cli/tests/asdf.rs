//! Tests of the commands that show the content of ASDF files. Some of the files are damaged,
//! hostile or large.

#![allow(clippy::format_collect, clippy::format_push_string, reason = "short strings, built once")]

mod program;

use serde_json::{Value, json};

use program::{Folder, json_of, status, stderr, stdout};

const HEAD: &str = "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
     --- !core/asdf-1.1.0\n";

/// Returns a block that contains `data`. The header states a size of `size` bytes, which may be
/// wrong.
fn block(data: &[u8], size: u64) -> Vec<u8> {
    let mut bytes = b"\xd3BLK\0\x30".to_vec();
    bytes.extend([0; 8]); // flags, compression
    bytes.extend([size.to_be_bytes(); 3].concat()); // allocated, used and decoded size
    bytes.extend([0; 16]); // no checksum
    bytes.extend(data);
    bytes
}

fn whole(data: &[u8]) -> Vec<u8> {
    block(data, data.len() as u64)
}

/// Returns a tree with an array of bytes for each block, named `a`, `b` and so on.
fn tree_of(lengths: &[usize]) -> String {
    let array = |(source, len): (usize, &usize)| {
        let name = char::from(b'a' + u8::try_from(source).unwrap_or(0));
        format!(
            "{name}: !core/ndarray-1.1.0 {{source: {source}, datatype: uint8, byteorder: big, \
             shape: [{len}]}}\n"
        )
    };
    lengths.iter().enumerate().map(array).collect()
}

fn file_of(tree: &str, blocks: &[Vec<u8>]) -> Vec<u8> {
    [format!("{HEAD}{tree}...\n").as_bytes(), &blocks.concat()].concat()
}

fn with_index(tree: &str, blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("{HEAD}{tree}...\n").into_bytes();
    let mut index = String::from("#ASDF BLOCK INDEX\n%YAML 1.1\n---\n");
    for block in blocks {
        index += &format!("- {}\n", bytes.len());
        bytes.extend(block);
    }
    bytes.extend(format!("{index}...\n").as_bytes());
    bytes
}

/// Returns a folder with `a.asdf`, which contains a tree and no blocks.
fn tree_file(tree: &str) -> Folder {
    let folder = Folder::new();
    folder.write("a.asdf", file_of(tree, &[]));
    folder
}

// Damaged files

/// Returns four blocks of text with CR LF line endings, and a tree with an array for each block.
fn lines_of_text() -> (String, Vec<Vec<u8>>) {
    let data: Vec<Vec<u8>> =
        (b'a'..=b'd').map(|letter| [&[letter; 30][..], b"\r\n"].concat().repeat(20)).collect();
    let tree = tree_of(&data.iter().map(Vec::len).collect::<Vec<_>>());
    (tree, data.iter().map(|data| whole(data)).collect())
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend(to);
            rest = after;
        } else {
            out.push(rest[0]);
            rest = &rest[1..];
        }
    }
    out
}

#[test]
fn arrays_keep_their_own_blocks_after_a_line_ending_conversion() {
    let folder = Folder::new();
    let (tree, blocks) = lines_of_text();
    let file = with_index(&tree, &blocks);
    // In `unix.asdf`, block 0 now ends after the beginning of block 1.
    folder.write("unix.asdf", replaced(&file, b"\r\n", b"\n"));
    folder.write("dos.asdf", replaced(&file, b"\n", b"\r\n"));
    for name in ["unix.asdf", "dos.asdf"] {
        for letter in "abcd".chars() {
            let pointer = format!("/{letter}");
            let output = folder.run(&["asdf", "get", "--salvage", "--slice", ":5", name, &pointer]);
            let expected = [u32::from(letter).to_string().as_str(); 5].join(" ") + "\n";
            assert_eq!(stdout(&output), expected, "{name} {letter}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_line_ending_conversion_is_reported_once_as_the_likely_cause() {
    let folder = Folder::new();
    let (tree, blocks) = lines_of_text();
    folder.write("a.asdf", replaced(&with_index(&tree, &blocks), b"\r\n", b"\n"));
    for arguments in [&["asdf", "verify", "a.asdf"][..], &["asdf", "verify", "--salvage", "a.asdf"]]
    {
        let output = folder.run(arguments);
        let text = stdout(&output);
        assert_eq!(status(&output), 1, "{text}");
        assert_eq!(text.matches("IndexDrift").count(), 1, "{text}");
        assert!(
            text.contains("shifted by -20, -40, -60 bytes from their offsets in the index"),
            "{text}"
        );
        assert!(!text.contains("the block does not exist"), "{text}");
    }
}

#[test]
fn block_numbers_after_a_gap_are_used_only_with_an_index() {
    let folder = Folder::new();
    let lost = [&b"?"[..]; 100].concat();
    let blocks = [whole(b"one"), lost, whole(b"three")];
    folder.write("a.asdf", file_of(&tree_of(&[3, 3, 5]), &blocks));
    let get = |pointer| folder.run(&["asdf", "get", "--salvage", "a.asdf", pointer]);
    assert_eq!(stdout(&get("/a")), "111 110 101\n");
    for pointer in ["/b", "/c"] {
        let output = get(pointer);
        assert_eq!((status(&output), stdout(&output)), (1, String::new()), "{}", stderr(&output));
    }
    assert!(
        stderr(&get("/b")).contains("the number of the block is uncertain"),
        "{}",
        stderr(&get("/b"))
    );
    // If there is an index, it determines the block numbers.
    let blocks = [whole(b"one"), vec![b'?'; 57], whole(b"three")];
    folder.write("a.asdf", with_index(&tree_of(&[3, 3, 5]), &blocks));
    assert_eq!(stdout(&get("/c")), "116 104 114 101 101\n", "{}", stderr(&get("/c")));
    let lost = get("/b");
    assert_eq!(status(&lost), 1);
    assert!(stderr(&lost).contains("block 1: the bytes at offset"), "{}", stderr(&lost));
}

#[test]
fn complete_rows_of_a_truncated_array_are_salvaged() {
    let folder = Folder::new();
    let tree =
        "a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [5, 4]}\n";
    folder.write("a.asdf", file_of(tree, &[block(&[7; 14], 20)]));
    let get = |more: &[&str]| {
        folder.run(&[&["asdf", "get", "--salvage", "a.asdf", "/a"][..], more].concat())
    };
    let rows = get(&["--slice", "1:3"]);
    assert_eq!((status(&rows), stdout(&rows)), (0, "7 7 7 7\n7 7 7 7\n".to_owned()));
    for cut in [&["--slice", "2:"][..], &["--slice", "::-1"], &[]] {
        let output = get(cut);
        let count = if cut == ["--slice", "2:"] { 1 } else { 3 };
        assert_eq!(stdout(&output), "7 7 7 7\n".repeat(count), "{cut:?}: {}", stderr(&output));
        assert_eq!(status(&output), 1, "{cut:?}");
        assert!(stderr(&output).contains("the file contains only rows"), "{}", stderr(&output));
    }
    let none = get(&["--slice", "4"]);
    assert_eq!((status(&none), stdout(&none)), (1, String::new()), "{}", stderr(&none));
    let without = folder.run(&["asdf", "get", "a.asdf", "/a", "--slice", "0"]);
    assert_eq!(status(&without), 1, "only --salvage reads truncated blocks");
}

#[test]
fn verify_checks_the_blocks_of_an_exploded_file() {
    let folder = Folder::new();
    for name in ["exploded.asdf", "exploded0000.asdf", "exploded0001.asdf"] {
        folder.copy(&testdata::path(&format!("asdf/{name}")), name);
    }
    let fine = folder.done(&["verify", "exploded.asdf"]);
    assert!(stdout(&fine).contains("including 2 in other files"), "{}", stdout(&fine));
    let denied = folder.run(&["asdf", "verify", "--external", "deny", "exploded.asdf"]);
    assert_eq!(status(&denied), 1, "{}", stdout(&denied));
    assert!(stdout(&denied).contains("NotChecked"), "{}", stdout(&denied));

    let mut bytes = folder.read("exploded0001.asdf");
    let magic = bytes.windows(4).position(|four| four == b"\xd3BLK").expect("a block");
    bytes[magic + 54] ^= 1;
    folder.write("exploded0001.asdf", bytes);
    let damaged = folder.run(&["verify", "--json", "exploded.asdf"]);
    assert_eq!(status(&damaged), 1, "{}", stdout(&damaged));
    let found = &json_of(&damaged)["diagnostics"][0];
    assert_eq!(found["code"], "ChecksumMismatch");
    assert_eq!(found["path"], "exploded0001.asdf");
}

#[test]
fn a_file_truncated_anywhere_before_the_end_of_its_tree_is_reported() {
    let folder = tree_file("a: [1, 2]\n");
    let whole = folder.read("a.asdf");
    let end = whole.windows(5).position(|bytes| bytes == b"\n...\n").expect("an end") + 4;
    for len in 11..end {
        folder.write("cut.asdf", &whole[..len]);
        let output = folder.run(&["verify", "cut.asdf"]);
        let warned = stderr(&output).contains("warning[NoContent]: the file contains neither");
        assert!(status(&output) == 1 || warned, "{len}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn missing_external_files_are_reported_on_one_line() {
    let nodes: String = (0..6)
        .map(|n| {
            let keys = "datatype: uint8, byteorder: big, shape: [1]";
            format!("a{n}: !core/ndarray-1.1.0 {{source: f{}.asdf, {keys}}}\n", n / 2 * 2)
        })
        .collect();
    let nodes = nodes
        + "z: !core/ndarray-1.1.0 {source: g.asdf, datatype: uint8, byteorder: big, shape: [1]}\n";
    let folder = tree_file(&nodes);
    let verify = folder.run(&["verify", "a.asdf"]);
    let text = stdout(&verify);
    assert_eq!((status(&verify), text.lines().count()), (1, 1), "{text}");
    let message = "error[NotChecked]: 4 external files needed by 7 arrays cannot be opened: \
                   \"f0.asdf\" for /a0, \"f2.asdf\" for /a2, \"f4.asdf\" for /a4 and 1 more; \
                   first error: \"f0.asdf\": external file ";
    assert!(text.contains(message), "{text}");
    assert!(text.contains("No such file"), "{text}");

    let report = json_of(&folder.run(&["verify", "--json", "a.asdf"]));
    let found = report["diagnostics"].as_array().expect("a list");
    assert_eq!((found.len(), &found[0]["code"]), (1, &json!("NotChecked")), "{report}");
    let labels = found[0]["labels"].as_array().expect("a list");
    assert_eq!(labels.len(), 7, "every array is listed");
    assert_eq!((&labels[6]["pointer"], &labels[6]["message"]), (&json!("/z"), &json!("g.asdf")));

    let denied = folder.run(&["asdf", "verify", "--external", "deny", "a.asdf"]);
    assert_eq!(stdout(&denied).lines().count(), 1, "{}", stdout(&denied));
    folder.write("b.asdf", folder.read("a.asdf"));
    for command in [
        &["diff", "a.asdf", "b.asdf"][..],
        &["implode", "a.asdf", "-o", "c.asdf"],
        &["explode", "a.asdf", "-o", "c.asdf"],
        &["get", "a.asdf", "/a0"],
    ] {
        let output = folder.run(&[&["asdf"], command].concat());
        let lines = stdout(&output).lines().count() + stderr(&output).lines().count();
        assert!(lines <= 2, "{command:?}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn info_and_tree_and_get_exit_with_status_1_for_bad_data() {
    let folder = tree_file("a: [1\n");
    for command in ["tree", "info"] {
        let output = folder.run(&["asdf", command, "a.asdf"]);
        assert_eq!(status(&output), 1, "{command}: {}", stderr(&output));
        assert_eq!(status(&folder.run(&["asdf", command, "a.asdf", "--json"])), 1, "{command}");
    }
    let info = folder.run(&["info", "a.asdf"]);
    assert!(stdout(&info).contains("ASDF 1.0.0"), "everything readable is printed");
    assert!(stdout(&info).contains("cannot be read"), "{}", stdout(&info));
    assert_eq!(json_of(&folder.run(&["info", "a.asdf", "--json"]))["ok"], false);

    folder.write("cut.asdf", file_of(&tree_of(&[100]), &[block(&[0; 40], 100)]));
    assert_eq!(status(&folder.run(&["get", "cut.asdf", "/a"])), 1);
    assert_eq!(status(&folder.run(&["get", "missing.asdf", "/a"])), 2);
}

// Hostile files

#[test]
fn output_of_expanded_merge_keys_is_limited() {
    let keys: Vec<String> = (0..1000).map(|n| format!("a_key_of_some_length_{n}: 1")).collect();
    let uses = "- {<<: *b}\n".repeat(6000);
    let folder = tree_file(&format!("b: &b {{{}}}\nuses:\n{uses}", keys.join(", ")));
    let run = |arguments: &[&str]| {
        let output = folder.run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(output.stdout.len() < 48 << 20, "{arguments:?}: {} bytes", output.stdout.len());
        assert!(stderr(&output).contains("merge keys"), "{arguments:?}: {}", stderr(&output));
    };
    // Run the commands in parallel, because each takes seconds.
    std::thread::scope(|scope| {
        scope.spawn(|| run(&["asdf", "tree", "a.asdf"]));
        scope.spawn(|| run(&["asdf", "tree", "--json", "a.asdf"]));
        let info = folder.done(&["info", "a.asdf"]);
        assert!(stdout(&info).contains("more than 1000000 more nodes"), "{}", stdout(&info));
    });
}

#[test]
fn search_prints_pointers_and_values_of_matching_nodes() {
    let folder = tree_file(
        "a: {time_start: 1, name: x1, 'b/c': [1, 1.5]}\nd: !core/ndarray-1.1.0 [1, 2]\ntime: true\n",
    );
    let found = |options: &[&str]| {
        let output = folder.done(&[&["asdf", "search", "a.asdf"], options].concat());
        stdout(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&["--key", "^time"]), ["/time = true", "/a/time_start = 1"]);
    assert_eq!(found(&["--value", "1.5"]), ["/a/b~1c/1 = 1.5"]);
    assert_eq!(found(&["--value", "1"]), ["/a/time_start = 1", "/a/b~1c/0 = 1"]);
    assert_eq!(found(&["--value", "x[0-9]"]), ["/a/name = \"x1\""]);
    assert_eq!(found(&["--type", "NDArrayType"]), ["/d = int64 [2]"]);
    assert_eq!(found(&["--pointer", "/a/**/0"]), ["/a/b~1c/0 = 1"]);
    assert_eq!(found(&["--key", "time", "--type", "bool"]), ["/time = true"]);
    assert_eq!(found(&["--value", ">1"]), ["/a/b~1c/1 = 1.5"]);
    assert_eq!(found(&["--value", "<=1", "--key", "time"]), ["/a/time_start = 1"]);
    assert_eq!(found(&["--tag", "core/ndarray"]), ["/d = int64 [2]"]);
    assert_eq!(found(&["--pointer", ""]), ["\"\" = {..} (3 keys)"]);
    let output = folder.run(&["asdf", "search", "a.asdf", "--value", ">x"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("expected a number after `>`"), "{}", stderr(&output));
    let json = json_of(&folder.done(&["asdf", "search", "a.asdf", "--key", "^d$", "--json"]));
    let tag = "tag:stsci.edu:asdf/core/ndarray-1.1.0";
    assert_eq!(json, serde_json::json!([{"pointer": "/d", "type": "array", "tag": tag}]));
    let output = folder.done(&["asdf", "search", "a.asdf", "--key", "none"]);
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("no node matches"), "{}", stderr(&output));
    for option in ["--key", "--value"] {
        let output = folder.run(&["asdf", "search", "a.asdf", option, "("]);
        assert_eq!(status(&output), 2, "{option}");
        assert!(stderr(&output).contains("not a regular expression"), "{}", stderr(&output));
    }
    assert_eq!(status(&folder.run(&["asdf", "search", "a.asdf", "--pointer", "a"])), 2);
}

#[test]
fn diff_compares_trees_and_arrays() {
    let folder = tree_file("a: 100\nb: [1, 2]\nc: !core/ndarray-1.1.0 [1.0, 2.0]\n");
    folder.copy(&folder.path("a.asdf"), "same.asdf");
    let text = String::from_utf8(folder.read("a.asdf")).unwrap();
    let other = text.replace("100", "101").replace("1, 2]", "1, 2, 3]").replace("2.0", "2.5");
    folder.write("b.asdf", other);
    let diff = |options: &[&str]| {
        let output = folder.run(&[&["asdf", "diff", "a.asdf", "b.asdf"], options].concat());
        (status(&output), stdout(&output))
    };
    let same = folder.done(&["asdf", "diff", "a.asdf", "same.asdf"]);
    assert_eq!(stdout(&same), "");
    let lines = "--- a.asdf\n+++ b.asdf\n~ /a: 100 -> 101\n+ /b/2: 3\n\
                 ~ /c: 1 of 2 elements differs, the first at [1]: 2.0 -> 2.5\n";
    assert_eq!(diff(&[]), (1, lines.to_owned()));
    assert_eq!(diff(&["--quiet"]), (1, String::new()));
    let near = ["--rtol", "0.01", "--atol", "0.5", "--ignore", "/b/*"];
    assert_eq!(diff(&near), (0, String::new()));
    assert_eq!(diff(&["--ignore", "/*"]), (0, String::new()));
    assert_eq!(diff(&["--rtol", "-1"]).0, 2);
    let output = folder.run(&["asdf", "diff", "--json", "a.asdf", "b.asdf", "--max-changes", "1"]);
    let json = json_of(&output);
    assert_eq!((&json["equal"], &json["more"]), (&false.into(), &2.into()));
    assert_eq!(json["changes"][0]["pointer"], "/a");
    assert!(stderr(&output).contains("only the first 1 of 3"), "{}", stderr(&output));
    assert_eq!(status(&folder.run(&["asdf", "diff", "-", "-"])), 2);
}

#[test]
fn diff_treats_a_converted_copy_as_equal_unless_the_all_option_is_given() {
    let folder = tree_file(
        "asdf_library: !core/software-1.0.0 {name: asdf, version: 4.1.0}\n\
         history:\n  extensions:\n  - !core/extension_metadata-1.0.0\n    extension_class: x\n    \
         software: !core/software-1.0.0 {name: asdf, version: 4.1.0}\na: 1\n",
    );
    folder.done(&["asdf", "convert", "a.asdf", "-o", "b.asdf"]);
    let equal = folder.done(&["asdf", "diff", "a.asdf", "b.asdf"]);
    assert_eq!(stdout(&equal), "");
    let output = folder.run(&["asdf", "diff", "a.asdf", "b.asdf", "--all"]);
    assert_eq!(status(&output), 1);
    let text = stdout(&output);
    assert!(text.contains("~ /asdf_library/name: \"asdf\" -> \"scibin\""), "{text}");
    folder.done(&["asdf", "rm", "b.asdf", "/history"]);
    folder.done(&["asdf", "diff", "a.asdf", "b.asdf"]);
}

#[test]
fn overlong_tag_prefixes_and_too_many_long_tags_are_rejected() {
    let folder = Folder::new();
    let prefix = "x".repeat(100_000);
    let head = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG !x! tag:{prefix}\n---\n");
    folder.write("a.asdf", head + "a:\n" + &"- !x!y 1\n".repeat(200_000) + "...\n");
    let output = folder.run(&["asdf", "tree", "a.asdf"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("the tag prefix has 100004 bytes"), "{}", stderr(&output));

    // Use many different tags whose prefix is within the limit.
    let head = format!("#ASDF 1.0.0\n%YAML 1.1\n%TAG !x! tag:{}\n---\n", "x".repeat(4000));
    let tags: String = (0..20_000).map(|n| format!("- !x!{n} 1\n")).collect();
    folder.write("a.asdf", head + "a:\n" + &tags + "...\n");
    let output = folder.run(&["asdf", "tree", "a.asdf"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("length of distinct tags"), "{}", stderr(&output));
}

#[test]
fn an_array_that_repeats_an_element_too_often_can_only_be_printed_in_parts() {
    let folder = Folder::new();
    let tree = "a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, \
                shape: [1000000000000], strides: [0]}\n";
    folder.write("a.asdf", file_of(tree, &[whole(b"x")]));
    for more in [&["--json"][..], &[]] {
        let output = folder.run(&[&["get", "a.asdf", "/a"], more].concat());
        assert_eq!((status(&output), output.stdout.len()), (2, 0), "{more:?}");
        assert!(stderr(&output).contains("repeated elements"), "{}", stderr(&output));
    }
    let part = folder.done(&["get", "a.asdf", "/a", "--slice", ":3"]);
    assert_eq!(stdout(&part), "120 120 120\n");
}

// Output for human readers

/// Returns a folder with `a.asdf`, which resembles the files of telescopes: it has many software
/// entries, a history entry, and a large tree.
fn observation() -> Folder {
    let software = "!core/software-1.0.0 {name: asdf, version: 6.0.0}";
    let extension = format!(
        "  - !core/extension_metadata-1.0.0\n    extension_class: x.Y\n    software: {software}\n"
    );
    let entry =
        "  - !core/history_entry-1.0.0 {description: Flat-fielded, time: 2026-11-20 23:24:27}\n";
    let meta: String = (0..60).map(|n| format!("    key{n}: {{value: {n}}}\n")).collect();
    let image =
        "!core/ndarray-1.1.0 {source: 0, datatype: float32, byteorder: little, shape: [2, 3]}";
    let table = "!core/ndarray-1.1.0 {source: 1, byteorder: big, shape: [2], datatype: \
                 [{name: ra, datatype: uint16}, {name: dec, datatype: uint8}], mask: [1, 0]}";
    let tree = format!(
        "asdf_library: {software}\nhistory:\n  extensions:\n{}  entries:\n{entry}roman:\n  meta:\n\
         {meta}  data: {image}\n  table: {table}\n  pair: [2]\n  pairs: [[2], [3]]\n",
        extension.repeat(30)
    );
    let folder = Folder::new();
    let pixels: Vec<u8> =
        (0..6).flat_map(|n| f32::from(i8::try_from(n).unwrap_or(0)).to_le_bytes()).collect();
    folder.write("a.asdf", file_of(&tree, &[whole(&pixels), whole(&[0, 1, 5, 1, 0, 6])]));
    folder
}

#[test]
fn info_shows_the_data_despite_many_software_entries() {
    let folder = observation();
    let text = stdout(&folder.done(&["info", "a.asdf"]));
    assert!(text.contains("  software  30 extensions from asdf 6.0.0\n"), "{text}");
    assert!(text.contains("  history   1 entry, the last: Flat-fielded, 2026-11-20"), "{text}");
    assert!(!text.contains("extension_class"), "{text}");
    let row = |name: &str| {
        let line =
            text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("/roman/data"), ["/roman/data", "float32", "[2,", "3]", "0", "none"]);
    assert_eq!(row("/roman/table "), ["/roman/table", "2", "fields", "[2]", "1", "none"]);
    assert!(text.contains("└─roman: {..} 5 keys"), "{text}");
    assert!(text.contains("pair: [2]\n") && text.contains("pairs: [..] 2 items\n"), "{text}");
    // The outline has at most 40 lines and shows outer levels first. The 5 keys of `roman` and the
    // 60 entries of `meta` already exceed this limit.
    let outline = text.lines().skip_while(|line| !line.contains("  tree  ")).skip(1);
    let is_node = |line: &&str| !line.ends_with("more)") && !line.ends_with("shows all)");
    let shown = outline.filter(is_node).count();
    assert_eq!(shown, 40, "{text}");
    // Without the library and the history, the tree has 6 + 60 + 60 nodes plus the 2 items of
    // `pairs`, 128 in total, but the outline shows only 40.
    assert!(text.contains("... (88 more nodes; `scibin asdf tree` shows all)"), "{text}");
    let arrays = &json_of(&folder.done(&["info", "--json", "a.asdf"]))["arrays"];
    assert_eq!(
        arrays[0],
        json!({
            "pointer": "/roman/data", "dtype": "<f4", "shape": [2, 3], "block": 0, "external": false,
            "compression": null, "ratio": null,
        })
    );
}

#[test]
fn info_counts_the_arrays_among_the_nodes_that_the_outline_omits() {
    let arrays: String =
        (0..50).map(|n| format!("a{n}: !core/ndarray-1.1.0 [{n}, {n}]\n")).collect();
    let scalars: String = (0..30).map(|n| format!("s{n}: {n}\n")).collect();
    let omitted = |tree: &str| {
        let text = stdout(&tree_file(tree).done(&["info", "a.asdf"]));
        let line = text.lines().find(|line| line.ends_with("shows all)"));
        line.unwrap_or_else(|| panic!("{text}")).trim().to_owned()
    };
    let more = "... (40 more nodes, including 10 arrays; `scibin asdf tree` shows all)";
    assert_eq!(omitted(&format!("{scalars}{arrays}")), more, "the 40 lines show arrays first");
    let few = arrays.lines().take(20).fold(String::new(), |text, line| text + line + "\n");
    let more = "... (10 more nodes; `scibin asdf tree` shows all)";
    assert_eq!(omitted(&format!("{scalars}{few}")), more, "all arrays are shown");
    let deep = format!("{scalars}{few}d: {{e: {{f: !core/ndarray-1.1.0 [1, 2]}}}}\n");
    let more = "... (13 more nodes, including 1 array; `scibin asdf tree` shows all)";
    assert_eq!(omitted(&deep), more);
}

#[test]
fn tree_shows_a_node_with_limited_depth_or_as_json_or_yaml() {
    let folder = observation();
    let text = stdout(&folder.done(&["asdf", "tree", "a.asdf", "/roman", "--depth", "1"]));
    assert_eq!(text.lines().next(), Some("├─meta: {..} 60 keys"));
    assert_eq!(text.lines().count(), 5);
    let json = json_of(&folder.done(&["asdf", "tree", "a.asdf", "/roman/pairs", "--json"]));
    assert_eq!(json, json!([[2], [3]]));
    let yaml = stdout(&folder.done(&["asdf", "tree", "a.asdf", "/roman/data", "--yaml"]));
    assert!(yaml.contains("--- !core/ndarray-1.1.0 {source: 0, datatype: float32"), "{yaml}");
    let whole = stdout(&folder.done(&["asdf", "tree", "a.asdf", "--yaml"]));
    assert!(whole.starts_with("%YAML 1.1\n") && whole.ends_with("...\n"), "{whole}");
}

#[test]
fn get_prints_the_fields_and_masks_of_an_array() {
    let folder = observation();
    let get = |pointer: &str| folder.run(&["get", "a.asdf", pointer, "--json"]);
    let values = |pointer: &str| json_of(&get(pointer))["values"].clone();
    assert_eq!(values("/roman/table/ra"), json!([null, 256]));
    assert_eq!(values("/roman/table/mask"), json!([true, false]));
    assert_eq!(values("/roman/table/dec/mask"), json!([true, false]));
    let wrong = get("/roman/table/rah");
    assert_eq!(status(&wrong), 2);
    assert!(stderr(&wrong).contains("the fields are ra, dec"), "{}", stderr(&wrong));
    assert_eq!(
        json_of(&get("/roman/table/shape")),
        json!([2]),
        "the keys in the tree can still be selected"
    );
}

#[test]
fn errors_contain_the_pointer_and_suggest_a_similar_key() {
    let folder = observation();
    let output = folder.run(&["get", "a.asdf", "/roman/dta"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("did you mean `data`?"), "{}", stderr(&output));

    folder.write("b.asdf", file_of(&format!("x:\n  {}", tree_of(&[100])), &[block(&[0; 4], 100)]));
    let output = folder.run(&["get", "b.asdf", "/x/a"]);
    assert!(stderr(&output).contains("b.asdf: /x/a: "), "{}", stderr(&output));
    let bad =
        "x:\n  a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [-1]}\n";
    folder.write("b.asdf", file_of(bad, &[whole(b"x")]));
    let output = folder.run(&["get", "b.asdf", "/x/a"]);
    assert!(stderr(&output).contains("b.asdf: /x/a/shape/0: "), "{}", stderr(&output));
    let Value::Array(found) = &json_of(&folder.run(&["verify", "b.asdf", "--json"]))["diagnostics"]
    else {
        panic!("no diagnostics")
    };
    assert_eq!(found[0]["pointer"], "/x/a");
}

#[test]
fn diagnostics_contain_the_pointer_to_their_node() {
    let folder = tree_file("x:\n  y: {k: 1, k: 2}\n");
    let value = json_of(&folder.run(&["info", "--json", "a.asdf"]));
    let found = &value["diagnostics"][0];
    assert_eq!((&found["code"], &found["pointer"]), (&json!("DuplicateKey"), &json!("/x/y/k")));
    assert_eq!(found["len"], 1, "the diagnostic covers the second key");
}

#[test]
fn info_lists_the_largest_arrays_and_counts_the_others() {
    let small: Vec<String> = (0..25).map(|number| format!("c{number}: {}", inline(2))).collect();
    let tree = format!(
        "wcs: {{{}}}\nroman: {{meta: {{dq: {}}}, data: {}}}\n",
        small.join(", "),
        inline(9),
        inline(9)
    );
    let folder = tree_file(&tree);
    let text = stdout(&folder.done(&["info", "a.asdf"]));
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.contains("pointer")).collect();
    let pointer = |row: usize| rows[row].split_whitespace().next().unwrap_or_default();
    assert_eq!(
        [pointer(1), pointer(2), pointer(3)],
        ["/roman/data", "/roman/meta/dq", "/wcs/c0"],
        "{text}"
    );
    assert_eq!(rows[21].trim(), "... (7 more arrays; --json lists all)", "{text}");
}

#[test]
fn tree_shows_an_ordered_mapping_as_a_mapping() {
    let folder = tree_file("o: !!omap\n- !!omap {b: {x: 1}}\n- a: 2\n");
    let text = stdout(&folder.done(&["asdf", "tree", "a.asdf"]));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let omap = "!tag:yaml.org,2002:omap";
    let root = format!("└─o: {{..}} 2 keys {omap}");
    assert_eq!(lines, [&root, "  ├─b: {..} 1 key", "  │ └─x: 1", "  └─a: 2"]);
    let json = json_of(&folder.done(&["asdf", "tree", "a.asdf", "--json"]));
    assert_eq!(json, json!({"o": {"b": {"x": 1}, "a": 2}}));
    assert_eq!(stdout(&folder.done(&["get", "a.asdf", "/o/b/x"])), "1\n");
}

#[test]
fn info_shows_the_arrays_of_a_mapping_before_its_other_entries() {
    let keys: Vec<String> = (0..60).map(|number| format!("k{number}: 1")).collect();
    let folder = tree_file(&format!("roman: {{{}, data: {}}}\n", keys.join(", "), inline(9)));
    let text = stdout(&folder.done(&["info", "a.asdf"]));
    let outline: Vec<&str> = text.lines().skip_while(|line| !line.contains("─roman")).collect();
    assert!(outline[1].contains("─data: uint8 [9]"), "{text}");
    assert!(outline[2].contains("─k0: 1"), "{text}");
    // The `tree` command shows the entries in the order of the file.
    let tree = stdout(&folder.done(&["asdf", "tree", "a.asdf", "/roman"]));
    assert!(tree.lines().last().is_some_and(|line| line.contains("─data: uint8 [9]")), "{tree}");
}

fn inline(len: usize) -> String {
    let numbers = vec!["1"; len].join(", ");
    format!("!core/ndarray-1.1.0 {{data: [{numbers}], datatype: uint8, shape: [{len}]}}")
}

#[test]
fn a_file_may_refer_to_more_external_files_than_are_kept_open() {
    let count = 90;
    let array = |source| {
        format!(
            "n{source}: !core/ndarray-1.1.0 {{source: {source}, datatype: uint8, shape: [1]}}\n"
        )
    };
    let tree: String = (0..count).map(array).collect();
    let blocks: Vec<_> = (0..count).map(|_| whole(b"x")).collect();
    let folder = Folder::new();
    folder.write("a.asdf", file_of(&tree, &blocks));
    folder.done(&["asdf", "explode", "a.asdf", "-o", "b.asdf"]);
    let verify = folder.done(&["verify", "b.asdf"]);
    assert!(stdout(&verify).contains("including 90 in other files"), "{}", stdout(&verify));
    folder.done(&["asdf", "diff", "a.asdf", "b.asdf"]);
    folder.done(&["asdf", "implode", "b.asdf", "-o", "c.asdf"]);
    folder.done(&["asdf", "diff", "a.asdf", "c.asdf"]);
    let few = folder.run(&["asdf", "verify", "b.asdf", "--max-files", "3"]);
    assert_eq!(status(&few), 1, "{}", stderr(&few));
}

/// Returns a folder with `a.asdf`, which contains an astropy table: a column, a quantity, a masked
/// column, and coordinates.
fn table() -> Folder {
    tree_file(
        "t: !<tag:astropy.org:astropy/table/table-1.1.0>\n  colnames: [ra, flux, id, sky]\n  columns:\n  \
         - !core/column-1.0.0 {name: ra, unit: !unit/unit-1.0.0 deg, data: !core/ndarray-1.0.0 [1.5, 2.5]}\n  \
         - !unit/quantity-1.1.0 {unit: !unit/unit-1.0.0 'Jy, s', value: !core/ndarray-1.0.0 [[1, 2], [3, 4]]}\n  \
         - !core/column-1.0.0 {name: id, data: !core/ndarray-1.1.0 {data: [7, 8], mask: [true, false]}}\n  \
         - !<tag:astropy.org:astropy/coordinates/skycoord-1.0.0> {frame: icrs}\n",
    )
}

#[test]
fn tables_are_written_with_column_names_and_units() {
    let folder = table();
    let output = folder.done(&["get", "a.asdf", "/t", "-o", "t.csv"]);
    assert!(stderr(&output).contains("omitted the column sky"), "{}", stderr(&output));
    let csv = "ra [deg],\"flux [Jy, s]\",id\n1.5,\"[1,2]\",\n2.5,\"[3,4]\",8\n";
    assert_eq!(String::from_utf8(folder.read("t.csv")).unwrap(), csv);
    let last = folder.done(&["get", "a.asdf", "/t", "--as", "csv", "--slice", "1:"]);
    assert!(stdout(&last).ends_with("id\n2.5,\"[3,4]\",8\n"), "{}", stdout(&last));
    let json = json_of(&folder.done(&["get", "a.asdf", "/t", "--as", "json"]));
    assert_eq!(json["columns"][0], json!({"name": "ra", "unit": "deg"}));
    assert_eq!(json["rows"], json!([[1.5, [1, 2], null], [2.5, [3, 4], 8]]));
    // Without --as, a table is printed like any other node.
    assert_eq!(json_of(&folder.done(&["get", "a.asdf", "/t"]))["colnames"][0], "ra");
    let output = folder.run(&["get", "a.asdf", "/t", "-o", "t.npy"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("as CSV or JSON"), "{}", stderr(&output));
    assert_eq!(status(&folder.run(&["get", "a.asdf", "/t", "--slice", "0"])), 2);
}

#[test]
fn a_table_column_is_selected_by_name() {
    let folder = table();
    let get = |pointer: &str| stdout(&folder.done(&["get", "a.asdf", pointer]));
    assert_eq!(get("/t/ra"), "1.5 2.5\n");
    assert_eq!(get("/t/flux"), "1 2\n3 4\n");
    assert_eq!(get("/t/id/mask"), "true false\n");
    assert_eq!(get("/t/columns/0/name"), "ra\n");
    assert_eq!(status(&folder.run(&["get", "a.asdf", "/t/none"])), 2);
}

#[test]
fn table_columns_of_different_lengths_are_an_error() {
    let folder = tree_file(
        "t: !core/table-1.0.0\n  columns:\n  - {name: a, data: !core/ndarray-1.0.0 [1, 2]}\n  \
         - {name: b, data: !core/ndarray-1.0.0 [1]}\n",
    );
    let output = folder.run(&["get", "a.asdf", "/t", "--as", "csv"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("expected 2 rows"), "{}", stderr(&output));
}
