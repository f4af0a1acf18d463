//! Testing the corpus of layouts: parsing, errors and comments.

use dudley::Layout;
use dudley::diagnostic::Severity;
use dudley::layout::{Attribute, Declaration, ItemKind, ParamValue, Subject, Value as Of};
use serde_json::{Value, json};

/// Codes of errors that depend on the values of parameters or on the stream.
pub(crate) const OF_VALUES: [&str; 5] = ["E040", "E041", "E042", "E043", "E044"];

pub(crate) fn cases() -> Vec<Value> {
    let Some(corpus) = testdata::corpus() else { return Vec::new() };
    let text = std::fs::read_to_string(corpus.join("dudley/cases.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    json["cases"].as_array().unwrap().clone()
}

pub(crate) fn text(case: &Value) -> String {
    if let Some(text) = case["layout"].as_str() {
        return text.to_owned();
    }
    let repeat = &case["layout_repeat"];
    let part = |name: &str| repeat[name].as_str().unwrap_or_default();
    let count = usize::try_from(repeat["count"].as_u64().unwrap()).unwrap();
    [part("head"), &part("unit").repeat(count), part("tail")].concat()
}

/// Returns the paths of data and stored parameters, in order of declaration.
fn paths(layout: &Layout) -> Vec<String> {
    let path = |declaration: &Declaration| match *declaration {
        Declaration::Item(id) => match layout.kind(id) {
            ItemKind::Data(_) => Some(layout.path(id)),
            ItemKind::Dict(_) | ItemKind::List(_) => None,
        },
        Declaration::Param(id) => match layout.param(id).value {
            ParamValue::Stored { .. } => Some(layout.subject_path(Subject::Param(id))),
            ParamValue::Fixed(_) => None,
        },
        Declaration::Type(..) => None,
    };
    layout.declarations().iter().filter_map(path).collect()
}

fn value(attribute: &Attribute) -> Value {
    match &attribute.value {
        Of::Null => Value::Null,
        Of::Integer(value) => json!(value),
        Of::Float(value) => json!(value),
        Of::Text(value) => json!(value),
        Of::Integers(values) => json!(values),
        Of::Floats(values) => json!(values),
        Of::Texts(values) => json!(values),
    }
}

#[test]
fn every_case_parses_or_fails_as_the_corpus_expects() {
    let mut wrong = Vec::new();
    for case in cases() {
        let name = case["name"].as_str().unwrap();
        let text = text(&case);
        let parsed = Layout::parse(&text);
        let expected = &case["expect_error"];
        let code = expected["code"].as_str().filter(|code| !OF_VALUES.contains(code));
        match (parsed, code) {
            (Ok(layout), None) => {
                let found =
                    layout.diagnostics().iter().filter(|found| found.severity == Severity::Warning);
                let found: Vec<&str> = found.map(|found| found.code.as_str()).collect();
                let warnings = case["warnings"].as_array().cloned().unwrap_or_default();
                let warnings: Vec<&str> = warnings.iter().filter_map(Value::as_str).collect();
                if found != warnings {
                    wrong.push(format!("{name}: warnings {found:?}, expected {warnings:?}"));
                }
                let rows = case["expect"].as_array().cloned().unwrap_or_default();
                let rows: Vec<&str> = rows.iter().filter_map(|row| row["path"].as_str()).collect();
                if !rows.is_empty() && paths(&layout) != rows {
                    wrong.push(format!("{name}: {:?}, expected {rows:?}", paths(&layout)));
                }
            }
            (Err(error), Some(code)) => {
                let first = error.diagnostics().unwrap().first();
                if first.code.as_str() != code || expected["line"] != json!(first.place.line) {
                    wrong.push(format!(
                        "{name}: {code}, line {}, expected; {error}",
                        expected["line"]
                    ));
                }
            }
            (Err(error), None) => wrong.push(format!("{name}: {error}")),
            (Ok(_), Some(code)) => wrong.push(format!("{name}: no error, {code} expected")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn comments_and_attributes_are_attached_to_the_subjects_expected_by_the_corpus() {
    for case in cases() {
        let Some(expected) = case["expect_comments"].as_array() else { continue };
        let layout = Layout::parse(text(&case)).unwrap();
        let row = |subject: Subject| {
            let docs: Vec<&str> = layout.docs(subject).collect();
            let attributes: serde_json::Map<String, Value> = layout
                .attributes(subject)
                .map(|attribute| (attribute.name.clone(), value(attribute)))
                .collect();
            json!([layout.subject_path(subject), docs, attributes])
        };
        let mut found: Vec<Value> = layout.commented().into_iter().map(row).collect();
        let mut expected = expected.clone();
        found.sort_by_key(ToString::to_string);
        expected.sort_by_key(ToString::to_string);
        // The corpus writes the float 1.0 as 1.
        let text = |rows: &[Value]| json!(rows).to_string().replace(".0", "");
        assert_eq!(text(&found), text(&expected), "{}", case["name"]);
    }
}

#[test]
fn a_printed_layout_parses_as_an_equal_layout() {
    for case in cases() {
        let Ok(layout) = Layout::parse(text(&case)) else { continue };
        let printed = layout.to_string();
        let again = Layout::parse(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(again, layout, "{}:\n{printed}", case["name"]);
        assert_eq!(again.to_string(), printed, "{}", case["name"]);
    }
}

#[test]
fn formatting_preserves_meaning_and_comments_and_is_idempotent() {
    for case in cases() {
        let text = text(&case);
        let Ok(formatted) = dudley::text::format(&text) else { continue };
        assert_eq!(dudley::text::format(&formatted).unwrap(), formatted, "{}", case["name"]);
        let Ok(layout) = Layout::parse(&text) else { continue };
        assert_eq!(Layout::parse(&formatted).unwrap(), layout, "{}:\n{formatted}", case["name"]);
    }
}
