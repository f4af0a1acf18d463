//! Reading pipes and other input that cannot seek, with only one item at a time in memory.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binio::{ReadAt, check_limit};

use super::bytes::FileBytes;
use super::open::OpenOptions;
use super::value::{File, Resolved};
use crate::error::{Error, ErrorKind};
use crate::layout::{Layout, Subject};
use crate::place::{Resolver, Row, Steps};
use crate::signature::Signature;

/// Maximum number of bytes per read.
const PIECE: u64 = 1 << 18;

impl Layout {
    /// Returns `true` if no item or parameter has an explicit address, so that everything is stored in order of
    /// declaration and the file can be read from a pipe.
    pub fn is_in_order(&self) -> bool {
        self.out_of_order().is_none()
    }

    /// Returns the first item or parameter with an explicit address, or `None` if there is no such
    /// item or parameter.
    fn out_of_order(&self) -> Option<Subject> {
        let mut subjects = self.declarations().iter().filter_map(|found| found.subject());
        subjects.find(|&subject| self.has_explicit_address(subject))
    }
}

impl OpenOptions {
    /// Returns `true` if a layout without explicit addresses is set, so that files can be [read in
    /// order](Self::read_in_order).
    pub fn reads_in_order(&self) -> bool {
        self.given_layout().is_ok_and(|layout| layout.is_in_order())
    }

    /// Reads a file sequentially from a pipe, or from other input that cannot seek, without copying
    /// it to disk. The layout must be set. Calls `visit` with each stored item and parameter until
    /// `visit` returns `Break`. If `only` is given, calls `visit` only with the item or parameter
    /// at this path. The [`File`] passed to `visit` can read only the data of the current row.
    /// Data that `visit` does not read is skipped.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use dudley::OpenOptions;
    ///
    /// let options = OpenOptions::new().parse("N : u1  x = u1[N]  y = u1[N]")?;
    /// let (pipe, mut sums) = (&[2, 1, 2, 3, 4][..], Vec::new());
    /// options.read_in_order(pipe, None, |file, row| {
    ///     sums.push(file.array_of(row)?.read::<u8>()?.iter().sum::<u8>());
    ///     Ok(ControlFlow::Continue(()))
    /// })?;
    /// assert_eq!(sums, [2, 3, 7]);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`NoLayout`](ErrorKind::NoLayout) if no layout is set, and with
    /// [`NotInOrder`](ErrorKind::NotInOrder) if the layout has explicit addresses. Fails with
    /// [`Read`](ErrorKind::Read) if the input cannot be read, or if a visited item exceeds
    /// [`max_alloc`](binio::Limits::max_alloc), and with [`Layout`](ErrorKind::Layout) if an address cannot
    /// be computed, for example because the input ends before a parameter. If the signature is damaged, fails
    /// like [`Signature::of`]. If there is nothing at the path `only`, or if the path leads to something that
    /// is not stored, fails like [`File::get`]. Stops at the first error of `visit` and returns it.
    pub fn read_in_order(
        &self,
        input: impl Read + Send + 'static,
        only: Option<&str>,
        mut visit: impl FnMut(&File, Row) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let layout = self.given_layout()?;
        if let Some(subject) = layout.out_of_order() {
            return Err(ErrorKind::NotInOrder { path: layout.subject_path(subject) }.into());
        }
        let only = only.map(|path| layout.stored_at(path)).transpose()?.map(|found| found.0);
        let window = Arc::new(Window::new(input, self.reading_limits().max_alloc));
        window.fill(Signature::LEN)?;
        let signature = Signature::of(&*window)?;
        let resolver = Resolver::new(Arc::clone(&layout)).rules(self.given_rules().clone());
        let mut inputs = resolver.stream(&*window)?.into_inputs();
        let reading = inputs.with_stream(&*window);
        let mut steps = Steps::new(&layout, &reading);
        let source = FileBytes::new(Arc::clone(&window));
        loop {
            let was_open = window.is_open();
            let is_wanted = |row: &Row| only.is_none_or(|only| row.subject() == only);
            let mut row = steps.step();
            if let Some(found) =
                row.as_ref().and_then(|row| row.as_ref().ok()).filter(|row| is_wanted(row))
            {
                if let (Some(address), Some(nbytes)) = (found.address(), found.nbytes()) {
                    window.fill(address.saturating_add(nbytes))?;
                }
            }
            if was_open && !window.is_open() {
                // The end of the input has been reached, so its length is now known. Repeat the
                // step, so that errors are the same as for a regular file.
                row = steps.again();
            }
            let Some(row) = row.transpose()? else { return Ok(()) };
            if is_wanted(&row) {
                let (layout, table) = (Arc::clone(&layout), steps.lend(Arc::clone(&layout)));
                let resolved = Resolved { layout, table, stopped: None, inputs, is_invalid: false };
                let file = File::new(source.clone(), signature, resolved, *self.reading_limits());
                let file = file.with_filters(self.registered().clone());
                let outcome = visit(&file, row)?;
                let resolved = file.into_resolved();
                inputs = resolved.inputs;
                steps.take_back(resolved.table);
                if outcome.is_break() || only.is_some() {
                    return Ok(());
                }
            }
            match steps.end() {
                Some(end) => window.forget(end)?,
                None => return Ok(()),
            }
        }
    }
}

