//! Testing the state of a file after writing is interrupted at any point.

use binio::write::fault::Fault;
use binio::write::{
    Change, ChangePlan, FileLock, FileStorage, Journaled, MemoryStorage, Operation, Storage,
    StorageFile, WriteAt, journal,
};
use dudley::file::FileBytes;
use dudley::write::{ExtendMode, Extension};
use dudley::{ErrorKind, File, Layout, OpenOptions, Order, ReadAt, Values};

use super::{example_a, with_values};

/// A target that fails after a certain number of operations.
struct Failing {
    bytes: Vec<u8>,
    left: usize,
}

impl ReadAt for Failing {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        self.bytes.read_exact_at(buf, offset)
    }
}

impl Failing {
    fn next(&mut self) -> binio::Result<()> {
        let failed = || std::io::Error::other("the disk is gone");
        self.left = self.left.checked_sub(1).ok_or_else(failed)?;
        Ok(())
    }
}

impl WriteAt for Failing {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> binio::Result<()> {
        self.next()?;
        self.bytes.write_all_at(data, offset)
    }

    fn set_len(&mut self, len: u64) -> binio::Result<()> {
        self.next()?;
        WriteAt::set_len(&mut self.bytes, len)
    }

    fn sync(&mut self) -> binio::Result<()> {
        self.next()
    }
}

#[test]
fn a_new_file_gets_its_signature_only_once_it_is_complete() {
    let layout = "N : u2  a = { K : u1  v = u2[K] }[N]  z = u1[50] -> gzip  x = f8[N]";
    let values = Values::new().with("N", 2).with("K", 3);
    let options = with_values(Order::Little, values);
    for left in 0.. {
        let mut target = Failing { bytes: Vec::new(), left };
        let write = |target: &mut Failing| {
            let mut writer = options.write_at(target, Layout::parse(layout)?)?;
            writer.put("/x", &[1.0, 2.0])?;
            writer.put("/a[1].v", &[7_u16, 8, 9])?;
            writer.put("/z", &[4_u8; 50])?;
            writer.finish()
        };
        let Err(error) = write(&mut target) else {
            let file = File::from_bytes(target.bytes, None).unwrap();
            assert_eq!(file.get("/x").unwrap().read::<f64>().unwrap(), [1.0, 2.0]);
            assert_eq!(file.get("/z").unwrap().read::<u8>().unwrap(), [4; 50]);
            assert!(left > 5, "{left} writes");
            return;
        };
        assert!(error.io_error().is_some(), "{error}");
        let error = File::from_bytes(target.bytes, None).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoLayout { is_native: false }), "{error}");
    }
}

/// Returns the content that a reader sees in a file and its journal.
fn seen(storage: &MemoryStorage) -> Vec<u8> {
    let file = storage.file_bytes().to_vec();
    let journal = storage.journal_bytes().map(<[u8]>::to_vec);
    let before = journal.and_then(|journal| Journaled::new(file.clone(), journal).unwrap());
    match before {
        Some(before) => {
            let len = usize::try_from(before.len()).unwrap();
            before.bytes_at(0, len).unwrap().into()
        }
        None => file,
    }
}

