//! Tests that read the state of a broker from a dump, and from a `content.sqlite` database in the
//! format of Flux.

use std::fs;
use std::path::Path;

use flux_archive::disk::Extractor;
use flux_archive::json::Base64;
use flux_archive::kvs::{BrokerState, JobId, KvsError, StateDir};
use flux_archive::store::StoreError;
use flux_archive::{Archive, BlobRef, HashType, OpenOptions, Profile};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params};
use serde_json::{Value, json};

/// The database schemas of flux-core since version 0.87 (`NEW`) and before version 0.77 (`OLD`).
const NEW: &str = "
    CREATE TABLE objects(hash BLOB PRIMARY KEY, size INT, object BLOB, epoch INT DEFAULT 0);
    CREATE TABLE checkpt_v2(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, value TEXT);";
const OLD: &str = "
    CREATE TABLE objects(hash CHAR(20) PRIMARY KEY, size INT, object BLOB);
    CREATE TABLE checkpt(key TEXT UNIQUE, value TEXT);";

/// A digest that is passed to `SQLite` as text. Flux does the same, although the bytes of a digest
/// are not necessarily text.
struct Text<'d>(&'d [u8]);

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Stores a blob in the same way as Flux: compressed if it has at least 256 bytes.
fn put(database: &Connection, blob: &[u8]) -> String {
    let blobref = BlobRef::of(HashType::Sha1, blob);
    let compressed = (blob.len() >= 256).then(|| lz4_flex::block::compress(blob));
    let size = compressed.as_ref().map_or(-1, |_| i64::try_from(blob.len()).unwrap());
    let object = compressed.as_deref().unwrap_or(blob);
    let insert = "INSERT OR IGNORE INTO objects (hash, size, object) VALUES (?1, ?2, ?3)";
    database.execute(insert, params![Text(blobref.digest()), size, object]).unwrap();
    blobref.to_string()
}

fn directory(members: &Value) -> Value {
    json!({"ver": 1, "type": "dir", "data": members})
}

/// Returns an archive with a single blob.
fn archive(content: &[u8], blobref: &str) -> String {
    let size = content.len();
    let file = json!({"path": "a/big", "encoding": "blobvec", "data": [[0, size, blobref]],
        "size": size, "mtime": 5, "ctime": 5, "mode": 33188});
    json!([file]).to_string()
}

/// Creates a state directory with the archive `main`, and a job with a script.
fn make_state(path: &Path, schema: &str, content: &[u8]) {
    let database = Connection::open(path.join("content.sqlite")).unwrap();
    database.execute_batch(schema).unwrap();
    let blobref = put(&database, content);
    let json = archive(content, &blobref);
    let (head, tail) = json.split_at(json.len() / 2);
    let pieces = [put(&database, head.as_bytes()), put(&database, tail.as_bytes())];
    let main = json!({"ver": 1, "type": "valref", "data": pieces});
    let archives = put(&database, directory(&json!({"main": main})).to_string().as_bytes());
    let jobspec = json!({"attributes": {"system": {"files": {
        "script": {"mode": 33216, "encoding": "utf-8", "data": "#!/bin/sh\n"},
    }}}});
    let jobspec = Base64::encode(jobspec.to_string().as_bytes()).as_str().to_owned();
    let job = directory(&json!({"jobspec": {"ver": 1, "type": "val", "data": jobspec}}));
    let job = ["0000", "b200", "0004", "0000"]
        .into_iter()
        .fold(job, |below, name| directory(&json!({ name: below })));
    let root = directory(&json!({
        "archive": {"ver": 1, "type": "dirref", "data": [archives]},
        "job": job,
    }));
    let root = put(&database, root.to_string().as_bytes());
    let value = json!({"version": 1, "rootref": root, "sequence": 3, "timestamp": 1.0}).to_string();
    if schema == NEW {
        let stale = json!({"version": 1, "rootref": blobref, "sequence": 2}).to_string();
        for value in [stale, value] {
            database.execute("INSERT INTO checkpt_v2 (value) VALUES (?1)", [value]).unwrap();
        }
    } else {
        let insert = "INSERT INTO checkpt VALUES ('kvs-primary', ?1)";
        database.execute(insert, [value]).unwrap();
    }
}

#[test]
fn an_archive_is_rescued_from_the_database_of_a_broker() {
    for schema in [NEW, OLD] {
        let folder = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[1]).collect();
        make_state(folder.path(), schema, &content);
        let before = fs::read(folder.path().join("content.sqlite")).unwrap();

        let state = StateDir::open(folder.path()).unwrap();
        assert_eq!(state.archives().unwrap(), ["main"]);
        let json = state.archive("main").unwrap();
        let archive = Archive::parse(&json, Profile::Flux).unwrap();
        let target = tempfile::tempdir().unwrap();
        let extractor = Extractor::new(target.path()).unwrap().store(state.store());
        let report = extractor.run(&archive).unwrap();
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        assert!(fs::read(target.path().join("a/big")).unwrap() == content);

        let jobspec = state.jobspec(JobId::parse("0x00000004b2000000").unwrap()).unwrap();
        let files = OpenOptions::new().parse(&jobspec).unwrap();
        assert_eq!(files.entries()[0].path().as_str(), "script");

        drop(state);
        assert_eq!(fs::read(folder.path().join("content.sqlite")).unwrap(), before);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no file is created next to the database"
        );
    }
}

