//! A chunk from plain bytes to what is stored.

use std::ops::Range;

use binio::ReadAt;
use binio::blosc::{CompressOptions, Compressor, HEADER_LEN, Shuffle, compress, compress_into};

use crate::Checksum;
use crate::error::{Error, ErrorKind, Result};

/// How chunks are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    pub(crate) compress: CompressOptions,
    pub(crate) checksum: Checksum,
}

impl Recipe {
    /// Checks the options: that they are in their ranges, and that this build has the compressor.
    pub(crate) fn new(
        compressor: Compressor,
        level: u8,
        shuffle: Shuffle,
        typesize: u32,
        checksum: Checksum,
    ) -> Result<Self> {
        let refuse = |option, message| Error::new(ErrorKind::InvalidOption { option, message });
        if level > 9 {
            return Err(refuse("level", format!("{level}, expected 0 to 9")));
        }
        let typesize = match u8::try_from(typesize) {
            Ok(typesize) if typesize > 0 => typesize,
            _ => return Err(refuse("typesize", format!("{typesize}, expected 1 to 255"))),
        };
        let options = CompressOptions::new(compressor).level(level).shuffle(shuffle);
        let options = options.typesize(typesize);
        // No data are enough to learn whether there is such a compressor.
        match compress(&[], &options) {
            Ok(_) => Ok(Self { compress: options, checksum }),
            Err(error) => Err(refuse("compressor", error.to_string())),
        }
    }

    /// Makes the Blosc buffer and its digest of a chunk, in `stored`, whose memory is used again.
    pub(crate) fn store(&self, plain: &[u8], stored: &mut Vec<u8>) -> Result<()> {
        stored.clear();
        stored.reserve(plain.len() + HEADER_LEN + self.checksum.len());
        compress_into(plain, &self.compress, stored)?;
        let digest = self.checksum.compute(stored);
        stored.extend_from_slice(&digest);
        Ok(())
    }

    /// The same for a part of a source. Memory is not copied; anything else is read into `read`.
    pub(crate) fn store_from(
        &self,
        source: &dyn ReadAt,
        range: Range<u64>,
        read: &mut Vec<u8>,
        stored: &mut Vec<u8>,
    ) -> Result<()> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        if source.is_memory() {
            return self.store(&source.bytes_at(range.start, len)?, stored);
        }
        read.resize(len, 0);
        source.read_exact_at(read, range.start)?;
        self.store(read, stored)
    }
}
