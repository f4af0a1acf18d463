//! One change at a time: whoever changes a file holds its lock until the change is done.
//!
//! Opening a file to change it rolls back a change that was interrupted. Without a lock that would
//! also undo a change that is still going on.
//!
//! The lock is the advisory lock of the system (`flock`), on the file itself. It needs no lock file
//! that could be left over, and it ends with the process that holds it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Context, Result};

/// An exclusive lock on a file: as long as this value lives, nobody else can lock the file.
///
/// On systems other than Unix, and on file systems without locks, it protects from nothing.
///
/// ```
/// use binio::ErrorKind;
/// use binio::write::FileLock;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data");
/// # std::fs::write(&path, "").unwrap();
/// let lock = FileLock::acquire(&path)?;
/// # #[cfg(unix)]
/// assert!(matches!(FileLock::acquire(&path).unwrap_err().kind(), ErrorKind::Locked));
/// drop(lock);
/// FileLock::acquire(&path)?;
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    #[cfg(unix)]
    _file: fs::File,
}

impl FileLock {
    /// Locks a file. Fails with [`Locked`](crate::ErrorKind::Locked) at once if somebody else holds
    /// the lock.
    pub fn acquire(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let acquire = || {
            // The file itself, by whatever link it is reached.
            let path = fs::canonicalize(path)?;
            #[cfg(unix)]
            let lock = Self { _file: locked(&path)?, path };
            #[cfg(not(unix))]
            let lock = Self { path };
            Ok::<_, crate::Error>(lock)
        };
        acquire().with_context(|| path.display().to_string())
    }

    /// Returns the path of the file, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(unix)]
fn locked(path: &Path) -> Result<fs::File> {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    loop {
        // To open a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(crate::Error::unsupported("only regular files can be locked"));
        }
        let file = fs::File::open(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(crate::Error::new(crate::ErrorKind::Locked));
        }
        // Another file may have replaced this one meanwhile; that one is not locked.
        let (ours, current) = (file.metadata()?, fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (current.dev(), current.ino()) {
            return Ok(file);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn second_lock_is_refused_by_whatever_name_until_the_first_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let lock = FileLock::acquire(&file).unwrap();
        for path in [&file, &link] {
            let error = FileLock::acquire(path).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Locked), "{error}");
            assert!(error.to_string().ends_with("another process is changing this file"));
        }
        drop(lock);
        assert!(FileLock::acquire(&link).unwrap().path().ends_with("file"));
    }

    #[test]
    fn file_that_replaces_a_locked_one_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        let _lock = FileLock::acquire(&file).unwrap();
        fs::rename(&other, &file).unwrap();
        FileLock::acquire(&file).unwrap();
    }
}
