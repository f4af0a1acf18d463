//! Images in the terminal: two pixels in each cell, one above the other.

use std::fmt::Write as _;
use std::io;

use anstream::{AutoStream, ColorChoice};
use binio::picture::{ColorMap, Plane, Stretch};
use terminal_size::{Height, Width};

/// The size and the colours of the terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    pub(super) columns: usize,
    rows: usize,
    pub(super) depth: Depth,
}

/// The range of colours that the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// 24-bit colours.
    True,
    /// The 256 colours of xterm.
    Palette,
    /// No colours: the density of the characters shows the brightness.
    Shades,
}

impl Screen {
    /// Returns the size of the terminal, or 80 columns and 24 rows if standard output is not a
    /// terminal. The colours depend on `--color`, `NO_COLOR` and `COLORTERM`.
    pub(super) fn of_stdout() -> Self {
        let stdout = io::stdout();
        let (Width(columns), Height(rows)) =
            terminal_size::terminal_size_of(&stdout).unwrap_or((Width(80), Height(24)));
        let is_true = std::env::var("COLORTERM")
            .is_ok_and(|value| value.contains("truecolor") || value.contains("24bit"));
        let depth = match AutoStream::choice(&stdout) {
            ColorChoice::Never => Depth::Shades,
            _ if is_true => Depth::True,
            _ => Depth::Palette,
        };
        Self { columns: usize::from(columns).max(1), rows: usize::from(rows), depth }
    }

    /// Returns the screen limited to the given number of columns and rows.
    pub(super) fn at_most(self, columns: usize, rows: usize) -> Self {
        Self { columns: self.columns.min(columns), rows: self.rows.min(rows), ..self }
    }

    /// Returns the maximum width and height of an image in pixels. Two rows of the terminal are
    /// reserved: one for the line below the image, and one for the prompt.
    pub(super) fn pixels(&self) -> (u64, u64) {
        (self.columns as u64, 2 * self.rows.saturating_sub(2).max(1) as u64)
    }
}

/// Draws an image, with a line for every two rows of pixels. NaN is shown as the background of the
/// terminal.
pub(super) fn image(plane: &Plane, stretch: &Stretch, map: ColorMap, depth: Depth) -> String {
    let limits = stretch.limits(plane.values()).unwrap_or_default();
    let brightness = |value: Option<&f64>| {
        value.filter(|value| !value.is_nan()).map(|&value| stretch.brightness(value, limits))
    };
    let mut text = String::new();
    for rows in plane.values().chunks(2 * plane.width()) {
        let (upper, lower) = rows.split_at(plane.width());
        let cells = upper
            .iter()
            .enumerate()
            .map(|(x, upper)| (brightness(Some(upper)), brightness(lower.get(x))));
        match depth {
            Depth::Shades => text.extend(cells.map(shade)),
            Depth::True | Depth::Palette => {
                cells.for_each(|(upper, lower)| half_block(&mut text, upper, lower, map, depth));
                text.push_str("\x1b[0m");
            }
        }
        text.push('\n');
    }
    text
}

/// Returns a character whose density shows the mean brightness of two pixels.
fn shade((upper, lower): (Option<f64>, Option<f64>)) -> char {
    let mean = match (upper, lower) {
        (Some(upper), Some(lower)) => f64::midpoint(upper, lower),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => return ' ',
    };
    match mean {
        ..0.25 => '░',
        0.25..0.5 => '▒',
        0.5..0.75 => '▓',
        _ => '█',
    }
}

/// Appends a cell that shows two pixels: one as the foreground, and the other as the background.
fn half_block(
    text: &mut String,
    upper: Option<f64>,
    lower: Option<f64>,
    map: ColorMap,
    depth: Depth,
) {
    let (foreground, background, block) = match (upper, lower) {
        (Some(upper), lower) => (upper, lower, '▀'),
        (None, Some(lower)) => (lower, None, '▄'),
        (None, None) => return text.push_str("\x1b[0m "),
    };
    if background.is_none() {
        text.push_str("\x1b[0m");
    }
    for (layer, value) in [(38, Some(foreground)), (48, background)] {
        let Some([red, green, blue]) = value.map(|value| map.color(value)) else { continue };
        // Ignore the result: writing to a string cannot fail.
        let _ = match depth {
            Depth::True => write!(text, "\x1b[{layer};2;{red};{green};{blue}m"),
            _ => write!(text, "\x1b[{layer};5;{}m", palette([red, green, blue])),
        };
    }
    text.push(block);
}

/// Returns the index of the nearest xterm colour. A cube of 6 x 6 x 6 colours begins at index 16,
/// and 24 shades of grey at index 232.
fn palette(color: [u8; 3]) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

    let nearest = |levels: &mut dyn Iterator<Item = u8>, wanted: u8| {
        let level = levels.zip(0_u8..).min_by_key(|(level, _)| level.abs_diff(wanted));
        level.unwrap_or_default()
    };
    let [red, green, blue] = color.map(|wanted| nearest(&mut LEVELS.into_iter(), wanted));
    let mean = color.map(u32::from).iter().sum::<u32>() / 3;
    let (grey, grey_index) =
        nearest(&mut (8..=238).step_by(10), u8::try_from(mean).unwrap_or(u8::MAX));
    let distance = |found: [u8; 3]| -> u32 {
        found.iter().zip(color).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
    };
    if distance([grey; 3]) < distance([red.0, green.0, blue.0]) {
        232 + grey_index
    } else {
        16 + 36 * red.1 + 6 * green.1 + blue.1
    }
}

#[cfg(test)]
mod tests {
    use binio::array::{Datatype, Order};
    use binio::picture::Reducer;

    use super::*;

    fn plane(values: &[f32], width: u64) -> Plane {
        let shape = [values.len() as u64 / width, width];
        let mut reducer = Reducer::new(&Datatype::of::<f32>(), &shape, Order::C, 100).unwrap();
        for value in values {
            reducer.push(&value.to_ne_bytes());
        }
        reducer.finish()
    }

    #[test]
    fn a_terminal_cell_has_the_colours_of_two_pixels() {
        let image = |depth| {
            image(&plane(&[0.0, 1.0, 1.0, 0.0], 2), &Stretch::default(), ColorMap::Grey, depth)
        };
        assert_eq!(
            image(Depth::True),
            "\x1b[38;2;0;0;0m\x1b[48;2;255;255;255m▀\x1b[38;2;255;255;255m\x1b[48;2;0;0;0m▀\x1b[0m\n"
        );
        assert_eq!(
            image(Depth::Palette),
            "\x1b[38;5;16m\x1b[48;5;231m▀\x1b[38;5;231m\x1b[48;5;16m▀\x1b[0m\n"
        );
        assert_eq!(image(Depth::Shades), "▓▓\n");
    }

    #[test]
    fn nan_and_a_missing_last_row_show_the_terminal_background() {
        let values = [f32::NAN, 1.0, f32::NAN, 0.0, 0.0, f32::NAN];
        let image = image(&plane(&values, 2), &Stretch::default(), ColorMap::Grey, Depth::Palette);
        assert_eq!(
            image,
            "\x1b[0m \x1b[38;5;231m\x1b[48;5;16m▀\x1b[0m\n\x1b[0m\x1b[38;5;16m▀\x1b[0m \x1b[0m\n"
        );
    }

    #[test]
    fn a_colour_maps_to_the_nearest_colour_of_the_palette() {
        assert_eq!(palette([48, 48, 48]), 236);
        assert_eq!(palette([255, 0, 0]), 196);
        assert_eq!(palette([0x5d, 0xc9, 0x63]), 77);
    }
}
