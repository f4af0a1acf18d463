//! Hostile documents must be parsed or rejected without a panic, and the limits must be enforced.

use flux_archive::{Archive, Content, ErrorKind, Limits, OpenOptions, Profile};

#[track_caller]
fn error(document: &[u8]) -> String {
    Archive::parse(document, Profile::Legacy).unwrap_err().to_string()
}

#[test]
fn invalid_json_is_reported_with_an_offset() {
    for (document, message) in [
        (&b""[..], "not JSON: expected a value, found the end (offset 0)"),
        (b"[", "not JSON: expected a value, found the end (offset 1)"),
        (b"[{},", "not JSON: expected a value, found the end (offset 4)"),
        (b"[{}", "not JSON: expected ',' or ']', found the end (offset 3)"),
        (b"[{}]x", "not JSON: expected the end, found 'x' (offset 4)"),
        (b"{} []", "not JSON: expected the end, found '[' (offset 3)"),
        (b"[{\"a\":1,}]", "not JSON: expected a key in double quotes, found '}' (offset 8)"),
        (b"[{\"a\" 1}]", "not JSON: expected ':', found '1' (offset 6)"),
        (b"[\xff]", "not JSON: not UTF-8 (offset 1)"),
        (b"[/*x*/]", "not JSON: expected value (offset 1)"),
    ] {
        assert_eq!(error(document), message, "{}", document.escape_ascii());
    }
}

