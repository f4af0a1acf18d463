//! Testing that hostile layouts cause neither a panic nor unbounded recursion. If the work grew
//! exponentially, some of these tests would never end.

use std::fmt::Write as _;

use dudley::diagnostic::Code;
use dudley::{Layout, ParseOptions, Rules};

use crate::{codes, errors};

#[test]
fn nesting_of_every_kind_is_limited() {
    for unit in ["[", "{x=", "[/b", "a/", "a [/", "t {x=", "a=[", "a={x=", "[[/a/b[", "t/l[/"] {
        for head in ["a ", "a = ", "a [", ""] {
            let text = format!("{head}{}", unit.repeat(100_000));
            let error = errors(&text);
            assert!(error.to_string().len() < 200_000);
        }
    }
    for text in [
        "a [".to_owned() + &"[".repeat(100_000),
        "a/".repeat(100_000),
        "a = ".to_owned() + &"{x=".repeat(100_000),
    ] {
        assert_eq!(errors(&text).first().code, Code::TooDeep);
    }
    assert_eq!(codes("a [".repeat(100_000))[0], "E010");
}

#[test]
fn parsing_a_summary_with_an_unnamed_member_terminates() {
    assert_eq!(codes("{=x1ti } \0\0\0 t {x=i2{|=i3}").first(), Some(&"E031"));
    assert_eq!(codes("{= other }"), ["E031"]);
}

