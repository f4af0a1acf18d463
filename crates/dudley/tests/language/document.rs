//! Testing every example in the language document. The canonical text of each example must nest
//! each item in its dict or list, and the addresses must equal the addresses computed by hand. If
//! an example contains placeholders, such as `dtype` or `address`, the test defines them before the
//! example.

use std::ops::ControlFlow;

use dudley::diagnostic::Code;
use dudley::layout::Subject;
use dudley::{Layout, Order, Resolver, Rules, Values};

use crate::{codes, parse};

/// Returns the canonical text of a layout without comments.
fn tree(text: &str) -> String {
    let printed = parse(text).to_string();
    let lines = printed.lines().map(|line| line.split("##").next().unwrap_or_default().trim_end());
    lines.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

/// Returns the path, address and shape of each item for given values of parameters, and the end of
/// the data. An address that depends on the stream is shown as `?`.
fn addresses(text: &str, values: &[(&str, i64)]) -> Vec<String> {
    let layout = parse(text);
    let resolver = Resolver::new(&layout).rules(
        Rules::new()
            .order(Order::Little)
            .values(values.iter().map(|&(name, value)| (name, value)).collect::<Values>()),
    );
    let table = resolver.table().unwrap();
    let rows = table.iter().map(|row| {
        let address = row.address().map_or("?".to_owned(), |address| address.to_string());
        let shape: Vec<String> = row.shape().iter().map(ToString::to_string).collect();
        format!("{} {address} [{}]", row.path(), shape.join(","))
    });
    let end = table.end().map_or("?".to_owned(), |end| end.to_string());
    rows.chain([format!("end {end}")]).collect()
}

#[test]
fn each_kind_of_item_parses_as_the_language_document_shows() {
    let text = "dtype {\"\"=f8} dtype2 {\"\"=f8} dtype3 {\"\"=f8} shape:2 shape2:3 shape3:4
    data_name = dtype[shape] @64
    dict_name/
      data_name2 = dtype2[shape2]
      data_name3 = dtype3[shape3]
      ..
    data_name4 = dtype[shape] @128
    list_name [
        dtype[shape],
        dtype2[shape2] @256,
        dtype3[shape3]
    ]
    param_name: 42
    param_name2: i8 @512";
    let expected = "\
data_name = dtype[shape] @64
dict_name/
  data_name2 = dtype2[shape2]
  data_name3 = dtype3[shape3]
  ..
data_name4 = dtype[shape] @128
list_name [
  dtype[shape],
  dtype2[shape2] @256,
  dtype3[shape3]
]
param_name : 42
param_name2 : i8 @512
";
    assert!(tree(text).ends_with(expected), "{}", tree(text));
    assert_eq!(
        addresses(text, &[("param_name2", 1)]),
        [
            "/data_name 64 [2]",
            "/dict_name/data_name2 80 [3]",
            "/dict_name/data_name3 104 [4]",
            "/data_name4 128 [2]",
            "/list_name[0] 144 [2]",
            "/list_name[1] 256 [3]",
            "/list_name[2] 280 [4]",
            "/param_name2 512 []",
            "end 520",
        ]
    );
}

#[test]
fn white_space_serves_only_to_separate_tokens() {
    assert_eq!(tree("a=f8 b=i4"), "a = f8\nb = i4\n");
    assert_eq!(addresses("a=f8 b=i4", &[]), ["/a 0 []", "/b 8 []", "end 12"]);
    assert_eq!(codes("a=f8b=i4")[0], "E031");
}

#[test]
fn the_byte_order_of_a_layout_applies_to_all_types_without_a_prefix() {
    for (text, dtypes) in [
        ("> a = f8  b = <i4  c = |i2  d = S1", [">f8", "<i4", ">i2", "S1"]),
        ("< a = f8  b = >i4  c = |i2  d = b1", ["<f8", ">i4", "<i2", "b1"]),
    ] {
        let layout = parse(text);
        let table = Resolver::new(&layout).rules(Rules::new().order(Order::Big)).table().unwrap();
        assert_eq!(table.iter().map(|row| row.dtype()).collect::<Vec<_>>(), dtypes);
        assert_eq!(addresses(text, &[])[1..4], ["/b 8 []", "/c 12 []", "/d 14 []"]);
    }
}

#[test]
fn a_quoted_name_may_contain_a_hyphen() {
    assert_eq!(tree("\"dash-name\" = i8"), "\"dash-name\" = i8\n");
    assert_eq!(addresses("\"dash-name\" = i8", &[]), ["/dash-name 0 []", "end 8"]);
}

#[test]
fn lists_can_contain_lists_and_dicts() {
    let text = "dtype {\"\"=f8} shape:2 shape2:3
    list_name [[dtype[shape], i1], i2,
               /var_name=dtype[shape]
                var2_name=dtype[shape2]
               ,
               dtype[shape]]";
    let expected = "\
list_name [
  [
    dtype[shape],
    i1
  ],
  i2,
  /
    var_name = dtype[shape]
    var2_name = dtype[shape2]
  ,
  dtype[shape]
]
";
    assert!(tree(text).ends_with(expected), "{}", tree(text));
    assert_eq!(
        addresses(text, &[]),
        [
            "/list_name[0][0] 0 [2]",
            "/list_name[0][1] 16 []",
            "/list_name[1] 18 []",
            "/list_name[2]/var_name 24 [2]",
            "/list_name[2]/var2_name 40 [3]",
            "/list_name[3] 64 [2]",
            "end 80",
        ]
    );
}

