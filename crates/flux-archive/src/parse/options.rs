//! Options for reading an archive.

use binio::{Bytes, ReadAt, check_limit};

use crate::error::Result;
use crate::model::{Limits, Profile};

/// Options for reading an archive: the profile, the limits, and the JSON pointer of the archive in the document. With
/// the feature `mmap`, files can also be mapped into memory.
///
/// ```
/// use flux_archive::{OpenOptions, Profile};
///
/// let jobspec = br#"{"attributes":{"system":{"files":{
///     "script":{"mode":33216,"encoding":"utf-8","data":"true\n"}}}}}"#;
/// let archive = OpenOptions::new().profile(Profile::Flux).parse(jobspec)?;
/// assert_eq!(archive.entries()[0].path().as_str(), "script");
/// assert!(OpenOptions::new().profile(Profile::Strict).parse(jobspec).is_err()); // no size
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    pub(crate) profile: Profile,
    pub(crate) limits: Limits,
    pub(super) pointer: Option<String>,
    #[cfg(feature = "mmap")]
    mmap: bool,
}

impl OpenOptions {
    /// Returns the default options: [`Profile::Flux`], the default limits, and no pointer.
    /// Without a pointer, the members of the document determine where the archive is.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the profile.
        profile: Profile;

        /// Sets the limits.
        limits: Limits;

        /// Sets the JSON pointer (RFC 6901) of the archive in the document. Default: the whole document, or the files
        /// of a jobspec. The empty pointer is the same as the default.
        pointer: impl Into<String> => Some(pointer.into());
    }

    /// Sets whether [`read`](Self::read) maps a file into memory instead of reading it, which allows archives larger
    /// than memory. Default: no.
    ///
    /// If another program truncates a file while it is mapped, the system kills this process (`SIGBUS`). If another
    /// program overwrites the file, bytes may change after they were checked.
    #[cfg(feature = "mmap")]
    #[must_use]
    pub fn mmap(mut self, mmap: bool) -> Self {
        self.mmap = mmap;
        self
    }

    /// Reads a document from a file, or maps the file if `mmap` is set.
    ///
    /// ```
    /// use flux_archive::OpenOptions;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.json");
    /// std::fs::write(&path, r#"[{"path":"d","mode":16877}]"#)?;
    /// let options = OpenOptions::new();
    /// let document = options.read(&path)?;
    /// assert_eq!(options.parse(&document)?.entries()[0].path().as_str(), "d");
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it exceeds
    /// [`Limits::max_json_bytes`](crate::Limits::max_json_bytes).
    #[cfg(any(unix, windows))]
    pub fn read(&self, path: impl AsRef<std::path::Path>) -> Result<Bytes> {
        #[cfg(feature = "mmap")]
        if self.mmap {
            return self.read_source(binio::Mmap::open(path)?);
        }
        let path = path.as_ref();
        let read = binio::FileSource::open(path).and_then(|source| {
            let read = self.read_all(&source);
            read.map_err(|error| error.context(path.display().to_string()))
        });
        Ok(read?)
    }

    /// Reads a document from any byte source.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read).
    pub fn read_source(&self, source: impl ReadAt) -> Result<Bytes> {
        Ok(self.read_all(&source)?)
    }

    fn read_all(&self, source: &dyn ReadAt) -> binio::Result<Bytes> {
        check_limit("bytes of JSON", self.limits.max_json_bytes, source.len())?;
        let len = usize::try_from(source.len()).map_err(|_| {
            let kind =
                binio::ErrorKind::OutOfMemory { what: "an archive", requested: source.len() };
            binio::Error::new(kind)
        })?;
        source.bytes_at(0, len)
    }
}
