//! Entry paths. They are checked once, so that an [`ArchivePath`] cannot lead out of the directory to which it is
//! relative, unless it leads through a symbolic link.
//!
//! RFC 37 forbids "`.` or `..` characters". Taken literally, this forbids `data.csv`, which is one
//! of its own examples, so the rule must refer to path components.

use std::fmt;

use crate::diagnostic::Code;

/// A relative path. It does not contain a NUL or an empty component, and no component is `.` or
/// `..`.
///
/// ```
/// use flux_archive::ArchivePath;
///
/// let path = ArchivePath::parse("appdata/phase1.csv").unwrap();
/// assert_eq!(path.components().collect::<Vec<_>>(), ["appdata", "phase1.csv"]);
/// assert!(ArchivePath::parse("../passwd").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArchivePath(Box<str>);

/// The reason why a string is not an [`ArchivePath`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path is empty, or has no components except `.`.
    #[error("the path is empty")]
    Empty,
    /// The path has a `..` component.
    #[error("the path has a \"..\" component")]
    Parent,
    /// The path contains a NUL.
    #[error("the path contains a NUL")]
    Nul,
    /// The path has a `.` component, a `/` at its end, or a `//` after its start.
    #[error("the path has a \".\" component, \"//\" or a \"/\" at its end")]
    Untidy,
    /// The path is absolute.
    #[error("the path is absolute")]
    Absolute,
}

impl PathError {
    /// Returns the code of the diagnostic that reports this error.
    pub fn code(self) -> Code {
        match self {
            Self::Empty | Self::Parent | Self::Nul => Code::UnsafePath,
            Self::Untidy => Code::UntidyPath,
            Self::Absolute => Code::AbsolutePath,
        }
    }
}

impl ArchivePath {
    /// Parses a path that must follow the rules of RFC 37.
    ///
    /// # Errors
    ///
    /// Same as [`normalise`](Self::normalise). Also fails if the path is not normalised.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let (path, untidy) = Self::normalise(text)?;
        match untidy.first() {
            None => Ok(path),
            Some(&untidy) => Err(untidy),
        }
    }

    /// Normalises a path by removing `/` at both ends, `.` components and repeated `/`. Returns the
    /// path and the problems that were corrected.
    ///
    /// # Errors
    ///
    /// Fails if the path contains a NUL or a `..` component, or if it is empty after normalising.
    pub fn normalise(text: &str) -> Result<(Self, Vec<PathError>), PathError> {
        if Self::is_normal(text) {
            return Ok((Self(text.into()), Vec::new()));
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        if text.split('/').any(|component| component == "..") {
            return Err(PathError::Parent);
        }
        let mut dropped = Vec::new();
        let relative = text.trim_start_matches('/');
        if relative.len() < text.len() {
            dropped.push(PathError::Absolute);
        }
        if relative.split('/').any(|component| matches!(component, "" | ".")) {
            dropped.push(PathError::Untidy);
        }
        let kept = relative.split('/').filter(|component| !matches!(*component, "" | "."));
        let path = kept.collect::<Vec<_>>().join("/");
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        Ok((Self(path.into()), dropped))
    }

    /// Returns `true` if [`normalise`](Self::normalise) accepts the path and does not change it.
    pub(crate) fn is_normal(text: &str) -> bool {
        let mut components = text.as_bytes().split(|&byte| byte == b'/');
        components.all(|name| !matches!(name, b"" | b"." | b"..") && !name.contains(&0))
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the components of the path, outermost first. There is at least one.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the paths of the directories above this path, nearest first. The root is not
    /// included.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        let end = |path: &str| path.rfind('/');
        let mut path = &*self.0;
        std::iter::from_fn(move || {
            path = &path[..end(path)?];
            Some(path)
        })
    }
}

impl fmt::Display for ArchivePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(text: &str) -> (String, Vec<PathError>) {
        let (path, dropped) = ArchivePath::normalise(text).unwrap();
        (path.as_str().to_owned(), dropped)
    }

    #[test]
    fn dots_are_forbidden_only_as_whole_components() {
        for path in ["data.csv", "...", ".hidden", "a..b", "a/..b/c.", " ", "C:/x", "a\nb", "日"] {
            assert_eq!(normal(path), (path.to_owned(), Vec::new()), "{path}");
        }
    }

    #[test]
    fn paths_that_are_empty_or_contain_a_parent_component_or_nul_are_rejected() {
        for (path, error) in [
            ("..", PathError::Parent),
            ("a/../b", PathError::Parent),
            ("/..", PathError::Parent),
            ("a/..", PathError::Parent),
            ("a\0b", PathError::Nul),
            ("", PathError::Empty),
            (".", PathError::Empty),
            ("/", PathError::Empty),
            ("./", PathError::Empty),
            ("//./", PathError::Empty),
        ] {
            assert_eq!(ArchivePath::normalise(path), Err(error), "{path:?}");
            assert_eq!(error.code(), Code::UnsafePath);
        }
    }

    #[test]
    fn normalising_a_path_removes_and_reports_meaningless_parts() {
        use PathError::{Absolute, Untidy};
        assert_eq!(normal("./a"), ("a".into(), vec![Untidy]));
        assert_eq!(normal("a//b/"), ("a/b".into(), vec![Untidy]));
        assert_eq!(normal("/a"), ("a".into(), vec![Absolute]));
        assert_eq!(normal("//a/./b"), ("a/b".into(), vec![Absolute, Untidy]));
        assert_eq!(ArchivePath::parse("/a"), Err(Absolute));
        assert_eq!(ArchivePath::parse("a/"), Err(Untidy));
    }

    #[test]
    fn ancestors_of_a_path_are_returned_nearest_first() {
        let path = ArchivePath::parse("a/b/c").unwrap();
        assert_eq!(path.ancestors().collect::<Vec<_>>(), ["a/b", "a"]);
    }
}
