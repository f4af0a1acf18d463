//! Testing families of files that share one layout.

use std::path::{Path, PathBuf};

use dudley::array::Slice;
use dudley::file::{Family, Summaries, Template};
use dudley::{ErrorKind, Layout, Order, Resolver, Rules, Values, WriteOptions};

const TEMPLATE: &str = "#: dudley_files=\"run_{:03}.bd\"
{ IMAX : i8  JMAX : i4  time = f8 }
r = f8[IMAX, JMAX]  zone { rho = f4[3]  id = u1 }  cells = zone[IMAX]  last = >i2[JMAX+]
";

fn slices(text: &str) -> Vec<Slice> {
    Slice::parse(text).unwrap()
}

/// Creates native files with arrays of the given shapes, and a file with the summaries of all
/// files.
fn files(folder: &Path, shapes: &[(i64, i64)]) -> (Template, Vec<PathBuf>, PathBuf) {
    let template = Template::parse(TEMPLATE).unwrap().order(Order::Little);
    let mut files = Vec::new();
    let mut times = Vec::new();
    for (number, &(imax, jmax)) in shapes.iter().enumerate() {
        let values = Values::new().with("IMAX", imax).with("JMAX", jmax);
        let options = WriteOptions::new()
            .rules(Rules::new().values(values).order(Order::Little))
            .omit_layout(true);
        let mut bytes = Vec::new();
        let layout = template.layout().clone();
        let mut writer = options.write_at(&mut bytes, layout).unwrap();
        let number = f64::from(u32::try_from(number).unwrap());
        let count = usize::try_from(imax * jmax).unwrap();
        writer.put("time", &[number / 2.0]).unwrap();
        let r: Vec<f64> = (0_u32..).take(count).map(|at| 100.0 * number + f64::from(at)).collect();
        writer.put("r", &r).unwrap();
        writer.finish().unwrap();
        times.push(number / 2.0);
        files.push(folder.join(format!("run_{number:03}.bd")));
        std::fs::write(files.last().unwrap(), bytes).unwrap();
    }
    let count = i64::try_from(shapes.len()).unwrap();
    let mut summary = b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0".to_vec();
    summary.extend(count.to_le_bytes());
    for (&(imax, jmax), time) in shapes.iter().zip(times) {
        let jmax = i32::try_from(jmax).unwrap();
        summary.extend(imax.to_le_bytes());
        summary.extend(jmax.to_le_bytes());
        summary.extend([0; 4]);
        summary.extend(time.to_le_bytes());
    }
    let path = folder.join("all.bd");
    std::fs::write(&path, summary).unwrap();
    (template, files, path)
}

#[test]
fn an_array_is_located_for_given_values_without_a_file() {
    let template = Template::parse(TEMPLATE).unwrap().order(Order::Little);
    assert_eq!(template.params().collect::<Vec<_>>(), ["IMAX", "JMAX"]);
    let values = Values::new().with("IMAX", 4).with("JMAX", 3);
    for is_native in [true, false] {
        let template = template.clone().native(is_native);
        let resolver = Resolver::new(&**template.layout())
            .rules(Rules::new().values(values.clone()).order(Order::Little))
            .native(is_native);
        let table = resolver.table().unwrap();
        for row in table.iter() {
            let found = template.locate(&values, &row.path()).unwrap();
            assert_eq!(Some(found.address()), row.address());
            assert_eq!((found.shape(), found.dtype()), (&row.shape()[..], &row.dtype()[..]));
        }
        let id = template.locate(&values, "/cells.id").unwrap();
        let start = template.locate(&values, "/cells").unwrap().address();
        assert_eq!((id.address(), id.shape(), id.strides()), (start + 12, &[4][..], &[16][..]));
    }
    let error = template.locate(&Values::new().with("IMAX", 4), "/r").unwrap_err();
    assert_eq!(error.code(), Some(dudley::diagnostic::Code::ValueUnknown));
}

