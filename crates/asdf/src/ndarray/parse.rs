//! Parsing the declaration of an ndarray node, key by key. Blocks are not accessed.
//!
//! ```yaml
//! !core/ndarray-1.1.0
//! source: 0                 # number of a block (-1 is the last block), or URI of a file
//! datatype: float64         # or [ascii, 5], [ucs4, 5], a list of fields
//! byteorder: little         # applies to all fields that do not declare their own
//! shape: ['*', 8]           # '*': as many rows as the block contains
//! offset: 16                # bytes before the first element
//! strides: [128, 16]        # bytes from one element to the next; by default, C order
//! mask: -999.0              # the value of masked elements, or an array
//! ```
//!
//! Inline arrays have the key `data`, with a nested sequence, instead of `source`. A plain sequence is an
//! abbreviation for `{data: [..]}`.

use binio::Endian;
use binio::array::{
    Datatype, Field, MAX_DIMENSIONS, MAX_RECORD_DEPTH, Record, ScalarKind, ScalarType,
};

use crate::diagnostic::{Code, Diagnostic};
use crate::error::{ArrayError, Result};
use crate::ndarray::datatype;
use crate::ndarray::source::Source;
use crate::yaml::{NodeKind, YamlNode};

/// Maximum number of fields in a datatype, including the fields of nested records.
const MAX_FIELDS: usize = 65_536;

/// The declared shape of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Whether the first dimension is open (`'*'`), in which case its length depends on the amount of
    /// data.
    pub(crate) streamed: bool,
    /// The lengths of all dimensions that are not open, outermost first.
    pub(crate) dimensions: Vec<u64>,
}

/// The declaration of an ndarray node.
#[derive(Clone, Debug)]
pub(crate) struct ArrayHeader<'a> {
    /// The location of the elements.
    pub(crate) source: Source<'a>,
    /// The type of the elements, which only inline arrays may omit.
    pub(crate) datatype: Option<Datatype>,
    /// The shape, which only inline arrays may omit.
    pub(crate) shape: Option<Shape>,
    /// Offset of the first element in the data of the block, in bytes.
    pub(crate) offset: u64,
    /// Distances between adjacent elements in bytes, one per dimension.
    pub(crate) strides: Option<Vec<i64>>,
    /// The mask, if any.
    pub(crate) mask: Option<YamlNode<'a>>,
}

/// The values of an ndarray node, by key.
#[derive(Default)]
struct ArrayKeys<'a> {
    source: Option<YamlNode<'a>>,
    data: Option<YamlNode<'a>>,
    datatype: Option<YamlNode<'a>>,
    byteorder: Option<YamlNode<'a>>,
    shape: Option<YamlNode<'a>>,
    offset: Option<YamlNode<'a>>,
    strides: Option<YamlNode<'a>>,
    mask: Option<YamlNode<'a>>,
}

impl<'a> ArrayKeys<'a> {
    /// Finds all keys in a single pass, because a tree may contain a large number of arrays.
    fn of(node: YamlNode<'a>) -> Self {
        let mut given = Self::default();
        for (key, value) in node.entries() {
            let place = match key.as_str() {
                Some("source") => &mut given.source,
                Some("data") => &mut given.data,
                Some("datatype") => &mut given.datatype,
                Some("byteorder") => &mut given.byteorder,
                Some("shape") => &mut given.shape,
                Some("offset") => &mut given.offset,
                Some("strides") => &mut given.strides,
                Some("mask") => &mut given.mask,
                _ => continue,
            };
            *place = Some(value);
        }
        given
    }
}

impl<'a> ArrayHeader<'a> {
    /// Parses a mapping or a plain sequence, regardless of its tag.
    pub(crate) fn parse(node: YamlNode<'a>, diagnostics: &mut Vec<Diagnostic>) -> Result<Self> {
        match node.kind() {
            NodeKind::Sequence => Ok(Self::inline(node)),
            NodeKind::Mapping => Self::parse_mapping(node, diagnostics),
            _ => Err(node.array_error(ArrayError::NotAnArray(
                "expected a mapping with `source` or `data`, or a sequence".into(),
            ))),
        }
    }

    fn inline(data: YamlNode<'a>) -> Self {
        Self {
            source: Source::Inline(data),
            datatype: None,
            shape: None,
            offset: 0,
            strides: None,
            mask: None,
        }
    }

