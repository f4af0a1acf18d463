//! Reading the elements of arrays.

use asdf::ndarray::ArrayError;
use asdf::ndarray::{ByteOrder, Order, Origin};
use asdf::{Asdf, ErrorKind};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use half::f16;
use num_complex::Complex;

use super::{a, array, block, bytes_of, file, node, rejection, unmapped};

fn float64(values: &[f64], byteorder: &str) -> (String, Vec<u8>) {
    let bytes = match byteorder {
        "big" => values.iter().flat_map(|v| v.to_be_bytes()).collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    let shape = values.len();
    (a(&format!("datatype: float64, byteorder: {byteorder}, shape: [{shape}]")), bytes)
}

#[test]
fn numbers_in_both_byte_orders_are_read_correctly() {
    for byteorder in ["little", "big"] {
        let (tree, data) = float64(&[1.0, -2.5, f64::INFINITY], byteorder);
        let file = file(&tree, &[&data]);
        let array = array(&file, "/a");
        assert_eq!(array.read::<f64>().unwrap(), [1.0, -2.5, f64::INFINITY]);
        assert_eq!(&*array.view::<f64>().unwrap(), [1.0, -2.5, f64::INFINITY]);
        let mut out = [0.0; 3];
        array.read_into(&mut out).unwrap();
        assert_eq!(out, [1.0, -2.5, f64::INFINITY]);
    }
}

#[test]
fn numeric_types_are_read_as_their_rust_types() {
    let data: Vec<u8> = (1..=32).collect();
    let read = |datatype: &str| {
        file(&a(&format!("datatype: {datatype}, byteorder: big, shape: [2]")), &[&data])
    };
    assert_eq!(array(&read("int8"), "/a").read::<i8>().unwrap(), [1, 2]);
    assert_eq!(array(&read("uint8"), "/a").read::<u8>().unwrap(), [1, 2]);
    assert_eq!(array(&read("int16"), "/a").read::<i16>().unwrap(), [0x102, 0x304]);
    assert_eq!(array(&read("uint16"), "/a").read::<u16>().unwrap(), [0x102, 0x304]);
    assert_eq!(array(&read("int32"), "/a").read::<i32>().unwrap(), [0x102_0304, 0x506_0708]);
    assert_eq!(array(&read("uint32"), "/a").read::<u32>().unwrap(), [0x102_0304, 0x506_0708]);
    assert_eq!(array(&read("int64"), "/a").read::<i64>().unwrap()[0], 0x102_0304_0506_0708);
    assert_eq!(array(&read("uint64"), "/a").read::<u64>().unwrap()[0], 0x102_0304_0506_0708);
    assert_eq!(array(&read("float16"), "/a").read::<f16>().unwrap()[0], f16::from_bits(0x102));
    let single = |bits| f32::from_bits(bits);
    assert_eq!(array(&read("float32"), "/a").read::<f32>().unwrap()[0], single(0x102_0304));
    assert_eq!(
        array(&read("complex64"), "/a").read::<Complex<f32>>().unwrap()[0],
        Complex::new(single(0x102_0304), single(0x506_0708))
    );
    assert_eq!(
        array(&read("complex128"), "/a").read::<Complex<f64>>().unwrap()[1],
        Complex::new(f64::from_bits(0x1112_1314_1516_1718), f64::from_bits(0x191a_1b1c_1d1e_1f20))
    );
}

#[test]
fn any_nonzero_byte_of_a_boolean_array_reads_as_true() {
    let file = file(&a("datatype: bool8, byteorder: big, shape: [3]"), &[&[0, 1, 7]]);
    let array = array(&file, "/a");
    assert_eq!(array.read::<bool>().unwrap(), [false, true, true]);
    assert_eq!(&*array.view::<bool>().unwrap(), [false, true, true]);
    assert_eq!(array.read::<u8>().unwrap(), [0, 1, 7]);
}

#[test]
fn reading_elements_as_a_type_other_than_their_own_is_an_error() {
    let file = file(&a("datatype: int16, byteorder: big, shape: [1]"), &[&[0, 1]]);
    let error = array(&file, "/a").read::<i32>().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Array { kind: ArrayError::Type { requested: "i32", .. }, .. }
    ));
    assert!(array(&file, "/a").strings().is_err());
    assert!(array(&file, "/a").field("x").is_err());
}

