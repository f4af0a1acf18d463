#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

/// Implements `Debug` for a type. Shows only the listed fields, because some of the other fields do
/// not implement `Debug`.
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

pub mod diagnostic;
#[cfg(unix)]
pub mod disk;
pub mod edit;
mod error;
pub mod inspect;
pub mod json;
pub mod kvs;
mod model;
mod parallel;
pub mod parse;
pub mod store;
mod write;

pub use error::{Error, ErrorKind, Failure, Result};
pub use model::{
    Archive, ArchivePath, BlobRef, BlobRefError, Content, Entry, FileType, Form, HashType, Limits,
    Mode, PathError, Profile, Region,
};
pub use parallel::Progress;
pub use parse::options::OpenOptions;
pub use write::{Body, Encoding, Writer};

pub use binio::{Bytes, ReadAt};
