//! Arrays with hostile shapes, offsets and strides. They must be rejected, or be read within
//! the limits.

use asdf::ndarray::{ByteOrder, Order};
use asdf::{Asdf, ErrorKind, OpenOptions};
use binio::Limits;

use super::{a, array, bytes_of, file, rejection};

#[test]
fn shapes_that_are_invalid_or_too_large_are_rejected() {
    let dimensions = vec!["1"; 10_000].join(", ");
    for shape in [
        "[4611686018427387904, 4]",
        "[9223372036854775807, 9223372036854775807]",
        "[18446744073709551616]",
        "[-1]",
        "[1.5]",
        &format!("[{dimensions}]"),
    ] {
        rejection(&file(
            &a(&format!("datatype: int16, byteorder: big, shape: {shape}")),
            &[&[0; 8]],
        ));
    }
}

#[test]
fn invalid_offsets_and_strides_are_rejected() {
    for keys in [
        "offset: 8",
        "offset: -1",
        "offset: 9223372036854775807",
        "offset: 18446744073709551615",
        "strides: [9223372036854775807]",
        "strides: [-9223372036854775808]",
        "strides: [-9223372036854775809]",
        "strides: [-1]",
        "strides: [8]",
        "strides: [1, 1]",
        "offset: 9223372036854775807, strides: [-9223372036854775807]",
    ] {
        rejection(&file(
            &a(&format!("datatype: int8, byteorder: big, shape: [2], {keys}")),
            &[&[0; 8]],
        ));
    }
}

#[test]
fn a_huge_array_with_overlapping_elements_can_only_be_read_in_parts() {
    let tree =
        a("datatype: int8, byteorder: big, shape: [1099511627776, 1048576], strides: [0, 0]");
    let file = file(&tree, &[&[7]]);
    let array = array(&file, "/a");
    assert_eq!(array.len(), 1 << 60);
    assert!(matches!(array.read::<i8>().unwrap_err().kind(), ErrorKind::Limit { .. }));
    assert!(matches!(array.view::<i8>().unwrap_err().kind(), ErrorKind::Limit { .. }));
    assert!(matches!(
        array.read_bytes(Order::C, ByteOrder::Native).unwrap_err().kind(),
        ErrorKind::Limit { .. }
    ));
    assert!(matches!(
        array.write_npy(std::io::sink()).unwrap_err().kind(),
        ErrorKind::Limit { .. }
    ));
    assert_eq!(
        array.slice(&asdf::ndarray::Slice::parse("5,-3:").unwrap()).unwrap().read::<i8>().unwrap(),
        [7; 3]
    );
}

#[test]
fn the_allocation_limit_applies_to_reading_but_not_to_a_borrowed_view() {
    let bytes = bytes_of(&a("datatype: int8, byteorder: big, shape: [100]"), &[&[0; 100]]);
    let limits = Limits::default().max_alloc(99);
    let file = OpenOptions::new().limits(limits).from_bytes(bytes).unwrap();
    assert!(matches!(array(&file, "/a").read::<i8>().unwrap_err().kind(), ErrorKind::Limit { .. }));
    // A borrowed view allocates no buffer.
    assert_eq!(array(&file, "/a").view::<i8>().unwrap().len(), 100);
}

#[test]
fn an_array_of_huge_elements_is_rejected_unless_it_is_empty() {
    let with = |datatype: &str, shape: &str| {
        file(&a(&format!("datatype: {datatype}, byteorder: big, shape: {shape}")), &[&[0; 8]])
    };
    rejection(&with("[ascii, 1099511627776]", "[1]"));
    rejection(&with("[ucs4, 1152921504606846975]", "[1]"));
    rejection(&with("[ucs4, 4611686018427387904]", "[1]"));
    rejection(&with("[{name: x, datatype: int8, shape: [4294967296, 4294967296]}]", "[1]"));
    assert!(array(&with("[ascii, 1099511627776]", "[0]"), "/a").strings().unwrap().is_empty());
}

#[test]
fn strings_of_zero_bytes_count_towards_the_limit() {
    let file = file(&a("datatype: [ascii, 0], byteorder: big, shape: [1099511627776]"), &[&[]]);
    assert!(matches!(array(&file, "/a").strings().unwrap_err().kind(), ErrorKind::Limit { .. }));
    assert_eq!(array(&file, "/a").read::<u8>().unwrap(), [0; 0]);
    let mut npy = Vec::new();
    array(&file, "/a").write_npy(&mut npy).unwrap();
    assert_eq!(npy.len(), 128);
}

#[test]
fn reading_an_array_in_a_truncated_block_fails_but_other_arrays_can_be_read() {
    let tree = format!("{}\nb: [1]", a("datatype: int8, byteorder: big, shape: [8]"));
    let mut bytes = bytes_of(&tree, &[&[0; 8]]);
    bytes.truncate(bytes.len() - 1);
    let file = Asdf::from_bytes(bytes).unwrap();
    assert!(rejection(&file).contains("is truncated"));
    assert_eq!(array(&file, "/b").len(), 1);
}