#[test]
fn reading_into_a_buffer_of_the_wrong_length_is_an_error() {
    let file = file(&a("datatype: int8, byteorder: big, shape: [2]"), &[&[0, 1]]);
    let error = array(&file, "/a").read_into(&mut [0_i8; 3]).unwrap_err();
    let ArrayError::BufferSize { expected: 2, found: 3 } = (match error.kind() {
        ErrorKind::Array { kind, .. } => kind,
        other => panic!("{other}"),
    }) else {
        panic!("another error")
    };
}

#[test]
fn bytes_are_returned_in_the_requested_byte_order() {
    let tree = a("datatype: [{name: n, datatype: uint16}, {name: c, datatype: complex64, \
                  byteorder: big}, {name: u, datatype: [ucs4, 1]}], byteorder: little, shape: [1]");
    let stored: Vec<u8> = (1..=14).collect();
    let file = file(&tree, &[&stored]);
    let array = array(&file, "/a");
    assert_eq!(array.read_bytes(Order::C, ByteOrder::Stored).unwrap(), stored);
    assert_eq!(
        array.read_bytes(Order::C, ByteOrder::Little).unwrap(),
        [1, 2, 6, 5, 4, 3, 10, 9, 8, 7, 11, 12, 13, 14]
    );
    assert_eq!(
        array.read_bytes(Order::C, ByteOrder::Big).unwrap(),
        [2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 14, 13, 12, 11]
    );
}

#[test]
fn a_view_of_aligned_data_shares_the_memory_of_the_file() {
    let native = if cfg!(target_endian = "big") { "big" } else { "little" };
    let tree = a(&format!("datatype: uint32, byteorder: {native}, shape: [4]"));
    let values = [1_u32, 2, 3, 4].map(u32::to_ne_bytes).concat();
    let mut bytes = bytes_of(&tree, &[&values]);
    // Line feeds at the end of the tree move the data to an aligned offset.
    let padding = (4 - bytes.len() % 4) % 4;
    let end = bytes.windows(4).position(|w| w == b"...\n").unwrap();
    bytes.splice(end..end, std::iter::repeat_n(b'\n', padding));
    let memory = binio::Bytes::from(bytes);
    let file = Asdf::from_bytes(memory.clone()).unwrap();
    let view = array(&file, "/a").view::<u32>().unwrap();
    assert_eq!(&*view, [1, 2, 3, 4]);
    assert!(view.is_borrowed());
    let start = memory.as_ptr() as usize;
    assert!((start..start + memory.len()).contains(&(view.as_ptr() as usize)));
    assert_eq!(view.clone().into_vec(), [1, 2, 3, 4]);
    // A view of strided elements cannot share the memory of the file.
    let part = array(&file, "/a").slice(&asdf::ndarray::Slice::parse("::2").unwrap()).unwrap();
    assert!(!part.view::<u32>().unwrap().is_borrowed());
}

#[test]
fn elements_at_any_alignment_can_be_viewed() {
    let tree = a("datatype: uint16, byteorder: little, shape: [2], offset: 1");
    for extra in ["", " "] {
        let file = file(&format!("{tree}{extra}"), &[&[9, 1, 0, 2, 0]]);
        assert_eq!(&*array(&file, "/a").view::<u16>().unwrap(), [1, 2]);
    }
}

#[test]
fn an_array_in_a_compressed_block_can_be_read_and_sliced_and_written_as_npy() {
    let values: Vec<i32> = (0..10_000).collect();
    let data: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut encoder, &data).unwrap();
    let tree = a("datatype: int32, byteorder: big, shape: [100, 100]");
    let mut bytes = bytes_of(&tree, &[]);
    bytes.extend(block(*b"zlib", &encoder.finish().unwrap(), data.len()));
    let file = Asdf::from_bytes(bytes).unwrap();
    let array = array(&file, "/a");
    assert_eq!(array.read::<i32>().unwrap(), values);
    let part = array.slice(&asdf::ndarray::Slice::parse("99,::-50").unwrap()).unwrap();
    assert_eq!(part.read::<i32>().unwrap(), [9999, 9949]);
    let mut npy = Vec::new();
    array.write_npy(&mut npy).unwrap();
    assert_eq!(npy[npy.len() - data.len()..], data);
}

