//! Copying the intact chunks of a damaged file to a new file.

pub(crate) mod recover;
mod survey;

pub use recover::{Loss, RecoverOptions, RecoverReport, recover};
