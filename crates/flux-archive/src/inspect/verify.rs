//! Verifying that an archive follows RFC 37, that its blobs match their digests, and that its entries match files on
//! disk.

use std::collections::HashSet;
use std::convert::Infallible;

use binio::pointer;
use serde::Serialize;

use super::diff::Difference;
use crate::diagnostic::{Code, Diagnostic, Place, Severity};
use crate::error::{Error, ErrorKind, Failure, Result};
use crate::model::{Archive, Entry, Form, HashType, Region};
use crate::parallel::{Progress, report, try_map};
use crate::parse::OpenOptions;
use crate::store::{BlobStore, fetch};

/// Options for verifying an archive.
#[derive(Clone)]
pub struct VerifyOptions<'o> {
    store: Option<&'o dyn BlobStore>,
    blobs: bool,
    require_hash: Option<HashType>,
    progress: Option<Progress<'o>>,
    #[cfg(unix)]
    pub(crate) disk: Option<super::on_disk::OnDisk>,
}

impl Default for VerifyOptions<'_> {
    fn default() -> Self {
        Self {
            store: None,
            blobs: true,
            require_hash: None,
            progress: None,
            #[cfg(unix)]
            disk: None,
        }
    }
}

partial_debug! { VerifyOptions: require_hash; }

impl<'o> VerifyOptions<'o> {
    /// Returns options that verify only the document, without blobs or files on disk.
    pub fn new() -> Self {
        Self::default()
    }

    binio::setters! {
        /// Sets the store from which blobs are read. The length and the digest of each blob that is read are verified.
        /// Without a store, no blobs are verified.
        store: &'o dyn BlobStore => Some(store);

        /// Sets whether to verify all blobs of the archive if there is a store, rather than only the blobs that are
        /// compared with files on disk. Default: yes.
        blobs: bool;

        /// Sets the only hash function that blobs may use, or `None` to allow all. A file with a
        /// blob that uses another hash function is reported.
        require_hash: Option<HashType>;

        /// Sets a function that is called with the number of bytes verified in blobs or compared with files on disk
        /// since the last call.
        progress: Progress<'o> => Some(progress);
    }
}

/// The result of verifying an archive.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct VerifyReport {
    /// The number of entries in the archive, or `None` if the archive cannot be read. Entries that later entries
    /// replace are not counted.
    pub entries: Option<u64>,
    /// The number of blobs that were checked, including missing blobs. A blob that occurs several
    /// times counts once for each distinct length that the archive states.
    pub blobs: u64,
    /// The total size of the valid blobs in bytes.
    pub bytes: u64,
    /// The number of checked blobs that use SHA-1, including missing blobs. An attacker can
    /// construct two different blobs with the same SHA-1 digest.
    pub sha1: u64,
    /// If the archive cannot be read, the reasons. Otherwise, the [`Archive::diagnostics`], an
    /// error for each file with a blob whose hash function is not allowed, and an error for each
    /// blob that is missing or unreadable, or has a wrong length or digest.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of further diagnostics, which are not listed. See [`Archive::more_diagnostics`].
    pub more_diagnostics: u64,
    /// The paths at which files on disk differ from the archive, in the order of the archive.
    pub differences: Vec<Difference>,
    /// The paths that could not be compared with files on disk, each with its error.
    pub failures: Vec<Failure>,
}

impl VerifyReport {
    /// Returns `true` if no diagnostic is an error, no file differs from the archive, and every path could be
    /// compared.
    pub fn passed(&self) -> bool {
        let is_error = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        !self.diagnostics.iter().any(is_error)
            && self.differences.is_empty()
            && self.failures.is_empty()
    }
}

/// Converts an error from parsing into a report if the archive is invalid. Returns any other error unchanged.
impl TryFrom<Error> for VerifyReport {
    type Error = Error;

    fn try_from(error: Error) -> Result<Self> {
        let diagnostics = match error.kind() {
            ErrorKind::Rejected(diagnostics) => diagnostics.clone(),
            ErrorKind::Json(message) => {
                let place = error.offset().map(Place::at).unwrap_or_default();
                vec![Diagnostic::new(Code::NotJson, place, format!("not JSON: {message}"))]
            }
            _ => return Err(error),
        };
        Ok(Self { diagnostics, ..Self::default() })
    }
}

