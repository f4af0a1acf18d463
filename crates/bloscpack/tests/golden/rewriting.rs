//! Checks that rewriting a file and appending to it keep the data.

use std::io::Cursor;

use bloscpack::change::{AppendOptions, RewriteOptions, append, rewrite};
use bloscpack::format::Version;
use bloscpack::{OpenOptions, Reader, Result, Strictness};

/// Rewrites the file as version 3 with its metadata, and as version 2 without metadata. Also
/// appends the text `more` to a copy. Checks that each result contains the expected data.
pub(crate) fn every_rewrite_gives(file: &Reader, data: &[u8]) -> Result<Result<(), String>> {
    let strict = OpenOptions::new().strictness(Strictness::Strict);
    let v3 = RewriteOptions::new().version(Version::V3);
    // Open the result with the options of the original file. Strict mode could reject it, because
    // rewriting keeps invalid metadata unchanged.
    let bytes = rewrite(file, Cursor::new(Vec::new()), &v3)?.into_inner();
    if file.options().from_bytes(bytes)?.read_all()? != data {
        return Ok(Err("version 3: other bytes".to_owned()));
    }
    let v2 = v3.clone().version(Version::V2).without_metadata();
    let bytes = rewrite(file, Cursor::new(Vec::new()), &v2)?.into_inner();
    if strict.from_bytes(bytes)?.read_all()? != data {
        return Ok(Err("version 2: other bytes".to_owned()));
    }
    // Append to a copy without metadata, because the metadata could describe an array. Appending
    // is only possible if the header states a chunk size.
    let bytes = rewrite(file, Cursor::new(Vec::new()), &v3.without_metadata())?.into_inner();
    if strict.from_bytes(bytes.clone())?.header().chunk_size.is_none() {
        return Ok(Ok(()));
    }
    let folder = tempfile::tempdir().map_err(binio::Error::from)?;
    let path = folder.path().join("file.blp");
    let whole = [data, b"more"].concat();
    std::fs::write(&path, &bytes).map_err(binio::Error::from)?;
    append(&path, &b"more".to_vec(), &AppendOptions::new().in_place(true).grow(true), None)?;
    if strict.open(&path)?.read_all()? != whole {
        return Ok(Err("appended to: other bytes".to_owned()));
    }
    Ok(Ok(()))
}
