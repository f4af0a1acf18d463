//! A folder from which many files are read, one after another.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::ConsistentFile;
use crate::Result;

/// An open folder, so that its path is resolved only once instead of for each file.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    #[cfg(unix)]
    handle: std::os::fd::OwnedFd,
}

impl Folder {
    /// Opens a folder. The empty path stands for the current directory.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the folder cannot be opened. Systems other than
    /// Unix do not open the folder itself, so this never fails there.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
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

    /// Returns the path of the folder as it was passed to [`open`](Self::open).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file in the folder, like [`ConsistentFile::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use binio::write::{Folder, ConsistentFile};
    ///
    /// std::fs::write(folder.path().join("data"), b"0123")?;
    /// let folder = Folder::open(folder.path())?;
    /// assert!(matches!(folder.consistent_file("data".as_ref())?, ConsistentFile::File(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`ConsistentFile::open`].
    pub fn consistent_file(&self, name: &OsStr) -> Result<ConsistentFile> {
        #[cfg(unix)]
        if let Some(file) = self.without_journal(name) {
            return crate::FileSource::regular(file).map(ConsistentFile::File);
        }
        ConsistentFile::open(self.path.join(name))
    }

    /// Opens a file. Returns `None` if it is a symbolic link, has a journal or cannot be opened.
    #[cfg(unix)]
    fn without_journal(&self, name: &OsStr) -> Option<std::fs::File> {
        use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
        use rustix::io::Errno;

        // Do not wait for the writer of a pipe.
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
    fn a_file_is_opened_by_its_name_in_the_folder() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("a"), b"0123").unwrap();
        let folder = Folder::open(root.path()).unwrap();
        assert_eq!(folder.path(), root.path());
        let ConsistentFile::File(file) = folder.consistent_file("a".as_ref()).unwrap() else {
            panic!("it has no journal")
        };
        assert_eq!(file.bytes_at(1, 2).unwrap(), b"12"[..]);
        assert!(folder.consistent_file("missing".as_ref()).is_err());
        assert!(folder.consistent_file("..".as_ref()).is_err(), "a folder is not a file");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_leads_to_its_file_and_to_the_journal_beside_that() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("a"), b"0123").unwrap();
        std::os::unix::fs::symlink(inner.join("a"), root.path().join("link")).unwrap();
        let folder = Folder::open(root.path()).unwrap();
        assert!(matches!(
            folder.consistent_file("link".as_ref()).unwrap(),
            ConsistentFile::File(_)
        ));
        // The journal is found but incomplete, so the file is read as it is.
        std::fs::write(inner.join("a.undo-journal"), b"undo").unwrap();
        let ConsistentFile::File(file) = folder.consistent_file("link".as_ref()).unwrap() else {
            panic!("nothing was changed")
        };
        assert_eq!(file.len(), 4);
    }
}
