//! Comparing two archives, without a store if possible.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::Result;
use crate::model::{Archive, Content, Entry, FileType, Region};
use crate::store::BlobStore;

/// The maximum number of zeros to append to inline data in order to compare it with a blob.
const MAX_ZEROS: u64 = 1 << 20;

/// A path at which two archives differ, or at which a file on disk differs from an archive. Contains
/// the differences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Difference {
    /// The path of the entry or file.
    pub path: String,
    /// The differences. There is at least one.
    pub changes: Vec<Change>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        write!(f, "{}: {}", self.path, changes.join("; "))
    }
}

/// A difference between the entries of two archives, or between an entry and a file on disk. A
/// variant with two values contains first the value from the first archive, then the value from the
/// second archive or from disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Only the second archive contains the path.
    Added,
    /// Only the first archive contains the path, or the file does not exist on disk.
    Removed,
    /// The file types differ.
    Type(FileType, FileType),
    /// The file on disk has a type that no archive can contain.
    OtherType,
    /// The permissions differ.
    Permissions(u32, u32),
    /// The modification times differ.
    Mtime(Option<i64>, Option<i64>),
    /// The sizes in bytes differ.
    Size(u64, u64),
    /// The targets of the symbolic links differ.
    Target(String, String),
    /// The sizes are equal, but the content differs.
    Content,
    /// The sizes are equal, but the content can be compared only with a store, usually because the blobs have different
    /// boundaries or hash functions.
    ContentUnknown,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: &Option<i64>| time.map_or("none".to_owned(), |time| time.to_string());
        match self {
            Self::Added => f.write_str("added"),
            Self::Removed => f.write_str("removed"),
            Self::OtherType => f.write_str("type: the new type cannot be archived"),
            Self::Type(from, to) => write!(f, "type: {from}, {to}"),
            Self::Permissions(from, to) => write!(f, "permissions: 0{from:o}, 0{to:o}"),
            Self::Mtime(from, to) => write!(f, "mtime: {}, {}", time(from), time(to)),
            Self::Size(from, to) => write!(f, "size: {from}, {to}"),
            Self::Target(from, to) => write!(f, "target: {from:?}, {to:?}"),
            Self::Content => f.write_str("content"),
            Self::ContentUnknown => f.write_str("content: cannot be compared without the blobs"),
        }
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Returns the differences between two archives, sorted by path. Ignores `ctime`, the permissions
/// of links, the encoding of content, and members that RFC 37 does not define.
///
/// ```
/// use flux_archive::inspect::{Change, diff};
/// use flux_archive::{Archive, Profile};
///
/// let a = Archive::parse(br#"{"f":{"mode":33188,"encoding":"utf-8","data":"x"}}"#, Profile::Flux)?;
/// let b = Archive::parse(br#"{"f":{"mode":33152,"encoding":"base64","data":"eA=="}}"#, Profile::Flux)?;
/// let differences = diff(&a, &b);
/// assert_eq!(differences[0].path, "f");
/// assert_eq!(differences[0].changes, [Change::Permissions(0o644, 0o600)]);
/// # Ok::<(), flux_archive::Error>(())
/// ```
pub fn diff(first: &Archive<'_>, second: &Archive<'_>) -> Vec<Difference> {
    let mut paths: BTreeMap<&str, (Option<&Entry<'_>>, Option<&Entry<'_>>)> = BTreeMap::new();
    for entry in first.entries() {
        paths.entry(entry.path().as_str()).or_default().0 = Some(entry);
    }
    for entry in second.entries() {
        paths.entry(entry.path().as_str()).or_default().1 = Some(entry);
    }
    let differences = paths.into_iter().map(|(path, pair)| {
        let changes = match pair {
            (Some(a), Some(b)) => changes(a, b),
            (None, _) => vec![Change::Added],
            (_, None) => vec![Change::Removed],
        };
        Difference { path: path.to_owned(), changes }
    });
    differences.filter(|difference| !difference.changes.is_empty()).collect()
}

fn changes(a: &Entry<'_>, b: &Entry<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    if a.file_type() != b.file_type() {
        return vec![Change::Type(a.file_type(), b.file_type())];
    }
    // The permissions of a link have no meaning: Flux writes 0777, but other programs write 0.
    let (from, to) = (a.mode().permissions(), b.mode().permissions());
    if from != to && a.file_type() != FileType::Symlink {
        changes.push(Change::Permissions(from, to));
    }
    if a.mtime() != b.mtime() {
        changes.push(Change::Mtime(a.mtime(), b.mtime()));
    }
    if let (Content::Symlink(from), Content::Symlink(to)) = (a.content(), b.content()) {
        if from != to {
            changes.push(Change::Target(from.to_string(), to.to_string()));
        }
    }
    if a.len() != b.len() {
        changes.push(Change::Size(a.len(), b.len()));
    } else if a.file_type() == FileType::Regular {
        match content_told(a, b) {
            Some(true) => {}
            Some(false) => changes.push(Change::Content),
            None => changes.push(Change::ContentUnknown),
        }
    }
    changes
}

