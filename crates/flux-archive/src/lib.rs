#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Defines `Debug` of a type whose fields cannot all be shown, by some of them.
macro_rules! partial_debug {
    ($($Type:ident: $($field:ident),*;)+) => {$(
        impl std::fmt::Debug for $Type<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let mut shown = f.debug_struct(stringify!($Type));
                $(shown.field(stringify!($field), &self.$field);)*
                shown.finish_non_exhaustive()
            }
        }
    )+};
}

mod diagnostic;
#[cfg(unix)]
mod disk;
mod edit;
mod error;
mod inspect;
mod json;
pub mod kvs;
mod model;
mod parallel;
mod parse;
pub mod store;
mod write;

pub use diagnostic::{Code, Diagnostic, Place, Severity};
#[cfg(unix)]
pub use disk::{
    CreateReport, Creator, Existing, ExtractReport, Extractor, Filter, Holes, LinkPolicy,
    RegionStore, Select, Times,
};
pub use edit::{Externalizer, MoveReport, append, convert, delete, fix, pack};
pub use error::{Error, ErrorKind, Failure, Result};
pub use inspect::{
    Change, ContentReader, Difference, INVALID_ENTRY, LongLine, VerifyOptions, VerifyReport,
    cut_line, diff, fnmatch, same_content, selects,
};
pub use json::{Base64, Json, JsonError, Text, TextError, repair_commas};
pub use model::{
    Archive, ArchivePath, BlobRef, BlobRefError, Content, Entry, FileType, Form, HashType, Limits,
    Mode, PathError, Profile, Region,
};
pub use parallel::Progress;
pub use parse::{JOBSPEC_FILES, Member, OpenOptions, RawEntries, RawEntry, value_at};
pub use write::{Body, Encoding, Writer};

pub use binio::{self, Bytes, ReadAt};
