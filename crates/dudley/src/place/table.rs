//! The result: addresses, and what is stored there.

use std::ops::Deref;
use std::sync::Arc;

use super::inputs::Inputs;
use super::rules::{ComplexAlign, Rules};
use super::scope::{Base, Element, Number, Scope};
use crate::error::{Error, ErrorKind};
use crate::layout::{
    Data, Datatype, Filter, ItemId, Layout, Order, ParamId, ParamValue, Primitive, Subject,
};

/// Stands for an address or size that is not known.
const UNKNOWN: u64 = u64::MAX;

/// Something that is stored: data or a parameter.
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

    /// The item or parameter.
    pub fn subject(&self) -> Subject {
        self.subject
    }

    /// Bytes from the start of the stream; none after something whose size depends on the stream.
    pub fn address(&self) -> Option<u64> {
        (self.address != UNKNOWN).then_some(self.address)
    }

    /// The number of bytes, inner padding included, and for a compressed array the count before its bytes;
    /// none if it depends on the stream.
    pub fn nbytes(&self) -> Option<u64> {
        (self.nbytes != UNKNOWN).then_some(self.nbytes)
    }
}

/// The addresses of everything that a layout stores, in order of declaration.
///
/// It holds its layout as the [`Resolver`](super::Resolver) was given it: borrowed, or shared in an [`Arc`].
/// With an `Arc` it borrows nothing:
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
    /// By number of the parameter.
    pub(crate) values: Vec<Number>,
    /// How structs were measured.
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "for records only"))]
    pub(crate) complex_align: ComplexAlign,
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "for records only"))]
    pub(crate) tail_padding: bool,
}

#[cfg(feature = "read")]
impl<L> AddressTable<L> {
    /// The rows, and the values of parameters.
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

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The value of a parameter of a dict, fixed or stored; none if it is not known.
    pub fn value(&self, param: ParamId) -> Option<i64> {
        self.values.get(param.index())?.known()
    }

    /// The byte order of types without a prefix.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The address after the last item.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// The rows, in order of declaration.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows with what is stored there.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Entry<'_>> {
        self.rows.iter().map(|&row| self.entry(row))
    }

    /// A row with what is stored there.
    pub fn entry(&self, row: Row) -> Entry<'_> {
        let &Self { order, complex_align, tail_padding, .. } = self;
        let (layout, values) = (&*self.layout, &*self.values);
        Entry { layout, values, order, complex_align, tail_padding, row }
    }

    /// The values of parameters, by their numbers.
    #[cfg(feature = "read")]
    pub(crate) fn numbers(&self) -> &[Number] {
        &self.values
    }

    /// The row of an item.
    pub fn row_of(&self, item: ItemId) -> Option<Row> {
        Some(self.rows[self.index_of(item.into())?])
    }

    /// The number of the row of an item or parameter.
    pub(crate) fn index_of(&self, subject: Subject) -> Option<usize> {
        let Subject::Item(item) = subject else {
            return self.rows.iter().position(|row| row.subject == subject);
        };
        // Items are in order, with parameters between them.
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

    /// The array or parameter of a path. For members of structs see
    /// [`Resolver::walk`](super::Resolver::walk).
    ///
    /// # Errors
    /// If the path leads to nothing, or to something that has no row: a dict, a list, a fixed parameter, a member or an
    /// instance.
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

/// Dimensions, slowest varying first: a slice that takes no allocation for up to four of them.
///
/// ```
/// let layout = dudley::Layout::parse("grid = f8[2, 3]")?;
/// let table = dudley::Resolver::new(&layout).table()?;
/// assert_eq!(table.find("/grid")?.shape()[..], [2, 3]);
/// # Ok::<(), dudley::Error>(())
/// ```
pub type Shape = smallvec::SmallVec<[u64; 4]>;

/// A row with what is stored there.
#[derive(Clone, Copy)]
pub struct Entry<'t> {
    pub(crate) layout: &'t Layout,
    pub(crate) values: &'t [Number],
    pub(crate) order: Order,
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "for records only"))]
    pub(crate) complex_align: ComplexAlign,
    #[cfg_attr(not(feature = "read"), allow(dead_code, reason = "for records only"))]
    pub(crate) tail_padding: bool,
    row: Row,
}

impl<'t> Entry<'t> {
    /// Its path.
    pub fn path(&self) -> String {
        self.layout.subject_path(self.row.subject)
    }

    /// As [`Row::address`].
    pub fn address(&self) -> Option<u64> {
        self.row.address()
    }

    /// As [`Row::nbytes`].
    pub fn nbytes(&self) -> Option<u64> {
        self.row.nbytes()
    }

    /// The row.
    pub fn row(&self) -> Row {
        self.row
    }

    /// Its dimensions, slowest varying first; those of typedefs follow.
    pub fn shape(&self) -> Shape {
        let mut shape = Shape::new();
        let Some(data) = self.data() else { return shape };
        let push = |len| shape.push(len);
        let _ = Scope::new(self.values).element(self.layout, data, 0, push);
        shape
    }

    /// The type of its elements, typedefs resolved, with the byte order.
    pub fn datatype(&self) -> Datatype {
        if let Subject::Param(id) = self.row.subject {
            if let ParamValue::Stored { integer, order, .. } = self.layout.param(id).value {
                return Datatype::Primitive(integer, order.or(Some(self.order)));
            }
        }
        self.element().map_or(Datatype::Primitive(Primitive::BYTE, None), |element| {
            element.datatype(self.order)
        })
    }

    /// The name of that type: `<f8`, `i1`, the name of a struct, or `{}` for an anonymous one.
    pub fn dtype(&self) -> String {
        dtype(self.layout, self.datatype())
    }

    /// Its filter; of two, the one that is stored.
    pub fn filter(&self) -> Option<&'t Filter> {
        self.element().and_then(|element| element.filter(self.layout))
    }

    /// Whether it is stored compressed.
    pub fn is_compressed(&self) -> bool {
        self.element().is_some_and(|element| element.is_compressed)
    }

    /// Whether its size depends on what is stored in its instances.
    pub fn is_indeterminate(&self) -> bool {
        self.element().is_some_and(|element| element.is_indeterminate(self.layout))
    }

    /// The layout that declares it.
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
    /// The type of the elements, with the byte order.
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

/// `-> gzip`
pub(crate) fn filter_text(filter: &Filter) -> String {
    format!("{} {}", filter.kind, filter.name)
}

/// The name of a resolved type.
pub(crate) fn dtype(layout: &Layout, datatype: Datatype) -> String {
    match datatype {
        Datatype::Primitive(primitive, Some(order)) if primitive.unit() > 1 => {
            format!("{order}{primitive}")
        }
        Datatype::Primitive(primitive, _) => primitive.to_string(),
        Datatype::Struct(id) => layout.type_name(id).unwrap_or("{}").to_owned(),
    }
}
