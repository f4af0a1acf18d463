//! Address tables: the addresses of stored items and parameters.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use super::inputs::Inputs;
use super::rules::{ComplexAlign, Rules};
use super::scope::{Base, Element, Number, Scope};
use crate::error::{Error, ErrorKind};
use crate::layout::{
    Data, Datatype, Filter, ItemId, Layout, Order, ParamId, ParamValue, Primitive, Subject,
};

/// The number that stands for an unknown address or size.
const UNKNOWN: u64 = u64::MAX;

/// The address and size of a stored item or parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    subject: Subject,
    address: u64,
    nbytes: u64,
}

impl Row {
    pub(crate) fn new(subject: Subject, address: Option<u64>, nbytes: Option<u64>) -> Self {
        let [address, nbytes] = [address, nbytes].map(|known| known.unwrap_or(UNKNOWN));
        Self { subject, address, nbytes }
    }

    /// Returns the item or parameter that the row describes.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Returns the address in bytes from the start of the stream, or `None` if the address cannot be
    /// computed without a stream.
    pub fn address(&self) -> Option<u64> {
        (self.address != UNKNOWN).then_some(self.address)
    }

    /// Returns the size in bytes, including inner padding and the count of a compressed array.
    /// Returns `None` if the size cannot be computed without a stream.
    pub fn nbytes(&self) -> Option<u64> {
        (self.nbytes != UNKNOWN).then_some(self.nbytes)
    }
}

/// The addresses of all items and parameters that a layout stores, in order of declaration.
///
/// The table keeps the layout that was passed to the [`Resolver`](super::Resolver), either a reference or an
/// [`Arc`]. With an `Arc`, the table borrows nothing:
///
/// ```
/// use std::sync::Arc;
/// use dudley::{AddressTable, Layout, Resolver};
///
/// fn table(text: &str) -> Result<AddressTable, dudley::Error> {
///     Resolver::new(Arc::new(Layout::parse(text)?)).table()
/// }
///
/// let table = table("a = i4  b = f8[3]")?;
/// let b = std::thread::spawn(move || table.find("/b").map(|b| b.address())).join().unwrap()?;
/// assert_eq!(b, Some(8));
/// # Ok::<(), dudley::Error>(())
/// ```
#[derive(Clone)]
pub struct AddressTable<L = Arc<Layout>> {
    layout: L,
    order: Order,
    rows: Vec<Row>,
    end: Option<u64>,
    /// The values of parameters, by parameter number.
    pub(crate) values: Vec<Number>,
    /// The alignment of complex types used for this table.
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "used only for reading records"))]
    pub(crate) complex_align: ComplexAlign,
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "used only for reading records"))]
    pub(crate) tail_padding: bool,
}

#[cfg(feature = "read")]
impl<L> AddressTable<L> {
    /// Returns the rows of the table, and the values of all parameters.
    pub(crate) fn into_parts(self) -> (Vec<Row>, Vec<Number>) {
        (self.rows, self.values)
    }
}

impl<L: Deref<Target = Layout>> AddressTable<L> {
    pub(crate) fn new(
        layout: L,
        inputs: &Inputs<'_>,
        rows: Vec<Row>,
        end: Option<u64>,
        values: Vec<Number>,
    ) -> Self {
        let Rules { complex_align, tail_padding, .. } = inputs.rules;
        let order = inputs.default_order(&layout);
        Self { layout, order, rows, end, values, complex_align, tail_padding }
    }

    /// Returns the layout whose addresses are in the table.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the value of a fixed or stored parameter of a dict, or `None` if the value is not
    /// known.
    pub fn value(&self, param: ParamId) -> Option<i64> {
        self.values.get(param.index())?.known()
    }

