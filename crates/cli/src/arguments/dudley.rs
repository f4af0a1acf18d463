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
    /// Report what is wrong with layouts
    Check(Check),
    /// Format layouts, in place
    Fmt(Fmt),
    /// Show dicts, lists, data, parameters and types, with their documentation
    Tree {
        /// The layout, or "-" for standard input
        layout: PathBuf,
    },
    /// Print the address of everything that a layout stores
    Resolve(Resolve),
    /// Print the layout of an array of numpy: of a .npy file or of a datatype
    FromNumpy(FromNumpy),
    /// Print the layout of the plain structs of a C file
    FromC {
        /// The file, or "-" for standard input
        file: PathBuf,
    },
    /// Compare two layouts, and whether files of the first can be read by the second
    Diff(Diff),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The layouts, "-" for standard input
    #[arg(required = true, value_name = "LAYOUT")]
    pub(crate) layouts: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) judging: Judging,
}

#[derive(Debug, Args)]
pub(crate) struct Judging {
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
    /// Change nothing; list the layouts that are not formatted, and exit with status 1 if there are any
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Params {
    /// The value of all stored parameters with a name, or of one by a path such as /grid/N
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param, allow_hyphen_values = true)]
    pub(crate) params: Vec<(String, i64)>,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The layout, or "-" for standard input
    pub(crate) layout: PathBuf,
    /// Read the values of parameters and other sizes from this file. If it ends before the data do, the status
    /// is 1, unless L-past-end is allowed
    #[arg(long, value_name = "FILE", conflicts_with = "params")]
    pub(crate) stream: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) params: Params,
    /// The byte order if neither the layout nor the stream states one [default: that of this machine]
    #[arg(long = "byte-order", alias = "order", value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
    /// Data begin after the signature of a native file; for a stream this is detected
    #[arg(long, conflicts_with = "stream")]
    pub(crate) native: bool,
    /// The alignment of c8 and c4
    #[arg(long, value_enum, value_name = "ALIGN", default_value_t = ComplexAlign::Size)]
    pub(crate) complex_align: ComplexAlign,
    /// List the members of structs too
    #[arg(long)]
    pub(crate) members: bool,
    /// List at most so many members: types within types may have far too many
    #[arg(long, value_name = "N", default_value_t = 250_000, requires = "members")]
    pub(crate) max_members: u64,
    #[command(flatten)]
    pub(crate) judging: Judging,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The first layout
    pub(crate) before: PathBuf,
    /// The second layout
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) params: Params,
    /// Print at most so many differences
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) max_changes: usize,
}

#[derive(Debug, Args)]
pub(crate) struct FromNumpy {
    /// A .npy file, or a datatype as numpy writes it, such as "[('id', '<i4'), ('pos', '<f8', (3,))]"
    #[arg(value_name = "FILE|DTYPE")]
    pub(crate) source: String,
    /// The name of the array [default: that of the file, or "data"]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The shape of the array, such as 100,3; a .npy file states its own
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) shape: Vec<u64>,
}

/// The byte order of a number.
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
    /// The size of a part, as in C and numpy
    Part,
}

fn param(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.parse().map_err(|error| format!("`{value}`: {error}"))?;
    Ok((name.to_owned(), value))
}
