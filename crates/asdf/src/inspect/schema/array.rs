//! Schema keywords for arrays: `ndim`, `max_ndim`, `datatype`, `exact_datatype`.

use binio::Limits;
use binio::array::{Datatype, ScalarKind, ScalarType};
use binio::diagnostic::count;

use crate::ndarray::parse::{ArrayHeader, parse_datatype};
use crate::ndarray::source::Source;
use crate::ndarray::{datatype_name, inline};
use crate::yaml::YamlNode;

/// Returns the reason why an array does not match a keyword. Returns `None` if it matches, if the node has no
/// ndarray tag, or if the value of `ndim` or `max_ndim` in the schema is invalid.
pub(super) fn mismatch(
    node: YamlNode<'_>,
    schema: YamlNode<'_>,
    keyword: &str,
    value: YamlNode<'_>,
    limits: &Limits,
) -> Option<String> {
    if !node.is_ndarray() {
        return None;
    }
    let array = match Declared::of(node, limits) {
        Ok(array) => array,
        Err(error) => return Some(format!("the array cannot be read: {error}")),
    };
    if keyword == "datatype" {
        let is_exact = schema.get("exact_datatype").and_then(YamlNode::as_bool) == Some(true);
        return of_datatype(array.datatype.as_ref()?, value, is_exact);
    }
    let wanted = value.as_u64()?;
    let fits =
        if keyword == "ndim" { array.dimensions == wanted } else { array.dimensions <= wanted };
    let most = if keyword == "ndim" { "" } else { "at most " };
    let found = array.dimensions;
    let wanted = count(wanted, "dimension");
    (!fits).then(|| format!("expected {most}{wanted}, found {found}"))
}

/// The declared properties of an array. For inline arrays, missing properties are inferred from the elements.
struct Declared {
    dimensions: u64,
    datatype: Option<Datatype>,
}

impl Declared {
    fn of(node: YamlNode<'_>, limits: &Limits) -> crate::Result<Self> {
        let header = ArrayHeader::parse(node, &mut Vec::new())?;
        if let Source::Inline(data) = header.source {
            let inferred = inline::infer(&header, data, limits)?;
            let dimensions = inferred.shape.len() as u64;
            return Ok(Self { dimensions, datatype: Some(inferred.datatype) });
        }
        let (datatype, shape) = header.type_and_shape(node)?;
        let dimensions = shape.dimensions.len() as u64 + u64::from(shape.streamed);
        Ok(Self { dimensions, datatype: Some(datatype.clone()) })
    }
}

fn of_datatype(found: &Datatype, wanted: YamlNode<'_>, is_exact: bool) -> Option<String> {
    let Ok(wanted) = parse_datatype(wanted) else {
        return Some("the schema contains an invalid datatype".to_owned());
    };
    let (names, fits) = match (found.as_record(), wanted.as_record()) {
        (None, None) => {
            let (Some(from), Some(to)) = (found.as_scalar(), wanted.as_scalar()) else {
                return None;
            };
            ((datatype_name(found), datatype_name(&wanted)), fits(from, to, is_exact))
        }
        (Some(from), Some(to)) => {
            let (from, to) = (from.fields(), to.fields());
            let is_same = |(from, to): (&binio::array::Field, &binio::array::Field)| {
                let are_scalars = from.datatype().as_scalar().zip(to.datatype().as_scalar());
                let is_named = !is_exact || from.name() == to.name();
                is_named && are_scalars.is_none_or(|(from, to)| fits(from, to, is_exact))
            };
            let all = from.len() == to.len() && from.iter().zip(to).all(is_same);
            let names = (datatype_name(found), datatype_name(&wanted));
            (names, all)
        }
        _ => ((datatype_name(found), datatype_name(&wanted)), false),
    };
    let (found, wanted) = names;
    let how = if is_exact { "exactly " } else { "" };
    (!fits).then(|| format!("expected {how}the datatype {wanted}, found {found}"))
}

/// Returns `true` if numpy considers the conversion from one type to another safe. Conversions of numbers to
/// strings are never accepted, although numpy considers some of them safe. If `is_exact` is set, the types must
/// be the same, apart from the byte order.
fn fits(from: ScalarType, to: ScalarType, is_exact: bool) -> bool {
    use ScalarKind::{Bool, Bytes, Complex, Float, Int, Uint, Unicode};

    let (width, wide) = (from.size(), to.size());
    if from.kind() == to.kind() {
        return if is_exact { width == wide } else { width <= wide };
    }
    if is_exact {
        return false;
    }
    // The size in bytes of the float to which numpy converts integers of this width.
    let float_for = |width: u64| match width {
        1 => 2,
        2 => 4,
        _ => 8,
    };
    match (from.kind(), to.kind()) {
        (Bool, Int | Uint | Float | Complex) => true,
        (Uint, Int) => width < wide,
        (Int | Uint, Float) => float_for(width) <= wide,
        (Int | Uint, Complex) => float_for(width) * 2 <= wide,
        (Float, Complex) => width * 2 <= wide,
        (Bytes, Unicode) => width * 4 <= wide,
        _ => false,
    }
}
