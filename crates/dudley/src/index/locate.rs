//! Finding the row of a path in the sorted list of paths, and computing the address of this row from the
//! rows before it.

use std::borrow::Cow;
use std::collections::HashMap;

use binio::{Bytes, ReadAt};

use super::format::{
    DIM_LEN, DimRecord, PARAM_LEN, PATH_LEN, ParamRecord, ROW_LEN, RowRecord, parse_path,
};
use super::place::{address, count};
use super::{CompiledLayout, CompiledRow};
use crate::error::{Error, ErrorKind};
use crate::layout::{Order, Primitive};
use crate::place::Location;
use crate::place::integer::read;
use crate::place::sizes::{add, multiply};
use crate::place::strided::scalar;
use crate::signature::Signature;

/// Maximum number of dimensions of an array that is located without the text. Arrays with more
/// dimensions are looked up in the text.
const MAX_DIMS: u32 = 4096;

/// The size in bytes of the count before a compressed array.
const COUNT_LEN: u64 = 8;

/// The number of rows read at a time.
const ROWS: u32 = 1024;

pub(super) fn locate(
    compiled: &CompiledLayout,
    path: &str,
    stream: Option<&dyn ReadAt>,
    order: Option<Order>,
) -> Result<Location, Error> {
    let text = match path.as_bytes().first() {
        Some(b'/' | b'[' | b'.') | None => Cow::Borrowed(path),
        Some(_) => Cow::Owned(format!("/{path}")),
    };
    let path = || path.to_owned();
    let number = find(compiled, text.as_bytes())?;
    let number = number.ok_or_else(|| ErrorKind::NotCompiled { path: path() })?;
    let mut search = Search::new(compiled, stream, order)?;
    let found = search.locate(number)?;
    found.ok_or_else(|| {
        let path = path();
        let kind = if search.needs_stream {
            ErrorKind::NeedsStream { path }
        } else {
            ErrorKind::NotCompiled { path }
        };
        kind.into()
    })
}

