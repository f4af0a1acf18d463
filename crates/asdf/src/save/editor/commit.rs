//! Committing edits: choosing the smallest change, and writing it.

use std::collections::BTreeSet;
use std::io::{Seek, Write};

use binio::write::{AtomicFile, Discard, Storage};

use super::Editor;
use crate::error::{Error, Result};
use crate::save::edited::{EditedFile, PAGE};
use crate::save::in_place::InPlace;
use crate::save::output::{Replacement, Stream};
use crate::save::plan::{FilePlan, Written};

/// The method by which a change was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// There was nothing to change.
    Unchanged,
    /// A single write within one page of the file.
    Patched,
    /// The existing file was changed in place, using a journal.
    InPlace,
    /// A new file replaced the existing one or was written elsewhere.
    NewFile,
}

/// A summary of a committed or planned change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditReport {
    /// The method by which the change was written.
    pub method: Method,
    /// Length of the edited file in bytes.
    pub len: u64,
    /// Number of blocks in the edited file.
    pub blocks: usize,
    /// Numbers of the blocks that no array uses any more, but that keep their space because
    /// [`in_place`](crate::save::EditOptions::in_place) is set. Empty without this option.
    pub unused: Vec<usize>,
    /// Whether an interrupted in-place change was rolled back when the file was opened.
    pub rolled_back: bool,
}

impl Editor {
    /// Writes the changes to the file. They are on disk when this function returns.
    ///
    /// # Errors
    ///
    /// Same as [`tree`](Self::tree). Also fails with
    /// [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if another program has changed or
    /// replaced the file since it was opened, if the editor was created from an open file, or if
    /// the file must be changed [in place](crate::save::EditOptions::in_place), but the change does
    /// not fit. Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if the file or the data of a new
    /// array cannot be read, or if the file cannot be written, and with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the file has too many blocks.
    ///
    /// If blocks are added, replaced or removed, also fails with
    /// [`ErrorKind::Block`](crate::ErrorKind::Block) if a header is invalid or a negative block
    /// number in the tree cannot be resolved. Fails with `Unwritable` if anything but zeros or an
    /// index follows the last block, or if this build lacks the codec of a compression, and with
    /// `Limit` if the data of a new block is too large for its compression.
    ///
    /// A failed commit leaves the file unchanged, with two exceptions:
    ///
    /// - The last step syncs the file if a single write changed it, and otherwise syncs its folder.
    ///   If only this step fails, the change has been made, but may not survive a crash.
    /// - If a failed in-place change cannot be undone immediately, it is undone when the file is next opened for
    ///   writing.
    pub fn commit(self) -> Result<EditReport> {
        let edited = self.edited()?;
        let change = self.change(&edited)?;
        let Some(place) = &self.place else {
            return Err(Error::unwritable(
                "the file was opened without a lock, so it cannot be changed: write the result \
                 elsewhere or open the file by its path",
            ));
        };
        place.check_unchanged(&self.file)?;
        let written = match &change {
            Planned::Unchanged => None,
            Planned::Patched(offset, bytes) => {
                patch(&mut place.storage()?, *offset, bytes)?;
                None
            }
            Planned::InPlace(change) => Some(change.apply(&mut place.storage()?)?),
            Planned::NewFile(plan) => {
                let mut out = AtomicFile::create(place.path())?;
                let sink = Replacement { out: &mut out, existing: &place.handle };
                let written = plan.write(sink)?;
                out.commit()?;
                Some(written)
            }
        };
        self.report(&edited, change.method(), written)
    }

    /// Returns the report that [`Self::commit`] would return, without changing the file.
    ///
    /// ```
    /// use asdf::save::{Editor, Method};
    /// use asdf::{Tree, Writer};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("a.asdf");
    /// Writer::new(Tree::parse("gain: 2.5")?).write(&path)?;
    /// let before = std::fs::read(&path).unwrap();
    /// let mut editor = Editor::open(&path)?;
    /// editor.set("/gain", &Tree::new(3.5))?;
    /// assert_eq!(editor.plan()?.method, Method::Patched);
    /// assert_eq!(std::fs::read(&path).unwrap(), before);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`commit`](Self::commit), except that this function does not fail if the file is not
    /// locked, has changed or cannot be written.
    pub fn plan(&self) -> Result<EditReport> {
        let edited = self.edited()?;
        let change = self.change(&edited)?;
        let written = match &change {
            Planned::Unchanged | Planned::Patched(..) => None,
            Planned::InPlace(_) | Planned::NewFile(_) => {
                Some(edited.plan()?.write(Discard::default())?)
            }
        };
        self.report(&edited, change.method(), written)
    }

    /// Writes the edited file to an empty, seekable output.
    ///
    /// # Errors
    ///
    /// Same as [`plan`](Self::plan). Also fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if `out` cannot be
    /// written.
    pub fn write_to(&self, out: impl Write + Seek) -> Result<EditReport> {
        let edited = self.edited()?;
        let sink = Stream { out, existing: Some(&**self.file.source()) };
        let written = edited.plan()?.write(sink)?;
        self.report(&edited, Method::NewFile, Some(written))
    }

