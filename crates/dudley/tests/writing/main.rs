//! Writing, extending and changing files.
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

mod interrupted;
mod memory;
mod random;

use std::time::{Duration, Instant};

use binio::write::MemoryStorage;
use dudley::array::{Array, Datatype, Order as Axes, Strided};
use dudley::write::{ExtendMode, Extension, WriteReport};
use dudley::{Bytes, Error, ErrorKind, File, Layout, Order, Rules, Values, WriteOptions};

fn hex(text: &str) -> Vec<u8> {
    let digits = text.split_whitespace().collect::<String>();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn options(order: Order) -> WriteOptions {
    WriteOptions::new().rules(Rules::new().order(order))
}

fn with_values(order: Order, values: Values) -> WriteOptions {
    WriteOptions::new().rules(Rules::new().order(order).values(values))
}

/// Creates a file in memory, and calls `put` to write its data. Returns the bytes of the file and
/// the report.
fn written(
    options: &WriteOptions,
    layout: &str,
    put: impl FnOnce(&mut dudley::Writer<'_>) -> Result<(), Error>,
) -> Result<(Vec<u8>, WriteReport), Error> {
    let mut bytes = Vec::new();
    let mut writer = options.write_at(&mut bytes, Layout::parse(layout)?)?;
    put(&mut writer)?;
    let report = writer.finish()?;
    Ok((bytes, report))
}

/// Writes the worked examples (a) and (b) of the specification.
#[test]
fn the_examples_in_the_specification_are_written_byte_for_byte() {
    let values = Values::new().with("N", 3);
    let put = |writer: &mut dudley::Writer<'_>| writer.put("x", &[1.0, 2.0, -0.5]);
    let layout = "N : i2  x = f8[N]  ## (cm) demo";
    let little = with_values(Order::Little, values.clone());
    let (bytes, report) = written(&little, layout, put).unwrap();
    let mut expected = hex("8d3c42440d0a1a0a 3000000000000000 0300000000000000 000000000000f03f
         0000000000000040 000000000000e0bf");
    expected.extend(b"N : i2  x = f8[N]  ## (cm) demo\n");
    assert_eq!(bytes, expected);
    assert_eq!((report.layout_address, report.len), (Some(48), 80));
    assert!(report.missing.is_empty());

    let big = with_values(Order::Big, values).omit_layout(true);
    let (bytes, _) = written(&big, layout, put).unwrap();
    let expected = "8d3e42440d0a1a0a 0000000000000000 0003000000000000 3ff0000000000000
        4000000000000000 bfe0000000000000";
    assert_eq!(bytes, hex(expected));
}

/// Writes the worked example (c) of the specification. The new data begins at the address of the
/// old layout.
#[test]
fn extending_in_place_produces_the_documented_bytes() {
    let (old, _) = example_a();
    let mut storage = MemoryStorage::new(&old);
    let mut more = Extension::new(&old[..], "y = i4", ExtendMode::InPlace, &Values::new()).unwrap();
    more.put("y", &[7_i32]).unwrap();
    more.commit(&mut storage).unwrap();
    let mut expected = old[..48].to_vec();
    expected[8] = 0x34;
    expected.extend(hex("07000000"));
    expected.extend(b"N : i2  x = f8[N]  ## (cm) demo\ny = i4\n");
    assert_eq!(storage.file_bytes(), expected);
}

/// Writes the worked example (d) of the specification.
#[test]
fn a_compressed_array_round_trips() {
    let layout = "v = i4[8] -> gzip  w = i1";
    let (bytes, report) = written(&options(Order::Little), layout, |writer| {
        writer.put("w", &[1_i8])?;
        writer.put("v", &[0, 1, 2, 3, 4, 5, 6, 7])
    })
    .unwrap();
    assert!(report.missing.is_empty());
    let file = File::from_bytes(bytes.clone(), None).unwrap();
    assert_eq!(file.get("v").unwrap().read::<i32>().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(file.get("w").unwrap().read::<i8>().unwrap(), [1]);
    let head = hex("8d3c42440d0a1a0a");
    assert_eq!((&bytes[..8], &bytes[24..34]), (&head[..], &hex("1f8b08000000000002ff")[..]));
    // A compressed array without data is stored as compressed zeros.
    let (bytes, report) = written(&options(Order::Big), layout, |_| Ok(())).unwrap();
    assert_eq!(report.missing, ["/v", "/w"]);
    assert_eq!(
        File::from_bytes(bytes, None).unwrap().get("v").unwrap().read::<i32>().unwrap(),
        [0; 8]
    );
}

fn example_a() -> (Vec<u8>, WriteReport) {
    let options = with_values(Order::Little, Values::new().with("N", 3));
    written(&options, "N : i2  x = f8[N]  ## (cm) demo", |w| w.put("x", &[1.0, 2.0, -0.5])).unwrap()
}

#[test]
fn items_can_be_put_in_any_order_and_missing_items_are_reported_and_become_zero() {
    let layout = "N : i4  a = u1[N]  g/ b = i2[2] ..  c = { x = u1  y = u2 }[N]  z = f8[0]";
    let options = with_values(Order::Little, Values::new().with("N", 2));
    let (bytes, report) = written(&options, layout, |writer| {
        writer.put("/c.y", &[5_u16, 6])?;
        writer.put("/a", &[1_u8, 2])
    })
    .unwrap();
    assert_eq!(report.missing, ["/g/b", "/c.x"]);
    let file = File::from_bytes(bytes, None).unwrap();
    assert_eq!(file.get("/c.y").unwrap().read::<u16>().unwrap(), [5, 6]);
    assert_eq!(file.get("/g/b").unwrap().read::<i16>().unwrap(), [0, 0]);
    let strict = options.strict(true);
    let error = written(&strict, layout, |writer| writer.put("/a", &[1_u8, 2])).unwrap_err();
    assert_eq!(error.to_string(), "no data for /g/b, /c");
}

#[test]
fn missing_values_of_structs_are_reported_by_instance_and_member() {
    let layout = "p = { a = u1  in = { b = u1  \"c d\" = u1 } }[2, 5]";
    let missing = |paths: &[&str]| {
        let (_, report) = written(&options(Order::Little), layout, |writer| {
            paths.iter().try_for_each(|path| {
                let count = if path.contains('[') { 1 } else { 10 };
                writer.put(path, &[7_u8].repeat(count))
            })
        })
        .unwrap();
        report.missing
    };
    assert_eq!(missing(&[]), ["/p"]);
    assert_eq!(missing(&["/p.a", "/p.in.b"]), ["/p.in.c d"]);
    assert_eq!(missing(&["/p.a", "/p.in.b", "/p.in.c d"]), [""; 0]);
    assert_eq!(
        missing(&["/p[3].a", "/p[4].in.b", "/p.in.c d"]),
        ["/p[0..3].a", "/p[0..3].in.b", "/p[3].in.b", "/p[4].a", "/p[5..10].a", "/p[5..10].in.b"]
    );
    assert_eq!(missing(&["/p[9].a"])[..2], ["/p[0..9]", "/p[9].in"]);
}

#[test]
fn a_stored_parameter_without_a_value_is_an_error_only_if_a_shape_needs_it() {
    let (_, report) =
        written(&options(Order::Little), "K : i4  a = u1", |w| w.put("a", &[1_u8])).unwrap();
    assert_eq!(report.missing, ["/K"]);
    let error = written(&options(Order::Little), "K : i4  a = u1[K]", |_| Ok(())).unwrap_err();
    assert_eq!(error.code(), Some(dudley::diagnostic::Code::ValueUnknown));
    let too_large = with_values(Order::Little, Values::new().with("K", 300));
    let error = written(&too_large, "K : i1  a = u1", |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("300 is not a valid i1"), "{error}");
}

#[test]
fn a_stored_parameter_of_a_struct_without_a_value_is_reported_like_one_of_a_dict() {
    let layout = "p = { K : u2  a = u1  q = { L : u1  b = u1 } }[2]";
    let write = |options: &WriteOptions| {
        written(options, layout, |writer| {
            writer.put("/p.a", &[1_u8, 2])?;
            writer.put("/p.q.b", &[3_u8, 4])
        })
    };
    for (values, expected) in [
        (Values::new(), &["/p.K", "/p.q.L"][..]),
        (Values::new().with("K", 7), &["/p.q.L"][..]),
        (Values::new().with("/p.q.L", 1), &["/p.K"][..]),
        (Values::new().with("K", 7).with("/p.q.L", 1), &[][..]),
    ] {
        let options = with_values(Order::Little, values);
        let (bytes, report) = write(&options).unwrap();
        assert_eq!(report.missing, expected);
        match write(&options.strict(true)) {
            Ok(_) => assert_eq!(bytes[16..28], [7, 0, 1, 1, 3, 0, 7, 0, 2, 1, 4, 0]),
            Err(error) => {
                assert_eq!(error.to_string(), format!("no data for {}", expected.join(", ")));
            }
        }
    }
    let (old, report) = written(&options(Order::Little), layout, |_| Ok(())).unwrap();
    assert_eq!(report.missing, ["/p", "/p.K", "/p.q.L"]);
    let more = Extension::new(&old[..], "y = u1", ExtendMode::Safe, &Values::new()).unwrap();
    let report = more.commit(&mut MemoryStorage::new(&old)).unwrap();
    assert_eq!(report.missing, ["/y"], "only new parameters are reported");
}

#[test]
fn a_stored_parameter_without_a_value_in_some_instances_is_reported_with_their_indices() {
    let layout = "x = { N : u1  K : u1  v = u1[N] }[4]";
    let values: Values = (0..4).map(|index| (format!("/x[{index}].N"), 1)).collect();
    let options = with_values(Order::Little, values.with("/x[1].K", 5));
    let (bytes, report) = written(&options, layout, |writer| {
        (0..4_u8).try_for_each(|index| writer.put(&format!("/x[{index}].v"), &[index]))
    })
    .unwrap();
    assert_eq!(report.missing, ["/x[0].K", "/x[2..4].K"]);
    assert_eq!(bytes[16..28], [1, 0, 0, 1, 5, 1, 1, 0, 2, 1, 0, 3]);
}

#[test]
fn a_value_for_an_instance_applies_even_if_all_instances_have_the_same_size() {
    let write = |values: Values| {
        let layout = "p = { a = u1  K : u1 }[3]";
        let put = |writer: &mut dudley::Writer<'_>| writer.put("/p.a", &[1_u8, 2, 3]);
        written(&with_values(Order::Little, values), layout, put).unwrap()
    };
    let (bytes, report) = write(Values::new().with("/p[1].K", 5));
    assert_eq!(bytes[16..22], [1, 0, 2, 5, 3, 0]);
    assert_eq!(report.missing, ["/p[0].K", "/p[2].K"]);
    let (bytes, report) = write(Values::new().with("/p[1].K", 5).with("K", 9));
    assert_eq!(bytes[16..22], [1, 9, 2, 5, 3, 9]);
    assert_eq!(report.missing, [""; 0]);
}

#[test]
fn a_value_for_an_outer_instance_is_written_to_all_inner_instances_without_a_value() {
    let layout = "x = { y = { K : u1  a = u1 }[3] }[2]";
    let values = Values::new().with("/x[0].y.K", 1).with("/x[0].y[2].K", 5);
    let put = |writer: &mut dudley::Writer<'_>| writer.put("/x.y.a", &[9_u8; 6]);
    let (bytes, report) = written(&with_values(Order::Little, values), layout, put).unwrap();
    assert_eq!(bytes[16..28], [1, 9, 1, 9, 5, 9, 0, 9, 0, 9, 0, 9]);
    assert_eq!(report.missing, ["/x[1].y.K"]);
}

#[test]
fn values_for_all_instances_of_a_large_array_are_written_in_linear_time() {
    const COUNT: usize = 50_000;
    let layout = format!("x = {{ K : u1  a = u1 }}[{COUNT}]");
    let values: Values = (0..COUNT).map(|index| (format!("/x[{index}].K"), 1)).collect();
    let begin = Instant::now();
    let put = |writer: &mut dudley::Writer<'_>| writer.put("/x.a", &vec![2_u8; COUNT]);
    let (bytes, report) = written(&with_values(Order::Little, values), &layout, put).unwrap();
    assert_eq!(bytes[16..16 + 2 * COUNT], [1, 2].repeat(COUNT));
    assert_eq!(report.missing, [""; 0]);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn values_for_instances_do_not_affect_items_whose_names_begin_the_same() {
    let limits = dudley::Limits::default().max_steps(100);
    let values = Values::new().with("K", 1).with("/x2[0].K", 2);
    let rules = Rules::new().order(Order::Little).values(values).limits(limits);
    // Examining each instance of `x` would exceed the limit.
    let layout = "x = { K : u1 }[200]  x2 = { K : u1 }[2]";
    let (bytes, _) = written(&WriteOptions::new().rules(rules), layout, |_| Ok(())).unwrap();
    assert_eq!(bytes[16..218], [&[1; 200][..], &[2, 1]].concat());
}

#[test]
fn parameters_in_compressed_structs_are_written_with_their_values() {
    let layout = "x = { K : u1  a = u1 }[2] -> gzip";
    let stored = |values: Values, a: Option<[u8; 2]>| {
        let options = with_values(Order::Little, values).omit_layout(true);
        let (bytes, report) = written(&options, layout, |writer| {
            let Some(a) = a else { return Ok(()) };
            let record = Datatype::parse("[('a', '|u1')]")?;
            let strided = Strided::packed(vec![2], Axes::C, 0, 1, 2)?;
            let data = Bytes::copy_from_slice(&a);
            writer.put_array("x", &Array::new(data, record, strided, binio::Limits::default())?)
        })
        .unwrap();
        let members = Layout::parse("x = { K = u1  a = u1 }[2] -> gzip").unwrap();
        let x = File::from_bytes(bytes, members).unwrap().get("x").unwrap();
        let [k, a] = ["K", "a"].map(|name| x.field(name).unwrap().read::<u8>().unwrap());
        (k, a, report.missing.join(" "))
    };
    let values = Values::new().with("/x[0].K", 6).with("/x[1].K", 7);
    let expected = (vec![6, 7], vec![1, 2], String::new());
    assert_eq!(stored(values.clone(), Some([1, 2])), expected);
    assert_eq!(stored(values, None), (vec![6, 7], vec![0, 0], "/x".to_owned()));
    let expected = (vec![0, 0], vec![1, 2], "/x.K".to_owned());
    assert_eq!(stored(Values::new(), Some([1, 2])), expected);
}

#[test]
fn values_for_list_elements_and_for_structs_in_an_instance_are_written() {
    let counted = "{ N : u1  v = u1[N] }";
    let layout = format!("l [{counted}[2], {counted}]  x = {{ y = {counted} }}[2]");
    let values = Values::new().with("/l[0].N", 1).with("/l[1].N", 2);
    let values = values.with("/x[0].y.N", 1).with("/x[1].y.N", 2);
    let (bytes, report) = written(&with_values(Order::Little, values), &layout, |writer| {
        writer.put("/l[0][0].v", &[1_u8])?;
        writer.put("/l[0][1].v", &[2_u8])?;
        writer.put("/l[1].v", &[3_u8, 4])?;
        writer.put("/x[0].y.v", &[5_u8])?;
        writer.put("/x[1].y.v", &[6_u8, 7])
    })
    .unwrap();
    assert_eq!(report.missing, [""; 0]);
    assert_eq!(bytes[16..28], [1, 1, 1, 2, 2, 3, 4, 1, 5, 2, 6, 7]);
}

#[test]
fn an_unknown_size_is_blamed_on_the_array_that_causes_it() {
    let counted = "x = { N : u1  a = u1[N] }[2]";
    let with_size_nothing = "x = { K : u1  N : u1  a = u1[N] }";
    let compressed = "x = { N : u1  a = u1[N]  z = u1[3] -> gzip }";
    let twice = "x = { N : u1  M : u1  a = u1[N]  b = u1[M] }";
    let nested = "t { b = u1[N] }  x = { N : u1  M : u1  a = u1[M]  c = t }";
    let depends = |array: &str, param: &str| {
        format!("the shape of `{array}` depends on parameter `{param}`, whose value is not known")
    };
    for (layout, values, message) in [
        (twice, Values::new().with("/x.N", 1), depends("/x.b", "M")),
        (nested, Values::new().with("/x.M", 1), depends("/x.c.b", "N")),
        (counted, Values::new().with("/x[0].N", 1), depends("/x[1].a", "N")),
        (counted, Values::new(), depends("/x.a", "N")),
        (with_size_nothing, Values::new(), depends("/x.a", "N")),
        (with_size_nothing, Values::new().with("K", 1), depends("/x.a", "N")),
        (
            compressed,
            Values::new().with("/x.N", 1),
            "`/x.z` cannot be read as an array: compressed arrays inside structs".to_owned(),
        ),
    ] {
        let error = written(&with_values(Order::Little, values), layout, |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains(&message), "{layout}: {error}");
    }
    let options = with_values(Order::Little, Values::new().with("/x.N", 1));
    let error = written(&options, twice, |writer| writer.put("/x.a", &[1_u8])).unwrap_err();
    assert!(error.to_string().contains(&depends("/x.b", "M")), "{error}");
}

#[test]
fn a_value_too_large_for_a_parameter_of_a_struct_is_an_error_that_names_the_parameter() {
    let options = with_values(Order::Little, Values::new().with("K", 300));
    let error = written(&options, "x = { K : u1  a = u1 }", |_| Ok(())).unwrap_err();
    let message = "`/x`: 300 is not a valid u1 for parameter `K`";
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn putting_data_into_an_item_of_unknown_size_is_an_error_that_names_the_parameter() {
    let nested = "t { z = u1  a = u1[N] }  x = { N : u1  b = t[2] }";
    for (layout, path, array) in [
        ("x = { N : i4  a = u1[N] }", "/x.a", "/x.a"),
        (nested, "/x.b.z", "/x.b.a"),
        (nested, "/x.b[0].z", "/x.b.a"),
    ] {
        let put = |writer: &mut dudley::Writer<'_>| writer.put(path, &[1_u8]);
        let error = written(&options(Order::Little), layout, put).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Layout(_)), "{path}: {error}");
        let message = format!("the shape of `{array}` depends on parameter `N`");
        assert!(error.to_string().contains(&message), "{path}: {error}");
    }
}

#[test]
fn ragged_data_is_written_with_the_values_of_its_parameters() {
    let values = Values::new().with("/x[0].N", 2).with("/x[1].N", 0).with("/x[2].N", 1);
    let options = with_values(Order::Little, values.with("/s.L", 3));
    let layout = "x = { N : u1  id = u1  v = u2[N] }[3]  s = { L : u4  \"\" = S1[L] }";
    let (bytes, report) = written(&options, layout, |writer| {
        writer.put("/x[0].v", &[10_u16, 11])?;
        writer.put("/x[2].v", &[12_u16])?;
        writer.put("/x[1].id", &[7_u8])?;
        writer.put_strings("/s", &["abc"])
    })
    .unwrap();
    assert_eq!(report.missing, ["/x[0].id", "/x[2].id"], "/x[1].v is empty");
    let file = File::from_bytes(bytes, None).unwrap();
    let mut json = Vec::new();
    file.write_json("/x", &mut json).unwrap();
    assert_eq!(
        String::from_utf8(json).unwrap(),
        r#"[{"id":0,"v":[10, 11]}, {"id":7,"v":[]}, {"id":0,"v":[12]}]"#
    );
    assert_eq!(file.get("/s").unwrap().strings().unwrap(), ["abc"]);
    assert_eq!(file.instances("/x").unwrap().get(0).unwrap().params().next(), Some(("N", 2)));
}

#[test]
fn parameters_between_members_keep_their_values() {
    let options = with_values(Order::Big, Values::new().with("K", 9));
    let layout = "p = { a = u1  K : u1  b = u2 }[2]";
    let (bytes, _) = written(&options, layout, |writer| {
        let record = Datatype::parse("[('b', '<u2'), ('a', '|u1')]")?;
        let data = Bytes::from_static(&[1, 0, 2, 3, 0, 4]);
        let strided = Strided::packed(vec![2], Axes::C, 0, 3, 6)?;
        writer.put_array("p", &Array::new(data, record, strided, binio::Limits::default())?)
    })
    .unwrap();
    assert_eq!(bytes[16..24], [2, 9, 0, 1, 4, 9, 0, 3]);
}

/// Returns an array with a single element that consists of zeros.
fn zeros(datatype: &str) -> Array<Bytes> {
    let datatype = Datatype::parse(datatype).unwrap();
    let size = datatype.itemsize();
    let data = Bytes::from(vec![0; usize::try_from(size).unwrap()]);
    let strided = Strided::packed(vec![], Axes::C, 0, size, size).unwrap();
    Array::new(data, datatype, strided, binio::Limits::default()).unwrap()
}

#[test]
fn a_huge_number_of_empty_elements_can_be_written() {
    let layout = "x = S1[1000000000000000000, 0]  y = { }[1000000000000000000]";
    let (_, report) = written(&options(Order::Little), layout, |_| Ok(())).unwrap();
    assert_eq!(report.missing, [""; 0]);
    let huge = 1_000_000_000_000_000_000;
    let data = Strided::packed(vec![huge], Axes::C, 0, 0, 0).unwrap();
    let text = Datatype::parse("|S0").unwrap();
    let nothing = Array::new(Bytes::new(), text, data, binio::Limits::default()).unwrap();
    written(&options(Order::Little), layout, |w| w.put_array("x", &nothing)).unwrap();
}

#[test]
fn numbers_are_converted_if_this_preserves_their_values() {
    let put = |layout: &str, put: &dyn Fn(&mut dudley::Writer<'_>) -> Result<(), Error>| {
        written(&options(Order::Big).omit_layout(true), layout, put)
            .map(|(bytes, _)| bytes[16..].to_vec())
    };
    assert_eq!(put("x = f4[2]", &|w| w.put("x", &[1_i64, -2])).unwrap(), hex("3f800000 c0000000"));
    assert_eq!(put("x = i2[2]", &|w| w.put("x", &[1.0, -2.0])).unwrap(), hex("0001 fffe"));
    assert_eq!(put("x = u1[2]", &|w| w.put("x", &[true, false])).unwrap(), [1, 0]);
    assert_eq!(put("x = S1[2, 3]", &|w| w.put_strings("x", &["ab", "c"])).unwrap(), b"ab\0c\0\0");
    assert_eq!(put("x = U2[2]", &|w| w.put_strings("x", &["é"])).unwrap(), hex("00e9 0000"));
    assert_eq!(put("x = U2[2]", &|w| w.put("x", &[0xe9_u16, 1])).unwrap(), hex("00e9 0001"));
    for (outcome, message) in [
        (put("x = i1[1]", &|w| w.put("x", &[200_u8])), "200 is not a valid |i1"),
        (put("x = i1[1]", &|w| w.put("x", &[0.5])), "0.5 is not an integer"),
        (
            put("x = i1[2]", &|w| w.put("x", &[1_i8])),
            "expected elements of shape [2], found 1 element",
        ),
        (
            put("x = S1[2, 4]", &|w| w.put("x", b"ab")),
            "expected elements of shape [2, 4], found 2 elements",
        ),
        (put("x = S1[8]", &|w| w.put("x", &[1.0])), "elements are <f8, expected |S8"),
        (
            put("x = S1[2]", &|w| w.put_strings("x", &["abc"])),
            "needs 3 bytes, but the type has only 2",
        ),
        (put("x = S1[2]", &|w| w.put_strings("x", &["é"])), "is not ASCII"),
        (put("x = c16", &|w| w.put_array("x", &zeros("<c32"))), "elements are <c32, expected >c16"),
        (put("x = f8", &|w| w.put_array("x", &zeros("<f16"))), "elements are <f16, expected >f8"),
        (
            put("x = i8", &|w| w.put_array("x", &zeros("<M8[s]"))),
            "elements are <M8[s], expected >i8",
        ),
        (put("g/ x = i1", &|w| w.put("g", &[1_i8])), "`g` is a dict"),
        (put("N : i1", &|w| w.put("N", &[1_i8])), "is a parameter"),
    ] {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn a_parameter_of_a_struct_cannot_be_put() {
    let options = with_values(Order::Little, Values::new().with("K", 3));
    let outcome = written(&options, "d = { K : u2  x = u1 }", |w| w.put("d.K", &[4_u16]));
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("is a parameter"), "{error}");
}

#[test]
fn the_same_bytes_are_written_to_a_pipe_as_to_a_file() {
    let layout = "N : i4  a = u2[N]  b = u1  c = f8[N] @64  d = { x = u1  K : u2 }[N]";
    let options = with_values(Order::Little, Values::new().with("N", 2).with("K", 3));
    let fill = |writer: &mut dudley::Writer<'_>| {
        writer.put("d.x", &[8_u8, 9])?;
        writer.put("c", &[0.5, 1.5])?;
        writer.put("a", &[1_u16, 2])
    };
    let (file, _) = written(&options, layout, fill).unwrap();
    let mut pipe = Vec::new();
    let mut writer = options.stream(&mut pipe, Layout::parse(layout).unwrap()).unwrap();
    fill(&mut writer).unwrap();
    let error = writer.put("a", &[3_u16, 4]).unwrap_err();
    assert!(error.to_string().contains("it has already been written"), "{error}");
    assert_eq!(writer.finish().unwrap().missing, ["/b"]);
    assert_eq!(pipe, file);
    let mut pipe = Vec::new();
    let overlapping = Layout::parse("a = u4 @20  b = u4 @22").unwrap();
    let error = options.stream(&mut pipe, overlapping).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("`/b`: it overlaps"), "{error}");
}

#[test]
fn dropping_a_writer_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.bd");
    let mut writer =
        options(Order::Little).create(&path, Layout::parse("x = u1[3]").unwrap()).unwrap();
    writer.put("x", &[1_u8, 2, 3]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn extending_in_safe_mode_leaves_the_old_layout_in_the_file() {
    let (old, _) = example_a();
    let mut more =
        Extension::new(&old[..], "y = i4[2]\nz = u1 %4", ExtendMode::Safe, &Values::new()).unwrap();
    more.put("y", &[7_i32, 8]).unwrap();
    let mut storage = MemoryStorage::new(&old);
    let report = more.commit(&mut storage).unwrap();
    assert_eq!(report.missing, ["/z"]);
    let bytes = storage.file_bytes().to_vec();
    assert_eq!(bytes[16..80], old[16..]);
    let file = File::from_bytes(bytes.clone(), None).unwrap();
    assert_eq!(file.get("x").unwrap().read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
    assert_eq!(file.get("y").unwrap().read::<i32>().unwrap(), [7, 8]);
    let text = String::from_utf8(dudley::file::appended_layout(&bytes[..]).unwrap()).unwrap();
    assert_eq!(text, "N : i2  x = f8[N]  ## (cm) demo\ny = i4[2] @80\nz = u1 %4\n");
}

#[test]
fn extending_in_safe_mode_respects_an_alignment_however_it_is_spelt() {
    let (old, _) = example_a();
    for (placement, address) in [
        ("%0x40", 128),
        ("%0X40", 128),
        ("% 0X40", 128),
        ("%64", 128),
        ("% # a comment\n  064", 128),
        ("%0", 80),
        ("", 80),
        ("@0X60", 96),
    ] {
        let text = format!("y = u1 {placement}");
        let more = Extension::new(&old[..], &text, ExtendMode::Safe, &Values::new()).unwrap();
        let mut storage = MemoryStorage::new(&old);
        more.commit(&mut storage).unwrap();
        let file = File::from_bytes(storage.file_bytes().to_vec(), None).unwrap();
        assert_eq!(file.locate("y").unwrap().address(), address, "{text}");
    }
}

#[test]
fn a_file_extended_only_by_an_empty_array_is_valid() {
    let (old, _) =
        written(&options(Order::Little), "a = u1", |writer| writer.put("a", &[1_u8])).unwrap();
    for mode in [ExtendMode::Safe, ExtendMode::InPlace] {
        let more = Extension::new(&old[..], "y = f8[0]", mode, &Values::new()).unwrap();
        let mut storage = MemoryStorage::new(&old);
        more.commit(&mut storage).unwrap();
        let bytes = storage.file_bytes().to_vec();
        let report = dudley::file::verify(&bytes[..], &dudley::file::VerifyOptions::new()).unwrap();
        assert!(report.passed(), "{mode:?}: {:?}", report.diagnostics);
        let file = File::from_bytes(bytes, None).unwrap();
        assert_eq!(file.get("y").unwrap().read::<f64>().unwrap(), [0.0; 0]);
        assert_eq!(file.get("a").unwrap().read::<u8>().unwrap(), [1]);
    }
}

#[test]
fn extensions_can_append_list_elements_record_by_record() {
    let layout = "N : i4  time [f8]  rho [f4[N]]";
    let options = with_values(Order::Little, Values::new().with("N", 2));
    for mode in [ExtendMode::Safe, ExtendMode::InPlace] {
        let (mut bytes, _) = written(&options, layout, |writer| {
            writer.put("/time[0]", &[0.0])?;
            writer.put("/rho[0]", &[0.5_f32, 1.5])
        })
        .unwrap();
        for record in 1..4_u8 {
            let mut more =
                Extension::new(&bytes[..], "time %0 rho %0", mode, &Values::new()).unwrap();
            more.put(&format!("/time[{record}]"), &[record]).unwrap();
            more.put(&format!("/rho[{record}]"), &[record, record]).unwrap();
            let mut storage = MemoryStorage::new(&bytes);
            more.commit(&mut storage).unwrap();
            bytes = storage.file_bytes().to_vec();
        }
        let file = File::from_bytes(bytes, None).unwrap();
        let times = file.list("/time").unwrap();
        let read = |one: Result<dudley::Array, Error>| one.unwrap().read::<f64>().unwrap()[0];
        assert_eq!(times.iter().map(read).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(file.get("/rho[3]").unwrap().read::<f32>().unwrap(), [3.0, 3.0]);
        let is_even = file.list("/rho").unwrap().stacked().unwrap().is_some();
        assert_eq!(
            is_even,
            mode == ExtendMode::InPlace,
            "in place, records are at equal distances"
        );
    }
}

#[test]
fn an_extension_continues_in_the_dict_in_which_the_old_layout_ended() {
    let layout = "g/ a = u1";
    let (bytes, _) = written(&options(Order::Little), layout, |w| w.put("/g/a", &[1_u8])).unwrap();
    for (more, path) in
        [("b = u1", "/g/b"), ("/ b = u1", "/b"), (".. h/ M : u2  b = u1[M]", "/h/b")]
    {
        for mode in [ExtendMode::Safe, ExtendMode::InPlace] {
            let values = Values::new().with("M", 1);
            let mut extension = Extension::new(&bytes[..], more, mode, &values).unwrap();
            extension.put(path, &[5_u8]).unwrap();
            let mut storage = MemoryStorage::new(&bytes);
            extension.commit(&mut storage).unwrap();
            let file = File::from_bytes(storage.file_bytes().to_vec(), None).unwrap();
            let count = file.get(path).unwrap().read::<u8>().unwrap();
            assert_eq!(count, [5], "{more} {mode:?}");
            assert_eq!(file.get("/g/a").unwrap().read::<u8>().unwrap(), [1]);
        }
    }
}

#[test]
fn an_extension_that_would_change_existing_data_is_rejected() {
    let reject = |layout: &str, more: &str, mode| {
        let (bytes, _) = written(&options(Order::Little), layout, |_| Ok(())).unwrap();
        Extension::new(&bytes[..], more, mode, &Values::new()).map(|_| ()).unwrap_err().to_string()
    };
    let both = [ExtendMode::Safe, ExtendMode::InPlace];
    for mode in both {
        let message = reject("a = u1", "[3]  b = u1", mode);
        assert!(message.contains("would continue the last item"), "{message}");
        let message = reject("a = u1", "b = u1 @16", mode);
        assert!(message.contains("`/b` would overwrite"), "{message}");
        assert!(reject("a = u1", "a = u2", mode).contains("error[E020]"));
    }
    let (old, _) = example_a();
    let mut more = Extension::new(&old[..], "y = i4", both[0], &Values::new()).unwrap();
    let error = more.put("x", &[1.0, 2.0, 3.0]).unwrap_err();
    assert_eq!(error.to_string(), "`x`: it has already been written");
    let message = reject("a = u1[8]  b = u1 @17", "c = u1", ExtendMode::InPlace);
    assert!(message.contains("because of `@` addresses"), "{message}");
    let (bare, _) =
        written(&options(Order::Little).omit_layout(true), "a = u1", |_| Ok(())).unwrap();
    let error =
        Extension::new(&bare[..], "b = u1", both[0], &Values::new()).map(|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoLayout { is_native: true }), "{error}");
}

#[test]
fn an_extension_may_contain_compressed_arrays_and_follow_ragged_data() {
    let layout = "N : u1  x = { K : u1  v = u2[K] }[N]  z = u1[100] -> gzip";
    let values = Values::new().with("N", 2).with("/x[0].K", 1).with("/x[1].K", 3);
    let options = with_values(Order::Big, values);
    let (bytes, _) = written(&options, layout, |writer| {
        writer.put("/x[1].v", &[1_u16, 2, 3])?;
        writer.put("/z", &[9_u8; 100])
    })
    .unwrap();
    for mode in [ExtendMode::Safe, ExtendMode::InPlace] {
        let more = "K : u2  y = i4[K, N] -> gzip  w = { N : u1  s = S1[N] }  e = i2";
        let values = Values::new().with("K", 4).with("/w.N", 2);
        let mut extension = Extension::new(&bytes[..], more, mode, &values).unwrap();
        extension.put("/e", &[-5_i16]).unwrap();
        extension.put("/y", &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        extension.put_strings("/w.s", &["ab"]).unwrap();
        let mut storage = MemoryStorage::new(&bytes);
        assert_eq!(extension.commit(&mut storage).unwrap().missing, [""; 0]);
        let file = File::from_bytes(storage.file_bytes().to_vec(), None).unwrap();
        let y = file.get("/y").unwrap().read::<i32>().unwrap();
        assert_eq!(y, [1, 2, 3, 4, 5, 6, 7, 8], "{mode:?}");
        assert_eq!(file.get("/e").unwrap().read::<i16>().unwrap(), [-5]);
        assert_eq!(file.get("/x[1].v").unwrap().read::<u16>().unwrap(), [1, 2, 3]);
        assert_eq!(file.get("/z").unwrap().read::<u8>().unwrap(), [9; 100]);
        assert_eq!(file.get("/w.s").unwrap().strings().unwrap(), ["ab"]);
        assert_eq!((file.param("K").unwrap(), file.param("N").unwrap()), (4, 2));
    }
}

#[test]
fn data_added_in_place_may_begin_in_unused_bytes_before_the_layout() {
    let (mut bytes, _) =
        written(&options(Order::Little), "a = u1", |w| w.put("a", &[1_u8])).unwrap();
    bytes.splice(17..17, [0xff; 7]);
    bytes[8] = 24;
    let mut more =
        Extension::new(&bytes[..], "b = u2 c = u4", ExtendMode::InPlace, &Values::new()).unwrap();
    more.put("c", &[7_u32]).unwrap();
    let mut storage = MemoryStorage::new(&bytes);
    assert_eq!(more.commit(&mut storage).unwrap().missing, ["/b"]);
    let file = File::from_bytes(storage.file_bytes().to_vec(), None).unwrap();
    assert_eq!(file.get("a").unwrap().read::<u8>().unwrap(), [1]);
    assert_eq!(file.get("b").unwrap().read::<u16>().unwrap(), [0]);
    assert_eq!(file.get("c").unwrap().read::<u32>().unwrap(), [7]);
}

#[test]
fn nested_counted_text_can_be_put_at_the_path_of_its_item() {
    let layout = "N : i1  x = { M : u1  \"\" = { L : u1  \"\" = S1[L] } }";
    let values = Values::new().with("N", 0).with("M", 7).with("L", 2);
    let (bytes, report) =
        written(&with_values(Order::Little, values), layout, |w| w.put_strings("x", &["ab"]))
            .unwrap();
    assert!(report.missing.is_empty(), "{report:?}");
    let file = File::from_bytes(bytes, None).unwrap();
    assert_eq!(file.get("x").unwrap().strings().unwrap(), ["ab"]);
}
