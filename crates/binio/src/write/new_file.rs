//! Files that only get their name once they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::TemporaryFile;
use crate::checksum::Algorithm;
use crate::{Error, Result};

/// A new file that only gets its name once it is complete. If the system supports it, the file has
/// no name until then, so a process that is killed while it writes the file leaves nothing behind.
/// Otherwise, the file has a temporary name.
///
/// Nothing is synced. For files that survive a crash, see [`AtomicFile`](super::AtomicFile).
///
/// ```
/// use std::io::Write;
/// use binio::write::NewFile;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("blob");
/// let mut file = NewFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.put(&path)?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// The temporary name, or `None` if the file is unnamed. The name is removed before the file is
    /// closed, because the lock on the open file shows other writers that the name is in use.
    name: Option<(PathBuf, TemporaryFile)>,
    file: File,
}

impl NewFile {
    /// Creates a file in the directory of `target`, without giving the file the name of `target`
    /// yet.
    ///
    /// # Errors
    ///
    /// Fails with [`Invalid`](crate::ErrorKind::Invalid) if `target` has no file name, and with
    /// [`Io`](crate::ErrorKind::Io) if the file cannot be created.
    pub fn create(target: &Path) -> Result<Self> {
        if target.file_name().is_none() {
            return Err(Error::invalid("the path has no file name"));
        }
        match unnamed::create(target)? {
            Some(file) => Ok(Self { file, name: None }),
            None => Self::create_named(target),
        }
    }

    /// Creates a file under an unused temporary name.
    pub(super) fn create_named(target: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let (file, name) = with_temporary_name(target, |name| {
            let file = options.open(name)?;
            stale::mark(&file).inspect_err(|_| drop(fs::remove_file(name)))?;
            Ok(file)
        })?;
        Ok(Self { file, name: Some(name) })
    }

    /// Returns the underlying file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Closes the file without removing its temporary name, as happens when a process is killed.
    #[cfg(test)]
    pub(super) fn abandon(self) {
        if let Some((_, temporary)) = self.name {
            temporary.keep();
        }
    }

    #[cfg(test)]
    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// Gives the file the name `target`, which must be in the directory where the file was created.
    /// Replaces an existing file with that name.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the file cannot be linked or renamed.
    pub fn put(self, target: &Path) -> Result<()> {
        let Self { name, file } = self;
        let (name, temporary) = match name {
            Some(name) => name,
            None => match unnamed::link(&file, target) {
                // Linking never replaces a file, so link the file under a temporary name and rename
                // it.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    stale::mark(&file)?;
                    with_temporary_name(target, |name| unnamed::link(&file, name))?.1
                }
                linked => return Ok(linked?),
            },
        };
        fs::rename(name, target)?;
        temporary.keep();
        Ok(())
    }
}

