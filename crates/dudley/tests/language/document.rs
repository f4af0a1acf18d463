//! Every example of the document that describes the language, with the tree that it gives: the
//! canonical text shows each item in its dict or list. Where an example has placeholders (`dtype`,
//! `address`), these are given a meaning first.

use dudley::{Code, Layout, Subject};

use crate::{codes, parse};

/// The canonical text of a layout, comments apart.
fn tree(text: &str) -> String {
    let printed = parse(text).to_string();
    let lines = printed.lines().map(|line| line.split("##").next().unwrap_or_default().trim_end());
    lines.filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

#[test]
fn kinds_of_items() {
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
}

#[test]
fn quoted_name() {
    assert_eq!(tree("\"dash-name\" = i8"), "\"dash-name\" = i8\n");
}

#[test]
fn lists_of_lists_and_dicts() {
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
}

#[test]
fn a_dict_in_a_list_without_datatypes_is_a_list_of_undefined_types() {
    let text = "list_name [[f8], /var_name[shape]\n var2_name[shape2], f8]";
    assert_eq!(codes(text), ["E031", "E031"]);
    let error = Layout::parse(text).unwrap_err();
    assert!(error.first().help[0].contains("`name = datatype[shape]`"), "{error}");
}

#[test]
fn full_paths() {
    let text = "dict_name/ .. /dict_name/data_name8 = f4[8]\n/list_name = [i1[9], f8[10]]";
    let expected = "dict_name/\n  data_name8 = f4[8]\n  ..\nlist_name [\n  i1[9],\n  f8[10]\n]\n";
    assert_eq!(tree(text), expected);
    assert_eq!(codes("data_name = f8 data_name = f8"), ["E020"]);
}

#[test]
fn comments_are_about_what_they_follow() {
    let text = "\
    # This is a layout comment, completely ignored, ...
    IMAX: i8  JMAX: i8  # ...as is this.
    temperature = f8[IMAX, JMAX]  ## (C) ground level air temperature in zones
      ## Document comments can be continued on multiple lines;
      #: units=\"C\", centering=[1,1]
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
        ("/temperature", 2),
        ("/mygroup", 1),
        ("/mygroup/mylist", 2),
        ("/mygroup/mylist[0]", 1),
    ];
    assert_eq!(docs, expected.map(|(path, lines)| (path.to_owned(), lines)));
}

#[test]
fn a_parameter_can_leave_a_variable_out() {
    let text = "IF_EXISTS : i1\nvarname = f8[IF_EXISTS, 3, 5]";
    assert_eq!(tree(text), "IF_EXISTS : i1\nvarname = f8[IF_EXISTS, 3, 5]\n");
}

#[test]
fn structs_with_parameters_and_placement() {
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
}

#[test]
fn typedefs_bind_where_they_are_used() {
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
            dudley::Binding::Param(id) => layout.subject_path(Subject::Param(id)),
            dudley::Binding::Free(_) => unreachable!("in a dict all is bound"),
        })
        .collect();
    assert_eq!(names, ["/IMAX", "/JMAX"]);
    assert_eq!(codes("t {a=i1} d/ t {b=i1}"), ["E023"]);
}

#[test]
fn primitives_can_be_defined_anew() {
    let layout = parse("i8 {%4 \"\"=|i8}  x = i8");
    assert_eq!(layout.to_string(), "i8 { %4\n  \"\" = |i8\n}\nx = i8\n");
    assert_eq!(codes("x = i8 i8 {%4 \"\"=|i8}"), ["E024"]);
}

#[test]
fn extension_is_like_the_long_form() {
    let short = parse(
        "IMAX : 2 JMAX : 3
    density [f8[IMAX,JMAX]]  # declares a list with a single item
    density@64
    density%0
    density %0 %0 %0
    density[f8[42]]
    density %0",
    );
    let long = parse(
        "IMAX : 2 JMAX : 3
    density[
        f8[IMAX, JMAX],
        f8[IMAX, JMAX]@64,
        f8[IMAX, JMAX],
        f8[IMAX, JMAX], f8[IMAX, JMAX], f8[IMAX, JMAX],
        f8[42],
        f8[42]
    ]",
    );
    let shapes = |layout: &Layout| -> Vec<_> {
        let data = layout.items().filter_map(|id| layout.data_of(id));
        data.map(|data| (data.datatype, layout.shape(data).to_vec())).collect()
    };
    assert_eq!(shapes(&short), shapes(&long));
    assert_eq!(shapes(&short).len(), 8);
}

#[test]
fn summary_block() {
    let text = "{
        param1 : i8  ##  documentation comment
        param2 : i8
        time : f8  # time is a typical example of a variable summary value
    }";
    let layout = parse(text);
    assert_eq!(tree(text), "{\n  param1 : i8\n  param2 : i8\n  time = f8\n}\n");
    let summary = layout.summary().unwrap();
    assert_eq!((summary.declarations, layout.fields(summary.struct_type).len()), (3, 3));
    assert_eq!(layout.warnings()[0].code, Code::DataAsParam);
}

#[test]
fn filters() {
    let text = "var = f8[10] -> gzip @64  v2 = f8[4] -> zfp(-15)  r = i8[3] <- ref";
    let expected = "var = f8[10] -> gzip @64\nv2 = f8[4] -> zfp(-15)\nr = i8[3] <- ref\n";
    assert_eq!(tree(text), expected);
}

#[test]
fn state_template() {
    let text = "
    {
      IMAX := i8    ## leading dimension of mesh arrays
      JMAX := i8    ## second dimension of mesh arrays
      NGROUP := i8  ## number of photon energy groups
      time = f8     ## (ns) simulation time
    }  # summary completely specifies any file described by this layout
    r = f8[JMAX, IMAX]  ## (um) radial node coordinates
    rho = f8[JMAX-, IMAX-]  ## (g/cc) zonal mass density
    gb = f8[NGROUP+]  ## (eV) group boundaries (also no data if NGROUP zero)
    unu = f8[NGROUP, JMAX-, IMAX-]  ## (GJ/cc/eV) zonal radiation density
";
    let expected = "\
{
  IMAX : i8
  JMAX : i8
  NGROUP : i8
  time = f8
}
r = f8[JMAX, IMAX]
rho = f8[JMAX-, IMAX-]
gb = f8[NGROUP+]
unu = f8[NGROUP, JMAX-, IMAX-]
";
    assert_eq!(tree(text), expected);
    assert!(parse(text).warnings().is_empty());
}

#[test]
fn history_as_an_array_of_records() {
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
      rho = f8[IMAX-, JMAX-]
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
  rho = f8[IMAX-, JMAX-]
  unu = f8[NGROUP, IMAX-, JMAX-]
}[NREC]
";
    assert_eq!(tree(text), expected);
    let layout = parse(text);
    assert_eq!(layout.find("/rho").unwrap(), layout.find("/\"\".rho").unwrap());
}

#[test]
fn history_as_lists() {
    let text = "
    IMAX := i8
    JMAX := i8
    time = [f8]
    r = [f8[JMAX, IMAX]]
    time%0  r%0
    time%0  r%0
    # ... and so on";
    let expected = "\
IMAX : i8
JMAX : i8
time [
  f8
]
r [
  f8[JMAX, IMAX]
]
time %0
r %0
time %0
r %0
";
    assert_eq!(tree(text), expected);
}
