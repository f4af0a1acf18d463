//! The program `blpk` in ours: its arguments, default names, statuses and words of messages, on the
//! commands of `scibin bloscpack`.
//!
//! Other than there, messages go to standard error, so that standard output has results only: what
//! `info` prints, and the metadata that `decompress` finds.

use std::fmt;
use std::io::{self, Write};
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;

use ::bloscpack::{ChunkSize, Chunking};
use clap::Parser;

use crate::Verdict;
use crate::arguments::bloscpack::{Append, Compression, Opening, Pack, Replacing, Threads, Unpack};
use crate::arguments::blpk::{Blosc, Blpk, BlpkCommand, Compress};
use crate::failure::Failure;
use crate::formats::bloscpack::original::{double_pretty, pretty, print_as_original};
use crate::formats::bloscpack::{self, Form, Packed, Unpacked, names, ratio};
use crate::output::Output;

/// Runs the program on the process's arguments, called by the name `blpk`.
pub(crate) fn main() -> ExitCode {
    let output = Output { program: "blpk", json: false, quiet: false };
    match Blpk::try_parse() {
        Ok(arguments) => match run(&arguments, output) {
            Ok(verdict) => verdict.into(),
            Err(_) => ExitCode::SUCCESS,
        },
        Err(usage) if usage.use_stderr() => {
            let _ = write!(io::stderr().lock(), "blpk: {usage}");
            Verdict::Failed.into()
        }
        Err(help) => help.exit(),
    }
}

/// Runs a command. Whatever goes wrong is status 1, as in the original; an error is only that
/// standard output was closed.
pub(crate) fn run(arguments: &Blpk, output: Output) -> Result<Verdict, Failure> {
    let output = Output { program: "blpk", ..output };
    let program = Program { arguments, output };
    match program.run() {
        Ok(()) => Ok(Verdict::Fine),
        Err(Wrong::Usage(message)) => {
            output.say(&format_args!("error: {message}"));
            Ok(Verdict::Found)
        }
        Err(Wrong::Failure(failure)) if failure.is_closed_pipe() => Err(failure),
        Err(Wrong::Failure(failure)) => {
            output.say(&format_args!("error: {failure}"));
            Ok(Verdict::Found)
        }
    }
}

/// Why a command ended.
enum Wrong {
    /// In the original's words.
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
        if self.arguments.debug {
            self.verbose(&format_args!("command line arguments are: {:?}", self.arguments));
        }
        let threads = self.threads()?;
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
                if self.output.json {
                    bloscpack::info(file, Opening::default(), false, self.output)?;
                } else {
                    print_as_original(file)?;
                }
            }
        }
        self.verbose(&"done");
        Ok(())
    }

    /// Prints a line with `--verbose`, or more.
    fn verbose(&self, line: &impl fmt::Display) {
        if self.arguments.verbose || self.arguments.debug {
            self.output.say(line);
        }
    }

    fn threads(&self) -> Result<Threads, Wrong> {
        let threads = match self.arguments.nthreads {
            None => Threads::default(),
            Some(n) => match u16::try_from(n) {
                Ok(n @ 1..=256) => Threads { threads: Some(n) },
                _ => return Err(Wrong::Usage("-n must be 1 <= n <= 256".to_owned())),
            },
        };
        let available = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let n = threads.threads.map_or_else(available, usize::from);
        self.verbose(&format_args!("using {n} thread{}", if n > 1 { "s" } else { "" }));
        Ok(threads)
    }

    fn compress(&self, command: &Compress, threads: Threads) -> Result<(), Wrong> {
        self.verbose(&"getting ready for compression");
        let out_file = match &command.out_file {
            Some(out_file) => out_file.clone(),
            None => names::packed(&command.in_file),
        };
        self.check_files(&command.in_file, &out_file)?;
        let chunk_size = command.chunk_size.as_deref().map(str::parse::<ChunkSize>).transpose();
        let pack = Pack {
            input: command.in_file.clone(),
            replacing: self.replacing(),
            compression: compression(&command.blosc)?,
            chunk_size: chunk_size.map_err(|error| Wrong::Usage(format!("-z error: {error}")))?,
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
        if let Ok(chunking) = Chunking::of(plain, pack.chunk_size.unwrap_or_default()) {
            let Chunking { nchunks, chunk_size, last_chunk, .. } = chunking;
            self.verbose(&format_args!("nchunks: {nchunks}"));
            self.verbose(&format_args!("chunk_size: {}", double_pretty(chunk_size.into())));
            self.verbose(&format_args!("last_chunk_size: {}", double_pretty(last_chunk.into())));
        }
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
        self.verbose(&format_args!("output file size: {}", pretty(plain)));
        self.verbose(&format_args!("decompression ratio: {:.6}", ratio(plain, stored)));
        if let Some(metadata) = metadata.filter(|_| !self.output.json) {
            writeln!(io::stdout().lock(), "blpk: Metadata:\nblpk: {metadata}")?;
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
        let appended = bloscpack::append(command, self.output)?;
        if self.output.json {
            bloscpack::report_appended(&command.file, &appended, self.output)?;
        }
        self.verbose(&format_args!("nchunks: {}", appended.new_chunks));
        let after = len_of(&command.file)?;
        self.verbose(&format_args!("orig file size after append: {}", double_pretty(after)));
        let ratio = ratio(after.saturating_sub(before), new);
        self.verbose(&format_args!("Approximate compression ratio of appended data: {ratio:.6}"));
        Ok(())
    }

    /// Says in the original's words which file is missing or there already.
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
