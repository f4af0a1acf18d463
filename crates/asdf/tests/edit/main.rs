//! Editing files. An edit preserves the text and the blocks that it does not need to change.
//! Even if an edit is interrupted, readers see either the old file or the new one.

#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod anchors;
mod crash;
mod files;
mod properties;
mod text;

use asdf::Tree;
use asdf::value::TreeText;

/// An edit of a YAML source.
#[derive(Clone, Copy, Debug)]
enum Edit<'a> {
    Set(&'a str, &'a str),
    Remove(&'a str),
    Rename(&'a str, &'a str),
}

use Edit::{Remove, Rename, Set};

fn edited(text: &str, edit: Edit<'_>) -> Result<String, String> {
    let mut tree = TreeText::parse(text).unwrap();
    let done = match edit {
        Set(pointer, value) => tree.set(pointer, &Tree::parse(value).unwrap()),
        Remove(pointer) => tree.remove(pointer),
        Rename(pointer, key) => tree.rename(pointer, key),
    };
    done.map(|()| tree.text().to_owned()).map_err(|error| error.to_string())
}

/// Checks several edits, each of which is applied to the same original text.
fn check(text: &str, edits: &[(Edit<'_>, &str)]) {
    for (edit, want) in edits {
        assert_eq!(edited(text, *edit).as_deref(), Ok(*want), "{edit:?}");
    }
}
