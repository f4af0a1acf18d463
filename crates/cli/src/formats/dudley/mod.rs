//! The commands for Dudley layouts.

mod check;
mod codegen;
mod create;
mod data;
mod diff;
mod explain;
mod fmt;
mod foreign;
mod import;
mod index;
mod info;
mod locate;
mod resolve;
mod tree;

pub(crate) use check::verify;
pub(crate) use data::get;
pub(crate) use info::{info, report_on};

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use binio::diagnostic::compression_by_signature;
use dudley::diagnostic::{Code, Diagnostic, Severity};
use dudley::{Layout, ParseOptions, Source, Values};

use crate::Verdict;
use crate::arguments::dudley::{self as arguments, DudleyCommand, Judging, Params};
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::is_standard;
use crate::output::{Output, count, show_text};

/// Runs `scibin dudley ..`.
pub(crate) fn run(command: &arguments::Dudley, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        DudleyCommand::Check(command) => check::check(command, output),
        DudleyCommand::Fmt(command) => fmt::fmt(command, output),
        DudleyCommand::Tree { layout } => tree::tree(layout, output),
        DudleyCommand::Resolve(command) => resolve::resolve(command, output),
        DudleyCommand::Get(command) => {
            let request = command.request();
            let path = request.pointer.as_deref().unwrap_or(&command.path);
            data::get_from(&request, path, &command.described, output)
        }
        DudleyCommand::New(command) => create::new(command, output),
        DudleyCommand::Put(command) => create::put(command, output),
        DudleyCommand::Append(command) => create::append(command, output),
        DudleyCommand::Dump(command) => data::dump(command, output),
        DudleyCommand::ExtractLayout(command) => data::extract_layout(command, output),
        DudleyCommand::Explain(command) => explain::explain(command, output),
        DudleyCommand::Index(command) => index::index(command, output),
        DudleyCommand::Locate(command) => locate::locate(command, output),
        DudleyCommand::FromC { file } => foreign::from_c(file),
        DudleyCommand::FromNumpy(command) => foreign::from_numpy(command, output),
        DudleyCommand::Import(command) => import::import(command, output),
        DudleyCommand::Codegen(command) => codegen::codegen(command, output),
        DudleyCommand::Diff(command) => diff::diff(command, output),
    }
}

fn file(path: &Path) -> io::Result<fs::File> {
    if is_standard(path) { input::standard() } else { fs::File::open(path) }
}

/// Reads a layout from a file, or from standard input for "-". Fails if the layout is compressed.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // Read more bytes than a layout can have, so that the parser rejects endless input as too long.
    let limit = 1 << 31;
    let read = file(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    read.map_err(|error| Failure::io(path, error))?;
    if compression_by_signature(&bytes).is_some() {
        return Err(Failure::compressed_layout(path));
    }
    Ok(bytes)
}

/// Reads and parses a layout.
fn parse(path: &Path, options: &ParseOptions) -> Result<Layout, Failure> {
    let source = Source::decode_named(read(path)?, name(path));
    let parsed = source.and_then(|source| options.parse_source(source));
    parsed.map_err(|error| Failure::dudley(path, error))
}

/// Returns `true` if a file begins with the first 4 bytes of a native signature, even if the
/// remaining bytes are damaged.
fn is_native(path: &Path) -> Result<bool, Failure> {
    let mut head = Vec::new();
    // Do not read from a pipe, because the bytes would be lost.
    if is_standard(path) || fs::metadata(path).is_ok_and(|found| found.is_file()) {
        let read = file(path).and_then(|file| file.take(4).read_to_end(&mut head));
        read.map_err(|error| Failure::io(path, error))?;
    }
    Ok(crate::probe::is_native_dudley(&head))
}

/// Returns parse options that silence the codes given with `--allow`, and deny those given with
/// `--deny`.
fn judging(judging: &Judging) -> Result<ParseOptions, Failure> {
    let mut options = ParseOptions::new();
    for code in codes("--allow", &judging.allow)? {
        options = options.silence(code);
    }
    for code in codes("--deny", &judging.deny)? {
        options = options.deny(code);
    }
    Ok(options)
}

/// Returns the codes of the warnings and notes with these names. `option` is only used in messages.
fn codes(option: &str, names: &[String]) -> Result<Vec<Code>, Failure> {
    let mut codes = Vec::new();
    for name in names {
        match (name.as_str(), Code::from_name(name)) {
            ("notes", _) => {
                codes.extend(Code::ALL.iter().filter(|code| code.severity() == Severity::Note));
            }
            (_, Some(found)) if found.severity() != Severity::Error => codes.push(found),
            (_, Some(_)) => {
                return Err(Failure::other(
                    option,
                    format!("expected a warning or note, but {name} is an error"),
                ));
            }
            (_, None) => {
                return Err(Failure::other(option, format!("no warning or note named `{name}`")));
            }
        }
    }
    Ok(codes)
}

/// Shows diagnostics on standard error.
fn show_all(found: &[Diagnostic], source: &Source) {
    show_text(|color| {
        let shown: Vec<String> = found.iter().map(|one| source.render(one, color)).collect();
        shown.join("\n")
    });
}

/// Reports the size of an output file in bytes, unless standard output contains the data.
fn report_size(target: &Path, size: usize, output: Output) -> io::Result<()> {
    if is_standard(target) {
        return Ok(());
    }
    output.result(&format_args!("{}: {}", target.display(), count(size, "byte")))
}

/// Returns the values given with `--param`. Each name must be that of a stored parameter in at least
/// one of the layouts.
fn values(params: &Params, layouts: &[&Layout]) -> Result<Values, Failure> {
    let values: Values = params.params.iter().cloned().collect();
    let is_missing = |key: &&str| layouts.iter().all(|layout| values.not_in(layout).contains(key));
    if let Some(key) = values.keys().find(is_missing) {
        return Err(Failure::other("--param", format!("no stored parameter named `{key}`")));
    }
    Ok(values)
}