    /// Returns the byte order of types that have no byte order prefix.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the address at which the last declared item or parameter ends, or `None` if the
    /// address is not known.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// Returns the rows in order of declaration.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Iterates over the rows, with the type and shape of each.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        self.rows.iter().map(|&row| self.entry(row))
    }

    /// Returns the entry for a row, which gives access to its type and shape.
    pub fn entry(&self, row: Row) -> Entry<'_> {
        let &Self { order, complex_align, tail_padding, .. } = self;
        let (layout, values) = (&*self.layout, &*self.values);
        Entry { layout, values, order, complex_align, tail_padding, row }
    }

    /// Returns the values of parameters, by parameter number.
    #[cfg(feature = "read")]
    pub(crate) fn numbers(&self) -> &[Number] {
        &self.values
    }

    /// Returns the row that describes an item, or `None` if there is no such row.
    pub fn row_of(&self, item: ItemId) -> Option<Row> {
        Some(self.rows[self.index_of(item.into())?])
    }

    /// Returns the index of the row that describes an item or parameter, or `None` if there is no
    /// such row.
    pub(crate) fn index_of(&self, subject: Subject) -> Option<usize> {
        let Subject::Item(item) = subject else {
            return self.rows.iter().position(|row| row.subject == subject);
        };
        // Use binary search: items are sorted, although parameters occur between them.
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low.midpoint(high);
            let mut at = middle;
            let found = loop {
                match self.rows.get(at).filter(|_| at < high)?.subject {
                    Subject::Item(found) => break found,
                    _ if at + 1 < high => at += 1,
                    _ => break ItemId::LAST,
                }
            };
            match found.cmp(&item) {
                std::cmp::Ordering::Equal => return Some(at),
                std::cmp::Ordering::Less => low = at + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Returns the entry for the array or stored parameter at a path. For members of structs, see
    /// [`Resolver::walk`](super::Resolver::walk).
    ///
    /// # Errors
    ///
    /// Fails with [`Path`](ErrorKind::Path) if the path is malformed, and with
    /// [`NotFound`](ErrorKind::NotFound) if nothing exists at the path. Fails with
    /// [`NotData`](ErrorKind::NotData) if the path leads to a dict, list, fixed parameter, member or
    /// instance, which have no rows, or if the row is missing from a partial table.
    pub fn find(&self, path: &str) -> Result<Entry<'_>, Error> {
        let (subject, inside) = self.layout.stored_at(path)?;
        let not_data = |what| Error::from(ErrorKind::NotData { path: path.to_owned(), what });
        if !inside.is_empty() {
            return Err(not_data("a part of an item"));
        }
        let index = self.index_of(subject).ok_or_else(|| not_data("not in the address table"))?;
        Ok(self.entry(self.rows[index]))
    }
}

/// Dimensions, slowest varying first. Up to four are stored without allocation.
///
/// ```
/// let layout = dudley::Layout::parse("grid = f8[2, 3]")?;
/// let table = dudley::Resolver::new(&layout).table()?;
/// assert_eq!(table.find("/grid")?.shape()[..], [2, 3]);
/// # Ok::<(), dudley::Error>(())
/// ```
pub type Shape = smallvec::SmallVec<[u64; 4]>;

/// A row of an address table, with access to its type and shape.
#[derive(Clone, Copy)]
pub struct Entry<'t> {
    pub(crate) layout: &'t Layout,
    pub(crate) values: &'t [Number],
    pub(crate) order: Order,
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "used only for reading records"))]
    pub(crate) complex_align: ComplexAlign,
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "used only for reading records"))]
    pub(crate) tail_padding: bool,
    row: Row,
}

impl<'t> Entry<'t> {
    /// Returns the path of the item or parameter.
    pub fn path(&self) -> String {
        self.layout.subject_path(self.row.subject)
    }

    /// Same as [`Row::address`].
    pub fn address(&self) -> Option<u64> {
        self.row.address()
    }

    /// Same as [`Row::nbytes`].
    pub fn nbytes(&self) -> Option<u64> {
        self.row.nbytes()
    }

    /// Returns the row that this entry describes.
    pub fn row(&self) -> Row {
        self.row
    }

    /// Returns the dimensions, slowest varying first, followed by the dimensions of typedefs.
    pub fn shape(&self) -> Shape {
        self.element_and_shape().1
    }

