//! Blobs in Flux's `content.sqlite`.
//!
//! ```sql
//! objects(hash BLOB PRIMARY KEY, size INT, object BLOB, epoch INT DEFAULT 0)  -- epoch since 0.87
//! checkpt_v2(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, value TEXT)       -- since 0.77
//! checkpt(key TEXT UNIQUE, value TEXT)                                        -- before
//! ```
//!
//! | column | holds |
//! |---|---|
//! | `hash` | the digest, 20 or 32 bytes, without the name of the hash |
//! | `size` | -1: `object` is the blob; else `object` is an LZ4 block that decodes to `size` bytes |
//!
//! **The digest is stored as text**, whatever the declared type of the column: Flux binds it so. A look-up
//! with a blob finds no row, and Flux does not find a row that is written as a blob.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, OptionalExtension, ToSql, params};
use tempfile::TempDir;

use super::{BlobStore, BlobStoreMut, StoreError};
use crate::model::{BlobRef, HashType};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS objects(
        hash BLOB PRIMARY KEY, size INT, object BLOB, epoch INT DEFAULT 0);
    CREATE TABLE IF NOT EXISTS checkpt_v2(
        id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, value TEXT);
";

/// Size in bytes from which Flux compresses a blob.
const COMPRESS_FROM: usize = 256;

/// The largest ratio of LZ4.
const LZ4_RATIO: u64 = 255;

/// A `content.sqlite` of Flux, offline: no broker may have it open.
///
/// Reading does not change the file. If a crashed broker left a log next to it (`-wal`), database and log
/// are copied to a temporary directory, and the copy is read.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Mutex<Connection>,
    /// The directory of the copy; removed with the store.
    _copy: Option<TempDir>,
}

/// A digest, bound as Flux binds it.
struct AsText<'a>(&'a [u8]);

impl ToSql for AsText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

impl SqliteStore {
    /// Opens a database for reading.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        fs::metadata(path)?;
        let logs = ["-wal", "-journal"].map(|suffix| beside(path, suffix));
        let unmerged = |log: &PathBuf| fs::metadata(log).is_ok_and(|log| log.len() > 0);
        if logs.iter().any(unmerged) {
            let copy = tempfile::tempdir()?;
            let database = copy.path().join("content.sqlite");
            fs::copy(path, &database)?;
            for (log, suffix) in logs.iter().zip(["-wal", "-journal"]) {
                if log.exists() {
                    fs::copy(log, beside(&database, suffix))?;
                }
            }
            let connection = Connection::open(&database)?;
            return Self::check(connection, Some(copy));
        }
        // The database has no log, so nothing is lost, and nothing is written next to the file.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::check(Connection::open_with_flags(immutable_uri(path)?, flags)?, None)
    }

    /// Opens a database for writing, and creates it if it does not exist.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.execute_batch(SCHEMA)?;
        Self::check(connection, None)
    }

    fn check(connection: Connection, copy: Option<TempDir>) -> Result<Self, StoreError> {
        // The schema is part of the file: a view in it may run for ever.
        let tables = "SELECT count(*) FROM sqlite_schema
            WHERE name IN ('objects', 'checkpt', 'checkpt_v2')
            AND (type != 'table' OR sql NOT LIKE 'CREATE TABLE%')";
        if connection.query_row(tables, [], |row| row.get::<_, i64>(0))? > 0 {
            let error = "the tables of Flux are not tables in this file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error).into());
        }
        connection.prepare("SELECT hash, size, object FROM objects")?;
        Ok(Self { connection: Mutex::new(connection), _copy: copy })
    }

    /// The values of the checkpoints, the newest first.
    pub fn checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let connection = self.lock();
        for query in [
            "SELECT value FROM checkpt_v2 ORDER BY id DESC",
            "SELECT value FROM checkpt WHERE key = 'kvs-primary'",
        ] {
            // Some versions of Flux do not have the table.
            let Ok(mut statement) = connection.prepare(query) else { continue };
            let values = statement.query_map([], |row| row.get(0))?;
            let values = values.collect::<rusqlite::Result<Vec<String>>>()?;
            if !values.is_empty() {
                return Ok(values);
            }
        }
        Ok(Vec::new())
    }

    // Every statement is a transaction: a thread that panicked leaves none open.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobStore for SqliteStore {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        out.clear();
        let size = {
            let connection = self.lock();
            let mut statement = connection
                .prepare_cached("SELECT size, object FROM objects WHERE hash IN (?1, ?2)")?;
            let digest = blobref.digest();
            let row = statement.query_row(params![AsText(digest), digest], |row| {
                if let ValueRef::Blob(object) | ValueRef::Text(object) = row.get_ref(1)? {
                    out.extend_from_slice(object);
                }
                row.get::<_, i64>(0)
            });
            row.optional()?.ok_or(StoreError::NotFound)?
        };
        StoreError::check_size(out.len() as u64)?;
        match u64::try_from(size) {
            Ok(size) => decompress(out, size),
            Err(_) => Ok(()),
        }
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT 1 FROM objects WHERE hash IN (?1, ?2)")?;
        let digest = blobref.digest();
        Ok(statement.exists(params![AsText(digest), digest])?)
    }
}

