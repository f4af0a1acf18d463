//! Reading arrays: their shape and type, their parts, and their elements.

use std::io::Write;
use std::ops::Range;

use binio::array::{self, ByteOrder, Datatype, Element, Order, PrintStyle, Slice, Strided};

use crate::array::ArrayInfo;
use crate::array::blocks::Blocks;
use crate::error::{Error, ErrorKind, Result};
use crate::{Reader, UnpackOptions};

/// The maximum number of bytes to write at a time if the elements have to be reordered.
const PIECE: u64 = 1 << 20;

/// An array in a file, or a part of one.
///
/// An array is a view: creating it, [slicing](Self::slice) it and selecting a [field](Self::field)
/// read no data, and the results can be sliced again. Reading decodes only the Blosc blocks that
/// contain elements of the view. Long ranges are decoded on several threads.
///
/// ```
/// use bloscpack::array::{ArrayInfo, Datatype, Order, Slice, pack_array};
/// use bloscpack::{Reader, WriteOptions};
/// use std::io::Cursor;
///
/// let info = ArrayInfo::new(Datatype::parse("<i2")?, vec![2, 3], Order::C)?;
/// let data = [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0];
/// let file = pack_array(&info, &data, Cursor::new(vec![]), &WriteOptions::new(), None)?;
///
/// let file = Reader::from_bytes(file.into_inner())?;
/// let array = file.array()?;
/// assert_eq!(array.shape(), [2, 3]);
/// assert_eq!(array.read::<i16>()?, [1, 2, 3, 4, 5, 6]);
/// let column = array.slice(&Slice::parse(":, -1")?)?;
/// assert_eq!(column.read::<i16>()?, [3, 6]);
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Array<'r> {
    view: array::Array<&'r Reader>,
    info: ArrayInfo,
}

impl Reader {
    /// Returns the array in this file. No element is read.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::NotNumpy`] if the file contains no array, with
    /// [`ErrorKind::ObjectDtype`] or [`ErrorKind::InvalidDtype`] if its datatype is not supported,
    /// and with [`ErrorKind::ShapeMismatch`] if its shape is invalid or does not match the length
    /// of the data. Also fails if [`metadata`](Self::metadata) or
    /// [`Metadata::json`](crate::format::Metadata::json) fails.
    pub fn array(&self) -> Result<Array<'_>> {
        let no_metadata = || ErrorKind::NotNumpy("the file has no metadata".into());
        let metadata = self.metadata()?.ok_or_else(no_metadata)?;
        let checked = ArrayInfo::from_json(&metadata.json()?).and_then(|info| {
            info.check_size(self.len())?;
            let (dtype, shape, order) = (info.datatype(), info.shape().to_vec(), info.order());
            let layout = Strided::packed(shape, order, 0, dtype.itemsize(), self.len())?;
            let limits = self.options().limits;
            // The elements of an array are decoded data, so apply the limit on decoded data to
            // them.
            let limits = limits.max_alloc(limits.max_decoded);
            let view = array::Array::new(self, dtype.clone(), layout, limits)?;
            Ok(Array { view, info })
        });
        let start = self.layout().metadata().map_or(0, |section| section.start);
        checked.map_err(|error| error.at(start))
    }
}

impl<'r> Array<'r> {
    /// Returns the type, shape and order of the array.
    pub fn info(&self) -> &ArrayInfo {
        &self.info
    }

    /// Returns the type of an element.
    pub fn datatype(&self) -> &Datatype {
        self.info.datatype()
    }

    /// Returns the lengths of the dimensions, outermost first. The slice is empty for a single element.
    pub fn shape(&self) -> &[u64] {
        self.info.shape()
    }

    /// Returns the order of the elements in the file, C or Fortran. A part of an array has the same
    /// order as the whole array.
    pub fn order(&self) -> Order {
        self.info.order()
    }

