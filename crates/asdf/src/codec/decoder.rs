//! Decoding the data of a block in order, as many bytes at a time as the caller asks for.
//!
//! This is the only way in which data is decoded: into a buffer that grows, into the caller's
//! buffer, a part of it, or piece by piece to compress it again. The framing decides how the next
//! bytes are decoded: `stream` for one stream, `chunks` for data in chunks.

use binio::{Error, ErrorKind};

use super::{Failure, Irregularity};
use crate::diagnostic::Code;
use crate::error::CodecError;

/// Decodes the data of a block from its beginning to its end.
///
/// The bytes are right only if [`finish`](Self::finish) succeeds: the end of a stream shows whether
/// it is whole.
pub(crate) struct Decoder<'a> {
    stored: Box<dyn FramedDecoder + 'a>,
    progress: Progress<'a>,
}

/// Stored bytes of some framing, of which the data is decoded in order.
pub(super) trait FramedDecoder: Send {
    /// Decodes the next `out.len()` bytes of the data. The caller asks for no more than are wanted.
    fn fill(&mut self, out: &mut [u8], progress: &mut Progress<'_>) -> Result<(), Failure>;

    /// Returns how many bytes to ask for next, so that they are decoded without a copy and, if
    /// possible, in parallel: about `about` bytes, but no fewer than the framing works with.
    fn piece_len(&self, about: usize, progress: &Progress<'_>) -> usize;

    /// Continues at `position`, which is not before the current one.
    fn skip_to(&mut self, position: u64, progress: &mut Progress<'_>) -> Result<(), Failure>;

    /// Checks what follows the data.
    fn finish(&mut self, progress: &mut Progress<'_>) -> Result<(), Failure>;
}

/// How far decoding got.
pub(super) struct Progress<'a> {
    /// The number of bytes decoded or skipped.
    pub(super) decoded: u64,
    /// The number of bytes to decode.
    pub(super) wanted: u64,
    /// Irregularities found so far.
    notes: &'a mut Vec<Irregularity>,
}

impl Progress<'_> {
    /// Records an irregularity at an offset in the stored bytes.
    pub(super) fn note(&mut self, code: Code, offset: u64, message: String) {
        self.notes.push(Irregularity { code, offset, message });
    }

    /// The error of stored bytes that end too early.
    pub(super) fn short(&self) -> CodecError {
        CodecError::ShortStream { got: self.decoded, want: self.wanted }
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

    /// The number of bytes that are still to be decoded.
    pub(crate) fn left(&self) -> u64 {
        self.progress.wanted - self.progress.decoded
    }

    /// Decodes the next bytes of the data, until `out` is full or the data ends. Returns the number
    /// of bytes decoded.
    pub(crate) fn fill(&mut self, out: &mut [u8]) -> Result<usize, Failure> {
        let len = self.at_most_left(out.len());
        self.stored.fill(&mut out[..len], &mut self.progress)?;
        Ok(len)
    }

    /// Returns how many bytes to ask for next: about `about`, or more if the framing needs them to
    /// be fast.
    pub(crate) fn piece_len(&self, about: usize) -> usize {
        self.at_most_left(self.stored.piece_len(about, &self.progress))
    }

    /// Decodes the next piece of the data into a buffer that is used for all pieces. The piece is
    /// empty at the end of the data.
    pub(crate) fn next_piece<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<&'b [u8], Failure> {
        let len = self.piece_len(0);
        if buffer.len() < len {
            *buffer = zeroed(len)?;
        }
        let len = self.fill(&mut buffer[..len])?;
        Ok(&buffer[..len])
    }

    /// Skips the data before `position`.
    pub(super) fn skip_to(&mut self, position: u64) -> Result<(), Failure> {
        self.stored.skip_to(position.min(self.progress.wanted), &mut self.progress)
    }

    /// Decodes the rest of the data into a buffer that grows with what is decoded, so that a
    /// `data_size` that lies costs nothing.
    ///
    /// The buffer begins with the `plausible` number of bytes, since a buffer that is moved loses
    /// its large pages. Memory is only used once it is written to.
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

    /// Checks that the stored bytes end where the data does. All data must have been decoded.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.stored.finish(&mut self.progress)
    }

    fn at_most_left(&self, len: usize) -> usize {
        usize::try_from(self.left()).unwrap_or(usize::MAX).min(len)
    }
}

/// A buffer of zeros, which takes up memory only where it is written to.
pub(super) fn zeroed(len: usize) -> Result<Vec<u8>, Error> {
    let buffer = bytemuck::allocation::try_zeroed_vec(len);
    let mut buffer = buffer.map_err(|()| out_of_memory(len as u64))?;
    binio::memory::prefer_huge_pages(&mut buffer);
    Ok(buffer)
}

fn out_of_memory(requested: u64) -> Error {
    Error::new(ErrorKind::OutOfMemory { what: "decoded data", requested })
}
