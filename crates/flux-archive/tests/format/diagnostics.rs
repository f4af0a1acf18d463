//! Tests that each diagnostic code of the parser is reported, and has the right severity in each of
//! the three profiles.

use flux_archive::diagnostic::{Code, Diagnostic, Severity};
use flux_archive::{Archive, Content, OpenOptions, Profile};

const ERROR: Option<Severity> = Some(Severity::Error);
const WARNING: Option<Severity> = Some(Severity::Warning);
const ACCEPT: Option<Severity> = None;

const SHA1: &str = "sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3";

/// Parses a document with a profile, and returns the highest severity and the diagnostics.
fn outcome(document: &str, profile: Profile) -> (Option<Severity>, Vec<Diagnostic>) {
    match Archive::parse(document.as_bytes(), profile) {
        Ok(archive) if archive.diagnostics().is_empty() => (ACCEPT, Vec::new()),
        Ok(archive) => (WARNING, archive.diagnostics().to_vec()),
        Err(error) => {
            assert!(!error.diagnostics().is_empty(), "{document}: {error}");
            (ERROR, error.diagnostics().to_vec())
        }
    }
}

/// Checks that a document has a diagnostic with the given code and pointer, and that its severity
/// in the profiles strict, flux and legacy is as expected.
#[track_caller]
fn check(document: &str, code: Code, pointer: &str, expected: [Option<Severity>; 3]) {
    for (profile, expected) in Profile::ALL.into_iter().zip(expected) {
        let (found, diagnostics) = outcome(document, profile);
        assert_eq!(found, expected, "{profile}: {document}: {diagnostics:?}");
        assert_eq!(profile.severity(code), expected, "{code} {profile}");
        if expected != ACCEPT {
            let found = diagnostics.iter().find(|diagnostic| diagnostic.code == code);
            let found = found.unwrap_or_else(|| panic!("{code} is not in {diagnostics:?}"));
            assert_eq!(found.place.pointer.as_deref().unwrap_or_default(), pointer, "{document}");
            assert!(!found.message.is_empty());
        }
    }
    let lint = OpenOptions::new().profile(Profile::Strict).lint(document.as_bytes()).unwrap();
    let same: Vec<_> = lint.iter().filter(|diagnostic| diagnostic.code == code).collect();
    assert_eq!(same.len(), 1, "{document}: {lint:?}");
}

const ALWAYS: [Option<Severity>; 3] = [ERROR, ERROR, ERROR];
const WARNED: [Option<Severity>; 3] = [ERROR, WARNING, WARNING];
const ACCEPTED: [Option<Severity>; 3] = [ERROR, ACCEPT, ACCEPT];

#[test]
fn r101_is_reported_if_the_container_is_not_an_array_or_object() {
    for document in ["5", "\"[]\"", "null"] {
        check(document, Code::Container, "", ALWAYS);
    }
}

#[test]
fn consecutive_objects_are_an_error_in_the_strict_profile_but_not_in_the_flux_profile() {
    let document = r#"{"path":"a","mode":33188,"size":0}{"path":"b","mode":33188,"size":0}"#;
    assert_eq!(outcome(document, Profile::Strict).0, ERROR);
    assert_eq!(outcome(document, Profile::Flux).0, ACCEPT);
}

