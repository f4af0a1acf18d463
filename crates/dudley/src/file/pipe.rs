//! Files from a pipe, which cannot go back: what is stored is read in order, one item at a time in memory.

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

/// Bytes that are read at once.
const PIECE: u64 = 1 << 18;

impl Layout {
    /// Whether everything is stored in the order in which it is declared, as far as the layout tells: no item
    /// has a stated address. Then a file can be read from a pipe.
    pub fn is_in_order(&self) -> bool {
        self.out_of_order().is_none()
    }

    /// The first item or parameter whose address is stated.
    fn out_of_order(&self) -> Option<Subject> {
        let mut subjects = self.declarations().iter().filter_map(|found| found.subject());
        subjects.find(|&subject| self.has_stated_address(subject))
    }
}

impl OpenOptions {
    /// Whether a layout is set, and states no addresses, so that files can be
    /// [read in order](Self::read_in_order).
    pub fn reads_in_order(&self) -> bool {
        self.given_layout().is_ok_and(|layout| layout.is_in_order())
    }

    /// Reads a file in order, from a pipe or from whatever cannot go back, without a copy of it. The layout has
    /// to be given. `visit` is called with everything that is stored, until it breaks; with `only`, for the item
    /// or parameter of that path. The [`File`] knows nothing but this row, and what `visit` does not read of it
    /// is gone afterwards.
    ///
    /// # Errors
    /// If the input cannot be read, or ends too early; what `visit` returns; [`NoLayout`](ErrorKind::NoLayout)
    /// without a layout; [`NotInOrder`](ErrorKind::NotInOrder) if the layout states addresses;
    /// [`NotData`](ErrorKind::NotData) if there is no item or parameter with the path `only`.
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
                // Now that the length is known, what is wrong is what it is in a file.
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

/// The part of an input that is kept: from the beginning of an item on.
struct Window {
    state: Mutex<State>,
    max: u64,
}

struct State {
    input: Box<dyn Read + Send>,
    /// Where the kept bytes begin.
    start: u64,
    kept: Vec<u8>,
    /// The length of the input, once its end was met.
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

    /// Whether the end was not met yet.
    fn is_open(&self) -> bool {
        self.state().len.is_none()
    }

    /// Reads up to an address, as far as there is something.
    fn fill(&self, to: u64) -> binio::Result<()> {
        self.state().fill(to, self.max)
    }

    /// Drops what is before an address.
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
            // The buffer grows with what was read: an item may claim any size.
            let more = (to - self.end()).min(PIECE);
            check_limit("bytes of an item from a pipe", max, self.kept.len() as u64 + more)?;
            self.read(more)?;
        }
        Ok(())
    }

    /// Reads at most so many bytes.
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
    /// Before the end was met, as long as an address can be.
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
        let gone = || binio::Error::unsupported("a pipe cannot go back").at(offset);
        buf.copy_from_slice(part.ok_or_else(gone)?);
        Ok(())
    }
}