    /// Returns a part of the array. The first slice applies to the outermost dimension, and
    /// dimensions without a slice are kept whole. See [`Slice`] for the meaning of each slice. No
    /// element is read.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`] if there are more slices than dimensions, if an
    /// index is out of range, if a step is 0, or if there is more than one `...`. Fails with
    /// [`ErrorKind::ShapeMismatch`] if inserted dimensions bring the total to more than 64.
    pub fn slice(&self, slices: &[Slice]) -> Result<Self> {
        self.part(self.view.slice(slices)?)
    }

    /// Returns a range of rows, that is, of indices in the first dimension. The range must be within the array; unlike
    /// [`slice`](Self::slice), it is not clipped.
    ///
    /// ```
    /// # use std::io::Cursor;
    /// # use bloscpack::array::{ArrayInfo, Datatype, Order, pack_array};
    /// # use bloscpack::{Reader, WriteOptions};
    /// # let info = ArrayInfo::new(Datatype::of::<u8>(), vec![4, 2], Order::C)?;
    /// # let file = pack_array(&info, &[0, 1, 2, 3, 4, 5, 6, 7], Cursor::new(vec![]), &WriteOptions::new(), None)?;
    /// let file = Reader::from_bytes(file.into_inner())?;
    /// let array = file.array()?;
    /// assert_eq!(array.shape(), [4, 2]);
    /// assert_eq!(array.rows(1..3)?.read::<u8>()?, [2, 3, 4, 5]);
    /// assert!(array.rows(3..5).is_err());
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidOption`] if the range is not within the array.
    pub fn rows(&self, rows: Range<u64>) -> Result<Self> {
        let count = self.shape().first().copied().unwrap_or(0);
        let [start, stop] = [rows.start, rows.end].map(|row| i64::try_from(row).ok());
        if self.shape().is_empty() || rows.start > rows.end || rows.end > count {
            let message =
                format!("{}..{}, expected a range within 0..{count}", rows.start, rows.end);
            return Err(ErrorKind::InvalidOption { option: "rows", message }.into());
        }
        self.slice(&[Slice::Range { start, stop, step: 1 }])
    }

    /// Returns a field of an array of records. The dimensions of the field follow the dimensions of the array. No
    /// element is read.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use bloscpack::array::{ArrayInfo, Datatype, Order, pack_array};
    /// use bloscpack::{Reader, WriteOptions};
    ///
    /// let records = Datatype::parse("[('id', '<u2'), ('flag', '|u1')]")?;
    /// let info = ArrayInfo::new(records, vec![2], Order::C)?;
    /// let data = [1, 0, 7, 2, 0, 9];
    /// let file = pack_array(&info, &data, Cursor::new(vec![]), &WriteOptions::new(), None)?;
    /// let file = Reader::from_bytes(file.into_inner())?;
    /// assert_eq!(file.array()?.field("id")?.read::<u16>()?, [1, 2]);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::InvalidDtype`] if the elements are not records, or have no field of this name, and with
    /// [`ErrorKind::ShapeMismatch`] if the array and the field together have more than 64 dimensions.
    pub fn field(&self, name: &str) -> Result<Self> {
        self.part(self.view.field(name)?)
    }

    fn part(&self, view: array::Array<&'r Reader>) -> Result<Self> {
        let (dtype, shape) = (view.datatype().clone(), view.shape().to_vec());
        let info = ArrayInfo::new(dtype, shape, self.order())?;
        Ok(Self { view, info })
    }

    /// Reads the elements in C order, whatever their order in the file.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::ElementType`] if the elements do not have the type `T`, with
    /// [`ErrorKind::Limit`] if they exceed [`Limits::max_decoded`](crate::Limits::max_decoded),
    /// with [`ErrorKind::ChecksumMismatch`] or [`ErrorKind::CorruptChunk`] if a chunk is damaged,
    /// and with [`ErrorKind::UnsupportedChunk`] if this build does not support the codec of a
    /// chunk. Also fails if reading fails.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        self.decoding().read()
    }

    /// Reads the elements in C order into a slice, whose length must be the number of elements.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), except for the limit on decoded data: unless `T` is `bool`, it applies only to
    /// Blosc blocks that cannot be decoded directly into their destination. Also fails with
    /// [`ErrorKind::ShapeMismatch`] if `out` has a different length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<()> {
        self.decoding().read_into(out)
    }

    /// Reads the bytes of the elements in C order, with numbers in the byte order of the file.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), but elements of any type can be read.
    pub fn read_bytes(&self) -> Result<Vec<u8>> {
        self.decoding().read_bytes(Order::C, ByteOrder::Stored)
    }

    /// Reads the bytes of the elements in C or Fortran order into a slice of the same length, with numbers in the
    /// given byte order.
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that the limit on decoded data applies only to Blosc blocks that
    /// cannot be decoded directly into their destination. Also fails with [`ErrorKind::ShapeMismatch`] if `out` has a
    /// different length.
    pub fn read_bytes_into(&self, out: &mut [u8], order: Order, numbers: ByteOrder) -> Result<()> {
        self.decoding().read_bytes_into(out, order, numbers)
    }

    /// Reads the elements of an array of text in C order, without their padding.
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes). Also fails with [`ErrorKind::ElementType`] if the elements are not
    /// text, with [`ErrorKind::InvalidElement`] if an element is not valid text, and with [`ErrorKind::Limit`] if there
    /// are more than [`Limits::max_items`](crate::Limits::max_items) elements.
    pub fn strings(&self) -> Result<Vec<String>> {
        self.decoding().strings()
    }

    /// Writes all elements in C order as text, JSON or CSV. [`PrintStyle`] describes the styles.
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that the limit on decoded data
    /// applies to each Blosc block and not to all elements. Also fails with [`ErrorKind::Output`] if
    /// `out` cannot be written, and with [`ErrorKind::InvalidOption`] if the array has too many
    /// empty lists or empty elements to print.
    pub fn write_elements(&self, out: &mut dyn Write, style: PrintStyle) -> Result<()> {
        let written = self.decoding().write_elements(out, style, None);
        written.map_err(|error| match error.kind() {
            // The array is too large for this style, so the option is wrong, not the file.
            ErrorKind::ShapeMismatch(message) => {
                ErrorKind::InvalidOption { option: "style", message: message.clone() }.into()
            }
            _ => error,
        })
    }

    /// Writes the elements as text for human readers. If the array is large, writes only the first
    /// and last elements of each dimension, like
    /// [`Array::write_summary`](binio::array::Array::write_summary).
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that the limit on decoded data
    /// applies to each Blosc block and not to all elements. Also fails with [`ErrorKind::Output`] if
    /// `out` cannot be written, and with [`ErrorKind::ShapeMismatch`] if the array has too many
    /// empty rows or empty elements to print.
    pub fn write_summary(&self, out: &mut dyn Write) -> Result<()> {
        self.decoding().write_summary(out, None)
    }

    /// Writes the array as a `.npy` file. The elements keep the order and the byte order that they
    /// have in the Bloscpack file. Only a few chunks are in memory at a time, however large the
    /// array is.
    ///
    /// ```
    /// # use std::io::Cursor;
    /// use bloscpack::array::{ArrayInfo, pack_npy};
    /// use bloscpack::{Reader, UnpackOptions, WriteOptions};
    ///
    /// # use bloscpack::array::{Datatype, Order};
    /// # let mut npy = ArrayInfo::new(Datatype::of::<u8>(), vec![4], Order::C)?.npy_header();
    /// # npy.extend([1, 2, 3, 4]);
    /// let packed = pack_npy(&npy, Cursor::new(vec![]), &WriteOptions::new(), None)?.into_inner();
    /// let mut unpacked = Vec::new();
    /// Reader::from_bytes(packed)?.array()?.write_npy(&mut unpacked, &UnpackOptions::new())?;
    /// assert_eq!(unpacked, npy);
    /// # Ok::<(), bloscpack::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`read_bytes`](Self::read_bytes), except that the limit on decoded data applies to each chunk and not to
    /// all elements. Also fails with [`ErrorKind::Output`] if writing to the sink fails.
    pub fn write_npy(&self, sink: &mut dyn Write, options: &UnpackOptions<'_>) -> Result<()> {
        sink.write_all(&self.info.npy_header()).map_err(Error::of_output)?;
        let layout = self.view.layout();
        if layout.is_contiguous(self.order()) {
            return self.view.data().unpack_range_to(layout.extent(), sink, options);
        }
        self.decoding().for_each_piece(self.order(), PIECE, false, |bytes| {
            sink.write_all(bytes).map_err(Error::of_output)?;
            options.done(bytes.len());
            Ok(())
        })
    }

    /// Reads the elements as an array of the `ndarray` crate, in the same memory order as in the
    /// file. If an element consists of several values of type `T`, as text does, they form an
    /// additional last dimension, and the order is always C.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read). Also fails with [`ErrorKind::ShapeMismatch`] if `ndarray` does
    /// not support the shape, because the product of the nonzero lengths exceeds `isize::MAX`.
    #[cfg(feature = "ndarray")]
    pub fn to_ndarray<T: Element>(&self) -> Result<ndarray::ArrayD<T>> {
        self.decoding().to_ndarray(self.order())
    }

    /// Returns a copy of this view that caches the last decoded block. Create a new copy for each
    /// read.
    fn decoding(&self) -> array::Array<Blocks<'_>> {
        self.view.clone().with_data(Blocks::new(self.view.data()))
    }
}

