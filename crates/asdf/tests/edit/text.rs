//! Examples of editing the text of a tree.

use asdf::Tree;
use asdf::value::TreeText;

use crate::{Remove, Rename, Set, check, edited};

#[test]
fn replacing_a_value_keeps_comments_and_white_space() {
    let text = "# top\n\na:   1   # one\nb: 'two' #x\nc: [1,2 , 3] # list\nd:\n  e: 1 # e\n  f: 2\n# end\n";
    check(
        text,
        &[
            (Set("/a", "2.5"), &text.replace("a:   1 ", "a:   2.5 ")),
            (Set("/b", "yes"), &text.replace("'two'", "yes")),
            (Set("/b", "'yes'"), &text.replace("'two'", "'yes'")),
            (Set("/c/1", "20"), &text.replace("2 ,", "20 ,")),
            (Set("/c", "{x: 1}"), &text.replace("[1,2 , 3]", "{x: 1}")),
            (Set("/d/e", "-1"), &text.replace("e: 1", "e: -1")),
            (Set("/d", "5"), &text.replace("d:\n  e: 1 # e\n  f: 2", "d: 5")),
        ],
    );
}

#[test]
fn a_new_value_is_inserted_as_written_but_is_converted_to_flow_style_inside_brackets() {
    let text = "a: 1 # one\nb: {x: 1}\nc:\n- 1 # one\n- k: 1\n  l: 2\n";
    check(
        text,
        &[
            (Set("/a", "{p: {q: 1}}"), &text.replace("a: 1 # one", "a: {p: {q: 1}} # one")),
            (Set("/a", "[[1], 2]"), &text.replace("a: 1 # one", "a: [[1], 2] # one")),
            // The new value is written below the key, and the comment stays on the line of the key.
            (Set("/a", "p: {q: 1}"), &text.replace("a: 1 # one", "a: # one\n  p: {q: 1}")),
            (Set("/a", "- [1]\n- 2"), &text.replace("a: 1 # one", "a: # one\n- [1]\n- 2")),
            (Set("/b/x", "{p: {q: 1}}"), &text.replace("x: 1", "x: {p: {q: 1}}")),
            (Set("/b/x", "p:\n  q: 1\n"), &text.replace("x: 1", "x: {p: {q: 1}}")),
            (Set("/b/x", "a, b"), &text.replace("x: 1", "x: 'a, b'")),
            (Set("/c/1", "{p: {q: 1}}"), &text.replace("k: 1\n  l: 2", "{p: {q: 1}}")),
            (Set("/c/1/k", "p: {q: 1}"), &text.replace("k: 1", "k:\n    p: {q: 1}")),
            (Set("/c/1", "null"), &text.replace("k: 1\n  l: 2", "null")),
        ],
    );
}

#[test]
fn a_new_key_is_appended_as_a_string_and_a_dash_appends_an_item() {
    let text =
        "m:\n  a: 1 # x\n\n# about n\nn: {}\nl: [1, 2]\no:\n- 1\nlines: [\n  1,\n  2 # two\n]\n";
    check(
        text,
        &[
            (Set("/m/b", "2"), &text.replace("a: 1 # x\n", "a: 1 # x\n  b: 2\n")),
            (Set("/m/7", "2"), &text.replace("a: 1 # x\n", "a: 1 # x\n  '7': 2\n")),
            (Set("/n/b", "2"), &text.replace("{}", "{b: 2}")),
            (Set("/n/b/c", "2"), &text.replace("n: {}", "n:\n  b: {c: 2}")),
            (Set("/l/-", "3"), &text.replace("1, 2]", "1, 2, 3]")),
            (Set("/l/-", "[3, 4]"), &text.replace("1, 2]", "1, 2, [3, 4]]")),
            (Set("/o/-", "{a: [1]}"), &text.replace("- 1\n", "- 1\n- {a: [1]}\n")),
            (Set("/lines/-", "3"), &text.replace("2 # two\n", "2, # two\n  3\n")),
            (Set("/new", "yes"), &format!("{text}new: yes\n")),
            (Set("/new/x/y", "1"), &format!("{text}new:\n  x: {{y: 1}}\n")),
            (Set("/new/-", "1"), &format!("{text}new: [1]\n")),
            (Set("/m/new/0", "1"), &text.replace("a: 1 # x\n", "a: 1 # x\n  new: [1]\n")),
            (Set("/new/0/x", "1"), &format!("{text}new:\n- {{x: 1}}\n")),
        ],
    );
    let error = edited(text, Set("/new/1", "1")).unwrap_err();
    assert_eq!(
        error,
        "\"/new/1\": the first item of a new list cannot have the index `1`, expected `-` or `0`"
    );
}

