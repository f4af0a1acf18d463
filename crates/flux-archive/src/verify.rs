//! Is all there that an archive names: its blobs in a store, its files on the disk?

#[cfg(unix)]
mod disk;

use std::collections::HashSet;
use std::convert::Infallible;

use crate::json::push_token;
use crate::parallel::{Progress, report as tell, try_map};
use crate::store::{BlobStore, fetch};
use crate::{Archive, Content, ErrorKind, Form, HashType, Region, Violation};

#[cfg(unix)]
pub use disk::DiskVerifier;

/// What was found when blobs were verified.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct BlobReport {
    /// Blobs that were read, each once.
    pub blobs: u64,
    /// Bytes that were read.
    pub bytes: u64,
    /// Blobs that are named by SHA-1: two contents of one name can be made.
    pub sha1: u64,
    /// Blobs that are missing, of another length, or of another digest.
    pub violations: Vec<Violation>,
}

/// Reads every blob of an archive once and holds it against length and digest, with as many blobs in
/// memory as there are threads.
///
/// ```
/// use flux_archive::store::MemoryStore;
/// use flux_archive::{Archive, Code, Profile, verify_blobs};
///
/// let json = br#"[{"path":"f","mode":33188,"encoding":"blobvec","size":3,
///     "data":[[0,3,"sha1-a9993e364706816aba3e25717850c26c9cd0d89d"]]}]"#;
/// let archive = Archive::parse(json, Profile::Strict)?;
/// let report = verify_blobs(&archive, &MemoryStore::new(), None);
/// assert_eq!(report.violations[0].code, Code::BlobMissing);
/// # Ok::<(), flux_archive::Error>(())
/// ```
pub fn verify_blobs(
    archive: &Archive<'_>,
    store: &dyn BlobStore,
    progress: Option<Progress<'_>>,
) -> BlobReport {
    let mut seen = HashSet::new();
    let mut places = Vec::new();
    for (index, entry) in archive.entries().iter().enumerate() {
        let Content::Blobvec(regions) = entry.content() else { continue };
        for (number, region) in regions.iter().enumerate() {
            if seen.insert((region.blobref, region.size)) {
                places.push(Place { index, number, region });
            }
        }
    }
    drop(seen);
    let Ok(violations) = try_map(&places, Vec::new, |blob, place| {
        let error = match fetch(store, place.region, blob) {
            Ok(()) => {
                tell(progress, place.region.size);
                return Ok::<_, Infallible>(None);
            }
            Err(error) => error,
        };
        let ErrorKind::Blob { code, blobref, message } = error.kind() else { return Ok(None) };
        let message = format!("blob {blobref}: {message}");
        let path = archive.entries()[place.index].path().as_str();
        Ok(Some(Violation::new(*code, Some(path), place.pointer(archive, path), message)))
    });
    let mut report = BlobReport { blobs: places.len() as u64, ..BlobReport::default() };
    for (place, violation) in places.iter().zip(violations) {
        report.sha1 += u64::from(place.region.blobref.hash() == HashType::Sha1);
        match violation {
            Some(violation) => report.violations.push(violation),
            None => report.bytes += place.region.size,
        }
    }
    report
}

/// A region, and where the archive has it.
struct Place<'a> {
    index: usize,
    number: usize,
    region: &'a Region,
}

impl Place<'_> {
    /// Where the region is in the document; in a dict the path is the key, unless it was untidy.
    fn pointer(&self, archive: &Archive<'_>, path: &str) -> String {
        let mut pointer = archive.pointer.clone();
        match archive.form() {
            Form::Array | Form::Objects => push_token(&mut pointer, &self.index.to_string()),
            Form::Dict => push_token(&mut pointer, path),
        }
        push_token(&mut pointer, "data");
        push_token(&mut pointer, &self.number.to_string());
        pointer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{BlobStoreMut, MemoryStore};
    use crate::{BlobRef, Code, Profile};

    #[test]
    fn missing_cut_and_false_blobs_have_their_codes() {
        let store = MemoryStore::new();
        let good = store.put(HashType::Sha256, b"good").unwrap();
        let [gone, fake] = [b"gone", b"fake"].map(|blob| BlobRef::of(HashType::Sha1, blob));
        store.insert_as(fake, b"evil".as_slice());
        let json = format!(
            r#"{{"f":{{"mode":33188,"encoding":"blobvec","size":20,"data":[
                [0,4,"{good}"],[4,4,"{gone}"],[8,3,"{good}"],[12,4,"{fake}"],[16,4,"{good}"]]}}}}"#
        );
        let archive = Archive::parse(json.as_bytes(), Profile::Strict).unwrap();
        let report = verify_blobs(&archive, &store, None);
        let codes: Vec<_> = report.violations.iter().map(|violation| violation.code).collect();
        assert_eq!(codes, [Code::BlobMissing, Code::BlobLength, Code::BlobDigest]);
        let pointers: Vec<_> = report.violations.iter().map(|found| &*found.pointer).collect();
        assert_eq!(pointers, ["/f/data/1", "/f/data/2", "/f/data/3"]);
        assert_eq!((report.blobs, report.bytes, report.sha1), (4, 4, 2));
    }
}
