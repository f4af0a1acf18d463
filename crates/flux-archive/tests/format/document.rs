//! The seven examples in RFC 37. Surplus and missing commas have been corrected, as noted at each
//! affected example.

use flux_archive::{Archive, Content, Entry, FileType, Profile};

fn strict(document: &str) -> Entry<'_> {
    let archive = Archive::parse(document.as_bytes(), Profile::Strict).unwrap();
    assert_eq!(archive.diagnostics(), []);
    archive.entries()[0].clone()
}

#[test]
fn the_rfc_example_of_a_directory_is_parsed() {
    // In the RFC, there is a surplus comma after `ctime`.
    let entry =
        strict(r#"[{"path":"appdata/phase1","mode":16893,"mtime":1677604007,"ctime":1677604007}]"#);
    assert_eq!(entry.path().as_str(), "appdata/phase1");
    assert_eq!((entry.file_type(), entry.mode().permissions()), (FileType::Directory, 0o775));
    assert_eq!((entry.mtime(), entry.ctime()), (Some(1_677_604_007), Some(1_677_604_007)));
    assert!(matches!(entry.content(), Content::Directory));
}

#[test]
fn the_rfc_example_of_a_symbolic_link_is_parsed() {
    // In the RFC, there is a surplus comma after `data`.
    let entry = strict(r#"[{"path":"src","mode":41471,"data":"/users/fred/work/project"}]"#);
    assert_eq!((entry.file_type(), entry.mode().permissions()), (FileType::Symlink, 0o777));
    assert!(matches!(entry.content(), Content::Symlink(to) if to == "/users/fred/work/project"));
}

#[test]
fn the_rfc_example_of_an_empty_file_is_parsed() {
    let entry = strict(
        r#"[{"path":"data/empty","mode":33204,"size":0,"mtime":1677604909,"ctime":1677604909}]"#,
    );
    assert_eq!((entry.file_type(), entry.mode().permissions()), (FileType::Regular, 0o664));
    assert!(matches!(entry.content(), Content::Empty));
    assert_eq!((entry.size(), entry.len()), (Some(0), 0));
}

#[test]
fn the_rfc_example_of_json_content_is_parsed() {
    let entry = strict(
        r#"[{"path":"config.json","mode":33204,"data":{
      "resource":{
        "exclude":"node42"
      }
    }}]"#,
    );
    let Content::Json(json) = entry.content() else { panic!("{entry:?}") };
    let value: serde_json::Value = serde_json::from_str(json.get()).unwrap();
    assert_eq!(value["resource"]["exclude"], "node42");
    assert_eq!(entry.size(), None);
}

#[test]
fn the_rfc_example_of_text_content_is_parsed() {
    // In the RFC, there is a surplus comma after `size`.
    let entry = strict(
        r#"[{"path":"data.csv","mode":33204,"encoding":"utf-8","data":"iteration,density\n1,35435.555\n2,356655.332\n3,5454545.500\n","size":57}]"#,
    );
    let Content::Text(text) = entry.content() else { panic!("{entry:?}") };
    assert_eq!(text.decode(), "iteration,density\n1,35435.555\n2,356655.332\n3,5454545.500\n");
    assert_eq!((text.len(), entry.len()), (57, 57));
}

#[test]
fn the_rfc_example_of_literal_binary_content_is_parsed() {
    // In the RFC, the comma after `data` is missing, and there is a surplus comma after `size`.
    let entry = strict(
        r#"[{"path":"vectors.dat","mode":33204,"encoding":"base64","data":"MzU0MzUuNTU1CjIsMzU2NjU1LjMzMgozLDU0NTQ1NDUuNTAwCg==","size":37}]"#,
    );
    let Content::Base64(data) = entry.content() else { panic!("{entry:?}") };
    assert_eq!(data.decode(), b"35435.555\n2,356655.332\n3,5454545.500\n");
    assert_eq!(entry.len(), 37);
}

#[test]
fn the_rfc_example_of_referenced_binary_content_is_parsed() {
    // In the RFC, there is a surplus comma after `data`.
    let entry = strict(
        r#"[{
    "path": "kernel8.img",
    "size": 8194604,
    "mtime": 1674520056,
    "ctime": 1674520057,
    "mode": 33261,
    "encoding":"blobvec",
    "data": [
      [0, 1048576, "sha1-d4a09c5dd5a0d2d570066b6f13e465c73c3f9944"],
      [1048576, 1048576, "sha1-3eb8716208bc606a28948e2cf2fcce113e22b202"],
      [2097152, 1048576, "sha1-d7cc175e14044e9d9c02d908e4df4bcf80788bc9"],
      [3145728, 1048576, "sha1-34ce5050ff615ee4e2712a1f1e5b3d3df5ae6072"],
      [4194304, 1048576, "sha1-d79525827b6f326ac3d731764ee2d088bc2e5fec"],
      [5242880, 1048576, "sha1-ae1c6b3cb8eba86241fc4a761ee393dd22b833a7"],
      [6291456, 1048576, "sha1-289585f4d0c26db7ae98ecb36c04393ff32cabeb"],
      [7340032, 854572, "sha1-649d3449aa52ac46e19dc894360409d6abbeb882"]
    ]
  }]"#,
    );
    let Content::Blobvec(regions) = entry.content() else { panic!("{entry:?}") };
    assert_eq!(regions.len(), 8);
    assert_eq!((regions[7].offset, regions[7].end()), (7_340_032, 8_194_604));
    assert_eq!(regions[7].blobref.to_string(), "sha1-649d3449aa52ac46e19dc894360409d6abbeb882");
    assert_eq!(entry.len(), 8_194_604);
}
