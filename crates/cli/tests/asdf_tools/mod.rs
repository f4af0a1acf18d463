//! Tests of repairing and validating files, of killed commands, and of memory use.

#[cfg(target_os = "linux")]
mod kills;
#[cfg(target_os = "linux")]
mod memory;

use serde_json::json;

use crate::program::{Folder, json_of, npy_header, status, stderr, stdout};

/// Creates a folder with the file `a.asdf`, which contains two arrays. Returns the folder, and the
/// offsets of the blocks and of the index in the file.
fn folder() -> (Folder, Vec<usize>, usize) {
    let folder = Folder::new();
    let mut npy = npy_header("<u2", &[500]);
    npy.extend((0..500_u16).flat_map(u16::to_le_bytes));
    folder.write("x.npy", npy);
    let arrays = ["--array", "/x=x.npy", "--array", "/y=x.npy"];
    folder.done(&[&["asdf", "new", "a.asdf", "-q"], &arrays[..]].concat());
    let blocks = json_of(&folder.done(&["asdf", "blocks", "a.asdf", "--json"]));
    let offset = |block: &serde_json::Value| usize::try_from(block["offset"].as_u64()?).ok();
    let offsets = blocks.as_array().expect("blocks").iter().filter_map(offset).collect();
    let bytes = folder.read("a.asdf");
    let index = bytes.windows(17).rposition(|text| text == b"#ASDF BLOCK INDEX");
    (folder, offsets, index.expect("an index"))
}

#[test]
fn a_complete_repair_exits_with_status_0() {
    let (folder, _, index) = folder();
    let good = folder.read("a.asdf");
    folder.write("bad.asdf", [&good[..index], b"rubbish"].concat());
    let output = folder.done(&["asdf", "repair", "bad.asdf", "-o", "good.asdf"]);
    assert_eq!(stdout(&output).lines().count(), 1, "{}", stdout(&output));
    assert!(stdout(&output).ends_with(", 2 blocks kept\n"), "{}", stdout(&output));
    let remarks = stderr(&output);
    let left_out = format!("scibin: bad.asdf: omitted bytes {index}..{}", index + 7);
    assert!(remarks.contains(&left_out), "{remarks}");
    assert_eq!(folder.read("good.asdf"), good);
    // An existing file is replaced only with --force, and --dry-run writes nothing.
    assert_eq!(status(&folder.run(&["asdf", "repair", "bad.asdf", "-o", "good.asdf"])), 2);
    folder.done(&["asdf", "repair", "bad.asdf", "-o", "good.asdf", "--force"]);
    let output = folder.done(&["asdf", "repair", "bad.asdf", "-o", "b.asdf", "--dry-run"]);
    assert!(stdout(&output).ends_with(" would be written, 2 blocks kept\n"), "{}", stdout(&output));
    assert!(!folder.names().contains(&"b.asdf".to_owned()));
    let output = folder.feed(&["asdf", "repair", "-", "-o", "-"], &folder.read("bad.asdf"));
    assert_eq!((status(&output), output.stdout), (0, good));
}

