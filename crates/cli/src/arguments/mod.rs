//! The command line.

pub(crate) mod asdf;
pub(crate) mod bloscpack;
pub(crate) mod blpk;
pub(crate) mod dudley;
pub(crate) mod flux;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::output::Output;

/// Inspect, verify and extract scientific data containers.
#[derive(Debug, Parser)]
#[command(name = "scibin", version, max_term_width = 100, arg_required_else_help = true)]
#[command(
    after_help = "Exit status: 0 fine, 1 the check found something or the data are bad, 2 it \
                        could not be done."
)]
pub struct Arguments {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// No progress bar and no remarks, only results and errors
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    pub(crate) fn output(&self) -> Output {
        Output { program: "scibin", json: self.json, quiet: self.quiet }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what is in files, whatever their format
    Info(Files),
    /// Check files: structure, checksums, that everything decodes
    Verify(Files),
    /// Print or extract one node or array
    Get {
        #[command(flatten)]
        request: GetRequest,
        /// Do not compare data with their checksums. Without it every block that is read as a whole is
        /// verified; a part of an uncompressed ASDF block is not
        #[arg(long)]
        no_verify: bool,
    },
    /// Files of the Advanced Scientific Data Format
    Asdf(asdf::Asdf),
    /// Bloscpack files: pack, unpack, append, look into, repair
    Bloscpack(bloscpack::Bloscpack),
    /// Layouts of the Dudley language: check, format, show, resolve, compare
    Dudley(dudley::Dudley),
    /// File archives of Flux (RFC 37): create, extract, look into, edit, mend, rescue
    Flux(flux::Flux),
    /// The options of the program blpk, under which scibin also runs when it is called so
    Blpk(blpk::Blpk),
}

#[derive(Debug, Args)]
pub(crate) struct Files {
    /// The files; the format is told by content
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct GetRequest {
    /// The file
    pub(crate) file: PathBuf,
    /// JSON Pointer into the tree, the metadata or the archive, such as /image/data; "" is the whole of it.
    /// Without it: the tree of an ASDF file, the array of a Bloscpack file, the JSON of an archive
    pub(crate) pointer: Option<String>,
    /// Part of an array, an axis each: start:stop:step or an index, such as 0:10,:,3
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// Write an array as .npy to this file, or to standard output for "-"
    #[arg(long, short, value_name = "OUT.npy")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long, short, requires = "output")]
    pub(crate) force: bool,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
        super::blpk::Blpk::command().debug_assert();
    }
}
