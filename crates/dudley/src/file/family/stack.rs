//! The bytes of an array in all files of a family, concatenated.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use binio::ReadAt;
use binio::source::check_range;
use binio::write::FileOpener;

use super::super::blocks::{Answers, Blocks};
use super::super::bytes::FileBytes;
use super::super::open::OpenOptions;
use super::identity::Identity;
use crate::error::{Error, ErrorKind};
use crate::place::Location;

/// The part of a file between the first and the last byte of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// Length of the window in bytes.
    pub(super) len: u64,
    /// Offset of the array's first element in the window. It is not 0 if a stride is negative.
    pub(super) first: u64,
}

impl Window {
    pub(super) fn of(location: &Location) -> Result<Self, Error> {
        let Range { start, end } = location.extent()?;
        Ok(Self { len: end - start, first: location.address().saturating_sub(start) })
    }
}

/// The windows of all files, concatenated.
pub(super) struct Stack {
    pub(super) files: Arc<[PathBuf]>,
    pub(super) options: OpenOptions,
    pub(super) path: String,
    /// Location of the array in the first file. The array must have the same shape, strides and
    /// type in all other files.
    pub(super) first: Location,
    pub(super) window: Window,
    /// The address of the array in each file, and the check that each file matches its summary.
    /// `None` if the family has no summaries.
    pub(super) known: Option<(Arc<[u64]>, Arc<Identity>)>,
    pub(super) len: u64,
    pub(super) last: Mutex<Option<(usize, Opened)>>,
    pub(super) seen: Mutex<Option<Arc<Seen>>>,
}

/// The address of the array in a file, and the reads from which the address was computed. If these
/// reads give the same results in another file, the array has the same address there.
pub(super) struct Seen {
    answers: Answers,
    address: u64,
}

/// A function that opens a file.
type Open<'o> = dyn FnMut(&Path) -> Result<FileBytes, Error> + 'o;

/// An open file, and the offset of the window in this file.
#[derive(Clone)]
pub(super) struct Opened(FileBytes, u64);

impl Stack {
    fn open(&self, number: usize, bytes_of: &mut Open<'_>) -> Result<Opened, Error> {
        let file = &self.files[number];
        let source = bytes_of(file)?;
        let address = match &self.known {
            Some((addresses, _)) => addresses[number],
            None => self.address(file, &source)?,
        };
        let start = address.saturating_sub(self.window.first);
        let end = start.saturating_add(self.window.len);
        if end > source.len() {
            let (start, end, len) = (i128::from(start), i128::from(end), source.len());
            let path = format!("{}: {}", file.display(), self.path);
            return Err(ErrorKind::PastEnd { path, start, end, len }.into());
        }
        if let Some((_, identity)) = &self.known {
            identity.check(number, file, &source)?;
        }
        Ok(Opened(source, start))
    }

    /// Finds the address of the array in a file.
    fn address(&self, file: &Path, source: &FileBytes) -> Result<u64, Error> {
        let seen = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = Arc::new(Blocks::new(source.clone()));
        let last = seen().clone();
        if let Some(last) = last.filter(|last| blocks.gives(&last.answers)) {
            return Ok(last.address);
        }
        let asked = FileBytes::new(Arc::clone(&blocks));
        let opened = self.options.open_source(asked.clone(), &asked, Some(file))?;
        let found = opened.locate(&self.path)?;
        self.first.check_alike(&found, &self.path, file)?;
        let address = found.address();
        *seen() = blocks.answers().map(|answers| Arc::new(Seen { answers, address }));
        Ok(address)
    }

    /// Reads part of the window of a file.
    fn read(
        &self,
        bytes_of: &mut Open<'_>,
        number: usize,
        buf: &mut [u8],
        offset: u64,
    ) -> binio::Result<()> {
        let is_whole = buf.len() as u64 == self.window.len;
        let mut kept = if is_whole { None } else { self.last.try_lock().ok() };
        let known = kept.as_ref().and_then(|last| last.as_ref()).filter(|last| last.0 == number);
        let opened = match known {
            Some((_, opened)) => opened.clone(),
            None => self.open(number, bytes_of).map_err(|error| into_binio(&error))?,
        };
        opened.0.read_exact_at(buf, opened.1 + offset)?;
        if let Some(last) = &mut kept {
            **last = Some((number, opened));
        }
        Ok(())
    }
}

/// Converts an error about a file to a read error.
fn into_binio(error: &Error) -> binio::Error {
    match error.kind() {
        ErrorKind::Read(read) => read.clone(),
        _ => binio::Error::invalid(error.to_string()),
    }
}

impl ReadAt for Stack {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        check_range(self.len, offset, buf.len() as u64)?;
        if buf.is_empty() {
            return Ok(());
        }
        // A window longer than `usize::MAX` bytes may be clamped, because no buffer is that long.
        let window = usize::try_from(self.window.len).unwrap_or(usize::MAX);
        let (number, within) = (offset / self.window.len, offset % self.window.len);
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let rest = usize::try_from(self.window.len - within).unwrap_or(usize::MAX);
        if buf.len() <= rest {
            return self.read(&mut |file| self.options.bytes_of(file), number, buf, within);
        }
        let (head, buf) = buf.split_at_mut(if within == 0 { 0 } else { rest });
        if !head.is_empty() {
            self.read(&mut |file| self.options.bytes_of(file), number, head, within)?;
        }
        let number = if head.is_empty() { number } else { number + 1 };
        let read = |opener: &mut FileOpener, (at, part): (usize, &mut [u8])| {
            self.read(&mut |file| self.options.bytes_with(opener, file), number + at, part, 0)
        };
        #[cfg(feature = "rayon")]
        {
            use rayon::prelude::*;

            buf.par_chunks_mut(window).enumerate().try_for_each_init(FileOpener::default, read)
        }
        #[cfg(not(feature = "rayon"))]
        {
            let mut opener = FileOpener::default();
            buf.chunks_mut(window).enumerate().try_for_each(|part| read(&mut opener, part))
        }
    }
}
