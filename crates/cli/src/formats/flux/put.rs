//! `scibin flux put`: stores an archive and its blobs in a running instance, by calling the `flux`
//! program.
//!
//! ```text
//! flux kvs get --raw archive.NAME          checks whether the archive exists
//! flux content store < BLOB                stores a blob, and prints its blobref
//! flux kvs put --raw archive.NAME=- < JSON stores the archive
//! ```

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use flux_archive::store::{BlobStore, StoreError};
use flux_archive::{ArchivePath, BlobRef, Entry, ErrorKind, Form};
use serde_json::json;

use super::source::Source;
use super::{buffered, remark};
use crate::Verdict;
use crate::arguments::flux::Put;
use crate::failure::{Failure, name};
use crate::output::progress::Progress;
use crate::output::{Output, count, print_json, size};

pub(super) fn put(command: &Put, output: Output) -> Result<Verdict, Failure> {
    let is_name =
        ArchivePath::parse(&command.name).is_ok() && !command.name.contains(['/', '.', '=']);
    if !is_name {
        return Err(Failure::other("--name", "expected a name without \".\", \"/\" and \"=\""));
    }
    let source = Source::of_file(&command.archive, &command.reading)?;
    let archive = source.parse()?;
    remark(&source.name, &archive, output);
    let key = format!("archive.{}", command.name);
    let exists = run(command, &["kvs", "get", "--raw", &key], &[])?.is_ok();
    if exists && !command.overwrite {
        let message =
            format!("the instance has an archive {}; --overwrite replaces it", command.name);
        return Err(Failure::other(name(&source.name), message));
    }

    // Store the blobs first, so that an archive in the instance always has its blobs.
    let regions = archive.entries().iter().flat_map(Entry::regions);
    let blobs: BTreeMap<BlobRef, u64> =
        regions.map(|region| (region.blobref, region.size)).collect();
    let total = blobs.values().fold(0, |sum: u64, size| sum.saturating_add(*size));
    let store = source.stores(&command.stores)?;
    let progress = Progress::new(total, output.quiet);
    let mut blob = Vec::new();
    for (blobref, size) in &blobs {
        let name = format!("blob {blobref}");
        let of_store =
            |error: StoreError| Failure::flux(Path::new(&name), ErrorKind::from(error).into());
        store.get_sized(blobref, *size, &mut blob).map_err(of_store)?;
        if !blobref.matches(&blob) {
            let message = "the content in the store does not match the digest".to_owned();
            return Err(of_store(StoreError::Corrupt(message)));
        }
        let fail = |message: String| Failure::other(&name, message);
        let stored = run(command, &["content", "store"], &blob)?.map_err(fail)?;
        if stored.trim() != blobref.to_string() {
            let stored = stored.trim();
            return Err(fail(format!(
                "the instance stored the blob as {stored}: if the instance uses another hash, create the archive with --hash"
            )));
        }
        progress.add(*size);
    }
    drop(progress);
    let mut json = Vec::new();
    let converted = buffered(&mut json, Form::Array, |writer| {
        flux_archive::edit::convert(&source.document, &source.options, writer)
    });
    converted.map_err(|error| source.failure(error))?;
    run(command, &["kvs", "put", "--raw", &format!("{key}=-")], &json)?
        .map_err(|message| Failure::other(&key, message))?;

    let (entries, blobs) = (archive.entries().len() as u64, blobs.len() as u64);
    if output.json {
        let file = source.name.display().to_string();
        print_json(
            &json!({"file": file, "key": key, "entries": entries, "blobs": blobs, "bytes": total}),
        )?;
    } else {
        let (entries, blobs) = (count(entries, "entry"), count(blobs, "blob"));
        output.result(&format_args!("{key}: {entries}, {blobs} of {}", size(total)))?;
    }
    Ok(Verdict::Fine)
}

/// Runs the `flux` program. Returns its output or, if it fails, its error message.
fn run(command: &Put, arguments: &[&str], input: &[u8]) -> Result<Result<String, String>, Failure> {
    let fail = |error| Failure::io(&command.flux, error);
    let mut child = Command::new(&command.flux)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fail)?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || {
            // Ignore write errors: the program may close the pipe without reading all of its input,
            // and its exit status shows whether it has failed.
            let _ = stdin.map(|mut stdin| stdin.write_all(input));
        });
        child.wait_with_output()
    });
    let output = output.map_err(fail)?;
    if output.status.success() {
        return Ok(Ok(String::from_utf8_lossy(&output.stdout).into_owned()));
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let program = command.flux.display();
    Ok(Err(format!("`{program} {}` failed ({}): {said}", arguments.join(" "), output.status)))
}
