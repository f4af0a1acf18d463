//! Array data in external files, and the policies that decide which files may be opened.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::thread;
use std::time::Duration;

use asdf::ndarray::ArrayError;
use asdf::tree::ReferenceError;
use asdf::{Asdf, ErrorKind, External, NdArray, OpenOptions, Result};
use binio::Bytes;
use tempfile::TempDir;

use super::{bytes_of, node};

/// Creates a folder with the file `main.asdf`. The array `/a` in this file refers to the external
/// file `name`.
fn folder(name: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    write_main(folder.path(), name);
    folder
}

fn write_main(folder: &Path, name: &str) {
    let keys = format!("source: '{name}', datatype: uint8, byteorder: big, shape: [2]");
    let bytes = bytes_of(&format!("a: !core/ndarray-1.1.0 {{{keys}}}"), &[&[8, 9]]);
    fs::write(folder.join("main.asdf"), bytes).unwrap();
}

/// Returns the bytes of a file with one block and no tree.
fn exploded(data: &[u8]) -> Vec<u8> {
    let mut bytes = b"#ASDF 1.0.0\n".to_vec();
    bytes.extend(super::block(*b"\0\0\0\0", data, data.len()));
    bytes
}

fn read(folder: &Path, external: External) -> Result<Vec<u8>> {
    let file = OpenOptions::new().external(external).open(folder.join("main.asdf"))?;
    node(&file, "/a").ndarray().and_then(|array: NdArray<'_>| array.read::<u8>())
}

/// Returns the error from reading the array in the external file.
fn rejected(folder: &Path, external: External) -> ReferenceError {
    let error = read(folder, external).unwrap_err();
    let ErrorKind::Array { kind: ArrayError::Data(inner), .. } = error.kind() else {
        panic!("{error}")
    };
    match inner.kind() {
        ErrorKind::Reference { kind, .. } => kind.clone(),
        other => panic!("{other}"),
    }
}

fn is_forbidden(folder: &Path, external: External) -> bool {
    matches!(rejected(folder, external), ReferenceError::Forbidden(_))
}

#[test]
fn an_array_is_read_from_the_first_block_of_a_file_in_the_same_folder() {
    for name in ["data0000.asdf", "data%30000.asdf", "data0000.asdf#/x", "./data0000.asdf"] {
        let folder = folder(name);
        fs::write(folder.path().join("data0000.asdf"), exploded(&[1, 2])).unwrap();
        assert_eq!(read(folder.path(), External::SameDir).unwrap(), [1, 2], "{name}");
    }
}

#[test]
fn an_array_is_read_from_an_external_file_in_a_subfolder() {
    let folder = folder("sub/x.asdf");
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/x.asdf"), exploded(&[1, 2])).unwrap();
    assert_eq!(read(folder.path(), External::SameDir).unwrap(), [1, 2]);
}

#[test]
fn the_json_of_a_node_in_an_external_file_uses_the_files_that_are_already_open() {
    let keys = "source: x, datatype: uint8, byteorder: big, shape: ['*']";
    let external = bytes_of(&format!("a: !core/ndarray-1.1.0 {{{keys}}}"), &[]);
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let resolver = External::Resolver(Arc::new(move |uri: &str| {
        count.fetch_add(1, Ordering::Relaxed);
        let bytes = if uri == "x" { exploded(&[5, 6]) } else { external.clone() };
        Ok(Arc::new(Bytes::from(bytes)))
    }));
    let main = bytes_of("b: {$ref: 'external#/a'}", &[]);
    let file = OpenOptions::new().external(resolver).from_bytes(main).unwrap();
    let array = node(&file, "/b").resolve().unwrap();
    assert_eq!(array.ndarray().unwrap().read::<u8>().unwrap(), [5, 6]);
    let mut json = Vec::new();
    array.write_json(&mut json, &asdf::tree::json::Options::new()).unwrap();
    let json = String::from_utf8(json).unwrap();
    assert!(json.contains(r#""shape":[2]"#), "{json}");
    assert_eq!(opened.load(Ordering::Relaxed), 2);
}

#[test]
fn an_empty_uri_as_a_source_refers_to_the_file_itself() {
    for name in ["", "#", "main.asdf", "#/x"] {
        let folder = folder(name);
        let file = Asdf::open(folder.path().join("main.asdf")).unwrap();
        let array = node(&file, "/a").ndarray().unwrap();
        assert_eq!(array.read::<u8>().unwrap(), [8, 9], "{name}");
    }
}

#[test]
fn a_quoted_number_as_a_source_refers_to_a_file_with_that_name() {
    let folder = folder("0");
    let why = rejected(folder.path(), External::SameDir);
    assert!(matches!(why, ReferenceError::NotFound(_)), "{why}");
}

#[test]
fn a_uri_that_leads_out_of_the_folder_is_forbidden_unless_the_policy_allows_any_file() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("x.asdf"), exploded(&[1, 2])).unwrap();
    let absolute = outside.path().join("x.asdf").display().to_string();
    for name in [
        "../x.asdf",
        "sub/../../x.asdf",
        "%2e%2e/x.asdf",
        &absolute,
        &format!("file://{absolute}"),
        "http://localhost/x.asdf",
        "/dev/zero",
    ] {
        assert!(is_forbidden(folder(name).path(), External::SameDir), "{name}");
    }
    assert_eq!(read(folder(&absolute).path(), External::Any).unwrap(), [1, 2]);
    assert_eq!(read(folder(&format!("file://{absolute}")).path(), External::Any).unwrap(), [1, 2]);
}

#[test]
fn the_deny_policy_forbids_all_external_files_and_the_root_policy_those_outside_its_folder() {
    let folder = folder("x.asdf");
    fs::write(folder.path().join("x.asdf"), exploded(&[1, 2])).unwrap();
    let elsewhere = TempDir::new().unwrap();
    assert!(is_forbidden(folder.path(), External::Deny));
    assert!(is_forbidden(folder.path(), External::Root(elsewhere.path().into())));
    assert_eq!(read(folder.path(), External::Root(folder.path().into())).unwrap(), [1, 2]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_resolved_before_the_policy_is_applied() {
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("x.asdf"), exploded(&[1, 2])).unwrap();
    let folder = folder("link.asdf");
    let link = folder.path().join("link.asdf");
    std::os::unix::fs::symlink(outside.path().join("x.asdf"), &link).unwrap();
    assert!(is_forbidden(folder.path(), External::SameDir));
    fs::remove_file(&link).unwrap();
    fs::write(folder.path().join("x.asdf"), exploded(&[3, 4])).unwrap();
    std::os::unix::fs::symlink("x.asdf", &link).unwrap();
    assert_eq!(read(folder.path(), External::SameDir).unwrap(), [3, 4]);
}

#[cfg(unix)]
#[test]
fn an_external_path_that_is_not_a_regular_file_is_forbidden() {
    assert!(is_forbidden(folder("/dev/zero").path(), External::Any));
    let folder = folder("folder");
    fs::create_dir(folder.path().join("folder")).unwrap();
    assert!(is_forbidden(folder.path(), External::SameDir));
}

#[test]
fn a_relative_source_in_a_file_not_opened_from_a_path_needs_a_resolver() {
    let keys = "source: any.asdf#x, datatype: uint8, byteorder: big, shape: [2]";
    let bytes = bytes_of(&format!("a: !core/ndarray-1.1.0 {{{keys}}}"), &[]);
    let file = Asdf::from_bytes(bytes.clone()).unwrap();
    assert!(super::rejection(&file).contains("not opened from a path"));
    let resolver = External::Resolver(Arc::new(|uri: &str| {
        assert_eq!(uri, "any.asdf");
        Ok(Arc::new(Bytes::from(exploded(&[5, 6]))))
    }));
    let file = OpenOptions::new().external(resolver).from_bytes(bytes).unwrap();
    assert_eq!(super::array(&file, "/a").read::<u8>().unwrap(), [5, 6]);
}

#[test]
fn a_resolver_can_read_another_external_array_of_the_same_file() {
    let keys = "datatype: uint8, byteorder: big, shape: [2]";
    let tree = ["a", "b"]
        .map(|name| format!("{name}: !core/ndarray-1.1.0 {{source: {name}.asdf, {keys}}}\n"));
    let handle: Arc<OnceLock<Weak<Asdf>>> = Arc::default();
    let main = Arc::clone(&handle);
    let resolver = External::Resolver(Arc::new(move |uri: &str| {
        let mut data = vec![5, 6];
        if uri == "a.asdf" {
            let file = main.get().and_then(Weak::upgrade).unwrap();
            data = super::array(&file, "/b").read::<u8>()?;
            data.reverse();
        }
        Ok(Arc::new(Bytes::from(exploded(&data))))
    }));
    let options = OpenOptions::new().external(resolver);
    let file = Arc::new(options.from_bytes(bytes_of(&tree.concat(), &[])).unwrap());
    handle.set(Arc::downgrade(&file)).unwrap();
    // Read on another thread, so that a deadlock fails the test.
    let (sender, result) = mpsc::channel();
    thread::spawn(move || sender.send(super::array(&file, "/a").read::<u8>().unwrap()));
    assert_eq!(result.recv_timeout(Duration::from_secs(60)), Ok(vec![6, 5]));
}

#[test]
fn opening_more_external_files_than_the_limit_allows_fails() {
    let folder = TempDir::new().unwrap();
    let mut tree = String::new();
    for i in 0..65 {
        let keys = format!("source: x{i}.asdf, datatype: uint8, byteorder: big, shape: [1]");
        tree += &format!("a{i}: !core/ndarray-1.1.0 {{{keys}}}\n");
        fs::write(folder.path().join(format!("x{i}.asdf")), exploded(&[1])).unwrap();
    }
    fs::write(folder.path().join("main.asdf"), bytes_of(&tree, &[])).unwrap();
    let file = OpenOptions::new().max_files(64).open(folder.path().join("main.asdf")).unwrap();
    for i in 0..64 {
        super::array(&file, &format!("/a{i}"));
    }
    assert!(node(&file, "/a64").ndarray().unwrap_err().to_string().contains("external files"));
    super::array(&file, "/a3");
}
