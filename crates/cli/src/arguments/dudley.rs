//! The arguments of `scibin dudley`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};

use super::{ArrayOutput, GetRequest, examples, split_file};

#[derive(Debug, Args)]
pub(crate) struct Dudley {
    #[command(subcommand)]
    pub(crate) command: DudleyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DudleyCommand {
    /// Check layouts, and report errors, warnings and notes
    #[command(after_long_help = examples(&[
        "scibin dudley check run.dud",
        "scibin dudley check --deny notes --json *.dud",
    ]))]
    Check(Check),
    /// Format layouts in place
    #[command(after_long_help = examples(&[
        "scibin dudley fmt run.dud",
        "scibin dudley fmt --check *.dud",
    ]))]
    Fmt(Fmt),
    /// Show the dicts, lists, data, parameters and types of a layout, with their documentation
    #[command(after_long_help = examples(&["scibin dudley tree run.dud"]))]
    Tree {
        /// The layout, or "-" for standard input
        layout: PathBuf,
    },
    /// Print the address of every item that a layout describes
    #[command(after_long_help = examples(&[
        "scibin dudley resolve run.dud --param N=100",
        "scibin dudley resolve run.dud --stream run.bd --json",
    ]))]
    Resolve(Resolve),
    /// Print or extract one array, struct or parameter from a file
    #[command(after_long_help = examples(&[
        "scibin dudley get run.bd /grid/x",
        "scibin dudley get run.bd /te --layout run.dud --slice 0,:10 -o te.npy",
        "scibin dudley get data.bin /v --layout v.dud --param N=100",
    ]))]
    Get(Get),
    /// Print every item in a file
    #[command(after_long_help = examples(&[
        "scibin dudley dump run.bd",
        "scibin dudley dump run.bd --layout run.dud --json",
    ]))]
    Dump(Dump),
    /// Create a native file from a layout and arrays
    #[command(after_long_help = examples(&[
        "scibin dudley new run.bdud --layout run.dud --param N=100 --set /x=x.npy",
        "scibin dudley new run.bd --layout run.dud --set /v.id=ids.npy --omit-layout",
    ]))]
    New(New),
    /// Replace the numbers of an array in a file
    #[command(after_long_help = examples(&["scibin dudley put run.bdud /x x.npy"]))]
    Put(Put),
    /// Add data to a native file, and declare it in the layout
    #[command(after_long_help = examples(&[
        "scibin dudley append run.bdud --layout more.dud --set '/time[1]=t.npy'",
        "scibin dudley append run.bdud --layout more.dud --set /y=y.npy --in-place",
    ]))]
    Append(Append),
    /// Print the layout that is appended to a native file
    #[command(after_long_help = examples(&["scibin dudley extract-layout run.bd -o run.dud"]))]
    ExtractLayout(ExtractLayout),
    /// Show which item of the layout a byte of a file belongs to
    #[command(after_long_help = examples(&["scibin dudley explain run.bd 0x428 --layout run.dud"]))]
    Explain(Explain),
    /// Create a layout for a .npy, .npz, netCDF-3 or HDF5 file, so that its arrays can be read in
    /// place
    #[command(after_long_help = examples(&[
        "scibin dudley import ocean.nc -o ocean.dud",
        "scibin dudley get ocean.nc /temperature --layout ocean.dud --slice 0",
    ]))]
    Import(Import),
    /// Compile a layout, so that arrays can be found without parsing the text of the layout
    #[command(after_long_help = examples(&[
        "scibin dudley index run.dud",
        "scibin dudley index run.dud -o run.dudx",
    ]))]
    Index(Index),
    /// Print the location of an array in each of several files with the same layout
    #[command(after_long_help = examples(&[
        "scibin dudley locate run.dud /te --summary all.bd",
        "scibin dudley locate run.dud /te run_*.bd --json",
    ]))]
    Locate(Locate),
    /// Print the layout of a .npy file or a numpy datatype
    #[command(after_long_help = examples(&[
        "scibin dudley from-numpy rho.npy > rho.dud",
        "scibin dudley from-numpy '<f8' --name x --shape 100,3",
    ]))]
    FromNumpy(FromNumpy),
    /// Print the layout of the plain structs in a C file
    #[command(after_long_help = examples(&["scibin dudley from-c particles.h > particles.dud"]))]
    FromC {
        /// The file, or "-" for standard input
        file: PathBuf,
    },
    /// Generate code that computes the address and size of every item that a layout describes
    #[command(after_long_help = examples(&[
        "scibin dudley codegen run.dud --lang c -o run.h",
        "scibin dudley codegen run.dud --native --lang python > run.py",
    ]))]
    Codegen(Codegen),
    /// Compare two layouts, and report whether files written with the first can be read with the
    /// second
    #[command(after_long_help = examples(&[
        "scibin dudley diff old.dud new.dud",
        "scibin dudley diff old.dud new.dud --param N=100",
    ]))]
    Diff(Diff),
}

