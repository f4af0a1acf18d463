//! The rules by which addresses are found.

use super::values::Values;
use crate::layout::Order;
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

/// The rules by which addresses are found, and the values that they depend on. They are the same for resolving a
/// layout, opening a file and writing one.
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
    /// The defaults: those of the document of the language.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the values of stored parameters. A file that is read takes precedence: they are used for parameters
        /// that it does not hold, because it ends before them or because their addresses are not known.
        values: Values;
        /// Sets the byte order of types without a prefix, for a layout and a signature that state none. Default: that
        /// of this machine.
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
        /// Sets whether the size of a struct is rounded up to its alignment, as in C and numpy. Otherwise it ends
        /// with its last member, and the next instance of an array follows directly, aligned or not. Default: yes.
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
        /// Sets the limits, of which [`max_steps`](Limits::max_steps) bounds the work.
        limits: Limits;
    }

    /// Returns `true` if addresses are those of a compiled layout: nothing but the byte order is set.
    #[cfg(feature = "read")]
    pub(crate) fn are_default(&self) -> bool {
        self.values.is_empty()
            && self.complex_align == ComplexAlign::default()
            && self.origin == Origin::default()
            && self.tail_padding
    }
}
