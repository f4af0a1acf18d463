//! Computing the addresses of a layout, for given parameter values or for a stream.

use std::ops::Deref;
use std::sync::OnceLock;

use binio::ReadAt;

use super::inputs::Inputs;
use super::pass::Pass;
use super::rules::Rules;
use super::table::{AddressTable, Row};
use crate::error::Error;
use crate::layout::{ItemId, Layout, Order};
use crate::signature::Signature;

/// A resolver, which computes the addresses of a layout for given parameter values or for a stream.
///
/// ```
/// use dudley::{Layout, Resolver, Rules, Values};
///
/// let layout = Layout::parse("N : i2  x = f8[N]  y = i4")?;
/// let table = Resolver::new(&layout).rules(Rules::new().values(Values::new().with("N", 3))).table()?;
/// let x = table.find("/x")?;
/// assert_eq!((x.address(), &x.shape()[..], x.nbytes()), (Some(8), &[3][..], Some(24)));
///
/// let stream = vec![2_u8, 0, 0, 0];
/// let resolver = Resolver::new(&layout).rules(Rules::new().order(dudley::Order::Little)).stream(&stream)?;
/// assert_eq!(resolver.table()?.find("/y")?.address(), Some(24));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The layout may be a reference or an [`Arc`](std::sync::Arc); tables contain a clone of it.
pub struct Resolver<'a, L = &'a Layout> {
    pub(crate) layout: L,
    pub(crate) inputs: Inputs<'a>,
    /// All addresses in the stream, which are computed when the first item is located.
    passed: OnceLock<(AddressTable<L>, Option<Error>)>,
}

impl<'a, L: Deref<Target = Layout> + Clone> Resolver<'a, L> {
    /// Creates a resolver with the default rules, no values and no stream.
    pub fn new(layout: L) -> Self {
        Self { layout, inputs: Inputs::new(Rules::new()), passed: OnceLock::new() }
    }

