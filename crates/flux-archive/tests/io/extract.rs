//! Tests that extract harmless archives: policies, modes, times and concurrency.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use flux_archive::disk::{Existing, Extractor, LinkPolicy};
use flux_archive::inspect::{Change, VerifyOptions};
use flux_archive::store::{BlobStoreMut, MemoryStore};
use flux_archive::{Archive, HashType, Limits, OpenOptions, Profile};

use crate::support::{Node, Sandbox, Umask, tree};

fn parse(json: &str) -> Archive<'_> {
    Archive::parse(json.as_bytes(), Profile::Flux).unwrap()
}

fn extractor(sandbox: &Sandbox) -> Extractor<'static> {
    Extractor::new(sandbox.out()).unwrap()
}

#[test]
fn directory_modes_are_set_after_the_directories_have_been_filled() {
    let _umask = Umask::set(0o022);
    for json in [
        r#"[{"path":"d","mode":16704},{"path":"d/f","mode":33060,"size":0}]"#,
        r#"[{"path":"d/f","mode":33060,"size":0},{"path":"d","mode":16704}]"#,
        r#"[{"path":"d/f","mode":33060,"size":0},{"path":"d","mode":16384}]"#,
    ] {
        let sandbox = Sandbox::new();
        let report = extractor(&sandbox).run(&parse(json)).unwrap();
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let mode = fs::metadata(sandbox.out().join("d")).unwrap().mode() & 0o7777;
        assert_eq!(mode, if json.contains("16704") { 0o500 } else { 0 });
        fs::set_permissions(sandbox.out().join("d"), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(fs::metadata(sandbox.out().join("d/f")).unwrap().mode() & 0o7777, 0o444);
    }
}

#[test]
fn located_and_parsed_archives_are_extracted_with_the_same_result() {
    let _umask = Umask::set(0o022);
    let zeros = "A".repeat(200_000);
    let json = format!(
        r#"[{{"path":"d","mode":16749,"mtime":5}},
            {{"path":"d/text","mode":33188,"encoding":"utf-8","data":"\u00e9\n","size":3,"mtime":7}},
            {{"path":"d/bytes","mode":33261,"encoding":"base64","data":"AAEC+w==","size":4}},
            {{"path":"zeros","mode":33188,"encoding":"base64","data":"{zeros}","size":150000}},
            {{"path":"json","mode":33188,"data":[1.50]}},
            {{"path":"hole","mode":33188,"size":70000}},
            {{"path":"blob","mode":33188,"encoding":"blobvec","size":3,
              "data":[[0,3,"sha1-a9993e364706816aba3e25717850c26c9cd0d89d"]]}},
            {{"path":"exists","mode":33188,"encoding":"utf-8","data":"new","size":3}},
            {{"path":"l","mode":41471,"data":"d/text"}},
            {{"path":"out","mode":41471,"data":"/etc"}}]"#
    );
    let store = MemoryStore::new();
    store.put(HashType::Sha1, b"abc").unwrap();
    let archive = parse(&json);
    let bytes = json.as_bytes();
    let located = OpenOptions::new().locate(&bytes).unwrap().unwrap();
    let mut results = Vec::new();
    for from_source in [false, true] {
        for existing in [Existing::Error, Existing::Overwrite, Existing::Skip] {
            let sandbox = Sandbox::new();
            fs::write(sandbox.out().join("exists"), "old").unwrap();
            let progress = AtomicU64::new(0);
            let add = |bytes| {
                progress.fetch_add(bytes, Ordering::Relaxed);
            };
            let extractor = extractor(&sandbox).existing(existing).store(&store).progress(&add);
            let extractor = extractor.links(LinkPolicy::RejectAbsolute);
            let report =
                if from_source { extractor.run_located(&located) } else { extractor.run(&archive) };
            let report = report.unwrap();
            assert_eq!(report.failures.len(), if existing == Existing::Error { 2 } else { 1 });
            let blocks = fs::metadata(sandbox.out().join("zeros")).unwrap().blocks();
            let report = serde_json::to_string(&report).unwrap();
            results.push((report, tree(&sandbox.out(), 1 << 20), blocks, progress.into_inner()));
        }
    }
    assert_eq!(results[..3], results[3..]);
}

