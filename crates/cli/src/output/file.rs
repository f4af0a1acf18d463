//! Outputs of commands: either a file that appears at its path only once it is complete, or a stream.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use binio::write::{AtomicFile, FileLock};

use crate::failure::{Failure, STANDARD_OUTPUT};
use crate::output::Sink;

/// An output that can be written at any position until it is committed.
pub(crate) struct OutputFile {
    path: PathBuf,
    replace: bool,
    file: Kind,
}

enum Kind {
    /// A temporary file that is moved to its path when it is complete.
    Whole(AtomicFile),
    /// A temporary file for output to a stream, which cannot seek. It is copied to the stream when
    /// it is complete.
    Spooled(File),
}

impl OutputFile {
    /// Creates a temporary file for the output. Fails if the output file exists and `replace` is
    /// false.
    pub(crate) fn create(path: &Path, replace: bool) -> Result<Self, Failure> {
        check(path, replace)?;
        let file = if is_stream(path) {
            Kind::Spooled(tempfile::tempfile().map_err(|error| failure_of_stream(path, error))?)
        } else {
            Kind::Whole(AtomicFile::create(path).map_err(|error| failure(path, &error))?)
        };
        Ok(Self { path: path.to_owned(), replace, file })
    }

    /// Returns the temporary file, for writing at any offset.
    pub(crate) fn file(&mut self) -> Result<&File, Failure> {
        match &mut self.file {
            Kind::Whole(file) => file.file().map_err(|error| failure(&self.path, &error)),
            Kind::Spooled(file) => Ok(file),
        }
    }

    /// Moves the complete file to its path, or copies it to the stream. If the output is dropped
    /// without a commit, no file is left behind.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let path = self.path.clone();
        if self.try_commit()? { Ok(()) } else { Err(exists(&path)) }
    }

    /// Like [`commit`](Self::commit), but returns `false` if existing files must not be replaced
    /// and another process has created the file in the meantime. The file of the other process is
    /// kept.
    pub(crate) fn try_commit(self) -> Result<bool, Failure> {
        let Self { path, replace, file } = self;
        match file {
            Kind::Whole(file) => {
                let committed = if replace { file.commit() } else { file.commit_new() };
                match committed {
                    Err(error) if !replace && is_existing(&error) => return Ok(false),
                    committed => committed.map_err(|error| failure(&path, &error))?,
                }
            }
            Kind::Spooled(mut file) => {
                let written = file.rewind().and_then(|()| {
                    let mut out = stream(&path)?;
                    io::copy(&mut file, &mut out)?;
                    out.flush()
                });
                written.map_err(|error| failure_of_stream(&path, error))?;
            }
        }
        Ok(true)
    }
}

fn is_existing(error: &binio::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
}

fn exists(path: &Path) -> Failure {
    Failure::other(path.display(), "exists already; --force replaces it")
}

/// Fails if the path of an output is a directory, if its folder does not exist, or if a file exists
/// and `replace` is false.
pub(crate) fn check(path: &Path, replace: bool) -> Result<(), Failure> {
    if is_stream(path) {
        return Ok(());
    }
    if path.is_dir() {
        return Err(Failure::other(path.display(), "is a directory; expected the name of a file"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| folder.try_exists().is_ok_and(|found| !found)) {
        let message = format!("the folder {} does not exist", folder.display());
        return Err(Failure::other(path.display(), message));
    }
    if !replace && path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    Ok(())
}

/// The maximum time to wait for another process that is changing a file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Locks an existing file that the command will replace, and rolls back an interrupted change to
/// the file. If the lock is acquired before the inputs are read, and held until the output is in
/// place, no change by another process is lost, even if the output is also one of the inputs.
pub(crate) fn lock(path: &Path, replace: bool) -> Result<Option<FileLock>, Failure> {
    // Only lock a regular file that may be replaced: streams need no lock, and everything else is
    // rejected later.
    if !replace || is_standard(path) || !path.is_file() {
        return Ok(None);
    }
    let lock = match FileLock::acquire_within(path, PATIENCE) {
        // No lock is needed: a file that cannot be opened cannot be one of the inputs either.
        Err(error) if is_denied(&error) => return Ok(None),
        lock => lock.map_err(|error| failure(path, &error))?,
    };
    lock.roll_back().map_err(|error| failure(path, &error))?;
    Ok(Some(lock))
}

fn is_denied(error: &binio::Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

fn failure(path: &Path, error: &binio::Error) -> Failure {
    Failure::other(path.display(), error.to_string())
}

fn failure_of_stream(path: &Path, error: io::Error) -> Failure {
    if is_standard(path) { Failure::from(error) } else { Failure::io(path, error) }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Kind::Whole(file) => file.write(bytes),
            Kind::Spooled(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Kind::Whole(file) => file.flush(),
            Kind::Spooled(file) => file.flush(),
        }
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.file {
            Kind::Whole(file) => file.seek(to),
            Kind::Spooled(file) => file.seek(to),
        }
    }
}

/// Runs `body` with an output: either a file that appears at its path only once it is complete, or a
/// stream, which is written directly. `source` converts errors that are not write errors.
pub(crate) fn write<T, E>(
    path: &Path,
    replace: bool,
    body: impl FnOnce(&mut dyn Write) -> Result<T, E>,
    source: impl FnOnce(E) -> Failure,
) -> Result<T, Failure> {
    if !is_stream(path) {
        return write_file(path, replace, |out| body(out), source);
    }
    let mut out = Sink::new(stream(path).map_err(|error| failure_of_stream(path, error))?);
    let written = body(&mut out);
    out.finish(written, source, |error| failure_of_stream(path, error))
}

/// Like [`write`], but `body` can seek in the output.
pub(crate) fn write_file<T, E>(
    path: &Path,
    replace: bool,
    body: impl FnOnce(&mut Sink<OutputFile>) -> Result<T, E>,
    source: impl FnOnce(E) -> Failure,
) -> Result<T, Failure> {
    let mut out = Sink::new(OutputFile::create(path, replace)?);
    let written = body(&mut out);
    let value = out.finish(written, source, |error| failure_of_stream(path, error))?;
    out.into_inner().commit()?;
    Ok(value)
}

/// Returns the name of an output for messages: its path, or "standard output" for "-".
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { STANDARD_OUTPUT.to_owned() } else { path.display().to_string() }
}

/// Returns `true` if a path means standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/stdout"].iter().any(|name| path == Path::new(name))
}

/// Returns `true` if a path is standard output, a pipe or a device, none of which can be replaced
/// by a new file.
fn is_stream(path: &Path) -> bool {
    let is_special = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    is_standard(path) || fs::metadata(path).is_ok_and(is_special)
}

fn stream(path: &Path) -> io::Result<Box<dyn Write>> {
    Ok(if is_standard(path) {
        Box::new(io::stdout().lock())
    } else {
        Box::new(File::options().write(true).open(path)?)
    })
}