/// Calls `visit` with each path that [`locate`] would find, in sorted order. Returns the number of
/// paths in the index that [`locate`] would not find.
pub(super) fn for_each(
    compiled: &CompiledLayout,
    stream: Option<&dyn ReadAt>,
    mut visit: impl FnMut(CompiledRow<'_>),
) -> Result<usize, Error> {
    let mut search = Search::new(compiled, stream, None)?;
    let header = compiled.header;
    let rows = compiled.rows(0, header.rows)?;
    let mut open = Vec::new();
    if let Some(last) = header.rows.checked_sub(1) {
        search.walk(last, |start| open.push(start))?;
    }
    let texts_at = header.path_texts_at();
    let texts_len = usize::try_from(header.paths_len).unwrap_or(usize::MAX);
    let texts = compiled.index(texts_at, texts_len)?;
    let records = compiled.index(header.paths_at(), 16 * header.paths as usize)?;
    let first = rows.len() / 48 - open.len();
    let (mut shape, mut dims, mut others) = (Vec::new(), Dims::default(), 0);
    for record in records.chunks_exact(16) {
        let (start, len, number) = parse_path(record);
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let path = texts.get(start..start.saturating_add(len as usize));
        let path = path.and_then(|path| std::str::from_utf8(path).ok());
        let path = path.ok_or_else(|| invalid(format!("the path of row {number} is not valid")))?;
        let at = number as usize;
        let bytes = rows.chunks_exact(48).nth(at);
        let bytes = bytes.ok_or_else(|| invalid(format!("there is no row {number}")))?;
        let row = compiled.parsed(number, bytes)?;
        let address = match at.checked_sub(first) {
            Some(at) => open[at],
            None => search.known_address(&row),
        };
        shape.clear();
        let count = search.count(&row, &mut dims, |len| shape.push(len))?;
        let size = count.zip(row.element_size);
        let end = address.zip(size).is_some_and(|(address, (count, size))| {
            multiply(count, size).and_then(|nbytes| add(address, nbytes)).is_ok()
        });
        let (Some(address), Some(primitive), true) = (address, row.primitive, end) else {
            others += 1;
            continue;
        };
        if row.is_opaque || row.is_compressed {
            others += 1;
            continue;
        }
        let order = row.order.unwrap_or(search.order);
        let dtype = primitive.ordered_name(order);
        visit(CompiledRow { path, address, shape: &shape, dtype });
    }
    Ok(others)
}

/// Returns the index of the row that a path belongs to, or `None` if the path is not in the index.
fn find(compiled: &CompiledLayout, path: &[u8]) -> Result<Option<u32>, Error> {
    let (mut low, mut high) = (0, compiled.header.paths);
    while low < high {
        let middle = low.midpoint(high);
        let (start, len, row) = parse_path(&compiled.path(middle)?);
        let end = start.checked_add(len.into());
        if end.is_none_or(|end| end > compiled.header.paths_len) {
            return Err(invalid(format!("path {middle} is out of range")));
        }
        let at = compiled.header.path_texts_at() + start;
        let text = compiled.index(at, len as usize)?;
        match text[..].cmp(path) {
            std::cmp::Ordering::Equal => return Ok(Some(row)),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    Ok(None)
}

pub(super) fn invalid(message: String) -> Error {
    ErrorKind::Compiled { message }.into()
}

impl CompiledLayout {
    fn path(&self, number: u32) -> Result<Bytes, Error> {
        let at = self.header.paths_at() + PATH_LEN * u64::from(number);
        self.index(at, 16)
    }

    /// Returns the bytes of up to `count` rows, beginning with row `first`.
    fn rows(&self, first: u32, count: u32) -> Result<Bytes, Error> {
        let count = count.min(self.header.rows - first);
        self.index(ROW_LEN * u64::from(first), 48 * count as usize)
    }

    fn row(&self, number: u32) -> Result<RowRecord, Error> {
        if number >= self.header.rows {
            return Err(invalid(format!("there is no row {number}")));
        }
        self.parsed(number, &self.rows(number, 1)?)
    }

    fn parsed(&self, number: u32, bytes: &[u8]) -> Result<RowRecord, Error> {
        let row = RowRecord::parse(bytes);
        let row = row.filter(|row| {
            row.dims <= self.header.dims && row.first_dim <= self.header.dims - row.dims
        });
        row.ok_or_else(|| invalid(format!("row {number} is not valid")))
    }

    fn param(&self, number: u64) -> Result<ParamRecord, Error> {
        let is_one = number < u64::from(self.header.params);
        let record = if is_one {
            let at = self.header.params_at() + PARAM_LEN * number;
            ParamRecord::parse(&self.index(at, 16)?)
        } else {
            None
        };
        record.ok_or_else(|| invalid(format!("parameter {number} is not valid")))
    }
}

/// The state of a search for an address.
struct Search<'s> {
    compiled: &'s CompiledLayout,
    stream: Option<&'s dyn ReadAt>,
    order: Order,
    is_native: bool,
    /// Whether a value was needed from the stream, but no stream was given.
    needs_stream: bool,
    /// The addresses of the parameters that the walk has already passed, by row index.
    passed: HashMap<u32, Option<u64>>,
    /// The values of parameters that have been looked up, by parameter index.
    values: HashMap<u64, Option<i64>>,
}

/// The dimensions that were read last. They are cached, because consecutive rows usually share
/// their dimensions.
#[derive(Default)]
struct Dims {
    first: u32,
    bytes: Bytes,
}

impl<'s> Search<'s> {
    fn new(
        compiled: &'s CompiledLayout,
        stream: Option<&'s dyn ReadAt>,
        order: Option<Order>,
    ) -> Result<Self, Error> {
        let signature = stream.map(Signature::of).transpose()?.flatten();
        let stated = compiled.header.order.or(signature.map(|signature| signature.order));
        Ok(Self {
            compiled,
            stream,
            order: stated.or(order).unwrap_or_else(Order::native),
            is_native: signature.is_some(),
            needs_stream: false,
            passed: HashMap::new(),
            values: HashMap::new(),
        })
    }

    fn locate(&mut self, number: u32) -> Result<Option<Location>, Error> {
        let row = self.compiled.row(number)?;
        if row.is_opaque || row.is_compressed || row.primitive.is_none() {
            return Ok(None);
        }
        let first = self.compiled.header.first_open;
        // No walk is needed if the addresses of the row and of the parameters in its shape are known.
        let known = self.known_address(&row);
        let is_before = number < first;
        let mut dims = Dims::default();
        let address = match known {
            Some(address) if is_before || self.has_near_params(&row, &mut dims)? => Some(address),
            _ => self.walk(number, |_| ())?,
        };
        let mut shape = Vec::new();
        let Some(count) = self.count(&row, &mut dims, |len| shape.push(len))? else {
            return Ok(None);
        };
        let (Some(address), Some(primitive), Some(size)) =
            (address, row.primitive, row.element_size)
        else {
            return Ok(None);
        };
        if multiply(count, size).and_then(|nbytes| add(address, nbytes)).is_err() {
            return Ok(None);
        }
        let order = row.order.unwrap_or(self.order);
        let array_type = scalar(primitive, Some(order), &shape)?;
        let dtype = primitive.ordered_name(order).into();
        Ok(Location::new(address, &[], &shape, dtype, array_type).ok())
    }

    fn known_address(&self, row: &RowRecord) -> Option<u64> {
        row.addresses[usize::from(self.is_native)]
    }

    /// Returns `true` if each parameter in the shape of a row is fixed, or has a row before the
    /// first open row. The first open row is the first row whose address or size depends on stored
    /// parameters or on the stream.
    fn has_near_params(&mut self, row: &RowRecord, dims: &mut Dims) -> Result<bool, Error> {
        for dim in self.dims(row, dims)? {
            if let Some(DimRecord::Named(param, _)) = dim {
                match self.compiled.param(param)? {
                    ParamRecord::Fixed(_) => {}
                    ParamRecord::Row(row) if row < self.compiled.header.first_open => {}
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Computes the address of row `target` by walking over all rows from the first open row to
    /// `target`. Calls `visit` with the address of each of these rows.
    fn walk(
        &mut self,
        target: u32,
        mut visit: impl FnMut(Option<u64>),
    ) -> Result<Option<u64>, Error> {
        let first = self.compiled.header.first_open.min(target);
        let mut cursor = match first.checked_sub(1) {
            None => Some(if self.is_native { Signature::LEN } else { 0 }),
            Some(last) => {
                let row = self.compiled.row(last)?;
                let nbytes = self.nbytes(&row, None, &mut Dims::default())?;
                end(self.known_address(&row), nbytes)
            }
        };
        let mut dims = Dims::default();
        let mut number = first;
        loop {
            let rows = self.compiled.rows(number, ROWS)?;
            for bytes in rows.chunks_exact(48) {
                let row = self.compiled.parsed(number, bytes)?;
                let start = self.start(&row, cursor, &mut dims)?;
                visit(start);
                if number == target {
                    return Ok(start);
                }
                if row.is_param {
                    self.passed.insert(number, start);
                }
                let nbytes = self.nbytes(&row, start, &mut dims)?;
                cursor = end(start, nbytes);
                number += 1;
            }
        }
    }

    /// Returns the address of a row. `cursor` is the end of the row before it.
    fn start(
        &mut self,
        row: &RowRecord,
        cursor: Option<u64>,
        dims: &mut Dims,
    ) -> Result<Option<u64>, Error> {
        let nbytes = match (row.is_opaque, self.count(row, dims, |_| ())?) {
            (true, _) | (_, None) => None,
            (_, Some(0)) => Some(0),
            // The address depends only on whether the array is empty, so any size above 0 will do.
            _ if row.is_compressed || row.element_size != Some(0) => Some(1),
            _ => Some(0),
        };
        Ok(address(row.placement, cursor, nbytes))
    }

    /// Returns the size in bytes of a row at address `start`, or `None` if the size is not known.
    fn nbytes(
        &mut self,
        row: &RowRecord,
        start: Option<u64>,
        dims: &mut Dims,
    ) -> Result<Option<u64>, Error> {
        let Some(count) = self.count(row, dims, |_| ())?.filter(|_| !row.is_opaque) else {
            return Ok(None);
        };
        Ok(match row.element_size {
            _ if count == 0 => Some(0),
            _ if row.is_compressed => self.compressed(start),
            Some(size) => multiply(count, size).ok(),
            None => None,
        })
    }

    /// Returns the size in bytes of a compressed array, including its count, or `None` if it cannot be read
    /// from the stream.
    fn compressed(&mut self, start: Option<u64>) -> Option<u64> {
        self.needs_stream |= self.stream.is_none();
        let (stream, start) = self.stream.zip(start)?;
        let integer = Primitive::from_name("i8")?;
        let len = read(stream, start, integer, self.order).ok()?;
        let left = stream.len().checked_sub(start)?.checked_sub(COUNT_LEN)?;
        let len = u64::try_from(len).ok().filter(|&len| len <= left)?;
        add(COUNT_LEN, len).ok()
    }

    /// Returns the number of elements of a row, or `None` if the number is not known. Calls `visit`
    /// with the length of each dimension.
    fn count(
        &mut self,
        row: &RowRecord,
        dims: &mut Dims,
        visit: impl FnMut(u64),
    ) -> Result<Option<u64>, Error> {
        let mut failed = None;
        let records = self.dims(row, dims)?;
        let param = |number| match self.value(number) {
            Ok(value) => value,
            Err(error) => {
                failed = Some(error);
                None
            }
        };
        let count = count(records, param, visit);
        failed.map_or(Ok(count), Err)
    }

    /// Returns the dimensions of a row, where `None` stands for an invalid dimension.
    fn dims<'d>(
        &self,
        row: &RowRecord,
        dims: &'d mut Dims,
    ) -> Result<impl Iterator<Item = Option<DimRecord>> + use<'d>, Error> {
        let len = 16 * row.dims.min(MAX_DIMS) as usize;
        if row.dims > 0 && (dims.first != row.first_dim || dims.bytes.len() != len) {
            let at = self.compiled.header.dims_at() + DIM_LEN * u64::from(row.first_dim);
            *dims = Dims { first: row.first_dim, bytes: self.compiled.index(at, len)? };
        }
        let bytes = if row.dims == 0 { &[][..] } else { &dims.bytes[..] };
        // If there are too many dimensions, append an invalid one, so that the number of elements
        // is unknown.
        let more = (row.dims > MAX_DIMS).then_some(None);
        Ok(bytes.chunks_exact(16).map(DimRecord::parse).chain(more))
    }

    /// Returns the value of a parameter, or `None` if the value is not known.
    fn value(&mut self, number: u64) -> Result<Option<i64>, Error> {
        if let Some(&value) = self.values.get(&number) {
            return Ok(value);
        }
        let value = match self.compiled.param(number)? {
            ParamRecord::Fixed(value) => Some(value),
            ParamRecord::Inner => None,
            ParamRecord::Row(number) => {
                self.needs_stream |= self.stream.is_none();
                let row = self.compiled.row(number)?;
                let address = match self.passed.get(&number) {
                    Some(&address) => address,
                    // The parameter is declared after its use, which cannot happen in a valid layout.
                    None if number >= self.compiled.header.first_open => None,
                    None => self.known_address(&row),
                };
                match (self.stream, address, row.primitive) {
                    (Some(stream), Some(address), Some(integer)) if integer.is_integer() => {
                        let order = row.order.unwrap_or(self.order);
                        read(stream, address, integer, order).ok()
                    }
                    _ => None,
                }
            }
        };
        self.values.insert(number, value);
        Ok(value)
    }
}

fn end(start: Option<u64>, nbytes: Option<u64>) -> Option<u64> {
    start.zip(nbytes).and_then(|(start, nbytes)| add(start, nbytes).ok())
}
