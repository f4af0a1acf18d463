//! One extraction, step by step.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use binio::ReadAt;

use super::content::{self, ContentWriter};
use super::existing::{Decision, Existing};
use super::options::Extractor;
use super::plan::Plan;
use super::report::{ExtractReport, Tally};
use crate::disk::dir::{Dir, FileId, Temporary, set_mtime, set_permissions, stat};
use crate::disk::walk::{Walk, name_of};
use crate::error::{Error, ErrorKind, Failure, Result};
use crate::model::{Archive, Content, Entry, FileType};
use crate::parallel::try_map;
use crate::parse::{Buffers, Data, Located};

/// The maximum number of files in a batch, which a single thread processes.
const BATCH: usize = 32;

impl Extractor<'_> {
    /// Extracts an archive. Entries that fail are listed in the report.
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Limit`] if the selected entries exceed the [limits](Self::limits). In this case, nothing
    /// is written.
    pub fn run(&self, archive: &Archive<'_>) -> Result<ExtractReport> {
        self.run_entries(archive.entries(), None)
    }

    /// Extracts an archive while reading its data from the source piece by piece. The data is never
    /// in memory as a whole: each thread needs only a few buffers. The function set by
    /// [`select`](Self::select) receives each entry without the data that stays in the source.
    ///
    /// ```
    /// use flux_archive::OpenOptions;
    /// use flux_archive::disk::Extractor;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let document = br#"[{"path":"f","encoding":"utf-8","data":"text","size":4,"mode":33188}]"#.to_vec();
    /// let located = OpenOptions::new().locate(&document)?.unwrap();
    /// let report = Extractor::new(folder.path())?.run_located(&located)?;
    /// assert_eq!(report.bytes, 4);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Same as [`run`](Self::run).
    pub fn run_located(&self, located: &Located<'_>) -> Result<ExtractReport> {
        self.run_entries(located.entries(), Some(located))
    }

    fn run_entries(
        &self,
        entries: &[Entry<'_>],
        located: Option<&Located<'_>>,
    ) -> Result<ExtractReport> {
        let data_size = |index: usize| match located {
            Some(located) => located.data_size_of(index),
            None => entries[index].content().data_size(),
        };
        let plan = Plan::new(self, entries, data_size)?;
        let run = Run {
            options: self,
            entries,
            located,
            tally: Tally::default(),
            twins: plan.twins,
            names: Names::default(),
            content: ContentWriter::new(self.store, self.progress),
        };
        for (index, error) in plan.failures {
            run.fail(&entries[index], error);
        }
        if self.dry_run {
            run.look(plan.directories.iter().chain(&plan.files).chain(&plan.links));
        } else {
            let made = run.make_directories(&plan.directories, &plan.files, &plan.links);
            run.write_files(&plan.files, &made);
            run.make_links(&plan.links, &made);
            run.finish_directories(&made);
        }
        Ok(run.tally.into_report())
    }
}

/// The state of an extraction.
struct Run<'r, 'a> {
    options: &'r Extractor<'r>,
    entries: &'r [Entry<'a>],
    located: Option<&'r Located<'r>>,
    tally: Tally,
    twins: HashSet<String>,
    names: Names,
    content: ContentWriter<'r>,
}

/// A cache of the names in directories. A directory is listed again only to look for a name that is
/// not in the cache.
#[derive(Default)]
struct Names(Mutex<HashMap<FileId, HashSet<Vec<u8>>>>);

impl Names {
    /// Returns `true` if the directory contains exactly this name.
    fn has(&self, parent: &Dir, name: &str) -> Result<bool> {
        let directory = stat(parent)?.id();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let names = known.entry(directory).or_default();
        if !names.contains(name.as_bytes()) {
            *names = parent.list()?.into_iter().collect();
        }
        Ok(names.contains(name.as_bytes()))
    }
}

