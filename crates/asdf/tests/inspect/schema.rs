//! Checking trees against schemas: valid and invalid values for each keyword.

use asdf::diagnostic::{Code, Severity};
use asdf::inspect::schema::{Mismatch, Schemas};
use asdf::{Asdf, Limits, OpenOptions};

const SCHEMA: &str = "asdf://scibin.example/schemas/observation-1.0.0";

fn schemas() -> Schemas {
    let mut schemas = Schemas::new();
    let report = schemas.add_folder(testdata::path("asdf/schemas")).unwrap();
    assert_eq!((report.read, report.failed.len()), (5, 0));
    schemas
}

/// Creates a file with an observation that has a name and the given entries.
fn file(more: &str) -> Asdf {
    let text = format!(
        "#ASDF 1.0.0\n#ASDF_STANDARD 1.6.0\n%YAML 1.1\n%TAG ! tag:stsci.edu:asdf/\n\
         %TAG !s! asdf://scibin.example/tags/\n--- !core/asdf-1.1.0\n\
         o: !s!observation-1.0.0\n  name: M31\n  {more}\n...\n"
    );
    Asdf::from_bytes(text.into_bytes()).unwrap()
}

fn validate(file: &Asdf) -> Vec<Mismatch> {
    let mut found = file.validate(&schemas()).unwrap();
    // The schemas of the standard are not loaded, so ignore the warnings about missing schemas.
    found.retain(|found| found.diagnostic.code != Code::NoSchema);
    found
}

/// Validates an observation with these entries. For each mismatch, returns the pointer below the
/// observation, the schema with the keyword, and the message.
fn wrong(more: &str) -> Vec<(String, String, String)> {
    let found = validate(&file(more));
    let parts = |found: Mismatch| {
        let pointer = found.diagnostic.place.pointer.unwrap();
        assert!(found.diagnostic.place.line.is_some() && found.diagnostic.place.offset.is_some());
        (pointer.replacen("/o", "", 1), found.schema, found.diagnostic.message)
    };
    found.into_iter().map(parts).collect()
}

#[track_caller]
fn valid(more: &str) {
    assert_eq!(wrong(more), [], "{more}");
}

/// Checks that there is only one mismatch, with this pointer, keyword and message.
#[track_caller]
fn one(more: &str, pointer: &str, keyword: &str, message: &str) {
    let expected = (pointer.to_owned(), format!("{SCHEMA}#{keyword}"), message.to_owned());
    assert_eq!(wrong(more), [expected], "{more}");
}

#[test]
fn nodes_have_the_same_schema_types_as_in_the_reference_implementation() {
    valid("exposure: 1");
    valid("exposure: 2.5");
    one(
        "exposure: '2'",
        "/exposure",
        "/properties/exposure/type",
        "expected a number, found the string \"2\"",
    );
    one(
        "exposure: yes",
        "/exposure",
        "/properties/exposure/type",
        "expected a number, found the boolean yes",
    );
    one(
        "count: 5.0",
        "/count",
        "/properties/count/type",
        "expected an integer, found the number 5.0",
    );
    // A scalar with an unknown tag counts as a string.
    one(
        "exposure: !other 5",
        "/exposure",
        "/properties/exposure/type",
        "expected a number, found the string \"5\"",
    );
    one(
        "filters: {}",
        "/filters",
        "/properties/filters/type",
        "expected an array, found an object",
    );
    // A date-time counts as a string if the schema requires a date-time, but a date does not.
    valid("start: 2026-11-20 23:24:27\n  exposure: 1");
    one(
        "start: 2026-11-20\n  exposure: 1",
        "/start",
        "/properties/start/type",
        "expected a string, found the date 2026-11-20",
    );
}

