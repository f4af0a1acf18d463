//! Options for creating an archive.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use crate::disk::dir::{Dir, FileId, stat};
use crate::parallel::{Progress, report};
use crate::store::{BlobStoreMut, Chunking};

/// Selects which zeros in a file become holes in the archive. A hole is either a range that no blob
/// covers, or a whole file, which is then stored without data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holes {
    /// The holes that the file system reports, as in Flux. The result depends on the file system.
    #[default]
    FileSystem,
    /// Aligned blocks of 4096 zero bytes, or fewer at the end of the file. The result is the same
    /// on every file system.
    Zeros,
    /// No zeros: an archived file has no holes.
    None,
}

/// The times to store in an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Times {
    /// `mtime` and `ctime` of each file, as in Flux.
    #[default]
    Keep,
    /// The same `mtime` for all files, in seconds since 1970, and no `ctime`.
    Fixed(i64),
    /// No times.
    Omit,
}

/// A function that returns `true` for the paths that it selects.
pub type Filter<'f> = &'f (dyn Fn(&str) -> bool + Sync);

/// Creates archives of files on disk.
///
/// ```
/// use flux_archive::disk::{Creator, Times};
/// use flux_archive::{Form, Writer};
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
    pub(super) root: Dir,
    pub(super) store: Option<&'o dyn BlobStoreMut>,
    pub(super) chunking: Chunking,
    pub(super) holes: Holes,
    pub(super) times: Times,
    pub(super) exclude: Option<Filter<'o>>,
    pub(super) include: Option<Filter<'o>>,
    pub(super) left_out: Vec<FileId>,
    pub(super) progress: Option<Progress<'o>>,
}

partial_debug! { Creator: root; }

impl<'o> Creator<'o> {
    /// Opens the directory in which [`write`](Self::write) looks up relative paths.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be opened.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            root: Dir::open(root.as_ref())?,
            store: None,
            chunking: Chunking::default(),
            holes: Holes::default(),
            times: Times::default(),
            exclude: None,
            include: None,
            left_out: Vec::new(),
            progress: None,
        })
    }

    binio::setters! {
        /// Sets a store in which files above the threshold are stored as blobs. Without a store, the archive contains
        /// all data.
        store: &'o dyn BlobStoreMut => Some(store);

        /// Sets which files are stored as blobs, the maximum size of a blob, and the hash function.
        chunking: Chunking;

        /// Sets which zeros are treated as holes.
        holes: Holes;

        /// Sets which times are stored in the archive.
        times: Times;

        /// Excludes the paths that a filter selects, and everything below them. The filter is not called for the
        /// directories above a path that is passed to [`write`](Self::write).
        exclude: Filter<'o> => Some(exclude);

        /// Archives only the paths that a filter selects. Directories that it does not select are still searched.
        include: Filter<'o> => Some(include);
    }

    /// Leaves an open file or directory out of the archive, regardless of its path. Call this for
    /// the output file and the store. The report lists the paths at which the file was found.
    ///
    /// # Errors
    ///
    /// Fails if the status of the file cannot be read.
    pub fn leave_out(mut self, file: impl AsFd) -> io::Result<Self> {
        self.left_out.push(stat(file)?.id());
        Ok(self)
    }

    binio::setters! {
        /// Sets a function that is called with the number of bytes of file content processed since
        /// the last call.
        progress: Progress<'o> => Some(progress);
    }

    pub(super) fn count(&self, bytes: u64) {
        report(self.progress, bytes);
    }
}
