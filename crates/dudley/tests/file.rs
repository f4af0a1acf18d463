//! Reading files through the layouts that describe them.
#![allow(clippy::unwrap_used, reason = "a panic is the report of a test")]

use std::fmt::Write as _;
use std::io::Write as _;

use dudley::array::Slice;
use dudley::{Error, ErrorKind, File, Layout, OpenOptions, Order, ReadAt as _, Rules, Values};

fn hex(text: &str) -> Vec<u8> {
    let digits = text.split_whitespace().collect::<String>();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Opens a file in memory. The file is little-endian unless its layout or signature states another
/// byte order.
fn open(layout: &str, bytes: &[u8]) -> Result<File, Error> {
    OpenOptions::new()
        .rules(Rules::new().order(Order::Little))
        .parse(layout)?
        .from_bytes(bytes.to_vec())
}

fn json(file: &File, path: &str) -> Result<String, Error> {
    let mut out = Vec::new();
    file.write_json(path, &mut out).map(|()| String::from_utf8(out).unwrap())
}

/// Returns example file (a) of the specification, a native file with its layout at the end.
fn appended() -> Vec<u8> {
    let mut bytes = hex("8d3c42440d0a1a0a 3000000000000000 0300000000000000 000000000000f03f
         0000000000000040 000000000000e0bf");
    bytes.extend(b"N : i2  x = f8[N]  ## (cm) demo\n");
    bytes
}

#[test]
fn a_native_file_is_read_with_its_appended_layout() {
    let file = File::from_bytes(appended(), None).unwrap();
    assert_eq!(file.get("x").unwrap().read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
    assert_eq!(file.get("/N").unwrap().read::<i16>().unwrap(), [3]);
    assert_eq!((file.param("N").unwrap(), file.data_end()), (3, 0x30));
    let tail = file.get("/x").unwrap().slice(&Slice::parse("-1").unwrap()).unwrap();
    assert_eq!(tail.read::<f64>().unwrap(), [-0.5]);
    assert_eq!(
        dudley::file::appended_layout(&appended()[..]).unwrap(),
        b"N : i2  x = f8[N]  ## (cm) demo\n"
    );
}

#[test]
fn a_native_file_can_be_read_with_an_external_layout() {
    let big = hex("8d3e42440d0a1a0a 0000000000000000 0003000000000000 3ff0000000000000
         4000000000000000 bfe0000000000000");
    let layout = Layout::parse("N : i2  x = f8[N]").unwrap();
    let file = File::from_bytes(big.clone(), layout).unwrap();
    assert_eq!(file.get("x").unwrap().read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
    let error = File::from_bytes(big, None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoLayout { is_native: true }), "{error}");
    let error = File::from_bytes(vec![0; 8], None).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NoLayout { is_native: false }), "{error}");
}

#[test]
fn files_on_disk_can_be_read_by_position_or_mapped() {
    let mut on_disk = tempfile::NamedTempFile::new().unwrap();
    on_disk.write_all(&appended()).unwrap();
    let by_position = OpenOptions::new();
    #[cfg(feature = "mmap")]
    let all = [by_position.clone(), by_position.mmap(true)];
    #[cfg(not(feature = "mmap"))]
    let all = [by_position];
    for options in all {
        let file = options.open(on_disk.path()).unwrap();
        let x = file.get("x").unwrap();
        assert_eq!(x.read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
        let view = x.view::<f64>().unwrap();
        assert_eq!(view.is_borrowed(), file.source().is_memory() && cfg!(target_endian = "little"));
    }
    let error = OpenOptions::new().open(on_disk.path().join("none")).unwrap_err();
    assert!(error.io_error().is_some() && error.to_string().contains("none"), "{error}");
}

#[test]
fn the_byte_order_comes_from_the_type_then_the_layout_then_the_signature_then_the_caller() {
    let value = |layout: &str, signature: &[u8]| {
        let bytes = [signature, &[0, 1]].concat();
        open(layout, &bytes).unwrap().get("x").unwrap().read::<u16>().unwrap()[0]
    };
    let big = hex("8d3e42440d0a1a0a 0000000000000000");
    assert_eq!(value("x = u2", &[]), 256, "the caller's byte order applies");
    assert_eq!(value("x = u2", &big), 1, "the byte order of the signature applies");
    assert_eq!(value("< x = u2", &big), 256, "the byte order of the layout applies");
    assert_eq!(value("< x = >u2", &[]), 1, "the byte order of the type applies");
}

#[test]
fn a_signature_damaged_by_a_text_mode_transfer_is_recognised() {
    let (mut cleared, mut shorter) = (appended(), appended());
    cleared[0] = 0x0d;
    shorter.remove(4);
    for damaged in [cleared, shorter] {
        let error = File::from_bytes(damaged, Layout::parse("x = i1").unwrap()).unwrap_err();
        assert!(error.to_string().contains("text-mode transfer"), "{error}");
    }
}

#[test]
fn structs_are_read_as_records_and_their_members_as_strided_arrays() {
    let file =
        open("p = { t = u1  in = { a = u1  b = >u2 }[2] }[3]", &(0..30).collect::<Vec<u8>>())
            .unwrap();
    let p = file.get("/p").unwrap();
    assert_eq!(p.datatype().itemsize(), 10);
    let b = file.get("/p.in.b").unwrap();
    assert_eq!((b.shape(), b.strides()), (&[3, 2][..], &[10, 4][..]));
    let expected = [4, 8, 14, 18, 24, 28].map(|at: u16| at << 8 | (at + 1));
    assert_eq!(b.read::<u16>().unwrap(), expected);
    for path in ["/p[1].in.a", "/p/1/in/a", "/p[1].in[0].a"] {
        let a = file.get(path).unwrap();
        let expected: &[u8] = if path.contains("[0]") { &[12] } else { &[12, 16] };
        assert_eq!(a.read::<u8>().unwrap(), expected, "{path}");
    }
    assert_eq!(
        json(&file, "/p[2]").unwrap(),
        r#"{"t":20,"in":[{"a":22,"b":6169},{"a":26,"b":7197}]}"#
    );
    let error = file.get("/p[3].t").unwrap_err();
    assert!(error.to_string().contains("no such instance"), "{error}");
}

/// Reads the members of a record "at root level", as the specification describes.
#[test]
fn members_of_the_unnamed_item_are_views_across_all_records() {
    let mut bytes = 2_i64.to_le_bytes().to_vec();
    for record in 0..2_u8 {
        bytes.extend(f64::from(record).to_le_bytes());
        bytes.extend([record, record + 10, record + 20, 0, 0, 0, 0, 0]);
    }
    let file = open("NREC : i8  \"\" = { time = f8  r = u1[3] }[NREC]", &bytes).unwrap();
    assert_eq!(file.get("/time").unwrap().read::<f64>().unwrap(), [0.0, 1.0]);
    let r = file.get("r").unwrap();
    assert_eq!((r.shape(), r.strides()), (&[2, 3][..], &[16, 1][..]));
    assert_eq!(r.read::<u8>().unwrap(), [0, 10, 20, 1, 11, 21]);
}

#[test]
fn ragged_data_and_counted_text_are_read_instance_by_instance() {
    let bytes = [2, 7, 1, 2, 0, 8, 1, 9, 3, 3, b'a', b'b', b'c', 0, 1, b'd'];
    let file =
        open("x = { N : u1  id = u1  v = u1[N] }[3]  s = { L : u1  \"\" = S1[L] }[3]", &bytes)
            .unwrap();
    let x = file.instances("/x").unwrap();
    assert_eq!((x.len(), x.shape()), (3, &[3][..]));
    let third = x.get(2).unwrap();
    assert_eq!((third.address(), third.nbytes()), (6, 3));
    assert_eq!(third.params().collect::<Vec<_>>(), [("N", 1)]);
    assert_eq!(third.members().collect::<Vec<_>>(), ["id", "v"]);
    assert_eq!(third.get("v").unwrap().read::<u8>().unwrap(), [3]);
    assert!(third.get("w").is_err() && x.get(3).is_err());
    assert_eq!(file.get("/x[0].v").unwrap().read::<u8>().unwrap(), [1, 2]);
    assert_eq!(file.get("/x[0].N").unwrap().read::<u8>().unwrap(), [2]);
    assert_eq!(
        json(&file, "/x").unwrap(),
        r#"[{"id":7,"v":[1, 2]}, {"id":8,"v":[]}, {"id":9,"v":[3]}]"#
    );
    assert_eq!(file.get("/s[0]").unwrap().strings().unwrap(), ["abc"]);
    assert_eq!(json(&file, "/s").unwrap(), r#"["abc", "", "d"]"#);
    for path in ["/x", "/x.v", "/s"] {
        let error = file.get(path).unwrap_err();
        assert!(error.to_string().contains("differ in size"), "{error}");
    }
    assert!(file.instances("/x[0].v").is_err());
}

#[test]
fn ragged_instances_in_two_dimensions_become_nested_lists_in_json() {
    let file = open("x = { N : u1  \"\" = u1[N] }[2, 2]", &[1, 5, 0, 2, 6, 7, 1, 8]).unwrap();
    assert_eq!(json(&file, "/x").unwrap(), "[[[5], []], [[6, 7], [8]]]");
    let nested =
        open("a = { N : u1  b = { M : u1  v = u1[M] }[N] }[2]", &[2, 1, 5, 0, 1, 2, 6, 7]).unwrap();
    assert_eq!(
        json(&nested, "/a").unwrap(),
        r#"[{"b":[{"v":[5]}, {"v":[]}]}, {"b":[{"v":[6, 7]}]}]"#
    );
    let first = nested.instances("/a").unwrap().get(1).unwrap();
    let inner = first.instances("b").unwrap();
    assert_eq!(inner.get(0).unwrap().get("v").unwrap().read::<u8>().unwrap(), [6, 7]);
}

#[test]
fn a_parameter_of_minus_one_removes_its_dimension_and_a_parameter_of_zero_makes_the_array_empty() {
    let of = |exists: u8| open("IF : i1  v = u1[IF, 2]  w = u1", &[exists, 1, 2, 3]).unwrap();
    assert_eq!(of(0xff).get("v").unwrap().shape(), [2]);
    let none = of(0);
    assert_eq!(none.get("v").unwrap().shape(), [0, 2]);
    assert_eq!(json(&none, "v").unwrap(), "[]");
    assert_eq!(none.get("w").unwrap().read::<u8>().unwrap(), [1]);
}

#[test]
fn evenly_spaced_list_elements_are_stacked_into_one_array() {
    let mut text = "N : u1 t [u1[N]]".to_owned();
    text.push_str(&" t %0".repeat(999));
    let bytes: Vec<u8> =
        [2].into_iter().chain((0..2000_u16).map(|at| at.to_le_bytes()[0])).collect();
    let file = open(&text, &bytes).unwrap();
    let list = file.list("/t").unwrap();
    assert_eq!(list.len(), 1000);
    let sum: u64 = list.iter().map(|one| u64::from(one.unwrap().read::<u8>().unwrap()[0])).sum();
    let all = list.stacked().unwrap().unwrap();
    assert_eq!((all.shape(), all.strides()), (&[1000, 2][..], &[2, 1][..]));
    let column = all.slice(&Slice::parse(":,0").unwrap()).unwrap().read::<u8>().unwrap();
    assert_eq!(column.iter().map(|&one| u64::from(one)).sum::<u64>(), sum);
    let uneven = open("l [u1, u1[2]]  m [u1] x = u1 m %0 y = i4 m %0", &[0; 32]).unwrap();
    assert!(uneven.list("/l").unwrap().stacked().unwrap().is_none());
    assert!(uneven.list("/m").unwrap().stacked().unwrap().is_none());
    assert!(matches!(uneven.list("/x").map(|_| ()).unwrap_err().kind(), ErrorKind::NotData { .. }));
}

#[test]
fn a_list_of_counted_elements_is_not_stacked() {
    let counted = open("T {N : u1  \"\" = u1[N]}  l [T, T]", &[2, 5, 6, 2, 7, 8]).unwrap();
    let list = counted.list("/l").unwrap();
    let elements: Vec<Vec<u8>> = list.iter().map(|one| one.unwrap().read().unwrap()).collect();
    assert_eq!(elements, [[5, 6], [7, 8]]);
    assert!(list.stacked().unwrap().is_none());
    // The count follows the elements, so each array begins at the address of its list element.
    let text = "T {N : u1 @3  \"\" = u1[N] @0}  l [T, T]";
    let counted = open(text, &[5, 6, 0, 2, 7, 8, 9, 3]).unwrap();
    let list = counted.list("/l").unwrap();
    let elements: Vec<Vec<u8>> = list.iter().map(|one| one.unwrap().read().unwrap()).collect();
    assert_eq!(elements, [vec![5, 6], vec![7, 8, 9]]);
    assert!(list.stacked().unwrap().is_none());
}

#[test]
fn a_path_that_leads_to_no_data_is_rejected_with_the_kind_of_the_item() {
    let file = open("g/ x = u1 .. l [u1] K : 3", &[1, 2]).unwrap();
    for (path, what) in
        [("/g", "a dict"), ("/l", "a list"), ("/K", "a fixed parameter"), ("/", "a dict")]
    {
        let error = file.get(path).unwrap_err();
        assert_eq!(error.to_string(), format!("`{path}` is {what}"));
        assert!(!error.is_bad_data());
    }
    assert_eq!(file.param("/K").unwrap(), 3);
    assert!(file.get("/h").is_err() && file.param("/g").is_err() && file.get("/g/").is_err());
}

#[test]
fn a_truncated_file_is_readable_up_to_its_end() {
    let file = open("a = u1[2]  b = u2[4]  N : i4  c = u1[N]", &[1, 2, 3, 4]).unwrap();
    assert_eq!(file.get("a").unwrap().read::<u8>().unwrap(), [1, 2]);
    let error = file.get("b").unwrap_err();
    assert_eq!(error.to_string(), "`b` is at bytes 2 to 10, but the file ends at byte 4");
    assert!(error.is_bad_data());
    let error = file.get("c").unwrap_err();
    assert_eq!(error.code(), Some(dudley::diagnostic::Code::StreamTooShort));
    assert_eq!(file.stopped().unwrap().code(), Some(dudley::diagnostic::Code::StreamTooShort));
}

#[test]
fn the_caller_can_supply_parameters_that_are_missing_from_the_file() {
    let layout = "x = u1[3]  N : i4 @100  y = u1[N] @1";
    let options = OpenOptions::new().parse(layout).unwrap();
    let without = options.from_bytes(vec![1, 2, 3]).unwrap();
    assert!(without.get("y").is_err());
    let file = options
        .rules(Rules::new().values(Values::new().with("N", 2)))
        .from_bytes(vec![1, 2, 3])
        .unwrap();
    assert_eq!(file.get("y").unwrap().read::<u8>().unwrap(), [2, 3]);
    assert_eq!(file.param("N").unwrap(), 2);
}

/// Reads the worked example (d) of the specification.
#[test]
fn a_gzip_compressed_array_is_decoded() {
    let bytes = hex("8d3c42440d0a1a0a 0000000000000000 2900000000000000 1f8b080000000000
         02ff636060606004 6226206606621620 6605623620660762 00dc230779200000 0001");
    let layout = || Layout::parse("v = i4[8] -> gzip  w = i1").unwrap();
    let file = File::from_bytes(bytes.clone(), layout()).unwrap();
    assert_eq!(file.get("w").unwrap().read::<i8>().unwrap(), [1]);
    assert_eq!(file.get("w").unwrap().layout().offset(), 65);
    assert_eq!(file.get("v").unwrap().read::<i32>().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    for (text, message) in [
        ("v = i4[7] -> gzip", "more than the declared 28 bytes"),
        ("v = i4[9] -> gzip", "decodes to 32 bytes, expected 36"),
        ("v = i4[1099511627776] -> gzip", "above the limit"),
        ("v = i4[8] -> other", "no decoder for this filter"),
    ] {
        let file = File::from_bytes(bytes.clone(), Layout::parse(text).unwrap()).unwrap();
        let error = file.get("v").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let mut damaged = bytes;
    damaged[57] ^= 0x55;
    let error = File::from_bytes(damaged, layout()).unwrap().get("v").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Filter { address: 16, .. }), "{error}");
}

#[test]
fn hostile_layouts_and_layout_addresses_do_not_cause_a_panic() {
    let native = |address: i64, text: &[u8]| {
        let mut bytes = b"\x8d<BD\r\n\x1a\n".to_vec();
        bytes.extend(address.to_le_bytes());
        bytes.extend(text);
        bytes
    };
    for (address, message) in [
        (-1, "the address of the layout, at byte 8, is -1"),
        (15, "expected 0 or at least 16"),
        (i64::MAX, "the file ends at byte 22"),
    ] {
        let error = File::from_bytes(native(address, b"x = i1"), None).unwrap_err();
        assert!(error.to_string().contains(message) && error.is_bad_data(), "{error}");
    }
    let error = File::from_bytes(native(16, b"x = \xff\xfe["), None).unwrap_err();
    assert!(error.code().is_some(), "{error}");
    assert!(File::from_bytes(native(22, b"xxxxxx"), None).unwrap().table().rows().is_empty());

    // Try 2^60 structs, with and without compression, and a record with far too many fields.
    let empty = open("x = { N : u1 @0  v = u1[N] }[1152921504606846976]", &[0; 4]);
    assert!(empty.is_err() || json(&empty.unwrap(), "/x").is_err());
    let empty =
        open("x = { a = { n = u1 } -> gzip }[1152921504606846976] y = i1", &[0; 64]).unwrap();
    let _ = (json(&empty, "/x").is_err(), empty.get("/y").is_err());
    let mut doubled = "t0 { a = u1[0] }\n".to_owned();
    for level in 1..60 {
        let below = level - 1;
        writeln!(doubled, "t{level} {{ a = t{below} b = t{below} }}").unwrap();
    }
    let file = open(&(doubled + "x = t59"), &[]).unwrap();
    let error = file.get("x").unwrap_err();
    assert_eq!(error.code(), Some(dudley::diagnostic::Code::BeyondLimit), "{error}");
    let huge = open("x = f8[576460752303423487]", &[0; 8]).unwrap();
    assert!(matches!(huge.get("x").unwrap_err().kind(), ErrorKind::PastEnd { .. }));
}

#[test]
fn verify_reports_bytes_after_the_last_item_that_cannot_be_padding() {
    let native = |unused: usize, text: &str| {
        let mut bytes = b"\x8d<BD\r\n\x1a\n".to_vec();
        bytes.extend((20 + unused as u64).to_le_bytes());
        bytes.extend(vec![7; 4 + unused]);
        bytes.extend(text.as_bytes());
        let report = dudley::file::verify(&bytes[..], &dudley::file::VerifyOptions::new()).unwrap();
        assert!(report.passed(), "{:?}", report.diagnostics);
        report.diagnostics.into_iter().map(|found| found.message).collect::<Vec<_>>()
    };
    assert_eq!(native(0, "x = i4"), [""; 0]);
    assert_eq!(native(7, "x = i4"), [""; 0]);
    assert_eq!(native(8, "x = i4"), ["bytes 20 to 28, after `/x`, belong to no item"]);
    assert_eq!(native(4, "## nothing"), ["bytes 16 to 24 belong to no item"]);
}
