//! Versions with three numbers, as used for the file format, the standard and tags.

use std::fmt;
use std::str::FromStr;

/// A version of the file format, of the standard or of a tag.
///
/// ```
/// use asdf::tag::Version;
///
/// let version: Version = "1.6.0".parse()?;
/// assert!(version > Version::new(1, 5, 0));
/// # Ok::<(), asdf::tag::ParseVersionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// The first number, such as 1 in `1.6.0`.
    pub major: u32,
    /// The second number, such as 6 in `1.6.0`.
    pub minor: u32,
    /// The third number, such as 0 in `1.6.0`.
    pub patch: u32,
}

impl Version {
    /// Creates a version from its three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The error for text that is not a version in the form `1.2.3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a version of the form 1.2.3")]
pub struct ParseVersionError;

impl FromStr for Version {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, ParseVersionError> {
        let mut numbers = text.as_bytes().split(|&byte| byte == b'.').map(number);
        let mut next = || numbers.next().flatten().ok_or(ParseVersionError);
        let version = Self::new(next()?, next()?, next()?);
        if numbers.next().is_some() { Err(ParseVersionError) } else { Ok(version) }
    }
}

/// Parses one number of a version.
fn number(digits: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    let (first, others) = digits.split_first()?;
    others
        .iter()
        .try_fold(digit(first)?, |value, byte| value.checked_mul(10)?.checked_add(digit(byte)?))
}
