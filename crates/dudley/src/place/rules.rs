//! The rules by which addresses are found.

use binio::ReadAt;

use super::values::Values;
use crate::layout::{Layout, Order};
use crate::options::Limits;

/// The alignment of the complex types except `c16`, whose alignment is always 8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComplexAlign {
    /// Their size, as for every other primitive: `c8` 8, `c4` 4.
    #[default]
    Size,
    /// That of a part, as in C and numpy: `c8` 4, `c4` 2.
    Part,
}

/// The origin of the addresses in a native file. In a file without signature they count from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// From the first byte of the signature: data begin at 16.
    #[default]
    Signature,
    /// From the first byte after it, as in later versions of the language: data begin at 0. Tables still
    /// hold addresses in the file.
    Data,
}

/// By what rules addresses are found, and from which values.
#[derive(Clone)]
pub(crate) struct Rules<'a> {
    /// Where the values of stored parameters are, and all else that determines sizes.
    pub(crate) stream: Option<&'a dyn ReadAt>,
    /// Values for a stream that does not hold them.
    pub(crate) values: Values,
    pub(crate) order: Option<Order>,
    pub(crate) signed_order: Option<Order>,
    pub(crate) start: u64,
    /// Where data end: at the layout that is appended to the stream, or at the end of the stream.
    pub(crate) end: u64,
    pub(crate) origin: Origin,
    pub(crate) complex_align: ComplexAlign,
    pub(crate) tail_padding: bool,
    pub(crate) limits: Limits,
}

impl Rules<'_> {
    pub(crate) fn new() -> Self {
        Self {
            stream: None,
            values: Values::new(),
            order: None,
            signed_order: None,
            start: 0,
            end: u64::MAX,
            origin: Origin::default(),
            complex_align: ComplexAlign::default(),
            tail_padding: true,
            limits: Limits::default(),
        }
    }

    #[cfg(feature = "read")]
    pub(crate) fn with_stream<'a>(&self, stream: &'a dyn ReadAt) -> Rules<'a> {
        Rules { stream: Some(stream), values: self.values.clone(), ..*self }
    }

    /// The values that are given.
    #[cfg(feature = "write")]
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }

    /// Sets the bytes of a compressed array that is written.
    #[cfg(feature = "write")]
    pub(crate) fn set_compressed(&mut self, path: String, len: u64) {
        self.values.set_compressed(path, len);
    }

    pub(crate) fn default_order(&self, layout: &Layout) -> Order {
        let stated = layout.order().or(self.signed_order).or(self.order);
        stated.unwrap_or_else(Order::native)
    }

    /// The origin of addresses, and where the cursor begins, counted from there.
    pub(crate) fn begin(&self) -> (u64, u64) {
        match self.origin {
            Origin::Signature => (0, self.start),
            Origin::Data => (self.start, 0),
        }
    }
}
