//! Types of elements, as numpy has and spells them.

use std::collections::HashSet;
use std::fmt;

use binio::Endian;
use serde_json::Value;

use crate::array::element::Element;
use crate::array::literal::Literal;
use crate::error::{Error, ErrorKind, Result};

/// The most dimensions of an array or a field; numpy has no more.
pub(crate) const MAX_DIMENSIONS: usize = 64;

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

/// A type without fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    kind: Kind,
    size: u64,
    endian: Endian,
}

/// The kinds of scalars; a size makes a type of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `b`: zero is false.
    Bool,
    /// `i`: signed, two's complement.
    Int,
    /// `u`: unsigned.
    Uint,
    /// `f`: floating-point.
    Float,
    /// `c`: real, then imaginary part.
    Complex,
    /// `m`: a number of units as i64; without a unit the number alone.
    Timedelta(Option<TimeUnit>),
    /// `M`: units since 1970 as i64.
    Datetime(Option<TimeUnit>),
    /// `S`: bytes, padded with NUL.
    Bytes,
    /// `U`: code points of four bytes, padded with NUL.
    Unicode,
    /// `V`: bytes without a meaning.
    Void,
}

/// The unit of dates and time spans: `[25s]` is 25 times `s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    /// How many.
    pub count: u32,
    /// Of what: `Y M W D h m s ms us ns ps fs as`.
    pub unit: &'static str,
}

const TIME_UNITS: [&str; 13] =
    ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];

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

fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidDtype(message.into()))
}

