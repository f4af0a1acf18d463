//! The commands for layouts of Dudley.

mod check;
mod diff;
mod fmt;
mod resolve;
mod tree;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use dudley::{Layout, ParseOptions, Source, Values};

use crate::Verdict;
use crate::arguments::dudley::{self as arguments, DudleyCommand, Params};
use crate::failure::Failure;
use crate::goal::is_standard;
use crate::output::Output;

/// Runs `scibin dudley ..`.
pub(crate) fn run(command: &arguments::Dudley, output: Output) -> Result<Verdict, Failure> {
    match &command.command {
        DudleyCommand::Check(command) => check::check(command, output),
        DudleyCommand::Fmt(command) => fmt::fmt(command, output),
        DudleyCommand::Tree { layout } => tree::tree(layout, output),
        DudleyCommand::Resolve(command) => resolve::resolve(command, output),
        DudleyCommand::Diff { before, after, params } => diff::diff(before, after, params, output),
    }
}

/// The bytes of a layout, or those of standard input.
fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    // More than a layout can be, so that what has no end is told as well.
    let limit = 1 << 31;
    let read = if is_standard(path) {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::io(path, error))?;
    Ok(bytes)
}

/// What messages call it.
fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// The text of a layout; nothing if it is a binary file, which is said then.
fn decode(path: &Path, bytes: &[u8]) -> Option<Source> {
    match Source::decode(bytes) {
        Ok(source) => Some(source.with_name(name(path))),
        Err(error) => {
            show(&error.render(&Source::default().with_name(name(path))));
            None
        }
    }
}

/// Parses a layout; nothing if it has errors, which are shown then.
fn parse(path: &Path, options: &ParseOptions) -> Result<Option<Layout>, Failure> {
    let Some(source) = decode(path, &read(path)?) else { return Ok(None) };
    match options.parse_source(source) {
        Ok(layout) => Ok(Some(layout)),
        Err(error) => {
            show(&error.to_string());
            Ok(None)
        }
    }
}

/// Prints a diagnostic on standard error. If nobody reads it, there is nobody to tell.
fn show(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

/// The values that are given: each of a parameter of one of the layouts.
fn values(params: &Params, layouts: &[&Layout]) -> Result<Values, Failure> {
    let values: Values = params.params.iter().cloned().collect();
    let is_missing = |key: &&str| layouts.iter().all(|layout| values.not_in(layout).contains(key));
    if let Some(key) = values.keys().find(is_missing) {
        return Err(Failure::other("--param", format!("no parameter `{key}` is stored")));
    }
    Ok(values)
}
