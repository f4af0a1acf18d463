//! `scibin bloscpack pack`: packs a file, a pipe or an array.

use std::fs::{self, File};
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use binio::{FileSource, ReadAt, Span};
use bloscpack::array::ArrayInfo;
use bloscpack::format::{MetadataOptions, Version, exact_json};
use bloscpack::{ChunkSize, ErrorKind, StreamWriter, WriteOptions, pack_reader, pack_source};
use serde_json::{Value, json};

use super::chunks::ratio;
use super::{NPY_MAGIC, failure, names, plain_source, spool};
use crate::Verdict;
use crate::arguments::bloscpack::{Compression, Pack, Threads};
use crate::failure::{Failure, name};
use crate::output::file::{self as output_file, is_standard};
use crate::output::progress::Progress;
use crate::output::{Output, print_json, size};

/// The result of packing.
pub(crate) struct Packed {
    /// Size of the data in bytes.
    pub(crate) plain: u64,
    /// Length of the packed file in bytes, or 0 if it was written to standard output.
    pub(crate) stored: u64,
}

pub(super) fn run(command: &Pack, output: Output) -> Result<Verdict, Failure> {
    let target = match &command.output {
        Some(target) => target.clone(),
        None if is_standard(&command.input) => command.input.clone(),
        None => names::packed(&command.input),
    };
    let packed = pack(command, &target, output)?;
    report(&command.input, &target, &packed, output)?;
    Ok(Verdict::Fine)
}

/// Reports the sizes and the compression ratio, unless standard output contains the packed file.
pub(crate) fn report(
    input: &Path,
    target: &Path,
    packed: &Packed,
    output: Output,
) -> io::Result<()> {
    let &Packed { plain, stored } = packed;
    let ratio = ratio(plain, stored);
    if is_standard(target) {
        return Ok(());
    }
    if output.json {
        return print_json(&json!({
            "file": input.display().to_string(), "output": target.display().to_string(),
            "nbytes": plain, "size": stored, "ratio": ratio,
        }));
    }
    let (stored, plain) = (size(stored), size(plain));
    output.result(&format_args!("{}: {stored} of {plain}, ratio {ratio:.2}", target.display()))
}

/// Packs to a file, or to standard output for "-".
pub(crate) fn pack(command: &Pack, target: &Path, output: Output) -> Result<Packed, Failure> {
    let _lock = output_file::lock(target, command.replacing.force)?;
    let (input, options) = Input::open(command, options(command)?)?;
    let progress = Progress::new(input.len(), output.quiet);
    let done = AtomicU64::new(0);
    let add = |bytes| {
        done.fetch_add(bytes, Ordering::Relaxed);
        progress.add(bytes);
    };
    let fail = |error: bloscpack::Error| match error.kind() {
        // Only this option can reserve too little space for the metadata.
        ErrorKind::NotEnoughSpace { .. } => Failure::other("--meta-size", error.to_string()),
        _ => failure(&command.input, target, error),
    };
    let replace = command.replacing.force;
    match (input, is_standard(target)) {
        (Input::File(source), false) => {
            let body = |out: &mut _| pack_source(&source, out, &options, Some(&add)).map(drop);
            output_file::write_file(target, replace, body, fail)?;
        }
        (Input::Pipe(mut pipe), false) => {
            output_file::check(target, replace)?;
            pack_reader(&mut pipe, target, &options, Some(&add)).map_err(fail)?;
        }
        (Input::File(source), true) => {
            let body = |out: &mut dyn Write| {
                let mut writer = StreamWriter::with_len(out, &options, source.len())?;
                writer.write_source(&source, Some(&add))?;
                writer.finish().map(drop)
            };
            output_file::write(target, replace, body, fail)?;
        }
        (Input::Pipe(mut pipe), true) => {
            output.remark(
                &"the header is written before the length of the input is known, so the original \
                  program will treat the packed file as empty",
            );
            let body = |out: &mut dyn Write| {
                let mut writer = StreamWriter::new(out, &options)?;
                writer.write_reader(&mut pipe, Some(&add))?;
                writer.finish().map(drop)
            };
            output_file::write(target, replace, body, fail)?;
        }
    }
    let stored = if is_standard(target) { 0 } else { len_of(target)? };
    Ok(Packed { plain: done.into_inner(), stored })
}

fn len_of(path: &Path) -> Result<u64, Failure> {
    fs::metadata(path).map(|metadata| metadata.len()).map_err(|error| Failure::io(path, error))
}

/// The input to pack.
enum Input {
    /// Data of known length.
    File(Span<FileSource>),
    Pipe(Box<dyn Read>),
}

