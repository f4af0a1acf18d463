//! A pool of files that keeps only some of them open at a time.
//!
//! An exploded file may have thousands of block files, but many systems allow a process only a few
//! hundred open files. A [`PooledFile`] is closed once [`MAX_OPEN`] other files have been added or
//! read since it was last used, and reopened when it is read again.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use binio::{FileSource, ReadAt};

/// Maximum number of files in a pool that are open at the same time.
const MAX_OPEN: usize = 64;

/// A pool of files, which closes files that have not been read recently.
#[derive(Debug, Default)]
pub(crate) struct FilePool {
    open: Mutex<VecDeque<(u64, Arc<FileSource>)>>,
    next_id: AtomicU64,
}

impl FilePool {
    /// Opens a file and adds it to the pool.
    pub(crate) fn add(self: &Arc<Self>, path: &Path) -> binio::Result<PooledFile> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let modified = modified(path)?;
        let source = Arc::new(FileSource::open(path)?);
        let len = source.len();
        self.keep(id, source);
        Ok(PooledFile { pool: Arc::clone(self), id, path: path.to_owned(), len, modified })
    }

    fn find(&self, id: u64) -> Option<Arc<FileSource>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().rposition(|(known, _)| *known == id)?;
        let found = open.remove(at)?;
        let source = Arc::clone(&found.1);
        open.push_back(found);
        Some(source)
    }

    fn keep(&self, id: u64, source: Arc<FileSource>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push_back((id, source));
        if open.len() > MAX_OPEN {
            open.pop_front();
        }
    }
}

/// A file in a pool. Reading a file that the pool has closed fails if its length or modification
/// time has changed since it was added.
#[derive(Debug)]
pub(crate) struct PooledFile {
    pool: Arc<FilePool>,
    id: u64,
    path: PathBuf,
    len: u64,
    modified: SystemTime,
}

impl PooledFile {
    fn source(&self) -> binio::Result<Arc<FileSource>> {
        if let Some(source) = self.pool.find(self.id) {
            return Ok(source);
        }
        let source = Arc::new(FileSource::open(&self.path)?);
        if source.len() != self.len || modified(&self.path)? != self.modified {
            let message =
                format!("{}: the file has changed since it was opened", self.path.display());
            return Err(io::Error::other(message).into());
        }
        self.pool.keep(self.id, Arc::clone(&source));
        Ok(source)
    }
}

impl ReadAt for PooledFile {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        self.source()?.read_exact_at(buf, offset)
    }
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(count: usize) -> (tempfile::TempDir, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> =
            (0..count).map(|number| folder.path().join(number.to_string())).collect();
        for path in &paths {
            fs::write(path, path.file_name().unwrap().to_string_lossy().as_bytes()).unwrap();
        }
        (folder, paths)
    }

    #[test]
    fn reading_a_pooled_file_that_was_closed_reopens_it() {
        let (_folder, paths) = files(MAX_OPEN + 20);
        let pool = Arc::new(FilePool::default());
        let files: Vec<_> = paths.iter().map(|path| pool.add(path).unwrap()).collect();
        for (number, file) in files.iter().enumerate() {
            let len = usize::try_from(file.len()).unwrap();
            assert_eq!(file.bytes_at(0, len).unwrap(), number.to_string());
            assert!(pool.open.lock().unwrap().len() <= MAX_OPEN);
        }
    }

    #[test]
    fn reading_a_pooled_file_fails_if_it_changed_while_it_was_closed() {
        let (_folder, paths) = files(MAX_OPEN + 1);
        let pool = Arc::new(FilePool::default());
        let files: Vec<_> = paths.iter().map(|path| pool.add(path).unwrap()).collect();
        fs::write(&paths[0], "other").unwrap();
        let error = files[0].bytes_at(0, 1).unwrap_err();
        assert!(error.to_string().contains("has changed"), "{error}");
    }
}
