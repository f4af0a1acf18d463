//! The command line.

pub(crate) mod asdf;
pub(crate) mod bloscpack;
pub(crate) mod blpk;
pub(crate) mod dudley;
pub(crate) mod flux;
pub(crate) mod picture;
pub(crate) mod size;

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::output::Output;
use crate::probe::Format;

/// Inspect, check, extract, write and repair scientific data containers
#[derive(Debug, Parser)]
#[command(name = "scibin", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_long_help = examples(&[
    "scibin info science.asdf",
    "scibin verify *.asdf *.blp",
    "scibin get science.asdf /image/data --slice 0:10,::2 -o part.npy",
]))]
pub(crate) struct Arguments {
    /// Print JSON. A command that reports on several files prints one value per file, each on its
    /// own line
    #[arg(long, global = true)]
    json: bool,
    /// Print only the requested data, warnings and errors, without status lines, remarks, hints and
    /// progress. `diff` then prints differences only if --json is also given; its exit status shows
    /// whether there are any
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The examples of a command, one per line. `help` adds their heading.
fn examples(commands: &[&str]) -> String {
    commands.join("\n")
}

/// Splits the argument NAME=FILE at the `=` with the given byte offset. Returns `None` if NAME is not
/// UTF-8. On Unix, FILE may have any name.
fn split_file(argument: &OsStr, equals: usize) -> Option<(String, PathBuf)> {
    let (name, file) = argument.as_encoded_bytes().split_at_checked(equals)?;
    let name = std::str::from_utf8(name).ok()?;
    Some((name.to_owned(), path(file.get(1..)?)?))
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "on other systems, not every path is supported")]
fn path(bytes: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;

    Some(OsStr::from_bytes(bytes).into())
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

impl Arguments {
    pub(crate) fn output(&self) -> Output {
        Output { program: "scibin", json: self.json, quiet: self.quiet }
    }
}

impl Command {
    /// Returns `true` if the command cannot print JSON, in which case `--json` is an error.
    pub(crate) fn is_without_json(&self) -> bool {
        match self {
            Self::Asdf(all) => all.command.is_without_json(),
            Self::Bloscpack(all) => all.command.is_without_json(),
            Self::Dudley(all) => all.command.is_without_json(),
            Self::Flux(all) => all.command.is_without_json(),
            Self::Completions { .. } | Self::Man { .. } => true,
            Self::Info { .. } | Self::Verify { .. } | Self::Get { .. } | Self::Blpk(_) => false,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show an overview of files of any supported format
    #[command(after_long_help = examples(&[
        "scibin info science.asdf data.blp",
        "scibin info --json *.asdf",
        "scibin info science.asdf --html report.html",
        "zcat a.asdf.gz | scibin info -",
    ]))]
    Info {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        describing: asdf::Describing,
        #[command(flatten)]
        showing: Showing,
        #[command(flatten)]
        stated: Stated,
    },
    /// Check the structure and checksums of files, and that all data in ASDF and Bloscpack files
    /// can be decoded
    #[command(after_long_help = examples(&[
        "scibin verify *.asdf *.blp",
        "scibin verify --json archive.json",
    ]))]
    Verify {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        stated: Stated,
    },
    /// Print or extract one node or array
    #[command(after_long_help = examples(&[
        "scibin get science.asdf /meta/exposure_time",
        "scibin get science.asdf /image/data --slice 0:10,::2 -o part.npy",
        "scibin get science.asdf /image/data --preview",
        "scibin get science.asdf /image/data --png image.png --scale asinh",
        "scibin get data.npy.blp -o data.csv",
        "scibin get archive.json /0/path",
    ]))]
    Get {
        #[command(flatten)]
        request: GetRequest,
        /// Do not verify checksums. By default, all data that is read is verified. With --slice,
        /// however, an ASDF block is verified only if it is compressed and decoded as a whole
        #[arg(long)]
        no_verify: bool,
        #[command(flatten)]
        instance: dudley::Instance,
        #[command(flatten)]
        stated: Stated,
    },
    /// ASDF (Advanced Scientific Data Format) files: inspect, edit, convert, validate, repair
    #[command(after_long_help = examples(&[
        "scibin asdf tree science.asdf",
        "scibin asdf get science.asdf /image/data -o image.npy",
        "scibin asdf convert science.asdf -o small.asdf --compress zlib",
        "scibin asdf verify *.asdf",
    ]))]
    Asdf(asdf::Asdf),
    /// Bloscpack files: pack, unpack, append, inspect, repair
    #[command(after_long_help = examples(&[
        "scibin bloscpack pack data.npy",
        "scibin bloscpack unpack data.npy.blp",
        "scibin bloscpack verify *.blp",
    ]))]
    Bloscpack(bloscpack::Bloscpack),
    /// Dudley layouts, and the data that they describe
    #[command(after_long_help = examples(&[
        "scibin dudley check run.dud",
        "scibin dudley resolve run.dud --stream run.bd",
    ]))]
    Dudley(dudley::Dudley),
    /// Flux file archives (RFC 37): create, extract, inspect, edit, fix, rescue
    #[command(after_long_help = examples(&[
        "scibin flux create -o archive.json folder",
        "scibin flux list -l archive.json",
        "scibin flux extract archive.json -C folder",
    ]))]
    Flux(flux::Flux),
    /// The options of the blpk program, which scibin also accepts when called by that name
    #[command(after_long_help = examples(&[
        "scibin blpk compress data.bin",
        "scibin blpk decompress data.bin.blp",
    ]))]
    Blpk(blpk::Blpk),
    /// Print the completions for a shell
    #[command(after_long_help = examples(&[
        "scibin completions bash > ~/.local/share/bash-completion/completions/scibin",
        "scibin completions zsh > ~/.zfunc/_scibin",
        "scibin completions fish > ~/.config/fish/completions/scibin.fish",
    ]))]
    Completions {
        /// The shell to print completions for
        shell: Shell,
    },
    /// Write a man page for each command
    #[command(after_long_help = examples(&["scibin man ~/.local/share/man/man1"]))]
    Man {
        /// The folder for the pages; it is created if it does not exist
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Files {
    /// The files, or "-" for standard input. The format is detected from the content or, for a
    /// Dudley layout, from the extension .dud
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Options for showing an overview.
#[derive(Debug, Args)]
pub(crate) struct Showing {
    /// On a terminal, do not draw the largest image
    #[arg(long)]
    pub(crate) no_preview: bool,
    /// Write an HTML report without scripts to this file, or to standard output for "-". The report
    /// shows pictures, the tree, an overview and the result of the verification
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// Replace the report if it exists
    #[arg(long, short, requires = "html")]
    pub(crate) force: bool,
}

/// The option that overrides the detected format.
#[derive(Debug, Args)]
pub(crate) struct Stated {
    /// Read the file in this format, instead of detecting the format; needed for a Dudley layout on
    /// standard input
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
}

#[derive(Debug, Args)]
pub(crate) struct GetRequest {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer into the tree, the metadata or the archive, such as /image/data, or "" for
    /// everything. For a Dudley file, the path of an item [default: the tree of an ASDF file, the
    /// array of a Bloscpack file, all items of a Dudley file, the JSON of an archive]
    pub(crate) pointer: Option<String>,
    #[command(flatten)]
    pub(crate) array: ArrayOutput,
}

/// The part of an array to print or write, and the destination.
#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("target").args(["output", "png"]))]
pub(crate) struct ArrayOutput {
    /// Part of the array: start:stop:step or an index for each axis, such as 0:10,:5 or -1
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// On a terminal, print all elements of a large array, not just the first and last ones
    #[arg(long)]
    pub(crate) full: bool,
    /// Write the array to this file, or to standard output for "-"
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// The form of the array [default: the form that matches the extension of OUT, or else npy;
    /// without OUT, text, or json with --json]
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub(crate) form: Option<Form>,
    /// Replace the output file if it exists
    #[arg(long, short, alias = "overwrite", requires = "target")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) picture: picture::Picture,
}

impl ArrayOutput {
    /// Returns `true` if the request only makes sense for an array or, in an ASDF file, a table. Any
    /// other value can only be printed as text or JSON.
    pub(crate) fn needs_array(&self) -> bool {
        let is_form_of_array = matches!(self.form, Some(Form::Npy | Form::Csv | Form::Raw));
        self.slice.is_some()
            || self.output.is_some()
            || is_form_of_array
            || self.picture.is_wanted()
    }

    /// Returns `true` if a value other than an array is printed as JSON.
    pub(crate) fn is_json(&self, json: bool) -> bool {
        self.form.map_or(json, |form| form == Form::Json)
    }

    /// Returns the form in which the array is written. If no form was requested, this is the form
    /// that matches the extension of the output file, or else the default form.
    pub(crate) fn form(&self, json: bool) -> Form {
        let by_name = || match &self.output {
            None if json => Form::Json,
            None => Form::Text,
            Some(output) => {
                let extension = output.extension().and_then(std::ffi::OsStr::to_str);
                extension.and_then(|name| Form::from_str(name, true).ok()).unwrap_or(Form::Npy)
            }
        };
        self.form.unwrap_or_else(by_name)
    }
}

/// The form in which an array is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// numpy's .npy format
    Npy,
    /// Comma-separated values: a line for each row or, for records, a line of field names and a
    /// line for each record
    Csv,
    /// A JSON object with dtype, shape and values
    Json,
    /// The bytes of the elements as in a .npy file, but without the header
    #[value(alias = "bin")]
    Raw,
    /// Plain text: a line for each row
    #[value(alias = "txt")]
    Text,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_definitions_are_valid() {
        super::Arguments::command().debug_assert();
        super::blpk::Blpk::command().debug_assert();
    }
}
