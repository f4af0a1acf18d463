//! The addresses of everything.
//!
//! A *cursor* runs over the declarations in order of the text, through all dicts and lists. It starts
//! at 0, or at 16 after the signature of a native file. Each array and stored parameter is placed:
//!
//! | placement | address |
//! |---|---|
//! | `@A` | A, from the start of the stream, or of the instance in a struct |
//! | other, and it has no bytes | the cursor |
//! | `%a`, a above 0 | the next multiple of a |
//! | none, or `%0` | the next multiple of the alignment of the type |
//!
//! The cursor then moves to the end of it. After something whose size depends on the stream (a compressed
//! array, a struct with parameters that its own shapes use) the cursor is unknown until the next `@A`,
//! unless a stream is given.
//!
//! The size of a struct depends on the values of its free names, which are the same for many uses. So it is
//! computed once for each type and set of values, without listing members. [`Limits::max_steps`] bounds the
//! work for hostile layouts.

mod align;
mod diagnose;
mod diff;
mod measure;
mod member;
mod pass;
mod scope;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "array")]
mod strided;
mod table;
mod values;

use binio::ReadAt;

pub use diff::{Change, ChangeKind, Comparison, diff};
pub use member::MemberRow;
pub use table::{AddressTable, Array, Row};
pub use values::Values;

use crate::error::{Error, ErrorKind};
use crate::layout::{ItemId, Layout, Order};
use crate::options::Limits;
use crate::signature::{SIGNATURE_LEN, Signature};
use pass::Pass;

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

/// Where the values of stored parameters come from.
enum Input<'a> {
    Values(Values),
    Stream(&'a dyn ReadAt),
}

/// Finds the addresses of a layout, for given values of its parameters or for a stream.
///
/// ```
/// use dudley::{Layout, Resolver, Values};
///
/// let layout = Layout::parse("N : i2  x = f8[N]  y = i4")?;
/// let table = Resolver::new(&layout).values(Values::new().with("N", 3)).table()?;
/// let x = table.find("/x")?;
/// assert_eq!((x.address(), x.shape(), x.nbytes()), (Some(8), vec![3], Some(24)));
///
/// let stream = vec![2_u8, 0, 0, 0];
/// let resolver = Resolver::new(&layout).order(dudley::Order::Little).stream(&stream)?;
/// assert_eq!(resolver.table()?.find("/y")?.address(), Some(24));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Resolver<'a> {
    layout: &'a Layout,
    input: Input<'a>,
    order: Option<Order>,
    signed_order: Option<Order>,
    start: u64,
    /// Where data end: at the layout that is appended to the stream, or at the end of the stream.
    end: u64,
    origin: Origin,
    complex_align: ComplexAlign,
    tail_padding: bool,
    limits: Limits,
}

