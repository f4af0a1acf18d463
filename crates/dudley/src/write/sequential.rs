//! Writing data in address order, to a stream that cannot seek.

use std::io::{self, Write};

use binio::Context as _;

use crate::error::{Error, ErrorKind};
use crate::place::{AddressTable, Row};

/// Zeros for filling gaps.
const ZEROS: [u8; 4096] = [0; 4096];

/// An output stream, and the order in which rows are written to this stream.
pub(super) struct Sequential<'w> {
    out: &'w mut dyn Write,
    /// Number of bytes written so far.
    at: u64,
    /// Indices of the non-empty rows, in address order. `None` until `begin` is called.
    turns: Option<Vec<usize>>,
    next: usize,
}

impl<'w> Sequential<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self { out, at: 0, turns: None, next: 0 }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.turns.is_some()
    }

    /// Writes the signature and determines the order of the rows. All addresses and sizes must be
    /// known.
    pub(super) fn begin(
        &mut self,
        header: Option<&[u8; 16]>,
        table: &AddressTable,
    ) -> Result<(), Error> {
        let mut end = header.map_or(0, |header| header.len() as u64);
        let rows = table.rows().iter().enumerate();
        let placed = |(index, row): (usize, &Row)| {
            Some((row.address()?, row.nbytes().filter(|&nbytes| nbytes > 0)?, index))
        };
        let mut turns: Vec<_> = rows.filter_map(placed).collect();
        turns.sort_unstable();
        for &(address, nbytes, index) in &turns {
            if address < end {
                let path = table.entry(table.rows()[index]).path();
                let message = "it overlaps an earlier item, so the data cannot be written in order"
                    .to_owned();
                return Err(ErrorKind::Mismatch { path, message }.into());
            }
            end = address + nbytes;
        }
        self.turns = Some(turns.into_iter().map(|(.., index)| index).collect());
        self.put(header.map(|header| &header[..]).unwrap_or_default())
    }

    /// Returns the index of the next row to write. Returns `None` after the last row, or if `begin` has not
    /// been called.
    pub(super) fn next(&self) -> Option<usize> {
        self.turns.as_ref()?.get(self.next).copied()
    }

    /// Writes the next row, padded to its size with zeros. If `bytes` is `None`, writes only zeros.
    pub(super) fn write(&mut self, row: Row, bytes: Option<&[u8]>) -> Result<(), Error> {
        let address = row.address().unwrap_or_default();
        self.fill(address)?;
        self.put(bytes.unwrap_or_default())?;
        self.next += 1;
        self.fill(address.saturating_add(row.nbytes().unwrap_or_default()))
    }

    /// Writes zeros up to the end of the data, followed by the layout.
    pub(super) fn end(&mut self, end: u64, text: &[u8]) -> Result<(), Error> {
        self.fill(end)?;
        self.put(text)?;
        self.done(|out| out.flush())
    }

    fn fill(&mut self, to: u64) -> Result<(), Error> {
        while self.at < to {
            let len = usize::try_from(to - self.at).unwrap_or(usize::MAX).min(ZEROS.len());
            self.put(&ZEROS[..len])?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.done(|out| out.write_all(bytes))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn done(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        Ok(write(self.out).map_err(binio::Error::from).context("write")?)
    }
}
