//! The parts of a file: where they are, and its blocks.

pub(crate) mod blocks;
#[cfg(any(unix, windows))]
pub(crate) mod journal;
pub(crate) mod locate;
