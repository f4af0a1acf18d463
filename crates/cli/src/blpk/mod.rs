//! The program `blpk`: its arguments, default names, exit statuses and messages, implemented with
//! the commands of `scibin bloscpack`.
//!
//! Unlike the original program, scibin prints messages on standard error, so that standard output
//! contains only results: the output of `info`, and the metadata found by `decompress`.

mod original;
mod python;
mod usage;
mod verbose;

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;

use ::bloscpack::ChunkSize;
use clap::Parser;
use serde_json::Value;

use crate::Verdict;
use crate::arguments::bloscpack::{Append, Compression, Opening, Pack, Replacing, Threads, Unpack};
use crate::arguments::blpk::{Blosc, Blpk, BlpkCommand, Compress};
use crate::failure::Failure;
use crate::formats::bloscpack::{self, Form, Packed, Unpacked, names, ratio};
use crate::output::Output;

use original::{double_pretty, pretty};

pub(crate) use usage::explain;

/// Runs the program with the arguments of the process, which was called as `blpk`.
pub(crate) fn main() -> ExitCode {
    let output = Output { program: "blpk", json: false, quiet: false };
    match Blpk::try_parse() {
        Ok(arguments) => match run(&arguments, output) {
            Ok(verdict) => verdict.into(),
            Err(_) => ExitCode::SUCCESS,
        },
        Err(error) => explain(&error),
    }
}

/// Returns `true` if the first argument of the process is `blpk`.
pub(crate) fn is_called() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == "blpk")
}

/// Runs a command and prints its errors. Every failure has status 1, as in the original program.
/// Returns an error only if standard output has been closed.
pub(crate) fn run(arguments: &Blpk, output: Output) -> Result<Verdict, Failure> {
    let output = Output { program: "blpk", ..output };
    let program = Program { arguments, output };
    match program.run() {
        Ok(()) => Ok(Verdict::Fine),
        Err(Wrong::Usage(message)) => {
            for line in message.lines() {
                output.say(&format_args!("error: {line}"));
            }
            Ok(Verdict::Found)
        }
        Err(Wrong::Failure(failure)) if failure.is_closed_pipe() => Err(failure),
        Err(Wrong::Failure(failure)) => {
            output.say(&format_args!("error: {failure}"));
            Ok(Verdict::Found)
        }
    }
}

/// The reason why a command failed.
enum Wrong {
    /// An error with the message of the original program.
    Usage(String),
    Failure(Failure),
}

impl From<Failure> for Wrong {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Self {
        Self::Failure(error.into())
    }
}

struct Program<'a> {
    arguments: &'a Blpk,
    output: Output,
}