#[test]
fn a_trailing_comma_is_rejected() {
    assert!(error(br#"[{"path":"f","mode":33188,"size":0},]"#).starts_with("not JSON"));
}

#[test]
fn deeply_nested_json_content_is_parsed() {
    for depth in [200, 2049, 100_000] {
        let json = "[".repeat(depth) + &"]".repeat(depth);
        let document = format!(r#"[{{"path":"f","mode":33188,"data":{json}}}]"#);
        let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
        assert!(
            matches!(archive.entries()[0].content(), Content::Json(found) if found.get() == json)
        );
    }
}

#[test]
fn deep_nesting_outside_json_content_is_rejected_without_a_stack_overflow() {
    let deep = |open: &str, close: &str| open.repeat(100_000) + &close.repeat(100_000);
    for document in [
        deep("[", "]"),
        deep("{\"a\":", "}"),
        "[".repeat(100_000),
        "{\"data\":".repeat(100_000),
        "{\"attributes\":".repeat(100_000),
        format!(r#"[{{"path":{0},"mode":{0},"size":{0},"encoding":{0}}}]"#, deep("[", "]")),
        format!(r#"[{{"path":"f","mode":33188,"encoding":"blobvec","data":{}}}]"#, deep("[", "]")),
    ] {
        assert!(Archive::parse(document.as_bytes(), Profile::Flux).is_err());
    }
}

#[test]
fn every_parsing_limit_is_enforced() {
    let options = |limits: Limits| OpenOptions::new().limits(limits);
    let default = Limits::default();
    let two = br#"[{"path":"a/b","mode":33188,"size":9},{"path":"b","mode":41471,"data":"tt"}]"#;
    assert!(options(default).parse(two).is_ok());
    for (limits, what) in [
        (default.max_json_bytes(10), "bytes of JSON"),
        (default.max_entries(1), "entries"),
        (default.max_members(2), "members of an entry"),
        (default.max_path_len(2), "length of a path in bytes"),
        (default.max_path_depth(1), "components of a path"),
        (default.max_link_len(1), "length of a link target in bytes"),
        (default.max_file_size(8), "bytes of a file"),
        (default.max_total_size(8), "bytes of all files"),
    ] {
        let error = options(limits).parse(two).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Limit { what: found, .. } if *found == what),
            "{error}"
        );
    }
    let sha1 = "sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3";
    let regions = format!(
        r#"[{{"path":"f","mode":33188,"encoding":"blobvec","data":[[0,1,"{sha1}"],[1,1,"{sha1}"]]}}]"#
    );
    let error = options(default.max_regions(1)).parse(regions.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "regions of a file: 2 is above the limit of 1 (offset 1)");
    let error = options(default.max_diagnostics(3)).parse(b"[5,5,5,5]").unwrap_err();
    assert_eq!(error.to_string(), "diagnostics: 4 is above the limit of 3");
}

#[test]
fn warnings_beyond_the_limit_are_counted_and_the_archive_is_parsed() {
    let entry = |n| format!(r#"{{"path":"/f{n}","mode":33188,"size":0}}"#);
    let entries: Vec<String> = (0..9).map(entry).collect();
    let limits = Limits::default().max_diagnostics(4);
    let options = OpenOptions::new().limits(limits);
    let document = format!("[{}]", entries.join(","));
    let archive = options.parse(document.as_bytes()).unwrap();
    assert_eq!((archive.entries().len(), archive.diagnostics().len()), (9, 4));
    assert_eq!(archive.more_diagnostics(), 5);
    // `lint` reports all diagnostics, so too many diagnostics are an error.
    let error = options.lint(document.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "diagnostics: 9 is above the limit of 4");
    // An error after any number of warnings must still be found.
    let document = format!(r#"[{},{{"path":"..","mode":33188}}]"#, entries.join(","));
    let error = options.parse(document.as_bytes()).unwrap_err();
    assert_eq!(error.diagnostics().len(), 1, "{error}");
    assert_eq!(error.diagnostics()[0].place.pointer.as_deref(), Some("/9/path"));
}

#[test]
fn an_entry_that_exceeds_a_limit_is_reported_with_its_offset() {
    let long = "x".repeat(5000);
    let document =
        format!(r#"[{{"path":"a","mode":33188}}, {{"path":"{long}","mode":33188,"size":0}}]"#);
    let error = Archive::parse(document.as_bytes(), Profile::Flux).unwrap_err();
    let expected = "length of a path in bytes: 5000 is above the limit of 4095 (offset 28)";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_file_size_above_the_limit_is_rejected() {
    let document = br#"[{"path":"f","mode":33188,"size":9223372036854775807}]"#;
    let error = Archive::parse(document, Profile::Flux).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
}

#[test]
fn numbers_with_many_digits_are_parsed_or_rejected_with_a_short_message() {
    let digits = "9".repeat(100_000);
    let document =
        format!(r#"[{{"path":"f","mode":33188,"size":0,"x":{digits}.{digits}e{digits}}}]"#);
    assert!(Archive::parse(document.as_bytes(), Profile::Strict).is_ok());
    let document = format!(r#"[{{"path":"f","mode":{digits},"size":{digits}}}]"#);
    let error = Archive::parse(document.as_bytes(), Profile::Flux).unwrap_err();
    assert!(error.diagnostics().iter().all(|diagnostic| diagnostic.message.len() < 200));
}

#[test]
fn lone_surrogates_are_accepted_in_unknown_members_and_in_json_content() {
    let document = r#"[{"path":"f","mode":33188,"size":0,"\ud800":"\ud800","\ud800":1}]"#;
    let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
    assert_eq!(archive.entries().len(), 1);
    let json = r#"[{"path":"f","mode":33188,"data":"\ud800"}]"#;
    assert!(Archive::parse(json.as_bytes(), Profile::Strict).is_ok());
}

#[test]
fn an_overlong_path_with_many_duplicate_members_exceeds_a_limit() {
    let long = "x".repeat(1 << 20);
    let members = r#","a":0"#.repeat(9000);
    for document in [
        format!(r#"[{{"path":"{long}"{members}}}]"#),
        format!(r#"{{"{long}":{{"a":0{members}}}}}"#),
    ] {
        let error = OpenOptions::new().lint(document.as_bytes()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Limit { .. }), "{error}");
    }
}

#[test]
fn many_deep_paths_are_parsed() {
    let deep = "d/".repeat(999);
    let entries: Vec<String> =
        (0..200).map(|n| format!(r#"{{"path":"{deep}{n}","mode":33188,"size":0}}"#)).collect();
    let document = format!("[{}]", entries.join(","));
    let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
    assert_eq!(archive.entries().len(), 200);
}