#[test]
fn reading_strings_removes_only_trailing_zeros() {
    let ascii = file(&a("datatype: [ascii, 3], byteorder: big, shape: [3]"), &[b"ab\0\0a\0abc"]);
    assert_eq!(array(&ascii, "/a").strings().unwrap(), ["ab", "\0a", "abc"]);
    let points = ['é', '\0', '\0', '😀'].map(|c| u32::from(c).to_be_bytes()).concat();
    let ucs4 = file(&a("datatype: [ucs4, 2], byteorder: big, shape: [2]"), &[&points]);
    assert_eq!(array(&ucs4, "/a").strings().unwrap(), ["é", "\0😀"]);
    assert_eq!(array(&ucs4, "/a").read::<u32>().unwrap(), [0xe9, 0, 0, 0x1_f600]);
    let empty = file(&a("datatype: [ascii, 0], byteorder: big, shape: [2]"), &[b""]);
    assert_eq!(array(&empty, "/a").strings().unwrap(), ["", ""]);
}

#[test]
fn reading_invalid_text_reports_the_index_of_the_element() {
    let bytes = file(&a("datatype: [ascii, 2], byteorder: big, shape: [2]"), &[b"ab\xe9c"]);
    let error = array(&bytes, "/a").strings().unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Array { kind: ArrayError::Element { index: 1, .. }, .. }
    ));
    assert_eq!(array(&bytes, "/a").read::<u8>().unwrap(), b"ab\xe9c");
    for point in [0xd800_u32, 0x11_0000] {
        let tree = a("datatype: [ucs4, 1], byteorder: little, shape: [1]");
        let file = file(&tree, &[&point.to_le_bytes()]);
        assert!(array(&file, "/a").strings().is_err());
        assert_eq!(array(&file, "/a").read::<u32>().unwrap(), [point]);
    }
}

#[test]
fn an_npy_file_contains_the_stored_bytes_in_c_order() {
    let tree = a("datatype: int16, byteorder: big, shape: [2, 2], strides: [2, 4]");
    let file = file(&tree, &[&[0, 1, 0, 2, 0, 3, 0, 4]]);
    let mut npy = Vec::new();
    array(&file, "/a").write_npy(&mut npy).unwrap();
    let text = String::from_utf8_lossy(&npy[10..128]).into_owned();
    assert!(text.starts_with("{'descr': '>i2', 'fortran_order': False, 'shape': (2, 2), }"));
    assert_eq!(npy[128..], [0, 1, 0, 3, 0, 2, 0, 4]);
}

#[test]
fn an_npy_file_is_written_in_pieces_of_at_most_one_mebibyte() {
    struct Pieces(Vec<usize>);
    impl std::io::Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for datatype in ["int64, shape: [3, 1000, 1000]", "[ascii, 24000000], shape: [1]"] {
        let tree = a(&format!("datatype: {datatype}, byteorder: big"));
        let file = file(&tree, &[&vec![7; 24_000_000]]);
        let mut pieces = Pieces(Vec::new());
        array(&file, "/a").write_npy(&mut pieces).unwrap();
        assert_eq!(pieces.0.iter().sum::<usize>(), 24_000_128);
        assert!(pieces.0.iter().all(|&len| len <= 1 << 20), "{datatype}");
        assert!(pieces.0.len() < 40, "{datatype}");
    }
}

#[test]
fn an_array_reports_whether_its_elements_are_in_a_block_or_inline() {
    let tree = "a: !core/ndarray-1.1.0 {source: -2, datatype: int8, byteorder: big, shape: [1]}\n\
                b: [1]\n";
    let file = file(tree, &[&[5], &[6]]);
    assert!(matches!(array(&file, "/a").source(), Origin::Block(block) if block.index() == 0));
    assert!(matches!(array(&file, "/b").source(), Origin::Inline));
    assert_eq!(array(&file, "/a").read::<i8>().unwrap(), [5]);
    assert_eq!(array(&file, "/a").datatype().to_string(), "|i1");
}

#[test]
fn reading_an_array_in_a_missing_block_is_an_error() {
    for source in ["1", "-2", "9223372036854775807", "-9223372036854775808"] {
        let keys = format!("source: {source}, datatype: int8, byteorder: big, shape: [1]");
        let file = file(&format!("a: !core/ndarray-1.1.0 {{{keys}}}"), &[&[5]]);
        assert!(rejection(&file).contains("the block does not exist"), "{source}");
    }
}

