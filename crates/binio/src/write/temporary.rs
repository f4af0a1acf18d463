//! Named temporary files that an interrupted program can remove.
//!
//! A process that is ended by a signal does not run destructors. To leave no temporary files
//! behind, a program must call [`remove_temporaries`] before it ends.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type Remove = Box<dyn Fn() + Send>;

static FILES: Mutex<BTreeMap<u64, Remove>> = Mutex::new(BTreeMap::new());

fn files() -> MutexGuard<'static, BTreeMap<u64, Remove>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A named temporary file. Unless it is [kept](Self::keep), the file is removed when this value is
/// dropped, or by [`remove_temporaries`].
///
/// ```
/// use std::fs;
/// use binio::write::TemporaryFile;
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join(".part.tmp");
/// let remove = path.clone();
/// let temporary = TemporaryFile::new(move || drop(fs::remove_file(&remove)));
/// fs::write(&path, b"so far")?;
/// drop(temporary);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct TemporaryFile(u64);

impl TemporaryFile {
    /// Registers a function that removes the file. Call this before creating the file, because the
    /// process may be interrupted between the two steps.
    pub fn new(remove: impl Fn() + Send + 'static) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);

        let id = COUNT.fetch_add(1, Ordering::Relaxed);
        files().insert(id, Box::new(remove));
        Self(id)
    }

    /// Registers a function that removes the file, and then calls `create` to create the file. If
    /// `create` fails, nothing is removed, because the file may belong to another process.
    ///
    /// ```
    /// use std::fs::{self, File};
    /// use binio::write::TemporaryFile;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join(".part.tmp");
    /// let create = || {
    ///     let remove = path.clone();
    ///     TemporaryFile::create(move || drop(fs::remove_file(&remove)), || File::create_new(&path))
    /// };
    /// let (_, temporary) = create()?;
    /// assert!(create().is_err() && path.exists());
    /// drop(temporary);
    /// assert!(!path.exists());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if `create` fails.
    pub fn create<T, E>(
        remove: impl Fn() + Send + 'static,
        create: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Self), E> {
        let temporary = Self::new(remove);
        match create() {
            Ok(created) => Ok((created, temporary)),
            Err(error) => {
                temporary.keep();
                Err(error)
            }
        }
    }

    /// Unregisters the file without removing it. Use this after the file has been renamed, or if it
    /// was never created.
    pub fn keep(self) {
        files().remove(&self.0);
        std::mem::forget(self);
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let remove = files().remove(&self.0);
        if let Some(remove) = remove {
            remove();
        }
    }
}

impl fmt::Debug for TemporaryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TemporaryFile").field(&self.0).finish()
    }
}

/// Removes all temporary files registered by this process. Call this just before the process ends,
/// because any thread that then creates, keeps or drops a [`TemporaryFile`] waits forever.
pub fn remove_temporaries() {
    let files = files();
    for remove in files.values() {
        remove();
    }
    std::mem::forget(files);
}
