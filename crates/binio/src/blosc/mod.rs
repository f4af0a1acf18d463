//! Blosc-1 buffers, which Bloscpack files, ASDF `blsc` blocks, Zarr and HDF5 use for compressed
//! chunks.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 16 | header, see [`Header`] |
//! | 16 | 4 · blocks | offset of each block from the start of the buffer, i32 |
//! | | | blocks in any order, each with a single stream or one stream per byte of an element |
//!
//! Each stream is preceded by its length (i32). A stream as long as its data is stored plain; all
//! others are compressed with the codec of the buffer. After decompression, the bytes or bits of a
//! block are unshuffled. If the data is too short to compress or does not shrink, the buffer is
//! *memcpyed*: the uncompressed data follows the header. All integers are little-endian.
//!
//! Decoding never calls the C library of Blosc; only zstd streams are decoded by C code. The
//! decoder checks that the fields agree with each other and with the number of bytes available.
//! Start with [`Buffer`]:
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
//! // Decode a part of the data. Only the blocks that contain the part are decoded.
//! let mut part = [0; 8];
//! buffer.decode_range_into(4000..4008, &mut part, &mut Scratch::default())?;
//! assert_eq!(part, data[4000..4008]);
//! # Ok::<(), binio::Error>(())
//! ```
//!
//! With the feature `blosc-compress`, every compressor except snappy comes from the C library, so
//! the output is identical to that of the library. Without the feature, lz4, snappy, zlib and, with
//! the feature `blosc-zstd`, zstd are available; their output decodes to the same data but differs
//! in its bytes.

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
#[allow(
    unsafe_code,
    reason = "calls code compiled for AVX2 after checking that the processor supports it"
)]
mod wide;

pub use decode::{Buffer, Scratch};
pub use encode::{CompressOptions, Compressor, compress, compress_into};
pub use header::{Codec, HEADER_LEN, Header, MAX_NBYTES, Shuffle};
