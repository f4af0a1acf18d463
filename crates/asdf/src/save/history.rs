//! Adding entries to the history of a file.

use super::Editor;
use super::metadata::{EXTENSIONS, history_entry};
use crate::error::Result;
use crate::tag::Version;
use crate::tree::metadata::HistoryEntry;
use crate::value::{Mapping, Sequence, Tree, Value};
use crate::yaml::{NodeKind, YamlNode};

impl Editor {
    /// Appends an entry to the history, creating the history if the file has none.
    ///
    /// ```
    /// use std::time::SystemTime;
    /// use asdf::save::Editor;
    /// use asdf::tree::metadata::{HistoryEntry, Software};
    /// use asdf::{Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("gain: 2.5")?).write(&path)?;
    /// let mut editor = Editor::open(&path)?;
    /// let entry = HistoryEntry::new("Flat-fielded").at(SystemTime::now());
    /// editor.add_history_entry(&entry.software(vec![Software::new("pipeline", "1.0")]))?;
    /// editor.commit()?;
    /// let history = asdf::Asdf::open(&path)?.history()?;
    /// assert_eq!(history.entries[0].description, "Flat-fielded");
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`set`](Self::set). Also fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if
    /// `/history`, or `entries` in it, is a scalar, and with [`ErrorKind::Yaml`](crate::ErrorKind::Yaml) if
    /// `entries` is a mapping.
    pub fn add_history_entry(&mut self, entry: &HistoryEntry) -> Result<()> {
        let standard = self.file().layout().standard_version;
        let history = self.tree()?.document().root().get("history");
        let (pointer, value) = placed(history, history_entry(entry), standard)?;
        self.set(pointer, &Tree::new(value))
    }
}

/// Returns a pointer, and the value to set at that pointer in order to add an entry to the history.
fn placed(
    history: Option<YamlNode<'_>>,
    entry: Value,
    standard: Option<Version>,
) -> Result<(&'static str, Value)> {
    let list = |entry: Value| Value::from(Sequence::from_iter([entry]));
    let Some(history) = history.filter(|history| !history.is_null()) else {
        if standard.is_some_and(|standard| standard < EXTENSIONS) {
            return Ok(("/history", list(entry)));
        }
        return Ok(("/history", Mapping::from_iter([("entries", list(entry))]).into()));
    };
    if history.kind() != NodeKind::Mapping {
        return Ok(("/history/-", entry));
    }
    match history.get("entries") {
        Some(entries) if entries.is_null() => Ok(("/history/entries", list(entry))),
        Some(entries) if entries.kind() == NodeKind::Mapping => {
            Err(entries.error("expected a list of history entries, found a mapping"))
        }
        _ => Ok(("/history/entries/-", entry)),
    }
}
