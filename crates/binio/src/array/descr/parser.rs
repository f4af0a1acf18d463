//! Parsing types from literals.

use crate::array::literal::Literal;
use crate::array::record::MAX_RECORD_DEPTH;
use crate::array::strided::{MAX_DIMENSIONS, byte_size};
use crate::array::{Datatype, ElementsError, Field, Record, ScalarKind, ScalarType};
use crate::error::elements::datatype as invalid;

use super::{MAX_ITEMSIZE, shortened};

/// Maximum number of items in the shape of a field without bytes. Lengths of 0 count as 1.
const MAX_EMPTY_ITEMS: u64 = 1 << 16;

/// Maximum number of fields in a type, including the fields of inner records.
const MAX_FIELDS: usize = 1 << 16;

/// A parser of types, which counts the fields of all records.
#[derive(Default)]
pub(super) struct Parser {
    fields: usize,
}

impl Parser {
    /// Parses a type nested inside `depth` records.
    pub(super) fn datatype(
        &mut self,
        literal: &Literal,
        depth: u32,
    ) -> Result<Datatype, ElementsError> {
        match literal {
            Literal::Text(text) => ScalarType::parse(text).map(Datatype::Scalar),
            Literal::List(_) | Literal::Dictionary(_) if depth >= MAX_RECORD_DEPTH => {
                Err(invalid(format!("records nest deeper than {MAX_RECORD_DEPTH} levels")))
            }
            Literal::List(fields) => self.list(fields, depth).map(Datatype::Record),
            Literal::Dictionary(entries) => self.dictionary(entries, depth).map(Datatype::Record),
            _ => Err(invalid("expected a string, a list of fields or a dictionary")),
        }
    }

    /// Parses a record from a list of its fields and padding.
    fn list(&mut self, literals: &[Literal], depth: u32) -> Result<Record, ElementsError> {
        let mut fields: Vec<Field> = Vec::new();
        let mut end = 0_u64;
        for (place, literal) in literals.iter().enumerate() {
            let (name, format, shape) = match literal.items() {
                Some([name, format]) => (name, format, None),
                Some([name, format, shape]) => (name, format, Some(shape)),
                _ => {
                    let message = "expected a name, a type and, optionally, a shape";
                    return Err(invalid(format!("field {place}: {message}")));
                }
            };
            let (title, name) = match (name, name.items()) {
                (Literal::Text(name), _) => (None, name),
                (_, Some([Literal::Text(title), Literal::Text(name)])) => (Some(title), name),
                _ => {
                    let message = "expected a name, or a title and a name";
                    return Err(invalid(format!("field {place}: {message}")));
                }
            };
            let mut field = self.field(name, format, shape, depth)?.at(end);
            end = end.saturating_add(field.size());
            if end > MAX_ITEMSIZE {
                let name = shortened(name);
                return Err(invalid(format!(
                    "field {name} extends past {MAX_ITEMSIZE} bytes, the maximum size"
                )));
            }
            let is_void = field
                .datatype()
                .as_scalar()
                .is_some_and(|scalar| scalar.kind() == ScalarKind::Void);
            if name.is_empty() && title.is_none() {
                if is_void {
                    continue;
                }
                field = field.renamed(format!("f{place}"));
            }
            fields.push(match title {
                Some(title) => field.with_title(title),
                None => field,
            });
        }
        Record::new(fields, end)
    }