/// Replaces an LZ4 block by the decoded data.
fn decompress(block: &mut Vec<u8>, size: u64) -> Result<(), StoreError> {
    StoreError::check_size(size)?;
    let most = block.len() as u64 * LZ4_RATIO;
    let len = usize::try_from(size).ok().filter(|_| size <= most);
    let len = len.ok_or_else(|| {
        let held = block.len();
        StoreError::Corrupt(format!("{held} bytes of LZ4 cannot decode to {size} bytes"))
    })?;
    let mut data = vec![0; len];
    let decoded = lz4_flex::block::decompress_into(block, &mut data);
    let decoded = decoded.map_err(|error| StoreError::Corrupt(error.to_string()))?;
    if decoded != len {
        let message = format!("expected {size} bytes after decompression, found {decoded}");
        return Err(StoreError::Corrupt(message));
    }
    *block = data;
    Ok(())
}

impl BlobStoreMut for SqliteStore {
    fn put(&self, hash: HashType, blob: &[u8]) -> Result<BlobRef, StoreError> {
        StoreError::check_size(blob.len() as u64)?;
        let blobref = BlobRef::of(hash, blob);
        let packed = (blob.len() >= COMPRESS_FROM).then(|| lz4_flex::block::compress(blob));
        let (size, object) = match &packed {
            Some(packed) => (i64::try_from(blob.len()).unwrap_or(i64::MAX), packed.as_slice()),
            None => (-1, blob),
        };
        let connection = self.lock();
        let mut statement = connection.prepare_cached(
            "INSERT OR REPLACE INTO objects (hash, size, object) VALUES (?1, ?2, ?3)",
        )?;
        statement.execute(params![AsText(blobref.digest()), size, object])?;
        Ok(blobref)
    }

    fn remove(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("DELETE FROM objects WHERE hash IN (?1, ?2)")?;
        let digest = blobref.digest();
        Ok(statement.execute(params![AsText(digest), digest])? > 0)
    }

    fn list(&self) -> Result<Vec<BlobRef>, StoreError> {
        let connection = self.lock();
        let mut statement = connection.prepare("SELECT hash FROM objects")?;
        let mut rows = statement.query([])?;
        let mut blobrefs = Vec::new();
        while let Some(row) = rows.next()? {
            let (ValueRef::Text(digest) | ValueRef::Blob(digest)) = row.get_ref(0)? else {
                continue;
            };
            let hash = HashType::ALL.into_iter().find(|hash| hash.digest_len() == digest.len());
            blobrefs.extend(hash.and_then(|hash| BlobRef::from_digest(hash, digest)));
        }
        Ok(blobrefs)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        io::Error::other(error).into()
    }
}

