//! Finding the nodes to edit in the text of a document, and replacing their text.

pub(crate) mod check;
pub(crate) mod place;
pub(crate) mod remove;
pub(crate) mod replace;
pub(crate) mod splices;
pub(crate) mod target;
