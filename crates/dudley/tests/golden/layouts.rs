//! Comparing the diagnostics, declarations, formatted text and addresses of layouts with
//! `expected.json`.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use dudley::diagnostic::Diagnostic;
use dudley::place::{ComplexAlign, Origin};
use dudley::{Layout, Order, ParseOptions, Resolver, Rules, Source, Values};
use serde_json::{Map, Value, json};
use testdata::Case;

#[test]
fn golden_layouts_have_the_recorded_results() {
    let list = testdata::path("dudley/expected.json");
    let cases = testdata::cases(&list);
    let found: Vec<Value> = cases.iter().map(|case| found(case).into()).collect();
    if super::records() {
        std::fs::write(&list, record(&cases, &found)).unwrap();
        return;
    }
    let differences: Vec<String> = cases
        .iter()
        .zip(&found)
        .filter_map(|(case, found)| {
            let difference = testdata::difference(&case.ours, found)?;
            Some(format!("{}: {difference}", case.name))
        })
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    eprintln!("{}: {} cases agree", list.display(), cases.len());
}

fn found(case: &Case) -> Map<String, Value> {
    let bytes = std::fs::read(&case.file).unwrap();
    let source = Source::decode(&bytes).unwrap();
    let mut ours = Map::new();
    ours.insert("encoding".to_owned(), source.encoding().to_string().into());
    let formatted = ParseOptions::new().format_source(source.clone()).ok();
    let lines = formatted.as_ref().map(|text| text.lines().collect::<Vec<_>>());
    ours.insert("formatted".to_owned(), json!(lines));
    let layout = match ParseOptions::new().parse_source(source) {
        Ok(layout) => layout,
        Err(error) => {
            ours.insert(
                "check".to_owned(),
                error.diagnostics().unwrap().iter().map(shown).collect(),
            );
            return ours;
        }
    };
    ours.insert("check".to_owned(), layout.diagnostics().iter().map(shown).collect());
    ours.insert("tree".to_owned(), json!(layout));
    assert_eq!(Layout::parse(formatted.unwrap()).unwrap(), layout, "{}", case.name);
    assert_eq!(Layout::parse(layout.to_string()).unwrap(), layout, "{}", case.name);
    resolve(case, &layout, &mut ours);
    ours
}

/// Converts a diagnostic to text that contains lines and columns, but no offsets.
fn shown(diagnostic: &Diagnostic) -> Value {
    let json = json!(diagnostic);
    let line = format!("{}:{}: {diagnostic:#}", json["line"], json["column"]);
    let labels = json["labels"].as_array().into_iter().flatten();
    let labels = labels.map(|label| {
        let message = label["message"].as_str().unwrap_or_default();
        format!("{}:{}: {message}", label["line"], label["column"])
    });
    let help = diagnostic.help.iter().map(|help| format!("help: {help}"));
    [line].into_iter().chain(labels).chain(help).collect::<Vec<_>>().into()
}

fn resolve(case: &Case, layout: &Layout, ours: &mut Map<String, Value>) {
    let entry = &case.entry;
    let stream = entry["stream"].as_str().map(|name| {
        let path = testdata::path("dudley").join(name);
        std::fs::read(path).unwrap()
    });
    let params = entry["params"].as_object().into_iter().flatten();
    let values: Values =
        params.map(|(name, value)| (name.as_str(), value.as_i64().unwrap())).collect();
    assert_eq!(values.not_in(layout), [""; 0], "{}", case.name);
    let mut rules = Rules::new()
        .order(Order::Little)
        .values(values)
        .tail_padding(entry["tail_padding"] != false);
    if entry["complex_align"] == "part" {
        rules = rules.complex_align(ComplexAlign::Part);
    }
    if entry["origin"] == "data" {
        rules = rules.origin(Origin::Data);
    }
    let resolver = Resolver::new(layout).rules(rules).native(entry["native"] == true);
    let resolved = match &stream {
        Some(stream) => resolver.stream(stream),
        None => Ok(resolver),
    };
    let outcome = resolved.and_then(|resolver| {
        let table = resolver.table()?;
        let mut rows = Vec::new();
        resolver.walk(&table, table.rows(), |row, member| {
            rows.push(member.map_or_else(|| json!(table.entry(row)), |member| json!(member)));
            ControlFlow::Continue(())
        })?;
        let lints = resolver.diagnose(&table);
        let lints: Value = lints.iter().map(shown).collect();
        ours.insert("order".to_owned(), table.order().to_string().into());
        ours.insert("rows".to_owned(), rows.into());
        ours.insert("end".to_owned(), json!(table.end()));
        ours.insert("lints".to_owned(), lints);
        Ok(())
    });
    if let Err(error) = outcome {
        let shown = error.diagnostics().map(|found| shown(found.first()));
        ours.insert("error".to_owned(), shown.unwrap_or_else(|| error.to_string().into()));
    }
}

/// Formats the list of cases with their results as JSON. Each line of a layout, each row and each
/// diagnostic is on a separate line.
fn record(cases: &[Case], found: &[Value]) -> String {
    let mut text = "{\n  \"cases\": [".to_owned();
    for (nth, (case, found)) in cases.iter().zip(found).enumerate() {
        text += if nth > 0 { ",\n    {" } else { "\n    {" };
        for (key, value) in case.entry.as_object().unwrap().iter().filter(|(key, _)| *key != "ours")
        {
            write!(text, "\n      \"{key}\": {value},").unwrap();
        }
        text += "\n      \"ours\": {";
        for (nth, (key, value)) in found.as_object().unwrap().iter().enumerate() {
            write!(text, "{}\n        \"{key}\": ", if nth > 0 { "," } else { "" }).unwrap();
            match value.as_array().filter(|list| !list.is_empty()) {
                Some(list) => {
                    let lines: Vec<String> =
                        list.iter().map(|one| format!("          {one}")).collect();
                    write!(text, "[\n{}\n        ]", lines.join(",\n")).unwrap();
                }
                None => write!(text, "{value}").unwrap(),
            }
        }
        text += "\n      }\n    }";
    }
    text + "\n  ]\n}\n"
}
