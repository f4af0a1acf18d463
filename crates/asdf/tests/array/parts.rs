//! Reading slices and fields of arrays.

use asdf::ndarray::{ByteOrder, Order, Slice};
use proptest::prelude::*;

use super::{a, array, bytes_of, file, unmapped};

fn slices(text: &str) -> Vec<Slice> {
    Slice::parse(text).unwrap()
}

#[test]
fn arrays_with_negative_or_zero_strides_can_be_read() {
    let data: Vec<u8> = (0..64).collect();
    let read = |keys: &str| {
        let file = file(&a(&format!("datatype: uint8, byteorder: big, {keys}")), &[&data]);
        array(&file, "/a").read::<u8>().unwrap()
    };
    assert_eq!(read("shape: [4], offset: 10, strides: [-2]"), [10, 8, 6, 4]);
    assert_eq!(read("shape: [3], strides: [0]"), [0, 0, 0]);
    assert_eq!(read("shape: [2, 3], strides: [1, 1]"), [0, 1, 2, 1, 2, 3]);
    assert_eq!(read("shape: [], offset: 7"), [7]);
    assert_eq!(read("shape: [2, 0], offset: 999"), [0; 0]);
}

#[test]
fn a_slice_can_be_sliced_again() {
    let data: Vec<u8> = (0..24).collect();
    let file = file(&a("datatype: uint8, byteorder: big, shape: [4, 6]"), &[&data]);
    let once = array(&file, "/a").slice(&slices("1:,::2")).unwrap();
    assert_eq!(once.shape(), [3, 3]);
    let twice = once.slice(&slices("::-1,1:")).unwrap();
    assert_eq!(twice.read::<u8>().unwrap(), [20, 22, 14, 16, 8, 10]);
    assert_eq!(twice.slice(&slices("-1,0")).unwrap().read::<u8>().unwrap(), [8]);
    assert!(once.slice(&slices("3")).is_err());
}

#[test]
fn a_field_of_a_record_array_can_be_read_as_an_array() {
    let tree = a("datatype: [{name: k, datatype: uint16, byteorder: big}, \
                  {name: m, datatype: uint8, shape: [2]}, \
                  {name: r, datatype: [{name: s, datatype: [ascii, 2]}]}], \
                  byteorder: little, shape: [2]");
    let file = file(&tree, &[b"\0\x01\x02\x03ab\0\x04\x05\x06cd"]);
    let array = array(&file, "/a");
    assert_eq!(array.field("k").unwrap().read::<u16>().unwrap(), [1, 4]);
    let m = array.field("m").unwrap();
    assert_eq!((m.shape(), m.read::<u8>().unwrap()), (&[2, 2][..], vec![2, 3, 5, 6]));
    let s = array.field("r").unwrap().field("s").unwrap();
    assert_eq!(s.strings().unwrap(), ["ab", "cd"]);
    let last = array.slice(&slices("-1")).unwrap().field("m").unwrap();
    assert_eq!(last.read::<u8>().unwrap(), [5, 6]);
    assert!(array.field("x").unwrap_err().to_string().contains("k, m, r"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Slicing an array must return the same bytes as slicing a copy of the array, whether the file
    /// is in memory or is read from a source.
    #[test]
    fn reading_a_slice_equals_slicing_a_copy_of_the_array(
        shape in proptest::collection::vec(1..7_usize, 1..4),
        ranges in proptest::collection::vec((-8..8_i64, -8..8_i64, prop_oneof![-3..0_i64, 1..4_i64]), 3),
        datatype in prop_oneof![Just("int16"), Just("complex64"), Just("[ascii, 3]")],
        big: bool,
    ) {
        let item = match datatype { "int16" => 2, "complex64" => 8, _ => 3 };
        let width = match datatype { "int16" => 2, "complex64" => 4, _ => 1 };
        let len = shape.iter().product::<usize>() * item;
        let data: Vec<u8> = (0..=255).cycle().take(len).collect();
        let order = if big { "big" } else { "little" };
        let tree = a(&format!("datatype: {datatype}, byteorder: {order}, shape: {shape:?}"));
        let parts: Vec<Slice> = ranges[..shape.len()]
            .iter()
            .map(|&(start, stop, step)| Slice::Range { start: Some(start), stop: Some(stop), step })
            .collect();

        // Slice the copy element by element: determine the indices along each axis, and combine
        // them.
        let mut elements = vec![0_usize];
        for (&count, &(start, stop, step)) in shape.iter().zip(&ranges) {
            let n = i64::try_from(count).unwrap();
            let fix = |i: i64| if i < 0 { i + n } else { i };
            let (start, stop) = (fix(start), fix(stop));
            let walk: Vec<i64> = if step > 0 {
                (0..n).filter(|i| *i >= start.max(0) && *i < stop && (i - start.max(0)) % step == 0).collect()
            } else {
                let first = start.min(n - 1);
                (0..n).rev().filter(|i| *i <= first && *i > stop.max(-1) && (first - i) % -step == 0).collect()
            };
            elements = elements
                .iter()
                .flat_map(|e| walk.iter().map(move |i| e * count + usize::try_from(*i).unwrap()))
                .collect();
        }
        let mut expected: Vec<u8> =
            elements.iter().flat_map(|e| data[e * item..(e + 1) * item].to_vec()).collect();
        if big {
            expected.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        let bytes = bytes_of(&tree, &[&data]);
        let mapped = asdf::Asdf::from_bytes(bytes.clone()).unwrap();
        let (positional, _) = unmapped(bytes);
        for file in [&mapped, &positional] {
            let part = array(file, "/a").slice(&parts).unwrap();
            prop_assert_eq!(&part.read_bytes(Order::C, ByteOrder::Little).unwrap(), &expected);
        }
    }
}
