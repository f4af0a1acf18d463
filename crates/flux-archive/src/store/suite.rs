//! Tests of reading that every store must pass, and tests of writing for writable stores.

use super::{BlobStore, BlobStoreMut, StoreError};
use crate::model::{BlobRef, HashType};

/// Returns one or more blobs of each kind: empty, short, incompressible and compressible.
pub(crate) fn blobs() -> Vec<Vec<u8>> {
    let mixed = (0..5000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes());
    vec![
        Vec::new(),
        b"abc".to_vec(),
        vec![0; 255],
        vec![7; 256],
        mixed.collect(),
        vec![b'a'; 70_000],
    ]
}

/// Tests reading from a store that contains all [`blobs`].
pub(crate) fn check_reading(store: &dyn BlobStore, names: &[BlobRef]) {
    let blobs = blobs();
    assert_eq!(names.len(), blobs.len());
    let mut out = b"previous content".to_vec();
    for (name, blob) in names.iter().zip(&blobs) {
        store.get(name, &mut out).unwrap();
        assert!(out == *blob, "{name}");
        assert!(store.contains(name).unwrap());
        let size = blob.len() as u64;
        store.get_sized(name, size, &mut out).unwrap();
        assert!(out == *blob, "{name}");
        match store.get_sized(name, size + 1, &mut out) {
            Ok(()) => assert!(out == *blob, "{name}"),
            Err(error) => {
                assert!(matches!(error, StoreError::Length { found } if found == size), "{error}");
            }
        }
    }

    let absent = BlobRef::of(HashType::Sha256, b"absent");
    assert!(matches!(store.get(&absent, &mut out), Err(StoreError::NotFound)));
    assert!(matches!(store.get_sized(&absent, 6, &mut out), Err(StoreError::NotFound)));
    assert!(!store.contains(&absent).unwrap());
}

/// Tests writing to an empty store, then reading, listing and removing its blobs.
pub(crate) fn check_writing(store: &dyn BlobStoreMut) {
    for hash in HashType::ALL {
        let put = |blob: &Vec<u8>| store.put(hash, blob).unwrap();
        let names: Vec<_> = blobs().iter().map(put).collect();
        assert_eq!(names[1], BlobRef::of(hash, b"abc"));
        check_reading(&store, &names);

        assert_eq!(
            store.put(hash, b"abc").unwrap(),
            names[1],
            "storing a blob twice keeps one copy"
        );
        let mut listed = store.list().unwrap();
        listed.sort_unstable();
        let mut expected = names.clone();
        expected.sort_unstable();
        assert_eq!(listed, expected);

        for name in &names {
            assert!(store.remove(name).unwrap());
            assert!(!store.remove(name).unwrap());
            assert!(!store.contains(name).unwrap());
        }
        assert!(store.list().unwrap().is_empty());
    }
}
