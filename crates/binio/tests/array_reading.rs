//! Compares reading and writing elements with a naive model, which computes the position of each
//! element from the definition of strides.

#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use binio::array::{
    Access, Array, ByteOrder, Data, Datatype, ElementsError, Field, Order, Record, Strided,
    write_bytes, write_ranges,
};
use binio::source::ReadLog;
use binio::{Bytes, Endian, Limits};
use proptest::prelude::*;

const LEN: usize = 1 << 11;

/// Returns `len` bytes that repeat the values from 0 to 250.
fn bytes(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap()
}

/// Returns the offsets of the elements in C order.
fn places(array: &Strided) -> Vec<usize> {
    let mut places = vec![i64::try_from(array.offset()).unwrap()];
    for (&count, &stride) in array.shape().iter().zip(array.strides()) {
        let count = i64::try_from(count).unwrap();
        places = places.iter().flat_map(|p| (0..count).map(move |i| p + i * stride)).collect();
    }
    places.into_iter().map(|place| usize::try_from(place).unwrap()).collect()
}

/// Converts the numbers in an element to the byte order `wanted`.
fn to_order(datatype: &Datatype, wanted: Endian, element: &mut [u8]) {
    match datatype {
        Datatype::Scalar(scalar) if scalar.endian() != wanted && scalar.component_width() > 1 => {
            element.chunks_exact_mut(scalar.component_width()).for_each(<[u8]>::reverse);
        }
        Datatype::Scalar(_) => {}
        Datatype::Record(record) => {
            for field in record.fields() {
                let part = &mut element[size(field.offset())..][..size(field.size())];
                let itemsize = size(field.datatype().itemsize()).max(1);
                for item in part.chunks_exact_mut(itemsize) {
                    to_order(field.datatype(), wanted, item);
                }
            }
        }
    }
}

fn naive(data: &[u8], array: &Strided, datatype: &Datatype, wanted: Option<Endian>) -> Vec<u8> {
    let item = size(array.itemsize());
    let elements = places(array).into_iter().flat_map(|place| {
        let mut element = data[place..place + item].to_vec();
        if let Some(wanted) = wanted {
            to_order(datatype, wanted, &mut element);
        }
        element
    });
    elements.collect()
}

/// Data that must be decoded as a whole, even for a small read.
struct Whole(Bytes);

impl Data for Whole {
    type Error = ElementsError;

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> Result<(), ElementsError> {
        out.copy_from_slice(&self.0[size(offset)..][..out.len()]);
        Ok(())
    }

    fn bytes_at(&self, range: std::ops::Range<u64>) -> Result<Bytes, ElementsError> {
        Ok(self.0.slice(size(range.start)..size(range.end)))
    }

    fn access(&self) -> Access {
        Access::Whole
    }
}

/// Data in small compressed blocks. Reads use small pieces and skip gaps of 16 bytes or more.
struct Blocks<'l>(&'l ReadLog<Bytes>);

impl Data for Blocks<'_> {
    type Error = binio::Error;

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> binio::Result<()> {
        binio::ReadAt::read_exact_at(self.0, out, offset)
    }

    fn bytes_at(&self, range: std::ops::Range<u64>) -> binio::Result<Bytes> {
        binio::ReadAt::bytes_at(self.0, range.start, size(range.end - range.start))
    }

    fn access(&self) -> Access {
        Access::Ranges { gap: 16, piece: 64 }
    }
}

fn datatypes() -> impl Strategy<Value = Datatype> {
    let texts = prop::sample::select(vec![
        "|u1", "<i2", ">i2", ">f4", "<f8", ">f8", ">c8", "<c16", ">c16", "<U3", ">U1", "|S5",
        "|V3", ">M8[s]", "<f16", ">c32", "|S0",
    ]);
    let scalar = texts.prop_map(|text| Datatype::parse(text).unwrap());
    scalar.prop_recursive(2, 8, 4, |inner| {
        let field = (inner, prop::collection::vec(1..3_u64, 0..3), 0..3_u64);
        (prop::collection::vec(field, 0..4), 0..3_u64).prop_map(|(fields, tail)| {
            let mut end = 0;
            let field = |(i, (datatype, shape, gap)): (usize, (Datatype, Vec<u64>, u64))| {
                let field = Field::new(format!("f{i}"), datatype).with_shape(shape).at(end + gap);
                end += gap + field.size();
                field
            };
            let fields = fields.into_iter().enumerate().map(field).collect();
            Record::new(fields, end + tail).unwrap().into()
        })
    })
}

