#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod append;
pub mod array;
mod chain;
mod checksum;
mod chunk;
mod chunking;
mod container;
mod error;
mod filling;
mod finding;
mod header;
pub mod journal;
mod json;
mod layout;
mod meta;
mod opening;
mod options;
mod pack;
mod parallel;
mod reader;
mod recipe;
mod recover;
mod rewrite;
mod stream;
mod survey;
mod table;
#[cfg(test)]
mod test_file;
mod unpack;
mod unversioned;
mod verify;
mod write_options;
mod writer;

pub use append::{AppendOptions, Appended, Appender, append};
pub use array::{Array, ArrayInfo, Datatype, Order, Slice, pack_array, pack_npy};
pub use binio::blosc::{Compressor, Shuffle};
pub use checksum::Checksum;
pub use chunk::{ChunkEntry, Scratch};
pub use chunking::{ChunkSize, Chunking};
pub use error::{Error, ErrorKind, MetadataError, Part, Result};
pub use finding::{Code, Finding, Severity};
pub use header::{Header, Version};
pub use layout::Layout;
pub use meta::encode::MetadataOptions;
pub use meta::{MetaHeader, Metadata, exact_json};
pub use options::{ChunkOrder, OpenOptions, Strictness, Verify};
pub use pack::{pack_file, pack_reader, pack_slice, pack_source, pack_to_vec};
pub use reader::Reader;
pub use recover::{Loss, RecoverOptions, RecoverReport, recover};
pub use rewrite::{MetadataEdit, RewriteOptions, rewrite, rewrite_file, set_metadata};
pub use stream::StreamWriter;
pub use unpack::{Progress, UnpackOptions};
pub use verify::{Report, VerifyOptions, verify, verify_source};
pub use write_options::WriterOptions;
pub use writer::Writer;
