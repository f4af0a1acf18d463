//! Versions of three numbers: of the file format, of the standard, of tags.

use std::fmt;
use std::str::FromStr;

/// A version of the standard or of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number.
    pub patch: u32,
}

impl Version {
    /// A version of three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The text is not a version of the form `1.2.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a version of the form 1.2.3")]
pub struct ParseVersionError;

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, ParseVersionError> {
        let mut numbers = text.split('.').map(|number| {
            let plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            number.parse::<u32>().ok().filter(|_| plain)
        });
        let mut next = || numbers.next().flatten().ok_or(ParseVersionError);
        let version = Self::new(next()?, next()?, next()?);
        if numbers.next().is_some() { Err(ParseVersionError) } else { Ok(version) }
    }
}
