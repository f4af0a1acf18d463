//! `.npy` files of numpy.

use binio::ReadAt;
use binio::array::npy::Header;

use super::super::numpy::push_npy;
use super::{Imported, format, past_end, path_of};
use crate::error::Error;

/// The layout of a `.npy` file, as [`from_npy`](crate::from_npy). That the file holds the data is checked.
pub(super) fn import_npy(name: &str, file: &dyn ReadAt) -> Result<Imported, Error> {
    let (header, address) = Header::read(file)?;
    let mut text = String::new();
    push_npy(&mut text, name, &header, address);
    let error = past_end(path_of(name), address, header.byte_size(), file.len());
    Ok(Imported { layout: format(text)?, errors: error.into_iter().collect() })
}
