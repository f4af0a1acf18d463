//! The arguments of `scibin flux`. Options that also exist in Flux have the same names.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use flux_archive::kvs::JobId;
use flux_archive::{HashType, Profile};

use super::bloscpack::{Replacing, Span};
use super::examples;
use super::size::Size;

#[derive(Debug, Args)]
pub(crate) struct Flux {
    #[command(subcommand)]
    pub(crate) command: FluxCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FluxCommand {
    /// Create an archive of files and directories
    #[cfg(unix)]
    #[command(after_long_help = examples(&[
        "scibin flux create -o archive.json folder",
        "scibin flux create -o archive.json --store blobs -C /data run1 run2",
        "scibin flux create -o archive.json --ignore-failed-read /home/me",
    ]))]
    Create(Create),
    /// List the entries of an archive
    #[command(after_long_help = examples(&[
        "scibin flux list -l archive.json",
        "scibin flux list archive.json '*.h5'",
        "scibin flux list --statedir /var/lib/flux --name input",
    ]))]
    List(List),
    /// Extract files, directories and links from an archive
    #[cfg(unix)]
    #[command(after_long_help = examples(&[
        "scibin flux extract archive.json -C folder",
        "scibin flux extract archive.json etc '*.conf' --exclude '*.bak' -C folder",
    ]))]
    Extract(Extract),
    /// Write the content of files to standard output
    #[command(after_long_help = examples(&[
        "scibin flux cat archive.json etc/hosts",
        "scibin flux cat archive.json log --range 0..100",
    ]))]
    Cat(Cat),
    /// Verify an archive and its blobs; with -C, also compare the archive with the files in a
    /// directory
    #[command(after_long_help = examples(&[
        "scibin flux verify --store blobs archive.json",
        "scibin flux verify archive.json -C folder",
    ]))]
    Verify(Verify),
    /// Compare two archives, or an archive with the files in a directory (-C)
    #[command(after_long_help = examples(&[
        "scibin flux diff old.json new.json",
        "scibin flux diff archive.json -C folder",
    ]))]
    Diff(Diff),
    /// List the deviations of an archive from RFC 37, or fix them
    #[command(mut_arg("profile", |argument| {
        argument.help("Profile that determines which deviations from RFC 37 are accepted [default: strict]")
    }))]
    #[command(after_long_help = examples(&[
        "scibin flux lint archive.json",
        "scibin flux lint --fix archive.json -o fixed.json",
    ]))]
    Lint(Lint),
    /// Rewrite an archive as an array, an object with paths as keys, or consecutive objects
    #[command(after_long_help = examples(&["scibin flux convert archive.json --to dict --pretty"]))]
    Convert(Convert),
    /// Add files and directories to an archive
    #[cfg(unix)]
    #[command(after_long_help = examples(&["scibin flux append archive.json newfile -C folder"]))]
    Append(Append),
    /// Remove entries from an archive
    #[command(after_long_help = examples(&["scibin flux delete archive.json '*.tmp'"]))]
    Delete(Delete),
    /// Write an archive with the content of its blobs, so that the archive needs no store
    #[command(after_long_help = examples(&[
        "scibin flux pack --store blobs archive.json -o all.json",
    ]))]
    Pack(Pack),
    /// Move content from an archive into a store
    #[command(after_long_help = examples(&[
        "scibin flux externalize --store blobs archive.json -o small.json",
    ]))]
    Externalize(Externalize),
    /// Show a summary of the entries, sizes, encodings and blobs of an archive
    #[command(after_long_help = examples(&["scibin flux info archive.json"]))]
    Info(Info),
    /// Remove unreferenced blobs from a store
    #[command(after_long_help = examples(&[
        "scibin flux gc --store blobs --dry-run a.json b.json",
    ]))]
    Gc(Gc),
    /// Find and extract archives and job files in the state directory of a broker
    #[cfg(unix)]
    #[command(after_long_help = examples(&[
        "scibin flux rescue /var/lib/flux",
        "scibin flux rescue /var/lib/flux --job f23XyZ -C found",
    ]))]
    Rescue(Rescue),
    /// Store an archive and its blobs in a running instance of Flux, using the `flux` program
    #[command(after_long_help = examples(&[
        "scibin flux put archive.json --store blobs --name input",
    ]))]
    Put(Put),
}

impl FluxCommand {
    /// Returns `true` if the command cannot print JSON, in which case `--json` is an error.
    pub(super) fn is_without_json(&self) -> bool {
        matches!(self, Self::Cat(_))
    }
}

