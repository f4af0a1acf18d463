//! The addresses of a layout, for given values of its parameters or for a stream.

use std::ops::Deref;
use std::sync::OnceLock;

use binio::ReadAt;

use super::pass::Pass;
use super::rules::{ComplexAlign, Origin, Rules};
use super::table::{AddressTable, Row};
use super::values::Values;
use crate::error::Error;
use crate::layout::{ItemId, Layout, Order};
use crate::options::Limits;
use crate::signature::Signature;

/// Finds the addresses of a layout, for given values of its parameters or for a stream.
///
/// ```
/// use dudley::{Layout, Resolver, Values};
///
/// let layout = Layout::parse("N : i2  x = f8[N]  y = i4")?;
/// let table = Resolver::new(&layout).values(Values::new().with("N", 3)).table()?;
/// let x = table.find("/x")?;
/// assert_eq!((x.address(), &x.shape()[..], x.nbytes()), (Some(8), &[3][..], Some(24)));
///
/// let stream = vec![2_u8, 0, 0, 0];
/// let resolver = Resolver::new(&layout).order(dudley::Order::Little).stream(&stream)?;
/// assert_eq!(resolver.table()?.find("/y")?.address(), Some(24));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The layout is borrowed, or shared: then the table that it makes holds the layout too.
pub struct Resolver<'a, L = &'a Layout> {
    pub(crate) layout: L,
    pub(crate) rules: Rules<'a>,
    /// The addresses in the stream, once an item was located.
    passed: OnceLock<(AddressTable<L>, Option<Error>)>,
}

impl<'a, L: Deref<Target = Layout> + Clone> Resolver<'a, L> {
    /// A resolver without values.
    pub fn new(layout: L) -> Self {
        Self { layout, rules: Rules::new(), passed: OnceLock::new() }
    }

