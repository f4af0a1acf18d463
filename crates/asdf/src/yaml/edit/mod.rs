//! Finding what an edit is about in the text of a document, and replacing it.

pub(crate) mod check;
pub(crate) mod place;
pub(crate) mod remove;
pub(crate) mod replace;
pub(crate) mod splices;
pub(crate) mod target;
