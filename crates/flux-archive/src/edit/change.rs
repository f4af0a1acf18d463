//! Archives with entries added or removed. Other entries are copied as they are written.

use std::collections::HashSet;
use std::io::Write;

use super::superseded::superseded;
use crate::diagnostic::Code;
use crate::error::{ErrorKind, Result};
use crate::model::{ArchivePath, Entry, Form};
use crate::parse::{OpenOptions, Tree};
use crate::write::Writer;

/// Writes an archive without some of its entries. Returns their number.
///
/// `unwanted` gets paths as they are written, so that entries can be removed that no profile accepts. An entry
/// without a path is an error.
///
/// ```
/// use flux_archive::{Form, OpenOptions, Writer, delete, fnmatch};
///
/// let document = br#"[{"path":"a.log","mode":33188,"size":0},{"path":"b","mode":16877,"x":1.0}]"#;
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let deleted = delete(document, &OpenOptions::new(), &|path| fnmatch("*.log", path), &mut writer)?;
/// assert_eq!(deleted, 1);
/// assert_eq!(writer.finish()?, br#"[{"path":"b","mode":16877,"x":1.0}]"#);
/// # Ok::<(), flux_archive::Error>(())
/// ```
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

/// Writes the entries of an archive and then those of another. Returns the number of replaced entries.
///
/// In an array nothing is replaced: of a path that occurs twice the later entry is used. In a dict the entry
/// of the addition replaces the other. Fails before anything is written if the profile refuses one of the
/// archives, or if an entry would be below a file or link.
///
/// ```
/// use flux_archive::{Form, OpenOptions, Writer, append};
///
/// let document = br#"{"a":{"mode":16877},"b":{"mode":16877}}"#;
/// let mut writer = Writer::new(Vec::new(), Form::Dict);
/// let addition = br#"[{"path":"a","mode":16832}]"#;
/// assert_eq!(append(document, addition, &OpenOptions::new(), &mut writer)?, 1);
/// assert_eq!(writer.finish()?, br#"{"b":{"mode":16877},"a":{"mode":16832}}"#);
/// # Ok::<(), flux_archive::Error>(())
/// ```
pub fn append<W: Write>(
    document: &[u8],
    addition: &[u8],
    options: &OpenOptions,
    writer: &mut Writer<W>,
) -> Result<u64> {
    let dict = writer.form() == Form::Dict;
    let plain = OpenOptions::new().profile(options.profile).limits(options.limits);
    let (old, new) = (options.parse(document)?, plain.parse(addition)?);
    let added: HashSet<&str> = new.entries().iter().map(|entry| entry.path().as_str()).collect();
    let replaces = |path: &ArchivePath| dict && added.contains(path.as_str());
    let stays = old.entries().iter().filter(|entry| !replaces(entry.path()));
    check_places(stays.chain(new.entries()))?;

    let old_superseded = superseded(document, options, writer.form())?;
    let mut count = 0;
    for raw in options.entries(document)? {
        let raw = raw?;
        let path = raw.path().and_then(|path| ArchivePath::normalise(&path.decode()).ok());
        if path.is_some_and(|(path, _)| replaces(&path)) {
            count += 1;
        } else if !old_superseded.contains(&raw.index()) {
            writer.copy(&raw)?;
        }
    }
    let new_superseded = superseded(addition, &plain, writer.form())?;
    for raw in plain.entries(addition)? {
        let raw = raw?;
        if !new_superseded.contains(&raw.index()) {
            writer.copy(&raw)?;
        }
    }
    Ok(count)
}

/// Fails if an entry is below something that is not a directory.
fn check_places<'e>(entries: impl Iterator<Item = &'e Entry<'e>> + Clone) -> Result<()> {
    let mut tree = Tree::new();
    for entry in entries.clone() {
        tree.insert(entry.path(), entry.file_type());
    }
    for entry in entries {
        if let Some((above, kind)) = tree.blocked(entry.path()) {
            let code = Code::BelowNoDirectory;
            let (path, message) = (entry.path().to_string(), format!("{above:?} is a {kind}"));
            return Err(ErrorKind::NotWritable { code, path, message }.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
                assert_eq!(text, "", "nothing is written of what fails");
                Err(error)
            }
        }
    }

    #[test]
    fn array_keeps_both_entries_of_a_path_in_their_order() {
        let (one, two) = (r#"{"path":"a","mode":16877}"#, r#"{"path":"a","mode":16832}"#);
        let [first, second] = [one, two].map(|entry| format!("[{entry}]"));
        let both = (0, format!("[{one},{two}]"));
        assert_eq!(appended(&first, &second, Form::Array).unwrap(), both);
    }

    #[test]
    fn dict_takes_the_later_entry_however_the_path_is_written() {
        let old = r#"{"./a":{"mode":16877},"b":{"mode":16877},"b":{"mode":16832}}"#;
        let new = r#"[{"path":"a","mode":16832},{"path":"c","mode":1},{"path":"c","mode":16877}]"#;
        assert!(appended(old, new, Form::Dict).is_err(), "a mode without a type");
        let new = new.replace(":1}", ":16832}");
        let expected = r#"{"b":{"mode":16832},"a":{"mode":16832},"c":{"mode":16877}}"#;
        assert_eq!(appended(old, &new, Form::Dict).unwrap(), (1, expected.to_owned()));
    }

    #[test]
    fn nothing_is_written_where_an_entry_would_lie_below_a_file() {
        let (file, below) = (r#"[{"path":"a","mode":33188}]"#, r#"[{"path":"a/b","mode":16877}]"#);
        for (first, second) in [(file, below), (below, file)] {
            let error = appended(first, second, Form::Array).unwrap_err();
            assert!(error.to_string().starts_with("a/b: R113"), "{error}");
        }
    }

    #[test]
    fn entries_that_no_profile_accepts_can_be_deleted() {
        let document = br#"[{"path":"../a","mode":5},{"path":"b","mode":16877}]"#;
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let deleted = delete(document, &OpenOptions::new(), &|path| path == "../a", &mut writer);
        assert_eq!(deleted.unwrap(), 1);
        assert_eq!(writer.finish().unwrap(), br#"[{"path":"b","mode":16877}]"#);
    }
}
