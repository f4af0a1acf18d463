//! `scibin bloscpack append`: appends data to a file.

use std::io;
use std::path::{Path, PathBuf};

use binio::source::Concat;
use binio::{FileSource, ReadAt, Span};
use bloscpack::ErrorKind;
use bloscpack::array::ArrayInfo;
use bloscpack::change::{AppendOptions, Appended, Appender};
use serde_json::json;

use super::pack::read_json;
use super::{is_npy, plain_source};
use crate::Verdict;
use crate::arguments::bloscpack::Append;
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::is_standard;
use crate::output::progress::Progress;
use crate::output::{Output, count, print_json, size};

pub(super) fn run(command: &Append, output: Output) -> Result<Verdict, Failure> {
    let appended = append(command, output)?;
    report(&command.file, &appended, output)?;
    Ok(Verdict::Fine)
}

/// Reports the total size of the data, the number of chunks, and the number of new chunks.
pub(crate) fn report(path: &Path, appended: &Appended, output: Output) -> io::Result<()> {
    let Appended { nchunks, new_chunks, len, in_place, .. } = appended;
    let path = path.display();
    if output.json {
        return print_json(&json!({
            "file": path.to_string(), "nchunks": nchunks, "new_chunks": new_chunks,
            "nbytes": len, "in_place": in_place,
        }));
    }
    let (len, chunks) = (size(*len), count(*nchunks, "chunk"));
    output.result(&format_args!("{path}: {len} in {chunks}, {new_chunks} of them new"))
}

/// Appends all inputs in order, in a single change.
pub(crate) fn append(command: &Append, output: Output) -> Result<Appended, Failure> {
    let path = &command.file;
    let fail = |error| Failure::bloscpack(path, error);
    input::check_changeable(path)?;
    if command.in_place {
        let is_same = |input: &&PathBuf| !is_standard(input) && is_same_file(path, input);
        if let Some(input) = command.inputs.iter().find(is_same) {
            let message = "a file cannot be appended to itself in place: omit --in-place";
            return Err(Failure::other(input.display(), message));
        }
    }
    let metadata = command.metadata.as_deref().map(read_json).transpose()?;
    let mut appender = Appender::open(path, &options(command)).map_err(fail)?;
    if let Some(metadata) = &metadata {
        appender = appender.metadata(metadata);
    }
    let array = if command.axis0 {
        Some(appender.reader().array().map_err(fail)?.info().clone())
    } else {
        None
    };
    let inputs = command.inputs.iter().map(|input| open(input, array.as_ref()));
    let data = Concat::new(inputs.collect::<Result<Vec<_>, _>>()?);
    let progress = Progress::new(data.len(), output.quiet);
    let add = |bytes| progress.add(bytes);
    let appended = appender.append(&data, Some(&add)).map_err(|error| mismatch(path, error))?;
    if appended.rolled_back {
        output.remark(&format_args!("{}: rolled back an interrupted change", path.display()));
    }
    Ok(appended)
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    let (path, other) = (path.canonicalize(), other.canonicalize());
    path.is_ok_and(|path| other.is_ok_and(|other| path == other))
}

fn options(command: &Append) -> AppendOptions {
    let mut options = AppendOptions::new().in_place(command.in_place);
    options = options.grow(command.grow).axis0(command.axis0).scan(command.scan);
    let compression = &command.compression;
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
    if let Some(chunk_size) = command.chunk_size {
        options = options.chunk_size(chunk_size);
    }
    if let Some(threads) = command.threads.threads {
        options = options.threads(threads.into());
    }
    options
}

/// Opens an input and selects the bytes to append: the elements if a `.npy` file is appended to an
/// array, or else the whole input.
fn open(path: &Path, array: Option<&ArrayInfo>) -> Result<Span<FileSource>, Failure> {
    let fail = |error| Failure::bloscpack(path, error);
    let source = plain_source(path)?;
    let is_named = path.extension().is_some_and(|extension| extension == "npy");
    let range = match array {
        Some(array) if is_named || is_standard(path) && is_npy(&source) => {
            let (rows, range) = ArrayInfo::from_npy(&source).map_err(fail)?;
            array.check_rows(&rows).map_err(|error| mismatch(path, error))?;
            range
        }
        _ => 0..source.len(),
    };
    Span::new(source, range).map_err(|error| fail(error.into()))
}

/// Converts an error to a failure with `path` as its subject. If the rows do not match the array,
/// this does not count as bad data, because the files themselves are valid.
fn mismatch(path: &Path, error: bloscpack::Error) -> Failure {
    match error.kind() {
        ErrorKind::ShapeMismatch(_) => Failure::other(name(path), error.to_string()),
        _ => Failure::bloscpack(path, error),
    }
}