    /// The rules without the stream.
    #[cfg(feature = "read")]
    pub(crate) fn into_rules(self) -> Rules<'static> {
        Rules { stream: None, ..self.rules }
    }

    /// Reads values from the data of a native file, without its layout.
    #[cfg(feature = "write")]
    pub(crate) fn native_stream(self, data: &'a dyn ReadAt, order: Order) -> Self {
        self.with(|rules| {
            (rules.signed_order, rules.start, rules.end) =
                (Some(order), Signature::LEN, data.len());
            rules.stream = Some(data);
        })
    }

    fn with(self, change: impl FnOnce(&mut Rules<'a>)) -> Self {
        let Self { layout, mut rules, .. } = self;
        change(&mut rules);
        Self { layout, rules, passed: OnceLock::new() }
    }

    /// Sets the values of stored parameters. Of a stream they are used for parameters that it does not hold,
    /// because it ends before them or because their addresses are not known.
    #[must_use]
    pub fn values(self, values: Values) -> Self {
        self.with(|rules| rules.values = values)
    }

    /// Reads the values of stored parameters, and whatever else is needed, from a stream. If the stream
    /// begins with the signature of a native file, data begin after it.
    ///
    /// # Errors
    /// If the stream cannot be read, or if its signature is damaged or points beyond the end.
    pub fn stream(self, stream: &'a dyn ReadAt) -> Result<Self, Error> {
        let (order, start, end) = match Signature::of(stream)? {
            Some(signature) => (Some(signature.order), Signature::LEN, signature.data_end(stream)),
            None => (None, 0, stream.len()),
        };
        Ok(self.with(|rules| {
            (rules.signed_order, rules.start, rules.end) = (order, start, end);
            rules.stream = Some(stream);
        }))
    }

    /// Sets whether data begin after the signature of a native file. Ignored for a stream, which shows it.
    #[must_use]
    pub fn native(self, native: bool) -> Self {
        self.with(|rules| {
            if rules.stream.is_none() {
                rules.start = if native { Signature::LEN } else { 0 };
            }
        })
    }

    /// Sets the byte order for a layout and a signature that state none. Default: that of this machine.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        self.with(|rules| rules.order = Some(order))
    }

    /// Sets the alignment of complex types.
    #[must_use]
    pub fn complex_align(self, align: ComplexAlign) -> Self {
        self.with(|rules| rules.complex_align = align)
    }

    /// Sets the origin of addresses in a native file.
    ///
    /// ```
    /// use dudley::place::Origin;
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("a = i1  b = i1 @8  c = f8 %32")?;
    /// let addresses = |origin| -> Result<Vec<_>, dudley::Error> {
    ///     let table = Resolver::new(&layout).native(true).origin(origin).table()?;
    ///     Ok(table.rows().iter().filter_map(|row| row.address()).collect())
    /// };
    /// assert_eq!(addresses(Origin::Signature)?, [16, 8, 32]);
    /// assert_eq!(addresses(Origin::Data)?, [16, 24, 48]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn origin(self, origin: Origin) -> Self {
        self.with(|rules| rules.origin = origin)
    }

    /// Sets whether the size of a struct is rounded up to its alignment, as in C and numpy. Otherwise it ends
    /// with its last member, and the next instance of an array follows directly, aligned or not.
    ///
    /// ```
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("x = { a = f8  b = i1 }[2]  y = i1")?;
    /// let end = |padding| Resolver::new(&layout).tail_padding(padding).table().map(|it| it.end());
    /// assert_eq!((end(true)?, end(false)?), (Some(33), Some(19)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn tail_padding(self, padding: bool) -> Self {
        self.with(|rules| rules.tail_padding = padding)
    }

    /// Sets the limits, of which [`max_steps`](Limits::max_steps) bounds the work.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        self.with(|rules| rules.limits = limits)
    }

    /// The byte order of types without a prefix.
    pub fn default_order(&self) -> Order {
        self.rules.default_order(&self.layout)
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The addresses of everything that is stored.
    ///
    /// # Errors
    /// [`Overflow`](crate::diagnostic::Code::Overflow), [`ParamTooSmall`](crate::diagnostic::Code::ParamTooSmall), and
    /// [`ValueUnknown`](crate::diagnostic::Code::ValueUnknown) for a shape that depends on such a value;
    /// [`StreamTooShort`](crate::diagnostic::Code::StreamTooShort) and
    /// [`CompressedLength`](crate::diagnostic::Code::CompressedLength) for a stream.
    pub fn table(&self) -> Result<AddressTable<L>, Error> {
        match self.partial_table() {
            (table, None) => Ok(table),
            (_, Some(error)) => Err(error),
        }
    }

    /// The addresses of everything up to the first that cannot be found, and the error there: a stream that
    /// ends too early, a value that is missing.
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
        let mut pass = Pass::new(&self.layout, &self.rules);
        let error = pass.run(0..self.layout.declarations().len()).err();
        (pass.into_table(self.layout.clone()), error)
    }

    /// The address of one item. With given values, this places only the items after the last stated address
    /// before it. In a stream, the first call finds all addresses, and later calls look them up.
    ///
    /// # Errors
    /// As [`table`](Self::table). Returns `None` if the item is not data.
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
    pub fn locate(&self, item: ItemId) -> Result<Option<Row>, Error> {
        if self.rules.stream.is_none() {
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

    /// The addresses on which that of an item depends; that of the item is the last. With given values, they
    /// begin at the last stated address before it; in a stream, at the beginning. The table also has the shape
    /// and type of the item.
    ///
    /// # Errors
    /// As [`table`](Self::table). Returns `None` if the item is not data.
    ///
    /// ```
    /// use dudley::layout::Found;
    /// use dudley::{Layout, Resolver, Values};
    ///
    /// let layout = Layout::parse("N : i4  a = f8[N]  g/ b = {x = i2}[N, 2] @100  c = f8")?;
    /// let Found::Item(b, _) = layout.find("/g/b")? else { panic!() };
    /// let resolver = Resolver::new(&layout).values(Values::new().with("N", 3));
    /// let table = resolver.table_to(b)?.unwrap();
    /// assert_eq!(table.rows().len(), 1);
    /// assert_eq!(table.iter().last().unwrap().shape()[..], [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table_to(&self, item: ItemId) -> Result<Option<AddressTable<L>>, Error> {
        let mut pass = Pass::new(&self.layout, &self.rules);
        let Some(range) = pass.needed_for(item) else { return Ok(None) };
        pass.run(range)?;
        Ok(Some(pass.into_table(self.layout.clone())))
    }
}
