//! Extracts arbitrary documents with arbitrary policies into a target that is empty or contains
//! links that lead outside. Nothing outside the target may change, and no temporary file may be
//! left behind. If nothing fails in an empty target and all files are small, the extracted files
//! must have the content of the archive.

#![no_main]

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flux_archive::disk::{Existing, Extractor, LinkPolicy};
use flux_archive::inspect::VerifyOptions;
use flux_archive::store::{BlobStoreMut, MemoryStore};
use flux_archive::{HashType, Limits, OpenOptions, Profile};
use libfuzzer_sys::fuzz_target;

/// The sandbox of this process, in which `out` is the target and `esc` must not change.
static SANDBOX: LazyLock<PathBuf> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("flux-extract-{}", std::process::id()));
    fs::create_dir_all(root.join("esc")).expect("a temporary directory");
    fs::write(root.join("esc/sentinel"), "untouched").expect("a temporary file");
    for (path, mode) in [("esc", 0o755), ("esc/sentinel", 0o600)] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).expect("ours");
    }
    root
});

/// The blobs to which the seeds refer.
static STORE: LazyLock<MemoryStore> = LazyLock::new(|| {
    let store = MemoryStore::new();
    for blob in [&b""[..], b"abc", b"AAAA", b"BBBB", b"CCCCCCCC"] {
        for hash in HashType::ALL {
            store.put(hash, blob).expect("storing a blob in memory succeeds");
        }
    }
    store
});

fuzz_target!(|document: &[u8]| {
    // Choose the options by the sum of all bytes, so that recorded archives can be used as seeds
    // without changes. Appending a space to a document selects other options.
    let options = document.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    let limits =
        Limits::default().max_file_size(1 << 30).max_materialized_bytes(1 << 20).max_entries(200);
    let parse = OpenOptions::new().profile(Profile::Legacy).limits(limits);
    let Ok(archive) = parse.parse(document) else { return };
    let out = SANDBOX.join("out");
    let _ = fs::remove_dir_all(&out);
    fs::create_dir(&out).expect("the target was removed");
    let empty = options & 1 == 0;
    if !empty {
        fs::create_dir(out.join("d")).expect("the target is empty");
        fs::write(out.join("f"), "before").expect("the target is empty");
        for (link, target) in [("l", "../esc"), ("a", "/"), ("d/l", "../../esc/sentinel")] {
            symlink(target, out.join(link)).expect("the target is empty");
        }
    }
    let existing = [Existing::Error, Existing::Skip, Existing::Overwrite, Existing::Newer];
    let links = [LinkPolicy::Keep, LinkPolicy::RejectAbsolute, LinkPolicy::RejectEscaping];
    let report = Extractor::new(&out)
        .expect("a directory")
        .store(&*STORE)
        .existing(existing[usize::from(options >> 1 & 3)])
        .links(links[usize::from(options >> 4) % 3])
        .preserve_permissions(options & 8 != 0)
        .limits(limits)
        .run(&archive);
    let named: HashSet<&str> =
        archive.entries().iter().flat_map(|entry| entry.path().as_str().split('/')).collect();
    assert_untouched(&out, &named);
    let Ok(report) = report else { return };
    let small = archive.entries().iter().all(|entry| entry.len() < 1 << 20);
    if empty && small && report.failures.is_empty() {
        let options = VerifyOptions::new().directory(&out).expect("a directory");
        let options = options.permissions(false).times(false).store(&*STORE).blobs(false);
        let report = archive.verify(&options);
        assert!(report.passed(), "{report:?}");
    }
});

/// Checks that nothing outside the target has changed, and that no temporary file is left behind.
/// `named` contains the names in the archive, because these may look like names of temporary files.
fn assert_untouched(out: &Path, named: &HashSet<&str>) {
    let names = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into()).collect()
    };
    assert_eq!(names(&SANDBOX).len(), 2, "expected only `esc` and `out`");
    assert_eq!(names(&SANDBOX.join("esc")), ["sentinel"]);
    let sentinel = SANDBOX.join("esc/sentinel");
    assert_eq!(fs::read(&sentinel).expect("the file exists"), b"untouched");
    let mode = |path: &Path| fs::metadata(path).expect("the file exists").mode() & 0o7777;
    assert_eq!((mode(&SANDBOX.join("esc")), mode(&sentinel)), (0o755, 0o600));
    let temporary = format!(".flux-{}-", std::process::id());
    let mut pending = vec![out.to_owned()];
    while let Some(directory) = pending.pop() {
        for name in names(&directory) {
            let ours = name.starts_with(&temporary) && !named.contains(name.as_str());
            assert!(!ours, "the temporary file {name} was not removed");
            let path = directory.join(name);
            if fs::symlink_metadata(&path).expect("the file exists").is_dir()
                && fs::read_dir(&path).is_ok()
            {
                pending.push(path);
            }
        }
    }
}
