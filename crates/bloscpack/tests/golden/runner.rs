//! Running cases, each of which consists of a file and the expected results. The file is read in
//! lenient and strict mode, verified and recovered, and all results are compared. The README of
//! `testdata` describes the fields of a case. Absent fields other than `unpack`, `strict` and
//! `verify` are not compared.

use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use binio::FileSource;
use binio::checksum::Algorithm;
use bloscpack::format::Part;
use bloscpack::repair::{RecoverOptions, recover};
use bloscpack::{
    ChunkOrder, Error, ErrorKind, OpenOptions, Reader, Result, Strictness, UnpackOptions,
    VerifyOptions, verify_source,
};
use serde_json::{Value, json};

use crate::arrays;
use crate::rewriting::every_rewrite_gives;
use crate::ways::every_way_gives;

/// The maximum time that a case may take.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Runs the cases, each of which is a path and the expected results. Panics with a list of all
/// cases whose results differ.
pub(crate) fn run<'a>(list: &Path, cases: impl Iterator<Item = (&'a Path, &'a Value)>) {
    let (mut count, mut failures) = (0, Vec::new());
    for (path, ours) in cases {
        let begin = Instant::now();
        let result = check(path, ours);
        let time = begin.elapsed();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        failures.extend(result.err().map(|text| format!("{name}: {text}")));
        failures.extend((time > MAX_TIME).then(|| format!("{name}: took {time:?}")));
        count += 1;
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {count} cases differ:\n{}", failures.join("\n"));
    eprintln!("{}: {count} cases agree", list.display());
}

fn check(path: &Path, ours: &Value) -> Result<(), String> {
    outcome(path, &OpenOptions::new(), ours, "unpack")?;
    outcome(path, &OpenOptions::new().strictness(Strictness::Strict), ours, "strict")?;
    for (order, field) in
        [(ChunkOrder::File, "order_file_sha256"), (ChunkOrder::Offsets, "order_offsets_sha256")]
    {
        if let Some(expected) = ours.get(field) {
            let data = unpack(path, &OpenOptions::new().order(order)).map_err(text)?;
            same(field, expected, &json!(sha256(&data)))?;
        }
    }
    check_verify(path, ours)?;
    check_recovered(path, ours)?;
    if let Ok(file) = Reader::open(path) {
        check_facts(&file, ours)?;
        check_array(&file, ours)?;
        if ours["unpack"] == json!(["good"]) {
            let data = file.read_all().map_err(text)?;
            every_way_gives(&file, &data).map_err(text)??;
            // Appending uses the compressor of the file, which may need the C library.
            if cfg!(feature = "c-blosc") {
                every_rewrite_gives(&file, &data).map_err(text)??;
            }
        }
    }
    Ok(())
}

/// Unpacks the file, and checks that the case allows the outcome. A case lists one or more allowed
/// outcomes: `good` (the data matches exactly), `empty`, `error` and `any`.
fn outcome(path: &Path, options: &OpenOptions, ours: &Value, mode: &str) -> Result<(), String> {
    let allowed = &ours[mode];
    let is = |outcome: &str| allowed.as_array().is_some_and(|all| all.contains(&outcome.into()));
    match unpack(path, options) {
        Ok(data) if is("good") && ours["plain_sha256"] == sha256(&data) => Ok(()),
        Ok(data) if is("empty") && data.is_empty() => Ok(()),
        Ok(_) | Err(_) if is("any") => Ok(()),
        Ok(data) => Err(format!("{mode}: {} bytes, allowed are {allowed}", data.len())),
        Err(error) if !is("error") => Err(format!("{mode}: {error}, allowed are {allowed}")),
        Err(error) if fits(&error, &ours["class"]) => Ok(()),
        Err(error) => Err(format!("{mode}: {error}, the kinds allowed are {}", ours["class"])),
    }
}

fn unpack(path: &Path, options: &OpenOptions) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    options.open(path)?.unpack_to(&mut data, &UnpackOptions::new())?;
    Ok(data)
}

/// Returns `true` if the kind of an error is in the list `class`, or if `class` is not a list. In
/// this list, `Metadata` also stands for a wrong checksum of the metadata.
fn fits(error: &Error, class: &Value) -> bool {
    let debug = format!("{:?}", error.kind());
    let name = debug.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let of_metadata =
        matches!(error.kind(), ErrorKind::ChecksumMismatch { part: Part::Metadata, .. });
    class.as_array().is_none_or(|class| {
        class.contains(&name.into()) || (of_metadata && class.contains(&"Metadata".into()))
    })
}

