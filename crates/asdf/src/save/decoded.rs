//! The data of a compressed block, which are decoded while they are read, so that not all of them are
//! in memory.

use crate::error::Result;
use crate::file::blocks::Block;
use binio::ReadAt;

/// Decoded data are passed on in pieces of this size.
#[cfg(not(target_family = "wasm"))]
const PIECE: usize = 1 << 20;

/// Calls a function with the data, which it reads once, from the beginning to the end. What it has
/// read is right only if this succeeds.
#[cfg(not(target_family = "wasm"))]
pub(super) fn with_decoded<R>(
    block: &Block<'_>,
    read: impl FnOnce(&dyn ReadAt) -> Result<R>,
) -> Result<R> {
    use std::sync::mpsc::sync_channel;

    use bytes::Bytes;

    let len = block.data_len()?;
    // Not a task of rayon's: a pool of one thread would wait for itself.
    std::thread::scope(|scope| {
        let (sender, pieces) = sync_channel(1);
        let decoder = scope.spawn(move || {
            block.decode_pieces(&mut |decoded| {
                decoded.chunks(PIECE).try_for_each(|piece| {
                    let sent = sender.send(Bytes::copy_from_slice(piece));
                    // The reader has failed, and says why.
                    sent.map_err(|_| binio::Error::unsupported("to decode what nobody reads"))
                })
            })
        });
        let data = once::Once::new(len, pieces);
        let result = read(&data);
        let is_short = data.is_short();
        drop(data);
        match (result, decoder.join()) {
            (_, Err(panic)) => std::panic::resume_unwind(panic),
            (Err(error), Ok(_)) if !is_short => Err(error),
            (_, Ok(Err(error))) => Err(error),
            (result, Ok(Ok(()))) => result,
        }
    })
}

/// The same where there are no threads: all data are in memory.
#[cfg(target_family = "wasm")]
pub(super) fn with_decoded<R>(
    block: &Block<'_>,
    read: impl FnOnce(&dyn ReadAt) -> Result<R>,
) -> Result<R> {
    read(&block.decode()?)
}

#[cfg(not(target_family = "wasm"))]
mod once {
    use std::sync::mpsc::Receiver;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use binio::ReadAt;
    use bytes::{Buf as _, Bytes};

    /// Data that are read once, from the beginning to the end.
    pub(super) struct Once {
        len: u64,
        state: Mutex<State>,
    }

    struct State {
        pieces: Receiver<Bytes>,
        /// What of the last piece has not been read, and its offset.
        rest: Bytes,
        offset: u64,
        is_short: bool,
    }

    impl Once {
        pub(super) fn new(len: u64, pieces: Receiver<Bytes>) -> Self {
            let state = State { pieces, rest: Bytes::new(), offset: 0, is_short: false };
            Self { len, state: Mutex::new(state) }
        }

        /// Whether there were fewer bytes than were to be.
        pub(super) fn is_short(&self) -> bool {
            self.state().is_short
        }

        fn state(&self) -> MutexGuard<'_, State> {
            self.state.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl ReadAt for Once {
        fn len(&self) -> u64 {
            self.len
        }

        fn read_exact_at(&self, mut buffer: &mut [u8], offset: u64) -> binio::Result<()> {
            let mut state = self.state();
            if offset != state.offset {
                return Err(binio::Error::unsupported("to read data twice that are decoded once"));
            }
            let needed = buffer.len() as u64;
            while !buffer.is_empty() {
                if state.rest.is_empty() {
                    let Ok(piece) = state.pieces.recv() else {
                        state.is_short = true;
                        let available = needed - buffer.len() as u64;
                        return Err(binio::Error::truncated(needed, available).at(offset));
                    };
                    state.rest = piece;
                }
                let (now, later) = buffer.split_at_mut(buffer.len().min(state.rest.len()));
                state.rest.copy_to_slice(now);
                state.offset += now.len() as u64;
                buffer = later;
            }
            Ok(())
        }
    }
}