/// Generates the type and the layout of an array inside the data. The elements of the array may
/// overlap, be in reverse order, and have gaps between them.
fn any_array() -> impl Strategy<Value = (Datatype, Strided)> {
    (datatypes(), prop::collection::vec((0..6_u64, -20..=20_i64), 0..4)).prop_filter_map(
        "inside the data",
        |(datatype, axes)| {
            let (shape, strides) = axes.into_iter().unzip();
            let itemsize = datatype.itemsize();
            let array = Strided::new(shape, strides, 1 << 10, itemsize, LEN as u64).ok()?;
            Some((datatype, array))
        },
    )
}

/// Generates the type and the layout of an array whose elements do not overlap. The strides of the
/// axes are in any order, some are negative, and some leave gaps.
fn disjoint_array() -> impl Strategy<Value = (Datatype, Strided)> {
    let axis = (1..5_u64, 0..3_u64, any::<bool>());
    (datatypes(), prop::collection::vec(axis, 0..4))
        .prop_flat_map(|(datatype, axes)| {
            let order: Vec<usize> = (0..axes.len()).collect();
            (Just(datatype), Just(axes), Just(order).prop_shuffle())
        })
        .prop_filter_map("inside the data", |(datatype, axes, order)| {
            let itemsize = datatype.itemsize();
            let (mut strides, mut span, mut offset) = (vec![0; axes.len()], itemsize, 3);
            for place in order {
                let (count, gap, is_backward) = axes[place];
                let stride = span + gap;
                let reach = stride * (count - 1);
                strides[place] = i64::try_from(stride).unwrap();
                if is_backward {
                    offset += reach;
                    strides[place] = -strides[place];
                }
                span += reach;
            }
            let shape = axes.iter().map(|axis| axis.0).collect();
            let array = Strided::new(shape, strides, offset, itemsize, LEN as u64).ok()?;
            Some((datatype, array))
        })
}

fn orders() -> impl Strategy<Value = (ByteOrder, Option<Endian>)> {
    prop::sample::select(vec![
        (ByteOrder::Stored, None),
        (ByteOrder::Little, Some(Endian::Little)),
        (ByteOrder::Big, Some(Endian::Big)),
        (ByteOrder::Native, Some(Endian::NATIVE)),
    ])
}

fn array<D: Data>(data: D, datatype: &Datatype, layout: &Strided) -> Array<D> {
    Array::new(data, datatype.clone(), layout.clone(), Limits::default()).unwrap()
}