/// Verifies the file, and compares the status and the codes of the diagnostics.
fn check_verify(path: &Path, ours: &Value) -> Result<(), String> {
    let source = FileSource::open(path).map_err(|error| error.to_string())?;
    let report = verify_source(source, &OpenOptions::new(), &VerifyOptions::new());
    let status = match &report {
        Ok(report) => u8::from(!report.passed()),
        Err(_) => 2,
    };
    let allowed = &ours["verify"];
    if !allowed.as_array().is_some_and(|all| all.contains(&status.into())) {
        return Err(format!("verify: status {status}, allowed are {allowed}: {report:?}"));
    }
    let (Some(expected), Ok(report)) = (ours["findings"].as_array(), report) else {
        return Ok(());
    };
    let found: Vec<&str> =
        report.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    let is_missing = |code: &&str| !found.contains(code);
    if let Some(code) = expected.iter().filter_map(Value::as_str).find(is_missing) {
        return Err(format!("verify: diagnostic {code} is missing, found {found:?}"));
    }
    if expected.is_empty() && !found.is_empty() {
        return Err(format!("verify: expected no diagnostics, found {:?}", report.diagnostics));
    }
    Ok(())
}

/// Recovers the file, and compares the recovered data.
fn check_recovered(path: &Path, ours: &Value) -> Result<(), String> {
    let Some(expected) = ours.get("recovered_sha256") else { return Ok(()) };
    let recovered = || -> Result<Vec<u8>> {
        let mut sink = Cursor::new(Vec::new());
        recover(&FileSource::open(path)?, &mut sink, &RecoverOptions::new())?;
        OpenOptions::new().strictness(Strictness::Strict).from_bytes(sink.into_inner())?.read_all()
    };
    let data = recovered().map_err(text)?;
    same("recovered_size", &ours["recovered_size"], &json!(data.len()))?;
    same("recovered_sha256", expected, &json!(sha256(&data)))
}

fn check_facts(file: &Reader, ours: &Value) -> Result<(), String> {
    let found = facts(file).map_err(text)?;
    for (field, found) in found.as_object().into_iter().flatten() {
        if let Some(expected) = ours.get(field) {
            same(field, expected, found)?;
        }
    }
    if let Some(expected) = ours.get("metadata") {
        let metadata = file.metadata().map_err(text)?.ok_or("no metadata")?;
        same("metadata", expected, &metadata.json().map_err(text)?)?;
    }
    if let Some(expected) = ours.get("metadata_text") {
        let metadata = file.metadata().map_err(text)?.ok_or("no metadata")?;
        same("metadata_text", expected, &json!(String::from_utf8_lossy(metadata.text())))?;
    }
    Ok(())
}

/// Compares the properties of the array with the case, and checks that every way of reading the
/// array returns the same data. If the case expects an error, checks the kind of the error instead.
fn check_array(file: &Reader, ours: &Value) -> Result<(), String> {
    let array = match file.array() {
        Ok(array) if ours.get("array_error").is_none() => array,
        Ok(array) => return Err(format!("array: {:?}, expected an error", array.info())),
        Err(error) if ours.get("array").is_some() => return Err(format!("array: {error}")),
        Err(error) if fits(&error, ours.get("array_error").unwrap_or(&Value::Null)) => {
            return Ok(());
        }
        Err(error) => {
            return Err(format!("array: {error}, the kinds allowed are {}", ours["array_error"]));
        }
    };
    let Some(expected) = ours.get("array") else { return Ok(()) };
    let found = arrays::facts(&array);
    for (field, expected) in expected.as_object().into_iter().flatten() {
        same(&format!("array {field}"), expected, &found[field])?;
    }
    let data = file.read_all().map_err(text)?;
    arrays::every_way_gives(&array, &data).map_err(text)?
}

/// Returns the properties of the header, the layout and the chunks as JSON, in the form used in the
/// lists of cases.
fn facts(file: &Reader) -> Result<Value> {
    let chunks = file.chunks();
    let codec = |index| file.chunk_header(index).map(|header| header.codec().name());
    let mut codecs = (0..chunks.len()).map(codec).collect::<Result<Vec<_>>>()?;
    codecs.sort_unstable();
    codecs.dedup();
    let sizes: Vec<u32> = chunks.iter().map(|chunk| chunk.nbytes).take(12).collect();
    let tail = file.layout().stale_tail();
    let header = file.header();
    let size = |size: Option<u32>| size.map_or(-1, i64::from);
    Ok(json!({
        "version": header.version.number(),
        "size": file.layout().file_len(),
        "plain_size": file.len(),
        "chunks": chunks.len(),
        "chunk_nbytes": sizes,
        "codecs": codecs,
        "stale_tail": tail.end - tail.start,
        "header": {
            "options": u8::from(header.offsets) + 2 * u8::from(header.metadata),
            "checksum": header.checksum.name(),
            "typesize": header.typesize,
            "chunk_size": size(header.chunk_size),
            "last_chunk": size(header.last_chunk),
            "nchunks": header.nchunks.map_or(json!(-1), |nchunks| json!(nchunks)),
            "last_field": header.max_app_chunks,
        },
    }))
}

fn sha256(data: &[u8]) -> String {
    Algorithm::Sha256.digest(data).to_string()
}

fn same(what: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match testdata::difference(expected, found) {
        None => Ok(()),
        Some(difference) => Err(format!("{what}: {difference}")),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: Error) -> String {
    error.to_string()
}
