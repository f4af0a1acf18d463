//! Editing the text of a tree.
//!
//! The spans of the parsed tree show which bytes of the text an edit affects; only these are
//! replaced. Then the new text is parsed, and its tree is compared with the old one: an edit with
//! an unintended effect fails.

mod insert;
mod merged;
mod moved;
mod text;

pub use text::TreeText;
