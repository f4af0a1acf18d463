//! The filter `zfp`, which compresses floats and integers without loss, or with a chosen tolerance or
//! precision.
//!
//! The stored bytes are a sequence of 64-bit little-endian words. They begin with a full zfp
//! header: `7a 66 70 05`, the type and dimensions, and the mode.

use std::io::Write;

use binio::Endian;
use binio::array::{self, ScalarKind};
use zfp_rs::{
    ZfpBitStream, ZfpConfig, ZfpField, ZfpFieldMetadata, ZfpFieldMut, ZfpHeaderMask, ZfpScalar,
    ZfpScalarType,
};

use super::registry::{Compress, Declared, FilterError};
use crate::layout::Argument;

/// Number of bytes per word.
const WORD: usize = 8;

pub(super) struct Zfp;

/// Default precision in bits.
const PRECISION: u32 = 15;

fn error(error: impl std::fmt::Display) -> FilterError {
    FilterError::new(error.to_string())
}

/// Returns the compression mode selected by the argument.
fn config(declared: &Declared<'_>) -> Result<ZfpConfig, FilterError> {
    let value = match declared.arguments {
        [] => return Ok(ZfpConfig::fixed_precision(PRECISION)),
        #[allow(clippy::cast_precision_loss, reason = "a tolerance")]
        &[Argument::Integer(value)] => value as f64,
        &[Argument::Float(value)] => value,
        _ => return Err(FilterError::new("expected one argument, a number")),
    };
    if value > 0.0 {
        return Ok(ZfpConfig::fixed_accuracy(value));
    }
    if value == 0.0 {
        return Ok(ZfpConfig::reversible());
    }
    let bits = (1..=64).find(|&bits| f64::from(bits) + value == 0.0);
    let bits = bits.ok_or_else(|| {
        FilterError::new(format!("invalid precision {value}: expected an integer from -64 to -1"))
    })?;
    Ok(ZfpConfig::fixed_precision(bits))
}

/// Returns the type and dimensions for the zfp header, and the byte order of the elements. The
/// fastest varying dimension comes first.
fn metadata(declared: &Declared<'_>) -> Result<(ZfpFieldMetadata, Endian), FilterError> {
    let scalar = declared.datatype.as_scalar();
    let found = scalar.and_then(|scalar| match (scalar.kind(), scalar.size()) {
        (ScalarKind::Float, 4) => Some(ZfpScalarType::F32),
        (ScalarKind::Float, 8) => Some(ZfpScalarType::F64),
        (ScalarKind::Int, 4) => Some(ZfpScalarType::I32),
        (ScalarKind::Int, 8) => Some(ZfpScalarType::I64),
        _ => None,
    });
    let (Some(scalar), Some(scalar_type)) = (scalar, found) else {
        return Err(FilterError::new("expected the type f4, f8, i4 or i8"));
    };
    let mut dims = [0; 4];
    if !(1..=4).contains(&declared.shape.len()) {
        let message = format!("the shape is {:?}, expected 1 to 4 dimensions", declared.shape);
        return Err(FilterError::new(message));
    }
    for (dim, &len) in dims.iter_mut().zip(declared.shape.iter().rev()) {
        *dim = usize::try_from(len).map_err(error)?;
    }
    Ok((ZfpFieldMetadata { scalar_type, dims }, scalar.endian()))
}