#[test]
fn layouts_of_the_maximum_nesting_depth_parse_on_a_small_stack() {
    let limits = dudley::Limits::default().max_depth(u32::MAX);
    let text = format!("a = {}i1{}", "{x=".repeat(400), "}".repeat(400));
    let lists = format!("a {}i1{}", "[".repeat(400), "]".repeat(400));
    let dicts = format!("{}a [{}", "a [/".repeat(199), "]".repeat(200));
    let parse = move || {
        for text in [text, lists, dicts] {
            let layout = ParseOptions::new().limits(limits).parse(&text).unwrap();
            let printed = layout.to_string();
            assert_eq!(ParseOptions::new().limits(limits).parse(&printed).unwrap(), layout);
            dudley::ParseOptions::new().limits(limits).format(&text).unwrap();
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(parse).unwrap().join().unwrap();
}

#[test]
fn types_of_the_maximum_nesting_depth_resolve_on_a_small_stack() {
    let resolve = || {
        let limits = dudley::Limits::default().max_depth(u32::MAX);
        let mut text = "t0 { N : i1  a = u1[N]  b = f4[2] }\n".to_owned();
        for n in 1..400 {
            let _ = writeln!(text, "t{n} {{ a = t{} }}", n - 1);
        }
        let layout = ParseOptions::new().limits(limits).parse(text + "x = t399[2]").unwrap();
        assert!(serde_json::json!(layout).is_object());
        let stream = vec![2_u8; 100];
        let given = dudley::Resolver::new(&layout)
            .rules(Rules::new().values(dudley::Values::new().with("N", 2)));
        for resolver in [given, dudley::Resolver::new(&layout).stream(&stream).unwrap()] {
            let table = resolver.table().unwrap();
            assert_eq!(table.end(), Some(24));
            let mut members = 0;
            let count = |_, member: Option<dudley::place::MemberRow<'_>>| {
                members += usize::from(member.is_some());
                std::ops::ControlFlow::Continue(())
            };
            resolver.walk(&table, table.rows(), count).unwrap();
            assert_eq!(members, 2 * (399 + 3));
        }
        assert!(dudley::place::diff(&layout, &layout, None).unwrap().changes().is_empty());
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(resolve).unwrap().join().unwrap();
}

/// Each path is very long, so thousands of copies would need too much memory.
#[test]
fn long_dict_names_are_not_copied_for_each_nested_item() {
    let name = "n".repeat(2_000);
    let deep: String = (0..100).map(|n| format!("{name}{n}/ ")).collect();
    let items =
        |text: &str| -> String { (0..1_500).map(|n| text.replace('#', &n.to_string())).collect() };
    let over = Layout::parse(format!("{deep} {}", items("x#=f8 @4 "))).unwrap();
    let resolver = dudley::Resolver::new(&over);
    let lints = resolver.diagnose(&resolver.table().unwrap());
    assert_eq!(lints.len(), 100);
    assert!(lints.iter().all(|lint| lint.message.len() < 1000));
    let comparison = dudley::place::diff(&over, &over, None).unwrap();
    assert!(comparison.is_partial() && comparison.changes().is_empty());

    let back_and_forth =
        Layout::parse(format!("{deep} {}", items("p/a#=f8 .. q/b#=f8 .. "))).unwrap();
    let printed = back_and_forth.to_string();
    assert!(printed.len() < 3_000_000, "{}", printed.len());
    assert_eq!(Layout::parse(&printed).unwrap(), back_and_forth);

    let often = " %0".repeat(20_000);
    let wide = items("m#=f8 ");
    let repeated = Layout::parse(format!("l{name} [{{{wide}}}] l{name}{often}")).unwrap();
    assert!(serde_json::json!(repeated).to_string().len() < 3_000_000);
    let printed = repeated.to_string();
    assert!(printed.len() < 200_000, "{}", printed.len());
    assert_eq!(Layout::parse(&printed).unwrap(), repeated);

    let strings = format!("{deep} {}", items("s#={N:i1 a=u1[N]} "));
    let layout = Layout::parse(strings).unwrap();
    let values = dudley::Values::new().with("N", 1).with("/nothing.N", 2);
    let error =
        dudley::Resolver::new(&layout).rules(Rules::new().values(values)).table().err().unwrap();
    assert_eq!(error.code(), Some(Code::BeyondLimit));
    assert!(error.to_string().len() < 10_000);
}

#[test]
fn limits_of_zero_do_not_cause_a_panic() {
    let none = dudley::Limits::default()
        .max_depth(0)
        .max_dims(0)
        .max_free_names(0)
        .max_bindings(0)
        .max_steps(0)
        .max_diagnostics(0);
    for text in
        ["a = f8", "a = f8[N]", "a/ b [f8]", "t {a = i1[N]} N : 1 x = t", "a = ] b = ]", ".."]
    {
        let options = ParseOptions::new().limits(none);
        let _ = options.format(text);
        match options.parse(text) {
            Ok(layout) => {
                drop(dudley::Resolver::new(&layout).rules(Rules::new().limits(none)).table());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn types_whose_size_doubles_at_each_level_parse_without_exponential_work() {
    let mut text = "t0 { x = f8 }\n".to_owned();
    for n in 1..=64 {
        let _ = writeln!(text, "t{n} {{ a = t{0} b = t{0} }}", n - 1);
    }
    text.push_str("x = t64");
    let layout = Layout::parse(&text).unwrap();
    assert_eq!(layout.struct_type(layout.type_named("t64").unwrap()).depth, 65);
    for n in 65..200 {
        let _ = write!(text, " t{n} {{ a = t{0} b = t{0} }}", n - 1);
    }
    assert_eq!(errors(&text).first().code, Code::TooDeep);
}

#[test]
fn a_type_with_too_many_free_names_exceeds_the_limit() {
    let names: String =
        (0..300).fold(String::new(), |names, n| names + &format!(" m{n} = i1[n{n}]"));
    assert_eq!(errors(format!("t {{{names}}}")).first().code, Code::BeyondLimit);
}

#[test]
fn many_uses_of_a_type_with_many_free_names_parse_or_exceed_the_limit() {
    let many = 4_000;
    let names =
        |text: &str| (0..250).map(|n| text.replace('#', &n.to_string())).collect::<String>();
    let wide = format!("{} t {{ a = i1[{}1] }} ", names("n#:1 "), names("n#,"));
    let uses =
        |text: &str| (0..many).map(|n| text.replace('#', &n.to_string())).collect::<String>();
    let deep = "q/ ".to_owned() + &names("n#:1 ") + ".. " + &"d/ ".repeat(126);
    Layout::parse(format!("{wide} u {{ {} }}", uses("m#=t "))).unwrap();
    Layout::parse(format!("{wide} {deep} {}", uses("m#=t "))).unwrap();
    // Declare a parameter before each use, so that the names must be looked up again.
    let error = errors(format!("{wide} {deep} {}", uses("P#:1 m#=t ")));
    assert_eq!(error.first().code, Code::BeyondLimit);
    let members: String = uses("m#=i1 ");
    let dicts: String = uses("d#/ \"\"=t m7=i1 .. ");
    let layout = Layout::parse(format!("t {{ {members} }} {dicts}")).unwrap();
    assert_eq!(layout.diagnostics().len(), 100);
}

#[test]
fn errors_in_long_repetitive_layouts_have_messages_of_less_than_a_megabyte() {
    let many = 200_000;
    for text in [
        "..".repeat(1_000_000),
        "/".repeat(many),
        "\"".repeat(many),
        "'\\".repeat(many),
        "\\\"\n".repeat(many),
        "#\r".repeat(many),
        "x = f8 ".repeat(many),
        "x [i1] ".repeat(many),
        format!("x [i1] {}", "x %0 ".repeat(many)),
        format!("x [i1] x {}", "%0 ".repeat(many)),
        format!("t {{N : 1 {} }}", "N = i1 ".repeat(many)),
        format!("t {{{} }}", "N : i1 N = i1 ".repeat(many)),
        format!("x = i1[{}]", "1,".repeat(many)),
        format!("N : 1 x = i1[N{}]", "+".repeat(many)),
        format!("x = f8 {}", "#: a=1\n".repeat(many)),
        format!("x = f8 {}", "#: =\n".repeat(many)),
        "#: a".repeat(many),
        format!("x = f8 #: a=[{}]", "1,".repeat(many)),
        "(".repeat(many),
        "{".repeat(many),
        "x = {} ".repeat(many),
        "a/x=i1 ..b/x=i1 .. ".repeat(many / 4),
        format!("{} = i1", "n".repeat(10_000_000)),
        format!("x = {}", "1".repeat(1_000_000)),
        format!("# {}", "x".repeat(1_000_000)),
        "x = t ".repeat(many),
        "µ = i1 ".repeat(many),
    ] {
        let head: String = text.chars().take(40).collect();
        match Layout::parse(&text) {
            Ok(layout) => {
                assert!(!format!("{:?}", layout.diagnostics()).is_empty());
                layout.to_string();
            }
            Err(error) => assert!(error.to_string().len() < 1_000_000, "{head}"),
        }
        let _ = dudley::text::format(&text);
    }
}

#[test]
fn the_largest_numbers_round_trip() {
    for text in [
        "a = f8 %4611686018427387904",
        "a = f8 @9223372036854775807",
        "a = f8[9223372036854775807]",
    ] {
        let layout = Layout::parse(text).unwrap();
        assert_eq!(Layout::parse(layout.to_string()).unwrap(), layout);
    }
    assert_eq!(codes("a = f8 %9223372036854775807"), ["E019"]);
    assert_eq!(codes("a = f8 %9223372036854775808"), ["E004"]);
    for text in ["a = f8[170141183460469231731687303715884105728]", "a = f8[-9223372036854775808]"]
    {
        assert_eq!(codes(text), ["E004"], "{text}");
    }
    assert_eq!(codes("a = f8[-9223372036854775807]"), ["E018"]);
}

#[test]
fn unusual_bytes_parse_or_are_rejected_with_a_message() {
    for bytes in [
        &b"\xff\xfe"[..],
        b"\x81",
        b"a = \xc3",
        b"\xef\xbb\xbfa = i1",
        b"\"\xff\" = i1",
        b"\x00",
        b"\x8d",
        b"\x8d<BD",
    ] {
        if let Err(error) = Layout::parse(bytes) {
            assert!(!error.to_string().is_empty());
            assert!(serde_json::json!(error.diagnostics()).is_array());
        }
    }
}
