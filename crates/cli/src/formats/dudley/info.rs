//! `scibin info`: summarises layouts and native files.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use dudley::file::VerifyReport;
use dudley::layout::Declaration;
use dudley::{ItemId, Layout, Order};
use serde_json::{Value, json};

use super::check::{report, report_json, verdict_on};
use super::tree::outline;
use super::{data, show_all};
use crate::Verdict;
use crate::failure::{Failure, name};
use crate::output::html::{Pictures, Report};
use crate::output::{Output, one_line, print_json};

/// The maximum number of parameter names shown.
const MAX_NAMES: usize = 20;

pub(crate) fn info(path: &Path, output: Output) -> Result<Verdict, Failure> {
    let report = report(path)?;
    let verdict = verdict_on(&report.diagnostics);
    if output.json {
        print_json(&info_json(path, &report))?;
        return Ok(verdict);
    }
    if verdict != Verdict::Fine {
        show_all(&report.diagnostics, &report.source);
    }
    let mut out = BufWriter::new(io::stdout().lock());
    writeln!(out, "{}: Dudley {}", one_line(&name(path)), kind(&report))?;
    for (key, value) in rows(&report) {
        let shown = match value {
            Value::String(text) => text,
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
            }
            other => other.to_string(),
        };
        writeln!(out, "  {key:<17}  {}", one_line(&shown))?;
    }
    out.flush()?;
    Ok(verdict)
}

/// Returns the content of the HTML report on a layout or a native file.
pub(crate) fn report_on(path: &Path) -> Result<Report, Failure> {
    let report = report(path)?;
    let mut pictures = Pictures::default();
    if report.signature.is_some() {
        // Ignore an error: if the file is damaged or its layout is missing, omit the pictures.
        let _ = data::draw_images(path, &mut pictures);
    }
    Ok(Report {
        info: info_json(path, &report),
        verification: report_json(path, &report),
        tree: report.layout.as_ref().map(|layout| outline(&json!(layout))),
        pictures,
    })
}

fn info_json(path: &Path, report: &VerifyReport) -> Value {
    let mut object = json!({
        "file": path.display().to_string(), "format": "dudley", "kind": kind(report),
        "ok": verdict_on(&report.diagnostics) == Verdict::Fine, "diagnostics": report.diagnostics,
    });
    for (key, value) in rows(report) {
        object[key.replace(' ', "_")] = value;
    }
    object
}

fn kind(report: &VerifyReport) -> &'static str {
    if report.signature.is_some() { "native file" } else { "layout" }
}

/// Returns the properties of a file and its layout, as pairs of name and value.
fn rows(report: &VerifyReport) -> Vec<(&'static str, Value)> {
    let mut rows: Vec<(&str, Value)> = Vec::new();
    if let Some(signature) = report.signature {
        rows.push(("byte order", order(signature.order).into()));
        rows.push(match signature.layout_address {
            0 => ("layout", "in another file".into()),
            address => ("layout address", address.into()),
        });
    }
    if let Some(layout) = &report.layout {
        rows.extend(declared(layout));
    }
    rows
}

fn order(order: Order) -> &'static str {
    match order {
        Order::Little => "little",
        Order::Big => "big",
    }
}

/// Returns the properties of a layout, such as the number of arrays and the names of the
/// parameters, as pairs of name and value.
fn declared(layout: &Layout) -> Vec<(&'static str, Value)> {
    let data = layout.items().filter(|&id| layout.data_of(id).is_some()).count();
    let params = layout.declarations().iter().filter_map(|found| match *found {
        Declaration::Param(id) => Some(id),
        _ => None,
    });
    let stored = params.filter(|&id| layout.param(id).value.is_stored());
    let stored: Vec<&str> = stored.take(MAX_NAMES).map(|id| layout.param_name(id)).collect();
    let types = layout.types().filter(|&id| layout.type_name(id).is_some()).count();
    let docs: Vec<&str> = layout.docs(ItemId::ROOT.into()).collect();
    let rows = [
        ("order", layout.order().map(|stated| order(stated).into())),
        ("arrays", Some(data.into())),
        ("dicts and lists", Some((layout.items().len() - data).into())),
        ("parameters", (!stored.is_empty()).then(|| stored.into())),
        ("types", Some(types.into())),
        ("summary", layout.summary().map(|_| true.into())),
        ("documentation", (!docs.is_empty()).then(|| docs.join(" ").into())),
    ];
    rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
