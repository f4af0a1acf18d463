//! Testing the meaning of names, and the model of a layout.

use dudley::diagnostic::Code;
use dudley::layout::{Binding, Declaration, Dim, Field, Found, ParamValue, Subject};
use dudley::text::Tree;
use dudley::{ItemId, Layout, Limits, ParseOptions};

use crate::parse;

/// Returns the path of the parameter to which an item's first dimension is bound. If this dimension
/// has no name, returns the path of the parameter in the item's first binding.
fn bound(layout: &Layout, path: &str) -> String {
    let Found::Item(id, _) = layout.find(path).unwrap() else { panic!("{path} is not an item") };
    let data = layout.data_of(id).unwrap();
    let first = layout.shape(data).first().copied();
    let binding = match first {
        Some(Dim::Named(binding, _)) => binding,
        _ => layout.bindings(data)[0],
    };
    match binding {
        Binding::Param(id) => layout.subject_path(Subject::Param(id)),
        Binding::Free(number) => panic!("{path} has free name {number}"),
    }
}

#[test]
fn a_name_refers_to_the_nearest_parameter_declared_before_it() {
    let layout = parse(
        "N : 2 a/ N : 3 b/ x = u1[N] N : 4 y = u1[N] .. x = u1[N] / x = u1[N] l [/ x = u1[N] N : 1 y = u1[N]]",
    );
    assert_eq!(bound(&layout, "/a/b/x"), "/a/N");
    assert_eq!(bound(&layout, "/a/b/y"), "/a/b/N");
    assert_eq!(bound(&layout, "/a/x"), "/a/N");
    assert_eq!(bound(&layout, "/x"), "/N");
    assert_eq!(bound(&layout, "/l[0]/x"), "/N");
    assert_eq!(bound(&layout, "/l[0]/y"), "/l[0]/N");
}

#[test]
fn arrays_declared_alike_have_equal_descriptions_and_other_arrays_differ() {
    let layout = parse(
        "a = f8[3] b = f8[3] c = f8[3] @ 800 d = f8[3, 2] e = f8[3] -> gzip f = f8[3] g = f8 [3] h = <f8[3]
         i = f4[3] l [f8[3], f8[3], [f8[3]]] j = f8[3] ## m\n k = f8[3]",
    );
    let data = |path: &str| {
        let Found::Item(id, _) = layout.find(path).unwrap() else {
            panic!("{path} is not an item")
        };
        let data = layout.data_of(id).unwrap();
        (data.datatype, layout.shape(data), data.placement.is_some(), layout.filter(data).is_some())
    };
    for same in ["/b", "/f", "/g", "/l[0]", "/l[1]", "/l[2][0]", "/j", "/k"] {
        assert_eq!(data(same), data("/a"), "{same}");
    }
    for other in ["/c", "/d", "/e", "/h", "/i"] {
        assert_ne!(data(other), data("/a"), "{other}");
    }
    assert_eq!((data("/c").2, data("/d").1.len(), data("/e").3), (true, 2, true));

    let layout = parse("N : 2 a = u1[N] b = u1[N] d/ N : 4 a = u1[N]");
    assert_eq!(["/a", "/b", "/d/a"].map(|path| bound(&layout, path)), ["/N", "/N", "/d/N"]);
    assert_eq!(crate::warnings("a = f8[03] b = f8[03] c = f8[03]"), ["L-leading-zeros"; 3]);
}

#[test]
fn free_names_of_a_type_are_bound_where_the_type_is_used() {
    let layout = parse("N : 2 t {a = i1[N]} x = t d/ N : 3 x = t .. y = t");
    assert_eq!(bound(&layout, "/x"), "/N");
    assert_eq!(bound(&layout, "/d/x"), "/d/N");
    assert_eq!(bound(&layout, "/y"), "/N");
}

#[test]
fn an_extension_of_a_list_keeps_the_bindings_of_the_previous_element() {
    let layout = parse("N : 2 g/ l [i1[N]] N : 5 l %0 l [i1[N]]");
    assert_eq!(bound(&layout, "/g/l[0]"), "/N");
    assert_eq!(bound(&layout, "/g/l[1]"), "/N");
    assert_eq!(bound(&layout, "/g/l[2]"), "/g/N");
    assert_eq!(parse(&layout.to_string()), layout);
}

