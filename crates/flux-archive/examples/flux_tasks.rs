//! Runs one task of the side-by-side benchmark, and prints its time in seconds as JSON.
//! `cargo xtask bench flux-archive` calls this program:
//!
//! ```text
//! flux_tasks create DIRECTORY ARCHIVE STORE     STORE: a directory, or "-" for no store
//! flux_tasks extract ARCHIVE DIRECTORY STORE
//! flux_tasks list ARCHIVE - -                   list the entries as `scibin flux list -l` does
//! flux_tasks parse ARCHIVE - -                  read, parse and check the whole archive
//! flux_tasks hash DIRECTORY - -                 create with blobs, but do not store them
//! flux_tasks sha1 DIRECTORY - -                 read all files first, and time only the hashing
//! flux_tasks read_sha1 DIRECTORY - -            like sha1, but also time reading the files
//! ```

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use binio::FileSource;
use binio::checksum::Algorithm;
use flux_archive::disk::{Creator, ExtractReport, Extractor};
use flux_archive::inspect::LongLine;
use flux_archive::store::{BlobStore, BlobStoreMut, Chunking, DirStore, MemoryStore, StoreError};
use flux_archive::{BlobRef, Form, HashType, OpenOptions, Writer};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The maximum size of a blob in bytes.
const CHUNK: usize = 1 << 20;

/// A store that computes the names of blobs without storing them.
struct Forget;

impl BlobStore for Forget {
    fn get(&self, _: &BlobRef, _: &mut Vec<u8>) -> Result<(), StoreError> {
        Err(StoreError::NotFound)
    }

    fn contains(&self, _: &BlobRef) -> Result<bool, StoreError> {
        Ok(false)
    }
}

impl BlobStoreMut for Forget {
    fn put(&self, hash: HashType, blob: &[u8]) -> Result<BlobRef, StoreError> {
        Ok(BlobRef::of(hash, blob))
    }

    fn remove(&self, _: &BlobRef) -> Result<bool, StoreError> {
        Ok(false)
    }

    fn list(&self) -> Result<Vec<BlobRef>, StoreError> {
        Ok(Vec::new())
    }
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, source, target, store] = &arguments[..] else {
        return Err("usage: flux_tasks TASK SOURCE TARGET STORE".into());
    };
    let wall = run(task, source, target, store)?;
    println!("{{\"wall\": {wall}}}");
    Ok(())
}

/// Runs a task, and returns its duration in seconds.
fn run(task: &str, source: &str, target: &str, store: &str) -> Outcome<f64> {
    match task {
        "create" if store == "-" => timed(|| create(source, target, None)),
        "create" => {
            let store = DirStore::create(store)?;
            timed(|| create(source, target, Some(&store)))
        }
        "list" => timed(|| list(source)),
        "parse" => timed(|| {
            let document = OpenOptions::new().read(source)?;
            black_box(OpenOptions::new().parse(&document)?);
            Ok(())
        }),
        "hash" => timed(|| create(source, "/dev/null", Some(&Forget))),
        "extract" if store == "-" => timed(|| extract(source, target, &MemoryStore::new())),
        "extract" => {
            let store = DirStore::open(store)?;
            timed(|| extract(source, target, &store))
        }
        "sha1" => {
            let mut files = Vec::new();
            for entry in fs::read_dir(source)? {
                files.push(fs::read(entry?.path())?);
            }
            timed(|| {
                for chunk in files.iter().flat_map(|file| file.chunks(CHUNK)) {
                    black_box(Algorithm::Sha1.digest(chunk));
                }
                Ok(())
            })
        }
        "read_sha1" => timed(|| {
            let mut chunk = vec![0; CHUNK];
            for entry in fs::read_dir(source)? {
                let (file, mut offset) = (File::open(entry?.path())?, 0);
                loop {
                    // One call fills the whole chunk, except at the end of the file.
                    let read = file.read_at(&mut chunk, offset)?;
                    if read == 0 {
                        break;
                    }
                    black_box(Algorithm::Sha1.digest(&chunk[..read]));
                    offset += read as u64;
                }
            }
            Ok(())
        }),
        _ => Err("unknown task".into()),
    }
}

fn timed(body: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let begin = Instant::now();
    body()?;
    Ok(begin.elapsed().as_secs_f64())
}

fn create(source: &str, target: &str, store: Option<&dyn BlobStoreMut>) -> Outcome {
    let mut writer = Writer::new(BufWriter::new(File::create(target)?), Form::Array);
    let creator = Creator::new(source)?;
    let creator = match store {
        Some(store) => creator.store(store).chunking(Chunking::new().chunk_size(CHUNK as u64)),
        None => creator,
    };
    let report = creator.write(["."], &mut writer)?;
    writer.finish()?;
    if report.failures.is_empty() { Ok(()) } else { Err("some files could not be archived".into()) }
}

fn list(source: &str) -> Outcome {
    let options = OpenOptions::new();
    let document = options.read(source)?;
    let superseded = options.superseded(&document)?;
    let mut out = BufWriter::new(File::create("/dev/null")?);
    for raw in options.entries(&document)? {
        let raw = raw?;
        if !superseded.contains(&raw.index()) {
            let line = LongLine::of(&raw).ok_or("invalid fileref")?;
            writeln!(out, "{line}")?;
        }
    }
    Ok(out.flush()?)
}

fn extract(source: &str, target: &str, store: &dyn BlobStore) -> Outcome {
    let options = OpenOptions::new();
    let extractor = Extractor::new(target)?.store(store);
    let file = FileSource::open(source)?;
    let located = options.locate(&file)?.ok_or("the archive must be parsed as a whole")?;
    check(&extractor.run_located(&located)?)
}

fn check(report: &ExtractReport) -> Outcome {
    if report.failures.is_empty() {
        Ok(())
    } else {
        Err("some entries could not be extracted".into())
    }
}
