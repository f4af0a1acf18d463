//! Saving the whole chunks of a file that is damaged.

pub(crate) mod recover;
mod survey;
