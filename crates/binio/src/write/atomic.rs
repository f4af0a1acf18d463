//! Replacing a file so that every reader sees either the old or the new file, but never a mixture.
//!
//! ```text
//! create   an unnamed file in the directory of the target, with its mode and owner
//! write    to the unnamed file
//! commit   by syncing the file, linking or renaming it, and syncing the directory
//! ```
//!
//! A crash before the commit leaves only the old file, and a crash after it leaves the new file. If
//! the target already exists, the new file first gets a temporary name, `.atomic-01234567-0.tmp`,
//! and is then renamed. A crash between these two steps leaves the old file and the temporary one.
//!
//! Systems other than Linux, and some Linux file systems, have no unnamed files. There, the new
//! file has its temporary name from the start, and a crash leaves it behind. On Unix, the next
//! writer to the same target usually removes the temporary file. A program that is ended by a
//! signal can [remove its temporary files itself](super::remove_temporaries).
//!
//! An interrupted in-place change of the old file is rolled back before the file is replaced, so
//! that the [journal] of the old file does not remain next to the new one.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{NewFile, journal, new_file, preserved};
use crate::{Context, Error, Result};

/// Size of the write buffer in bytes.
const BUFFER: usize = 64 << 10;

/// A file that only appears under its name once it is complete. If it is dropped without
/// [`commit`](Self::commit), it leaves nothing behind.
///
/// Writes are buffered. If the name refers to a symbolic link, the file to which the link points is
/// replaced. A target that is not a regular file, such as a directory or a device, is rejected.
///
/// ```
/// use std::io::Write;
/// use binio::write::AtomicFile;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("table.asdf");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"all of it")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    target: PathBuf,
    /// The writer of the new file, or `None` once the file has been committed.
    writer: Option<BufWriter<NewFile>>,
}

impl AtomicFile {
    /// Creates a new file, which [`commit`](Self::commit) moves to `target`. The directory of
    /// `target` must exist.
    ///
    /// # Errors
    ///
    /// Fails with [`Unsupported`](crate::ErrorKind::Unsupported) if `target` is anything but a
    /// regular file, with [`Invalid`](crate::ErrorKind::Invalid) if it has no file name, and with
    /// [`Io`](crate::ErrorKind::Io) if the new file cannot be created or given the mode of the old
    /// file. Fails with [`Locked`](crate::ErrorKind::Locked) if another process is changing the old
    /// file in place. Fails with [`ForeignJournal`](crate::ErrorKind::ForeignJournal) if there is a
    /// journal but no file. If an interrupted change cannot be rolled back, fails like
    /// [`journal::roll_back`].
    pub fn create(target: impl AsRef<Path>) -> Result<Self> {
        Self::create_as(target.as_ref(), NewFile::create)
    }

    fn create_as(target: &Path, create: fn(&Path) -> Result<NewFile>) -> Result<Self> {
        let begin = || {
            let target = resolve(target)?;
            journal::settle(&target)?;
            new_file::remove_stale(&target);
            let file = create(&target)?;
            // Set the mode before any bytes are written, so that the temporary file is as private
            // as the old one.
            copy_metadata(&target, file.file())?;
            Ok::<_, Error>(Self { target, writer: Some(BufWriter::with_capacity(BUFFER, file)) })
        };
        begin().with_context(|| target.display().to_string())
    }

    /// Returns the path of the file that will be created or replaced. If the file already exists,
    /// symbolic links in the path are resolved.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Flushes the buffer and returns the file, which contains all bytes written so far. Use the
    /// file to read these bytes back, or to copy more bytes into it. Its cursor is at the position
    /// of the next write.
    ///
    /// ```
    /// use std::io::{Read, Seek, SeekFrom, Write};
    /// use binio::write::AtomicFile;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let mut file = AtomicFile::create(folder.path().join("table"))?;
    /// file.write_all(b"so far")?;
    /// file.seek(SeekFrom::Start(3))?;
    /// let mut read = String::new();
    /// file.file()?.read_to_string(&mut read)?;
    /// assert_eq!(read, "far");
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the buffer cannot be written to the file.
    pub fn file(&mut self) -> Result<&File> {
        let writer = self.writer()?;
        writer.flush()?;
        Ok(writer.get_ref().file())
    }

    /// Moves the file into place. When this method returns, the file is on disk under its final
    /// name.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the file cannot be written, synced or renamed.
    /// The old file is checked again, as in [`create`](Self::create), because it may have changed
    /// in the meantime; this can fail with the same errors.
    ///
    /// After an error, the old file is still in place, with one exception: if only the last step,
    /// syncing the directory, fails, the new file is in place but may not survive a crash.
    pub fn commit(self) -> Result<()> {
        self.commit_by(NewFile::put)
    }

