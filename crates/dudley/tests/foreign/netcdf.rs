//! Testing netCDF-3 files, which are built by hand from the description of the format.

use dudley::import::{from_file, from_netcdf};
use dudley::{ErrorKind, File, Layout};
use proptest::prelude::*;

use crate::files::{open, whole};

const DIMENSION: u32 = 10;
const VARIABLE: u32 = 11;
const ATTRIBUTE: u32 = 12;

/// A builder for netCDF files of a given format version. Its methods append the fields in file
/// order.
#[derive(Clone)]
struct Cdf {
    version: u8,
    bytes: Vec<u8>,
}

impl Cdf {
    fn new(version: u8, numrecs: u64) -> Self {
        let cdf = Self { version, bytes: vec![b'C', b'D', b'F', version] };
        cdf.size(numrecs)
    }

    fn int(mut self, number: u32) -> Self {
        self.bytes.extend(number.to_be_bytes());
        self
    }

    fn size(mut self, number: u64) -> Self {
        if self.version == 5 {
            self.bytes.extend(number.to_be_bytes());
            return self;
        }
        self.int(u32::try_from(number).unwrap())
    }

    fn offset(mut self, number: u64) -> Self {
        if self.version == 1 {
            return self.int(u32::try_from(number).unwrap());
        }
        self.bytes.extend(number.to_be_bytes());
        self
    }

