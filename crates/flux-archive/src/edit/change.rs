//! Adding and removing entries. The remaining entries are copied unchanged.

use std::collections::HashSet;
use std::io::Write;

use crate::diagnostic::Code;
use crate::error::{ErrorKind, Result};
use crate::model::{ArchivePath, Entry, FileType};
use crate::parse::{OpenOptions, Tree};
use crate::write::Writer;

/// Writes an archive without the entries that a function selects. Returns the number of removed
/// entries.
///
/// `unwanted` is called with each path, and returns `true` if the entry is to be removed. Escapes in
/// the path are decoded, but the path is not normalised. Even entries that no profile accepts can be
/// removed.
///
/// ```
/// use flux_archive::edit::delete;
/// use flux_archive::inspect::fnmatch;
/// use flux_archive::{Form, OpenOptions, Writer};
///
/// let document = br#"[{"path":"a.log","mode":33188,"size":0},{"path":"b","mode":16877,"x":1.0}]"#;
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let deleted = delete(document, &OpenOptions::new(), &|path| fnmatch("*.log", path), &mut writer)?;
/// assert_eq!(deleted, 1);
/// assert_eq!(writer.finish()?, br#"[{"path":"b","mode":16877,"x":1.0}]"#);
/// # Ok::<(), flux_archive::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`OpenOptions::entries`] and [`Writer::copy`]. Also fails with
/// [`ErrorKind::Json`](crate::ErrorKind::Json) or [`ErrorKind::Limit`](crate::ErrorKind::Limit) if
/// an entry cannot be read.
pub fn delete<W: Write>(
    document: &[u8],
    options: &OpenOptions,
    unwanted: &dyn Fn(&str) -> bool,
    writer: &mut Writer<W>,
) -> Result<u64> {
    let mut deleted = 0;
    for raw in options.entries(document)? {
        let raw = raw?;
        if raw.path().is_some_and(|path| unwanted(&path.decode())) {
            deleted += 1;
        } else {
            writer.copy(&raw)?;
        }
    }
    Ok(deleted)
}

/// Writes the entries of `document`, followed by the entries of `addition`. An added entry replaces
/// an existing entry with the same path. Returns the number of entries replaced in this way. If
/// several entries of the same document have the same path, only the last one is used. The
/// [pointer](OpenOptions::pointer) in the options applies only to `document`.
///
/// ```
/// use flux_archive::edit::append;
/// use flux_archive::{Form, OpenOptions, Writer};
///
/// let document = br#"{"a":{"mode":16877},"b":{"mode":16877}}"#;
/// let mut writer = Writer::new(Vec::new(), Form::Dict);
/// let addition = br#"[{"path":"a","mode":16832}]"#;
/// assert_eq!(append(document, addition, &OpenOptions::new(), &mut writer)?, 1);
/// assert_eq!(writer.finish()?, br#"{"b":{"mode":16877},"a":{"mode":16832}}"#);
/// # Ok::<(), flux_archive::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`OpenOptions::parse`] for both documents. Also fails with [`ErrorKind::NotWritable`] if an entry would be
/// below a file or link, or if only one of two entries with the same path is a directory. In these cases, nothing is
/// written. Also fails if the writer fails.
pub fn append<W: Write>(
    document: &[u8],
    addition: &[u8],
    options: &OpenOptions,
    writer: &mut Writer<W>,
) -> Result<u64> {
    let plain = OpenOptions::new().profile(options.profile).limits(options.limits);
    let (old, new) = (options.parse(document)?, plain.parse(addition)?);
    let added: HashSet<&ArchivePath> = new.entries().iter().map(Entry::path).collect();
    check_places(old.entries().iter().chain(new.entries()))?;

    let old_superseded = options.superseded(document)?;
    let mut count = 0;
    for raw in options.entries(document)? {
        let raw = raw?;
        let path = raw.path().and_then(|path| ArchivePath::normalise(&path.decode()).ok());
        if old_superseded.contains(&raw.index()) {
            continue;
        }
        if path.is_some_and(|(path, _)| added.contains(&path)) {
            count += 1;
        } else {
            writer.copy(&raw)?;
        }
    }
    let new_superseded = plain.superseded(addition)?;
    for raw in plain.entries(addition)? {
        let raw = raw?;
        if !new_superseded.contains(&raw.index()) {
            writer.copy(&raw)?;
        }
    }
    Ok(count)
}

