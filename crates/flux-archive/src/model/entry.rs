//! A file, directory or symbolic link of an archive.

use std::borrow::Cow;

use super::blobref::BlobRef;
use super::mode::{FileType, Mode};
use super::path::ArchivePath;
use crate::json::{Base64, Json, Text};

/// A file system object of an archive.
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
    /// Its place in the document that it was read from.
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
    /// Creates an entry with permissions (the lower 12 bits). Its type is that of the content.
    pub fn new(path: ArchivePath, permissions: u32, content: Content<'a>) -> Self {
        let mode = Mode::new(content.file_type(), permissions);
        let (size, mtime, ctime, extra) = (None, None, None, Vec::new());
        Self { index: 0, path, mode, size, mtime, ctime, content, extra }
    }

    /// Sets the size of a regular file in bytes; without it, the file ends where its data end.
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        self.size = Some(size);
        self
    }

    /// Sets the time of the last modification, in seconds since 1970.
    #[must_use]
    pub fn with_mtime(mut self, seconds: i64) -> Self {
        self.mtime = Some(seconds);
        self
    }

    /// Sets the time of the last change of status, in seconds since 1970.
    #[must_use]
    pub fn with_ctime(mut self, seconds: i64) -> Self {
        self.ctime = Some(seconds);
        self
    }

    /// The path.
    pub fn path(&self) -> &ArchivePath {
        &self.path
    }

    /// Type and permissions.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The type, that of the content.
    pub fn file_type(&self) -> FileType {
        self.mode.file_type()
    }

    /// The member `size`.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Size of the extracted file in bytes; 0 for directories and links.
    pub fn len(&self) -> u64 {
        match self.file_type() {
            FileType::Regular => self.size.unwrap_or_default().max(self.content.data_len()),
            FileType::Directory | FileType::Symlink => 0,
        }
    }

    /// Whether the extracted file is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Time of the last modification, in seconds since 1970.
    pub fn mtime(&self) -> Option<i64> {
        self.mtime
    }

    /// Time of the last change of status, in seconds since 1970.
    pub fn ctime(&self) -> Option<i64> {
        self.ctime
    }

    /// The content.
    pub fn content(&self) -> &Content<'a> {
        &self.content
    }

    /// The regions of a file whose data are in a store; empty for other content.
    pub fn regions(&self) -> &[Region] {
        match &self.content {
            Content::Blobvec(regions) => regions,
            _ => &[],
        }
    }

    /// Members that RFC 37 does not define, with their values.
    pub fn extra(&self) -> &[(Text<'a>, Json<'a>)] {
        &self.extra
    }
}

/// The content of an entry, as the archive encodes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Content<'a> {
    /// A directory.
    Directory,
    /// A symbolic link and its target.
    Symlink(Cow<'a, str>),
    /// A regular file without data: empty, or one hole.
    Empty,
    /// A regular file whose content is this JSON text.
    Json(Json<'a>),
    /// A regular file of text (`utf-8`).
    Text(Text<'a>),
    /// A regular file of bytes (`base64`).
    Base64(Base64<'a>),
    /// A regular file whose data are in a store (`blobvec`); between the regions are holes.
    Blobvec(Vec<Region>),
}

impl Content<'_> {
    /// The type of a file with this content.
    pub fn file_type(&self) -> FileType {
        match self {
            Self::Directory => FileType::Directory,
            Self::Symlink(_) => FileType::Symlink,
            Self::Empty | Self::Json(_) | Self::Text(_) | Self::Base64(_) | Self::Blobvec(_) => {
                FileType::Regular
            }
        }
    }

    /// The value of the member `encoding`.
    pub fn encoding(&self) -> Option<&'static str> {
        match self {
            Self::Text(_) => Some("utf-8"),
            Self::Base64(_) => Some("base64"),
            Self::Blobvec(_) => Some("blobvec"),
            Self::Directory | Self::Symlink(_) | Self::Empty | Self::Json(_) => None,
        }
    }

    /// Offset of the end of the data of a regular file; its size may be larger.
    pub fn data_len(&self) -> u64 {
        match self {
            Self::Directory | Self::Symlink(_) | Self::Empty => 0,
            Self::Json(json) => json.get().len() as u64,
            Self::Text(text) => text.len(),
            Self::Base64(data) => data.len(),
            Self::Blobvec(regions) => regions.iter().map(Region::end).max().unwrap_or_default(),
        }
    }

    /// Bytes that are written for a regular file, without its holes. Regions can overlap, and be larger than the
    /// file together.
    pub fn data_size(&self) -> u64 {
        match self {
            Self::Blobvec(regions) => {
                regions.iter().fold(0, |sum, region| region.size.saturating_add(sum))
            }
            other => other.data_len(),
        }
    }
}

/// A part of a file whose bytes are a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Size in bytes, which is that of the blob.
    pub size: u64,
    /// The blob.
    pub blobref: BlobRef,
}

impl Region {
    /// Offset of its end in the file. In a parsed archive it fits in 63 bits.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}
