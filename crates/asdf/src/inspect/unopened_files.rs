//! Reporting external files that cannot be opened, with one diagnostic for each reason.
//!
//! An exploded file may refer to thousands of external files. If the external files were not copied
//! along with the exploded file, a single message with their count is more useful than thousands of
//! messages.

use std::collections::{BTreeSet, HashMap};

use binio::diagnostic::count;

use crate::diagnostic::{Code, Diagnostic};
use crate::error::ReferenceError;
use crate::tree::Node;

/// Maximum number of files named in a message.
const MAX_NAMED: usize = 3;

/// External files that cannot be opened, grouped by reason. Files that were not found share the reason `None`.
/// Otherwise, each of them would be a separate group, because the error contains the path of the file.
#[derive(Default)]
pub(super) struct UnopenedFiles<'a>(HashMap<Option<String>, Group<'a>>);

/// A group of arrays whose external files cannot be opened, all for the same reason.
#[derive(Default)]
struct Group<'a> {
    /// The arrays in the order of the tree, each with the URI of its file.
    arrays: Vec<(String, Node<'a>)>,
    /// The complete message about the first array.
    message: String,
}

impl<'a> UnopenedFiles<'a> {
    /// Adds an array. `reason` is the reason why its file cannot be opened, and `message` is the complete
    /// message about the array.
    pub(super) fn add(
        &mut self,
        array: Node<'a>,
        uri: &str,
        reason: &ReferenceError,
        message: String,
    ) {
        let reason = match reason {
            ReferenceError::NotFound(_) => None,
            reason => Some(reason.to_string()),
        };
        let new = || Group { arrays: Vec::new(), message };
        self.0.entry(reason).or_insert_with(new).arrays.push((uri.to_owned(), array));
    }

    /// Returns one diagnostic per reason. If a reason affects several arrays, the diagnostic has a label for
    /// each of them.
    pub(super) fn diagnostics(&self) -> impl Iterator<Item = Diagnostic> {
        self.0.values().filter_map(Group::diagnostic)
    }
}

impl Group<'_> {
    fn diagnostic(&self) -> Option<Diagnostic> {
        let (_, first) = self.arrays.first()?;
        if self.arrays.len() == 1 {
            return Some(first.diagnostic(Code::NotChecked, &*self.message));
        }
        let mut diagnostic = first.diagnostic(Code::NotChecked, String::new());
        let mut uris = BTreeSet::new();
        let mut named = Vec::new();
        for (uri, array) in &self.arrays {
            let place = array.diagnostic(Code::NotChecked, String::new()).place;
            if uris.insert(uri) && named.len() < MAX_NAMED {
                let pointer = place.pointer.as_deref().unwrap_or("an array without a pointer");
                named.push(format!("{uri:?} for {pointer}"));
            }
            diagnostic = diagnostic.label_at(place, uri);
        }
        let (files, arrays) = (uris.len(), count(self.arrays.len(), "array"));
        let more = match files - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        diagnostic.message = format!(
            "{} needed by {arrays} cannot be opened: {}{more}; first error: {}",
            count(files, "external file"),
            named.join(", "),
            self.message
        );
        Some(diagnostic)
    }
}
