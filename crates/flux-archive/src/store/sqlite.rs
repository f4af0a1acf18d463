//! Storing blobs in Flux's database `content.sqlite`.
//!
//! ```sql
//! objects(hash BLOB PRIMARY KEY, size INT, object BLOB, epoch INT DEFAULT 0)  -- epoch since 0.87
//! checkpt_v2(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, value TEXT)       -- since 0.77
//! checkpt(key TEXT UNIQUE, value TEXT)                                        -- before
//! ```
//!
//! | column | content |
//! |---|---|
//! | `hash` | the digest, 20 or 32 bytes, without the name of the hash |
//! | `size` | -1: `object` is the blob; otherwise `object` is an LZ4 block that decodes to `size` bytes |
//!
//! **The digest is stored as text**, although the column is declared as a blob, because Flux binds
//! it as text. A query that binds a blob does not match these rows, and Flux does not find a row whose
//! digest is a blob.
//!
//! A database may be malicious. Only plain tables are accepted, because a view, a virtual table or
//! a computed column can run code of its own. Statements may access only Flux's tables, and are
//! interrupted if they take too many steps. The length of a blob is checked before the blob is
//! fetched.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use binio::diagnostic::count;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, ToSql, params};

use super::database_copy::{DatabaseCopy, beside};
use super::{BlobStore, BlobStoreMut, MAX_CHECKPOINT, StoreError};
use crate::model::{BlobRef, HashType};

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS objects(
        hash BLOB PRIMARY KEY, size INT, object BLOB, epoch INT DEFAULT 0);
    CREATE TABLE IF NOT EXISTS checkpt_v2(
        id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, value TEXT);
";

/// The names of the tables that Flux creates.
const TABLES: [&str; 3] = ["objects", "checkpt", "checkpt_v2"];

/// The maximum number of database engine steps per operation, in thousands. When blobs are listed,
/// the limit applies to each row. Looking up a blob takes less than a thousand steps.
const MAX_STEPS: u32 = 10_000;

/// The maximum number of checkpoints to read. Flux keeps only five.
const MAX_CHECKPOINTS: u32 = 100;

/// The minimum size in bytes of the blobs that Flux compresses.
const COMPRESS_FROM: usize = 256;

/// The maximum compression ratio of LZ4.
const LZ4_RATIO: u64 = 255;

/// A blob store in Flux's `content.sqlite` database. The database must not be open in a running
/// broker.
///
/// Reading does not change the file. If a crashed broker left a log next to it (`-wal` or `-journal`) that is not
/// empty, the database and the log are copied to a temporary directory, and the copy is read. On Unix, the copy is
/// unlinked once the store is open, so that it disappears even if the process is killed.
///
/// ```
/// use flux_archive::HashType;
/// use flux_archive::store::{BlobStore, BlobStoreMut, SqliteStore};
///
/// # let folder = tempfile::tempdir().unwrap();
/// let path = folder.path().join("content.sqlite");
/// let blobref = SqliteStore::create(&path)?.put(HashType::Sha1, b"abc")?;
/// let mut blob = Vec::new();
/// SqliteStore::open(&path)?.get(&blobref, &mut blob)?;
/// assert_eq!(blob, b"abc");
/// # Ok::<(), flux_archive::store::StoreError>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    connection: Mutex<Connection>,
    /// The number of database engine steps in the current operation, in thousands. When blobs are
    /// listed, the count starts again at each row.
    steps: Arc<AtomicU32>,
    /// The copy that is read, on systems that cannot remove open files. It is removed on drop.
    _copy: Option<DatabaseCopy>,
}

/// A digest that is bound as text, as in Flux.
struct AsText<'a>(&'a [u8]);

impl ToSql for AsText<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

