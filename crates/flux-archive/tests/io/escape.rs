//! Extraction must never write outside the target, despite hostile archives, links on disk, races,
//! and known attacks on tar. The tests run as the current user, and then again as an ordinary user
//! if the current user is root.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flux_archive::disk::{Existing, Extractor, LinkPolicy};
use flux_archive::store::MemoryStore;
use flux_archive::{Archive, Limits, Profile};

use crate::support::{Node, Sandbox, tree};

const POLICIES: [Existing; 4] =
    [Existing::Error, Existing::Skip, Existing::Overwrite, Existing::Newer];

/// Extracts an archive with every policy into a target that `prepare` has filled. Whatever the
/// result, nothing outside the target may be touched.
fn assert_contained(json: &str, prepare: impl Fn(&Sandbox)) {
    for existing in POLICIES {
        for preserve in [false, true] {
            let sandbox = Sandbox::new();
            prepare(&sandbox);
            let json = json.replace('@', sandbox.path("root").to_str().unwrap());
            if let Ok(archive) = Archive::parse(json.as_bytes(), Profile::Flux) {
                let extractor = Extractor::new(sandbox.out()).unwrap().existing(existing);
                let _ = extractor.preserve_permissions(preserve).run(&archive);
            }
            sandbox.assert_untouched(&json);
        }
    }
}

