//! Moving content from a store into an archive.

use std::io::Write;

use super::rewrite::{MoveReport, Outcome, rewrite, with_content};
use crate::error::Result;
use crate::model::{Content, Entry};
use crate::parallel::{Progress, report};
use crate::parse::OpenOptions;
use crate::store::BlobStore;
use crate::write::{Detector, Encoding, Writer};
use binio::check_limit;

/// Moves the content of blobs into an archive, so that the archive can be read without a store.
/// Every blob that is read is verified. Text and base64 cannot represent holes, so holes become
/// zeros, unless the whole file is a hole. A file whose blobs cannot be read is reported and copied
/// unchanged. If several entries have the same path, only the last one is written. The store is not
/// changed.
///
/// ```
/// use flux_archive::store::{BlobStoreMut, MemoryStore};
/// use flux_archive::edit::pack;
/// use flux_archive::{Form, HashType, OpenOptions, Writer};
///
/// let store = MemoryStore::new();
/// let blobref = store.put(HashType::Sha1, b"data")?;
/// let json = format!(
///     r#"[{{"path":"f","encoding":"blobvec","data":[[0,4,"{blobref}"]],"size":4,"mode":33188}}]"#
/// );
/// let mut writer = Writer::new(Vec::new(), Form::Array);
/// let report = pack(json.as_bytes(), &OpenOptions::new(), &store, None, &mut writer)?;
/// assert_eq!((report.files, report.bytes), (1, 4));
/// assert_eq!(
///     String::from_utf8(writer.finish()?)?,
///     r#"[{"path":"f","encoding":"utf-8","data":"data","size":4,"mode":33188}]"#
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Same as [`OpenOptions::parse`]. Also fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the files with
/// blobs, including their holes, exceed
/// [`Limits::max_materialized_bytes`](crate::Limits::max_materialized_bytes). In these cases, nothing is written. Also
/// fails if the writer fails, or if a blob that was valid can no longer be read while its file is being written.
pub fn pack<W: Write>(
    document: &[u8],
    options: &OpenOptions,
    store: &dyn BlobStore,
    progress: Option<Progress<'_>>,
    writer: &mut Writer<W>,
) -> Result<MoveReport> {
    let archive = options.parse(document)?;
    let blobs = archive.entries().iter().filter(|entry| is_blobs(entry));
    let total = blobs.fold(0, |sum: u64, entry| sum.saturating_add(entry.len()));
    check_limit("bytes to write", options.limits.max_materialized_bytes, total)?;
    drop(archive);
    rewrite(document, options, writer, |entry, writer| {
        let Content::Blobvec(regions) = entry.content() else { return Ok(Outcome::Stays) };
        if regions.iter().all(|region| region.size == 0) {
            writer.entry(&with_content(entry, Content::Empty))?;
            return Ok(Outcome::Moved);
        }
        // Read all blobs of the file before writing anything, because a partly written file cannot be removed from the
        // output.
        let encoding = match encoding_of(entry, store, progress) {
            Ok(encoding) => encoding,
            Err(error) => return Ok(Outcome::Failed(error)),
        };
        let mut body = writer.body(entry, encoding)?;
        entry.reader(store)?.for_each_piece(0..entry.len(), |_, piece| {
            body.write_all(piece)?;
            Ok(true)
        })?;
        body.finish()?;
        Ok(Outcome::Moved)
    })
}

fn is_blobs(entry: &Entry<'_>) -> bool {
    matches!(entry.content(), Content::Blobvec(_))
}

fn encoding_of(
    entry: &Entry<'_>,
    store: &dyn BlobStore,
    progress: Option<Progress<'_>>,
) -> Result<Encoding> {
    let mut detector = Detector::default();
    entry.reader(store)?.for_each_piece(0..entry.len(), |_, piece| {
        detector.take(piece);
        report(progress, piece.len() as u64);
        Ok(true)
    })?;
    Ok(detector.encoding())
}

#[cfg(test)]
mod tests {
    use super::super::Externalizer;
    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{Archive, BlobRef, Form, HashType, Profile};
    use crate::store::{BlobStoreMut, Chunking, MemoryStore};

    fn document(entries: &[String]) -> Vec<u8> {
        format!("[{}]", entries.join(",")).into_bytes()
    }

