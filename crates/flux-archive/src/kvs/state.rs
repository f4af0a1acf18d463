//! Reading the keys of a broker as they were at a checkpoint.

use std::path::Path;

use serde_json::value::RawValue;

use super::checkpoint::Checkpoint;
use super::invalid;
use super::job::JobId;
use super::object::Object;
use crate::error::{KvsError, StoreError};
use crate::json::Base64;
use crate::model::BlobRef;
use crate::store::{BlobStore, DirStore, get_verified};

/// The maximum number of steps when looking up a key. Each name in its path or in the target of a link, each link and
/// each reference counts as a step, and so does the object that is found. The keys that Flux itself creates have far
/// fewer names.
const MAX_STEPS: usize = 256;

/// The maximum number of keys to read when searching for jobs. Many directories can refer to the same directory, so a
/// few blobs can represent any number of keys.
const MAX_KEYS: usize = 1 << 24;

/// The number of digit groups in the key of a job. Each group is the name of a directory.
const JOB_GROUPS: usize = 4;

/// The keys of a Flux instance, as they were at a checkpoint.
///
/// ```no_run
/// use flux_archive::kvs::StateDir;
/// use flux_archive::disk::Extractor;
/// use flux_archive::{Archive, Profile};
///
/// let state = StateDir::open("/var/lib/flux")?;
/// let json = state.archive("main")?;
/// let archive = Archive::parse(&json, Profile::Flux)?;
/// Extractor::new("rescued")?.store(state.store()).run(&archive)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StateDir {
    store: Box<dyn BlobStore>,
    checkpoints: Vec<Checkpoint>,
    root: BlobRef,
    max_keys: usize,
}

impl std::fmt::Debug for StateDir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateDir").field("root", &self.root).finish_non_exhaustive()
    }
}