impl DudleyCommand {
    /// Returns `true` if the command cannot print JSON, in which case `--json` is an error.
    pub(super) fn is_without_json(&self) -> bool {
        matches!(
            self,
            Self::FromC { .. }
                | Self::FromNumpy(_)
                | Self::Import(_)
                | Self::Codegen(_)
                | Self::ExtractLayout(_)
        )
    }
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The layouts, or "-" for standard input
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
    /// Report a warning or note, such as W002, as an error; "notes" means all notes
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

#[derive(Debug, Default, Args)]
pub(crate) struct Params {
    /// Set every stored parameter with this name; if NAME is a path such as /grid/N, set only the
    /// parameter at this path
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = param, allow_hyphen_values = true)]
    pub(crate) params: Vec<(String, i64)>,
}

#[derive(Debug, Args)]
pub(crate) struct Resolve {
    /// The layout, or "-" for standard input
    pub(crate) layout: PathBuf,
    /// Read the stored parameters and the lengths of compressed arrays from this file. If the file is
    /// too short for its layout, the exit status is 1, unless `--allow L-past-end` is given
    #[arg(long, value_name = "FILE", conflicts_with = "params")]
    pub(crate) stream: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) params: Params,
    /// The byte order if neither the layout nor the stream specifies one [default: the byte order of
    /// this machine]
    #[arg(long = "byte-order", alias = "order", value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
    /// Assume that the data begins after the signature of a native file. Not needed with --stream,
    /// which detects the signature
    #[arg(long, conflicts_with = "stream")]
    pub(crate) native: bool,
    /// The alignment of the complex types c8 and c4
    #[arg(long, value_enum, value_name = "ALIGN", default_value_t = ComplexAlign::Size)]
    pub(crate) complex_align: ComplexAlign,
    /// Also list the members of structs
    #[arg(long)]
    pub(crate) members: bool,
    /// List at most this many members. Nested types can have a huge number of members
    #[arg(long, value_name = "N", default_value_t = 250_000, requires = "members")]
    pub(crate) max_members: u64,
    #[command(flatten)]
    pub(crate) judging: Judging,
}

/// Options that describe the content of a file.
#[derive(Debug, Default, Args)]
pub(crate) struct Described {
    /// The layout of the file, as text or compiled [default: the layout appended to the file]
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) params: Params,
    /// The byte order if neither the layout nor the file specifies one [default: the byte order of
    /// this machine]
    #[arg(long = "byte-order", alias = "order", value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// The file, or "-" for standard input
    pub(crate) data: PathBuf,
    /// The array: a path such as /grid/x, /list[2], /item.member or /item[2].member, or a JSON Pointer
    pub(crate) path: String,
    #[command(flatten)]
    pub(crate) described: Described,
    #[command(flatten)]
    pub(crate) instance: Instance,
    #[command(flatten)]
    pub(crate) array: ArrayOutput,
}

/// The struct instance to read from.
#[derive(Debug, Args)]
pub(crate) struct Instance {
    /// Read only this instance of a Dudley struct, counted from 0: `/item.member --instance 2`
    /// reads /item[2].member
    #[arg(long = "instance", value_name = "N")]
    number: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Dump {
    /// The file, or "-" for standard input
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) described: Described,
    /// Print all elements of large arrays, not just the first and last ones
    #[arg(long)]
    pub(crate) full: bool,
}

impl Dump {
    /// Returns the arguments for a file with an appended layout.
    pub(crate) fn of(request: &GetRequest) -> Self {
        let (data, full) = (request.file.clone(), request.array.full);
        Self { data, described: Described::default(), full }
    }
}

/// The data to write.
#[derive(Debug, Args)]
pub(crate) struct Given {
    #[command(flatten)]
    pub(crate) params: Params,
    /// The data for an array, struct or member, from a .npy file. Items without data are filled
    /// with zeros
    #[arg(long, value_name = "PATH=FILE.npy")]
    #[arg(value_parser = OsStringValueParser::new().try_map(|text| set(&text)))]
    pub(crate) set: Vec<(String, PathBuf)>,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// The file to create, or "-" for standard output
    pub(crate) out: PathBuf,
    /// The layout of the new file
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: PathBuf,
    #[command(flatten)]
    pub(crate) given: Given,
    /// The byte order of the file [default: the order specified in the layout, or else the byte order
    /// of this machine]
    #[arg(long = "byte-order", alias = "order", value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
    /// Do not append the layout to the file
    #[arg(long)]
    pub(crate) omit_layout: bool,
    /// Fail if any array has no data
    #[arg(long)]
    pub(crate) strict: bool,
    /// Replace the file if it exists
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    /// The file
    pub(crate) data: PathBuf,
    /// The array: a path or a JSON Pointer
    pub(crate) path: String,
    /// The .npy file with the new numbers
    #[arg(value_name = "FILE.npy")]
    pub(crate) array: PathBuf,
    #[command(flatten)]
    pub(crate) described: Described,
}

