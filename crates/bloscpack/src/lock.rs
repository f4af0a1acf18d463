//! One change at a time: who changes a file holds its lock until that is done.
//!
//! A change in place undoes what another left that was interrupted. Without a lock it would also
//! undo what another is doing.
//!
//! The lock is the system's advisory one, on the file itself. It needs no file that could be left
//! behind, and is gone with the process that held it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Result;

/// A file that nobody else changes through this crate while this lives. On systems other than Unix,
/// and on file systems that know no locks, it keeps nobody off.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    #[cfg(unix)]
    _file: fs::File,
}

impl Lock {
    /// Locks a file. Fails with [`Locked`](crate::ErrorKind::Locked) if another change is going on.
    pub(crate) fn take(path: impl AsRef<Path>) -> Result<Self> {
        // The file itself, by whatever link it is reached.
        let path = fs::canonicalize(path)?;
        #[cfg(unix)]
        let lock = Self { _file: locked(&path)?, path };
        #[cfg(not(unix))]
        let lock = Self { path };
        Ok(lock)
    }

    /// The path of the file, without links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(unix)]
fn locked(path: &Path) -> Result<fs::File> {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    loop {
        let file = fs::File::open(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(crate::ErrorKind::Locked.into());
        }
        // Another one may have taken its place meanwhile, whose lock is another.
        let (ours, there) = (file.metadata()?, fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
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
        let lock = Lock::take(&file).unwrap();
        for path in [&file, &link] {
            assert!(matches!(Lock::take(path).unwrap_err().kind(), ErrorKind::Locked));
        }
        drop(lock);
        assert!(Lock::take(&link).unwrap().path().ends_with("file"));
    }

    #[test]
    fn file_in_the_place_of_a_locked_one_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        let _lock = Lock::take(&file).unwrap();
        fs::rename(&other, &file).unwrap();
        Lock::take(&file).unwrap();
    }
}
