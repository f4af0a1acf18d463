//! A file, directory or symbolic link in an archive.

use std::borrow::Cow;

use super::blobref::BlobRef;
use super::mode::{FileType, Mode};
use super::path::ArchivePath;
use crate::json::{Base64, Json, Text};

/// A file, directory or symbolic link in an archive.
///
/// ```
/// use flux_archive::json::Text;
/// use flux_archive::{ArchivePath, Content, Entry};
///
/// let path = ArchivePath::parse("hello.txt").unwrap();
/// let entry = Entry::new(path, 0o644, Content::Text(Text::new("hello\n"))).with_mtime(1_677_604_007);
/// assert_eq!(entry.mode().as_u32(), 33188);
/// assert_eq!(entry.len(), 6);
/// ```
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The index of the entry in its document.
    pub(crate) index: u64,
    pub(crate) path: ArchivePath,
    pub(crate) mode: Mode,
    pub(crate) size: Option<u64>,
    pub(crate) mtime: Option<i64>,
    pub(crate) ctime: Option<i64>,
    pub(crate) content: Content<'a>,
    pub(crate) extra: Vec<(Text<'a>, Json<'a>)>,
}

impl<'a> Entry<'a> {
    /// Creates an entry whose type follows from the content. Only the lower 12 bits of
    /// `permissions` are used.
    pub fn new(path: ArchivePath, permissions: u32, content: Content<'a>) -> Self {
        let mode = Mode::new(content.file_type(), permissions);
        let (size, mtime, ctime, extra) = (None, None, None, Vec::new());
        Self { index: 0, path, mode, size, mtime, ctime, content, extra }
    }

    /// Sets the size of a regular file in bytes. By default, the file ends where its data ends.
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Sets the modification time, in seconds since 1970.
    #[must_use]
    pub fn with_mtime(mut self, seconds: i64) -> Self {
        self.mtime = Some(seconds);
        self
    }

    /// Sets the time of the last status change, in seconds since 1970.
    #[must_use]
    pub fn with_ctime(mut self, seconds: i64) -> Self {
        self.ctime = Some(seconds);
        self
    }

    /// Returns the path.
    pub fn path(&self) -> &ArchivePath {
        &self.path
    }

    /// Returns the type and the permissions.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the type, which follows from the content.
    pub fn file_type(&self) -> FileType {
        self.mode.file_type()
    }

    /// Returns the value of the member `size` in bytes, or `None` if the entry has no such member or
    /// was parsed as a directory or link.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns the size of the extracted file in bytes, or 0 for directories and links.
    pub fn len(&self) -> u64 {
        match self.file_type() {
            FileType::Regular => self.size.unwrap_or_default().max(self.content.data_len()),
            FileType::Directory | FileType::Symlink => 0,
        }
    }

    /// Returns `true` if the extracted file is empty, or if the entry is a directory or link.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the modification time in seconds since 1970, or `None` if the entry has no member
    /// `mtime`.
    pub fn mtime(&self) -> Option<i64> {
        self.mtime
    }

    /// Returns the time of the last status change in seconds since 1970, or `None` if the entry has
    /// no member `ctime`.
    pub fn ctime(&self) -> Option<i64> {
        self.ctime
    }

    /// Returns the content.
    pub fn content(&self) -> &Content<'a> {
        &self.content
    }

    /// Returns the regions of a file whose data is in a store, or an empty slice for other content.
    pub fn regions(&self) -> &[Region] {
        match &self.content {
            Content::Blobvec(regions) => regions,
            _ => &[],
        }
    }

    /// Copies the parts borrowed from the document, so that the result does not borrow from it.
    pub fn into_owned(self) -> Entry<'static> {
        let Self { index, path, mode, size, mtime, ctime, content, extra } = self;
        let extra = extra.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned()));
        let (content, extra) = (content.into_owned(), extra.collect());
        Entry { index, path, mode, size, mtime, ctime, content, extra }
    }

    /// Returns the names and values of the members that RFC 37 does not define. For an entry in the dialect that Flux
    /// used before RFC 37, the members `version`, `type` and `blobvec` are not included.
    pub fn extra(&self) -> &[(Text<'a>, Json<'a>)] {
        &self.extra
    }
}

/// The content of an entry, as encoded in the archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// A directory.
    Directory,
    /// A symbolic link and its target.
    Symlink(Cow<'a, str>),
    /// A regular file without data, which is empty or a single hole.
    Empty,
    /// A regular file whose content is this JSON text.
    Json(Json<'a>),
    /// A regular file that contains text (`utf-8`).
    Text(Text<'a>),
    /// A regular file that may contain any bytes (`base64`).
    Base64(Base64<'a>),
    /// A regular file whose data is in a store (`blobvec`). Bytes outside all regions are holes.
    Blobvec(Vec<Region>),
}

impl Content<'_> {
    /// Returns the type of a file with this content.
    pub fn file_type(&self) -> FileType {
        match self {
            Self::Directory => FileType::Directory,
            Self::Symlink(_) => FileType::Symlink,
            Self::Empty | Self::Json(_) | Self::Text(_) | Self::Base64(_) | Self::Blobvec(_) => {
                FileType::Regular
            }
        }
    }

    /// Returns the name of the encoding, as in the member `encoding`, or `None` for content that is not encoded.
    pub fn encoding(&self) -> Option<&'static str> {
        match self {
            Self::Text(_) => Some("utf-8"),
            Self::Base64(_) => Some("base64"),
            Self::Blobvec(_) => Some("blobvec"),
            Self::Directory | Self::Symlink(_) | Self::Empty | Self::Json(_) => None,
        }
    }

    /// Copies any text borrowed from the document, so that the result does not borrow from it.
    pub fn into_owned(self) -> Content<'static> {
        match self {
            Self::Directory => Content::Directory,
            Self::Symlink(target) => Content::Symlink(Cow::Owned(target.into_owned())),
            Self::Empty => Content::Empty,
            Self::Json(json) => Content::Json(json.into_owned()),
            Self::Text(text) => Content::Text(text.into_owned()),
            Self::Base64(data) => Content::Base64(data.into_owned()),
            Self::Blobvec(regions) => Content::Blobvec(regions),
        }
    }

    /// Returns the offset at which the data of a regular file ends. The size of the file may be
    /// larger.
    pub fn data_len(&self) -> u64 {
        match self {
            Self::Directory | Self::Symlink(_) | Self::Empty => 0,
            Self::Json(json) => json.get().len() as u64,
            Self::Text(text) => text.len(),
            Self::Base64(data) => data.len(),
            Self::Blobvec(regions) => regions.iter().map(Region::end).max().unwrap_or_default(),
        }
    }

    /// Returns the number of bytes to write for a regular file, not counting holes. If regions
    /// overlap, the number may exceed the size of the file.
    pub fn data_size(&self) -> u64 {
        match self {
            Self::Blobvec(regions) => {
                regions.iter().fold(0, |sum, region| region.size.saturating_add(sum))
            }
            other => other.data_len(),
        }
    }
}

/// A byte range of a file. The bytes are stored as a single blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// The offset of the region in the file, in bytes.
    pub offset: u64,
    /// The size of the region and of its blob in bytes.
    pub size: u64,
    /// The name of the blob.
    pub blobref: BlobRef,
}

impl Region {
    /// Returns the offset in the file at which the region ends. In a parsed archive, the offset fits in 63 bits.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}
