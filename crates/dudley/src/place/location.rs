//! The location of an array, which can be described without access to the file.

use std::borrow::Cow;
use std::ops::Range;

use binio::array::{self, Datatype, Strided, c_strides};

use super::table::Shape;
use crate::error::Error;

/// The location and type of an array.
///
/// ```
/// use dudley::{File, Layout, Order};
///
/// let layout = Layout::parse("< n = i4  p = { x = u1  y = u2[3] }[2]")?;
/// let y = File::from_bytes(vec![0; 20], layout)?.locate("/p.y")?;
/// assert_eq!((y.address(), y.nbytes(), y.dtype()), (6, 12, "<u2"));
/// assert_eq!((y.shape(), y.strides()), (&[2, 3][..], &[8, 2][..]));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    address: u64,
    shape: Shape,
    dtype: Cow<'static, str>,
    datatype: Datatype,
    /// The stride of each dimension in bytes. The last dimension of strings, which is their length,
    /// has no stride.
    strides: Vec<i64>,
}

impl Location {
    /// Creates the location of an array with contiguous elements at an address. For each enclosing
    /// array of instances, `outer` contains the number of instances and the distance in bytes
    /// between them. `shape` contains the dimensions, and `array_type` the element type and the
    /// dimensions without the length of strings.
    pub(crate) fn new(
        address: u64,
        outer: &[(u64, u64)],
        shape: &[u64],
        dtype: Cow<'static, str>,
        array_type: (Datatype, &[u64]),
    ) -> Result<Self, binio::Error> {
        let (datatype, own) = array_type;
        let mut strides = c_strides(own, datatype.itemsize())?;
        let signed = |&(_, stride): &(u64, u64)| i64::try_from(stride).unwrap_or(i64::MAX);
        strides.splice(..0, outer.iter().map(signed));
        let around = outer.iter().map(|&(len, _)| len);
        let shape = around.chain(shape.iter().copied()).collect();
        Ok(Self { address, shape, dtype, datatype, strides })
    }

    /// Returns the address of the first element, in bytes from the start of the file.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the total size of the elements in bytes.
    pub fn nbytes(&self) -> u64 {
        array::byte_size(self.array_type().1, self.datatype.itemsize()).unwrap_or(u64::MAX)
    }

    /// Returns the dimensions as in [`Entry::shape`](crate::place::Entry::shape), preceded by the
    /// dimensions of the enclosing arrays of instances.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the name of the type, as in [`Entry::dtype`](crate::place::Entry::dtype).
    pub fn dtype(&self) -> &str {
        &self.dtype
    }

    /// Returns the element type for [`binio::array`], and the dimensions. For strings, the last
    /// dimension is omitted, because the element type includes the length.
    pub fn array_type(&self) -> (&Datatype, &[u64]) {
        (&self.datatype, &self.shape[..self.strides.len()])
    }

    /// Returns the distance in bytes between elements, for each dimension of [`array_type`](Self::array_type).
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// Returns the element type and the strides of this array for [`binio::array::Array`], checked against a
    /// file of `len` bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`Read`](crate::ErrorKind::Read) if the file is too short, or if the array has more than 64
    /// dimensions.
    pub fn strided(&self, len: u64) -> Result<(Datatype, Strided), Error> {
        self.clone().into_strided(len)
    }

    /// Like [`strided`](Self::strided), but does not copy the type.
    pub(crate) fn into_strided(self, len: u64) -> Result<(Datatype, Strided), Error> {
        let Self { address, datatype, mut shape, strides, .. } = self;
        shape.truncate(strides.len());
        let strided = Strided::new(shape.into_vec(), strides, address, datatype.itemsize(), len);
        Ok((datatype, strided.map_err(binio::Error::from)?))
    }

    /// Returns the range of bytes from the start of the first element to the end of the last
    /// element.
    pub(crate) fn extent(&self) -> Result<Range<u64>, Error> {
        Ok(self.strided(i64::MAX.unsigned_abs())?.1.extent())
    }
}
