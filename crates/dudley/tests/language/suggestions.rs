//! Testing the help for mistakes typical of authors who know other languages.

use dudley::Layout;

use crate::{errors, parse, warnings};

/// Applies the suggested fix for the first error to a layout.
fn mended(text: &str) -> String {
    let errors = errors(text);
    let Some(fix) = errors.first().fix.clone() else { panic!("{text}: no fix: {errors}") };
    let number = |number: Option<u64>| usize::try_from(number.unwrap()).unwrap();
    let start = number(fix.place.offset);
    let mut mended = text.to_owned();
    mended.replace_range(start..start + number(fix.place.len), &fix.replacement);
    mended
}

#[test]
fn applying_a_fix_produces_the_intended_layout() {
    for (text, meant) in [
        ("x = F8", "x = f8"),
        ("x = I4[3]", "x = i4[3]"),
        ("x = double[3]", "x = f8[3]"),
        ("x = float64", "x = f8"),
        ("x = float", "x = f4"),
        ("x = int32", "x = i4"),
        ("x = int64_t", "x = i8"),
        ("x = i64", "x = i8"),
        ("x = f32", "x = f4"),
        ("x = complex128", "x = c16"),
        ("x = S10", "x = S1[10]"),
        ("Mesh {= f8[3]} x = mesh", "Mesh {= f8[3]} x = Mesh"),
        ("N = 4  x = f8[N]", "N : 4  x = f8[N]"),
        ("N = -1  x = f8[N]", "N : -1  x = f8[N]"),
        ("a = i1; b = i1", "a = i1 b = i1"),
        ("t {a = i1; b = i1}", "t {a = i1 b = i1}"),
        ("x = f8[3][4]", "x = f8[3, 4]"),
        ("N : 2 x = f8[3][N+] [4]", "N : 2 x = f8[3, N+] [4]"),
        ("f8 x[3]", "x = f8[3]"),
        ("double x[3]", "x = f8[3]"),
        ("my-var = f8", "\"my-var\" = f8"),
        ("my-var-2 = f8", "\"my-var-2\" = f8"),
        ("x = f8[3] -> gzip 5", "x = f8[3] -> gzip(5)"),
        ("x = f8[3] -> zfp 1e-6", "x = f8[3] -> zfp(1e-6)"),
        ("l [f8 -> gzip 5]", "l [f8 -> gzip(5)]"),
    ] {
        let mended = mended(text);
        match Layout::parse(meant) {
            Ok(meant) => assert_eq!(parse(&mended), meant, "{text}: {mended}"),
            // The expected layout still contains another error.
            Err(_) => assert_eq!(mended.replace(" , ", ", "), meant, "{text}"),
        }
    }
}

#[test]
fn help_suggests_the_likely_intention() {
    for (text, help) in [
        ("N : 2 x = f8[2*N]", "a dimension is a number or a parameter"),
        ("struct point { double x; };", "from_c"),
        ("typedef struct { int a; } point;", "from_c"),
        ("x = mesh[3]\nmesh { = f8[4] }", "move the definition of the type before its first use"),
        ("x = f8  // the density", "a comment begins with `#`"),
        ("/* the density */ x = f8", "a comment begins with `#`"),
        ("N = i4  x = f8[N]", "this name is data; a parameter is declared by `name : type`"),
        ("N = i4  x = f8[N]", "in the 2026 version it is the reverse"),
        ("NBINS = i8  x = f8[NBINS+]", "in the 2026 version it is the reverse"),
        ("N = i8  x : f8", "in the 2026 version it is the reverse"),
    ] {
        let error = errors(text);
        let found = error.first().help.join(" ");
        assert!(found.contains(help), "{text}: {error}");
    }
    let error = errors("x = mesh[3]\nmesh { = f8[4] }");
    assert_eq!(error.first().labels[0].place.line, Some(2));
    assert!(!errors("x : f8").to_string().contains("2026"));
}

/// Types of the language that look like numpy types are not mistakes.
#[test]
fn primitive_types_get_no_suggestion() {
    for text in ["x = U2[4]", "x = U4", "x = S1[4]", "x = b1", "x = c4"] {
        assert_eq!(warnings(text), [""; 0], "{text}");
    }
}

#[test]
fn a_double_slash_gets_a_note() {
    assert_eq!(warnings("a = f8\n// b = f8\n"), ["L-double-slash"]);
    assert_eq!(warnings("d//b = f8\n"), ["L-double-slash"]);
    assert_eq!(warnings("d/ / b = f8\n / c = i1"), [""; 0]);
}

#[test]
fn documentation_before_an_item_gets_a_note() {
    for text in [
        "a = f8\n## the density\nb = f8\n",
        "a = f8[3]\n\n## the density\n## of the gas\nb = f8\n",
        "a = f8\r\n## the density\r\nb = f8\r\n",
        "a = f8\r## the density\rb = f8\r",
        "t {\n  a = f8\n  ## the density\n  b = f8\n}\n",
    ] {
        let layout = parse(text);
        let found = layout.diagnostics();
        assert_eq!(warnings(text), ["L-doc-before-item"], "{text}");
        assert!(found[0].message.contains("not `b`"), "{}", found[0].message);
    }
    for text in [
        "## a layout\na = f8\n",
        "a = f8  ## one\n## two\nb = f8\n",
        "a = f8\n  ## about a\nb = f8\n",
        "a = f8\n## about a\n\nb = f8\n",
        "a = f8\n## about a\n",
        "d/\n## about d\nb = f8\n",
        "a = f8\n# a comment\nb = f8\n",
    ] {
        assert_eq!(warnings(text), [""; 0], "{text}");
    }
}

#[test]
fn a_layout_in_the_2026_version_of_the_language_gets_a_note() {
    assert_eq!(warnings("N = i4  x : i4  y : i8"), ["L-swapped-dialect"]);
    for text in
        ["N : i4  x = i4[N]", "n = i4  N : i4", "N = i4  M : i4  x = f8[M]", "N = i4  x = i4"]
    {
        assert_eq!(warnings(text), [""; 0], "{text}");
    }
}