#[test]
fn names_without_datatypes_in_a_list_are_read_as_undefined_types() {
    let text = "list_name [[f8], /var_name[shape]\n var2_name[shape2], f8]";
    assert_eq!(codes(text), ["E031", "E031"]);
    let error = Layout::parse(text).unwrap_err();
    assert!(
        error.diagnostics().unwrap().first().help[0].contains("`name = datatype[shape]`"),
        "{error}"
    );
}

#[test]
fn a_full_path_declares_an_item_in_nested_dicts() {
    let text = "dict_name/ .. /dict_name/data_name8 = f4[8]\n/list_name = [i1[9], f8[10]]";
    let expected = "dict_name/\n  data_name8 = f4[8]\n  ..\nlist_name [\n  i1[9],\n  f8[10]\n]\n";
    assert_eq!(tree(text), expected);
    assert_eq!(
        addresses(text, &[]),
        ["/dict_name/data_name8 0 [8]", "/list_name[0] 32 [9]", "/list_name[1] 48 [10]", "end 128"]
    );
    assert_eq!(codes("data_name = f8 data_name = f8"), ["E020"]);
}

#[test]
fn comments_belong_to_the_preceding_declaration() {
    let text = "\
    # This is a layout comment, completely ignored, ...
    IMAX: i8  JMAX: i8  # ...as is this.
    temperature = f8[IMAX, JMAX]  ## (C) ground level air temperature in zones
      ## Document comments can be continued on multiple lines;
      ## all three of these lines refer to the data array \"temperature\".
      #: units=\"C\", centering=[1,1]
      # The previous line defines \"units\" and \"centering\" attributes for
      # \"temperature\" (unnecessary, given the first documentation line?).
    /  ## This document comment applies to the whole file.
    mygroup/  ## This document comment applies to the dict \"mygroup\".
      mylist[  ## This document comment applies to the list \"mylist\".
        f4[20]  ## This document comment applies to mylist[0].
      ]  ## This docuemnt comment again applies to \"mylist\" itself.
";
    let layout = parse(text);
    let docs: Vec<(String, usize)> = layout
        .commented()
        .into_iter()
        .map(|subject| (layout.subject_path(subject), layout.docs(subject).len()))
        .collect();
    let expected = [
        ("/", 1),
        ("/temperature", 3),
        ("/mygroup", 1),
        ("/mygroup/mylist", 2),
        ("/mygroup/mylist[0]", 1),
    ];
    assert_eq!(docs, expected.map(|(path, lines)| (path.to_owned(), lines)));
    let temperature = layout.child(dudley::ItemId::ROOT, "temperature").unwrap();
    let attributes: Vec<_> = layout.attributes(temperature.into()).cloned().collect();
    let attribute = |name: &str, value| dudley::layout::Attribute { name: name.to_owned(), value };
    let units = attribute("units", dudley::layout::Value::Text("C".to_owned()));
    assert_eq!(
        attributes,
        [units, attribute("centering", dudley::layout::Value::Integers(vec![1, 1]))]
    );
    assert_eq!(
        addresses(text, &[("IMAX", 2), ("JMAX", 3)]),
        [
            "/IMAX 0 []",
            "/JMAX 8 []",
            "/temperature 16 [2,3]",
            "/mygroup/mylist[0] 64 [20]",
            "end 144",
        ]
    );
}

