//! Comparing our parser with the C loader of `PyYAML` on random YAML sources. Apart from a few
//! allowed differences, both must accept the same sources and produce the same events and values.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;

use asdf::Error;
use asdf::diagnostic::Code;
use asdf::tree::json::Options;
use asdf::yaml::{Document, NodeId, NodeKind, NodeStyle, YamlNode};
use serde_json::{Value, json};

use crate::{try_json, try_parse};

/// The result of `PyYAML` for a YAML source; see `tests/interop/yaml_texts.py`.
struct Case {
    text: String,
    /// The error of `PyYAML`, if it rejects the text.
    rejected: Option<String>,
    /// If `PyYAML` parses the text but creates no value to compare, the reason.
    unmade: Option<String>,
    events: Vec<Value>,
    json: Value,
}

impl Case {
    fn read(line: &str) -> Self {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| case[name].as_str().map(str::to_owned);
        let (rejected, unmade) = (text("rejected"), text("unmade"));
        let text = text("text").unwrap();
        let events = case["events"].as_array().cloned().unwrap_or_default();
        Self { text, rejected, unmade, events, json: case["json"].take() }
    }

    /// Returns the error with which `PyYAML` rejects the text, either when parsing the text or when
    /// composing the nodes.
    fn rejection(&self) -> Option<&str> {
        let undefined = self.unmade.as_deref().filter(|why| why.contains("undefined alias"));
        self.rejected.as_deref().or(undefined)
    }
}

/// An intended difference between the two parsers. `test` recognises the difference by the case,
/// our result, and the codes of our diagnostics.
struct Allowed {
    reason: &'static str,
    test: fn(&Case, Result<&Document, &str>, &[Code]) -> bool,
}

/// The kinds of sources that only one of the two parsers may reject.
const ALLOWED: &[Allowed] = &[
    Allowed {
        reason: "allowed: an unknown directive is a diagnostic",
        test: |_, _, codes| codes.contains(&Code::UnknownDirective),
    },
    Allowed {
        reason: "allowed: any YAML version 1.x is accepted",
        test: |case, ours, _| ours.is_ok() && says(case, "found incompatible YAML document"),
    },
    Allowed {
        reason: "allowed: the prefix of a tag handle may have any characters except white space",
        test: |case, ours, _| {
            let messages = ["while scanning a %TAG directive", "while parsing a %TAG directive"];
            ours.is_ok() && messages.iter().any(|message| says(case, message))
        },
    },
    Allowed {
        reason: "allowed: libyaml skips the bracket after a key without text",
        test: |case, ours, _| ours.is_ok() && case.text.contains('?') && says(case, "',' or ']'"),
    },
    Allowed {
        reason: "allowed: PyYAML fails to create a value before it reaches an alias without an anchor",
        test: |case, ours, _| {
            case.unmade.is_some() && ours.is_err_and(|why| why.contains("before this alias"))
        },
    },
    Allowed {
        reason: "allowed: text after `...` is not part of the tree",
        test: |case, ours, _| ours.is_ok() && has_document_end(&case.text),
    },
];

/// Returns `true` if `PyYAML` rejects the text with a message that contains `message`.
fn says(case: &Case, message: &str) -> bool {
    case.rejection().is_some_and(|why| why.contains(message))
}

/// Returns `true` if a line begins with `...`.
fn has_document_end(text: &str) -> bool {
    text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).any(|line| line.starts_with("..."))
}

#[test]
fn interop_yaml_sources_produce_the_same_events_and_values_as_in_pyyaml() {
    let Some(folder) = testdata::interop_folder() else { return };
    let file = std::fs::File::open(folder.join("yaml.jsonl")).unwrap();
    let mut differences = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for line in std::io::BufReader::new(file).lines() {
        let case = Case::read(&line.unwrap());
        let outcome = match compare(&case) {
            Ok(outcome) => outcome,
            Err(difference) => {
                differences.push(format!("{:?}\n    {difference}", case.text));
                "different"
            }
        };
        *counts.entry(outcome).or_default() += 1;
    }
    for (outcome, count) in counts {
        eprintln!("{count:>8} {outcome}");
    }
    differences.sort_by_key(String::len);
    let shown: Vec<_> = differences.iter().take(40).map(String::as_str).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), shown.join("\n"));
}

