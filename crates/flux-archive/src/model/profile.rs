//! How much an archive may differ from the text of RFC 37.

use std::fmt;

use crate::diagnostic::{Code, Severity};

/// What a reader accepts.
///
/// A profile changes what an archive may look like, never what its bytes mean.
///
/// ```
/// use flux_archive::{Archive, Profile};
///
/// let untidy = br#"[{"path":"./d","mode":16877}]"#;
/// assert!(Archive::parse(untidy, Profile::Strict).is_err());
/// let archive = Archive::parse(untidy, Profile::Flux)?;
/// assert_eq!(archive.entries()[0].path().as_str(), "d");
/// assert_eq!(archive.diagnostics().len(), 1);
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Profile {
    /// The text of RFC 37, and nothing else.
    Strict,
    /// What Flux writes and reads, in C and in Python.
    #[default]
    Flux,
    /// The same, and the dialect of Flux before RFC 37 (flux-core 0.46 and 0.47).
    Legacy,
}

impl Profile {
    /// All profiles, strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Flux, Self::Legacy];

    /// The name: `strict`, `flux`, `legacy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Flux => "flux",
            Self::Legacy => "legacy",
        }
    }

    /// The profile of a [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// How much a difference from RFC 37 matters: an [`Error`](Severity::Error) is refused, a
    /// [`Warning`](Severity::Warning) is read and reported, `None` is read without a word.
    pub fn severity(self, code: Code) -> Option<Severity> {
        match (self, code) {
            (Self::Strict, code) => Some(code.severity()),
            (_, Code::SizeMissing | Code::UntidyBlob) => None,
            (Self::Legacy, Code::OldDialect)
            | (
                _,
                Code::PathInDict
                | Code::DuplicateKey
                | Code::DuplicatePath
                | Code::UntidyPath
                | Code::AbsolutePath
                | Code::SizeAboveData
                | Code::NeedlessMember
                | Code::UntidyBase64
                | Code::UntidyRegions,
            ) => Some(Severity::Warning),
            (_, code) => Some(code.severity()),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
