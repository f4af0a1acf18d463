//! Comparing the exact text of every diagnostic with `diagnostics.txt`.
//!
//! Each section begins with `== CODE` and options:
//!
//! | word | meaning |
//! |---|---|
//! | `bytes` | the layout is written as hexadecimal bytes |
//! | `depth=2 dims=2 names=1 bindings=1 steps=9` | parse and resolve the layout with these limits |
//! | `stream=0a00` | resolve the layout with a stream that consists of these bytes |
//! | `resolve` | resolve the layout without values |
//! | `N=3` | resolve the layout with this parameter value |
//!
//! The layout, a `--` line and the output follow. All diagnostics in a section have the code of the
//! section.

use std::fmt::Write as _;

use dudley::diagnostic::Code;
use dudley::{Limits, Order, ParseOptions, Resolver, Rules, Source, Values};

#[test]
fn every_diagnostic_prints_the_recorded_text() {
    let path = testdata::path("dudley/diagnostics.txt");
    let recorded = std::fs::read_to_string(&path).unwrap();
    let mut text = String::new();
    let (mut codes, mut others) = (Vec::new(), Vec::new());
    for section in recorded.split("\n== ").map(|section| section.trim_start_matches("== ")) {
        let (head, body) = section.split_once('\n').unwrap();
        let (layout, _) = body.split_once("\n--").unwrap_or((body, ""));
        let code = head.split(' ').next().unwrap();
        let shown = shown(head, layout.trim_end_matches('\n'));
        for line in shown.lines().filter(|line| !line.starts_with(' ') && line.contains("]: ")) {
            if !line.contains(&format!("[{code}]")) {
                others.push(format!("{head}\n{layout}\n{shown}"));
            }
        }
        codes.push(code.to_owned());
        write!(text, "== {head}\n{}\n--\n{shown}\n", layout.trim_end_matches('\n')).unwrap();
    }
    assert!(others.is_empty(), "another code is shown:\n{}", others.join("\n"));
    for code in Code::ALL {
        assert!(codes.contains(&code.to_string()), "{code} is not shown");
    }
    if super::records() {
        std::fs::write(&path, text.trim_end().to_owned() + "\n").unwrap();
        return;
    }
    for (found, recorded) in text.split("== ").zip(recorded.split("== ")) {
        assert_eq!(found.trim_end(), recorded.trim_end());
    }
    eprintln!("{}: {} diagnostics agree", path.display(), codes.len());
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Applies the options in `head` to a layout, and returns the text of all its diagnostics.
fn shown(head: &str, layout: &str) -> String {
    let words: Vec<&str> = head.split(' ').skip(1).collect();
    let stated =
        |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    let limit = |key: &str| stated(key).map(|value| value.parse::<u32>().unwrap());
    let default = Limits::default();
    let limits = default
        .max_depth(limit("depth").unwrap_or(default.max_depth))
        .max_dims(limit("dims").unwrap_or(default.max_dims))
        .max_free_names(limit("names").unwrap_or(default.max_free_names))
        .max_bindings(limit("bindings").unwrap_or(default.max_bindings))
        .max_steps(limit("steps").unwrap_or(default.max_steps));
    let layout =
        if words.contains(&"bytes") { bytes(layout) } else { format!("{layout}\n").into_bytes() };
    let options = ParseOptions::new().limits(limits);
    let source = Source::decode_named(&layout, "run.dud");
    let layout = match source.and_then(|source| options.parse_source(source)) {
        Ok(layout) => layout,
        Err(error) => return error.to_string(),
    };
    let render = |found: &dudley::diagnostic::Diagnostic| layout.source().render(found, false);
    let mut all: Vec<String> = layout.diagnostics().iter().map(render).collect();
    let values: Values =
        words.iter().filter_map(|word| word.split_once('=')).filter_map(pair).collect();
    let is_resolved = words.contains(&"resolve") || values != Values::new();
    let stream = stated("stream").map(bytes);
    if is_resolved || stream.is_some() {
        let resolver = Resolver::new(&layout)
            .rules(Rules::new().order(Order::Little).values(values).limits(limits));
        let resolver = match &stream {
            Some(stream) => resolver.stream(stream).unwrap(),
            None => resolver,
        };
        match resolver.table() {
            Ok(table) => all.extend(resolver.diagnose(&table).iter().map(render)),
            Err(error) => all.push(error.to_string()),
        }
    }
    all.join("\n")
}

fn pair((name, value): (&str, &str)) -> Option<(String, i64)> {
    let is_param = name.starts_with(|first: char| first.is_uppercase() || first == '/');
    is_param.then(|| (name.to_owned(), value.parse().unwrap()))
}
