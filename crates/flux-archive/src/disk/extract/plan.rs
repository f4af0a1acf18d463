//! The plan of an extraction, made before anything is written.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Content, Entry, FileType, HashType};
use binio::check_limit;

use super::options::Extractor;

/// The indices of the entries to extract. There is one list for each type, sorted by path.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) directories: Vec<usize>,
    pub(super) files: Vec<usize>,
    pub(super) links: Vec<usize>,
    /// The indices of the entries that violate the link policy, or have a blob that does not use the
    /// required hash function, each with its error.
    pub(super) failures: Vec<(usize, Error)>,
    /// The paths that a file system may treat as equal to another path, because the two differ only
    /// in case or in non-ASCII names.
    pub(super) twins: HashSet<String>,
}

impl Plan {
    /// Creates a plan for the selected entries, after checking the limits. `data_size` returns the
    /// number of bytes to write for the entry at an index.
    pub(super) fn new(
        options: &Extractor<'_>,
        entries: &[Entry<'_>],
        data_size: impl Fn(usize) -> u64,
    ) -> Result<Self> {
        let mut plan = Self::default();
        let (mut total, mut materialized) = (0_u64, 0_u64);
        for (index, entry) in entries.iter().enumerate() {
            if options.select.is_some_and(|select| !select(entry)) {
                continue;
            }
            total = total.saturating_add(entry.len());
            materialized = materialized.saturating_add(data_size(index));
            let limits = &options.limits;
            check_limit("bytes of a file", limits.max_file_size, entry.len())?;
            check_limit("bytes of all files", limits.max_total_size, total)?;
            check_limit("bytes to write", limits.max_materialized_bytes, materialized)?;
            if let Err(error) = allowed(options, entry) {
                plan.failures.push((index, error));
                continue;
            }
            match entries[index].file_type() {
                FileType::Directory => plan.directories.push(index),
                FileType::Regular => plan.files.push(index),
                FileType::Symlink => plan.links.push(index),
            }
        }
        let chosen = plan.directories.iter().chain(&plan.files).chain(&plan.links);
        plan.twins = twins(chosen.map(|&index| entries[index].path().as_str()));
        for list in [&mut plan.directories, &mut plan.files, &mut plan.links] {
            list.sort_unstable_by_key(|&index| entries[index].path());
        }
        Ok(plan)
    }
}

/// Returns each of the given paths that a file system may treat as equal to another one. The result
/// may include paths that no file system treats as equal.
fn twins<'p>(paths: impl Iterator<Item = &'p str> + Clone) -> HashSet<String> {
    let folded = |path: &str| {
        let mut hasher = DefaultHasher::new();
        for name in path.split('/').map(str::to_lowercase) {
            // A name with accented characters can be encoded in several ways, so treat all
            // non-ASCII names in a directory as equal.
            if name.is_ascii() { name.hash(&mut hasher) } else { 0.hash(&mut hasher) }
        }
        hasher.finish()
    };
    let mut count: HashMap<u64, bool> = HashMap::new();
    for path in paths.clone() {
        count.entry(folded(path)).and_modify(|twice| *twice = true).or_default();
    }
    count.retain(|_, twice| *twice);
    if count.is_empty() {
        return HashSet::new();
    }
    paths.filter(|path| count.contains_key(&folded(path))).map(str::to_owned).collect()
}

fn allowed(options: &Extractor<'_>, entry: &Entry<'_>) -> Result<()> {
    match entry.content() {
        Content::Symlink(target) if !options.links.allows(entry, target) => {
            Err(ErrorKind::LinkTarget { target: target.clone().into_owned() }.into())
        }
        Content::Blobvec(regions) => {
            let required = options.require_hash;
            let other = |hash: &HashType| required.is_some_and(|required| *hash != required);
            match regions.iter().map(|region| region.blobref.hash()).find(other) {
                Some(found) => Err(ErrorKind::HashRejected { found }.into()),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::super::options::LinkPolicy;
    use super::*;
    use crate::model::ArchivePath;

    #[test]
    fn paths_that_differ_only_in_case_or_in_non_ascii_names_may_be_treated_as_equal() {
        let found = |paths: &[&'static str]| twins(paths.iter().copied()).len();
        assert_eq!(found(&["a", "b", "a.b", "A/b", "d/e"]), 0);
        assert_eq!(found(&["a/README", "A/readme", "b"]), 2);
        assert_eq!(found(&["\u{e9}", "e\u{301}", "b", "d/\u{e9}"]), 2);
    }

    #[test]
    fn link_policies_reject_absolute_targets_or_targets_that_can_lead_out_of_the_tree() {
        for (path, target, absolute, escaping) in [
            ("l", "t", true, true),
            ("a/b/l", "../../t", true, true),
            ("a/b/l", ".././../t", true, true),
            ("a/l", "../../t", true, false),
            ("l", "..", true, false),
            // `x` may be a link to anywhere.
            ("a/l", "x/../t", true, false),
            ("l", "/etc/passwd", false, false),
            ("l", "a/...", true, true),
        ] {
            let path = ArchivePath::parse(path).unwrap();
            let entry = Entry::new(path, 0o777, Content::Symlink(Cow::Borrowed(target)));
            assert!(LinkPolicy::Keep.allows(&entry, target));
            assert_eq!(LinkPolicy::RejectAbsolute.allows(&entry, target), absolute, "{target}");
            assert_eq!(LinkPolicy::RejectEscaping.allows(&entry, target), escaping, "{target}");
        }
    }
}
