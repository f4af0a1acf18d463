//! Compressing a chunk and computing its digest.

use std::ops::Range;

use binio::ReadAt;
use binio::blosc::{CompressOptions, Compressor, HEADER_LEN, Shuffle, compress, compress_into};

use crate::Checksum;
use crate::error::{Error, ErrorKind, Result};

/// The parameters for compressing chunks, and the algorithm of their digests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    pub(crate) compress: CompressOptions,
    pub(crate) checksum: Checksum,
}

impl Recipe {
    /// Checks that the options are within their ranges, and that this build has the compressor.
    pub(crate) fn new(
        compressor: Compressor,
        level: u8,
        shuffle: Shuffle,
        typesize: u32,
        checksum: Checksum,
    ) -> Result<Self> {
        let reject = |option, message| Error::new(ErrorKind::InvalidOption { option, message });
        if level > 9 {
            return Err(reject("level", format!("{level}, expected 0 to 9")));
        }
        let typesize = match u8::try_from(typesize) {
            Ok(typesize) if typesize > 0 => typesize,
            _ => return Err(reject("typesize", format!("{typesize}, expected 1 to 255"))),
        };
        let options = CompressOptions::new(compressor).level(level).shuffle(shuffle);
        let options = options.typesize(typesize);
        // Compressing empty data shows whether this build has the compressor.
        match compress(&[], &options) {
            Ok(_) => Ok(Self { compress: options, checksum }),
            Err(error) => Err(reject("compressor", error.to_string())),
        }
    }

    /// Writes the Blosc buffer of a chunk and its digest to `stored`, whose memory is reused.
    pub(crate) fn store(&self, plain: &[u8], stored: &mut Vec<u8>) -> Result<()> {
        stored.clear();
        stored.reserve(plain.len() + HEADER_LEN + self.checksum.len());
        compress_into(plain, &self.compress, stored)?;
        let digest = self.checksum.compute(stored);
        stored.extend_from_slice(&digest);
        Ok(())
    }

    /// Like [`store`](Self::store), but for a range of a source. Data in memory is not copied;
    /// other data is read into `read`.
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
