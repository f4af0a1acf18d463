//! The primitive types and byte orders.
//!
//! ```text
//! i1 i2 i4 i8   u1 u2 u4 u8   f2 f4 f8   c4 c8 c16   b1   S1   U1 U2 U4
//! ```
//!
//! In the name of a type, the letter denotes the kind, and the number is the size in bytes. The
//! size of a complex number includes the real and imaginary parts.

use std::fmt;

/// The byte order of numbers in the stream.
///
/// ```
/// use dudley::{Layout, Order, Resolver, Rules};
///
/// let layout = Layout::parse("x = i2  y = >i2")?;
/// let table = Resolver::new(&layout).rules(Rules::new().order(Order::Little)).table()?;
/// assert_eq!((table.find("/x")?.dtype(), table.find("/y")?.dtype()), ("<i2".to_owned(), ">i2".to_owned()));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// `<`: little-endian, least significant byte first.
    Little,
    /// `>`: big-endian, most significant byte first.
    Big,
}

impl Order {
    /// Returns the character that denotes the byte order, `<` or `>`.
    pub fn mark(self) -> char {
        match self {
            Self::Little => '<',
            Self::Big => '>',
        }
    }

    /// Returns the byte order of this machine.
    pub fn native() -> Self {
        if cfg!(target_endian = "big") { Self::Big } else { Self::Little }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.mark())
    }
}

/// The kind of a primitive type, given by the letter in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `i`: a signed integer in two's complement.
    Signed,
    /// `u`: an unsigned integer.
    Unsigned,
    /// `f`: an IEEE 754 float.
    Float,
    /// `c`: a complex number, stored as two floats.
    Complex,
    /// `b`: a boolean, where zero is false.
    Boolean,
    /// `S`: one byte of a string.
    Byte,
    /// `U`: one code unit of UTF-8, UTF-16 or UTF-32.
    Unicode,
}

/// The primitive types: their names with each byte order, their kinds, and their sizes in bytes.
const TABLE: [([&str; 2], Kind, u8); 19] = [
    (["<i1", ">i1"], Kind::Signed, 1),
    (["<i2", ">i2"], Kind::Signed, 2),
    (["<i4", ">i4"], Kind::Signed, 4),
    (["<i8", ">i8"], Kind::Signed, 8),
    (["<u1", ">u1"], Kind::Unsigned, 1),
    (["<u2", ">u2"], Kind::Unsigned, 2),
    (["<u4", ">u4"], Kind::Unsigned, 4),
    (["<u8", ">u8"], Kind::Unsigned, 8),
    (["<f2", ">f2"], Kind::Float, 2),
    (["<f4", ">f4"], Kind::Float, 4),
    (["<f8", ">f8"], Kind::Float, 8),
    (["<c4", ">c4"], Kind::Complex, 4),
    (["<c8", ">c8"], Kind::Complex, 8),
    (["<c16", ">c16"], Kind::Complex, 16),
    (["<b1", ">b1"], Kind::Boolean, 1),
    (["<S1", ">S1"], Kind::Byte, 1),
    (["<U1", ">U1"], Kind::Unicode, 1),
    (["<U2", ">U2"], Kind::Unicode, 2),
    (["<U4", ">U4"], Kind::Unicode, 4),
];

/// The indices of the types in `TABLE`, by the first two characters of their names. Comparing a name with
/// each type in turn would account for a fifth of the time spent checking a layout.
const BY_START: [u8; 1024] = {
    let mut numbers = [0; 1024];
    let mut number = 0;
    while (number as usize) < TABLE.len() {
        let [name, _] = TABLE[number as usize].0;
        let name = name.as_bytes();
        numbers[start(name[1], name[2])] = number;
        number += 1;
    }
    numbers
};

/// Returns the index in `BY_START` for the first two characters of a name. Each type in `TABLE` has
/// a different index.
const fn start(kind: u8, size: u8) -> usize {
    (kind as usize & 63) << 4 | size as usize & 15
}

/// A primitive type, without a byte order.
///
/// ```
/// use dudley::layout::{Kind, Primitive};
///
/// let c16 = Primitive::from_name("c16").unwrap();
/// assert_eq!((c16.kind(), c16.size()), (Kind::Complex, 16));
/// assert!(Primitive::from_name("f16").is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Primitive(u8);

impl Primitive {
    pub(crate) const BYTE: Self = Self(0);
    /// The number of primitive types.
    pub(crate) const COUNT: usize = TABLE.len();

    /// Returns the primitive type with this name, or `None` if there is no such type.
    pub fn from_name(name: &str) -> Option<Self> {
        let &[kind, size, ..] = name.as_bytes() else { return None };
        let found = Self(BY_START[start(kind, size)]);
        (found.name() == name).then_some(found)
    }

    /// Iterates over all primitive types, ordered by kind and size.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..).take(TABLE.len()).map(Self)
    }

    /// Returns the name of the type, such as `f8`.
    pub fn name(self) -> &'static str {
        &TABLE[self.index()].0[0][1..]
    }

    /// Returns the name of the type with a byte order, such as `<f8`. Omits the byte order if a
    /// value is a single byte.
    pub(crate) fn ordered_name(self, order: Order) -> &'static str {
        let [little, big] = TABLE[self.index()].0;
        match order {
            _ if self.unit() == 1 => self.name(),
            Order::Little => little,
            Order::Big => big,
        }
    }

    /// Returns the kind of the type.
    pub fn kind(self) -> Kind {
        TABLE[self.index()].1
    }

    /// Returns the size of a value in bytes.
    pub fn size(self) -> u64 {
        u64::from(TABLE[self.index()].2)
    }

    /// Returns the number of bytes that a byte order applies to: the size of a value or, for a complex number,
    /// of its real or imaginary part.
    pub(crate) fn unit(self) -> u64 {
        if self.kind() == Kind::Complex { self.size() / 2 } else { self.size() }
    }

    /// Returns `true` for signed and unsigned integers. Only these types are valid for parameters.
    pub fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_order_is_omitted_from_the_names_of_single_byte_types() {
        for primitive in Primitive::all() {
            let is_ordered = primitive.unit() > 1;
            for order in [Order::Little, Order::Big] {
                let expected =
                    if is_ordered { format!("{order}{primitive}") } else { primitive.to_string() };
                assert_eq!(primitive.ordered_name(order), expected);
            }
        }
    }

    #[test]
    fn only_names_in_the_table_are_primitives() {
        for primitive in Primitive::all() {
            assert_eq!(Primitive::from_name(primitive.name()), Some(primitive));
        }
        assert_eq!(Primitive::all().count(), Primitive::COUNT);
        for name in
            ["", "i", "i16", "f1", "c2", "b2", "S2", "U8", "i08", "I4", "i1 ", "f8\0", "c16\0"]
        {
            assert_eq!(Primitive::from_name(name), None, "{name:?}");
        }
    }
}