#[test]
fn large_files_extracted_from_located_and_parsed_archives_are_equal() {
    let _umask = Umask::set(0o022);
    let (units, zeros) = (600_000, 1_000_000);
    let json = format!(
        r#"[{{"path":"text","mode":33188,"encoding":"utf-8","data":"x{}","size":{}}},
            {{"path":"json","mode":33188,"data":"{}"}},
            {{"path":"bytes","mode":33188,"encoding":"base64","data":"{}{}Aw==","size":{}}}]"#,
        r"\ud83d\ude00é\n".repeat(units),
        1 + 7 * units,
        "y".repeat(7 * units),
        "AAEC".repeat(units),
        "AAAA".repeat(zeros),
        3 * (units + zeros) + 1,
    );
    let archive = parse(&json);
    let bytes = json.as_bytes();
    let located = OpenOptions::new().locate(&bytes).unwrap().unwrap();
    let extracted = |threads, from_source| {
        let sandbox = Sandbox::new();
        let progress = AtomicU64::new(0);
        let add = |bytes| {
            progress.fetch_add(bytes, Ordering::Relaxed);
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let report = pool.install(|| {
            let extractor = extractor(&sandbox).progress(&add);
            if from_source { extractor.run_located(&located) } else { extractor.run(&archive) }
        });
        let file = fs::metadata(sandbox.out().join("bytes")).unwrap();
        assert!(file.blocks() * 512 < file.len(), "zeros are holes");
        let report = serde_json::to_string(&report.unwrap()).unwrap();
        (report, tree(&sandbox.out(), u64::MAX), progress.into_inner())
    };
    let expected = extracted(1, false);
    for threads in [1, 2, 3] {
        assert!(extracted(threads, true) == expected, "{threads} threads");
    }
}

#[test]
fn limits_apply_when_a_located_archive_is_extracted() {
    let json: &[u8] = br#"[{"path":"f","mode":33188,"encoding":"utf-8","data":"abc","size":3}]"#;
    let located = OpenOptions::new().locate(&json).unwrap().unwrap();
    for (limits, is_enough) in [
        (Limits::default().max_materialized_bytes(2), false),
        (Limits::default().max_file_size(2), false),
        (Limits::default().max_materialized_bytes(3).max_file_size(3), true),
    ] {
        let sandbox = Sandbox::new();
        let result = extractor(&sandbox).limits(limits).run_located(&located);
        assert_eq!(result.is_ok(), is_enough);
    }
}

#[test]
fn special_mode_bits_and_umask_bits_are_removed_unless_permissions_are_preserved() {
    let json = r#"[{"path":"f","mode":36351,"size":0},{"path":"d","mode":17407}]"#;
    for (preserve, file, directory) in [(false, 0o750, 0o750), (true, 0o6777, 0o1777)] {
        let _umask = Umask::set(0o027);
        let sandbox = Sandbox::new();
        extractor(&sandbox).preserve_permissions(preserve).run(&parse(json)).unwrap();
        let mode = |name| fs::metadata(sandbox.out().join(name)).unwrap().mode() & 0o7777;
        assert_eq!((mode("f"), mode("d")), (file, directory));
    }
}

#[test]
fn the_mode_of_an_existing_directory_changes_only_if_the_policy_replaces_files() {
    let _umask = Umask::set(0o022);
    let json = r#"[{"path":"d","mode":16895,"mtime":5},{"path":"d/f","mode":33188,"size":0}]"#;
    for (existing, mode) in
        [(Existing::Error, 0o711), (Existing::Skip, 0o711), (Existing::Overwrite, 0o755)]
    {
        let sandbox = Sandbox::new();
        let path = sandbox.out().join("d");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o711)).unwrap();
        let report = extractor(&sandbox).existing(existing).run(&parse(json)).unwrap();
        assert!(report.failures.is_empty());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, mode, "{existing:?}");
        assert_eq!(tree(&sandbox.out(), 0).len(), 2, "no temporary file is left");
    }
}