impl StateDir {
    /// Opens the state directory of a broker that is not running, at its newest valid checkpoint.
    ///
    /// # Errors
    ///
    /// Fails with [`KvsError::NoState`] if there is neither a `content.sqlite` nor a directory `content.files`, with
    /// [`KvsError::NoCheckpoint`] if the store has no valid checkpoint, and with [`KvsError::Store`] if the store or
    /// its checkpoints cannot be read, or if this build cannot read a `content.sqlite`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, KvsError> {
        let path = path.as_ref();
        let (database, files) = (path.join("content.sqlite"), path.join("content.files"));
        if database.exists() {
            return Self::open_database(&database);
        }
        if !files.is_dir() {
            return Err(KvsError::NoState);
        }
        let store = DirStore::open(files)?;
        let checkpoint = store.checkpoint()?;
        Self::new(store, checkpoint)
    }

    #[cfg(feature = "sqlite")]
    fn open_database(path: &Path) -> Result<Self, KvsError> {
        let store = crate::store::SqliteStore::open(path)?;
        let checkpoints = store.checkpoints()?;
        Self::new(store, checkpoints)
    }

    #[cfg(not(feature = "sqlite"))]
    fn open_database(_: &Path) -> Result<Self, KvsError> {
        Err(StoreError::NO_SQLITE.into())
    }

    /// Creates a state from any store. Its keys are those of the first valid checkpoint.
    ///
    /// # Errors
    ///
    /// Fails with [`KvsError::NoCheckpoint`] if no checkpoint is valid.
    pub fn new(
        store: impl BlobStore + 'static,
        checkpoints: impl IntoIterator<Item = String>,
    ) -> Result<Self, KvsError> {
        let parse = |text: String| Checkpoint::parse(&text);
        let checkpoints: Vec<_> = checkpoints.into_iter().filter_map(parse).collect();
        let root = checkpoints.first().ok_or(KvsError::NoCheckpoint)?.root;
        Ok(Self { store: Box::new(store), checkpoints, root, max_keys: MAX_KEYS })
    }

    /// Returns the valid checkpoints: newest first after [`open`](Self::open), or in the order in
    /// which they were passed to [`new`](Self::new).
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// Switches to the keys as they were at another checkpoint.
    #[must_use]
    pub fn at(mut self, checkpoint: &Checkpoint) -> Self {
        self.root = checkpoint.root;
        self
    }

    /// Returns the store of the broker, which also contains the blobs of archives.
    pub fn store(&self) -> &dyn BlobStore {
        &*self.store
    }

    /// Reads the JSON text of an archive that was stored by `flux archive create --name`.
    ///
    /// # Errors
    ///
    /// Same as [`value`](Self::value).
    pub fn archive(&self, name: &str) -> Result<Vec<u8>, KvsError> {
        self.value(&format!("archive.{name}"))
    }

    /// Returns the names of all archives.
    ///
    /// # Errors
    ///
    /// Same as [`value`](Self::value), except that the key `archive` must be a directory. Does not fail if this key is
    /// missing, because then there are no archives.
    pub fn archives(&self) -> Result<Vec<String>, KvsError> {
        let entries = match self.entries("archive", None) {
            Err(KvsError::NotFound(_)) => return Ok(Vec::new()),
            entries => entries?,
        };
        // Skip directories, because they contain the blobs preserved with an archive.
        let is_directory = |object: &RawValue| {
            let object = Object::parse("archive", object.get().as_bytes());
            object.is_ok_and(|object| matches!(object.kind.as_str(), "dir" | "dirref"))
        };
        let archives = entries.into_iter().filter(|(_, object)| !is_directory(object));
        Ok(archives.map(|(name, _)| name).collect())
    }

    /// Reads the jobspec of a job: JSON text that contains the files of the job.
    ///
    /// # Errors
    ///
    /// Same as [`value`](Self::value).
    pub fn jobspec(&self, job: JobId) -> Result<Vec<u8>, KvsError> {
        self.value(&format!("job.{}.jobspec", job.key()))
    }

    /// Returns the IDs of all jobs in ascending order, and the errors from directories that could not be read. Skips
    /// keys that are not directories, and links to missing keys. The search ends with an error after too many keys, and
    /// the IDs may then be incomplete.
    pub fn jobs(&self) -> (Vec<JobId>, Vec<KvsError>) {
        let (mut jobs, mut failures) = (Vec::new(), Vec::new());
        // The directories yet to be read, each with its key, the number of digit groups that follow
        // the key, and its object if already known.
        let mut pending = vec![("job".to_owned(), JOB_GROUPS, None)];
        let mut keys = 0;
        while let Some((key, groups, object)) = pending.pop() {
            let entries = match self.entries(&key, object) {
                Ok(entries) => entries,
                // Either no job was ever submitted, or the key is not a directory, or it is a link to a missing key.
                Err(KvsError::NotFound(_) | KvsError::Type { .. }) => continue,
                Err(error) => {
                    failures.push(error);
                    continue;
                }
            };
            keys += entries.len();
            if keys > self.max_keys {
                failures.push(invalid(&key, "there are too many keys to search for jobs"));
                break;
            }
            for (name, object) in entries {
                let key = format!("{key}.{name}");
                if groups == 1 {
                    jobs.extend(key.strip_prefix("job.").and_then(JobId::parse));
                } else {
                    pending.push((key, groups - 1, Some(object)));
                }
            }
        }
        jobs.sort_unstable();
        (jobs, failures)
    }

    /// Returns the names and objects in a directory of keys. `object` is the directory's own object, if it is already
    /// known.
    fn entries(
        &self,
        key: &str,
        object: Option<Box<RawValue>>,
    ) -> Result<Vec<(String, Box<RawValue>)>, KvsError> {
        let object = match object {
            Some(object) => Object::parse(key, object.get().as_bytes())?,
            None => self.look_up(key)?,
        };
        // A link can be resolved only from the root.
        let object = if object.kind == "symlink" { self.look_up(key)? } else { object };
        let mut steps = MAX_STEPS;
        self.resolve(key, object, &mut steps)?.entries(key)
    }

    /// Reads the value of a key such as `archive.main`. Follows links and references.
    ///
    /// # Errors
    ///
    /// Fails with [`KvsError::NotFound`] if there is no such key, and with [`KvsError::Type`] if the key is not a
    /// value, or if a key on the path is not a directory. Fails with [`KvsError::Blob`] if the value is too large, or
    /// if a blob that contains a part of the value or an object on the path to the key is missing, damaged or
    /// unreadable. Fails with [`KvsError::Invalid`] if the object of the key or an object on the path is malformed, or
    /// if resolving the key takes too many steps, as in a cycle of links.
    pub fn value(&self, key: &str) -> Result<Vec<u8>, KvsError> {
        let invalid = |message: &str| invalid(key, message);
        let object = self.look_up(key)?;
        let mut value = Vec::new();
        match object.kind.as_str() {
            "val" => {
                let text: String = object.data_as(key)?;
                let data = Base64::parse(text).ok_or_else(|| invalid("the value is not base64"))?;
                value = data.decode();
            }
            "valref" => {
                let names: Vec<String> = object.data_as(key)?;
                let blobrefs: Result<Vec<_>, _> = names.iter().map(|r| BlobRef::parse(r)).collect();
                let blobrefs = blobrefs.map_err(|error| invalid(&error.to_string()))?;
                let mut blob = Vec::new();
                for blobref in blobrefs {
                    let fetched = get_verified(&*self.store, &blobref, &mut blob);
                    let size = (value.len() + blob.len()) as u64;
                    fetched
                        .and_then(|()| StoreError::check_size(size))
                        .and_then(|()| StoreError::reserve(&mut value, blob.len() as u64))
                        .map_err(|error| KvsError::Blob { key: key.to_owned(), blobref, error })?;
                    value.extend_from_slice(&blob);
                }
            }
            _ => return Err(KvsError::Type { key: key.to_owned(), expected: "a value" }),
        }
        Ok(value)
    }

    /// Returns the object of a key. Follows links, but does not follow a reference at the end of
    /// the path.
    fn look_up(&self, key: &str) -> Result<Object, KvsError> {
        let not_found = || KvsError::NotFound(key.to_owned());
        let mut steps = MAX_STEPS;
        // Returns the names on a path in reverse order, so that the next name can be popped.
        let path = |key: &str| -> Vec<String> {
            key.split('.').filter(|name| !name.is_empty()).rev().map(str::to_owned).collect()
        };
        let mut names = path(key);
        let mut object = self.blob(key, self.root)?;
        loop {
            step(key, &mut steps)?;
            if object.kind == "symlink" {
                let target = object.link_target(key)?;
                names.extend(path(&target));
                object = self.blob(key, self.root)?;
                continue;
            }
            let Some(name) = names.pop() else { return Ok(object) };
            let directory = self.resolve(key, object, &mut steps)?;
            let entries = directory.entries(key)?;
            let found = entries.into_iter().rev().find(|(found, _)| *found == name);
            object = Object::parse(key, found.ok_or_else(not_found)?.1.get().as_bytes())?;
        }
    }

    /// Follows a reference to a directory, and any reference to which it leads. Returns an object of any other type
    /// unchanged.
    fn resolve(&self, key: &str, object: Object, steps: &mut usize) -> Result<Object, KvsError> {
        let mut object = object;
        while object.kind == "dirref" {
            step(key, steps)?;
            let names: Vec<String> = object.data_as(key)?;
            let [name] = names.as_slice() else {
                return Err(invalid(key, "expected a directory in a single blob"));
            };
            let blobref = BlobRef::parse(name).map_err(|error| invalid(key, &error.to_string()))?;
            object = self.blob(key, blobref)?;
        }
        Ok(object)
    }

    fn blob(&self, key: &str, blobref: BlobRef) -> Result<Object, KvsError> {
        let mut blob = Vec::new();
        get_verified(&*self.store, &blobref, &mut blob).map_err(|error| KvsError::Blob {
            key: key.to_owned(),
            blobref,
            error,
        })?;
        Object::parse(key, &blob)
    }
}