#[test]
fn a_parameter_of_zero_makes_a_variable_empty() {
    let text = "IF_EXISTS : i1\nvarname = f8[IF_EXISTS, 3, 5]";
    assert_eq!(tree(text), "IF_EXISTS : i1\nvarname = f8[IF_EXISTS, 3, 5]\n");
    for (value, row, end) in [
        (0, "/varname 1 [0,3,5]", "end 1"),
        (-1, "/varname 8 [3,5]", "end 128"),
        (2, "/varname 8 [2,3,5]", "end 248"),
    ] {
        assert_eq!(addresses(text, &[("IF_EXISTS", value)])[1..], [row, end]);
    }
}

#[test]
fn structs_can_have_parameters_and_explicit_placements() {
    let text = "
    type_name { %8  # Optional alignment before first member applies to whole dtype.
        param : i4
        var = f8[param]
        var2 = i2[param] %4
    }
    x = { %2
        param : 3
        var = f8[param] @8
    }";
    let expected = "\
type_name { %8
  param : i4
  var = f8[param]
  var2 = i2[param] %4
}
x = { %2
  param : 3
  var = f8[param] @8
}
";
    assert_eq!(tree(text), expected);
    let layout = parse(text);
    let named = layout.type_named("type_name").unwrap();
    assert!(layout.struct_type(named).is_indeterminate);
    // An instance of `/x` consists of an 8-byte gap and 3 x 8 bytes. An instance of `/y` consists
    // of 4 bytes, 4 bytes of padding, 2 x 8 bytes, 2 x 2 bytes, and 4 more bytes of padding.
    let text = text.to_owned() + " y = type_name  z = i1";
    assert_eq!(addresses(&text, &[("param", 2)]), ["/x 0 []", "/y 32 []", "/z 64 []", "end 65"]);
    assert_eq!(addresses(&text, &[]), ["/x 0 []", "/y 32 []", "/z ? []", "end ?"]);
}

