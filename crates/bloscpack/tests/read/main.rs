//! Tests that every way of reading returns the same data from every kind of source, and that
//! damaged files are safe to read.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

mod cost;
mod properties;
mod sources;

use bloscpack::{ChunkSize, Compressor, WriteOptions, pack_to_vec};

/// Returns compressible data that differs from chunk to chunk.
fn data(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at / 7).to_le_bytes()[usize::from(at % 5 == 0)]).collect()
}

/// Returns options that every build supports, with this chunk size.
fn options(chunk_size: u32) -> WriteOptions {
    WriteOptions::new()
        .compressor(Compressor::Lz4)
        .typesize(4)
        .chunk_size(ChunkSize::Bytes(chunk_size))
}

/// Packs `len` bytes of [`data`].
fn file(len: usize, chunk_size: u32) -> Vec<u8> {
    pack_to_vec(&data(len), &options(chunk_size)).unwrap()
}
