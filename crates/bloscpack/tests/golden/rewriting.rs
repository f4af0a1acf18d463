//! What is written anew or appended to has the same bytes.

use std::io::Cursor;

use bloscpack::change::{AppendOptions, RewriteOptions, append, rewrite};
use bloscpack::format::Version;
use bloscpack::{OpenOptions, Reader, Result, Strictness};

/// As version 3 and, without metadata, as version 2; and with more bytes appended.
pub(crate) fn every_rewrite_gives(file: &Reader, data: &[u8]) -> Result<Result<(), String>> {
    let strict = OpenOptions::new().strictness(Strictness::Strict);
    let v3 = RewriteOptions::new().version(Version::V3);
    // What is wrong with metadata stays so.
    let bytes = rewrite(file, Cursor::new(Vec::new()), &v3)?.into_inner();
    if file.options().from_bytes(bytes)?.read_all()? != data {
        return Ok(Err("version 3: other bytes".to_owned()));
    }
    let v2 = v3.clone().version(Version::V2).without_metadata();
    let bytes = rewrite(file, Cursor::new(Vec::new()), &v2)?.into_inner();
    if strict.from_bytes(bytes)?.read_all()? != data {
        return Ok(Err("version 2: other bytes".to_owned()));
    }
    // Without metadata, which would say what the bytes are; and with chunks of one size.
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
