//! The arguments of `scibin asdf`.

use std::ffi::OsStr;
use std::path::PathBuf;

use asdf::Compression;
use asdf::tag::Version;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::{Files, GetRequest, examples, split_file};

#[derive(Debug, Args)]
pub(crate) struct Asdf {
    #[command(subcommand)]
    pub(crate) command: AsdfCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AsdfCommand {
    /// Show the layout, the blocks, the software and an outline of the tree
    #[command(mut_arg("files", |argument| argument.help("The ASDF files, or \"-\" for standard input")))]
    #[command(after_long_help = examples(&[
        "scibin asdf info science.asdf",
        "scibin asdf info --salvage damaged.asdf",
        "scibin asdf info science.asdf --describe --schemas schemas/",
    ]))]
    Info {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        describing: Describing,
        #[command(flatten)]
        reading: Reading,
    },
    /// Print the tree or a part of it, as an outline, as YAML or as JSON
    #[command(after_long_help = examples(&[
        "scibin asdf tree science.asdf",
        "scibin asdf tree science.asdf /meta --depth 2",
        "scibin asdf tree science.asdf --json --tags",
    ]))]
    Tree(TreeRequest),
    /// List the binary blocks with their offsets, sizes, compression and checksums
    #[command(after_long_help = examples(&["scibin asdf blocks science.asdf"]))]
    Blocks {
        /// The file, or "-" for standard input
        file: PathBuf,
        #[command(flatten)]
        reading: Reading,
    },
    /// Print or extract one node or array
    #[command(mut_arg("pointer", |argument| {
        argument.help("JSON Pointer into the tree, such as /image/data [default: the whole tree]")
    }))]
    #[command(after_long_help = examples(&[
        "scibin asdf get science.asdf /image/data -o image.npy",
        "scibin asdf get science.asdf /image/data --slice 0,: --as csv",
        "scibin asdf get science.asdf /catalogue -o catalogue.csv",
        "scibin asdf get science.asdf /catalogue/ra",
        "scibin asdf get exploded.asdf /data --external deny",
    ]))]
    Get {
        #[command(flatten)]
        request: GetRequest,
        /// Do not verify checksums. By default, every block that is read is verified. With --slice,
        /// however, a block is verified only if it is compressed and decoded as a whole; with
        /// --salvage, no block is verified
        #[arg(long)]
        no_verify: bool,
        #[command(flatten)]
        reading: Reading,
    },
    /// Check the layout, the tree, the arrays, and the data and checksum of every block
    #[command(mut_arg("files", |argument| argument.help("The ASDF files, or \"-\" for standard input")))]
    #[command(after_long_help = examples(&[
        "scibin asdf verify *.asdf",
        "scibin asdf verify --external any a.asdf",
    ]))]
    Verify {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        reading: Reading,
    },
    /// Create a file from YAML text and arrays
    #[command(after_long_help = examples(&[
        "scibin asdf new out.asdf --tree tree.yaml --array /image=image.npy",
        "scibin asdf new out.asdf --array /x=x.npy --compress zlib:9 --align 4096",
    ]))]
    New(New),
    /// Copy a file, changing the compression, alignment or storage of its arrays
    #[command(after_long_help = examples(&[
        "scibin asdf convert old.asdf -o new.asdf --compress zstd",
        "scibin asdf convert a.asdf -o b.asdf --inline-below 20 --pad-tree 4096",
    ]))]
    Convert(Convert),
    /// Add a value to the tree, or replace an existing value
    #[command(after_long_help = examples(&[
        "scibin asdf set science.asdf /meta/gain 2.5",
        "scibin asdf set science.asdf /meta/filters/- '\"F110W\"'",
        "scibin asdf set science.asdf /meta/site/altitude 2400 --parents",
        "scibin asdf set science.asdf /meta/target '{name: M31}' -o new.asdf",
    ]))]
    Set(Set),
    /// Remove an entry or item from the tree. Without --in-place, also remove its blocks, unless
    /// other arrays use them
    #[command(after_long_help = examples(&[
        "scibin asdf rm science.asdf /meta/draft",
        "scibin asdf rm science.asdf /list/0",
    ]))]
    Rm(Rm),
    /// Rename the key of an entry in the tree
    #[command(after_long_help = examples(&[
        "scibin asdf mv science.asdf /meta/gian gain",
        "scibin asdf mv science.asdf /a/b /a/c",
    ]))]
    Mv(Mv),
    /// Add the array from a .npy file to the tree, or replace an existing array with it
    #[command(after_long_help = examples(&[
        "scibin asdf import science.asdf /image/data image.npy --compress zlib",
        "scibin asdf import science.asdf /meta/matrix m.npy --inline",
    ]))]
    Import(Import),
    /// Open the tree in $VISUAL, $EDITOR or, if neither is set, vi
    #[command(after_long_help = examples(&[
        "scibin asdf edit science.asdf",
        "EDITOR=nano scibin asdf edit science.asdf",
    ]))]
    Edit(Edit),
    /// Print a file as YAML with all arrays inline
    #[command(after_long_help = examples(&[
        "scibin asdf to-yaml small.asdf",
        "scibin asdf to-yaml small.asdf -o small.yaml",
    ]))]
    ToYaml(ToYaml),
    /// Copy a file to OUT.asdf, moving each block to a separate file: OUT0000.asdf and so on
    #[command(mut_arg("output", |argument| argument.help("The file to write")))]
    #[command(after_long_help = examples(&["scibin asdf explode science.asdf -o exploded.asdf"]))]
    Explode(CopyRequest),
    /// Copy a file, and include the external blocks that its arrays use
    #[command(after_long_help = examples(&["scibin asdf implode exploded.asdf -o science.asdf"]))]
    Implode(CopyRequest),
    /// Check the tree against the schemas of its tags
    #[command(after_long_help = examples(&[
        "scibin asdf validate science.asdf --schemas schemas/",
        "scibin asdf validate *.asdf --schemas site-packages/asdf_standard",
    ]))]
    Validate(Validate),
    /// Salvage a valid file from a damaged one, and report what was lost
    #[command(after_long_help = examples(&[
        "scibin asdf repair damaged.asdf -o good.asdf",
        "scibin asdf repair damaged.asdf -o good.asdf --dry-run",
    ]))]
    Repair(RepairRequest),
    /// Find nodes by key, value, type, tag or pointer, and print their pointers and values
    #[command(after_long_help = examples(&[
        "scibin asdf search science.asdf --key time",
        "scibin asdf search science.asdf --type NDArrayType",
        "scibin asdf search science.asdf --key exposure --value '>100'",
        "scibin asdf search science.asdf --tag 'gwcs/*'",
        "scibin asdf search science.asdf --pointer '/meta/**/name' --value '^R'",
    ]))]
    Search(SearchRequest),
    /// Compare the trees and arrays of two files
    #[command(after_long_help = examples(&[
        "scibin asdf diff before.asdf after.asdf",
        "scibin asdf diff before.asdf after.asdf --rtol 1e-6 --ignore /history",
        "scibin asdf diff a.asdf b.asdf --ignore '/**/date' --json",
    ]))]
    Diff(Diff),
    /// Print the history of a file and the software that wrote it, or add an entry
    #[command(after_long_help = examples(&[
        "scibin asdf history science.asdf",
        "scibin asdf history science.asdf --add 'Flat-fielded'",
    ]))]
    History(HistoryRequest),
}

