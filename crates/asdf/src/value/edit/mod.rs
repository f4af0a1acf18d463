//! Editing the text of a tree.
//!
//! Spans of the parsed tree say which bytes of the text an edit is about; only these are replaced.
//! Then the new text is parsed, and both trees are walked together: an edit that changes more than it
//! names is an error.

mod insert;
mod merged;
mod moved;
mod text;

pub use text::TreeText;
