//! Reading a file in blocks, because finding addresses takes many small reads, most of them close together.

use std::sync::{Mutex, PoisonError};

use binio::ReadAt;
use binio::source::check_range;

use super::bytes::FileBytes;

/// Number of bytes per block.
const BLOCK: usize = 128;

/// Maximum total length of the remembered reads in bytes.
const MAX_ANSWERS: usize = 1 << 16;

/// A file that is read in blocks. Keeps the last block in memory, and remembers all reads and their
/// results, up to a limit.
pub(super) struct Blocks {
    file: FileBytes,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    block: Vec<u8>,
    start: u64,
    /// The offset and the bytes of each remembered read. A read that continues the previous read is
    /// merged with it.
    answers: Vec<(u64, Vec<u8>)>,
    answered: usize,
}

/// The length of a file, and all reads from it with their results. If another file has this length,
/// and the reads give the same results there, the code that made the reads behaves identically for
/// that file.
pub(super) struct Answers {
    len: u64,
    answers: Vec<(u64, Vec<u8>)>,
}

impl Blocks {
    pub(super) fn new(file: FileBytes) -> Self {
        Self { file, state: Mutex::default() }
    }

    /// Returns the reads so far and their results, or `None` if they exceed the limit.
    pub(super) fn answers(&self) -> Option<Answers> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = (state.answered <= MAX_ANSWERS).then(|| state.answers.clone())?;
        Some(Answers { len: self.file.len(), answers })
    }

    /// Returns `true` if this file has the length in `answers`, and if repeating the reads in
    /// `answers` gives the same results. A failed read counts as a different result.
    pub(super) fn gives(&self, answers: &Answers) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        self.file.len() == answers.len
            && answers.answers.iter().all(|(offset, bytes)| {
                found.resize(bytes.len(), 0);
                let read = self.read(&mut state, &mut found, *offset);
                read.is_ok() && found == *bytes
            })
    }

    fn read(&self, state: &mut State, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        let total = self.file.len();
        check_range(total, offset, buf.len() as u64)?;
        if self.file.is_memory() || buf.len() > BLOCK {
            return self.file.read_exact_at(buf, offset);
        }
        if let Some(bytes) = state.held(offset, buf.len()) {
            buf.copy_from_slice(bytes);
            return Ok(());
        }
        let len = usize::try_from(total - offset).unwrap_or(BLOCK).min(BLOCK);
        state.block.resize(len, 0);
        if let Err(error) = self.file.read_exact_at(&mut state.block, offset) {
            state.block.clear();
            return Err(error);
        }
        state.start = offset;
        buf.copy_from_slice(&state.block[..buf.len()]);
        Ok(())
    }
}

impl State {
    fn held(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let begin = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.block.get(begin..)?.get(..len)
    }

    fn remember(&mut self, offset: u64, bytes: &[u8]) {
        if let Some((start, known)) = self.answers.last_mut() {
            let end = *start + known.len() as u64;
            if *start <= offset && offset + bytes.len() as u64 <= end {
                return;
            }
            if offset == end {
                known.extend_from_slice(bytes);
                self.answered += bytes.len();
                return;
            }
        }
        self.answered += bytes.len();
        self.answers.push((offset, bytes.to_vec()));
    }
}

impl ReadAt for Blocks {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(&mut state, buf, offset)?;
        if state.answered <= MAX_ANSWERS {
            state.remember(offset, buf);
        }
        Ok(())
    }

    fn gap_worth_reading(&self) -> u64 {
        self.file.gap_worth_reading()
    }

    fn preferred_piece(&self) -> usize {
        self.file.preferred_piece()
    }
}
