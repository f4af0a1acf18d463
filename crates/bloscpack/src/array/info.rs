//! The description of an array in the metadata.

use binio::array::npy::Header;
use binio::array::{Datatype, MAX_DIMENSIONS, Order};
use binio::diagnostic::count;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};

/// The type, shape and order of an array.
///
/// The metadata of a file with an array is a JSON object with these keys, among others:
///
/// | key | value |
/// |---|---|
/// | `dtype` | type of an element, see [`Datatype`] |
/// | `shape` | list of lengths, outermost first; `[]` for a single element |
/// | `order` | `"C"`: the last index varies fastest in the data; `"F"`: the first index |
/// | `container` | `"numpy"` |
///
/// ```
/// use bloscpack::array::{ArrayInfo, Datatype, Order};
///
/// let info = ArrayInfo::new(Datatype::parse("<f8")?, vec![2, 3], Order::C)?;
/// let json = info.to_json();
/// assert_eq!(json.to_string(), r#"{"dtype":"'<f8'","shape":[2,3],"order":"C","container":"numpy"}"#);
/// assert_eq!(ArrayInfo::from_json(&json)?, info);
/// assert_eq!(info.byte_size(), 48);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo(pub(super) Header);

fn not_numpy(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NotNumpy(message.into()))
}

fn bad_shape(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::ShapeMismatch(message.into()))
}

impl ArrayInfo {
    /// Creates the description of an array.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::ShapeMismatch`] if there are more than 64 dimensions or the array has 2⁶³ bytes or
    /// more, and with [`ErrorKind::InvalidDtype`] if the fields of a record overlap or are not in
    /// the order of their offsets.
    pub fn new(dtype: Datatype, shape: Vec<u64>, order: Order) -> Result<Self> {
        Ok(Self(Header::new(dtype, order, shape)?))
    }

    /// Reads the description of an array from the metadata of a file, as written by any release of
    /// the original program.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotNumpy`] if the metadata does not describe an array, with
    /// [`ErrorKind::InvalidDtype`] or [`ErrorKind::ObjectDtype`] if its datatype is not supported, and with
    /// [`ErrorKind::ShapeMismatch`] if its shape is invalid.
    pub fn from_json(metadata: &Value) -> Result<Self> {
        match metadata.get("container") {
            Some(Value::String(container)) if container == "numpy" => {}
            Some(other) => {
                return Err(not_numpy(format!(
                    "expected the container \"numpy\", found {}",
                    excerpt(other)
                )));
            }
            None => return Err(not_numpy("the metadata has no container")),
        }
        let key = |key: &str| {
            metadata.get(key).ok_or_else(|| not_numpy(format!("the metadata has no {key}")))
        };
        let dtype = Datatype::from_json(key("dtype")?)?;
        let shape = key("shape")?;
        let counts = shape.as_array().filter(|counts| counts.len() <= MAX_DIMENSIONS);
        let counts: Option<Vec<u64>> =
            counts.and_then(|counts| counts.iter().map(Value::as_u64).collect());
        let counts = counts.ok_or_else(|| {
            let shape = excerpt(shape);
            bad_shape(format!("expected a list of at most {MAX_DIMENSIONS} lengths, found {shape}"))
        })?;
        let order = match key("order")? {
            Value::String(order) if order == "C" => Order::C,
            Value::String(order) if order == "F" => Order::F,
            other => {
                let message =
                    format!("expected the order \"C\" or \"F\", found {}", excerpt(other));
                return Err(not_numpy(message));
            }
        };
        Self::new(dtype, counts, order)
    }

