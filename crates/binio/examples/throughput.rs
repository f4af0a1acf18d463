//! Measures the speed of changing the byte order, searching, and computing digests.
//!
//! ```text
//! cargo run --release -p scibin-binio --all-features --example throughput
//! ```

use std::hint::black_box;
use std::time::Instant;

use binio::checksum::Algorithm;
use binio::number::{decode_into, swap_in_place};
use binio::source::Scanner;
use binio::{Bytes, Endian, Error};

/// Number of bytes per run, far more than fit in a cache.
const SIZE: usize = 256 * MIB;
const MIB: usize = 1 << 20;

/// Prints the speed of the fastest of five runs in GB/s.
fn measure(what: &str, mut run: impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{what:<28} {:6.2} GB/s", 256.0 * 1.048_576e6 / best / 1e9);
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut bytes = vec![0_u8; SIZE];
    for (byte, value) in bytes.iter_mut().zip((0..=250).cycle()) {
        *byte = value;
    }
    let mut copy = vec![0_u8; SIZE];
    measure("memcpy", || {
        black_box(&mut copy).copy_from_slice(black_box(&bytes));
        Ok(())
    })?;
    drop(copy);

    for width in [2, 4, 8, 16] {
        measure(&format!("swap_in_place, {width} bytes"), || {
            swap_in_place(black_box(&mut bytes), width)
        })?;
    }
    let mut numbers = vec![0_u16; SIZE / 2];
    for endian in [Endian::Little, Endian::Big] {
        measure(&format!("decode_into u16, {endian:?}"), || {
            decode_into(black_box(&bytes), endian, black_box(&mut numbers))
        })?;
    }
    drop(numbers);
    let mut numbers = vec![0_f32; SIZE / 4];
    for endian in [Endian::Little, Endian::Big] {
        measure(&format!("decode_into f32, {endian:?}"), || {
            decode_into(black_box(&bytes), endian, black_box(&mut numbers))
        })?;
    }
    drop(numbers);
    let mut numbers = vec![0_f64; SIZE / 8];
    for endian in [Endian::Little, Endian::Big] {
        measure(&format!("decode_into f64, {endian:?}"), || {
            decode_into(black_box(&bytes), endian, black_box(&mut numbers))
        })?;
    }
    drop(numbers);
    let mut numbers = vec![0_u128; SIZE / 16];
    for endian in [Endian::Little, Endian::Big] {
        measure(&format!("decode_into u128, {endian:?}"), || {
            decode_into(black_box(&bytes), endian, black_box(&mut numbers))
        })?;
    }
    drop(numbers);

    let end = SIZE as u64;
    measure("Scanner over Vec (windows)", || {
        black_box(Scanner::new(&bytes, b"\xd3BLK", 0..end).next_match()?);
        Ok(())
    })?;
    let shared = Bytes::from(bytes.clone());
    measure("Scanner over Bytes", || {
        black_box(Scanner::new(&shared, b"\xd3BLK", 0..end).next_match()?);
        Ok(())
    })?;
    drop(shared);
    for &algorithm in Algorithm::ALL {
        measure(algorithm.name(), || {
            black_box(algorithm.digest(black_box(&bytes)));
            Ok(())
        })?;
    }
    Ok(())
}
