#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod base64;
mod blobref;
mod convert;
#[cfg(unix)]
mod create;
mod diff;
#[cfg(unix)]
mod dirfd;
mod edit;
mod error;
mod escape;
#[cfg(unix)]
mod extract;
mod fnmatch;
mod gc;
mod json;
pub mod kvs;
mod lenient;
mod limits;
mod list;
mod mode;
mod model;
mod pack;
mod parallel;
mod parse;
mod path;
mod profile;
mod reader;
pub mod store;
mod text;
mod verify;
mod violation;
mod write;

pub use base64::Base64;
pub use blobref::{BlobRef, BlobRefError, HashType};
pub use convert::{convert, fix};
#[cfg(unix)]
pub use create::{CreateReport, Creator, Filter, Holes, Times};
pub use diff::{Change, Difference, diff, same_content};
pub use edit::{append, delete};
pub use error::{Error, ErrorKind, Failure, Result};
#[cfg(unix)]
pub use extract::{Existing, ExtractReport, Extractor, LinkPolicy, Select};
pub use fnmatch::fnmatch;
pub use gc::{GcReport, collect_garbage};
pub use json::Json;
pub use lenient::repair_commas;
pub use limits::Limits;
pub use list::{INVALID_ENTRY, LongLine, cut_line};
pub use mode::{FileType, Mode};
pub use model::{Archive, Content, Entry, Form, Region};
pub use pack::{Externalizer, MoveReport, pack};
pub use parallel::Progress;
pub use parse::{JOBSPEC_FILES, Member, ParseOptions, RawEntries, RawEntry, value_at};
pub use path::{ArchivePath, PathError};
pub use profile::{Profile, Severity};
pub use reader::ContentReader;
pub use text::{Text, TextError};
#[cfg(unix)]
pub use verify::DiskVerifier;
pub use verify::{BlobReport, verify_blobs};
pub use violation::{Code, Violation};
pub use write::{Body, Encoding, Writer};
