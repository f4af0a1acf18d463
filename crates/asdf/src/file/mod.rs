//! Opening a file: choosing its source, locating its parts, and accessing its blocks.
//!
//! ```text
//! path --open--> source --locate--> FileParts --blocks--> BlockStore
//!         |                 |
//!      journal          numbering, if the file is damaged
//! ```
//!
//! The tree is not parsed here; [`Asdf`](crate::Asdf) parses it on first use.

pub(crate) mod blocks;
#[cfg(any(unix, windows))]
pub(crate) mod journal;
pub(crate) mod locate;
pub(crate) mod open;
#[cfg(any(unix, windows))]
pub(crate) mod pool;
