//! Decoding the data of a block in order, in pieces of any size.
//!
//! All data is decoded in this way, whether as a whole, up to the end of a range, or piece by piece
//! for recompression. The framing determines how the next bytes are decoded: see `stream` for a
//! single stream and `chunks` for chunked data.

use binio::{Error, ErrorKind};

use super::{Failure, Irregularity};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// A decoder that returns the data of a block from beginning to end.
///
/// The data is only valid if [`finish`](Self::finish) succeeds, because some damage is only
/// detected at the end of a stream.
pub(crate) struct Decoder<'a> {
    stored: Box<dyn FramedDecoder + 'a>,
    progress: Progress<'a>,
}

/// A decoder for one of the framings, which decodes the data in order.
pub(super) trait FramedDecoder: Send {
    /// Fills `out` with the next bytes of the data. The caller must not request more bytes than
    /// remain to be decoded.
    fn fill(&mut self, out: &mut [u8], progress: &mut Progress<'_>) -> Result<(), Failure>;

    /// Returns the number of bytes to request next, so that they can be decoded without copying
    /// and, if possible, in parallel. `about` is the preferred number, but only a hint: chunked data
    /// is requested in whole chunks, or up to the end of a chunk.
    fn piece_len(&self, about: usize, progress: &Progress<'_>) -> usize;

    /// Skips to `position`, which must not be before the current position in the data.
    fn skip_to(&mut self, position: u64, progress: &mut Progress<'_>) -> Result<(), Failure>;

    /// Checks that the stored bytes end where the data ends.
    fn finish(&mut self, progress: &mut Progress<'_>) -> Result<(), Failure>;
}

/// The progress of decoding.
pub(super) struct Progress<'a> {
    /// The number of bytes of data that have been returned or skipped.
    pub(super) decoded: u64,
    /// The number of bytes to decode, counted from the beginning of the data.
    pub(super) wanted: u64,
    /// Irregularities found so far.
    notes: &'a mut Vec<Irregularity>,
}

impl Progress<'_> {
    /// Records an irregularity at an offset in the stored bytes.
    pub(super) fn note(&mut self, code: Code, offset: u64, message: String) {
        self.notes.push(Irregularity { code, offset, message });
    }

    /// Returns the error for stored bytes that end before all data has been decoded.
    pub(super) fn short(&self) -> CodecError {
        CodecError::ShortStream { found: self.decoded, expected: self.wanted }
    }
}

impl<'a> Decoder<'a> {
    pub(super) fn new(
        stored: Box<dyn FramedDecoder + 'a>,
        wanted: u64,
        notes: &'a mut Vec<Irregularity>,
    ) -> Self {
        Self { stored, progress: Progress { decoded: 0, wanted, notes } }
    }

    /// Returns the number of bytes that remain to be decoded.
    pub(crate) fn left(&self) -> u64 {
        self.progress.wanted - self.progress.decoded
    }

    /// Decodes the next bytes of the data until `out` is full or the data ends. Returns the number of bytes
    /// decoded.
    pub(crate) fn fill(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let len = self.at_most_left(out.len());
        self.stored.fill(&mut out[..len], &mut self.progress)?;
        Ok(len)
    }

    /// Returns the number of bytes to request next, so that decoding is fast. `about` is the preferred
    /// number, but only a hint.
    pub(crate) fn piece_len(&self, about: usize) -> usize {
        self.at_most_left(self.stored.piece_len(about, &self.progress))
    }

    /// Decodes the next piece of the data into `buffer`, which can be reused for all pieces. The piece is
    /// empty at the end of the data.
    pub(crate) fn next_piece<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Failure> {
        let len = self.piece_len(0);
        if buffer.len() < len {
            *buffer = zeroed(len)?;
        }
        let len = self.fill(&mut buffer[..len])?;
        Ok(&buffer[..len])
    }

    /// Skips to `position`, or to the end of the data if `position` is after it.
    pub(super) fn skip_to(&mut self, position: u64) -> Result<(), Failure> {
        self.stored.skip_to(position.min(self.progress.wanted), &mut self.progress)
    }

    /// Decodes the rest of the data into a buffer, which grows as data is decoded, so that a false `data_size`
    /// does not cost much memory.
    ///
    /// The buffer initially has `plausible` bytes, or fewer if fewer remain to be decoded. A smaller buffer
    /// would soon have to grow, and moving the data to a larger buffer would lose its large pages. A page of
    /// the buffer takes no memory until it is written to.
    pub(super) fn rest(&mut self, plausible: u64) -> Result<Vec<u8>, Failure> {
        let wanted = usize::try_from(self.left()).map_err(|_| out_of_memory(self.left()))?;
        let mut data = zeroed(usize::try_from(plausible).unwrap_or(usize::MAX).min(wanted))?;
        let mut filled = 0;
        while filled < wanted {
            let end = filled + self.piece_len(filled.max(data.len() - filled));
            if data.len() < end {
                let more = end - data.len();
                binio::memory::grow(&mut data, "decoded data", more as u64)?;
                data.resize(end, 0);
            }
            filled += self.fill(&mut data[filled..end])?;
        }
        Ok(data)
    }

    /// Checks that the stored bytes end where the data ends. All data must have been decoded.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stored.finish(&mut self.progress)
    }

    fn at_most_left(&self, len: usize) -> usize {
        usize::try_from(self.left()).unwrap_or(usize::MAX).min(len)
    }
}

/// Returns a buffer of zeros for decoded data.
pub(super) fn zeroed(len: usize) -> Result<Vec<u8>, Error> {
    binio::memory::zeroed("decoded data", len)
}

fn out_of_memory(requested: u64) -> Error {
    Error::new(ErrorKind::OutOfMemory { what: "decoded data", requested })
}
