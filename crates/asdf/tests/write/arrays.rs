//! Arrays of every datatype, byte order and layout, with and without masks, must read back with the
//! elements that were written.

use std::sync::Arc;

use asdf::ndarray::{ByteOrder, Datatype, Field, Order, Record, ScalarKind, ScalarType, Strided};
use asdf::ndarray::{Complex, Endian, f16};
use asdf::value::{Array, ArrayStorage, Mask};
use asdf::{Asdf, Bytes, Limits, Tree, Value, WriteOptions};

use crate::{bytes_of, open, written};

/// Returns the scalar datatypes in both byte orders, with one length for each kind of text.
fn scalars() -> Vec<ScalarType> {
    let kinds = [
        (ScalarKind::Bool, &[1][..]),
        (ScalarKind::Int, &[1, 2, 4, 8]),
        (ScalarKind::Uint, &[1, 2, 4, 8]),
        (ScalarKind::Float, &[2, 4, 8]),
        (ScalarKind::Complex, &[8, 16]),
        (ScalarKind::Bytes, &[5]),
        (ScalarKind::Unicode, &[12]),
    ];
    let orders = [Endian::Little, Endian::Big];
    let of = |(kind, sizes): (ScalarKind, &'static [u64])| {
        sizes.iter().flat_map(move |&size| {
            orders.into_iter().map(move |endian| ScalarType::new(kind, size, endian).unwrap())
        })
    };
    kinds.into_iter().flat_map(of).collect()
}

fn records() -> Vec<Datatype> {
    let field = |name: &str, text: &str| Field::new(name, Datatype::parse(text).unwrap());
    let inner = Record::packed(vec![field("d", ">u4"), field("e", "|S2")]).unwrap();
    let mixed = vec![
        field("a", ">i2"),
        field("b", "<f8").with_shape(vec![2, 3]),
        Field::new("c", inner),
        field("t", "<U3"),
    ];
    vec![
        Record::packed(mixed).unwrap().into(),
        Record::packed(vec![field("x", "<f4")]).unwrap().into(),
    ]
}

/// Returns the bytes of `count` valid elements: ASCII letters for text, 0 and 1 for booleans.
fn elements(datatype: &Datatype, count: usize) -> Vec<u8> {
    (0..count).flat_map(|at| element(datatype, at)).collect()
}

fn element(datatype: &Datatype, at: usize) -> Vec<u8> {
    let size = usize::try_from(datatype.itemsize()).unwrap();
    let letter = |at: usize| b'a' + u8::try_from(at % 26).unwrap();
    match datatype {
        Datatype::Record(record) => {
            let field = |field: &Field| {
                let count = field.shape().iter().product::<u64>();
                (0..usize::try_from(count).unwrap())
                    .flat_map(|inner| element(field.datatype(), at + inner))
                    .collect::<Vec<_>>()
            };
            record.fields().iter().flat_map(field).collect()
        }
        Datatype::Scalar(scalar) => match scalar.kind() {
            ScalarKind::Bool => vec![u8::from(at % 3 == 0)],
            ScalarKind::Bytes => (0..size).map(|inner| letter(at + inner)).collect(),
            ScalarKind::Unicode => (0..size / 4)
                .flat_map(|inner| {
                    let unit = u32::from(letter(at + inner));
                    match scalar.endian() {
                        Endian::Big => unit.to_be_bytes(),
                        Endian::Little => unit.to_le_bytes(),
                    }
                })
                .collect(),
            _ => {
                (0..size).map(|inner| u8::try_from((at * 7 + inner * 13) % 100).unwrap()).collect()
            }
        },
    }
}

fn all_datatypes() -> Vec<Datatype> {
    scalars().into_iter().map(Datatype::from).chain(records()).collect()
}