proptest! {
    #[test]
    fn elements_read_from_any_kind_of_data_match_a_naive_loop(
        (datatype, layout) in any_array(),
        (numbers, wanted) in orders(),
        is_fortran in any::<bool>(),
    ) {
        let data = Bytes::from(bytes(LEN));
        let (order, axes) =
            if is_fortran { (Order::F, layout.transpose()) } else { (Order::C, layout.clone()) };
        let expected = naive(&data, &axes, &datatype, wanted);
        let log = ReadLog::new(data.clone());
        let memory = array(data.clone(), &datatype, &layout);
        prop_assert_eq!(&memory.read_bytes(order, numbers).unwrap(), &expected);
        let whole = array(Whole(data), &datatype, &layout);
        prop_assert_eq!(&whole.read_bytes(order, numbers).unwrap(), &expected);
        let file = array(&log, &datatype, &layout);
        prop_assert_eq!(&file.read_bytes(order, numbers).unwrap(), &expected);
        let blocks = array(Blocks(&log), &datatype, &layout);
        let mut out = vec![7; expected.len()];
        blocks.read_bytes_into(&mut out, order, numbers).unwrap();
        prop_assert_eq!(&out, &expected);
        for range in log.ranges() {
            prop_assert!(range.start >= layout.extent().start && range.end <= layout.extent().end);
        }
        prop_assert!(!expected.is_empty() || log.ranges().is_empty());
        // Read the elements in pieces, in their stored byte order.
        let stored = naive(memory.data(), &axes, &datatype, None);
        for max in [1, 7, 100] {
            for whole_elements in [false, true] {
                let mut found = Vec::new();
                let add = |piece: &[u8]| {
                    assert!(piece.len() <= max.max(if whole_elements { size(layout.itemsize()) } else { 0 }));
                    found.extend_from_slice(piece);
                    Ok(())
                };
                blocks.for_each_piece(order, max as u64, whole_elements, add).unwrap();
                prop_assert_eq!(&found, &stored);
            }
        }
    }

    #[test]
    fn written_elements_can_be_read_back_and_all_other_bytes_are_unchanged(
        (datatype, layout) in disjoint_array(),
        (numbers, _) in orders(),
        is_fortran in any::<bool>(),
    ) {
        let order = if is_fortran { Order::F } else { Order::C };
        let packed = bytes(size(layout.byte_size().unwrap()));
        let mut data = vec![255; LEN];
        write_bytes(&layout, &datatype, &packed, order, numbers, &mut data).unwrap();
        let read = array(Bytes::from(data.clone()), &datatype, &layout);
        prop_assert_eq!(read.read_bytes(order, numbers).unwrap(), packed.clone());
        let mut elsewhere: Vec<bool> = vec![true; LEN];
        for place in places(&layout) {
            elsewhere[place..place + size(layout.itemsize())].fill(false);
        }
        for (byte, is_elsewhere) in data.iter().zip(elsewhere) {
            prop_assert!(!is_elsewhere || *byte == 255);
        }
        let mut ranges = vec![255; LEN];
        let write = |offset: u64, bytes: &[u8]| {
            ranges[size(offset)..][..bytes.len()].copy_from_slice(bytes);
            Ok::<_, ElementsError>(())
        };
        write_ranges(&layout, &datatype, &packed, order, numbers, write).unwrap();
        prop_assert_eq!(ranges, data);
    }

    #[test]
    fn transposing_twice_or_reshaping_keeps_the_offset_of_each_element(
        shape in prop::collection::vec(1..5_u64, 0..4),
        cut in 1..5_u64,
    ) {
        let len = shape.iter().product::<u64>();
        let layout = Strided::packed(shape.clone(), Order::C, 0, 1, len).unwrap();
        prop_assert_eq!(&layout.transpose().transpose(), &layout);
        prop_assert_eq!(places(&layout.reshape(&[len]).unwrap()), places(&layout));
        if len % cut == 0 {
            let other = layout.reshape(&[cut, 1, len / cut]).unwrap();
            prop_assert_eq!(places(&other), places(&layout));
            prop_assert_eq!(other.reshape(&shape).unwrap().extent(), layout.extent());
        }
        // Reshape arrays with gaps, and transposed arrays if possible. The offsets of the elements
        // must not change.
        let every_second = Strided::new(
            layout.shape().to_vec(),
            layout.strides().iter().map(|stride| 2 * stride).collect(),
            0, 1, 2 * len,
        ).unwrap();
        prop_assert_eq!(places(&every_second.reshape(&[len]).unwrap()), places(&every_second));
        if let Ok(reshaped) = layout.transpose().reshape(&[len]) {
            prop_assert_eq!(places(&reshaped), places(&layout.transpose()));
        }
    }
}