impl OpenOptions {
    /// Parses and verifies an archive. If the document is not JSON, or if the profile rejects it,
    /// the report contains the reasons.
    ///
    /// ```
    /// use flux_archive::diagnostic::Code;
    /// use flux_archive::inspect::VerifyOptions;
    /// use flux_archive::OpenOptions;
    ///
    /// let report = OpenOptions::new().verify(b"[{", &VerifyOptions::new())?;
    /// assert!(!report.passed());
    /// assert_eq!(report.diagnostics[0].code, Code::NotJson);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`ErrorKind::Limit`](crate::ErrorKind::Limit) if the document exceeds a limit, and with
    /// [`ErrorKind::Pointer`] if it has no value at the [pointer](Self::pointer).
    pub fn verify(&self, document: &[u8], options: &VerifyOptions<'_>) -> Result<VerifyReport> {
        match self.parse(document) {
            Ok(archive) => Ok(archive.verify(options)),
            Err(error) => error.try_into(),
        }
    }
}

impl Archive<'_> {
    /// Verifies an archive as requested by the options. Blobs are verified in parallel, with at most one blob per
    /// thread in memory.
    ///
    /// ```
    /// use flux_archive::store::MemoryStore;
    /// use flux_archive::diagnostic::Code;
    /// use flux_archive::inspect::VerifyOptions;
    /// use flux_archive::{Archive, Profile};
    ///
    /// let json = br#"[{"path":"f","mode":33188,"encoding":"blobvec","size":3,
    ///     "data":[[0,3,"sha1-a9993e364706816aba3e25717850c26c9cd0d89d"]]}]"#;
    /// let archive = Archive::parse(json, Profile::Strict)?;
    /// let report = archive.verify(&VerifyOptions::new().store(&MemoryStore::new()));
    /// assert_eq!(report.diagnostics[0].code, Code::BlobMissing);
    /// # Ok::<(), flux_archive::Error>(())
    /// ```
    pub fn verify(&self, options: &VerifyOptions<'_>) -> VerifyReport {
        let mut report = VerifyReport {
            entries: Some(self.entries().len() as u64),
            diagnostics: self.diagnostics().to_vec(),
            more_diagnostics: self.more_diagnostics(),
            ..VerifyReport::default()
        };
        report.diagnostics.extend(self.rejected_hashes(options.require_hash));
        if let Some(store) = options.store.filter(|_| options.blobs) {
            self.verify_blobs(store, options.progress, &mut report);
        }
        #[cfg(unix)]
        if let Some(disk) = &options.disk {
            (report.differences, report.failures) =
                disk.compare(self, options.store, options.progress);
        }
        report
    }

    /// Returns a diagnostic for each file with a blob that uses a hash other than `required`.
    fn rejected_hashes(&self, required: Option<HashType>) -> Vec<Diagnostic> {
        let Some(required) = required else { return Vec::new() };
        let mut diagnostics = Vec::new();
        for (index, entry) in self.entries().iter().enumerate() {
            let other = |region: &Region| region.blobref.hash() != required;
            if let Some(number) = entry.regions().iter().position(other) {
                let found = entry.regions()[number].blobref.hash();
                let message = format!("expected blobrefs that use {required}, found {found}");
                let place = self.place(index, number);
                diagnostics.push(Diagnostic::new(Code::HashRejected, place, message));
            }
        }
        diagnostics
    }

    fn verify_blobs(
        &self,
        store: &dyn BlobStore,
        progress: Option<Progress<'_>>,
        verified: &mut VerifyReport,
    ) {
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        for (index, entry) in self.entries().iter().enumerate() {
            for (number, region) in entry.regions().iter().enumerate() {
                if seen.insert((region.blobref, region.size)) {
                    found.push((index, number, region));
                }
            }
        }
        drop(seen);
        let Ok(diagnostics) = try_map(&found, Vec::new, |blob, &(index, number, region)| {
            let error = match fetch(store, region, blob) {
                Ok(()) => {
                    report(progress, region.size);
                    return Ok::<_, Infallible>(None);
                }
                Err(error) => error,
            };
            let ErrorKind::Blob { code, blobref, message, .. } = error.kind() else {
                return Ok(None);
            };
            let message = format!("blob {blobref}: {message}");
            Ok(Some(Diagnostic::new(*code, self.place(index, number), message)))
        });
        verified.blobs = found.len() as u64;
        for ((_, _, region), diagnostic) in found.iter().zip(diagnostics) {
            verified.sha1 += u64::from(region.blobref.hash() == HashType::Sha1);
            match diagnostic {
                Some(diagnostic) => verified.diagnostics.push(diagnostic),
                None => verified.bytes += region.size,
            }
        }
    }

    /// Returns the location of a region for a diagnostic. `at` is the index of the entry, and
    /// `number` is the index of the region. In a dict, the pointer contains the normalised path in
    /// place of the key as written.
    fn place(&self, at: usize, number: usize) -> Place {
        let Entry { index, path, .. } = &self.entries()[at];
        let (path, mut pointer) = (path.as_str(), self.pointer.clone());
        match self.form() {
            Form::Array | Form::Objects => pointer::push(&mut pointer, &index.to_string()),
            Form::Dict => pointer::push(&mut pointer, path),
        }
        pointer::push(&mut pointer, "data");
        pointer::push(&mut pointer, &number.to_string());
        Place::default().path(path).pointer(pointer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BlobRef, Profile};
    use crate::store::{BlobStoreMut, MemoryStore};

    #[test]
    fn blobs_that_are_missing_or_have_a_wrong_length_or_digest_are_reported() {
        let store = MemoryStore::new();
        let good = store.put(HashType::Sha256, b"good").unwrap();
        let [gone, fake] = [b"gone", b"fake"].map(|blob| BlobRef::of(HashType::Sha1, blob));
        store.insert_as(fake, b"evil".as_slice());
        let json = format!(
            r#"{{"f":{{"mode":33188,"encoding":"blobvec","size":20,"data":[
                [0,4,"{good}"],[4,4,"{gone}"],[8,3,"{good}"],[12,4,"{fake}"],[16,4,"{good}"]]}}}}"#
        );
        let archive = Archive::parse(json.as_bytes(), Profile::Strict).unwrap();
        let report = archive.verify(&VerifyOptions::new().store(&store));
        let codes: Vec<_> = report.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::BlobMissing, Code::BlobLength, Code::BlobDigest]);
        let pointers = report.diagnostics.iter().map(|found| found.place.pointer.as_deref());
        let expected = ["/f/data/1", "/f/data/2", "/f/data/3"].map(Some);
        assert_eq!(pointers.collect::<Vec<_>>(), expected);
        assert_eq!((report.blobs, report.bytes, report.sha1), (4, 4, 2));
    }

    #[test]
    fn a_hash_that_is_not_allowed_is_reported_once_per_file() {
        let blobs = [b"a", b"b"].map(|blob| BlobRef::of(HashType::Sha1, blob));
        let json = format!(
            r#"[{{"path":"f","mode":33188,"encoding":"blobvec","size":2,
                "data":[[0,1,"{}"],[1,1,"{}"]]}}]"#,
            blobs[0], blobs[1],
        );
        let options = VerifyOptions::new().require_hash(Some(HashType::Sha256));
        let report = OpenOptions::new().verify(json.as_bytes(), &options).unwrap();
        let found: Vec<_> = report.diagnostics.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["error[R158]: expected blobrefs that use sha256, found sha1 (f, /0/data/0)"]
        );
    }

    #[test]
    fn verifying_an_unreadable_archive_reports_diagnostics() {
        for (document, expected) in [
            (&b"[x]"[..], "error[R100]: not JSON: expected value (offset 1)"),
            (b"5", "error[R101]: expected an array or object of entries"),
        ] {
            let report = OpenOptions::new().verify(document, &VerifyOptions::new()).unwrap();
            assert_eq!(report.entries, None);
            assert_eq!(report.diagnostics[0].to_string(), expected);
        }
    }
}
