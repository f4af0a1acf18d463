//! Describing rows as arrays for [`binio::array`], with a datatype and with strides in the stream.

use binio::Endian;
use binio::array::{self, Field, Record, ScalarType, Strided};

use super::inputs::Inputs;
use super::location::Location;
use super::measure::{Measure, Visited};
use super::member::MemberRow;
use super::pass::to_error;
use super::rules::Rules;
use super::scope::{self, Base, Element, Frame, Scope, Trouble};
use super::table::{Entry, dtype};
use crate::error::{Error, ErrorKind};
use crate::layout::{Data, Datatype, Field as StructField, Kind, Order, Primitive, TypeId};

/// Maximum number of fields in a datatype, including the fields of nested records. Without a limit,
/// a short layout could produce a huge datatype: if each struct type has two members of the type
/// before it, every type doubles the number of fields.
const MAX_FIELDS: usize = 1 << 16;

impl Entry<'_> {
    /// Returns the element type for [`binio::array`], and the dimensions of the array. For strings, the last
    /// dimension becomes the length in the element type. A struct becomes a record of its members, without its
    /// stored parameters.
    ///
    /// ```
    /// use dudley::{Layout, Order, Resolver, Rules};
    ///
    /// let layout = Layout::parse("names = S1[5, 16]  p = { x = u1  y = f4[2] }[3]")?;
    /// let table = Resolver::new(&layout).rules(Rules::new().order(Order::Little)).table()?;
    /// let types = table.iter().map(|entry| entry.array_type()).collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!((types[0].0.descr(), &types[0].1), ("'|S16'".to_owned(), &vec![5]));
    /// let record = types[1].0.as_record().unwrap();
    /// assert_eq!((record.itemsize(), record.fields()[1].offset()), (12, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`NotStrided`](ErrorKind::NotStrided) if the array is compressed, if its shape depends on
    /// the stream, if the instances of its struct differ in size, or if its structs nest too deeply. Fails
    /// with [`Layout`](ErrorKind::Layout) ([`BeyondLimit`](crate::diagnostic::Code::BeyondLimit)) if a record
    /// has more than 65,536 fields, and with [`Read`](ErrorKind::Read) if a field of a record has more than
    /// 64 dimensions.
    pub fn array_type(&self) -> Result<(array::Datatype, Vec<u64>), Error> {
        let (element, shape) = self.element_and_shape();
        let (datatype, own) = self.array_type_of(element, &shape)?;
        Ok((datatype, own.to_vec()))
    }

    /// Returns the [element type](Self::array_type) for an element with these dimensions. Also
    /// returns the dimensions without the length of strings.
    fn array_type_of<'s>(
        &self,
        element: Option<Element>,
        shape: &'s [u64],
    ) -> Result<(array::Datatype, &'s [u64]), Error> {
        let fail = |reason| Error::new(ErrorKind::NotStrided { path: self.path(), reason });
        let datatype = match (self.datatype_of(element), element) {
            (_, Some(element)) if element.is_compressed => return Err(fail("it is compressed")),
            (_, Some(Element { count: None, .. })) => {
                return Err(fail("its shape depends on the stream"));
            }
            (_, Some(element)) if element.is_indeterminate(self.layout()) => {
                return Err(fail("the instances of its struct differ in size"));
            }
            (Datatype::Primitive(primitive, order), _) => {
                return Ok(scalar(primitive, order, shape)?);
            }
            (Datatype::Struct(id), _)
                if self.layout().struct_type(id).depth > array::MAX_RECORD_DEPTH =>
            {
                return Err(fail("its structs nest deeper than numpy records can"));
            }
            (Datatype::Struct(_), _) => {
                let data = self.data().ok_or_else(|| fail("it is not data"))?;
                self.record(data)?
            }
        };
        Ok((datatype, shape))
    }

    /// Returns the [element type](Self::array_type) and the strides of this array for [`binio::array::Array`],
    /// checked against a stream of `len` bytes.
    ///
    /// ```
    /// use dudley::array::{Array, Slice};
    /// use dudley::{Layout, Resolver};
    ///
    /// let layout = Layout::parse("> n = i2  p = { x = u1  y = u2 }[2]")?;
    /// let stream = vec![0_u8, 7, 1, 0, 0, 2, 3, 0, 0, 4];
    /// let table = Resolver::new(&layout).table()?;
    ///
    /// let (datatype, strided) = table.find("/p")?.strided(10)?;
    /// assert_eq!(strided.strides(), [4]);
    /// let y = Array::new(stream, datatype, strided, Default::default())?.field("y")?;
    /// assert_eq!(y.read::<u16>()?, [2, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`array_type`](Self::array_type). Also fails with [`NotStrided`](ErrorKind::NotStrided) if the
    /// address is unknown, and with [`Read`](ErrorKind::Read) if the stream is too short or the array has
    /// more than 64 dimensions.
    pub fn strided(&self, len: u64) -> Result<(array::Datatype, Strided), Error> {
        self.location()?.into_strided(len)
    }

    /// Returns the location of this array.
    pub(crate) fn location(&self) -> Result<Location, Error> {
        let fail = |reason| Error::new(ErrorKind::NotStrided { path: self.path(), reason });
        let address = self.address().ok_or_else(|| fail("its address depends on the stream"))?;
        let (element, shape) = self.element_and_shape();
        let array_type = self.array_type_of(element, &shape)?;
        let dtype = dtype(self.layout(), self.datatype_of(element));
        Ok(Location::new(address, &[], &shape, dtype, array_type)?)
    }

    /// Returns the record type that corresponds to the struct of this array.
    fn record(&self, data: &Data) -> Result<array::Datatype, Error> {
        let rules = Rules::new().order(self.order).complex_align(self.complex_align);
        let inputs = Inputs::new(rules.tail_padding(self.tail_padding));
        let scope = Scope::new(self.values.to_vec());
        let mut measure = Measure::to_list(self.layout, &inputs, scope);
        let subject = self.row().subject();
        let mut made = || {
            let element = measure.scope.element(self.layout, data, 0, |_| ())?;
            of_base(&mut measure, element.base, self.order, &mut Vec::new(), &mut 0)
        };
        made().map_err(|trouble| to_error(self.layout, *trouble, subject))
    }
}