#[derive(Debug, Args)]
pub(crate) struct HistoryRequest {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// Add an entry with this description, the current time, and scibin as the software
    #[arg(long, value_name = "TEXT")]
    pub(crate) add: Option<String>,
    /// With --add, write the changed file to OUT, or to standard output for "-", and leave FILE
    /// unchanged
    #[arg(long, short, value_name = "OUT", requires = "add", conflicts_with = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// With --add, replace OUT if it exists, or change FILE even if it is read-only
    #[arg(long, short, alias = "overwrite", requires = "add")]
    pub(crate) force: bool,
    /// With --add, write nothing, but report what would be written
    #[arg(long, requires = "add")]
    pub(crate) dry_run: bool,
    /// With --add, change the file in place, protected by a journal, instead of replacing it with a
    /// changed copy
    #[arg(long, requires = "add")]
    pub(crate) in_place: bool,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

impl AsdfCommand {
    /// Returns `true` if the command cannot print JSON, in which case `--json` is an error.
    pub(super) fn is_without_json(&self) -> bool {
        matches!(self, Self::ToYaml(_))
    }
}

#[derive(Debug, Args)]
pub(crate) struct SearchRequest {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// Regular expression to search for in the key of the node, or in its index if it is a list
    /// item
    #[arg(long, value_name = "RE")]
    pub(crate) key: Option<String>,
    /// The value as JSON (1 equals 1.0), or a comparison such as '>100' or '<=2.5'. A JSON string,
    /// or text that is not JSON, is a regular expression to search for in scalars
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: Option<String>,
    /// Type of the node: str, int, float, bool, dict, list or numpy.ndarray, as in asdftool;
    /// string, integer, boolean, mapping, sequence, array, null or timestamp; or a complete or
    /// shortened tag, such as wcs or gwcs/*
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) type_name: Option<String>,
    /// Tag of the node, or the last parts of the tag, such as wcs-1.2.0 or gwcs/*; the version may
    /// be omitted
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Pattern for the pointer, such as /meta/**/time_*: "*" matches any characters in a key, "**"
    /// any number of keys
    #[arg(long = "pointer", value_name = "PATTERN")]
    pub(crate) pointers: Option<String>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The first file, or "-" for standard input
    pub(crate) before: PathBuf,
    /// The second file, or "-" for standard input
    pub(crate) after: PathBuf,
    /// Relative tolerance: numbers are equal if they differ by at most X times the absolute value
    /// of the number in the second file, plus the absolute tolerance
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = tolerance)]
    pub(crate) rtol: f64,
    /// Absolute tolerance, which is added to the relative tolerance
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = tolerance)]
    pub(crate) atol: f64,
    /// Ignore nodes that match a pattern, such as /history or /**/date, and their descendants: "*"
    /// matches any characters in a key, "**" any number of keys
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<String>,
    /// Also compare the metadata that a library records about itself: its name, its version, and
    /// its extensions in the history
    #[arg(long)]
    pub(crate) all: bool,
    /// Print at most this many differences
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) max_changes: usize,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| format!("expected a non-negative number, found {text:?}"))
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The file to create, or "-" for standard output
    #[arg(value_name = "OUT")]
    pub(crate) file: PathBuf,
    /// YAML file with the tree, or "-" for standard input; the YAML directives may be omitted
    /// [default: an empty tree]
    #[arg(long, value_name = "TREE.yaml")]
    pub(crate) tree: Option<PathBuf>,
    /// Insert the array from a .npy file at a pointer in the tree, such as /image/data=image.npy
    #[arg(long = "array", value_name = "POINTER=X.npy")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| NamedArray::parse(&text)))]
    pub(crate) arrays: Vec<NamedArray>,
    /// Create missing parents of the array. Without this option, it is an error if TREE.yaml does
    /// not contain them, because the pointer may be mistyped
    #[arg(long, short, requires = "tree")]
    pub(crate) parents: bool,
    /// Compression of the blocks: none, lz4, lz4f, zlib, bzp2, zstd, blsc or blsc-chunked. All but
    /// none, lz4 and lz4f accept a level [default: none]
    #[arg(long, value_name = "CODE[:LEVEL]")]
    pub(crate) compress: Option<Compression>,
    #[command(flatten)]
    pub(crate) align: Align,
    /// Version of the ASDF Standard, which determines the versions of the tags
    #[arg(long, value_name = "VERSION", default_value = "1.6.0")]
    pub(crate) standard: Version,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

