//! `scibin dudley import`: creates layouts for files of other formats.

use std::io::{self, Write};
use std::path::Path;

use dudley::import::Imported;

use crate::Verdict;
use crate::arguments::dudley::Import;
use crate::failure::{Failure, name};
use crate::input;
use crate::output::Output;
use crate::output::file::{self as output_file, is_standard};

pub(super) fn import(command: &Import, output: Output) -> Result<Verdict, Failure> {
    let path = &command.file;
    let stem = path.file_stem().filter(|_| !is_standard(path));
    let item = stem.map_or_else(|| "data".into(), |stem| stem.to_string_lossy());
    let target = command.output.as_deref().map(|target| (target, command.force));
    import_as(path, &item, target, output)
}

/// Writes the layout for a file to an output file, or to standard output. If the file contains a
/// single array, the array is named `item`.
pub(super) fn import_as(
    path: &Path,
    item: &str,
    target: Option<(&Path, bool)>,
    output: Output,
) -> Result<Verdict, Failure> {
    if let Some((target, force)) = target {
        output_file::check(target, force)?;
    }
    let _lock = match target {
        Some((target, force)) => output_file::lock(target, force)?,
        None => None,
    };
    let file = input::source(path).map_err(|error| Failure::other(name(path), error))?;
    let fail = |error| Failure::dudley(path, error);
    let Imported { layout, errors, .. } = dudley::import::from_file(item, file).map_err(fail)?;
    let is_nothing = layout.is_empty() && !errors.is_empty();
    match target {
        _ if is_nothing => {}
        None => io::stdout().lock().write_all(layout.as_bytes())?,
        Some((target, force)) => {
            let body = |out: &mut dyn Write| out.write_all(layout.as_bytes());
            output_file::write(target, force, body, |error| Failure::io(target, error))?;
            super::report_size(target, layout.len(), output)?;
        }
    }
    let failures: Vec<Failure> = errors.into_iter().map(fail).collect();
    for failure in &failures {
        failure.show(output);
    }
    Ok(match failures.first() {
        None => Verdict::Fine,
        Some(failure) if is_nothing => failure.verdict(),
        // The layout describes only some of the items. Report this as a finding rather than a
        // failure, because the layout can still be used.
        Some(_) => Verdict::Found,
    })
}