/// Options for reading an archive from the state of a broker.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct State {
    /// Read the archive from the state directory of a stopped broker, or from a `flux dump` file
    #[arg(long, value_name = "DIR")]
    pub(crate) statedir: Option<PathBuf>,
    /// Name of the archive in the state directory
    #[arg(long, short, value_name = "NAME", default_value = "main", requires = "statedir")]
    pub(crate) name: String,
    /// Read the files of this job instead of an archive
    #[arg(long, value_name = "ID", value_parser = job, conflicts_with = "name", requires = "statedir")]
    pub(crate) job: Option<JobId>,
}

fn job(text: &str) -> Result<JobId, String> {
    JobId::parse(text)
        .ok_or_else(|| format!("expected a job ID such as f23XyZ or 1234, found {text:?}"))
}

/// Options for reading an archive.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Reading {
    /// Profile that determines which deviations from RFC 37 are accepted [default: flux]
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
    /// JSON Pointer to the archive in a larger document [default: the files of a jobspec, or the whole
    /// document]
    #[arg(long, value_name = "POINTER")]
    pub(crate) pointer: Option<String>,
    /// Accept a comma after the last item of an array or object
    #[arg(long)]
    pub(crate) lenient_json: bool,
}

fn profiles() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name))
        .try_map(|name| Profile::from_name(&name).ok_or("unknown profile"))
}

fn hashes() -> impl TypedValueParser<Value = HashType> {
    PossibleValuesParser::new(HashType::ALL.map(HashType::name))
        .try_map(|name| HashType::from_name(&name).ok_or("unknown hash"))
}

/// The stores from which blobs are read.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Stores {
    /// Blob store to search: a directory, a content.sqlite file, or a file written by `flux dump`;
    /// can be given several times, to search the stores in order
    #[arg(long = "store", value_name = "STORE")]
    pub(crate) stores: Vec<PathBuf>,
}

/// Options for dividing content into blobs.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Chunking {
    /// Maximum size of a blob: bytes, or a number with k, K, M, G, T, P or E; 0 for no limit [default: 1M]
    #[arg(long, value_name = "SIZE")]
    pub(crate) chunksize: Option<Size>,
    /// Keep the content of files up to this size in the archive [default: 1K]
    #[arg(long, value_name = "SIZE")]
    pub(crate) small_file_threshold: Option<Size>,
    /// Hash algorithm for blob names [default: sha1]
    #[arg(long, value_name = "HASH", value_parser = hashes())]
    pub(crate) hash: Option<HashType>,
}

/// The files to archive, and the options for archiving them.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Collecting {
    /// Files and directories to archive
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Directory to which the paths are relative
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Store the content of files larger than --small-file-threshold as blobs, in a directory
    /// (created if it does not exist) or in a content.sqlite file that no broker is using
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) chunking: Chunking,
    /// Which zeros to store as holes [default: fs]
    #[arg(long, value_enum, value_name = "WHICH")]
    pub(crate) holes: Option<HolesArgument>,
    /// Omit paths that match this pattern, and everything below them
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Include only paths that match this pattern
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// If some files cannot be read, archive all other files, and exit with status 1. Without this
    /// option, no archive is written if any file cannot be read
    #[arg(long)]
    pub(crate) ignore_failed_read: bool,
    /// Modification time for all files, in seconds since 1970
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(crate) mtime: Option<i64>,
    /// Do not store timestamps
    #[arg(long, conflicts_with = "mtime")]
    pub(crate) no_times: bool,
    /// Print each path on standard error
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HolesArgument {
    /// The holes that the file system reports
    Fs,
    /// Aligned blocks of 4096 zero bytes, which do not depend on the file system
    Zeros,
    /// No holes: zeros are stored as data
    None,
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Output file, or "-" for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub(crate) output: PathBuf,
    /// Add the files to the archive if it exists
    #[arg(long, conflicts_with_all = ["overwrite", "dict"])]
    pub(crate) append: bool,
    /// Replace the archive if it exists
    #[arg(long, alias = "force", short_alias = 'f')]
    pub(crate) overwrite: bool,
    /// Write an object with paths as keys instead of an array
    #[arg(long)]
    pub(crate) dict: bool,
    #[command(flatten)]
    pub(crate) collecting: Collecting,
}