impl NewFile {
    /// Like [`put`](Self::put), but never replaces a file, with one exception: on a file system
    /// without hard links, it may replace a file that another process creates at the same moment.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io), of the kind
    /// [`AlreadyExists`](ErrorKind::AlreadyExists) if a file with that name exists, and of another
    /// kind if the file cannot be linked or renamed.
    pub fn put_new(self, target: &Path) -> Result<()> {
        let Self { name, file } = self;
        let Some((name, temporary)) = name else { return Ok(unnamed::link(&file, target)?) };
        match fs::hard_link(&name, target) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error.into()),
            // On a file system without hard links, look for an existing file before renaming.
            Err(_) if fs::symlink_metadata(target).is_ok() => {
                return Err(io::Error::from(ErrorKind::AlreadyExists).into());
            }
            Err(_) => {
                fs::rename(name, target)?;
                temporary.keep();
            }
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Calls `create` with the first temporary name for `target` that no other writer uses. If a killed
/// process left a file with this name behind, removes the file first.
///
/// The names are derived from the name of the target, so the next writer to the same target can
/// find them without listing the directory.
fn with_temporary_name<T>(
    target: &Path,
    create: impl Fn(&Path) -> io::Result<T>,
) -> Result<(T, (PathBuf, TemporaryFile))> {
    let mut number = 0_u64;
    loop {
        let name = temporary_name(target, number);
        // Do not register a name that belongs to another writer, because this process would then
        // remove the file of that writer.
        if fs::symlink_metadata(&name).is_ok() && !stale::remove(&name) {
            number += 1;
            continue;
        }
        let remove = name.clone();
        // Ignore a failure to remove the file, because it cannot be reported.
        let remove = move || drop(fs::remove_file(&remove));
        match TemporaryFile::create(remove, || create(&name)) {
            Ok((created, temporary)) => return Ok((created, (name, temporary))),
            // Another writer has just taken this name, so try again.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes the temporary files for this target that killed processes left behind. Stops at the
/// first unused name.
pub(super) fn remove_stale(target: &Path) {
    for number in 0_u64.. {
        let name = temporary_name(target, number);
        if fs::symlink_metadata(&name).is_err() {
            return;
        }
        stale::remove(&name);
    }
}

/// Returns a temporary name in the directory of `target`. It contains a checksum of the target's
/// name rather than the name itself, which may already have the maximum length.
fn temporary_name(target: &Path, number: u64) -> PathBuf {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    let checksum = Algorithm::Crc32.digest(name);
    target.with_file_name(format!(".atomic-{checksum}-{number}.tmp"))
}

#[cfg(unix)]
mod stale {
    //! Distinguishing temporary files in use from temporary files left by killed processes. A
    //! writer holds a lock on its temporary file as long as the file has its temporary name.

    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use rustix::fs::{FlockOperation, OFlags, flock};

    /// Marks a temporary file as in use until it is closed.
    pub(super) fn mark(file: &File) -> io::Result<()> {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            // On file systems without locks, leave the file unmarked.
            Ok(()) | Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOLCK) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a temporary file unless a process may be using it. Returns `true` if the file was
    /// removed.
    pub(super) fn remove(name: &Path) -> bool {
        // A writer creates its file before locking it. A new, empty file may therefore be in use
        // even if it is not locked.
        let is_old = |file: &fs::Metadata| {
            file.len() > 0
                || file
                    .modified()
                    .is_ok_and(|time| time.elapsed().is_ok_and(|age| age.as_secs() >= 1))
        };
        let mut options = OpenOptions::new();
        #[allow(
            clippy::cast_possible_wrap,
            reason = "the system expects flags as a signed integer"
        )]
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let Ok(file) = options.read(true).custom_flags(flags).open(name) else { return false };
        let Ok(metadata) = file.metadata() else { return false };
        if !metadata.is_file()
            || !is_old(&metadata)
            || flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return false;
        }
        // Check that the name has not been given to another file in the meantime.
        let is_same = fs::symlink_metadata(name)
            .is_ok_and(|now| (now.dev(), now.ino()) == (metadata.dev(), metadata.ino()));
        is_same && fs::remove_file(name).is_ok()
    }
}

#[cfg(not(unix))]
mod stale {
    //! A substitute for systems without `flock`, where files of killed processes cannot be
    //! detected.

    use std::fs::File;
    use std::io;
    use std::path::Path;

    #[allow(clippy::unnecessary_wraps, reason = "the signature is the same as on Unix")]
    pub(super) fn mark(_: &File) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn remove(_: &Path) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
mod unnamed {
    //! Unnamed files, which vanish when they are closed unless they have been linked.

    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use rustix::io::Errno;

    use super::super::atomic::directory_of;

    /// Creates an unnamed file in the directory of `target`. Returns `None` if the system does not
    /// support such files.
    pub(super) fn create(target: &Path) -> io::Result<Option<File>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        match open(directory_of(target), flags, mode) {
            Ok(file) => {
                let file = File::from(file);
                // Only use the file if its entry in `/proc` is accessible, because linking requires
                // this entry.
                Ok(path_of(&file).exists().then_some(file))
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a name to an unnamed file. Fails if the name is already in use.
    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn path_of(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

#[cfg(not(target_os = "linux"))]
mod unnamed {
    //! A substitute for systems without unnamed files.

    use std::fs::File;
    use std::io;
    use std::path::Path;

    #[allow(clippy::unnecessary_wraps, reason = "the signature is the same as on Linux")]
    pub(super) fn create(_: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
