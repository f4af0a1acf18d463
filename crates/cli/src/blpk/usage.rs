//! Printing help, version and usage errors as the original program does.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The maximum width of a line of the usage, in characters.
const WIDTH: usize = 78;

/// The help that is printed without a command. NCORES is replaced with the number of processors.
const HELP: &str = "\
usage: blpk [-h] [--version] [-v | -d] [-f] [-n [1, 256]]  ...

command line de/compression with blosc

options:
  -h, --help            show this help message and exit
  --version             show program's version number and exit
  -v, --verbose         be verbose about actions
  -d, --debug           print debugging output too

global options:
  -f, --force           disable overwrite checks for existing files
                        (use with caution)
  -n [1, 256], --nthreads [1, 256]
                        set number of threads, (default: NCORES (ncores))

subcommands:
  
    compress            perform compression on file
    c                   alias for 'compress'
    decompress          perform decompression on file
    d                   alias for 'decompress'
    append              append data to a compressed file
    a                   alias for 'append'
    info                print information about a compressed file
    i                   alias for 'info'

Additional help for subcommands is available:
  blpk 'subcommand' [ -h | --help ]
";

const BLOSC_SETTINGS: &str = "
blosc settings:
  -t <size>, --typesize <size>
                        typesize for blosc (default: 8)
  -l [0, 9], --clevel [0, 9]
                        compression level (default: 7)
  -s, --no-shuffle      deactivate shuffle
  -c <codec>, --codec <codec>
                        codec to be used by Blosc: 
                        blosclz, lz4, lz4hc, snappy, zlib, zstd
                         (default: blosclz)
";

const METADATA: &str = "  \
  -m <metadata>, --metadata <metadata>
                        file containing the metadata, must contain valid JSON
";

/// A command: its two names, the options and operands shown in its usage, and the rest of its help.
struct Subcommand {
    names: [&'static str; 2],
    options: &'static [&'static str],
    positions: &'static str,
    help: &'static [&'static str],
}

const SUBCOMMANDS: [Subcommand; 4] = [
    Subcommand {
        names: ["compress", "c"],
        options: &[
            "[-h]",
            "[-t <size>]",
            "[-l [0, 9]]",
            "[-s]",
            "[-c <codec>]",
            "[-z <size>]",
            "[-k <checksum>]",
            "[-o]",
            "[-m <metadata>]",
        ],
        positions: "<in_file> [<out_file>]",
        help: &[
            "
positional arguments:
  <in_file>             file to be compressed
  <out_file>            file to compress to

options:
  -h, --help            show this help message and exit
",
            BLOSC_SETTINGS,
            "
bloscpack settings:
  -z <size>, --chunk-size <size>
                        set desired chunk size or 'max' (default: 1M)
  -k <checksum>, --checksum <checksum>
                        set desired checksum:
                        None, adler32, crc32
                        md5, sha1, sha224
                        sha256, sha384, sha512
                         (default: adler32)
  -o, --no-offsets      deactivate offsets
",
            METADATA,
        ],
    },
    Subcommand {
        names: ["decompress", "d"],
        options: &["[-h]", "[-e]"],
        positions: "<in_file> [<out_file>]",
        help: &["
positional arguments:
  <in_file>             file to be decompressed
  <out_file>            file to decompress to

options:
  -h, --help            show this help message and exit
  -e, --no-check-extension
                        disable checking input file for extension (*.blp)
                        (requires use of <out_file>)
"],
    },
    Subcommand {
        names: ["append", "a"],
        options: &[
            "[-h]",
            "[-t <size>]",
            "[-l [0, 9]]",
            "[-s]",
            "[-c <codec>]",
            "[-e]",
            "[-m <metadata>]",
        ],
        positions: "<original_file> <new_file>",
        help: &[
            "
positional arguments:
  <original_file>       file to append to
  <new_file>            file to append from

options:
  -h, --help            show this help message and exit
  -e, --no-check-extension
                        disable checking original file for extension (*.blp)
",
            METADATA,
            BLOSC_SETTINGS,
        ],
    },
    Subcommand {
        names: ["info", "i"],
        options: &["[-h]"],
        positions: "<file>",
        help: &["
positional arguments:
  <file>      file to show info for

options:
  -h, --help  show this help message and exit
"],
    },
];

impl Subcommand {
    /// Returns the usage, wrapped like Python's `argparse` on a terminal with 80 columns.
    fn usage(&self, name: &str) -> String {
        let begin = format!("usage: blpk {name}");
        let one_line = format!("{begin} {} {}\n", self.options.join(" "), self.positions);
        if one_line.len() <= WIDTH + 1 {
            return one_line;
        }
        let (mut text, mut width) = (begin.clone(), begin.len());
        let next_line = format!("\n{}", " ".repeat(begin.len()));
        for option in self.options {
            if width + 1 + option.len() > WIDTH {
                text.push_str(&next_line);
                width = begin.len();
            }
            text.push(' ');
            text.push_str(option);
            width += 1 + option.len();
        }
        format!("{text}{next_line} {}\n", self.positions)
    }
}

/// Finds the first command in the arguments. Returns its name as typed, and its index in
/// [`SUBCOMMANDS`], or `None` if there is no command.
fn named() -> Option<(&'static str, usize)> {
    let words = || std::env::args_os().skip(1);
    let find = |name: &&'static str| words().position(|word| word == OsStr::new(name));
    let names = SUBCOMMANDS.iter().enumerate().flat_map(|(at, command)| {
        command.names.iter().filter_map(move |name| Some((find(name)?, (*name, at))))
    });
    names.min_by_key(|(place, _)| *place).map(|(_, found)| found)
}

/// Returns the long form of an option if the arguments contain it, even abbreviated, or else the
/// short form.
pub(super) fn written(short: &'static str, long: &'static str) -> &'static str {
    let is_long = |word: std::ffi::OsString| {
        let word = word.to_string_lossy();
        let word = word.split('=').next().unwrap_or_default();
        word.len() > 3 && long.starts_with(word)
    };
    if std::env::args_os().any(is_long) { long } else { short }
}

/// Prints the help, the version, or the error in the arguments, and returns the exit status.
pub(crate) fn explain(error: &clap::Error) -> ExitCode {
    let command = named().map(|(name, at)| (name, &SUBCOMMANDS[at]));
    let (usage, program) = match command {
        Some((name, command)) => (command.usage(name), format!("blpk {name}")),
        None => (first_line(HELP), "blpk".to_owned()),
    };
    match error.kind() {
        ErrorKind::DisplayHelp => {
            let help = match command {
                Some((_, command)) => usage + &command.help.concat(),
                None => HELP.replace("NCORES", &super::available_threads().to_string()),
            };
            print(&help)
        }
        ErrorKind::DisplayVersion => print(&format!(
            // Print the version of the original program whose options scibin supports.
            "bloscpack: '0.16.0' python-blosc: 'scibin {0}' blosc: 'scibin {0}'\n",
            env!("CARGO_PKG_VERSION")
        )),
        kind => {
            if let Some(threads) = threads_out_of_range(error) {
                return fail(&format!("blpk: error: {threads}\n"), 1);
            }
            let message = message(error, kind);
            // If a global option is invalid or an argument is unknown, the original program prints
            // its top-level usage instead of the command's: it checks the global options before it
            // runs the command's parser, and reports unknown arguments only after that parser has
            // finished.
            let is_global =
                matches!(kind, ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict)
                    || message.starts_with("argument -n/--nthreads");
            let (usage, program) =
                if is_global { (first_line(HELP), "blpk") } else { (usage, &*program) };
            fail(&format!("{usage}{program}: error: {message}\n"), 2)
        }
    }
}

fn first_line(text: &str) -> String {
    text.split_inclusive('\n').take(1).collect()
}

fn print(text: &str) -> ExitCode {
    // Ignore an error, because there is no way to report it.
    let _ = io::stdout().lock().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

fn fail(text: &str, status: u8) -> ExitCode {
    let _ = io::stderr().lock().write_all(text.as_bytes());
    status.into()
}

fn context(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    }
}

/// Returns the message for an out-of-range number of threads, or `None` for any other error. This
/// is the only error from parsing the arguments that causes status 1.
fn threads_out_of_range(error: &clap::Error) -> Option<String> {
    let argument = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue);
    let is_number = argument.contains("--nthreads") && value.parse::<i64>().is_ok();
    is_number.then(super::threads_message)
}

