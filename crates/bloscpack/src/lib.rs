#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod array;
pub mod change;
pub mod diagnostic;
mod error;
pub mod format;
pub mod journal;
mod options;
mod parallel;
mod read;
pub mod repair;
mod verify;
mod write;

pub use error::{Error, ErrorKind, Result};
pub use format::checksum::Checksum;
pub use format::chunking::ChunkSize;
pub use options::{ChunkOrder, OpenOptions, Strictness, Verify};
pub use read::chunk::Scratch;
pub use read::reader::Reader;
pub use read::unpack::{Progress, UnpackOptions};
pub use verify::{VerifyOptions, VerifyReport, verify, verify_source};
pub use write::options::WriteOptions;
pub use write::pack::{pack_file, pack_reader, pack_slice, pack_source, pack_to_file, pack_to_vec};
pub use write::stream::StreamWriter;
pub use write::writer::Writer;

pub use binio::blosc::{Compressor, Shuffle};
pub use binio::{Limits, ReadAt};
pub use bytes::Bytes;
