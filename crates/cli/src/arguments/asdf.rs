//! The arguments of `scibin asdf`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{Files, GetRequest};

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
    /// The tree or a part of it: an outline, YAML, or with --json its values
    Tree(TreeRequest),
    /// The binary blocks: offsets, sizes, compression, checksums
    Blocks {
        /// The file, or "-" for standard input
        file: PathBuf,
        #[command(flatten)]
        reading: Reading,
    },
    /// Print or extract one node or array
    Get {
        #[command(flatten)]
        request: GetRequest,
        /// Do not compare blocks with their checksums. Without it every block that is read as a whole is
        /// verified; a part (--slice) of an uncompressed block is not
        #[arg(long)]
        no_verify: bool,
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

#[derive(Debug, Args)]
pub(crate) struct TreeRequest {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// JSON Pointer to the part to show, such as /meta/instrument
    pub(crate) pointer: Option<String>,
    /// Outline: show so many levels
    #[arg(long, value_name = "LEVELS", conflicts_with = "yaml")]
    pub(crate) depth: Option<usize>,
    /// Print YAML, with tags, anchors and aliases
    #[arg(long)]
    pub(crate) yaml: bool,
    /// JSON: wrap tagged nodes as {"$tag": .., "$value": ..}
    #[arg(long)]
    pub(crate) tags: bool,
    /// JSON: how to write an alias
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Aliases::Expand)]
    pub(crate) aliases: Aliases,
    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// How a file is read.
#[derive(Debug, Default, Clone, Args)]
pub(crate) struct Reading {
    /// Search the whole file for blocks, and read what exists of damaged ones
    #[arg(long)]
    pub(crate) salvage: bool,
    /// Which other files arrays and references may lie in
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = External::SameDir)]
    pub(crate) external: External,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum External {
    /// No other files
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
    /// Name where it was written first: {"$alias": "/pointer"}
    Ref,
}