/// Reads part of a float64 array that begins at byte 10, and returns the byte ranges that are read
/// from the source.
fn reads(shape: &[u64], slices: &str) -> Vec<std::ops::Range<u64>> {
    let len: u64 = shape.iter().product::<u64>() * 8 + 10;
    let data = bytes(size(len));
    let datatype = Datatype::parse("<f8").unwrap();
    let layout = Strided::packed(shape.to_vec(), Order::C, 10, 8, len).unwrap();
    let layout = layout.slice(&binio::array::Slice::parse(slices).unwrap()).unwrap();
    let source = ReadLog::new(Bytes::from(data.clone()));
    let expected = naive(&data, &layout, &datatype, None);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let read = || array(&source, &datatype, &layout).read_bytes(Order::C, ByteOrder::Stored);
    assert!(pool.install(read).unwrap() == expected, "{shape:?} {slices}");
    source.ranges()
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "one read is a list of one range")]
fn distant_rows_are_read_separately_but_close_rows_are_read_together() {
    assert_eq!(reads(&[100, 1000], "0:2,0:10"), [10..90, 8010..8090]);
    assert_eq!(reads(&[100, 1000], "::-99,5"), [792_050..792_058, 50..58]);
    assert_eq!(reads(&[100, 100], "0:2,0:10"), [10..890]);
    assert_eq!(reads(&[10, 1000], ":,::-2"), [18..80_010]);
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "one read is a list of one range")]
fn contiguous_elements_are_read_in_a_single_range() {
    assert_eq!(reads(&[100, 1000], "3:5"), [24_010..40_010]);
    assert_eq!(reads(&[100, 1000], "3,7"), [24_066..24_074]);
    assert_eq!(reads(&[0, 5], ":"), []);
}

#[test]
fn large_ranges_are_read_in_pieces_of_at_most_1_mib() {
    // The selected elements extend over 2,399,992 of the 2,400,000 bytes.
    let ranges = reads(&[300_000], "::2");
    assert_eq!(ranges, [10..1_048_578, 1_048_586..2_097_154, 2_097_162..2_400_002]);
}

#[test]
fn reading_large_arrays_on_several_threads_matches_a_naive_loop() {
    let len = 6_000_000;
    let data = Bytes::from(bytes(size(len)));
    let datatype = Datatype::parse(">f8").unwrap();
    let other = if Endian::NATIVE == Endian::Big { ByteOrder::Little } else { ByteOrder::Big };
    let log = ReadLog::new(data.clone());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for (shape, slices) in [
        (&[750, 1000][..], ":"),
        (&[750, 1000], "::-1, ::2"),
        (&[7, 107, 1000], ":, ::3"),
        (&[2, 375_000], ":, ::-1"),
    ] {
        let count: u64 = shape.iter().product();
        let layout = Strided::packed(shape.to_vec(), Order::C, 0, 8, count * 8).unwrap();
        let layout = layout.slice(&binio::array::Slice::parse(slices).unwrap()).unwrap();
        for layout in [layout.transpose(), layout] {
            let expected = naive(&data, &layout, &datatype, Some(Endian::Little));
            for numbers in [ByteOrder::Little, ByteOrder::Native, other] {
                let wanted = if numbers == other { None } else { Some(()) };
                let memory = array(data.clone(), &datatype, &layout);
                let file = array(&log, &datatype, &layout);
                let found = pool.install(|| {
                    let memory = memory.read_bytes(Order::C, numbers).unwrap();
                    assert!(file.read_bytes(Order::C, numbers).unwrap() == memory);
                    memory
                });
                if wanted.is_some() && Endian::NATIVE == Endian::Little {
                    assert!(found == expected, "{shape:?} {slices}");
                }
            }
        }
    }
}

#[test]
fn contiguous_numbers_are_read_in_pieces_if_their_byte_order_changes() {
    let data = bytes(3 << 20);
    let len = data.len() as u64;
    let layout = Strided::packed(vec![len / 8 - 1], Order::C, 8, 8, len).unwrap();
    let source = ReadLog::new(Bytes::from(data.clone()));
    let datatype = Datatype::parse(">f8").unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let read = || array(&source, &datatype, &layout).read_bytes(Order::C, ByteOrder::Little);
    let out = pool.install(read).unwrap();
    assert!(out == naive(&data, &layout, &datatype, Some(Endian::Little)));
    assert_eq!(source.ranges().len(), 3);
}

#[test]
#[allow(clippy::single_range_in_vec_init, reason = "one read is a list of one range")]
fn gaps_at_least_as_long_as_a_block_are_not_read() {
    let source = ReadLog::new(Bytes::from(bytes(200)));
    let datatype = Datatype::parse("<u2").unwrap();
    // First use gaps of 14 bytes, and then gaps of 16 bytes, which is the size of a block.
    for (stride, expected) in [(16, &[0..50][..]), (18, &[0..2, 18..20, 36..38, 54..56])] {
        let layout = Strided::new(vec![4], vec![stride], 0, 2, 200).unwrap();
        source.clear();
        array(Blocks(&source), &datatype, &layout).read::<u16>().unwrap();
        assert_eq!(source.ranges(), expected);
    }
}

