//! A [`Storage`] for tests: in memory, with a record of every operation, from which what a crash
//! leaves can be made.

use crate::error::{ErrorKind, Result};
use crate::storage::{Place, Storage};

/// An operation that changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Write { place: Place, position: u64, data: Vec<u8> },
    SetLen(u64),
    Sync(Place),
    Remove,
    SyncDirectory,
}

/// The two files in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    pub(crate) file: Vec<u8>,
    pub(crate) journal: Option<Vec<u8>>,
    pub(crate) operations: Vec<Operation>,
    /// The operation, counted from 0, that fails, and whether all later ones do.
    pub(crate) fault: Option<(usize, bool)>,
}

impl Tape {
    pub(crate) fn of(file: &[u8]) -> Self {
        Self { file: file.to_vec(), ..Self::default() }
    }

    fn record(&mut self, operation: Operation) -> Result<()> {
        let count = self.operations.len();
        let fails = |(at, all): (usize, bool)| count == at || (all && count > at);
        // Even what fails is counted, so that a single fault passes.
        let failed = self.fault.is_some_and(fails);
        if !failed {
            self.apply(&operation);
        }
        self.operations.push(operation);
        if failed { Err(ErrorKind::Damaged("injected fault".to_owned()).into()) } else { Ok(()) }
    }

    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Create => self.journal = Some(Vec::new()),
            Operation::Write { place, position, data } => {
                let file = match place {
                    Place::File => &mut self.file,
                    // Lost with its directory entry.
                    Place::Journal => self.journal.get_or_insert_default(),
                };
                let start = usize::try_from(*position).unwrap();
                file.resize(file.len().max(start + data.len()), 0);
                file[start..start + data.len()].copy_from_slice(data);
            }
            Operation::SetLen(len) => self.file.resize(usize::try_from(*len).unwrap(), 0),
            Operation::Remove => self.journal = None,
            Operation::Sync(_) | Operation::SyncDirectory => {}
        }
    }

    /// Everything that a crash may leave after the first `count` of these operations on these files.
    ///
    /// What was synced is there. Of the rest all, nothing, all but one, one alone, or all but a part
    /// of the last is there.
    pub(crate) fn crashes(&self, operations: &[Operation], count: usize) -> Vec<Self> {
        let done = &operations[..count];
        let is_synced = |index: usize| {
            done[index + 1..].iter().any(|later| match &done[index] {
                Operation::Write { place, .. } => *later == Operation::Sync(*place),
                Operation::SetLen(_) => *later == Operation::Sync(Place::File),
                Operation::Create | Operation::Remove => *later == Operation::SyncDirectory,
                Operation::Sync(_) | Operation::SyncDirectory => true,
            })
        };
        let open: Vec<usize> = (0..count).filter(|&index| !is_synced(index)).collect();
        let mut left = vec![open.clone(), Vec::new()];
        left.extend(open.iter().map(|&one| vec![one]));
        left.extend(
            open.iter().map(|&one| open.iter().copied().filter(|&other| other != one).collect()),
        );
        let state = |kept: &[usize], torn: Option<usize>| {
            let mut tape = self.clone();
            // A journal whose name is lost takes its bytes with it.
            let lost = |index: &usize| open.contains(index) && !kept.contains(index);
            for (index, operation) in done.iter().enumerate() {
                match operation {
                    _ if lost(&index) => {}
                    Operation::Write { place: Place::Journal, .. } if tape.journal.is_none() => {}
                    Operation::Write { place, position, data } if torn == Some(index) => {
                        let data = data[..data.len() / 2].to_vec();
                        tape.apply(&Operation::Write { place: *place, position: *position, data });
                    }
                    operation => tape.apply(operation),
                }
            }
            tape
        };
        let mut crashes: Vec<Self> = left.iter().map(|kept| state(kept, None)).collect();
        crashes.extend(open.last().map(|&last| state(&open, Some(last))));
        crashes
    }
}

impl Storage for Tape {
    fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    fn len(&self, place: Place) -> Result<u64> {
        Ok(match place {
            Place::File => self.file.len(),
            Place::Journal => self.journal.as_ref().unwrap().len(),
        } as u64)
    }

    fn read_at(&self, place: Place, buffer: &mut [u8], position: u64) -> Result<()> {
        let file = match place {
            Place::File => &self.file,
            Place::Journal => self.journal.as_ref().unwrap(),
        };
        Ok(binio::ReadAt::read_exact_at(file, buffer, position)?)
    }

    fn write_at(&mut self, place: Place, data: &[u8], position: u64) -> Result<()> {
        self.record(Operation::Write { place, position, data: data.to_vec() })
    }

    fn set_len(&mut self, len: u64) -> Result<()> {
        self.record(Operation::SetLen(len))
    }

    fn sync(&mut self, place: Place) -> Result<()> {
        self.record(Operation::Sync(place))
    }

    fn create_journal(&mut self) -> Result<()> {
        assert_eq!(self.journal, None, "there is one journal at a time");
        self.record(Operation::Create)
    }

    fn remove_journal(&mut self) -> Result<()> {
        self.record(Operation::Remove)
    }

    fn sync_directory(&mut self) -> Result<()> {
        self.record(Operation::SyncDirectory)
    }
}