/// Returns `true` if two regular files have the same content. Their blobs are read from a store. Call this for files
/// that [`diff`] reports as [`Change::ContentUnknown`].
///
/// ```
/// use flux_archive::inspect::same_content;
/// use flux_archive::store::{BlobStoreMut, MemoryStore};
/// use flux_archive::{Archive, HashType, Profile};
///
/// let store = MemoryStore::new();
/// let (sha1, sha256) = (store.put(HashType::Sha1, b"abc")?, store.put(HashType::Sha256, b"abc")?);
/// let json = format!(
///     r#"{{"a":{{"mode":33188,"encoding":"blobvec","size":3,"data":[[0,3,"{sha1}"]]}},
///         "b":{{"mode":33188,"encoding":"blobvec","size":3,"data":[[0,3,"{sha256}"]]}}}}"#
/// );
/// let archive = Archive::parse(json.as_bytes(), Profile::Flux)?;
/// assert!(same_content(&archive.entries()[0], &archive.entries()[1], &store)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Same as [`Entry::reader`] and [`ContentReader::read_at`](crate::inspect::ContentReader::read_at).
pub fn same_content(first: &Entry<'_>, second: &Entry<'_>, store: &dyn BlobStore) -> Result<bool> {
    let (first, second) = (first.reader(store)?, second.reader(store)?);
    let mut same = first.len() == second.len();
    let (end, mut theirs) = (if same { first.len() } else { 0 }, Vec::new());
    first.for_each_piece(0..end, |offset, ours| {
        theirs.resize(ours.len(), 0);
        second.read_at(&mut theirs, offset)?;
        same = theirs == ours;
        Ok(same)
    })?;
    Ok(same)
}

/// Returns `true` if two files of the same size have the same content, or `None` if they can be
/// compared only with a store.
fn content_told(a: &Entry<'_>, b: &Entry<'_>) -> Option<bool> {
    match (a.content(), b.content()) {
        // Equal regions mean equal content, even if they overlap.
        (Content::Blobvec(a), Content::Blobvec(b)) if a == b => Some(true),
        (Content::Blobvec(a), Content::Blobvec(b)) => same_blobs(&sorted(a)?, &sorted(b)?),
        (Content::Blobvec(regions), inline) | (inline, Content::Blobvec(regions)) => {
            blobs_of_data(&sorted(regions)?, &data(inline))
        }
        (a, b) => {
            let (a, b) = (data(a), data(b));
            let common = a.len().min(b.len());
            Some(a[..common] == b[..common] && is_zero(&a[common..]) && is_zero(&b[common..]))
        }
    }
}

fn data<'c>(content: &'c Content<'_>) -> Cow<'c, [u8]> {
    match content {
        Content::Json(json) => Cow::Borrowed(json.get().as_bytes()),
        Content::Text(text) => text.decode_bytes(),
        Content::Base64(data) => Cow::Owned(data.decode()),
        _ => Cow::Borrowed(&[]),
    }
}

/// Returns the regions sorted by offset, without empty regions, or `None` if regions overlap.
fn sorted(regions: &[Region]) -> Option<Vec<Region>> {
    let mut regions: Vec<_> = regions.iter().copied().filter(|region| region.size > 0).collect();
    regions.sort_by_key(|region| region.offset);
    regions.windows(2).all(|pair| pair[0].end() <= pair[1].offset).then_some(regions)
}

fn same_blobs(a: &[Region], b: &[Region]) -> Option<bool> {
    let comparable = |(a, b): (&Region, &Region)| {
        (a.offset, a.size, a.blobref.hash()) == (b.offset, b.size, b.blobref.hash())
    };
    (a.len() == b.len() && a.iter().zip(b).all(comparable)).then(|| a == b)
}

