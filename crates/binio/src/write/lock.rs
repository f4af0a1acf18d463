//! Locking files, so that only one process changes a file at a time.
//!
//! A writer holds the lock until its change is complete. Opening a file for writing rolls back an
//! interrupted change. Without the lock, a process could roll back a change that another process is
//! still making.
//!
//! The lock is the system's advisory lock (`flock`) on the file itself, so no lock file can be left
//! behind, and the lock ends with the process that holds it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Context, Result};

/// An exclusive lock on a file. Until this value is dropped, nobody else can lock the file.
///
/// The lock has no effect on systems other than Unix, or on file systems without locks.
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
    /// Locks a file without waiting.
    ///
    /// # Errors
    ///
    /// Fails with [`Locked`](crate::ErrorKind::Locked) if the file is already locked, with
    /// [`Io`](crate::ErrorKind::Io) if it does not exist or cannot be opened, and with
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if it is not a regular file. The error
    /// message contains the path.
    pub fn acquire(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let acquire = || {
            // Lock the file itself, even if `path` is a symbolic link.
            let path = fs::canonicalize(path)?;
            #[cfg(unix)]
            let lock = Self { _file: locked(&path)?, path };
            #[cfg(not(unix))]
            let lock = Self { path };
            Ok::<_, crate::Error>(lock)
        };
        acquire().with_context(|| path.display().to_string())
    }

    /// Like [`acquire`](Self::acquire), but waits up to `patience` for the lock to be released. If
    /// the locked file is replaced in the meantime, locks the new file.
    ///
    /// # Errors
    ///
    /// Same as [`acquire`](Self::acquire). On Linux, if the process that holds the lock can be
    /// found, the message of [`Locked`](crate::ErrorKind::Locked) also contains its id, or says
    /// that it is the calling process.
    pub fn acquire_within(path: impl AsRef<Path>, patience: Duration) -> Result<Self> {
        let path = path.as_ref();
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let error = match Self::acquire(path) {
                Err(error) if matches!(error.kind(), crate::ErrorKind::Locked) => error,
                acquired => return acquired,
            };
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                let Some(process) = holder(path) else { return Err(error) };
                let context = if process == std::process::id() {
                    "locked by this process".to_owned()
                } else {
                    format!("locked by process {process}")
                };
                let error = crate::Error::new(crate::ErrorKind::Locked).context(context);
                return Err(error.context(path.display().to_string()));
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Returns the path of the file, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the id of the process that holds the lock on a file, or `None` if the process cannot be
/// found.
#[cfg(target_os = "linux")]
fn holder(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;

    let file = fs::metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()));
    let device = format!("{major:02x}:{minor:02x}");
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let mut holders = holders(&locks, file.ino());
    holders.find_map(|(process, on)| {
        (on == device || has_open(process, (file.dev(), file.ino()))).then_some(process)
    })
}

/// Iterates over the `flock` locks on files with the given inode number, which is only unique
/// within a device. Yields the id of the process that holds each lock, and the device of the file.
#[cfg(target_os = "linux")]
fn holders(locks: &str, inode: u64) -> impl Iterator<Item = (u32, &str)> {
    // A line looks like `1: FLOCK  ADVISORY  WRITE 1234 08:02:5678 0 EOF`. The fifth word is the
    // process id, and the sixth contains the device and inode of the file.
    locks.lines().filter_map(move |line| {
        let mut words = line.split_ascii_whitespace().skip(1);
        let process = (words.next()? == "FLOCK").then(|| words.nth(2))??;
        let (device, found) = words.next()?.rsplit_once(':')?;
        let process = process.parse().ok().filter(|process| *process > 0)?;
        (found.parse() == Ok(inode)).then_some((process, device))
    })
}

/// Returns `true` if a process is known to have a file open. This is needed for file systems such
/// as Btrfs and overlays, for which the device in the list of locks differs from the device in the
/// metadata of the file.
#[cfg(target_os = "linux")]
fn has_open(process: u32, file: (u64, u64)) -> bool {
    use std::os::unix::fs::MetadataExt;

    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut files = open.filter_map(|entry| fs::metadata(entry.path()).ok());
    files.any(|open| (open.dev(), open.ino()) == file)
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &Path) -> Option<u32> {
    None
}

#[cfg(unix)]
fn locked(path: &Path) -> Result<fs::File> {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    loop {
        // Check the type first, since opening a pipe would wait for its writer.
        if !fs::metadata(path)?.is_file() {
            return Err(crate::Error::unsupported("only regular files can be locked"));
        }
        let file = fs::File::open(path)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(crate::Error::new(crate::ErrorKind::Locked));
        }
        // If the file has been replaced in the meantime, the new file is not locked, so try again.
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
    fn a_second_lock_under_any_name_is_rejected_until_the_first_lock_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let lock = FileLock::acquire(&file).unwrap();
        for path in [&file, &link] {
            let error = FileLock::acquire(path).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Locked), "{error}");
            assert!(error.to_string().ends_with(": another change to this file is in progress"));
        }
        drop(lock);
        assert!(FileLock::acquire(&link).unwrap().path().ends_with("file"));
    }

    #[test]
    fn waiting_for_a_lock_succeeds_if_it_is_released_in_time_and_otherwise_reports_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let lock = FileLock::acquire(&file).unwrap();
        let error = FileLock::acquire_within(&file, Duration::from_millis(30)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Locked), "{error}");
        #[cfg(target_os = "linux")]
        if fs::read_to_string("/proc/locks").is_ok_and(|locks| locks.contains("FLOCK")) {
            let expected =
                "file: locked by this process: another change to this file is in progress";
            assert!(error.to_string().ends_with(expected), "{error}");
        }
        std::thread::scope(|scope| {
            scope.spawn(|| FileLock::acquire_within(&file, Duration::from_secs(10)).unwrap());
            std::thread::sleep(Duration::from_millis(20));
            drop(lock);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn lock_holders_are_matched_by_inode_but_open_files_by_both_device_and_inode() {
        use std::os::unix::fs::MetadataExt;

        let locks = "1: POSIX  ADVISORY  WRITE 10 08:02:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 11 08:02:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 08:02:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 fd:00:77 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 14 fd:00:7 0 EOF\n";
        let found: Vec<_> = holders(locks, 77).collect();
        assert_eq!(found, [(11, "08:02"), (13, "fd:00")]);

        let file = tempfile::NamedTempFile::new().unwrap();
        let metadata = file.as_file().metadata().unwrap();
        assert!(has_open(std::process::id(), (metadata.dev(), metadata.ino())));
        assert!(!has_open(std::process::id(), (metadata.dev() + 1, metadata.ino())));
    }

    #[test]
    fn a_file_that_replaces_a_locked_file_is_not_locked() {
        let folder = tempfile::tempdir().unwrap();
        let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        let _lock = FileLock::acquire(&file).unwrap();
        fs::rename(&other, &file).unwrap();
        FileLock::acquire(&file).unwrap();
    }
}
