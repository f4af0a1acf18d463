//! Testing properties that hold for every layout, or for any input.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use dudley::diagnostic::Place;
use dudley::layout::Found;
use dudley::text::{Comment, Lexer, NodeKind, TokenKind, Tree};
use dudley::{Layout, Limits, Order, Resolver, Rules, Values};
use proptest::prelude::*;

/// Fragments for hostile layouts. Most of them are tokens, so that the parser often accepts a long
/// part of a layout.
const PIECES: [&str; 52] = [
    "a",
    "b",
    "N",
    "t",
    "u",
    "f8",
    "i4",
    "i8",
    "\"\"",
    "'x y'",
    "=",
    ":",
    ":=",
    "/",
    "..",
    "[",
    "]",
    "{",
    "}",
    ",",
    "@",
    "%",
    "->",
    "<-",
    "(",
    ")",
    "<",
    ">",
    "|",
    "+",
    "-",
    "--",
    "0",
    "1",
    "3",
    "-1",
    "0x10",
    "010",
    "1.5",
    " ",
    "\n",
    "\r\n",
    "# c\n",
    "## doc\n",
    "#: k=1\n",
    "#: k=[1,'a'\n",
    "\"",
    "µ",
    "\0",
    "gzip",
    "ref",
    "x = f8[N] ",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)
        .prop_map(|pieces| pieces.join(" "))
}

/// Generates a name. Some names are unusual, and names often collide, because only a few exist.
fn name() -> impl Strategy<Value = String> {
    let plain =
        prop::sample::select(vec!["a", "b", "c", "x1", "_y", "i4", "\"\"", "'q r'", "\"\\n#\""]);
    plain.prop_map(str::to_owned)
}

fn integer() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["1", "0", "-1", "42", "0x1f"]).prop_map(str::to_owned)
}

fn dim() -> impl Strategy<Value = String> {
    let named = prop::sample::select(vec!["N", "M", "N+", "M--", "N ++"]).prop_map(str::to_owned);
    prop_oneof![integer(), named]
}

fn comment() -> impl Strategy<Value = String> {
    let comments = [
        "",
        "",
        "",
        "",
        " ## doc\n",
        " ##tight\n ## more  \n",
        " #: k=1, 'l m'=[1,2.5]\n",
        " # plain\n",
        "\n\n\n",
    ];
    prop::sample::select(comments.to_vec()).prop_map(str::to_owned)
}

fn data(depth: u32) -> BoxedStrategy<String> {
    let primitive =
        prop::sample::select(vec!["f8", "i4", "<u2", "> i8", "|f4", "c16", "S1", "T", "P"]);
    let primitive = primitive.prop_map(str::to_owned);
    let datatype = if depth == 0 {
        primitive.boxed()
    } else {
        prop_oneof![3 => primitive, 1 => structure(depth - 1)].boxed()
    };
    let shape = prop::collection::vec(dim(), 0..3);
    let shape = shape.prop_map(|dims| {
        if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(",")) }
    });
    let filter = prop::sample::select(vec!["", "", "", " -> gzip", "-> zfp(-1e-3, 'x')", "<- ref"]);
    let place = prop::sample::select(vec!["", "", "", " @64", "%8", " % 0"]);
    (datatype, shape, filter, place)
        .prop_map(|(datatype, shape, filter, place)| format!("{datatype}{shape}{filter}{place}"))
        .boxed()
}

fn structure(depth: u32) -> BoxedStrategy<String> {
    let member =
        (data(depth), comment()).prop_map(|(data, comment)| format!(" = {data}{comment} "));
    let param =
        prop::sample::select(vec!["3", "i4", "u1 %4"]).prop_map(|value| format!(" : {value} "));
    let align = prop::sample::select(vec!["", "", "%16 "]);
    (align, prop::option::of(param), prop::collection::vec(member, 0..3), comment())
        .prop_map(|(align, param, members, comment)| {
            let mut text = format!("{{{align}");
            text.extend(param.map(|param| format!("N{param}")));
            for (nth, member) in members.iter().enumerate() {
                text += &format!("m{nth}{member}");
            }
            format!("{text}{comment}}}")
        })
        .boxed()
}

fn element(depth: u32) -> BoxedStrategy<String> {
    if depth == 0 {
        return data(0);
    }
    let list = prop::collection::vec((element(depth - 1), comment()), 0..3)
        .prop_map(|elements| bracket(&elements));
    let dict = items(depth - 1).prop_map(|items| format!("/ {items}"));
    prop_oneof![3 => data(1), 1 => list, 1 => dict].boxed()
}

fn bracket(elements: &[(String, String)]) -> String {
    let elements: Vec<String> =
        elements.iter().map(|(element, comment)| format!("{element}{comment}")).collect();
    format!("[{}]", elements.join(", "))
}