#[test]
fn r102_is_reported_if_an_entry_is_not_an_object() {
    check("[5]", Code::EntryType, "/0", ALWAYS);
    check("[[]]", Code::EntryType, "/0", ALWAYS);
    check(r#"{"a":"b"}"#, Code::EntryType, "/a", ALWAYS);
}

#[test]
fn r103_is_reported_if_a_path_is_missing_or_not_a_string() {
    check(r#"[{"mode":33188,"size":0}]"#, Code::PathType, "/0", ALWAYS);
    check(r#"[{"path":5,"mode":33188,"size":0}]"#, Code::PathType, "/0/path", ALWAYS);
    check(r#"[{"path":null,"mode":33188,"size":0}]"#, Code::PathType, "/0/path", ALWAYS);
    check(r#"[{"path":"a\ud800b","mode":33188,"size":0}]"#, Code::PathType, "/0/path", ALWAYS);
    check(r#"{"k":{"path":5,"mode":33188,"size":0}}"#, Code::PathType, "/k/path", ALWAYS);
}

#[test]
fn r104_is_reported_if_a_mode_is_missing_or_not_an_unsigned_32_bit_integer() {
    check(r#"[{"path":"f","size":0}]"#, Code::ModeType, "/0", ALWAYS);
    for mode in ["\"0644\"", "33188.0", "null", "true", "-1", "4294967296", "3.3188e4"] {
        let document = format!(r#"[{{"path":"f","mode":{mode},"size":0}}]"#);
        check(&document, Code::ModeType, "/0/mode", ALWAYS);
    }
}

#[test]
fn r105_is_reported_if_a_path_in_a_dict_overrides_the_key() {
    let document = r#"{"k":{"path":"other","mode":33188,"size":0}}"#;
    check(document, Code::PathInDict, "/k/path", WARNED);
    let archive = Archive::parse(document.as_bytes(), Profile::Flux).unwrap();
    assert_eq!(archive.entries()[0].path().as_str(), "other");
}

#[test]
fn r106_is_reported_for_duplicate_keys_and_the_last_value_is_used() {
    let document = r#"[{"path":"f","path":"g","mode":33188,"size":0}]"#;
    check(document, Code::DuplicateKey, "/0/path", WARNED);
    let archive = Archive::parse(document.as_bytes(), Profile::Flux).unwrap();
    assert_eq!(archive.entries()[0].path().as_str(), "g");

    let document = r#"{"f":{"mode":33188,"size":0},"f":{"mode":33188,"size":5}}"#;
    check(document, Code::DuplicateKey, "/f", WARNED);
    let archive = Archive::parse(document.as_bytes(), Profile::Flux).unwrap();
    assert_eq!(archive.entries().len(), 1);
    assert_eq!(archive.entries()[0].len(), 5);

    let document = r#"[{"path":"f","mode":33188,"size":0,"x":0,"x":1,"\u0078":2}]"#;
    assert_eq!(outcome(document, Profile::Flux).1.len(), 2);
    let archive = Archive::parse(document.as_bytes(), Profile::Flux).unwrap();
    assert_eq!(archive.entries()[0].extra()[0].1.get(), "2");
}

#[test]
fn r107_is_reported_for_duplicate_paths_and_the_last_entry_is_used() {
    let document = r#"[{"path":"f","mode":33188,"size":1},{"path":"f","mode":33188,"size":2}]"#;
    check(document, Code::DuplicatePath, "/1", WARNED);
    let archive = Archive::parse(document.as_bytes(), Profile::Flux).unwrap();
    assert_eq!(archive.entries().len(), 1, "the last one is used");
    assert_eq!(archive.get("f").unwrap().len(), 2);
    let document = r#"{"f":{"mode":33188,"size":1},"./f":{"mode":33188,"size":2}}"#;
    check(document, Code::DuplicatePath, "/.~1f", WARNED);
}

#[test]
fn r108_is_reported_if_a_time_is_not_a_64_bit_integer() {
    for (name, time) in [("mtime", "1.5"), ("ctime", "\"1\""), ("mtime", "9223372036854775808")] {
        let document = format!(r#"[{{"path":"f","mode":33188,"size":0,"{name}":{time}}}]"#);
        check(&document, Code::TimeType, &format!("/0/{name}"), ALWAYS);
    }
    let before_1970 = r#"[{"path":"f","mode":33188,"size":0,"mtime":-100,"ctime":-0}]"#;
    assert_eq!(outcome(before_1970, Profile::Strict).0, ACCEPT);
}

#[test]
fn r110_is_reported_if_a_path_is_empty_or_contains_a_parent_component_or_nul() {
    for path in ["..", "a/../b", "", ".", "/", r"a\u0000b", "../esc"] {
        let document = format!(r#"[{{"path":"{path}","mode":33188,"size":0}}]"#);
        check(&document, Code::UnsafePath, "/0/path", ALWAYS);
    }
    check(r#"{"":{"mode":33188,"size":0}}"#, Code::UnsafePath, "/", ALWAYS);
}

#[test]
fn r111_is_reported_if_a_path_is_not_normalised() {
    for path in ["./f", "d/./f", "d//f", "f/"] {
        let document = format!(r#"[{{"path":"{path}","mode":33188,"size":0}}]"#);
        check(&document, Code::UntidyPath, "/0/path", WARNED);
    }
}

#[test]
fn r112_is_reported_if_a_path_begins_with_a_slash() {
    check(r#"[{"path":"/f","mode":33188,"size":0}]"#, Code::AbsolutePath, "/0/path", WARNED);
}

#[test]
fn r113_is_reported_if_the_path_of_a_file_or_link_is_also_used_as_a_directory() {
    let link = r#"{"path":"l","mode":41471,"data":"../esc"}"#;
    let directory = r#"{"path":"l","mode":16877}"#;
    let file = r#"{"path":"l/d/f","mode":33188,"size":0}"#;
    check(&format!("[{link},{file}]"), Code::BelowNoDirectory, "/1", ALWAYS);
    check(&format!("[{file},{link}]"), Code::BelowNoDirectory, "/0", ALWAYS);
    // Test a link and a directory with the same path, in either order.
    check(&format!("[{link},{directory}]"), Code::BelowNoDirectory, "/1", ALWAYS);
    check(&format!("[{directory},{link}]"), Code::BelowNoDirectory, "/1", ALWAYS);
    for document in [format!("[{link},{directory},{file}]"), format!("[{directory},{link},{file}]")]
    {
        let places: Vec<_> = outcome(&document, Profile::Flux).1;
        let places = places.iter().map(|found| found.place.pointer.as_deref().unwrap());
        assert_eq!(places.collect::<Vec<_>>(), ["/1", "/2"]);
    }
    let regular = r#"{"path":"l","mode":33188,"size":0}"#;
    check(&format!("[{regular},{file}]"), Code::BelowNoDirectory, "/1", ALWAYS);
    assert_eq!(outcome(&format!("[{file},{directory}]"), Profile::Strict).0, ACCEPT);
}

#[test]
fn r120_is_reported_if_a_mode_has_an_unsupported_file_type() {
    for mode in [420, 4516, 8630, 25008, 49645, 57764, 0] {
        let document = format!(r#"[{{"path":"f","mode":{mode}}}]"#);
        check(&document, Code::FileType, "/0/mode", ALWAYS);
    }
}

#[test]
fn r130_is_reported_if_a_size_is_missing() {
    check(r#"[{"path":"f","mode":33188}]"#, Code::SizeMissing, "/0", ACCEPTED);
    let text = r#"{"f":{"mode":33188,"encoding":"utf-8","data":"x"}}"#;
    check(text, Code::SizeMissing, "/f", ACCEPTED);
    let bytes = r#"[{"path":"f","mode":33188,"encoding":"base64","data":"eA=="}]"#;
    check(bytes, Code::SizeMissing, "/0", ACCEPTED);
    let blobvec =
        format!(r#"[{{"path":"f","mode":33188,"encoding":"blobvec","data":[[4,4,"{SHA1}"]]}}]"#);
    check(&blobvec, Code::SizeMissing, "/0", ACCEPTED);
    let archive = Archive::parse(blobvec.as_bytes(), Profile::Flux).unwrap();
    assert_eq!(archive.entries()[0].len(), 8);
}

#[test]
fn r131_is_reported_if_a_size_is_smaller_than_the_data() {
    for content in [
        r#""encoding":"utf-8","data":"ab""#,
        r#""encoding":"base64","data":"YWI=""#,
        r#""data":12"#,
    ] {
        let document = format!(r#"[{{"path":"f","mode":33188,"size":1,{content}}}]"#);
        check(&document, Code::SizeBelowData, "/0/size", ALWAYS);
    }
}

#[test]
fn r132_is_reported_if_a_size_is_larger_than_the_data() {
    for content in [r#""encoding":"utf-8","data":"ab""#, r#""encoding":"base64","data":"YWI=""#] {
        let document = format!(r#"[{{"path":"f","mode":33188,"size":10,{content}}}]"#);
        check(&document, Code::SizeAboveData, "/0/size", WARNED);
        let archive = Archive::parse(document.as_bytes(), Profile::Flux).unwrap();
        assert_eq!(archive.entries()[0].len(), 10);
    }
}

#[test]
fn r133_is_reported_if_a_size_is_not_an_unsigned_63_bit_integer() {
    for size in [
        "-5",
        "1.5",
        "1e3",
        "0.0",
        "1E0",
        "-0.0",
        "1e400",
        "[]",
        "\"1\"",
        "null",
        "9223372036854775808",
    ] {
        let document = format!(r#"[{{"path":"f","mode":33188,"size":{size}}}]"#);
        check(&document, Code::SizeType, "/0/size", ALWAYS);
    }
    check(r#"[{"path":"d","mode":16877,"size":-1}]"#, Code::SizeType, "/0/size", ALWAYS);
    let negative_zero = r#"[{"path":"f","mode":33188,"size":-0}]"#;
    assert_eq!(outcome(negative_zero, Profile::Strict).0, ACCEPT);
}

#[test]
fn r134_is_reported_if_a_member_has_no_meaning_for_its_entry() {
    for (document, place) in [
        (r#"[{"path":"d","mode":16877,"size":3}]"#, "/0/size"),
        (r#"[{"path":"d","mode":16877,"encoding":"utf-8"}]"#, "/0/encoding"),
        (r#"[{"path":"d","mode":16877,"data":"x"}]"#, "/0/data"),
        (r#"[{"path":"l","mode":41471,"data":"t","size":1}]"#, "/0/size"),
        (r#"[{"path":"l","mode":41471,"data":"dA==","encoding":"base64"}]"#, "/0/encoding"),
        (r#"[{"path":"f","mode":33188,"data":{"a":1},"size":20}]"#, "/0/size"),
    ] {
        check(document, Code::NeedlessMember, place, WARNED);
    }
}

#[test]
fn r140_is_reported_if_an_encoding_is_unknown_or_not_a_string() {
    for encoding in ["\"zstd\"", "\"UTF-8\"", "null", "5"] {
        let document =
            format!(r#"[{{"path":"f","mode":33188,"encoding":{encoding},"data":"x","size":1}}]"#);
        check(&document, Code::Encoding, "/0/encoding", ALWAYS);
    }
}

#[test]
fn r141_is_reported_if_there_is_an_encoding_but_no_data() {
    let document = r#"[{"path":"f","mode":33188,"encoding":"utf-8","size":4}]"#;
    check(document, Code::DataMissing, "/0", ALWAYS);
}

#[test]
fn r142_is_reported_if_data_has_the_wrong_type_for_its_encoding() {
    for (encoding, data) in [
        ("utf-8", r#"{"a":1}"#),
        ("utf-8", r#""\ud800""#),
        ("base64", "[1]"),
        ("blobvec", "\"x\""),
        ("blobvec", r#"{"0":"x"}"#),
    ] {
        let document = format!(
            r#"[{{"path":"f","mode":33188,"encoding":"{encoding}","data":{data},"size":9}}]"#
        );
        check(&document, Code::DataType, "/0/data", ALWAYS);
    }
}

#[test]
fn r143_is_reported_if_text_contains_a_nul() {
    let document = r#"[{"path":"f","mode":33188,"encoding":"utf-8","size":4,"data":"a\u0000b\n"}]"#;
    check(document, Code::TextWithNul, "/0/data", [WARNING, WARNING, WARNING]);
}

#[test]
fn r144_is_reported_if_base64_lacks_padding_or_has_nonzero_unused_bits() {
    for (data, size) in [("AAECAw", 4), ("YWJ=", 2), ("Zg=", 1)] {
        let document = format!(
            r#"[{{"path":"f","mode":33188,"encoding":"base64","data":"{data}","size":{size}}}]"#
        );
        check(&document, Code::UntidyBase64, "/0/data", WARNED);
    }
}

#[test]
fn r145_is_reported_if_data_is_not_base64() {
    for data in [r"AAEC\nAw==", " AAEC", "_-8=", "AA=A", "A", "AAECAw==AAAA"] {
        let document = format!(
            r#"[{{"path":"f","mode":33188,"encoding":"base64","data":"{data}","size":4}}]"#
        );
        check(&document, Code::Base64, "/0/data", ALWAYS);
    }
    let slash = r#"[{"path":"f","mode":33188,"encoding":"base64","data":"\/\/\/\/","size":3}]"#;
    assert_eq!(outcome(slash, Profile::Strict).0, ACCEPT);
}

fn blobvec(regions: &str) -> String {
    format!(
        r#"[{{"path":"f","mode":33188,"encoding":"blobvec","data":{},"size":12}}]"#,
        regions.replace("SHA1", SHA1)
    )
}

#[test]
fn r150_is_reported_if_a_region_is_malformed_or_extends_past_the_end_of_the_file() {
    for (regions, place) in [
        ("[5]", "/0"),
        ("[[0,4]]", "/0"),
        (r#"[{"offset":0}]"#, "/0"),
        (r#"[[0,4,"SHA1"],[-4,4,"SHA1"]]"#, "/1/0"),
        (r#"[[0,-4,"SHA1"]]"#, "/0/1"),
        (r#"[[0.0,4,"SHA1"]]"#, "/0/0"),
        ("[[0,4,5]]", "/0/2"),
        (r#"[[9,4,"SHA1"]]"#, "/0"),
        (r#"[[4611686018427387904,4,"SHA1"]]"#, "/0"),
        (r#"[[9223372036854775806,4,"SHA1"]]"#, "/0"),
        (r#"[[9223372036854775807,9223372036854775807,"SHA1"]]"#, "/0"),
    ] {
        check(&blobvec(regions), Code::Region, &format!("/0/data{place}"), ALWAYS);
    }
    assert_eq!(outcome(&blobvec("[]"), Profile::Strict).0, ACCEPT);
}

#[test]
fn r151_is_reported_if_regions_overlap_or_are_out_of_order_or_empty_or_have_surplus_values() {
    for (regions, place) in [
        (r#"[[4,4,"SHA1"],[0,4,"SHA1"]]"#, "/1"),
        (r#"[[0,4,"SHA1"],[2,4,"SHA1"]]"#, "/1"),
        (r#"[[0,0,"SHA1"]]"#, "/0/1"),
        (r#"[[0,4,"SHA1",1]]"#, "/0"),
    ] {
        check(&blobvec(regions), Code::UntidyRegions, &format!("/0/data{place}"), WARNED);
    }
}

#[test]
fn r152_and_r153_are_reported_if_a_blobref_is_malformed_or_has_an_unknown_hash() {
    for blobref in ["sha1-00", "../../x", ""] {
        let regions = format!(r#"[[0,4,"{blobref}"]]"#);
        check(&blobvec(&regions), Code::BlobRef, "/0/data/0/2", ALWAYS);
    }
    let regions = r#"[[0,4,"md5-00000000000000000000000000000000"]]"#;
    check(&blobvec(regions), Code::UnknownHash, "/0/data/0/2", ALWAYS);
}

#[test]
fn r154_is_reported_if_a_blob_is_too_large_or_a_blobref_is_in_upper_case() {
    let upper = SHA1.to_uppercase().replace("SHA1", "sha1");
    let regions = format!(r#"[[0,4,"{upper}"]]"#);
    check(&blobvec(&regions), Code::UntidyBlob, "/0/data/0/2", [WARNING, ACCEPT, ACCEPT]);
    let document = format!(
        r#"[{{"path":"f","mode":33188,"encoding":"blobvec","data":[[0,1048577,"{SHA1}"]],"size":1048577}}]"#
    );
    check(&document, Code::UntidyBlob, "/0/data/0/1", [WARNING, ACCEPT, ACCEPT]);
}

#[test]
fn r160_is_reported_if_a_link_target_is_missing_or_invalid() {
    check(r#"[{"path":"l","mode":41471}]"#, Code::LinkTarget, "/0", ALWAYS);
    for target in [r#""""#, "5", "null", r#""a\u0000""#, r#""\udc00""#] {
        let document = format!(r#"[{{"path":"l","mode":41471,"data":{target}}}]"#);
        check(&document, Code::LinkTarget, "/0/data", ALWAYS);
    }
}

#[test]
fn r170_is_reported_for_the_old_dialect_which_only_the_legacy_profile_accepts() {
    let head = r#"{"version":1,"type":"fileref","mtime":1,"ctime":1"#;
    let bytes =
        format!(r#"[{head},"path":"f","size":3,"mode":33188,"blobvec":[],"data":"YWJj"}}]"#);
    let blobs =
        format!(r#"[{head},"path":"f","size":8,"mode":33188,"blobvec":[[0,4,"{SHA1}"]]}}]"#);
    let hole = format!(r#"[{head},"path":"f","size":8,"mode":33188,"blobvec":[]}}]"#);
    let link = format!(r#"[{head},"path":"l","size":1,"mode":41471,"blobvec":[],"data":"t"}}]"#);
    for document in [&bytes, &blobs, &hole, &link] {
        check(document, Code::OldDialect, "/0", [ERROR, ERROR, WARNING]);
    }
    let error = Archive::parse(bytes.as_bytes(), Profile::Flux).unwrap_err();
    assert!(error.to_string().contains("use the profile \"legacy\" to read it"), "{error}");
    let content = |document: &str| {
        let archive = Archive::parse(document.as_bytes(), Profile::Legacy).unwrap();
        match archive.entries()[0].content() {
            Content::Base64(data) => format!("{:?}", data.decode()),
            Content::Blobvec(regions) => regions[0].blobref.to_string(),
            Content::Symlink(target) => target.to_string(),
            Content::Empty => "hole".to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(content(&bytes), format!("{:?}", b"abc"));
    assert_eq!(content(&blobs), SHA1);
    assert_eq!(content(&hole), "hole");
    assert_eq!(content(&link), "t");
}

#[test]
fn an_entry_with_an_encoding_is_not_treated_as_the_old_dialect() {
    let document = r#"[{"version":1,"type":"fileref","blobvec":0,"path":"f","size":1,"mode":33188,
        "encoding":"utf-8","data":"x"}]"#;
    assert_eq!(outcome(document, Profile::Strict).0, ACCEPT);
}

#[test]
fn missing_and_invalid_blobs_are_errors_in_every_profile() {
    for code in [Code::BlobMissing, Code::BlobLength, Code::BlobDigest] {
        for profile in Profile::ALL {
            assert_eq!(profile.severity(code), ERROR);
        }
    }
    assert_eq!(Code::BlobMissing.as_str(), "R155");
    assert_eq!(Code::ALL.len(), 36);
}

#[test]
fn diagnostics_follow_the_order_of_the_entries() {
    let document = r#"[{"path":"a"},{"path":"/b","mode":33188},{"path":"b/c","mode":1}]"#;
    let lint = OpenOptions::new().profile(Profile::Strict).lint(document.as_bytes()).unwrap();
    let lines: Vec<_> = lint.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "error[R104]: mode is missing (a, /0)",
            "error[R112]: the path is absolute (/b, /1/path)",
            "error[R130]: size is missing (/b, /1)",
            "error[R120]: mode 01 is not a regular file, directory or symbolic link (b/c, /2/mode)",
        ]
    );
    let error = Archive::parse(document.as_bytes(), Profile::Flux).unwrap_err();
    assert_eq!(error.to_string(), "error[R104]: mode is missing (a, /0), and 1 more");
}
