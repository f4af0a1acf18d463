//! An archive in memory: its entries in order, with content as the archive encodes it.

use super::blobref::BlobRef;
use super::entry::Entry;
use crate::diagnostic::Diagnostic;

/// The container of the entries of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A JSON array, the *list* of RFC 37: what Flux writes.
    Array,
    /// A JSON object with paths as keys, the *set* of RFC 37: files of a jobspec.
    Dict,
    /// One object after the other, as `flux archive list --raw` prints them. RFC 37 does not allow it.
    Objects,
}

/// An archive, which borrows from its JSON text.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    pub(crate) form: Form,
    /// The place of the archive in the document, as a JSON pointer.
    pub(crate) pointer: String,
    pub(crate) entries: Vec<Entry<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) more_diagnostics: u64,
}

impl<'a> Archive<'a> {
    /// The container of the entries.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The entries in order. Of a path that occurs twice in the document only the last one is there.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// Where the archive differs from RFC 37 in a way that the profile accepts and reports.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many diagnostics exceed [`Limits::max_diagnostics`](crate::Limits::max_diagnostics) and
    /// are not in [`diagnostics`](Self::diagnostics).
    pub fn more_diagnostics(&self) -> u64 {
        self.more_diagnostics
    }

    /// The entry with a path. Searches all entries.
    pub fn get(&self, path: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|entry| entry.path.as_str() == path)
    }

    /// The blobs of its files; a blob that occurs twice is returned twice.
    pub fn blobrefs(&self) -> impl Iterator<Item = BlobRef> {
        self.entries.iter().flat_map(Entry::regions).map(|region| region.blobref)
    }
}