    /// Like [`commit`](Self::commit), but never replaces a file, except as described for
    /// [`NewFile::put_new`].
    ///
    /// ```
    /// use binio::write::AtomicFile;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("table.asdf");
    /// let file = AtomicFile::create(&path)?;
    /// std::fs::write(&path, b"of another process")?;
    /// let error = file.commit_new().unwrap_err();
    /// assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::AlreadyExists);
    /// assert_eq!(std::fs::read(&path)?, b"of another process");
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`commit`](Self::commit). Also fails with [`Io`](crate::ErrorKind::Io), of the kind
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), if a file with that name exists.
    pub fn commit_new(self) -> Result<()> {
        self.commit_by(NewFile::put_new)
    }

    /// Moves several files into place in the given order. Consecutive files in the same directory
    /// need only one sync of the directory, so committing many small files takes half as long as
    /// committing them one by one.
    ///
    /// ```
    /// use std::io::Write;
    /// use binio::write::AtomicFile;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let names = ["part-0", "part-1"].map(|name| folder.path().join(name));
    /// let mut files = Vec::new();
    /// for name in &names {
    ///     let mut file = AtomicFile::create(name)?;
    ///     file.write_all(b"data")?;
    ///     files.push(file);
    /// }
    /// AtomicFile::commit_all(files)?;
    /// assert!(names.iter().all(|name| name.exists()));
    /// # Ok::<(), binio::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`commit`](Self::commit). The files before the failed one may already be in place,
    /// but may not survive a crash.
    pub fn commit_all(files: impl IntoIterator<Item = Self>) -> Result<()> {
        let mut files: Vec<Self> = files.into_iter().collect();
        files.iter_mut().try_for_each(Self::finish)?;
        let mut unsynced: Option<PathBuf> = None;
        for file in files {
            let target = file.target.clone();
            let is_other = |before: &mut PathBuf| before.parent() != target.parent();
            if let Some(before) = unsynced.take_if(is_other) {
                sync_directory(&before)?;
            }
            file.put(NewFile::put)?;
            unsynced = Some(target);
        }
        unsynced.map_or(Ok(()), |target| sync_directory(&target))
    }

    fn commit_by(mut self, put: fn(NewFile, &Path) -> Result<()>) -> Result<()> {
        self.finish()?;
        let target = self.target.clone();
        self.put(put)?;
        sync_directory(&target).with_context(|| format!("commit {}", target.display()))
    }

    /// Flushes the buffer, copies the metadata of the old file again, and waits until the file is
    /// on disk.
    fn finish(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let target = &self.target;
        let mut finish = || {
            writer.flush()?;
            copy_metadata(target, writer.get_ref().file())?;
            Ok::<_, Error>(writer.get_ref().file().sync_all()?)
        };
        finish().with_context(|| format!("commit {}", target.display()))
    }

    /// Gives the file its name, without syncing the directory.
    fn put(mut self, put: fn(NewFile, &Path) -> Result<()>) -> Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let target = &self.target;
        let put = || {
            let (file, _) = writer.into_parts();
            // Another process may have begun to change the old file in place and been interrupted,
            // so roll back its change.
            journal::settle(target)?;
            put(file, target)
        };
        put().with_context(|| format!("commit {}", target.display()))
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<NewFile>> {
        self.writer.as_mut().ok_or_else(|| io::Error::other("the file has already been committed"))
    }
}

/// Copies the mode, owner and extended attributes of the old file to the new one. Does nothing if
/// there is no old file.
fn copy_metadata(old: &Path, file: &File) -> Result<()> {
    match regular_file(old)? {
        Some(metadata) => Ok(preserved::copy(old, &metadata, file)?),
        None => Ok(()),
    }
}

/// Returns the directory that contains `path`.
#[cfg(unix)]
pub(super) fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the path of the file that will be created or replaced, with symbolic links resolved if
/// the file already exists. Fails if the path exists but is not a regular file.
fn resolve(target: &Path) -> Result<PathBuf> {
    let exists = match fs::symlink_metadata(target) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error.into()),
    };
    let target = if exists { fs::canonicalize(target)? } else { target.to_path_buf() };
    regular_file(&target)?;
    Ok(target)
}