impl MemberRow<'_> {
    /// Returns the element type and the strides of this member in all instances, as in
    /// [`Entry::strided`]. Fails if the member is a struct. In that case, use the members of this
    /// struct, which [`Resolver::walk`](super::Resolver::walk) also visits, or the record type of the
    /// item, which contains the struct.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use dudley::{Layout, Order, Resolver, Rules};
    ///
    /// let layout = Layout::parse("x = { a = i1  b = f8[2] }[3]")?;
    /// let resolver = Resolver::new(&layout).rules(Rules::new().order(Order::Little));
    /// let table = resolver.table()?;
    /// let mut found = Vec::new();
    /// resolver.walk(&table, table.rows(), |_, member| {
    ///     found.extend(member.map(|member| member.strided(72)));
    ///     ControlFlow::Continue(())
    /// })?;
    /// let (datatype, strided) = found.remove(1)?;
    /// assert_eq!((datatype.descr(), strided.offset()), ("'<f8'".to_owned(), 8));
    /// assert_eq!((strided.shape(), strided.strides()), (&[3, 2][..], &[24, 8][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`NotStrided`](ErrorKind::NotStrided) if the member is a struct or compressed, or if its
    /// address or shape depends on the stream, and with [`Read`](ErrorKind::Read) if the stream is too short
    /// or there are more than 64 dimensions in total.
    pub fn strided(&self, len: u64) -> Result<(array::Datatype, Strided), Error> {
        let fail = |reason| Error::new(ErrorKind::NotStrided { path: self.path.clone(), reason });
        let address = self.address.ok_or_else(|| fail("its address depends on the stream"))?;
        if self.element.is_some_and(|element| element.is_compressed) {
            return Err(fail("it is compressed"));
        }
        if self.element.is_some_and(|element| element.count.is_none()) {
            return Err(fail("its shape depends on the stream"));
        }
        let Datatype::Primitive(primitive, order) = self.datatype else {
            return Err(fail("it is a struct"));
        };
        let (instances, own) = self.shape.split_at(self.strides.len());
        let outer: Vec<(u64, u64)> =
            instances.iter().copied().zip(self.strides.iter().copied()).collect();
        let array_type = scalar(primitive, order, own)?;
        let dtype = dtype(self.layout, self.datatype);
        let location = Location::new(address, &outer, own, dtype, array_type);
        location?.into_strided(len)
    }
}

