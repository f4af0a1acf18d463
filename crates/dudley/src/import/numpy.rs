//! Layouts for numpy arrays.

use std::fmt::Write as _;

use binio::array::{Datatype, Record, ScalarKind, ScalarType};

use crate::error::Error;
use crate::layout::{Attribute, Value, attributes};
use crate::text::{format, quote};

/// Creates a layout for a file written by numpy's `tofile`. The layout has one item, an array with
/// this datatype and shape.
///
/// A record becomes a struct whose members keep their offsets. Types that Dudley lacks, such as dates, become
/// integers or bytes. The attribute `numpy` then contains the original type.
///
/// ```
/// use dudley::array::Datatype;
///
/// let record = Datatype::parse("[('id', '<i4'), ('pos', '<f8', (3,)), ('label', 'S5')]")?;
/// assert_eq!(
///     dudley::import::from_numpy("p", &record, &[100])?,
///     "p = { %1\n  id = <i4\n  pos = <f8[3] %1\n  label = S1[5]\n}[100]\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Fails with [`Layout`](crate::ErrorKind::Layout) if a dimension, size or offset is too large for a layout.
pub fn from_numpy(name: &str, datatype: &Datatype, shape: &[u64]) -> Result<String, Error> {
    let mut text = String::new();
    Described::of(datatype).declare(&mut text, name, shape, "", None);
    format(text)
}

/// Appends the declaration of an array whose elements begin at `address`, in C order.
#[cfg(feature = "hdf5")]
pub(super) fn push_array(
    out: &mut String,
    name: &str,
    datatype: &Datatype,
    shape: &[u64],
    address: u64,
) {
    Described::of(datatype).declare(out, name, shape, &format!(" @{address}"), None);
}

/// A numpy datatype, described in the layout language.
pub(super) struct Described {
    text: String,
    /// The last dimension that the type adds to the shape: the length of a string type in
    /// characters or code units, or the size in bytes of a type that is described as bytes.
    len: Option<u64>,
    align: u64,
    /// The name of the numpy type, if Dudley has no equivalent type.
    numpy: Option<String>,
}

impl Described {
    pub(super) fn of(datatype: &Datatype) -> Self {
        match datatype {
            Datatype::Scalar(scalar) => Self::scalar(*scalar),
            Datatype::Record(record) => Self::record(record),
        }
    }

    fn bytes(size: u64, numpy: String) -> Self {
        Self { text: "u1".to_owned(), len: Some(size), align: 1, numpy: Some(numpy) }
    }

    fn scalar(scalar: ScalarType) -> Self {
        let size = scalar.size();
        let (letter, unit, is_text) = match scalar.kind() {
            ScalarKind::Bool => ('b', size, false),
            ScalarKind::Int | ScalarKind::Timedelta(_) | ScalarKind::Datetime(_) => {
                ('i', size, false)
            }
            ScalarKind::Uint => ('u', size, false),
            ScalarKind::Float if size <= 8 => ('f', size, false),
            ScalarKind::Complex if size <= 16 => ('c', size, false),
            ScalarKind::Bytes => ('S', 1, true),
            ScalarKind::Utf8 => ('U', 1, true),
            ScalarKind::Utf16 => ('U', 2, true),
            ScalarKind::Unicode => ('U', 4, true),
            _ => return Self::bytes(size, scalar.to_string()),
        };
        let is_number =
            !matches!(scalar.kind(), ScalarKind::Timedelta(_) | ScalarKind::Datetime(_));
        let mark = match scalar.component_width() {
            1 => "",
            _ if scalar.endian() == binio::Endian::Big => ">",
            _ => "<",
        };
        Self {
            text: format!("{mark}{letter}{unit}"),
            len: is_text.then_some(size / unit),
            align: unit.min(8),
            numpy: (!is_number).then(|| scalar.to_string()),
        }
    }

    fn record(record: &Record) -> Self {
        let (mut cursor, mut end, mut align) = (0_u64, 0_u64, 1);
        let mut members = String::new();
        for field in record.fields() {
            let (datatype, offset, size) =
                (Self::of(field.datatype()), field.offset(), field.size());
            let aligned = if size == 0 { cursor } else { cursor.next_multiple_of(datatype.align) };
            let place = if offset == aligned {
                align = align.max(datatype.align);
                String::new()
            } else if offset == cursor {
                " %1".to_owned()
            } else {
                format!(" @{offset}")
            };
            // Give unnamed members an address. Otherwise, a struct with a single unnamed member
            // would be a typedef.
            let place = if field.name().is_empty() { format!(" @{offset}") } else { place };
            let title = field.title().map(|title| ("title", title));
            datatype.declare(&mut members, field.name(), field.shape(), &place, title);
            cursor = offset + size;
            end = end.max(cursor);
        }
        let size = record.itemsize();
        let mut text = "{".to_owned();
        if end.next_multiple_of(align) != size {
            align = 1;
            text.push_str(" %1");
        }
        text.push('\n');
        text.push_str(&members);
        if end.next_multiple_of(align) != size {
            let name = (0..=record.fields().len())
                .map(|n| format!("padding{n}"))
                .find(|name| record.field(name).is_none());
            let place = if cursor == end { String::new() } else { format!(" @{end}") };
            let _ = writeln!(text, "{} = u1[{}]{place}", name.unwrap_or_default(), size - end);
        }
        text.push('}');
        Self { text, len: None, align, numpy: None }
    }

    /// Appends `name = type[shape] place  #: attributes`.
    pub(super) fn declare(
        &self,
        out: &mut String,
        name: &str,
        shape: &[u64],
        place: &str,
        attribute: Option<(&str, &str)>,
    ) {
        quote::push_name(out, name);
        let _ = write!(out, " = {}", self.text);
        let dims: Vec<String> = shape.iter().chain(&self.len).map(ToString::to_string).collect();
        if !dims.is_empty() {
            let _ = write!(out, "[{}]", dims.join(", "));
        }
        out.push_str(place);
        let numpy = self.numpy.as_ref().map(|numpy| ("numpy", numpy.as_str()));
        let mut before = "  #: ";
        for (name, value) in attribute.into_iter().chain(numpy) {
            out.push_str(before);
            before = ", ";
            let value = Value::Text(value.to_owned());
            attributes::push(out, &Attribute { name: name.to_owned(), value });
        }
        out.push('\n');
    }
}