#[cfg(test)]
mod tests {
    use binio::blosc::{CompressOptions, Compressor, compress};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::diagnostic::Code;
    use crate::format::MetadataOptions;
    use crate::format::metadata::encode::section;
    use crate::format::test_file::TestFile;
    use crate::{Checksum, OpenOptions, VerifyOptions, verify};

    fn info(dtype: &str, shape: &[u64], order: Order) -> ArrayInfo {
        ArrayInfo::new(Datatype::parse(dtype).unwrap(), shape.to_vec(), order).unwrap()
    }

    /// Returns a file with this data in chunks of `chunk_size` bytes and Blosc blocks of at most
    /// 128 bytes.
    fn file(info: &ArrayInfo, data: &[u8], chunk_size: usize) -> TestFile {
        let mut file = TestFile::of(&data.chunks(chunk_size).collect::<Vec<_>>()).without_offsets();
        let options = CompressOptions::new(Compressor::Lz4).typesize(2).blocksize(128);
        file.checksum = Checksum::None;
        let chunks = data.chunks(chunk_size).map(|chunk| compress(chunk, &options).unwrap());
        file.chunks = chunks.collect();
        let metadata = info.to_json().to_string();
        file.metadata = section(metadata.as_bytes(), &MetadataOptions::default()).unwrap();
        file
    }

