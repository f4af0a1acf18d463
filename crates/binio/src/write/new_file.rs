//! Files that get their name when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TemporaryFile;
use crate::{Error, Result};

/// A new file that is written before it gets its name: without a name until then where the system can
/// do that, so that not even a kill leaves anything, else under a temporary one.
///
/// Nothing is synced: see [`AtomicFile`](super::AtomicFile) for files that survive a crash.
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
    file: File,
    name: Option<(PathBuf, TemporaryFile)>,
}

impl NewFile {
    /// Creates a file in the directory of `target`.
    pub fn create(target: &Path) -> Result<Self> {
        if target.file_name().is_none() {
            return Err(Error::invalid("the path has no file name"));
        }
        match unnamed::create(target)? {
            Some(file) => Ok(Self { file, name: None }),
            None => Self::create_named(target),
        }
    }

    /// Creates a file under a name that nobody else uses.
    pub(super) fn create_named(target: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let (file, name) = with_temporary_name(target, |name| options.open(name))?;
        Ok(Self { file, name: Some(name) })
    }

    /// Returns the file.
    pub fn file(&self) -> &File {
        &self.file
    }

    #[cfg(test)]
    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// Gives the file its name, in the directory that it was created in. A file of that name is
    /// replaced.
    pub fn put(self, target: &Path) -> Result<()> {
        let Self { file, name } = self;
        let (name, temporary) = match name {
            Some(name) => name,
            None => match unnamed::link(&file, target) {
                // A link replaces nothing, a renaming does.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
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
    /// Gives the file its name, in the directory that it was created in. If a file of that name exists,
    /// this fails with [`AlreadyExists`](ErrorKind::AlreadyExists), and that file stays.
    pub fn put_new(self, target: &Path) -> Result<()> {
        let Self { file, name } = self;
        let Some((name, temporary)) = name else { return Ok(unnamed::link(&file, target)?) };
        match fs::hard_link(&name, target) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error.into()),
            // Some file systems have no second names.
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

/// Calls `create` with names in the directory of `target`, until one is not in use.
fn with_temporary_name<T>(
    target: &Path,
    create: impl Fn(&Path) -> io::Result<T>,
) -> Result<(T, (PathBuf, TemporaryFile))> {
    static COUNT: AtomicU64 = AtomicU64::new(0);

    loop {
        // Without the name of the target, which may be as long as names can be.
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = target.with_file_name(format!(".atomic-{}-{count}.tmp", process::id()));
        let remove = name.clone();
        // A failure to remove it cannot be reported.
        let temporary = TemporaryFile::new(move || drop(fs::remove_file(&remove)));
        match create(&name) {
            Ok(created) => return Ok((created, (name, temporary))),
            Err(error) => {
                temporary.keep();
                // Left over by a process that had the same number and crashed.
                if error.kind() != ErrorKind::AlreadyExists {
                    return Err(error.into());
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod unnamed {
    //! Files without a name, which vanish when they are closed unless they are linked before.

    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use rustix::io::Errno;

    use super::super::atomic::directory_of;

    /// Creates an unnamed file in the directory of `target`; returns `None` where that is not
    /// possible.
    pub(super) fn create(target: &Path) -> io::Result<Option<File>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
        match open(directory_of(target), flags, mode) {
            Ok(file) => {
                let file = File::from(file);
                // Without this the file could not be linked.
                Ok(path_of(&file).exists().then_some(file))
            }
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives an unnamed file a name that is not in use.
    pub(super) fn link(file: &File, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn path_of(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }
}

#[cfg(not(target_os = "linux"))]
mod unnamed {
    //! Other systems have no files without a name.

    use std::fs::File;
    use std::io;
    use std::path::Path;

    #[allow(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
    pub(super) fn create(_: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
