//! The filter `gzip`, which also decodes zlib.

use std::io::{self, BufReader, Write};

use super::registry::{Compress, Declared, FilterError};
#[cfg(feature = "write")]
use crate::layout::Argument;

/// Number of decoded bytes to write at a time.
const PIECE: usize = 1 << 16;

pub(super) struct Gzip;

/// Returns the compression level, which is 9 if the argument is -1 or missing.
#[cfg(feature = "write")]
fn level(declared: &Declared<'_>) -> Result<flate2::Compression, FilterError> {
    let level = match declared.arguments {
        [] | [Argument::Integer(-1)] => 9,
        &[Argument::Integer(level @ 0..=9)] => u32::try_from(level).unwrap_or(9),
        [other] => {
            return Err(FilterError::new(format!(
                "invalid level {other}: expected an integer from -1 to 9"
            )));
        }
        _ => return Err(FilterError::new("expected at most one argument")),
    };
    Ok(flate2::Compression::new(level))
}

impl Compress for Gzip {
    fn name(&self) -> &'static str {
        "gzip"
    }

    #[cfg(feature = "write")]
    fn encode(&self, declared: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level(declared)?);
        encoder.write_all(elements)?;
        Ok(encoder.finish()?)
    }

    fn decode(
        &self,
        _: &Declared<'_>,
        stored: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), FilterError> {
        let decoder: Box<dyn io::Read + '_> = if stored.first() == Some(&0x78) {
            Box::new(flate2::read::ZlibDecoder::new(stored))
        } else {
            Box::new(flate2::read::MultiGzDecoder::new(stored))
        };
        io::copy(&mut BufReader::with_capacity(PIECE, decoder), out)?;
        Ok(())
    }
}
