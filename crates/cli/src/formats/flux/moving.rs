//! `scibin flux convert`, `pack` and `externalize`: rewrite an archive in another form.

use std::io::Write;

use flux_archive::edit::{Externalizer, MoveReport};
use flux_archive::{Form, Limits};
use serde_json::json;

use super::source::{Source, open_store_mut};
use super::{
    buffered, bytes, chunking, lock, remark, report_json, say_failures, store_failure, summary,
    verdict,
};
use crate::Verdict;
use crate::arguments::flux::{Convert, Externalize, Form as FormArgument, Pack, Target};
use crate::failure::{Failure, name};
use crate::output::file::{self as output_file, is_standard};
use crate::output::progress::Progress;
use crate::output::{Output, count, print_json, size};

pub(super) fn convert(command: &Convert, output: Output) -> Result<Verdict, Failure> {
    let _lock = lock(&command.target.output)?;
    let source = Source::open(&command.one)?;
    let form = match (command.to, source.form(false)?) {
        (Some(FormArgument::Array), _) | (None, Form::Dict | Form::Objects) => Form::Array,
        (Some(FormArgument::Dict), _) | (None, Form::Array) => Form::Dict,
        (Some(FormArgument::Objects), _) => Form::Objects,
    };
    let Target { output: path, replacing } = &command.target;
    let body = |out: &mut dyn Write| {
        let out = std::io::BufWriter::new(out);
        let writer = flux_archive::Writer::new(out, form);
        let mut writer = if command.pretty { writer.pretty() } else { writer };
        let diagnostics =
            flux_archive::edit::convert(&source.document, &source.options, &mut writer)?;
        writer.finish()?;
        Ok(diagnostics)
    };
    let diagnostics =
        output_file::write(path, replacing.force, body, |error| source.failure(error))?;
    for line in summary(&diagnostics) {
        output.remark(&format_args!("{}: {line}", name(&source.name)));
    }
    Ok(Verdict::Fine)
}

pub(super) fn pack(command: &Pack, output: Output) -> Result<Verdict, Failure> {
    let _lock = lock(&command.target.output)?;
    let mut source = Source::open(&command.one)?;
    if let Some(most) = command.max_size {
        let most = bytes(most, "--max-size", output);
        let limits = Limits::default().max_file_size(most).max_total_size(most);
        source.options = source.options.limits(limits.max_materialized_bytes(most));
    }
    let total = {
        let archive = source.parse()?;
        remark(&source.name, &archive, output);
        let blobs = archive.entries().iter().filter(|entry| !entry.regions().is_empty());
        blobs.fold(0, |sum: u64, entry| sum.saturating_add(entry.len()))
    };
    let form = source.form(false)?;
    let store = source.stores(&command.stores)?;
    let progress = Progress::new(total, output.quiet);
    let add = |bytes| progress.add(bytes);
    let Target { output: target, replacing } = &command.target;
    let body = |out: &mut dyn Write| {
        buffered(out, form, |writer| {
            flux_archive::edit::pack(&source.document, &source.options, &store, Some(&add), writer)
        })
    };
    let report = output_file::write(target, replacing.force, body, |error| source.failure(error))?;
    drop(progress);
    tell(&source, &command.target, &report, "packed", output)
}

pub(super) fn externalize(command: &Externalize, output: Output) -> Result<Verdict, Failure> {
    let _lock = lock(&command.target.output)?;
    let source = Source::open(&command.one)?;
    remark(&source.name, &source.parse()?, output);
    let form = source.form(false)?;
    let store = open_store_mut(&command.store)?;
    let progress = Progress::endless(output.quiet);
    let add = |bytes| progress.add(bytes);
    let chunking = chunking(&command.chunking, output);
    let externalizer = Externalizer::new(&*store).chunking(chunking).progress(&add);
    let Target { output: target, replacing } = &command.target;
    let body = |out: &mut dyn Write| {
        buffered(out, form, |writer| externalizer.run(&source.document, &source.options, writer))
    };
    let report = output_file::write(target, replacing.force, body, |error| {
        store_failure(&command.store, error, |error| source.failure(error))
    })?;
    drop(progress);
    tell(&source, &command.target, &report, "externalized", output)
}

/// Reports how much content was moved and which entries failed, and returns the outcome.
fn tell(
    source: &Source,
    target: &Target,
    report: &MoveReport,
    done: &str,
    output: Output,
) -> Result<Verdict, Failure> {
    let MoveReport { files, bytes, failures, .. } = report;
    say_failures(&name(&source.name), failures, output);
    let path = &target.output;
    if output.json && !is_standard(path) {
        let (file, output) = (source.name.display().to_string(), path.display().to_string());
        print_json(&report_json(report, json!({"file": file, "output": output}))?)?;
    } else if !is_standard(path) {
        let (files, bytes) = (count(*files, "file"), size(*bytes));
        output.result(&format_args!("{}: {files} {done}, {bytes}", path.display()))?;
    }
    Ok(verdict(failures))
}
