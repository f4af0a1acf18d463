//! Files whose data a layout describes: native files and any others.
//!
//! | module | what it does |
//! |---|---|
//! | `open` | finds the layout, reads parameters, resolves addresses |
//! | `blocks` | small reads, a block at a time |
//! | `value` | arrays, members and instances by path |
//! | `instances` | structs that differ in size |
//! | `filter` | compressed arrays, references to items |
//! | `json` | values as JSON |
//! | `numpy` | arrays in types that numpy has |
//! | `explain` | what a byte belongs to |
//! | `create`, `writer`, `sequential` | new files: by position, or in one pass |
//! | `place`, `convert`, `missing` | where something is put, as what, and what is missing |
//! | `extend`, `patch` | more data in a native file; other values in any file |
//! | `pipe` | what cannot go back, read in order |
//! | `family` | many files behind one layout |
//! | `verify` | checks a layout, or a native file with its layout |

#[cfg(feature = "array")]
mod blocks;
#[cfg(feature = "write")]
mod convert;
#[cfg(feature = "write")]
mod create;
#[cfg(feature = "array")]
mod explain;
#[cfg(feature = "write")]
mod extend;
#[cfg(feature = "array")]
mod family;
#[cfg(feature = "array")]
mod filter;
#[cfg(feature = "array")]
mod instances;
#[cfg(feature = "array")]
mod json;
#[cfg(feature = "array")]
mod list;
#[cfg(feature = "write")]
mod missing;
#[cfg(feature = "array")]
mod numpy;
#[cfg(feature = "array")]
mod open;
#[cfg(feature = "write")]
mod patch;
#[cfg(feature = "array")]
mod pipe;
#[cfg(feature = "write")]
mod place;
#[cfg(feature = "write")]
mod sequential;
#[cfg(feature = "array")]
mod value;
mod verify;
#[cfg(feature = "write")]
mod writer;

#[cfg(feature = "write")]
pub use create::WriteOptions;
#[cfg(feature = "array")]
pub use explain::Explanation;
#[cfg(feature = "write")]
pub use extend::{ExtendMode, Extension};
#[cfg(feature = "array")]
pub use family::{Family, Summaries, Template, file_names};
#[cfg(feature = "array")]
pub use filter::{
    Compress, Declared, FilterError, FilterRegistry, Reference, Referenced, References,
};
#[cfg(feature = "array")]
pub use instances::{Instance, Instances};
#[cfg(feature = "array")]
pub use list::List;
#[cfg(feature = "array")]
pub use numpy::for_numpy;
#[cfg(feature = "array")]
pub use open::OpenOptions;
#[cfg(feature = "write")]
pub use patch::Patch;
#[cfg(feature = "write")]
pub(crate) use place::integer_bytes;
#[cfg(feature = "array")]
pub use value::{Array, File, FileBytes};
pub use verify::{VerifyOptions, VerifyReport, verify};
#[cfg(feature = "write")]
pub use writer::{WriteReport, Writer};

use binio::ReadAt;

use crate::error::{Error, ErrorKind};
use crate::signature::Signature;

/// The bytes of the layout that is appended to a native file.
///
/// # Errors
/// [`NotNative`](ErrorKind::NotNative) for another file, [`NoLayout`](ErrorKind::NoLayout) if the layout is in
/// another file; other kinds if the signature is damaged or the file cannot be read.
///
/// ```
/// let native = b"\x8d<BD\r\n\x1a\n\x14\0\0\0\0\0\0\0\x07\0\0\0x = i4\n";
/// assert_eq!(dudley::appended_layout(&native[..])?, b"x = i4\n");
/// # Ok::<(), dudley::Error>(())
/// ```
pub fn appended_layout(file: &(impl ReadAt + ?Sized)) -> Result<Vec<u8>, Error> {
    let file: &dyn ReadAt = &file;
    let signature = Signature::of(file)?.ok_or(ErrorKind::NotNative)?;
    match signature.layout_address {
        0 => Err(ErrorKind::NoLayout { is_native: true }.into()),
        _ => appended_text(file, signature),
    }
}

/// The text of an appended layout.
pub(crate) fn appended_text(file: &dyn ReadAt, signature: Signature) -> Result<Vec<u8>, Error> {
    let address = signature.layout_address;
    verify::part(file, address, file.len().saturating_sub(address))
}
