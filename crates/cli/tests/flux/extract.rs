//! Tests of extracting archives.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use flux_archive::{BlobRef, HashType};
use serde_json::json;

use crate::program::{Folder, json_of, status, stderr, stdout};
use crate::{archived, bytes, document, lines, mkdir, stored};

#[test]
fn extract_restores_the_archived_tree() {
    let folder = stored();
    for (archive, store) in [("a.json", &[][..]), ("b.json", &["--store", "blobs"])] {
        mkdir(&folder, "out");
        folder.done(&[&["flux", "extract", archive, "-C", "out"], store].concat());
        let again = folder
            .done(&[&["flux", "verify", archive, "-C", "out", "--no-permissions"], store].concat());
        assert!(stdout(&again).contains("fine, 6 entries"), "{}", stdout(&again));
        assert_eq!(folder.read("out/d/b.bin"), bytes(5000));
        assert_eq!(fs::read_link(folder.path("out/link")).unwrap(), Path::new("a.txt"));
        let mode = fs::metadata(folder.path("out/d/b.bin")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn extracting_from_a_file_and_from_standard_input_has_the_same_result() {
    let folder = archived();
    let input = folder.read("a.json");
    for options in [&[][..], &["a*"], &["-v"], &["--dry-run"], &["--max-size", "20"], &["x"]] {
        let [from_file, from_input] = ["a.json", "-"].map(|archive| {
            mkdir(&folder, "out");
            let arguments = [&["flux", "extract", archive, "-C", "out"], options].concat();
            let output = folder.feed(&arguments, &input);
            let files =
                ["a.txt", "d/b.bin"].map(|name| fs::read(folder.path("out").join(name)).ok());
            fs::remove_dir_all(folder.path("out")).unwrap();
            let name = if archive == "-" { "standard input: " } else { "a.json: " };
            let messages = stderr(&output).replace(name, "");
            (status(&output), stdout(&output), messages, files)
        });
        assert_eq!(from_file, from_input, "{options:?}");
    }
}

#[test]
fn extract_applies_its_options_for_patterns_and_conflicts_and_limits() {
    let folder = stored();
    mkdir(&folder, "out");
    let extract = |options: &[&str]| {
        folder.run(&[&["flux", "extract", "a.json", "-C", "out"], options].concat())
    };
    let listed = folder.done(&["flux", "extract", "-t", "-C", "out", "a.json", "*.txt"]);
    assert_eq!(lines(&listed), ["f 0644       10 a.txt"]);
    let dry = extract(&["--dry-run"]);
    assert_eq!(stdout(&dry), "out: 3 files, 2 directories, 1 link would be extracted\n");
    let value = json_of(&extract(&["--dry-run", "--json"]));
    assert_eq!((&value["files"], &value["dry_run"]), (&json!(3), &json!(true)));
    assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0);

    let one = folder.done(&["flux", "extract", "a.json", "a*", "-v", "-C", "out", "--no-mtime"]);
    assert_eq!(stderr(&one), "scibin: a.txt\n");
    let again = extract(&["a*"]);
    assert_eq!(status(&again), 2);
    assert_eq!(stderr(&again).lines().next(), Some("scibin: a.json: a.txt: a file exists"));
    assert_eq!(status(&extract(&["a*", "--dry-run"])), 2, "existing files are detected");
    folder.write("out/a.txt", "mine");
    assert_eq!(
        stdout(&extract(&["a*", "--skip-existing"])),
        "out: 0 files, 0 directories, 0 links, 1 skipped, 0 B\n"
    );
    assert_eq!(folder.read("out/a.txt"), b"mine");
    assert_eq!(status(&extract(&["a*", "--keep-newer"])), 0);
    assert_eq!(folder.read("out/a.txt"), b"mine", "the existing file is newer");
    assert_eq!(status(&extract(&["a*", "--overwrite"])), 0);
    assert_eq!(folder.read("out/a.txt"), b"two\nlines\n");
    let mtime = |name: &str| fs::metadata(folder.path(name)).unwrap().mtime();
    assert_eq!(mtime("out/a.txt"), mtime("src/a.txt"));
    assert_eq!(status(&extract(&["--overwrite", "--skip-existing"])), 2);

    let none = extract(&["nothing-like-it"]);
    assert_eq!(status(&none), 0);
    assert!(stderr(&none).contains("No files matched pattern 'nothing-like-it'"));
    let large = extract(&["--overwrite", "--max-size", "4K"]);
    assert_eq!(status(&large), 2);
    assert!(stderr(&large).contains("above the limit of 4096"), "{}", stderr(&large));
    let hash = folder.run(&[
        "flux",
        "extract",
        "b.json",
        "*.bin",
        "-C",
        "out",
        "--store",
        "blobs",
        "--require-hash",
        "sha256",
    ]);
    assert_eq!(status(&hash), 2);
    assert!(stderr(&hash).contains("blobrefs use sha1"), "{}", stderr(&hash));
    assert_eq!(status(&folder.run(&["flux", "extract", "a.json", "-C", "no/such"])), 2);
    assert_eq!(folder.names(), ["a.json", "b.json", "blobs", "out", "src"]);
}

#[test]
fn several_processes_can_extract_into_one_tree() {
    let folder = Folder::new();
    let entries: Vec<String> = (0..400)
        .map(|n| {
            let (d, e) = (n % 7, n % 3);
            format!(r#"{{"path":"d{d}/e{e}/f{n}","mode":33188,"encoding":"utf-8","data":"{n}"}}"#)
        })
        .chain((0..7).map(|d| format!(r#"{{"path":"d{d}","mode":16832,"mtime":5}}"#)))
        .collect();
    folder.write("a.json", format!("[{}]", entries.join(",")));
    for policy in ["--skip-existing", "--overwrite"] {
        mkdir(&folder, "out");
        let arguments = ["flux", "extract", "--json", "-C", "out", policy, "a.json"];
        let start = |_| {
            let piped = std::process::Stdio::piped;
            folder.command(&arguments).stdout(piped()).stderr(piped()).spawn().unwrap()
        };
        let children: Vec<_> = (0..4).map(start).collect();
        let outputs: Vec<_> =
            children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let files = |output| {
            assert_eq!(status(output), 0, "{policy}: {}", stderr(output));
            json_of(output)["files"].as_u64().unwrap()
        };
        let files: u64 = outputs.iter().map(files).sum();
        assert_eq!(files, if policy == "--overwrite" { 1600 } else { 400 });
        folder.done(&["flux", "verify", "-C", "out", "--no-permissions", "a.json"]);
        let names: Vec<_> = fs::read_dir(folder.path("out/d3/e1")).unwrap().collect();
        assert!(names.iter().all(|name| !name.as_ref().unwrap().path().ends_with(".tmp")));
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn altered_or_missing_blobs_are_never_extracted() {
    let folder = stored();
    folder.write("other", bytes(6000));
    folder.done(&["flux", "create", "-q", "-o", "c.json", "--store", "blobs", "other"]);
    let blob =
        |data: &[u8]| folder.path("blobs").join(BlobRef::of(HashType::Sha1, data).to_string());
    let (first, second) = (blob(&bytes(5000)), blob(&bytes(6000)));
    let extract = |why: &str| {
        mkdir(&folder, "out");
        let output = folder.run(&["flux", "extract", "b.json", "-C", "out", "--store", "blobs"]);
        // A missing blob is not bad data.
        let expected = if why == "R155" { 2 } else { 1 };
        assert_eq!(status(&output), expected, "{why}");
        assert!(stderr(&output).contains(why), "{why}: {}", stderr(&output));
        assert!(!folder.path("out/d/b.bin").exists(), "{why}");
        assert!(folder.path("out/a.txt").exists(), "{why}");
        fs::remove_dir_all(folder.path("out")).unwrap();
        let output = folder.run(&["flux", "verify", "b.json", "--store", "blobs"]);
        assert_eq!(status(&output), 1, "{why}");
    };
    // Store the second blob under the name of the first blob.
    fs::rename(&first, folder.path("aside")).unwrap();
    fs::rename(&second, &first).unwrap();
    extract("R156");
    let mut same_length = bytes(5000);
    same_length[4999] ^= 1;
    fs::write(&first, same_length).unwrap();
    extract("R157");
    fs::remove_file(&first).unwrap();
    extract("R155");
    symlink("nowhere", &first).unwrap();
    extract("R155");
    fs::remove_file(&first).unwrap();
    fs::create_dir(&first).unwrap();
    extract("R157");
    fs::remove_dir(&first).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&first).status();
    if made.is_ok_and(|status| status.success()) {
        extract("R157");
    }
}

#[test]
fn an_archive_can_be_replaced_while_being_read() {
    let folder = archived();
    // Replace the archive with the results of converting, externalizing, packing and fixing it.
    folder.done(&["flux", "convert", "a.json", "-o", "a.json", "--force"]);
    assert!(document(&folder, "a.json").is_object());
    folder.done(&["flux", "convert", "a.json", "-o", "a.json", "--force", "--pretty"]);
    folder.done(&["flux", "externalize", "a.json", "--store", "blobs", "-o", "a.json", "--force"]);
    folder.done(&["flux", "pack", "a.json", "--store", "blobs", "-o", "a.json", "--force"]);
    folder.done(&["flux", "lint", "--fix", "a.json"]);
    folder.done(&["flux", "verify", "-C", "src", "a.json"]);
    // Extract a file that replaces the archive from which it is extracted.
    folder.write(
        "self.json",
        r#"[{"path":"self.json","mode":33188,"encoding":"utf-8","data":"gone","size":4}]"#,
    );
    folder.done(&["flux", "extract", "--overwrite", "self.json"]);
    assert_eq!(folder.read("self.json"), b"gone");
}

#[test]
fn exact_permissions_are_restored_only_on_request() {
    let folder = Folder::new();
    folder.write("a.json", r#"[{"path":"f","mode":35309,"size":0}]"#);
    mkdir(&folder, "plain");
    mkdir(&folder, "exact");
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().mode() & 0o7777;
    folder.done(&["flux", "extract", "a.json", "-C", "plain"]);
    assert_eq!(mode("plain/f") & 0o7000, 0, "no set-user-id");
    folder.done(&["flux", "extract", "a.json", "-C", "exact", "--preserve-permissions", "--sync"]);
    assert_eq!(mode("exact/f"), 0o4755);
}

#[test]
fn extracting_a_hostile_archive_leaves_no_files_and_reports_the_reason() {
    let folder = Folder::new();
    mkdir(&folder, "out");
    mkdir(&folder, "away");
    let away = folder.path("away");
    let away = away.to_str().unwrap();
    for (archive, status_expected, why) in [
        (r#"[{"path":"../x","mode":33188,"size":0}]"#.to_owned(), 1, "R110"),
        (format!(r#"[{{"path":"l","mode":41471,"data":"{away}"}},{{"path":"l/x","mode":33188,"size":0}}]"#), 1, "R113"),
        (r#"[{"path":"f","mode":33188,"size":9223372036854775807}]"#.to_owned(), 2, "above the limit"),
        (r#"[{"path":"d","mode":4516}]"#.to_owned(), 1, "R120"),
        (r#"[{"path":"f","mode":33188,"encoding":"base64","data":"*"}]"#.to_owned(), 1, "R145"),
        (r#"[{"path":"f","mode":33188,"#.to_owned(), 1, "not JSON"),
        ("\u{feff}[]".to_owned(), 1, "not JSON"),
        (r#"{"version":1,"type":"fileref","path":"f","mode":33188,"size":1,"blobvec":[]}"#.to_owned(), 1, "R170"),
        (r#"[{"path":"f","size":1,"mode":33188,"encoding":"blobvec","data":[[0,1,"sha1-2e6f9b0d5885b6010f9167787445617f553a735f"]]}]"#.to_owned(), 2, "R155"),
    ] {
        folder.write("h.json", &archive);
        let output = folder.run(&["flux", "extract", "h.json", "-C", "out"]);
        assert_eq!(status(&output), status_expected, "{archive}");
        assert!(stderr(&output).contains(why), "{archive}: {}", stderr(&output));
        assert_eq!(fs::read_dir(folder.path("out")).unwrap().count(), 0, "{archive}");
    }
    folder.write("h.json", "");
    assert_eq!(status(&folder.run(&["flux", "extract", "h.json", "-C", "out"])), 1);
    // Links that already exist on disk are not followed.
    symlink(away, folder.path("out/l")).unwrap();
    folder.write(
        "h.json",
        r#"[{"path":"l/x","mode":33188,"size":0},{"path":"ok","mode":33188,"size":0}]"#,
    );
    let output = folder.run(&["flux", "extract", "h.json", "-C", "out", "--overwrite"]);
    assert_eq!(status(&output), 2);
    assert!(folder.path("out/ok").exists(), "the rest is extracted");
    fs::remove_file(folder.path("out/ok")).unwrap();
    folder.run(&["flux", "extract", "h.json", "-C", "out", "--fail-fast"]);
    assert!(!folder.path("out/ok").exists(), "nothing is extracted after a failure");
    assert_eq!(fs::read_dir(away).unwrap().count(), 0);
    // `--links` determines which links are created; the default is `keep`.
    folder.write("h.json", r#"[{"path":"up","mode":41471,"data":"../away"},{"path":"abs","mode":41471,"data":"/etc"}]"#);
    for (policy, made) in [("reject-escaping", 0), ("reject-absolute", 1), ("keep", 2)] {
        let output = folder.run(&[
            "flux",
            "extract",
            "h.json",
            "-C",
            "out",
            "--links",
            policy,
            "--skip-existing",
        ]);
        assert_eq!(status(&output), if made == 2 { 0 } else { 2 }, "{policy}");
        let there = ["up", "abs"].iter().filter(|name| folder.path("out").join(name).is_symlink());
        assert_eq!(there.count(), made, "{policy}");
    }
}

#[test]
fn an_archive_with_many_warnings_is_extracted_and_only_some_are_printed() {
    let folder = Folder::new();
    mkdir(&folder, "out");
    let entries: Vec<String> =
        (0..10_100).map(|n| format!(r#"{{"path":"/d{n}","mode":16877}}"#)).collect();
    folder.write("a.json", format!("[{}]", entries.join(",")));
    let output = folder.done(&["flux", "extract", "a.json", "d777*", "-C", "out"]);
    assert!(stdout(&output).contains("11 directories"), "{}", stdout(&output));
    let told = stderr(&output);
    assert_eq!(told.lines().count(), 10_001, "10,000 warnings and a summary are printed");
    assert!(told.ends_with("scibin: a.json: and 100 more such warnings\n"), "{told}");
    let lint = folder.run(&["flux", "lint", "a.json"]);
    assert_eq!((status(&lint), stdout(&lint).lines().count()), (1, 10_100));
    folder.done(&["flux", "lint", "--fix", "a.json"]);
}

#[test]
fn untidy_paths_of_all_entries_are_reported_on_one_line() {
    let folder = Folder::new();
    let entries: Vec<String> =
        (0..30).map(|n| format!(r#"{{"path":"./d{n}","mode":16877}}"#)).collect();
    folder.write("a.json", format!("[{}]", entries.join(",")));
    mkdir(&folder, "out");
    folder.write("none.json", "[]");
    let summary = "(./d0, /0/path), and 29 more such paths";
    for command in [
        &["extract", "a.json", "-C", "out"][..],
        &["verify", "a.json"],
        &["info", "a.json"],
        &["convert", "a.json", "-o", "b.json"],
        &["diff", "a.json", "none.json"],
        &["pack", "a.json", "-o", "p.json"],
        &["lint", "a.json"],
    ] {
        let output = folder.run(&[&["flux"], command].concat());
        let printed = stderr(&output) + &stdout(&output);
        assert_eq!(printed.matches("R111").count(), 1, "{command:?}: {printed}");
        assert!(printed.contains(summary), "{command:?}: {printed}");
    }
    let value = json_of(&folder.run(&["flux", "lint", "--json", "a.json"]));
    assert_eq!(value["diagnostics"].as_array().unwrap().len(), 30);
}

#[test]
fn patterns_select_everything_below_a_match_except_excluded_paths() {
    let folder = stored();
    let list = |rest: &[&str]| lines(&folder.done(&[&["flux", "list", "a.json"], rest].concat()));
    assert_eq!(list(&["d"]), ["d/b.bin", "d/empty", "d/nothing", "d"]);
    assert_eq!(list(&["./d/", "a.txt"]), ["a.txt", "d/b.bin", "d/empty", "d/nothing", "d"]);
    assert_eq!(list(&["--exclude", "d", "--exclude", "l*"]), ["a.txt"]);
    assert_eq!(list(&["d", "--exclude", "*.bin", "--exclude", "d/e*"]), ["d/nothing", "d"]);
    let output = folder.done(&["flux", "list", "a.json", "d/b.bin", "x", "y*"]);
    let missing = "scibin: No files matched pattern 'x'\nscibin: No files matched pattern 'y*'\n";
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), ("d/b.bin\n", missing));
    // Patterns ignore the leading "./" in archives that Flux creates from ".".
    folder.write("dots.json", r#"[{"path":"./a/b","mode":16877},{"path":"./c","mode":16877}]"#);
    assert_eq!(lines(&folder.done(&["flux", "list", "-q", "dots.json", "a"])), ["./a/b"]);

    mkdir(&folder, "out");
    let extract = ["flux", "extract", "b.json", "-C", "out", "--store", "blobs"];
    folder.done(&[&extract[..], &["d", "link", "--exclude", "d/n*"]].concat());
    assert!(folder.path("out/d/b.bin").exists() && folder.path("out/link").is_symlink());
    assert!(!folder.path("out/d/nothing").exists() && !folder.path("out/a.txt").exists());

    let cat = |rest: &[&str]| {
        folder.done(&[&["flux", "cat", "b.json", "--store", "blobs"], rest].concat()).stdout
    };
    assert_eq!(cat(&["d"]), bytes(5000));
    assert_eq!(cat(&["*.txt", "d/*"]), [b"two\nlines\n".to_vec(), bytes(5000)].concat());
    assert_eq!(cat(&["*", "--exclude", "d"]), b"two\nlines\n");

    folder.done(&["flux", "delete", "-q", "a.json", "d"]);
    assert_eq!(list(&[]), ["a.txt", "link"]);
}

#[test]
fn extracting_over_existing_files_without_overwrite_fails_and_reports_0_bytes() {
    let folder = archived();
    mkdir(&folder, "out");
    folder.done(&["flux", "extract", "a.json", "-C", "out"]);
    let again = folder.run(&["flux", "extract", "a.json", "-C", "out"]);
    assert_eq!(status(&again), 2);
    assert_eq!(stdout(&again), "out: 0 files, 2 directories, 0 links, 0 B\n");
}

#[test]
fn long_runs_of_zeros_are_extracted_as_holes() {
    let folder = Folder::new();
    let mut data = vec![0; 12 << 20];
    data[5 << 20] = 1;
    folder.write("f", &data);
    folder.write("small", vec![0; 1 << 20]);
    folder.done(&["flux", "create", "-o", "a.json", "f", "small"]);
    let create = ["flux", "create", "-o", "b.json", "--store", "blobs", "--holes", "none"];
    folder.done(&[&create[..], &["f", "small"]].concat());
    for archive in ["a.json", "b.json"] {
        mkdir(&folder, "out");
        folder.done(&["flux", "extract", archive, "-C", "out", "--store", "blobs"]);
        assert!(folder.read("out/f") == data, "{archive}");
        assert!(folder.read("out/small") == vec![0; 1 << 20], "{archive}");
        for name in ["out/f", "out/small"] {
            let stored = fs::metadata(folder.path(name)).unwrap().blocks() * 512;
            assert!(stored < 1 << 19, "{archive}: {name} takes {stored} bytes on disk");
        }
        fs::remove_dir_all(folder.path("out")).unwrap();
    }
}

#[test]
fn extract_with_the_list_only_and_json_options_prints_the_same_json_as_list() {
    for (folder, archive) in [(archived(), "a.json"), (stored(), "b.json")] {
        let list = |command: &[&str], pattern| {
            json_of(&folder.done(&[&["flux"], command, &["--json", archive, pattern]].concat()))
        };
        for (pattern, number) in [("*", 6), ("d/*", 3), ("link", 1), ("none", 0)] {
            let listed = list(&["extract", "-t"], pattern);
            assert_eq!(listed.as_array().map(Vec::len), Some(number), "{pattern}");
            assert_eq!(listed, list(&["list"], pattern), "{archive} {pattern}");
        }
    }
}

#[test]
fn truncated_json_causes_status_1() {
    let folder = archived();
    let whole = folder.read("a.json");
    folder.write("cut.json", &whole[..whole.len() / 2]);
    mkdir(&folder, "out");
    for command in [
        &["list", "cut.json"][..],
        &["extract", "cut.json", "-C", "out"],
        &["extract", "-t", "cut.json"],
        &["cat", "cut.json", "a.txt"],
        &["verify", "cut.json"],
        &["info", "cut.json"],
        &["convert", "cut.json"],
        &["delete", "cut.json", "x"],
        &["append", "cut.json", "src"],
        &["lint", "cut.json"],
        &["put", "cut.json"],
    ] {
        let output = folder.run(&[&["flux"], command].concat());
        assert_eq!(status(&output), 1, "{command:?}: {}", stderr(&output));
    }
    for command in
        [&["list", "missing"][..], &["extract", "a.json", "-C", "no/such"], &["list", "-x"]]
    {
        assert_eq!(status(&folder.run(&[&["flux"], command].concat())), 2, "{command:?}");
    }
}
