//! Drawing arrays: as PNG files, and in the terminal.

mod curve;
mod png;
mod terminal;

use std::io::{self, Write};

use binio::array::{Datatype, ElementsError, Slice};
use binio::picture::{ColorMap, Curve, Plane, Stretch, Values};

use self::terminal::Screen;
use crate::arguments::GetRequest;
use crate::failure::{Failure, name};
use crate::output::print::Elements;
use crate::output::{file as output_file, one_line};

/// The maximum number of elements from which a curve is computed. For a longer array, only every
/// k-th element is read.
const MAX_CURVE: u64 = 1 << 24;

/// Draws an array as requested: as a PNG file, or in the terminal.
pub(crate) fn draw<E: From<io::Error>>(
    array: &Elements<'_, E>,
    request: &GetRequest,
    fail: impl Fn(E) -> Failure,
) -> Result<(), Failure> {
    let options = &request.array.picture;
    let unsuitable = |error: String| {
        let pointer = request.pointer.as_deref().unwrap_or_default();
        Failure::other(one_line(format!("{} {pointer}", name(&request.file)).trim_end()), error)
    };
    let (stretch, map) = (options.stretch(), options.colors());
    let drawing = Drawing::of(array).map_err(&unsuitable)?;
    let Some(target) = &options.png else {
        let screen = Screen::of_stdout();
        let text = match drawing {
            Drawing::Image { rows, columns } => {
                let mut image = reduced(array, rows, columns, &screen).map_err(fail)?;
                if options.flip {
                    image.plane.flip();
                }
                image.text(&stretch, map, &screen)
            }
            Drawing::Curve { len } => curve_text(array, len, &screen).map_err(fail)?,
        };
        return Ok(io::stdout().lock().write_all(text.as_bytes())?);
    };
    if let Drawing::Curve { .. } = drawing {
        let message = "expected an array with 2 dimensions, found 1 dimension; use --preview to draw it \
                       as a curve";
        return Err(unsuitable(message.to_owned()));
    }
    let body = |out: &mut dyn Write| {
        let mut plane = plane(array, &[], options.size as usize)?;
        if options.flip {
            plane.flip();
        }
        Ok(png::write(&plane, &stretch, map, out)?)
    };
    output_file::write(target, request.array.force, body, fail)
}

/// Returns a small picture of an array for the overview, or `None` if the array is not an image.
pub(crate) fn thumbnail<E: From<io::Error>>(array: &Elements<'_, E>) -> Option<Result<String, E>> {
    let Ok(Drawing::Image { rows, columns }) = Drawing::of(array) else { return None };
    let screen = Screen::of_stdout().at_most(40, 12);
    let image = reduced(array, rows, columns, &screen);
    Some(image.map(|image| image.text(&Stretch::default(), ColorMap::Grey, &screen)))
}

/// Writes an image as PNG with the default stretch, reduced to at most `max_side` pixels per side.
/// Returns `false` if the array is not an image, and fails if it cannot be read.
pub(crate) fn write_png<E: From<io::Error>>(
    array: &Elements<'_, E>,
    max_side: usize,
    out: &mut dyn Write,
) -> Result<bool, E> {
    let Ok(Drawing::Image { .. }) = Drawing::of(array) else { return Ok(false) };
    let plane = plane(array, &[], max_side)?;
    png::write(&plane, &Stretch::default(), ColorMap::Grey, out)?;
    Ok(true)
}

/// The ways to draw an array.
enum Drawing {
    Image { rows: u64, columns: u64 },
    Curve { len: u64 },
}