#[test]
fn cached_locations_equal_newly_computed_locations() {
    let template =
        Template::parse("{ N : i8 }  x = { a = i1  b = f4[2] }[N]  t = S1[N, 3]").unwrap();
    // Request more paths than the template can cache.
    let paths: Vec<String> = (0..600)
        .map(|n| format!("/x[{n}].b"))
        .chain(["/t", "/x", "/x.b", "/N", "/x/b"].map(String::from))
        .collect();
    for values in [600, 700, 600].map(|n| Values::new().with("N", n)) {
        for path in paths.iter().chain(&paths).chain(paths.iter().rev()) {
            // Changing an option of the clone discards its cached locations, so the location is
            // computed again.
            let fresh = template.clone().native(true).locate(&values, path).unwrap();
            assert_eq!(template.locate(&values, path).unwrap(), fresh, "{path}");
        }
    }
    for _ in 0..2 {
        let error = template.locate(&Values::new().with("N", 1), "/none").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotFound { .. }), "{error}");
    }
}

#[test]
fn a_template_prefers_the_value_for_a_path_to_the_value_for_a_name() {
    let template = Template::parse(TEMPLATE).unwrap();
    let address = |values: Values| template.locate(&values, "/last").unwrap().address();
    let by_name = Values::new().with("IMAX", 4).with("JMAX", 3);
    let by_path = Values::new().with("/IMAX", 4).with("/JMAX", 3);
    assert_eq!(address(by_path.clone()), address(by_name.clone()));
    assert_eq!(address(by_path.with("IMAX", 9)), address(by_name.clone()));
    assert_ne!(address(by_name.clone().with("/IMAX", 9)), address(by_name));
}

#[test]
fn summaries_locate_the_arrays_of_all_files_without_opening_any_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let (template, files, path) = files(folder.path(), &[(4, 3), (2, 2), (4, 3)]);
    let summary = Summaries::open(&template, path).unwrap();
    assert_eq!((summary.len(), summary.is_native()), (3, true));
    assert_eq!(summary.param("IMAX").unwrap(), [4, 2, 4]);
    assert_eq!(summary.param("JMAX").unwrap(), [3, 2, 3]);
    assert_eq!(summary.get("time").unwrap().read::<f64>().unwrap(), [0.0, 0.5, 1.0]);
    let of_files = Family::new(template.layout().clone(), files.clone());
    let of_summary = template.family(files.clone(), &summary).unwrap();
    let known = |family: &Family| -> Vec<_> {
        let number =
            |number| ["/r", "/last", "/cells.rho"].map(|path| family.locate(number, path).unwrap());
        (0..3).map(number).collect()
    };
    let expected = known(&of_files);
    for file in &files {
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!(known(&of_summary), expected);
    let names = template.layout().files_in(folder.path(), 3).unwrap().unwrap();
    assert_eq!(names, files);
    let error = template.family(&files[..2], &summary).unwrap_err();
    assert!(
        error.to_string().contains("expected one record per file, found 3 records for 2 files"),
        "{error}"
    );
}

#[test]
fn an_array_across_all_files_is_read_as_a_single_array() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = [(4, 3); 50];
    let (template, files, path) = files(folder.path(), &shapes);
    let summary = Summaries::open(&template, path).unwrap();
    for family in [
        Family::new(template.layout().clone(), files.clone()),
        template.family(files.clone(), &summary).unwrap(),
    ] {
        let r = family.get("/r").unwrap();
        assert_eq!(r.shape(), [50, 4, 3]);
        let all = r.read::<f64>().unwrap();
        let expected = |file: u32, at: u32| f64::from(100 * file + at);
        assert_eq!(all.len(), 600);
        for (file, part) in (0..).zip(all.chunks(12)) {
            assert_eq!(part, (0..12).map(|at| expected(file, at)).collect::<Vec<_>>());
        }
        let series = r.slice(&slices("::7, 1, 2")).unwrap();
        let times: Vec<f64> = (0..50).step_by(7).map(|file| expected(file, 5)).collect();
        assert_eq!(series.read::<f64>().unwrap(), times);
        let back = r.slice(&slices("::-1, 3, ::2")).unwrap().read::<f64>().unwrap();
        assert_eq!(back[..4], [4909.0, 4911.0, 4809.0, 4811.0]);
        let id = family.get("/cells.id").unwrap();
        assert_eq!((id.shape(), id.read::<u8>().unwrap()), (&[50, 4][..], vec![0; 200]));
        assert_eq!(family.get("/IMAX").unwrap().read::<i64>().unwrap(), [4; 50]);
        assert_eq!((family.len(), family.open(7).unwrap().param("JMAX").unwrap()), (50, 3));
        assert!(family.open(50).is_err() && family.get("/none").is_err());
    }
}