fn read(file: &Asdf, pointer: &str) -> (Datatype, Vec<u64>, Vec<u8>) {
    let array = file.tree().unwrap().pointer(pointer).unwrap().ndarray().unwrap();
    let bytes = array.read_bytes(Order::C, ByteOrder::Stored).unwrap();
    (array.datatype().clone(), array.shape().to_vec(), bytes)
}

#[test]
fn arrays_of_every_datatype_and_byte_order_are_read_back_from_a_block() {
    for datatype in all_datatypes() {
        let bytes = elements(&datatype, 12);
        let array = Array::from_bytes(bytes.clone(), datatype.clone(), &[3, 4]).unwrap();
        let mut tree = Tree::default();
        tree.set("/a", array).unwrap();
        let file = written(tree, WriteOptions::new());
        let (found, shape, read) = read(&file, "/a");
        assert_eq!((found, shape, read), (datatype.clone(), vec![3, 4], bytes), "{datatype}");
    }
}

#[test]
fn an_array_made_from_a_vector_or_bytes_shares_their_memory() {
    let numbers = vec![0.5_f64, 1.5, -2.0, 4.0];
    let memory: *const u8 = numbers.as_ptr().cast();
    let array = Array::from_vec(numbers, &[2, 2]).unwrap();
    assert_eq!(array.data().bytes_at(0, 32).unwrap().as_ptr(), memory);
    assert_eq!(array.view().unwrap().read::<f64>().unwrap(), [0.5, 1.5, -2.0, 4.0]);
    assert!(Array::from_vec(vec![true], &[2]).is_err());

    let bytes = Bytes::from(vec![1, 0, 1]);
    let flags = Array::from_bytes(bytes.clone(), Datatype::of::<bool>(), &[3]).unwrap();
    assert_eq!(flags.data().bytes_at(0, 3).unwrap().as_ptr(), bytes.as_ptr());

    let mut tree = Tree::default();
    tree.set("/a", array).unwrap();
    tree.set("/flags", flags).unwrap();
    let file = written(tree, WriteOptions::new());
    let flags = file.tree().unwrap().pointer("/flags").unwrap().ndarray().unwrap();
    assert_eq!(flags.read::<bool>().unwrap(), [true, false, true]);
    assert_eq!(read(&file, "/a").2, [0.5_f64, 1.5, -2.0, 4.0].map(f64::to_ne_bytes).concat());
}

#[test]
fn arrays_of_every_datatype_are_read_back_from_the_tree() {
    for datatype in all_datatypes() {
        for shape in [&[3, 4][..], &[12], &[2, 3, 2], &[]] {
            let count = usize::try_from(shape.iter().product::<u64>()).unwrap();
            let array = Array::from_bytes(elements(&datatype, count), datatype.clone(), shape);
            let array = array.unwrap();
            let expected = array.view().unwrap().read_bytes(Order::C, ByteOrder::Little).unwrap();
            let mut tree = Tree::default();
            tree.set("/a", array.storage(ArrayStorage::Inline)).unwrap();
            let file = written(tree, WriteOptions::new());
            assert_eq!(file.blocks().len().unwrap(), 0);
            let (found, found_shape, read) = read(&file, "/a");
            // Arrays in the tree have no byte order, and are read as little-endian.
            assert_eq!(found, datatype.with_byte_order(ByteOrder::Little), "{datatype} {shape:?}");
            assert_eq!((found_shape.as_slice(), read), (shape, expected), "{datatype} {shape:?}");
        }
    }
}

