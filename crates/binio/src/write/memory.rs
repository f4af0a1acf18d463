//! An in-memory storage that injects faults and simulates power cuts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::fault::{Fault, Faults, Outcome, injected};
use super::{Storage, WriteAt};
use crate::{ReadAt, Result};

/// Identifies one of the two files of a [`Storage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageFile {
    /// The file being changed.
    File,
    /// The journal of the file.
    Journal,
}

/// An operation on a [`MemoryStorage`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the variants are named after the methods of `Storage` and `WriteAt`"
)]
pub enum Operation {
    CreateJournal,
    Write { place: StorageFile, offset: u64, data: Vec<u8> },
    SetLen { place: StorageFile, len: u64 },
    Sync(StorageFile),
    RemoveJournal,
    SyncDirectory,
}

/// An in-memory [`Storage`] for tests. It can inject a [`Fault`], and it records all operations,
/// from which it computes states that are possible after a power cut.
///
/// ```
/// use binio::write::fault::Fault;
/// use binio::write::{Change, ChangePlan, MemoryStorage, WriteAt, journal};
///
/// fn change(storage: &mut MemoryStorage) -> binio::Result<()> {
///     let mut change = Change::begin(storage, &ChangePlan::new(4..7).overwrite(0..3))?;
///     change.write_all_at(b"new", 0)?;
///     change.commit()
/// }
///
/// let mut storage = MemoryStorage::new(b"old file");
/// change(&mut storage)?;
/// let operations = storage.operations().len();
/// // Simulate a power cut after any number of operations.
/// for count in 0..=operations {
///     for mut left in storage.crashes(count) {
///         journal::undo(&mut left)?;
///         assert!(matches!(left.file_bytes(), b"old file" | b"new file"));
///     }
/// }
/// // Let each operation fail once, except the last: its failure is too late to undo the change.
/// for operation in 0..operations as u64 - 1 {
///     let fault = Fault::FailOnceAtOperation(operation);
///     let mut storage = MemoryStorage::new(b"old file").fault(fault);
///     assert!(change(&mut storage).is_err());
///     assert_eq!(storage.file_bytes(), b"old file");
/// }
/// # Ok::<(), binio::Error>(())
/// ```
#[derive(Debug)]
pub struct MemoryStorage {
    /// The initial content of the file and the journal.
    before: Files,
    file: MemoryFile,
    journal: Option<MemoryFile>,
    log: Arc<Mutex<Log>>,
}

/// One of the files in a [`MemoryStorage`].
#[derive(Debug)]
pub struct MemoryFile {
    place: StorageFile,
    data: Vec<u8>,
    log: Arc<Mutex<Log>>,
}

#[derive(Clone, Debug)]
struct Files {
    file: Vec<u8>,
    journal: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Log {
    faults: Faults,
    operations: Vec<Operation>,
}

impl Log {
    /// Records an operation. Returns the number of written bytes that take effect (`None` if the
    /// operation has no effect), and the result to report.
    fn record(&mut self, operation: Operation) -> (Option<usize>, Result<()>) {
        let len = match &operation {
            Operation::Write { data, .. } => data.len(),
            _ => 0,
        };
        self.operations.push(operation);
        match self.faults.next(len) {
            Outcome::Done => (Some(len), Ok(())),
            Outcome::Fails(kept) => ((kept > 0).then_some(kept), Err(injected().into())),
            Outcome::Lost(kept) => ((kept > 0).then_some(kept), Ok(())),
        }
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryStorage {
    /// Creates a storage with a file but no journal.
    pub fn new(file: &[u8]) -> Self {
        Self::of(Files { file: file.to_vec(), journal: None })
    }

    /// Creates a storage with a file and its journal.
    pub fn with_journal(file: &[u8], journal: &[u8]) -> Self {
        Self::of(Files { file: file.to_vec(), journal: Some(journal.to_vec()) })
    }

    fn of(before: Files) -> Self {
        let log = Arc::<Mutex<Log>>::default();
        let open =
            |place, data: &[u8]| MemoryFile { place, data: data.to_vec(), log: Arc::clone(&log) };
        let file = open(StorageFile::File, &before.file);
        let journal = before.journal.as_ref().map(|data| open(StorageFile::Journal, data));
        Self { before, file, journal, log }
    }

    /// Sets the fault to inject.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        self.set_fault(fault);
        self
    }

    /// Sets the fault to inject, and restarts the count of operations from 0.
    pub fn set_fault(&self, fault: Fault) {
        lock(&self.log).faults = Faults::new(fault);
    }

    /// Returns the content of the file.
    pub fn file_bytes(&self) -> &[u8] {
        &self.file.data
    }

    /// Returns the content of the journal, or `None` if there is no journal.
    pub fn journal_bytes(&self) -> Option<&[u8]> {
        self.journal.as_ref().map(|journal| journal.data.as_slice())
    }

    /// Returns all operations so far, including failed and lost operations.
    pub fn operations(&self) -> Vec<Operation> {
        lock(&self.log).operations.clone()
    }

    /// Returns some of the states that a power cut after the first `count` operations may leave
    /// behind.
    ///
    /// Synced operations always take effect. In each state, all, none, all but one, or only one of
    /// the unsynced operations take effect. In one more state, all of them take effect, but if the
    /// last one is a write, only the first half of its bytes is written.
    pub fn crashes(&self, count: usize) -> Vec<Self> {
        let operations = self.operations();
        let done = &operations[..count.min(operations.len())];
        let is_synced = |index: usize| {
            done[index + 1..].iter().any(|later| match &done[index] {
                Operation::Write { place, .. } | Operation::SetLen { place, .. } => {
                    *later == Operation::Sync(*place)
                }
                Operation::CreateJournal | Operation::RemoveJournal => {
                    *later == Operation::SyncDirectory
                }
                Operation::Sync(_) | Operation::SyncDirectory => true,
            })
        };
        let open: Vec<usize> = (0..done.len()).filter(|&index| !is_synced(index)).collect();
        let mut kept = vec![open.clone(), Vec::new()];
        kept.extend(open.iter().map(|&one| vec![one]));
        kept.extend(
            open.iter().map(|&one| open.iter().copied().filter(|&other| other != one).collect()),
        );
        let state = |kept: &[usize], torn: Option<usize>| {
            let mut files = self.before.clone();
            for (index, operation) in done.iter().enumerate() {
                let is_lost = open.contains(&index) && !kept.contains(&index);
                if !is_lost {
                    files.apply(operation, torn == Some(index));
                }
            }
            Self::of(files)
        };
        let mut crashes: Vec<Self> = kept.iter().map(|kept| state(kept, None)).collect();
        crashes.extend(open.last().map(|&last| state(&open, Some(last))));
        crashes
    }
}

impl Files {
    /// Returns the content of the file or of its journal, or `None` for a journal that does not
    /// exist. If the creation of the journal was lost, writes to the journal are lost as well.
    fn get(&mut self, place: StorageFile) -> Option<&mut Vec<u8>> {
        match place {
            StorageFile::File => Some(&mut self.file),
            StorageFile::Journal => self.journal.as_mut(),
        }
    }

