//! An archive in memory. Its entries are in document order. Text and base64 are still encoded as in the document.

use super::blobref::BlobRef;
use super::entry::Entry;
use crate::diagnostic::Diagnostic;

/// The form in which a document stores its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A JSON array, as written by Flux. RFC 37 calls it a *list*.
    Array,
    /// A JSON object with paths as keys, as in a jobspec. RFC 37 calls it a *set*.
    Dict,
    /// Consecutive objects, as `flux archive list --raw` prints them. RFC 37 does not allow this form.
    Objects,
}

/// An archive that borrows from its JSON text. [`into_owned`](Self::into_owned) copies the borrowed parts.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    pub(crate) form: Form,
    /// The JSON pointer of the archive in the document.
    pub(crate) pointer: String,
    pub(crate) entries: Vec<Entry<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) more_diagnostics: u64,
}

impl<'a> Archive<'a> {
    /// Returns the form in which the document stores its entries.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns the entries in document order. If several entries have the same path, or the same key in a dict, only
    /// the last one is included.
    ///
    /// ```
    /// use flux_archive::{Archive, Profile};
    ///
    /// let json = br#"[{"path":"d","mode":16877},{"path":"d/f","mode":33188,"size":0}]"#;
    /// let archive = Archive::parse(json, Profile::Strict)?;
    /// let paths: Vec<&str> = archive.entries().iter().map(|entry| entry.path().as_str()).collect();
    /// assert_eq!(paths, ["d", "d/f"]);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Returns the deviations from RFC 37 that the profile accepts but reports.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Returns the number of further diagnostics, which are not in [`diagnostics`](Self::diagnostics) because they
    /// exceed [`Limits::max_diagnostics`](crate::Limits::max_diagnostics).
    pub fn more_diagnostics(&self) -> u64 {
        self.more_diagnostics
    }

    /// Returns the entry with the given path, which must be normalised. Returns `None` if no entry
    /// has this path. Searches the entries one by one.
    ///
    /// ```
    /// use flux_archive::{Archive, FileType, Profile};
    ///
    /// let archive = Archive::parse(br#"{"d":{"mode":16877}}"#, Profile::Strict)?;
    /// assert_eq!(archive.get("d").unwrap().file_type(), FileType::Directory);
    /// assert!(archive.get("e").is_none());
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn get(&self, path: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.path.as_str() == path)
    }

    /// Copies the parts borrowed from the document, so that the document can be dropped. An archive returned by
    /// [`OpenOptions::open`](crate::OpenOptions::open) does not borrow from the document.
    ///
    /// ```
    /// use flux_archive::{Archive, Error, Profile};
    ///
    /// fn archive_of(script: &str) -> Result<Archive<'static>, Error> {
    ///     let json = format!(r#"{{"run":{{"mode":33261,"encoding":"utf-8","data":{script:?}}}}}"#);
    ///     Ok(Archive::parse(json.as_bytes(), Profile::Flux)?.into_owned())
    /// }
    ///
    /// let archive = archive_of("true\n")?;
    /// assert_eq!(archive.get("run").unwrap().len(), 5);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn into_owned(self) -> Archive<'static> {
        let Self { form, pointer, entries, diagnostics, more_diagnostics } = self;
        let entries = entries.into_iter().map(Entry::into_owned).collect();
        Archive { form, pointer, entries, diagnostics, more_diagnostics }
    }

    /// Returns the blobrefs of all files. A blobref that occurs several times is returned each
    /// time.
    ///
    /// ```
    /// use flux_archive::store::{BlobStore, MemoryStore};
    /// use flux_archive::{Archive, Profile};
    ///
    /// let json = br#"{"f":{"mode":33188,"encoding":"blobvec","size":3,
    ///     "data":[[0,3,"sha1-a9993e364706816aba3e25717850c26c9cd0d89d"]]}}"#;
    /// let archive = Archive::parse(json, Profile::Flux)?;
    /// let store = MemoryStore::new();
    /// let missing = archive.blobrefs().filter(|blobref| !store.contains(blobref).unwrap());
    /// assert_eq!(missing.count(), 1);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn blobrefs(&self) -> impl Iterator<Item = BlobRef> {
        self.entries.iter().flat_map(Entry::regions).map(|region| region.blobref)
    }
}
