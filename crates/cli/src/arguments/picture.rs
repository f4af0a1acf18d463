//! The arguments for pictures of arrays.

use std::path::PathBuf;

use binio::picture::{ColorMap, Range, Scale, Stretch};
use clap::{Args, ValueEnum};

/// Options for drawing an array as a picture.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Pictures")]
pub(crate) struct Picture {
    /// Draw the array in the terminal: as an image if it has 2 dimensions, or as a curve with
    /// statistics if it has 1. Large arrays are not read completely
    #[arg(long, conflicts_with_all = ["output", "form", "full"])]
    pub(crate) preview: bool,
    /// Write a 2-dimensional array as a PNG image to this file, or to standard output if "-". NaN
    /// becomes transparent
    #[arg(long, value_name = "OUT", conflicts_with_all = ["output", "form", "full", "preview"])]
    pub(crate) png: Option<PathBuf>,
    /// The values to draw in the darkest and the lightest colour: two numbers, such as -1,20, or
    /// two percentiles, such as 1%,99%
    #[arg(long, value_name = "RANGE", default_value = "0.5%,99.5%", value_parser = range, allow_hyphen_values = true)]
    range: Range,
    /// How the brightness of a pixel depends on its value
    #[arg(long, value_enum, value_name = "SCALE", default_value_t = ScaleName::Linear)]
    scale: ScaleName,
    /// The colour map
    #[arg(long, value_enum, value_name = "MAP", default_value_t = MapName::Grey)]
    colors: MapName,
    /// Draw row 0 at the bottom, as is the convention for FITS images
    #[arg(long)]
    pub(crate) flip: bool,
    /// The maximum width and height of a PNG image in pixels. If the array is larger, each pixel
    /// is the mean of a square block of elements
    #[arg(long, value_name = "PIXELS", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(crate) size: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScaleName {
    /// Brightness grows linearly with the value
    Linear,
    /// Brightness grows with the square root of the value
    Sqrt,
    /// Brightness grows with the logarithm of the value
    Log,
    /// Brightness grows with the inverse hyperbolic sine of the value: linearly for faint values,
    /// logarithmically for bright ones
    Asinh,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MapName {
    /// From black to white
    #[value(alias = "gray")]
    Grey,
    /// From dark purple through blue and green to yellow
    Viridis,
    /// From black through purple and orange to yellow
    Inferno,
}

impl Picture {
    /// Returns `true` if the array should be drawn instead of printed.
    pub(crate) fn is_wanted(&self) -> bool {
        self.preview || self.png.is_some()
    }

    pub(crate) fn stretch(&self) -> Stretch {
        let scale = match self.scale {
            ScaleName::Linear => Scale::Linear,
            ScaleName::Sqrt => Scale::Sqrt,
            ScaleName::Log => Scale::Log,
            ScaleName::Asinh => Scale::Asinh,
        };
        Stretch { range: self.range, scale }
    }

    pub(crate) fn colors(&self) -> ColorMap {
        match self.colors {
            MapName::Grey => ColorMap::Grey,
            MapName::Viridis => ColorMap::Viridis,
            MapName::Inferno => ColorMap::Inferno,
        }
    }
}

fn range(text: &str) -> Result<Range, String> {
    let expected =
        || "expected two increasing numbers, such as -1,20, or percentiles, such as 1%,99%";
    let (low, high) = text.split_once(',').ok_or_else(expected)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let percent = |text: &str| number(text.trim().strip_suffix('%')?);
    let (low, high, is_percent) = match (percent(low), percent(high)) {
        (Some(low), Some(high)) => (low, high, true),
        _ => (number(low).ok_or_else(expected)?, number(high).ok_or_else(expected)?, false),
    };
    if low >= high || (is_percent && !(low >= 0.0 && high <= 100.0)) {
        return Err(expected().to_owned());
    }
    Ok(if is_percent { Range::Percentiles(low, high) } else { Range::Values(low, high) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_range_is_two_values_or_two_percentiles() {
        assert_eq!(range("-1,2e3"), Ok(Range::Values(-1.0, 2000.0)));
        assert_eq!(range("0.5%, 99.5%"), Ok(Range::Percentiles(0.5, 99.5)));
        for text in ["", "1", "1,x", "1%,2", "2,1", "1,1", "nan,1", "0,inf", "-1%,50%", "50%,101%"]
        {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
