//! Converting an archive to another form, without changing its entries.

use std::io::Write;

use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::parse::OpenOptions;
use crate::write::Writer;

/// Copies an archive to a writer, and converts it to the [`Form`](crate::Form) of the writer. If
/// several entries have the same path, only the last one is written. Returns the warnings about the
/// original archive.
///
/// ```
/// use flux_archive::edit::convert;
/// use flux_archive::{Form, OpenOptions, Writer};
///
/// let array = br#"[{"path":"a","mode":16877,"note":1.50}]"#;
/// let mut writer = Writer::new(Vec::new(), Form::Dict);
/// convert(array, &OpenOptions::new(), &mut writer)?;
/// assert_eq!(writer.finish()?, br#"{"a":{"mode":16877,"note":1.50}}"#);
/// # Ok::<(), flux_archive::Error>(())
/// ```
///
/// # Errors
///
/// Same as [`OpenOptions::parse`]. In these cases, nothing is written. Also fails if the writer
/// fails.
pub fn convert<W: Write>(
    document: &[u8],
    options: &OpenOptions,
    writer: &mut Writer<W>,
) -> Result<Vec<Diagnostic>> {
    let diagnostics = options.parse(document)?.diagnostics;
    let superseded = options.superseded(document)?;
    for raw in options.entries(document)? {
        let raw = raw?;
        if !superseded.contains(&raw.index()) {
            writer.copy(&raw)?;
        }
    }
    Ok(diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Form, Profile};

    fn converted(document: &str, form: Form) -> String {
        let mut writer = Writer::new(Vec::new(), form);
        convert(document.as_bytes(), &OpenOptions::new(), &mut writer).unwrap();
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn an_array_is_converted_to_a_dict_and_back() {
        let array =
            r#"[{"path":"a","mode":16877},{"path":"b/\u00e9","x":[1, 2],"mode":33188,"data":1e2}]"#;
        let dict = r#"{"a":{"mode":16877},"b/\u00e9":{"x":[1, 2],"mode":33188,"data":1e2}}"#;
        assert_eq!(converted(array, Form::Dict), dict);
        assert_eq!(converted(dict, Form::Array), array);
        assert_eq!(converted(array, Form::Array), array);
        assert_eq!(converted(&converted(array, Form::Objects), Form::Dict), dict);
    }

    #[test]
    fn converting_keeps_only_the_last_entry_with_each_path() {
        let array = r#"[{"path":"a","mode":16877},{"path":"a","mode":16832}]"#;
        assert_eq!(converted(array, Form::Dict), r#"{"a":{"mode":16832}}"#);
        assert_eq!(converted(array, Form::Array), r#"[{"path":"a","mode":16832}]"#);
        let dict =
            r#"{"x":{"path":"a","mode":1},"k":{"path":"a","mode":16877},"x":{"mode":16832}}"#;
        let last = r#"[{"path":"a","mode":16877},{"path":"x","mode":16832}]"#;
        assert!(
            convert(
                dict.as_bytes(),
                &OpenOptions::new(),
                &mut Writer::new(Vec::new(), Form::Array)
            )
            .is_err()
        );
        assert_eq!(converted(&dict.replace(":1}", ":33188}"), Form::Array), last);
    }

    #[test]
    fn converting_a_rejected_archive_writes_nothing() {
        let options = OpenOptions::new().profile(Profile::Strict);
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Form::Dict);
        let document = br#"[{"path":"a","mode":16877},{"path":"a","mode":16832}]"#;
        assert!(convert(document, &options, &mut writer).is_err());
        drop(writer);
        assert!(out.is_empty());
    }
}
