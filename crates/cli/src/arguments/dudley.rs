//! The arguments of `scibin dudley`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct Dudley {
    #[command(subcommand)]
    pub(crate) command: DudleyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DudleyCommand {
    /// Say what is wrong with layouts
    Check(Check),
    /// Format layouts, in place
    Fmt(Fmt),
    /// Dicts, lists, data, parameters and types, with their documentation
    Tree {
        /// The layout, or "-" for standard input
        layout: PathBuf,
    },
    /// The addresses of everything that a layout stores
    Resolve(Resolve),
    /// What moved, grew, was added, and whether old files stay readable
    Diff {
        /// The layout before
        before: PathBuf,
        /// The layout after
        after: PathBuf,
        #[command(flatten)]
        params: Params,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The layouts, "-" for standard input
    #[arg(required = true, value_name = "LAYOUT")]
    pub(crate) layouts: Vec<PathBuf>,
    /// Silence a warning or note, such as L-leading-zeros; "notes" means all notes
    #[arg(long, value_name = "CODE")]
    pub(crate) allow: Vec<String>,
    /// Report a warning or note as an error, such as W002; "notes" means all notes
    #[arg(long, value_name = "CODE")]
    pub(crate) deny: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Fmt {
    /// The layouts; "-" formats standard input to standard output
    #[arg(required = true, value_name = "LAYOUT")]
    pub(crate) layouts: Vec<PathBuf>,
    /// Change nothing, but name the layouts that are not formatted: status 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Params {
    /// The value of stored parameters of a name, or of the one of a path such as /grid/N
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param, allow_hyphen_values = true)]
    pub(crate) params: Vec<(String, i64)>,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The layout, or "-" for standard input
    pub(crate) layout: PathBuf,
    /// Take the values of parameters, and what else only a stream tells, from this file
    #[arg(long, value_name = "FILE", conflicts_with = "params")]
    pub(crate) stream: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) params: Params,
    /// The order of bytes where neither the layout nor the stream says it [default: this machine's]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
    /// Data begin behind the signature of a native file; a stream tells it itself
    #[arg(long, conflicts_with = "stream")]
    pub(crate) native: bool,
    /// The alignment of c8 and c4
    #[arg(long, value_enum, default_value_t = ComplexAlign::Size)]
    pub(crate) complex_align: ComplexAlign,
    /// List the members of structs too
    #[arg(long)]
    pub(crate) members: bool,
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Order {
    /// Little-endian
    #[value(name = "<", alias = "little")]
    Little,
    /// Big-endian
    #[value(name = ">", alias = "big")]
    Big,
}

/// The alignment of complex types other than c16.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ComplexAlign {
    /// Their size
    Size,
    /// That of a part, as C and numpy have it
    Part,
}

fn param(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.parse().map_err(|error| format!("`{value}`: {error}"))?;
    Ok((name.to_owned(), value))
}