    fn parse_mapping(node: YamlNode<'a>, diagnostics: &mut Vec<Diagnostic>) -> Result<Self> {
        let given = ArrayKeys::of(node);
        let present = |value: Option<YamlNode<'a>>| value.filter(|value| !value.is_null());
        let source = match (present(given.source), given.data) {
            (Some(source), None) => Source::parse(source).ok_or_else(|| {
                source.invalid("source", "expected a block number or the URI of a file")
            })?,
            (None, Some(data)) => Source::Inline(data),
            (Some(_), Some(_)) => {
                return Err(node.invalid(
                    "source",
                    "both `source` and `data` are given, but only one of them is allowed",
                ));
            }
            (None, None) => return Err(node.array_error(ArrayError::Missing("source"))),
        };
        let is_inline = matches!(source, Source::Inline(_));
        let declared = present(given.byteorder).map(parse_byteorder).transpose()?;
        // Inline numbers are not stored as bytes, so the choice of a byte order has no effect.
        let byteorder = declared.or(is_inline.then_some(Endian::Little));
        let datatype = present(given.datatype)
            .map(|node| DatatypeParser { fields: 0 }.parse(node, byteorder, 0))
            .transpose()?;
        let shape = present(given.shape).map(parse_shape).transpose()?;
        if !is_inline {
            if let (Some(Datatype::Scalar(scalar)), None) = (&datatype, byteorder) {
                if scalar.component_width() > 1 {
                    return Err(node.array_error(ArrayError::Missing("byteorder")));
                }
            }
            if declared.is_none() {
                let message = "`byteorder` is missing, but the array can be read without it";
                diagnostics.push(node.diagnostic(Code::MissingByteorder, message));
            }
        }
        let strides = present(given.strides).map(parse_strides).transpose()?;
        if strides.as_ref().is_some_and(|strides| strides.contains(&0)) {
            diagnostics.push(node.diagnostic(
                Code::ZeroStride,
                "an axis has a stride of 0, so all elements along the axis share the same bytes",
            ));
        }
        let header = Self {
            source,
            datatype,
            shape,
            offset: present(given.offset).map_or(Ok(0), parse_offset)?,
            strides,
            mask: present(given.mask),
        };
        if !is_inline {
            header.type_and_shape(node)?;
        }
        Ok(header)
    }
}

impl ArrayHeader<'_> {
    /// Returns the type and shape, which are required for arrays in blocks.
    pub(crate) fn type_and_shape(&self, node: YamlNode<'_>) -> Result<(&Datatype, &Shape)> {
        let datatype = self.datatype.as_ref();
        let datatype = datatype.ok_or_else(|| node.array_error(ArrayError::Missing("datatype")))?;
        let shape =
            self.shape.as_ref().ok_or_else(|| node.array_error(ArrayError::Missing("shape")))?;
        Ok((datatype, shape))
    }
}

fn parse_byteorder(node: YamlNode<'_>) -> Result<Endian> {
    match node.as_str() {
        Some("little") => Ok(Endian::Little),
        Some("big") => Ok(Endian::Big),
        _ => Err(node.invalid("byteorder", "expected `little` or `big`")),
    }
}

fn parse_offset(node: YamlNode<'_>) -> Result<u64> {
    node.as_u64().ok_or_else(|| {
        node.invalid(
            "offset",
            "expected a non-negative integer: the number of bytes before the first element",
        )
    })
}

/// Returns the items of a list with one number per dimension. Fails if the node is not a list or
/// has too many items.
fn dimensions<'a>(
    node: YamlNode<'a>,
    key: &'static str,
) -> Result<impl ExactSizeIterator<Item = YamlNode<'a>> + use<'a>> {
    if node.kind() != NodeKind::Sequence {
        return Err(node.invalid(key, "expected a list of integers"));
    }
    if node.len() > MAX_DIMENSIONS {
        let message =
            format!("the array has {} dimensions, but the limit is {MAX_DIMENSIONS}", node.len());
        return Err(node.invalid(key, message));
    }
    Ok(node.items())
}

fn parse_strides(node: YamlNode<'_>) -> Result<Vec<i64>> {
    dimensions(node, "strides")?
        .map(|item| {
            item.as_i64().ok_or_else(|| item.invalid("strides", "expected 64-bit integers"))
        })
        .collect()
}

fn parse_shape(node: YamlNode<'_>) -> Result<Shape> {
    let mut shape = Shape { streamed: false, dimensions: Vec::new() };
    for (i, item) in dimensions(node, "shape")?.enumerate() {
        if i == 0 && item.as_str() == Some("*") {
            shape.streamed = true;
        } else {
            shape.dimensions.push(parse_dimension(item)?);
        }
    }
    Ok(shape)
}