#[test]
fn a_file_with_a_different_shape_is_reported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (template, files, path) = files(folder.path(), &[(2, 2), (2, 2), (3, 2)]);
    let family = Family::new(template.layout().clone(), files.clone());
    let error = family.get("/r").unwrap().read::<f64>().unwrap_err();
    let message = "run_002.bd: expected <f8[2, 2], found <f8[3, 2]";
    assert!(error.to_string().contains(message), "{error}");
    let summary = Summaries::open(&template, path).unwrap();
    let error = template.family(files.clone(), &summary).unwrap().get("/r").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Mismatch { .. }), "{error}");
    assert!(error.to_string().contains(message), "{error}");
    // The files before the mismatch can be read.
    let r = family.get("/r").unwrap().slice(&slices(":2")).unwrap();
    assert_eq!(r.read::<f64>().unwrap()[4..], [100.0, 101.0, 102.0, 103.0]);
    // In all files, `last` has the same shape, but not the same address.
    assert_eq!(family.get("/last").unwrap().read::<i16>().unwrap(), [0; 9]);
    std::fs::write(&files[1], &std::fs::read(&files[1]).unwrap()[..50]).unwrap();
    let error = family.get("/r").unwrap().read::<f64>().unwrap_err();
    assert!(error.to_string().contains("run_001.bd"), "{error}");
}

#[cfg(any(unix, windows))]
#[test]
fn files_with_a_change_in_progress_are_read_as_they_were_before_the_change() {
    use binio::write::{Change, ChangePlan, FileLock, FileStorage, WriteAt};

    let folder = tempfile::tempdir().unwrap();
    let (template, files, path) = files(folder.path(), &[(2, 2); 5]);
    let summary = Summaries::open(&template, path).unwrap();
    let families = [
        Family::new(template.layout().clone(), files.clone()),
        template.family(files.clone(), &summary).unwrap(),
    ];
    let read = |family: &Family| family.get("/r").unwrap().read::<f64>();
    let old = read(&families[0]).unwrap();

    let at = families[0].locate(3, "/r").unwrap().address();
    let lock = FileLock::acquire(&files[3]).unwrap();
    let mut storage = FileStorage::open(&lock).unwrap();
    let plan = ChangePlan::new(0..at).overwrite(at..at + 32);
    let mut change = Change::begin(&mut storage, &plan).unwrap();
    change.write_all_at(&[0; 32], at).unwrap();
    assert!(families.iter().all(|family| read(family).unwrap() == old));
    change.commit().unwrap();
    for family in &families {
        let new = read(family).unwrap();
        assert_eq!((&new[..12], &new[12..16], &new[16..]), (&old[..12], &[0.0; 4][..], &old[16..]));
    }
}