impl Program<'_> {
    fn run(&self) -> Result<(), Wrong> {
        let threads = self.arguments.nthreads.unwrap_or_else(available_threads);
        self.verbose(&format_args!("using {threads} thread{}", if threads > 1 { "s" } else { "" }));
        let threads = Threads { threads: self.arguments.nthreads.and_then(|n| n.try_into().ok()) };
        match &self.arguments.command {
            BlpkCommand::Compress(command) => self.compress(command, threads)?,
            BlpkCommand::Decompress { no_check_extension, in_file, out_file } => {
                self.decompress(in_file, out_file.as_deref(), !no_check_extension, threads)?;
            }
            BlpkCommand::Append {
                blosc,
                no_check_extension,
                metadata,
                original_file,
                new_file,
            } => {
                if !no_check_extension && names::unpacked(original_file).is_none() {
                    return Err(no_extension("original", original_file));
                }
                let command = Append {
                    file: original_file.clone(),
                    inputs: vec![new_file.clone()],
                    compression: compression(blosc)?,
                    metadata: metadata.clone(),
                    threads,
                    ..Append::default()
                };
                self.append(&command)?;
            }
            BlpkCommand::Info { file } => {
                if !file.exists() {
                    return Err(Wrong::Usage(format!("file '{}' does not exist!", file.display())));
                }
                check_header(file)?;
                self.tell_metadata(file)?;
                if self.output.json {
                    bloscpack::info(file, Opening::default(), false, false, self.output)?;
                } else {
                    original::print_info(file)?;
                }
            }
        }
        self.verbose(&"done");
        Ok(())
    }

    /// Prints a line if `--verbose` or `--debug` is given.
    fn verbose(&self, line: &impl fmt::Display) {
        if self.is_verbose() {
            self.output.say(line);
        }
    }

    fn is_verbose(&self) -> bool {
        self.arguments.verbose || self.arguments.debug
    }

    fn verbose_lines(&self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            self.verbose(&line);
        }
    }

    /// Prints the size of the metadata in a packed file if `--verbose` or `--debug` is given.
    fn tell_metadata(&self, path: &Path) -> Result<(), Failure> {
        if self.is_verbose() {
            self.verbose_lines(verbose::metadata(path)?);
        }
        Ok(())
    }

    fn compress(&self, command: &Compress, threads: Threads) -> Result<(), Wrong> {
        self.verbose(&"getting ready for compression");
        let out_file = match &command.out_file {
            Some(out_file) => out_file.clone(),
            None => names::packed(&command.in_file),
        };
        self.check_files(&command.in_file, &out_file)?;
        let chunk_size = command.chunk_size.as_deref().map(chunk_size).transpose()?;
        let pack = Pack {
            input: command.in_file.clone(),
            replacing: self.replacing(),
            compression: compression(&command.blosc)?,
            chunk_size,
            checksum: command.checksum,
            no_offsets: command.no_offsets,
            metadata: command.metadata.clone(),
            raw: true,
            threads,
            ..Pack::default()
        };
        let packed = bloscpack::pack(&pack, &out_file, self.output)?;
        if self.output.json {
            bloscpack::report_packed(&pack.input, &out_file, &packed, self.output)?;
        }
        let Packed { plain, stored } = packed;
        self.verbose(&format_args!("input file size: {}", double_pretty(plain)));
        self.verbose_lines(verbose::chunking(pack.chunk_size.unwrap_or_default(), plain));
        self.verbose(&format_args!("output file size: {}", double_pretty(stored)));
        self.verbose(&format_args!("compression ratio: {:.6}", ratio(plain, stored)));
        Ok(())
    }

    fn decompress(
        &self,
        in_file: &Path,
        out_file: Option<&Path>,
        check: bool,
        threads: Threads,
    ) -> Result<(), Wrong> {
        self.verbose(&"getting ready for decompression");
        let without_extension = names::unpacked(in_file);
        let out_file = match (out_file, without_extension) {
            (_, None) if check => return Err(no_extension("input", in_file)),
            (Some(out_file), _) => out_file.to_owned(),
            (None, Some(out_file)) if check => out_file,
            (None, _) => {
                let message = "--no-check-extension requires use of <out_file>";
                return Err(Wrong::Usage(message.to_owned()));
            }
        };
        self.check_files(in_file, &out_file)?;
        let unpack = Unpack {
            input: in_file.to_owned(),
            replacing: self.replacing(),
            threads,
            ..Unpack::default()
        };
        let unpacked = bloscpack::unpack(&unpack, &out_file, Form::Bytes, self.output)?;
        if self.output.json {
            bloscpack::report_unpacked(in_file, &out_file, &unpacked, self.output)?;
        }
        let Unpacked { plain, stored, metadata, .. } = unpacked;
        self.verbose(&format_args!("input file size: {}", pretty(stored)));
        self.tell_metadata(in_file)?;
        self.verbose(&format_args!("output file size: {}", pretty(plain)));
        self.verbose(&format_args!("decompression ratio: {:.6}", ratio(plain, stored)));
        if let Some(metadata) = metadata.filter(|value| !self.output.json && is_true(value)) {
            let mut out = io::stdout().lock();
            for line in original::metadata(Ok(metadata)) {
                writeln!(out, "blpk: {line}")?;
            }
        }
        Ok(())
    }

    fn append(&self, command: &Append) -> Result<(), Wrong> {
        self.verbose(&"getting ready for append");
        for (what, file) in [("original", &command.file), ("new", &command.inputs[0])] {
            if !file.exists() {
                let message = format!("{what} file '{}' does not exist!", file.display());
                return Err(Wrong::Usage(message));
            }
        }
        self.verbose(&format_args!("original file is: '{}'", command.file.display()));
        self.verbose(&format_args!("new file is: '{}'", command.inputs[0].display()));
        let before = len_of(&command.file)?;
        let new = len_of(&command.inputs[0])?;
        self.verbose(&format_args!("orig file size before append: {}", double_pretty(before)));
        self.verbose(&format_args!("new file size: {}", double_pretty(new)));
        self.tell_metadata(&command.file)?;
        let appended = bloscpack::append(command, self.output)?;
        if self.output.json {
            bloscpack::report_appended(&command.file, &appended, self.output)?;
        }
        if self.is_verbose() {
            self.verbose_lines(verbose::appended(&command.file, appended.new_chunks)?);
        }
        let after = len_of(&command.file)?;
        self.verbose(&format_args!("orig file size after append: {}", double_pretty(after)));
        let ratio = ratio(after.saturating_sub(before), new);
        self.verbose(&format_args!("Approximate compression ratio of appended data: {ratio:.6}"));
        Ok(())
    }

    /// Fails if the input is missing, or if the output exists and must not be replaced. The
    /// messages are those of the original program.
    fn check_files(&self, in_file: &Path, out_file: &Path) -> Result<(), Wrong> {
        let (input, output) = (in_file.display(), out_file.display());
        if !in_file.exists() {
            return Err(Wrong::Usage(format!("input file '{input}' does not exist!")));
        }
        if out_file.exists() {
            if !self.arguments.force {
                return Err(Wrong::Usage(format!("output file '{output}' exists!")));
            }
            self.verbose(&format_args!("overwriting existing file: '{output}'"));
        }
        self.verbose(&format_args!("input file is: '{input}'"));
        self.verbose(&format_args!("output file is: '{output}'"));
        Ok(())
    }

    fn replacing(&self) -> Replacing {
        Replacing { force: self.arguments.force }
    }
}

