//! Handling files that already exist.

use std::io;

use crate::disk::dir::Dir;
use crate::error::{ErrorKind, Result};
use crate::model::{Entry, FileType};

/// The policy for extracting an entry if a file, link or directory already exists at its path.
///
/// An existing directory is never removed, so a file or link with the same path cannot be
/// extracted. The same applies to an existing special file, such as a FIFO. A directory entry
/// succeeds if the directory already exists, but its permissions and modification time are restored
/// only with [`Overwrite`](Self::Overwrite), or with [`Newer`](Self::Newer) if the entry is newer. A
/// directory entry always fails if there is a file or link at its path. Only `Overwrite` replaces a
/// link with a file, or a file with a link; with any other policy, the entry fails.
///
/// ```
/// use flux_archive::disk::{Existing, Extractor};
/// use flux_archive::{Archive, Profile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// std::fs::write(folder.path().join("f"), "old")?;
/// let json = br#"{"f":{"mode":33188,"encoding":"utf-8","data":"new"}}"#;
/// let archive = Archive::parse(json, Profile::Flux)?;
/// let report = Extractor::new(folder.path())?.run(&archive)?;
/// assert_eq!(report.failures.len(), 1);
/// let report = Extractor::new(folder.path())?.existing(Existing::Overwrite).run(&archive)?;
/// assert_eq!(report.files, 1);
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// The entry fails, unless it is a directory that already exists.
    #[default]
    Error,
    /// The existing file is kept, and the entry is skipped.
    Skip,
    /// The entry replaces the existing file.
    Overwrite,
    /// The entry replaces the existing file if the entry has a later modification time. Otherwise, the entry is
    /// skipped.
    Newer,
}

/// The action to take for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The path does not exist: create it.
    Create,
    /// Replace the existing file or link, or restore the permissions and time of the existing
    /// directory.
    Replace,
    /// Keep the existing file, link or directory.
    Skip,
}

impl Existing {
    /// Chooses the action for an entry, depending on the file that exists at its path.
    pub(super) fn decide(self, parent: &Dir, name: &str, entry: &Entry<'_>) -> Result<Decision> {
        let found = match parent.stat(name) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Decision::Create),
            Err(error) => return Err(error.into()),
        };
        let exists = Err(ErrorKind::Exists { found: found.type_name() }.into());
        let newer = entry.mtime().is_some_and(|mtime| mtime > found.mtime());
        let replace_if = |wanted| if wanted { Decision::Replace } else { Decision::Skip };
        match (found.file_type(), entry.file_type()) {
            (Some(FileType::Directory), FileType::Directory) => Ok(match self {
                Self::Error | Self::Skip => Decision::Skip,
                Self::Overwrite => Decision::Replace,
                Self::Newer => replace_if(newer),
            }),
            (Some(FileType::Directory) | None, _) | (_, FileType::Directory) => exists,
            (Some(there), wanted) => match self {
                Self::Error => exists,
                Self::Overwrite => Ok(Decision::Replace),
                Self::Skip | Self::Newer if there != wanted => exists,
                Self::Skip => Ok(Decision::Skip),
                Self::Newer => Ok(replace_if(newer)),
            },
        }
    }
}
