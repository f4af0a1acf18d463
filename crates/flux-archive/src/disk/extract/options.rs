//! Options for extracting an archive.

use std::io;
use std::path::Path;

use super::existing::Existing;
use crate::disk::dir::Dir;
use crate::model::{Entry, HashType, Limits};
use crate::parallel::Progress;
use crate::store::BlobStore;

/// A function that returns `true` if an entry is to be extracted.
pub type Select<'s> = &'s (dyn Fn(&Entry<'_>) -> bool + Sync);

/// The policy for creating symbolic links, depending on their targets.
///
/// Regardless of this policy, an extraction never writes through a link below the target directory. The policy
/// protects programs that use the files later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkPolicy {
    /// All links are created.
    #[default]
    Keep,
    /// Only links with a relative target are created.
    RejectAbsolute,
    /// Only links that cannot lead out of the target directory are created. The target of a link
    /// must be relative. It may contain `..` only before its first name, and must not lead above the
    /// root. Thus, no combination of extracted links can escape.
    RejectEscaping,
}

impl LinkPolicy {
    pub(super) fn allows(self, entry: &Entry<'_>, target: &str) -> bool {
        if self == Self::Keep {
            return true;
        }
        let relative = !target.starts_with('/');
        if self == Self::RejectAbsolute {
            return relative;
        }
        let up = |component: &&str| matches!(*component, ".." | "." | "");
        let above = target.split('/').take_while(up).filter(|name| *name == "..").count();
        let later = target.split('/').skip_while(up).any(|name| name == "..");
        relative && !later && above <= entry.path().ancestors().count()
    }
}

/// Extracts archives into a directory.
///
/// ```
/// use flux_archive::disk::Extractor;
/// use flux_archive::{Archive, Profile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let json = br#"[{"path":"a/b","mode":33188,"encoding":"utf-8","data":"hello","size":5}]"#;
/// let archive = Archive::parse(json, Profile::Flux)?;
/// let report = Extractor::new(folder.path())?.run(&archive)?;
/// assert_eq!((report.files, report.failures.len()), (1, 0));
/// assert_eq!(std::fs::read(folder.path().join("a/b"))?, b"hello");
/// # Ok::<(), flux_archive::Error>(())
/// ```
#[allow(clippy::struct_excessive_bools, reason = "each field is a separate option")]
pub struct Extractor<'o> {
    pub(super) root: Dir,
    pub(super) store: Option<&'o dyn BlobStore>,
    pub(super) existing: Existing,
    pub(super) links: LinkPolicy,
    pub(super) limits: Limits,
    pub(super) require_hash: Option<HashType>,
    pub(super) select: Option<Select<'o>>,
    pub(super) progress: Option<Progress<'o>>,
    pub(super) times: bool,
    pub(super) preserve_permissions: bool,
    pub(super) sync: bool,
    pub(super) fail_fast: bool,
    pub(super) dry_run: bool,
}

partial_debug! { Extractor: root; }

impl<'o> Extractor<'o> {
    /// Opens an existing directory to extract into.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be opened.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            root: Dir::open(root.as_ref())?,
            store: None,
            existing: Existing::default(),
            links: LinkPolicy::default(),
            limits: Limits::default(),
            require_hash: None,
            select: None,
            progress: None,
            times: true,
            preserve_permissions: false,
            sync: false,
            fail_fast: false,
            dry_run: false,
        })
    }

    binio::setters! {
        /// Sets the store from which blobs are read.
        store: &'o dyn BlobStore => Some(store);

        /// Sets how to handle existing files.
        existing: Existing;

        /// Sets which symbolic links are created.
        links: LinkPolicy;

        /// Sets limits on the sizes of files and on the number of bytes to write.
        limits: Limits;

        /// Sets the only hash function that blobs may use, or `None` to allow all. Extracting a
        /// file fails if one of its blobs uses another hash function.
        require_hash: Option<HashType>;

        /// Extracts only the entries that a function selects.
        select: Select<'o> => Some(select);

        /// Sets a function that is called with the number of bytes of data extracted since the last
        /// call.
        progress: Progress<'o> => Some(progress);

        /// Sets whether modification times are restored. Default: yes.
        times: bool;

        /// Sets whether permissions are restored exactly, including the set-user-id, set-group-id
        /// and sticky bits. Otherwise, the umask applies, and these three bits are not restored.
        /// Default: no.
        preserve_permissions: bool;

        /// Sets whether each file is synced to disk before it appears at its path. Default: no.
        sync: bool;

        /// Sets whether to stop after the first failure. Entries that other threads are already
        /// extracting are completed. Default: no.
        fail_fast: bool;

        /// Sets whether to only report what would happen, without writing files or reading blobs.
        /// Default: no.
        dry_run: bool;
    }
}
