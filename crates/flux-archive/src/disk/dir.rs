//! Accessing directories by file descriptor. [`Dir::open`] and [`Dir::follow`] open a starting
//! directory by any path, and follow links. All other functions that take a name expect a single path
//! component, and do not follow a link with this name.
//!
//! A path is opened component by component, from an open directory. If a directory has been replaced
//! with a symbolic link in the meantime, opening it fails.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use binio::write::TemporaryFile;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT};

use crate::model::FileType;

/// Flags to open a directory only for looking up names. On Linux and Android, this does not require
/// permission to list the directory.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LOOK_UP: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const LOOK_UP: OFlags = OFlags::RDONLY;

/// An open directory.
#[derive(Clone, Debug)]
pub(crate) struct Dir(Arc<OwnedFd>);

/// The status of a file.
#[derive(Clone, Debug)]
pub(crate) struct Found(pub(crate) Stat);

/// The identity of a file or directory, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId(rustix::fs::Dev, u64);

impl Found {
    /// Returns the identity of the file.
    pub(crate) fn id(&self) -> FileId {
        #[allow(
            clippy::useless_conversion,
            reason = "the types of these fields differ between systems"
        )]
        FileId(self.0.st_dev.try_into().unwrap_or_default(), self.0.st_ino.into())
    }

    /// Returns the file type, or `None` if an archive cannot contain files of this type.
    pub(crate) fn file_type(&self) -> Option<FileType> {
        match rustix::fs::FileType::from_raw_mode(self.0.st_mode) {
            rustix::fs::FileType::RegularFile => Some(FileType::Regular),
            rustix::fs::FileType::Directory => Some(FileType::Directory),
            rustix::fs::FileType::Symlink => Some(FileType::Symlink),
            _ => None,
        }
    }

    /// Returns the name of the file type, with an article, for messages.
    pub(crate) fn type_name(&self) -> &'static str {
        match rustix::fs::FileType::from_raw_mode(self.0.st_mode) {
            rustix::fs::FileType::RegularFile => "a file",
            rustix::fs::FileType::Directory => "a directory",
            rustix::fs::FileType::Symlink => "a symbolic link",
            rustix::fs::FileType::Fifo => "a FIFO",
            rustix::fs::FileType::Socket => "a socket",
            rustix::fs::FileType::CharacterDevice | rustix::fs::FileType::BlockDevice => "a device",
            rustix::fs::FileType::Unknown => "a file of unknown type",
        }
    }

    /// Returns the permissions, including the set-user-id, set-group-id and sticky bits.
    pub(crate) fn permissions(&self) -> u32 {
        #[allow(clippy::useless_conversion, reason = "`st_mode` has 16 bits on some systems")]
        let mode = u32::from(self.0.st_mode);
        mode & 0o7777
    }

    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.0.st_size).unwrap_or_default()
    }

    pub(crate) fn mtime(&self) -> i64 {
        #[allow(clippy::useless_conversion, reason = "`st_mtime` has 32 bits on some systems")]
        let seconds = i64::from(self.0.st_mtime);
        seconds
    }

    pub(crate) fn ctime(&self) -> i64 {
        #[allow(clippy::useless_conversion, reason = "`st_ctime` has 32 bits on some systems")]
        let seconds = i64::from(self.0.st_ctime);
        seconds
    }

    /// Returns the identity, the size, and the times of the last modification and status change, to
    /// detect whether the file has changed.
    pub(crate) fn version(&self) -> impl PartialEq + use<> {
        let stat = &self.0;
        let times = (stat.st_mtime, stat.st_mtime_nsec, stat.st_ctime, stat.st_ctime_nsec);
        (stat.st_dev, stat.st_ino, stat.st_size, times)
    }
}

