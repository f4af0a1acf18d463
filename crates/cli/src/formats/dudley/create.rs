//! `scibin dudley new`, `put` and `append`: files that are written, changed and extended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use binio::array::npy::Header;
use binio::array::{Array, Strided};
use binio::write::FileTarget;
use binio::{FileSource, ReadAt};
use dudley::{ExtendMode, Extension, ParseOptions, Source, Values, WriteOptions, WriteReport};
use serde_json::json;

use super::{data, name, parse, read, show, values, verdict_of};
use crate::Verdict;
use crate::arguments::dudley::{Append, New, Order, Put};
use crate::failure::Failure;
use crate::input;
use crate::output::file::{OutputFile, is_standard};
use crate::output::{Output, print_json};

/// The array of a `.npy` file.
fn npy(path: &Path) -> Result<Array<Arc<FileSource>>, Failure> {
    let fail = |error: binio::Error| Failure::other(name(path), error);
    let file = Arc::new(input::source(path).map_err(fail)?);
    let (header, offset) = Header::read(&*file).map_err(fail)?;
    let itemsize = header.datatype().itemsize();
    let shape = header.shape().to_vec();
    let strided = Strided::packed(shape, header.order(), offset, itemsize, file.len());
    let strided = strided.map_err(|error| fail(error.into()))?;
    let array = Array::new(file, header.datatype().clone(), strided, binio::Limits::default());
    array.map_err(|error| fail(error.into()))
}

/// What is put where, and the name of its file.
type Arrays = Vec<(String, PathBuf, Array<Arc<FileSource>>)>;

fn arrays(set: &[(String, PathBuf)]) -> Result<Arrays, Failure> {
    set.iter().map(|(path, file)| Ok((path.clone(), file.clone(), npy(file)?))).collect()
}

/// Shows why something cannot be put, with the file that it comes from.
fn refused(file: &Path, error: &dudley::Error) -> Verdict {
    show(error, &name(file));
    verdict_of(error).max(Verdict::Failed)
}

pub(super) fn new(command: &New, output: Output) -> Result<Verdict, Failure> {
    let Some(layout) = parse(&command.layout, &ParseOptions::new())? else {
        return Ok(Verdict::Found);
    };
    let mut options = WriteOptions::new()
        .values(values(&command.given.params, &[&layout])?)
        .apart(command.apart)
        .strict(command.strict);
    if let Some(order) = command.order {
        options = options.order(match order {
            Order::Little => dudley::Order::Little,
            Order::Big => dudley::Order::Big,
        });
    }
    let arrays = arrays(&command.given.set)?;
    let mut file = OutputFile::create(&command.out, command.force)?;
    let target = file.file()?.try_clone().map_err(|error| Failure::io(&command.out, error))?;
    let target =
        FileTarget::new(target).map_err(|error| Failure::other(target_name(&command.out), error));
    let mut target = target?;
    let mut writer = match options.write_at(&mut target, layout) {
        Ok(writer) => writer,
        Err(error) => {
            show(&error, &name(&command.layout));
            return Ok(verdict_of(&error));
        }
    };
    for (path, from, array) in &arrays {
        if let Err(error) = writer.put_array(path, array) {
            return Ok(refused(from, &error));
        }
    }
    match writer.finish() {
        Ok(report) => {
            file.commit()?;
            done(&command.out, &report, output)
        }
        Err(error) => {
            show(&error, &target_name(&command.out));
            Ok(verdict_of(&error))
        }
    }
}

/// The name of an output file in messages.
fn target_name(path: &Path) -> String {
    if is_standard(path) { "standard output".to_owned() } else { name(path) }
}

/// Names what is missing, and reports what was written.
fn done(path: &Path, report: &WriteReport, output: Output) -> Result<Verdict, Failure> {
    // Standard output may have the file itself.
    if output.json && !is_standard(path) {
        print_json(&json!({
            "file": name(path), "format": "dudley", "ok": true, "bytes": report.len,
            "layout_address": report.layout_address, "missing": report.missing,
        }))?;
        return Ok(Verdict::Fine);
    }
    for missing in &report.missing {
        output
            .say(&format_args!("{}: no data for {missing}: filled with zeros", target_name(path)));
    }
    if !is_standard(path) {
        output.result(&format_args!("{}: {} bytes", name(path), report.len))?;
    }
    Ok(Verdict::Fine)
}

pub(super) fn put(command: &Put, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    let array = npy(&command.array)?;
    let file = match data::open(path, &command.described)? {
        Ok(file) => file,
        Err(verdict) => return Ok(verdict),
    };
    let patch = match file.patch_array(&command.path, &array) {
        Ok(patch) => patch,
        Err(error) => return Ok(refused(path, &error)),
    };
    let (offset, len) = (patch.offset(), patch.bytes().len());
    if let Err(error) = patch.commit_to(path) {
        return Ok(refused(path, &error));
    }
    if output.json {
        print_json(&json!({
            "file": name(path), "format": "dudley", "ok": true, "address": offset, "bytes": len,
        }))?;
    } else {
        output.result(&format_args!("{}: {len} bytes at {offset} replaced", name(path)))?;
    }
    Ok(Verdict::Fine)
}

pub(super) fn append(command: &Append, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    let text = match Source::decode_named(read(&command.layout)?, name(&command.layout)) {
        Ok(source) => source.text().to_owned(),
        Err(error) => {
            show(&error, &name(&command.layout));
            return Ok(verdict_of(&error));
        }
    };
    let mode = if command.in_place { ExtendMode::InPlace } else { ExtendMode::Safe };
    let given: Values = command.given.params.params.iter().cloned().collect();
    let arrays = arrays(&command.given.set)?;
    let mut more = match Extension::open(path, &text, mode, &given) {
        Ok(more) => more,
        Err(error) => {
            show(&error, &name(path));
            return Ok(verdict_of(&error));
        }
    };
    values(&command.given.params, &[more.layout()])?;
    for (item, from, array) in &arrays {
        if let Err(error) = more.put_array(item, array) {
            return Ok(refused(from, &error));
        }
    }
    match more.commit_to(path) {
        Ok(report) => done(path, &report, output),
        Err(error) => {
            show(&error, &name(path));
            Ok(verdict_of(&error))
        }
    }
}
