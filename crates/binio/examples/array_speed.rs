//! Measures how fast elements are copied, on one thread and on all threads, relative to a plain
//! copy.
//!
//! `cargo run --release -p scibin-binio --features array,rayon --example array_speed -- [MIB]..`

use std::time::Instant;

use binio::array::{Array, ByteOrder, Datatype, ElementsError, Order, Slice, Strided};
use binio::{Bytes, Limits};

type Made = Result<Array<Bytes>, ElementsError>;

fn array(bytes: &Bytes, datatype: &str, slices: &str) -> Made {
    let datatype = Datatype::parse(datatype)?;
    let len = bytes.len() as u64;
    let columns = 1024;
    let shape = vec![len / datatype.itemsize() / columns, columns];
    let layout = Strided::packed(shape, Order::C, 0, datatype.itemsize(), len)?;
    let layout = layout.slice(&Slice::parse(slices)?)?;
    Array::new(bytes.clone(), datatype, layout, Limits::default())
}

/// Returns the shortest time of 15 runs, in milliseconds.
fn best(mut body: impl FnMut()) -> f64 {
    let run = |body: &mut dyn FnMut()| {
        let start = Instant::now();
        body();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..15).map(|_| run(&mut body)).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes: Vec<usize> =
        std::env::args().skip(1).map_while(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1, 4, 16, 64];
    }
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    println!("{:<14}{:>6}{:>10}{:>10}{:>10}{:>10}", "", "MiB", "copy", "1 thread", "all", "vector");
    for mib in sizes {
        let bytes = Bytes::from((0..=255).cycle().take(mib << 20).collect::<Vec<u8>>());
        let tasks: [(&str, Made, bool); 7] = [
            ("plain", array(&bytes, "<f8", ":"), false),
            ("step", array(&bytes, "<f8", ":, ::2"), false),
            ("reversed", array(&bytes, "<f8", "::-1, ::-1"), false),
            ("swapped", array(&bytes, ">f8", ":"), false),
            ("swapped step", array(&bytes, ">f8", ":, ::2"), false),
            ("complex", array(&bytes, ">c16", ":"), false),
            ("transposed", array(&bytes, "<f8", ":"), true),
        ];
        for (name, array, transposed) in tasks {
            let array = array?;
            let array = if transposed { array.transpose() } else { array };
            let size = usize::try_from(array.layout().byte_size().unwrap_or(0))?;
            let mut out = vec![0; size];
            let copy = best(|| out.copy_from_slice(&bytes[..size]));
            let mut read = || {
                let read = array.read_bytes_into(&mut out, Order::C, ByteOrder::Native);
                read.expect("the buffer has the size of the elements");
            };
            let alone = one.install(|| best(&mut read));
            let all = best(read);
            let vector = best(|| {
                if array.datatype().itemsize() == 16 {
                    drop(array.read::<binio::array::num_complex::Complex<f64>>());
                } else {
                    drop(array.read::<f64>());
                }
            });
            let size = size >> 20;
            println!("{name:<14}{size:>6}{copy:>10.3}{alone:>10.3}{all:>10.3}{vector:>10.3}");
        }
    }
    Ok(())
}
