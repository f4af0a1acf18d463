//! Comparing and validating files through the public interface.

#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]
#![allow(clippy::format_collect, reason = "short strings, built once")]

#[cfg(feature = "schema")]
mod schema;

use std::ops::ControlFlow;

use asdf::inspect::{Compare, Pattern};
use asdf::{Asdf, ErrorKind};

fn file(tree: &str) -> Asdf {
    let head = "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n";
    Asdf::from_bytes(format!("{head}{tree}\n...\n").into_bytes()).unwrap()
}

fn compared(compare: &Compare, before: &Asdf, after: &Asdf) -> asdf::Result<Vec<String>> {
    let mut lines = Vec::new();
    compare.run(before.tree()?, after.tree()?, &mut |difference| {
        lines.push(difference.to_string());
        ControlFlow::Continue(())
    })?;
    Ok(lines)
}

fn differences(before: &str, after: &str) -> Vec<String> {
    compared(&Compare::new(), &file(before), &file(after)).unwrap()
}

#[test]
fn a_comparison_reports_differences_in_values_and_keys_and_items_and_tags() {
    let before = "{a: 1, b: [1, 2, 3], c: {x: y}, d: !foo 1, e: ~, f: no, g: 2000-01-01, h: gone}";
    let after = "{b: [1, 5], c: [x], d: !bar 1, e: null, f: false, g: 2000-01-02, a: 1.0, i: new, j: {k: 1}}";
    assert_eq!(
        differences(before, after),
        [
            "- /h: \"gone\"",
            "+ /i: \"new\"",
            "+ /j: {..} (1 key)",
            "- /b/2: 3",
            "~ /b/1: 2 -> 5",
            "~ /c: {..} (1 key) -> [..] (1 item)",
            "~ /d: tag tag:stsci.edu:asdf/foo -> tag:stsci.edu:asdf/bar",
            "~ /g: 2000-01-01 -> 2000-01-02",
        ]
    );
    assert_eq!(differences(before, before), [""; 0]);
    assert_eq!(differences("[1]", "{a: 1}"), ["~ \"\": [..] (1 item) -> {..} (1 key)"]);
}

#[test]
fn comparing_lists_reports_the_surplus_items_of_the_longer_list() {
    assert_eq!(differences("a: [1]", "a: [1, 2, 3]"), ["+ /a/1: 2", "+ /a/2: 3"]);
    assert_eq!(differences("a: [1, 2]", "a: []"), ["- /a/0: 1", "- /a/1: 2"]);
}

#[test]
fn numbers_within_the_tolerance_are_equal() {
    let (before, after) = (file("{a: 100, b: 1.0, c: .nan}"), file("{a: 101, b: 1.5, c: .nan}"));
    let lines = |compare: &Compare| compared(compare, &before, &after).unwrap();
    assert_eq!(lines(&Compare::new()).len(), 2);
    assert_eq!(lines(&Compare::new().rtol(0.1)), ["~ /b: 1.0 -> 1.5"]);
    assert_eq!(lines(&Compare::new().atol(0.5)), ["~ /a: 100 -> 101"]);
    assert_eq!(lines(&Compare::new().atol(1.0)), [""; 0]);
}

#[test]
fn a_comparison_skips_ignored_nodes_and_their_descendants() {
    let (before, after) =
        (file("{a: {t: 1, u: 1}, t: [1]}"), file("{a: {t: 2, u: 1, v: 1}, t: 3}"));
    let lines = |patterns: &[&str]| {
        let ignore = |compare: Compare, text: &&str| compare.ignore(Pattern::parse(text).unwrap());
        compared(&patterns.iter().fold(Compare::new(), ignore), &before, &after).unwrap()
    };
    assert_eq!(lines(&["/**/t"]), ["+ /a/v: 1"]);
    assert_eq!(lines(&["/a", "/t"]), [""; 0]);
    assert_eq!(lines(&["/a/*"]), ["~ /t: [..] (1 item) -> 3"]);
    assert_eq!(lines(&[""]), [""; 0], "all");
}

