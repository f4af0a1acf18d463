//! Tests of writing arrays in different forms.

use serde_json::Value;

use crate::program::{Folder, json_of, npy_header, status, stdout};

/// Returns a folder with `x.blp`, an array with two rows and three columns.
fn packed() -> Folder {
    let folder = Folder::new();
    let mut npy = npy_header("<i2", &[2, 3]);
    npy.extend((0..6_i16).flat_map(i16::to_le_bytes));
    folder.write("x.npy", npy);
    folder.done(&["bloscpack", "pack", "-q", "x.npy", "-o", "x.blp"]);
    folder
}

#[test]
fn the_extension_of_the_output_selects_the_form() {
    let folder = packed();
    let written = |name: &str| {
        folder.done(&["get", "x.blp", "-o", name]);
        folder.read(name)
    };
    let npy = folder.read("x.npy");
    assert_eq!(written("y.npy"), npy);
    assert_eq!(written("y.other"), npy);
    assert_eq!(written("y.csv"), b"0,1,2\n3,4,5\n");
    assert_eq!(written("y.txt"), b"0 1 2\n3 4 5\n");
    assert_eq!(written("y.raw"), npy[npy.len() - 12..]);
    let json: Value = serde_json::from_slice(&written("y.json")).unwrap();
    assert_eq!(json["values"], serde_json::json!([[0, 1, 2], [3, 4, 5]]));
}

#[test]
fn the_as_option_selects_the_form() {
    let folder = packed();
    let get = |form: &str| folder.done(&["get", "x.blp", "--slice", "1", "--as", form]);
    assert_eq!(stdout(&get("csv")), "3,4,5\n");
    assert_eq!(stdout(&get("text")), "3 4 5\n");
    assert_eq!(get("raw").stdout, [3, 0, 4, 0, 5, 0]);
    assert!(get("npy").stdout.starts_with(b"\x93NUMPY"));
    assert_eq!(json_of(&get("json"))["dtype"], "<i2");
    folder.done(&["get", "x.blp", "--as", "csv", "-o", "y.npy"]);
    assert_eq!(folder.read("y.npy"), b"0,1,2\n3,4,5\n");
    assert_eq!(status(&folder.run(&["get", "x.blp", "--as", "xml"])), 2);
}

#[test]
fn a_value_that_is_not_an_array_can_only_be_printed_as_text_or_json() {
    let folder = crate::files();
    folder.done(&["bloscpack", "pack", "-q", "good.npy", "-o", "npy.blp"]);
    for (value, text) in [
        ("good.asdf /meta/instrument", "CCD-1"),
        ("npy.blp /container", "numpy"),
        ("good.json /0/path", "f"),
    ] {
        let get = |form: &str| {
            let command = format!("get {value}{form}");
            folder.run(&command.split(' ').collect::<Vec<_>>())
        };
        assert_eq!(stdout(&get("")), format!("{text}\n"));
        assert_eq!(stdout(&get(" --as text")), format!("{text}\n"));
        for form in ["csv", "raw", "npy"] {
            let output = get(&format!(" --as {form}"));
            assert_eq!((status(&output), &*stdout(&output)), (2, ""), "{value} as {form}");
        }
        assert_eq!(json_of(&get(" --as json")), text, "{value}");
    }
}

#[test]
fn asdf_arrays_can_be_written_as_csv_or_raw_bytes() {
    let folder = Folder::new();
    let file = testdata::path("asdf/strides.asdf");
    let part = ["get", file.to_str().unwrap(), "/base", "--slice", "0:2,:3"];
    folder.done(&[&part[..], &["-o", "y.csv"]].concat());
    assert_eq!(folder.read("y.csv"), b"0,1,2\n8,9,10\n");
    let raw = folder.done(&[&part[..], &["--as", "raw"]].concat()).stdout;
    assert_eq!(raw.len(), 6 * 4);
}