impl SqliteStore {
    /// Opens a database for reading.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Damaged`] if the file is not a content store of Flux, or if one of its tables is not a
    /// plain table, and with [`StoreError::Io`] if the file cannot be opened, or if there is a log and the files cannot
    /// be copied.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        check_regular(path)?;
        let mut logs = Vec::from(["-wal", "-journal"].map(|suffix| (beside(path, suffix), suffix)));
        logs.retain(|(log, _)| log.is_file());
        if logs.iter().any(|(log, _)| fs::metadata(log).is_ok_and(|log| log.len() > 0)) {
            let copy = DatabaseCopy::new(path, &logs)?;
            // Opening the copy applies the log. After that, all files are open, so the copy can be
            // removed.
            let store = Self::new(Connection::open(&copy.database)?, false)?;
            return Ok(Self { _copy: (!cfg!(unix)).then_some(copy), ..store });
        }
        // There is no log to apply. Opening the database as immutable ensures that nothing is
        // written next to it.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::new(Connection::open_with_flags(immutable_uri(path)?, flags)?, false)
    }

    /// Opens a database for writing, and creates it if it does not exist. Adds the tables of Flux if they are missing.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::Damaged`] if the file is not a database, if one of Flux's tables is not a plain table
    /// or has triggers, or if the table `objects` lacks a column, and with [`StoreError::Io`] if the file cannot be
    /// opened, created or written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if path.exists() {
            check_regular(path)?;
        }
        let connection = Connection::open(path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        Self::new(connection, true)
    }

    fn new(connection: Connection, writable: bool) -> Result<Self, StoreError> {
        let steps = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&steps);
        let count = move || counter.fetch_add(1, Ordering::Relaxed) >= MAX_STEPS;
        connection.progress_handler(1000, Some(count))?;
        for (option, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        ] {
            connection.set_db_config(option, value)?;
        }
        check_schema(&connection, writable)?;
        if writable {
            connection.execute_batch(SCHEMA)?;
        }
        connection
            .authorizer(Some(move |context: AuthContext<'_>| authorize(&context, writable)))?;
        connection.prepare("SELECT hash, size, object FROM objects")?;
        Ok(Self { connection: Mutex::new(connection), steps, _copy: None })
    }

    /// Returns the text of up to 100 checkpoints, newest first. Checkpoints that are overlong or not text are omitted.
    ///
    /// # Errors
    ///
    /// Fails if the database is damaged or cannot be read.
    pub fn checkpoints(&self) -> Result<Vec<String>, StoreError> {
        let connection = self.lock();
        let limits = params![i64::try_from(MAX_CHECKPOINT).unwrap_or(i64::MAX), MAX_CHECKPOINTS];
        for query in [
            "SELECT value FROM checkpt_v2 WHERE typeof(value) = 'text' AND octet_length(value) <= ?1
                ORDER BY id DESC LIMIT ?2",
            "SELECT value FROM checkpt WHERE key = 'kvs-primary' AND typeof(value) = 'text'
                AND octet_length(value) <= ?1 LIMIT ?2",
        ] {
            // The table may be missing, depending on the version of Flux.
            let Ok(mut statement) = connection.prepare(query) else { continue };
            let values = statement.query_map(limits, |row| row.get(0))?;
            let values = values.collect::<rusqlite::Result<Vec<String>>>()?;
            if !values.is_empty() {
                return Ok(values);
            }
        }
        Ok(Vec::new())
    }

    // Ignore poisoning: every statement is a separate transaction, so a panic leaves no transaction
    // open.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        self.steps.store(0, Ordering::Relaxed);
        connection
    }

    /// Reads a blob into `out`. If `expected` is set, the blob must have this length.
    fn fetch(
        &self,
        blobref: &BlobRef,
        expected: Option<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        out.clear();
        let digest = blobref.digest();
        let keys = params![AsText(digest), digest];
        let connection = self.lock();
        let mut measure = connection.prepare_cached(
            "SELECT size, octet_length(object) FROM objects WHERE hash IN (?1, ?2)",
        )?;
        let measured = measure.query_row(keys, |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
        let (size, stored): (i64, Option<i64>) =
            measured.optional()?.ok_or(StoreError::NotFound)?;
        let stored = stored.and_then(|len| u64::try_from(len).ok()).unwrap_or_default();
        let len = u64::try_from(size).unwrap_or(stored);
        expected.map_or(Ok(()), |expected| StoreError::check_length(expected, len))?;
        StoreError::check_size(stored.max(len))?;
        StoreError::reserve(out, stored)?;
        let mut read =
            connection.prepare_cached("SELECT object FROM objects WHERE hash IN (?1, ?2)")?;
        read.query_row(keys, |row| {
            if let ValueRef::Blob(object) | ValueRef::Text(object) = row.get_ref(0)? {
                out.extend_from_slice(object);
            }
            Ok(())
        })?;
        drop((measure, read));
        drop(connection);
        if size < 0 { Ok(()) } else { decompress(out, len) }
    }
}

