//! numpy `.npy` files.

use binio::ReadAt;
use binio::array::Order;
use binio::array::npy::Header;

use super::imported::{Imported, past_end, path_of};
use super::numpy::Described;
use crate::error::Error;
use crate::text::format;

/// Creates a layout for a `.npy` file, with one item for its array. If the array is in Fortran
/// order, its dimensions are reversed, and the attribute `order="F"` is added.
///
/// ```
/// use dudley::array::npy::Header;
/// use dudley::array::{Datatype, Order};
///
/// let header = Header::new(Datatype::parse("<f4")?, Order::F, vec![2, 3])?.to_bytes();
/// let layout = dudley::import::from_npy("x", &header)?;
/// assert_eq!(layout, "x = <f4[3, 2] @128  #: order=\"F\"\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails with [`Read`](crate::ErrorKind::Read) if the file cannot be read or is not a valid `.npy` file, and
/// with [`Layout`](crate::ErrorKind::Layout) if a size in the file is too large for a layout.
pub fn from_npy(name: &str, file: &dyn ReadAt) -> Result<String, Error> {
    let (header, address) = Header::read(file)?;
    let mut text = String::new();
    push_npy(&mut text, name, &header, address);
    format(text)
}

/// Appends the declaration of the array in a `.npy` file, whose data begins at `address`.
pub(super) fn push_npy(out: &mut String, name: &str, header: &Header, address: u64) {
    let mut shape = header.shape().to_vec();
    let order = (header.order() == Order::F && shape.len() > 1).then_some(("order", "F"));
    if order.is_some() {
        shape.reverse();
    }
    let place = format!(" @{address}");
    Described::of(header.datatype()).declare(out, name, &shape, &place, order);
}

/// Creates a layout for a `.npy` file, like [`from_npy`](crate::import::from_npy). Adds an error to
/// the result if the file ends before the data does.
pub(super) fn import_npy(name: &str, file: &dyn ReadAt) -> Result<Imported, Error> {
    let (header, address) = Header::read(file)?;
    let mut text = String::new();
    push_npy(&mut text, name, &header, address);
    let error = past_end(path_of(name), address, header.byte_size(), file.len());
    Ok(Imported { layout: format(text)?, errors: error.into_iter().collect() })
}