    fn open(file: &TestFile) -> Reader {
        Reader::from_bytes(file.bytes()).unwrap()
    }

    fn size(number: u64) -> usize {
        usize::try_from(number).unwrap()
    }

    fn bytes(len: u64) -> Vec<u8> {
        (0..len).map(|i| (i * i / 7).to_le_bytes()[0]).collect()
    }

    /// Returns the number of elements that precede an element in the data, computed from the
    /// definitions of C and Fortran order.
    fn place(index: &[u64], shape: &[u64], order: Order) -> u64 {
        let axes = index.iter().zip(shape);
        let step = |place: u64, (index, count): (&u64, &u64)| place * count + index;
        match order {
            Order::C => axes.fold(0, step),
            Order::F => axes.rev().fold(0, step),
        }
    }

    /// Returns all combinations of one index per axis, in C order.
    fn indices(axes: &[Vec<u64>]) -> Vec<Vec<u64>> {
        axes.iter().fold(vec![vec![]], |all, axis| {
            let extend = |index: Vec<u64>| axis.iter().map(move |&i| [&index[..], &[i]].concat());
            all.into_iter().flat_map(extend).collect()
        })
    }

    /// Returns the bytes that the slices select, copied element by element.
    fn naive(info: &ArrayInfo, data: &[u8], slices: &[Slice]) -> Vec<u8> {
        let positions = |(&slice, &count): (&Slice, &u64)| {
            let axis = Strided::packed(vec![count], Order::C, 0, 1, count).unwrap();
            let part = axis.slice(&[slice]).unwrap();
            let step = |&at: &u64| Some(at.wrapping_add_signed(part.strides()[0]));
            let positions = std::iter::successors(Some(part.offset()), step);
            positions.take(size(part.len())).collect()
        };
        let axes: Vec<Vec<u64>> = slices.iter().zip(info.shape()).map(positions).collect();
        let itemsize = size(info.datatype().itemsize());
        let element = |index: Vec<u64>| {
            let start = size(place(&index, info.shape(), info.order())) * itemsize;
            data[start..start + itemsize].to_vec()
        };
        indices(&axes).into_iter().flat_map(element).collect()
    }

