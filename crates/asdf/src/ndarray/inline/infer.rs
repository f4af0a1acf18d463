//! Determining the shape of an inline array and, if none is declared, its datatype.
//!
//! | items of an array without a datatype | inferred datatype |
//! |---|---|
//! | only booleans | `bool8` |
//! | integers, possibly with booleans, but no other numbers | `int64`, or `uint64` if necessary |
//! | at least one float, but no `!core/complex` | `float64` |
//! | at least one `!core/complex` | `complex128` |
//! | strings | `[ucs4, n]`, where `n` is the length of the longest string |
//! | only nulls, or no items | `float64` |

use binio::array::{Datatype, MAX_DIMENSIONS, Record, ScalarKind, ScalarType};
use binio::{Endian, Limits};

use super::{Budget, Leaf, error, is_complex, number_in_list, walk};
use crate::error::Result;
use crate::ndarray::datatype::{from_name, text as text_type};
use crate::ndarray::number;
use crate::ndarray::parse::Shape;
use crate::yaml::{NodeKind, Numbers, YamlNode};

/// Determines the shape from the length of the first sequence at each level. Fails if the declared
/// shape differs.
pub(super) fn find_shape(
    data: YamlNode<'_>,
    datatype: Option<&Datatype>,
    declared: Option<&Shape>,
) -> Result<Vec<u64>> {
    let dimensions = declared.map(|shape| shape.dimensions.len() + usize::from(shape.streamed));
    let record = datatype.and_then(Datatype::as_record);
    let mut shape = Vec::new();
    let mut node = data;
    while node.kind() == NodeKind::Sequence {
        let ends = match (dimensions, record) {
            (Some(dimensions), _) => shape.len() == dimensions,
            (None, Some(record)) => is_record(node, record),
            (None, None) => false,
        };
        if ends {
            break;
        }
        if shape.len() == MAX_DIMENSIONS {
            let message = format!(
                "the data is nested too deeply, expected at most {MAX_DIMENSIONS} dimensions"
            );
            return Err(error(data, message));
        }
        shape.push(node.len().try_into().unwrap_or(u64::MAX));
        match node.at(0) {
            Some(first) => node = first,
            None => break,
        }
    }
    let Some(declared) = declared else { return Ok(shape) };
    let rows = declared.streamed.then(|| shape.first().copied().unwrap_or(0));
    let wanted: Vec<u64> = rows.into_iter().chain(declared.dimensions.iter().copied()).collect();
    let both_empty = wanted.contains(&0) && shape.contains(&0);
    if wanted == shape || both_empty {
        return Ok(wanted);
    }
    Err(error(data, format!("the `shape` is {wanted:?}, but the data has the shape {shape:?}")))
}

/// Returns `true` if a sequence can be a single record.
fn is_record(node: YamlNode<'_>, record: &Record) -> bool {
    let fields = record.fields();
    node.len() == fields.len()
        && node.items().zip(fields).all(|(item, field)| {
            let mut innermost = item;
            for _ in field.shape() {
                match innermost.at(0) {
                    Some(inner) => innermost = inner,
                    None => return innermost.kind() == NodeKind::Sequence || innermost.is_null(),
                }
            }
            match field.datatype() {
                Datatype::Scalar(_) => innermost.kind() != NodeKind::Sequence,
                Datatype::Record(record) => is_record(innermost, record),
            }
        })
}

/// Determines a common datatype for all items.
pub(super) fn infer_datatype(
    data: YamlNode<'_>,
    shape: &[u64],
    limits: &Limits,
) -> Result<ScalarType> {
    let mut seen = ItemSummary::default();
    let mut budget = Budget { visited: 0, limits };
    walk(data, shape, &mut |leaf| match leaf {
        Leaf::Node(node) => {
            budget.visit(1)?;
            seen.add(node)
        }
        Leaf::Numbers(numbers) => {
            budget.visit(numbers.len() as u64)?;
            seen.add_numbers(numbers);
            Ok(())
        }
    })?;
    let ItemSummary { widest, lowest, highest, longest } = seen;
    let named = |name| {
        from_name(name, Endian::Little).ok_or_else(|| error(data, "no datatype fits all items"))
    };
    match (widest, longest) {
        (Some(_), Some(_)) => Err(error(
            data,
            "the array contains both strings and numbers, expected only strings or only numbers",
        )),
        (None, Some(longest)) => {
            let length = longest.try_into().unwrap_or(u64::MAX);
            text_type(ScalarKind::Unicode, length, Endian::Little)
                .ok_or_else(|| error(data, "a string is too long"))
        }
        (Some(Width::Bool), None) => named("bool8"),
        (Some(Width::Int), None) => {
            if i64::try_from(lowest).is_ok() && i64::try_from(highest).is_ok() {
                named("int64")
            } else if lowest >= 0 && u64::try_from(highest).is_ok() {
                named("uint64")
            } else {
                Err(error(data, "expected integers that all fit int64 or all fit uint64"))
            }
        }
        (Some(Width::Complex), None) => named("complex128"),
        (Some(Width::Float) | None, None) => named("float64"),
    }
}

/// A summary of the items in an array without a datatype.
#[derive(Default)]
struct ItemSummary {
    /// The widest type of the numbers.
    widest: Option<Width>,
    lowest: i128,
    highest: i128,
    /// Length of the longest string in characters.
    longest: Option<usize>,
}

/// Types of numbers, from narrow to wide. An array has the widest type of its items.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Width {
    Bool,
    Int,
    Float,
    Complex,
}

impl ItemSummary {
    fn add_numbers(&mut self, numbers: Numbers<'_>) {
        let width = if numbers.has_floats { Width::Float } else { Width::Int };
        self.widest = self.widest.max(Some(width));
        // If there is a float, the type does not depend on the values of the integers.
        if self.widest > Some(Width::Int) {
            return;
        }
        for text in numbers.texts() {
            if let Some(number::Number::Int(value)) = number_in_list(text) {
                self.lowest = self.lowest.min(value);
                self.highest = self.highest.max(value);
            }
        }
    }

    fn add(&mut self, node: YamlNode<'_>) -> Result<()> {
        let width = match node.kind() {
            _ if is_complex(node) => Width::Complex,
            NodeKind::Null => return Ok(()),
            NodeKind::Bool => Width::Bool,
            NodeKind::Int => {
                // An integer beyond 128 bits does not fit any integer type, but may be read as a
                // float.
                let value = node.as_i128().unwrap_or(i128::MAX);
                self.lowest = self.lowest.min(value);
                self.highest = self.highest.max(value);
                Width::Int
            }
            NodeKind::Float => Width::Float,
            NodeKind::String => {
                let length = node.text().unwrap_or_default().chars().count();
                self.longest = self.longest.max(Some(length));
                return Ok(());
            }
            NodeKind::Sequence => {
                return Err(error(
                    node,
                    "the data is ragged: expected a single item, found a sequence",
                ));
            }
            _ => return Err(error(node, "expected a number, a boolean, a string or null")),
        };
        self.widest = self.widest.max(Some(width));
        Ok(())
    }
}
