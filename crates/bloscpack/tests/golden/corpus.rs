//! The corpus: files of every version of the original and hostile ones, each with what reading it
//! must give. The fields of `golden.json` and `hostile.json` are described in its README.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use binio::Algorithm;
use bloscpack::{
    ChunkOrder, Error, ErrorKind, OpenOptions, Part, Reader, Result, Strictness, UnpackOptions,
    VerifyOptions, verify_source,
};
use serde_json::{Value, json};

/// No case may take longer.
const MAX_TIME: Duration = Duration::from_secs(10);

#[test]
fn corpus_golden_cases() {
    run("golden.json", 109, golden);
}

#[test]
fn corpus_hostile_cases() {
    run("hostile.json", 110, hostile);
}

/// Runs the cases of a list and fails with every one that differs.
fn run(list: &str, count: usize, check: fn(&Path, &Value) -> Result<(), String>) {
    let Some(corpus) = testdata::corpus() else { return };
    let folder = corpus.join("bloscpack");
    let text = std::fs::read_to_string(folder.join(list)).expect("the corpus has its lists");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("a list of cases");
    assert_eq!(cases.len(), count);
    let generated = tempfile::tempdir().expect("a folder");
    let mut failures = Vec::new();
    for case in &cases {
        let path = match case["file"].as_str() {
            Some(file) => folder.join(file),
            None => generate(generated.path(), case),
        };
        let begun = Instant::now();
        if let Err(text) = check(&path, case) {
            failures.push(format!("{}: {text}", path.display()));
        }
        if begun.elapsed() > MAX_TIME {
            failures.push(format!("{}: took {:?}", path.display(), begun.elapsed()));
        }
    }
    let failed = failures.len();
    assert!(failures.is_empty(), "{failed} of {count} cases differ:\n{}", failures.join("\n"));
    eprintln!("{list}: {count} cases agree");
}

/// A valid file: all that is recorded about it, and every way to read it.
fn golden(path: &Path, case: &Value) -> Result<(), String> {
    let status = case["verify"].as_u64().unwrap_or(0);
    let file = Reader::open(path).map_err(text)?;
    same("version", &case["version"], &json!(file.header().version.number()))?;
    same("size", &case["size"], &json!(file.layout().file_len()))?;
    same("plain_size", &case["plain_size"], &json!(file.len()))?;
    same("chunks", &case["chunks"], &json!(file.chunks().len()))?;
    let sizes: Vec<u32> = file.chunks().iter().map(|chunk| chunk.nbytes).take(12).collect();
    same("chunk_nbytes", &case["chunk_nbytes"], &json!(sizes))?;
    let codec = |index| file.chunk_header(index).map(|header| header.codec().name());
    let mut codecs: Vec<_> =
        (0..file.chunks().len()).map(codec).collect::<Result<_>>().map_err(text)?;
    codecs.sort_unstable();
    codecs.dedup();
    same("codecs", &case["codecs"], &json!(codecs))?;
    if let Some(header) = case.get("header") {
        same("header", header, &header_of(&file))?;
    }
    let tail = file.layout().stale_tail();
    same("stale_tail", &case["stale_tail"], &json!(tail.end - tail.start))?;
    if let Some(expected) = case.get("metadata") {
        let metadata = file.metadata().map_err(text)?.ok_or("no metadata")?;
        same("metadata", expected, &metadata.json().map_err(text)?)?;
    }
    same("verify", &json!(status), &json!(verify(path)))?;
    let strict = OpenOptions::new().strictness(Strictness::Strict).open(path);
    same("strict", &json!(status == 0), &json!(strict.is_ok()))?;
    let data = file.read_all().map_err(text)?;
    same("plain_sha256", &case["plain_sha256"], &json!(sha256(&data)))?;
    every_way_gives(&file, &data).map_err(text)?
}

/// A file that is as hostile as the case says: one of the outcomes that it allows, in each mode.
fn hostile(path: &Path, case: &Value) -> Result<(), String> {
    outcome(&OpenOptions::new(), path, case, "unpack")?;
    outcome(&OpenOptions::new().strictness(Strictness::Strict), path, case, "strict")?;
    for (field, order) in
        [("order_offsets_sha256", ChunkOrder::Offsets), ("order_file_sha256", ChunkOrder::File)]
    {
        if let Some(expected) = case.get(field) {
            let data = unpack(&OpenOptions::new().order(order), path).map_err(text)?;
            same(field, expected, &json!(sha256(&data)))?;
        }
    }
    let status = json!(verify(path));
    match &case["verify"] {
        Value::Array(allowed) if allowed.contains(&status) => Ok(()),
        allowed => Err(format!("verify: {status}, allowed are {allowed}")),
    }
}

/// Unpacks and holds the outcome against those allowed.
fn outcome(options: &OpenOptions, path: &Path, case: &Value, mode: &str) -> Result<(), String> {
    let allowed: Vec<&str> =
        case[mode].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let is = |outcome: &str| allowed.contains(&outcome) || allowed.contains(&"any");
    match unpack(options, path) {
        Ok(data) if is("good") && case["good_sha256"] == sha256(&data) => Ok(()),
        Ok(data) if is("empty") && data.is_empty() => Ok(()),
        Ok(_) if is("any") => Ok(()),
        Ok(data) => Err(format!("{mode}: {} bytes, allowed are {allowed:?}", data.len())),
        Err(error) if !is("error") => Err(format!("{mode}: {error}, allowed are {allowed:?}")),
        Err(error) => {
            let (class, allowed) = (class(&error), &case["class"]);
            let fits = allowed.as_array().is_none_or(|all| {
                all.iter().any(|one| class.contains(&one.as_str().unwrap_or_default()))
            });
            if fits {
                Ok(())
            } else {
                Err(format!("{mode}: {class:?} ({error}), allowed are {allowed}"))
            }
        }
    }
}

