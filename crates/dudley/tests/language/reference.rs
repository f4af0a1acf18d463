//! Checking that every example on the reference page has the stated result.
//!
//! A ```` ```dudley ```` block must parse without errors, warnings or notes, unless its attributes
//! say otherwise: `error=E031` expects that code as the first error, and `warning=W001` expects
//! that code as the first warning or note. `native` places the data after a signature, `members`
//! adds members to the table, and any other `name=value` sets a parameter. A ```` ```text ````
//! block that begins with `address` is the table of the preceding layout, as printed by
//! `scibin dudley resolve --byte-order '<'`.

use std::ops::ControlFlow;

use dudley::diagnostic::{Code, Severity};
use dudley::{Layout, Order, Resolver, Rules, Values};
use serde_json::Value;

const PAGE: &str = include_str!("../../LANGUAGE.md");

pub(crate) struct Example {
    line: usize,
    info: Vec<String>,
    pub(crate) layout: String,
    table: Option<String>,
}

impl Example {
    fn stated(&self, key: &str) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn has(&self, word: &str) -> bool {
        self.info.iter().any(|known| known == word)
    }

    fn values(&self) -> Values {
        let pairs = self.info.iter().filter_map(|word| word.split_once('='));
        pairs.filter_map(|(name, value)| Some((name, value.parse::<i64>().ok()?))).collect()
    }
}

pub(crate) fn examples() -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut lines = PAGE.lines().enumerate();
    while let Some((line, text)) = lines.next() {
        let Some(info) = text.strip_prefix("```") else { continue };
        let fence = lines.by_ref().map(|(_, text)| text).take_while(|text| *text != "```");
        let body: String = fence.map(|text| format!("{text}\n")).collect();
        let mut words = info.split(',').map(str::to_owned);
        match words.next().as_deref() {
            Some("dudley") => {
                let info = words.collect();
                examples.push(Example { line: line + 1, info, layout: body, table: None });
            }
            Some("text") if body.starts_with("address") => {
                examples.last_mut().unwrap().table = Some(body);
            }
            _ => {}
        }
    }
    examples
}

#[test]
fn every_example_has_the_stated_errors_and_warnings() {
    assert!(examples().len() > 30);
    for example in examples() {
        let line = example.line;
        let parsed = Layout::parse(&example.layout);
        let error = parsed.as_ref().err().map(|error| error.code().unwrap().as_str());
        let stated = example.stated("error").filter(|code| *code < "E040");
        assert_eq!(error, stated, "line {line}");
        let Ok(layout) = parsed else { continue };
        let odd = layout.diagnostics().iter().map(|found| found.code.as_str()).next();
        assert_eq!(odd, example.stated("warning"), "line {line}");
        assert_eq!(crate::parse(&layout.to_string()), layout, "line {line}");
    }
}

#[test]
fn every_table_matches_the_addresses_of_the_preceding_layout() {
    let mut tables = 0;
    for example in examples() {
        let Ok(layout) = Layout::parse(&example.layout) else { continue };
        let resolver = Resolver::new(&layout)
            .rules(Rules::new().order(Order::Little).values(example.values()))
            .native(example.has("native"));
        let table = match resolver.table() {
            Ok(table) => table,
            Err(error) => {
                let stated = example.stated("error");
                let has_table = example.table.is_some();
                let code = error.code().map(Code::as_str);
                assert!(!has_table && (stated.is_none() || stated == code), "{error}");
                continue;
            }
        };
        assert_eq!(example.stated("error"), None, "line {}", example.line);
        let Some(expected) = &example.table else { continue };
        let mut found = vec!["address nbytes type path".to_owned()];
        let visit = |row, member: Option<dudley::place::MemberRow<'_>>| {
            match member {
                None => found.push(line(&serde_json::json!(table.entry(row)))),
                Some(member) if example.has("members") => {
                    found.push(line(&serde_json::json!(member)));
                }
                Some(_) => {}
            }
            ControlFlow::Continue(())
        };
        resolver.walk(&table, table.rows(), visit).unwrap();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected: Vec<String> = expected.lines().map(words).collect();
        assert_eq!(found, expected, "line {}:\n{}", example.line, found.join("\n"));
        tables += 1;
    }
    assert!(tables > 10);
}

/// Formats a row in the same way as `scibin dudley resolve`, except for the spaces between columns.
fn line(row: &Value) -> String {
    let number = |name: &str| row[name].as_u64().map_or("?".to_owned(), |n| n.to_string());
    let shape: Vec<String> =
        row["shape"].as_array().unwrap().iter().map(Value::to_string).collect();
    let mut datatype = row["dtype"].as_str().unwrap().to_owned();
    if !shape.is_empty() {
        datatype += &format!("[{}]", shape.join(","));
    }
    if let Some(filter) = row["filter"].as_str() {
        datatype += &format!(" {filter}");
    }
    if let Some(stride) = row["stride"].as_u64() {
        datatype += &format!(" stride {stride}");
    }
    let path = row["path"].as_str().unwrap();
    format!("{} {} {datatype} {path}", number("address"), number("nbytes"))
}

#[test]
fn the_reference_page_lists_every_code_with_its_meaning() {
    let kind = |severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    for code in Code::ALL.iter().copied() {
        let row = format!("| {code} | {} |", code.meaning().replace('|', "\\|"));
        assert!(PAGE.contains(&row), "{} {code}: the page lacks {row}", kind(code.severity()));
    }
}
