//! Detecting whether a store is a directory, a database or a dump, and opening it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::{BlobStore, BlobStoreMut, DirStore, StoreError};

/// The first bytes of every `SQLite` database that is not empty.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Opens a store for reading: a directory of blobs, a `content.sqlite` file, or a `flux dump` file.
/// The kind is detected from the content of the file, not from its name.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::{self, BlobStore, BlobStoreMut};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("blobs");
/// let blobref = store::create(&path)?.put(HashType::Sha1, b"abc")?;
/// assert!(store::open(&path)?.contains(&blobref)?);
/// # Ok::<(), flux_archive::store::StoreError>(())
/// ```
///
/// # Errors
///
/// Fails with [`StoreError::Io`] if the path cannot be read or is neither a directory nor a regular
/// file, with [`StoreError::Damaged`] if a file is neither a valid database of a Flux content store
/// nor a tar file, and with [`StoreError::NoFeature`] if this build cannot read this kind of store.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn BlobStore>, StoreError> {
    let path = path.as_ref();
    if path.is_dir() {
        return Ok(Box::new(DirStore::open(path)?));
    }
    if is_sqlite(path)? {
        return open_database(path);
    }
    open_dump(path)
}

/// Opens a store for writing, and creates it if it does not exist. The store is a `content.sqlite` if the existing file
/// is a database, or if the file does not exist and has the extension `sqlite`. Otherwise, it is a directory of blobs.
///
/// # Errors
///
/// Fails with [`StoreError::Io`] if the store cannot be opened or created, with [`StoreError::Damaged`] if a database
/// is damaged or conflicts with the tables of Flux, and with [`StoreError::NoFeature`] if this build cannot write this
/// kind of store.
pub fn create(path: impl AsRef<Path>) -> Result<Box<dyn BlobStoreMut>, StoreError> {
    let path = path.as_ref();
    let is_database = match is_sqlite(path) {
        Ok(is_sqlite) => is_sqlite,
        Err(_) => !path.exists() && path.extension().is_some_and(|name| name == "sqlite"),
    };
    if is_database { create_database(path) } else { Ok(Box::new(DirStore::create(path)?)) }
}

/// Returns `true` if a file is an `SQLite` database. Fails if it is not a regular file or cannot be read.
fn is_sqlite(path: &Path) -> io::Result<bool> {
    // Check this first, because opening a FIFO would block until there is a writer.
    if !path.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut head = Vec::new();
    File::open(path)?.take(SQLITE.len() as u64).read_to_end(&mut head)?;
    Ok(head == SQLITE)
}

#[cfg(feature = "sqlite")]
fn open_database(path: &Path) -> Result<Box<dyn BlobStore>, StoreError> {
    Ok(Box::new(super::SqliteStore::open(path)?))
}

#[cfg(feature = "sqlite")]
fn create_database(path: &Path) -> Result<Box<dyn BlobStoreMut>, StoreError> {
    Ok(Box::new(super::SqliteStore::create(path)?))
}

#[cfg(not(feature = "sqlite"))]
fn open_database(_: &Path) -> Result<Box<dyn BlobStore>, StoreError> {
    Err(StoreError::NO_SQLITE)
}

#[cfg(not(feature = "sqlite"))]
fn create_database(_: &Path) -> Result<Box<dyn BlobStoreMut>, StoreError> {
    Err(StoreError::NO_SQLITE)
}

#[cfg(feature = "dump-tar")]
fn open_dump(path: &Path) -> Result<Box<dyn BlobStore>, StoreError> {
    Ok(Box::new(super::DumpTar::open(path)?))
}

#[cfg(not(feature = "dump-tar"))]
fn open_dump(_: &Path) -> Result<Box<dyn BlobStore>, StoreError> {
    Err(StoreError::NO_DUMP_TAR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HashType;

    #[test]
    fn the_kind_of_a_store_is_detected_from_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut names = vec!["blobs"];
        names.extend(cfg!(feature = "sqlite").then_some("content.sqlite"));
        for name in names {
            let blobref = create(path(name)).unwrap().put(HashType::Sha1, b"abc").unwrap();
            assert_eq!(path(name).is_dir(), name == "blobs");
            // Give the store a misleading name.
            std::fs::rename(path(name), path("other.tar")).unwrap();
            assert!(open(path("other.tar")).unwrap().contains(&blobref).unwrap());
            assert!(create(path("other.tar")).unwrap().contains(&blobref).unwrap());
            std::fs::rename(path("other.tar"), path(name)).unwrap();
        }
        assert!(matches!(open(path("missing")).err(), Some(StoreError::Io(_))));
        std::fs::write(path("text"), "no store").unwrap();
        assert!(matches!(create(path("text")).err(), Some(StoreError::Io(_))));
        let error = open(path("text")).err().unwrap();
        if cfg!(feature = "dump-tar") {
            assert!(matches!(error, StoreError::Damaged(_)), "{error}");
        } else {
            assert_eq!(error.to_string(), "a flux dump file needs the feature \"dump-tar\"");
        }
    }
}
