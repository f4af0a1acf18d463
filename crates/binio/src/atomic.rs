//! Replacing a file so that everybody sees the old one or the new one, never a part.
//!
//! ```text
//! create   .atomic-1234-0.tmp appears beside name, with name's mode and owner
//! write    bytes go to the temporary file
//! commit   its bytes reach the disk, it is renamed to name, the directory reaches the disk
//! ```
//!
//! A crash before the rename leaves the old file, and a temporary file to delete; a crash after
//! it leaves the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Context, Error, Result};

/// A file that appears under its name when it is complete. Dropped without
/// [`commit`](Self::commit) it leaves nothing.
///
/// Writes are buffered. Where the name is a symbolic link, the file that it points at is replaced.
/// Anything but a regular file, such as a directory or a device, is refused.
///
/// ```
/// use std::io::Write;
/// use binio::AtomicFile;
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
    goal: PathBuf,
    /// `None` once the file is committed.
    temporary: Option<Temporary>,
}

/// The file beside the goal; removed when dropped.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    writer: BufWriter<File>,
    /// Renamed: the path is no longer ours to remove.
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nobody is left to tell of a failure.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl AtomicFile {
    /// Begins a file that will be called `goal`, in a directory that exists.
    pub fn create(goal: impl AsRef<Path>) -> Result<Self> {
        let goal = goal.as_ref();
        Self::begin(goal).with_context(|| goal.display().to_string())
    }

    fn begin(goal: &Path) -> Result<Self> {
        let goal = resolve(goal)?;
        let temporary = Temporary::beside(&goal)?;
        // At once, so that nobody reads in the temporary file what the old file hides.
        temporary.take_mode_of(&goal)?;
        Ok(Self { goal, temporary: Some(temporary) })
    }

    /// The file that will appear or be replaced: the name given, with symbolic links followed.
    pub fn goal(&self) -> &Path {
        &self.goal
    }

    /// The temporary file, with all that was written so far, to read it back or to copy to it. Its
    /// cursor is where the next bytes go.
    ///
    /// ```
    /// use std::io::{Read, Seek, SeekFrom, Write};
    /// use binio::AtomicFile;
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
    pub fn file(&mut self) -> Result<&File> {
        let writer = self.writer()?;
        writer.flush()?;
        Ok(writer.get_ref())
    }

    /// Puts the file in its place. When this returns, it is on the disk under its name.
    ///
    /// On failure the old file is as it was, with one exception: if only the last step fails, the
    /// directory's way to the disk, the new file is in place but may not survive a crash.
    pub fn commit(mut self) -> Result<()> {
        match self.temporary.take() {
            Some(temporary) => temporary
                .rename_to(&self.goal)
                .with_context(|| format!("commit {}", self.goal.display())),
            None => Ok(()),
        }
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        let open = self.temporary.as_mut().map(|temporary| &mut temporary.writer);
        open.ok_or_else(|| io::Error::other("the file is committed"))
    }
}

impl Temporary {
    /// Opens a new file under a name that nobody else has.
    fn beside(goal: &Path) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);

        if goal.file_name().is_none() {
            return Err(Error::invalid("the path has no file name"));
        }
        loop {
            // Without the goal's name, which may be as long as names can be.
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = goal.with_file_name(format!(".atomic-{}-{count}.tmp", process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Self { path, writer: BufWriter::new(file), renamed: false });
                }
                // Left behind by a process that had our number and crashed.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn rename_to(mut self, goal: &Path) -> Result<()> {
        self.writer.flush()?;
        self.take_mode_of(goal)?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.path, goal)?;
        self.renamed = true;
        sync_directory(goal)
    }

    fn take_mode_of(&self, goal: &Path) -> Result<()> {
        let Some(old) = regular_file(goal)? else { return Ok(()) };
        let file = self.writer.get_ref();
        take_owner(file, &old)?;
        Ok(file.set_permissions(old.permissions())?)
    }
}

/// Gives a file the owner and group of another, as far as this process may.
#[cfg(unix)]
fn take_owner(file: &File, old: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        // Only the superuser gives files away; others may know no group but their own.
        let _ = fchown(file, Some(old.uid()), Some(old.gid()))
            .or_else(|_| fchown(file, None, Some(old.gid())));
    }
    Ok(())
}

/// Other systems have no owners that are numbers.
#[cfg(not(unix))]
fn take_owner(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Follows symbolic links to the file that is to be replaced.
fn resolve(goal: &Path) -> Result<PathBuf> {
    let exists = match fs::symlink_metadata(goal) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error.into()),
    };
    let goal = if exists { fs::canonicalize(goal)? } else { goal.to_path_buf() };
    regular_file(&goal)?;
    Ok(goal)
}

