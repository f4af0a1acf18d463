//! Writing layouts: built, formatted, or made from descriptions of other programs and from files of other
//! formats.

mod builder;
mod c;
mod format;
#[cfg(feature = "array")]
mod import;
#[cfg(feature = "array")]
mod numpy;

pub use builder::{ArrayBuilder, Builder, ListBuilder};
pub use c::from_c;
pub use format::format;
#[cfg(feature = "hdf5")]
pub use import::from_hdf5;
#[cfg(feature = "array")]
pub use import::{Imported, from_netcdf, from_npz, import};
#[cfg(feature = "array")]
pub use numpy::{from_npy, from_numpy};
