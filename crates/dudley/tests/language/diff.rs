//! Comparing layouts.

use dudley::place::diff;
use dudley::{Layout, Values};

fn lines(before: &str, after: &str) -> (Vec<String>, bool) {
    let [before, after] = [before, after].map(|text| Layout::parse(text).unwrap());
    let comparison = diff(&before, &after, None).unwrap();
    let lines = comparison.changes().iter().map(|change| {
        let line = change.to_string();
        line.split("  (for").next().unwrap().to_owned()
    });
    (lines.collect(), comparison.keeps_files_readable())
}

#[test]
fn different_spellings_of_the_same_layout_are_not_differences() {
    let before = "N := i8\n r = f8[N+]  l = [i4]";
    assert_eq!(lines(before, "N : i8  r = f8[N+]  ## (cm)\n l [ i4 ]"), (vec![], true));
    assert_eq!(lines("x = f8[4]", "t { \"\" = f8[4] } x = t"), (vec![], true));
    assert_eq!(lines("x = f8  y = i1", "y = i1 @8  x = f8 @0"), (vec![], true));
}

#[test]
fn additions_at_the_end_keep_old_files_readable() {
    let (found, readable) = lines("N : i2  x = f8[N]", "N : i2  x = f8[N]  y = i4  z/ a = i1");
    assert_eq!((found.as_slice(), readable), (&["+ /y".to_owned(), "+ /z/a".to_owned()][..], true));
    assert_eq!(lines("x = f8  y = i4", "x = f8"), (vec!["- /y".to_owned()], true));
}

#[test]
fn items_after_an_addition_are_reported_as_moved() {
    let (found, readable) = lines("x = f8  y = f8", "x = f8  n = i4  y = f8");
    assert_eq!(found, ["~ /y: address 8 -> 16", "+ /n"]);
    assert!(!readable);
}

#[test]
fn changes_to_a_type_or_filter_or_suffix_are_differences() {
    let (found, readable) = lines("N : i2  x = u1[N]", "N : i2  x = u1[N+]");
    assert_eq!((found.len(), readable), (1, false));
    assert!(found[0].starts_with("~ /x: shape [1] -> [2]"), "{found:?}");
    assert_eq!(lines("x = f8", "x = >f8").0, ["~ /x: type <f8 -> >f8"]);
    assert_eq!(lines("x = f8[3]", "x = f8[3] -> gzip").0, ["~ /x: type <f8 -> <f8 -> gzip"]);
}

#[test]
fn moved_members_of_structs_are_differences() {
    let (found, readable) = lines("s { a = i1 b = i4 } x = s[3]", "s { b = i4 a = i1 } x = s[3]");
    assert_eq!(found, ["~ /x.a: address 0 -> 4", "~ /x.b: address 4 -> 0"]);
    assert!(!readable);
}

#[test]
fn changes_after_data_whose_size_depends_on_the_stream_are_differences() {
    let before = "x = f8[3] -> gzip  a = i1  b = i4";
    assert_eq!(lines(before, before), (vec![], true));
    let (found, readable) = lines(before, "x = f8[3] -> gzip  c = i1  a = i1  b = i4");
    assert_eq!(found.len(), 3);
    assert!(!readable);
}

#[test]
fn diff_reports_changes_to_lists_and_parameters_and_byte_orders() {
    let one = |line: &str| vec![line.to_owned()];
    assert_eq!(lines("l [f8]", "l [f8] l %0"), (one("+ /l[1]"), true));
    assert!(lines("x = f8  y = i4", "x = f8  y = i4  N : i4  z = f8[N]").1);
    assert_eq!(lines("N : i4  x = f8", "N : i8  x = f8"), (one("~ /N: type <i4 -> <i8"), false));
    assert_eq!(lines("x = f8", "> x = f8"), (one("~ /x: type <f8 -> >f8"), false));
    assert_eq!(lines("N : 2  x = f8[N]", "N : 3  x = f8[N]").0, ["~ /x: shape [2] -> [3]"]);
    assert_eq!(lines("x = f8  y = i4 @8", "y = i4 @8"), (one("- /x"), true));
    assert_eq!(lines("x = f8", "x/ y = f8"), (vec!["- /x".to_owned(), "+ /x/y".to_owned()], true));
    assert_eq!(lines("x = i8 <- ref", "x = i8").0, ["~ /x: type <i8 <- ref -> <i8"]);
    // The size of an instance of `s` depends on its content.
    let strings = "s { N : u4  a = u1[N] }  x = s[2]  y = i1";
    assert_eq!(lines(strings, strings), (vec![], true));
    let other = strings.replace("u1[N]", "u1[N+]");
    assert!(!lines(strings, &other).1);
}

#[test]
fn a_comparison_of_types_with_too_many_members_is_incomplete() {
    let mut text = "t0 { a = f8  b = f8 }\n".to_owned();
    for level in 1..=24 {
        text += &format!("t{level} {{ a = t{0} b = t{0} }}\n", level - 1);
    }
    text += "x = t24";
    let [before, after] =
        [&text, &text.replace("b = f8", "b = i8")].map(|text| Layout::parse(text).unwrap());
    let same = diff(&before, &before, None).unwrap();
    assert!(same.is_partial() && same.changes().is_empty());
    assert!(!same.keeps_files_readable() && !same.breaks_files());
    let other = diff(&before, &after, None).unwrap();
    assert!(other.is_partial() && other.breaks_files());
    assert_eq!(serde_json::json!(other)["partial"], true);
}

#[test]
fn layouts_are_compared_only_for_the_given_values() {
    let [before, after] = ["N : i2  x = u1[N]  y = i8", "N : i2  x = u1[N+]  y = i8"]
        .map(|text| Layout::parse(text).unwrap());
    let values = Values::new().with("N", 0);
    assert!(diff(&before, &after, Some(&values)).unwrap().changes().is_empty());
    assert!(diff(&before, &after, Some(&Values::new())).is_err());
}

/// Layouts with stored parameters are compared for up to eight sets of values, and other layouts
/// for a single set. If types cannot be compared completely for one set, the rest are skipped.
#[test]
fn comparing_huge_nested_types_takes_at_most_four_times_as_long_with_parameters_as_without() {
    let mut text = "t0 { a = f8  b = f8 }\n".to_owned();
    for level in 1..=24 {
        text += &format!("t{level} {{ a = t{0} b = t{0} }}\n", level - 1);
    }
    let [plain, with_param] = ["", "N : i4 y = f8[N] "].map(|params| {
        let layout = Layout::parse(format!("{text}{params}x = t24")).unwrap();
        let begin = nanoseconds();
        assert!(diff(&layout, &layout, None).unwrap().is_partial());
        nanoseconds() - begin
    });
    assert!(with_param <= 4 * plain, "{with_param} and {plain}");
}

/// Returns the CPU time of this thread in nanoseconds, or 0 if the system does not report it. Tests
/// on other threads do not affect this time.
fn nanoseconds() -> u64 {
    let running = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    running.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default()
}
