//! Testing the corpus of layouts: addresses, members, and errors that depend on values.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use dudley::{Error, Layout, Order, Resolver, Rules, Values};
use serde_json::{Value, json};

use crate::corpus::{OF_VALUES, cases, text};

/// Decodes standard base64.
fn bytes(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0_u32, |bits, &byte| bits << 6 | u32::from(value(byte)));
        let bits = bits << (6 * (4 - group.len()) + 8);
        bytes.extend_from_slice(&bits.to_be_bytes()[..group.len() - 1]);
    }
    bytes
}

fn stream(case: &Value) -> Option<Vec<u8>> {
    let stream = case["stream"].as_object()?;
    let mut bytes = bytes(stream["base64"].as_str().unwrap());
    let zeros = usize::try_from(stream["zeros"].as_u64().unwrap()).unwrap();
    bytes.resize(bytes.len() + zeros, 0);
    Some(bytes)
}

fn resolver<'a>(
    layout: &'a Layout,
    case: &Value,
    stream: Option<&'a Vec<u8>>,
) -> Result<Resolver<'a>, Error> {
    let values: Values = case["params"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.as_i64().unwrap()))
        .collect();
    let resolver = Resolver::new(layout)
        .rules(Rules::new().order(Order::Little).values(values))
        .native(case["native"].as_bool().unwrap());
    match stream {
        Some(stream) => resolver.stream(stream),
        None => Ok(resolver),
    }
}