#[test]
fn metadata_about_the_library_that_wrote_the_file_is_ignored_on_request() {
    let extension = |software: &str, version: &str| {
        format!("{{extension_class: x, software: {{name: {software}, version: {version}}}}}")
    };
    let library = |name: &str| format!("asdf_library: {{name: {name}, version: 1.0}}\n");
    let gwcs = extension("gwcs", "0.1");
    let python = format!(
        "{}history:\n  extensions: [{}, {gwcs}]\ngain: 1\n",
        library("asdf"),
        extension("asdf", "3.0")
    );
    let newer = format!(
        "{}history:\n  extensions: [{gwcs}, {}]\ngain: 1\n",
        library("asdf"),
        extension("asdf", "4.0")
    );
    let ours = format!("{}history:\n  extensions: [{gwcs}]\ngain: 1\n", library("scibin"));
    let bare = "gain: 1\n";
    let ignoring = |before: &str, after: &str| {
        compared(&Compare::new().ignore_library(), &file(before), &file(after)).unwrap()
    };
    assert_eq!(ignoring(&python, &newer), [""; 0]);
    assert_eq!(ignoring(&python, &ours), [""; 0]);
    assert_eq!(ignoring(&ours, &python), [""; 0]);
    // A history that contains only the extension of the library does not count as a difference.
    let only = format!(
        "{}history: {{extensions: [{}]}}\ngain: 1\n",
        library("asdf"),
        extension("asdf", "3.0")
    );
    assert_eq!(ignoring(&only, bare), [""; 0]);
    assert_eq!(ignoring(bare, &only), [""; 0]);
    // Extensions of other software are compared.
    assert_eq!(ignoring(bare, &ours), ["+ /history: {..} (1 key)"]);
    assert_eq!(ignoring(&python, &newer.replace("0.1", "0.2")).len(), 1);
    assert_eq!(differences(&python, &ours).len(), 4);
}

#[test]
fn a_comparison_reports_differences_in_the_type_and_shape_and_elements_of_an_array() {
    let array = |data: &str| format!("a: !core/ndarray-1.1.0 {data}");
    let of = |before: &str, after: &str| differences(&array(before), &array(after));
    assert_eq!(of("[[1, 2], [3, 4]]", "[[1, 2], [3, 4]]"), [""; 0]);
    assert_eq!(
        of("[[1, 2], [3, 4]]", "[[1, 5], [3, 9]]"),
        ["~ /a: 2 of 4 elements differ, the first at [0, 1]: 2 -> 5, by at most 5"]
    );
    assert_eq!(of("[1, 2]", "[1, 2, 3]"), ["~ /a: shape [2] -> [3]"]);
    // A different type is reported, but the numbers are still compared.
    assert_eq!(
        of("[1, 2]", "{data: [1, 3], datatype: float32, byteorder: little}"),
        [
            "~ /a: type int64 -> float32",
            "~ /a: 1 of 2 elements differs, the first at [1]: 2 -> 3.0"
        ]
    );
    assert_eq!(
        of(
            "{data: [1, 2], datatype: int16, byteorder: big}",
            "{data: [1, 2], datatype: int16, byteorder: little}"
        ),
        [""; 0],
        "the byte order alone makes no difference"
    );
    assert_eq!(
        of("{data: [1, 2, 3], mask: 2}", "{data: [1, 2, 4], mask: 4}"),
        ["~ /a: 2 of 3 elements differ, the first at [1]: -- -> 2"]
    );
    assert_eq!(of("{data: [1, 2], mask: 2}", "{data: [1, 2], mask: 2}"), [""; 0]);
    assert_eq!(
        of("{data: [ab, c], datatype: [ascii, 2]}", "{data: [ab, d], datatype: [ascii, 2]}"),
        ["~ /a: 1 of 2 elements differs, the first at [1]: \"c\" -> \"d\""]
    );
    assert_eq!(
        differences("a: !core/ndarray-1.1.0 [1, 2]", "a: text"),
        ["~ /a: tag tag:stsci.edu:asdf/core/ndarray-1.1.0 -> none", "~ /a: an array -> \"text\""]
    );
}

