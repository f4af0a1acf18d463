//! Tags: splitting them into parts, and the tags of the core schemas in each version of the
//! standard.
//!
//! ```text
//! tag:stsci.edu:asdf/core/ndarray-1.1.0
//! |      prefix          | name  | version
//! ```
//!
//! A version of the standard determines which tags a file may use. Readers accept any known tag,
//! whatever version of the standard the file declares. If a tag has a known name but an unknown
//! version, its node is treated as plain content, because the meaning of the tag in that version is
//! unknown.

mod version;

pub use version::{ParseVersionError, Version};

use crate::diagnostic::{Code, Diagnostic};
use crate::yaml::{Document, NodeKind};

/// The prefix of all tags of the core schemas.
///
/// See the ASDF standard, "The tree in-depth", Tags.
pub const CORE_PREFIX: &str = "tag:stsci.edu:asdf/core/";

/// The versions of the standard that this crate knows. The last one is not yet stable.
pub const KNOWN_STANDARDS: [Version; 8] = [
    Version::new(1, 0, 0),
    Version::new(1, 1, 0),
    Version::new(1, 2, 0),
    Version::new(1, 3, 0),
    Version::new(1, 4, 0),
    Version::new(1, 5, 0),
    Version::new(1, 6, 0),
    Version::new(1, 7, 0),
];

/// Tags of the core schemas. The members of a tuple are the name of the tag, its version, and the
/// minor version (1.x.0) of the standard that introduced the tag.
const CORE: [(&str, Version, u32); 18] = [
    ("asdf", Version::new(1, 0, 0), 0),
    ("asdf", Version::new(1, 1, 0), 2),
    ("column", Version::new(1, 0, 0), 0),
    ("complex", Version::new(1, 0, 0), 0),
    ("constant", Version::new(1, 0, 0), 0),
    ("datatype", Version::new(1, 0, 0), 7),
    ("extension_metadata", Version::new(1, 0, 0), 2),
    ("externalarray", Version::new(1, 0, 0), 3),
    ("history_entry", Version::new(1, 0, 0), 0),
    ("integer", Version::new(1, 0, 0), 3),
    ("integer", Version::new(1, 1, 0), 6),
    ("integer", Version::new(1, 2, 0), 7),
    ("ndarray", Version::new(1, 0, 0), 0),
    ("ndarray", Version::new(1, 1, 0), 6),
    ("ndarray", Version::new(1, 2, 0), 7),
    ("software", Version::new(1, 0, 0), 0),
    ("subclass_metadata", Version::new(1, 0, 0), 4),
    ("table", Version::new(1, 0, 0), 0),
];

/// The parts of a tag.
///
/// See the ASDF standard, "The tree in-depth", Tags.
///
/// ```
/// use asdf::tag::{TagUri, Version};
///
/// let tag = TagUri::new("tag:stsci.edu:asdf/core/ndarray-1.1.0");
/// assert_eq!(tag.prefix, "tag:stsci.edu:asdf/core/");
/// assert_eq!((tag.name, tag.version), ("ndarray", Some(Version::new(1, 1, 0))));
/// assert!(tag.is_known_core());
/// assert_eq!(TagUri::new("!local").version, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TagUri<'a> {
    /// Everything up to and including the last `/` or, if there is none, the last `:` or `!`.
    pub prefix: &'a str,
    /// The name, without the version.
    pub name: &'a str,
    /// The version after the last `-`, if there is one.
    pub version: Option<Version>,
}

impl<'a> TagUri<'a> {
    /// Splits a tag into its parts.
    pub fn new(tag: &'a str) -> Self {
        let end = tag.rfind('/').or_else(|| tag.rfind([':', '!'])).map_or(0, |at| at + 1);
        let (prefix, rest) = tag.split_at(end);
        let versioned =
            rest.rsplit_once('-').and_then(|(name, version)| Some((name, version.parse().ok()?)));
        match versioned {
            Some((name, version)) => Self { prefix, name, version: Some(version) },
            None => Self { prefix, name: rest, version: None },
        }
    }

    /// Returns `true` for a tag of the core schemas whose name and version this crate knows.
    pub fn is_known_core(self) -> bool {
        self.since().is_some()
    }

    /// Returns the version of the standard that introduced the tag, if it is a known tag of the core schemas.
    pub fn since(self) -> Option<Version> {
        let mut known = self.known_versions();
        known.find(|(version, _)| Some(*version) == self.version).map(|(_, since)| since)
    }

    /// Returns the versions of the core tag with this name, each with the version of the standard
    /// that introduced it.
    pub(crate) fn known_versions(self) -> impl Iterator<Item = (Version, Version)> {
        let core =
            CORE.iter().filter(move |(name, ..)| self.prefix == CORE_PREFIX && *name == self.name);
        core.map(|(_, version, minor)| (*version, Version::new(1, *minor, 0)))
    }
}

/// Returns the name of a core tag, such as `ndarray` for `tag:stsci.edu:asdf/core/ndarray-1.1.0`.
/// Returns `None` for any other tag, and for a version that this crate does not know.
pub fn core_name(tag: &str) -> Option<&str> {
    let rest = tag.strip_prefix(CORE_PREFIX)?;
    let dash = rest.bytes().rposition(|byte| byte == b'-')?;
    let (name, version) = (rest.get(..dash)?, rest.get(dash + 1..)?.parse::<Version>().ok()?);
    CORE.iter().any(|&(known, of, _)| of == version && known == name).then_some(name)
}