    fn packed(document: &[u8], store: &MemoryStore) -> (Vec<u8>, MoveReport) {
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let report = pack(document, &OpenOptions::new(), store, None, &mut writer).unwrap();
        (writer.finish().unwrap(), report)
    }

    fn externalized(document: &[u8], chunk_size: u64, store: &MemoryStore) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), Form::Array);
        let externalizer =
            Externalizer::new(store).chunking(Chunking::new().threshold(2).chunk_size(chunk_size));
        let report = externalizer.run(document, &OpenOptions::new(), &mut writer).unwrap();
        assert!(report.failures.is_empty());
        writer.finish().unwrap()
    }

    #[test]
    fn packing_an_externalized_archive_restores_it() {
        let original = document(&[
            r#"{"path":"t","encoding":"utf-8","data":"a\né\"","size":5,"mode":33188,"x":1.0}"#
                .into(),
            r#"{"path":"b","encoding":"base64","data":"AAEC/w==","size":4,"mtime":5,"mode":33188}"#
                .into(),
            r#"{"path":"small","encoding":"utf-8","data":"ab","size":2,"mode":33188}"#.into(),
            r#"{"path":"j","data":{"k":1.50},"mode":33188}"#.into(),
            r#"{"path":"l","data":"long target","mode":41471}"#.into(),
            r#"{"path":"d","mode":16877}"#.into(),
        ]);
        for chunk_size in [0, 1, 2, 3, 1 << 20] {
            let store = MemoryStore::new();
            let moved = externalized(&original, chunk_size, &store);
            assert_eq!(String::from_utf8_lossy(&moved).matches("blobvec").count(), 2);
            let (back, report) = packed(&moved, &store);
            assert_eq!((report.files, report.bytes), (2, 9));
            assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&original));
        }
    }

    #[test]
    fn packing_turns_holes_into_zeros_unless_the_whole_file_is_a_hole() {
        let store = MemoryStore::new();
        let blobref = store.put(HashType::Sha1, b"x").unwrap();
        let sparse = format!(
            r#"{{"path":"f","encoding":"blobvec","data":[[1,1,"{blobref}"]],"size":3,"mode":33188}}"#
        );
        let hole = r#"{"path":"h","encoding":"blobvec","data":[],"size":9,"mode":33188}"#;
        let (json, _) = packed(&document(&[sparse, hole.into()]), &store);
        let expected = r#"[{"path":"f","encoding":"base64","data":"AHgA","size":3,"mode":33188},{"path":"h","size":9,"mode":33188}]"#;
        assert_eq!(String::from_utf8_lossy(&json), expected);
    }

    #[test]
    fn packing_copies_and_reports_files_with_missing_or_damaged_blobs() {
        let store = MemoryStore::new();
        let [missing, fake] = [b"missing", b"falsely"].map(|b| BlobRef::of(HashType::Sha1, b));
        store.insert_as(fake, b"genuine".as_slice());
        let entry = |path: &str, blobref: BlobRef| {
            format!(
                r#"{{"size":7,"data":[[0,7,"{blobref}"]],"path":"{path}","encoding":"blobvec","mode":33188}}"#
            )
        };
        let original = document(&[entry("a", missing), entry("b", fake)]);
        let (json, report) = packed(&original, &store);
        assert_eq!(json, original);
        let paths: Vec<_> = report.failures.iter().map(|failure| failure.path.as_str()).collect();
        assert_eq!(paths, ["a", "b"]);
    }

    #[test]
    fn packing_more_zeros_than_allowed_fails_before_anything_is_written() {
        let store = MemoryStore::new();
        let blobref = store.put(HashType::Sha1, b"x").unwrap();
        let json = format!(
            r#"[{{"path":"f","encoding":"blobvec","data":[[0,1,"{blobref}"]],"size":1099511627777,"mode":33188}}]"#
        );
        assert!(Archive::parse(json.as_bytes(), Profile::Strict).is_ok());
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Form::Array);
        let packed = pack(json.as_bytes(), &OpenOptions::new(), &store, None, &mut writer);
        assert!(matches!(packed.unwrap_err().kind(), ErrorKind::Limit { .. }));
        drop(writer);
        assert!(out.is_empty());
    }
}