#[test]
fn shapes_in_a_struct_use_only_its_own_parameters_and_free_names() {
    let layout = parse("M : 1 t {a = i1[N] N : i4 b = {c = i1[N, M]} d = i1[N-]}  N : 2 x = t");
    let t = layout.type_named("t").unwrap();
    assert_eq!(layout.free_names(t).collect::<Vec<_>>(), ["N", "M"]);
    let members: Vec<_> = layout
        .fields(t)
        .iter()
        .filter_map(|field| match *field {
            Field::Member(member) => Some(layout.data(layout.member(member).data)),
            Field::Param(_) => None,
        })
        .collect();
    let Field::Param(own) = layout.fields(t)[1] else { panic!("N is the second field") };
    assert_eq!(layout.shape(members[0]), [Dim::Named(Binding::Free(0), 0)]);
    assert_eq!(layout.bindings(members[1]), [Binding::Param(own), Binding::Free(1)]);
    assert_eq!(layout.shape(members[2]), [Dim::Named(Binding::Param(own), -1)]);
    assert!(layout.struct_type(t).is_indeterminate);
}

#[test]
fn a_struct_is_indeterminate_if_a_member_is_compressed_or_a_shape_uses_a_stored_parameter() {
    let is_indeterminate = |text: &str| {
        let layout = parse(text);
        let id = layout.type_named("t").unwrap();
        layout.struct_type(id).is_indeterminate
    };
    assert!(!is_indeterminate("t {N : i4 a = i1[3]}"));
    assert!(!is_indeterminate("t {N : 3 a = i1[N]}"));
    assert!(!is_indeterminate("t {a = i1[N]}"));
    assert!(is_indeterminate("t {N : i4 a = i1[N]}"));
    assert!(is_indeterminate("t {a = f8 -> gzip}"));
    assert!(!is_indeterminate("t {a = i8 <- ref}"));
    assert!(is_indeterminate("u {N : i4 \"\" = S1[N]} t {a = u}"));
    assert!(is_indeterminate("u {a = i1[N]} t {N : i4 a = u}"));
}

#[test]
fn a_typedef_has_a_single_unnamed_member_and_no_stored_parameters() {
    let is_typedef = |text: &str| {
        let layout = parse(text);
        layout.struct_type(layout.type_named("t").unwrap()).is_typedef
    };
    assert!(is_typedef("t {\"\" = f8[3]}"));
    assert!(is_typedef("t {= f8[3]}"));
    assert!(is_typedef("t {N : 3 \"\" = f8[N]}"));
    assert!(!is_typedef("t {N : i4 \"\" = f8[N]}"));
    assert!(!is_typedef("t {\"\" = f8 a = f8}"));
    assert!(!is_typedef("t {a = f8}"));
    assert!(!is_typedef("t {}"));
}

#[test]
fn the_type_of_a_parameter_may_be_a_typedef_of_an_integer() {
    let layout = parse("i4 {%2 \"\" = >i4} word {= i4} N : word @8");
    let id = layout.param_named(ItemId::ROOT, "N").unwrap();
    let ParamValue::Stored { integer, order, .. } = layout.param(id).value else { panic!() };
    assert_eq!((integer.name(), order), ("i4", Some(dudley::Order::Big)));
}

#[test]
fn declarations_are_listed_in_source_order() {
    let layout = parse("a/ N : 1 x = i1 t {} / l [[i2], i1] a/ y = i1 / l %0");
    let path = |declaration: &Declaration| match *declaration {
        Declaration::Item(id) => layout.path(id),
        Declaration::Param(id) => layout.subject_path(id.into()),
        Declaration::Type(id, _) => layout.subject_path(id.into()),
    };
    let paths: Vec<String> = layout.declarations().iter().map(path).collect();
    let expected =
        ["/a", "/a/N", "/a/x", "t{}", "/l", "/l[0]", "/l[0][0]", "/l[1]", "/a/y", "/l[2]"];
    assert_eq!(paths, expected);
}

#[test]
fn items_are_numbered_in_order_of_first_declaration() {
    let layout = parse("a/ x = i1 / l [i1, [i2], / z = i1] a/ y = i1 / l [i4]");
    let paths: Vec<String> = layout.items().map(|id| layout.path(id)).collect();
    let expected =
        ["/a", "/a/x", "/l", "/l[0]", "/l[1]", "/l[1][0]", "/l[2]", "/l[2]/z", "/a/y", "/l[3]"];
    assert_eq!(paths, expected);
    assert_eq!(layout.item_id(1), layout.child(ItemId::ROOT, "a"));
    assert_eq!(layout.item_id(11), None);
    for id in layout.items() {
        assert_eq!(layout.find(&layout.path(id)).unwrap(), Found::Item(id, vec![]));
        assert_eq!(layout.children(layout.item(id).parent)[layout.position(id)], id);
    }
}

