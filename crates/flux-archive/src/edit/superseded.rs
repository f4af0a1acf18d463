//! Finding entries that are replaced by later ones.

use std::collections::{HashMap, HashSet};

use crate::error::Result;
use crate::json::{Text, integer};
use crate::model::{ArchivePath, FileType, Form, Mode};
use crate::parse::{OpenOptions, RawEntry};

impl OpenOptions {
    /// Returns the indices of the entries that are replaced by a later entry with the same key or
    /// path. A file or link replaces an earlier file or link, and a directory replaces an earlier
    /// directory.
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
    /// Fails with [`ErrorKind::Json`](crate::ErrorKind::Json) if the document is not JSON, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if it exceeds a limit.
    pub fn superseded(&self, document: &[u8]) -> Result<HashSet<u64>> {
        superseded(document, self, &mut |_| true)
    }
}

/// Like [`OpenOptions::superseded`], but only an entry for which `sound` returns `true` replaces an
/// earlier one with the same path.
pub(super) fn superseded(
    document: &[u8],
    options: &OpenOptions,
    sound: &mut dyn FnMut(&RawEntry<'_>) -> bool,
) -> Result<HashSet<u64>> {
    let mut replaced = HashSet::new();
    let mut by = |name: &mut dyn FnMut(&RawEntry<'_>) -> Option<String>| -> Result<()> {
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
        by(&mut |raw| Text::from_json(&raw.key()?).map(|key| key.to_string()).ok())?;
    }
    by(&mut |raw| place(raw).filter(|_| sound(raw)))?;
    Ok(replaced)
}

/// Returns the normalised path, followed by `/` for a directory, or `None` if the path or mode is
/// invalid.
fn place(raw: &RawEntry<'_>) -> Option<String> {
    let mode = u32::try_from(integer(&raw.get("mode")?)?).ok()?;
    let (path, _) = ArchivePath::normalise(&raw.path()?.decode()).ok()?;
    let is_directory = Mode::from_u32(mode)?.file_type() == FileType::Directory;
    Some(format!("{path}{}", if is_directory { "/" } else { "" }))
}
