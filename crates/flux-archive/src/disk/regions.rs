//! A store whose blobs are parts of ordinary files.
//!
//! The blobs of an archive are parts of the files from which the archive was created. The archive
//! contains the offset of each blob in its file, so the blobs need not be stored again. As with
//! every store, the caller must verify each blob, because the files may have changed.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::dir::Dir;
use super::walk::{Walk, name_of};
use crate::error::StoreError;
use crate::model::{Archive, ArchivePath, BlobRef, Content};
use crate::store::BlobStore;

/// A store that reads blobs from the files that the archive was created from.
///
/// ```
/// use flux_archive::disk::{Creator, RegionStore};
/// use flux_archive::store::{BlobStore, MemoryStore};
/// use flux_archive::{Archive, Form, Profile, Writer};
///
/// # let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("large"), [7; 5000])?;
/// let blobs = MemoryStore::new();
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// Creator::new(folder.path())?.store(&blobs).write(["large"], &mut writer)?;
/// let json = writer.finish()?;
///
/// // Without the store, the blobs are still in the file.
/// let archive = Archive::parse(&json, Profile::Flux)?;
/// let store = RegionStore::open(folder.path(), &archive)?;
/// let mut blob = Vec::new();
/// store.get(&archive.blobrefs().next().unwrap(), &mut blob)?;
/// assert_eq!(blob, [7; 5000]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RegionStore {
    root: Dir,
    files: Vec<ArchivePath>,
    blobs: HashMap<BlobRef, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// The index in `files` of the file that contains the blob.
    file: usize,
    offset: u64,
    size: u64,
}

impl RegionStore {
    /// Opens a store that reads the blobs of an archive from the original files. `root` is the
    /// directory from which the archive was created. A file is opened only when one of its blobs is
    /// read.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be opened.
    pub fn open(root: impl AsRef<Path>, archive: &Archive<'_>) -> io::Result<Self> {
        let root = Dir::open(root.as_ref())?;
        let (mut files, mut blobs) = (Vec::new(), HashMap::new());
        for entry in archive.entries() {
            let Content::Blobvec(regions) = entry.content() else { continue };
            for region in regions {
                let place = Place { file: files.len(), offset: region.offset, size: region.size };
                blobs.entry(region.blobref).or_insert(place);
            }
            files.push(entry.path().clone());
        }
        Ok(Self { root, files, blobs })
    }

    fn read(&self, place: Place, out: &mut Vec<u8>) -> Result<(), StoreError> {
        StoreError::check_size(place.size)?;
        let path = self.files.get(place.file).ok_or(StoreError::NotFound)?;
        let parent = Walk::new(self.root.clone()).parent(path)?;
        let file = parent.open_file(name_of(path))?;
        // Check the size given by the archive against the file before allocating memory.
        let end = place.offset.saturating_add(place.size);
        let len = usize::try_from(place.size).ok().filter(|_| {
            file.metadata().is_ok_and(|metadata| metadata.is_file() && end <= metadata.len())
        });
        let cut = || {
            StoreError::Corrupt(format!(
                "expected {path} to be a regular file of at least {end} bytes"
            ))
        };
        out.clear();
        out.resize(len.ok_or_else(cut)?, 0);
        file.read_exact_at(out, place.offset).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => cut(),
            _ => error.into(),
        })
    }
}

impl BlobStore for RegionStore {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.read(*self.blobs.get(blobref).ok_or(StoreError::NotFound)?, out)
    }

    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let place = *self.blobs.get(blobref).ok_or(StoreError::NotFound)?;
        StoreError::check_length(size, place.size)?;
        self.read(place, out)
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        Ok(self.blobs.contains_key(blobref))
    }
}
