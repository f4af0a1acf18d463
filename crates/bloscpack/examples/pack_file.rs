//! Packs a file: `pack_file INPUT OUTPUT [COMPRESSOR [LEVEL]]`.

use std::fs;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use bloscpack::{Compressor, WriteOptions, pack_file};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, how @ ..] = &arguments[..] else {
        return Err("usage: pack_file INPUT OUTPUT [COMPRESSOR [LEVEL]]".into());
    };
    let mut options = WriteOptions::new();
    if let Some(name) = how.first() {
        options = options.compressor(Compressor::from_name(name).ok_or("no such compressor")?);
    }
    if let Some(level) = how.get(1) {
        options = options.level(level.parse()?);
    }
    let done = AtomicU64::new(0);
    let progress = |bytes| {
        let done = done.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let _ = write!(std::io::stderr(), "\r{done} bytes");
    };
    pack_file(input, output, &options, Some(&progress))?;
    println!("\n{} bytes in {}", done.into_inner(), fs::metadata(output)?.len());
    Ok(())
}
