//! Options for writing a file.

use binio::blosc::{Compressor, Shuffle};
use bytes::Bytes;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::format::metadata::encode::{section, to_text};
use crate::format::{Chunking, Header, MetadataOptions, Version};
use crate::parallel;
use crate::write::chunk_encoder::Recipe;
use crate::{Checksum, ChunkSize};

/// The default compressor: blosclz, the default of the original program, if this build supports it;
/// otherwise lz4.
pub(crate) const COMPRESSOR: Compressor =
    if cfg!(feature = "c-blosc") { Compressor::Blosclz } else { Compressor::Lz4 };
pub(crate) const LEVEL: u8 = 7;
pub(crate) const TYPESIZE: u8 = 8;

/// Options for writing a file. The defaults are those of the original program: version 3, blosclz
/// at level 7 with byte shuffle for 8-byte elements, chunks of 1 MiB, adler32, and ten spare
/// offsets per chunk. Without the feature `c-blosc`, which provides blosclz and lz4hc, the default
/// compressor is lz4. Chunks are compressed on all threads of the caller's `rayon` pool.
///
/// Options are checked before anything is written. An invalid value fails with
/// [`InvalidOption`](ErrorKind::InvalidOption), an option that the version does not support fails
/// with [`NotInVersion`](ErrorKind::NotInVersion), metadata that does not fit its reserved space
/// fails with [`NotEnoughSpace`](ErrorKind::NotEnoughSpace), and metadata text longer than 16 MiB
/// fails with [`Limit`](ErrorKind::Limit).
///
/// ```
/// use bloscpack::{Checksum, ChunkSize, Compressor, Shuffle, WriteOptions, pack_to_vec};
///
/// let options = WriteOptions::new()
///     .compressor(Compressor::Zstd)
///     .level(3)
///     .shuffle(Shuffle::Bit)
///     .typesize(2)
///     .chunk_size(ChunkSize::Bytes(256 << 10))
///     .checksum(Checksum::Sha256)
///     .metadata(&serde_json::json!({"unit": "K"}));
/// let file = pack_to_vec(&[7; 1_000_000], &options)?;
/// assert_eq!(&file[..8], b"blpk\x03\x03\x06\x02");
/// # Ok::<(), bloscpack::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WriteOptions {
    pub(crate) version: Version,
    pub(crate) compressor: Compressor,
    pub(crate) level: u8,
    pub(crate) shuffle: Shuffle,
    pub(crate) typesize: u32,
    pub(crate) chunk_size: ChunkSize,
    pub(crate) checksum: Checksum,
    pub(crate) offsets: bool,
    pub(crate) max_app_chunks: Option<u64>,
    pub(crate) metadata: Option<Bytes>,
    pub(crate) metadata_options: MetadataOptions,
    pub(crate) threads: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            version: Version::V3,
            compressor: COMPRESSOR,
            level: LEVEL,
            shuffle: Shuffle::Byte,
            typesize: TYPESIZE.into(),
            chunk_size: ChunkSize::default(),
            checksum: Checksum::Adler32,
            offsets: true,
            max_app_chunks: None,
            metadata: None,
            metadata_options: MetadataOptions::default(),
            threads: parallel::ALL,
        }
    }
}

