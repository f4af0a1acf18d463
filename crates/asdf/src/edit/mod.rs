//! Changing files that exist.
//!
//! ```text
//! TreeText    the text of a tree, edited by replacing parts of it
//! Editor      a locked file: its tree, arrays and blocks, and how they reach the disk
//! ```
//!
//! Spans of the parsed tree say which bytes of the text an edit is about; only these are replaced.
//! Then the new text is parsed, and both trees are walked together: an edit that changes more than it
//! names is an error, and nothing is written.

mod check;
mod insert;
mod moved;
mod place;
mod remove;
mod replace;
mod splices;
mod target;
mod text;

pub use text::TreeText;

#[cfg(any(unix, windows))]
mod draft;
#[cfg(any(unix, windows))]
mod editor;
#[cfg(any(unix, windows))]
mod in_place;
#[cfg(any(unix, windows))]
mod rewrite;

#[cfg(any(unix, windows))]
pub use editor::{EditOptions, EditReport, Editor, Method, is_read_only, roll_back};
#[cfg(any(unix, windows))]
pub(crate) use editor::{FOREIGN, SUFFIX};
