//! An archive in memory: entries in their order, each with its content in the archive's form.

use super::blobref::BlobRef;
use super::entry::Entry;
use crate::diagnostic::Diagnostic;

/// How the entries of an archive are held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// A JSON array, the *list* of RFC 37: what Flux writes. A path may occur twice.
    Array,
    /// A JSON object with paths as keys, the *set* of RFC 37: files of a jobspec.
    Dict,
    /// Objects one after the other, as `flux archive list --raw` prints them. RFC 37 has no such form.
    Objects,
}

/// An archive, borrowed from its JSON text.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    pub(crate) form: Form,
    /// Where in the document it is, as a JSON pointer.
    pub(crate) pointer: String,
    pub(crate) entries: Vec<Entry<'a>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) more_diagnostics: u64,
}

impl<'a> Archive<'a> {
    /// How the entries are held together.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The entries in their order.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.entries
    }

    /// The entries by value.
    pub fn into_entries(self) -> Vec<Entry<'a>> {
        self.entries
    }

    /// Where the archive differs from RFC 37 in a way that the profile takes and reports.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// How many more there are than [`Limits::max_diagnostics`](crate::Limits::max_diagnostics), which
    /// are not in [`diagnostics`](Self::diagnostics).
    pub fn more_diagnostics(&self) -> u64 {
        self.more_diagnostics
    }

    /// The last entry of a path. Walks all entries.
    pub fn get(&self, path: &str) -> Option<&Entry<'a>> {
        self.entries.iter().rev().find(|entry| entry.path.as_str() == path)
    }

    /// The blobs that its files are of, as often as they occur.
    pub fn blobrefs(&self) -> impl Iterator<Item = BlobRef> {
        self.entries.iter().flat_map(Entry::regions).map(|region| region.blobref)
    }
}
