//! Storing blobs as files named by their blobrefs.
//!
//! ```text
//! blobs/sha1-a9993e364706816aba3e25717850c26c9cd0d89d          flat, as in Flux's content.files
//! blobs/a9/sha1-a9993e364706816aba3e25717850c26c9cd0d89d       sharded
//! ```
//!
//! File names are derived from a parsed [`BlobRef`], never from the text of an archive. A file receives its final name
//! only when it is complete, but is not synced, so a blob may be missing or damaged after a system crash. Verifying a
//! blob detects the damage, and storing the blob again repairs its files in both layouts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use binio::write::NewFile;

use super::{BlobStore, BlobStoreMut, MAX_CHECKPOINT, StoreError};
use crate::model::{BlobRef, HashType};

/// The name of the checkpoint file that a broker keeps next to its blobs.
const CHECKPOINT: &str = "kvs-primary";

/// A store that consists of a directory of files named by their blobrefs.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::{BlobStore, BlobStoreMut, DirStore};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("blobs");
/// let blobref = DirStore::create(&path)?.put(HashType::Sha1, b"abc")?;
/// assert_eq!(std::fs::read(path.join(blobref.to_string()))?, b"abc");
/// assert!(DirStore::open(&path)?.contains(&blobref)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DirStore {
    root: PathBuf,
    sharded: bool,
}

