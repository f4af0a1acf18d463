//! `scibin asdf new`: creates a file from YAML text and `.npy` files.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use asdf::tag::Version;
use asdf::value::Array;
use asdf::{Limits, ReadAt, Tree, WriteOptions, Writer};
use binio::write::Discard;

use super::change;
use crate::Verdict;
use crate::arguments::asdf::New;
use crate::failure::Failure;
use crate::input;
use crate::output::Output;
use crate::output::file::{self as output_file, is_standard};

pub(crate) fn new(request: &New, output: Output) -> Result<Verdict, Failure> {
    let target = &request.file;
    let target_name = output_file::name(target);
    let of_target = |error| Failure::asdf(Path::new(&target_name), error);
    let mut tree = match &request.tree {
        Some(path) => Tree::parse(&text(path)?).map_err(|error| Failure::asdf(path, error))?,
        None => Tree::default(),
    };
    for named in &request.arrays {
        let path = &named.file;
        let source = input::source(path).map_err(|error| Failure::asdf(path, error.into()))?;
        let source: Arc<dyn ReadAt> = Arc::new(source);
        let array = Array::from_npy(source, Limits::default())
            .map_err(|error| Failure::asdf(path, error))?;
        check_datatype(&array, &named.pointer, request.standard)
            .map_err(|error| Failure::asdf(path, error))?;
        // If no tree is given, always create missing parents, because the tree is empty.
        if request.tree.is_some() && !request.parents {
            tree.check_parent(&named.pointer)
                .map_err(|error| change::missing_parent(Path::new(&target_name), &error))?;
        }
        tree.set(&named.pointer, array).map_err(of_target)?;
    }
    let options = WriteOptions::new()
        .standard(request.standard)
        .align(request.align.align)
        .compression(request.compress.unwrap_or_default());
    let writer = Writer::new(tree).options(options);
    let source = request.tree.as_deref().unwrap_or(Path::new(&target_name));
    let report = super::write(&writer, target, &request.writing, source)?;
    super::report(&report, None, target, &request.writing, output)?;
    Ok(Verdict::Fine)
}

/// Fails if the version of the standard does not support arrays of this type. To check this, writes
/// an empty array and discards the output, so that the error is about this array rather than about
/// the whole file.
fn check_datatype(array: &Array, pointer: &str, standard: Version) -> asdf::Result<()> {
    let mut tree = Tree::default();
    tree.set(pointer, Array::from_bytes(Vec::new(), array.datatype().clone(), &[0])?)?;
    let writer = Writer::new(tree).options(WriteOptions::new().standard(standard));
    writer.write_to(Discard::default()).map(drop)
}

fn text(path: &Path) -> Result<String, Failure> {
    let read = || {
        if !is_standard(path) {
            return fs::read_to_string(path);
        }
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| Failure::io(path, error))
}