impl Drawing {
    /// Decides how to draw an array. If it cannot be drawn, returns the reason as an error message.
    fn of<E>(array: &Elements<'_, E>) -> Result<Self, String> {
        let datatype = Datatype::from_json(&array.dtype).map_err(|error| error.to_string())?;
        match *array.shape {
            _ if array.shape.contains(&0) => Err("the array has no elements to draw".to_owned()),
            [rows, columns] => Ok(Self::Image { rows, columns }),
            [len] => Ok(Self::Curve { len }),
            [] => Err("a single element cannot be drawn".to_owned()),
            _ => Err(format!(
                "a picture has 2 dimensions, but the array has {}; --slice selects a plane, such as --slice {}",
                array.shape.len(),
                vec!["0"; array.shape.len() - 2].join(",")
            )),
        }
        .and_then(|drawing| {
            Values::new(&datatype).map(|_| drawing).map_err(|error: ElementsError| error.to_string())
        })
    }
}

/// An image reduced to the size of the screen by omitting rows and columns.
struct Reduced {
    plane: Plane,
    step: u64,
}

fn reduced<E: From<io::Error>>(
    array: &Elements<'_, E>,
    rows: u64,
    columns: u64,
    screen: &Screen,
) -> Result<Reduced, E> {
    let (width, height) = screen.pixels();
    let step = rows.div_ceil(height).max(columns.div_ceil(width));
    let plane = plane(array, &[every(step), every(step)], usize::MAX)?;
    Ok(Reduced { plane, step })
}

/// Reads a part of an array as an image, with at most `max_side` pixels per side.
fn plane<E: From<io::Error>>(
    array: &Elements<'_, E>,
    part: &[Slice],
    max_side: usize,
) -> Result<Plane, E> {
    Plane::from_npy(|out| (array.write_npy)(part, out), (array.missing)(part)?, max_side)
}

/// Returns a slice that selects every `step`-th element.
fn every(step: u64) -> Slice {
    Slice::Range { start: None, stop: None, step: i64::try_from(step).unwrap_or(i64::MAX) }
}

impl Reduced {
    fn text(&self, stretch: &Stretch, map: ColorMap, screen: &Screen) -> String {
        let image = terminal::image(&self.plane, stretch, map, screen.depth);
        let (low, high) = stretch.limits(self.plane.values()).unwrap_or((f64::NAN, f64::NAN));
        format!("{image}{}dark {}, light {}\n", sampled(self.step), short(low), short(high))
    }
}

/// Draws a curve, with a line of statistics below it.
fn curve_text<E: From<io::Error>>(
    array: &Elements<'_, E>,
    len: u64,
    screen: &Screen,
) -> Result<String, E> {
    let step = len.div_ceil(MAX_CURVE);
    let part = [every(step)];
    let values = Values::from_npy(|out| (array.write_npy)(&part, out), (array.missing)(&part)?)?;
    let curve = Curve::new(values, 2 * screen.columns);
    let number = |value: Option<f64>| value.map_or("--".to_owned(), short);
    Ok(format!(
        "{}{}minimum {}, median {}, maximum {}, NaN {}\n",
        curve::draw(&curve),
        sampled(step),
        number(curve.range.map(|range| range.min)),
        number(curve.median),
        number(curve.range.map(|range| range.max)),
        curve.nan
    ))
}

/// Returns a remark that only every `step`-th element was read, or an empty string if `step` is 1.
fn sampled(step: u64) -> String {
    if step == 1 { String::new() } else { format!("1 in {step} elements along each axis; ") }
}

/// Formats a number with at most six significant digits.
fn short(value: f64) -> String {
    let rounded = format!("{value:.5e}").parse().unwrap_or(value);
    if rounded != 0.0 && !(1e-4..1e7).contains(&rounded.abs()) {
        return format!("{rounded:e}");
    }
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_have_at_most_six_significant_digits() {
        let numbers = [0.0, -2.999_971_2, 787.720_276, 1e6, 1.234_567_8e-9, -3e300, f64::INFINITY];
        let expected = ["0", "-2.99997", "787.72", "1000000", "1.23457e-9", "-3e300", "inf"];
        assert_eq!(numbers.map(short), expected);
    }
}
