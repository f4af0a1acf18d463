//! Tests of `scibin dudley import`, `from-numpy` and `codegen`.

use std::process::Command;

use crate::program::{Folder, npy_header, status, stderr, stdout};

#[test]
fn importing_an_npy_file_names_the_array_after_the_file() {
    let folder = Folder::new();
    folder.write("rho.npy", [npy_header("<i2", &[3]), vec![1, 0, 2, 0, 3, 0]].concat());
    let output = folder.run(&["dudley", "import", "rho.npy"]);
    assert_eq!((status(&output), stdout(&output).as_str()), (0, "rho = <i2[3] @128\n"));

    let output = folder.run(&["dudley", "import", "rho.npy", "-o", "rho.dud"]);
    assert_eq!(stdout(&output), "rho.dud: 18 bytes\n");
    let get = ["dudley", "get", "rho.npy", "/rho", "--layout", "rho.dud"];
    assert_eq!(stdout(&folder.run(&get)).split_whitespace().count(), 3);
    let again = ["dudley", "import", "rho.npy", "-o", "rho.dud"];
    assert_eq!(status(&folder.run(&again)), 2);
    assert_eq!(status(&folder.run(&[&again[..], &["--force"]].concat())), 0);
}

#[test]
fn import_and_from_numpy_report_truncated_data() {
    let folder = Folder::new();
    folder.write("cut.npy", [npy_header("<f8", &[2]), vec![0; 15]].concat());
    for command in ["import", "from-numpy"] {
        let output = folder.run(&["dudley", command, "cut.npy"]);
        assert_eq!((status(&output), stdout(&output).as_str()), (1, "cut = <f8[2] @128\n"));
        assert_eq!(
            stderr(&output),
            "scibin: cut.npy: `/cut` is at bytes 128 to 144, but the file ends at byte 143\n"
        );
    }
}

#[test]
fn import_reports_unknown_formats() {
    let folder = Folder::new();
    folder.write("a.txt", "text");
    let output = folder.run(&["dudley", "import", "a.txt", "-o", "a.dud"]);
    assert_eq!(status(&output), 1);
    assert!(
        stderr(&output).starts_with("scibin: a.txt: cannot be imported as .npy"),
        "{}",
        stderr(&output)
    );
    assert_eq!(folder.names(), ["a.txt"]);
    assert_eq!(status(&folder.run(&["dudley", "import", "missing.npy"])), 2);
    assert_eq!(status(&folder.run(&["dudley", "import", "a.txt", "--json"])), 2);
}

/// Returns a zip archive with a single member, which is stored or deflated.
fn archive(name: &str, bytes: &[u8], method: u16) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).unwrap().to_le_bytes();
    let len = u16::try_from(name.len()).unwrap().to_le_bytes();
    let common =
        [&[0x14, 0, 0, 0][..], &method.to_le_bytes(), &[0; 8], &size, &size, &len, &[0, 0]]
            .concat();
    let mut out = [b"PK\x03\x04", &common[..], name.as_bytes(), bytes].concat();
    let start = u32::try_from(out.len()).unwrap();
    let entry = [b"PK\x01\x02\x14\0", &common[..], &[0; 14], name.as_bytes()].concat();
    out.extend(&entry);
    out.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    out.extend(u32::try_from(entry.len()).unwrap().to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    out
}

#[test]
fn import_describes_stored_members_and_rejects_deflated_ones() {
    let folder = Folder::new();
    let array = [npy_header("<i2", &[1]), vec![7, 0]].concat();
    folder.write("a.npz", archive("x.npy", &array, 0));
    let output = folder.run(&["dudley", "import", "a.npz", "-o", "a.dud"]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let output = folder.run(&["dudley", "get", "a.npz", "/x", "--layout", "a.dud"]);
    assert_eq!(stdout(&output).trim(), "7");
    folder.write("b.npz", archive("x.npy", &array, 8));
    let output = folder.run(&["dudley", "import", "b.npz", "-o", "b.dud"]);
    assert_eq!(status(&output), 2);
    assert!(
        stderr(&output).contains("`/x` cannot be described by a layout: it is deflated"),
        "{}",
        stderr(&output)
    );
    assert!(!folder.names().contains(&"b.dud".to_owned()));
}

#[test]
fn an_imported_netcdf_layout_also_fits_files_with_a_different_number_of_records() {
    let folder = Folder::new();
    let file = |records: u8| {
        let words: &[&[u8]] = &[
            b"CDF\x01",
            &[0, 0, 0, records],
            b"\0\0\0\x0a\0\0\0\x01\0\0\0\x04time\0\0\0\0",
            &[0; 8],
            b"\0\0\0\x0b\0\0\0\x01\0\0\0\x01t\0\0\0\0\0\0\x01\0\0\0\0",
            &[0; 8],
            b"\0\0\0\x03\0\0\0\x04\0\0\0\x80",
        ];
        let mut bytes = words.concat();
        bytes.resize(128, 0);
        bytes.extend((0..records).flat_map(|record| [0, record]));
        bytes
    };
    folder.write("a.nc", file(2));
    assert_eq!(status(&folder.run(&["dudley", "import", "a.nc", "-o", "a.dud"])), 0);
    let layout = String::from_utf8(folder.read("a.dud")).unwrap();
    assert!(layout.contains("numrecs : i4 @4"), "{layout}");
    folder.write("a.nc", file(5));
    let output = folder.run(&["dudley", "get", "a.nc", "/t", "--layout", "a.dud", "--as", "json"]);
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["values"], serde_json::json!([0, 1, 2, 3, 4]));
}

#[test]
fn an_empty_file_cannot_be_imported() {
    let folder = Folder::new();
    folder.write("a.npy", "");
    let output = folder.run(&["dudley", "import", "a.npy"]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("HDF5: the file is empty"), "{}", stderr(&output));
}

#[test]
fn codegen_prints_functions_in_each_language() {
    let folder = Folder::new();
    folder.write("run.dud", "N : i8  grid/ x = f8[N+]  v = { a = i1  b = f4 }[2]\n");
    for (language, begin) in [("c", "uint64_t "), ("rust", "pub fn "), ("python", "def ")] {
        let output = folder.run(&["dudley", "codegen", "run.dud", "--lang", language]);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        for name in ["offset_N", "offset_grid_x", "nbytes_grid_x", "offset_grid_v_b"] {
            let text = stdout(&output);
            assert!(text.contains(&format!("{begin}{name}(")), "{name}: {text}");
        }
    }
    let native = ["dudley", "codegen", "run.dud", "--lang", "python", "--native", "-o", "run.py"];
    assert_eq!(status(&folder.run(&native)), 0);
    assert_eq!(status(&folder.run(&native)), 2);
    assert_eq!(status(&folder.run(&[&native[..], &["--force"]].concat())), 0);
    let code =
        "import run; print(run.offset_grid_x(3), run.nbytes_grid_x(N=3), run.offset_grid_v_b(3))";
    let mut python = Command::new("python3");
    if let Ok(output) = python.args(["-B", "-c", code]).current_dir(folder.path("")).output() {
        assert_eq!(stdout(&output), "24 32 60\n", "{}", stderr(&output));
    }
    folder.write("bad.dud", "x = f9\n");
    let bad = ["dudley", "codegen", "bad.dud", "--lang", "c"];
    assert_eq!(status(&folder.run(&bad)), 1);
    assert_eq!(status(&folder.run(&["dudley", "codegen", "run.dud"])), 2);
    assert_eq!(status(&folder.run(&["dudley", "codegen", "run.dud", "--lang", "c", "--json"])), 2);
}
