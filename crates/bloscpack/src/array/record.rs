//! Types with fields.

use std::collections::HashSet;

use crate::array::dtype::{MAX_DIMENSIONS, MAX_SIZE, byte_size, invalid, shortened};
use crate::array::literal::Literal;
use crate::array::{Dtype, Kind};
use crate::error::Result;

/// The most items of a field without bytes, where a count of 0 counts as 1.
const MAX_EMPTY_ITEMS: u64 = 1 << 16;

/// Named fields in the order of their bytes, perhaps with padding between and behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    fields: Vec<Field>,
    size: u64,
}

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    title: Option<String>,
    dtype: Dtype,
    shape: Vec<u64>,
    offset: u64,
    size: u64,
}

impl Record {
    /// The record of a list of fields, which lies in so many records.
    pub(crate) fn parse(literals: &[Literal], depth: u32) -> Result<Self> {
        let mut fields: Vec<Field> = Vec::new();
        let mut names = HashSet::new();
        let mut size = 0_u64;
        for (place, literal) in literals.iter().enumerate() {
            let field = Field::parse(literal, place, size, depth)?;
            size = size.saturating_add(field.size);
            if size > MAX_SIZE {
                let name = shortened(&field.name);
                return Err(invalid(format!("field {name} ends above {MAX_SIZE} bytes")));
            }
            if field.is_padding() {
                continue;
            }
            for name in field.title.iter().chain([&field.name]) {
                if !names.insert(name.clone()) {
                    return Err(invalid(format!("the name {} occurs twice", shortened(name))));
                }
            }
            fields.push(field);
        }
        Ok(Self { fields, size })
    }

    /// The fields, without padding.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Bytes of one record.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn to_literal(&self) -> Literal {
        let mut items = Vec::with_capacity(self.fields.len());
        let mut at = 0;
        let padding = |from: u64, to: u64| {
            let void = Literal::Text(format!("|V{}", to.saturating_sub(from)));
            (from < to).then(|| Literal::Tuple(vec![Literal::Text(String::new()), void]))
        };
        for field in &self.fields {
            items.extend(padding(at, field.offset));
            items.push(field.to_literal());
            at = field.offset.saturating_add(field.size);
        }
        items.extend(padding(at, self.size));
        Literal::List(items)
    }
}

impl Field {
    /// The field at a place in a list of fields, `offset` bytes into the record.
    fn parse(literal: &Literal, place: usize, offset: u64, depth: u32) -> Result<Self> {
        let (name, dtype, shape) = match literal.items() {
            Some([name, dtype]) => (name, dtype, None),
            Some([name, dtype, shape]) => (name, dtype, Some(shape)),
            _ => {
                let message = format!("field {place}: expected a name, a type and perhaps a shape");
                return Err(invalid(message));
            }
        };
        let (title, name) = match (name, name.items()) {
            (Literal::Text(name), _) => (None, name),
            (_, Some([Literal::Text(title), Literal::Text(name)])) => (Some(title.clone()), name),
            _ => {
                let message = format!("field {place}: expected a name, or a title and a name");
                return Err(invalid(message));
            }
        };
        let dtype = Dtype::nested(dtype, depth + 1)?;
        let shape = shape.map_or(Some(Vec::new()), field_shape).ok_or_else(|| {
            let name = shortened(name);
            invalid(format!(
                "field {name}: expected a shape of at most {MAX_DIMENSIONS} counts below 2^31"
            ))
        })?;
        let size =
            byte_size(&shape, dtype.itemsize()).filter(|&size| size <= MAX_SIZE).ok_or_else(
                || invalid(format!("field {} is longer than {MAX_SIZE} bytes", shortened(name))),
            )?;
        if size == 0 && !is_few(&shape, dtype.itemsize()) {
            let name = shortened(name);
            return Err(invalid(format!("field {name} has counts of items that have no bytes")));
        }
        let mut field = Self { name: name.clone(), title, dtype, shape, offset, size };
        if name.is_empty() && !field.is_padding() {
            field.name = format!("f{place}");
        }
        Ok(field)
    }

