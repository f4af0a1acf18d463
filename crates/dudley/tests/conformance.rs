//! Runs the conformance cases as any implementation would: from the files of the cases, and through
//! the public interface.
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

use std::path::Path;

use dudley::{Error, Layout, OpenOptions, Order, Resolver, Rules, Values};
use serde_json::{Value, json};

/// Decodes the hexadecimal stream of a case. Returns `None` if the case has no stream.
fn stream(case: &Value) -> Option<Vec<u8>> {
    let digits = case["stream"].as_str()?;
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    Some((0..digits.len()).step_by(2).map(byte).collect())
}

fn order(case: &Value) -> Order {
    match case["order"].as_str() {
        Some("<") => Order::Little,
        Some(">") => Order::Big,
        Some(other) => panic!("{other} is not an order"),
        None => Order::native(),
    }
}

/// Resolves the layout of a case, and returns the rows as JSON, with values if the case has a
/// stream.
fn rows(case: &Value) -> Result<Vec<Value>, Error> {
    let lines = case["layout"].as_array().unwrap().iter();
    let text: Vec<&str> = lines.map(|line| line.as_str().unwrap()).collect();
    let layout = Layout::parse(text.join("\n"))?;
    let shown = |row: Value, value: Option<Value>| {
        let mut shown = json!({});
        for key in ["path", "address", "shape", "dtype", "nbytes"] {
            shown[key] = row[key].clone();
        }
        if let Some(value) = value {
            shown["value"] = value;
        }
        shown
    };
    if let Some(stream) = stream(case) {
        let file = OpenOptions::new()
            .rules(Rules::new().order(order(case)))
            .layout(layout)
            .from_bytes(stream)?;
        if let Some(error) = file.stopped() {
            return Err(error.clone());
        }
        return file
            .table()
            .rows()
            .iter()
            .map(|&row| {
                let mut value = Vec::new();
                file.write_row_json(row, &mut value)?;
                let value = serde_json::from_slice(&value).unwrap();
                Ok(shown(json!(file.table().entry(row)), Some(value)))
            })
            .collect();
    }
    let given = case["params"].as_object().into_iter().flatten();
    let values: Values = given.map(|(name, value)| (name, value.as_i64().unwrap())).collect();
    let resolver = Resolver::new(&layout).rules(Rules::new().values(values).order(order(case)));
    let table = resolver.native(case["native"] == true).table()?;
    Ok(table.iter().map(|entry| shown(json!(entry), None)).collect())
}

#[test]
fn every_case_resolves_to_the_stated_rows_or_error() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/dudley/conformance/cases");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 50, "{} cases", paths.len());
    let mut failures = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let case: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let found = match rows(&case) {
            Ok(rows) => json!({ "rows": rows }),
            Err(error) => {
                let found = error.diagnostics().unwrap_or_else(|| panic!("{name}: {error}"));
                let first = found.first();
                let code = first.code.as_str();
                json!({"error": {"code": code, "line": first.place.line}})
            }
        };
        for key in ["rows", "error"] {
            if found[key] != case[key] {
                let (found, expected) = (&found[key], &case[key]);
                failures.push(format!(
                    "{name}: {}\nfound    {found}\nexpected {expected}",
                    case["about"]
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