/// Compares the results for a YAML source. Returns the outcome, or a description of the difference.
fn compare(case: &Case) -> Result<&'static str, String> {
    let (document, diagnostics) = try_parse(&case.text);
    let codes: Vec<Code> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    let message = document.as_ref().err().map(Error::to_string);
    let verdict = document.as_ref().map_err(|_| message.as_deref().unwrap_or_default());
    let mut allowed = ALLOWED.iter().filter(|it| (it.test)(case, verdict, &codes));
    match (case.rejection(), &document) {
        (Some(_), Err(_)) => Ok("rejected by both"),
        (Some(why), Ok(_)) => match allowed.next() {
            Some(allowed) => Ok(allowed.reason),
            None => Err(format!("PyYAML rejects it: {why}")),
        },
        (None, Err(error)) => match allowed.next() {
            Some(allowed) => Ok(allowed.reason),
            None => Err(format!("we reject it: {error}")),
        },
        (None, Ok(document)) => same(case, document),
    }
}

fn same(case: &Case, document: &Document) -> Result<&'static str, String> {
    let events = events_of(document);
    let root = document.root();
    let is_empty = match &case.events[..] {
        [] => true,
        [only] => only[0] == "scalar" && only[3] == "" && only[4] == "",
        _ => false,
    };
    // A tree without content is an empty mapping, as in the reference implementation.
    if is_empty && root.kind() == NodeKind::Mapping && root.is_empty() {
        return Ok("no content");
    }
    let is_same = |at: usize| match (events.get(at), case.events.get(at)) {
        (Some(ours), Some(theirs)) => ours == theirs || is_pair(ours, theirs),
        (ours, theirs) => ours == theirs,
    };
    if let Some(at) = (0..events.len().max(case.events.len())).find(|&at| !is_same(at)) {
        let (ours, theirs) = (events.get(at), case.events.get(at));
        return Err(format!("event {at}: ours {ours:?}, PyYAML's {theirs:?}"));
    }
    let json = try_json(document, Options::default());
    if case.unmade.is_some() {
        return Ok("the same events, no value in PyYAML");
    }
    let json = json.map_err(|error| format!("no JSON: {error}"))?;
    // Complex numbers are not compared, because PyYAML has none.
    let json: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    if json != case.json && !case.text.contains("!core/complex") {
        return Err(format!("ours {json}\n    PyYAML's {}", case.json));
    }
    Ok("the same events and value")
}

/// Returns `true` if both events begin a mapping without braces in a list, such as `[a: 1]`.
/// `PyYAML` reports the flow style of the list, but this crate reports block style.
fn is_pair(ours: &Value, theirs: &Value) -> bool {
    let without_style = |event: &Value| {
        let mut event = event.clone();
        event[3].take();
        event
    };
    (&ours[0], &ours[3], &theirs[3]) == (&json!("mapping"), &json!("block"), &json!("flow"))
        && without_style(ours) == without_style(theirs)
}

/// Converts a document to events, each with its kind, anchor, tag, style and text.
fn events_of(document: &Document) -> Vec<Value> {
    enum Step<'a> {
        Node(YamlNode<'a>),
        End,
    }
    let mut seen: HashSet<NodeId> = HashSet::new();
    let mut events = Vec::new();
    let mut steps = vec![Step::Node(document.root())];
    while let Some(step) = steps.pop() {
        let Step::Node(node) = step else {
            events.push(json!(["end", null, null, "", ""]));
            continue;
        };
        // A node that was visited before is reached through an alias, because anchors come before
        // their aliases.
        if !seen.insert(node.id()) {
            events.push(json!(["alias", node.anchor(), null, "", ""]));
            continue;
        }
        let style = match node.style() {
            NodeStyle::Plain => "",
            NodeStyle::SingleQuoted => "'",
            NodeStyle::DoubleQuoted => "\"",
            NodeStyle::Literal => "|",
            NodeStyle::Folded => ">",
            NodeStyle::Block => "block",
            NodeStyle::Flow => "flow",
        };
        let kind = match node.kind() {
            NodeKind::Sequence => "sequence",
            NodeKind::Mapping => "mapping",
            _ => "scalar",
        };
        let text = node.text().unwrap_or_default();
        events.push(json!([kind, node.anchor(), node.tag(), style, text]));
        if node.text().is_some() {
            continue;
        }
        steps.push(Step::End);
        let first = steps.len();
        steps.extend(node.items().map(Step::Node));
        steps.extend(node.raw_entries().flat_map(|(key, value)| [key, value]).map(Step::Node));
        steps[first..].reverse();
    }
    events
}
