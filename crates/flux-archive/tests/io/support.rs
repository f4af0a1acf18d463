//! A sandbox for extractions, and trees of files on disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A target directory for extraction, next to directories that must not be touched.
///
/// ```text
/// root/out      the target directory
/// root/esc      an empty directory (mode 0755) to which escaping links point
/// cas           the blob store, and other files outside the target
/// ```
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self { folder: tempfile::tempdir().unwrap() };
        for directory in ["root", "root/out", "root/esc", "cas"] {
            let path = sandbox.path(directory);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        sandbox
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.path("root/out")
    }

    /// Panics if anything was created next to the target or in `root/esc`, or if the mode of
    /// `root/esc` has changed.
    pub(crate) fn assert_untouched(&self, context: &str) {
        let names = |path: &Path| {
            let entries = fs::read_dir(path).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(self.folder.path()), ["cas", "root"], "{context}");
        assert_eq!(names(&self.path("root")), ["esc", "out"], "{context}");
        let esc = self.path("root/esc");
        assert!(names(&esc).is_empty(), "{context}");
        let mode = fs::symlink_metadata(esc).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "{context}");
    }
}

/// A file, directory or link on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Directory { mode: u32 },
    File { mode: u32, size: u64, data: Option<Vec<u8>> },
    Link { target: String },
}

/// Returns all files, directories and links below a directory by path. The content of files larger
/// than `most` bytes is omitted.
pub(crate) fn tree(root: &Path, most: u64) -> BTreeMap<String, Node> {
    let mut nodes = BTreeMap::new();
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let mode = metadata.mode() & 0o7777;
            let node = if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                Node::Link { target: target.to_str().unwrap().to_owned() }
            } else if metadata.is_dir() {
                pending.push(path.clone());
                Node::Directory { mode }
            } else {
                let data = (metadata.len() <= most).then(|| fs::read(&path).unwrap());
                Node::File { mode, size: metadata.len(), data }
            };
            let relative = path.strip_prefix(root).unwrap();
            nodes.insert(relative.to_str().unwrap().to_owned(), node);
        }
    }
    nodes
}

/// A guard that sets the umask of the process until it is dropped. Only one guard can exist at a
/// time, so tests that depend on modes run one after another.
pub(crate) struct Umask {
    before: rustix::fs::Mode,
    _turn: MutexGuard<'static, ()>,
}

impl Umask {
    pub(crate) fn set(umask: u32) -> Self {
        static TURN: Mutex<()> = Mutex::new(());

        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        Self { before, _turn: turn }
    }
}

impl Drop for Umask {
    fn drop(&mut self) {
        rustix::process::umask(self.before);
    }
}
