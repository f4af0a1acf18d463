//! Record types: elements that consist of named fields.
//!
//! ```text
//! packed    a b b b b c c                  Record::packed: contiguous fields
//! aligned   a . . . b b b b c c . .        Record::aligned: aligned as in C and numpy
//! explicit  a a a a                        Record::new: any offsets and any size, so fields
//!             b b b b . .                  can overlap and leave gaps
//! ```

use std::collections::HashSet;

use crate::array::descr::shortened;
use crate::array::strided::{MAX_DIMENSIONS, byte_size};
use crate::array::{ByteOrder, Datatype, ElementsError};
use crate::error::elements::{datatype as invalid, shape};

/// Maximum nesting depth of records.
pub const MAX_RECORD_DEPTH: u32 = 64;

/// A type with named fields.
///
/// ```
/// use binio::array::{Datatype, Field, Record};
///
/// let fields = vec![
///     Field::new("id", Datatype::parse("<i4")?),
///     Field::new("position", Datatype::parse("<f8")?).with_shape(vec![3]),
/// ];
/// let record = Record::packed(fields)?;
/// assert_eq!(record.itemsize(), 28);
/// assert_eq!(record.field("position").map(Field::offset), Some(4));
/// assert_eq!(Datatype::from(record).descr(), "[('id', '<i4'), ('position', '<f8', (3,))]");
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    fields: Vec<Field>,
    itemsize: u64,
    depth: u32,
}

/// A field of a record.
///
/// ```
/// use binio::array::{Datatype, Field};
///
/// let field = Field::new("position", Datatype::parse("<f8")?).with_shape(vec![3]).at(8);
/// assert_eq!((field.size(), field.offset()), (24, 8));
/// # Ok::<(), binio::array::ElementsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    name: String,
    title: Option<String>,
    datatype: Datatype,
    shape: Vec<u64>,
    offset: u64,
}

impl Record {
    /// Creates a record of `itemsize` bytes. The fields are at their [offsets](Field::at); they may
    /// overlap and leave gaps.
    ///
    /// ```
    /// use binio::array::{Datatype, Field, Record};
    ///
    /// let halves = Datatype::parse("<u2")?;
    /// let fields = vec![
    ///     Field::new("all", Datatype::parse("<u4")?),
    ///     Field::new("low", halves.clone()),
    ///     Field::new("high", halves).at(2),
    /// ];
    /// let record = Record::new(fields, 8)?;
    /// assert_eq!((record.itemsize(), record.field("high").unwrap().offset()), (8, 2));
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Datatype`] if a name or title occurs twice, if a field extends
    /// past the end of the record, if the size is 2^63 bytes or more, or if records nest deeper
    /// than 64 levels. Fails with [`ElementsError::Shape`] for fields with more than 64 dimensions.
    pub fn new(fields: Vec<Field>, itemsize: u64) -> Result<Self, ElementsError> {
        let mut names = HashSet::with_capacity(fields.len());
        let mut depth = 0;
        for field in &fields {
            for name in field.title.iter().chain([&field.name]) {
                if !names.insert(name.as_str()) {
                    return Err(invalid(format!(
                        "the name or title {} occurs twice",
                        shortened(name)
                    )));
                }
            }
            depth = depth.max(field.datatype.depth());
            let end = field.checked_size()?.checked_add(field.offset);
            if end.is_none_or(|end| end > itemsize) {
                return Err(too_large(&field.name));
            }
        }
        if i64::try_from(itemsize).is_err() {
            return Err(invalid("the record exceeds 2^63 - 1 bytes"));
        }
        if depth >= MAX_RECORD_DEPTH {
            return Err(invalid(format!("records nest deeper than {MAX_RECORD_DEPTH} levels")));
        }
        Ok(Self { fields, itemsize, depth: depth + 1 })
    }

    /// Creates a record of contiguous fields, and sets their offsets.
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
    pub fn packed(fields: Vec<Field>) -> Result<Self, ElementsError> {
        Self::in_order(fields, |_| 1)
    }

    /// Creates a record of fields in the given order, and sets their offsets. Adds the same padding
    /// as C, or numpy with `align=True`, so that each field and the size of the record are aligned.
    ///
    /// ```
    /// use binio::array::{Datatype, Field, Record};
    ///
    /// let fields = vec![
    ///     Field::new("a", Datatype::parse("|i1")?),
    ///     Field::new("b", Datatype::parse("<f8")?),
    ///     Field::new("c", Datatype::parse("|i1")?),
    /// ];
    /// let record = Record::aligned(fields)?;
    /// assert_eq!(record.itemsize(), 24);
    /// # Ok::<(), binio::array::ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`new`](Self::new).
    pub fn aligned(fields: Vec<Field>) -> Result<Self, ElementsError> {
        Self::in_order(fields, Datatype::alignment)
    }

