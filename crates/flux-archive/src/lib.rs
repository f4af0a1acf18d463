//! Reads and writes file archives of Flux RFC 37: files, directories and symbolic links in JSON.
#![forbid(unsafe_code)]

mod base64;
mod blobref;
mod error;
mod json;
mod limits;
mod mode;
mod model;
mod parse;
mod path;
mod profile;
mod text;
mod violation;

pub use base64::Base64;
pub use blobref::{BlobRef, BlobRefError, HashType};
pub use error::{Error, ErrorKind, Result};
pub use limits::Limits;
pub use mode::{FileType, Mode};
pub use model::{Archive, Content, Entry, Form, Region};
pub use parse::{Member, ParseOptions, RawEntries, RawEntry};
pub use path::{ArchivePath, PathError};
pub use profile::{Profile, Severity};
pub use text::{Text, TextError};
pub use violation::{Code, Violation};