#[test]
fn a_file_that_is_shorter_than_its_summary_states_is_reported_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (template, files, path) = files(folder.path(), &[(2, 2); 3]);
    let family = template.family(files.clone(), &Summaries::open(&template, path).unwrap());
    let r = family.unwrap().get("/r").unwrap();
    std::fs::write(&files[1], &std::fs::read(&files[1]).unwrap()[..50]).unwrap();
    let error = r.read::<f64>().unwrap_err().to_string();
    assert!(error.contains("run_001.bd") && error.contains("ends at byte 50"), "{error}");
    std::fs::remove_file(&files[1]).unwrap();
    let error = r.read::<f64>().unwrap_err().to_string();
    assert!(error.contains("run_001.bd"), "{error}");
    std::fs::create_dir(&files[1]).unwrap();
    let error = r.read::<f64>().unwrap_err().to_string();
    assert!(error.contains("run_001.bd: ") && error.contains("is a directory"), "{error}");
}

#[test]
fn a_template_is_rejected_if_its_summary_does_not_determine_every_address() {
    for (text, path) in [
        ("{ N : i8 } M : i8 x = f8[M]", "/M"),
        ("N : i8", "/N"),
        ("{ N : i8 } x = f8 @100", "/x"),
        ("{ N : i8 @100 }", "/N"),
        ("{ N : i8 } x = f8[N] -> gzip", "/x"),
        ("{ N : i8 } x = { M : i8  y = f8[M] }", "/x"),
        ("{ N : i8  x = f8[N] } d/ y = f8 @8", "/d/y"),
    ] {
        let error = Template::parse(text).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotTemplate { .. }), "{error}");
        assert!(error.to_string().contains(&format!("`{path}`")), "{error}");
    }
    assert!(Template::parse("N : 3  x = f8[N]").is_ok());
}

#[test]
fn the_only_item_in_a_summary_layout_is_named_summary() {
    for text in [
        TEMPLATE,
        "> {%8 N : i2  \"odd name\" = S1[8]  p = { a = u1  b = <f4[2] } }",
        "{}",
        "x = i4",
        "{ K : 3  w = f4[K+] }",
    ] {
        let template = Template::parse(text).unwrap();
        let layout = Layout::parse(template.summary_layout()).unwrap();
        assert_eq!(layout.items().map(|id| layout.path(id)).collect::<Vec<_>>(), ["/summary"]);
    }
}

#[test]
fn a_truncated_or_invalid_summary_file_is_an_error() {
    let template = Template::parse("< { N : i4 } x = f8[N]").unwrap();
    let summary = |count: i64, records: &[i32]| {
        let mut bytes = count.to_le_bytes().to_vec();
        bytes.extend(records.iter().flat_map(|n| n.to_le_bytes()));
        Summaries::from_source(&template, bytes)
    };
    let good = summary(2, &[3, 4]).unwrap();
    assert_eq!((good.param("N").unwrap(), good.is_native()), (vec![3, 4], false));
    assert!(matches!(summary(3, &[3, 4]).unwrap_err().kind(), ErrorKind::PastEnd { .. }));
    assert!(summary(-1, &[3, 4]).unwrap_err().to_string().contains("records is -1"));
    assert!(summary(-7, &[3, 4]).is_err() && summary(i64::MAX, &[]).is_err());
    assert_eq!(summary(0, &[]).unwrap().len(), 0);
    let template = Template::parse("< { } x = f8").unwrap();
    let records = Summaries::from_source(&template, i64::MAX.to_le_bytes().to_vec());
    assert!(records.unwrap_err().to_string().contains("limit"));
    // Records of different sizes would have to be read from the start of the file, so they are
    // rejected.
    let template = Template::parse("{ N : i4  names = S1[N] } x = f8[N]").unwrap();
    let error = Summaries::from_source(&template, vec![0; 16]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotStrided { .. }), "{error}");
}