#[test]
fn leaving_a_dict_does_not_leave_the_enclosing_list_element() {
    let layout = parse("d/ l [/ a/ .. .. b = i1 / c = i1] x = i1");
    let paths: Vec<String> = layout.items().map(|id| layout.path(id)).collect();
    assert_eq!(paths, ["/d", "/d/l", "/d/l[0]", "/d/l[0]/a", "/d/l[0]/b", "/d/l[0]/c", "/d/x"]);
}

#[test]
fn a_redeclared_parameter_affects_only_later_shapes() {
    let options = ParseOptions::new().allow_param_redeclare(true);
    let layout = options.parse("N : 1 x = i1[N] N : 2 y = i1[N]").unwrap();
    let values: Vec<ParamValue> = ["x", "y"]
        .map(|name| layout.data_of(layout.child(ItemId::ROOT, name).unwrap()).unwrap())
        .into_iter()
        .map(|data| match layout.shape(data)[0] {
            Dim::Named(Binding::Param(id), _) => layout.param(id).value,
            _ => panic!("it is named"),
        })
        .collect();
    assert_eq!(values, [ParamValue::Fixed(1), ParamValue::Fixed(2)]);
}

#[test]
fn names_in_paths_are_quoted_if_necessary() {
    let layout = parse("\"\"/ 'c\"d' = i1 .. 'a/b' [i1] 'x y' = {'' = {'m.n' = i1}}");
    let paths: Vec<String> = layout.items().map(|id| layout.path(id)).collect();
    assert_eq!(paths, ["/\"\"", "/\"\"/\"c\\\"d\"", "/\"a/b\"", "/\"a/b\"[0]", "/x y"]);
    for path in paths {
        assert!(layout.find(&path).is_ok(), "{path}");
    }
    assert!(layout.find("/x y.\"\".\"m.n\"").is_ok());
    for path in
        ["/nope", "/x y.z", "/\"a/b\"[1]", "/\"a/b\"[x]", "/[0]", "//", "/\"a", "x y.", "/x y/z"]
    {
        assert!(layout.find(path).is_err(), "{path}");
    }
}

#[test]
fn json_pointers_and_paths_find_the_same_items() {
    let layout = parse(
        "N : 1 g/ l [f8, [i1, i2], / x = {a = {b = i1}[2]}] 'a/b' = i1 'c~d' = i2 '' = {m = f4} \
         / 'p.q' = f8 \"0\" = i1",
    );
    for (pointer, path) in [
        ("", "/"),
        ("/N", "/N"),
        ("/g/l/0", "/g/l[0]"),
        ("/g/l/1/1", "/g/l[1][1]"),
        ("/g/l/2/x", "/g/l[2]/x"),
        ("/g/l/2/x/a/b", "/g/l[2]/x.a.b"),
        ("/g/a~1b", "/g/\"a/b\""),
        ("/g/c~0d", "/g/c~d"),
        ("/g//m", "/g/\"\".m"),
        ("/g/m", "/g/\"\".m"),
        ("/p.q", "/\"p.q\""),
        ("/0", "/0"),
    ] {
        assert_eq!(layout.find(pointer).unwrap(), layout.find(path).unwrap(), "{pointer}");
    }
    for pointer in ["/g/l/3", "/g/l/x", "/g/l/2/x/c", "/g/l/-", "/N/0", "/g/l/0/0"] {
        assert!(layout.find(pointer).is_err(), "{pointer}");
    }
}

#[test]
fn comments_belong_to_the_preceding_declaration() {
    let layout = parse(
        "## layout\n { ## summary\n N : i8 ## N\n t = f8 ## t\n} ## summary again\n\
         s ## s\n { a = i1 ## a\n b = {c = i1 ## c\n} ## b\n } ## s again\n\
         x ## x\n = s ## x again\n d/ ## d\n .. ## layout again\n\
         l [ ## l\n i1, ## one\n [ ## two\n ], ## two again\n / ## three\n y = i1 ## y\n , ## three again\n i1 ] l %0 ## l again",
    );
    let told = |subject: Subject| {
        (layout.subject_path(subject), layout.docs(subject).collect::<Vec<_>>().join("|"))
    };
    let mut told: Vec<(String, String)> = layout.commented().into_iter().map(told).collect();
    told.sort();
    let mut expected = [
        ("/", "layout|layout again"),
        ("{}", "summary|summary again"),
        ("/N", "N"),
        ("/t", "t"),
        ("s{}", "s|s again"),
        ("s{}.a", "a"),
        ("s{}.b", "b"),
        ("s{}.b.c", "c"),
        ("/x", "x|x again"),
        ("/d", "d"),
        ("/l", "l|l again"),
        ("/l[0]", "one"),
        ("/l[1]", "two|two again"),
        ("/l[2]", "three|three again"),
        ("/l[2]/y", "y"),
    ]
    .map(|(path, docs)| (path.to_owned(), docs.to_owned()));
    expected.sort();
    assert_eq!(told, expected);
}