impl Input {
    /// Opens the input. If it is an array, also adapts the options to the array.
    fn open(command: &Pack, options: WriteOptions) -> Result<(Self, WriteOptions), Failure> {
        let path = &command.input;
        if is_standard(path) {
            return Self::of_pipe(io::stdin().lock(), command, options);
        }
        let file = File::open(path).map_err(|error| Failure::io(path, error))?;
        let kind = file.metadata().map_err(|error| Failure::io(path, error))?.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Self::of_pipe(file, command, options);
        }
        let is_npy = path.extension().is_some_and(|extension| extension == "npy");
        Self::of_file(plain_source(path)?, is_npy && !command.raw, command, options)
    }

    /// Opens a pipe. Recognises a `.npy` file by its first bytes, unless `--raw` is given, and
    /// treats anything else as plain bytes.
    fn of_pipe(
        mut pipe: impl Read + 'static,
        command: &Pack,
        options: WriteOptions,
    ) -> Result<(Self, WriteOptions), Failure> {
        let mut head = Vec::new();
        let read = pipe.by_ref().take(NPY_MAGIC.len() as u64).read_to_end(&mut head);
        read.map_err(|error| Failure::io(&command.input, error))?;
        let is_npy = head == NPY_MAGIC && !command.raw;
        let whole = Cursor::new(head).chain(pipe);
        if !is_npy {
            return Ok((Self::Pipe(Box::new(whole)), options));
        }
        Self::of_file(spool(whole, &command.input)?, true, command, options)
    }

    fn of_file(
        source: FileSource,
        is_npy: bool,
        command: &Pack,
        options: WriteOptions,
    ) -> Result<(Self, WriteOptions), Failure> {
        let fail = |error| Failure::bloscpack(&command.input, error);
        let (range, options) = if is_npy {
            let (array, range) = ArrayInfo::from_npy(&source).map_err(fail)?;
            let options = options.array(&array).map_err(fail)?;
            // A typesize from the command line takes precedence over the element size of the array.
            let typesize = command.compression.typesize.map(u32::from);
            (range, typesize.into_iter().fold(options, WriteOptions::typesize))
        } else {
            (0..source.len(), options)
        };
        let source = Span::new(source, range).map_err(|error| fail(error.into()))?;
        Ok((Self::File(source), options))
    }

    /// Returns the number of bytes in the input, or 0 if it is unknown.
    fn len(&self) -> u64 {
        match self {
            Self::File(source) => source.len(),
            Self::Pipe(_) => 0,
        }
    }
}

fn options(command: &Pack) -> Result<WriteOptions, Failure> {
    let version = if command.format == Some(2) { Version::V2 } else { Version::V3 };
    let mut options = writer_options(&command.compression, command.chunk_size, command.threads)
        .version(version)
        .offsets(!command.no_offsets);
    if let Some(checksum) = command.checksum {
        options = options.checksum(checksum);
    }
    if let Some(max_app_chunks) = command.max_app {
        options = options.max_app_chunks(max_app_chunks);
    }
    if let Some(path) = &command.metadata {
        options = options.metadata(&read_json(path)?);
    }
    let room = MetadataOptions::new();
    let room = command.meta_size.map_or(room, |bytes| room.max_size(bytes));
    Ok(options.metadata_options(room))
}

/// Returns options for writing, with the given compression, chunk size and number of threads.
pub(super) fn writer_options(
    compression: &Compression,
    chunk_size: Option<ChunkSize>,
    threads: Threads,
) -> WriteOptions {
    let mut options = WriteOptions::new();
    if let Some(typesize) = compression.typesize {
        options = options.typesize(typesize.into());
    }
    if let Some(level) = compression.clevel {
        options = options.level(level);
    }
    if let Some(shuffle) = compression.shuffle() {
        options = options.shuffle(shuffle);
    }
    if let Some(compressor) = compression.codec {
        options = options.compressor(compressor);
    }
    if let Some(chunk_size) = chunk_size {
        options = options.chunk_size(chunk_size);
    }
    if let Some(threads) = threads.threads {
        options = options.threads(threads.into());
    }
    options
}

/// Reads a JSON value from a file.
pub(super) fn read_json(path: &Path) -> Result<Value, Failure> {
    let text =
        if is_standard(path) { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let text = text.map_err(|error| Failure::io(path, error))?;
    parse_json(&text).map_err(|why| Failure::other(name(path), why))
}

/// Parses a JSON value. The error is a message without a file name.
pub(super) fn parse_json(text: &str) -> Result<Value, String> {
    exact_json(text.as_bytes()).map_err(|error| match error.kind() {
        ErrorKind::Metadata(error) => error.to_string(),
        _ => error.to_string(),
    })
}
