//! A change interrupted at any point leaves either the old file or the new one.

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use asdf::inspect::VerifyOptions;
use asdf::save::{EditOptions, Editor, Method, roll_back};
use asdf::value::Array;
use asdf::{Asdf, Tree, WriteOptions, Writer};
use binio::write::fault::Fault;
use binio::write::{Journaled, MemoryStorage, Operation, journal};

use crate::files::sample;

const FILE: &str = "ASDF_EDIT_KILL_TEST_FILE";

/// Creates an editor that changes an in-memory file in place.
fn editor(bytes: &[u8]) -> Editor {
    let file = Asdf::from_bytes(bytes.to_vec()).unwrap();
    EditOptions::new().in_place(true).edit(file)
}

#[test]
fn commit_to_rejects_a_change_that_needs_a_new_file() {
    let before = sample(&WriteOptions::new());
    let mut editor = EditOptions::new().edit(Asdf::from_bytes(before.clone()).unwrap());
    editor.remove("/c").unwrap();
    let mut storage = MemoryStorage::new(&before);
    let error = editor.commit_to(&mut storage).unwrap_err();
    assert!(error.to_string().contains("write a new file instead"), "{error}");
    assert_eq!(storage.file_bytes(), before);
}

type Edit = fn(&mut Editor) -> asdf::Result<()>;

fn edits() -> [(Edit, Method); 4] {
    let text = |editor: &mut Editor| {
        editor.set("/text", &Tree::new("long word ".repeat(900)))?;
        editor.remove("/meta/name")
    };
    let array = |editor: &mut Editor| {
        let numbers: Vec<i32> = (0..3000).collect();
        editor.set_array("/b", Array::from_slice(&numbers, &[3000])?)
    };
    let both = |editor: &mut Editor| {
        editor.set("/text", &Tree::new("long word ".repeat(900)))?;
        editor.set_array("/new", Array::from_slice(&[1_i32, 2, 3], &[3])?)?;
        editor.set_array("/newer", Array::from_slice(&[4_i32], &[1])?)
    };
    [
        (|editor| editor.set("/meta/gain", &Tree::new(3.5)), Method::Patched),
        (text, Method::InPlace),
        (array, Method::InPlace),
        (both, Method::InPlace),
    ]
}

/// Applies an edit in place to a file in memory. Returns the new file, the number of disk
/// operations, and the method by which the file was changed.
fn changed(before: &[u8], edit: Edit) -> (Vec<u8>, usize, Method) {
    let mut editor = editor(before);
    edit(&mut editor).unwrap();
    let mut storage = MemoryStorage::new(before);
    let method = editor.commit_to(&mut storage).unwrap();
    assert_eq!(storage.journal_bytes(), None);
    let after = storage.file_bytes().to_vec();
    let file = Asdf::from_bytes(after.clone()).unwrap();
    assert!(file.verify(&VerifyOptions::new()).unwrap().passed());
    assert_ne!(after, before);
    (after, storage.operations().len(), method)
}

#[test]
fn a_change_that_fails_at_any_disk_operation_leaves_the_old_or_the_new_file() {
    let before = sample(&WriteOptions::new().pad_tree(12_000));
    for (edit, want) in edits() {
        let (after, operations, method) = changed(&before, edit);
        assert_eq!(method, want);
        for operation in 0..operations as u64 {
            let mut editor = editor(&before);
            edit(&mut editor).unwrap();
            let fault = Fault::FailOnceAtOperation(operation);
            let mut storage = MemoryStorage::new(&before).fault(fault);
            assert!(editor.commit_to(&mut storage).is_err(), "{operation}");
            let file = storage.file_bytes();
            assert!(file == before || file == after, "{operation} of {operations}");
        }
    }
}

