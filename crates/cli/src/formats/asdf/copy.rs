//! Copying a file and changing how its data is stored: `scibin asdf convert`, `to-yaml`, `explode`,
//! `implode`.

use std::io::{self, BufWriter, Seek as _};
use std::path::Path;

use asdf::diagnostic::Code;
use asdf::{Asdf, Tree, Verify, WriteOptions, Writer};
use binio::write::Discard;

use crate::Verdict;
use crate::arguments::asdf::{Convert, CopyRequest, Externals, OtherFiles, Reading, ToYaml};
use crate::failure::Failure;
use crate::output::file as output_file;
use crate::output::{Output, Sink, size};

pub(crate) fn convert(request: &Convert, output: Output) -> Result<Verdict, Failure> {
    let CopyRequest { file: path, output: target, writing, .. } = &request.copy;
    let _lock = super::lock(target, writing)?;
    let file = open(&request.copy)?;
    let mut options = WriteOptions::new().align(request.align.align).pad_tree(request.pad_tree);
    if let Some(compression) = request.compress {
        options = options.compression(compression);
    }
    let mut writer = writer(&request.copy, &file, request.inline_below, &options)?;
    if let Some(standard) = request.standard {
        writer = writer.options(options.standard(standard));
    }
    let report = super::write(&writer, target, writing, path)?;
    let verdict = remark(path, &file, output);
    super::report(&report, Some(path), target, writing, output)?;
    Ok(verdict)
}

pub(crate) fn implode(request: &CopyRequest, output: Output) -> Result<Verdict, Failure> {
    let CopyRequest { file: path, output: target, writing, .. } = request;
    let _lock = super::lock(target, writing)?;
    let file = open(request)?;
    let writer = writer(request, &file, 0, &WriteOptions::new())?.implode(true);
    let report = super::write(&writer, target, writing, path)?;
    let verdict = remark(path, &file, output);
    super::report(&report, Some(path), target, writing, output)?;
    Ok(verdict)
}

pub(crate) fn explode(request: &CopyRequest, output: Output) -> Result<Verdict, Failure> {
    let CopyRequest { file: path, output: target, writing, .. } = request;
    if output_file::is_standard(target) {
        let message = "cannot contain several files; expected a file name";
        return Err(Failure::other(output_file::name(target), message));
    }
    let _lock = super::lock(target, writing)?;
    let file = open(request)?;
    let writer = writer(request, &file, 0, &WriteOptions::new())?;
    let fail = |error| Failure::asdf(path, error);
    let planned = writer.plan_explode(target).map_err(fail)?;
    for path in std::iter::once(target).chain(&planned.files) {
        output_file::check(path, writing.force)?;
    }
    let report = if writing.dry_run { planned } else { writer.explode(target).map_err(fail)? };
    let verdict = remark(path, &file, output);
    super::report(&report, Some(path), target, writing, output)?;
    Ok(verdict)
}

pub(crate) fn to_yaml(request: &ToYaml, output: Output) -> Result<Verdict, Failure> {
    let path = &request.file;
    let _lock = match &request.output {
        Some(target) if !request.dry_run => output_file::lock(target, request.force)?,
        _ => None,
    };
    let file = open_by(path, &request.others, request.ignore_checksums)?;
    let tree = Tree::from_file_inline(&file).map_err(|error| Failure::asdf(path, error))?;
    let mut options = WriteOptions::new().keep_library();
    if let Some(standard) = standard(&file) {
        options = options.standard(standard);
    }
    let mut writer = Writer::new(tree).options(options).blocks_of(&file);
    if let Some(target) = &request.output {
        writer = relocated(writer, path, target, request.externals);
    }
    let fail = |error| Failure::asdf(path, error);
    if let Some(target) = request.output.as_ref().filter(|_| request.dry_run) {
        output_file::check(target, request.force)?;
        let mut out = Discard::default();
        writer.write_text(&mut out).map_err(fail)?;
        let (target, len) = (output_file::name(target), size(out.stream_position()?));
        output.result(&format_args!("{target}: {len} would be written"))?;
    } else if let Some(target) = &request.output {
        let body = |out: &mut dyn io::Write| writer.write_text(out);
        output_file::write(target, request.force, body, fail)?;
    } else {
        let mut out = Sink::new(BufWriter::new(io::stdout().lock()));
        let written = writer.write_text(&mut out);
        out.finish(written, fail, Failure::from)?;
    }
    Ok(remark(path, &file, output))
}

fn open(request: &CopyRequest) -> Result<Asdf, Failure> {
    open_by(&request.file, &request.others, request.ignore_checksums)
}

fn open_by(path: &Path, others: &OtherFiles, ignore_checksums: bool) -> Result<Asdf, Failure> {
    let options = super::options(&Reading { others: others.clone(), ..Reading::default() });
    let verify = if ignore_checksums { Verify::Report } else { Verify::OnRead };
    super::open_by(&options.verify(verify), path)
}

/// Prints the diagnostics of the file and of the files that it refers to. Returns `Found` if a
/// checksum did not match. The damage is no longer visible in the copy, which has a new checksum
/// or, as a YAML file, no checksum.
fn remark(path: &Path, file: &Asdf, output: Output) -> Verdict {
    super::remark(path, file, output);
    let mut all = file.diagnostics();
    for (name, other) in file.other_files() {
        super::remark(Path::new(&name), other, output);
        all.extend(other.diagnostics());
    }
    let has_mismatch = all.iter().any(|found| found.code == Code::ChecksumMismatch);
    if has_mismatch { Verdict::Found } else { Verdict::Fine }
}

/// Returns a writer for a copy of the file. The copy has the same version of the standard as the
/// file, or the default version if the version of the file is unknown or cannot be written.
fn writer<'a>(
    request: &CopyRequest,
    file: &'a Asdf,
    inline_below: u64,
    options: &WriteOptions,
) -> Result<Writer<'a>, Failure> {
    let mut options = options.clone();
    let path = &request.file;
    let tree = Tree::from_file(file, inline_below).map_err(|error| Failure::asdf(path, error))?;
    if let Some(standard) = standard(file) {
        options = options.standard(standard);
    }
    let writer = Writer::new(tree).options(options).blocks_of(file);
    let writer = writer.implode(request.externals == Externals::Embed);
    Ok(relocated(writer, path, &request.output, request.externals))
}

/// If requested, makes the writer rewrite relative references to other files, so that they are
/// valid in the folder of the copy.
fn relocated<'a>(
    writer: Writer<'a>,
    path: &Path,
    target: &Path,
    externals: Externals,
) -> Writer<'a> {
    match super::folders(path, target, externals) {
        Some((from, to)) => writer.relocate(from, to),
        None => writer,
    }
}

/// Returns the version of the standard declared by a file, or `None` if the file declares no version
/// or if this version cannot be written.
fn standard(file: &Asdf) -> Option<asdf::tag::Version> {
    file.layout().standard_version.filter(|version| asdf::save::STANDARDS.contains(version))
}
