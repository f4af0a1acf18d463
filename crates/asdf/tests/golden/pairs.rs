//! Comparing two files by value.

use std::path::Path;

use asdf::ndarray::{ByteOrder, Order};
use asdf::{Asdf, NdArray, Node};

use crate::runner::dtype;

/// Checks that the nodes of two files are equal at every pointer, apart from the history and the
/// library. Arrays are compared element by element, whether they are stored in blocks, in external
/// files or in the tree. Aliases are followed, but references (`$ref`) are not resolved.
pub(crate) fn same_values(one: &Path, other: &Path) -> Result<(), String> {
    let open =
        |path: &Path| Asdf::open(path).map_err(|error| format!("{}: {error}", path.display()));
    let (one, other) = (open(one)?, open(other)?);
    let a = one.tree().map_err(|error| error.to_string())?;
    let b = other.tree().map_err(|error| error.to_string())?;
    let keys = |node: &Node<'_>| -> Vec<String> {
        let keys = node.entries().filter_map(|(key, _)| key.as_str().map(str::to_owned));
        let mut keys: Vec<String> =
            keys.filter(|key| key != "asdf_library" && key != "history").collect();
        keys.sort();
        keys
    };
    if keys(&a) != keys(&b) {
        return Err(format!("keys {:?} and {:?}", keys(&a), keys(&b)));
    }
    keys(&a).iter().try_for_each(|key| {
        same_node(a.get(key), b.get(key)).map_err(|text| format!("/{key}{text}"))
    })
}

fn same_node(a: Option<Node<'_>>, b: Option<Node<'_>>) -> Result<(), String> {
    let (Some(a), Some(b)) = (a, b) else { return Err(": missing".to_owned()) };
    if a.is_ndarray() && b.is_ndarray() {
        let error = |error: asdf::Error| format!(": {error}");
        return same_array(&a.ndarray().map_err(error)?, &b.ndarray().map_err(error)?);
    }
    if a.kind() != b.kind() {
        return Err(format!(": {:?} and {:?}", a.kind(), b.kind()));
    }
    if a.len() != b.len() {
        return Err(format!(": {} and {} items", a.len(), b.len()));
    }
    for (key, value) in a.entries() {
        let key = key.as_str().unwrap_or_default();
        same_node(Some(value), b.get(key)).map_err(|text| format!("/{key}{text}"))?;
    }
    for (index, item) in a.items().enumerate() {
        same_node(Some(item), b.at(index)).map_err(|text| format!("/{index}{text}"))?;
    }
    let same = match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan()),
        _ => a.text() == b.text() || a.complex().ok().is_some_and(|x| b.complex().ok() == Some(x)),
    };
    if same { Ok(()) } else { Err(format!(": {:?} and {:?}", a.text(), b.text())) }
}

fn same_array(a: &NdArray<'_>, b: &NdArray<'_>) -> Result<(), String> {
    if dtype(a) != dtype(b) || a.shape() != b.shape() {
        return Err(format!(": {} {:?} and {} {:?}", dtype(a), a.shape(), dtype(b), b.shape()));
    }
    let bytes = |array: &NdArray<'_>| {
        array.read_bytes(Order::C, ByteOrder::Little).map_err(|error| format!(": {error}"))
    };
    let (x, y) = (bytes(a)?, bytes(b)?);
    let width = match dtype(a).as_str() {
        Some("<f4" | "<c8") => 4,
        Some("<f8" | "<c16") => 8,
        _ => 1,
    };
    let same = x.len() == y.len()
        && x.chunks(width).zip(y.chunks(width)).all(|(x, y)| x == y || (is_nan(x) && is_nan(y)));
    if same { Ok(()) } else { Err(": the elements differ".to_owned()) }
}

/// Returns `true` if 4 or 8 little-endian bytes are a NaN. Writers use different bits for NaN.
fn is_nan(bytes: &[u8]) -> bool {
    if let Ok(single) = <[u8; 4]>::try_from(bytes) {
        return f32::from_le_bytes(single).is_nan();
    }
    <[u8; 8]>::try_from(bytes).is_ok_and(|double| f64::from_le_bytes(double).is_nan())
}