/// The part of the input that is kept in memory, beginning at the current item.
struct Window {
    state: Mutex<State>,
    max: u64,
}

struct State {
    input: Box<dyn Read + Send>,
    /// Offset in the input of the first byte in `kept`.
    start: u64,
    kept: Vec<u8>,
    /// The length of the input in bytes, once its end has been reached.
    len: Option<u64>,
}

impl Window {
    fn new(input: impl Read + Send + 'static, max: u64) -> Self {
        let state = State { input: Box::new(input), start: 0, kept: Vec::new(), len: None };
        Self { state: Mutex::new(state), max }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` as long as the end of the input has not been reached.
    fn is_open(&self) -> bool {
        self.state().len.is_none()
    }

    /// Reads up to the address `to`, or to the end of the input.
    fn fill(&self, to: u64) -> binio::Result<()> {
        self.state().fill(to, self.max)
    }

    /// Discards the bytes before an address.
    fn forget(&self, before: u64) -> binio::Result<()> {
        self.state().forget(before)
    }
}

impl State {
    fn end(&self) -> u64 {
        self.start + self.kept.len() as u64
    }

    fn fill(&mut self, to: u64, max: u64) -> binio::Result<()> {
        while self.end() < to && self.len.is_none() {
            // Read in small steps instead of reserving memory in advance, because an item may claim
            // any size.
            let more = (to - self.end()).min(PIECE);
            check_limit("bytes of an item from a pipe", max, self.kept.len() as u64 + more)?;
            self.read(more)?;
        }
        Ok(())
    }

    /// Reads `more` bytes, or fewer at the end of the input.
    fn read(&mut self, more: u64) -> binio::Result<()> {
        let before = self.kept.len();
        let read = (&mut self.input).take(more).read_to_end(&mut self.kept);
        read.map_err(binio::Error::from)?;
        if ((self.kept.len() - before) as u64) < more {
            self.len = Some(self.end());
        }
        Ok(())
    }

    fn forget(&mut self, before: u64) -> binio::Result<()> {
        while self.end() < before && self.len.is_none() {
            self.start = self.end();
            self.kept.clear();
            self.read((before - self.start).min(PIECE))?;
        }
        let count = usize::try_from(before.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let count = count.min(self.kept.len());
        self.kept.drain(..count);
        self.start += count as u64;
        Ok(())
    }
}

impl ReadAt for Window {
    /// Returns the length of the input, or the maximum address if its end has not been reached.
    fn len(&self) -> u64 {
        self.state().len.unwrap_or(i64::MAX.unsigned_abs())
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        let mut state = self.state();
        let end = offset.saturating_add(buf.len() as u64);
        state.fill(end, self.max)?;
        if let Some(len) = state.len {
            binio::source::check_range(len, offset, buf.len() as u64)?;
        }
        let start = offset.checked_sub(state.start);
        let start = start.and_then(|start| usize::try_from(start).ok());
        let part = start.and_then(|start| state.kept.get(start..start.checked_add(buf.len())?));
        let gone =
            || binio::Error::unsupported("earlier data of a pipe cannot be read again").at(offset);
        buf.copy_from_slice(part.ok_or_else(gone)?);
        Ok(())
    }
}
