//! How much an archive may differ from the letter of RFC 37.

use std::fmt;

/// What a reader takes.
///
/// A profile changes what an archive may look like, never what its bytes mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    /// All of them, strictest first.
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
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a profile makes of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Not worth a word.
    Accept,
    /// Read, and reported.
    Warning,
    /// Refused.
    Error,
}