/// Returns the error message that Python's `argparse` prints for a usage error.
fn message(error: &clap::Error, kind: ErrorKind) -> String {
    let argument = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue);
    // For example, print `--codec <CODEC>` as `-c/--codec`.
    let option = argument.split([' ', '=']).next().unwrap_or_default();
    let option = match option {
        "--typesize" => "-t/--typesize",
        "--clevel" => "-l/--clevel",
        "--codec" => "-c/--codec",
        "--chunk-size" => "-z/--chunk-size",
        "--checksum" => "-k/--checksum",
        "--metadata" => "-m/--metadata",
        "--nthreads" => "-n/--nthreads",
        other => other,
    };
    let quoted = |texts: &[String]| {
        texts.iter().map(|text| format!("'{text}'")).collect::<Vec<_>>().join(", ")
    };
    match kind {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "too few arguments".to_owned()
        }
        ErrorKind::InvalidSubcommand => {
            let name = context(error, ContextKind::InvalidSubcommand);
            let names: Vec<String> =
                SUBCOMMANDS.iter().flat_map(|command| command.names.map(str::to_owned)).collect();
            format!("argument : invalid choice: '{name}' (choose from {})", quoted(&names))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = argument.to_lowercase();
            format!("the following arguments are required: {missing}")
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("argument {option}: expected one argument")
        }
        ErrorKind::InvalidValue => {
            let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else {
                return format!("argument {option}: invalid choice: '{value}'");
            };
            let choices = quoted(valid);
            format!("argument {option}: invalid choice: '{value}' (choose from {choices})")
        }
        ErrorKind::ValueValidation if option == "-l/--clevel" && value.parse::<i64>().is_ok() => {
            let choices = "0, 1, 2, 3, 4, 5, 6, 7, 8, 9";
            format!("argument {option}: invalid choice: {value} (choose from {choices})")
        }
        ErrorKind::ValueValidation => format!("argument {option}: invalid int value: '{value}'"),
        ErrorKind::ArgumentConflict => {
            "argument -d/--debug: not allowed with argument -v/--verbose".to_owned()
        }
        ErrorKind::UnknownArgument => format!("unrecognized arguments: {argument}"),
        _ => error.kind().to_string(),
    }
}
