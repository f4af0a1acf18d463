//! `scibin flux rescue`: finds and extracts archives and job files in the state of a broker.

use std::fs;
use std::path::Path;

use flux_archive::disk::Extractor;
use flux_archive::kvs::{BrokerState, JobId, KvsError};
use flux_archive::parse::JOBSPEC_FILES;
use flux_archive::store::{BlobStore, Layered};
use flux_archive::{Archive, ArchivePath, OpenOptions, Profile};
use serde_json::{Value, json};

use super::extract;
use super::source::{failure, open_state, open_store};
use crate::Verdict;
use crate::arguments::flux::Rescue;
use crate::failure::Failure;
use crate::output::progress::Progress;
use crate::output::{Output, count, one_line, print_json, size};

/// An archive or a job in the state of a broker.
enum Find {
    Archive(String),
    Job(JobId),
}

impl Find {
    /// Returns the name of the archive or the ID of the job, and the word `archive` or `job`.
    fn name(&self) -> (String, &'static str) {
        match self {
            Self::Archive(name) => (name.clone(), "archive"),
            Self::Job(job) => (job.0.to_string(), "job"),
        }
    }

    fn document(&self, state: &BrokerState) -> Result<Vec<u8>, KvsError> {
        match self {
            Self::Archive(name) => state.archive(name),
            Self::Job(job) => state.jobspec(*job),
        }
    }
}

pub(super) fn rescue(command: &Rescue, output: Output) -> Result<Verdict, Failure> {
    let path = &command.statedir;
    let state = open_state(path)?;
    let named = command.name.is_some() || command.job.is_some();
    let (finds, failures) = match (&command.name, command.job) {
        (Some(name), _) => (vec![Find::Archive(name.clone())], Vec::new()),
        (None, Some(job)) => (vec![Find::Job(job)], Vec::new()),
        (None, None) => find_all(&state),
    };
    let mut store = Layered::new();
    for path in &command.stores.stores {
        store = store.with(open_store(path)?);
    }
    let store = store.with(state.store());
    let rescuer = Rescuer { command, store: &store, output };
    let mut worst = Verdict::Fine;
    if let Some(damage) = state.damage() {
        output.say(&format_args!("{}: {damage}", path.display()));
        worst = Verdict::Found;
    }
    for error in failures {
        let failure = failure(path, error);
        output.say(&failure);
        worst = worst.max(failure.verdict());
    }
    for find in finds {
        // After a failure, continue with the remaining archives and jobs.
        let document = find.document(&state).map_err(|error| failure(path, error));
        let verdict = document.and_then(|document| rescuer.take(&find, &document, named));
        let verdict = verdict.or_else(|failure| {
            if failure.is_closed_pipe() {
                return Err(failure);
            }
            output.say(&failure);
            Ok(failure.verdict())
        })?;
        worst = worst.max(verdict);
    }
    Ok(worst)
}

/// Returns all archives and jobs in the broker's state, and the errors that occurred in the search.
fn find_all(state: &BrokerState) -> (Vec<Find>, Vec<KvsError>) {
    let (archives, error) = match state.archives() {
        Ok(archives) => (archives, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let (jobs, mut failures) = state.jobs();
    failures.extend(error);
    let finds = archives.into_iter().map(Find::Archive).chain(jobs.into_iter().map(Find::Job));
    (finds.collect(), failures)
}

struct Rescuer<'r> {
    command: &'r Rescue,
    store: &'r dyn BlobStore,
    output: Output,
}

impl Rescuer<'_> {
    /// Lists an archive or job, or extracts it if a directory is given.
    fn take(&self, find: &Find, document: &[u8], named: bool) -> Result<Verdict, Failure> {
        let (name, kind) = find.name();
        let subject = format!("{}: {kind} {name}", self.command.statedir.display());
        let fail = |error: flux_archive::Error| Failure::flux(Path::new(&subject), error);
        let mut options = OpenOptions::new().profile(self.command.profile.unwrap_or(Profile::Flux));
        if let Find::Job(_) = find {
            if !named && !has_files(document) {
                return Ok(Verdict::Fine);
            }
            options = options.pointer(JOBSPEC_FILES);
        }
        let archive = options.parse(document).map_err(fail)?;
        super::remark(Path::new(&subject), &archive, self.output);
        match &self.command.directory {
            None => self.list(&name, kind, &archive),
            Some(directory) => self.extract(&name, kind, &subject, directory, &archive),
        }
    }

    fn list(&self, name: &str, kind: &str, archive: &Archive<'_>) -> Result<Verdict, Failure> {
        let mut missing = 0_u64;
        for blobref in archive.blobrefs() {
            missing += u64::from(!self.store.contains(&blobref).unwrap_or(false));
        }
        let entries = archive.entries().len() as u64;
        let bytes =
            archive.entries().iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.len()));
        if self.output.json {
            let value: Value = json!({
                "kind": kind, "name": name, "entries": entries, "bytes": bytes, "missing": missing,
            });
            print_json(&value)?;
        } else {
            let lacks = match missing {
                0 => String::new(),
                missing => format!(", {} missing", count(missing, "blob")),
            };
            let entries = count(entries, "entry");
            let line = format!("{kind} {name}: {entries}, {}{lacks}", size(bytes));
            // The list is the result, so print it even with --quiet.
            let output = Output { quiet: false, ..self.output };
            output.result(&one_line(&line))?;
        }
        Ok(if missing == 0 { Verdict::Fine } else { Verdict::Found })
    }

    fn extract(
        &self,
        name: &str,
        kind: &str,
        subject: &str,
        directory: &Path,
        archive: &Archive<'_>,
    ) -> Result<Verdict, Failure> {
        // Check the name, because it comes from a key, which may contain any text.
        let is_plain = ArchivePath::parse(name).is_ok_and(|path| path.components().count() == 1);
        if !is_plain {
            return Err(Failure::other(subject, "the name cannot be used for a directory"));
        }
        let name = if kind == "job" { format!("job-{name}") } else { name.to_owned() };
        let target = directory.join(name);
        fs::create_dir_all(&target).map_err(|error| Failure::io(&target, error))?;
        let total = extract::data_size(archive.entries());
        let progress = Progress::new(total, self.output.quiet);
        let add = |bytes| progress.add(bytes);
        let extractor = Extractor::new(&target).map_err(|error| Failure::io(&target, error))?;
        let report = extractor.store(self.store).progress(&add).run(archive);
        let report = report.map_err(|error| Failure::flux(Path::new(subject), error))?;
        drop(progress);
        extract::tell(Path::new(subject), &target, &report, false, self.output)
    }
}

/// Returns `true` if a jobspec contains files, which is rare.
fn has_files(jobspec: &[u8]) -> bool {
    flux_archive::parse::value_at(jobspec, JOBSPEC_FILES).is_ok()
}
