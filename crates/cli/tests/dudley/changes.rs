//! Tests of creating, changing and extending files.

use super::native;
use super::program::{Folder, npy_header, status, stderr, stdout};

/// Returns a `.npy` file whose elements are `data`.
fn npy(datatype: &str, shape: &[u64], data: &[u8]) -> Vec<u8> {
    [npy_header(datatype, shape), data.to_vec()].concat()
}

#[test]
fn dudley_new_writes_the_native_file_of_the_specification() {
    let folder = Folder::new();
    folder.write("run.dud", "N : i2  x = f8[N]  ## (cm) demo\n");
    folder.write("x.npy", npy("<f8", &[3], &native()[24..48]));
    let new = |more: &[&str]| {
        let given = ["dudley", "new", "run.bdud", "--layout", "run.dud", "--param", "N=3"];
        folder.run(&[&given, more].concat())
    };
    let output = new(&["--set", "/x=x.npy", "--order", "<"]);
    assert_eq!((status(&output), stderr(&output).as_str()), (0, ""));
    assert_eq!(stdout(&output), "run.bdud: 80 bytes\n");
    assert_eq!(folder.read("run.bdud"), native());

    let again = new(&[]);
    assert_eq!(status(&again), 2);
    assert!(stderr(&again).contains("--force"), "{}", stderr(&again));
    let output = new(&["--force", "--omit-layout", "--order", ">"]);
    assert_eq!(status(&output), 0);
    assert_eq!(stderr(&output), "scibin: run.bdud: no data for /x, which was filled with zeros\n");
    let mut expected = b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\0\0\x03".to_vec();
    expected.resize(48, 0);
    assert_eq!(folder.read("run.bdud"), expected);
    let given =
        ["dudley", "new", "-", "--layout", "run.dud", "--param", "N=3", "--omit-layout", "--json"];
    let output = folder.done(&[&given[..], &["--order", ">"]].concat());
    assert_eq!(output.stdout, expected, "standard output contains only the file");
    assert!(stderr(&output).contains("standard output: no data for /x"), "{}", stderr(&output));
    let output = new(&["--force", "--strict"]);
    assert_eq!((status(&output), folder.read("run.bdud")), (2, expected));
    assert!(stderr(&output).contains("no data for /x"), "{}", stderr(&output));
}

