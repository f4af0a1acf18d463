//! Reading and writing numpy's description of a type, `descr`, as a Python literal and as JSON.
//!
//! | form | meaning |
//! |---|---|
//! | `'<f8'` | a scalar |
//! | `[('a', '<i4'), (('title', 'b'), '<f8', (2, 3)), ('', '\|V4')]` | contiguous fields and padding |
//! | `{'names': [..], 'formats': [..], 'offsets': [..], 'titles': [..], 'itemsize': 8}` | fields at any offset |
//!
//! A contiguous field consists of a name, a type and optionally a shape. The name can be a pair of
//! title and name. A field of type `V` without a name is padding. In the dictionary, `offsets` and
//! all later keys are optional. Dictionaries are only written for fields that overlap or are not in
//! the order of their offsets, and `.npy` files cannot contain them. In JSON, tuples become lists.
//!
//! The spelling of types in Bloscpack files depends on the release that wrote them:
//!
//! | release | JSON | |
//! |---|---|---|
//! | 0.4.0 | `[["","<f8"]]` | a list of one unnamed field stands for a scalar |
//! | 0.4.1 to 0.7.1 | `"<f8"`, `[["a","<f8",[2]]]` | |
//! | since 0.7.2 | `"'<f8'"`, `"[('a', '<f8', (2,))]"` | a Python literal in a string |

use serde_json::Value;

use crate::array::literal::Literal;
use crate::array::record::MAX_RECORD_DEPTH;
use crate::array::strided::{MAX_DIMENSIONS, byte_size};
use crate::array::{Datatype, ElementsError, Field, Record, ScalarKind, ScalarType};
use crate::error::elements::datatype as invalid;

/// Maximum size of an element in bytes, and maximum count in the shape of a field. numpy stores
/// both in a C `int`.
pub(crate) const MAX_ITEMSIZE: u64 = i32::MAX as u64;

/// Maximum number of items in a field that has no bytes. Counts of 0 are treated as 1.
const MAX_EMPTY_ITEMS: u64 = 1 << 16;

/// Maximum number of fields in a type, including the fields of inner records.
const MAX_FIELDS: usize = 1 << 16;

