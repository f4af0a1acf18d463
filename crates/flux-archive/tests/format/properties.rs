//! Properties of arbitrary archives. For example, a written archive is strict and parses to the
//! same entries.

use flux_archive::edit::{convert, fix};
use flux_archive::inspect::diff;
use flux_archive::json::{Base64, Json, Text};
use flux_archive::{
    Archive, ArchivePath, BlobRef, Content, Entry, Form, HashType, OpenOptions, Profile, Region,
    Writer,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::value::RawValue;

/// Content that owns its data.
#[derive(Clone, Debug)]
enum Owned {
    Directory,
    Symlink(String),
    Empty(u32),
    Json(String),
    Text(String),
    Base64(Vec<u8>),
    Blobvec(Vec<(u16, Vec<u8>, bool)>, u16),
}

fn content() -> impl Strategy<Value = Owned> {
    let json = prop_oneof![
        Just("null".to_owned()),
        Just("[1e400, {\"a\" : \"\\ud800\"}]".to_owned()),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:?}")),
        "[a-z]{0,9}".prop_map(|text| format!("\"{text}\"")),
    ];
    prop_oneof![
        Just(Owned::Directory),
        "[^\0]{1,12}".prop_map(Owned::Symlink),
        any::<u32>().prop_map(Owned::Empty),
        json.prop_map(Owned::Json),
        ".{0,30}|[\0-\u{7f}é😀]{0,30}".prop_map(Owned::Text),
        any::<Vec<u8>>().prop_map(Owned::Base64),
        (vec((any::<u16>(), vec(any::<u8>(), 1..9), any::<bool>()), 0..5), any::<u16>())
            .prop_map(|(regions, hole)| Owned::Blobvec(regions, hole)),
    ]
}

fn entry<'a>(
    path: &str,
    owned: &'a Owned,
    permissions: u32,
    times: (Option<i64>, Option<i64>),
) -> Entry<'a> {
    let mut size = None;
    let content = match owned {
        Owned::Directory => Content::Directory,
        Owned::Symlink(target) => Content::Symlink(target.as_str().into()),
        Owned::Empty(hole) => {
            size = Some(u64::from(*hole));
            Content::Empty
        }
        Owned::Json(text) => Content::Json(Json::parse(text).unwrap()),
        Owned::Text(text) => Content::Text(Text::new(text)),
        Owned::Base64(data) => Content::Base64(Base64::encode(data)),
        Owned::Blobvec(regions, hole) => {
            let mut end = 0;
            let regions = regions.iter().map(|(gap, data, sha256)| {
                let hash = if *sha256 { HashType::Sha256 } else { HashType::Sha1 };
                let offset = end + u64::from(*gap);
                end = offset + data.len() as u64;
                Region { offset, size: data.len() as u64, blobref: BlobRef::of(hash, data) }
            });
            let content = Content::Blobvec(regions.collect());
            size = Some(content.data_len() + u64::from(*hole));
            content
        }
    };
    let mut entry = Entry::new(ArchivePath::parse(path).unwrap(), permissions, content);
    if let Some(size) = size {
        entry = entry.with_size(size);
    }
    if let Some(mtime) = times.0 {
        entry = entry.with_mtime(mtime);
    }
    if let Some(ctime) = times.1 {
        entry = entry.with_ctime(ctime);
    }
    entry
}

fn write(entries: &[Entry<'_>], form: Form, pretty: bool) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), form);
    if pretty {
        writer = writer.pretty();
    }
    for entry in entries {
        writer.entry(entry).unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #[test]
    fn written_archives_are_strict_and_parse_to_the_same_entries(
        objects in btree_map(
            "[^/\0.\\\\]{1,8}|[a-z\"\\\\\n😀é]{1,6}",
            (content(), 0_u32..0o10000, any::<(Option<i64>, Option<i64>)>()),
            0..8,
        ),
        pretty: bool,
    ) {
        let entries: Vec<Entry<'_>> = objects.iter()
            .map(|(path, (owned, permissions, times))| entry(path, owned, *permissions, *times))
            .collect();

        let array = write(&entries, Form::Array, pretty);
        let dict = write(&entries, Form::Dict, pretty);
        for (document, form) in [(&array, Form::Array), (&dict, Form::Dict)] {
            // Any JSON parser must accept the document.
            prop_assert!(serde_json::from_slice::<Box<RawValue>>(document).is_ok());
            let archive = Archive::parse(document, Profile::Strict).unwrap();
            prop_assert_eq!(archive.diagnostics(), &[]);
            prop_assert_eq!(archive.form(), form);
            prop_assert_eq!(archive.entries().len(), entries.len());
            for (read, entry) in archive.entries().iter().zip(&entries) {
                prop_assert_eq!(read.path(), entry.path());
                prop_assert_eq!(read.mode(), entry.mode());
                prop_assert_eq!(read.mtime(), entry.mtime());
                prop_assert_eq!(read.ctime(), entry.ctime());
                prop_assert_eq!(read.len(), entry.len());
            }
            prop_assert_eq!(write(archive.entries(), form, pretty), document.clone());

            let mut fixed = Writer::new(Vec::new(), form);
            prop_assert_eq!(fix(document, &OpenOptions::new(), &mut fixed).unwrap(), 0);
        }
        let (array_read, dict_read) = (
            Archive::parse(&array, Profile::Strict).unwrap(),
            Archive::parse(&dict, Profile::Strict).unwrap(),
        );
        prop_assert_eq!(diff(&array_read, &dict_read), []);

        if !pretty {
            for (from, to, form) in [(&array, &dict, Form::Dict), (&dict, &array, Form::Array)] {
                let mut writer = Writer::new(Vec::new(), form);
                convert(from, &OpenOptions::new(), &mut writer).unwrap();
                prop_assert_eq!(&writer.finish().unwrap(), to);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_are_parsed_or_rejected_without_panic(document: Vec<u8>) {
        for profile in Profile::ALL {
            let _ = Archive::parse(&document, profile);
        }
    }

    #[test]
    fn altered_archives_are_parsed_or_rejected_without_panicking(at in 0_usize..400, byte: u8, cut in 0_usize..400) {
        let document = br#"[{"path":"a\u00e9","encoding":"utf-8","data":"x\ud83d\ude00\n","size":6,"mode":33188},
            {"path":"b","encoding":"blobvec","data":[[0,4,"sha1-e2512172abf8cc9f67fdd49eb6cacf2df71bbad3"]],"size":4,"mode":33188},
            {"path":"c","encoding":"base64","data":"AAECAw==","size":4,"mtime":-1,"mode":33188}]"#;
        let mut changed = document.to_vec();
        let at = at.min(changed.len() - 1);
        changed[at] = byte;
        changed.truncate(changed.len() - cut.min(changed.len()) / 7);
        for profile in Profile::ALL {
            if let Ok(archive) = Archive::parse(&changed, profile) {
                prop_assert!(write_all_that_can_be(archive.entries()).is_ok());
            }
        }
    }
}

/// Writes those entries that have a strict form. The resulting archive must be strict, apart from
/// duplicate paths.
fn write_all_that_can_be(entries: &[Entry<'_>]) -> Result<(), flux_archive::Error> {
    let mut writer = Writer::new(Vec::new(), Form::Array);
    for entry in entries {
        let _ = writer.entry(entry);
    }
    let lint = OpenOptions::new().profile(Profile::Strict).lint(&writer.finish()?)?;
    assert!(lint.iter().all(|diagnostic| diagnostic.code.as_str() == "R107"), "{lint:?}");
    Ok(())
}