/// The argument POINTER=FILE, which inserts the array from a `.npy` file into the tree.
#[derive(Debug, Clone)]
pub(crate) struct NamedArray {
    pub(crate) pointer: String,
    pub(crate) file: PathBuf,
}

impl NamedArray {
    fn parse(text: &OsStr) -> Result<Self, &'static str> {
        let equals = text.as_encoded_bytes().iter().position(|&byte| byte == b'=');
        match equals.and_then(|equals| split_file(text, equals)) {
            Some((pointer, file)) if pointer.starts_with('/') && !file.as_os_str().is_empty() => {
                Ok(Self { pointer, file })
            }
            _ => Err("expected a JSON Pointer and a file, such as /image/data=image.npy"),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// The file to change or, with -o, "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer to the value. If the last part is "-", the value is appended to a list, which
    /// is created if it does not exist
    pub(crate) pointer: String,
    /// The value as YAML, such as 2.5, [1, 2] or '"yes"'
    #[arg(value_name = "YAML", allow_hyphen_values = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) parents: Parents,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

#[derive(Debug, Args)]
pub(crate) struct Rm {
    /// The file to change or, with -o, "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer to the entry or item to remove
    pub(crate) pointer: String,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

#[derive(Debug, Args)]
pub(crate) struct Mv {
    /// The file to change or, with -o, "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer to the entry to rename
    pub(crate) pointer: String,
    /// The new key, or a JSON Pointer to it in the same mapping, such as /meta/gain
    #[arg(value_name = "NEWKEY", allow_hyphen_values = true)]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file to change or, with -o, "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer to the array. If the last part is "-", the array is appended to a list, which
    /// is created if it does not exist
    pub(crate) pointer: String,
    /// The .npy file that contains the array
    #[arg(value_name = "X.npy")]
    pub(crate) array: PathBuf,
    /// Compression of the block: none, lz4, lz4f, zlib, bzp2, zstd, blsc or blsc-chunked. All but
    /// none, lz4 and lz4f accept a level [default: none]
    #[arg(long, value_name = "CODE[:LEVEL]", conflicts_with = "inline")]
    pub(crate) compress: Option<Compression>,
    /// Store the elements inline in the tree
    #[arg(long)]
    pub(crate) inline: bool,
    #[command(flatten)]
    pub(crate) parents: Parents,
    #[command(flatten)]
    pub(crate) changing: Changing,
}

#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// The file
    pub(crate) file: PathBuf,
    /// Change the file even if it is read-only
    #[arg(long, short)]
    pub(crate) force: bool,
    /// Leave the file unchanged, but report what would be written and the path of the edited text
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change the file in place, protected by a journal, instead of replacing it with a changed
    /// copy
    #[arg(long)]
    pub(crate) in_place: bool,
}

/// Whether to create missing parents of a new node.
#[derive(Debug, Args)]
pub(crate) struct Parents {
    /// Create missing parents of the new node. Without this option, missing parents are an error,
    /// because the pointer may be mistyped
    #[arg(long, short)]
    pub(crate) parents: bool,
}

/// Options for changing a file.
#[derive(Debug, Args)]
pub(crate) struct Changing {
    /// Write the changed file to OUT, or to standard output for "-", and leave FILE unchanged
    #[arg(long, short, value_name = "OUT", conflicts_with = "in_place")]
    pub(crate) output: Option<PathBuf>,
    /// Replace OUT if it exists, or change FILE even if it is read-only
    #[arg(long, short, alias = "overwrite")]
    pub(crate) force: bool,
    /// Write nothing, but report what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change the file in place, protected by a journal, instead of replacing it with a changed
    /// copy. Useful for files too large to copy
    #[arg(long)]
    pub(crate) in_place: bool,
    /// How to treat references to other files
    #[arg(long, value_enum, value_name = "HOW", default_value_t, requires = "output")]
    pub(crate) externals: Externals,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) copy: CopyRequest,
    /// Compression of the blocks: none, lz4, lz4f, zlib, bzp2, zstd, blsc or blsc-chunked. All but
    /// none, lz4 and lz4f accept a level [default: the current compression of each block]
    #[arg(long, value_name = "CODE[:LEVEL]")]
    pub(crate) compress: Option<Compression>,
    #[command(flatten)]
    pub(crate) align: Align,
    /// Version of the ASDF Standard, which determines the versions of the tags [default: the
    /// version of FILE, or 1.6.0 if that version is unknown or cannot be written]
    #[arg(long, value_name = "VERSION")]
    pub(crate) standard: Option<Version>,
    /// Store arrays with fewer than N elements inline in the tree
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) inline_below: u64,
    /// Write this many spaces after the tree, so that the tree can grow later
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) pad_tree: u64,
}