#[test]
fn floats_written_in_the_tree_read_back_exactly() {
    let doubles =
        [0.0, -0.0, f64::MAX, 5e-324, 1e16, 0.1, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let singles = [3.3_f32, f32::MAX, 1e-45, f32::INFINITY];
    let halves = [f16::from_f32(0.1), f16::MAX, f16::from_bits(1)];
    let numbers = [Complex::new(-0.0, f64::NAN), Complex::new(f64::INFINITY, -1e-300)];
    let mut tree = Tree::default();
    let inline = ArrayStorage::Inline;
    tree.set("/f8", Array::from_slice(&doubles, &[9]).unwrap().storage(inline)).unwrap();
    tree.set("/f4", Array::from_slice(&singles, &[4]).unwrap().storage(inline)).unwrap();
    tree.set("/f2", Array::from_slice(&halves, &[3]).unwrap().storage(inline)).unwrap();
    tree.set("/c16", Array::from_slice(&numbers, &[2]).unwrap().storage(inline)).unwrap();
    tree.set("/b1", Array::from_slice(&[true, false], &[2]).unwrap().storage(inline)).unwrap();
    let file = written(tree, WriteOptions::new());
    let root = file.tree().unwrap();
    let array = |key: &str| root.get(key).unwrap().ndarray().unwrap();
    let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&array("f8").read::<f64>().unwrap()), bits(&doubles));
    assert_eq!(array("f4").read::<f32>().unwrap(), singles);
    assert_eq!(array("f2").read::<f16>().unwrap(), halves);
    let read = array("c16").read::<Complex<f64>>().unwrap();
    assert_eq!(format!("{read:?}"), format!("{numbers:?}"));
    assert_eq!(array("b1").read::<bool>().unwrap(), [true, false]);
}

#[test]
fn arrays_created_from_the_same_data_share_a_block() {
    let numbers: Vec<u8> = (0..48_i32).flat_map(i32::to_le_bytes).collect();
    let datatype = Datatype::parse("<i4").unwrap();
    let base = Array::from_bytes(numbers, datatype.clone(), &[6, 8]).unwrap();
    let view = |shape: &[u64], strides: &[i64], offset: u64| {
        let layout = Strided::new(shape.to_vec(), strides.to_vec(), offset, 4, 192).unwrap();
        base.with_layout(datatype.clone(), layout).unwrap()
    };
    let mut tree = Tree::default();
    tree.set("/transposed", view(&[8, 6], &[4, 32], 0)).unwrap();
    tree.set("/base", base.clone()).unwrap();
    tree.set("/reversed", view(&[6, 8], &[-32, -4], 188)).unwrap();
    tree.set("/tile", view(&[2, 3], &[64, 8], 36)).unwrap();
    tree.set("/repeated", view(&[3, 2], &[0, 4], 0)).unwrap();
    let bytes = bytes_of(&asdf::Writer::new(tree));
    let file = Asdf::from_bytes(bytes).unwrap();
    assert_eq!(file.blocks().len().unwrap(), 1);
    let read = |key: &str| {
        file.tree().unwrap().get(key).unwrap().ndarray().unwrap().read::<i32>().unwrap()
    };
    assert_eq!(read("base"), (0..48).collect::<Vec<_>>());
    assert_eq!(read("transposed")[..7], [0, 8, 16, 24, 32, 40, 1]);
    assert_eq!(read("reversed"), (0..48).rev().collect::<Vec<_>>());
    assert_eq!(read("tile"), [9, 11, 13, 25, 27, 29]);
    assert_eq!(read("repeated"), [0, 1, 0, 1, 0, 1]);
    // An array that covers its block in C order is written without an offset and strides.
    let base = file.tree().unwrap().get("base").unwrap();
    assert!(base.get("strides").is_none() && base.get("offset").is_none());
}

#[test]
fn gaps_between_the_fields_of_a_record_are_not_written() {
    let field = |name: &str, text: &str| Field::new(name, Datatype::parse(text).unwrap());
    let record = Record::aligned(vec![field("a", "|u1"), field("b", "<f8")]).unwrap();
    let mut bytes = Vec::new();
    for at in 0..3_u8 {
        bytes.extend([at, 9, 9, 9, 9, 9, 9, 9]);
        bytes.extend(f64::from(at).to_le_bytes());
    }
    let mut tree = Tree::default();
    tree.set("/a", Array::from_bytes(bytes, record.into(), &[3]).unwrap()).unwrap();
    let file = written(tree, WriteOptions::new());
    let array = file.tree().unwrap().get("a").unwrap().ndarray().unwrap();
    assert_eq!(array.datatype().itemsize(), 9);
    assert_eq!(array.field("a").unwrap().read::<u8>().unwrap(), [0, 1, 2]);
    assert_eq!(array.field("b").unwrap().read::<f64>().unwrap(), [0.0, 1.0, 2.0]);
}

