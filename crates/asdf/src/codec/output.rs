//! Where decoded bytes go: a buffer that grows, one that the caller gave, or on, piece by piece.

use binio::{Error, ErrorKind};

/// Size of the first step of a growing buffer.
const FIRST_STEP: usize = 1 << 20;
/// Size of a piece of chunks that is passed on: enough for some, which are decoded in parallel.
pub(super) const PIECE_OF_CHUNKS: usize = 8 << 20;
/// Size of a piece of a stream that is passed on.
pub(super) const PIECE_OF_STREAM: usize = 1 << 20;

/// Takes decoded bytes, piece by piece.
pub(crate) type Taker<'a> = dyn FnMut(&[u8]) -> Result<(), Error> + 'a;

/// Decoded bytes, at most as many as are wanted.
pub(super) struct Output<'a> {
    storage: Storage<'a>,
    filled: usize,
    want: usize,
}

enum Storage<'a> {
    /// As large as the stored bytes can make plausible, then growing by doubling. What is never
    /// written to is never touched, so memory is taken for what was really decoded.
    Growing(Vec<u8>),
    Fixed(&'a mut [u8]),
    /// A piece that is passed on when it is filled.
    Passing {
        piece: Vec<u8>,
        size: usize,
        taker: &'a mut Taker<'a>,
        failed: Option<Error>,
    },
}

impl<'a> Output<'a> {
    /// A buffer that grows up to `want` bytes. `plausible` is how many the stored bytes may well
    /// decode to: so much is allocated at once, since a buffer that moves loses its large pages.
    pub(super) fn growing(want: u64, plausible: u64) -> Result<Self, Error> {
        let first = usize::try_from(plausible.min(want)).map_err(|_| out_of_memory(want))?;
        let want = usize::try_from(want).map_err(|_| out_of_memory(want))?;
        let buffer = bytemuck::allocation::try_zeroed_vec(first);
        let mut buffer = buffer.map_err(|()| out_of_memory(plausible))?;
        binio::memory::prefer_huge_pages(&mut buffer);
        Ok(Self { storage: Storage::Growing(buffer), filled: 0, want })
    }

    /// The caller's buffer, all of which is wanted.
    pub(super) fn fixed(buffer: &'a mut [u8]) -> Self {
        Self { filled: 0, want: buffer.len(), storage: Storage::Fixed(buffer) }
    }

    /// A piece of some size at a time, of `want` bytes in all.
    pub(super) fn passing(want: u64, size: usize, taker: &'a mut Taker<'a>) -> Result<Self, Error> {
        let want = usize::try_from(want).map_err(|_| out_of_memory(want))?;
        let storage = Storage::Passing { piece: Vec::new(), size, taker, failed: None };
        Ok(Self { storage, filled: 0, want })
    }

    /// Fails if the taker has failed.
    pub(super) fn finish(self) -> Result<(), Error> {
        match self.storage {
            Storage::Passing { failed: Some(error), .. } => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn filled(&self) -> u64 {
        self.filled as u64
    }

    pub(super) fn want(&self) -> u64 {
        self.want as u64
    }

    pub(super) fn is_full(&self) -> bool {
        self.filled == self.want
    }

    /// How many bytes can be taken now without more than a doubling of the buffer.
    pub(super) fn step(&self) -> usize {
        match &self.storage {
            Storage::Growing(_) => self.filled.max(FIRST_STEP).min(self.want - self.filled),
            Storage::Fixed(_) => self.want - self.filled,
            Storage::Passing { size, .. } => (*size).min(self.want - self.filled),
        }
    }

    /// Room for `len` more bytes, or for what is still wanted if that is less.
    pub(super) fn room(&mut self, len: usize) -> Result<&mut [u8], Error> {
        let end = self.filled.saturating_add(len).min(self.want);
        let buffer = match &mut self.storage {
            Storage::Growing(buffer) => {
                if buffer.len() < end {
                    let more = end - buffer.len();
                    binio::memory::grow(buffer, "decoded data", more as u64)?;
                    buffer.resize(end, 0);
                }
                &mut buffer[..end]
            }
            Storage::Fixed(buffer) => &mut buffer[..end],
            Storage::Passing { failed: Some(error), .. } => return Err(error.clone()),
            Storage::Passing { piece, .. } => {
                let len = end - self.filled;
                if piece.len() < len {
                    let more = len - piece.len();
                    binio::memory::grow(piece, "decoded data", more as u64)?;
                    piece.resize(len, 0);
                }
                return Ok(&mut piece[..len]);
            }
        };
        Ok(&mut buffer[self.filled..])
    }

    /// Marks the first `len` bytes of the room as data.
    pub(super) fn advance(&mut self, len: usize) {
        if let Storage::Passing { piece, taker, failed, .. } = &mut self.storage {
            let len = len.min(piece.len());
            *failed = taker(&piece[..len]).err();
        }
        self.filled = self.filled.saturating_add(len).min(self.want);
    }

    /// The data of a growing buffer.
    pub(super) fn into_vec(self) -> Vec<u8> {
        match self.storage {
            Storage::Growing(mut buffer) => {
                buffer.truncate(self.filled);
                buffer
            }
            Storage::Fixed(buffer) => buffer[..self.filled].to_vec(),
            Storage::Passing { .. } => Vec::new(),
        }
    }
}

/// The error of an allocation that failed.
pub(super) fn out_of_memory(requested: u64) -> Error {
    Error::new(ErrorKind::OutOfMemory { what: "decoded data", requested })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_size_takes_no_memory_before_there_is_data() {
        let mut output = Output::growing(1 << 62, 100).unwrap();
        assert_eq!(output.step(), FIRST_STEP);
        assert_eq!(output.room(FIRST_STEP).unwrap().len(), FIRST_STEP);
        output.advance(FIRST_STEP);
        assert_eq!(output.step(), FIRST_STEP, "doubles");
        output.advance(10);
        assert_eq!(output.into_vec().len(), FIRST_STEP);
    }

    #[test]
    fn a_fixed_buffer_is_wanted_whole() {
        let mut buffer = [0; 5];
        let mut output = Output::fixed(&mut buffer);
        output.room(2).unwrap().fill(7);
        output.advance(2);
        assert_eq!((output.filled(), output.want(), output.is_full()), (2, 5, false));
        output.room(9).unwrap().fill(8);
        output.advance(9);
        assert!(output.is_full());
        assert_eq!(buffer, [7, 7, 8, 8, 8]);
    }
}
