//! `scibin dudley check`: what is wrong with layouts.

use std::path::Path;

use dudley::{Code, Diagnostic, Layout, ParseOptions, Resolver, Severity, Source};
use serde_json::{Value, json};

use super::{name, read, show};
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

/// The warnings and lints that an option names.
fn codes(option: &str, names: &[String]) -> Result<Vec<Code>, Failure> {
    let mut codes = Vec::new();
    for name in names {
        match (name.as_str(), Code::from_name(name)) {
            ("lints", _) => {
                codes.extend(Code::all().filter(|code| code.severity() == Severity::Lint));
            }
            (_, Some(found)) if found.severity() != Severity::Error => codes.push(found),
            (_, Some(_)) => return Err(Failure::other(option, format!("`{name}` is an error"))),
            (_, None) => return Err(Failure::other(option, format!("no code `{name}`"))),
        }
    }
    Ok(codes)
}

/// What is wrong with addresses, where they depend on no value.
fn of_addresses(layout: &Layout, options: &ParseOptions) -> Vec<Diagnostic> {
    let resolver = Resolver::new(layout);
    match resolver.table() {
        Ok(table) => options.judge(resolver.lints(&table)),
        Err(error) if error.code() == Some(Code::ValueUnknown) => Vec::new(),
        Err(error) => error.diagnostic().cloned().into_iter().collect(),
    }
}

fn one(path: &Path, options: &ParseOptions, output: Output) -> Result<Verdict, Failure> {
    let bytes = read(path)?;
    let (found, source, text) = match Source::decode(&bytes) {
        Err(error) => {
            let source = Source::default().with_name(name(path));
            let text = error.render(&source);
            (vec![*error], source, text)
        }
        Ok(source) => {
            let source = source.with_name(name(path));
            match options.parse_source(source.clone()) {
                Ok(layout) => {
                    let mut found = layout.warnings().to_vec();
                    found.extend(of_addresses(&layout, options));
                    let text: Vec<String> =
                        found.iter().map(|warning| warning.render(&source)).collect();
                    (found, source, text.join("\n"))
                }
                Err(error) => {
                    let text = error.to_string();
                    (error.iter().cloned().collect(), source, text)
                }
            }
        }
    };
    let is_error = |found: &&Diagnostic| found.severity() == Severity::Error;
    let errors = found.iter().filter(is_error).count();
    if output.json {
        let diagnostics: Vec<Value> = found.iter().map(|one| one.to_json(&source)).collect();
        print_json(&json!({"file": name(path), "errors": errors, "diagnostics": diagnostics}))?;
    } else if errors > 0 || !output.quiet {
        if !found.is_empty() {
            show(&text);
        }
        let others = found.len() - errors;
        output.result(&format_args!(
            "{}: {errors} errors, {others} warnings and lints",
            name(path)
        ))?;
    }
    Ok(if errors > 0 { Verdict::Found } else { Verdict::Fine })
}
