//! Testing warnings and notes.

use dudley::diagnostic::{Code, Severity};
use dudley::text::Encoding;
use dudley::{Layout, ParseOptions, Resolver};

use crate::warnings;

#[test]
fn warnings_and_notes_have_the_expected_codes_and_become_errors_if_denied() {
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
        assert_eq!(warnings(text), [expected], "{text}");
        // A denied code is an error even if it is also silenced.
        let code = Code::from_name(expected).unwrap();
        let errors = ParseOptions::new().silence(code).deny(code).parse(text).unwrap_err();
        let found = errors.diagnostics().unwrap().iter().find(|found| found.code == code).unwrap();
        assert_eq!(found.severity, Severity::Error, "{text}");
        assert!(errors.to_string().contains(&format!("error[{code}]")), "{errors}");
    }
}

#[test]
fn a_plain_layout_has_no_diagnostics() {
    for text in [
        "N : 1 x = f8[N, 0, 10, 0x0a]",
        "{N : i8 time = f8} x = f8[N] t {M : 3 a = f8[M] @8} y = t d/ M : 4",
        "\"µ\" = i1 a = {N : 1 b = i1[N]}",
        "x = f8 ## one\n ## two\n #: a=1\n #: b=2",
    ] {
        assert_eq!(warnings(text), [""; 0], "{text}");
    }
}

#[test]
fn warnings_and_notes_can_be_silenced() {
    let text = "x = i1[010] .. ";
    let codes = |options: ParseOptions| -> Vec<Code> {
        options.parse(text).unwrap().diagnostics().iter().map(|found| found.code).collect()
    };
    assert_eq!(codes(ParseOptions::new()), [Code::LeadingZeros, Code::UpAtTop]);
    assert_eq!(codes(ParseOptions::new().silence_notes()), [Code::UpAtTop]);
    let both = ParseOptions::new().silence(Code::UpAtTop).silence(Code::LeadingZeros);
    assert_eq!(codes(both), []);
}

#[test]
fn each_repeated_attribute_is_reported_at_its_line() {
    let text = "x = f8 #: a=1 b=2\n #: a=3\ny = f8 #: a=4 a=5";
    let layout = Layout::parse(text).unwrap();
    let lines: Vec<u32> =
        layout.diagnostics().iter().filter_map(|found| found.place.line).collect();
    assert_eq!(lines, [2, 3]);
    let of = |name: &str| {
        let item = layout.child(dudley::ItemId::ROOT, name).unwrap();
        let all = layout.attributes(item.into());
        all.map(|one| (one.name.clone(), one.value.clone())).collect::<Vec<_>>()
    };
    let integer = |name: &str, value| (name.to_owned(), dudley::layout::Value::Integer(value));
    assert_eq!(of("x"), [integer("b", 2), integer("a", 3)]);
    assert_eq!(of("y"), [integer("a", 5)]);
}

#[test]
fn latin1_text_and_a_byte_order_mark_and_all_kinds_of_line_breaks_are_accepted() {
    let layout = Layout::parse(b"x = f8 ## \x81 \xe9\r## more\r\n## last").unwrap();
    assert_eq!(layout.source().encoding(), Encoding::Latin1);
    let x = layout.items().next().unwrap();
    assert_eq!(layout.docs(x.into()).collect::<Vec<_>>(), ["\u{81} é", "more", "last"]);
    assert_eq!(
        layout.diagnostics()[0].message,
        "the text is not valid UTF-8; it is read as Latin-1"
    );
    let layout = Layout::parse(b"\xef\xbb\xbf> x = f8 # c\ry = i1").unwrap();
    assert_eq!(layout.order(), Some(dudley::Order::Big));
    assert_eq!((layout.items().len(), layout.diagnostics().len()), (2, 0));
    // Only the first U+FEFF is a byte-order mark. A second U+FEFF is an illegal character.
    assert_eq!(crate::codes(b"\xef\xbb\xbf\xef\xbb\xbfx = f8"), ["E001"]);
}

#[test]
fn text_in_cp1252_is_accepted_with_a_note() {
    let layout = Layout::parse(b"x = f8 ## 20 \xb0C").unwrap();
    assert_eq!(layout.source().encoding(), Encoding::Cp1252);
    let x = layout.items().next().unwrap();
    assert_eq!(layout.docs(x.into()).collect::<Vec<_>>(), ["20 °C"]);
    assert_eq!(layout.diagnostics()[0].code, Code::NotUtf8);
}

#[test]
fn notes_about_addresses_can_be_silenced_or_denied() {
    let layout = Layout::parse("a = f8[2]  b = i1 @5").unwrap();
    let resolver = Resolver::new(&layout);
    let lints = resolver.diagnose(&resolver.table().unwrap());
    assert_eq!(lints.len(), 1);
    assert!(ParseOptions::new().silence(Code::Overlap).judge(lints.clone()).is_empty());
    let denied = ParseOptions::new().deny(Code::Overlap).judge(lints);
    assert_eq!(denied[0].severity, Severity::Error);
}
