//! Reading the history of a file, and the entry for the library that wrote the file.

use asdf::tree::metadata::History;

use super::file;

#[test]
fn the_library_entry_and_the_history_of_a_file_are_read() {
    let file = file(
        "asdf_library: !core/software-1.0.0 {name: asdf, version: 4.1.0, author: A, homepage: h}\n\
         history:\n  extensions:\n  - !core/extension_metadata-1.0.0\n    extension_class: c.C\n    \
         extension_uri: asdf://x\n    manifest_software: !core/software-1.0.0 {name: m, version: 1.0}\n    \
         package: !core/software-1.0.0 {name: p, version: '2'}\n  entries:\n  \
         - !core/history_entry-1.0.0\n    description: Did it\n    time: 2026-11-20 23:24:27+00:00\n    \
         software: [{name: s, version: 1}]\n",
        &[],
    );
    let library = file.library().unwrap().unwrap();
    assert_eq!((library.name.as_str(), library.version.as_str()), ("asdf", "4.1.0"));
    assert_eq!((library.author.as_deref(), library.homepage.as_deref()), (Some("A"), Some("h")));
    let History { extensions, entries, .. } = file.history().unwrap();
    assert_eq!(extensions[0].extension_class, "c.C");
    assert_eq!(extensions[0].extension_uri.as_deref(), Some("asdf://x"));
    assert_eq!(extensions[0].manifest_software.as_ref().unwrap().version, "1.0");
    assert_eq!(extensions[0].software.as_ref().unwrap().name, "p");
    assert_eq!(entries[0].description, "Did it");
    assert_eq!(entries[0].time.as_deref(), Some("2026-11-20T23:24:27+00:00"));
    assert_eq!(entries[0].software[0].version, "1");
}

#[test]
fn a_history_that_is_a_list_of_entries_is_read() {
    let file = file(
        "history:\n- {description: a, software: {name: s, version: '1'}}\n- {description: b}",
        &[],
    );
    let history = file.history().unwrap();
    assert_eq!(history.extensions, []);
    assert_eq!(history.entries[0].software.len(), 1);
    assert_eq!(history.entries[1].description, "b");
}

#[test]
fn a_file_without_metadata_has_no_library_entry_and_an_empty_history() {
    let file = file("a: 1", &[]);
    assert_eq!(file.library().unwrap(), None);
    assert_eq!(file.history().unwrap(), History::default());
}

#[test]
fn metadata_with_a_missing_key_or_the_wrong_type_is_an_error() {
    assert!(file("asdf_library: {name: x}", &[]).library().is_err());
    assert!(file("history: 5", &[]).history().is_err());
    assert!(file("history: [{time: x}]", &[]).history().is_err());
}
