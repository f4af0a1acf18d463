//! Writing PNG files.

use std::io::{self, Write};

use binio::picture::{ColorMap, Plane, Stretch};

/// Writes an image as a PNG file in RGBA with 8 bits per channel.
pub(super) fn write(
    plane: &Plane,
    stretch: &Stretch,
    map: ColorMap,
    out: &mut dyn Write,
) -> io::Result<()> {
    let side = |pixels: usize| u32::try_from(pixels).map_err(io::Error::other);
    let mut encoder = png::Encoder::new(out, side(plane.width())?, side(plane.height())?);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&plane.to_rgba(stretch, map))?;
    Ok(writer.finish()?)
}
