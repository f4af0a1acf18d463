//! Writing entries as JSON, one at a time. By default, the output matches the C writer of Flux: it has the same keys in
//! the same order, no whitespace, and only the necessary escapes. JSON values from a document, and the text of a
//! `utf-8` file, keep their whitespace and escapes.
//!
//! | entry | members |
//! |---|---|
//! | regular file | `path` `encoding` `data` `size` `mtime` `ctime` `mode` |
//! | JSON content | `path` `data` `mtime` `ctime` `mode` |
//! | empty file | `path` `size` `mtime` `ctime` `mode` |
//! | directory | `path` `mtime` `ctime` `mode` |
//! | symbolic link | `path` `data` `mtime` `ctime` `mode` |
//!
//! The members `mtime` and `ctime` are written only if they are set. A file that is a single hole has the same members
//! as an empty file. Members that RFC 37 does not define come last. In a dict, `path` is the key.

mod body;
mod encoding;
mod plan;
mod writer;

pub use body::Body;
pub(crate) use encoding::Detector;
pub use encoding::Encoding;
pub use writer::Writer;
