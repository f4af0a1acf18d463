//! Images and curves of arrays.

use std::io::{self, Write};

use binio::array::Slice;
use binio::picture::{ColorMap, Curve, Plane, Range, Scale, Stretch, Values};
use serde_json::{Value, json};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{Clamped, JsError};

use crate::array::{Array, check_not_empty};
use crate::document::{Result, failure};
use crate::progress::Reporting;

/// The maximum size in bytes of an uncompressed array whose elements are all used to draw an image. If the array is
/// larger, only every k-th row and column is used.
const MAX_READ: u64 = 1 << 30;

/// Like [`MAX_READ`], if a file is on a server.
const MAX_READ_REMOTE: u64 = 32 << 20;

/// The maximum number of elements that a curve represents. In a longer array, only every k-th element is used.
const MAX_CURVE: u64 = 1 << 22;

/// The number of bars in a histogram.
const BARS: usize = 128;

/// An image of an array, reduced if the array is large.
#[wasm_bindgen]
pub struct Picture {
    plane: Plane,
    /// The step between the rows or columns that were used, or 1 if all of them were used.
    sampled: u64,
}

impl Picture {
    pub(crate) fn new(array: &Array<'_>, max_side: usize, is_remote: bool) -> Result<Self> {
        check_not_empty(array)?;
        let &[rows, columns] = array.shape() else {
            return Err(failure("Only a two-dimensional array can be shown as an image."));
        };
        let max_read = if is_remote { MAX_READ_REMOTE } else { MAX_READ };
        let is_sampled = array.byte_size() > max_read && !array.is_compressed();
        let sampled = if is_sampled { rows.max(columns).div_ceil(max_side as u64) } else { 1 };
        let part = array.slice(&[every(sampled), every(sampled)])?;
        let mut reporting = Reporting::new(part.byte_size());
        let plane = Plane::from_npy(
            |out| written(&part, &mut reporting.writer(out)),
            part.mask()?,
            max_side,
        )?;
        Ok(Self { plane, sampled })
    }
}

/// Writes an array in the `.npy` format. This is a separate function only to state the type of the
/// error.
fn written(array: &Array<'_>, out: &mut dyn Write) -> Result<()> {
    array.write_npy(out)
}

/// Returns a slice that selects every `step`-th element.
fn every(step: u64) -> Slice {
    Slice::Range { start: None, stop: None, step: i64::try_from(step).unwrap_or(i64::MAX) }
}

#[wasm_bindgen]
impl Picture {
    /// Returns the width of the image in pixels.
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> usize {
        self.plane.width()
    }

    /// Returns the height of the image in pixels.
    #[wasm_bindgen(getter)]
    pub fn height(&self) -> usize {
        self.plane.height()
    }

    /// Returns the number of elements of the array that each pixel covers along each axis.
    #[wasm_bindgen(getter)]
    #[allow(clippy::cast_precision_loss, reason = "numbers are floats in JavaScript")]
    pub fn step(&self) -> f64 {
        (self.plane.step() * self.sampled) as f64
    }

    /// Returns `true` if only every k-th row and column was used, so that pixels are not the means
    /// of all their elements.
    #[wasm_bindgen(getter)]
    pub fn is_sampled(&self) -> bool {
        self.sampled > 1
    }

    /// Returns the values at the percentiles `low` and `high`. Returns an empty array if the image
    /// contains no finite values.
    pub fn limits(&self, low: f64, high: f64) -> Vec<f64> {
        let stretch = Stretch { range: Range::Percentiles(low, high), ..Stretch::default() };
        let limits = stretch.limits(self.plane.values());
        limits.map(|(low, high)| vec![low, high]).unwrap_or_default()
    }

