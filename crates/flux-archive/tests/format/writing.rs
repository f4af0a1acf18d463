//! The bytes that the writer produces, and the entries that it rejects.

use std::io::Write;

use flux_archive::diagnostic::Code;
use flux_archive::json::{Base64, Text, repair_commas};
use flux_archive::{
    Archive, ArchivePath, BlobRef, Content, Encoding, Entry, ErrorKind, Form, HashType,
    OpenOptions, Profile, Region, Writer,
};

fn path(text: &str) -> ArchivePath {
    ArchivePath::parse(text).unwrap()
}

fn region(offset: u64, data: &[u8]) -> Region {
    Region { offset, size: data.len() as u64, blobref: BlobRef::of(HashType::Sha1, data) }
}

fn written(form: Form, pretty: bool, entries: &[Entry<'_>]) -> String {
    let mut writer = Writer::new(Vec::new(), form);
    if pretty {
        writer = writer.pretty();
    }
    for entry in entries {
        writer.entry(entry).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

fn one(entry: &Entry<'_>) -> String {
    let text = written(Form::Objects, false, std::slice::from_ref(entry));
    let strict = Archive::parse(format!("[{text}]").as_bytes(), Profile::Strict)
        .map(|archive| archive.diagnostics().len());
    assert_eq!(strict.unwrap(), 0, "{text}");
    text
}

fn rejection(entry: &Entry<'_>) -> Code {
    let mut out = Vec::new();
    let error = Writer::new(&mut out, Form::Array).entry(entry).unwrap_err();
    assert!(out.is_empty());
    match error.kind() {
        ErrorKind::NotWritable { code, .. } => *code,
        other => panic!("{other}"),
    }
}

#[test]
fn keys_have_the_same_order_as_in_entries_written_by_the_c_code() {
    let timed = |entry: Entry<'static>| entry.with_mtime(-1).with_ctime(2);
    let text = timed(Entry::new(path("f"), 0o644, Content::Text(Text::new("é/\"\u{b}\n"))));
    assert_eq!(
        one(&text),
        "{\"path\":\"f\",\"encoding\":\"utf-8\",\"data\":\"é/\\\"\\u000B\\n\",\"size\":6,\
         \"mtime\":-1,\"ctime\":2,\"mode\":33188}"
    );
    let bytes = timed(Entry::new(path("f"), 0o4755, Content::Base64(Base64::encode(&[0, 255]))));
    assert_eq!(
        one(&bytes),
        r#"{"path":"f","encoding":"base64","data":"AP8=","size":2,"mtime":-1,"ctime":2,"mode":35309}"#
    );
    let regions = vec![region(0, b"AAAA"), region(8, b"BBBB")];
    let blobvec = timed(Entry::new(path("f"), 0o644, Content::Blobvec(regions)).with_size(16));
    assert_eq!(
        one(&blobvec),
        r#"{"path":"f","encoding":"blobvec","data":[[0,4,"sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3"],[8,4,"sha1-4c55e5e5fc2235cc8c201e69a345f7fab3fb46fa"]],"size":16,"mtime":-1,"ctime":2,"mode":33188}"#
    );
    let empty = timed(Entry::new(path("f"), 0o644, Content::Empty).with_size(8192));
    assert_eq!(one(&empty), r#"{"path":"f","size":8192,"mtime":-1,"ctime":2,"mode":33188}"#);
    let directory = timed(Entry::new(path("d"), 0o755, Content::Directory));
    assert_eq!(one(&directory), r#"{"path":"d","mtime":-1,"ctime":2,"mode":16877}"#);
    let link = timed(Entry::new(path("l"), 0o777, Content::Symlink("a\"b".into())));
    assert_eq!(one(&link), r#"{"path":"l","data":"a\"b","mtime":-1,"ctime":2,"mode":41471}"#);
}

#[test]
fn rewriting_an_entry_written_by_the_c_code_changes_at_most_the_letter_case() {
    let Some(corpus) = testdata::corpus() else { return };
    let text = std::fs::read_to_string(corpus.join("flux/cases-create.json")).unwrap();
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut count = 0;
    for case in cases["cases"].as_array().unwrap() {
        for object in case["reference"]["objects"].as_array().into_iter().flatten() {
            let theirs = object.to_string();
            let document = format!("[{theirs}]");
            // Skip cases that violate RFC 37: those with untidy paths, with `..`, or with a NUL in
            // their text.
            if !OpenOptions::new()
                .profile(Profile::Strict)
                .lint(document.as_bytes())
                .unwrap()
                .is_empty()
            {
                continue;
            }
            let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
            // Ignore letter case, because the JSON library that wrote the corpus uses lower-case
            // digits in escapes.
            assert_eq!(one(&archive.entries()[0]).to_lowercase(), theirs.to_lowercase());
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn an_archive_is_written_as_an_array_or_a_dict_or_consecutive_objects() {
    let entries = [
        Entry::new(path("a"), 0o755, Content::Directory),
        Entry::new(path("é/\"b"), 0o644, Content::Empty),
    ];
    assert_eq!(
        written(Form::Array, false, &entries),
        r#"[{"path":"a","mode":16877},{"path":"é/\"b","size":0,"mode":33188}]"#
    );
    assert_eq!(
        written(Form::Dict, false, &entries),
        r#"{"a":{"mode":16877},"é/\"b":{"size":0,"mode":33188}}"#
    );
    assert_eq!(
        written(Form::Objects, false, &entries),
        r#"{"path":"a","mode":16877}{"path":"é/\"b","size":0,"mode":33188}"#
    );
    assert_eq!(written(Form::Array, false, &[]), "[]");
    assert_eq!(written(Form::Dict, false, &[]), "{}");
    assert_eq!(written(Form::Objects, false, &[]), "");
}

#[test]
fn pretty_output_has_one_line_per_member() {
    let entries = [
        Entry::new(path("a"), 0o755, Content::Directory).with_mtime(1),
        Entry::new(path("b"), 0o644, Content::Text(Text::new("x\n"))),
    ];
    assert_eq!(
        written(Form::Array, true, &entries),
        r#"[
  {
    "path": "a",
    "mtime": 1,
    "mode": 16877
  },
  {
    "path": "b",
    "encoding": "utf-8",
    "data": "x\n",
    "size": 2,
    "mode": 33188
  }
]
"#
    );
    assert_eq!(
        written(Form::Dict, true, &entries[..1]),
        "{\n  \"a\": {\n    \"mtime\": 1,\n    \"mode\": 16877\n  }\n}\n"
    );
    assert_eq!(
        written(Form::Objects, true, &entries[..1]),
        "{\n  \"path\": \"a\",\n  \"mtime\": 1,\n  \"mode\": 16877\n}\n"
    );
    assert_eq!(written(Form::Array, true, &[]), "[]\n");
}

#[test]
fn untidy_entries_are_written_in_their_strict_form() {
    let nul = Entry::new(path("f"), 0o644, Content::Text(Text::new("a\0")));
    assert_eq!(
        one(&nul),
        r#"{"path":"f","encoding":"base64","data":"YQA=","size":2,"mode":33188}"#
    );
    let nothing = Entry::new(path("f"), 0o644, Content::Text(Text::new("")));
    assert_eq!(one(&nothing), r#"{"path":"f","size":0,"mode":33188}"#);
    let regions = vec![region(8, b"BBBB"), region(2, b""), region(0, b"AAAA")];
    let blobvec = Entry::new(path("f"), 0o644, Content::Blobvec(regions));
    assert!(one(&blobvec).contains(r#""data":[[0,4,"sha1-e251"#));
    let hole = Entry::new(path("f"), 0o644, Content::Blobvec(Vec::new())).with_size(9);
    assert_eq!(one(&hole), r#"{"path":"f","size":9,"mode":33188}"#);
}

#[test]
fn writing_an_entry_without_a_strict_form_fails() {
    let file = |content| Entry::new(path("f"), 0o644, content);
    let text = || Content::Text(Text::new("ab"));
    assert_eq!(rejection(&file(text()).with_size(1)), Code::SizeBelowData);
    assert_eq!(rejection(&file(text()).with_size(3)), Code::SizeAboveData);
    assert_eq!(rejection(&file(Content::Empty).with_size(1 << 63)), Code::SizeType);
    let overlapping = vec![region(0, b"AAAA"), region(2, b"BBBB")];
    assert_eq!(rejection(&file(Content::Blobvec(overlapping))), Code::UntidyRegions);
    for target in ["", "a\0"] {
        assert_eq!(rejection(&file(Content::Symlink(target.into()))), Code::LinkTarget);
    }
    let mut writer = Writer::new(Vec::new(), Form::Dict);
    writer.entry(&file(Content::Empty)).unwrap();
    let error = writer.entry(&file(Content::Empty)).unwrap_err();
    assert_eq!(error.to_string(), "f: R107 the path occurs twice in a dict");
    assert_eq!(writer.finish().unwrap(), br#"{"f":{"size":0,"mode":33188}}"#);
}

#[test]
fn writing_a_body_in_pieces_produces_the_same_json_as_writing_an_entry() {
    let text = "é\n日\"\\😀 plain ".repeat(9);
    for step in [1, 2, 3, 4, 5, 7, 64, 1000] {
        let meta = Entry::new(path("f"), 0o644, Content::Empty).with_mtime(7);
        for (encoding, content) in [
            (Encoding::Text, Content::Text(Text::new(&text))),
            (Encoding::Base64, Content::Base64(Base64::encode(text.as_bytes()))),
        ] {
            let mut writer = Writer::new(Vec::new(), Form::Array);
            let mut body = writer.body(&meta, encoding).unwrap();
            for piece in text.as_bytes().chunks(step) {
                body.write_all(piece).unwrap();
            }
            assert_eq!(body.finish().unwrap(), text.len() as u64);
            let whole = Entry::new(path("f"), 0o644, content).with_mtime(7);
            let expected = written(Form::Array, false, &[whole]);
            assert_eq!(String::from_utf8(writer.finish().unwrap()).unwrap(), expected);
        }
    }
}

#[test]
fn a_body_without_data_is_written_as_an_empty_file() {
    let meta = Entry::new(path("f"), 0o644, Content::Empty);
    for encoding in [Encoding::Text, Encoding::Base64] {
        let mut writer = Writer::new(Vec::new(), Form::Dict);
        assert_eq!(writer.body(&meta, encoding).unwrap().finish().unwrap(), 0);
        assert_eq!(writer.finish().unwrap(), br#"{"f":{"size":0,"mode":33188}}"#);
    }
}

#[test]
fn a_text_body_rejects_bytes_that_are_not_text() {
    let meta = Entry::new(path("f"), 0o644, Content::Empty);
    for bytes in [&b"a\0"[..], b"\xff", b"\xed\xa0\x80", b"a\xc3("] {
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let mut body = writer.body(&meta, Encoding::Text).unwrap();
        assert!(body.write_all(bytes).is_err(), "{}", bytes.escape_ascii());
    }
    let mut writer = Writer::new(Vec::new(), Form::Array);
    let mut body = writer.body(&meta, Encoding::Text).unwrap();
    body.write_all(b"a\xc3").unwrap();
    let error = body.finish().unwrap_err();
    assert!(error.to_string().contains("the last character is incomplete"), "{error}");
}

#[test]
fn dropping_an_unfinished_body_makes_the_writer_fail() {
    let meta = Entry::new(path("f"), 0o644, Content::Empty);
    let mut writer = Writer::new(Vec::new(), Form::Array);
    drop(writer.body(&meta, Encoding::Text).unwrap());
    assert!(writer.entry(&meta).is_err());
    assert!(writer.finish().is_err());
}

#[test]
fn copied_entries_keep_the_values_and_the_order_of_their_members() {
    let document =
        br#"[{"mode" : 33188, "x":1.50,"data": {"a" : [ 1e400 ]},"path":"a\/b","mtime":1}]"#;
    let copied = |form| {
        let mut writer = Writer::new(Vec::new(), form);
        for raw in OpenOptions::new().entries(document).unwrap() {
            writer.copy(&raw.unwrap()).unwrap();
        }
        String::from_utf8(writer.finish().unwrap()).unwrap()
    };
    assert_eq!(
        copied(Form::Array),
        r#"[{"mode":33188,"x":1.50,"data":{"a" : [ 1e400 ]},"path":"a\/b","mtime":1}]"#
    );
    assert_eq!(
        copied(Form::Dict),
        r#"{"a\/b":{"mode":33188,"x":1.50,"data":{"a" : [ 1e400 ]},"mtime":1}}"#
    );
}

#[test]
fn an_example_of_the_rfc_is_parsed_after_its_commas_are_repaired() {
    let example = br#"[
  {
    "path":"appdata/phase1",
    "mode":16893,
    "mtime":1677604007,
    "ctime":1677604007,
  }
]"#;
    assert!(Archive::parse(example, Profile::Flux).is_err());
    let repaired = repair_commas(example);
    let archive = Archive::parse(&repaired, Profile::Strict).unwrap();
    assert_eq!(archive.entries()[0].path().as_str(), "appdata/phase1");
}
