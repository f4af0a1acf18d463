//! Editing trees with aliases, anchors and merge keys.

use crate::{Remove, Rename, Set, check, edited};

#[test]
fn an_edit_through_an_alias_changes_the_shared_node() {
    let text = "a: &x {gain: 1}\nb: *x\n";
    check(text, &[(Set("/b/gain", "2"), "a: &x {gain: 2}\nb: *x\n")]);
    check(text, &[(Set("/b/new", "2"), "a: &x {gain: 1, new: 2}\nb: *x\n")]);
    check(text, &[(Remove("/b/gain"), "a: &x {}\nb: *x\n")]);
}

#[test]
fn removing_or_replacing_an_anchored_node_moves_it_to_its_first_alias() {
    let text = "a: &x {gain: 1} # about\nb: *x # use\nc: [*x]\n";
    check(
        text,
        &[
            (Set("/a", "5"), "a: 5 # about\nb: &x {gain: 1} # use\nc: [*x]\n"),
            (Remove("/a"), "b: &x {gain: 1} # use\nc: [*x]\n"),
            (Set("/b", "5"), "a: &x {gain: 1} # about\nb: 5 # use\nc: [*x]\n"),
            (Remove("/b"), "a: &x {gain: 1} # about\nc: [*x]\n"),
            (Remove("/c/0"), "a: &x {gain: 1} # about\nb: *x # use\nc: []\n"),
        ],
    );
}

#[test]
fn a_moved_block_node_keeps_its_comments_and_is_reindented() {
    let text = "a: &x\n  # of k\n  k: 1 # one\n  l:\n  - 2\nb:\n  c:\n    d: *x # d\n    e: 1\n";
    let moved =
        "b:\n  c:\n    d: &x # d\n      # of k\n      k: 1 # one\n      l:\n      - 2\n    e: 1\n";
    check(text, &[(Remove("/a"), moved), (Set("/a", "1"), &format!("a: 1\n{moved}"))]);
    let back = "b:\n  c:\n    d: &x\n      k: 1\n      l: |\n        t\n\n        u\n  e: *x\n";
    check(
        back,
        &[(
            Set("/b/c/d", "1"),
            "b:\n  c:\n    d: 1\n  e: &x\n    k: 1\n    l: |\n      t\n\n      u\n",
        )],
    );
    // A list may begin in the column of its key, but after a dash it must be indented.
    let list = "a: &x\n- 1\n- k: 2\nb:\n- *x\n";
    let after = edited(list, Remove("/a")).unwrap();
    assert_eq!(after, "b:\n- &x\n  - 1\n  - k: 2\n");
}

#[test]
fn a_block_node_that_moves_into_brackets_is_rewritten_in_flow_style() {
    let text = "a: &x\n  k: 1\n  l: [2]\nb: {c: *x}\n";
    check(text, &[(Remove("/a"), "b: {c: &x {k: 1, l: [2]}}\n")]);
    // A null may be empty in block style, but must be written as `null` inside brackets.
    let text = "a:\n- &x\n  k:\n  l: 1\nb: {c: *x}\n";
    check(text, &[(Set("/a", "7"), "a: 7\nb: {c: &x {k: null, l: 1}}\n")]);
}

#[test]
fn an_anchor_inside_a_moved_node_is_defined_exactly_once_and_before_its_aliases() {
    let text = "a: &x {p: &y [1]}\nb: *y\nc: *x\n";
    check(text, &[(Set("/a", "0"), "a: 0\nb: &y [1]\nc: &x {p: *y}\n")]);
    let text = "a:\n- &x {p: 1}\n- &y [*x]\nb: *y\nc: *x\n";
    check(text, &[(Set("/a", "0"), "a: 0\nb: &y [&x {p: 1}]\nc: *x\n")]);
    let text = "a: {p: &y [1], q: &x [*y]}\nc: *x\n";
    check(text, &[(Set("/a", "0"), "a: 0\nc: &x [&y [1]]\n")]);
    // Move a node that contains itself.
    let text = "a: &x [*x, 1]\nb: *x\n";
    check(text, &[(Remove("/a"), "b: &x [*x, 1]\n")]);
}

#[test]
fn editing_anchored_keys_and_alias_keys_keeps_every_alias_defined() {
    check("&k key: 1\nb: *k\n", &[(Rename("/key", "new"), "new: 1\nb: &k key\n")]);
    check("a: &k key\n*k : 1\n", &[(Rename("/key", "new"), "a: &k key\nnew : 1\n")]);
    check("a: &k key\n*k : 1\n", &[(Remove("/a"), "&k key : 1\n")]);
}

#[test]
fn a_merge_key_that_merges_nothing_is_edited_like_any_other_key() {
    let text = "a: &x [1]\nb:\n  <<: *x\n  c: 2\n";
    check(
        text,
        &[
            (Remove("/b/<<"), "a: &x [1]\nb:\n  c: 2\n"),
            (Rename("/b/<<", "d"), "a: &x [1]\nb:\n  d: *x\n  c: 2\n"),
        ],
    );
}

#[test]
fn a_merged_key_can_be_overridden_but_not_removed_or_renamed() {
    let text = "base: &b {p: 1, q: {r: 2}}\nx:\n  <<: *b\n  s: 3\n";
    check(
        text,
        &[
            (Set("/x/p", "5"), "base: &b {p: 1, q: {r: 2}}\nx:\n  <<: *b\n  s: 3\n  p: 5\n"),
            // The value of `q` is merged, so editing its child changes the shared node.
            (Set("/x/q/r", "5"), "base: &b {p: 1, q: {r: 5}}\nx:\n  <<: *b\n  s: 3\n"),
            (Remove("/base"), "x:\n  <<: &b {p: 1, q: {r: 2}}\n  s: 3\n"),
        ],
    );
    for edit in [Remove("/x/p"), Rename("/x/p", "z")] {
        let error = edited(text, edit).unwrap_err();
        assert!(error.contains("/base/p"), "{error}");
    }
}

#[test]
fn a_new_anchor_does_not_reuse_the_name_of_an_existing_anchor() {
    let text = "a: &id001 {p: 1}\nb: *id001\n";
    let after = edited(text, Set("/c", "[&id001 {q: 2}, *id001]")).unwrap();
    assert_eq!(after, "a: &id001 {p: 1}\nb: *id001\nc: [&id002 {q: 2}, *id002]\n");
    let after = edited("a: &n {p: 1}\nb: *n\n", Set("/c", "[&n {q: 2}, *n]")).unwrap();
    assert_eq!(after, "a: &n {p: 1}\nb: *n\nc: [&n_ {q: 2}, *n_]\n");
}
