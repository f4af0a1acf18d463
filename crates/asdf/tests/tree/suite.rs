//! The public YAML test suite, with the results of libyaml for each case.

use asdf::yaml::notation::events;
use serde_json::Value;

/// Cases that this crate accepts, as the suite expects, although libyaml rejects them. Each has a
/// reason.
const ACCEPTED: [(&str, &str); 8] = [
    ("2LFX", "an unknown directive is a diagnostic"),
    ("6LVF", "an unknown directive is a diagnostic"),
    ("BEC7", "version 1.3 is a diagnostic"),
    ("MUS6-05", "an unknown directive is a diagnostic"),
    ("MUS6-06", "an unknown directive is a diagnostic"),
    ("ZYU8-00", "an unknown directive is a diagnostic, whatever characters its name contains"),
    ("ZYU8-01", "an unknown directive is a diagnostic, whatever characters its name contains"),
    ("ZYU8-03", "version 1.12345 is a diagnostic"),
];

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

#[test]
fn corpus_yaml_suite_produces_the_same_events_as_libyaml_except_in_listed_cases() {
    let Some(corpus) = testdata::corpus() else { return };
    let recorded = std::fs::read(corpus.join("yaml/suite.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&recorded).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 406);
    let mut accepted = Vec::new();
    let mut wrong = Vec::new();
    for case in cases {
        let (id, text) = (case["id"].as_str().unwrap(), case["yaml"].as_str().unwrap());
        let ours = events(text.as_bytes());
        match (strings(&case["libyaml"]["events"]), &ours) {
            (Some(want), Ok(ours)) if *ours == want => {}
            (None, Err(_)) => {}
            // libyaml rejects the text, so compare with the suite's own events.
            (None, Ok(ours)) if case["suite"]["fails"] == false => {
                accepted.push(id);
                let want = strings(&case["suite"]["events"]);
                if want.is_none_or(|want| *ours != want) {
                    wrong.push(format!("{id}: {text:?}\n{ours:?}"));
                }
            }
            (want, _) => wrong.push(format!("{id}: {text:?}\nwant {want:?}\nours {ours:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n\n"));
    assert_eq!(accepted, ACCEPTED.map(|(id, _)| id));
}