    fn in_order(
        mut fields: Vec<Field>,
        alignment: fn(&Datatype) -> u64,
    ) -> Result<Self, ElementsError> {
        let (mut end, mut largest) = (0_u64, 1);
        for field in &mut fields {
            let step = alignment(&field.datatype).max(1);
            largest = largest.max(step);
            let offset = end.checked_next_multiple_of(step);
            field.offset = offset.ok_or_else(|| too_large(&field.name))?;
            let size = field.checked_size()?;
            end = field.offset.checked_add(size).ok_or_else(|| too_large(&field.name))?;
        }
        let itemsize = end.checked_next_multiple_of(largest).unwrap_or(u64::MAX);
        Self::new(fields, itemsize)
    }

    /// Returns the fields in the order in which they were passed, without padding.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the field with this name, or `None` if there is no such field. Titles are not
    /// searched.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the size of one record in bytes.
    pub fn itemsize(&self) -> u64 {
        self.itemsize
    }

    /// Returns `true` if each field begins where the previous one ends, and the record ends where
    /// the last field ends.
    pub fn is_packed(&self) -> bool {
        let mut end = 0;
        self.fields.iter().all(|field| {
            let begins = end;
            end = field.offset.saturating_add(field.size());
            field.offset == begins
        }) && end == self.itemsize
    }

    /// Returns `true` if the fields are in the order of their offsets and do not overlap, so that a
    /// list of fields and padding can describe the record.
    pub(crate) fn is_in_order(&self) -> bool {
        let mut end = 0;
        self.fields.iter().all(|field| {
            let begins = end;
            end = field.offset.saturating_add(field.size());
            field.offset >= begins
        })
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn with_byte_order(&self, order: ByteOrder) -> Self {
        let fields = self.fields.iter().map(|field| Field {
            datatype: field.datatype.with_byte_order(order),
            ..field.clone()
        });
        Self { fields: fields.collect(), ..*self }
    }
}

impl Field {
    /// Creates a field of a single element at offset 0.
    pub fn new(name: impl Into<String>, datatype: impl Into<Datatype>) -> Self {
        let (name, datatype) = (name.into(), datatype.into());
        Self { name, title: None, datatype, shape: Vec::new(), offset: 0 }
    }

    /// Sets the shape of the field: the lengths of its dimensions, outermost first. The elements
    /// are in C order.
    #[must_use]
    pub fn with_shape(self, shape: Vec<u64>) -> Self {
        Self { shape, ..self }
    }

    /// Sets the title of the field, which is a second, longer name.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the offset of the field from the start of the record, in bytes. [`Record::packed`] and
    /// [`Record::aligned`] overwrite it.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    pub(crate) fn renamed(self, name: String) -> Self {
        Self { name, ..self }
    }

    /// Returns the name of the field.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the title, which is a second, longer name, or `None` if the field has no title.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the type of an element.
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// Returns the lengths of the field's dimensions, outermost first. The shape is empty if the
    /// field is a single element instead of an array. The elements are in C order.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the offset of the field from the start of the record, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the total size of the field's elements in bytes.
    pub fn size(&self) -> u64 {
        byte_size(&self.shape, self.datatype.itemsize()).unwrap_or(u64::MAX)
    }

    fn checked_size(&self) -> Result<u64, ElementsError> {
        if self.shape.len() > MAX_DIMENSIONS {
            return Err(shape(format!(
                "field {} has {} dimensions, but the limit is {MAX_DIMENSIONS}",
                shortened(&self.name),
                self.shape.len()
            )));
        }
        byte_size(&self.shape, self.datatype.itemsize()).ok_or_else(|| too_large(&self.name))
    }
}

