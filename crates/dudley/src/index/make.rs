//! Compiling a layout.

use super::format::{DimRecord, Header, PAGE_LEN, ParamRecord, RowRecord, Stamp, path_record, sum};
use super::place::{address, count};
use crate::layout::names::index;
use crate::layout::{
    Data, Declaration, ItemId, Layout, ParamId, ParamValue, Placement, Scope as Owner, Subject,
};
use crate::place::measure::Measure;
use crate::place::scope::{Base, Element, Len, Names, Number, Result as Outcome, Scope};
use crate::place::sizes::{add, multiply};
use crate::place::{Inputs, Rules};
use crate::signature::Signature;

/// Maximum length in bytes of a path in the index. Longer paths are looked up in the text. This
/// limits the total size of the paths to about `MAX_PATH` times the size of the text.
const MAX_PATH: usize = 1024;

/// Dimensions as they are declared. A dimension keeps its parameter even if the value of the
/// parameter is fixed.
struct Declared;

impl Names for Declared {
    type Factor = DimRecord;
    type Factors = ();

    fn push((): &mut (), _: DimRecord) {}

    fn missing(&self, _: &Layout, param: ParamId, suffix: i32) -> Outcome<Len<DimRecord>> {
        Ok(Len::Factor(DimRecord::Named(param.index() as u64, suffix)))
    }
}

/// A builder for the sections that precede the paths in a compiled layout.
struct Maker<'a> {
    layout: &'a Layout,
    measure: Measure<'a>,
    /// A scope in which no parameter has a value.
    declared: Scope,
    rows: Vec<RowRecord>,
    dims: Vec<DimRecord>,
    params: Vec<ParamRecord>,
    subjects: Vec<Subject>,
    /// Maximum number of dimensions, in total for all rows.
    max_dims: usize,
}

/// Compiles a layout. Returns the bytes of the compiled layout.
pub(super) fn compile(layout: &Layout, text: &[u8], stamp: Stamp) -> Vec<u8> {
    let inputs = Inputs::new(Rules::new());
    let scope = Scope::of(layout);
    let param = |id: ParamId| match layout.param(id).value {
        ParamValue::Fixed(value) => ParamRecord::Fixed(value),
        // For a parameter of a dict, `declare` later replaces this record with the index of the
        // row.
        ParamValue::Stored { .. } => ParamRecord::Inner,
    };
    let mut maker = Maker {
        layout,
        measure: Measure::new(layout, &inputs, scope),
        declared: Scope::new(layout.params().map(Number::Missing).collect()),
        rows: Vec::new(),
        dims: Vec::new(),
        params: layout.params().map(param).collect(),
        subjects: Vec::new(),
        max_dims: text.len() + 64,
    };
    maker.declare();
    let first_open = maker.place();
    let Maker { rows, dims, params, subjects, .. } = maker;

    let (records, texts) = paths(layout, &subjects);
    let mut bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_bytes()).collect();
    bytes.extend(dims.iter().flat_map(|dim| dim.to_bytes()));
    bytes.extend(params.iter().flat_map(|param| param.to_bytes()));
    bytes.extend(records.iter().flatten());
    bytes.extend(texts.as_bytes());
    let pages = bytes.chunks(usize::try_from(PAGE_LEN).unwrap_or(usize::MAX));
    let sums: Vec<u8> = pages.flat_map(|page| sum(page).to_le_bytes()).collect();
    let header = Header {
        order: layout.order(),
        text_len: text.len() as u64,
        stamp,
        text_sum: sum(text),
        pages_sum: sum(&sums),
        rows: index(rows.len()),
        dims: index(dims.len()),
        params: index(params.len()),
        paths: index(records.len()),
        paths_len: texts.len() as u64,
        first_open,
    };
    [&header.to_bytes()[..], &sums, &bytes, text].concat()
}

