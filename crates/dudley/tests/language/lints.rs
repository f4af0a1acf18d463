//! What is odd and no error: one text for each code.

use dudley::{Code, Encoding, Layout, ParseOptions};

use crate::oddities;

#[test]
fn each_warning_and_lint_has_its_code() {
    for (text, expected) in [
        ("..", "W001"),
        ("l [/ ..]", "W001"),
        ("N : 1 N = f8", "W002"),
        ("N = f8 N : 1", "W002"),
        ("t {N : 1 N = f8}", "W002"),
        ("{x : f8}", "W003"),
        ("{x : {a : 1 b = i1}}", "W003"),
        ("{x : f8[3]}", "W003"),
        (r#""a\q" = f8"#, "W004"),
        ("x = f8 #: =1", "W010"),
        ("x = f8 #: a=1 a=2", "W010"),
        ("x = i1[010]", "L-leading-zeros"),
        ("x = i1 #### x", "L-hash-run"),
        ("µ = i1", "L-non-ascii-name"),
        ("N : 1 x = i1[N++++++++++++++++++++++++++++++++]", "L-many-suffixes"),
        ("N : 1 d/ N : 2", "L-shadowed-parameter"),
        ("x = i1 \"\" = {x = i1}", "L-hidden-member"),
        ("{N : i8} x = i1 @64", "L-not-template"),
        ("{N : i8} x = i1 -> gzip", "L-not-template"),
        ("{N : i8} M : i8", "L-not-template"),
        ("{N : i8 @16}", "L-not-template"),
        ("{N : i8} s {M : i1 a = i1[M]} x = s", "L-not-template"),
    ] {
        assert_eq!(oddities(text), [expected], "{text}");
    }
}

#[test]
fn a_plain_text_has_nothing_odd() {
    for text in [
        "N : 1 x = f8[N, 0, 10, 0x0a]",
        "{N : i8 time = f8} x = f8[N] t {M : 3 a = f8[M] @8} y = t d/ M : 4",
        "\"µ\" = i1 a = {N : 1 b = i1[N]}",
        "x = f8 ## one\n ## two\n #: a=1\n #: b=2",
    ] {
        assert_eq!(oddities(text), [""; 0], "{text}");
    }
}

#[test]
fn lints_can_be_switched_off() {
    let text = "x = i1[010] .. ";
    let codes = |options: ParseOptions| -> Vec<Code> {
        options.parse(text).unwrap().warnings().iter().map(|found| found.code).collect()
    };
    assert_eq!(codes(ParseOptions::new()), [Code::LeadingZeros, Code::UpAtTop]);
    assert_eq!(codes(ParseOptions::new().silence_lints()), [Code::UpAtTop]);
    let both = ParseOptions::new().silence(Code::UpAtTop).silence(Code::LeadingZeros);
    assert_eq!(codes(both), []);
}

#[test]
fn text_in_other_encodings_is_read() {
    let layout = Layout::parse(b"x = f8 ## 20 \xb0C").unwrap();
    assert_eq!(layout.source().encoding(), Encoding::Cp1252);
    let x = layout.items().next().unwrap();
    assert_eq!(layout.docs(x.into()).collect::<Vec<_>>(), ["20 °C"]);
    assert_eq!(layout.warnings()[0].code, Code::NotUtf8);
}