/// Generates the items of a dict. The names contain numbers that make them unique, so that the text
/// rarely has errors.
fn items(depth: u32) -> BoxedStrategy<String> {
    let list = prop::collection::vec((element(depth), comment()), 1..4)
        .prop_map(|elements| bracket(&elements));
    let item = prop_oneof![
        4 => data(2).prop_map(|data| format!(" = {data}")),
        2 => list.prop_map(|list| format!(" {list}")),
        1 => Just("/".to_owned()),
        1 => structure(1),
        1 => integer().prop_map(|value| format!(" := {value}")),
        1 => Just(" : i4 @ 8".to_owned()),
        1 => Just(" [f8] @%".to_owned()),
    ];
    let after = prop::sample::select(vec!["", "", "", "", "..", "/"]);
    prop::collection::vec((name(), item, comment(), after), 0..6)
        .prop_map(|items| {
            let mut text = String::new();
            for (nth, (name, item, comment, after)) in items.into_iter().enumerate() {
                let name = match name.strip_suffix(['"', '\'']) {
                    Some(open) => format!("{open}{nth}{}", &name[..1]),
                    None => format!("{name}_{nth}"),
                };
                let item = match item.strip_suffix(" @%") {
                    Some(list) => format!("{list} {name} %0 @ 64"),
                    None => item,
                };
                text += &format!("{name}{item}{comment} {after} ");
            }
            text
        })
        .boxed()
}

fn layout() -> impl Strategy<Value = String> {
    let head =
        prop::sample::select(vec!["", "<", "> ## all\n", "{ N2 : i8 time = f8 ## t\n x : f8 }"]);
    (head, items(2), comment(), items(1)).prop_map(|(head, first, comment, second)| {
        format!("{head} N : 3 M : i8 T {{a = f8 b = i4[N]}} P {{%8 \"\" = f8[M, 2]}} {first} {comment} / d9/ {second}")
    })
}

