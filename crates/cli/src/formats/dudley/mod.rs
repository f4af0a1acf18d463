//! The commands for layouts of Dudley.

mod check;
mod diff;
mod fmt;
mod resolve;
mod tree;

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use dudley::{Diagnostic, Layout, ParseOptions, Source, Values};

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
    // More than a layout can have, so that input without end is rejected too.
    let limit = 1 << 31;
    let read = if is_standard(path) {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::io(path, error))?;
    Ok(bytes)
}

/// The name of a layout in messages.
fn name(path: &Path) -> String {
    if is_standard(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Parses a layout. If it has errors, shows them and returns nothing.
fn parse(path: &Path, options: &ParseOptions) -> Result<Option<Layout>, Failure> {
    let source = Source::decode_named(&read(path)?, name(path));
    Ok(source.and_then(|source| options.parse_source(source)).map_err(|error| show(&error)).ok())
}

/// Shows an error on standard error: of a layout with the lines that it is about.
fn show(error: &dudley::Error) {
    match error.diagnostics() {
        Some(diagnostics) => print(&diagnostics.render(color())),
        None => print(&error.to_string()),
    }
}

/// Shows diagnostics on standard error.
fn show_all(found: &[Diagnostic], source: &Source) {
    let shown: Vec<String> = found.iter().map(|one| source.render(one, color())).collect();
    print(&shown.join("\n"));
}

/// Whether standard error shows colours.
fn color() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// Prints a text on standard error. A failure to print has no one to report to.
fn print(text: &str) {
    if !text.is_empty() {
        let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
    }
}

/// The given values, each for a stored parameter of one of the layouts.
fn values(params: &Params, layouts: &[&Layout]) -> Result<Values, Failure> {
    let values: Values = params.params.iter().cloned().collect();
    let is_missing = |key: &&str| layouts.iter().all(|layout| values.not_in(layout).contains(key));
    if let Some(key) = values.keys().find(is_missing) {
        return Err(Failure::other("--param", format!("no stored parameter named `{key}`")));
    }
    Ok(values)
}