/// Appends a suffix to a file name: `content.sqlite-wal`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The path as a URI that makes the library ignore locks and logs.
fn immutable_uri(path: &Path) -> io::Result<String> {
    let path = path.canonicalize()?;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                uri.push(byte.into());
            }
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::super::suite;
    use super::*;

    /// A database as a version of Flux makes it, with the blobs of the suite.
    fn flux_database(path: &Path, schema: &str) -> Vec<BlobRef> {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(schema).unwrap();
        let store = |blob: &Vec<u8>| {
            let blobref = BlobRef::of(HashType::Sha1, blob);
            let (size, object) = if blob.len() < 256 {
                (-1, blob.clone())
            } else {
                (i64::try_from(blob.len()).unwrap(), lz4_flex::block::compress(blob))
            };
            let insert = "INSERT INTO objects (hash, size, object) VALUES (?1, ?2, ?3)";
            connection.execute(insert, params![AsText(blobref.digest()), size, object]).unwrap();
            blobref
        };
        suite::blobs().iter().map(store).collect()
    }

    #[test]
    fn databases_of_old_and_new_flux_are_stores() {
        let three = "CREATE TABLE objects(hash CHAR(20) PRIMARY KEY, size INT, object BLOB)";
        for schema in [SCHEMA, three] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("content ?#.sqlite");
            let names = flux_database(&path, schema);
            let store = SqliteStore::open(&path).unwrap();
            suite::check_reading(&store, &names);
            assert_eq!(store.list().unwrap().len(), names.len());
        }
    }

    #[test]
    fn database_that_we_write_is_a_store() {
        let folder = tempfile::tempdir().unwrap();
        suite::check_writing(&SqliteStore::create(folder.path().join("content.sqlite")).unwrap());
    }

    #[test]
    fn digest_is_written_as_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let store = SqliteStore::create(&path).unwrap();
        store.put(HashType::Sha1, b"abc").unwrap();
        let kind = store.lock().query_row("SELECT typeof(hash), size FROM objects", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(kind.unwrap(), ("text".into(), -1));
    }

    #[test]
    fn log_of_a_crashed_broker_is_read_and_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let running = SqliteStore::create(&path).unwrap();
        let blobref = running.put(HashType::Sha1, b"only in the log").unwrap();
        let crashed = tempfile::tempdir().unwrap();
        for name in ["content.sqlite", "content.sqlite-wal"] {
            fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
        }
        let log = crashed.path().join("content.sqlite-wal");
        let before = fs::read(&log).unwrap();
        assert!(!before.is_empty());
        let store = SqliteStore::open(crashed.path().join("content.sqlite")).unwrap();
        assert!(store.contains(&blobref).unwrap());
        drop(store);
        assert_eq!(fs::read(&log).unwrap(), before);
        assert_eq!(fs::read_dir(crashed.path()).unwrap().count(), 2);
    }

    #[test]
    fn newest_checkpoint_is_first_and_old_tables_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let store = SqliteStore::create(&path).unwrap();
        assert!(store.checkpoints().unwrap().is_empty());
        let old = "CREATE TABLE checkpt(key TEXT UNIQUE, value TEXT);
                   INSERT INTO checkpt VALUES ('kvs-primary', 'old'), ('other', 'x');";
        store.lock().execute_batch(old).unwrap();
        assert_eq!(store.checkpoints().unwrap(), ["old"]);
        let new = "INSERT INTO checkpt_v2 (value) VALUES ('first'), ('second');";
        store.lock().execute_batch(new).unwrap();
        assert_eq!(store.checkpoints().unwrap(), ["second", "first"]);
    }

    #[test]
    fn wrong_sizes_are_damage() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::create(folder.path().join("content.sqlite")).unwrap();
        let blobref = store.put(HashType::Sha1, &[7; 1000]).unwrap();
        let mut out = Vec::new();
        for size in [999, 1001, 1 << 29] {
            store.lock().execute("UPDATE objects SET size = ?1", [size]).unwrap();
            let error = store.get(&blobref, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
        }
        store.lock().execute("UPDATE objects SET size = ?1", [i64::MAX]).unwrap();
        assert!(matches!(store.get(&blobref, &mut out), Err(StoreError::TooBig { .. })));
    }

    #[test]
    fn views_instead_of_tables_are_rejected() {
        let forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        for schema in [
            format!(
                "CREATE VIEW objects AS {forever} SELECT i AS hash, -1 AS size, i AS object FROM n"
            ),
            format!(
                "CREATE TABLE objects(hash, size, object);
                CREATE VIEW checkpt_v2 AS {forever} SELECT i AS id, 'x' AS value FROM n"
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("content.sqlite");
            Connection::open(&path).unwrap().execute_batch(&schema).unwrap();
            let error = SqliteStore::open(&path).unwrap_err();
            assert!(error.to_string().contains("not tables in this file"), "{error}");
        }
    }

    #[test]
    fn other_files_are_not_a_store() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        assert!(SqliteStore::open(&path).is_err());
        fs::write(&path, b"no database, but long enough to have a header").unwrap();
        assert!(SqliteStore::open(&path).is_err());
    }
}
