//! From the disk to an archive.
//!
//! ```text
//! walk      by descriptors; names in the order of their bytes, what a directory holds before it
//! prepare   some files at a time in parallel: read, told apart, cut into blobs, hashed, stored
//! write     in the order of the walk
//! ```
//!
//! | a regular file | becomes |
//! |---|---|
//! | without data: empty, or one hole | the empty form, with its size |
//! | with a store, above the threshold | `blobvec` |
//! | other, of UTF-8 without NUL | `utf-8` |
//! | other | `base64` |
//!
//! Text with a NUL would be `utf-8` in Flux; no Flux could read that archive again.

mod content;
mod walk;

use std::convert::Infallible;
use std::fmt;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use crate::dirfd::{Dir, FileId, stat};
use crate::parallel::{report as tell, try_map};
use crate::store::BlobStoreMut;
use crate::{Content, Entry, Error, Failure, HashType, Progress, Result, Text, Writer};

use content::Prepared;
use walk::{Item, Walker};

/// Files that are prepared at a time, and the bytes that they may have together.
const WINDOW: usize = 128;
const WINDOW_BYTES: u64 = 8 << 20;

/// Which zeros of a file are holes, where it becomes blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holes {
    /// Those that the file system reports, as Flux has it. File systems differ.
    #[default]
    FileSystem,
    /// Blocks of 4096 zeros: the same wherever the file lies.
    Zeros,
    /// None.
    None,
}

/// Which times an archive holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// `mtime` and `ctime` of each file, as Flux has it.
    #[default]
    Keep,
    /// This `mtime` for all, in seconds since 1970, and no `ctime`.
    Fixed(i64),
    /// None.
    Omit,
}

/// Decides about a path.
pub type Filter<'f> = &'f (dyn Fn(&str) -> bool + Sync);

/// Makes archives of what lies below a directory.
///
/// ```
/// use flux_archive::{Creator, Form, Times, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("hello"), "hello\n")?;
/// # use std::os::unix::fs::PermissionsExt;
/// # std::fs::set_permissions(folder.path().join("hello"), PermissionsExt::from_mode(0o644))?;
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let report = Creator::new(folder.path())?.times(Times::Omit).write(["."], &mut writer)?;
/// assert_eq!((report.entries, report.failures.len()), (1, 0));
/// assert_eq!(
///     String::from_utf8(writer.finish()?).unwrap(),
///     r#"[{"path":"hello","encoding":"utf-8","data":"hello\n","size":6,"mode":33188}]"#
/// );
/// # Ok::<(), flux_archive::Error>(())
/// ```
pub struct Creator<'o> {
    root: Dir,
    store: Option<&'o dyn BlobStoreMut>,
    hash: HashType,
    chunk_size: u64,
    threshold: u64,
    holes: Holes,
    times: Times,
    exclude: Option<Filter<'o>>,
    include: Option<Filter<'o>>,
    left_out: Vec<FileId>,
    progress: Option<Progress<'o>>,
}

impl fmt::Debug for Creator<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Creator").field("root", &self.root).finish_non_exhaustive()
    }
}

impl<'o> Creator<'o> {
    /// Takes paths as relative to a directory.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            root: Dir::open(root.as_ref())?,
            store: None,
            hash: HashType::default(),
            chunk_size: 1 << 20,
            threshold: 1 << 10,
            holes: Holes::default(),
            times: Times::default(),
            exclude: None,
            include: None,
            left_out: Vec::new(),
            progress: None,
        })
    }

    /// Puts what is above the threshold into a store. Without one, all is in the archive.
    #[must_use]
    pub fn store(mut self, store: &'o dyn BlobStoreMut) -> Self {
        self.store = Some(store);
        self
    }

    /// The hash that names blobs. Default: SHA-1, as in Flux.
    #[must_use]
    pub fn hash(mut self, hash: HashType) -> Self {
        self.hash = hash;
        self
    }

    /// Bytes of a blob at most; 0 is no limit. Default: 1 MiB.
    #[must_use]
    pub fn chunk_size(mut self, bytes: u64) -> Self {
        self.chunk_size = bytes;
        self
    }

    /// Bytes up to which a file stays in the archive. Default: 1 KiB.
    #[must_use]
    pub fn threshold(mut self, bytes: u64) -> Self {
        self.threshold = bytes;
        self
    }

    /// Which zeros are holes.
    #[must_use]
    pub fn holes(mut self, holes: Holes) -> Self {
        self.holes = holes;
        self
    }

    /// Which times the archive holds.
    #[must_use]
    pub fn times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Leaves paths out, and what lies below them.
    #[must_use]
    pub fn exclude(mut self, exclude: Filter<'o>) -> Self {
        self.exclude = Some(exclude);
        self
    }

    /// Takes only some paths. All directories are searched.
    #[must_use]
    pub fn include(mut self, include: Filter<'o>) -> Self {
        self.include = Some(include);
        self
    }

    /// Leaves out a file or directory that is open, by whatever path it is found: what the archive is
    /// written to, and its store. It is in the report.
    pub fn leave_out(mut self, file: impl AsFd) -> io::Result<Self> {
        self.left_out.push(stat(file)?.id());
        Ok(self)
    }

    /// Tells how it goes, in bytes of files.
    #[must_use]
    pub fn progress(mut self, progress: Progress<'o>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Writes files, directories and what they hold.
    ///
    /// What cannot be read is in the report, and the rest is written. An error means that the
    /// archive could not be written.
    pub fn write<W: Write>(
        &self,
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
        writer: &mut Writer<W>,
    ) -> Result<CreateReport> {
        let mut report = CreateReport::default();
        for path in paths {
            let mut walker = Walker::new(self, path.as_ref(), &mut report);
            loop {
                let (mut window, mut bytes) = (Vec::new(), 0);
                while window.len() < WINDOW && bytes < WINDOW_BYTES {
                    let Some(item) = walker.next_item(&mut report) else { break };
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
            Err(error) => {
                report.fail(item.path.as_str(), error);
                return Ok(());
            }
        };
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

    fn count(&self, bytes: u64) {
        tell(self.progress, bytes);
    }
}

/// What was written, and what was not.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CreateReport {
    /// Entries that were written.
    pub entries: u64,
    /// Paths of files that changed while they were read. What the archive holds of them was never
    /// all there at one time.
    pub changed: Vec<String>,
    /// Arguments that began with `/`, which was dropped.
    pub absolute: Vec<String>,
    /// Paths that were found and are [left out](Creator::leave_out).
    pub left_out: Vec<String>,
    /// What could not be read, by path.
    pub failures: Vec<Failure>,
}

impl CreateReport {
    fn fail(&mut self, path: impl Into<String>, error: impl Into<Error>) {
        self.failures.push(Failure { path: path.into(), error: error.into() });
    }
}
