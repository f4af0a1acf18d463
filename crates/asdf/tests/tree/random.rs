//! Random YAML documents that every parser should read the same way.

use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Tree {
    Scalar(String),
    Block(Vec<String>, bool),
    Sequence(Vec<Tree>, bool),
    Mapping(Vec<(String, Tree)>, bool),
}

fn scalar() -> impl Strategy<Value = Tree> {
    prop_oneof![
        prop::sample::select(vec![
            "plain",
            "two words",
            "1",
            "-2.5",
            "0x1f",
            "~",
            "true",
            "'single'",
            "'it''s'",
            "\"double\"",
            "\"\\x41\\u00e9\\n\"",
            "a:b",
            "-x",
            "é",
            "''",
            "\"\"",
            "!t tagged",
            "&a anchored",
            "!!str 5",
            "&b 'q'",
            "a#b",
            "x,y",
            "http://x/y",
        ])
        .prop_filter("no flow indicators", |text| !text.contains(','))
        .prop_map(|text| Tree::Scalar(text.to_owned())),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let lines = prop::collection::vec(
        prop::sample::select(vec!["line", "- no", "# no", "k: v", "", "  more"]),
        1..4,
    );
    let block = (lines, any::<bool>()).prop_map(|(mut lines, is_literal)| {
        lines.insert(0, "first");
        Tree::Block(lines.into_iter().map(str::to_owned).collect(), is_literal)
    });
    let leaf = prop_oneof![4 => scalar(), 1 => block];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let keyed = prop::collection::vec(
            (prop::sample::select(vec!["k", "key two", "'q'", "\"d\"", "7", "é"]), inner.clone()),
            0..5,
        );
        prop_oneof![
            (prop::collection::vec(inner, 0..5), any::<bool>())
                .prop_map(|(items, is_flow)| Tree::Sequence(items, is_flow)),
            (keyed, any::<bool>()).prop_map(|(entries, is_flow)| {
                let entries = entries.into_iter().enumerate().map(|(at, (key, value))| {
                    // Number the keys, so that each key is unique.
                    let key = match key.strip_suffix(['\'', '"']) {
                        Some(open) => format!("{open}{at}{}", &key[..1]),
                        None => format!("{key}{at}"),
                    };
                    (key, value)
                });
                Tree::Mapping(entries.collect(), is_flow)
            }),
        ]
    })
}

/// Generates the text of a random document.
pub(crate) fn document() -> impl Strategy<Value = String> {
    (tree(), any::<bool>()).prop_map(|(tree, has_comments)| {
        let mut out = String::from("---");
        write(&tree, 0, false, has_comments, &mut out);
        out
    })
}

/// Writes the text of a tree after an indicator such as `-` or `:`. Outside brackets, also ends the
/// line.
fn write(tree: &Tree, indent: usize, in_flow: bool, has_comments: bool, out: &mut String) {
    let end = if has_comments { " # comment\n" } else { "\n" };
    let pad = " ".repeat(indent);
    match tree {
        Tree::Scalar(text) => {
            out.extend([" ", text]);
            out.push_str(if in_flow { "" } else { end });
        }
        Tree::Block(lines, is_literal) if !in_flow => {
            out.push_str(if *is_literal { " |\n" } else { " >-\n" });
            for line in lines {
                if !line.is_empty() {
                    out.extend([" ", &pad, line]);
                }
                out.push('\n');
            }
        }
        Tree::Block(lines, _) => out.extend([" '", lines[0].as_str(), "'"]),
        Tree::Sequence(items, is_flow) if in_flow || *is_flow || items.is_empty() => {
            out.push_str(" [");
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, indent, true, has_comments, out);
            }
            out.push(']');
            out.push_str(if in_flow { "" } else { end });
        }
        Tree::Mapping(entries, is_flow) if in_flow || *is_flow || entries.is_empty() => {
            out.push_str(" {");
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                out.extend([key, ":"]);
                write(value, indent, true, has_comments, out);
            }
            out.push('}');
            out.push_str(if in_flow { "" } else { end });
        }
        Tree::Sequence(items, _) => {
            out.push_str(end);
            for item in items {
                out.extend([&pad, "-"]);
                write(item, indent + 2, false, has_comments, out);
            }
        }
        Tree::Mapping(entries, _) => {
            out.push_str(end);
            for (key, value) in entries {
                out.extend([&pad, key, ":"]);
                write(value, indent + 2, false, has_comments, out);
            }
        }
    }
}