    fn apply(&mut self, operation: &Operation, is_torn: bool) {
        match operation {
            Operation::Write { place, offset, data } => {
                let len = if is_torn { data.len() / 2 } else { data.len() };
                // Ignore the result, because writing to memory does not fail.
                let _ = self.get(*place).map(|file| file.write_all_at(&data[..len], *offset));
            }
            Operation::SetLen { place, len } => {
                let _ = self.get(*place).map(|file| WriteAt::set_len(file, *len));
            }
            Operation::CreateJournal => self.journal = Some(Vec::new()),
            Operation::RemoveJournal => self.journal = None,
            Operation::Sync(_) | Operation::SyncDirectory => {}
        }
    }
}

impl Storage for MemoryStorage {
    fn file(&self) -> &dyn WriteAt {
        &self.file
    }

    fn file_mut(&mut self) -> &mut dyn WriteAt {
        &mut self.file
    }

    fn journal(&self) -> Option<&dyn WriteAt> {
        self.journal.as_ref().map(|journal| journal as &dyn WriteAt)
    }

    fn journal_mut(&mut self) -> Option<&mut dyn WriteAt> {
        self.journal.as_mut().map(|journal| journal as &mut dyn WriteAt)
    }

    fn create_journal(&mut self) -> Result<()> {
        if self.journal.is_some() {
            return Err(std::io::Error::from(std::io::ErrorKind::AlreadyExists).into());
        }
        let (effect, result) = lock(&self.log).record(Operation::CreateJournal);
        if effect.is_some() || result.is_ok() {
            // Create the journal even if the fault discards this operation, because the program
            // can write to it until the simulated power cut.
            let (place, log) = (StorageFile::Journal, Arc::clone(&self.log));
            self.journal = Some(MemoryFile { place, data: Vec::new(), log });
        }
        result
    }

    fn remove_journal(&mut self) -> Result<()> {
        let (effect, result) = lock(&self.log).record(Operation::RemoveJournal);
        if effect.is_some() {
            self.journal = None;
        }
        result
    }

    fn sync_directory(&mut self) -> Result<()> {
        lock(&self.log).record(Operation::SyncDirectory).1
    }
}

impl ReadAt for MemoryFile {
    fn len(&self) -> u64 {
        self.data.len() as u64
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.data.read_exact_at(buf, offset)
    }
}

impl WriteAt for MemoryFile {
    fn write_all_at(&mut self, data: &[u8], offset: u64) -> Result<()> {
        let operation = Operation::Write { place: self.place, offset, data: data.to_vec() };
        let (effect, result) = lock(&self.log).record(operation);
        if let Some(kept) = effect {
            self.data.write_all_at(&data[..kept], offset)?;
        }
        result
    }

    fn set_len(&mut self, len: u64) -> Result<()> {
        let (effect, result) = lock(&self.log).record(Operation::SetLen { place: self.place, len });
        if effect.is_some() {
            WriteAt::set_len(&mut self.data, len)?;
        }
        result
    }

    fn sync(&mut self) -> Result<()> {
        lock(&self.log).record(Operation::Sync(self.place)).1
    }
}
