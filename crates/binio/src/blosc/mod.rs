//! Blosc-1 buffers: the compressed pieces inside Bloscpack files, ASDF `blsc` blocks, Zarr and HDF5
//! chunks.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 16 | header, see [`Header`] |
//! | 16 | 4 · blocks | position of each block from the start of the buffer, i32 |
//! | | | blocks, in any order, each one stream or one stream per byte of the type |
//!
//! Each stream has its length (i32) before it; a stream as long as its data is stored plain.
//! Streams are compressed by one codec; the bytes (or bits) of a block are then put in the order in
//! which they stood before the shuffle. A buffer that would not shrink is *memcpyed*: the data
//! follows the header. All integers are little-endian.
//!
//! Decoding is safe Rust and checks every field against the others and against the bytes available.
//! [`Buffer`] is the way in:
//!
//! ```
//! use binio::Limits;
//! use binio::blosc::{Buffer, CompressOptions, Compressor, Scratch, compress};
//!
//! let data: Vec<u8> = (0..20_000_u32).flat_map(u32::to_le_bytes).collect();
//! let packed = compress(&data, &CompressOptions::new(Compressor::Lz4).typesize(4))?;
//! let buffer = Buffer::parse(&packed)?;
//! assert_eq!(buffer.decode(&Limits::default())?, data);
//!
//! // A part, for which only the blocks that it touches are decoded.
//! let mut part = [0; 8];
//! buffer.decode_range_into(4000..4008, &mut part, &mut Scratch::default())?;
//! assert_eq!(part, data[4000..4008]);
//! # Ok::<(), binio::Error>(())
//! ```
//!
//! Compression of every kind but snappy goes through the C library, in the feature
//! `blosc-compress`, whose output is then the same byte for byte. Without that feature lz4, snappy, zlib and zstd
//! are there, in other bytes of the same meaning.

mod bitshuffle;
mod blosclz;
mod codecs;
mod copies;
mod decode;
mod encode;
#[cfg(feature = "blosc-compress")]
#[allow(unsafe_code, reason = "calls the C compressor; the one call is justified there")]
mod ffi;
mod header;
mod lz4;
mod shuffle;
#[allow(unsafe_code, reason = "calls code for instructions that it has looked for")]
mod wide;

pub use decode::{Buffer, Scratch};
pub use encode::{CompressOptions, Compressor, compress, compress_into};
pub use header::{Codec, HEADER_LEN, Header, MAX_NBYTES, Shuffle};
