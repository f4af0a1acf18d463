//! Opening many files in the same folder, one after another.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::ConsistentFile;
use crate::Result;

/// Opens files for reading. On Unix, the folder of the last file is kept open, so that the path of
/// a folder is usually resolved only once for consecutive files in that folder.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use binio::write::{ConsistentFile, FileOpener};
///
/// let path = folder.path().join("data");
/// std::fs::write(&path, b"0123")?;
/// let mut opener = FileOpener::default();
/// assert!(matches!(opener.open(&path)?, ConsistentFile::File(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct FileOpener {
    folder: Option<Folder>,
}

impl FileOpener {
    /// Opens a file for reading, as it was before any unfinished change.
    ///
    /// # Errors
    ///
    /// Same as [`ConsistentFile::open`].
    pub fn open(&mut self, path: &Path) -> Result<ConsistentFile> {
        match self.enter(path) {
            Some((folder, name)) => folder.consistent_file(name),
            None => ConsistentFile::open(path),
        }
    }

    /// Opens the folder of a file, and returns it with the name of the file. Returns `None` if the
    /// folder cannot be opened, although the file may still be readable.
    fn enter<'p>(&mut self, path: &'p Path) -> Option<(&Folder, &'p OsStr)> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        if self.folder.as_ref().is_none_or(|folder| folder.path.as_os_str() != parent.as_os_str()) {
            self.folder = Folder::open(parent).ok();
        }
        Some((self.folder.as_ref()?, name))
    }
}

/// An open folder.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    #[cfg(unix)]
    handle: std::os::fd::OwnedFd,
}

impl Folder {
    /// Opens a folder. An empty path means the current directory.
    fn open(path: &Path) -> Result<Self> {
        #[cfg(unix)]
        let handle = {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            std::fs::File::open(path)?.into()
        };
        Ok(Self {
            path: path.to_owned(),
            #[cfg(unix)]
            handle,
        })
    }

    /// Opens a file in the folder.
    fn consistent_file(&self, name: &OsStr) -> Result<ConsistentFile> {
        #[cfg(unix)]
        if let Some(file) = self.without_journal(name) {
            return crate::FileSource::regular(file).map(ConsistentFile::File);
        }
        ConsistentFile::open(self.path.join(name))
    }

    /// Opens a file in the folder. Returns `None` if it is a symbolic link, has a journal or cannot
    /// be opened.
    #[cfg(unix)]
    fn without_journal(&self, name: &OsStr) -> Option<std::fs::File> {
        use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
        use rustix::io::Errno;

        // If the file is a pipe, do not wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.handle, name, flags, Mode::empty()).ok()?;
        let journal = super::journal::path_of(Path::new(name));
        let found = statat(&self.handle, &journal, AtFlags::SYMLINK_NOFOLLOW);
        matches!(found, Err(Errno::NOENT)).then(|| file.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReadAt;

    #[test]
    fn a_file_is_opened_by_its_name_in_the_open_folder() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), b"0123").unwrap();
        let mut opener = FileOpener::default();
        for _ in 0..2 {
            let ConsistentFile::File(file) = opener.open(&root.path().join("a")).unwrap() else {
                panic!("it has no journal")
            };
            assert_eq!(file.bytes_at(1, 2).unwrap(), b"12"[..]);
            assert_eq!(opener.folder.as_ref().unwrap().path, root.path());
        }
        assert!(opener.open(&root.path().join("missing")).is_err());
        assert!(opener.open(&root.path().join("..")).is_err(), "a folder is not a file");
    }

    #[cfg(unix)]
    #[test]
    fn opening_a_link_opens_its_target_and_the_journal_next_to_the_target() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a"), b"0123").unwrap();
        std::os::unix::fs::symlink(inner.join("a"), root.path().join("link")).unwrap();
        let (mut opener, link) = (FileOpener::default(), root.path().join("link"));
        assert!(matches!(opener.open(&link).unwrap(), ConsistentFile::File(_)));
        // The journal is found but incomplete, so the file is read as it is.
        std::fs::write(inner.join("a.undo-journal"), b"undo").unwrap();
        let ConsistentFile::File(file) = opener.open(&link).unwrap() else {
            panic!("nothing was changed")
        };
        assert_eq!(file.len(), 4);
    }
}
