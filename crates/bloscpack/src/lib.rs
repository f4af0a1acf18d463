#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod array;
mod change;
mod diagnostic;
mod error;
mod format;
pub mod journal;
mod options;
mod parallel;
mod read;
mod repair;
mod verify;
mod write;

pub use array::{Array, ArrayInfo, Datatype, Order, Slice, pack_array, pack_npy};
pub use binio::blosc::{Compressor, Shuffle};
// The types of other crates that this API is made of.
pub use array::{half, num_complex};
pub use binio::{self, Bytes, Limits, ReadAt};
pub use change::append::{AppendOptions, Appended, Appender, append};
pub use change::rewrite::{MetadataEdit, RewriteOptions, rewrite, rewrite_file, set_metadata};
pub use diagnostic::{Code, Diagnostic, Severity};
pub use error::{Error, ErrorKind, MetadataError, Part, Result};
pub use format::checksum::Checksum;
pub use format::chunking::{ChunkSize, Chunking};
pub use format::header::{Header, Version};
pub use format::layout::{ChunkEntry, Layout};
pub use format::metadata::encode::MetadataOptions;
pub use format::metadata::{MetaHeader, Metadata, exact_json};
pub use options::{ChunkOrder, OpenOptions, Strictness, Verify};
pub use read::chunk::Scratch;
pub use read::reader::Reader;
pub use read::unpack::{Progress, UnpackOptions};
pub use repair::recover::{Loss, RecoverOptions, RecoverReport, recover};
pub use verify::{VerifyOptions, VerifyReport, verify, verify_source};
pub use write::options::WriteOptions;
pub use write::pack::{pack_file, pack_reader, pack_slice, pack_source, pack_to_file, pack_to_vec};
pub use write::stream::StreamWriter;
pub use write::writer::Writer;