    /// Parses a record from a dictionary of names, formats and other properties.
    fn dictionary(
        &mut self,
        entries: &[(Literal, Literal)],
        depth: u32,
    ) -> Result<Record, ElementsError> {
        let known = ["names", "formats", "offsets", "titles", "itemsize", "aligned"];
        let mut found: [Option<&Literal>; 6] = [None; 6];
        for (key, value) in entries {
            let place = known.iter().position(|&name| key.as_text() == Some(name));
            let place = place.filter(|&place| found[place].is_none());
            let place = place.ok_or_else(|| {
                invalid(format!("expected only the keys {known:?}, each at most once"))
            })?;
            found[place] = Some(value);
        }
        let [names, formats, offsets, titles, itemsize, aligned] = found;
        let list = |found: Option<&'_ Literal>, key: &str| {
            let items = found.and_then(Literal::items).map(<[Literal]>::to_vec);
            items.ok_or_else(|| invalid(format!("expected a list for the key {key:?}")))
        };
        let (names, formats) = (list(names, "names")?, list(formats, "formats")?);
        let offsets = offsets.map(|offsets| list(Some(offsets), "offsets")).transpose()?;
        let titles = titles.map(|titles| list(Some(titles), "titles")).transpose()?;
        let lengths = [Some(&formats), offsets.as_ref(), titles.as_ref()];
        if lengths.into_iter().flatten().any(|list| list.len() != names.len()) {
            return Err(invalid(
                "the lists of names, formats, offsets and titles differ in length",
            ));
        }
        let mut fields = Vec::with_capacity(names.len().min(MAX_FIELDS));
        for (place, (name, format)) in names.iter().zip(&formats).enumerate() {
            let name = name
                .as_text()
                .ok_or_else(|| invalid(format!("the name of field {place} is not a string")))?;
            let mut field = match format.items() {
                Some([format, shape])
                    if matches!(shape, Literal::Tuple(_) | Literal::Integer(_))
                        || (matches!(format, Literal::Text(_)) && shape.counts().is_some()) =>
                {
                    self.field(name, format, Some(shape), depth)?
                }
                _ => self.field(name, format, None, depth)?,
            };
            if let Some(offsets) = &offsets {
                let offset = offsets.get(place).and_then(Literal::count);
                field = field.at(offset.ok_or_else(|| {
                    invalid(format!(
                        "expected a non-negative integer as the offset of field {}",
                        shortened(name)
                    ))
                })?);
            }
            field = match titles.as_ref().and_then(|titles| titles.get(place)) {
                None | Some(Literal::None) => field,
                Some(Literal::Text(title)) => field.with_title(title),
                Some(_) => {
                    return Err(invalid(format!("the title of field {place} is not a string")));
                }
            };
            fields.push(field);
        }
        let is_aligned = matches!(aligned, Some(Literal::Bool(true)));
        let record = match offsets {
            Some(_) => {
                let ends = fields.iter().map(|field| field.offset().saturating_add(field.size()));
                let end = ends.max().unwrap_or(0);
                Record::new(fields, end)?
            }
            None if is_aligned => Record::aligned(fields)?,
            None => Record::packed(fields)?,
        };
        let itemsize = match itemsize {
            None => record.itemsize(),
            Some(size) => size.count().ok_or_else(|| {
                invalid("expected a non-negative integer for the key \"itemsize\"")
            })?,
        };
        if itemsize > MAX_ITEMSIZE {
            return Err(invalid(format!(
                "the itemsize is {itemsize} bytes, but the limit is {MAX_ITEMSIZE}"
            )));
        }
        Record::new(record.fields().to_vec(), itemsize)
    }

    /// Parses one field, and leaves its offset at 0.
    fn field(
        &mut self,
        name: &str,
        format: &Literal,
        shape: Option<&Literal>,
        depth: u32,
    ) -> Result<Field, ElementsError> {
        self.fields += 1;
        if self.fields > MAX_FIELDS {
            return Err(invalid(format!("the type has more than {MAX_FIELDS} fields")));
        }
        let datatype = self.datatype(format, depth + 1)?;
        let itemsize = datatype.itemsize();
        let shape = shape.map_or(Some(Vec::new()), field_shape).ok_or_else(|| {
            let name = shortened(name);
            invalid(format!(
                "field {name}: expected a shape of at most {MAX_DIMENSIONS} dimensions, each below 2^31"
            ))
        })?;
        let size = byte_size(&shape, itemsize).filter(|&size| size <= MAX_ITEMSIZE);
        let size = size.ok_or_else(|| {
            invalid(format!("field {} is longer than {MAX_ITEMSIZE} bytes", shortened(name)))
        })?;
        if size == 0 && !is_few(&shape, itemsize) {
            let name = shortened(name);
            return Err(invalid(format!(
                "field {name} has no bytes: expected a shape of at most {MAX_EMPTY_ITEMS} items, \
                 or no shape if its elements have no bytes"
            )));
        }
        Ok(Field::new(name, datatype).with_shape(shape))
    }
}

/// Returns `true` if the number of items in a field without bytes is within the limit. Without this
/// limit, a small file could take hours to process or print. A field whose elements have size 0,
/// such as strings of length 0, cannot have a shape at all, as in numpy.
fn is_few(shape: &[u64], itemsize: u64) -> bool {
    let items = shape.iter().fold(1_u64, |items, &count| items.saturating_mul(count.max(1)));
    shape.is_empty() || (itemsize > 0 && items <= MAX_EMPTY_ITEMS)
}

/// Parses the shape of a field: a count, a tuple of counts or a list of counts.
fn field_shape(literal: &Literal) -> Option<Vec<u64>> {
    let shape = match literal {
        Literal::Integer(_) => vec![literal.count()?],
        _ => literal.counts()?,
    };
    let is_known =
        shape.len() <= MAX_DIMENSIONS && shape.iter().all(|&count| count <= MAX_ITEMSIZE);
    is_known.then_some(shape)
}