/// Returns the first 40 characters of a string, in quotes, for use in a message. The string itself
/// may be a megabyte long.
pub(crate) fn shortened(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

impl Datatype {
    /// Parses a type string (`<f8`) or the Python literal of a type (`'<f8'`, `[('a', '<f8')]`).
    /// Never panics, and does not evaluate anything.
    ///
    /// ```
    /// use binio::array::{Datatype, ElementsError};
    ///
    /// assert_eq!(Datatype::parse("<f8")?.itemsize(), 8);
    /// let record = Datatype::parse("[('id', '<i4'), ('position', '<f8', (3,))]")?;
    /// assert_eq!(record.itemsize(), 28);
    /// assert!(matches!(Datatype::parse("|O"), Err(ElementsError::Object)));
    /// # Ok::<(), ElementsError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ElementsError::Object`] if the type contains Python objects at any depth. Fails
    /// with [`ElementsError::Datatype`] if the text is not a valid type, if an element has 2^31
    /// bytes or more, if there are more than 65,536 fields, or if records nest deeper than 64
    /// levels.
    pub fn parse(text: &str) -> Result<Self, ElementsError> {
        // A type string may end in brackets, but it does not begin with a bracket and contains no
        // quotes.
        let is_literal =
            text.contains(['\'', '"', '(']) || text.trim_start().starts_with(['[', '{']);
        if is_literal {
            let literal = Literal::parse(text).map_err(|error| invalid(error.to_string()))?;
            Self::from_literal(&literal)
        } else {
            ScalarType::parse(text).map(Self::Scalar)
        }
    }

    /// Converts a type from JSON: `"<f8"`, `[["a", "<f8", [2]]]`, or a Python literal in a string.
    /// A list of one unnamed field, such as `[["", "<f8"]]`, becomes a scalar type.
    ///
    /// # Errors
    ///
    /// Same as [`parse`](Self::parse). Also fails with [`ElementsError::Datatype`] if the value
    /// contains a number that is not a 64-bit integer, or if it nests too deeply.
    pub fn from_json(value: &Value) -> Result<Self, ElementsError> {
        if let Value::String(text) = value {
            return Self::parse(text);
        }
        let literal = Literal::from_json(value).ok_or_else(|| {
            invalid(
                "the type contains a number that is not a 64-bit integer, or it nests too deeply",
            )
        })?;
        match plain_list(&literal) {
            Some(scalar) => ScalarType::parse(scalar).map(Self::Scalar),
            None => Self::from_literal(&literal),
        }
    }

    pub(crate) fn from_literal(literal: &Literal) -> Result<Self, ElementsError> {
        Parser { fields: 0 }.datatype(literal, 0)
    }

    /// Returns the Python literal of the type as numpy writes it to files: `'<f8'` with its quotes,
    /// or `[('a', '<f8')]`.
    pub fn descr(&self) -> String {
        self.to_literal().to_string()
    }

    /// Returns the literal as JSON: a string, or lists of name, type and shape. A field with a
    /// title has a list of title and name instead of the name, and `["", "|V3"]` is padding.
    pub fn descr_json(&self) -> Value {
        self.to_literal().to_json()
    }

    /// Returns `true` if a `.npy` file can contain the description of the type.
    pub(crate) fn fits_npy(&self) -> bool {
        self.as_record().is_none_or(|record| {
            record.is_in_order() && record.fields().iter().all(|field| field.datatype().fits_npy())
        })
    }

    pub(crate) fn to_literal(&self) -> Literal {
        match self {
            Self::Scalar(scalar) => Literal::Text(scalar.typestr()),
            Self::Record(record) => record.to_literal(),
        }
    }
}

/// Returns the type string in a literal of the form `[["", "<f8"]]`, as release 0.4.0 of Bloscpack
/// wrote scalar types. Returns `None` for any other literal.
fn plain_list(literal: &Literal) -> Option<&str> {
    let [field] = literal.items()? else { return None };
    match field.items()? {
        [name, scalar] if name.as_text() == Some("") => scalar.as_text(),
        _ => None,
    }
}

fn text(text: &str) -> Literal {
    Literal::Text(text.to_owned())
}

fn integer(number: u64) -> Literal {
    Literal::Integer(number.try_into().unwrap_or(i64::MAX))
}

fn shape_literal(shape: &[u64]) -> Literal {
    Literal::Tuple(shape.iter().map(|&count| integer(count)).collect())
}

impl Record {
    pub(crate) fn to_literal(&self) -> Literal {
        if !self.is_in_order() {
            return self.to_dictionary();
        }
        let mut items = Vec::with_capacity(self.fields().len());
        let mut at = 0;
        let padding = |from: u64, to: u64| {
            let void = Literal::Text(format!("|V{}", to.saturating_sub(from)));
            (from < to).then(|| Literal::Tuple(vec![text(""), void]))
        };
        for field in self.fields() {
            items.extend(padding(at, field.offset()));
            items.push(field.to_literal());
            at = field.offset().saturating_add(field.size());
        }
        items.extend(padding(at, self.itemsize()));
        Literal::List(items)
    }

    fn to_dictionary(&self) -> Literal {
        let list = |item: &dyn Fn(&Field) -> Literal| {
            Literal::List(self.fields().iter().map(item).collect())
        };
        let format = |field: &Field| match field.shape() {
            [] => field.datatype().to_literal(),
            shape => Literal::Tuple(vec![field.datatype().to_literal(), shape_literal(shape)]),
        };
        let mut entries = vec![
            (text("names"), list(&|field| text(field.name()))),
            (text("formats"), list(&format)),
            (text("offsets"), list(&|field| integer(field.offset()))),
        ];
        if self.fields().iter().any(|field| field.title().is_some()) {
            let title = |field: &Field| field.title().map_or(Literal::None, text);
            entries.push((text("titles"), list(&title)));
        }
        entries.push((text("itemsize"), integer(self.itemsize())));
        Literal::Dictionary(entries)
    }
}

impl Field {
    fn to_literal(&self) -> Literal {
        let name = match self.title() {
            Some(title) => Literal::Tuple(vec![text(title), text(self.name())]),
            None => text(self.name()),
        };
        let mut items = vec![name, self.datatype().to_literal()];
        if !self.shape().is_empty() {
            items.push(shape_literal(self.shape()));
        }
        Literal::Tuple(items)
    }
}

/// A parser of types, which counts the fields of all records.
struct Parser {
    fields: usize,
}

impl Parser {
    /// Parses a type nested inside `depth` records.
    fn datatype(&mut self, literal: &Literal, depth: u32) -> Result<Datatype, ElementsError> {
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
                "field {name}: expected a shape of at most {MAX_DIMENSIONS} counts below 2^31"
            ))
        })?;
        let size = byte_size(&shape, itemsize).filter(|&size| size <= MAX_ITEMSIZE);
        let size = size.ok_or_else(|| {
            invalid(format!("field {} is longer than {MAX_ITEMSIZE} bytes", shortened(name)))
        })?;
        if size == 0 && !is_few(&shape, itemsize) {
            let name = shortened(name);
            return Err(invalid(format!(
                "field {name} has no bytes, but its shape has too many items"
            )));
        }
        Ok(Field::new(name, datatype).with_shape(shape))
    }
}

