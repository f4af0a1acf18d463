//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::output::Output;

/// Inspect, verify and extract scientific data containers.
#[derive(Debug, Parser)]
#[command(name = "scibin", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit status: 0 fine, 1 the check found something, 2 it could not be done.")]
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
        Output { json: self.json, quiet: self.quiet }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what is in files, whatever their format
    Info(Files),
    /// Check files: structure, checksums, that everything decodes
    Verify(Files),
    /// Print or extract one node or array
    Get(NodeRequest),
    /// Files of the Advanced Scientific Data Format
    Asdf(Asdf),
}

#[derive(Debug, Args)]
pub(crate) struct Files {
    /// The files; the format is told by content
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct NodeRequest {
    /// The file
    pub(crate) file: PathBuf,
    /// JSON Pointer of the node, such as /image/data; "" is the whole tree
    pub(crate) pointer: String,
    /// Part of an array, an axis each: start:stop:step or an index, such as 0:10,:,3
    #[arg(long, allow_hyphen_values = true)]
    pub(crate) slice: Option<String>,
    /// Write an array as .npy to this file, or to standard output for "-"
    #[arg(long, short, value_name = "OUT.npy")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Asdf {
    #[command(subcommand)]
    pub(crate) command: AsdfCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AsdfCommand {
    /// Layout, blocks, software and an outline of the tree
    Info {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        reading: Reading,
    },
    /// The tree: an outline, or with --json its values
    Tree {
        /// The file
        file: PathBuf,
        /// JSON: wrap tagged nodes as {"$tag": .., "$value": ..}
        #[arg(long)]
        tags: bool,
        /// JSON: what becomes of an alias
        #[arg(long, value_enum, default_value_t = Aliases::Expand)]
        aliases: Aliases,
        #[command(flatten)]
        reading: Reading,
    },
    /// The binary blocks: offsets, sizes, compression, checksums
    Blocks {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        reading: Reading,
    },
    /// Print or extract one node or array
    Get {
        #[command(flatten)]
        request: NodeRequest,
        #[command(flatten)]
        reading: Reading,
    },
    /// Check layout, tree, arrays, and every block's data and checksum
    Verify {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        reading: Reading,
    },
}

/// How a file is read.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Reading {
    /// Search the whole file for blocks and give what is there of damaged ones
    #[arg(long)]
    pub(crate) salvage: bool,
    /// Which other files arrays and references may lie in
    #[arg(long, value_enum, default_value_t = External::SameDir)]
    pub(crate) external: External,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum External {
    /// None
    Deny,
    /// Files in the folder of the file itself, and below
    #[default]
    SameDir,
    /// Any file of this machine
    Any,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Aliases {
    /// Repeat the content
    #[default]
    Expand,
    /// Name the place: {"$alias": "/pointer"}
    Ref,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