    /// Applies the changes to a storage instead of the opened file. This is meant for files outside
    /// the file system, and for simulating interrupted changes.
    ///
    /// The storage must contain the same bytes as [`Self::file`]. Returns the method that was used.
    /// Changes that require a new file are rejected, because only [`Self::write_to`] can write one.
    /// If [`EditOptions::in_place`](crate::save::EditOptions::in_place) is set, the editor avoids
    /// these changes if possible.
    ///
    /// ```
    /// use asdf::save::{EditOptions, Method};
    /// use asdf::{Asdf, Tree, Writer};
    /// use binio::write::MemoryStorage;
    ///
    /// let mut bytes = std::io::Cursor::new(Vec::new());
    /// Writer::new(Tree::parse("gain: 2.5")?).write_to(&mut bytes)?;
    /// let mut storage = MemoryStorage::new(&bytes.into_inner());
    /// let file = Asdf::from_bytes(storage.file_bytes().to_vec())?;
    /// let mut editor = EditOptions::new().in_place(true).edit(file);
    /// editor.set("/gain", &Tree::parse("3.5")?)?;
    /// assert_eq!(editor.commit_to(&mut storage)?, Method::Patched);
    /// # Ok::<(), asdf::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`plan`](Self::plan). Also fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if
    /// the change requires a new file, and with [`ErrorKind::Io`](crate::ErrorKind::Io) if the storage cannot
    /// be written.
    pub fn commit_to(&self, storage: &mut dyn Storage) -> Result<Method> {
        let edited = self.edited()?;
        let change = self.change(&edited)?;
        match &change {
            Planned::Unchanged => {}
            Planned::Patched(offset, bytes) => patch(storage, *offset, bytes)?,
            Planned::InPlace(change) => drop(change.apply(storage)?),
            Planned::NewFile(_) => {
                return Err(Error::unwritable(
                    "the change cannot be made in place: write a new file instead",
                ));
            }
        }
        Ok(change.method())
    }

    fn edited(&self) -> Result<EditedFile<'_>> {
        let tree = self.tree()?;
        let in_place = self.options.in_place;
        let count = self.file.blocks().len()?;
        let mut dropped = BTreeSet::new();
        if !in_place {
            let used = self.used(tree.document().root())?;
            dropped = self.released.difference(&used).copied().filter(|&it| it < count).collect();
        }
        let (file, before, blocks) = (&self.file, &*self.before, &self.blocks);
        let mut edited =
            EditedFile { file, edited: tree, resolved: None, before, blocks, dropped, in_place };
        if edited.block_count(count) != count {
            edited.resolved = self.with_positive_sources(tree)?;
        }
        Ok(edited)
    }

    /// Chooses the smallest change that produces the edited file.
    fn change<'e>(&self, edited: &'e EditedFile<'e>) -> Result<Planned<'e>> {
        if !edited.has_changed() {
            return Ok(Planned::Unchanged);
        }
        let can_write = self.place.as_ref().is_none_or(|place| place.can_write);
        if can_write && !edited.changes_blocks() && self.file.layout().tree.is_some() {
            if let Some((offset, bytes)) = edited.in_one_page(&edited.space()?)? {
                debug_assert!(bytes.len() as u64 <= PAGE);
                return Ok(Planned::Patched(offset, bytes));
            }
        }
        let plan = edited.plan()?;
        if self.options.in_place && can_write {
            return Ok(Planned::InPlace(Box::new(InPlace::new(plan, &**self.file.source())?)));
        }
        Ok(Planned::NewFile(plan))
    }

    /// Returns a report about a change. If `written` is `None`, the length and the number of blocks are those of
    /// the existing file.
    fn report(
        &self,
        edited: &EditedFile<'_>,
        method: Method,
        written: Option<Written>,
    ) -> Result<EditReport> {
        let (len, blocks) = match written {
            Some(Written { len, blocks }) => (len, blocks.len()),
            None => (self.file.layout().file_len, self.file.blocks().len()?),
        };
        let mut unused = Vec::new();
        if self.options.in_place {
            let used = self.used(edited.text().document().root())?;
            unused = self.released.difference(&used).copied().filter(|&it| it < blocks).collect();
        }
        Ok(EditReport { method, len, blocks, unused, rolled_back: self.rolled_back() })
    }
}

/// A change that is ready to be written.
enum Planned<'e> {
    Unchanged,
    Patched(u64, Vec<u8>),
    InPlace(Box<InPlace<'e>>),
    NewFile(FilePlan<'e>),
}

impl Planned<'_> {
    fn method(&self) -> Method {
        match self {
            Self::Unchanged => Method::Unchanged,
            Self::Patched(..) => Method::Patched,
            Self::InPlace(_) => Method::InPlace,
            Self::NewFile(_) => Method::NewFile,
        }
    }
}

/// Writes bytes within one page and syncs the file.
fn patch(storage: &mut dyn Storage, offset: u64, bytes: &[u8]) -> Result<()> {
    storage.file_mut().write_all_at(bytes, offset)?;
    Ok(storage.file_mut().sync()?)
}