    /// Returns the pixels as RGBA. `low` and `high` are the values to draw in the darkest and the
    /// lightest colour.
    pub fn render(
        &self,
        low: f64,
        high: f64,
        scale: &str,
        colors: &str,
    ) -> std::result::Result<Clamped<Vec<u8>>, JsError> {
        let stretch = Stretch { range: Range::Values(low, high), scale: scale_of(scale)? };
        Ok(Clamped(self.plane.to_rgba(&stretch, colors_of(colors)?)))
    }

    /// Returns a histogram of the finite values as JSON: `{"min", "max", "counts", "nan"}`.
    pub fn histogram(&self) -> String {
        histogram(self.plane.values()).to_string()
    }
}

/// Returns `width` colours of a colour map as RGBA, from dark to light.
#[wasm_bindgen]
pub fn color_bar(width: usize, colors: &str) -> std::result::Result<Clamped<Vec<u8>>, JsError> {
    let map = colors_of(colors)?;
    #[allow(clippy::cast_precision_loss, reason = "the number of pixels on a screen is small")]
    let color = |x: usize| {
        let [red, green, blue] = map.color(x as f64 / (width.max(2) - 1) as f64);
        [red, green, blue, 255]
    };
    Ok(Clamped((0..width).flat_map(color).collect()))
}

fn scale_of(name: &str) -> Result<Scale> {
    match name {
        "linear" => Ok(Scale::Linear),
        "sqrt" => Ok(Scale::Sqrt),
        "log" => Ok(Scale::Log),
        "asinh" => Ok(Scale::Asinh),
        _ => Err(failure("unknown scale")),
    }
}

fn colors_of(name: &str) -> Result<ColorMap> {
    match name {
        "grey" => Ok(ColorMap::Grey),
        "viridis" => Ok(ColorMap::Viridis),
        "inferno" => Ok(ColorMap::Inferno),
        _ => Err(failure("unknown colour map")),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the index is clamped to the number of bars"
)]
fn histogram(values: &[f64]) -> Value {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let nan = values.iter().filter(|value| value.is_nan()).count();
    let (Some(min), Some(max)) = (finite().reduce(f64::min), finite().reduce(f64::max)) else {
        return json!({"min": null, "max": null, "counts": [], "nan": nan});
    };
    let mut counts = vec![0_u64; BARS];
    for value in finite() {
        // Divide by 2 first, because the difference of two finite values may be infinite.
        let position = (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0) * BARS as f64;
        counts[(position as usize).min(BARS - 1)] += 1;
    }
    json!({"min": min, "max": max, "counts": counts, "nan": nan})
}

/// Returns the curve of a one-dimensional array as JSON:
/// `{"columns": [[min, max] or null, ..], "step", "min", "max", "median", "nan", "histogram"}`.
pub(crate) fn curve(array: &Array<'_>, max_columns: usize) -> Result<Value> {
    check_not_empty(array)?;
    let &[len] = array.shape() else {
        return Err(failure("Only a one-dimensional array can be shown as a curve."));
    };
    let step = len.div_ceil(MAX_CURVE);
    let part = array.slice(&[every(step)])?;
    let mut reporting = Reporting::new(part.byte_size());
    let values = Values::from_npy(|out| written(&part, &mut reporting.writer(out)), part.mask()?)?;
    let histogram = histogram(&values);
    let curve = Curve::new(values, max_columns);
    let columns: Vec<_> =
        curve.columns.iter().map(|span| span.map(|span| [span.min, span.max])).collect();
    Ok(json!({
        "columns": columns, "step": step, "min": curve.range.map(|range| range.min),
        "max": curve.range.map(|range| range.max), "median": curve.median, "nan": curve.nan,
        "histogram": histogram,
    }))
}

/// A writer that passes bytes on to a JavaScript function.
pub(crate) struct Sink<'a>(pub(crate) &'a js_sys::Function);

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = js_sys::Uint8Array::from(bytes);
        let called = self.0.call1(&wasm_bindgen::JsValue::NULL, &piece);
        called.map(|_| bytes.len()).map_err(|error| io::Error::other(format!("{error:?}")))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
