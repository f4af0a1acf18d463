//! Numbers as JSON, and JSON as cells of text.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// binary16 as the nearest `f64`, which is exact.
pub(crate) fn half_float(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

/// A float32 by its own shortest digits: 0.1, not 0.10000000149011612.
pub(crate) fn single(value: f32) -> Value {
    if value.is_finite() {
        value.to_string().parse().map_or_else(|_| float(f64::from(value)), float)
    } else {
        float(f64::from(value))
    }
}

pub(crate) fn float(value: f64) -> Value {
    if value.is_nan() {
        json!("nan")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "inf" } else { "-inf" })
    } else {
        json!(value)
    }
}

/// JSON of an element as a cell of text: strings bare, complex as `1+2j`.
pub(crate) fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(map) => {
            match map.get("$complex").and_then(Value::as_array).map(Vec::as_slice) {
                Some([re, im]) => {
                    let mut text = cell(re);
                    let im = cell(im);
                    let sign = if im.starts_with('-') { "" } else { "+" };
                    let _ = write!(text, "{sign}{im}j");
                    text
                }
                _ => value.to_string(),
            }
        }
        _ => value.to_string(),
    }
}
