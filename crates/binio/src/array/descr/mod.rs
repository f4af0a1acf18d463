//! Reading and writing numpy's description of a type, `descr`, as a Python literal and as JSON.
//!
//! | form | meaning |
//! |---|---|
//! | `'<f8'` | a scalar |
//! | `[('a', '<i4'), (('title', 'b'), '<f8', (2, 3)), ('', '\|V4')]` | contiguous fields and padding |
//! | `{'names': [..], 'formats': [..], 'offsets': [..], 'titles': [..], 'itemsize': 8}` | fields at any offset |
//!
//! A contiguous field consists of a name, a type and optionally a shape. The name can be a pair of
//! title and name. A field of type `V` without a name is padding. In the dictionary, `offsets`,
//! `titles` and `itemsize` are optional, and `'aligned': True` aligns the fields if there are no
//! offsets. Dictionaries are only written for fields that overlap or are not in the order of their
//! offsets, and `.npy` files cannot contain them. In JSON, tuples become lists.
//!
//! The spelling of a type in a Bloscpack file depends on the release that wrote the file:
//!
//! | release | JSON | |
//! |---|---|---|
//! | 0.4.0 | `[["","<f8"]]` | a list of one unnamed field stands for a scalar |
//! | 0.4.1 to 0.7.1 | `"<f8"`, `[["a","<f8",[2]]]` | |
//! | since 0.7.2 | `"'<f8'"`, `"[('a', '<f8', (2,))]"` | a Python literal in a string |

mod parser;

use serde_json::Value;

use crate::array::literal::Literal;
use crate::array::{Datatype, ElementsError, Field, Record, ScalarType};
use crate::error::elements::datatype as invalid;
use parser::Parser;

/// Maximum size of an element in bytes, and maximum count in the shape of a field. numpy 1 stores
/// both in a C `int`.
pub(crate) const MAX_ITEMSIZE: u64 = i32::MAX as u64;

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
    /// bytes or more, if there are more than 65,536 fields, if a field without bytes has more than
    /// 65,536 items, if records nest deeper than 64 levels, or if the text is longer than 1 MiB or
    /// has more than 132 levels of brackets.
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
    /// A list of one unnamed scalar, such as `[["", "<f8"]]`, becomes a scalar type.
    ///
    /// # Errors
    ///
    /// Same as [`parse`](Self::parse). Also fails with [`ElementsError::Datatype`] if the value
    /// contains a number that is not a 64-bit integer, or if it nests deeper than 132 levels.
    pub fn from_json(value: &Value) -> Result<Self, ElementsError> {
        if let Value::String(text) = value {
            return Self::parse(text);
        }
        let literal = Literal::from_json(value).ok_or_else(|| {
            invalid(
                "the type contains a number that is not a 64-bit integer, or it nests deeper than \
                 132 levels",
            )
        })?;
        match plain_list(&literal) {
            Some(scalar) => ScalarType::parse(scalar).map(Self::Scalar),
            None => Self::from_literal(&literal),
        }
    }

    pub(crate) fn from_literal(literal: &Literal) -> Result<Self, ElementsError> {
        Parser::default().datatype(literal, 0)
    }

    /// Returns the Python literal of the type as numpy writes it to files: `'<f8'` with its quotes,
    /// or `[('a', '<f8')]`. Returns a dictionary for a record whose fields overlap or are not in
    /// the order of their offsets. numpy cannot write such records to files.
    pub fn descr(&self) -> String {
        self.to_literal().to_string()
    }

    /// Returns the [literal](Self::descr) of the type as JSON: a string, or lists of name, type and
    /// shape. A field with a title has a list of title and name instead of the name, and
    /// `["", "|V3"]` is padding. A dictionary becomes an object.
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
    fn types_are_parsed_in_the_spelling_of_every_bloscpack_release() {
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
    fn unsupported_types_are_rejected() {
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
        fn the_descr_of_a_record_with_fields_at_any_offset_parses_to_the_same_record(record in any_record()) {
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
        fn parsing_random_text_does_not_panic(text in r#"[\[\]()'",<>|=fiuScUVMmO0-9 a\\]{0,40}"#) {
            if let Ok(dtype) = Datatype::parse(&text) {
                prop_assert_eq!(Datatype::parse(&dtype.descr()).unwrap(), dtype);
            }
        }
    }

    #[test]
    fn field_offsets_are_the_same_as_in_numpy() {
        // The text is the `descr` of np.dtype([..], align=True) in numpy 2, and the expected
        // offsets are those that numpy 2 assigns to its fields.
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
