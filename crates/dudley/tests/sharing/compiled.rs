//! Testing that compiled layouts return the same results as their text.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use binio::source::ReadLog;
use dudley::index::CompiledLayout;
use dudley::layout::Subject;
use dudley::place::Location;
use dudley::{
    Bytes, ErrorKind, File, Layout, OpenOptions, Order, ParseOptions, ReadAt, Resolver, Rules,
};

fn compiled(text: &str) -> Vec<u8> {
    CompiledLayout::compile(&Layout::parse(text).unwrap(), text.as_bytes(), None).unwrap()
}

fn open(text: &str) -> CompiledLayout {
    CompiledLayout::from_bytes(compiled(text)).unwrap()
}

/// A seeded random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// Generates a layout with all kinds of declarations. If `is_plain` is set, no items are structs or
/// compressed.
fn layout(random: &mut Random, is_plain: bool) -> String {
    let mut text = random.of(&["", "< ", "> "]).to_owned();
    text.push_str(
        "K : i1  F : 2  t {\"\" = <f4[K]}  s { a = i1  b = f8[F] }  free { v = u2[K] }\n",
    );
    for at in 0..random.below(40) {
        let place = random.of(&["", "", "", "", "", " %4", " %32", " @300", " @7", " %0"]);
        let dims = random.of(&["", "", "[3]", "[2, 0]", "[K]", "[K+, 2]", "[F, -1, K--]", "[N]"]);
        let dims = if text.contains("N : ") { dims } else { dims.trim_matches(['[', 'N', ']']) };
        let dims = if dims.is_empty() || dims.starts_with('[') {
            dims.to_owned()
        } else {
            format!("[{dims}]")
        };
        let kind = random.of(&["i1", "<f8", ">u2", "c16", "f4", "t", "t", "S1", "U2", "b1", "i8"]);
        let _ = match random.below(16) {
            2..=5 if is_plain => Ok(()),
            0 if !text.contains("N : ") => {
                writeln!(text, "/ N : {}{place}", random.of(&["u1", "<i2", ">i4"]))
            }
            1 => writeln!(text, "P{at} : {}{place}", random.of(&["u1", "<i2", ">i4", "i8"])),
            2 => writeln!(text, "x{at} = s{dims}{place}"),
            3 => writeln!(text, "x{at} = free{dims}{place}"),
            4 => writeln!(text, "x{at} = {{ M : u1  v = u1[M] }}{dims}{place}"),
            5 => writeln!(text, "x{at} = {kind}{dims} -> gzip{place}"),
            6 => writeln!(text, "d{at}/ K : i1"),
            7 => writeln!(text, ".."),
            8 => writeln!(text, "l{at} [{kind}{dims}, / y = {kind} .. , f4[2]] l{at} %0 %16"),
            9 => writeln!(text, "Q{at} : 4  x{at} = f4[Q{at}+]{place}"),
            _ => writeln!(text, "x{at} = {kind}{dims}{place}"),
        };
    }
    text
}

/// Replaces the errors `NotCompiled` and `NeedsStream` with `None`. Returns all other errors
/// unchanged.
fn if_described(found: Result<Location, dudley::Error>) -> Result<Option<Location>, dudley::Error> {
    match found {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotCompiled { .. } | ErrorKind::NeedsStream { .. }
            ) =>
        {
            Ok(None)
        }
        found => found.map(Some),
    }
}

