//! Testing layouts with errors, at least one for each code up to E032.

use dudley::diagnostic::{Code, Severity};
use dudley::{Limits, ParseOptions};

use crate::{codes, errors, parse};

#[test]
fn parse_errors_have_the_expected_codes() {
    for (text, code) in [
        ("a = i1 \0", "E001"),
        ("a = i1 ;", "E001"),
        ("a = \"i1", "E002"),
        ("a = i1[12x]", "E003"),
        ("a = i1[0x]", "E003"),
        ("a = i1[9223372036854775808]", "E004"),
        ("a = i1 @0xffffffffffffffff", "E004"),
        ("\"\\ud800\" = i1", "E006"),
        ("a = i1[]", "E010"),
        ("a = i1[3", "E010"),
        ("a = i1[1.5]", "E010"),
        ("a = i1[--1]", "E010"),
        ("a = i1[1,]", "E010"),
        ("N : 1 a = i1[N+-]", "E010"),
        ("a = i1 @", "E010"),
        ("a = i1 %x", "E010"),
        ("l [i1 i2]", "E010"),
        ("t {a = i1", "E010"),
        ("5 = i1", "E012"),
        ("a = i1 ]", "E012"),
        ("a = i1, b = i2", "E012"),
        ("t { = i1 / }", "E012"),
        ("a", "E013"),
        ("a b = i1", "E013"),
        ("t { a [i1] }", "E013"),
        ("a = 5", "E014"),
        ("a = ", "E014"),
        ("a : [i1]", "E014"),
        ("a = < {b=i1}", "E014"),
        ("a = i1 -> 5", "E015"),
        ("a = i1 <- (x)", "E015"),
        ("a = i1 -> f(b)", "E016"),
        ("a = i1 -> f(1 2)", "E016"),
        ("a = i1 -> f(1e999)", "E016"),
        ("N : 1 a = i1[N+1]", "E017"),
        ("a = i1[-2]", "E018"),
        ("N : -2", "E018"),
        ("a = i1 %3", "E019"),
        ("t {%12 a=i1}", "E019"),
    ] {
        assert_eq!(codes(text)[0], code, "{text}");
    }
}

#[test]
fn semantic_errors_have_the_expected_codes() {
    for (text, code) in [
        ("a = i1 a = i2", "E020"),
        ("a [i1] a = i2", "E020"),
        ("a/ .. a = i2", "E020"),
        ("t {a=i1 b=i2 a=i3}", "E020"),
        ("t {=i1 \"\"=i2}", "E020"),
        ("t {a={a=i1} a=i3}", "E020"),
        ("N : 1 N : i4", "E021"),
        ("t {N : 1 N : i4}", "E021"),
        ("a = i1 a/", "E022"),
        ("a = i1 a [i1]", "E022"),
        ("a/ .. a [i1]", "E022"),
        ("a [i1] a/", "E022"),
        ("t {} t {}", "E023"),
        ("x = f8 f8 {\"\"=f4}", "E024"),
        ("N : i8 i8 {\"\"=|i8}", "E024"),
        ("{ N : i8 } i8 {\"\"=|i8}", "E024"),
        ("i8 {\"\"=i8}", "E024"),
        ("a = i1 >t {b=i1}", "E025"),
        ("\"<t\" {b=i1}", "E025"),
        ("a %0", "E026"),
        ("a = i1 a %0", "E026"),
        ("a [] a %0", "E026"),
        ("a [[i1]] a %0", "E026"),
        ("a [/x=i1] a %0", "E026"),
        ("a/ .. a @4", "E026"),
        ("N : f8", "E027"),
        ("N : i4[1]", "E027"),
        ("N : i4 -> gzip", "E027"),
        ("N : {\"\"=i4}", "E027"),
        ("t {a=i4} N : t", "E027"),
        ("t {N : b1}", "E027"),
        ("a = <t", "E030"),
        ("t {} a = |t", "E030"),
        ("a = t", "E031"),
        ("t {a = t}", "E031"),
        ("N : t", "E031"),
        ("a = i1[N]", "E032"),
        ("N = i8 a = i1[N]", "E032"),
        ("t {a=i1[N] N : 1} x = t", "E032"),
        ("x = {a={b=i1[N]}}", "E032"),
        ("t {a=i1[N]} u {b=t} x = u", "E032"),
    ] {
        assert_eq!(codes(text)[0], code, "{text}");
    }
}