/// The tree does not contain the parts of a broken declaration, so their comments belong to the declaration.
#[test]
fn comments_in_a_broken_declaration_belong_to_that_declaration() {
    for (text, expected) in [
        ("## all\n{ ## a\n % ## b\n N : i8 ## c\n y = f8 ## d", "all {:a {:b N:c y:d"),
        ("{ N : i8 ## a\n { } ## b\n", "{:a {:b"),
        ("{ N : i8 ## a\n", "{:a"),
        ("x = { a = i1 ## a\n }[$] ## b\n y = f8 ## c", "x:a x:b y:c"),
        ("t { a = { b = i1 ## a\n }[$] ## b\n c = i1 ## c\n }", "a:a a:b c:c"),
        ("l [f8, [i1, ## a\n i2 ## b\n $ ## c\n ] $ ## d\n , f4 ## e\n ]", "[:a [:b [:c [:d f4:e"),
    ] {
        let tree = Tree::parse(text, &Limits::default());
        assert!(!tree.diagnostics.is_empty(), "{text}");
        let part = |start: u32, end: u32| &text[start as usize..end as usize];
        let told = tree.comments.iter().map(|comment| {
            let words = part(comment.start + 2, comment.end).trim();
            match tree.nodes.get(comment.subject as usize) {
                Some(node) => format!("{}:{words}", part(node.start, node.end)),
                None => words.to_owned(),
            }
        });
        assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{text}");
    }
}

/// Number of items in a long layout.
const MANY: usize = 30_000;

#[test]
fn documentation_and_attributes_in_a_long_layout_belong_to_the_right_items() {
    let mut text = "N : 2  zone { r = f8 }\n".to_owned();
    for number in 0..MANY {
        text += &match number % 5 {
            0 => format!("d{number}/ x = f8[N]  ## in dict {number}\n#: number={number}\n"),
            1 => format!("y = zone[{number}] .. ## after dict {}\n", number - 1),
            2 => format!("a{number} = f8[N]  # no documentation\n## of array {number}\n"),
            3 => format!("l [i4, / x = i2 ## element {number}\n]\n"),
            _ => format!("'quoted {number}' = {{ m = i4 ## of member {number}\n }}\n"),
        };
    }
    let layout = Layout::parse(&text).unwrap();
    assert!(layout.diagnostics().is_empty());
    let item = |path: &str| match layout.find(path).unwrap() {
        Found::Item(id, members) if members.is_empty() => Subject::Item(id),
        Found::Item(_, members) => Subject::Member(members[0]),
        other => panic!("{path} is {other:?}"),
    };
    for number in 0..MANY {
        let group = number - number % 5;
        let (path, docs) = match number % 5 {
            0 => (format!("/d{number}/x"), format!("in dict {number}")),
            1 => (format!("/d{group}/y"), String::new()),
            2 => (format!("/a{number}"), format!("of array {number}")),
            3 => (format!("/l[{}]/x", 2 * (number / 5) + 1), format!("element {number}")),
            _ => (format!("/\"quoted {number}\".m"), format!("of member {number}")),
        };
        let subject = item(&path);
        let expected = if docs.is_empty() { vec![] } else { vec![docs.as_str()] };
        assert_eq!(layout.docs(subject).collect::<Vec<_>>(), expected, "{path}");
        assert_eq!(layout.attributes(subject).count(), usize::from(number % 5 == 0), "{path}");
    }
    // Documentation after `..` belongs to the dict that `..` returns to, here the root.
    assert_eq!(layout.docs(ItemId::ROOT.into()).count(), MANY / 5);
    assert_eq!(layout, Layout::parse(layout.to_string()).unwrap());
}

#[test]
fn errors_in_a_long_layout_can_refer_to_distant_declarations() {
    let items = |name| (0..MANY).map(|at| format!("{name}{at} = f8\n")).collect::<String>();
    let (x, y) = (items("x"), items("y"));
    let text = format!("a = later\n{x}x5 = i4\n{y}later {{ r = f8 }}\nc = f8[N]\n");
    let error = Layout::parse(text).unwrap_err();
    let line = |line: usize| Some(u32::try_from(line).unwrap());
    let found = error.diagnostics().unwrap().iter();
    let found = found.map(|found| {
        let label = found.labels.first().and_then(|label| label.place.line);
        (found.code, found.place.line, label)
    });
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            (Code::UndefinedType, line(1), line(2 * MANY + 3)),
            (Code::Redeclared, line(MANY + 2), line(7)),
            (Code::ParamNotInScope, line(2 * MANY + 4), None),
        ]
    );
}