fn too_large(field: &str) -> ElementsError {
    invalid(format!(
        "field {} extends past the end of the record, or past 2^63 - 1 bytes",
        shortened(field)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datatype(text: &str) -> Datatype {
        Datatype::parse(text).unwrap()
    }

    fn field(name: &str, text: &str) -> Field {
        Field::new(name, datatype(text))
    }

    fn offsets(record: &Record) -> Vec<u64> {
        record.fields().iter().map(Field::offset).collect()
    }

    #[test]
    fn packed_fields_leave_no_gaps() {
        let fields =
            vec![field("a", "|u1"), field("b", ">f8").with_shape(vec![2, 3]), field("c", "|S3")];
        let record = Record::packed(fields).unwrap();
        assert_eq!((offsets(&record), record.itemsize()), (vec![0, 1, 49], 52));
        assert!(record.is_packed());
        assert!(record.field("d").is_none());
    }

    #[test]
    fn aligned_fields_have_the_same_offsets_as_in_numpy() {
        // The expected values are the offsets and the itemsize of np.dtype([..], align=True) in
        // numpy 2.
        for (texts, expected, itemsize) in [
            (&["|i1", "<i4", "|S3"][..], vec![0, 4, 8], 12),
            (&["|i1", "<c16", "|i1"], vec![0, 8, 24], 32),
            (&["<f2", "<U1", "<M8[s]", "|b1"], vec![0, 4, 8, 16], 24),
            (&["|V3", "|S5"], vec![0, 3], 8),
            (&[], vec![], 0),
        ] {
            let fields = texts.iter().enumerate().map(|(i, text)| field(&format!("f{i}"), text));
            let record = Record::aligned(fields.collect()).unwrap();
            assert_eq!((offsets(&record), record.itemsize()), (expected, itemsize), "{texts:?}");
        }
    }

    #[test]
    fn duplicate_names_and_titles_are_rejected() {
        let twice = Record::packed(vec![field("a", "|i1"), field("a", "|i1")]);
        assert!(twice.unwrap_err().to_string().contains("occurs twice"));
        let titled = vec![field("a", "|i1").with_title("b"), field("b", "|i1")];
        assert!(Record::packed(titled).is_err());
    }

    #[test]
    fn a_record_is_rejected_if_it_is_too_large_or_a_field_extends_past_its_end() {
        let of = |shape| Record::packed(vec![field("a", "<i4").with_shape(shape)]);
        assert!(of(vec![1 << 61]).is_err());
        assert!(of(vec![1 << 32, 1 << 32]).is_err());
        assert_eq!(of(vec![u64::MAX, 0]).unwrap().itemsize(), 0);
        assert!(Record::new(vec![], 1 << 63).is_err());
        assert!(Record::new(vec![field("a", "|i1").at(u64::MAX)], 8).is_err());
        assert!(Record::new(vec![field("a", "<i4").at(5)], 8).is_err());
        let halves = field("a", "|u1").with_shape(vec![(1 << 63) - 1]);
        let two = vec![halves, field("b", "|u1").with_shape(vec![2])];
        assert!(Record::packed(two.clone()).is_err() && Record::aligned(two).is_err());
        assert!(of(vec![1; 65]).is_err());
    }

    #[test]
    fn records_nested_deeper_than_the_limit_are_rejected() {
        let mut inner = datatype("<i4");
        for _ in 0..MAX_RECORD_DEPTH {
            inner = Record::packed(vec![Field::new("x", inner)]).unwrap().into();
        }
        assert!(Record::packed(vec![Field::new("x", inner)]).is_err());
    }

    #[test]
    fn overlaps_and_gaps_are_detected() {
        let overlap = vec![field("a", "<u4"), field("b", "<u2").at(2)];
        let overlap = Record::new(overlap, 8).unwrap();
        assert!(!overlap.is_packed() && !overlap.is_in_order());
        let gap = Record::new(vec![field("a", "<u2").at(1)], 8).unwrap();
        assert!(!gap.is_packed() && gap.is_in_order());
    }
}
