//! What to do where something is already.

use std::io;

use crate::disk::dir::Dir;
use crate::error::{ErrorKind, Result};
use crate::model::{Entry, FileType};

/// What to do where something is already, for files, links and directories alike.
///
/// A directory is never removed, and a directory of the archive may always be there: then its
/// permissions and time are set only by a policy that replaces. A file or link takes the place of
/// the other only with [`Overwrite`](Self::Overwrite).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The entry fails.
    #[default]
    Error,
    /// The entry is left out.
    Skip,
    /// The entry takes its place.
    Overwrite,
    /// The entry takes its place if it was modified later, and is left out otherwise.
    Newer,
}

/// What is done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing is in its place.
    Create,
    /// It takes the place of what is there.
    Replace,
    /// What is there stays.
    Skip,
}

impl Existing {
    /// Looks what is in the place of an entry.
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