/// Fails with the message of the original program if a file is not a Bloscpack file.
fn check_header(path: &Path) -> Result<(), Wrong> {
    const LEN: usize = 32;

    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LEN as u64).read_to_end(&mut head));
    read.map_err(|error| Failure::io(path, error))?;
    let reason = if head.len() < LEN {
        format!("attempting to decode a bloscpack header of length '{}', not '{LEN}'", head.len())
    } else if !head.starts_with(b"blpk") {
        let found = python::bytes_repr(&head[..4]);
        format!(
            "the magic marker b'blpk' is missing from the bloscpack header, instead we found: {found}"
        )
    } else {
        return Ok(());
    };
    Err(Wrong::Usage(format!("{reason}\nThis might not be a bloscpack compressed file.")))
}

/// Returns `true` if the value is truthy in Python.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Returns the message for an out-of-range number of threads.
fn threads_message() -> String {
    format!("{} must be 1 <= n <= 256", usage::written("-n", "--nthreads"))
}

/// Parses a chunk size. Errors have the messages of the original program, some of which come from
/// Python.
fn chunk_size(text: &str) -> Result<ChunkSize, Wrong> {
    text.parse().map_err(|error: ::bloscpack::Error| {
        let option = usage::written("-z", "--chunk-size");
        let number = text.strip_suffix(['B', 'K', 'M', 'G', 'T']);
        Wrong::Usage(match (number, text.parse::<i64>()) {
            (Some(number), _) if number.parse::<f64>().is_ok_and(f64::is_nan) => {
                format!("{option} error: cannot convert float NaN to integer")
            }
            (Some(number), _) if number.parse::<f64>().is_err() => {
                format!("{option} error: could not convert string to float: '{number}'")
            }
            (None, Err(_)) if text.parse::<i128>().is_err() => {
                format!("{option} error: invalid literal for int() with base 10: '{text}'")
            }
            (None, Ok(..0)) => format!("{option} must be > 0"),
            (Some(number), _) if number.starts_with('-') => format!("{option} must be > 0"),
            _ => format!("{option} error: {error}"),
        })
    })
}

fn no_extension(what: &str, file: &Path) -> Wrong {
    Wrong::Usage(format!("{what} file '{}' does not end with '.blp'", file.display()))
}

fn len_of(path: &Path) -> Result<u64, Failure> {
    path.metadata().map(|metadata| metadata.len()).map_err(|error| Failure::io(path, error))
}

fn compression(blosc: &Blosc) -> Result<Compression, Wrong> {
    let typesize = match blosc.typesize.map(u8::try_from) {
        None => None,
        Some(Ok(typesize @ 1..)) => Some(typesize),
        Some(_) => return Err(Wrong::Usage("-t must be 1 <= n <= 255".to_owned())),
    };
    Ok(Compression {
        typesize,
        clevel: blosc.clevel,
        no_shuffle: blosc.no_shuffle,
        codec: blosc.codec,
        ..Compression::default()
    })
}
