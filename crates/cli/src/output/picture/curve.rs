//! Curves in the terminal, drawn with braille characters: 2 x 4 dots in each cell.

use binio::picture::{Curve, Span};

/// The height of a curve in lines.
const LINES: usize = 4;

/// The height of a curve in dots.
const DOTS: usize = 4 * LINES;

/// The bits of a braille character for the dots in the left and in the right column, from top to
/// bottom.
const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Draws a curve. Each column of dots extends from the smallest to the largest value in that
/// column. Returns an empty string if no column has a value.
pub(super) fn draw(curve: &Curve) -> String {
    let finite = curve.columns.iter().flatten();
    let whole =
        finite.copied().reduce(|a, b| Span { min: a.min.min(b.min), max: a.max.max(b.max) });
    let Some(whole) = whole else { return String::new() };
    let mut cells = vec![[0x2800_u32; LINES]; curve.columns.len().div_ceil(2)];
    for (x, span) in curve.columns.iter().enumerate() {
        let Some(span) = span else { continue };
        for y in dot(span.max, whole)..=dot(span.min, whole) {
            cells[x / 2][y / 4] |= BITS[x % 2][y % 4];
        }
    }
    let line = |line: usize| {
        let text: String = cells.iter().filter_map(|cell| char::from_u32(cell[line])).collect();
        text + "\n"
    };
    (0..LINES).map(line).collect()
}

/// Returns the row of dots that shows a value, counted from the top.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the result is between 0 and the number of dots"
)]
fn dot(value: f64, whole: Span) -> usize {
    // Divide by two first, because the difference of two finite values may be infinite.
    let height = (whole.max / 2.0 - value / 2.0) / (whole.max / 2.0 - whole.min / 2.0);
    let height = if height.is_nan() { 0.5 } else { height };
    (height.clamp(0.0, 1.0) * (DOTS - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rising_curve_goes_from_the_lower_left_to_the_upper_right() {
        let values = (0..16).map(f64::from).collect();
        let text = draw(&Curve::new(values, 16));
        assert_eq!(text, "⠀⠀⠀⠀⠀⠀⡠⠊\n⠀⠀⠀⠀⡠⠊⠀⠀\n⠀⠀⡠⠊⠀⠀⠀⠀\n⡠⠊⠀⠀⠀⠀⠀⠀\n");
    }

    #[test]
    fn a_constant_curve_is_drawn_in_the_middle_and_nan_leaves_a_gap() {
        let text = draw(&Curve::new(vec![7.0, 7.0, f64::NAN, f64::NAN, 7.0, 7.0], 6));
        assert_eq!(text.lines().nth(2), Some("⠉⠀⠉"));
    }

    #[test]
    fn each_column_of_a_curve_shows_the_extremes_of_its_values() {
        let text = draw(&Curve::new(vec![0.0, 15.0, 3.0, 3.0], 2));
        assert_eq!(text, "⡇\n⡇\n⡇\n⡏\n");
    }

    #[test]
    fn the_curve_is_empty_if_all_values_are_nan() {
        assert_eq!(draw(&Curve::new(vec![f64::NAN], 2)), "");
    }
}