impl WriteOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the version of the format, 3 or 2.
        version: Version;
        /// Sets the compressor.
        compressor: Compressor;
        /// Sets the compression level, from 0 (not compressed) to 9 (smallest).
        level: u8;
        /// Sets how the elements are shuffled before compression.
        shuffle: Shuffle;
        /// Sets the size of an element in bytes, 1 to 255.
        typesize: u32;
        /// Sets the chunk size. If the data is shorter, the file has a single chunk.
        chunk_size: ChunkSize;
        /// Sets the checksum of the chunks.
        checksum: Checksum;
        /// Sets whether a table of offsets is written.
        offsets: bool;
        /// Sets the number of spare offsets, one for each chunk that can be appended. Default: ten
        /// per chunk. If the length of the table of offsets would exceed 64 bits, packing fails
        /// with [`InvalidOption`](ErrorKind::InvalidOption).
        max_app_chunks: u64 => Some(max_app_chunks);
        /// Sets the metadata, which can be any JSON value.
        metadata: &Value => Some(to_text(metadata).into());
        /// Sets how the metadata is stored.
        metadata_options: MetadataOptions;
        /// Sets the maximum number of threads with which to compress. They belong to the caller's
        /// `rayon` pool; with 1, only the caller's thread is used. Default: all.
        threads: usize => threads.max(1);
    }

    /// Checks all options. Returns the parameters for storing chunks, and the metadata section.
    pub(crate) fn check(&self) -> Result<(Recipe, Vec<u8>)> {
        let version = self.version;
        let not_here =
            |what| Error::new(ErrorKind::NotInVersion { what, version: version.number() });
        match version {
            Version::V2 if self.metadata.is_some() => {
                return Err(not_here("metadata is not supported"));
            }
            Version::V2 if self.max_app_chunks.is_some_and(|room| room > 0) => {
                return Err(not_here("space for appending is not supported"));
            }
            Version::V2 | Version::V3 => {}
            _ => return Err(not_here("writing is not supported")),
        }
        if !self.offsets && self.max_app_chunks.is_some_and(|room| room > 0) {
            let message = "spare offsets require a table of offsets".to_owned();
            return Err(ErrorKind::InvalidOption { option: "max_app_chunks", message }.into());
        }
        self.chunk_size.bytes()?;
        let section = match &self.metadata {
            Some(text) => section(text, &self.metadata_options)?,
            None => Vec::new(),
        };
        let Self { compressor, level, shuffle, typesize, checksum, .. } = *self;
        Ok((Recipe::new(compressor, level, shuffle, typesize, checksum)?, section))
    }

    /// Returns the header of a file whose data is divided into chunks according to `chunking`.
    pub(crate) fn header(&self, chunking: Chunking) -> Result<Header> {
        let has_room = self.offsets && self.version == Version::V3;
        let room = chunking.max_app_chunks(self.max_app_chunks);
        Ok(Header {
            offsets: self.offsets,
            chunk_size: Some(chunking.chunk_size),
            last_chunk: Some(chunking.last_chunk),
            nchunks: Some(chunking.nchunks),
            max_app_chunks: if has_room { room } else { 0 },
            ..self.stream_header()?
        })
    }

    /// Returns a header for data of unknown length, without a table of offsets. The header states
    /// neither the number of chunks nor the size of the last chunk.
    pub(crate) fn stream_header(&self) -> Result<Header> {
        Ok(Header {
            version: self.version,
            metadata: self.metadata.is_some(),
            checksum: self.checksum,
            typesize: u8::try_from(self.typesize).unwrap_or(u8::MAX),
            chunk_size: Some(self.chunk_size.bytes()?),
            ..Header::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rejected(options: &WriteOptions) -> Error {
        options.check().unwrap_err()
    }

    #[test]
    fn the_default_options_match_the_original_program() {
        let options = WriteOptions::new();
        let (recipe, section) = options.check().unwrap();
        assert_eq!(recipe.checksum, Checksum::Adler32);
        let compress = recipe.compress;
        assert_eq!((compress.level, compress.typesize), (7, 8));
        assert_eq!(compress.shuffle, Shuffle::Byte);
        assert!(section.is_empty());
        let chunking = Chunking::of(3 << 20, options.chunk_size).unwrap();
        let header = options.header(chunking).unwrap();
        assert_eq!((header.nchunks, header.max_app_chunks), (Some(3), 30));
        assert!(header.offsets);
    }

    #[test]
    fn options_out_of_range_are_rejected_with_their_names() {
        let new = WriteOptions::new;
        for (options, option) in [
            (new().level(10), "level"),
            (new().typesize(0), "typesize"),
            (new().typesize(256), "typesize"),
            (new().chunk_size(ChunkSize::Bytes(0)), "chunk_size"),
            (new().chunk_size(ChunkSize::Bytes(2_147_483_632)), "chunk_size"),
            (new().offsets(false).max_app_chunks(1), "max_app_chunks"),
        ] {
            let error = rejected(&options);
            assert!(error.to_string().starts_with(&format!("{option}: ")), "{error}");
        }
    }

    #[test]
    fn options_that_version_2_does_not_support_are_rejected() {
        let v2 = WriteOptions::new().version(Version::V2);
        v2.check().unwrap();
        assert_eq!(
            v2.header(Chunking::of(9, ChunkSize::Bytes(4)).unwrap()).unwrap().max_app_chunks,
            0
        );
        for (options, message) in [
            (v2.clone().metadata(&json!({})), "metadata is not supported in version 2"),
            (v2.clone().max_app_chunks(1), "space for appending is not supported in version 2"),
            (v2.version(Version::V1), "writing is not supported in version 1"),
        ] {
            assert_eq!(rejected(&options).to_string(), message);
        }
    }

    #[test]
    fn metadata_longer_than_max_size_is_rejected() {
        let metadata = MetadataOptions { max_size: Some(1), ..MetadataOptions::default() };
        let options = WriteOptions::new().metadata(&json!({})).metadata_options(metadata);
        assert!(matches!(rejected(&options).kind(), ErrorKind::NotEnoughSpace { .. }));
    }

    #[cfg(not(feature = "c-blosc"))]
    #[test]
    fn a_compressor_missing_from_the_build_is_rejected() {
        let error = rejected(&WriteOptions::new().compressor(Compressor::Blosclz));
        assert!(error.to_string().starts_with("compressor: "), "{error}");
    }
}
