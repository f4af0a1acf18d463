//! Writing layouts: built, formatted, or made from descriptions of other programs.

mod builder;
mod c;
mod format;
#[cfg(feature = "array")]
mod numpy;

pub use builder::{ArrayBuilder, Builder, ListBuilder};
pub use c::from_c;
pub use format::format;
#[cfg(feature = "array")]
pub use numpy::{from_npy, from_numpy};
