//! Converting inline arrays (nested sequences in the tree) to bytes.
//!
//! ```yaml
//! data: [[1, 2, null], [4, 5, 6]]     # shape [2, 3], int64, one element masked
//! ```
//!
//! If there is a datatype, each item must be valid for it: 300 is not a valid `uint8`, and 1.7 is
//! not a valid `int32`. With any datatype, `null` stands for a masked element; inside a record, it
//! masks the entire record. A record is written as a sequence with one item per field. This sequence
//! does not count as a dimension of the array.

mod infer;

use binio::array::{Datatype, Record, ScalarKind, ScalarType, byte_size};
use binio::diagnostic;
use binio::{Endian, Limits};
use bytes::Bytes;

use self::infer::{find_shape, infer_datatype};
use crate::error::{ArrayError, Error, Result};
use crate::ndarray::datatype::scalar_name;
use crate::ndarray::number;
use crate::ndarray::parse::ArrayHeader;
use crate::yaml::{Content, Integer, NodeKind, Numbers, YamlNode};

/// The type and shape of an inline array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inferred {
    pub(crate) datatype: Datatype,
    pub(crate) shape: Vec<u64>,
}

/// The elements of an inline array, packed in C order.
#[derive(Clone, Debug)]
pub(crate) struct InlineData {
    pub(crate) elements: Bytes,
    /// One byte per element, nonzero for masked elements.
    pub(crate) mask: Option<Bytes>,
}

/// Determines the type and shape. If the datatype is not declared, all items are visited.
pub(crate) fn infer(
    header: &ArrayHeader<'_>,
    data: YamlNode<'_>,
    limits: &Limits,
) -> Result<Inferred> {
    let shape = find_shape(data, header.datatype.as_ref(), header.shape.as_ref())?;
    let datatype = match &header.datatype {
        Some(datatype) => datatype.clone(),
        None => infer_datatype(data, &shape, limits)?.into(),
    };
    Ok(Inferred { datatype, shape })
}

/// Converts the elements to bytes. Their type and shape must have been determined by [`infer`].
pub(crate) fn read(data: YamlNode<'_>, inferred: &Inferred, limits: &Limits) -> Result<InlineData> {
    let Inferred { datatype, shape } = inferred;
    let size = byte_size(shape, datatype.itemsize()).unwrap_or(u64::MAX);
    limits.check_alloc("bytes of an inline array", size)?;
    // Only aliases can make an array have more elements than the text has bytes. The shape is not
    // checked yet.
    let most = data.document().text_len().saturating_mul(datatype.itemsize());
    let mut out = binio::memory::reserve("an inline array", size.min(most))?;
    let mut masked = Vec::new();
    let mut index = 0_usize;
    let mut budget = Budget { visited: 0, limits };
    walk(data, shape, &mut |leaf| {
        if let (Leaf::Numbers(numbers), Datatype::Scalar(scalar)) = (leaf, datatype) {
            budget.visit(numbers.len() as u64)?;
            index += numbers.len();
            return push_numbers(numbers, *scalar, &mut out);
        }
        leaf.nodes().try_for_each(|node| {
            if !push(node, datatype, &mut out, &mut budget)? {
                masked.push(index);
            }
            index += 1;
            Ok(())
        })
    })?;
    let mask = (!masked.is_empty()).then(|| {
        let mut mask = vec![0; index];
        for place in masked {
            mask[place] = 1;
        }
        mask.into()
    });
    Ok(InlineData { elements: out.into(), mask })
}

fn error(node: YamlNode<'_>, message: impl Into<String>) -> Error {
    node.array_error(ArrayError::Inline(message.into()))
}

/// The number of visited items and its limit. A limit is necessary because aliases can expand to
/// more items than the tree has nodes.
struct Budget<'l> {
    visited: u64,
    limits: &'l Limits,
}

impl Budget<'_> {
    fn visit(&mut self, items: u64) -> Result<()> {
        self.visited += items;
        let check = self.limits.check_items("items of inline arrays", self.visited);
        Ok(check?)
    }
}

/// A single element, or a list of numbers that holds the elements along the last axis.
#[derive(Clone, Copy)]
enum Leaf<'a> {
    Node(YamlNode<'a>),
    Numbers(Numbers<'a>),
}

impl<'a> Leaf<'a> {
    fn nodes(self) -> impl Iterator<Item = YamlNode<'a>> {
        let (one, list) = match self {
            Self::Node(node) => (Some(node), None),
            Self::Numbers(numbers) => (None, Some(numbers.list.items())),
        };
        one.into_iter().chain(list.into_iter().flatten())
    }
}