fn file(path: &str) -> String {
    format!(r#"{{"path":"{path}","mode":33279,"encoding":"utf-8","data":"x","size":1}}"#)
}

fn directory(path: &str) -> String {
    format!(r#"{{"path":"{path}","mode":16895,"mtime":5}}"#)
}

fn link(path: &str, target: &str) -> String {
    format!(r#"{{"path":"{path}","mode":41471,"data":"{target}","mtime":5}}"#)
}

fn archive(entries: &[String]) -> String {
    format!("[{}]", entries.join(","))
}

#[test]
fn entries_with_paths_that_leave_the_target_write_nothing_outside_it() {
    for path in ["../esc/f", "a/../../esc/f", "..", "a/..", "@/esc/f", "/../esc/f", "./../esc/f"] {
        assert_contained(&archive(&[file(path)]), |_| {});
        assert_contained(&archive(&[directory(path)]), |_| {});
        assert_contained(&archive(&[link(path, "t")]), |_| {});
    }
}

#[test]
fn extraction_never_writes_through_a_link_of_the_archive() {
    for target in ["../esc", "@/esc", "..", ".", "real", "/"] {
        for through in [file("l/f"), directory("l/d"), link("l/k", "t"), file("l")] {
            let link = link("l", target);
            let (real, dir) = (directory("real"), directory("l"));
            for entries in [
                vec![link.clone(), through.clone()],
                vec![through.clone(), link.clone()],
                vec![real.clone(), link.clone(), through.clone()],
                vec![link.clone(), dir.clone(), through.clone()],
                vec![dir.clone(), link.clone(), through.clone()],
            ] {
                assert_contained(&archive(&entries), |_| {});
            }
        }
    }
}

#[test]
fn extraction_never_writes_through_a_link_on_disk() {
    for entry in [file("l/f"), directory("l/d"), link("l/k", "t"), file("l"), directory("l")] {
        assert_contained(&archive(&[entry]), |sandbox| {
            symlink("../esc", sandbox.out().join("l")).unwrap();
        });
    }
}

// Vulnerabilities of tar-rs: RUSTSEC-2018-0002 (a file that replaces a hard or symbolic link is
// written to the target of the link), RUSTSEC-2021-0080 (a directory is created through a link),
// CVE-2026-33056 (a directory entry with the path of a link changes the mode of the link's target).
#[test]
fn known_attacks_on_tar_rs_do_not_write_outside_the_target() {
    let chmod = [link("l", "../esc"), directory("l")];
    assert_contained(&archive(&chmod), |_| {});
    assert_contained(&archive(&chmod[1..]), |sandbox| {
        symlink("../esc", sandbox.out().join("l")).unwrap();
    });
    assert_contained(&archive(&[link("l", "../esc"), directory("l/new")]), |_| {});
    assert_contained(&archive(&[link("l", "../esc/f"), file("l")]), |_| {});
    let goal = archive(&[file("hard")]);
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("cas/precious"), "old").unwrap();
    fs::hard_link(sandbox.path("cas/precious"), sandbox.out().join("hard")).unwrap();
    let archive = Archive::parse(goal.as_bytes(), Profile::Flux).unwrap();
    let extractor = Extractor::new(sandbox.out()).unwrap().existing(Existing::Overwrite);
    assert!(extractor.run(&archive).unwrap().failures.is_empty());
    assert_eq!(
        fs::read(sandbox.path("cas/precious")).unwrap(),
        b"old",
        "the hard link is replaced, and its target is not written"
    );
}

// CVE-2025-45582: the first archive creates a link, and the second archive writes through the link.
#[test]
fn a_second_archive_does_not_write_through_links_of_the_first() {
    for existing in POLICIES {
        let sandbox = Sandbox::new();
        for entries in [vec![link("x", "../esc")], vec![file("x/f"), directory("x"), file("ok")]] {
            let json = archive(&entries);
            if let Ok(archive) = Archive::parse(json.as_bytes(), Profile::Flux) {
                let extractor = Extractor::new(sandbox.out()).unwrap().existing(existing);
                extractor.run(&archive).unwrap();
            }
            sandbox.assert_untouched("two archives");
        }
        // Also try a second archive that contains no entry for the directory `x`.
        let json = archive(&[file("x/f"), file("ok2")]);
        let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
        let extractor = Extractor::new(sandbox.out()).unwrap().existing(existing);
        let report = extractor.run(&archive).unwrap();
        assert_eq!((report.files, report.failures.len()), (1, 1));
        sandbox.assert_untouched("two archives");
    }
}

// libarchive issues 743 to 746: only the start of a long name was checked.
#[test]
fn every_component_of_long_and_deep_paths_is_checked() {
    let deep = "d/".repeat(400);
    let long = "n".repeat(255);
    for path in [
        format!("{deep}../../{}esc/f", "../".repeat(400)),
        format!("{deep}l/f"),
        format!("{long}/{long}/{long}/l/f"),
    ] {
        let above = path.trim_end_matches("/f");
        assert_contained(&archive(&[link(above, "@/esc"), file(&path)]), |_| {});
    }
    // A very long path can be extracted, because paths are opened component by component.
    let sandbox = Sandbox::new();
    let json = archive(&[file(&format!("{}f", "component/".repeat(300)))]);
    let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
    let report = Extractor::new(sandbox.out()).unwrap().run(&archive).unwrap();
    assert_eq!((report.files, report.failures.len()), (1, 0), "{:?}", report.failures);
}

// libarchive issue 972: skipped files must keep their metadata.
#[test]
fn files_that_are_not_replaced_keep_their_metadata() {
    for existing in [Existing::Error, Existing::Skip, Existing::Newer] {
        let sandbox = Sandbox::new();
        let path = sandbox.out().join("f");
        fs::write(&path, "kept").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let dir = sandbox.out().join("d");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        let before = [&path, &dir].map(|path| fs::metadata(path).unwrap().modified().unwrap());
        for entries in
            [vec![file("f")], vec![link("f", "t")], vec![directory("f")], vec![directory("d")]]
        {
            let json = archive(&entries);
            let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
            let extractor = Extractor::new(sandbox.out()).unwrap().existing(existing);
            extractor.run(&archive).unwrap();
        }
        let file = Node::File { mode: 0o600, size: 4, data: Some(b"kept".to_vec()) };
        let expected = [("d".to_owned(), Node::Directory { mode: 0o700 }), ("f".to_owned(), file)];
        assert_eq!(tree(&sandbox.out(), 100), expected.into(), "{existing:?}");
        let after = [&path, &dir].map(|path| fs::metadata(path).unwrap().modified().unwrap());
        assert_eq!(before, after);
    }
}

#[test]
fn link_policies_reject_links_by_their_targets() {
    for (policy, made) in
        [(LinkPolicy::Keep, 4), (LinkPolicy::RejectAbsolute, 3), (LinkPolicy::RejectEscaping, 1)]
    {
        let sandbox = Sandbox::new();
        let json = archive(&[
            link("a", "/etc/passwd"),
            link("b", "../esc"),
            link("c", "x/../../esc"),
            link("d/e", "../t"),
        ]);
        let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
        let report = Extractor::new(sandbox.out()).unwrap().links(policy).run(&archive).unwrap();
        assert_eq!((report.links, report.failures.len() as u64), (made, 4 - made));
        sandbox.assert_untouched("links");
    }
}

#[test]
fn a_link_that_replaces_a_directory_during_extraction_is_not_followed() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.out().join("d")).unwrap();
    let entries: Vec<_> = (0..200).map(|n| file(&format!("d/sub{}/f{n}", n % 5))).collect();
    let json = archive(&entries);
    let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (dir, aside) = (sandbox.out().join("d"), sandbox.out().join("aside"));
            while !done.load(Ordering::Relaxed) {
                // Replace the directory with a link to the outside, and the link with the
                // directory, as fast as possible.
                if fs::rename(&dir, &aside).is_ok() {
                    let _ = symlink("../esc", &dir);
                    let _ = fs::remove_file(&dir);
                    let _ = fs::rename(&aside, &dir);
                }
            }
        });
        for _ in 0..20 {
            let extractor = Extractor::new(sandbox.out()).unwrap().existing(Existing::Overwrite);
            extractor.run(&archive).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    sandbox.assert_untouched("race");
}