#[derive(Debug, Args)]
pub(crate) struct CopyRequest {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// The file to write, or "-" for standard output
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) writing: Writing,
    /// Also copy data that does not match its checksum, and write a new checksum; the exit status
    /// is then 1
    #[arg(long)]
    pub(crate) ignore_checksums: bool,
    /// How to treat references to other files
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) externals: Externals,
    #[command(flatten)]
    pub(crate) others: OtherFiles,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    pub(crate) files: Files,
    /// Folder of schemas and manifests, or an installed Python package that contains them; can be
    /// given several times
    #[arg(long, value_name = "DIR", required = true)]
    pub(crate) schemas: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Options for printing the titles and units that schemas contain.
#[derive(Debug, Default, Args)]
pub(crate) struct Describing {
    /// Print the title and unit of each node in the outline, as given by the schemas
    #[arg(long, requires = "schemas")]
    pub(crate) describe: bool,
    /// Folder with the schemas and manifests for --describe; can be given several times
    #[arg(long, value_name = "DIR", requires = "describe")]
    pub(crate) schemas: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RepairRequest {
    /// The damaged file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// The file to write, or "-" for standard output
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// How to treat references to other files
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) externals: Externals,
    #[command(flatten)]
    pub(crate) writing: Writing,
}

#[derive(Debug, Args)]
pub(crate) struct ToYaml {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// Write to this file, or to standard output for "-"
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long, short, alias = "overwrite", requires = "output")]
    pub(crate) force: bool,
    /// Write nothing, but report what would be written
    #[arg(long, requires = "output")]
    pub(crate) dry_run: bool,
    /// Also print data that does not match its checksum; the exit status is then 1
    #[arg(long)]
    pub(crate) ignore_checksums: bool,
    /// How to treat references to other files
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) externals: Externals,
    #[command(flatten)]
    pub(crate) others: OtherFiles,
}