/// Returns the rows of all items and members in a layout, and the end of the data. Returns `None`
/// if the rows cannot be resolved, or if there are 1,000 or more rows.
fn resolved(resolver: &Resolver<'_>) -> Option<(Vec<serde_json::Value>, Option<u64>)> {
    let table = resolver.table().ok()?;
    let mut rows = Vec::new();
    let outcome = resolver.walk(&table, table.rows(), |row, member| {
        rows.push(match member {
            Some(member) => serde_json::json!(member),
            None => serde_json::json!(table.entry(row)),
        });
        if rows.len() < 1000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    outcome.ok()?;
    (rows.len() < 1000).then(|| (rows, table.end()))
}

/// Returns a stream that contains the value of each parameter at the address in its row, or `None`
/// if this is impossible, for example because two parameters overlap. In generated layouts, all
/// parameters of structs are called N.
fn stream_of(
    layout: &Layout,
    rows: &[serde_json::Value],
    value: impl Fn(&str) -> i64,
) -> Option<Vec<u8>> {
    let params = layout.params().filter(|&id| layout.param(id).value.is_stored());
    let names: HashMap<String, &str> =
        params.map(|id| (layout.subject_path(id.into()), layout.param_name(id))).collect();
    // Reject layouts in which data and a parameter have the same path.
    if names.keys().any(|path| matches!(layout.find(path), Ok(Found::Item(..)))) {
        return None;
    }
    let mut stream = Vec::new();
    let mut taken = HashSet::new();
    for row in rows {
        let path = row["path"].as_str()?;
        let of_struct = path.rsplit_once('.').filter(|(_, name)| *name == "N").map(|_| "N");
        let Some(name) = names.get(path).copied().or(of_struct) else { continue };
        let number = |key: &str| row[key].as_u64().and_then(|number| usize::try_from(number).ok());
        let (address, size) = (number("address")?, number("nbytes")?);
        if address > 1 << 20 || !(address..address + size).all(|byte| taken.insert(byte)) {
            return None;
        }
        stream.resize(stream.len().max(address + size), 0);
        let bytes = value(name).to_le_bytes();
        stream[address..address + size].copy_from_slice(&bytes[..size]);
        if row["dtype"].as_str()?.starts_with('>') {
            stream[address..address + size].reverse();
        }
    }
    Some(stream)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn given_values_and_values_from_a_stream_produce_the_same_addresses(
        text in layout(),
        [n, m, p] in [0_i64..4, 0_i64..4, 0_i64..4],
    ) {
        // Remove the filters, because the size of compressed data depends on the stream.
        let text = text.replace("-> gzip", "").replace("-> zfp(-1e-3, 'x')", "");
        let Ok(layout) = Layout::parse(&text) else { return Ok(()) };
        let value = |name: &str| match name {
            "N" => n,
            "M" => m,
            _ => p,
        };
        let names = layout.params().map(|id| layout.param_name(id).to_owned());
        let values: Values = names.map(|name| (name.clone(), value(&name))).collect();
        let given = Resolver::new(&layout).rules(Rules::new().order(Order::Little).values(values.clone()));
        let Some((rows, end)) = resolved(&given) else { return Ok(()) };
        let printed = Layout::parse(layout.to_string()).unwrap();
        let again = Resolver::new(&printed).rules(Rules::new().order(Order::Little).values(values));
        prop_assert_eq!(resolved(&again), Some((rows.clone(), end)));
        let Some(stream) = stream_of(&layout, &rows, value) else { return Ok(()) };
        let read = Resolver::new(&layout).rules(Rules::new().order(Order::Little)).stream(&stream).unwrap();
        prop_assert_eq!(resolved(&read), Some((rows, end)), "{}", text);
        for row in given.table().unwrap().rows() {
            let dudley::layout::Subject::Item(id) = row.subject() else { continue };
            prop_assert_eq!(given.locate(id).unwrap(), Some(*row));
            prop_assert_eq!(read.locate(id).unwrap(), Some(*row));
        }
    }

    #[test]
    fn a_generated_layout_prints_as_text_that_parses_to_the_same_layout(text in layout()) {
        if let Ok(layout) = Layout::parse(&text) {
            let printed = layout.to_string();
            let again = Layout::parse(&printed);
            prop_assert!(again.is_ok(), "{}\n{printed}", again.unwrap_err());
            prop_assert_eq!(again.unwrap(), layout, "{}", printed);
        }
    }

    #[test]
    fn formatting_preserves_the_layout_and_its_comments_and_is_idempotent(text in layout()) {
        let formatted = dudley::text::format(&text);
        prop_assert!(formatted.is_ok(), "{text}\n{}", formatted.unwrap_err());
        let formatted = formatted.unwrap();
        prop_assert_eq!(&dudley::text::format(&formatted).unwrap(), &formatted);
        let comments = |text: &str| -> Vec<String> {
            let comments = Lexer::new(text).filter(|token| token.kind.is_comment());
            let words = comments.map(|token| text[token.start as usize..token.end as usize].to_owned());
            words.map(|comment| comment.replace(' ', "")).collect()
        };
        prop_assert_eq!(comments(&text), comments(&formatted));
        match (Layout::parse(&text), Layout::parse(&formatted)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(one, other),
            (one, other) => prop_assert_eq!(one.is_ok(), other.is_ok()),
        }
    }

    #[test]
    fn random_fragments_parse_or_fail_with_positions_inside_the_text(text in soup()) {
        match Layout::parse(&text) {
            Ok(layout) => {
                prop_assert_eq!(Layout::parse(layout.to_string()).unwrap(), layout);
            }
            Err(error) => {
                let end = |place: &Place| place.offset.unwrap() + place.len.unwrap();
                let ends = error.diagnostics().unwrap().iter().map(|found| end(&found.place));
                prop_assert!(ends.max() <= Some(text.len() as u64));
                prop_assert!(!error.to_string().is_empty());
            }
        }
        if let Ok(formatted) = dudley::text::format(&text) {
            prop_assert_eq!(&dudley::text::format(&formatted).unwrap(), &formatted);
        }
    }

    #[test]
    fn random_bytes_parse_or_fail_with_a_message(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Err(error) = Layout::parse(&bytes) {
            prop_assert!(!error.to_string().is_empty());
            let _ = serde_json::json!(error.diagnostics());
        }
    }

    #[test]
    fn tokens_cover_the_text_and_nodes_are_in_order(text in soup()) {
        let mut end = 0;
        for token in Lexer::new(&text) {
            prop_assert!(text[end as usize..token.start as usize].trim().is_empty());
            prop_assert!(token.end > token.start);
            end = token.end;
        }
        prop_assert!(text[end as usize..].trim().is_empty());
        let tree = Tree::parse(&text, &Limits::default());
        prop_assert!(tree.nodes.is_sorted_by_key(|node| node.start));
        prop_assert!(tree.diagnostics.is_sorted_by_key(|error| error.place.offset));
    }

    #[test]
    fn every_documentation_or_attribute_comment_has_a_subject_that_begins_before_it(text in soup()) {
        let tree = Tree::parse(&text, &Limits::default());
        let is_kept = |kind| matches!(kind, TokenKind::Doc | TokenKind::Attributes);
        let expected = Lexer::new(&text).filter(|token| is_kept(token.kind)).map(|token| token.start);
        let found = tree.comments.iter().map(|comment| comment.start);
        prop_assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        for comment in tree.comments.iter().filter(|comment| comment.subject != Comment::LAYOUT) {
            let subject = tree.nodes[comment.subject as usize];
            prop_assert!(subject.start < comment.start);
            let is_subject = matches!(
                subject.kind,
                NodeKind::Name
                    | NodeKind::Unnamed
                    | NodeKind::Element
                    | NodeKind::Top
                    | NodeKind::Up
                    | NodeKind::SummaryOpen
            );
            prop_assert!(is_subject, "{:?}", subject);
        }
    }
}

#[test]
fn most_generated_layouts_are_valid() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts = (0..200).map(|_| layout().new_tree(&mut runner).unwrap().current());
    let (good, bad): (Vec<String>, Vec<String>) =
        texts.partition(|text| Layout::parse(text).is_ok());
    assert!(good.len() > bad.len(), "{}", Layout::parse(&bad[0]).unwrap_err());
}