#[test]
fn dudley_new_writes_structured_arrays_and_put_replaces_their_members() {
    let folder = Folder::new();
    folder.write("p.dud", "p = { id = i4  pos = f4[2] }[2]  name = S1[2, 4]\n");
    let record = "[('pos', '<f4', (2,)), ('id', '<i8')]";
    let one = |id: i64, x: f32| {
        [&x.to_le_bytes()[..], &(2.0 * x).to_le_bytes(), &id.to_le_bytes()].concat()
    };
    folder.write("p.npy", npy(record, &[2], &[one(7, 0.5), one(8, 1.5)].concat()));
    folder.write("name.npy", npy("|S3", &[2], b"ab\0cde"));
    let set = ["--set", "/p=p.npy", "--set", "/name=name.npy"];
    folder.done(&[&["dudley", "new", "p.bdud", "--layout", "p.dud"], &set[..]].concat());
    let get = |path: &str| stdout(&folder.done(&["dudley", "get", "p.bdud", path]));
    assert_eq!((get("/p.id").as_str(), get("/p.pos").as_str()), ("7 8\n", "0.5 1.0\n1.5 3.0\n"));
    assert_eq!(get("/name"), "ab cde\n");

    folder.write("id.npy", npy("<i4", &[2], &[9, 0, 0, 0, 10, 0, 0, 0]));
    let output = folder.done(&["dudley", "put", "p.bdud", "/p.id", "id.npy"]);
    assert_eq!(stdout(&output), "p.bdud: replaced 16 bytes at address 16\n");
    assert_eq!((get("/p.id").as_str(), get("/p.pos").as_str()), ("9 10\n", "0.5 1.0\n1.5 3.0\n"));
    folder.write("id.npy", npy("<i4", &[1], &[9, 0, 0, 0]));
    let output = folder.run(&["dudley", "put", "p.bdud", "/p.id", "id.npy"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("the shape is [1], expected [2]"), "{}", stderr(&output));
}

#[test]
fn put_changes_a_file_described_by_a_given_layout() {
    let folder = Folder::new();
    folder.write("a.dud", "x = >u2[2] @1");
    folder.write("a.bin", [1, 2, 3, 4, 5, 6]);
    folder.write("x.npy", npy("<u2", &[2], &[7, 0, 8, 0]));
    folder.done(&["dudley", "put", "a.bin", "/x", "x.npy", "--layout", "a.dud"]);
    assert_eq!(folder.read("a.bin"), [1, 0, 7, 0, 8, 6]);
    assert_eq!(folder.names(), ["a.bin", "a.dud", "x.npy"]);
}

#[test]
fn append_extends_a_native_file_in_safe_mode_or_in_place() {
    let folder = Folder::new();
    folder.write("more.dud", "y = i4");
    folder.write("y.npy", npy("<i4", &[], &[7, 0, 0, 0]));
    for way in [&[][..], &["--in-place"]] {
        folder.write("run.bdud", native());
        let given = ["dudley", "append", "run.bdud", "--layout", "more.dud", "--set", "/y=y.npy"];
        folder.done(&[&given, way].concat());
        let get = |path: &str| stdout(&folder.done(&["dudley", "get", "run.bdud", path]));
        assert_eq!((get("/x").as_str(), get("/y").as_str()), ("1.0 2.0 -0.5\n", "7\n"));
        let layout = stdout(&folder.done(&["dudley", "extract-layout", "run.bdud"]));
        let line = if way.is_empty() { "y = i4 @80\n" } else { "y = i4\n" };
        assert_eq!(layout, format!("N : i2  x = f8[N]  ## (cm) demo\n{line}"));
        assert_eq!(folder.names(), ["more.dud", "run.bdud", "y.npy"]);
    }
    folder.write("at.dud", "a = u1[8]  b = u1 @17");
    folder.done(&["dudley", "new", "at.bdud", "--layout", "at.dud"]);
    let before = folder.read("at.bdud");
    let given = ["dudley", "append", "at.bdud", "--layout", "more.dud", "--in-place"];
    let output = folder.run(&given);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("because of `@` addresses"), "{}", stderr(&output));
    assert_eq!(folder.read("at.bdud"), before);
    let output = folder.done(&given[..5]);
    assert!(stderr(&output).contains("no data for /y"), "{}", stderr(&output));
}

#[test]
fn a_file_with_an_interrupted_change_is_read_as_it_was_before_the_change() {
    use binio::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt};

    let folder = Folder::new();
    folder.write("run.bdud", native());
    folder.write("more.dud", "y = i4");
    let path = folder.path("run.bdud");
    {
        let lock = FileLock::acquire(&path).unwrap();
        let mut storage = FileStorage::open(&lock).unwrap();
        let plan = ChangePlan::new(16..48).overwrite(48..80);
        let mut change = Change::begin(&mut storage, &plan).unwrap();
        change.write_all_at(&[0xff; 32], 48).unwrap();
        // Simulate a killed process, which does not complete the change.
        std::mem::forget(change);
    }
    let commands: [&[&str]; 4] = [
        &["dudley", "get", "run.bdud", "/x"],
        &["dudley", "extract-layout", "run.bdud"],
        &["verify", "run.bdud"],
        &["info", "run.bdud"],
    ];
    for command in commands {
        folder.done(command);
    }
    folder.done(&["dudley", "append", "run.bdud", "--layout", "more.dud"]);
    assert_eq!(stdout(&folder.done(&["dudley", "get", "run.bdud", "/y"])), "0\n");
    assert_eq!(folder.names(), ["more.dud", "run.bdud"]);
}

