//! `scibin dudley locate`: prints the location of an array in each of several files with the same
//! layout.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dudley::file::{Family, Summaries, Template};
use dudley::place::Location;
use dudley::{Layout, OpenOptions, ParseOptions, Rules};
use serde_json::json;

use super::{data, parse};
use crate::Verdict;
use crate::arguments::dudley::{Locate, Order};
use crate::failure::{Failure, name};
use crate::output::{Output, count, one_line, write_json};

/// The maximum number of files for which errors in locating the array are shown.
const MAX_ERRORS: usize = 10;

pub(super) fn locate(command: &Locate, output: Output) -> Result<Verdict, Failure> {
    let layout = parse(&command.template, &ParseOptions::new())?;
    let mut rows = Rows::begin(output.json)?;
    let verdict = if command.summary.is_empty() {
        of_files(command, layout, &mut rows, output)?
    } else {
        let located = of_summaries(command, layout, &mut rows);
        rows.out.flush()?;
        located.map(|()| Verdict::Fine)?
    };
    rows.out.flush()?;
    Ok(verdict)
}

/// Returns the byte order given on the command line.
fn order(command: &Locate) -> Option<dudley::Order> {
    command.order.map(|order| match order {
        Order::Little => dudley::Order::Little,
        Order::Big => dudley::Order::Big,
    })
}

/// Locates the array in each file, using the parameters stored in the file.
fn of_files(
    command: &Locate,
    layout: Layout,
    rows: &mut Rows,
    output: Output,
) -> Result<Verdict, Failure> {
    let mut options = OpenOptions::new().layout(Arc::new(layout));
    if let Some(order) = order(command) {
        options = options.rules(Rules::new().order(order));
    }
    let (mut worst, mut failed) = (Verdict::Fine, 0);
    for file in &command.data {
        let source = data::source(file);
        let located = match source {
            Ok(source) => options.from_source(source).and_then(|file| file.locate(&command.path)),
            Err(failure) => {
                failure.show(output);
                worst = worst.max(failure.verdict());
                continue;
            }
        };
        match located {
            Ok(found) => rows.put(file, &command.path, &found)?,
            Err(error) => {
                // Print the name of the file before an error in the layout, because the error only
                // shows lines of the layout, which all files share.
                let is_of_layout = error.diagnostics().is_some();
                let failure = Failure::dudley(file, error);
                worst = worst.max(failure.verdict());
                failed += 1;
                if failed <= MAX_ERRORS {
                    if is_of_layout {
                        output.fail(&format_args!("{}:", name(file)));
                    }
                    failure.show(output);
                }
            }
        }
    }
    if failed > MAX_ERRORS {
        output.fail(&format_args!("{} with errors", count(failed - MAX_ERRORS, "more file")));
    }
    Ok(worst)
}

/// Locates the array in each file from the parameters in summaries, without opening the file.
fn of_summaries(command: &Locate, layout: Layout, rows: &mut Rows) -> Result<(), Failure> {
    let of_template = |error| Failure::dudley(&command.template, error);
    let mut template = Template::new(layout).map_err(of_template)?;
    if let Some(order) = order(command) {
        template = template.order(order);
    }
    let mut summaries = Vec::new();
    for path in &command.summary {
        let opened = Summaries::open(&template, path);
        summaries.push(opened.map_err(|error| Failure::dudley(path, error))?);
    }
    let count = summaries.iter().map(Summaries::len).sum();
    let names = match template.layout().files_pattern() {
        Some(pattern) => dudley::file::file_names(pattern, count),
        None => Ok((0..count).map(|number| PathBuf::from(number.to_string())).collect()),
    };
    let mut names = names.map_err(of_template)?.into_iter();
    for (summary, path) in summaries.iter().zip(&command.summary) {
        let about = |error| Failure::dudley(path, error);
        let files: Vec<PathBuf> = names.by_ref().take(summary.len()).collect();
        let family: Family = template.family(files, summary).map_err(about)?;
        for (number, file) in family.files().iter().enumerate() {
            let found = family.locate(number, &command.path).map_err(about)?;
            rows.put(file, &command.path, &found)?;
        }
    }
    Ok(())
}

/// A writer that prints a row for each file.
struct Rows {
    out: BufWriter<io::StdoutLock<'static>>,
    json: bool,
}

impl Rows {
    fn begin(json: bool) -> io::Result<Self> {
        let mut out = BufWriter::new(io::stdout().lock());
        if !json {
            writeln!(out, "{:>12} {:>12}  {:<20} file", "address", "nbytes", "type")?;
        }
        Ok(Self { out, json })
    }

    fn put(&mut self, file: &Path, path: &str, found: &Location) -> io::Result<()> {
        let (address, nbytes, shape) = (found.address(), found.nbytes(), found.shape());
        if self.json {
            let row = json!({
                "file": file.display().to_string(), "path": path, "address": address,
                "shape": shape, "dtype": found.dtype(), "nbytes": nbytes,
                "strides": found.strides(),
            });
            write_json(&mut self.out, &row)?;
            return self.out.write_all(b"\n");
        }
        let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let dims = if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(",")) };
        let kind = one_line(&format!("{}{dims}", found.dtype()));
        writeln!(self.out, "{address:>12} {nbytes:>12}  {kind:<20} {}", one_line(&name(file)))
    }
}