#[test]
fn a_missing_parent_is_reported_with_its_nearest_existing_ancestor() {
    let source = "meta: {gain: 1, list: [1]}\n";
    let (text, tree) = (TreeText::parse(source).unwrap(), Tree::parse(source).unwrap());
    for pointer in ["", "/new", "/meta/new", "/meta/gain", "/meta/list/-", "/meta/new/-", "/new/0"]
    {
        assert!(text.check_parent(pointer).is_ok(), "{pointer}");
        assert!(tree.check_parent(pointer).is_ok(), "{pointer}");
    }
    for (pointer, place) in [
        ("/mata/gain", "at the root: no key `mata`"),
        ("/mata/list/-", "at the root: no key `mata`"),
        ("/meta/new/x/y", "at `/meta`: no key `new`"),
        ("/meta/new/x/-", "at `/meta`: no key `new`"),
        ("é/x", "é"),
    ] {
        for error in [text.check_parent(pointer), tree.check_parent(pointer)] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(place), "{pointer}: {error}");
        }
    }
}

#[test]
fn an_entry_of_an_ordered_mapping_is_edited_by_its_key() {
    let text = "o: !!omap\n- a: 1 # one\n- !!omap {b: [2]}\nf: !!omap [x: 1, y: 2]\n";
    check(
        text,
        &[
            (Set("/o/a", "5"), &text.replace("a: 1", "a: 5")),
            (Set("/o/b/-", "3"), &text.replace("[2]", "[2, 3]")),
            (Set("/o/c", "3"), &text.replace("{b: [2]}\n", "{b: [2]}\n- {c: 3}\n")),
            (Set("/o/c/d", "3"), &text.replace("{b: [2]}\n", "{b: [2]}\n- c: {d: 3}\n")),
            (Set("/o/0", "{z: 1}"), &text.replace("a: 1 # one", "{z: 1}")),
            (Set("/f/z", "3"), &text.replace("y: 2]", "y: 2, {z: 3}]")),
            (Remove("/o/a"), &text.replace("- a: 1 # one\n", "")),
            (Remove("/f/y"), &text.replace(", y: 2", "")),
            (Rename("/o/b", "c"), &text.replace("b: [2]", "c: [2]")),
        ],
    );
    assert!(
        edited(text, Rename("/o/b", "a")).unwrap_err().contains("the new key `a` already exists")
    );
    assert!(edited(text, Remove("/o/c")).is_err());
}

#[test]
fn removing_an_entry_removes_the_comments_directly_above_it() {
    let text = "# stays\n\n# of a\n# of a too\na: 1 # after a\n# of b\nb:\n  - 1 # x\n  # of 2\n  - 2\nc: {x: 1, y: 2}\nd: [1, 2, 3]\n";
    check(
        text,
        &[
            (Remove("/a"), &text.replace("# of a\n# of a too\na: 1 # after a\n", "")),
            (Remove("/b"), &text.replace("# of b\nb:\n  - 1 # x\n  # of 2\n  - 2\n", "")),
            (Remove("/b/0"), &text.replace("  - 1 # x\n", "")),
            (Remove("/b/1"), &text.replace("  # of 2\n  - 2\n", "")),
            (Remove("/c/x"), &text.replace("x: 1, ", "")),
            (Remove("/c/y"), &text.replace(", y: 2", "")),
            (Remove("/d/0"), &text.replace("1, 2, 3", "2, 3")),
            (Remove("/d/1"), &text.replace("1, 2, 3", "1, 3")),
            (Remove("/d/2"), &text.replace("1, 2, 3", "1, 2")),
        ],
    );
}

#[test]
fn removing_children_leaves_a_valid_collection_even_if_it_becomes_empty() {
    let text = "a:\n  b: 1 # x\nc: &x !t\n  d: 1\ne: [1]\nf: {g: 1,}\nh:\n- - 1\n  - 2\n- k: 1\n  l: 2\n- - z\n";
    check(
        text,
        &[
            (Remove("/a/b"), &text.replace("a:\n  b: 1 # x", "a: {}")),
            (Remove("/c/d"), &text.replace("!t\n  d: 1", "!t {}")),
            (Remove("/e/0"), &text.replace("[1]", "[]")),
            (Remove("/f/g"), &text.replace("{g: 1,}", "{}")),
            (Remove("/h/0/0"), &text.replace("- - 1\n  - 2", "- - 2")),
            (Remove("/h/1/k"), &text.replace("k: 1\n  l", "l")),
            (Remove("/h/2/0"), &text.replace("- - z", "- []")),
        ],
    );
    assert_eq!(edited("a: 1\n", Remove("/a")).as_deref(), Ok("{}\n"));
    assert_eq!(edited("--- !t\na: 1\n...\n", Remove("/a")).as_deref(), Ok("--- !t\n{}\n...\n"));
    assert_eq!(edited("--- !t\n{}\n...\n", Set("/a", "1")).as_deref(), Ok("--- !t\na: 1\n...\n"));
    assert_eq!(edited("--- !t {}\n...\n", Set("/a", "1")).as_deref(), Ok("--- !t\na: 1\n...\n"));
}