#[test]
fn free_names_of_a_typedef_are_bound_at_each_use() {
    let text = "IMAX : i4 JMAX : i4 NGROUP : i4
    mesh_data {\"\" = f8[IMAX, JMAX]}
    x = mesh_data
    y = mesh_data
    phot = mesh_data[NGROUP]  # same as phot = f8[NGROUP, IMAX, JMAX]";
    let layout = parse(text);
    let mesh_data = layout.type_named("mesh_data").unwrap();
    assert!(layout.struct_type(mesh_data).is_typedef);
    assert_eq!(layout.free_names(mesh_data).collect::<Vec<_>>(), ["IMAX", "JMAX"]);
    let phot = layout.child(dudley::ItemId::ROOT, "phot").unwrap();
    let data = layout.data_of(phot).unwrap();
    let names: Vec<String> = layout
        .bindings(data)
        .iter()
        .map(|binding| match *binding {
            dudley::layout::Binding::Param(id) => layout.subject_path(Subject::Param(id)),
            dudley::layout::Binding::Free(_) => unreachable!("all names in a dict are bound"),
        })
        .collect();
    assert_eq!(names, ["/IMAX", "/JMAX"]);
    assert_eq!(
        addresses(text, &[("IMAX", 2), ("JMAX", 3), ("NGROUP", 4)])[3..],
        ["/x 16 [2,3]", "/y 64 [2,3]", "/phot 112 [4,2,3]", "end 304"]
    );
    let elsewhere = text.to_owned() + "\n d/ JMAX : 5 z = mesh_data";
    assert_eq!(
        addresses(&elsewhere, &[("IMAX", 2), ("JMAX", 3), ("NGROUP", 4)])[6..],
        ["/d/z 304 [2,5]", "end 384"]
    );
    assert_eq!(codes("t {a=i1} d/ t {b=i1}"), ["E023"]);
}

#[test]
fn primitive_types_can_be_redefined() {
    let layout = parse("i8 {%4 \"\"=|i8}  x = i8");
    assert_eq!(layout.to_string(), "i8 { %4\n  \"\" = |i8\n}\nx = i8\n");
    assert_eq!(
        addresses("i8 {%4 \"\"=|i8}  a = i1  x = i8  b = i1  y = |i8", &[]),
        ["/a 0 []", "/x 4 []", "/b 12 []", "/y 16 []", "end 24"]
    );
    assert_eq!(codes("x = i8 i8 {%4 \"\"=|i8}"), ["E024"]);
}

#[test]
fn an_extension_of_a_list_declares_the_same_elements_as_its_long_form() {
    let short = "IMAX : 2 JMAX : 3
    density [f8[IMAX,JMAX]]  # declares a list with a single item
    density@64
    density%0
    density %0 %0 %0
    density[f8[42]]
    density %0";
    let long = "IMAX : 2 JMAX : 3
    density[
        f8[IMAX, JMAX],
        f8[IMAX, JMAX]@64,
        f8[IMAX, JMAX],
        f8[IMAX, JMAX], f8[IMAX, JMAX], f8[IMAX, JMAX],
        f8[42],
        f8[42]
    ]";
    let expected = [
        "/density[0] 0 [2,3]",
        "/density[1] 64 [2,3]",
        "/density[2] 112 [2,3]",
        "/density[3] 160 [2,3]",
        "/density[4] 208 [2,3]",
        "/density[5] 256 [2,3]",
        "/density[6] 304 [42]",
        "/density[7] 640 [42]",
        "end 976",
    ];
    assert_eq!(addresses(short, &[]), expected);
    assert_eq!(addresses(long, &[]), expected);
    let (short, long) = (parse(short), parse(long));
    let shapes = |layout: &Layout| -> Vec<_> {
        let data = layout.items().filter_map(|id| layout.data_of(id));
        data.map(|data| (data.datatype, layout.shape(data).to_vec())).collect()
    };
    assert_eq!(shapes(&short), shapes(&long));
    assert_eq!(shapes(&short).len(), 8);
}

#[test]
fn the_summary_example_in_the_language_document_parses() {
    let text = "{
        param1 : i8  ##  documentation comment
        param2 : i8
        time : f8  # time is a typical example of a variable summary value
    }";
    let layout = parse(text);
    assert_eq!(tree(text), "{\n  param1 : i8\n  param2 : i8\n  time = f8\n}\n");
    let summary = layout.summary().unwrap();
    assert_eq!((summary.declarations, layout.fields(summary.struct_type).len()), (3, 3));
    assert_eq!(layout.diagnostics()[0].code, Code::DataAsParam);
    assert_eq!(
        addresses(text, &[("param1", 1), ("param2", 1)]),
        ["/param1 0 []", "/param2 8 []", "/time 16 []", "end 24"]
    );
}

#[test]
fn the_filter_examples_in_the_language_document_parse() {
    let text = "var = f8[10] -> gzip @64  v2 = f8[4] -> zfp(-15)  r = i8[3] <- ref";
    let expected = "var = f8[10] -> gzip @64\nv2 = f8[4] -> zfp(-15)\nr = i8[3] <- ref\n";
    assert_eq!(tree(text), expected);
    assert_eq!(addresses(text, &[]), ["/var 64 [10]", "/v2 ? [4]", "/r ? [3]", "end ?"]);
    assert_eq!(addresses("var = i8[3] <- ref @8", &[]), ["/var 8 [3]", "end 32"]);
}

/// The template for the state of a simulation, from the language document.
const TEMPLATE: &str = "
{
  IMAX := i8    ## leading dimension of mesh arrays
  JMAX := i8    ## second dimension of mesh arrays
  NGROUP := i8  ## number of photon energy groups
  time = f8     ## (ns) simulation time
}  # summary completely specifies any file described by this layout
r = f8[JMAX, IMAX]  ## (um) radial node coordinates
z = f8[JMAX, IMAX]  ## (um) axial node coordinates
u = f8[JMAX, IMAX]  ## (um/ns) radial node velocity component
v = f8[JMAX, IMAX]  ## (um/ns) axial node velocity component
rho = f8[JMAX-, IMAX-]  ## (g/cc) zonal mass density
te = f8[JMAX-, IMAX-]   ## (eV) zonal temperature
gb = f8[NGROUP+]  ## (eV) group boundaries (also no data if NGROUP zero)
unu = f8[NGROUP, JMAX-, IMAX-]  ## (GJ/cc/eV) zonal radiation density
";

