//! Preparing several files of a walk at a time, and writing them in order.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io::Write;
use std::path::Path;

use super::content::{self, Prepared};
use super::options::{Creator, Times};
use super::report::CreateReport;
use super::walk::{Item, Walker};
use crate::diagnostic::Code;
use crate::disk::dir::FileId;
use crate::error::{ErrorKind, Result, StoreError};
use crate::json::Text;
use crate::model::{Content, Entry, FileType};
use crate::parallel::try_map;
use crate::write::Writer;

/// The maximum number of files prepared at a time. Their total size is limited to about
/// [`WINDOW_BYTES`].
const WINDOW: usize = 128;
const WINDOW_BYTES: u64 = 8 << 20;

impl Creator<'_> {
    /// Writes files, and directories with all files below them, to an archive.
    ///
    /// A file below several of the paths is written only once. Files that cannot be read are reported, and the others
    /// are written.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Store`] if the store is damaged or cannot be written. Also fails if
    /// the writer fails.
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
            loop {
                let (mut window, mut bytes) = (Vec::new(), 0);
                while window.len() < WINDOW && bytes < WINDOW_BYTES {
                    let Some(item) = walker.next_item(&mut report) else { break };
                    match taken.as_mut().map_or(Ok(true), |taken| taken.take(&item)) {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(error) => {
                            report.fail(item.path.as_str(), error);
                            continue;
                        }
                    }
                    bytes += item.found.size().min(content::IN_MEMORY);
                    window.push(item);
                }
                if window.is_empty() {
                    break;
                }
                let Ok(prepared) = try_map(
                    &window,
                    || (),
                    |(), item| Ok::<_, Infallible>(content::prepare(self, item)),
                );
                for (item, prepared) in window.iter().zip(prepared) {
                    self.write_item(item, prepared, writer, &mut report)?;
                }
            }
        }
        Ok(report)
    }

    fn write_item<W: Write>(
        &self,
        item: &Item,
        prepared: Result<Prepared>,
        writer: &mut Writer<W>,
        report: &mut CreateReport,
    ) -> Result<()> {
        let prepared = match prepared {
            Ok(prepared) => prepared,
            // The store failed, so all other files would also fail.
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
            content::Body::Text(text) => {
                writer.entry(&self.entry(item, Content::Text(Text::new(&text)), None))?;
            }
            content::Body::Stream(file, encoding, len) => {
                let entry = self.entry(item, Content::Empty, None);
                let mut body = writer.body(&entry, encoding)?;
                changed |= content::stream(&file, encoding, len, |piece| {
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
    /// The paths of all directories above these files.
    above: HashSet<String>,
}

impl Taken {
    /// Adds a file, or returns `false` if it was added before. Fails if another file has the same
    /// path, or if a path would lead through a file or link.
    fn take(&mut self, item: &Item) -> Result<bool> {
        let (path, id) = (item.path.as_str(), item.found.id());
        if let Some(&(before, _)) = self.files.get(path) {
            return if before == id {
                Ok(false)
            } else {
                refuse(item, "another file has this path")
            };
        }
        let is_file = |file_type| file_type != FileType::Directory;
        let through = |above: &str| self.files.get(above).is_some_and(|(_, above)| is_file(*above));
        if item.path.ancestors().any(through) {
            return refuse(item, "a file or link has the path of its directory");
        }
        if is_file(item.file_type) && self.above.contains(path) {
            return refuse(item, "other files have paths below it");
        }
        self.above.extend(item.path.ancestors().map(str::to_owned));
        self.files.insert(path.to_owned(), (id, item.file_type));
        Ok(true)
    }
}

fn refuse(item: &Item, message: &str) -> Result<bool> {
    let (code, path) = (Code::BelowNoDirectory, item.path.to_string());
    Err(ErrorKind::NotWritable { code, path, message: message.to_owned() }.into())
}