impl BlobStore for SqliteStore {
    fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.fetch(blobref, None, out)
    }

    fn get_sized(&self, blobref: &BlobRef, size: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        self.fetch(blobref, Some(size), out)
    }

    fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT 1 FROM objects WHERE hash IN (?1, ?2)")?;
        let digest = blobref.digest();
        Ok(statement.exists(params![AsText(digest), digest])?)
    }
}

/// Fails for anything but a regular file, because opening a FIFO would block until there is a
/// writer.
fn check_regular(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
}

/// Checks that Flux's tables are plain tables. Fails if one of them is a view or a virtual table, or has computed
/// columns. If the database is open for writing, triggers on these tables are an error as well.
fn check_schema(connection: &Connection, writable: bool) -> Result<(), StoreError> {
    let reject = |table: &str, found: &str| {
        Err(StoreError::Damaged(format!("expected {table} to be a plain table, found {found}")))
    };
    let mut tables = Vec::new();
    let mut statement =
        connection.prepare("SELECT type, tbl_name, rootpage, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let is = |column, text: &str| -> rusqlite::Result<bool> {
            let value = row.get_ref(column)?;
            Ok(
                matches!(value, ValueRef::Text(found) if found.eq_ignore_ascii_case(text.as_bytes())),
            )
        };
        // Compare names regardless of case, like the database.
        let mut ours = None;
        for table in TABLES {
            ours = if is(1, table)? { Some(table) } else { ours };
        }
        let Some(table) = ours else { continue };
        if is(0, "trigger")? && writable {
            return reject(table, "triggers");
        }
        if is(0, "view")? {
            return reject(table, "a view");
        }
        if is(0, "table")? {
            if row.get::<_, Option<i64>>(2)?.unwrap_or_default() <= 0 {
                return reject(table, "a virtual table");
            }
            tables.push(table);
        }
    }
    for table in tables {
        let mut columns = connection.prepare(&format!("PRAGMA table_xinfo({table})"))?;
        let hidden = columns.query_map([], |row| row.get::<_, i64>("hidden"))?;
        for hidden in hidden {
            if hidden? != 0 {
                return reject(table, "a computed column");
            }
        }
    }
    Ok(())
}

/// Permits statements to read Flux's tables, and to call `octet_length` and `typeof`. If the store is writable, also
/// permits them to insert and delete rows.
fn authorize(context: &AuthContext<'_>, writable: bool) -> Authorization {
    let ours = |table: &str| TABLES.iter().any(|known| table.eq_ignore_ascii_case(known));
    let allowed = match context.action {
        AuthAction::Select => true,
        AuthAction::Read { table_name, .. } => ours(table_name),
        AuthAction::Insert { table_name } | AuthAction::Delete { table_name } => {
            writable && ours(table_name)
        }
        AuthAction::Function { function_name } => {
            matches!(function_name, "octet_length" | "typeof")
        }
        _ => false,
    };
    // Deny access that comes from within a view or trigger.
    if allowed && context.accessor.is_none() { Authorization::Allow } else { Authorization::Deny }
}

/// Replaces an LZ4 block with the decoded data.
fn decompress(block: &mut Vec<u8>, size: u64) -> Result<(), StoreError> {
    StoreError::check_size(size)?;
    let most = block.len() as u64 * LZ4_RATIO;
    let len = usize::try_from(size).ok().filter(|_| size <= most);
    let len = len.ok_or_else(|| {
        let (held, size) = (count(block.len(), "byte"), count(size, "byte"));
        StoreError::Corrupt(format!("an LZ4 block of {held} cannot decode to {size}"))
    })?;
    let mut data = Vec::new();
    StoreError::reserve(&mut data, size)?;
    data.resize(len, 0);
    let decoded = lz4_flex::block::decompress_into(block, &mut data);
    let decoded = decoded.map_err(|error| StoreError::Corrupt(error.to_string()))?;
    if decoded != len {
        let size = count(size, "byte");
        let message = format!("expected {size} after decompression, found {decoded}");
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
        match statement.execute(params![AsText(blobref.digest()), size, object])? {
            1 => Ok(blobref),
            _ => Err(StoreError::Damaged(
                "the blob was not inserted into the table `objects`".to_owned(),
            )),
        }
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
        // Fetch only values that are as long as a digest.
        let mut statement = connection.prepare(
            "SELECT CASE WHEN octet_length(hash) IN (20, 32) THEN hash END FROM objects",
        )?;
        let mut rows = statement.query([])?;
        let mut blobrefs = Vec::new();
        while let Some(row) = rows.next()? {
            self.steps.store(0, Ordering::Relaxed);
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
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                Self::Damaged("SQLite needed too many steps to read a row".to_owned())
            }
            // An error without a code usually means that a value has an unexpected type.
            Some(
                ErrorCode::AuthorizationForStatementDenied
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::Unknown,
            )
            | None => Self::Damaged(error.to_string()),
            _ => io::Error::other(error).into(),
        }
    }
}

