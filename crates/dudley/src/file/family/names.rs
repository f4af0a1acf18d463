//! File names of a family.

use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind};
use crate::layout::{ItemId, Layout, Value};

/// Returns `count` file names, numbered from 0. `{}` in the pattern is replaced by the number, and `{:05}` by
/// the number with at least 5 digits. `{{` and `}}` become single braces.
///
/// ```
/// let names = dudley::file::file_names("run_{:03}.bd", 2)?;
/// assert_eq!(names, [std::path::Path::new("run_000.bd"), std::path::Path::new("run_001.bd")]);
/// # Ok::<(), dudley::Error>(())
/// ```
///
/// # Errors
///
/// Fails with [`Pattern`](ErrorKind::Pattern) if the pattern does not have exactly one placeholder, or if it
/// has other single braces.
pub fn file_names(pattern: &str, count: usize) -> Result<Vec<PathBuf>, Error> {
    let [before, after, width] =
        parts(pattern).ok_or_else(|| ErrorKind::Pattern { pattern: pattern.to_owned() })?;
    let width: usize = width.parse().unwrap_or_default();
    Ok((0..count).map(|number| format!("{before}{number:0width$}{after}").into()).collect())
}

/// Splits a pattern into the text before the number, the text after the number, and the minimum
/// number of digits. Returns `None` if the pattern is not valid.
fn parts(pattern: &str) -> Option<[String; 3]> {
    let (mut text, mut before, mut width) = (String::new(), None, String::new());
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{{") {
            text.push('{');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("}}") {
            text.push('}');
            rest = after;
        } else {
            let (number, after) = rest.strip_prefix('{')?.split_once('}')?;
            let digits = if number.is_empty() { "" } else { number.strip_prefix(":0")? };
            let is_width = digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
            if before.is_some() || !is_width || number == ":0" {
                return None;
            }
            before = Some(std::mem::take(&mut text));
            digits.clone_into(&mut width);
            rest = after;
        }
    }
    text.push_str(rest);
    Some([before?, text, width])
}

impl Layout {
    /// Returns the pattern for the file names of a family: the text of the root's attribute `dudley_files`.
    /// Returns `None` if there is no such attribute, or if its value is not text.
    ///
    /// ```
    /// let layout = dudley::Layout::parse("#: dudley_files=\"run_{:05}.bd\"\n{ N : i8 } x = f8[N]")?;
    /// assert_eq!(layout.files_pattern(), Some("run_{:05}.bd"));
    /// # Ok::<(), dudley::Error>(())
    /// ```
    pub fn files_pattern(&self) -> Option<&str> {
        let found = self.attributes(ItemId::ROOT.into()).find(|found| found.name == "dudley_files");
        match &found?.value {
            Value::Text(pattern) => Some(pattern),
            _ => None,
        }
    }

    /// Returns the paths of the first `count` files of a family. The files are in `folder`, and their names
    /// follow the pattern in the attribute `dudley_files`. Returns `None` if the layout has [no such
    /// pattern](Self::files_pattern).
    ///
    /// # Errors
    ///
    /// Same as [`file_names`]. Also fails with [`OutsideFolder`](ErrorKind::OutsideFolder) if the
    /// pattern leads out of the folder.
    pub fn files_in(&self, folder: &Path, count: usize) -> Result<Option<Vec<PathBuf>>, Error> {
        let Some(pattern) = self.files_pattern() else { return Ok(None) };
        let names = file_names(pattern, count)?;
        let is_below = |name: &PathBuf| {
            name.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        if !names.iter().all(is_below) {
            return Err(ErrorKind::OutsideFolder { pattern: pattern.to_owned() }.into());
        }
        Ok(Some(names.into_iter().map(|name| folder.join(name)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_leads_out_of_the_folder_is_rejected() {
        let names = |pattern: &str| {
            let text = format!("#: dudley_files=\"{pattern}\"\nx = f8");
            Layout::parse(text).unwrap().files_in(Path::new("folder"), 2)
        };
        for bad in ["../{}", "a/../../{}.bd", "/tmp/{}", "a{}/..", "./../{}"] {
            let error = names(bad).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::OutsideFolder { .. }), "{bad}: {error}");
        }
        let below = names("./a/run..{}").unwrap().unwrap();
        assert_eq!(below[1], Path::new("folder/a/run..1"));
    }

    #[test]
    fn a_pattern_must_contain_exactly_one_placeholder() {
        let last = |pattern| file_names(pattern, 12).map(|names| names[11].display().to_string());
        assert_eq!(last("{}").unwrap(), "11");
        assert_eq!(last("a{:03}b").unwrap(), "a011b");
        assert_eq!(last("{{{:01}}}").unwrap(), "{11}");
        for bad in ["", "a", "{}{}", "{", "}", "{:3}", "{:0}", "{:0x}", "{:0123}", "{x}"] {
            assert!(last(bad).is_err(), "{bad}");
        }
    }
}