#[derive(Debug, Args)]
pub(crate) struct Append {
    /// The archive, or "-" to read it from standard input and write it to standard output
    pub(crate) archive: PathBuf,
    #[command(flatten)]
    pub(crate) collecting: Collecting,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// An archive, and a selection of its entries.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Selection {
    /// The archive, or "-" for standard input; with --statedir, the first pattern instead
    ///
    /// `extract` reads most archives in pieces. All other commands, and `extract` if it cannot do
    /// so, map an archive of 1 GiB or more into memory: if another program truncates the file in
    /// the meantime, the system kills the command (SIGBUS).
    pub(crate) archive: Option<PathBuf>,
    /// Select only paths that match a pattern, and everything below them; *, ? and [..] also match
    /// "/"
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Omit paths that match this pattern, and everything below them
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    #[command(flatten)]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// An archive.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct One {
    /// The archive, or "-" for standard input; not with --statedir
    ///
    /// An archive of 1 GiB or more is mapped into memory instead of read: if another program
    /// truncates the file in the meantime, the system kills this command (SIGBUS).
    #[arg(required_unless_present = "statedir", conflicts_with = "statedir")]
    pub(crate) archive: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

impl One {
    /// Returns arguments that select the archive in `file`, with default options for everything
    /// else.
    pub(crate) fn of(file: &Path) -> Self {
        Self { archive: Some(file.to_owned()), ..Self::default() }
    }

    /// Returns the path of the archive, or of the broker state that contains the archive.
    pub(crate) fn file(&self) -> &Path {
        let file = self.archive.as_ref().or(self.state.statedir.as_ref());
        file.map_or(Path::new("-"), PathBuf::as_path)
    }
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Print the type, permissions, size and path of each entry
    #[arg(long, short)]
    pub(crate) long: bool,
    /// Print the JSON text of each entry unchanged
    #[arg(long, conflicts_with = "long")]
    pub(crate) raw: bool,
}

#[derive(Debug, Args)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each flag is a separate option of the command line"
)]
pub(crate) struct Extract {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// List the entries without extracting them
    #[arg(long, short = 't')]
    pub(crate) list_only: bool,
    /// Existing directory to extract into
    #[arg(long, short = 'C', value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) stores: Stores,
    /// Replace existing files
    #[arg(long, alias = "force", short_alias = 'f', group = "existing")]
    pub(crate) overwrite: bool,
    /// Keep existing files
    #[arg(long, group = "existing")]
    pub(crate) skip_existing: bool,
    /// Replace existing files only if the archived entry has a later modification time
    #[arg(long, group = "existing")]
    pub(crate) keep_newer: bool,
    /// Do not restore modification times
    #[arg(long)]
    pub(crate) no_mtime: bool,
    /// Restore permissions exactly: ignore the umask, and restore the set-user-ID, set-group-ID and
    /// sticky bits
    #[arg(long)]
    pub(crate) preserve_permissions: bool,
    /// The symbolic links to create
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Links::Keep)]
    pub(crate) links: Links,
    /// Reject files whose blob names do not use this hash
    #[arg(long, value_name = "HASH", value_parser = hashes())]
    pub(crate) require_hash: Option<HashType>,
    /// Maximum total size of all files, including holes: bytes, or a number with k, K, M, G, T, P
    /// or E [default: 64T in total, 16T per file, and 1T not counting holes]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<Size>,
    /// Stop at the first failure
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Write nothing, but report what would be extracted, and conflicts with existing files
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait until each file has been written to disk
    #[arg(long)]
    pub(crate) sync: bool,
    /// Print each path on standard error
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Links {
    /// Create all links
    #[default]
    Keep,
    /// Create only links with a relative target
    RejectAbsolute,
    /// Create only links that cannot lead out of the directory
    RejectEscaping,
}

#[derive(Debug, Args)]
pub(crate) struct Cat {
    /// The archive, or "-" for standard input; with --statedir, the first path instead
    pub(crate) archive: PathBuf,
    /// Paths of files, or patterns; a directory selects the files below it
    #[arg(value_name = "PATH", required_unless_present = "statedir")]
    pub(crate) paths: Vec<String>,
    /// Omit paths that match a pattern, and everything below them, except files given by their full
    /// path
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Write only the byte range A..B of each file, which excludes B; A or B may be omitted
    #[arg(long, value_name = "A..B")]
    pub(crate) range: Option<Span>,
    #[command(flatten)]
    pub(crate) stores: Stores,
    #[command(flatten)]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Options for comparing an archive with files.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Disk {
    /// Compare with the files in this directory
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// Do not compare modification times
    #[arg(long)]
    pub(crate) no_mtime: bool,
    /// Do not compare permissions, which the umask may change during extraction
    #[arg(long)]
    pub(crate) no_permissions: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    #[command(flatten)]
    pub(crate) one: One,
    #[command(flatten)]
    pub(crate) verifying: Verifying,
}

