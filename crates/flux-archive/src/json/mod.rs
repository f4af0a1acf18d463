//! JSON values, text and base64 in the encoded form of an archive. File contents are decoded when they are read, not
//! when the archive is parsed.

mod base64;
mod cursor;
mod escape;
mod repair;
mod text;

pub use base64::Base64;
#[cfg(unix)]
pub(crate) use base64::{are_valid as are_base64, decode_groups};
pub(crate) use cursor::{Cursor, integer};
pub use cursor::{Json, JsonError};
pub(crate) use escape::encode as escape;
#[cfg(unix)]
pub(crate) use escape::{
    MAX_CONTINUATION, MAX_ESCAPE, ROOM as UNESCAPE_ROOM, continuation, decode as unescape,
    scan_piece,
};
pub use repair::repair_commas;
pub use text::{Text, TextError};
