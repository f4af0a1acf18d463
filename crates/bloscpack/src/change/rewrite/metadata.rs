//! Replacing the metadata without moving the chunks.
//!
//! The payload, padded with zeros, and the digest are synced to disk before the header of the
//! section is written. A [journal](crate::journal) keeps the overwritten bytes. If the new digest
//! is longer or shorter than the old one, the space for the payload shrinks or grows by the
//! difference. If the payload does not fit into this space, the chunks would have to move. The
//! whole file is then rewritten, if the options allow this.

use std::path::Path;
use std::sync::Arc;

use binio::write::{Change, ChangePlan, FileLock, FileStorage, Storage, WriteAt};
use binio::{FileSource, Limits};
use serde_json::Value;

use super::{RewriteOptions, rewrite_locked};
use crate::error::{ErrorKind, Result};
use crate::format::metadata::encode::{section, to_text};
use crate::format::{MetaHeader, MetadataOptions};
use crate::{Checksum, OpenOptions, Reader};

/// Options for changing metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct MetadataEdit {
    checksum: Option<Checksum>,
    grow: bool,
    pub(crate) limits: Option<Limits>,
}

impl MetadataEdit {
    /// Returns the default options: the new metadata must fit into the section, and the checksum is kept.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the checksum of the metadata. Default: the checksum of the old metadata, or adler32
        /// if there is no old metadata.
        checksum: Checksum => Some(checksum);
        /// Sets whether the whole file is rewritten if the new metadata does not fit into the section.
        grow: bool;
        /// Sets the limits for reading the file. Default: the limits of [`OpenOptions`].
        limits: Limits => Some(limits);
    }
}

/// Replaces the metadata of a file with a JSON value, which is compressed unless that makes it
/// larger. Rolls back an interrupted in-place change first.
///
/// ```
/// use bloscpack::change::{MetadataEdit, set_metadata};
/// use bloscpack::{Reader, WriteOptions, pack_to_vec};
/// use serde_json::json;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.blp");
/// let options = WriteOptions::new().metadata(&json!({"unit": "m"}));
/// std::fs::write(&path, pack_to_vec(b"data", &options)?)?;
/// set_metadata(&path, &json!({"unit": "km"}), MetadataEdit::new())?;
/// let file = Reader::open(&path)?;
/// assert_eq!(file.metadata()?.unwrap().json()?, json!({"unit": "km"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the value and its digest do not fit into the section, fails with
/// [`NotEnoughSpace`](ErrorKind::NotEnoughSpace) before anything is written. A file that may
/// [grow](MetadataEdit::grow) is rewritten instead, which fails with
/// [`NotInVersion`](ErrorKind::NotInVersion) for a version 2 file. Also fails with
/// [`Limit`](ErrorKind::Limit) if the metadata text is longer than 16 MiB, with
/// [`Locked`](ErrorKind::Locked) if the file is being changed elsewhere, and with
/// [`ForeignJournal`](ErrorKind::ForeignJournal) if its journal belongs to another file. Also fails
/// if the file cannot be opened or written.
pub fn set_metadata(path: impl AsRef<Path>, metadata: &Value, edit: MetadataEdit) -> Result<()> {
    set_metadata_locked(&FileLock::acquire(path)?, metadata, edit).map(drop)
}

/// Like [`set_metadata`], for a file that the caller has locked. Returns `true` if the metadata was
/// written in place, or `false` if the file was replaced.
pub(crate) fn set_metadata_locked(
    lock: &FileLock,
    metadata: &Value,
    edit: MetadataEdit,
) -> Result<bool> {
    lock.roll_back()?;
    let source = Arc::new(FileSource::open(lock.path())?);
    let reader = OpenOptions::limited(edit.limits).ignore_metadata(true).from_source(source)?;
    match section_in_place(&reader, metadata, edit) {
        Ok(section) => {
            replace(&mut FileStorage::open(lock)?, &reader, &section)?;
            Ok(true)
        }
        Err(error) if edit.grow && matches!(error.kind(), ErrorKind::NotEnoughSpace { .. }) => {
            let checksum = edit.checksum.or(reader.meta_header().map(|header| header.checksum));
            let checksum = checksum.unwrap_or_default();
            let options = MetadataOptions { checksum, ..MetadataOptions::default() };
            let options = RewriteOptions { limits: edit.limits, ..RewriteOptions::new() }
                .metadata(metadata)
                .metadata_options(options);
            rewrite_locked(lock, lock.path(), &options)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Returns a section with new metadata and the same length as the old section. Fails if the
/// metadata and its digest do not fit.
pub(crate) fn section_in_place(
    reader: &Reader,
    metadata: &Value,
    edit: MetadataEdit,
) -> Result<Vec<u8>> {
    let text = to_text(metadata);
    let Some(header) = reader.meta_header() else {
        let (what, needed) = ("bytes of metadata", text.len() as u64);
        return Err(ErrorKind::NotEnoughSpace { what, needed, available: 0 }.into());
    };
    let checksum = edit.checksum.unwrap_or(header.checksum);
    let both = u64::from(header.max_meta_size) + header.checksum.len() as u64;
    let requested = both.saturating_sub(checksum.len() as u64);
    let max_size = u32::try_from(requested).map_err(|_| {
        let what = "bytes of space for metadata";
        ErrorKind::Limit { what, limit: u32::MAX.into(), requested }
    })?;
    let options = MetadataOptions { checksum, ..MetadataOptions::default() };
    section(&text, &options.max_size(max_size))
}

/// Overwrites the old section in place, using a journal.
pub(super) fn replace(storage: &mut dyn Storage, reader: &Reader, section: &[u8]) -> Result<()> {
    let Some(place) = reader.layout().metadata() else { return Ok(()) };
    if reader.section()? == section {
        return Ok(());
    }
    let header = storage.file().bytes_at(0, 32)?;
    let change = ChangePlan::new(place.end..reader.layout().file_len());
    let change = change.marker(0, header).overwrite(place.clone());
    let mut change = Change::begin(storage, &change)?;
    let (header, after) = section.split_at(MetaHeader::LEN);
    change.write_all_at(after, place.start + header.len() as u64)?;
    change.sync()?;
    change.write_all_at(header, place.start)?;
    Ok(change.commit()?)
}