#[test]
fn a_number_outside_the_bounds_of_a_schema_is_reported() {
    one(
        "exposure: 0",
        "/exposure",
        "/properties/exposure/minimum",
        "expected more than 0, found 0",
    );
    valid("exposure: 1000");
    one(
        "exposure: 1000.5",
        "/exposure",
        "/properties/exposure/maximum",
        "expected at most 1000, found 1000.5",
    );
    valid("count: 15");
    one("count: 16", "/count", "/properties/count/multipleOf", "16 is not a multiple of 5");
    one("both: 1", "/both", "/properties/both/allOf/0/minimum", "expected at least 2, found 1");
    one("both: 5", "/both", "/properties/both/allOf/1/maximum", "expected at most 4, found 5");
}

#[test]
fn violations_of_length_limits_and_of_item_schemas_are_reported() {
    let message = "expected at least 2 characters, found 1";
    let found = validate(&Asdf::from_bytes(
        b"#ASDF 1.0.0\n%YAML 1.1\n---\no: !<asdf://scibin.example/tags/observation-1.0.0> {name: M}\n...\n"
            .to_vec(),
    ).unwrap());
    assert_eq!(found[0].diagnostic.message, message);
    one(
        "filters: []",
        "/filters",
        "/properties/filters/minItems",
        "expected at least 1 item, found 0",
    );
    one(
        "filters: [a, b, c, d]",
        "/filters",
        "/properties/filters/maxItems",
        "expected at most 3 items, found 4",
    );
    one(
        "filters: [a, b, a]",
        "/filters",
        "/properties/filters/uniqueItems",
        "item 2 equals another item, but all items must be different",
    );
    one(
        "filters: [a, 5]",
        "/filters/1",
        "/properties/filters/items/type",
        "expected a string, found the integer 5",
    );
    one(
        "pair: [a, b]",
        "/pair/0",
        "/properties/pair/items/0/type",
        "expected an integer, found the string \"a\"",
    );
    one(
        "pair: [1, b, 2]",
        "/pair",
        "/properties/pair/additionalItems",
        "expected at most 2 items, found 3",
    );
    one(
        "cards: {}",
        "/cards",
        "/properties/cards/minProperties",
        "expected at least 1 key, found 0",
    );
    one(
        "cards: {A: 1, B: 2, C: 3}",
        "/cards",
        "/properties/cards/maxProperties",
        "expected at most 2 keys, found 3",
    );
}

#[test]
fn a_string_that_does_not_match_the_pattern_is_reported() {
    let text = "#ASDF 1.0.0\n%YAML 1.1\n---\no: !<asdf://scibin.example/tags/observation-1.0.0>\n  \
                name: m31\n...\n";
    let found = validate(&Asdf::from_bytes(text.as_bytes().to_vec()).unwrap());
    assert_eq!(
        found[0].diagnostic.to_string(),
        "error[SchemaMismatch]: \"m31\" does not match the pattern ^[A-Z] (/o/name, line 5, column 9, offset 85)"
    );
    assert_eq!(found[0].schema, format!("{SCHEMA}#/properties/name/pattern"));
    one(
        "lookahead: y",
        "/lookahead",
        "/properties/lookahead/pattern",
        "the pattern \"^(?!x)\" is not supported",
    );
}

#[test]
fn missing_keys_and_disallowed_keys_and_unmet_dependencies_are_reported() {
    let text =
        "#ASDF 1.0.0\n%YAML 1.1\n---\no: !<asdf://scibin.example/tags/observation-1.0.0> {}\n...\n";
    let found = validate(&Asdf::from_bytes(text.as_bytes().to_vec()).unwrap());
    assert_eq!(found[0].diagnostic.message, "the key `name` is missing");
    one(
        "start: '2026-11-20 23:24:27'",
        "",
        "/dependencies",
        "the key `start` requires the key `exposure`, which is missing",
    );
    one("mode: imaging", "", "/dependencies/mode/required", "the key `count` is missing");
    valid("cards: {AB: 1}");
    one(
        "cards: {AB: x}",
        "/cards/AB",
        "/properties/cards/patternProperties/^[A-Z]+$/type",
        "expected an integer, found the string \"x\"",
    );
    one(
        "cards: {ab: 1}",
        "/cards/ab",
        "/properties/cards/additionalProperties",
        "the key `ab` is not allowed",
    );
    valid("others: {x: true}");
    one(
        "others: {x: 1}",
        "/others/x",
        "/properties/others/additionalProperties/type",
        "expected a boolean, found the integer 1",
    );
}

