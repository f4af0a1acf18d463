//! Testing `.npy` and `.npz` files, and files in unknown formats.

use std::sync::atomic::{AtomicU64, Ordering};

use binio::ReadAt;
use binio::source::FailingSource;
use dudley::array::npy::Header;
use dudley::array::{Datatype, Order};
use dudley::import::{Imported, from_file, from_npz};
use dudley::{ErrorKind, File, Layout};

use crate::zip::{Member, archive, archive_64};

pub(crate) fn npy(datatype: &str, order: Order, shape: &[u64], data: &[u8]) -> Vec<u8> {
    let datatype = Datatype::parse(datatype).unwrap();
    [Header::new(datatype, order, shape.to_vec()).unwrap().to_bytes(), data.to_vec()].concat()
}

/// Returns a layout for a file. Panics if the layout cannot describe all of the file's content.
pub(crate) fn whole(bytes: &[u8]) -> String {
    let Imported { layout, errors, .. } = from_file("x", bytes.to_vec()).unwrap();
    assert!(errors.is_empty(), "{errors:?}");
    layout
}

pub(crate) fn open(layout: &str, bytes: &[u8]) -> File {
    File::from_bytes(bytes.to_vec(), Layout::parse(layout).unwrap()).unwrap()
}

#[test]
fn an_npy_file_can_be_read_through_its_layout() {
    let bytes = npy("<i2", Order::C, &[2, 2], &[1, 0, 2, 0, 3, 0, 4, 0]);
    let layout = whole(&bytes);
    assert_eq!(layout, "x = <i2[2, 2] @128\n");
    assert_eq!(open(&layout, &bytes).get("x").unwrap().read::<i16>().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn fortran_order_becomes_reversed_dimensions_and_an_attribute() {
    let bytes = npy(">i2", Order::F, &[2, 3], &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
    let layout = whole(&bytes);
    assert_eq!(layout, "x = >i2[3, 2] @128  #: order=\"F\"\n");
    let array = open(&layout, &bytes).get("x").unwrap();
    assert_eq!(array.read::<i16>().unwrap(), [1, 4, 2, 5, 3, 6]);
}

#[test]
fn a_numpy_record_becomes_a_struct() {
    let bytes =
        npy("[('a', '|u1'), ('b', '<f4', (2,))]", Order::C, &[1], &[7, 0, 0, 128, 63, 0, 0, 0, 64]);
    let layout = whole(&bytes);
    let file = open(&layout, &bytes);
    assert_eq!(file.get("/x.a").unwrap().read::<u8>().unwrap(), [7], "{layout}");
    assert_eq!(file.get("/x.b").unwrap().read::<f32>().unwrap(), [1.0, 2.0]);
}

#[test]
fn truncated_data_is_reported_with_its_expected_range() {
    let bytes = npy("<f8", Order::C, &[3], &[0; 23]);
    let imported = from_file("x", bytes.clone()).unwrap();
    assert_eq!(imported.layout, "x = <f8[3] @128\n");
    let [error] = &imported.errors[..] else { panic!("{:?}", imported.errors) };
    assert!(matches!(error.kind(), ErrorKind::PastEnd { start: 128, end: 152, len: 151, .. }));
    assert!(error.is_bad_data());
    let header = &bytes[..100];
    assert!(from_file("x", header.to_vec()).unwrap_err().is_bad_data());
}

#[test]
fn arrays_in_an_npz_file_are_named_without_the_suffix_npy() {
    let a = npy("<i4", Order::C, &[2], &[1, 0, 0, 0, 2, 0, 0, 0]);
    let b = npy("|S3", Order::C, &[], b"abc");
    let members = [Member::stored("a.npy", &a), Member::stored("b c/d.npy", &b)];
    for bytes in [
        archive(&members),
        archive_64(&members),
        // Other bytes may precede an archive, as in self-extracting archives.
        [&b"#!/bin/sh\n"[..], &archive(&members)].concat(),
    ] {
        let imported = from_npz(&bytes).unwrap();
        assert!(imported.errors.is_empty());
        let file = open(&imported.layout, &bytes);
        assert_eq!(file.get("/a").unwrap().read::<i32>().unwrap(), [1, 2]);
        let mut text = Vec::new();
        file.write_json("/\"b c/d\"", &mut text).unwrap();
        assert_eq!(text, b"\"abc\"");
    }
}

#[test]
fn deflated_and_encrypted_members_are_reported_with_the_reason() {
    let a = npy("<i4", Order::C, &[1], &[1, 0, 0, 0]);
    let deflated = Member { method: 8, ..Member::stored("b.npy", &a) };
    let imported = from_npz(&archive(&[Member::stored("a.npy", &a), deflated])).unwrap();
    assert!(imported.layout.starts_with("a = <i4[1] @"), "{}", imported.layout);
    let [error] = &imported.errors[..] else { panic!("{:?}", imported.errors) };
    assert!(matches!(error.kind(), ErrorKind::NoLayoutFor { path, .. } if path == "/b"));
    assert!(!error.is_bad_data());
    assert_eq!(
        error.to_string(),
        "`/b` cannot be described by a layout: it is deflated, but a layout can describe only uncompressed members: \
         write the file with numpy.savez instead of numpy.savez_compressed"
    );
    let encrypted = Member { flags: 1, ..Member::stored("b.npy", &a) };
    let imported = from_npz(&archive(&[encrypted])).unwrap();
    assert_eq!(
        imported.errors[0].to_string(),
        "`/b` cannot be described by a layout: it is encrypted"
    );
    let text = Member::stored("readme.txt", b"no array");
    assert!(matches!(
        from_npz(&archive(&[text])).unwrap().errors[0].kind(),
        ErrorKind::NoLayoutFor { path, .. } if path == "/\"readme.txt\""
    ));
}

#[test]
fn members_that_are_shorter_than_their_array_are_reported() {
    let cut = npy("<i4", Order::C, &[4], &[1, 0, 0, 0]);
    let members = [Member::stored("a.npy", &cut), Member::stored("b.npy", &cut)];
    let imported = from_npz(&archive(&members)).unwrap();
    assert_eq!(imported.errors.len(), 2);
    assert!(imported.errors.iter().all(dudley::Error::is_bad_data));
}

#[test]
fn damaged_archives_are_rejected() {
    let a = npy("<i4", Order::C, &[1], &[1, 0, 0, 0]);
    let one = archive(&[Member::stored("a.npy", &a)]);
    for len in 0..one.len() {
        let cut = one[..len].to_vec();
        assert!(from_npz(&cut).unwrap_err().is_bad_data(), "{len}");
    }
    let twice = [Member::stored("a.npy", &a), Member::stored("a.npy", &a)];
    let error = from_npz(&archive(&twice)).unwrap_err();
    assert!(error.to_string().contains("the name \"a\" occurs twice"), "{error}");
    // Both entries of the directory refer to the same member.
    let shared =
        [Member::stored("a.npy", &a), Member { at: Some(0), ..Member::stored("b.npy", &a) }];
    let error = from_npz(&archive(&shared)).unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
}

/// A source of 2^60 zeros that counts the bytes read from it.
struct Zeros(AtomicU64);

impl ReadAt for Zeros {
    fn len(&self) -> u64 {
        1 << 60
    }

    fn read_exact_at(&self, buf: &mut [u8], _: u64) -> binio::Result<()> {
        self.0.fetch_add(buf.len() as u64, Ordering::Relaxed);
        buf.fill(0);
        Ok(())
    }
}

#[test]
fn the_search_for_a_zip_directory_reads_a_limited_number_of_bytes() {
    let zeros = Zeros(AtomicU64::new(0));
    let error = from_npz(&zeros).unwrap_err();
    assert!(error.is_bad_data(), "{error}");
    let read = zeros.0.load(Ordering::Relaxed);
    assert!(read <= 2 << 20, "{read} bytes were read");
}

#[test]
fn errors_from_the_source_of_a_zip_archive_are_returned_unchanged() {
    let source = FailingSource::new(vec![0; 1000], 0);
    let error = from_npz(&source).unwrap_err();
    let ErrorKind::Read(read) = error.kind() else { panic!("{error}") };
    assert!(matches!(read.kind(), binio::ErrorKind::Io(_)), "{error}");
}

#[test]
fn a_damaged_byte_anywhere_in_a_file_does_not_cause_a_panic() {
    let a = npy("<i4", Order::C, &[1], &[1, 0, 0, 0]);
    let members = [Member::stored("a.npy", &a)];
    for bytes in [archive(&members), archive_64(&members), a.clone()] {
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ =
                    from_file("x", damaged).map(|imported| Layout::parse(imported.layout).unwrap());
            }
        }
    }
}

#[test]
fn files_in_other_formats_are_rejected_with_the_expected_signatures() {
    for bytes in [&b"\0"[..], b"PNG", b"\x7fELF\x02\x01\x01\x00\x00"] {
        let error = from_file("x", bytes.to_vec()).unwrap_err();
        assert!(error.is_bad_data() && error.to_string().contains("expected 93 4e 55"), "{error}");
    }
}
