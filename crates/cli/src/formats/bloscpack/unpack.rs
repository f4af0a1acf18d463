//! `scibin bloscpack unpack` and `cat`: write the data of a file, or a part of the data, as bytes
//! or as `.npy`.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use bloscpack::format::MetadataError;
use bloscpack::{ErrorKind, Reader, UnpackOptions};
use bytes::Bytes;
use serde_json::{Value, json};

use super::chunks::ratio;
use super::{damage, names};
use crate::Verdict;
use crate::arguments::bloscpack::{Cat, Span, Threads, Unpack};
use crate::failure::Failure;
use crate::output::file::{self as output_file, OutputFile, is_standard};
use crate::output::progress::Progress;
use crate::output::{Output, print_json, size};

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Bytes,
    Npy,
    /// `.npy` if the packed file contains an array, or else bytes.
    NpyIfArray,
}

/// The result of unpacking.
pub(crate) struct Unpacked {
    /// Size of the written data in bytes.
    pub(crate) plain: u64,
    /// Length of the packed file in bytes.
    pub(crate) stored: u64,
    pub(crate) metadata: Option<Value>,
    diagnostics: Vec<Value>,
}

pub(super) fn run(command: &Unpack, output: Output) -> Result<Verdict, Failure> {
    let target = match &command.output {
        Some(target) => target.clone(),
        None if is_standard(&command.input) => command.input.clone(),
        None => names::unpacked(&command.input).ok_or_else(|| {
            let message = "the name does not end in .blp: set the output with -o";
            Failure::other(command.input.display(), message)
        })?,
    };
    let form = form(command, &target)?;
    let unpacked = unpack(command, &target, form, output)?;
    report(&command.input, &target, &unpacked, output)?;
    Ok(Verdict::Fine)
}

/// Reports the sizes and the compression ratio, unless standard output contains the data.
pub(crate) fn report(
    input: &Path,
    target: &Path,
    unpacked: &Unpacked,
    output: Output,
) -> io::Result<()> {
    let Unpacked { plain, stored, diagnostics, .. } = unpacked;
    let ratio = ratio(*plain, *stored);
    if is_standard(target) {
        return Ok(());
    }
    if output.json {
        return print_json(&json!({
            "file": input.display().to_string(), "output": target.display().to_string(),
            "nbytes": plain, "size": stored, "ratio": ratio, "diagnostics": diagnostics,
        }));
    }
    output.result(&format_args!(
        "{}: {} of {}, ratio {ratio:.2}",
        target.display(),
        size(*plain),
        size(*stored)
    ))
}

/// Returns the form of the output, which is bytes unless `--npy` is given or the name of the output
/// ends in `.npy`. In these two cases, fails if `--range` or `--chunks` is given.
fn form(command: &Unpack, target: &Path) -> Result<Form, Failure> {
    let is_npy = target.extension().is_some_and(|extension| extension == "npy");
    if !command.npy && !is_npy {
        return Ok(Form::Bytes);
    }
    if command.range.is_some() || command.chunks.is_some() {
        let message = "--range and --chunks write bytes, not a .npy file: choose another output name, and omit --npy";
        return Err(Failure::other(output_file::name(target), message));
    }
    // With a default name that ends in .npy, write plain bytes if the packed file contains no
    // array, because a .npy file may have been packed as plain bytes. The same applies if damaged
    // metadata is to be ignored.
    let is_asked = command.npy || command.output.is_some() && !command.ignore_metadata;
    Ok(if is_asked { Form::Npy } else { Form::NpyIfArray })
}

