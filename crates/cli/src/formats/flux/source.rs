//! Sources of archives and blobs: files, standard input, and the state of a broker.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[cfg(unix)]
use binio::FileSource;
use bytes::Bytes;
use flux_archive::json::repair_commas;
use flux_archive::kvs::BrokerState;
use flux_archive::store::{self, BlobStore, BlobStoreMut, Layered};
use flux_archive::{Archive, ErrorKind, OpenOptions};
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::flux::{One, Reading, Selection, State, Stores};
use crate::failure::{Failure, name};
use crate::input;
use crate::interrupt::Spool;
use crate::output::Output;
use crate::output::file::is_standard;

/// Archives of at least this many bytes are mapped instead of read, because they may be larger than
/// the available memory.
const MAP_FROM: u64 = 1 << 30;

/// An archive, and the options for reading it.
pub(super) struct Source {
    /// The name of the archive in messages.
    pub(super) name: PathBuf,
    pub(super) document: Bytes,
    pub(super) options: OpenOptions,
    /// The state of the broker that contains the archive. It is also searched for the blobs of the
    /// archive.
    state: Option<BrokerState>,
}

impl Source {
    /// Opens a file, or standard input for "-".
    pub(super) fn of_file(path: &Path, reading: &Reading) -> Result<Self, Failure> {
        let document = if is_standard(path) {
            spool()
        } else {
            // If the size cannot be determined, reading the file will also fail, and report the
            // error.
            let large = path.metadata().is_ok_and(|metadata| metadata.len() >= MAP_FROM);
            OpenOptions::new().mmap(large).read(path)
        };
        let document = document.map_err(|error| Failure::flux(path, error))?;
        Ok(Self::new(path.to_owned(), document, reading, None))
    }

    /// Reads an archive, or the files of a job, from the state of a broker.
    fn of_state(path: &Path, place: &State, reading: &Reading) -> Result<Self, Failure> {
        let state = open_state(path)?;
        let (document, name) = match place.job {
            Some(job) => (state.jobspec(job), format!("job {}", job.0)),
            None => (state.archive(&place.name), place.name.clone()),
        };
        let document = document.map_err(|error| failure(path, error))?;
        let name = format!("{}: {name}", path.display()).into();
        Ok(Self::new(name, document.into(), reading, Some(state)))
    }

    pub(super) fn open(one: &One) -> Result<Self, Failure> {
        match (&one.state.statedir, &one.archive) {
            (Some(state), _) => Self::of_state(state, &one.state, &one.reading),
            (None, Some(archive)) => Self::of_file(archive, &one.reading),
            (None, None) => Err(Failure::other("ARCHIVE", "expected an archive, or --statedir")),
        }
    }

    /// Opens the archive of a selection without reading it. Returns `None` if the archive can only
    /// be read as a whole, or cannot be opened.
    #[cfg(unix)]
    pub(super) fn without_document(selection: &Selection) -> Option<(Self, FileSource)> {
        let Selection { archive, state, reading, .. } = selection;
        let path = archive.as_ref().filter(|path| !is_standard(path) && path.is_file())?;
        if state.statedir.is_some() || reading.lenient_json {
            return None;
        }
        let file = FileSource::open(path).ok()?;
        Some((Self::new(path.clone(), Bytes::new(), reading, None), file))
    }

    /// Opens the archive of a selection. Also returns the patterns that select entries.
    pub(super) fn select(selection: &Selection) -> Result<(Self, Vec<String>), Failure> {
        let Selection { archive, patterns, state, reading, .. } = selection;
        let (state, reading) = (state.clone(), reading.clone());
        let mut patterns = patterns.clone();
        let mut archive = archive.clone();
        if state.statedir.is_some() {
            // With --statedir, all operands are patterns.
            let first = archive.take().map(|pattern| pattern.to_string_lossy().into_owned());
            patterns.splice(0..0, first);
        }
        Ok((Self::open(&One { archive, state, reading })?, patterns))
    }

    /// Creates a source from the text of an archive.
    pub(super) fn new(
        name: PathBuf,
        document: Bytes,
        reading: &Reading,
        state: Option<BrokerState>,
    ) -> Self {
        let document = match repair(&document, reading) {
            Some(repaired) => repaired.into(),
            None => document,
        };
        let mut options = OpenOptions::new();
        if let Some(profile) = reading.profile {
            options = options.profile(profile);
        }
        if let Some(pointer) = &reading.pointer {
            options = options.pointer(pointer.clone());
        }
        Self { name, document, options, state }
    }