/// Returns `true` if a zero-sized field has few enough items. Without this limit, a small file could
/// take hours to process or print. As in numpy, an element type of size 0, such as a string of length
/// 0, cannot have a shape at all.
fn is_few(shape: &[u64], itemsize: u64) -> bool {
    let items = shape.iter().fold(1_u64, |items, &count| items.saturating_mul(count.max(1)));
    shape.is_empty() || (itemsize > 0 && items <= MAX_EMPTY_ITEMS)
}

/// Parses the shape of a field: a single count, or a tuple of counts.
fn field_shape(literal: &Literal) -> Option<Vec<u64>> {
    let shape = match literal {
        Literal::Integer(_) => vec![literal.count()?],
        _ => literal.counts()?,
    };
    let is_known =
        shape.len() <= MAX_DIMENSIONS && shape.iter().all(|&count| count <= MAX_ITEMSIZE);
    is_known.then_some(shape)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn datatype(text: &str) -> Datatype {
        Datatype::parse(text).unwrap()
    }

    fn fails(text: &str) -> String {
        Datatype::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn types_parse_in_the_spelling_of_every_bloscpack_release() {
        let plain = datatype("<f8");
        for json in [json!([["", "<f8"]]), json!("<f8"), json!("'<f8'"), json!("u'<f8'")] {
            assert_eq!(Datatype::from_json(&json).unwrap(), plain, "{json}");
        }
        let record = datatype("[('a', '|S1'), ('b', '<f8', (2,))]");
        for json in [
            json!([["a", "|S1"], ["b", "<f8", [2]]]),
            json!([["a", "|S1"], ["b", "<f8", 2]]),
            json!("[('a', '|S1'), ('b', '<f8', (2,))]"),
            json!("[(b'a', b'|S1'), (u'b', u'<f8', (2L,))]"),
        ] {
            assert_eq!(Datatype::from_json(&json).unwrap(), record, "{json}");
        }
        let nested = json!([["r", [["x", "<i4"]], [2, 2]], [["title", "t"], "|u1"]]);
        let expected = "[('r', [('x', '<i4')], (2, 2)), (('title', 't'), '|u1')]";
        assert_eq!(Datatype::from_json(&nested).unwrap().descr(), expected);
    }

    #[test]
    fn a_list_of_one_unnamed_field_becomes_a_scalar_only_in_json() {
        assert_eq!(Datatype::from_json(&json!([["", "|V8"]])).unwrap(), datatype("|V8"));
        // The text is the `descr` of np.dtype({'names': [], 'formats': [], 'itemsize': 8}) in numpy
        // 2.
        let empty = datatype("[('', '|V8')]");
        assert_eq!((empty.itemsize(), empty.descr().as_str()), (8, "[('', '|V8')]"));
    }

    #[test]
    fn types_that_numpy_lacks_are_rejected() {
        for text in [
            "",
            "<",
            "zz",
            "'zz'",
            "i3",
            "i16",
            "f12",
            "S",
            "S-1",
            "S+1",
            "f8x",
            "<<f8",
            "M8[]",
            "M8[B]",
            "M8[ ns]",
            "m8[2147483648s]",
            "M4[ns]",
            "é",
            "S2147483648",
            "U600000000",
            "S18446744073709551616",
            "T16",
            "('<f4', (2,))",
            "5",
            "[5]",
            "['a', '<f8']",
            "[('a',)]",
            "[('a', '<f8', 1, 2)]",
            "[(1, '<f8')]",
            "[((1, 'a'), '<f8')]",
            "[('a', 5)]",
            "[('a', '<f8', -1)]",
            "[('a', '<f8', ('x',))]",
            "[('a', '<i4'), ('a', '<i4')]",
            "[('a', '<i4'), (('a', 'b'), '<i4')]",
            "[('f1', '<i4'), ('', '<i4')]",
            "{'names': []}",
            "__import__('os')",
        ] {
            let error = Datatype::parse(text).unwrap_err();
            assert!(matches!(error, ElementsError::Datatype(_)), "{text}: {error}");
        }
        for json in [
            json!(null),
            json!(8),
            json!({"a": 1}),
            json!([["a", 1.5]]),
            json!(["a", "<f8"]),
            json!(["<f8"]),
        ] {
            assert!(
                matches!(Datatype::from_json(&json).unwrap_err(), ElementsError::Datatype(_)),
                "{json}"
            );
        }
    }

    #[test]
    fn object_types_are_rejected_at_any_depth() {
        for text in
            ["|O", "'|O'", "|O8", "[('a', '<i4'), ('b', '|O')]", "[('a', [('b', '|O', (2,))])]"]
        {
            assert!(matches!(Datatype::parse(text).unwrap_err(), ElementsError::Object), "{text}");
        }
    }

    #[test]
    fn the_descr_of_a_type_matches_the_descr_that_numpy_writes() {
        // Each line is the `repr` of the `descr` of a numpy type.
        for text in [
            "[]",
            "[('a', [])]",
            "[('a', '<i4', (0,))]",
            "[('a', '<i4', (1,))]",
            "[('', '|V2'), ('a', '|i1')]",
            "[('a', '|i1'), ('', '|V3'), ('b', '<i4')]",
            "[(('t', 'a'), '<i4'), ('', '|V4'), ('b', '<f8', (2,))]",
            "[('r', [('x', '>u2'), ('', '|V6'), ('y', '<M8[ns]')], (2, 3))]",
            r#"[("it's", '|S0'), ('é\n\u200b\'"', '<U2')]"#,
        ] {
            assert_eq!(datatype(text).descr(), text);
        }
        let record = datatype("[(('t', 'a'), '<i4'), ('', '|V4'), ('b', '<f8', (2,))]");
        assert_eq!(
            record.descr_json(),
            json!([[["t", "a"], "<i4"], ["", "|V4"], ["b", "<f8", [2]]])
        );
        assert_eq!(
            datatype("[('', '|V1'), ('', '|V2', (2,)), ('a', '|i1', ())]").descr(),
            "[('', '|V5'), ('a', '|i1')]"
        );
        assert_eq!(
            datatype("[('', '<f8'), ('a', '<i4')]").descr(),
            "[('f0', '<f8'), ('a', '<i4')]"
        );
    }

    #[test]
    fn messages_about_long_type_strings_stay_short() {
        assert!(fails(&"z".repeat(100_000)).len() < 100);
    }

    fn any_scalar() -> impl Strategy<Value = String> {
        let order = prop_oneof![Just("<"), Just(">"), Just("|"), Just("=")];
        let code = prop_oneof![
            Just("b1".to_owned()),
            "[iu][1248]",
            Just("f2".to_owned()),
            "f[48]",
            prop_oneof![Just("f16"), Just("c8"), Just("c16"), Just("c32")].prop_map(str::to_owned),
            "[SUV][1-9][0-9]{0,3}",
            r"[Mm]8(\[[0-9]{0,3}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?",
        ];
        (order, code).prop_map(|(order, code)| format!("'{order}{code}'"))
    }

    fn any_descr() -> impl Strategy<Value = String> {
        let shape = prop_oneof![
            3 => Just(String::new()),
            1 => (1..5_u8).prop_map(|n| format!(", {n}")),
            1 => (1..5_u8, 1..5_u8).prop_map(|(n, m)| format!(", ({n}, {m})")),
        ];
        any_scalar().prop_recursive(4, 24, 5, move |inner| {
            let field = (any::<bool>(), ".{0,3}", inner, shape.clone());
            prop::collection::vec(field, 1..5).prop_map(|fields| {
                let fields = fields.iter().enumerate().map(|(i, (titled, name, dtype, shape))| {
                    let name = Literal::Text(format!("{name}{i}"));
                    let name = if *titled {
                        format!("('title of {i}', {name})")
                    } else {
                        name.to_string()
                    };
                    format!("({name}, {dtype}{shape}), ('', '|V{i}'),")
                });
                format!("[{}]", fields.collect::<String>())
            })
        })
    }

    /// Generates records with fields at arbitrary offsets.
    fn any_record() -> impl Strategy<Value = Datatype> {
        let field = (any_scalar(), 0..40_u64, any::<bool>());
        prop::collection::vec(field, 1..5).prop_map(|fields| {
            let field = |(i, (text, offset, titled)): (usize, (String, u64, bool))| {
                let field = Field::new(format!("f{i}"), datatype(&text)).at(offset);
                if titled { field.with_title(format!("t{i}")) } else { field }
            };
            let fields = fields.into_iter().enumerate().map(field).collect();
            Record::new(fields, 50_000).unwrap().into()
        })
    }

    proptest! {
        #[test]
        fn records_with_fields_at_any_offset_read_back_unchanged(record in any_record()) {
            prop_assert_eq!(Datatype::parse(&record.descr()).unwrap(), record.clone());
            prop_assert_eq!(Datatype::from_json(&record.descr_json()).unwrap(), record);
        }

        #[test]
        fn the_descr_of_a_parsed_type_parses_to_the_same_type(descr in any_descr()) {
            let dtype = Datatype::parse(&descr).unwrap();
            prop_assert_eq!(Datatype::parse(&dtype.descr()).unwrap(), dtype.clone());
            prop_assert_eq!(Datatype::from_json(&json!(dtype.descr())).unwrap(), dtype);
        }

        #[test]
        fn any_text_parses_or_is_rejected_without_panicking(text in r#"[\[\]()'",<>|=fiuScUVMmO0-9 a\\]{0,40}"#) {
            if let Ok(dtype) = Datatype::parse(&text) {
                prop_assert_eq!(Datatype::parse(&dtype.descr()).unwrap(), dtype);
            }
        }
    }

    #[test]
    fn field_offsets_are_the_same_as_in_numpy() {
        // The text is the `descr` of np.dtype([..], align=True) in numpy 2, and the offsets are
        // those of its fields.
        let aligned = datatype(
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
    fn sizes_and_counts_are_limited_to_31_bits() {
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
        assert_eq!(datatype("[('a', '|i1', (2147483647,))]").itemsize(), 2_147_483_647);
    }

    #[test]
    fn nesting_depth_and_number_of_dimensions_are_limited() {
        let nested =
            |depth| (0..depth).fold("'<i4'".to_owned(), |inner, _| format!("[('a', {inner})]"));
        let deep = datatype(&nested(64));
        assert_eq!(datatype(&deep.descr()), deep);
        assert!(fails(&nested(65)).contains("64"));
        let counts = |n| format!("[('a', '<i4', ({}))]", "1, ".repeat(n));
        assert_eq!(datatype(&counts(64)).itemsize(), 4);
        assert!(fails(&counts(65)).contains("at most 64"));
    }

    #[test]
    fn overlapping_fields_are_described_by_their_offsets() {
        // The text is the `repr` of a dictionary from which numpy 2 creates a type.
        let text = "{'names': ['all', 'low'], 'formats': ['<u4', ('<u1', (2,))], \
                    'offsets': [0, 0], 'titles': [None, 't'], 'itemsize': 8}";
        let overlap = datatype(text);
        assert_eq!(overlap.itemsize(), 8);
        assert_eq!(overlap.descr(), text.replace("<u1", "|u1"));
        assert_eq!(datatype(&overlap.descr()), overlap);
        assert_eq!(Datatype::from_json(&overlap.descr_json()).unwrap(), overlap);
        let aligned = "{'names': ['a', 'b'], 'formats': ['|i1', '<f8'], 'aligned': True}";
        assert_eq!(datatype(aligned).descr(), "[('a', '|i1'), ('', '|V7'), ('b', '<f8')]");
        let packed = datatype("{'names': ['a', 'b'], 'formats': ['|i1', '<f8']}");
        assert_eq!(packed, datatype("[('a', '|i1'), ('b', '<f8')]"));
    }

    #[test]
    fn dictionaries_that_do_not_describe_a_type_are_rejected() {
        for text in [
            "{}",
            "{'names': ['a']}",
            "{'names': ['a'], 'formats': []}",
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [-1]}",
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [0, 4]}",
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [9223372036854775807]}",
            "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 3}",
            "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 2147483648}",
            "{'names': ['a'], 'formats': ['<i4'], 'names': ['a']}",
            "{'names': ['a'], 'formats': ['<i4'], 'more': 1}",
            "{'names': [1], 'formats': ['<i4']}",
            "{'names': ['a'], 'formats': ['<i4'], 'titles': [1]}",
            "{'names': ['a', 'a'], 'formats': ['<i4', '<i4']}",
            "{'a': ('<i4', 0)}",
        ] {
            assert!(matches!(Datatype::parse(text), Err(ElementsError::Datatype(_))), "{text}");
        }
        assert!(matches!(
            Datatype::parse("{'names': ['a'], 'formats': ['|O']}"),
            Err(ElementsError::Object)
        ));
    }

    #[test]
    fn the_number_of_elements_without_bytes_is_limited() {
        for text in
            ["[('a', '|S0')]", "[('a', '<i4', (65536, 0))]", "[('a', [('b', '<i4', (3, 0))])]"]
        {
            assert_eq!(datatype(text).itemsize(), 0, "{text}");
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
