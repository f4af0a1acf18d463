//! `scibin asdf validate`: checks trees against the schemas of their tags.

use std::io;
use std::path::{Path, PathBuf};

use asdf::diagnostic::Severity;
use asdf::inspect::schema::{Mismatch, Schemas};
use serde_json::{Value, json};

use crate::arguments::asdf::Validate;
use crate::failure::{Failure, name};
use crate::output::{Output, print_found, print_json};
use crate::{Verdict, each};

pub(super) fn validate(request: &Validate, output: Output) -> Result<Verdict, Failure> {
    let schemas = read(&request.schemas, output)?;
    each(&request.files.files, output, |path| {
        let file = super::open(path, &request.reading)?;
        let found = file.validate(&schemas).map_err(|error| Failure::asdf(path, error))?;
        let is_error = |found: &Mismatch| found.diagnostic.severity == Severity::Error;
        let is_valid = !found.iter().any(is_error);
        if output.json {
            let found: Value = found.iter().map(mismatch_json).collect();
            print_json(&json!({
                "file": path.display().to_string(), "format": "asdf", "ok": is_valid,
                "diagnostics": found,
            }))?;
        } else {
            print(path, &found, output)?;
        }
        Ok(if is_valid { Verdict::Fine } else { Verdict::Found })
    })
}

/// Reads the schemas in the given folders. Fails if one of these folders contains no schemas.
pub(super) fn read(folders: &[PathBuf], output: Output) -> Result<Schemas, Failure> {
    let mut schemas = Schemas::new();
    for folder in folders {
        let report = schemas.add_folder(folder);
        let report = report.map_err(|error| Failure::other(folder.display(), error))?;
        for (path, error) in &report.failed {
            output.remark(&format_args!("{}: {error}", path.display()));
        }
        if report.read == 0 {
            return Err(Failure::other(folder.display(), "no schemas in this folder"));
        }
    }
    Ok(schemas)
}

fn print(path: &Path, found: &[Mismatch], output: Output) -> io::Result<()> {
    let mut errors = 0;
    for found in found {
        if found.diagnostic.severity != Severity::Error {
            output.remark(&format_args!("{}: {}", name(path), found.diagnostic));
            continue;
        }
        errors += 1;
        print_found(&name(path), &format_args!("{} [{}]", found.diagnostic, found.schema))?;
    }
    if errors == 0 {
        output.result(&format_args!("{}: valid", name(path)))?;
    }
    Ok(())
}

/// Returns a mismatch as JSON: the diagnostic, and the schema URI with a pointer to the violated
/// keyword.
fn mismatch_json(found: &Mismatch) -> Value {
    let mut value = json!(found.diagnostic);
    value["schema"] = json!(found.schema);
    value
}
