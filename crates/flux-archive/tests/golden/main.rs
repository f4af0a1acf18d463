//! The golden files of the format must match their recorded results, which were produced by hand
//! and with Python's `json`, `base64` and `hashlib` modules.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

#[cfg(unix)]
mod disk;
mod forms;

use flux_archive::inspect::LongLine;
use flux_archive::{OpenOptions, Profile};
use serde_json::{Value, json};

fn cases() -> Vec<testdata::Case> {
    let cases = testdata::cases(&testdata::path("flux/expected.json"));
    assert_eq!(cases.len(), 8);
    cases
}

#[test]
fn lint_matches_the_recorded_diagnostics() {
    for case in cases() {
        let document = std::fs::read(&case.file).unwrap();
        for profile in Profile::ALL {
            let found = OpenOptions::new().profile(profile).lint(&document).unwrap();
            let mut found: Vec<_> = found
                .iter()
                .map(|found| {
                    (found.code.as_str(), found.place.pointer.as_deref().unwrap_or_default())
                })
                .collect();
            found.sort_unstable();
            let expected = &case.ours["lint"][profile.name()];
            let difference = testdata::difference(expected, &json!(found));
            assert_eq!(difference, None, "{} {profile}", case.name);
        }
    }
}

#[test]
fn list_matches_the_recorded_lines() {
    for case in cases() {
        let document = std::fs::read(&case.file).unwrap();
        let entries = OpenOptions::new().entries(&document).unwrap();
        let lines = entries.map(|raw| LongLine::of(&raw.unwrap()).unwrap().to_string());
        let difference = testdata::difference(&case.ours["list"], &lines.collect::<Value>());
        assert_eq!(difference, None, "{}", case.name);
    }
}
