//! Testing the complete text of some diagnostics, and the help and the fixes of others.

use dudley::{ParseOptions, Source};
use serde_json::json;

use crate::{errors, parse};

fn shown(text: &str) -> String {
    let source = Source::decode_named(text.as_bytes(), "run.dud").unwrap();
    ParseOptions::new().parse_source(source).expect_err("it has an error").to_string()
}

#[test]
fn using_data_as_a_dict_is_reported_together_with_the_declaration_of_the_data() {
    assert_eq!(
        shown("x = f8\ny = f8\nx/\n"),
        "\
error[E022]: `x` is data, not a dict
 --> run.dud:3:1
  |
1 | x = f8
  | - declared here
2 | y = f8
3 | x/
  | ^
"
    );
}

#[test]
fn a_missing_parameter_is_reported_at_the_use_and_in_the_definition_of_the_type() {
    assert_eq!(
        shown("mesh {\n  \"\" = f8[IMAX, JMAX]\n}\nIMAX : i8\nx = mesh\n"),
        "\
error[E032]: this type needs a parameter `JMAX`, which is not in scope
 --> run.dud:5:5
  |
2 |   \"\" = f8[IMAX, JMAX]
  |                 ---- this name is bound where the type is used
...
5 | x = mesh
  |     ^^^^ the parameter must be in scope where the type is used
  |
  = help: did you mean `IMAX`?
"
    );
}

#[test]
fn a_fix_is_suggested_for_a_suffix_written_as_a_sum() {
    let text = "N : i8\nx = f8[N-2]\n";
    assert_eq!(
        shown(text),
        "\
error[E017]: a suffix consists only of signs, so no number may follow it
 --> run.dud:2:9
  |
2 | x = f8[N-2]
  |         ^^
  |
  = help: each sign adds or subtracts one: `N--`
"
    );
    let fix = errors(text).first().fix.clone().unwrap();
    let mut mended = text.to_owned();
    let number = |number: Option<u64>| usize::try_from(number.unwrap()).unwrap();
    let start = number(fix.place.offset);
    mended.replace_range(start..start + number(fix.place.len), &fix.replacement);
    parse(&mended);
}

#[test]
fn a_fix_is_suggested_for_a_misspelt_type() {
    let text = "mesh_data {= f8}\nx = mesh_dat";
    let error = errors(text);
    let fix = error.first().fix.clone().unwrap();
    assert_eq!(fix.replacement, "mesh_data");
    assert_eq!(error.first().help, ["did you mean `mesh_data`?"]);
}

#[test]
fn syntax_of_later_versions_of_the_language_is_rejected_with_help() {
    for (text, help) in [
        ("t == f8[3]", "here a typedef is `name {\"\" = type}`"),
        ("l += f8", "extended by `name [..]`"),
        ("x = f8 @.", "an address is a number"),
        ("x = !{a=i1}", "a struct begins with `{`"),
        ("N : 1 x = f8[N?]", "a dimension of 0"),
        ("x & f8", "`type[shape] <- ref`"),
        ("x = f8(3, 4)", "written in `[` and `]`"),
        ("t {: f8}", "`name {\"\" = type}`"),
    ] {
        let error = errors(text);
        let found = error.first().help.join(" ");
        assert!(found.contains(help), "{text}: {error}");
        assert!(found.contains("later versions"), "{text}: {error}");
    }
}

#[test]
fn a_parameter_that_is_not_an_integer_is_reported_with_help_on_declaring_data() {
    assert_eq!(
        shown("time : f8"),
        "\
error[E027]: parameter `time` is not a scalar integer
 --> run.dud:1:8
  |
1 | time : f8
  | ----   ^^ expected a number, or one of i1 i2 i4 i8 u1 u2 u4 u8
  | |
  | `:` declares a parameter
  |
  = help: data is declared by `time = ..`
"
    );
}

#[test]
fn diagnostics_in_json_contain_lines_and_columns_and_byte_offsets() {
    let error = errors("µ : 1\nx = f8\nx = f8");
    let found = &json!(error)[1];
    let expected = json!({
        "code": "E020",
        "severity": "error",
        "message": "`x` is declared twice",
        "line": 3, "column": 1, "offset": 14, "len": 1,
        "label": "declared again here",
        "labels": [{"line": 2, "column": 1, "offset": 7, "len": 1, "message": "first declared here, as data"}],
        "help": ["names are unique in a dict; `name/` and `name [` reopen dicts and lists"],
    });
    assert_eq!(found, &expected);
    assert_eq!(json!(error)[0]["code"], "L-non-ascii-name");
    assert_eq!(json!(error)[0]["fix"]["replacement"], "\"µ\"");
}

#[test]
fn a_binary_file_is_rejected_with_help_on_finding_its_layout() {
    let error = errors(b"\x8d<BD\r\n\x1a\n\x30\0\0\0\0\0\0\0");
    assert_eq!(
        error.to_string(),
        "error[E001]: this is a binary file, not a layout\n --> layout:1:1\n  |\n  \
         = help: the layout is at the end of the file, starting at byte 48\n"
    );
    let damaged = errors(b"\x8d<BD\n\x1a\n\x30\0\0\0\0\0\0\0\0\0");
    assert!(damaged.to_string().contains("damaged by a text-mode transfer: CR LF became LF"));
}