#[test]
fn a_value_that_is_not_in_the_enum_is_reported() {
    for mode in ["imaging", "7", "7.0", "~", "[1, 2]"] {
        valid(&format!("mode: {mode}\n  count: 5"));
    }
    one(
        "mode: other\n  count: 5",
        "/mode",
        "/properties/mode/enum",
        "expected one of \"imaging\", \"spectroscopy\", 7, null, a collection, \
         found the string \"other\"",
    );
}

#[test]
fn violations_of_anyof_and_oneof_and_not_are_reported() {
    valid("value: 1.5");
    valid("value: !s!two-1.0.0 {one: 1, two: 2}");
    one(
        "value: text",
        "/value",
        "/properties/value/anyOf",
        "the value matches none of the 2 allowed schemas: expected a number, found the string \"text\"; \
         expected the tag asdf://scibin.example/tags/*-1.0.0, found tag:yaml.org,2002:str",
    );
    valid("either: 4");
    valid("either: 5.5");
    one(
        "either: 6",
        "/either",
        "/properties/either/oneOf",
        "the value matches more than one schema, but must match exactly one",
    );
    valid("never: 1");
    one(
        "never: x",
        "/never",
        "/properties/never/not",
        "the value matches the schema of `not`, but must not match it",
    );
}

#[test]
fn a_schema_may_refer_to_other_schemas() {
    valid("position: {ra: 10, dec: -20}\n  dec: 5");
    let found = wrong("position: {ra: 400, dec: 95}\n  dec: -91");
    let schema = "asdf://scibin.example/schemas/position-1.0.0";
    let places: Vec<_> = found.iter().map(|(at, schema, _)| (&at[..], &schema[..])).collect();
    assert_eq!(
        places,
        [
            ("/position/ra", &format!("{schema}#/properties/ra/maximum")[..]),
            ("/position/dec", &format!("{schema}#/definitions/angle/maximum")),
            ("/dec", &format!("{schema}#/definitions/angle/minimum")),
        ]
    );
    let found = wrong("child: {name: 5}");
    assert_eq!(found[0].0, "/child/name");
    let found = validate(&file("missing: 1"));
    assert_eq!(found[0].diagnostic.code, Code::BadSchema);
    let message = "the schema asdf://scibin.example/schemas/nowhere-1.0.0 was not found, so no \
                   node is checked against it";
    assert_eq!(found[0].diagnostic.message, message);
    // The target of a reference to another file is not checked.
    valid("exposure: {$ref: 'other.asdf#/x'}");
}