    pub(super) fn parse(&self) -> Result<Archive<'_>, Failure> {
        self.options.parse(&self.document).map_err(|error| self.failure(error))
    }

    pub(super) fn failure(&self, error: flux_archive::Error) -> Failure {
        Failure::flux(&self.name, error)
    }

    /// If the archive is in a damaged dump, reports the missing parts of the dump, and returns
    /// `Found`.
    pub(super) fn report_damage(&self, output: Output) -> Verdict {
        let Some(damage) = self.damage() else { return Verdict::Fine };
        output.say(&format_args!("{}: {damage}", name(&self.name)));
        Verdict::Found
    }

    /// Returns a JSON diagnostic about the missing parts of the dump that contains the archive, if
    /// any are missing.
    pub(super) fn damage_json(&self) -> Option<Value> {
        let damage = self.damage()?;
        Some(json!({"code": "DamagedDump", "severity": "error", "message": damage}))
    }

    /// Returns a message about the missing parts of the dump that contains the archive, if any are
    /// missing.
    fn damage(&self) -> Option<&str> {
        self.state.as_ref().and_then(BrokerState::damage)
    }

    /// Returns the form of the archive. With `in_place`, fails if the archive is only part of the
    /// document.
    pub(super) fn form(&self, in_place: bool) -> Result<flux_archive::Form, Failure> {
        let entries = self.options.entries(&self.document).map_err(|error| self.failure(error))?;
        if in_place && !entries.pointer().is_empty() {
            let message = "cannot replace this file, because the archive is only part of the \
                           document; `scibin flux convert --to array FILE -o OUT` copies the \
                           archive to a separate file";
            return Err(Failure::other(name(&self.name), message));
        }
        Ok(entries.form().unwrap_or(flux_archive::Form::Array))
    }

    /// Returns the stores from the command line and the state that contains the archive, as a
    /// single store that searches them in order.
    pub(super) fn stores(&self, stores: &Stores) -> Result<Layered<'_>, Failure> {
        let mut layered = Layered::new();
        for path in &stores.stores {
            layered = layered.with(open_store(path)?);
        }
        Ok(match &self.state {
            Some(state) => layered.with(state.store()),
            None => layered,
        })
    }

    /// Returns `true` if there is a store to search for blobs.
    pub(super) fn has_stores(&self, stores: &Stores) -> bool {
        self.state.is_some() || !stores.stores.is_empty()
    }
}

/// Returns the document without its trailing commas, or `None` if it contains no trailing commas or
/// if `--lenient-json` is not given.
fn repair(document: &[u8], reading: &Reading) -> Option<Vec<u8>> {
    match repair_commas(if reading.lenient_json { document } else { &[] }) {
        std::borrow::Cow::Owned(repaired) => Some(repaired),
        std::borrow::Cow::Borrowed(_) => None,
    }
}

/// Reads standard input. Data that may not fit in memory is copied to a temporary file and mapped,
/// which is safe because no other program truncates the temporary file.
fn spool() -> flux_archive::Result<Bytes> {
    let mut standard = input::standard()?;
    if standard.metadata()?.len() < MAP_FROM {
        let mut document = Vec::new();
        standard.read_to_end(&mut document)?;
        return Ok(document.into());
    }
    let mut file = Spool::new()?;
    io::copy(&mut standard, &mut *file)?;
    OpenOptions::new().mmap(true).read(file.path())
}

/// Opens the state of a broker.
pub(super) fn open_state(path: &Path) -> Result<BrokerState, Failure> {
    BrokerState::open(path).map_err(|error| failure(path, error))
}

/// Opens a store for reading.
pub(super) fn open_store(path: &Path) -> Result<Box<dyn BlobStore>, Failure> {
    store::open(path).map_err(|error| failure(path, error))
}

/// Opens a store for writing, and creates it if it does not exist.
pub(super) fn open_store_mut(path: &Path) -> Result<Box<dyn BlobStoreMut>, Failure> {
    store::create(path).map_err(|error| failure(path, error))
}

/// Returns the failure for an error from a store or from the state of a broker.
pub(super) fn failure(path: &Path, error: impl Into<ErrorKind>) -> Failure {
    Failure::flux(path, flux_archive::Error::new(error.into()))
}