#[test]
fn a_power_cut_at_any_operation_leaves_the_old_or_the_new_file() {
    let before = sample(&WriteOptions::new().pad_tree(12_000));
    for (edit, method) in edits() {
        let (after, operations, _) = changed(&before, edit);
        let mut editor = editor(&before);
        edit(&mut editor).unwrap();
        let mut storage = MemoryStorage::new(&before);
        editor.commit_to(&mut storage).unwrap();
        for count in 0..=operations {
            for mut left in storage.crashes(count) {
                // Skip states in which a write within one page is incomplete, because disks do not
                // tear pages.
                let is_torn = method == Method::Patched
                    && left.file_bytes() != before
                    && left.file_bytes() != after;
                if is_torn {
                    continue;
                }
                // Determine the content that a reader sees.
                let file = left.file_bytes().to_vec();
                let seen = match left.journal_bytes().map(<[u8]>::to_vec) {
                    Some(journal) => Journaled::new(file.clone(), journal).unwrap(),
                    None => None,
                };
                let seen = seen.map_or(file, |seen| {
                    binio::ReadAt::bytes_at(
                        &seen,
                        0,
                        usize::try_from(binio::ReadAt::len(&seen)).unwrap(),
                    )
                    .unwrap()
                    .to_vec()
                });
                assert!(seen == before || seen == after, "{count} of {operations}");
                // The next writer rolls back the change.
                journal::undo(&mut left).unwrap();
                assert!(left.file_bytes() == before || left.file_bytes() == after);
            }
        }
    }
}

#[test]
fn a_journaled_change_of_9_kilobytes_writes_less_than_40_kilobytes() {
    let before = sample(&WriteOptions::new().pad_tree(12_000));
    let mut editor = editor(&before);
    editor.set("/text", &Tree::new("long word ".repeat(900))).unwrap();
    let mut storage = MemoryStorage::new(&before);
    editor.commit_to(&mut storage).unwrap();
    let written: usize = storage
        .operations()
        .iter()
        .map(|operation| match operation {
            Operation::Write { data, .. } => data.len(),
            _ => 0,
        })
        .sum();
    assert!(written < 40_000, "{written} of {}", before.len());
}

/// Does nothing unless another test has started this process and set the path of the file to
/// change.
#[test]
fn child_process_changes_a_file_until_it_is_killed() {
    let Some(path) = env::var_os(FILE) else { return };
    loop {
        let file = Asdf::open(&path).unwrap();
        let root = file.document().unwrap().root();
        let count = root.get("count").map_or(0, |node| node.as_i64().unwrap()) + 1;
        drop(file);
        // Every third change writes a new file with the longest text, so that the tree has enough
        // space for the next two in-place changes, no matter where the previous process was killed.
        let step = count % 3;
        let mut editor = EditOptions::new().in_place(step != 0).open(&path).unwrap();
        editor.set("/count", &Tree::new(count)).unwrap();
        let words = usize::try_from(3 - step).unwrap() * 700;
        editor.set("/text", &Tree::new("word ".repeat(words))).unwrap();
        if count % 5 == 0 {
            let numbers = vec![i32::try_from(count).unwrap(); 100];
            editor.set_array("/changing", Array::from_slice(&numbers, &[100]).unwrap()).unwrap();
        }
        editor.commit().unwrap();
    }
}

#[test]
fn a_process_killed_during_a_change_leaves_a_readable_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.asdf");
    fs::write(&path, sample(&WriteOptions::new().pad_tree(20_000))).unwrap();
    let (mut count, mut kills) = (0, 0);
    let before = Asdf::open(&path).unwrap();
    let array = |file: &Asdf, pointer: &str| {
        file.tree().unwrap().pointer(pointer).unwrap().ndarray().unwrap().read::<i32>().unwrap()
    };
    let want = array(&before, "/b");
    for round in 0..30_u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "crash::child_process_changes_a_file_until_it_is_killed"])
            .env(FILE, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_micros(30_000 + 3_919 * round));
        assert_eq!(child.try_wait().unwrap(), None, "the child must run until it is killed");
        child.kill().unwrap();
        child.wait().unwrap();
        // Read the file through the journal, roll back the change, and read the file again.
        for _ in 0..2 {
            let file = Asdf::open(&path).unwrap();
            let root = file.document().unwrap().root();
            let now = root.get("count").map_or(0, |node| node.as_i64().unwrap());
            assert!(now >= count, "{now} after {count}");
            count = now;
            assert_eq!(array(&file, "/b"), want);
            assert!(file.verify(&VerifyOptions::new()).unwrap().passed());
            kills += u32::from(roll_back(&path).unwrap());
        }
        // If the process was killed while the new file still had its temporary name, the next
        // writer removes that file.
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let is_temporary = |name: &OsString| name.to_string_lossy().starts_with(".atomic-");
        assert_eq!(names.filter(|name| !is_temporary(name)).count(), 1);
        if round >= 8 && count > 5 && kills > 0 {
            break;
        }
    }
    assert!(count > 0, "{count} changes, {kills} rolled back");
    Writer::new(Tree::default()).write(&path).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
