//! Parsing an arbitrary document must either succeed or return an error. Parsing, checking and
//! converting must agree on which documents are archives. In a parsed archive, sizes must match the
//! data. An archive written again must read back unchanged, and be valid in the strict profile
//! except for duplicate paths and large blobs. Fixing a fixed archive must change nothing.

#![no_main]

use std::io::sink;

use flux_archive::diagnostic::Severity;
use flux_archive::edit::{convert, fix};
use flux_archive::inspect::{LongLine, diff, fnmatch};
use flux_archive::json::repair_commas;
use flux_archive::{
    Archive, Content, Entry, ErrorKind, FileType, Form, Limits, OpenOptions, Profile, Writer,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let repaired = repair_commas(data);
    assert_eq!(repaired.len(), data.len());
    assert_eq!(repair_commas(&repaired), repaired);
    let limits = Limits::default().max_file_size(1 << 40);
    let options = |profile| OpenOptions::new().profile(profile).limits(limits);
    for profile in Profile::ALL {
        let parsed = options(profile).parse(data);
        let lint = options(profile).lint(data);
        match (&parsed, &lint) {
            (Ok(archive), Ok(diagnostics)) => {
                assert_eq!(archive.diagnostics(), diagnostics);
                assert!(
                    diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning)
                );
                check(archive, profile);
            }
            (Err(error), Ok(diagnostics)) => {
                assert!(matches!(error.kind(), ErrorKind::Rejected(_)), "{error}");
                assert!(
                    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
                );
            }
            (Err(error), Err(_)) => {
                assert!(error.offset().is_none_or(|offset| offset <= data.len() as u64), "{error}");
            }
            (Ok(_), Err(error)) => panic!("{error}"),
        }
        // Converting must succeed if and only if parsing does, and must preserve the entries.
        for form in [Form::Array, Form::Dict] {
            let mut writer = Writer::new(Vec::new(), form);
            match (convert(data, &options(profile), &mut writer), &parsed) {
                (Ok(_), Ok(archive)) => {
                    let converted = writer.finish().expect("writing to a vector succeeds");
                    let again = options(profile).parse(&converted);
                    let again = again.unwrap_or_else(|error| panic!("{form:?}: {error}"));
                    assert!(form == Form::Dict || again.entries().len() == archive.entries().len());
                    assert!(diff(archive, &again).is_empty());
                }
                (Err(_), Err(_)) => {}
                (converted, _) => panic!("{converted:?}"),
            }
        }
        let mut writer = Writer::new(Vec::new(), Form::Array);
        if fix(data, &options(profile), &mut writer).is_ok() {
            let fixed = writer.finish().expect("writing to a vector succeeds");
            let mut writer = Writer::new(Vec::new(), Form::Array);
            assert!(fix(&fixed, &options(profile), &mut writer).is_ok());
            assert_eq!(writer.finish().expect("writing to a vector succeeds"), fixed);
        }
    }
    for raw in OpenOptions::new().entries(data).into_iter().flatten().map_while(Result::ok) {
        if let Some(line) = LongLine::of(&raw) {
            assert!(fnmatch("*", line.path()));
            let _ = (line.to_string(), fnmatch(line.path(), "path"));
        }
    }
});

fn check(archive: &Archive<'_>, profile: Profile) {
    let mut writer = Writer::new(Vec::new(), Form::Array);
    let mut all = true;
    for entry in archive.entries() {
        check_entry(entry);
        all &= writer.entry(entry).is_ok();
    }
    let written = writer.finish().expect("writing to a vector succeeds");
    let strict = OpenOptions::new().profile(Profile::Strict).lint(&written).expect("JSON");
    // A writer of single entries cannot detect duplicate paths or large blobs, so ignore these
    // diagnostics.
    assert!(
        strict.iter().all(|diagnostic| matches!(diagnostic.code.as_str(), "R107" | "R154")),
        "{strict:?}"
    );
    if all {
        let again =
            Archive::parse(&written, profile).expect("a strict archive is valid in every profile");
        assert!(diff(archive, &again).is_empty());
    }
}

fn check_entry(entry: &Entry<'_>) {
    assert_eq!(entry.file_type(), entry.content().file_type());
    assert!(!entry.path().components().any(|part| matches!(part, "" | "." | "..")));
    assert!(entry.len() >= entry.content().data_len() || entry.file_type() != FileType::Regular);
    match entry.content() {
        Content::Text(text) => {
            assert_eq!(text.decode().len() as u64, text.len());
            assert!(text.write_to(&mut sink()).is_ok());
        }
        Content::Base64(data) => {
            let decoded = data.decode();
            assert_eq!(decoded.len() as u64, data.len());
            let mut part = [0; 50];
            let n = data.read_at(&mut part, 3).expect("the data was checked when it was parsed");
            assert_eq!(part[..n], decoded[decoded.len().min(3)..][..n]);
        }
        Content::Blobvec(regions) => {
            assert!(regions.iter().all(|region| region.end() <= entry.len()));
        }
        _ => {}
    }
}
