//! `scibin bloscpack meta`: reading and editing the metadata.

use std::path::Path;

use bloscpack::change::{MetadataEdit, RewriteOptions, rewrite_file, set_metadata};
use bloscpack::format::{Metadata, MetadataError};
use bloscpack::{ErrorKind, OpenOptions};
use serde_json::{Value, json};

use super::get::{metadata, print_value};
use super::pack::{parse_json, read_json};
use super::{pointer, undo_interrupted};
use crate::Verdict;
use crate::arguments::bloscpack::MetaCommand;
use crate::failure::{Failure, name};
use crate::input::check_changeable;
use crate::output::file::is_standard;
use crate::output::{Output, print_json};

pub(super) fn run(command: &MetaCommand, output: Output) -> Result<Verdict, Failure> {
    match command {
        MetaCommand::Get { file, pointer } => {
            if !is_standard(file) {
                // Ignore a failure: without the rollback, the file is still read as it was before
                // the interrupted change.
                let _ = undo_interrupted(file, output);
            }
            let opened = super::open(file, &OpenOptions::new())?;
            super::remark_rounded(file, &opened, output);
            let all = metadata(&opened).map_err(|error| Failure::bloscpack(file, error))?;
            let value = all.pointer(pointer).ok_or_else(|| {
                let place = format!("{} {pointer}", name(file));
                Failure::other(place, "no metadata at this pointer")
            })?;
            print_value(value, output.json)?;
        }
        MetaCommand::Set { file, pointer, value, metadata, grow } => {
            check_changeable(file)?;
            undo_interrupted(file, output)?;
            let value = match (value, metadata) {
                (Some(text), _) => parse_json(text).map_err(|why| Failure::other("value", why))?,
                (None, Some(path)) => read_json(path)?,
                (None, None) => Value::Null,
            };
            // Do not read metadata that will be replaced as a whole, because it may be damaged.
            let mut all = if pointer.is_empty() {
                Value::Null
            } else {
                read_if_there(file)?.unwrap_or_else(|| json!({}))
            };
            edit(file, pointer::set(&mut all, pointer, value))?;
            write(file, &all, *grow, output)?;
        }
        MetaCommand::Rm { file, pointer, grow } => {
            check_changeable(file)?;
            undo_interrupted(file, output)?;
            if pointer.is_empty() {
                remove_all(file, *grow, output)?;
            } else {
                let mut all = read(file)?;
                edit(file, pointer::remove(&mut all, pointer))?;
                write(file, &all, *grow, output)?;
            }
        }
    }
    Ok(Verdict::Fine)
}

/// Reads the metadata for editing. Fails if the file has no metadata.
fn read(path: &Path) -> Result<Value, Failure> {
    let absent = || Failure::bloscpack(path, ErrorKind::Metadata(MetadataError::Absent).into());
    read_if_there(path)?.ok_or_else(absent)
}

fn read_if_there(path: &Path) -> Result<Option<Value>, Failure> {
    let file = super::open(path, &OpenOptions::new())?;
    let metadata =
        file.metadata().and_then(|metadata| metadata.map(Metadata::exact_json).transpose());
    metadata.map_err(|error| Failure::bloscpack(path, error))
}

fn edit(path: &Path, edited: Result<(), String>) -> Result<(), Failure> {
    edited.map_err(|why| Failure::other(path.display(), format!("metadata: {why}")))
}

fn write(path: &Path, value: &Value, grow: bool, output: Output) -> Result<(), Failure> {
    set_metadata(path, value, MetadataEdit::new().grow(grow))
        .map_err(|error| Failure::bloscpack(path, error))?;
    report(path, value, output)
}

/// Removes the metadata section. Fails unless `grow` is set, because the whole file must be
/// rewritten.
fn remove_all(path: &Path, grow: bool, output: Output) -> Result<(), Failure> {
    let file = super::open(path, &OpenOptions::new().ignore_metadata(true))?;
    if file.meta_header().is_none() {
        let absent = ErrorKind::Metadata(MetadataError::Absent);
        return Err(Failure::bloscpack(path, absent.into()));
    }
    if !grow {
        let message = "removing all metadata requires rewriting the file: use --grow";
        return Err(Failure::other(path.display(), message));
    }
    drop(file);
    rewrite_file(path, path, &RewriteOptions::new().without_metadata())
        .map_err(|error| Failure::bloscpack(path, error))?;
    report(path, &Value::Null, output)
}

fn report(path: &Path, value: &Value, output: Output) -> Result<(), Failure> {
    if output.json {
        print_json(&json!({"file": path.display().to_string(), "metadata": value}))?;
    }
    Ok(())
}