#[test]
fn an_array_with_the_wrong_dimensions_or_datatype_is_reported() {
    let array = |shape: &str, datatype: &str| {
        format!(
            "image: !core/ndarray-1.1.0 {{source: 0, datatype: {datatype}, byteorder: big, \
             shape: {shape}}}"
        )
    };
    // numpy casts these types to float32 without loss.
    for datatype in ["float32", "float16", "int16", "uint16", "int8", "bool8"] {
        valid(&array("[2, 3]", datatype));
    }
    for datatype in ["float64", "int32", "uint32", "complex64", "[ascii, 5]"] {
        let found = wrong(&array("[2, 3]", datatype));
        let message = format!("expected the datatype float32, found {datatype}");
        assert_eq!(found[0].2, message);
    }
    valid(&array("['*', 3]", "float32"));
    one(
        &array("[2]", "float32"),
        "/image",
        "/properties/image/ndim",
        "expected 2 dimensions, found 1",
    );
    valid("image: !core/ndarray-1.1.0 {data: [[1, 2]], datatype: int8}");
    one(
        "image: [[1]]",
        "/image",
        "/properties/image/tag",
        "expected the tag tag:stsci.edu:asdf/core/ndarray-1.*, found tag:yaml.org,2002:seq",
    );
    let table = |fields: &str, shape: &str| {
        format!(
            "table: !core/ndarray-1.1.0 {{source: 0, byteorder: big, shape: {shape}, \
             datatype: [{fields}]}}"
        )
    };
    let (a, b) = ("{name: a, datatype: int16}", "{name: b, datatype: float32}");
    valid(&table(&format!("{a}, {b}"), "[9]"));
    assert_eq!(
        wrong(&table(&format!("{a}, {b}"), "[9, 2]"))[0].2,
        "expected at most 1 dimension, found 2"
    );
    assert_eq!(wrong(&table(a, "[9]")).len(), 1);
    assert_eq!(wrong(&table(&format!("{b}, {a}"), "[9]")).len(), 1);
    let exact = |datatype: &str| {
        format!(
            "exact: !core/ndarray-1.1.0 {{source: 0, datatype: {datatype}, byteorder: big, shape: [2]}}"
        )
    };
    valid(&exact("int16"));
    one(
        &exact("int8"),
        "/exact",
        "/properties/exact/datatype",
        "expected exactly the datatype int16, found int8",
    );
}

#[test]
fn a_node_is_checked_against_every_schema_of_its_tag() {
    let found = wrong("x: !s!two-1.0.0 {}");
    let schemas: Vec<&str> = found.iter().map(|found| &found.1[..]).collect();
    assert_eq!(
        schemas,
        [
            "asdf://scibin.example/schemas/first-1.0.0#/required",
            "asdf://scibin.example/schemas/second-1.0.0#/required",
        ]
    );
    let found = validate(&file("x: !s!lost-1.0.0 {}"));
    assert_eq!(found[0].diagnostic.code, Code::BadSchema);
    let found =
        file("x: !s!none-1.0.0 {}\n  y: !s!none-1.0.0 {}").validate(&Schemas::new()).unwrap();
    let tags: Vec<_> = found.iter().map(|found| &found.diagnostic.message[..]).collect();
    assert_eq!(
        tags,
        [
            "no schema for the tag tag:stsci.edu:asdf/core/asdf-1.1.0",
            "no schema for the tag asdf://scibin.example/tags/observation-1.0.0",
            "no schema for the tag asdf://scibin.example/tags/none-1.0.0",
        ]
    );
    assert!(found.iter().all(|found| found.diagnostic.severity == Severity::Warning));
}

#[test]
fn checking_a_cyclic_or_hostile_tree_terminates() {
    valid("child: &c {name: A1, child: *c}");
    let deep = "{name: AB, child: ".repeat(400) + "{name: AB}" + &"}".repeat(400);
    let error = file(&format!("child: {deep}")).validate(&schemas()).unwrap_err();
    assert!(error.to_string().starts_with("depth of schemas: "), "{error}");
    // Neither of the two alternatives matches at any level of the tree. If each alternative were
    // checked again at every level, the work would double with each level.
    let mut schemas = Schemas::new();
    schemas.add("tags: [{tag_uri: '!x', schema_uri: 'asdf://x'}]").unwrap();
    let schema = "{id: 'asdf://x', anyOf: [{items: {$ref: '#'}, maxItems: 1, type: array}, \
                  {items: {$ref: '#'}, type: array}]}";
    schemas.add(schema).unwrap();
    let deep = "[".repeat(40) + "1" + &"]".repeat(40);
    let text = format!("#ASDF 1.0.0\n%YAML 1.1\n---\nx: !x {deep}\n...\n");
    let file = Asdf::from_bytes(text.into_bytes()).unwrap();
    assert_eq!(file.validate(&schemas).unwrap().len(), 1);
    let many = format!("x: !x [{}]", "[1],".repeat(1000));
    let options = OpenOptions::new().limits(Limits::default().max_items(100_000));
    let text = format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{many}\n...\n");
    let limited = options.from_bytes(text.into_bytes()).unwrap();
    assert!(limited.validate(&schemas).unwrap().len() <= 1000);
}

