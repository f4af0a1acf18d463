//! Comparing layouts with aligned record dtypes of numpy. `cargo xtask interop` runs `write.py`
//! to generate random cases, and sets `SCIBIN_INTEROP` to their folder.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

#[cfg(all(
    feature = "gzip",
    feature = "jpeg",
    feature = "png",
    feature = "write",
    feature = "zfp"
))]
mod filters;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dudley::place::ComplexAlign;
use dudley::{Layout, Order, Resolver, Rules, Values};
use serde_json::{Value, json};

/// A field, as described by numpy or by the resolver. A field that is a record has no type name.
#[derive(Debug, PartialEq)]
struct Field {
    address: u64,
    shape: Vec<u64>,
    strides: Vec<u64>,
    nbytes: u64,
    dtype: Option<String>,
}

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Returns the fields according to numpy, by path. Checks that each field is contiguous along its
/// own dimensions, because our rows do not list the strides of these dimensions.
fn of_numpy(case: &Value) -> BTreeMap<String, Field> {
    let field = |row: &Value| {
        let outer = usize::try_from(row["outer"].as_u64().unwrap()).unwrap();
        let (shape, mut strides) = (numbers(&row["shape"]), numbers(&row["strides"]));
        let mut nbytes = row["nbytes"].as_u64().unwrap();
        let field = Field {
            address: row["address"].as_u64().unwrap(),
            nbytes,
            dtype: row["dtype"].as_str().map(str::to_owned),
            strides: strides[..outer].to_vec(),
            shape,
        };
        for (len, stride) in field.shape.iter().zip(strides.drain(..)).skip(outer) {
            nbytes /= len;
            assert_eq!(stride, nbytes, "{row}");
        }
        field
    };
    let rows = case["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["path"].as_str().unwrap().to_owned(), field(row))).collect()
}

/// Returns the fields according to the resolver, and the end of the data.
fn of_layout(resolver: &Resolver<'_>) -> (BTreeMap<String, Field>, Option<u64>) {
    let layout = resolver.layout();
    let table = resolver.table().unwrap_or_else(|error| panic!("{error}"));
    let dtype = |json: &Value| {
        let name = json["dtype"].as_str().unwrap();
        let is_struct = name == "{}" || layout.type_named(name).is_some();
        (!is_struct).then(|| name.to_owned())
    };
    let mut fields = BTreeMap::new();
    for row in table.iter() {
        let field = Field {
            address: row.address().unwrap(),
            shape: row.shape().into_vec(),
            strides: Vec::new(),
            nbytes: row.nbytes().unwrap(),
            dtype: dtype(&json!(row)),
        };
        fields.insert(row.path(), field);
    }
    let outcome = resolver.walk(&table, table.rows(), |_, row| {
        let Some(row) = row else { return ControlFlow::Continue(()) };
        let dtype = dtype(&json!(row));
        let (address, nbytes) = (row.address.unwrap(), row.nbytes.unwrap());
        let field = Field { address, shape: row.shape, strides: row.strides, nbytes, dtype };
        assert!(fields.insert(row.path, field).is_none());
        ControlFlow::Continue(())
    });
    outcome.unwrap();
    (fields, table.end())
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn addresses_equal_the_addresses_in_aligned_numpy_records() {
    let Some(folder) = testdata::interop_folder() else { return };
    let list = folder.join("numpy.json");
    let cases: Vec<Value> = serde_json::from_slice(&std::fs::read(list).unwrap()).unwrap();
    let mut fields = 0;
    for case in &cases {
        let text = case["layout"].as_str().unwrap();
        let layout = Layout::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let rules = || Rules::new().order(Order::Little).complex_align(ComplexAlign::Part);
        let values = case["values"].as_object().unwrap();
        let values: Values =
            values.iter().map(|(name, value)| (name.clone(), value.as_i64().unwrap())).collect();
        let stream = bytes(case["stream"].as_str().unwrap());

        let expected = of_numpy(case);
        for resolver in [
            Resolver::new(&layout).rules(rules().values(values)),
            Resolver::new(&layout).rules(rules()).stream(&stream).unwrap(),
        ] {
            let (found, end) = of_layout(&resolver);
            assert_eq!(found, expected, "{text}");
            assert_eq!(json!(end), case["end"], "{text}");
        }
        fields += expected.len();

        for record in case["records"].as_array().unwrap() {
            let descr = record["descr"].as_str().unwrap();
            let datatype = dudley::array::Datatype::parse(descr).unwrap();
            let text = dudley::import::from_numpy("x", &datatype, &[]).unwrap();
            let layout = Layout::parse(&text).unwrap_or_else(|error| panic!("{error}"));
            let (mut found, end) =
                of_layout(&Resolver::new(&layout).rules(Rules::new().order(Order::Little)));
            found.retain(|path, _| path != "/x" && !path.contains(".padding"));
            assert_eq!(found, of_numpy(record), "{descr}\n{text}");
            assert_eq!(json!(end), record["size"], "{descr}\n{text}");
        }
    }
    eprintln!("{} layouts with {fields} fields agree with numpy", cases.len());
    assert!(cases.len() >= 300);
}