#[test]
fn a_crash_or_failure_while_extending_a_file_leaves_the_old_or_the_new_file() {
    let (old, _) = example_a();
    for mode in [ExtendMode::Safe, ExtendMode::InPlace] {
        let change = |storage: &mut MemoryStorage| {
            let mut more = Extension::new(&old[..], "y = i4[100]", mode, &Values::new())?;
            more.put("y", &[7_i32; 100])?;
            more.commit(storage)
        };
        let mut whole = MemoryStorage::new(&old);
        change(&mut whole).unwrap();
        let new = whole.file_bytes().to_vec();
        let file = File::from_bytes(new.clone(), None).unwrap();
        assert_eq!(file.get("x").unwrap().read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
        assert_eq!(file.get("y").unwrap().read::<i32>().unwrap(), vec![7; 100]);
        let operations = whole.operations();
        let is_of_file = |operation: &&Operation| match operation {
            Operation::Write { place, .. } => *place == StorageFile::File,
            _ => false,
        };
        assert!(operations.iter().filter(is_of_file).count() >= 3, "data, layout, header");
        let mut outcomes = [0; 2];
        let mut check = |left: &MemoryStorage| {
            let seen = seen(left);
            let outcome = [&old, &new].iter().position(|expected| **expected == seen);
            outcomes[outcome.expect("either the old file or the new one")] += 1;
            seen
        };
        for count in 0..=operations.len() {
            for mut left in whole.crashes(count) {
                let seen = check(&left);
                journal::undo(&mut left).unwrap();
                assert_eq!(
                    left.file_bytes(),
                    seen,
                    "undoing the change must leave the content that readers saw"
                );
            }
        }
        for operation in 0..operations.len() as u64 {
            for fault in [
                Fault::FailAtOperation(operation),
                Fault::FailOnceAtOperation(operation),
                Fault::StopAtOperation(operation),
                Fault::TearAtOperation(operation),
            ] {
                let mut storage = MemoryStorage::new(&old).fault(fault);
                let is_reported = change(&mut storage).is_err();
                check(&storage);
                if matches!(fault, Fault::FailAtOperation(_) | Fault::FailOnceAtOperation(_)) {
                    assert!(is_reported, "{fault:?}");
                }
                if fault == Fault::FailOnceAtOperation(operation) {
                    journal::undo(&mut storage).unwrap();
                    // The last operation only syncs the directory after the journal has been
                    // removed, so the new file remains.
                    let is_last = operation + 1 == operations.len() as u64;
                    let left = if is_last { &new } else { &old };
                    assert_eq!(storage.file_bytes(), left, "a change that fails must be undone");
                }
            }
        }
        assert!(outcomes[0] > operations.len() && outcomes[1] > 0, "{outcomes:?}");
    }
}

#[test]
fn a_crash_while_replacing_values_leaves_the_old_or_the_new_values() {
    let (old, _) = example_a();
    let file = File::from_bytes(old.clone(), None).unwrap();
    let patch = || file.patch("x", &[9.0, 8.0, 7.0]).unwrap();
    assert_eq!((patch().offset(), patch().bytes().len()), (24, 24));
    let mut whole = MemoryStorage::new(&old);
    patch().commit(&mut whole).unwrap();
    assert_eq!(whole.file().len(), old.len() as u64);
    let values = |bytes: &[u8]| {
        let file = File::from_bytes(bytes.to_vec(), None).unwrap();
        file.get("x").unwrap().read::<f64>().unwrap()
    };
    assert_eq!(values(whole.file_bytes()), [9.0, 8.0, 7.0]);
    for count in 0..=whole.operations().len() {
        for left in whole.crashes(count) {
            assert!(
                [[1.0, 2.0, -0.5], [9.0, 8.0, 7.0]]
                    .contains(&values(&seen(&left))[..].try_into().unwrap())
            );
        }
    }
    let mut changed = MemoryStorage::new(whole.file_bytes());
    let error = patch().commit(&mut changed).unwrap_err();
    assert!(error.to_string().contains("was changed after"), "{error}");
    assert!(file.patch("N", &[4_i16]).unwrap_err().to_string().contains("parameter"));
    assert!(file.patch("x", &[4.0]).is_err());
}

#[test]
fn a_file_with_an_interrupted_change_is_read_as_it_was_before_the_change_and_can_be_extended() {
    let (old, _) = example_a();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.bdud");
    std::fs::write(&path, &old).unwrap();
    {
        let lock = FileLock::acquire(&path).unwrap();
        let mut storage = FileStorage::open(&lock).unwrap();
        let plan = ChangePlan::new(16..48).overwrite(48..80).marker(0, old[..16].to_vec());
        let mut change = Change::begin(&mut storage, &plan).unwrap();
        change.write_all_at(&[0xff; 100], 48).unwrap();
        // Leave the change unfinished, as if the process had been killed.
        std::mem::forget(change);
    }
    assert_eq!(std::fs::read(&path).unwrap().len(), 148);
    let by_position = OpenOptions::new();
    #[cfg(feature = "mmap")]
    let all = [by_position.clone(), by_position.mmap(true)];
    #[cfg(not(feature = "mmap"))]
    let all = [by_position];
    for options in all {
        let file = options.open(&path).unwrap();
        assert_eq!(file.get("x").unwrap().read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
    }
    assert_eq!(FileBytes::open(&path).unwrap().bytes_at(0, 80).unwrap(), old);
    let more = Extension::open(&path, "y = i4", ExtendMode::default(), &Values::new()).unwrap();
    assert_eq!(more.commit_to(&path).unwrap().missing, ["/y"]);
    let file = File::open(&path, None).unwrap();
    assert_eq!(file.get("x").unwrap().read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
