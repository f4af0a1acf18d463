//! A file that is locked during editing, with a check for changes by other programs.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use binio::write::{FileLock, FileStorage};
use binio::{FileSource, ReadAt as _};

use super::options::EditOptions;
use crate::asdf::Asdf;
use crate::error::{Error, Result};

/// Number of tree bytes that are compared at a time.
const PIECE: usize = 256 << 10;

/// A locked file that is open for reading.
#[derive(Debug)]
pub(super) struct LockedFile {
    lock: FileLock,
    pub(super) handle: File,
    state: State,
    pub(super) can_write: bool,
    /// Whether an interrupted in-place change was rolled back when the file was locked.
    pub(super) rolled_back: bool,
}

/// Properties of a file that reveal whether it has been changed or replaced.
#[derive(Debug, PartialEq, Eq)]
struct State {
    len: u64,
    modified: Option<SystemTime>,
    /// The device and inode numbers, on systems that have them.
    identity: Option<(u64, u64)>,
}

impl LockedFile {
    /// Locks a file and rolls back an interrupted in-place change. Fails if the file is read-only, unless the
    /// options allow it.
    pub(super) fn open(path: &Path, options: &EditOptions) -> Result<Self> {
        let lock = FileLock::acquire_within(path, options.patience)?;
        let can_write = !is_read_only(lock.path())?;
        if !can_write && !options.read_only {
            return Err(Error::unwritable(format!(
                "{}: the file is read-only, so make it writable first",
                path.display()
            )));
        }
        let rolled_back = lock.roll_back()?;
        let handle = File::open(lock.path())?;
        let state = State::of(&handle.metadata()?);
        Ok(Self { lock, handle, state, can_write, rolled_back })
    }

    /// Returns the path of the file, with symbolic links resolved.
    pub(super) fn path(&self) -> &Path {
        self.lock.path()
    }

    pub(super) fn source(&self) -> Result<FileSource> {
        Ok(FileSource::new(self.handle.try_clone()?)?)
    }

    /// Returns a storage with the file and its journal, for an in-place change.
    pub(super) fn storage(&self) -> Result<FileStorage<'_>> {
        Ok(FileStorage::open(&self.lock)?)
    }

    /// Fails if the file has changed since it was opened as `file`. A program that ignores the lock may have
    /// changed it, for example while someone was editing the text of the tree.
    pub(super) fn check_unchanged(&self, file: &Asdf) -> Result<()> {
        let is_same = fs::metadata(self.path())
            .is_ok_and(|metadata| State::of(&metadata) == self.state)
            && self.has_same_tree(file)?;
        if is_same {
            return Ok(());
        }
        Err(Error::unwritable("another program has changed the file since it was opened"))
    }

    /// Returns `true` if the tree on disk is still the text that was read. The modification time alone does not
    /// prove this, because a program may have restored it after a change.
    fn has_same_tree(&self, file: &Asdf) -> Result<bool> {
        let Some(range) = &file.layout().tree else { return Ok(true) };
        let mut same = true;
        let mut before = &file.tree_text()[..];
        for piece in self.source()?.pieces(range.clone(), PIECE) {
            let piece = piece?;
            same &= before.starts_with(&piece);
            before = before.get(piece.len()..).unwrap_or_default();
        }
        Ok(same && before.is_empty())
    }
}

impl State {
    fn of(metadata: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let identity = None;
        Self { len: metadata.len(), modified: metadata.modified().ok(), identity }
    }
}

/// Returns `true` if the file is read-only or the process may not write to it.
///
/// # Errors
///
/// Fails if the path is not a regular file, if the properties of the file cannot be read, or if opening the file
/// for writing fails for any reason other than a lack of permission.
pub fn is_read_only(path: impl AsRef<Path>) -> io::Result<bool> {
    let path = path.as_ref();
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        // Do not open a pipe for writing, because this would wait for a reader.
        let message = "only regular files can be changed";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    if metadata.permissions().readonly() {
        return Ok(true);
    }
    match File::options().write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        Err(error) => Err(error),
        Ok(_) => Ok(false),
    }
}
