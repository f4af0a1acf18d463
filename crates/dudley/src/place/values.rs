//! Values of stored parameters, supplied by the caller.

use std::collections::HashSet;

use hashbrown::HashMap;

use crate::layout::Layout;
#[cfg(feature = "write")]
use crate::text::quote;

/// Values of stored parameters, by name or by path. A value for a path takes precedence over a
/// value for a name.
///
/// ```
/// use dudley::Values;
///
/// // Every stored parameter N is 3, except N in the dict `grid`, which is 4.
/// let values = Values::new().with("N", 3).with("/grid/N", 4);
/// assert!(values.with("/records[2].N", 5).get("N").is_some());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    given: HashMap<String, i64>,
    has_paths: bool,
    has_elements: bool,
    /// The paths that are followed by an index in the path of a value. For `/x[1].y[2].N`, these are
    /// `/x` and `/x[1].y`.
    #[cfg(feature = "write")]
    indexed: HashSet<String>,
    /// The sizes in bytes of compressed arrays in a file that is being written, by path. Each size
    /// includes the count.
    compressed: HashMap<String, u64>,
}

impl Values {
    /// Creates an empty set of values.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value for all stored parameters with this name, or for the parameter at a path such
    /// as `/dict/N`, `/item.member.N` or `/item[2].N`.
    #[must_use]
    pub fn with(mut self, name_or_path: impl Into<String>, value: i64) -> Self {
        let key = name_or_path.into();
        self.has_paths |= key.starts_with('/');
        self.has_elements |= key.starts_with('/') && key.contains(']');
        #[cfg(feature = "write")]
        for path in before_indices(&key) {
            if !self.indexed.contains(path) {
                self.indexed.insert(path.to_owned());
            }
        }
        self.given.insert(key, value);
        self
    }

    /// Returns the value that was added for exactly this name or path, or `None` if there is no
    /// such value.
    pub fn get(&self, name_or_path: &str) -> Option<i64> {
        self.given.get(name_or_path).copied()
    }

    /// Returns the value that was added for the path of a dict parameter or, if there is none, the
    /// value for its name. Returns `None` if neither was added.
    #[cfg(feature = "read")]
    pub(crate) fn of_param(&self, path: &str, name: &str) -> Option<i64> {
        let by_path = if self.has_paths { self.get(path) } else { None };
        by_path.or_else(|| self.get(name))
    }

    /// Iterates over the names and paths that have a value, in arbitrary order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.given.keys().map(String::as_str)
    }

    /// Returns, in sorted order, the names and paths that match no stored parameter of a layout.
    ///
    /// ```
    /// use dudley::{Layout, Values};
    ///
    /// let layout = Layout::parse("N : i4  M : 3  x = {K : i1  a = u1[K]}[N]")?;
    /// let values = Values::new().with("N", 1).with("M", 2).with("/x[0].K", 3).with("/x.L", 4);
    /// assert_eq!(values.not_in(&layout), ["/x.L", "M"]);
    /// # Ok::<(), dudley::Error>(())
    /// ```
    pub fn not_in(&self, layout: &Layout) -> Vec<&str> {
        let stored = layout.params().filter(|&id| layout.param(id).value.is_stored());
        let names: HashSet<&str> = stored.map(|id| layout.param_name(id)).collect();
        let is_in = |key: &&str| names.contains(key) || layout.stores_param_at(key);
        let mut rest: Vec<&str> = self.keys().filter(|key| !is_in(key)).collect();
        rest.sort_unstable();
        rest
    }

    /// Returns `true` if there are no values.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Sets the size of a compressed array in bytes, including its count.
    #[cfg(feature = "write")]
    pub(crate) fn set_compressed(&mut self, path: String, len: u64) {
        self.compressed.insert(path, len);
    }

    /// Returns the size of a compressed array in bytes, including its count, or `None` if it has not been set.
    pub(crate) fn compressed_len(&self, path: impl FnOnce() -> String) -> Option<u64> {
        if self.compressed.is_empty() { None } else { self.compressed.get(&path()).copied() }
    }

    /// Returns `true` if any value is for a path.
    pub(crate) fn has_paths(&self) -> bool {
        self.has_paths
    }

    /// Returns `true` if the path of any value contains an index.
    pub(crate) fn has_elements(&self) -> bool {
        self.has_elements
    }

    /// Returns `true` if the path of any value begins with `path`, followed by an index.
    #[cfg(feature = "write")]
    pub(crate) fn has_index_after(&self, path: &str) -> bool {
        self.indexed.contains(path)
    }
}

impl<K: Into<String>> FromIterator<(K, i64)> for Values {
    fn from_iter<I: IntoIterator<Item = (K, i64)>>(given: I) -> Self {
        given.into_iter().fold(Self::new(), |values, (key, value)| values.with(key, value))
    }
}

/// Returns the parts of a path that precede its indices. Brackets in quoted names do not belong to indices.
#[cfg(feature = "write")]
fn before_indices(path: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(len) = path[at..].find(['[', '"']) {
        at += len;
        let rest = &path[at..];
        if rest.starts_with('"') {
            at += quote::quoted_len(rest.as_bytes()).unwrap_or(rest.len());
        } else {
            found.push(&path[..at]);
            at += 1;
        }
    }
    found
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;

    #[test]
    fn an_index_follows_exactly_the_paths_before_the_indices_in_the_path_of_a_value() {
        let values = Values::new().with("/x2[0].y.K", 1).with(r#"/"a[b]"[1]."c[d]".e[2].K"#, 2);
        for path in ["/x2", r#"/"a[b]""#, r#"/"a[b]"[1]."c[d]".e"#] {
            assert!(values.has_index_after(path), "{path}");
        }
        for path in ["/x", "/x2[0]", "/x2[0].y", r#"/"a"#, r#"/"a[b]"[1]."c"#] {
            assert!(!values.has_index_after(path), "{path}");
        }
    }
}