#[test]
fn nodes_are_described_by_the_titles_and_units_of_their_schemas() {
    let file = file("exposure: 5\n  position: {ra: 1, dec: 2}\n  image: !core/ndarray-1.1.0 [[1]]");
    let descriptions = schemas().describe(&file).unwrap();
    let of = |pointer: &str| {
        let node = file.tree().unwrap().pointer(pointer).unwrap();
        let description = descriptions.get(node.id()).cloned().unwrap_or_default();
        (description.title, description.unit)
    };
    let both = |title: &str, unit: &str| (Some(title.to_owned()), Some(unit.to_owned()));
    assert_eq!(of("/o"), (Some("An observation".to_owned()), None));
    assert_eq!(of("/o/exposure"), both("Exposure time", "s"));
    assert_eq!(of("/o/position/dec"), both("Declination", "deg"));
    assert_eq!(of("/o/image").0.as_deref(), Some("Pixels"));
    assert_eq!(of("/o/position").0.as_deref(), Some("A place on the sky"));
}

#[test]
fn a_node_is_not_described_by_alternatives_that_it_does_not_match() {
    let mut schemas = Schemas::new();
    let choices =
        "anyOf: [{type: object, title: A quantity, unit: s}, {type: number, title: A number}]";
    let schema = format!("{{id: 'asdf://x.org/a', properties: {{gain: {{{choices}}}}}}}");
    schemas.add(&schema).unwrap();
    schemas.add("tags: [{tag_uri: '!a', schema_uri: 'asdf://x.org/a'}]").unwrap();
    let described = |gain: &str| {
        let text = format!("#ASDF 1.0.0\n%YAML 1.1\n--- !a\ngain: {gain}\n...\n");
        let file = Asdf::from_bytes(text.into_bytes()).unwrap();
        let gain = file.tree().unwrap().pointer("/gain").unwrap().id();
        let description = schemas.describe(&file).unwrap().get(gain).cloned().unwrap_or_default();
        (description.title, description.unit)
    };
    assert_eq!(described("2.5"), (Some("A number".to_owned()), None));
    assert_eq!(described("{}"), (Some("A quantity".to_owned()), Some("s".to_owned())));
    assert_eq!(described("x"), (None, None));
}

#[test]
fn reading_a_folder_skips_files_that_are_not_schemas_and_reports_invalid_yaml() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.yaml"), "x: 1").unwrap();
    std::fs::write(folder.path().join("b.yaml"), "x: [1").unwrap();
    std::fs::write(folder.path().join("c.txt"), "id: asdf://c").unwrap();
    let mut schemas = Schemas::new();
    let report = schemas.add_folder(folder.path()).unwrap();
    assert_eq!((report.read, report.failed.len()), (0, 1));
    assert!(schemas.is_empty());
    assert!(schemas.add_folder(folder.path().join("nowhere")).is_err());
}

#[test]
fn a_ref_key_at_the_root_or_next_to_other_keys_does_not_prevent_checking() {
    let mut schemas = Schemas::new();
    schemas.add("tags: [{tag_uri: 'tag:x.org:a', schema_uri: 'asdf://x.org/a'}]").unwrap();
    schemas.add("{id: 'asdf://x.org/a', required: [name]}").unwrap();
    let count = |tree: &str| {
        let text = format!("#ASDF 1.0.0\n%YAML 1.1\n---\n{tree}\n...\n");
        Asdf::from_bytes(text.into_bytes()).unwrap().validate(&schemas).unwrap().len()
    };
    assert_eq!(count("!<tag:x.org:a> {$ref: x}"), 1);
    assert_eq!(count("!<tag:x.org:a> {$ref: x, b: 1}"), 1);
    assert_eq!(count("a: !<tag:x.org:a> {$ref: x, b: 1}"), 1);
    assert_eq!(count("a: !<tag:x.org:a> {$ref: 5}"), 1);
    assert_eq!(count("a: !<tag:x.org:a> {$ref: x}"), 0);
}