/// The result of creating the directories.
#[derive(Default)]
struct Made {
    /// The indices of the directories whose permissions and times are still to be set, each with
    /// the permissions to set. Parents precede children.
    finish: Vec<(usize, u32)>,
    /// The indices in `finish`, as a set.
    ours: HashSet<usize>,
    /// The indices of files and links whose directory could not be created or opened.
    orphans: Vec<usize>,
}

impl Run<'_, '_> {
    fn walk(&self) -> Walk {
        Walk::new(self.options.root.clone())
    }

    fn fail(&self, entry: &Entry<'_>, error: Error) {
        if self.options.fail_fast {
            self.tally.stop.store(true, Ordering::Relaxed);
        }
        let failure = Failure { path: entry.path().as_str().to_owned(), error };
        self.tally.failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    }

    /// Adds the result of an entry to the report.
    fn settle(&self, entry: &Entry<'_>, count: &AtomicU64, result: Result<Decision>) {
        match result {
            Ok(Decision::Create | Decision::Replace) => drop(count.fetch_add(1, Ordering::Relaxed)),
            Ok(Decision::Skip) => drop(self.tally.skipped.fetch_add(1, Ordering::Relaxed)),
            Err(error) => self.fail(entry, error),
        }
    }

    /// Returns the source of a located archive, and the position of the data of an entry in it.
    /// Returns `None` if the archive is not located, or if the data is not in the source.
    fn data(&self, index: usize) -> Option<(&dyn ReadAt, &Data)> {
        let located = self.located?;
        Some((located.source, located.data[index].as_ref()?))
    }

    fn stopped(&self) -> bool {
        self.tally.stop.load(Ordering::Relaxed)
    }

