//! A second opinion: this crate and `yaml-rust2` must produce the same events for random documents.
//!
//! The random documents contain no features that `yaml-rust2` reads differently from libyaml:
//! directives, several tag handles, NEL, LS and PS, deeply nested brackets, pairs in brackets whose
//! values are collections, and quoted scalars with less indented continuation lines. The parsers
//! also differ if a block scalar is at the very end of a source, so a `...` line is added to each
//! document.

use asdf::yaml::notation::events;
use proptest::prelude::*;
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::scanner::TScalarStyle;

/// Returns the events of `yaml-rust2` without tags and anchors.
fn theirs(text: &str) -> Vec<String> {
    let mut parser = Parser::new_from_str(text);
    let mut lines = Vec::new();
    loop {
        lines.push(match parser.next_token().expect("the other parser reads it").0 {
            Event::StreamEnd => return lines,
            Event::Scalar(text, style, ..) => {
                let sign = match style {
                    TScalarStyle::Plain => ':',
                    TScalarStyle::SingleQuoted => '\'',
                    TScalarStyle::DoubleQuoted => '"',
                    TScalarStyle::Literal => '|',
                    TScalarStyle::Folded => '>',
                };
                format!("=VAL {sign}{}", text.replace('\\', "\\\\").replace('\n', "\\n"))
            }
            Event::SequenceStart(..) => "+SEQ".to_owned(),
            Event::MappingStart(..) => "+MAP".to_owned(),
            Event::SequenceEnd => "-SEQ".to_owned(),
            Event::MappingEnd => "-MAP".to_owned(),
            Event::Alias(_) => "=ALI".to_owned(),
            _ => continue,
        });
    }
}

fn ours(text: &str) -> Vec<String> {
    let lines = events(text.as_bytes()).expect("we read it");
    let lines = lines.into_iter().filter(|line| !line.contains("DOC") && !line.contains("STR"));
    let bare = lines.map(|line| {
        let words =
            line.split(' ').filter(|word| !(word.starts_with('&') || word.starts_with('<')));
        let brackets = line.starts_with('+');
        words
            .filter(|word| !(brackets && matches!(*word, "[]" | "{}")))
            .collect::<Vec<_>>()
            .join(" ")
    });
    bare.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn random_documents_produce_the_same_events_as_yaml_rust2(document in crate::random::document()) {
        let text = document + "...\n";
        prop_assert_eq!(ours(&text), theirs(&text), "{}", text);
    }
}