const TAG: &str = "asdf://x.org/tag";

/// Creates a schema for [`TAG`] with these keywords.
fn schema_of(keywords: &str) -> Schemas {
    let mut schemas = Schemas::new();
    schemas.add(&format!("id: asdf://x.org/schema\n{keywords}")).unwrap();
    schemas
        .add(&format!("tags: [{{tag_uri: '{TAG}', schema_uri: 'asdf://x.org/schema'}}]"))
        .unwrap();
    schemas
}

/// Creates a file that declares a version of the standard and contains a node with [`TAG`].
fn tagged(standard: &str, content: &str) -> Vec<u8> {
    let head = format!("#ASDF 1.0.0\n#ASDF_STANDARD {standard}\n%YAML 1.1\n---\n");
    format!("{head}x: !<{TAG}>{content}\n...\n").into_bytes()
}

fn messages(schemas: &Schemas, file: Vec<u8>) -> Vec<String> {
    let found = Asdf::from_bytes(file).unwrap().validate(schemas).unwrap();
    found.into_iter().map(|found| found.diagnostic.message).collect()
}

#[test]
fn many_values_can_be_checked_against_an_enum_of_many_constants() {
    let constants =
        (0..20_000).map(|number| format!("  - k{number}\n")).collect::<Vec<_>>().concat();
    let schemas = schema_of(&format!("items:\n  enum:\n{constants}"));
    let items =
        (0..100_000).map(|number| format!("\n- k{}", number % 20_000)).collect::<Vec<_>>().concat();
    let limits = Limits::default().max_items(400_000);
    let options = OpenOptions::new().limits(limits);
    let file = options.from_bytes(tagged("1.6.0", &items)).unwrap();
    assert_eq!(file.validate(&schemas).unwrap().len(), 0);
    let wrong = options.from_bytes(tagged("1.6.0", &(items + "\n- other"))).unwrap();
    assert_eq!(wrong.validate(&schemas).unwrap().len(), 1);
}

#[test]
fn values_of_any_kind_are_compared_with_the_constants_of_an_enum() {
    let schemas =
        schema_of("items: {enum: [1, 2.5, -0.0, .nan, yes, null, [1], {a: 1}, 2000-01-01]}");
    let count = |items: &str| messages(&schemas, tagged("1.6.0", items)).len();
    assert_eq!(count(" [1.0, 1, 2.5, 0, 0.0, true, ~, [1], {a: 1}, 2000-01-01]"), 0);
    assert_eq!(count(" ['1', .nan, 'yes', 'null', [2], {a: 2}, 2000-01-02]"), 7);
}

#[test]
fn checking_too_many_alternatives_is_an_error() {
    let choices =
        (0..3000).map(|number| format!("  - {{enum: [k{number}]}}\n")).collect::<Vec<_>>().concat();
    let schemas = schema_of(&format!("items:\n  oneOf:\n{choices}"));
    let items =
        (0..20_000).map(|number| format!("\n- k{}", number % 3000)).collect::<Vec<_>>().concat();
    let limits = Limits::default().max_items(1_000_000);
    let file = OpenOptions::new().limits(limits).from_bytes(tagged("1.6.0", &items)).unwrap();
    let error = file.validate(&schemas).unwrap_err();
    assert!(matches!(error.kind(), asdf::ErrorKind::Limit { .. }), "{error}");
}