impl Compress for Zfp {
    fn name(&self) -> &'static str {
        "zfp"
    }

    fn check(&self, declared: &Declared<'_>) -> Result<(), FilterError> {
        metadata(declared)?;
        config(declared).map(drop)
    }

    fn encode(&self, declared: &Declared<'_>, elements: &[u8]) -> Result<Vec<u8>, FilterError> {
        let (metadata, endian) = metadata(declared)?;
        let config = config(declared)?;
        match metadata.scalar_type {
            ZfpScalarType::F32 => encode::<f32>(&metadata, &config, elements, endian),
            ZfpScalarType::F64 => encode::<f64>(&metadata, &config, elements, endian),
            ZfpScalarType::I32 => encode::<i32>(&metadata, &config, elements, endian),
            ZfpScalarType::I64 => encode::<i64>(&metadata, &config, elements, endian),
        }
    }

    fn decode(
        &self,
        declared: &Declared<'_>,
        stored: &[u8],
        out: &mut dyn Write,
    ) -> Result<(), FilterError> {
        let (metadata, endian) = metadata(declared)?;
        match metadata.scalar_type {
            ZfpScalarType::F32 => decode::<f32>(&metadata, stored, endian, out),
            ZfpScalarType::F64 => decode::<f64>(&metadata, stored, endian, out),
            ZfpScalarType::I32 => decode::<i32>(&metadata, stored, endian, out),
            ZfpScalarType::I64 => decode::<i64>(&metadata, stored, endian, out),
        }
    }
}

fn encode<T: ZfpScalar + binio::number::Scalar>(
    metadata: &ZfpFieldMetadata,
    config: &ZfpConfig,
    elements: &[u8],
    endian: Endian,
) -> Result<Vec<u8>, FilterError> {
    let numbers = binio::number::decode::<T>(elements, endian).map_err(error)?;
    let mut field = ZfpField::new(&numbers, [numbers.len()]).map_err(error)?;
    field.set_metadata(*metadata).map_err(error)?;
    let capacity = config.maximum_size(metadata.scalar_type, metadata.dims);
    let capacity = capacity.ok_or_else(|| FilterError::new("the array is too large for zfp"))?;
    let mut stream = ZfpBitStream::new(capacity).map_err(error)?;
    stream.write_header(config, metadata, ZfpHeaderMask::FULL).map_err(error)?;
    stream.compress(config, &field).map_err(error)?;
    Ok(stream.into_words().iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn decode<T: ZfpScalar + binio::number::Scalar + array::Element>(
    metadata: &ZfpFieldMetadata,
    stored: &[u8],
    endian: Endian,
    out: &mut dyn Write,
) -> Result<(), FilterError> {
    let word = |bytes: &[u8]| {
        let mut word = [0; WORD];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let mut stream = ZfpBitStream::from_words(stored.chunks(WORD).map(word).collect());
    let header = stream.read_header(ZfpHeaderMask::FULL).map_err(error)?;
    if header.metadata != Some(*metadata) {
        let shown = |found: ZfpFieldMetadata| {
            let dims: Vec<usize> = found.dims.into_iter().filter(|&len| len > 0).rev().collect();
            let name = match found.scalar_type {
                ZfpScalarType::F32 => "f4",
                ZfpScalarType::F64 => "f8",
                ZfpScalarType::I32 => "i4",
                ZfpScalarType::I64 => "i8",
            };
            format!("{name}{dims:?}")
        };
        let found = header.metadata.map(shown).unwrap_or_default();
        let message = format!("its type and shape are {found}, expected {}", shown(*metadata));
        return Err(FilterError::new(message));
    }
    let config = header
        .config
        .ok_or_else(|| FilterError::new("its header does not specify a compression mode"))?;
    let count: usize = metadata.dims.iter().filter(|&&len| len > 0).product();
    let mut numbers =
        binio::memory::reserve::<T>("a compressed array", count as u64).map_err(error)?;
    numbers.resize(count, T::default());
    let mut field = ZfpFieldMut::new(&mut numbers, [count]).map_err(error)?;
    field.set_metadata(*metadata).map_err(error)?;
    stream.decompress(&config, &mut field).map_err(error)?;
    if endian == Endian::NATIVE {
        return Ok(out.write_all(array::as_bytes(&numbers))?);
    }
    let mut bytes = array::as_bytes(&numbers).to_vec();
    binio::number::swap_in_place(&mut bytes, size_of::<T>()).map_err(error)?;
    Ok(out.write_all(&bytes)?)
}
