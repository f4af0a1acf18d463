//! Repairing entries.

use std::io::Write;

use super::superseded::superseded;
use crate::error::{ErrorKind, Result};
use crate::model::{Entry, Profile};
use crate::parse::{OpenOptions, Report, USUAL_BLOB_SIZE, decode};
use crate::write::Writer;

/// Writes an archive, and repairs each entry that deviates from RFC 37 but has exactly one correct
/// form. Returns the number of repaired or removed entries.
///
/// This function repairs absolute and untidy paths, paths that override a key, duplicate keys and
/// paths, missing sizes, meaningless members, text with a NUL, untidy base64, blobrefs in upper
/// case, and regions that do not overlap but are out of order, are empty, or have extra members.
/// With [`Profile::Legacy`], it also converts entries in the old dialect. All other entries are copied
/// unchanged, including files whose only deviation is a blob larger than 1 MiB.
///
/// ```
/// use flux_archive::edit::fix;
/// use flux_archive::{Form, OpenOptions, Writer};
///
/// let untidy = br#"[{"path":"./d//e/","mode":16877}]"#;
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// assert_eq!(fix(untidy, &OpenOptions::new(), &mut writer)?, 1);
/// assert_eq!(writer.finish()?, br#"[{"path":"d/e","mode":16877}]"#);
/// # Ok::<(), flux_archive::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`OpenOptions::entries`] and [`Writer::copy`]. Also fails with
/// [`ErrorKind::Json`](crate::ErrorKind::Json) or [`ErrorKind::Limit`](crate::ErrorKind::Limit) if
/// an entry cannot be read, and with [`ErrorKind::Rejected`] if the document is not an archive.
pub fn fix<W: Write>(
    document: &[u8],
    options: &OpenOptions,
    writer: &mut Writer<W>,
) -> Result<u64> {
    let raw_entries = options.entries(document)?;
    let pointer = raw_entries.pointer().to_owned();
    if raw_entries.form().is_none() {
        options.parse(document)?;
    }
    // An invalid entry must not replace a valid one merely because their paths are equal.
    let superseded = superseded(document, options, &mut |raw| {
        let mut report = Report::new(options.profile, &options.limits, &pointer);
        decode(raw, options.profile, &options.limits, &mut report)
            .is_ok_and(|entry| entry.is_some())
    })?;
    let mut changed = 0;
    for raw in raw_entries {
        let raw = raw?;
        if superseded.contains(&raw.index()) {
            changed += 1;
            continue;
        }
        let mut report = Report::new(Profile::Strict, &options.limits, &pointer);
        let entry = decode(&raw, options.profile, &options.limits, &mut report)?;
        match entry {
            Some(entry) if report.count() > large_blobs(&entry) => match writer.entry(&entry) {
                Ok(()) => changed += 1,
                Err(error) if matches!(error.kind(), ErrorKind::NotWritable { .. }) => {
                    writer.copy(&raw)?;
                }
                Err(error) => return Err(error),
            },
            _ => writer.copy(&raw)?,
        }
    }
    Ok(changed)
}

