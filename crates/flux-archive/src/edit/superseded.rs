//! Finding entries that later entries replace.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result};
use crate::json::{Text, integer};
use crate::model::{ArchivePath, FileType, Form, Mode};
use crate::parse::{OpenOptions, RawEntries, RawEntry};

/// A key or path, and whether it is the path of a directory.
type Name<'a> = (Cow<'a, str>, bool);

impl OpenOptions {
    /// Returns the indices of the entries that a later entry replaces. In a dict, an entry replaces
    /// any earlier entry with the same key. In any archive, a file or link replaces an earlier file
    /// or link with the same path, and a directory replaces an earlier directory with the same path.
    /// Paths are compared after normalising. Entries without a valid path and mode are not compared
    /// by path.
    ///
    /// ```
    /// use flux_archive::OpenOptions;
    ///
    /// let document = br#"[{"path":"f","mode":33188},{"path":"./f","mode":33188}]"#;
    /// assert_eq!(OpenOptions::new().superseded(document)?, [0].into());
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`entries`](Self::entries). Also fails with
    /// [`ErrorKind::Json`](crate::ErrorKind::Json) or [`ErrorKind::Limit`](crate::ErrorKind::Limit)
    /// if an entry cannot be read.
    pub fn superseded(&self, document: &[u8]) -> Result<HashSet<u64>> {
        superseded(document, self, &mut |_| true)
    }
}

/// Like [`OpenOptions::superseded`], but compares only the paths of entries for which `sound` returns
/// `true`. Any other entry neither replaces an entry with the same path nor is replaced by it. The
/// keys of a dict are compared for all entries.
pub(super) fn superseded<'a>(
    document: &'a [u8],
    options: &OpenOptions,
    sound: &mut dyn FnMut(&RawEntry<'_>) -> bool,
) -> Result<HashSet<u64>> {
    let mut replaced = HashSet::new();
    let entries = options.entries(document)?;
    let mut by = |name: &mut dyn FnMut(&RawEntry<'a>) -> Option<Name<'a>>| {
        if ascend(entries.clone(), name)? {
            return Ok(());
        }
        // The index of the last entry with each name: one map for files and links, one for
        // directories.
        let mut last = [HashMap::new(), HashMap::new()];
        for raw in entries.clone() {
            let raw = raw?;
            if replaced.contains(&raw.index()) {
                continue;
            }
            let Some((name, is_directory)) = name(&raw) else { continue };
            if let Some(before) = last[usize::from(is_directory)].insert(name, raw.index()) {
                replaced.insert(before);
            }
        }
        Ok::<_, Error>(())
    };
    if entries.form() == Some(Form::Dict) {
        by(&mut |raw| Some((Text::from_json(&raw.key()?).ok()?.into_decoded(), false)))?;
    }
    by(&mut |raw| place(raw).filter(|_| sound(raw)))?;
    Ok(replaced)
}

/// Returns `true` if the names are sorted and no name occurs twice. With this check, listing an
/// archive with sorted paths takes 0.75 times as long as with a map of the names (`cargo xtask bench
/// flux-archive`, "many: list").
fn ascend<'a>(
    entries: RawEntries<'a>,
    name: &mut dyn FnMut(&RawEntry<'a>) -> Option<Name<'a>>,
) -> Result<bool> {
    // A slash sorts first, so that the content of a directory follows the directory.
    let rank = |byte: u8| if byte == b'/' { 0 } else { u16::from(byte) + 1 };
    let mut previous: Option<Cow<'a, str>> = None;
    for raw in entries {
        let Some((name, _)) = name(&raw?) else { continue };
        let follows =
            |previous: Cow<'_, str>| previous.bytes().map(rank).lt(name.bytes().map(rank));
        if !previous.is_none_or(follows) {
            return Ok(false);
        }
        previous = Some(name);
    }
    Ok(true)
}

/// Returns the normalised path, and `true` if the entry is a directory. Returns `None` if the path
/// or mode is missing or invalid.
fn place<'a>(raw: &RawEntry<'a>) -> Option<Name<'a>> {
    let mode = u32::try_from(integer(&raw.get("mode")?)?).ok()?;
    let mut path = raw.path()?.into_decoded();
    if !ArchivePath::is_normal(&path) {
        path = Cow::Owned(ArchivePath::normalise(&path).ok()?.0.to_string());
    }
    Some((path, Mode::from_u32(mode)?.file_type() == FileType::Directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_entries_are_found_in_sorted_and_unsorted_archives() {
        let cases: [(&[&str], &[u64]); 6] = [
            (&["a", "a/b", "a.txt"], &[]),
            (&["a", "a", "b"], &[0]),
            (&["a", "b", "c", "b"], &[1]),
            (&["b", "a", "b"], &[0]),
            (&["a", "a/b", "a.txt", "a/b", "a/b"], &[1, 3]),
            (&["./a", "b", "a/"], &[0]),
        ];
        for (paths, expected) in cases {
            let entry = |path: &&str| serde_json::json!({"path": path, "mode": 0o100_644});
            let array: serde_json::Value = paths.iter().map(entry).collect();
            let array = array.to_string();
            let found = OpenOptions::new().superseded(array.as_bytes()).unwrap();
            assert_eq!(found, expected.iter().copied().collect(), "{paths:?}");
        }
    }

    #[test]
    fn an_error_that_follows_sorted_entries_is_reported() {
        let document = br#"[{"path":"a","mode":33188},{"path":"b","mode":33188},{"path":"c""#;
        let error = OpenOptions::new().superseded(document).unwrap_err();
        assert!(matches!(error.kind(), crate::ErrorKind::Json(_)), "{error}");
    }
}
