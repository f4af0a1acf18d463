//! Inspecting archives: reading files at any position, listing, comparing and verifying.

mod diff;
mod list;
#[cfg(unix)]
mod on_disk;
mod pattern;
mod reader;
mod verify;

pub use diff::{Change, Difference, diff, same_content};
pub use list::{INVALID_ENTRY, LongLine, truncate_line};
pub use pattern::{fnmatch, selects};
pub use reader::ContentReader;
pub use verify::{VerifyOptions, VerifyReport};
