//! Tests of golden archives: one in each form, and some that need to be fixed.

use flux_archive::edit::{convert, fix};
use flux_archive::inspect::diff;
use flux_archive::{Archive, Form, OpenOptions, Profile, Writer};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(testdata::path(&format!("flux/{name}"))).unwrap()
}

fn converted(document: &[u8], form: Form) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), form);
    convert(document, &OpenOptions::new(), &mut writer).unwrap();
    writer.finish().unwrap()
}

#[test]
fn the_golden_array_and_dict_are_strict_and_convert_into_each_other() {
    let (array, dict) = (read("array.json"), read("dict.json"));
    for document in [&array, &dict] {
        let archive = Archive::parse(document, Profile::Strict).unwrap();
        assert_eq!((archive.entries().len(), archive.diagnostics().len()), (8, 0));
    }
    assert_eq!(converted(&array, Form::Dict), dict);
    assert_eq!(converted(&dict, Form::Array), array);
}

#[test]
fn rewriting_the_golden_array_produces_the_same_bytes() {
    let array = read("array.json");
    let archive = Archive::parse(&array, Profile::Strict).unwrap();
    let mut writer = Writer::new(Vec::new(), Form::Array);
    for entry in archive.entries() {
        writer.entry(entry).unwrap();
    }
    assert_eq!(String::from_utf8(writer.finish().unwrap()), String::from_utf8(array.clone()));
}

#[test]
fn the_golden_objects_and_jobspec_and_legacy_archives_need_a_profile_other_than_strict() {
    for (name, form, profile, count) in [
        ("objects.json", Form::Objects, Profile::Flux, 2),
        ("jobspec.json", Form::Dict, Profile::Flux, 2),
        ("legacy.json", Form::Array, Profile::Legacy, 3),
    ] {
        let document = read(name);
        let archive = Archive::parse(&document, profile).unwrap();
        assert_eq!((archive.form(), archive.entries().len()), (form, count), "{name}");
        assert!(Archive::parse(&document, Profile::Strict).is_err(), "{name}");
    }
}

#[test]
fn fixing_the_golden_untidy_and_legacy_archives_makes_them_strict_and_keeps_their_entries() {
    for (name, profile) in [("untidy.json", Profile::Flux), ("legacy.json", Profile::Legacy)] {
        let document = read(name);
        let options = OpenOptions::new().profile(profile);
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let archive = options.parse(&document).unwrap();
        let changed = fix(&document, &options, &mut writer).unwrap();
        assert_eq!(changed, archive.entries().len() as u64);
        let repaired = writer.finish().unwrap();
        let again = Archive::parse(&repaired, Profile::Strict).unwrap();
        assert_eq!(again.diagnostics(), []);
        assert_eq!(diff(&archive, &again), []);
    }
}