/// Fails if an entry is below a file or link, or if only one of two entries with the same path is a
/// directory.
fn check_places<'e>(entries: impl Iterator<Item = &'e Entry<'e>> + Clone) -> Result<()> {
    let mut tree = Tree::new();
    let reject = |entry: &Entry<'_>, message| {
        let (code, path) = (Code::BelowNoDirectory, entry.path().to_string());
        Err(ErrorKind::NotWritable { code, path, message }.into())
    };
    for entry in entries.clone() {
        let is_directory = |kind| kind == FileType::Directory;
        match tree.insert(entry.path(), entry.file_type(), 0) {
            Some((kind, _)) if is_directory(kind) != is_directory(entry.file_type()) => {
                return reject(entry, format!("the archive already has a {kind} with this path"));
            }
            _ => {}
        }
    }
    for entry in entries {
        if let Some((above, kind)) = tree.blocked(entry.path()) {
            return reject(entry, format!("{above:?} is a {kind}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Form;

    fn appended(document: &str, addition: &str, form: Form) -> Result<(u64, String)> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, form);
        let written =
            append(document.as_bytes(), addition.as_bytes(), &OpenOptions::new(), &mut writer);
        let ended = written.is_ok().then(|| writer.finish().map(drop)).transpose();
        let text = String::from_utf8(out).unwrap();
        match (written, ended) {
            (Ok(count), Ok(_)) => Ok((count, text)),
            (Err(error), _) | (_, Err(error)) => {
                assert_eq!(text, "", "nothing is written before the failure");
                Err(error)
            }
        }
    }

    #[test]
    fn an_appended_entry_replaces_an_earlier_entry_with_the_same_path() {
        let (one, two) = (r#"{"path":"a","mode":16877}"#, r#"{"path":"a","mode":16832}"#);
        let [first, second] = [one, two].map(|entry| format!("[{entry}]"));
        assert_eq!(appended(&first, &second, Form::Array).unwrap(), (1, second.clone()));
        let file = r#"[{"path":"a","mode":33188,"size":0}]"#;
        for (first, second) in [(&*first, file), (file, &*second)] {
            let error = appended(first, second, Form::Array).unwrap_err();
            assert!(error.to_string().starts_with("a: R113 the archive already has a "), "{error}");
        }
    }

    #[test]
    fn appending_to_a_dict_replaces_entries_whose_normalised_paths_are_equal() {
        let old = r#"{"./a":{"mode":16877},"b":{"mode":16877},"b":{"mode":16832}}"#;
        let new = r#"[{"path":"a","mode":16832},{"path":"c","mode":1},{"path":"c","mode":16877}]"#;
        assert!(appended(old, new, Form::Dict).is_err(), "the mode has no type");
        let new = new.replace(":1}", ":16832}");
        let expected = r#"{"b":{"mode":16832},"a":{"mode":16832},"c":{"mode":16877}}"#;
        assert_eq!(appended(old, &new, Form::Dict).unwrap(), (1, expected.to_owned()));
    }

    #[test]
    fn appending_an_entry_below_a_file_fails_before_anything_is_written() {
        let (file, below) = (r#"[{"path":"a","mode":33188}]"#, r#"[{"path":"a/b","mode":16877}]"#);
        for (first, second) in [(file, below), (below, file)] {
            let error = appended(first, second, Form::Array).unwrap_err();
            assert!(error.to_string().starts_with("a/b: R113"), "{error}");
        }
    }

    #[test]
    fn entries_rejected_by_every_profile_can_be_deleted() {
        let document = br#"[{"path":"../a","mode":5},{"path":"b","mode":16877}]"#;
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let deleted = delete(document, &OpenOptions::new(), &|path| path == "../a", &mut writer);
        assert_eq!(deleted.unwrap(), 1);
        assert_eq!(writer.finish().unwrap(), br#"[{"path":"b","mode":16877}]"#);
    }
}