#[test]
fn elements_are_borrowed_only_if_aligned_and_contiguous_and_in_native_byte_order() {
    let native = Datatype::of::<u32>();
    let data = Bytes::from(bytes(64));
    let aligned = data.as_ptr().align_offset(4) as u64;
    let layout = Strided::packed(vec![2, 3], Order::C, aligned, 4, 64).unwrap();
    let view = array(data.clone(), &native, &layout).view::<u32>().unwrap();
    assert!(view.is_borrowed());
    assert_eq!(view.to_vec(), array(data.clone(), &native, &layout).read::<u32>().unwrap());
    let copied = |datatype: &Datatype, layout: &Strided| {
        let view = array(data.clone(), datatype, layout).view::<u32>().unwrap();
        !view.is_borrowed()
    };
    assert!(copied(&native, &layout.transpose()));
    assert!(copied(&native, &Strided::packed(vec![2], Order::C, aligned + 1, 4, 64).unwrap()));
    let other = if Endian::NATIVE == Endian::Big { ByteOrder::Little } else { ByteOrder::Big };
    assert!(copied(&native.with_byte_order(other), &layout));
    let log = ReadLog::new(data.clone());
    assert!(!array(&log, &native, &layout).view::<u32>().unwrap().is_borrowed());
    let whole = array(Whole(data.clone()), &native, &layout).view::<u32>().unwrap();
    assert!(whole.is_borrowed());
}

#[test]
fn types_and_buffers_and_layouts_that_do_not_fit_an_array_are_rejected() {
    let data = Bytes::from(bytes(24));
    let datatype = Datatype::parse("<u4").unwrap();
    let layout = Strided::packed(vec![6], Order::C, 0, 4, 24).unwrap();
    let made = array(data.clone(), &datatype, &layout);
    let message = |error: binio::Error| error.to_string();
    assert_eq!(message(made.read::<i32>().unwrap_err()), "elements are <u4, not i32");
    assert_eq!(
        message(made.read_into(&mut [0_u32; 5]).unwrap_err()),
        "the buffer has 5 elements, expected 6"
    );
    let mut short = [0; 23];
    assert!(made.read_bytes_into(&mut short, Order::C, ByteOrder::Native).is_err());
    assert!(made.field("x").is_err());
    let wrong = Array::new(data.clone(), Datatype::of::<u8>(), layout.clone(), Limits::default());
    assert!(matches!(wrong.unwrap_err(), ElementsError::Datatype(_)));
    // The data is shorter than the length against which the layout was checked.
    let cut = array(data.slice(..20), &datatype, &layout);
    assert!(cut.read::<u32>().is_err() && cut.view::<u32>().is_err());
    // The limit applies to all elements, even if they repeat the same 4 bytes.
    let endless = Strided::new(vec![1 << 40], vec![0], 0, 4, 24).unwrap();
    let endless = array(data, &datatype, &endless);
    assert!(matches!(
        endless.read::<u32>().unwrap_err().kind(),
        binio::ErrorKind::Limit { limit, requested, .. } if limit < requested
    ));
    assert!(endless.write_npy(&mut std::io::sink(), Order::C).is_err());
    assert!(
        endless.write_elements(&mut std::io::sink(), binio::array::PrintStyle::Json, None).is_err()
    );
}

#[test]
fn writing_fails_if_elements_overlap_or_a_buffer_has_the_wrong_size() {
    let datatype = Datatype::parse("<u2").unwrap();
    let write = |layout: &Strided, packed: &[u8], data: &mut [u8]| {
        write_bytes(layout, &datatype, packed, Order::C, ByteOrder::Stored, data)
    };
    let repeated = Strided::new(vec![2], vec![1], 0, 2, 8).unwrap();
    assert!(matches!(write(&repeated, &[0; 4], &mut [0; 8]), Err(ElementsError::Overlap)));
    let layout = Strided::packed(vec![2], Order::C, 0, 2, 8).unwrap();
    assert!(matches!(write(&layout, &[0; 3], &mut [0; 8]), Err(ElementsError::BufferSize { .. })));
    assert!(matches!(write(&layout, &[0; 4], &mut [0; 3]), Err(ElementsError::Outside { .. })));
}

