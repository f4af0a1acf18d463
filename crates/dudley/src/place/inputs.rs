//! The inputs for resolving addresses: the rules, and the file if there is one.

use binio::ReadAt;

use super::rules::{Origin, Rules};
use crate::layout::{Layout, Order};
use crate::signature::Signature;

/// The rules, and the properties of the file.
#[derive(Clone)]
pub(crate) struct Inputs<'a> {
    pub(crate) rules: Rules,
    /// The file, which contains the values of stored parameters and the lengths of compressed arrays.
    pub(crate) stream: Option<&'a dyn ReadAt>,
    /// The byte order stated by the signature of the file, or `None` if it has no signature.
    signed_order: Option<Order>,
    /// The address at which the data begins.
    pub(crate) start: u64,
    /// The address at which the data ends: the address of the appended layout, the length of the file or,
    /// without a file, `u64::MAX`.
    pub(crate) end: u64,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(rules: Rules) -> Self {
        Self { rules, stream: None, signed_order: None, start: 0, end: u64::MAX }
    }

    /// Sets the file, its byte order and the range of its data.
    pub(crate) fn set_stream(
        &mut self,
        stream: &'a dyn ReadAt,
        order: Option<Order>,
        start: u64,
        end: u64,
    ) {
        (self.signed_order, self.start, self.end) = (order, start, end);
        self.stream = Some(stream);
    }

    /// Sets whether data begins after a signature. Has no effect once a file is set.
    pub(crate) fn set_native(&mut self, native: bool) {
        if self.stream.is_none() {
            self.start = if native { Signature::LEN } else { 0 };
        }
    }

    /// Returns a copy of the inputs with another source for the bytes of the file.
    #[cfg(feature = "read")]
    pub(crate) fn with_stream<'b>(&self, stream: &'b dyn ReadAt) -> Inputs<'b> {
        Inputs { stream: Some(stream), rules: self.rules.clone(), ..*self }
    }

    /// Returns the inputs without the file.
    #[cfg(feature = "read")]
    pub(crate) fn without_stream(self) -> Inputs<'static> {
        Inputs { stream: None, ..self }
    }

    /// Returns the byte order of types that have no byte order prefix.
    pub(crate) fn default_order(&self, layout: &Layout) -> Order {
        let stated = layout.order().or(self.signed_order).or(self.rules.order);
        stated.unwrap_or_else(Order::native)
    }

    /// Returns the address of the origin, and the initial cursor relative to the origin.
    pub(crate) fn begin(&self) -> (u64, u64) {
        match self.rules.origin {
            Origin::Signature => (0, self.start),
            Origin::Data => (self.start, 0),
        }
    }
}