/// Returns a URI with which `SQLite` opens the file at a path without using locks or logs.
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

    /// Creates a database that has the schema of a Flux version and contains the blobs of the test
    /// suite.
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
    fn databases_of_old_and_new_flux_pass_the_store_suite() {
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
    fn a_database_written_by_this_crate_passes_the_store_suite() {
        let folder = tempfile::tempdir().unwrap();
        suite::check_writing(&SqliteStore::create(folder.path().join("content.sqlite")).unwrap());
    }

    #[test]
    fn digests_are_stored_as_text_as_in_flux() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let store = SqliteStore::create(&path).unwrap();
        store.put(HashType::Sha1, b"abc").unwrap();
        let other = Connection::open(&path).unwrap();
        let kind = other.query_row("SELECT typeof(hash), size FROM objects", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        });
        assert_eq!(kind.unwrap(), ("text".into(), -1));
    }

    #[test]
    fn the_log_of_a_crashed_broker_is_applied_without_changing_its_files() {
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
        let mut out = Vec::new();
        store.get(&blobref, &mut out).unwrap();
        assert_eq!(out, b"only in the log");
        drop(store);
        assert_eq!(fs::read(&log).unwrap(), before);
        assert_eq!(fs::read_dir(crashed.path()).unwrap().count(), 2);
    }

    #[test]
    fn an_interrupted_transaction_is_ignored_and_its_journal_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let names = flux_database(&path, SCHEMA);
        let connection = Connection::open(&path).unwrap();
        // Use a small cache, so that pages are written before the transaction ends.
        connection.pragma_update(None, "cache_size", 1).unwrap();
        connection.execute_batch("BEGIN; UPDATE objects SET size = 7").unwrap();
        let fill = "INSERT INTO objects(hash, size, object) VALUES (?1, -1, zeroblob(100000))";
        for n in 0..20 {
            connection.execute(fill, [n]).unwrap();
        }
        let crashed = tempfile::tempdir().unwrap();
        for name in ["content.sqlite", "content.sqlite-journal"] {
            fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
        }
        let journal = crashed.path().join("content.sqlite-journal");
        let before = fs::read(&journal).unwrap();
        assert!(!before.is_empty());
        let store = SqliteStore::open(crashed.path().join("content.sqlite")).unwrap();
        suite::check_reading(&store, &names);
        assert_eq!(fs::read(&journal).unwrap(), before);
    }

    #[test]
    fn checkpoints_are_read_from_new_and_old_tables_newest_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let store = SqliteStore::create(&path).unwrap();
        assert!(store.checkpoints().unwrap().is_empty());
        let old = "CREATE TABLE checkpt(key TEXT UNIQUE, value TEXT);
                   INSERT INTO checkpt VALUES ('kvs-primary', 'old'), ('other', 'x');";
        let other = Connection::open(&path).unwrap();
        other.execute_batch(old).unwrap();
        assert_eq!(store.checkpoints().unwrap(), ["old"]);
        let new = "INSERT INTO checkpt_v2 (value) VALUES ('first'), ('second');";
        other.execute_batch(new).unwrap();
        assert_eq!(store.checkpoints().unwrap(), ["second", "first"]);
    }

    #[test]
    fn blobs_with_a_wrong_size_in_the_database_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let store = SqliteStore::create(&path).unwrap();
        let blobref = store.put(HashType::Sha1, &[7; 1000]).unwrap();
        let other = Connection::open(&path).unwrap();
        let mut out = Vec::new();
        for size in [999, 1001, 1 << 29] {
            other.execute("UPDATE objects SET size = ?1", [size]).unwrap();
            let error = store.get(&blobref, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Corrupt(_)), "{error}");
        }
        other.execute("UPDATE objects SET size = ?1", [i64::MAX]).unwrap();
        assert!(matches!(store.get(&blobref, &mut out), Err(StoreError::TooBig { .. })));
    }

    /// Creates a database with a schema, and returns the message of the error from opening it.
    fn rejected(schema: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        Connection::open(&path).unwrap().execute_batch(schema).unwrap();
        let error = SqliteStore::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
        error.to_string()
    }

    #[test]
    fn views_and_virtual_tables_are_rejected_regardless_of_case() {
        let forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        for objects in ["objects", "Objects", "OBJECTS"] {
            let view = format!(
                "CREATE VIEW {objects} AS {forever} SELECT i AS hash, -1 AS size, i AS object FROM n"
            );
            assert!(rejected(&view).ends_with("found a view"), "{objects}");
            let table = format!("CREATE VIRTUAL TABLE {objects} USING fts5(hash, size, object)");
            assert!(rejected(&table).ends_with("found a virtual table"), "{objects}");
        }
        let view = format!(
            "CREATE TABLE objects(hash, size, object);
            CREATE VIEW Checkpt_v2 AS {forever} SELECT i AS id, 'x' AS value FROM n"
        );
        assert!(rejected(&view).contains("expected checkpt_v2 to be a plain table"));
    }

    #[test]
    fn computed_columns_are_rejected_before_they_are_computed() {
        for column in [
            "object AS (zeroblob(900000000))",
            "object TEXT AS (replace(hex(zeroblob(200000000)), '00', 'xx'))",
            "object BLOB AS (zeroblob(900000000)) STORED",
        ] {
            let schema = format!("CREATE TABLE objects(hash BLOB PRIMARY KEY, size INT, {column})");
            assert!(rejected(&schema).ends_with("found a computed column"), "{column}");
        }
        let schema = "CREATE TABLE objects(hash AS (zeroblob(900000000)), size INT, object BLOB)";
        assert!(rejected(schema).ends_with("found a computed column"));
    }

    #[test]
    fn triggers_are_rejected_only_when_opening_for_writing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let connection = Connection::open(&path).unwrap();
        let names = flux_database(&path, SCHEMA);
        let trigger = "CREATE TRIGGER gone AFTER INSERT ON Objects BEGIN DELETE FROM objects; END";
        connection.execute_batch(trigger).unwrap();
        drop(connection);
        let error = SqliteStore::create(&path).unwrap_err();
        assert!(error.to_string().ends_with("found triggers"), "{error}");
        suite::check_reading(&SqliteStore::open(&path).unwrap(), &names);
    }

    #[test]
    fn forbidden_statements_are_denied_and_endless_queries_are_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        flux_database(&path, &format!("{SCHEMA} CREATE TABLE secrets(x);"));
        let store = SqliteStore::open(&path).unwrap();
        for statement in [
            "SELECT x FROM secrets",
            "SELECT hex(object) FROM objects",
            "DELETE FROM objects",
            "ATTACH 'other' AS other",
            "PRAGMA writable_schema = 1",
        ] {
            let error = store.lock().prepare(statement).map(drop).unwrap_err();
            // A denied function call has no specific error code.
            let denied = Some(ErrorCode::AuthorizationForStatementDenied);
            let function = error.to_string().contains("not authorized to use function");
            assert!(error.sqlite_error_code() == denied || function, "{statement}: {error}");
        }
        // With all statements authorised, an endless query must stop at the step limit.
        let forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
            SELECT i FROM n WHERE i < 0";
        let connection = store.lock();
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).unwrap();
        let error = connection.query_row(forever, [], |row| row.get::<_, i64>(0)).unwrap_err();
        assert!(StoreError::from(error).to_string().contains("too many steps"));
    }

    #[test]
    fn a_blob_with_an_unexpected_length_is_not_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let names = flux_database(&path, SCHEMA);
        let store = SqliteStore::open(&path).unwrap();
        let mut out = Vec::new();
        for (blobref, blob) in names.iter().zip(suite::blobs()) {
            let found = blob.len() as u64;
            let error = store.get_sized(blobref, found + 1, &mut out).unwrap_err();
            assert!(matches!(error, StoreError::Length { found: is } if is == found), "{error}");
        }
        assert_eq!(out.capacity(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn opening_a_fifo_as_a_database_fails_without_blocking() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no mkfifo here");
            return;
        }
        for error in [SqliteStore::open(&path), SqliteStore::create(&path)] {
            assert_eq!(error.unwrap_err().to_string(), "not a regular file");
        }
    }

    #[test]
    fn files_that_are_not_a_flux_database_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("content.sqlite");
        assert!(SqliteStore::open(&path).is_err());
        fs::write(&path, b"no database, but long enough to have a header").unwrap();
        assert!(SqliteStore::open(&path).is_err());
    }
}