#[test]
fn every_address_matches_the_corpus() {
    let mut wrong = Vec::new();
    for case in cases() {
        let name = case["name"].as_str().unwrap();
        let expects_error = case["expect_error"]["code"].as_str();
        if expects_error.is_some_and(|code| !OF_VALUES.contains(&code)) {
            continue;
        }
        if case["expect"].is_null() && expects_error.is_none() {
            continue;
        }
        let layout = Layout::parse(text(&case)).unwrap();
        let stream = stream(&case);
        let resolver = resolver(&layout, &case, stream.as_ref()).unwrap();
        let table = match (resolver.table(), expects_error) {
            (Ok(table), None) => table,
            (Err(error), Some(code)) => {
                if error.code().map(dudley::diagnostic::Code::as_str) != Some(code) {
                    wrong.push(format!("{name}: {error}, expected {code}"));
                }
                continue;
            }
            (Err(error), None) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
            (Ok(_), Some(code)) => {
                wrong.push(format!("{name}: no error, expected {code}"));
                continue;
            }
        };
        let rows: Vec<Value> = table.iter().map(|row| json!(row)).collect();
        if let Some(expected) = case["expect"].as_array() {
            if &rows != expected {
                wrong.push(format!("{name}: {rows:#?}, expected {expected:#?}"));
            }
        }
        if let Some(expected) = case["expect_members"].as_array() {
            let mut rows = Vec::new();
            let outcome = resolver.walk(&table, table.rows(), |_, row| {
                let Some(row) = row else { return ControlFlow::Continue(()) };
                let mut row = json!(row);
                row.as_object_mut().unwrap().remove("strides");
                rows.push(row);
                ControlFlow::Continue(())
            });
            outcome.unwrap();
            if &rows != expected {
                wrong.push(format!("{name}: {rows:#?}, expected {expected:#?}"));
            }
        }
        if !case["end"].is_null() && json!(table.end()) != case["end"] {
            wrong.push(format!("{name}: end {:?}, expected {}", table.end(), case["end"]));
        }
        if let Some(order) = case["order"].as_str() {
            assert_eq!(table.order().to_string(), order, "{name}");
        }
        for row in table.rows() {
            let dudley::layout::Subject::Item(id) = row.subject() else { continue };
            assert_eq!(table.row_of(id), Some(*row), "{name}");
            assert_eq!(resolver.locate(id).unwrap(), Some(*row), "{name}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn table_of(layout: &str, values: &[(&str, i64)]) -> Result<Vec<Value>, Error> {
    let layout = Layout::parse(layout).unwrap();
    let values: Values = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let resolver = Resolver::new(&layout).rules(Rules::new().order(Order::Little).values(values));
    Ok(resolver.table()?.iter().map(|row| json!(row)).collect())
}

fn addresses(layout: &str, values: &[(&str, i64)]) -> Vec<Option<u64>> {
    table_of(layout, values).unwrap().iter().map(|row| row["address"].as_u64()).collect()
}

fn code(layout: &str, values: &[(&str, i64)]) -> String {
    table_of(layout, values).unwrap_err().code().unwrap().to_string()
}

#[test]
fn complex_numbers_are_aligned_to_their_size_or_to_the_size_of_their_parts() {
    let layout = Layout::parse("a = i1  b = c4  c = i1  d = c8  e = i1  f = c16").unwrap();
    let addresses = |align| {
        let table =
            Resolver::new(&layout).rules(Rules::new().complex_align(align)).table().unwrap();
        table.rows().iter().map(|row| row.address().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(addresses(dudley::place::ComplexAlign::Size), [0, 4, 8, 16, 24, 32]);
    assert_eq!(addresses(dudley::place::ComplexAlign::Part), [0, 2, 6, 8, 16, 24]);
}

#[test]
fn values_for_instances_override_values_for_paths_which_override_values_for_names() {
    let layout = "t { N : i1  a = u1[N] }  x = t[3]  g/ N : i1  y = u1[N]  z = i1";
    let end = |values: &[(&str, i64)]| *addresses(layout, values).last().unwrap();
    assert_eq!(end(&[("N", 2)]), Some(9 + 1 + 2));
    assert_eq!(end(&[("N", 2), ("/g/N", 5)]), Some(9 + 1 + 5));
    assert_eq!(end(&[("N", 2), ("/x.N", 0)]), Some(3 + 1 + 2));
    assert_eq!(end(&[("N", 2), ("/x[1].N", 4)]), Some(3 + 5 + 3 + 1 + 2));
}

#[test]
fn a_value_for_a_path_with_brackets_in_a_quoted_name_applies_to_all_instances() {
    let layout = r#""a[b]" = { N : i1  a = u1[N] }[3]  y = i1"#;
    let values = [(r#"/"a[b]".N"#, 2), (r#"/"a[b]"[1].N"#, 4)];
    assert_eq!(addresses(layout, &values).last(), Some(&Some(3 + 5 + 3)));
}

#[test]
fn an_unknown_value_in_a_struct_makes_later_addresses_unknown() {
    let layout = "t { N : i1  a = u1[N] }  x = t  y = i4  z = i1 @64  w = i2";
    assert_eq!(addresses(layout, &[]), [Some(0), None, Some(64), Some(66)]);
    assert_eq!(code("N : i1  a = u1[N]", &[]), "E042");
    assert_eq!(addresses("N : i1  a = u1[0, N]  b = i1", &[("N", 7)])[2], Some(1));
}

#[test]
fn the_size_of_a_type_is_unknown_if_it_depends_on_an_unknown_parameter_of_the_enclosing_struct() {
    let text = "t { z = u1  a = u1[N] }  x = { N : u1  b = t[2] }  y = u1";
    assert_eq!(addresses(text, &[]), [Some(0), None]);
    assert_eq!(addresses(text, &[("N", 3)]), [0, 9].map(Some));
    let layout = Layout::parse(text).unwrap();
    let resolver = Resolver::new(&layout);
    let table = resolver.table().unwrap();
    let mut found = Vec::new();
    resolver
        .walk(&table, table.rows(), |_, row| {
            found.extend(row.map(|row| (row.path, row.address)));
            ControlFlow::Continue(())
        })
        .unwrap();
    let found: Vec<_> = found.iter().map(|(path, address)| (path.as_str(), *address)).collect();
    assert_eq!(
        found,
        [
            ("/x.N", Some(0)),
            ("/x.b", Some(1)),
            ("/x.b[0].z", Some(1)),
            ("/x.b[0].a", Some(2)),
            ("/x.b[1].z", None),
            ("/x.b[1].a", None),
        ]
    );
}

#[test]
fn values_for_list_elements_and_for_structs_in_an_instance_determine_sizes() {
    let counted = "{ N : u1  v = u1[N] }";
    let list = format!("l [{counted}[2], {counted}]  y = u1");
    assert_eq!(addresses(&list, &[("/l[0].N", 1), ("/l[1].N", 2)]), [0, 4, 7].map(Some));
    assert_eq!(addresses(&list, &[("/l.N", 1), ("/l[0][1].N", 3)]), [0, 6, 8].map(Some));
    let nested = format!("x = {{ y = {counted} }}[2]  z = u1");
    assert_eq!(addresses(&nested, &[("/x[0].y.N", 1), ("/x[1].y.N", 2)]), [0, 5].map(Some));
}

#[test]
fn a_value_for_an_outer_instance_determines_the_sizes_of_all_inner_instances_without_a_value() {
    let layout = "x = { y = { N : u1  v = u1[N] }[3] }[2]  z = u1";
    let values = [("/x[0].y.N", 1), ("/x[1].y.N", 2)];
    assert_eq!(addresses(layout, &values), [0, 3 * 2 + 3 * 3].map(Some));
    let values = [("/x[0].y.N", 1), ("/x[0].y[2].N", 5), ("/x.y.N", 0)];
    assert_eq!(addresses(layout, &values), [0, 2 * 2 + 6 + 3].map(Some));
}

#[test]
fn sizes_and_addresses_are_limited_to_63_bits() {
    let max = i64::MAX;
    assert_eq!(code("a = u1[0x7fffffffffffffff]  b = i1", &[]), "E040");
    assert_eq!(
        addresses("a = u1[0x7ffffffffffffffe]  b = i1", &[]),
        [Some(0), Some(max.unsigned_abs() - 1)]
    );
    assert_eq!(code("a = i1 @0x7fffffffffffffff  b = i2", &[]), "E040");
    assert_eq!(code("a = i1 b = i1 %0x4000000000000000 c = i1 %0x4000000000000000", &[]), "E040");
    assert_eq!(code("N : i8  a = u1[N+]", &[("N", max)]), "E040");
    assert_eq!(addresses("a = f8[0x7fffffffffffffff, 4, 0]  b = i1", &[]), [Some(0), Some(0)]);
    assert_eq!(code("t { a = f8[0x1000000000000] }  x = t[0x1000000000000]", &[]), "E040");
}

#[test]
fn types_whose_size_doubles_at_each_level_resolve_without_exponential_work() {
    for (inner, names) in [("x = f8", ""), ("x = u1[N]", "N : 3 ")] {
        let mut text = format!("{names}t0 {{ {inner} }}\n");
        for level in 1..50 {
            writeln!(text, "t{level} {{ a = t{0} b = t{0} }}", level - 1).unwrap();
        }
        text += "big = t49  y = i1";
        let end = addresses(&text, &[])[1].unwrap();
        assert!(end >= 3 << 49, "{end}");
        let layout = Layout::parse(&text).unwrap();
        let resolver = Resolver::new(&layout);
        let mut seen = 0;
        resolver
            .walk(&resolver.table().unwrap(), resolver.table().unwrap().rows(), |_, _| {
                seen += 1;
                if seen == 1000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        assert_eq!(seen, 1000);
    }
}

/// Returns a layout with 64 types, each with two members of the previous type, and an array of the
/// last type.
fn doubled(first: &str) -> Layout {
    let mut text = format!("t0 {{ {first} }}\n");
    for level in 1..=64 {
        writeln!(text, "t{level} {{ a = t{0} b = t{0} }}", level - 1).unwrap();
    }
    Layout::parse(text + "x = t64[5]  y = i1").unwrap()
}

#[test]
fn types_whose_size_doubles_at_each_level_resolve_or_fail_within_100_000_steps() {
    let limits = dudley::Limits::default().max_steps(100_000);
    let code = |resolver: Resolver<'_>| resolver.table().err().and_then(|error| error.code());
    let given = |values| Rules::new().limits(limits).values(values);
    let strings = doubled("N : i1  a = u1[N]");
    let resolver = || Resolver::new(&strings).rules(given(Values::new()));
    assert_eq!(resolver().table().unwrap().end(), None);
    let overflow = Some(dudley::diagnostic::Code::Overflow);
    assert_eq!(code(resolver().rules(given(Values::new().with("N", 3)))), overflow);
    let stream = vec![1_u8; 10_000];
    let short = Some(dudley::diagnostic::Code::StreamTooShort);
    assert_eq!(code(resolver().stream(&stream).unwrap()), short);
    // If a value is given for a path, the uses of a type may differ in size. Sizes are then not
    // cached, so resolving exceeds the step limit.
    let beyond = Some(dudley::diagnostic::Code::BeyondLimit);
    assert_eq!(code(resolver().rules(given(Values::new().with("N", 0).with("/x.a.N", 1)))), beyond);

    let empty = doubled("a = f8[0] -> gzip");
    let stream = vec![];
    for resolver in [Resolver::new(&empty), Resolver::new(&empty).stream(&stream).unwrap()] {
        assert_eq!(resolver.table().unwrap().find("/y").unwrap().address(), Some(0));
    }
    // `a` begins at the address of `N`. Resolving the layout must end with an error.
    let over = doubled("N : i1 @0  a = u1[N] @0");
    let stream = vec![0_u8; 64];
    assert!(
        code(Resolver::new(&over).rules(given(Values::new())).stream(&stream).unwrap()).is_some()
    );
}

#[test]
fn nested_types_with_different_parameter_values_at_each_level_exceed_the_step_limit() {
    let names: String = (0..40).map(|n| format!("N{n},")).collect();
    let mut text = format!("t0 {{ x = f8[{names}1] }}\n");
    for level in 0..40 {
        let part = |value: u8| format!("{{ N{level} : {value}  x = t{level} }}");
        writeln!(text, "t{} {{ a = {}  b = {} }}", level + 1, part(1), part(2)).unwrap();
    }
    let layout = Layout::parse(text + "x = t40").unwrap();
    let limits = dudley::Limits::default().max_steps(400_000);
    let error = Resolver::new(&layout).rules(Rules::new().limits(limits)).table().err().unwrap();
    assert_eq!(error.code().unwrap().as_str(), "E005");
    assert_eq!(
        code("t { N : i1  a = u1[N] }  x = t[0x100000000000000]", &[("N", 1), ("/x[5].N", 2)]),
        "E005"
    );
}

#[test]
fn empty_instances_are_not_visited_one_by_one() {
    let layout = Layout::parse(
        "M : i1  s { N : i1  a = u1[N] }  t { b = s[M] }  x = t[0x1000000000000000]  y = i1",
    )
    .unwrap();
    let stream = vec![0_u8, 7, 7];
    let table = Resolver::new(&layout).stream(&stream).unwrap().table().unwrap();
    assert_eq!(table.find("/y").unwrap().address(), Some(1));
}

#[test]
fn resolving_instances_stops_at_the_end_of_the_stream() {
    let layout = Layout::parse("s { N : i1  a = u1[N] }  x = s[0x1000000000000000]").unwrap();
    let stream = vec![1_u8; 1000];
    let error = Resolver::new(&layout).stream(&stream).unwrap().table().err().unwrap();
    assert_eq!(error.code().unwrap().as_str(), "E043");
    let text = error.to_string();
    assert!(
        text.contains("the stream ends at 1000: expected a value of type i1 at address 1000"),
        "{text}"
    );
}

#[test]
fn a_parameter_value_above_63_bits_is_an_error() {
    let layout = Layout::parse("N : u8  a = u1[N]").unwrap();
    let stream = vec![0xff_u8; 8];
    let error = Resolver::new(&layout).stream(&stream).unwrap().table().err().unwrap();
    assert_eq!(error.code().unwrap().as_str(), "E040");
}

/// Decodes a hexadecimal dump that contains no addresses.
fn dump(text: &str) -> Vec<u8> {
    text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

/// Resolves the four example files of the specification: a little-endian file with a layout, a
/// big-endian file without a layout, an extended file, and a file with a compressed array.
#[test]
fn the_files_in_the_specification_have_the_documented_addresses() {
    let of = |layout: &str, stream: &[u8]| {
        let layout = Layout::parse(layout).unwrap();
        let stream = stream.to_vec();
        let resolver = Resolver::new(&layout).stream(&stream).unwrap();
        let table = resolver.table().unwrap();
        let rows: Vec<_> = table.iter().map(|row| (row.address().unwrap(), row.dtype())).collect();
        (rows, table.end().unwrap())
    };
    let text = "N : i2  x = f8[N]  ## (cm) demo\n";
    let mut little = dump(
        "8d 3c 42 44 0d 0a 1a 0a 30 00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 00 00 00 00 00 00 f0 3f
         00 00 00 00 00 00 00 40 00 00 00 00 00 00 e0 bf",
    );
    little.extend(text.bytes());
    assert_eq!(little.len(), 80);
    let row = |address, dtype: &str| (address, dtype.to_owned());
    assert_eq!(of(text, &little), (vec![row(16, "<i2"), row(24, "<f8")], 48));
    let big = dump(
        "8d 3e 42 44 0d 0a 1a 0a 00 00 00 00 00 00 00 00 00 03 00 00 00 00 00 00 3f f0 00 00 00 00 00 00
         40 00 00 00 00 00 00 00 bf e0 00 00 00 00 00 00",
    );
    assert_eq!(of(text, &big), (vec![row(16, ">i2"), row(24, ">f8")], 48));
    let mut extended = little[..48].to_vec();
    extended[8] = 0x34;
    extended.extend([7, 0, 0, 0]);
    let text = text.to_owned() + "y = i4\n";
    extended.extend(text.bytes());
    assert_eq!(of(&text, &extended).0[2], row(48, "<i4"));
    let compressed = dump(
        "8d 3c 42 44 0d 0a 1a 0a 00 00 00 00 00 00 00 00 29 00 00 00 00 00 00 00 1f 8b 08 00 00 00 00 00
         02 ff 63 60 60 60 60 04 62 26 20 66 06 62 16 20 66 05 62 36 20 66 07 62 00 dc 23 07 79 20 00 00
         00 01",
    );
    let found = of("v = i4[8] -> gzip  w = i1", &compressed);
    assert_eq!(found, (vec![row(16, "<i4"), row(65, "i1")], 66));
    // The byte order in the layout takes precedence over the byte order in the signature.
    assert_eq!(of("> N : i2 @16", &little).0, [row(16, ">i2")]);
}

#[test]
fn invalid_counts_and_compressed_lengths_in_a_stream_are_errors() {
    let of = |layout: &str, stream: &[u8]| {
        let layout = Layout::parse(layout).unwrap();
        let stream = stream.to_vec();
        let resolver = Resolver::new(&layout)
            .rules(Rules::new().order(Order::Little))
            .stream(&stream)
            .unwrap();
        let found = resolver.table().map(|table| table.end());
        found.map_err(|error| error.to_string())
    };
    let count = |value: i64, more: usize| [&value.to_le_bytes()[..], &vec![0; more]].concat();
    for (layout, stream, expected) in [
        ("N : i8  a = u1[N]", count(-2, 0), "error[E041]: `/a`: a dimension is -2"),
        (
            "N : i8  a = u1[N]",
            count(i64::MIN, 0),
            "error[E041]: `/a`: a dimension is -9223372036854775808, expected at least -1",
        ),
        ("N : i8  a = f8[N]", count(i64::MAX, 0), "error[E040]: `/a`: the size is above 2^63-1"),
        ("N : i8  a = u1[N]", count(i64::MAX, 0), "error[E040]: `/a`: the address is above 2^63-1"),
        (
            "N : i8  a = u1[N+]",
            count(i64::MAX, 0),
            "error[E040]: `/a`: a dimension is above 2^63-1",
        ),
        (
            "N : i8  a = u1[N]",
            vec![0; 7],
            "error[E043]: `/N`: the stream ends at 7: expected a value of type i8",
        ),
        (
            "a = f8 -> gzip",
            count(-1, 9),
            "error[E044]: `/a`: the count at address 0 is -1, expected 0 to 9 compressed bytes",
        ),
        (
            "a = f8 -> gzip",
            count(10, 9),
            "error[E044]: `/a`: the count at address 0 is 10, expected 0 to 9 compressed bytes",
        ),
        ("a = f8 -> gzip", count(i64::MAX, 9), "error[E044]"),
        ("a = f8 -> gzip @0x7fffffffffffffff", vec![], "error[E043]"),
        ("N : i1 @0x7fffffffffffffff", vec![], "error[E043]"),
        ("t { N : i1  a = u1[N] }  x = t[3]", vec![1, 0, 254, 0], "error[E041]"),
    ] {
        let error = of(layout, &stream).unwrap_err();
        assert!(error.starts_with(expected), "{layout}: {error}");
    }
    assert_eq!(of("a = f8 -> gzip  b = i1", &count(9, 9)), Ok(Some(18)));
    assert_eq!(of("N : i8  a = f8[N] -> gzip", &count(0, 0)), Ok(Some(8)));
}

#[test]
fn data_beyond_the_end_of_a_stream_is_reported_once() {
    let layout = Layout::parse("N : i1  a = u1[N]  b = f8[100]  c = i1").unwrap();
    let stream = vec![3_u8, 0, 0, 0];
    let resolver = Resolver::new(&layout).stream(&stream).unwrap();
    let lints = resolver.diagnose(&resolver.table().unwrap());
    let told: Vec<String> = lints.iter().map(|found| format!("{found:#}")).collect();
    assert_eq!(told, ["note[L-past-end]: `/b` ends at 808, after the end of the stream at 4"]);
}

#[test]
fn an_invalid_layout_address_in_a_native_file_is_rejected() {
    let layout = Layout::parse("a = i1").unwrap();
    let open = |address: u64, len: usize| {
        let signature = dudley::Signature { order: Order::Big, layout_address: address };
        let mut stream = signature.to_bytes().to_vec();
        stream.resize(len, 0);
        let opened = Resolver::new(&layout).stream(&stream).map(|_| ());
        opened.map_err(|error| error.to_string())
    };
    assert_eq!(open(20, 20), Ok(()));
    assert_eq!(open(0, 16), Ok(()));
    let expected = "the address of the layout, at byte 8, is 21, but the file ends at byte 20";
    assert_eq!(open(21, 20), Err(expected.to_owned()));
    assert!(open(15, 20).unwrap_err().contains("expected 0 or at least 16"));
    assert!(open(1 << 63, 20).unwrap_err().contains("is -9223372036854775808"));
}

#[test]
fn a_damaged_signature_is_an_error_but_a_stream_too_short_for_a_signature_is_not() {
    let layout = Layout::parse("a = i1").unwrap();
    let open = |stream: &'static [u8]| {
        let stream: &'static _ = Box::leak(Box::new(stream.to_vec()));
        Resolver::new(&layout)
            .stream(stream)
            .map(|found| found.table().unwrap().rows()[0].address())
    };
    let error = open(b"\x8d<BD\n\x1a\n\0\0\0\0\0\0\0\0\0").unwrap_err();
    assert!(error.to_string().contains("text-mode"), "{error}");
    assert_eq!(open(b"").unwrap(), Some(0));
    assert_eq!(open(b"\x8d").unwrap(), Some(0));
    assert_eq!(open(b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\0").unwrap(), Some(16));
}

#[test]
fn a_filter_at_the_use_of_a_typedef_replaces_the_filter_of_the_typedef() {
    let rows = table_of("t { \"\" = i8[2] -> gzip }  x = t[3]", &[]).unwrap();
    assert_eq!(rows[0]["shape"], json!([3, 2]));
    assert_eq!(rows[0]["filter"], "-> gzip");
    let rows = table_of("t { \"\" = i8[2] -> gzip }  x = t[3] -> zfp @8", &[]).unwrap();
    assert_eq!(rows[0]["filter"], "-> zfp");
    let rows = table_of("r { \"\" = i8 <- ref }  x = r[3]  y = i1", &[]).unwrap();
    assert_eq!((&rows[0]["filter"], &rows[1]["address"]), (&json!("<- ref"), &json!(24)));
}

#[test]
fn an_extension_of_a_list_repeats_everything_except_the_placement() {
    let rows = table_of("N : 3  l [u1[N] -> gzip %64]  l @8  g/ N : 5  l [u1[N] %16]  l %0", &[]);
    let rows = rows.unwrap();
    let of = |at: usize| (&rows[at]["address"], &rows[at]["shape"], &rows[at]["filter"]);
    assert_eq!(of(1), (&json!(8), &json!([3]), &json!("-> gzip")));
    assert_eq!(addresses("l [u1[3] %16]  a = u1  l %0 %0 @4 %2", &[])[2..], [4, 7, 4, 8].map(Some));
}

#[test]
fn the_alignment_of_a_summary_applies_only_to_its_struct() {
    let layout = Layout::parse("{ %32 N : i1  t = f4 }  x = u1[N]").unwrap();
    let summary = layout.struct_type(layout.summary().unwrap().struct_type);
    assert_eq!(summary.align, Some(32));
    assert_eq!(addresses("{ %32 N : i1  t = f4 }  x = u1[N]", &[("N", 1)]), [0, 4, 8].map(Some));
}

#[test]
fn a_struct_whose_unnamed_member_has_an_address_is_not_a_typedef() {
    let rows = table_of("t { \"\" = f8 @16 }  x = t[2]  y = i1", &[]).unwrap();
    assert_eq!((&rows[0]["dtype"], &rows[0]["nbytes"]), (&json!("t"), &json!(48)));
}

#[test]
fn members_of_nested_structs_have_a_stride_for_each_enclosing_dimension() {
    let layout = Layout::parse("x = { a = i1  b = { c = i2  d = i8[2] }[4] }[2, 3]").unwrap();
    let resolver = Resolver::new(&layout);
    let table = resolver.table().unwrap();
    let mut found = Vec::new();
    resolver
        .walk(&table, table.rows(), |_, row| {
            let Some(row) = row else { return ControlFlow::Continue(()) };
            found.push((row.path, row.address, row.shape, row.strides, row.nbytes));
            ControlFlow::Continue(())
        })
        .unwrap();
    let size = 8 + 4 * 24;
    assert_eq!(
        found[3],
        ("/x.b.d".to_owned(), Some(16), vec![2, 3, 4, 2], vec![3 * size, size, 24], Some(16),)
    );
}

fn lints(layout: &str) -> Vec<String> {
    let layout = Layout::parse(layout).unwrap();
    let resolver = Resolver::new(&layout);
    let lints = resolver.diagnose(&resolver.table().unwrap());
    lints.iter().map(|lint| format!("{}: {}", lint.code, lint.message)).collect()
}

#[test]
fn data_in_order_of_declaration_causes_no_notes() {
    for layout in [
        "a = i1  b = f8  c = i1 %64",
        "a = i4[2]  b = i4 @8  c = i1 @12  d = f8 @16",
        "a = i1  b = u1[0] @5  c = i1",
        "t { %1 a = f8 @3 } x = t",
    ] {
        assert_eq!(lints(layout), [""; 0], "{layout}");
    }
}

#[test]
fn overlaps_and_unused_bytes_and_misaligned_or_unknown_addresses_are_reported() {
    assert_eq!(
        lints("a = i4[4]  b = i1 @3  c = i1 @20"),
        [
            "L-overlap: `/a` and `/b` overlap",
            "L-hole: bytes 16 to 20, before `/c`, belong to no item",
        ]
    );
    assert_eq!(
        lints("a = i4 @0  b = i4 @6"),
        ["L-misaligned-address: `/b` is at 6, which is not a multiple of its alignment 4",]
    );
    let unknown =
        |name| format!("L-unknown-address: the address of `/{name}` depends on the stream");
    assert_eq!(
        lints("a = f8 -> gzip  b = i1  c = i1  d = i1 @64  e = f8 -> gzip  f = i1"),
        [unknown("b"), unknown("f")],
        "`a` may fill all bytes before `d`"
    );
}

#[test]
fn a_table_has_no_rows_for_dicts_or_lists_or_fixed_parameters_or_members() {
    let layout = Layout::parse("g/ a = u1  / l [u1]  K : 3  s = { m = u1 }[2]").unwrap();
    let table = Resolver::new(&layout).table().unwrap();
    assert!(table.find("/g/a").is_ok() && table.find("/l[0]").is_ok());
    for (path, what) in [
        ("/g", "a dict"),
        ("/l", "a list"),
        ("/K", "a fixed parameter"),
        ("/s.m", "a part of an item"),
        ("/s[1]", "a part of an item"),
    ] {
        let error = table.find(path).err().unwrap();
        assert_eq!(error.to_string(), format!("`{path}` is {what}"));
    }
}