#[test]
fn parsing_respects_the_limits_set_by_the_caller() {
    let code = |limits: Limits, text: &str| {
        ParseOptions::new().limits(limits).parse(text).map_err(|error| error.code().unwrap())
    };
    let limits = Limits::default();
    assert_eq!(code(limits.max_dims(2), "a = i1[1,1,1]"), Err(Code::BeyondLimit));
    assert_eq!(code(limits.max_depth(2), "a [[i1]]").map(|_| ()), Ok(()));
    assert_eq!(code(limits.max_depth(2), "a [[[i1]]]"), Err(Code::TooDeep));
    assert_eq!(code(limits.max_depth(2), "a/ b/ c/"), Err(Code::TooDeep));
    assert_eq!(code(limits.max_depth(3), "a/ b [/c/ d/]"), Err(Code::TooDeep));
    assert_eq!(code(limits.max_depth(2), "a {} b {x=a} c {x=b}"), Err(Code::TooDeep));
    assert_eq!(code(limits.max_free_names(1), "t {x=i1[A,B]}"), Err(Code::BeyondLimit));
    let uses = "A:1 B:2 t {x=i1[A,B]} x=t d/ A:1 x=t";
    assert_eq!(code(limits.max_bindings(3), uses), Err(Code::BeyondLimit));
    let many = "a = f ".repeat(300);
    let error = ParseOptions::new().limits(limits.max_diagnostics(7)).parse(&many).unwrap_err();
    assert_eq!(error.diagnostics().unwrap().iter().count(), 7);
}

#[test]
fn at_most_a_hundred_errors_are_reported() {
    let text = "a = foo\nb = f8[3\nc = i1 %3\nt { x = i1 y = }\nl [i1,, i2]\nd = bar\n";
    assert_eq!(codes(text), ["E031", "E010", "E019", "E014", "E014", "E031"]);
    let lines: Vec<u32> = errors(text).iter().filter_map(|error| error.place.line).collect();
    assert_eq!(lines, [1, 3, 3, 4, 5, 6]);
    assert_eq!(codes("a = ] ".repeat(1000)).len(), 100);
}

#[test]
fn using_a_name_whose_declaration_is_invalid_causes_no_further_error() {
    assert_eq!(codes("N : ] x = i1[N]"), ["E014"]);
    assert_eq!(codes("t { a = ] } x = t"), ["E014"]);
    assert_eq!(codes("t ] x = t"), ["E013"]);
    assert_eq!(codes("N : f8 x = i1[N]"), ["E027"]);
    assert_eq!(codes("l [ = ] l %0"), ["E014"]);
    // The invalid member must not be mistaken for the first data item of the layout.
    assert_eq!(codes("t {=foo} x = t N : t")[0], "E031");
}

#[test]
fn errors_cannot_be_silenced() {
    let options = ParseOptions::new().silence(Code::UndefinedType);
    assert_eq!(options.parse("a = foo").unwrap_err().code().unwrap(), Code::UndefinedType);
    assert!(
        Code::ALL
            .iter()
            .copied()
            .all(|code| code.as_str().starts_with('E') == (code.severity() == Severity::Error))
    );
}

#[test]
fn unusual_but_correct_layouts_have_no_errors() {
    for text in [
        "i8 = f4 f4/ x = i1",
        "a = i1[-1, +3, 0]",
        "< f8 = i4",
        "<i8 {\"\"=|i4}",
        "| a = i1",
        "a = i1 -> f()",
        "a = i1 -> 'odd name'(-1, +2.5, 0x10, 'text')",
        "a=i1..b=i2",
        "t {} x = t",
        "{} x = i1",
        "{%8 N : i8} x = i1[N]",
        "a = <i1 b = |b1",
        "a = \"i4\" b = <'i4'",
        "l = []",
        "",
        "# only a comment",
        "/",
        "a [] a [i1] a [[i1], / x = i1 t {}, ]",
    ] {
        parse(text);
    }
}

#[test]
fn a_suffix_split_by_a_comment_is_an_error() {
    assert_eq!(codes("N : +3 x = i1[N + # two\n + ]"), ["E010"]);
}