/// The journal of a killed change is still next to the file when the file is replaced.
#[test]
fn a_leftover_journal_is_not_applied_to_a_file_that_was_replaced() {
    use binio::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt};

    let folder = Folder::new();
    folder.write("layout.dud", "x = u1[4]");
    folder.write("old.npy", npy("|u1", &[4], &[1, 2, 3, 4]));
    folder.write("new.npy", npy("|u1", &[4], &[5, 6, 7, 8]));
    let new = |file: &str, array: &str| {
        let set = format!("/x={array}");
        folder.done(&["dudley", "new", file, "--layout", "layout.dud", "--set", &set, "--force"]);
    };
    let get = || stdout(&folder.done(&["dudley", "get", "run.bdud", "/x"]));
    let path = folder.path("run.bdud");
    let kill = || {
        new("run.bdud", "old.npy");
        let data = folder.read("run.bdud").windows(4).position(|bytes| bytes == [1, 2, 3, 4]);
        let at = data.expect("the data") as u64;
        let lock = FileLock::acquire(&path).expect("the lock");
        let mut storage = FileStorage::open(&lock).expect("the file");
        let plan = ChangePlan::new(0..at).overwrite(at..at + 4);
        let mut change = Change::begin(&mut storage, &plan).expect("the journal");
        change.write_all_at(&[9, 9], at).expect("a part of the change");
        std::mem::forget(change);
    };
    kill();
    assert_eq!(get(), "1 2 3 4\n");
    // Replace the file with `dudley new`, which first rolls back the change.
    new("run.bdud", "new.npy");
    assert_eq!(get(), "5 6 7 8\n");
    assert!(!folder.path("run.bdud.undo-journal").exists());
    // Replace the file as `mv` and `cp` do, with a file that differs only in the bytes that the
    // killed change was to overwrite.
    new("other.bdud", "new.npy");
    for by_rename in [true, false] {
        kill();
        if by_rename {
            folder.copy(&folder.path("other.bdud"), "moved");
            std::fs::rename(folder.path("moved"), &path).expect("renamed");
        } else {
            folder.copy(&folder.path("other.bdud"), "run.bdud");
        }
        assert_eq!(get(), "5 6 7 8\n");
        let layout = ["dudley", "append", "run.bdud", "--layout", "layout.dud"];
        assert_ne!(status(&folder.run(&layout)), 0);
        assert_eq!(folder.read("run.bdud"), folder.read("other.bdud"));
        folder.remove("run.bdud.undo-journal");
    }
}

#[test]
fn unknown_parameters_and_paths_are_rejected_without_changing_files() {
    let folder = Folder::new();
    folder.write("run.bdud", native());
    folder.write("more.dud", "y = i4");
    folder.write("y.npy", npy("<i4", &[], &[7, 0, 0, 0]));
    for (more, message) in [
        (["--param", "M=3"], "no stored parameter named `M`"),
        (["--set", "/z=y.npy"], "/z"),
        (["--set", "y.npy"], "expected PATH=FILE.npy"),
    ] {
        let append = ["dudley", "append", "run.bdud", "--layout", "more.dud"];
        let output = folder.run(&[&append[..], &more].concat());
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
        let new = ["dudley", "new", "new.bdud", "--layout", "more.dud"];
        let output = folder.run(&[&new[..], &more].concat());
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    assert_eq!(folder.read("run.bdud"), native());
    assert_eq!(folder.names(), ["more.dud", "run.bdud", "y.npy"]);
}

#[test]
fn errors_in_a_layout_are_shown_with_the_lines_that_contain_them() {
    let folder = Folder::new();
    folder.write("run.bdud", native());
    folder.write("again.dud", "x = i4");
    let output = folder.run(&["dudley", "append", "run.bdud", "--layout", "again.dud"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("extended layout:2:1"), "{}", stderr(&output));
    assert_eq!(folder.read("run.bdud"), native());

    // The size of the first instance depends on `M`.
    folder.write("text.dud", "text = { M : u4  \"\" = S1[M] }[2]\nx = f8\n");
    let new = ["dudley", "new", "new.bdud", "--layout", "text.dud"];
    let output = folder.run(&new);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("E042"), "{}", stderr(&output));
    assert!(stderr(&output).contains("parameter `M`"), "{}", stderr(&output));
    assert_eq!(folder.names(), ["again.dud", "run.bdud", "text.dud"]);
    assert_eq!(status(&folder.run(&[&new[..], &["--param", "M=3"]].concat())), 0);
}
