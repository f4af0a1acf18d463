//! Testing whether data is written to a file directly from the caller's memory.

use std::io::{self, Write};

use binio::ReadAt;
use binio::write::WriteAt;
use dudley::array::{Array, Datatype, Element, Order as Axes, Strided, as_bytes};
use dudley::write::{ExtendMode, Extension};
use dudley::{Bytes, Error, Layout, Order, Values, WriteOptions};

use crate::{example_a, options};

/// An output that records the memory address and the length of each write.
#[derive(Default)]
struct Recorder {
    bytes: Vec<u8>,
    writes: Vec<(usize, usize)>,
}

impl Recorder {
    fn record(&mut self, data: &[u8]) {
        self.writes.push((data.as_ptr().addr(), data.len()));
    }

    fn has_written<T: Element>(&self, elements: &[T]) -> bool {
        let bytes = as_bytes(elements);
        self.writes.contains(&(bytes.as_ptr().addr(), bytes.len()))
    }
}

impl ReadAt for Recorder {
    fn len(&self) -> u64 {
        ReadAt::len(&self.bytes)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        self.bytes.read_exact_at(buf, offset)
    }
}

impl WriteAt for Recorder {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> binio::Result<()> {
        self.record(data);
        self.bytes.write_all_at(data, offset)
    }

    fn set_len(&mut self, len: u64) -> binio::Result<()> {
        WriteAt::set_len(&mut self.bytes, len)
    }

    fn sync(&mut self) -> binio::Result<()> {
        Ok(())
    }
}

impl Write for Recorder {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.record(data);
        self.bytes.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn native() -> WriteOptions {
    options(Order::native())
}

fn layout(text: &str) -> Layout {
    Layout::parse(text).unwrap()
}

fn array<T: Element>(elements: &[T], shape: &[u64]) -> Array<Bytes> {
    let data = Bytes::copy_from_slice(as_bytes(elements));
    let (datatype, len) = (Datatype::of::<T>(), data.len() as u64);
    let strided = Strided::packed(shape.to_vec(), Axes::C, 0, datatype.itemsize(), len).unwrap();
    Array::new(data, datatype, strided, binio::Limits::default()).unwrap()
}

#[test]
fn numbers_that_need_no_conversion_are_written_directly_from_the_callers_memory() {
    let (a, b, c) = ([0.5, 1.5], vec![1_u16, 2, 3], array(&[true, false], &[2]));
    let mut out = Recorder::default();
    let mut writer =
        native().write_at(&mut out, layout("a = f8[2]  b = u2[3]  c = b1[2]")).unwrap();
    writer.put("a", &a).unwrap();
    writer.put("b", &b).unwrap();
    writer.put_array("c", &c).unwrap();
    writer.finish().unwrap();
    assert!(out.has_written(&a) && out.has_written(&b) && out.has_written(c.data()));
}

#[test]
fn a_stream_writes_numbers_directly_from_the_callers_memory_where_possible() {
    let (a, b, c) = ([0.5, 1.5], vec![1_u16, 2, 3], vec![7_u8]);
    let (memory_of_b, memory_of_c) = (b.as_ptr().addr(), c.as_ptr().addr());
    let mut out = Recorder::default();
    let mut writer = native().stream(&mut out, layout("a = f8[2]  b = u2[3]  c = u1")).unwrap();
    writer.put("c", &c).unwrap();
    writer.put_vec("b", b).unwrap();
    writer.put("a", &a).unwrap();
    writer.finish().unwrap();
    assert!(out.has_written(&a));
    assert!(out.writes.contains(&(memory_of_b, 6)), "a vector must be written from its own memory");
    assert!(
        !out.writes.contains(&(memory_of_c, 1)),
        "borrowed data that has to wait must be copied"
    );
}

#[test]
fn a_second_put_replaces_data_that_has_not_been_written_to_a_stream_yet() {
    let mut out = Recorder::default();
    let mut writer = native().stream(&mut out, layout("s = { a = u1  b = u1 }  x = u1")).unwrap();
    writer.put("x", &[1_u8]).unwrap();
    writer.put("x", &[2_u8]).unwrap();
    writer.put("s.b", &[3_u8]).unwrap();
    writer.put("s.a", &[4_u8]).unwrap();
    writer.finish().unwrap();
    assert_eq!(out.bytes[16..19], [4, 3, 2]);
}

#[test]
fn a_large_array_whose_byte_order_changes_is_written_in_pieces() {
    let numbers: Vec<u32> = (0..1_000_000).collect();
    let swapped = if Order::native() == Order::Big { Order::Little } else { Order::Big };
    let mut out = Recorder::default();
    let mut writer = options(swapped).write_at(&mut out, layout("x = u4[1000, 1000]")).unwrap();
    writer.put("x", &numbers).unwrap();
    writer.finish().unwrap();
    assert!(out.writes.iter().all(|&(_, len)| len <= 1 << 20), "{:?}", out.writes);
    let expected: Vec<u8> = numbers.iter().flat_map(|n| n.swap_bytes().to_ne_bytes()).collect();
    assert!(out.bytes[16..16 + expected.len()] == expected);
}

#[test]
fn the_methods_put_and_put_vec_and_put_array_write_the_same_file() {
    let text = "N : i1  a = <i2[3]  b = >i2[3]  c = f4[3]  d = i2[3] -> gzip  e = { x = i2[3] }";
    let numbers = [1_i16, -2, 300];
    let paths = ["a", "b", "c", "d", "e.x"];
    let written = |put: &dyn Fn(&mut dudley::Writer<'_>, &str) -> Result<(), Error>| {
        let mut bytes = Vec::new();
        let mut writer = native().write_at(&mut bytes, layout(text)).unwrap();
        for path in paths {
            put(&mut writer, path).unwrap();
        }
        writer.finish().unwrap();
        bytes
    };
    let expected = written(&|writer, path| writer.put(path, &numbers));
    assert_eq!(written(&|writer, path| writer.put_vec(path, numbers.to_vec())), expected);
    assert_eq!(written(&|writer, path| writer.put_array(path, &array(&numbers, &[3]))), expected);
    let reversed = array(&[300_i16, -2, 1], &[3]);
    let reversed = reversed.slice(&dudley::array::Slice::parse("::-1").unwrap()).unwrap();
    assert_eq!(written(&|writer, path| writer.put_array(path, &reversed)), expected);
}

#[test]
fn an_extension_writes_a_vector_passed_to_put_vec() {
    let (old, _) = example_a();
    let mut more = Extension::new(&old[..], "y = i4[2]", ExtendMode::Safe, &Values::new()).unwrap();
    more.put_vec("y", vec![7_i32, 8]).unwrap();
    assert!(more.put_vec("y", vec![7_i32]).is_err());
    let mut storage = binio::write::MemoryStorage::new(&old);
    more.commit(&mut storage).unwrap();
    let file = dudley::File::from_bytes(storage.file_bytes().to_vec(), None).unwrap();
    assert_eq!(file.get("y").unwrap().read::<i32>().unwrap(), [7, 8]);
}