#[test]
fn missing_keys_with_default_values_count_as_present_up_to_standard_version_1_5() {
    let schemas = schema_of(
        "allOf:\n- properties:\n    direction: {default: native2celestial}\n    steps:\n      items: \
         {$ref: '#/definitions/step'}\nrequired: [direction, angle]\ndefinitions:\n  step:\n    \
         properties: {n: {$ref: '#/definitions/n'}}\n    required: [n]\n  n: {default: 1}\n",
    );
    let content = " {angle: 1, steps: [{}, {n: 2}]}";
    assert_eq!(messages(&schemas, tagged("1.5.0", content)), [""; 0]);
    let missing = ["the key `direction` is missing", "the key `n` is missing"];
    assert_eq!(messages(&schemas, tagged("1.6.0", content)), missing);
    assert_eq!(messages(&schemas, tagged("1.5.0", " {}")), ["the key `angle` is missing"]);
    // The reference implementation does not fill in defaults inside alternatives.
    let schemas = schema_of("anyOf: [{properties: {a: {default: 1}}, required: [a]}]");
    assert_eq!(messages(&schemas, tagged("1.5.0", " {}")).len(), 1);
}

#[test]
fn a_tilde_in_a_schema_reference_may_be_unescaped() {
    // The Roman telescope's schemas for source catalogs contain references with an unescaped `~`,
    // although RFC 6901 requires `~0`.
    let definitions = "definitions: {'a_~band~': {type: array}, 'b~/c': {type: array}}";
    for reference in ["a_~band~", "a_~0band~0", "b~0~1c", "b~~1c"] {
        let schemas = schema_of(&format!("$ref: '#/definitions/{reference}'\n{definitions}"));
        assert_eq!(messages(&schemas, tagged("1.6.0", " []")), [""; 0], "{reference}");
        assert_eq!(messages(&schemas, tagged("1.6.0", " {}")).len(), 1, "{reference}");
    }
}

#[test]
fn the_newest_manifest_listed_in_the_file_determines_the_schemas_of_a_tag() {
    let mut schemas = Schemas::new();
    for (version, kind) in [("1.9.0", "string"), ("1.10.0", "number"), ("1.11.0", "boolean")] {
        let uri = format!("asdf://x.org/schema-{version}");
        schemas.add(&format!("{{id: '{uri}', properties: {{a: {{type: {kind}}}}}}}")).unwrap();
        let manifest = format!(
            "id: asdf://x.org/manifests/m-{version}\nextension_uri: asdf://x.org/extensions/e-{version}\n\
             tags: [{{tag_uri: '{TAG}', schema_uri: '{uri}'}}]"
        );
        schemas.add(&manifest).unwrap();
    }
    let expected = |versions: &[&str]| {
        let extensions = versions.iter().map(|version| {
            format!("{{extension_class: x, extension_uri: 'asdf://x.org/extensions/e-{version}'}}")
        });
        let extensions = extensions.collect::<Vec<_>>().join(", ");
        let history = format!(" {{a: []}}\nhistory: {{extensions: [{extensions}]}}");
        messages(&schemas, tagged("1.6.0", &history)).join("")
    };
    assert_eq!(expected(&["1.9.0"]), "expected a string, found an array");
    assert_eq!(expected(&["1.9.0", "1.10.0"]), "expected a number, found an array");
    assert_eq!(expected(&[]), "expected a boolean, found an array");
    assert_eq!(expected(&["2.0.0"]), "expected a boolean, found an array");
}

#[test]
fn an_ordered_mapping_is_checked_as_an_object() {
    let schemas = schema_of(
        "properties:\n  o:\n    type: object\n    properties: {a: {type: number}}\n    required: [a, b]\n    \
         additionalProperties: false\n    maxProperties: 2\n",
    );
    let of =
        |entries: &str| messages(&schemas, tagged("1.6.0", &format!(" {{o: !!omap [{entries}]}}")));
    assert_eq!(
        of("a: x, c: 1, d: 2"),
        [
            "the key `b` is missing",
            "expected at most 2 keys, found 3",
            "expected a number, found the string \"x\"",
            "the key `c` is not allowed",
            "the key `d` is not allowed",
        ]
    );
    assert_eq!(of("a: 1"), ["the key `b` is missing"]);
}