/// The beginning of a text that may be a megabyte, for messages.
fn shortened(text: &str) -> String {
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
    fn nested(literal: &Literal, depth: u32) -> Result<Self> {
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
        let size = size_of::<T::Raw>() as u64;
        Self::Scalar(Scalar { kind: T::KIND, size, endian: Endian::NATIVE }.normalized())
    }

    /// Bytes of one element.
    pub fn itemsize(&self) -> u64 {
        match self {
            Self::Scalar(scalar) => scalar.size,
            Self::Record(record) => record.size,
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

    fn to_literal(&self) -> Literal {
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

impl Scalar {
    /// Parses a type string: `<f8`, `|S5`, `>M8[25s]`.
    fn parse(text: &str) -> Result<Self> {
        let unknown = || invalid(format!("the type {} is unknown", shortened(text)));
        let (endian, code) = match text.split_at_checked(1) {
            Some((">", code)) => (Endian::Big, code),
            Some(("<" | "|" | "=", code)) => (Endian::Little, code),
            _ => (Endian::Little, text),
        };
        let mut letters = code.chars();
        let letter = letters.next().ok_or_else(unknown)?;
        let rest = letters.as_str();
        if letter == 'O' {
            return Err(Error::new(ErrorKind::ObjectDtype));
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = rest.split_at_checked(digits).ok_or_else(unknown)?;
        let number: u64 = number.parse().map_err(|_| unknown())?;
        let kind = match (letter, number, unit) {
            ('b', 1, "") => Kind::Bool,
            ('i', 1 | 2 | 4 | 8, "") => Kind::Int,
            ('u', 1 | 2 | 4 | 8, "") => Kind::Uint,
            ('f', 2 | 4 | 8 | 16, "") => Kind::Float,
            ('c', 8 | 16 | 32, "") => Kind::Complex,
            ('m', 8, unit) => Kind::Timedelta(TimeUnit::parse(unit).ok_or_else(unknown)?),
            ('M', 8, unit) => Kind::Datetime(TimeUnit::parse(unit).ok_or_else(unknown)?),
            ('S', _, "") => Kind::Bytes,
            ('U', _, "") => Kind::Unicode,
            ('V', _, "") => Kind::Void,
            _ => return Err(unknown()),
        };
        let size = if kind == Kind::Unicode { number.checked_mul(4) } else { Some(number) };
        // What is longer has no type in numpy.
        let size = size
            .filter(|&size| i32::try_from(size).is_ok())
            .ok_or_else(|| invalid(format!("{text} is longer than 2^31 - 1 bytes")))?;
        Ok(Self { kind, size, endian }.normalized())
    }

    /// The same with the one byte order of types that have none.
    fn normalized(self) -> Self {
        let endian = if self.component_width() == 1 { Endian::Little } else { self.endian };
        Self { endian, ..self }
    }

    /// The kind of number: dates and time spans are integers.
    pub(crate) fn number(self) -> Kind {
        match self.kind {
            Kind::Datetime(_) | Kind::Timedelta(_) => Kind::Int,
            kind => kind,
        }
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Bytes of one.
    pub fn size(self) -> u64 {
        self.size
    }

    /// The byte order; little where there is none.
    pub fn endian(self) -> Endian {
        self.endian
    }

    /// Bytes of the parts that a byte order applies to: 4 for the halves of `c8` and for the
    /// characters of `U`, 1 where there is no order.
    pub fn component_width(self) -> usize {
        match self.kind {
            Kind::Bytes | Kind::Void => 1,
            Kind::Unicode => 4,
            Kind::Complex => usize::try_from(self.size / 2).unwrap_or(1),
            _ => usize::try_from(self.size).unwrap_or(1),
        }
    }
}

impl fmt::Display for Scalar {
    /// numpy's type string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.endian {
            _ if self.component_width() == 1 => '|',
            Endian::Little => '<',
            Endian::Big => '>',
        };
        let (letter, unit) = match self.kind {
            Kind::Bool => ('b', None),
            Kind::Int => ('i', None),
            Kind::Uint => ('u', None),
            Kind::Float => ('f', None),
            Kind::Complex => ('c', None),
            Kind::Timedelta(unit) => ('m', unit),
            Kind::Datetime(unit) => ('M', unit),
            Kind::Bytes => ('S', None),
            Kind::Unicode => ('U', None),
            Kind::Void => ('V', None),
        };
        let number = if self.kind == Kind::Unicode { self.size / 4 } else { self.size };
        write!(f, "{order}{letter}{number}")?;
        unit.map_or(Ok(()), |unit| unit.fmt(f))
    }
}

impl TimeUnit {
    /// Parses `[25s]`; no text is no unit. `None` for anything else.
    #[allow(clippy::option_option, reason = "no unit is one of the results")]
    fn parse(text: &str) -> Option<Option<Self>> {
        if text.is_empty() {
            return Some(None);
        }
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = inner.split_at_checked(digits)?;
        let count = if count.is_empty() { 1 } else { count.parse().ok()? };
        let unit = TIME_UNITS.into_iter().find(|&known| known == unit)?;
        i32::try_from(count).ok()?;
        Some(Some(Self { count, unit }))
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "[{}]", self.unit),
            count => write!(f, "[{count}{}]", self.unit),
        }
    }
}

impl Record {
    fn parse(literals: &[Literal], depth: u32) -> Result<Self> {
        let mut fields: Vec<Field> = Vec::new();
        let mut names = HashSet::new();
        let mut size = 0_u64;
        for (place, literal) in literals.iter().enumerate() {
            let field = Field::parse(literal, place, size, depth)?;
            size = size
                .checked_add(field.size)
                .filter(|&size| i64::try_from(size).is_ok())
                .ok_or_else(|| {
                    invalid(format!("field {} ends above 2^63 bytes", shortened(&field.name)))
                })?;
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

    fn to_literal(&self) -> Literal {
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
            invalid(format!("field {name}: expected a shape of at most {MAX_DIMENSIONS} counts"))
        })?;
        let size = byte_size(&shape, dtype.itemsize()).ok_or_else(|| {
            invalid(format!("field {} is longer than 2^63 bytes", shortened(name)))
        })?;
        let mut field = Self { name: name.clone(), title, dtype, shape, offset, size };
        if name.is_empty() && !field.is_padding() {
            field.name = format!("f{place}");
        }
        Ok(field)
    }

    /// Bytes without a name and a meaning.
    fn is_padding(&self) -> bool {
        let is_void = self.dtype.as_scalar().is_some_and(|scalar| scalar.kind == Kind::Void);
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

/// The shape of a field: one count, or a tuple of them.
fn field_shape(literal: &Literal) -> Option<Vec<u64>> {
    let shape = match literal {
        Literal::Integer(count) => vec![u64::try_from(*count).ok()?],
        _ => literal.counts()?,
    };
    (shape.len() <= MAX_DIMENSIONS).then_some(shape)
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
    fn type_strings_are_those_of_numpy() {
        // Left: what numpy 2 takes. Right: `.str` of the type.
        for (given, expected, size) in [
            ("<f8", "<f8", 8),
            ("f8", "<f8", 8),
            ("=f8", "<f8", 8),
            ("|f8", "<f8", 8),
            (">f8", ">f8", 8),
            ("<i1", "|i1", 1),
            (">u1", "|u1", 1),
            ("b1", "|b1", 1),
            ("<f2", "<f2", 2),
            ("<f16", "<f16", 16),
            (">c8", ">c8", 8),
            ("c32", "<c32", 32),
            (">S3", "|S3", 3),
            ("S03", "|S3", 3),
            ("|S0", "|S0", 0),
            ("U3", "<U3", 12),
            (">U70", ">U70", 280),
            ("<U0", "<U0", 0),
            ("|V5", "|V5", 5),
            ("M8", "<M8", 8),
            (">M8[ns]", ">M8[ns]", 8),
            ("m8[1s]", "<m8[s]", 8),
            ("m8[25s]", "<m8[25s]", 8),
            ("m8[0s]", "<m8[0s]", 8),
            ("<M8[D]", "<M8[D]", 8),
        ] {
            let dtype = dtype(given);
            assert_eq!((dtype.to_string().as_str(), dtype.itemsize()), (expected, size), "{given}");
            assert_eq!(dtype.descr(), format!("'{expected}'"));
        }
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
        assert_eq!(
            dtype("[('', '|V1'), ('', '|V2', (2,)), ('a', '|i1', ())]").descr(),
            "[('', '|V5'), ('a', '|i1')]"
        );
        assert_eq!(dtype("[('', '<f8'), ('a', '<i4')]").descr(), "[('f0', '<f8'), ('a', '<i4')]");
    }

    #[test]
    fn sizes_never_wrap() {
        for text in [
            "[('a', '<i4', (4611686018427387904,))]",
            "[('a', '<i4', (4294967296, 4294967296))]",
            "[('a', '|S1', (9223372036854775807,)), ('b', '|i1')]",
            "[('a', [('b', '|S9', (4294967296,))], (4294967296,))]",
        ] {
            assert!(fails(text).contains("2^63"), "{text}");
        }
        assert_eq!(dtype("[('a', '<i4', (9223372036854775807, 0))]").itemsize(), 0);
        assert_eq!(dtype("[('a', '|S0', (9223372036854775807, 9))]").itemsize(), 0);
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
            "[SUV][0-9]{1,4}",
            r"[Mm]8(\[[0-9]{0,3}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?",
        ];
        (order, code).prop_map(|(order, code)| format!("'{order}{code}'"))
    }

    fn any_descr() -> impl Strategy<Value = String> {
        let shape = prop_oneof![
            3 => Just(String::new()),
            1 => (0..5_u8).prop_map(|n| format!(", {n}")),
            1 => (0..5_u8, 0..5_u8).prop_map(|(n, m)| format!(", ({n}, {m})")),
        ];
        any_scalar().prop_recursive(4, 24, 5, move |inner| {
            let field = (any::<bool>(), ".{0,3}", inner, shape.clone());
            prop::collection::vec(field, 0..5).prop_map(|fields| {
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