#[derive(Debug, Args)]
pub(crate) struct Align {
    /// Align the data of blocks to multiples of N bytes, where N is a power of two; use 1 for
    /// readers that expect the shortest headers
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) align: u64,
}

/// How to treat references to other files when a file is copied to another folder.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Externals {
    /// Rewrite relative references to other files, so that they are valid in the new folder
    #[default]
    Relocate,
    /// Copy the arrays of other files into the new file, and rewrite the remaining relative
    /// references, so that they are valid in the new folder
    Embed,
    /// Keep references to other files unchanged
    Keep,
}

/// Options for writing an output file.
#[derive(Debug, Args)]
pub(crate) struct Writing {
    /// Replace the output file if it exists
    #[arg(long, short, alias = "overwrite")]
    pub(crate) force: bool,
    /// Write nothing, but report what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TreeRequest {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer to the part to show, such as /meta/instrument
    pub(crate) pointer: Option<String>,
    /// Show only this many levels of the outline; ignored with --json
    #[arg(long, value_name = "LEVELS", conflicts_with = "yaml")]
    pub(crate) depth: Option<usize>,
    /// Print YAML, with tags, anchors and aliases
    #[arg(long)]
    pub(crate) yaml: bool,
    /// With --json, wrap tagged nodes as {"$tag": .., "$value": ..}
    #[arg(long)]
    pub(crate) tags: bool,
    /// With --json, how to write an alias
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Aliases::Expand)]
    pub(crate) aliases: Aliases,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Options for reading a file.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Reading {
    /// Search the whole file for blocks, and read as much as possible of damaged blocks
    #[arg(long)]
    pub(crate) salvage: bool,
    #[command(flatten)]
    pub(crate) others: OtherFiles,
}

/// Options for opening external files.
#[derive(Debug, Clone, Args)]
pub(crate) struct OtherFiles {
    /// The external files that may be opened
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = External::SameDir)]
    pub(crate) external: External,
    /// Open at most N external files
    #[arg(long, value_name = "N", default_value_t = asdf::External::MAX_FILES)]
    pub(crate) max_files: usize,
}

impl Default for OtherFiles {
    fn default() -> Self {
        Self { external: External::default(), max_files: asdf::External::MAX_FILES }
    }
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum External {
    /// Open no external file
    Deny,
    /// Open files in the folder of the ASDF file and in its subfolders
    #[default]
    SameDir,
    /// Open any file on this machine
    Any,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aliases {
    /// Repeat the content of the anchored node
    #[default]
    Expand,
    /// Write a pointer to the first occurrence: {"$alias": "/pointer"}
    Ref,
}