/// The metadata of a file that may be replaced, or `None` if nothing is there.
fn regular_file(path: &Path) -> Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(metadata)),
        Ok(metadata) if metadata.is_dir() => Err(Error::unsupported("to replace a directory")),
        Ok(_) => Err(Error::unsupported("to replace what is not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns when the names in the directory of `path` are on the disk, so that its creation, renaming
/// or removal survives a crash.
#[cfg(unix)]
pub fn sync_directory(path: &Path) -> Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match File::open(parent)?.sync_all() {
        // Some network file systems have no such operation; there a rename is all that can be done.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => Ok(synced?),
    }
}

/// Returns at once: other systems do not open directories.
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

    /// The names in a folder.
    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn dropped_without_commit_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        fs::write(&goal, b"old").unwrap();
        let mut file = AtomicFile::create(&goal).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(names(&folder).len(), 2);
        drop(file);
        assert_eq!(names(&folder), ["goal"]);
        assert_eq!(fs::read(&goal).unwrap(), b"old");
    }

    #[test]
    fn commit_replaces_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        fs::write(&goal, b"old").unwrap();
        let mut file = AtomicFile::create(&goal).unwrap();
        file.write_all(b"new!").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"N").unwrap();
        assert_eq!(fs::read(&goal).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!(fs::read(&goal).unwrap(), b"New!");
        assert_eq!(names(&folder), ["goal"]);
    }

    #[test]
    fn files_begun_at_once_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        let mut one = AtomicFile::create(&goal).unwrap();
        let mut two = AtomicFile::create(&goal).unwrap();
        one.write_all(b"one").unwrap();
        two.write_all(b"two").unwrap();
        one.commit().unwrap();
        two.commit().unwrap();
        assert_eq!(fs::read(&goal).unwrap(), b"two");
        assert_eq!(names(&folder), ["goal"]);
    }

    #[test]
    fn directory_is_refused_before_anything_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        fs::create_dir(&goal).unwrap();
        let error = AtomicFile::create(&goal).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
        assert_eq!(names(&folder), ["goal"]);
    }

    #[test]
    fn directory_that_took_the_name_meanwhile_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        let file = AtomicFile::create(&goal).unwrap();
        fs::create_dir(&goal).unwrap();
        assert!(file.commit().is_err());
        assert_eq!(names(&folder), ["goal"]);
    }

    #[test]
    fn missing_directory_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = AtomicFile::create(folder.path().join("no/goal")).unwrap_err();
        assert!(error.to_string().contains("goal: "), "{error}");
    }

    #[test]
    fn name_may_be_as_long_as_names_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("n".repeat(255));
        AtomicFile::create(&goal).unwrap().commit().unwrap();
        assert!(goal.exists());
    }

    #[test]
    fn path_without_a_name_is_refused() {
        assert!(AtomicFile::create("").is_err());
        assert!(AtomicFile::create("..").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn temporary_file_hides_what_the_old_file_hides() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        fs::write(&goal, b"old").unwrap();
        fs::set_permissions(&goal, fs::Permissions::from_mode(0o600)).unwrap();
        let _file = AtomicFile::create(&goal).unwrap();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let mode = entry.unwrap().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn mode_is_kept() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        fs::write(&goal, b"old").unwrap();
        fs::set_permissions(&goal, fs::Permissions::from_mode(0o640)).unwrap();
        AtomicFile::create(&goal).unwrap().commit().unwrap();
        assert_eq!(fs::metadata(&goal).unwrap().permissions().mode() & 0o7777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn owner_is_kept_where_that_is_allowed() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

        let folder = tempfile::tempdir().unwrap();
        let goal = folder.path().join("goal");
        fs::write(&goal, b"old").unwrap();
        if chown(&goal, Some(1), Some(2)).is_err() {
            eprintln!("skipped: only the superuser gives files away");
            return;
        }
        fs::set_permissions(&goal, fs::Permissions::from_mode(0o4750)).unwrap();
        AtomicFile::create(&goal).unwrap().commit().unwrap();
        let new = fs::metadata(&goal).unwrap();
        assert_eq!((new.uid(), new.gid(), new.mode() & 0o7777), (1, 2, 0o4750));
    }

    #[cfg(unix)]
    #[test]
    fn file_behind_a_symbolic_link_is_replaced_and_the_link_stays() {
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
    fn device_is_refused() {
        assert!(AtomicFile::create("/dev/null").is_err());
    }
}
