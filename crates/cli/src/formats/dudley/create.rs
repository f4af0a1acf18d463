//! `scibin dudley new`, `put` and `append`: write, change and extend files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use binio::array::npy::Header;
use binio::array::{Array, Strided};
use binio::write::FileTarget;
use binio::{FileSource, ReadAt};
use dudley::write::{ExtendMode, Extension, WriteReport};
use dudley::{ParseOptions, Rules, Source, Values, WriteOptions};
use serde_json::json;

use super::{data, parse, read, values};
use crate::Verdict;
use crate::arguments::dudley::{Append, New, Order, Put};
use crate::failure::{Failure, name};
use crate::input;
use crate::output::file::{self as output_file, OutputFile, is_standard};
use crate::output::{Output, count, print_json};

/// Opens the array in a `.npy` file.
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

/// The arrays to write. Each item consists of a path in the layout, the name of a `.npy` file, and
/// the array in this file.
type Arrays = Vec<(String, PathBuf, Array<Arc<FileSource>>)>;

fn arrays(set: &[(String, PathBuf)]) -> Result<Arrays, Failure> {
    set.iter().map(|(path, file)| Ok((path.clone(), file.clone(), npy(file)?))).collect()
}

/// Returns the failure for an array that cannot be written. The status is 2 even if the cause is
/// bad data.
fn rejected(file: &Path, error: dudley::Error) -> Failure {
    Failure::dudley(file, error).fatal()
}

pub(super) fn new(command: &New, output: Output) -> Result<Verdict, Failure> {
    let _lock = output_file::lock(&command.out, command.force)?;
    let layout = parse(&command.layout, &ParseOptions::new())?;
    let mut rules = Rules::new().values(values(&command.given.params, &[&layout])?);
    if let Some(order) = command.order {
        rules = rules.order(match order {
            Order::Little => dudley::Order::Little,
            Order::Big => dudley::Order::Big,
        });
    }
    let options =
        WriteOptions::new().rules(rules).omit_layout(command.omit_layout).strict(command.strict);
    let arrays = arrays(&command.given.set)?;
    let out = output_file::name(&command.out);
    let mut file = OutputFile::create(&command.out, command.force)?;
    let target = file.file()?.try_clone().map_err(|error| Failure::io(&command.out, error))?;
    let target = FileTarget::new(target).map_err(|error| Failure::other(&out, error));
    let mut target = target?;
    let writer = options.write_at(&mut target, layout);
    let mut writer = writer.map_err(|error| Failure::dudley(&command.layout, error))?;
    for (path, from, array) in &arrays {
        writer.put_array(path, array).map_err(|error| rejected(from, error))?;
    }
    let report = writer.finish().map_err(|error| Failure::dudley(Path::new(&out), error))?;
    file.commit()?;
    done(&command.out, &report, output)
}

/// Lists the items that were filled with zeros, and reports the length of the file.
fn done(path: &Path, report: &WriteReport, output: Output) -> Result<Verdict, Failure> {
    // Do not print JSON if standard output contains the file itself.
    if output.json && !is_standard(path) {
        print_json(&json!({
            "file": name(path), "format": "dudley", "ok": true, "bytes": report.len,
            "layout_address": report.layout_address, "missing": report.missing,
        }))?;
        return Ok(Verdict::Fine);
    }
    for missing in &report.missing {
        output.say(&format_args!(
            "{}: no data for {missing}, which was filled with zeros",
            output_file::name(path)
        ));
    }
    if !is_standard(path) {
        output.result(&format_args!("{}: {}", name(path), count(report.len, "byte")))?;
    }
    Ok(Verdict::Fine)
}

pub(super) fn put(command: &Put, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    input::check_changeable(path)?;
    let array = npy(&command.array)?;
    let file = data::open(path, &command.described, output)?;
    let patch = file.patch_array(&command.path, &array).map_err(|error| rejected(path, error))?;
    let (offset, len) = (patch.offset(), patch.bytes().len());
    patch.commit_to(path).map_err(|error| rejected(path, error))?;
    if output.json {
        print_json(&json!({
            "file": name(path), "format": "dudley", "ok": true, "address": offset, "bytes": len,
        }))?;
    } else {
        let bytes = count(len, "byte");
        output.result(&format_args!("{}: replaced {bytes} at address {offset}", name(path)))?;
    }
    Ok(Verdict::Fine)
}

pub(super) fn append(command: &Append, output: Output) -> Result<Verdict, Failure> {
    let path = &command.data;
    input::check_changeable(path)?;
    let source = Source::decode_named(read(&command.layout)?, name(&command.layout));
    let source = source.map_err(|error| Failure::dudley(&command.layout, error))?;
    let text = source.text().to_owned();
    let mode = if command.in_place { ExtendMode::InPlace } else { ExtendMode::Safe };
    let given: Values = command.given.params.params.iter().cloned().collect();
    let arrays = arrays(&command.given.set)?;
    let more = Extension::open(path, &text, mode, &given);
    let mut more = more.map_err(|error| Failure::dudley(path, error))?;
    values(&command.given.params, &[more.layout()])?;
    for (item, from, array) in &arrays {
        more.put_array(item, array).map_err(|error| rejected(from, error))?;
    }
    let report = more.commit_to(path).map_err(|error| Failure::dudley(path, error))?;
    done(path, &report, output)
}
