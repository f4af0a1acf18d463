//! Readers always see either the old or the new content of a file, even if an in-place change is
//! interrupted at any point. Undoing the interrupted change leaves the content that readers saw.

#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use binio::write::fault::Fault;
use binio::write::{
    Change, ChangePlan, Journaled, MemoryStorage, Operation, Storage, WriteAt, journal,
};
use binio::{ReadAt, Result};
use proptest::collection::vec;
use proptest::prelude::*;

/// A change that replaces the last bytes of the file, overwrites some bytes before them, and writes
/// the header last.
#[derive(Clone, Debug)]
struct Case {
    old: Vec<u8>,
    /// The position and the new bytes of each patch. The position 0 means the end of the untouched
    /// bytes, and 1000 means the start of the tail.
    patches: Vec<(usize, Vec<u8>)>,
    tail: usize,
    new_tail: Vec<u8>,
    header: [u8; HEADER],
}

const HEADER: usize = 8;
const UNTOUCHED: usize = 4;

impl Case {
    /// Returns the offset and the new content of each range to overwrite.
    fn patches(&self) -> Vec<(u64, &[u8])> {
        let (start, end) = (HEADER + UNTOUCHED, self.old.len() - self.tail);
        let place = |(permille, data): &'_ (usize, Vec<u8>)| {
            let place = start + (end - start) * permille / 1000;
            (place as u64, data.len().min(end - place))
        };
        let placed = self.patches.iter().map(|patch| (place(patch), &patch.1));
        placed.map(|((place, len), data)| (place, &data[..len])).collect()
    }

    fn plan(&self) -> ChangePlan {
        let untouched = HEADER as u64..(HEADER + UNTOUCHED) as u64;
        let tail = (self.old.len() - self.tail) as u64;
        let plan = ChangePlan::new(untouched).marker(0, self.header).overwrite(tail..u64::MAX);
        let ranges = self.patches().into_iter().map(|(at, data)| at..at + data.len() as u64);
        ranges.fold(plan, ChangePlan::overwrite)
    }

    fn run(&self, storage: &mut MemoryStorage) -> Result<()> {
        let mut change = Change::begin(storage, &self.plan())?;
        self.write(&mut change)?;
        change.commit()
    }

    fn write(&self, target: &mut dyn WriteAt) -> Result<()> {
        let tail = (self.old.len() - self.tail) as u64;
        target.write_all_at(&self.new_tail, tail)?;
        for (at, data) in self.patches() {
            target.write_all_at(data, at)?;
        }
        target.sync()?;
        target.set_len(tail + self.new_tail.len() as u64)?;
        target.write_all_at(&self.header, 0)
    }

    /// Returns the content of the file after the change.
    fn changed(&self) -> Vec<u8> {
        let mut new = self.old.clone();
        self.write(&mut new).unwrap();
        new
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let patches = vec((0..1000_usize, vec(any::<u8>(), 0..5)), 0..4);
    let old = vec(any::<u8>(), HEADER + UNTOUCHED..40);
    let parts = (
        old,
        patches,
        any::<prop::sample::Index>(),
        vec(any::<u8>(), 0..20),
        any::<[u8; HEADER]>(),
    );
    parts.prop_map(|(old, patches, tail, new_tail, header)| {
        let tail = tail.index(old.len() - HEADER - UNTOUCHED + 1);
        Case { old, patches, tail, new_tail, header }
    })
}

/// Returns the content of the file as a reader sees it.
fn seen(storage: &MemoryStorage) -> Vec<u8> {
    let file = storage.file_bytes().to_vec();
    let journal = storage.journal_bytes().map(<[u8]>::to_vec);
    let journaled = journal.and_then(|journal| Journaled::new(file.clone(), journal).unwrap());
    let Some(journaled) = journaled else { return file };
    let mut seen = vec![0; usize::try_from(journaled.len()).unwrap()];
    journaled.read_exact_at(&mut seen, 0).unwrap();
    // Also read short parts that start at every offset.
    for at in 0..seen.len() {
        let len = (seen.len() - at).min(7);
        assert_eq!(journaled.bytes_at(at as u64, len).unwrap(), seen[at..at + len]);
    }
    assert!(journaled.bytes_at(seen.len() as u64, 1).is_err());
    seen
}