#[test]
fn writing_no_elements_accesses_no_bytes() {
    let none = Strided::new(vec![5, 0], vec![i64::MAX, i64::MIN], u64::MAX, 2, 8).unwrap();
    let datatype = Datatype::parse(">u2").unwrap();
    let never = |_: u64, _: &[u8]| -> Result<(), ElementsError> { panic!("nothing to write") };
    write_ranges(&none, &datatype, &[], Order::F, ByteOrder::Little, never).unwrap();
    write_bytes(&none, &datatype, &[], Order::F, ByteOrder::Little, &mut []).unwrap();
}

#[test]
fn any_nonzero_byte_reads_as_true() {
    let layout = Strided::packed(vec![3], Order::C, 0, 1, 3).unwrap();
    let made = array(Bytes::from_static(&[0, 1, 7]), &Datatype::parse("|b1").unwrap(), &layout);
    let expected = [false, true, true];
    assert_eq!(made.read::<bool>().unwrap(), expected);
    assert_eq!(*made.view::<bool>().unwrap(), expected);
    let mut out = [true; 3];
    made.read_into(&mut out).unwrap();
    assert_eq!(out, expected);
    assert_eq!(made.read::<u8>().unwrap(), [0, 1, 7]);
}

#[test]
fn npy_files_are_written_in_the_requested_order_with_a_matching_header() {
    let layout = Strided::packed(vec![2, 3], Order::C, 1, 2, 13).unwrap();
    let made = array(Bytes::from(bytes(13)), &Datatype::parse(">u2").unwrap(), &layout);
    for (order, elements) in [
        (Order::C, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        (Order::F, [1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12]),
    ] {
        let mut out = Vec::new();
        made.write_npy(&mut out, order).unwrap();
        assert_eq!(out[128..], elements);
        let (header, start) = binio::array::npy::Header::read(&out).unwrap();
        assert_eq!((header.shape(), header.order(), start), (&[2, 3][..], order, 128));
        assert_eq!(header.datatype(), made.datatype());
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn ndarrays_have_the_requested_element_order() {
    let layout = Strided::packed(vec![2, 3], Order::C, 0, 1, 6).unwrap();
    let made = array(Bytes::from(bytes(6)), &Datatype::of::<u8>(), &layout);
    for order in [Order::C, Order::F] {
        let found = made.to_ndarray::<u8>(order).unwrap();
        assert_eq!((found.shape(), found[[1, 2]], found[[0, 1]]), (&[2, 3][..], 5, 1));
        assert_eq!(found.is_standard_layout(), order == Order::C);
    }
    let texts = Strided::packed(vec![2], Order::C, 0, 3, 6).unwrap();
    let texts = array(Bytes::from(bytes(6)), &Datatype::parse("|S3").unwrap(), &texts);
    assert_eq!(texts.to_ndarray::<u8>(Order::F).unwrap()[[1, 2]], 5);
}

#[test]
fn writing_swaps_bytes_even_if_an_element_is_larger_than_a_piece() {
    // Each element has 1.2 MB, but a piece has at most 1 MiB.
    let datatype = Datatype::parse(">U300000").unwrap();
    let len = 2 * datatype.itemsize();
    let layout = Strided::packed(vec![2], Order::C, 0, datatype.itemsize(), len).unwrap();
    let packed = bytes(size(len));
    let mut expected = packed.clone();
    expected.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    let mut written = vec![0; size(len)];
    let write = |offset: u64, bytes: &[u8]| {
        written[size(offset)..][..bytes.len()].copy_from_slice(bytes);
        Ok::<_, ElementsError>(())
    };
    write_ranges(&layout, &datatype, &packed, Order::C, ByteOrder::Little, write).unwrap();
    assert!(written == expected);
}