#[test]
fn renaming_a_key_keeps_its_position_and_comments() {
    let text = "# of a\na: 1 # x\nb: {'c': 1}\n? d\n: 2\n7: x\n";
    check(
        text,
        &[
            (Rename("/a", "yes"), &text.replace("a: 1", "'yes': 1")),
            (Rename("/b/c", "e"), &text.replace("'c'", "e")),
            (Rename("/d", "e f"), &text.replace("? d", "? e f")),
            (Rename("/7", "8"), &text.replace("7:", "'8':")),
            (Rename("/a", "a"), text),
        ],
    );
    assert!(
        edited(text, Rename("/a", "b")).unwrap_err().contains("the new key `b` already exists")
    );
    assert!(edited("a: [1]\n", Rename("/a/0", "b")).unwrap_err().contains("has no key"));
}

#[test]
fn editing_near_block_scalars_changes_no_other_entry() {
    let text = "a: |\n  one\n  two\n\nb: |+\n  x\n\n\nc: >- # folded\n  y\nd: 1\n";
    check(
        text,
        &[
            (Set("/a", "1"), &text.replace("|\n  one\n  two\n", "1\n")),
            (Set("/b", "1"), &text.replace("|+\n  x\n\n\n", "1\n")),
            (Set("/c", "1"), &text.replace(">- # folded\n  y", "1 # folded")),
            (Remove("/b"), &text.replace("b: |+\n  x\n\n\n", "")),
            (Set("/d", "'a\n\n  b'"), &text.replace("d: 1", "d: 'a\n\n  b'")),
            (Set("/e", "2"), &format!("{text}e: 2\n")),
        ],
    );
    assert_eq!(edited("a: |+\n  x\n\n", Set("/e", "2")).as_deref(), Ok("a: |+\n  x\n\ne: 2\n"));
}

#[test]
fn setting_a_repeated_key_edits_its_last_entry_and_removing_it_removes_every_entry() {
    let text = "a: 1\nb: 2\na: 3\n";
    check(text, &[(Set("/a", "4"), "a: 1\nb: 2\na: 4\n"), (Remove("/a"), "b: 2\n")]);
    assert!(edited(text, Rename("/a", "c")).unwrap_err().contains("more than once"));
}

#[test]
fn an_impossible_edit_fails_with_the_reason() {
    let text = "a: 1\nl: [1]\n";
    for (edit, want) in [
        (Set("", "1"), "root"),
        (Remove(""), "root"),
        (Remove("/x"), "no key `x`"),
        (Remove("/l/1"), "no item `1` in a sequence of length 1"),
        (Set("/l/1", "1"), "no item `1` in a sequence of length 1"),
        (Set("/a/b", "1"), "a scalar has no child `b`"),
        (Remove("/l/-"), "no item `-`"),
        (Rename("/x", "y"), "no key `x`"),
        (Set("x", "1"), "expected `/`"),
    ] {
        let error = edited(text, edit).unwrap_err();
        assert!(error.contains(want), "{edit:?}: {error}");
    }
}

#[test]
fn an_edit_uses_the_line_breaks_and_tag_handles_of_the_original_text() {
    let text = "%YAML 1.1\r\n%TAG ! tag:stsci.edu:asdf/\r\n---\r\na: 1\r\n...\r\n";
    let added = edited(text, Set("/b", "{c: {d: 1}}")).unwrap();
    assert_eq!(added, text.replace("a: 1\r\n", "a: 1\r\nb: {c: {d: 1}}\r\n"));
    assert_eq!(edited(&added, Remove("/b")).as_deref(), Ok(text));
    let value = Set("/a", "!<tag:stsci.edu:asdf/core/complex-1.0.0> 1j");
    assert!(edited(text, value).unwrap().contains("a: !core/complex-1.0.0 1j\r\n"));
    let other = text.replace("%TAG ! tag:stsci.edu:asdf/\r\n", "");
    let other = edited(&other, value).unwrap();
    assert!(other.contains("a: !<tag:stsci.edu:asdf/core/complex-1.0.0> 1j"), "{other}");
}
