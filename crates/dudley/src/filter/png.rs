//! The filter `png`, for grey or RGB images with 8 or 16 bits per sample.

use std::io::{Cursor, Write};

use binio::Endian;

use super::image::{Image, argument};
use super::registry::{Compress, Declared, FilterError};

pub(super) struct Png;

/// Number of bytes that a decoder may allocate for its window and for metadata. It may also allocate memory
/// for a few rows of pixels.
const WORKSPACE: usize = 1 << 20;

fn error(error: impl std::fmt::Display) -> FilterError {
    FilterError::new(error.to_string())
}

fn image(declared: &Declared<'_>) -> Result<Image, FilterError> {
    Image::of(declared, &[1, 2], &[3])
}

/// Converts samples from the byte order of the array to big-endian, the byte order of PNG, or back.
fn swapped(declared: &Declared<'_>, bytes: &[u8]) -> Result<Vec<u8>, FilterError> {
    let mut bytes = bytes.to_vec();
    let scalar = declared.datatype.as_scalar();
    if scalar.is_some_and(|scalar| scalar.size() == 2 && scalar.endian() == Endian::Little) {
        binio::number::swap_in_place(&mut bytes, 2).map_err(error)?;
    }
    Ok(bytes)
}

impl Compress for Png {
    fn name(&self) -> &'static str {
        "png"
    }

    fn check(&self, declared: &Declared<'_>) -> Result<(), FilterError> {
        image(declared)?;
        argument(declared, "a level", 9, 9).map(drop)
    }

    fn encode(&self, declared: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError> {
        let Image { width, height, channels, bytes } = image(declared)?;
        let mut out = Vec::new();
        let mut encoder = ::png::Encoder::new(&mut out, width, height);
        let is_grey = channels == 1;
        encoder.set_color(if is_grey {
            ::png::ColorType::Grayscale
        } else {
            ::png::ColorType::Rgb
        });
        encoder.set_depth(if bytes == 1 {
            ::png::BitDepth::Eight
        } else {
            ::png::BitDepth::Sixteen
        });
        encoder.set_deflate_compression(match argument(declared, "a level", 9, 9)? {
            0 => ::png::DeflateCompression::NoCompression,
            level => ::png::DeflateCompression::Level(level),
        });
        let mut writer = encoder.write_header().map_err(error)?;
        writer.write_image_data(&swapped(declared, elements)?).map_err(error)?;
        writer.finish().map_err(error)?;
        Ok(out)
    }

    fn decode(
        &self,
        declared: &Declared<'_>,
        stored: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), FilterError> {
        let expected = image(declared)?;
        let row = u64::from(expected.width) * u64::from(expected.channels * expected.bytes);
        let row = usize::try_from(row).map_err(error)?;
        let limits = ::png::Limits { bytes: WORKSPACE.saturating_add(row.saturating_mul(4)) };
        let mut decoder = ::png::Decoder::new_with_limits(Cursor::new(stored), limits);
        decoder.set_transformations(::png::Transformations::IDENTITY);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let info = decoder.read_header_info().map_err(error)?;
        let channels = match info.color_type {
            ::png::ColorType::Grayscale => 1,
            ::png::ColorType::Rgb => 3,
            other => {
                let message =
                    format!("the colour type is {}, expected 0 (grey) or 2 (RGB)", other as u8);
                return Err(FilterError::new(message));
            }
        };
        let bytes = match info.bit_depth {
            ::png::BitDepth::Eight => 1,
            ::png::BitDepth::Sixteen => 2,
            other => {
                let message = format!("the bit depth is {}, expected 8 or 16", other as u8);
                return Err(FilterError::new(message));
            }
        };
        expected.expect(Image { width: info.width, height: info.height, channels, bytes })?;
        if info.interlaced {
            // Decode an interlaced image as a whole, because its rows are not in order. Its size has already
            // been compared with the declared size.
            let mut reader = decoder.read_info().map_err(error)?;
            let len = usize::try_from(declared.len).map_err(error)?;
            let mut whole = binio::memory::reserve("an image", declared.len).map_err(error)?;
            whole.resize(len, 0);
            reader.next_frame(&mut whole).map_err(error)?;
            return Ok(out.write_all(&swapped(declared, &whole)?)?);
        }
        let mut reader = decoder.read_info().map_err(error)?;
        while let Some(row) = reader.next_row().map_err(error)? {
            out.write_all(&swapped(declared, row.data())?)?;
        }
        Ok(())
    }
}
