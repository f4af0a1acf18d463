//! `scibin asdf search`: finds nodes by key, value, type, tag and pointer.

use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;

use asdf::inspect::{Match, Pattern, Relation, Search, ValueTest};
use asdf::yaml::NodeKind;
use regex_lite::Regex;
use serde_json::{Value, json};

use crate::Verdict;
use crate::arguments::asdf::SearchRequest;
use crate::failure::{Failure, name};
use crate::output::{Output, one_line, write_json};

pub(super) fn search(request: &SearchRequest, output: Output) -> Result<Verdict, Failure> {
    let path = &request.file;
    let search = wanted(request)?;
    let file = super::open(path, &request.reading)?;
    let tree = file.tree().map_err(|error| Failure::asdf(path, error))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut found, mut failed) = (0_u64, None);
    if output.json {
        out.write_all(b"[")?;
    }
    let searched = tree.search(&search, &mut |one| {
        let comma = if found > 0 { "," } else { "" };
        found += 1;
        let written = if output.json {
            out.write_all(comma.as_bytes()).and_then(|()| write_json(&mut out, &match_json(&one)))
        } else {
            // Print the pointer to the root, which is empty, as "" to make it visible.
            let pointer = if one.pointer.is_empty() { "\"\"" } else { &one.pointer };
            writeln!(out, "{} = {}", one_line(pointer), one_line(&one.summary()))
        };
        failed = written.err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    failed.map_or(Ok(()), Err)?;
    if output.json {
        out.write_all(b"]\n")?;
    }
    out.flush()?;
    drop(out);
    super::remark(path, &file, output);
    searched.map_err(|error| Failure::asdf(path, error))?;
    if found == 0 {
        output.remark(&format_args!("{}: no node matches", name(path)));
    }
    Ok(Verdict::Fine)
}

fn wanted(request: &SearchRequest) -> Result<Search<'static>, Failure> {
    let mut search = Search::new();
    if let Some(key) = &request.key {
        let key = regex("--key", key)?;
        search = search.key(move |text| key.is_match(text));
    }
    if let Some(value) = &request.value {
        search = search.value(value_test(value)?);
    }
    if let Some(name) = &request.type_name {
        search = search.type_name(name);
    }
    if let Some(tag) = &request.tag {
        search = search.tag(tag);
    }
    if let Some(pattern) = &request.pointers {
        let pattern = Pattern::parse(pattern);
        search = search
            .pointers(pattern.map_err(|error| Failure::other("--pointer", error.to_string()))?);
    }
    Ok(search)
}

/// Parses the argument of `--value`: a comparison or, as in asdftool, JSON. A JSON string, or text
/// that is not JSON, is a regular expression.
fn value_test(value: &str) -> Result<ValueTest<'static>, Failure> {
    for (sign, relation) in [
        (">=", Relation::AtLeast),
        ("<=", Relation::AtMost),
        (">", Relation::Greater),
        ("<", Relation::Less),
    ] {
        let Some(number) = value.strip_prefix(sign) else { continue };
        let number = serde_json::from_str(number.trim()).map_err(|_| {
            Failure::other("--value", format!("expected a number after `{sign}`, found {number:?}"))
        })?;
        return Ok(ValueTest::Compare(relation, number));
    }
    match serde_json::from_str(value) {
        Ok(Value::String(text)) => text_that_matches(&text),
        Ok(json) => Ok(ValueTest::Equal(json)),
        Err(_) => text_that_matches(value),
    }
}

fn text_that_matches(pattern: &str) -> Result<ValueTest<'static>, Failure> {
    let value = regex("--value", pattern)?;
    Ok(ValueTest::Text(Box::new(move |text| value.is_match(text))))
}

fn regex(option: &str, pattern: &str) -> Result<Regex, Failure> {
    Regex::new(pattern)
        .map_err(|error| Failure::other(option, format!("not a regular expression: {error}")))
}

/// Returns a JSON object with the pointer, the type and the tag of a node, and its value if it is a
/// scalar.
fn match_json(found: &Match<'_>) -> Value {
    let node = found.node;
    let mut value = json!({"pointer": found.pointer, "type": kind_name(node), "tag": node.tag()});
    if let Some(text) = node.text() {
        value["value"] = match node.value() {
            Ok(asdf::yaml::Content::Null) => Value::Null,
            Ok(asdf::yaml::Content::Bool(value)) => value.into(),
            Ok(asdf::yaml::Content::Float(value)) if value.is_finite() => value.into(),
            _ => node.as_i64().map_or_else(|| text.into(), Into::into),
        };
    }
    value
}

/// Returns the name of a node's type for JSON output.
fn kind_name(node: asdf::Node<'_>) -> &'static str {
    if node.is_ndarray() {
        return "array";
    }
    match node.kind() {
        NodeKind::Null => "null",
        NodeKind::Bool => "boolean",
        NodeKind::Int => "integer",
        NodeKind::Float => "float",
        NodeKind::String => "string",
        NodeKind::Date | NodeKind::DateTime => "timestamp",
        NodeKind::Binary => "binary",
        NodeKind::Sequence => "sequence",
        NodeKind::Mapping => "mapping",
    }
}