#[derive(Debug, Args)]
pub(crate) struct Append {
    /// The native file, with its layout appended
    pub(crate) data: PathBuf,
    /// File with the declarations to append to the layout; they belong to the scope that is open at
    /// the end of the old layout
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) layout: PathBuf,
    #[command(flatten)]
    pub(crate) given: Given,
    /// Overwrite the old layout with the new data, instead of leaving the old layout as unused
    /// bytes
    #[arg(long)]
    pub(crate) in_place: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExtractLayout {
    /// The native file, or "-" for standard input
    pub(crate) data: PathBuf,
    /// Write the layout to this file
    #[arg(long, short, value_name = "LAYOUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long, short, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The file, or "-" for standard input
    pub(crate) data: PathBuf,
    /// The address of the byte, such as 1064 or 0x428
    #[arg(value_parser = address)]
    pub(crate) address: u64,
    #[command(flatten)]
    pub(crate) described: Described,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// The layout, or "-" for standard input
    pub(crate) layout: PathBuf,
    /// The compiled layout; "get", "dump", "explain" and "put" find it if it has the default name
    /// [default: LAYOUT with the extension .dudx]
    #[arg(long, short, value_name = "OUT.dudx")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long, short)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Locate {
    /// The layout that all files share, or "-" for standard input
    #[arg(value_name = "TEMPLATE.dud")]
    pub(crate) template: PathBuf,
    /// The array: a path or a JSON Pointer
    pub(crate) path: String,
    /// Read the parameters of the data files from these summary files, instead of opening the data
    /// files
    #[arg(long, value_name = "SUMMARY", num_args = 1.., conflicts_with = "data", required_unless_present = "data")]
    pub(crate) summary: Vec<PathBuf>,
    /// The files that contain the array
    pub(crate) data: Vec<PathBuf>,
    /// The byte order if neither the layout nor the file specifies one [default: the byte order of
    /// this machine]
    #[arg(long = "byte-order", alias = "order", value_enum, value_name = "ORDER")]
    pub(crate) order: Option<Order>,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The first layout
    pub(crate) before: PathBuf,
    /// The second layout
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) params: Params,
    /// Print at most this many differences
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) max_changes: usize,
}

#[derive(Debug, Args)]
pub(crate) struct Codegen {
    /// The layout, or "-" for standard input
    pub(crate) layout: PathBuf,
    /// The language of the code
    #[arg(long, value_enum, value_name = "LANG")]
    pub(crate) lang: Lang,
    /// Generate code for native files, whose data begins after the signature
    #[arg(long)]
    pub(crate) native: bool,
    /// Write the code to this file
    #[arg(long, short, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long, short, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file, or "-" for standard input
    pub(crate) file: PathBuf,
    /// Write the layout to this file
    #[arg(long, short, value_name = "LAYOUT")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the output file if it exists
    #[arg(long, short, requires = "output")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct FromNumpy {
    /// A .npy file, or a datatype as numpy writes it, such as "[('id', '<i4'), ('pos', '<f8', (3,))]"
    #[arg(value_name = "FILE|DTYPE")]
    pub(crate) source: PathBuf,
    /// The name of the array [default: the file name without its extension, or "data" for a
    /// datatype]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The shape of the array, such as 100,3; only with a datatype, because a .npy file specifies
    /// its own shape
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    pub(crate) shape: Vec<u64>,
}

/// The language of generated code.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Lang {
    /// A C header
    C,
    /// A Rust module
    Rust,
    /// A Python module
    Python,
}

/// A byte order.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Order {
    /// Little-endian
    #[value(name = "<", alias = "little")]
    Little,
    /// Big-endian
    #[value(name = ">", alias = "big")]
    Big,
}

/// The alignment of the complex types c8 and c4.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ComplexAlign {
    /// The size of the type itself
    Size,
    /// The size of the real part, as in C and numpy
    Part,
}

impl Get {
    /// Converts the arguments to a [`GetRequest`], which all formats share.
    pub(crate) fn request(&self) -> GetRequest {
        GetRequest {
            file: self.data.clone(),
            pointer: Some(self.instance.path(&self.path)),
            array: self.array.clone(),
        }
    }
}

impl Instance {
    /// Returns `true` if `--instance` is given.
    pub(crate) fn is_given(&self) -> bool {
        self.number.is_some()
    }

    /// Adds the number given with `--instance` to the item in a path: with `--instance 2`, `/a.b`
    /// becomes `/a[2].b`. Without `--instance`, returns the path unchanged.
    pub(crate) fn path(&self, path: &str) -> String {
        let Some(number) = self.number else { return path.to_owned() };
        let mut is_quoted = false;
        let member = path.find(|character| {
            is_quoted ^= character == '"';
            character == '.' && !is_quoted
        });
        let (item, member) = path.split_at(member.unwrap_or(path.len()));
        format!("{item}[{number}]{member}")
    }
}

fn address(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| error.to_string())
}

fn set(text: &OsStr) -> Result<(String, PathBuf), &'static str> {
    let equals = text.as_encoded_bytes().iter().rposition(|&byte| byte == b'=');
    equals.and_then(|equals| split_file(text, equals)).ok_or("expected PATH=FILE.npy")
}

fn param(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.parse().map_err(|error| format!("`{value}`: {error}"))?;
    Ok((name.to_owned(), value))
}