/// Counts a step on the path to a key. Fails after too many steps, because the path then probably
/// contains a cycle.
fn step(key: &str, steps: &mut usize) -> Result<(), KvsError> {
    let too_many = || format!("more than {MAX_STEPS} steps are needed: links may form a cycle");
    *steps = steps.checked_sub(1).ok_or_else(|| invalid(key, &too_many()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value, json};

    use super::*;
    use crate::model::HashType;
    use crate::store::{BlobStoreMut, MemoryStore};

    fn put(store: &MemoryStore, object: &Value) -> String {
        store.put(HashType::Sha1, object.to_string().as_bytes()).unwrap().to_string()
    }

    fn checkpoint(root: &str) -> String {
        json!({"version": 1, "rootref": root, "sequence": 7, "timestamp": 1.5}).to_string()
    }

    fn base64(plain: &[u8]) -> String {
        Base64::encode(plain).as_str().to_owned()
    }

    /// Returns a state with objects of every type.
    fn state() -> StateDir {
        let store = MemoryStore::new();
        let (one, two) = (
            store.put(HashType::Sha1, b"[{\"path\":").unwrap().to_string(),
            store.put(HashType::Sha1, b"\"f\"}]").unwrap().to_string(),
        );
        let archives = put(
            &store,
            &json!({"ver": 1, "type": "dir", "data": {
                "main": {"ver": 1, "type": "valref", "data": [one, two]},
                "main_blobs": {"ver": 1, "type": "dir", "data": {}},
                "small": {"ver": 1, "type": "val", "data": base64(b"[]")},
                "of_blobs": {"ver": 1, "type": "val", "data": base64(b"[]")},
            }}),
        );
        let job = json!({"ver": 1, "type": "dir", "data": {"0000": {"ver": 1, "type": "dir", "data": {
            "0004": {"ver": 1, "type": "dir", "data": {"b200": {"ver": 1, "type": "dir", "data": {
                "0000": {"ver": 1, "type": "dir", "data": {
                    "jobspec": {"ver": 1, "type": "val", "data": base64(b"{}")},
                }},
            }}}},
        }}}});
        let root = put(
            &store,
            &json!({"ver": 1, "type": "dir", "data": {
                "archive": {"ver": 1, "type": "dirref", "data": [archives]},
                "job": job,
                "alias": {"ver": 1, "type": "symlink", "data": {"target": "archive.main"}},
                "up": {"ver": 1, "type": "symlink", "data": {"target": "archive"}},
                "circle": {"ver": 1, "type": "symlink", "data": {"target": "circle"}},
            }}),
        );
        StateDir::new(store, [checkpoint(&root)]).unwrap()
    }

    #[test]
    fn an_archive_is_found_through_references_and_joined_from_its_blobs() {
        let state = state();
        assert_eq!(state.archive("main").unwrap(), b"[{\"path\":\"f\"}]");
        assert_eq!(state.archive("small").unwrap(), b"[]");
        let mut archives = state.archives().unwrap();
        archives.sort_unstable();
        assert_eq!(archives, ["main", "of_blobs", "small"]);
        assert_eq!(state.checkpoints()[0].sequence, Some(7));
    }

    /// A store that counts the calls to `get`.
    struct Counting(MemoryStore, Arc<AtomicUsize>);

    impl BlobStore for Counting {
        fn get(&self, blobref: &BlobRef, out: &mut Vec<u8>) -> Result<(), StoreError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.get(blobref, out)
        }

        fn contains(&self, blobref: &BlobRef) -> Result<bool, StoreError> {
            self.0.contains(blobref)
        }
    }

    #[test]
    fn fetching_a_value_stops_at_the_first_missing_blob() {
        let store = MemoryStore::new();
        let piece = store.put(HashType::Sha1, b"piece").unwrap().to_string();
        let gone = BlobRef::of(HashType::Sha1, b"gone").to_string();
        let mut pieces = vec![piece; 1000];
        pieces[2] = gone;
        let value = json!({"ver": 1, "type": "valref", "data": pieces});
        let root = put(&store, &json!({"ver": 1, "type": "dir", "data": {"a": value}}));
        let count = Arc::new(AtomicUsize::new(0));
        let store = Counting(store, Arc::clone(&count));
        let state = StateDir::new(store, [checkpoint(&root)]).unwrap();
        assert!(matches!(state.value("a"), Err(KvsError::Blob { .. })));
        assert_eq!(count.load(Ordering::Relaxed), 4, "the root, and three pieces");
    }

    #[test]
    fn a_jobspec_is_found_by_the_job_id() {
        let id = JobId::parse("0000.0004.b200.0000").unwrap();
        assert_eq!(state().jobspec(id).unwrap(), b"{}");
        assert!(matches!(state().jobspec(JobId(1)), Err(KvsError::NotFound(_))));
    }

    #[test]
    fn overlong_keys_and_endless_links_are_rejected() {
        let state = state();
        let error = state.value(&"archive.".repeat(300)).unwrap_err();
        assert!(matches!(error, KvsError::NotFound(_) | KvsError::Type { .. }), "{error}");
        // Each time this link is followed, the path becomes longer.
        let store = MemoryStore::new();
        let link = json!({"ver": 1, "type": "symlink", "data": {"target": "a.b"}});
        let root = json!({"ver": 1, "type": "dir", "data": {"a": link}});
        let root = put(&store, &root);
        let state = StateDir::new(store, [checkpoint(&root)]).unwrap();
        assert!(matches!(state.value("a"), Err(KvsError::Invalid { .. })));
        // Nest directories in a single blob, more than can be followed with the maximum number of steps.
        let store = MemoryStore::new();
        let (open, close) = (r#"{"type":"dir","data":{"a":"#, "}}");
        let deep = open.repeat(5000) + r#"{"type":"val","data":""}"# + &close.repeat(5000);
        let root = store.put(HashType::Sha1, deep.as_bytes()).unwrap().to_string();
        let state = StateDir::new(store, [checkpoint(&root)]).unwrap();
        assert!(matches!(state.value(&"a.".repeat(5000)), Err(KvsError::Invalid { .. })));
        assert!(matches!(state.value("a.a"), Err(KvsError::Type { .. })));
    }

    #[test]
    fn intact_jobs_are_found_even_if_other_jobs_are_lost() {
        let store = MemoryStore::new();
        let dir = |data: Value| json!({"ver": 1, "type": "dir", "data": data});
        let reference = |name: String| json!({"ver": 1, "type": "dirref", "data": [name]});
        let val = json!({"ver": 1, "type": "val", "data": ""});
        let job = dir(json!({"jobspec": val}));
        let last = reference(put(&store, &dir(json!({"0001": job, "0002": job, "x": job}))));
        let many: serde_json::Map<String, Value> =
            (0..2000).map(|n| (format!("{n:04x}"), last.clone())).collect();
        let gone = reference(BlobRef::of(HashType::Sha1, b"gone").to_string());
        let third = dir(json!({"0000": dir(Value::Object(many)), "0001": gone, "0002": val}));
        let root = put(&store, &dir(json!({"job": dir(json!({"0000": third}))})));
        let state = StateDir::new(store, [checkpoint(&root)]).unwrap();
        let (jobs, failures) = state.jobs();
        assert_eq!(jobs.len(), 4000);
        assert_eq!((jobs[0].key(), jobs[1].0), ("0000.0000.0000.0001".to_owned(), 2));
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].to_string().starts_with("job.0000.0001: blob sha1-"));
        assert!(self::state().jobs().1.is_empty());
    }

    #[test]
    fn the_search_for_jobs_stops_after_too_many_keys() {
        let store = MemoryStore::new();
        let mut below = json!({"ver": 1, "type": "val", "data": ""});
        for _ in 0..5 {
            let members: serde_json::Map<String, Value> =
                (0..500).map(|n| (format!("{n:04x}"), below.clone())).collect();
            let blob = put(&store, &json!({"ver": 1, "type": "dir", "data": members}));
            below = json!({"ver": 1, "type": "dirref", "data": [blob]});
        }
        let root = put(&store, &json!({"ver": 1, "type": "dir", "data": {"job": below}}));
        let mut state = StateDir::new(store, [checkpoint(&root)]).unwrap();
        state.max_keys = 10_000;
        let (_, failures) = state.jobs();
        assert!(failures[0].to_string().contains("too many keys"), "{failures:?}");
    }

    #[test]
    fn links_between_keys_are_followed_but_cycles_are_rejected() {
        let state = state();
        assert_eq!(state.value("alias").unwrap(), b"[{\"path\":\"f\"}]");
        assert_eq!(state.value("up.small").unwrap(), b"[]");
        let error = state.value("circle").unwrap_err();
        assert!(matches!(error, KvsError::Invalid { .. }), "{error}");
    }

    #[test]
    fn reading_a_directory_as_a_value_or_a_value_as_a_directory_fails() {
        let state = state();
        assert!(matches!(state.value("archive"), Err(KvsError::Type { .. })));
        assert!(matches!(state.value("archive.small.x"), Err(KvsError::Type { .. })));
        assert!(matches!(state.value("nothing"), Err(KvsError::NotFound(_))));
    }

    #[test]
    fn a_cycle_of_directories_is_rejected() {
        // Only a malicious store can contain a cycle of blobs. It is detected because at least one
        // digest is wrong.
        let store = MemoryStore::new();
        let name = BlobRef::of(HashType::Sha1, b"any");
        let object = json!({"ver": 1, "type": "dirref", "data": [name.to_string()]}).to_string();
        store.insert_as(name, object.into_bytes());
        let state = StateDir::new(store, [checkpoint(&name.to_string())]).unwrap();
        assert!(matches!(state.value("a"), Err(KvsError::Blob { .. })));
    }

    #[test]
    fn malformed_objects_in_the_key_value_store_are_rejected() {
        let store = MemoryStore::new();
        for (root, value) in [
            ("5", None),
            ("{\"type\":\"dir\",\"data\":5}", None),
            ("{\"type\":\"dir\",\"data\":{\"a\":{\"type\":\"val\",\"data\":\"A\"}}}", Some("a")),
            (
                "{\"type\":\"dir\",\"data\":{\"a\":{\"type\":\"valref\",\"data\":[\"x\"]}}}",
                Some("a"),
            ),
            ("{\"type\":\"dirref\",\"data\":[]}", None),
        ] {
            let root = store.put(HashType::Sha1, root.as_bytes()).unwrap();
            let copy = MemoryStore::new();
            let mut blob = Vec::new();
            store.get(&root, &mut blob).unwrap();
            copy.put(HashType::Sha1, &blob).unwrap();
            let state = StateDir::new(copy, [checkpoint(&root.to_string())]).unwrap();
            let error = state.value(value.unwrap_or("a")).unwrap_err();
            assert!(matches!(error, KvsError::Invalid { .. }), "{error}");
        }
    }

    #[test]
    fn checkpoints_are_read_as_objects_and_as_blobrefs() {
        let blobref = BlobRef::of(HashType::Sha256, b"");
        for text in [blobref.to_string(), checkpoint(&blobref.to_string())] {
            assert_eq!(Checkpoint::parse(&text).unwrap().root, blobref);
        }
        let array = format!(r#"["{blobref}", 1]"#);
        assert_eq!((Checkpoint::parse("{}"), Checkpoint::parse(&array)), (None, None));
        assert!(matches!(StateDir::new(MemoryStore::new(), []), Err(KvsError::NoCheckpoint)));
    }

    #[test]
    fn a_state_directory_with_content_files_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(StateDir::open(folder.path()), Err(KvsError::NoState)));
        let files = folder.path().join("content.files");
        let store = DirStore::create(&files).unwrap();
        assert!(matches!(StateDir::open(folder.path()), Err(KvsError::NoCheckpoint)));
        let root = json!({"ver": 1, "type": "dir", "data": {}}).to_string();
        let root = store.put(HashType::Sha1, root.as_bytes()).unwrap();
        fs::write(files.join("kvs-primary"), checkpoint(&root.to_string())).unwrap();
        assert!(StateDir::open(folder.path()).unwrap().archives().unwrap().is_empty());
    }
}