fn unpack(options: &OpenOptions, path: &Path) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    options.open(path)?.unpack_to(&mut data, &UnpackOptions::new())?;
    Ok(data)
}

/// The names that the list has for an error.
fn class(error: &Error) -> Vec<&'static str> {
    match error.kind() {
        ErrorKind::Truncated { .. } => vec!["Truncated"],
        ErrorKind::NotBloscpack { .. } => vec!["NotBloscpack"],
        ErrorKind::UnsupportedVersion(_) => vec!["UnsupportedVersion"],
        ErrorKind::UnknownOptions(_) => vec!["UnknownOptions"],
        ErrorKind::UnknownChecksum(_) => vec!["UnknownChecksum"],
        ErrorKind::InvalidHeader { .. } => vec!["InvalidHeader"],
        ErrorKind::ChecksumMismatch { part: Part::Metadata, .. } => {
            vec!["ChecksumMismatch", "Metadata"]
        }
        ErrorKind::ChecksumMismatch { .. } => vec!["ChecksumMismatch"],
        ErrorKind::CorruptChunk { .. } => vec!["CorruptChunk"],
        ErrorKind::SizeMismatch { .. } => vec!["SizeMismatch"],
        ErrorKind::OffsetMismatch { .. } => vec!["OffsetMismatch"],
        ErrorKind::Metadata(_) => vec!["Metadata"],
        _ => vec![],
    }
}

/// The status of `verify`: 0 fine, 1 damaged, 2 cannot be read.
fn verify(path: &Path) -> u8 {
    let source = binio::FileSource::open(path).expect("a file");
    match verify_source(Arc::new(source), &OpenOptions::new(), &VerifyOptions::new()) {
        Ok(report) => u8::from(!report.is_fine()),
        Err(_) => 2,
    }
}

/// Over one thread and several, to memory, a sink and a file, chunk by chunk, and in parts.
fn every_way_gives(file: &Reader, data: &[u8]) -> Result<Result<(), String>> {
    let mut chunks = Vec::new();
    for index in 0..file.chunks().len() {
        chunks.extend(file.decode_chunk(index)?);
    }
    let mut ways = vec![("chunks", chunks)];
    for threads in [1, 3] {
        let options = UnpackOptions::new().threads(threads);
        let mut sink = Vec::new();
        file.unpack_to(&mut sink, &options)?;
        let target = tempfile::tempfile().map_err(binio::Error::from)?;
        file.unpack_to_file(&target, &options)?;
        let written = binio::FileSource::new(target)?;
        let written = binio::ReadAt::bytes_at(&written, 0, data.len())?.to_vec();
        ways.extend([
            ("sink", sink),
            ("file", written),
            ("memory", file.read_all_parallel(&options)?),
        ]);
    }
    for (way, found) in ways {
        if found != data {
            return Ok(Err(format!("{way}: other bytes")));
        }
    }
    // Ranges that begin and end at and beside the borders of chunks.
    let borders = file.chunks().iter().flat_map(|chunk| {
        let range = chunk.plain_range();
        [range.start, range.start + 1, range.end.saturating_sub(1), range.end]
    });
    let mut borders: Vec<u64> = borders.filter(|&border| border <= file.len()).take(16).collect();
    borders.dedup();
    for &start in &borders {
        for &end in borders.iter().filter(|&&end| end >= start) {
            let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
            let mut part = vec![0; range.len()];
            file.read_at(start, &mut part)?;
            if part != data[range.clone()] {
                return Ok(Err(format!("read_at {range:?}: other bytes")));
            }
        }
    }
    Ok(Ok(()))
}

fn header_of(file: &Reader) -> Value {
    let header = file.header();
    let size = |size: Option<u32>| size.map_or(-1, i64::from);
    json!({
        "options": u8::from(header.offsets) + 2 * u8::from(header.metadata),
        "checksum": header.checksum.name(),
        "typesize": header.typesize,
        "chunk_size": size(header.chunk_size),
        "last_chunk": size(header.last_chunk),
        "nchunks": header.nchunks.map_or(json!(-1), |nchunks| json!(nchunks)),
        "last_field": header.max_app_chunks,
    })
}

/// The case that is too large to store: a match whose length would overflow an `i32`.
fn generate(folder: &Path, case: &Value) -> PathBuf {
    assert_eq!(case["generate"], "blosclz_overflow");
    let mut stream = b"\x03abcd\xe0".to_vec();
    stream.resize(stream.len() + 8_421_605, 0xff);
    stream.extend([0, 1, 0]);
    stream.extend([0; 8]);
    let number = |value: usize| u32::try_from(value).expect("small").to_le_bytes();
    let mut buffer = vec![2, 1, 0x10, 1];
    buffer.extend(
        [
            number(65_536),
            number(65_536),
            number(24 + stream.len()),
            number(20),
            number(stream.len()),
        ]
        .concat(),
    );
    buffer.extend(stream);
    let mut bytes = b"blpk\x03\0\x01\x01".to_vec();
    bytes.extend([number(65_536), number(65_536)].concat());
    bytes.extend([1_i64.to_le_bytes(), [0; 8]].concat());
    bytes.extend(&buffer);
    bytes.extend(bloscpack::Checksum::Adler32.compute(&buffer));
    assert_eq!(case["size"], bytes.len());
    let path = folder.join("blosclz_overflow.blp");
    std::fs::write(&path, bytes).expect("written");
    path
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