/// Calls `leaf` with the elements in C order. Fails if the data does not have the given shape.
fn walk<'a>(
    data: YamlNode<'a>,
    shape: &[u64],
    leaf: &mut dyn FnMut(Leaf<'a>) -> Result<()>,
) -> Result<()> {
    if shape.contains(&0) { Ok(()) } else { descend(data, shape, leaf) }
}

/// Calls `leaf` with the elements in a node. Fails if they do not have the given shape. The recursion is at most
/// [`MAX_DIMENSIONS`](binio::array::MAX_DIMENSIONS) levels deep.
fn descend<'a>(
    node: YamlNode<'a>,
    shape: &[u64],
    leaf: &mut dyn FnMut(Leaf<'a>) -> Result<()>,
) -> Result<()> {
    let Some((&count, inner)) = shape.split_first() else { return leaf(Leaf::Node(node)) };
    if node.kind() != NodeKind::Sequence {
        let items = diagnostic::count(count, "item");
        return Err(error(node, format!("the data is ragged: expected a sequence of {items}")));
    }
    if u64::try_from(node.len()) != Ok(count) {
        let items = diagnostic::count(node.len(), "item");
        let message =
            format!("the data is ragged: found {items}, but other sequences have {count}");
        return Err(error(node, message));
    }
    match node.numbers() {
        Some(numbers) if inner.is_empty() => leaf(Leaf::Numbers(numbers)),
        _ => node.items().try_for_each(|item| descend(item, inner, leaf)),
    }
}

fn is_complex(node: YamlNode<'_>) -> bool {
    node.core_name() == Some("complex")
}

/// Appends one element to `out`. Returns `false` if the element is null or contains a null.
fn push(
    node: YamlNode<'_>,
    datatype: &Datatype,
    out: &mut Vec<u8>,
    budget: &mut Budget<'_>,
) -> Result<bool> {
    budget.visit(1)?;
    match datatype {
        Datatype::Scalar(scalar) => push_scalar(node, *scalar, out),
        Datatype::Record(record) => push_record(node, record, out, budget),
    }
}

fn push_record(
    node: YamlNode<'_>,
    record: &Record,
    out: &mut Vec<u8>,
    budget: &mut Budget<'_>,
) -> Result<bool> {
    let fields = record.fields();
    if node.is_null() {
        push_zeros(record.itemsize(), out);
        return Ok(false);
    }
    if node.kind() != NodeKind::Sequence || node.len() != fields.len() {
        let items = diagnostic::count(fields.len(), "item");
        return Err(error(node, format!("expected a record: a sequence of {items}")));
    }
    let mut whole = true;
    for (item, field) in node.items().zip(fields) {
        let shape = field.shape();
        if item.is_null() {
            push_zeros(field.size(), out);
            whole = false;
        } else {
            walk(item, shape, &mut |leaf| {
                leaf.nodes().try_for_each(|item| {
                    whole &= push(item, field.datatype(), out, budget)?;
                    Ok(())
                })
            })?;
        }
    }
    Ok(whole)
}

/// Appends zeros. The size is within the limit that was checked for the whole array.
fn push_zeros(size: u64, out: &mut Vec<u8>) {
    out.resize(out.len().saturating_add(usize::try_from(size).unwrap_or(0)), 0);
}

fn push_scalar(node: YamlNode<'_>, scalar: ScalarType, out: &mut Vec<u8>) -> Result<bool> {
    let start = out.len();
    if node.is_null() {
        push_zeros(scalar.size(), out);
        return Ok(false);
    }
    let misfit = || {
        let text = node.text().map_or("a collection".into(), |text| {
            let short: String = text.chars().take(40).collect();
            format!("`{short}`")
        });
        error(node, format!("{text} is not a valid {}", scalar_name(scalar)))
    };
    match scalar.kind() {
        ScalarKind::Bytes | ScalarKind::Unicode => {
            push_text(node, scalar, out).ok_or_else(misfit)?;
            let missing = scalar.size().checked_sub(u64::try_from(out.len() - start).unwrap_or(0));
            push_zeros(missing.ok_or_else(misfit)?, out);
        }
        _ => {
            let number = number_of(node).ok_or_else(misfit)?;
            number::push(number, scalar, out).ok_or_else(misfit)?;
        }
    }
    Ok(true)
}