/// Checks that a reader sees the old or the new content, and that undoing the change leaves the
/// content that the reader saw.
fn check(case: &Case, mut left: MemoryStorage) {
    let new = case.changed();
    let before = seen(&left);
    assert!(before == case.old || before == new, "a reader sees {before:?}, {case:?}");
    left.set_fault(Fault::None);
    journal::undo(&mut left).unwrap();
    assert_eq!(left.journal_bytes(), None);
    assert_eq!(left.file_bytes(), before, "{case:?}");
}

fn operations(case: &Case) -> (MemoryStorage, u64) {
    let mut storage = MemoryStorage::new(&case.old);
    case.run(&mut storage).unwrap();
    assert_eq!((storage.file_bytes(), storage.journal_bytes()), (&case.changed()[..], None));
    let operations = storage.operations().len() as u64;
    (storage, operations)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_power_cut_at_any_operation_leaves_either_the_old_or_the_new_content(case in cases()) {
        let (storage, operations) = operations(&case);
        for count in 0..=usize::try_from(operations).unwrap() {
            for left in storage.crashes(count) {
                check(&case, left);
            }
        }
    }

    #[test]
    fn a_change_can_be_rolled_back_after_a_power_cut_during_an_earlier_rollback(case in cases()) {
        let (storage, operations) = operations(&case);
        // Begin with the state just before the journal is removed.
        let mut left = storage.crashes(usize::try_from(operations).unwrap() - 2).remove(0);
        journal::undo(&mut left).unwrap();
        for count in 0..=left.operations().len() {
            for mut again in left.crashes(count) {
                prop_assert_eq!(seen(&again), &case.old[..]);
                journal::undo(&mut again).unwrap();
                prop_assert_eq!(again.file_bytes(), &case.old[..]);
                prop_assert_eq!(again.journal_bytes(), None);
            }
        }
    }

    #[test]
    fn a_fault_at_any_operation_leaves_either_the_old_or_the_new_content(case in cases()) {
        let (_, operations) = operations(&case);
        for at in 0..operations {
            for fault in [
                Fault::FailAtOperation(at),
                Fault::FailOnceAtOperation(at),
                Fault::StopAtOperation(at),
                Fault::TearAtOperation(at),
            ] {
                let mut storage = MemoryStorage::new(&case.old).fault(fault);
                let outcome = case.run(&mut storage);
                let is_reported =
                    matches!(fault, Fault::FailAtOperation(_) | Fault::FailOnceAtOperation(_));
                prop_assert_eq!(outcome.is_err(), is_reported);
                if matches!(fault, Fault::FailOnceAtOperation(_)) && at + 1 < operations {
                    // The change is undone immediately if an operation other than the last fails
                    // once.
                    prop_assert_eq!(storage.file_bytes(), &case.old[..]);
                    prop_assert_eq!(storage.journal_bytes(), None);
                }
                check(&case, storage);
            }
        }
    }

    #[test]
    fn a_change_that_fails_on_a_full_disk_leaves_the_old_content(case in cases()) {
        let mut at = 0;
        loop {
            let mut storage = MemoryStorage::new(&case.old).fault(Fault::FailAtByte(at));
            if case.run(&mut storage).is_ok() {
                break;
            }
            prop_assert_eq!(seen(&storage), &case.old[..]);
            check(&case, storage);
            at += 1;
        }
    }
}

fn case() -> Case {
    let old = b"header 1same some of the old data, the tail".to_vec();
    let patches = vec![(100, b"xyz".to_vec())];
    Case { old, patches, tail: 8, new_tail: b"another, longer tail".to_vec(), header: *b"header 2" }
}

/// Returns the storage after a power cut just before the journal is removed.
fn interrupted(case: &Case) -> MemoryStorage {
    let (storage, operations) = operations(case);
    let left = storage.crashes(usize::try_from(operations).unwrap() - 2).remove(0);
    assert!(left.file_bytes() == case.changed() && left.journal_bytes().is_some());
    left
}

#[test]
fn a_journal_of_another_file_is_not_applied() {
    let case = case();
    let left = interrupted(&case);
    let journal = left.journal_bytes().unwrap();
    for (at, name) in [(3, "marker"), (HEADER + 1, "witness")] {
        let mut other = case.old.clone();
        other[at] ^= 1;
        let mut storage = MemoryStorage::with_journal(&other, journal);
        let error = journal::undo(&mut storage).unwrap_err();
        assert!(error.to_string().contains("belongs to another file"), "{name}: {error}");
        assert_eq!((storage.file_bytes(), storage.journal_bytes()), (&other[..], Some(journal)));
        assert!(Journaled::new(other, journal.to_vec()).unwrap().is_none());
    }
    // The journal is applied to the old file and to the completely changed file.
    for file in [&case.old, &case.changed()] {
        let mut storage = MemoryStorage::with_journal(file, journal);
        assert!(journal::undo(&mut storage).unwrap());
        assert_eq!(storage.file_bytes(), case.old);
    }
}

