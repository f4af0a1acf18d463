//! Reads and writes arrays of arbitrary types and layouts. An accepted layout must stay within the
//! length that it was checked against. Reading from memory and from a source must return the same
//! elements. Printing must terminate. Written elements must read back unchanged.

#![no_main]

use binio::array::{
    Array, ByteOrder, Datatype, ElementsError, Order, PrintStyle, Slice, Strided, json,
    write_bytes, write_ranges,
};
use binio::source::ReadLog;
use binio::{Bytes, Limits};
use libfuzzer_sys::fuzz_target;

const TYPES: [&str; 16] = [
    "|u1",
    "<i2",
    ">i2",
    "<f4",
    ">f8",
    "<c8",
    ">c16",
    "|S3",
    ">U2",
    "|V5",
    "<M8[D]",
    "|S0",
    "<f16",
    "[('a', '>i2'), ('', '|V1'), ('b', '<f4', (2, 2))]",
    "{'names': ['a', 'b'], 'formats': ['>u4', '>u4'], 'offsets': [0, 2]}",
    "[('r', [('x', '|b1'), ('y', '>M8[25s]')], (2,)), ('e', '<i4', (3, 0))]",
];

const SLICES: [&str; 8] =
    [":", "::-1", "::2, ::-3", "1:, ...", "..., None, -1", "0", "5:2", "None, ::-2, :3"];

type Input = (u8, u8, Vec<(u64, i64)>, u64, u64, u8, Vec<u8>);

fuzz_target!(|input: Input| {
    let (datatype, slices, axes, offset, layout_len, len, data) = input;
    let datatype = Datatype::parse(TYPES[usize::from(datatype % 16)]).expect("a type");
    let slices = Slice::parse(SLICES[usize::from(slices % 8)]).expect("slices");
    // Prefer small numbers, so that most inputs read some elements.
    let axis = |(count, stride): (u64, i64)| {
        (
            if count % 16 == 0 { count } else { count % 6 },
            if stride % 16 == 0 { stride } else { stride % 40 },
        )
    };
    let (shape, strides): (Vec<u64>, Vec<i64>) = axes.into_iter().map(axis).unzip();
    let offset = if offset % 8 == 0 { offset } else { offset % 64 };
    // If a layout is checked against a length greater than the length of the data, reads must fail
    // without a panic.
    let checked = if len % 16 == 0 { layout_len } else { data.len() as u64 };
    let itemsize = datatype.itemsize();
    let layout = match len % 3 {
        0 => Strided::packed(shape, Order::C, offset, itemsize, checked),
        1 => Strided::packed(shape, Order::F, offset, itemsize, checked),
        _ => Strided::new(shape, strides, offset, itemsize, checked),
    };
    let Ok(layout) = layout else { return };
    let layout = layout.slice(&slices).unwrap_or(layout);
    let extent = layout.extent();
    assert!(layout.is_empty() || extent.end <= checked);
    let limits = Limits::default().max_alloc(1 << 20);
    let (bytes, log) = (Bytes::from(data.clone()), ReadLog::new(Bytes::from(data)));
    let memory = Array::new(bytes.clone(), datatype.clone(), layout.clone(), limits)
        .expect("the item sizes are equal");
    let file = memory.clone().with_data(&log);
    let order = if offset % 2 == 0 { Order::C } else { Order::F };
    let read = memory.read_bytes(order, ByteOrder::Native);
    let again = file.read_bytes(order, ByteOrder::Native);
    assert_eq!(read.is_ok(), again.is_ok());
    if layout.len() < 1 << 12 && layout.byte_size().is_some_and(|size| size < 1 << 20) {
        for style in [PrintStyle::Json, PrintStyle::Text, PrintStyle::Csv] {
            let _ = file.write_elements(&mut std::io::sink(), style, None);
        }
    }
    let _ = (memory.read::<f64>().is_ok(), memory.view::<u8>().is_ok(), memory.strings().is_ok());
    let _ = (memory.transpose().reshape(&[layout.len()]).is_ok(), json::element(&datatype, &bytes));
    let Ok(read) = read else { return };
    assert_eq!(again.expect("reading from memory succeeded"), read);
    let mut copy = vec![0; bytes.len()];
    match write_bytes(&layout, &datatype, &read, order, ByteOrder::Native, &mut copy) {
        Ok(()) => {
            let mut ranges = vec![0; bytes.len()];
            let write = |at: u64, bytes: &[u8]| {
                let at = usize::try_from(at).expect("offsets are within the data");
                ranges[at..at + bytes.len()].copy_from_slice(bytes);
                Ok::<_, ElementsError>(())
            };
            write_ranges(&layout, &datatype, &read, order, ByteOrder::Native, write)
                .expect("writing to memory succeeded");
            assert_eq!(ranges, copy);
            let back = memory.with_data(Bytes::from(copy)).read_bytes(order, ByteOrder::Native);
            assert_eq!(back.expect("it was written"), read);
        }
        Err(error) => assert!(
            matches!(error, ElementsError::Overlap | ElementsError::Outside { .. }),
            "{error}"
        ),
    }
});