#[test]
fn an_array_in_a_streamed_block_contains_every_complete_row() {
    let tree = a("datatype: int16, byteorder: big, shape: ['*', 2]");
    let mut bytes = bytes_of(&tree, &[&[0, 1, 0, 2, 0, 3, 0, 4, 0]]);
    let flags = bytes.windows(4).position(|w| w == b"\xd3BLK").unwrap() + 9;
    bytes[flags] = 1;
    let file = Asdf::from_bytes(bytes).unwrap();
    assert_eq!(array(&file, "/a").shape(), [2, 2]);
    assert_eq!(array(&file, "/a").read::<i16>().unwrap(), [1, 2, 3, 4]);
    let codes: Vec<_> = file.diagnostics().iter().map(|d| d.code).collect();
    assert_eq!(codes, [asdf::diagnostic::Code::PartialRow]);
}

#[test]
fn the_length_of_an_open_dimension_depends_on_the_offset_and_the_stride() {
    let data: Vec<u8> = (0..64).collect();
    let rows = |keys: &str| {
        let tree = a(&format!("datatype: uint8, byteorder: big, shape: ['*'], {keys}"));
        let file = file(&tree, &[&data]);
        array(&file, "/a").read::<u8>().unwrap()
    };
    assert_eq!(rows("offset: 60"), [60, 61, 62, 63]);
    assert_eq!(rows("strides: [16]"), [0, 16, 32, 48]);
    assert_eq!(rows("offset: 100"), [0; 0]);
    for keys in ["strides: [0]", "strides: [-1], offset: 63"] {
        let tree = a(&format!("datatype: uint8, byteorder: big, shape: ['*'], {keys}"));
        assert!(rejection(&file(&tree, &[&data])).contains("positive stride"));
    }
}

#[test]
fn untagged_mappings_and_nodes_with_an_unknown_tag_are_read_as_arrays_only_on_request() {
    let tree = "a: !core/ndarray-9.0.0 {data: [1, 2]}\nb: !foo [1]\nc: {data: [1]}\nd: [1, 2]";
    let file = file(tree, &[]);
    for pointer in ["/a", "/b", "/c"] {
        assert!(node(&file, pointer).ndarray().is_err(), "{pointer}");
        assert!(node(&file, pointer).ndarray_forced().is_ok(), "{pointer}");
    }
    assert_eq!(array(&file, "/d").read::<i64>().unwrap(), [1, 2]);
}

#[test]
fn reading_a_part_of_an_array_reads_only_the_bytes_of_that_part() {
    let data: Vec<u8> = (0..=255).cycle().take(100 * 8000).collect();
    let tree = a("datatype: float64, byteorder: big, shape: [100, 1000]");
    let bytes = bytes_of(&tree, &[&data]);
    let start = (bytes.len() - data.len()) as u64;
    let (file, log) = unmapped(bytes);
    let tile =
        array(&file, "/a").slice(&asdf::ndarray::Slice::parse("10:12,5:7").unwrap()).unwrap();
    log.clear();
    let read = tile.read::<f64>().unwrap();
    assert_eq!(log.ranges(), [start + 80_040..start + 80_056, start + 88_040..start + 88_056]);
    let expected = [80_040, 80_048, 88_040, 88_048]
        .map(|at: usize| f64::from_be_bytes(data[at..at + 8].try_into().unwrap()));
    assert_eq!(read, expected);
}

#[cfg(feature = "ndarray")]
#[test]
fn converting_an_array_to_the_ndarray_crate_keeps_its_shape() {
    let file = file(&a("datatype: int8, byteorder: big, shape: [2, 3]"), &[&[1, 2, 3, 4, 5, 6]]);
    let array = array(&file, "/a").to_ndarray::<i8>().unwrap();
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array[[1, 0]], 4);
}

#[test]
fn reading_a_large_transposed_array_keeps_the_order_of_its_elements() {
    // 100 MiB of big-endian uint32, transposed: element (i, j) is j * ROWS + i.
    const ROWS: u32 = 5000;
    const COLUMNS: u32 = 5300;
    let data: Vec<u8> = (0..ROWS * COLUMNS).flat_map(u32::to_be_bytes).collect();
    let shape = format!("shape: [{ROWS}, {COLUMNS}], strides: [4, {}]", ROWS * 4);
    let file = file(&a(&format!("datatype: uint32, byteorder: big, {shape}")), &[&data]);
    let whole = array(&file, "/a").read::<u32>().unwrap();
    let expected = (0..ROWS).flat_map(|i| (0..COLUMNS).map(move |j| j * ROWS + i));
    assert!(whole.into_iter().eq(expected));
}
