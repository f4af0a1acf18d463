//! The filter `jpeg`, for 8-bit images that are grey, RGB or CMYK.

use std::io::Write;

use super::image::{Image, argument};
use super::registry::{Compress, Declared, FilterError};

pub(super) struct Jpeg;

fn error(error: impl std::fmt::Display) -> FilterError {
    FilterError::new(error.to_string())
}

fn image(declared: &Declared<'_>) -> Result<Image, FilterError> {
    Image::of(declared, &[1], &[3, 4])
}

/// Returns the width and height of an image. Fails if the width or the height is above 65535.
fn size(image: Image) -> Result<(u16, u16), FilterError> {
    let small = |len: u32| {
        u16::try_from(len).map_err(|_| {
            let message =
                format!("a JPEG image has at most 65535 pixels in a row or column, not {len}");
            FilterError::new(message)
        })
    };
    Ok((small(image.width)?, small(image.height)?))
}

impl Compress for Jpeg {
    fn name(&self) -> &'static str {
        "jpeg"
    }

    fn check(&self, declared: &Declared<'_>) -> Result<(), FilterError> {
        size(image(declared)?)?;
        argument(declared, "a quality", 95, 75).map(drop)
    }

    fn encode(&self, declared: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError> {
        let image = image(declared)?;
        let (width, height) = size(image)?;
        let quality = argument(declared, "a quality", 95, 75)?.max(1);
        let colours = match image.channels {
            1 => jpeg_encoder::ColorType::Luma,
            3 => jpeg_encoder::ColorType::Rgb,
            _ => jpeg_encoder::ColorType::Cmyk,
        };
        let mut out = Vec::new();
        let encoder = jpeg_encoder::Encoder::new(&mut out, quality);
        encoder.encode(elements, width, height, colours).map_err(error)?;
        Ok(out)
    }

    fn decode(
        &self,
        declared: &Declared<'_>,
        stored: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), FilterError> {
        let expected = image(declared)?;
        let mut decoder = jpeg_decoder::Decoder::new(stored);
        let len = usize::try_from(declared.len).map_err(error)?;
        decoder.set_max_decoding_buffer_size(len);
        decoder.read_info().map_err(error)?;
        let info = decoder.info().ok_or_else(|| FilterError::new("it has no header"))?;
        let (channels, bytes) = match info.pixel_format {
            jpeg_decoder::PixelFormat::L8 => (1, 1),
            jpeg_decoder::PixelFormat::L16 => (1, 2),
            jpeg_decoder::PixelFormat::RGB24 => (3, 1),
            jpeg_decoder::PixelFormat::CMYK32 => (4, 1),
        };
        let (width, height) = (info.width.into(), info.height.into());
        expected.expect(Image { width, height, channels, bytes })?;
        Ok(out.write_all(&decoder.decode().map_err(error)?)?)
    }
}