impl DirStore {
    /// Opens an existing directory as a store.
    ///
    /// # Errors
    ///
    /// Fails if the path is not a directory, or cannot be accessed.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        if !fs::metadata(&root)?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Self { root, sharded: false })
    }

    /// Opens a directory as a store. Creates the directory and its parents if they do not exist.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be created or accessed.
    pub fn create(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        fs::create_dir_all(&root)?;
        Self::open(root)
    }

    binio::setters! {
        /// Sets whether blobs are written to 256 subdirectories, which are named by the first two digits of the
        /// digests. Flux cannot read such a store. Reading finds blobs in both layouts. Default: no.
        sharded: bool;
    }

    /// Returns `true` if the directory contains a checkpoint. Such a directory is the store of a
    /// broker, which also stores its keys as blobs.
    pub fn has_checkpoint(&self) -> bool {
        self.root.join(CHECKPOINT).symlink_metadata().is_ok()
    }

    /// Returns the text of the checkpoint, or `None` if there is no checkpoint. Ignores everything after the first
    /// [`MAX_CHECKPOINT`] bytes.
    pub(crate) fn checkpoint(&self) -> io::Result<Option<String>> {
        let file = match open_regular(&self.root.join(CHECKPOINT)) {
            Ok(Some((file, _))) => file,
            Ok(None) => return Err(ErrorKind::InvalidInput.into()),
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(MAX_CHECKPOINT).read_to_string(&mut text)?;
        Ok(Some(text))
    }

    fn flat_path(&self, blobref: &BlobRef) -> PathBuf {
        self.root.join(blobref.to_string())
    }

    fn shard_path(&self, blobref: &BlobRef) -> PathBuf {
        let first = blobref.digest().first().copied().unwrap_or_default();
        self.root.join(format!("{first:02x}")).join(blobref.to_string())
    }

    /// Returns the path to which a blob is written, followed by the path of the blob in the other
    /// layout.
    fn paths(&self, blobref: &BlobRef) -> [PathBuf; 2] {
        let (flat, shard) = (self.flat_path(blobref), self.shard_path(blobref));
        if self.sharded { [shard, flat] } else { [flat, shard] }
    }

    fn open_blob(&self, blobref: &BlobRef) -> Result<(File, u64), StoreError> {
        for path in self.paths(blobref) {
            match open_regular(&path) {
                Ok(Some(opened)) => return Ok(opened),
                Ok(None) => return Err(StoreError::Corrupt("not a regular file".into())),
                Err(error) if is_absence(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(StoreError::NotFound)
    }

    /// Returns `true` if the file at a path contains the blob, and `false` if its content differs or cannot be read.
    /// Returns `None` if there is no file.
    fn is_intact(path: &Path, blob: &[u8]) -> Option<bool> {
        let (mut file, len) = match open_regular(path) {
            Ok(Some(opened)) => opened,
            Err(error) if is_absence(&error) => return None,
            Ok(None) | Err(_) => return Some(false),
        };
        if len != blob.len() as u64 {
            return Some(false);
        }
        let mut buffer = [0; 16 << 10];
        Some(blob.chunks(buffer.len()).all(|part| {
            let read = file.read_exact(&mut buffer[..part.len()]);
            read.is_ok() && buffer[..part.len()] == *part
        }))
    }

    fn write(path: &Path, blob: &[u8]) -> io::Result<()> {
        let mut file = NewFile::create(path)?;
        file.write_all(blob)?;
        Ok(file.put(path)?)
    }
}

/// Opens a regular file for reading, and returns the file and its length. Returns `None` for any
/// other type of file. Does not block on a FIFO.
fn open_regular(path: &Path) -> io::Result<Option<(File, u64)>> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        let flags = rustix::fs::OFlags::NONBLOCK.bits();
        options.custom_flags(i32::try_from(flags).unwrap_or_default());
    }
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}

/// Returns `true` if the error means that the file does not exist, or that one of its parents is not a directory.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Reads a blob from a file that had `size` bytes when it was opened.
fn read(file: File, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
    StoreError::check_size(size)?;
    out.clear();
    // Also limit the length, because the file may grow while it is being read.
    file.take(super::MAX_BLOB_SIZE + 1).read_to_end(out)?;
    StoreError::check_size(out.len() as u64)
}

impl BlobStore for DirStore {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let (file, size) = self.open_blob(blobref)?;
        read(file, size, out)
    }

    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let (file, found) = self.open_blob(blobref)?;
        StoreError::check_length(size, found)?;
        read(file, found, out)
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        match self.open_blob(blobref) {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl BlobStoreMut for DirStore {
    fn put(&self, hash: HashType, blob: &[u8]) -> Result<BlobRef, StoreError> {
        StoreError::check_size(blob.len() as u64)?;
        let blobref = BlobRef::of(hash, blob);
        let [path, other] = self.paths(&blobref);
        let is_in_other = match Self::is_intact(&other, blob) {
            // A damaged file that cannot be replaced does no harm, because reading prefers `path`.
            Some(false) => Self::write(&other, blob).is_ok(),
            found => found.is_some(),
        };
        match Self::is_intact(&path, blob) {
            Some(true) => {}
            None if is_in_other => {}
            Some(false) | None => {
                if self.sharded {
                    if let Some(shard) = path.parent() {
                        fs::create_dir_all(shard)?;
                    }
                }
                Self::write(&path, blob)?;
            }
        }
        Ok(blobref)
    }

    fn remove(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        let mut removed = false;
        for path in self.paths(blobref) {
            match fs::remove_file(path) {
                Ok(()) => removed = true,
                Err(error) if is_absence(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(removed)
    }

    fn list(&self) -> Result<Vec<BlobRef>, StoreError> {
        let mut blobrefs = Vec::new();
        for entry in fs::read_dir(&self.root)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Ok(blobref) = BlobRef::parse(name) {
                blobrefs.push(blobref);
            } else if is_shard(name) && entry.file_type()?.is_dir() {
                for blob in fs::read_dir(entry.path())? {
                    let blob = blob?.file_name();
                    blobrefs.extend(blob.to_str().and_then(|name| BlobRef::parse(name).ok()));
                }
            }
        }
        blobrefs.sort_unstable();
        blobrefs.dedup();
        Ok(blobrefs)
    }
}

/// Returns `true` if one of the 256 subdirectories has this name.
fn is_shard(name: &str) -> bool {
    name.len() == 2 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::super::suite;
    use super::*;

    #[test]
    fn flat_and_sharded_directories_pass_the_store_suite() {
        for sharded in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let store = DirStore::create(folder.path().join("blobs")).unwrap().sharded(sharded);
            suite::check_writing(&store);
        }
    }

    #[test]
    fn blobs_are_found_in_both_directory_layouts() {
        let folder = tempfile::tempdir().unwrap();
        let store = DirStore::open(folder.path()).unwrap();
        let flat = store.put(HashType::Sha1, b"flat").unwrap();
        let sharded = store.clone().sharded(true).put(HashType::Sha1, b"sharded").unwrap();
        for store in [store.clone(), store.sharded(true)] {
            assert!(store.contains(&flat).unwrap() && store.contains(&sharded).unwrap());
            assert_eq!(store.list().unwrap().len(), 2);
        }
    }

    #[test]
    fn storing_a_damaged_blob_again_repairs_it() {
        let folder = tempfile::tempdir().unwrap();
        let store = DirStore::open(folder.path()).unwrap();
        let blobref = store.put(HashType::Sha1, b"right").unwrap();
        let path = folder.path().join(blobref.to_string());
        for damage in [&b"wrong"[..], b"", b"right and more"] {
            fs::write(&path, damage).unwrap();
            store.put(HashType::Sha1, b"right").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"right");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn storing_a_blob_again_repairs_damaged_files_in_both_layouts() {
        let folder = tempfile::tempdir().unwrap();
        let flat = DirStore::open(folder.path()).unwrap();
        let stores = [flat.clone(), flat.sharded(true)];
        let blobref = BlobRef::of(HashType::Sha1, b"right");
        let paths = stores[0].paths(&blobref);
        fs::create_dir(paths[1].parent().unwrap()).unwrap();
        for content in [["wrong", "right"], ["right", "wrong"], ["wrong", "wrong"]] {
            for store in &stores {
                for (path, content) in paths.iter().zip(content) {
                    fs::write(path, content).unwrap();
                }
                store.put(HashType::Sha1, b"right").unwrap();
                for path in &paths {
                    assert_eq!(fs::read(path).unwrap(), b"right", "{}", path.display());
                }
            }
        }
    }

    #[test]
    fn repairing_a_blob_in_the_other_layout_does_not_add_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let flat = DirStore::open(folder.path()).unwrap();
        let blobref = flat.put(HashType::Sha1, b"right").unwrap();
        let path = flat.flat_path(&blobref);
        fs::write(&path, "wrong").unwrap();
        flat.sharded(true).put(HashType::Sha1, b"right").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"right");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn storing_a_blob_succeeds_if_only_the_other_layout_cannot_be_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let sharded = DirStore::open(folder.path()).unwrap().sharded(true);
        let blobref = BlobRef::of(HashType::Sha1, b"right");
        fs::create_dir(sharded.flat_path(&blobref)).unwrap();
        for _ in 0..2 {
            sharded.put(HashType::Sha1, b"right").unwrap();
            let mut blob = Vec::new();
            sharded.get(&blobref, &mut blob).unwrap();
            assert_eq!(blob, b"right");
        }
    }

    #[test]
    fn files_not_named_by_a_blobref_are_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kvs-primary"), b"{}").unwrap();
        fs::write(folder.path().join("sha1-00"), b"").unwrap();
        fs::create_dir(folder.path().join("zz")).unwrap();
        let store = DirStore::open(folder.path()).unwrap();
        assert!(store.list().unwrap().is_empty());
        assert!(store.has_checkpoint());
        let blobref = BlobRef::of(HashType::Sha1, b"abc");
        fs::create_dir(folder.path().join(blobref.to_string())).unwrap();
        assert!(matches!(store.get(&blobref, &mut Vec::new()), Err(StoreError::Corrupt(_))));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_in_a_store_are_rejected_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let store = DirStore::create(folder.path().join("blobs")).unwrap();
        let [fifo, zeros, link] = [&b"fifo"[..], b"zeros", b"link"].map(|blob| {
            let blobref = BlobRef::of(HashType::Sha1, blob);
            (blobref, store.flat_path(&blobref))
        });
        let made = std::process::Command::new("mkfifo").arg(&fifo.1).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no mkfifo here");
            return;
        }
        std::os::unix::fs::symlink("/dev/zero", &zeros.1).unwrap();
        let mut out = Vec::new();
        for blobref in [&fifo.0, &zeros.0] {
            let error = store.get(blobref, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
            assert!(store.contains(blobref).is_err());
        }
        // A blob may be a link. Its target does not matter, because the caller verifies the blob.
        fs::write(folder.path().join("elsewhere"), b"link").unwrap();
        std::os::unix::fs::symlink("../elsewhere", &link.1).unwrap();
        store.get(&link.0, &mut out).unwrap();
        assert_eq!(out, b"link");
        // Storing the blob replaces the FIFO or the link to the device.
        for blob in [&b"fifo"[..], b"zeros"] {
            let blobref = store.put(HashType::Sha1, blob).unwrap();
            store.get(&blobref, &mut out).unwrap();
            assert_eq!(out, blob);
        }
    }

    #[test]
    fn a_blob_file_with_an_unexpected_length_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let store = DirStore::open(folder.path()).unwrap();
        let blobref = BlobRef::of(HashType::Sha1, b"abc");
        let file = File::create(folder.path().join(blobref.to_string())).unwrap();
        file.set_len(1 << 29).unwrap();
        let mut out = Vec::new();
        for _ in 0..10_000 {
            let error = store.get_sized(&blobref, 3, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Length { found: 536_870_912 }), "{error}");
        }
        assert_eq!(out.capacity(), 0);
    }

    #[test]
    fn opening_a_file_as_a_directory_store_fails() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(DirStore::open(file.path()).is_err());
        assert!(DirStore::open("/nonexistent/blobs").is_err());
    }
}