fn sizes(imax: i64, jmax: i64, ngroup: i64) -> [(&'static str, i64); 3] {
    [("IMAX", imax), ("JMAX", jmax), ("NGROUP", ngroup)]
}

#[test]
fn the_state_template_in_the_language_document_parses() {
    let expected = "\
{
  IMAX : i8
  JMAX : i8
  NGROUP : i8
  time = f8
}
r = f8[JMAX, IMAX]
z = f8[JMAX, IMAX]
u = f8[JMAX, IMAX]
v = f8[JMAX, IMAX]
rho = f8[JMAX-, IMAX-]
te = f8[JMAX-, IMAX-]
gb = f8[NGROUP+]
unu = f8[NGROUP, JMAX-, IMAX-]
";
    assert_eq!(tree(TEMPLATE), expected);
    let layout = parse(TEMPLATE);
    assert!(layout.diagnostics().is_empty());
    let docs = |name: &str| {
        let id = layout.child(dudley::ItemId::ROOT, name).unwrap();
        layout.docs(id.into()).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(docs("time"), "(ns) simulation time");
    assert_eq!(docs("gb"), "(eV) group boundaries (also no data if NGROUP zero)");
    let imax = layout.param_named(dudley::ItemId::ROOT, "IMAX").unwrap();
    let docs: Vec<&str> = layout.docs(imax.into()).collect();
    assert_eq!(docs, ["leading dimension of mesh arrays"]);
}

#[test]
fn the_state_template_in_the_language_document_has_the_addresses_computed_by_hand() {
    assert_eq!(
        addresses(TEMPLATE, &sizes(4, 3, 2)),
        [
            "/IMAX 0 []",
            "/JMAX 8 []",
            "/NGROUP 16 []",
            "/time 24 []",
            "/r 32 [3,4]",
            "/z 128 [3,4]",
            "/u 224 [3,4]",
            "/v 320 [3,4]",
            "/rho 416 [2,3]",
            "/te 464 [2,3]",
            "/gb 512 [3]",
            "/unu 536 [2,2,3]",
            "end 632",
        ]
    );
    // Without groups, the array of group boundaries is empty.
    assert_eq!(
        addresses(TEMPLATE, &sizes(4, 3, 0))[10..],
        ["/gb 512 [0]", "/unu 512 [0,2,3]", "end 512"]
    );
    // With `JMAX` -1, all mesh arrays lose the dimension `JMAX`.
    let flat = addresses(TEMPLATE, &sizes(4, -1, 2));
    assert_eq!(flat[4..6], ["/r 32 [4]", "/z 64 [4]"]);
    assert_eq!(flat[8..10], ["/rho 160 [3]", "/te 184 [3]"]);
    // In a native file, all addresses are 16 bytes higher.
    let layout = parse(TEMPLATE);
    let values: Values = sizes(4, 3, 2).into_iter().collect();
    let table =
        Resolver::new(&layout).rules(Rules::new().values(values)).native(true).table().unwrap();
    let r = table.find("/r").unwrap();
    assert_eq!((r.address(), table.end()), (Some(48), Some(648)));
}

#[test]
fn the_history_example_with_an_array_of_records_parses() {
    let text = "
    {
      NREC := i8    # number of records in this file
      IMAX := i8
      JMAX := i8
      NGROUP := i8
    }
    gb = f8[NGROUP+]  # group boundaries do not change
    \"\" = {  # empty instance name effectively puts these at root level
      time = f8
      r = f8[IMAX, JMAX]
      z = f8[IMAX, JMAX]
      u = f8[IMAX, JMAX]
      v = f8[IMAX, JMAX]
      rho = f8[IMAX-, JMAX-]
      te = f8[IMAX-, JMAX-]
      unu = f8[NGROUP, IMAX-, JMAX-]
    }[NREC]";
    let expected = "\
{
  NREC : i8
  IMAX : i8
  JMAX : i8
  NGROUP : i8
}
gb = f8[NGROUP+]
\"\" = {
  time = f8
  r = f8[IMAX, JMAX]
  z = f8[IMAX, JMAX]
  u = f8[IMAX, JMAX]
  v = f8[IMAX, JMAX]
  rho = f8[IMAX-, JMAX-]
  te = f8[IMAX-, JMAX-]
  unu = f8[NGROUP, IMAX-, JMAX-]
}[NREC]
";
    assert_eq!(tree(text), expected);
    let layout = parse(text);
    assert_eq!(layout.find("/rho").unwrap(), layout.find("/\"\".rho").unwrap());
    let values = [&sizes(4, 3, 2)[..], &[("NREC", 5)]].concat();
    assert_eq!(addresses(text, &values)[4..], ["/gb 32 [3]", "/\"\" 56 [5]", "end 2976"]);
    // Each member is a view across all records.
    let resolver = Resolver::new(&layout).rules(Rules::new().values(values.into_iter().collect()));
    let table = resolver.table().unwrap();
    let mut members = Vec::new();
    let outcome = resolver.walk(&table, table.rows(), |_, member| {
        let seen = member.map(|it| (it.path, it.address, it.shape, it.strides, it.nbytes));
        members.extend(seen);
        ControlFlow::Continue(())
    });
    outcome.unwrap();
    let expected = [
        ("time", 0, &[5][..], 8),
        ("r", 8, &[5, 4, 3], 96),
        ("z", 104, &[5, 4, 3], 96),
        ("u", 200, &[5, 4, 3], 96),
        ("v", 296, &[5, 4, 3], 96),
        ("rho", 392, &[5, 3, 2], 48),
        ("te", 440, &[5, 3, 2], 48),
        ("unu", 488, &[5, 2, 3, 2], 96),
    ];
    let expected = expected.map(|(name, offset, shape, nbytes)| {
        (format!("/\"\".{name}"), Some(56 + offset), shape.to_vec(), vec![584], Some(nbytes))
    });
    assert_eq!(members, expected);
}

