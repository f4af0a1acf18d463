//! Checks that every way of reading an array returns the same elements.

use std::io::Cursor;

use bloscpack::array::Field;
use bloscpack::array::{Array, ArrayInfo, Datatype, Order, Slice, pack_npy};
use bloscpack::{Reader, Result, UnpackOptions, WriteOptions};
use serde_json::{Value, json};

/// Returns the properties of an array as JSON, in the form used in the lists of cases.
pub(crate) fn facts(array: &Array<'_>) -> Value {
    json!({
        "descr": descr(array.datatype()),
        "shape": array.shape(),
        "order": array.order().name(),
        "itemsize": array.datatype().itemsize(),
    })
}

/// Returns a datatype as JSON: a scalar type as a string, and a record as a list of its fields and
/// padding.
fn descr(dtype: &Datatype) -> Value {
    let Some(record) = dtype.as_record() else { return json!(dtype.to_string()) };
    let mut fields = Vec::new();
    let mut end = 0;
    let pad = |fields: &mut Vec<Value>, end: u64, start: u64| {
        if end < start {
            fields.push(json!(["", format!("|V{}", start - end)]));
        }
    };
    for field in record.fields() {
        pad(&mut fields, end, field.offset());
        fields.push(field_descr(field));
        let count: u64 = field.shape().iter().product();
        end = field.offset() + field.datatype().itemsize() * count;
    }
    pad(&mut fields, end, dtype.itemsize());
    json!(fields)
}

fn field_descr(field: &Field) -> Value {
    let name = match field.title() {
        Some(title) => json!([title, field.name()]),
        None => json!(field.name()),
    };
    match field.shape() {
        [] => json!([name, descr(field.datatype())]),
        shape => json!([name, descr(field.datatype()), shape]),
    }
}

/// Checks that the array equals `data`, and that it does not change if it is written as a `.npy`
/// file, packed again, read row by row, or reversed twice.
pub(crate) fn every_way_gives(array: &Array<'_>, data: &[u8]) -> Result<Result<(), String>> {
    let bytes = array.read_bytes()?;
    if array.order() == Order::C && bytes != data {
        return Ok(Err("read_bytes: other bytes".into()));
    }
    let mut npy = Vec::new();
    array.write_npy(&mut npy, &UnpackOptions::new())?;
    let (info, range) = ArrayInfo::from_npy(&npy)?;
    let start = usize::try_from(range.start).unwrap_or(usize::MAX);
    if &info != array.info() || npy[start..] != *data {
        return Ok(Err(format!("write_npy: another array, {info:?}")));
    }
    let packed = pack_npy(&npy, Cursor::new(Vec::new()), &WriteOptions::new(), None)?;
    let packed = Reader::from_bytes(packed.into_inner())?;
    let again = packed.array()?;
    if again.info() != array.info() || again.read_bytes()? != bytes {
        return Ok(Err(format!("pack_npy: another array, {:?}", again.info())));
    }
    let Some(&count) = array.shape().first() else { return Ok(Ok(())) };
    let mut rows = Vec::new();
    for row in 0..count {
        rows.extend(array.rows(row..row + 1)?.read_bytes()?);
    }
    let backwards = [Slice::Range { start: None, stop: None, step: -1 }];
    let twice = array.slice(&backwards)?.slice(&backwards)?;
    if rows != bytes || twice.read_bytes()? != bytes {
        return Ok(Err("rows: other bytes".into()));
    }
    Ok(Ok(()))
}
