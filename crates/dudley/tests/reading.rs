//! Reading numbers from a stream, using the datatype and strides of a row.
#![allow(clippy::unwrap_used, reason = "a panic in a helper of tests is the failure report")]

use std::fmt::Write as _;
use std::ops::ControlFlow;

use dudley::array::{Array, Datatype, Strided};
use dudley::{ErrorKind, Layout, Order, Resolver, Rules, Values};

/// Returns the array that a datatype and strides describe in a stream.
fn array(stream: &[u8], (datatype, strided): (Datatype, Strided)) -> Array<&[u8]> {
    Array::new(stream, datatype, strided, binio::Limits::default()).unwrap()
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.split_whitespace().collect::<String>();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Reads example files (a) and (b) of the specification, one little-endian and one big-endian. The
/// layout of (a) is omitted.
#[test]
fn native_files_of_both_byte_orders_are_read() {
    let layout = Layout::parse("N : i2  x = f8[N]  ## (cm) demo\n").unwrap();
    let little = "8d3c42440d0a1a0a 0000000000000000 0300000000000000 000000000000f03f
        0000000000000040 000000000000e0bf";
    let big = "8d3e42440d0a1a0a 0000000000000000 0003000000000000 3ff0000000000000
        4000000000000000 bfe0000000000000";
    for stream in [hex(little), hex(big)] {
        let table = Resolver::new(&layout).stream(&stream).unwrap().table().unwrap();
        let len = stream.len() as u64;
        let x = array(&stream, table.find("/x").unwrap().strided(len).unwrap());
        assert_eq!(x.read::<f64>().unwrap(), [1.0, 2.0, -0.5]);
        let n = array(&stream, table.find("/N").unwrap().strided(len).unwrap());
        assert_eq!(n.read::<i16>().unwrap(), [3]);
    }
}

#[test]
fn a_struct_becomes_a_record_with_the_offsets_of_its_members() {
    let layout = Layout::parse(
        "M : 2  inner { a = u1  b = >u2[M] }
         p = { t = f4  in = inner[2]  name = S1[3]  mesh = {=u1[M]}[2] }[2]",
    )
    .unwrap();
    let table = Resolver::new(&layout).rules(Rules::new().order(Order::Little)).table().unwrap();
    let p = table.find("/p").unwrap();
    let (datatype, strided) = p.strided(p.nbytes().unwrap()).unwrap();
    let inner = "{'names':['a','b'],'formats':['|u1',('>u2',(2,))],'offsets':[0,2],'itemsize':6}";
    let record = datatype.as_record().unwrap();
    let offsets: Vec<u64> = record.fields().iter().map(dudley::array::Field::offset).collect();
    assert_eq!((offsets, record.itemsize()), (vec![0, 4, 16, 19], 24));
    assert_eq!(
        record.fields()[1].datatype().descr().replace(' ', ""),
        *Datatype::parse(inner).unwrap().descr().replace(' ', "")
    );
    assert_eq!(record.fields()[1].shape(), [2]);
    assert_eq!(record.fields()[2].datatype().descr(), "'|S3'");
    assert_eq!(record.fields()[3].shape(), [2, 2]);
    assert_eq!((strided.shape(), strided.strides()), (&[2][..], &[24][..]));

    let mut stream: Vec<u8> = vec![0; 48];
    stream[24 + 6..24 + 8].copy_from_slice(&[1, 2]);
    stream[24 + 16..24 + 19].copy_from_slice(b"abc");
    let p = array(&stream, (datatype, strided));
    let b = p.field("in").unwrap().field("b").unwrap();
    assert_eq!(b.read::<u16>().unwrap(), [0, 0, 0, 0, 0x0102, 0, 0, 0]);
    assert_eq!(p.field("name").unwrap().strings().unwrap(), ["", "abc"]);
}

#[test]
fn members_are_views_with_the_strides_of_the_instances() {
    let layout = Layout::parse("N : i1  x = { a = u1  g = { b = >u2  c = u1[2] }[3] }[N]").unwrap();
    let stream: Vec<u8> = (0..40).map(|at| if at == 0 { 2 } else { at }).collect();
    let resolver = Resolver::new(&layout).stream(&stream).unwrap();
    let table = resolver.table().unwrap();
    let mut read = Vec::new();
    let walked = resolver.walk(&table, table.rows(), |_, member| {
        if let Some(member) = member.filter(|member| member.path == "/x.g.c") {
            let c = array(&stream, member.strided(40).unwrap());
            assert_eq!((c.shape(), c.strides()), (&[2, 3, 2][..], &[14, 4, 1][..]));
            read = c.read::<u8>().unwrap();
        }
        ControlFlow::Continue(())
    });
    walked.unwrap();
    // x begins at address 2. In an instance of x, g is at offset 2, and in an instance of g, c is
    // at offset 2.
    assert_eq!(read, [6, 7, 10, 11, 14, 15, 20, 21, 24, 25, 28, 29]);
}

#[test]
fn the_last_dimension_of_text_is_the_length_of_the_strings() {
    let layout = Layout::parse("a = S1[2, 4]  b = >U2[3]  c = U4  d = U1[0]").unwrap();
    let table = Resolver::new(&layout).rules(Rules::new().order(Order::Little)).table().unwrap();
    let shown = |path| {
        let (datatype, strided) = table.find(path).unwrap().strided(100).unwrap();
        (datatype.as_scalar().unwrap().to_string(), strided.shape().to_vec())
    };
    assert_eq!(shown("/a"), ("|S4".to_owned(), vec![2]));
    assert_eq!(shown("/b"), (">utf16[3]".to_owned(), vec![]));
    assert_eq!(shown("/c"), ("<U1".to_owned(), vec![]));
    assert_eq!(shown("/d").1, [0_u64; 0]);
}

#[test]
fn data_that_has_no_strides_or_extends_past_the_end_is_rejected_with_the_reason() {
    let layout =
        Layout::parse("a = f8 -> gzip  b = f8  c = { N : i4  d = u1[N] }[2] @64  e = f8[3] @100")
            .unwrap();
    let table = Resolver::new(&layout)
        .rules(Rules::new().values(Values::new().with("N", 1)))
        .table()
        .unwrap();
    let reason = |path| {
        let error = table.find(path).unwrap().strided(100).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotStrided { .. } | ErrorKind::Read(_)));
        error.to_string()
    };
    assert!(reason("/a").ends_with("it is compressed"), "{}", reason("/a"));
    assert!(reason("/b").ends_with("its address depends on the stream"), "{}", reason("/b"));
    assert!(reason("/c").ends_with("differ in size"), "{}", reason("/c"));
    assert!(reason("/e").contains("124"), "{}", reason("/e"));
}