/// Returns `true` if inline data equals the content of blobs. Hashes the bytes of each region,
/// padded with zeros after the end of the data, and expects zeros outside the regions. Returns
/// `None` if a region would need more than [`MAX_ZEROS`] zeros.
fn blobs_of_data(regions: &[Region], data: &[u8]) -> Option<bool> {
    let len = data.len() as u64;
    let part = |start: u64, end: u64| {
        let index = |position: u64| usize::try_from(position.min(len)).unwrap_or(data.len());
        &data[index(start)..index(end)]
    };
    let mut end = 0;
    for region in regions {
        if !is_zero(part(end, region.offset)) {
            return Some(false);
        }
        end = region.end();
        let stored = part(region.offset, end);
        let zeros = region.size - stored.len() as u64;
        if zeros > MAX_ZEROS {
            return None;
        }
        let same = if zeros == 0 {
            region.blobref.matches(stored)
        } else {
            let mut padded = stored.to_vec();
            padded.resize(stored.len() + usize::try_from(zeros).ok()?, 0);
            region.blobref.matches(&padded)
        };
        if !same {
            return Some(false);
        }
    }
    Some(is_zero(part(end, u64::MAX)))
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BlobRef, HashType, Profile};

    fn between(first: &str, second: &str) -> Vec<(String, Vec<String>)> {
        let parse = |text: &'static str| Archive::parse(text.as_bytes(), Profile::Flux).unwrap();
        let first = parse(Box::leak(first.to_owned().into_boxed_str()));
        let second = parse(Box::leak(second.to_owned().into_boxed_str()));
        diff(&first, &second)
            .into_iter()
            .map(|difference| {
                let changes = difference.changes.iter().map(ToString::to_string).collect();
                (difference.path, changes)
            })
            .collect()
    }

    fn of(first: &str, second: &str) -> String {
        let entry = |members: &str| format!(r#"[{{"path":"f",{members}}}]"#);
        let found = between(&entry(first), &entry(second));
        found.into_iter().flat_map(|(_, changes)| changes).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn diff_reports_a_different_type_mode_time_size_content_or_target() {
        let file = r#""mode":33188,"mtime":5,"encoding":"utf-8","data":"ab""#;
        assert_eq!(of(file, file), "");
        assert_eq!(of(file, r#""mode":16877"#), "type: regular file, directory");
        assert_eq!(
            of(file, r#""mode":33261,"size":3"#),
            "permissions: 0644, 0755; mtime: 5, none; size: 2, 3"
        );
        assert_eq!(of(file, &file.replace("ab", "ac")), "content");
        let link = r#""mode":41471,"data":"t""#;
        assert_eq!(of(link, &link.replace("41471", "40960")), "");
        assert_eq!(of(link, &link.replace("\"t\"", "\"u\"")), "target: \"t\", \"u\"");
    }

    #[test]
    fn diff_sorts_paths_and_compares_the_last_entry_of_each_path() {
        let first =
            r#"[{"path":"b","mode":16877},{"path":"x","mode":16832},{"path":"x","mode":16877}]"#;
        let second = r#"{"x":{"mode":16877},"a":{"mode":16877}}"#;
        let expected = [("a".into(), vec!["added".into()]), ("b".into(), vec!["removed".into()])];
        assert_eq!(between(first, second), expected);
    }

    #[test]
    fn diff_ignores_the_encoding_of_content() {
        let text = r#""mode":33188,"encoding":"utf-8","data":"a\u0000\n""#;
        let bytes = r#""mode":33188,"encoding":"base64","data":"YQAK""#;
        let blob = |data: &[u8]| BlobRef::of(HashType::Sha1, data).to_string();
        let blobvec = format!(
            r#""mode":33188,"size":3,"encoding":"blobvec","data":[[2,1,"{}"],[0,1,"{}"]]"#,
            blob(b"\n"),
            blob(b"a")
        );
        for same in [text, bytes, &blobvec] {
            assert_eq!((of(text, same), of(same, bytes)), (String::new(), String::new()));
        }
        assert_eq!(of(&blobvec, &text.replace("a\\u", "b\\u")), "content");
        assert_eq!(of(&blobvec, &text.replace("u0000", "u0001")), "content");
    }

    #[test]
    fn diff_treats_zeros_after_the_data_as_content() {
        let padded = r#""mode":33188,"size":4,"encoding":"utf-8","data":"ab""#;
        let blob = BlobRef::of(HashType::Sha1, b"ab\0\0");
        let blobvec =
            format!(r#""mode":33188,"size":4,"encoding":"blobvec","data":[[0,4,"{blob}"]]"#);
        assert_eq!(of(padded, &blobvec), "");
        assert_eq!(of(padded, r#""mode":33188,"encoding":"base64","data":"YWIAAA==""#), "");
        assert_eq!(
            of(
                r#""mode":33188,"size":2"#,
                r#""mode":33188,"encoding":"utf-8","data":"\u0000\u0000""#
            ),
            ""
        );
    }

    #[test]
    fn blobs_with_different_boundaries_or_hash_functions_are_compared_only_with_a_store() {
        let blobvec = |regions: &str| {
            format!(r#""mode":33188,"size":4,"encoding":"blobvec","data":[{regions}]"#)
        };
        let blob = BlobRef::of(HashType::Sha1, b"ab");
        let (whole, sha256) =
            (BlobRef::of(HashType::Sha1, b"abab"), BlobRef::of(HashType::Sha256, b"abab"));
        let one = blobvec(&format!(r#"[0,4,"{whole}"]"#));
        let two = blobvec(&format!(r#"[0,2,"{blob}"],[2,2,"{blob}"]"#));
        assert_eq!(of(&one, &two), "content: cannot be compared without the blobs");
        let other = blobvec(&format!(r#"[0,4,"{sha256}"]"#));
        assert_eq!(of(&one, &other), "content: cannot be compared without the blobs");
        let other = blobvec(&format!(r#"[0,4,"{}"]"#, BlobRef::of(HashType::Sha1, b"abac")));
        assert_eq!(of(&one, &other), "content");
        let overlapping = blobvec(&format!(r#"[0,4,"{whole}"],[1,2,"{blob}"]"#));
        assert_eq!(
            of(&overlapping, &overlapping),
            "",
            "equal regions have equal content, even if they overlap"
        );
    }
}