    fn any_slice() -> impl Strategy<Value = Slice> {
        let bound = || proptest::option::of(-9..9_i64);
        let step = prop_oneof![Just(1), Just(-1), Just(2), Just(-3)];
        (bound(), bound(), step).prop_map(|(start, stop, step)| Slice::Range { start, stop, step })
    }

    proptest! {
        #[test]
        fn slices_select_the_same_elements_as_a_naive_implementation(
            shape in prop::collection::vec(0..7_u64, 0..5),
            itemsize in 0..5_u8,
            is_fortran in any::<bool>(),
            chunk_size in 1..700_usize,
            slices in prop::collection::vec(any_slice(), 4),
        ) {
            let order = if is_fortran { Order::F } else { Order::C };
            let info = info(&format!("|V{itemsize}"), &shape, order);
            let data = bytes(info.byte_size());
            let reader = open(&file(&info, &data, chunk_size));
            let slices = &slices[..shape.len()];
            let part = reader.array().unwrap().slice(slices).unwrap();
            let expected = naive(&info, &data, slices);
            prop_assert_eq!(part.read_bytes().unwrap(), expected.clone());
            // Writing the slice as a `.npy` file must preserve its elements, and must use the same order
            // (C or Fortran) as the whole array.
            let mut npy = Vec::new();
            part.write_npy(&mut npy, &UnpackOptions::new()).unwrap();
            let (written, range) = ArrayInfo::from_npy(&npy).unwrap();
            prop_assert_eq!(&written, part.info());
            let all = vec![Slice::ALL; written.shape().len()];
            prop_assert_eq!(naive(&written, &npy[size(range.start)..], &all), expected);
        }
    }

