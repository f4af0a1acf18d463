//! Entries that a later one replaces.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::json::Text;
use crate::model::Form;
use crate::parse::{OpenOptions, RawEntry};

/// The indices of entries that a later one replaces: by its key, and in a dict by its path.
pub(super) fn superseded(
    document: &[u8],
    options: &OpenOptions,
    form: Form,
) -> Result<HashSet<u64>> {
    let mut replaced = HashSet::new();
    let mut by = |name: fn(&RawEntry<'_>) -> Option<String>| -> Result<()> {
        let mut last = HashMap::new();
        for raw in options.entries(document)? {
            let raw = raw?;
            if replaced.contains(&raw.index()) {
                continue;
            }
            if let Some(before) = name(&raw).and_then(|name| last.insert(name, raw.index())) {
                replaced.insert(before);
            }
        }
        Ok(())
    };
    if options.entries(document)?.form() == Some(Form::Dict) {
        by(|raw| Text::from_json(raw.key()?).map(|key| key.to_string()).ok())?;
    }
    if form == Form::Dict {
        by(|raw| raw.path().map(|path| path.to_string()))?;
    }
    Ok(replaced)
}