/// Returns the scalar type for a primitive type, and the dimensions. For strings, the last
/// dimension becomes the length in the scalar type.
pub(crate) fn scalar(
    primitive: Primitive,
    order: Option<Order>,
    shape: &[u64],
) -> Result<(array::Datatype, &[u64]), binio::Error> {
    let kind = match (primitive.kind(), primitive.size()) {
        (Kind::Signed, _) => array::ScalarKind::Int,
        (Kind::Unsigned, _) => array::ScalarKind::Uint,
        (Kind::Float, _) => array::ScalarKind::Float,
        (Kind::Complex, _) => array::ScalarKind::Complex,
        (Kind::Boolean, _) => array::ScalarKind::Bool,
        (Kind::Byte, _) => array::ScalarKind::Bytes,
        (Kind::Unicode, 1) => array::ScalarKind::Utf8,
        (Kind::Unicode, 2) => array::ScalarKind::Utf16,
        (Kind::Unicode, _) => array::ScalarKind::Unicode,
    };
    let is_text = matches!(primitive.kind(), Kind::Byte | Kind::Unicode);
    let (len, shape) = match shape.split_last() {
        Some((&len, shape)) if is_text => (len, shape),
        _ => (1, shape),
    };
    let endian = match order {
        Some(Order::Big) => Endian::Big,
        _ => Endian::Little,
    };
    let size = len.saturating_mul(primitive.size());
    Ok((array::Datatype::Scalar(ScalarType::new(kind, size, endian)?), shape))
}

/// Returns the element type. For strings, removes the last dimension from `shape`. For records,
/// adds the number of fields to `count`.
pub(crate) fn of_base(
    measure: &mut Measure<'_>,
    base: Base,
    order: Order,
    shape: &mut Vec<u64>,
    count: &mut usize,
) -> scope::Result<array::Datatype> {
    match base {
        Base::Primitive(primitive, stated) => {
            let (datatype, own) = scalar(primitive, stated.or(Some(order)), shape)?;
            let dimensions = own.len();
            shape.truncate(dimensions);
            Ok(datatype)
        }
        Base::Struct(id, frame) => record(measure, id, frame, order, count),
    }
}

/// Returns the record type for a struct. The values of the struct's free names begin at `frame`. The recursion
/// is bounded by the maximum nesting of types.
fn record<'r>(
    measure: &mut Measure<'r>,
    id: TypeId,
    frame: Frame,
    order: Order,
    count: &mut usize,
) -> scope::Result<array::Datatype> {
    let mut fields = Vec::new();
    let visit = &mut |measure: &mut Measure<'r>, visited: Visited| {
        let StructField::Member(member) = visited.field else { return Ok(()) };
        *count += 1;
        if *count > MAX_FIELDS {
            let message = format!("a record has more than {MAX_FIELDS} fields");
            return Err(Trouble::Is(crate::diagnostic::Code::BeyondLimit, message).into());
        }
        let layout = measure.layout;
        let data = layout.data(layout.member(member).data);
        let inner = measure.scope.frame();
        let mut shape = Vec::new();
        let element = measure.scope.element(layout, data, frame, |len| shape.push(len))?;
        let datatype = of_base(measure, element.base, order, &mut shape, count)?;
        measure.scope.leave(inner);
        let offset = visited.placed.offset.unwrap_or_default();
        fields.push(Field::new(layout.member_name(member), datatype).with_shape(shape).at(offset));
        Ok(())
    };
    let size = measure.fields(id, frame, None, Some(visit))?.unwrap_or_default();
    let record = Record::new(fields, size).map_err(binio::Error::from)?;
    Ok(record.into())
}
