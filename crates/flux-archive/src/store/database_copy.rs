//! Copying the database of a crashed broker, so that its log can be applied without changing the
//! original.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use binio::write::TemporaryFile;

/// A copy of a database and its logs, in a directory that is removed on drop, or by
/// [`binio::write::remove_temporaries`].
#[derive(Debug)]
pub(super) struct DatabaseCopy {
    pub(super) database: PathBuf,
    _directory: Option<TemporaryFile>,
}

impl DatabaseCopy {
    /// Copies a database and its logs. Each log is given by its path and its suffix, such as
    /// `-wal`.
    pub(super) fn new(path: &Path, logs: &[(PathBuf, &str)]) -> io::Result<Self> {
        let mut registered = None;
        let directory = tempfile::Builder::new().make(|directory| {
            let remove = directory.to_owned();
            let remove = move || remove_folder(&remove);
            let ((), temporary) = TemporaryFile::create(remove, || private_folder(directory))?;
            registered = Some(temporary);
            Ok(())
        })?;
        let directory = directory.into_temp_path().keep()?;
        let database = directory.join("content.sqlite");
        fs::copy(path, &database)?;
        for (log, suffix) in logs {
            fs::copy(log, beside(&database, suffix))?;
        }
        Ok(Self { database, _directory: registered })
    }
}

/// Creates a folder. On Unix, only its owner can access it.
fn private_folder(path: &Path) -> io::Result<()> {
    let builder = &mut fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder.create(path)
}

/// Removes a folder. Tries several times, because another thread may still be copying files into
/// it.
fn remove_folder(path: &Path) {
    for _ in 0..10 {
        if fs::remove_dir_all(path).is_ok() {
            return;
        }
    }
}

/// Appends a suffix to a file name, as in `content.sqlite-wal`.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