fn parse_dimension(node: YamlNode<'_>) -> Result<u64> {
    node.as_u64().filter(|&count| i64::try_from(count).is_ok()).ok_or_else(|| {
        let message =
            "expected integers from 0 to 2^63-1; only the first dimension of an array may be '*'";
        node.invalid("shape", message)
    })
}

/// Parses a datatype that does not belong to an array.
#[cfg(feature = "schema")]
pub(crate) fn parse_datatype(node: YamlNode<'_>) -> Result<Datatype> {
    DatatypeParser { fields: 0 }.parse(node, Some(Endian::Little), 0)
}

/// A parser for datatypes. It limits the number of fields, because a few aliases can expand to a
/// huge number of fields.
struct DatatypeParser {
    fields: usize,
}

impl DatatypeParser {
    /// Parses a datatype. `byteorder` is the byte order that the array or an enclosing field declares, or
    /// `None` if there is no such declaration.
    fn parse(
        &mut self,
        node: YamlNode<'_>,
        byteorder: Option<Endian>,
        depth: u32,
    ) -> Result<Datatype> {
        let endian = byteorder.unwrap_or(Endian::Little);
        match node.kind() {
            NodeKind::String => {
                match node.text().and_then(|name| datatype::from_name(name, endian)) {
                    Some(scalar) => Ok(scalar.into()),
                    None => Err(node.invalid("datatype", unknown_name(node))),
                }
            }
            NodeKind::Sequence => match parse_string_type(node, endian)? {
                Some(scalar) => Ok(scalar.into()),
                None => self.parse_record(node, byteorder, depth).map(Datatype::Record),
            },
            _ => {
                Err(node.invalid("datatype", "expected the name of a datatype or a list of fields"))
            }
        }
    }

    fn parse_record(
        &mut self,
        node: YamlNode<'_>,
        byteorder: Option<Endian>,
        depth: u32,
    ) -> Result<Record> {
        if depth >= MAX_RECORD_DEPTH {
            let message = format!(
                "records are nested too deeply, expected at most {MAX_RECORD_DEPTH} levels"
            );
            return Err(node.invalid("datatype", message));
        }
        let mut fields = Vec::new();
        for (i, item) in node.items().enumerate() {
            self.fields += 1;
            if self.fields > MAX_FIELDS {
                let message =
                    format!("the datatype has too many fields, expected at most {MAX_FIELDS}");
                return Err(node.invalid("datatype", message));
            }
            fields.push(self.parse_field(item, i, byteorder, depth)?);
        }
        Record::packed(fields).map_err(|error| node.elements_error(error, None))
    }

    /// Parses a field: a plain datatype, or a mapping `{name, datatype, byteorder, shape}`.
    fn parse_field(
        &mut self,
        node: YamlNode<'_>,
        index: usize,
        byteorder: Option<Endian>,
        depth: u32,
    ) -> Result<Field> {
        let (mut name, mut datatype, mut shape) = (format!("f{index}"), node, Vec::new());
        let mut byteorder = byteorder;
        if node.kind() == NodeKind::Mapping {
            datatype = node
                .get("datatype")
                .ok_or_else(|| node.array_error(ArrayError::Missing("datatype")))?;
            if let Some(given) = node.get("name").filter(|name| !name.is_null()) {
                let text = given.text();
                text.ok_or_else(|| {
                    node.invalid("datatype", "the name of a field is not a string")
                })?
                .clone_into(&mut name);
            }
            if let Some(order) = node.get("byteorder").filter(|order| !order.is_null()) {
                byteorder = Some(parse_byteorder(order)?);
            }
            if let Some(counts) = node.get("shape") {
                shape = dimensions(counts, "shape")?.map(parse_dimension).collect::<Result<_>>()?;
            }
        }
        let datatype = self.parse(datatype, byteorder, depth + 1)?;
        let needs_order = datatype.as_scalar().is_some_and(|scalar| scalar.component_width() > 1);
        if byteorder.is_none() && needs_order {
            return Err(node.array_error(ArrayError::Missing("byteorder")));
        }
        Ok(Field::new(name, datatype).with_shape(shape))
    }
}

fn unknown_name(node: YamlNode<'_>) -> String {
    match node.text().unwrap_or_default() {
        name @ ("ascii" | "ucs4") => {
            format!("the datatype {name} needs a length, such as [{name}, 5]")
        }
        name if name.len() > 40 => "unknown datatype".into(),
        name => format!("the datatype {name:?} is unknown"),
    }
}

