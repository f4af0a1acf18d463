//! How to read an archive.

use super::locate::text_of;
use super::raw::RawEntries;
use super::{examine, judge};
use crate::{Archive, Limits, Profile, Result, Violation, limits};

/// How to read an archive: profile, limits, and where in the document it is.
///
/// ```
/// use flux_archive::{ParseOptions, Profile};
///
/// let jobspec = br#"{"attributes":{"system":{"files":{
///     "script":{"mode":33216,"encoding":"utf-8","data":"true\n"}}}}}"#;
/// let archive = ParseOptions::new().profile(Profile::Flux).parse(jobspec)?;
/// assert_eq!(archive.entries()[0].path().as_str(), "script");
/// assert!(ParseOptions::new().profile(Profile::Strict).parse(jobspec).is_err()); // no size
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
    pub(super) pointer: Option<String>,
}

impl ParseOptions {
    /// The profile of Flux, default limits, and the archive where the document tells that it is.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the profile.
    #[must_use]
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Says where in the document the archive is, as a JSON pointer (RFC 6901). Without one it is
    /// the document, or the files of a jobspec.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }

    /// Parses an archive. Fails with [`ErrorKind::Violations`](crate::ErrorKind::Violations) and all that the profile refuses.
    pub fn parse<'a>(&self, document: &'a [u8]) -> Result<Archive<'a>> {
        judge(examine(document, self, self.profile)?, self.profile)
    }

    /// All violations that the profile does not accept silently, in the order of the document.
    /// Fails only where the document is no JSON, or beyond a limit.
    pub fn lint(&self, document: &[u8]) -> Result<Vec<Violation>> {
        let Archive { violations, more_violations, .. } = examine(document, self, self.profile)?;
        let found = (violations.len() as u64).saturating_add(more_violations);
        limits::check("violations", self.limits.max_violations, found)?;
        Ok(violations)
    }

    /// The entries as they are written, one at a time.
    pub fn entries<'a>(&self, document: &'a [u8]) -> Result<RawEntries<'a>> {
        limits::check("bytes of JSON", self.limits.max_json_bytes, document.len() as u64)?;
        RawEntries::new(text_of(document)?, self)
    }
}

impl<'a> Archive<'a> {
    /// Parses an archive with default limits.
    ///
    /// ```
    /// use flux_archive::{Archive, Content, Profile};
    ///
    /// let archive = Archive::parse(
    ///     br#"[{"path":"src","mode":41471,"data":"/users/fred/work/project"}]"#,
    ///     Profile::Strict,
    /// )?;
    /// let Content::Symlink(target) = archive.entries()[0].content() else { panic!() };
    /// assert_eq!(target, "/users/fred/work/project");
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn parse(document: &'a [u8], profile: Profile) -> Result<Self> {
        ParseOptions::new().profile(profile).parse(document)
    }
}