#[test]
fn compiled_random_layouts_have_the_same_addresses_as_their_text() {
    let (mut found, mut missing) = (0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let text = layout(&mut random, seed % 2 == 0);
        let Ok(layout) = Layout::parse(&text) else {
            panic!("{}\n{text}", Layout::parse(&text).unwrap_err())
        };
        let mut stream: Vec<u8> = (0..600).map(|_| u8::from(random.below(3) == 0) * 2).collect();
        if random.below(2) == 0 {
            stream.splice(0..0, *b"\x8d>BD\r\n\x1a\n\0\0\0\0\0\0\0\0");
        }
        let resolver = Resolver::new(&layout).stream(&stream).unwrap();
        let (table, _) = resolver.partial_table();
        let compiled = open(&text);
        let mut listed = std::collections::BTreeMap::new();
        let others = compiled.for_each(Some(&stream), |row| {
            listed.insert(
                row.path.to_owned(),
                (row.address, row.shape.to_vec(), row.dtype.to_owned()),
            );
        });
        assert_eq!(listed.len() + others.unwrap(), compiled.len(), "{text}");
        for (path, found) in &listed {
            let location = compiled.locate(path, Some(&stream)).unwrap();
            assert_eq!(
                (location.address(), location.shape(), location.dtype()),
                (found.0, &found.1[..], &found.2[..])
            );
        }
        for row in table.iter() {
            let location = if_described(compiled.locate(&row.path(), Some(&stream))).unwrap();
            let Some(location) = location else {
                assert!(
                    seed % 2 == 1 || row.address().is_none(),
                    "{}
{text}",
                    row.path()
                );
                missing += 1;
                continue;
            };
            found += 1;
            assert!(listed.contains_key(&row.path()), "{text}");
            let place = (Some(location.address()), location.shape(), location.dtype());
            assert_eq!(
                place,
                (row.address(), &row.shape()[..], &row.dtype()[..]),
                "{}\n{text}",
                row.path()
            );
            assert_eq!(location.array_type().0, &row.array_type().unwrap().0, "{text}");
        }
    }
    // Some items cannot be found: structs, compressed items, items after structs whose instances
    // differ in size, and items without an address.
    assert!(found > 3000, "{found} found, {missing} not");
}

#[test]
fn items_that_depend_on_no_parameter_are_found_without_a_stream() {
    let compiled =
        open("a = i1  b = <f8[2]  N : i4  c = i2[N]  d = i2  e = i2[3] @100  f = S1[2, 4]");
    let address =
        |path| if_described(compiled.locate(path, None)).unwrap().map(|found| found.address());
    assert_eq!([address("/a"), address("/b"), address("/N")], [Some(0), Some(8), Some(24)]);
    assert_eq!([address("/c"), address("/d")], [None, None]);
    assert_eq!([address("/e"), address("e"), address("/f")], [Some(100), Some(100), Some(106)]);
    let f = compiled.locate("/f", None).unwrap();
    assert_eq!((f.shape(), f.array_type().1, f.nbytes()), (&[2, 4][..], &[2][..], 8));
    assert_eq!((compiled.len(), compiled.is_empty()), (7, false));
}

#[test]
fn a_missing_stream_and_an_uncompiled_path_cause_different_errors() {
    let compiled = open("N : u1  a = u1[N]  z = u1[2] -> gzip  b = i2  p = { y = u1 }");
    let kind = |path, stream| compiled.locate(path, stream).unwrap_err();
    for path in ["/a", "/b", "b"] {
        let error = kind(path, None);
        assert!(matches!(error.kind(), ErrorKind::NeedsStream { .. }), "{path}: {error}");
        let message = format!("the location of `{path}` depends on values in the stream");
        assert!(error.to_string().starts_with(&message) && !error.is_bad_data(), "{error}");
    }
    let stream = [&[1_u8, 9][..], &[0; 30]].concat();
    assert_eq!(compiled.locate("/a", Some(&stream)).unwrap().address(), 1);
    // `/b` follows compressed bytes, whose length is missing in the short stream.
    for (path, stream) in [
        ("/none", None),
        ("/none", Some(&stream as &dyn ReadAt)),
        ("/p.y", None),
        ("/p", None),
        ("/z", Some(&stream)),
        ("/b", Some(&&[1_u8, 9][..])),
    ] {
        let error = kind(path, stream);
        assert!(matches!(error.kind(), ErrorKind::NotCompiled { .. }), "{path}: {error}");
        assert!(error.to_string().contains(path) && !error.is_bad_data(), "{error}");
    }
}