#[test]
fn times_before_and_after_1970_are_restored_unless_disabled() {
    let json = r#"[
        {"path":"d/f","mode":33188,"size":0,"mtime":-100},
        {"path":"d/l","mode":41471,"data":"t","mtime":981173106},
        {"path":"d","mode":16877,"mtime":1000000000}]"#;
    for times in [true, false] {
        let sandbox = Sandbox::new();
        extractor(&sandbox).times(times).run(&parse(json)).unwrap();
        let mtime = |name| fs::symlink_metadata(sandbox.out().join(name)).unwrap().mtime();
        let found = [mtime("d/f"), mtime("d/l"), mtime("d")];
        assert_eq!(found == [-100, 981_173_106, 1_000_000_000], times, "{found:?}");
    }
}

#[test]
fn policies_for_existing_files_also_apply_to_links() {
    let entries = [
        r#"{"path":"p","mode":33188,"encoding":"utf-8","data":"new","size":3,"mtime":2000000000}"#,
        r#"{"path":"p","mode":33188,"size":0,"mtime":2000000000}"#,
        r#"{"path":"p","mode":41471,"data":"new","mtime":2000000000}"#,
    ];
    for entry in entries {
        for link in [true, false] {
            for existing in [Existing::Error, Existing::Skip, Existing::Overwrite, Existing::Newer]
            {
                let sandbox = Sandbox::new();
                let path = sandbox.out().join("p");
                if link {
                    symlink("old", &path).unwrap();
                } else {
                    fs::write(&path, "old").unwrap();
                }
                let before = tree(&sandbox.out(), 100);
                let json = format!("[{entry}]");
                let report = extractor(&sandbox).existing(existing).run(&parse(&json)).unwrap();
                let same = entry.contains("41471") == link;
                let (done, skipped, failed) = match existing {
                    Existing::Overwrite => (1, 0, 0),
                    Existing::Newer if same => (1, 0, 0),
                    Existing::Skip if same => (0, 1, 0),
                    _ => (0, 0, 1),
                };
                let counts = (report.files + report.links, report.skipped, report.failures.len());
                assert_eq!(counts, (done, skipped, failed), "{existing:?} {entry} {link}");
                assert_eq!(tree(&sandbox.out(), 100) == before, done == 0);
            }
        }
    }
}

#[test]
fn entries_with_names_that_the_file_system_treats_as_equal_are_reported() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("cas/Probe"), "").unwrap();
    if !sandbox.path("cas/pROBE").exists() {
        eprintln!("skipped: this file system distinguishes case");
        return;
    }
    let json = r#"[{"path":"d/Name","mode":33188,"encoding":"utf-8","data":"1","size":1},
        {"path":"d/nAME","mode":33188,"encoding":"utf-8","data":"2","size":1},
        {"path":"d/other","mode":33188,"size":0}]"#;
    for existing in [Existing::Error, Existing::Skip, Existing::Overwrite, Existing::Newer] {
        let sandbox = Sandbox::new();
        let report = extractor(&sandbox).existing(existing).run(&parse(json)).unwrap();
        assert_eq!((report.files, report.failures.len()), (2, 1), "{existing:?}");
        assert!(report.failures[0].to_string().contains("treats as equal"));
    }
}

#[test]
fn older_entries_do_not_replace_newer_files() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.out().join("f"), "new").unwrap();
    let json = r#"[{"path":"f","mode":33188,"encoding":"utf-8","data":"old","size":3,"mtime":5}]"#;
    let report = extractor(&sandbox).existing(Existing::Newer).run(&parse(json)).unwrap();
    assert_eq!(report.skipped, 1);
    assert_eq!(fs::read(sandbox.out().join("f")).unwrap(), b"new");
}

