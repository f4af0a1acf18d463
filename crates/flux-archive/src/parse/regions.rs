//! Parsing the regions of a file whose data is in a store. Each region is an array `[offset, size,
//! blobref]`.

use super::report::Report;
use crate::diagnostic::Code;
use crate::error::Result;
use crate::json::{Cursor, Json, Text, integer};
use crate::model::{BlobRef, Limits, Region};
use binio::check_limit;

/// The usual maximum size of a blob in bytes. RFC 10 temporarily allows blobs of up to 1 GiB, but a store may reject
/// blobs larger than 1 MiB.
pub(crate) const USUAL_BLOB_SIZE: u64 = 1 << 20;

/// Parses all regions of a file. Returns `None` if a region is invalid. `place` is the JSON pointer
/// of the regions relative to the entry.
pub(super) fn regions(
    data: &Json<'_>,
    place: &str,
    size: Option<u64>,
    limits: &Limits,
    report: &mut Report<'_>,
) -> Result<Option<Vec<Region>>> {
    let mut cursor = Cursor::new(data.get());
    let mut regions = Vec::new();
    let (mut count, mut end, mut valid) = (0_u64, 0, true);
    cursor.expect(b'[')?;
    while cursor.item(count == 0, b']')? {
        check_limit("regions of a file", limits.max_regions, count + 1)?;
        let tuple = cursor.value()?;
        let mut at = Place { report: &mut *report, pointer: place, index: count };
        match region(&tuple, &mut at)? {
            Some(region) if size.is_some_and(|size| region.end() > size) => {
                valid = false;
                at.add(Code::Region, "", || {
                    format!("the region ends at offset {}, after the end of the file", region.end())
                });
            }
            Some(region) => {
                if region.offset < end {
                    at.add(Code::UntidyRegions, "", || {
                        format!(
                            "the region starts at offset {}, but an earlier region ends at {end}",
                            region.offset
                        )
                    });
                }
                end = end.max(region.end());
                regions.push(region);
            }
            None => valid = false,
        }
        count += 1;
    }
    Ok(valid.then_some(regions))
}

/// The location of a region, and the report for diagnostics about it.
struct Place<'r, 'a> {
    report: &'r mut Report<'a>,
    pointer: &'r str,
    index: u64,
}

impl Place<'_, '_> {
    fn add(&mut self, code: Code, place: &str, message: impl FnOnce() -> String) {
        let pointer = format!("{}/{}{place}", self.pointer, self.index);
        self.report.entry(code, &pointer, message);
    }
}

fn region(tuple: &Json<'_>, at: &mut Place<'_, '_>) -> Result<Option<Region>> {
    let mut members = [const { None }; 3];
    let mut count = 0;
    let mut cursor = Cursor::new(tuple.get());
    if cursor.take(b'[') {
        while cursor.item(count == 0, b']')? {
            let value = cursor.value()?;
            if let Some(member) = members.get_mut(count) {
                *member = Some(value);
            }
            count += 1;
        }
    }
    let [Some(offset), Some(size), Some(blobref)] = members else {
        at.add(Code::Region, "", || "expected an array of offset, size and blobref".to_owned());
        return Ok(None);
    };
    if count > 3 {
        at.add(Code::UntidyRegions, "", || format!("expected 3 members, found {count}"));
    }
    let mut number = |value: &Json<'_>, place, what| {
        let number = integer(value).and_then(|number| u64::try_from(number).ok());
        if number.is_none() {
            at.add(Code::Region, place, || {
                format!("expected an integer from 0 to 2^63-1 as the {what}")
            });
        }
        number
    };
    let (offset, size) = (number(&offset, "/0", "offset"), number(&size, "/1", "size"));
    let blobref = blobref_of(&blobref, at);
    let (Some(offset), Some(size), Some(blobref)) = (offset, size, blobref) else {
        return Ok(None);
    };
    if offset.checked_add(size).is_none_or(|end| i64::try_from(end).is_err()) {
        at.add(Code::Region, "", || "the end of the region does not fit into 63 bits".to_owned());
        return Ok(None);
    }
    if size == 0 {
        at.add(Code::UntidyRegions, "/1", || "the region has length 0".to_owned());
    }
    if size > USUAL_BLOB_SIZE {
        at.add(Code::UntidyBlob, "/1", || {
            format!("the blob has {size} bytes, which is more than 1 MiB")
        });
    }
    Ok(Some(Region { offset, size, blobref }))
}

fn blobref_of(value: &Json<'_>, at: &mut Place<'_, '_>) -> Option<BlobRef> {
    let Ok(text) = Text::from_json(value) else {
        at.add(Code::Region, "/2", || "expected a string as the blobref".to_owned());
        return None;
    };
    let text = text.decode();
    match BlobRef::parse(&text) {
        Ok(blobref) => {
            if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
                at.add(Code::UntidyBlob, "/2", || "the blobref is in upper case".to_owned());
            }
            Some(blobref)
        }
        Err(error) => {
            at.add(error.code(), "/2", || error.to_string());
            None
        }
    }
}