/// The journal is compared with another version of the file, which differs only in the ranges that
/// the change overwrites.
#[test]
fn a_journal_is_not_applied_if_bytes_in_a_saved_range_differ() {
    let case = case();
    let left = interrupted(&case);
    let journal = left.journal_bytes().unwrap();
    let (patched, tail) = (HEADER + UNTOUCHED + 3, case.old.len() - 2);
    for at in [patched, tail] {
        for state in [&case.old, &case.changed()] {
            let mut other = state.clone();
            other[at] = b'#';
            let mut storage = MemoryStorage::with_journal(&other, journal);
            let error = journal::undo(&mut storage).unwrap_err();
            assert!(matches!(error.kind(), binio::ErrorKind::ForeignJournal), "{at}: {error}");
            assert_eq!(storage.file_bytes(), other);
            assert!(Journaled::new(other, journal.to_vec()).unwrap().is_none());
        }
    }
    // The journal is not applied to a shorter file, because this change never shortens the file.
    let mut storage = MemoryStorage::with_journal(&case.old[..case.old.len() - 1], journal);
    assert!(journal::undo(&mut storage).is_err());
}

#[cfg(unix)]
#[test]
fn the_journal_of_a_file_does_not_match_a_copy_or_an_older_version_of_the_file() {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use binio::write::journal::Pending;
    use binio::write::{FileLock, FileStorage};

    let folder = tempfile::tempdir().unwrap();
    let [path, copy, backup] = ["file", "copy", "backup"].map(|name| folder.path().join(name));
    let case = case();
    fs::write(&path, &case.old).unwrap();
    fs::write(&backup, &case.old).unwrap();
    {
        let lock = FileLock::acquire(&path).unwrap();
        let mut storage = FileStorage::open(&lock).unwrap();
        let mut change = Change::begin(&mut storage, &case.plan()).unwrap();
        case.write(&mut change).unwrap();
        // Do not run the destructor, as if the process had been killed.
        std::mem::forget(change);
    }
    let pending = || journal::pending(&path).unwrap();
    assert_eq!(pending(), Some(Pending::Changed));
    // Replace the file with another file that has the same bytes.
    fs::copy(&path, &copy).unwrap();
    fs::rename(&path, folder.path().join("aside")).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(pending(), Some(Pending::Foreign));
    assert!(journal::roll_back(&path).is_err());
    assert_eq!(fs::read(&path).unwrap(), case.changed());
    fs::rename(folder.path().join("aside"), &path).unwrap();
    assert_eq!(pending(), Some(Pending::Changed));
    // Make the file older than the journal, like a restored backup that keeps its modification
    // time.
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
    assert_eq!(pending(), Some(Pending::Foreign));
}

#[test]
fn an_incomplete_or_damaged_journal_is_not_applied() {
    let case = case();
    let left = interrupted(&case);
    let journal = left.journal_bytes().unwrap();
    for len in 0..journal.len() {
        let mut storage = MemoryStorage::with_journal(&case.old, &journal[..len]);
        assert_eq!(seen(&storage), case.old);
        assert!(journal::undo(&mut storage).unwrap());
        assert_eq!((storage.file_bytes(), storage.journal_bytes()), (&case.old[..], None));
    }
    for at in 0..journal.len() {
        let mut damaged = journal.to_vec();
        damaged[at] ^= 1;
        let storage = MemoryStorage::with_journal(&case.old, &damaged);
        assert_eq!(seen(&storage), case.old);
    }
}

#[test]
fn a_change_cannot_begin_while_a_journal_exists() {
    let case = case();
    let mut left = interrupted(&case);
    assert!(Change::begin(&mut left, &ChangePlan::new(HEADER as u64..12)).is_err());
    assert_eq!(left.operations(), []);
    journal::undo(&mut left).unwrap();
    case.run(&mut left).unwrap();
    assert_eq!(left.file_bytes(), case.changed());
}

