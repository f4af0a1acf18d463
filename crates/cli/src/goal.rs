//! Where a command writes: a file that appears when it is complete, or standard output.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use binio::AtomicFile;

use crate::failure::Failure;
use crate::output::Sink;

/// A file to be written.
pub(crate) struct OutputFile {
    path: PathBuf,
    file: AtomicFile,
}

impl OutputFile {
    /// Begins a file. One that exists is an error, unless it is to be replaced.
    pub(crate) fn create(path: &Path, replace: bool) -> Result<Self, Failure> {
        check(path, replace)?;
        let file = AtomicFile::create(path).map_err(|error| failure(path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// The file, for writing at positions.
    pub(crate) fn file(&mut self) -> Result<&File, Failure> {
        self.file.file().map_err(|error| failure(&self.path, &error))
    }

    /// Puts the file in its place. Dropped without it, the file leaves nothing.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self { path, file } = self;
        file.commit().map_err(|error| failure(&path, &error))
    }
}

/// Fails for a file that exists, unless it is to be replaced.
pub(crate) fn check(path: &Path, replace: bool) -> Result<(), Failure> {
    if !replace && !is_standard(path) && path.symlink_metadata().is_ok() {
        return Err(Failure::other(path.display(), "exists already; --force replaces it"));
    }
    Ok(())
}

fn failure(path: &Path, error: &binio::Error) -> Failure {
    Failure::other(path.display(), error.to_string())
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Writes to a file that appears when all is written, or to standard output for "-". `source` says
/// whose failure it is that is not one of writing.
pub(crate) fn write<T, E>(
    path: &Path,
    replace: bool,
    body: impl FnOnce(&mut dyn Write) -> Result<T, E>,
    source: impl FnOnce(E) -> Failure,
) -> Result<T, Failure> {
    if !is_standard(path) {
        return write_file(path, replace, |out| body(out), source);
    }
    let mut out = Sink::new(io::stdout().lock());
    let written = body(&mut out);
    out.finish(written, source, Failure::from)
}

/// The same to a file only, in which the body can go back.
pub(crate) fn write_file<T, E>(
    path: &Path,
    replace: bool,
    body: impl FnOnce(&mut Sink<OutputFile>) -> Result<T, E>,
    source: impl FnOnce(E) -> Failure,
) -> Result<T, Failure> {
    let mut out = Sink::new(OutputFile::create(path, replace)?);
    let written = body(&mut out);
    let value = out.finish(written, source, |error| Failure::io(path, error))?;
    out.into_inner().commit()?;
    Ok(value)
}

/// Whether a name stands for standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