    /// Determines the action for each entry without writing anything, and adds the results to the
    /// report.
    fn look<'i>(&self, indices: impl Iterator<Item = &'i usize>) {
        let mut walk = self.walk();
        for &index in indices {
            if self.stopped() {
                return;
            }
            let entry = &self.entries[index];
            let decision = match walk.parent(entry.path()) {
                Ok(parent) => self.decide(&parent, entry),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Decision::Create),
                Err(error) => Err(error.into()),
            };
            // Like a real extraction, count a directory even if it already exists.
            let decision = match entry.file_type() {
                FileType::Directory => decision.map(|_| Decision::Create),
                _ => decision,
            };
            let count = match entry.file_type() {
                FileType::Regular => &self.tally.files,
                FileType::Directory => &self.tally.directories,
                FileType::Symlink => &self.tally.links,
            };
            self.settle(entry, count, decision);
        }
    }

    fn decide(&self, parent: &Dir, entry: &Entry<'_>) -> Result<Decision> {
        let name = name_of(entry.path());
        let decision = self.options.existing.decide(parent, name, entry);
        if matches!(decision, Ok(Decision::Create)) || !self.twins.contains(entry.path().as_str()) {
            return decision;
        }
        // A file exists, but the file system may have found it under another name that it treats as
        // equal.
        if self.names.has(parent, name)? {
            return decision;
        }
        Err(ErrorKind::Exists { found: "an entry whose name the file system treats as equal" }
            .into())
    }

    /// Creates the directories in the archive, and the directories that contain its other entries.
    fn make_directories(&self, directories: &[usize], files: &[usize], links: &[usize]) -> Made {
        let explicit: HashMap<&str, usize> =
            directories.iter().map(|&index| (self.entries[index].path().as_str(), index)).collect();
        let mut made = Made::default();
        let mut walk = self.walk();
        for &index in directories {
            if self.stopped() {
                return made;
            }
            let entry = &self.entries[index];
            let path = Some(entry.path().as_str());
            match self.enter_or_make(&mut walk, path, &explicit, &mut made) {
                Ok(_) => {
                    self.tally.directories.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => self.fail(entry, error),
            }
        }
        for &index in files.iter().chain(links) {
            if self.stopped() {
                break;
            }
            let entry = &self.entries[index];
            let parent = entry.path().ancestors().next();
            if let Err(error) = self.enter_or_make(&mut walk, parent, &explicit, &mut made) {
                self.fail(entry, error);
                made.orphans.push(index);
            }
        }
        made.orphans.sort_unstable();
        made
    }

    fn enter_or_make(
        &self,
        walk: &mut Walk,
        path: Option<&str>,
        explicit: &HashMap<&str, usize>,
        made: &mut Made,
    ) -> Result<Dir> {
        let mut failure = None;
        let entered = walk.directory(path, &mut |parent, name, path| {
            let Some(&index) = explicit.get(path) else {
                return existing(parent.make_dir(name, 0o777)).map(|_| ());
            };
            let entry = &self.entries[index];
            let permissions = entry.mode().permissions();
            let there = existing(parent.make_dir(name, permissions & 0o777 | 0o700))?;
            if there {
                // Another entry may have caused this directory to be created.
                if made.ours.contains(&index) {
                    return Ok(());
                }
                match self.decide(parent, entry) {
                    Ok(Decision::Skip | Decision::Create) => return Ok(()),
                    Ok(Decision::Replace) => {}
                    Err(error) => {
                        failure = Some(error);
                        return Err(io::ErrorKind::NotADirectory.into());
                    }
                }
            }
            let dir = parent.open_dir(name)?;
            let found = stat(&dir)?.permissions();
            set_permissions(&dir, 0o700 | (found & 0o7000))?;
            let granted = if there { granted_to_new(parent)? | (found & 0o7000) } else { found };
            let wanted = if self.options.preserve_permissions {
                permissions
            } else {
                granted & (permissions & 0o777 | 0o7000)
            };
            made.ours.insert(index);
            made.finish.push((index, wanted));
            Ok(())
        });
        entered.map_err(|error| failure.unwrap_or_else(|| error.into()))
    }

    fn write_files(&self, files: &[usize], made: &Made) {
        let wanted = |index: &&usize| made.orphans.binary_search(index).is_err();
        let files: Vec<usize> = files.iter().filter(wanted).copied().collect();
        // Write large files one after another, each on several threads, and the rest in parallel.
        let many = |&index: &usize| match self.data(index) {
            Some((_, data)) => content::is_large(data.len()),
            None => content::is_parallel(self.entries[index].content()),
        };
        let (large, small): (Vec<usize>, Vec<usize>) = files.into_iter().partition(many);
        let mut worker = (self.walk(), Buffers::default());
        for index in large {
            self.write_file(&mut worker, index);
        }
        let batches: Vec<_> = small.chunks(BATCH).collect();
        let Ok(_) = try_map(
            &batches,
            || (self.walk(), Buffers::default()),
            |worker, batch| {
                batch.iter().for_each(|&index| self.write_file(worker, index));
                Ok::<_, Infallible>(())
            },
        );
    }

    fn write_file(&self, (walk, buffers): &mut (Walk, Buffers), index: usize) {
        if self.stopped() {
            return;
        }
        let entry = &self.entries[index];
        let written = walk.parent(entry.path()).map_err(Error::from);
        let written = written.and_then(|parent| self.write_into(&parent, index, buffers));
        self.settle(entry, &self.tally.files, written);
    }

    fn write_into(&self, parent: &Dir, index: usize, buffers: &mut Buffers) -> Result<Decision> {
        let entry = &self.entries[index];
        let located = self.data(index);
        let name = name_of(entry.path());
        // With `Existing::Error`, the final rename fails if the file exists, so a small file needs no
        // earlier check. Check before writing a large file or blobs, so that no work is wasted.
        let much = matches!(entry.content(), Content::Blobvec(_)) || content::is_large(entry.len());
        let late = self.options.existing == Existing::Error && !much;
        let decision = if late { Decision::Create } else { self.decide(parent, entry)? };
        if decision == Decision::Skip {
            return Ok(decision);
        }
        let permissions = entry.mode().permissions();
        let temporary = parent.make_temporary(permissions & 0o777)?;
        let file = temporary.file()?;
        match located {
            None => self.content.write(file, entry)?,
            Some((source, data)) => {
                self.content.write_located(file, entry, data, source, buffers)?;
            }
        }
        if self.options.preserve_permissions {
            set_permissions(file, permissions)?;
        }
        if let Some(mtime) = entry.mtime().filter(|_| self.options.times) {
            set_mtime(file, mtime)?;
        }
        if self.options.sync {
            file.sync_all()?;
        }
        let decision = self.put_in_place(parent, temporary, name, entry, decision)?;
        if decision != Decision::Skip {
            let size = located.map_or_else(|| entry.content().data_size(), |(_, data)| data.len());
            self.tally.bytes.fetch_add(size, Ordering::Relaxed);
        }
        Ok(decision)
    }

    /// Renames a file or link to its final name.
    fn put_in_place(
        &self,
        parent: &Dir,
        temporary: Temporary,
        name: &str,
        entry: &Entry<'_>,
        decision: Decision,
    ) -> Result<Decision> {
        if decision == Decision::Replace {
            parent.replace(temporary, name)?;
            return Ok(decision);
        }
        match parent.rename_new(temporary, name) {
            Ok(()) => Ok(Decision::Create),
            Err((error, temporary)) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The file did not exist when it was checked, or was not checked at all, so decide
                // now whether to replace it.
                let decision = self.decide(parent, entry)?;
                if decision == Decision::Replace {
                    parent.replace(temporary, name)?;
                }
                Ok(decision)
            }
            Err((error, _)) => Err(error.into()),
        }
    }

    fn make_links(&self, links: &[usize], made: &Made) {
        let mut walk = self.walk();
        for &index in links.iter().filter(|index| made.orphans.binary_search(index).is_err()) {
            if self.stopped() {
                return;
            }
            let entry = &self.entries[index];
            let linked = walk.parent(entry.path()).map_err(Error::from);
            let linked = linked.and_then(|parent| self.make_link(&parent, entry));
            self.settle(entry, &self.tally.links, linked);
        }
    }

    fn make_link(&self, parent: &Dir, entry: &Entry<'_>) -> Result<Decision> {
        let Content::Symlink(target) = entry.content() else { return Ok(Decision::Skip) };
        let decision = self.decide(parent, entry)?;
        if decision == Decision::Skip {
            return Ok(decision);
        }
        let temporary = parent.make_temporary_link(target)?;
        if let Some(mtime) = entry.mtime().filter(|_| self.options.times) {
            temporary.set_link_mtime(parent, mtime)?;
        }
        self.put_in_place(parent, temporary, name_of(entry.path()), entry, decision)
    }

    /// Sets the permissions and times of directories, children before parents.
    fn finish_directories(&self, made: &Made) {
        let mut walk = self.walk();
        for &(index, permissions) in made.finish.iter().rev() {
            let entry = &self.entries[index];
            let finish = |walk: &mut Walk| {
                let dir = walk.parent(entry.path())?.open_dir(name_of(entry.path()))?;
                if let Some(mtime) = entry.mtime().filter(|_| self.options.times) {
                    set_mtime(&dir, mtime)?;
                }
                set_permissions(&dir, permissions)
            };
            if let Err(error) = finish(&mut walk) {
                self.fail(entry, error.into());
            }
        }
    }
}

/// Returns the permissions that a new file with mode 0777 gets under the current umask.
fn granted_to_new(parent: &Dir) -> io::Result<u32> {
    Ok(stat(parent.make_temporary(0o777)?.file()?)?.permissions())
}

/// Returns `true` if a directory could not be created because its name already exists, or `false`
/// if it was created.
fn existing(made: io::Result<()>) -> io::Result<bool> {
    match made {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        Err(error) => Err(error),
    }
}
