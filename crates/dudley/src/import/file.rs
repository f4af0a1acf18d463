//! Recognising the format of a file by its first bytes.

use binio::ReadAt;

#[cfg(feature = "hdf5")]
use super::hdf5::from_hdf5;
#[cfg(not(feature = "hdf5"))]
use super::imported::no_layout_for;
use super::imported::{Imported, damaged};
use super::netcdf::from_netcdf;
use super::npy::import_npy;
use super::npz::from_npz;
use crate::error::Error;

/// Creates a layout for a `.npy`, `.npz`, netCDF-3 or (with the feature `hdf5`) HDF5 file. The format is
/// recognised by the first bytes. For a `.npy` file, `name` becomes the name of the array.
///
/// ```
/// use dudley::array::npy::Header;
/// use dudley::array::{Datatype, Order};
///
/// let header = Header::new(Datatype::parse("<f4")?, Order::C, vec![2])?;
/// let file = [header.to_bytes(), vec![0; 8]].concat();
/// let imported = dudley::import::from_file("x", file.clone())?;
/// assert_eq!(imported.layout, "x = <f4[2] @128\n");
/// assert!(imported.errors.is_empty());
///
/// let cut = dudley::import::from_file("x", file[..130].to_vec())?;
/// assert_eq!(cut.errors[0].to_string(), "`/x` is at bytes 128 to 136, but the file ends at byte 130");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails with [`Import`](crate::ErrorKind::Import) if the file is damaged or has another format, or if the
/// content of an HDF5 file cannot be read, and with [`NoLayoutFor`](crate::ErrorKind::NoLayoutFor) for an
/// HDF5 file if this build lacks the feature `hdf5`. Fails with [`Read`](crate::ErrorKind::Read) if the file
/// cannot be read, or if the header of a `.npy` file is not valid. Fails with
/// [`Layout`](crate::ErrorKind::Layout) if a dimension or size in the file is too large for a layout.
pub fn from_file(name: &str, file: impl ReadAt + 'static) -> Result<Imported, Error> {
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
            Err(no_layout_for("/".to_owned(), "this build lacks the feature `hdf5`"))
        }
        [] => Err(damaged(".npy, .npz, netCDF or HDF5", 0, "the file is empty")),
        found => {
            let found: Vec<String> = found.iter().map(|byte| format!("{byte:02x}")).collect();
            let expected = "expected 93 4e 55 4d 50 59 (.npy), 50 4b (.npz), 43 44 46 (netCDF-3) or 89 48 \
                            44 46 0d 0a 1a 0a (HDF5)";
            let message = format!("{expected}, found {}", found.join(" "));
            Err(damaged(".npy, .npz, netCDF or HDF5", 0, message))
        }
    }
}

/// Returns `true` if there is an HDF5 signature at offset 0, 512, 1024, 2048 or a higher power of two.
/// The signature is not at offset 0 if the file begins with a user block.
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