    fn padded(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    fn name(self, name: &str) -> Self {
        self.size(name.len() as u64).padded(name.as_bytes())
    }

    fn list(self, tag: u32, count: u64) -> Self {
        self.int(if count == 0 { 0 } else { tag }).size(count)
    }

    fn dims(self, dims: &[(&str, u64)]) -> Self {
        let cdf = self.list(DIMENSION, dims.len() as u64);
        dims.iter().fold(cdf, |cdf, (name, len)| cdf.name(name).size(*len))
    }

    /// Adds an attribute with `count` values of a type.
    fn attribute(self, name: &str, datatype: u32, count: u64, values: &[u8]) -> Self {
        self.name(name).int(datatype).size(count).padded(values)
    }

    /// Adds a variable without attributes. Its stated size is 2^32-1, which means that the size
    /// does not fit in the field.
    fn variable(self, name: &str, dims: &[u64], datatype: u32, begin: u64) -> Self {
        let cdf = self.name(name).size(dims.len() as u64);
        let cdf = dims.iter().fold(cdf, |cdf, &dim| cdf.size(dim));
        cdf.list(ATTRIBUTE, 0).int(datatype).size(0xffff_ffff).offset(begin)
    }

    /// Pads the header up to an address, appends the data, and returns the file.
    fn data(mut self, address: usize, data: &[u8]) -> Vec<u8> {
        assert!(self.bytes.len() <= address);
        self.bytes.resize(address, 0);
        self.bytes.extend(data);
        self.bytes
    }
}

/// Returns a file with the variable `fixed`, followed by two records. Each record contains `time`
/// (f8) and `t` (three i2: 6 bytes, padded to 8).
fn two_in_records(version: u8, numrecs: u64) -> Vec<u8> {
    let mut data = vec![1, 2, 0, 0];
    for record in 0..2_u8 {
        data.extend(f64::from(record).to_be_bytes());
        data.extend([0, record, 0, record + 10, 0, record + 20, 9, 9]);
    }
    Cdf::new(version, numrecs)
        .dims(&[("time", 0), ("x", 3), ("two", 2)])
        .list(ATTRIBUTE, 0)
        .list(VARIABLE, 3)
        .variable("fixed", &[2], 1, 400)
        .variable("time", &[0], 6, 404)
        .variable("t", &[0, 1], 3, 412)
        .data(400, &data)
}

fn check_two(file: &File, records: usize) {
    assert_eq!(file.get("/fixed").unwrap().read::<i8>().unwrap(), [1, 2]);
    let times = [0.0, 1.0];
    assert_eq!(file.get("/time").unwrap().read::<f64>().unwrap(), times[..records]);
    let t = file.get("/t").unwrap();
    assert_eq!(t.shape(), [records as u64, 3]);
    assert_eq!(t.read::<i16>().unwrap(), [0, 10, 20, 1, 11, 21][..3 * records]);
}

#[test]
fn files_of_all_three_netcdf_versions_can_be_read_through_their_layouts() {
    for version in [1, 2, 5] {
        let bytes = two_in_records(version, 2);
        let layout = whole(&bytes);
        let integer = if version == 5 { "i8" } else { "i4" };
        assert_eq!(
            layout,
            format!(
                ">\nfixed = i1[2] @400  #: dims=[\"two\"]\nnumrecs : {integer} @4\n\"\" = {{ %4\n  \
                 time = f8 @0  #: dims=[\"time\"]\n  t = i2[3] @8  #: dims=[\"time\", \"x\"]\n}}[numrecs] @404\n"
            )
        );
        check_two(&open(&layout, &bytes), 2);
    }
}

#[test]
fn the_number_of_records_is_a_parameter_stored_in_the_file() {
    for version in [1, 5] {
        let layout = whole(&two_in_records(version, 2));
        for records in [0, 1, 2] {
            check_two(&open(&layout, &two_in_records(version, records as u64)), records);
        }
    }
}

#[test]
fn the_file_size_determines_the_number_of_records_in_a_file_written_as_a_stream() {
    for (version, streaming) in [(1, u32::MAX.into()), (2, u32::MAX.into()), (5, u64::MAX)] {
        let bytes = two_in_records(version, streaming);
        let layout = whole(&bytes);
        assert!(layout.contains("numrecs : 2"), "{layout}");
        check_two(&open(&layout, &bytes), 2);
    }
}

#[test]
fn the_only_record_variable_is_not_padded() {
    let bytes = Cdf::new(1, 3)
        .dims(&[("time", 0), ("x", 3)])
        .list(ATTRIBUTE, 0)
        .list(VARIABLE, 1)
        .variable("b", &[0, 1], 1, 200)
        .data(200, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let layout = whole(&bytes);
    assert!(layout.contains("\"\" = { %1\n"), "{layout}");
    let b = open(&layout, &bytes).get("/b").unwrap();
    assert_eq!((b.shape(), b.strides()), (&[3, 3][..], &[3, 1][..]));
    assert_eq!(b.read::<i8>().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn the_padding_of_the_last_record_may_be_missing() {
    let mut bytes = two_in_records(1, 2);
    bytes.truncate(bytes.len() - 2);
    whole(&bytes);
    bytes.pop();
    let imported = from_netcdf(&bytes).unwrap();
    assert!(matches!(imported.errors[0].kind(), ErrorKind::PastEnd { .. }));
}

#[test]
fn every_netcdf_type_is_mapped_to_a_primitive_type() {
    let names = ["i1", "S1[1]", "i2", "i4", "f4", "f8", "u1", "u2", "u4", "i8", "u8"];
    let mut cdf = Cdf::new(5, 0).list(DIMENSION, 0).list(ATTRIBUTE, 0).list(VARIABLE, 11);
    for number in 1..=11 {
        cdf = cdf.variable(&format!("v{number}"), &[], number, 1000 + 8 * u64::from(number));
    }
    let layout = whole(&cdf.data(1008, &[0; 88]));
    for (number, name) in (1..).zip(names) {
        let line = format!("v{number} = {name} @{}\n", 1000 + 8 * number);
        assert!(layout.contains(&line), "{layout}");
    }
}

#[test]
fn attributes_of_a_file_and_its_variables_are_kept() {
    let bytes = Cdf::new(1, 0)
        .list(DIMENSION, 0)
        .list(ATTRIBUTE, 2)
        .attribute("title", 2, 9, b"A \"model\"")
        .attribute("levels", 4, 2, &[0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff])
        .list(VARIABLE, 1)
        .name("t")
        .size(0)
        .list(ATTRIBUTE, 4)
        .attribute("units", 2, 2, b"K\0")
        .attribute("scale factor", 5, 1, &0.1_f32.to_be_bytes())
        .attribute("_FillValue", 6, 1, &f64::NAN.to_be_bytes())
        .attribute("flag", 1, 1, &[0xfe])
        .int(6)
        .size(8)
        .offset(400)
        .data(400, &1.5_f64.to_be_bytes());
    let layout = Layout::parse(whole(&bytes)).unwrap();
    let shown = |subject| {
        let list = layout.attributes(subject).map(|one| format!("{}={:?}", one.name, one.value));
        list.collect::<Vec<_>>()
    };
    assert_eq!(
        shown(dudley::ItemId::ROOT.into()),
        ["title=Text(\"A \\\"model\\\"\")", "levels=Integers([5, -1])"]
    );
    let t = layout.child(dudley::ItemId::ROOT, "t").unwrap();
    assert_eq!(
        shown(t.into()),
        [
            "units=Text(\"K\")",
            "scale factor=Float(0.1)",
            "_FillValue=Text(\"NaN\")",
            "flag=Integer(-2)"
        ]
    );
}

#[test]
fn the_parameter_numrecs_is_renamed_if_a_variable_has_this_name() {
    let bytes = Cdf::new(1, 1)
        .dims(&[("time", 0)])
        .list(ATTRIBUTE, 0)
        .list(VARIABLE, 1)
        .variable("numrecs", &[0], 4, 200)
        .data(200, &[0, 0, 0, 7]);
    let layout = whole(&bytes);
    assert!(layout.contains("numrecs_ : i4 @4"), "{layout}");
    assert_eq!(open(&layout, &bytes).get("/numrecs").unwrap().read::<i32>().unwrap(), [7]);
}

#[test]
fn invalid_headers_are_rejected_with_the_reason() {
    let head = || Cdf::new(1, 0).dims(&[("time", 0), ("x", 3)]).list(ATTRIBUTE, 0);
    for (bytes, message) in [
        (b"CDF\x03".to_vec(), "expected \"CDF\" and the version 1, 2 or 5 (offset 0)"),
        (
            b"CDF\x01\0\0".to_vec(),
            "a field of the header needs 4 bytes, but only 2 are left in the file (offset 4)",
        ),
        (
            Cdf::new(1, 0).int(7).int(1).bytes,
            "expected the tag 10 or 0 before the dimensions, found 7 (offset 8)",
        ),
        (
            Cdf::new(1, 0).dims(&[("a", 0), ("b", 0)]).bytes,
            "expected at most one record dimension, found two (offset 36)",
        ),
        (
            head().list(VARIABLE, 1).variable("v", &[1, 0], 4, 0).bytes,
            "the record dimension of \"v\" is not its first",
        ),
        (
            head().list(VARIABLE, 1).variable("v", &[2], 4, 0).bytes,
            "\"v\" refers to dimension 2, counted from 0, but the file has only 2 dimensions",
        ),
        (
            head().list(VARIABLE, 1).variable("v", &[1], 12, 0).bytes,
            "expected a type number from 1 to 11, found 12",
        ),
        (
            head().list(VARIABLE, 2).variable("v", &[1], 4, 0).variable("v", &[1], 4, 0).bytes,
            "the name \"v\" occurs twice",
        ),
        (
            head().list(VARIABLE, 2).variable("v", &[0], 4, 0).variable("w", &[0], 4, 100).bytes,
            "too far apart to fit into one record",
        ),
        (Cdf::new(1, 0).int(DIMENSION).int(u32::MAX).bytes, "a field of the header needs 4 bytes"),
        (
            Cdf::new(1, 0).int(DIMENSION).int(1).int(5000).bytes,
            "a name has 5000 bytes, expected at most 256",
        ),
    ] {
        let error = from_netcdf(&bytes).unwrap_err();
        assert!(error.is_bad_data() && error.to_string().contains(message), "{error}\n{message}");
    }
}

#[test]
fn a_header_that_extends_beyond_the_first_read_is_parsed_completely() {
    let note = "n".repeat(200_001);
    let bytes = Cdf::new(1, 0)
        .dims(&[("x", 2)])
        .list(ATTRIBUTE, 1)
        .attribute("note", 2, note.len() as u64, note.as_bytes())
        .list(VARIABLE, 1)
        .variable("v", &[0], 3, 210_000)
        .data(210_000, &[0, 1, 0, 2]);
    let layout = whole(&bytes);
    assert_eq!(open(&layout, &bytes).get("v").unwrap().read::<i16>().unwrap(), [1, 2]);
    assert!(layout.contains(&note));
}

#[test]
fn truncated_and_oversized_variables_are_reported() {
    let bytes = Cdf::new(5, 0)
        .dims(&[("x", 1 << 40), ("y", 1 << 40)])
        .list(ATTRIBUTE, 0)
        .list(VARIABLE, 2)
        .variable("cut", &[0], 1, 200)
        .variable("huge", &[0, 1], 4, 200)
        .bytes;
    let imported = from_file("x", bytes.clone()).unwrap();
    let kinds: Vec<_> = imported.errors.iter().map(|error| error.kind().clone()).collect();
    assert!(matches!(&kinds[0], ErrorKind::PastEnd { path, .. } if path == "/cut"));
    assert!(matches!(&kinds[1], ErrorKind::NoLayoutFor { path, .. } if path == "/huge"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_or_truncated_files_do_not_cause_a_panic(
        version in prop::sample::select(vec![1_u8, 2, 5]),
        numrecs in prop::sample::select(vec![0_u64, 2, u64::from(u32::MAX)]),
        changes in prop::collection::vec((0_usize..420, any::<u8>()), 0..6),
        len in 4_usize..440,
    ) {
        let mut bytes = two_in_records(version, numrecs);
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        bytes.truncate(len);
        if let Ok(imported) = from_netcdf(&bytes) {
            let layout = Layout::parse(imported.layout).unwrap();
            let _ = File::from_bytes(bytes, layout).map(|file| file.get("/t").map(|t| t.read::<i16>()));
        }
    }
}
