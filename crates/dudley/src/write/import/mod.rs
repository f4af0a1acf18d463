//! Layouts of files of other formats. The data stay where they are, and are read as those of any file that a
//! layout describes.
//!
//! | first bytes | format | module |
//! |---|---|---|
//! | `93 4e 55 4d 50 59` | a `.npy` file of numpy | `npy` |
//! | `50 4b` | a `.npz` file of numpy: a zip archive of `.npy` files | `npz` |
//! | `43 44 46 01`, `02` or `05` | netCDF-3: CDF-1, CDF-2, CDF-5 | `netcdf` |
//! | `89 48 44 46 0d 0a 1a 0a` | HDF5, netCDF-4 | `hdf5` |

#[cfg(feature = "hdf5")]
mod hdf5;
mod netcdf;
mod npy;
mod npz;

use std::collections::HashSet;

use binio::ReadAt;

#[cfg(feature = "hdf5")]
pub use hdf5::from_hdf5;
pub use netcdf::from_netcdf;
use npy::import_npy;
pub use npz::from_npz;

use super::format;
use crate::error::{Error, ErrorKind};

/// The layout of a file of another format.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// Its text.
    pub layout: String,
    /// What it does not describe: [`NoLayoutFor`](ErrorKind::NoLayoutFor). And what it describes although the file
    /// ends before: [`PastEnd`](ErrorKind::PastEnd).
    pub errors: Vec<Error>,
}

/// The layout of a file in one of the formats `.npy`, `.npz`, netCDF-3 and, with the feature `hdf5`, HDF5,
/// which its first bytes show. The array of
/// a `.npy` file gets the given name.
///
/// # Errors
/// [`Import`](ErrorKind::Import) if the file is damaged or has another format, and if it cannot be read.
///
/// ```
/// use dudley::array::npy::Header;
/// use dudley::array::{Datatype, Order};
///
/// let header = Header::new(Datatype::parse("<f4")?, Order::C, vec![2])?;
/// let file = [header.to_bytes(), vec![0; 8]].concat();
/// let imported = dudley::import("x", file.clone())?;
/// assert_eq!(imported.layout, "x = <f4[2] @128\n");
/// assert!(imported.errors.is_empty());
///
/// let cut = dudley::import("x", file[..130].to_vec())?;
/// assert_eq!(cut.errors[0].to_string(), "`/x` is at bytes 128 to 136, but the file ends at 130");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn import(name: &str, file: impl ReadAt + 'static) -> Result<Imported, Error> {
    let mut head = [0; 8];
    let len = usize::try_from(file.len()).unwrap_or(usize::MAX).min(head.len());
    file.read_exact_at(&mut head[..len], 0)?;
    match &head[..len] {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => import_npy(name, &file),
        [b'P', b'K', ..] => from_npz(&file),
        [b'C', b'D', b'F', ..] => from_netcdf(&file),
        #[cfg(feature = "hdf5")]
        _ if is_hdf5(&file)? => from_hdf5(file),
        #[cfg(not(feature = "hdf5"))]
        _ if is_hdf5(&file)? => {
            Err(no_layout_for("/".to_owned(), "this build has no reader of HDF5"))
        }
        found => {
            let found: Vec<String> = found.iter().map(|byte| format!("{byte:02x}")).collect();
            let expected = "expected 93 4e 55 4d 50 59 (.npy), 50 4b (.npz), 43 44 46 (netCDF-3) or 89 48 \
                            44 46 (HDF5)";
            let message = format!("{expected}, found {}", found.join(" "));
            Err(damaged(".npy, .npz, netCDF or HDF5", 0, message))
        }
    }
}

/// Whether the signature of HDF5 is at 0, 512, 1024, 2048 and so on: a block of the user's may precede it.
fn is_hdf5(file: &dyn ReadAt) -> Result<bool, Error> {
    let mut signature = [0; 8];
    let places = std::iter::successors(Some(0), |&at: &u64| Some((2 * at).max(512)));
    for place in places.take_while(|&at| at.saturating_add(8) <= file.len()).take(32) {
        file.read_exact_at(&mut signature, place)?;
        if &signature == b"\x89HDF\r\n\x1a\n" {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The error for a file that is not what it should be.
fn damaged(format: &'static str, offset: u64, message: impl Into<String>) -> Error {
    Error::from(ErrorKind::Import { format, message: message.into() }).at(offset)
}

/// The error for a part that no layout describes.
fn no_layout_for(path: String, reason: impl Into<String>) -> Error {
    ErrorKind::NoLayoutFor { path, reason: reason.into() }.into()
}

/// The path of an item in the root.
fn path_of(name: &str) -> String {
    let mut path = "/".to_owned();
    crate::layout::push_name(&mut path, name);
    path
}

/// The error for data that are not all in a file.
fn past_end(path: String, start: u64, nbytes: u64, len: u64) -> Option<Error> {
    let (start, end) = (i128::from(start), i128::from(start) + i128::from(nbytes));
    (nbytes > 0 && end > i128::from(len))
        .then(|| ErrorKind::PastEnd { path, start, end, len }.into())
}

/// The names of items, of which there is one each.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn add(&mut self, name: &str, format: &'static str, offset: u64) -> Result<(), Error> {
        if self.0.insert(name.to_owned()) {
            return Ok(());
        }
        Err(damaged(format, offset, format!("the name {name:?} occurs twice")))
    }
}