#[test]
fn only_the_last_entry_with_each_path_is_extracted() {
    let json = r#"[
        {"path":"f","mode":33188,"encoding":"utf-8","data":"1","size":1,"mtime":9},
        {"path":"f","mode":33188,"encoding":"utf-8","data":"2","size":1,"mtime":5}]"#;
    for existing in [Existing::Error, Existing::Skip, Existing::Overwrite, Existing::Newer] {
        let sandbox = Sandbox::new();
        let report = extractor(&sandbox).existing(existing).run(&parse(json)).unwrap();
        assert_eq!(fs::read(sandbox.out().join("f")).unwrap(), b"2", "{existing:?}");
        assert_eq!((report.files, report.skipped, report.failures.len()), (1, 0, 0));
    }
}

#[test]
fn a_dry_run_finds_conflicts_without_writing() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.out().join("f"), "old").unwrap();
    let json = r#"[{"path":"f","mode":33188,"size":0},{"path":"a/b","mode":33188,"size":0},
        {"path":"f2/x","mode":33188,"size":0},{"path":"l","mode":41471,"data":"t"}]"#;
    fs::write(sandbox.out().join("f2"), "").unwrap();
    let before = tree(&sandbox.out(), 100);
    let report = extractor(&sandbox).dry_run(true).run(&parse(json)).unwrap();
    assert_eq!((report.files, report.links, report.failures.len()), (1, 1, 2));
    assert_eq!(tree(&sandbox.out(), 100), before);
}

#[test]
fn a_dry_run_counts_existing_directories_like_a_real_run() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.out().join("d")).unwrap();
    fs::write(sandbox.out().join("f"), "old").unwrap();
    let json = r#"[{"path":"d","mode":16877},{"path":"e","mode":16877},
        {"path":"f","mode":33188,"size":0}]"#;
    for existing in [Existing::Skip, Existing::Newer] {
        let extractor = || extractor(&sandbox).existing(existing);
        for dry_run in [true, false] {
            let report = extractor().dry_run(dry_run).run(&parse(json)).unwrap();
            assert_eq!((report.directories, report.skipped), (2, 1), "dry run: {dry_run}");
        }
    }
}

#[test]
fn fail_fast_stops_at_the_first_failure_and_require_hash_rejects_other_hashes() {
    let sandbox = Sandbox::new();
    let store = MemoryStore::new();
    let blobref = store.put(HashType::Sha1, b"abc").unwrap();
    let json = format!(
        r#"[{{"path":"b","mode":33188,"encoding":"blobvec","size":3,"data":[[0,3,"{blobref}"]]}},
            {{"path":"c","mode":33188,"size":0}}]"#
    );
    let strict = || extractor(&sandbox).store(&store).require_hash(Some(HashType::Sha256));
    let report = strict().fail_fast(true).run(&parse(&json)).unwrap();
    assert_eq!((report.files, report.failures.len()), (0, 1));
    let report = strict().run(&parse(&json)).unwrap();
    assert_eq!((report.files, report.failures.len()), (1, 1));
}

#[test]
fn with_fail_fast_no_directory_is_created_after_a_rejected_link() {
    let sandbox = Sandbox::new();
    let json = r#"[{"path":"l","mode":41471,"data":"/etc"},{"path":"d/f","mode":33188,"size":0}]"#;
    let extractor = || extractor(&sandbox).links(LinkPolicy::RejectAbsolute);
    let report = extractor().fail_fast(true).run(&parse(json)).unwrap();
    assert_eq!((report.files, report.failures.len()), (0, 1));
    assert!(tree(&sandbox.out(), 0).is_empty());
    assert_eq!(extractor().run(&parse(json)).unwrap().files, 1);
}