#[test]
fn a_comparison_of_record_arrays_reports_differences_by_field() {
    let record = |values: &str, second: &str| {
        format!(
            "a: !core/ndarray-1.1.0 {{data: {values}, byteorder: little, datatype: \
             [{{name: x, datatype: int8, byteorder: little}}, {{name: {second}, datatype: float64, byteorder: little}}]}}"
        )
    };
    assert_eq!(
        differences(&record("[[1, 2.0], [3, 4.0]]", "y"), &record("[[1, 2.0], [3, 4.5]]", "y")),
        ["~ /a/y: 1 of 2 elements differs, the first at [1]: 4.0 -> 4.5"]
    );
    let lines = differences(&record("[[1, 2.0]]", "y"), &record("[[1, 2.0]]", "z"));
    assert!(lines[0].starts_with("~ /a: type "), "{lines:?}");
    assert_eq!(lines[1..], ["- /a/y: a field", "+ /a/z: a field"]);
}

#[test]
fn a_comparison_skips_ignored_fields_of_records() {
    let position = "{name: at, datatype: [{name: x, datatype: int8}, {name: y, datatype: int8}]}";
    let before = format!(
        "a: !core/ndarray-1.1.0 {{data: [[1, [2, 3], 4]], byteorder: little, datatype: \
         [{{name: id, datatype: int8}}, {position}, {{name: old, datatype: int8}}]}}"
    );
    let after = before.replace("[[1, [2, 3], 4]]", "[[5, [6, 7], 4]]").replace("old", "new");
    let lines = |patterns: &[&str]| {
        let ignore = |compare: Compare, text: &&str| compare.ignore(Pattern::parse(text).unwrap());
        let compare = patterns.iter().fold(Compare::new(), ignore);
        compared(&compare, &file(&before), &file(&after)).unwrap()
    };
    assert_eq!(lines(&["/b"]).len(), 6, "the type, three values and two fields");
    assert_eq!(
        lines(&["/a/id", "/a/at/x", "/a/old", "/a/new"]),
        ["~ /a/at/y: 1 of 1 element differs, the first at [0]: 3 -> 7"]
    );
    assert_eq!(lines(&["/a/at", "/a/id", "/*/old"])[1..], ["+ /a/new: a field"]);
    assert_eq!(lines(&["/a/*"]), [""; 0]);
}

/// Creates a file with this tree, and a single block that contains the data.
fn blocks(data: &[u8], tree: &str) -> Asdf {
    let mut file = format!(
        "#ASDF 1.0.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n--- !core/asdf-1.1.0\n{tree}\n...\n"
    )
    .into_bytes();
    file.extend(b"\xd3BLK\0\x30\0\0\0\0\0\0\0\0");
    file.extend([(data.len() as u64).to_be_bytes(); 3].concat());
    file.extend([0; 16]);
    file.extend(data);
    Asdf::from_bytes(file).unwrap()
}

#[test]
fn arrays_that_differ_only_in_strides_or_byte_order_are_equal() {
    let before = blocks(
        &[0, 1, 0, 2, 0, 3, 0, 4],
        "a: !core/ndarray-1.1.0 {source: 0, datatype: int16, byteorder: big, shape: [2, 2]}",
    );
    let after = blocks(
        &[1, 0, 3, 0, 2, 0, 4, 0],
        "a: !core/ndarray-1.1.0 {source: 0, datatype: int16, byteorder: little, shape: [2, 2], strides: [2, 4]}",
    );
    assert_eq!(compared(&Compare::new(), &before, &after).unwrap(), [""; 0]);
}