impl Dir {
    /// Opens a directory at any path. Follows links.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(Arc::new(rustix::fs::open(path, flags, Mode::empty())?)))
    }

    /// Opens a directory at any path relative to this directory. Follows links.
    pub(crate) fn follow(&self, path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.0, path, flags, Mode::empty())?;
        Ok(Self(Arc::new(fd)))
    }

    fn open_at(&self, name: impl AsRef<OsStr>, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name.as_ref(), flags, Mode::empty())?)
    }

    /// Opens a subdirectory for looking up names.
    pub(crate) fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Ok(Self(Arc::new(self.open_at(name, LOOK_UP | OFlags::DIRECTORY)?)))
    }

    /// Opens a subdirectory for listing or changing it.
    pub(crate) fn open_dir(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Ok(Self(Arc::new(self.open_at(name, OFlags::RDONLY | OFlags::DIRECTORY)?)))
    }

    /// Opens a file for reading. Does not block on a FIFO that has no writer.
    pub(crate) fn open_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        Ok(self.open_at(name, OFlags::RDONLY | OFlags::NONBLOCK)?.into())
    }

    /// Returns the status of a file in the directory. For a symbolic link, this is the status of
    /// the link itself.
    pub(crate) fn stat(&self, name: impl AsRef<OsStr>) -> io::Result<Found> {
        Ok(Found(rustix::fs::statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Returns the names in the directory in no particular order, without `.` and `..`.
    pub(crate) fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                name => names.push(name.to_vec()),
            }
        }
        Ok(names)
    }

    /// Like [`names`](Self::names), but also works for a directory opened by
    /// [`enter`](Self::enter).
    pub(crate) fn list(&self) -> io::Result<Vec<Vec<u8>>> {
        self.follow(Path::new("."))?.names()
    }

    pub(crate) fn make_dir(&self, name: &str, mode: u32) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(raw(mode)))?)
    }

    pub(crate) fn make_link(&self, name: &str, target: &str) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, &self.0, name)?)
    }

    pub(crate) fn read_link(&self, name: impl AsRef<OsStr>) -> io::Result<Vec<u8>> {
        let target = rustix::fs::readlinkat(&self.0, name.as_ref(), Vec::new())?;
        Ok(target.into_bytes())
    }

    /// Creates a temporary file, which is renamed to its final name later. Its mode is `mode` without
    /// the bits in the umask.
    pub(crate) fn make_temporary(&self, mode: u32) -> io::Result<Temporary> {
        let mode = Mode::from_raw_mode(raw(mode));
        if let Some(file) = self.make_unnamed(mode)? {
            return Ok(Temporary { file: Some(file), name: None });
        }
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let make = |name: &str| Ok(rustix::fs::openat(&self.0, name, flags, mode)?.into());
        let (file, name) = self.with_temporary_name(make)?;
        Ok(Temporary { file: Some(file), name: Some(name) })
    }

    /// Creates a temporary link, which is renamed to its final name later.
    pub(crate) fn make_temporary_link(&self, target: &str) -> io::Result<Temporary> {
        let ((), name) = self.with_temporary_name(|name| self.make_link(name, target))?;
        Ok(Temporary { file: None, name: Some(name) })
    }

    /// Creates an unnamed file, which disappears on drop unless it is linked to a name first.
    /// Returns `None` if the system or file system does not support unnamed files.
    #[cfg(target_os = "linux")]
    fn make_unnamed(&self, mode: Mode) -> io::Result<Option<File>> {
        use std::sync::LazyLock;

        use rustix::io::Errno;

        // Before Linux 6.10, an unprivileged process can link an unnamed file only through
        // `/proc/self/fd`.
        static CAN_LINK: LazyLock<bool> = LazyLock::new(|| Path::new("/proc/self/fd").exists());

        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match CAN_LINK.then(|| rustix::fs::openat(&self.0, ".", flags, mode)).transpose() {
            Ok(file) => Ok(file.map(File::from)),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[allow(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the signature must be the same as on Linux"
    )]
    fn make_unnamed(&self, _: Mode) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Gives a name to an unnamed file. Fails if the name already exists.
    fn link_unnamed(&self, temporary: &Temporary, name: &str) -> io::Result<()> {
        let file = temporary.file()?;
        #[cfg(target_os = "linux")]
        {
            use std::sync::atomic::AtomicBool;

            use rustix::io::Errno;

            // Extracting many small files takes 0.9 times as long as with paths
            // (`cargo xtask bench flux-archive`, row `small: extract, all inside`).
            static BY_DESCRIPTOR: AtomicBool = AtomicBool::new(true);

            if BY_DESCRIPTOR.load(Ordering::Relaxed) {
                match rustix::fs::linkat(file, "", &self.0, name, AtFlags::EMPTY_PATH) {
                    // Before Linux 6.10, only a privileged process may link a descriptor.
                    Err(Errno::NOENT) => BY_DESCRIPTOR.store(false, Ordering::Relaxed),
                    linked => return Ok(linked?),
                }
            }
        }
        self.link_by_path(file, name)
    }

    /// Gives a name to an unnamed file, which is found through `/proc`.
    fn link_by_path(&self, file: &File, name: &str) -> io::Result<()> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = AtFlags::SYMLINK_FOLLOW;
        Ok(rustix::fs::linkat(rustix::fs::CWD, path, &self.0, name, flags)?)
    }

    /// Renames a temporary file or link to `to`. An existing file or link is replaced.
    pub(crate) fn replace(&self, mut temporary: Temporary, to: &str) -> io::Result<()> {
        let (from, registered) = match temporary.name.take() {
            Some(name) => name,
            // Linking cannot replace a file, so link the file to a temporary name, and rename it.
            None => self.with_temporary_name(|name| self.link_unnamed(&temporary, name))?.1,
        };
        rustix::fs::renameat(&self.0, from, &self.0, to)?;
        registered.keep();
        Ok(())
    }

    /// Renames a temporary file or link to `to`. Fails if this name already exists. Every error is
    /// returned with the temporary file, so that the caller can try again.
    pub(crate) fn rename_new(
        &self,
        mut temporary: Temporary,
        to: &str,
    ) -> Result<(), (io::Error, Temporary)> {
        let named = match &temporary.name {
            Some((from, _)) => self.rename_named(from, to),
            None => self.link_unnamed(&temporary, to),
        };
        match (named, temporary.name.take()) {
            (Err(error), name) => Err((error, Temporary { name, ..temporary })),
            (Ok(()), name) => {
                if let Some((_, registered)) = name {
                    registered.keep();
                }
                Ok(())
            }
        }
    }

    fn rename_named(&self, from: &str, to: &str) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::{RenameFlags, renameat_with};
            use rustix::io::Errno;

            match renameat_with(&self.0, from, &self.0, to, RenameFlags::NOREPLACE) {
                // If the system or file system does not support this operation, link the file
                // instead.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                renamed => return Ok(renamed?),
            }
        }
        rustix::fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?;
        self.remove(from)
    }

    fn with_temporary_name<T>(
        &self,
        make: impl Fn(&str) -> io::Result<T>,
    ) -> io::Result<(T, (String, TemporaryFile))> {
        static COUNT: AtomicU64 = AtomicU64::new(0);

        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".flux-{}-{count}.tmp", process::id());
            let (dir, remove) = (self.clone(), name.clone());
            // Ignore errors, because there is no way to report them.
            let remove = move || drop(dir.remove(&remove));
            match TemporaryFile::create(remove, || make(&name)) {
                Ok((made, registered)) => return Ok((made, (name, registered))),
                // Try another name: a crashed process with our process ID may have left this file.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes a file or link.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    fn set_link_mtime(&self, name: &str, seconds: i64) -> io::Result<()> {
        let times = only_mtime(seconds);
        Ok(rustix::fs::utimensat(&self.0, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

/// A file or link that does not have its final name yet. A link has a temporary name. A file has one
/// only if the system or file system does not support unnamed files. The file or link is removed on
/// drop.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: Option<File>,
    name: Option<(String, TemporaryFile)>,
}

impl Temporary {
    /// Returns the open file. Fails if this is a link.
    pub(crate) fn file(&self) -> io::Result<&File> {
        self.file.as_ref().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    pub(crate) fn set_link_mtime(&self, dir: &Dir, seconds: i64) -> io::Result<()> {
        let Some((name, _)) = &self.name else { return Ok(()) };
        dir.set_link_mtime(name, seconds)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sets the permissions of an open file.
pub(crate) fn set_permissions(file: impl AsFd, permissions: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(raw(permissions & 0o7777)))?)
}

/// Sets the modification time of an open file, and keeps its access time.
pub(crate) fn set_mtime(file: impl AsFd, seconds: i64) -> io::Result<()> {
    Ok(rustix::fs::futimens(file, &only_mtime(seconds))?)
}

/// Returns the status of an open file.
pub(crate) fn stat(file: impl AsFd) -> io::Result<Found> {
    Ok(Found(rustix::fs::fstat(file)?))
}

fn only_mtime(seconds: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: 0 },
    }
}

fn raw(mode: u32) -> rustix::fs::RawMode {
    #[allow(clippy::useless_conversion, reason = "a raw mode has 16 bits on some systems")]
    (mode & 0o7777).try_into().unwrap_or_default()
}

/// Returns the start and the end of the next extent of data at or after `position`, as reported by
/// the file system, or `None` after the last extent. If the file system does not support holes,
/// everything from `position` to `len` is a single extent.
pub(crate) fn next_data(file: &File, position: u64, len: u64) -> io::Result<Option<(u64, u64)>> {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    {
        use rustix::fs::SeekFrom;
        use rustix::io::Errno;

        let start = match rustix::fs::seek(file, SeekFrom::Data(position)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(None),
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::SPIPE) => {
                return Ok((position < len).then_some((position, len)));
            }
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(file, SeekFrom::Hole(start))?.min(len);
        Ok((start < end).then_some((start, end)))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    {
        let _ = file;
        Ok((position < len).then_some((position, len)))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn rename_new_fails_if_the_name_already_exists() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let temporary = dir.make_temporary(0o600).unwrap();
        fs::write(folder.path().join("there"), "kept").unwrap();
        let (error, temporary) = dir.rename_new(temporary, "there").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(folder.path().join("there")).unwrap(), b"kept");
        dir.rename_new(temporary, "free").unwrap();
        assert_eq!(dir.names().unwrap().len(), 2);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_unnamed_file_can_be_linked_by_its_path_in_proc() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let temporary = dir.make_temporary(0o600).unwrap();
        io::Write::write_all(&mut temporary.file().unwrap(), b"text").unwrap();
        dir.link_by_path(temporary.file().unwrap(), "linked").unwrap();
        assert_eq!(fs::read(folder.path().join("linked")).unwrap(), b"text");
        let error = dir.link_by_path(temporary.file().unwrap(), "linked").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn the_last_extent_of_data_ends_at_the_end_of_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[1; 100]).unwrap();
        assert_eq!(next_data(&file, 0, 100).unwrap(), Some((0, 100)));
        assert_eq!(next_data(&file, 100, 100).unwrap(), None);
    }
}