    #[test]
    fn elements_are_read_in_native_byte_order_and_c_order() {
        let info = info(">u2", &[2, 3], Order::F);
        let reader = open(&file(&info, &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6], 5));
        let array = reader.array().unwrap();
        assert_eq!(array.read::<u16>().unwrap(), [1, 3, 5, 2, 4, 6]);
        assert_eq!(array.rows(1..2).unwrap().read::<u16>().unwrap(), [2, 4, 6]);
        let error = array.read::<i16>().unwrap_err();
        assert_eq!(error.to_string(), "expected elements of type i16, found >u2");
        assert!(array.read::<u32>().is_err());
        assert!(array.rows(1..3).is_err() && array.rows(3..3).is_err());
        let outside = array.slice(&[Slice::Index(2)]).unwrap_err();
        assert!(matches!(outside.kind(), ErrorKind::InvalidOption { .. }), "{outside}");
        assert!(!outside.is_bad_data());
    }

    #[test]
    fn a_failure_to_write_elements_is_reported_as_an_output_error() {
        let reader = open(&file(&info("|u1", &[2], Order::C), &[1, 2], 2));
        let array = reader.array().unwrap();
        // Writing to an empty slice always fails.
        let mut space: &mut [u8] = &mut [];
        let full = &mut space;
        for written in [
            array.write_elements(full, PrintStyle::Text),
            array.write_summary(full),
            array.write_npy(full, &UnpackOptions::new()),
        ] {
            let error = written.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Output(_)), "{error:?}");
        }
    }

    #[test]
    fn the_axes_of_a_field_follow_the_axes_of_the_array() {
        let dtype = "[('a', '|u1'), ('', '|V1'), ('b', '>u2', (2,)), ('c', [('d', '<u2')])]";
        let info = info(dtype, &[2], Order::F);
        let reader = open(&file(&info, &(0..16).collect::<Vec<_>>(), 7));
        let array = reader.array().unwrap();
        assert_eq!(array.field("a").unwrap().read::<u8>().unwrap(), [0, 8]);
        let b = array.field("b").unwrap();
        assert_eq!((b.shape(), b.datatype().to_string().as_str()), (&[2, 2][..], ">u2"));
        assert_eq!(b.read::<u16>().unwrap(), [0x0203, 0x0405, 0x0a0b, 0x0c0d]);
        let d = array.field("c").unwrap().field("d").unwrap();
        assert_eq!(d.rows(1..2).unwrap().read::<u16>().unwrap(), [0x0f0e]);
        let mut npy = Vec::new();
        b.write_npy(&mut npy, &UnpackOptions::new()).unwrap();
        assert_eq!(npy[npy.len() - 8..], [2, 3, 10, 11, 4, 5, 12, 13], "F order, as stored");
        assert!(array.field("x").unwrap_err().to_string().contains("no field named \"x\""));
        let error = d.field("d").unwrap_err().to_string();
        assert!(error.contains("the elements are not records"), "{error}");
        assert!(array.read::<u8>().is_err());
    }

    #[test]
    fn blocks_without_selected_elements_are_not_decoded() {
        let info = info("<u2", &[4, 64], Order::C);
        let data = vec![1; 512];
        let mut file = file(&info, &data, 512);
        // Each of the four rows is a block of 128 bytes. Make the offset of the third block
        // invalid.
        file.chunks[0][16 + 8..][..4].copy_from_slice(&[0; 4]);
        let reader = open(&file);
        assert!(reader.read_all().is_err());
        let array = reader.array().unwrap();
        for slices in ["0:2", "3", "::3, 5:9"] {
            let part = array.slice(&Slice::parse(slices).unwrap()).unwrap();
            let values = part.read::<u16>().unwrap();
            assert!(!values.is_empty() && values.iter().all(|&value| value == 0x0101), "{slices}");
        }
        let error = array.slice(&Slice::parse("1:3, 63").unwrap()).unwrap().read::<u16>();
        assert!(matches!(error.unwrap_err().kind(), ErrorKind::CorruptChunk { chunk: 0, .. }));
    }

    #[test]
    fn slices_of_a_large_array_have_the_same_bytes_as_a_naive_copy() {
        let info = info("|V400", &[150, 100], Order::C);
        let data = bytes(6_000_000);
        let reader = open(&file(&info, &data, 100_000));
        let array = reader.array().unwrap();
        assert!(array.read_bytes().unwrap() == data);
        for (slices, count) in [("7:149", 14_200), (":, 1:", 14_850), ("::-1, ::-1", 15_000)] {
            let slices = Slice::parse(slices).unwrap();
            let part = array.slice(&slices).unwrap();
            let mut all = slices.clone();
            all.resize(2, Slice::ALL);
            let expected = naive(&info, &data, &all);
            assert_eq!(expected.len(), count * 400);
            assert!(part.read_bytes().unwrap() == expected);
            let (mut npy, done) = (Vec::new(), std::sync::atomic::AtomicU64::new(0));
            let progress = |bytes| {
                done.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
            };
            part.write_npy(&mut npy, &UnpackOptions::new().progress(&progress)).unwrap();
            assert!(npy[npy.len() - expected.len()..] == expected);
            assert_eq!(done.into_inner(), expected.len() as u64);
        }
    }

    #[test]
    fn invalid_text_in_an_array_is_reported_with_the_index_of_its_element() {
        let data = [b"a\0\0\0".as_slice(), &[0, 0, 0x11, 0]].concat();
        let reader = open(&file(&info("<U1", &[2], Order::C), &data, 8));
        let error = reader.array().unwrap().strings().unwrap_err();
        let is_second = matches!(error.kind(), ErrorKind::InvalidElement { index: 1, .. });
        assert!(is_second && error.is_bad_data(), "{error}");
    }

    #[test]
    fn arrays_that_do_not_match_the_data_are_rejected() {
        let good = info("<u2", &[4], Order::C);
        let with = |metadata: &serde_json::Value| {
            let mut file = file(&good, &[0; 8], 8);
            let text = metadata.to_string();
            file.metadata = section(text.as_bytes(), &MetadataOptions::default()).unwrap();
            let reader = open(&file);
            let report = verify(&reader, &VerifyOptions::new()).unwrap();
            let codes =
                report.diagnostics.iter().map(|diagnostic| diagnostic.code).collect::<Vec<_>>();
            (reader.array().map(|_| ()).unwrap_err(), codes)
        };
        let mut metadata = good.to_json();
        metadata["shape"] = json!([3]);
        let (error, diagnostics) = with(&metadata);
        assert_eq!(
            error.to_string(),
            "shape: [3] of <u2 takes 6 bytes, but the data has 8 (offset 32)"
        );
        assert_eq!(diagnostics, [Code::Array]);
        metadata["dtype"] = json!("|O");
        let (error, diagnostics) = with(&metadata);
        assert!(matches!(error.kind(), ErrorKind::ObjectDtype));
        assert_eq!(diagnostics, [Code::Array]);
        // Metadata that does not describe an array is not compared with the data.
        let (error, diagnostics) = with(&json!([1]));
        assert!(matches!(error.kind(), ErrorKind::NotNumpy(_)));
        assert_eq!(diagnostics, []);
        let bare = TestFile::of(&[&[0; 8]]);
        let error = open(&bare).array().map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "not a numpy array: the file has no metadata");
    }

    #[test]
    fn reading_elements_that_exceed_the_limit_on_decoded_data_fails() {
        let info = info("<u2", &[100], Order::C);
        let bytes = file(&info, &[0; 200], 100).bytes();
        let limits = binio::Limits::default().max_decoded(199);
        let reader = OpenOptions::new().limits(limits).from_bytes(bytes).unwrap();
        let array = reader.array().unwrap();
        assert!(matches!(array.read::<u16>().unwrap_err().kind(), ErrorKind::Limit { .. }));
        assert_eq!(array.rows(0..99).unwrap().read::<u16>().unwrap().len(), 99);
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn ndarrays_keep_the_element_order_of_the_file() {
        for order in [Order::C, Order::F] {
            let info = info("|u1", &[2, 3], order);
            let reader = open(&file(&info, &[0, 1, 2, 3, 4, 5], 4));
            let array = reader.array().unwrap().to_ndarray::<u8>().unwrap();
            assert_eq!(array.shape(), [2, 3]);
            assert_eq!(array.is_standard_layout(), order == Order::C);
            assert_eq!(u64::from(array[[1, 2]]), place(&[1, 2], &[2, 3], order));
            let column = reader.array().unwrap().slice(&Slice::parse("::-1, 1").unwrap()).unwrap();
            let column = column.to_ndarray::<u8>().unwrap();
            assert_eq!(u64::from(column[[0]]), place(&[1, 1], &[2, 3], order));
        }
        let scalar = info("<f8", &[], Order::C);
        let reader = open(&file(&scalar, &[0; 8], 8));
        assert_eq!(reader.array().unwrap().to_ndarray::<f64>().unwrap().ndim(), 0);
    }
}