    /// Bytes without a name and a meaning.
    fn is_padding(&self) -> bool {
        let is_void = self.dtype.as_scalar().is_some_and(|scalar| scalar.kind() == Kind::Void);
        self.name.is_empty() && self.title.is_none() && is_void
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A second, longer name.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// What one element of the field is.
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// Counts, outermost first; empty for a single element. The elements lie in C order.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Where it begins, in bytes from the start of the record.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn to_literal(&self) -> Literal {
        let name = Literal::Text(self.name.clone());
        let name = match &self.title {
            Some(title) => Literal::Tuple(vec![Literal::Text(title.clone()), name]),
            None => name,
        };
        let mut items = vec![name, self.dtype.to_literal()];
        if !self.shape.is_empty() {
            let counts = self
                .shape
                .iter()
                .map(|&count| Literal::Integer(count.try_into().unwrap_or(i64::MAX)));
            items.push(Literal::Tuple(counts.collect()));
        }
        Literal::Tuple(items)
    }
}

/// Whether the items of a field without bytes are few, so that nobody walks or prints for hours what
/// takes no room in a file. numpy, too, has no fields of several strings of length 0.
fn is_few(shape: &[u64], itemsize: u64) -> bool {
    let items = shape.iter().fold(1_u64, |items, &count| items.saturating_mul(count.max(1)));
    shape.is_empty() || (itemsize > 0 && items <= MAX_EMPTY_ITEMS)
}

/// The shape of a field: one count, or a tuple of them.
fn field_shape(literal: &Literal) -> Option<Vec<u64>> {
    let shape = match literal {
        Literal::Integer(count) => vec![u64::try_from(*count).ok()?],
        _ => literal.counts()?,
    };
    let is_known = shape.len() <= MAX_DIMENSIONS && shape.iter().all(|&count| count <= MAX_SIZE);
    is_known.then_some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dtype(text: &str) -> Dtype {
        Dtype::parse(text).unwrap()
    }

    fn fails(text: &str) -> String {
        Dtype::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn fields_lie_where_numpy_has_them() {
        // numpy 2: fields of np.dtype([..], align=True), from its descr.
        let aligned = dtype(
            "[('a', '|i1'), ('', '|V3'), ('b', '<i4'), (('t', 'c'), '|S3', (2, 2)), ('', '|V4')]",
        );
        assert_eq!(aligned.itemsize(), 24);
        let fields = aligned.as_record().unwrap().fields();
        let places: Vec<_> =
            fields.iter().map(|field| (field.name(), field.title(), field.offset())).collect();
        assert_eq!(places, [("a", None, 0), ("b", None, 4), ("c", Some("t"), 8)]);
        assert_eq!(fields[2].shape(), [2, 2]);
    }

    #[test]
    fn sizes_and_counts_are_numbers_of_31_bits() {
        for text in [
            "[('a', '<i4', (536870912,))]",
            "[('a', '<i4', (65536, 65536))]",
            "[('a', '|S1', (2147483647,)), ('b', '|i1')]",
            "[('a', [('b', '|S9', (65536,))], (65536,))]",
            "[('a', '|S2147483647'), ('', '|V2147483647')]",
        ] {
            assert!(fails(text).contains("2147483647 bytes"), "{text}");
        }
        for text in ["[('a', '<i4', (2147483648, 0))]", "[('a', '|i1', 9223372036854775807)]"] {
            assert!(fails(text).contains("below 2^31"), "{text}");
        }
        assert_eq!(dtype("[('a', '|i1', (2147483647,))]").itemsize(), 2_147_483_647);
    }

    #[test]
    fn depth_and_dimensions_are_limited() {
        let nested =
            |depth| (0..depth).fold("'<i4'".to_owned(), |inner, _| format!("[('a', {inner}, 2)]"));
        let deep = dtype(&nested(15));
        assert_eq!(dtype(&deep.descr()), deep);
        assert!(fails(&nested(16)).contains("15"));
        let counts = |n| format!("[('a', '<i4', ({}))]", "1, ".repeat(n));
        assert_eq!(dtype(&counts(64)).itemsize(), 4);
        assert!(fails(&counts(65)).contains("at most 64"));
    }

    #[test]
    fn counts_without_bytes_are_small() {
        for text in
            ["[('a', '|S0')]", "[('a', '<i4', (65536, 0))]", "[('a', [('b', '<i4', (3, 0))])]"]
        {
            assert_eq!(dtype(text).itemsize(), 0, "{text}");
        }
        for text in [
            "[('a', '<i4', (65537, 0))]",
            "[('a', '<i4', (0, 2147483647, 2147483647, 2147483647))]",
            "[('a', '|S0', 2)]",
            "[('a', [('b', '<i4', (3, 0))], 2)]",
        ] {
            assert!(fails(text).contains("no bytes"), "{text}");
        }
    }
}
