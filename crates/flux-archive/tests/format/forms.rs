//! The forms of an archive: array, dict, consecutive objects, and archives within other documents.

use flux_archive::{Archive, Content, Form, OpenOptions, Profile};

fn paths(archive: &Archive<'_>) -> Vec<String> {
    archive.entries().iter().map(|entry| entry.path().to_string()).collect()
}

#[test]
fn entries_have_the_same_paths_in_an_array_and_in_a_dict() {
    let array = br#"[{"path":"a","mode":33188,"size":0},{"path":"d/b","mode":16877}]"#;
    let dict = br#"{"a":{"mode":33188,"size":0},"d\/b":{"mode":16877}}"#;
    let array = Archive::parse(array, Profile::Strict).unwrap();
    let dict = Archive::parse(dict, Profile::Strict).unwrap();
    assert_eq!((array.form(), dict.form()), (Form::Array, Form::Dict));
    assert_eq!(paths(&array), ["a", "d/b"]);
    assert_eq!(paths(&dict), ["a", "d/b"]);
}

#[test]
fn empty_arrays_and_dicts_are_archives() {
    for document in ["[]", "{}", " [ ] "] {
        let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
        assert!(archive.entries().is_empty());
    }
}

#[test]
fn consecutive_objects_need_no_separator() {
    let document = br#"{"mode":33188,"path":"a"}{"path":"b","mode":16877}
        {"path":"c","mode":33188}"#;
    let archive = Archive::parse(document, Profile::Flux).unwrap();
    assert_eq!(archive.form(), Form::Objects);
    assert_eq!(paths(&archive), ["a", "b", "c"]);
}

#[test]
fn the_files_of_a_jobspec_are_parsed_as_an_archive() {
    let jobspec = br##"{"resources":[],"tasks":[],"attributes":{"system":{"files":{
        "script":{"mode":33216,"data":"#!/bin/sh\ntrue\n","encoding":"utf-8"},
        "conf.json":{"mode":33152,"data":{"a":2.50}}}}},"version":1}"##;
    let archive = Archive::parse(jobspec, Profile::Flux).unwrap();
    assert_eq!(paths(&archive), ["script", "conf.json"]);
    let Content::Json(json) = archive.entries()[1].content() else { panic!() };
    assert_eq!(json.get(), r#"{"a":2.50}"#);
    let lint = OpenOptions::new().profile(Profile::Strict).lint(jobspec).unwrap();
    assert_eq!(lint[0].place.pointer.as_deref(), Some("/attributes/system/files/script"));
}

#[test]
fn a_pointer_selects_an_archive_anywhere_in_a_document() {
    let document = br#"{"x":[0,[{"path":"a","mode":33188,"size":-1}]],"y":5}"#;
    let options = OpenOptions::new().pointer("/x/1");
    assert_eq!(options.lint(document).unwrap()[0].place.pointer.as_deref(), Some("/x/1/0/size"));
    let error = OpenOptions::new().pointer("/z").parse(document).unwrap_err();
    assert_eq!(error.to_string(), "JSON pointer \"/z\": \"z\" does not exist");
    let error = OpenOptions::new().pointer("/y").parse(document).unwrap_err();
    assert_eq!(error.to_string(), "error[R101]: expected an array or object of entries (/y)");
}

#[test]
fn json_content_is_kept_as_written() {
    for value in ["1e400", "12345678901234567890", "-0.0", "2.50", r#"{"a":1,"a":2}"#, "null"] {
        let document = format!(r#"[{{"path":"f","mode":33188,"data":{value}}}]"#);
        let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
        let Content::Json(json) = archive.entries()[0].content() else { panic!("{value}") };
        assert_eq!(json.get(), value);
        assert_eq!(archive.entries()[0].len(), value.len() as u64);
    }
}

#[test]
fn unknown_members_of_an_entry_are_kept() {
    let document = br#"[{"path":"f","mode":33188,"size":0,"owner":{"uid": 1},"\u006f":[]}]"#;
    let archive = Archive::parse(document, Profile::Strict).unwrap();
    let extra: Vec<_> = archive.entries()[0]
        .extra()
        .iter()
        .map(|(name, value)| (name.decode().into_owned(), value.get()))
        .collect();
    assert_eq!(extra, [("owner".to_owned(), "{\"uid\": 1}"), ("o".to_owned(), "[]")]);
}

#[test]
fn member_names_may_contain_escapes() {
    let document =
        br#"[{"p\u0061th":"\u0066","mode":33188,"encoding":"utf\u002d8","data":"x","size":1}]"#;
    let archive = Archive::parse(document, Profile::Strict).unwrap();
    assert_eq!(paths(&archive), ["f"]);
}