#[test]
fn policies_for_existing_files_apply_to_accented_names() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("cas/Probe"), "").unwrap();
    if sandbox.path("cas/pROBE").exists() {
        eprintln!("skipped: this file system does not distinguish case");
        return;
    }
    // A name with an accent can be encoded in several ways. The extractor therefore assumes that
    // the file system may treat all these names as equal, and looks up each file by its exact name.
    let entries: Vec<_> = (0..3000)
        .map(|n| format!(r#"{{"path":"é{n}","mode":33188,"size":0,"mtime":2000000000}}"#))
        .collect();
    let json = format!("[{}]", entries.join(","));
    for (existing, files, skipped, failures) in [
        (Existing::Error, 3000, 0, 0),
        (Existing::Error, 0, 0, 3000),
        (Existing::Skip, 0, 3000, 0),
        (Existing::Overwrite, 3000, 0, 0),
    ] {
        let report = extractor(&sandbox).existing(existing).run(&parse(&json)).unwrap();
        let found = (report.files, report.skipped, report.failures.len());
        assert_eq!(found, (files, skipped, failures), "{existing:?}");
        assert!(
            report.failures.iter().all(|failure| failure.to_string().contains("a file exists"))
        );
    }
}

#[test]
fn names_that_are_special_on_other_systems_are_extracted() {
    let sandbox = Sandbox::new();
    let names =
        ["CON", "nul.txt ", r"C:\\x", r"a\\..\\b", "...", "-rf", " ", "~", r"a\nb", "$(id)"];
    let entries: Vec<_> =
        names.iter().map(|name| format!(r#"{{"path":"{name}","mode":33188,"size":0}}"#)).collect();
    let json = format!("[{}]", entries.join(","));
    let archive = Archive::parse(json.as_bytes(), Profile::Strict).unwrap();
    let report = extractor(&sandbox).run(&archive).unwrap();
    assert_eq!((report.files, report.failures.len()), (names.len() as u64, 0));
    let made = tree(&sandbox.out(), 0);
    assert!(made.contains_key(r"a\..\b") && made.contains_key("a\nb"), "{made:?}");
    sandbox.assert_untouched("names");
}

#[test]
fn only_entries_with_an_overlong_path_component_fail() {
    let sandbox = Sandbox::new();
    let long = "n".repeat(256);
    let json = format!(
        r#"[{{"path":"{long}","mode":33188,"size":0}},{{"path":"{long}/f","mode":33188,"size":0}},
            {{"path":"{}","mode":33188,"size":0}}]"#,
        &long[1..]
    );
    let json = json.replacen(r#"{"path":"nnn"#, r#"{"path":"mnnn"#, 1);
    let report = extractor(&sandbox).run(&parse(&json)).unwrap();
    assert_eq!((report.files, report.failures.len()), (1, 2), "{:?}", report.failures);
    assert_eq!(tree(&sandbox.out(), 0).len(), 1);
}

#[test]
fn the_target_directory_may_be_a_link() {
    let sandbox = Sandbox::new();
    let link = sandbox.path("cas/link");
    symlink("../root/out", &link).unwrap();
    let json = r#"[{"path":"d/f","mode":33188,"size":0}]"#;
    let report = Extractor::new(&link).unwrap().run(&parse(json)).unwrap();
    assert_eq!((report.files, report.failures.len()), (1, 0));
    assert!(sandbox.out().join("d/f").exists());
}

#[test]
fn a_directory_never_replaces_a_file() {
    for existing in [Existing::Error, Existing::Skip, Existing::Overwrite, Existing::Newer] {
        let sandbox = Sandbox::new();
        fs::write(sandbox.out().join("p"), "kept").unwrap();
        let json = r#"[{"path":"p/f","mode":33188,"size":0,"mtime":2000000000}]"#;
        let report = extractor(&sandbox).existing(existing).run(&parse(json)).unwrap();
        assert_eq!((report.files, report.failures.len()), (0, 1), "{existing:?}");
        assert_eq!(fs::read(sandbox.out().join("p")).unwrap(), b"kept");
    }
}

#[test]
fn extracting_extreme_64_bit_times_causes_no_panic() {
    let sandbox = Sandbox::new();
    let json = r#"[{"path":"f","mode":33188,"size":0,"mtime":-9223372036854775808},
        {"path":"g","mode":33188,"size":0,"mtime":9223372036854775807},
        {"path":"l","mode":41471,"data":"t","mtime":9223372036854775807},
        {"path":"d","mode":16877,"mtime":-9223372036854775808}]"#;
    let report = extractor(&sandbox).run(&parse(json)).unwrap();
    // The file system may store, adjust or reject times so far from 1970.
    let done = report.files + report.links + report.directories;
    assert!(done + report.failures.len() as u64 >= 4, "{report:?}");
}

#[test]
fn concurrent_extractions_into_one_tree_succeed() {
    let sandbox = Sandbox::new();
    let entries: Vec<_> = (0..300)
        .map(|n| {
            let path = format!("d{}/e{}/f{n}", n % 7, n % 3);
            format!(r#"{{"path":"{path}","mode":33188,"encoding":"utf-8","data":"{n}"}}"#)
        })
        .collect();
    let json = format!("[{}]", entries.join(","));
    let archive = parse(&json);
    let reports: Vec<_> = thread::scope(|scope| {
        let run = || extractor(&sandbox).existing(Existing::Skip).run(&archive).unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(reports.iter().all(|report| report.failures.is_empty()));
    assert_eq!(reports.iter().map(|report| report.files).sum::<u64>(), 300);
    let files = tree(&sandbox.out(), 100).into_values();
    assert_eq!(files.filter(|node| matches!(node, Node::File { .. })).count(), 300);
}

#[test]
fn comparing_files_with_the_archive_reports_differences() {
    let _umask = Umask::set(0o022);
    let sandbox = Sandbox::new();
    let store = MemoryStore::new();
    let blobref = store.put(HashType::Sha1, b"abc").unwrap();
    let json = format!(
        r#"[{{"path":"blob","mode":33188,"encoding":"blobvec","size":5,"data":[[1,3,"{blobref}"]],"mtime":7}},
            {{"path":"text","mode":33188,"encoding":"utf-8","data":"two\nlines","size":9}},
            {{"path":"dir","mode":16832,"mtime":8}},
            {{"path":"link","mode":41471,"data":"t"}},
            {{"path":"gone","mode":33188,"size":0}}]"#
    );
    let archive = parse(&json);
    let options = || VerifyOptions::new().directory(sandbox.out()).unwrap();
    extractor(&sandbox).store(&store).run(&archive).unwrap();
    let compared = AtomicU64::new(0);
    let add = |bytes| {
        compared.fetch_add(bytes, Ordering::Relaxed);
    };
    let report = archive.verify(&options().store(&store).blobs(false).progress(&add));
    assert!(report.passed(), "{report:?}");
    assert_eq!((report.blobs, compared.into_inner()), (0, 14));

    fs::write(sandbox.out().join("blob"), "\0abd\0").unwrap();
    fs::write(sandbox.out().join("text"), "short").unwrap();
    fs::set_permissions(sandbox.out().join("dir"), fs::Permissions::from_mode(0o711)).unwrap();
    fs::remove_file(sandbox.out().join("link")).unwrap();
    symlink("u", sandbox.out().join("link")).unwrap();
    fs::remove_file(sandbox.out().join("gone")).unwrap();
    let report = archive.verify(&options().times(false).store(&store));
    assert!(report.failures.is_empty() && !report.passed());
    let expected = [
        ("blob", Change::Content),
        ("text", Change::Size(9, 5)),
        ("dir", Change::Permissions(0o700, 0o711)),
        ("link", Change::Target("t".into(), "u".into())),
        ("gone", Change::Removed),
    ];
    let differences = report.differences.into_iter();
    let found: Vec<_> = differences.map(|found| (found.path, found.changes)).collect();
    assert_eq!(found, expected.map(|(path, change)| (path.to_owned(), vec![change])));
}