/// Options for verifying an archive.
#[derive(Debug, Default, Args)]
pub(crate) struct Verifying {
    #[command(flatten)]
    pub(crate) stores: Stores,
    #[command(flatten)]
    pub(crate) disk: Disk,
    /// Report blobs whose names do not use this hash
    #[arg(long, value_name = "HASH", value_parser = hashes())]
    pub(crate) require_hash: Option<HashType>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The archive, or "-" for standard input
    pub(crate) archive: PathBuf,
    /// The archive to compare with
    #[arg(required_unless_present = "directory", conflicts_with = "directory")]
    pub(crate) other: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) disk: Disk,
    #[command(flatten)]
    pub(crate) stores: Stores,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) one: One,
    /// Fix deviations that have exactly one correct form, in the archive itself or, with -o, in a
    /// copy
    #[arg(long)]
    pub(crate) fix: bool,
    /// Write the fixed archive to this file, or to standard output for "-"
    #[arg(long, short, value_name = "OUT", requires = "fix")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
}

/// The output of a command that writes an archive.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Output file, or "-" for standard output
    #[arg(long, short, value_name = "OUT", default_value = "-")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) replacing: Replacing,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) one: One,
    #[command(flatten)]
    pub(crate) target: Target,
    /// The form of the output [default: dict if the input is an array, array otherwise]
    #[arg(long, value_enum, value_name = "FORM")]
    pub(crate) to: Option<Form>,
    /// Write each member of every entry on its own line
    #[arg(long)]
    pub(crate) pretty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// An array of entries
    Array,
    /// An object with paths as keys
    Dict,
    /// Consecutive objects, without an array around them
    Objects,
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The archive, or "-" to read it from standard input and write it to standard output
    pub(crate) archive: PathBuf,
    /// Remove entries whose paths match a pattern, and everything below them; *, ? and [..] also
    /// match "/"
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Write nothing, but report what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print each path on standard error
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Pack {
    #[command(flatten)]
    pub(crate) one: One,
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) stores: Stores,
    /// Maximum total size of all files, including holes: bytes, or a number with k, K, M, G, T, P or E
    /// [default: 64T in total, 16T per file, and 1T for all files with blobs]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<Size>,
}

#[derive(Debug, Args)]
pub(crate) struct Externalize {
    #[command(flatten)]
    pub(crate) one: One,
    #[command(flatten)]
    pub(crate) target: Target,
    /// The store: a directory of blobs (created if it does not exist), or a content.sqlite file
    /// that no broker is using
    #[arg(long, value_name = "STORE")]
    pub(crate) store: PathBuf,
    #[command(flatten)]
    pub(crate) chunking: Chunking,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    #[command(flatten)]
    pub(crate) one: One,
}

#[derive(Debug, Args)]
pub(crate) struct Gc {
    /// All archives that use the store; a blob is removed if no archive refers to it
    #[arg(required = true, value_name = "ARCHIVE")]
    pub(crate) archives: Vec<PathBuf>,
    /// The store: a directory of blobs
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// Remove nothing, but report what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the blobref of each removed blob to standard error
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Rescue {
    /// State directory of a stopped broker, or a `flux dump` file
    pub(crate) statedir: PathBuf,
    /// Extract into this directory: each archive into the subdirectory NAME, and each job into the
    /// subdirectory job-ID. Without this option, archives and jobs are listed
    #[arg(long, short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// List or extract only this archive
    #[arg(long, short, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List or extract only the files of this job
    #[arg(long, value_name = "ID", value_parser = job, conflicts_with = "name")]
    pub(crate) job: Option<JobId>,
    #[command(flatten)]
    pub(crate) stores: Stores,
    /// Profile that determines which deviations from RFC 37 are accepted [default: flux]
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Profile>,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// The archive, or "-" for standard input
    pub(crate) archive: PathBuf,
    /// Name of the archive in the instance
    #[arg(long, short, value_name = "NAME", default_value = "main")]
    pub(crate) name: String,
    /// Replace an existing archive with this name
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Path of the `flux` program
    #[arg(long, value_name = "PROGRAM", default_value = "flux")]
    pub(crate) flux: PathBuf,
    #[command(flatten)]
    pub(crate) stores: Stores,
    #[command(flatten)]
    pub(crate) reading: Reading,
}
