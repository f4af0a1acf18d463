//! Opening a file: its source, where its parts are, and its blocks.
//!
//! ```text
//! path --open--> source --locate--> FileParts --blocks--> BlockStore
//!         |                 |
//!      journal          numbering, if the file is damaged
//! ```
//!
//! The tree is not parsed here: [`Asdf`](crate::Asdf) does so when it is first used.

pub(crate) mod blocks;
#[cfg(any(unix, windows))]
pub(crate) mod journal;
pub(crate) mod locate;
pub(crate) mod open;
#[cfg(any(unix, windows))]
pub(crate) mod pool;