/// Each type has two members of the previous type, so the number of fields doubles.
#[test]
fn a_record_with_too_many_fields_is_rejected() {
    let mut text = "t0 { a = u1  b = u1 }\n".to_owned();
    for level in 1..40 {
        let before = level - 1;
        writeln!(text, "t{level} {{ a = t{before}  b = t{before} }}").unwrap();
    }
    let layout = Layout::parse(text + "x = t39").unwrap();
    let table = Resolver::new(&layout).table().unwrap();
    let error = table.find("/x").unwrap().strided(1 << 50).unwrap_err();
    assert!(error.to_string().contains("more than 65536 fields"), "{error}");
}

#[test]
fn a_record_that_nests_too_deeply_is_rejected() {
    let nested = |levels: usize| {
        let text = format!("x = {}f8{}", "{ a = ".repeat(levels), " }".repeat(levels));
        let options = dudley::ParseOptions::new();
        let limits = dudley::Limits::default().max_depth(400);
        let layout = options.limits(limits).parse(text).unwrap();
        let table = Resolver::new(&layout).table().unwrap();
        table.find("/x").unwrap().strided(8).map(|(datatype, _)| datatype.itemsize())
    };
    assert_eq!(nested(64).unwrap(), 8);
    for levels in [65, 399] {
        let error = nested(levels).unwrap_err();
        assert!(error.to_string().contains("nest deeper"), "{error}");
    }
}

#[cfg(any(unix, windows))]
#[test]
fn a_file_with_an_unfinished_change_is_read_as_it_was_before_the_change() {
    use binio::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt as _};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, [1, 2, 3, 4]).unwrap();
    let options = dudley::OpenOptions::new().parse("x = u1[4]").unwrap();
    let lock = FileLock::acquire(&path).unwrap();
    let mut storage = FileStorage::open(&lock).unwrap();
    let mut change = Change::begin(&mut storage, &ChangePlan::new(0..2).overwrite(2..4)).unwrap();
    change.write_all_at(&[9, 9], 2).unwrap();
    #[cfg(feature = "mmap")]
    let all = [options.clone(), options.clone().mmap(true)];
    #[cfg(not(feature = "mmap"))]
    let all = [options.clone()];
    for options in all {
        let file = options.open(&path).unwrap();
        assert_eq!(file.get("x").unwrap().read::<u8>().unwrap(), [1, 2, 3, 4]);
    }
    change.commit().unwrap();
    let file = options.open(&path).unwrap();
    assert_eq!(file.get("x").unwrap().read::<u8>().unwrap(), [1, 2, 9, 9]);
}