#[test]
fn one_of_100000_arrays_is_found_with_few_reads() {
    let mut text = String::new();
    for number in 0..100_000 {
        let _ = writeln!(text, "var_{number:06} = <f8[16]");
    }
    let source = Arc::new(ReadLog::new(Bytes::from(compiled(&text))));
    let compiled = CompiledLayout::from_source(Arc::clone(&source)).unwrap();
    for number in [0, 1, 49_999, 77_777, 99_999] {
        source.clear();
        let found = compiled.locate(&format!("/var_{number:06}"), None).unwrap();
        assert_eq!((found.address(), found.shape()), (128 * number, &[16][..]));
        let read: u64 = source.ranges().iter().map(|range| range.end - range.start).sum();
        // Each read verifies all 1,024-byte pages that contain the needed bytes.
        assert!(source.ranges().len() < 45 && read < 64 * 1024, "{:?}", source.ranges());
    }
    assert_eq!(if_described(compiled.locate("/var_100000", None)).unwrap(), None);
}

#[test]
fn reading_with_a_compiled_layout_returns_the_same_data_as_with_its_text() {
    let text = "< N : u1  x = u2[N]  p = { y = u1 }[2]  d/ l [u1, u1]  z = u1[2] -> gzip @100";
    let bytes = vec![1_u8, 0, 5, 0, 6, 7, 8, 9];
    let file = OpenOptions::new().compiled(open(text)).from_bytes(bytes.clone()).unwrap();
    let plain = File::from_bytes(bytes, Layout::parse(text).unwrap()).unwrap();
    let json = |file: &File, path: &str| {
        let mut out = Vec::new();
        file.write_json(path, &mut out).map(|()| String::from_utf8(out).unwrap())
    };
    assert_eq!(file.get("x").unwrap().read::<u16>().unwrap(), [5]);
    assert_eq!(file.get("/d/l[1]").unwrap().read::<u8>().unwrap(), [9]);
    assert_eq!(file.get("/d/l/1").unwrap().read::<u8>().unwrap(), [9]);
    assert_eq!(file.get("/p.y").unwrap().read::<u8>().unwrap(), [6, 7]);
    assert_eq!(file.locate("/p.y").unwrap(), plain.locate("/p.y").unwrap());
    assert_eq!(file.list("/d/l").unwrap().len(), 2);
    assert_eq!((file.param("N").unwrap(), file.order()), (1, Order::Little));
    for path in ["/x", "/p", "/N", "/d/l[0]"] {
        assert_eq!(json(&file, path).unwrap(), json(&plain, path).unwrap());
    }
    for path in ["/q", "/d", "/z", "x[", "/d/l[2]"] {
        let (one, other) = (file.get(path).unwrap_err(), plain.get(path).unwrap_err());
        let known = one.to_string().replace("layout:", "");
        assert_eq!(known, other.to_string().replace("layout:", ""), "{path}");
    }
    assert_eq!(file.table().rows(), plain.table().rows());
    assert_eq!(file.stopped().is_some(), plain.stopped().is_some());
}

#[test]
fn a_compiled_layout_uses_its_text_if_options_may_change_addresses() {
    let text = "N : u1  x = u1[N]  c = c8";
    let bytes = || vec![2_u8, 3, 4, 0, 0, 0, 0, 0];
    let options = OpenOptions::new().compiled(open(text));
    let address = |options: &OpenOptions| {
        options.from_bytes(bytes()).unwrap().locate("/c").unwrap().address()
    };
    assert_eq!(address(&options), 8);
    let of_parts = Rules::new().complex_align(dudley::place::ComplexAlign::Part);
    assert_eq!(address(&options.clone().rules(of_parts)), 4);
    let values = dudley::Values::new().with("N", 1);
    let short = options.rules(Rules::new().values(values)).from_bytes(Vec::new()).unwrap();
    assert_eq!(short.locate("/x").unwrap().shape(), [1]);
}

