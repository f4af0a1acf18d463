//! `scibin dudley check`: reports what is wrong with layouts.

use std::path::Path;

use dudley::{Code, Diagnostic, Layout, ParseOptions, Resolver, Severity, Source};
use serde_json::json;

use super::{name, read, show_all};
use crate::arguments::dudley::Check;
use crate::failure::Failure;
use crate::output::{Output, print_json};
use crate::{Verdict, each};

pub(super) fn check(command: &Check, output: Output) -> Result<Verdict, Failure> {
    let mut options = ParseOptions::new();
    for code in codes("--allow", &command.allow)? {
        options = options.silence(code);
    }
    for code in codes("--deny", &command.deny)? {
        options = options.deny(code);
    }
    each(&command.layouts, output, |path| one(path, &options, output))
}

/// The warnings and notes that an option names.
fn codes(option: &str, names: &[String]) -> Result<Vec<Code>, Failure> {
    let mut codes = Vec::new();
    for name in names {
        match (name.as_str(), Code::from_name(name)) {
            ("notes", _) => {
                codes.extend(Code::ALL.iter().filter(|code| code.severity() == Severity::Note));
            }
            (_, Some(found)) if found.severity() != Severity::Error => codes.push(found),
            (_, Some(_)) => return Err(Failure::other(option, format!("{name} is an error"))),
            (_, None) => return Err(Failure::other(option, format!("no code named `{name}`"))),
        }
    }
    Ok(codes)
}

/// What is wrong with addresses that do not depend on values.
fn of_addresses(layout: &Layout, options: &ParseOptions) -> Vec<Diagnostic> {
    let resolver = Resolver::new(layout);
    match resolver.table() {
        Ok(table) => options.judge(resolver.diagnose(&table)),
        Err(error) if error.code() == Some(Code::ValueUnknown) => Vec::new(),
        Err(error) => error.diagnostics().into_iter().flatten().cloned().collect(),
    }
}

fn one(path: &Path, options: &ParseOptions, output: Output) -> Result<Verdict, Failure> {
    let source = Source::decode_named(&read(path)?, name(path));
    let parsed = source.and_then(|source| options.parse_source(source));
    let (found, source) = match &parsed {
        Ok(layout) => {
            let found = [layout.diagnostics(), &of_addresses(layout, options)].concat();
            (found, layout.source().as_ref())
        }
        Err(error) => match error.diagnostics() {
            Some(found) => (found.iter().cloned().collect(), found.source()),
            None => return Err(Failure::other(name(path), error.to_string())),
        },
    };
    let is_error = |found: &&Diagnostic| found.severity == Severity::Error;
    let errors = found.iter().filter(is_error).count();
    if output.json {
        print_json(&json!({"file": name(path), "errors": errors, "diagnostics": found}))?;
    } else if errors > 0 || !output.quiet {
        show_all(&found, source);
        let others = found.len() - errors;
        output.result(&format_args!(
            "{}: {errors} errors, {others} warnings and notes",
            name(path)
        ))?;
    }
    Ok(if errors > 0 { Verdict::Found } else { Verdict::Fine })
}
