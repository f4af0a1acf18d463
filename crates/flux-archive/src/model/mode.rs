//! The integer `mode`, which is the `st_mode` of POSIX.
//!
//! | bits (octal) | meaning |
//! |---|---|
//! | 0170000 | type: 0100000 regular file, 0040000 directory, 0120000 symbolic link |
//! | 0007000 | set-user-id, set-group-id, sticky |
//! | 0000777 | permissions |
//!
//! The mode of a symbolic link is 0120777 in Flux, but 0120000 in some other writers.

use std::fmt;

const TYPE_MASK: u32 = 0o170_000;

/// The three types of files that an archive can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileType {
    /// A regular file.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
}

impl FileType {
    /// Returns the bits that represent the type in a mode.
    pub fn bits(self) -> u32 {
        match self {
            Self::Regular => 0o100_000,
            Self::Directory => 0o040_000,
            Self::Symlink => 0o120_000,
        }
    }

    /// Returns the letter that represents the type in a listing: `f`, `d` or `l`.
    pub fn letter(self) -> char {
        match self {
            Self::Regular => 'f',
            Self::Directory => 'd',
            Self::Symlink => 'l',
        }
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Regular => "regular file",
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
        })
    }
}

/// The type and the permissions of an entry. The type is always a [`FileType`]. Any bits above the
/// type are kept.
///
/// ```
/// use flux_archive::{FileType, Mode};
///
/// let mode = Mode::from_u32(33188).unwrap();
/// assert_eq!(mode.file_type(), FileType::Regular);
/// assert_eq!(mode.permissions(), 0o644);
/// assert!(Mode::from_u32(0o010_644).is_none()); // a FIFO
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mode(u32);

impl Mode {
    /// Creates a mode from a type and the lower 12 bits of `permissions`.
    pub fn new(file_type: FileType, permissions: u32) -> Self {
        Self(file_type.bits() | (permissions & 0o7777))
    }

    /// Creates a mode from an integer. Returns `None` if an archive cannot contain files of this
    /// type.
    pub fn from_u32(mode: u32) -> Option<Self> {
        let types = [FileType::Regular, FileType::Directory, FileType::Symlink];
        types.into_iter().any(|known| known.bits() == mode & TYPE_MASK).then_some(Self(mode))
    }

    /// Returns the mode as an integer.
    pub fn as_u32(self) -> u32 {
        self.0
    }

    /// Returns the type.
    pub fn file_type(self) -> FileType {
        match self.0 & TYPE_MASK {
            0o040_000 => FileType::Directory,
            0o120_000 => FileType::Symlink,
            _ => FileType::Regular,
        }
    }

    /// Returns the permissions, including the set-user-id, set-group-id and sticky bits: 0 to 07777.
    pub fn permissions(self) -> u32 {
        self.0 & 0o7777
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_created_from_a_type_has_that_type() {
        for known in [FileType::Regular, FileType::Directory, FileType::Symlink] {
            let mode = Mode::new(known, 0o4755);
            assert_eq!((mode.file_type(), mode.permissions()), (known, 0o4755));
            assert_eq!(Mode::from_u32(mode.as_u32()), Some(mode));
        }
    }

    #[test]
    fn modes_of_other_file_types_are_rejected() {
        for kind in [0, 0o010_000, 0o020_000, 0o060_000, 0o140_000, 0o160_000, 0o170_000] {
            assert_eq!(Mode::from_u32(kind | 0o644), None, "{kind:o}");
        }
    }

    #[test]
    fn the_mode_of_a_link_is_recognised_with_and_without_permissions() {
        for mode in [0o120_000, 0o120_777] {
            assert_eq!(Mode::from_u32(mode).unwrap().file_type(), FileType::Symlink);
        }
    }
}