#[test]
fn an_array_may_have_different_addresses_in_files_that_begin_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    // The array has the same shape in all files, but its address depends on two counts in each
    // file.
    let layout = Layout::parse("< N : u1  a = u1[N]  M : u1 @400  b = u1[M]  x = u1[2]").unwrap();
    let mut files = Vec::new();
    for (number, (n, m)) in [(3, 4), (3, 4), (3, 7), (5, 7), (3, 4)].into_iter().enumerate() {
        let mut bytes = vec![0; 450];
        (bytes[0], bytes[400]) = (n, m);
        let x = 401 + usize::from(m);
        bytes[x..x + 2].copy_from_slice(&[n, m]);
        files.push(folder.path().join(number.to_string()));
        std::fs::write(&files[number], bytes).unwrap();
    }
    let family = Family::new(layout, &files);
    let read = || family.get("/x").unwrap().read::<u8>();
    assert_eq!(read().unwrap(), [3, 4, 3, 4, 3, 7, 5, 7, 3, 4]);

    // A truncated file must not be treated like the previous file, which has the same counts.
    std::fs::write(&files[1], [&[3; 400][..], &[4; 4]].concat()).unwrap();
    let error = read().unwrap_err().to_string();
    assert!(error.contains("but the file ends at byte 404"), "{error}");
}

#[test]
fn a_file_of_a_family_that_contradicts_its_summary_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let (template, files, path) = files(folder.path(), &[(2, 2); 3]);
    let summary = Summaries::open(&template, path).unwrap();
    let family = template.family(files.clone(), &summary).unwrap();
    let r = family.get("/r").unwrap();
    let whole = std::fs::read(&files[1]).unwrap();
    let old = r.read::<f64>().unwrap();
    let rejected = |bytes: &[u8]| {
        std::fs::write(&files[1], bytes).unwrap();
        let error = r.read::<f64>().unwrap_err().to_string();
        assert!(error.contains("run_001.bd"), "{error}");
        let one = r.slice(&slices("1, 0, 0")).unwrap().read::<f64>().unwrap_err().to_string();
        assert!(one.contains("run_001.bd"), "{one}");
        error
    };
    let with_layout = |text: &str| {
        let mut bytes = whole.clone();
        let address = bytes.len() as u64;
        bytes[8..16].copy_from_slice(&address.to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    let mut big = whole.clone();
    big[1] = b'>';
    assert!(rejected(&big).contains("expected the byte order `<`, found `>`"));
    let mut foreign = whole.clone();
    foreign[0] = 0;
    assert!(rejected(&foreign).contains("it has no signature"));
    let longer = [&whole[..], &[0; 8]].concat();
    assert!(rejected(&longer).contains("but the summary says"));
    assert!(rejected(&whole[..whole.len() - 1]).contains("but the summary says"));
    let other = TEMPLATE.replace("r = f8[IMAX, JMAX]", "r = i8[IMAX, JMAX]");
    let message = rejected(&with_layout(&other));
    assert!(message.contains("~ /r: type <i8 -> <f8"), "{message}");

    let same = TEMPLATE.replace("r = f8", "## The same.\nr = f8");
    for bytes in [with_layout(TEMPLATE), with_layout(&same), whole.clone()] {
        std::fs::write(&files[1], bytes).unwrap();
        assert_eq!(r.read::<f64>().unwrap(), old);
    }
}

#[test]
fn a_native_file_in_a_family_of_foreign_files_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let template = Template::parse("< { N : i4 } x = i4[N]").unwrap();
    let files = [folder.path().join("0"), folder.path().join("1")];
    let summary = [2_i64.to_le_bytes().to_vec(), 6_i32.to_le_bytes().repeat(2)].concat();
    let summary = Summaries::from_source(&template, summary).unwrap();
    let family = template.family(files.clone(), &summary).unwrap();
    let plain = [6, 1, 2, 3, 4, 5, 6].map(i32::to_le_bytes).concat();
    std::fs::write(&files[0], &plain).unwrap();
    std::fs::write(&files[1], [&plain[..], b"more"].concat()).unwrap();
    let x = family.get("/x").unwrap();
    assert_eq!(x.read::<i32>().unwrap(), [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]);
    let native = [b"\x8d<BD\r\n\x1a\n\0\0\0\0\0\0\0\0", &plain[..]].concat();
    std::fs::write(&files[1], native).unwrap();
    let error = x.read::<i32>().unwrap_err().to_string();
    assert!(error.contains("expected a file without a signature"), "{error}");
}
