//! JSON as written in an archive: values, strings, text and base64. They are decoded when they are read, not when they
//! are parsed.

mod base64;
mod cursor;
mod escape;
mod repair;
mod text;

pub use base64::Base64;
pub(crate) use cursor::{Cursor, integer};
pub use cursor::{Json, JsonError};
pub(crate) use escape::encode as escape;
pub use repair::repair_commas;
pub use text::{Text, TextError};