    /// Returns the element and the dimensions. The element is `None` for a parameter.
    pub(super) fn element_and_shape(&self) -> (Option<Element>, Shape) {
        let mut shape = Shape::new();
        let Some(data) = self.data() else { return (None, shape) };
        let push = |len| shape.push(len);
        let element = Scope::new(self.values).element(self.layout, data, 0, push).ok();
        (element, shape)
    }

    /// Returns the type of the elements, including the byte order. Typedefs are resolved.
    pub fn datatype(&self) -> Datatype {
        self.datatype_of(self.element())
    }

    /// Like [`datatype`](Self::datatype), but uses an element that the caller has already computed.
    pub(super) fn datatype_of(&self, element: Option<Element>) -> Datatype {
        if let Subject::Param(id) = self.row.subject {
            if let ParamValue::Stored { integer, order, .. } = self.layout.param(id).value {
                return Datatype::Primitive(integer, order.or(Some(self.order)));
            }
        }
        element.map_or(Datatype::Primitive(Primitive::BYTE, None), |element| {
            element.datatype(self.order)
        })
    }

    /// Returns the name of the element type: `<f8`, `i1`, the name of a struct, or `{}` for an anonymous
    /// struct.
    pub fn dtype(&self) -> String {
        dtype(self.layout, self.datatype()).into_owned()
    }

    /// Returns the filter, or `None` if there is no filter. If typedefs add filters, the outermost
    /// `->` filter takes precedence.
    pub fn filter(&self) -> Option<&'t Filter> {
        self.element().and_then(|element| element.filter(self.layout))
    }

    /// Returns `true` if the data is stored compressed.
    pub fn is_compressed(&self) -> bool {
        self.element().is_some_and(|element| element.is_compressed)
    }

    /// Returns `true` if the size depends on the contents of the struct instances.
    pub fn is_indeterminate(&self) -> bool {
        self.element().is_some_and(|element| element.is_indeterminate(self.layout))
    }

    /// Returns the layout that declares the item or parameter.
    pub fn layout(&self) -> &'t Layout {
        self.layout
    }

    pub(crate) fn data(&self) -> Option<&'t Data> {
        let Subject::Item(id) = self.row.subject else { return None };
        self.layout.data_of(id)
    }

    pub(crate) fn element(&self) -> Option<Element> {
        Scope::new(self.values).element(self.layout, self.data()?, 0, |_| ()).ok()
    }
}

impl Element {
    /// Returns the type of the elements, including the byte order.
    pub(crate) fn datatype(&self, default: Order) -> Datatype {
        match self.base {
            Base::Primitive(primitive, order) => {
                Datatype::Primitive(primitive, order.or(Some(default)))
            }
            Base::Struct(id, _) => Datatype::Struct(id),
        }
    }

    pub(crate) fn filter<'a>(&self, layout: &'a Layout) -> Option<&'a Filter> {
        self.filter.map(|id| layout.filter_of(id))
    }

    pub(crate) fn is_indeterminate(&self, layout: &Layout) -> bool {
        match self.base {
            Base::Primitive(..) => false,
            Base::Struct(id, _) => layout.struct_type(id).is_indeterminate && !self.is_compressed,
        }
    }
}

/// Returns the arrow and the name of a filter, such as `-> gzip`.
pub(crate) fn filter_text(filter: &Filter) -> String {
    format!("{} {}", filter.kind, filter.name)
}

/// Returns the name of a type whose typedefs and byte order are resolved.
pub(crate) fn dtype(layout: &Layout, datatype: Datatype) -> Cow<'static, str> {
    match datatype {
        Datatype::Primitive(primitive, Some(order)) => primitive.ordered_name(order).into(),
        Datatype::Primitive(primitive, None) => primitive.name().into(),
        Datatype::Struct(id) => {
            layout.type_name(id).map_or("{}".into(), |name| name.to_owned().into())
        }
    }
}
