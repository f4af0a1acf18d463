//! Preparing files in parallel, and writing them to the archive in the order of the walk.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;

use super::content::{self, Prepared};
use super::encode::Buffers;
use super::options::{Creator, Times};
use super::pieces;
use super::report::CreateReport;
use super::walk::{Item, Walker};
use crate::diagnostic::Code;
use crate::disk::dir::{FileId, stat};
use crate::error::{ErrorKind, Result, StoreError};
use crate::model::{Content, Entry, FileType};
use crate::parallel::{pipeline, threads};
use crate::write::Writer;

/// The maximum number of files in a [`Batch`].
const BATCH: usize = 32;

/// The number of bytes at which a [`Batch`] is full.
const BATCH_BYTES: u64 = 256 << 10;

/// Files that a single thread prepares, and the buffers for their encoded data.
#[derive(Default)]
struct Batch {
    items: Vec<Item>,
    prepared: Vec<Result<Prepared>>,
    buffers: Buffers,
}

impl Batch {
    /// Adds the next files of a walk. Returns `false` if the walk has ended and the batch is empty.
    fn fill(
        &mut self,
        walker: &mut Walker<'_>,
        mut taken: Option<&mut Taken>,
        report: &mut CreateReport,
    ) -> bool {
        let mut bytes = 0;
        while self.items.len() < BATCH && bytes < BATCH_BYTES {
            let Some(item) = walker.next_item(report) else { break };
            match taken.as_mut().map_or(Ok(true), |taken| taken.take(&item)) {
                Ok(true) => {
                    bytes += item.found.size().min(content::IN_MEMORY);
                    self.items.push(item);
                }
                Ok(false) => {}
                Err(error) => report.fail(item.path.as_str(), error),
            }
        }
        !self.items.is_empty()
    }

    fn prepare(&mut self, creator: &Creator<'_>) {
        let Self { items, prepared, buffers } = self;
        prepared.extend(items.iter().map(|item| content::prepare(creator, item, buffers)));
    }
}

impl Creator<'_> {
    /// Archives files, and directories with everything below them.
    ///
    /// A file that is at or below several of the paths is archived only once. Files that cannot be
    /// archived are listed in the report.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Store`] if the store is damaged or cannot be written. Also fails if
    /// the writer fails, or if a large file can no longer be read while it is being written to the
    /// archive.
    pub fn write<W: Write>(
        &self,
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
        writer: &mut Writer<W>,
    ) -> Result<CreateReport> {
        let mut report = CreateReport::default();
        let paths: Vec<_> = paths.into_iter().collect();
        let mut taken = (paths.len() > 1).then(Taken::default);
        for path in paths {
            let mut walker = Walker::new(self, path.as_ref(), &mut report);
            pipeline(
                &mut (&mut *writer, &mut report),
                |(_, report), batch: &mut Batch| batch.fill(&mut walker, taken.as_mut(), report),
                |batch| batch.prepare(self),
                |(writer, report), batch| self.write_batch(batch, writer, report),
            )?;
        }
        Ok(report)
    }

    /// Writes the files of a batch, and empties it.
    fn write_batch<W: Write>(
        &self,
        batch: &mut Batch,
        writer: &mut Writer<W>,
        report: &mut CreateReport,
    ) -> Result<()> {
        for (item, prepared) in batch.items.drain(..).zip(batch.prepared.drain(..)) {
            self.write_item(&item, prepared, &batch.buffers, writer, report)?;
        }
        batch.buffers.clear();
        Ok(())
    }

    fn write_item<W: Write>(
        &self,
        item: &Item,
        prepared: Result<Prepared>,
        buffers: &Buffers,
        writer: &mut Writer<W>,
        report: &mut CreateReport,
    ) -> Result<()> {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            // Stop if the store fails, because all other files would fail as well.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Store(StoreError::Io(_) | StoreError::Damaged(_))
                ) =>
            {
                return Err(error);
            }
            Err(error) => {
                report.fail(item.path.as_str(), error);
                return Ok(());
            }
        };
        report.holes += prepared.holes;
        let mut changed = prepared.changed;
        let size = prepared.size;
        match prepared.body {
            content::Body::Content(content) => writer.entry(&self.entry(item, content, size))?,
            content::Body::Encoded(encoded) => {
                let entry = self.entry(item, Content::Empty, None);
                let mut body = writer.body(&entry, encoded.encoding)?;
                body.write_encoded(buffers.data(&encoded), encoded.len)?;
                body.finish()?;
            }
            content::Body::Stream(file, encoding, len) => {
                let entry = self.entry(item, Content::Empty, None);
                let mut body = writer.body(&entry, encoding)?;
                let mut offset = 0;
                if threads() > 1 {
                    let size = stat(&file)?.size().min(len);
                    offset = pieces::write(self, &file, encoding, size, &mut body)?;
                }
                changed |= content::stream(&file, encoding, offset, len - offset, |piece| {
                    self.count(piece.len() as u64);
                    Ok(body.write_all(piece)?)
                })?;
                body.finish()?;
                changed |= content::has_changed(&file, item)?;
            }
        }
        report.entries += 1;
        if changed {
            report.changed.push(item.path.as_str().to_owned());
        }
        Ok(())
    }

    fn entry<'c>(&self, item: &Item, content: Content<'c>, size: Option<u64>) -> Entry<'c> {
        let mut entry = Entry::new(item.path.clone(), item.found.permissions(), content);
        if let Some(size) = size {
            entry = entry.with_size(size);
        }
        match self.times {
            Times::Keep => entry.with_mtime(item.found.mtime()).with_ctime(item.found.ctime()),
            Times::Fixed(mtime) => entry.with_mtime(mtime),
            Times::Omit => entry,
        }
    }
}

/// The identity and type of each file added so far, by its path in the archive.
#[derive(Default)]
struct Taken {
    files: HashMap<String, (FileId, FileType)>,
    /// The paths of all directories above the files in `files`.
    above: HashSet<String>,
}

impl Taken {
    /// Adds a file and returns `true`, or returns `false` if the file is already present. Fails if
    /// a different file has the same path, or if a file or link would be above another path.
    fn take(&mut self, item: &Item) -> Result<bool> {
        let (path, id) = (item.path.as_str(), item.found.id());
        if let Some(&(before, _)) = self.files.get(path) {
            return if before == id {
                Ok(false)
            } else {
                reject(item, "the archive already contains a different file with this path")
            };
        }
        let is_file = |file_type| file_type != FileType::Directory;
        let through = |above: &str| self.files.get(above).is_some_and(|(_, above)| is_file(*above));
        if item.path.ancestors().any(through) {
            return reject(item, "the archive already contains a file or link above this path");
        }
        if is_file(item.file_type) && self.above.contains(path) {
            return reject(item, "the archive already contains files below this path");
        }
        self.above.extend(item.path.ancestors().map(str::to_owned));
        self.files.insert(path.to_owned(), (id, item.file_type));
        Ok(true)
    }
}

fn reject(item: &Item, message: &str) -> Result<bool> {
    let (code, path) = (Code::BelowNoDirectory, item.path.to_string());
    Err(ErrorKind::NotWritable { code, path, message: message.to_owned() }.into())
}
