//! Metadata about the file itself: the software that wrote it, its extensions and its history.

use super::WriteOptions;
use super::options::Library;
use crate::tag::{CORE_PREFIX, Version};
use crate::tree::metadata::{ExtensionMetadata, HistoryEntry, Software};
use crate::value::{Mapping, Sequence, Value};

/// The first version of the standard whose history lists extensions.
pub(super) const EXTENSIONS: Version = Version::new(1, 2, 0);

/// Sets `asdf_library` and `history`. In a copy of a file, existing entries keep their positions.
/// In all other cases, both entries are placed at the beginning.
pub(super) fn add(root: &mut Mapping, options: &WriteOptions, is_copy: bool) {
    let old = root.get("history").cloned();
    put(root, "history", history(old, options), is_copy);
    let library = match &options.library {
        Library::Ours => software(&Software::new("scibin", env!("CARGO_PKG_VERSION"))),
        Library::Other(library) => software(library),
        Library::AsInTheTree => match root.get("asdf_library") {
            Some(library) => library.clone(),
            None => return,
        },
    };
    put(root, "asdf_library", Some(library), is_copy);
}

fn put(root: &mut Mapping, key: &str, value: Option<Value>, is_copy: bool) {
    let Some(value) = value else { return drop(root.remove(key)) };
    if let Some(old) = root.get_mut(key).filter(|_| is_copy) {
        *old = value;
    } else {
        root.remove(key);
        root.insert_first(key, value);
    }
}

/// Returns the history in the form that the chosen version of the standard requires, with the new
/// entries and extensions appended.
fn history(old: Option<Value>, options: &WriteOptions) -> Option<Value> {
    let take = |mapping: &mut Mapping, key: &str| mapping.remove(key).unwrap_or_default();
    let (mut extensions, mut entries, mut others) = match old {
        Some(mut old) => match old.as_mapping_mut() {
            Some(mapping) => {
                let lists = (take(mapping, "extensions"), take(mapping, "entries"));
                (lists.0, lists.1, Some(std::mem::take(mapping)))
            }
            None => (Value::Null, old, None),
        },
        None => (Value::Null, Value::Null, None),
    };
    append(&mut entries, options.entries.iter().map(history_entry));
    if options.standard < EXTENSIONS {
        return (entries != Value::Null).then_some(entries);
    }
    append(&mut extensions, options.extensions.iter().map(extension));
    let mut history = others.take().unwrap_or_default();
    for (key, list) in [("entries", entries), ("extensions", extensions)] {
        if list != Value::Null {
            history.insert_first(key, list);
        }
    }
    (!history.is_empty()).then(|| history.into())
}

/// Appends items to a list. Creates the list if the value is null.
fn append(list: &mut Value, more: impl ExactSizeIterator<Item = Value>) {
    if more.len() == 0 {
        return;
    }
    if *list == Value::Null {
        *list = Sequence::new().into();
    }
    if let Some(list) = list.as_sequence_mut() {
        list.items_mut().extend(more);
    }
}

/// Adds the tag of a core type in version 1.0.0. When the tree is prepared for writing, this
/// version is replaced by the newest one that the chosen version of the standard defines.
fn tagged(mapping: Mapping, name: &str) -> Value {
    Value::from(mapping).tagged(format!("{CORE_PREFIX}{name}-1.0.0"))
}

fn software(software: &Software) -> Value {
    let mut entries = Mapping::new();
    for (key, value) in [("author", &software.author), ("homepage", &software.homepage)] {
        if let Some(value) = value {
            entries.insert(key, value.as_str());
        }
    }
    entries.insert("name", software.name.as_str());
    entries.insert("version", software.version.as_str());
    tagged(entries, "software")
}

pub(super) fn history_entry(entry: &HistoryEntry) -> Value {
    let mut entries = Mapping::new();
    entries.insert("description", entry.description.as_str());
    if let Some(time) = &entry.time {
        entries.insert("time", crate::value::emit::time_value(time));
    }
    match &entry.software[..] {
        [] => {}
        [one] => drop(entries.insert("software", software(one))),
        several => {
            let list: Sequence = several.iter().map(software).collect();
            entries.insert("software", list);
        }
    }
    tagged(entries, "history_entry")
}

fn extension(extension: &ExtensionMetadata) -> Value {
    let mut entries = Mapping::new();
    entries.insert("extension_class", extension.extension_class.as_str());
    if let Some(uri) = &extension.extension_uri {
        entries.insert("extension_uri", uri.as_str());
    }
    for (key, value) in
        [("manifest_software", &extension.manifest_software), ("software", &extension.software)]
    {
        if let Some(value) = value {
            entries.insert(key, software(value));
        }
    }
    tagged(entries, "extension_metadata")
}
