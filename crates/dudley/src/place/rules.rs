//! The rules for computing addresses.

use super::values::Values;
use crate::layout::Order;
use crate::options::Limits;

/// The alignment of the complex types `c4` and `c8`. The alignment of `c16` is always 8.
///
/// ```
/// use dudley::place::ComplexAlign;
/// use dudley::{Layout, Resolver, Rules};
///
/// let layout = Layout::parse("a = i1  z = c8")?;
/// let address = |align| {
///     let table = Resolver::new(&layout).rules(Rules::new().complex_align(align)).table()?;
///     table.find("/z").map(|z| z.address())
/// };
/// assert_eq!(address(ComplexAlign::Size)?, Some(8));
/// assert_eq!(address(ComplexAlign::Part)?, Some(4));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ComplexAlign {
    /// The size of the type, but at most 8: 8 for `c16` and `c8`, 4 for `c4`.
    #[default]
    Size,
    /// The size of the real or imaginary part, as in C and numpy: 4 for `c8`, 2 for `c4`.
    Part,
}

/// The origin of addresses in a native file. In a file without a signature, addresses count from the start of
/// the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The first byte of the signature: data begins at address 16.
    #[default]
    Signature,
    /// The first byte after the signature, as in later versions of the language: data begins at address 0.
    /// Address tables still contain offsets from the start of the file.
    Data,
}

/// The rules for computing addresses, and the parameter values that addresses depend on. The same
/// rules apply to resolving a layout, opening a file and writing a file.
///
/// ```
/// use dudley::{Layout, Order, Resolver, Rules, Values};
///
/// let layout = Layout::parse("N : i2  x = f8[N]")?;
/// let rules = Rules::new().values(Values::new().with("N", 3)).order(Order::Big);
/// let table = Resolver::new(&layout).rules(rules).table()?;
/// assert_eq!((table.find("/x")?.dtype(), table.end()), (">f8".to_owned(), Some(32)));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) values: Values,
    pub(crate) order: Option<Order>,
    pub(crate) complex_align: ComplexAlign,
    pub(crate) origin: Origin,
    pub(crate) tail_padding: bool,
    pub(crate) limits: Limits,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            values: Values::new(),
            order: None,
            complex_align: ComplexAlign::default(),
            origin: Origin::default(),
            tail_padding: true,
            limits: Limits::default(),
        }
    }
}

impl Rules {
    /// Creates the default rules, which are the rules of the language specification.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the values of stored parameters. When a file is read, the values stored in the file take
        /// precedence, and the values set here are used only for parameters that cannot be read, because the
        /// file ends before them or because their addresses are unknown.
        values: Values;
        /// Sets the byte order of types that have no byte order prefix, for files in which neither
        /// the layout nor the signature states a byte order. Default: the byte order of this
        /// machine.
        order: Order => Some(order);
        /// Sets the alignment of complex types.
        complex_align: ComplexAlign;
        /// Sets the origin of addresses in a native file.
        ///
        /// ```
        /// use dudley::place::Origin;
        /// use dudley::{Layout, Resolver, Rules};
        ///
        /// let layout = Layout::parse("a = i1  b = i1 @8  c = f8 %32")?;
        /// let addresses = |origin| -> Result<Vec<_>, dudley::Error> {
        ///     let rules = Rules::new().origin(origin);
        ///     let table = Resolver::new(&layout).native(true).rules(rules).table()?;
        ///     Ok(table.rows().iter().filter_map(|row| row.address()).collect())
        /// };
        /// assert_eq!(addresses(Origin::Signature)?, [16, 8, 32]);
        /// assert_eq!(addresses(Origin::Data)?, [16, 24, 48]);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        origin: Origin;
        /// Sets whether the size of a struct is rounded up to its alignment, as in C and numpy.
        /// Otherwise, a struct ends where the data of its fields ends, and the next instance in an
        /// array follows directly, even if it is not aligned. Default: `true`.
        ///
        /// ```
        /// use dudley::{Layout, Resolver, Rules};
        ///
        /// let layout = Layout::parse("x = { a = f8  b = i1 }[2]  y = i1")?;
        /// let end = |padding| {
        ///     let rules = Rules::new().tail_padding(padding);
        ///     Resolver::new(&layout).rules(rules).table().map(|table| table.end())
        /// };
        /// assert_eq!((end(true)?, end(false)?), (Some(33), Some(19)));
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        tail_padding: bool;
        /// Sets the limits. [`max_steps`](Limits::max_steps) limits the work of computing addresses, and
        /// [`max_diagnostics`](Limits::max_diagnostics) the number of diagnostics.
        limits: Limits;
    }

    /// Returns `true` if the addresses in a compiled layout are valid for these rules, that is, if everything
    /// except the byte order and the limits has its default value.
    #[cfg(feature = "read")]
    pub(crate) fn are_default(&self) -> bool {
        self.values.is_empty()
            && self.complex_align == ComplexAlign::default()
            && self.origin == Origin::default()
            && self.tail_padding
    }
}