/// Returns the number of regions with a blob larger than 1 MiB. Each of them is a deviation that
/// remains if the entry is written again.
fn large_blobs(entry: &Entry<'_>) -> u64 {
    entry.regions().iter().filter(|region| region.size > USUAL_BLOB_SIZE).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Form;

    fn fixed(document: &str, form: Form) -> (u64, String) {
        let options = OpenOptions::new().profile(Profile::Legacy);
        let mut writer = Writer::new(Vec::new(), form);
        let changed = fix(document.as_bytes(), &options, &mut writer).unwrap();
        (changed, String::from_utf8(writer.finish().unwrap()).unwrap())
    }

    #[test]
    fn entries_with_exactly_one_correct_form_are_fixed() {
        for (document, form, expected) in [
            (
                r#"[{"path":"/a//b/","size":1,"x":5,"mode":33188}]"#,
                Form::Array,
                r#"[{"path":"a/b","size":1,"mode":33188,"x":5}]"#,
            ),
            (r#"{"k":{"path":"./a","mode":16877}}"#, Form::Dict, r#"{"a":{"mode":16877}}"#),
            (
                r#"{"f":{"mode":33188,"encoding":"utf-8","data":"a\u0000"}}"#,
                Form::Dict,
                r#"{"f":{"encoding":"base64","data":"YQA=","size":2,"mode":33188}}"#,
            ),
            (
                r#"[{"path":"f","mode":33188,"encoding":"base64","data":"YWJ","size":2}]"#,
                Form::Array,
                r#"[{"path":"f","encoding":"base64","data":"YWI=","size":2,"mode":33188}]"#,
            ),
            (
                r#"[{"path":"d","mode":16877,"data":5,"mtime":-1}]"#,
                Form::Array,
                r#"[{"path":"d","mtime":-1,"mode":16877}]"#,
            ),
            (
                r#"[{"version":1,"type":"fileref","path":"f","size":3,"mode":33188,"blobvec":[],"data":"YWJj"}]"#,
                Form::Array,
                r#"[{"path":"f","encoding":"base64","data":"YWJj","size":3,"mode":33188}]"#,
            ),
            (
                r#"[{"path":"f","mode":33188,"data":{"a":1e0},"size":9,"x":1,"x":2}]"#,
                Form::Array,
                r#"[{"path":"f","data":{"a":1e0},"mode":33188,"x":2}]"#,
            ),
            (
                r#"[{"path":"l","mode":40960,"data":"t","size":1,"encoding":"base64"}]"#,
                Form::Array,
                r#"[{"path":"l","data":"t","mode":40960}]"#,
            ),
            (
                r#"[{"path":"f","mode":33188,"size":8,"encoding":"blobvec","data":[[4,4,"sha1-4C55E5E5FC2235CC8C201E69A345F7FAB3FB46FA"],[0,4,"sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3",7],[2,0,"sha1-da39a3ee5e6b4b0d3255bfef95601890afd80709"]]}]"#,
                Form::Array,
                r#"[{"path":"f","encoding":"blobvec","data":[[0,4,"sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3"],[4,4,"sha1-4c55e5e5fc2235cc8c201e69a345f7fab3fb46fa"]],"size":8,"mode":33188}]"#,
            ),
            (
                r#"{"f":{"mode":33188,"size":0},"f":{"mode":33188,"size":5}}"#,
                Form::Dict,
                r#"{"f":{"mode":33188,"size":5}}"#,
            ),
            (
                r#"[{"path":"f","mode":33188,"size":0},{"path":"f","mode":41471,"data":"t"}]"#,
                Form::Array,
                r#"[{"path":"f","mode":41471,"data":"t"}]"#,
            ),
        ] {
            assert_eq!(fixed(document, form), (1, expected.to_owned()));
            assert_eq!(fixed(expected, form), (0, expected.to_owned()));
            let strict = OpenOptions::new().profile(Profile::Strict);
            assert_eq!(strict.lint(expected.as_bytes()).unwrap(), []);
        }
    }

    #[test]
    fn an_entry_with_a_large_blob_is_changed_only_if_it_has_another_deviation() {
        let sha1 = "sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3";
        let entry = |path| {
            format!(
                r#"[{{"path":"{path}","encoding":"blobvec","data":[[0,2097152,"{sha1}"]],"size":2097152,"mode":33188}}]"#
            )
        };
        assert_eq!(fixed(&entry("./f"), Form::Array), (1, entry("f")));
        assert_eq!(fixed(&entry("f"), Form::Array), (0, entry("f")));
    }

    #[test]
    fn entries_without_exactly_one_correct_form_are_copied() {
        let sha1 = "sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3";
        for document in [
            r#"[{"path":"f","mode":33188,"size":9,"encoding":"utf-8","data":"ab"}]"#.to_owned(),
            r#"[{"path":"f","mode":33188,"size":9,"data":{"a":1}}]"#.to_owned(),
            r#"[{"path":"f","mode":33188,"size":0},{"path":"f","mode":16877}]"#.to_owned(),
            r#"[{"path":"f","mode":33188,"size":0},{"path":"f","mode":33188,"size":-1}]"#
                .to_owned(),
            r#"[{"path":"../f","mode":33188,"size":0}]"#.to_owned(),
            r#"[{"path":"f","mode":5}]"#.to_owned(),
            format!(
                r#"[{{"path":"f","mode":33188,"size":9,"encoding":"blobvec","data":[[0,4,"{sha1}"],[2,4,"{sha1}"]]}}]"#
            ),
            // The only deviation is a blob larger than 1 MiB, which would remain if the entry were
            // written again.
            format!(
                r#"[{{"path":"f","mode":33188,"size":2097152,"encoding":"blobvec","data":[[0,2097152,"{sha1}"]]}}]"#
            ),
        ] {
            assert_eq!(fixed(&document, Form::Array), (0, document.clone()));
        }
    }
}
