//! Creating layouts for files in other formats, for C structs and for numpy types. The files are
//! not changed, and can then be read with the layout.
//!
//! | first bytes | format | module |
//! |---|---|---|
//! | `93 4e 55 4d 50 59` | numpy `.npy` file | `npy` |
//! | `50 4b` | numpy `.npz` file: a zip archive of `.npy` files | `npz` |
//! | `43 44 46 01`, `02` or `05` | netCDF-3: CDF-1, CDF-2, CDF-5 | `netcdf` |
//! | `89 48 44 46 0d 0a 1a 0a` | HDF5, netCDF-4 | `hdf5` |
//!
//! The module `file` recognises the format of a file. `c` and `numpy` create layouts for C structs and numpy
//! types.

mod c;
#[cfg(feature = "read")]
mod file;
#[cfg(feature = "hdf5")]
mod hdf5;
#[cfg(feature = "read")]
mod imported;
#[cfg(feature = "read")]
mod netcdf;
#[cfg(feature = "read")]
mod npy;
#[cfg(feature = "read")]
mod npz;
#[cfg(feature = "read")]
mod numpy;

pub use c::from_c;
#[cfg(feature = "read")]
pub use file::from_file;
#[cfg(feature = "hdf5")]
pub use hdf5::from_hdf5;
#[cfg(feature = "read")]
pub use imported::Imported;
#[cfg(feature = "read")]
pub use netcdf::from_netcdf;
#[cfg(feature = "read")]
pub use npy::from_npy;
#[cfg(feature = "read")]
pub use npz::from_npz;
#[cfg(feature = "read")]
pub use numpy::from_numpy;