#[test]
fn a_compiled_layout_is_rejected_if_the_layout_next_to_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let (text, path) = (folder.path().join("run.dud"), folder.path().join("run.dudx"));
    assert!(CompiledLayout::open_next_to(&text).unwrap().is_none());
    fs::write(&text, "a = i4").unwrap();
    fs::write(&path, compiled("a = i4")).unwrap();
    assert!(
        CompiledLayout::open(&path).is_ok()
            && CompiledLayout::open_next_to(&text).unwrap().is_some()
    );
    // Try a layout of a different length, and a different layout of the same length.
    for other in ["a = i4 ", "a = f4"] {
        fs::write(&text, other).unwrap();
        let error = CompiledLayout::open(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stale { .. }), "{error}");
        assert!(
            error.to_string().contains("run.dudx was not compiled from the current content of")
        );
        assert!(CompiledLayout::open_next_to(&text).is_err());
    }
    fs::remove_file(&text).unwrap();
    let alone = CompiledLayout::open(&path).unwrap();
    assert_eq!(&alone.text().unwrap()[..], b"a = i4");
}

#[test]
fn a_changed_layout_is_detected_even_if_its_length_and_modification_time_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (text, path) = (folder.path().join("run.dud"), folder.path().join("run.dudx"));
    let layout = Layout::parse("a = i4").unwrap();
    let old = SystemTime::now() - Duration::from_secs(60);
    let write = |content: &str| {
        fs::write(&text, content).unwrap();
        fs::File::options().write(true).open(&text).unwrap().set_modified(old).unwrap();
    };
    write("a = i4");
    let file = fs::metadata(&text).unwrap();
    for file in [None, Some(&file)] {
        fs::write(&path, CompiledLayout::compile(&layout, b"a = i4", file).unwrap()).unwrap();
        write("a = i4");
        assert!(CompiledLayout::open(&path).is_ok(), "the text is the same");
        write("a = f4");
        let error = CompiledLayout::open(&path).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stale { .. }), "{error}");
        assert!(CompiledLayout::open_next_to(&text).is_err());
    }
}

/// The results of using a compiled layout: the locations of paths with and without a stream, the
/// data read through the layout, and its text.
type Read = (Vec<Option<(u64, Vec<u64>, String)>>, Vec<Option<Vec<u8>>>, Option<Vec<u8>>);

fn read_all(bytes: Vec<u8>, paths: &[&str], stream: &[u8]) -> Result<Read, dudley::Error> {
    let compiled = CompiledLayout::from_bytes(bytes)?;
    let stream = stream.to_vec();
    let file = OpenOptions::new().compiled(compiled.clone()).from_bytes(stream.clone())?;
    let mut located = Vec::new();
    let mut read = Vec::new();
    for path in paths {
        for stream in [None, Some(&stream as &dyn ReadAt)] {
            let found = if_described(compiled.locate(path, stream))?;
            located.push(
                found.map(|found| {
                    (found.address(), found.shape().to_vec(), found.dtype().to_owned())
                }),
            );
        }
        let array = file.get(path)?;
        let order = (dudley::array::Order::C, dudley::array::ByteOrder::Stored);
        read.push(array.read_bytes(order.0, order.1).ok());
    }
    Ok((located, read, Some(compiled.text()?.to_vec())))
}

