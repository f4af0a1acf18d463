//! Reading a file by position.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;

use crate::source::check_range;
use crate::{Context, Error, ReadAt, Result, check_limit};

/// Maximum number of bytes to read into memory from a file that reports a size of 0.
pub(super) const MAX_UNSIZED: u64 = 1 << 30;

/// A regular file, read with `pread` (`seek_read` on Windows).
///
/// The length is determined once, when the source is created. If the file is truncated later, a
/// read past its new end fails with [`Truncated`](crate::ErrorKind::Truncated). This makes
/// `FileSource` safer than [`Mmap`](crate::Mmap) for files that others may write to.
///
/// ```
/// use binio::{ErrorKind, FileSource, ReadAt};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data");
/// std::fs::write(&path, b"0123456789")?;
/// let file = FileSource::open(&path)?;
/// assert_eq!(file.bytes_at(4, 2)?, "45");
///
/// std::fs::write(&path, b"01")?;
/// let error = file.bytes_at(4, 2).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Truncated { .. }));
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct FileSource {
    pub(crate) file: File,
    pub(crate) len: u64,
    /// The whole content of a file that reports a size of 0. Empty for any other file.
    content: Bytes,
}

impl FileSource {
    /// Opens a file for reading. Only regular files can be read by position. Some file systems,
    /// such as `/proc`, report a size of 0 for files that have content; these files are read into
    /// memory, up to 1 GiB.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the file is a directory or cannot be opened, and
    /// with [`Unsupported`](crate::ErrorKind::Unsupported) for pipes and devices. If the file
    /// reports a size of 0, fails with [`Io`](crate::ErrorKind::Io) if its content cannot be read,
    /// and with [`Limit`](crate::ErrorKind::Limit) if it has more than 1 GiB of content. The error
    /// message contains the path.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let open = || Self::new(open_regular(path)?)?.with_content();
        open().with_context(|| path.display().to_string())
    }

    /// Wraps an open file, and reads its content into memory if its reported size is 0. Fails
    /// unless it is a regular file.
    #[cfg(all(feature = "write", unix))]
    pub(crate) fn regular(file: File) -> Result<Self> {
        let metadata = file.metadata()?;
        check_regular(&metadata)?;
        Self { file, len: metadata.len(), content: Bytes::new() }.with_content()
    }

    /// Reads the content into memory if the reported size is 0.
    fn with_content(mut self) -> Result<Self> {
        if self.len == 0 {
            self.content = content_of(&self.file, MAX_UNSIZED)?;
            self.len = self.content.len() as u64;
        }
        Ok(self)
    }

    /// Wraps a file that is open for reading. Reads do not depend on the file's cursor, but on
    /// Windows they move it.
    ///
    /// # Errors
    ///
    /// Fails with [`Io`](crate::ErrorKind::Io) if the length of the file cannot be determined.
    pub fn new(file: File) -> Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file, len, content: Bytes::new() })
    }

    /// Returns the error for a read that reached the end of the file because the file was truncated
    /// after it was opened.
    fn cut_short(&self, needed: u64, offset: u64) -> Error {
        let now = self.file.metadata().map_or(0, |metadata| metadata.len());
        Error::truncated(needed, now.saturating_sub(offset)).at(offset)
    }
}

/// Opens a regular file. Checks the type of the file first, since opening a pipe would wait for a
/// writer.
pub(super) fn open_regular(path: &Path) -> Result<File> {
    check_regular(&fs::metadata(path)?)?;
    Ok(File::open(path)?)
}

fn check_regular(metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        Ok(())
    } else if metadata.is_dir() {
        Err(io::Error::from(io::ErrorKind::IsADirectory).into())
    } else {
        Err(Error::unsupported("only regular files can be read by position"))
    }
}

/// Reads the content of a file that reports a size of 0. Fails if it is longer than `limit` bytes.
pub(super) fn content_of(file: &File, limit: u64) -> Result<Bytes> {
    let mut content = Vec::new();
    file.take(limit + 1).read_to_end(&mut content)?;
    check_limit("bytes of a file that reports a size of 0", limit, content.len() as u64)?;
    Ok(content.into())
}

impl ReadAt for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let needed = buf.len() as u64;
        check_range(self.len, offset, needed)?;
        if !self.content.is_empty() {
            return self.content.read_exact_at(buf, offset);
        }
        read_exact_at(&self.file, buf, offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => self.cut_short(needed, offset),
            _ => Error::from(error).at(offset),
        })
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buf, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buf: &mut [u8], mut offset: u64) -> io::Result<()> {
    use io::ErrorKind::{Interrupted, UnexpectedEof};
    use std::os::windows::fs::FileExt;

    while !buf.is_empty() {
        match file.seek_read(buf, offset) {
            Ok(0) => return Err(UnexpectedEof.into()),
            Ok(read) => {
                buf = &mut buf[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fails, since the standard library cannot read files by position on this system.
#[cfg(not(any(unix, windows)))]
fn read_exact_at(_: &File, _: &mut [u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn file_with(data: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, data).unwrap();
        (folder, path)
    }

    #[test]
    fn a_read_past_the_end_is_reported_as_truncated() {
        let (_folder, path) = file_with(b"0123456789");
        let source = FileSource::open(&path).unwrap();
        let error = source.bytes_at(8, 3).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 3, available: 2 }));
        assert_eq!(error.offset(), Some(8));
    }

    #[test]
    fn a_file_shortened_after_opening_is_reported_as_truncated() {
        let (_folder, path) = file_with(b"0123456789");
        let source = FileSource::open(&path).unwrap();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4).unwrap();
        assert_eq!(source.len(), 10);
        let error = source.bytes_at(2, 6).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Truncated { needed: 6, available: 2 }));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_reports_a_size_of_0_is_read_to_its_end() {
        let path = "/proc/filesystems";
        assert_eq!(fs::metadata(path).unwrap().len(), 0);
        let source = FileSource::open(path).unwrap();
        let len = usize::try_from(source.len()).unwrap();
        assert_eq!(source.bytes_at(0, len).unwrap(), fs::read(path).unwrap());
        assert!(source.bytes_at(0, len + 1).is_err());
        let limited = content_of(&File::open(path).unwrap(), 3).unwrap_err();
        assert!(matches!(limited.kind(), ErrorKind::Limit { limit: 3, requested: 4, .. }));
    }

    #[test]
    fn errors_for_a_missing_file_or_a_directory_contain_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.asdf");
        let error = FileSource::open(&missing).unwrap_err();
        assert!(error.to_string().contains("missing.asdf: "), "{error}");
        let error = FileSource::open(folder.path()).unwrap_err();
        let path = folder.path().display();
        assert_eq!(error.to_string(), format!("{path}: is a directory"));
        assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::IsADirectory);
    }
}