impl<'a> Resolver<'a> {
    /// A resolver without values.
    pub fn new(layout: &'a Layout) -> Self {
        Self {
            layout,
            input: Input::Values(Values::new()),
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

    /// Sets the values of stored parameters.
    #[must_use]
    pub fn values(mut self, values: Values) -> Self {
        self.input = Input::Values(values);
        self
    }

    /// Reads the values of stored parameters, and whatever else is needed, from a stream. If the stream
    /// begins with the signature of a native file, data begin after it.
    ///
    /// # Errors
    /// If the stream cannot be read, or if its signature is damaged or points beyond the end.
    pub fn stream(mut self, stream: &'a dyn ReadAt) -> Result<Self, Error> {
        let len = usize::try_from(stream.len().min(SIGNATURE_LEN)).unwrap_or_default();
        match Signature::parse(&stream.bytes_at(0, len)?) {
            Ok(signature) if signature.layout_address <= stream.len() => {
                self.signed_order = Some(signature.order);
                self.start = SIGNATURE_LEN;
                self.end = match signature.layout_address {
                    0 => stream.len(),
                    address => address,
                };
            }
            Ok(Signature { layout_address, .. }) => {
                let address = i64::try_from(layout_address).unwrap_or(i64::MAX);
                return Err(ErrorKind::LayoutAddress { address, len: Some(stream.len()) }.into());
            }
            Err(error) => match *error.kind() {
                // A short stream may be anything.
                ErrorKind::NotNative | ErrorKind::TruncatedSignature { len: 0..4 } => {
                    (self.start, self.end) = (0, stream.len());
                }
                _ => return Err(error),
            },
        }
        self.input = Input::Stream(stream);
        Ok(self)
    }

    /// Sets whether data begin after the signature of a native file. Ignored for a stream, which shows it.
    #[must_use]
    pub fn native(mut self, native: bool) -> Self {
        if matches!(self.input, Input::Values(_)) {
            self.start = if native { SIGNATURE_LEN } else { 0 };
        }
        self
    }

    /// Sets the byte order for a layout and a signature that state none. Default: that of this machine.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets the alignment of complex types.
    #[must_use]
    pub fn complex_align(mut self, align: ComplexAlign) -> Self {
        self.complex_align = align;
        self
    }

    /// Sets the origin of addresses in a native file.
    ///
    /// ```
    /// use dudley::{Layout, Origin, Resolver};
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
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
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
    pub fn tail_padding(mut self, padding: bool) -> Self {
        self.tail_padding = padding;
        self
    }

    /// Sets the limits, of which [`max_steps`](Limits::max_steps) bounds the work.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The byte order of types without a prefix.
    pub fn default_order(&self) -> Order {
        let stated = self.layout.order().or(self.signed_order).or(self.order);
        stated.unwrap_or_else(Order::native)
    }

    /// The layout.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The origin of addresses, and where the cursor begins, counted from there.
    fn begin(&self) -> (u64, u64) {
        match self.origin {
            Origin::Signature => (0, self.start),
            Origin::Data => (self.start, 0),
        }
    }

    /// The addresses of everything that is stored.
    ///
    /// # Errors
    /// [`Overflow`](crate::Code::Overflow), [`ParamTooSmall`](crate::Code::ParamTooSmall), and
    /// [`ValueUnknown`](crate::Code::ValueUnknown) for a shape that depends on such a value;
    /// [`StreamTooShort`](crate::Code::StreamTooShort) and
    /// [`CompressedLength`](crate::Code::CompressedLength) for a stream.
    pub fn table(&self) -> Result<AddressTable<'a>, Error> {
        let mut pass = Pass::new(self);
        pass.run(0..self.layout.declarations().len())?;
        Ok(pass.into_table())
    }

    /// The address of one item. With given values, this places only the items after the last stated address
    /// before it; in a stream, all items before it.
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
        Ok(self.table_to(item)?.and_then(|table| table.row_of(item)))
    }

    /// The addresses that [`locate`](Self::locate) finds on its way; that of the item is the last. The table
    /// also has the shape and type of the item.
    ///
    /// # Errors
    /// As [`table`](Self::table). Returns `None` if the item is not data.
    ///
    /// ```
    /// use dudley::{Found, Layout, Resolver, Values};
    ///
    /// let layout = Layout::parse("N : i4  a = f8[N]  g/ b = {x = i2}[N, 2] @100  c = f8")?;
    /// let Found::Item(b, _) = layout.find("/g/b")? else { panic!() };
    /// let resolver = Resolver::new(&layout).values(Values::new().with("N", 3));
    /// let table = resolver.table_to(b)?.unwrap();
    /// assert_eq!(table.rows().len(), 1);
    /// assert_eq!(table.iter().last().unwrap().shape(), [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table_to(&self, item: ItemId) -> Result<Option<AddressTable<'a>>, Error> {
        let mut pass = Pass::new(self);
        let Some(range) = pass.needed_for(item) else { return Ok(None) };
        pass.run(range)?;
        Ok(Some(pass.into_table()))
    }
}