impl Maker<'_> {
    /// Adds a row for each stored item and parameter.
    fn declare(&mut self) {
        for &declaration in self.layout.declarations() {
            match declaration {
                Declaration::Item(id) => {
                    if let Some(data) = self.layout.data_of(id) {
                        let row = self.item(data);
                        self.rows.push(row);
                        self.subjects.push(id.into());
                    }
                }
                Declaration::Param(id) => {
                    let value = self.layout.param(id).value;
                    if let ParamValue::Stored { datatype, integer, order, placement } = value {
                        self.params[id.index()] = ParamRecord::Row(index(self.rows.len()));
                        let align = self.measure.alignments.of_datatype(datatype);
                        self.rows.push(RowRecord {
                            addresses: [None, None],
                            element_size: Some(integer.size()),
                            placement: placement_of(placement, align),
                            first_dim: 0,
                            dims: 0,
                            is_compressed: false,
                            is_opaque: false,
                            is_param: true,
                            order,
                            primitive: Some(integer),
                        });
                        self.subjects.push(id.into());
                    }
                }
                Declaration::Type(..) => {}
            }
        }
    }

    fn item(&mut self, data: &Data) -> RowRecord {
        let align = self.measure.alignments.of_data(data);
        let mut row = RowRecord {
            addresses: [None, None],
            element_size: None,
            placement: placement_of(data.placement, align),
            first_dim: 0,
            dims: 0,
            is_compressed: false,
            is_opaque: true,
            is_param: false,
            order: None,
            primitive: None,
        };
        let mut dims = Vec::new();
        let element = self.declared.element_in(&Declared, self.layout, data, 0, |len| match *len {
            Len::Known(len) => dims.push(DimRecord::Fixed(len)),
            Len::Factor(dim) => dims.push(dim),
            Len::Removed | Len::Unknown => {}
        });
        self.declared.leave(0);
        // Mark the row as described only by the text, so that the resolver reports the error.
        let Ok(Element { base, is_compressed, .. }) = element else { return row };
        row.is_compressed = is_compressed;
        row.element_size = match base {
            Base::Primitive(primitive, order) => {
                (row.primitive, row.order) = (Some(primitive), order);
                Some(primitive.size())
            }
            Base::Struct(id, _) => {
                let is_open = self.layout.free_names(id).len() > 0;
                let is_indeterminate = self.layout.struct_type(id).is_indeterminate;
                if is_open || is_indeterminate {
                    None
                } else {
                    let frame = self.measure.scope.frame();
                    self.measure.struct_size(id, frame).ok().flatten()
                }
            }
        };
        let Some(first_dim) = self.add_dims(&dims) else { return row };
        (row.first_dim, row.dims) = (first_dim, index(dims.len()));
        row.is_opaque = row.element_size.is_none() && !is_compressed;
        row
    }

    /// Adds the dimensions of a row, unless the list already ends with the same dimensions. Returns
    /// the index of the first dimension, or `None` if there would be too many dimensions in total.
    fn add_dims(&mut self, dims: &[DimRecord]) -> Option<u32> {
        if self.dims.ends_with(dims) {
            return Some(index(self.dims.len() - dims.len()));
        }
        if self.dims.len() + dims.len() > self.max_dims {
            return None;
        }
        let first = self.dims.len();
        self.dims.extend(dims);
        Some(index(first))
    }

    /// Computes all addresses that depend neither on stored parameters nor on the stream. Returns
    /// the index of the first row whose address or size depends on them.
    fn place(&mut self) -> u32 {
        let mut first_open = self.rows.len();
        for (way, start) in [0, Signature::LEN].into_iter().enumerate() {
            let mut cursor = Some(start);
            for at in 0..self.rows.len() {
                let row = self.rows[at];
                let nbytes = self.nbytes(&row);
                let address = address(row.placement, cursor, nbytes);
                self.rows[at].addresses[way] = address;
                cursor = match (address, nbytes) {
                    (Some(address), Some(nbytes)) => add(address, nbytes).ok(),
                    _ => None,
                };
                if cursor.is_none() {
                    first_open = first_open.min(at);
                }
            }
        }
        index(first_open)
    }

    /// Returns the size of a row in bytes, or `None` if the size depends on stored parameters or on
    /// the stream.
    fn nbytes(&self, row: &RowRecord) -> Option<u64> {
        let first = row.first_dim as usize;
        let dims = &self.dims[first..first + row.dims as usize];
        let param = |number: u64| match self.params[usize::try_from(number).ok()?] {
            ParamRecord::Fixed(value) => Some(value),
            ParamRecord::Row(_) | ParamRecord::Inner => None,
        };
        let count = count(dims.iter().copied().map(Some), param, |_| ())?;
        match row.element_size {
            _ if row.is_opaque => None,
            _ if count == 0 => Some(0),
            Some(size) if !row.is_compressed => multiply(count, size).ok(),
            _ => None,
        }
    }
}

fn placement_of(placement: Option<Placement>, align: u64) -> Placement {
    match placement {
        Some(Placement::Align(0)) | None => Placement::Align(align),
        Some(stated) => stated,
    }
}

/// Returns the entries in the sorted list of paths, and the path strings. Omits paths longer than
/// `MAX_PATH`, because many paths may be as long as the layout text.
fn paths(layout: &Layout, subjects: &[Subject]) -> (Vec<[u8; 16]>, String) {
    let lens = path_lens(layout);
    let is_short = |subject: &Subject| match *subject {
        Subject::Item(id) => lens[id.index()] <= MAX_PATH,
        Subject::Param(id) => match layout.param(id).scope {
            Owner::Dict(dict) => {
                lens[dict.index()].saturating_add(layout.param_name(id).len()) <= MAX_PATH
            }
            Owner::Struct(_) => false,
        },
        _ => false,
    };
    let rows = subjects.iter().zip(0_u32..).filter(|(subject, _)| is_short(subject));
    let mut paths: Vec<(String, bool, u32)> = rows
        .map(|(&subject, row)| {
            (layout.subject_path(subject), matches!(subject, Subject::Param(_)), row)
        })
        .collect();
    // If several rows have the same path, items take precedence over parameters, and later
    // parameters over earlier ones.
    paths.sort_unstable_by(|one, other| {
        let key = |path: &(String, bool, u32)| (path.1, u32::MAX - path.2);
        one.0.cmp(&other.0).then(key(one).cmp(&key(other)))
    });
    paths.dedup_by(|next, first| next.0 == first.0);
    let (mut records, mut texts) = (Vec::with_capacity(paths.len()), String::new());
    for (path, _, row) in paths {
        records.push(path_record(texts.len() as u64, index(path.len()), row));
        texts.push_str(&path);
    }
    (records, texts)
}

/// Returns the approximate length in bytes of the path of each item. Quotes and escapes are not counted.
fn path_lens(layout: &Layout) -> Vec<usize> {
    let mut lens = vec![0_usize];
    for id in layout.items() {
        let own = layout.name(id).map_or(12, |name| name.len() + 1);
        let parent: ItemId = layout.item(id).parent;
        lens.push(lens[parent.index()].saturating_add(own));
    }
    lens
}
