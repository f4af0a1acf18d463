//! `scibin bloscpack append`: more data after those of a file.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use binio::{FileSource, ReadAt, Span};
use bloscpack::ErrorKind;
use bloscpack::array::{ArrayInfo, Order};
use bloscpack::change::{AppendOptions, Appended, Appender};
use serde_json::json;

use super::pack::read_json;
use super::{is_npy, plain_source};
use crate::Verdict;
use crate::arguments::bloscpack::Append;
use crate::failure::Failure;
use crate::output::file::is_standard;
use crate::output::progress::Progress;
use crate::output::{Output, print_json, size};

pub(super) fn run(command: &Append, output: Output) -> Result<Verdict, Failure> {
    let appended = append(command, output)?;
    report(&command.file, &appended, output)?;
    Ok(Verdict::Fine)
}

/// Says what was done.
pub(crate) fn report(path: &Path, appended: &Appended, output: Output) -> io::Result<()> {
    let Appended { nchunks, new_chunks, len, in_place, .. } = appended;
    let path = path.display();
    if output.json {
        return print_json(&json!({
            "file": path.to_string(), "nchunks": nchunks, "new_chunks": new_chunks,
            "nbytes": len, "in_place": in_place,
        }));
    }
    let len = size(*len);
    output.result(&format_args!("{path}: {len} in {nchunks} chunks, {new_chunks} of them new"))
}

/// Appends all inputs, in their order, at once.
pub(crate) fn append(command: &Append, output: Output) -> Result<Appended, Failure> {
    let path = &command.file;
    let fail = |error| Failure::bloscpack(path, error);
    if command.in_place {
        let is_same = |input: &&PathBuf| !is_standard(input) && is_same_file(path, input);
        if let Some(input) = command.inputs.iter().find(is_same) {
            let message = "a file that is changed in place cannot be appended to itself";
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
    let data = Joined::of(inputs.collect::<Result<_, _>>()?);
    let progress = Progress::new(data.len(), output.quiet);
    let add = |bytes| progress.add(bytes);
    let appended = appender.append(&data, Some(&add)).map_err(|error| match error.kind() {
        // The file is right, and what is to be appended is not.
        ErrorKind::ShapeMismatch(_) => Failure::other(path.display(), error.to_string()),
        _ => fail(error),
    })?;
    if appended.rolled_back {
        output.remark(&format_args!(
            "{}: a change that had been interrupted was undone",
            path.display()
        ));
    }
    Ok(appended)
}

fn is_same_file(path: &Path, other: &Path) -> bool {
    let (path, other) = (path.canonicalize(), other.canonicalize());
    path.is_ok_and(|path| other.is_ok_and(|other| path == other))
}

fn options(command: &Append) -> AppendOptions {
    let mut options =
        if command.in_place { AppendOptions::in_place() } else { AppendOptions::atomic() };
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

/// The bytes of an input; those of the rows, if it is a `.npy` file for an array.
fn open(path: &Path, array: Option<&ArrayInfo>) -> Result<Span<FileSource>, Failure> {
    let fail = |error: binio::Error| Failure::bloscpack(path, error.into());
    let source = plain_source(path)?;
    let is_named = path.extension().is_some_and(|extension| extension == "npy");
    let range = match array {
        Some(array) if is_named || is_standard(path) && is_npy(&source) => {
            rows(path, &source, array)?
        }
        _ => 0..source.len(),
    };
    Span::new(source, range).map_err(fail)
}

/// Where the data of a `.npy` file are, whose rows must be those of the array.
fn rows(path: &Path, source: &FileSource, array: &ArrayInfo) -> Result<Range<u64>, Failure> {
    let (info, data) =
        ArrayInfo::from_npy(source).map_err(|error| Failure::bloscpack(path, error))?;
    let row =
        |info: &ArrayInfo| (info.datatype().clone(), info.shape().get(1..).map(<[u64]>::to_vec));
    // With one axis the orders are the same.
    let is_in_order = info.order() == Order::C || info.shape().len() < 2;
    if row(&info) == row(array) && !info.shape().is_empty() && is_in_order {
        return Ok(data);
    }
    let what = |info: &ArrayInfo| {
        format!("{} {:?} in order {}", info.datatype(), info.shape(), info.order().name())
    };
    let message = format!("{}, expected rows of {}", what(&info), what(array));
    Err(Failure::other(path.display(), message))
}

/// Sources one after the other.
struct Joined {
    /// Each with its place.
    parts: Vec<(u64, Span<FileSource>)>,
    len: u64,
}

impl Joined {
    fn of(sources: Vec<Span<FileSource>>) -> Self {
        let mut len = 0;
        let mut place = |source: Span<FileSource>| {
            let start = len;
            len += source.len();
            (start, source)
        };
        let parts = sources.into_iter().map(&mut place).collect();
        Self { parts, len }
    }
}

impl ReadAt for Joined {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> binio::Result<()> {
        let (mut rest, mut position) = (buf, offset);
        for (start, source) in &self.parts {
            let end = start + source.len();
            if rest.is_empty() || position < *start || position >= end {
                continue;
            }
            let here = usize::try_from(end - position).unwrap_or(usize::MAX).min(rest.len());
            let (part, after) = rest.split_at_mut(here);
            source.read_exact_at(part, position - start)?;
            (rest, position) = (after, position + here as u64);
        }
        if rest.is_empty() {
            return Ok(());
        }
        Err(binio::Error::invalid("the end of what is appended"))
    }
}