#[test]
fn the_history_example_with_lists_parses() {
    let text = "
    IMAX := i8
    JMAX := i8
    NGROUP := i8
    gb = f8[NGROUP+]  # group boundaries do not change
    time = [f8]
    r = [f8[JMAX, IMAX]]
    z = [f8[JMAX, IMAX]]
    u = [f8[JMAX, IMAX]]
    v = [f8[JMAX, IMAX]]
    rho = [f8[JMAX-, IMAX-]]
    te = [f8[JMAX-, IMAX-]]
    unu = [f8[NGROUP, JMAX-, IMAX-]]
    # Dudley description requires each record to be explicitly
    # defined, for example with one line per record, like this:
    time%0  r%0  z%0  u%0  v%0  rho%0  te%0  unu%0 
    time%0  r%0  z%0  u%0  v%0  rho%0  te%0  unu%0 
    time%0  r%0  z%0  u%0  v%0  rho%0  te%0  unu%0 
    # ... and so on";
    let printed = tree(text);
    let begin = "IMAX : i8\nJMAX : i8\nNGROUP : i8\ngb = f8[NGROUP+]\ntime [\n  f8\n]\nr [\n";
    assert!(printed.starts_with(begin), "{printed}");
    let record: String = ["time", "r", "z", "u", "v", "rho", "te", "unu"]
        .map(|name| format!("{name} %0\n"))
        .concat();
    assert!(printed.ends_with(&record.repeat(3)), "{printed}");
    let found = addresses(text, &sizes(4, 3, 2));
    assert_eq!(found[3], "/gb 24 [3]");
    let members = [
        ("time", 0, ""),
        ("r", 8, "3,4"),
        ("z", 104, "3,4"),
        ("u", 200, "3,4"),
        ("v", 296, "3,4"),
        ("rho", 392, "2,3"),
        ("te", 440, "2,3"),
        ("unu", 488, "2,2,3"),
    ];
    let mut expected = Vec::new();
    for nth in 0..4 {
        for (name, offset, shape) in members {
            expected.push(format!("/{name}[{nth}] {} [{shape}]", 48 + 584 * nth + offset));
        }
    }
    expected.push("end 2384".to_owned());
    assert_eq!(found[4..], expected);
}