#[test]
fn masks_can_be_values_or_arrays() {
    let numbers = || Array::from_slice(&[1.0, -999.0, f64::NAN], &[3]).unwrap();
    let mask = Array::from_slice(&[false, true, false], &[3]).unwrap();
    let mut tree = Tree::default();
    tree.set("/value", numbers().mask(Mask::Value((-999.0).into()))).unwrap();
    tree.set("/nan", numbers().mask(Mask::Value(f64::NAN.into())).storage(ArrayStorage::Inline))
        .unwrap();
    tree.set("/array", numbers().mask(Mask::Array(Box::new(mask)))).unwrap();
    let file = written(tree, WriteOptions::new());
    let masked = |key: &str| {
        let array = file.tree().unwrap().get(key).unwrap().ndarray().unwrap();
        array.masked::<f64>().unwrap().mask.unwrap()
    };
    assert_eq!(masked("value"), [false, true, false]);
    assert_eq!(masked("nan"), [false, false, true]);
    assert_eq!(masked("array"), [false, true, false]);
    assert_eq!(file.blocks().len().unwrap(), 3);
}

#[test]
fn apart_from_a_few_exceptions_arrays_below_the_limit_are_written_inline() {
    let mut tree = Tree::default();
    tree.set("/three", Array::from_slice(&[1_u8, 2, 3], &[3]).unwrap()).unwrap();
    tree.set("/four", Array::from_slice(&[1_u8, 2, 3, 4], &[4]).unwrap()).unwrap();
    let block = Array::from_slice(&[1_u8], &[1]).unwrap().storage(ArrayStorage::Block);
    tree.set("/one", block).unwrap();
    // Bytes that are not text cannot be written inline.
    let bytes = Array::from_bytes(vec![0xff], Datatype::parse("|S1").unwrap(), &[1]).unwrap();
    tree.set("/bytes", bytes).unwrap();
    // Arrays without dimensions, and arrays with integers beyond the range of literals, are only
    // written inline on request.
    tree.set("/single", Array::from_slice(&[1_u8], &[]).unwrap()).unwrap();
    tree.set("/large", Array::from_slice(&[u64::MAX], &[1]).unwrap()).unwrap();
    let file = written(tree, WriteOptions::new().inline_below(4));
    let has_source = |key: &str| file.tree().unwrap().get(key).unwrap().get("source").is_some();
    let names = ["three", "four", "one", "bytes", "single", "large"];
    assert_eq!(names.map(has_source), [false, true, true, true, true, true]);
    // The reference implementation cannot read lists inside records from the tree, so such records
    // are written to a block.
    let mut tree = Tree::default();
    for (key, datatype) in ["nested", "flat"].into_iter().zip(records()) {
        let bytes = elements(&datatype, 1);
        tree.set(&format!("/{key}"), Array::from_bytes(bytes, datatype, &[1]).unwrap()).unwrap();
    }
    let file = written(tree, WriteOptions::new().inline_below(4));
    let has_source = |key: &str| file.tree().unwrap().get(key).unwrap().get("source").is_some();
    assert_eq!(["nested", "flat"].map(has_source), [true, false]);
}

