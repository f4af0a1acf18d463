//! Where an array is, without the file.

use std::ops::Range;

use binio::array::{self, Datatype, Strided, c_strides};

use crate::error::Error;

/// Where an array is, and what it is.
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
    shape: Vec<u64>,
    dtype: String,
    datatype: Datatype,
    /// Without the length of text.
    elements: Vec<u64>,
    strides: Vec<i64>,
}

impl Location {
    /// An array of elements side by side at an address. `outer` has the arrays of instances that enclose it: their
    /// lengths, and the bytes from one instance to the next. `array_type` has the type of an element and the dimensions
    /// without the length of text.
    pub(crate) fn new(
        address: u64,
        outer: &[(u64, u64)],
        shape: &[u64],
        dtype: String,
        array_type: (Datatype, Vec<u64>),
    ) -> Result<Self, binio::Error> {
        let (datatype, own) = array_type;
        let signed = |&(_, stride): &(u64, u64)| i64::try_from(stride).unwrap_or(i64::MAX);
        let mut strides: Vec<i64> = outer.iter().map(signed).collect();
        strides.extend(c_strides(&own, datatype.itemsize())?);
        let around = || outer.iter().map(|&(len, _)| len);
        let elements = around().chain(own).collect();
        let shape = around().chain(shape.iter().copied()).collect();
        Ok(Self { address, shape, dtype, datatype, elements, strides })
    }

    /// Of the first element, in bytes from the start of the file.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes of all elements.
    pub fn nbytes(&self) -> u64 {
        array::byte_size(&self.elements, self.datatype.itemsize()).unwrap_or(u64::MAX)
    }

    /// Its dimensions, as [`Entry::shape`](crate::place::Entry::shape); before them those of the instances that it is a
    /// member of.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The name of its type, as [`Entry::dtype`](crate::place::Entry::dtype).
    pub fn dtype(&self) -> &str {
        &self.dtype
    }

    /// The type of an element for [`binio::array`], and the dimensions: the last one of text is its length.
    pub fn array_type(&self) -> (&Datatype, &[u64]) {
        (&self.datatype, &self.elements)
    }

    /// Bytes from one element to the next, for each dimension of [`array_type`](Self::array_type).
    pub fn strides(&self) -> &[i64] {
        &self.strides
    }

    /// The type and the layout of this array in the `len` bytes of a file, for [`binio::array::Array`].
    ///
    /// # Errors
    /// [`Read`](crate::ErrorKind::Read) if the file is too short.
    pub fn strided(&self, len: u64) -> Result<(Datatype, Strided), Error> {
        self.clone().into_strided(len)
    }

    /// As [`strided`](Self::strided), without a copy of the type.
    pub(crate) fn into_strided(self, len: u64) -> Result<(Datatype, Strided), Error> {
        let Self { address, datatype, elements, strides, .. } = self;
        let strided = Strided::new(elements, strides, address, datatype.itemsize(), len);
        Ok((datatype, strided.map_err(binio::Error::from)?))
    }

    /// From the first byte to the last.
    pub(crate) fn extent(&self) -> Result<Range<u64>, Error> {
        Ok(self.strided(i64::MAX.unsigned_abs())?.1.extent())
    }
}
