//! Packing arrays from memory or from `.npy` files, and adapting the write options to an array.

use std::io::{Seek, Write};

use binio::array::as_bytes;
use binio::{ReadAt, Span};
use serde_json::Value;

use crate::array::{ArrayInfo, Datatype, Element, Order};
use crate::error::{Error, ErrorKind, Result};
use crate::{Progress, WriteOptions, pack_slice, pack_source};

/// The exponent of the largest power of two that can be a typesize (2⁷ = 128).
const MAX_POWER: u32 = 7;

impl WriteOptions {
    /// Adapts the options to an array: sets the typesize to the size of an element, rounds the
    /// chunk size down to whole elements (but at least one), and describes the array in the
    /// metadata. The keys that describe the array replace existing keys with the same names, and
    /// precede all other existing keys. With these options, any packing function can pack the
    /// array, as long as the data has exactly [`ArrayInfo::byte_size`] bytes.
    ///
    /// Blosc supports elements of at most 255 bytes. For larger elements, the typesize is the
    /// largest power of two, up to 128, that divides their size. For text, the typesize is then
    /// still a multiple of the size of a character.
    ///
    /// ```
    /// use bloscpack::array::{ArrayInfo, Datatype, Order};
    /// use bloscpack::{Reader, WriteOptions, pack_to_vec};
    ///
    /// let info = ArrayInfo::new(Datatype::of::<f64>(), vec![2, 3], Order::F)?;
    /// let options = WriteOptions::new().metadata(&serde_json::json!({"unit": "K"}));
    /// let file = Reader::from_bytes(pack_to_vec(&[0; 48], &options.array(&info)?)?)?;
    /// assert_eq!(file.array()?.info(), &info);
    /// assert_eq!(file.metadata()?.unwrap().json()?["unit"], "K");
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`] if the metadata is set but is not an object, if the chunk size is
    /// invalid, or if an element is larger than the maximum chunk size.
    pub fn array(self, info: &ArrayInfo) -> Result<Self> {
        let rejected = || {
            let message = "not an object, so it cannot describe an array".to_owned();
            Error::new(ErrorKind::InvalidOption { option: "metadata", message })
        };
        let mut metadata = info.to_json();
        if let (Some(text), Value::Object(keys)) = (&self.metadata, &mut metadata) {
            let Ok(Value::Object(others)) = serde_json::from_slice(text) else {
                return Err(rejected());
            };
            for (key, value) in others {
                keys.entry(key).or_insert(value);
            }
        }
        let itemsize = info.datatype().itemsize();
        let chunk_size = self.chunk_size.whole_items(itemsize)?;
        Ok(self.typesize(typesize(itemsize)).chunk_size(chunk_size).metadata(&metadata))
    }
}

fn typesize(itemsize: u64) -> u32 {
    match u8::try_from(itemsize) {
        Ok(itemsize) => u32::from(itemsize).max(1),
        Err(_) => 1 << itemsize.trailing_zeros().min(MAX_POWER),
    }
}

/// Like [`pack_slice`], but packs `data` as an array. The elements must be in the order that `info`
/// states.
///
/// ```
/// use std::io::Cursor;
/// use bloscpack::array::{ArrayInfo, Datatype, Order, pack_array};
/// use bloscpack::{Reader, WriteOptions};
///
/// let info = ArrayInfo::new(Datatype::of::<u8>(), vec![2, 2], Order::C)?;
/// let file = pack_array(&info, b"data", Cursor::new(vec![]), &WriteOptions::new(), None)?;
/// let file = Reader::from_bytes(file.into_inner())?;
/// assert_eq!(file.array()?.read::<u8>()?, b"data");
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`WriteOptions::array`] and [`pack_slice`]. Also fails with [`ErrorKind::ShapeMismatch`]
/// if the length of `data` is not [`ArrayInfo::byte_size`].
pub fn pack_array<W: Write + Seek + Send>(
    info: &ArrayInfo,
    data: &[u8],
    sink: W,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<W> {
    info.check_size(data.len() as u64)?;
    pack_slice(data, sink, &options.clone().array(info)?, progress)
}

/// Like [`pack_slice`], but packs the elements of a slice as an array, without copying them. The elements must be in C
/// order. The array has the type of the elements, in the byte order of this machine.
///
/// ```
/// use std::io::Cursor;
/// use bloscpack::array::pack_elements;
/// use bloscpack::{Reader, WriteOptions};
///
/// let (numbers, sink) = ([0.5, 1.5, 2.5, 3.5], Cursor::new(vec![]));
/// let file = pack_elements(&numbers, &[2, 2], sink, &WriteOptions::new(), None)?;
/// let file = Reader::from_bytes(file.into_inner())?;
/// assert_eq!(file.array()?.read::<f64>()?, numbers);
/// # Ok::<(), bloscpack::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`ArrayInfo::new`] and [`pack_array`].
pub fn pack_elements<T: Element, W: Write + Seek + Send>(
    elements: &[T],
    shape: &[u64],
    sink: W,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<W> {
    let info = ArrayInfo::new(Datatype::of::<T>(), shape.to_vec(), Order::C)?;
    pack_array(&info, as_bytes(elements), sink, options, progress)
}

/// Like [`pack_source`], but packs the array that a `.npy` file contains.
///
/// # Errors
///
/// Same as [`ArrayInfo::from_npy`], [`WriteOptions::array`] and [`pack_source`].
pub fn pack_npy<W: Write + Seek + Send>(
    npy: &dyn ReadAt,
    sink: W,
    options: &WriteOptions,
    progress: Option<Progress<'_>>,
) -> Result<W> {
    let (info, data) = ArrayInfo::from_npy(npy)?;
    pack_source(&Span::new(npy, data)?, sink, &options.clone().array(&info)?, progress)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use serde_json::json;

    use super::*;
    use crate::format::Version;
    use crate::{ChunkSize, Reader};

    fn info(dtype: &str, shape: &[u64]) -> ArrayInfo {
        ArrayInfo::new(Datatype::parse(dtype).unwrap(), shape.to_vec(), Order::C).unwrap()
    }

    fn packed(info: &ArrayInfo, options: &WriteOptions) -> Result<Reader> {
        let data = vec![7; usize::try_from(info.byte_size()).unwrap()];
        Reader::from_bytes(
            pack_array(info, &data, Cursor::new(vec![]), options, None)?.into_inner(),
        )
    }

    #[test]
    fn the_typesize_is_the_element_size_or_a_power_of_two_that_divides_it() {
        for (dtype, typesize) in [
            ("|V0", 1),
            ("<i8", 8),
            ("|S12", 12),
            ("|S255", 255),
            ("|S256", 128),
            ("<U70", 8),
            ("<U65", 4),
            ("|S257", 1),
            ("[('a', '<f8', (100,)), ('b', '<i2')]", 2),
        ] {
            let file = packed(&info(dtype, &[2]), &WriteOptions::new()).unwrap();
            assert_eq!(file.header().typesize, typesize, "{dtype}");
            assert_eq!(file.array().unwrap().datatype().itemsize() * 2, file.len());
        }
    }

    #[test]
    fn chunks_of_an_array_consist_of_whole_elements() {
        let sizes = |chunk_size| {
            let options = WriteOptions::new().chunk_size(ChunkSize::Bytes(chunk_size));
            let file = packed(&info("|S12", &[5]), &options).unwrap();
            file.chunks().iter().map(|chunk| chunk.nbytes).collect::<Vec<_>>()
        };
        assert_eq!(sizes(1), [12; 5]);
        assert_eq!(sizes(35), [24, 24, 12]);
        assert_eq!(sizes(1000), [60]);
    }

    #[test]
    fn packing_an_array_keeps_metadata_keys_that_do_not_describe_it() {
        let options = WriteOptions::new().metadata(&json!({"shape": [9], "unit": "K"}));
        let file = packed(&info("<i2", &[]), &options).unwrap();
        assert_eq!(
            file.metadata().unwrap().unwrap().text(),
            r#"{"dtype":"'<i2'","shape":[],"order":"C","container":"numpy","unit":"K"}"#
        );
        let error = packed(&info("<i2", &[]), &WriteOptions::new().metadata(&json!([1])));
        assert_eq!(
            error.unwrap_err().to_string(),
            "metadata: not an object, so it cannot describe an array"
        );
    }

    #[test]
    fn packing_an_array_fails_in_version_2_or_if_data_is_missing() {
        let v2 = packed(&info("<i2", &[3]), &WriteOptions::new().version(Version::V2));
        assert_eq!(v2.unwrap_err().to_string(), "metadata is not supported in version 2");
        let sink = Cursor::new(vec![]);
        let short = pack_array(&info("<i2", &[3]), &[0; 5], sink, &WriteOptions::new(), None);
        assert!(matches!(short.unwrap_err().kind(), ErrorKind::ShapeMismatch(_)));
    }

    #[test]
    fn elements_are_packed_with_their_type_and_shape() {
        let numbers = [1_i16, -2, 300, 4, 5, 6];
        let pack = |shape: &[u64]| {
            pack_elements(&numbers, shape, Cursor::new(vec![]), &WriteOptions::new(), None)
        };
        let file = Reader::from_bytes(pack(&[2, 3]).unwrap().into_inner()).unwrap();
        let array = file.array().unwrap();
        assert_eq!((array.datatype(), array.shape()), (&Datatype::of::<i16>(), &[2, 3][..]));
        assert_eq!(array.read::<i16>().unwrap(), numbers);
        assert_eq!(file.header().typesize, 2);
        let error = pack(&[2, 2]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ShapeMismatch(_)), "{error}");
        let nothing: [bool; 0] = [];
        let file = pack_elements(&nothing, &[0], Cursor::new(vec![]), &WriteOptions::new(), None);
        let file = Reader::from_bytes(file.unwrap().into_inner()).unwrap();
        assert_eq!(file.array().unwrap().read::<bool>().unwrap(), nothing);
    }

    #[test]
    fn npy_files_are_restored_byte_for_byte() {
        for order in [Order::C, Order::F] {
            let info = ArrayInfo::new(Datatype::parse(">u2").unwrap(), vec![3, 4], order).unwrap();
            let mut npy = info.npy_header();
            npy.extend(0..24);
            let file = pack_npy(&npy, Cursor::new(vec![]), &WriteOptions::new(), None).unwrap();
            let file = Reader::from_bytes(file.into_inner()).unwrap();
            let mut back = Vec::new();
            file.array().unwrap().write_npy(&mut back, &crate::UnpackOptions::new()).unwrap();
            assert_eq!(back, npy);
        }
    }
}