/// Reports the irregularities of a tree's root and tags. Each irregular tag is reported once, at its
/// first occurrence.
///
/// `declared` is the version of the standard that the file declares. If it is `None`, all known
/// tags are accepted.
pub fn check(document: &Document, declared: Option<Version>, diagnostics: &mut Vec<Diagnostic>) {
    let root = document.root();
    let root_tag = root.tag().map(TagUri::new);
    let is_asdf = root_tag.is_some_and(|tag| tag.prefix == CORE_PREFIX && tag.name == "asdf");
    let at_root = |code, message: String| root.diagnostic(code, message);
    if root.kind() != NodeKind::Mapping {
        let message = "the root of the tree is not a mapping".to_owned();
        diagnostics.push(at_root(Code::RootNotMapping, message));
    } else if !is_asdf && (root.tag().is_some() || !root.is_empty()) {
        let tag = root.tag().map_or("no tag".to_owned(), |tag| format!("the tag `{tag}`"));
        let message =
            format!("the root of the tree has {tag}, expected the tag `{CORE_PREFIX}asdf-1.1.0`");
        diagnostics.push(at_root(Code::RootTag, message));
    }
    for (tag, node) in document.tags() {
        let uri = TagUri::new(tag);
        let is_known_name = uri.known_versions().next().is_some();
        let (code, message) = match (uri.since(), declared) {
            (None, _) if is_known_name => {
                (Code::UnknownTagVersion, format!("the tag `{tag}` does not have a known version"))
            }
            (Some(since), Some(declared)) if since > declared => (
                Code::NewerTag,
                format!(
                    "the tag `{tag}` requires version {since} of the standard, but the file \
                     declares {declared}"
                ),
            ),
            _ => continue,
        };
        diagnostics.push(node.diagnostic(code, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::ParseOptions;

    fn codes(text: &str, declared: Option<Version>) -> Vec<Code> {
        let text = format!("%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n{text}");
        let mut diagnostics = Vec::new();
        let document =
            Document::parse(text.as_bytes(), &ParseOptions::default(), &mut diagnostics).unwrap();
        check(&document, declared, &mut diagnostics);
        diagnostics.into_iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn a_version_consists_of_three_numbers() {
        assert_eq!("1.10.2".parse(), Ok(Version::new(1, 10, 2)));
        for text in ["", "1", "1.2", "1.2.3.4", "1.2.x", "1.2.+3", "1..3", "1.2.99999999999"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_tag_is_split_into_prefix_name_and_version() {
        let parts = |tag| {
            let TagUri { prefix, name, version } = TagUri::new(tag);
            (prefix, name, version.map(|version| version.to_string()))
        };
        assert_eq!(parts("tag:a/b/c-d-1.2.3"), ("tag:a/b/", "c-d", Some("1.2.3".to_owned())));
        assert_eq!(parts("tag:yaml.org,2002:int"), ("tag:yaml.org,2002:", "int", None));
        assert_eq!(parts("!foo-1.x"), ("!", "foo-1.x", None));
        assert_eq!(parts(""), ("", "", None));
    }

    #[test]
    fn core_tags_with_an_unknown_version_have_no_core_name() {
        assert_eq!(core_name("tag:stsci.edu:asdf/core/ndarray-1.2.0"), Some("ndarray"));
        assert_eq!(core_name("tag:stsci.edu:asdf/core/ndarray-9.0.0"), None);
        assert_eq!(core_name("tag:example.com:core/ndarray-1.0.0"), None);
    }

    #[test]
    fn a_known_tag_name_with_an_unknown_version_is_reported() {
        let text = "--- !core/asdf-1.1.0\na: [!core/ndarray-9.0.0 {}, !core/ndarray-9.0.0 {}]\n";
        assert_eq!(codes(text, None), [Code::UnknownTagVersion]);
        assert_eq!(codes("--- !core/asdf-1.2.0\na: 1\n", None), [Code::UnknownTagVersion]);
        assert_eq!(codes("--- !core/asdf-1.1.0\na: !core/other-9.0.0 1\n", None), []);
    }

    #[test]
    fn a_tag_newer_than_the_declared_standard_is_reported() {
        let text = "--- !core/asdf-1.1.0\na: !core/ndarray-1.1.0 {}\n";
        assert_eq!(codes(text, Some(Version::new(1, 6, 0))), []);
        assert_eq!(codes(text, Some(Version::new(1, 5, 0))), [Code::NewerTag]);
        assert_eq!(codes(text, None), []);
    }

    #[test]
    fn a_root_other_than_a_tagged_mapping_is_reported_unless_the_tree_is_empty() {
        assert_eq!(codes("--- !core/asdf-1.1.0\na: 1\n", None), []);
        assert_eq!(codes("--- !core/asdf-1.1.0\n...\n", None), []);
        assert_eq!(codes("---\n...\n", None), []);
        assert_eq!(codes("---\na: 1\n", None), [Code::RootTag]);
        assert_eq!(codes("--- !other\na: 1\n", None), [Code::RootTag]);
        assert_eq!(codes("---\n- 1\n", None), [Code::RootNotMapping]);
        assert_eq!(codes("--- 5\n", None), [Code::RootNotMapping]);
    }
}
