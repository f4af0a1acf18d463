//! Walking all files below a path, one at a time.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::vec;

use crate::diagnostic::Code;
use crate::disk::dir::{Dir, Found};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ArchivePath, FileType};

use super::options::Creator;
use super::report::CreateReport;

/// A file, directory or link to archive.
pub(super) struct Item {
    /// The directory that contains the file.
    pub(super) parent: Dir,
    /// The name of the file in the directory.
    pub(super) name: Vec<u8>,
    pub(super) path: ArchivePath,
    pub(super) file_type: FileType,
    pub(super) found: Found,
}

/// A directory being listed, and the names in it that are still to be visited.
struct Level {
    dir: Dir,
    names: vec::IntoIter<Vec<u8>>,
    /// The directory itself, which is returned after its content, or `None` for the root.
    item: Option<Item>,
}

/// A walk over a file, or over a directory and everything below it.
pub(super) struct Walker<'w> {
    creator: &'w Creator<'w>,
    levels: Vec<Level>,
    /// The item to return next: a file or link, or a directory that cannot be read.
    first: Option<Item>,
}

impl<'w> Walker<'w> {
    pub(super) fn new(creator: &'w Creator<'w>, path: &Path, report: &mut CreateReport) -> Self {
        let mut walker = Self { creator, levels: Vec::new(), first: None };
        if let Err(error) = walker.begin(path, report) {
            report.fail(path.display().to_string(), error);
        }
        walker
    }

    fn begin(&mut self, path: &Path, report: &mut CreateReport) -> Result<()> {
        let mut names = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => names.push(name.as_bytes()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => {
                    report.absolute.push(path.display().to_string());
                }
                Component::ParentDir => {
                    let message = "a path in an archive cannot have a \"..\" component";
                    return Err(rejected(Code::UnsafePath, &path.display().to_string(), message));
                }
            }
        }
        let Some((name, above)) = names.split_last() else {
            return self.enter(self.creator.root.follow(path)?, None);
        };
        let dir = match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Some(parent) => self.creator.root.follow(parent)?,
            None => self.creator.root.clone(),
        };
        let mut prefix = String::new();
        for name in above {
            prefix.push_str(utf8(name)?);
            prefix.push('/');
        }
        if let Some(item) = item(&dir, &prefix, name)? {
            self.take(item, report)?;
        }
        Ok(())
    }

    /// Returns the next file, directory or link. Failures are added to the report.
    pub(super) fn next_item(&mut self, report: &mut CreateReport) -> Option<Item> {
        loop {
            if let Some(item) = self.first.take() {
                if self.wants(&item) {
                    return Some(item);
                }
            }
            let level = self.levels.last_mut()?;
            let Some(name) = level.names.next() else {
                if let Some(item) = self.levels.pop()?.item {
                    if self.wants(&item) {
                        return Some(item);
                    }
                }
                continue;
            };
            let prefix = level.item.as_ref().map(|item| format!("{}/", item.path));
            let prefix = prefix.unwrap_or_default();
            let dir = level.dir.clone();
            let taken = item(&dir, &prefix, &name).and_then(|item| match item {
                Some(item) => self.take(item, report),
                None => Ok(()),
            });
            if let Err(error) = taken {
                report.fail(format!("{prefix}{}", String::from_utf8_lossy(&name)), error);
            }
        }
    }

    fn wants(&self, item: &Item) -> bool {
        self.creator.include.is_none_or(|include| include(item.path.as_str()))
    }

    /// Queues a file to be returned next, or a directory to be listed. Skips files and directories
    /// that are excluded or left out.
    fn take(&mut self, item: Item, report: &mut CreateReport) -> Result<()> {
        if self.creator.left_out.contains(&item.found.id()) {
            report.left_out.push(item.path.to_string());
            return Ok(());
        }
        if self.creator.exclude.is_some_and(|exclude| exclude(item.path.as_str())) {
            return Ok(());
        }
        if item.file_type != FileType::Directory {
            self.first = Some(item);
            return Ok(());
        }
        match item.parent.open_dir(std::ffi::OsStr::from_bytes(&item.name)) {
            Ok(dir) => self.enter(dir, Some(item)),
            Err(error) => {
                // Archive an unreadable directory without its content.
                self.first = Some(item);
                Err(error.into())
            }
        }
    }

    fn enter(&mut self, dir: Dir, item: Option<Item>) -> Result<()> {
        let mut names = dir.names()?;
        names.sort_unstable();
        self.levels.push(Level { dir, names: names.into_iter(), item });
        Ok(())
    }
}

/// Returns an item for the file `name` in the directory `parent`. Fails if its status cannot be
/// read, or if an archive cannot contain the file.
fn item(parent: &Dir, prefix: &str, name: &[u8]) -> Result<Option<Item>> {
    let found = parent.stat(std::ffi::OsStr::from_bytes(name))?;
    let path = format!("{prefix}{}", utf8(name)?);
    let Some(file_type) = found.file_type() else {
        let message = format!("an archive cannot contain {}", found.type_name());
        return Err(rejected(Code::FileType, &path, &message));
    };
    let path = ArchivePath::parse(&path)
        .map_err(|error| rejected(error.code(), &path, &error.to_string()))?;
    Ok(Some(Item { parent: parent.clone(), name: name.to_vec(), path, file_type, found }))
}

fn utf8(name: &[u8]) -> Result<&str> {
    std::str::from_utf8(name).map_err(|_| {
        let shown = name.escape_ascii().to_string();
        rejected(Code::PathType, &shown, "the name is not UTF-8, so JSON cannot contain it")
    })
}

fn rejected(code: Code, path: &str, message: &str) -> Error {
    ErrorKind::NotWritable { code, path: path.to_owned(), message: message.to_owned() }.into()
}
