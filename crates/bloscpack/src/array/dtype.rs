//! Types of elements, as numpy has and spells them.

use std::fmt;

use serde_json::Value;

use crate::array::element::Element;
use crate::array::literal::Literal;
use crate::array::{Record, Scalar};
use crate::error::{Error, ErrorKind, Result};

/// The most dimensions of an array or a field; numpy has no more.
pub(crate) const MAX_DIMENSIONS: usize = 64;

/// The most bytes of an element, and the largest count of a field: numpy has them in a C `int`.
pub(crate) const MAX_SIZE: u64 = i32::MAX as u64;

/// How deep records may nest, so that their text is within the depth of a literal.
const MAX_RECORDS: u32 = 15;

/// What one element of an array is.
///
/// | spelling | bytes | is |
/// |---|---|---|
/// | `\|b1` | 1 | truth value |
/// | `\|i1 <i2 <i4 <i8`, `\|u1 <u2 <u4 <u8` | 1 2 4 8 | integer, signed or not |
/// | `<f2 <f4 <f8 <f16` | 2 4 8 16 | IEEE 754; 16 is C's `long double` in 16 bytes |
/// | `<c8 <c16 <c32` | 8 16 32 | complex: two of half the size |
/// | `<M8[ns]`, `<m8[25s]`, `<m8` | 8 | date, time span, in so many units |
/// | `\|S5`, `<U5`, `\|V5` | 5, 20, 5 | bytes, characters of four bytes, anything |
/// | `[('a', '<i4'), (('title', 'b'), '<f8', (2, 3))]` | 52 | fields side by side, with a shape each |
/// | `[('a', '\|i1'), ('', '\|V3'), ('b', '<i4')]` | 8 | the same with three bytes of padding |
///
/// `<` is little-endian, `>` big, `|` neither. `=` and a missing letter mean the writer's machine,
/// and all that wrote these files were little-endian.
///
/// Files spell a type in one of these ways, by the release that wrote them:
///
/// | release | JSON | |
/// |---|---|---|
/// | 0.4.0 | `[["","<f8"]]` | a list of one field without a name is the plain type |
/// | 0.4.1 to 0.7.1 | `"<f8"`, `[["a","<f8",[2]]]` | |
/// | 0.7.2 on | `"'<f8'"`, `"[('a', '<f8', (2,))]"` | a Python literal in a string |
///
/// ```
/// use bloscpack::Dtype;
///
/// let dtype = Dtype::parse("[('a', '|i1'), ('', '|V3'), ('b', '>f4', (2,))]")?;
/// assert_eq!(dtype.itemsize(), 12);
/// let b = dtype.as_record().and_then(|record| record.field("b")).unwrap();
/// assert_eq!((b.offset(), b.shape(), b.dtype().to_string().as_str()), (4, &[2][..], ">f4"));
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dtype {
    /// A number, a string, or bytes of which nothing is known.
    Scalar(Scalar),
    /// Named fields.
    Record(Record),
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidDtype(message.into()))
}

/// The beginning of a text that may be a megabyte, for messages.
pub(crate) fn shortened(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

impl Dtype {
    /// Parses a type string (`<f8`) or a Python literal of one (`'<f8'`, `[('a', '<f8')]`).
    ///
    /// Fails with [`ErrorKind::ObjectDtype`] where objects are, at any depth, and with
    /// [`ErrorKind::InvalidDtype`] for all else that is no type.
    pub fn parse(text: &str) -> Result<Self> {
        // A type string may end in brackets, but it has no quotes and begins with none.
        if text.contains(['\'', '"', '(']) || text.trim_start().starts_with('[') {
            let literal = Literal::parse(text).map_err(|error| invalid(error.to_string()))?;
            Self::from_literal(&literal)
        } else {
            Scalar::parse(text).map(Self::Scalar)
        }
    }

    /// Reads the type of an array's metadata, in any of the [spellings](Self).
    pub fn from_json(value: &Value) -> Result<Self> {
        if let Value::String(text) = value {
            return Self::parse(text);
        }
        let literal = Literal::from_json(value).ok_or_else(|| {
            invalid("expected strings, integers and lists of them, not nested deep")
        })?;
        match plain_list(&literal) {
            Some(scalar) => Scalar::parse(scalar).map(Self::Scalar),
            None => Self::from_literal(&literal),
        }
    }

    pub(crate) fn from_literal(literal: &Literal) -> Result<Self> {
        Self::nested(literal, 0)
    }

    /// A type that lies in so many records.
    pub(crate) fn nested(literal: &Literal, depth: u32) -> Result<Self> {
        match literal {
            Literal::Text(text) => Scalar::parse(text).map(Self::Scalar),
            Literal::List(_) if depth >= MAX_RECORDS => {
                Err(invalid(format!("records nest deeper than {MAX_RECORDS}")))
            }
            Literal::List(fields) => Record::parse(fields, depth).map(Self::Record),
            _ => Err(invalid("expected a string or a list of fields")),
        }
    }

    /// The type of a Rust type, in the byte order of this machine.
    ///
    /// ```
    /// assert_eq!(bloscpack::Dtype::of::<u8>().to_string(), "|u1");
    /// ```
    pub fn of<T: Element>() -> Self {
        Self::Scalar(Scalar::of::<T>())
    }

    /// Bytes of one element.
    pub fn itemsize(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.size(),
            Self::Record(record) => record.size(),
        }
    }

    /// The scalar, `None` for a record.
    pub fn as_scalar(&self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) => Some(*scalar),
            Self::Record(_) => None,
        }
    }

    /// The record, `None` for a scalar.
    pub fn as_record(&self) -> Option<&Record> {
        match self {
            Self::Scalar(_) => None,
            Self::Record(record) => Some(record),
        }
    }

    /// The Python literal of the type, as numpy writes it to files: `'<f8'` with its quotes, or
    /// `[('a', '<f8')]`.
    pub fn descr(&self) -> String {
        self.to_literal().to_string()
    }

    /// The same as JSON: a string, or lists of name, type and shape. The list of a title and a name
    /// stands for a name, and `["", "|V3"]` for padding.
    pub fn descr_json(&self) -> Value {
        self.to_literal().to_json()
    }

    pub(crate) fn to_literal(&self) -> Literal {
        match self {
            Self::Scalar(scalar) => Literal::Text(scalar.to_string()),
            Self::Record(record) => record.to_literal(),
        }
    }
}