    /// Returns the inputs without the stream.
    #[cfg(feature = "read")]
    pub(crate) fn into_inputs(self) -> Inputs<'static> {
        self.inputs.without_stream()
    }

    /// Sets the stream to the bytes of a native file that precede its appended layout.
    #[cfg(feature = "write")]
    pub(crate) fn native_stream(self, data: &'a dyn ReadAt, order: Order) -> Self {
        self.with(|inputs| inputs.set_stream(data, Some(order), Signature::LEN, data.len()))
    }

    fn with(self, change: impl FnOnce(&mut Inputs<'a>)) -> Self {
        let Self { layout, mut inputs, .. } = self;
        change(&mut inputs);
        Self { layout, inputs, passed: OnceLock::new() }
    }

    /// Sets the rules, which include the values of stored parameters.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Self {
        self.with(|inputs| inputs.rules = rules)
    }

    /// Sets the stream from which the values of stored parameters and the lengths of compressed arrays are
    /// read. If the stream begins with the signature of a native file, data begins after the signature.
    ///
    /// # Errors
    ///
    /// Same as [`Signature::of`].
    pub fn stream(self, stream: &'a dyn ReadAt) -> Result<Self, Error> {
        let (order, start, end) = match Signature::of(stream)? {
            Some(signature) => (Some(signature.order), Signature::LEN, signature.data_end(stream)),
            None => (None, 0, stream.len()),
        };
        Ok(self.with(|inputs| inputs.set_stream(stream, order, start, end)))
    }

    /// Sets whether the data begins after the signature of a native file. Has no effect if a stream is set,
    /// because the stream determines where the data begins.
    #[must_use]
    pub fn native(self, native: bool) -> Self {
        self.with(|inputs| inputs.set_native(native))
    }

    /// Returns the byte order of types that have no byte order prefix.
    pub fn default_order(&self) -> Order {
        self.inputs.default_order(&self.layout)
    }

    /// Returns the layout whose addresses are computed.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the addresses of all stored items and parameters.
    ///
    /// ```
    /// use dudley::{Layout, Resolver, Rules, Values};
    ///
    /// let layout = Layout::parse("N : i4  x = f8[N]")?;
    /// let rules = Rules::new().values(Values::new().with("N", 3));
    /// let table = Resolver::new(&layout).rules(rules).table()?;
    /// let x = table.find("/x")?;
    /// assert_eq!((x.address(), x.nbytes()), (Some(8), Some(24)));
    /// assert!(Resolver::new(&layout).table().is_err(), "N has no value");
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Overflow`](crate::diagnostic::Code::Overflow) if a size, address or value is too large,
    /// with [`ParamTooSmall`](crate::diagnostic::Code::ParamTooSmall) if the value of a dimension is below -1,
    /// with [`ValueUnknown`](crate::diagnostic::Code::ValueUnknown) if a shape depends on a parameter without a
    /// value, and with [`BeyondLimit`](crate::diagnostic::Code::BeyondLimit) if the layout takes too many
    /// steps. With a stream, also fails with [`StreamTooShort`](crate::diagnostic::Code::StreamTooShort) or
    /// [`CompressedLength`](crate::diagnostic::Code::CompressedLength), or if the stream cannot be read.
    pub fn table(&self) -> Result<AddressTable<L>, Error> {
        match self.partial_table() {
            (table, None) => Ok(table),
            (_, Some(error)) => Err(error),
        }
    }

    /// Returns the addresses up to the first address that cannot be computed. Also returns the
    /// error that ended the table, such as a missing value or a stream that ends too early, or
    /// `None` if the table is complete.
    ///
    /// ```
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("a = i4  N : u1  b = i4[N]  M : u1  c = i4[M]")?;
    /// let stream = [0, 0, 0, 0, 2].to_vec();
    /// let resolver = Resolver::new(&layout).stream(&stream)?;
    /// let (table, error) = resolver.partial_table();
    /// assert_eq!(table.rows().len(), 3);
    /// assert!(error.unwrap().to_string().contains("the stream ends at 5"));
    /// # Ok::<(), dudley::Error>(())
    /// ```
    pub fn partial_table(&self) -> (AddressTable<L>, Option<Error>) {
        let mut pass = Pass::new(&self.layout, &self.inputs);
        let error = pass.run(0..self.layout.declarations().len()).err();
        (pass.into_table(self.layout.clone()), error)
    }

    /// Returns the address of one item, or `None` if the item is not data. Without a stream, this computes only
    /// the addresses in [`table_to`](Self::table_to). With a stream, the first call computes all addresses,
    /// and later calls look them up.
    ///
    /// ```
    /// use dudley::{ItemId, Layout, Resolver};
    ///
    /// let layout = Layout::parse("a = f8[9] -> gzip  b = i1 @100  c = i4")?;
    /// let c = layout.child(ItemId::ROOT, "c").unwrap();
    /// let c = Resolver::new(&layout).locate(c)?.unwrap();
    /// assert_eq!(c.address(), Some(104));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`table`](Self::table).
    pub fn locate(&self, item: ItemId) -> Result<Option<Row>, Error> {
        if self.inputs.stream.is_none() {
            return Ok(self.table_to(item)?.and_then(|table| table.row_of(item)));
        }
        if self.layout.data_of(item).is_none() {
            return Ok(None);
        }
        let (table, error) = self.passed.get_or_init(|| self.partial_table());
        match (table.row_of(item), error) {
            (None, Some(error)) => Err(error.clone()),
            (row, _) => Ok(row),
        }
    }

    /// Returns an address table that ends with the row of an item, or `None` if the item is not
    /// data. The table contains only the rows that determine the address of the item. Without a
    /// stream, it begins with the item itself if the item has an explicit address, otherwise with the
    /// last earlier item or parameter that has an explicit address. If there is none, or if a stream
    /// is set, the table begins with the first declaration.
    ///
    /// ```
    /// use dudley::layout::Found;
    /// use dudley::{Layout, Resolver, Rules, Values};
    ///
    /// let layout = Layout::parse("N : i4  a = f8[N]  g/ b = {x = i2}[N, 2] @100  c = f8")?;
    /// let Found::Item(b, _) = layout.find("/g/b")? else { panic!() };
    /// let resolver = Resolver::new(&layout).rules(Rules::new().values(Values::new().with("N", 3)));
    /// let table = resolver.table_to(b)?.unwrap();
    /// assert_eq!(table.rows().len(), 1);
    /// assert_eq!(table.iter().last().unwrap().shape()[..], [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`table`](Self::table).
    pub fn table_to(&self, item: ItemId) -> Result<Option<AddressTable<L>>, Error> {
        let mut pass = Pass::new(&self.layout, &self.inputs);
        let Some(range) = pass.needed_for(item) else { return Ok(None) };
        pass.run(range)?;
        Ok(Some(pass.into_table(self.layout.clone())))
    }
}