#[test]
fn differences_in_large_arrays_are_found_and_counted() {
    let tree =
        "a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, shape: [3, 4000000]}";
    let mut data = vec![7; 12_000_000];
    let before = blocks(&data, tree);
    data[11_999_999] = 9;
    data[4_000_000] = 8;
    let after = blocks(&data, tree);
    assert_eq!(
        compared(&Compare::new(), &before, &after).unwrap(),
        ["~ /a: 2 of 12000000 elements differ, the first at [1, 0]: 7 -> 8, by at most 2"]
    );
}

#[test]
fn comparing_cycles_and_alias_bombs_and_endless_arrays_terminates() {
    let circle = "a: &a {b: *a, c: 1}";
    assert_eq!(differences(circle, circle), [""; 0]);
    assert_eq!(differences(circle, "a: &a {b: *a, c: 2}"), ["~ /a/c: 1 -> 2"]);
    // Compare a cycle of one node with a cycle of two nodes.
    assert_eq!(differences("a: &a {b: *a}", "a: &a {b: {b: *a}}"), [""; 0]);

    // Each level contains the level below twice, so there are about 2^40 paths, but only forty
    // pairs of nodes.
    let bomb = |last: &str| {
        let level = |level| format!("l{level}: &l{level} [*l{0}, *l{0}]\n", level - 1);
        format!("l0: &l0 {last}\n{}", (1..40).map(level).collect::<String>())
    };
    let lines = differences(&bomb("[1]"), &bomb("[2]"));
    assert_eq!(lines, ["~ /l0/0: 1 -> 2"]);

    let endless = "a: !core/ndarray-1.1.0 {source: 0, datatype: uint8, byteorder: big, \
                   shape: [1000000000000], strides: [0]}";
    let error = compared(&Compare::new(), &blocks(b"x", endless), &blocks(b"y", endless));
    let error = error.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

#[test]
fn a_comparison_ends_when_the_callback_returns_break() {
    let (before, after) = (file("[1, 2, 3]"), file("[4, 5, 6]"));
    let mut count = 0;
    let compared = Compare::new().run(before.tree().unwrap(), after.tree().unwrap(), &mut |_| {
        count += 1;
        ControlFlow::Break(())
    });
    compared.unwrap();
    assert_eq!(count, 1);
}

#[test]
fn comparing_compressed_blocks_finds_differences_and_damage() {
    let compressed = |values: &[u8]| {
        let mut tree = asdf::Tree::default();
        tree.set("/a", asdf::value::Array::from_slice(values, &[values.len() as u64]).unwrap())
            .unwrap();
        let options = asdf::WriteOptions::new().compression(asdf::Compression::Zlib(6));
        let mut out = std::io::Cursor::new(Vec::new());
        asdf::Writer::new(tree).options(options).write_to(&mut out).unwrap();
        out.into_inner()
    };
    let zeros = compressed(&[0; 5000]);
    let open = |bytes: &[u8]| Asdf::from_bytes(bytes.to_vec()).unwrap();
    let run = |before: &[u8], after: &[u8]| compared(&Compare::new(), &open(before), &open(after));
    assert_eq!(run(&zeros, &zeros).unwrap(), [""; 0]);
    let mut others = [0; 5000];
    others[7] = 1;
    let lines = run(&zeros, &compressed(&others)).unwrap();
    assert_eq!(lines, ["~ /a: 1 of 5000 elements differs, the first at [7]: 0 -> 1"]);
    // Comparing two copies with the same damage is an error, although their bytes are equal.
    let mut damaged = zeros.clone();
    let magic = damaged.windows(4).position(|four| four == b"\xd3BLK").unwrap();
    let header = usize::from(u16::from_be_bytes([damaged[magic + 4], damaged[magic + 5]]));
    damaged[magic + 6 + header + 5] ^= 1;
    assert!(run(&damaged, &damaged).unwrap_err().is_bad_data());
}