#[test]
fn older_checkpoints_are_listed_and_read_from_their_own_root() {
    let folder = tempfile::tempdir().unwrap();
    make_state(folder.path(), NEW, b"no directory");
    let state = StateDir::open(folder.path()).unwrap();
    let sequences: Vec<_> = state.checkpoints().iter().map(|at| at.sequence.unwrap()).collect();
    assert_eq!(sequences, [3, 2]);
    let older = state.checkpoints()[1].clone();
    assert!(matches!(state.at(&older).archive("main"), Err(KvsError::Invalid { .. })));
}

#[test]
fn an_archive_with_a_damaged_blob_is_read_but_extracting_the_blob_fails() {
    let folder = tempfile::tempdir().unwrap();
    let content = vec![7; 5000];
    make_state(folder.path(), NEW, &content);
    let database = Connection::open(folder.path().join("content.sqlite")).unwrap();
    let blobref = BlobRef::of(HashType::Sha1, &content);
    let false_object = lz4_flex::block::compress(&[8; 5000]);
    let update = "UPDATE objects SET object = ?1 WHERE hash = ?2";
    assert_eq!(database.execute(update, params![false_object, Text(blobref.digest())]).unwrap(), 1);
    drop(database);
    let state = StateDir::open(folder.path()).unwrap();
    let json = state.archive("main").unwrap();
    let archive = Archive::parse(&json, Profile::Flux).unwrap();
    let target = tempfile::tempdir().unwrap();
    let extractor = Extractor::new(target.path()).unwrap().store(state.store());
    assert_eq!(extractor.run(&archive).unwrap().failures.len(), 1);
}

fn write_dump(path: &Path, members: &[(&str, &[u8])]) {
    let mut builder = tar::Builder::new(fs::File::create(path).unwrap());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.finish().unwrap();
}

#[test]
fn an_archive_is_rescued_from_a_dump() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.tar");
    let content = vec![7; 5000];
    let json = archive(&content, &BlobRef::of(HashType::Sha1, &content).to_string());
    write_dump(&path, &[("archive/main", json.as_bytes()), ("archive/main_blobs/0", &content)]);

    let state = BrokerState::open(&path).unwrap();
    assert_eq!((state.archives().unwrap(), state.damage()), (vec!["main".to_owned()], None));
    let json = state.archive("main").unwrap();
    let archive = Archive::parse(&json, Profile::Strict).unwrap();
    let target = tempfile::tempdir().unwrap();
    let extractor = Extractor::new(target.path()).unwrap().store(state.store());
    assert!(extractor.run(&archive).unwrap().failures.is_empty());
    assert_eq!(fs::read(target.path().join("a/big")).unwrap(), content);
    assert!(matches!(state.archive("other"), Err(KvsError::NotFound(_))));

    // A key that is missing from a truncated dump may have been in the lost part.
    let dump = fs::read(&path).unwrap();
    fs::write(&path, &dump[..1536]).unwrap();
    let state = BrokerState::open(&path).unwrap();
    assert_eq!(state.archive("main").unwrap(), json);
    assert!(state.damage().is_some());
    let error = state.archive("other").unwrap_err();
    assert!(matches!(error, KvsError::Store(StoreError::Damaged(_))), "{error}");
}

#[test]
fn a_job_with_a_jobspec_is_found_in_a_dump() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dump.tar");
    let job = "job/0000/0004/b200/0000";
    write_dump(&path, &[(&format!("{job}/jobspec"), b"{}"), (&format!("{job}/R"), b"{}")]);
    let state = BrokerState::open(&path).unwrap();
    let id = JobId::parse("0000.0004.b200.0000").unwrap();
    let (jobs, failures) = state.jobs();
    assert_eq!((jobs, failures.len()), (vec![id], 0));
    assert_eq!(state.jobspec(id).unwrap(), b"{}");
}

#[test]
fn a_state_directory_is_opened_and_a_missing_directory_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    make_state(folder.path(), NEW, b"content");
    assert_eq!(BrokerState::open(folder.path()).unwrap().archives().unwrap(), ["main"]);
    let error = BrokerState::open(folder.path().join("missing")).unwrap_err();
    assert!(matches!(error, KvsError::Store(StoreError::Io(_))), "{error}");
}