#[test]
fn sizes_above_the_limits_are_rejected_before_anything_is_written() {
    let blob = "sha1-a9993e364706816aba3e25717850c26c9cd0d89d";
    let many: Vec<_> =
        (0..1000).map(|n| format!(r#"[{},1000000,"{blob}"]"#, n * 1_000_000)).collect();
    for entry in [
        r#"{"path":"z","mode":33188,"size":9223372036854775807}"#.to_owned(),
        r#"{"path":"z","mode":33188,"size":1000000000}"#.to_owned(),
        format!(
            r#"{{"path":"z","mode":33188,"encoding":"blobvec","size":1000000000,"data":[{}]}}"#,
            many.join(",")
        ),
    ] {
        let sandbox = Sandbox::new();
        let json = archive(&[file("a"), entry]);
        let limits = Limits::default().max_file_size(500_000_000);
        let extracted = Archive::parse(json.as_bytes(), Profile::Flux).and_then(|archive| {
            Extractor::new(sandbox.out()).unwrap().limits(limits).run(&archive)
        });
        assert!(extracted.is_err());
        assert!(tree(&sandbox.out(), 0).is_empty());
    }
    // Refer to a single blob many times. Each reference needs only 60 bytes of the archive.
    let sandbox = Sandbox::new();
    let overlapping: Vec<_> = (0..1000).map(|_| format!(r#"[0,1000000,"{blob}"]"#)).collect();
    let json = format!(
        r#"[{{"path":"z","mode":33188,"encoding":"blobvec","size":1000000,"data":[{}]}}]"#,
        overlapping.join(",")
    );
    let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
    let limits = Limits::default().max_materialized_bytes(999_999_999);
    assert!(Extractor::new(sandbox.out()).unwrap().limits(limits).run(&archive).is_err());
    assert!(tree(&sandbox.out(), 0).is_empty());
}

#[test]
fn failed_entries_leave_no_files_and_do_not_stop_the_extraction() {
    let sandbox = Sandbox::new();
    let blob = "sha1-a9993e364706816aba3e25717850c26c9cd0d89d";
    let missing = format!(
        r#"{{"path":"d/missing","mode":33188,"encoding":"blobvec","size":3,"data":[[0,3,"{blob}"]]}}"#
    );
    let json = archive(&[file("a"), missing, file("z")]);
    let archive = Archive::parse(json.as_bytes(), Profile::Flux).unwrap();
    let store = MemoryStore::new();
    let report = Extractor::new(sandbox.out()).unwrap().store(&store).run(&archive).unwrap();
    assert_eq!((report.files, report.failures.len()), (2, 1));
    let paths: Vec<_> = tree(&sandbox.out(), 0).into_keys().collect();
    assert_eq!(paths, ["a", "d", "z"]);
}

/// Runs the tests in `escape`, `extract` and `round_trip` again as an ordinary user, if the current
/// user is root.
#[test]
fn extraction_tests_pass_as_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: these tests run as an ordinary user already");
        return;
    }
    // The ordinary user must have access to the test program and the temporary files.
    let folder = tempfile::Builder::new().prefix("flux-archive-").tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("io");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let run = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["escape::", "extract::", "round_trip::"])
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .env_remove("SCIBIN_CORPUS")
        .output();
    match run {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
            assert!(text.contains("test result: ok"), "{text}");
        }
        Err(error) => eprintln!("skipped: no setpriv here to become an ordinary user ({error})"),
    }
}