    /// Returns the metadata that describes this array, as the original program writes it.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("dtype".into(), self.datatype().descr().into());
        object.insert("shape".into(), self.shape().to_vec().into());
        object.insert("order".into(), self.order().name().into());
        object.insert("container".into(), "numpy".into());
        object.into()
    }

    /// Returns the type of an element.
    pub fn datatype(&self) -> &Datatype {
        self.0.datatype()
    }

    /// Returns the lengths of the dimensions, outermost first. The slice is empty for a single
    /// element.
    pub fn shape(&self) -> &[u64] {
        self.0.shape()
    }

    /// Returns the order of the elements in the data. In C order, the last index varies fastest; in
    /// Fortran order, the first index.
    pub fn order(&self) -> Order {
        self.0.order()
    }

    /// Returns the total length of the elements in bytes.
    pub fn byte_size(&self) -> u64 {
        self.0.byte_size()
    }

    /// Checks that the elements of this array take exactly `len` bytes.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::ShapeMismatch`] if `len` is not [`byte_size`](Self::byte_size).
    pub fn check_size(&self, len: u64) -> Result<()> {
        let (dtype, shape, byte_size) = (self.datatype(), self.shape(), self.byte_size());
        if byte_size == len {
            return Ok(());
        }
        let byte_size = count(byte_size, "byte");
        Err(bad_shape(format!("{shape:?} of {dtype} takes {byte_size}, but the data has {len}")))
    }

    /// Checks that the rows of the array `rows` can be appended to this array: the types and the
    /// shapes of the rows must match, and the rows of both arrays must be contiguous.
    ///
    /// ```
    /// use bloscpack::array::{ArrayInfo, Datatype, Order};
    ///
    /// let info = |shape: &[u64]| ArrayInfo::new(Datatype::of::<f64>(), shape.to_vec(), Order::C);
    /// let array = info(&[10, 3])?;
    /// assert!(array.check_rows(&info(&[2, 3])?).is_ok());
    /// assert!(array.check_rows(&info(&[2, 4])?).is_err());
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::ShapeMismatch`] if the datatypes differ, if the shapes differ in any
    /// dimension but the first, if either array is a single element, or if either has several
    /// dimensions in Fortran order, because its rows are then not contiguous.
    pub fn check_rows(&self, rows: &Self) -> Result<()> {
        let row_shape = |info: &Self| info.shape().get(1..).map(<[u64]>::to_vec);
        // In an array with a single dimension, C order and Fortran order are the same.
        let is_contiguous = |info: &Self| info.order() == Order::C || info.shape().len() <= 1;
        if !is_contiguous(self) {
            let message =
                "cannot append to an array in Fortran order, because its rows are not contiguous";
            return Err(bad_shape(message));
        }
        let is_alike = rows.datatype() == self.datatype() && row_shape(rows) == row_shape(self);
        if is_contiguous(rows) && is_alike && !rows.shape().is_empty() {
            return Ok(());
        }
        let describe = |info: &Self| {
            format!("{} {:?} in {} order", info.datatype(), info.shape(), info.order().name())
        };
        let (found, expected) = (describe(rows), describe(self));
        Err(bad_shape(format!("found {found}, expected rows of {expected}")))
    }
}

/// Returns a value as JSON for messages, truncated if it is long.
fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata() -> Value {
        json!({"dtype": "'<f8'", "shape": [3, 2], "order": "F", "container": "numpy", "more": 1})
    }

    fn with(key: &str, value: Value) -> Value {
        let mut metadata = metadata();
        metadata[key] = value;
        metadata
    }

    fn without(key: &str) -> Value {
        let mut metadata = metadata();
        metadata.as_object_mut().unwrap().remove(key);
        metadata
    }

    fn fails(metadata: &Value) -> ErrorKind {
        ArrayInfo::from_json(metadata).unwrap_err().kind().clone()
    }

    #[test]
    fn keys_that_do_not_describe_the_array_are_ignored() {
        let info = ArrayInfo::from_json(&metadata()).unwrap();
        assert_eq!((info.shape(), info.order(), info.byte_size()), (&[3, 2][..], Order::F, 48));
        assert_eq!(info.datatype().to_string(), "<f8");
    }

    #[test]
    fn the_metadata_of_an_array_matches_the_output_of_the_original_program() {
        // The metadata that bloscpack 0.16 writes for np.zeros((2, 3), dtype=[('a', 'S1'), ('b',
        // '<f8', (2,))]).
        let dtype = Datatype::parse("[('a', '|S1'), ('b', '<f8', (2,))]").unwrap();
        let info = ArrayInfo::new(dtype, vec![2, 3], Order::C).unwrap();
        assert_eq!(
            info.to_json().to_string(),
            r#"{"dtype":"[('a', '|S1'), ('b', '<f8', (2,))]","shape":[2,3],"order":"C","container":"numpy"}"#
        );
        assert_eq!(ArrayInfo::from_json(&info.to_json()).unwrap(), info);
    }

    #[test]
    fn metadata_that_does_not_describe_a_numpy_array_is_rejected() {
        for metadata in [
            json!(null),
            json!([1]),
            json!({}),
            without("container"),
            without("dtype"),
            without("shape"),
            without("order"),
            with("container", json!("carray")),
            with("container", json!(null)),
            with("order", json!("A")),
        ] {
            assert!(matches!(fails(&metadata), ErrorKind::NotNumpy(_)), "{metadata}");
        }
        assert!(matches!(fails(&with("dtype", json!("'|O'"))), ErrorKind::ObjectDtype));
        assert!(matches!(fails(&with("dtype", json!(null))), ErrorKind::InvalidDtype(_)));
    }

    #[test]
    fn invalid_shapes_are_rejected_with_short_messages() {
        let many = json!(vec![1; 65]);
        let huge = json!([1_u64 << 60]);
        for shape in [json!([-1]), json!(5), json!("5"), json!([1.0]), json!([[1]]), many, huge] {
            assert!(
                matches!(fails(&with("shape", shape.clone())), ErrorKind::ShapeMismatch(_)),
                "{shape}"
            );
        }
        let long = with("shape", json!("x".repeat(100_000)));
        assert!(ArrayInfo::from_json(&long).unwrap_err().to_string().len() < 200);
    }

    #[test]
    fn rows_with_a_different_type_shape_or_order_cannot_be_appended() {
        let info = |dtype, shape: &[u64], order| {
            ArrayInfo::new(Datatype::parse(dtype).unwrap(), shape.to_vec(), order).unwrap()
        };
        let matrix = info("<i2", &[10, 3], Order::C);
        let list = info("<i2", &[10], Order::C);
        for (array, rows) in [
            (&matrix, info("<i2", &[2, 3], Order::C)),
            (&matrix, info("<i2", &[0, 3], Order::C)),
            (&list, info("<i2", &[5], Order::F)),
        ] {
            assert!(array.check_rows(&rows).is_ok(), "{rows:?}");
        }
        let fortran = info("<i2", &[10, 3], Order::F);
        let error = fortran.check_rows(&info("<i2", &[2, 3], Order::C)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ShapeMismatch(_)), "{error}");
        for rows in [
            info("<i4", &[2, 3], Order::C),
            info(">i2", &[2, 3], Order::C),
            info("<i2", &[2, 4], Order::C),
            info("<i2", &[3], Order::C),
            info("<i2", &[], Order::C),
            info("<i2", &[2, 3], Order::F),
        ] {
            let error = matrix.check_rows(&rows).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::ShapeMismatch(_)), "{error}");
        }
        let single = info("<i2", &[], Order::C);
        assert!(single.check_rows(&single).is_err());
        assert_eq!(
            list.check_rows(&matrix).unwrap_err().to_string(),
            "shape: found <i2 [10, 3] in C order, expected rows of <i2 [10] in C order"
        );
    }

    #[test]
    fn data_that_is_shorter_than_the_array_is_rejected() {
        let info = ArrayInfo::from_json(&metadata()).unwrap();
        assert!(info.check_size(48).is_ok());
        let error = info.check_size(40).unwrap_err();
        assert_eq!(error.to_string(), "shape: [3, 2] of <f8 takes 48 bytes, but the data has 40");
        let none = ArrayInfo::new(Datatype::parse("<f8").unwrap(), vec![u64::MAX, 0], Order::C);
        assert!(none.unwrap().check_size(0).is_ok());
    }
}
