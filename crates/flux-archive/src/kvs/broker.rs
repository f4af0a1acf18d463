//! The state of a broker, read from a state directory or a dump.

use std::path::Path;

use super::job::JobId;
use super::state::StateDir;
use crate::error::{KvsError, StoreError};
use crate::store::BlobStore;
#[cfg(feature = "dump-tar")]
use crate::store::DumpTar;

/// The state of a broker, in a `flux dump` file or in the state directory of a broker that is not running.
///
/// ```
/// use flux_archive::kvs::BrokerState;
///
/// # use flux_archive::HashType;
/// # use flux_archive::store::{BlobStoreMut, DirStore};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path();
/// # let files = path.join("content.files");
/// # let root = br#"{"type":"dir","data":{"archive":{"type":"dir","data":{"main":{"type":"val","data":"W10="}}}}}"#;
/// # let root = DirStore::create(&files)?.put(HashType::Sha1, root)?;
/// # std::fs::write(files.join("kvs-primary"), root.to_string())?;
/// let state = BrokerState::open(path)?;
/// assert_eq!(state.archives()?, ["main"]);
/// assert_eq!(state.archive("main")?, b"[]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum BrokerState {
    /// A state directory.
    Directory(StateDir),
    /// A `flux dump` file.
    #[cfg(feature = "dump-tar")]
    Dump(DumpTar),
}

impl BrokerState {
    /// Opens a directory as a state directory, and anything else as a `flux dump` file.
    ///
    /// # Errors
    ///
    /// Fails with [`KvsError::Store`] if the path does not exist or cannot be accessed. For a directory, also fails as
    /// [`StateDir::open`] does. For a file, also fails with [`KvsError::Store`] if [`DumpTar::open`](crate::store)
    /// fails or if this build cannot read dumps.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, KvsError> {
        let path = path.as_ref();
        if path.metadata()?.is_dir() {
            return StateDir::open(path).map(Self::Directory);
        }
        Self::open_dump(path)
    }

    #[cfg(feature = "dump-tar")]
    fn open_dump(path: &Path) -> Result<Self, KvsError> {
        Ok(Self::Dump(DumpTar::open(path)?))
    }

    #[cfg(not(feature = "dump-tar"))]
    fn open_dump(_: &Path) -> Result<Self, KvsError> {
        Err(StoreError::NO_DUMP_TAR.into())
    }

    /// Describes the damage and the missing parts of a damaged or truncated dump. Returns `None`
    /// for any other state.
    pub fn damage(&self) -> Option<&str> {
        match self {
            Self::Directory(_) => None,
            #[cfg(feature = "dump-tar")]
            Self::Dump(dump) => dump.damage(),
        }
    }

    /// Returns the store of the broker, which also contains the blobs of archives. If the state is a dump, returns the
    /// dump, which contains the blobs of an archive only if they were preserved with it.
    pub fn store(&self) -> &dyn BlobStore {
        match self {
            Self::Directory(state) => state.store(),
            #[cfg(feature = "dump-tar")]
            Self::Dump(dump) => dump,
        }
    }

    /// Reads the value of a key such as `archive.main`. Follows links in a state directory, but not in a dump.
    ///
    /// # Errors
    ///
    /// For a state directory, same as [`StateDir::value`]. For a dump, fails with [`KvsError::NotFound`] if it has no
    /// value for the key, and with [`KvsError::Store`] if the value is too large or cannot be read. If a damaged dump
    /// has no value for the key, the error is a [`KvsError::Store`] that contains [`StoreError::Damaged`], because the
    /// key may be in the missing part.
    pub fn value(&self, key: &str) -> Result<Vec<u8>, KvsError> {
        match self {
            Self::Directory(state) => state.value(key),
            #[cfg(feature = "dump-tar")]
            Self::Dump(dump) => dump.value(key).map_err(|error| match (error, dump.damage()) {
                (StoreError::NotFound, None) => KvsError::NotFound(key.to_owned()),
                (StoreError::NotFound, Some(damage)) => {
                    StoreError::Damaged(format!("{key} was not found in a damaged dump: {damage}"))
                        .into()
                }
                (error, _) => error.into(),
            }),
        }
    }

    /// Reads the JSON text of an archive that was stored by `flux archive create --name`.
    ///
    /// # Errors
    ///
    /// Same as [`value`](Self::value).
    pub fn archive(&self, name: &str) -> Result<Vec<u8>, KvsError> {
        self.value(&format!("archive.{name}"))
    }

    /// Reads the jobspec of a job: JSON text that contains the files of the job.
    ///
    /// # Errors
    ///
    /// Same as [`value`](Self::value).
    pub fn jobspec(&self, job: JobId) -> Result<Vec<u8>, KvsError> {
        self.value(&format!("job.{}.jobspec", job.key()))
    }

    /// Returns the names of all archives. If the state is a dump, the names are sorted, and archives in its missing
    /// part are not included.
    ///
    /// # Errors
    ///
    /// For a state directory, same as [`StateDir::archives`]. Never fails for a dump.
    pub fn archives(&self) -> Result<Vec<String>, KvsError> {
        match self {
            Self::Directory(state) => state.archives(),
            #[cfg(feature = "dump-tar")]
            Self::Dump(dump) => {
                let names = dump.members().filter_map(|name| name.strip_prefix("archive/"));
                // Skip the blobs preserved with an archive, which are one level deeper.
                let mut names: Vec<_> =
                    names.filter(|name| !name.contains('/')).map(str::to_owned).collect();
                names.sort_unstable();
                Ok(names)
            }
        }
    }

    /// Returns the IDs of all jobs in ascending order, and the errors from the search. For a state directory, same as
    /// [`StateDir::jobs`]. In a dump, only jobs with a jobspec are found, and there are no errors.
    pub fn jobs(&self) -> (Vec<JobId>, Vec<KvsError>) {
        match self {
            Self::Directory(state) => state.jobs(),
            #[cfg(feature = "dump-tar")]
            Self::Dump(dump) => {
                let job = |name: &str| {
                    let groups = name.strip_prefix("job/")?.strip_suffix("/jobspec")?;
                    JobId::parse(&groups.replace('/', "."))
                };
                let mut jobs: Vec<_> = dump.members().filter_map(job).collect();
                jobs.sort_unstable();
                (jobs, Vec::new())
            }
        }
    }
}
