//! Makes backups of a directory: `backup save DIRECTORY BACKUP` and `backup restore BACKUP DIRECTORY`.
//!
//! Each `save` adds an archive to the directory BACKUP. The content of larger files is stored as
//! blobs, which all archives share, so unchanged or duplicate files take up space only once. `save`
//! prints the differences from the previous archive, and `restore` extracts the newest one.

#[cfg(not(unix))]
fn main() {
    eprintln!("this example creates and extracts archives, which requires Unix");
}

#[cfg(unix)]
fn main() -> unix::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["save", directory, backup] => unix::save(directory.as_ref(), backup.as_ref()),
        ["restore", backup, directory] => unix::restore(backup.as_ref(), directory.as_ref()),
        _ => Err("usage: backup save DIRECTORY BACKUP | backup restore BACKUP DIRECTORY".into()),
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, File};
    use std::io::BufWriter;
    use std::path::{Path, PathBuf};

    use binio::write::AtomicFile;
    use flux_archive::disk::{Creator, Extractor};
    use flux_archive::inspect::diff;
    use flux_archive::store::{Chunking, DirStore};
    use flux_archive::{Archive, Failure, Form, Profile, Writer};

    pub(super) type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

    pub(super) fn save(directory: &Path, backup: &Path) -> Result<()> {
        let store = DirStore::create(backup.join("blobs"))?;
        let archives = archives(backup)?;
        let new = backup.join(format!("{:06}.json", archives.len()));

        // The archive gets its name only when it is complete and all its blobs are stored.
        let mut writer = Writer::new(BufWriter::new(AtomicFile::create(&new)?), Form::Array);
        let report = Creator::new(directory)?
            .store(&store)
            .chunking(Chunking::new().threshold(4096))
            .leave_out(File::open(backup)?)?
            .write(["."], &mut writer)?;
        writer.finish()?.into_inner()?.commit()?;
        println!("{}: {} entries", new.display(), report.entries);

        if let Some(previous) = archives.last() {
            let (before, now) = (fs::read(previous)?, fs::read(&new)?);
            let before = Archive::parse(&before, Profile::Strict)?;
            for difference in diff(&before, &Archive::parse(&now, Profile::Strict)?) {
                println!("{difference}");
            }
        }
        check(&report.failures)
    }

    pub(super) fn restore(backup: &Path, directory: &Path) -> Result<()> {
        let store = DirStore::open(backup.join("blobs"))?;
        let last = archives(backup)?.pop().ok_or("the backup contains no archive")?;
        let document = fs::read(&last)?;
        let archive = Archive::parse(&document, Profile::Strict)?;
        fs::create_dir_all(directory)?;
        // The extractor verifies each blob, and never writes outside the directory.
        let extractor = Extractor::new(directory)?.store(&store).preserve_permissions(true);
        let report = extractor.run(&archive)?;
        println!("{} files from {}", report.files, last.display());
        check(&report.failures)
    }

    /// Returns the paths of the archives, oldest first.
    fn archives(backup: &Path) -> Result<Vec<PathBuf>> {
        let paths = fs::read_dir(backup)?.map(|entry| entry.map(|entry| entry.path()));
        let mut archives: Vec<_> = paths.collect::<Result<_, _>>()?;
        archives.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        archives.sort();
        Ok(archives)
    }

    /// Prints the failures. Fails if there are any, although all other files have been processed.
    fn check(failures: &[Failure]) -> Result<()> {
        for failure in failures {
            eprintln!("{failure}");
        }
        if failures.is_empty() { Ok(()) } else { Err("some files could not be processed".into()) }
    }
}