#[test]
fn the_keys_of_an_array_are_in_the_order_of_the_reference_implementation() {
    let mut tree = Tree::default();
    let layout = Strided::new(vec![2], vec![-2], 2, 2, 4).unwrap();
    let data = Arc::new(Bytes::from_static(&[1, 0, 2, 0]));
    let array =
        Array::new(data, Datatype::parse("<i2").unwrap(), layout, Limits::default()).unwrap();
    tree.set("/a", array.clone().mask(Mask::Value(0.into()))).unwrap();
    let bytes = bytes_of(&asdf::Writer::new(tree));
    let text = String::from_utf8_lossy(&bytes);
    let expected = "a: !core/ndarray-1.1.0\n  source: 0\n  mask: 0\n  datatype: int16\n  \
                    byteorder: little\n  shape: [2]\n  offset: 2\n  strides: [-2]\n...\n";
    assert!(text.contains(expected), "{text}");
    let mut tree = Tree::default();
    let inline = array.mask(Mask::Value(0.into())).storage(ArrayStorage::Inline);
    tree.set("/a", inline).unwrap();
    let bytes = bytes_of(&asdf::Writer::new(tree));
    let text = String::from_utf8_lossy(&bytes);
    let expected =
        "a: !core/ndarray-1.1.0\n  data: [2, 1]\n  mask: 0\n  datatype: int16\n  shape: [2]\n...\n";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn an_array_with_a_datatype_that_asdf_lacks_is_rejected() {
    for text in ["<f16", "<M8[s]", "<m8[s]", "|V4", "<c32"] {
        let datatype = Datatype::parse(text).unwrap();
        let bytes = vec![0; usize::try_from(datatype.itemsize()).unwrap()];
        let error = Array::from_bytes(bytes, datatype, &[1]).unwrap_err();
        assert!(error.to_string().contains("no datatype"), "{error}");
        assert!(!error.is_bad_data());
    }
    assert!(Array::from_slice(&[1, 2, 3], &[2]).is_err());
}

#[test]
#[cfg(feature = "ndarray")]
fn an_array_of_the_ndarray_crate_is_copied_in_c_order() {
    let array = ndarray::Array2::from_shape_vec((2, 2), vec![1_i16, 2, 3, 4]).unwrap();
    let transposed = array.t();
    let ours = Array::from_ndarray(&transposed).unwrap();
    assert_eq!(ours.view().unwrap().read::<i16>().unwrap(), [1, 3, 2, 4]);
}

#[test]
fn copying_an_array_with_negative_strides_keeps_its_byte_order() {
    let view = binio::array::Array::new(
        Bytes::from_static(&[0, 1, 0, 2]),
        Datatype::parse(">u2").unwrap(),
        Strided::new(vec![2], vec![-2], 2, 2, 4).unwrap(),
        asdf::Limits::default(),
    );
    let ours = Array::from_array(&view.unwrap()).unwrap();
    assert_eq!(ours.view().unwrap().read::<u16>().unwrap(), [2, 1]);
    assert_eq!(ours.datatype().to_string(), ">u2");
}

#[test]
fn an_array_from_an_npy_file_keeps_its_memory_order() {
    let header =
        binio::array::npy::Header::new(Datatype::parse("<u2").unwrap(), Order::F, vec![2, 2]);
    let mut npy = header.unwrap().to_bytes();
    npy.extend([1_u16, 3, 2, 4].into_iter().flat_map(u16::to_le_bytes));
    let mut tree = Tree::default();
    tree.set("/a", Array::from_npy(Arc::new(Bytes::from(npy)), Limits::default()).unwrap())
        .unwrap();
    let file = open(bytes_of(&asdf::Writer::new(tree)));
    let node = file.tree().unwrap().get("a").unwrap();
    assert_eq!(node.pointer("/strides/1").unwrap().as_i64(), Some(4));
    assert_eq!(node.ndarray().unwrap().read::<u16>().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn an_array_value_is_a_collection_and_shows_its_type_in_debug_output() {
    let value = Value::from(Array::from_slice(&[1_u8], &[1]).unwrap());
    assert!(value.is_collection());
    assert_eq!(value.clone(), value);
    assert!(format!("{value:?}").contains("uint8"), "{value:?}");
}