/// A later version of this crate may write journals in a different format. The file may then be
/// partly changed, so such a journal must not be treated as incomplete.
#[test]
fn a_complete_journal_of_an_unknown_version_is_rejected() {
    let case = case();
    let left = interrupted(&case);
    let mut journal = left.journal_bytes().unwrap().to_vec();
    // Omit the records, because another version may store them in any format.
    let end = u64::from_le_bytes(journal[72..80].try_into().unwrap());
    let end = usize::try_from(end).unwrap();
    journal.truncate(end + 4);
    journal[..8].copy_from_slice(b"undolog4");
    let crc = binio::checksum::Algorithm::Crc32.digest(&journal[..end]);
    journal[end..].copy_from_slice(crc.as_bytes());
    journal[end..].reverse();
    let mut storage = MemoryStorage::with_journal(&case.old, &journal);
    assert!(journal::undo(&mut storage).is_err());
    assert_eq!(storage.journal_bytes(), Some(&journal[..]));
    assert!(Journaled::new(case.old.clone(), journal).is_err());
}

#[cfg(any(unix, windows))]
#[test]
fn a_file_on_disk_is_read_through_its_journal_and_can_be_rolled_back() {
    use std::fs;

    use binio::write::journal::Pending;
    use binio::write::{ConsistentFile, FileLock, FileStorage};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let case = case();
    fs::write(&path, &case.old).unwrap();
    let read = |path| match ConsistentFile::open(path).unwrap() {
        ConsistentFile::File(file) => (false, file.bytes_at(0, case.old.len()).unwrap()),
        ConsistentFile::Before(before) => (true, before.bytes_at(0, case.old.len()).unwrap()),
    };
    assert_eq!(read(&path), (false, case.old.clone().into()));
    assert_eq!(journal::pending(&path).unwrap(), None);
    assert!(Journaled::open(&path).unwrap().is_none());
    assert!(!journal::roll_back(&path).unwrap());
    {
        let lock = FileLock::acquire(&path).unwrap();
        let mut storage = FileStorage::open(&lock).unwrap();
        let mut change = Change::begin(&mut storage, &case.plan()).unwrap();
        case.write(&mut change).unwrap();
        assert_eq!(change.bytes_at(0, 8).unwrap(), &b"header 2"[..]);
        assert_eq!(journal::pending(&path).unwrap(), Some(Pending::Changed));
        let reader = Journaled::open(&path).unwrap().unwrap();
        assert_eq!(reader.bytes_at(0, case.old.len()).unwrap(), case.old);
        assert_eq!(read(&path), (true, case.old.clone().into()));
        #[cfg(unix)]
        {
            // The journal is next to the file to which the link points, not next to the link.
            let link = folder.path().join("elsewhere");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            assert_eq!(read(&link), (true, case.old.clone().into()));
            fs::remove_file(link).unwrap();
        }
        #[cfg(unix)]
        assert!(matches!(journal::roll_back(&path).unwrap_err().kind(), binio::ErrorKind::Locked));
        change.commit().unwrap();
        // A reader that opened the file before the commit is not affected.
        #[cfg(unix)]
        assert_eq!(reader.bytes_at(0, case.old.len()).unwrap(), case.old);
    }
    assert_eq!(fs::read(&path).unwrap(), case.changed());

    let left = interrupted(&case);
    fs::write(&path, left.file_bytes()).unwrap();
    fs::write(folder.path().join("file.undo-journal"), left.journal_bytes().unwrap()).unwrap();
    assert!(journal::roll_back(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), case.old);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn opening_anything_but_a_regular_file_fails_without_blocking() {
    use binio::write::ConsistentFile;

    let folder = tempfile::tempdir().unwrap();
    let missing = ConsistentFile::open(folder.path().join("missing")).unwrap_err();
    assert!(
        matches!(missing.kind(), binio::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
    );
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    // Opening a pipe must not wait for a writer.
    let error = ConsistentFile::open(&pipe).unwrap_err();
    assert!(matches!(error.kind(), binio::ErrorKind::Unsupported(_)), "{error}");
    let error = ConsistentFile::open(folder.path()).unwrap_err();
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::IsADirectory);
}

#[test]
fn a_change_creates_the_journal_first_and_removes_it_last() {
    let mut storage = MemoryStorage::new(b"0123456789");
    let mut change = Change::begin(&mut storage, &ChangePlan::new(0..4).overwrite(8..10)).unwrap();
    change.write_all_at(b"x", 9).unwrap();
    change.commit().unwrap();
    let operations = storage.operations();
    assert_eq!(operations[0], Operation::CreateJournal);
    assert_eq!(
        operations[operations.len() - 2..],
        [Operation::RemoveJournal, Operation::SyncDirectory]
    );
    assert!(storage.journal().is_none());
}