/// Appends the numbers of a list to `out`. Nodes are only created for numbers that cannot be
/// converted directly.
fn push_numbers(numbers: Numbers<'_>, scalar: ScalarType, out: &mut Vec<u8>) -> Result<()> {
    let is_double = (scalar.kind(), scalar.size()) == (ScalarKind::Float, 8);
    for (at, text) in numbers.texts().enumerate() {
        // Parse integers as floats, too. The result is the same as with `number::push`, which would take 1.1
        // times as long (`inline_100000_floats` in `cargo xtask bench asdf`).
        if let (true, Ok(value)) = (is_double, text.parse::<f64>()) {
            out.extend_from_slice(&match scalar.endian() {
                Endian::Little => value.to_le_bytes(),
                Endian::Big => value.to_be_bytes(),
            });
            continue;
        }
        let number = number_in_list(text);
        let pushed = number.and_then(|number| number::push(number, scalar, out));
        if pushed.is_none() {
            // Convert the node of the number instead: this supports all notations and reports
            // errors.
            match numbers.list.at(at) {
                Some(node) => push_scalar(node, scalar, out).map(drop)?,
                None => {
                    return Err(error(
                        numbers.list,
                        "the list has fewer numbers than the array has elements",
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Returns the value of a number in a list of numbers. Numbers in these lists only use simple
/// notations.
fn number_in_list(text: &str) -> Option<number::Number> {
    Some(match text {
        _ if !text.contains('.') => number::Number::Int(text.parse::<i64>().ok()?.into()),
        ".nan" => number::Number::Float(f64::NAN),
        ".inf" | "+.inf" => number::Number::Float(f64::INFINITY),
        "-.inf" => number::Number::Float(f64::NEG_INFINITY),
        _ => number::Number::Float(text.parse().ok()?),
    })
}

/// Returns the number that a node represents.
pub(crate) fn number_of(node: YamlNode<'_>) -> Option<number::Number> {
    if is_complex(node) {
        return crate::complex::parse(node.text()?).map(number::Number::Complex);
    }
    match node.value().ok()? {
        Content::Bool(truth) => Some(number::Number::Bool(truth)),
        Content::Int(integer) => Some(match &integer {
            Integer::Small(value) => number::Number::Int(*value),
            // No integer type can represent the value, but a float can.
            _ => number::Number::Float(integer.to_f64()),
        }),
        Content::Float(value) => Some(number::Number::Float(value)),
        _ => None,
    }
}

fn push_text(node: YamlNode<'_>, scalar: ScalarType, out: &mut Vec<u8>) -> Option<()> {
    let text = node.as_str()?;
    match scalar.kind() {
        ScalarKind::Bytes => {
            text.is_ascii().then_some(())?;
            out.extend(text.as_bytes());
        }
        _ => out.extend(text.chars().map(u32::from).flat_map(|unit| match scalar.endian() {
            Endian::Little => unit.to_le_bytes(),
            Endian::Big => unit.to_be_bytes(),
        })),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::{Document, ParseOptions};

    fn parse(text: &str) -> Document {
        let head = "%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n---\n";
        let text = format!("{head}{text}\n...\n");
        Document::parse(text.as_bytes(), &ParseOptions::default(), &mut Vec::new()).unwrap()
    }

    fn try_read(text: &str, limits: &Limits) -> Result<(Inferred, InlineData)> {
        let document = parse(text);
        let header = ArrayHeader::parse(document.root(), &mut Vec::new())?;
        let crate::ndarray::source::Source::Inline(data) = header.source else { panic!("{text}") };
        let inferred = infer(&header, data, limits)?;
        let elements = read(data, &inferred, limits)?;
        Ok((inferred, elements))
    }

    fn reads(text: &str) -> (Inferred, InlineData) {
        try_read(text, &Limits::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn rejected(text: &str) -> String {
        match try_read(text, &Limits::default()) {
            Ok(read) => panic!("{text}: {read:?}"),
            Err(error) => error.to_string(),
        }
    }

    fn type_of(text: &str) -> String {
        crate::ndarray::datatype_name(&reads(text).0.datatype)
    }

    fn bytes(text: &str) -> Vec<u8> {
        reads(text).1.elements.to_vec()
    }

    #[test]
    fn the_inferred_type_fits_all_items_and_has_at_least_64_bits_for_numbers() {
        assert_eq!(type_of("[yes, no]"), "bool8");
        assert_eq!(type_of("[0x10, 017, 1_0]"), "int64");
        assert_eq!(type_of("[1, true]"), "int64");
        assert_eq!(type_of("[1, 9223372036854775808]"), "uint64");
        assert_eq!(type_of("[1, 1.5]"), "float64");
        assert_eq!(type_of("[1, 2.5, !core/complex-1.0.0 1+1j]"), "complex128");
        assert_eq!(type_of("[a, bcd]"), "[ucs4, 3]");
        assert_eq!(type_of("[null, null]"), "float64");
        assert_eq!(type_of("[]"), "float64");
        rejected("[-1, 9223372036854775808]");
        rejected("[18446744073709551616]");
        rejected("[1, a]");
        rejected("[2001-12-14]");
        rejected("[{a: 1}]");
    }

    #[test]
    fn an_integer_beyond_64_bits_is_read_as_a_float_if_another_item_is_a_float() {
        assert_eq!(bytes("[1.0, 18446744073709551616]")[8..], 2_f64.powi(64).to_le_bytes());
    }

    #[test]
    fn inline_integers_need_not_be_decimal() {
        let values = [16_i64, 15, 10, 1].map(i64::to_le_bytes).concat();
        assert_eq!(bytes("[0x10, 017, 1_0, yes]"), values);
    }

    #[test]
    fn each_level_of_nested_sequences_is_a_dimension() {
        assert_eq!(reads("[[1, 2, 3], [4, 5, 6]]").0.shape, [2, 3]);
        assert_eq!(reads("[[[]], [[]]]").0.shape, [2, 1, 0]);
        assert_eq!(reads("{data: 5}").0.shape, [0; 0]);
    }

    #[test]
    fn inline_data_with_rows_of_different_lengths_is_an_error() {
        for text in ["[[1, 2], [3]]", "[[1], 2]", "[1, [2]]", "[[[1]], [[1, 2]]]", "[[1], null]"] {
            assert!(rejected(text).contains("ragged"), "{text}");
        }
    }

    #[test]
    fn null_in_inline_data_is_a_masked_element() {
        let (inferred, data) = reads("[1, null, 3]");
        assert_eq!(inferred.datatype.to_string(), "<i8");
        assert_eq!(data.elements[8..16], [0; 8]);
        assert_eq!(data.mask.unwrap()[..], [0, 1, 0]);
        assert!(reads("[1, 2]").1.mask.is_none());
        assert_eq!(reads("{data: [null, a], datatype: [ascii, 2]}").1.elements[..], *b"\0\0a\0");
    }

    #[test]
    fn inline_items_are_converted_to_the_declared_type_if_they_fit() {
        assert_eq!(bytes("{data: [1, -1], datatype: int8}"), [1, 255]);
        assert_eq!(bytes("{data: [1, 2], datatype: int16, byteorder: big}"), [0, 1, 0, 2]);
        assert_eq!(bytes("{data: [yes, 0], datatype: bool8}"), [1, 0]);
        assert_eq!(bytes("{data: [1, 2.0], datatype: uint8}"), [1, 2]);
        assert_eq!(bytes("{data: [0.1], datatype: float32}"), 0.1_f32.to_le_bytes());
        assert_eq!(bytes("{data: [.inf], datatype: float16}"), [0, 0x7c]);
        assert_eq!(bytes("{data: [é], datatype: [ucs4, 2]}"), [0xe9, 0, 0, 0, 0, 0, 0, 0]);
        let complex = bytes("{data: [1, !core/complex-1.0.0 -2j], datatype: complex64}");
        assert_eq!(complex, [1_f32, 0.0, 0.0, -2.0].map(f32::to_le_bytes).concat());
    }

    #[test]
    fn inline_items_that_do_not_fit_the_declared_type_are_errors() {
        for (item, datatype) in [
            ("300", "uint8"),
            ("-1", "uint64"),
            ("1.7", "int32"),
            (".nan", "int32"),
            ("1e3", "float64"),
            ("a", "int8"),
            ("2", "bool8"),
            ("0.5", "bool8"),
            ("70000.0", "float16"),
            ("1.0e+300", "float32"),
            ("!core/complex-1.0.0 1j", "float64"),
            ("abc", "[ascii, 2]"),
            ("é", "[ascii, 2]"),
            ("abc", "[ucs4, 2]"),
            ("5", "[ascii, 2]"),
        ] {
            let message = rejected(&format!("{{data: [{item}], datatype: {datatype}}}"));
            assert!(message.contains(&format!("is not a valid {datatype}")), "{message}");
        }
    }

    /// Because of the comment, the tree contains a node for each number.
    #[test]
    fn a_list_of_numbers_with_a_comment_is_read_like_one_without() {
        for numbers in
            ["1, 2, 3", "1.5, -2, 0.1", "0, 1, 1", ".nan, -.inf, 7", "300, 1, 1", "1.0e+300, 2, 3"]
        {
            for datatype in [
                "int8",
                "uint16",
                "int64",
                "float16",
                "float32",
                "float64",
                "bool8",
                "complex64",
                "[ucs4, 2]",
            ] {
                let read = |list: &str| {
                    let text = format!("{{data: [{list}], datatype: {datatype}, byteorder: big}}");
                    let read = try_read(&text, &Limits::default());
                    read.map(|(_, data)| data.elements).map_err(|error| error.to_string())
                };
                assert_eq!(
                    read(numbers),
                    read(&format!("{numbers} # nodes\n")),
                    "{numbers} {datatype}"
                );
            }
            let inferred = |list: &str| reads(&format!("[[{list}], [4, 5, 6]]")).0;
            assert_eq!(inferred(numbers), inferred(&format!("{numbers} # nodes\n")), "{numbers}");
        }
    }

    #[test]
    fn a_declared_shape_that_differs_from_the_inline_data_is_an_error() {
        assert_eq!(reads("{data: [], datatype: int8, shape: [0, 3]}").0.shape, [0, 3]);
        assert_eq!(reads("{data: [[1], [2]], datatype: int8, shape: ['*', 1]}").0.shape, [2, 1]);
        rejected("{data: [1, 2], datatype: int8, shape: [3]}");
        rejected("{data: [1, 2], datatype: int8, shape: [2, 1]}");
        rejected("{data: [[1], [2]], datatype: int8, shape: [2]}");
        rejected("{data: [1], datatype: int8, shape: []}");
    }

    #[test]
    fn the_shape_of_an_inline_array_does_not_extend_into_records() {
        let datatype = "[{name: a, datatype: int8}, {name: b, datatype: uint16, byteorder: big}]";
        let (inferred, data) = reads(&format!("{{data: [[1, 2], [3, 4]], datatype: {datatype}}}"));
        assert_eq!(inferred.shape, [2]);
        assert_eq!(data.elements[..], [1, 0, 2, 3, 0, 4]);
        let (inferred, data) =
            reads(&format!("{{data: [[1, 2], null], datatype: {datatype}, shape: [2]}}"));
        assert_eq!(inferred.shape, [2]);
        assert_eq!(data.mask.unwrap()[..], [0, 1]);
        rejected(&format!("{{data: [[1, 2], [3]], datatype: {datatype}}}"));
    }

    #[test]
    fn a_field_may_have_a_shape_or_be_a_record() {
        let datatype = "[{name: a, datatype: int8, shape: [2, 2]}, \
                        {name: r, datatype: [int8, [ascii, 1]]}]";
        let text = format!("{{data: [[[[1, 2], [3, 4]], [5, x]]], datatype: {datatype}}}");
        let (inferred, data) = reads(&text);
        assert_eq!(inferred.shape, [1]);
        assert_eq!(data.elements[..], [1, 2, 3, 4, 5, b'x']);
        rejected(&format!("{{data: [[[[1, 2], [3]], [5, x]]], datatype: {datatype}}}"));
    }

    #[test]
    fn inline_data_nested_too_deeply_or_with_too_many_items_is_an_error() {
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        assert!(rejected(&deep).contains("nested too deeply"));
        assert!(rejected("&a [*a]").contains("nested too deeply"));
        rejected("{data: [a], datatype: [ascii, 1099511627776]}");
        let mut bomb = String::from("a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
        for level in 1..6 {
            let list = vec![format!("*a{}", level - 1); 10].join(", ");
            let level = level.to_string();
            bomb.extend(["a", &level, ": &a", &level, " [", &list, "]\n"]);
        }
        let text = bomb + "data: *a5\n";
        let few = Limits::default().max_items(10_000);
        assert!(try_read(&text, &few).is_err());
        assert_eq!(try_read(&text, &Limits::default()).unwrap().0.shape, [10; 6]);
    }
}