#[test]
fn a_repair_with_losses_lists_the_losses_and_exits_with_status_1() {
    let (folder, blocks, _) = folder();
    let mut bytes = folder.read("a.asdf");
    bytes[blocks[0]] = b'x';
    bytes.truncate(bytes.len() - 1);
    folder.write("bad.asdf", &bytes);
    let output = folder.run(&["asdf", "repair", "bad.asdf", "-o", "good.asdf"]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let expected = format!(
        "bad.asdf: lost: block 0: the bytes at offset {} are not the start of a block, expected \
         d3 42 4c 4b; {} bytes are missing (arrays: /x)\n",
        blocks[0],
        blocks[1] - blocks[0]
    );
    assert!(stdout(&output).starts_with(&expected), "{}", stdout(&output));
    let tail = folder.done(&["asdf", "get", "good.asdf", "/y", "--slice", "-1"]);
    assert_eq!(stdout(&tail), "499\n");
    let output = folder.run(&["asdf", "repair", "bad.asdf", "-o", "b.asdf", "--json"]);
    let report = json_of(&output);
    assert_eq!(status(&output), 1);
    assert_eq!(report["lost"][0]["block"], 0);
    assert_eq!(report["lost"][0]["pointers"], json!(["/x"]));
    assert_eq!(report["lost"][0]["bytes"], json!([blocks[0], blocks[1]]));
    assert_eq!((&report["blocks"], &report["dry_run"]), (&json!(1), &json!(false)));
    // If the file is not ASDF, it counts as bad data, and nothing is written.
    folder.write("none.asdf", "none");
    let output = folder.run(&["asdf", "repair", "none.asdf", "-o", "c.asdf"]);
    assert_eq!(status(&output), 1);
    assert!(!folder.names().contains(&"c.asdf".to_owned()));
    assert_eq!(status(&folder.run(&["asdf", "repair", "missing.asdf", "-o", "c.asdf"])), 2);
}

/// Returns a folder with a valid and an invalid file, and the path of the schemas.
fn observations() -> (Folder, String) {
    let folder = Folder::new();
    for (name, exposure) in [("good", "5"), ("bad", "long")] {
        folder.write(
            &format!("{name}.asdf"),
            format!(
                "#ASDF 1.0.0\n%YAML 1.1\n--- !<asdf://scibin.example/tags/observation-1.0.0>\n\
                 name: M31\nexposure: {exposure}\n...\n"
            ),
        );
    }
    (folder, testdata::path("asdf/schemas").to_str().expect("text").to_owned())
}

#[test]
fn validate_reports_the_pointer_and_the_line_and_the_keyword() {
    let (folder, schemas) = observations();
    let output = folder.run(&["asdf", "validate", "good.asdf", "bad.asdf", "--schemas", &schemas]);
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    let expected = "good.asdf: valid\n\
        bad.asdf: error[SchemaMismatch]: expected a number, found the string \"long\" (/exposure, \
        line 5, column 11, offset 94) [asdf://scibin.example/schemas/observation-1.0.0#/properties/exposure/type]\n";
    assert_eq!(stdout(&output), expected);
    let output = folder.run(&["asdf", "validate", "bad.asdf", "--schemas", &schemas, "--json"]);
    let report = json_of(&output);
    let found = &report["diagnostics"][0];
    assert_eq!((&report["ok"], &found["code"]), (&json!(false), &json!("SchemaMismatch")));
    assert_eq!((&found["pointer"], &found["line"]), (&json!("/exposure"), &json!(5)));
    let keyword = "asdf://scibin.example/schemas/observation-1.0.0#/properties/exposure/type";
    assert_eq!(found["schema"], keyword);
    folder.done(&["asdf", "validate", "good.asdf", "--schemas", &schemas]);
    // Without schemas, nothing can be validated.
    assert_eq!(status(&folder.run(&["asdf", "validate", "good.asdf", "--schemas", "."])), 2);
    assert_eq!(status(&folder.run(&["asdf", "validate", "good.asdf"])), 2);
}

#[test]
fn info_describes_nodes_by_the_titles_and_units_in_their_schemas() {
    let (folder, schemas) = observations();
    for command in [&["info"][..], &["asdf", "info"]] {
        let describe = [command, &["good.asdf", "--describe", "--schemas", &schemas]].concat();
        let text = stdout(&folder.done(&describe));
        assert!(text.contains("exposure: 5  # Exposure time [s]\n"), "{text}");
        assert!(text.contains("name: M31  # Name of the target\n"), "{text}");
        let report = json_of(&folder.done(&[&describe[..], &["--json"]].concat()));
        let described = &report["descriptions"]["/exposure"];
        assert_eq!(described, &json!({"title": "Exposure time", "unit": "s"}));
        let alone = [command, &["good.asdf", "--describe"]].concat();
        assert_eq!(status(&folder.run(&alone)), 2);
    }
}