/// Parses `[ascii, 5]` or `[ucs4, 5]`. Returns `None` for any other list, which is then parsed as a record.
fn parse_string_type(node: YamlNode<'_>, endian: Endian) -> Result<Option<ScalarType>> {
    let (2, Some(name), Some(length)) = (node.len(), node.at(0), node.at(1)) else {
        return Ok(None);
    };
    let kind = match name.as_str() {
        Some("ascii") if length.kind() == NodeKind::Int => ScalarKind::Bytes,
        Some("ucs4") if length.kind() == NodeKind::Int => ScalarKind::Unicode,
        _ => return Ok(None),
    };
    let scalar = length.as_u64().and_then(|length| datatype::text(kind, length, endian));
    scalar
        .map(Some)
        .ok_or_else(|| node.invalid("datatype", "expected a length from 0 to 2^63-1 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::file::blocks::BlockRef;
    use crate::yaml::{Document, ParseOptions};

    fn document(text: &str) -> Document {
        let text = format!("%YAML 1.1\n---\n{text}\n...\n");
        Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new()).unwrap()
    }

    fn kind_of(text: &str) -> ArrayError {
        match ArrayHeader::parse(document(text).root(), &mut Vec::new()) {
            Err(error) => match error.kind() {
                ErrorKind::Array { kind, .. } => kind.clone(),
                other => panic!("{text}: {other:?}"),
            },
            Ok(header) => panic!("{text}: {header:?}"),
        }
    }

    fn datatype(text: &str) -> Datatype {
        let text = format!("{{source: 0, byteorder: little, shape: [1], datatype: {text}}}");
        let document = document(&text);
        ArrayHeader::parse(document.root(), &mut Vec::new()).unwrap().datatype.unwrap()
    }

    #[test]
    fn every_key_of_an_array_is_parsed() {
        let document = document(
            "{source: -2, datatype: float64, byteorder: big, shape: [010, 0x4, 1_0], offset: 8, \
             strides: [-16, 0, 1], mask: 5}",
        );
        let mut diagnostics = Vec::new();
        let header = ArrayHeader::parse(document.root(), &mut diagnostics).unwrap();
        assert!(matches!(header.source, Source::Block(BlockRef::FromEnd(2))));
        assert_eq!(header.datatype, Some(Datatype::parse(">f8").unwrap()));
        assert_eq!(header.shape, Some(Shape { streamed: false, dimensions: vec![8, 4, 10] }));
        assert_eq!(header.offset, 8);
        assert_eq!(header.strides, Some(vec![-16, 0, 1]));
        assert_eq!(header.mask.unwrap().as_i64(), Some(5));
        assert_eq!(diagnostics[0].code, Code::ZeroStride);
    }

    #[test]
    fn a_quoted_number_as_a_source_is_the_uri_of_a_file() {
        let document = document("{source: '0', datatype: int8, byteorder: big, shape: []}");
        let header = ArrayHeader::parse(document.root(), &mut Vec::new()).unwrap();
        assert!(matches!(header.source, Source::File("0")));
    }

    #[test]
    fn a_plain_sequence_is_parsed_as_inline_data() {
        let document = document("[1, 2]");
        let header = ArrayHeader::parse(document.root(), &mut Vec::new()).unwrap();
        assert!(matches!(header.source, Source::Inline(node) if node.len() == 2));
    }

    #[test]
    fn only_the_first_dimension_may_be_open() {
        let document = document("{source: 0, datatype: int8, byteorder: big, shape: ['*', 3]}");
        let shape = ArrayHeader::parse(document.root(), &mut Vec::new()).unwrap().shape.unwrap();
        assert_eq!(shape, Shape { streamed: true, dimensions: vec![3] });
        let second = "{source: 0, datatype: int8, byteorder: big, shape: [3, '*']}";
        assert!(matches!(kind_of(second), ArrayError::Invalid { key: "shape", .. }));
    }

    #[test]
    fn an_array_without_a_required_key_is_an_error() {
        let missing = |text| match kind_of(text) {
            ArrayError::Missing(key) => key,
            other => panic!("{other}"),
        };
        assert_eq!(missing("{datatype: int8}"), "source");
        assert_eq!(missing("{source: 0, byteorder: big, shape: [1]}"), "datatype");
        assert_eq!(missing("{source: 0, byteorder: big, datatype: int8}"), "shape");
        assert_eq!(missing("{source: 0, shape: [1], datatype: int16}"), "byteorder");
        assert_eq!(missing("{source: 0, shape: [1], datatype: [{datatype: int16}]}"), "byteorder");
    }

    #[test]
    fn byteorder_may_be_missing_if_the_datatype_does_not_need_it_but_this_is_reported() {
        for datatype in ["int8", "bool8", "[ascii, 3]", "[{datatype: int16, byteorder: big}]"] {
            let document = document(&format!("{{source: 0, shape: [1], datatype: {datatype}}}"));
            let mut diagnostics = Vec::new();
            ArrayHeader::parse(document.root(), &mut diagnostics).unwrap();
            assert_eq!(diagnostics[0].code, Code::MissingByteorder, "{datatype}");
        }
    }

    #[test]
    fn an_invalid_value_is_an_error_that_names_its_key() {
        for (wrong, key) in [
            ("source: 1.5", "source"),
            ("source: 99999999999999999999", "source"),
            ("byteorder: middle", "byteorder"),
            ("shape: 3", "shape"),
            ("shape: [-1]", "shape"),
            ("shape: [9223372036854775808]", "shape"),
            ("offset: -1", "offset"),
            ("offset: a", "offset"),
            ("strides: [1.0]", "strides"),
            ("datatype: float128", "datatype"),
            ("datatype: ascii", "datatype"),
            ("datatype: [ascii, -1]", "datatype"),
            ("datatype: [ucs4, 4611686018427387904]", "datatype"),
            ("datatype: {name: a}", "datatype"),
            ("datatype: [{name: a, datatype: int8}, {name: a, datatype: int8}]", "datatype"),
            ("data: [1]", "source"),
        ] {
            let all = ["source: 0", "datatype: int8", "byteorder: big", "shape: [1]"];
            let kept = all.into_iter().filter(|entry| entry.split(':').next() != Some(key));
            let kept: Vec<&str> =
                if wrong.starts_with("data:") { all.to_vec() } else { kept.collect() };
            match kind_of(&format!("{{{}, {wrong}}}", kept.join(", "))) {
                ArrayError::Invalid { key: found, .. } => assert_eq!(found, key, "{wrong}"),
                other => panic!("{wrong}: {other}"),
            }
        }
    }

    #[test]
    fn a_list_of_a_text_type_and_an_integer_is_a_string_type() {
        assert_eq!(datatype("[ascii, 5]"), Datatype::parse("|S5").unwrap());
        assert_eq!(datatype("[ucs4, 0]"), Datatype::parse("<U0").unwrap());
        assert_eq!(datatype("[ascii, 1099511627776]").itemsize(), 1 << 40);
        let record = datatype("[[ascii, 4], [ucs4, 2]]");
        assert_eq!(record.descr_json().to_string(), r#"[["f0","|S4"],["f1","<U2"]]"#);
    }

    #[test]
    fn a_field_inherits_the_byte_order_of_the_enclosing_type() {
        let record = datatype(
            "[{name: k, datatype: uint16, byteorder: big}, {name: j, datatype: uint16}, int8, \
             {name: r, byteorder: big, shape: [2], datatype: [{name: x, datatype: int32}]}]",
        );
        assert_eq!(
            record.descr_json().to_string(),
            r#"[["k",">u2"],["j","<u2"],["f2","|i1"],["r",[["x",">i4"]],[2]]]"#
        );
    }

    #[test]
    fn records_nested_too_deeply_or_inside_themselves_are_an_error() {
        let nested = format!("{}int8{}", "[".repeat(200), "]".repeat(200));
        let text = format!("{{source: 0, byteorder: big, shape: [1], datatype: {nested}}}");
        assert!(matches!(kind_of(&text), ArrayError::Invalid { key: "datatype", .. }));
        let own = "{source: 0, byteorder: big, shape: [1], datatype: &a [*a]}";
        assert!(matches!(kind_of(own), ArrayError::Invalid { key: "datatype", .. }));
    }

    #[test]
    fn a_record_with_too_many_fields_is_an_error() {
        let mut text = String::from("x: &a0 [int8, int8, int8, int8, int8, int8, int8, int8]\n");
        for level in 1..8 {
            let alias = format!("*a{}", level - 1);
            let list = vec![alias; 8].join(", ");
            text.extend(["x", &level.to_string(), ": &a", &level.to_string(), " [", &list, "]\n"]);
        }
        text += "source: 0\nbyteorder: big\nshape: [1]\ndatatype: *a7";
        assert!(matches!(kind_of(&text), ArrayError::Invalid { key: "datatype", .. }));
    }

    #[test]
    fn an_array_with_too_many_dimensions_is_an_error() {
        let many = vec!["1"; 10_000].join(", ");
        let text = format!("{{source: 0, byteorder: big, datatype: int8, shape: [{many}]}}");
        assert!(matches!(kind_of(&text), ArrayError::Invalid { key: "shape", .. }));
    }
}
