//! Reading the masks of arrays.

use super::{a, array, file, rejection};

fn mask(tree: &str, data: &[u8]) -> Option<Vec<bool>> {
    let file = file(tree, &[data]);
    array(&file, "/a").mask().unwrap()
}

#[test]
fn a_mask_value_masks_the_elements_equal_to_it() {
    let with = |value: &str| {
        mask(
            &a(&format!("datatype: uint8, byteorder: big, shape: [3], mask: {value}")),
            &[0, 2, 255],
        )
    };
    assert_eq!(with("2").unwrap(), [false, true, false]);
    assert_eq!(with("2.0").unwrap(), [false, true, false]);
    assert_eq!(with("-1").unwrap(), [false; 3]);
    assert_eq!(with("2.5").unwrap(), [false; 3]);
    assert_eq!(with(".nan").unwrap(), [false; 3]);
    assert_eq!(mask(&a("datatype: uint8, byteorder: big, shape: [3]"), &[0, 2, 255]), None);
}

#[test]
fn a_mask_value_is_converted_to_the_type_of_the_array() {
    let data = [0.1_f32, -0.0, f32::NAN].map(f32::to_le_bytes).concat();
    let with = |value: &str| {
        mask(&a(&format!("datatype: float32, byteorder: little, shape: [3], mask: {value}")), &data)
    };
    assert_eq!(with("0.1").unwrap(), [true, false, false]);
    assert_eq!(with("0").unwrap(), [false, true, false]);
    assert_eq!(with(".nan").unwrap(), [false, false, true]);
}

#[test]
fn a_complex_mask_value_must_match_the_real_and_imaginary_parts() {
    let data = [1.0_f64, 2.0, 1.0, 0.0, f64::NAN, 0.0].map(f64::to_le_bytes).concat();
    let with = |value: &str| {
        let keys = "datatype: complex128, byteorder: little, shape: [3]";
        mask(&a(&format!("{keys}, mask: {value}")), &data)
    };
    assert_eq!(with("!core/complex-1.0.0 1+2j").unwrap(), [true, false, false]);
    assert_eq!(with("1").unwrap(), [false, true, false]);
    assert_eq!(with(".nan").unwrap(), [false, false, true]);
}

#[test]
fn a_mask_array_is_broadcast_and_masks_elements_where_it_is_nonzero() {
    let keys = "datatype: uint8, byteorder: big, shape: [2, 3]";
    let inline = format!("{keys}, mask: [true, false, true]");
    assert_eq!(mask(&a(&inline), &[0; 6]).unwrap(), [true, false, true, true, false, true]);
    let column = "{source: 0, datatype: float64, byteorder: little, shape: [2, 1]}";
    let tree = a(&format!("{keys}, mask: !core/ndarray-1.1.0 {column}"));
    let data = [-0.0_f64, f64::NAN].map(f64::to_le_bytes).concat();
    assert_eq!(mask(&tree, &data).unwrap(), [false, false, false, true, true, true]);
}

#[test]
fn slicing_an_array_slices_its_mask() {
    let tree = a("datatype: uint8, byteorder: big, shape: [2, 2], mask: [[0, 1], [1, 0]]");
    let file = file(&tree, &[&[1, 2, 3, 4]]);
    let row = array(&file, "/a").slice(&asdf::ndarray::Slice::parse("1,::-1").unwrap()).unwrap();
    let masked = row.masked::<u8>().unwrap();
    assert_eq!(masked.values, [4, 3]);
    assert_eq!(masked.mask.unwrap(), [false, true]);
}

#[test]
fn masking_a_record_masks_every_element_of_its_fields() {
    let tree =
        a("datatype: [{name: x, datatype: uint8, shape: [2]}], byteorder: big, shape: [2], \
                  mask: [0, 1]");
    let file = file(&tree, &[&[1, 2, 3, 4]]);
    let field = array(&file, "/a").field("x").unwrap();
    assert_eq!(field.mask().unwrap().unwrap(), [false, false, true, true]);
}

#[test]
fn null_elements_of_inline_data_are_masked() {
    let file = file("a: [[1, null], [3, 4]]", &[]);
    let array = array(&file, "/a");
    assert!(array.is_masked());
    assert_eq!(array.mask().unwrap().unwrap(), [false, true, false, false]);
    assert_eq!(array.read::<i64>().unwrap(), [1, 0, 3, 4]);
}

#[test]
fn the_mask_of_a_mask_is_ignored() {
    let tree = "a: &x !core/ndarray-1.1.0\n  data: [0, 1]\n  datatype: int8\n  mask: *x\n";
    assert_eq!(mask(tree, &[]).unwrap(), [false, true]);
}

#[test]
fn a_mask_of_the_wrong_shape_or_type_is_an_error() {
    let keys = "datatype: uint8, byteorder: big, shape: [3]";
    for mask in ["[1, 0]", "[[1, 0, 1]]", "text", "[a, b, c]", "{data: x}"] {
        rejection(&file(&a(&format!("{keys}, mask: {mask}")), &[&[0; 3]]));
    }
    for datatype in ["[{name: x, datatype: uint8}]", "[ascii, 1]"] {
        let tree = a(&format!("datatype: {datatype}, byteorder: big, shape: [3], mask: 1"));
        let file = file(&tree, &[&[0; 3]]);
        assert!(array(&file, "/a").mask().is_err(), "{datatype}");
        assert!(
            array(&file, "/a")
                .read_bytes(asdf::ndarray::Order::C, asdf::ndarray::ByteOrder::Stored)
                .is_ok()
        );
    }
}

#[test]
fn null_elements_and_elements_selected_by_the_mask_are_masked() {
    // Python asdf writes an inline masked array with nulls and a mask. Here, the mask also selects
    // an element that is not null.
    let keys = "datatype: int64, byteorder: little, shape: [4]";
    let tree = format!(
        "a: !core/ndarray-1.1.0 {{data: [1, null, 3, 4], mask: !core/ndarray-1.1.0 {{data: \
         [false, true, false, true], datatype: bool8, shape: [4]}}, {keys}}}"
    );
    let read = file(&tree, &[]);
    assert_eq!(array(&read, "/a").mask().unwrap().unwrap(), [false, true, false, true]);
    let part = array(&read, "/a").slice(&asdf::ndarray::Slice::parse("1:3").unwrap()).unwrap();
    assert_eq!(part.mask().unwrap().unwrap(), [true, false]);
    let value = format!("a: !core/ndarray-1.1.0 {{data: [1, null, 3, 4], mask: 3, {keys}}}");
    let read = file(&value, &[]);
    assert_eq!(array(&read, "/a").mask().unwrap().unwrap(), [false, true, true, false]);
}