impl fmt::Display for Dtype {
    /// The type string of a scalar, else the [literal](Dtype::descr).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => scalar.fmt(f),
            Self::Record(record) => record.to_literal().fmt(f),
        }
    }
}

/// The type string of `[["", "<f8"]]`, in which release 0.4.0 wrote plain types.
fn plain_list(literal: &Literal) -> Option<&str> {
    let [field] = literal.items()? else { return None };
    match field.items()? {
        [name, scalar] if name.as_text() == Some("") => scalar.as_text(),
        _ => None,
    }
}

/// Bytes of an array; `None` at 2^63 and above. Any count of 0 makes it 0, whatever the others are.
pub(crate) fn byte_size(shape: &[u64], itemsize: u64) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    let size = shape.iter().try_fold(itemsize, |size, &count| size.checked_mul(count))?;
    i64::try_from(size).is_ok().then_some(size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn dtype(text: &str) -> Dtype {
        Dtype::parse(text).unwrap()
    }

    fn fails(text: &str) -> String {
        Dtype::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn every_spelling_of_the_releases_is_read() {
        let plain = dtype("<f8");
        for json in [json!([["", "<f8"]]), json!("<f8"), json!("'<f8'"), json!("u'<f8'")] {
            assert_eq!(Dtype::from_json(&json).unwrap(), plain, "{json}");
        }
        let record = dtype("[('a', '|S1'), ('b', '<f8', (2,))]");
        for json in [
            json!([["a", "|S1"], ["b", "<f8", [2]]]),
            json!([["a", "|S1"], ["b", "<f8", 2]]),
            json!("[('a', '|S1'), ('b', '<f8', (2,))]"),
            json!("[(b'a', b'|S1'), (u'b', u'<f8', (2L,))]"),
        ] {
            assert_eq!(Dtype::from_json(&json).unwrap(), record, "{json}");
        }
        let nested = json!([["r", [["x", "<i4"]], [2, 2]], [["title", "t"], "|u1"]]);
        let expected = "[('r', [('x', '<i4')], (2, 2)), (('title', 't'), '|u1')]";
        assert_eq!(Dtype::from_json(&nested).unwrap().descr(), expected);
    }

    #[test]
    fn a_list_of_one_field_without_a_name_is_plain_in_json_only() {
        assert_eq!(Dtype::from_json(&json!([["", "|V8"]])).unwrap(), dtype("|V8"));
        // numpy 2: np.dtype({'names': [], 'formats': [], 'itemsize': 8}).descr
        let empty = dtype("[('', '|V8')]");
        assert_eq!((empty.itemsize(), empty.descr().as_str()), (8, "[('', '|V8')]"));
    }

    #[test]
    fn what_numpy_does_not_know_is_an_error() {
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
            let error = Dtype::parse(text).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::InvalidDtype(_)), "{text}: {error}");
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
                matches!(Dtype::from_json(&json).unwrap_err().kind(), ErrorKind::InvalidDtype(_)),
                "{json}"
            );
        }
    }

    #[test]
    fn objects_are_refused_at_any_depth() {
        for text in
            ["|O", "'|O'", "|O8", "[('a', '<i4'), ('b', '|O')]", "[('a', [('b', '|O', (2,))])]"]
        {
            assert!(
                matches!(Dtype::parse(text).unwrap_err().kind(), ErrorKind::ObjectDtype),
                "{text}"
            );
        }
    }

    #[test]
    fn descr_is_that_of_numpy() {
        // Each line is `repr` of the `descr` of a numpy type.
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
            assert_eq!(dtype(text).descr(), text);
        }
        let record = dtype("[(('t', 'a'), '<i4'), ('', '|V4'), ('b', '<f8', (2,))]");
        assert_eq!(
            record.descr_json(),
            json!([[["t", "a"], "<i4"], ["", "|V4"], ["b", "<f8", [2]]])
        );
        assert_eq!(
            dtype("[('', '|V1'), ('', '|V2', (2,)), ('a', '|i1', ())]").descr(),
            "[('', '|V5'), ('a', '|i1')]"
        );
        assert_eq!(dtype("[('', '<f8'), ('a', '<i4')]").descr(), "[('f0', '<f8'), ('a', '<i4')]");
    }

    #[test]
    fn messages_are_short_however_long_the_text() {
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

    proptest! {
        #[test]
        fn what_is_written_is_read_back(descr in any_descr()) {
            let dtype = Dtype::parse(&descr).unwrap();
            prop_assert_eq!(Dtype::parse(&dtype.descr()).unwrap(), dtype.clone());
            prop_assert_eq!(Dtype::from_json(&json!(dtype.descr())).unwrap(), dtype);
        }

        #[test]
        fn any_text_parses_or_fails(text in r#"[\[\]()'",<>|=fiuScUVMmO0-9 a\\]{0,40}"#) {
            if let Ok(dtype) = Dtype::parse(&text) {
                prop_assert_eq!(Dtype::parse(&dtype.descr()).unwrap(), dtype);
            }
        }
    }
}
