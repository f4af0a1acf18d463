//! Reading the files in `crates/testdata/dudley/foreign`, which were written by numpy, netCDF4 and
//! h5py, and comparing their values. With `SCIBIN_RECORD=1`, the layouts are recorded again.

use std::path::{Path, PathBuf};

use dudley::import::{Imported, from_file};
use dudley::{ErrorKind, File, Layout};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/dudley/foreign")
}

#[test]
fn foreign_files_read_through_their_layouts_have_the_recorded_values() {
    let expected = std::fs::read(folder().join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    for (name, values) in expected.as_object().unwrap() {
        let path = folder().join(name);
        let is_hdf5 = path.extension().is_some_and(|extension| extension == "h5");
        if is_hdf5 && cfg!(not(feature = "hdf5")) {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let item = path.file_stem().unwrap().to_str().unwrap();
        let Imported { layout, errors, .. } = from_file(item, bytes.clone()).unwrap();
        let recorded = folder().join(format!("{name}.dud"));
        if std::env::var_os("SCIBIN_RECORD").is_some() {
            std::fs::write(&recorded, &layout).unwrap();
        }
        assert_eq!(layout, std::fs::read_to_string(recorded).unwrap(), "{name}");
        let skipped: Vec<&str> = errors
            .iter()
            .map(|error| match error.kind() {
                ErrorKind::NoLayoutFor { path, .. } => path.as_str(),
                _ => panic!("{name}: {error}"),
            })
            .collect();
        let of_hdf5 = ["/packed", "/text"];
        assert_eq!(skipped, if is_hdf5 { &of_hdf5[..] } else { &[] }, "{name}");

        let file = File::from_bytes(bytes, Layout::parse(layout).unwrap()).unwrap();
        for (path, value) in values.as_object().unwrap() {
            let mut found = Vec::new();
            file.write_json(path, &mut found).unwrap_or_else(|error| panic!("{name}: {error}"));
            let found: Value = serde_json::from_slice(&found).unwrap();
            assert_eq!(&found, value, "{name} {path}");
        }
    }
}

#[cfg(feature = "hdf5")]
mod hdf5 {
    use super::*;

    #[test]
    fn data_sets_that_a_layout_cannot_describe_are_reported_with_the_reason() {
        let bytes = std::fs::read(folder().join("earliest.h5")).unwrap();
        let errors = from_file("x", bytes).unwrap().errors;
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "`/packed` cannot be described by a layout: its chunks are filtered: deflate",
                "`/text` cannot be described by a layout: its elements have variable lengths and are stored in a heap",
            ]
        );
        assert!(!errors[0].is_bad_data());
    }

    #[test]
    fn a_virtual_data_set_does_not_hide_other_data_sets() {
        let bytes = std::fs::read(folder().join("earliest.h5")).unwrap();
        let whole = from_file("x", bytes.clone()).unwrap();
        // The data layout message of a contiguous data set has version 3 and class 1.
        let contiguous = b"\x08\0\x18\0\0\0\0\0\x03\x01";
        let messages: Vec<usize> = (0..bytes.len())
            .filter(|&at| bytes[at..].starts_with(contiguous))
            .map(|at| at + 8)
            .collect();
        assert!(messages.len() > 4);
        for at in messages {
            let mut changed = bytes.clone();
            // Make the data set virtual: version 4, class 3.
            changed[at..at + 2].copy_from_slice(&[4, 3]);
            let imported = from_file("x", changed).unwrap();
            let old: Vec<String> = whole.errors.iter().map(ToString::to_string).collect();
            let mut reasons: Vec<String> =
                imported.errors.iter().map(ToString::to_string).collect();
            reasons.retain(|reason| !old.contains(reason));
            assert!(
                matches!(&reasons[..], [reason] if reason.contains("it is a virtual data set")),
                "{reasons:?}"
            );
            // Every data set must be in the layout or among the errors.
            let members = |imported: &Imported| {
                let layout = Layout::parse(&imported.layout).unwrap();
                layout.items().count() + imported.errors.len()
            };
            assert_eq!(members(&imported), members(&whole), "{}", imported.layout);
        }
    }

    /// Replaces an address wherever it occurs in a file.
    fn with_address(bytes: &[u8], address: u64, new: u64) -> Vec<u8> {
        let (address, new) = (address.to_le_bytes(), new.to_le_bytes());
        let mut changed = bytes.to_vec();
        for at in 0..bytes.len() - 7 {
            if bytes[at..].starts_with(&address) {
                changed[at..at + 8].copy_from_slice(&new);
            }
        }
        changed
    }

    #[test]
    fn a_data_set_that_ends_beyond_the_largest_offset_is_reported_but_not_declared() {
        let bytes = std::fs::read(folder().join("earliest.h5")).unwrap();
        // The first of these addresses belongs to a contiguous data set, and the second to a chunk.
        for (path, address) in [("/grid/plain", 2432), ("/tiles", 2626)] {
            let moved = with_address(&bytes, address, (1 << 63) - 8);
            let Imported { layout, errors, .. } = from_file("x", moved).unwrap();
            let reported =
                format!("`{path}` cannot be described by a layout: it ends beyond byte 2^63-1");
            assert!(errors.iter().any(|error| error.to_string() == reported), "{errors:?}");
            let layout = Layout::parse(layout).unwrap();
            assert!(layout.find(path).is_err(), "{layout}");
        }
    }

    #[test]
    fn a_second_name_for_a_group_is_reported_but_not_declared() {
        let bytes = std::fs::read(folder().join("earliest.h5")).unwrap();
        // Turn `/grid`, whose object header is at 800, into a hard link to the root group.
        let linked = with_address(&bytes, 800, 96);
        let Imported { layout, errors, .. } = from_file("x", linked).unwrap();
        let reported = "`/grid` cannot be described by a layout: it is another name for a group that has already been described";
        assert!(errors.iter().any(|error| error.to_string() == reported), "{errors:?}");
        let layout = Layout::parse(layout).unwrap();
        assert!(layout.find("/grid").is_err(), "{layout}");
    }

    #[test]
    fn a_file_with_a_user_block_can_be_read_through_its_layout() {
        let bytes = std::fs::read(folder().join("latest.h5")).unwrap();
        let moved = [vec![0; 1024], bytes.clone()].concat();
        let layout = Layout::parse(from_file("x", moved.clone()).unwrap().layout).unwrap();
        let rows = File::from_bytes(moved, layout).unwrap().get("/rows").unwrap();
        let plain = Layout::parse(from_file("x", bytes.clone()).unwrap().layout).unwrap();
        let expected = File::from_bytes(bytes, plain).unwrap().get("/rows").unwrap();
        assert_eq!(rows.read::<i32>().unwrap(), expected.read::<i32>().unwrap());
    }

    /// Damages the nonzero bytes and some zeros of each file in turn, and truncates the file at
    /// many offsets.
    #[test]
    fn damaged_files_do_not_cause_a_panic() {
        for name in ["earliest.h5", "latest.h5"] {
            let bytes = std::fs::read(folder().join(name)).unwrap();
            for at in (0..bytes.len()).filter(|&at| bytes[at] != 0 || at % 7 == 0) {
                for value in [0, 0x7f, 0xff] {
                    let mut damaged = bytes.clone();
                    damaged[at] = value;
                    if let Ok(imported) = from_file("x", damaged) {
                        Layout::parse(imported.layout).unwrap();
                    }
                }
            }
            for len in (0..bytes.len()).step_by(37) {
                if let Ok(imported) = from_file("x", bytes[..len].to_vec()) {
                    Layout::parse(imported.layout).unwrap();
                }
            }
        }
    }
}