#[test]
fn a_compiled_layout_with_a_changed_byte_fails_instead_of_returning_wrong_addresses() {
    let mut text =
        "< N : u1  a = f8[N+]  b = S1[3]  p = { q = i2 }  d/ c = i2[2] @64  e = i2[N] ..\n"
            .to_owned();
    for number in 0..40 {
        let _ = writeln!(text, "x{number} = u2[2]");
    }
    let whole = compiled(&text);
    assert!(whole.len() > 3500, "the index has several pages: {}", whole.len());
    let stream: Vec<u8> = (0..=255).map(|byte| if byte == 0 { 3 } else { byte }).collect();
    let paths = ["/N", "/a", "/b", "/p.q", "/d/c", "/d/e", "/x0", "/x39"];
    let expected = read_all(whole.clone(), &paths, &stream).unwrap();
    for at in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            match read_all(bytes, &paths, &stream) {
                Ok(found) => assert_eq!(found, expected, "byte {at} ^ {flip:#x}"),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Compiled { .. }), "{at}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_layout_in_another_encoding_is_stored_unchanged() {
    let text = b"x = i4  ## 20 \xb0C";
    let layout = Layout::parse(text).unwrap();
    let bytes = CompiledLayout::compile(&layout, text, None).unwrap();
    let compiled = CompiledLayout::from_bytes(bytes).unwrap();
    assert_eq!(&compiled.text().unwrap()[..], text);
    assert_eq!(compiled.parse(&ParseOptions::new()).unwrap(), layout);
    assert!(CompiledLayout::compile(&layout, b"x = i4", None).is_err());
}

#[test]
fn a_damaged_compiled_layout_causes_errors_but_no_panic() {
    let text = "< N : u1  a = f8[N+]  b = S1[3]  d/ c = i2[2] @64  e = i2[N]";
    let whole = compiled(text);
    let stream = vec![3_u8; 100];
    let layout = Layout::parse(text).unwrap();
    let paths: Vec<String> =
        layout.items().map(|id| layout.path(id)).chain(["/N".to_owned()]).collect();
    let try_all = |bytes: Vec<u8>| {
        let Ok(compiled) = CompiledLayout::from_bytes(bytes) else { return 0 };
        let file =
            OpenOptions::new().compiled(compiled.clone()).from_bytes(stream.clone()).unwrap();
        paths
            .iter()
            .map(|path| {
                let _ = file.get(path);
                usize::from(if_described(compiled.locate(path, Some(&stream))).is_err())
            })
            .sum()
    };
    assert_eq!(try_all(whole.clone()), 0);
    let mut errors = 0;
    for at in 0..whole.len() {
        assert_eq!(try_all(whole[..at].to_vec()), 0, "a truncated file must be rejected");
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            errors += try_all(bytes);
        }
    }
    assert!(errors > 100, "{errors}");
    let error = CompiledLayout::from_bytes(&b"\x8d<BD\r\n\x1a\n"[..]).unwrap_err();
    assert!(error.to_string().contains("not a valid compiled layout: expected 8d 64"), "{error}");
}

#[test]
fn a_path_too_long_for_the_index_is_looked_up_in_the_layout_text() {
    let name = "n".repeat(3000);
    let text = format!("{name}/ a = i4  .. b = i4");
    let bytes = compiled(&text);
    assert!(bytes.len() < 2 * text.len());
    let file = OpenOptions::new()
        .compiled(CompiledLayout::from_bytes(bytes).unwrap())
        .from_bytes(vec![1; 8])
        .unwrap();
    assert_eq!(file.get(&format!("/{name}/a")).unwrap().read::<i32>().unwrap(), [0x0101_0101]);
    let rows = file.table().rows().len();
    assert_eq!(rows, 2);
    assert!(file.table().iter().all(|row| matches!(row.row().subject(), Subject::Item(_))));
}

#[test]
fn damage_in_the_text_of_a_compiled_layout_is_an_error_once_the_text_is_needed() {
    let text = "a = i4  p = { b = i2 }";
    let mut bytes = compiled(text);
    let at = bytes.len() - text.len();
    bytes[at + 8..].fill(b'}');
    let compiled = CompiledLayout::from_bytes(bytes).unwrap();
    let file = OpenOptions::new().compiled(compiled).from_bytes(vec![0; 8]).unwrap();
    assert_eq!(file.get("/a").unwrap().len(), 1);
    for error in [
        file.get("/p.b").unwrap_err(),
        file.param("N").unwrap_err(),
        file.list("/l").err().unwrap(),
    ] {
        assert!(matches!(error.kind(), ErrorKind::Compiled { .. }), "{error}");
    }
    assert!(file.table().rows().is_empty() && file.stopped().is_some());
    assert_eq!(file.source().len(), 8);
}