/// Unpacks to a file, or to standard output for "-".
pub(crate) fn unpack(
    command: &Unpack,
    target: &Path,
    form: Form,
    output: Output,
) -> Result<Unpacked, Failure> {
    let path = &command.input;
    let fail = |error| Failure::bloscpack(path, error);
    let options = command.reading.options().ignore_metadata(command.ignore_metadata);
    let replace = command.replacing.force;
    let _lock = output_file::lock(target, replace)?;
    let file = super::open(path, &options)?;
    super::remark_damage(path, &file, output);
    let metadata_out = match &command.metadata_out {
        Some(target) => {
            output_file::check(target, replace)?;
            Some((target, metadata_text(&file, path)?))
        }
        None => None,
    };
    let array = match (form, file.array()) {
        (Form::Bytes, _) => None,
        (Form::NpyIfArray, Err(error))
            if command.ignore_metadata || matches!(error.kind(), ErrorKind::NotNumpy(_)) =>
        {
            None
        }
        (Form::Npy | Form::NpyIfArray, array) => Some(array.map_err(fail)?),
    };
    let plain = match array {
        None => {
            let range = range(command, &file)?;
            let plain = range.end - range.start;
            write_bytes(&file, range, command, target, output)?;
            plain
        }
        Some(array) => {
            let progress = Progress::new(file.len(), output.quiet);
            let add = |bytes| progress.add(bytes);
            let options = decoding(command.threads).progress(&add);
            let body = |out: &mut dyn Write| array.write_npy(out, &options);
            output_file::write(target, replace, body, fail)?;
            file.len()
        }
    };
    if let Some((target, text)) = metadata_out {
        let body = |out: &mut dyn Write| out.write_all(&text).and_then(|()| out.write_all(b"\n"));
        output_file::write(target, replace, body, |error| Failure::io(target, error))?;
    }
    let metadata = file.metadata().ok().flatten().and_then(|metadata| metadata.json().ok());
    let diagnostics = damage(&file).map(|diagnostic| json!(diagnostic)).collect();
    Ok(Unpacked { plain, stored: file.layout().file_len(), metadata, diagnostics })
}

/// Runs `scibin bloscpack cat`.
pub(super) fn cat(command: &Cat, output: Output) -> Result<Verdict, Failure> {
    let path = &command.file;
    let file = super::open(path, &command.reading.options())?;
    super::remark_damage(path, &file, output);
    let range = bytes(command.range, &file);
    let progress = Progress::new(range.end - range.start, output.quiet);
    let add = |bytes| progress.add(bytes);
    let options = decoding(command.threads).progress(&add);
    output_file::write(
        Path::new("-"),
        false,
        |out| file.unpack_range_to(range, out, &options),
        |error| Failure::bloscpack(path, error),
    )?;
    Ok(Verdict::Fine)
}

/// Returns the options for decoding chunks.
pub(super) fn decoding<'a>(threads: Threads) -> UnpackOptions<'a> {
    let options = UnpackOptions::new();
    match threads.threads {
        Some(threads) => options.threads(threads.into()),
        None => options,
    }
}

/// Returns the decompressed text of the metadata, without reformatting it.
fn metadata_text(file: &Reader, path: &Path) -> Result<Bytes, Failure> {
    match file.metadata() {
        Ok(Some(metadata)) => Ok(metadata.text().clone()),
        Ok(None) => Err(ErrorKind::Metadata(MetadataError::Absent).into()),
        Err(error) => Err(error),
    }
    .map_err(|error| Failure::bloscpack(path, error))
}

/// Returns the byte range that `--range` or `--chunks` selects.
fn range(command: &Unpack, file: &Reader) -> Result<Range<u64>, Failure> {
    let Some(Span { start, end }) = command.chunks else {
        return Ok(bytes(command.range, file));
    };
    let chunks = file.chunks();
    let end = end.unwrap_or(chunks.len() as u64);
    // A chunk ends where the next chunk begins, and the last chunk ends at the end of the data.
    let begin = |index: u64| match usize::try_from(index).ok().and_then(|index| chunks.get(index)) {
        Some(chunk) => Ok(chunk.plain_offset()),
        None if index == chunks.len() as u64 => Ok(file.len()),
        None => {
            let message = format!("expected chunks in 0..{}, found {start}..{end}", chunks.len());
            Err(Failure::other("--chunks", message))
        }
    };
    Ok(begin(start)?..begin(end)?)
}

/// Returns the byte range given with `--range`, or the range of all data by default. The range may
/// extend beyond the data, but then reading fails.
fn bytes(span: Option<Span>, file: &Reader) -> Range<u64> {
    match span {
        None => 0..file.len(),
        Some(Span { start, end }) => start..end.unwrap_or(file.len().max(start)),
    }
}

fn write_bytes(
    file: &Reader,
    range: Range<u64>,
    command: &Unpack,
    target: &Path,
    output: Output,
) -> Result<(), Failure> {
    let fail = |error| Failure::bloscpack(&command.input, error);
    let progress = Progress::new(range.end - range.start, output.quiet);
    let add = |bytes| progress.add(bytes);
    let options = decoding(command.threads).progress(&add);
    if is_standard(target) {
        return output_file::write(
            target,
            false,
            |out| file.unpack_range_to(range, out, &options),
            fail,
        );
    }
    let mut out = OutputFile::create(target, command.replacing.force)?;
    file.unpack_range_to_file(range, out.file()?, &options)
        .map_err(|error| super::failure(&command.input, target, error))?;
    out.commit()
}
