//! Profiles, which define the permitted deviations of an archive from the text of RFC 37.

use std::fmt;

use crate::diagnostic::{Code, Severity};

/// The set of archives that a reader accepts.
///
/// A profile determines which archives are accepted, but never changes the meaning of their bytes.
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
    /// Accepts only archives that the text of RFC 37 allows.
    Strict,
    /// Like `Strict`, but also accepts the archives that the C and Python implementations of Flux write, and deviations
    /// that all their readers treat in the same way.
    #[default]
    Flux,
    /// Like `Flux`, but also accepts the dialect that Flux used before RFC 37 (flux-core 0.46 and
    /// 0.47).
    Legacy,
}

impl Profile {
    /// All profiles, strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Flux, Self::Legacy];

    /// Returns the name: `strict`, `flux` or `legacy`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Flux => "flux",
            Self::Legacy => "legacy",
        }
    }

    /// Returns the profile with this [`name`](Self::name), or `None` for any other name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Returns the severity of a deviation from RFC 37 in this profile. An archive with an
    /// [`Error`](Severity::Error) is rejected, a [`Warning`](Severity::Warning) is only reported,
    /// and `None` means that the deviation is accepted silently.
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
