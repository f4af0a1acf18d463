#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Returns the full path of a golden file. `relative` is its path in this crate, such as
/// `asdf/science.asdf`.
pub fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// Returns the corpus folder: the value of `SCIBIN_CORPUS` if it is set, otherwise
/// `../shared/corpus`, relative to the workspace. If there is no corpus, reports the test as
/// skipped and returns `None`.
///
/// # Panics
///
/// Panics if `SCIBIN_CORPUS` is set but is not a folder. Also panics if there is no corpus in
/// continuous integration, because a run that should include the corpus must not pass without it.
pub fn corpus() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("SCIBIN_CORPUS") {
        let named = PathBuf::from(named);
        assert!(named.is_dir(), "SCIBIN_CORPUS is {}, but that is not a folder", named.display());
        return Some(named);
    }
    let beside = path("../../../shared/corpus");
    if beside.is_dir() {
        return Some(beside);
    }
    assert!(!is_continuous_integration(), "no corpus found: set SCIBIN_CORPUS to its folder");
    report_skipped("no corpus found (set SCIBIN_CORPUS to its folder)");
    None
}

/// Returns the folder that `cargo xtask interop` shares with the reference tools, as set in
/// `SCIBIN_INTEROP`. If this variable is not set, reports the test as skipped and returns `None`.
pub fn interop_folder() -> Option<PathBuf> {
    let folder = std::env::var_os("SCIBIN_INTEROP").map(PathBuf::from);
    if folder.is_none() {
        report_skipped("SCIBIN_INTEROP is not set (`cargo xtask interop` sets it)");
    }
    folder
}

/// Prints a line that names the running test and the reason for skipping it.
///
/// The line is written to standard error directly, because the test harness only shows the output
/// of `eprintln!` if a test fails.
pub fn report_skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Ignore the result, because the test must not fail if standard error is closed.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
}

/// Returns `true` if the environment variable `CI` is set, unless it is empty, `0` or `false`.
fn is_continuous_integration() -> bool {
    std::env::var_os("CI").is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}

/// A case from an `expected.json` file.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name of the case, which is unique in its list.
    pub name: String,
    /// The path of the file to read.
    pub file: PathBuf,
    /// The expected result of reading the file.
    pub ours: Value,
    /// The complete JSON entry, which includes any format-specific fields.
    pub entry: Value,
}

/// Reads the cases from a list file, such as `expected.json`. File paths in it are relative to the
/// folder that contains it.
///
/// # Panics
///
/// Panics if the file cannot be read, is not valid JSON, or has no list named `cases`.
pub fn cases(list: &Path) -> Vec<Case> {
    let text =
        std::fs::read_to_string(list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let json: Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let folder = list.parent().unwrap_or(list);
    let entries = json["cases"]
        .as_array()
        .unwrap_or_else(|| panic!("{}: expected a list named `cases`", list.display()));
    let case = |entry: &Value| Case {
        name: entry["name"].as_str().unwrap_or_default().to_owned(),
        file: folder.join(entry["file"].as_str().unwrap_or_default()),
        ours: entry["ours"].clone(),
        entry: entry.clone(),
    };
    entries.iter().map(case).collect()
}

/// Returns the first difference between two JSON values in the form `pointer: expected .., found
/// ..`, or `None` if they are equal.
///
/// Two integers, or two floats, are equal if they have the same value. An integer always differs
/// from a float: `5` is not `5.0`.
pub fn difference(expected: &Value, found: &Value) -> Option<String> {
    differ(expected, found, &mut String::new())
}

fn differ(expected: &Value, found: &Value, pointer: &mut String) -> Option<String> {
    let at = |pointer: &str, what: String| {
        Some(format!("{}: {what}", if pointer.is_empty() { "(root)" } else { pointer }))
    };
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            if let Some(key) = found.keys().find(|key| !expected.contains_key(*key)) {
                return at(pointer, format!("unexpected key {key:?}"));
            }
            expected.iter().find_map(|(key, value)| match found.get(key) {
                None => at(pointer, format!("key {key:?} is missing")),
                Some(other) => within(pointer, key, |pointer| differ(value, other, pointer)),
            })
        }
        (Value::Array(expected), Value::Array(found)) => {
            if expected.len() != found.len() {
                return at(
                    pointer,
                    format!("expected {} items, found {}", expected.len(), found.len()),
                );
            }
            let pairs = expected.iter().zip(found).enumerate();
            pairs.into_iter().find_map(|(index, (expected, found))| {
                within(pointer, &index.to_string(), |pointer| differ(expected, found, pointer))
            })
        }
        (Value::Number(a), Value::Number(b))
            if a.is_f64() == b.is_f64() && a.as_f64() == b.as_f64() =>
        {
            let same_integer = a.as_i64() == b.as_i64() && a.as_u64() == b.as_u64();
            if same_integer { None } else { at(pointer, format!("expected {a}, found {b}")) }
        }
        _ if expected == found => None,
        _ => at(pointer, format!("expected {expected}, found {found}")),
    }
}

fn within<T>(pointer: &mut String, key: &str, body: impl FnOnce(&mut String) -> T) -> T {
    let len = pointer.len();
    pointer.push('/');
    pointer.push_str(key);
    let result = body(pointer);
    pointer.truncate(len);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_difference_is_reported_with_its_pointer() {
        assert_eq!(difference(&json!({"a": [1, 2]}), &json!({"a": [1, 2]})), None);
        assert_eq!(
            difference(&json!({"a": [1, 2]}), &json!({"a": [1, 3]})).as_deref(),
            Some("/a/1: expected 2, found 3")
        );
        assert_eq!(
            difference(&json!({}), &json!({"b": 1})).as_deref(),
            Some("(root): unexpected key \"b\"")
        );
    }

    #[test]
    fn an_integer_differs_from_a_float() {
        assert!(difference(&json!(5), &json!(5.0)).is_some());
    }

    #[test]
    fn every_golden_file_listed_for_asdf_bloscpack_and_dudley_exists() {
        for list in ["asdf/expected.json", "bloscpack/expected.json", "dudley/expected.json"] {
            for case in cases(&path(list)) {
                assert!(case.file.is_file(), "{}", case.file.display());
            }
        }
    }
}