/// Returns the metadata of a file that may be replaced, or `None` if it does not exist.
fn regular_file(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        Ok(metadata) if metadata.is_dir() => Err(Error::unsupported("replacing a directory")),
        Ok(_) => Err(Error::unsupported("replacing anything but a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits until the directory that contains `path` is on disk, so that creating, renaming or
/// removing the file survives a crash.
///
/// # Errors
///
/// Fails with [`Io`](crate::ErrorKind::Io) if the directory cannot be opened or synced. Does not
/// fail if the file system cannot sync directories.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> Result<()> {
    match File::open(directory_of(path))?.sync_all() {
        // Some network file systems cannot sync a directory. Ignore this, because there is no other
        // way to sync it.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => Ok(synced?),
    }
}

/// Does nothing, because this system cannot open directories.
///
/// # Errors
///
/// Never fails.
#[cfg(not(unix))]
pub fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}

impl Write for AtomicFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.writer()?.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer()?.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    /// The two ways to create the file: without a name if the system supports it, and with a
    /// temporary name.
    const WAYS: [fn(&Path) -> Result<NewFile>; 2] = [NewFile::create, NewFile::create_named];

    /// Returns the names of the files in a folder.
    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn dropping_without_commit_keeps_the_old_file_and_leaves_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, b"old").unwrap();
        for create in WAYS {
            let mut file = AtomicFile::create_as(&target, create).unwrap();
            file.write_all(b"new").unwrap();
            file.flush().unwrap();
            drop(file);
            assert_eq!(names(&folder), ["target"]);
            assert_eq!(fs::read(&target).unwrap(), b"old");
        }
    }

    #[test]
    fn an_unnamed_temporary_file_does_not_appear_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = AtomicFile::create(folder.path().join("target")).unwrap();
        if file.writer.as_ref().unwrap().get_ref().has_name() {
            eprintln!("skipped: this file system has no unnamed files");
            return;
        }
        assert_eq!(names(&folder).len(), 0);
        drop(file);
    }

    #[test]
    fn files_are_created_and_replaced_through_named_and_unnamed_temporary_files() {
        for create in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("target");
            for content in [b"one", b"two"] {
                let mut file = AtomicFile::create_as(&target, create).unwrap();
                file.write_all(content).unwrap();
                file.commit().unwrap();
                assert_eq!(fs::read(&target).unwrap(), content);
                assert_eq!(names(&folder), ["target"]);
            }
        }
    }

    #[test]
    fn commit_replaces_the_file_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, b"old").unwrap();
        let mut file = AtomicFile::create(&target).unwrap();
        file.write_all(b"new!").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"N").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"New!");
        assert_eq!(names(&folder), ["target"]);
    }

    #[test]
    fn simultaneous_writers_use_different_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for create in WAYS {
            let mut one = AtomicFile::create_as(&target, create).unwrap();
            let mut two = AtomicFile::create_as(&target, create).unwrap();
            one.write_all(b"one").unwrap();
            two.write_all(b"two").unwrap();
            one.commit().unwrap();
            two.commit().unwrap();
            assert_eq!(fs::read(&target).unwrap(), b"two");
            assert_eq!(names(&folder), ["target"]);
        }
    }

    #[test]
    fn commit_new_does_not_replace_a_file_created_in_the_meantime() {
        for create in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("target");
            let mut one = AtomicFile::create_as(&target, create).unwrap();
            let two = AtomicFile::create_as(&target, create).unwrap();
            one.write_all(b"one").unwrap();
            one.commit_new().unwrap();
            let error = two.commit_new().unwrap_err();
            assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::AlreadyExists, "{error}");
            assert_eq!(fs::read(&target).unwrap(), b"one");
            assert_eq!(names(&folder), ["target"]);
        }
    }

    #[test]
    fn a_directory_is_rejected_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::create_dir(&target).unwrap();
        let error = AtomicFile::create(&target).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
        assert_eq!(names(&folder), ["target"]);
    }

    #[test]
    fn a_directory_created_at_the_target_in_the_meantime_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        for create in WAYS {
            let file = AtomicFile::create_as(&target, create).unwrap();
            fs::create_dir(&target).unwrap();
            assert!(file.commit().is_err());
            assert_eq!(names(&folder), ["target"]);
            fs::remove_dir(&target).unwrap();
        }
    }

    #[test]
    fn an_error_for_a_missing_directory_contains_the_file_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = AtomicFile::create(folder.path().join("no/target")).unwrap_err();
        assert!(error.to_string().contains("target: "), "{error}");
    }

    #[test]
    fn a_target_name_of_maximum_length_can_be_committed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("n".repeat(255));
        AtomicFile::create(&target).unwrap().commit().unwrap();
        assert!(target.exists());
    }

    #[test]
    fn a_path_without_a_file_name_is_rejected() {
        assert!(AtomicFile::create("").is_err());
        assert!(AtomicFile::create("..").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_temporary_file_has_the_same_permissions_as_the_old_file() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, b"old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        for create in WAYS {
            let mut file = AtomicFile::create_as(&target, create).unwrap();
            let mode = file.file().unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_mode_of_the_old_file_is_kept() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, b"old").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        AtomicFile::create(&target).unwrap().commit().unwrap();
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o7777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn the_owner_of_the_old_file_is_kept_if_permitted() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, b"old").unwrap();
        if chown(&target, Some(1), Some(2)).is_err() {
            eprintln!("skipped: only the superuser can change the owner of a file");
            return;
        }
        fs::set_permissions(&target, fs::Permissions::from_mode(0o4750)).unwrap();
        AtomicFile::create(&target).unwrap().commit().unwrap();
        let new = fs::metadata(&target).unwrap();
        assert_eq!((new.uid(), new.gid(), new.mode() & 0o7777), (1, 2, 0o4750));
    }

    #[cfg(unix)]
    #[test]
    fn committing_through_a_symbolic_link_replaces_the_file_and_keeps_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        let link = folder.path().join("link");
        fs::write(&target, b"old").unwrap();
        std::os::unix::fs::symlink("target", &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_rejected() {
        assert!(AtomicFile::create("/dev/null").is_err());
    }

    /// Creates a file with an interrupted in-place change, as if the process that made the change
    /// had been killed.
    fn interrupted(path: &Path) {
        use crate::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt};

        fs::write(path, b"old data, old tail").unwrap();
        let lock = FileLock::acquire(path).unwrap();
        let mut storage = FileStorage::open(&lock).unwrap();
        let plan = ChangePlan::new(0..8).overwrite(10..18);
        let mut change = Change::begin(&mut storage, &plan).unwrap();
        change.write_all_at(b"new", 10).unwrap();
        std::mem::forget(change);
    }

    #[test]
    fn an_interrupted_change_to_the_old_file_is_rolled_back_before_the_file_is_replaced() {
        for create in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("target");
            interrupted(&target);
            let mut file = AtomicFile::create_as(&target, create).unwrap();
            assert_eq!(fs::read(&target).unwrap(), b"old data, old tail");
            file.write_all(b"new").unwrap();
            // Simulate another process that begins a change while the new file is being written,
            // and is killed.
            interrupted(&target);
            file.commit().unwrap();
            assert_eq!(
                (fs::read(&target).unwrap(), names(&folder)),
                (b"new".into(), vec!["target".into()])
            );
        }
    }

    #[test]
    fn a_file_is_not_created_next_to_the_journal_of_a_removed_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        interrupted(&target);
        fs::remove_file(&target).unwrap();
        let error = AtomicFile::create(&target).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ForeignJournal), "{error}");
        assert!(error.to_string().contains("target.undo-journal"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn the_temporary_file_of_a_killed_process_is_removed_by_the_next_writer() {
        let folder = tempfile::tempdir().unwrap();
        let [target, other] = ["target", "other"].map(|name| folder.path().join(name));
        let kill = |path: &Path| {
            let mut file = AtomicFile::create_as(path, NewFile::create_named).unwrap();
            file.write_all(b"part").unwrap();
            file.flush().unwrap();
            // Close the file without removing its name, as happens when a process is killed.
            let (file, _) = file.writer.take().unwrap().into_parts();
            file.abandon();
        };
        kill(&target);
        kill(&other);
        assert_eq!(names(&folder).len(), 2);
        // Check that the file of a writer that is still running is not removed.
        let mut running = AtomicFile::create_as(&target, NewFile::create_named).unwrap();
        running.write_all(b"running").unwrap();
        running.flush().unwrap();
        AtomicFile::create(&target).unwrap().commit().unwrap();
        running.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"running");
        assert_eq!(names(&folder).len(), 2, "{:?}", names(&folder));
        AtomicFile::create(&other).unwrap().commit().unwrap();
        let mut left = names(&folder);
        left.sort();
        assert_eq!(left, ["other", "target"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn extended_attributes_of_the_old_file_are_kept() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};

        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("target");
        fs::write(&target, b"old").unwrap();
        let value = vec![b'v'; 2000];
        for name in ["user.origin", "user.checksum"] {
            if setxattr(&target, name, &value, XattrFlags::empty()).is_err() {
                eprintln!("skipped: this file system has no extended attributes");
                return;
            }
        }
        AtomicFile::create(&target).unwrap().commit().unwrap();
        for name in ["user.origin", "user.checksum"] {
            let mut found = vec![0; 3000];
            let len = getxattr(&target, name, &mut found[..]).unwrap();
            assert_eq!(found[..len], value, "{name}");
        }
    }
}
